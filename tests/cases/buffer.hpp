// Memory of one operand on the device, with everything around it watched: guard zones before and after, the
// padding between rows, and the exact alignment that the problem asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cases/device.hpp"
#include "cases/operands.hpp"

namespace ckitchen::cases {

enum class Placement {
    kGuarded,   // patterned guard zones on both sides
    kPageEnd,   // the last byte lies before an inaccessible page: reading past the end faults (CPU only)
    kPageBegin  // the first byte lies behind an inaccessible page (CPU only)
};
const char* placement_name(Placement placement);
std::optional<Placement> find_placement(std::string_view name);

constexpr int64_t kGuardBytes = 256;

class Buffer {
  public:
    // Inputs are surrounded by a byte that is a large finite number in every type, outputs by bytes that
    // depend on the place.
    Buffer(Device& device, const Operand& operand, Placement placement);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Element 0 on the device.
    void* pointer() const;

    // Rows, packed, to and from the host's image of the memory. Where rows overlap (inputs with stride 0) the
    // last one stays.
    void scatter(const std::vector<uint8_t>& rows);
    std::vector<uint8_t> gather() const { return gather(image_); }
    void upload();

    // After download(): the device's rows, and the first byte outside of them that is not as it was.
    void download();
    std::vector<uint8_t> downloaded_rows() const { return gather(current_); }
    struct Stray {
        int64_t offset;  // bytes from element 0
        bool in_guard;   // otherwise between rows
        uint8_t expected, found;
    };
    std::optional<Stray> stray();

  private:
    // Bytes [begin, end) of the region that are transferred and watched. One, unless rows lie very far apart:
    // then each row with its neighbourhood.
    struct Segment {
        int64_t begin, end;
    };
    using Image = std::vector<std::vector<uint8_t>>;  // one for each segment

    int64_t row_begin(int64_t row) const {
        return element0_ + operand_.row_offset(row) * operand_.element_size;
    }
    uint8_t* at(Image& image, int64_t offset) const;
    const uint8_t* at(const Image& image, int64_t offset) const;
    std::vector<uint8_t> gather(const Image& image) const;
    void cut_into_segments(bool sparse);
    void allocate(Placement placement, bool sparse);

    Device& device_;
    Operand operand_;
    int64_t element0_ = 0;    // byte offset of element 0 in the region
    int64_t data_begin_ = 0;  // byte offset of the lowest element
    int64_t data_end_ = 0;
    int64_t region_bytes_ = 0;
    uint8_t* region_ = nullptr;
    void* mapping_ = nullptr;  // instead of ck_malloc, CPU only
    int64_t mapping_bytes_ = 0;
    std::vector<Segment> segments_;
    Image image_;
    Image current_;
};

}  // namespace ckitchen::cases
