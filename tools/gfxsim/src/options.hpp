#pragma once

#include <cstdint>
#include <string>

namespace ckitchen::gfxsim {

/// The environment variables that steer a launch; read anew for each one. README.md lists them.
struct Options {
    bool execute = true;             // GFXSIM_EXEC
    unsigned threads = 0;            // GFXSIM_THREADS, 0 means all cores
    uint64_t instruction_limit = 0;  // GFXSIM_LIMIT, instructions of one wave
    bool strict_alignment = false;   // GFXSIM_ALIGN=strict
    bool undefined = true;           // GFXSIM_UNDEF
    bool races = true;               // GFXSIM_RACES
    int trace = 0;                   // GFXSIM_TRACE
    std::string trace_file;          // GFXSIM_TRACE_FILE
    std::string trace_group;         // GFXSIM_TRACE_GROUP, "x,y,z"; empty: all
    uint64_t group[3] = {};          // the same
    std::string stop_text;           // GFXSIM_STOP=[kernel+]offset[@count]
    std::string stop_kernel;         // empty: every kernel
    int64_t stop_offset = -1;        // from the kernel's entry; -1: nowhere
    uint64_t stop_count = 1;
    std::string report_file;  // GFXSIM_REPORT
    std::string stats_file;   // GFXSIM_STATS
    std::string mistake;      // the first variable that is not understood and why; empty: none

    static Options from_environment();
};

}  // namespace ckitchen::gfxsim
