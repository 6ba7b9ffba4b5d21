/* SPDX-License-Identifier: MIT */
/* device.h: sequences, single steps of many streams and scans on a GPU, through OpenCL or CUDA.
 *
 * The semantics are those of sequence.h, online.h and scan.h, on arrays in the memory of the device. Drivers are loaded
 * at run time; nothing is linked. A device is used only when a program opens it: no other call of the library selects
 * one.
 *
 * By default arithmetic is exact: IEEE operations in a fixed order, without atomics, in tiles that depend on the shape
 * alone. Every device whose info says `exact` gives the same bits. `fast` allows the hardware's approximations; results
 * then agree within the tolerances of docs/numerics.md.
 *
 * Calls that enqueue work return at once; a failure of the work is reported by the next call that waits.
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
  sparc_memory *memory;      /* NULL: as a NULL array */
  size_t offset;             /* bytes; a multiple of the element's size, of 64 for prepared, saved and work */
} sparc_slice;

/* ---- devices ------------------------------------------------------------------------------------ */

typedef struct sparc_device_config {
  const char *backend; /* "cuda", "opencl"; NULL: SPARC_DEVICE of the environment ("opencl:1"), else the first device
                          that is not a CPU */
  int index;           /* which device of the backend; ignored when backend is NULL */
  int fast;            /* 0: exact arithmetic */
  const char *cache;   /* folder of compiled kernels; NULL: sparc/kernels in the user's cache folder; "": none */
} sparc_device_config;

typedef struct sparc_device_info {
  char backend[16], platform[128], name[128], driver[128];
  size_t memory, largest, local; /* bytes: all, one block at most, local memory of a group */
  int units;                     /* compute units */
  int doubles;                   /* 1: has double precision */
  int exact;                     /* 1: can do exact arithmetic */
  int usable;                    /* 1: can run the kernels; fast arithmetic needs no more */
  int cpu;                       /* 1: runs on the CPU (PoCL); opened only by its name */
  char missing[128];             /* what it lacks for exact arithmetic or at all, for example "fp64, denormals" */
} sparc_device_info;

/* sparc_device_backends returns the NULL-terminated list of backends. */
SPARC_API const char *const *sparc_device_backends(void);

/* sparc_device_count counts the devices of a backend: 0 without a driver, which is not an error. */
SPARC_API sparc_status sparc_device_count(const char *backend, int *count);

/* sparc_device_describe fills info for a device that need not be open. */
SPARC_API sparc_status sparc_device_describe(const char *backend, int index, sparc_device_info *info);

/* sparc_device_open opens a device. config may be NULL. SPARC_UNSUPPORTED: the device is not usable, or exact arithmetic
 * is asked of one that cannot do it. Close a device after its memory and plans are freed. */
SPARC_API sparc_status sparc_device_open(const sparc_device_config *config, sparc_device **out);
SPARC_API void sparc_device_close(sparc_device *device); /* may be NULL */
SPARC_API sparc_device_info sparc_device_info_of(const sparc_device *device);

/* sparc_device_wait waits for all work and reports its first failure since the last wait: SPARC_INVALID for a mask with
 * a value other than 0 and 1, SPARC_DEVICE for a failure of the driver. */
SPARC_API sparc_status sparc_device_wait(sparc_device *device);

/* ---- memory ------------------------------------------------------------------------------------- */

SPARC_API sparc_status sparc_memory_create(sparc_device *device, size_t bytes, sparc_memory **out); /* zeroed */
SPARC_API void sparc_memory_free(sparc_memory *memory);                                             /* may be NULL */
/* sparc_memory_write returns when `from` may be reused, sparc_memory_read waits for all work first. */
SPARC_API sparc_status sparc_memory_write(sparc_slice to, const void *from, size_t bytes);
SPARC_API sparc_status sparc_memory_read(sparc_slice from, void *to, size_t bytes);
SPARC_API sparc_status sparc_memory_copy(sparc_slice from, sparc_slice to, size_t bytes); /* of the same device */

/* ---- sequences ---------------------------------------------------------------------------------- */

typedef struct sparc_device_plan sparc_device_plan;

typedef struct sparc_device_plan_config {
  int bf16;   /* not 0: x, y, dy and dx are bfloat16, as in bf16.h */
  int chunks; /* parts of a sequence that run side by side, 1 to 16; 0: by the shape */
} sparc_device_plan_config;

typedef struct sparc_device_sequence {
  sparc_slice x, mask, state0, y, state_last; /* as in sparc_sequence; mask, state0 and state_last may be absent */
} sparc_device_sequence;

typedef struct sparc_device_gradient {
  sparc_slice dy, dstate_last, dx, dstate0, dparams; /* as in sparc_sequence_gradient; all but dy may be absent */
} sparc_device_gradient;

