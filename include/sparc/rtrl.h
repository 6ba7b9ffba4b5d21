/* SPDX-License-Identifier: MIT */
/* rtrl.h: exact online gradients by real-time recurrent learning (RTRL), for cells with sizes.trace > 0.
 *
 * The trace Z_t holds the sensitivities of the state h_t to the recurrent parameters [eq:rtrl_recurrence]. A stream
 * starts with a trace of zeros. Three forms give the same gradient up to rounding:
 *   stepwise    one trace update per step (sparc_step_rtrl, sparc_rtrl_update)
 *   lazy        one trace update per chunk of steps (sparc_lazy_update)
 *   trace-free  recorded steps and an adjoint scan over them (sparc_record_gradient), for minibatches of a rollout
 * Sensitivities are not recomputed when parameters change; they remain derivatives at the parameters used at the time
 * (stale traces).
 *
 * Functions return SPARC_UNSUPPORTED for a cell without an RTRL form. Results do not depend on the number of threads;
 * threads below 1 means all processors.
 */
#ifndef SPARC_RTRL_H
#define SPARC_RTRL_H

#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sizes --------------------------------------------------------------------------------------- */

typedef struct sparc_rtrl_shape { /* members that do not apply are 0 */
  int chunk;                      /* lazy: steps of a chunk */
  int T;                          /* trace-free: recorded steps */
  int n;                          /* items of a minibatch */
  int interval;                   /* trace-free: steps between checkpoints of the trace; 0: no checkpoints */
  int symbols;                    /* trace-free: number of distinct inputs; 0: not used */
} sparc_rtrl_shape;

typedef struct sparc_rtrl_sizes { /* in elements */
  size_t lazy;                    /* steps of a sparc_lazy; needs chunk; the same for float and double */
  size_t records;                 /* records of T steps; the same for float and double */
  size_t record_work;             /* work of sparc_record_gradient and sparc_record_boundary; needs T and n */
  size_t batch_work;              /* work of sparc_rtrl_batch_gradient; needs n */
} sparc_rtrl_sizes;

/* Return the sizes for a shape. A size is 0 for a cell without an RTRL form, where a member that it needs is out of
 * range, and where it does not fit in size_t. */
SPARC_API sparc_rtrl_sizes sparc_rtrl_sizes_of(const sparc_cell *cell, const sparc_rtrl_shape *shape);

/* ---- stepwise ------------------------------------------------------------------------------------ */

/* Advance one stream by one input, as sparc_step does, and its trace. */
SPARC_API sparc_status sparc_step_rtrl(const sparc_cell *cell, const float *prepared, float *state, float *trace,
                                       const float *x, float mask, float *y, float *tape);

/* Contract the trace with dy, the gradient of this step's loss [eq:online_loss_gradient], and add the result to
 * dparams. tape is the one that sparc_step_rtrl filled. dx receives the gradient of the input with the carried state
 * held fixed. dparams and dx may be NULL. */
SPARC_API sparc_status sparc_rtrl_gradient(const sparc_cell *cell, const float *prepared, const float *trace,
                                           float *tape, const float *dy /* O */, float *dparams /* += */,
                                           float *dx /* D */);

/* Update the trace and contract it in one pass, for a loss that is known only after the step: call sparc_step, compute
 * dy from y, then call this function with the same tape. */
SPARC_API sparc_status sparc_rtrl_update(const sparc_cell *cell, const float *prepared, float *trace, float *tape,
                                         const float *dy /* O */, float *dparams /* += */, float *dx /* D or NULL */);

/* Copy the sensitivity of the state to one parameter block to out, sparc_block.trace elements: [re | im][H][row], or
 * [H][row] for a real cell, where row is the part of the block that one state coordinate depends on. */
SPARC_API sparc_status sparc_trace_read(const sparc_cell *cell, const float *prepared, const float *trace,
                                        const char *block, float *out);

/* Compute the Jacobian dh_t / dx_t of the step that filled the tape, with the carried state held fixed. It drives the
 * sensitivities of an encoder before the cell [eq:app_upstream_derivative]. The tape's state, input and coefficients
 * are not changed. */
SPARC_API sparc_status sparc_input_jacobian(const sparc_cell *cell, const float *prepared, float *tape,
                                            float *jacobian /* S, D */);

/* ---- lazy ---------------------------------------------------------------------------------------- */

/* One stream whose trace is updated once per chunk. It keeps the coefficients of up to `capacity` steps and reads and
 * writes the trace once for all of them. Coefficients are those of their own step, so parameters may change within a
 * chunk. The caller owns the arrays. Start with a trace of zeros, or one that the stepwise functions advanced, and with
 * count = gradients = 0; the functions below maintain both. */
