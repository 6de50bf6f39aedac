; What Wavemill's texts of Cayman are held against: each kernel makes LLVM's r600 backend write some of the words.
target triple = "r600--"

@lds = internal addrspace(3) global [64 x i32] poison

define amdgpu_kernel void @floats(ptr addrspace(1) %out, float %a, float %b, float %c) {
  %n = fneg float %a
  %sum = fadd float %n, %b
  %m = call float @llvm.fabs.f32(float %c)
  %s = fadd float %sum, %m
  %t = fadd float %s, 5.0e-1
  %p = fmul contract float %t, %b
  %q = fadd contract float %p, %c
  %r = call float @llvm.maxnum.f32(float %q, float 0.0)
  %u = call float @llvm.minnum.f32(float %r, float 1.0)
  store float %u, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @integers(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %a) {
  %v = load <4 x i32>, ptr addrspace(1) %in
  %w = add <4 x i32> %v, <i32 1, i32 -1, i32 1000, i32 70000>
  %p = getelementptr <4 x i32>, ptr addrspace(1) %out, i32 1
  store <4 x i32> %w, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %in, i32 9
  %x = load i32, ptr addrspace(1) %q
  %y = add i32 %x, %a
  store i32 %y, ptr addrspace(1) %out
  %l = load <2 x i32>, ptr addrspace(1) %in
  %o = getelementptr <2 x i32>, ptr addrspace(1) %out, i32 7
  store <2 x i32> %l, ptr addrspace(1) %o
  ret void
}

define amdgpu_kernel void @shared(ptr addrspace(1) %out, i32 %a, i32 %b) {
  %p = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %a
  %v = load i32, ptr addrspace(3) %p
  %q = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %b
  store i32 %a, ptr addrspace(3) %q
  %w = add i32 %v, %b
  store i32 %w, ptr addrspace(1) %out
  ret void
}

declare float @llvm.fabs.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.minnum.f32(float, float)
