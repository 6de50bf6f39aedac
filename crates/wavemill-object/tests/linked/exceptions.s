// Frames for exceptions, which the linker ends with an entry of no length.
	.text
	.globl	first
	.protected	first
first:
	.cfi_startproc
	.cfi_personality 0x1b, personality
	.cfi_lsda 0x1b, .Ldata
	s_nop 0
	.cfi_def_cfa 64, 16
	s_endpgm
	.cfi_endproc
second:
	.cfi_startproc
	s_endpgm
	.cfi_endproc
	.section .other,"ax",@progbits
third:
	.cfi_startproc
	.cfi_personality 0x1b, personality
	.cfi_lsda 0x1b, .Ldata
	s_endpgm
	.cfi_endproc
	.section .gcc_except_table,"a",@progbits
.Ldata:
	.long 7
	.section .rodata,"a",@progbits
personality:
	.long 0
