/* SPDX-License-Identifier: MIT */
/* update.c: epochs of minibatches over a rollout. An item is one step, recomputed with current parameters from stored
 * state and sensitivities, or from those of a replay with newer parameters; advantages and targets are not recomputed. */
#include "base/error.h"
#include "base/random.h"
#include "nn/network.h"
#include "nn/optimiser_step.h"
#include "rl/ppo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- selection of items --------------------------------------------------------------------------- */

static size_t window_of(const sparc_ppo *ppo) { return ppo->gradient_method == TBPTT ? (size_t)ppo->plan->T : 1; }

static void shuffle(sparc_ppo *ppo, int epoch) {
  const rollout *r = &ppo->rollout;
  char name[64];
  const int used = snprintf(name, sizeof name, "%ld.%d", ppo->rollouts, epoch);
  if (ppo_shards(&ppo->config) > 1) snprintf(name + used, sizeof name - (size_t)used, ".%d", ppo->shard);
  sparc_random stream;
  sparc_random_init(&stream, ppo->config.seed, "minibatches", name);
  random_permutation(&stream, ppo->index.order, (int)(r->n.N * r->n.T / window_of(ppo)));
}

/* out (M, width) <- rows of an array of the rollout */
static void gather(const sparc_ppo *ppo, size_t width, const float *rows, float *out) {
  for (size_t m = 0; m < ppo->batch.M; m++)
    memcpy(out + m * width, rows + (size_t)ppo->index.rows[m] * width, width * sizeof *out);
}

static void gather_batch(sparc_ppo *ppo, const float *states) {
  const rollout *r = &ppo->rollout;
  minibatch *b = &ppo->batch;
  gather(ppo, r->n.observation, r->observations, b->x);
  gather(ppo, r->n.state, states, b->states);
  gather(ppo, r->n.action, r->actions, b->actions);
  gather(ppo, 1, r->log_probabilities, b->log_probabilities);
  gather(ppo, 1, r->values, b->values);
  gather(ppo, 1, r->advantages, b->advantages);
  gather(ppo, 1, r->targets, b->targets);
  for (size_t m = 0; m < b->M; m++) b->masks[m] = r->masks[ppo->index.rows[m]];
}

/* stable sort of the items by stream */
static void sort_by_stream(sparc_ppo *ppo) {
  const size_t N = ppo->rollout.n.N, M = ppo->batch.M, of_stream = ppo->rollout.n.T + 1;
  minibatch_index *c = &ppo->index;
  size_t count = 0;
  for (size_t i = 0; i < N; i++) {
    c->first[i] = count;
    for (size_t m = 0; m < M; m++)
      if ((size_t)c->rows[m] / of_stream == i) c->steps[count++] = c->rows[m];
  }
  c->first[N] = count;
  memcpy(c->rows, c->steps, M * sizeof *c->rows);
  for (size_t m = 0; m < M; m++) c->steps[m] = c->rows[m] % (int)of_stream;
}

static void select_items(sparc_ppo *ppo, size_t k, const float *traces) {
  const rollout *r = &ppo->rollout;
  minibatch_index *c = &ppo->index;
  rollout_items(r, window_of(ppo), c->order, k, ppo->batch.M, c->rows);
  if (ppo->gradient_method == TRACE_FREE) sort_by_stream(ppo);
  for (size_t m = 0; m < ppo->batch.M && ppo->gradient_method == STORED_TRACES; m++)
    c->traces[m] = traces + (size_t)c->rows[m] * r->n.trace;
}

static double selected_advantage(const void *values, size_t m) {
  const sparc_ppo *ppo = values;
  return (double)ppo->rollout.advantages[ppo->index.rows[m]];
}

batch_moments minibatch_moments(sparc_ppo *ppo, int epoch, int k) {
  if (k == 0) shuffle(ppo, epoch);
  rollout_items(&ppo->rollout, window_of(ppo), ppo->index.order, (size_t)k, ppo->batch.M, ppo->index.rows);
  return batch_moments_of(ppo->batch.M, selected_advantage, ppo);
}

/* ---- the gradient ---------------------------------------------------------------------------------- */

static sparc_status differentiate(sparc_ppo *ppo, sparc_ppo_diagnostics *d) {
  const sparc_ppo_config *c = &ppo->config;
  const gradient_context g = {
      .network = ppo->network,
      .prepared = ppo->prepared,
      .policy = ppo->policy,
      .coefficients = {.clip = c->clip_range, .value = c->value_coefficient, .entropy = c->entropy_coefficient},
      .encoder = c->encoder,
      .threads = c->threads};
  memset(ppo->gradient, 0, ppo->n.params * sizeof *ppo->gradient);
  switch (ppo->gradient_method) {
    case STORED_TRACES:
      return gradient_stored_traces(&g, &ppo->batch, ppo->index.traces, ppo->gradient, d);
    case TRACE_FREE:
      return gradient_trace_free(&g, &ppo->batch, ppo->rollout.n.N, ppo->past, ppo->index.first, ppo->index.steps,
                                 ppo->index.traces, ppo->gradient, d);
    default:
      return gradient_tbptt(&g, &ppo->batch, ppo->plan, ppo->plan_work, ppo->gradient, d);
  }
}

