; Mangled names, a variable of another object, and no metadata.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl _Z3sumPKfi
	.p2align 8
	.type _Z3sumPKfi,@function
_Z3sumPKfi:
	s_endpgm
.Lend:
	.size _Z3sumPKfi, .Lend-_Z3sumPKfi

	.amdhsa_kernel _Z3sumPKfi
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel

	.data
	.globl _ZN1a1bE
	.type _ZN1a1bE,@object
	.size _ZN1a1bE, 8
_ZN1a1bE:
	.quad elsewhere
	.type elsewhere,@object
