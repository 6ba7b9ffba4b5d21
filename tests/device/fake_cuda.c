/* SPDX-License-Identifier: MIT */
/* fake_cuda.c: a CUDA driver and an NVRTC that need no GPU, for tests (SPARC_CUDA_DRIVER, SPARC_CUDA_COMPILER).
 *
 * The compiler is the C++ compiler of the machine, over shim.h; an image is a shared object with a header. The driver
 * runs a kernel group by group, its work-items as fibres that take turns at barriers. In the environment:
 *
 *   SHIM_ORDER    ascending, descending or permuted: who runs first between two barriers; bits must not depend on it
 *   SHIM_LOSE     the number of the launch at which the device is lost
 *   SHIM_MEMORY   bytes of its memory; 4 GiB
 *   SHIM_ARCH     compute capability that it reports; 90
 *   SHIM_FLAGS    more options for the compiler, for example -fsanitize=address,undefined
 *   CXX           the compiler; g++
 *
 * An image that the real NVRTC made is loaded and its kernels are found, but it is not run.
 *
 * A work-item that ends while others wait at a barrier makes the launch fail, as a device would hang.
 */
#include "device/cuda_api.h"
#include "shim.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define FAKE __attribute__((visibility("default")))
/* what is defined below has the types that cuda.c calls */
#define FAKE_DECLARE(result, name, parameters) FAKE result name parameters;
CUDA_CALLS(FAKE_DECLARE)
NVRTC_CALLS(FAKE_DECLARE)

enum { ITEMS = 256, STACK = 256 * 1024, ARGUMENTS = 40, ERROR_INVALID = 1, ERROR_NOT_FOUND = 500 };

/* ---- fibres ---------------------------------------------------------------------------------------- */

typedef void (*kernel_function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static struct {
  shim_runtime of_kernels;
  ucontext_t scheduler, item[ITEMS];
  char *stack[ITEMS];
  int ended[ITEMS], first;
  kernel_function function;
  uint64_t argument[ARGUMENTS];
  CUresult failure; /* of work that was launched; sticks */
  long launches;
} run;

/* a number of the environment */
static long long setting(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoll(text) : otherwise;
}

static void wait_at_barrier(void) {
  const int id = run.of_kernels.local_id;
  swapcontext(&run.item[id], &run.scheduler);
}

/* the first fibre of a group fills its local arrays with NaN */
static void poison(void *array, unsigned long bytes) {
  if (run.of_kernels.local_id == run.first) memset(array, 0xff, bytes);
}

static void item_main(void) {
  const uint64_t *a = run.argument;
  run.function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
               a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30],
               a[31], a[32], a[33], a[34], a[35], a[36], a[37], a[38], a[39]);
  run.ended[run.of_kernels.local_id] = 1;
}

/* the i-th to run; 77 has no divisor in common with the number of items */
static int item_at(const char *order, int i) {
  if (order && strcmp(order, "descending") == 0) return ITEMS - 1 - i;
  if (order && strcmp(order, "permuted") == 0) return (77 * i + 13) % ITEMS;
  return i;
}

static int start_item(int id) {
  if (!run.stack[id]) run.stack[id] = malloc(STACK);
  if (!run.stack[id] || getcontext(&run.item[id]) != 0) return 0;
  run.item[id].uc_stack.ss_sp = run.stack[id];
  run.item[id].uc_stack.ss_size = STACK;
  run.item[id].uc_link = &run.scheduler;
  run.ended[id] = 0;
  makecontext(&run.item[id], item_main, 0);
  return 1;
}

static CUresult run_group(int group, const char *order) {
  run.of_kernels.group_id = group;
  run.first = item_at(order, 0);
  for (int i = 0; i < ITEMS; i++)
    if (!start_item(i)) return CUDA_ERROR_OUT_OF_MEMORY;
  for (int ended = 0; ended < ITEMS;) {
    ended = 0;
    for (int i = 0; i < ITEMS; i++) {
      const int id = item_at(order, i);
      run.of_kernels.local_id = id;
      swapcontext(&run.scheduler, &run.item[id]);
      ended += run.ended[id];
    }
    if (ended > 0 && ended < ITEMS) {
      fprintf(stderr, "fake_cuda: group %d: %d work-items ended while %d wait at a barrier\n", group, ended,
              ITEMS - ended);
      return CUDA_ERROR_LAUNCH_FAILED;
    }
  }
  return CUDA_SUCCESS;
}

/* ---- devices --------------------------------------------------------------------------------------- */

