// Atomic operations on floating point numbers. What is added is a small multiple of 1/4, so that every sum is exact and the
// order makes no difference. Targets without an instruction for an addition get a loop that compares and exchanges.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

enum { LOAD, STORE, EXCHANGE, SWAP, ADD, SUB, MIN, MAX, OPERATIONS };

// Of the items that share a cell, only one in so many tries to swap.
#define SWAPPERS 16

// What an item does to the cells of its group or of all: operation op has its cell at op * stride. `v` is added, `w` is what
// may become the least or greatest. Loads add the bits of what they find to `total`; additions four times the value before
// times four times v, so that every two items of a cell count once; the others the bits of the new value less those of
// the one before, so that only the first and the last value of a cell are left.
#define FLOATS(name, SPACE, T, ATOMIC, as_bits, scope)                                                                 \
    static void name(SPACE ATOMIC *cells, uint stride, T v, T w, private uint *total) {                                \
        T a = __opencl_atomic_load(&cells[LOAD * stride], memory_order_acquire, scope), b;                             \
        total[LOAD] += as_bits(a);                                                                                     \
        __opencl_atomic_store(&cells[STORE * stride], (T)-2.5, memory_order_release, scope);                           \
        a = __opencl_atomic_exchange(&cells[EXCHANGE * stride], (T)7.25, memory_order_acq_rel, scope);                 \
        total[EXCHANGE] += as_bits((T)7.25) - as_bits(a);                                                              \
        if (get_local_id(0) % SWAPPERS == 0) {                                                                         \
            a = 0;                                                                                                     \
            while (!__opencl_atomic_compare_exchange_weak(&cells[SWAP * stride], &a, a + v, memory_order_acq_rel,      \
                                                          memory_order_relaxed, scope))                                \
                ;                                                                                                      \
            b = a + v;                                                                                                 \
            total[SWAP] += as_bits(b) - as_bits(a);                                                                    \
            while (!__opencl_atomic_compare_exchange_strong(&cells[SWAP * stride], &b, b - 2 * v,                      \
                                                            memory_order_seq_cst, memory_order_acquire, scope))        \
                ;                                                                                                      \
            total[SWAP] += as_bits(b - 2 * v) - as_bits(b);                                                            \
        }                                                                                                              \
        a = __opencl_atomic_fetch_add(&cells[ADD * stride], v, memory_order_relaxed, scope);                           \
        total[ADD] += (uint)(int)(4 * a) * (uint)(int)(4 * v);                                                         \
        a = __opencl_atomic_fetch_sub(&cells[SUB * stride], v, memory_order_seq_cst, scope);                           \
        total[SUB] += (uint)(int)(4 * a) * (uint)(int)(4 * v);                                                         \
        a = __opencl_atomic_fetch_min(&cells[MIN * stride], w, memory_order_acquire, scope);                           \
        total[MIN] += as_bits(fmin(a, w)) - as_bits(a);                                                                \
        a = __opencl_atomic_fetch_max(&cells[MAX * stride], w, memory_order_release, scope);                           \
        total[MAX] += as_bits(fmax(a, w)) - as_bits(a);                                                                \
    }

// Both halves of a number's bits.
static uint bits32(float x) { return as_uint(x); }
static uint bits64(double x) { return 31 * (uint)(as_ulong(x) >> 32) + (uint)as_ulong(x); }

FLOATS(global32, global, float, atomic_float, bits32, memory_scope_device)
FLOATS(global64, global, double, atomic_double, bits64, memory_scope_device)
FLOATS(local32, local, float, atomic_float, bits32, memory_scope_work_group)
FLOATS(local64, local, double, atomic_double, bits64, memory_scope_work_group)

static void finish(global atomic_uint *total, private const uint *mine) {
#pragma nounroll
    for (uint op = 0; op < OPERATIONS; op++)
        __opencl_atomic_fetch_add(&total[op], mine[op], memory_order_relaxed, memory_scope_device);
}

// Each operation has a cell for each group, and one for all.
kernel void atomics_float_global(global const float *restrict v, global const double *restrict w,
                                 global atomic_float *cells32, global atomic_double *cells64,
                                 global atomic_uint *total32, global atomic_uint *total64) {
    const uint i = get_global_id(0), group = get_group_id(0), all = get_num_groups(0), stride = all + 1;
    uint mine32[OPERATIONS] = {0}, mine64[OPERATIONS] = {0};
#pragma nounroll
    for (uint k = 0; k < 2; k++) {
        global32(cells32 + (k ? all : group), stride, v[i], (float)w[i], mine32);
        global64(cells64 + (k ? all : group), stride, v[i], w[i], mine64);
    }
    finish(total32, mine32);
    finish(total64, mine64);
}

// The same in LDS. All groups start with the cells of `first`; those of group g end up in `last` from g * OPERATIONS on.
kernel void atomics_float_local(global const float *restrict v, global const double *restrict w,
                                global const float *restrict first32, global const double *restrict first64,
                                global float *restrict last32, global double *restrict last64,
                                global atomic_uint *total32, global atomic_uint *total64) {
    local atomic_float cells32[OPERATIONS];
    local atomic_double cells64[OPERATIONS];
    const uint i = get_global_id(0), l = get_local_id(0), group = get_group_id(0);
    if (l < OPERATIONS) {
        __opencl_atomic_init(&cells32[l], first32[l]);
        __opencl_atomic_init(&cells64[l], first64[l]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint mine32[OPERATIONS] = {0}, mine64[OPERATIONS] = {0};
    local32(cells32, 1, v[i], (float)w[i], mine32);
    local64(cells64, 1, v[i], w[i], mine64);
    finish(total32, mine32);
    finish(total64, mine64);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < OPERATIONS) {
        last32[group * OPERATIONS + l] =
            __opencl_atomic_load(&cells32[l], memory_order_relaxed, memory_scope_work_group);
        last64[group * OPERATIONS + l] =
            __opencl_atomic_load(&cells64[l], memory_order_relaxed, memory_scope_work_group);
    }
}
