"""Launches of kernels, and what the matrix kernels compute, in double precision with a bound of the error.

Sums: |error| <= max(k, 32) 2^-24 sum |a||b|, 2^-53 for doubles, and 0 for integers.

- A chain of fused steps (f32, f64, --mfma fast) rounds once a step, by 2^-24 of a partial sum, which sum |a||b| bounds.
- The chips add f16, bf16 and fp8 in groups of 4 to 16 products. Each product of a group is cut at 2^-24 of the largest
  of them, so that all groups together lose at most 16 2^-24 sum |a||b|. Each group then loses twice 2^-24 of the sum when
  it is added: that is k / 2 at most. Both are less than k from 32 on.

Results that are operands of another product are rounded to its format. The reference rounds its own. Where the error
before reaches over the middle between two numbers, the chip may have the other one, and only there is it an error.
"""

from typing import NamedTuple

import numpy as np

import formats
from formats import draw, rounded, rounding

REFERENCES = {}
# What an operation of f32 rounds by, relative to its result.
EPS = 2.0**-24
UNIT = {"fp64": 2.0**-53}


class Exact(NamedTuple):
    """What a buffer must hold, see Launch.same."""

    array: np.ndarray
    other: np.ndarray
    where: np.ndarray | None
    payloads: bool


class Launch:
    """A launch: its grid, its arguments in order, and of some buffers what they must hold."""

    def __init__(self, variant, target):
        self.variant, self.target = variant, target
        self.types = [kind.lstrip("*") for kind in variant.types]
        self.names = variant.kernel.arg_names[: len(self.types)]
        self.arguments, self.expected, self.exact = {}, {}, {}
        # The lines that the kernel prints, in any order.
        self.printed = []
        self.grid = [1]

    def kind(self, name):
        return self.types[self.names.index(name)]

    def input(self, random, name, shape):
        """Random contents of a buffer; their values."""
        self.arguments[name], numbers = draw(random, self.kind(name), shape)
        return numbers

    def given(self, name, array):
        """These contents of a buffer; their values."""
        self.arguments[name] = array
        return formats.values(self.kind(name), array)

    def bits(self, random, name, shape):
        """Random contents of a buffer of integers, of all their values."""
        array = self.arguments[name] = formats.draw_bits(random, self.kind(name), shape)
        return array

    def same(self, name, array, other=None, where=None, payloads=False):
        """What a buffer must hold, bit for bit.

        Elements may also be those of `other`. Only elements `where` are compared. A NaN may be any NaN, except with
        `payloads`.
        """
        self.exact[name] = Exact(array, array if other is None else other, where, payloads)
        self.arguments.setdefault(name, array.shape)

    def output(self, name, expected, error):
        """What a buffer must hold after it was rounded to its format, within an error before that."""
        kind = self.kind(name)
        self.expected[name] = (kind, expected, error + rounding(kind, np.abs(expected) + error))
        # What is not written stays a NaN (--poison).
        self.arguments.setdefault(name, expected.shape)


def reference(function):
    """The reference of the kernel with the same name."""
    assert function.__name__ not in REFERENCES, f"two references of {function.__name__}"
    REFERENCES[function.__name__] = function
    return function


