// y[r][c] = exp(x[r][c] - max_r) / sum_r: one workgroup for each row of `columns` elements.
#define GROUP 128

static float group_max(local float *scratch, float mine) {
    const uint l = get_local_id(0);
    scratch[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        if (l < half_size)
            scratch[l] = fmax(scratch[l], scratch[l + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float all = scratch[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return all;
}

static float group_sum(local float *scratch, float mine) {
    const uint l = get_local_id(0);
    scratch[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        if (l < half_size)
            scratch[l] += scratch[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return scratch[0];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void softmax(global const float *restrict x,
                                                                        global float *restrict y, uint columns) {
    local float scratch[GROUP];
    global const float *row = x + get_group_id(0) * (size_t)columns;
    global float *out = y + get_group_id(0) * (size_t)columns;

    float largest = -INFINITY;
    for (uint c = get_local_id(0); c < columns; c += GROUP)
        largest = fmax(largest, row[c]);
    largest = group_max(scratch, largest);

    float sum = 0.0f;
    for (uint c = get_local_id(0); c < columns; c += GROUP) {
        const float e = native_exp2((row[c] - largest) * M_LOG2E_F);
        out[c] = e;
        sum += e;
    }
    sum = group_sum(scratch, sum);

    for (uint c = get_local_id(0); c < columns; c += GROUP)
        out[c] /= sum;
}
