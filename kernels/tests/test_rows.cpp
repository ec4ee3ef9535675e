// The host's view of the rows: limits and launch geometry at their boundaries.

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "../int8_error/int8_error_rows.hpp"
#include "../int8_gemm/int8_gemm_rows.hpp"
#include "../int8_quantize/int8_quantize_rows.hpp"
#include "../na3d/na3d_rows.hpp"
#include "../rotate/rotate_rows.hpp"
#include "../w4a8_gemv/w4a8_gemv_rows.hpp"
#include "../w4a8_linear/w4a8_linear_rows.hpp"
#include "../w4a8_requant/w4a8_requant_rows.hpp"

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
        const bool ptx = std::string_view(row.feature).substr(0, 4) == "ptx_";
        const bool mapped = int8_gemm_mapped(row.kind);
        expect(!mapped || std::string_view(row.feature) == "ptx_wgmma", row.name,
               "only sm_90a has tensor maps");
        expect(row.local_bytes <= (mapped ? 232448
                                   : ptx  ? 49152
                                          : 65536),
               row.name,
               "local memory of a workgroup: 227 KiB dynamic on sm_90a, 48 KiB static in PTX, 64 KiB on AMD");
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

    const char* const mapped = "wgmma_128x256";
    shape = {256, 512, std::int64_t{1} << 30, 100, 64, 64, (std::int64_t{1} << 40) - 16};
    expect(refusal(mapped, shape) == Int8GemmRefusal::None, mapped, "rows far apart");
    for (int field = 0; field < 4; ++field) {
        Int8GemmShape large = shape;
        if (field == 0) large.m = std::int64_t{1} << 31;
        if (field == 1) large.n = std::int64_t{1} << 31;
        if (field == 2) large.lda = std::int64_t{1} << 40;
        if (field == 3) large.ldb += 16;
        expect(refusal(mapped, large) == Int8GemmRefusal::Map, mapped, "one of m, n, lda, ldb beyond it");
    }
    shape = {256, 512, 64, 100, 64, 64, 64};
    expect(refusal("wgmma_64x128", shape) == Int8GemmRefusal::None, "wgmma_64x128", "m = 64");
    shape.m = 65;
    expect(refusal("wgmma_64x128", shape) == Int8GemmRefusal::Rows, "wgmma_64x128", "m = 65");
    shape.k = 63;
    expect(refusal(mapped, shape) == Int8GemmRefusal::None, mapped, "any k");
    const Int8GemmRow& row = *find(mapped);
    expect(!int8_gemm_copies(row, shape).a && !int8_gemm_copies(row, shape).b, mapped, "aligned operands");
    shape.ldb = 72;
    expect(refusal(mapped, shape) == Int8GemmRefusal::None, mapped, "ldb not aligned");
    expect(!int8_gemm_copies(row, shape).a && int8_gemm_copies(row, shape).b, mapped, "B is copied");
    expect(!int8_gemm_copies(*find(async), shape).b, async, "only mapped rows have operands copied");
    shape.m = 2;
    expect(refusal(mapped, shape) == Int8GemmRefusal::Alignment, mapped, "ldb not aligned, two rows of A");
    shape = {257, 512, 65, 100, 64, 64, 64};
    expect(int8_gemm_copies(row, shape).a && !int8_gemm_copies(row, shape).b, mapped, "A is copied");
    shape = {256, 512, 64, 100, 64, 64, 64};

    // 256 work-items a workgroup: 2^24 - 1 workgroups keep the launch below 2^32 work-items.
    shape.m = 128;
    shape.n = ((std::int64_t{1} << 24) - 1) * 128;
    expect(refusal(tile, shape) == Int8GemmRefusal::None, tile, "as many tiles as a launch takes");
    shape.n += 1;
    expect(refusal(tile, shape) == Int8GemmRefusal::Grid, tile, "one tile more");
    expect(refusal("wmma11_general", shape) == Int8GemmRefusal::None, "wmma11_general",
           "any number of tiles");
    shape.m = std::int64_t{1} << 62;
    shape.n = std::int64_t{1} << 62;
    expect(refusal(tile, shape) == Int8GemmRefusal::Grid, tile, "a product that overflows");
}

