// Where several patterns occur in a text, byte by byte. Occurrences may overlap.
#define PATTERNS 16

static bool occurs(global const uchar *text, constant const uchar *pattern, uint length) {
    uint j = 0;
    while (j < length && text[j] == pattern[j])
        j++;
    return j == length;
}

// Pattern p is the bytes from start[p] up to start[p + 1] of `letters`; there are at most PATTERNS. count[p] gets the number
// of its occurrences in n bytes of text and first[p] the least place of one; before the launch they are 0 and all ones.
kernel void string_search(global const uchar *restrict text, constant const uchar *restrict letters,
                          constant const uint *restrict start, global atomic_uint *count, global atomic_uint *first,
                          uint n, uint patterns) {
    local atomic_uint found[PATTERNS];
    for (uint p = get_local_id(0); p < PATTERNS; p += get_local_size(0))
        atomic_init(&found[p], 0u);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint at = get_global_id(0); at < n; at += get_global_size(0))
        for (uint p = 0; p < patterns; p++) {
            const uint length = start[p + 1] - start[p];
            if (length <= n - at && occurs(text + at, letters + start[p], length)) {
                atomic_fetch_add_explicit(&found[p], 1u, memory_order_relaxed, memory_scope_work_group);
                atomic_fetch_min_explicit(&first[p], at, memory_order_relaxed, memory_scope_device);
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint p = get_local_id(0); p < patterns; p += get_local_size(0)) {
        const uint here = atomic_load_explicit(&found[p], memory_order_relaxed, memory_scope_work_group);
        if (here != 0)
            atomic_fetch_add_explicit(&count[p], here, memory_order_relaxed, memory_scope_device);
    }
}
