"""A plugin of pytest for `test_scan2d` of Triton's tests: sums and products of bf16.

Triton 3.9 scans bf16 in bf16 (its pull request 11473 of August 2026). Tests that are older compare
with numpy's sums in f32, which differ by more than their tolerance. For a case that fails so, this
runs the same scan again, and computes in numpy what the compiled order of operations must give. If
both are equal bit by bit, the outcome of the case is `outdated`, else it stays `failed`.
"""

import re

import numpy as np
import pytest
import triton
import triton.language as tl

OUTDATED = "the test expects a scan in f32, and Triton 3.9 scans in bf16: the result is that of its order, bit by bit"


@triton.jit
def _cumsum(X, Z, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Z + offsets, tl.cumsum(tl.load(X + offsets), axis=AXIS, reverse=REVERSE))


@triton.jit
def _cumprod(X, Z, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Z + offsets, tl.cumprod(tl.load(X + offsets), axis=AXIS, reverse=REVERSE))


KERNELS = {"cumsum": (_cumsum, np.add), "cumprod": (_cumprod, np.multiply)}


def _bf16(number):
    """f32 rounded to the nearest bf16, ties to even, as f32."""
    bits = np.asarray(number, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(number), np.float32(np.nan), rounded)


def _scan(row, combine, elements, lanes):
    """One row, in the direction of the scan. A work-item holds `elements` neighbours of it, and a
    wave has `lanes` work-items along it.
    """

    def step(left, right):
        with np.errstate(all="ignore"):
            return _bf16(combine(left, right))

    lanes = min(lanes, len(row) // elements)
    runs = row.reshape(-1, lanes, elements).copy()
    for at in range(1, elements):
        runs[..., at] = step(runs[..., at - 1], runs[..., at])
    # Each wave scans the totals of its work-items.
    totals = runs[..., -1].copy()
    distance = 1
    while distance < lanes:
        totals[:, distance:] = step(totals[:, :-distance], totals[:, distance:])
        distance *= 2
    # The totals of the waves before come from left to right.
    before = None
    for wave, total in zip(runs, totals):
        sums = total if before is None else step(before, total)
        earlier = [before, *sums[:-1]]
        before = total[-1] if before is None else step(before, total[-1])
        for lane, left in enumerate(earlier):
            if left is not None:
                wave[lane, :-1] = step(left, wave[lane, :-1])
        wave[:, -1] = sums
    return runs.reshape(-1)


def is_exact(op, shape, axis, reverse, num_warps):
    """Whether a scan of bf16 gives what its compiled order of operations must give."""
    import torch

    kernel, combine = KERNELS[op]
    # The numbers of the test.
    x = np.random.RandomState(17).normal(0, 1, shape).astype(np.float32)
    x = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    z = torch.empty(shape, dtype=torch.float32)
    compiled = kernel[(1,)](torch.from_numpy(x).to(torch.bfloat16), z, *shape, axis, reverse, num_warps=num_warps)
    layout = re.search(r"#blocked = (.*)", compiled.asm["ttgir"]).group(1)
    elements, lanes = (
        int(re.search(rf"{name} = \[(\d+), (\d+)\]", layout).group(1 + axis))
        for name in ("sizePerThread", "threadsPerWarp")
    )
    rows = np.moveaxis(x, axis, 1)
    if reverse:
        rows = np.flip(rows, 1)
    expected = np.stack([_scan(row, combine, elements, lanes) for row in rows])
    if reverse:
        expected = np.flip(expected, 1)
    found = np.moveaxis(z.numpy(), axis, 1)
    # As bits, without the signs and payloads of NaN.
    return np.array_equal(found, expected, equal_nan=True) and np.array_equal(
        np.signbit(found) & ~np.isnan(found), np.signbit(expected) & ~np.isnan(expected)
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    given = getattr(getattr(item, "callspec", None), "params", {})
    if (
        report.failed
        and report.when == "call"
        and item.originalname == "test_scan2d"
        and given["dtype_str"] == "bfloat16"
        and given["op"] in KERNELS
        and call.excinfo.errisinstance(AssertionError)
        and is_exact(*(given[name] for name in ("op", "shape", "axis", "reverse", "num_warps")))
    ):
        report.outcome = "outdated"
    return report
