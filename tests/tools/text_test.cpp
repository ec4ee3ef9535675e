// Text for people: safe, short, readable.
#include "text.hpp"

#include "catch.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace ckitchen::cli::test {
namespace {

TEST_CASE("What comes from files cannot steer a terminal") {
    CHECK(printable("blocks.0") == "blocks.0");
    CHECK(printable("a\nb\x1b[0m\x7f") == "a\\x0Ab\\x1B[0m\\x7F");
    CHECK(printable("\xC2\x9B"
                    "31m") == "\\xC2\\x9B31m");
    CHECK(printable("\xFFz") == "\\xFFz");
    CHECK(printable("h\xC3\xA9") == "h\xC3\xA9");
    CHECK(printable(std::string(500, 'x'), 10) == "xxxxxxxxxx...");
    CHECK(in_quotes("a") == "\"a\"");
}

TEST_CASE("UTF-8 is told from what only looks like it") {
    CHECK(is_utf8(""));
    CHECK(is_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8D\xB3"));
    for (const char* bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xC3"}) {
        CHECK_FALSE(is_utf8(bad));
    }
    CHECK(code_points("h\xC3\xA9\xF0\x9F\x8D\xB3") == 3);
    CHECK(last_code_points("h\xC3\xA9x", 2) == "\xC3\xA9x");
    CHECK(last_code_points("ab", 5) == "ab");
}

TEST_CASE("Sizes and times are short") {
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(999) == "999 B");
    CHECK(bytes_text(1000) == "1.00 kB");
    CHECK(bytes_text(90868376) == "90.9 MB");
    CHECK(bytes_text(999999) == "1.00 MB");
    CHECK(bytes_text(46100000000) == "46.1 GB");
    CHECK(bytes_text(UINT64_MAX) == "18.4 EB");
    CHECK(seconds_text(0.004) == "0.00 s");
    CHECK(seconds_text(12.34) == "12.3 s");
    CHECK(seconds_text(59.97) == "1:00");
    CHECK(seconds_text(3723) == "1:02:03");
    CHECK(shape_text({}) == "[]");
    CHECK(shape_text({2, 384}) == "[2, 384]");
}

TEST_CASE("The progress bar fits its terminal") {
    const std::string name = "model.diffusion_model.blocks.12.attn.qkv_proj.weight";
    const std::string wide = progress_bar_text(120, 0.43, name, 512e6, 72);
    CHECK(wide == " 43% [========            ] " + name + "  512 MB/s  1:12 left");
    const std::string narrow = progress_bar_text(79, 0.43, name, 512e6, 72);
    CHECK(narrow.size() == 79);
    CHECK_THAT(narrow, ContainsSubstring("...") && ContainsSubstring("qkv_proj.weight"));
    for (std::size_t columns = 0; columns < 130; ++columns) {
        CHECK(code_points(progress_bar_text(columns, 1.7, "n\xC3\xA9\n", 1e12, 1e9)) <= columns);
    }
}

TEST_CASE("The worst layer is named and the mean is taken over layers") {
    std::vector<LayerResult> layers(3);
    layers[0].relative_error = 0.1;
    layers[1].relative_error = 0.4;
    layers[2].relative_error = 0.4;
    CHECK(worst_layer(layers) == 1);
    CHECK(mean_error(layers) == Approx(0.3));
    CHECK(mean_error({}) == 0);
}

}  // namespace
}  // namespace ckitchen::cli::test
