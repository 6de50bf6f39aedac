"""The device WAVEMILL of tinygrad: memory of this process, and launches in it."""

import ctypes
import dataclasses
import mmap
import os
import struct

from tinygrad.device import BufferSpec, Compiled, LRUAllocator, Program, TinyELF
from tinygrad.helpers import DEV, cpu_profile, round_up
from tinygrad.renderer.cstyle import HIPCCRenderer, HIPRenderer
from tinygrad.renderer.llvmir import AMDLLVMRenderer

import wavemill

from . import assembled

#: Targets that tinygrad's AMD renderers compile for; the first is the default. tinygrad uses matrix instructions of
#: gfx942 and gfx950 only.
TARGETS = ("gfx942", "gfx950", "gfx90a", "gfx908", "gfx906", "gfx900")

#: Instructions of a wave in a second of WAVEMILL_TIME=instructions.
INSTRUCTIONS_PER_SECOND = 1e9


class LaunchError(wavemill.Error, RuntimeError):
    """A launch is impossible, or took too long. BEAM search continues with the next candidate."""


def _clock():
    """What WAVEMILL_TIME says."""
    clock = os.environ.get("WAVEMILL_TIME") or "host"
    if clock not in ("host", "instructions"):
        raise wavemill.Error(f"WAVEMILL_TIME is `{clock}`; expected host or instructions")
    return clock


def target_name():
    """The target or product of new devices: that of DEV=WAVEMILL::gfx950, or WAVEMILL_TARGET."""
    return DEV.target("WAVEMILL").arch or os.environ.get("WAVEMILL_TARGET") or TARGETS[0]


def open_device(name):
    """The device of Wavemill for a target or product, and the name of its target in tinygrad."""
    threads = os.environ.get("WAVEMILL_THREADS") or None
    if threads is not None and not (threads.isdecimal() and int(threads)):
        raise wavemill.Error(f"WAVEMILL_THREADS is `{threads}`; expected a number of host threads")
    try:
        device = wavemill.Device(name, threads=None if threads is None else int(threads))
    except wavemill.Error as error:
        raise wavemill.Error(
            f"the target `{name}` does not run tinygrad: {error}; tinygrad runs on {', '.join(TARGETS)}, and products "
            "with these"
        ) from error
    return device, device.target.split(":")[0]


def _renderer(base, name):
    """A renderer of tinygrad for the targets of this package."""

    class Renderer(base):
        def __init__(self, target):
            super().__init__(target)
            # tinygrad stores results of BEAM search for the name of a device and this suffix.
            self.suffix = target.arch
            if not HIPRenderer.is_cdna(target.arch):
                # tinygrad takes targets that it does not know for RDNA 3.
                self.tensor_cores = []

    Renderer.__name__ = Renderer.__qualname__ = name
    Renderer.__doc__ = f"{base.__name__} of tinygrad for the targets of Wavemill."
    return Renderer


# tinygrad makes the names in DEV=WAVEMILL:LLVM of the names of these classes.
WavemillLLVMRenderer = _renderer(AMDLLVMRenderer, "WavemillLLVMRenderer")
WavemillHIPRenderer = _renderer(HIPRenderer, "WavemillHIPRenderer")
WavemillHIPCCRenderer = _renderer(HIPCCRenderer, "WavemillHIPCCRenderer")


class Memory:
    """An allocation, or a part of one.

    view: its bytes. padding: the bytes between the end of the allocation and that of its range.
    """

    __slots__ = ("padding", "view")

    def __init__(self, view, padding):
        self.view, self.padding = view, padding

    def part(self, offset, size):
        """A part of it."""
        return Memory(self.view[offset : offset + size], self.padding)


#: The alignment of arguments that tinygrad's LLVM renderer promises. LLVM reads a dozen bytes that are so aligned as
#: 16, thus a range ends at such an address.
ALIGNMENT = 32

#: The contents of padding.
PADDING = b"\xa5" * ALIGNMENT


