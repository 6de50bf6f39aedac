"""A product of two matrices of 8-bit floats by Triton, against numpy."""

import ml_dtypes
import numpy
import triton
import triton.language as tl

import wavemill.triton

SIZE = 128


@triton.jit
def product(a, b, c, size, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, DEPTH)
    result = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, size, DEPTH):
        left = tl.load(a + row[:, None] * size + start + depth[None, :])
        right = tl.load(b + (start + depth[:, None]) * size + column[None, :])
        result = tl.dot(left, right, result)
    tl.store(c + row[:, None] * size + column[None, :], result)


# CDNA3 has a format without infinities and negative zero, CDNA4 that of the OCP.
arch = triton.runtime.driver.active.get_current_target().arch
kind = ml_dtypes.float8_e4m3fnuz if arch == "gfx942" else ml_dtypes.float8_e4m3fn
random = numpy.random.default_rng(0)
a, b = random.standard_normal((2, SIZE, SIZE)).astype(kind)
c = numpy.zeros((SIZE, SIZE), numpy.float32)
arrays = [wavemill.triton.array(array) for array in (a, b, c)]
product[(SIZE // 64, SIZE // 64)](*arrays, SIZE, BLOCK=64, DEPTH=64)

expected = a.astype(float) @ b.astype(float)
error = abs(c - expected).max() / abs(expected).max()
print(f"{arch}, {numpy.dtype(kind)}: largest error {error:.1g} of the largest element")
assert error < 1e-4
