/* SPDX-License-Identifier: MIT */
/* cuda.c: the CUDA backend: the driver's API, and NVRTC as the compiler, both opened at run time. NVRTC comes with the
 * toolkit, not with the driver; without it, stored kernels still load, and OpenCL needs the driver alone.
 *
 * SPARC_CUDA_DRIVER and SPARC_CUDA_COMPILER name other libraries, which is how tests run this file without a GPU.
 */
#include "base/dynamic.h"
#include "base/error.h"
#include "device/backend.h"
#include "device/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(bugprone-macro-parentheses): types and names, not values */
#define CUDA_MEMBER(result, name, parameters) result(*name) parameters;
typedef struct cuda_calls {
  CUDA_CALLS(CUDA_MEMBER)
} cuda_calls;
typedef struct nvrtc_calls {
  NVRTC_CALLS(CUDA_MEMBER)
} nvrtc_calls;

typedef struct cuda_context {
  cuda_calls cu;
  CUdevice device;
  CUcontext context;
  CUstream stream;
  int capability; /* 90 for sm_90 */
} cuda_context;

/* a module, and its image for the cache */
typedef struct cuda_program {
  CUmodule module;
  program_binary image;
} cuda_program;

/* ---- libraries ---------------------------------------------------------------------------------- */

/* the first of some libraries that is there; never closed, as drivers keep threads */
static void *open_library(const char *variable, const char *const *names) {
  const char *other = getenv(variable);
  if (other && *other) return dlopen(other, RTLD_NOW | RTLD_LOCAL);
  void *library = NULL;
  for (; *names && !library; names++) library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  return library;
}

#define CUDA_LOAD(result, name, parameters) \
  if (!dynamic_function(library, #name, &calls->name)) return false;

static bool load_driver(cuda_calls *calls) {
  static const char *const names[] = {"libcuda.so.1", NULL};
  void *library = open_library("SPARC_CUDA_DRIVER", names);
  if (!library) return false;
  CUDA_CALLS(CUDA_LOAD)
  return calls->cuInit(0) == CUDA_SUCCESS;
}

static bool load_compiler(nvrtc_calls *calls) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  void *library = open_library("SPARC_CUDA_COMPILER", names);
  if (!library) return false;
  NVRTC_CALLS(CUDA_LOAD)
  return true;
}

static sparc_status refuse(const cuda_calls *cu, const char *call, CUresult code) {
  const char *name = NULL;
  if (code == CUDA_SUCCESS) return SPARC_OK;
  if (cu->cuGetErrorName(code, &name) != CUDA_SUCCESS || !name) name = "an error of the driver";
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return fail(SPARC_NO_MEMORY, "%s: the device has not enough memory (%s)", call, name);
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      return fail(SPARC_DEVICE, "%s: the device is lost (%s); close it and open it again", call, name);
    default:
      return fail(SPARC_DEVICE, "%s: %s (%d)", call, name, code);
  }
}

/* ---- devices ------------------------------------------------------------------------------------ */

static sparc_status cuda_count(int *count) {
  cuda_calls cu = {0};
  *count = 0;
  if (load_driver(&cu) && cu.cuDeviceGetCount(count) != CUDA_SUCCESS) *count = 0;
  return SPARC_OK;
}

static int attribute(const cuda_calls *cu, CUdevice device, int which) {
  int value = 0;
  /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): load_driver has filled the table */
  return cu->cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static sparc_status find_device(cuda_calls *cu, int index, CUdevice *device) {
  if (!load_driver(cu)) return fail(SPARC_DEVICE, "device cuda:%d is gone: there is no driver", index);
  return refuse(cu, "cuDeviceGet", cu->cuDeviceGet(device, index));
}

