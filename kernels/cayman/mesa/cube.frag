#version 450
// Cube maps: plain, arrays, comparisons.
layout(location = 1) in vec3 normal;
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform samplerCube sky;
layout(binding = 1) uniform samplerCubeArray skies;
layout(binding = 2) uniform samplerCubeShadow depths;
void main() {
    colour = texture(sky, normal) + textureLod(sky, value.xyz, 2.0) + texture(skies, value) + texture(depths, value);
}
