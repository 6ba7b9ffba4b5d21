/* SPDX-License-Identifier: MIT */
/* online.h: many streams at once, and exact sensitivities that are brought up to date once per chunk of steps.
 *
 * Lazy RTRL gives the traces and the summed gradient of stepwise RTRL (sparc_rtrl_update in cell.h), up to rounding,
 * for a fraction of its time when a gradient is wanted per chunk and not per step: it keeps the coefficients of up to K
 * steps and reads and writes the trace once for all of them. Coefficients are those of their own step, so parameters
 * may change inside a chunk with the same meaning as in the stepwise form.
 */
#ifndef SPARC_ONLINE_H
#define SPARC_ONLINE_H

#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lazy RTRL --------------------------------------------------------------------------------- */

/* One stream. The arrays are the caller's. Start with a trace of zeros, or one that the stepwise calls have advanced,
 * and with count = gradients = 0; the calls below keep the two numbers. */
typedef struct sparc_lazy {
  int capacity;  /* K: steps of a full chunk, >= 1 */
  int count;     /* steps in the chunk now */
  int gradients; /* how many of them brought a gradient */
  float *trace;  /* sizes.trace elements: the sensitivities, exact whenever count is 0 */
  float *steps;  /* sparc_lazy_size elements: the chunk */
} sparc_lazy;

/* sparc_lazy_size gives the elements of a chunk of `capacity` steps, in float and double alike. It is 0 for a cell
 * without an RTRL form, for a capacity below 1, and where the number does not fit. */
SPARC_API size_t sparc_lazy_size(const sparc_cell *cell, int capacity);

/* sparc_lazy_update takes the place of sparc_rtrl_update: call sparc_step, compute dy from y, then this with the same
 * tape. A step without a loss has dy = NULL, and dx is then left alone. The chunk is flushed as soon as it is full.
 * Parts of the gradient that need no long trace are added to dparams at once, the rest when the chunk is flushed;
 * dparams may be NULL as long as no step of the chunk brings a gradient. */
SPARC_API sparc_status sparc_lazy_update(const sparc_cell *cell, const float *prepared, sparc_lazy *lazy, float *tape,
                                         const float *dy /* O or NULL */, float *dparams /* += */,
                                         float *dx /* D or NULL */);

/* sparc_lazy_step is sparc_step followed by sparc_lazy_update without a gradient. */
SPARC_API sparc_status sparc_lazy_step(const sparc_cell *cell, const float *prepared, sparc_lazy *lazy, float *state,
                                       const float *x, float mask, float *y /* or NULL */, float *tape,
                                       float *dparams /* += */);

/* sparc_lazy_flush brings the trace up to date and adds what the chunk owes to dparams. Afterwards sparc_trace_read
 * and the stepwise calls may use lazy->trace. Nothing happens to an empty chunk. */
SPARC_API sparc_status sparc_lazy_flush(const sparc_cell *cell, sparc_lazy *lazy, float *dparams /* += */);

/* ---- many streams ------------------------------------------------------------------------------ */

/* sparc_step_streams advances n independent streams by one input each, on up to `threads` threads (below 1: all). It
 * gives the same bits as n calls of sparc_step, whatever the number of threads. masks may be NULL: ones. y may be
 * NULL. Stream i leaves its tape at tapes + i * sizes.tape, ready for the RTRL calls. */
SPARC_API sparc_status sparc_step_streams(const sparc_cell *cell, const float *prepared, int n,
                                          float *states /* n, S */, const float *x /* n, D */,
                                          const float *masks /* n or NULL */, float *y /* n, O */,
                                          float *tapes /* n, tape */, int threads);

#ifdef __cplusplus
}
#endif

#endif