void check_grid() {
    const Int8GemmGrid grid = int8_gemm_grid(*find("wmma12_128x256"), 129, 257, 1);
    expect(grid.tiles_m == 2 && grid.tiles_n == 2 && grid.groups == 4 && grid.threads == 256 &&
               grid.group_m >= 1,
           "wmma12_128x256", "129 x 257 is 2 x 2 tiles");
    const Int8GemmGrid one = int8_gemm_grid(*find("dot4_64x64"), 64, 64, 1);
    expect(one.groups == 1 && one.threads == 128, "dot4_64x64", "64 x 64 is one tile");
    const Int8GemmGrid many = int8_gemm_grid(*find("dot4_general"), std::int64_t{64} << 30, 64, 1);
    expect(many.groups == kInt8GemmWideGroups && many.tiles_m == 1u << 30, "dot4_general",
           "workgroups go on to further tiles");
    const Int8GemmGrid vector = int8_gemm_grid(*find("gemv_8"), 8, 33, 1);
    expect(vector.groups == 2 && vector.tiles_m == 1, "gemv_8", "33 columns are two workgroups");
    const Int8GemmGrid few = int8_gemm_grid(*find("wgmma_16x128"), 16, 257, 1);
    expect(few.groups == 3 && few.tiles_m == 1 && few.threads == 288, "wgmma_16x128",
           "257 columns are three workgroups of eight waves that multiply and one that copies");
    const Int8GemmRow& persistent = *find("wgmma_128x256");
    expect(int8_gemm_grid(persistent, 129, 257, 132).groups == 4, persistent.name,
           "a workgroup for each tile");
    expect(int8_gemm_grid(persistent, 12544, 9216, 132).groups == 132 &&
               int8_gemm_grid(persistent, 12544, 9216, 132).tiles_m == 98,
           persistent.name, "as many workgroups as multiprocessors");
    expect(int8_gemm_grid(persistent, 12544, 9216, 0).groups == 98 * 36, persistent.name,
           "a device that tells no multiprocessors: a workgroup for each tile");
}

