/*
 * Adds two arrays with the machine code of a GPU.
 *
 *   cc -std=c11 -I crates/wavemill-c/include vector_add.c -L DIR -l wavemill -o vector_add
 *   ./vector_add kernels/bin/gfx942/vector_add.co
 */
#include <stdio.h>
#include <stdlib.h>

#include <wavemill.h>

enum { COUNT = 1000 };

/* Every function returns NULL, or the message of an error. */
static void check(const char *error)
{
    if (error) {
        fprintf(stderr, "error: %s\n", error);
        exit(EXIT_FAILURE);
    }
}

/* The bytes of a file, to free. */
static void *contents(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long end = -1;
    void *bytes = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
        bytes = malloc((size_t)end);
        if (bytes && fread(bytes, 1, (size_t)end, file) != (size_t)end) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file)
        fclose(file);
    if (!bytes) {
        fprintf(stderr, "error: cannot read %s\n", path);
        exit(EXIT_FAILURE);
    }
    *size = (size_t)end;
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CODE_OBJECT\n", argv[0]);
        return EXIT_FAILURE;
    }
    size_t size;
    void *object = contents(argv[1], &size);

    /* A device for the code, the code on it, and the kernel. */
    wm_device_options_t options = {.struct_size = sizeof options};
    wm_device_t *device;
    wm_module_t *module;
    wm_kernel_t *kernel;
    check(wm_target_of(object, size, &options.target));
    check(wm_device_new(&options, &device));
    check(wm_module_load(device, object, size, &module));
    check(wm_kernel_get(module, "vector_add", &kernel));
    free(object);

    /* `a` and `b` are copied to the device; `c` is used where it is. */
    float a[COUNT], b[COUNT], c[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 0.5f;
    }
    wm_buffer_t *buffers[3];
    check(wm_buffer_new(device, "a", sizeof a, &buffers[0]));
    check(wm_buffer_new(device, "b", sizeof b, &buffers[1]));
    check(wm_buffer_import(device, "c", c, sizeof c, &buffers[2]));
    check(wm_buffer_write(buffers[0], 0, a, sizeof a));
    check(wm_buffer_write(buffers[1], 0, b, sizeof b));

    const unsigned n = COUNT;
    wm_argument_t arguments[4];
    for (int i = 0; i < 3; i++)
        arguments[i] = (wm_argument_t){
            .struct_size = sizeof(wm_argument_t), .kind = WM_ARGUMENT_BUFFER, .buffer = buffers[i]};
    arguments[3] = (wm_argument_t){
        .struct_size = sizeof(wm_argument_t), .kind = WM_ARGUMENT_VALUE, .value = &n, .size = sizeof n};

    const wm_launch_t launch = {
        .struct_size = sizeof launch,
        .kernel = kernel,
        .grid_unit = WM_GRID_WORK_ITEMS,
        .grid = {COUNT, 1, 1},
        .block = {256, 1, 1},
        .arguments = arguments,
        .argument_count = 4,
    };
    wm_result_t result = {.struct_size = sizeof result};
    check(wm_launch(&launch, &result));
    if (result.outcome != WM_OUTCOME_FINISHED) {
        fprintf(stderr, "%s\n", result.report);
        return EXIT_FAILURE;
    }

    const char *target;
    check(wm_device_target(device, &target));
    printf("%s: c[%d] = %.1f after %llu instructions of %llu waves\n", target, COUNT - 1, (double)c[COUNT - 1],
           (unsigned long long)result.instructions, (unsigned long long)result.waves);

    for (int i = 0; i < 3; i++)
        check(wm_buffer_free(buffers[i]));
    check(wm_kernel_free(kernel));
    check(wm_module_free(module));
    check(wm_device_free(device));
    return EXIT_SUCCESS;
}
