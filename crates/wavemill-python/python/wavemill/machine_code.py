"""Machine code without a code object, on memory of this process: `wm_run_code` of the C interface."""

from . import _wavemill

#: `rsrc1` for code of which nothing is known: all registers; denormals, DX10_CLAMP and IEEE_MODE.
DEFAULT_RSRC1 = 0x00AF033F

#: `rsrc3` for code of which nothing is known: 256 VGPRs, and the others are AccVGPRs.
DEFAULT_RSRC3 = 63


def run_code(
    target,
    code,
    code_size,
    *,
    grid,
    block,
    ranges=(),
    user_sgprs=(),
    rsrc1=DEFAULT_RSRC1,
    rsrc2=0,
    rsrc3=DEFAULT_RSRC3,
    scratch_size=0,
    lds_size=0,
    threads=None,
    max_instructions=None,
    find_stalls=True,
):
    """Runs machine code at an address of this process, and returns the instructions that its waves ran.

    target: a target or product, such as "gfx942".
    code, code_size: the address of the first instruction, and bytes from there on. Data behind the code does no harm.
    grid, block: workgroups of the grid and work-items of a workgroup, in X, Y and Z.
    ranges: pairs of an address and a size in bytes: the memory that the code may access.
    user_sgprs: s0 and so on. rsrc2 says how many there are.
    rsrc1, rsrc2, rsrc3: the words of the kernel descriptor, as the registers COMPUTE_PGM_RSRC have them.
    scratch_size: bytes of private memory of a work-item.
    lds_size: bytes of LDS of a workgroup; 0 for what rsrc2 says.

    Raises GuestFault and the other exceptions of a call of a kernel. Ctrl-C ends the run. The ranges must be memory of
    this process during the call: the process ends if they are not.
    """
    return _wavemill.run_code(
        target,
        code,
        code_size,
        grid=grid,
        block=block,
        ranges=list(ranges),
        user_sgprs=list(user_sgprs),
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        scratch_size=scratch_size,
        lds_size=lds_size,
        threads=threads or 0,
        max_instructions=max_instructions or 0,
        find_stalls=find_stalls,
    )
