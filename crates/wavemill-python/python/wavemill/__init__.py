"""Run AMD GPU kernels on the CPU: no GPU, no driver, no ROCm.

    import numpy, wavemill

    module = wavemill.Module.load("vector_add.co")
    a, b = numpy.ones((2, 1024), numpy.float32)
    c = numpy.zeros_like(a)
    stats = module["vector_add"][4, 256](a, b, c, 1024)

Arrays pass to kernels without a copy. Faults of kernels are exceptions.
"""

from .errors import (
    ArgumentError,
    AssemblyError,
    Error,
    GuestFault,
    LimitReached,
    Stalled,
    Stopped,
    Unsupported,
)

__all__ = [
    "ArgumentError",
    "AssemblyError",
    "BoundKernel",
    "Device",
    "Error",
    "Facet",
    "Fidelity",
    "GuestFault",
    "InexactInstruction",
    "Kernel",
    "LimitReached",
    "MemoryAccess",
    "Module",
    "Parameter",
    "Scalar",
    "ScalarType",
    "Stalled",
    "Stats",
    "Step",
    "Stopped",
    "Trace",
    "Unsupported",
    "__version__",
    "asm",
    "bf16",
    "bool_",
    "dis",
    "explain",
    "f16",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "info",
    "local",
    "u8",
    "u16",
    "u32",
    "u64",
    "value",
]


def __getattr__(name):
    # The native module is loaded at its first use: Triton imports this package in every program if
    # it is installed, and must not fail with it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sys

    if "t" in getattr(sys, "abiflags", ""):
        raise ImportError(
            "wavemill does not support free-threaded Python yet: use an interpreter without the suffix t, such as "
            "python3.14"
        )
    from . import _wavemill

    names = globals()
    names.update((one, getattr(_wavemill, one)) for one in __all__ if one not in names)
    return names[name]


def __dir__():
    return sorted({*globals(), *__all__})
