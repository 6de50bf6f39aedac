"""Floating-point formats in exact integer arithmetic. Values are bit patterns.

An exact number is `(negative, m, e)` for `m * 2**e`, `("inf", negative)` or `("nan",)`.
"""
from math import isqrt

# Exponent bits, fraction bits, bias, what the largest patterns are.
FORMATS = {
    "f64": (11, 52, 1023, "ieee"),
    "f32": (8, 23, 127, "ieee"),
    "f16": (5, 10, 15, "ieee"),
    "bf16": (8, 7, 127, "ieee"),
    "fp8": (4, 3, 7, "one nan"),
    "bf8": (5, 2, 15, "ieee"),
    "fp6": (2, 3, 1, "finite"),
    "bf6": (3, 2, 3, "finite"),
    "fp4": (2, 1, 1, "finite"),
}
NAN_BITS = {fmt: (((1 << e) - 1) << m) | 1 << (m - 1) for fmt, (e, m, _, kind) in FORMATS.items() if kind == "ieee"}
NAN_BITS["fp8"] = 0x7f


def magnitude(fmt, bits):
    e, m, _, _ = FORMATS[fmt]
    return bits & ((1 << (e + m)) - 1)


def is_negative(fmt, bits):
    e, m, _, _ = FORMATS[fmt]
    return bool(bits >> (e + m) & 1)


def is_nan(fmt, bits):
    e, m, _, kind = FORMATS[fmt]
    if kind == "ieee":
        return magnitude(fmt, bits) > ((1 << e) - 1) << m
    return kind == "one nan" and magnitude(fmt, bits) == (1 << (e + m)) - 1


def is_inf(fmt, bits):
    e, m, _, kind = FORMATS[fmt]
    return kind == "ieee" and magnitude(fmt, bits) == ((1 << e) - 1) << m


def is_signalling(fmt, bits):
    return is_nan(fmt, bits) and not bits >> (FORMATS[fmt][1] - 1) & 1


def quieted(fmt, bits):
    return bits | 1 << (FORMATS[fmt][1] - 1)


def decode(fmt, bits):
    e, m, bias, _ = FORMATS[fmt]
    if is_nan(fmt, bits):
        return ("nan",)
    negative = is_negative(fmt, bits)
    if is_inf(fmt, bits):
        return ("inf", negative)
    field, fraction = magnitude(fmt, bits) >> m, bits & ((1 << m) - 1)
    if field == 0:
        return (negative, fraction, 1 - bias - m)
    return (negative, fraction | 1 << m, field - bias - m)


def largest(fmt):
    e, m, _, kind = FORMATS[fmt]
    everything = (1 << (e + m)) - 1
    return {"ieee": (((1 << e) - 1) << m) - 1, "one nan": everything - 1, "finite": everything}[kind]


def encode(fmt, negative, m, e, sticky=False, mode="even", random=None):
    """Rounds `m * 2**e`, plus less than its last place if `sticky`.

    `mode` is even, zero, or stochastic: `random` is then `(bits, count)`, added to the bits below the last place.
    Overflow goes to infinity (`mode` even), to the largest number (zero), to NaN in FP8, and is bounded in FP6 and FP4.
    """
    eb, mb, bias, kind = FORMATS[fmt]
    sign = int(negative) << (eb + mb)
    if m == 0:
        return sign
    if sticky:
        m, e = m << 2 | 1, e - 2
    top = e + m.bit_length() - 1
    last = max(top, 1 - bias) - mb
    shift = last - e
    if shift <= 0:
        kept = m << -shift
    else:
        kept, rest, half = m >> shift, m & ((1 << shift) - 1), 1 << (shift - 1)
        if mode == "even":
            kept += rest > half or (rest == half and kept & 1)
        elif mode == "stochastic":
            bits, count = random
            kept += (rest << count >> shift) + bits >> count
    if kept >> mb:
        # A carry into the exponent field is right.
        value = ((last + mb + bias - 1) << mb) + kept
    else:
        value = kept
    if value > largest(fmt):
        if mode == "zero" or kind == "finite":
            value = largest(fmt)
        elif kind == "one nan":
            return sign | NAN_BITS[fmt]
        else:
            value = largest(fmt) + 1
    return sign | value


def infinity(fmt, negative):
    eb, mb, _, kind = FORMATS[fmt]
    if kind == "finite":
        return int(negative) << (eb + mb) | largest(fmt)
    return int(negative) << (eb + mb) | largest(fmt) + 1


