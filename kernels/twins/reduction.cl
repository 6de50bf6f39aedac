#include "opencl12.h"
#include "reduction.cl"
