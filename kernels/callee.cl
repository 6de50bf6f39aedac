// One function that three kernels call with different floating point modes and register counts, so that its code runs
// under more than one state of the wave.
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define HAS_ACC 1
#else
#define HAS_ACC 0
#endif

// x * y + x in two roundings. Where there are accumulation registers the product goes through one: which physical
// register that is depends on the kernel that calls.
static __attribute__((noinline)) float blend(float x, float y) {
    float product = x * y;
    // Volatile, as the result depends on a mode that the compiler does not know of: no call may be merged or moved.
#if HAS_ACC
    __asm__ volatile("v_accvgpr_write_b32 a1, %0\n\tv_accvgpr_read_b32 %0, a1" : "+v"(product) : : "a1");
#else
    __asm__ volatile("" : "+v"(product));
#endif
    return product + x;
}

// Bits of the MODE register, as s_setreg takes them: register 1, first bit, number of bits - 1.
#define ROUND_F32 (1 | 0 << 6 | 1 << 11)
#define DENORM_F32 (1 | 4 << 6 | 1 << 11)

// Round to nearest even, denormals kept.
kernel void callee_plain(global const float *restrict x, global const float *restrict y, global float *restrict out,
                         uint n) {
    const uint i = get_global_id(0);
    if (i < n)
        out[i] = blend(x[i], y[i]);
}

// The same with denormals flushed, and with many more registers.
kernel void callee_flush(global const float *restrict x, global const float *restrict y, global float *restrict out,
                         uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float a = x[i], b = y[i];
    __asm__ volatile("; needs registers up to v101" ::: "v101");
    __builtin_amdgcn_s_setreg(DENORM_F32, 0);
    out[i] = blend(a, b);
}

// The same with rounding switched while the kernel runs: to nearest, up, down, towards zero; out[4 * i + mode].
kernel void callee_round(global const float *restrict x, global const float *restrict y, global float *restrict out,
                         uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float a = x[i], b = y[i];
    out[4 * i] = blend(a, b);
    __builtin_amdgcn_s_setreg(ROUND_F32, 1);
    out[4 * i + 1] = blend(a, b);
    __builtin_amdgcn_s_setreg(ROUND_F32, 2);
    out[4 * i + 2] = blend(a, b);
    __builtin_amdgcn_s_setreg(ROUND_F32, 3);
    out[4 * i + 3] = blend(a, b);
    __builtin_amdgcn_s_setreg(ROUND_F32, 0);
}
