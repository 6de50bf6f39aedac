#version 450
// Loads and stores of doubles.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { double a[]; };
layout(std430, binding = 1) writeonly buffer B { double b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    b[i] = a[i] + a[i + 1];
}
