"""Launches of Triton's kernels."""

import struct
import threading

import wavemill

from .memory import memory
from .scalars import SCALARS


class _Launches(threading.local):
    """What the launches of a thread ran."""

    instructions = 0
    stats = None


launches = _Launches()

_ADVICE = "  advice       "
_FOLLOWS_POINTERS = (
    f"{_ADVICE}if the kernel follows pointers in memory, set WAVEMILL_HOST_MEMORY=process, which lets kernels access all\n"
    f"{' ' * len(_ADVICE)}memory of the process"
)


def _names(name, ty):
    """Types and names of the kernel's parameters, of which an argument can be several; `None` for a
    type that is dropped, as it is part of the code.
    """
    if isinstance(ty, tuple):
        return tuple(_names(f"{name}[{n}]", one) for n, one in enumerate(ty))
    return None if ty == "constexpr" else (name, ty)


def _expand(signature):
    """The signature after Triton's launcher has made several arguments of a descriptor: `(name,
    type)`, a tuple of such for a tuple, and `None` for what is dropped.
    """
    from triton.backends.driver import expand_signature

    expanded = []
    for name, ty in signature.items():
        types = expand_signature((ty,), None, None)
        expanded.extend(_names(name if isinstance(name, str) else f"argument {name}", one) for one in types)
    return tuple(expanded)


def _flatten(expanded, args, out):
    for parameter, arg in zip(expanded, args, strict=True):
        if parameter is None:
            continue
        if isinstance(parameter[0], str):
            out.append((parameter, arg))
        else:
            _flatten(parameter, arg, out)


def _is_flat(expanded):
    return all(parameter is None or isinstance(parameter[0], str) for parameter in expanded)


class Launcher:
    """Launches one compiled kernel."""

    def __init__(self, src, metadata):
        from triton.backends.driver import decompose_descriptor, wrap_handle_tensordesc_impl

        signature = dict(src.signature)
        self._expanded = _expand(signature)
        self._kept = None
        if _is_flat(self._expanded):
            self._kept = tuple((n, *one) for n, one in enumerate(self._expanded) if one is not None)
        # No target here has descriptors in hardware, for which the list would have entries.
        descriptors = getattr(metadata, "tensordesc_meta", None)
        self._launch = wrap_handle_tensordesc_impl(
            self._run, signature, descriptors, lambda descriptor, *_: decompose_descriptor(descriptor)
        )
        self._block = metadata.num_warps * metadata.warp_size
        self._lds = metadata.shared
        self._cooperative = bool(metadata.launch_cooperative_grid)
        # Bytes for each workgroup, and alignment.
        self._scratch = (
            (metadata.global_scratch_size, metadata.global_scratch_align),
            (metadata.profile_scratch_size, metadata.profile_scratch_align),
        )
        self._has_scratch = any(size for size, _ in self._scratch)
        self._pack = None

    def __call__(self, x, y, z, stream, function, packed, launch_metadata, enter_hook, exit_hook, *args):
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if x and y and z:
            self._launch(x, y, z, stream, function, args)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _run(self, x, y, z, stream, function, args):
        if self._kept is not None:
            parameters = [(name, ty, args[n]) for n, name, ty in self._kept]
        else:
            flat = []
            _flatten(self._expanded, args, flat)
            parameters = [(name, ty, arg) for (name, ty), arg in flat]
        values, memories = [], {}
        for name, ty, arg in parameters:
            if ty[0] == "*":
                values.append(_pointer(name, arg, memories))
            else:
                values.append(SCALARS[ty].convert(arg))
        if self._has_scratch:
            for name, pointer in self._allocate(x * y * z, stream):
                values.append(_pointer(name, pointer, memories))
        else:
            values += (0, 0)
        if self._pack is None:
            self._pack = _packer(function, [ty for _, ty, _ in parameters])
        try:
            stats = function[(x, y, z), self._block](
                kernarg=self._pack(*values), memory=memories, dynamic_lds=self._lds, cooperative=self._cooperative
            )
        except wavemill.GuestFault as fault:
            raise _explained(fault) from None
        launches.instructions += stats.instructions
        launches.stats = stats

    def _allocate(self, groups, stream):
        from triton.runtime import _allocation
        from triton.runtime.driver import driver

        (size, align), (profile_size, profile_align) = self._scratch
        pointer = _allocation._allocator.get()(size * groups, align, stream) if size else None
        yield "global scratch memory", pointer
        pointer = None
        if profile_size:
            if _allocation.has_profile_allocator():
                allocate = _allocation._profile_allocator.get()
            else:
                allocate = driver.active.allocate_default_profile_scratch
            pointer = allocate(profile_size * groups, profile_align, stream)
        yield "profile scratch memory", pointer


def _pointer(name, arg, memories):
    """The address of an argument. Adds the memory that it points into."""
    if arg is None:
        return 0
    if isinstance(arg, int):
        return arg
    try:
        found = memory(arg)
    except wavemill.ArgumentError as error:
        raise wavemill.ArgumentError(f"argument `{name}` {error}") from None
    if found is not None:
        memories[name] = found
    return arg.data_ptr()


def _packer(function, types):
    """Makes the kernel argument segment of the values of arguments with these types, and of the two
    pointers to scratch memory.

    # Errors
    `wavemill.Error` if the code object has other parameters.
    """
    codes = [("Q", 8) if ty[0] == "*" else SCALARS[ty][:2] for ty in types] + [("Q", 8)] * 2
    parameters = function.parameters
    sizes = [parameter.size for parameter in parameters]
    if sizes != [size for _, size in codes]:
        raise wavemill.Error(
            f"the kernel `{function.name}` has parameters of {sizes} bytes, but the launch has arguments of "
            f"{[size for _, size in codes]}: this version of Triton passes arguments in another way"
        )
    layout, end = "<", 0
    for parameter, (code, size) in zip(parameters, codes):
        layout += f"{parameter.offset - end}x{code}"
        end = parameter.offset + size
    return struct.Struct(layout).pack


def _explained(fault):
    """The fault, with what a user of Triton can do instead of what a caller of the package can."""
    if fault.data and fault.data.get("only_in_process"):
        text, _, _ = fault.args[0].partition(f"\n{_ADVICE}")
        fault.args = (f"{text.rstrip()}\n{_FOLLOWS_POINTERS}",)
    return fault
