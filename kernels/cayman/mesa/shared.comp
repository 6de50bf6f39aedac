#version 450
// A tree of sums in local memory, with barriers in a loop.
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer B { float b[]; };
shared float part[128];
void main() {
    uint l = gl_LocalInvocationID.x;
    part[l] = a[gl_GlobalInvocationID.x];
    barrier();
    for (uint half_size = 64u; half_size > 0u; half_size >>= 1) {
        if (l < half_size)
            part[l] += part[l + half_size];
        barrier();
    }
    if (l == 0u)
        b[gl_WorkGroupID.x] = part[0];
}
