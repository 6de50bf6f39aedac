// Mergeable strings and constants.
	.text
	.globl	k
	.protected	k
k:
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, .Lone@rel32@lo+4
	s_add_u32 s0, s0, .Ltwo@rel32@lo+4
	s_add_u32 s0, s0, named@rel32@lo+4
	s_add_u32 s0, s0, constant@rel32@lo+4
	s_endpgm

	.section	.rodata.str1.1,"aMS",@progbits,1
.Lone:
	.asciz	"one"
.Ltwo:
	.asciz	"two"
named:
	.asciz	"one"
	.asciz	""
	.asciz	"a longer text, to be hashed in another way"
	.asciz	"%d %s\n"
	.asciz	"three"
	.asciz	"four"
	.asciz	"five"
	.asciz	"a text that is more than sixteen bytes"
	.asciz	"a text of more than one hundred and twenty-eight bytes, for which the hash has a third way to be computed; it goes on and on"
	.asciz	"a text of more than two hundred and forty bytes, for which the hash has yet another way to be computed, which this crate does not know of, since it uses a library for it; it goes on and on, until it is long enough for that, which is now the case, I think"

	.section	.rodata.str2.2,"aMS",@progbits,2
	.short	65, 66, 0, 65, 66, 0, 66, 0

	.section	.rodata.cst16,"aM",@progbits,16
	.quad	1, 2, 3, 4, 1, 2
	.p2align	4
constant:
	.quad	3, 4

	.section	.rodata.cst4,"aM",@progbits,4
	.long	1, 2, 3, 1

	.section	.rodata,"a",@progbits
	.long	.Ltwo-.
	.byte	1

	.section	.debug_str,"MS",@progbits,1
	.asciz	"producer"
.Lname:
	.asciz	"name"
	.section	.debug_info,"",@progbits
	.long	.Lname
	.long	.debug_str
	.quad	k
