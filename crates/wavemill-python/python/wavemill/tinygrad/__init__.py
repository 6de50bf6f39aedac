"""Run tinygrad's AMD kernels on the CPU.

    import wavemill.tinygrad
    from tinygrad import Tensor

    print((Tensor([1.0, 2.0], device="WAVEMILL") * 2).tolist())

The import registers the device WAVEMILL with tinygrad. `DEV=WAVEMILL` makes it the default device.
`python -m wavemill.tinygrad SCRIPT` runs programs that do not have the import, and
`pytest -p wavemill.tinygrad` runs tests.

Environment:
WAVEMILL_TARGET: a target or product, such as gfx950 or mi300x; gfx942 by default.
WAVEMILL_THREADS: host threads of a launch; by default as many as the host has cores.
WAVEMILL_TIME: what `DEBUG=2` and `BEAM` see: `host` for seconds of the host, which is the default, or
    `instructions` for a nanosecond for each instruction of a wave, which is the same in every run.
"""

import sys as _sys

#: The version of tinygrad that this module is made for.
TINYGRAD = "0.14.0"


def _found():
    """The version of tinygrad, for messages."""
    from importlib import metadata

    try:
        return f"version {metadata.version('tinygrad')}"
    except metadata.PackageNotFoundError:
        return "a copy without a version"


def _register():
    """Makes the device known to tinygrad."""
    try:
        import tinygrad
    except ModuleNotFoundError as error:
        if error.name != "tinygrad":
            raise
        raise ModuleNotFoundError(
            f"wavemill.tinygrad needs tinygrad, which is not installed: pip install tinygrad=={TINYGRAD}",
            name="tinygrad",
        ) from None
    from . import llvm

    llvm.choose()
    try:
        from . import device
    except ImportError as error:
        if not (error.name or "").startswith("tinygrad"):
            raise
        raise ImportError(
            f"wavemill.tinygrad is made for tinygrad {TINYGRAD}, and found {_found()} in "
            f"{tinygrad.__path__[0]}: {error}"
        ) from error
    # tinygrad imports `tinygrad.runtime.ops_wavemill` when a program names the device.
    _sys.modules.setdefault("tinygrad.runtime.ops_wavemill", device)
    devices = tinygrad.Device._devices
    if "WAVEMILL" not in devices:
        devices.append("WAVEMILL")
    return device


_device = _register()

WavemillDevice = _device.WavemillDevice
Totals = _device.Totals

from .emulator import Dispatch, run_asm  # noqa: E402

__all__ = ["TINYGRAD", "Dispatch", "Totals", "WavemillDevice", "run_asm"]
