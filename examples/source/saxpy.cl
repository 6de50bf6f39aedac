// y = a x + y, in OpenCL C: docs/compiling.md has the line that runs it.
kernel void saxpy(float a, global const float *x, global float *y, uint n) {
    uint i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}
