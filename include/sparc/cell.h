/* SPDX-License-Identifier: MIT */
/* cell.h: recurrent cells as constant descriptions over flat arrays that the caller owns.
 *
 * A sparc_cell knows sizes and names, never data. The arrays around it are:
 *   params    what an optimiser sees: one flat block with a table of named tensors
 *   prepared  params in the form the kernels want (per-mode constants derived in double, transposed
 *             weights); refresh it with sparc_prepare after every change of params
 *   state     what is carried from step to step
 *   trace     exact sensitivities of the state to the recurrent parameters (RTRL)
 *   tape      scratch of one step, and what that step leaves for its gradient
 * Sizes are in elements and hold for float and double alike. Complex arrays are planar: [re | im].
 * Calls on different arrays may run at the same time on different threads with the same cell.
 */
#ifndef SPARC_CELL_H
#define SPARC_CELL_H

#include "sparc/base.h"
#include "sparc/options.h"

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
  const char *options; /* "key=value,key=value", or NULL for the defaults of the kind */
  const char *kernel;  /* set of float32 kernels, see sparc/kernels.h; NULL: the best for this machine */
} sparc_cell_config;

typedef struct sparc_sizes {
  size_t params;   /* trainable numbers */
  size_t prepared; /* elements behind sparc_prepare */
  size_t state;    /* carried numbers of one stream */
  size_t output;   /* width of y */
  size_t tape;     /* elements one step needs */
  size_t trace;    /* elements of the exact sensitivities; 0: this cell has no RTRL form */
} sparc_sizes;

typedef struct sparc_block {
  const char *name;
  int rank;      /* 1 or 2 */
  int shape[2];  /* row-major [out][in]; shape[1] is 1 for rank 1 */
  size_t offset; /* first element in params */
  size_t size;   /* number of elements */
} sparc_block;

typedef enum sparc_group {
  SPARC_RECURRENT, /* influences the recurrent state: lower rate, no decay in the paper's optimiser */
  SPARC_REGULAR,   /* everything else */
  SPARC_FROZEN     /* keeps its initial value */
} sparc_group;

typedef struct sparc_span { /* a run of params that an optimiser treats alike */
  size_t offset, size;
  sparc_group group;
} sparc_span;

typedef enum sparc_init_style {
  SPARC_INIT_CONTROL,        /* the paper's reinforcement-learning initialisation: radii over the whole disc */
  SPARC_INIT_CLASSIFICATION, /* the paper's classification initialisation: an annulus near the unit circle */
  SPARC_INIT_RELEASED        /* that of the authors' released code for agents: as CONTROL, but content of the spectral
                                cells is normal with standard deviation 1 / sqrt(2 D) */
} sparc_init_style;

/* ---- kinds ------------------------------------------------------------------------------------- */

/* what a classifier puts behind a cell of output h */
typedef enum sparc_cell_readout {
  SPARC_READOUT_COMPLEX, /* Re(C h) + skip x */
  SPARC_READOUT_REAL,    /* C h + skip x */
  SPARC_READOUT_NONE     /* nothing: the cell ends in a projection */
} sparc_cell_readout;

/* what the heads of a policy read of it */
typedef enum sparc_cell_features {
  SPARC_POLICY_RELU,    /* max(h, 0) */
  SPARC_POLICY_READOUT, /* Re(C h) with a square C */
  SPARC_POLICY_OUTPUT   /* h itself */
} sparc_cell_features;

typedef struct sparc_cell_description {
  const char *name, *summary;
  int coordinates; /* real state coordinates per H */
  sparc_cell_readout readout;
  sparc_cell_features features;
  const sparc_option *options; /* ends with a NULL name */
} sparc_cell_description;

/* sparc_cell_kinds returns the NULL-terminated list of kinds, sparc_cell_describe what one is; NULL: there is none. */
SPARC_API const char *const *sparc_cell_kinds(void);
SPARC_API const sparc_cell_description *sparc_cell_describe(const char *kind);

/* ---- description ------------------------------------------------------------------------------- */

/* sparc_cell_fit finds H and options for a recurrent state of `budget` real coordinates, the way the paper matches
 * cells: half as many complex modes, as many real ones. config gets kind, H and options; the text goes to
 * options[size]. */
