// Matrix products by matrix instructions: a wave computes a tile of C = A B. Sizes are multiples of the instructions'.
#include "device.h"

typedef unsigned char uchar;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef double double4 __attribute__((ext_vector_type(4)));
typedef int int8 __attribute__((ext_vector_type(8)));
typedef int int16 __attribute__((ext_vector_type(16)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef short short4 __attribute__((ext_vector_type(4)));

// The lane's tile: a row of A, a column of B, and which part of k.
template <uint SIZE> struct Place {
    uint row, column, part;
    __device__ Place() {
        uint lane = __builtin_amdgcn_workitem_id_x();
        row = __builtin_amdgcn_workgroup_id_y() * SIZE + lane % SIZE;
        column = __builtin_amdgcn_workgroup_id_x() * SIZE + lane % SIZE;
        part = lane / SIZE;
    }
    // Sums of 4 bytes: four rows after another, then those of the other lanes.
    template <class Sum, class Number> __device__ void store(Number *c, uint n, Sum sum) const {
        uint first = row - row % SIZE;
        for (uint r = 0; r < sizeof(Sum) / sizeof(Number); ++r) {
            uint below = sizeof(Number) == 8 ? 4 * r + part : r / 4 * (256 / SIZE) + 4 * part + r % 4;
            c[(first + below) * n + column] = sum[r];
        }
    }
};

template <uint SIZE, class Operand, class Sum, Sum (*MULTIPLY)(Operand, Operand, Sum), class Element, class Number>
static __device__ inline void gemm(const Element *a, const Element *b, Number *c, uint n, uint k) {
    constexpr uint each = sizeof(Operand) / sizeof(Element);
    Place<SIZE> place;
    Sum sum = {};
    for (uint first = 0; first < k; first += each * (64 / SIZE)) {
        Element left[each], right[each];
        for (uint j = 0; j < each; ++j) {
            uint inner = first + place.part * each + j;
            left[j] = a[place.row * k + inner];
            right[j] = b[inner * n + place.column];
        }
        Operand x, y;
        __builtin_memcpy(&x, left, sizeof x);
        __builtin_memcpy(&y, right, sizeof y);
        sum = MULTIPLY(x, y, sum);
    }
    place.store(c, n, sum);
}

#define GEMM(name, size, element, number, operand, sum, builtin)                                                          \
    static __device__ inline sum name##_step(operand a, operand b, sum c) { return builtin(a, b, c, 0, 0, 0); }            \
    extern "C" __global__ void hip_gemm_##name(const element *a, const element *b, number *c, uint n, uint k) {            \
        gemm<size, operand, sum, name##_step>(a, b, c, n, k);                                                              \
    }

GEMM(f64, 16, double, double, double, double4, __builtin_amdgcn_mfma_f64_16x16x4f64)
GEMM(f32, 32, float, float, float, float16, __builtin_amdgcn_mfma_f32_32x32x2f32)
GEMM(f32_small, 16, float, float, float, float4, __builtin_amdgcn_mfma_f32_16x16x4f32)
GEMM(f16, 32, _Float16, float, half4, float16, __builtin_amdgcn_mfma_f32_32x32x8f16)
GEMM(bf16, 32, short, float, short4, float16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
#if __gfx90a__
GEMM(i8, 32, char, int, int, int16, __builtin_amdgcn_mfma_i32_32x32x8i8)
#else
typedef float float2 __attribute__((ext_vector_type(2)));
GEMM(i8, 32, char, int, long, int16, __builtin_amdgcn_mfma_i32_32x32x16_i8)
GEMM(fp8, 32, uchar, float, long, float16, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
GEMM(fp8_bf8, 16, uchar, float, long, float4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8)
#endif
#if __gfx942__
GEMM(xf32, 32, float, float, float2, float16, __builtin_amdgcn_mfma_f32_32x32x4_xf32)
#endif
#if __gfx950__
GEMM(f16_wide, 32, _Float16, float, half8, float16, __builtin_amdgcn_mfma_f32_32x32x16_f16)
#endif

// Sixteen products of 4 x 4 at once: a wave computes 16 of them, of k numbers each.
extern "C" __global__ void hip_gemm_blocks(const _Float16 *a, const _Float16 *b, float *c, uint k) {
    uint lane = __builtin_amdgcn_workitem_id_x(), block = __builtin_amdgcn_workgroup_id_x() * 16 + lane / 4, side = lane % 4;
    float4 sum = {};
    for (uint first = 0; first < k; first += 4) {
        half4 x, y;
        for (uint j = 0; j < 4; ++j) {
            x[j] = a[(block * 4 + side) * k + first + j];
            y[j] = b[(block * k + first + j) * 4 + side];
        }
        sum = __builtin_amdgcn_mfma_f32_4x4x4f16(x, y, sum, 0, 0, 0);
    }
    for (uint r = 0; r < 4; ++r)
        c[(block * 4 + r) * 4 + side] = sum[r];
}

#if __gfx942__ || __gfx950__
// A has two numbers of each four along k, and a byte for each eight says which: two bits for each number, lowest first.
extern "C" __global__ void hip_gemm_sparse(const _Float16 *a, const uchar *index, const _Float16 *b, float *c, uint n, uint k) {
    Place<32> place;
    float16 sum = {};
    for (uint first = 0; first < k; first += 16) {
        uint inner = first + place.part * 8;
        half4 x;
        half8 y;
        for (uint j = 0; j < 4; ++j)
            x[j] = a[place.row * (k / 2) + inner / 2 + j];
        for (uint j = 0; j < 8; ++j)
            y[j] = b[(inner + j) * n + place.column];
        sum = __builtin_amdgcn_smfmac_f32_32x32x16_f16(x, y, sum, index[place.row * (k / 8) + inner / 8], 0, 0);
    }
    place.store(c, n, sum);
}
#endif

#if __gfx950__
// Formats of the block-scaled instructions, and how many bytes 32 numbers are.
enum { FP8, BF8, FP6, BF6, FP4 };
constexpr uint bytes_of(int format) { return format <= BF8 ? 32 : format <= BF6 ? 24 : 16; }

// A lane's 32 of 64 numbers of a row: those of its part, or for formats of 8 bits 16 of each 32.
template <int FORMAT> static __device__ inline int8 operand(const uchar *row, uint part) {
    constexpr uint bytes = bytes_of(FORMAT);
    int8 words = {};
    if (bytes == 32) {
        __builtin_memcpy(&words, row + 16 * part, 16);
        __builtin_memcpy((char *)&words + 16, row + 32 + 16 * part, 16);
    } else {
        __builtin_memcpy(&words, row + bytes * part, bytes);
    }
    return words;
}

// B is transposed. Each 32 numbers along k have a scale.
template <int A, int B>
static __device__ inline void gemm_scaled(const uchar *a, const uchar *a_scale, const uchar *b, const uchar *b_scale, float *c,
                                          uint n, uint k) {
    Place<32> place;
    float16 sum = {};
    for (uint group = 0; group < k / 32; group += 2) {
        uint in_a = place.row * (k / 32) + group, in_b = place.column * (k / 32) + group;
        sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(operand<A>(a + in_a * bytes_of(A), place.part),
                                                              operand<B>(b + in_b * bytes_of(B), place.part), sum, A, B, 0,
                                                              a_scale[in_a + place.part], 0, b_scale[in_b + place.part]);
    }
    place.store(c, n, sum);
}

#define SCALED(name, a_format, b_format)                                                                                   \
    extern "C" __global__ void hip_gemm_##name(const uchar *a, const uchar *a_scale, const uchar *b, const uchar *b_scale, \
                                               float *c, uint n, uint k) {                                                 \
        gemm_scaled<a_format, b_format>(a, a_scale, b, b_scale, c, n, k);                                                  \
    }

SCALED(fp8_scaled, FP8, FP8)
SCALED(fp6_bf6, FP6, BF6)
SCALED(bf6_fp4, BF6, FP4)
SCALED(fp4_fp6, FP4, FP6)
SCALED(bf8_bf6, BF8, BF6)
#endif
