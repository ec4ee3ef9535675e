// The host's view of the rows: limits and launch geometry at their boundaries.

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "../int8_gemm/int8_gemm_rows.hpp"
#include "../int8_quantize/int8_quantize_rows.hpp"
#include "../rotate/rotate_rows.hpp"

using namespace ckitchen;

namespace {

int failures = 0;

void expect(bool condition, const char* row, const char* what) {
    if (condition) return;
    ++failures;
    std::printf("FAILED %s: %s\n", row, what);
}

const Int8GemmRow* find(std::string_view name) {
    for (const Int8GemmRow& row : kInt8GemmRows) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

Int8GemmRefusal refusal(const char* name, const Int8GemmShape& shape) {
    const Int8GemmRow* row = find(name);
    if (row == nullptr) {
        expect(false, name, "the row exists");
        return Int8GemmRefusal::None;
    }
    return int8_gemm_refusal(*row, shape);
}

void check_list() {
    for (std::size_t i = 0; i < kInt8GemmRowCount; ++i) {
        const Int8GemmRow& row = kInt8GemmRows[i];
        for (std::size_t j = 0; j < i; ++j) {
            expect(std::string_view(row.name) != kInt8GemmRows[j].name, row.name, "names are unique");
        }
        expect(row.threads % 32 == 0 && row.threads <= 1024, row.name,
               "a workgroup is whole waves, at most 1024");
        expect(row.local_bytes <= 65536, row.name, "local memory of a workgroup is at most 64 KiB");
        expect(std::string_view(row.feature).substr(0, 4) != "ptx_" || row.local_bytes <= 49152, row.name,
               "static shared memory is at most 48 KiB");
    }
    // What a target without any other row falls back to takes everything that C can hold.
    const Int8GemmShape anything{1, 3, 1, 1, 0, std::int64_t{1} << 40, std::int64_t{1} << 40};
    for (const char* name : {"wmma12_general", "wmma11_general", "dot4_general", "mma_general"}) {
        expect(refusal(name, anything) == Int8GemmRefusal::None, name,
               "any alignment, depth and leading dimension");
    }
}

void check_refusals() {
    Int8GemmShape shape{256, 512, 8, 100, 64, 64, 64};
    expect(refusal("gemv_8", shape) == Int8GemmRefusal::None, "gemv_8", "m = 8");
    shape.m = 9;
    expect(refusal("gemv_8", shape) == Int8GemmRefusal::Rows, "gemv_8", "m = 9");

    const char* const async = "mma_async_128x128";
    expect(refusal(async, shape) == Int8GemmRefusal::None, async, "everything aligned");
    for (int field = 0; field < 5; ++field) {
        Int8GemmShape odd = shape;
        if (field == 0) odd.a += 8;
        if (field == 1) odd.b += 1;
        if (field == 2) odd.lda += 4;
        if (field == 3) odd.ldb += 8;
        if (field == 4) odd.k -= 8;
        expect(refusal(async, odd) == Int8GemmRefusal::Alignment, async,
               "one of a, b, lda, ldb, k not aligned");
    }
    shape.natural = false;
    expect(refusal(async, shape) == Int8GemmRefusal::Element, async, "an element at an odd address");
    expect(refusal("mma_general", shape) == Int8GemmRefusal::None, "mma_general",
           "an element at an odd address");
    shape.natural = true;
    shape.k = 0;
    expect(refusal(async, shape) == Int8GemmRefusal::Alignment, async, "k = 0");
    shape.k = 64;

    const char* const tile = "wmma11_128x128";
    shape.lda = (std::int64_t{1} << 25) - 1;
    expect(refusal(tile, shape) == Int8GemmRefusal::None, tile, "lda * 128 just below 2^32");
    shape.lda += 1;
    expect(refusal(tile, shape) == Int8GemmRefusal::LeadingDimension, tile, "lda * 128 = 2^32");
    expect(refusal("wmma11_general", shape) == Int8GemmRefusal::None, "wmma11_general", "lda * 64 = 2^31");
    shape.lda = 64;
    shape.ldb = std::int64_t{1} << 25;
    expect(refusal(tile, shape) == Int8GemmRefusal::LeadingDimension, tile, "ldb * 128 = 2^32");
    shape.ldb = 64;

    // 256 work-items a workgroup: 2^24 - 1 workgroups keep the launch below 2^32 work-items.
    shape.m = 128;
    shape.n = ((std::int64_t{1} << 24) - 1) * 128;
    expect(refusal(tile, shape) == Int8GemmRefusal::None, tile, "as many tiles as a launch takes");
    shape.n += 1;
    expect(refusal(tile, shape) == Int8GemmRefusal::Grid, tile, "one tile more");
    shape.m = std::int64_t{1} << 62;
    shape.n = std::int64_t{1} << 62;
    expect(refusal(tile, shape) == Int8GemmRefusal::Grid, tile, "a product that overflows");
}

void check_grid() {
    const Int8GemmGrid grid = int8_gemm_grid(*find("wmma12_128x256"), 129, 257);
    expect(grid.tiles_m == 2 && grid.tiles_n == 2 && grid.groups == 4 && grid.threads == 256 &&
               grid.group_m >= 1,
           "wmma12_128x256", "129 x 257 is 2 x 2 tiles");
    const Int8GemmGrid one = int8_gemm_grid(*find("dot4_64x64"), 64, 64);
    expect(one.groups == 1 && one.threads == 128, "dot4_64x64", "64 x 64 is one tile");
    const Int8GemmGrid vector = int8_gemm_grid(*find("gemv_8"), 8, 33);
    expect(vector.groups == 2 && vector.tiles_m == 1, "gemv_8", "33 columns are two workgroups");
}

template <typename Row, std::size_t kCount>
const Row* find_in(const Row (&rows)[kCount], std::string_view name) {
    for (const Row& row : rows) {
        if (row.name == name) return &row;
    }
    expect(false, name.data(), "the row exists");
    return &rows[0];
}

template <typename Row, std::size_t kCount>
void check_workgroups(const Row (&rows)[kCount]) {
    for (const Row& row : rows) {
        expect(row.threads % 32 == 0 && row.threads <= 1024, row.name,
               "a workgroup is whole waves, at most 1024");
        const bool ptx = std::string_view(row.feature).substr(0, 4) == "ptx_";
        expect(row.local_bytes <= (ptx ? 49152 : 65536), row.name, "local memory of a workgroup");
    }
}

void check_int8_quantize() {
    check_workgroups(kInt8QuantizeRows);
    const Int8QuantizeRow& whole = *find_in(kInt8QuantizeRows, "rows_8192");
    const Int8QuantizeRow& any = *find_in(kInt8QuantizeRows, "rows_any");
    const Int8QuantizeRow& aligned = *find_in(kInt8QuantizeRows, "aligned_8192");
    Int8QuantizeShape shape;
    shape.k = 8192;
    expect(int8_quantize_refusal(whole, shape) == Int8QuantizeRefusal::None, whole.name, "k = 8192");
    shape.k = 8193;
    expect(int8_quantize_refusal(whole, shape) == Int8QuantizeRefusal::Width, whole.name, "k = 8193");
    shape.k = std::int64_t{1} << 47;
    expect(int8_quantize_refusal(any, shape) == Int8QuantizeRefusal::None, any.name, "k = 2^47");
    shape.k = 100;
    expect(int8_quantize_refusal(aligned, shape) == Int8QuantizeRefusal::None, aligned.name, "aligned");
    for (int field = 0; field < 5; ++field) {
        Int8QuantizeShape odd = shape;
        if (field == 0) odd.x += 8;
        if (field == 1) odd.q += 1;
        if (field == 2) odd.x_stride_bytes += 2;
        if (field == 3) odd.up_offset_bytes += 8;
        if (field == 4) odd.q_stride_bytes += 4;
        expect(int8_quantize_refusal(aligned, odd) == Int8QuantizeRefusal::Alignment, aligned.name,
               "one of x, q, their strides, the half \"up\" not aligned");
        expect(int8_quantize_refusal(whole, odd) == Int8QuantizeRefusal::None, whole.name, "any alignment");
    }
    // A workgroup of 8192 elements holds 512 rows of up to 16, two rows of up to 4096, one of more.
    for (const auto& [k, width_log2, rows] : {std::array<std::int64_t, 3>{0, 4, 512},
                                              {16, 4, 512},
                                              {17, 5, 256},
                                              {1024, 10, 8},
                                              {1025, 11, 4},
                                              {4096, 12, 2},
                                              {4097, 13, 1},
                                              {8192, 13, 1}}) {
        const Int8QuantizeGrid full = int8_quantize_grid(whole, rows, k);
        expect(full.groups == 1 && full.threads == 256 && full.width_log2 == width_log2, whole.name,
               "as many rows as a workgroup holds");
        expect(int8_quantize_grid(whole, rows + 1, k).groups == 2, whole.name, "one row more");
    }
    expect(int8_quantize_grid(any, 3, std::int64_t{1} << 40).groups == 3, any.name, "a workgroup a row");
    for (const Int8QuantizeRow& row : kInt8QuantizeRows) {
        const Int8QuantizeGrid grid = int8_quantize_grid(row, std::int64_t{1} << 48, 4096);
        expect(grid.groups == kInt8QuantizeMaxGroups, row.name, "rows without number go in turns");
    }
}

void check_rotate() {
    check_workgroups(kRotateRows);
    const RotateRow& row = *find_in(kRotateRows, "waves");
    const RotateRow& aligned = *find_in(kRotateRows, "aligned");
    expect(!rotate_misaligned(aligned, 256, 512, 64, 128), aligned.name, "aligned");
    expect(rotate_misaligned(aligned, 8, 512, 64, 128), aligned.name, "x");
    expect(rotate_misaligned(aligned, 256, 2, 64, 128), aligned.name, "y");
    expect(rotate_misaligned(aligned, 256, 512, 68, 128), aligned.name, "ldx");
    expect(rotate_misaligned(aligned, 256, 512, 64, 2), aligned.name, "ldy");
    expect(!rotate_misaligned(row, 1, 3, 5, 7), row.name, "any alignment");

    const WaveGrid narrow = rotate_grid(row, 64 * 8 + 1, 4);
    expect(narrow.width_log2 == 4 && narrow.steps == 1 && narrow.groups == 2, row.name,
           "64 rows of 4 a wave, 8 waves a workgroup");
    const WaveGrid wide = rotate_grid(row, 3, 4 * 1024 + 4);
    expect(wide.width_log2 == 10 && wide.steps == 5 && wide.groups == 2, row.name, "3 rows of 5 steps");
    expect(rotate_grid(row, std::int64_t{1} << 48, std::int64_t{1} << 48).groups == kWaveMaxGroups,
           row.name, "steps without number go in turns");
    const WaveGrid one = rotate_grid(row, 1, std::int64_t{1} << 50);
    expect(one.groups == kWaveMaxGroups && one.steps == std::int64_t{1} << 40, row.name, "one long row");
}

}  // namespace

int main() {
    check_list();
    check_refusals();
    check_grid();
    check_int8_quantize();
    check_rotate();
    std::printf("%zu rows, %d failures\n", kInt8GemmRowCount + kInt8QuantizeRowCount + kRotateRowCount,
                failures);
    return failures == 0 ? 0 : 1;
}
