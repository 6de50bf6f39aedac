; Without `.cfi_sections`, frames are for exceptions.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.text
f:
	.cfi_startproc
	s_nop 0
	.cfi_def_cfa_offset 16
	s_endpgm
	.cfi_endproc
