; Sections of one name that refer to one another, which no shared object may: what can be linked of them is in
; wavemill-object/tests/linked/sections.s.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.section .foo,"a",@progbits,unique,1
one:
	.long 1
	.section .foo,"a",@progbits,unique,2
two:
	.long 3, one
	.section .foo,"a",@progbits
	.long one, two
