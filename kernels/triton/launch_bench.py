"""Measures launches of Triton's kernels on Wavemill, as BENCHMARKS.md has them.

    WAVEMILL_TARGET=gfx906 TRITON_DEFAULT_BACKEND=wavemill python launch_bench.py
    TRITON_INTERPRET=1 python launch_bench.py interpreter

The first prints the time of a launch of one workgroup, and of a product of two matrices of 512 x
512 in f32. The second prints the time of that product in Triton's interpreter, which needs PyTorch.
"""

import sys
import time

import numpy
import triton
import triton.language as tl

SIZE = 512


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left, right = a + rows[:, None] * K + k[None, :], b + k[:, None] * N + columns[None, :]
    sums = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        sums = tl.dot(tl.load(left), tl.load(right), sums)
        left += BK
        right += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


def best(call, calls, rounds):
    """Seconds of a call: the best mean of some calls."""
    means = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        means.append((time.perf_counter() - start) / calls)
    return min(means)


def product(wrap, rounds, **options):
    random = numpy.random.default_rng(0)
    # Integers, so that every order of the sums gives the same.
    a, b = (random.integers(-8, 8, (SIZE, SIZE)).astype(numpy.float32) for _ in range(2))
    c = numpy.zeros((SIZE, SIZE), numpy.float32)
    arguments = [wrap(array) for array in (a, b, c)]
    grid = (SIZE // options["BM"], SIZE // options["BN"])
    seconds = best(lambda: matmul[grid](*arguments, SIZE, SIZE, SIZE, **options), 1, rounds)
    assert (c == a @ b).all()
    return seconds


def main():
    if sys.argv[1:] == ["interpreter"]:
        import torch

        print(f"interpreter: product of {SIZE} x {SIZE}: {product(torch.from_numpy, 1, BM=64, BN=64, BK=32):.2f} s")
        return
    import wavemill.triton

    x, y, out = (wavemill.triton.array(numpy.zeros(64, numpy.float32)) for _ in range(3))
    launch = best(lambda: add[(1,)](x, y, out, 64, BLOCK=64, num_warps=1), 30, 100)
    print(f"launch: {launch * 1e6:.0f} us")
    for BM, BN, BK, warps in ((64, 64, 16, 4), (64, 64, 32, 4), (128, 64, 16, 4), (32, 32, 32, 4)):
        seconds = product(wavemill.triton.array, 5, BM=BM, BN=BN, BK=BK, num_warps=warps)
        stats = wavemill.triton.last_stats()
        print(
            f"product of {SIZE} x {SIZE}, tiles {BM} x {BN} x {BK}: {seconds:.3f} s, {stats.instructions:,} instructions, "
            f"{stats.threads} threads"
        )


if __name__ == "__main__":
    main()
