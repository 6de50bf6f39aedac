// Types of images with the coordinates of a point, for tables of kernels: X(name, type, coordinates of a float4 or int4).
#define IMAGES(X)                    \
    X(1d, image1d_t, .x)             \
    X(1d_array, image1d_array_t, .xy) \
    X(2d, image2d_t, .xy)            \
    X(2d_array, image2d_array_t, )   \
    X(3d, image3d_t, )

// Those with one number in a texel.
#define DEPTHS(X)                              \
    X(2d_depth, image2d_depth_t, .xy)          \
    X(2d_array_depth, image2d_array_depth_t, )
