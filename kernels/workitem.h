// The work-item functions of OpenCL for code object version 5 and later, included before every kernel.
//
// libclc has them too, but takes the global offset from where older code objects keep it, so that an item's global id
// would be off by the number of groups in the next dimension.
//
// They exist only where they are inlined (GNU's `extern inline`): a build without optimisation has no copies of them.
#define ANSWER(name, dim)                                                                                                  \
    extern inline __attribute__((gnu_inline, overloadable, const, always_inline)) size_t name(uint dim)

ANSWER(get_local_id, dim) {
    switch (dim) {
    case 0: return __builtin_amdgcn_workitem_id_x();
    case 1: return __builtin_amdgcn_workitem_id_y();
    case 2: return __builtin_amdgcn_workitem_id_z();
    default: return 0;
    }
}

ANSWER(get_group_id, dim) {
    switch (dim) {
    case 0: return __builtin_amdgcn_workgroup_id_x();
    case 1: return __builtin_amdgcn_workgroup_id_y();
    case 2: return __builtin_amdgcn_workgroup_id_z();
    default: return 0;
    }
}

// Hidden arguments: 3 x u32 whole groups, 3 x u16 group size, 3 x u16 remainder, padding to 40, 3 x i64 offset.
#define HIDDEN(type, offset) (*(constant const type *)((constant const char *)__builtin_amdgcn_implicitarg_ptr() + (offset)))

ANSWER(get_enqueued_local_size, dim) { return dim < 3 ? HIDDEN(ushort, 12 + 2 * dim) : 1; }

// The size of this item's own group: smaller than the enqueued one at the far edges of an uneven grid. The compiler's own
// builtin takes all groups for equal.
ANSWER(get_local_size, dim) {
    if (dim >= 3) return 1;
    return get_group_id(dim) < HIDDEN(uint, 4 * dim) ? HIDDEN(ushort, 12 + 2 * dim) : HIDDEN(ushort, 18 + 2 * dim);
}

ANSWER(get_num_groups, dim) {
    return dim < 3 ? HIDDEN(uint, 4 * dim) + (HIDDEN(ushort, 18 + 2 * dim) != 0 ? 1 : 0) : 1;
}

ANSWER(get_global_offset, dim) { return dim < 3 ? HIDDEN(ulong, 40 + 8 * dim) : 0; }

ANSWER(get_global_size, dim) {
    return dim < 3 ? (size_t)HIDDEN(uint, 4 * dim) * HIDDEN(ushort, 12 + 2 * dim) + HIDDEN(ushort, 18 + 2 * dim) : 1;
}

ANSWER(get_global_id, dim) {
    return get_global_offset(dim) + get_group_id(dim) * get_enqueued_local_size(dim) + get_local_id(dim);
}

#undef ANSWER
#undef HIDDEN
