#version 450
// Texels without filters, of textures of each kind, and their sizes.
layout(location = 2) flat in ivec4 whole;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform sampler2DArray layers;
layout(binding = 1) uniform isamplerBuffer list;
layout(binding = 2) uniform sampler2DMS samples;
layout(binding = 3) uniform sampler1D line;
layout(binding = 4) uniform usampler3D volume;
void main() {
    vec4 sum = texelFetch(layers, whole.xyz, whole.w) + vec4(texelFetch(list, whole.x)) + texelFetch(samples, whole.xy, 3);
    sum += texelFetchOffset(line, whole.z, 1, 4) + vec4(texelFetch(volume, whole.zyx, 0));
    sum.xyz += vec3(textureSize(layers, 0)) + float(textureSize(list)) + float(textureQueryLevels(line));
    colour = sum;
}
