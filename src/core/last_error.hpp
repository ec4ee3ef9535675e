// The calling thread's text behind ck_last_error(), in fixed storage: reporting an error never allocates.
#pragma once

#include <string_view>

namespace ckitchen {

void set_last_error(std::string_view function, std::string_view message) noexcept;
const char* last_error() noexcept;

}  // namespace ckitchen
