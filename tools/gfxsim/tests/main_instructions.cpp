// After all instruction tests: each instruction that compiled kernels use must have been executed by one of
// them on every generation that has it.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <iostream>

#include "coverage.hpp"

int main(int argc, char** argv) {
    Catch::Session session;
    const int rc = session.run(argc, argv);
    if (rc != 0 || session.config().hasTestFilters() || session.configData().listTests) return rc;
    const std::string missing = gfxsim_test::uncovered();
    if (missing.empty()) return 0;
    std::cerr << "no instruction test executes:\n" << missing;
    return 1;
}
