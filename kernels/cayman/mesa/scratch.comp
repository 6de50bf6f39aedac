#version 450
// A private array that is too large for registers.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer B { uint b[]; };
layout(location = 0) uniform int steps;
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint own[200];
    for (int j = 0; j < steps; j++)
        own[uint(j) % 200u] = a[i + j] ^ uint(j);
    uint at = i % 200u, sum = 0u;
    for (int j = 0; j < steps; j++) {
        uint next = own[at];
        own[at] = next * 1664525u + sum;
        sum += next;
        at = next % 200u;
    }
    b[i] = sum + own[(i * 7u) % 200u];
}
