// What the kernels use of OpenCL 2, in OpenCL 1.2, for compilers that have no more: clang for Cayman, and OpenCL for the
// processor.

// C11 atomics are the atomic functions of OpenCL 1.2. Their orders and scopes are lost: a wave of Cayman executes its
// accesses in order, and an atomic instruction of x86 orders all accesses. Loads and stores are volatile.
typedef uint atomic_uint;
typedef uint atomic_flag;

enum { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
enum {
    memory_scope_work_item,
    memory_scope_sub_group,
    memory_scope_work_group,
    memory_scope_device,
    memory_scope_all_svm_devices
};

#define ATOMIC_CELL(p) (*(volatile __typeof__(*(p)) *)(p))
#define atomic_init(p, value) ((void)(*(p) = (value)))
#define atomic_load_explicit(p, order, scope) ATOMIC_CELL(p)
#define atomic_store_explicit(p, value, order, scope) ((void)(ATOMIC_CELL(p) = (value)))
#define atomic_fetch_add_explicit(p, value, order, scope) atomic_add(p, value)
#define atomic_fetch_min_explicit(p, value, order, scope) atomic_min(p, value)
#define atomic_flag_test_and_set_explicit(p, order, scope) (atomic_xchg(p, 1u) != 0)
#define atomic_flag_clear_explicit(p, order, scope) ((void)(ATOMIC_CELL(p) = 0))

// The four products of V_DOT4_I32_I8; no caller clamps.
static inline __attribute__((always_inline)) int dot4(int a, int b, int sum) {
    const char4 x = as_char4(a), y = as_char4(b);
    return sum + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
#define __builtin_amdgcn_sdot4(a, b, sum, clamp) dot4(a, b, sum)
