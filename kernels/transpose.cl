// out (width x height) = in (height x width) transposed, through a tile in LDS so that both sides are contiguous.
#define TILE 32
#define ROWS 8

kernel __attribute__((reqd_work_group_size(TILE, ROWS, 1))) void
transpose(global const float *restrict in, global float *restrict out, uint width, uint height) {
    local float tile[TILE][TILE + 1];
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint x0 = get_group_id(0) * TILE, y0 = get_group_id(1) * TILE;

#pragma unroll
    for (uint r = 0; r < TILE; r += ROWS)
        if (x0 + lx < width && y0 + ly + r < height)
            tile[ly + r][lx] = in[(y0 + ly + r) * width + x0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint r = 0; r < TILE; r += ROWS)
        if (y0 + lx < height && x0 + ly + r < width)
            out[(x0 + ly + r) * height + y0 + lx] = tile[lx][ly + r];
}
