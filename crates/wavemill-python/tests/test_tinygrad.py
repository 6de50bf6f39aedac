"""The device of tinygrad, and `run_asm`, against NumPy.

Tests skip if tinygrad or a libLLVM that knows the targets is absent; with WAVEMILL_REQUIRE_ORACLES=1 they fail.
"""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
from importlib import util

import numpy as np
import pytest
from conftest import code_object

import wavemill
from wavemill import machine_code


def absent(what):
    """Skips the tests of this file, or fails if nothing may be absent."""
    if os.environ.get("WAVEMILL_REQUIRE_ORACLES") == "1":
        raise RuntimeError(f"{what}, and WAVEMILL_REQUIRE_ORACLES is 1")
    pytest.skip(what, allow_module_level=True)


if util.find_spec("tinygrad") is None:
    absent("tinygrad is not installed: pip install tinygrad==0.14.0")

# Results of other versions and targets are not in this cache, and other programs do not see those of the tests.
os.environ.setdefault("CACHELEVEL", "0")
os.environ.setdefault("PARALLEL", "0")

import wavemill.tinygrad  # noqa: E402
from wavemill.tinygrad import llvm  # noqa: E402

if not os.environ.get("LLVM_PATH"):
    absent(f"there is no libLLVM of version {llvm.OLDEST} or later")

from tinygrad import Device, Tensor, TinyJit, Variable, dtypes  # noqa: E402
from tinygrad.helpers import Context  # noqa: E402

#: Numbers of the devices that have these targets.
DEVICES = {"gfx942": 0, "gfx950": 1, "gfx90a": 2, "gfx906": 3}


def open_device(target, monkeypatch):
    """tinygrad's name of a device with a target. It has the target of the time when it is opened."""
    name = f"WAVEMILL:{DEVICES[target]}"
    monkeypatch.setenv("WAVEMILL_TARGET", target)
    assert Device[name].arch == target
    return Device.canonicalize(name)


@pytest.fixture(params=["gfx942", "gfx950"])
def device(request, monkeypatch):
    return open_device(request.param, monkeypatch)


@pytest.fixture(params=DEVICES)
def every_device(request, monkeypatch):
    return open_device(request.param, monkeypatch)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def launches(device):
    """Launches of a device so far."""
    return Device[device].totals.launches


def on(device, *arrays):
    """Arrays as tensors with memory of a device."""
    tensors = [Tensor(array, device=device).realize() for array in arrays]
    return tensors if len(tensors) > 1 else tensors[0]