void check_split() {
    const char* const small = "wmma12_64x64";
    const Int8GemmRow& tile = *find(small);
    // 32 units hold 128 workgroups of four waves.
    const Int8GemmSplit one = int8_gemm_split(tile, 64, 64, 8192, 32);
    expect(one.splits == 32 && one.split_k == 256, small, "one tile of 128 steps: parts of four steps");
    const Int8GemmSplit some = int8_gemm_split(tile, 64, 64 * 48, 8192, 32);
    expect(some.splits == 2 && some.split_k == 4096, small, "48 tiles: two parts");
    const Int8GemmSplit odd = int8_gemm_split(tile, 64, 64 * 40, 8193, 32);
    expect(odd.splits == 3 && odd.split_k == 43 * 64, small, "129 steps in three parts");
    expect(int8_gemm_split(tile, 64, 64 * 65, 8192, 32).splits == 1, small, "enough tiles");
    expect(int8_gemm_split(tile, 64, 64, 64 * 7, 32).splits == 1, small, "not deep enough");
    expect(int8_gemm_split(tile, 64, 64, 64 * 7 + 1, 32).splits == 2, small, "just deep enough");
    expect(int8_gemm_split(tile, 64, 64, 0, 32).splits == 1, small, "no depth");
    expect(int8_gemm_split(tile, 64, 64, 8192, 0).splits == 1, small, "a device that tells no units");
    expect(int8_gemm_split(*find("mma_128x128"), 64, 64, 8192, 32).splits == 1, "mma_128x128",
           "PTX rows are not split");
    // Every K is covered, by parts none of which is empty.
    for (const Int8GemmRow& row : kInt8GemmRows) {
        for (std::int64_t k = 0; k <= 131071; k += 1 + k / 3) {
            for (const std::int64_t n : {1, 33, 700, 5000}) {
                const Int8GemmSplit split = int8_gemm_split(row, 1, n, k, 48);
                const std::int64_t depth = split.split_k;
                expect(split.splits == 1 || (depth % row.tile_k == 0 && (split.splits - 1) * depth < k &&
                                             split.splits * depth >= k),
                       row.name, "the parts make up K");
            }
        }
    }
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
        if constexpr (requires { row.local_bytes; }) {
            const bool ptx = std::string_view(row.feature).substr(0, 4) == "ptx_";
            expect(row.local_bytes <= (ptx ? 49152 : 65536), row.name, "local memory of a workgroup");
        }
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
        const Int8QuantizeGrid full = int8_quantize_grid(whole, rows, k, 2);
        expect(full.groups == 1 && full.threads == 256 && full.row_share == width_log2, whole.name,
               "as many rows as a workgroup holds");
        expect(int8_quantize_grid(whole, rows + 1, k, 2).groups == 2, whole.name, "one row more");
    }
    const Int8QuantizeRow& pieces = *find_in(kInt8QuantizeRows, "pieces_6144");
    shape = {};
    shape.k = 6144;
    expect(int8_quantize_refusal(pieces, shape) == Int8QuantizeRefusal::None, pieces.name, "k = 6144");
    for (int field = 0; field < 4; ++field) {
        Int8QuantizeShape odd = shape;
        if (field == 0) odd.k = 6136;
        if (field == 1) odd.k = 240;
        if (field == 2) odd.activation = true;
        if (field == 3) odd.rotate_group = 1024;
        expect(int8_quantize_refusal(pieces, odd) == Int8QuantizeRefusal::Pieces, pieces.name,
               "part of a piece, a narrow row, an activation, a rotation by 1024");
    }
    shape.k = 6160;
    expect(int8_quantize_refusal(pieces, shape) == Int8QuantizeRefusal::Width, pieces.name, "k = 6160");
    const Int8QuantizeGrid two = int8_quantize_grid(pieces, 5, 3072, 2);
    expect(two.groups == 3 && two.row_share == 6, pieces.name, "two rows of six waves in a workgroup");
    const Int8QuantizeRow& vectors = *find_in(kInt8QuantizeRows, "whole_vectors_49152");
    shape = {};
    for (const std::int64_t size : {2, 4}) {
        shape.element_size = size;
        shape.k = 49152 / size;
        expect(int8_quantize_refusal(vectors, shape) == Int8QuantizeRefusal::None, vectors.name,
               "as many bytes as a workgroup holds");
        shape.k += 16;
        expect(int8_quantize_refusal(vectors, shape) == Int8QuantizeRefusal::Width, vectors.name, "16 more");
    }
    shape.k = 3072;
    const Int8QuantizeRow& rotated = *find_in(kInt8QuantizeRows, "rotated_49152");
    expect(int8_quantize_refusal(rotated, shape) == Int8QuantizeRefusal::Rotated, rotated.name,
           "no rotation");
    for (const std::int64_t group : {4, 256}) {
        shape.rotate_group = group;
        expect(int8_quantize_refusal(vectors, shape) == Int8QuantizeRefusal::Vectors, vectors.name,
               "a rotation");
        expect(int8_quantize_refusal(rotated, shape) == Int8QuantizeRefusal::None, rotated.name,
               "a rotation");
    }
    shape.rotate_group = 1024;
    expect(int8_quantize_refusal(rotated, shape) == Int8QuantizeRefusal::Rotated, rotated.name, "by 1024");
    for (const auto& [k, size, share, held] : {std::array<std::int64_t, 4>{3072, 2, 1, 8},
                                               {3088, 2, 2, 4},
                                               {3072, 4, 2, 4},
                                               {9216, 2, 3, 2},
                                               {24576, 2, 8, 1}}) {
        const Int8QuantizeGrid full = int8_quantize_grid(vectors, held, k, size);
        expect(full.groups == 1 && full.row_share == share, vectors.name, "rows of whole waves");
        expect(int8_quantize_grid(vectors, held + 1, k, size).groups == 2, vectors.name, "one row more");
    }
    expect(int8_quantize_grid(any, 3, std::int64_t{1} << 40, 2).groups == 3, any.name, "a workgroup a row");
    for (const Int8QuantizeRow& row : kInt8QuantizeRows) {
        const Int8QuantizeGrid grid = int8_quantize_grid(row, std::int64_t{1} << 48, 4096, 2);
        expect(grid.groups == kInt8QuantizeMaxGroups, row.name, "rows without number go in turns");
    }
}

