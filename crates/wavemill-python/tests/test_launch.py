"""Launches on arrays: numbers, views, read-only memory, scalars."""

import array
import ctypes
import struct
import sys
import threading

import ml_dtypes
import numpy
import pytest
from conftest import OBJECTS, code_object

import wavemill

F32 = numpy.float32


def test_numbers_on_every_target(target):
    module = wavemill.Module.load(code_object("vector_add", target))
    assert module.target.startswith(target)
    a = numpy.arange(1000, dtype=F32)
    b = numpy.full(1000, 0.5, F32)
    c = numpy.zeros(1000, F32)
    stats = module["vector_add"][4, 256](a, b, c, 1000)
    numpy.testing.assert_array_equal(c, a + b)
    assert (stats.grid, stats.workgroups, stats.waves, stats.work_items) == ((4, 1, 1), 4, 16, 1024)
    assert stats.instructions >= 16 and stats.seconds > 0
    assert "4 workgroups, 16 waves" in repr(stats)


def test_doubles_and_their_scalar(target):
    kernel = wavemill.Module.load(code_object("daxpy", target)).kernel("daxpy")
    x = numpy.linspace(-1, 1, 300)
    for alpha in (0.1, 3, numpy.float64(-2.5), wavemill.f64(7)):
        y = numpy.ones(300)
        kernel[5, 64](x, y, alpha, 300)
        factor = 7.0 if isinstance(alpha, wavemill.Scalar) else float(alpha)
        numpy.testing.assert_array_equal(y, factor * x + 1.0)


def test_a_grid_of_two_dimensions():
    kernel = wavemill.Module.load(code_object("sgemm_naive"))["sgemm_naive"]
    random = numpy.random.default_rng(1)
    # Integers, so that sums are exact in every order.
    a = random.integers(-8, 8, (20, 30)).astype(F32)
    b = random.integers(-8, 8, (30, 40)).astype(F32)
    c = numpy.zeros((20, 40), F32)
    kernel[(5, 3), (8, 8)](a, b, c, 20, 40, 30)
    numpy.testing.assert_array_equal(c, a @ b)


def test_half_precision_and_types_without_a_buffer_format():
    module = wavemill.Module.load(code_object("blend_half"))
    front, back = numpy.full(8, 2, numpy.float16), numpy.full(8, 4, numpy.float16)
    mask, out = numpy.full(8, 0.25, numpy.float16), numpy.zeros(8, numpy.float16)
    module["blend_half"][1, 64](front, back, mask, out, 2)
    numpy.testing.assert_array_equal(out, numpy.full(8, 3.5, numpy.float16))
    # Arrays of ml_dtypes have the buffer protocol, but no format. The kernel copies bits here:
    # 0 * front + 1 * back.
    brain = numpy.arange(8).astype(ml_dtypes.bfloat16)
    out = numpy.zeros(8, ml_dtypes.bfloat16)
    zeros = numpy.zeros(8, numpy.float16)
    module["blend_half_storage"][1, 64](zeros, brain, zeros, out, 2)
    numpy.testing.assert_array_equal(out.view(numpy.uint16), brain.view(numpy.uint16))


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
def test_relocatable_files(target):
    """What a compiler makes before linking: a call, tables, and variables that keep their contents between launches."""
    module = wavemill.Module.load(OBJECTS / f"{target}-relocatable.o")
    weights = numpy.array([0.5, 0.25, 0.125, 2, 4, 8, -1, -0.5], F32)
    # Few bits, so that the fused sums of the kernel are exact.
    x = numpy.arange(128, dtype=F32) % 16 / 4 - 2
    found = numpy.zeros(128, F32)
    module["blend"][2, 64](found, x, 4)
    mirrored = x.reshape(2, 64)[:, ::-1].ravel()
    numpy.testing.assert_array_equal(found, numpy.polyval(weights[:4], mirrored))

    low, high = numpy.arange(1, 5), 100 * numpy.arange(1, 5)
    which = numpy.arange(64, dtype=numpy.int32)
    item = which % 4
    expected = numpy.where(which & 1, high[item], low[item]) + 1000
    sums = numpy.zeros(64, numpy.int32)
    module["gather"][1, 64](sums, which)
    numpy.testing.assert_array_equal(sums, expected)
    # `gather` writes each of eight counters eight times, the last value with the same rest of the division by 8.
    counters = numpy.full(64, -1, numpy.int32)
    module["recall"][1, 64](counters)
    assert set(numpy.flatnonzero(counters)) == set(range(8, 16))
    assert all(counters[8 + slot] in expected[slot::8] for slot in range(8))
    module["gather"][1, 64](sums, which)
    numpy.testing.assert_array_equal(sums, expected + 1)


