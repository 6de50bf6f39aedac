#version 450
// Loads, stores and atomic operations of images.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) readonly uniform image2D source;
layout(binding = 1, rgba32f) writeonly uniform image2D target;
layout(binding = 2, r32ui) uniform uimage2D counts;
layout(binding = 3, r32i) uniform iimageBuffer list;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    vec4 colour = imageLoad(source, at) + imageLoad(source, at + ivec2(1, 0));
    uint before = imageAtomicAdd(counts, at / 8, 1u) + imageAtomicMax(counts, at / 4, uint(at.x));
    int old = imageAtomicExchange(list, at.x, at.y) + imageAtomicCompSwap(list, at.y, 1, 2);
    imageStore(target, at, colour * float(before) + vec4(old, imageSize(source), 0));
}
