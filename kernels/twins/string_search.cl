#include "opencl12.h"
#include "string_search.cl"
