// Bitonic sorting of 32-bit keys: tiles of 1024 in LDS, and the steps that reach further in global memory. A whole sort of
// 2^k keys is one launch of the first kernel, then for size = 2048, 4096, ... 2^k: steps with distance = size / 2 ... 1.
#define KEYS 1024
#define ITEMS 256

// Whether the run of `size` keys that key i belongs to goes up; every other one goes down.
static bool goes_up(uint i, uint size) { return (i & size) == 0; }

// The first key of pair p: p with a zero put in where the bit of `distance` is.
static uint first_of(uint p, uint distance) { return 2 * p - (p & (distance - 1)); }

// Sorts tiles, up and down in turn. A tile that is not full is filled up with keys that sort behind all others; groups
// that are left over find no tile.
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void bitonic_sort_local(global uint *keys, uint n) {
    local uint tile[KEYS];
    const uint l = get_local_id(0), start = get_group_id(0) * KEYS;
    if (start >= n)
        return;
    const uint filling = goes_up(start, KEYS) ? 0xffffffff : 0;
    for (uint i = l; i < KEYS; i += ITEMS)
        tile[i] = start + i < n ? keys[start + i] : filling;

#pragma nounroll
    for (uint size = 2; size <= KEYS; size *= 2)
#pragma nounroll
        for (uint distance = size / 2; distance > 0; distance /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint p = l; p < KEYS / 2; p += ITEMS) {
                const uint i = first_of(p, distance);
                const uint a = tile[i], b = tile[i + distance];
                if ((a > b) == goes_up(start + i, size)) {
                    tile[i] = b;
                    tile[i + distance] = a;
                }
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint i = l; i < KEYS; i += ITEMS)
        if (start + i < n)
            keys[start + i] = tile[i];
}

// One step in global memory, one pair per work-item.
kernel void bitonic_sort_step(global uint *keys, uint n, uint size, uint distance) {
    const uint i = first_of(get_global_id(0), distance);
    if (i + distance >= n)
        return;
    const uint a = keys[i], b = keys[i + distance];
    const bool up = goes_up(i, size);
    keys[i] = up ? min(a, b) : max(a, b);
    keys[i + distance] = up ? max(a, b) : min(a, b);
}
