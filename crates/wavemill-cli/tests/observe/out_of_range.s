; Kernels that leave LDS and the range of a buffer resource. TARGET is put in by the test.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.amdhsa_code_object_version 5
	.text

; Turns the lanes' numbers around, through LDS of which none is declared.
	.globl reverse
	.p2align 8
	.type reverse,@function
reverse:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_and_b32 v0, 0x3ff, v0
	v_lshlrev_b32 v1, 2, v0
	v_xor_b32 v2, 0xfc, v1
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v3, v2
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v3, s[2:3]
	s_endpgm
.Lreverse_end:
	.size reverse, .Lreverse_end-reverse

; Loads through a resource of half the bytes that the lanes ask for.
	.globl half
	.p2align 8
	.type half,@function
half:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_movk_i32 s6, 128
	s_mov_b32 s7, 0x27000
	v_and_b32 v0, 0x3ff, v0
	v_lshlrev_b32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	buffer_load_dword v3, v1, s[4:7], 0 offen
	s_waitcnt vmcnt(0)
	s_endpgm
.Lhalf_end:
	.size half, .Lhalf_end-half

; Loads from an address of which the upper half went through LDS: without LDS, far from the buffer.
	.globl faulty
	.p2align 8
	.type faulty,@function
faulty:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_and_b32 v0, 0x3ff, v0
	v_lshlrev_b32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32 v3, s3
	ds_write_b32 v1, v3
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v3, v1
	v_mov_b32 v2, s2
	s_waitcnt lgkmcnt(0)
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	s_endpgm
.Lfaulty_end:
	.size faulty, .Lfaulty_end-faulty

; Waits for a number that it wrote to LDS, and counts meanwhile.
	.globl endless
	.p2align 8
	.type endless,@function
endless:
	v_and_b32 v0, 0x3ff, v0
	v_lshlrev_b32 v1, 2, v0
	v_mov_b32 v2, 7
	ds_write_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	s_mov_b32 s4, 0
.Lagain:
	s_add_u32 s4, s4, 1
	ds_read_b32 v3, v1
	s_waitcnt lgkmcnt(0)
	v_readfirstlane_b32 s5, v3
	s_cmp_lg_u32 s5, 7
	s_cbranch_scc1 .Lagain
	s_endpgm
.Lendless_end:
	.size endless, .Lendless_end-endless

; Writes to LDS where the buffer holds 0, and then to the buffer.
	.globl once
	.p2align 8
	.type once,@function
once:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_and_b32 v0, 0x3ff, v0
	v_lshlrev_b32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v2, v1, s[2:3]
	v_mov_b32 v3, 1
	global_store_dword v1, v3, s[2:3]
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32 vcc, 0, v2
	s_and_b64 exec, exec, vcc
	ds_write_b32 v1, v3
	s_endpgm
.Lonce_end:
	.size once, .Lonce_end-once

; Writes and reads 256 bytes of LDS, of which 128 are declared, or are an argument.
	.irp kernel, declared, argument
	.globl \kernel
	.p2align 8
	.type \kernel,@function
\kernel:
	v_and_b32 v0, 0x3ff, v0
	v_lshlrev_b32 v1, 2, v0
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v2, v1
	s_waitcnt lgkmcnt(0)
	s_endpgm
.L\kernel\()_end:
	.size \kernel, .L\kernel\()_end-\kernel
	.endr

; Calls what accesses LDS.
	.globl caller
	.p2align 8
	.type caller,@function
caller:
	s_getpc_b64 s[2:3]
	s_add_u32 s2, s2, called@rel32@lo+4
	s_addc_u32 s3, s3, called@rel32@hi+12
	s_swappc_b64 s[30:31], s[2:3]
	s_endpgm
.Lcaller_end:
	.size caller, .Lcaller_end-caller

; The same by the distance.
	.globl direct
	.p2align 8
	.type direct,@function
direct:
	s_call_b64 s[30:31], called
	s_endpgm
.Ldirect_end:
	.size direct, .Ldirect_end-direct

	.p2align 2
	.type called,@function
called:
	ds_add_u32 v0, v0
	s_setpc_b64 s[30:31]
.Lcalled_end:
	.size called, .Lcalled_end-called

	.section .rodata,"a",@progbits
	.macro describe kernel, lds=0
	.amdhsa_kernel \kernel
		.amdhsa_group_segment_fixed_size \lds
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 40
		ACCUM_OFFSET
	.end_amdhsa_kernel
	.endm
	describe reverse
	describe half
	describe faulty
	describe endless
	describe once
	describe declared, 128
	describe argument
	describe caller
	describe direct

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--TARGET
amdhsa.kernels:
KERNELS	.end_amdgpu_metadata
