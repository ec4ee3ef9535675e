#include "core/context.hpp"

#include <algorithm>

namespace ckitchen {
namespace {

thread_local const char* last_variant_name = "";

}  // namespace

bool ResolvedRule::holds(const Metrics& metrics) const {
    return std::all_of(ranges.begin(), ranges.end(), [&](const Range& range) {
        return metrics[range.metric] >= range.low && metrics[range.metric] <= range.high;
    });
}

Status resolve_rules(const std::vector<PreferenceRule>& rules, std::span<const char* const> metric_names,
                     const std::string& prefix, std::span<VariantSlot* const> variants,
                     std::vector<ResolvedRule>& resolved) {
    resolved.clear();
    for (const PreferenceRule& rule : rules) {
        ResolvedRule& entry = resolved.emplace_back();
        for (const PreferenceRule::Range& range : rule.ranges) {
            const auto found = std::find(metric_names.begin(), metric_names.end(), range.metric);
            if (found == metric_names.end())
                return error(CK_ERROR_INVALID_CONFIGURATION, "tuning: '{}' is no size of {}", range.metric,
                             prefix);
            entry.ranges.push_back(
                {static_cast<std::size_t>(found - metric_names.begin()), range.low, range.high});
        }
        for (const std::string& row : rule.rows) {
            for (VariantSlot* slot : variants) {
                if (prefix + row == slot->variant.name) entry.order.push_back(slot);
            }
        }
    }
    resolved.emplace_back();
    for (ResolvedRule& entry : resolved) {
        for (VariantSlot* slot : variants) {
            if (std::find(entry.order.begin(), entry.order.end(), slot) == entry.order.end())
                entry.order.push_back(slot);
        }
    }
    return {};
}

void set_last_variant(const char* name) noexcept {
    last_variant_name = name;
}

const char* last_variant() noexcept {
    return last_variant_name;
}

}  // namespace ckitchen
