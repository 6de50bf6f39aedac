// What get_image_* functions return: width, height, depth, slices, type and order of channels.

#define WIDTH(image) get_image_width(image)
#define HEIGHT(image) get_image_height(image)
#define DEPTH(image) get_image_depth(image)
#define SLICES(image) get_image_array_size(image)
#define NONE(image) 0

#define KERNEL(name, type, height, depth, slices)               \
    kernel void query_##name(read_only type image, global uint *out) { \
        out[0] = WIDTH(image);                                  \
        out[1] = height(image);                                 \
        out[2] = depth(image);                                  \
        out[3] = slices(image);                                 \
        out[4] = get_image_channel_data_type(image);            \
        out[5] = get_image_channel_order(image);                \
    }

KERNEL(1d, image1d_t, NONE, NONE, NONE)
KERNEL(1d_buffer, image1d_buffer_t, NONE, NONE, NONE)
KERNEL(1d_array, image1d_array_t, NONE, NONE, SLICES)
KERNEL(2d, image2d_t, HEIGHT, NONE, NONE)
KERNEL(2d_array, image2d_array_t, HEIGHT, NONE, SLICES)
KERNEL(2d_depth, image2d_depth_t, HEIGHT, NONE, NONE)
KERNEL(2d_array_depth, image2d_array_depth_t, HEIGHT, NONE, SLICES)
KERNEL(3d, image3d_t, HEIGHT, DEPTH, NONE)

// The same as vectors, for what has them.
kernel void dimensions(read_only image2d_t flat, read_only image2d_array_t array, read_only image3d_t box,
                       global int4 *out) {
    out[0] = (int4)(get_image_dim(flat), 0, 0);
    out[1] = (int4)(get_image_dim(array), 0, 0);
    out[2] = get_image_dim(box);
}