def test_memory_is_not_copied(vector_add):
    """The address that a fault reports is that of the array."""
    a = numpy.ones(64, F32)
    # Too large to be just after the other.
    c = numpy.zeros(1 << 20, F32)
    with pytest.raises(wavemill.GuestFault) as fault:
        vector_add[2, 64](a, a, c, 128)
    first = a.ctypes.data + 4 * 64
    assert fault.value.addresses == [first + 4 * lane for lane in range(64)]
    assert fault.value.lanes == list(range(64)) and fault.value.workgroup == (1, 0, 0)
    # The first workgroup has run: its results are in the array.
    vector_add[1, 64](a, a, c, 64)
    assert c[:65].tolist() == [2.0] * 64 + [0.0]


def test_views_are_in_their_array(vector_add):
    base = numpy.zeros(300, F32)
    base[:200] = numpy.arange(200)
    a, b, c = base[:100], base[100:200], base[200:]
    vector_add[2, 64](a, b, c, 100)
    numpy.testing.assert_array_equal(c, numpy.arange(100, 300, 2, dtype=F32))
    # A view of a view, and views that overlap: element n becomes the sum of two others.
    whole = numpy.arange(10, dtype=F32)
    part = whole[1:][1:]
    vector_add[1, 64](part, whole[:8], part, 8)
    numpy.testing.assert_array_equal(whole, [0, 1, 2, 4, 6, 8, 10, 12, 14, 16])
    # A reversed view passes the address of its first element, which is the last in memory.
    vector_add[1, 1](whole[::-1], whole, numpy.zeros(1, F32), 1)
    # A kernel may access all of the array that a view is of, and not a byte more.
    vector_add[2, 64](a, a, base[200:210], 100)
    with pytest.raises(wavemill.GuestFault) as fault:
        vector_add[2, 64](a, a, base[201:], 100)
    assert fault.value.lanes == [99 - 64]
    assert fault.value.addresses == [base.ctypes.data + base.nbytes]


def test_ranges_end_at_the_byte(vector_add):
    memory = bytearray(4 * 64)
    a = numpy.ones(64, F32)
    vector_add[1, 64](a, a, memory, 64)
    assert memory == struct.pack("<64f", *[2.0] * 64)
    for missing in range(1, 5):
        short = bytearray(4 * 64 - missing)
        with pytest.raises(wavemill.GuestFault) as fault:
            vector_add[1, 64](a, a, short, 64)
        assert fault.value.lanes == [63]


def test_read_only_arrays_are_not_written(vector_add):
    a = numpy.ones(64, F32)
    a.flags.writeable = False
    c = numpy.zeros(64, F32)
    vector_add[1, 64](a, a, c, 64)
    assert c.tolist() == [2.0] * 64
    for constant in (a, bytes(256), numpy.broadcast_to(F32(0), (64,))):
        with pytest.raises(wavemill.GuestFault, match="read-only"):
            vector_add[1, 64](c, c, constant, 64)
    assert a.tolist() == [1.0] * 64
    # A read-only view of an array protects what no other argument may write.
    base = numpy.zeros(128, F32)
    first = base[:64]
    first.flags.writeable = False
    vector_add[1, 64](first, first, base[64:], 64)
    with pytest.raises(wavemill.GuestFault, match="read-only"):
        vector_add[1, 64](base[64:], base[64:], first, 64)


