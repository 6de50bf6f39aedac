"""Machine code without a code object, on memory of this process: `wm_run_code` of the C interface."""

import ctypes
import functools

from . import _wavemill
from .errors import Error, GuestFault, LimitReached, Stalled, Stopped, Unsupported

#: `rsrc1` for code of which nothing is known: all registers; denormals, DX10_CLAMP and IEEE_MODE.
DEFAULT_RSRC1 = 0x00AF033F

#: `rsrc3` for code of which nothing is known: 256 VGPRs, and the others are AccVGPRs.
DEFAULT_RSRC3 = 63


class Range(ctypes.Structure):
    """`wm_range_t`."""

    _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Result(ctypes.Structure):
    """`wm_result_t`."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("outcome", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("report", ctypes.c_char_p),
        ("instructions", ctypes.c_uint64),
        ("workgroups", ctypes.c_uint64),
        ("waves", ctypes.c_uint64),
        ("work_items", ctypes.c_uint64),
        ("lds_out_of_range", ctypes.c_uint64),
        ("buffer_out_of_range", ctypes.c_uint64),
        ("image_out_of_range", ctypes.c_uint64),
        ("resident", ctypes.c_uint32),
        ("lds_size", ctypes.c_uint32),
        ("lds_allocated", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


class RunCode(ctypes.Structure):
    """`wm_run_code_t`."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("target", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("code_size", ctypes.c_size_t),
        ("user_sgprs", ctypes.POINTER(ctypes.c_uint32)),
        ("user_sgpr_count", ctypes.c_size_t),
        ("kernarg", ctypes.c_void_p),
        ("kernarg_size", ctypes.c_size_t),
        ("ranges", ctypes.POINTER(Range)),
        ("range_count", ctypes.c_size_t),
        ("rsrc1", ctypes.c_uint32),
        ("rsrc2", ctypes.c_uint32),
        ("rsrc3", ctypes.c_uint32),
        ("scratch_size", ctypes.c_uint32),
        ("lds_size", ctypes.c_uint32),
        ("kernel_code_properties", ctypes.c_uint32),
        ("copy_code", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("find_stalls", ctypes.c_uint32),
        ("strict", ctypes.c_uint32),
        ("deterministic", ctypes.c_uint32),
        ("full_report", ctypes.c_uint32),
        ("max_instructions", ctypes.c_uint64),
        ("time_limit_ms", ctypes.c_uint64),
        ("result", ctypes.POINTER(Result)),
    ]


#: The exceptions for `wm_outcome_t`, from 1 on.
OUTCOMES = (GuestFault, Unsupported, Stalled, LimitReached, LimitReached, Stopped)


@functools.cache
def _wm_run_code():
    """The function of the native module, which has the C interface in it."""
    function = ctypes.CDLL(_wavemill.__file__).wm_run_code
    function.argtypes, function.restype = [ctypes.POINTER(RunCode)], ctypes.c_char_p
    return function


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

    Raises GuestFault and the other exceptions of a call of a kernel. The ranges must be memory of this process during
    the call: the process ends if they are not.
    """
    name = target.encode()
    sgprs = (ctypes.c_uint32 * len(user_sgprs))(*user_sgprs)
    spans = (Range * len(ranges))(*[Range(start, size) for start, size in ranges])
    result = Result(struct_size=ctypes.sizeof(Result))
    run = RunCode(
        struct_size=ctypes.sizeof(RunCode),
        target=name,
        code=code,
        code_size=code_size,
        user_sgprs=sgprs,
        user_sgpr_count=len(sgprs),
        ranges=spans,
        range_count=len(spans),
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        scratch_size=scratch_size,
        lds_size=lds_size,
        threads=threads or 0,
        grid=(ctypes.c_uint32 * 3)(*grid),
        block=(ctypes.c_uint32 * 3)(*block),
        find_stalls=bool(find_stalls),
        max_instructions=max_instructions or 0,
        result=ctypes.pointer(result),
    )
    error = _wm_run_code()(ctypes.byref(run))
    if error is not None:
        raise Error(error.decode())
    if result.outcome:
        report = (result.report or b"").decode()
        raise OUTCOMES[result.outcome - 1](report)
    return result.instructions
