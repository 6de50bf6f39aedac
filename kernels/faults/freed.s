// A pointer that one launch leaves for another, to memory that is gone by then. The arguments are two buffers around `data`
// that nobody touches, and `data`, where the pointer is: before, data, after.
.include "prologue.inc"

// The address of its own kernel arguments, which are there as long as the launch runs.
kernel keep_pointer
    s_load_dwordx2 s[4:5], s[0:1], 0x8
    v_mov_b32_e32 v2, s0
    v_mov_b32_e32 v3, s1
    v_mov_b32_e32 v4, 0
    s_waitcnt lgkmcnt(0)
    global_store_dwordx2 v4, v[2:3], s[4:5]
    s_waitcnt vmcnt(0)
    finish keep_pointer

.macro follow name, inst:vararg
    kernel \name
    s_load_dwordx2 s[4:5], s[0:1], 0x8
    s_waitcnt lgkmcnt(0)
    s_load_dwordx2 s[6:7], s[4:5], 0x0
    v_mov_b32_e32 v4, 0
    s_waitcnt lgkmcnt(0)
    \inst
    s_waitcnt vmcnt(0) lgkmcnt(0)
    finish \name
.endm

follow load_through, global_load_dword v5, v4, s[6:7]
follow store_through, global_store_dword v4, v4, s[6:7]
follow atomic_through, global_atomic_add v4, v4, s[6:7]
follow scalar_load_through, s_load_dword s8, s[6:7], 0x0
