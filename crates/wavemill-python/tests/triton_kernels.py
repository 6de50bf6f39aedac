"""Kernels for Triton's tests: Triton reads their source, so they are in a file of their own."""

import triton
import triton.language as tl


@triton.jit
def half_and_single(x, y, out, n, BLOCK: tl.constexpr):
    """f16 and f32 with constants that instructions hold themselves, and with literals."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    half = tl.load(x + i, mask=mask)
    half = (half * 2.0 + 0.5) * 4.0 - 1.0
    single = tl.load(y + i, mask=mask)
    single = (single * -4.0 + 1.0) * 0.5 - 7.25
    tl.store(out + i, half.to(tl.float32) + single, mask=mask)


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + column, mask=column < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * stride + column, values / tl.sum(values, 0), mask=column < columns)


@triton.jit
def matmul(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * stride_a + k[None, :], mask=(rows < M)[:, None] & (k < K)[None, :], other=0
        )
        right = tl.load(
            b + k[:, None] * stride_b + columns[None, :], mask=(k < K)[:, None] & (columns < N)[None, :], other=0
        )
        sums = tl.dot(left, right, sums)
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c + rows[:, None] * stride_c + columns[None, :], sums.to(c.dtype.element_ty), mask=mask)


@triton.jit
def attention(q, k, v, out, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """One head, without a mask: the sum of exponentials runs along."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        columns = start + tl.arange(0, BN)
        key = tl.load(k + columns[None, :] * D + d[:, None])
        scores = tl.dot(query, key) * scale
        new = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - new[:, None])
        factor = tl.exp(top - new)
        total = total * factor + tl.sum(weights, 1)
        value = tl.load(v + columns[:, None] * D + d[None, :])
        sums = tl.dot(weights.to(value.dtype), value, sums * factor[:, None])
        top = new
    tl.store(out + rows[:, None] * D + d[None, :], sums / total[:, None])


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((64, 4), (512, 2), (256, 4))],
    key=["n"],
    reset_to_zero=["count"],
    restore_value=["x"],
)
@triton.jit
def increment(x, count, n, BLOCK: tl.constexpr):
    """Wrong if it runs twice without a reset."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(x + i, tl.load(x + i, mask=mask) + 1, mask=mask)
    tl.atomic_add(count, tl.sum(mask.to(tl.int32), 0))


@triton.jit
def transpose(source, target, BM: tl.constexpr, BN: tl.constexpr):
    """Descriptors that the host made."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([n, m], source.load([m, n]).T)


@triton.jit
def double_tiles(source, target, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Descriptors that the kernel makes."""
    inputs = tl.make_tensor_descriptor(source, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    outputs = tl.make_tensor_descriptor(target, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    outputs.store([m, n], inputs.load([m, n]) * 2)


@triton.jit
def polynomial(tensors, factors, n, BLOCK: tl.constexpr):
    """Tuples: of pointers, and of numbers, None and a constant in another tuple."""
    x, y = tensors
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    value = tl.load(x + i, mask=mask)
    a, nothing, (b, c) = factors
    tl.static_assert(nothing is None)
    tl.store(y + i, (a * value + b) * value + c, mask=mask)


@triton.jit
def print_values(x):
    i = tl.arange(0, 2)
    tl.device_print("value:", tl.load(x + i))


@triton.jit
def histogram(x, bins, total, largest, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    value = tl.load(x + i, mask=mask, other=0)
    tl.atomic_add(bins + value, 1, mask=mask)
    # The address in each lane is the same.
    tl.atomic_add(total + i * 0, value.to(tl.float16), mask=mask)
    tl.atomic_max(largest + i * 0, value, mask=mask)


@triton.jit
def locked_sum(lock, total, x, n, BLOCK: tl.constexpr):
    """Programs wait for one another."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.sum(tl.load(x + i, mask=i < n, other=0), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + value)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def cast(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask).to(out.dtype.element_ty), mask=mask)


@triton.jit
def prefix_and_sort(x, sums, ordered, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(sums + i, tl.cumsum(value, 0))
    tl.store(ordered + i, tl.sort(value))


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask), mask=mask)


@triton.jit
def follow(pointers, out, BLOCK: tl.constexpr):
    """Reads through pointers in memory."""
    i = tl.arange(0, BLOCK)
    x = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0) * BLOCK + i, tl.load(x + i))


@triton.jit
def store_scalars(out, i8, i64, u64, flag: tl.int1, single, half: tl.float16, brain: tl.bfloat16, double: tl.float64):
    """Numbers of each width, between which the segment has gaps."""
    tl.store(out, i8.to(tl.float64))
    tl.store(out + 1, i64.to(tl.float64))
    tl.store(out + 2, u64.to(tl.float64))
    tl.store(out + 3, flag.to(tl.float64))
    tl.store(out + 4, single.to(tl.float64))
    tl.store(out + 5, half.to(tl.float64))
    tl.store(out + 6, brain.to(tl.float64))
    tl.store(out + 7, double)


@triton.jit
def add_halves(x, index, values, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(x + tl.load(index + at, at < n, 0), tl.load(values + at, at < n), at < n)


@triton.jit
def add_one_half(x, at, value):
    tl.atomic_add(x + at, value.to(x.dtype.element_ty))


@triton.jit
def swap_half(x, old, at, expected, new):
    first = tl.atomic_cas(x + at, expected.to(tl.int16), new.to(tl.int16))
    second = tl.atomic_cas(x + at, (new + 1).to(tl.int16), expected.to(tl.int16))
    tl.store(old, first)
    tl.store(old + 1, second)
