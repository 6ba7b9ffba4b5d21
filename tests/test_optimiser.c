/* SPDX-License-Identifier: MIT */
/* test_optimiser.c: Adam and AdamW against their formula in double, groups, clipping, the schedule of
 * docs/training.md, and the same bits for every number of threads. */
#include "base/random.h"
#include "nn/optimiser.h"
#include "sparc/random.h"
#include "support.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- problems ---------------------------------------------------------------------------------- */

/* spans of all groups that begin and end inside tiles of any size */
static const sparc_span few[] = {{0, 7, SPARC_RECURRENT},
                                 {7, 13, SPARC_REGULAR},
                                 {20, 5, SPARC_FROZEN},
                                 {25, 1, SPARC_REGULAR},
                                 {26, 4, SPARC_RECURRENT}};
enum { FEW = 30 };
static const sparc_span many[] = {
    {0, 1, SPARC_REGULAR},    {1, 9000, SPARC_RECURRENT},  {9001, 4095, SPARC_FROZEN},    {13096, 300, SPARC_REGULAR},
    {13396, 1, SPARC_FROZEN}, {13397, 8, SPARC_RECURRENT}, {13405, 600000, SPARC_REGULAR}};
enum { MANY = 613405 };

static sparc_group group_at(const sparc_span *spans, size_t count, size_t i) {
  for (size_t s = 0; s < count; s++)
    if (i - spans[s].offset < spans[s].size) return spans[s].group;
  fail_msg("element %zu is in no span", i);
  return SPARC_FROZEN;
}

static double draw(sparc_random *stream) { return (double)(float)sparc_random_normal(stream); }

/* ---- Adam --------------------------------------------------------------------------------------- */

/* the textbook: moments, bias correction, decoupled decay; one parameter */
typedef struct plain_adam {
  double p, m, v;
} plain_adam;

static void plain_step(plain_adam *a, const sparc_adam_config *c, sparc_group group, long step, double rate, double g) {
  if (group == SPARC_FROZEN) return;
  const double own_rate = group == SPARC_RECURRENT ? rate * c->recurrent_lr_scale : rate;
  const double decay = group == SPARC_RECURRENT ? 0 : c->weight_decay;
  a->m = c->beta1 * a->m + (1 - c->beta1) * g;
  a->v = c->beta2 * a->v + (1 - c->beta2) * g * g;
  const double mhat = a->m / (1 - pow(c->beta1, (double)step)), vhat = a->v / (1 - pow(c->beta2, (double)step));
  a->p -= own_rate * (mhat / (sqrt(vhat) + c->epsilon) + decay * a->p);
}

/* 100 steps with gradients of very different sizes and a rate that changes. Parameters are of order one, so a float one
 * may be off by half a unit of its last place (6e-8) at each step, and a moment by about 1e-6 of itself. */
static void check_hundred_steps(const sparc_adam_config *config, const char *name) {
  plain_adam want[FEW] = {{0}};
  float p32[FEW], g32[FEW], moments32[2 * FEW] = {0};
  double p64[FEW], g64[FEW], moments64[2 * FEW] = {0};
  sparc_random stream;
  sparc_random_init(&stream, 3, "adam", name);
  for (size_t i = 0; i < FEW; i++) p32[i] = (float)(p64[i] = want[i].p = draw(&stream));
  for (long step = 1; step <= 100; step++) {
    const double rate = 1e-2 / (double)step + 1e-3;
    for (size_t i = 0; i < FEW; i++) {
      const double size = pow(10, (double)(i % 9) - 6); /* 1e-6 to 100 */
      g32[i] = (float)(size * (0.5 + sparc_random_normal(&stream)));
      g64[i] = (double)g32[i];
      plain_step(&want[i], config, group_at(few, COUNT(few), i), step, rate, g64[i]);
    }
    sparc_adam_update(config, few, COUNT(few), FEW, 1, step, rate, g32, moments32, p32);
    sparc_adam_update_f64(config, few, COUNT(few), FEW, 1, step, rate, g64, moments64, p64);
    for (size_t i = 0; i < FEW; i++) {
      const double size = fmax(1, fabs(want[i].p));
      if (fabs(p64[i] - want[i].p) > 1e-14 * size || fabs((double)p32[i] - want[i].p) > 3e-6 * size)
        fail_msg("%s, step %ld, element %zu: %.17g (double) and %.9g (float), expected %.17g", name, step, i, p64[i],
                 (double)p32[i], want[i].p);
    }
  }
  for (size_t i = 0; i < FEW; i++) {
    assert_true(fabs(moments64[i] - want[i].m) <= 1e-13 * fabs(want[i].m));
    assert_true(fabs(moments64[FEW + i] - want[i].v) <= 1e-13 * want[i].v);
    assert_true(fabs((double)moments32[FEW + i] - want[i].v) <= 2e-6 * want[i].v);
  }
}

