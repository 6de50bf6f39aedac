// Reads of every type of image: at float coordinates, at integer coordinates, and without a sampler.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#include "image.h"

#define KERNEL(name, kind, type, coordinates, vector, convert)                                                  \
    kernel void kind##_##name(read_only type image, sampler_t smp, global const float4 *at, global vector *out, \
                              int how) {                                                                        \
        size_t i = get_global_id(0);                                                                            \
        float4 point = at[i];                                                                                   \
        int4 texel = convert_int4(point);                                                                       \
        if (how == 0)                                                                                           \
            out[i] = convert(read_image##kind(image, smp, point coordinates));                                  \
        else if (how == 1)                                                                                      \
            out[i] = convert(read_image##kind(image, smp, texel coordinates));                                  \
        else                                                                                                    \
            out[i] = convert(read_image##kind(image, texel coordinates));                                       \
    }

#define ALL(name, type, coordinates)                            \
    KERNEL(name, f, type, coordinates, float4, )                \
    KERNEL(name, h, type, coordinates, float4, convert_float4)  \
    KERNEL(name, i, type, coordinates, int4, )                  \
    KERNEL(name, ui, type, coordinates, uint4, )
IMAGES(ALL)

#define ONE(name, type, coordinates) KERNEL(name, f, type, coordinates, float, )
DEPTHS(ONE)

// Samplers of the source: all that OpenCL C allows, in the order of CLK_ADDRESS_*, CLK_FILTER_*, CLK_NORMALIZED_COORDS_*.
#define SAMPLED(number, normalised, address, filter)                                           \
    case number: {                                                                             \
        const sampler_t smp = CLK_NORMALIZED_COORDS_##normalised | CLK_ADDRESS_##address |     \
                              CLK_FILTER_##filter;                                             \
        out[i] = read_imagef(image, smp, at[i].xy);                                            \
        break;                                                                                 \
    }

kernel void constant_samplers(read_only image2d_t image, global const float4 *at, global float4 *out, int which) {
    size_t i = get_global_id(0);
    switch (which) {
        SAMPLED(0, FALSE, CLAMP_TO_EDGE, NEAREST)
        SAMPLED(1, FALSE, CLAMP_TO_EDGE, LINEAR)
        SAMPLED(2, FALSE, CLAMP, NEAREST)
        SAMPLED(3, FALSE, CLAMP, LINEAR)
        SAMPLED(4, TRUE, CLAMP_TO_EDGE, NEAREST)
        SAMPLED(5, TRUE, CLAMP_TO_EDGE, LINEAR)
        SAMPLED(6, TRUE, CLAMP, NEAREST)
        SAMPLED(7, TRUE, CLAMP, LINEAR)
        SAMPLED(8, TRUE, REPEAT, NEAREST)
        SAMPLED(9, TRUE, REPEAT, LINEAR)
        SAMPLED(10, TRUE, MIRRORED_REPEAT, NEAREST)
        SAMPLED(11, TRUE, MIRRORED_REPEAT, LINEAR)
    }
}
