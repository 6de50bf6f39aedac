#version 450
// Atomic operations on local memory whose results are used.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer B { uint b[]; };
shared uint cell[8];
shared int signed_cell[2];
void main() {
    uint l = gl_LocalInvocationID.x, v = a[gl_GlobalInvocationID.x];
    if (l < 8u)
        cell[l] = l;
    if (l < 2u)
        signed_cell[l] = 0;
    barrier();
    uint sum = atomicAdd(cell[0], v) + atomicMin(cell[1], v) + atomicMax(cell[2], v);
    sum ^= atomicAnd(cell[3], v) + atomicOr(cell[4], v) + atomicXor(cell[5], v);
    sum += atomicExchange(cell[6], v) + atomicCompSwap(cell[7], 7u, v);
    sum += uint(atomicMin(signed_cell[0], int(v)) + atomicMax(signed_cell[1], int(v)));
    barrier();
    b[gl_GlobalInvocationID.x] = sum + cell[l & 7u];
}