void check_int8_error() {
    check_workgroups(kInt8ErrorRows);
    const Int8ErrorRow& row = *find_in(kInt8ErrorRows, "waves");
    const Int8ErrorRow& aligned = *find_in(kInt8ErrorRows, "aligned");
    expect(!int8_error_misaligned(aligned, 256, 512, 64, 128), aligned.name, "aligned");
    expect(int8_error_misaligned(aligned, 8, 512, 64, 128), aligned.name, "x");
    expect(int8_error_misaligned(aligned, 256, 2, 64, 128), aligned.name, "q");
    expect(int8_error_misaligned(aligned, 256, 512, 68, 128), aligned.name, "ldx");
    expect(int8_error_misaligned(aligned, 256, 512, 64, 2), aligned.name, "ldq");
    expect(!int8_error_misaligned(row, 1, 3, 5, 7), row.name, "any alignment");

    const auto grid = [](std::int64_t rows, std::int64_t k, std::uint32_t width_log2,
                         std::uint32_t row_waves_log2, std::uint32_t groups, const char* what) {
        const Int8ErrorGrid found = int8_error_grid(rows, k);
        expect(found.width_log2 == width_log2 && found.row_waves_log2 == row_waves_log2 &&
                   found.groups == groups,
               "int8_error", what);
    };
    grid(1, 0, 4, 0, 1, "no columns");
    grid(513, 16, 4, 0, 2, "64 rows a wave");
    grid(17, 512, 9, 0, 2, "two rows a wave");
    grid(9, 1024, 10, 0, 2, "a row a wave");
    grid(5, 1025, 10, 1, 2, "two waves a row");
    grid(3, 4096, 10, 2, 2, "four waves a row");
    grid(3, 4097, 10, 3, 3, "eight waves a row");
    grid(3, std::int64_t{1} << 48, 10, 3, 3, "waves take steps in turn");
    grid(std::int64_t{1} << 48, 4096, 10, 2, kWaveMaxGroups, "workgroups take rows in turn");
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
    expect(rotate_grid(row, std::int64_t{1} << 48, std::int64_t{1} << 48).groups == kWaveMaxGroups, row.name,
           "steps without number go in turns");
    const WaveGrid one = rotate_grid(row, 1, std::int64_t{1} << 50);
    expect(one.groups == kWaveMaxGroups && one.steps == std::int64_t{1} << 40, row.name, "one long row");
}

const W4a8RequantRow& requant_row(std::string_view name) {
    for (const W4a8RequantRow& row : kW4a8RequantRows) {
        if (row.name == name) return row;
    }
    expect(false, name.data(), "the row exists");
    return kW4a8RequantRows[0];
}

