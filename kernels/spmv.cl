// y = A * x for a sparse matrix in compressed rows: row r has the elements start[r] to start[r + 1] - 1, each a column and
// a value.

// A row for each item.
kernel void spmv_scalar(global const uint *restrict start, global const uint *restrict column,
                        global const float *restrict value, global const float *restrict x, global float *restrict y,
                        uint rows) {
    const uint row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    const uint end = start[row + 1];
    for (uint i = start[row]; i < end; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

// A row for 64 items side by side, four rows for a group.
#define LANES 64
#define ROWS 4

kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void
spmv_vector(global const uint *restrict start, global const uint *restrict column, global const float *restrict value,
            global const float *restrict x, global float *restrict y, uint rows) {
    local float sums[ROWS][LANES];
    const uint row = get_global_id(1), lane = get_local_id(0);
    local float *mine = sums[get_local_id(1)];

    float sum = 0.0f;
    if (row < rows) {
        const uint end = start[row + 1];
        for (uint i = start[row] + lane; i < end; i += LANES)
            sum += value[i] * x[column[i]];
    }
    mine[lane] = sum;
    for (uint half_size = LANES / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_size)
            mine[lane] += mine[lane + half_size];
    }
    if (lane == 0 && row < rows)
        y[row] = mine[0];
}
