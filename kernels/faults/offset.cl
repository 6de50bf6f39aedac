// Global ids as libclc has them, which takes their offset from where code objects up to version 4 have it: compiled for
// version 6 they begin at a wrong number (offset.co, offset_O0.co), for version 4 at 0 in X and Z (offset_v4.co, offset_v4_O0.co).

kernel void offset_x(global uint *a, uint n) {
    uint i = get_global_id(0);
    if (i < n)
        a[i] = i;
}

kernel void offset_y(global uint *a, uint n) {
    uint i = get_global_id(1);
    if (i < n)
        a[i] = i;
}

kernel void offset_z(global uint *a, uint n) {
    uint i = get_global_id(2);
    if (i < n)
        a[i] = i;
}

kernel void offset_plane(global uint *a, uint width) { a[get_global_id(1) * width + get_global_id(0)] = get_local_id(0); }

kernel void offset_loop(global uint *a, uint n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        a[i] += 1;
}

kernel void offset_compared(global uint *a) {
    if (get_global_id(0) == 0)
        a[0] = 1;
}

static uint __attribute__((noinline)) called(void) { return get_global_id(0); }

kernel void offset_called(global uint *a) { a[called() % 64] = 1; }

// What takes no global ids, although it looks at sizes in the same places.
kernel void offset_none(global uint *a, uint n) {
    uint i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    if (i < n)
        a[i] = get_num_groups(1) * i + get_global_size(0);
}