void check_w4a8_requant() {
    for (const W4a8RequantRow& row : kW4a8RequantRows) {
        const bool ptx = std::string_view(row.feature).substr(0, 4) == "ptx_";
        expect(row.local_bytes <= (ptx ? 49152u : 65536u), row.name, "local memory of a workgroup");
    }
    W4a8RequantShape shape{1, 1, 8192, 3, 5};
    const W4a8RequantRow& small = requant_row("rows_8192");
    expect(w4a8_requant_refusal(small, shape) == W4a8RequantRefusal::None, small.name, "k = 8192");
    shape.k = 8208;
    expect(w4a8_requant_refusal(small, shape) == W4a8RequantRefusal::Width, small.name, "k = 8208");
    shape.k = std::int64_t{1} << 40;
    for (const char* name : {"rows_any", "unaligned_any"})
        expect(w4a8_requant_refusal(requant_row(name), shape) == W4a8RequantRefusal::None, name,
               "any width and alignment");
    const W4a8RequantRow& aligned = requant_row("aligned_8192");
    shape = {32, 8, 64, 128, 24};
    expect(w4a8_requant_refusal(aligned, shape) == W4a8RequantRefusal::None, aligned.name,
           "weight at multiples of 16, packed of 8");
    shape.packed_stride_bytes = 28;
    expect(w4a8_requant_refusal(aligned, shape) == W4a8RequantRefusal::Alignment, aligned.name,
           "rows of packed at multiples of 4");

    W4a8RequantGrid grid = w4a8_requant_grid(small, 5, 0, 132);
    expect(grid.groups == 1 && grid.row_share == 4, small.name, "without columns a row takes one piece");
    grid = w4a8_requant_grid(small, 9, 4097, 132);
    expect(grid.groups == 9 && grid.row_share == 13, small.name, "a row of more than half a workgroup");
    grid = w4a8_requant_grid(small, 9, 1024, 132);
    expect(grid.groups == 2 && grid.row_share == 10, small.name, "eight rows in a workgroup");
    grid = w4a8_requant_grid(small, std::int64_t{1} << 40, 8192, 132);
    expect(grid.groups == kW4a8RequantMaxGroups, small.name, "workgroups go on to further rows");
    const W4a8RequantRow& codebook = requant_row("codebook_6144");
    shape = {1, 1, 6144, 3, 5, 48, 256, true};
    expect(w4a8_requant_refusal(codebook, shape) == W4a8RequantRefusal::None, codebook.name, "k = 6144");
    shape.k = 6160;
    expect(w4a8_requant_refusal(codebook, shape) == W4a8RequantRefusal::Width, codebook.name, "k = 6160");
    shape.k = 240;
    expect(w4a8_requant_refusal(codebook, shape) == W4a8RequantRefusal::Narrow, codebook.name, "k = 240");
    shape = {1, 1, 512, 3, 5, 8, 0, true};
    expect(w4a8_requant_refusal(codebook, shape) == W4a8RequantRefusal::Layout, codebook.name, "groups of 8");
    shape = {1, 1, 1024, 3, 5, 16, 1024, true};
    expect(w4a8_requant_refusal(codebook, shape) == W4a8RequantRefusal::Layout, codebook.name,
           "rotation by 1024");
    shape = {1, 1, 512, 3, 5, 16, 0, false};
    expect(w4a8_requant_refusal(codebook, shape) == W4a8RequantRefusal::Layout, codebook.name, "no codebook");
    grid = w4a8_requant_grid(codebook, 9, 2049, 132);
    expect(grid.groups == 5 && grid.row_share == 5 && grid.threads == 320, codebook.name,
           "two rows of five waves in a workgroup");
    const W4a8RequantRow& levels = requant_row("levels_6144");
    grid = w4a8_requant_grid(levels, 28672, 5376, 132);
    expect(grid.groups == 393 && grid.row_share == 11 && grid.threads == 352, levels.name,
           "as many workgroups as run at the same time, all with about as many rows");
    grid = w4a8_requant_grid(levels, 100000, 3584, 132);
    expect(grid.groups == 527 && grid.threads == 224, levels.name, "no more than local memory has room for");
    grid = w4a8_requant_grid(requant_row("levels_11264"), 28672, 11264, 0);
    expect(grid.groups == 1, "levels_11264", "a device of unknown size");
    expect(w4a8_requant_scratch_floats(small, 8192, 64) == 0, small.name, "no scratch memory");
    expect(w4a8_requant_scratch_floats(requant_row("rows_any"), 640, 64) == 2 * 10 + 2 * 40, "rows_any",
           "scale and minimum of 10 groups, two results of 40 pieces");
}

