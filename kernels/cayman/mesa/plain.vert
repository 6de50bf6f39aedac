#version 450
// A position and values to interpolate.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 extra;
layout(location = 0) out vec4 value;
layout(location = 1) out vec3 normal;
layout(location = 2) flat out ivec4 whole;
layout(location = 3) noperspective out vec2 straight;
layout(location = 4) centroid out vec4 middle;
layout(location = 0) uniform mat4 transform;
void main() {
    gl_Position = transform * position;
    value = extra;
    normal = mat3(transform) * extra.xyz;
    whole = ivec4(position * 8.0);
    straight = extra.yx;
    middle = extra + position;
}
