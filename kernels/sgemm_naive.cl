// C = A * B for row-major matrices, one element of C for each item: the version of the textbooks, with every operand
// read from memory and every product rounded.
kernel void sgemm_naive(global const float *restrict a, global const float *restrict b, global float *restrict c, uint m,
                        uint n, uint k) {
    const uint row = get_global_id(1), col = get_global_id(0);
    if (row >= m || col >= n)
        return;
    float sum = 0.0f;
    for (uint i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
