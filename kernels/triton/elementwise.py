"""Kernels that compute each element by itself."""

import triton
import triton.language as tl
from triton.language.extra import libdevice

from variants import variant


@variant("vector_add_f32", "*fp32 *fp32 *fp32 i32", BLOCK=1024)
@variant("vector_add_bf16", "*bf16 *bf16 *bf16 i32", BLOCK=2048, warps=8)
@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@variant("maths_f32", "*fp32 *fp32 i32", BLOCK=256)
@triton.jit
def maths(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=1.0)
    result = tl.exp(value) + tl.log(tl.abs(value) + 1.0) + tl.sqrt(tl.abs(value)) + tl.sin(value) * tl.cos(value)
    result += tl.rsqrt(tl.abs(value) + 2.0) + tl.floor(value) - tl.ceil(value) + tl.exp2(value)
    tl.store(out + at, result, mask=inside)


@variant("functions_f64", "*fp64 *fp64 i32", BLOCK=128)
@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=1.0)
    result = libdevice.pow(libdevice.abs(value), value) + libdevice.tanh(value) + libdevice.erf(value) / 3.0
    tl.store(out + at, result, mask=inside)


@variant("gelu_f16", "*fp16 *fp16 i32", BLOCK=1024)
@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    inner = 0.7978845608 * (value + 0.044715 * value * value * value)
    result = 0.5 * value * (1.0 + 2.0 * tl.sigmoid(2.0 * inner) - 1.0)
    tl.store(out + at, result.to(tl.float16), mask=inside)


@variant("rotary_f16", "*fp16 *fp32 *fp32 *fp16 i32", HALF=64)
@triton.jit
def rotary(x, cosines, sines, out, stride, HALF: tl.constexpr):
    row = tl.program_id(0) * stride
    at = tl.arange(0, HALF)
    left = tl.load(x + row + at).to(tl.float32)
    right = tl.load(x + row + HALF + at).to(tl.float32)
    angle = tl.program_id(1) * HALF + at
    cosine, sine = tl.load(cosines + angle), tl.load(sines + angle)
    tl.store(out + row + at, (left * cosine - right * sine).to(tl.float16))
    tl.store(out + row + HALF + at, (right * cosine + left * sine).to(tl.float16))


@variant("dropout", "*fp32 *fp32 i32 fp32 i32", BLOCK=1024)
@triton.jit
def dropout(x, out, n, rate, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    kept = tl.rand(seed, at) > rate
    value = tl.load(x + at, mask=inside, other=0.0)
    tl.store(out + at, tl.where(kept, value / (1.0 - rate), 0.0), mask=inside)


@variant("random_normal", "*fp32 i32 i32", BLOCK=512)
@triton.jit
def random_normal(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randn(seed, at), mask=at < n)


@variant("integers_i64", "*i64 *i64 *i64 i32", BLOCK=256)
@variant("integers_i32", "*i32 *i32 *i32 i32", BLOCK=256)
@variant("integers_u8", "*u8 *u8 *u8 i32", BLOCK=1024)
@triton.jit
def integers(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside, other=1)
    result = (left // (right | 1)) * 3 + (left % (right | 1)) ^ (left << 2) & (right >> 1)
    tl.store(out + at, tl.maximum(result, left) - tl.minimum(left, right), mask=inside)


@variant("quantise_i8", "*fp32 *i8 *fp32 i32", BLOCK=1024)
@triton.jit
def quantise(x, out, scales, n, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    scale = tl.max(tl.abs(value), axis=0) / 127.0
    tl.store(scales + block, scale)
    tl.store(out + at, (value / scale).to(tl.int8), mask=at < n)


@variant("dequantise_i4", "*u8 *fp16 *fp16 i32", BLOCK=512)
@triton.jit
def dequantise(packed, scales, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    byte = tl.load(packed + at, mask=inside, other=0)
    scale = tl.load(scales + at // 32, mask=inside, other=1.0)
    low, high = (byte & 0xF).to(tl.float16) - 8.0, (byte >> 4).to(tl.float16) - 8.0
    tl.store(out + 2 * at, low * scale, mask=inside)
    tl.store(out + 2 * at + 1, high * scale, mask=inside)


@variant("to_fp8", "*fp32 *fp8e5 *fp32 i32", BLOCK=1024)
@triton.jit
def to_fp8(x, out, back, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float8e5)
    tl.store(out + at, value, mask=inside)
    tl.store(back + at, value.to(tl.float32), mask=inside)
