// Accesses of every kind to where the arguments say: lane `i` of those in `lanes` goes to byte `offset + stride * i` of
// `data`, or of LDS. `records` is what buffer resources say. Kernels that use LDS store what they read to `data`. The
// arguments are two buffers around `data` that nobody touches, and these: before, data, offset (64 bits), lanes (64 bits),
// stride, records, after.
.include "prologue.inc"

// s[4:5]: data + offset; s[18:19]: data; v1: stride * i; v[2:3]: address of the lane; s[12:15]: a buffer resource of
// `records` bytes; v[4:7]: data; s20: offset
.macro begin name, lds=0
    kernel \name, \lds
    s_load_dwordx4 s[4:7], s[0:1], 0x8
    s_load_dwordx4 s[8:11], s[0:1], 0x18
    s_waitcnt lgkmcnt(0)
    s_mov_b64 s[18:19], s[4:5]
    s_mov_b32 s20, s6
    s_add_u32 s4, s4, s6
    s_addc_u32 s5, s5, s7
    s_mov_b32 s12, s4
    s_and_b32 s13, s5, 0xffff
    s_mov_b32 s14, s11
    s_mov_b32 s15, 0x27000
    v_mul_lo_u32 v1, v0, s10
    v_mov_b32_e32 v3, s5
    v_add_co_u32_e32 v2, vcc, s4, v1
    v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
    v_mov_b32_e32 v4, 0xabababab
    v_mov_b32_e32 v5, v4
    v_mov_b32_e32 v6, v4
    v_mov_b32_e32 v7, v4
    s_mov_b64 exec, s[8:9]
.endm

.macro access name, inst:vararg
    begin \name
    \inst
    s_waitcnt vmcnt(0) lgkmcnt(0)
    finish \name
.endm

access global_load_ubyte, global_load_ubyte v8, v[2:3], off
access global_load_dwordx4, global_load_dwordx4 v[8:11], v[2:3], off
access global_store_byte, global_store_byte v[2:3], v4, off
access global_store_dword, global_store_dword v[2:3], v4, off
access global_store_dwordx2, global_store_dwordx2 v[2:3], v[4:5], off
access global_atomic_add, global_atomic_add v[2:3], v4, off
access global_atomic_cmpswap_x2, global_atomic_cmpswap_x2 v[2:3], v[4:7], off
access flat_load_dwordx2, flat_load_dwordx2 v[8:9], v[2:3]
access flat_store_short, flat_store_short v[2:3], v4
access flat_atomic_umax, flat_atomic_umax v[2:3], v4
access buffer_load_dwordx2, buffer_load_dwordx2 v[8:9], v1, s[12:15], 0 offen
access buffer_store_dword, buffer_store_dword v4, v1, s[12:15], 0 offen
access buffer_atomic_or, buffer_atomic_or v4, v1, s[12:15], 0 offen
access s_load_dword, s_load_dword s24, s[4:5], 0x0
access s_load_dwordx8, s_load_dwordx8 s[24:31], s[4:5], 0x0
access s_buffer_load_dwordx2, s_buffer_load_dwordx2 s[24:25], s[12:15], 0x0
.if gfx906
access s_store_dword, s_store_dword s20, s[4:5], 0x0
.endif

// Accesses to LDS of 1024 bytes: v1 becomes the address. Of what is read, v8 goes to `data`.
.macro lds_access name, inst:vararg
    begin \name, 1024
    v_add_u32_e32 v1, s20, v1
    v_mov_b32_e32 v8, v4
    v_mov_b32_e32 v9, v4
    \inst
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_lshlrev_b32_e32 v10, 2, v0
    global_store_dword v10, v8, s[18:19]
    finish \name
.endm

lds_access ds_read_b32, ds_read_b32 v8, v1
lds_access ds_read_b64, ds_read_b64 v[8:9], v1
lds_access ds_read2_b32, ds_read2_b32 v[8:9], v1 offset0:0 offset1:1
lds_access ds_write_b32, ds_write_b32 v1, v4
lds_access ds_write2_b32, ds_write2_b32 v1, v4, v5 offset0:0 offset1:1
lds_access ds_add_rtn_u32, ds_add_rtn_u32 v8, v1, v4
lds_access ds_wrxchg2_rtn_b32, ds_wrxchg2_rtn_b32 v[8:9], v1, v4, v5 offset0:0 offset1:1

// The same by way of the aperture.
.macro flat_lds name, inst:vararg
    begin \name, 1024
    v_add_u32_e32 v2, s20, v1
    s_mov_b64 s[24:25], src_shared_base
    v_mov_b32_e32 v3, s25
    v_mov_b32_e32 v8, v4
    \inst
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_lshlrev_b32_e32 v10, 2, v0
    global_store_dword v10, v8, s[18:19]
    finish \name
.endm

flat_lds flat_lds_load, flat_load_dword v8, v[2:3]
flat_lds flat_lds_store, flat_store_dword v[2:3], v4
.if gfx942 || gfx950
flat_lds flat_lds_atomic, flat_atomic_add v8, v[2:3], v4 sc0
.else
flat_lds flat_lds_atomic, flat_atomic_add v8, v[2:3], v4 glc
.endif
// A global access does not reach LDS.
flat_lds global_to_lds, global_load_dword v8, v[2:3], off

// A load from `data` to LDS, at M0 = offset.
begin buffer_load_lds, 1024
    s_mov_b32 m0, s20
    s_mov_b32 s12, s18
    s_mov_b32 s13, s19
    v_lshlrev_b32_e32 v1, 2, v0
    buffer_load_dword v1, s[12:15], 0 offen lds
    s_waitcnt vmcnt(0)
    finish buffer_load_lds

// A counter in LDS at M0 = offset.
begin ds_append, 1024
    s_mov_b32 m0, s20
    ds_append v8
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32_e32 v10, 2, v0
    global_store_dword v10, v8, s[18:19]
    finish ds_append