/* the gradient of minibatch k from these states and sensitivities */
static sparc_status differentiate_on(sparc_ppo *ppo, const carries *on, int k, sparc_ppo_diagnostics *d) {
  select_items(ppo, (size_t)k, on->traces);
  gather_batch(ppo, on->states);
  return differentiate(ppo, d);
}

/* ---- staleness of sensitivities ---------------------------------------------------------------------- */

/* compares the gradients of the cell's parameters for the first minibatch of an epoch */
static sparc_status measure_staleness(sparc_ppo *ppo, const carries *kept, int epoch) {
  const float *stored = ppo->gradient + ppo->network->cell_params;
  const float *replayed = ppo->replayed_gradient + ppo->network->cell_params;
  sparc_ppo_staleness *s = &ppo->staleness;
  sparc_ppo_diagnostics ignored;
  double products[3] = {0};
  if (epoch >= SPARC_STALENESS_EPOCHS) return SPARC_OK;
  sparc_status status = differentiate_on(ppo, &ppo->replayed, 0, &ignored);
  memcpy(ppo->replayed_gradient, ppo->gradient, ppo->n.params * sizeof *ppo->gradient);
  if (status == SPARC_OK) status = differentiate_on(ppo, kept, 0, &ignored);
  for (size_t i = 0; i < ppo->network->cell->sizes.params; i++) {
    products[0] += (double)stored[i] * (double)stored[i];
    products[1] += (double)stored[i] * (double)replayed[i];
    products[2] += (double)replayed[i] * (double)replayed[i];
  }
  s->cosine[epoch] = products[1] / sqrt(products[0] * products[2]);
  s->ratio[epoch] = sqrt(products[0] / products[2]);
  s->epochs = epoch + 1;
  return status;
}

/* ---- the optimiser step ----------------------------------------------------------------------------- */

sparc_status apply_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d) {
  const sparc_ppo_config *c = &ppo->config;
  sparc_adam_config adam = sparc_adam_defaults();
  adam.epsilon = 1e-5;
  const optimiser_step step = {.network = ppo->network,
                               .adam = adam,
                               .learning_rate = c->learning_rate,
                               .max_norm = c->max_gradient_norm,
                               .update = (ppo->rollouts * c->epochs + epoch) * c->minibatches + k + 1,
                               .event = "rollout",
                               .number = ppo->rollouts + 1,
                               .threads = c->threads,
                               .gradient = ppo->gradient,
                               .moments = ppo->moments,
                               .params = ppo->params,
                               .prepared = ppo->prepared};
  return optimiser_take_step(&step, &d->gradient_norm);
}

/* ---- all minibatches -------------------------------------------------------------------------------- */

void add_diagnostics(sparc_ppo_diagnostics *sum, const sparc_ppo_diagnostics *d, double share) {
  sum->k1 += share * d->k1;
  sum->k2 += share * d->k2;
  sum->k3 += share * d->k3;
  sum->ratio += share * d->ratio;
  sum->clip_fraction += share * d->clip_fraction;
  sum->policy_loss += share * d->policy_loss;
  sum->value_loss += share * d->value_loss;
  sum->entropy += share * d->entropy;
  sum->explained_variance += share * d->explained_variance;
  sum->gradient_norm += share * d->gradient_norm;
}

sparc_status differentiate_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d) {
  const sparc_ppo_config *c = &ppo->config;
  const carries kept = {ppo->rollout.states, ppo->rollout.traces};
  sparc_status status = SPARC_OK;
  if (k == 0) {
    shuffle(ppo, epoch);
    if (c->refresh != SPARC_REFRESH_NONE) status = replay(ppo);
    if (status == SPARC_OK && c->refresh == SPARC_REFRESH_MEASURE) status = measure_staleness(ppo, &kept, epoch);
  }
  if (status != SPARC_OK) return status;
  return differentiate_on(ppo, c->refresh == SPARC_REFRESH_EPOCH ? &ppo->replayed : &kept, k, d);
}

sparc_status update_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d) {
  const sparc_status status = differentiate_minibatch(ppo, epoch, k, d);
  return status == SPARC_OK ? apply_minibatch(ppo, epoch, k, d) : status;
}

sparc_status update(sparc_ppo *ppo, sparc_ppo_diagnostics *diagnostics) {
  const sparc_ppo_config *c = &ppo->config;
  const long steps = (long)c->epochs * c->minibatches;
  sparc_status status = SPARC_OK;
  *diagnostics = (sparc_ppo_diagnostics){.k1 = 0};
  for (long i = 0; i < steps && status == SPARC_OK; i++) {
    sparc_ppo_diagnostics d = {.k1 = 0};
    status = update_minibatch(ppo, (int)(i / c->minibatches), (int)(i % c->minibatches), &d);
    add_diagnostics(diagnostics, &d, 1 / (double)steps);
  }
  return status;
}
