// malloc and free on the device.
#include "device.h"

struct Node {
    Node *next;
    uint value;
};

// Each item makes a list of the numbers below its own, adds them up from there, and frees it.
extern "C" __global__ void hip_malloc_list(uint *sums, uint n) {
    uint i = (uint)__ockl_get_global_id(0);
    if (i >= n)
        return;
    Node *first = nullptr;
    for (uint k = 0; k < i % 32; ++k) {
        Node *node = (Node *)malloc(sizeof(Node));
        if (!node) {
            sums[i] = 0xffffffff;
            return;
        }
        node->next = first;
        node->value = k;
        first = node;
    }
    uint sum = 0;
    while (first) {
        Node *next = first->next;
        sum += first->value;
        free(first);
        first = next;
    }
    sums[i] = sum;
}

// Each item allocates `bytes` and leaves its number there; the pointers stay valid for the next launch.
extern "C" __global__ void hip_malloc_keep(uint **blocks, ulong bytes, uint n) {
    uint i = (uint)__ockl_get_global_id(0);
    if (i >= n)
        return;
    uint *block = (uint *)malloc(bytes);
    if (block) {
        block[0] = i;
        block[bytes / 4 - 1] = ~i;
    }
    blocks[i] = block;
}

// Reads what the launch before left, and frees it.
extern "C" __global__ void hip_malloc_free(uint **blocks, ulong bytes, uint *found, uint n) {
    uint i = (uint)__ockl_get_global_id(0);
    if (i >= n)
        return;
    uint *block = blocks[i];
    found[i] = block && block[bytes / 4 - 1] == ~block[0] ? block[0] : 0xffffffff;
    free(block);
}
