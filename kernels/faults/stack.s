// A function that calls itself, with frames of 64 bytes in private memory of which the kernel declares two. The arguments
// are a buffer that nobody touches, one for a sum of each item, the depth, and another buffer that nobody touches.
.include "prologue.inc"

kernel sums_up, 0, 128, 1
.if gfx906 || gfx90a
    s_add_u32 flat_scratch_lo, s2, s5
    s_addc_u32 flat_scratch_hi, s3, 0
.endif
    s_load_dwordx2 s[36:37], s[0:1], 0x8
    s_load_dword s34, s[0:1], 0x10
    s_mov_b32 s32, 0
    v_mov_b32_e32 v1, 0
    s_waitcnt lgkmcnt(0)
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, sum - .
    s_addc_u32 s5, s5, 0
    s_swappc_b64 s[30:31], s[4:5]
    v_lshlrev_b32_e32 v2, 2, v0
    global_store_dword v2, v1, s[36:37]
    finish sums_up

// Adds s34 to v1, and all numbers below.
    .p2align 8
    .type sum, @function
sum:
    v_mov_b32_e32 v2, s34
    v_mov_b32_e32 v3, s30
    v_mov_b32_e32 v4, s31
    scratch_store_dword off, v2, s32
    scratch_store_dword off, v3, s32 offset:4
    scratch_store_dword off, v4, s32 offset:8
    s_cmp_eq_u32 s34, 0
    s_cbranch_scc1 .Lreturn
    s_sub_u32 s34, s34, 1
    s_add_u32 s32, s32, 64
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, sum - .
    s_addc_u32 s5, s5, -1
    s_swappc_b64 s[30:31], s[4:5]
    s_sub_u32 s32, s32, 64
.Lreturn:
    scratch_load_dword v2, off, s32
    scratch_load_dword v3, off, s32 offset:4
    scratch_load_dword v4, off, s32 offset:8
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v1, v1, v2
    v_readfirstlane_b32 s30, v3
    v_readfirstlane_b32 s31, v4
    s_setpc_b64 s[30:31]
    .size sum, . - sum