def test_everything_with_the_buffer_protocol(vector_add):
    a = array.array("f", range(64))
    b = (ctypes.c_float * 64)(*[1.0] * 64)
    c = memoryview(bytearray(256)).cast("f")
    vector_add[1, 64](a, b, c, 64)
    assert c.tolist() == [n + 1.0 for n in range(64)]


class Tensor:
    """A tensor with DLPack alone."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device, self.exports = values, device, 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.exports += 1
        return self.values.__dlpack__(**options)


class OldTensor(Tensor):
    """A tensor of a library before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        self.exports += 1
        return self.values.__dlpack__(stream=stream)


@pytest.mark.parametrize("kind", [Tensor, OldTensor])
def test_dlpack_without_numpy(vector_add, kind):
    values = numpy.arange(64, dtype=F32)
    references = sys.getrefcount(values)
    out = kind(numpy.zeros(64, F32))
    vector_add[1, 64](kind(values), kind(values), out, 64)
    numpy.testing.assert_array_equal(out.values, 2 * values)
    assert out.exports == 1 and sys.getrefcount(values) == references
    # The tensor ends at its last byte.
    with pytest.raises(wavemill.GuestFault) as fault:
        vector_add[1, 64](kind(values), kind(values), kind(out.values[:63]), 64)
    assert fault.value.lanes == [63]
    with pytest.raises(TypeError, match=r"device \(2, 0\).*copy it to the CPU"):
        vector_add[1, 64](kind(values, (2, 0)), values, out, 64)


def test_dlpack_says_what_is_read_only(vector_add):
    values = numpy.zeros(64, F32)
    values.flags.writeable = False
    with pytest.raises(wavemill.GuestFault, match="read-only"):
        vector_add[1, 64](numpy.ones(64, F32), numpy.ones(64, F32), Tensor(values), 64)


def test_a_null_pointer_is_none(vector_add):
    a = numpy.ones(64, F32)
    with pytest.raises(wavemill.GuestFault, match="null pointer") as fault:
        vector_add[1, 64](a, a, None, 64)
    assert fault.value.addresses[:2] == [0, 4]
    # Without work, nothing is accessed.
    vector_add[1, 64](None, None, None, 0)


def test_arrays_without_elements(vector_add):
    none = numpy.zeros(0, F32)
    vector_add[1, 64](none, none, none, 0)
    with pytest.raises(wavemill.GuestFault):
        vector_add[1, 64](none, none, none, 1)


