"""Memory of arrays: objects that kernels must not have, and tensors that are not what they should be."""

import ctypes
import gc
import mmap
import sys
import weakref

import numpy
import pytest
from conftest import code_object

import wavemill

F32 = numpy.float32
ANY = "ptr,ptr,ptr,u32"


@pytest.fixture(scope="module")
def ones():
    return numpy.ones(64, F32)


def test_arrays_of_objects_are_refused(vector_add, ones):
    nothing = numpy.array([None] * 64, dtype=object)
    structures = numpy.zeros(64, [("O_named", "i4"), ("x", "O"), ("when", "M8[s]")])
    for array in (nothing, structures, structures[["x"]], (ctypes.py_object * 4)()):
        with pytest.raises(wavemill.ArgumentError, match=r"argument 2 \(`c`\).*objects of Python"):
            vector_add[1, 1](ones, ones, array, 0, signature=ANY)
        with pytest.raises(wavemill.ArgumentError, match=r"memory\[0\].*objects of Python"):
            vector_add[1, 1](ones, ones, ones, 0, memory=[array])
    if hasattr(numpy.dtypes, "StringDType"):
        with pytest.raises(wavemill.ArgumentError):
            vector_add[1, 1](ones, ones, numpy.array(["a"], dtype=numpy.dtypes.StringDType()), 0, signature=ANY)
    # A field whose name has the letter of objects.
    named = numpy.zeros(64, [("O", "f4")])
    vector_add[1, 64](ones, ones, named, 64)
    assert named["O"].tolist() == [2.0] * 64


def test_big_endian_arrays_are_refused(vector_add, ones):
    class Structure(ctypes.BigEndianStructure):
        _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_float)]

    for array in (
        numpy.zeros(64, ">f4"),
        numpy.zeros(64, [("a", "u1"), ("b", ">f4")]),
        numpy.zeros((2, 64), ">i2")[1:],
        (ctypes.c_float.__ctype_be__ * 64)(),
        (Structure * 64)(),
        memoryview(numpy.zeros(64, ">f8")),
    ):
        with pytest.raises(wavemill.ArgumentError, match=r"argument 2 \(`c`\).*big-endian"):
            vector_add[1, 64](ones, ones, array, 64, signature=ANY)
        with pytest.raises(wavemill.ArgumentError, match=r"memory\[0\].*big-endian"):
            vector_add[1, 64](ones, ones, ones, 0, memory=[array])
    # Bytes have no order, and those of big-endian numbers can be passed as such.
    array = numpy.zeros(64, ">f4")
    vector_add[1, 64](ones, ones, array.view(numpy.uint8), 64)
    assert array.view("<f4").tolist() == [2.0] * 64
    vector_add[1, 1](ones, ones, numpy.zeros(4, ">u1"), 1)
    # Scalars of numpy have the order of the host, but those of structures do not.
    with pytest.raises(wavemill.ArgumentError, match="another order"):
        vector_add[1, 64](ones, ones, ones, numpy.zeros(1, [("n", ">u4")])[0])
    vector_add[1, 64](ones, ones, ones, numpy.zeros(1, ">u4")[0])


def test_arrays_of_every_kind(vector_add, ones):
    for array in (
        numpy.zeros(4, bool),
        numpy.zeros(4, complex),
        numpy.zeros(4, "M8[s]"),
        numpy.zeros(4, [("a", "i1"), ("b", "f4")]),
        numpy.zeros((4, 4), F32, order="F"),
        numpy.zeros((4, 4), F32)[::-1, ::2],
        numpy.array(0, F32),
        mmap.mmap(-1, 4096),
    ):
        vector_add[1, 1](ones, ones, array, 0, signature=ANY)
        vector_add[1, 1](ones, ones, array, 1, signature=ANY)
    with pytest.raises(wavemill.GuestFault, match="read-only"):
        vector_add[1, 1](ones, ones, mmap.mmap(-1, 4096, prot=mmap.PROT_READ), 1)
    released = memoryview(bytearray(4))
    released.release()
    with pytest.raises(wavemill.ArgumentError, match="`c`.*released"):
        vector_add[1, 1](ones, ones, released, 0)


def test_a_bytearray_is_free_after_the_launch(vector_add, ones):
    memory = bytearray(256)
    vector_add[1, 64](ones, ones, memory, 64)
    # It could not grow while something had its memory.
    memory.extend(b"more")


