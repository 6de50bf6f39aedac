"""What the kernels of element_types.py compute, from the definitions of the formats.

NumPy computes integers, f16, f32 and f64; ml_dtypes has the other formats. Operations of f16 and bf16 are those of f32,
rounded to the format. Edge values are beside random ones: zeros, denormals, infinities, NaNs, the largest and smallest
numbers, and numbers around the limits of other formats.

Not compared: conversions of floats to integers beyond their range and of NaNs, which LLVM leaves undefined; and operations
of integers that Triton leaves undefined, such as divisions by 0 and shifts by more than the width.
"""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np

import formats
from references import EPS, REFERENCES, UNIT, reference
from references import product as matrix_product

DTYPES = {
    "bf16": ml_dtypes.bfloat16, "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz, "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}
COUNT = 6000


def is_integer(kind):
    return kind[0] in "iu"


def numbers(kind, stored):
    """A buffer as an array of numbers."""
    return stored.view(DTYPES[kind]) if kind in DTYPES else stored


def stored(kind, array):
    """An array of numbers as the contents of a buffer."""
    return array.view(formats.STORAGE[kind][0]) if kind in DTYPES else array


def edges(kind):
    """Contents that are at a limit of this format, or of another one."""
    if kind == "i1":
        return np.array([0, 1], np.uint8)
    if is_integer(kind):
        info = np.iinfo(formats.STORAGE[kind][0])
        found = {0, 1, 2, 3, 5, 7, 10, 100, -1, -2, -3, -7, info.min, info.min + 1, info.max, info.max - 1}
        found |= {sign * 2**bit + side for bit in range(3, info.bits) for sign in (-1, 1) for side in (-1, 0, 1)}
        return np.array(sorted(one for one in found if info.min <= one <= info.max), formats.STORAGE[kind][0])
    info = ml_dtypes.finfo(DTYPES.get(kind, formats.STORAGE[kind][0]))
    least, normal, most = float(info.smallest_subnormal), float(info.smallest_normal), float(info.max)
    found = [0.0, least, 3 * least, normal - least, normal, normal + least, 0.5, 1.0, 1.0 + float(info.eps), 1.5, 2.0]
    found += [2.5, 3.0, 3.5, 0.1, math.pi, 10.0, 127.5, 1000.5, most, most * (1 - float(info.eps)), math.inf, math.nan]
    if kind in ("fp16", "bf16", "fp32", "fp64"):
        # The largest numbers of 8-bit formats, the middles to what follows, and the same of f16.
        found += [240.0, 247.0, 248.0, 249.0, 448.0, 463.0, 464.0, 465.0, 480.0, 57344.0, 61439.0, 61440.0, 61441.0]
        found += [65504.0, 65519.0, 65520.0, 2.0**15, 2.0**16]
        # Multiples of a quarter of the smallest 8-bit numbers, and of f16's.
        found += [part * 2.0**power for part in range(1, 18) for power in (-12, -13, -18, -19, -26)]
    if kind in ("fp32", "fp64"):
        found += [3.3895313892515355e38, 2.0**31 - 128, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 2.0**-126, 2.0**-133, 2.0**-134]
    with np.errstate(over="ignore"):
        values = np.array(found, np.float64).astype(DTYPES.get(kind, formats.STORAGE[kind][0]))
        return stored(kind, np.concatenate([values, -values]))


