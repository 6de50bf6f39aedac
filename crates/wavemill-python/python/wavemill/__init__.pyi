import sys
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer

from .errors import ArgumentError as ArgumentError
from .errors import AssemblyError as AssemblyError
from .errors import Error as Error
from .errors import GuestFault as GuestFault
from .errors import LimitReached as LimitReached
from .errors import Stalled as Stalled
from .errors import Stopped as Stopped
from .errors import Unsupported as Unsupported

__version__: str
__all__: list[str]

class _Tensor(Protocol):
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...

_Array = Buffer | _Tensor
_Source = str | PathLike[str] | bytes | bytearray | memoryview
_Size = int | tuple[int] | tuple[int, int] | tuple[int, int, int]

class ScalarType:
    """A type of scalar arguments: `wavemill.f32(2.0)` is an argument of four bytes."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    def __call__(self, value: SupportsFloat | SupportsIndex) -> Scalar: ...

class Scalar:
    """An argument that is not an array: a number with a type, a structure, or dynamic LDS."""

bool_: ScalarType
i8: ScalarType
i16: ScalarType
i32: ScalarType
i64: ScalarType
u8: ScalarType
u16: ScalarType
u32: ScalarType
u64: ScalarType
f16: ScalarType
bf16: ScalarType
f32: ScalarType
f64: ScalarType

def value(bytes: Buffer) -> Scalar:
    """A structure or another value, as little-endian bytes, or an object with the buffer protocol.
    The kernel receives a copy."""

def local(size: int) -> Scalar:
    """Dynamic LDS of this many bytes, for a parameter that points to LDS."""

class Device:
    """A chip that runs kernels."""

    def __new__(
        cls,
        target: str,
        threads: int | None = None,
        host_memory: Literal["arguments", "process"] = "arguments",
        matrix_rule: str = "exact",
    ) -> Device: ...
    @property
    def target(self) -> str: ...
    @property
    def product(self) -> str: ...
    @property
    def compute_units(self) -> int: ...
    @property
    def lds_size(self) -> int: ...
    @property
    def threads(self) -> int | None: ...
    @property
    def host_memory(self) -> str: ...
    def load(self, source: _Source) -> Module: ...

class Module:
    """A code object that is loaded into a device."""

    @staticmethod
    def load(source: _Source, device: Device | str | None = None) -> Module: ...
    @property
    def kernels(self) -> list[Kernel]: ...
    @property
    def device(self) -> Device: ...
    @property
    def target(self) -> str: ...
    def kernel(self, name: str) -> Kernel: ...
    def __getitem__(self, name: str) -> Kernel: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class Parameter:
    """A parameter of a kernel, as its code object describes it."""

    @property
    def name(self) -> str | None: ...
    @property
    def type_name(self) -> str | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def offset(self) -> int: ...

class Kernel:
    """A kernel of a module: `kernel[grid, block](arguments)` runs it."""

    @property
    def name(self) -> str: ...
    @property
    def demangled_name(self) -> str | None: ...
    @property
    def parameters(self) -> list[Parameter]: ...
    @property
    def required_block(self) -> tuple[int, int, int] | None: ...
    @property
    def max_block(self) -> int: ...
    def __getitem__(self, launch: _Size | tuple[_Size, _Size | None]) -> BoundKernel: ...

class BoundKernel:
    """A kernel with a grid: calling it runs the kernel."""

    def __call__(
        self,
        *args: _Array | Scalar | SupportsFloat | SupportsIndex | None,
        signature: str | None = None,
        dynamic_lds: int = 0,
        cooperative: bool = False,
        kernarg: Buffer | None = None,
        memory: Sequence[_Array] | Mapping[str, _Array] | None = None,
        stack: int | None = None,
        threads: int | None = None,
        max_instructions: int | None = None,
        time_limit: float | None = None,
        find_stalls: bool = True,
        count: bool = False,
        traffic: bool = False,
        poison: int | None = None,
        trace: Trace | None = None,
    ) -> Stats: ...

class Stats:
    """Statistics of a launch."""

    @property
    def kernel(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def instructions(self) -> int: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def workgroups(self) -> int: ...
    @property
    def waves(self) -> int: ...
    @property
    def work_items(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def lds(self) -> int: ...
    @property
    def engine(self) -> str: ...
    @property
    def fidelity(self) -> Fidelity | None: ...
    def to_dict(self) -> dict[str, Any]: ...

class Fidelity:
    """How exact the executed instructions are: `Stats.fidelity` of a launch with `count=True`."""

    @property
    def exact(self) -> int: ...
    @property
    def rounded(self) -> int: ...
    @property
    def modelled(self) -> int: ...
    @property
    def unsupported(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def inexact(self) -> list[InexactInstruction]: ...
    @property
    def facets(self) -> list[Facet]: ...

class InexactInstruction:
    """An instruction that is not exact, and how often waves ran it."""

    @property
    def mnemonic(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def facets(self) -> list[str]: ...

class Facet:
    """What the manuals leave open about instructions, and how often waves ran such instructions."""

    @property
    def name(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def open(self) -> str: ...
    @property
    def settled_by(self) -> str: ...
    @property
    def instructions(self) -> dict[str, int]: ...

class Trace:
    """Records the instructions that waves run."""

    def __new__(
        cls, workgroup: tuple[int, int, int] | None = (0, 0, 0), wave: int | None = None, limit: int | None = None
    ) -> Trace: ...
    @property
    def steps(self) -> list[Step]: ...
    @property
    def omitted(self) -> int: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Step: ...
    def __iter__(self) -> Iterator[Step]: ...

class Step:
    """An instruction that a wave ran."""

    @property
    def workgroup(self) -> tuple[int, int, int]: ...
    @property
    def wave(self) -> int: ...
    @property
    def pc(self) -> int: ...
    @property
    def function(self) -> str | None: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def instruction(self) -> str: ...
    @property
    def exec(self) -> int: ...
    @property
    def registers(self) -> dict[str, int | dict[int, int]]: ...
    @property
    def accesses(self) -> list[MemoryAccess]: ...

class MemoryAccess:
    """An access to memory of an instruction."""

    @property
    def kind(self) -> str: ...
    @property
    def access(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def active(self) -> int: ...
    @property
    def pieces(self) -> list[tuple[int, str, int, int]]: ...

def asm(text: str, target: str | None = None) -> bytes:
    """Assembles a source in LLVM's syntax to a code object."""

def dis(source: _Source, target: str | None = None, addresses: bool = False) -> str:
    """Disassembles a code object, or machine code of a target, to a source."""

def explain(text: str, target: str | None = None) -> str:
    """Explains an instruction."""

def info(source: _Source, target: str | None = None, kernel: str | None = None) -> dict[str, Any]:
    """The contents of a file with GPU code, as `wavemill info --json` has them."""
