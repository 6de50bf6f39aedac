// Reserves room in the printf buffer, for Clang's code, as neither libclc nor ROCm's HIP libraries do: a dword of bytes in
// use, a dword of bytes that there are, then the records. The buffer's address is the tenth hidden argument of 8 bytes.
global char *__printf_alloc(uint bytes) {
    constant ulong *hidden = (constant ulong *)__builtin_amdgcn_implicitarg_ptr();
    global uint *buffer = (global uint *)hidden[9];
    uint there = buffer[1];
    uint used = __scoped_atomic_load_n(buffer, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    while (8 + used + bytes <= there) {
        if (__scoped_atomic_compare_exchange_n(buffer, &used, used + bytes, false, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
            return (global char *)buffer + 8 + used;
    }
    return 0;
}
