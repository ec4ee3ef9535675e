#include "ops/na3d.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/na3d.hpp"
#include "na3d/na3d_rows.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_rows.hpp"
#include "ops/device_types.hpp"
#include "ops/gpu.hpp"

namespace ckitchen::ops {
namespace {

constexpr uint32_t kKnownFlags = CK_NA3D_STRICT_WINDOW | CK_NA3D_EXPLICIT_STRIDES;
constexpr const char* kAxes[3] = {"t", "h", "w"};

// The packed tensor's strides, where no other ones are given; 0 for axes of extent 1, whose stride means
// nothing.
Status normalise_strides(const char* name, const ck_na3d_args& args, int64_t (&stride)[5]) {
    const int64_t extent[5] = {args.batch, args.t, args.h, args.w, args.heads};
    const bool all_zero = std::all_of(stride, stride + 5, [](int64_t s) { return s == 0; });
    if (all_zero && (args.flags & CK_NA3D_EXPLICIT_STRIDES) == 0) {
        int64_t step = args.head_dim;
        for (int axis = 4; axis >= 0; --axis) {
            stride[axis] = step;
            if (__builtin_mul_overflow(step, std::max<int64_t>(extent[axis], 1), &step))
                return invalid_argument("{}: its size does not fit 63 bits", name);
        }
    }
    for (int axis = 0; axis < 5; ++axis) {
        if (extent[axis] <= 1) stride[axis] = 0;
    }
    return {};
}

void add_tensor(Regions& regions, const char* name, const void* base, const ck_na3d_args& args,
                const int64_t (&stride)[5], bool output) {
    const int64_t extent[5] = {args.batch, args.t, args.h, args.w, args.heads};
    const int64_t element = dtype_size(args.dtype);
    Region region;
    region.name = name;
    region.base = reinterpret_cast<uint64_t>(base);
    region.run = args.head_dim * element;
    region.output = output;
    for (int axis = 0; axis < 5; ++axis) {
        if (extent[axis] == 0) region.run = 0;
        int64_t bytes = 0;
        if (__builtin_mul_overflow(stride[axis], element, &bytes)) {
            regions.overflow(name);
            return;
        }
        if (extent[axis] > 1) region.dimensions.push_back({bytes, extent[axis]});
    }
    regions.strided(region);
}

int64_t saturating_product(int64_t a, int64_t b) {
    int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

constexpr auto kRows = device_rows_of(kNa3dRows);

const Na3dRow& row_of(const Variant& variant) {
    return *static_cast<const Na3dRow*>(variant.row);
}

// The order of the axes T, H, W for the kernels: the last one longer than 1 goes last, as tiles lie along it.
std::array<int, 3> axis_order(const ck_na3d_args& args) {
    if (args.w > 1) return {0, 1, 2};
    if (args.h > 1) return {0, 2, 1};
    return {2, 1, 0};
}

Na3dTensor device_tensor(const ck_na3d_args& args, const void* base, const int64_t (&stride)[5]) {
    const std::array<int, 3> order = axis_order(args);
    const int64_t size = dtype_size(args.dtype);
    Na3dTensor tensor{};
    tensor.base = address(base);
    tensor.stride[0] = stride[0] * size;
    for (std::size_t axis = 0; axis < 3; ++axis) tensor.stride[axis + 1] = stride[order[axis] + 1] * size;
    tensor.stride[4] = stride[4] * size;
    return tensor;
}

// All of the kernels' arguments but the launch.
Na3dArgs device_args(const ck_na3d_args& args) {
    const std::array<int, 3> order = axis_order(args);
    const int64_t extent[3] = {args.t, args.h, args.w};
    Na3dArgs device{};
    device.q = device_tensor(args, args.q, args.q_stride);
    device.k = device_tensor(args, args.k, args.k_stride);
    device.v = device_tensor(args, args.v, args.v_stride);
    device.out = device_tensor(args, args.out, args.out_stride);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const int from = order[axis];
        device.axis[axis] =
            na3d_axis(extent[from], args.kernel[from], args.dilation[from], args.causal[from] != 0);
    }
    device.heads = args.heads;
    device.type = element_type(args.dtype);
    device.scale = args.scale;
    return device;
}

Status launch(ck_context& context, const ck_na3d_args& args, const Variant& variant, void* stream) {
    const Na3dRow& row = row_of(variant);
    Na3dArgs device = device_args(args);
    na3d_launch(row, args.batch, args.head_dim, device);
    return gpu(context).launch(row.kernel, device.groups, row.threads, &device, stream);
}

// Which of the tensors keeps a row that wants an alignment from the problem.
Refusal misaligned(const Na3dRow& row, const ck_na3d_args& args) {
    struct Tensor {
        const char* name;
        const char* strides;
        const void* base;
        const int64_t (&stride)[5];
    };
    const Tensor tensors[] = {{"q", "q_stride", args.q, args.q_stride},
                              {"k", "k_stride", args.k, args.k_stride},
                              {"v", "v_stride", args.v, args.v_stride},
                              {"out", "out_stride", args.out, args.out_stride}};
    const int64_t size = dtype_size(args.dtype);
    for (const Tensor& tensor : tensors) {
        if (const Refusal base = refuse_misaligned(row.alignment, {{tensor.name, tensor.base}})) return base;
        for (int axis = 0; axis < 5; ++axis) {
            const int64_t stride = tensor.stride[axis];
            if (stride * size % row.alignment != 0)
                return {"{}[{}] is {}, times {} bytes it must be a multiple of {}",
                        tensor.strides,
                        axis,
                        stride,
                        size,
                        row.alignment};
        }
    }
    return {};
}

// Which axis is too long, or whose keys are too many or too far apart, for 32 bits.
Refusal too_far(const ck_na3d_args& args) {
    const int64_t extent[3] = {args.t, args.h, args.w};
    for (int axis = 0; axis < 3; ++axis) {
        if (extent[axis] > kNa3dMostExtent)
            return {"{} is {}, at most {}", kAxes[axis], extent[axis], kNa3dMostExtent};
    }
    return {"kernel {} x {} x {}, dilation {} x {} x {}: a tile's keys are 2^31 or more, or span 4 GiB",
            args.kernel[0],
            args.kernel[1],
            args.kernel[2],
            args.dilation[0],
            args.dilation[1],
            args.dilation[2]};
}

}  // namespace

Status Na3d::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("dtype", args.dtype, kFloats));
    CK_RETURN_IF_ERROR(check_extent("batch", args.batch));
    CK_RETURN_IF_ERROR(check_extent("t", args.t));
    CK_RETURN_IF_ERROR(check_extent("h", args.h));
    CK_RETURN_IF_ERROR(check_extent("w", args.w));
    CK_RETURN_IF_ERROR(check_extent("heads", args.heads));
    if (args.head_dim < 0 || args.head_dim > 256 || args.head_dim % 8 != 0)
        return invalid_argument("head_dim is {}, must be a multiple of 8 from 8 to 256", args.head_dim);
    if ((args.flags & ~kKnownFlags) != 0)
        return invalid_argument("flags is {:#x}, only the bits {:#x} are known", args.flags, kKnownFlags);
    const int64_t extent[3] = {args.t, args.h, args.w};
    for (int axis = 0; axis < 3; ++axis) {
        if (args.kernel[axis] < 1)
            return invalid_argument("kernel[{}] (axis {}) is {}, must be at least 1", axis, kAxes[axis],
                                    args.kernel[axis]);
        if (args.dilation[axis] < 0)
            return invalid_argument("dilation[{}] (axis {}) is {}, must be at least 1 (0 = 1)", axis,
                                    kAxes[axis], args.dilation[axis]);
        if (args.dilation[axis] == 0) args.dilation[axis] = 1;
        if (args.causal[axis] != 0 && args.causal[axis] != 1)
            return invalid_argument("causal[{}] (axis {}) is {}, must be 0 or 1", axis, kAxes[axis],
                                    args.causal[axis]);
        const int64_t reach = int64_t{args.kernel[axis]} * args.dilation[axis];
        if ((args.flags & CK_NA3D_STRICT_WINDOW) != 0 && !args.causal[axis] && reach > extent[axis])
            return invalid_argument(
                "kernel[{}] * dilation[{}] (axis {}) is {}, must be at most {} = {} with "
                "CK_NA3D_STRICT_WINDOW",
                axis, axis, kAxes[axis], reach, kAxes[axis], extent[axis]);
    }
    if (!std::isfinite(args.scale)) return invalid_argument("scale is {}, must be finite", args.scale);
    if (args.scale == 0.0f && args.head_dim > 0)
        args.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(args.head_dim)));
    CK_RETURN_IF_ERROR(normalise_strides("q", args, args.q_stride));
    CK_RETURN_IF_ERROR(normalise_strides("k", args, args.k_stride));
    CK_RETURN_IF_ERROR(normalise_strides("v", args, args.v_stride));
    return normalise_strides("out", args, args.out_stride);
}