void check_w4a8_gemv() {
    const W4a8GemvRow* any = nullptr;
    const W4a8GemvRow* aligned = nullptr;
    const W4a8GemvRow* mma = nullptr;
    for (const W4a8GemvRow& row : kW4a8GemvRows) {
        if (std::string_view(row.name) == "packed_8") any = &row;
        if (std::string_view(row.name) == "packed_aligned_8") aligned = &row;
        if (std::string_view(row.name) == "packed_mma_8") mma = &row;
    }
    expect(any && aligned && mma, "packed_8", "the rows exist");
    W4a8GemvShape shape{3, 3, 5, 5, 8, 33, 64, 32, true, false};
    expect(w4a8_gemv_refusal(*any, shape) == W4a8GemvRefusal::None, any->name, "any address");
    expect(w4a8_gemv_workgroups(*any, 33, 100) == 2, any->name, "33 columns take two workgroups of 32");
    expect(w4a8_gemv_workgroups(*any, 32 * 1601, 100) == 801, any->name, "two turns of about equal number");
    expect(w4a8_gemv_refusal(*aligned, shape) == W4a8GemvRefusal::Alignment, aligned->name, "packed at 3");
    shape.packed = 8;
    shape.ld_packed = 40;
    expect(w4a8_gemv_refusal(*aligned, shape) == W4a8GemvRefusal::Element, aligned->name,
           "elements anywhere");
    shape.natural = true;
    expect(w4a8_gemv_refusal(*aligned, shape) == W4a8GemvRefusal::None, aligned->name, "packed at 8");
    shape.m = 9;
    expect(w4a8_gemv_refusal(*any, shape) == W4a8GemvRefusal::Rows, any->name, "9 rows");
    shape.m = 8;
    shape.e4m3 = false;
    expect(w4a8_gemv_refusal(*any, shape) == W4a8GemvRefusal::Scales, any->name, "float32 scales");
    shape.e4m3 = true;
    shape.group = 8;
    expect(w4a8_gemv_refusal(*any, shape) == W4a8GemvRefusal::Groups, any->name, "groups of 8");
    shape.group = 16;
    shape.k = 0;
    expect(w4a8_gemv_refusal(*any, shape) == W4a8GemvRefusal::Groups, any->name, "no k");

    shape = {16, 16, 32, 16, 8, 33, 64, 64, true, true};
    expect(w4a8_gemv_refusal(*mma, shape) == W4a8GemvRefusal::None, mma->name, "groups of 64");
    expect(w4a8_gemv_workgroups(*mma, 33, 100) == 3, mma->name, "33 columns are three tiles of 16");
    expect(w4a8_gemv_workgroups(*mma, 28672, 132) == 132, mma->name, "13 or 14 tiles each");
    shape.group = 128;
    expect(w4a8_gemv_refusal(*mma, shape) == W4a8GemvRefusal::Width, mma->name, "groups of 128");
    shape.group = 16;
    shape.packed = 8;
    expect(w4a8_gemv_refusal(*mma, shape) == W4a8GemvRefusal::Alignment, mma->name, "packed at 8");
    shape.packed = 16;
    shape.ld_s_rel = 20;
    expect(w4a8_gemv_refusal(*mma, shape) == W4a8GemvRefusal::Scale, mma->name, "scales every 20 bytes");
    shape.ld_s_rel = kInt8GemmMapStride + 16;
    expect(w4a8_gemv_refusal(*mma, shape) == W4a8GemvRefusal::Map, mma->name, "scales too far apart");
    shape.ld_s_rel = 16;
    shape.m = 9;
    expect(w4a8_gemv_refusal(*mma, shape) == W4a8GemvRefusal::Rows, mma->name, "9 rows");
}

void check_w4a8_linear() {
    const char* const what = "w4a8_linear_chunk";
    expect(w4a8_linear_chunk(6400, 5120, 0, kW4a8LinearCachedBytes) == 6400, what,
           "32 MiB and less are decoded at once");
    expect(w4a8_linear_chunk(28672, 5120, 0, kW4a8LinearCachedBytes) == 5888, what,
           "five parts of about 28672 / 5, in steps of 256");
    expect(w4a8_linear_chunk(6657, 5120, 0, kW4a8LinearCachedBytes) == 3584, what,
           "two parts rather than one and a rest");
    expect(w4a8_linear_chunk(28672, 131072, 0, kW4a8LinearCachedBytes) == 256, what, "at most 32 MiB");
    expect(w4a8_linear_chunk(28672, 16, 4 << 20, kW4a8LinearCachedBytes) == 256, what,
           "intermediate results stay small");
    expect(w4a8_linear_chunk(28672, 5376, 0, kW4a8LinearAheadBytes) == 14336, what,
           "two parts of 128 MiB or less");
    expect(w4a8_linear_packed_chunk(28672, 0) == 28672, what, "nothing is kept: all columns at once");
    expect(w4a8_linear_packed_chunk(std::int64_t{1} << 40, 4) == 64 << 20, what,
           "256 MiB of intermediate results");
    expect(w4a8_linear_chunk(7, 0, 0, kW4a8LinearCachedBytes) == 7, what, "k = 0");
}

