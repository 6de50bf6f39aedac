"""Puts Wavemill into tinygrad's mock driver of AMD: `pytest -p wavemill.tinygrad.mockgpu`.

The mock driver is in tinygrad's repository, not in its wheel: the folder `test` of the repository must be importable.
`DEV=MOCKKFD+AMD:LLVM:gfx950` and `DEV=MOCKKFD+AMD:LLVM:gfx942` select it. Kernels may access the memory that is mapped
for the GPU.
"""

from tinygrad.helpers import DEV
from tinygrad.runtime.support.amd import import_module

from .emulator import Dispatch, run_asm


def _model_gfx942():
    """Makes the mock driver's GPU a gfx942: its own CDNA chip is gfx950."""
    import test.mockgpu.amd.amdgpu as amdgpu

    amdgpu.MOCKGPU_ARCH, amdgpu.GFX_TARGET_VERSION = "cdna4", 90402
    amdgpu.gpu_props = amdgpu._gpu_props_cdna.replace("lds_size_in_kb 160", "lds_size_in_kb 64")


def install():
    """Replaces the emulator of the mock driver, and gives it what a dispatch has."""
    import test.mockgpu.amd.amdgpu as amdgpu

    if DEV.target("AMD").arch.startswith("gfx942"):
        # Before the driver reads them.
        _model_gfx942()
    import test.mockgpu.amd.emu as emu

    emu.run_asm = run_asm
    # Registers by number, as the mock driver has them: those of one segment are at the same distance on all chips.
    numbers = import_module("gc", (9, 4, 3), submod="regs")
    first = numbers["regCOMPUTE_PGM_RSRC2"][0] - amdgpu.regCOMPUTE_PGM_RSRC2
    rsrc1, rsrc3 = (numbers[f"regCOMPUTE_PGM_RSRC{number}"][0] - first for number in (1, 3))
    dispatch_direct = amdgpu.PM4Executor._exec_dispatch_direct

    def dispatch(executor, *arguments):
        registers = executor.gpu.regs

        def register(number):
            try:
                return registers[number]
            except KeyError:
                return None

        with Dispatch(rsrc1=register(rsrc1), rsrc3=register(rsrc3)):
            return dispatch_direct(executor, *arguments)

    amdgpu.PM4Executor._exec_dispatch_direct = dispatch


install()