static void test_adam_is_the_formula(void **state) {
  (void)state;
  const sparc_adam_config config = sparc_adam_defaults();
  assert_true(config.beta1 == 0.9 && config.beta2 == 0.999 && config.epsilon == 1e-8);
  assert_true(config.weight_decay == 0 && config.recurrent_lr_scale == 1);
  check_hundred_steps(&config, "adam");
}

static void test_adamw_is_the_formula(void **state) {
  (void)state;
  sparc_adam_config config = sparc_adam_defaults();
  config.weight_decay = 0.05;
  config.recurrent_lr_scale = 0.25;
  check_hundred_steps(&config, "paper");
  config.beta1 = 0.5;
  config.beta2 = 0.9;
  config.epsilon = 1e-3;
  check_hundred_steps(&config, "other");
}

/* bias correction makes the first step the rate times the gradient's sign, whatever its size */
static void test_first_step_is_the_learning_rate(void **state) {
  (void)state;
  sparc_adam_config config = sparc_adam_defaults();
  config.recurrent_lr_scale = 0.25;
  double p[FEW] = {0}, g[FEW], moments[2 * FEW] = {0};
  for (size_t i = 0; i < FEW; i++) g[i] = (i % 2 ? -1 : 1) * pow(10, (double)(i % 6) - 2);
  sparc_adam_update_f64(&config, few, COUNT(few), FEW, 1, 1, 0.125, g, moments, p);
  for (size_t i = 0; i < FEW; i++) {
    const sparc_group group = group_at(few, COUNT(few), i);
    const double size = group == SPARC_FROZEN ? 0 : group == SPARC_RECURRENT ? 0.125 / 4 : 0.125;
    assert_true(fabs(p[i] - (i % 2 ? size : -size)) < 1e-6 * 0.125 + 1e-15);
  }
}

/* without a gradient only decay moves a parameter, and only a regular one: p (1 - rate decay)^steps */
static void test_decay_is_for_regular_spans(void **state) {
  (void)state;
  sparc_adam_config config = sparc_adam_defaults();
  config.weight_decay = 0.05;
  double p[FEW], g[FEW] = {0}, moments[2 * FEW] = {0};
  for (size_t i = 0; i < FEW; i++) p[i] = (double)i + 1;
  for (long step = 1; step <= 10; step++)
    sparc_adam_update_f64(&config, few, COUNT(few), FEW, 1, step, 0.5, g, moments, p);
  for (size_t i = 0; i < FEW; i++) {
    const double start = (double)i + 1;
    if (group_at(few, COUNT(few), i) == SPARC_REGULAR)
      assert_true(fabs(p[i] - start * pow(1 - 0.025, 10)) < 1e-13 * start);
    else
      assert_true(p[i] == start);
  }
}

