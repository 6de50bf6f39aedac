"""Attention in blocks of keys: forward, and the two kernels of its gradient."""

import triton
import triton.language as tl

from variants import CDNA2, add

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def rows_of(tensor, row, length, WIDTH: tl.constexpr):
    """Some rows of a matrix of WIDTH columns."""
    width = tl.arange(0, WIDTH)
    return tl.load(tensor + row[:, None] * WIDTH + width[None, :], mask=row[:, None] < length, other=0.0)


@triton.jit
def store_rows(tensor, row, length, value, WIDTH: tl.constexpr):
    width = tl.arange(0, WIDTH)
    tl.store(tensor + row[:, None] * WIDTH + width[None, :], value.to(tensor.dtype.element_ty), mask=row[:, None] < length)


@triton.jit
def flash_forward(q, k, v, out, lse, scale, length, QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr,
                  CAUSAL: tl.constexpr):
    """The attention of a head (program_id(1)), and for the gradient the logarithms of the sums, to base 2."""
    head = tl.program_id(1) * length
    q, k, v, out = q + head * WIDTH, k + head * WIDTH, v + head * WIDTH, out + head * WIDTH
    row = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    query = rows_of(q, row, length, WIDTH)
    highest = tl.full((QUERIES,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((QUERIES,), dtype=tl.float32)
    result = tl.zeros((QUERIES, WIDTH), dtype=tl.float32)
    end = tl.minimum(length, (tl.program_id(0) + 1) * QUERIES) if CAUSAL else length
    for start in range(0, end, KEYS):
        key = start + tl.arange(0, KEYS)
        score = tl.dot(query, tl.trans(rows_of(k, key, length, WIDTH))) * (scale * LOG2_E)
        inside = key[None, :] < length
        if CAUSAL:
            inside = inside & (row[:, None] >= key[None, :])
        score = tl.where(inside, score, -1.0e30)
        higher = tl.maximum(highest, tl.max(score, axis=1))
        weight = tl.where(inside, tl.exp2(score - higher[:, None]), 0.0)
        fade = tl.exp2(highest - higher)
        total = total * fade + tl.sum(weight, axis=1)
        values = rows_of(v, key, length, WIDTH)
        result = tl.dot(weight.to(values.dtype), values, result * fade[:, None])
        highest = higher
    store_rows(out, row, length, result / total[:, None], WIDTH)
    tl.store(lse + head + row, highest + tl.log2(total), mask=row < length)


@triton.jit
def weights_of(query, keys, row, key, length, lse, scale, CAUSAL: tl.constexpr):
    """The weights of keys for queries, from the logarithms of the sums."""
    score = tl.dot(query, tl.trans(keys)) * (scale * LOG2_E)
    inside = (key[None, :] < length) & (row[:, None] < length)
    if CAUSAL:
        inside = inside & (row[:, None] >= key[None, :])
    return tl.where(inside, tl.exp2(score - tl.load(lse + row, mask=row < length, other=0.0)[:, None]), 0.0)


@triton.jit
def flash_backward_keys(q, k, v, grad, lse, delta, grad_k, grad_v, scale, length, QUERIES: tl.constexpr,
                        KEYS: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr):
    key = tl.program_id(0) * KEYS + tl.arange(0, KEYS)
    keys, values = rows_of(k, key, length, WIDTH), rows_of(v, key, length, WIDTH)
    to_keys = tl.zeros((KEYS, WIDTH), dtype=tl.float32)
    to_values = tl.zeros((KEYS, WIDTH), dtype=tl.float32)
    begin = tl.program_id(0) * KEYS // QUERIES * QUERIES if CAUSAL else 0
    for start in range(begin, length, QUERIES):
        row = start + tl.arange(0, QUERIES)
        query, out = rows_of(q, row, length, WIDTH), rows_of(grad, row, length, WIDTH)
        weight = weights_of(query, keys, row, key, length, lse, scale, CAUSAL)
        to_values = tl.dot(tl.trans(weight).to(out.dtype), out, to_values)
        to_weight = tl.dot(out, tl.trans(values))
        to_score = weight * (to_weight - tl.load(delta + row, mask=row < length, other=0.0)[:, None])
        to_keys = tl.dot(tl.trans(to_score).to(query.dtype), query, to_keys)
    store_rows(grad_k, key, length, to_keys * scale, WIDTH)
    store_rows(grad_v, key, length, to_values, WIDTH)


@triton.jit
def flash_backward_queries(q, k, v, grad, lse, delta, grad_q, scale, length, QUERIES: tl.constexpr, KEYS: tl.constexpr,
                           WIDTH: tl.constexpr, CAUSAL: tl.constexpr):
    row = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    query, out = rows_of(q, row, length, WIDTH), rows_of(grad, row, length, WIDTH)
    to_query = tl.zeros((QUERIES, WIDTH), dtype=tl.float32)
    end = tl.minimum(length, (tl.program_id(0) + 1) * QUERIES) if CAUSAL else length
    for start in range(0, end, KEYS):
        key = start + tl.arange(0, KEYS)
        keys, values = rows_of(k, key, length, WIDTH), rows_of(v, key, length, WIDTH)
        weight = weights_of(query, keys, row, key, length, lse, scale, CAUSAL)
        to_weight = tl.dot(out, tl.trans(values))
        to_score = weight * (to_weight - tl.load(delta + row, mask=row < length, other=0.0)[:, None])
        to_query = tl.dot(to_score.to(keys.dtype), keys, to_query)
    store_rows(grad_q, row, length, to_query * scale, WIDTH)


HALVES = {"f16": "fp16", "bf16": "bf16"}
BYTES = {"e4b8": ("fp8e4b8", ["gfx942"]), "e4nv": ("fp8e4nv", ["gfx950"]), "e5": ("fp8e5", ["gfx950"])}
# Queries, keys and wavefronts for each width of a head.
BLOCKS = {16: (16, 32, 1), 32: (32, 32, 2), 64: (64, 32, 4), 128: (128, 64, 8)}
for causal in (False, True):
    for width, (queries, keys, warps) in BLOCKS.items():
        blocks = dict(QUERIES=queries, KEYS=keys, WIDTH=width, CAUSAL=causal)
        end = f"{width}{'_causal' if causal else ''}"
        for name, kind in HALVES.items():
            add(flash_forward, f"flash_{name}_{end}", f"*{kind} *{kind} *{kind} *{kind} *fp32 fp32 i32", warps=warps,
                only=CDNA2, **blocks)
            if width in (32, 64):
                inputs = f"*{kind} *{kind} *{kind} *{kind} *fp32 *fp32"
                add(flash_backward_keys, f"flash_{name}_{end}_keys", f"{inputs} *{kind} *{kind} fp32 i32", warps=warps,
                    only=CDNA2, **blocks)
                add(flash_backward_queries, f"flash_{name}_{end}_queries", f"{inputs} *{kind} fp32 i32", warps=warps,
                    only=CDNA2, **blocks)
        for name, (kind, only) in BYTES.items():
            if width >= 64:
                add(flash_forward, f"flash_{name}_{end}", f"*{kind} *{kind} *{kind} *fp16 *fp32 fp32 i32", warps=warps,
                    only=only, **blocks)
