/*
 * Wavemill: runs AMD GPU machine code on the CPU.
 *
 * Errors. A function that can fail returns NULL, or the message of its error. The message lives
 * until the thread's next failing call, or its end. After an error, variables and structures that
 * the function fills are unchanged.
 *
 * Texts and bytes. wm_launch and wm_run_code (reports), wm_target_of and wm_disassemble return a
 * text that lives until the same thread calls one of these functions again and gets a text, or
 * ends; so do the bytes of wm_assemble, with calls of wm_assemble.
 *
 * Handles. wm_device_t, wm_buffer_t, wm_module_t and wm_kernel_t are opaque. NULL, a handle of
 * another kind and a handle that was freed are errors. They may be freed in any order. All threads
 * may use them at the same time.
 *
 * Structures. struct_size is the size that the program knows. Fields after it are 0, which is the
 * default of every field. Bytes that are new to the library must be 0.
 *
 * Licensed under Apache-2.0 or MIT, at your option. Made from Rust by cbindgen: do not edit.
 */


#ifndef WAVEMILL_H
#define WAVEMILL_H

#include <stddef.h>
#include <stdint.h>

/**
 * `rsrc1` for code of which nothing is known: all VGPRs and SGPRs; denormals of all sizes,
 * ENABLE_DX10_CLAMP and ENABLE_IEEE_MODE.
 */
#define WM_DEFAULT_RSRC1 11469631

/**
 * `rsrc3` for code of which nothing is known: 256 VGPRs, and the others are AccVGPRs.
 */
#define WM_DEFAULT_RSRC3 63

/**
 * What guest addresses are.
 */
typedef enum wm_address_mode_t {
    /**
     * Synthetic addresses: the same in every run, and never reused.
     */
    WM_ADDRESS_SANDBOX = 0,
    /**
     * Host addresses: every host pointer is the same guest address.
     */
    WM_ADDRESS_IDENTITY = 1,
} wm_address_mode_t;

/**
 * The memory of the host that kernels may use.
 */
typedef enum wm_host_memory_t {
    /**
     * Imported buffers. Each access is checked against them, to the byte.
     */
    WM_HOST_MEMORY_BUFFERS = 0,
    /**
     * All memory of the process, for kernels that follow pointers in memory. Only accesses where
     * the process has no memory, or where it must not write, are faults: a wrong kernel can break
     * everything in the process. Needs `WM_ADDRESS_IDENTITY`.
     */
    WM_HOST_MEMORY_PROCESS = 1,
} wm_host_memory_t;

/**
 * The kind of argument that a parameter needs.
 */
typedef enum wm_parameter_kind_t {
    /**
     * A value of the parameter's size.
     */
    WM_PARAMETER_VALUE = 0,
    /**
     * The address of a buffer.
     */
    WM_PARAMETER_BUFFER = 1,
    /**
     * Dynamic LDS, given by its size.
     */
    WM_PARAMETER_LOCAL = 2,
    /**
     * An image.
     */
    WM_PARAMETER_IMAGE = 3,
    /**
     * A sampler.
     */
    WM_PARAMETER_SAMPLER = 4,
    /**
     * A kind that Wavemill does not set up.
     */
    WM_PARAMETER_OTHER = 5,
} wm_parameter_kind_t;

/**
 * What an argument is.
 */
typedef enum wm_argument_kind_t {
    /**
     * The bytes at `value`.
     */
    WM_ARGUMENT_VALUE = 0,
    /**
     * The address of `buffer`.
     */
    WM_ARGUMENT_BUFFER = 1,
    /**
     * Dynamic LDS of `size` bytes.
     */
    WM_ARGUMENT_LOCAL = 2,
} wm_argument_kind_t;

/**
 * What the numbers of `grid` count.
 */
typedef enum wm_grid_unit_t {
    /**
     * Workgroups.
     */
    WM_GRID_WORKGROUPS = 0,
    /**
     * Work-items. The last workgroups may be partial.
     */
    WM_GRID_WORK_ITEMS = 1,
} wm_grid_unit_t;

