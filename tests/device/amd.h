/* SPDX-License-Identifier: MIT */
/* amd.h: OpenCL's functions that the kernels use as builtins of clang, so that it compiles them to machine code of AMD
 * without a device library; scripts/test-device.sh reads registers and scratch memory from it. */
#define get_local_id(dimension) __builtin_amdgcn_workitem_id_x()
#define get_group_id(dimension) __builtin_amdgcn_workgroup_id_x()
#define barrier(flags)                                                                  \
  (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
   __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#define fma(a, b, c)     __builtin_choose_expr(sizeof(a) == 8, __builtin_fma(a, b, c), __builtin_fmaf(a, b, c))
#define sqrt(x)          __builtin_sqrtf(x)
#define min(a, b)        ((a) < (b) ? (a) : (b))
#define max(a, b)        ((a) > (b) ? (a) : (b))
#define vload2(at, from) (*(const __global float2 *)(from))
#define vload4(at, from) (*(const __global float4 *)(from))
