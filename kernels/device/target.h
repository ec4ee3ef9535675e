// Execution model: kernel attributes, indices, barriers, lane exchange. A wave is 32 lanes on every target.
#pragma once

#include "types.h"

#define CK_DEVICE __attribute__((device, always_inline)) inline
// Behind the parameters of a lambda: what it captures would otherwise lie in memory.
#define CK_INLINE_LAMBDA __attribute__((always_inline))
#define CK_SHARED __attribute__((shared))
#define CK_UNROLL _Pragma("clang loop unroll(full)")
#define CK_NO_UNROLL _Pragma("clang loop unroll(disable)")

// A kernel has one workgroup size, known when it is compiled, or, with CK_KERNEL_UP_TO, any number of waves
// up to one. It has one explicit argument, CK_CONSTANT_ARGUMENT where the kernel takes addresses inside it.
#if defined(__AMDGCN__)
#define CK_KERNEL(threads) extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads)))
#define CK_KERNEL_RESIDENT(threads, groups) CK_KERNEL(threads)
#define CK_KERNEL_UP_TO(threads, groups) \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(32, threads)))
#elif defined(__NVPTX__)
#define CK_KERNEL(threads) extern "C" __attribute__((global, launch_bounds(threads)))
// The same with the number of workgroups that a multiprocessor holds at least, which bounds their registers.
// AMD's compiler weighs that by itself.
#define CK_KERNEL_RESIDENT(threads, groups) extern "C" __attribute__((global, launch_bounds(threads, groups)))
#define CK_KERNEL_UP_TO(threads, groups) CK_KERNEL_RESIDENT(threads, groups)
#define CK_CONSTANT_ARGUMENT __attribute__((grid_constant)) const
#else
#error "this is device code: compile it for amdgcn or nvptx"
#endif

