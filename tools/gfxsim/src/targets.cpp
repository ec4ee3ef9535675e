#include "targets.hpp"

namespace ckitchen::gfxsim {
namespace {

constexpr uint64_t kGiB = 1ull << 30;
constexpr int kMiB = 1 << 20;

constexpr Target kTargets[] = {
    {"gfx1030", 0x36, Generation::kGfx103, 10, 3, 0, 80, 16 * kGiB, 2250000, 4 * kMiB, 256, false,
     "AMD Radeon RX 6900 XT", 1024},
    {"gfx1031", 0x37, Generation::kGfx103, 10, 3, 1, 40, 12 * kGiB, 2581000, 3 * kMiB, 192, false,
     "AMD Radeon RX 6700 XT", 1024},
    {"gfx1032", 0x38, Generation::kGfx103, 10, 3, 2, 32, 8 * kGiB, 2589000, 2 * kMiB, 128, false,
     "AMD Radeon RX 6600 XT", 1024},
    {"gfx1033", 0x39, Generation::kGfx103, 10, 3, 3, 8, 4 * kGiB, 1600000, 1 * kMiB, 128, true,
     "AMD Custom APU 0405", 1024},
    {"gfx1034", 0x3e, Generation::kGfx103, 10, 3, 4, 16, 4 * kGiB, 2815000, 1 * kMiB, 64, false,
     "AMD Radeon RX 6500 XT", 1024},
    {"gfx1035", 0x3d, Generation::kGfx103, 10, 3, 5, 12, 4 * kGiB, 2400000, 2 * kMiB, 128, true,
     "AMD Radeon 680M", 1024},
    {"gfx1036", 0x45, Generation::kGfx103, 10, 3, 6, 2, 4 * kGiB, 2200000, 256 * 1024, 128, true,
     "AMD Radeon Graphics", 1024},
    {"gfx1100", 0x41, Generation::kGfx11, 11, 0, 0, 96, 24 * kGiB, 2500000, 6 * kMiB, 384, false,
     "AMD Radeon RX 7900 XTX", 1536},
    {"gfx1101", 0x46, Generation::kGfx11, 11, 0, 1, 60, 16 * kGiB, 2430000, 4 * kMiB, 256, false,
     "AMD Radeon RX 7800 XT", 1536},
    {"gfx1102", 0x47, Generation::kGfx11, 11, 0, 2, 32, 8 * kGiB, 2655000, 2 * kMiB, 128, false,
     "AMD Radeon RX 7600", 1024},
    {"gfx1103", 0x44, Generation::kGfx11, 11, 0, 3, 12, 8 * kGiB, 2800000, 2 * kMiB, 128, true,
     "AMD Radeon 780M", 1024},
    {"gfx1150", 0x43, Generation::kGfx11, 11, 5, 0, 16, 16 * kGiB, 2900000, 2 * kMiB, 128, true,
     "AMD Radeon 890M", 1024},
    {"gfx1151", 0x4a, Generation::kGfx11, 11, 5, 1, 40, 64 * kGiB, 2900000, 2 * kMiB, 256, true,
     "AMD Radeon 8060S", 1536},
    {"gfx1152", 0x55, Generation::kGfx11, 11, 5, 2, 8, 8 * kGiB, 2800000, 1 * kMiB, 128, true,
     "AMD Radeon 840M", 1024},
    {"gfx1153", 0x58, Generation::kGfx11, 11, 5, 3, 8, 8 * kGiB, 2800000, 1 * kMiB, 128, true,
     "AMD Radeon Graphics", 1024},
    {"gfx1200", 0x48, Generation::kGfx12, 12, 0, 0, 32, 16 * kGiB, 3130000, 4 * kMiB, 128, false,
     "AMD Radeon RX 9060 XT", 1536},
    {"gfx1201", 0x4e, Generation::kGfx12, 12, 0, 1, 64, 16 * kGiB, 2970000, 8 * kMiB, 256, false,
     "AMD Radeon RX 9070 XT", 1536},
};

}  // namespace

const Target* find_target(std::string_view name) {
    for (const Target& t : kTargets)
        if (name == t.name) return &t;
    return nullptr;
}

uint32_t generic_mach(Generation generation) {
    switch (generation) {
        case Generation::kGfx103:
            return 0x53;
        case Generation::kGfx11:
            return 0x54;
        default:
            return 0x59;
    }
}

const char* mach_name(uint32_t mach) {
    for (const Target& t : kTargets)
        if (t.mach == mach) return t.name;
    switch (mach) {
        case 0x2f:
            return "gfx906";
        case 0x3f:
            return "gfx90a";
        case 0x4c:
            return "gfx942";
        case 0x4f:
            return "gfx950";
        case 0x49:
            return "gfx1250";
        case 0x53:
            return "gfx10-3-generic";
        case 0x54:
            return "gfx11-generic";
        case 0x59:
            return "gfx12-generic";
        default:
            return "unknown";
    }
}

}  // namespace ckitchen::gfxsim
