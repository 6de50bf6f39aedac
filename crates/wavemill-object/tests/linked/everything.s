// Kernels, functions, variables of all kinds, the global offset table.
	.text
	.globl	first
	.protected	first
	.p2align	8
	.type	first,@function
first:
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, elsewhere@gotpcrel32@lo+4
	s_addc_u32 s1, s1, elsewhere@gotpcrel32@hi+12
	s_add_u32 s0, s0, inner@rel32@lo+4
	s_addc_u32 s1, s1, inner@rel32@hi+12
	s_add_u32 s0, s0, shared@gotpcrel32@lo+4
	s_addc_u32 s1, s1, shared@gotpcrel32@hi+12
	s_add_u32 s0, s0, private@gotpcrel32@lo+4
	s_add_u32 s0, s0, guarded@gotpcrel32@lo+4
	s_add_u32 s0, s0, number@gotpcrel32@lo+4
	s_add_u32 s0, s0, secret@gotpcrel32@lo+4
	s_add_u32 s0, s0, maybe@gotpcrel32@lo+4
	s_branch second
	s_endpgm
.Lfirst_end:
	.size	first, .Lfirst_end-first

	.globl	second
	.hidden	second
	.p2align	2
	.type	second,@function
second:
	s_setpc_b64 s[30:31]

	.section	.text.third,"ax",@progbits
	.weak	third
	.p2align	8
	.type	third,@function
third:
	s_endpgm

	.section	.rodata,"a",@progbits
	.p2align	6
	.globl	first.kd
	.protected	first.kd
	.type	first.kd,@object
	.size	first.kd, 64
first.kd:
	.fill	16, 1, 0
	.quad	first-first.kd
	.fill	40, 1, 7
	.long	first-.
	.p2align	2
table:
	.long	second-table
	.quad	third2-table

	.text
third2:
	s_nop 0

	.data
	.globl	inner
	.hidden	inner
	.p2align	3
inner:
	.quad	first
	.quad	elsewhere
	.quad	private
	.quad	private+24
	.quad	number
	.quad	secret
	.quad	third
	.long	inner-private
	.globl	shared
	.p2align	3
shared:
	.long	5
	.long	6
	.type	shared,@object
	.size	shared, 8
	.globl	guarded
	.protected	guarded
guarded:
private:
	.quad	0
	.weak	maybe
	.quad	maybe

	.section	.data.rel.ro,"aw",@progbits
	.p2align	4
	.quad	first, second, elsewhere

	.section	.data.more,"aw",@progbits
	.p2align	7
	.byte	1

	.bss
	.globl	room
	.p2align	4
room:
	.zero	100
	.comm	common,16,8
	.comm	common2,3,2

	.globl	number
number = 0x1234
	.globl	secret
	.hidden	secret
secret = 99
local_number = 5

	.section	.custom,"a",@progbits
	.byte	1, 2, 3
	.section	.custom.rw,"aw",@progbits
	.byte	4
	.section	.not_loaded,"",@progbits
	.quad	first
	.long	private
	.section	.gone,"e",@progbits
	.byte	9
