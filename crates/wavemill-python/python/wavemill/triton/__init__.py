"""A back end of Triton that runs kernels on the CPU: Triton compiles them for an AMD GPU, and
Wavemill runs the machine code.

    TRITON_DEFAULT_BACKEND=wavemill WAVEMILL_TARGET=mi355x python softmax.py

Kernels take tensors of PyTorch on the CPU, or arrays of numpy:

    import numpy, wavemill.triton

    x = wavemill.triton.array(numpy.arange(1024, dtype=numpy.float32))
    kernel[(4,)](x, 1024, BLOCK=256)

Triton imports this package in every program, through the entry point of the group
`triton.backends`. So nothing here imports more than the standard library and `triton.backends`
before the back end is chosen.
"""

import sys as _sys

if "triton" not in _sys.modules:
    # Triton must come first: while it is imported, it looks for complete modules `compiler` and
    # `driver` here.
    try:
        import triton as _triton  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "triton":
            raise
        raise ModuleNotFoundError("wavemill.triton needs Triton: pip install triton", name="triton") from None

__all__ = ["Array", "array", "last_stats"]


def __getattr__(name):
    # The type is there without numpy only once it is used.
    if name == "Array":
        from .arrays import Array

        return Array
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})


def array(array):
    """An argument for Triton's kernels that has the memory of an array of numpy: nothing is copied.

    The element types of ml_dtypes are supported, too: `bfloat16`, `float8_e4m3fn`, `float8_e5m2`,
    `float8_e4m3fnuz` and `float8_e5m2fnuz`. A kernel that writes to an array with
    `flags.writeable = False` is at fault.
    """
    from .arrays import Array

    return Array(array)


def last_stats():
    """Statistics of the last launch of this thread, a `wavemill.Stats`; `None` before the first."""
    from .launcher import launches

    return launches.stats
