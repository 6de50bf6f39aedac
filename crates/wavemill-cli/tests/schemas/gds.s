; A load of the global data share beyond the 16 bytes that M0 allows.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
beyond:
	v_mov_b32 v0, 16
	s_mov_b32 m0, 16
	ds_read_b32 v1, v0 gds
	s_endpgm
.Lend:
	.size beyond, .Lend-beyond
	.type beyond,@function
	.globl beyond
	.amdhsa_kernel beyond
		.amdhsa_next_free_vgpr 2
		.amdhsa_next_free_sgpr 8
	.end_amdhsa_kernel
