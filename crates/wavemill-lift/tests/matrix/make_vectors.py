"""Makes the test vectors of this folder: dot products of matrix instructions, as mmasim computes them.

    python3 -m venv target/mmasim
    target/mmasim/bin/pip install mmasim==2.1.1 torch==2.15.0 ninja==1.13.2 setuptools==84.2.1
    PATH=$PWD/target/mmasim/bin:$PATH python crates/wavemill-lift/tests/matrix/make_vectors.py [FOLDER]

Run these in the root of the repository. Any build of torch for CPUs will do. mmasim compiles a small C++ file when it
is imported, so it needs a C++ compiler. The script writes gfx908.txt, gfx90a.txt and gfx942.txt to FOLDER, or next to
itself. The seed is fixed: the files are always the same. It also checks that mmasim's results for whole matrices are
those of the dot products, and reports the cases that it leaves out. README.md says why.
"""

import math
import random
import sys
from collections import Counter, namedtuple
from fractions import Fraction
from pathlib import Path

import torch
from mmasim.amd import MFMA
from mmasim.amd.isa_mfma import arch_mfma_suffix
from mmasim.arithmetic.fdpa import MMA_E_FDPA

SEED = 1
FILES = {"CDNA1": "gfx908", "CDNA2": "gfx90a", "CDNA3": "gfx942"}
COUNTS = dict(uniform=30, bits=35, banded=50, tiny=40, special=40, cancel=20, tie=35)

# low, high: exponents of the smallest and the largest normal number; digits: bits of the fraction
Format = namedtuple("Format", "dtype storage bits digits low high fnuz")
FORMATS = {
    torch.float64: Format(torch.float64, torch.int64, 64, 52, -1022, 1023, False),
    torch.float32: Format(torch.float32, torch.int32, 32, 23, -126, 127, False),
    torch.float16: Format(torch.float16, torch.int16, 16, 10, -14, 15, False),
    torch.bfloat16: Format(torch.bfloat16, torch.int16, 16, 7, -126, 127, False),
    torch.float8_e4m3fnuz: Format(torch.float8_e4m3fnuz, torch.uint8, 8, 3, -7, 7, True),
    torch.float8_e5m2fnuz: Format(torch.float8_e5m2fnuz, torch.uint8, 8, 2, -15, 15, True),
}
Vector = namedtuple("Vector", "a b c")  # bit patterns; a and b are lists

HEAD = """\
## Dot products of {arch} matrix instructions as mmasim 2.1.1 computes them. Made by make_vectors.py; see README.md.
## A line "# SUFFIXES K" starts the vectors of the instructions v_mfma_SUFFIX (separated by commas), where K is the
## number of products: d = a[0] * b[0] + ... + a[K - 1] * b[K - 1] + c.
## Every other line is a vector: "a[0],...,a[K-1] b[0],...,b[K-1] c d", each value the bits of its type in hexadecimal.
## The suffix gives the types; the type of c and d is its first part. A d that is NaN is the word nan.
## Lines that start with ## are comments.
"""


# Numbers and bit patterns


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) and bits > 8 else value


def tensor(values, form):
    """The tensor of these bit patterns, a list or a list of lists."""
    if isinstance(values[0], list):
        return torch.stack([tensor(row, form) for row in values])
    return torch.tensor([signed(value, form.bits) for value in values], dtype=form.storage).view(form.dtype)


def patterns(numbers, form):
    """The bit patterns of the elements of a tensor with one dimension."""
    return [value & ((1 << form.bits) - 1) for value in numbers.view(form.storage).tolist()]


def encode(number, form):
    """The bit pattern of the nearest number. A number that is too large is infinite or the largest one."""
    if form.fnuz:
        largest = (2.0 - 2.0**-form.digits) * 2.0**form.high
        number = max(-largest, min(largest, number))
    return patterns(torch.tensor([number], dtype=torch.float64).to(form.dtype), form)[0]


def decode(pattern, form):
    return tensor([pattern], form).double().item()


def zero(rng, form):
    return 0 if form.fnuz else rng.getrandbits(1) << (form.bits - 1)


def infinity(rng, form):
    """An infinity, or the largest number of a format without them."""
    largest = (1 << (form.bits - 1)) - 1
    special = ((1 << (form.bits - 1 - form.digits)) - 1) << form.digits
    return zero(rng, form) | (largest if form.fnuz else special)


