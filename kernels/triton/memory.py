"""Kernels that move data: gathers, transposes, atomics, caches."""

import triton
import triton.language as tl

from variants import variant


@variant("transpose_f32", "*fp32 *fp32 i32 i32", TILE=32)
@variant("transpose_f16", "*fp16 *fp16 i32 i32", TILE=64)
@variant("transpose_i8", "*i8 *i8 i32 i32", TILE=64)
@triton.jit
def transpose(x, out, rows, columns, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    tile = tl.load(x + row[:, None] * columns + column[None, :], mask=(row[:, None] < rows) & (column[None, :] < columns))
    inside = (column[:, None] < columns) & (row[None, :] < rows)
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(tile), mask=inside)


@variant("embedding", "*i32 *fp16 *fp16 i32", BLOCK=256)
@triton.jit
def embedding(ids, table, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(ids + row).to(tl.int64)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(table + index * width + at, mask=at < width, cache_modifier=".cg")
        tl.store(out + row * width + at, value, mask=at < width, cache_modifier=".wt")


@variant("gather_tile", "*fp32 *i32 *fp32", ROWS=32, COLUMNS=64)
@triton.jit
def gather_tile(x, index, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@variant("atomics_f32", "*fp32 *i32 *fp32 i32", BLOCK=256)
@variant("atomics_f16", "*fp16 *i32 *fp16 i32", BLOCK=256)
@triton.jit
def atomics(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    place = tl.load(index + at, mask=inside, other=0)
    tl.atomic_add(out + place, tl.load(x + at, mask=inside, other=0.0), mask=inside)


@variant("atomics_i32", "*i32 *i32 i32", BLOCK=128)
@variant("atomics_i64", "*i64 *i64 i32", BLOCK=128)
@triton.jit
def atomics_integer(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0)
    old = tl.atomic_max(out + at, value, mask=inside) + tl.atomic_xchg(out + n + at, value, mask=inside)
    old ^= tl.atomic_and(out + 2 * n + at, value, mask=inside, sem="release")
    old ^= tl.atomic_cas(out + 3 * n + at, old, value, sem="acquire", scope="sys")
    tl.store(out + 4 * n + at, old, mask=inside)


@variant("spin_lock", "*i32 *fp32 *fp32", BLOCK=256)
@triton.jit
def spin_lock(lock, x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + at, tl.load(out + at, volatile=True) + value)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@variant("interleave", "*fp16 *fp16 *fp16", BLOCK=512)
@triton.jit
def interleave(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK), tl.interleave(tl.load(x + at), tl.load(y + at)))


@variant("convolution", "*fp32 *fp32 *fp32 i32 i32", TAPS=7, BLOCK=256)
@triton.jit
def convolution(x, taps, out, n, stride, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        place = at * stride + tap - TAPS // 2
        total += tl.load(taps + tap) * tl.load(x + place, mask=(place >= 0) & (place < n), other=0.0)
    tl.store(out + at, total, mask=at < n)


@triton.jit(noinline=True)
def apart(value, scale):
    return value * scale + value % 7


@variant("called_function", "*i32 *i32 i32", BLOCK=128)
@triton.jit
def called_function(x, out, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + apart(tl.program_id(0), scale))


@variant("checked", "*i32 *i32 i32", BLOCK=64)
@triton.jit
def checked(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.device_print("value", value)
    tl.store(out + at, value)
