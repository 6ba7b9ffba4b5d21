/* SPDX-License-Identifier: MIT */
/* opencl.c: the OpenCL backend. The ICD loader is opened at run time; its devices are counted over all platforms.
 *
 * The loader is never closed: drivers keep threads that would run unmapped code.
 */
#include "base/dynamic.h"
#include "base/error.h"
#include "device/backend.h"
#include "device/opencl_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(bugprone-macro-parentheses): types and names, not values */
#define OPENCL_MEMBER(result, name, parameters) result(*name) parameters;
typedef struct opencl_calls {
  OPENCL_CALLS(OPENCL_MEMBER)
} opencl_calls;

typedef struct opencl_context {
  opencl_calls cl;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
} opencl_context;

/* ---- loader ------------------------------------------------------------------------------------- */

/* false: there is no loader, or one that lacks a call */
static bool load_calls(opencl_calls *cl) {
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
#define OPENCL_LOAD(result, name, parameters) \
  if (!dynamic_function(library, #name, &cl->name)) return false;
  OPENCL_CALLS(OPENCL_LOAD)
  return true;
}

static const char *error_name(cl_int code) {
  static const struct {
    cl_int code;
    const char *name;
  } names[] = {{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
               {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
               {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
               {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
               {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
               {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
               {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
               {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
               {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return names[i].name;
  return "an error of the driver";
}

static sparc_status refuse(const char *call, cl_int code) {
  switch (code) {
    case CL_SUCCESS:
      return SPARC_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
      return fail(SPARC_NO_MEMORY, "%s: the device has not enough memory (%s)", call, error_name(code));
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_COMMAND_QUEUE:
      return fail(SPARC_DEVICE, "%s: the device is lost (%s); close it and open it again", call, error_name(code));
    default:
      return fail(SPARC_DEVICE, "%s: %s (%d)", call, error_name(code), (int)code);
  }
}

/* ---- devices ------------------------------------------------------------------------------------ */

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

typedef struct device_list {
  cl_platform_id platform[MAX_DEVICES];
  cl_device_id device[MAX_DEVICES];
  int count;
} device_list;

static void list_devices(const opencl_calls *cl, device_list *list) {
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint count = 0;
  list->count = 0;
  if (cl->clGetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
    const cl_uint space = (cl_uint)(MAX_DEVICES - list->count);
    cl_uint found = 0;
    if (space == 0 ||
        cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, space, list->device + list->count, &found) != CL_SUCCESS)
      continue;
    for (cl_uint d = 0; d < found && d < space; d++) list->platform[list->count++] = platforms[i];
  }
}

static sparc_status opencl_count(int *count) {
  opencl_calls cl = {0};
  device_list list = {.count = 0};
  if (load_calls(&cl)) list_devices(&cl, &list);
  *count = list.count;
  return SPARC_OK;
}

/* one line of text: drivers pad names with spaces */
static void read_text(const opencl_calls *cl, cl_device_id device, cl_uint what, char text[128]) {
  char value[1024] = "";
  if (cl->clGetDeviceInfo(device, what, sizeof value - 1, value, NULL) != CL_SUCCESS) value[0] = '\0';
  const char *start = value + strspn(value, " ");
  snprintf(text, 128, "%.127s", start);
  for (size_t n = strlen(text); n > 0 && text[n - 1] == ' ';) text[--n] = '\0';
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < ' ') *c = ' ';
}

static cl_ulong read_number(const opencl_calls *cl, cl_device_id device, cl_uint what, size_t size) {
  cl_ulong value = 0;
  cl_uint narrow = 0;
  if (size == sizeof narrow) {
    cl->clGetDeviceInfo(device, what, size, &narrow, NULL);
    return narrow;
  }
  /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): load_calls has filled the table */
  cl->clGetDeviceInfo(device, what, size, &value, NULL);
  return value;
}

static void add_missing(sparc_device_info *info, bool has, const char *what) {
  if (has) return;
  const size_t used = strlen(info->missing);
  snprintf(info->missing + used, sizeof info->missing - used, "%s%s", used ? ", " : "", what);
}

static void describe_device(const opencl_calls *cl, cl_platform_id platform, cl_device_id device,
                            sparc_device_info *info) {
  const cl_ulong single = read_number(cl, device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof(cl_ulong));
  *info =
      (sparc_device_info){.backend = "opencl",
                          .memory = (size_t)read_number(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong)),
                          .largest = (size_t)read_number(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong)),
                          .local = (size_t)read_number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong)),
                          .units = (int)read_number(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint)),
                          .cpu = (read_number(cl, device, CL_DEVICE_TYPE, sizeof(cl_ulong)) & CL_DEVICE_TYPE_CPU) != 0,
                          .doubles = read_number(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(cl_ulong)) != 0};
  char version[128];
  read_text(cl, device, CL_DEVICE_NAME, info->name);
  read_text(cl, device, CL_DRIVER_VERSION, info->driver);
  read_text(cl, device, CL_DEVICE_VERSION, version);
  if (cl->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof info->platform - 1, info->platform, NULL) != CL_SUCCESS)
    info->platform[0] = '\0';
  add_missing(info, info->doubles, "fp64");
  add_missing(info, single & CL_FP_FMA, "fused multiply-add");
  add_missing(info, single & CL_FP_DENORM, "denormals");
  add_missing(info, single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, "correctly rounded division");
  info->exact = info->missing[0] == '\0';

  const bool compiles = read_number(cl, device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_uint)) != 0;
  const bool groups = read_number(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)) >= GROUP_SIZE;
  add_missing(info, compiles, "a compiler");
  add_missing(info, groups, "work-groups of 256");
  info->usable = compiles && groups;
}

static sparc_status find_device(opencl_calls *cl, int index, cl_platform_id *platform, cl_device_id *device) {
  device_list list = {.count = 0};
  if (load_calls(cl)) list_devices(cl, &list);
  if (index >= list.count) return fail(SPARC_DEVICE, "device opencl:%d is gone", index);
  *platform = list.platform[index];
  *device = list.device[index];
  return SPARC_OK;
}

static sparc_status opencl_describe(int index, sparc_device_info *info) {
  opencl_calls cl = {0};
  cl_platform_id platform = NULL;
  cl_device_id device = NULL;
  sparc_status status = find_device(&cl, index, &platform, &device);
  if (status == SPARC_OK) describe_device(&cl, platform, device, info);
  return status;
}

static void opencl_close(void *context) {
  opencl_context *c = context;
  if (c->queue) c->cl.clFinish(c->queue);
  if (c->queue) c->cl.clReleaseCommandQueue(c->queue);
  if (c->context) c->cl.clReleaseContext(c->context);
  sparc_free(c);
}

static sparc_status opencl_open(int index, void **context) {
  opencl_context *c = sparc_alloc(sizeof *c);
  cl_platform_id platform = NULL;
  cl_int code = CL_SUCCESS;
  if (!c) return fail(SPARC_NO_MEMORY, "no memory for a device");
  sparc_status status = find_device(&c->cl, index, &platform, &c->device);
  if (status == SPARC_OK) {
    c->context = c->cl.clCreateContext(NULL, 1, &c->device, NULL, NULL, &code);
    status = refuse("clCreateContext", code);
  }
  if (status == SPARC_OK) {
    c->queue = c->cl.clCreateCommandQueue(c->context, c->device, 0, &code);
    status = refuse("clCreateCommandQueue", code);
  }
  if (status != SPARC_OK) {
    opencl_close(c);
    return status;
  }
  *context = c;
  return SPARC_OK;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static void opencl_release(void *context, void *buffer) { ((opencl_context *)context)->cl.clReleaseMemObject(buffer); }

static sparc_status opencl_allocate(void *context, size_t bytes, void **buffer) {
  opencl_context *c = context;
  const size_t rounded = (bytes + 3) / 4 * 4;
  const cl_uint zero = 0;
  cl_int code;
  cl_mem memory = c->cl.clCreateBuffer(c->context, CL_MEM_READ_WRITE, rounded, NULL, &code);
  if (code == CL_OUT_OF_RESOURCES || code == CL_INVALID_BUFFER_SIZE) code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (code == CL_SUCCESS) {
    code = c->cl.clEnqueueFillBuffer(c->queue, memory, &zero, sizeof zero, 0, rounded, 0, NULL, NULL);
    if (code != CL_SUCCESS) c->cl.clReleaseMemObject(memory);
  }
  if (code != CL_SUCCESS && code != CL_DEVICE_NOT_AVAILABLE && code != CL_INVALID_COMMAND_QUEUE)
    return fail(SPARC_NO_MEMORY, "no %zu bytes of device memory (%s)", bytes, error_name(code));
  *buffer = memory;
  return refuse("clCreateBuffer", code);
}

static sparc_status opencl_write(void *context, void *buffer, size_t offset, const void *from, size_t bytes) {
  opencl_context *c = context;
  return refuse("clEnqueueWriteBuffer",
                c->cl.clEnqueueWriteBuffer(c->queue, buffer, CL_TRUE, offset, bytes, from, 0, NULL, NULL));
}

static sparc_status opencl_read(void *context, void *buffer, size_t offset, void *to, size_t bytes) {
  opencl_context *c = context;
  return refuse("clEnqueueReadBuffer",
                c->cl.clEnqueueReadBuffer(c->queue, buffer, CL_TRUE, offset, bytes, to, 0, NULL, NULL));
}

static sparc_status opencl_copy(void *context, void *from, size_t from_offset, void *to, size_t to_offset,
                                size_t bytes) {
  opencl_context *c = context;
  return refuse("clEnqueueCopyBuffer",
                c->cl.clEnqueueCopyBuffer(c->queue, from, to, from_offset, to_offset, bytes, 0, NULL, NULL));
}

/* ---- programs ----------------------------------------------------------------------------------- */

/* contraction is off by pragma in exact programs; nothing here may assume that numbers are finite */
static const char exact_options[] = "-cl-std=CL1.2 -w -cl-fp32-correctly-rounded-divide-sqrt";
static const char fast_options[] = "-cl-std=CL1.2 -w -cl-mad-enable -cl-denorms-are-zero -cl-no-signed-zeros";

/* the first lines of the compiler's log for the error message, all of them for the log */
static sparc_status report_build(opencl_context *c, cl_program program, cl_int code) {
  size_t size = 0;
  c->cl.clGetProgramBuildInfo(program, c->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *text = size > 0 ? calloc(size + 1, 1) : NULL;
  if (text) c->cl.clGetProgramBuildInfo(program, c->device, CL_PROGRAM_BUILD_LOG, size, text, NULL);
  const sparc_status status = fail(SPARC_DEVICE, "the kernels do not compile (%s): %.380s", error_name(code),
                                   text && *text ? text : "the driver gives no log");
  for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
    end = strchr(line, '\n');
    if (end) *end = '\0';
    log_line("%s", line);
  }
  free(text);
  return status;
}

static sparc_status build_program(opencl_context *c, cl_program program, bool fast, void **out) {
  const cl_int code = c->cl.clBuildProgram(program, 1, &c->device, fast ? fast_options : exact_options, NULL, NULL);
  if (code != CL_SUCCESS) {
    const sparc_status status = report_build(c, program, code);
    c->cl.clReleaseProgram(program);
    return status;
  }
  *out = program;
  return SPARC_OK;
}

static sparc_status opencl_build(void *context, const char *text, bool fast, void **out) {
  opencl_context *c = context;
  cl_int code;
  cl_program program = c->cl.clCreateProgramWithSource(c->context, 1, &text, NULL, &code);
  return code == CL_SUCCESS ? build_program(c, program, fast, out) : refuse("clCreateProgramWithSource", code);
}

static sparc_status opencl_load(void *context, const program_binary *binary, bool fast, void **out) {
  opencl_context *c = context;
  const unsigned char *bytes = binary->bytes;
  cl_int code, of_device;
  cl_program program =
      c->cl.clCreateProgramWithBinary(c->context, 1, &c->device, &binary->size, &bytes, &of_device, &code);
  return code == CL_SUCCESS ? build_program(c, program, fast, out) : refuse("clCreateProgramWithBinary", code);
}

static sparc_status opencl_binary(void *context, void *program, program_binary *out) {
  opencl_context *c = context;
  *out = (program_binary){NULL, 0};
  cl_int code = c->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof out->size, &out->size, NULL);
  if (code != CL_SUCCESS || out->size == 0) return refuse("clGetProgramInfo", code);
  out->bytes = malloc(out->size);
  if (!out->bytes) return fail(SPARC_NO_MEMORY, "no memory for %zu bytes of kernels", out->size);
  code = c->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof out->bytes, &out->bytes, NULL);
  if (code == CL_SUCCESS) return SPARC_OK;
  free(out->bytes);
  *out = (program_binary){NULL, 0};
  return refuse("clGetProgramInfo", code);
}

