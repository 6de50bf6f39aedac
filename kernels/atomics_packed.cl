// Atomic additions that not every target has: of two halves or two bfloats at once, through pointers into either memory,
// and of floats where OpenCL's own operation has to go without the instruction, as it flushes denormals. What is added is
// small and whole, so that every sum is exact and the order makes no difference.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#define GROUP 128
#define WAVE 64

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define HAS_GLOBAL_HALVES 1
#endif
#if defined(__gfx942__) || defined(__gfx950__)
#define HAS_ALL 1
#endif

typedef half __attribute__((ext_vector_type(2))) Halves;
// Two bfloats: the upper halves of floats.
typedef short __attribute__((ext_vector_type(2))) Bfloats;

static float2 of_bfloats(uint x) { return (float2)(as_float(x << 16), as_float(x & 0xffff0000)); }
static uint to_bfloats(float2 x) { return as_uint(x.x) >> 16 | (as_uint(x.y) & 0xffff0000); }

// Adds `v` to a cell and returns what was there before, by an instruction or without one.
#ifndef HAS_ALL
static uint sum_of_halves(uint a, uint b) { return as_uint(as_half2(a) + as_half2(b)); }
static uint sum_of_bfloats(uint a, uint b) { return to_bfloats(of_bfloats(a) + of_bfloats(b)); }
#endif

#define LOOP(name, SPACE, sum)                                                                                         \
    static uint name(SPACE uint *cell, uint v) {                                                                       \
        SPACE atomic_uint *atomic_cell = (SPACE atomic_uint *)cell;                                                    \
        uint before = __opencl_atomic_load(atomic_cell, memory_order_relaxed, memory_scope_device);                    \
        while (!__opencl_atomic_compare_exchange_weak(atomic_cell, &before, sum(before, v), memory_order_relaxed,      \
                                                      memory_order_relaxed, memory_scope_device))                      \
            ;                                                                                                          \
        return before;                                                                                                 \
    }
#define INSTRUCTION(name, SPACE, builtin, T)                                                                           \
    static uint name(SPACE uint *cell, uint v) {                                                                       \
        union {                                                                                                        \
            uint word;                                                                                                 \
            T pair;                                                                                                    \
        } before, added = {v};                                                                                         \
        before.pair = builtin((SPACE T *)cell, added.pair);                                                            \
        return before.word;                                                                                            \
    }

#ifdef HAS_GLOBAL_HALVES
INSTRUCTION(add_halves_global, global, __builtin_amdgcn_global_atomic_fadd_v2f16, Halves)
#else
LOOP(add_halves_global, global, sum_of_halves)
#endif
#ifdef HAS_ALL
INSTRUCTION(add_halves_local, local, __builtin_amdgcn_ds_atomic_fadd_v2f16, Halves)
INSTRUCTION(add_bfloats_global, global, __builtin_amdgcn_global_atomic_fadd_v2bf16, Bfloats)
INSTRUCTION(add_bfloats_local, local, __builtin_amdgcn_ds_atomic_fadd_v2bf16, Bfloats)
#else
LOOP(add_halves_local, local, sum_of_halves)
LOOP(add_bfloats_global, global, sum_of_bfloats)
LOOP(add_bfloats_local, local, sum_of_bfloats)
#endif

// The value before times the one added, so that every two items of a cell count once.
static uint halves_counted(uint before, uint v) {
    const half2 a = as_half2(before), b = as_half2(v);
    return (uint)a.x * (uint)b.x + 3 * (uint)a.y * (uint)b.y;
}
static uint bfloats_counted(uint before, uint v) {
    const float2 a = of_bfloats(before), b = of_bfloats(v);
    return (uint)a.x * (uint)b.x + 3 * (uint)a.y * (uint)b.y;
}

// Every item adds v[i] and 15 - v[i]: as halves to a cell of its group, as bfloats, both a quarter of that, to a cell of its
// wave; each in global memory and in LDS, from which the cells are written to `..._local` at the end.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
atomics_packed(global const uint *restrict v, global uint *halves, global uint *bfloats,
               global uint *restrict halves_local, global uint *restrict bfloats_local, global atomic_uint *total) {
    local uint cells[1 + GROUP / WAVE];
    const uint i = get_global_id(0), l = get_local_id(0), group = get_group_id(0);
    if (l <= GROUP / WAVE)
        cells[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint pair = as_uint((half2)((half)v[i], (half)(15 - v[i])));
    uint sum = halves_counted(add_halves_global(&halves[group], pair), pair);
    sum += 5 * halves_counted(add_halves_local(&cells[0], pair), pair);
    const uint quarter = to_bfloats((float2)(v[i] / 4, (15 - v[i]) / 4));
    sum += 7 * bfloats_counted(add_bfloats_global(&bfloats[i / WAVE], quarter), quarter);
    sum += 9 * bfloats_counted(add_bfloats_local(&cells[1 + l / WAVE], quarter), quarter);
    __opencl_atomic_fetch_add(total, sum, memory_order_relaxed, memory_scope_device);

    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0)
        halves_local[group] = cells[0];
    if (l % WAVE == 0)
        bfloats_local[i / WAVE] = cells[1 + l / WAVE];
}

// Lanes in turn add to a float and to a double in global memory, common to all, and to such of their group in LDS, all
// through generic pointers; and all of them to `native`, by the instruction where there is one.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
atomics_generic(global const uint *restrict v, global atomic_float *sum32, global atomic_double *sum64,
                global float *restrict local32, global double *restrict local64, global float *native) {
    local atomic_float group32;
    local atomic_double group64;
    const uint i = get_global_id(0), l = get_local_id(0), group = get_group_id(0);
    if (l == 0) {
        __opencl_atomic_init(&group32, 0.0f);
        __opencl_atomic_init(&group64, 0.0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    atomic_float *to32 = (v[i] + l) % 2 ? (atomic_float *)sum32 : (atomic_float *)&group32;
    atomic_double *to64 = (v[i] + l) % 3 ? (atomic_double *)sum64 : (atomic_double *)&group64;
    __opencl_atomic_fetch_add(to32, (float)v[i], memory_order_relaxed, memory_scope_device);
    __opencl_atomic_fetch_add(to64, (double)v[i], memory_order_acq_rel, memory_scope_device);
#ifdef HAS_GLOBAL_HALVES
    __builtin_amdgcn_global_atomic_fadd_f32(native, (float)v[i]);
#else
    __opencl_atomic_fetch_add((global atomic_float *)native, (float)v[i], memory_order_relaxed, memory_scope_device);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        local32[group] = __opencl_atomic_load(&group32, memory_order_relaxed, memory_scope_work_group);
        local64[group] = __opencl_atomic_load(&group64, memory_order_relaxed, memory_scope_work_group);
    }
}
