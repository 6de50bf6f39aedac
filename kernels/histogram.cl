// Counts of the 256 byte values in `words` words of data. `bins` is zero before the launch.
#define BINS 256

static uchar byte_of(uint word, uint which) { return (uchar)(word >> (8 * which)); }

// Counted in LDS by each group, then added to the totals.
kernel __attribute__((reqd_work_group_size(BINS, 1, 1))) void
histogram_local(global const uint *restrict data, global atomic_uint *bins, uint words) {
    local atomic_uint mine[BINS];
    const uint l = get_local_id(0);
    atomic_init(&mine[l], 0u);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint i = get_global_id(0); i < words; i += get_global_size(0)) {
        const uint word = data[i];
        for (uint b = 0; b < 4; b++)
            atomic_fetch_add_explicit(&mine[byte_of(word, b)], 1u, memory_order_relaxed, memory_scope_work_group);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint count = atomic_load_explicit(&mine[l], memory_order_relaxed, memory_scope_work_group);
    if (count != 0)
        atomic_fetch_add_explicit(&bins[l], count, memory_order_relaxed, memory_scope_device);
}

// Counted straight into global memory.
kernel void histogram_global(global const uint *restrict data, global atomic_uint *bins, uint words) {
    for (uint i = get_global_id(0); i < words; i += get_global_size(0)) {
        const uint word = data[i];
        for (uint b = 0; b < 4; b++)
            atomic_fetch_add_explicit(&bins[byte_of(word, b)], 1u, memory_order_relaxed, memory_scope_device);
    }
}
