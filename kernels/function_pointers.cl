// Calls through pointers that differ from lane to lane: a wave goes once through each function that some lane wants.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

typedef uint (*Step)(uint x, uint y);

static uint spread(uint x, uint y) { return x * 0x9e3779b1u + y; }

// Counts the steps of Euclid's algorithm, so lanes of one call differ in how long they take.
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

// Has an array of its own, in scratch.
static uint shuffle_bits(uint x, uint y) {
    uchar nibble[8];
    for (uint j = 0; j < 8; j++)
        nibble[(j + y) % 8] = x >> (4 * j) & 15;
    uint sum = 0;
    for (uint j = 0; j < 8; j++)
        sum = sum << 4 | nibble[nibble[j] % 8];
    return sum;
}

constant const Step STEPS[4] = {spread, measure, turn, shuffle_bits};

// Each item goes through its own sequence of functions: two bits of `order` for each.
kernel void function_pointers(global const uint *restrict order, global uint *restrict y, uint n, uint rounds) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    uint x = y[i];
    for (uint r = 0; r < rounds; r++) {
        const Step step = STEPS[order[i] >> (2 * (r % 16)) & 3];
        x = step(x, i + r);
    }
    y[i] = x;
}

// One function for the whole launch, chosen by an argument: the pointer is the same in all lanes.
kernel void function_pointers_uniform(global uint *restrict y, uint n, uint which) {
    const uint i = get_global_id(0);
    if (i < n)
        y[i] = STEPS[which & 3](y[i], i);
}
