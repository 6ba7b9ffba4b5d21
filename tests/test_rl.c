/* SPDX-License-Identifier: MIT */
/* test_rl.c: the parts of PPO one by one: advantages, policies, losses, normalisers, scores. Each is compared with its
 * definition, computed in the plainest way, or with central differences in double. */
#include "rl/gae.h"
#include "rl/normaliser.h"
#include "rl/score.h"
#include "sparc/random.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* the losses in double: central differences in float would have too much rounding */
#define SPARC_DOUBLE
#include "rl/loss_impl.h"

static const uint64_t SEED = 20240611;

static void expect_near(const char *what, size_t at, double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance))
    fail_msg("%s[%zu] is %.17g, expected %.17g within %g", what, at, got, want, tolerance);
}

/* ---- advantages --------------------------------------------------------------------------------- */

/* adv_t as the sum over the steps of its episode, each advantage on its own */
static double plain_advantage(size_t T, size_t t, double discount, double lambda, const float *r, const float *v,
                              const float *mask) {
  double sum = 0, weight = 1;
  for (size_t s = t; s < T; s++) {
    const double next = mask[s + 1] == 0 ? 0 : discount * (double)v[s + 1];
    sum += weight * ((double)r[s] + next - (double)v[s]);
    if (mask[s + 1] == 0) break;
    weight *= discount * lambda;
  }
  return sum;
}

static void advantages_are_discounted_sums(void **state) {
  (void)state;
  enum { T = 97, RUNS = 20 };
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "gae");
  for (int run = 0; run < RUNS; run++) {
    float r[T], v[T + 1], mask[T + 1], adv[T], ret[T];
    for (size_t t = 0; t <= T; t++) {
      if (t < T) r[t] = (float)sparc_random_normal(&stream);
      v[t] = (float)sparc_random_normal(&stream);
      mask[t] = sparc_random_below(&stream, 9) != 0;
    }
    mask[T] = (float)(run % 2 == 0); /* the rollout ends with an episode, or inside one */
    gae(T, 0.99, 0.95, r, v, mask, adv, ret);
    for (size_t t = 0; t < T; t++) {
      const double want = plain_advantage(T, t, 0.99, 0.95, r, v, mask);
      expect_near("advantage", t, (double)adv[t], want, 1e-5);
      expect_near("return", t, (double)ret[t], want + (double)v[t], 1e-5);
    }
  }
}

/* ---- losses -------------------------------------------------------------------------------------- */

enum { ITEMS = 24, MOST_OUTPUTS = 9 };

typedef struct loss_case {
  policy p;
  double y[ITEMS * MOST_OUTPUTS], actions[ITEMS * 4], log_probabilities[ITEMS], values[ITEMS], advantages[ITEMS],
      targets[ITEMS];
} loss_case;

/* old numbers scattered so widely that every branch of both clips is taken by some items, and none by a hair */
static loss_case draw_case(const policy *p, sparc_random *stream) {
  loss_case c = {.p = *p};
  const size_t outputs = policy_outputs(p);
  for (size_t i = 0; i < ITEMS; i++) {
    double *y = c.y + i * outputs, *action = c.actions + i * p->action, entropy;
    for (size_t k = 0; k < outputs; k++) y[k] = 0.7 * sparc_random_normal(stream);
    for (size_t d = 0; d < p->action; d++)
      action[d] = p->choices ? sparc_random_below(stream, (uint32_t)p->choices) : sparc_random_normal(stream);
    const double shift[] = {-0.5, -0.05, 0.05, 0.5};
    c.log_probabilities[i] = policy_log_probability(p, y, action, &entropy) + shift[i % 4];
    c.values[i] = y[policy_value(p)] + shift[i / 4 % 4];
    c.targets[i] = y[policy_value(p)] + 0.6 * sparc_random_normal(stream);
    c.advantages[i] = sparc_random_normal(stream);
  }
  return c;
}

static double loss_of(const ppo_coefficients *coefficients, const loss_case *c, double *dy,
                      sparc_ppo_diagnostics *diagnostics) {
  const ppo_batch_f64 batch = {.n = ITEMS,
                               .actions = c->actions,
                               .log_probabilities = c->log_probabilities,
                               .values = c->values,
                               .advantages = c->advantages,
                               .value_targets = c->targets};
  return ppo_loss(coefficients, &c->p, &batch, c->y, dy, diagnostics);
}

