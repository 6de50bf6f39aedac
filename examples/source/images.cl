// Draws a picture and blurs one, with image2d_t and sampler_t: examples/scene.toml and examples/blur.toml.

// A disc of texels around each texel, weighted by a Gaussian. The sampler blends neighbours.
kernel void blur(read_only image2d_t from, sampler_t smooth, write_only image2d_t to, float radius) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    int2 size = get_image_dim(from);
    if (at.x >= size.x || at.y >= size.y)
        return;
    float2 centre = (convert_float2(at) + 0.5f) / convert_float2(size);
    float4 sum = (float4)(0.0f);
    float weights = 0.0f;
    int reach = (int)ceil(radius);
    for (int y = -reach; y <= reach; y++) {
        for (int x = -reach; x <= reach; x++) {
            float2 step = (float2)(x, y);
            float weight = native_exp(-2.0f * dot(step, step) / (radius * radius));
            sum += weight * read_imagef(from, smooth, centre + step / convert_float2(size));
            weights += weight;
        }
    }
    write_imagef(to, at, sum / weights);
}

// The mean of a square of texels around each texel, without a sampler: coordinates must stay inside.
kernel void mean(read_only image2d_t from, write_only image2d_t to, int reach) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    int2 size = get_image_dim(from);
    if (at.x >= size.x || at.y >= size.y)
        return;
    float4 sum = (float4)(0.0f);
    for (int y = -reach; y <= reach; y++) {
        for (int x = -reach; x <= reach; x++)
            sum += read_imagef(from, clamp(at + (int2)(x, y), (int2)(0), size - 1));
    }
    float side = 2 * reach + 1;
    write_imagef(to, at, sum / (side * side));
}

float hash(float2 p) {
    float n = sin(dot(p, (float2)(12.9898f, 78.233f))) * 43758.547f;
    return n - floor(n);
}

// Hills that fade into the haze, a sun, and grain.
kernel void scene(write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    int2 size = get_image_dim(to);
    if (at.x >= size.x || at.y >= size.y)
        return;
    float2 p = (convert_float2(at) + 0.5f) / (float)size.y;
    float3 colour = mix((float3)(0.98f, 0.75f, 0.50f), (float3)(0.25f, 0.45f, 0.78f), smoothstep(0.75f, 0.0f, p.y));
    float sun = length(p - (float2)(0.95f, 0.34f));
    colour += (float3)(1.0f, 0.8f, 0.5f) * (native_exp(-30.0f * sun * sun) * 0.5f + (sun < 0.06f ? 0.6f : 0.0f));
    for (int hill = 0; hill < 5; hill++) {
        float n = hill;
        float x = p.x * (1.3f + 0.7f * n) + 4.1f * n;
        float line = 0.50f + 0.09f * n + 0.07f * sin(2.0f * x) + 0.035f * sin(5.3f * x + n) + 0.012f * sin(17.0f * x);
        // Trees on the two nearest ones.
        if (hill > 2)
            line -= 0.05f * max(0.0f, 1.0f - fabs(fmod(x * 9.0f, 2.0f) - 1.0f) * 2.4f) * hash((float2)(floor(x * 4.5f), n));
        if (p.y > line) {
            float3 near_colour = (float3)(0.05f, 0.13f, 0.09f) + 0.04f * hash(floor(p * 300.0f));
            colour = mix((float3)(0.62f, 0.56f, 0.58f), near_colour, n / 4.0f);
        }
    }
    colour += 0.025f * (hash(convert_float2(at)) - 0.5f);
    write_imagef(to, at, (float4)(clamp(colour, 0.0f, 1.0f), 1.0f));
}
