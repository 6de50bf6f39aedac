// y = a x + y, in HIP: docs/compiling.md has the line that runs it.
#include <hip/hip_runtime.h>

__global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
