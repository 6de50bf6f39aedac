// OpenCL 1.2 has no generic pointers: one copy of the code for each kind of memory, chosen by a branch.
#define GROUP 64

#define BUMP(name, SPACE)                                                                                              \
    static uint name(SPACE uint *p, uint count, uint amount) {                                                         \
        uint sum = 0;                                                                                                  \
        for (uint j = 0; j < count; j++) {                                                                             \
            sum += p[j];                                                                                               \
            p[j] += amount + j;                                                                                        \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
BUMP(bump_global, global)
BUMP(bump_local, local)
BUMP(bump_private, private)

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
        const uint which = (kind[i] + r) % 3, amount = r + which;
        sum = 17 * sum + (which == 0   ? bump_global(&cells[4 * i], 4, amount)
                          : which == 1 ? bump_local(&shared_cells[4 * l], 4, amount)
                                       : bump_private(own, 4, amount));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < 4; j++)
        y[4 * i + j] = sum + own[j] + 5 * shared_cells[4 * (GROUP - 1 - l) + j];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void flat_atomic(global const uint *restrict amount,
                                                                            global uint *total, global uint *y) {
    local uint count;
    const uint i = get_global_id(0);
    if (get_local_id(0) == 0)
        count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (amount[i] % 2)
        atomic_add(total, amount[i]);
    else
        atomic_add(&count, amount[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        y[get_group_id(0)] = count;
}
