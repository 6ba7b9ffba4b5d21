/* SPDX-License-Identifier: MIT */
/* support_lazy_impl.h: the runner of support_lazy.h in one precision. */
#include "base/real.h"
#include "rtrl/rtrl_f64.h"
#include "support_lazy.h"
#include "unit.h"

#include <math.h>
#include <string.h>

typedef struct run {
  const problem *p;
  const schedule *s;
  real *params, *prepared, *state, *tape, *y, *dparams, *x, *dy, *dx;
  PUBLIC(sparc_lazy) lazy;
} run;

static void must(sparc_status status) {
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
}

static real *zeros(size_t count) { return sparc_alloc((count ? count : 1) * sizeof(real)); }

static void narrow(const double *from, size_t count, real *to) {
  for (size_t i = 0; i < count; i++) to[i] = (real)from[i];
}

static void widen(const real *from, size_t count, double *to) {
  for (size_t i = 0; i < count; i++) to[i] = (double)from[i];
}

/* a change that float holds to the last digits, so that both precisions see nearly the same parameters */
static void move_params(run *r, size_t t) {
  for (size_t i = 0; i < r->p->n.params; i++) r->params[i] += (real)0.015625 * (real)((int)((i + t) % 3) - 1);
  must(PUBLIC(sparc_prepare)(r->p->cell, r->params, r->prepared));
}

static void stepwise(run *r, real mask, bool loss) {
  const sparc_cell *cell = r->p->cell;
  if (!loss) {
    must(PUBLIC(sparc_step_rtrl)(cell, r->prepared, r->state, r->lazy.trace, r->x, mask, r->y, r->tape));
    return;
  }
  must(PUBLIC(sparc_step)(cell, r->prepared, r->state, r->x, mask, r->y, r->tape));
  must(PUBLIC(sparc_rtrl_update)(cell, r->prepared, r->lazy.trace, r->tape, r->dy, r->dparams, r->dx));
}

static void lazily(run *r, real mask, bool loss, size_t t) {
  const sparc_cell *cell = r->p->cell;
  if (loss || t % 2) {
    must(PUBLIC(sparc_step)(cell, r->prepared, r->state, r->x, mask, r->y, r->tape));
    must(PUBLIC(sparc_lazy_update)(cell, r->prepared, &r->lazy, r->tape, loss ? r->dy : NULL, r->dparams, r->dx));
  } else {
    must(PUBLIC(sparc_step)(cell, r->prepared, r->state, r->x, mask, r->y, r->tape));
    must(PUBLIC(sparc_lazy_update)(cell, r->prepared, &r->lazy, r->tape, NULL, r->dparams, NULL));
  }
  if (r->s->flush_early && t % 11 == 10) must(PUBLIC(sparc_lazy_flush)(cell, &r->lazy, r->dparams));
}

static void start(run *r, size_t b) {
  const problem *p = r->p;
  for (size_t i = 0; i < p->n.trace; i++) r->lazy.trace[i] = r->s->spoil_traces ? (real)INFINITY : (real)p->trace0;
  for (size_t i = 0; i < p->n.state; i++) r->state[i] = p->state0 ? (real)p->state0[b * p->n.state + i] : 0;
}

static void take_step(run *r, size_t b, size_t t, result *out) {
  const problem *p = r->p;
  const size_t T = (size_t)p->T, D = (size_t)p->D, O = p->n.output, at = b * T + t;
  const bool loss = !r->s->skip_losses || t % 5 > 1, turn = r->s->take_turns && 2 * t >= T;
  narrow(p->x + at * D, D, r->x);
  narrow(p->dy + at * O, O, r->dy);
  memset(r->dx, 0, D * sizeof(real));
  if (r->s->move_params && t % 3 == 2) move_params(r, t);
  if (turn && r->s->chunk > 0) must(PUBLIC(sparc_lazy_flush)(p->cell, &r->lazy, r->dparams));
  if (r->s->chunk == 0 || turn)
    stepwise(r, p->mask ? (real)p->mask[at] : 1, loss);
  else
    lazily(r, p->mask ? (real)p->mask[at] : 1, loss, t);
  widen(r->dx, D, out->dx + at * D);
  widen(r->y, O, out->y + at * O);
}

void TYPED(run_schedule)(const problem *p, const schedule *s, result *out) {
  const int chunk = s->chunk > 0 ? s->chunk : 1;
  run r = {.p = p,
           .s = s,
           .params = zeros(p->n.params),
           .prepared = zeros(p->n.prepared),
           .state = zeros(p->n.state),
           .tape = zeros(p->n.tape),
           .y = zeros(p->n.output),
           .dparams = zeros(p->n.params),
           .x = zeros((size_t)p->D),
           .dy = zeros(p->n.output),
           .dx = zeros((size_t)p->D),
           .lazy = {.capacity = chunk}};
  const size_t size = sparc_rtrl_sizes_of(p->cell, &(sparc_rtrl_shape){.chunk = chunk}).lazy;
  r.lazy.trace = zeros(p->n.trace);
  r.lazy.steps = zeros(size + 1);
  /* what a chunk does not write it must not read, and it ends at its size */
  for (size_t i = 0; i < size; i++) r.lazy.steps[i] = (real)NAN;
  r.lazy.steps[size] = 7;
  narrow(p->params, p->n.params, r.params);
  must(PUBLIC(sparc_prepare)(p->cell, r.params, r.prepared));
  for (size_t b = 0; b < (size_t)p->B; b++) {
    start(&r, b);
    for (size_t t = 0; t < (size_t)p->T; t++) take_step(&r, b, t, out);
    must(PUBLIC(sparc_lazy_flush)(p->cell, &r.lazy, r.dparams));
    widen(r.state, p->n.state, out->state_last + b * p->n.state);
  }
  assert_true(r.lazy.steps[size] == 7);
  widen(r.lazy.trace, p->n.trace, out->trace);
  widen(r.dparams, p->n.params, out->dparams);
  real *blocks[] = {r.params, r.prepared, r.state, r.tape, r.y, r.dparams, r.x, r.dy, r.dx, r.lazy.trace, r.lazy.steps};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
}
