// assert: the item whose value is too large says so and stops the program.
#include "device.h"

extern "C" __global__ void hip_assert(const uint *values, uint n, uint limit) {
    uint i = (uint)__ockl_get_global_id(0);
    if (i < n)
        assert(values[i] < limit);
}
