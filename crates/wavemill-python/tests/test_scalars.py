"""Numbers as arguments: rounding, ranges, kinds, and types that nothing says."""

import ctypes
import struct

import ml_dtypes
import numpy
import pytest
from conftest import code_object
from test_launch import store_bits

import wavemill

F32 = numpy.float32


def exactly(number, places):
    """A number near 1 with one more place than a type has, and a little more than that."""
    return number + 2.0**-places + 2.0**-40


def test_numbers_are_rounded_once():
    # Above the middle of two numbers, but nearer than a float of 32 bits tells.
    assert store_bits(wavemill.f16(exactly(1, 11))) == 0x3C01
    assert store_bits(exactly(1, 11), signature="ptr,fp16") == 0x3C01
    assert store_bits(wavemill.bf16(exactly(1, 8))) == 0x3F81
    random = numpy.random.default_rng(5)
    for number in [*random.normal(size=50), *(2.0 ** random.integers(-26, 16, 50) * random.normal(size=50))]:
        expected = int(numpy.float16(number).view(numpy.uint16))
        assert store_bits(wavemill.f16(number)) & 0xFFFF == expected, number
    # Integers that no double has, too.
    assert store_bits(wavemill.f32(2**60)) == 0x5D800000
    assert store_bits(wavemill.f32(2**60 + 2**36 + 1)) == 0x5D800001
    assert store_bits(wavemill.bf16(2**60 + 2**52 + 1)) == 0x5D81
    assert repr(wavemill.f64(2**200)) == f"wavemill.f64({float(2**200)})".replace("e+", "e")


def test_numbers_that_a_type_does_not_have():
    for of, wrong in [
        (wavemill.f16, 65520),
        (wavemill.bf16, 3.4e38),
        (wavemill.f32, 2**128),
        (wavemill.f32, 2**200),
        (wavemill.u64, 2**64),
        (wavemill.u64, 2**200),
        (wavemill.i8, -129),
        (wavemill.i32, numpy.array([5])),
        (wavemill.bool_, 2),
    ]:
        with pytest.raises(ValueError, match="fits wavemill"):
            of(wrong)
    for of, wrong in [(wavemill.f32, "x"), (wavemill.f32, None), (wavemill.f32, 1j)]:
        with pytest.raises(TypeError):
            of(wrong)
    with pytest.raises(ValueError, match=r"wavemill.i8 \(1 byte\)"):
        wavemill.i8(1.0)


def test_scalars_are_shown_as_they_are_written():
    for scalar in (
        wavemill.i32(-5),
        wavemill.u64(2**64 - 1),
        wavemill.f32(0.1),
        wavemill.f16(0.1),
        wavemill.bf16(-3),
        wavemill.f64(1e300),
        wavemill.f32(float("-inf")),
        wavemill.bool_(True),
        wavemill.value(b"abc"),
        wavemill.local(64),
    ):
        assert repr(eval(repr(scalar))) == repr(scalar)
    assert repr(wavemill.i32(5)) == "wavemill.i32(5)" and repr(wavemill.f32(0.1)) == "wavemill.f32(0.1)"
    assert repr(wavemill.bool_(numpy.True_)) == "wavemill.bool_(True)"
    assert repr(wavemill.f64(float("nan"))) == 'wavemill.f64(float("nan"))'


def test_the_kind_of_a_scalar_counts(vector_add):
    a = numpy.ones(64, F32)
    for n in (F32(64), wavemill.f32(64), numpy.int32(-1), wavemill.i32(-1), numpy.str_("a"), numpy.bytes_(b"four")):
        with pytest.raises(wavemill.ArgumentError, match=r"argument 3 \(`n`\)"):
            vector_add[1, 64](a, a, a, n)
    for pointer in (numpy.float64(0), wavemill.f64(0), numpy.datetime64(0, "s"), numpy.uint32(0)):
        with pytest.raises(wavemill.ArgumentError, match=r"argument 2 \(`c`\)"):
            vector_add[1, 64](a, a, pointer, 0)
    # Integers of the other sign have the same bytes where both types have the number.
    out = numpy.zeros(64, F32)
    for n in (numpy.int32(64), wavemill.i32(64), numpy.uint32(64), wavemill.value(struct.pack("<i", 64))):
        out[:] = 0
        vector_add[1, 64](a, a, out, n)
        assert out[63] == 2
    vector_add[1, 64](a, a, wavemill.u64(out.ctypes.data), 64, memory=[out])
    # Floats of 16 bits are two types.
    for signature, number in [
        ("ptr,fp16", ml_dtypes.bfloat16(1)),
        ("ptr,bf16", numpy.float16(1)),
        ("ptr,fp16", wavemill.bf16(1)),
    ]:
        with pytest.raises(wavemill.ArgumentError, match="but the parameter is b?f16"):
            store_bits(number, signature=signature)


def test_an_integer_needs_a_known_type():
    """A parameter of four bytes may be a float, for which 2 is another number."""
    kernel = wavemill.Module.load(code_object("hip/hip_malloc"))["hip_malloc_list"]
    assert [(p.kind, p.size, p.type_name) for p in kernel.parameters][1] == ("value", 4, None)
    out = numpy.zeros(64, numpy.uint64)
    text = r"4 bytes, and its type is not known.*i32\(2\) or wavemill\.f32\(2\)"
    with pytest.raises(wavemill.ArgumentError, match=text):
        kernel[1, 1](out, 2)
    with pytest.raises(wavemill.ArgumentError, match=r"write wavemill\.i32\(2\) or wavemill\.f32\(2\)"):
        store_bits(2)


