; What is said of lines and frames, in forms that compilers do not write.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.file "by_hand.s"
	.file 0 "root" "zero.cl" md5 0x00112233445566778899aabbccddeeff
	.file 1 "folder" "one.cl" md5 0xbe11a690c37450a0034f006875ffc62b
	.file 2 "folder/two.cl"
	.file 3 "other" "three.cl" source "void f() {}"
	.file 4 "four.cl"
	.ident "a compiler"
	.ident "another"
	.cfi_sections .debug_frame
	.text
	.globl first
first:
	.cfi_startproc
	.loc 1 1
	s_nop 0
	.loc 1 10 3 prologue_end
	.loc 1 11 4 is_stmt 0
	s_nop 1
	s_nop 2
	.loc 2 5 0 is_stmt 1
	.fill 30, 4, 0xbf800000
	s_nop 3
	.loc 2 1000 7 discriminator 200 basic_block
	.cfi_def_cfa 64, 16
	s_nop 4
	.cfi_offset 16, 8
	.cfi_offset 16, -8
	.cfi_offset 1640, 8
	.fill 70, 4, 0xbf800000
	.cfi_rel_offset 17, 8
	.cfi_val_offset 16, 8
	.cfi_adjust_cfa_offset 4
	.loc 2 7 7
	.p2align 4
	.long 17
	.fill 300, 4, 0xbf800000
	.cfi_def_cfa_offset 24
	.cfi_def_cfa_register 65
	.cfi_same_value 40
	.loc 2 7 7
	.fill 33000, 4, 0xbf800000
	.loc 2 9 7 epilogue_begin
	s_nop 5
	.cfi_restore 40
	.cfi_restore 140
	.cfi_register 40, 41
	.cfi_undefined 2560
	.fill 66000, 4, 0xbf800000
	.cfi_remember_state
	.cfi_restore_state
	.cfi_llvm_def_aspace_cfa 64, 0, 6
	.cfi_escape 0x0f, 0x04, 0x30, 0x36, 0xe9, 0x02
	.loc 4 3 1
	s_endpgm
	.cfi_endproc

	.section .text.second,"ax",@progbits
	.cfi_startproc
	.loc 3 70000 65535
	s_nop 6
	.loc 3 0 0
	s_endpgm
	.cfi_endproc
	.byte 1
	.loc 3 12
	.ascii "after the code"
	.loc 3 13

	.section .debug_info,"",@progbits
	.long .Lend-.Lbegin
.Lbegin:
	.short 4
	.long .debug_abbrev
	.byte 8
	.long .Lline_table
	.long .Lname
	.long .debug_str+2
	.quad first
.Lend:
	.uleb128 .Lend-.Lbegin
	.sleb128 .Lbegin-.Lend
	.section .debug_abbrev,"",@progbits
	.byte 0
	.section .debug_str,"MS",@progbits,1
	.asciz "zero"
.Lname:
	.asciz "one"
	.section .debug_line,"",@progbits
.Lline_table:
	.addrsig
	.addrsig_sym first
	.addrsig_sym elsewhere
