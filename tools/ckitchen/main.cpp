#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <system_error>

#include "commands.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr const char* kExitStatuses =
    "Exit status:\n"
    "  0  done\n"
    "  1  a defect of the program\n"
    "  2  the command line cannot be understood\n"
    "  3  an input file is missing, unreadable or broken\n"
    "  4  an output or stdout cannot be written; the message says which, and whether the output is complete\n"
    "  5  done, but tensors with NaN or infinity, or layers that cannot be decoded, were kept as they were\n"
    "  6  the library, its backend or the device refused\n"
    "  7  verify found a wrong result\n"
    "  8  memory, of this machine or of the device, or threads ran out\n";

// Arguments are echoed in errors, cut at this many bytes.
constexpr std::size_t kEchoedBytes = 300;

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

// The first argument where a command's name should be and none is; nullptr when that is not the mistake.
const char* unknown_command(const CLI::App& app, int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return nullptr;
    for (const CLI::App* command : app.get_subcommands({})) {
        if (command->get_name() == argv[1]) return nullptr;
    }
    return argv[1];
}

std::string command_list(const CLI::App& app) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands({})) {
        names += (names.empty() ? "" : ", ") + command->get_name();
    }
    return names;
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
    if (const char* const name = unknown_command(app, argc, argv)) {
        throw Failure(Exit::kUsage, "there is no command " + in_quotes(name) + ", only " + command_list(app) +
                                        " (see ckitchen --help)");
    }
    Exit status = Exit::kOk;
    try {
        app.parse(argc, argv);
        status = run();
    } catch (const CLI::Success& success) {  // --help, --version
        // Through stdout itself, which remembers why it failed.
        std::ostringstream text;
        app.exit(success, text, text);
        std::fputs(text.str().c_str(), stdout);
    } catch (const CLI::ParseError& error) {
        throw Failure(Exit::kUsage,
                      printable(one_line(error.what()), kEchoedBytes) + " (see ckitchen --help)");
    }
    flush_standard_output();
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
        return fail(Exit::kResources, "out of memory");
    } catch (const std::system_error& error) {
        // What std::thread throws where the system gives it no thread.
        if (error.code() == std::errc::resource_unavailable_try_again)
            return fail(Exit::kResources, "the system gives no further thread");
        return fail(Exit::kInternal, printable(error.what(), kEchoedBytes));
    } catch (const std::exception& exception) {
        return fail(Exit::kInternal, printable(exception.what(), kEchoedBytes));
    }
}