def test_values_come_from_all_bytes(vector_add):
    class Pair(ctypes.Structure):
        _fields_ = [("x", ctypes.c_uint16), ("y", ctypes.c_uint16)]

    for value in (b"\1\0\2\0", bytearray(b"\1\0\2\0"), Pair(1, 2), numpy.array([1, 2], numpy.uint16)):
        assert store_bits(wavemill.value(value)) == 0x20001
    for wrong in ("text", 5, [1, 2]):
        with pytest.raises(wavemill.ArgumentError, match="value is an object of type .*; expected bytes"):
            wavemill.value(wrong)
    a, out = numpy.ones(64, F32), numpy.zeros(64, F32)
    segment = struct.pack("<QQQI", a.ctypes.data, a.ctypes.data, out.ctypes.data, 64)
    for kernarg in (segment, bytearray(segment), memoryview(segment), numpy.frombuffer(segment, numpy.uint8)):
        out[:] = 0
        vector_add[1, 64](kernarg=kernarg, memory=[a, out])
        assert out[63] == 2
    for short in (b"", segment[:-1]):
        with pytest.raises(wavemill.Error, match=f"segment of {len(short)} bytes; the explicit parameters have 28"):
            vector_add[1, 64](kernarg=short, memory=[a, out])
    with pytest.raises(wavemill.ArgumentError, match="kernarg is an object of type str"):
        vector_add[1, 64](kernarg="text")


def test_types_of_signatures(vector_add):
    a = numpy.ones(64, F32)
    for signature in ("*fp32,*kfp32,*float,u32", "*f32,*float32,**fp32,uint32", " ptr, *, ptr, i32 "):
        vector_add[1, 64](a, a, numpy.zeros(64, F32), 64, signature=signature)
    for short in ("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"):
        bytes = numpy.zeros(256, ml_dtypes.float8_e5m2)
        vector_add[1, 64](a, a, bytes, 64, signature=f"*fp32,*fp32,*{short},u32")
        with pytest.raises(wavemill.ArgumentError, match=f"points to {short}"):
            vector_add[1, 64](a, a, a, 64, signature=f"*fp32,*fp32,*{short},u32")
        with pytest.raises(wavemill.ArgumentError, match=f"unknown type `{short}`"):
            vector_add[1, 64](a, a, a, 64, signature=f"*fp32,*fp32,*fp32,{short}")
    for wrong in ("*fp32,*fp32,*fp32,i32,", "*fp32,*fp32,*void,i32", "*fp32,*fp32,fp,i32"):
        with pytest.raises(wavemill.ArgumentError):
            vector_add[1, 64](a, a, a, 64, signature=wrong)


@pytest.mark.parametrize(
    "option, wrong",
    [
        ("dynamic_lds", -1),
        ("dynamic_lds", 2**32),
        ("dynamic_lds", 1.5),
        ("stack", -1),
        ("threads", -1),
        ("threads", 0),
        ("threads", 2**40),
        ("max_instructions", -1),
        ("max_instructions", 2**64),
        ("poison", "x"),
        ("time_limit", -1),
        ("time_limit", 1e-300),
        ("time_limit", float("inf")),
        ("time_limit", float("nan")),
    ],
)
def test_wrong_options_are_named(vector_add, option, wrong):
    a = numpy.ones(64, F32)
    with pytest.raises(wavemill.ArgumentError, match=f"^{option} is .*; expected") as caught:
        vector_add[1, 64](a, a, a, 64, **{option: wrong})
    assert len(str(caught.value)) < 150
    # None is the default of each.
    vector_add[1, 64](a, a, a, 64, **{option: None})


def test_sizes_of_grids(vector_add):
    a, out = numpy.ones(64, F32), numpy.zeros(64, F32)
    assert vector_add[0, 64](a, a, out, 64).workgroups == 0
    assert vector_add[numpy.int64(1), (numpy.uint8(64),)](a, a, out, 64).work_items == 64
    # Two numbers are a grid and a block, with or without parentheses.
    assert repr(vector_add[(1, 64)]) == repr(vector_add[1, 64])
    assert repr(vector_add[(2, 3), None]) == "<Kernel vector_add[(2, 3, 1)]>"
    for grid in (2**32, -1, 1.0, "4", [1], (1, 2**32)):
        with pytest.raises(wavemill.ArgumentError, match="the grid is"):
            vector_add[grid, 64]
    with pytest.raises(wavemill.Error, match="more work-items than 64 bits can count"):
        vector_add[(2**32 - 1,) * 3, 1](a, a, out, 64)
    with pytest.raises(wavemill.Error, match="has 0 work-items"):
        vector_add[1, 0](a, a, out, 64)
    with pytest.raises(wavemill.Error, match="4294967295 bytes of LDS"):
        vector_add[1, 64](a, a, out, 64, dynamic_lds=2**32 - 1)
    with pytest.raises(wavemill.ArgumentError, match="the size is -1"):
        wavemill.local(-1)


def test_local_memory_is_given_by_its_size():
    kernel = wavemill.Module.load(code_object("reduction")).kernels[0]
    [scratch] = [n for n, parameter in enumerate(kernel.parameters) if parameter.kind == "local"]
    arguments = [numpy.zeros(4096, F32) if p.kind == "buffer" else 64 for p in kernel.parameters]
    for wrong in (numpy.zeros(64, F32), 256, None, 1.5, wavemill.u32(256)):
        arguments[scratch] = wrong
        with pytest.raises(wavemill.ArgumentError, match=r"dynamic LDS: pass wavemill\.local\(bytes\)"):
            kernel[1](*arguments)
    arguments[scratch] = wavemill.local(1024)
    assert kernel[1](*arguments).lds >= 1024
