#version 450
// Atomic operations on a buffer whose results are used.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Cells { uint cell[]; };
layout(std430, binding = 1) buffer Signed { int signed_cell[]; };
layout(std430, binding = 2) writeonly buffer Out { uint result[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, v = i * 2654435761u;
    uint sum = atomicAdd(cell[0], 1u);
    sum += 3u * atomicMin(cell[1], v) + 5u * atomicMax(cell[2], v);
    sum ^= atomicAnd(cell[3], v) + atomicOr(cell[4], v) + atomicXor(cell[5], v);
    sum += atomicExchange(cell[6], i) + atomicCompSwap(cell[7], i, v);
    sum += uint(atomicMin(signed_cell[0], int(v))) + uint(atomicMax(signed_cell[1], int(v)));
    result[i] = sum;
}
