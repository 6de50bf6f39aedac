// y = A * x for signed bytes, with sums of 32 bits: the arithmetic of quantised neural networks. A row of `quads` times
// four bytes for each group of 64 items.
#define LANES 64

// The sum of the group's items.
static int group_sum(local int *sums, int mine) {
    const uint l = get_local_id(0);
    sums[l] = mine;
    for (uint half_size = LANES / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_size)
            sums[l] += sums[l + half_size];
    }
    return sums[0];
}

// Four products for the compiler to find instructions for.
kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void gemv_i8(global const char4 *restrict a,
                                                                        global const char4 *restrict x,
                                                                        global int *restrict y, uint quads) {
    local int sums[LANES];
    const uint row = get_group_id(0);
    int sum = 0;
    for (uint q = get_local_id(0); q < quads; q += LANES) {
        const char4 left = a[row * quads + q], right = x[q];
        sum += left.x * right.x + left.y * right.y + left.z * right.z + left.w * right.w;
    }
    sum = group_sum(sums, sum);
    if (get_local_id(0) == 0)
        y[row] = sum;
}

// Four products in one V_DOT4_I32_I8.
kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void gemv_i8_dot4(global const char4 *restrict a,
                                                                             global const char4 *restrict x,
                                                                             global int *restrict y, uint quads) {
    local int sums[LANES];
    const uint row = get_group_id(0);
    int sum = 0;
    for (uint q = get_local_id(0); q < quads; q += LANES)
        sum = __builtin_amdgcn_sdot4(as_int(a[row * quads + q]), as_int(x[q]), sum, false);
    sum = group_sum(sums, sum);
    if (get_local_id(0) == 0)
        y[row] = sum;
}
