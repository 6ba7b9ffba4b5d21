/* SPDX-License-Identifier: MIT */
/* loss.c: L = -mean min(ratio adv, clip(ratio) adv) + c_v L_v - c_e mean entropy, with ratio = exp(l - l_old) and
 * L_v = mean max((V - ret)^2, (V_clip - ret)^2) / 2. The derivatives take the branch that the loss took; sums over the
 * minibatch run in double. */
#include "rl/loss_impl.h"

#include <math.h>

/* ---- statistics of a minibatch ----------------------------------------------------------------- */

static double real_at(const void *values, size_t i) { return (double)((const real *)values)[i]; }

static batch_moments statistics_of(size_t n, const real *values) { return batch_moments_of(n, real_at, values); }

/* targets minus value estimates */
typedef struct residuals {
  const real *targets, *estimates;
  size_t stride; /* of the estimates */
} residuals;

static double residual_at(const void *values, size_t i) {
  const residuals *r = values;
  return (double)(r->targets[i] - r->estimates[i * r->stride]);
}

/* 1 - var(ret - V) / var(ret); 0 where the targets do not vary */
static double explained_variance(const policy *p, const TYPED(ppo_batch) * b, const real *y) {
  const residuals left = {b->value_targets, y + policy_value(p), policy_outputs(p)};
  const double targets = statistics_of(b->n, b->value_targets).variance;
  return targets > 0 ? 1 - batch_moments_of(b->n, residual_at, &left).variance / targets : 0;
}

/* ---- the two clipped losses of one step, each with its derivative -------------------------------- */

static double policy_term(double clip, double ratio, double advantage, double *dlog) {
  const double limited = fmax(1 - clip, fmin(ratio, 1 + clip));
  const int flat = (advantage > 0 && ratio > 1 + clip) || (advantage < 0 && ratio < 1 - clip);
  *dlog = flat ? 0 : -ratio * advantage;
  return -fmin(ratio * advantage, limited * advantage);
}

static double value_term(double clip, double value, double before, double target, double *dvalue) {
  const double limited = before + fmax(-clip, fmin(value - before, clip));
  const double free = pow(value - target, 2), held = pow(limited - target, 2);
  *dvalue = fabs(value - before) <= clip || free >= held ? value - target : 0;
  return fmax(free, held) / 2;
}

/* ---- the minibatch ------------------------------------------------------------------------------ */

/* diagnostics += those of one step, divided by the number of steps */
static void note_step(const ppo_coefficients *c, double log_ratio, double share, sparc_ppo_diagnostics *d) {
  const double ratio = exp(log_ratio);
  d->k1 -= share * log_ratio;
  d->k2 += share * log_ratio * log_ratio / 2;
  d->k3 += share * (expm1(log_ratio) - log_ratio);
  d->ratio += share * ratio;
  d->clip_fraction += share * (fabs(ratio - 1) > c->clip);
}

double ppo_loss(const ppo_coefficients *c, const policy *p, const TYPED(ppo_batch) * batch, const real *y, real *dy,
                sparc_ppo_diagnostics *diagnostics) {
  const size_t stride = policy_outputs(p), at = policy_value(p);
  const double share = 1 / (double)(batch->moments ? batch->whole : batch->n);
  const batch_moments advantages = batch->moments ? *batch->moments : statistics_of(batch->n, batch->advantages);
  const double stddev = sqrt(advantages.variance) + 1e-8;
  sparc_ppo_diagnostics d = {.explained_variance = explained_variance(p, batch, y)};
  for (size_t i = 0; i < batch->n; i++, y += stride, dy += stride) {
    const real *action = batch->actions + i * p->action;
    const double advantage = ((double)batch->advantages[i] - advantages.mean) / stddev;
    real entropy;
    const double log_ratio = (double)(policy_log_probability(p, y, action, &entropy) - batch->log_probabilities[i]);
    double dlog, dvalue;
    d.policy_loss += share * policy_term(c->clip, exp(log_ratio), advantage, &dlog);
    d.value_loss +=
        share * value_term(c->clip, (double)y[at], (double)batch->values[i], (double)batch->value_targets[i], &dvalue);
    d.entropy += share * (double)entropy;
    note_step(c, log_ratio, share, &d);
    policy_backward(p, y, action, (real)(share * dlog), (real)(-c->entropy * share), dy);
    dy[at] = (real)(c->value * share * dvalue);
  }
  *diagnostics = d;
  return d.policy_loss + c->value * d.value_loss - c->entropy * d.entropy;
}
