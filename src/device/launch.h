/* SPDX-License-Identifier: MIT */
/* launch.h: the kernels of a program, places in blocks of device memory, and launches. */
#ifndef SPARC_DEVICE_LAUNCH_H
#define SPARC_DEVICE_LAUNCH_H

#include "device/program.h"

/* every kernel that a plan or a scan may use */
#define DEVICE_KERNELS(ROW)   \
  ROW(check_mask)             \
  ROW(controls)               \
  ROW(controls_adjoint)       \
  ROW(given_controls)         \
  ROW(given_controls_adjoint) \
  ROW(input_copy)             \
  ROW(controller_gradient)    \
  ROW(strip_summary)          \
  ROW(strip_forward)          \
  ROW(strip_adjoint_summary)  \
  ROW(strip_adjoint)          \
  ROW(step_streams)           \
  ROW(add_sums)               \
  ROW(spectrum_gradient)      \
  ROW(project)                \
  ROW(unproject)              \
  ROW(weight_gradient)        \
  ROW(open_gates)             \
  ROW(gates_adjoint)          \
  ROW(gate_gradient)          \
  ROW(bias_gradient)

#define DEVICE_KERNEL_ID(name) KERNEL_##name,
typedef enum kernel_id { DEVICE_KERNELS(DEVICE_KERNEL_ID) KERNELS } kernel_id;

/* the compiled kernels of a plan or a scan */
typedef struct kernel_set {
  sparc_device *device;
  bool bf16; /* inputs and outputs are bfloat16 */
  void *program;
  void *kernel[KERNELS]; /* NULL: not needed */
} kernel_set;

/* kernels_build compiles a text and finds its kernels; `needed` lists those it contains. */
sparc_status kernels_build(kernel_set *set, const program_text *text, const bool needed[KERNELS]);
void kernels_free(kernel_set *set);

/* ---- places --------------------------------------------------------------------------------------- */

/* a part of prepared, saved or work, in bytes; of size 0 when there is none */
typedef struct region {
  size_t offset, bytes;
} region;

/* takes `count` floats at the end of a block whose size so far is *bytes */
region region_take(size_t *bytes, size_t count);
sparc_slice region_slice(sparc_slice block, region part); /* absent for a region of size 0 */

static inline size_t ceil_quotient(size_t n, size_t by) { return (n + by - 1) / by; }

/* an array of a call; one that may be absent is checked when it is there */
typedef struct array_check {
  const char *name;
  sparc_slice slice;
  size_t bytes, alignment;
  bool optional;
} array_check;

enum { BLOCK_ALIGNMENT = 64 };

sparc_status check_arrays(const sparc_device *device, size_t n, const array_check *arrays);

/* ---- launches ------------------------------------------------------------------------------------- */

kernel_launch launch_of(const kernel_set *set, kernel_id kernel, size_t groups);
void pass_floats(const kernel_set *set, kernel_launch *launch, sparc_slice slice); /* also of 4-byte integers */
void pass_io(const kernel_set *set, kernel_launch *launch, sparc_slice slice);     /* of the set's precision */
void pass_fault(const kernel_set *set, kernel_launch *launch);                     /* where kernels report inputs */
void pass_int(kernel_launch *launch, int value);
void pass_long(kernel_launch *launch, int64_t value);
sparc_status launch_run(const kernel_set *set, const kernel_launch *launch);

/* target[i] += sum over `count` parts, `stride` floats apart, of element first + i, for i below n */
sparc_status add_parts(const kernel_set *set, sparc_slice parts, size_t count, size_t stride, size_t first, size_t n,
                       sparc_slice target);

/* checks n elements of a mask, for kernels that read it as it is; it may be absent */
sparc_status check_mask(const kernel_set *set, sparc_slice mask, int n);

#endif
