"""Triton's kernels on tensors of PyTorch, and PyTorch that pretends to have a GPU.

PyTorch has 0.5 GB, so `.ci/triton-clients` runs these tests and `.ci/python` does not.
"""

import os
import subprocess
import sys

import pytest

try:
    import torch
    import triton
except ImportError:
    if os.environ.get("WAVEMILL_REQUIRE_ORACLES") == "1":
        raise
    pytest.skip("PyTorch or Triton is not installed", allow_module_level=True)

import triton_kernels as kernels
from triton.runtime.driver import driver

import wavemill
import wavemill.triton
from wavemill.triton.driver import WavemillDriver


@pytest.fixture(autouse=True)
def on_target(monkeypatch):
    monkeypatch.setenv("WAVEMILL_TARGET", "mi300x")
    driver.set_active(WavemillDriver())
    for name in ("copy", "softmax", "increment"):
        kernel = getattr(kernels, name)
        getattr(kernel, "fn", kernel)
        while not hasattr(kernel, "device_caches"):
            kernel = kernel.fn
        kernel.device_caches.clear()


def test_tensors_and_their_views():
    whole = torch.arange(512, dtype=torch.float32)
    out = torch.zeros(200, requires_grad=True)
    kernels.copy[(1,)](whole[100:110], out, 200, BLOCK=256)
    assert torch.equal(out, whole[100:300])
    with pytest.raises(wavemill.GuestFault, match="just past the end of `x`"):
        kernels.copy[(1,)](whole[400:], out, 200, BLOCK=256)


@pytest.mark.parametrize("of", ["bfloat16", "float8_e4m3fnuz", "float8_e5m2", "bool", "int64"])
def test_types_without_a_type_in_numpy(of):
    x = torch.arange(64).to(getattr(torch, of))
    out = torch.zeros_like(x)
    kernels.copy[(1,)](x, out, 64, BLOCK=64)
    assert out.view(torch.uint8).tolist() == x.view(torch.uint8).tolist()


def test_triton_reinterprets_tensors():
    x = torch.arange(64, dtype=torch.int8)
    out = torch.zeros(64, dtype=torch.int8)
    wrap = lambda tensor: triton.reinterpret(tensor, kernels.tl.float8e5)
    kernels.copy[(1,)](wrap(x), wrap(out), 64, BLOCK=64)
    assert torch.equal(out, x)


def test_empty_tensors():
    kernels.copy[(1,)](torch.zeros(0), torch.zeros(0), 0, BLOCK=64)


def test_the_autotuner_resets_tensors():
    x, count = torch.arange(1000, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    kernels.increment.cache.clear()
    kernels.increment[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, count, 1000)
    assert torch.equal(x, torch.arange(1000, dtype=torch.int32) + 1) and count.item() == 1000


def test_tensors_without_memory_of_the_host_are_refused():
    with pytest.raises(
        wavemill.ArgumentError, match='argument `x` is a tensor on meta; expected one on the CPU.*"cuda"'
    ):
        kernels.copy[(1,)](torch.zeros(64, device="meta"), torch.zeros(64), 64, BLOCK=64)


PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        assert x.is_cuda and x.device == torch.device("cuda:0") == torch.device("cuda", 0)
        y = torch.empty(x.shape, device="cuda")
        with torch.cuda.device(x.device):
            double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y

    @staticmethod
    def backward(context, gradient):
        # On another thread, perhaps.
        y = torch.empty(gradient.shape, device=gradient.device)
        double[(triton.cdiv(y.numel(), 64),)](gradient.contiguous(), y, y.numel(), BLOCK=64)
        return y

assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.version.hip
properties = torch.cuda.get_device_properties("cuda")
assert properties.multi_processor_count == 304 and properties.gcnArchName == "gfx942"
assert torch.cuda.get_device_capability() == (9, 4)
torch.manual_seed(0)
x = torch.randn(100, device="cuda", requires_grad=True)
y = Double.apply(x)
y.sum().backward()
assert torch.equal(y, x * 2) and torch.equal(x.grad, torch.full_like(x, 2))
assert y.detach().cpu().numpy().tolist() == y.tolist()
module = torch.nn.Linear(4, 3).to("cuda")
assert module(torch.ones(2, 4).cuda()).shape == (2, 3)
assert torch.ones(3).to(device="cuda:0", dtype=torch.float16).dtype == torch.float16
assert torch.ones(3).to(torch.device("cuda")).new_zeros(2, device="cuda").sum() == 0
assert torch.zeros(4, pin_memory=True).is_pinned() and torch.zeros(4, device=0).is_cuda
with torch.device("cuda"):
    assert torch.ones(2).is_cuda
torch.set_default_device("cuda")
assert torch.rand(2, generator=torch.Generator(device="cuda").manual_seed(1)).shape == (2,)
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
with torch.cuda.stream(torch.cuda.Stream()):
    begin.record()
    end.record()
torch.cuda.synchronize()
assert begin.elapsed_time(end) >= 0
assert triton.testing.do_bench(lambda: Double.apply(x)) > 0
assert triton.testing.do_bench_cudagraph(lambda: Double.apply(x)) > 0
torch.testing.assert_close(x, x.clone())
print(x[:2], "done")
"""


def test_programs_that_name_cuda(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", "-m", "wavemill.triton", "--pretend-cuda", tmp_path / "program.py"]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert said.stdout.rstrip().endswith("done") and "cuda:0" in said.stdout


def test_without_pretending_there_is_no_gpu(tmp_path):
    assert driver.active.get_active_torch_device() == torch.device("cpu")
    assert not torch.cuda.is_available() or torch.version.hip or torch.version.cuda
