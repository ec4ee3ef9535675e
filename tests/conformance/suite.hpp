// What the whole conformance run shares: the device under test, the tier, the seed, and how a case is
// checked.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "cases/check.hpp"
#include "cases/floats.hpp"
#include "cases/generate.hpp"
#include "catch.hpp"

namespace ckitchen::conformance {

using namespace ckitchen::cases;

struct Suite {
    Device* device = nullptr;
    bool full = false;
    uint64_t seed = 1;
    std::string golden_directory;
    // What was left out, by test and reason; never part of what passed.
    std::map<std::pair<std::string, std::string>, int64_t> skipped;
    std::set<std::string> checked;  // tests that compared something

    // Sizes of a generated case: small enough for a simulator in the smoke tier.
    Budget budget() const;
    // Generated cases of an operator: `smoke` in the smoke tier, `full` otherwise; fewer on a simulator.
    int64_t count(int64_t smoke, int64_t full_count) const;
};

Suite& suite();
inline Device& device() {
    return *suite().device;
}

// Notes that the running test leaves one of its cases out, and why; the summary at the end tells them all.
void skip(const std::string& reason);

// Runs the case and reports a failure as one line that `ckitchen verify` takes. Ends the test when too many
// have failed.
Outcome check(const Case& which);

// An operator by the type of its args.
template <typename Problem>
struct ArgsOf {
    ck_op op;
    Problem Args::*member;
};
template <typename Problem>
inline constexpr ArgsOf<Problem> args_of{};
template <>
inline constexpr ArgsOf<ck_int8_gemm_args> args_of<ck_int8_gemm_args>{CK_OP_INT8_GEMM, &Args::int8_gemm};
template <>
inline constexpr ArgsOf<ck_int8_quantize_args> args_of<ck_int8_quantize_args>{CK_OP_INT8_QUANTIZE,
                                                                              &Args::int8_quantize};
template <>
inline constexpr ArgsOf<ck_int8_linear_args> args_of<ck_int8_linear_args>{CK_OP_INT8_LINEAR,
                                                                          &Args::int8_linear};
template <>
inline constexpr ArgsOf<ck_rotate_args> args_of<ck_rotate_args>{CK_OP_ROTATE, &Args::rotate};
template <>
inline constexpr ArgsOf<ck_w4a8_requant_args> args_of<ck_w4a8_requant_args>{CK_OP_W4A8_REQUANT,
                                                                            &Args::w4a8_requant};
template <>
inline constexpr ArgsOf<ck_w4a8_choose_codebook_args> args_of<ck_w4a8_choose_codebook_args>{
    CK_OP_W4A8_CHOOSE_CODEBOOK, &Args::w4a8_choose_codebook};
template <>
inline constexpr ArgsOf<ck_w4a8_dequant_args> args_of<ck_w4a8_dequant_args>{CK_OP_W4A8_DEQUANT,
                                                                            &Args::w4a8_dequant};
template <>
inline constexpr ArgsOf<ck_w4a8_linear_args> args_of<ck_w4a8_linear_args>{CK_OP_W4A8_LINEAR,
                                                                          &Args::w4a8_linear};
template <>
inline constexpr ArgsOf<ck_int8_error_args> args_of<ck_int8_error_args>{CK_OP_INT8_ERROR, &Args::int8_error};
template <>
inline constexpr ArgsOf<ck_na3d_args> args_of<ck_na3d_args>{CK_OP_NA3D, &Args::na3d};

// A problem with every required pointer 256-aligned and all else as `set` leaves it.
template <typename Set>
Case make_case(ck_op op, Set set, Fill fill = Fill::kNormal) {
    Case which;
    which.problem = make_problem(op);
    which.fill = fill;
    which.seed = suite().seed;
    set(which.problem.args);
    return which;
}

// The same where the parameter of `set` says which operator is meant: make_case([](ck_rotate_args& args)
// {...}).
template <typename Set>
Case make_case(Set set, Fill fill = Fill::kNormal) {
    return [&]<typename Problem>(void (Set::*)(Problem&) const) {
        return make_case(
            args_of<Problem>.op, [&](Args& all) { set(all.*args_of<Problem>.member); }, fill);
    }(&Set::operator());
}

// Arrays as the packed rows that Case::given takes, and back.
template <typename T>
Bytes to_bytes(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    return Bytes(bytes, bytes + values.size() * sizeof(T));
}
Bytes to_bytes(const std::vector<float>& values, ck_dtype dtype);
std::vector<float> to_floats(const Bytes& bytes, ck_dtype dtype);

// The bits of the tests' own arrays are what counts: -0 and NaN included.
bool same_values(const Bytes& a, const Bytes& b, ck_dtype dtype);

}  // namespace ckitchen::conformance
