// Every atomic operation on 32-bit integers in global memory; atomics.h says which, and what comes out.
#define SPACE global
#define UNSIGNED uint
#define SIGNED int
#define SHIFT 0
#include "atomics.h"

kernel void atomics_global32(global const uint *restrict v, global uint *cells, global uint *total) {
    const uint i = get_global_id(0);
    run(cells, total, v[i], i, get_global_size(0), get_group_id(0), get_num_groups(0));
}
