// The memory that an argument covers, for the checks that need no access to it: does it fit the address
// space, is a required pointer there, does an output overlap anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/status.hpp"

namespace ckitchen {

struct Dimension {
    int64_t stride;  // bytes, any sign
    int64_t extent;  // > 0
};

// At most as many as a tensor has axes; in place, since checking a call must not allocate.
class Dimensions {
  public:
    void push_back(Dimension dimension) { items_[count_++] = dimension; }
    const Dimension* begin() const { return items_.data(); }
    const Dimension* end() const { return items_.data() + count_; }

  private:
    std::array<Dimension, 5> items_{};
    std::size_t count_ = 0;
};

// `run` contiguous bytes at base + sum of index * stride over the dimensions.
struct Region {
    const char* name = "";
    uint64_t base = 0;
    int64_t run = 0;
    Dimensions dimensions;
    bool output = false;
    bool required = true;
};

// A row-major matrix, sizes in bytes. Nothing when rows or columns is 0.
Region matrix_region(const char* name, const void* base, int64_t rows, int64_t row_bytes,
                     int64_t stride_bytes);

class Regions {
  public:
    void input(const char* name, const void* base, int64_t rows, int64_t columns, int64_t ld,
               int64_t element) {
        add(name, base, rows, columns, ld, element, false, true);
    }
    void optional_input(const char* name, const void* base, int64_t rows, int64_t columns, int64_t ld,
                        int64_t element) {
        add(name, base, rows, columns, ld, element, false, false);
    }
    void output(const char* name, const void* base, int64_t rows, int64_t columns, int64_t ld,
                int64_t element) {
        add(name, base, rows, columns, ld, element, true, true);
    }
    void optional_output(const char* name, const void* base, int64_t rows, int64_t columns, int64_t ld,
                         int64_t element) {
        add(name, base, rows, columns, ld, element, true, false);
    }
    // Any strided set; strides and run in bytes.
    void strided(const Region& region) { push(region); }
    // The caller's workspace: an output that nothing may overlap. Checked as it is added.
    Status workspace(const void* base, uint64_t bytes);
    // Sizes that do not fit 63 bits were met: which argument.
    void overflow(const char* name) {
        if (!overflow_) overflow_ = name;
    }

    // Everything fits the address space. `query`: NULL required pointers are legal.
    Status check(bool query) const;
    // Outputs against everything else. `may_alias` names one input that may be exactly the output `alias_of`.
    Status check_overlap(const char* may_alias = nullptr, const char* alias_of = nullptr) const;

  private:
    void add(const char* name, const void* base, int64_t rows, int64_t columns, int64_t ld, int64_t element,
             bool output, bool required);

    static Status check_region(const Region& region, bool query);
    void push(const Region& region) { regions_[count_++] = region; }

    static constexpr std::size_t kCapacity = 12;  // more than the arguments of any operator
    std::array<Region, kCapacity> regions_{};
    std::size_t count_ = 0;
    const char* overflow_ = nullptr;
};

// Exact for every layout in practice; a search that grows beyond a fixed budget answers "no overlap", since
// only a definite overlap may be refused.
bool overlaps(const Region& a, const Region& b);

// Do two different indices of a region share a byte?
bool overlaps_itself(const Region& region);

}  // namespace ckitchen
