/* SPDX-License-Identifier: MIT */
/* gradient.c: the gradient of a minibatch's loss: network step forward, loss, heads backward, cell with its past, encoder
 * backward. The encoder's gradient is that of the item's step (local), or of all steps (exact)
 * [eq:app_upstream_derivative]. */
#include "nn/network_encoder_impl.h"
#include "nn/network_step_impl.h"
#include "rl/gradient_impl.h"

#include <string.h>

/* ---- memory --------------------------------------------------------------------------------------- */

size_t encoder_elements(const sparc_network *network, size_t M, size_t T) {
  const size_t S = network->cell->sizes.state, stream = S + T * (size_t)network->cell->D;
  return M * S > stream ? M * S : stream;
}

void minibatch_carve(arena *a, const sparc_network *network, const policy *p, size_t past, size_t encoder,
                     minibatch *b) {
  const sparc_network_sizes n = sparc_network_sizes_of(network);
  const size_t inputs = (size_t)sparc_network_config_of(network).inputs;
  const struct {
    real **array;
    size_t width;
  } arrays[] = {{&b->x, inputs},
                {&b->masks, 1},
                {&b->states, n.state},
                {&b->actions, p->action},
                {&b->log_probabilities, 1},
                {&b->values, 1},
                {&b->advantages, 1},
                {&b->targets, 1},
                {&b->y, n.outputs},
                {&b->dy, n.outputs},
                {&b->tapes, n.tape}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    *arrays[i].array = arena_take(a, b->M * arrays[i].width, sizeof(real));
  const size_t heads = 2 * b->M * n.outputs; /* of windows */
  b->work = arena_take(a, past > heads ? past : heads, sizeof(real));
  b->dpast = arena_take(a, encoder, sizeof(real));
}

/* ---- the loss ------------------------------------------------------------------------------------- */

static void differentiate(const gradient_context *g, minibatch *b, sparc_ppo_diagnostics *d) {
  const TYPED(ppo_batch) items = {.n = b->M,
                                  .whole = b->whole,
                                  .moments = b->moments,
                                  .actions = b->actions,
                                  .log_probabilities = b->log_probabilities,
                                  .values = b->values,
                                  .advantages = b->advantages,
                                  .value_targets = b->targets};
  ppo_loss(&g->coefficients, &g->policy, &items, b->y, b->dy, d);
}

/* ---- one step, with its past ------------------------------------------------------------------------ */

/* y, dy and the cotangents of the cell's outputs; adds the gradients of layers after the cell */
static sparc_status rebuild(const gradient_context *g, minibatch *b, real *dparams, sparc_ppo_diagnostics *d) {
  const int M = (int)b->M;
  const sparc_status status =
      PUBLIC(sparc_network_step)(g->network, g->prepared, M, b->states, b->x, b->masks, b->y, b->tapes, g->threads);
  if (status != SPARC_OK) return status;
  differentiate(g, b, d);
  TYPED(network_step_post_cell_backward)(g->network, g->prepared, M, b->dy, b->tapes, dparams, g->threads);
  return SPARC_OK;
}

static bool is_exact(const gradient_context *g) { return g->encoder == SPARC_ENCODER_EXACT; }

sparc_status gradient_stored_traces(const gradient_context *g, minibatch *b, const real *const *traces, real *dparams,
                                    sparc_ppo_diagnostics *d) {
  const sparc_network *net = g->network;
  const int M = (int)b->M;
  const size_t S = net->cell->sizes.state;
  const TYPED(network_tape) at = TYPED(network_tape_of)(net, M, b->tapes);
  sparc_status status = rebuild(g, b, dparams, d);
  if (status == SPARC_OK)
    status = PUBLIC(sparc_rtrl_batch_gradient)(net->cell, g->prepared + net->cell_prepared, M, traces, at.cell_tapes,
                                               at.dcell_output, dparams + net->cell_params, at.dcell_input,
                                               is_exact(g) ? b->dpast : NULL, b->work, g->threads);
  if (status != SPARC_OK) return status;
  for (size_t m = 0; is_exact(g) && m < b->M; m++)
    TYPED(encoder_contract_state)(net, traces[m], b->dpast + m * S, dparams);
  TYPED(network_step_pre_cell_backward)(net, g->prepared, M, b->tapes, dparams, NULL, g->threads);
  return SPARC_OK;
}

/* the items of one stream, contiguous on the tapes */
typedef struct stream_items {
  const stream_past *past;
  size_t first, n;
  const int *steps;  /* (n) */
  const real **rows; /* (n): scratch */
} stream_items;

/* the cell's gradient; dstate and dinputs may be NULL */
static sparc_status cell_gradient(const gradient_context *g, minibatch *b, const stream_items *s, real *dcell,
                                  real *dstate, real *dinputs) {
  const sparc_cell *cell = g->network->cell;
  const stream_past *past = s->past;
  const TYPED(network_tape) at = TYPED(network_tape_of)(g->network, (int)b->M, b->tapes);
  const real *prepared = g->prepared + g->network->cell_prepared;
  const real *dy = at.dcell_output + s->first * cell->sizes.output;
  real *tapes = at.cell_tapes + s->first * cell->sizes.tape, *dx = at.dcell_input + s->first * (size_t)cell->D;
  if (!past->grouped)
    return PUBLIC(sparc_record_gradient)(cell, prepared, &past->view, (int)s->n, s->steps, tapes, dy, dcell, dx,
                                         dinputs, dstate, b->work, g->threads);
  const size_t width = TYPED(grouped_trace_size)(cell, past->grouping.symbols);
  for (size_t m = 0; m < s->n; m++) s->rows[m] = past->grouped + (size_t)s->steps[m] * width;
  TYPED(grouped_gradient)
  (cell, prepared, &past->grouping, (int)s->n, s->rows, tapes, dy, dcell, dx, dinputs, dstate, b->work, g->threads);
  return SPARC_OK;
}

/* the same including the encoder of earlier steps, if exact */
static sparc_status stream_gradient(const gradient_context *g, minibatch *b, const stream_items *s, real *dparams) {
  const sparc_network *net = g->network;
  const stream_past *past = s->past;
  const size_t S = net->cell->sizes.state, D = (size_t)net->cell->D;
  const size_t n = past->grouped ? (size_t)past->grouping.symbols : (size_t)past->view.T;
  real *dcell = dparams + net->cell_params, *dstate = b->dpast, *dinputs = b->dpast + S;
  if (!is_exact(g)) return cell_gradient(g, b, s, dcell, NULL, NULL);
  memset(b->dpast, 0, (S + n * D) * sizeof *b->dpast);
  const sparc_status status = cell_gradient(g, b, s, dcell, dstate, dinputs);
  if (status != SPARC_OK) return status;
  TYPED(encoder_contract_state)(net, past->boundary, dstate, dparams);
  TYPED(encoder_rows_gradient)
  (net, g->prepared, n, past->observations, past->inputs, dinputs, dparams, g->threads);
  return SPARC_OK;
}

sparc_status gradient_trace_free(const gradient_context *g, minibatch *b, size_t streams, const stream_past *past,
                                 const size_t *first, const int *steps, const real **rows, real *dparams,
                                 sparc_ppo_diagnostics *d) {
  sparc_status status = rebuild(g, b, dparams, d);
  for (size_t i = 0; i < streams && status == SPARC_OK; i++) {
    const stream_items items = {&past[i], first[i], first[i + 1] - first[i], steps + first[i], rows + first[i]};
    if (items.n > 0) status = stream_gradient(g, b, &items, dparams);
  }
  if (status == SPARC_OK)
    TYPED(network_step_pre_cell_backward)(g->network, g->prepared, (int)b->M, b->tapes, dparams, NULL, g->threads);
  return status;
}

/* ---- truncated backpropagation ----------------------------------------------------------------------------------------- */

enum { HEADS = 3 };

/* arrays of the heads, contiguous: actor (M, A), critic (M), log_std (A) */
typedef struct head_arrays {
  real *of[HEADS];
} head_arrays;

static head_arrays heads_at(const policy *p, size_t M, real *memory) {
  const size_t actor = M * policy_actor(p);
  return (head_arrays){{memory, memory + actor, memory + actor + M}};
}

/* rows of a step's outputs <- the heads' arrays */
static void join_heads(const policy *p, size_t M, const head_arrays *heads, real *y) {
  const size_t A = policy_actor(p), stride = policy_outputs(p);
  for (size_t m = 0; m < M; m++, y += stride) {
    memcpy(y, heads->of[0] + m * A, A * sizeof *y);
    y[policy_value(p)] = heads->of[1][m];
    if (!p->choices) memcpy(y + policy_log_std(p), heads->of[2], A * sizeof *y);
  }
}

/* the inverse; log_std receives the sum over all rows */
static void split_heads(const policy *p, size_t M, const real *dy, const head_arrays *dheads) {
  const size_t A = policy_actor(p), stride = policy_outputs(p);
  if (!p->choices) memset(dheads->of[2], 0, A * sizeof *dy);
  for (size_t m = 0; m < M; m++, dy += stride) {
    memcpy(dheads->of[0] + m * A, dy, A * sizeof *dy);
    dheads->of[1][m] = dy[policy_value(p)];
    for (size_t d = 0; !p->choices && d < A; d++) dheads->of[2][d] += dy[policy_log_std(p) + d];
  }
}

/* moves the states before each window to the front */
static void keep_first_states(minibatch *b, size_t window, size_t state) {
  for (size_t w = 1; w < b->M / window; w++)
    memmove(b->states + w * state, b->states + w * window * state, state * sizeof *b->states);
}

sparc_status gradient_tbptt(const gradient_context *g, minibatch *b, const sparc_network_plan *plan, void *plan_work,
                            real *dparams, sparc_ppo_diagnostics *d) {
  const policy *p = &g->policy;
  const head_arrays heads = heads_at(p, b->M, b->work);
  const head_arrays dheads = heads_at(p, b->M, b->work + b->M * policy_outputs(p));
  const PUBLIC(sparc_network_sequence)
      sequence = {.x = b->x, .mask = b->masks, .state0 = b->states, .outputs = heads.of};
  keep_first_states(b, (size_t)plan->T, sparc_network_sizes_of(g->network).state);
  sparc_status status = PUBLIC(sparc_network_forward)(plan, g->prepared, &sequence, plan_work);
  if (status != SPARC_OK) return status;
  join_heads(p, b->M, &heads, b->y);
  differentiate(g, b, d);
  split_heads(p, b->M, b->dy, &dheads);
  const PUBLIC(sparc_network_gradient) gradient = {.doutputs = (const real *const *)dheads.of, .dparams = dparams};
  return PUBLIC(sparc_network_backward)(plan, g->prepared, &sequence, &gradient, plan_work);
}