def nan(rng, form):
    if form.fnuz:
        return 1 << (form.bits - 1)
    few = rng.randrange(4) == 0
    return infinity(rng, form) | rng.randrange(1, 8 if few else 1 << form.digits)


def finite(rng, form):
    while True:
        pattern = rng.getrandbits(form.bits)
        if math.isfinite(decode(pattern, form)):
            return pattern


def scaled(rng, exponent, form):
    """A number with this exponent, or next to it if the format has none such, and a random fraction and sign."""
    exponent = max(form.low - form.digits, min(form.high, exponent))
    return encode(rng.choice([-1, 1]) * math.ldexp(rng.uniform(1, 2 - 2.0**-form.digits), exponent), form)


def denormal(rng, form):
    sign = rng.getrandbits(1) << (form.bits - 1)
    return sign | rng.randrange(1, 1 << form.digits)


def tiny(rng, form):
    return rng.choice([zero(rng, form), denormal(rng, form), denormal(rng, form), scaled(rng, form.low + 1, form)])


def products(a, b, ab):
    return [decode(x, ab[0]) * decode(y, ab[1]) for x, y in zip(a, b)]


def against(rng, a, b, ab, form):
    """A c that nearly cancels the products."""
    total = sum(products(a, b, ab))
    if not math.isfinite(total) or total == 0:
        return finite(rng, form)
    limit = 2.0 ** (form.high - 1)
    return encode(-max(-limit, min(limit, total)) * (1 + rng.choice([0, 1, -1]) * 2.0 ** rng.randint(-30, 1)), form)


def beside(rng, a, b, ab, form):
    """A c whose exponent is at most 40 away from the largest product's, often where it is just lost."""
    largest = max(abs(product) for product in products(a, b, ab))
    if not math.isfinite(largest) or largest == 0:
        return finite(rng, form)
    return scaled(rng, math.frexp(largest)[1] + rng.choice([rng.randint(-40, 30), rng.randint(-29, -22)]), form)


# Kinds of inputs. ab has the formats of a and b, form is that of c.


def uniform(rng, k, ab, form):
    a, b = ([encode(rng.uniform(-1, 1), kind) for _ in range(k)] for kind in ab)
    return Vector(a, b, encode(rng.uniform(-1, 1), form))


def bits(rng, k, ab, form):
    a, b = ([finite(rng, kind) for _ in range(k)] for kind in ab)
    c = rng.choice([against(rng, a, b, ab, form), beside(rng, a, b, ab, form), finite(rng, form)])
    return Vector(a, b, c)


def banded(rng, k, ab, form):
    """Exponents near each other, so that every product has its share in the sum."""
    a, b = (band(rng, k, kind) for kind in ab)
    return Vector(a, b, rng.choice([against, beside])(rng, a, b, ab, form))


