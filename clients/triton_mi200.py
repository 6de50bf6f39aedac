"""A plugin of pytest for gfx90a: PyTorch's product of matrices, as it is on MI200.

Triton's tests take `torch.matmul` on the GPU as their reference. On MI200, products of f16 and bf16
read denormal numbers as zero, as its matrix instructions do (PyTorch's notes on numerical accuracy,
"Reduced precision FP16 and BF16 GEMMs and convolutions on AMD Instinct MI200 devices"). PyTorch on
the CPU keeps them. With `--pretend-cuda`, the reference is that of the CPU, so this reads them as
zero there, too.
"""

import functools


def _without_denormals(torch, operand):
    if operand.dtype not in (torch.float16, torch.bfloat16):
        return operand
    smallest = torch.finfo(operand.dtype).smallest_normal
    return torch.where(operand.abs() < smallest, torch.zeros_like(operand), operand)


def pytest_configure():
    import torch

    on_cpu = torch.matmul

    @functools.wraps(on_cpu)
    def matmul(input, other, **kwargs):
        return on_cpu(_without_denormals(torch, input), _without_denormals(torch, other), **kwargs)

    torch.matmul = matmul
