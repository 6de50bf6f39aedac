// Faults in compiled code with debug info: calls that are inlined, private memory, a stack that overflows. Nobody touches
// the buffers `before` and `after`.

static void put(global int *out, int at, int value) { out[at] = value; }

static inline __attribute__((always_inline)) void scale(global int *out, int at, int factor) {
    put(out, at, out[at] * factor);
}

// One item of each group accesses what lies 64 elements beyond its own.
kernel void one_lane(global uchar *before, global int *out, int lane, global uchar *after) {
    int id = get_local_id(0);
    scale(out, id == lane ? id + 64 : id, 3);
}

// An element of private memory that may lie outside, in one lane or (a negative one) in all.
kernel void private_index(global uchar *before, global int *out, int at, int lane, global uchar *after) {
    int id = get_local_id(0);
    volatile int own[16];
    for (int i = 0; i < 16; i++) {
        own[i] = i;
    }
    own[lane < 0 || lane == id ? at : 5] = 7;
    out[id] = own[3];
}

// OpenCL C has no recursion, and Clang sizes the stack as if there were none.
__attribute__((noinline)) static int deeper(volatile int *above, int depth) {
    volatile int own[64];
    own[depth & 63] = above[0] + depth;
    return depth == 0 ? own[0] : deeper(own, depth - 1) + own[1];
}

kernel void recursion(global uchar *before, global int *out, int depth, global uchar *after) {
    volatile int first[1] = {1};
    out[get_local_id(0)] = deeper((volatile int *)first, depth);
}

// A flag that nobody sets.
kernel void wait_for_flag(global uchar *before, global volatile int *flag, global uchar *after) {
    while (*flag == 0) {
    }
}
