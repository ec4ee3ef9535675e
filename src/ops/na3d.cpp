#include "ops/na3d.hpp"

#include <cmath>

#include "cpu/na3d.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"

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

uint64_t Na3d::workspace(const ck_context&, const Args& args, const Variant&) {
    return cpu::na3d_workspace(args);
}

Status Na3d::run(ck_context& context, const Args& args, const Variant&, void*) {
    cpu::na3d(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops
