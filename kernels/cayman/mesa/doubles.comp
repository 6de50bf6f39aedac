#version 450
// Double precision: sums, products, quotients, roots, comparisons and conversions.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uvec2 a[]; };
layout(std430, binding = 1) writeonly buffer B { uvec2 b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    double x = packDouble2x32(a[2 * i]), y = packDouble2x32(a[2 * i + 1]);
    double sum = x + y, product = x * y, fused = fma(x, y, sum);
    double least = min(x, abs(y)), whole = floor(x), rest = fract(y), root = sqrt(abs(x));
    double z = x < y ? sum : x >= 2.0lf * y ? product : fused;
    z += root / (1.0lf + abs(least)) + double(float(rest)) + whole;
    b[i] = unpackDouble2x32(z + double(int(i)));
}
