// Inclusive prefix sums of n integers, modulo 2^32. `scan_groups` makes those of each block of 1024 elements, and the
// total of each block; once it has run over the totals too, `scan_add` puts the blocks together.
#define GROUP 256
#define EACH 4

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scan_groups(global const uint *restrict x, global uint *restrict y, global uint *restrict totals, uint n) {
    local uint sums[2][GROUP];
    const uint l = get_local_id(0), first = get_global_id(0) * EACH;

    uint mine[EACH], sum = 0;
#pragma unroll
    for (uint e = 0; e < EACH; e++) {
        sum += first + e < n ? x[first + e] : 0;
        mine[e] = sum;
    }

    // Over the sums of the items, in steps of doubling distance between two rows that take turns.
    uint from = 0;
    sums[from][l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 1; distance < GROUP; distance *= 2) {
        const uint before = l >= distance ? sums[from][l - distance] : 0;
        sums[1 - from][l] = sums[from][l] + before;
        from = 1 - from;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const uint before = l > 0 ? sums[from][l - 1] : 0;
#pragma unroll
    for (uint e = 0; e < EACH; e++)
        if (first + e < n)
            y[first + e] = before + mine[e];
    if (l == GROUP - 1)
        totals[get_group_id(0)] = sums[from][l];
}

// Adds what is before each block: `totals` are the prefix sums of the blocks' totals.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void scan_add(global uint *restrict y,
                                                                         global const uint *restrict totals, uint n) {
    const uint block = get_group_id(0);
    if (block == 0)
        return;
    const uint before = totals[block - 1];
#pragma unroll
    for (uint e = 0; e < EACH; e++) {
        const uint i = (block * EACH + e) * GROUP + get_local_id(0);
        if (i < n)
            y[i] += before;
    }
}