static void check_loss(const policy *p, const ppo_coefficients *coefficients, sparc_random *stream) {
  const double h = 1e-6;
  const size_t count = ITEMS * policy_outputs(p);
  loss_case c = draw_case(p, stream);
  double dy[ITEMS * MOST_OUTPUTS], unused[ITEMS * MOST_OUTPUTS];
  sparc_ppo_diagnostics d;
  loss_of(coefficients, &c, dy, &d);
  for (size_t k = 0; k < count; k++) {
    const double y = c.y[k];
    c.y[k] = y + h;
    const double up = loss_of(coefficients, &c, unused, &d);
    c.y[k] = y - h;
    const double down = loss_of(coefficients, &c, unused, &d);
    c.y[k] = y;
    const double want = (up - down) / (2 * h);
    expect_near("dL/dy", k, dy[k], want, 1e-8 * fmax(1, fabs(want)));
  }
}

static void loss_derivatives_are_central_differences(void **state) {
  (void)state;
  const policy policies[] = {{.choices = 4, .action = 1}, {.choices = 0, .action = 3}, {.choices = 2, .action = 1}};
  const ppo_coefficients coefficients[] = {{0.2, 0.5, 0}, {0.2, 0.5, 0.01}, {0.1, 1, 0.5}};
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "loss");
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < 3; k++) check_loss(&policies[i], &coefficients[k], &stream);
}

/* every branch by hand: one item beside one that only sets the advantages' mean and standard deviation */
static void loss_branches(void **state) {
  (void)state;
  const ppo_coefficients c = {0.2, 0.5, 0};
  const policy p = {.choices = 2, .action = 1};
  const struct {
    double log_ratio, advantage, value, before, target; /* the normalised advantage is its sign */
    int policy_flat, value_flat;
  } cases[] = {{0.3, 1, 0, 0, 1, 1, 0},   {0.3, -1, 0, 0, 1, 0, 0}, {-0.3, 1, 0, 0, 1, 0, 0},
               {-0.3, -1, 0, 0, 1, 1, 0}, {0.1, 1, 0, 0, 1, 0, 0},  {-0.1, -1, 0, 0, 1, 0, 0},
               {0, 1, 0.5, 0, 1, 0, 1},   {0, 1, 0.5, 0, -1, 0, 0}, {0, 1, -0.5, 0, -1, 0, 1},
               {0, 1, -0.5, 0, 1, 0, 0},  {0, 1, 0.1, 0, 1, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double half = log(0.5), y[] = {0, 0, cases[i].value, 0, 0, 0}, actions[] = {1, 0};
    const double before[] = {half - cases[i].log_ratio, half}, values[] = {cases[i].before, 0};
    const double advantages[] = {cases[i].advantage, -cases[i].advantage}, targets[] = {cases[i].target, 0};
    const ppo_batch_f64 batch = {2, 0, NULL, actions, before, values, advantages, targets};
    double dy[6];
    sparc_ppo_diagnostics d;
    ppo_loss(&c, &p, &batch, y, dy, &d);
    const double ratio = exp(cases[i].log_ratio);
    const double dlog = cases[i].policy_flat ? 0 : -ratio * cases[i].advantage / 2;
    expect_near("dL/dlogit of the action", i, dy[1], dlog / 2, 1e-7);
    expect_near("dL/dV", i, dy[2], cases[i].value_flat ? 0 : 0.5 * (cases[i].value - cases[i].target) / 2, 1e-12);
  }
}

/* the diagnostics of ratios that are known */
static void diagnostics_have_their_definitions(void **state) {
  (void)state;
  const policy p = {.choices = 2, .action = 1};
  const double y[] = {0, 0, 1, 0, 0, 2}, actions[] = {0, 1}, q[] = {0.5, -0.1}, half = log(0.5);
  const double before[] = {half - q[0], half - q[1]}, values[] = {1, 2}, advantages[] = {1, -1}, targets[] = {2, 4};
  const ppo_batch_f64 batch = {2, 0, NULL, actions, before, values, advantages, targets};
  double dy[6];
  sparc_ppo_diagnostics d;
  ppo_loss(&(ppo_coefficients){0.2, 0.5, 0}, &p, &batch, y, dy, &d);
  expect_near("k1", 0, d.k1, -(q[0] + q[1]) / 2, 1e-12);
  expect_near("k2", 0, d.k2, (q[0] * q[0] + q[1] * q[1]) / 4, 1e-12);
  expect_near("k3", 0, d.k3, (exp(q[0]) - 1 - q[0] + exp(q[1]) - 1 - q[1]) / 2, 1e-12);
  expect_near("ratio", 0, d.ratio, (exp(q[0]) + exp(q[1])) / 2, 1e-12);
  expect_near("clip_fraction", 0, d.clip_fraction, 0.5, 0);
  expect_near("entropy", 0, d.entropy, log(2), 1e-12);
  expect_near("value_loss", 0, d.value_loss, (1.0 + 4.0) / 2 / 2, 1e-12);
  expect_near("explained_variance", 0, d.explained_variance, 1 - 0.25, 1e-12); /* errors 1, 2; targets 2, 4 */
}

/* ---- policies ------------------------------------------------------------------------------------ */

static void categorical_draws_follow_the_logits(void **state) {
  (void)state;
  enum { DRAWS = 40000 };
  const policy p = {.choices = 3, .action = 1};
  const float y[] = {0.5F, -1, 1, 0};
  double share[3], norm = 0;
  for (size_t k = 0; k < 3; k++) norm += exp((double)y[k]);
  long counts[3] = {0};
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "categorical");
  for (int i = 0; i < DRAWS; i++) {
    float action;
    policy_act(&p, y, &stream, &action);
    counts[(size_t)action]++;
  }
  assert_int_equal(stream.position, DRAWS * policy_words(&p));
  for (size_t k = 0; k < 3; k++) {
    share[k] = exp((double)y[k]) / norm;
    const double stddev = sqrt(share[k] * (1 - share[k]) / DRAWS);
    expect_near("share", k, (double)counts[k] / DRAWS, share[k], 4.5 * stddev);
  }
  float best;
  policy_act(&p, y, NULL, &best);
  assert_int_equal((int)best, 2);
}

