#version 450
// Two targets, a depth, and storage that pixels write.
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(std430, binding = 0) buffer Counts { uint counts[]; };
void main() {
    uint before = atomicAdd(counts[int(gl_FragCoord.x)], 1u);
    first = value * float(before);
    second = vec4(value.wzy, gl_SampleMaskIn[0]);
    gl_FragDepth = value.x * 0.5 + 0.25;
}
