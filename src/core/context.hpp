// The object behind ck_context: one device and what was configured for it.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>

#include "core/backend.hpp"

namespace ckitchen {

// A variant of a context with the number of its successful calls.
struct VariantSlot {
    explicit VariantSlot(const Variant& v) : variant(v) {}

    Variant variant;
    std::atomic<uint64_t> calls{0};
};

constexpr std::size_t kOpCount = 10;  // one past the largest ck_op

// The name behind ck_last_variant(), static text, per thread.
void set_last_variant(const char* name) noexcept;
const char* last_variant() noexcept;

}  // namespace ckitchen

struct ck_context {
    std::unique_ptr<ckitchen::Backend> backend;
    std::deque<ckitchen::VariantSlot> variants;  // a deque: slots hold atomics and must not move
    std::array<bool, ckitchen::kOpCount> disabled{};
    std::array<const char*, ckitchen::kOpCount> forced{};  // CKITCHEN_FORCE_VARIANT

    ck_backend kind() const { return backend->properties().backend; }
};