def uneven(launch, of=1):
    """The argument `n`: two blocks and a part of a third one, a multiple of `of` if it is not 1; and their grid."""
    block = launch.variant.constants["BLOCK"]
    launch.grid = [3]
    n = launch.arguments["n"] = (2 * block + block * 5 // 8 + (5 if of == 1 else 0)) // of * of
    return n


def bounded_cut(numbers, error):
    ends = [np.abs(cut(numbers + side * error) - cut(numbers)) for side in (-1, 1)]
    return cut(numbers), np.maximum(*ends)


def cut(numbers):
    """What gfx942's instructions for xf32 read of a float: without the low 13 bits."""
    return (numbers.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)


def product(launch, kind, a, b, a_error=0.0, b_error=0.0, k=None, precision=None):
    """A times B, and the bound of its error, of operands with errors."""
    if kind == "fp32" and precision in (None, "tf32") and launch.target == "gfx942":
        # Triton's default there. The ends of an interval are cut as well.
        a, a_error = bounded_cut(a, a_error)
        b, b_error = bounded_cut(b, b_error)
    flushed = 0.0
    if launch.target == "gfx90a":
        # Its matrix instructions read denormals as 0; fp8 is converted to f16.
        flushed = 2.0**-14 if kind == "fp16" or kind in formats.SMALL else 2.0**-126 if kind == "bf16" else 0.0
    if flushed:
        a_error = a_error + np.where(np.abs(a) < flushed, np.abs(a), 0.0)
        b_error = b_error + np.where(np.abs(b) < flushed, np.abs(b), 0.0)
    sums = np.abs(a) @ np.abs(b)
    if kind == "i8":
        return a @ b, np.zeros_like(sums)
    error = max(k or a.shape[-1], 32) * UNIT.get(kind, 2.0**-24) * sums
    if np.any(a_error):
        error = error + a_error @ (np.abs(b) + b_error)
    if np.any(b_error):
        error = error + np.abs(a) @ (b_error + np.zeros_like(b))
    return a @ b, error


def operand(kind, numbers, error):
    """The nearest number of the format, and how far from it the number is that the chip may have."""
    near = rounded(kind, numbers)
    ends = [np.abs(rounded(kind, numbers + side * error) - near) for side in (-1, 1)]
    return near, np.maximum(*ends)


def sizes(variant):
    """Rows, columns and k: two of each tile, and k of four steps; or uneven ones."""
    m, n, k = (variant.constants[name] for name in "MNK")
    if variant.even:
        return 2 * m, 2 * n, 4 * k
    return m + m // 2 - 1, n + n // 4 + 1, 2 * k + k // 2 - 1


def tiles(variant, m, n):
    return -(-m // variant.constants["M"]), -(-n // variant.constants["N"])


def operands(launch, random, m, n, k):
    """Random A and B, transposed as the kernel reads them."""
    constants = launch.variant.constants
    ta, tb = constants.get("TA"), constants.get("TB")
    a = launch.input(random, "a", (k, m) if ta else (m, k))
    b = launch.input(random, "b", (n, k) if tb else (k, n))
    launch.arguments |= {"m": m, "n": n, "k": k}
    return a.T if ta else a, b.T if tb else b


def of_operands(launch, a, b):
    """The product in the precision of the kernel."""
    kind, precision = launch.kind("a"), launch.variant.constants.get("PRECISION", "ieee")
    if precision in ("bf16x3", "bf16x6"):
        # Each operand is split into two or three of 8 bits; products of their small parts are left out.
        value, error = product(launch, kind, a, b, k=int(precision[-1]) * a.shape[1], precision=precision)
        return value, error + (3 * 2.0**-16 if precision == "bf16x3" else 5 * 2.0**-24) * (np.abs(a) @ np.abs(b))
    return product(launch, kind, a, b, precision=precision)


def gemm_of_size(launch, random, m, n, k):
    a, b = operands(launch, random, m, n, k)
    launch.grid = [int(np.prod(tiles(launch.variant, m, n)))]
    launch.output("c", *of_operands(launch, a, b))


@reference
def gemm(launch, random):
    m, n, k = sizes(launch.variant)
    if launch.variant.constants["GROUP"] > 1:
        m, n = m * 3, n * 2
    gemm_of_size(launch, random, m, n, k)


@reference
def gemm_persistent(launch, random):
    m, n, k = sizes(launch.variant)
    a, b = operands(launch, random, m * 3, n * 2, k)
    launch.grid = [3]
    launch.output("c", *of_operands(launch, a, b))


@reference
def gemm_split(launch, random):
    m, n, k = sizes(launch.variant)
    k *= launch.variant.constants["SPLIT"]
    a, b = operands(launch, random, m, n, k)
    launch.arguments["c"] = np.zeros((m, n), formats.STORAGE[launch.kind("c")][0])
    launch.grid = [*tiles(launch.variant, m, n), launch.variant.constants["SPLIT"]]
    launch.output("c", *of_operands(launch, a, b))


@reference
def gemm_epilogue(launch, random):
    m, n, k = sizes(launch.variant)
    a, b = operands(launch, random, m, n, k)
    x, y = launch.input(random, "x", (m,))[:, None], launch.input(random, "y", (n,))[None, :]
    alpha = launch.arguments["alpha"] = 0.375
    rows, columns = launch.grid = list(tiles(launch.variant, m, n))
    value, error = of_operands(launch, a, b)
    match launch.variant.constants["EPILOGUE"]:
        case "bias_relu":
            value = value + y
            error = error + np.abs(value) * 2.0**-23
            value = np.maximum(value, 0)
        case "bias_silu":
            value = value + y
            error = error + np.abs(value) * 2.0**-23
            # Its slope is below 1.1. The exponential, the sum and the quotient are right to 2^-20, and the argument of the
            # exponential loses as much again for each unit.
            error = 1.1 * error + np.abs(value) * (1 + np.abs(value)) * 2.0**-20
            value = value / (1 + np.exp(-value))
        case "scales":
            factor = x * alpha * y
            value = value * factor
            # Three products, and a conversion of integers above 2^24.
            error = error * np.abs(factor) + 4 * np.abs(value) * 2.0**-24
        case "residual":
            old = launch.input(random, "c", (m, n))
            error = alpha * error + 2 * (np.abs(alpha * value) + np.abs(old)) * 2.0**-24
            value = alpha * value + old
        case "row_sum":
            launch.arguments["c"] = np.zeros(m, np.float32)
            error = error @ np.abs(y[0]) + n * 2.0**-24 * (np.abs(value) @ np.abs(y[0]))
            value = value @ y[0]
        case "row_max":
            width = launch.variant.constants["N"]
            parts = [slice(first, first + width) for first in range(0, n, width)]
            error = np.stack([error[:, part].max(1) for part in parts], 1)
            value = np.stack([value[:, part].max(1) for part in parts], 1)
    launch.output("c", value, error)


@reference
def gemm_batched(launch, random):
    batch, m, n, k = (launch.variant.constants[name] for name in "BMNK")
    a, b = launch.input(random, "a", (2 * batch, m, k)), launch.input(random, "b", (2 * batch, k, n))
    launch.grid = [2]
    launch.output("c", *product(launch, launch.kind("a"), a, b))


@reference
def gemm_chained(launch, random):
    m, n, k = (launch.variant.constants[name] for name in "MNK")
    rows = launch.arguments["m"] = 2 * m - 5
    kind = launch.kind("a")
    a = launch.input(random, "a", (rows, k))
    # Small enough for fp8.
    b, c = launch.input(random, "b", (k, n)), launch.input(random, "c", (n, k))
    if kind in formats.SMALL:
        launch.arguments["b"] = formats.stored(kind, b / 64)
        b = formats.values(kind, launch.arguments["b"])
    between, error = product(launch, kind, a, b)
    if launch.variant.constants["RELU"]:
        between = np.maximum(between, 0)
    between, error = operand(kind, between, error)
    launch.grid = [2]
    launch.output("d", *product(launch, kind, between, c, error))


@reference
def gemm_quantized(launch, random):
    m, n, k = sizes(launch.variant)
    a = launch.input(random, "a", (m, k))
    if launch.variant.constants["BITS"] == 8:
        b = launch.input(random, "b", (k, n))
    else:
        nibbles = random.integers(0, 16, (k + k % 2, n)).astype(np.uint8)
        launch.arguments["b"] = (nibbles[::2] | nibbles[1::2] << 4).view(np.int8)
        b = nibbles[:k].astype(np.float64) - 8
    factor = launch.input(random, "scales", (n,))
    launch.arguments |= {"m": m, "n": n, "k": k}
    launch.grid = list(tiles(launch.variant, m, n))
    value, error = product(launch, launch.kind("a"), a, b)
    launch.output("c", value * factor, error * np.abs(factor) + np.abs(value * factor) * 2.0**-24)


def draw_scaled(launch, random, name, format, rows, k):
    """Random numbers of a block-scaled format, each 32 along k with a power of two; their values."""
    scale = random.integers(120, 134, (rows, k // 32)).astype(np.uint8)
    launch.arguments[f"{name}_scale"] = scale
    if format in ("bf16", "fp16"):
        return launch.input(random, name, (rows, k))
    if format == "e2m1":
        launch.arguments[name], numbers = formats.draw_packed(random, (rows, k))
    else:
        numbers = launch.input(random, name, (rows, k))
    return numbers * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1)


@reference
def gemm_scaled(launch, random):
    constants = launch.variant.constants
    m, n, _ = sizes(launch.variant)
    k = 3 * constants["K"]
    a = draw_scaled(launch, random, "a", constants["A"], m, k)
    b = draw_scaled(launch, random, "b", constants["B"], n, k)
    launch.arguments |= {"m": m, "n": n, "k": k}
    launch.grid = list(tiles(launch.variant, m, n))
    launch.output("c", *product(launch, "scaled", a, b.T))


def score_of(launch, kind, q, k, scale):
    """The scores to base 2 and their errors."""
    score, error = product(launch, kind, q, np.swapaxes(k, -1, -2))
    factor = scale * np.log2(np.e)
    return score * factor, error * factor + np.abs(score * factor) * 2.0**-22


def weight_error(weight, score, error, other, other_error):
    """Of 2 to the power of the difference: the errors of the operands, of the difference and of the power."""
    return weight * (error + other_error + (np.abs(score) + np.abs(other)) * 2.0**-23 + 2.0**-21)


def forward(launch, random, causal, heads=()):
    """The attention, the highest score and the sum of the weights, each with its error."""
    constants, kind = launch.variant.constants, launch.kind("q")
    block, width = constants["KEYS"], constants["WIDTH"]
    # Not a multiple of any block.
    length = launch.arguments["length"] = constants["QUERIES"] + block + 5
    scale = launch.arguments["scale"] = float(np.float32(width**-0.5))
    q, k, v = (launch.input(random, name, (*heads, length, width)) for name in "qkv")
    launch.grid = [-(-length // constants["QUERIES"]), *heads]
    score, error = score_of(launch, kind, q, k, scale)
    inside = np.broadcast_to(np.tri(length, dtype=bool) if causal else True, score.shape)
    score, error = np.where(inside, score, -1e30), np.where(inside, error, 0.0)
    highest, high_error = np.full((*heads, length, 1), -1e30), np.zeros((*heads, length, 1))
    total, total_error, result, result_error = 0.0, 0.0, 0.0, 0.0
    # In blocks of keys as the kernel does: weights are rounded when they are relative to the highest score so far.
    for first in range(0, length, block):
        part = np.s_[..., first : first + block]
        higher = np.maximum(highest, score[part].max(-1, keepdims=True))
        higher_error = np.maximum(high_error, error[part].max(-1, keepdims=True))
        weight = np.where(inside[part], np.exp2(score[part] - higher), 0.0)
        inexact = weight_error(weight, np.where(inside[part], score[part], 0.0), error[part], higher, higher_error)
        fade = np.exp2(highest - higher)
        faded = np.where(highest > -1e30, weight_error(fade, highest, high_error, higher, higher_error), 0.0)
        total_error = total_error * fade + total * faded + inexact.sum(-1, keepdims=True)
        total = total * fade + weight.sum(-1, keepdims=True)
        total_error = total_error + (block + 2) * 2.0**-24 * total
        narrow, narrow_error = operand(kind, weight, inexact)
        added, added_error = product(launch, kind, narrow, v[..., first : first + block, :], narrow_error)
        result_error = result_error * fade + np.abs(result) * faded + added_error
        result_error = result_error + (block + 2) * 2.0**-24 * np.abs(result * fade)
        result = result * fade + added
        highest, high_error = higher, higher_error
    value = result / total
    launch.output("out", value, (result_error + np.abs(value) * total_error) / total + np.abs(value) * 2.0**-22)
    return (highest, high_error), (total, total_error)


@reference
def flash_forward(launch, random):
    (highest, high_error), (total, total_error) = forward(launch, random, launch.variant.constants["CAUSAL"], (2,))
    lse = highest + np.log2(total)
    error = high_error + 1.5 * total_error / total + (np.abs(highest) + np.abs(np.log2(total)) + 1) * 2.0**-22
    launch.output("lse", lse[..., 0], error[..., 0])


def backward(launch, random):
    """What both kernels of the gradient compute first: weights and the gradient of the scores, as operands."""
    constants, kind = launch.variant.constants, launch.kind("q")
    width = constants["WIDTH"]
    length = launch.arguments["length"] = constants["QUERIES"] + constants["KEYS"] + 5
    scale = launch.arguments["scale"] = float(np.float32(width**-0.5))
    q, k, v, grad = (launch.input(random, name, (length, width)) for name in ("q", "k", "v", "grad"))
    score, error = score_of(launch, kind, q, k, scale)
    inside = np.broadcast_to(np.tri(length, dtype=bool) if constants["CAUSAL"] else True, score.shape)
    powers = np.where(inside, np.exp2(score), 0.0)
    lse = np.log2(powers.sum(1)).astype(np.float32)
    weight = np.where(inside, np.exp2(score - lse[:, None]), 0.0)
    weight_bound = weight_error(weight, score, error, lse[:, None].astype(np.float64), 0.0)
    delta = (grad * (weight @ v / weight.sum(1, keepdims=True))).sum(1).astype(np.float32)
    launch.arguments |= {"lse": lse, "delta": delta}
    to_weight, to_weight_error = product(launch, kind, grad, v.T)
    difference = to_weight - delta[:, None]
    to_score = weight * difference
    to_score_error = weight_bound * np.abs(difference) + weight * to_weight_error + np.abs(to_score) * 2.0**-22
    return scale, q, k, grad, (weight, weight_bound), (to_score, to_score_error)


@reference
def flash_backward_keys(launch, random):
    kind = launch.kind("q")
    scale, q, _, grad, weight, to_score = backward(launch, random)
    launch.grid = [-(-len(q) // launch.variant.constants["KEYS"])]
    to_score, to_score_error = operand(kind, *to_score)
    value, error = product(launch, kind, to_score.T, q, to_score_error.T)
    launch.output("grad_k", value * scale, error * scale + np.abs(value) * scale * 2.0**-24)
    weight, weight_bound = operand(kind, *weight)
    launch.output("grad_v", *product(launch, kind, weight.T, grad, weight_bound.T))


@reference
def flash_backward_queries(launch, random):
    kind = launch.kind("q")
    scale, q, k, _, _, to_score = backward(launch, random)
    launch.grid = [-(-len(q) // launch.variant.constants["QUERIES"])]
    to_score, to_score_error = operand(kind, *to_score)
    value, error = product(launch, kind, to_score, k, to_score_error)
    launch.output("grad_q", value * scale, error * scale + np.abs(value) * scale * 2.0**-24)


# The kernels of matrix.py.


@reference
def matmul(launch, random):
    m, n, k = sizes(launch.variant)
    # It reads whole tiles of rows and columns.
    rows, columns = tiles(launch.variant, m, n)
    m, n = rows * launch.variant.constants["M"], columns * launch.variant.constants["N"]
    a, b = operands(launch, random, m, n, k)
    launch.grid = [rows, columns]
    launch.output("c", *product(launch, launch.kind("a"), a, b))


@reference
def matmul_scaled(launch, random):
    m, n, step = (launch.variant.constants[name] for name in "MNK")
    k = launch.arguments["k"] = 3 * step
    a = draw_scaled(launch, random, "a", launch.variant.constants["FORMAT"], m, k)
    b = draw_scaled(launch, random, "b", launch.variant.constants["FORMAT"], n, k)
    launch.output("c", *product(launch, "scaled", a, b.T))


@reference
def attention(launch, random):
    forward(launch, random, True)


@reference
def gemv(launch, random):
    block, step = launch.variant.constants["ROWS"], launch.variant.constants["K"]
    rows, k = launch.arguments["rows"], launch.arguments["k"] = 2 * block + 5, 2 * step + 77
    launch.grid = [3]
    a, x = launch.input(random, "a", (rows, k)), launch.input(random, "x", (k,))
    # Sums of f32 without matrix instructions, in any order.
    launch.output("out", a @ x, 3 * step * EPS * (np.abs(a) @ np.abs(x)))
