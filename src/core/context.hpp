// The object behind ck_context: one device and what was configured for it.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "core/backend.hpp"
#include "core/preferences.hpp"

namespace ckitchen {

// A variant of a context with the number of its successful calls.
struct VariantSlot {
    explicit VariantSlot(const Variant& v) : variant(v) {}

    Variant variant;
    std::atomic<uint64_t> calls{0};
};

constexpr std::size_t kOpCount = 11;  // one past the largest ck_op

// The sizes of a problem that preferences may ask for, in the order of the operator's names for them.
constexpr std::size_t kMaxMetrics = 5;
using Metrics = std::array<int64_t, kMaxMetrics>;

// A rule of the preferences, made ready for a context: no name is compared during a call.
struct ResolvedRule {
    struct Range {
        std::size_t metric;
        int64_t low;
        int64_t high;
    };
    std::vector<Range> ranges;
    std::vector<VariantSlot*> order;  // every variant of the operator

    bool holds(const Metrics& metrics) const;
};

// Rules for one operator's variants; the last one always holds. Unknown metrics are an error, rows that the
// device lacks are passed over (one file serves many devices), rows that no variant has anywhere are for the
// caller to find.
Status resolve_rules(const std::vector<PreferenceRule>& rules, std::span<const char* const> metric_names,
                     const std::string& prefix, std::span<VariantSlot* const> variants,
                     std::vector<ResolvedRule>& resolved);

// The name behind ck_last_variant(), static text, per thread.
void set_last_variant(const char* name) noexcept;
const char* last_variant() noexcept;

}  // namespace ckitchen

struct ck_context {
    std::unique_ptr<ckitchen::Backend> backend;
    std::deque<ckitchen::VariantSlot> variants;  // a deque: slots hold atomics and must not move
    std::array<std::vector<ckitchen::ResolvedRule>, ckitchen::kOpCount> rules;
    std::array<bool, ckitchen::kOpCount> disabled{};
    std::array<const char*, ckitchen::kOpCount> forced{};  // CKITCHEN_FORCE_VARIANT

    ck_backend kind() const { return backend->properties().backend; }
};
