"""What the kernels of elementwise.py compute.

Errors of functions are those that the OpenCL C specification (7.4) allows, and twice as much as the reference has some,
too. An operation of f32 rounds by 2^-24 of its result.
"""

import math

import numpy as np

import formats
from references import EPS, UNIT, reference, uneven

# One unit in the last place of f32, at most, of a number of 1.
ULP = 2 * EPS


def same_of(launch, name, numbers):
    """Numbers that are rounded once, to the format of the buffer."""
    launch.same(name, formats.stored(launch.kind(name), numbers))


@reference
def vector_add(launch, random):
    n = uneven(launch)
    # A sum in double precision has more than twice the bits of f32, so that a second rounding changes nothing. Sums of bf16
    # are computed in f32.
    total = launch.input(random, "x", (n,)) + launch.input(random, "y", (n,))
    same_of(launch, "out", total.astype(np.float32) if launch.kind("x") == "bf16" else total)


@reference
def maths(launch, random):
    n = uneven(launch)
    x = launch.input(random, "x", (n,)) * 2
    x = launch.given("x", x.astype(np.float32))
    size = np.abs(x)
    parts = [
        # The exponential is 2 to the power of a product, whose error grows with it.
        (np.exp(x), (size + 4) * ULP * np.exp(x)),
        # The sum in the logarithm is rounded.
        (np.log(size + 1), 4 * ULP * np.log(size + 1) + ULP),
        (np.sqrt(size), 3 * ULP * np.sqrt(size)),
        (np.sin(x) * np.cos(x), 9 * ULP * np.abs(np.sin(x) * np.cos(x)) + 2.0**-40),
        (1 / np.sqrt(size + 2), 4 * ULP / np.sqrt(size + 2)),
        (np.floor(x), 0.0),
        (-np.ceil(x), 0.0),
        (np.exp2(x), 4 * ULP * np.exp2(x)),
    ]
    error = sum(bound for _, bound in parts) + len(parts) * EPS * sum(np.abs(value) for value, _ in parts)
    launch.output("out", sum(value for value, _ in parts), error)


@reference
def functions(launch, random):
    n = uneven(launch)
    x = launch.input(random, "x", (n,))
    power, tanh = np.abs(x) ** x, np.tanh(x)
    erf = np.array([math.erf(one) for one in x]) / 3
    error = 2 * UNIT["fp64"] * (2 * 16 * power + 2 * 5 * np.abs(tanh) + (2 * 16 + 1) * np.abs(erf) + 2)
    launch.output("out", power + tanh + erf, error)


@reference
def gelu(launch, random):
    n = uneven(launch)
    x = launch.given("x", (2 * random.standard_normal(n)).astype(np.float16))
    inner = 0.7978845608 * (x + 0.044715 * x**3)
    sigmoid = 1 / (1 + np.exp(-2 * inner))
    # The argument of the sigmoid has a relative error of six roundings; its slope is sigmoid (1 - sigmoid). Then 1 is
    # added and taken away again, so that a result near 0 has the error of a number of 2.
    error = np.abs(x) * (12 * EPS * np.abs(inner) * sigmoid * (1 - sigmoid) + 8 * EPS * sigmoid + 4 * EPS)
    launch.output("out", x * sigmoid, error)


@reference
def rotary(launch, random):
    half = launch.variant.constants["HALF"]
    rows, angles = launch.grid = [3, 2]
    stride = launch.arguments["stride"] = 2 * half + 10
    x = launch.input(random, "x", (rows, stride))
    cosine, sine = (launch.input(random, name, (angles, half)) for name in ("cosines", "sines"))
    launch.arguments["out"] = launch.arguments["x"].copy()
    # All angles of a row write the same elements, so they are made the same.
    for name in ("cosines", "sines"):
        launch.arguments[name][1] = launch.arguments[name][0]
    cosine, sine = cosine[0], sine[0]
    left, right = x[:, :half], x[:, half : 2 * half]
    out, error = x.copy(), np.zeros_like(x)
    out[:, :half], out[:, half : 2 * half] = left * cosine - right * sine, right * cosine + left * sine
    error[:, :half] = 3 * EPS * (np.abs(left * cosine) + np.abs(right * sine))
    error[:, half : 2 * half] = 3 * EPS * (np.abs(right * cosine) + np.abs(left * sine))
    launch.output("out", out, error)


