// Quotients and remainders of 64-bit integers, which the machine has no instructions for. No divisor is 0, and the
// smallest signed number is not divided by -1.

kernel void divide_u64(global const ulong *restrict a, global const ulong *restrict b, global ulong *restrict quotient,
                       global ulong *restrict remainder, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    quotient[i] = a[i] / b[i];
    remainder[i] = a[i] % b[i];
}

kernel void divide_i64(global const long *restrict a, global const long *restrict b, global long *restrict quotient,
                       global long *restrict remainder, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    quotient[i] = a[i] / b[i];
    remainder[i] = a[i] % b[i];
}

// By numbers that the compiler knows: multiplications and shifts. signed_parts[4 * i + k] and unsigned_parts[4 * i + k]
// are a[i] / 10, a[i] % 10, a[i] / 1000000007 and a[i] % 4096.
kernel void divide_constant(global const ulong *restrict a, global ulong4 *restrict unsigned_parts,
                            global long4 *restrict signed_parts, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const ulong u = a[i];
    const long s = (long)u;
    unsigned_parts[i] = (ulong4)(u / 10, u % 10, u / 1000000007, u % 4096);
    signed_parts[i] = (long4)(s / 10, s % 10, s / 1000000007, s % 4096);
}
