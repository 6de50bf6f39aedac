; Frames for exceptions and for debuggers: common entries for those that differ, in LLVM's order.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.cfi_sections .eh_frame, .debug_frame
	.text
	.globl first
	.type first,@function
first:
	.cfi_startproc
	.cfi_personality 0x1b, personality
	.cfi_lsda 0x1b, .Ldata
	.cfi_signal_frame
	s_nop 0
	.cfi_def_cfa 64, 16
	.cfi_remember_state
	s_nop 0
	s_endpgm
	.cfi_endproc
second:
	.cfi_startproc
	s_nop 1
	.cfi_undefined 16
	s_endpgm
	.cfi_endproc
third:
	.cfi_startproc simple
	.cfi_lsda 0x10, outside
	.fill 100, 4, 0xbf800000
	.cfi_undefined 17
	.fill 300, 4, 0xbf800000
	.cfi_undefined 18
	s_endpgm
	.cfi_endproc
fourth:
	.cfi_startproc
	.cfi_personality 0xff
	.cfi_lsda 255
	.cfi_return_column 20
	s_endpgm
	.cfi_endproc
fifth:
	.cfi_startproc
	.cfi_personality 0x9b, "indirect"
	s_endpgm
	.cfi_endproc
sixth:
	.cfi_startproc
	.cfi_personality 0, outside
	.cfi_lsda 0x0c, personality
	.cfi_undefined 19
	s_endpgm
	.cfi_endproc
seventh:
	.cfi_startproc
	s_endpgm
	.cfi_endproc
	.section .other,"ax",@progbits
eighth:
	.cfi_startproc
	.cfi_personality 0x1b, personality
	.cfi_lsda 0x1b, .Ldata
	.cfi_signal_frame
	s_endpgm
	.cfi_endproc
	.section .rodata,"a",@progbits
.Ldata:
	.long 0
	.weak indirect
	.hidden indirect
indirect:
	.quad 0
	.globl personality
personality:
	.long 0
