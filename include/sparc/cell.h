/* SPDX-License-Identifier: MIT */
/* cell.h: recurrent cells as constant descriptions over flat arrays that the caller owns.
 *
 * A sparc_cell holds sizes and names, never data. The arrays are:
 *   params    trainable numbers: one flat block with a table of named tensors
 *   prepared  params in the layout of the kernels (per-mode constants derived in double, transposed weights); call
 *             sparc_prepare after every change of params
 *   state     carried from step to step
 *   trace     exact sensitivities of the state to the recurrent parameters (rtrl.h)
 *   tape      scratch of one step, read again by its gradient
 * Sizes are in elements and are the same for float and double. Complex arrays are planar: [re | im].
 * Calls on different arrays may run concurrently with the same cell.
 *
 * Segments. Every mask of the library is the paper's m_t: 1 continues the segment, 0 starts a new segment at this input
 * (the carried state and trace are dropped). No other values are allowed. A NULL array of masks means all ones.
 *
 * Kernels. The float32 inner loops exist once per instruction set: avx512, avx2, neon, baseline and plain (scalar C).
 * A cell or scan uses the set that its configuration names, or the best one that the processor can run; the environment
 * variable SPARC_KERNEL overrides both. Sets agree within rounding, not bit-exactly (docs/numerics.md).
 */
#ifndef SPARC_CELL_H
#define SPARC_CELL_H

#include "sparc/base.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_cell sparc_cell; /* opaque, immutable, shareable between threads */

typedef struct sparc_cell_config {
  const char *kind;    /* "sparc", "rtu", "lru", ...: see sparc_cell_kinds */
  int D;               /* input width, >= 1 */
  int H;               /* complex modes, or real state coordinates for a real cell, >= 1 */
  const char *options; /* "key=value,key=value"; NULL: the defaults of the kind */
  const char *kernel;  /* kernel set; NULL: the best for this processor */
} sparc_cell_config;

typedef struct sparc_cell_sizes {
  size_t params;   /* trainable numbers */
  size_t prepared; /* elements written by sparc_prepare */
  size_t state;    /* S: state of one stream */
  size_t output;   /* O: width of y */
  size_t tape;     /* scratch of one step */
  size_t trace;    /* exact sensitivities; 0: the cell has no RTRL form */
} sparc_cell_sizes;

typedef struct sparc_block {
  const char *name;
  int rank;      /* 1 or 2 */
  int shape[2];  /* row-major [out][in]; shape[1] is 1 for rank 1 */
  size_t offset; /* first element in params */
  size_t size;   /* number of elements */
  size_t trace;  /* of a cell: elements of sparc_trace_read (rtrl.h); 0: none */
} sparc_block;

typedef enum sparc_group {
  SPARC_RECURRENT, /* influences the recurrent state: lower learning rate, no weight decay in the paper's optimiser */
  SPARC_REGULAR,   /* everything else */
  SPARC_FROZEN     /* keeps its initial value */
} sparc_group;

typedef struct sparc_span { /* consecutive params that an optimiser treats alike */
  size_t offset, size;
  sparc_group group;
} sparc_span;

typedef enum sparc_init_style {
  SPARC_INIT_CONTROL,        /* the paper's reinforcement-learning initialisation: radii over the whole disc */
  SPARC_INIT_CLASSIFICATION, /* the paper's classification initialisation: an annulus near the unit circle */
  SPARC_INIT_RELEASED        /* the authors' released code for agents: as CONTROL, but content of the spectral cells is
                                normal with standard deviation 1 / sqrt(2 D) */
} sparc_init_style;

/* ---- description ------------------------------------------------------------------------------- */

/* Return the NULL-terminated list of cell kinds. */
SPARC_API const char *const *sparc_cell_kinds(void);

/* Validate config and create a cell. *out is NULL on failure. */
SPARC_API sparc_status sparc_cell_create(const sparc_cell_config *config, sparc_cell **out);
SPARC_API void sparc_cell_free(sparc_cell *cell); /* cell may be NULL */

/* Return the configuration of a cell, with all options and the kernel set in use. Strings are owned by the cell. */
SPARC_API sparc_cell_config sparc_cell_config_of(const sparc_cell *cell);

SPARC_API sparc_cell_sizes sparc_cell_sizes_of(const sparc_cell *cell);

/* Return the table of named tensors in params, in order and without gaps. count may be NULL. */
SPARC_API const sparc_block *sparc_cell_blocks(const sparc_cell *cell, size_t *count);

/* Return the optimiser groups of params, in order and without gaps. count may be NULL. */
SPARC_API const sparc_span *sparc_cell_spans(const sparc_cell *cell, size_t *count);

/* Draw initial params. Every block has its own random stream keyed by (seed, name, block), so cells that share a block
 * name, for example SPARC and RTU, start from the same numbers. name distinguishes the cells of a network; NULL means
 * "cell". */
SPARC_API sparc_status sparc_cell_init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                                       float *params);

/* ---- steps ------------------------------------------------------------------------------------- */

/* Derive prepared from params. SPARC_NOT_FINITE: a block has a NaN or an infinity; sparc_error() names it. */
SPARC_API sparc_status sparc_prepare(const sparc_cell *cell, const float *params, float *prepared);

/* Advance one stream by one input. y may be NULL. Nothing is allocated. */
SPARC_API sparc_status sparc_step(const sparc_cell *cell, const float *prepared, float *state /* S */,
                                  const float *x /* D */, float mask, float *y /* O */, float *tape);

/* Advance n independent streams by one input each on up to `threads` threads (below 1: all). The result is
 * bit-identical to n calls of sparc_step. y may be NULL. Stream i leaves its tape at tapes + i * sizes.tape, for the
 * functions of rtrl.h. */
SPARC_API sparc_status sparc_step_streams(const sparc_cell *cell, const float *prepared, int n,
                                          float *states /* n, S */, const float *x /* n, D */,
                                          const float *masks /* n or NULL */, float *y /* n, O */,
                                          float *tapes /* n, tape */, int threads);

#ifdef __cplusplus
}
#endif

#endif
