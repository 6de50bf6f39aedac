"""Numbers as kernel arguments, by the names that Triton's signatures have for their types."""

import math
import struct
from typing import Callable, NamedTuple


class Scalar(NamedTuple):
    """A type: its code in `struct`, bytes, name in C++, and how a number of Python becomes a value
    for the code.
    """

    code: str
    size: int
    cpp: str
    convert: Callable


def _integer(bits):
    mask = (1 << bits) - 1
    # Negative numbers as two's complement.
    return lambda number: int(number) & mask


def _float(code):
    pack = struct.Struct(f"<{code}").pack

    def convert(number):
        number = float(number)
        try:
            pack(number)
        except OverflowError:
            # As a conversion in C: beyond the largest number is infinity.
            return math.copysign(math.inf, number)
        return number

    return convert


def _bfloat16(number):
    # The upper half of a single-precision number, as Triton's launcher for HIP passes it.
    return struct.unpack("<I", struct.pack("<f", _float("f")(number)))[0] >> 16


_INTEGERS = {8: "B", 16: "H", 32: "I", 64: "Q"}

SCALARS = {
    "fp16": Scalar("e", 2, "double", _float("e")),
    "bf16": Scalar("H", 2, "double", _bfloat16),
    "fp32": Scalar("f", 4, "double", _float("f")),
    "f32": Scalar("f", 4, "double", _float("f")),
    "fp64": Scalar("d", 8, "double", float),
    "i1": Scalar("B", 1, "int8_t", lambda value: int(bool(value))),
    "u1": Scalar("B", 1, "uint8_t", lambda value: int(bool(value))),
    **{f"i{bits}": Scalar(code, bits // 8, f"int{bits}_t", _integer(bits)) for bits, code in _INTEGERS.items()},
    **{f"u{bits}": Scalar(code, bits // 8, f"uint{bits}_t", _integer(bits)) for bits, code in _INTEGERS.items()},
}
