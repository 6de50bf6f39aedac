// printf of HIP: messages to the host while the kernel runs, or records in a buffer (compiled twice).
#include "device.h"

// One item prints a line of each kind, and stores what printf returned.
extern "C" __global__ void hip_printf_kinds(int a, long b, double d, const char *text, int *returned) {
    returned[0] = printf("plain text: 100%%\n");
    returned[1] = printf("%d %i %u %o %x %X\n", a, -a, -a, a, a, -a);
    returned[2] = printf("[%*d] [%-*d] [%.*f]\n", 6, a, 6, a, 2, d);
    returned[3] = printf("%ld %lld %lu %zx %hhd %hu\n", b, (long long)-b, -b, (ulong)b, a + 256, a + 65536);
    returned[4] = printf("%f %e %g %a\n", d, d, d, d);
    returned[5] = printf("%s and %s, %c\n", text, "a constant", 'x');
    returned[6] = printf(text);
    returned[7] = printf("%s%s %d %d %d %d %d %d %d %d %d\n", "", "ten arguments:", 1, 2, 3, 4, 5, 6, 7, 8, a);
}

// Each item of a wave prints a line, in branches of their own.
extern "C" __global__ void hip_printf_items(uint *printed, uint n) {
    uint i = (uint)__ockl_get_global_id(0);
    if (i >= n)
        return;
    int length = i % 2 ? printf("item %u is odd\n", i) : printf("item %u\n", i);
    printed[i] = (uint)length;
}