static void gaussian_draws_have_their_moments(void **state) {
  (void)state;
  enum { DRAWS = 40000 };
  const policy p = {.choices = 0, .action = 2};
  const float y[] = {0.5F, -1, 7 /* the value */, -0.5F, 0.25F};
  double sum[2] = {0}, squares[2] = {0};
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "gaussian");
  for (int i = 0; i < DRAWS; i++) {
    float action[2];
    policy_act(&p, y, &stream, action);
    for (size_t d = 0; d < 2; d++) {
      const double z = ((double)action[d] - (double)y[d]) / exp((double)y[3 + d]);
      sum[d] += z / DRAWS;
      squares[d] += z * z / DRAWS;
    }
  }
  assert_int_equal(stream.position, DRAWS * policy_words(&p));
  for (size_t d = 0; d < 2; d++) {
    expect_near("mean", d, sum[d], 0, 4.5 / sqrt(DRAWS));
    expect_near("mean square", d, squares[d], 1, 4.5 * sqrt(2.0 / DRAWS));
  }
  float mean[2];
  policy_act(&p, y, NULL, mean);
  assert_memory_equal(mean, y, sizeof mean);
}

/* ---- normalisers ---------------------------------------------------------------------------------- */

/* moments after the prior of weight 1e-4 at (0, 1) and all observations so far, in two passes */
static void two_pass(size_t n, const double *values, double *mean, double *variance) {
  const double prior = 1e-4, total = prior + (double)n;
  *mean = 0;
  for (size_t i = 0; i < n; i++) *mean += values[i] / total;
  *variance = prior * (1 + *mean * *mean) / total;
  for (size_t i = 0; i < n; i++) *variance += pow(values[i] - *mean, 2) / total;
}

static void feature_moments_are_those_of_two_passes(void **state) {
  (void)state;
  enum { STEPS = 300, WIDTH = 2 };
  running_moments moments[WIDTH] = {moments_initial(), moments_initial()};
  const observation_normaliser n = {.mode = SPARC_OBSNORM_FEATURE, .width = WIDTH, .moments = moments};
  double seen[WIDTH][STEPS];
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "normaliser");
  assert_int_equal(observation_moments(n.mode, WIDTH), WIDTH);
  for (size_t t = 0; t < STEPS; t++) {
    float o[WIDTH] = {(float)(1000 + sparc_random_normal(&stream)), (float)(1e-3 * sparc_random_normal(&stream))};
    for (size_t i = 0; i < WIDTH; i++) seen[i][t] = (double)o[i];
    observation_normalise(&n, true, o);
    for (size_t i = 0; i < WIDTH; i++) {
      double mean, variance;
      two_pass(t + 1, seen[i], &mean, &variance);
      const double z = (seen[i][t] - mean) / sqrt(variance + 1e-8);
      expect_near("emitted", t, (double)o[i], fmax(-10, fmin(z, 10)), 1e-5);
    }
  }
  const running_moments before = moments[0];
  float again[WIDTH] = {1000, 0};
  observation_normalise(&n, false, again);
  assert_memory_equal(&before, &moments[0], sizeof before);
}

