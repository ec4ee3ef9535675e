// Runs a case through the public API and holds the result against the plain reference.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cases/buffer.hpp"
#include "cases/fill.hpp"
#include "cases/problem.hpp"

namespace ckitchen::cases {

using Bytes = std::vector<uint8_t>;

struct Case {
    Problem problem;
    Fill fill = Fill::kNormal;
    uint64_t seed = 1;
    Placement placement = Placement::kGuarded;
    bool in_place = false;  // ck_rotate alone: y is x
    // Packed rows by operand: what inputs hold instead of the fill, what outputs must be instead of the
    // reference's result, what a counter must grow by.
    std::map<std::string, Bytes> given;
};

// The problem text, then behind a '|', which problem texts end at, how the tensors are filled and placed:
// "op=rotate dtype=f32 rows=3 k=16 group=4 x=@1 y=@16 | fill=ties seed=7". parse_case reads both forms.
std::string format_case(const Case& which);
std::optional<Case> parse_case(const std::string& text, std::string* error);

enum class Fault {
    kStatus,     // a call failed that had to succeed
    kVariant,    // another variant ran than <op>_supported had named
    kKernel,     // what a simulator executed is not the kernel of the variant that is said to have run
    kCounter,    // the context's counters did not count this call, or counted another variant
    kUnwritten,  // elements of an output that the call left as they were
    kValue,      // wrong elements of an output
    kPadding,    // a byte between rows was written
    kGuard,      // a byte before or after a tensor was written
    kInput       // an input was changed
};

struct Failure {
    Fault fault;
    std::string text;
};

struct Outcome {
    std::vector<Failure> failures;
    ck_status status = CK_OK;              // of the call that failed; the result is then unknown
    std::string variant;                   // what ran
    std::map<std::string, Bytes> outputs;  // packed rows, as the call left them

    bool ok() const { return failures.empty(); }
    bool has(Fault fault) const;
    // One line: the failures, then the case as a command line.
    std::string line(const Device& device, const Case& which) const;
};

// Where a planted fault gets in: what stands between the runner and the library.
struct Hooks {
    std::function<ck_status(const Op&, ck_context*, const Args&)> call =
        [](const Op& op, ck_context* context, const Args& args) { return op.call(context, args, nullptr); };
    std::function<std::string()> last_variant = [] { return std::string(ck_last_variant()); };
    std::function<std::vector<std::string>(Device&)> launched = [](Device& device) {
        return device.launched();
    };
};

// Empty when the device takes the problem, otherwise the library's reason. For problems that people write:
// the functions here take for granted that extents are not negative.
std::string refusal(Device& device, const Problem& problem);

Outcome run_case(Device& device, const Case& which, const Hooks& hooks = Hooks());

// Attention in float64 over packed tensors; what the bounds are measured against.
struct AttentionReference {
    std::vector<double> out;
    double largest_logit = 0;  // scale * sum |q_d * k_d|, the largest of all pairs
    double largest_value = 0;  // |v|
};
AttentionReference attention_reference(const ck_na3d_args& args, const std::vector<uint8_t>& q,
                                       const std::vector<uint8_t>& k, const std::vector<uint8_t>& v);
// Empty when `out` (packed, args.dtype) is within the bounds; otherwise what is not.
std::string attention_error(const ck_na3d_args& args, const AttentionReference& reference,
                            const std::vector<uint8_t>& out);

}  // namespace ckitchen::cases
