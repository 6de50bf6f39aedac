#version 450
// Gathers of each channel, with offsets, and with a comparison.
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform sampler2D picture;
layout(binding = 1) uniform sampler2DShadow depths;
layout(binding = 2) uniform usampler2DArray layers;
layout(location = 8) uniform ivec2 shift;
void main() {
    vec4 sum = textureGather(picture, value.xy, 0) + textureGather(picture, value.xy, 3);
    sum += textureGatherOffset(picture, value.zw, ivec2(-3, 5), 1) + textureGatherOffset(picture, value.zw, shift, 2);
    sum += textureGather(depths, value.xy, value.z) + vec4(textureGather(layers, value.xyz, 1));
    colour = sum;
}
