// Quotients, square roots and fused products that must be correctly rounded for every operand, in both precisions.
kernel void rounded_f32(global const float *restrict a, global const float *restrict b, global float *restrict quotient,
                        global float *restrict root, global float *restrict fused, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    quotient[i] = a[i] / b[i];
    root[i] = sqrt(a[i]);
    fused[i] = fma(a[i], b[i], quotient[i]);
}

kernel void rounded_f64(global const double *restrict a, global const double *restrict b,
                        global double *restrict quotient, global double *restrict root, global double *restrict fused,
                        uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    quotient[i] = a[i] / b[i];
    root[i] = sqrt(a[i]);
    fused[i] = fma(a[i], b[i], quotient[i]);
}
