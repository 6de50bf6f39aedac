"""Triton's kernels on arrays of numpy, against numpy.

Each test runs on one target, and with WAVEMILL_TESTS=all on all of them.
"""

import ctypes
import itertools
import mmap
import os
import re

import ml_dtypes
import numpy
import pytest
from conftest import TARGETS

import wavemill

try:
    import triton
except ImportError:
    if os.environ.get("WAVEMILL_REQUIRE_ORACLES") == "1":
        raise
    pytest.skip("Triton is not installed", allow_module_level=True)

import triton_kernels as kernels
from triton.runtime.driver import driver
from triton.tools.tensor_descriptor import TensorDescriptor

import wavemill.triton
from wavemill.triton.driver import WavemillDriver

F16, F32, F64 = numpy.float16, numpy.float32, numpy.float64
array = wavemill.triton.array
_next = itertools.count()


def _switch(target, monkeypatch, **variables):
    """Makes Triton compile for another target: a process has one, usually."""
    for name, value in {"WAVEMILL_TARGET": target, **variables}.items():
        monkeypatch.setenv(name, value)
    driver.set_active(WavemillDriver())
    for kernel in vars(kernels).values():
        while hasattr(kernel, "fn"):
            if hasattr(kernel, "device_caches"):
                kernel.device_caches.clear()
            kernel = kernel.fn


def pytest_generate_tests(metafunc):
    if "on_target" in metafunc.fixturenames:
        everything = os.environ.get("WAVEMILL_TESTS") == "all"
        metafunc.parametrize(
            "on_target", TARGETS if everything else [TARGETS[next(_next) % len(TARGETS)]], indirect=True
        )


@pytest.fixture
def on_target(request, monkeypatch):
    _switch(request.param, monkeypatch)
    return request.param


