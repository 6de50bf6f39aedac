// fma as the one instruction that it is on every target, included before every kernel.
//
// libclc takes the instruction of single precision for absent: its own function computes with integers and loses
// denormals. Optimised code never calls it, because the compiler knows what fma means; a build without optimisation would.
#define FUSED(type)                                                                                                        \
    extern inline __attribute__((gnu_inline, overloadable, const, always_inline)) type fma(type a, type b, type c) {       \
        return __builtin_elementwise_fma(a, b, c);                                                                         \
    }

FUSED(float)
FUSED(float2)
FUSED(float3)
FUSED(float4)
FUSED(double)
FUSED(double2)
FUSED(double4)

#undef FUSED