class WavemillAllocator(LRUAllocator):
    """Memory of this process. Each allocation is one range for the checks of launches."""

    def _alloc(self, size, options: BufferSpec):
        if options.external_ptr is not None:
            memory = (ctypes.c_ubyte * size).from_address(options.external_ptr)
            return Memory(memoryview(memory).cast("B"), b"")
        # Pages of their own: vectors are aligned, and the host has the memory back when it is free.
        whole = memoryview(mmap.mmap(-1, round_up(size, ALIGNMENT)))
        padding = whole[size:]
        padding[:] = PADDING[: len(padding)]
        return Memory(whole[:size], padding)

    def _offset(self, buf, size, offset):
        return buf.part(offset, size)

    def _as_buffer(self, src):
        return src.view

    def _copyin(self, dest, src):
        dest.view[: len(src)] = src.cast("B")

    def _copyout(self, dest, src):
        dest.cast("B")[:] = src.view[: len(dest)]

    def _transfer(self, dest, src, sz, src_dev, dest_dev):
        dest.view[:sz] = src.view[:sz]


@dataclasses.dataclass
class Totals:
    """What a device has run since it was opened."""

    #: Launches.
    launches: int = 0
    #: Instructions of waves.
    instructions: int = 0
    #: Seconds of the host in which kernels ran.
    seconds: float = 0.0


class WavemillProgram(Program):
    """A kernel."""

    def __init__(self, dev, obj: TinyELF):
        self.dev, self.name, self.signature, self.profile_key = dev, obj.name, obj.signature, obj.profile_key
        self.lib = obj.lib
        file = assembled.code_object(obj.lib, obj.name, dev.arch) if assembled.is_assembled(obj.lib) else obj.lib
        self.kernel = dev.wavemill.load(file).kernel(obj.name)

    def __call__(self, *bufs, global_size=(1, 1, 1), local_size=(1, 1, 1), vals=(), wait=False, timeout=None):
        """Runs the kernel to its end. Returns seconds; `timeout` is in milliseconds."""
        clock = self.dev.clock
        limits = {}
        if timeout:
            if clock == "host":
                limits = {"time_limit": timeout / 1e3}
            else:
                limits = {"max_instructions": int(timeout / 1e3 * INSTRUCTIONS_PER_SECOND)}
        # Files do not say whether a parameter is an integer. Those of numbers are the last of the signature; variables
        # without one have 32 bits.
        kinds = [dtype.fmt for _, _, dtype, _ in self.signature[max(len(self.signature) - len(vals), 0) :]]
        kinds = ["i"] * (len(vals) - len(kinds)) + kinds
        vals = [wavemill.value(struct.pack(f"<{kind}", val)) for kind, val in zip(kinds, vals, strict=True)]
        bound = self.kernel[tuple(global_size), tuple(local_size)]
        try:
            with cpu_profile(self.name, self.dev.device, profile_key=self.profile_key):
                stats = bound(*[buf.view for buf in bufs], *vals, **limits)
        except (wavemill.GuestFault, wavemill.Stalled):
            raise
        except wavemill.Error as error:
            raise LaunchError(f"{self.name}: {error}") from error
        for index, buf in enumerate(bufs):
            if buf.padding != PADDING[: len(buf.padding)]:
                buf.padding[:] = PADDING[: len(buf.padding)]
                text = f"wrote to the {len(buf.padding)} bytes after the allocation that argument {index} is in"
                raise wavemill.GuestFault(f"`{self.name}` {text}", kernel=self.name)
        totals = self.dev.totals
        totals.launches += 1
        totals.instructions += stats.instructions
        totals.seconds += stats.seconds
        if not wait:
            return None
        return stats.seconds if clock == "host" else stats.instructions / INSTRUCTIONS_PER_SECOND


class WavemillDevice(Compiled):
    """The device WAVEMILL. WAVEMILL:1 and so on are further devices with the same memory."""

    def __init__(self, device=""):
        self.clock = _clock()
        self.wavemill, arch = open_device(target_name())
        self.totals = Totals()
        renderers = [WavemillLLVMRenderer, WavemillHIPRenderer, WavemillHIPCCRenderer]
        super().__init__(device, WavemillAllocator(self), renderers, WavemillProgram, arch=arch)

    def synchronize(self):
        """Does nothing: a launch is over when it returns."""