/**
 * Bits of `strict`: faults for accesses that the chip does not report.
 */
typedef enum wm_strict_t {
    /**
     * Accesses beyond the LDS of a workgroup.
     */
    WM_STRICT_LDS = 1,
    /**
     * Accesses beyond the range of a buffer resource.
     */
    WM_STRICT_BUFFERS = 2,
    /**
     * Accesses outside the extent of an image.
     */
    WM_STRICT_IMAGES = 4,
} wm_strict_t;

/**
 * Where a text comes from that the `output` of a launch receives.
 */
typedef enum wm_output_t {
    /**
     * `printf`.
     */
    WM_OUTPUT_STDOUT = 0,
    /**
     * The message of `assert`.
     */
    WM_OUTPUT_STDERR = 1,
    /**
     * A note of Wavemill: a request of the kernel failed, or output was lost.
     */
    WM_OUTPUT_NOTE = 2,
} wm_output_t;

/**
 * How a launch ended.
 */
typedef enum wm_outcome_t {
    /**
     * All waves ended.
     */
    WM_OUTCOME_FINISHED = 0,
    /**
     * The kernel did something illegal.
     */
    WM_OUTCOME_FAULT = 1,
    /**
     * The kernel reached an instruction, or a form of one, that Wavemill does not run.
     */
    WM_OUTCOME_UNSUPPORTED = 2,
    /**
     * All waves wait for something that will never happen.
     */
    WM_OUTCOME_STALLED = 3,
    /**
     * The launch reached `max_instructions`.
     */
    WM_OUTCOME_INSTRUCTION_LIMIT = 4,
    /**
     * The launch reached `time_limit_ms`.
     */
    WM_OUTCOME_TIME_LIMIT = 5,
    /**
     * The launch was stopped.
     */
    WM_OUTCOME_STOPPED = 6,
} wm_outcome_t;

/**
 * A buffer of a device's memory.
 */
typedef struct wm_buffer_t wm_buffer_t;

/**
 * A device.
 */
typedef struct wm_device_t wm_device_t;

/**
 * A kernel of a module.
 */
typedef struct wm_kernel_t wm_kernel_t;

/**
 * A code object that is loaded into a device.
 */
typedef struct wm_module_t wm_module_t;

/**
 * Options of a device.
 */
typedef struct wm_device_options_t {
    /**
     * Set it to `sizeof(wm_device_options_t)`.
     */
    size_t struct_size;
    /**
     * The target or the product, in UTF-8: `gfx942`, `gfx90a:xnack-`, `mi300x`.
     */
    const char *target;
    /**
     * One of `wm_address_mode_t`.
     */
    uint32_t address_mode;
    /**
     * One of `wm_host_memory_t`.
     */
    uint32_t host_memory;
    /**
     * Host threads of launches that do not say how many. 0: as many as the host has cores, or one
     * for a small grid.
     */
    uint32_t threads;
    /**
     * Not 0: buffers are filled with `poison` instead of zeros, so that reads of uninitialised
     * memory show.
     */
    uint32_t poison_buffers;
    /**
     * The word for `poison_buffers`.
     */
    uint32_t poison;
    /**
     * Must be 0.
     */
    uint32_t reserved;
    /**
     * Bytes that kernels can allocate by `malloc`; 0 for 256 MiB.
     */
    uint64_t heap_size;
} wm_device_options_t;

/**
 * Sizes of a device's chip.
 */
typedef struct wm_device_info_t {
    /**
     * Set it to `sizeof(wm_device_info_t)`.
     */
    size_t struct_size;
    /**
     * Compute units.
     */
    uint32_t compute_units;
    /**
     * Most bytes of LDS of a workgroup.
     */
    uint32_t lds_size;
    /**
     * Most work-items of a workgroup.
     */
    uint32_t max_workgroup_size;
    /**
     * 0.
     */
    uint32_t reserved;
} wm_device_info_t;

/**
 * What a code object says about a kernel.
 */
