// x * y + x in two roundings, with the modes that the kernels set written out: OpenCL cannot set them.

static float blend(float x, float y) {
    return x * y + x;
}

kernel void callee_plain(global const float *restrict x, global const float *restrict y, global float *restrict out,
                         uint n) {
    const uint i = get_global_id(0);
    if (i < n)
        out[i] = blend(x[i], y[i]);
}

// Zero with the sign of x if x is denormal.
static float flushed(float x) {
    return fabs(x) < 0x1p-126f ? copysign(0.0f, x) : x;
}

kernel void callee_flush(global const float *restrict x, global const float *restrict y, global float *restrict out,
                         uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float a = flushed(x[i]);
    out[i] = flushed(flushed(a * flushed(y[i])) + a);
}

// The sum in double precision with its last bit set if it is not exact, so that a second rounding sees what is lost.
static double odd_sum(double a, double b) {
    const double sum = a + b, part = sum - a, lost = (a - (sum - part)) + (b - part);
    const ulong bits = as_ulong(sum);
    if (!isfinite(sum) || lost == 0.0 || (bits & 1))
        return sum;
    // The exact sum is on the side of `lost`.
    return as_double((lost > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1);
}

// Products of single precision are exact in double precision.
#define ROUNDED(mode)                                                                                                  \
    static float blend_##mode(float x, float y) {                                                                      \
        const float product = convert_float_##mode((double)x * y);                                                     \
        return convert_float_##mode(odd_sum(product, x));                                                              \
    }
ROUNDED(rtp)
ROUNDED(rtn)
ROUNDED(rtz)

kernel void callee_round(global const float *restrict x, global const float *restrict y, global float *restrict out,
                         uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float a = x[i], b = y[i];
    out[4 * i] = blend(a, b);
    out[4 * i + 1] = blend_rtp(a, b);
    out[4 * i + 2] = blend_rtn(a, b);
    out[4 * i + 3] = blend_rtz(a, b);
}
