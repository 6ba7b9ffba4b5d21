/* SPDX-License-Identifier: MIT */
/* optimiser.h: Adam and AdamW over a flat parameter array and its spans, and learning-rate schedules.
 *
 * Spans are those of a cell or a network (sparc_cell_spans, sparc_network_spans); the group of a span determines its
 * learning rate and weight decay. Arrays are processed in tiles of fixed size: results do not depend on the number of
 * threads (0: all processors).
 */
#ifndef SPARC_OPTIMISER_H
#define SPARC_OPTIMISER_H

#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_adam_config {
  double beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 */
  double weight_decay;          /* AdamW: decoupled weight decay of SPARC_REGULAR spans */
  double recurrent_lr_scale;    /* learning rate of SPARC_RECURRENT spans relative to SPARC_REGULAR ones */
} sparc_adam_config;

SPARC_API sparc_adam_config sparc_adam_defaults(void); /* weight_decay 0, recurrent_lr_scale 1 */

/* Do update number step = 1, 2, ...: p -= learning_rate * (mhat / (sqrt(vhat) + epsilon) + weight_decay * p).
 * moments is [2][count], m then v, zeros before the first update. SPARC_FROZEN spans are not changed. */
SPARC_API sparc_status sparc_adam_update(const sparc_adam_config *config, const sparc_span *spans, size_t span_count,
                                         size_t count, int threads, long step, double learning_rate,
                                         const float *gradient, float *moments, float *params);

/* Schedule over update = 0, 1, ...: constant at peak; or linear from floor to peak over `warmup` updates, then half a
 * cosine back to floor at `total`. */
typedef enum sparc_schedule_kind { SPARC_SCHEDULE_CONSTANT, SPARC_SCHEDULE_COSINE } sparc_schedule_kind;
typedef struct sparc_schedule {
  sparc_schedule_kind kind;
  double peak, floor; /* largest and smallest learning rate */
  long warmup, total; /* updates */
} sparc_schedule;
SPARC_API double sparc_schedule_learning_rate(const sparc_schedule *schedule, long update);

#ifdef __cplusplus
}
#endif

#endif
