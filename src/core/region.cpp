#include "core/region.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace ckitchen {
namespace {

__extension__ typedef __int128 Wide;

// The lowest byte and one past the highest, relative to base.
void bounds(const Region& region, Wide& low, Wide& high) {
    low = 0;
    high = region.run;
    for (const Dimension& d : region.dimensions) {
        const Wide reach = Wide{d.stride} * (d.extent - 1);
        (reach < 0 ? low : high) += reach;
    }
}

// One summand index * stride with index in [low, high].
struct Term {
    Wide stride;  // > 0
    int64_t low;
    int64_t high;
};

// Is there a choice of indices with  lower < target - sum < upper  (strictly between)? Terms come largest
// stride first, so that few indices of each are in reach of the rest.
class Search {
  public:
    Search(std::vector<Term> terms, Wide lower, Wide upper, bool exclude_zero)
        : terms_(std::move(terms)), lower_(lower), upper_(upper), exclude_zero_(exclude_zero) {
        std::sort(terms_.begin(), terms_.end(),
                  [](const Term& a, const Term& b) { return a.stride > b.stride; });
        rest_low_.assign(terms_.size() + 1, 0);
        rest_high_.assign(terms_.size() + 1, 0);
        for (std::size_t i = terms_.size(); i-- > 0;) {
            rest_low_[i] = rest_low_[i + 1] + terms_[i].stride * terms_[i].low;
            rest_high_[i] = rest_high_[i + 1] + terms_[i].stride * terms_[i].high;
        }
    }

    bool found(Wide target) { return visit(0, target, false); }

  private:
    static Wide floor_div(Wide a, Wide b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }

    bool visit(std::size_t i, Wide target, bool nonzero) {
        if (--budget_ < 0) return false;
        if (i == terms_.size()) return lower_ < target && target < upper_ && (nonzero || !exclude_zero_);
        const Term& term = terms_[i];
        // target - index * stride must lie in (lower + rest_low, upper + rest_high).
        const Wide first = floor_div(target - (upper_ + rest_high_[i + 1]), term.stride) + 1;
        const Wide last = floor_div(target - (lower_ + rest_low_[i + 1]) - 1, term.stride);
        for (Wide index = std::max(first, Wide{term.low}); index <= std::min(last, Wide{term.high});
             ++index) {
            if (visit(i + 1, target - index * term.stride, nonzero || index != 0)) return true;
            if (budget_ < 0) return false;
        }
        return false;
    }

    std::vector<Term> terms_;
    std::vector<Wide> rest_low_;
    std::vector<Wide> rest_high_;
    Wide lower_;
    Wide upper_;
    bool exclude_zero_;
    int64_t budget_ = 20000;
};

// sign +1: indices of the region itself; -1: of the region on the other side of the equation.
void add_terms(std::vector<Term>& terms, const Region& region, int sign) {
    for (const Dimension& d : region.dimensions) {
        if (d.extent <= 1 || d.stride == 0) continue;
        const bool positive = (d.stride > 0) == (sign > 0);
        terms.push_back({d.stride > 0 ? Wide{d.stride} : -Wide{d.stride}, positive ? 0 : -(d.extent - 1),
                         positive ? d.extent - 1 : 0});
    }
}

}  // namespace

Region matrix_region(const char* name, const void* base, int64_t rows, int64_t row_bytes,
                     int64_t stride_bytes) {
    Region region;
    region.name = name;
    region.base = reinterpret_cast<uint64_t>(base);
    if (rows == 0 || row_bytes == 0) return region;
    region.run = row_bytes;
    if (rows > 1) region.dimensions.push_back({stride_bytes, rows});
    return region;
}

bool overlaps(const Region& a, const Region& b) {
    if (a.run == 0 || b.run == 0) return false;
    Wide a_low, a_high, b_low, b_high;
    bounds(a, a_low, a_high);
    bounds(b, b_low, b_high);
    const Wide distance = Wide{b.base} - Wide{a.base};
    if (distance + b_high <= a_low || distance + b_low >= a_high) return false;
    // Byte runs at a + sum_a and b + sum_b meet when  -run_b < (b - a) - (sum_a - sum_b) < run_a.
    std::vector<Term> terms;
    add_terms(terms, a, +1);
    add_terms(terms, b, -1);
    return Search(std::move(terms), -Wide{b.run}, a.run, false).found(distance);
}

