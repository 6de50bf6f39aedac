// Private arrays indexed at run time, which the compiler must place in scratch memory.
#define WINDOW 96

// The sorted copy of each item's own WINDOW values, by insertion; item i owns the values from WINDOW * i on.
kernel void scratch_sort(global const uint *restrict x, global uint *restrict y, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    uint sorted[WINDOW];
#pragma nounroll
    for (uint j = 0; j < WINDOW; j++) {
        const uint value = x[i * WINDOW + j];
        uint at = j;
    #pragma nounroll
    for (; at > 0 && sorted[at - 1] > value; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = value;
    }
#pragma nounroll
    for (uint j = 0; j < WINDOW; j++)
        y[i * WINDOW + j] = sorted[j];
}

// Bytes, halves and wide values in scratch: a byte permutation is built, composed with itself, and read back as words.
kernel void scratch_bytes(global const uchar *restrict swaps, global uint *restrict y, uint n, uint count) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    union {
        uchar byte[256];
        ushort half_word[128];
        uint word[64];
        ulong2 wide[16];
    } table;
#pragma nounroll
    for (uint j = 0; j < 256; j++)
        table.byte[j] = j;
#pragma nounroll
    for (uint j = 0; j < count; j++) {
        const uint p = swaps[(i + j) % n], q = (p + 1 + j) % 256;
        const uchar t = table.byte[p];
        table.byte[p] = table.byte[q];
        table.byte[q] = t;
    }
    uint sum = 0;
#pragma nounroll
    for (uint j = 0; j < 256; j++)
        sum = 31 * sum + table.byte[table.byte[j]];
#pragma nounroll
    for (uint j = 0; j < 16; j++)
        sum ^= (uint)table.wide[(j + i) % 16].y + table.half_word[(sum + j) % 128] + table.word[sum % 64];
    y[i] = sum;
}
