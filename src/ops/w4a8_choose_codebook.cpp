#include "ops/w4a8_choose_codebook.hpp"

#include <array>
#include <memory>

#include "cpu/reference/w4a8_codebook.hpp"
#include "cpu/w4a8_choose_codebook.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_types.hpp"
#include "ops/device_workspace.hpp"
#include "ops/gpu.hpp"
#include "w4a8_choose_codebook/w4a8_choose_codebook_rows.hpp"

namespace ckitchen::ops {
namespace {

// A kernel is called ckitchen_<variant>.
constexpr std::size_t kPrefixLength = sizeof("ckitchen_") - 1;

constexpr auto kRows = [] {
    std::array<DeviceRow, kW4a8ChooseCodebookRowCount> rows{};
    for (std::size_t i = 0; i < kW4a8ChooseCodebookRowCount; ++i)
        rows[i] = {kW4a8ChooseCodebookRows[i].kernel + kPrefixLength, kW4a8ChooseCodebookRows[i].feature,
                   &kW4a8ChooseCodebookRows[i]};
    return rows;
}();

const W4a8ChooseCodebookRow& row_of(const Variant& variant) {
    return *static_cast<const W4a8ChooseCodebookRow*>(variant.row);
}

// Number of sampled values.
int64_t sample_size(const ck_w4a8_choose_codebook_args& args) {
    return reference::codebook_sample_rows(args) * args.k;
}

// Gathers the normalized sample on the device, fits the levels on the host.
Status choose(ck_context& context, const ck_w4a8_choose_codebook_args& args, const Variant& variant,
              void* stream) {
    runtime::GpuBackend& backend = gpu(context);
    CK_RETURN_IF_ERROR(backend.check_not_capturing("ck_w4a8_choose_codebook", stream));
    const int64_t count = sample_size(args);
    const auto values = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
    if (count > 0) {
        const W4a8ChooseCodebookRow& row = row_of(variant);
        const int64_t rows = reference::codebook_sample_rows(args);
        W4a8ChooseCodebookArgs device{};
        device.weight = address(args.weight);
        device.values = DeviceWorkspace(args.workspace).take(static_cast<uint64_t>(count) * sizeof(float));
        device.rows = rows;
        device.whole = args.n / rows;
        device.rest = args.n % rows;
        device.ldw = args.ldw;
        device.row_groups = args.k / args.group;
        device.group = static_cast<uint32_t>(args.group);
        device.type = element_type(args.dtype);
        device.workgroups = w4a8_choose_codebook_workgroups(row, rows * device.row_groups);
        CK_RETURN_IF_ERROR(backend.launch(row.kernel, device.workgroups, row.threads, &device, stream));
        CK_RETURN_IF_ERROR(backend.copy(values.get(), reinterpret_cast<const void*>(device.values),
                                        static_cast<uint64_t>(count) * sizeof(float), CK_COPY_DEVICE_TO_HOST,
                                        stream));
        CK_RETURN_IF_ERROR(backend.synchronize(stream));
    }
    float levels[16];
    cpu::w4a8_fit_codebook(values.get(), count, levels);
    CK_RETURN_IF_ERROR(backend.copy(args.codebook, levels, sizeof(levels), CK_COPY_HOST_TO_DEVICE, stream));
    return backend.synchronize(stream);
}

}  // namespace

Status W4a8ChooseCodebook::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("dtype", args.dtype, kFloats));
    CK_RETURN_IF_ERROR(check_extent("n", args.n));
    CK_RETURN_IF_ERROR(check_extent("k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldw", args.ldw, "k", args.k));
    return check_weight_group(args.group, args.k);
}

// Never: with nothing to fit the default table is written.
bool W4a8ChooseCodebook::empty(const Args&) {
    return false;
}

void W4a8ChooseCodebook::regions(const Args& args, Regions& regions) {
    regions.input("weight", args.weight, args.n, args.k, args.ldw, dtype_size(args.dtype));
    regions.output("codebook", args.codebook, 1, 16, 0, 4);
}

uint64_t W4a8ChooseCodebook::workspace(const ck_context&, const Args& args, const Variant& variant) {
    if (!variant.row) return cpu::w4a8_choose_codebook_workspace(args);
    DeviceWorkspace workspace(nullptr);
    workspace.take(static_cast<uint64_t>(sample_size(args)) * sizeof(float));
    return workspace.needed();
}

std::span<const DeviceRow> W4a8ChooseCodebook::device_rows() {
    return kRows;
}

Metrics W4a8ChooseCodebook::metrics(const Args& args) {
    return {args.n, args.k};
}

Refusal W4a8ChooseCodebook::refusal(const Args&, const Variant&) {
    return {};
}

Status W4a8ChooseCodebook::prepare(ck_context& context, const Args&, const Variant& variant) {
    return gpu(context).prepare(row_of(variant).kernel);
}

Status W4a8ChooseCodebook::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return choose(context, args, variant, stream);
    cpu::w4a8_choose_codebook(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops
