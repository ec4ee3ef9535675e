// ckitchen verify: every operator on the chosen device against the plain reference.
#include <chrono>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cases/check.hpp"
#include "cases/generate.hpp"
#include "commands.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

struct VerifyOptions {
    std::string op;
    std::optional<std::string> problem;
    int count = 32;
    std::uint64_t seed = 1;
    bool quiet = false;
    BackendOptions backend;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What is wrong with the result of one problem; no text when nothing is. Where a call fails there is no
// result: that is a failure of the library, its device or the memory.
std::string check_case(cases::Device& device, const cases::Case& which, std::set<std::string>& variants) {
    try {
        const cases::Outcome outcome = cases::run_case(device, which);
        if (outcome.status != CK_OK)
            throw Failure(failure_status(outcome.status), outcome.line(device, which));
        if (!outcome.variant.empty()) variants.insert(outcome.variant);
        return outcome.ok() ? std::string() : outcome.line(device, which);
    } catch (const cases::ApiError& failure) {
        throw Failure(failure_status(failure.status()), cases::format_case(which) + ": " + failure.what());
    } catch (const std::bad_alloc&) {
        throw Failure(Exit::kResources, cases::format_case(which) + ": out of memory for its tensors");
    }
}

std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

// A compact set of problems of one operator. Prints its line, and a line for each of the first wrong results.
bool verify_operator(cases::Device& device, const cases::Op& op, const VerifyOptions& options) {
    constexpr int kMostLines = 5;
    const auto start = std::chrono::steady_clock::now();
    const cases::Budget budget;
    const std::int64_t step = std::max<std::int64_t>(cases::combination_count(op.op) / options.count, 1);
    std::set<std::string> variants;
    std::vector<std::string> wrong;
    for (int i = 0; i < options.count; ++i) {
        const cases::Case which = cases::random_case(op.op, i * step, options.seed, budget, device.is_cpu());
        if (std::string text = check_case(device, which, variants); !text.empty()) wrong.push_back(text);
    }
    std::printf("%-22s %s  %d problems, %s", op.name, wrong.empty() ? "ok   " : "WRONG", options.count,
                joined(variants).c_str());
    if (!wrong.empty()) std::printf(", %zu wrong", wrong.size());
    std::printf(", %s\n", seconds_text(seconds_since(start)).c_str());
    for (std::size_t i = 0; i < wrong.size() && i < kMostLines; ++i) std::printf("  %s\n", wrong[i].c_str());
    flush_standard_output();
    return wrong.empty();
}

Exit verify_problem(cases::Device& device, const std::string& text) {
    std::string error;
    const std::optional<cases::Case> which = cases::parse_case(text, &error);
    if (!which) throw Failure(Exit::kUsage, error);
    if (const std::string reason = cases::refusal(device, which->problem); !reason.empty())
        throw Failure(Exit::kUsage, reason);
    std::set<std::string> variants;
    const std::string wrong = check_case(device, *which, variants);
    if (wrong.empty())
        std::printf("ok (%s)\n", variants.empty() ? "nothing to compute" : joined(variants).c_str());
    else
        std::printf("WRONG: %s\n", wrong.c_str());
    return wrong.empty() ? Exit::kOk : Exit::kMismatch;
}

Exit verify(const VerifyOptions& options) {
    if (!options.op.empty() && cases::find_op(options.op) == nullptr)
        throw Failure(Exit::kUsage, "there is no operator '" + printable(options.op) + "'");
    const Session session(options.backend.session());
    cases::Device device(session.context());
    if (options.problem) return verify_problem(device, *options.problem);
    std::printf("%s: %s (%s), seed %llu\n", device.name().c_str(),
                printable(device.properties().name).c_str(), printable(device.properties().arch).c_str(),
                static_cast<unsigned long long>(options.seed));
    int wrong = 0;
    for (const cases::Op& op : cases::all_ops()) {
        if (options.op.empty() || options.op == op.name) wrong += !verify_operator(device, op, options);
    }
    if (wrong == 0)
        std::printf("all results are right\n");
    else
        std::printf("%d operators have wrong results\n", wrong);
    return wrong == 0 ? Exit::kOk : Exit::kMismatch;
}

}  // namespace

void add_verify(CLI::App& app, Run& run) {
    auto options = std::make_shared<VerifyOptions>();
    CLI::App& command =
        *app.add_subcommand("verify", "compare every operator on the chosen device with the plain reference");
    command.add_option("op", options->op, "one operator, for example int8_gemm; all by default");
    command
        .add_option("--problem", options->problem,
                    "one problem, as failing tests and CKITCHEN_LOG=dispatch print it")
        ->excludes("op");
    command.add_option("--count", options->count, "problems of each operator")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    // A minus sign would wrap around.
    const auto is_natural = [](const std::string& text) {
        return std::string(text.starts_with('-') ? "is " + text + ", must be 0 to 18446744073709551615" : "");
    };
    command.add_option("--seed", options->seed, "another seed makes other problems")
        ->check(is_natural)
        ->capture_default_str();
    add_quiet(command, options->quiet);
    options->backend.add_to(command);
    command.footer(examples(
        "  ckitchen verify\n"
        "  ckitchen verify na3d --backend cpu --count 200 --seed 7\n"
        "  ckitchen verify --problem 'op=rotate dtype=f32 rows=3 k=16 group=4 x=@1 | fill=ties seed=7'\n"));
    command.callback([options, &run] { run = [options] { return verify(*options); }; });
}

}  // namespace ckitchen::cli
