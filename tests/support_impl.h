/* SPDX-License-Identifier: MIT */
/* support_impl.h: the runners of support.h in one precision; included by support_f32.c and support_f64.c. */
#include "base/real.h"
#include "cells/plan.h"
#include "rtrl/rtrl_f64.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SPARC_DOUBLE
typedef sparc_sequence_f64 sequence;
typedef sparc_sequence_gradient_f64 sequence_gradient;
#else
typedef sparc_sequence sequence;
typedef sparc_sequence_gradient sequence_gradient;
#endif

static void must(sparc_status status) {
  if (status == SPARC_OK) return;
  fprintf(stderr, "unexpected status: %s\n", sparc_error());
  abort();
}

static real *narrow(const double *values, size_t count) {
  if (!values) return NULL;
  real *out = sparc_alloc(count * sizeof *out);
  for (size_t i = 0; i < count; i++) out[i] = (real)values[i];
  return out;
}

static void widen(const real *values, size_t count, double *out) {
  for (size_t i = 0; i < count; i++) out[i] = (double)values[i];
}

static real *prepare(const problem *p) {
  real *params = narrow(p->params, p->n.params), *prepared = sparc_alloc(p->n.prepared * sizeof *prepared);
  must(PUBLIC(sparc_prepare)(p->cell, params, prepared));
  sparc_free(params);
  return prepared;
}

void TYPED(run_sequence)(const problem *p, const sparc_plan_config *config, bool with_last, result *r) {
  const size_t B = (size_t)p->B, tokens = B * (size_t)p->T, D = (size_t)p->D;
  real *prepared = prepare(p);
  sparc_plan *plan;
  must(sparc_plan_create(p->cell, p->B, p->T, config, &plan));
  void *saved = sparc_alloc(TYPED(plan_sizes)(plan).saved), *work = sparc_alloc(TYPED(plan_sizes)(plan).work);
  real *x = narrow(p->x, tokens * D), *mask = narrow(p->mask, tokens), *state0 = narrow(p->state0, B * p->n.state);
  real *dy = narrow(p->dy, tokens * p->n.output), *dlast = narrow(p->dstate_last, B * p->n.state);
  real *y = sparc_alloc(tokens * p->n.output * sizeof *y), *last = sparc_alloc(B * p->n.state * sizeof *last);
  real *dx = sparc_alloc(tokens * D * sizeof *dx), *dstate0 = sparc_alloc(B * p->n.state * sizeof *dstate0);
  real *dparams = sparc_alloc(p->n.params * sizeof *dparams);

  const sequence io = {.x = x, .mask = mask, .state0 = state0, .y = y, .state_last = last};
  const sequence_gradient gradient = {
      .dy = dy, .dstate_last = with_last ? dlast : NULL, .dx = dx, .dstate0 = dstate0, .dparams = dparams};
  must(PUBLIC(sparc_forward)(plan, prepared, &io, saved, work));
  must(PUBLIC(sparc_backward)(plan, prepared, &io, saved, &gradient, work));

  widen(y, tokens * p->n.output, r->y);
  widen(last, B * p->n.state, r->state_last);
  widen(dx, tokens * D, r->dx);
  widen(dstate0, B * p->n.state, r->dstate0);
  widen(dparams, p->n.params, r->dparams);
  void *blocks[] = {prepared, saved, work, x, mask, state0, dy, dlast, y, last, dx, dstate0, dparams};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  sparc_plan_free(plan);
}

typedef enum online_kind { ONLINE_STEPS, ONLINE_RTRL, ONLINE_UPDATE } online_kind;

/* all streams, step by step: without traces, with traces and their contraction, or both in one pass */
static void run_online(const problem *p, online_kind kind, result *r) {
  const size_t B = (size_t)p->B, T = (size_t)p->T, D = (size_t)p->D, O = p->n.output, S = p->n.state;
  real *prepared = prepare(p), *tape = sparc_alloc(p->n.tape * sizeof *tape);
  real *x = narrow(p->x, B * T * D), *dy = narrow(p->dy, B * T * O), *y = sparc_alloc(O * sizeof *y);
  real *state = sparc_alloc(S * sizeof *state), *trace = sparc_alloc(p->n.trace * sizeof *trace);
  real *dparams = sparc_alloc(p->n.params * sizeof *dparams), *dx = sparc_alloc(D * sizeof *dx);
  for (size_t b = 0; b < B; b++) {
    for (size_t i = 0; i < p->n.trace; i++) trace[i] = (real)p->trace0;
    for (size_t i = 0; i < S; i++) state[i] = p->state0 ? (real)p->state0[b * S + i] : 0;
    for (size_t t = 0; t < T; t++) {
      const size_t at = b * T + t;
      const real mask = p->mask ? (real)p->mask[at] : 1;
      if (kind == ONLINE_RTRL) {
        must(PUBLIC(sparc_step_rtrl)(p->cell, prepared, state, trace, x + at * D, mask, y, tape));
        must(PUBLIC(sparc_rtrl_gradient)(p->cell, prepared, trace, tape, dy + at * O, dparams, dx));
      } else {
        must(PUBLIC(sparc_step)(p->cell, prepared, state, x + at * D, mask, y, tape));
        if (kind == ONLINE_UPDATE)
          must(PUBLIC(sparc_rtrl_update)(p->cell, prepared, trace, tape, dy + at * O, dparams, dx));
      }
      if (kind != ONLINE_STEPS) widen(dx, D, r->dx + at * D);
      widen(y, O, r->y + at * O);
    }
    widen(state, S, r->state_last + b * S);
    if (kind != ONLINE_STEPS && b == 0) widen(trace, p->n.trace, r->trace);
  }
  widen(dparams, p->n.params, r->dparams);
  void *blocks[] = {prepared, tape, x, dy, y, state, trace, dparams, dx};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
}

void TYPED(run_steps)(const problem *p, result *r) { run_online(p, ONLINE_STEPS, r); }
void TYPED(run_rtrl)(const problem *p, result *r) { run_online(p, ONLINE_RTRL, r); }
void TYPED(run_rtrl_update)(const problem *p, result *r) { run_online(p, ONLINE_UPDATE, r); }
