// What the compilers of older runtimes, LLVM 15, lack or get wrong, put right before anything else is read.
// Newer compilers never see this file.

namespace ckitchen {

// LLVM 15 moves the instruction below a branch that some lanes take, where the others are switched off: the
// result is pinned to where it is asked for. And it states "may read lanes that are switched off", of which
// there are none where this is used, by setting every modifier bit of the instruction, which newer
// disassemblers take for damage.
__attribute__((device, always_inline)) inline unsigned older_permlanex16(unsigned otherwise, unsigned source,
                                                                         unsigned low, unsigned high) {
    unsigned value = __builtin_amdgcn_permlanex16(otherwise, source, low, high, false, false);
    asm volatile("" : "+v"(value));
    return value;
}

}  // namespace ckitchen

#define __builtin_amdgcn_permlanex16(otherwise, source, low, high, inactive, bound) \
    older_permlanex16(otherwise, source, low, high)

// 33 is LLVM's predicate for "not equal".
#define __builtin_amdgcn_ballot_w32(value) __builtin_amdgcn_uicmp((value) ? 1u : 0u, 0u, 33)
