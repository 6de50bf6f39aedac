// Escape times of z = z * z + c over a rectangle of the complex plane: one pixel per work-item, rows from the top.
// A point that has not left the circle of radius 2 after `limit` steps counts as `limit`.
kernel void mandelbrot(global uint *restrict steps, uint width, uint height, float left, float top, float step,
                       uint limit) {
    const uint px = get_global_id(0), py = get_global_id(1);
    if (px >= width || py >= height)
        return;

    const float cx = left + (float)px * step, cy = top - (float)py * step;
    float x = 0.0f, y = 0.0f, xx = 0.0f, yy = 0.0f;
    uint n = 0;
    while (n < limit && xx + yy <= 4.0f) {
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        n++;
    }
    steps[py * width + px] = n;
}
