/* SPDX-License-Identifier: MIT */
/* optimiser.h: norm and clipping of gradients, and Adam in double. */
#ifndef SPARC_NN_OPTIMISER_H
#define SPARC_NN_OPTIMISER_H

#include "sparc/optimiser.h"

/* gradient_norm is the Euclidean norm without frozen spans. It is a double sum over tiles in a fixed order: the same
 * bits for every number of threads. */
double gradient_norm_f32(const sparc_span *spans, size_t span_count, int threads, const float *gradient);
double gradient_norm_f64(const sparc_span *spans, size_t span_count, int threads, const double *gradient);

/* gradient_clip scales the gradient to a norm of at most max_norm (<= 0: never) and returns the norm before clipping. A
 * gradient that is not finite is not changed. */
double gradient_clip_f32(const sparc_span *spans, size_t span_count, size_t count, int threads, double max_norm,
                         float *gradient);
double gradient_clip_f64(const sparc_span *spans, size_t span_count, size_t count, int threads, double max_norm,
                         double *gradient);

/* sparc_adam_update in double */
sparc_status sparc_adam_update_f64(const sparc_adam_config *config, const sparc_span *spans, size_t span_count,
                                   size_t count, int threads, long step, double learning_rate, const double *gradient,
                                   double *moments, double *params);

#endif