typedef struct wm_kernel_info_t {
    /**
     * Set it to `sizeof(wm_kernel_info_t)`.
     */
    size_t struct_size;
    /**
     * Name as in the code object. The string lives as long as the kernel.
     */
    const char *name;
    /**
     * Explicit parameters: `wm_kernel_parameter` describes each.
     */
    size_t parameter_count;
    /**
     * Not 0: the code object describes the parameters. If it does not, launches have `kernarg`.
     */
    uint32_t has_metadata;
    /**
     * Bytes of the kernel argument segment.
     */
    uint32_t kernarg_size;
    /**
     * Bytes of LDS that the kernel declares for a workgroup; dynamic LDS follows them.
     */
    uint32_t lds_size;
    /**
     * Bytes of private memory (scratch) that the kernel declares for a work-item.
     */
    uint32_t private_size;
    /**
     * SGPRs of a wave.
     */
    uint32_t sgprs;
    /**
     * VGPRs of a wave, without AccVGPRs.
     */
    uint32_t vgprs;
    /**
     * AccVGPRs of a wave.
     */
    uint32_t accvgprs;
    /**
     * Most work-items of a workgroup.
     */
    uint32_t max_workgroup_size;
    /**
     * The workgroup size that the kernel was compiled for; zeros if it is free.
     */
    uint32_t required_workgroup_size[3];
    /**
     * 0.
     */
    uint32_t reserved;
} wm_kernel_info_t;

/**
 * An explicit parameter of a kernel.
 */
typedef struct wm_parameter_t {
    /**
     * Set it to `sizeof(wm_parameter_t)`.
     */
    size_t struct_size;
    /**
     * Name, or NULL if the code object has none. The string lives as long as the kernel.
     */
    const char *name;
    /**
     * Type as in the source, or NULL if the code object has none. The string lives as long as the
     * kernel.
     */
    const char *type_name;
    /**
     * One of `wm_parameter_kind_t`.
     */
    uint32_t kind;
    /**
     * Offset in the kernel argument segment, in bytes.
     */
    uint32_t offset;
    /**
     * Bytes.
     */
    uint32_t size;
    /**
     * Not 0: the kernel only reads the buffer, as the code object declares.
     */
    uint32_t read_only;
} wm_parameter_t;

/**
 * An argument of a launch. All elements of an array have the same `struct_size`.
 */
typedef struct wm_argument_t {
    /**
     * Set it to `sizeof(wm_argument_t)`.
     */
    size_t struct_size;
    /**
     * One of `wm_argument_kind_t`.
     */
    uint32_t kind;
    /**
     * Alignment of the value in bytes; 0 for the one in the code object. Code objects of Cayman have
     * none, so that structures and vectors need it.
     */
    uint32_t alignment;
    /**
     * The buffer, for `WM_ARGUMENT_BUFFER`.
     */
    const struct wm_buffer_t *buffer;
    /**
     * The value in little-endian bytes, for `WM_ARGUMENT_VALUE`.
     */
    const void *value;
    /**
     * Bytes of the value or of dynamic LDS.
     */
    size_t size;
} wm_argument_t;

/**
 * Receives what kernels print: `output_data`, one of `wm_output_t`, and `size` bytes without a NUL
 * at their end.
 */
typedef void (*wm_output_fn_t)(void *data, uint32_t source, const char *text, size_t size);

/**
 * Says whether a run goes on: 0 if it does, and any other number to end it with `WM_OUTCOME_STOPPED`.
 * `check_data` is its argument.
 */
typedef uint32_t (*wm_check_fn_t)(void *data);

/**
 * A launch of a kernel over a grid.
 */
typedef struct wm_launch_t {
    /**
     * Set it to `sizeof(wm_launch_t)`.
     */
    size_t struct_size;
    /**
     * The kernel.
     */
    const struct wm_kernel_t *kernel;
    /**
     * Size of the grid, in X, Y and Z.
     */
    uint64_t grid[3];
    /**
     * Size of a workgroup in work-items, in X, Y and Z. Zeros: the size that the kernel requires, or
     * one work-item.
     */
    uint32_t block[3];
    /**
     * One of `wm_grid_unit_t`.
     */
    uint32_t grid_unit;
    /**
     * The explicit part of the kernel argument segment, instead of `arguments`. Fewer bytes than the
     * described parameters have are an error.
     */
    const void *kernarg;
    /**
     * Bytes at `kernarg`.
     */
    size_t kernarg_size;
    /**
     * The explicit arguments in order.
     */
    const struct wm_argument_t *arguments;
    /**
     * Number of `arguments`.
     */
    size_t argument_count;
    /**
     * Bytes of dynamic LDS after the LDS that the kernel declares.
     */
    uint32_t dynamic_lds;
    /**
     * Bytes of private memory of a work-item, if that is more than the kernel declares.
     */
    uint32_t stack;
    /**
     * Host threads; 0 for those of the device.
     */
    uint32_t threads;
    /**
     * Not 0: all workgroups must be resident at once, because they wait for one another.
     */
    uint32_t cooperative;
    /**
     * Not 0: a grid whose waves wait for something that no wave will do ends with
     * `WM_OUTCOME_STALLED`. Only for a launch whose memory nothing else writes.
     */
    uint32_t find_stalls;
    /**
     * Bits of `wm_strict_t`.
     */
    uint32_t strict;
    /**
     * Not 0: clocks count instructions, and workgroups run on one thread in a fixed order.
     */
    uint32_t deterministic;
    /**
     * Not 0: the report has all known details, such as registers.
     */
    uint32_t full_report;
    /**
     * Not 0: unwritten registers, LDS and private memory hold `poison` instead of zeros.
     */
    uint32_t poison_registers;
    /**
     * The word for `poison_registers`.
     */
    uint32_t poison;
    /**
     * Instructions of all waves after which the launch stops; 0 for no limit.
     */
    uint64_t max_instructions;
    /**
     * Milliseconds after which the launch stops; 0 for no limit.
     */
    uint64_t time_limit_ms;
    /**
     * Receives what the kernel prints; NULL to lose it. Any thread of the launch may call it, one at
     * a time. It must return, and must not throw.
     */
    wm_output_fn_t output;
    /**
     * The first argument of `output`.
     */
    void *output_data;
    /**
     * The calling thread calls it about 20 times a second, for programs that must answer others
     * meanwhile, such as signals; NULL for a launch that nothing stops. It must return, and must not
     * throw.
     */
    wm_check_fn_t check;
    /**
     * The argument of `check`.
     */
    void *check_data;
} wm_launch_t;

/**
 * How a launch ended, and its statistics, which are 0 unless it finished.
 */
typedef struct wm_result_t {
    /**
     * Set it to `sizeof(wm_result_t)`.
     */
    size_t struct_size;
    /**
     * One of `wm_outcome_t`.
     */
    uint32_t outcome;
    /**
     * Host threads that took part.
     */
    uint32_t threads;
    /**
     * Why the launch did not finish, as the command `wavemill run` prints it; NULL if it finished.
     * The string lives until the thread's next call that returns text of that kind.
     */
    const char *report;
    /**
     * Instructions of all waves.
     */
    uint64_t instructions;
    /**
     * Workgroups that ran.
     */
    uint64_t workgroups;
    /**
     * Waves that ran.
     */
    uint64_t waves;
    /**
     * Work-items of the grid.
     */
    uint64_t work_items;
    /**
     * Accesses to LDS after the bytes of the workgroup.
     */
    uint64_t lds_out_of_range;
    /**
     * Accesses beyond the range of a buffer resource.
     */
    uint64_t buffer_out_of_range;
    /**
     * Accesses outside the extent of an image.
     */
    uint64_t image_out_of_range;
    /**
     * Most workgroups that were resident at once.
     */
    uint32_t resident;
    /**
     * Bytes of LDS that each workgroup requested, including dynamic LDS.
     */
    uint32_t lds_size;
    /**
     * Bytes of LDS that each workgroup had, as the chip allocates them.
     */
    uint32_t lds_allocated;
    /**
     * 0.
     */
    uint32_t reserved;
} wm_result_t;

