#include "opencl12.h"
#define __builtin_amdgcn_fence(order, scope) mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define atomics_fence with_waves
#include "atomics_flag.cl"
#undef atomics_fence

// With barriers for what the original leaves to the lanes of a wave, which move together.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
atomics_fence(global const uint *restrict x, global uint *data, global uint *sums, global atomic_uint *arrived,
              global uint *total) {
    local uint own[GROUP];
    local atomic_uint here;
    const uint i = get_global_id(0), l = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
    if (l == 0)
        atomic_store_explicit(&here, 0u, memory_order_relaxed, memory_scope_work_group);
    for (uint round = 0; round < 2; round++) {
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        data[i] = 2 * x[i] + round;
        own[l] = data[i] ^ round;
        barrier(CLK_LOCAL_MEM_FENCE);
        data[i] += own[l ^ 1];
        mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (atomic_add(&here, 1u) == GROUP - 1) {
            uint sum = 0;
            for (uint j = 0; j < GROUP; j++)
                sum += (j + 1) * data[group * GROUP + j];
            sums[round * groups + group] = sum;
            atomic_xchg(&here, 0u);
            mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (atomic_add(&arrived[round], 1u) == groups - 1) {
                uint all = 0;
                for (uint g = 0; g < groups; g++)
                    all += sums[round * groups + g];
                total[round] = all;
            }
        }
    }
}