def philox(seed, offset):
    """Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3") of counters (offset, 0, 0, 0)."""
    low = np.uint64(0xFFFFFFFF)
    zero = np.zeros(len(offset), np.uint64)
    c = [offset.astype(np.uint64), zero, zero, zero]
    k = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(second >> np.uint64(32)) ^ c[1] ^ k[0], second & low, (first >> np.uint64(32)) ^ c[3] ^ k[1], first & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return [one.astype(np.uint32) for one in c]


def uniform(words):
    """Triton's numbers below 1 of random words: negative ones complemented, and scaled, each rounded to f32."""
    numbers = words.view(np.int32)
    numbers = np.where(numbers < 0, ~numbers, numbers)
    return numbers.astype(np.float32) * np.float32(4.6566127342e-10)


@reference
def dropout(launch, random):
    n = uneven(launch)
    rate = launch.arguments["rate"] = float(np.float32(0.3))
    seed = launch.arguments["seed"] = 1234567
    x = launch.input(random, "x", (n,))
    kept = uniform(philox(seed, np.arange(n))[0]) > np.float32(rate)
    scale = np.float64(np.float32(1) - np.float32(rate))
    # A division of f32 has 2.5 units.
    launch.output("out", np.where(kept, x / scale, 0.0), np.where(kept, 5 * EPS * np.abs(x / scale), 0.0))


@reference
def random_normal(launch, random):
    n = uneven(launch)
    seed = launch.arguments["seed"] = 987654
    first, second, _, _ = philox(seed, np.arange(n))
    first = np.maximum(np.float32(1e-7), uniform(first)).astype(np.float64)
    # The angle is a product of f32.
    angle = (np.float32(6.283185307179586) * uniform(second)).astype(np.float64)
    logarithm = np.log(first)
    radius = np.sqrt(-2 * logarithm)
    # 4 units of the logarithm are halved by the root, which has 3 units of its own. Near 1, the logarithm is small, but
    # computed by a polynomial and a sum with the exponent's: half a unit of 1. The cosine has 4 units.
    slope = 1 / np.maximum(radius, 1e-6)
    error = np.abs(np.cos(angle)) * (radius * 8 * ULP + slope * EPS) + radius * (4 * ULP * np.abs(np.cos(angle)) + 2.0**-40)
    launch.output("out", radius * np.cos(angle), error)


def quotient(left, right):
    """The quotient as in C, which is cut, and its remainder."""
    one = left.dtype.type(1)
    floor = np.where(right == 0, left, left // np.where(right == 0, one, right))
    remainder = left - floor * right
    up = (remainder != 0) & ((left < 0) != (right < 0))
    cut = floor + up.astype(left.dtype)
    return cut, left - cut * right


@reference
def integers(launch, random):
    n = uneven(launch)
    left, right = launch.bits(random, "x", (n,)), launch.bits(random, "y", (n,))
    # Small divisors beside large ones.
    right[::3] = right[::3] % 19
    kind = left.dtype.type
    with np.errstate(over="ignore"):
        cut, remainder = quotient(left, right | kind(1))
        result = (cut * kind(3) + remainder) ^ ((left << kind(2)) & (right >> kind(1)))
        launch.same("out", np.maximum(result, left) - np.minimum(left, right))


@reference
def quantise(launch, random):
    n = uneven(launch)
    block = launch.variant.constants["BLOCK"]
    x = launch.input(random, "x", (n,))
    scale = np.array([np.abs(x[first : first + block]).max() for first in range(0, n, block)]) / 127
    launch.output("scales", scale, 5 * EPS * scale)
    value = x / np.repeat(scale, block)[:n]
    # Both divisions have 2.5 units. If an integer is as near, the number may be cut to the one before.
    near = np.abs(value - np.rint(value)) <= 10 * EPS * np.abs(value)
    launch.output("out", np.trunc(value), near.astype(np.float64))


@reference
def dequantise(launch, random):
    n = uneven(launch, 32)
    packed = launch.bits(random, "packed", (n,))
    scale = np.repeat(launch.input(random, "scales", (n // 32 + 1,)), 32)[:n]
    # Products of 15 bits, which are rounded once.
    out = np.stack([((packed & 15) - 8.0) * scale, ((packed >> 4) - 8.0) * scale], 1)
    same_of(launch, "out", out.reshape(-1))


@reference
def to_fp8(launch, random):
    n = uneven(launch)
    x = launch.input(random, "x", (n,))
    codes = formats.stored("fp8e5", x)
    launch.same("out", codes)
    launch.same("back", formats.values("fp8e5", codes).astype(np.float32))