/**
 * A range of the program's memory. The structure never grows.
 */
typedef struct wm_range_t {
    /**
     * The first byte.
     */
    void *start;
    /**
     * Bytes.
     */
    size_t size;
} wm_range_t;

/**
 * Machine code of GCN or CDNA without a code object, the words that a driver writes to the registers
 * of the chip to dispatch it, and the memory that it may use. Guest addresses are those of the
 * program.
 */
typedef struct wm_run_code_t {
    /**
     * Set it to `sizeof(wm_run_code_t)`.
     */
    size_t struct_size;
    /**
     * The target or the product, in UTF-8: `gfx942`, `mi300x`.
     */
    const char *target;
    /**
     * The first instruction.
     */
    const void *code;
    /**
     * Bytes of code. Data behind the code does no harm.
     */
    size_t code_size;
    /**
     * User SGPRs, from s0 on.
     */
    const uint32_t *user_sgprs;
    /**
     * Number of `user_sgprs`: at most USER_SGPR_COUNT of `rsrc2`. The others are 0.
     */
    size_t user_sgpr_count;
    /**
     * The kernel argument segment, for ENABLE_SGPR_KERNARG_SEGMENT_PTR of `kernel_code_properties`.
     * Code with `user_sgprs` finds its arguments through them, in a range.
     */
    const void *kernarg;
    /**
     * Bytes at `kernarg`.
     */
    size_t kernarg_size;
    /**
     * The memory that the code may read and write. Ranges may overlap. The code is readable in any
     * case.
     */
    const struct wm_range_t *ranges;
    /**
     * Number of `ranges`.
     */
    size_t range_count;
    /**
     * `compute_pgm_rsrc1`: counts of registers, float modes.
     */
    uint32_t rsrc1;
    /**
     * `compute_pgm_rsrc2`: user and system SGPRs, ids of work-items, exceptions.
     */
    uint32_t rsrc2;
    /**
     * `compute_pgm_rsrc3`: the first AccVGPR on gfx90a and later.
     */
    uint32_t rsrc3;
    /**
     * Bytes of private memory (scratch) of a work-item.
     */
    uint32_t scratch_size;
    /**
     * Bytes of LDS of a workgroup; 0 for GRANULATED_LDS_SIZE of `rsrc2` in granules of the chip.
     */
    uint32_t lds_size;
    /**
     * `kernel_code_properties` of a kernel descriptor: the user SGPRs that Wavemill sets up. 0 if
     * `user_sgprs` has their values. Private memory on targets before gfx942 needs it.
     */
    uint32_t kernel_code_properties;
    /**
     * Not 0: the code runs from a copy, and may be at an address that is no multiple of 4. 0: it
     * runs where it is, so that it finds data at fixed distances.
     */
    uint32_t copy_code;
    /**
     * Host threads. 0: as many as the host has cores, or one for a small grid.
     */
    uint32_t threads;
    /**
     * Workgroups of the grid, in X, Y and Z.
     */
    uint32_t grid[3];
    /**
     * Work-items of a workgroup, in X, Y and Z.
     */
    uint32_t block[3];
    /**
     * As in `wm_launch_t`.
     */
    uint32_t find_stalls;
    /**
     * Bits of `wm_strict_t`.
     */
    uint32_t strict;
    /**
     * As in `wm_launch_t`.
     */
    uint32_t deterministic;
    /**
     * As in `wm_launch_t`.
     */
    uint32_t full_report;
    /**
     * Instructions of all waves after which the run stops; 0 for no limit.
     */
    uint64_t max_instructions;
    /**
     * Milliseconds after which the run stops; 0 for no limit.
     */
    uint64_t time_limit_ms;
    /**
     * Receives how the run ended, or NULL: then every end but `WM_OUTCOME_FINISHED` is an error.
     */
    struct wm_result_t *result;
    /**
     * As in `wm_launch_t`.
     */
    wm_check_fn_t check;
    /**
     * The argument of `check`.
     */
    void *check_data;
} wm_run_code_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as `0.1.0`.
 */
