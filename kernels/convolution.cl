// out = in under a 5 x 5 filter, whose middle lies on the pixel. Beyond its edges the picture goes on as its outermost
// pixels. Each group brings its part of the picture, with a border of two pixels, into LDS.
#define WIDTH 32
#define HEIGHT 8
#define REACH 2
#define SIDE (2 * REACH + 1)

kernel __attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1))) void
convolution(global const float *restrict in, global float *restrict out, constant float *restrict filter, int width,
            int height) {
    local float part[HEIGHT + 2 * REACH][WIDTH + 2 * REACH];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x0 = get_group_id(0) * WIDTH, y0 = get_group_id(1) * HEIGHT;

    for (int row = ly; row < HEIGHT + 2 * REACH; row += HEIGHT) {
        const int y = clamp(y0 + row - REACH, 0, height - 1);
        for (int column = lx; column < WIDTH + 2 * REACH; column += WIDTH) {
            const int x = clamp(x0 + column - REACH, 0, width - 1);
            part[row][column] = in[y * width + x];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (x0 + lx >= width || y0 + ly >= height)
        return;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++)
            sum = fma(filter[i * SIDE + j], part[ly + i][lx + j], sum);
    out[(y0 + ly) * width + x0 + lx] = sum;
}
