// Generic pointers: one piece of code that reaches global memory, LDS and private memory through flat instructions.
#define GROUP 64

// Adds `amount` to the cells that `p` points at, wherever they are, and returns the old sum.
static __attribute__((noinline)) uint bump(uint *p, uint count, uint amount) {
    uint sum = 0;
    for (uint j = 0; j < count; j++) {
        sum += p[j];
        p[j] += amount + j;
    }
    return sum;
}

// Each item owns four cells in each of the three kinds of memory; kind[i] says which one it works on, lane by lane.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void flat(global const uint *restrict kind,
                                                                     global uint *cells, global uint *y,
                                                                     uint rounds) {
    local uint shared_cells[4 * GROUP];
    uint own[4];
    const uint i = get_global_id(0), l = get_local_id(0);
    for (uint j = 0; j < 4; j++) {
        own[j] = i + j;
        shared_cells[4 * l + j] = 2 * i + j;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    uint sum = 0;
    for (uint r = 0; r < rounds; r++) {
        const uint which = (kind[i] + r) % 3;
        uint *p = which == 0 ? (uint *)&cells[4 * i] : which == 1 ? (uint *)&shared_cells[4 * l] : (uint *)own;
        sum = 17 * sum + bump(p, 4, r + which);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < 4; j++)
        y[4 * i + j] = sum + own[j] + 5 * shared_cells[4 * (GROUP - 1 - l) + j];
}

// Atomics through a generic pointer: even items count in LDS, odd items in global memory. total[] is zero before the
// launch; y[group] is the LDS count.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void flat_atomic(global const uint *restrict amount,
                                                                            global atomic_uint *total,
                                                                            global uint *y) {
    local atomic_uint count;
    const uint i = get_global_id(0);
    if (get_local_id(0) == 0)
        atomic_init(&count, 0u);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_uint *where = amount[i] % 2 ? (atomic_uint *)total : (atomic_uint *)&count;
    atomic_fetch_add_explicit(where, amount[i], memory_order_relaxed, memory_scope_device);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        y[get_group_id(0)] = atomic_load_explicit(&count, memory_order_relaxed, memory_scope_work_group);
}
