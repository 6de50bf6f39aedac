// C = alpha * A * B + beta * C for row-major single precision matrices of any size.
//
// A workgroup of 16 x 16 items makes a tile of 64 x 64 elements of C; an item makes 4 x 4 of them, and holds them in
// registers. Strips of A (64 x 16) and of B (16 x 64) pass through LDS. Elements outside the matrices count as zero.
#define TILE 64
#define STRIP 16
#define SIDE 16
#define EACH (TILE / SIDE)

kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
sgemm(global const float *restrict a, global const float *restrict b, global float *restrict c, uint m, uint n, uint k,
      float alpha, float beta) {
    local float strip_a[STRIP][TILE + 4]; // transposed: an item reads its four rows as one float4
    local float strip_b[STRIP][TILE];

    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint item = ly * SIDE + lx;
    const uint row0 = get_group_id(1) * TILE, col0 = get_group_id(0) * TILE;

    float sum[EACH][EACH] = {{0.0f}};

    for (uint k0 = 0; k0 < k; k0 += STRIP) {
#pragma unroll
        for (uint step = 0; step < TILE * STRIP; step += SIDE * SIDE) {
            const uint ra = (item + step) / STRIP, ka = (item + step) % STRIP;
            const uint rb = (item + step) / TILE, cb = (item + step) % TILE;
            const bool in_a = row0 + ra < m && k0 + ka < k;
            const bool in_b = k0 + rb < k && col0 + cb < n;
            strip_a[ka][ra] = in_a ? a[(row0 + ra) * k + k0 + ka] : 0.0f;
            strip_b[rb][cb] = in_b ? b[(k0 + rb) * n + col0 + cb] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll 4
        for (uint kk = 0; kk < STRIP; kk++) {
            float ra[EACH], rb[EACH];
            vstore4(vload4(ly, strip_a[kk]), 0, ra);
            vstore4(vload4(lx, strip_b[kk]), 0, rb);
#pragma unroll
            for (uint i = 0; i < EACH; i++)
#pragma unroll
                for (uint j = 0; j < EACH; j++)
                    sum[i][j] = fma(ra[i], rb[j], sum[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

#pragma unroll
    for (uint i = 0; i < EACH; i++) {
#pragma unroll
        for (uint j = 0; j < EACH; j++) {
            const uint row = row0 + ly * EACH + i, col = col0 + lx * EACH + j;
            if (row < m && col < n)
                c[row * n + col] = fma(alpha, sum[i][j], beta * c[row * n + col]);
        }
    }
}
