/* SPDX-License-Identifier: MIT */
/* support_network_impl.h: the runners of support_network.h in one precision. */
#include "base/real.h"
#include "nn/network.h"
#include "support_network.h"
#include "unit.h"

#include <string.h>

#ifdef SPARC_DOUBLE
typedef sparc_network_sequence_f64 network_sequence;
typedef sparc_network_gradient_f64 network_gradient;
#else
typedef sparc_network_sequence network_sequence;
typedef sparc_network_gradient network_gradient;
#endif

static void demand(sparc_status status) {
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
}

static real *narrow(size_t n, const double *values) {
  real *out = values ? sparc_alloc(n * sizeof *out) : NULL;
  for (size_t i = 0; values && i < n; i++) out[i] = (real)values[i];
  return out;
}

static void widen(size_t n, const real *from, double *to) {
  for (size_t i = 0; i < n; i++) to[i] = (double)from[i];
}

/* the numbers of a trial in this precision, and arrays for results */
typedef struct arrays {
  size_t tokens, inputs, states;
  real *x, *mask, *state0, *dstate_last, *prepared;
  real *output, *state_last, *dparams, *dx, *dstate0;
} arrays;

static arrays make_arrays(const trial *t) {
  arrays a = {.tokens = (size_t)(t->B * t->T), .states = (size_t)t->B * t->n.state};
  a.inputs = a.tokens * (size_t)t->config.inputs;
  a.x = narrow(a.inputs, t->x);
  a.mask = narrow(a.tokens, t->mask);
  a.state0 = narrow(a.states, t->state0);
  a.dstate_last = narrow(a.states, t->cotangent_of_state);
  a.prepared = sparc_alloc(t->n.prepared * sizeof(real));
  a.output = sparc_alloc(t->outputs * sizeof(real));
  a.state_last = sparc_alloc(a.states * sizeof(real));
  a.dparams = sparc_alloc(t->n.params * sizeof(real));
  a.dx = sparc_alloc(a.inputs * sizeof(real));
  a.dstate0 = sparc_alloc(a.states * sizeof(real));
  real *p = narrow(t->n.params, t->p);
  demand(PUBLIC(sparc_network_prepare)(t->network, p, a.prepared));
  sparc_free(p);
  return a;
}

static void deliver(const trial *t, arrays *a, outcome *o) {
  widen(t->outputs, a->output, o->output);
  widen(a->states, a->state_last, o->state_last);
  widen(t->n.params, a->dparams, o->dparams);
  widen(a->inputs, a->dx, o->dx);
  widen(a->states, a->dstate0, o->dstate0);
  real *memory[] = {a->x,      a->mask,       a->state0,  a->dstate_last, a->prepared,
                    a->output, a->state_last, a->dparams, a->dx,          a->dstate0};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
}

/* ---- whole sequences --------------------------------------------------------------------------- */

void TYPED(run_network)(const trial *t, int threads, outcome *o) {
  arrays a = make_arrays(t);
  sparc_network_plan *plan;
  demand(sparc_network_plan_create(t->network, t->B, t->T, threads, &plan));
  void *work =
      sparc_alloc(sparc_network_plan_work_bytes(plan, sizeof(real) == sizeof(double) ? SPARC_FLOAT64 : SPARC_FLOAT32));
  real *outputs[TRIAL_HEADS];
  const real *doutputs[TRIAL_HEADS];
  for (int i = 0; i < t->config.heads; i++) outputs[i] = a.output + t->first[i];
  const network_sequence sequence = {.x = a.x,
                                     .mask = a.mask,
                                     .state0 = a.state0,
                                     .lengths = t->lengths,
                                     .dropout = t->dropout,
                                     .outputs = outputs,
                                     .state_last = a.dstate_last ? a.state_last : NULL};
  demand(PUBLIC(sparc_network_forward)(plan, a.prepared, &sequence, work));

  double *doutput = sparc_alloc(t->outputs * sizeof *doutput);
  widen(t->outputs, a.output, o->output);
  widen(a.states, a.state_last, o->state_last);
  o->loss = trial_loss(t, o->output, o->state_last, doutput);
  real *rounded = narrow(t->outputs, doutput);
  for (int i = 0; i < t->config.heads; i++) doutputs[i] = rounded + t->first[i];
  const network_gradient gradient = {
      .doutputs = doutputs, .dstate_last = a.dstate_last, .dx = a.dx, .dstate0 = a.dstate0, .dparams = a.dparams};
  demand(PUBLIC(sparc_network_backward)(plan, a.prepared, &sequence, &gradient, work));
  deliver(t, &a, o);
  sparc_free(doutput);
  sparc_free(rounded);
  sparc_free(work);
  sparc_network_plan_free(plan);
}

