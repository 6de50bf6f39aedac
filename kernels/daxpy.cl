// y = alpha * x + y in double precision, in a loop that takes the whole grid at each step. The product is rounded.
kernel void daxpy(global const double *restrict x, global double *restrict y, double alpha, uint n) {
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        y[i] = alpha * x[i] + y[i];
}
