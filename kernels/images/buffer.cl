// image1d_buffer_t: typed texels of a buffer.

#define KERNEL(kind, vector)                                                                                    \
    kernel void read_##kind(read_only image1d_buffer_t image, global const int *at, global vector *out) {       \
        out[get_global_id(0)] = read_image##kind(image, at[get_global_id(0)]);                                  \
    }                                                                                                           \
    kernel void write_##kind(write_only image1d_buffer_t image, global const int *at, global const vector *from) { \
        write_image##kind(image, at[get_global_id(0)], from[get_global_id(0)]);                                 \
    }
KERNEL(f, float4)
KERNEL(i, int4)
KERNEL(ui, uint4)