static void opencl_release_program(void *context, void *program) {
  ((opencl_context *)context)->cl.clReleaseProgram(program);
}

static sparc_status opencl_kernel(void *context, void *program, const char *name, void **kernel) {
  opencl_context *c = context;
  cl_int code;
  cl_kernel created = c->cl.clCreateKernel(program, name, &code);
  if (code != CL_SUCCESS) return fail(SPARC_DEVICE, "kernel %s: %s (%d)", name, error_name(code), (int)code);
  *kernel = created;
  return SPARC_OK;
}

static void opencl_release_kernel(void *context, void *kernel) {
  ((opencl_context *)context)->cl.clReleaseKernel(kernel);
}

/* ---- work --------------------------------------------------------------------------------------- */

static cl_int set_argument(const opencl_calls *cl, cl_kernel kernel, cl_uint index, const launch_argument *argument) {
  const cl_int narrow = (cl_int)argument->value;
  switch (argument->kind) {
    case ARGUMENT_BUFFER:
      return cl->clSetKernelArg(kernel, index, sizeof argument->buffer, &argument->buffer);
    case ARGUMENT_INT:
      return cl->clSetKernelArg(kernel, index, sizeof narrow, &narrow);
    default:
      return cl->clSetKernelArg(kernel, index, sizeof argument->value, &argument->value);
  }
}