def draw(random, kind, count=COUNT):
    """So many contents: edge values, or all if there are few, and random ones."""
    if kind == "i1":
        return random.integers(0, 2, count).astype(np.uint8)
    least = edges(kind)
    if kind in formats.SMALL or kind in ("i8", "u8"):
        least = np.arange(256).astype(np.uint8).view(formats.STORAGE[kind][0])
    if len(least) > count // 2:
        least = random.permutation(least)[: count // 2]
    rest = count - len(least)
    parts = [least, formats.draw_bits(random, kind, (rest // 2,))]
    if is_integer(kind):
        parts.append(random.integers(0, 100, rest - rest // 2).astype(formats.STORAGE[kind][0]))
    else:
        scale = 2.0 ** random.integers(-12, 18, rest - rest // 2)
        parts.append(formats.stored(kind, random.standard_normal(rest - rest // 2) * scale))
    return np.concatenate(parts)


def all_or_drawn(random, kind):
    """Everything that fits into 16 bits; a selection of wider formats."""
    if formats.STORAGE[kind][0](0).itemsize == 2:
        return np.arange(1 << 16).astype(np.uint16).view(formats.STORAGE[kind][0])
    return draw(random, kind)


def drawn_pairs(random, kind):
    """Pairs of contents: all of 8 bits, or all pairs of edge values and random ones."""
    if kind == "i1":
        return [draw(random, kind), draw(random, kind)]
    if kind in ("i8", "u8") or kind in formats.SMALL:
        every = np.arange(1 << 16)
        return [part.astype(np.uint8).view(formats.STORAGE[kind][0]) for part in (every & 255, every >> 8)]
    least = edges(kind)
    if is_integer(kind):
        least = least[:: max(1, len(least) // 64)]
    else:
        # Both signs of the limits of the format itself, which come first; some of the others.
        negative = len(least) // 2
        least = np.concatenate([least[:23], least[negative : negative + 23], least[23:negative:3], least[negative + 23 :: 7]])
    grid = np.meshgrid(least, least)
    others = [random.permutation(draw(random, kind, 3000)) for _ in range(2)]
    return [np.concatenate([grid[side].reshape(-1), others[side]]) for side in range(2)]


def inputs(launch, random, draws, *names):
    """Contents of buffers, as numbers. Blocks cover them, and a part of the last one is left out."""
    found = draws(random, launch.kind(names[0]))
    found = found if isinstance(found, list) else [found]
    for name, array in zip(names, found):
        launch.arguments[name] = array
    count = launch.arguments["n"] = len(found[0])
    launch.grid = [-(-count // launch.variant.constants["BLOCK"])]
    found = [numbers(launch.kind(name), array) for name, array in zip(names, found)]
    return found if len(names) > 1 else found[0]


def wide(kind, *arrays):
    """Numbers in the format that they are computed in."""
    return [array.astype(np.float32) if kind in ("fp16", "bf16", *formats.SMALL) else array for array in arrays]


def narrow(launch, name, values, *others):
    """What a buffer holds of results, rounded to its format; or of other ones that are allowed, too."""
    kind = launch.kind(name)
    if kind in formats.SMALL:
        launch.same(name, *to_small(kind, launch.target, values))
        return
    if kind == "i1":
        values = values & 1
    with np.errstate(all="ignore"):
        kept = [stored(kind, array.astype(DTYPES.get(kind, formats.STORAGE[kind][0]))) for array in (values, *others)]
        launch.same(name, *kept)


# Moves.


def moved(launch, random, name, shape):
    array = draw(random, launch.kind(name), int(np.prod(shape))).reshape(shape)
    launch.arguments[name] = array
    return array


@reference
def masked_copy(launch, random):
    n = launch.arguments["n"] = 2 * launch.variant.constants["BLOCK"] + 333
    launch.grid = [3]
    x = moved(launch, random, "x", (n,))
    pairs = moved(launch, random, "y", (n, 2))
    at = np.arange(n)
    old = launch.arguments["out"] = x[::-1].copy()
    launch.same("out", np.where(at % 5 == 2, old, np.where(at % 3 == 1, 0, x)).astype(x.dtype), payloads=True)
    launch.same("y", np.stack([pairs[:, 0]] * 2, 1), payloads=True)


@reference
def select(launch, random):
    n = launch.arguments["n"] = 2 * launch.variant.constants["BLOCK"] + 335
    launch.grid = [3]
    condition = moved(launch, random, "condition", (n,))
    x, y = (moved(launch, random, name, (n,)) for name in "xy")
    launch.same("out", np.where(condition != 0, x, y), payloads=True)


def shape(launch):
    return launch.variant.constants["ROWS"], launch.variant.constants["COLUMNS"]


@reference
def gather_rows(launch, random):
    rows, columns = shape(launch)
    x = moved(launch, random, "x", (rows, columns))
    index = launch.arguments["index"] = random.integers(0, columns, (rows, columns)).astype(np.int32)
    launch.same("out", np.take_along_axis(x, index, 1), payloads=True)


@reference
def rearrange(launch, random):
    pair = [moved(launch, random, name, shape(launch)) for name in "xy"]
    launch.same("out", np.stack(pair, 2).reshape(len(pair[0]), -1).T.copy(), payloads=True)


# Operations of two numbers.


@reference
def arithmetic(launch, random):
    kind = launch.kind("x")
    x, y = wide(kind, *inputs(launch, random, drawn_pairs, "x", "y"))
    with np.errstate(all="ignore"):
        narrow(launch, "sums", x + y)
        narrow(launch, "differences", x - y)
        narrow(launch, "products", x * y)


@reference
def division(launch, random):
    kind = launch.kind("x")
    x, y = inputs(launch, random, drawn_pairs, "x", "y")
    if is_integer(kind):
        one = x.dtype.type(1)
        overflows = (y == x.dtype.type(-1)) & (x == np.iinfo(x.dtype).min) if kind[0] == "i" else False
        y[:] = np.where((y == 0) | overflows, one, y)
        # As in C: cut towards zero.
        cut = x // y
        cut += ((x - cut * y != 0) & ((x < 0) != (y < 0))).astype(x.dtype)
        narrow(launch, "quotients", cut)
        narrow(launch, "remainders", x - cut * y)
        return
    # Triton divides as f32 what is smaller.
    x, y = wide(kind, x, y)
    with np.errstate(all="ignore"):
        narrow(launch, "quotients", x / y)
        narrow(launch, "remainders", np.fmod(x, y))


@reference
def extremes(launch, random):
    kind = launch.kind("x")
    x, y = wide(kind, *inputs(launch, random, drawn_pairs, "x", "y"))
    if is_integer(kind):
        for name in ("lowest", "lowest_nan"):
            narrow(launch, name, np.minimum(x, y))
        for name in ("highest", "highest_nan"):
            narrow(launch, name, np.maximum(x, y))
        return
    # Of zeros with different signs, IEEE 754-2008 allows either one.
    zeros = (x == 0) & (y == 0)
    # Of a signalling NaN and a number, it is a NaN or the number.
    signals = signalling(kind, launch.arguments["x"]) | signalling(kind, launch.arguments["y"])
    functions = {"lowest": np.fmin, "highest": np.fmax, "lowest_nan": np.minimum, "highest_nan": np.maximum}
    for name, function in functions.items():
        with np.errstate(all="ignore"):
            value = function(x, y)
            other = np.where(zeros, -value, np.where(signals, np.nan, value)).astype(value.dtype)
        narrow(launch, name, value, other)


def signalling(kind, array):
    """Which contents are signalling NaNs: the highest bit of the fraction is 0."""
    quiet = {"fp16": 9, "bf16": 6, "fp32": 22, "fp64": 51}[kind]
    bits = array.view(f"u{array.dtype.itemsize}")
    return formats.is_nan(kind, array) & (bits >> bits.dtype.type(quiet) & bits.dtype.type(1) == 0)


@reference
def comparisons(launch, random):
    x, y = wide(launch.kind("x"), *inputs(launch, random, drawn_pairs, "x", "y"))
    with np.errstate(all="ignore"):
        answers = [x == y, x != y, x < y, x <= y, x > y, x >= y]
    launch.same("out", sum(answer.astype(np.int32) << bit for bit, answer in enumerate(answers)).astype(np.int32))


@reference
def bitwise(launch, random):
    x, y = inputs(launch, random, drawn_pairs, "x", "y")
    narrow(launch, "neither", ~x)
    launch.same("both", x & y)
    launch.same("either", x | y)
    launch.same("one", x ^ y)


@reference
def shifts(launch, random):
    x = inputs(launch, random, all_or_drawn, "x")
    amount = launch.arguments["amount"] = random.integers(0, x.dtype.itemsize * 8, len(x)).astype(x.dtype)
    launch.same("left", x << amount)
    launch.same("right", x >> amount)


@reference
def high_products(launch, random):
    x, y = inputs(launch, random, drawn_pairs, "x", "y")
    bits = x.dtype.itemsize * 8
    # Of signed numbers, too, the operands are read as unsigned ones.
    unsigned = [array.view(f"u{bits // 8}").astype(object) for array in (x, y)]
    high = np.array([(left * right) >> bits for left, right in zip(*unsigned)], f"u{bits // 8}")
    launch.same("out", high.view(x.dtype))


# Operations of one number.


@reference
def signs(launch, random):
    kind = launch.kind("x")
    x = inputs(launch, random, all_or_drawn, "x")
    with np.errstate(all="ignore"):
        narrow(launch, "negative", -x)
        narrow(launch, "absolute", np.abs(x))


def fused(x, y, z):
    """x * y + z, rounded once."""
    finite = np.isfinite(x) & np.isfinite(y)
    # Of numbers that are not finite, and zeros with their signs. A product has no infinity before it is rounded.
    result = np.where(finite & np.isinf(z), z, x.astype(np.float64) * y + z).astype(x.dtype)
    for at in np.flatnonzero(finite & np.isfinite(z)):
        exact = Fraction(float(x[at])) * Fraction(float(y[at])) + Fraction(float(z[at]))
        if exact:
            result[at] = round_fraction(exact, x.dtype)
    return result


def round_fraction(exact, dtype):
    """The nearest number of f32 or f64, ties to even."""
    info = np.finfo(dtype)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    near = round(size / unit) * unit
    value = math.inf if near > Fraction(float(info.max)) else float(near)
    return dtype.type(-value if exact < 0 else value)


@reference
def roundings(launch, random):
    x, y = inputs(launch, random, drawn_pairs, "x", "y")
    z = random.permutation(x)
    # Products that a sum nearly cancels.
    with np.errstate(all="ignore"):
        z[::3] = (-(x * y))[::3]
        launch.arguments["z"] = z
        narrow(launch, "down", np.floor(x))
        narrow(launch, "up", np.ceil(x))
        narrow(launch, "even", np.rint(x))
        narrow(launch, "fused", fused(x, y, z))


@reference
def precise(launch, random):
    x, y = inputs(launch, random, drawn_pairs, "x", "y")
    with np.errstate(all="ignore"):
        narrow(launch, "quotients", x / y)
        narrow(launch, "roots", np.sqrt(x))


# Units in the last place that the OpenCL C specification allows (7.4), for f32 and f64; rsqrt and sqrt of f32, too.
ULPS = {"exp": 3, "exp2": 3, "log": 3, "log2": 3, "sin": 4, "cos": 4, "sqrt": 3, "rsqrt": 2, "erf": 16}


@reference
def elementary(launch, random):
    kind = launch.kind("x")
    x = random.standard_normal(COUNT) * 2.0 ** random.integers(-3, 4, COUNT)
    x = launch.given("x", x.astype(formats.STORAGE[kind][0]))
    launch.arguments["n"], launch.grid = COUNT, [-(-COUNT // launch.variant.constants["BLOCK"])]
    unit = 2 * UNIT.get(kind, EPS)
    with np.errstate(all="ignore"):
        functions = {
            "exp": np.exp(x), "exp2": np.exp2(x), "log": np.log(x), "log2": np.log2(x), "sin": np.sin(x), "cos": np.cos(x),
            "sqrt": np.sqrt(x), "rsqrt": 1 / np.sqrt(x), "erf": np.array([math.erf(one) for one in x]),
        }
    for name, value in functions.items():
        # The reference of f64 has a unit of its own.
        error = (ULPS[name] + 1) * unit * np.abs(value)
        if name == "exp" and kind == "fp32":
            # 2 to the power of a product, whose rounding counts as often as the result is doubled.
            error = error + np.abs(x) * unit * value
        launch.output(name, value, error)


# Conversions.


def out_of_range(kind, values):
    """Which numbers an integer type does not have, after they are cut."""
    info = np.iinfo(formats.STORAGE[kind][0])
    with np.errstate(all="ignore"):
        # One below the least number of 64 bits is no double.
        inside = values > float(info.min) - 1 if info.bits < 64 else values >= float(info.min)
        return ~(inside & (values < float(info.max + 1)))


def to_integer(source, target, x):
    """An integer type of a number, and where it is defined."""
    kind = formats.STORAGE[target][0]
    if target == "i1":
        return (x.astype(np.float64) != 0 if not is_integer(source) else x != 0).astype(np.uint8), None
    if is_integer(source):
        return x.astype(kind), None
    value = x.astype(np.float64)
    undefined = out_of_range(target, value)
    return np.where(undefined, 0, value).astype(kind), ~undefined


def to_float(source, target, x):
    """A float of a number, to the nearest, ties to even."""
    if target == "bf16" and is_integer(source):
        # Triton converts integers to f32 first.
        x = x.astype(np.float32)
    if source in formats.SMALL:
        x = x.astype(np.float32)
    if target == "bf16":
        return formats.to_bf16(x.astype(np.float64)) if not is_integer(source) else formats.to_bf16(x)
    return x.astype(formats.STORAGE[target][0])


def to_small(target, arch, x):
    """An 8-bit float: the nearest one, ties to even. Triton clamps: what is too large becomes the largest number.

    And another code that is allowed, too.
    """
    x = x.astype(np.float64)
    codes = formats.encode(target, np.where(np.isnan(x), 0.0, x))
    if formats.SMALL[target][3] != "fnuz":
        codes = np.where(np.isnan(x), 0x7F, codes).astype(np.uint8)
        return codes, codes
    codes = np.where(np.isnan(x), 0x80, codes).astype(np.uint8)
    # Triton's own operations make a NaN of an infinity. What the instructions of gfx942 do is an open question of the manuals
    # (facet fnuz_overflow): a NaN, or the largest number as for finite ones.
    other = np.where(np.isinf(x), 0x80, codes).astype(np.uint8)
    return codes if arch == "gfx942" else other, other


# The codes of infinity and of a NaN.
SPECIAL = {"fp16": (0x7C00, 0x7E00), "bf16": (0x7F80, 0x7FC0), "fp8e5": (0x7C, 0x7F)}


def toward_zero(target, x):
    """The nearest number that is not larger."""
    x = x.astype(np.float64)
    finite = np.where(np.isfinite(x), x, 0.0)
    codes = formats.stored(target, finite)
    away = np.abs(formats.values(target, codes)) > np.abs(finite)
    bits = codes.view(f"u{codes.dtype.itemsize}")
    # The code below is that of the next smaller number.
    bits = np.where(away, bits - 1, bits)
    infinity, nan = SPECIAL[target]
    special = np.where(np.isnan(x), nan, infinity) | (np.signbit(x).astype(bits.dtype) << (8 * bits.itemsize - 1))
    return np.where(np.isfinite(x), bits, special).astype(bits.dtype).view(codes.dtype)


# Targets without instructions for the 8-bit floats of OCP: there, Triton converts them by operations of integers.
OLDER = ("gfx906", "gfx90a", "gfx942")


def deviations(source, target, arch, rounding, x, codes):
    """What Triton's own operations make of some numbers, instead of `codes`."""
    size = np.abs(x.astype(np.float64))
    if target == "fp8e4nv" and source == "fp16" and arch in OLDER:
        # Of f16, the range ends at 480 instead of 464; what is rounded to 480 has the code of the NaN.
        return np.where((size > 464) & (size < 480), codes | 0x7F, codes)
    if target == "bf16" and source in ("fp8e4nv", "fp8e5") and arch in OLDER:
        # The exponent's offset is multiplied in, and the largest exponent has no special meaning.
        bits = stored(source, x)
        exponent_bits, fraction_bits, bias, _ = formats.SMALL[source]
        value = (1 + (bits & ((1 << fraction_bits) - 1)) / 2.0**fraction_bits) * 2.0 ** ((1 << exponent_bits) - 1 - bias)
        value = np.where(bits & 0x80, -value, value)
        return np.where(np.isfinite(x.astype(np.float64)), codes, formats.to_bf16(value))
    if rounding and (source, target) in (("fp32", "bf16"), ("fp16", "fp8e5")):
        # The low half is cut off, so that a NaN whose fraction is there becomes an infinity.
        cut = x.view(f"u{x.dtype.itemsize}") >> (4 * x.dtype.itemsize)
        return np.where(np.isnan(x), cut, codes).astype(codes.dtype)
    return codes


def convert(launch, random):
    source = launch.kind("x")
    x = inputs(launch, random, all_or_drawn, "x")
    for name in [name for name in launch.names if name in "abcd"]:
        target = launch.kind(name)
        with np.errstate(all="ignore"):
            if is_integer(target):
                value, where = to_integer(source, target, x)
                launch.same(name, value, where=where)
                continue
            rounding = launch.variant.constants["ROUNDING"]
            if rounding:
                kept = [toward_zero(target, x)]
            elif target in formats.SMALL:
                kept = to_small(target, launch.target, x)
            else:
                kept = [to_float(source, target, x)]
            launch.same(name, *(deviations(source, target, launch.target, rounding, x, codes) for codes in kept))


for name in ("to_one", "to_three", "to_four"):
    REFERENCES[name] = convert


@reference
def bit_cast(launch, random):
    x = stored(launch.kind("x"), inputs(launch, random, all_or_drawn, "x"))
    launch.same("out", x.view(formats.STORAGE[launch.kind("out")][0]), payloads=True)


# Reductions, scans, sorting.


def tile(launch, random, exact):
    """Numbers of a tile. With `exact`, those of floats are small integers, whose sums have no error."""
    kind = launch.kind("x")
    size = shape(launch)
    if is_integer(kind):
        x = moved(launch, random, "x", size)
        random.shuffle(x.reshape(-1))
        return x
    if exact:
        most = {"fp16": 16, "bf16": 2}.get(kind, 1000)
        values = random.integers(-most, most + 1, size).astype(np.float64)
    else:
        values = random.standard_normal(size) * 2.0 ** random.integers(-20, 12, size)
        # Infinities and denormals; few numbers twice. Zeros of different signs are equal, so there is one of them.
        values[0, :3], values[1, 5], values[2, 7:9] = [np.inf, -np.inf, np.inf], 2.0**-149, 3.5
    return numbers(kind, launch.arguments.setdefault("x", formats.stored(kind, values)))


def summed(launch, name, values):
    kind = launch.kind(name)
    narrow(launch, name, values) if is_integer(kind) else launch.same(name, formats.stored(kind, values))


def widened(launch, name, x):
    """Numbers of the type of sums."""
    kind = launch.kind(name)
    return x.astype(formats.STORAGE[kind][0]) if is_integer(kind) else x.astype(np.float64)


@reference
def reductions(launch, random):
    x = tile(launch, random, True)
    with np.errstate(over="ignore"):
        of = widened(launch, "sums", x)
        summed(launch, "sums", of.sum(1, dtype=of.dtype))
        summed(launch, "down", of.sum(0, dtype=of.dtype))
    narrow(launch, "highest", x.max(1))
    narrow(launch, "lowest", x.min(1))


@reference
def positions(launch, random):
    x = tile(launch, random, False)
    # The first one of several that are equal.
    launch.same("first", x.argmax(1).astype(np.int32))
    launch.same("last", x.argmin(1).astype(np.int32))


@reference
def bit_reductions(launch, random):
    x = tile(launch, random, True)
    launch.same("one", np.bitwise_xor.reduce(x, 1))
    launch.same("either", np.bitwise_or.reduce(x, 0))


@reference
def scans(launch, random):
    kind = launch.kind("x")
    x = tile(launch, random, True)
    if not is_integer(kind):
        # Products of signs and some powers of two, too, have no error.
        x = numbers(kind, formats.stored(kind, random.choice([1.0, -1.0, 1.0, 2.0, -0.5], shape(launch))))
        launch.arguments["x"] = stored(kind, x)
    with np.errstate(over="ignore"):
        of = widened(launch, "sums", x)
        summed(launch, "sums", np.cumsum(of, 1, dtype=of.dtype))
        summed(launch, "backwards", np.cumsum(of[::-1], 0, dtype=of.dtype)[::-1].copy())
        summed(launch, "products", np.cumprod(of, 1, dtype=of.dtype))
    narrow(launch, "highest", np.maximum.accumulate(x, 1))


@reference
def sorts(launch, random):
    x = tile(launch, random, False)
    order = np.argsort(x, 1, kind="stable")
    up = np.take_along_axis(x, order, 1)
    narrow(launch, "up", up)
    narrow(launch, "down", up[:, ::-1].copy())


# Atomics.


def lanes(launch, random, name, count):
    """Contents; those of floats have no NaN, and no zero with a sign, since their order decides what is found."""
    kind = launch.kind(name)
    array = random.permutation(draw(random, kind, 4 * count))[:count]
    if not is_integer(kind):
        array = np.where(formats.is_nan(kind, array) | (formats.values(kind, array) == 0), array.dtype.type(0), array)
    launch.arguments[name] = array
    return array


def integral(launch, random, name, count):
    """Contents whose sums have no error: integers, and small integers of floats."""
    kind = launch.kind(name)
    if is_integer(kind):
        return lanes(launch, random, name, count)
    launch.arguments[name] = formats.stored(kind, random.integers(-2, 3, count).astype(np.float64))
    return numbers(kind, launch.arguments[name])


def blocks_of(launch):
    count = launch.arguments["n"] = 2 * launch.variant.constants["BLOCK"] + 40
    launch.grid = [3]
    return count, np.arange(count) % 8


def meet(function, at, value, old):
    """What elements hold after a function of two numbers, in any order."""
    result = old.copy()
    with np.errstate(over="ignore"):
        function.at(result, at, value)
    return result


@reference
def atomic_sums(launch, random):
    count, at = blocks_of(launch)
    kind = launch.kind("x")
    x = integral(launch, random, "x", count)
    old = integral(launch, random, "out", count)
    shared = integral(launch, random, "shared", 8)
    with np.errstate(over="ignore"):
        if is_integer(kind):
            launch.same("out", old + x)
            launch.same("shared", meet(np.add, at, x, shared))
        else:
            launch.same("out", formats.stored(kind, old.astype(np.float64) + x.astype(np.float64)))
            sums = meet(np.add, at, x.astype(np.float64), shared.astype(np.float64))
            launch.same("shared", formats.stored(kind, sums))
    launch.same("old", stored(kind, old).copy())


@reference
def atomic_extremes(launch, random):
    count, at = blocks_of(launch)
    x, highest, lowest = (lanes(launch, random, name, count) for name in ("x", "highest", "lowest"))
    shared = lanes(launch, random, "shared", 16)
    launch.same("highest", np.maximum(highest, x))
    launch.same("lowest", np.minimum(lowest, x))
    launch.same("shared", np.concatenate([meet(np.maximum, at, x, shared[:8]), meet(np.minimum, at, x, shared[8:])]))
    launch.same("old", np.concatenate([highest, lowest]))


@reference
def atomic_bits(launch, random):
    count, at = blocks_of(launch)
    x, both, either, one = (lanes(launch, random, name, count) for name in ("x", "both", "either", "one"))
    shared = lanes(launch, random, "shared", 24).reshape(3, 8)
    launch.same("both", both & x)
    launch.same("either", either | x)
    launch.same("one", one ^ x)
    functions = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    launch.same("shared", np.concatenate([meet(function, at, x, old) for function, old in zip(functions, shared)]))
    launch.same("old", np.concatenate([both, either, one]))


def exchanged(launch, random, name):
    """Of a compare and swap: what is there before and after. Half of the comparisons find what they expect."""
    # tl.atomic_cas has no mask, so all elements of all blocks exist.
    count = launch.arguments["n"] = 2 * launch.variant.constants["BLOCK"]
    launch.grid = [2]
    expected, value, old = (lanes(launch, random, one, count) for one in ("x", "y", name))
    old[::2] = expected[::2]
    bits = f"u{old.dtype.itemsize}"
    after = np.where(old.view(bits) == expected.view(bits), value, old)
    launch.same(name, after)
    return old.copy(), value


@reference
def atomic_exchanges(launch, random):
    old, value = exchanged(launch, random, "swapped")
    before = lanes(launch, random, "out", len(old)).copy()
    launch.same("out", value)
    launch.same("old", np.concatenate([before, old]))


@reference
def atomic_swaps(launch, random):
    old, _ = exchanged(launch, random, "swapped")
    launch.same("old", old)


# Products of matrices.


@reference
def product(launch, random):
    m, n, k = (launch.variant.constants[name] for name in "MNK")
    a, b = launch.input(random, "x", (m, k)), launch.input(random, "y", (k, n))
    launch.output("out", *matrix_product(launch, launch.kind("x"), a, b, precision="ieee"))