const char *wm_version(void);

/**
 * Creates a buffer of `size` bytes: zeros, or the word of `poison_buffers`. Its name appears in
 * reports; it may be NULL.
 *
 * # Safety
 * `name` is NULL or a string; `buffer` leads to a variable.
 */
const char *wm_buffer_new(const struct wm_device_t *device,
                          const char *name,
                          uint64_t size,
                          struct wm_buffer_t **buffer);

/**
 * Makes `size` bytes of the host a buffer, without a copy: what kernels write is there at once. With
 * `WM_ADDRESS_IDENTITY`, its guest address is `memory` itself. Accesses are checked against its
 * bytes as with any buffer.
 *
 * # Safety
 * `name` is NULL or a string; `buffer` leads to a variable. `size` bytes at `memory` can be
 * read and written until the buffer is freed and the launches running at that time are over. During
 * launches that may use them, the program accesses them by atomic operations alone.
 */
const char *wm_buffer_import(const struct wm_device_t *device,
                             const char *name,
                             void *memory,
                             uint64_t size,
                             struct wm_buffer_t **buffer);

/**
 * Copies `size` bytes into a buffer, from its byte `offset` on.
 *
 * # Safety
 * `size` bytes at `bytes` can be read.
 */
const char *wm_buffer_write(const struct wm_buffer_t *buffer,
                            uint64_t offset,
                            const void *bytes,
                            size_t size);

/**
 * Copies `size` bytes out of a buffer, from its byte `offset` on.
 *
 * # Safety
 * `size` bytes at `bytes` can be written.
 */
const char *wm_buffer_read(const struct wm_buffer_t *buffer,
                           uint64_t offset,
                           void *bytes,
                           size_t size);

/**
 * The guest address of the first byte of a buffer.
 *
 * # Safety
 * `address` leads to a variable.
 */
const char *wm_buffer_address(const struct wm_buffer_t *buffer, uint64_t *address);

/**
 * The size of a buffer in bytes.
 *
 * # Safety
 * `size` leads to a variable.
 */
const char *wm_buffer_size(const struct wm_buffer_t *buffer, uint64_t *size);

/**
 * Frees a buffer. A launch that is running can still finish with it. NULL is allowed.
 */
const char *wm_buffer_free(struct wm_buffer_t *buffer);

/**
 * Creates a device: the model of a chip, with memory of its own.
 *
 * # Safety
 * `options` leads to a structure of the size that it says, with a string; `device` leads to
 * a variable.
 */
const char *wm_device_new(const struct wm_device_options_t *options, struct wm_device_t **device);

/**
 * Frees a device. Its buffers, modules and kernels stay usable until they are freed. NULL is
 * allowed.
 */
const char *wm_device_free(struct wm_device_t *device);

/**
 * The target of a device, such as `gfx942`. The string lives as long as the device.
 *
 * # Safety
 * `target` leads to a variable.
 */
const char *wm_device_target(const struct wm_device_t *device, const char **target);

/**
 * The only target that a file has code for: a code object, an offload bundle, a program or a
 * library. The string lives until the thread's next call that returns text of that kind.
 *
 * # Safety
 * `size` bytes at `bytes` can be read, and `target` leads to a variable.
 */
const char *wm_target_of(const void *bytes, size_t size, const char **target);

/**
 * Sizes of a device's chip.
 *
 * # Safety
 * `info` leads to a structure of the size that it says.
 */
const char *wm_device_info(const struct wm_device_t *device, struct wm_device_info_t *info);

/**
 * Looks up a kernel of a module. The name may be the symbol, or the source name in any spelling;
 * scopes, template arguments and parameters that are not needed to distinguish kernels may be left
 * out.
 *
 * # Safety
 * `name` is a string; `kernel` leads to a variable.
 */
