"""y = a x + y in Triton, compiled without a GPU: python saxpy.py [TARGET] writes saxpy.TARGET.hsaco."""

import os
import sys

# What is a default of this version of Triton is said, so that it does not warn.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def saxpy(a, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    result = a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)
    tl.store(y + i, result, mask=inside)


target = sys.argv[1] if len(sys.argv) > 1 else "gfx942"
source = ASTSource(
    fn=saxpy,
    signature={"a": "fp32", "x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    constexprs={"BLOCK": 256},
)
compiled = triton.compile(source, target=GPUTarget("hip", target, 64), options={"num_warps": 4})
with open(f"saxpy.{target}.hsaco", "wb") as file:
    file.write(compiled.asm["hsaco"])
print(f"saxpy.{target}.hsaco: workgroups of {64 * compiled.metadata.num_warps}, {compiled.metadata.shared} bytes of LDS")