bool Na3d::empty(const Args& args) {
    return args.batch == 0 || args.t == 0 || args.h == 0 || args.w == 0 || args.heads == 0 ||
           args.head_dim == 0;
}

void Na3d::regions(const Args& args, Regions& regions) {
    add_tensor(regions, "q", args.q, args, args.q_stride, false);
    add_tensor(regions, "k", args.k, args, args.k_stride, false);
    add_tensor(regions, "v", args.v, args, args.v_stride, false);
    add_tensor(regions, "out", args.out, args, args.out_stride, true);
}

uint64_t Na3d::workspace(const ck_context&, const Args& args, const Variant& variant) {
    return variant.row ? 0 : cpu::na3d_workspace(args);
}

std::span<const DeviceRow> Na3d::device_rows() {
    return kRows;
}

Metrics Na3d::metrics(const Args& args) {
    const int64_t extent[3] = {args.t, args.h, args.w};
    int64_t window = 1;
    int64_t queries = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
        window = saturating_product(window, std::min<int64_t>(args.kernel[axis], extent[axis]));
    for (const int64_t factor : {args.batch, args.t, args.h, args.w, args.heads})
        queries = saturating_product(queries, factor);
    return {queries, window, args.head_dim};
}

Refusal Na3d::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return {};
    const Na3dRow& row = row_of(variant);
    switch (na3d_refusal(row, args.head_dim, device_args(args))) {
        case Na3dRefusal::None:
            break;
        case Na3dRefusal::Type:
            return {"dtype is {}, must be {}", dtype_name(args.dtype),
                    row.kind == Na3dKind::Dot2 ? "CK_F16" : "CK_F16 or CK_BF16"};
        case Na3dRefusal::Width:
            return {"head_dim is {}, at most {}", args.head_dim, row.width};
        case Na3dRefusal::Alignment:
            return misaligned(row, args);
        case Na3dRefusal::Span:
            return too_far(args);
        case Na3dRefusal::Scale:
            return {"scale is {}, must be 2^-100 or more away from 0", args.scale};
    }
    return {};
}

Status Na3d::prepare(ck_context& context, const Args&, const Variant& variant) {
    return gpu(context).prepare(row_of(variant).kernel);
}

Status Na3d::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return launch(context, args, variant, stream);
    cpu::na3d(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops
