/* SPDX-License-Identifier: MIT */
/* opencl_api.h: the part of OpenCL 1.2 that opencl.c calls, declared here so that building needs no package. Names and
 * values are Khronos'; tests/test_device.c compares them with <CL/cl.h> where that is installed. */
#ifndef SPARC_DEVICE_OPENCL_API_H
#define SPARC_DEVICE_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

enum {
  CL_SUCCESS = 0,
  CL_DEVICE_NOT_FOUND = -1,
  CL_DEVICE_NOT_AVAILABLE = -2,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_BUILD_PROGRAM_FAILURE = -11,
  CL_INVALID_COMMAND_QUEUE = -36,
  CL_INVALID_BINARY = -42,
  CL_INVALID_BUFFER_SIZE = -61,
  CL_PLATFORM_NOT_FOUND_KHR = -1001
};

enum {
  CL_PLATFORM_NAME = 0x0902,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_NAME = 0x102B,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,
  CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183
};

enum { CL_FP_DENORM = 1 << 0, CL_FP_FMA = 1 << 5, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7 };
enum { CL_MEM_READ_WRITE = 1 << 0 };
enum { CL_FALSE = 0, CL_TRUE = 1 };
#define CL_DEVICE_TYPE_CPU UINT64_C(2)
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

/* result, name, parameters */
#define OPENCL_CALLS(CALL)                                                                                             \
  CALL(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                               \
  CALL(cl_int, clGetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *))                                 \
  CALL(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))                      \
  CALL(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                                     \
  CALL(cl_context, clCreateContext,                                                                                    \
       (const intptr_t *, cl_uint, const cl_device_id *, void (*)(const char *, const void *, size_t, void *), void *, \
        cl_int *))                                                                                                     \
  CALL(cl_int, clReleaseContext, (cl_context))                                                                         \
  CALL(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))                      \
  CALL(cl_int, clReleaseCommandQueue, (cl_command_queue))                                                              \
  CALL(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                                    \
  CALL(cl_int, clReleaseMemObject, (cl_mem))                                                                           \
  CALL(cl_int, clEnqueueFillBuffer,                                                                                    \
       (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))        \
  CALL(cl_int, clEnqueueWriteBuffer,                                                                                   \
       (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))       \
  CALL(cl_int, clEnqueueReadBuffer,                                                                                    \
       (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))             \
  CALL(cl_int, clEnqueueCopyBuffer,                                                                                    \
       (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))              \
  CALL(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))          \
  CALL(cl_program, clCreateProgramWithBinary,                                                                          \
       (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *, cl_int *))        \
  CALL(cl_int, clBuildProgram,                                                                                         \
       (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *), void *))                \
  CALL(cl_int, clGetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *))                                      \
  CALL(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                   \
  CALL(cl_int, clReleaseProgram, (cl_program))                                                                         \
  CALL(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                                                \
  CALL(cl_int, clReleaseKernel, (cl_kernel))                                                                           \
  CALL(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                             \
  CALL(cl_int, clEnqueueNDRangeKernel,                                                                                 \
       (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,                 \
        const cl_event *, cl_event *))                                                                                 \
  CALL(cl_int, clFinish, (cl_command_queue))

#endif