const char *wm_kernel_get(const struct wm_module_t *module,
                          const char *name,
                          struct wm_kernel_t **kernel);

/**
 * What a code object says about a kernel.
 *
 * # Safety
 * `info` leads to a structure of the size that it says.
 */
const char *wm_kernel_info(const struct wm_kernel_t *kernel, struct wm_kernel_info_t *info);

/**
 * An explicit parameter of a kernel, by its number from 0.
 *
 * # Safety
 * `parameter` leads to a structure of the size that it says.
 */
const char *wm_kernel_parameter(const struct wm_kernel_t *kernel,
                                size_t index,
                                struct wm_parameter_t *parameter);

/**
 * Frees a kernel. NULL is allowed.
 */
const char *wm_kernel_free(struct wm_kernel_t *kernel);

/**
 * Runs a kernel, and waits for its end. `result` receives how it ended. If `result` is NULL, every
 * end but `WM_OUTCOME_FINISHED` is an error, and its report is the message.
 *
 * Several threads may launch kernels at the same time.
 *
 * # Safety
 * `launch` leads to a structure of the size that it says, and its pointers to as many bytes
 * as their sizes say; `output` can be called with `output_data`, and `check` with `check_data`.
 * `result` is NULL, or leads to a structure of the size that it says.
 */
const char *wm_launch(const struct wm_launch_t *launch, struct wm_result_t *result);

/**
 * Checks whether a launch is possible, and runs nothing.
 *
 * # Safety
 * As for `wm_launch`.
 */
const char *wm_launch_check(const struct wm_launch_t *launch);

/**
 * Loads the code object in a file that fits the device: the file itself, or an entry of an offload
 * bundle, a program or a library.
 *
 * # Safety
 * `size` bytes at `bytes` can be read; `module` leads to a variable.
 */
const char *wm_module_load(const struct wm_device_t *device,
                           const void *bytes,
                           size_t size,
                           struct wm_module_t **module);

/**
 * The number of kernels of a module.
 *
 * # Safety
 * `count` leads to a variable.
 */
const char *wm_module_kernel_count(const struct wm_module_t *module, size_t *count);

/**
 * The name of a kernel of a module, by its number in the file, from 0. The string lives as long as
 * the module.
 *
 * # Safety
 * `name` leads to a variable.
 */
const char *wm_module_kernel_name(const struct wm_module_t *module,
                                  size_t index,
                                  const char **name);

/**
 * Frees a module. Its kernels stay usable until they are freed. NULL is allowed.
 */
const char *wm_module_free(struct wm_module_t *module);

/**
 * Runs machine code without a code object, and waits for its end: code and data are where they are
 * in the program. The result is NULL, or the message of an error.
 *
 * # Safety
 * `run` leads to a structure of the size that it says, and its pointers to as many bytes as
 * their sizes say; `check` can be called with `check_data`. Until the call returns, the ranges can
 * be read and written, the code can be read, and the program accesses them by atomic operations
 * alone.
 */
const char *wm_run_code(const struct wm_run_code_t *run);

/**
 * Assembles a source to a code object, which `wm_module_load` loads. `target` may be NULL if the
 * source has `.amdgcn_target`. The bytes live until the thread's next call of `wm_assemble`.
 *
 * # Safety
 * `target` is NULL or a string, and `source` is a string; `bytes` and `size` lead to variables.
 */
const char *wm_assemble(const char *target, const char *source, const void **bytes, size_t *size);

/**
 * Disassembles machine code of GCN or CDNA: one instruction a line. A dword that is no instruction
 * becomes `.long`, and bytes at the end that are no dword become `.byte`. The string lives until the
 * thread's next call that returns text of that kind.
 *
 * # Safety
 * `target` is a string; `size` bytes at `bytes` can be read; `text` leads to a variable.
 */
const char *wm_disassemble(const char *target,
                           const void *bytes,
                           size_t size,
                           const char **text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WAVEMILL_H */
