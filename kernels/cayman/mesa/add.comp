#version 450
// The sum of two arrays, with a bound.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
layout(location = 0) uniform uint n;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
