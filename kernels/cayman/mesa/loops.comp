#version 450
// Nested loops with continue and break under conditions, and a side effect before a break.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, x = a[i], sum = 0u;
    for (uint j = 0u; j < 32u; j++) {
        if ((x >> j & 1u) == 0u)
            continue;
        for (uint k = j;; k++) {
            if (k % 3u == x % 3u) {
                if (k > 20u)
                    continue;
                sum += k;
            } else if (k > j + 9u) {
                b[i] = sum;
                break;
            }
            if (sum > 1000u)
                break;
            sum ^= k << 3;
            if (k > 40u)
                return;
        }
        if (sum == 77u)
            break;
    }
    b[i] += sum;
}
