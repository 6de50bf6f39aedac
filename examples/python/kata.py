"""A kata: the sum of 64 lanes, in as few instructions as possible.

Each solution is the body of a kernel. It gets a number in each lane of v1, and leaves their sum in
the last lane of v1.
"""

import numpy

import wavemill

KERNEL = """
.text
.globl kata
.p2align 8
.type kata,@function
kata:
    s_load_dwordx4 s[0:3], s[0:1], 0x0
    v_lshlrev_b32_e32 v0, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v1, v0, s[0:1]
    s_waitcnt vmcnt(0)
{body}
    global_store_dword v0, v1, s[2:3]
    s_endpgm
.rodata
.p2align 6
.amdhsa_kernel kata
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 32
    .amdhsa_accum_offset 8
.end_amdhsa_kernel
"""

# Lane by lane, through a scalar register.
SCALAR = ["s_mov_b32 s4, 0"]
for lane in range(64):
    SCALAR += [f"v_readlane_b32 s5, v1, {lane}", "s_add_u32 s4, s4, s5"]
SCALAR += ["v_mov_b32_e32 v1, s4"]

# Each step adds what another lane has: 32 lanes away, 16, 8, ...
BPERMUTE = []
for distance in (32, 16, 8, 4, 2, 1):
    BPERMUTE += [
        f"v_xor_b32_e32 v2, {4 * distance}, v0",
        "ds_bpermute_b32 v2, v2, v1",
        "s_waitcnt lgkmcnt(0)",
        "v_add_u32_e32 v1, v1, v2",
    ]

# An addition can take an operand from another lane: first in rows of 16 lanes, then the last lane of
# a row for the next rows. The hardware needs two wait states before it reads a new result so.
DPP = []
for step in (
    "row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
    "row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0",
    "row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:0",
    "row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:0",
    "row_bcast:15 row_mask:0xa bank_mask:0xf",
    "row_bcast:31 row_mask:0xc bank_mask:0xf",
):
    DPP += [f"v_add_u32_dpp v1, v1, v1 {step}", "s_nop 1"]

numbers = numpy.random.default_rng(7).integers(0, 1000, 64).astype(numpy.uint32)
for name, body in {"scalar": SCALAR, "bpermute": BPERMUTE, "DPP": DPP}.items():
    out = numpy.zeros(64, numpy.uint32)
    kernel = wavemill.Module.load(wavemill.asm(KERNEL.format(body="\n".join(body)), "gfx90a"))["kata"]
    stats = kernel[1, 64](numbers, out, signature="*u32,*u32")
    verdict = "right" if out[63] == numbers.sum() else f"wrong: {out[63]}, expected {numbers.sum()}"
    print(f"{name:9} {stats.instructions - 7:4} instructions, {verdict}")
    assert out[63] == numbers.sum()
