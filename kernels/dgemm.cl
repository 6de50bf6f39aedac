// C = alpha * A * B + beta * C for row-major double precision matrices of any size.
//
// A workgroup of 16 x 8 items makes a tile of 16 x 32 elements of C, four for each item: two rows, 8 apart, and two
// columns, 16 apart. Strips of A (16 x 8) and of B (8 x 32) pass through LDS. Elements outside the matrices count as zero.
#define ROWS 16
#define COLUMNS 32
#define STRIP 8
#define WIDTH 16
#define HEIGHT 8

kernel __attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1))) void
dgemm(global const double *restrict a, global const double *restrict b, global double *restrict c, uint m, uint n,
      uint k, double alpha, double beta) {
    local double strip_a[ROWS][STRIP + 1];
    local double strip_b[STRIP][COLUMNS];

    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint item = ly * WIDTH + lx;
    const uint row0 = get_group_id(1) * ROWS, col0 = get_group_id(0) * COLUMNS;
    // The elements of the strips that this item brings: one of A, two of B.
    const uint ra = item / STRIP, ka = item % STRIP;
    const uint kb = item / COLUMNS, cb = item % COLUMNS;

    double c00 = 0.0, c01 = 0.0, c10 = 0.0, c11 = 0.0;
    for (uint k0 = 0; k0 < k; k0 += STRIP) {
        strip_a[ra][ka] = row0 + ra < m && k0 + ka < k ? a[(row0 + ra) * k + k0 + ka] : 0.0;
#pragma unroll
        for (uint kk = kb; kk < STRIP; kk += WIDTH * HEIGHT / COLUMNS)
            strip_b[kk][cb] = k0 + kk < k && col0 + cb < n ? b[(k0 + kk) * n + col0 + cb] : 0.0;
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint kk = 0; kk < STRIP; kk++) {
            const double a0 = strip_a[ly][kk], a1 = strip_a[ly + HEIGHT][kk];
            const double b0 = strip_b[kk][lx], b1 = strip_b[kk][lx + WIDTH];
            c00 = fma(a0, b0, c00), c01 = fma(a0, b1, c01);
            c10 = fma(a1, b0, c10), c11 = fma(a1, b1, c11);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const double sum[2][2] = {{c00, c01}, {c10, c11}};
#pragma unroll
    for (uint i = 0; i < 2; i++) {
#pragma unroll
        for (uint j = 0; j < 2; j++) {
            const uint row = row0 + ly + i * HEIGHT, col = col0 + lx + j * WIDTH;
            if (row < m && col < n)
                c[row * n + col] = fma(alpha, sum[i][j], beta * c[row * n + col]);
        }
    }
}
