/* SPDX-License-Identifier: MIT */
/* device.h: sequences, single steps of many streams and scans on a GPU, through OpenCL or CUDA.
 *
 * The semantics are those of sequence.h, sparc_step_streams and scan.h, on arrays in device memory. Drivers are loaded
 * at run time; nothing is linked. A device is used only after sparc_device_open; no other function selects one.
 *
 * By default arithmetic is exact: IEEE operations in a fixed order, without atomics, in tiles that depend on the shape
 * alone. Results are bit-identical on all devices with info.exact. `fast` allows hardware approximations; results then
 * agree within the tolerances of docs/numerics.md.
 *
 * Functions that enqueue work return at once; the next function that waits reports a failure of the work.
 */
#ifndef SPARC_DEVICE_H
#define SPARC_DEVICE_H

#include "sparc/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_device sparc_device; /* one device with one in-order queue; for one thread at a time */
typedef struct sparc_memory sparc_memory; /* a block of its memory */

typedef struct sparc_slice { /* an array in device memory */
  sparc_memory *memory;      /* NULL: the array is absent */
  size_t offset;             /* bytes; a multiple of the element's size, of 64 for prepared, saved and work */
} sparc_slice;

/* ---- devices ------------------------------------------------------------------------------------ */

typedef struct sparc_device_config {
  const char *backend; /* "cuda", "opencl"; NULL: SPARC_DEVICE of the environment ("opencl:1"), else the first device
                          that is not a CPU */
  int index;           /* index of the device within the backend; ignored when backend is NULL */
  int fast;            /* 0: exact arithmetic */
  const char *cache;   /* folder of compiled kernels; NULL: sparc/kernels in the user's cache folder; "": none */
} sparc_device_config;

typedef struct sparc_device_info {
  char backend[16], platform[128], name[128], driver[128];
  size_t memory, largest, local; /* bytes: total, largest block, local memory of a group */
  int units;                     /* compute units */
  int doubles;                   /* 1: has double precision */
  int exact;                     /* 1: supports exact arithmetic */
  int usable;                    /* 1: can run the kernels, at least with fast arithmetic */
  int cpu;                       /* 1: runs on the CPU (PoCL); opened only by name */
  char missing[128];             /* features it lacks, for example "fp64, denormals" */
} sparc_device_info;

/* Count the devices of a backend and describe one of them, which need not be open. count or info may be NULL. Without a
 * driver the count is 0, which is not an error if info is NULL. */
SPARC_API sparc_status sparc_device_describe(const char *backend, int index, sparc_device_info *info, int *count);

/* Open a device. config may be NULL. SPARC_UNSUPPORTED: the device is not usable, or does not support exact arithmetic
 * and config->fast is 0. Close a device after its memory and plans are freed. */
SPARC_API sparc_status sparc_device_open(const sparc_device_config *config, sparc_device **out);
SPARC_API void sparc_device_close(sparc_device *device); /* device may be NULL */
SPARC_API sparc_device_info sparc_device_info_of(const sparc_device *device);

/* Wait for all work and return its first failure since the last wait: SPARC_INVALID for a mask with a value other than
 * 0 and 1, SPARC_DEVICE for a failure of the driver. */
SPARC_API sparc_status sparc_device_wait(sparc_device *device);

/* ---- memory ------------------------------------------------------------------------------------- */

/* Allocate zeroed device memory. */
SPARC_API sparc_status sparc_memory_create(sparc_device *device, size_t bytes, sparc_memory **out);
SPARC_API void sparc_memory_free(sparc_memory *memory); /* memory may be NULL */

/* Copy from the host to the device; returns when `from` may be reused. */
SPARC_API sparc_status sparc_memory_write(sparc_slice to, const void *from, size_t bytes);
/* Wait for all work, then copy from the device to the host. */
SPARC_API sparc_status sparc_memory_read(sparc_slice from, void *to, size_t bytes);
/* Copy between two blocks of one device. */
SPARC_API sparc_status sparc_memory_copy(sparc_slice from, sparc_slice to, size_t bytes);

/* ---- sequences ---------------------------------------------------------------------------------- */

typedef struct sparc_device_plan sparc_device_plan;

typedef struct sparc_device_sizes {
  size_t prepared; /* bytes of prepared parameters; of a scan: of its constants, 0 for the real scan */
  size_t saved;    /* bytes kept by forward for backward; of a scan: besides b */
  size_t work;     /* bytes of scratch */
  int chunks;      /* chunks per sequence */
} sparc_device_sizes;

typedef struct sparc_device_plan_config {
  int bf16;   /* not 0: x, y, dy and dx are bfloat16, as in bf16.h */
  int chunks; /* chunks of a sequence that run in parallel, 1 to 16; 0: chosen by shape */
} sparc_device_plan_config;

typedef struct sparc_device_sequence {
  sparc_slice x, mask, state0, y, state_last; /* as in sparc_sequence; mask, state0 and state_last may be absent */
} sparc_device_sequence;

typedef struct sparc_device_gradient {
  sparc_slice dy, dstate_last, dx, dstate0, dparams; /* as in sparc_sequence_gradient; all but dy may be absent */
} sparc_device_gradient;

/* Create a plan for B streams of T steps and compile its kernels. Cells: sparc (all variants but unshared-control;
 * groups 1, hidden 0), rtu, lru and rglru; SPARC_UNSUPPORTED for others. SPARC_NO_MEMORY: the arrays of a training step
 * do not fit; sparc_error() gives the number of streams that fit. The cell must outlive the plan. */
SPARC_API sparc_status sparc_device_plan_create(sparc_device *device, const sparc_cell *cell, int B, int T,
                                                const sparc_device_plan_config *config, sparc_device_plan **out);
SPARC_API void sparc_device_plan_free(sparc_device_plan *plan); /* plan may be NULL */
SPARC_API sparc_device_sizes sparc_device_plan_sizes_of(const sparc_device_plan *plan);

/* Derive prepared from params, both on the device. The host derives the constants in double. */
SPARC_API sparc_status sparc_device_prepare(const sparc_device_plan *plan, sparc_slice params, sparc_slice prepared);

/* Run sparc_forward and sparc_backward on the device. Backward does not read y. */
SPARC_API sparc_status sparc_device_forward(const sparc_device_plan *plan, sparc_slice prepared,
                                            const sparc_device_sequence *sequence, sparc_slice saved, sparc_slice work);
SPARC_API sparc_status sparc_device_backward(const sparc_device_plan *plan, sparc_slice prepared,
                                             const sparc_device_sequence *sequence, sparc_slice saved,
                                             const sparc_device_gradient *gradient, sparc_slice work);

/* ---- single steps of many streams ----------------------------------------------------------------- */

typedef struct sparc_device_streams { /* B streams; x and y in the plan's precision */
  sparc_slice x;                      /* [B][D] */
  sparc_slice mask;                   /* [B]; may be absent: ones */
  sparc_slice states;                 /* [B][S] floats, overwritten with the states after the step */
  sparc_slice y;                      /* [B][O]; may be absent */
} sparc_device_streams;

/* Advance the B streams of a plan with T = 1 by one input each, with a matrix product if the cell has a projection, and
 * one kernel. The result is bit-identical to that of sparc_device_forward on the same plan. Nothing is kept for
 * backward; RTRL runs on the CPU. */
SPARC_API sparc_status sparc_device_step(const sparc_device_plan *plan, sparc_slice prepared,
                                         const sparc_device_streams *streams, sparc_slice work);

/* ---- scans ---------------------------------------------------------------- */

typedef struct sparc_device_scan sparc_device_scan;

typedef enum sparc_scan_kind {
  SPARC_SCAN_SPECTRAL, /* two controls per token; transitions are recomputed, never stored */
  SPARC_SCAN_REAL      /* a transition for every token and coordinate, in float */
} sparc_scan_kind;

typedef struct sparc_device_scan_config {
  sparc_scan_kind kind;
  int B, T, H;            /* streams, steps, modes (real scan: coordinates) */
  float kappa_r, kappa_p; /* of the spectral scan, as in sparc_scan_config */
  int bf16;               /* not 0: b, h, dh and db are bfloat16 */
  int chunks;             /* as in sparc_device_plan_config */
} sparc_device_scan_config;

/* Rows are 2 H numbers, re | im, or H numbers for the real scan. Arrays must not overlap. */
typedef struct sparc_device_scan_data {
  sparc_slice controls;   /* spectral: [B][T][2] floats, r and p from -1 to 1; may be absent: none */
  sparc_slice a;          /* real: [B][T][H] floats */
  sparc_slice mask;       /* [B][T] floats; may be absent: ones */
  sparc_slice state0;     /* [B][row] floats; may be absent: zeros */
  sparc_slice b;          /* [B][T][row]; read by backward instead of h */
  sparc_slice h;          /* [B][T][row], written by forward; not read by backward */
  sparc_slice state_last; /* [B][row] floats, written by forward; may be absent */
} sparc_device_scan_data;

typedef struct sparc_device_scan_gradient {
  sparc_slice dh;          /* [B][T][row] */
  sparc_slice dstate_last; /* [B][row] floats; may be absent: zeros */
  sparc_slice db;          /* [B][T][row], overwritten */
  sparc_slice dcontrols;   /* spectral: [B][T][2] floats, overwritten; may be absent */
  sparc_slice da;          /* real: [B][T][H] floats, overwritten */
  sparc_slice dstate0;     /* [B][row] floats, overwritten; may be absent */
  sparc_slice dnu, dtheta; /* spectral: [H] floats, added to; may be absent */
} sparc_device_scan_gradient;

/* Compile the kernels of a scan. SPARC_NO_MEMORY as in sparc_device_plan_create. */
SPARC_API sparc_status sparc_device_scan_create(sparc_device *device, const sparc_device_scan_config *config,
                                                sparc_device_scan **out);
SPARC_API void sparc_device_scan_free(sparc_device_scan *scan); /* scan may be NULL */
SPARC_API sparc_device_sizes sparc_device_scan_sizes_of(const sparc_device_scan *scan);

/* Derive the constants of a spectral scan from nu[H] and theta[H] on the device, with the limits of sparc_scan_prepare.
 * SPARC_INVALID for the real scan, which has no constants. */
SPARC_API sparc_status sparc_device_scan_prepare(const sparc_device_scan *scan, sparc_slice nu, sparc_slice theta,
                                                 sparc_slice prepared);

/* Run the scan or its adjoint. prepared is absent for the real scan. The next wait reports controls outside -1 to 1 and
 * invalid masks. */
SPARC_API sparc_status sparc_device_scan_forward(const sparc_device_scan *scan, sparc_slice prepared,
                                                 const sparc_device_scan_data *data, sparc_slice saved,
                                                 sparc_slice work);
SPARC_API sparc_status sparc_device_scan_backward(const sparc_device_scan *scan, sparc_slice prepared,
                                                  const sparc_device_scan_data *data, sparc_slice saved,
                                                  const sparc_device_scan_gradient *gradient, sparc_slice work);

#ifdef __cplusplus
}
#endif

#endif
