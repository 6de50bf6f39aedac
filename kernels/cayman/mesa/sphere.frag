#version 450
// A lit, textured sphere.
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform sampler2D skin;
layout(location = 8) uniform vec3 light;
void main() {
    vec2 p = value.xy * 2.0 - 1.0;
    float z2 = 1.0 - dot(p, p);
    if (z2 < 0.0)
        discard;
    vec3 n = vec3(p, sqrt(z2));
    vec2 uv = vec2(atan(n.x, n.z) * 0.159154943 + 0.5, acos(n.y) * 0.318309886);
    vec3 l = normalize(light), h = normalize(l + vec3(0, 0, 1));
    float bright = max(dot(n, l), 0.0), shine = pow(max(dot(n, h), 0.0), 32.0);
    colour = vec4(textureLod(skin, uv, 0.0).rgb * (0.1 + 0.9 * bright) + shine, 1);
}
