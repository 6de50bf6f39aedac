#version 450
// Pixels that are killed under conditions, in a loop too.
layout(location = 0) in vec4 value;
layout(location = 2) flat in ivec4 whole;
layout(location = 0) out vec4 colour;
void main() {
    if (value.x > 0.75)
        discard;
    float sum = 0.0;
    for (int i = 0; i < whole.x; i++) {
        sum += value.y * float(i);
        if (sum > value.z) {
            if (whole.y == i)
                discard;
            break;
        }
    }
    colour = vec4(sum, value.yzw);
}
