	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
	.text
	.globl kernel
	.p2align 99				; wrong
kernel:
	v_add_f32 v0, v1			; wrong
	s_branch nowhere_near
	.lnog 4					; wrong
	.long 0x123456789			; wrong
	.set twice, 1
	.equiv twice, 2				; wrong
kernel:						; wrong
	s_endpgm
	.if 1
	v_mov_b32 v0, v257			; wrong
	.else
	not looked at
	.endif
	.macro twice_over register
	v_mov_b32 \register, v300
	.endm
	twice_over v1				; wrong
	.section .rodata,"aq",@progbits		; wrong
	.section .rodata,"a",@progbits
	.amdhsa_kernel kernel			; wrong
	.amdhsa_next_free_vgpr 600		; wrong
	.amdhsa_next_free_sgrp 4		; wrong
	.amdhsa_wavefront_size32 1		; wrong
	.end_amdhsa_kernel
	.byte 256				; wrong
	.byte outside				; wrong
	.uleb128 outside			; wrong
	.ascii "no end				; wrong
	.incbin "file"				; wrong
	.include "file.s"			; wrong
	.amdgpu_metadata
---
amdhsa.version: 1 # ; wrong
	.end_amdgpu_metadata
	.loc 1 2			; wrong
	.file 1 "a.cl" md5 7			; wrong
	.file 2 "b.cl"
	.file 2 "c.cl"			; wrong
	.loc 2 3 70000			; wrong
	.loc 2 3 1 sometimes			; wrong
	.cfi_undefined 16			; wrong
	.cfi_startproc			; wrong
	.cfi_startproc			; wrong
	.cfi_personality 3			; wrong
	.cfi_undefined v0			; wrong
	.cfi_def_cfa 64, -8			; wrong
	.octa one			; wrong
	.exitm			; wrong
	.error			; wrong
	.if decided == 4			; wrong
	.endif
	.skip 4, !decided		; wrong
decided = 4
	.warning "not shown here: no error"
