"""Functions that the pseudocode calls but does not define."""
import mpmath

from floats import (FORMATS, NAN_BITS, convert, decode, encode, fma, infinity, is_inf, is_nan, is_negative,
                    is_signalling, magnitude, quieted, square_root)
from interpreter import V, any_nan, concatenated, flag, of_float, signed, split, typed


def fmt_of(v):
    return v.format() if v.k in ("f",) or v.k == "bf" else f"{v.k}{v.w}"


def nan(v):
    return bool(v.n) or is_nan(fmt_of(v), v.b)


def integral(v, how):
    """Rounds to an integer: down, or to zero."""
    fmt = fmt_of(v)
    if nan(v):
        return any_nan(fmt)
    x = decode(fmt, v.b)
    if x[0] == "inf" or x[1] == 0 or x[2] >= 0:
        return v
    negative, m, e = x
    whole, rest = m >> -e, m & ((1 << -e) - 1)
    if how == "floor" and negative and rest:
        whole += 1
    return V(v.k, v.w, encode(fmt, negative, whole, 0))


def fract(_, v):
    from interpreter import arithmetic, minus
    return arithmetic("+", v, minus(integral(v, "floor")))


def is_even(_, v):
    x = decode(fmt_of(v), v.b)
    if x[0] in ("inf", "nan"):
        return flag(False)
    negative, m, e = x
    return flag(e > 0 or (m >> -e) % 2 == 0 if e <= 0 else True)


def exponent(_, v):
    """The exponent field."""
    e, m, _, _ = FORMATS[fmt_of(v)]
    return V("i", 32, v.b >> m & ((1 << e) - 1))


def mantissa(_, v):
    """The number with the sign of `v`, between 1/2 and 1, that a power of two makes `v`."""
    fmt = fmt_of(v)
    x = decode(fmt, v.b)
    if x[0] in ("inf", "nan") or x[1] == 0:
        return v
    return V(v.k, v.w, encode(fmt, x[0], x[1], -x[1].bit_length()))


def float32(_, s, e, m):
    return V("f", 32, (s.b & 1) << 31 | (e.b & 255) << 23 | m.b & ((1 << 23) - 1))


def ldexp(_, v, n):
    from interpreter import arithmetic
    return arithmetic("*", v, V("x", 0, (False, 1, max(-20000, min(20000, n.b)))))


def fused(_, a, b, c):
    fmt = fmt_of(a)
    if nan(a) or nan(b) or nan(c):
        return any_nan(fmt)
    return of_float(fmt, fma(fmt, a.b, b.b, c.b))


def square(_, v):
    return any_nan(fmt_of(v)) if nan(v) else of_float(fmt_of(v), square_root(fmt_of(v), v.b))


def real(v):
    x = decode(fmt_of(v), v.b)
    return mpmath.ldexp(-x[1] if x[0] else x[1], x[2])


def rounded(fmt, x):
    """A real of 400 bits, rounded."""
    if x == 0:
        return V(*split(fmt), 0)
    sign, m, e, _ = x._mpf_
    return of_float(fmt, encode(fmt, bool(sign), int(m), int(e)))


def transcendental(function, of_infinity):
    def call(_, v):
        # An angle is a number of turns.
        v = v.b if v.k == "t" else v
        fmt = fmt_of(v)
        if nan(v):
            return any_nan(fmt)
        if is_inf(fmt, v.b):
            result = of_infinity(is_negative(fmt, v.b))
            return any_nan(fmt) if result is None else V(*split(fmt), result if result == 0 else infinity(fmt, False))
        with mpmath.workprec(2600 if v.w == 64 else 500):
            return function(fmt, v)
    return call


def log2_of(fmt, v):
    x = real(v)
    if x == 0:
        return V(*split(fmt), infinity(fmt, True))
    return any_nan(fmt) if x < 0 else rounded(fmt, mpmath.log(x, 2))


def power(_, base, v):
    """Powers of two."""
    fmt = fmt_of(v)
    if nan(v):
        return any_nan(fmt)
    if is_inf(fmt, v.b):
        return V(*split(fmt), 0 if is_negative(fmt, v.b) else infinity(fmt, False))
    with mpmath.workprec(500):
        x = max(mpmath.mpf(-5000), min(mpmath.mpf(5000), real(v)))
        return rounded(fmt, mpmath.power(2, x))


def sine(fmt, v):
    x = real(v)
    if x == 0:
        return v
    return rounded(fmt, mpmath.sin(2 * mpmath.pi * x) if 2 * x != int(2 * x) else mpmath.mpf(0))


