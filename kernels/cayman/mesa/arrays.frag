#version 450
// Arrays of samplers, and an array in registers with a computed index.
layout(location = 0) in vec4 value;
layout(location = 2) flat in ivec4 whole;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform sampler2D pictures[4];
layout(location = 8) uniform int which;
void main() {
    vec4 own[6] = vec4[](value, value.yzwx, vec4(0.5), value * 2.0, vec4(1, 2, 3, 4), value.wwww);
    for (int i = 0; i < 3; i++)
        own[(whole.x + i) % 6] += texture(pictures[which & 3], value.xy * float(i));
    colour = own[whole.y % 6] * own[whole.z % 6];
}
