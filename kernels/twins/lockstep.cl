// With barriers for what the original leaves to the lanes of a wave, which move together.
#define lockstep_scan without_barriers
#include "lockstep.cl"
#undef lockstep_scan

kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void lockstep_scan(global const uint *restrict x,
                                                                              global uint *restrict y) {
    local uint cell[LANES];
    const uint l = get_local_id(0), i = get_global_id(0);
    cell[l] = x[i];
    for (uint distance = 1; distance < LANES; distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint before = l >= distance ? cell[l - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        cell[l] += before;
    }
    y[i] = cell[l];
}
