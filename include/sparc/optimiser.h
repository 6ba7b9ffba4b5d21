/* SPDX-License-Identifier: MIT */
/* optimiser.h: Adam and AdamW over a flat parameter array and its spans, clipping, and learning rates over time.
 *
 * Spans are those of a cell or a network (sparc_cell_spans, sparc_network_spans): a group of parameters is updated with
 * the rate and decay of its group. Elementwise work is cut into tiles of fixed size and norms are double sums added in
 * tile order: the same bits for every number of threads, where 0 stands for all processors.
 */
#ifndef SPARC_OPTIMISER_H
#define SPARC_OPTIMISER_H

#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_adam_config {
  double beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 */
  double decay;                 /* AdamW: decoupled weight decay of SPARC_REGULAR spans; SPARC_RECURRENT never decays */
  double recurrent_rate;        /* learning rate of SPARC_RECURRENT spans relative to the regular one */
} sparc_adam_config;

SPARC_API sparc_adam_config sparc_adam_defaults(void); /* decay 0, recurrent_rate 1 */

/* sparc_adam_update does update number step = 1, 2, ...; moments is [2][count], m then v, zeros at the start.
 * SPARC_FROZEN spans are not touched: p -= rate * (mhat / (sqrt(vhat) + epsilon) + decay * p). */
SPARC_API sparc_status sparc_adam_update(const sparc_adam_config *config, const sparc_span *spans, size_t span_count,
                                         size_t count, int threads, long step, double rate, const float *gradient,
                                         float *moments, float *params);
SPARC_API sparc_status sparc_adam_update_f64(const sparc_adam_config *config, const sparc_span *spans,
                                             size_t span_count, size_t count, int threads, long step, double rate,
                                             const double *gradient, double *moments, double *params);

/* sparc_gradient_norm is the Euclidean norm, frozen spans left out. */
SPARC_API double sparc_gradient_norm(const sparc_span *spans, size_t span_count, int threads, const float *gradient);
SPARC_API double sparc_gradient_norm_f64(const sparc_span *spans, size_t span_count, int threads,
                                         const double *gradient);

/* sparc_gradient_clip scales the gradient to at most max_norm (<= 0: never) and returns the norm before. A gradient
 * that is not finite is left as it is. */
SPARC_API double sparc_gradient_clip(const sparc_span *spans, size_t span_count, size_t count, int threads,
                                     double max_norm, float *gradient);
SPARC_API double sparc_gradient_clip_f64(const sparc_span *spans, size_t span_count, size_t count, int threads,
                                         double max_norm, double *gradient);

/* Learning rates, update = 0, 1, ...: the peak at every update; or linear from floor to peak over `warmup` updates,
 * then half a cosine back to floor at `total`. */
typedef enum sparc_schedule_kind { SPARC_SCHEDULE_CONSTANT, SPARC_SCHEDULE_COSINE } sparc_schedule_kind;
typedef struct sparc_schedule {
  sparc_schedule_kind kind;
  double peak, floor;
  long warmup, total;
} sparc_schedule;
SPARC_API double sparc_schedule_rate(const sparc_schedule *schedule, long update);

#ifdef __cplusplus
}
#endif

#endif
