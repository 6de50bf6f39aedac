"""`run_asm` with the signature of tinygrad's emulator of AMD's instructions, for its mock driver.

The signature is that of `test/mockgpu/amd/emu.py` at revision a9069c177a9d (22 August 2026), to which tinygrad 0.14.0
belongs. `wavemill.tinygrad.mockgpu` puts the function there.
"""

import os
import sys
import threading

from tinygrad.helpers import DEV, round_up

from .. import machine_code
from ..errors import Error
from .device import ALIGNMENT

#: GRANULATED_LDS_SIZE of COMPUTE_PGM_RSRC2: its first bit and its mask. tinygrad counts units of 512 bytes.
LDS_SHIFT, LDS_MASK, LDS_UNIT = 15, 0x1FF, 512

#: What the signature does not have, for calls of one thread: see `Dispatch`.
_dispatch = threading.local()


class Dispatch:
    """What the hardware has at a dispatch and `run_asm` does not receive: a context for its calls.

    rsrc1, rsrc3: the registers COMPUTE_PGM_RSRC1 and 3.
    ranges: pairs of an address and a size: memory that is mapped for the GPU.
    """

    def __init__(self, *, rsrc1=None, rsrc3=None, ranges=None):
        self.rsrc1, self.rsrc3, self.ranges = rsrc1, rsrc3, ranges

    def __enter__(self):
        self.outer = getattr(_dispatch, "current", None)
        _dispatch.current = self
        return self

    def __exit__(self, *_):
        _dispatch.current = self.outer


def mapped_ranges():
    """The memory that tinygrad's mock driver has mapped for the GPU, in units in which LLVM may read it.

    Raises Error if the mock driver is not loaded.
    """
    driver = sys.modules.get("test.mockgpu.amd.amdgpu")
    if driver is None:
        raise Error(
            "run_asm needs the memory that the code may access: call it in "
            "`with Dispatch(ranges=[(address, size), ...])`, or through tinygrad's mock driver"
        )
    return [(start, round_up(size, ALIGNMENT)) for start, size in driver.remu.valid_mem_ranges]


def target_of(arch):
    """The target for tinygrad's name of a family of instructions.

    Raises Error for families other than CDNA.
    """
    if arch != "cdna":
        raise Error(
            f"run_asm: the instructions are those of {arch}; expected cdna, which DEV=MOCKKFD+AMD:LLVM:gfx950 has"
        )
    return DEV.target("AMD").arch or os.environ.get("WAVEMILL_TARGET") or "gfx950"


def run_asm(
    lib,
    lib_sz,
    gx,
    gy,
    gz,
    lx,
    ly,
    lz,
    args_ptr,
    rsrc2=0x19C,
    scratch_size=0,
    arch="cdna",
    user_data=None,
):
    """Runs machine code, and returns 0.

    lib, lib_sz: the address of the first instruction, and bytes to the end of its memory.
    gx, gy, gz: workgroups. lx, ly, lz: work-items of a workgroup.
    args_ptr: the address of the kernel arguments, for s0 and s1 if user_data is None.
    rsrc2: the register COMPUTE_PGM_RSRC2. scratch_size: bytes of private memory of a work-item.
    arch: "cdna". The target is that of DEV or of WAVEMILL_TARGET; gfx950 by default.
    user_data: s0 and so on.

    Code may access what `Dispatch` lists, or else what the mock driver has mapped for the GPU. Raises GuestFault and
    the like.
    """
    target = target_of(arch)
    dispatch = getattr(_dispatch, "current", None) or Dispatch()
    ranges = mapped_ranges() if dispatch.ranges is None else dispatch.ranges
    if not user_data:
        user_data = [args_ptr & 0xFFFFFFFF, args_ptr >> 32]
    machine_code.run_code(
        target,
        lib,
        lib_sz,
        grid=(gx, gy, gz),
        block=(lx, ly, lz),
        ranges=ranges,
        user_sgprs=user_data,
        rsrc1=machine_code.DEFAULT_RSRC1 if dispatch.rsrc1 is None else dispatch.rsrc1,
        rsrc2=rsrc2,
        rsrc3=machine_code.DEFAULT_RSRC3 if dispatch.rsrc3 is None else dispatch.rsrc3,
        scratch_size=scratch_size,
        lds_size=(rsrc2 >> LDS_SHIFT & LDS_MASK) * LDS_UNIT,
        threads=int(os.environ.get("WAVEMILL_THREADS") or 0),
    )
    return 0
