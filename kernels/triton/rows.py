"""Kernels that reduce, scan or sort rows."""

import triton
import triton.language as tl

from variants import variant


@variant("softmax_f32", "*fp32 *fp32 i32 i32", BLOCK=1024)
@variant("softmax_f16_wide", "*fp16 *fp16 i32 i32", BLOCK=4096, warps=8)
@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + at, power / tl.sum(power, axis=0), mask=at < columns)


@variant("layer_norm_f32", "*fp32 *fp32 *fp32 *fp32 i32 i32 fp32", BLOCK=1024)
@variant("layer_norm_bf16", "*bf16 *fp32 *fp32 *bf16 i32 i32 fp32", BLOCK=2048, warps=8)
@triton.jit
def layer_norm(x, weight, bias, out, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=0) / columns
    centred = tl.where(inside, value - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scaled = centred * tl.rsqrt(variance + eps)
    result = scaled * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + row * stride + at, result, mask=inside)


@variant("cross_entropy", "*fp32 *i64 *fp32 i32 i32", BLOCK=1024)
@triton.jit
def cross_entropy(logits, labels, losses, stride, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    highest, total = -float("inf"), 0.0
    for start in range(0, classes, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(logits + row * stride + at, mask=at < classes, other=-float("inf"))
        higher = tl.maximum(highest, tl.max(value, axis=0))
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(value - higher), axis=0)
        highest = higher
    label = tl.load(labels + row)
    tl.store(losses + row, tl.log(total) + highest - tl.load(logits + row * stride + label))


@variant("cumulative_sum_f32", "*fp32 *fp32 i32", BLOCK=1024)
@variant("cumulative_sum_i32", "*i32 *i32 i32", BLOCK=512, warps=2)
@triton.jit
def cumulative_sum(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.store(out + at, tl.cumsum(value, axis=0), mask=at < n)


@triton.jit
def linear(decay_left, left, decay_right, right):
    return decay_left * decay_right, left * decay_right + right


@variant("recurrence", "*fp32 *fp32 *fp32 i32", BLOCK=256)
@triton.jit
def recurrence(decay, x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    pair = (tl.load(decay + at, mask=inside, other=0.0), tl.load(x + at, mask=inside, other=0.0))
    _, result = tl.associative_scan(pair, 0, linear)
    tl.store(out + at, result, mask=inside)


@variant("sort_i32", "*i32 *i32", BLOCK=256)
@variant("sort_f32", "*fp32 *fp32", BLOCK=64, warps=1)
@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * BLOCK
    tl.store(out + row + at, tl.sort(tl.load(x + row + at)))


@variant("arg_max", "*fp32 *i32 *fp32 i32", BLOCK=1024)
@triton.jit
def arg_max(x, index, value, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    numbers = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    tl.store(index + row, tl.argmax(numbers, axis=0))
    tl.store(value + row, tl.min(numbers, axis=0))


@variant("reduce_columns", "*fp16 *fp32 i32 i32", ROWS=64, COLUMNS=64)
@triton.jit
def reduce_columns(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        tile = tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
        total += tl.sum(tile.to(tl.float32), axis=0)
    tl.store(out + column, total, mask=column < columns)


@variant("histogram", "*i32 *i32 i32", BLOCK=1024, BINS=256)
@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0) & (BINS - 1), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)
