// One step of n bodies under the gravity of the first `heavy` of them: position (x, y, z) and mass (w). Tiles of heavy
// bodies pass through LDS.
#define GROUP 256

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
nbody(global const float4 *restrict body, global float4 *restrict velocity, global float4 *restrict moved, uint n,
      uint heavy, float dt, float softening2) {
    local float4 tile[GROUP];
    const uint i = get_global_id(0), l = get_local_id(0);
    const float4 me = i < n ? body[i] : (float4)(0.0f);

    float3 pull = (float3)(0.0f);
    for (uint first = 0; first < heavy; first += GROUP) {
        tile[l] = first + l < heavy ? body[first + l] : (float4)(0.0f);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
        for (uint j = 0; j < GROUP; j++) {
            const float4 other = tile[j];
            const float3 d = other.xyz - me.xyz;
            const float inverse = rsqrt(fma(d.x, d.x, fma(d.y, d.y, fma(d.z, d.z, softening2))));
            const float strength = other.w * inverse * inverse * inverse;
            pull = fma((float3)(strength), d, pull);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    if (i < n) {
        const float3 v = fma((float3)(dt), pull, velocity[i].xyz);
        velocity[i] = (float4)(v, 0.0f);
        moved[i] = (float4)(fma((float3)(dt), v, me.xyz), me.w);
    }
}
