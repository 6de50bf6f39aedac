"""Which kernels there are, with which types and constants."""

from typing import NamedTuple

VARIANTS = []
CDNA2 = ["gfx90a", "gfx942", "gfx950"]
CDNA3 = ["gfx942", "gfx950"]
CDNA4 = ["gfx950"]


class Variant(NamedTuple):
    name: str
    kernel: object
    types: list
    constants: dict
    warps: int
    stages: int
    # The targets that it is compiled for; None is all of them.
    only: list | None
    # Options of the compiler, such as kpack.
    options: dict
    # All arguments are multiples of 16 and all buffers below 2 GiB, which the launcher of Triton finds out.
    even: bool
    # A part of the message with which Triton refuses it; None if it compiles.
    refused: str | None = None


def add(kernel, name, types, warps=4, stages=2, only=None, options=None, even=False, refused=None, **constants):
    """Compile the kernel with these types of arguments (separated by blanks) and constants, as `name`."""
    VARIANTS.append(Variant(name, kernel, types.split(), constants, warps, stages, only, options or {}, even, refused))


def variant(*arguments, **keywords):
    """The same as a decorator."""

    def register(kernel):
        add(kernel, *arguments, **keywords)
        return kernel

    return register
