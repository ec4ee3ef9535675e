// The subcommands. Each add_ function declares a subcommand with its options on `app` and, when the command
// line names it, sets `run` to what it does. One file each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "failure.hpp"
#include "session.hpp"

namespace ckitchen::cli {

using Run = std::function<Exit()>;

void add_quantize(CLI::App& app, Run& run);
void add_dequantize(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);
void add_verify(CLI::App& app, Run& run);
void add_bench(CLI::App& app, Run& run);

// --backend, --device and --threads, which several commands have.
struct BackendOptions {
    std::string backend = "auto";
    int device = 0;
    int threads = 0;

    void add_to(CLI::App& command);
    SessionOptions session() const;
};

// -o, of the commands that write a checkpoint.
inline constexpr const char* kOutputHelp =
    "the file to write; replaced only when all is done. Killed outright on a file system without unnamed "
    "files (NFS, some FUSE), a run leaves a hidden .ckitchen-*.tmp beside it";

// -q, which every command takes: no progress on stderr, warnings and errors only.
void add_quiet(CLI::App& command, bool& quiet);

// Text for --help that keeps its line breaks.
std::string examples(const std::string& lines);

}  // namespace ckitchen::cli
