// ckitchen bench: how long operators take on the chosen device.
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "commands.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

using nlohmann::ordered_json;

struct BenchOptions {
    std::string op;
    std::optional<std::string> problem;
    bool json = false;
    double seconds = 1;
    bool quiet = false;
    BackendOptions backend;
};

std::vector<std::string> problems(const BenchOptions& options, bool cpu) {
    if (options.problem) return {*options.problem};
    if (!options.op.empty()) return bench::default_problems(cases::find_op(options.op)->op, cpu);
    std::vector<std::string> all;
    for (const cases::Op& op : cases::all_ops()) {
        const std::vector<std::string> some = bench::default_problems(op.op, cpu);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

// "3.14 ms" or "21.0 us".
std::string time_text(double seconds) {
    return seconds < 1e-3 ? format("%.3g us", seconds * 1e6) : format("%.4g ms", seconds * 1e3);
}

void print_line(const std::string& problem, const bench::Measurement& result) {
    std::string line =
        format("%10s  %8.2f GB/s", time_text(result.median).c_str(), result.bytes / result.median * 1e-9);
    line += result.operations > 0 ? format("  %9.1f GOP/s", result.operations / result.median * 1e-9)
                                  : std::string(17, ' ');
    std::printf("%s  %s  (%s, %d calls, fastest %s)\n", line.c_str(), problem.c_str(),
                result.variant.empty() ? "nothing to compute" : result.variant.c_str(), result.calls,
                time_text(result.fastest).c_str());
    flush_standard_output();
}

ordered_json describe(const std::string& problem, const bench::Measurement& result) {
    ordered_json out;
    out["problem"] = problem;
    out["variant"] = result.variant;
    out["calls"] = result.calls;
    out["median_seconds"] = result.median;
    out["fastest_seconds"] = result.fastest;
    out["bytes"] = result.bytes;
    out["gigabytes_per_second"] = result.bytes / result.median * 1e-9;
    if (result.operations > 0) {
        out["operations"] = result.operations;
        out["gigaoperations_per_second"] = result.operations / result.median * 1e-9;
    }
    return out;
}

Exit run_benchmarks(const BenchOptions& options) {
    // CLI11's range takes NaN, which is neither too small nor too large.
    if (std::isnan(options.seconds)) throw Failure(Exit::kUsage, "--seconds nan: must be 0 to 3600");
    if (!options.op.empty() && cases::find_op(options.op) == nullptr)
        throw Failure(Exit::kUsage, "there is no operator '" + printable(options.op) + "'");
    const Session session(options.backend.session());
    cases::Device device(session.context());
    // All before the first line is printed: a command line that is refused prints nothing.
    std::vector<cases::Case> chosen;
    for (const std::string& text : problems(options, device.is_cpu())) {
        std::string error;
        const std::optional<cases::Case> which = cases::parse_case(text, &error);
        if (!which) throw Failure(Exit::kUsage, error);
        if (const std::string reason = cases::refusal(device, which->problem); !reason.empty())
            throw Failure(Exit::kUsage, reason);
        chosen.push_back(*which);
    }
    ordered_json out;
    out["backend"] = device.name();
    out["device"] = device.properties().name;
    out["arch"] = device.properties().arch;
    out["results"] = ordered_json::array();
    if (!options.json)
        std::printf("%s: %s (%s), medians\n", device.name().c_str(),
                    printable(device.properties().name).c_str(), printable(device.properties().arch).c_str());
    for (const cases::Case& which : chosen) {
        const std::string problem = cases::format_problem(which.problem);
        bench::Measurement result;
        try {
            result = bench::measure(device, which, options.seconds);
        } catch (const cases::ApiError& failure) {
            throw Failure(failure_status(failure.status()), problem + ": " + failure.what());
        } catch (const std::bad_alloc&) {
            throw Failure(Exit::kResources, problem + ": out of memory for its tensors");
        }
        if (options.json)
            out["results"].push_back(describe(problem, result));
        else
            print_line(problem, result);
    }
    if (options.json)
        std::printf("%s\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
    return Exit::kOk;
}

}  // namespace

void add_bench(CLI::App& app, Run& run) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App& command = *app.add_subcommand("bench", "measure operators on the chosen device");
    command.add_option("op", options->op, "one operator, for example int8_gemm; all by default");
    command
        .add_option("--problem", options->problem,
                    "one problem, as failing tests and CKITCHEN_LOG=dispatch print it")
        ->excludes("op");
    command.add_option("--seconds", options->seconds, "time for each problem")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    command.add_flag("--json", options->json, "as JSON");
    add_quiet(command, options->quiet);
    options->backend.add_to(command);
    command.footer(examples(
        "  ckitchen bench int8_gemm\n"
        "  ckitchen bench --json > before.json\n"
        "  ckitchen bench --problem 'op=int8_gemm out_dtype=bf16 m=256 n=9216 k=3072' --backend cpu\n"));
    command.callback([options, &run] { run = [options] { return run_benchmarks(*options); }; });
}

}  // namespace ckitchen::cli
