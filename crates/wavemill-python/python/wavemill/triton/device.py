"""The device as Triton and programs ask about it."""

import contextlib
import time
from types import SimpleNamespace

import wavemill

# Work-items and vector registers of a compute unit: 4 SIMDs that each hold 8 or 10 waves, of which
# drivers report 2048 work-items, and 64 Ki registers for a workgroup.
_WORK_ITEMS = 2048
_REGISTERS = 65536


def device(target, host_memory):
    """The device that the environment variables name.

    # Errors
    `wavemill.Error` if there is no such target, or it cannot use arrays of the host.
    """
    try:
        made = wavemill.Device(target, host_memory=host_memory)
    except wavemill.ArgumentError as error:
        raise wavemill.ArgumentError(f"WAVEMILL_HOST_MEMORY: {error}") from None
    except wavemill.Error as error:
        raise wavemill.Error(f"WAVEMILL_TARGET: {error}") from None
    if _arch(made) == "gfx900":
        raise wavemill.Error(
            f"WAVEMILL_TARGET: Triton does not compile for gfx900 ({target}); expected a later target"
        )
    return made


def _arch(device):
    """The target without modes such as xnack."""
    return device.target.split(":")[0]


class Utils:
    """Loads kernels, and says how large the device is."""

    WAVE_SIZE = 64

    def __init__(self, device):
        self.device = device
        self.arch = _arch(device)

    def load_binary(self, name, kernel, shared, device):
        """The module, its kernel, vector registers and spilled registers of a work-item, and most
        work-items of a workgroup.
        """
        module = wavemill.Module.load(kernel, self.device)
        function = module.kernel(name)
        facts = _facts(wavemill.info(kernel), name)
        return module, function, facts["vgprs"], facts["scratch"] // 4, function.max_block

    def unload_module(self, module):
        """The module ends with its last reference."""

    def get_device_properties(self, device):
        """What Triton's driver for HIP says. Clocks are in kHz and the width of the bus in bits;
        they are those of no product, and bandwidths that programs compute of them mean nothing.
        """
        return {
            "max_shared_mem": self.device.lds_size,
            "max_num_regs": _REGISTERS,
            "multiprocessor_count": self.device.compute_units,
            "sm_clock_rate": 1_000_000,
            "mem_clock_rate": 1_000_000,
            "mem_bus_width": 4096,
            "arch": self.arch,
            "warpSize": self.WAVE_SIZE,
            "max_threads_per_sm": _WORK_ITEMS,
            "cooperativeLaunch": 1,
        }


def _facts(info, name):
    objects = [info] + [entry for bundle in info.get("bundles") or () for entry in bundle["entries"]]
    for one in objects:
        for kernel in (one.get("object") or one).get("kernels") or ():
            if kernel["name"] == name:
                return kernel
    raise wavemill.Error(f"the code object has no kernel `{name}`")


class Event:
    """A time on the host: launches end before they return."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self._time = None

    def record(self, stream=None):
        self._time = time.perf_counter()

    def elapsed_time(self, end):
        """Milliseconds to another event."""
        if self._time is None or end._time is None:
            raise RuntimeError("both events must be recorded before their time can be read")
        return (end._time - self._time) * 1e3

    def query(self):
        return True

    def synchronize(self):
        pass

    def wait(self, stream=None):
        pass


class Stream:
    """The only stream: launches run one after another."""

    cuda_stream = 0
    device_index = 0

    def __init__(self, device=None, priority=0, **_):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event


class Interface:
    """What Triton and programs use of `torch.cuda`."""

    Event = Event
    Stream = Stream

    def __init__(self, utils):
        self._utils = utils

    def is_available(self):
        return True

    def device_count(self):
        return 1

    def current_device(self):
        return 0

    def set_device(self, device):
        self._check(device)

    def _check(self, device):
        if isinstance(device, str):
            _, _, number = device.partition(":")
            index = int(number) if number else None
        else:
            index = device if isinstance(device, int) else getattr(device, "index", None)
        # -1 is the current device.
        if index not in (None, -1, 0):
            raise ValueError(f"there is no device {index}; Wavemill has the device 0 alone")

    def synchronize(self, device=None):
        pass

    def current_stream(self, device=None):
        return Stream()

    def default_stream(self, device=None):
        return Stream()

    def ExternalStream(self, stream, device=None):
        return Stream()

    def stream(self, stream):
        return contextlib.nullcontext()

    def get_device_name(self, device=None):
        self._check(device)
        return f"Wavemill {self._utils.device.product} ({self._utils.arch})"

    def get_device_capability(self, device=None):
        """The numbers in the name of the target: (9, 4) for gfx942."""
        self._check(device)
        number = self._utils.arch.removeprefix("gfx")
        return int(number[:-2]), int(number[-2], 16)

    def get_device_properties(self, device=None):
        self._check(device)
        properties = self._utils.get_device_properties(0)
        major, minor = self.get_device_capability()
        return SimpleNamespace(
            name=self.get_device_name(),
            major=major,
            minor=minor,
            gcnArchName=self._utils.arch,
            multi_processor_count=properties["multiprocessor_count"],
            max_threads_per_multi_processor=properties["max_threads_per_sm"],
            shared_memory_per_block=properties["max_shared_mem"],
            regs_per_multiprocessor=properties["max_num_regs"],
            warp_size=properties["warpSize"],
            total_memory=_host_memory(),
        )


def _host_memory():
    import os

    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
