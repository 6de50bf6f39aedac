// The atomic functions of OpenCL 1, and the builtins that count up and down in a ring, with results that nobody looks at.
// Every operation ends with the same value whatever the order: sums, bits, extremes, and where a value is put, all put the
// same.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

enum { ADD, SUB, INC, DEC, XCHG, CMPXCHG, MIN, MAX, SMIN, SMAX, AND, OR, XOR, RING_UP, RING_DOWN, OPERATIONS };

// The cells of an operation that a group has: neighbouring lanes use different ones, so that some meet and some do not.
#define SHARES 8
// What compare and exchange look for, and what it and exchange leave.
#define WANTED 3
#define PUT 12345
// The last number of the ring.
#define LAST 1000
// Bits that `or` may set, and that `and` leaves alone.
#define SOME_BITS 0x33335555

#define CLASSIC(name, SPACE, T, S, atom, inc, dec, scope)                                                              \
    static void name(SPACE T *cells, uint stride, T v) {                                                               \
        atom##_add(&cells[ADD * stride], v);                                                                           \
        atom##_sub(&cells[SUB * stride], v);                                                                           \
        atom##_inc(&cells[INC * stride]);                                                                              \
        atom##_dec(&cells[DEC * stride]);                                                                              \
        atom##_xchg(&cells[XCHG * stride], (T)PUT);                                                                    \
        atom##_cmpxchg(&cells[CMPXCHG * stride], (T)WANTED, (T)PUT);                                                   \
        atom##_min(&cells[MIN * stride], v);                                                                           \
        atom##_max(&cells[MAX * stride], v);                                                                           \
        atom##_min((SPACE S *)&cells[SMIN * stride], (S)v);                                                            \
        atom##_max((SPACE S *)&cells[SMAX * stride], (S)v);                                                            \
        atom##_and(&cells[AND * stride], v | SOME_BITS);                                                               \
        atom##_or(&cells[OR * stride], v & SOME_BITS);                                                                 \
        atom##_xor(&cells[XOR * stride], v);                                                                           \
        inc(&cells[RING_UP * stride], LAST, __ATOMIC_RELAXED, scope);                                                  \
        dec(&cells[RING_DOWN * stride], LAST, __ATOMIC_RELAXED, scope);                                                \
    }
CLASSIC(global32, global, uint, int, atomic, __builtin_amdgcn_atomic_inc32, __builtin_amdgcn_atomic_dec32, "agent")
CLASSIC(local32, local, uint, int, atomic, __builtin_amdgcn_atomic_inc32, __builtin_amdgcn_atomic_dec32, "workgroup")
CLASSIC(global64, global, ulong, long, atom, __builtin_amdgcn_atomic_inc64, __builtin_amdgcn_atomic_dec64, "agent")
CLASSIC(local64, local, ulong, long, atom, __builtin_amdgcn_atomic_inc64, __builtin_amdgcn_atomic_dec64, "workgroup")

// Each operation has SHARES cells for every group, and as many for all.
kernel void atomics_classic_global(global const ulong *restrict v, global uint *cells32, global ulong *cells64) {
    const uint i = get_global_id(0), share = get_local_id(0) % SHARES, groups = get_num_groups(0);
    const uint stride = (groups + 1) * SHARES, mine = get_group_id(0) * SHARES + share, common = groups * SHARES + share;
    global32(cells32 + mine, stride, (uint)v[i]);
    global32(cells32 + common, stride, (uint)v[i]);
    global64(cells64 + mine, stride, v[i]);
    global64(cells64 + common, stride, v[i]);
}

// The same in LDS. All groups start with the cells of `first`; those of a group end up in its part of `last`.
kernel void atomics_classic_local(global const ulong *restrict v, global const uint *restrict first32,
                                  global const ulong *restrict first64, global uint *restrict last32,
                                  global ulong *restrict last64) {
    local uint cells32[OPERATIONS * SHARES];
    local ulong cells64[OPERATIONS * SHARES];
    const uint i = get_global_id(0), l = get_local_id(0);
    for (uint c = l; c < OPERATIONS * SHARES; c += get_local_size(0)) {
        cells32[c] = first32[c];
        cells64[c] = first64[c];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    local32(cells32 + l % SHARES, SHARES, (uint)v[i]);
    local64(cells64 + l % SHARES, SHARES, v[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = l; c < OPERATIONS * SHARES; c += get_local_size(0)) {
        last32[get_group_id(0) * OPERATIONS * SHARES + c] = cells32[c];
        last64[get_group_id(0) * OPERATIONS * SHARES + c] = cells64[c];
    }
}
