// Flags, locks made of them, and fences between atomic operations that order nothing by themselves.
#define GROUP 128
#define WAVE 64

// At each scope, those whom it allows to share a flag try to set it: of the items of a flag that was clear exactly one finds
// it so. They are counted in winners[scope].
#define TRY(s, flag, order, scope)                                                                                     \
    if (!atomic_flag_test_and_set_explicit(flag, order, scope))                                                        \
        atomic_fetch_add_explicit(&winners[s], 1u, memory_order_relaxed, memory_scope_device);
#define CLEAR(flag, order, scope) atomic_flag_clear_explicit(flag, order, scope)

// One flag for each item, each wave, each group, and two for all; in LDS as many for the items of a group, counted in
// winners[5 .. 9]. All but the last two are clear at the end.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void atomics_flag(global atomic_flag *flags,
                                                                             global atomic_uint *winners) {
    local atomic_flag own[GROUP + GROUP / WAVE + 3];
    const uint i = get_global_id(0), l = get_local_id(0), items = get_global_size(0), groups = get_num_groups(0);
    global atomic_flag *of_wave = flags + items + i / WAVE, *of_group = flags + items + items / WAVE + get_group_id(0);
    global atomic_flag *of_all = flags + items + items / WAVE + groups;
    local atomic_flag *own_wave = own + GROUP + l / WAVE, *own_group = own + GROUP + GROUP / WAVE;
    for (uint f = l; f < GROUP + GROUP / WAVE + 3; f += GROUP)
        CLEAR(&own[f], memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);

    TRY(0, &flags[i], memory_order_relaxed, memory_scope_work_item)
    TRY(1, of_wave, memory_order_acquire, memory_scope_sub_group)
    TRY(2, of_group, memory_order_release, memory_scope_work_group)
    TRY(3, of_all, memory_order_acq_rel, memory_scope_device)
    TRY(4, of_all + 1, memory_order_seq_cst, memory_scope_all_svm_devices)
    TRY(5, &own[l], memory_order_seq_cst, memory_scope_work_item)
    TRY(6, own_wave, memory_order_relaxed, memory_scope_sub_group)
    TRY(7, own_group, memory_order_acquire, memory_scope_work_group)
    TRY(8, own_group + 1, memory_order_release, memory_scope_device)
    TRY(9, own_group + 2, memory_order_acq_rel, memory_scope_all_svm_devices)

    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    CLEAR(&flags[i], memory_order_relaxed, memory_scope_work_item);
    if (l % WAVE == 0)
        CLEAR(of_wave, memory_order_release, memory_scope_sub_group);
    if (l == 0)
        CLEAR(of_group, memory_order_seq_cst, memory_scope_device);
}

// Waves take a lock in LDS to change what their group shares, groups one in global memory to change what all share: neither
// is atomic. At the end guarded[] is the number of waves, the sum and the exclusive or of x[wave], and the largest one.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
atomics_lock(global const uint *restrict x, global atomic_flag *lock, global uint *guarded) {
    local atomic_flag own_lock;
    local uint own[4];
    const uint l = get_local_id(0);
    if (l == 0)
        CLEAR(&own_lock, memory_order_relaxed, memory_scope_work_group);
    if (l < 4)
        own[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    if (l % WAVE == 0) {
        const uint mine = x[get_global_id(0) / WAVE];
        while (atomic_flag_test_and_set_explicit(&own_lock, memory_order_acquire, memory_scope_work_group))
            ;
        own[0] += 1;
        own[1] += mine;
        own[2] ^= mine;
        own[3] = max(own[3], mine);
        CLEAR(&own_lock, memory_order_release, memory_scope_work_group);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (l == 0) {
        while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire, memory_scope_device))
            ;
        guarded[0] += own[0];
        guarded[1] += own[1];
        guarded[2] ^= own[2];
        guarded[3] = max(guarded[3], own[3]);
        CLEAR(lock, memory_order_release, memory_scope_device);
    }
}

// Whoever comes last adds up what the others have written: the last item of a group for the group, the last group for all.
// The counters are relaxed, so that the fences have to keep things in order. Fences for one item and for a wave cost
// nothing, but the compiler may not move anything over them.
#define ADD_UP(BEFORE, AFTER, ALL, round)                                                                              \
    {                                                                                                                  \
        data[i] = 2 * x[i] + round;                                                                                    \
        __builtin_amdgcn_fence(BEFORE, "singlethread");                                                                \
        own[l] = data[i] ^ round;                                                                                      \
        __builtin_amdgcn_fence(BEFORE, "wavefront");                                                                   \
        __builtin_amdgcn_fence(AFTER, "wavefront");                                                                    \
        data[i] += own[l ^ 1];                                                                                         \
        __builtin_amdgcn_fence(BEFORE, "workgroup");                                                                   \
        const uint before = atomic_fetch_add_explicit(&here, 1u, memory_order_relaxed, memory_scope_work_group);       \
        if (before == GROUP - 1) {                                                                                     \
            __builtin_amdgcn_fence(AFTER, "workgroup");                                                                \
            uint sum = 0;                                                                                              \
            for (uint j = 0; j < GROUP; j++)                                                                           \
                sum += (j + 1) * data[group * GROUP + j];                                                              \
            sums[round * groups + group] = sum;                                                                        \
            atomic_store_explicit(&here, 0u, memory_order_relaxed, memory_scope_work_group);                           \
            __builtin_amdgcn_fence(BEFORE, ALL);                                                                       \
            if (atomic_fetch_add_explicit(&arrived[round], 1u, memory_order_relaxed, memory_scope_device) ==           \
                groups - 1) {                                                                                          \
                __builtin_amdgcn_fence(AFTER, ALL);                                                                    \
                uint all = 0;                                                                                          \
                for (uint g = 0; g < groups; g++)                                                                      \
                    all += sums[round * groups + g];                                                                   \
                total[round] = all;                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                                                         \
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                                                           \
    }

// Two rounds, with every order that a fence has and every scope. arrived[round] is zero before the launch.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
atomics_fence(global const uint *restrict x, global uint *data, global uint *sums, global atomic_uint *arrived,
              global uint *total) {
    local uint own[GROUP];
    local atomic_uint here;
    const uint i = get_global_id(0), l = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
    if (l == 0)
        atomic_store_explicit(&here, 0u, memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);
    ADD_UP(__ATOMIC_RELEASE, __ATOMIC_ACQUIRE, "agent", 0)
    ADD_UP(__ATOMIC_ACQ_REL, __ATOMIC_SEQ_CST, "", 1)
}
