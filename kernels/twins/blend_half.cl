// Halves are for storage only in OpenCL 1.2. Rounding a sum or product of halves to single precision first does not change
// the half that it becomes, because single precision has more than twice the bits of a half.

static float4 rounded(float4 x) {
    ushort4 cells;
    vstore_half4_rte(x, 0, (half *)&cells);
    return vload_half4(0, (half *)&cells);
}

kernel void blend_half(global const half *restrict front, global const half *restrict back,
                       global const half *restrict mask, global half *restrict out, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float4 m = vload_half4(i, mask);
    const float4 shown = rounded(vload_half4(i, front) * m), behind = rounded(vload_half4(i, back) * rounded(1.0f - m));
    vstore_half4_rte(shown + behind, i, out);
}

kernel void blend_half_storage(global const half *restrict front, global const half *restrict back,
                               global const half *restrict mask, global half *restrict out, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float4 m = vload_half4(i, mask);
    vstore_half4(vload_half4(i, front) * m + vload_half4(i, back) * (1.0f - m), i, out);
}