/* ---- one input at a time ----------------------------------------------------------------------- */

/* where the output of a head at step s of stream b is in a sequence call; false: nowhere */
static bool place_of(const trial *t, int head, int b, int s, size_t *at) {
  const sparc_head_config *h = &t->config.head[head];
  const bool steps = h->input == SPARC_HEAD_STEPS, constant = h->input == SPARC_HEAD_CONSTANT;
  const int row = steps ? b * t->T + s : constant ? 0 : b;
  *at = t->first[head] + (size_t)(row * h->outputs);
  return steps || (constant ? b == 0 && s == 0 : s == t->T - 1);
}

/* between the outputs of one step of a stream and those of a sequence call */
static void scatter(const trial *t, int b, int s, const real *y, real *output) {
  size_t at;
  for (int i = 0; i < t->config.heads; y += t->config.head[i++].outputs)
    if (place_of(t, i, b, s, &at)) memcpy(output + at, y, (size_t)t->config.head[i].outputs * sizeof *y);
}

static void gather(const trial *t, int b, int s, const double *doutput, real *dy) {
  size_t at;
  for (int i = 0; i < t->config.heads; dy += t->config.head[i++].outputs) {
    const bool counts = place_of(t, i, b, s, &at);
    for (int k = 0; k < t->config.head[i].outputs; k++) dy[k] = counts ? (real)doutput[at + (size_t)k] : 0;
  }
}

/* a sequence without mask and state0 starts a segment */
static real mask_at(const trial *t, const arrays *a, int b, int s) {
  return a->mask ? a->mask[b * t->T + s] : a->state0 || s > 0 ? 1 : 0;
}

static void start_states(const arrays *a) {
  if (a->state0) memcpy(a->state_last, a->state0, a->states * sizeof(real));
}

void TYPED(run_network_steps)(const trial *t, bool together, int threads, outcome *o) {
  const size_t B = (size_t)t->B, T = (size_t)t->T, C = (size_t)t->config.inputs;
  arrays a = make_arrays(t);
  real *x = sparc_alloc(B * C * sizeof *x), *masks = sparc_alloc(B * sizeof *masks);
  real *y = sparc_alloc(B * t->n.outputs * sizeof *y), *tapes = sparc_alloc(B * t->n.tape * sizeof *tapes);
  start_states(&a);
  for (size_t s = 0; s < T; s++) {
    for (size_t b = 0; b < B; b++) {
      memcpy(x + b * C, a.x + (b * T + s) * C, C * sizeof *x);
      masks[b] = mask_at(t, &a, (int)b, (int)s);
    }
    const size_t n = together ? B : 1;
    for (size_t b = 0; b < B; b += n)
      demand(PUBLIC(sparc_network_step)(t->network, a.prepared, (int)n, a.state_last + b * t->n.state, x + b * C,
                                        masks + b, y + b * t->n.outputs, tapes, threads));
    for (size_t b = 0; b < B; b++) scatter(t, (int)b, (int)s, y + b * t->n.outputs, a.output);
  }
  deliver(t, &a, o);
  real *memory[] = {x, masks, y, tapes};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
}

void TYPED(run_network_rtrl)(const trial *t, sparc_encoder_gradient encoder, const double *doutput, outcome *o) {
  const size_t C = (size_t)t->config.inputs;
  const size_t size = encoder == SPARC_ENCODER_EXACT ? t->n.trace_exact : t->n.trace;
  arrays a = make_arrays(t);
  real *y = sparc_alloc(t->n.outputs * sizeof *y), *dy = sparc_alloc(t->n.outputs * sizeof *dy);
  real *tape = sparc_alloc(t->n.tape * sizeof *tape);
  start_states(&a);
  for (int b = 0; b < t->B; b++) {
    real *trace = sparc_alloc(size * sizeof *trace), *state = a.state_last + (size_t)b * t->n.state;
    for (int s = 0; s < t->T; s++) {
      const size_t at = (size_t)(b * t->T + s) * C;
      demand(PUBLIC(sparc_network_step_rtrl)(t->network, a.prepared, encoder, state, trace, a.x + at,
                                             mask_at(t, &a, b, s), y, tape));
      scatter(t, b, s, y, a.output);
      gather(t, b, s, doutput, dy);
      demand(
          PUBLIC(sparc_network_rtrl_gradient)(t->network, a.prepared, encoder, trace, tape, dy, a.dparams, a.dx + at));
    }
    sparc_free(trace);
  }
  deliver(t, &a, o);
  real *memory[] = {y, dy, tape};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
}
