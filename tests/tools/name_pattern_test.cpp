// What --include and --exclude find, and which patterns are refused before they can do harm.
#include "name_pattern.hpp"

#include <chrono>

#include "catch.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

bool finds(const std::string& pattern, const std::string& name) {
    return NamePattern("--include", pattern).matches(name);
}

std::string refusal(const std::string& pattern) {
    const Failure failure = failure_of([&] { NamePattern("--include", pattern); });
    CHECK(failure.status() == Exit::kUsage);
    CHECK_THAT(failure.what(), ContainsSubstring("--include"));
    return failure.what();
}

TEST_CASE("A pattern is searched anywhere in the name") {
    CHECK(finds("attn", "blocks.0.attn.weight"));
    CHECK(finds("^blocks\\.0\\.", "blocks.0.attn.weight"));
    CHECK_FALSE(finds("^blocks\\.0\\.", "blocks.10.attn.weight"));
    CHECK(finds("weight$", "blocks.0.attn.weight"));
    CHECK_FALSE(finds("attn$", "blocks.0.attn.weight"));
    CHECK(finds("^(img|txt)_in|out$", "model.out"));
    CHECK(finds("^(img|txt)_in|out$", "txt_in.weight"));
    CHECK_FALSE(finds("^(img|txt)_in|out$", "model.txt_in.weight"));
    CHECK(finds("blocks\\.[0-9]{1,2}\\.", "blocks.17.x"));
    CHECK_FALSE(finds("blocks\\.[0-9]{1,2}\\.", "blocks.117.x"));
    CHECK(finds("\\bq\\b", "attn.q.weight"));
    CHECK(finds("^", "anything"));
    CHECK(finds("[]x]", "a]"));
    CHECK(finds("[[:digit:]]+$", "a1"));
}

TEST_CASE("A name is matched whole, whatever bytes it has") {
    const std::string name("a\0b\nc\xff.weight", 13);
    CHECK(finds("weight$", name));
    CHECK(finds("^a.b.c", name));
    CHECK_FALSE(finds("^weight", name));
    CHECK_FALSE(finds("a$", name));
}

TEST_CASE("What is no pattern, or one of another dialect, is refused with the reason") {
    CHECK_THAT(refusal("("), ContainsSubstring("Unmatched"));
    CHECK_THAT(refusal("a)(b"), ContainsSubstring("Unmatched"));
    CHECK_THAT(refusal("(a)\\1"), ContainsSubstring("back-references"));
    CHECK_THAT(refusal("\\d"), ContainsSubstring("[0-9]"));
    CHECK_THAT(refusal("[\\w.]"), ContainsSubstring("brackets"));
    CHECK(finds("[\\.]x", "a.x"));
}

TEST_CASE("What would grow too large is refused before it does") {
    const auto start = std::chrono::steady_clock::now();
    CHECK_THAT(refusal("((((a{99}){99}){99}){99}){99}"), ContainsSubstring("repeats"));
    CHECK_THAT(refusal("(a{1,30000}){1,30000}"), ContainsSubstring("repeats"));
    CHECK_THAT(refusal("a{99999999999999999999}"), ContainsSubstring("repeats"));
    CHECK_THAT(refusal(std::string(60, '(') + "a" +
                       [] {
                           std::string tail;
                           for (int i = 0; i < 60; ++i) tail += "+)";
                           return tail;
                       }()),
               ContainsSubstring("repeats"));
    const std::string line = refusal(std::string(100'000, 'a'));
    CHECK_THAT(line, ContainsSubstring("100000 bytes"));
    CHECK(line.size() < 250);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
    // Side by side they only add up.
    CHECK(finds("a+b+c+d+e+f+g+h+i+j+k+l+m+n+", "abcdefghijklmn"));
    CHECK(finds(std::string(490, '(') + "a" + std::string(490, ')'), "a"));
}

}  // namespace
}  // namespace ckitchen::cli::test
