// What the kernels use of OpenCL 2 and of GCN, in OpenCL 1.2, which is all that clang has for Cayman. It is included before
// every source.
#include "../opencl12.h"

// LLVM has no calls there, so that every function must be inlined.
#define noinline

// A wave has nothing else to do.
#define __builtin_amdgcn_s_sleep(count) ((void)0)

// Cayman's mode belongs to a clause, and LLVM does not set it. A kernel that calls this is refused by name.
void s_setreg(uint field, uint value);
#define __builtin_amdgcn_s_setreg(field, value) s_setreg(field, value)
