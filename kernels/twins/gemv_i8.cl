#include "opencl12.h"
#include "gemv_i8.cl"