void check_na3d() {
    check_workgroups(kNa3dRows);
    const Na3dRow& row = *find_in(kNa3dRows, "vector");
    const Na3dRow& aligned = *find_in(kNa3dRows, "vector_aligned");
    const Na3dTensor tensor{256, {1 << 20, -4096, 1024, -128, 16}};
    expect(!na3d_misaligned(aligned, tensor), aligned.name, "aligned, with negative strides");
    for (int field = 0; field < 6; ++field) {
        Na3dTensor odd = tensor;
        if (field == 0) odd.base += 8;
        if (field > 0) odd.stride[field - 1] += 8;
        expect(na3d_misaligned(aligned, odd), aligned.name, "the address or a stride not aligned");
        expect(!na3d_misaligned(row, odd), row.name, "any alignment");
    }

    const Na3dAxis split = na3d_axis(13, 3, 5, true);
    expect(split.dilation == 5 && split.shorter_length == 2 && split.longer == 3 && split.causal == 1,
           row.name, "13 in 5 classes: three of 3 places, two of 2");
    const Na3dAxis single = na3d_axis(13, 3, 2147483647, false);
    expect(single.dilation == 13 && single.shorter_length == 1 && single.longer == 0, row.name,
           "a dilation beyond the axis: a class for each index");

    Na3dArgs args{};
    args.axis[0] = na3d_axis(2, 1, 1, false);
    args.axis[1] = na3d_axis(3, 1, 1, false);
    args.axis[2] = na3d_axis(17, 1, 2, false);
    args.heads = 5;
    const Na3dRow& dot2 = *find_in(kNa3dRows, "dot2");
    for (const std::uint32_t type : {kElementFloat16, kElementBfloat16, kElementFloat32}) {
        args.type = type;
        expect(na3d_refusal(row, 256, args) == Na3dRefusal::None, row.name, "every type");
        expect(na3d_refusal(dot2, 256, args) ==
                   (type == kElementFloat16 ? Na3dRefusal::None : Na3dRefusal::Type),
               dot2.name, "f16 alone");
    }
    na3d_launch(dot2, 7, 72, args);
    expect(args.axis_tiles[2] == 6 && args.tiles == 6 * 3 * 2 * 5 * 7 && args.groups == 315, dot2.name,
           "the tiles of the float32 kernel");
    na3d_launch(row, 7, 72, args);
    expect(args.axis_tiles[2] == 6 && args.tiles == 6 * 3 * 2 * 5 * 7 && args.groups == 315, row.name,
           "17 in two classes of up to 9 places: 3 tiles each");
    expect(args.pieces == 9 && args.lanes_log2 == 4, row.name, "9 pieces take 16 lanes");
    na3d_launch(row, 1, 256, args);
    expect(args.pieces == 32 && args.lanes_log2 == 5, row.name, "32 pieces take a wave");
    args.axis[0] = na3d_axis(std::int64_t{1} << 40, 1, 1, false);
    na3d_launch(row, 1, 8, args);
    expect(args.groups == kNa3dMaxGroups && args.lanes_log2 == 0, row.name,
           "tiles without number go in turns");
}

bool na3d_tile_is(const Na3dAxis (&axis)[3], std::uint32_t t, std::uint32_t h, std::uint32_t w) {
    const Na3dTileShape tile = na3d_matrix_tile(axis);
    return tile.size[0] == t && tile.size[1] == h && tile.size[2] == w;
}

