/* SPDX-License-Identifier: MIT */
/* optimiser.h: Adam and AdamW over the flat parameter array and its spans, clipping, schedules.
 *
 * Elementwise work is cut into tiles of fixed size, norms are double sums added in tile order: the same bits for every
 * number of threads.
 */
#ifndef SPARC_NN_OPTIMISER_H
#define SPARC_NN_OPTIMISER_H

#include "sparc/cell.h"

typedef struct adam_config {
  double beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 */
  double decay;                 /* AdamW: decoupled weight decay of SPARC_REGULAR spans; SPARC_RECURRENT never decays */
  double recurrent_rate;        /* learning rate of SPARC_RECURRENT spans relative to the regular one */
} adam_config;

adam_config adam_defaults(void); /* decay 0, recurrent_rate 1 */

/* one update, number step = 1, 2, ...; moments is (2, count): m then v, zeros at the start. SPARC_FROZEN spans are not
 * touched: p -= rate * (mhat / (sqrt(vhat) + epsilon) + decay * p) */
void adam_update_f32(const adam_config *config, const sparc_span *spans, size_t span_count, size_t count, int threads,
                     long step, double rate, const float *gradient, float *moments, float *params);
void adam_update_f64(const adam_config *config, const sparc_span *spans, size_t span_count, size_t count, int threads,
                     long step, double rate, const double *gradient, double *moments, double *params);

/* Euclidean norm of the gradient, frozen spans left out */
double gradient_norm_f32(const sparc_span *spans, size_t span_count, int threads, const float *gradient);
double gradient_norm_f64(const sparc_span *spans, size_t span_count, int threads, const double *gradient);
/* scales the gradient to at most max_norm (<= 0: never) and returns the norm before */
double clip_gradient_f32(const sparc_span *spans, size_t span_count, size_t count, int threads, double max_norm,
                         float *gradient);
double clip_gradient_f64(const sparc_span *spans, size_t span_count, size_t count, int threads, double max_norm,
                         double *gradient);

/* warm-up then cosine [app:bptt_details], update = 0, 1, ...: linear from floor to peak over `warmup` updates, then
 * half a cosine back to floor at `total`. constant: the peak at every update. */
typedef enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_COSINE } schedule_kind;
typedef struct schedule {
  schedule_kind kind;
  double peak, floor;
  long warmup, total;
} schedule;
double schedule_rate(const schedule *s, long update);

#endif