# A kernel in assembly, whose parameters have no types: it stores its 4-byte value.
STORE = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl store
.p2align 8
.type store,@function
store:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_load_dword s4, s[0:1], 0x8
  v_mov_b32_e32 v0, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s4
  global_store_dword v0, v1, s[2:3]
  s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel store
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 12
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
"""


def store_bits(value, **options):
    kernel = wavemill.Module.load(wavemill.asm(STORE))["store"]
    out = numpy.zeros(1, numpy.uint32)
    kernel[1, 1](out, value, **options)
    return int(out[0])


def test_scalars_have_the_type_that_is_written():
    bits = lambda value: struct.unpack("<I", struct.pack("<f", value))[0]
    assert store_bits(wavemill.f32(2.5)) == bits(2.5)
    assert store_bits(numpy.float32(2.5)) == bits(2.5)
    assert store_bits(2.5, signature="*u32,fp32") == bits(2.5)
    assert store_bits(2, signature="*u32,f32") == bits(2.0)
    assert store_bits(wavemill.i32(-5)) == 2**32 - 5
    assert store_bits(-5, signature="ptr,i32") == 2**32 - 5
    assert store_bits(2**32 - 1, signature="ptr,u32") == 2**32 - 1
    assert store_bits(wavemill.value(b"\x01\x02\x03\x04")) == 0x04030201
    # Types of one and two bytes, at their alignment.
    assert store_bits(ml_dtypes.bfloat16(1.0)) & 0xFFFF == 0x3F80
    assert store_bits(wavemill.bf16(1.0)) & 0xFFFF == 0x3F80
    assert store_bits(wavemill.f16(1.0)) & 0xFFFF == 0x3C00
    assert store_bits(True, signature="ptr,i1") & 0xFF == 1
    # The whole segment as bytes.
    kernel = wavemill.Module.load(wavemill.asm(STORE))["store"]
    out = numpy.zeros(1, numpy.uint32)
    segment = struct.pack("<QI", out.ctypes.data, 77)
    kernel[1, 1](kernarg=segment, memory=[out])
    assert out[0] == 77
    with pytest.raises(wavemill.GuestFault):
        kernel[1, 1](kernarg=segment)
    # Arrays with names, for reports.
    kernel[1, 1](kernarg=struct.pack("<QI", out.ctypes.data, 78), memory={"numbers": out})
    assert out[0] == 78
    with pytest.raises(wavemill.GuestFault, match="just past the end of `numbers`"):
        kernel[1, 1](kernarg=struct.pack("<QI", out.ctypes.data + 4, 77), memory={"numbers": out})
    with pytest.raises(wavemill.ArgumentError, match="memory is an object of type int; expected a list or dictionary"):
        kernel[1, 1](kernarg=segment, memory=5)
    with pytest.raises(wavemill.ArgumentError, match="numbers is an object of type int; expected an array"):
        kernel[1, 1](kernarg=segment, memory={"numbers": 5})


def test_numbers_of_unknown_width_are_refused():
    with pytest.raises(wavemill.ArgumentError, match=r"write wavemill\.f32\(2\.0\).*signature="):
        store_bits(2.0)
    with pytest.raises(wavemill.ArgumentError, match=r"write wavemill\.i32\(2\)"):
        store_bits(2)


def test_wrong_arguments_are_refused(vector_add):
    a = numpy.zeros(64, F32)
    refused = [
        ((a, a, a), "expected 4 arguments, found 3"),
        ((a, a, a, 64, 1), "expected 4 arguments, found 5"),
        ((a, a, numpy.zeros(64), 64), "elements of 8 bytes, but the parameter points to f32"),
        ((a, a, 5, 64), "integer 5, but the parameter is a pointer"),
        ((a, a, 1.5, 64), "1.5, but the parameter is a pointer"),
        ((a, a, "text", 64), "an object of type str; expected an array"),
        ((a, a, a, a), "pass a number"),
        ((a, a, a, None), "the parameter is no pointer"),
        ((a, a, a, 1.5), "is 1.5, but the parameter is u32"),
        ((a, a, a, -1), "is -1, but the parameter is u32"),
        ((a, a, a, 2**32), "but the parameter is u32"),
        ((a, a, a, 2**200), "but the parameter is u32"),
        ((a, a, a, wavemill.u64(64)), "8 bytes.*but the parameter has 4"),
        ((a, a, a, numpy.uint64(64)), "8 bytes.*but the parameter has 4"),
    ]
    for args, text in refused:
        with pytest.raises(wavemill.ArgumentError, match=text):
            vector_add[1, 64](*args)
    for signature, text in [
        ("*fp32,*fp32,*fp32", "3 types, but the call has 4"),
        ("*fp32,*fp32,*fp32,number", "unknown type `number`"),
        ("*fp32,*fp32,*fp64,u32", "points to f64"),
    ]:
        with pytest.raises(wavemill.ArgumentError, match=text):
            vector_add[1, 64](a, a, a, 64, signature=signature)
    assert isinstance(wavemill.ArgumentError("x"), TypeError)
    with pytest.raises(wavemill.Error, match="work-items"):
        vector_add[1, 4096](a, a, a, 64)
    for grid in ("one", (1, 2, 3, 4), (), -1, 1.5, ((1, 1), 64, 1)):
        with pytest.raises(TypeError, match="expected"):
            vector_add[grid]
    with pytest.raises(TypeError, match="the block is"):
        vector_add[1, "x"]


def test_scalar_types_have_ranges():
    assert repr(wavemill.i32) == "wavemill.i32" and wavemill.i32.size == 4
    for of, wrong in [
        (wavemill.i8, 128),
        (wavemill.u8, -1),
        (wavemill.i32, 2.0),
        (wavemill.i64, 2**63),
        (wavemill.bool_, 2),
        (wavemill.f32, 1e300),
        (wavemill.f16, 70000.0),
    ]:
        with pytest.raises((ValueError, TypeError)):
            of(wrong)
    assert "u8" in repr(wavemill.u8(255))
    wavemill.f32(float("inf"))


def test_threads_and_the_lock(vector_add):
    """Launches of several threads run at once, on the same input."""
    a = numpy.arange(4096, dtype=F32)
    outputs = [numpy.zeros(4096, F32) for _ in range(4)]

    def work(out):
        for _ in range(10):
            vector_add[64, 64](a, a, out, 4096)

    threads = [threading.Thread(target=work, args=(out,)) for out in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in outputs:
        numpy.testing.assert_array_equal(out, 2 * a)


def test_options_of_a_call(vector_add):
    a = numpy.ones(256, F32)
    c = numpy.zeros(256, F32)
    stats = vector_add[4, 64](a, a, c, 256, threads=2, count=True, traffic=True)
    assert stats.threads <= 2
    data = stats.to_dict()
    # Each element is loaded twice and stored once.
    text = str(data)
    assert data["mix"]["vmem"] == 3 * 4, text
    assert stats.instructions == data["instructions"]
    assert vector_add[4, 64](a, a, c, 256).to_dict()["mix"] is None
    for options, text in [
        ({"threads": 0}, "threads is 0"),
        ({"time_limit": 0}, "time_limit"),
        ({"kernarg": b""}, "either kernarg"),
    ]:
        with pytest.raises(wavemill.ArgumentError, match=text):
            vector_add[4, 64](a, a, c, 256, **options)


def test_a_device_has_threads():
    device = wavemill.Device("gfx942", threads=1)
    module = device.load(code_object("vector_add"))
    a = numpy.ones(1 << 14, F32)
    stats = module["vector_add"][256, 64](a, a, numpy.zeros_like(a), 1 << 14)
    assert (stats.threads, device.threads, module.device.target) == (1, 1, "gfx942")


FOLLOW = """
.text
.globl follow
.p2align 8
.type follow,@function
follow:
    s_load_dwordx4 s[0:3], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 3, v0
    s_waitcnt lgkmcnt(0)
    global_load_dwordx2 v[2:3], v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_load_dword v4, v[2:3], off
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt vmcnt(0)
    global_store_dword v1, v4, s[2:3]
    s_endpgm