/* frozen parameters and their moments keep every bit, even beside gradients that are NaN */
static void test_frozen_spans_are_untouched(void **state) {
  (void)state;
  sparc_adam_config config = sparc_adam_defaults();
  config.weight_decay = 0.5;
  float p[FEW], g[FEW], moments[2 * FEW];
  for (size_t i = 0; i < FEW; i++) {
    p[i] = (float)i, moments[i] = 3, moments[FEW + i] = 5;
    g[i] = group_at(few, COUNT(few), i) == SPARC_FROZEN ? NAN : 1;
  }
  sparc_adam_update(&config, few, COUNT(few), FEW, 2, 1, 0.1, g, moments, p);
  gradient_clip_f32(few, COUNT(few), FEW, 2, 1e-3, g);
  for (size_t i = 0; i < FEW; i++) {
    if (group_at(few, COUNT(few), i) == SPARC_FROZEN)
      assert_true(p[i] == (float)i && moments[i] == 3 && moments[FEW + i] == 5 && isnan(g[i]));
    else
      assert_true(p[i] != (float)i && isfinite(p[i]) && moments[i] != 3 && moments[FEW + i] != 5 && g[i] < 1);
  }
}

/* a constant gradient is the fixed point of the moments in float, however beta rounds */
static void test_moments_stay_at_their_fixed_point(void **state) {
  (void)state;
  const sparc_adam_config config = sparc_adam_defaults();
  const sparc_span span = {0, 1, SPARC_REGULAR};
  const float g = 0.3f;
  float p = 0, moments[2] = {g, g * g};
  for (long step = 1; step <= 10000; step++) sparc_adam_update(&config, &span, 1, 1, 1, step, 0, &g, moments, &p);
  assert_true(moments[0] == g && moments[1] == g * g && p == 0);
}

/* ---- norm and clipping --------------------------------------------------------------------------- */

static void test_norm_leaves_out_frozen_spans(void **state) {
  (void)state;
  double g[FEW], sum = 0;
  float g32[FEW];
  for (size_t i = 0; i < FEW; i++) {
    const bool frozen = group_at(few, COUNT(few), i) == SPARC_FROZEN;
    g[i] = frozen ? 1e30 : (double)i - 11;
    g32[i] = (float)g[i];
    sum += frozen ? 0 : g[i] * g[i];
  }
  assert_true(gradient_norm_f64(few, COUNT(few), 1, g) == sqrt(sum)); /* integers: every sum is exact */
  assert_true(gradient_norm_f32(few, COUNT(few), 1, g32) == sqrt(sum));
  assert_true(gradient_norm_f32(few, 0, 1, g32) == 0);
  g[3] = NAN;
  assert_true(isnan(gradient_norm_f64(few, COUNT(few), 1, g)));
}

/* squares that float cannot hold are no reason for an infinite norm, and small ones do not vanish */
static void test_norm_has_the_range_of_double(void **state) {
  (void)state;
  float g[FEW];
  for (int sign = -1; sign <= 1; sign += 2) {
    for (size_t i = 0; i < FEW; i++) g[i] = sign < 0 ? 1e-30f : 1e30f;
    const double want = (double)g[0] * sqrt(25); /* 5 of 30 are frozen */
    assert_true(fabs(gradient_norm_f32(few, COUNT(few), 1, g) / want - 1) < 1e-14);
  }
}

static void test_clipping_scales_exactly(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 3, "clip", "");
  float g32[FEW], before32[FEW];
  double g64[FEW], before64[FEW];
  for (size_t i = 0; i < FEW; i++) before32[i] = (float)(before64[i] = draw(&stream));
  const double norm = gradient_norm_f64(few, COUNT(few), 1, before64);
  const double limits[] = {0, -1, norm, 2 * norm, INFINITY, norm / 2, 1, 1e-3};
  for (size_t l = 0; l < COUNT(limits); l++) {
    memcpy(g32, before32, sizeof g32);
    memcpy(g64, before64, sizeof g64);
    assert_true(gradient_clip_f64(few, COUNT(few), FEW, 1, limits[l], g64) == norm);
    assert_true(gradient_clip_f32(few, COUNT(few), FEW, 1, limits[l], g32) == norm);
    if (limits[l] <= 0 || norm <= limits[l]) {
      assert_memory_equal(g64, before64, sizeof g64);
      assert_memory_equal(g32, before32, sizeof g32);
      continue;
    }
    for (size_t i = 0; i < FEW; i++) {
      const double factor = group_at(few, COUNT(few), i) == SPARC_FROZEN ? 1 : limits[l] / norm;
      assert_true(g64[i] == before64[i] * factor);
      assert_true(g32[i] == (float)(before64[i] * factor));
    }
    assert_true(fabs(gradient_norm_f64(few, COUNT(few), 1, g64) / limits[l] - 1) < 1e-15);
    assert_true(fabs(gradient_norm_f32(few, COUNT(few), 1, g32) / limits[l] - 1) < 1e-7);
  }
}

