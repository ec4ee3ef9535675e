#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "commands.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr const char* kExitStatuses =
    "Exit status:\n"
    "  0  done\n"
    "  1  a defect of the program\n"
    "  2  the command line cannot be understood\n"
    "  3  an input file is missing, unreadable or broken\n"
    "  4  the output cannot be written\n"
    "  5  done, but tensors with NaN or infinity were kept unquantized\n"
    "  6  the library, its backend or the device refused\n"
    "  7  verify found a wrong result\n";

int fail(Exit status, const std::string& message) {
    std::fprintf(stderr, "ckitchen: error: %s\n", message.c_str());
    return static_cast<int>(status);
}

// CLI11 puts line breaks into some of its texts.
std::string one_line(std::string text) {
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    while (text.ends_with(' ')) text.pop_back();
    return text;
}

std::string version_text() {
    const std::uint32_t version = ck_version();
    return format("ckitchen %u.%u.%u", version / 1000000, version / 1000 % 1000, version % 1000);
}

int run_program(int argc, char** argv) {
    CLI::App app{"Quantizes checkpoints of diffusion and video models to INT8 or W4A8, and back.",
                 "ckitchen"};
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(kExitStatuses);
    Run run;
    add_quantize(app, run);
    add_dequantize(app, run);
    add_inspect(app, run);
    add_info(app, run);
    add_verify(app, run);
    add_bench(app, run);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        app.exit(success);
        return 0;
    } catch (const CLI::ParseError& error) {
        return fail(Exit::kUsage, printable(one_line(error.what()), 1000) + " (see ckitchen --help)");
    }
    const Exit status = run();
    if (std::fflush(stdout) != 0)
        return fail(Exit::kOutput, std::string("cannot write to stdout: ") + std::strerror(errno));
    return static_cast<int>(status);
}

}  // namespace
}  // namespace ckitchen::cli

int main(int argc, char** argv) {
    using namespace ckitchen::cli;
    try {
        return run_program(argc, argv);
    } catch (const Failure& failure) {
        return fail(failure.status(), failure.what());
    } catch (const std::bad_alloc&) {
        return fail(Exit::kInternal, "out of memory");
    } catch (const std::exception& exception) {
        return fail(Exit::kInternal, printable(exception.what(), 1000));
    }
}