FAKE CUresult cuInit(unsigned flags) { return flags ? ERROR_INVALID : CUDA_SUCCESS; }
FAKE CUresult cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }
FAKE CUresult cuDeviceGetCount(int *count) { return *count = 1, CUDA_SUCCESS; }
FAKE CUresult cuDeviceGet(CUdevice *device, int index) {
  return *device = index, index == 0 ? CUDA_SUCCESS : ERROR_INVALID;
}
FAKE CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  (void)device;
  return snprintf(name, (size_t)size, "CPU shim"), CUDA_SUCCESS;
}
FAKE CUresult cuGetErrorName(CUresult code, const char **name) {
  *name = code == CUDA_ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                             : "CUDA_ERROR_INVALID_VALUE";
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceGetAttribute(int *value, int which, CUdevice device) {
  (void)device;
  *value = which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK ? 49152
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR  ? (int)setting("SHIM_ARCH", 90) / 10
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR  ? (int)setting("SHIM_ARCH", 90) % 10
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT      ? 1
                                                                    : 0;
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  (void)device;
  return *bytes = (size_t)4 << 30, CUDA_SUCCESS;
}
FAKE CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  (void)device;
  return *context = (CUcontext)&run, CUDA_SUCCESS;
}
FAKE CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  (void)device;
  for (int i = 0; i < ITEMS; i++) free(run.stack[i]);
  memset(run.stack, 0, sizeof run.stack);
  run.failure = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxSetCurrent(CUcontext context) { return context == (CUcontext)&run ? CUDA_SUCCESS : ERROR_INVALID; }
FAKE CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  (void)flags;
  return *stream = (CUstream)&run, CUDA_SUCCESS;
}
FAKE CUresult cuStreamDestroy_v2(CUstream stream) { return stream == (CUstream)&run ? CUDA_SUCCESS : ERROR_INVALID; }
FAKE CUresult cuStreamSynchronize(CUstream stream) { return stream == (CUstream)&run ? run.failure : ERROR_INVALID; }

/* ---- memory ---------------------------------------------------------------------------------------- */

FAKE CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  if ((long long)bytes > setting("SHIM_MEMORY", 1LL << 32)) return CUDA_ERROR_OUT_OF_MEMORY;
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *pointer = (CUdeviceptr)(uintptr_t)memory, memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
FAKE CUresult cuMemFree_v2(CUdeviceptr pointer) { return free((void *)(uintptr_t)pointer), CUDA_SUCCESS; }
FAKE CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  (void)stream;
  return memset((void *)(uintptr_t)to, value, bytes), CUDA_SUCCESS;
}
FAKE CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  (void)stream;
  return memcpy((void *)(uintptr_t)to, from, bytes), run.failure;
}
FAKE CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  (void)stream;
  return memcpy(to, (void *)(uintptr_t)from, bytes), run.failure;
}
FAKE CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  (void)stream;
  return memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes), run.failure;
}

/* ---- modules --------------------------------------------------------------------------------------- */

/* an image: this header, then a shared object */
typedef struct image_header {
  char magic[8];
  uint64_t size;
} image_header;

/* an image of machine code, which only says what kernels it has; one at a time */
static struct {
  char *bytes;
  size_t size;
} cubin;

static CUresult load_cubin(CUmodule *module, const void *image) {
  enum { MACHINE_CUDA = 190 };
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (header.e_machine != MACHINE_CUDA || cubin.bytes) return ERROR_INVALID;
  cubin.size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
  cubin.bytes = malloc(cubin.size);
  if (!cubin.bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(cubin.bytes, image, cubin.size);
  return *module = (CUmodule)&cubin, CUDA_SUCCESS;
}

FAKE CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  image_header header;
  if (memcmp(image, ELFMAG, SELFMAG) == 0) return load_cubin(module, image);
  memcpy(&header, image, sizeof header);
  if (memcmp(header.magic, "SHIMIMG", 8) != 0) return ERROR_INVALID;
  const int file = memfd_create("kernels", 0);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const int whole = file >= 0 && write(file, (const char *)image + sizeof header, header.size) == (ssize_t)header.size;
  void *library = whole ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) fprintf(stderr, "fake_cuda: %s\n", dlerror());
  if (file >= 0) close(file);
  shim_runtime **of_library = library ? (shim_runtime **)dlsym(library, "shim") : NULL;
  if (!of_library) return ERROR_INVALID;
  run.of_kernels.barrier = wait_at_barrier;
  run.of_kernels.poison = poison;
  *of_library = &run.of_kernels;
  return *module = library, CUDA_SUCCESS;
}
FAKE CUresult cuModuleUnload(CUmodule module) {
  if (module != (CUmodule)&cubin) return dlclose(module), CUDA_SUCCESS;
  free(cubin.bytes);
  return cubin.bytes = NULL, CUDA_SUCCESS;
}
FAKE CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  if (module == (CUmodule)&cubin) {
    char section[128];
    const size_t length = (size_t)snprintf(section, sizeof section, ".text.%s", name) + 1; /* with the byte after it */
    *function = memmem(cubin.bytes, cubin.size, section, length);
    return *function ? CUDA_SUCCESS : ERROR_NOT_FOUND;
  }
  *function = dlsym(module, name);
  return *function ? CUDA_SUCCESS : ERROR_NOT_FOUND;
}

