/* SPDX-License-Identifier: MIT */
/* support_layers.h: the layers of src/nn with one interface in both precisions, for test_layers.c.
 *
 * A problem holds doubles that float represents exactly. Runners give doubles whatever precision they compute in. A
 * gradient that a layer overwrites starts as NaN and one that it adds to starts at one half, which is taken off again:
 * so the rule itself is tested.
 */
#ifndef SPARC_TESTS_SUPPORT_LAYERS_H
#define SPARC_TESTS_SUPPORT_LAYERS_H

#include "kernels/kernels.h"

#include <stddef.h>

typedef enum layer_kind {
  LAYER_DENSE,      /* (n, in) -> (n, out) */
  LAYER_DENSE_ADDS, /* without bias, input gradient added to */
  LAYER_NORM,       /* (n, out) -> (n, out), like all that follow */
  LAYER_GELU,
  LAYER_GELU_MASKED,
  LAYER_GLU,
  LAYER_GLU_MASKED,
  LAYER_TANH,
  LAYER_READOUT, /* complex, in modes -> out, with skip */
  LAYER_RELU,
  LAYER_POOL,          /* (n, out) and a sum over `before` tokens -> mean (out) and sum (out) */
  LAYER_CROSS_ENTROPY, /* n examples, out classes -> loss */
  LAYER_SQUARED_ERROR, /* n * out numbers -> loss */
  LAYER_KINDS
} layer_kind;

typedef enum gradient_rule { GRADIENT_NONE, GRADIENT_OVERWRITTEN, GRADIENT_ADDED } gradient_rule;

typedef struct layer_input {
  const char *name;
  size_t count;
  gradient_rule rule;
  double *value;
} layer_input;

enum { LAYER_INPUTS = 5 };

typedef struct layer_problem {
  layer_kind kind;
  const char *name;
  size_t n, in, out, before;
  layer_input input[LAYER_INPUTS];
  size_t inputs, outputs;
  double *dy; /* (outputs) */
  int *labels /* (n) */;
} layer_problem;

/* forward into y (outputs) and, unless gradient is NULL, backward into gradient[i] (count of input i) */
void run_layer_f32(const layer_problem *p, const kernels *k, double *y, double *const *gradient);
void run_layer_f64(const layer_problem *p, const kernels *k, double *y, double *const *gradient);

#endif
