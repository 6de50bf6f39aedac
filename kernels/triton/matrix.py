"""Kernels around matrix products."""

import triton
import triton.language as tl

from variants import CDNA2, CDNA3, CDNA4, variant

TILES = dict(M=64, N=64, K=32)


@variant("matmul_f32", "*fp32 *fp32 *fp32 i32 i32 i32", **TILES)
@variant("matmul_f16", "*fp16 *fp16 *fp16 i32 i32 i32", **TILES)
@variant("matmul_bf16", "*bf16 *bf16 *bf16 i32 i32 i32", M=128, N=64, K=64, warps=8)
@variant("matmul_i8", "*i8 *i8 *i32 i32 i32 i32", M=64, N=64, K=64)
@variant("matmul_fp8_e5m2", "*fp8e5 *fp8e5 *fp32 i32 i32 i32", M=64, N=64, K=64)
@variant("matmul_fp8_e4m3_fnuz", "*fp8e4b8 *fp8e4b8 *fp32 i32 i32 i32", only=["gfx942"], M=64, N=64, K=64)
@variant("matmul_fp8_e4m3", "*fp8e4nv *fp8e4nv *fp32 i32 i32 i32", only=CDNA4, M=64, N=64, K=128)
@variant("matmul_f16_stages", "*fp16 *fp16 *fp16 i32 i32 i32", stages=3, M=128, N=128, K=32)
@variant("matmul_f16_small", "*fp16 *fp16 *fp16 i32 i32 i32", warps=1, M=16, N=16, K=16)
@variant("matmul_f64", "*fp64 *fp64 *fp64 i32 i32 i32", only=CDNA2, M=32, N=32, K=16)
@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    left = a + row[:, None] * k + inner[None, :]
    right = b + inner[:, None] * n + column[None, :]
    kind: tl.constexpr = tl.float64 if a.dtype.element_ty == tl.float64 else (
        tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    total = tl.zeros((M, N), dtype=kind)
    for start in range(0, k, K):
        inside = inner + start < k
        total = tl.dot(
            tl.load(left, mask=inside[None, :], other=0.0),
            tl.load(right, mask=inside[:, None], other=0.0),
            total,
            out_dtype=kind,
        )
        left += K
        right += K * n
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(c + row[:, None] * n + column[None, :], total.to(c.dtype.element_ty), mask=inside)


@variant("matmul_scaled_mxfp8", "*fp8e4nv *u8 *fp8e4nv *u8 *fp32 i32", only=CDNA4, FORMAT="e4m3", PACK=1, M=64, N=64, K=128)
@variant("matmul_scaled_mxfp4", "*u8 *u8 *u8 *u8 *fp32 i32", only=CDNA4, FORMAT="e2m1", PACK=2, M=64, N=64, K=128)
@triton.jit
def matmul_scaled(a, a_scale, b, b_scale, c, k, FORMAT: tl.constexpr, PACK: tl.constexpr, M: tl.constexpr,
                  N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner, group = tl.arange(0, K // PACK), tl.arange(0, K // 32)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + row[:, None] * (k // PACK) + start // PACK + inner[None, :])
        right = tl.load(b + column[None, :] * (k // PACK) + start // PACK + inner[:, None])
        left_scale = tl.load(a_scale + row[:, None] * (k // 32) + start // 32 + group[None, :])
        right_scale = tl.load(b_scale + column[:, None] * (k // 32) + start // 32 + group[None, :])
        total = tl.dot_scaled(left, left_scale, FORMAT, right, right_scale, FORMAT, total)
    tl.store(c + row[:, None] * N + column[None, :], total)


@variant("attention_f16", "*fp16 *fp16 *fp16 *fp16 fp32 i32", QUERIES=64, KEYS=32, WIDTH=64)
@variant("attention_bf16", "*bf16 *bf16 *bf16 *bf16 fp32 i32", warps=8, only=CDNA3, QUERIES=128, KEYS=64, WIDTH=64)
@triton.jit
def attention(q, k, v, out, scale, length, QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    width = tl.arange(0, WIDTH)
    query = tl.load(q + row[:, None] * WIDTH + width[None, :], mask=row[:, None] < length, other=0.0)
    highest = tl.full((QUERIES,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((QUERIES,), dtype=tl.float32)
    result = tl.zeros((QUERIES, WIDTH), dtype=tl.float32)
    for start in range(0, length, KEYS):
        key = start + tl.arange(0, KEYS)
        keys = tl.load(k + key[None, :] * WIDTH + width[:, None], mask=key[None, :] < length, other=0.0)
        score = tl.dot(query, keys) * scale
        score = tl.where(row[:, None] >= key[None, :], score, -1.0e6)
        higher = tl.maximum(highest, tl.max(score, axis=1))
        weight = tl.exp2((score - higher[:, None]) * 1.44269504)
        fade = tl.exp2((highest - higher) * 1.44269504)
        total = total * fade + tl.sum(weight, axis=1)
        values = tl.load(v + key[:, None] * WIDTH + width[None, :], mask=key[:, None] < length, other=0.0)
        result = tl.dot(weight.to(values.dtype), values, result * fade[:, None])
        highest = higher
    tl.store(out + row[:, None] * WIDTH + width[None, :], (result / total[:, None]).to(query.dtype), mask=row[:, None] < length)


@variant("gemv_f16", "*fp16 *fp16 *fp32 i32 i32", ROWS=16, K=256)
@triton.jit
def gemv(a, x, out, rows, k, ROWS: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(0, k, K):
        at = start + tl.arange(0, K)
        inside = (row[:, None] < rows) & (at[None, :] < k)
        part = tl.load(a + row[:, None] * k + at[None, :], mask=inside, other=0.0).to(tl.float32)
        total += tl.sum(part * tl.load(x + at, mask=at < k, other=0.0)[None, :].to(tl.float32), axis=1)
    tl.store(out + row, total, mask=row < rows)
