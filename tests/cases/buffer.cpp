#include "cases/buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cases/random.hpp"

namespace ckitchen::cases {
namespace {

constexpr const char* kPlacementNames[] = {"guarded", "page_end", "page_begin"};

// int8: 123; float16: 61280; bfloat16 and float32: 1.3e36; e4m3: 352. Read by mistake it spoils any result.
constexpr uint8_t kInputPadding = 0x7b;

// Spans beyond this are transferred row by row when most of them is padding.
constexpr int64_t kSparseBytes = int64_t{32} << 20;

}  // namespace

const char* placement_name(Placement placement) {
    return kPlacementNames[static_cast<int>(placement)];
}

std::optional<Placement> find_placement(std::string_view name) {
    for (int i = 0; i < 3; ++i)
        if (name == kPlacementNames[i]) return static_cast<Placement>(i);
    return std::nullopt;
}

Buffer::Buffer(Device& device, const Operand& operand, Placement placement)
    : device_(device), operand_(operand) {
    int64_t lowest = 0;
    int64_t end = 0;
    operand.range(&lowest, &end);
    const int64_t before = -lowest * operand.element_size;
    const int64_t bytes = (end - lowest) * operand.element_size;

    // Element 0 comes to lie at exactly the wanted alignment relative to the region, which is 256-aligned.
    const auto wanted = static_cast<int64_t>(operand.alignment % 256);
    data_begin_ = kGuardBytes + ((wanted - before) % 256 + 256) % 256;
    if (placement == Placement::kPageBegin) data_begin_ = 0;
    data_end_ = data_begin_ + bytes;
    element0_ = data_begin_ + before;
    region_bytes_ = data_end_ + (placement == Placement::kPageEnd ? 0 : kGuardBytes);

    const bool sparse =
        bytes > kSparseBytes && bytes / 2 > operand.elements() * operand.element_size + kSparseBytes / 2;
    allocate(placement, sparse);
    cut_into_segments(sparse);
    for (const Segment& segment : segments_) {
        std::vector<uint8_t> bytes_of(static_cast<size_t>(segment.end - segment.begin), kInputPadding);
        if (operand.role == Role::kOutput)
            for (size_t i = 0; i < bytes_of.size(); ++i)
                bytes_of[i] = static_cast<uint8_t>(mix(static_cast<uint64_t>(segment.begin) + i));
        image_.push_back(std::move(bytes_of));
    }
}

Buffer::~Buffer() {
    if (mapping_ != nullptr)
        ::munmap(mapping_, static_cast<size_t>(mapping_bytes_));
    else
        ck_free(device_.context(), region_);
}

void Buffer::allocate(Placement placement, bool sparse) {
    const bool mapped = device_.is_cpu() && (placement != Placement::kGuarded || sparse);
    if (!mapped) {
        if (placement != Placement::kGuarded) throw std::logic_error("page placement is for the CPU");
        void* pointer = nullptr;
        expect_ok(ck_malloc(device_.context(), static_cast<uint64_t>(region_bytes_), &pointer), "ck_malloc");
        region_ = static_cast<uint8_t*>(pointer);
        return;
    }
    // The region between two inaccessible pages. Memory that is never touched costs nothing, so tensors of
    // many gigabytes fit where their rows do.
    const int64_t page = ::sysconf(_SC_PAGESIZE);
    const int64_t whole = (region_bytes_ + page - 1) / page * page;
    mapping_bytes_ = whole + 2 * page;
    void* mapping = ::mmap(nullptr, static_cast<size_t>(mapping_bytes_), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        throw ApiError("mmap of " + std::to_string(mapping_bytes_) + " bytes: " + std::strerror(errno));
    mapping_ = mapping;
    auto* first = static_cast<uint8_t*>(mapping) + page;
    if (whole > 0 && ::mprotect(first, static_cast<size_t>(whole), PROT_READ | PROT_WRITE) != 0)
        throw ApiError("mprotect of " + std::to_string(whole) + " bytes: " + std::strerror(errno));
    region_ = placement == Placement::kPageEnd ? first + whole - region_bytes_ : first;
}

void Buffer::cut_into_segments(bool sparse) {
    if (!sparse) {
        segments_.push_back({0, region_bytes_});
        return;
    }
    std::vector<Segment> rows;
    for (int64_t row = 0; row < operand_.rows(); ++row) {
        const int64_t begin = row_begin(row);
        rows.push_back(
            {std::max<int64_t>(begin - kGuardBytes, 0),
             std::min(begin + operand_.width() * operand_.element_size + kGuardBytes, region_bytes_)});
    }
    std::sort(rows.begin(), rows.end(), [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    for (const Segment& row : rows) {
        if (!segments_.empty() && row.begin <= segments_.back().end)
            segments_.back().end = std::max(segments_.back().end, row.end);
        else
            segments_.push_back(row);
    }
}

void* Buffer::pointer() const {
    return region_ + element0_;
}

uint8_t* Buffer::at(Image& image, int64_t offset) const {
    const auto next = std::upper_bound(segments_.begin(), segments_.end(), offset,
                                       [](int64_t value, const Segment& s) { return value < s.begin; });
    const size_t index = static_cast<size_t>(next - segments_.begin()) - 1;
    return image[index].data() + (offset - segments_[index].begin);
}

const uint8_t* Buffer::at(const Image& image, int64_t offset) const {
    return at(const_cast<Image&>(image), offset);
}

void Buffer::scatter(const std::vector<uint8_t>& rows) {
    const auto bytes = static_cast<size_t>(operand_.width() * operand_.element_size);
    for (int64_t row = 0; row < operand_.rows(); ++row)
        std::memcpy(at(image_, row_begin(row)), rows.data() + static_cast<size_t>(row) * bytes, bytes);
}

std::vector<uint8_t> Buffer::gather(const Image& image) const {
    const auto bytes = static_cast<size_t>(operand_.width() * operand_.element_size);
    std::vector<uint8_t> rows(static_cast<size_t>(operand_.rows()) * bytes);
    for (int64_t row = 0; row < operand_.rows(); ++row)
        std::memcpy(rows.data() + static_cast<size_t>(row) * bytes, at(image, row_begin(row)), bytes);
    return rows;
}

void Buffer::upload() {
    for (size_t i = 0; i < segments_.size(); ++i)
        expect_ok(ck_copy(device_.context(), region_ + segments_[i].begin, image_[i].data(), image_[i].size(),
                          CK_COPY_HOST_TO_DEVICE, nullptr),
                  "ck_copy to the device");
}

void Buffer::download() {
    current_.resize(segments_.size());
    for (size_t i = 0; i < segments_.size(); ++i) {
        current_[i].resize(image_[i].size());
        expect_ok(ck_copy(device_.context(), current_[i].data(), region_ + segments_[i].begin,
                          current_[i].size(), CK_COPY_DEVICE_TO_HOST, nullptr),
                  "ck_copy from the device");
    }
}

std::optional<Buffer::Stray> Buffer::stray() {
    // With the rows taken from the image, every difference that is left lies outside of them.
    Image rest = current_;
    const auto bytes = static_cast<size_t>(operand_.width() * operand_.element_size);
    for (int64_t row = 0; row < operand_.rows(); ++row)
        std::memcpy(at(rest, row_begin(row)), at(image_, row_begin(row)), bytes);
    for (size_t i = 0; i < segments_.size(); ++i) {
        const auto [found, expected] = std::mismatch(rest[i].begin(), rest[i].end(), image_[i].begin());
        if (found == rest[i].end()) continue;
        const int64_t place = segments_[i].begin + (found - rest[i].begin());
        return Stray{place - element0_, place < data_begin_ || place >= data_end_, *expected, *found};
    }
    return std::nullopt;
}

}  // namespace ckitchen::cases
