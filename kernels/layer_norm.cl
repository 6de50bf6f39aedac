// y[r][c] = (x[r][c] - mean_r) / sqrt(variance_r + epsilon) * gain[c] + bias[c]: one workgroup for each row of `columns`
// elements.
#define GROUP 128

static float group_sum(local float *scratch, float mine) {
    const uint l = get_local_id(0);
    scratch[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        if (l < half_size)
            scratch[l] += scratch[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float all = scratch[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return all;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
layer_norm(global const float *restrict x, global float *restrict y, global const float *restrict gain,
           global const float *restrict bias, uint columns, float epsilon) {
    local float scratch[GROUP];
    global const float *row = x + get_group_id(0) * (size_t)columns;
    global float *out = y + get_group_id(0) * (size_t)columns;

    float sum = 0.0f;
    for (uint c = get_local_id(0); c < columns; c += GROUP)
        sum += row[c];
    const float mean = group_sum(scratch, sum) / (float)columns;

    float squares = 0.0f;
    for (uint c = get_local_id(0); c < columns; c += GROUP) {
        const float distance = row[c] - mean;
        squares = fma(distance, distance, squares);
    }
    const float scale = rsqrt(group_sum(scratch, squares) / (float)columns + epsilon);

    for (uint c = get_local_id(0); c < columns; c += GROUP)
        out[c] = fma((row[c] - mean) * scale, gain[c], bias[c]);
}
