#if defined(__GNUC__) && !defined(__clang__)
// With a sanitizer, gcc 12 takes moves inside std::regex, which Catch uses, for reads of uninitialized memory
// (its bug 105562).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

int main(int argc, char** argv) {
    Catch::Session session;
    if (const int failed = session.applyCommandLine(argc, argv); failed != 0) return failed;
#if CK_CATCH_VERSION == 2
    // A name or tag that selects nothing is a mistake, not a success.
    session.configData().warnings =
        static_cast<Catch::WarnAbout::What>(session.configData().warnings | Catch::WarnAbout::NoTests);
#endif
    return session.run();
}
