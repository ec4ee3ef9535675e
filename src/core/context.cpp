#include "core/context.hpp"

namespace ckitchen {
namespace {

thread_local const char* last_variant_name = "";

}  // namespace

void set_last_variant(const char* name) noexcept {
    last_variant_name = name;
}

const char* last_variant() noexcept {
    return last_variant_name;
}

}  // namespace ckitchen
