; Sections of one name that stay several: by number, by group, or both.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.section .foo,"a",@progbits,unique,1
one:
	.long 1
	.section .foo,"a",@progbits,unique,2
	.long 3, one
	.section .foo,"a",@progbits,unique,1
	.long 5
	.section .foo,"a",@progbits
	.long 6
	.section .foo,"aw",@progbits,unique,3
	.long 7
	.section .foo
	.long 8
	.section .grouped,"aG",@progbits,g1,comdat
	.long 1
	.section .grouped,"aG",@progbits,g2,comdat
	.long 3
	.section .grouped,"aG",@progbits,g1,comdat
	.long 5
	.section .grouped
	.long 6
	.section .grouped,"aG",@progbits,g1
	.long 8
	.section .plain,"aG",@progbits,"a group"
	.long 1
	.section .companion,"a?",@progbits
	.long 2
	.section .grouped,"aG",@progbits,g2,comdat,unique,7
	.long 9
	.section .text,"ax",@progbits,unique,0
	s_nop 0
	.section .text,"a"
	s_nop 1
	.section .data.rel.ro,"a"
	.quad 1
	.section .text.f,"axG",@progbits,f,comdat
	.weak f
f:
	s_endpgm
	.section .rodata.str1.1,"aMS",@progbits,1
	.asciz "text"
	.section .rodata.str1.1,"aMS",@progbits,1,unique,4
	.asciz "text"
	.section .meta,"",@note
	.long .grouped, .foo
