// Every atomic operation at every scope, with each of its memory orders at one scope or another. A source defines, and then
// includes this:
//   SPACE              the memory that the cells are in
//   UNSIGNED, SIGNED   the numbers in them
//   SHIFT              by how many places the orders are shifted against the scopes
// Each operation has cells of its own, which at each scope are shared by those that the scope allows it to. Which of them
// comes first changes neither what is in the cells at the end nor the sums of what the operations return.
//
// Clang's builtins are what OpenCL's functions are made of. Those themselves are a switch over all orders and scopes each,
// which makes kernels of 300 kB without optimisation.
enum { LOAD, STORE, EXCHANGE, STRONG, WEAK, ADD, SUB, OR, XOR, AND, UMIN, UMAX, SMIN, SMAX };

#define SCOPE(s)                                                                                                       \
    ((s) == 0   ? __MEMORY_SCOPE_SINGLE                                                                                \
     : (s) == 1 ? __MEMORY_SCOPE_WVFRNT                                                                                \
     : (s) == 2 ? __MEMORY_SCOPE_WRKGRP                                                                                \
     : (s) == 3 ? __MEMORY_SCOPE_DEVICE                                                                                \
                : __MEMORY_SCOPE_SYSTEM)

// The orders that a load, a store and the others may have.
#define LOAD_ORDER(k) ((k) % 3 == 0 ? __ATOMIC_RELAXED : (k) % 3 == 1 ? __ATOMIC_ACQUIRE : __ATOMIC_SEQ_CST)
#define STORE_ORDER(k) ((k) % 3 == 0 ? __ATOMIC_RELAXED : (k) % 3 == 1 ? __ATOMIC_RELEASE : __ATOMIC_SEQ_CST)
#define ORDER(k)                                                                                                       \
    ((k) % 5 == 0   ? __ATOMIC_RELAXED                                                                                 \
     : (k) % 5 == 1 ? __ATOMIC_ACQUIRE                                                                                 \
     : (k) % 5 == 2 ? __ATOMIC_RELEASE                                                                                 \
     : (k) % 5 == 3 ? __ATOMIC_ACQ_REL                                                                                 \
                    : __ATOMIC_SEQ_CST)
// Where a comparison fails, the order is that of a load and not a stronger one. All nine pairs occur.
#define STRONG_FAILURE(k) ((k) % 5 == 1 || (k) % 5 == 4 ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED)
#define WEAK_FAILURE(k) ((k) % 5 == 3 ? __ATOMIC_ACQUIRE : (k) % 5 == 4 ? __ATOMIC_SEQ_CST : __ATOMIC_RELAXED)

// What everybody puts into a cell that is shared by all, and what is there where it has been taken out again.
#define COMMON(s) (77 + (s))
#define TIDY 55
// Bits that `or` may set, and that `and` leaves alone.
#define SOME_BITS ((UNSIGNED)0x3333333355555555)
// Of the items that share a cell, only one in so many swaps: each has to try again when another was faster.
#define SWAPPERS 16

#define EVERY_SCOPE(WHAT, ...)                                                                                         \
    WHAT(0, __VA_ARGS__)                                                                                               \
    WHAT(1, __VA_ARGS__)                                                                                               \
    WHAT(2, __VA_ARGS__)                                                                                               \
    WHAT(3, __VA_ARGS__)                                                                                               \
    WHAT(4, __VA_ARGS__)

#define CELL(op, s) (&cells[(op) * stride + place##s])
// Scopes count differently in the sums, so that one cannot make up for another.
#define COUNT(s, amount) sum += (2 * (s) + 1) * (UNSIGNED)(amount);

#define DO_LOAD(s, op) COUNT(s, __scoped_atomic_load_n(CELL(op, s), LOAD_ORDER(s + SHIFT), SCOPE(s)))
#define DO_STORE(s, op)                                                                                                \
    __scoped_atomic_store_n(CELL(op, s), s == 0 ? v : COMMON(s), STORE_ORDER(s + SHIFT), SCOPE(s));
#define DO_FETCH(s, op, function, type, operand, result)                                                               \
    {                                                                                                                  \
        const type b = (type)(operand);                                                                                \
        const type a = function((SPACE type *)CELL(op, s), b, ORDER(s + op + SHIFT), SCOPE(s));                        \
        COUNT(s, result)                                                                                               \
    }
