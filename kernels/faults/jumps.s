// Jumps to where no instruction begins, and accesses in front of the kernel arguments. The arguments are a buffer that nobody
// touches, a number, and another such buffer.
.include "prologue.inc"

.macro jump_to target
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, \target - .
    s_addc_u32 s5, s5, 0
    s_setpc_b64 s[4:5]
.endm

// Between two dwords.
kernel misaligned
    jump_to .Laligned + 2
.Laligned:
    s_nop 0
    finish misaligned

// An instruction of its own that is none.
kernel branch_to_illegal
    s_branch .Lillegal
    s_nop 0
.Lillegal:
    .long 0xbfff0000
    finish branch_to_illegal

// Behind a kernel that nothing ends.
kernel behind_another_kernel
    jump_to .Lbehind
    finish behind_another_kernel

kernel open_end
    s_nop 0
    .size open_end, . - open_end
.Lbehind:
    .long 0xbfff0000

// The same with data inside.
kernel open_end_behind_data
    s_branch .Lover
    .long 0xbfff0000
.Lover:
    s_nop 0
    .size open_end_behind_data, . - open_end_behind_data
    .long 0xbfff0000

// In front of the kernel arguments.
kernel loads_before_the_arguments
    s_load_dwordx2 s[4:5], s[0:1], -0x8
    s_waitcnt lgkmcnt(0)
    finish loads_before_the_arguments

kernel load_straddles_the_start
    v_mov_b32_e32 v1, 0
    global_load_dwordx2 v[2:3], v1, s[0:1] offset:-4
    s_waitcnt vmcnt(0)
    finish load_straddles_the_start

// Right behind the last instruction.
kernel to_the_end_of_the_code
    jump_to .Lend_to_the_end_of_the_code
    finish to_the_end_of_the_code