typedef struct sparc_lazy {
  int capacity;  /* steps of a full chunk, >= 1 */
  int count;     /* steps in the chunk */
  int gradients; /* steps in the chunk with a gradient */
  float *trace;  /* sizes.trace elements; exact when count is 0 */
  float *steps;  /* sparc_rtrl_sizes.lazy elements */
} sparc_lazy;

/* Add a step to the chunk, and flush the chunk when it is full. Replaces sparc_rtrl_update: call sparc_step, compute dy
 * from y, then call this function with the same tape. A step without a loss has dy = NULL and leaves dx unchanged. Parts
 * of the gradient that need no long trace are added to dparams at once, the rest by the flush; dparams may be NULL while
 * no step of the chunk has a gradient. */
SPARC_API sparc_status sparc_lazy_update(const sparc_cell *cell, const float *prepared, sparc_lazy *lazy, float *tape,
                                         const float *dy /* O or NULL */, float *dparams /* += */,
                                         float *dx /* D or NULL */);

/* Update the trace and add the remaining gradient of the chunk to dparams. Afterwards the stepwise functions and
 * sparc_trace_read may use lazy->trace. An empty chunk is not an error. */
SPARC_API sparc_status sparc_lazy_flush(const sparc_cell *cell, sparc_lazy *lazy, float *dparams /* += */);

/* ---- minibatches of a rollout with stored traces --------------------------------------------------- */

/* Add the gradients of n past steps to dparams. Each item recomputes its step t with the current parameters, starting
 * from the stored state h_{t-1} and the stored trace Z_{t-1}: copy the states h_{t-1}, call sparc_step_streams, compute
 * dy from y, then call this function with the same tapes:
 *   dparams += sum_i dy_i . (m a Z_{t-1} + R_t),   where m a and R_t, the step's own contribution, come from the tapes
 * dx receives the input gradients with the carried states held fixed, dstates the gradients of h_{t-1}. */
SPARC_API sparc_status sparc_rtrl_batch_gradient(const sparc_cell *cell, const float *prepared, int n,
                                                 const float *const *traces /* n: Z_{t-1}; NULL: zeros */,
                                                 float *tapes /* n, tape */, const float *dy /* n, O */,
                                                 float *dparams /* += */, float *dx /* n, D or NULL */,
                                                 float *dstates /* n, S or NULL */, float *work, int threads);

/* ---- minibatches of a rollout without traces -------------------------------------------------------- */

/* Store step t of T, which filled the tape, in records. */
SPARC_API sparc_status sparc_record_step(const sparc_cell *cell, const float *tape, int T, int t, float *records);

typedef struct sparc_record_view {
  int T;                    /* steps */
  const float *prepared;    /* of the parameters that collected the rollout: keep a copy */
  const float *records;     /* sparc_rtrl_sizes.records elements, filled by sparc_record_step */
  const float *states;      /* T, S: h_{t-1}, the state before each step and before its mask */
  const float *boundary;    /* Z_{-1}, the trace before the first step; NULL: zeros */
  const float *checkpoints; /* the traces before steps C, 2 C, ...; NULL: none */
  int interval;             /* C; used with checkpoints */
  const int *symbol;        /* T: index of each step's input among the distinct inputs; NULL: all may differ */
  int symbols;              /* number of distinct inputs */
} sparc_record_view;

/* Add to dparams the gradient of sparc_rtrl_batch_gradient, for items at distinct steps in any order, with the traces
 * that the records imply. Adjoint scans run backwards from the items to the start of the segment or to the next
 * checkpoint below. Steps with equal inputs share their products where symbols are given. dinput receives the gradients
 * of the inputs of earlier steps and dstate that of the state before the first step; together with dx they are the
 * gradient of an encoder. Both end at checkpoints. */
SPARC_API sparc_status sparc_record_gradient(const sparc_cell *cell, const float *prepared,
                                             const sparc_record_view *view, int n, const int *steps /* n */,
                                             float *tapes /* n, tape */, const float *dy /* n, O */,
                                             float *dparams /* += */, float *dx /* n, D or NULL */,
                                             float *dinput /* T, D: += ; or NULL */,
                                             float *dstate /* S: += ; or NULL */, float *work, int threads);

/* Turn the trace before step `from` into the trace before step `to`: the boundary of the next rollout, or a checkpoint.
 * Uses the first four members of view. */
SPARC_API sparc_status sparc_record_boundary(const sparc_cell *cell, const sparc_record_view *view, int from, int to,
                                             float *trace, float *work);

#ifdef __cplusplus
}
#endif

#endif
