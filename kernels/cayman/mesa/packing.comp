#version 450
// Conversions between formats of numbers, and elementary functions.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { vec4 a[]; };
layout(std430, binding = 1) writeonly buffer B { uvec4 b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 v = a[i];
    vec2 h = unpackHalf2x16(floatBitsToUint(v.x)) + unpackSnorm2x16(floatBitsToUint(v.y));
    vec4 e = vec4(sin(v.x), cos(v.y), exp2(v.z), log2(abs(v.w)));
    e += vec4(inversesqrt(abs(v.x)), sqrt(abs(v.y)), 1.0 / v.z, pow(abs(v.w), v.x));
    e.xy += roundEven(v.zw) + trunc(v.xy) + ceil(h);
    b[i] = uvec4(packHalf2x16(h), packUnorm4x8(v), packSnorm2x16(e.xy), floatBitsToUint(dot(e, v))) + uvec4(ivec4(e)) + uvec4(e);
}