def convert(a, b, bits, mode="even"):
    """Another format; a NaN keeps what fits of its payload, and whether it signals."""
    if is_nan(a, bits):
        (ea, ma, _, _), (eb, mb, _, _) = FORMATS[a], FORMATS[b]
        fraction = bits & ((1 << ma) - 1)
        fraction = fraction << (mb - ma) if mb >= ma else fraction >> (ma - mb) or 1
        return int(is_negative(a, bits)) << (eb + mb) | ((1 << eb) - 1) << mb | fraction
    x = decode(a, bits)
    if x[0] == "inf":
        return infinity(b, x[1])
    return encode(b, *x, mode=mode)


def add_exact(x, y):
    (xn, xm, xe), (yn, ym, ye) = x, y
    e = min(xe, ye)
    value = (-xm if xn else xm) * (1 << (xe - e)) + (-ym if yn else ym) * (1 << (ye - e))
    return value, e


def add(fmt, a, b):
    return fma(fmt, None, a, b)


def multiply_exact(x, y):
    if "nan" in (x[0], y[0]):
        return ("nan",)
    if "inf" in (x[0], y[0]):
        negative = (x[1] if x[0] == "inf" else x[0]) != (y[1] if y[0] == "inf" else y[0])
        zero = any(v[0] != "inf" and v[1] == 0 for v in (x, y))
        return ("nan",) if zero else ("inf", negative)
    return (x[0] != y[0], x[1] * y[1], x[2] + y[2])


def sum_rounded(fmt, x, y):
    if "nan" in (x[0], y[0]):
        return NAN_BITS[fmt]
    if "inf" in (x[0], y[0]):
        if x[0] == y[0] and x[1] != y[1]:
            return NAN_BITS[fmt]
        return infinity(fmt, x[1] if x[0] == "inf" else y[1])
    value, e = add_exact(x, y)
    if value == 0:
        return encode(fmt, x[0] and y[0] if x[1] == y[1] == 0 else False, 0, 0)
    return encode(fmt, value < 0, abs(value), e)


def fma(fmt, a, b, c):
    x = decode(fmt, b) if a is None else multiply_exact(decode(fmt, a), decode(fmt, b))
    return sum_rounded(fmt, x, decode(fmt, c))


def multiply(fmt, a, b):
    return round_exact(fmt, multiply_exact(decode(fmt, a), decode(fmt, b)))


def round_exact(fmt, x, mode="even"):
    if x[0] == "nan":
        return NAN_BITS[fmt]
    if x[0] == "inf":
        return infinity(fmt, x[1])
    return encode(fmt, *x, mode=mode)


def divide(fmt, a, b):
    x, y = decode(fmt, a), decode(fmt, b)
    negative = is_negative(fmt, a) != is_negative(fmt, b)
    if "nan" in (x[0], y[0]) or x[0] == y[0] == "inf":
        return NAN_BITS[fmt]
    if x[0] == "inf":
        return infinity(fmt, negative)
    if y[0] == "inf":
        return encode(fmt, negative, 0, 0)
    if y[1] == 0:
        return NAN_BITS[fmt] if x[1] == 0 else infinity(fmt, negative)
    if x[1] == 0:
        return encode(fmt, negative, 0, 0)
    wide = x[1] << 160
    return encode(fmt, negative, wide // y[1], x[2] - y[2] - 160, sticky=wide % y[1] != 0)


def square_root(fmt, a):
    x = decode(fmt, a)
    if x[0] == "nan" or (is_negative(fmt, a) and magnitude(fmt, a)):
        return NAN_BITS[fmt]
    if x[0] == "inf" or x[1] == 0:
        return a
    _, m, e = x
    m, e = (m << 1, e - 1) if e & 1 else (m, e)
    m, e = m << 200, e - 200
    root = isqrt(m)
    return encode(fmt, False, root, e // 2, sticky=root * root != m)


def as_exact(fmt, bits):
    if fmt is None:
        return (bits < 0, abs(bits), 0)
    return decode(fmt, bits)


def negate(x):
    return ("inf", not x[1]) if x[0] == "inf" else x if x[0] == "nan" else (not x[0], x[1], x[2])


def pow2(n):
    return (False, 1, n)


def compare(x, y):
    """The sign of x - y; neither is NaN."""
    def key(v):
        return (1 if v[1] == 0 else -1) if v[0] == "inf" else 0
    kx, ky = key(x), key(y)
    if kx or ky:
        return (kx > ky) - (kx < ky)
    value, _ = add_exact(x, y if y[1] == 0 else (not y[0], y[1], y[2]))
    return (value > 0) - (value < 0)


class EXACT:
    """Numbers that a power of two scales."""

    @staticmethod
    def round(fmt, x):
        return round_exact(fmt, x)

    @staticmethod
    def scale(fmt, bits, x):
        y = decode(fmt, bits)
        return bits if y[0] == "inf" or y[1] == 0 else round_exact(fmt, multiply_exact(y, x))
