// Conway's Game of Life on a torus: one generation. Opposite edges are neighbours.
#define SIDE 16
#define TILE (SIDE + 2)

// Cells are bytes, 0 or 1; a group loads its tile and the ring around it into LDS.
kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
life(global const uchar *restrict now, global uchar *restrict next, uint width, uint height) {
    local uchar tile[TILE][TILE];
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint x0 = get_group_id(0) * SIDE, y0 = get_group_id(1) * SIDE;
    for (uint i = ly * SIDE + lx; i < TILE * TILE; i += SIDE * SIDE) {
        const uint tx = i % TILE, ty = i / TILE;
        const uint x = (x0 + tx + width - 1) % width, y = (y0 + ty + height - 1) % height;
        tile[ty][tx] = now[y * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint x = x0 + lx, y = y0 + ly;
    if (x >= width || y >= height)
        return;
    uint neighbours = 0;
    for (uint dy = 0; dy < 3; dy++)
        for (uint dx = 0; dx < 3; dx++)
            neighbours += tile[ly + dy][lx + dx];
    const uchar alive = tile[ly + 1][lx + 1];
    neighbours -= alive;
    next[y * width + x] = neighbours == 3 || (neighbours == 2 && alive);
}

// Sum and carry of three bits, 32 times.
static uint2 add3(uint a, uint b, uint c) { return (uint2)(a ^ b ^ c, (a & b) | (c & (a ^ b))); }

// The cells to the left, here and to the right of the 32 cells of a word; the word's bit 0 is its leftmost cell.
static uint3 around(global const uint *row, uint words, uint x) {
    const uint left = row[x == 0 ? words - 1 : x - 1], here = row[x], right = row[x == words - 1 ? 0 : x + 1];
    return (uint3)(here << 1 | left >> 31, here, here >> 1 | right << 31);
}

// Cells are bits, 32 to a word, `words` words to a row; neighbours are counted by adders made of bit operations.
kernel void life_bits(global const uint *restrict now, global uint *restrict next, uint words, uint height) {
    const uint x = get_global_id(0), y = get_global_id(1);
    if (x >= words || y >= height)
        return;
    const uint3 above = around(now + words * (y == 0 ? height - 1 : y - 1), words, x);
    const uint3 here = around(now + words * y, words, x);
    const uint3 below = around(now + words * (y == height - 1 ? 0 : y + 1), words, x);

    // Neighbours = ones + 2 * (how many of four bits are set): three carries, and that of adding up the sums.
    const uint2 a = add3(above.x, above.y, above.z), b = add3(below.x, below.y, below.z), c = add3(here.x, here.z, 0);
    const uint2 ones = add3(a.x, b.x, c.x), twos = add3(a.y, b.y, c.y);
    // Two or three neighbours: exactly one of the four bits.
    const uint two_or_three = (twos.x ^ ones.y) & ~twos.y;
    next[words * y + x] = two_or_three & (ones.x | here.y);
}