/* sparc_device_plan_create makes a plan for B streams of T steps and compiles its kernels. Cells: sparc (all variants
 * but unshared-control; groups 1, hidden 0), rtu, lru and rglru; SPARC_UNSUPPORTED for others. SPARC_NO_MEMORY: the arrays of a training
 * step do not fit; the sentence has the number of streams that would. The cell must outlive the plan. */
SPARC_API sparc_status sparc_device_plan_create(sparc_device *device, const sparc_cell *cell, int B, int T,
                                                const sparc_device_plan_config *config, sparc_device_plan **out);
SPARC_API void sparc_device_plan_free(sparc_device_plan *plan); /* may be NULL */
SPARC_API int sparc_device_plan_chunks(const sparc_device_plan *plan);

/* bytes of prepared parameters, of what forward keeps for backward, and of scratch */
SPARC_API size_t sparc_device_plan_prepared_bytes(const sparc_device_plan *plan);
SPARC_API size_t sparc_device_plan_saved_bytes(const sparc_device_plan *plan);
SPARC_API size_t sparc_device_plan_work_bytes(const sparc_device_plan *plan);

/* sparc_device_prepare derives prepared from params, both on the device; constants are derived in double by the host.
 */
SPARC_API sparc_status sparc_device_prepare(const sparc_device_plan *plan, sparc_slice params, sparc_slice prepared);

/* sparc_device_forward and sparc_device_backward are sparc_forward and sparc_backward. Backward does not read y. */
SPARC_API sparc_status sparc_device_forward(const sparc_device_plan *plan, sparc_slice prepared,
                                            const sparc_device_sequence *sequence, sparc_slice saved, sparc_slice work);
SPARC_API sparc_status sparc_device_backward(const sparc_device_plan *plan, sparc_slice prepared,
                                             const sparc_device_sequence *sequence, sparc_slice saved,
                                             const sparc_device_gradient *gradient, sparc_slice work);

/* ---- single steps of many streams ----------------------------------------------------------------- */

typedef struct sparc_device_streams { /* B streams; x and y in the plan's precision */
  sparc_slice x;                      /* [B][D] */
  sparc_slice mask;                   /* [B], 0: a new segment starts here; may be absent: ones */
  sparc_slice states;                 /* [B][S], floats, replaced by the states after the step */
  sparc_slice y;                      /* [B][O]; may be absent */
} sparc_device_streams;

/* sparc_device_step advances the B streams of a plan with T = 1 by one input each: a matrix product, if the cell has a
 * projection, and one kernel. The bits are those of sparc_device_forward on the same plan. It keeps nothing for
 * backward; RTRL runs on the CPU. */
SPARC_API sparc_status sparc_device_step(const sparc_device_plan *plan, sparc_slice prepared,
                                         const sparc_device_streams *streams, sparc_slice work);

/* ---- scans with given coefficients ---------------------------------------------------------------- */

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

/* rows of 2 H numbers, re | im, or of H numbers for the real scan; arrays must not overlap */
typedef struct sparc_device_scan_data {
  sparc_slice controls;   /* spectral: [B][T][2] floats, r and p from -1 to 1; may be absent: none */
  sparc_slice a;          /* real: [B][T][H] floats */
  sparc_slice mask;       /* [B][T] floats; may be absent: ones */
  sparc_slice state0;     /* [B][row] floats; may be absent: zeros */
  sparc_slice b;          /* [B][T][row]; backward reads it again instead of h */
  sparc_slice h;          /* [B][T][row], written by forward; backward does not read it */
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

/* sparc_device_scan_create compiles the kernels of a scan. SPARC_NO_MEMORY as in sparc_device_plan_create. */
SPARC_API sparc_status sparc_device_scan_create(sparc_device *device, const sparc_device_scan_config *config,
                                                sparc_device_scan **out);
SPARC_API void sparc_device_scan_free(sparc_device_scan *scan); /* may be NULL */
SPARC_API int sparc_device_scan_chunks(const sparc_device_scan *scan);

/* bytes of prepared constants (0 for the real scan), of what forward keeps for backward besides b, and of scratch */
SPARC_API size_t sparc_device_scan_prepared_bytes(const sparc_device_scan *scan);
SPARC_API size_t sparc_device_scan_saved_bytes(const sparc_device_scan *scan);
SPARC_API size_t sparc_device_scan_work_bytes(const sparc_device_scan *scan);

/* sparc_device_scan_prepare derives the constants of a spectral scan from nu[H] and theta[H] on the device; limits as
 * for sparc_scan_prepare. The real scan has none: SPARC_INVALID. */
SPARC_API sparc_status sparc_device_scan_prepare(const sparc_device_scan *scan, sparc_slice nu, sparc_slice theta,
                                                 sparc_slice prepared);

/* sparc_device_scan_forward and sparc_device_scan_backward are the calls of scan.h; prepared is absent for the real
 * scan. Controls beyond -1 to 1 are reported by the next wait, like masks. */
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
