// The variables by which ROCm's device library asks what it is compiled for (its oclc modules).
__constant int __oclc_ISA_version = ISA;
__constant int __oclc_ABI_version = ABI;
__constant char __oclc_wavefrontsize64 = 1;

#include "../printf_alloc.h"
