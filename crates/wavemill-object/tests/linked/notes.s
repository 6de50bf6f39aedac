// Notes, constructors, groups, sections of the same name.
	.amdgpu_metadata
amdhsa.version: [ 1, 2 ]
amdhsa.kernels: []
	.end_amdgpu_metadata
	.section	.note.more,"a",@note
	.p2align	2
	.long	4, 4, 1
	.asciz	"Own"
	.long	7
	.section	.note.aligned,"a",@note
	.p2align	3
	.long	4, 4, 1
	.asciz	"Own"
	.long	7
	.section	.init_array,"aw",@init_array
	.p2align	3
	.quad	start
	.section	.fini_array,"aw",@fini_array
	.p2align	3
	.quad	start
	.text
start:
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, __init_array_start@rel32@lo+4
	s_add_u32 s0, s0, __init_array_end@rel32@lo+4
	s_add_u32 s0, s0, __fini_array_start@gotpcrel32@lo+4
	s_endpgm
	.section	.text.inline,"axG",@progbits,inline,comdat
	.weak	inline
	.protected	inline
inline:
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, start@rel32@lo+4
	s_setpc_b64 s[30:31]
	.section	.bss.rel.ro,"aw",@nobits
	.zero	24
	.section	.tail,"aw",@nobits
	.zero	8