/* what is not finite is reported and left as it was, not spread over the rest by a factor of zero */
static void test_clipping_leaves_what_is_not_finite(void **state) {
  (void)state;
  const float bad[] = {NAN, INFINITY};
  for (size_t b = 0; b < 2; b++) {
    float g[FEW];
    for (size_t i = 0; i < FEW; i++) g[i] = i == 2 ? bad[b] : 4;
    assert_false(isfinite(gradient_clip_f32(few, COUNT(few), FEW, 1, 1, g)));
    for (size_t i = 0; i < FEW; i++) assert_true(i == 2 ? !isfinite(g[i]) : g[i] == 4);
  }
}

/* ---- threads ------------------------------------------------------------------------------------- */

typedef struct run {
  float *params, *moments, *gradient;
  double norm;
} run;

static run run_with(int threads) {
  run r = {sparc_alloc(MANY * sizeof(float)), sparc_alloc(2 * MANY * sizeof(float)), sparc_alloc(MANY * sizeof(float)),
           0};
  sparc_adam_config config = sparc_adam_defaults();
  config.weight_decay = 0.05;
  config.recurrent_lr_scale = 0.25;
  sparc_random stream;
  sparc_random_init(&stream, 3, "threads", "");
  random_fill_normal(&stream, r.params, MANY, 1);
  for (long step = 1; step <= 3; step++) {
    random_fill_normal(&stream, r.gradient, MANY, 1);
    r.norm += gradient_clip_f32(many, COUNT(many), MANY, threads, 1, r.gradient);
    r.norm += gradient_norm_f32(many, COUNT(many), threads, r.gradient);
    sparc_adam_update(&config, many, COUNT(many), MANY, threads, step, 1e-2, r.gradient, r.moments, r.params);
  }
  return r;
}

static void run_free(run *r) {
  sparc_free(r->params);
  sparc_free(r->moments);
  sparc_free(r->gradient);
}

static void test_threads_change_no_bit(void **state) {
  (void)state;
  static const int threads[] = {2, 3, 7};
  run one = run_with(1);
  for (size_t i = 0; i < COUNT(threads); i++) {
    run more = run_with(threads[i]);
    assert_memory_equal(more.params, one.params, MANY * sizeof(float));
    assert_memory_equal(more.moments, one.moments, 2 * MANY * sizeof(float));
    assert_memory_equal(more.gradient, one.gradient, MANY * sizeof(float));
    assert_true(more.norm == one.norm);
    run_free(&more);
  }
  run_free(&one);
}

/* every element of a long array is visited once: against the formula, and a norm of integers */
static void test_tiles_cover_the_array(void **state) {
  (void)state;
  double *p = sparc_alloc(MANY * sizeof *p), *g = sparc_alloc(MANY * sizeof *g);
  double *moments = sparc_alloc(2 * MANY * sizeof *moments), sum = 0;
  sparc_adam_config config = sparc_adam_defaults();
  config.weight_decay = 0.05;
  config.recurrent_lr_scale = 0.25;
  for (size_t i = 0; i < MANY; i++) g[i] = (double)(i % 7) - 3, p[i] = (double)(i % 5);
  sparc_adam_update_f64(&config, many, COUNT(many), MANY, 3, 1, 0.01, g, moments, p);
  for (size_t i = 0; i < MANY; i++) {
    const sparc_group group = group_at(many, COUNT(many), i);
    plain_adam want = {.p = (double)(i % 5)};
    plain_step(&want, &config, group, 1, 0.01, g[i]);
    if (fabs(p[i] - want.p) > 1e-14 * 5) fail_msg("element %zu: %.17g, expected %.17g", i, p[i], want.p);
    if (group != SPARC_FROZEN) sum += g[i] * g[i];
  }
  assert_true(gradient_norm_f64(many, COUNT(many), 3, g) == sqrt(sum));
  sparc_free(p);
  sparc_free(g);
  sparc_free(moments);
}

