// Every atomic operation on 32-bit integers in LDS; atomics.h says which, and what comes out.
#define SPACE local
#define UNSIGNED uint
#define SIGNED int
#define SHIFT 2
#include "atomics.h"

// A group of two waves, whose cells are those of 14 operations.
#define ITEMS 128
#define CELLS (14 * (ITEMS + 2 + 1 + 2))

// All groups start with the cells of `first`; those of group g end up in `last` from g * CELLS on.
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
atomics_local32(global const uint *restrict v, global const uint *restrict first, global uint *restrict last,
                global uint *total) {
    local uint cells[CELLS];
    const uint l = get_local_id(0);
    for (uint c = l; c < CELLS; c += ITEMS)
        cells[c] = first[c];
    barrier(CLK_LOCAL_MEM_FENCE);
    run(cells, total, v[get_global_id(0)], l, ITEMS, 0, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = l; c < CELLS; c += ITEMS)
        last[get_group_id(0) * CELLS + c] = cells[c];
}
