; Literals that are said to be some, of expressions, and the half of a literal that no one reads.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.text
	.set x, 3
	v_mov_b32 v0, lit(1+2)
	v_mov_b32 v0, lit(x)
	v_mov_b32 v0, lit(-x*2)
	v_mov_b32 v0, lit((1))
	v_mov_b32 v0, lit(~1)
	v_mov_b32 v0, lit(-1.0)
	v_add_u16 v0, lit(x|4), v1
	v_add_u16 v0, lit(x-40), v1
	s_mov_b64 s[0:1], lit(1<<4)
	s_movk_i32 s0, lit(1+1)
	v_cvt_f32_f64 v0, lit(3+4)
	v_add_f16 v0, -17, v2
	.if .amdgcn.gfx_generation_minor == 0
	.if .amdgcn.gfx_generation_stepping < 10
	v_madmk_f16 v0, v1, -3, v2
	v_madak_f16 v0, v1, v2, -0x8000
	v_madak_f16 v0, -20, v2, -20
	v_madak_f16 v0, v1, v2, -0.1
	v_madmk_f16 v0, v1, 0xfffd, v2
	v_madmk_f16 v0, v1, lit(-3), v2
	.endif
	.endif