SPARC_API sparc_status sparc_cell_fit(const char *kind, int budget, sparc_cell_config *config, char *options,
                                      size_t size);

/* sparc_cell_create validates config and makes a cell. *out is NULL on failure. */
SPARC_API sparc_status sparc_cell_create(const sparc_cell_config *config, sparc_cell **out);
SPARC_API void sparc_cell_free(sparc_cell *cell); /* cell may be NULL */

SPARC_API const char *sparc_cell_kind(const sparc_cell *cell);
SPARC_API int sparc_cell_inputs(const sparc_cell *cell);          /* D */
SPARC_API int sparc_cell_modes(const sparc_cell *cell);           /* H */
SPARC_API const char *sparc_cell_options(const sparc_cell *cell); /* every option with its value */
SPARC_API const char *sparc_cell_kernel(const sparc_cell *cell);  /* the set of kernels it uses */
SPARC_API sparc_sizes sparc_cell_sizes(const sparc_cell *cell);

/* sparc_cell_blocks returns the table of named tensors in params, in order and without gaps. */
SPARC_API const sparc_block *sparc_cell_blocks(const sparc_cell *cell, size_t *count);

/* sparc_cell_spans returns the optimiser's view of params, in order and without gaps. */
SPARC_API const sparc_span *sparc_cell_spans(const sparc_cell *cell, size_t *count);

/* sparc_cell_init draws params. Every block has its own random stream keyed by (seed, name, block), so
 * cells that share a block name, for example SPARC and RTU, start from the same numbers. name tells
 * several cells of one network apart; NULL means "cell". */
SPARC_API sparc_status sparc_cell_init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                                       float *params);

/* ---- one step ---------------------------------------------------------------------------------- */

/* sparc_prepare derives prepared from params. SPARC_NOT_FINITE names the block with a NaN or infinity. */
SPARC_API sparc_status sparc_prepare(const sparc_cell *cell, const float *params, float *prepared);

/* sparc_step advances one stream by one input. mask is the paper's m_t: 1 keeps the carried state, 0 starts a
 * new segment at this input. y may be NULL. Nothing is allocated. */
SPARC_API sparc_status sparc_step(const sparc_cell *cell, const float *prepared, float *state /* S */,
                                  const float *x /* D */, float mask, float *y /* O */, float *tape);

/* sparc_step_rtrl is sparc_step that also advances the exact sensitivities [eq:rtrl_recurrence]. A stream starts
 * with a trace of zeros. SPARC_UNSUPPORTED for cells without an RTRL form. */
SPARC_API sparc_status sparc_step_rtrl(const sparc_cell *cell, const float *prepared, float *state, float *trace,
                                       const float *x, float mask, float *y, float *tape);

/* sparc_rtrl_gradient contracts the trace with dy, the gradient of this step's loss [eq:online_loss_gradient], and
 * adds the result to dparams. dx receives the local input gradient: the carried state is held fixed. tape is the one
 * that sparc_step_rtrl has just filled. dparams and dx may be NULL. */
SPARC_API sparc_status sparc_rtrl_gradient(const sparc_cell *cell, const float *prepared, const float *trace,
                                           float *tape, const float *dy /* O */, float *dparams /* += */,
                                           float *dx /* D */);

/* sparc_rtrl_update is the trace update of sparc_step_rtrl and the contraction of sparc_rtrl_gradient in one pass over
 * the trace, for a loss that is known only after the step: call sparc_step, compute dy from y, then this with the same
 * tape. */
SPARC_API sparc_status sparc_rtrl_update(const sparc_cell *cell, const float *prepared, float *trace, float *tape,
                                         const float *dy /* O */, float *dparams /* += */, float *dx /* D or NULL */);

/* sparc_trace_size and sparc_trace_read give the sensitivity of the state to one parameter block as
 * [re | im][H][row], or [H][row] for a real cell; row is the part of the block that one state coordinate sees.
 * The size is 0 for a block without a trace. */
SPARC_API size_t sparc_trace_size(const sparc_cell *cell, const char *block);
SPARC_API sparc_status sparc_trace_read(const sparc_cell *cell, const float *prepared, const float *trace,
                                        const char *block, float *out);

#ifdef __cplusplus
}
#endif

#endif
