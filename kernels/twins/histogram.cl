#include "opencl12.h"
#include "histogram.cl"