def test_elementwise(every_device, rng):
    x, y = rng.normal(size=(2, 37, 29)).astype(np.float32)
    a, b = on(every_device, x, y)
    before = launches(every_device)
    np.testing.assert_array_equal((a + b).numpy(), x + y)
    np.testing.assert_array_equal((a > b).where(a, b).numpy(), np.maximum(x, y))
    np.testing.assert_allclose((a * b - 3).relu().numpy(), np.maximum(x * y - 3, 0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((a / b).numpy(), x / y, rtol=1e-5)
    assert launches(every_device) >= before + 4
    i = rng.integers(-1000, 1000, (50,), np.int32)
    t = on(every_device, i)
    np.testing.assert_array_equal((t * 7 // 5 + (t & 12) ** 2).numpy(), i * 7 // 5 + (i & 12) ** 2)


def test_functions(device, rng):
    x = rng.uniform(-20, 20, 500).astype(np.float32)
    t = on(device, x)
    for ours, numpy in ((t.sin(), np.sin), (t.cos(), np.cos), (t.tanh(), np.tanh), (t.exp(), np.exp)):
        np.testing.assert_allclose(ours.numpy(), numpy(x.astype(np.float64)), rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(t.abs().log().numpy(), np.log(np.abs(x.astype(np.float64))), rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(t.abs().sqrt().numpy(), np.sqrt(np.abs(x.astype(np.float64))), rtol=1e-6)


def test_reductions(device, rng):
    x = rng.normal(size=(33, 65)).astype(np.float32)
    t = on(device, x)
    np.testing.assert_allclose(t.sum(0).numpy(), x.sum(0, dtype=np.float64), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(t.mean(1).numpy(), x.mean(1, dtype=np.float64), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(t.max(1).numpy(), x.max(1))
    np.testing.assert_array_equal(t.argmax(1).numpy(), x.argmax(1))
    np.testing.assert_array_equal(t.argmin().numpy(), x.argmin())
    np.testing.assert_allclose(t.cumsum(1).numpy(), x.cumsum(1, dtype=np.float64), rtol=1e-4, atol=1e-5)
    long = rng.integers(0, 100, 20_000, np.int32)
    assert on(device, long).sum().item() == long.sum()


def test_softmax(every_device, rng):
    x = rng.normal(size=(37, 129)).astype(np.float32) * 5
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(on(every_device, x).softmax(1).numpy(), e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("name, unit", [("float32", 2**-24), ("float16", 2**-11), ("bfloat16", 2**-8)])
def test_matrix_products(device, rng, name, unit):
    # Multiples of 1/64 up to 2 are exact in every type.
    x, y = rng.integers(-128, 129, (2, 64, 64)) / 64
    a, b = (one.cast(name).realize() for one in on(device, x.astype(np.float32), y.astype(np.float32)))
    found = (a @ b).float().numpy()
    # Sums are in single precision, and then rounded to the type.
    bound = 2 * 65 * 2**-24 * (np.abs(x) @ np.abs(y)) + unit * np.abs(x @ y)
    assert (np.abs(found - x @ y) <= bound).all()


def test_matrix_instructions_run(device, rng):
    """Half-precision products with tensor cores need far fewer instructions."""
    x = on(device, rng.normal(size=(64, 64)).astype(np.float16))
    totals = Device[device].totals
    counts = []
    for cores in (0, 1):
        with Context(TC=cores):
            before = totals.instructions
            x.matmul(x, dtype=dtypes.float).realize()
            counts.append(totals.instructions - before)
    assert 0 < counts[1] < counts[0] / 2


def test_convolutions(device, rng):
    x, w = rng.normal(size=(2, 3, 12, 11)).astype(np.float32), rng.normal(size=(5, 3, 3, 3)).astype(np.float32)
    a, b = on(device, x, w)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(2, 3))
    np.testing.assert_allclose(a.conv2d(b).numpy(), np.einsum("nchwij,fcij->nfhw", windows, w), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(
        a[:, :, :, :10].max_pool2d().numpy(), x[:, :, :, :10].reshape(2, 3, 6, 2, 5, 2).max((3, 5))
    )


def test_sort(device, rng):
    x = rng.normal(size=(3, 100)).astype(np.float32)
    values, indices = on(device, x).sort(1)
    np.testing.assert_array_equal(values.numpy(), np.sort(x, 1))
    np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), 1), np.sort(x, 1))
    np.testing.assert_array_equal(on(device, x).topk(5, dim=1)[0].numpy(), -np.sort(-x, 1)[:, :5])


def test_types(device, rng):
    x = rng.integers(-100, 100, 77)
    for name in ("int8", "int16", "int32", "int64", "float16", "float32", "float64"):
        t = on(device, x.astype(name))
        np.testing.assert_array_equal((t + t).numpy(), x.astype(name) + x.astype(name))
        np.testing.assert_array_equal(t.cast("float32").numpy(), x.astype(np.float32))
    flags = on(device, x > 0)
    np.testing.assert_array_equal(flags.logical_not().numpy(), x <= 0)


def test_parts_of_an_allocation(device, rng):
    x = rng.normal(size=1000).astype(np.float32)
    t = on(device, x)
    buffer = t.uop.buffer
    part = buffer.view(100, dtypes.float32, 4 * 50).ensure_allocated()
    np.testing.assert_array_equal(np.frombuffer(part.as_memoryview(), np.float32), x[50:150])
    # A copy to a part, and one from a part to another.
    other = buffer.view(100, dtypes.float32, 4 * 600).ensure_allocated()
    other.copy_from(part)
    x[600:700] = x[50:150]
    np.testing.assert_array_equal(t.numpy(), x)
    # Kernels that read a part and write another.
    t[200:300].assign(t[:100] * 2).realize()
    x[200:300] = x[:100] * 2
    np.testing.assert_array_equal(t.numpy(), x)


def test_replay_of_a_jit(device, rng):
    @TinyJit
    def step(a, b):
        # Buffers in between share an allocation.
        c = (a @ b).softmax(1).contiguous()
        return (c @ b + c.sum(1, keepdim=True)).realize()

    for _ in range(4):
        x, y = rng.normal(size=(2, 32, 32)).astype(np.float32)
        e = np.exp(z := x.astype(np.float64) @ y - (x.astype(np.float64) @ y).max(1, keepdims=True))
        del z
        c = e / e.sum(1, keepdims=True)
        np.testing.assert_allclose(step(*on(device, x, y)).numpy(), c @ y + 1, rtol=1e-3, atol=1e-4)


def test_symbolic_shapes(device):
    x = np.arange(64, dtype=np.float32)
    t = on(device, x)
    n = Variable("n", 1, 64)

    @TinyJit
    def total(part):
        return (part * part).sum().realize()

    for size in (3, 10, 10, 64, 1):
        assert total(t.shrink(((0, n.bind(size)),))).item() == (x[:size] ** 2).sum()


def test_random_numbers(device):
    Tensor.manual_seed(7)
    x = Tensor.rand(10_000, device=device).numpy()
    assert 0 <= x.min() < 0.001 and 0.999 < x.max() < 1
    # The mean has a standard deviation of 0.003.
    assert abs(x.mean() - 0.5) < 0.015 and len(set(x)) > 9_900
    Tensor.manual_seed(7)
    np.testing.assert_array_equal(Tensor.rand(10_000, device=device).numpy(), x)


def test_copies_between_devices(monkeypatch, rng):
    x = rng.normal(size=333).astype(np.float32)
    first, second = (open_device(target, monkeypatch) for target in ("gfx942", "gfx950"))
    np.testing.assert_array_equal((on(first, x).to(second) + 1).to(first).numpy(), x + 1)


def test_gradients(device, rng):
    x, w = rng.normal(size=(2, 16, 16)).astype(np.float32)
    a, b = on(device, x, w)
    (a @ b).relu().sum().backward()
    mask = (x.astype(np.float64) @ w > 0).astype(np.float64)
    np.testing.assert_allclose(b.grad.numpy(), x.T.astype(np.float64) @ mask, rtol=1e-4, atol=1e-5)


def run_kernel(device, name, sizes, grid, block=256, **options):
    """Runs a kernel of this repository through tinygrad's interface on buffers of these bytes."""
    from tinygrad.device import Buffer, TinyELF
    from tinygrad.helpers import Target

    of = Device[device]
    target = of.arch
    program = of.runtime(TinyELF(code_object(name, target).read_bytes(), name, Target("WAVEMILL"), ()))
    buffers = [Buffer(device, size, dtypes.uint8, preallocate=True) for size in sizes]
    program(*[buffer.get_buf(device) for buffer in buffers], global_size=grid, local_size=(block, 1, 1), **options)
    return buffers


def test_accesses_beyond_an_allocation(device):
    sizes = [4 * 256] * 3
    run_kernel(device, "vector_add", sizes, (1, 1, 1), vals=(256,))
    with pytest.raises(wavemill.GuestFault, match="vector_add") as caught:
        run_kernel(device, "vector_add", sizes, (2, 1, 1), vals=(257,))
    assert caught.value.kernel == "vector_add" and caught.value.lanes == [0]
    # Bytes between the end and the next multiple of 32, which LLVM may read, but kernels must not write.
    with pytest.raises(wavemill.GuestFault, match="wrote to the 28 bytes after"):
        run_kernel(device, "vector_add", [4 * 256, 4 * 256, 4 * 249], (1, 1, 1), vals=(250,))


def test_launches_that_are_impossible(device):
    from wavemill.tinygrad.device import LaunchError

    with pytest.raises(LaunchError, match="vector_add: .*2048"):
        run_kernel(device, "vector_add", [4] * 3, (1, 1, 1), vals=(1,), block=2048)
    with pytest.raises(LaunchError, match="expected 4 arguments, found 3"):
        run_kernel(device, "vector_add", [4] * 3, (1, 1, 1))


def test_time_limits_of_beam_search(device):
    from wavemill.tinygrad.device import LaunchError

    # tinygrad continues with other candidates after a RuntimeError.
    assert issubclass(LaunchError, RuntimeError)
    of = Device[device]
    clock, of.clock = of.clock, "instructions"
    try:
        run_kernel(device, "vector_add", [4 << 20] * 3, (4096, 1, 1), vals=(1 << 20,))
        with pytest.raises(LaunchError, match="limit"):
            run_kernel(device, "vector_add", [4 << 20] * 3, (4096, 1, 1), vals=(1 << 20,), timeout=0.1)
    finally:
        of.clock = clock


def test_beam_search(monkeypatch, rng):
    # tinygrad tries candidates on the device without a number.
    device = open_device("gfx942", monkeypatch)
    x = rng.normal(size=(16, 16)).astype(np.float32)
    with Context(BEAM=1, IGNORE_BEAM_CACHE=1):
        np.testing.assert_allclose((on(device, x) @ on(device, x)).numpy(), x @ x, rtol=1e-4, atol=1e-5)


def test_kernels_of_tinygrads_assembler(device, rng):
    """A kernel of instructions, as tinygrad's assembler makes it: a file without symbols."""
    from tinygrad.dtype import AddrSpace
    from tinygrad.engine.realize import run_linear
    from tinygrad.renderer.amd.dsl import s, v
    from tinygrad.runtime.autogen.amd.cdna import ins
    from tinygrad.uop.ops import KernelInfo, Ops, UOp

    def add(out, x):
        items = UOp.special(64, "lidx0")
        amount = UOp.param(2, dtypes.int, vmin_vmax=(0, 1000), name="amount", addrspace=AddrSpace.ALU)
        instructions = [
            ins.s_load_dwordx4(s[4:7], s[0:1], imm=1),
            ins.s_load_dword(s[8], s[0:1], offset=0x10, imm=1),
            ins.s_waitcnt(0xC07F),
            ins.v_lshlrev_b32_e32(v[0], 2, v[0]),
            ins.global_load_dword(vdst=v[1], addr=v[0], saddr=s[6:7]),
            ins.s_waitcnt(0x0F70),
            ins.v_add_u32_e32(v[1], s[8], v[1]),
            ins.global_store_dword(addr=v[0], data=v[1], saddr=s[4:5]),
            ins.s_endpgm(),
        ]
        sink = UOp.sink(out.base, x.base, amount, items, arg=KernelInfo("assembled_add"))
        return UOp(Ops.PROGRAM, src=(sink, UOp(Ops.LINEAR, src=tuple(UOp(Ops.INS, arg=one) for one in instructions))))

    x = rng.integers(0, 1000, 64, np.uint32)
    out = on(device, np.zeros(64, np.uint32))
    out = Tensor.custom_kernel(out, on(device, x), fxn=add)[0]
    linear = out.schedule_linear()
    for amount in (0, 5, 1000):
        run_linear(linear, var_vals={"amount": amount})
        np.testing.assert_array_equal(out.numpy(), x + amount)


def program(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(text)
    return path


PROGRAM = """
import sys
from tinygrad import Device, Tensor
print(sys.argv[1:], Device.DEFAULT, Device[Device.DEFAULT].arch, (Tensor([1.0, 2.0]) * 2).tolist())
"""


def command(*arguments, **environment):
    """Runs `python -m wavemill.tinygrad`."""
    known = {name: value for name, value in os.environ.items() if name not in ("DEV", "WAVEMILL_TARGET")}
    line = [sys.executable, "-m", "wavemill.tinygrad", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, env={**known, **environment}, check=False)


def test_programs_without_the_import(tmp_path):
    path = program(tmp_path, PROGRAM)
    done = command("--target", "mi355x", path, "a", "-b")
    assert done.stdout == "['a', '-b'] WAVEMILL gfx950 [2.0, 4.0]\n", done.stderr
    done = command(path, DEV="WAVEMILL:LLVM:gfx90a")
    assert done.stdout == "[] WAVEMILL gfx90a [2.0, 4.0]\n", done.stderr


def test_targets_that_are_wrong(tmp_path):
    path = program(tmp_path, PROGRAM)
    for target, text in [
        ("gfx1100", "Wavemill does not run"),
        ("hd6970", "pointers of cayman have 32 bits"),
        ("toaster", "no target or product"),
    ]:
        done = command("--target", target, path)
        assert done.returncode == 1 and text in done.stderr
        assert "tinygrad runs on gfx942, gfx950, gfx90a, gfx908, gfx906, gfx900" in done.stderr
    done = command(path, WAVEMILL_THREADS="many")
    assert "WAVEMILL_THREADS is `many`; expected a number" in done.stderr


def imported(prelude, **environment):
    """What an import of the device writes to stderr."""
    line = [sys.executable, "-c", f"{prelude}; import wavemill.tinygrad"]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    return done.stderr


def test_other_versions_of_tinygrad(tmp_path):
    absent = imported("import sys; sys.modules['tinygrad'] = None")
    assert "needs tinygrad, which is not installed: pip install tinygrad==0.14.0" in absent
    (tmp_path / "tinygrad").mkdir()
    (tmp_path / "tinygrad" / "__init__.py").write_text("")
    other = imported("pass", PYTHONPATH=str(tmp_path))
    assert "is made for tinygrad 0.14.0, and found" in other and str(tmp_path) in other


def test_choice_of_llvm(monkeypatch):
    assert llvm.version("/usr/lib/x86_64-linux-gnu/libLLVM.so.22.1") == (22, 1)
    assert llvm.version("/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1") == (15,)
    assert llvm.version("/usr/lib/llvm-21/lib/libLLVM.so") == (21,)
    assert llvm.version("/opt/homebrew/opt/llvm@20/lib/libLLVM.dylib") == (20,)
    assert llvm.version("/usr/lib/libLLVM.so") == ()
    monkeypatch.setenv("LLVM_PATH", "mine")
    llvm.choose()
    assert os.environ["LLVM_PATH"] == "mine"


# run_asm and run_code: machine code in memory of this process.

#: Adds 7 and its own number to each element: s[0:1] has the address of the arguments, s2 the workgroup.
CODE = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_load_dword s6, s[0:1], 0x8
v_lshl_or_b32 v0, s2, 6, v0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
v_add_u32_e32 v0, s6, v0
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
v_add_u32_e32 v2, v2, v0
global_store_dword v1, v2, s[4:5]
s_endpgm
"""

#: USER_SGPR_COUNT is 2; ENABLE_SGPR_WORKGROUP_ID_X.
RSRC2 = 2 << 1 | 1 << 7


@pytest.fixture(params=["gfx942", "gfx950"])
def machine(request, monkeypatch, tmp_path):
    """The code on a target: the bytes of its instructions."""
    monkeypatch.setenv("WAVEMILL_TARGET", request.param)
    text = f'.amdgcn_target "amdgcn-amd-amdhsa--{request.param}"\n.text\n{CODE}'
    elf = wavemill.asm(text, request.param)
    # The text section of the ELF file: names of sections are in the section e_shstrndx.
    view = memoryview(elf)
    table, count, names = (int.from_bytes(view[at : at + size], "little") for at, size in ((40, 8), (60, 2), (62, 2)))

    def field(section, at, size=8):
        start = table + 64 * section + at
        return int.from_bytes(view[start : start + size], "little")

    strings = elf[field(names, 24) :]
    for section in range(count):
        if strings[field(section, 0, 4) :].split(b"\0")[0] == b".text":
            start = field(section, 24)
            return elf[start : start + field(section, 32)]
    raise AssertionError("no .text")


class Memory:
    """Code, data and arguments in memory of this process."""

    def __init__(self, code, data):
        self.code = np.frombuffer(code, np.uint8).copy()
        self.data = data
        self.arguments = np.array([data.ctypes.data, 7], np.uint64)

    def ranges(self):
        return [(one.ctypes.data, one.nbytes) for one in (self.code, self.data, self.arguments)]


def test_run_asm(machine):
    memory = Memory(machine, np.arange(128, dtype=np.uint32) * 3)
    expected = memory.data + 7 + np.arange(128)
    at = memory.arguments.ctypes.data
    call = (memory.code.ctypes.data, memory.code.nbytes, 2, 1, 1, 64, 1, 1, at, RSRC2, 0, "cdna")
    with wavemill.tinygrad.Dispatch(ranges=memory.ranges()):
        assert wavemill.tinygrad.run_asm(*call, [at & 0xFFFFFFFF, at >> 32]) == 0
        np.testing.assert_array_equal(memory.data, expected)
        # Without user data, the address of the arguments is in s0 and s1.
        expected = expected + 7 + np.arange(128)
        assert wavemill.tinygrad.run_asm(*call) == 0
        np.testing.assert_array_equal(memory.data, expected)
    with pytest.raises(wavemill.Error, match="needs the memory that the code may access"):
        wavemill.tinygrad.run_asm(*call)


def test_run_asm_checks_what_is_mapped(machine):
    memory = Memory(machine, np.zeros(100, np.uint32))
    arguments = (memory.code.nbytes, 2, 1, 1, 64, 1, 1, memory.arguments.ctypes.data, RSRC2, 0, "cdna")
    with wavemill.tinygrad.Dispatch(ranges=memory.ranges()):
        with pytest.raises(wavemill.GuestFault, match="just past the end of `range 1`"):
            wavemill.tinygrad.run_asm(memory.code.ctypes.data, *arguments)


def test_run_asm_of_other_families(machine):
    with pytest.raises(wavemill.Error, match="rdna3; expected cdna"):
        wavemill.tinygrad.run_asm(0, 0, 1, 1, 1, 1, 1, 1, 0, arch="rdna3")


def test_run_code(machine):
    target = os.environ["WAVEMILL_TARGET"]
    memory = Memory(machine, np.zeros(128, np.uint32))
    at = memory.arguments.ctypes.data
    options = {
        "grid": (2, 1, 1),
        "block": (64, 1, 1),
        "ranges": memory.ranges(),
        "user_sgprs": [at & 0xFFFFFFFF, at >> 32],
        "rsrc2": RSRC2,
    }
    assert machine_code.run_code(target, memory.code.ctypes.data, memory.code.nbytes, **options) == 2 * 11
    np.testing.assert_array_equal(memory.data, 7 + np.arange(128))
    with pytest.raises(wavemill.LimitReached):
        machine_code.run_code(target, memory.code.ctypes.data, memory.code.nbytes, max_instructions=5, **options)
    with pytest.raises(wavemill.Error, match="nothing"):
        machine_code.run_code("nothing", memory.code.ctypes.data, memory.code.nbytes, **options)


def test_run_code_checks_numbers(machine):
    memory = Memory(machine, np.zeros(128, np.uint32))
    target, at, size = os.environ["WAVEMILL_TARGET"], memory.code.ctypes.data, memory.code.nbytes
    options = {"grid": (1, 1, 1), "block": (64, 1, 1), "user_sgprs": [0, 0], "rsrc2": RSRC2}
    options["ranges"] = memory.ranges()
    for wrong in (
        {"lds_size": 1 << 32},
        {"scratch_size": -1},
        {"user_sgprs": [1 << 32, 0]},
        {"max_instructions": -1},
        {"ranges": [(-8, 8)]},
    ):
        with pytest.raises(OverflowError):
            machine_code.run_code(target, at, size, **{**options, **wrong})
    for wrong in ({"grid": (1, 1)}, {"block": (64, 1, 1, 1)}):
        with pytest.raises(ValueError):
            machine_code.run_code(target, at, size, **{**options, **wrong})
    assert not memory.data.any()


def test_ctrl_c_ends_machine_code(machine):
    # s_branch to itself.
    code = np.array([0xBF82FFFF], np.uint32)
    ranges = [(code.ctypes.data, code.nbytes)]
    options = {"grid": (1, 1, 1), "block": (64, 1, 1), "ranges": ranges, "find_stalls": False}

    def run():
        machine_code.run_code(os.environ["WAVEMILL_TARGET"], code.ctypes.data, code.nbytes, **options)

    def interrupt():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    thread.join()


def test_runs_leave_nothing_behind(machine):
    """Runs of code have devices that other runs had: neither their memory nor their reports may show."""
    target = os.environ["WAVEMILL_TARGET"]
    memory = Memory(machine, np.zeros(128, np.uint32))
    at = memory.arguments.ctypes.data
    options = {"grid": (2, 1, 1), "block": (64, 1, 1), "user_sgprs": [at & 0xFFFFFFFF, at >> 32], "rsrc2": RSRC2}

    def run(ranges):
        machine_code.run_code(target, memory.code.ctypes.data, memory.code.nbytes, ranges=ranges, **options)

    code, data, arguments = memory.ranges()
    run([code, data, arguments])
    expected = memory.data.copy()
    for _ in range(3):
        with pytest.raises(wavemill.GuestFault) as fault:
            run([code, arguments])
        assert "freed" not in str(fault.value)
    np.testing.assert_array_equal(memory.data, expected)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: run([code, data, arguments]), range(40)))
    np.testing.assert_array_equal(memory.data[:3] > expected[:3], True)
