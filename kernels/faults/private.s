// Accesses to private memory, of which each lane has 64 bytes: lane `i` of those in `lanes` goes to byte
// `offset + stride * i`. The arguments are those of access.s, of which `data` is another buffer that nobody touches.
.include "prologue.inc"

// v1: the offset in private memory; v[2:3]: its address in the aperture; v[4:7]: data; on gfx906 and gfx90a s[16:19]: the
// buffer resource that compilers use for it
.macro private name, inst:vararg
// A load to LDS needs a location in LDS for each lane, or it does not load.
.ifc \name, buffer_load_lds
    kernel \name, 256, 64, 1
.else
    kernel \name, 0, 64, 1
.endif
    s_load_dwordx2 s[6:7], s[0:1], 0x10
    s_load_dwordx4 s[8:11], s[0:1], 0x18
.if gfx906 || gfx90a
    s_add_u32 flat_scratch_lo, s2, s5
    s_addc_u32 flat_scratch_hi, s3, 0
    s_mov_b32 s16, flat_scratch_lo
    s_and_b32 s17, flat_scratch_hi, 0xffff
    s_bitset1_b32 s17, 31
    s_mov_b32 s18, 64 * 64
    s_mov_b32 s19, 0xe00000
.endif
    s_waitcnt lgkmcnt(0)
    v_mul_lo_u32 v1, v0, s10
    v_add_u32_e32 v1, s6, v1
    s_mov_b64 s[24:25], src_private_base
    v_mov_b32_e32 v2, v1
    v_mov_b32_e32 v3, s25
    v_mov_b32_e32 v4, 0xabababab
    v_mov_b32_e32 v5, v4
    v_mov_b32_e32 v6, v4
    v_mov_b32_e32 v7, v4
    s_mov_b64 exec, s[8:9]
    \inst
    s_waitcnt vmcnt(0) lgkmcnt(0)
    finish \name
.endm

private scratch_load_ubyte, scratch_load_ubyte v8, v1, off
private scratch_load_dword, scratch_load_dword v8, v1, off
private scratch_load_dwordx4, scratch_load_dwordx4 v[8:11], v1, off
private scratch_store_byte, scratch_store_byte v1, v4, off
private scratch_store_dwordx2, scratch_store_dwordx2 v1, v[4:5], off

// By way of the aperture.
private flat_load_dwordx2, flat_load_dwordx2 v[8:9], v[2:3]
private flat_store_byte, flat_store_byte v[2:3], v4
private flat_atomic_add, flat_atomic_add v[2:3], v4
.if gfx942 || gfx950
private flat_atomic_swap_x2, flat_atomic_swap_x2 v[8:9], v[2:3], v[4:5] sc0
.else
private flat_atomic_swap_x2, flat_atomic_swap_x2 v[8:9], v[2:3], v[4:5] glc
.endif

.if gfx906 || gfx90a
private buffer_load_dwordx2, buffer_load_dwordx2 v[8:9], v1, s[16:19], 0 offen
private buffer_store_short, buffer_store_short v4, v1, s[16:19], 0 offen
private buffer_atomic_add, buffer_atomic_add v4, v1, s[16:19], 0 offen
// Names no vector register: `offset` is that of the wave, 64 times as far as that of a lane.
private buffer_load_lds, buffer_load_dword off, s[16:19], s6 lds
.endif