#define DO_EXCHANGE(s, op)                                                                                             \
    DO_FETCH(s, op, __scoped_atomic_exchange_n, UNSIGNED, s < 3 ? v : COMMON(s), b - a)
#define TAKE_OUT(s)                                                                                                    \
    COUNT(s, -__scoped_atomic_exchange_n(CELL(EXCHANGE, s), TIDY, __ATOMIC_RELAXED, SCOPE(s)))
// The first guess is wrong, mostly.
#define DO_SWAP(s, op, weak, FAILURE, result)                                                                          \
    if (s == 0 || get_local_id(0) % SWAPPERS == 0) {                                                                   \
        UNSIGNED a = 0, b;                                                                                             \
        do                                                                                                             \
            b = (result);                                                                                              \
        while (!__scoped_atomic_compare_exchange_n(CELL(op, s), &a, b, weak, ORDER(s + SHIFT), FAILURE(s + SHIFT),     \
                                                   SCOPE(s)));                                                         \
        COUNT(s, b - a)                                                                                                \
    }
#define FINISH(op)                                                                                                     \
    __scoped_atomic_fetch_add(&total[op], sum, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                               \
    sum = 0;

// What an item does to its cells: operation op has them from op * stride on, one for each item, each wave, each group, and
// two for all. `v` is the item's operand. What it adds to total[op]:
//   loads        the value
//   add, sub     the value before, times the operand: every two items of a cell add or take away their product once
//   the others   the new value less the one before: for each cell, this makes the last value less the first
static void run(SPACE UNSIGNED *cells, global UNSIGNED *total, UNSIGNED v, uint item, uint items, uint group,
                uint groups) {
    const uint place0 = item, place1 = items + item / 64, place2 = items + items / 64 + group;
    const uint place3 = items + items / 64 + groups, place4 = place3 + 1, stride = place4 + 1;
    UNSIGNED sum = 0;

    EVERY_SCOPE(DO_LOAD, LOAD)
    FINISH(LOAD)
    EVERY_SCOPE(DO_STORE, STORE)
    EVERY_SCOPE(DO_SWAP, STRONG, false, STRONG_FAILURE, a * (2 * v + 1))
    FINISH(STRONG)
    EVERY_SCOPE(DO_SWAP, WEAK, true, WEAK_FAILURE, a + 3 * v)
    FINISH(WEAK)
    EVERY_SCOPE(DO_FETCH, ADD, __scoped_atomic_fetch_add, UNSIGNED, v, a * b)
    FINISH(ADD)
    EVERY_SCOPE(DO_FETCH, SUB, __scoped_atomic_fetch_sub, UNSIGNED, v, a * b)
    FINISH(SUB)
    EVERY_SCOPE(DO_FETCH, OR, __scoped_atomic_fetch_or, UNSIGNED, v & SOME_BITS, (a | b) - a)
    FINISH(OR)
    EVERY_SCOPE(DO_FETCH, XOR, __scoped_atomic_fetch_xor, UNSIGNED, v, (a ^ b) - a)
    FINISH(XOR)
    EVERY_SCOPE(DO_FETCH, AND, __scoped_atomic_fetch_and, UNSIGNED, v | SOME_BITS, (a & b) - a)
    FINISH(AND)
    EVERY_SCOPE(DO_FETCH, UMIN, __scoped_atomic_fetch_min, UNSIGNED, v, min(a, b) - a)
    FINISH(UMIN)
    EVERY_SCOPE(DO_FETCH, UMAX, __scoped_atomic_fetch_max, UNSIGNED, v, max(a, b) - a)
    FINISH(UMAX)
    EVERY_SCOPE(DO_FETCH, SMIN, __scoped_atomic_fetch_min, SIGNED, v, (UNSIGNED)min(a, b) - (UNSIGNED)a)
    FINISH(SMIN)
    EVERY_SCOPE(DO_FETCH, SMAX, __scoped_atomic_fetch_max, SIGNED, v, (UNSIGNED)max(a, b) - (UNSIGNED)a)
    FINISH(SMAX)
    EVERY_SCOPE(DO_EXCHANGE, EXCHANGE)
    // What came last into a cell within a group is taken out again, as it may be any item's.
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    TAKE_OUT(0)
    if (get_local_id(0) % 64 == 0)
        TAKE_OUT(1)
    if (get_local_id(0) == 0)
        TAKE_OUT(2)
    FINISH(EXCHANGE)
}