def tiles(shape, *blocks):
    return tuple(-(-size // block) for size, block in zip(shape, blocks))


def eighths(random, *shape, of=F32, most=64):
    """Numbers with few bits, so that every order of operations gives the same sum."""
    return (random.integers(-most, most, shape) / 8).astype(of)


RANDOM = numpy.random.default_rng(20)


def test_half_and_single_with_constants(on_target):
    x, y = eighths(RANDOM, 1000, of=F16), eighths(RANDOM, 1000)
    out = numpy.zeros(1000, F32)
    kernel = kernels.half_and_single[(4,)](array(x), array(y), array(out), 1000, BLOCK=256)
    expected = (x.astype(F64) * 2 + 0.5) * 4 - 1 + (y.astype(F64) * -4 + 1) * 0.5 - 7.25
    numpy.testing.assert_array_equal(out, expected)
    assert kernel.n_regs > 0 and kernel.n_spills == 0
    stats = wavemill.triton.last_stats()
    assert (stats.kernel, stats.workgroups, stats.waves) == ("half_and_single", 4, 16)


def test_softmax(on_target):
    x = RANDOM.standard_normal((7, 200), F32) * 5
    out = numpy.full((7, 203), 9, F32)
    kernels.softmax[(7,)](array(x), array(out), 200, 200, BLOCK=256)
    expected = numpy.exp(x.astype(F64) - x.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    # The difference and its product with log2(e) are rounded, which are errors in the exponent;
    # then the power, the sum and the quotient.
    tolerance = (2 * numpy.ptp(x, 1).max() + 8) * 2**-24
    numpy.testing.assert_allclose(out.reshape(-1)[:1400].reshape(7, 200), expected, rtol=tolerance)
    assert (out.reshape(-1)[1400:] == 9).all()


@pytest.mark.parametrize("of", [F16, F32, ml_dtypes.bfloat16], ids=["f16", "f32", "bf16"])
def test_matmul(on_target, of):
    M, N, K = 70, 60, 100
    a, b = eighths(RANDOM, M, K, most=16).astype(of), eighths(RANDOM, K, N, most=16).astype(of)
    c = numpy.zeros((M, N), F32)
    grid = tiles((M, N), 32, 32)
    kernels.matmul[grid](array(a), array(b), array(c), M, N, K, K, N, N, BM=32, BN=32, BK=32)
    numpy.testing.assert_array_equal(c, a.astype(F64) @ b.astype(F64))


def test_attention(on_target):
    N, D = 128, 64
    q, k, v = (RANDOM.standard_normal((N, D)).astype(F16) for _ in range(3))
    out = numpy.zeros((N, D), F32)
    kernels.attention[(N // 64,)](array(q), array(k), array(v), array(out), 0.125, N, D=D, BM=64, BN=32)
    scores = q.astype(F64) @ k.astype(F64).T * 0.125
    weights = numpy.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v.astype(F64)
    # Weights are at most 1 and rounded to f16; the values have a standard deviation of 1.
    numpy.testing.assert_allclose(out, expected, atol=2**-10, rtol=0)


def test_the_autotuner_counts_instructions(on_target):
    x, count = numpy.arange(1000, dtype=numpy.int32), numpy.zeros(1, numpy.int32)
    kernels.increment.cache.clear()
    kernels.increment[lambda meta: tiles((1000,), meta["BLOCK"])](array(x), array(count), 1000)
    # Every configuration ran, and left no trace.
    numpy.testing.assert_array_equal(x, numpy.arange(1000) + 1)
    assert count[0] == 1000
    timings = {config.kwargs["BLOCK"]: timing for config, timing in kernels.increment.configs_timings.items()}
    assert set(timings) == {64, 256, 512}
    assert all(timing == [timing[0]] * 3 and timing[0] == int(timing[0]) > 0 for timing in timings.values())
    best = min(timings, key=lambda block: timings[block][0])
    assert kernels.increment.best_config.kwargs["BLOCK"] == best
    assert wavemill.triton.last_stats().instructions == timings[best][0]


def test_descriptors_of_the_host(on_target):
    x = RANDOM.standard_normal((64, 96)).astype(F16)
    out = numpy.zeros((96, 64), F16)
    blocks = ([16, 32], [32, 16])
    source, target = (TensorDescriptor.from_tensor(array(a), block) for a, block in zip((x, out), blocks))
    kernels.transpose[(4, 3)](source, target, BM=16, BN=32)
    numpy.testing.assert_array_equal(out, x.T)


def test_descriptors_of_the_kernel(on_target):
    # Tiles reach beyond the array.
    x = eighths(RANDOM, 50, 40)
    out = numpy.zeros_like(x)
    kernels.double_tiles[tiles(x.shape, 16, 32)](array(x), array(out), 50, 40, BM=16, BN=32)
    numpy.testing.assert_array_equal(out, x * 2)


def test_tuples(on_target):
    x, y = eighths(RANDOM, 100, most=16), numpy.zeros(100, F32)
    kernels.polynomial[(2,)]((array(x), array(y)), (2.0, None, (3, 0.5)), 100, BLOCK=64)
    numpy.testing.assert_array_equal(y, (2 * x.astype(F64) + 3) * x + 0.5)


def test_device_print(on_target, capsys):
    kernels.print_values[(1,)](array(numpy.array([2.5, -4], F32)), num_warps=1)
    printed = capsys.readouterr().out.splitlines()
    found = [re.fullmatch(r"pid \(0, 0, 0\) idx \(\s*(\d)\) value: (\S+)", line) for line in printed]
    assert {(int(one[1]), float(one[2])) for one in found} == {(0, 2.5), (1, -4.0)}


def test_atomics(on_target):
    x = RANDOM.integers(0, 8, 500, numpy.int32)
    bins, total, largest = numpy.zeros(8, numpy.int32), numpy.zeros(2, F16), numpy.zeros(1, numpy.int32)
    kernels.histogram[(4,)](array(x), array(bins), array(total), array(largest), 500, BLOCK=128)
    numpy.testing.assert_array_equal(bins, numpy.bincount(x, minlength=8))
    # Sums of integers are exact in f16 up to 2048.
    assert total.tolist() == [x.sum(), 0] and x.sum() < 2048 and largest[0] == x.max()


@pytest.mark.parametrize("of", [F16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
def test_atomics_of_halves_end_at_the_array(on_target, of):
    """The dword of the last of an odd number of halves ends 2 bytes after the array."""
    for count in (1, 3, 5):
        # The array ends where another one begins, which the kernel must not change.
        both = numpy.zeros(count + 1, of)
        both[count] = 7
        x = numpy.frombuffer((ctypes.c_char * (2 * count)).from_buffer(both.view(numpy.uint8)), of)
        index = RANDOM.integers(0, count, 64).astype(numpy.int32)
        index[:2] = count - 1
        values = RANDOM.integers(1, 3, 64).astype(of)
        kernels.add_halves[(1,)](array(x), array(index), array(values), 64, BLOCK=64)
        expected = numpy.array([values[index == n].astype(F32).sum() for n in range(count)])
        numpy.testing.assert_array_equal(x.astype(F32), expected)
        kernels.add_one_half[(3,)](array(x), count - 1, 1.0)
        expected[-1] += 3
        numpy.testing.assert_array_equal(x.astype(F32), expected)
        swapped = x.view(numpy.int16)
        before = int(swapped[-1])
        old = numpy.zeros(2, numpy.int16)
        kernels.swap_half[(1,)](array(swapped), array(old), count - 1, before, 5)
        assert (int(old[0]), int(old[1]), int(swapped[-1])) == (before, 5, 5)
        with pytest.raises(wavemill.GuestFault):
            kernels.add_one_half[(1,)](array(x), count, 1.0)
        assert both[count] == 7


def test_programs_that_wait_for_one_another(on_target):
    x = eighths(RANDOM, 1000)
    lock, total = numpy.zeros(1, numpy.int32), numpy.zeros(1, F32)
    kernels.locked_sum[(8,)](array(lock), array(total), array(x), 1000, BLOCK=128)
    assert total[0] == x.astype(F64).sum() and lock[0] == 0


@pytest.mark.parametrize(
    "of",
    [F16, ml_dtypes.bfloat16, F64, numpy.int8, numpy.uint16, numpy.int64, ml_dtypes.float8_e5m2],
    ids=lambda of: of.__name__,
)
def test_casts_from_single_precision(on_target, of):
    x = RANDOM.standard_normal(1000).astype(F32) * 20
    if numpy.issubdtype(of, numpy.integer):
        x = numpy.abs(x)
    out = numpy.zeros(1000, of)
    kernels.cast[(4,)](array(x), array(out), 1000, BLOCK=256)
    numpy.testing.assert_array_equal(out.view(numpy.uint8), x.astype(of).view(numpy.uint8))


@pytest.mark.parametrize("of", [F16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2], ids=lambda of: of.__name__)
def test_casts_to_single_precision(on_target, of):
    """All bit patterns of numbers."""
    size = numpy.dtype(of).itemsize
    x = numpy.arange(1 << 8 * size, dtype=f"u{size}").view(of)
    x = x[~numpy.isnan(x.astype(F32))]
    out = numpy.zeros(len(x), F32)
    kernels.cast[tiles(x.shape, 1024)](array(x), array(out), len(x), BLOCK=1024)
    numpy.testing.assert_array_equal(out.view(numpy.uint32), x.astype(F32).view(numpy.uint32))


def test_scans_and_sorts(on_target):
    x = eighths(RANDOM, 256)
    sums, ordered = numpy.zeros_like(x), numpy.zeros_like(x)
    kernels.prefix_and_sort[(1,)](array(x), array(sums), array(ordered), N=256)
    numpy.testing.assert_array_equal(sums, numpy.cumsum(x, dtype=F64))
    numpy.testing.assert_array_equal(ordered, numpy.sort(x))


def test_scalars_of_every_width(on_target):
    out = numpy.zeros(8)
    kernels.store_scalars[(1,)](array(out), -5, -(2**40), 2**63 + 2**20, True, 1e39, 0.1, 1.7, 0.1)
    brain = numpy.array([1.7], F32).view(numpy.uint32) & 0xFFFF0000
    expected = [-5, -(2.0**40), 2.0**63 + 2**20, 1, numpy.inf, F16(0.1), brain.view(F32)[0], 0.1]
    numpy.testing.assert_array_equal(out, numpy.array(expected, F64))


def test_views_are_ranges_of_their_arrays(on_target):
    whole = numpy.arange(512, dtype=F32)
    out = numpy.zeros(200, F32)
    # The kernel reads behind the view, as it may: the view is a part of an allocation.
    kernels.copy[(1,)](array(whole)[100:110], array(out), 200, BLOCK=256)
    numpy.testing.assert_array_equal(out, whole[100:300])


def test_an_access_out_of_bounds_is_a_fault(on_target):
    x, out = numpy.zeros(300, F32), numpy.zeros(1024, F32)
    with pytest.raises(wavemill.GuestFault, match="just past the end of `x`") as caught:
        kernels.copy[(4,)](array(x), array(out), 1000, BLOCK=256)
    fault = caught.value
    assert fault.kernel == "copy" and fault.file.endswith("triton_kernels.py")
    source = open(kernels.__file__).read().splitlines()
    assert "tl.load(x + i, mask=mask)" in source[fault.line - 1] and "def copy" in "".join(
        source[fault.line - 5 : fault.line]
    )
    assert min(fault.addresses) == x.ctypes.data + x.nbytes


def test_read_only_arrays_are_protected(on_target):
    x, out = numpy.zeros(64, F32), numpy.zeros(64, F32)
    out.flags.writeable = False
    with pytest.raises(wavemill.GuestFault, match="`out`"):
        kernels.copy[(1,)](array(x), array(out), 64, BLOCK=64)


def test_pointers_in_memory_need_the_memory_of_the_process(on_target, monkeypatch):
    # Far from the arguments: otherwise, it would be a plain access out of bounds.
    rows = [numpy.frombuffer(mmap.mmap(-1, 4096), F32) for _ in range(3)]
    for n, row in enumerate(rows):
        row[:] = n
    pointers = numpy.array([row.ctypes.data for row in rows], numpy.int64)
    out = numpy.zeros((3, 64), F32)
    with pytest.raises(wavemill.GuestFault) as caught:
        kernels.follow[(3,)](array(pointers), array(out), BLOCK=64)
    assert "advice" in str(caught.value) and "WAVEMILL_HOST_MEMORY=process" in str(caught.value)
    assert "memory=[" not in str(caught.value)
    _switch(on_target, monkeypatch, WAVEMILL_HOST_MEMORY="process")
    kernels.follow[(3,)](array(pointers), array(out), BLOCK=64)
    numpy.testing.assert_array_equal(out, [row[:64] for row in rows])


def test_hooks_and_empty_grids(on_target):
    from triton import knobs

    calls = []
    x, out = numpy.ones(64, F32), numpy.zeros(64, F32)
    enter, exit = lambda data: calls.append(data.get()["name"]), lambda data: calls.append("end")
    knobs.runtime.launch_enter_hook.add(enter)
    knobs.runtime.launch_exit_hook.add(exit)
    try:
        kernels.copy[(0,)](array(x), array(out), 64, BLOCK=64)
        assert calls == ["copy", "end"] and not out.any()
    finally:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(exit)


def test_scratch_memory(on_target):
    """Of Triton's own passes, only those for debugging ask for some."""
    from triton.runtime._allocation import NullAllocator

    from wavemill.triton.launcher import Launcher
    from wavemill.triton.memory import Scratch

    x, out = eighths(RANDOM, 64), numpy.zeros(64, F32)
    compiled = kernels.copy[(1,)](array(x), array(out), 64, BLOCK=64)
    wants = {"global_scratch_size": 24, "global_scratch_align": 256}
    wants |= {"profile_scratch_size": 8, "profile_scratch_align": 512}
    launcher = Launcher(compiled.src, compiled.metadata._replace(**wants))

    def launch():
        launcher(2, 3, 1, 0, compiled.function, None, None, None, None, array(x), array(out), 64, 64)

    with pytest.raises(RuntimeError, match="no allocator was set"):
        launch()
    made = []

    def allocate(size, align, stream):
        made.append((size, align, Scratch(size, align)))
        return made[-1][2]

    out[:] = 0
    triton.set_allocator(allocate)
    try:
        launch()
    finally:
        triton.set_allocator(NullAllocator())
    assert [(size, align) for size, align, _ in made] == [(24 * 6, 256)]
    assert made[0][2].data_ptr() % 256 == 0 and bytes(made[0][2].memory) == bytes(24 * 6)
    numpy.testing.assert_array_equal(out, x)


def test_other_ways_to_launch(on_target, tmp_path):
    x = eighths(RANDOM, 64)
    out = numpy.zeros((4, 64), F32)
    # All workgroups at once.
    compiled = kernels.copy[(1,)](array(x), array(out[0]), 64, BLOCK=64, launch_cooperative_grid=True)
    assert compiled.metadata.launch_cooperative_grid
    # A kernel that is compiled already, from its source or from its intermediate representation.
    compiled[(1, 1, 1)](array(x), array(out[1]), 64, 64)
    (tmp_path / "copy.ttir").write_text(compiled.asm["ttir"])
    again = triton.compile(str(tmp_path / "copy.ttir"), options={"num_warps": 2})
    again[(1, 1, 1)](array(x), array(out[2]), 64)
    assert wavemill.triton.last_stats().waves == 2
    milliseconds = triton.testing.do_bench(
        lambda: kernels.copy[(1,)](array(x), array(out[3]), 64, BLOCK=64), warmup=1, rep=2
    )
    assert milliseconds > 0
    numpy.testing.assert_array_equal(out, [x] * 4)
    with pytest.raises(wavemill.Error, match="cooperative"):
        kernels.copy[(1 << 20,)](array(x), array(out[0]), 64, BLOCK=64, launch_cooperative_grid=True)


def test_launches_of_several_threads(on_target):
    import concurrent.futures

    x = eighths(RANDOM, 1000)

    def launch(n):
        out = numpy.zeros(1000, F32)
        for _ in range(5):
            kernels.copy[(n,)](array(x), array(out), min(1000, 64 * n), BLOCK=64)
        assert (out[: 64 * n] == x[: 64 * n]).all() and not out[64 * n :].any()
        return wavemill.triton.last_stats().workgroups

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(launch, range(1, 9))) == list(range(1, 9))


def test_wrong_arguments(on_target):
    x = numpy.zeros(64, F32)
    for wrong, text in [
        ([1.0], "expected an array of numpy, found an object of type builtins.list"),
        (numpy.zeros(4, complex), "no element type dtype\\('complex128'\\)"),
        (numpy.zeros(4, ">f4"), "no element type dtype\\('>f4'\\)"),
        (numpy.array(["a"], object), "no element type"),
    ]:
        with pytest.raises(TypeError, match=text):
            array(wrong)

    class Pointer:
        dtype = "float32"

        def data_ptr(self):
            return x.ctypes.data

    with pytest.raises(
        wavemill.ArgumentError, match="argument `x` is an object of type .*Pointer, whose memory is unknown"
    ):
        kernels.copy[(1,)](Pointer(), array(x), 64, BLOCK=64)


@pytest.mark.parametrize(
    "variables, text",
    [
        ({"WAVEMILL_TARGET": "mi9000"}, "WAVEMILL_TARGET: .*mi9000.* mi355x"),
        ({"WAVEMILL_TARGET": "cayman"}, "WAVEMILL_TARGET: .*32 bits"),
        ({"WAVEMILL_TARGET": "gfx900"}, "WAVEMILL_TARGET: Triton does not compile for gfx900"),
        ({"WAVEMILL_HOST_MEMORY": "all"}, 'WAVEMILL_HOST_MEMORY: .*"all"; expected "arguments"'),
    ],
)
def test_wrong_variables(variables, text, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(wavemill.Error, match=text):
        WavemillDriver()


def test_an_old_triton_is_refused(monkeypatch):
    monkeypatch.delattr("triton.backends.driver.expand_signature")
    monkeypatch.setattr(triton, "__version__", "3.5.0")
    with pytest.raises(wavemill.Error, match=r"needs Triton 3\.9 or later, found 3\.5\.0"):
        WavemillDriver()


def test_the_device_as_programs_see_it(monkeypatch):
    monkeypatch.setenv("WAVEMILL_TARGET", "mi355x")
    one = WavemillDriver()
    target = one.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("hip", "gfx950", 64)
    interface = one.get_device_interface()
    assert interface.get_device_capability() == (9, 5)
    properties = one.utils.get_device_properties(interface.current_device())
    assert properties["max_shared_mem"] == 160 << 10 and properties["multiprocessor_count"] == 256
    begin, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
    begin.record()
    end.record()
    assert 0 <= begin.elapsed_time(end) < 1000
    with pytest.raises(ValueError, match="no device 1"):
        interface.set_device(1)


def test_kernels_with_too_much_lds_do_not_fit(monkeypatch):
    _switch("gfx942", monkeypatch)
    a = numpy.zeros((256, 256), F16)
    with pytest.raises(triton.runtime.errors.OutOfResources, match="shared memory"):
        kernels.matmul[(2, 2)](*map(array, (a, a, a)), 256, 256, 256, 256, 256, 256, BM=128, BN=128, BK=256)