static sparc_status opencl_launch(void *context, const kernel_launch *launch) {
  opencl_context *c = context;
  const size_t size = GROUP_SIZE, items = launch->groups * size;
  for (size_t i = 0; i < launch->arguments; i++) {
    const cl_int code = set_argument(&c->cl, launch->kernel, (cl_uint)i, &launch->argument[i]);
    if (code != CL_SUCCESS) return refuse("clSetKernelArg", code);
  }
  return refuse("clEnqueueNDRangeKernel",
                c->cl.clEnqueueNDRangeKernel(c->queue, launch->kernel, 1, NULL, &items, &size, 0, NULL, NULL));
}

static sparc_status opencl_wait(void *context) {
  opencl_context *c = context;
  return refuse("clFinish", c->cl.clFinish(c->queue));
}

const device_backend backend_opencl = {
    .name = "opencl",
    .driver = "OpenCL comes with that of a GPU; on the CPU it is pocl-opencl-icd",
    .count = opencl_count,
    .describe = opencl_describe,
    .open = opencl_open,
    .close = opencl_close,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .build = opencl_build,
    .load = opencl_load,
    .binary = opencl_binary,
    .release_program = opencl_release_program,
    .kernel = opencl_kernel,
    .release_kernel = opencl_release_kernel,
    .launch = opencl_launch,
    .wait = opencl_wait,
};
