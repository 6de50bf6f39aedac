; A trap handler that counts traps in the first dword of its memory, and stores the saved PC at byte 8.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"

	.text
	.globl count
	.type count,@function
count:
	s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
	s_getreg_b32 ttmp14, hwreg(18)			; TMA, low half
	s_getreg_b32 ttmp15, hwreg(19)			; TMA, high half
	s_load_dword ttmp4, ttmp[14:15], 0x0
	s_waitcnt lgkmcnt(0)
	s_add_u32 ttmp4, ttmp4, 1
	s_store_dword ttmp4, ttmp[14:15], 0x0
	s_store_dwordx2 ttmp[0:1], ttmp[14:15], 0x8
	s_waitcnt lgkmcnt(0)
	s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12	; SCC
	s_rfe_b64 ttmp[0:1]
.Lend:
	.size count, .Lend-count
