// Every atomic operation on 64-bit integers in global memory; atomics.h says which, and what comes out.
#define SPACE global
#define UNSIGNED ulong
#define SIGNED long
#define SHIFT 1
#include "atomics.h"

kernel void atomics_global64(global const ulong *restrict v, global ulong *cells, global ulong *total) {
    const uint i = get_global_id(0);
    run(cells, total, v[i], i, get_global_size(0), get_group_id(0), get_num_groups(0));
}