bool overlaps_itself(const Region& region) {
    if (region.run == 0) return false;
    std::vector<Term> terms;
    for (const Dimension& d : region.dimensions) {
        if (d.extent <= 1) continue;
        if (d.stride == 0) return true;
        terms.push_back({d.stride > 0 ? Wide{d.stride} : -Wide{d.stride}, -(d.extent - 1), d.extent - 1});
    }
    // The usual case at once: every stride steps over all that the smaller ones reach.
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.stride < b.stride; });
    Wide reach = region.run;
    bool nested = true;
    for (const Term& term : terms) {
        nested = nested && term.stride >= reach;
        reach += term.stride * term.high;
    }
    if (nested) return false;
    return Search(std::move(terms), -Wide{region.run}, region.run, true).found(0);
}

void Regions::add(const char* name, const void* base, int64_t rows, int64_t columns, int64_t ld,
                  int64_t element, bool output, bool required) {
    int64_t row_bytes = 0;
    int64_t stride_bytes = 0;
    if (__builtin_mul_overflow(columns, element, &row_bytes) ||
        __builtin_mul_overflow(ld, element, &stride_bytes)) {
        overflow(name);
        return;
    }
    Region region = matrix_region(name, base, rows, row_bytes, stride_bytes);
    region.output = output;
    region.required = required;
    push(region);
}

Status Regions::workspace(const void* base, uint64_t bytes) {
    if (!base || bytes == 0) return {};
    if (bytes > uint64_t{INT64_MAX})
        return invalid_argument("workspace: its size in bytes does not fit 63 bits");
    Region region;
    region.name = "workspace";
    region.base = reinterpret_cast<uint64_t>(base);
    region.run = static_cast<int64_t>(bytes);
    region.output = true;
    push(region);
    return check_region(region, false);
}

Status Regions::check_region(const Region& region, bool query) {
    if (region.run == 0) return {};
    Wide low, high;
    bounds(region, low, high);
    if (high - low > Wide{INT64_MAX})
        return invalid_argument("{}: its size in bytes does not fit 63 bits", region.name);
    if (region.base == 0) {
        if (region.required && !query) return invalid_argument("{} is NULL", region.name);
        return {};
    }
    if (Wide{region.base} + low < 0 || Wide{region.base} + high > Wide{UINT64_MAX})
        return invalid_argument("{}: {:#x} and its size leave the address space", region.name, region.base);
    if (region.output && overlaps_itself(region))
        return invalid_argument("{}: its strides make elements overlap each other", region.name);
    return {};
}

Status Regions::check(bool query) const {
    if (overflow_) return invalid_argument("{}: its size in bytes does not fit 63 bits", overflow_);
    for (std::size_t i = 0; i < count_; ++i) CK_RETURN_IF_ERROR(check_region(regions_[i], query));
    return {};
}

Status Regions::check_overlap(const char* may_alias, const char* alias_of) const {
    for (std::size_t i = 0; i < count_; ++i) {
        const Region& output = regions_[i];
        if (!output.output || output.base == 0) continue;
        for (std::size_t j = 0; j < count_; ++j) {
            const Region& other = regions_[j];
            // Two outputs meet in both orders: one report is enough.
            if (i == j || other.base == 0 || (other.output && j < i)) continue;
            if (may_alias && std::strcmp(other.name, may_alias) == 0 &&
                std::strcmp(output.name, alias_of) == 0 && other.base == output.base &&
                other.run == output.run &&
                std::equal(other.dimensions.begin(), other.dimensions.end(), output.dimensions.begin(),
                           output.dimensions.end(), [](const Dimension& a, const Dimension& b) {
                               return a.stride == b.stride && a.extent == b.extent;
                           }))
                continue;
            if (overlaps(output, other))
                return invalid_argument("{} at {:#x} overlaps {} at {:#x}", output.name, output.base,
                                        other.name, other.base);
        }
    }
    return {};
}

}  // namespace ckitchen
