#version 450
// Operations on integers and bits.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uvec4 a[]; };
layout(std430, binding = 1) writeonly buffer B { uvec4 b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 v = a[i];
    ivec4 s = ivec4(v);
    uint high, low, carry, borrow;
    umulExtended(v.x, v.y, high, low);
    uint sum = uaddCarry(v.z, v.w, carry), rest = usubBorrow(v.x, v.z, borrow);
    uvec4 r;
    r.x = high ^ low + carry + borrow + v.x / (v.y | 1u) + v.z % (v.w | 1u);
    r.y = bitfieldExtract(v.x, 3, 9) + bitfieldReverse(v.y) + uint(bitCount(v.z)) + uint(findMSB(v.w));
    r.z = uint(bitfieldExtract(s.x, 5, 7) + findLSB(s.y) + findMSB(s.z) + s.w / (s.x | 1)) + (v.x << (v.y & 31u));
    r.w = bitfieldInsert(v.x, v.y, 4, 12) + uint(s.x >> (v.z & 31u)) + uint(max(s.x, s.y) - min(s.z, s.w)) + sum + rest;
    b[i] = r;
}