// Rows of a kernel list are kept or dropped by what the build defines: CKITCHEN_FEATURE_<feature>=1 for every
// feature of the target, and, for a module with one kernel, CKITCHEN_ONE_ROW together with
// CKITCHEN_ROW_<row>=1. CK_ROW_ENABLED(name, feature) expands to 1 or 0; CK_ENABLED(X) to 1 where the macro X
// is defined as 1, 0 where it is not defined.
#define CK_ENABLED_PLACEHOLDER_1 0,
#define CK_ENABLED_SECOND(ignored, value, ...) value
#define CK_ENABLED_PICK(junk) CK_ENABLED_SECOND(junk 1, 0, 0)
#define CK_ENABLED_PASTE(value) CK_ENABLED_PICK(CK_ENABLED_PLACEHOLDER_##value)
#define CK_ENABLED(macro) CK_ENABLED_PASTE(macro)
#define CK_AND_00 0
#define CK_AND_01 0
#define CK_AND_10 0
#define CK_AND_11 1
#define CK_AND_PASTE(a, b) CK_AND_##a##b
#define CK_AND(a, b) CK_AND_PASTE(a, b)
#if defined(CKITCHEN_ONE_ROW)
#define CK_ROW_ENABLED(name, feature) \
    CK_AND(CK_ENABLED(CKITCHEN_FEATURE_##feature), CK_ENABLED(CKITCHEN_ROW_##name))
#else
#define CK_ROW_ENABLED(name, feature) CK_ENABLED(CKITCHEN_FEATURE_##feature)
#endif

namespace ckitchen {

constexpr int kWaveSize = 32;

// Device addresses travel as integers in the kernel arguments, so that host and device share one plain
// struct.
template <typename T>
CK_DEVICE GlobalPointer<T> global_pointer(uint64_t address) {
    return reinterpret_cast<GlobalPointer<T>>(address);
}

CK_DEVICE uint32_t workitem_id() {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_workitem_id_x();
#else
    return __nvvm_read_ptx_sreg_tid_x();
#endif
}

CK_DEVICE uint32_t workgroup_id() {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_workgroup_id_x();
#else
    return __nvvm_read_ptx_sreg_ctaid_x();
#endif
}

#if defined(__NVPTX__)
CK_DEVICE uint32_t workgroup_count() {
    return __nvvm_read_ptx_sreg_nctaid_x();
}
#endif

// A value that is the same in all lanes, placed in a scalar register where there are any.
CK_DEVICE uint32_t as_scalar(uint32_t value) {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_readfirstlane(value);
#else
    return value;
#endif
}

// The same for an address that older compilers take for a vector value.
CK_DEVICE uint64_t as_scalar_address(uint64_t address) {
    return static_cast<uint64_t>(as_scalar(static_cast<uint32_t>(address >> 32))) << 32 |
           as_scalar(static_cast<uint32_t>(address));
}

// Index of the wave in its workgroup.
CK_DEVICE uint32_t wave_id() {
    return as_scalar(workitem_id() / kWaveSize);
}

CK_DEVICE uint32_t lane_id() {
    return workitem_id() % kWaveSize;
}

// The same; what is computed from it is computed here, not kept in registers from an earlier place on.
CK_DEVICE uint32_t lane_id_again() {
    uint32_t lane = lane_id();
#if defined(__AMDGCN__)
    asm volatile("" : "+v"(lane));
#endif
    return lane;
}

// A value that is the same in all lanes, from here on unknown to the compiler: what is computed from it in a
// loop stays there.
CK_DEVICE uint32_t scalar_again(uint32_t value) {
#if defined(__AMDGCN__)
    value = as_scalar(value);
    asm volatile("" : "+s"(value));
#else
    asm volatile("" : "+r"(value));
#endif
    return value;
}

// The same for 64 bits.
CK_DEVICE uint64_t scalar_again(uint64_t value) {
#if defined(__AMDGCN__)
    asm volatile("" : "+s"(value));
#else
    asm volatile("" : "+l"(value));
#endif
    return value;
}

// The same for a value that differs among lanes.
CK_DEVICE uint32_t value_again(uint32_t value) {
#if defined(__AMDGCN__)
    asm volatile("" : "+v"(value));
#else
    asm volatile("" : "+r"(value));
#endif
    return value;
}

// An address, from here on unknown to the compiler: what is loaded from it in a loop stays there.
CK_DEVICE uint64_t address_again(uint64_t address) {
#if defined(__AMDGCN__)
    asm volatile("" : "+v"(address));
#else
    asm volatile("" : "+l"(address));
#endif
    return address;
}

// The address base + offset, where base is the same in all lanes. Both are hidden from the optimizer, so that
// they reach the memory instruction as scalar base plus 32-bit lane offset instead of as 64-bit arithmetic in
// every lane.
CK_DEVICE uint64_t lane_address(uint64_t base, uint32_t offset) {
#if defined(__AMDGCN__)
    asm("" : "+s"(base));
    asm("" : "+v"(offset));
#endif
    return base + offset;
}

CK_DEVICE uint64_t lane_address(uint64_t base, uint64_t offset) {
    return base + offset;
}

// The same with an offset that serves again and again in a loop: hidden where it is kept, it needs no copy.
CK_DEVICE uint64_t kept_lane_address(uint64_t base, uint32_t& offset) {
#if defined(__AMDGCN__)
    asm("" : "+s"(base));
    asm("" : "+v"(offset));
#endif
    return base + offset;
}

CK_DEVICE uint64_t kept_lane_address(uint64_t base, const uint64_t& offset) {
    return base + offset;
}

// A kernel's one argument again: what is read from it does not stay in scalar registers between here and
// where it was read before. `args` is the kernel's own.
template <typename Args>
CK_DEVICE Args arguments_again(const Args& args) {
#if defined(__AMDGCN__)
    (void)args;
    uint64_t segment = reinterpret_cast<uint64_t>(__builtin_amdgcn_kernarg_segment_ptr());
    asm volatile("" : "+s"(segment));
    const auto word = reinterpret_cast<const __attribute__((address_space(4))) uint32_t*>(segment);
    struct Words {
        uint32_t value[sizeof(Args) / 4];
    } again;
    CK_UNROLL
    for (uint32_t index = 0; index < sizeof(Args) / 4; ++index) again.value[index] = word[index];
    return __builtin_bit_cast(Args, again);
#else
    return args;
#endif
}

// Kernels that share the device. One that the host launches beside the one before it (LaunchOrder) starts as
// soon as all workgroups of that one have allowed it or ended. It waits for that kernel's end, and with it
// for all that it wrote, before it touches what is not constant; of a kernel launched the ordinary way
// nothing is waited for. So that the end of a kernel still means that all before it have ended, one workgroup
// at least waits.
CK_DEVICE void allow_next_kernel() {
#if CKITCHEN_FEATURE_ptx_grid_wait
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

CK_DEVICE void wait_for_kernel_before() {
#if CKITCHEN_FEATURE_ptx_grid_wait
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Barrier that orders accesses to local memory only. A full fence would also wait for the global loads that a
// main loop keeps in flight across the barrier.
CK_DEVICE void local_barrier() {
#if defined(__AMDGCN__)
#if __clang_major__ >= 20
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
#else
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#endif
#else
    __syncthreads();
#endif
}

// The two halves of a local_barrier. After arriving a wave works on until it waits; in between it touches no
// local memory that another wave writes before the barrier or behind it. Only gfx12 has them apart: elsewhere
// arriving does nothing.
CK_DEVICE void local_barrier_arrive() {
#if defined(__GFX12__)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier_signal(-1);
#endif
}

CK_DEVICE void local_barrier_wait() {
#if defined(__GFX12__)
    __builtin_amdgcn_s_barrier_wait(-1);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
#else
    local_barrier();
#endif
}

// Barrier that orders accesses to global memory too, among the waves of a workgroup.
CK_DEVICE void workgroup_barrier() {
#if defined(__AMDGCN__)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#else
    __syncthreads();
#endif
}

// Orders accesses of one wave's lanes to local memory that no other wave touches.
CK_DEVICE void wave_local_fence() {
#if defined(__AMDGCN__)
#if __clang_major__ >= 20
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront", "local");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront", "local");
#else
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#endif
#else
    __nvvm_bar_warp_sync(0xffffffffu);
#endif
}

// The value that lane `lane` holds. All lanes of the wave take part.
CK_DEVICE float value_of_lane(float value, uint32_t lane) {
    const int32_t bits = __builtin_bit_cast(int32_t, value);
#if defined(__AMDGCN__)
    return __builtin_bit_cast(float, __builtin_amdgcn_readlane(bits, static_cast<int32_t>(lane)));
#else
    return __builtin_bit_cast(float, __nvvm_shfl_sync_idx_i32(-1, bits, static_cast<int32_t>(lane), 31));
#endif
}

// The lanes where it is true, a bit each. All lanes of the wave take part.
CK_DEVICE uint32_t lanes_where(bool value) {
#if defined(__AMDGCN__)
#if __clang_major__ >= 20
    return __builtin_amdgcn_ballot_w32(value);
#else
    constexpr int kNotEqual = 33;
    return static_cast<uint32_t>(__builtin_amdgcn_uicmp(value, 0, kNotEqual));
#endif
#else
    return __nvvm_vote_ballot_sync(-1, value);
#endif
}

// Is it true in any lane? All lanes of the wave take part, and get the same answer.
CK_DEVICE bool any_lane(bool value) {
#if defined(__AMDGCN__)
    return lanes_where(value) != 0;
#else
    return __nvvm_vote_any_sync(-1, value);
#endif
}

// The instructions before and after this point are not mixed. Between independent parts of a long unrolled
// computation it keeps the scheduler from holding the intermediate results of all parts at once.
CK_DEVICE void scheduling_boundary() {
#if defined(__AMDGCN__)
    __builtin_amdgcn_sched_barrier(0);
#endif
}

// Values that pass through here do so in program order. Compilers mix independent parts of a long unrolled
// computation and then hold the intermediate results of many parts at once; with the operands of a part
// passing after the results of the part before, they cannot. Costs no instruction.
template <int kCount>
CK_DEVICE void in_order(float (&value)[kCount]) {
#if defined(__AMDGCN__)
    CK_UNROLL
    for (int index = 0; index < kCount; ++index) asm volatile("" : "+v"(value[index]));
#else
    (void)value;
#endif
}

// The value of the lane whose index differs in the bits of kMask (a power of two below 32).
template <int kMask>
CK_DEVICE int32_t exchange_xor(int32_t value) {
#if defined(__AMDGCN__)
    if constexpr (kMask == 16) {
        return static_cast<int32_t>(__builtin_amdgcn_permlanex16(static_cast<uint32_t>(value),
                                                                 static_cast<uint32_t>(value), 0x76543210u,
                                                                 0xfedcba98u, true, false));
    } else {
        // DPP control 0x160 + mask is row_xmask.
        return __builtin_amdgcn_update_dpp(0, value, 0x160 | kMask, 0xf, 0xf, true);
    }
#else
    return __nvvm_shfl_sync_bfly_i32(-1, value, kMask, 31);
#endif
}

}  // namespace ckitchen
