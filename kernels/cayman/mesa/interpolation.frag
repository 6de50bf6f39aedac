#version 450
// Every kind of interpolation.
layout(location = 0) in vec4 value;
layout(location = 1) in vec3 normal;
layout(location = 2) flat in ivec4 whole;
layout(location = 3) noperspective in vec2 straight;
layout(location = 4) centroid in vec4 middle;
layout(location = 0) out vec4 colour;
void main() {
    vec4 sum = interpolateAtCentroid(value) + interpolateAtOffset(value, straight * 0.25) + middle;
    sum.xyz += normalize(normal) * float(whole.x + whole.w);
    sum.xy += straight + gl_FragCoord.xy;
    colour = gl_FrontFacing ? sum : -sum;
}