void check_na3d_matrix() {
    const Na3dRow& row = *find_in(kNa3dRows, "wmma12_64");
    const Na3dRow& wide = *find_in(kNa3dRows, "wmma12_256");
    const Na3dAxis flat = na3d_axis(1, 1, 1, false);
    const Na3dAxis image = na3d_axis(64, 13, 1, false);
    expect(na3d_tile_is({na3d_axis(20, 3, 1, false), na3d_axis(32, 7, 1, false), na3d_axis(52, 7, 1, false)},
                        1, 4, 4),
           row.name, "kernel 3 x 7 x 7: a square of an image");
    expect(na3d_tile_is({na3d_axis(16, 5, 1, false), na3d_axis(32, 5, 1, false), na3d_axis(32, 5, 1, false)},
                        2, 2, 4),
           row.name, "kernel 5 x 5 x 5: a box");
    expect(na3d_tile_is({flat, image, image}, 1, 4, 4), row.name, "an image");
    expect(na3d_tile_is({flat, flat, image}, 1, 1, 8), row.name, "a line: no more than 8 have kinds of keys");
    expect(na3d_tile_is({na3d_axis(9, 1, 1, false), flat, na3d_axis(64, 3, 64, false)}, 8, 1, 1), row.name,
           "none along an axis of single places");

    Na3dArgs args{};
    args.axis[0] = na3d_axis(20, 3, 1, false);
    args.axis[1] = na3d_axis(32, 7, 1, false);
    args.axis[2] = na3d_axis(53, 7, 2, false);
    args.heads = 12;
    args.type = kElementBfloat16;
    args.scale = 0.125f;
    for (Na3dTensor* tensor : {&args.q, &args.k, &args.v, &args.out})
        *tensor = {256, {1 << 30, 1 << 20, 53 * 1536, 1536, 128}};
    expect(na3d_refusal(row, 64, args) == Na3dRefusal::None, row.name, "an ordinary problem");
    na3d_launch(row, 1, 64, args);
    expect(args.axis_tiles[0] == 20 && args.axis_tiles[1] == 8 && args.axis_tiles[2] == 14, row.name,
           "53 in two classes of up to 27 places: 7 tiles each");
    expect(args.heads_at_once == 6 && args.head_groups == 2 && args.tiles == 20 * 8 * 14 * 2 &&
               args.groups == args.tiles / 4,
           row.name, "several heads in turn where tiles abound, as many in all groups");
    const Na3dRow& mma = *find_in(kNa3dRows, "mma_64");
    na3d_launch(mma, 1, 64, args);
    expect(args.heads_at_once == 4 && args.head_groups == 3, mma.name, "fewer heads on a larger GPU");
    args.heads = 5;
    na3d_launch(row, 1, 64, args);
    expect(args.heads_at_once == 3 && args.head_groups == 2, row.name, "the last group of heads is smaller");
    args.heads = 1;
    na3d_launch(row, 100, 64, args);
    expect(args.heads_at_once == 1 && args.tiles == 100 * 20 * 8 * 14, row.name, "one head");
    args.heads = 12;

    Na3dArgs odd = args;
    odd.type = kElementFloat32;
    expect(na3d_refusal(row, 64, odd) == Na3dRefusal::Type, row.name, "f32");
    expect(na3d_refusal(row, 72, args) == Na3dRefusal::Width, row.name, "head_dim 72");
    expect(na3d_refusal(wide, 256, args) == Na3dRefusal::None, wide.name, "head_dim 256");
    odd = args;
    odd.scale = -0x1p-101f;
    expect(na3d_refusal(row, 64, odd) == Na3dRefusal::Scale, row.name, "a scale next to 0");
    odd = args;
    odd.v.stride[1] = -(std::int64_t{1} << 30);
    expect(na3d_refusal(row, 64, odd) == Na3dRefusal::Span, row.name, "keys far apart, backwards");
    odd = args;
    odd.axis[2] = na3d_axis(std::int64_t{1} << 31, 3, 1, false);
    expect(na3d_refusal(row, 64, odd) == Na3dRefusal::Span, row.name, "an axis beyond 32 bits");

    for (const std::int64_t divisor : {1, 2, 3, 5, 7, 64, 1000003, 0x7ffffffe, 0x7fffffff}) {
        const Na3dDivisor by = na3d_divisor(divisor);
        for (const std::int64_t multiple :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{77}, 0x7fffffff / divisor}) {
            for (std::int64_t n = multiple * divisor - 1; n <= multiple * divisor + 1; ++n) {
                if (n < 0 || n > 0x7fffffff) continue;
                expect((static_cast<std::uint64_t>(n) * by.factor >> by.shift) ==
                           static_cast<std::uint64_t>(n / divisor),
                       row.name, "division by a product");
            }
        }
    }
}

}  // namespace

int main() {
    check_list();
    check_refusals();
    check_grid();
    check_split();
    check_int8_quantize();
    check_int8_error();
    check_rotate();
    check_w4a8_requant();
    check_w4a8_gemv();
    check_w4a8_linear();
    check_na3d();
    check_na3d_matrix();
    std::printf("%zu rows, %d failures\n",
                kInt8ErrorRowCount + kInt8GemmRowCount + kInt8QuantizeRowCount + kNa3dRowCount +
                    kRotateRowCount + kW4a8RequantRowCount,
                failures);
    return failures == 0 ? 0 : 1;
}
