"""Memory of pointer arguments."""

import ctypes

import wavemill


class HostPointer:
    """A pointer argument. `memory` is an object with the buffer protocol: the allocation that it
    points into.
    """

    memory = None

    def data_ptr(self):
        """The address."""
        raise NotImplementedError


class Scratch(HostPointer):
    """Memory of zeros with an alignment, for kernels that ask for scratch memory."""

    def __init__(self, size, alignment):
        self._bytes = (ctypes.c_char * (size + alignment))()
        start = ctypes.addressof(self._bytes)
        self._start = -(-start // alignment) * alignment
        self.memory = (ctypes.c_char * size).from_address(self._start)

    def data_ptr(self):
        return self._start


def _of_torch(tensor):
    if not tensor.is_cpu:
        # Not its attribute, which pretends.
        where = tensor.untyped_storage().device
        raise wavemill.ArgumentError(
            f'is a tensor on {where}; expected one on the CPU. For programs that name "cuda", use '
            "python -m wavemill.triton --pretend-cuda"
        )
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    # The tensor keeps the memory during the launch.
    return (ctypes.c_char * size).from_address(storage.data_ptr()) if size else None


def memory(pointer):
    """The memory that the allocation of an object with `data_ptr()` has, with the buffer protocol
    or DLPack; `None` if it has no bytes.

    # Errors
    `wavemill.ArgumentError` if the memory is not the host's, or cannot be found out; its text
    continues the name of the argument.
    """
    if hasattr(pointer, "untyped_storage"):
        return _of_torch(pointer)
    if isinstance(pointer, HostPointer):
        return pointer.memory
    # Triton's `reinterpret` wraps tensors.
    base = getattr(pointer, "base", None)
    if hasattr(base, "data_ptr"):
        return memory(base)
    if hasattr(pointer, "__dlpack__"):
        return pointer
    raise wavemill.ArgumentError(
        f"is an object of type {type(pointer).__module__}.{type(pointer).__qualname__}, whose memory is unknown; "
        "expected a tensor of PyTorch, wavemill.triton.array(array of numpy), or an object with DLPack"
    )