def cosine(fmt, v):
    x = real(v)
    return rounded(fmt, mpmath.cos(2 * mpmath.pi * x) if 4 * x != int(4 * x) or 2 * x == int(2 * x) else mpmath.mpf(0))


def to_integer(w, is_signed):
    low, high = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if is_signed else (0, (1 << w) - 1)

    def call(_, v):
        fmt = fmt_of(v)
        if nan(v):
            return V("i" if is_signed else "u", w, 0)
        x = decode(fmt, v.b)
        if x[0] == "inf":
            n = low if x[1] else high
        else:
            n = x[1] << x[2] if x[2] >= 0 else x[1] >> -x[2]
            n = max(low, min(high, -n if x[0] else n))
        return V("i" if is_signed else "u", w, n)
    return call


def to_norm(w, is_signed):
    scale = (1 << (w - 1)) - 1 if is_signed else (1 << w) - 1

    def call(_, v):
        fmt = fmt_of(v)
        if nan(v):
            return V("i", w, 0)
        x = decode(fmt, v.b)
        if x[0] == "inf":
            n = -scale if x[1] else scale
        else:
            m, e = x[1] * scale, x[2]
            if e >= 0:
                n = m << e
            else:
                n, rest, half = m >> -e, m & ((1 << -e) - 1), 1 << (-e - 1)
                n += rest > half or (rest == half and n & 1)
            n = min(n, scale)
            n = -n if x[0] else n
        return V("i", w, n if is_signed else max(n, 0))
    return call


def from_integer(to):
    def call(_, v):
        value = signed(v.b, v.w) if v.k == "i" else v.b & ((1 << v.w) - 1)
        return V(*split(to), encode(to, value < 0, abs(value), 0))
    return call


def to_float(to):
    def call(s, v):
        if nan(v):
            return any_nan(to)
        mode = "zero" if s.round == "ROUND_TOWARD_ZERO" else "even"
        return of_float(to, convert(fmt_of(v), to, v.b, mode))
    return call


# Small formats. The pseudocode names these functions only; the formats are OCP's.
SMALL = {"fp8": "fp8", "bf8": "bf8", "fp6": "fp6", "bf6": "bf6", "fp4": "fp4"}
# The exponent of the scale 0xff, which is a NaN (CDNA4 ISA 7.2).
NAN_SCALE = 255 - 127


def small_kind(v):
    """`.fp8` gives a kind `fp` of width 8."""
    return f"{v.k}{v.w}"


def narrow(to, scaled, stochastic):
    def call(_, v, *rest):
        fmt = fmt_of(v)
        w = int(to[2:])
        kind = FORMATS[to][3]
        scale = rest[-1].bits(8) - 127 if scaled else 0
        if nan(v) or scale == NAN_SCALE:
            return any_nan(to) if kind != "finite" else V("u", w, 0, ((0, w, "undefined"),))
        x = decode(fmt, v.b)
        if x[0] == "inf":
            if kind == "one nan":
                return any_nan(to)
            return V("b", w, infinity(to, x[1]))
        random = (rest[0].bits(32), 32) if stochastic else None
        bits = encode(to, x[0], x[1], x[2] - scale, mode="stochastic" if stochastic else "even", random=random)
        return any_nan(to) if is_nan(to, bits) else V("b", w, bits)
    return call


def widen(fmt, to, scaled):
    def call(_, v, *rest):
        bits = v.bits(int(fmt[2:]))
        scale = rest[-1].bits(8) - 127 if scaled else 0
        if is_nan(fmt, bits) or scale == NAN_SCALE:
            return any_nan(to)
        x = decode(fmt, bits)
        if x[0] == "inf":
            return V(*split(to), infinity(to, x[1]))
        return V(*split(to), encode(to, x[0], x[1], x[2] + scale))
    return call


def stochastic_half(to):
    def call(_, v, random):
        fmt = fmt_of(v)
        if nan(v):
            return any_nan(to)
        x = decode(fmt, v.b)
        if x[0] == "inf":
            return V(*split(to), infinity(to, x[1]))
        return of_float(to, encode(to, *x, mode="stochastic", random=(random.bits(32), 32)))
    return call


def extremum(sign):
    """minimum and maximum of IEEE 754-2019."""
    def call(_, *sources):
        fmt = fmt_of(sources[0])
        if any(nan(v) for v in sources):
            return any_nan(fmt)

        def key(v):
            bits = magnitude(fmt, v.b)
            return sign * (-bits - 1 if is_negative(fmt, v.b) else bits)
        return max(sources, key=key)
    return call


