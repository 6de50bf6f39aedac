// Waves that go where there is no code, or never end. The arguments are a buffer that nobody
// touches, an address (a target, a flag), and another such buffer.
.include "prologue.inc"

.macro with_address name
    kernel \name
    s_load_dwordx2 s[4:5], s[0:1], 0x8
    s_waitcnt lgkmcnt(0)
.endm

// To the address.
with_address jump
    s_setpc_b64 s[4:5]
    finish jump

// A call of it.
with_address call
    s_swappc_b64 s[30:31], s[4:5]
    finish call

// To the second half of an instruction, which is none.
kernel jump_into_instruction
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, .Linstruction + 4 - .
    s_addc_u32 s5, s5, 0
    s_setpc_b64 s[4:5]
.Linstruction:
    v_mov_b32_e32 v1, 0xbfff1234
    finish jump_into_instruction

// Far beyond the end of the code.
kernel branch_away
    s_cmp_eq_u32 s2, s2
    s_cbranch_scc1 .Lelsewhere
    finish branch_away
.set .Lelsewhere, . + 0x10000

// Nothing but a branch to itself.
kernel endless
.Lendless:
    s_branch .Lendless
    finish endless

// A loop that counts.
kernel counting
    s_mov_b32 s4, 0
.Lcounting:
    s_add_u32 s4, s4, 1
    s_branch .Lcounting
    finish counting

// Until the flag is set.
with_address spin
    v_mov_b32_e32 v1, 0
.Lspin:
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_cmp_eq_u32_e32 vcc, 0, v2
    s_cbranch_vccnz .Lspin
    finish spin

// The first wave waits for the second one, which waits for the flag.
with_address half_barrier
    v_readfirstlane_b32 s6, v0
    s_cmp_eq_u32 s6, 0
    s_cbranch_scc1 .Lfirst
    v_mov_b32_e32 v1, 0
.Lsecond:
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_cmp_eq_u32_e32 vcc, 0, v2
    s_cbranch_vccnz .Lsecond
.Lfirst:
    s_barrier
    finish half_barrier

// The same with a second wave that counts.
kernel half_barrier_counting
    v_readfirstlane_b32 s6, v0
    s_mov_b32 s4, 0
    s_cmp_eq_u32 s6, 0
    s_cbranch_scc1 .Lfirst_of_counting
.Lsecond_counts:
    s_add_u32 s4, s4, 1
    s_branch .Lsecond_counts
.Lfirst_of_counting:
    s_barrier
    finish half_barrier_counting

// Each item stores its number.
with_address store_ids
    s_lshl_b32 s6, s2, 6
    v_add_u32_e32 v1, s6, v0
    v_lshlrev_b32_e32 v2, 2, v1
    global_store_dword v2, v1, s[4:5]
    finish store_ids

// A word that is no instruction, and a trap.
kernel illegal
    .long 0xbfff0000
    finish illegal

kernel trap
    s_trap 2
    finish trap

// Nothing ends it, and what is behind it is no code.
kernel falls_into_data
    s_nop 0
    .size falls_into_data, . - falls_into_data
    .long 0xbfff0000

// A load past the end of the kernel arguments, and a store to them.
kernel loads_past_the_arguments
    s_load_dwordx2 s[4:5], s[0:1], 0x38
    s_waitcnt lgkmcnt(0)
    finish loads_past_the_arguments

kernel stores_to_the_arguments
    v_mov_b32_e32 v1, 0
    global_store_dword v1, v0, s[0:1] offset:8
    finish stores_to_the_arguments

// Nothing ends it.
kernel falls_off
    s_nop 0
    .size falls_off, . - falls_off
