// Workgroups of one wave (64 items) that exchange data through LDS and rely on the lanes of a wave moving together.
#define LANES 64

// Inclusive prefix sums with no barrier at all: the volatile accesses keep their order, the wave does the rest.
kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void lockstep_scan(global const uint *restrict x,
                                                                              global uint *restrict y) {
    local volatile uint cell[LANES];
    const uint l = get_local_id(0), i = get_global_id(0);
    cell[l] = x[i];
    for (uint distance = 1; distance < LANES; distance *= 2)
        if (l >= distance)
            cell[l] += cell[l - distance];
    y[i] = cell[l];
}

// Reversal and rotation with barriers that the compiler drops, because a group is a single wave.
kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void lockstep_barrier(global const uint *restrict x,
                                                                                 global uint *restrict y, uint rounds) {
    local uint cell[LANES];
    const uint l = get_local_id(0), i = get_global_id(0);
    cell[l] = x[i];
    for (uint r = 0; r < rounds; r++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint mirror = cell[LANES - 1 - l], next = cell[(l + r) % LANES];
        barrier(CLK_LOCAL_MEM_FENCE);
        cell[l] = 3 * mirror + next;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = cell[l];
}