class DLTensor(ctypes.Structure):
    """`DLTensor` of DLPack."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor:
    """A tensor whose DLPack structure is as a test wants it."""

    def __init__(self, shape=(64,), strides=None, major=1, flags=0, name=b"dltensor_versioned", **fields):
        self.memory = numpy.zeros(256, F32)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        fields = {
            **{"data": self.memory.ctypes.data, "device_type": 1, "ndim": len(shape), "code": 2, "bits": 32},
            **{"lanes": 1},
            **{"shape": ctypes.addressof(self.shape), "strides": strides and ctypes.addressof(self.strides)},
            **fields,
        }
        self.managed = Versioned(major=major, flags=flags, tensor=DLTensor(**fields))
        self.name = name

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, max_version=None):
        assert max_version == (1, 0)
        return capsule(ctypes.addressof(self.managed), self.name, None)


def test_tensors_are_where_they_say(vector_add, ones):
    add = vector_add[1, 64]
    behind = Tensor(byte_offset=256)
    add(ones, ones, behind, 64)
    assert behind.memory.tolist() == [0.0] * 64 + [2.0] * 64 + [0.0] * 128
    # The first element of a reversed tensor is its last in memory.
    reversed = Tensor(shape=(8,), strides=(-1,), byte_offset=28)
    vector_add[1, 1](ones, ones, reversed, 1)
    assert reversed.memory[7] == 2.0
    vector_add[1, 1](ones, ones, Tensor(shape=()), 1)
    with pytest.raises(wavemill.GuestFault):
        vector_add[1, 1](ones, ones, Tensor(shape=(0,)), 1)
    # Its flag protects it.
    with pytest.raises(wavemill.GuestFault, match="read-only"):
        add(ones, ones, Tensor(flags=1), 64)


@pytest.mark.parametrize("padded, floats", [(False, 16), (True, 32)])
def test_elements_of_four_bits(vector_add, ones, padded, floats):
    """128 elements have 64 bytes, or 128 if each has a byte."""
    tensor = Tensor(shape=(128,), bits=4, flags=4 if padded else 0)
    vector_add[1, 64](ones, ones, tensor, floats, signature=ANY)
    assert tensor.memory[:floats].tolist() == [2.0] * floats
    with pytest.raises(wavemill.GuestFault) as caught:
        vector_add[1, 64](ones, ones, tensor, floats + 1, signature=ANY)
    assert caught.value.lanes == [floats]
    assert tensor.memory[floats] == 0


@pytest.mark.parametrize(
    "options, text",
    [
        ({"flags": 2}, "makes a copy"),
        ({"major": 2}, "DLPack 2; expected one of DLPack 1"),
        ({"name": b"used_dltensor_versioned"}, "another library has taken it"),
        ({"device_type": 2}, r"device \(2, 0\)"),
        ({"ndim": -1}, "-1 dimensions"),
        ({"ndim": 1 << 30}, "dimensions"),
        ({"shape": (-5,)}, "the length -5"),
        ({"bits": 0}, "0 bits"),
    ],
)
def test_wrong_tensors_are_refused(vector_add, ones, options, text):
    with pytest.raises(wavemill.ArgumentError, match=rf"argument 2 \(`c`\).*{text}"):
        vector_add[1, 64](ones, ones, Tensor(**options), 64)


def test_a_tensor_without_a_shape_is_refused(vector_add, ones):
    tensor = Tensor()
    tensor.managed.tensor.shape = None
    with pytest.raises(wavemill.ArgumentError, match="no shape"):
        vector_add[1, 64](ones, ones, tensor, 64)


def test_objects_that_only_look_like_tensors(vector_add, ones):
    class Half:
        def __dlpack__(self):
            pass

    class Whole(Half):
        def __dlpack_device__(self):
            return (1, 0)

    class Never(Whole):
        __dlpack__ = None

    class Failing(Whole):
        def __dlpack__(self, **options):
            raise RuntimeError("of the object")

    for thing, text in [(Half(), "no `__dlpack_device__`"), (Whole(), "no capsule"), (Never(), "expected an array")]:
        with pytest.raises(wavemill.ArgumentError, match=text):
            vector_add[1, 64](ones, ones, thing, 64)
    with pytest.raises(RuntimeError, match="of the object"):
        vector_add[1, 64](ones, ones, Failing(), 64)


def test_further_memory_is_a_list(vector_add, ones):
    for memory, text in [
        (ones, "expected a list or dictionary of arrays"),
        (bytearray(4), "expected a list or dictionary of arrays"),
        (5, "expected a list or dictionary of arrays"),
        ([5], r"memory\[0\] is an object of type int; expected an array"),
        ([ones[0]], r"memory\[0\] is an object of type numpy.float32; expected an array"),
        ({"more": None}, "more is an object of type NoneType; expected an array"),
    ]:
        with pytest.raises(wavemill.ArgumentError, match=text):
            vector_add[1, 64](ones, ones, ones, 64, memory=memory)


def test_launches_keep_nothing(vector_add):
    """No launch, whether it ends well or not, keeps its arrays or the exception."""

    class Array(numpy.ndarray):
        pass

    array = numpy.ones(64, F32).view(Array)
    references = sys.getrefcount(array)
    for _ in range(100):
        vector_add[1, 64](array, array, array, 64)
        with pytest.raises(wavemill.ArgumentError):
            vector_add[1, 64](array, array, array, -1)
        with pytest.raises(wavemill.GuestFault):
            vector_add[1, 64](array, array, None, 64)
    gc.collect()
    assert sys.getrefcount(array) == references
    gone = weakref.ref(array)
    del array
    assert gone() is None
