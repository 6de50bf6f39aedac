"""Attention by Triton, block by block as in FlashAttention, against numpy."""

import numpy
import triton
import triton.language as tl

import wavemill.triton

ROWS, SIZE, HEADS = 128, 64, 2


@triton.jit
def attention(q, k, v, out, rows, scale, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    head = tl.program_id(1) * rows * SIZE
    row, column = tl.arange(0, BLOCK), tl.arange(0, SIZE)
    tile = row[:, None] * SIZE + column[None, :]
    query = tl.load(q + head + first * SIZE + tile)
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    result = tl.zeros((BLOCK, SIZE), tl.float32)
    for start in range(0, rows, BLOCK):
        keys = tl.load(k + head + start * SIZE + tile)
        scores = tl.dot(query, keys.T) * scale
        greater = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp(scores - greater[:, None])
        shrink = tl.exp(most - greater)
        total = total * shrink + tl.sum(weights, 1)
        values = tl.load(v + head + start * SIZE + tile)
        result = result * shrink[:, None] + tl.dot(weights.to(tl.float16), values)
        most = greater
    tl.store(out + head + first * SIZE + tile, result / total[:, None])


random = numpy.random.default_rng(0)
q, k, v = random.standard_normal((3, HEADS, ROWS, SIZE)).astype(numpy.float16)
out = numpy.zeros((HEADS, ROWS, SIZE), numpy.float32)
scale = SIZE**-0.5
arrays = [wavemill.triton.array(array) for array in (q, k, v, out)]
attention[(ROWS // 32, HEADS)](*arrays, ROWS, scale, SIZE=SIZE, BLOCK=32)

scores = q.astype(float) @ k.astype(float).transpose(0, 2, 1) * scale
weights = numpy.exp(scores - scores.max(2, keepdims=True))
expected = weights / weights.sum(2, keepdims=True) @ v.astype(float)
error = abs(out - expected).max()
print(f"largest error {error:.1g}, {wavemill.triton.last_stats().instructions} instructions")
assert error < 2e-3
