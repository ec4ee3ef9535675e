#if defined(__GNUC__) && !defined(__clang__)
// With a sanitizer, gcc 12 takes moves inside std::regex, which Catch uses, for reads of uninitialized memory
// (its bug 105562).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

int main(int argc, char** argv) {
    return Catch::Session().run(argc, argv);
}
