// Arguments that the hardware puts into SGPRs before the kernel starts (gfx90a and later; see build.sh), followed by
// one that is too far behind to be among them.
typedef struct {
    uint words[16];
} block;

kernel void preload(global uint *restrict y, global const uint *restrict x, uint n, uint a, ulong b, block far) {
    const uint i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + (uint)(b >> 32) + far.words[i % 16];
}
