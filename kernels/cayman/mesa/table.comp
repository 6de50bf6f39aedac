#version 450
// A constant table with a computed index, uniform buffers, and a switch.
layout(local_size_x = 64) in;
layout(std140, binding = 0) uniform First { vec4 first[64]; };
layout(std140, binding = 1) uniform Second { vec4 second[32]; int which; };
layout(std430, binding = 0) writeonly buffer B { vec4 b[]; };
const float TABLE[8] = float[](0.5, 1.25, 3.0, -7.0, 0.1, 11.0, 2.5, 9.0);
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 v = first[i & 63u] * second[which & 31] + second[5] * TABLE[i & 7u];
    switch (int(i & 3u)) {
    case 0: v += first[3]; break;
    case 1: v = v.wzyx;
    case 2: v *= second[1]; break;
    default: v = max(v, first[17]);
    }
    b[i] = v;
}
