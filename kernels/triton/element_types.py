"""Kernels of one operation, or of a few, in every element type that Triton has for it.

The tables below say which types an operation has. What Triton refuses is in the tables, too, with its message: a variant
that compiles although it should be refused is an error of compile.py.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

from variants import add

SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["fp16", "bf16", "fp32", "fp64"]
SMALL_FLOATS = ["fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"]
NUMBERS = ["i1"] + INTEGERS + FLOATS
ALL = NUMBERS + SMALL_FLOATS
BLOCK = 1024


def table(kernel, name, types, signature, **constants):
    """A variant of the kernel for each type, which is T in the signature; S is the type of sums."""
    for kind in types:
        # Small integers become 32 bits wide.
        total = {"i1": "u32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}.get(kind, kind)
        add(kernel, f"{name}_{kind}", signature.replace("S", total).replace("T", kind), **constants)


# Moves, which keep every bit.


@triton.jit
def masked_copy(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=(at < n) & (at % 3 != 1), other=0.0)
    tl.store(out + at, value, mask=(at < n) & (at % 5 != 2))
    # Neighbours that one access may load, and elements with a stride.
    tl.store(y + 2 * at + 1, tl.load(y + 2 * at, mask=at < n), mask=at < n)


@triton.jit
def select(condition, x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)
    tl.store(out + at, tl.where(tl.load(condition + at, mask=inside), left, right), mask=inside)


@triton.jit
def gather_rows(x, index, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 1))


@triton.jit
def rearrange(x, y, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    left, right = tl.load(x + at), tl.load(y + at)
    # Pairs along the columns, transposed.
    tile = tl.trans(tl.interleave(left, right))
    to = tl.arange(0, 2 * COLUMNS)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
    tl.store(out + to, tile)


table(masked_copy, "masked_copy", ALL, "*T *T *T i32", BLOCK=BLOCK)
table(select, "select", ALL, "*i1 *T *T *T i32", BLOCK=BLOCK)
table(gather_rows, "gather_rows", ALL, "*T *i32 *T", ROWS=16, COLUMNS=64)
table(rearrange, "rearrange", ALL, "*T *T *T", ROWS=32, COLUMNS=16)


# Operations of two numbers.


@triton.jit
def arithmetic(x, y, sums, differences, products, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)
    tl.store(sums + at, left + right, mask=inside)
    tl.store(differences + at, left - right, mask=inside)
    tl.store(products + at, left * right, mask=inside)


@triton.jit
def division(x, y, quotients, remainders, n, INTEGER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside, other=1.0)
    tl.store(quotients + at, left // right if INTEGER else left / right, mask=inside)
    tl.store(remainders + at, left % right, mask=inside)


@triton.jit
def extremes(x, y, lowest, highest, lowest_nan, highest_nan, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)
    tl.store(lowest + at, tl.minimum(left, right), mask=inside)
    tl.store(highest + at, tl.maximum(left, right), mask=inside)
    tl.store(lowest_nan + at, tl.minimum(left, right, propagate_nan=tl.PropagateNan.ALL), mask=inside)
    tl.store(highest_nan + at, tl.maximum(left, right, propagate_nan=tl.PropagateNan.ALL), mask=inside)


@triton.jit
def comparisons(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)
    bits = (left == right).to(tl.int32) + (left != right).to(tl.int32) * 2 + (left < right).to(tl.int32) * 4
    bits += (left <= right).to(tl.int32) * 8 + (left > right).to(tl.int32) * 16 + (left >= right).to(tl.int32) * 32
    tl.store(out + at, bits, mask=inside)


@triton.jit
def bitwise(x, y, both, either, one, neither, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)
    tl.store(both + at, left & right, mask=inside)
    tl.store(either + at, left | right, mask=inside)
    tl.store(one + at, left ^ right, mask=inside)
    tl.store(neither + at, ~left, mask=inside)


@triton.jit
def shifts(x, amount, left, right, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value, by = tl.load(x + at, mask=inside), tl.load(amount + at, mask=inside)
    tl.store(left + at, value << by, mask=inside)
    tl.store(right + at, value >> by, mask=inside)


@triton.jit
def high_products(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.umulhi(tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)), mask=inside)


table(arithmetic, "arithmetic", NUMBERS, "*T *T *T *T *T i32", BLOCK=BLOCK)
table(division, "division", INTEGERS, "*T *T *T *T i32", INTEGER=True, BLOCK=BLOCK)
table(division, "division", FLOATS + SMALL_FLOATS, "*T *T *T *T i32", INTEGER=False, BLOCK=BLOCK)
table(extremes, "extremes", NUMBERS, "*T *T *T *T *T *T i32", BLOCK=BLOCK)
table(comparisons, "comparisons", NUMBERS, "*T *T *i32 i32", BLOCK=BLOCK)
table(bitwise, "bitwise", ["i1"] + INTEGERS, "*T *T *T *T *T *T i32", BLOCK=BLOCK)
table(shifts, "shifts", INTEGERS, "*T *T *T *T i32", BLOCK=BLOCK)
table(high_products, "high_products", ["i32", "u32", "i64", "u64"], "*T *T *T i32", BLOCK=BLOCK)


# Operations of one number.


@triton.jit
def signs(x, negative, absolute, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    tl.store(negative + at, -value, mask=inside)
    tl.store(absolute + at, tl.abs(value), mask=inside)


@triton.jit
def roundings(x, y, z, down, up, even, fused, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    tl.store(down + at, tl.floor(value), mask=inside)
    tl.store(up + at, tl.ceil(value), mask=inside)
    tl.store(even + at, libdevice.rint(value), mask=inside)
    tl.store(fused + at, tl.fma(value, tl.load(y + at, mask=inside), tl.load(z + at, mask=inside)), mask=inside)


@triton.jit
def precise(x, y, quotients, roots, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    tl.store(quotients + at, tl.div_rn(value, tl.load(y + at, mask=inside)), mask=inside)
    tl.store(roots + at, tl.sqrt_rn(value), mask=inside)


@triton.jit
def elementary(x, exp, exp2, log, log2, sin, cos, sqrt, rsqrt, erf, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=1.0)
    tl.store(exp + at, tl.exp(value), mask=inside)
    tl.store(exp2 + at, tl.exp2(value), mask=inside)
    tl.store(log + at, tl.log(value), mask=inside)
    tl.store(log2 + at, tl.log2(value), mask=inside)
    tl.store(sin + at, tl.sin(value), mask=inside)
    tl.store(cos + at, tl.cos(value), mask=inside)
    tl.store(sqrt + at, tl.sqrt(value), mask=inside)
    tl.store(rsqrt + at, tl.rsqrt(value), mask=inside)
    tl.store(erf + at, tl.erf(value), mask=inside)


table(signs, "signs", NUMBERS, "*T *T *T i32", BLOCK=BLOCK)
table(roundings, "roundings", ["fp32", "fp64"], "*T *T *T *T *T *T *T i32", BLOCK=BLOCK)
table(precise, "precise", ["fp32"], "*T *T *T *T i32", BLOCK=BLOCK)
table(precise, "precise", ["fp16", "bf16", "fp64"], "*T *T *T *T i32", BLOCK=BLOCK, refused="Expected dtype ['fp32']")
table(elementary, "elementary", ["fp32", "fp64"], "*T *T *T *T *T *T *T *T *T *T i32", BLOCK=BLOCK)


# Conversions. A kernel writes one buffer for each type of a group.


@triton.jit
def store_as(out, at, value, inside, ROUNDING: tl.constexpr):
    tl.store(out + at, value.to(out.dtype.element_ty, fp_downcast_rounding=ROUNDING), mask=inside)


@triton.jit
def to_one(x, a, n, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    store_as(a, at, tl.load(x + at, mask=at < n), at < n, ROUNDING)


@triton.jit
def to_three(x, a, b, c, n, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    store_as(a, at, value, at < n, ROUNDING)
    store_as(b, at, value, at < n, ROUNDING)
    store_as(c, at, value, at < n, ROUNDING)


@triton.jit
def to_four(x, a, b, c, d, n, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    store_as(a, at, value, at < n, ROUNDING)
    store_as(b, at, value, at < n, ROUNDING)
    store_as(c, at, value, at < n, ROUNDING)
    store_as(d, at, value, at < n, ROUNDING)


@triton.jit
def bit_cast(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty, bitcast=True), mask=at < n)


def conversions(source, group, kinds, rounding=None, **keywords):
    kernel = {1: to_one, 3: to_three, 4: to_four}[len(kinds)]
    signature = " ".join(f"*{kind}" for kind in [source, *kinds]) + " i32"
    add(kernel, f"{source}_to_{group}", signature, ROUNDING=rounding, BLOCK=BLOCK, **keywords)


for source in NUMBERS:
    conversions(source, "signed", SIGNED)
    conversions(source, "unsigned", UNSIGNED)
    conversions(source, "floats", FLOATS)
    conversions(source, "i1", ["i1"])
for source in ("fp16", "bf16", "fp32"):
    conversions(source, "small_floats", SMALL_FLOATS)
for source in SMALL_FLOATS:
    conversions(source, "floats", ["fp16", "bf16", "fp32"])
for target in ("fp16", "bf16", "fp8e5"):
    conversions("fp32", f"{target}_to_zero", [target], "rtz")
conversions("fp16", "fp8e5_to_zero", ["fp8e5"], "rtz")
for pair in "i8 fp8e4nv, u8 fp8e5, fp8e4b8 i8, fp8e5b16 u8, i16 fp16, bf16 u16, u32 fp32, fp32 i32, i64 fp64".split(", "):
    source, target = pair.split()
    add(bit_cast, f"{source}_as_{target}", f"*{source} *{target} i32", BLOCK=BLOCK)
for source in ["i1"] + INTEGERS:
    conversions(source, "fp8e5", ["fp8e5"], refused="cannot cast")
for source in SMALL_FLOATS:
    conversions(source, "i32", ["i32"], refused="cannot cast")
    conversions(source, "fp64", ["fp64"], refused="PassManager::run failed")
    conversions("fp64", source, [source], refused="PassManager::run failed")


# Reductions, scans, sorting.


@triton.jit
def reductions(x, sums, down, highest, lowest, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + row[:, None] * COLUMNS + column[None, :])
    tl.store(sums + row, tl.sum(tile, axis=1))
    tl.store(down + column, tl.sum(tile, axis=0))
    tl.store(highest + row, tl.max(tile, axis=1))
    tl.store(lowest + row, tl.min(tile, axis=1))


@triton.jit
def positions(x, first, last, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + row[:, None] * COLUMNS + column[None, :])
    tl.store(first + row, tl.argmax(tile, axis=1))
    tl.store(last + row, tl.argmin(tile, axis=1))


@triton.jit
def bit_reductions(x, one, either, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + row[:, None] * COLUMNS + column[None, :])
    tl.store(one + row, tl.xor_sum(tile, axis=1))
    tl.store(either + column, tl.reduce_or(tile, axis=0))


@triton.jit
def larger(left, right):
    return tl.maximum(left, right)


@triton.jit
def scans(x, sums, backwards, products, highest, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tile = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(tile, axis=1))
    tl.store(backwards + at, tl.cumsum(tile, axis=0, reverse=True))
    tl.store(products + at, tl.cumprod(tile, axis=1))
    tl.store(highest + at, tl.associative_scan(tile, 1, larger))


@triton.jit
def sorts(x, up, down, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tile = tl.load(x + at)
    tl.store(up + at, tl.sort(tile))
    tl.store(down + at, tl.sort(tile, descending=True))


table(reductions, "reductions", NUMBERS, "*T *S *S *T *T", ROWS=16, COLUMNS=64)
table(positions, "positions", NUMBERS, "*T *i32 *i32", ROWS=16, COLUMNS=64)
table(bit_reductions, "bit_reductions", ["i1"] + INTEGERS, "*T *T *T", ROWS=8, COLUMNS=128)
table(scans, "scans", NUMBERS, "*T *S *S *S *T", ROWS=16, COLUMNS=32)
table(sorts, "sorts", NUMBERS, "*T *T *T", ROWS=4, COLUMNS=32)


# Atomics: distinct elements, whose old contents are stored, and elements that many lanes meet at.


@triton.jit
def atomic_sums(x, out, shared, old, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    tl.store(old + at, tl.atomic_add(out + at, value, mask=inside), mask=inside)
    tl.atomic_add(shared + at % 8, value, mask=inside)


@triton.jit
def atomic_extremes(x, highest, lowest, shared, old, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    tl.store(old + at, tl.atomic_max(highest + at, value, mask=inside), mask=inside)
    tl.store(old + n + at, tl.atomic_min(lowest + at, value, mask=inside), mask=inside)
    tl.atomic_max(shared + at % 8, value, mask=inside)
    tl.atomic_min(shared + 8 + at % 8, value, mask=inside)


@triton.jit
def atomic_bits(x, both, either, one, shared, old, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    tl.store(old + at, tl.atomic_and(both + at, value, mask=inside), mask=inside)
    tl.store(old + n + at, tl.atomic_or(either + at, value, mask=inside), mask=inside)
    tl.store(old + 2 * n + at, tl.atomic_xor(one + at, value, mask=inside), mask=inside)
    tl.atomic_and(shared + at % 8, value, mask=inside)
    tl.atomic_or(shared + 8 + at % 8, value, mask=inside)
    tl.atomic_xor(shared + 16 + at % 8, value, mask=inside)


@triton.jit
def atomic_exchanges(x, y, out, swapped, old, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expected, value = tl.load(x + at), tl.load(y + at)
    tl.store(old + at, tl.atomic_xchg(out + at, value))
    tl.store(old + n + at, tl.atomic_cas(swapped + at, expected, value))


@triton.jit
def atomic_swaps(x, y, swapped, old, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(old + at, tl.atomic_cas(swapped + at, tl.load(x + at), tl.load(y + at)))


WIDE = ["i32", "u32", "i64", "u64"]
table(atomic_sums, "atomic_sums", WIDE + FLOATS, "*T *T *T *T i32", BLOCK=256)
table(atomic_extremes, "atomic_extremes", WIDE + ["fp32", "fp64"], "*T *T *T *T *T i32", BLOCK=256)
table(atomic_bits, "atomic_bits", WIDE, "*T *T *T *T *T *T i32", BLOCK=256)
table(atomic_exchanges, "atomic_exchanges", WIDE + ["fp32", "fp64"], "*T *T *T *T *T i32", BLOCK=256)
table(atomic_swaps, "atomic_swaps", ["i16", "u16", "fp16", "bf16"], "*T *T *T *T i32", BLOCK=256)
NARROW = ["i1", "i8", "i16", "u8", "u16"] + SMALL_FLOATS
table(atomic_sums, "atomic_sums", NARROW, "*T *T *T *T i32", BLOCK=256, refused="atomic_add does not support")
table(atomic_extremes, "atomic_extremes", NARROW + ["fp16", "bf16"], "*T *T *T *T *T i32", BLOCK=256,
      refused="atomic_max does not support")
table(atomic_bits, "atomic_bits", NARROW + ["fp16", "bf16"], "*T *T *T *T *T *T i32", BLOCK=256,
      refused="atomic_and does not support")
table(atomic_bits, "atomic_bits", ["fp32", "fp64"], "*T *T *T *T *T *T i32", BLOCK=256,
      refused="PassManager::run failed")
table(atomic_exchanges, "atomic_exchanges", NARROW, "*T *T *T *T *T i32", BLOCK=256, refused="atomic_xchg does not support")
table(atomic_swaps, "atomic_swaps", ["i1", "i8", "u8"] + SMALL_FLOATS, "*T *T *T *T i32", BLOCK=256,
      refused="elements with width {16, 32, 64}")

# Of 8-bit floats, Triton has moves, conversions and divisions, which are those of f32. LLVM has no operations of them.
for kernel, signature, constants in (
    (arithmetic, "*T *T *T *T *T i32", {"BLOCK": BLOCK}),
    (extremes, "*T *T *T *T *T *T i32", {"BLOCK": BLOCK}),
    (comparisons, "*T *T *i32 i32", {"BLOCK": BLOCK}),
    (signs, "*T *T *T i32", {"BLOCK": BLOCK}),
    (reductions, "*T *T *T *T *T", {"ROWS": 16, "COLUMNS": 64}),
    (positions, "*T *i32 *i32", {"ROWS": 16, "COLUMNS": 64}),
    (scans, "*T *T *T *T *T", {"ROWS": 16, "COLUMNS": 32}),
    (sorts, "*T *T *T", {"ROWS": 4, "COLUMNS": 32}),
):
    table(kernel, kernel.__name__, SMALL_FLOATS, signature, refused="PassManager::run failed", **constants)


# Products of matrices, of one tile. Without matrix instructions, gfx906 multiplies and adds.


@triton.jit
def product(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(x + m[:, None] * K + k[None, :])
    right = tl.load(y + k[:, None] * N + n[None, :])
    tile = tl.dot(left, right, out_dtype=out.dtype.element_ty, input_precision="ieee")
    tl.store(out + m[:, None] * N + n[None, :], tile)


table(product, "product", ["u8"], "*T *T *i32", M=32, N=32, K=64, refused="only int8 supported")
table(product, "product", ["i16", "i32", "i64", "u16", "u32", "u64"], "*T *T *T", M=32, N=32, K=64,
      refused="Unsupported lhs dtype")
for kind in ["i8", *FLOATS, *SMALL_FLOATS]:
    to = {"i8": "i32", "fp64": "fp64"}.get(kind, "fp32")
    add(product, f"product_{kind}", f"*{kind} *{kind} *{to}", M=32, N=32, K=64)
