// Catch2 of either major version (Debian 12 has 2.13), under the names of the newer one.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#define CK_CATCH_VERSION 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#define CK_CATCH_VERSION 2
#include <catch2/catch.hpp>
inline auto ContainsSubstring(const std::string& text) {
    return Catch::Matchers::Contains(text);
}
#endif
