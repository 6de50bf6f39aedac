// OpenCL has no pointers to functions: a `switch` chooses.

static uint spread(uint x, uint y) { return x * 0x9e3779b1u + y; }

static uint measure(uint x, uint y) {
    uint steps = 0;
    while (y != 0) {
        const uint rest = x % y;
        x = y;
        y = rest;
        steps++;
    }
    return x ^ steps << 16;
}

static uint turn(uint x, uint y) { return rotate(x, y) ^ y >> 3; }

static uint shuffle_bits(uint x, uint y) {
    uchar nibble[8];
    for (uint j = 0; j < 8; j++)
        nibble[(j + y) % 8] = x >> (4 * j) & 15;
    uint sum = 0;
    for (uint j = 0; j < 8; j++)
        sum = sum << 4 | nibble[nibble[j] % 8];
    return sum;
}

static uint step(uint which, uint x, uint y) {
    switch (which & 3) {
    case 0: return spread(x, y);
    case 1: return measure(x, y);
    case 2: return turn(x, y);
    default: return shuffle_bits(x, y);
    }
}

kernel void function_pointers(global const uint *restrict order, global uint *restrict y, uint n, uint rounds) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    uint x = y[i];
    for (uint r = 0; r < rounds; r++)
        x = step(order[i] >> (2 * (r % 16)), x, i + r);
    y[i] = x;
}

kernel void function_pointers_uniform(global uint *restrict y, uint n, uint which) {
    const uint i = get_global_id(0);
    if (i < n)
        y[i] = step(which, y[i], i);
}
