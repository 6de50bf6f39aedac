"""Products of block-scaled numbers: each 32 along k share a power of two."""

import triton
import triton.language as tl

from variants import CDNA2, CDNA4, add

TYPES = {"e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "e2m1": "*u8", "bf16": "*bf16", "fp16": "*fp16"}


@triton.jit
def gemm_scaled(a, a_scale, b, b_scale, c, m, n, k, A: tl.constexpr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                K: tl.constexpr):
    """B is transposed, and so are its scales; k is a multiple of K. Formats of 16 bits have no scales."""
    a_pack: tl.constexpr = 2 if A == "e2m1" else 1
    b_pack: tl.constexpr = 2 if B == "e2m1" else 1
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    in_m, in_n = row[:, None] < m, column[:, None] < n
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        group = start // 32 + tl.arange(0, K // 32)[None, :]
        a_inner = start // a_pack + tl.arange(0, K // a_pack)
        b_inner = start // b_pack + tl.arange(0, K // b_pack)
        left = tl.load(a + row[:, None] * (k // a_pack) + a_inner[None, :], mask=in_m, other=0.0)
        right = tl.load(b + column[None, :] * (k // b_pack) + b_inner[:, None], mask=column[None, :] < n, other=0.0)
        if A == "bf16" or A == "fp16":
            left_scale = None
        else:
            left_scale = tl.load(a_scale + row[:, None] * (k // 32) + group, mask=in_m, other=0)
        if B == "bf16" or B == "fp16":
            right_scale = None
        else:
            right_scale = tl.load(b_scale + column[:, None] * (k // 32) + group, mask=in_n, other=0)
        total = tl.dot_scaled(left, left_scale, A, right, right_scale, B, total)
    inside = in_m & (column[None, :] < n)
    tl.store(c + row[:, None] * n + column[None, :], total.to(c.dtype.element_ty), mask=inside)


def add_scaled(name, a, b, tile, only=CDNA4, out="*fp32", **settings):
    m, n, k, warps = tile
    add(gemm_scaled, f"gemm_scaled_{name}", f"{TYPES[a]} *u8 {TYPES[b]} *u8 {out} i32 i32 i32", warps=warps, only=only,
        A=a, B=b, M=m, N=n, K=k, **settings)


# gfx950 has instructions for these; other targets convert to bf16 first.
for a in ("e4m3", "e5m2", "e2m1"):
    for b in ("e4m3", "e5m2", "e2m1"):
        add_scaled(f"{a}_{b}", a, b, (32, 32, 128, 4), only=CDNA2)
        for size in (16, 32):
            add_scaled(f"{a}_{b}_dim{size}", a, b, (64, 64, 128, 4), options=dict(matrix_instr_nonkdim=size))
    add_scaled(f"bf16_{a}", "bf16", a, (32, 32, 64, 2), only=CDNA2)
    add_scaled(f"{a}_fp16", a, "fp16", (32, 32, 64, 2), only=CDNA2)
for a in ("e4m3", "e2m1"):
    for m, n, k, warps in (16, 16, 128, 1), (32, 32, 64, 1), (32, 64, 256, 2), (128, 128, 128, 8):
        add_scaled(f"{a}_{m}x{n}x{k}", a, a, (m, n, k, warps))
    for stages in (1, 3):
        add_scaled(f"{a}_stages{stages}", a, a, (64, 64, 128, 4), stages=stages, out="*bf16")
