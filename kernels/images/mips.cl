// Mip levels: reads at a level of detail and by gradients, writes to a level. gfx90a lacks the instructions.
#pragma OPENCL EXTENSION cl_khr_mipmap_image : enable
#pragma OPENCL EXTENSION cl_khr_mipmap_image_writes : enable

#include "image.h"

// The fourth coordinate is the level.
#define KERNEL(name, kind, type, coordinates, vector)                                                               \
    kernel void kind##_##name(read_only type image, sampler_t smp, global const float4 *at, global const float *level, \
                              global vector *out) {                                                                 \
        size_t i = get_global_id(0);                                                                                \
        out[i] = read_image##kind(image, smp, at[i] coordinates, level[i]);                                         \
    }                                                                                                               \
    kernel void write_##kind##_##name(write_only type image, global const int4 *at, global const vector *values,    \
                                      int level) {                                                                  \
        size_t i = get_global_id(0);                                                                                \
        write_image##kind(image, at[i] coordinates, level, values[i]);                                              \
    }

#define ALL(name, type, coordinates)              \
    KERNEL(name, f, type, coordinates, float4)    \
    KERNEL(name, ui, type, coordinates, uint4)
IMAGES(ALL)

kernel void gradients_2d(read_only image2d_t image, sampler_t smp, global const float4 *at, global const float4 *across,
                         global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = read_imagef(image, smp, at[i].xy, across[i].xy, across[i].zw);
}

kernel void levels(read_only image1d_t a, read_only image1d_array_t b, read_only image2d_t c, read_only image2d_array_t d,
                   read_only image3d_t e, global int *out) {
    out[0] = get_image_num_mip_levels(a);
    out[1] = get_image_num_mip_levels(b);
    out[2] = get_image_num_mip_levels(c);
    out[3] = get_image_num_mip_levels(d);
    out[4] = get_image_num_mip_levels(e);
}
