/* SPDX-License-Identifier: MIT */
#include "support_rollout.h"

#include "base/random.h"

#include <string.h>

/* n numbers that float holds exactly */
static double *draw(sparc_random *stream, size_t n, double scale) {
  double *values = sparc_alloc(n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = (double)(float)(scale * sparc_random_normal(stream));
  return values;
}

rollout rollout_create(const sparc_cell_config *config, int T, int n, double change, sparc_random *stream) {
  rollout r = {.p = problem_create(config, 1, T, MASK_RANDOM, stream), .n = n};
  const size_t D = (size_t)r.p.D;
  /* segments of some ten steps, and one that the stream's past reaches */
  for (int t = 0; t < T; t++) r.p.mask[t] = t < 5 || sparc_random_below(stream, 20) != 0;
  r.trace0 = draw(stream, r.p.n.trace, 1);
  r.params = draw(stream, r.p.n.params, change);
  for (size_t i = 0; i < r.p.n.params; i++) r.params[i] = (double)(float)(r.params[i] + r.p.params[i]);
  r.steps = sparc_alloc((size_t)T * sizeof *r.steps);
  int *order = sparc_alloc((size_t)T * sizeof *order);
  random_permutation(stream, order, T);
  r.x = draw(stream, (size_t)n * D, change);
  for (int i = 0; i < n; i++) {
    r.steps[i] = order[i];
    for (size_t d = 0; d < D; d++) r.x[(size_t)i * D + d] += r.p.x[(size_t)r.steps[i] * D + d];
  }
  r.dy = draw(stream, (size_t)n * r.p.n.output, 1);
  sparc_free(order);
  return r;
}

void rollout_free(rollout *r) {
  void *blocks[] = {r->trace0, r->params, r->x, r->dy, r->steps, r->symbol};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  problem_free(&r->p);
}

void rollout_draw_symbols(rollout *r, int symbols, sparc_random *stream) {
  const size_t T = (size_t)r->p.T, D = (size_t)r->p.D;
  double *inputs = draw(stream, (size_t)symbols * D, 1);
  r->symbols = symbols;
  r->symbol = sparc_alloc(T * sizeof *r->symbol);
  for (size_t t = 0; t < T; t++) {
    r->symbol[t] = (int)sparc_random_below(stream, (uint32_t)symbols);
    memcpy(r->p.x + t * D, inputs + (size_t)r->symbol[t] * D, D * sizeof *inputs);
  }
  sparc_free(inputs);
}

minibatch minibatch_create(const rollout *r) {
  return (minibatch){.dparams = sparc_alloc(r->p.n.params * sizeof(double)),
                     .dx = sparc_alloc((size_t)r->n * (size_t)r->p.D * sizeof(double)),
                     .dinput = sparc_alloc((size_t)r->p.T * (size_t)r->p.D * sizeof(double))};
}

void minibatch_free(minibatch *m) {
  sparc_free(m->dparams);
  sparc_free(m->dx);
  sparc_free(m->dinput);
}
