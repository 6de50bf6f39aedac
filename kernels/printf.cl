// What kernels print: every conversion of OpenCL C with arguments of every width, vectors, and lines of many items, of
// which each also stores what it has printed.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#include "printf_alloc.h"

// The first item prints a line of each kind. Each item stores its number plus `a`.
kernel void printf_kinds(global int *stored, int a, ulong b, float f, double d) {
    int i = (int)get_global_id(0);
    stored[i] = i + a;
    if (i != 0)
        return;
    printf("plain text: 100%%, \"quoted\"\n");
    printf("%d %i %u %o %x %X\n", a, -a, -a, a, a, -a);
    printf("[%5d] [%-5d] [%05d] [%+d] [% d] [%#x] [%.4d]\n", a, a, a, a, a, a, a);
    printf("%hhd %hd %hhu %hu\n", a + 256, a + 65536, -a, -a);
    printf("%ld %lu %lx\n", (long)-b, -b, b);
    printf("%f %e %g %a\n", f, f, f, f);
    printf("%F %E %G %A\n", d, d, d, d);
    printf("[%10.3f] [%-10.2e] [%010.1f] [%+g]\n", f, f, f, d);
    printf("%c%c%c\n", a + 23, 'b', 'c');
    printf("%s, %s[%-6s] [%.2s]\n", "a text", "", "fours", "cut");
    printf("%v2d %v3d %v4d\n", (int2)(a, -a), (int3)(a, 2, 3), (int4)(a, 2, 3, 4));
    printf("%v4hlf %5.1v2hlf\n", (float4)(f, 0.5f, -1.0f, 8.0f), (float2)(f, -f));
    printf("%v2lg %v8hd %v16hhx\n", (double2)(d, -d), (short8)(a, 2, 3, 4, 5, 6, 7, -8), (uchar16)(a));
    printf("%v2hg\n", (half2)((half)f, (half)0.25f));
    printf("%f %f %f\n", INFINITY, -INFINITY, NAN);
    printf("%p\n", (global int *)0);
}

// Each item prints a line if its number is a multiple of `every`, and stores what was printed.
kernel void printf_items(global uint *printed, uint n, uint every) {
    uint i = (uint)get_global_id(0);
    if (i >= n)
        return;
    uint value = i * i;
    if (i % every == 0)
        printf("item %u: %u\n", i, value);
    printed[i] = i % every == 0 ? value : 0;
}

// Each item prints a line, then stores its number; the last item does so at the index `last`, wherever that is.
kernel void printf_then_store(global uint *stored, uint n, uint last) {
    uint i = (uint)get_global_id(0);
    if (i >= n)
        return;
    printf("item %u is about to store\n", i);
    stored[i == n - 1 ? last : i] = i;
}
