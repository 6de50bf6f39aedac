// Counting in a ring, which has no function in OpenCL, by compare and exchange.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#define RING(SPACE, T, cmpxchg)                                                                                        \
    static __attribute__((overloadable)) void ring_up(volatile SPACE T *cell, T last) {                                \
        for (T old = *cell, seen;; old = seen)                                                                         \
            if ((seen = cmpxchg(cell, old, old >= last ? 0 : old + 1)) == old)                                         \
                return;                                                                                                \
    }                                                                                                                  \
    static __attribute__((overloadable)) void ring_down(volatile SPACE T *cell, T last) {                              \
        for (T old = *cell, seen;; old = seen)                                                                         \
            if ((seen = cmpxchg(cell, old, old == 0 || old > last ? last : old - 1)) == old)                           \
                return;                                                                                                \
    }
RING(global, uint, atomic_cmpxchg)
RING(local, uint, atomic_cmpxchg)
RING(global, ulong, atom_cmpxchg)
RING(local, ulong, atom_cmpxchg)

#define __builtin_amdgcn_atomic_inc32(cell, last, order, scope) ring_up(cell, last)
#define __builtin_amdgcn_atomic_dec32(cell, last, order, scope) ring_down(cell, last)
#define __builtin_amdgcn_atomic_inc64(cell, last, order, scope) ring_up(cell, last)
#define __builtin_amdgcn_atomic_dec64(cell, last, order, scope) ring_down(cell, last)
#include "atomics_classic.cl"
