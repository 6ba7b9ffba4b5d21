/* SPDX-License-Identifier: MIT */
/* losses.h: the float losses of layers_impl.h under the names that the linker sees, for sources that are compiled once
 * and may therefore not include a header that makes them typed. */
#ifndef SPARC_NN_LOSSES_H
#define SPARC_NN_LOSSES_H

#include <stddef.h>

double cross_entropy_f32(size_t n, size_t classes, const float *logits, const int *labels, float *probabilities,
                         float *dlogits);
double cross_entropy_soft_f32(size_t n, size_t classes, const float *logits, const int *labels, const double *weights,
                              double smoothing, float *probabilities, float *dlogits);
double mean_squared_error_f32(size_t count, const float *prediction, const float *target, float *d);

#endif
