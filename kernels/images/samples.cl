// image2d_msaa_t and image2d_array_msaa_t: texels with several samples. ROCm's device libraries have no functions for
// them, so the kernels use the intrinsics of LLVM on the resource, whose address the argument is.
#pragma OPENCL EXTENSION cl_khr_gl_msaa_sharing : enable

typedef uint resource __attribute__((ext_vector_type(8)));

float4 load_2d(int channels, int x, int y, int sample, resource of, int fails, int cache)
    __asm("llvm.amdgcn.image.load.2dmsaa.v4f32.i32.v8i32");
float4 load_2d_array(int channels, int x, int y, int slice, int sample, resource of, int fails, int cache)
    __asm("llvm.amdgcn.image.load.2darraymsaa.v4f32.i32.v8i32");
void store_2d(float4 value, int channels, int x, int y, int sample, resource of, int fails, int cache)
    __asm("llvm.amdgcn.image.store.2dmsaa.v4f32.i32.v8i32");

// The same functions under the types of the images and under the type of their arguments in machine code.
constant resource *address(constant resource *image) __asm("address");
constant resource *address(constant resource *image) { return image; }
constant resource *address_2d(read_only image2d_msaa_t image) __asm("address");
constant resource *address_2d_array(read_only image2d_array_msaa_t image) __asm("address");

kernel void read_2d(read_only image2d_msaa_t image, global const int4 *at, global float4 *out) {
    size_t i = get_global_id(0);
    int4 p = at[i];
    out[i] = load_2d(15, p.x, p.y, p.w, *address_2d(image), 0, 0);
}

kernel void read_2d_array(read_only image2d_array_msaa_t image, global const int4 *at, global float4 *out) {
    size_t i = get_global_id(0);
    int4 p = at[i];
    out[i] = load_2d_array(15, p.x, p.y, p.z, p.w, *address_2d_array(image), 0, 0);
}

// The mean of the samples of each texel.
kernel void resolve(read_only image2d_msaa_t from, write_only image2d_t to, int samples) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 sum = 0.0f;
    for (int n = 0; n < samples; n++)
        sum += load_2d(15, p.x, p.y, n, *address_2d(from), 0, 0);
    write_imagef(to, p, sum / samples);
}
