#version 450
// Derivatives, samples with gradients, levels of detail.
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform sampler2D picture;
layout(binding = 1) uniform sampler3D volume;
layout(binding = 2) uniform sampler2DShadow depths;
void main() {
    vec2 x = dFdxFine(value.xy), y = dFdyCoarse(value.zw);
    vec4 sum = textureGrad(picture, value.xy, x, y) + textureGrad(volume, value.xyz, value.xyz, value.yzw);
    sum += texture(picture, value.xy, 1.5) + textureLod(volume, value.xyz, value.w) + textureProj(picture, value.xyw);
    sum.x += textureGrad(depths, value.xyz, x, y) + texture(depths, value.xyz) + textureLod(depths, value.zwx, 0.0);
    sum.xy += textureQueryLod(picture, value.xy) + fwidth(value.zw);
    colour = sum + textureOffset(picture, value.zw, ivec2(2, -7));
}
