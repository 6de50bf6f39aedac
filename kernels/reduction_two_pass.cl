// The Euclidean norm of each row of a matrix, reduced in two passes: the first makes the sums of squares of `chunks` parts
// of each row, the second adds them up and takes the root.
#define WIDE 128
#define NARROW 64

// The sum of the group's items: a tree over LDS, halves folded together.
static float group_sum(local float *scratch, uint items, float mine) {
    const uint l = get_local_id(0);
    scratch[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = items / 2; half_size > 0; half_size /= 2) {
        if (l < half_size)
            scratch[l] += scratch[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return scratch[0];
}

// A row of groups for each row of the matrix, a group for each part.
kernel __attribute__((reqd_work_group_size(WIDE, 1, 1))) void
norm_first_pass(global const float *restrict x, global float *restrict partial, uint columns) {
    local float scratch[WIDE];
    const uint row = get_group_id(1), chunk = get_group_id(0), chunks = get_num_groups(0);
    float sum = 0.0f;
    for (uint c = get_global_id(0); c < columns; c += chunks * WIDE) {
        const float value = x[row * columns + c];
        sum += value * value;
    }
    sum = group_sum(scratch, WIDE, sum);
    if (get_local_id(0) == 0)
        partial[row * chunks + chunk] = sum;
}

// A group for each row.
kernel __attribute__((reqd_work_group_size(NARROW, 1, 1))) void
norm_second_pass(global const float *restrict partial, global float *restrict norm, uint chunks) {
    local float scratch[NARROW];
    const uint row = get_group_id(0);
    float sum = 0.0f;
    for (uint c = get_local_id(0); c < chunks; c += NARROW)
        sum += partial[row * chunks + c];
    sum = group_sum(scratch, NARROW, sum);
    if (get_local_id(0) == 0)
        norm[row] = sqrt(sum);
}
