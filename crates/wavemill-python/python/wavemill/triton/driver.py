"""The driver that Triton asks each back end for."""

import os

from triton.backends.driver import DriverBase

# The environment variables that users set.
BACKEND = "TRITON_DEFAULT_BACKEND"
TARGET = "WAVEMILL_TARGET"
HOST_MEMORY = "WAVEMILL_HOST_MEMORY"
# The product without WAVEMILL_TARGET.
DEFAULT_TARGET = "mi300x"


class WavemillDriver(DriverBase):
    """Loads and launches kernels in this process."""

    def __init__(self):
        super().__init__()
        _check_triton()
        from .device import Interface, Utils, device
        from .launcher import Launcher

        self.device = device(os.environ.get(TARGET, DEFAULT_TARGET), os.environ.get(HOST_MEMORY, "arguments"))
        self.utils = Utils(self.device)
        self.launcher_cls = Launcher
        self._interface = Interface(self.utils)
        self.get_device_capability = self._interface.get_device_capability

    @classmethod
    def is_active(cls):
        """Only if it is asked for: another back end may be the one for this machine."""
        return os.environ.get(BACKEND) == "wavemill"

    def map_python_to_cpp_type(self, ty):
        from .scalars import SCALARS

        if ty.startswith("*"):
            return "void*"
        return SCALARS[ty].cpp

    def get_current_target(self):
        from triton import knobs
        from triton.backends.compiler import GPUTarget

        arch = knobs.runtime.override_arch or self.utils.arch
        return GPUTarget("hip", arch, self.utils.WAVE_SIZE)

    def get_current_device(self):
        return self._interface.current_device()

    def set_current_device(self, device):
        self._interface.set_device(device)

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        import torch

        from . import pretend

        return pretend.DEVICE if pretend.active else torch.device("cpu")

    def get_device_interface(self):
        return self._interface

    def get_benchmarker(self):
        """The benchmark of the autotuner: how many instructions the kernels of one call run.

        The time on the host says little about a GPU, and is another one each time.
        """
        from .launcher import launches

        def benchmark(call, quantiles=None, **_):
            before = launches.instructions
            call()
            cost = float(launches.instructions - before)
            return cost if quantiles is None else [cost] * len(quantiles)

        return benchmark

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache):
        pass

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args

    def allocate_default_profile_scratch(self, size, alignment, stream):
        from .memory import Scratch

        return Scratch(size, alignment)


def _check_triton():
    """Triton's launchers have no stable interface: it must be one that this package knows."""
    import triton
    import triton.backends.driver as contract

    import wavemill

    if not all(hasattr(contract, name) for name in ("decompose_descriptor", "expand_signature")):
        raise wavemill.Error(f"wavemill.triton needs Triton 3.9 or later, found {triton.__version__}")


# As for the compiler: an abstract class would fail `import triton`.
WavemillDriver.__abstractmethods__ = frozenset()
