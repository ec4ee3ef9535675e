// Texts in fields of fixed size end with a whole word.
#include <cstring>
#include <string>

#include "catch.hpp"
#include "core/bounded_text.hpp"
#include "core/last_error.hpp"

using namespace ckitchen;

namespace {

template <std::size_t N>
std::string bounded(std::string_view text) {
    char field[N];
    std::memset(field, 'x', N);
    const std::size_t length = copy_bounded(field, N, text);
    REQUIRE(length < N);
    REQUIRE(std::strlen(field) == length);
    return field;
}

}  // namespace

TEST_CASE("a text that fits is whole") {
    CHECK(bounded<8>("") == "");
    CHECK(bounded<8>("seven b") == "seven b");
}

TEST_CASE("a text that does not fit ends with a whole word") {
    CHECK(bounded<12>("one two three") == "one two...");
    // The last word that fits exactly.
    CHECK(bounded<11>("one two three") == "one two...");
    CHECK(bounded<10>("one two three") == "one...");
    CHECK(bounded<16>("one two, three four") == "one two...");
}

TEST_CASE("a path without spaces is cut, but never within a character") {
    CHECK(bounded<8>("/a/long/path") == "/a/l...");
    CHECK(bounded<8>("a \xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4") == "a \xc3\xa4...");
    CHECK(bounded<9>("a \xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4") == "a \xc3\xa4...");
}

TEST_CASE("what is left of a field is 0") {
    char field[16];
    std::memset(field, 'x', sizeof(field));
    copy_text(field, "short");
    CHECK(std::string(field, sizeof(field)) == std::string("short") + std::string(11, '\0'));
}

TEST_CASE("a long message of an error ends with a whole word") {
    std::string message;
    while (message.size() < 2000) message += "word ";
    set_last_error("ck_int8_gemm", message);
    const std::string text = last_error();
    CHECK(text.size() < 1024);
    CHECK(text.size() > 1000);
    CHECK(text.substr(0, 18) == "ck_int8_gemm: word");
    CHECK(text.substr(text.size() - 7) == "word...");
}
