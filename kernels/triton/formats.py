"""Number formats in NumPy: what a buffer holds for which values."""

import numpy as np

# Bits of the exponent and of the fraction, the bias, and the special codes. "all": there are none. "nan": the largest
# code is a NaN. "fnuz": the code of -0 is the NaN. "ieee": the largest exponent is for infinities and NaNs.
SMALL = {
    "fp8e4nv": (4, 3, 7, "nan"),
    "fp8e5": (5, 2, 15, "ieee"),
    "fp8e4b8": (4, 3, 8, "fnuz"),
    "fp8e5b16": (5, 2, 16, "fnuz"),
    "e2m1": (2, 1, 1, "all"),
    "e2m3": (2, 3, 1, "all"),
    "e3m2": (3, 2, 3, "all"),
}
# The arrays that buffers are read from and written to, and their types for `wavemill run`.
STORAGE = {
    "fp64": (np.float64, "f64"), "fp32": (np.float32, "f32"), "fp16": (np.float16, "f16"), "bf16": (np.uint16, "u16"),
    "i1": (np.uint8, "u8"),
} | {name: (np.uint8, "u8") for name in SMALL}
STORAGE |= {
    f"{sign}{bits}": (np.dtype(f"{sign}{bits // 8}").type, f"{sign}{bits}") for sign in "iu" for bits in (8, 16, 32, 64)
}
# Half the distance between 1 and the next number, and half the distance of denormals.
ROUNDING = {
    "fp64": (2.0**-53, 0.0), "fp32": (2.0**-24, 2.0**-150), "fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 2.0**-134),
}


def table(name):
    """The value of each code."""
    exponent_bits, fraction_bits, bias, top = SMALL[name]
    codes = np.arange(1 << (1 + exponent_bits + fraction_bits))
    exponent = codes >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = codes & ((1 << fraction_bits) - 1)
    value = np.where(exponent == 0, fraction, fraction + (1 << fraction_bits)) * 2.0 ** (
        np.maximum(exponent, 1) - bias - fraction_bits)
    value = np.where(codes >> (exponent_bits + fraction_bits), -value, value)
    if top == "ieee":
        special = exponent == (1 << exponent_bits) - 1
        value[special] = np.where(fraction[special], np.nan, np.copysign(np.inf, value[special]))
    elif top == "nan":
        value[codes & 0x7F == 0x7F] = np.nan
    elif top == "fnuz":
        value[0x80] = np.nan
    return value


TABLES = {name: table(name) for name in SMALL}
# The finite codes of numbers that are not negative, which are in the order of their values.
POSITIVE = {name: values[: len(values) // 2][np.isfinite(values[: len(values) // 2])] for name, values in TABLES.items()}


def encode(name, values):
    """The codes of the nearest numbers, ties to even; too large ones become the largest."""
    positive = POSITIVE[name]
    size = np.abs(values)
    above = np.clip(np.searchsorted(positive, size), 1, len(positive) - 1)
    below = above - 1
    middle = (positive[above] + positive[below]) / 2
    code = np.where((size > middle) | ((size == middle) & (above % 2 == 0)), above, below)
    sign = len(TABLES[name]) // 2
    code = np.where(np.signbit(values) & ((code > 0) | (SMALL[name][3] != "fnuz")), code + sign, code)
    return code.astype(np.uint8)


def to_bf16(values):
    """The bits of the nearest bfloat16, ties to even; first to f32, by a rounding to odd that does not disturb that."""
    values = np.asarray(values, dtype=np.float64)
    single = values.astype(np.float32)
    away = np.abs(single.astype(np.float64)) > np.abs(values)
    cut = np.where(away, np.nextafter(single, np.float32(0)), single)
    bits = cut.view(np.uint32) | (cut.astype(np.float64) != values)
    # NaNs are quiet ones; rounded, those with the largest fractions would overflow.
    nan = np.where(np.signbit(values), 0xFFC0, 0x7FC0)
    return np.where(np.isnan(values), nan, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def stored(name, values):
    """The array that a buffer is filled from."""
    if name == "bf16":
        return to_bf16(values)
    if name in SMALL:
        return encode(name, values)
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(STORAGE[name][0])


def values(name, array):
    """The numbers of a buffer, in double precision."""
    if name == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if name in SMALL:
        return TABLES[name][array]
    return array.astype(np.float64)


def rounded(name, numbers):
    return values(name, stored(name, numbers))


def rounding(name, numbers):
    """How far the format's nearest number may be."""
    if name[0] in "iu":
        return np.zeros_like(numbers)
    relative, least = ROUNDING[name]
    return np.maximum(np.abs(numbers) * relative, least)


def draw(random, name, shape):
    """Random contents, and their values. Floats are normally distributed, over six binades more for fp8."""
    if name in ("i8", "i32", "u8"):
        array = random.integers(-128, 128, shape).astype(STORAGE[name][0])
        return array, array.astype(np.float64)
    numbers = random.standard_normal(shape)
    if name in SMALL:
        numbers *= 2.0 ** random.integers(-3, 4, shape)
    array = stored(name, numbers)
    return array, values(name, array)


def draw_bits(random, name, shape):
    """Random contents of every bit."""
    kind = np.dtype(STORAGE[name][0])
    return random.integers(0, 256, (*shape, kind.itemsize)).astype(np.uint8).view(kind).reshape(shape)


def is_nan(name, array):
    """Which elements of a buffer are NaNs."""
    if name == "bf16":
        return array & 0x7FFF > 0x7F80
    return np.isnan(TABLES[name][array] if name in SMALL else array)


def draw_packed(random, shape):
    """Random e2m1, two in a byte along the last axis, the first one in the low bits; and their values."""
    codes = random.integers(0, 16, shape).astype(np.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4, TABLES["e2m1"][codes]
