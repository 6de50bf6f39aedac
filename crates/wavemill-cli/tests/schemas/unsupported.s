; A matrix product under VGPR indexing, which no manual describes.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
indexed:
	s_set_gpr_idx_on s2, gpr_idx()
	v_mfma_f32_4x4x1f32 v[4:7], v0, v1, v[4:7]
	s_endpgm
.Lend:
	.size indexed, .Lend-indexed
	.type indexed,@function
	.globl indexed
	.amdhsa_kernel indexed
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
