#include "ops/refusal.hpp"

#include <fmt/args.h>

#include <vector>

namespace ckitchen::ops {

std::string Refusal::text() const {
    if (!format_) return {};
    if (count_ == 0) return format_;
    fmt::dynamic_format_arg_store<fmt::format_context> store;
    for (std::size_t i = 0; i < count_; ++i) {
        const Value& value = values_[i];
        switch (value.kind) {
            case Value::Kind::Integer:
                store.push_back(value.integer);
                break;
            case Value::Kind::Float:
                store.push_back(value.real);
                break;
            case Value::Kind::Text:
                store.push_back(value.text);
                break;
        }
    }
    return format_text(format_, store);
}

Refusal refuse_misaligned(std::uint64_t alignment, std::initializer_list<NamedValue> values) {
    for (const NamedValue& named : values) {
        if (named.value * named.unit % alignment == 0) continue;
        if (named.unit != 1)
            return {"{} is {}, times {} bytes it must be a multiple of {}", named.name, named.value,
                    named.unit, alignment};
        if (named.address)
            return {"{} is {:#x}, must be a multiple of {}", named.name, named.value, alignment};
        return {"{} is {}, must be a multiple of {}", named.name, named.value, alignment};
    }
    return {};
}

namespace {

// Variants that refuse with the same words are one item, under the name of the first that said them.
struct Item {
    std::string reason;
    const char* variant;
    std::size_t others = 0;

    std::string text() const {
        const std::string also = others == 0   ? ""
                                 : others == 1 ? " and 1 other"
                                               : " and " + std::to_string(others) + " others";
        return variant + also + ": " + reason;
    }
};

std::vector<Item> items_of(std::span<const RefusedVariant> refused) {
    std::vector<Item> items;
    // Preferences name what takes most problems last; its reason says most.
    for (std::size_t i = refused.size(); i-- > 0;) {
        std::string reason = refused[i].refusal.text();
        Item* same = nullptr;
        for (Item& item : items) {
            if (item.reason == reason) same = &item;
        }
        if (same)
            ++same->others;
        else
            items.push_back({std::move(reason), refused[i].name});
    }
    return items;
}

}  // namespace

Status no_variant(const char* op, const char* arch, const std::string& of_what,
                  std::span<const RefusedVariant> refused) {
    constexpr std::size_t kMost = sizeof(ck_support_info::reason) - 1;
    const std::vector<Item> items = items_of(refused);
    std::string text = std::string(op) + " has no variant on " + arch + " for " + of_what;
    std::size_t left = refused.size();
    for (const Item& item : items) {
        const std::string next = (left == refused.size() ? ": " : "; ") + item.text();
        left -= 1 + item.others;
        const std::string rest = left == 0 ? "" : "; and " + std::to_string(left) + " more";
        if (text.size() + next.size() + rest.size() > kMost) {
            left += 1 + item.others;
            break;
        }
        text += next;
    }
    if (left != 0) text += "; and " + std::to_string(left) + " more";
    return {CK_ERROR_UNSUPPORTED_PROBLEM, text};
}

}  // namespace ckitchen::ops