/* every device that CUDA 12 supports has what exact arithmetic needs */
static sparc_status cuda_describe(int index, sparc_device_info *info) {
  cuda_calls cu = {0};
  CUdevice device = 0;
  int version = 0;
  sparc_status status = find_device(&cu, index, &device);
  if (status != SPARC_OK) return status;
  *info = (sparc_device_info){.backend = "cuda",
                              .platform = "NVIDIA CUDA",
                              .local = (size_t)attribute(&cu, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
                              .units = attribute(&cu, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                              .doubles = 1,
                              .exact = 1,
                              .usable = 1};
  if (cu.cuDeviceGetName(info->name, (int)sizeof info->name, device) != CUDA_SUCCESS) info->name[0] = '\0';
  if (cu.cuDeviceTotalMem_v2(&info->memory, device) != CUDA_SUCCESS) info->memory = 0;
  info->largest = info->memory;
  cu.cuDriverGetVersion(&version);
  snprintf(info->driver, sizeof info->driver, "CUDA %d.%d, sm_%d%d", version / 1000, version % 1000 / 10,
           attribute(&cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
           attribute(&cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  return SPARC_OK;
}

static void cuda_close(void *context) {
  cuda_context *c = context;
  if (c->stream) c->cu.cuStreamSynchronize(c->stream);
  if (c->stream) c->cu.cuStreamDestroy_v2(c->stream);
  if (c->context) c->cu.cuDevicePrimaryCtxRelease_v2(c->device);
  sparc_free(c);
}

static sparc_status cuda_open(int index, void **context) {
  cuda_context *c = sparc_alloc(sizeof *c);
  if (!c) return fail(SPARC_NO_MEMORY, "no memory for a device");
  sparc_status status = find_device(&c->cu, index, &c->device);
  if (status == SPARC_OK)
    status = refuse(&c->cu, "cuDevicePrimaryCtxRetain", c->cu.cuDevicePrimaryCtxRetain(&c->context, c->device));
  if (status == SPARC_OK) status = refuse(&c->cu, "cuCtxSetCurrent", c->cu.cuCtxSetCurrent(c->context));
  if (status == SPARC_OK) status = refuse(&c->cu, "cuStreamCreate", c->cu.cuStreamCreate(&c->stream, 0));
  if (status != SPARC_OK) {
    cuda_close(c);
    return status;
  }
  c->capability = 10 * attribute(&c->cu, c->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                  attribute(&c->cu, c->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  *context = c;
  return SPARC_OK;
}

/* the calling thread may be another one than last time */
static cuda_context *current(void *context) {
  cuda_context *c = context;
  c->cu.cuCtxSetCurrent(c->context);
  return c;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static CUdeviceptr pointer_of(const void *buffer) { return (CUdeviceptr)(uintptr_t)buffer; }

static void cuda_release(void *context, void *buffer) { current(context)->cu.cuMemFree_v2(pointer_of(buffer)); }

static sparc_status cuda_allocate(void *context, size_t bytes, void **buffer) {
  cuda_context *c = current(context);
  CUdeviceptr pointer = 0;
  CUresult code = c->cu.cuMemAlloc_v2(&pointer, bytes);
  if (code == CUDA_ERROR_OUT_OF_MEMORY) return fail(SPARC_NO_MEMORY, "no %zu bytes of device memory", bytes);
  if (code != CUDA_SUCCESS) return refuse(&c->cu, "cuMemAlloc", code);
  code = c->cu.cuMemsetD8Async(pointer, 0, bytes, c->stream);
  if (code != CUDA_SUCCESS) c->cu.cuMemFree_v2(pointer);
  *buffer = (void *)(uintptr_t)pointer; /* NOLINT(performance-no-int-to-ptr): an address of the device */
  return refuse(&c->cu, "cuMemsetD8Async", code);
}

static sparc_status cuda_wait(void *context) {
  cuda_context *c = current(context);
  return refuse(&c->cu, "cuStreamSynchronize", c->cu.cuStreamSynchronize(c->stream));
}

static sparc_status cuda_write(void *context, void *buffer, size_t offset, const void *from, size_t bytes) {
  cuda_context *c = current(context);
  sparc_status status = refuse(&c->cu, "cuMemcpyHtoDAsync",
                               c->cu.cuMemcpyHtoDAsync_v2(pointer_of(buffer) + offset, from, bytes, c->stream));
  return status == SPARC_OK ? cuda_wait(context) : status;
}

static sparc_status cuda_read(void *context, void *buffer, size_t offset, void *to, size_t bytes) {
  cuda_context *c = current(context);
  sparc_status status = refuse(&c->cu, "cuMemcpyDtoHAsync",
                               c->cu.cuMemcpyDtoHAsync_v2(to, pointer_of(buffer) + offset, bytes, c->stream));
  return status == SPARC_OK ? cuda_wait(context) : status;
}

static sparc_status cuda_copy(void *context, void *from, size_t from_offset, void *to, size_t to_offset, size_t bytes) {
  cuda_context *c = current(context);
  return refuse(
      &c->cu, "cuMemcpyDtoDAsync",
      c->cu.cuMemcpyDtoDAsync_v2(pointer_of(to) + to_offset, pointer_of(from) + from_offset, bytes, c->stream));
}

/* ---- programs ----------------------------------------------------------------------------------- */

/* the first lines of the compiler's log for the error message, all of them for the log */
static sparc_status report_build(const nvrtc_calls *nvrtc, nvrtcProgram program, nvrtcResult code) {
  size_t size = 0;
  nvrtc->nvrtcGetProgramLogSize(program, &size);
  char *text = size > 0 ? calloc(size + 1, 1) : NULL;
  if (text) nvrtc->nvrtcGetProgramLog(program, text);
  const sparc_status status = fail(SPARC_DEVICE, "the kernels do not compile (%s): %.380s",
                                   nvrtc->nvrtcGetErrorString(code), text && *text ? text : "NVRTC gives no log");
  for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
    end = strchr(line, '\n');
    if (end) *end = '\0';
    log_line("%s", line);
  }
  free(text);
  return status;
}

/* a device newer than the compiler gets PTX of the compiler's newest architecture, which the driver compiles */
static bool is_supported(const nvrtc_calls *nvrtc, int capability, int *newest) {
  int count = 0, archs[256];
  *newest = capability;
  if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0 || count < 1 || count > 256) return true;
  if (nvrtc->nvrtcGetSupportedArchs(archs) != 0) return true;
  for (int i = 0; i < count; i++)
    if (archs[i] == capability) return true;
  *newest = archs[count - 1];
  return false;
}

static sparc_status compile(const nvrtc_calls *nvrtc, nvrtcProgram program, int capability, bool fast,
                            program_binary *image) {
  int newest;
  char architecture[48];
  const bool supported = is_supported(nvrtc, capability, &newest);
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d", supported ? "sm" : "compute", newest);
  const char *const exact_options[] = {
      architecture, "--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "-w"};
  const char *const fast_options[] = {architecture,        "--std=c++17", "--fmad=true", "--prec-div=false",
                                      "--prec-sqrt=false", "--ftz=true",  "-w"};
  nvrtcResult code = nvrtc->nvrtcCompileProgram(program, (int)(sizeof exact_options / sizeof *exact_options),
                                                fast ? fast_options : exact_options);
  if (code != 0) return report_build(nvrtc, program, code);
  code = supported ? nvrtc->nvrtcGetCUBINSize(program, &image->size) : nvrtc->nvrtcGetPTXSize(program, &image->size);
  if (code != 0 || image->size == 0)
    return fail(SPARC_DEVICE, "NVRTC gives no image: %s", nvrtc->nvrtcGetErrorString(code));
  image->bytes = malloc(image->size);
  if (!image->bytes) return fail(SPARC_NO_MEMORY, "no memory for %zu bytes of kernels", image->size);
  code = supported ? nvrtc->nvrtcGetCUBIN(program, image->bytes) : nvrtc->nvrtcGetPTX(program, image->bytes);
  return code == 0 ? SPARC_OK : fail(SPARC_DEVICE, "NVRTC gives no image: %s", nvrtc->nvrtcGetErrorString(code));
}

static void cuda_release_program(void *context, void *program) {
  cuda_program *p = program;
  if (p->module) current(context)->cu.cuModuleUnload(p->module);
  free(p->image.bytes);
  sparc_free(p);
}

/* takes the image */
static sparc_status load_module(cuda_context *c, program_binary image, void **out) {
  cuda_program *program = sparc_alloc(sizeof *program);
  if (!program) {
    free(image.bytes);
    return fail(SPARC_NO_MEMORY, "no memory for a program");
  }
  program->image = image;
  const sparc_status status = refuse(&c->cu, "cuModuleLoadData", c->cu.cuModuleLoadData(&program->module, image.bytes));
  if (status != SPARC_OK) {
    cuda_release_program(c, program);
    return status;
  }
  *out = program;
  return SPARC_OK;
}

static sparc_status cuda_build(void *context, const char *text, bool fast, void **out) {
  cuda_context *c = current(context);
  nvrtc_calls nvrtc = {0};
  nvrtcProgram program = NULL;
  program_binary image = {NULL, 0};
  if (!load_compiler(&nvrtc))
    return fail(SPARC_DEVICE,
                "the kernels cannot be compiled: NVRTC (libnvrtc.so.13 or .12) is not installed; "
                "the backend opencl does without it");
  nvrtcResult code = nvrtc.nvrtcCreateProgram(&program, text, "sparc.cu", 0, NULL, NULL);
  if (code != 0) return fail(SPARC_DEVICE, "nvrtcCreateProgram: %s", nvrtc.nvrtcGetErrorString(code));
  const sparc_status status = compile(&nvrtc, program, c->capability, fast, &image);
  nvrtc.nvrtcDestroyProgram(&program);
  if (status == SPARC_OK) return load_module(c, image, out);
  free(image.bytes);
  return status;
}

static bool copy_image(const program_binary *from, program_binary *to) {
  *to = (program_binary){malloc(from->size), from->size};
  if (to->bytes) memcpy(to->bytes, from->bytes, from->size);
  return to->bytes;
}

static sparc_status cuda_load(void *context, const program_binary *binary, bool fast, void **out) {
  (void)fast;
  program_binary image;
  if (!copy_image(binary, &image)) return fail(SPARC_NO_MEMORY, "no memory for %zu bytes of kernels", binary->size);
  return load_module(current(context), image, out);
}

static sparc_status cuda_binary(void *context, void *program, program_binary *out) {
  (void)context;
  const cuda_program *p = program;
  return copy_image(&p->image, out) ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %zu bytes", p->image.size);
}

static sparc_status cuda_kernel(void *context, void *program, const char *name, void **kernel) {
  cuda_context *c = current(context);
  const cuda_program *p = program;
  CUfunction function = NULL;
  const CUresult code = c->cu.cuModuleGetFunction(&function, p->module, name);
  if (code != CUDA_SUCCESS) return refuse(&c->cu, name, code);
  *kernel = function;
  return SPARC_OK;
}

static void cuda_release_kernel(void *context, void *kernel) { (void)context, (void)kernel; }

/* ---- work --------------------------------------------------------------------------------------- */

static sparc_status cuda_launch(void *context, const kernel_launch *launch) {
  cuda_context *c = current(context);
  union {
    CUdeviceptr pointer;
    int narrow;
    long long wide;
  } value[LAUNCH_ARGUMENTS];
  void *arguments[LAUNCH_ARGUMENTS + 1] = {NULL};
  for (size_t i = 0; i < launch->arguments; i++) {
    const launch_argument *a = &launch->argument[i];
    arguments[i] = &value[i];
    if (a->kind == ARGUMENT_BUFFER)
      value[i].pointer = pointer_of(a->buffer);
    else if (a->kind == ARGUMENT_INT)
      value[i].narrow = (int)a->value;
    else
      value[i].wide = a->value;
  }
  return refuse(&c->cu, "cuLaunchKernel",
                c->cu.cuLaunchKernel(launch->kernel, (unsigned)launch->groups, 1, 1, GROUP_SIZE, 1, 1, 0, c->stream,
                                     arguments, NULL));
}

const device_backend backend_cuda = {
    .name = "cuda",
    .driver = "NVIDIA's, which has libcuda.so.1",
    .count = cuda_count,
    .describe = cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .build = cuda_build,
    .load = cuda_load,
    .binary = cuda_binary,
    .release_program = cuda_release_program,
    .kernel = cuda_kernel,
    .release_kernel = cuda_release_kernel,
    .launch = cuda_launch,
    .wait = cuda_wait,
};
