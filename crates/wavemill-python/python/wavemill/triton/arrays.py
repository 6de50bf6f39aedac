"""Arrays of numpy as arguments of Triton's kernels."""

import numpy

from .memory import HostPointer

# Names of the types that Triton has.
_TYPES = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
}


class Array(HostPointer):
    """What Triton and its autotuner need of a tensor. `numpy()` is the array itself."""

    def __init__(self, array):
        if isinstance(array, Array):
            array = array.numpy()
        if not isinstance(array, numpy.ndarray):
            of = type(array)
            raise TypeError(
                f"expected an array of numpy, found an object of type {of.__module__}.{of.__qualname__}; tensors of "
                "PyTorch are arguments as they are"
            )
        if array.dtype.name not in _TYPES or not array.dtype.isnative:
            raise TypeError(
                f"Triton has no element type {array.dtype!r}; expected one of {', '.join(sorted(_TYPES))}"
            )
        self._array = array
        # Triton reads its text.
        self.dtype = array.dtype
        # Names that PyTorch has, for programs and for Triton's descriptors.
        self.shape = array.shape
        self.ndim = array.ndim
        self.device = "cpu"

    @property
    def memory(self):
        return self._array

    @property
    def data(self):
        return self

    def data_ptr(self):
        return self._array.ctypes.data

    def ptr_range(self):
        """Bytes of the whole array that this one is a view of. Triton's compiler for AMD GPUs uses
        short offsets into small arrays.
        """
        whole = self._array
        while isinstance(whole.base, numpy.ndarray):
            whole = whole.base
        return whole.nbytes

    def element_size(self):
        return self._array.itemsize

    def numel(self):
        return self._array.size

    def nelement(self):
        return self._array.size

    def dim(self):
        return self._array.ndim

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim=None):
        """In elements."""
        strides = tuple(stride // self._array.itemsize for stride in self._array.strides)
        return strides if dim is None else strides[dim]

    def is_contiguous(self):
        return self._array.flags.c_contiguous

    def numpy(self):
        return self._array

    def __array__(self, dtype=None, copy=None):
        return numpy.array(self._array, dtype=dtype, copy=copy) if dtype or copy else self._array

    def __getitem__(self, index):
        return Array(self._array[index])

    def __len__(self):
        return len(self._array)

    def __repr__(self):
        return f"wavemill.triton.array({self._array!r})"

    # What the autotuner does to arguments that it must reset or restore.

    def zero_(self):
        self._array[...] = 0
        return self

    def clone(self):
        return Array(self._array.copy())

    def copy_(self, other):
        self._array[...] = other.numpy()
        return self
