#version 450
// Atomic counters, which are in the global data share.
layout(local_size_x = 64) in;
layout(binding = 0, offset = 0) uniform atomic_uint up;
layout(binding = 0, offset = 4) uniform atomic_uint down;
layout(std430, binding = 0) writeonly buffer Out { uint result[]; };
void main() {
    uint place = atomicCounterIncrement(up);
    if ((place & 3u) == 0u)
        atomicCounterDecrement(down);
    result[place] = gl_GlobalInvocationID.x + atomicCounter(down);
}
