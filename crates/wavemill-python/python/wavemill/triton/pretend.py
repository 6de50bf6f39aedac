"""PyTorch on a machine without a GPU that pretends to have one: for programs that name the device
"cuda".

Tensors stay in memory of the host, and PyTorch computes with them on the CPU. What a program asks
to be on "cuda" is on the CPU; what it asks of `torch.cuda` is answered for Wavemill's device.
Tensors say that they are on "cuda:0", all of them: a program that compares devices sees one device.
"""

import functools
import re

# Whether `start` has run, and the device that tensors then say they are on.
active = False
DEVICE = None

_NAME = re.compile(r"cuda(:\d+)?")

# Functions of torch with a parameter `device`.
_FUNCTIONS = """
    arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye frombuffer
    full full_like hamming_window hann_window kaiser_window linspace load logspace normal ones ones_like rand rand_like
    randint randint_like randn randn_like randperm range scalar_tensor set_default_device sparse_bsc_tensor
    sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor
    tril_indices triu_indices zeros zeros_like
""".split()
_METHODS = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros to".split()


def start(interface):
    """Changes PyTorch in this process. `interface` answers for `torch.cuda`, see
    `device.Interface`.
    """
    global active, DEVICE
    import torch

    if active:
        return
    active = True
    DEVICE = torch.device("cuda", 0)
    for name in _FUNCTIONS:
        if hasattr(torch, name):
            setattr(torch, name, _on_host(torch, getattr(torch, name)))
    for name in _METHODS:
        setattr(torch.Tensor, name, _on_host(torch, getattr(torch.Tensor, name)))
    _tensors(torch)
    _modules(torch)
    _cuda(torch, interface)
    _benchmarks()


def _host(torch, value):
    """The argument of a function, on the host if it is a GPU."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and _NAME.fullmatch(value):
        return "cpu"
    return value


def _on_host(torch, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        # Pinned memory needs a GPU.
        kwargs.pop("pin_memory", None)
        # A number as a device is that of a GPU.
        if isinstance(kwargs.get("device"), int):
            kwargs["device"] = "cpu"
        args = [_host(torch, arg) for arg in args]
        return function(*args, **{name: _host(torch, arg) for name, arg in kwargs.items()})

    return call


def _tensors(torch):
    tensor = torch.Tensor
    tensor.device = property(lambda self: DEVICE)
    tensor.is_cuda = property(lambda self: True)
    tensor.get_device = lambda self: 0
    tensor.cuda = lambda self, device=None, non_blocking=False, memory_format=None: self
    tensor.pin_memory = lambda self, device=None: self
    tensor.is_pinned = lambda self, device=None: True
    tensor.record_stream = lambda self, stream: None


def _modules(torch):
    # `with torch.device("cuda"):` and `torch.set_default_device`.
    from torch.utils._device import DeviceContext

    begin = DeviceContext.__init__
    DeviceContext.__init__ = lambda self, device: begin(self, _host(torch, device))

    class Generator(torch.Generator):
        def __new__(cls, device="cpu"):
            return super().__new__(cls, _host(torch, device))

    torch.Generator = Generator


class _Device:
    """`torch.cuda.device` and `torch.cuda.device_of`: a context that changes nothing."""

    def __init__(self, device=None):
        self.idx = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def _cuda(torch, interface):
    cuda = torch.cuda
    for name in (
        "Event Stream ExternalStream current_device current_stream default_stream device_count get_device_capability "
        "get_device_name get_device_properties is_available set_device stream synchronize"
    ).split():
        setattr(cuda, name, getattr(interface, name))

    def nothing(*args, **kwargs):
        pass

    for name in (
        "_lazy_init empty_cache init ipc_collect manual_seed manual_seed_all reset_accumulated_memory_stats "
        "reset_max_memory_allocated reset_peak_memory_stats"
    ).split():
        setattr(cuda, name, nothing)
    for name in ("max_memory_allocated max_memory_reserved memory_allocated memory_reserved").split():
        setattr(cuda, name, lambda device=None: 0)
    cuda.device = cuda.device_of = _Device
    cuda.is_initialized = lambda: True
    cuda.is_bf16_supported = lambda including_emulation=True: True
    # A build of PyTorch for HIP names its device "cuda", too.
    torch.version.hip = "7.0.0"
    torch.version.cuda = None


def _benchmarks():
    import triton.testing

    # Graphs would record launches; here, calls are measured one by one.
    def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
        return triton.testing.do_bench(
            fn, rep=rep, grad_to_none=grad_to_none, quantiles=quantiles, return_mode=return_mode
        )

    triton.testing.do_bench_cudagraph = do_bench_cudagraph
