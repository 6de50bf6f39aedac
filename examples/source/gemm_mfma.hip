// C = A B by matrix instructions of gfx90a and later, in HIP: examples/gemm_mfma.toml runs it.
#include <hip/hip_runtime.h>

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));

// Each wave computes 32 x 32 elements of C. A has k columns, B has n; sizes are multiples of 32.
__global__ void gemm(const _Float16 *a, const _Float16 *b, float *c, unsigned n, unsigned k) {
    unsigned lane = threadIdx.x;
    unsigned row = blockIdx.y * 32 + lane % 32, column = blockIdx.x * 32 + lane % 32;
    float16 sum = {};
    for (unsigned first = 0; first < k; first += 8) {
        // The lower half of the wave has four of eight steps along k, the upper half the other four.
        unsigned inner = first + lane / 32 * 4;
        half4 x, y;
        for (unsigned i = 0; i < 4; ++i) {
            x[i] = a[row * k + inner + i];
            y[i] = b[(inner + i) * n + column];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
    }
    // `wavemill explain v_mfma_f32_32x32x8_f16 --layout` shows which elements a lane has.
    for (unsigned i = 0; i < 16; ++i)
        c[(blockIdx.y * 32 + i / 4 * 8 + lane / 32 * 4 + i % 4) * n + column] = sum[i];
}

// How far each element is from a product without matrix instructions.
__global__ void compare(const _Float16 *a, const _Float16 *b, const float *c, float *difference, unsigned n, unsigned k) {
    unsigned row = blockIdx.y, column = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
    for (unsigned i = 0; i < k; ++i)
        sum += (float)a[row * k + i] * (float)b[i * n + column];
    difference[row * n + column] = fabsf(sum - c[row * n + column]);
}
