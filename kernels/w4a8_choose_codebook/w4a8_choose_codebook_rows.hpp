// The rows of w4a8_choose_codebook.inc for the host. Pure functions of a problem's sizes; knows no driver and
// no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "w4a8_choose_codebook_args.h"

namespace ckitchen {

struct W4a8ChooseCodebookRow {
    const char* name;
    const char* kernel;     // symbol in the code object
    const char* feature;    // name from arch.json
    std::uint32_t threads;  // work-items of a workgroup, all in x
};

inline constexpr W4a8ChooseCodebookRow kW4a8ChooseCodebookRows[] = {
#define CK_W4A8_CHOOSE_CODEBOOK_ROW(name, feature, waves) \
    {#name, "ckitchen_w4a8_choose_codebook_" #name, #feature, (waves)*32},
#include "w4a8_choose_codebook.inc"
#undef CK_W4A8_CHOOSE_CODEBOOK_ROW
};
inline constexpr std::size_t kW4a8ChooseCodebookRowCount = std::size(kW4a8ChooseCodebookRows);

// Enough workgroups to fill every GPU several times over; each goes on to further groups of columns.
inline constexpr std::int64_t kW4a8ChooseCodebookMaxGroups = 4096;

// Workgroups to launch for `groups` (at least 1) groups of columns.
constexpr std::uint32_t w4a8_choose_codebook_workgroups(const W4a8ChooseCodebookRow& row,
                                                        std::int64_t groups) {
    const std::int64_t waves = row.threads / 32;
    const std::int64_t wanted = groups / waves + (groups % waves != 0 ? 1 : 0);
    return static_cast<std::uint32_t>(wanted < kW4a8ChooseCodebookMaxGroups ? wanted
                                                                            : kW4a8ChooseCodebookMaxGroups);
}

}  // namespace ckitchen
