#version 450
// Iterations of the Mandelbrot set.
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 colour;
layout(location = 8) uniform int most;
void main() {
    vec2 c = value.xy, z = vec2(0);
    int steps = 0;
    for (; steps < most && dot(z, z) < 4.0; steps++)
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
    colour = steps == most ? vec4(0, 0, 0, 1) : vec4(0.5 + 0.5 * cos(0.2 * float(steps) + vec3(0, 2, 4)), 1);
}
