/* SPDX-License-Identifier: MIT */
/* support_rollout_impl.h: the runners of support_rollout.h in one precision. */
#include "base/real.h"
#include "rtrl/rtrl_f64.h"
#include "rtrl/sizes.h"
#include "seq/step_f64.h"
#include "support_rollout.h"
#include "unit.h"

#include <math.h>
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

/* ---- a rollout ----------------------------------------------------------------------------------- */

/* what collecting a rollout leaves: for every step the state and the trace that it found, and its record */
typedef struct collection {
  const rollout *r;
  const sparc_cell *cell;
  sparc_cell_sizes n;
  size_t T, D;
  real *prepared, *states, *traces, *records, *x, *mask;
} collection;

static real mask_at(const problem *p, size_t t) { return p->mask ? (real)p->mask[t] : 1; }

static collection collect(const rollout *r) {
  const problem *p = &r->p;
  const size_t T = (size_t)p->T, D = (size_t)p->D, S = p->n.state, trace = p->n.trace;
  collection c = {.r = r, .cell = p->cell, .n = p->n, .T = T, .D = D};
  real *params = narrow(p->params, p->n.params), *tape = zeros(p->n.tape);
  c.prepared = zeros(p->n.prepared);
  c.x = narrow(p->x, T * D);
  c.mask = zeros(T);
  c.states = zeros((T + 1) * S);
  c.traces = zeros((T + 1) * trace);
  c.records = zeros(sparc_rtrl_sizes_of(p->cell, &(sparc_rtrl_shape){.T = p->T}).records);
  must(PUBLIC(sparc_prepare)(p->cell, params, c.prepared));
  for (size_t i = 0; i < S; i++) c.states[i] = p->state0 ? (real)p->state0[i] : 0;
  for (size_t i = 0; i < trace; i++) c.traces[i] = (real)r->trace0[i];
  for (size_t t = 0; t < T; t++) {
    real *state = c.states + (t + 1) * S, *Z = c.traces + (t + 1) * trace;
    memcpy(state, state - S, S * sizeof(real));
    memcpy(Z, Z - trace, trace * sizeof(real));
    c.mask[t] = mask_at(p, t);
    must(PUBLIC(sparc_step_rtrl)(p->cell, c.prepared, state, Z, c.x + t * D, c.mask[t], NULL, tape));
    must(PUBLIC(sparc_record_step)(p->cell, tape, p->T, (int)t, c.records));
  }
  real *const blocks[] = {params, tape};
  release(blocks, 2);
  return c;
}

static void collection_free(collection *c) {
  real *const blocks[] = {c->prepared, c->states, c->traces, c->records, c->x, c->mask};
  release(blocks, sizeof blocks / sizeof *blocks);
}

/* a minibatch under its own parameters: every item's step is taken, its tape is ready */
typedef struct items {
  size_t n;
  real *prepared, *states, *x, *masks, *tapes, *dy, *dparams, *dx;
} items;

static items take_items(const collection *c) {
  const rollout *r = c->r;
  const size_t n = (size_t)r->n, S = c->n.state;
  real *params = narrow(r->params, c->n.params);
  items m = {.n = n,
             .prepared = zeros(c->n.prepared),
             .states = zeros(n * S),
             .x = narrow(r->x, n * c->D),
             .masks = zeros(n),
             .tapes = zeros(n * c->n.tape),
             .dy = narrow(r->dy, n * c->n.output),
             .dparams = zeros(c->n.params),
             .dx = zeros(n * c->D)};
  must(PUBLIC(sparc_prepare)(c->cell, params, m.prepared));
  for (size_t i = 0; i < n; i++) {
    m.masks[i] = c->mask[r->steps[i]];
    memcpy(m.states + i * S, c->states + (size_t)r->steps[i] * S, S * sizeof(real));
  }
  must(PUBLIC(sparc_step_streams)(c->cell, m.prepared, r->n, m.states, m.x, m.masks, NULL, m.tapes, 1));
  sparc_free(params);
  return m;
}

static void give_items(const collection *c, items *m, minibatch *out) {
  widen(m->dparams, c->n.params, out->dparams);
  widen(m->dx, m->n * c->D, out->dx);
  real *const blocks[] = {m->prepared, m->states, m->x, m->masks, m->tapes, m->dy, m->dparams, m->dx};
  release(blocks, sizeof blocks / sizeof *blocks);
}