def clamp_to(w, is_signed):
    low, high = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if is_signed else (0, (1 << w) - 1)
    return lambda _, v: V("i" if is_signed else "u", w, max(low, min(high, v.b)))


def sign_extend_from(_, v, n):
    bits = n.b
    return V("i", v.w, signed(v.b, bits) if bits else 0)


def quiet(_, v):
    return V(v.k, v.w, quieted(fmt_of(v), v.b))


LIBRARY = {
    "floor": lambda _, v: integral(v, "floor"),
    "trunc": lambda _, v: integral(v, "trunc"),
    "fract": fract,
    "isEven": is_even,
    "exponent": exponent,
    "mantissa": mantissa,
    "sign": lambda _, v: flag(is_negative(fmt_of(v), v.b)),
    "abs": lambda _, v: V(v.k, v.w, v.b & ~(1 << (v.w - 1)), v.n),
    "float32": float32,
    "ldexp": ldexp,
    "fma": fused,
    "sqrt": square,
    "log2": transcendental(log2_of, lambda negative: None if negative else 1),
    "pow": power,
    "sin": transcendental(sine, lambda _: None),
    "cos": transcendental(cosine, lambda _: None),
    "isNAN": lambda _, v: flag(nan(v)),
    "isSignalNAN": lambda _, v: flag(is_signalling(fmt_of(v), v.b)),
    "isQuietNAN": lambda _, v: flag(is_nan(fmt_of(v), v.b) and not is_signalling(fmt_of(v), v.b)),
    "cvtToQuietNAN": quiet,
    "CalcDsAddr": lambda _, a, low, high: V("u", 32, a.b + low.bits(8) + (high.bits(8) << 8)),
    "CalcGlobalAddr": lambda _, a, scalar, offset: V("u", 64, a.b + scalar.b + offset.b),
    "CalcFlatAddr": lambda _, a, offset: V("u", 64, a.b + offset.b),
    "bitCount": lambda _, v: V("u", 32, bin(v.bits()).count("1")),
    "signext": lambda _, v: V("i", 64, signed(v.b, v.w)),
    "signext_from_bit": sign_extend_from,
    "u32_to_u16": clamp_to(16, False),
    "i32_to_i16": clamp_to(16, True),
    "f32_to_u8": to_integer(8, False),
    "v_minimum_f32": extremum(-1),
    "v_maximum_f32": extremum(1),
    "v_minimum3_f16": extremum(-1),
    "v_maximum3_f16": extremum(1),
    "f32_to_f16_SR": stochastic_half("f16"),
    "f32_to_bf16_SR": stochastic_half("bf16"),
}
LIBRARY["f32_to_f16_sr"] = LIBRARY["f32_to_f16_SR"]
LIBRARY["f32_to_bf16_sr"] = LIBRARY["f32_to_bf16_SR"]
for source in ("f64", "f32", "f16"):
    for kind, width in (("i", 32), ("u", 32), ("i", 16), ("u", 16)):
        LIBRARY[f"{source}_to_{kind}{width}"] = to_integer(width, kind == "i")
        LIBRARY[f"{kind}{width}_to_{source}"] = from_integer(source)
    LIBRARY[f"{source}_to_snorm"] = to_norm(16, True)
    LIBRARY[f"{source}_to_unorm"] = to_norm(16, False)
    for target in ("f64", "f32", "f16", "bf16"):
        LIBRARY[f"{source}_to_{target}"] = to_float(target)
LIBRARY["bf16_to_f32"] = to_float("f32")
for width in (4, 8, 16):
    for kind in "iu":
        LIBRARY[f"{kind}{width}_to_{kind}32"] = lambda _, v, kind=kind: typed(v, kind, v.w) and V(kind, 32, v.b)
for small in ("fp8", "bf8", "fp6", "bf6", "fp4"):
    for wide in ("f32", "f16", "bf16"):
        LIBRARY[f"{wide}_to_{small}"] = narrow(small, False, False)
        LIBRARY[f"{wide}_to_{small}_scale"] = narrow(small, True, False)
        LIBRARY[f"{wide}_to_{small}_sr_scale"] = narrow(small, True, True)
        LIBRARY[f"{small}_to_{wide}"] = widen(small, wide, False)
        LIBRARY[f"{small}_to_{wide}_scale"] = widen(small, wide, True)
