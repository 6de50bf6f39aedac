// Two pictures of half precision laid over each other: out = front * mask + back * (1 - mask), four channels for each item.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// Every operation rounds to half precision.
kernel void blend_half(global const half4 *restrict front, global const half4 *restrict back,
                       global const half4 *restrict mask, global half4 *restrict out, uint n) {
    const uint i = get_global_id(0);
    if (i < n)
        out[i] = front[i] * mask[i] + back[i] * (1.0h - mask[i]);
}

// Half precision is for storage only: single precision in between.
kernel void blend_half_storage(global const half *restrict front, global const half *restrict back,
                               global const half *restrict mask, global half *restrict out, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float4 m = vload_half4(i, mask);
    vstore_half4(vload_half4(i, front) * m + vload_half4(i, back) * (1.0f - m), i, out);
}
