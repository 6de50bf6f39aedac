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

; What cannot run.
	.globl cannot
	.p2align 8
	.type cannot,@function
cannot:
	ds_gws_init v0 gds
	ds_gws_init v2 gds
	ds_gws_sema_v gds
	s_endpgm
.Lcannot_end:
	.size cannot, .Lcannot_end-cannot

	.section .rodata,"a",@progbits
	.macro describe kernel
	.amdhsa_kernel \kernel
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 8
		ACCUM_OFFSET
	.end_amdhsa_kernel
	.endm
	describe reverse
	describe half
	describe cannot

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--TARGET
amdhsa.kernels:
  - .name: reverse
    .symbol: reverse.kd
    .args:
      - .name: x
        .address_space: global
        .offset: 0
        .size: 8
        .value_kind: global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
  - .name: half
    .symbol: half.kd
    .args:
      - .name: x
        .address_space: global
        .offset: 0
        .size: 8
        .value_kind: global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
  - .name: cannot
    .symbol: cannot.kd
    .args:
      - .name: x
        .address_space: global
        .offset: 0
        .size: 8
        .value_kind: global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
	.end_amdgpu_metadata
