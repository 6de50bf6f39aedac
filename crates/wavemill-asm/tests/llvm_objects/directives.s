; Directives that compilers do not write, or not in these forms.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.text
	.set first, 3
	.equ second, first + 1
third = second * 2
	v_mov_b32 v[first], third
	v_add_f32 v[second], v[first], v[second+1]
	s_mov_b64 s[first-3:first-2], s[third:third+1]

	// Labels with numbers, and branches to them.
1:	s_branch 1f
	s_cbranch_scc0 1b
1:	s_nop 0
	s_branch 1b

/* A comment
   of two lines */
	.macro add3 dst, a, b, c=v0
	v_add_f32 \dst, \a, \b
	v_add_f32 \dst, \dst, \c
	.endm
	add3 v1, v2, v3
	add3 v1, v2, v3, v4
	add3 dst=v5, a=v6, b=v7, c=v8
	.rept 3
	s_nop 1
	.endr
	.irp register, v1, v2, v3
	v_mov_b32 \register, 0
	.endr
	.irpc digit, 456
	v_mov_b32 v\digit, 1
	.endr

	.macro until x
	s_nop 1
	.if \x == 1
	.exitm
	.endif
	s_nop 2
	.endm
	until 1
	until 2
	.rept 3
	s_nop 3
	.exitm
	.endr

	.if first == 3
	s_nop 2
	.if second > 4
	s_nop 3
	.elseif second == 4
	s_nop 4
	.else
	s_nop 5
	.endif
	.else
	this is not looked at
	.endif
	.ifdef first
	s_nop 6
	.endif
	.ifndef nothing
	s_nop 7
	.endif

	s_getreg_b32 s0, {id: first-2, offset: 4, size: 5}
	s_getreg_b32 s0, {size: 7, id: 2}
	s_setreg_b32 {}, s0
	s_getreg_b32 s0, {offset: 1}

	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, table@rel32@lo+4
	s_addc_u32 s1, s1, table@rel32@hi+12
	s_add_u32 s0, s0, outside@gotpcrel32@lo+4
	s_addc_u32 s1, s1, outside@gotpcrel32@hi+12
	s_mov_b32 s2, table@abs32@lo
	s_mov_b32 s3, table@abs32@hi
	s_mov_b32 s4, end-start
start:
	s_nop 8
end:
	s_branch far
	.p2align 4
	s_endpgm
	.balign 64, 0
	.p2alignl 6, 0xbf800001
	s_endpgm
	.fill 4, 4, 0xbf800000

	.section .rodata,"a",@progbits
	.p2align 3
	.globl table
	.type table,@object
	.size table, table_end-table
table:
	.byte 1, 2, -1, 0xff, 'a', '\n'
	.short 0x1234, -2
	.long 1, 2+3*4, ~0, -(1<<4)
	.int table_end-table
	.quad 0x123456789abcdef0, -1
	.octa 0x123456789abcdef0123456789abcdef, 5
	.float 1.5, -0.25, 3
	.double 3.141592653589793
	.ascii "no zero", "\x41\102\t\\"
	.asciz "one zero"
	.string "again"
	.zero 3
	.skip 2, 0xaa
	.space 4
	.fill 2, 2, 0x1122
	.fill 3
	.fill 1, 8, 0x1
	.uleb128 0, 127, 128, 624485
	.sleb128 0, -1, 63, 64, -64, -65, -123456
	.balign 8
	.quad table
	.quad outside+8
	.long table_end-.
	.long start-end
table_end:
	.org table_end-table+16, 0x55

	.data
	.globl variable
variable:
	.long 7
	.hidden concealed
	.globl concealed
concealed:
	.long 8
	.weak perhaps
	.quad perhaps
	.bss
	.local zeros
zeros:
	.zero 40
	.comm shared_space, 16, 3
	.data

	.pushsection .text.other,"ax",@progbits
far:
	s_endpgm
	.popsection
	.long 9
	.section ".notes.own", "", @note
	.asciz "here"
	.section .mergeable,"aMS",@progbits,1
	.asciz "merged"
	.previous
	.long 10
