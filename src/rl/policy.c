/* SPDX-License-Identifier: MIT */
/* policy.c: categorical, l(a) = g_a - logsumexp(g), and Gaussian, l(a) = sum_d [-z_d^2 / 2 - log_std_d - log(2 pi) / 2]
 * with z_d = (a_d - mu_d) / exp(log_std_d). Gaussian actions are unclipped. */
#include "rl/policy_impl.h"

#include <math.h>

static const double LOG_2PI = 1.8378770664093454836;

/* ---- categorical ------------------------------------------------------------------------------- */

static real greatest(const policy *p, const real *logits) {
  real most = logits[0];
  for (size_t k = 1; k < p->choices; k++) most = r_fmax(most, logits[k]);
  return most;
}

static double log_sum_exp(const policy *p, const real *logits) {
  const real most = greatest(p, logits);
  double sum = (double)r_exp(logits[0] - most);
  for (size_t k = 1; k < p->choices; k++) sum += (double)r_exp(logits[k] - most);
  return (double)most + log(sum);
}

static real categorical_log_probability(const policy *p, const real *y, const real *action, real *entropy) {
  const double norm = log_sum_exp(p, y);
  double expected = 0;
  for (size_t k = 0; k < p->choices; k++)
    expected += (double)r_exp((real)((double)y[k] - norm)) * ((double)y[k] - norm);
  *entropy = (real)-expected;
  return (real)((double)y[(size_t)*action] - norm);
}

/* dl/dg_k = [k = a] - pi_k;  dH/dg_k = -pi_k (log pi_k + H) */
static void categorical_backward(const policy *p, const real *y, const real *action, real dlog, real dentropy,
                                 real *dy) {
  const double norm = log_sum_exp(p, y);
  real entropy = 0;
  if (dentropy != 0) categorical_log_probability(p, y, action, &entropy);
  for (size_t k = 0; k < p->choices; k++) {
    const real log_pi = (real)((double)y[k] - norm), pi = r_exp(log_pi);
    dy[k] = dlog * ((real)(k == (size_t)*action) - pi) - dentropy * pi * (log_pi + entropy);
  }
}

/* ---- Gaussian ---------------------------------------------------------------------------------- */

static real gaussian_log_probability(const policy *p, const real *y, const real *action, real *entropy) {
  const real *log_std = y + policy_log_std(p);
  double sum = 0, spread = 0;
  for (size_t d = 0; d < p->action; d++) {
    const double z = (double)((action[d] - y[d]) * r_exp(-log_std[d]));
    sum += -z * z / 2 - (double)log_std[d] - LOG_2PI / 2;
    spread += (double)log_std[d] + (1 + LOG_2PI) / 2;
  }
  *entropy = (real)spread;
  return (real)sum;
}

/* dl/dmu_d = z_d / sigma_d;  dl/dlog_std_d = z_d^2 - 1;  dH/dlog_std_d = 1 */
static void gaussian_backward(const policy *p, const real *y, const real *action, real dlog, real dentropy, real *dy) {
  const size_t at = policy_log_std(p);
  for (size_t d = 0; d < p->action; d++) {
    const real inverse = r_exp(-y[at + d]), z = (action[d] - y[d]) * inverse;
    dy[d] = dlog * z * inverse;
    dy[at + d] = dlog * (z * z - 1) + dentropy;
  }
}

/* ---- either ------------------------------------------------------------------------------------ */

real policy_log_probability(const policy *p, const real *y, const real *action, real *entropy) {
  return (p->choices ? categorical_log_probability : gaussian_log_probability)(p, y, action, entropy);
}

void policy_backward(const policy *p, const real *y, const real *action, real dlog, real dentropy, real *dy) {
  (p->choices ? categorical_backward : gaussian_backward)(p, y, action, dlog, dentropy, dy);
}

#ifndef SPARC_DOUBLE
/* inverse of the distribution function; the last choice absorbs rounding errors */
static size_t choose(const policy *p, const float *logits, sparc_random *random) {
  const double norm = log_sum_exp(p, logits);
  double left = sparc_random_uniform(random);
  for (size_t k = 0; k + 1 < p->choices; k++) {
    left -= exp((double)logits[k] - norm);
    if (left < 0) return k;
  }
  return p->choices - 1;
}

static size_t most_probable(const policy *p, const float *logits) {
  size_t best = 0;
  for (size_t k = 1; k < p->choices; k++)
    if (logits[k] > logits[best]) best = k;
  return best;
}

void policy_clip(const policy *p, double limit, const float *action, float *clipped) {
  for (size_t d = 0; d < p->action; d++)
    clipped[d] = p->choices ? action[d] : fmaxf((float)-limit, fminf(action[d], (float)limit));
}

void policy_act(const policy *p, const float *y, sparc_random *random, float *action) {
  if (p->choices) {
    *action = (float)(random ? choose(p, y, random) : most_probable(p, y));
    return;
  }
  const float *log_std = y + policy_log_std(p);
  for (size_t d = 0; d < p->action; d++)
    action[d] = random ? y[d] + expf(log_std[d]) * (float)sparc_random_normal(random) : y[d];
}
#endif
