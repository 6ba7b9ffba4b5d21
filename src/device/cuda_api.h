/* SPDX-License-Identifier: MIT */
/* cuda_api.h: the part of the CUDA driver and of NVRTC that cuda.c calls, declared here: NVIDIA's headers are not free.
 * Names, values and signatures are those of CUDA 12 and 13. */
#ifndef SPARC_DEVICE_CUDA_API_H
#define SPARC_DEVICE_CUDA_API_H

#include <stddef.h>

typedef int CUresult, CUdevice, nvrtcResult;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct _nvrtcProgram *nvrtcProgram;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_UNKNOWN = 999
};

enum {
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
};

/* result, name, parameters */
#define CUDA_CALLS(CALL)                                                              \
  CALL(CUresult, cuInit, (unsigned))                                                  \
  CALL(CUresult, cuDriverGetVersion, (int *))                                         \
  CALL(CUresult, cuGetErrorName, (CUresult, const char **))                           \
  CALL(CUresult, cuDeviceGetCount, (int *))                                           \
  CALL(CUresult, cuDeviceGet, (CUdevice *, int))                                      \
  CALL(CUresult, cuDeviceGetName, (char *, int, CUdevice))                            \
  CALL(CUresult, cuDeviceGetAttribute, (int *, int, CUdevice))                        \
  CALL(CUresult, cuDeviceTotalMem_v2, (size_t *, CUdevice))                           \
  CALL(CUresult, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                   \
  CALL(CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice))                            \
  CALL(CUresult, cuCtxSetCurrent, (CUcontext))                                        \
  CALL(CUresult, cuStreamCreate, (CUstream *, unsigned))                              \
  CALL(CUresult, cuStreamDestroy_v2, (CUstream))                                      \
  CALL(CUresult, cuStreamSynchronize, (CUstream))                                     \
  CALL(CUresult, cuMemAlloc_v2, (CUdeviceptr *, size_t))                              \
  CALL(CUresult, cuMemFree_v2, (CUdeviceptr))                                         \
  CALL(CUresult, cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))     \
  CALL(CUresult, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
  CALL(CUresult, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))       \
  CALL(CUresult, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))  \
  CALL(CUresult, cuModuleLoadData, (CUmodule *, const void *))                        \
  CALL(CUresult, cuModuleUnload, (CUmodule))                                          \
  CALL(CUresult, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))         \
  CALL(CUresult, cuLaunchKernel,                                                      \
       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

#define NVRTC_CALLS(CALL)                                                                           \
  CALL(nvrtcResult, nvrtcCreateProgram,                                                             \
       (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
  CALL(nvrtcResult, nvrtcDestroyProgram, (nvrtcProgram *))                                          \
  CALL(nvrtcResult, nvrtcCompileProgram, (nvrtcProgram, int, const char *const *))                  \
  CALL(nvrtcResult, nvrtcGetProgramLogSize, (nvrtcProgram, size_t *))                               \
  CALL(nvrtcResult, nvrtcGetProgramLog, (nvrtcProgram, char *))                                     \
  CALL(nvrtcResult, nvrtcGetCUBINSize, (nvrtcProgram, size_t *))                                    \
  CALL(nvrtcResult, nvrtcGetCUBIN, (nvrtcProgram, char *))                                          \
  CALL(nvrtcResult, nvrtcGetPTXSize, (nvrtcProgram, size_t *))                                      \
  CALL(nvrtcResult, nvrtcGetPTX, (nvrtcProgram, char *))                                            \
  CALL(nvrtcResult, nvrtcGetNumSupportedArchs, (int *))                                             \
  CALL(nvrtcResult, nvrtcGetSupportedArchs, (int *))                                                \
  CALL(const char *, nvrtcGetErrorString, (nvrtcResult))

#endif