/* one observation (1, 3): its mean 2 and variance 1 count twice against the prior */
static void pooled_moments_of_one_observation(void **state) {
  (void)state;
  running_moments moments = moments_initial();
  const observation_normaliser n = {.mode = SPARC_OBSNORM_POOLED, .width = 2, .moments = &moments};
  float o[] = {1, 3};
  observation_normalise(&n, true, o);
  const double total = 2.0001, mean = 4 / total, variance = (1e-4 + 2 + 4 * 2e-4 / total) / total;
  expect_near("mean", 0, moments.mean, mean, 1e-15);
  expect_near("variance", 0, moments.variance, variance, 1e-15);
  expect_near("count", 0, moments.count, total, 1e-15);
  expect_near("emitted", 0, (double)o[0], (1 - mean) / sqrt(variance + 1e-8), 1e-6);
  expect_near("emitted", 1, (double)o[1], (3 - mean) / sqrt(variance + 1e-8), 1e-6);
  const observation_normaliser none = {.mode = SPARC_OBSNORM_NONE, .width = 2};
  float same[] = {1, 3};
  observation_normalise(&none, true, same);
  assert_true(same[0] == 1 && same[1] == 3);
}

static void rewards_are_divided_by_the_stddev_of_returns(void **state) {
  (void)state;
  enum { STEPS = 50 };
  double accumulated = 0, mine = 0, seen[STEPS];
  reward_normaliser n = {.discount = 0.9, .moments = moments_initial(), .accumulated = &accumulated};
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "rewards");
  for (size_t t = 0; t < STEPS; t++) {
    const float r = (float)sparc_random_normal(&stream);
    const bool done = t % 7 == 6;
    mine = 0.9 * mine * (done ? 0 : 1) + (double)r;
    seen[t] = mine;
    double mean, variance;
    two_pass(t + 1, seen, &mean, &variance);
    const double want = (double)r / sqrt(variance + 1e-8);
    expect_near("reward", t, (double)reward_normalise(&n, 0, r, done), want, 1e-5 * fmax(1, fabs(want)));
  }
}

/* ---- scores --------------------------------------------------------------------------------------- */

static void scores_are_means_of_the_last_hundred(void **state) {
  (void)state;
  enum { K = 250 };
  double means[K], smoothed[K], score;
  for (size_t k = 0; k < K; k++) means[k] = (double)k;
  assert_int_equal(score_of(K, means, &score), SPARC_OK);
  expect_near("score", 0, score, 199.5, 1e-12); /* 150 ... 249 */
  score_curve(K, means, SCORE_WINDOW, smoothed);
  assert_true(isnan(smoothed[98]));
  expect_near("smoothed", 99, smoothed[99], 49.5, 1e-12);
  expect_near("smoothed", K - 1, smoothed[K - 1], score, 1e-12);
  assert_int_equal(score_of(3, means, &score), SPARC_OK);
  expect_near("score of three", 0, score, 1, 1e-12);
  means[200] = NAN;
  assert_int_equal(score_of(K, means, &score), SPARC_NOT_FINITE);
  assert_int_equal(score_of(0, means, &score), SPARC_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(advantages_are_discounted_sums),
      cmocka_unit_test(loss_derivatives_are_central_differences),
      cmocka_unit_test(loss_branches),
      cmocka_unit_test(diagnostics_have_their_definitions),
      cmocka_unit_test(categorical_draws_follow_the_logits),
      cmocka_unit_test(gaussian_draws_have_their_moments),
      cmocka_unit_test(feature_moments_are_those_of_two_passes),
      cmocka_unit_test(pooled_moments_of_one_observation),
      cmocka_unit_test(rewards_are_divided_by_the_stddev_of_returns),
      cmocka_unit_test(scores_are_means_of_the_last_hundred),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