.rodata
.p2align 6
.amdhsa_kernel follow
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 8
.end_amdhsa_kernel
"""


def test_pointers_in_memory():
    code = wavemill.asm(FOLLOW, "gfx942")
    numbers = numpy.arange(5000, dtype=numpy.uint32)
    pointers = numpy.array([numbers.ctypes.data + 4 * n for n in (4000, 7)], numpy.uint64)

    def follow(device, **options):
        out = numpy.zeros(2, numpy.uint32)
        module = wavemill.Module.load(code, device)
        module["follow"][1, 2](pointers, out, signature="*u64,*u32", **options)
        return out.tolist()

    everything = wavemill.Device("gfx942", host_memory="process")
    assert (everything.host_memory, repr(everything)) == (
        "process",
        '<Device gfx942 (mi300x), host_memory="process">',
    )
    assert follow(everything) == [4000, 7]
    assert follow("gfx942", memory=[numbers]) == [4000, 7]
    with pytest.raises(wavemill.GuestFault, match=r"memory=\[\.\.\.\], or use a device") as caught:
        follow("gfx942")
    assert caught.value.lanes == [0, 1] and caught.value.data["only_in_process"]
    pointers[0] = 3 << 45
    with pytest.raises(wavemill.GuestFault, match="the process has no memory there"):
        follow(everything)
    with pytest.raises(wavemill.ArgumentError, match='host_memory is "all"'):
        wavemill.Device("gfx942", host_memory="all")