def band(rng, k, form):
    width = rng.choice([2, 6, 14])
    middle = rng.randint(form.low // 3, form.high // 3)
    return [scaled(rng, middle + rng.randint(-width, width), form) for _ in range(k)]


def tiny_numbers(rng, k, ab, form):
    """Zeros and denormals, and results that are denormal."""
    a = [tiny(rng, ab[0]) for _ in range(k)]
    case = rng.randrange(3)
    if case == 0:
        b = [tiny(rng, ab[1]) for _ in range(k)]
    elif case == 1:
        b = [scaled(rng, rng.randint(-3, 3), ab[1]) for _ in range(k)]
    else:
        a, b = underflowing(rng, k, ab, form)
    if ab[0] == ab[1] and rng.random() < 0.5:
        a, b = b, a
    c = rng.choice([tiny(rng, form), tiny(rng, form), against(rng, a, b, ab, form), beside(rng, a, b, ab, form)])
    return Vector(a, b, c)


def underflowing(rng, k, ab, form):
    """Products around the smallest normal number of c, or the smallest there are."""
    a, b = [], []
    for _ in range(k):
        exponent = form.low + rng.randint(-form.digits - 6, 4)
        a.append(scaled(rng, exponent // 2 + rng.randint(-8, 8), ab[0]))
        b.append(scaled(rng, exponent - math.frexp(decode(a[-1], ab[0]))[1], ab[1]))
    return a, b


def special(rng, k, ab, form):
    """Infinities, NaN and overflow."""
    return rng.choice([infinite, not_a_number, overflow])(rng, k, ab, form)


def infinite(rng, k, ab, form):
    a, b, c = usual(rng, k, ab, form)
    at, other, case = rng.randrange(k), rng.randrange(k), rng.randrange(5)
    if case in (0, 1, 2):
        a[at] = infinity(rng, ab[0])
    if case == 1:
        b[at] = rng.choice([zero(rng, ab[1]), denormal(rng, ab[1])])
    if case in (2, 3):
        b[other] = infinity(rng, ab[1])
    if case in (3, 4):
        c = infinity(rng, form)
    return Vector(a, b, c)


def not_a_number(rng, k, ab, form):
    a, b, c = usual(rng, k, ab, form)
    at, case = rng.randrange(k), rng.randrange(4)
    if case == 0:
        a[at] = nan(rng, ab[0])
    elif case == 1:
        b[at] = nan(rng, ab[1])
    elif case == 2:
        a[at], b[at] = zero(rng, ab[0]), nan(rng, ab[1])
    else:
        c = nan(rng, form)
    return Vector(a, b, c)


def usual(rng, k, ab, form):
    """Finite numbers, sometimes large ones."""
    a, b = (band(rng, k, kind) for kind in ab)
    if rng.random() < 0.2:
        a, b = large(rng, k, ab, form, form.high)
    return a, b, rng.choice([scaled(rng, rng.randint(-20, 20), form), zero(rng, form)])


def overflow(rng, k, ab, form):
    """One product that overflows, or several, or their sum with c; or a sum that is just below."""
    case = rng.randrange(4)
    if case == 0:
        a, b, c = usual(rng, k, ab, form)
        at = rng.randrange(k)
        a[at], b[at] = scaled(rng, ab[0].high, ab[0]), scaled(rng, ab[1].high, ab[1])
    elif case == 1:
        a, b = large(rng, k, ab, form, rng.randint(form.high - 2, form.high + 2))
        c = scaled(rng, form.high - rng.randint(0, 3), form)
    elif case == 2:
        a, b = large(rng, k, ab, form, form.high - form.digits - rng.randint(0, 4))
        c = encode(rng.choice([-1, 1]) * math.ldexp(2.0 - 2.0**-form.digits, form.high), form)
    else:
        a, b = large(rng, k, ab, form, form.high + 3)
        c = rng.choice([infinity(rng, form), scaled(rng, form.high, form)])
    return Vector(a, b, c)


def large(rng, k, ab, form, exponent):
    """Products with about this exponent, or the largest there are."""
    a = [scaled(rng, exponent // 2 + rng.randint(-2, 2), ab[0]) for _ in range(k)]
    b = [scaled(rng, exponent - math.frexp(decode(x, ab[0]))[1] + rng.randint(0, 2), ab[1]) for x in a]
    return a, b


def cancel(rng, k, ab, form):
    """Sums that are exactly zero, and zeros of both signs."""
    case = rng.randrange(5)
    if case == 0:
        a, b = [zero(rng, ab[0])] * k, [scaled(rng, rng.randint(-3, 3), ab[1]) for _ in range(k)]
        return Vector(a, b, rng.choice([zero(rng, form), denormal(rng, form), finite(rng, form)]))
    if case == 1:
        minus = encode(-0.0, ab[0])
        return Vector([minus] * k, [encode(rng.randint(0, 2), ab[1]) for _ in range(k)], zero(rng, form))
    a, b = [encode(rng.randint(-7, 7), ab[0]) for _ in range(k)], [encode(rng.randint(-7, 7), ab[1]) for _ in range(k)]
    if case == 2 or k == 1:
        return Vector(a, b, encode(-sum(products(a, b, ab)), form))
    for i in range(0, k, 2):
        a[i + 1], b[i + 1] = encode(-decode(a[i], ab[0]), ab[0]), b[i]
    a = [zero(rng, ab[0]) if decode(x, ab[0]) == 0 else x for x in a]
    return Vector(a, b, zero(rng, form) if case == 3 else tiny(rng, form))


def tie(rng, k, ab, form):
    """A c whose last digit is 1, a product that makes the sum a tie, and one that breaks it or is too small to."""
    last = rng.choice([0, 0, 2 * rng.getrandbits(form.digits - 1), rng.choice([1, 3, 2**form.digits - 1])])
    sign = rng.choice([-1, 1])
    a, b = [zero(rng, ab[0])] * k, [encode(rng.choice([-1, 1]), ab[1]) for _ in range(k)]
    first = rng.randrange(k)
    if rng.random() < 0.3:
        for at in range(k):
            a[at], b[at] = power(rng.choice([-3, -5, -14]), rng.choice([-1, 1]), ab)
    a[first ^ (k > 1)], b[first ^ (k > 1)] = power(rng.choice([-12, -10, -9, -9, -8, -8, -7]), rng.choice([-1, 1]), ab)
    below = last == 0 and rng.random() < 0.5
    a[first], b[first] = power(-2, -sign, ab) if below else power(-1, rng.choice([-1, 1]), ab)
    return Vector(a, b, encode(sign * (2**form.digits + last), form))


def power(exponent, sign, ab):
    """Two powers of two with this product."""
    part = max(ab[0].low, exponent // 2)
    return encode(sign * 2.0**part, ab[0]), encode(2.0 ** (exponent - part), ab[1])


KINDS = dict(uniform=uniform, bits=bits, banded=banded, tiny=tiny_numbers, special=special, cancel=cancel, tie=tie)


# What the model makes of them


def formats(model):
    return (FORMATS[model.a_type], FORMATS[model.b_type]), FORMATS[model.c_type]


def operands(vectors, model):
    ab, form = formats(model)
    a = tensor([vector.a for vector in vectors], ab[0])
    b = tensor([vector.b for vector in vectors], ab[1])
    return a, b, tensor([vector.c for vector in vectors], form)


def evaluate(vectors, model):
    a, b, c = operands(vectors, model)
    return results(model.dpa(a, b, c), formats(model)[1])


def results(numbers, form):
    return [None if value != value else pattern for value, pattern in zip(numbers.tolist(), patterns(numbers, form))]


def left_out(vector, d, model):
    """Why the model's result is not to be taken for the hardware's, or None."""
    ab, form = formats(model)
    values = [decode(x, ab[0]) for x in vector.a] + [decode(x, ab[1]) for x in vector.b]
    c = decode(vector.c, form)
    if model.suffix.endswith("xf32") and any(low_nan(x) for x in vector.a + vector.b):
        return "NaN in low bits"
    if d is not None and any(math.isnan(value) for value in values + [c]):
        return "NaN lost"
    if d is not None and math.isinf(c) and d != vector.c:
        return "infinite c lost"
    if isinstance(model.arithmetic_op, MMA_E_FDPA) and all(map(math.isfinite, values + [c])):
        return None if exact(vector, model) == d else "not rounded correctly"
    return None


def low_nan(pattern):
    """Whether it is a NaN whose upper 19 bits are an infinity's."""
    return 0 < pattern & 0x7FFFFFFF ^ 0x7F800000 < 1 << 13


def exact(vector, model):
    """The result if every group's sum is exact and rounded once, for finite operands."""
    ab, form = formats(model)
    size = group_size(model)
    total = Fraction(decode(vector.c, form))
    for i in range(0, model.k, size):
        total += sum(map(Fraction, products(vector.a[i : i + size], vector.b[i : i + size], ab)))
        total, pattern = rounded(total)
        if total is None:
            return pattern  # and it stays infinite, because all operands are finite
    return pattern


def rounded(total):
    """The nearest f32, ties to even, and its bit pattern. An infinity is None; a sum that is exactly zero is +0."""
    if total == 0:
        return total, 0
    sign = 0x80000000 if total < 0 else 0
    size = abs(total)
    exponent = max(-126, size.numerator.bit_length() - size.denominator.bit_length() - 1)
    exponent += size >= Fraction(2) ** (exponent + 1)
    unit = Fraction(2) ** (exponent - 23)
    digits = round(size / unit)
    pattern = sign | min(0x7F800000, (exponent + 126 << 23) + digits)
    return (None if digits * unit >= 2**128 else digits * unit * (-1 if sign else 1)), pattern


def make(rng, model, omitted):
    ab, form = formats(model)
    found = {}
    for kind, count in COUNTS.items():
        found[kind] = []
        while len(found[kind]) < count:
            vector = KINDS[kind](rng, model.k, ab, form)
            d = evaluate([vector], model)[0]
            reason = left_out(vector, d, model)
            if reason:
                omitted[model.arch, model.suffix, reason] += 1
            else:
                found[kind].append((vector, d))
    return found


# Checks of the model


def check_matrices(model, vectors, expected):
    """The diagonal of D has the dot products' results, any other element that of its row, column and element of C."""
    size = model.m
    assert model.n == size
    for start in range(0, len(vectors), size):
        numbers = [(start + i) % len(vectors) for i in range(size)]
        a, b, c = operands([vectors[number] for number in numbers], model)
        square = torch.stack([c.roll(i) for i in range(size)])
        square[range(size), range(size)] = c
        whole = model(a, b.T, square)
        for i in range(size):
            singly = model.dpa(a[i].repeat(size, 1), b, square[i])
            form = formats(model)[1]
            assert results(whole[i], form) == results(singly, form), model.suffix
            assert results(whole[i], form)[i] == expected[numbers[i]], model.suffix


def group_size(model):
    operation = model.arithmetic_op
    return min(model.k, getattr(operation, "L_max", getattr(operation, "P", 1)))


def check_groups(model, vectors, expected):
    """The result is that of one group of products after the other, and their order matters."""
    size = group_size(model)
    starts = range(0, model.k, size)
    expected = plain_zeros(expected, model)
    assert chain(model, vectors, size, starts) == expected, model.suffix
    if len(starts) > 1:
        assert chain(model, vectors, size, reversed(starts)) != expected, model.suffix


def chain(model, vectors, size, starts):
    a, b, c = operands(vectors, model)
    for i in starts:
        c = model.dpa(a[:, i : i + size], b[:, i : i + size], c)
    return plain_zeros(results(c, formats(model)[1]), model)


def plain_zeros(patterns, model):
    """Without -0 on CDNA2, where c = -0 is read as +0, but a group's result of -0 stays for the next group."""
    negative = 1 << (formats(model)[1].bits - 1)
    return [0 if model.arch == "CDNA2" and pattern == negative else pattern for pattern in patterns]


# The files


def classes(arch):
    """The instructions with the same arithmetic, types and K, which differ in their shapes only."""
    found = {}
    for suffix in arch_mfma_suffix[arch]:
        model = MFMA(arch, suffix)
        operation = model.arithmetic_op
        key = type(operation), str(vars(operation)), model.a_type, model.b_type, model.c_type, model.k
        found.setdefault(key, []).append(model)
    return list(found.values())


def text(vector, d, model):
    ab, form = formats(model)
    a = ",".join(f"{x:0{ab[0].bits // 4}x}" for x in vector.a)
    b = ",".join(f"{x:0{ab[1].bits // 4}x}" for x in vector.b)
    digits = form.bits // 4
    return f"{a} {b} {vector.c:0{digits}x} " + ("nan" if d is None else f"{d:0{digits}x}")


def write(arch, folder, omitted):
    lines = []
    for models in classes(arch):
        model = models[0]
        rng = random.Random(f"{SEED} {arch} {model.suffix}")
        found = make(rng, model, omitted)
        pairs = [pair for kind in found.values() for pair in kind]
        vectors, expected = [vector for vector, _ in pairs], [d for _, d in pairs]
        assert evaluate(vectors, model) == expected
        for other in models:
            check_matrices(other, vectors, expected)
            check_groups(other, vectors, expected)
        lines.append(f"# {','.join(other.suffix for other in models)} {model.k}")
        for kind, some in found.items():
            lines.append(f"## {kind}")
            lines += [text(vector, d, model) for vector, d in some]
        print(arch, lines[-len(pairs) - len(found) - 1][2:], f"{len(pairs)} vectors, groups of {group_size(model)}")
    (folder / f"{FILES[arch]}.txt").write_text(HEAD.format(arch=FILES[arch]) + "\n".join(lines) + "\n")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    torch.set_num_threads(1)
    omitted = Counter()
    for arch in FILES:
        write(arch, folder, omitted)
    for (arch, suffix, reason), count in sorted(omitted.items()):
        print(f"left out: {arch} {suffix}: {reason}: {count}")


if __name__ == "__main__":
    main()
