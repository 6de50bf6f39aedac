// Arithmetic in a program that asks for denormals to be flushed (-cl-denorms-are-zero, see build.sh): the mode that the
// kernel starts in is another one, and a division switches denormals on for its steps and off again.
kernel void flushed(global const float *restrict a, global const float *restrict b, global float *restrict quotient,
                    global const float *restrict x, global const float *restrict y, global float *restrict blend,
                    uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    quotient[i] = a[i] / b[i];
    blend[i] = x[i] * y[i] + x[i];
}
