"""Matrix products: of many formats, shapes and schedules."""

import triton
import triton.language as tl

from variants import CDNA2, CDNA4, add

KPACK = ["gfx90a", "gfx942"]

# Types of A and B, type of the product, targets, and the multiple of 16 that a step along k is at least.
FORMATS = {
    "f16": ("*fp16", "*fp16", "*fp16", CDNA2, 1),
    "bf16": ("*bf16", "*bf16", "*bf16", CDNA2, 1),
    "f32": ("*fp32", "*fp32", "*fp32", CDNA2, 1),
    "i8": ("*i8", "*i8", "*i32", CDNA2, 2),
    "f64": ("*fp64", "*fp64", "*fp64", CDNA2, 1),
    # fp8 of gfx942, and of gfx950; other targets convert them to f16 first.
    "e4b8": ("*fp8e4b8", "*fp8e4b8", "*fp32", ["gfx942"], 2),
    "e5b16": ("*fp8e5b16", "*fp8e5b16", "*fp32", ["gfx942"], 2),
    "e4b8_e5b16": ("*fp8e4b8", "*fp8e5b16", "*fp32", ["gfx942"], 2),
    "e4nv": ("*fp8e4nv", "*fp8e4nv", "*fp32", CDNA4, 2),
    "e5": ("*fp8e5", "*fp8e5", "*fp32", CDNA2, 2),
    "e5_e4nv": ("*fp8e5", "*fp8e4nv", "*fp32", CDNA4, 2),
}
# Products of f32 by cheaper instructions.
PRECISIONS = {"tf32": ["gfx942"], "bf16x3": CDNA2, "bf16x6": CDNA2}

# Rows, columns, step along k (for formats of two bytes), wavefronts.
TILES = [
    (16, 16, 16, 1),
    (32, 32, 32, 1),
    (16, 64, 32, 2),
    (64, 32, 64, 2),
    (64, 64, 32, 4),
    (128, 32, 32, 4),
    (128, 64, 64, 8),
    (128, 128, 32, 8),
]


