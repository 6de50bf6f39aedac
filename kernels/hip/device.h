// What HIP's headers give to kernels, as far as the sources here need it, so that they compile without ROCm's headers.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

typedef unsigned int uint;
typedef unsigned long ulong;

extern "C" {
__device__ int printf(const char *format, ...);

// ROCm's device library.
__device__ ulong __ockl_fprintf_stderr_begin(void);
__device__ ulong __ockl_fprintf_append_args(ulong message, uint count, ulong a, ulong b, ulong c, ulong d, ulong e,
                                            ulong f, ulong g, uint last);
__device__ ulong __ockl_fprintf_append_string_n(ulong message, const char *text, ulong length, uint last);
__device__ __attribute__((address_space(1))) void *__ockl_dm_alloc(ulong bytes);
__device__ void __ockl_dm_dealloc(ulong address);
__device__ ulong __ockl_get_global_id(uint dimension);
__device__ ulong __ockl_get_local_id(uint dimension);
}

static __device__ inline void *malloc(ulong bytes) { return (void *)__ockl_dm_alloc(bytes); }
static __device__ inline void free(void *p) { __ockl_dm_dealloc((ulong)p); }

static __device__ inline ulong text_length(const char *text) {
    ulong n = 0;
    while (text[n])
        ++n;
    return n + 1;
}

// What `assert` does: a message on the standard error, and the end of the program.
static __device__ __attribute__((noinline, unused)) void assert_failed(const char *expression, const char *file, uint line,
                                                              const char *function) {
    const char format[] = "%s:%u: %s: Device-side assertion `%s' failed.\n";
    ulong message = __ockl_fprintf_stderr_begin();
    message = __ockl_fprintf_append_string_n(message, format, sizeof format, 0);
    message = __ockl_fprintf_append_string_n(message, file, text_length(file), 0);
    message = __ockl_fprintf_append_args(message, 1, line, 0, 0, 0, 0, 0, 0, 0);
    message = __ockl_fprintf_append_string_n(message, function, text_length(function), 0);
    __ockl_fprintf_append_string_n(message, expression, text_length(expression), 1);
    __builtin_trap();
}

#define assert(condition) ((condition) ? (void)0 : assert_failed(#condition, __FILE__, __LINE__, __func__))
