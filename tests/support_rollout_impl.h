/* SPDX-License-Identifier: MIT */
/* support_rollout_impl.h: the runners of support_rollout.h in one precision. */
#include "base/real.h"
#include "sparc/double.h"
#include "support_rollout.h"
#include "unit.h"

#include <string.h>

static void must(sparc_status status) {
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
}

static real *zeros(size_t count) { return sparc_alloc((count ? count : 1) * sizeof(real)); }

static real *narrow(const double *from, size_t count) {
  real *to = zeros(count);
  for (size_t i = 0; from && i < count; i++) to[i] = (real)from[i];
  return to;
}

static void widen(const real *from, size_t count, double *to) {
  for (size_t i = 0; i < count; i++) to[i] = (double)from[i];
}

static void release(real *const *blocks, size_t count) {
  for (size_t i = 0; i < count; i++) sparc_free(blocks[i]);
}

/* ---- the input Jacobian -------------------------------------------------------------------------- */

void TYPED(run_jacobian)(const problem *p, const double *x, double mask, double *state, double *jacobian) {
  const size_t D = (size_t)p->D, S = p->n.state;
  real *params = narrow(p->params, p->n.params), *prepared = zeros(p->n.prepared), *tape = zeros(p->n.tape);
  real *h = narrow(p->state0, S), *in = narrow(x, D), *J = zeros(S * D);
  must(PUBLIC(sparc_prepare)(p->cell, params, prepared));
  must(PUBLIC(sparc_step)(p->cell, prepared, h, in, (real)mask, NULL, tape));
  if (jacobian) {
    must(PUBLIC(sparc_input_jacobian)(p->cell, prepared, tape, J));
    widen(J, S * D, jacobian);
  }
  widen(h, S, state);
  real *const blocks[] = {params, prepared, tape, h, in, J};
  release(blocks, sizeof blocks / sizeof *blocks);
}
