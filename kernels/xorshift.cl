// Xorshift generators, `rounds` steps for each work-item: nothing but vector integer arithmetic.
kernel void xorshift(global uint *restrict state, uint n, uint rounds) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    uint x = state[i];
    for (uint r = 0; r < rounds; r++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    state[i] = x;
}

// The 64-bit generator with a multiplication on the way out (xorshift64*), its outputs summed.
kernel void xorshift64star(global ulong *restrict state, global ulong *restrict sum, uint n, uint rounds) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    ulong x = state[i], total = 0;
    for (uint r = 0; r < rounds; r++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        total += x * 0x2545f4914f6cdd1dul;
    }
    state[i] = x;
    sum[i] = total;
}
