// A grid whose workgroups wait for one another between steps, as cooperative launches allow.
#include "device.h"

extern "C" {
__device__ int __ockl_grid_is_valid(void) __attribute__((const));
__device__ void __ockl_grid_sync(void) __attribute__((convergent));
}

// Which pointer of the implicit arguments is `hidden_multigrid_sync_arg`: 11 from code object version 5 on, 6 before.
#ifndef GRID_SYNC_SLOT
#define GRID_SYNC_SLOT 11
#endif

// The structure there, as the runtime fills it.
struct GridSync {
    ulong grids;
    uint grid, grid_count;
    ulong items_before, items;
    uint arrived, unused;
    uint workgroups;
};

// By ROCm's device library, which is what `cooperative_groups::this_grid().sync()` calls. Debian's takes the barrier of
// global wave sync on all targets of these kernels.
struct Library {
    static __device__ inline void sync() { __ockl_grid_sync(); }
};

// By the structure, which newer device libraries use on gfx942 and gfx950. Here, `arrived` only grows.
struct Memory {
    static __device__ inline void sync() {
        auto *s = ((__attribute__((address_space(1))) GridSync *const *)__builtin_amdgcn_implicitarg_ptr())[GRID_SYNC_SLOT];
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        __builtin_amdgcn_s_barrier();
        if (__builtin_amdgcn_workitem_id_x() == 0) {
            uint workgroups = s->workgroups;
            uint before = __hip_atomic_fetch_add(&s->arrived, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
            uint all = (before / workgroups + 1) * workgroups;
            while (__hip_atomic_load(&s->arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < all)
                __builtin_amdgcn_s_sleep(1);
        }
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    }
};

// Each step replaces every number by one that depends on a number of another workgroup, n / 2 elements away. `now` and
// `next` change roles after each step. A work-item has one number; n is even.
template <class Grid> static __device__ inline void steps_of(uint *now, uint *next, uint n, uint steps) {
    uint at = __ockl_get_global_id(0), other = at < n / 2 ? at + n / 2 : at - n / 2;
    for (uint step = 0; step < steps; ++step) {
        next[at] = 3 * now[other] + at + step;
        Grid::sync();
        uint *swap = now;
        now = next;
        next = swap;
    }
}

extern "C" __global__ void hip_grid_steps(uint *now, uint *next, uint n, uint steps) { steps_of<Library>(now, next, n, steps); }

extern "C" __global__ void hip_grid_steps_in_memory(uint *now, uint *next, uint n, uint steps) {
    steps_of<Memory>(now, next, n, steps);
}

// What `cooperative_groups::this_grid().is_valid()` returns, for each workgroup.
extern "C" __global__ void hip_grid_is_valid(uint *valid) {
    valid[__builtin_amdgcn_workgroup_id_x()] = __ockl_grid_is_valid();
}
