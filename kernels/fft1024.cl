// Fourier transforms of 1024 complex points each, one for each group: five passes of radix 4 over LDS (Stockham's order,
// which needs no reversal of bits). Twiddle factor i is exp(-2 pi i / 1024).
#define POINTS 1024
#define GROUP (POINTS / 4)

#define INLINE static inline __attribute__((always_inline))

INLINE float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// One butterfly: four points 256 apart are turned, transformed, and put `span` apart. The factors are those of points 1 to 3.
INLINE void butterfly(local float2 *data, uint span, float2 wb, float2 wc, float2 wd) {
    const uint j = get_local_id(0);
    const float2 a = data[j];
    const float2 b = times(data[j + GROUP], wb);
    const float2 c = times(data[j + 2 * GROUP], wc);
    const float2 d = times(data[j + 3 * GROUP], wd);
    barrier(CLK_LOCAL_MEM_FENCE);

    const float2 ac = a + c, a_c = a - c, bd = b + d, b_d = b - d;
    const float2 turned = (float2)(b_d.y, -b_d.x);
    const uint to = (j - j % span) * 4 + j % span;
    data[to] = ac + bd;
    data[to + span] = a_c + turned;
    data[to + 2 * span] = ac - bd;
    data[to + 3 * span] = a_c - turned;
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Factors out of a table of 768.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void fft1024(global const float2 *restrict in,
                                                                        global float2 *restrict out,
                                                                        global const float2 *restrict twiddle) {
    local float2 data[POINTS];
    const uint j = get_local_id(0), first = get_group_id(0) * POINTS;
    for (uint p = j; p < POINTS; p += GROUP)
        data[p] = in[first + p];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint span = 1; span < POINTS; span *= 4) {
        const uint step = j % span * (GROUP / span);
        butterfly(data, span, twiddle[step], twiddle[2 * step], twiddle[3 * step]);
    }
    for (uint p = j; p < POINTS; p += GROUP)
        out[first + p] = data[p];
}

INLINE float2 factor(uint i) {
    const float angle = (float)i * (2.0f * M_PI_F / POINTS);
    return (float2)(native_cos(angle), -native_sin(angle));
}

// Factors made when they are needed.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void fft1024_native(global const float2 *restrict in,
                                                                               global float2 *restrict out) {
    local float2 data[POINTS];
    const uint j = get_local_id(0), first = get_group_id(0) * POINTS;
    for (uint p = j; p < POINTS; p += GROUP)
        data[p] = in[first + p];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint span = 1; span < POINTS; span *= 4) {
        const uint step = j % span * (GROUP / span);
        butterfly(data, span, factor(step), factor(2 * step), factor(3 * step));
    }
    for (uint p = j; p < POINTS; p += GROUP)
        out[first + p] = data[p];
}