@triton.jit
def tile_of(program, m, n, M: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    """The row and the column of a program's tile: GROUP rows of tiles at a time, column after column."""
    rows, columns = tl.cdiv(m, M), tl.cdiv(n, N)
    first = program // (GROUP * columns) * GROUP
    height = tl.minimum(rows - first, GROUP)
    inside = program % (GROUP * columns)
    return first + inside % height, inside // height


@triton.jit
def accumulate(a, b, row, column, m, n, k, begin, step, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
               TA: tl.constexpr, TB: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr):
    """The product of rows of A and columns of B along k, from `begin` in steps of `step`."""
    kind: tl.constexpr = tl.float64 if a.dtype.element_ty == tl.float64 else (
        tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    inner = begin + tl.arange(0, K)
    left = a + (inner[None, :] * m + row[:, None] if TA else row[:, None] * k + inner[None, :])
    right = b + (column[None, :] * k + inner[:, None] if TB else inner[:, None] * n + column[None, :])
    total = tl.zeros((M, N), dtype=kind)
    for start in range(begin, k, step):
        if EVEN:
            x, y = tl.load(left), tl.load(right)
        else:
            inside = tl.arange(0, K) + start < k
            x = tl.load(left, mask=inside[None, :] & (row[:, None] < m), other=0.0)
            y = tl.load(right, mask=inside[:, None] & (column[None, :] < n), other=0.0)
        total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=kind)
        left += step * m if TA else step
        right += step if TB else step * n
    return total


@triton.jit
def store(c, value, row, column, m, n):
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(c + row[:, None] * n + column[None, :], value.to(c.dtype.element_ty), mask=inside)


@triton.jit
def gemm(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr,
         EVEN: tl.constexpr, PRECISION: tl.constexpr, GROUP: tl.constexpr):
    tile_row, tile_column = tile_of(tl.program_id(0), m, n, M, N, GROUP)
    row, column = tile_row * M + tl.arange(0, M), tile_column * N + tl.arange(0, N)
    total = accumulate(a, b, row, column, m, n, k, 0, K, M, N, K, TA, TB, EVEN, PRECISION)
    store(c, total, row, column, m, n)


def add_gemm(name, format, tile, precision="ieee", targets=None, out=None, ta=False, tb=False, even=False, group=1,
             **settings):
    a, b, c, only, least = FORMATS[format]
    m, n, k, warps = tile
    add(gemm, f"gemm_{name}", f"{a} {b} {out or c} i32 i32 i32", warps=warps, only=targets or only, even=even,
        M=m, N=n, K=max(k, 16 * least), TA=ta, TB=tb, EVEN=even, PRECISION=precision, GROUP=group, **settings)


for format in FORMATS:
    wide = format == "f64"  # Its tiles take twice the LDS of f32's.
    for tile in TILES[:5] if wide else TILES:
        add_gemm(f"{format}_{'x'.join(map(str, tile[:3]))}", format, tile)
    for ta in (False, True):
        for tb in (False, True):
            add_gemm(f"{format}_{'t' if ta else 'n'}{'t' if tb else 'n'}", format, (32, 64, 32, 4), ta=ta, tb=tb, even=True)
    for size in (16,) if wide else (16, 32):  # There is no product of 32 x 32 doubles.
        for pack in (1, 2):
            # gfx950 has no kpack, as its instructions have twice the k.
            targets = [target for target in FORMATS[format][3] if pack == 1 or target in KPACK]
            if targets:
                add_gemm(f"{format}_dim{size}_kpack{pack}", format, (64, 64, 32 if wide else 64, 4), targets=targets,
                         options=dict(matrix_instr_nonkdim=size, kpack=pack), tb=True)
    for stages in (1, 2, 3):
        add_gemm(f"{format}_stages{stages}", format, (64, 64, 16 if wide else 32, 4), stages=stages, even=True)
for precision, targets in PRECISIONS.items():
    for tile in TILES[:-1]:
        add_gemm(f"{precision}_{'x'.join(map(str, tile[:3]))}", "f32", tile, precision, targets)
    for size in (16, 32):
        add_gemm(f"{precision}_dim{size}", "f32", (64, 64, 32, 4), precision, targets, tb=True,
                 options=dict(matrix_instr_nonkdim=size))
for format in ("f16", "bf16", "i8"):
    add_gemm(f"{format}_grouped", format, (32, 32, 32, 2), group=3)
for format in ("f16", "bf16"):
    add_gemm(f"{format}_to_f32", format, (64, 64, 32, 4), out="*fp32")


@triton.jit
def gemm_epilogue(a, b, x, y, c, m, n, k, alpha, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                  EPILOGUE: tl.constexpr):
    """A product, and x for each row, y for each column, alpha for all."""
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = accumulate(a, b, row, column, m, n, k, 0, K, M, N, K, False, False, False, "ieee")
    by_row = tl.load(x + row, mask=row < m, other=0.0)
    by_column = tl.load(y + column, mask=column < n, other=0.0)
    if EPILOGUE == "bias_relu":
        store(c, tl.maximum(total + by_column[None, :], 0.0), row, column, m, n)
    elif EPILOGUE == "bias_silu":
        total += by_column[None, :]
        store(c, total / (1.0 + tl.exp(-total)), row, column, m, n)
    elif EPILOGUE == "scales":
        store(c, total.to(tl.float32) * (by_row[:, None] * alpha) * by_column[None, :], row, column, m, n)
    elif EPILOGUE == "residual":
        inside = (row[:, None] < m) & (column[None, :] < n)
        old = tl.load(c + row[:, None] * n + column[None, :], mask=inside, other=0.0)
        store(c, alpha * total + old.to(tl.float32), row, column, m, n)
    elif EPILOGUE == "row_sum":
        tl.atomic_add(c + row, tl.sum(total * by_column[None, :], axis=1), mask=row < m)
    elif EPILOGUE == "row_max":
        total = tl.where(column[None, :] < n, total, -float("inf"))
        tl.store(c + row * tl.num_programs(1) + tl.program_id(1), tl.max(total, axis=1), mask=row < m)


EPILOGUES = dict(bias_relu=None, bias_silu=None, scales=None, residual=None, row_sum="*fp32", row_max="*fp32")
for format in ("f16", "bf16", "f32", "e4b8", "e4nv"):
    a, b, c, only, _ = FORMATS[format]
    for epilogue, out in EPILOGUES.items():
        add(gemm_epilogue, f"gemm_{format}_{epilogue}", f"{a} {b} *fp32 *fp32 {out or c} i32 i32 i32 fp32", only=only,
            M=64, N=32, K=32, EPILOGUE=epilogue)
add(gemm_epilogue, "gemm_i8_scales", "*i8 *i8 *fp32 *fp32 *bf16 i32 i32 i32 fp32", only=CDNA2, M=64, N=64, K=64,
    EPILOGUE="scales")


@triton.jit
def gemm_split(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPLIT: tl.constexpr):
    """Programs share the steps along k of a tile, and add their parts."""
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = accumulate(a, b, row, column, m, n, k, tl.program_id(2) * K, K * SPLIT, M, N, K, False, False, False, "ieee")
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.atomic_add(c + row[:, None] * n + column[None, :], total, mask=inside, sem="relaxed")


for format, split in ("f16", 2), ("f16", 4), ("bf16", 3), ("f32", 2), ("i8", 3), ("f64", 2), ("e4b8", 2), ("e4nv", 2):
    a, b, c, only, _ = FORMATS[format]
    sums = c if format in ("i8", "f64") else "*fp32"
    add(gemm_split, f"gemm_{format}_split{split}", f"{a} {b} {sums} i32 i32 i32", only=only, M=32, N=32, K=32, SPLIT=split)


@triton.jit
def gemm_persistent(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    """Each program computes several tiles."""
    tiles = tl.cdiv(m, M) * tl.cdiv(n, N)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        tile_row, tile_column = tile_of(tile, m, n, M, N, GROUP)
        row, column = tile_row * M + tl.arange(0, M), tile_column * N + tl.arange(0, N)
        total = accumulate(a, b, row, column, m, n, k, 0, K, M, N, K, False, False, False, "ieee")
        store(c, total, row, column, m, n)


for format, group in ("f16", 1), ("f16", 2), ("f16", 3), ("bf16", 2), ("i8", 2), ("f32", 2), ("e4b8", 2), ("e4nv", 2):
    a, b, c, only, _ = FORMATS[format]
    add(gemm_persistent, f"gemm_{format}_persistent{group}", f"{a} {b} {c} i32 i32 i32", only=only,
        M=32, N=32, K=32, GROUP=group)


@triton.jit
def gemm_batched(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Several products in one: tensors of three dimensions."""
    kind: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    batch = (tl.program_id(0) * B + tl.arange(0, B))[:, None, None]
    row, column, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + (batch * M + row[None, :, None]) * K + inner[None, None, :])
    right = tl.load(b + (batch * K + inner[None, :, None]) * N + column[None, None, :])
    total = tl.dot(left, right, out_dtype=kind)
    tl.store(c + (batch * M + row[None, :, None]) * N + column[None, None, :], total.to(c.dtype.element_ty))


for format in ("f16", "bf16", "f32", "i8", "e4b8", "e4nv"):
    a, b, c, only, _ = FORMATS[format]
    for size, warps in (2, 2), (4, 4):
        add(gemm_batched, f"gemm_{format}_batched{size}", f"{a} {b} {c}", warps=warps, only=only, B=size, M=32, N=32, K=64)


@triton.jit
def gemm_chained(a, b, c, d, m, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, RELU: tl.constexpr):
    """D = (A B) C: the first product is an operand of the second."""
    row, column, inner = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + row[:, None] * K + inner[None, :], mask=row[:, None] < m, other=0.0)
    between = tl.dot(left, tl.load(b + inner[:, None] * N + column[None, :]))
    if RELU:
        between = tl.maximum(between, 0.0)
    result = tl.dot(between.to(left.dtype), tl.load(c + column[:, None] * K + inner[None, :]))
    tl.store(d + row[:, None] * K + inner[None, :], result.to(d.dtype.element_ty), mask=row[:, None] < m)


for format in ("f16", "bf16", "f32", "e4b8", "e4nv"):
    a, b, c, only, _ = FORMATS[format]
    for relu, (m, n, k, warps) in enumerate([(32, 32, 64, 2), (64, 64, 32, 4)]):
        add(gemm_chained, f"gemm_{format}_chained{relu + 1}", f"{a} {b} {b} {c} i32", warps=warps, only=only,
            M=m, N=n, K=k, RELU=bool(relu))


@triton.jit
def gemm_quantized(a, b, scales, c, m, n, k, BITS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """B holds integers of 8 or 4 bits (two in a byte, along k), with a factor for each column."""
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(a + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
        if BITS == 8:
            whole = tl.load(b + inner[:, None] * n + column[None, :],
                            mask=(inner[:, None] < k) & (column[None, :] < n), other=0)
        else:
            pair = tl.load(b + inner[:, None] // 2 * n + column[None, :],
                           mask=(inner[:, None] < k) & (column[None, :] < n), other=0)
            whole = ((pair >> (inner[:, None] % 2 * 4).to(tl.int8)) & 15) - 8
        total = tl.dot(left, whole.to(left.dtype), total)
    total *= tl.load(scales + column, mask=column < n, other=0.0)[None, :]
    store(c, total, row, column, m, n)


for format in ("f16", "bf16"):
    for bits in (8, 4):
        a, _, c, only, _ = FORMATS[format]
        add(gemm_quantized, f"gemm_{format}_int{bits}", f"{a} *i8 *fp32 {c} i32 i32 i32", only=only,
            BITS=bits, M=32, N=64, K=32)