void TYPED(run_items)(const rollout *r, minibatch *out) {
  collection c = collect(r);
  items m = take_items(&c);
  real *Z = zeros(c.n.trace);
  for (size_t i = 0; i < m.n; i++) {
    memcpy(Z, c.traces + (size_t)r->steps[i] * c.n.trace, c.n.trace * sizeof(real));
    must(PUBLIC(sparc_rtrl_update)(c.cell, m.prepared, Z, m.tapes + i * c.n.tape, m.dy + i * c.n.output, m.dparams,
                                   m.dx + i * c.D));
  }
  sparc_free(Z);
  give_items(&c, &m, out);
  collection_free(&c);
}

/* work that must suffice, must not be read before it is written, and ends at its size */
static real *work_of(size_t size) {
  real *work = zeros(size + 1);
  for (size_t i = 0; i < size; i++) work[i] = (real)NAN;
  work[size] = 7;
  return work;
}

static void check_work(real *work, size_t size) {
  assert_true(work[size] == 7);
  sparc_free(work);
}

void TYPED(run_batch)(const rollout *r, int threads, minibatch *out) {
  collection c = collect(r);
  items m = take_items(&c);
  const size_t bytes = (c.T + 1) * c.n.trace * sizeof(real), size = TYPED(batch_work_size)(c.cell, r->n);
  real *kept = sparc_alloc(bytes), *work = work_of(size);
  const real **traces = sparc_alloc(m.n * sizeof *traces);
  memcpy(kept, c.traces, bytes);
  for (size_t i = 0; i < m.n; i++) traces[i] = c.traces + (size_t)r->steps[i] * c.n.trace;
  must(PUBLIC(sparc_rtrl_batch_gradient)(c.cell, m.prepared, r->n, traces, m.tapes, m.dy, m.dparams, m.dx, NULL, work,
                                         threads));
  assert_memory_equal(kept, c.traces, bytes);
  check_work(work, size);
  sparc_free(kept);
  sparc_free((void *)traces);
  give_items(&c, &m, out);
  collection_free(&c);
}

static PUBLIC(sparc_record_view) view_of(const collection *c) {
  return (PUBLIC(sparc_record_view)){
      .T = (int)c->T, .prepared = c->prepared, .records = c->records, .states = c->states, .boundary = c->traces};
}

/* every interval-th trace of the rollout */
static real *checkpoints_of(const collection *c, size_t interval) {
  real *out = zeros((c->T / interval + 1) * c->n.trace);
  for (size_t t = interval; t < c->T; t += interval)
    memcpy(out + (t / interval - 1) * c->n.trace, c->traces + t * c->n.trace, c->n.trace * sizeof(real));
  return out;
}

void TYPED(run_records)(const rollout *r, const record_options *options, minibatch *out) {
  collection c = collect(r);
  items m = take_items(&c);
  const int interval = options->interval, symbols = options->symbols ? r->symbols : 0;
  const size_t size = TYPED(record_work_size)(c.cell, r->p.T, r->n, interval, symbols);
  real *work = work_of(size), *dinput = zeros(c.T * c.D);
  real *checkpoints = interval > 0 ? checkpoints_of(&c, (size_t)interval) : NULL;
  PUBLIC(sparc_record_view) view = view_of(&c);
  view.checkpoints = checkpoints;
  view.interval = interval;
  view.symbol = options->symbols ? r->symbol : NULL;
  view.symbols = symbols;
  must(PUBLIC(sparc_record_gradient)(c.cell, m.prepared, &view, r->n, r->steps, m.tapes, m.dy, m.dparams, m.dx,
                                     options->dinput ? dinput : NULL, NULL, work, options->threads));
  check_work(work, size);
  widen(dinput, c.T * c.D, out->dinput);
  sparc_free(dinput);
  sparc_free(checkpoints);
  give_items(&c, &m, out);
  collection_free(&c);
}

void TYPED(run_boundary)(const rollout *r, int from, int to, double *got, double *want) {
  collection c = collect(r);
  const size_t size = TYPED(record_work_size)(c.cell, r->p.T, 1, 0, 0), trace = c.n.trace;
  real *work = work_of(size), *Z = zeros(trace);
  const PUBLIC(sparc_record_view) view = view_of(&c);
  memcpy(Z, c.traces + (size_t)from * trace, trace * sizeof(real));
  must(PUBLIC(sparc_record_boundary)(c.cell, &view, from, to, Z, work));
  widen(Z, trace, got);
  widen(c.traces + (size_t)to * trace, trace, want);
  check_work(work, size);
  sparc_free(Z);
  collection_free(&c);
}
