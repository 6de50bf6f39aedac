// Writes to every type of image, one texel an item, and a change in place.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#include "image.h"

#define KERNEL(name, kind, type, coordinates, vector, convert)                                            \
    kernel void kind##_##name(write_only type image, global const int4 *at, global const vector *values) { \
        size_t i = get_global_id(0);                                                                      \
        write_image##kind(image, at[i] coordinates, convert(values[i]));                                  \
    }

#define ALL(name, type, coordinates)                          \
    KERNEL(name, f, type, coordinates, float4, )              \
    KERNEL(name, h, type, coordinates, float4, convert_half4) \
    KERNEL(name, i, type, coordinates, int4, )                \
    KERNEL(name, ui, type, coordinates, uint4, )
IMAGES(ALL)

#define ONE(name, type, coordinates) KERNEL(name, f, type, coordinates, float, )
DEPTHS(ONE)

// Turns the channels around.
kernel void in_place(read_write image2d_t image) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(image, at, read_imageui(image, at).wzyx);
}