/* ---- schedule ------------------------------------------------------------------------------------ */

static void test_schedule_is_the_formula(void **state) {
  (void)state;
  const sparc_schedule s = {SPARC_SCHEDULE_COSINE, .peak = 1.95e-3, .floor = 1e-6, .warmup = 2000, .total = 20000};
  assert_true(sparc_schedule_learning_rate(&s, 0) == 1e-6);
  assert_true(fabs(sparc_schedule_learning_rate(&s, 2000) - 1.95e-3) < 1e-18);
  assert_true(fabs(sparc_schedule_learning_rate(&s, 1000) - (1e-6 + 1.949e-3 / 2)) < 1e-18);
  assert_true(fabs(sparc_schedule_learning_rate(&s, 11000) - (1e-6 + 1.949e-3 / 2)) < 1e-18);
  const double last = 1e-6 + (1.95e-3 - 1e-6) * 0.5 * (1 + cos(M_PI * 17999 / 18000));
  assert_true(fabs(sparc_schedule_learning_rate(&s, 19999) - last) < 1e-18);
  assert_true(sparc_schedule_learning_rate(&s, 20000) == 1e-6 && sparc_schedule_learning_rate(&s, 30000) == 1e-6);
  for (long n = 0; n < 20000; n++) {
    const double want = n < 2000 ? 1e-6 + (1.95e-3 - 1e-6) * (double)n / 2000
                                 : 1e-6 + (1.95e-3 - 1e-6) * 0.5 * (1 + cos(M_PI * (double)(n - 2000) / 18000));
    assert_true(fabs(sparc_schedule_learning_rate(&s, n) - want) < 1e-17);
    const double change = sparc_schedule_learning_rate(&s, n + 1) - sparc_schedule_learning_rate(&s, n);
    assert_true(n < 2000 ? change > 0 : change < 0);
  }
}

/* no warm-up starts at the peak; a warm-up that fills the run never falls; nothing divides by zero */
static void test_schedule_at_its_edges(void **state) {
  (void)state;
  const sparc_schedule constant = {SPARC_SCHEDULE_CONSTANT, .peak = 0.01};
  const sparc_schedule cold = {SPARC_SCHEDULE_COSINE, .peak = 1, .floor = 0.5, .warmup = 0, .total = 4};
  const sparc_schedule rising = {SPARC_SCHEDULE_COSINE, .peak = 1, .floor = 0, .warmup = 4, .total = 4};
  assert_true(sparc_schedule_learning_rate(&constant, 0) == 0.01 &&
              sparc_schedule_learning_rate(&constant, 1000000) == 0.01);
  assert_true(sparc_schedule_learning_rate(&cold, 0) == 1 &&
              fabs(sparc_schedule_learning_rate(&cold, 2) - 0.75) < 1e-15);
  assert_true(sparc_schedule_learning_rate(&rising, 0) == 0 && sparc_schedule_learning_rate(&rising, 3) == 0.75 &&
              sparc_schedule_learning_rate(&rising, 4) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adam_is_the_formula),
      cmocka_unit_test(test_adamw_is_the_formula),
      cmocka_unit_test(test_first_step_is_the_learning_rate),
      cmocka_unit_test(test_decay_is_for_regular_spans),
      cmocka_unit_test(test_frozen_spans_are_untouched),
      cmocka_unit_test(test_moments_stay_at_their_fixed_point),
      cmocka_unit_test(test_norm_leaves_out_frozen_spans),
      cmocka_unit_test(test_norm_has_the_range_of_double),
      cmocka_unit_test(test_clipping_scales_exactly),
      cmocka_unit_test(test_clipping_leaves_what_is_not_finite),
      cmocka_unit_test(test_threads_change_no_bit),
      cmocka_unit_test(test_tiles_cover_the_array),
      cmocka_unit_test(test_schedule_is_the_formula),
      cmocka_unit_test(test_schedule_at_its_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