/* arguments are integers and pointers of up to 8 bytes; the list ends with NULL */
FAKE CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned size, unsigned size_y,
                             unsigned size_z, unsigned shared, CUstream stream, void **arguments, void **extra) {
  const char *order = getenv("SHIM_ORDER");
  if (y != 1 || z != 1 || size != ITEMS || size_y != 1 || size_z != 1 || shared || extra || !stream || x == 0)
    return ERROR_INVALID;
  if (cubin.bytes) return CUDA_ERROR_LAUNCH_FAILED; /* machine code of a GPU */
  if (++run.launches == setting("SHIM_LOSE", 0)) run.failure = CUDA_ERROR_LAUNCH_FAILED;
  memset(run.argument, 0, sizeof run.argument);
  for (int i = 0; i < ARGUMENTS && arguments[i]; i++) memcpy(&run.argument[i], arguments[i], sizeof(uint64_t));
  memcpy(&run.function, &function, sizeof function);
  for (unsigned group = 0; group < x && run.failure == CUDA_SUCCESS; group++) {
    const unsigned at = order && strcmp(order, "descending") == 0 ? x - 1 - group : group;
    run.failure = run_group((int)at, order);
  }
  return CUDA_SUCCESS; /* work is asynchronous: the next call that waits reports it */
}

/* ---- compiler -------------------------------------------------------------------------------------- */

struct _nvrtcProgram {
  char *text, *log, *image;
  size_t size;
};

static char *read_all(const char *path, size_t *size, size_t ahead) {
  FILE *file = fopen(path, "rb");
  char *bytes = NULL;
  if (!file) return NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long length = ftell(file);
    rewind(file);
    bytes = length >= 0 ? calloc(1, ahead + (size_t)length + 1) : NULL;
    *size = bytes ? fread(bytes + ahead, 1, (size_t)length, file) : 0;
  }
  fclose(file);
  return bytes;
}

FAKE nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int headers,
                                    const char *const *sources, const char *const *names) {
  (void)name, (void)sources, (void)names;
  *program = calloc(1, sizeof **program);
  if (*program) (*program)->text = strdup(text);
  return *program && (*program)->text && headers == 0 ? 0 : 1;
}

FAKE nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
  char folder[] = "/tmp/sparc-shim-XXXXXX", source[64], object[64], log[64], command[1024];
  const char *compiler = getenv("CXX"), *flags = getenv("SHIM_FLAGS");
  (void)count, (void)options;
  if (!mkdtemp(folder)) return 1;
  snprintf(source, sizeof source, "%s/kernels.cc", folder);
  snprintf(object, sizeof object, "%s/kernels.so", folder);
  snprintf(log, sizeof log, "%s/log", folder);
  FILE *file = fopen(source, "w");
  int failed = !file || fputs(program->text, file) < 0;
  if (file && fclose(file) != 0) failed = 1;
  snprintf(command, sizeof command,
           "%s -x c++ -std=c++17 -O1 -g1 -ffp-contract=off -fPIC -shared -w %s -include '%s' -o '%s' '%s' 2>'%s'",
           compiler && *compiler ? compiler : "g++", flags ? flags : "", SPARC_SHIM_HEADER, object, source, log);
  failed = failed || system(command) != 0;
  size_t length = 0;
  program->log = read_all(log, &length, 0);
  if (!failed) program->image = read_all(object, &program->size, sizeof(image_header));
  if (program->image) {
    const image_header header = {"SHIMIMG", program->size};
    memcpy(program->image, &header, sizeof header);
  }
  unlink(source);
  unlink(object);
  unlink(log);
  rmdir(folder);
  return program->image ? 0 : 6;
}

FAKE nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  free((*program)->text);
  free((*program)->log);
  free((*program)->image);
  free(*program);
  return 0;
}
FAKE nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
  return *size = program->log ? strlen(program->log) + 1 : 0, 0;
}
FAKE nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) { return strcpy(log, program->log), 0; }
FAKE nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
  return *size = program->size + sizeof(image_header), 0;
}
FAKE nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *image) {
  return memcpy(image, program->image, program->size + sizeof(image_header)), 0;
}
FAKE nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) { return nvrtcGetCUBINSize(program, size); }
FAKE nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *image) { return nvrtcGetCUBIN(program, image); }
FAKE nvrtcResult nvrtcGetNumSupportedArchs(int *count) { return *count = 1, 0; }
FAKE nvrtcResult nvrtcGetSupportedArchs(int *archs) { return archs[0] = 90, 0; }
FAKE const char *nvrtcGetErrorString(nvrtcResult code) {
  return code == 6 ? "NVRTC_ERROR_COMPILATION" : code ? "NVRTC_ERROR_INTERNAL_ERROR" : "NVRTC_SUCCESS";
}
