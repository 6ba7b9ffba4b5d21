/* SPDX-License-Identifier: MIT */
/* test_inspect.c: sparc_cell_inspect against the cell itself, the reference and numbers by hand. */
#include "cells/cell.h"
#include "nn/network.h"
#include "support.h"
#include "support_network.h"
#include "unit.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PROBLEMS = 40 };

static const uint64_t seed = 20261117;

static float *narrow(const double *from, size_t n) {
  if (!from) return NULL;
  float *to = sparc_alloc((n ? n : 1) * sizeof *to);
  for (size_t i = 0; i < n; i++) to[i] = (float)from[i];
  return to;
}

static sparc_inspection *inspect(const problem *p) {
  const size_t tokens = (size_t)p->B * (size_t)p->T;
  float *params = narrow(p->params, p->n.params), *x = narrow(p->x, tokens * (size_t)p->D);
  float *mask = narrow(p->mask, tokens), *state0 = narrow(p->state0, (size_t)p->B * p->n.state);
  const sparc_sequence sequence = {.x = x, .mask = mask, .state0 = state0};
  sparc_inspection *seen;
  if (sparc_cell_inspect(p->cell, params, p->B, p->T, &sequence, &seen) != SPARC_OK) fail_msg("%s", sparc_error());
  sparc_free(params);
  sparc_free(x);
  sparc_free(mask);
  sparc_free(state0);
  return seen;
}

static const sparc_mode *mode_at(const sparc_inspection *seen, int b, int t, int j) {
  return &seen->mode[((size_t)b * (size_t)seen->T + (size_t)t) * (size_t)seen->H + (size_t)j];
}

static bool is_kind(const problem *p, const char *kind) {
  return strcmp(sparc_cell_config_of(p->cell).kind, kind) == 0;
}
static bool is_complex(const problem *p) {
  return cell_about(sparc_cell_config_of(p->cell).kind)->kind.coordinates == 2;
}
static bool shows_state(const problem *p) { return p->n.output == p->n.state && !is_kind(p, "gateloop"); }

/* states in the cell's own layout: (B, T, S) */
static double *states_of(const problem *p, const sparc_inspection *seen) {
  const size_t S = p->n.state, H = (size_t)seen->H;
  double *states = sparc_alloc((size_t)p->B * (size_t)p->T * S * sizeof *states);
  for (size_t token = 0; token < (size_t)p->B * (size_t)p->T; token++)
    for (size_t j = 0; j < H; j++) {
      const sparc_mode *m = &seen->mode[token * H + j];
      states[token * S + j] = m->h_re;
      if (is_complex(p)) states[token * S + H + j] = m->h_im;
    }
  return states;
}

static double or_one(double factor) { return isnan(factor) ? 1 : factor; }

/* a real cell has no imaginary part */
static double complex number(double re, double im) { return isnan(im) ? re : re + im * I; }

/* h = lambda kept + gain norm gate u, with what the cell does not have left out */
static double recombination_error(const sparc_inspection *seen) {
  double worst = 0;
  for (size_t i = 0; i < (size_t)seen->B * (size_t)seen->T * (size_t)seen->H; i++) {
    const sparc_mode *m = &seen->mode[i];
    const double complex lambda = m->rho * cexp(number(0, m->angle));
    const double complex write = or_one(m->gain) * or_one(m->norm) * or_one(m->gate) * number(m->u_re, m->u_im);
    const double complex h = number(m->h_re, m->h_im), kept = number(m->kept_re, m->kept_im);
    worst = fmax(worst, cabs(lambda * kept + write - h) / fmax(1, cabs(h)));
  }
  return worst;
}

static double kept_error(const problem *p, const sparc_inspection *seen) {
  double worst = 0;
  for (int b = 0; b < p->B; b++)
    for (int t = 1; t < p->T; t++)
      for (int j = 0; j < seen->H; j++) {
        const double m = p->mask ? p->mask[b * p->T + t] : 1;
        const sparc_mode *now = mode_at(seen, b, t, j), *before = mode_at(seen, b, t - 1, j);
        worst = fmax(worst, cabs(number(now->kept_re, now->kept_im) - m * number(before->h_re, before->h_im)));
      }
  return worst;
}

static void expect_consistent(const problem *p) {
  sparc_inspection *seen = inspect(p);
  result want = result_create(p), got = result_create(p);
  run_reference(p, false, &want);
  run_sequence_f32(p, NULL, false, &got);
  double *states = states_of(p, seen);
  const size_t tokens = (size_t)p->B * (size_t)p->T, S = p->n.state;
  if (shows_state(p)) {
    expect_close(p, "inspected states against the reference", e_norm(tokens * S, states, want.y), 0);
    expect_close(p, "inspected states against the float cell", e_norm(tokens * S, states, got.y), 2e-5);
  }
  const size_t shown = is_complex(p) ? 2 * (size_t)seen->H : (size_t)seen->H;
  for (size_t b = 0; b < (size_t)p->B; b++) {
    const double *last = states + ((b + 1) * (size_t)p->T - 1) * S;
    expect_close(p, "last state against the reference", e_norm(shown, last, want.state_last + b * S), 0);
    expect_close(p, "last state against the float cell", e_norm(shown, last, got.state_last + b * S), 2e-5);
  }
  expect_close(p, "kept = m h of the step before", kept_error(p, seen), 0);
  if (!is_kind(p, "gru") && !is_kind(p, "mamba3"))
    expect_close(p, "h = lambda kept + gain norm gate u", recombination_error(seen), 1e-12);
  sparc_free(states);
  result_free(&want);
  result_free(&got);
  sparc_inspection_free(seen);
}

static void test_states(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_random stream;
    sparc_random_init(&stream, seed, "inspect", *kind);
    for (int i = 0; i < PROBLEMS; i++) {
      problem p = problem_random(*kind, &stream);
      expect_consistent(&p);
      problem_free(&p);
    }
  }
}

/* ---- SPARC by hand ------------------------------------------------------------------------------- */

static sparc_mode one_mode(const char *options, const float *x, int steps, int at) {
  /* nu = 1/2, theta = 1, beta = log 2, s = 1, v = -1, B = (1, -1/2), r = tanh(x / 4), p = tanh(-x / 2) */
  static const float params[] = {-0.69314718F, 0, 0.69314718F, 1, -1, 1, -0.5F, 0.25F, 0, -0.5F, 0};
  const sparc_cell_config config = {.kind = "sparc", .D = 1, .H = 1, .options = options};
  sparc_cell *cell;
  sparc_inspection *seen;
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
  assert_int_equal(sparc_cell_sizes_of(cell).params, sizeof params / sizeof *params);
  const sparc_sequence sequence = {.x = x};
  assert_int_equal(sparc_cell_inspect(cell, params, 1, steps, &sequence, &seen), SPARC_OK);
  const sparc_mode mode = *mode_at(seen, 0, at, 0);
  sparc_inspection_free(seen);
  sparc_cell_free(cell);
  return mode;
}

static void expect_number(const char *what, double got, double want) {
  if (!(fabs(got - want) <= 1e-6 * fmax(1, fabs(want)))) fail_msg("%s is %.9g, expected %.9g", what, got, want);
}

static void test_by_hand(void **state) {
  (void)state;
  const float x[] = {1, 2};
  const sparc_mode m = one_mode("variant=full", x, 2, 1);
  /* x = 2: r = tanh(0.5), p = -tanh(1), e = 16^r / 2; the state before is the write of x = 1 */
  expect_number("r", m.r, 0.462117157);
  expect_number("p", m.p, -0.761594156);
  expect_number("nu", m.nu, 0.5);
  expect_number("e", m.e, 1.800588648);
  expect_number("rho", m.rho, 0.165201614);
  expect_number("theta", m.theta, 1);
  expect_number("uncoupled", m.uncoupled, -1.196309303);
  expect_number("offset", m.offset, -0.998677075);
  expect_number("angle", m.angle, 0.001322925);
  expect_number("gain", m.gain, 2);
  expect_number("norm", m.norm, 1.240484612);
  expect_number("gate", m.gate, 0.454567976);
  expect_number("z_re", m.z_re, 2);
  expect_number("z_im", m.z_im, -1);
  expect_number("u_re", m.u_re, 0.964027580);
  expect_number("u_im", m.u_im, -0.761594156);
}

/* what each variant puts in the place of what it takes away */
static void test_variants(void **state) {
  (void)state;
  const float x[] = {2};
  const sparc_mode full = one_mode("variant=full", x, 1, 0);
  sparc_mode m = one_mode("variant=fixed-controls", x, 1, 0);
  expect_number("r of fixed-controls", m.r, 0);
  expect_number("p of fixed-controls", m.p, 0);
  expect_number("gate of fixed-controls", m.gate, 1);
  m = one_mode("variant=phase-only", x, 1, 0);
  expect_number("e of phase-only", m.e, 0.5);
  expect_number("norm of phase-only", m.norm, full.norm);
  m = one_mode("variant=retention-only", x, 1, 0);
  expect_number("offset of retention-only", m.offset, 0);
  expect_number("uncoupled of retention-only", m.uncoupled, full.uncoupled);
  m = one_mode("variant=no-phase-clock", x, 1, 0);
  expect_number("offset of no-phase-clock", m.offset, full.uncoupled);
  m = one_mode("variant=static-phase-clock", x, 1, 0);
  expect_number("offset of static-phase-clock", m.offset, -expm1(-0.5) * full.uncoupled);
  m = one_mode("variant=neutral-gate", x, 1, 0);
  expect_number("gate of neutral-gate", m.gate, 1);
  m = one_mode("variant=fixed-normalization", x, 1, 0);
  expect_number("norm of fixed-normalization", m.norm, 1);
  m = one_mode("variant=linear-content", x, 1, 0);
  expect_number("u_re of linear-content", m.u_re, 2);
}

/* what a cell does not have is NAN, not a number that looks like one */
static void test_absent(void **state) {
  (void)state;
  static const struct {
    const char *kind;
    bool controls, rho, angle, gate, gain, imaginary;
  } has[] = {{"sparc", true, true, true, true, true, true},       {"rtu", false, true, true, false, false, true},
             {"lru", false, true, true, false, true, true},       {"rglru", false, true, true, true, false, false},
             {"gateloop", false, true, true, false, false, true}, {"mamba3", false, true, false, false, false, false},
             {"gru", false, false, false, true, false, false}};
  for (size_t i = 0; i < sizeof has / sizeof *has; i++) {
    sparc_random stream;
    sparc_random_init(&stream, seed, "absent", has[i].kind);
    problem p = problem_random(has[i].kind, &stream);
    sparc_inspection *seen = inspect(&p);
    const sparc_mode *m = seen->mode;
    assert_int_equal(!isnan(m->r) && !isnan(m->p), has[i].controls);
    assert_int_equal(!isnan(m->rho) && !isnan(m->e), has[i].rho);
    assert_int_equal(!isnan(m->angle), has[i].angle);
    assert_int_equal(!isnan(m->gate), has[i].gate);
    assert_int_equal(!isnan(m->gain), has[i].gain);
    assert_int_equal(!isnan(m->h_im), has[i].imaginary);
    sparc_inspection_free(seen);
    problem_free(&p);
  }
}

/* ---- networks ------------------------------------------------------------------------------------ */

/* the last states of every layer are those that the network's own forward leaves */
static void expect_layers(const sparc_network_config *config, unsigned with) {
  trial t = make_trial(config, 2, 7, with | WITH_STATE_LAST);
  const size_t tokens = (size_t)t.B * (size_t)t.T, S = sparc_cell_sizes_of(network_cell(t.network)).state;
  float *params = narrow(t.p, t.n.params), *x = narrow(t.x, tokens * TRIAL_INPUTS);
  float *mask = narrow(t.mask, tokens), *state0 = narrow(t.state0, (size_t)t.B * t.n.state);
  float *last = sparc_alloc((size_t)t.B * t.n.state * sizeof *last), *buffer = sparc_alloc(t.outputs * sizeof *buffer);
  float *outputs[TRIAL_HEADS];
  for (int i = 0; i < config->heads; i++) outputs[i] = buffer + t.first[i];
  const sparc_network_sequence sequence = {
      .x = x, .mask = mask, .state0 = state0, .outputs = outputs, .state_last = last};
  for (int layer = 0; layer < (config->layers ? config->layers : 1); layer++) {
    sparc_inspection *seen;
    if (sparc_network_inspect(t.network, params, layer, t.B, t.T, &sequence, &seen) != SPARC_OK)
      fail_msg("%s", sparc_error());
    for (int b = 0; b < t.B; b++)
      for (int j = 0; j < seen->H; j++) {
        const float want = last[(size_t)b * t.n.state + (size_t)layer * S + (size_t)j];
        const double got = mode_at(seen, b, t.T - 1, j)->h_re;
        if (!(fabs(got - (double)want) <= 2e-5 * fmax(1, fabs(got))))
          fail_msg("%s: layer %d, stream %d, mode %d: state %.9g, the network has %.9g", t.text, layer, b, j, got,
                   (double)want);
      }
    sparc_inspection_free(seen);
  }
  sparc_free(params);
  sparc_free(x);
  sparc_free(mask);
  sparc_free(state0);
  sparc_free(last);
  sparc_free(buffer);
  free_trial(&t);
}

static void test_networks(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (unsigned with = 0; with < 2; with++) {
      const unsigned what = with ? WITH_MASK | WITH_STATE0 : 0;
      const sparc_network_config bare = policy_config(*kind), deep = plain_config(*kind, 3, SPARC_HEAD_MEAN);
      expect_layers(&bare, what);
      expect_layers(&deep, what);
    }
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static void test_arguments(void **state) {
  (void)state;
  const sparc_cell_config config = {.kind = "sparc", .D = 1, .H = 1};
  sparc_cell *cell;
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
  const float params[11] = {0}, x[] = {1};
  const sparc_sequence sequence = {.x = x}, empty = {.x = NULL};
  sparc_inspection *seen;
  assert_int_equal(sparc_cell_inspect(cell, params, 1, 1, &sequence, NULL), SPARC_INVALID);
  assert_int_equal(sparc_cell_inspect(NULL, params, 1, 1, &sequence, &seen), SPARC_INVALID);
  assert_int_equal(sparc_cell_inspect(cell, NULL, 1, 1, &sequence, &seen), SPARC_INVALID);
  assert_int_equal(sparc_cell_inspect(cell, params, 0, 1, &sequence, &seen), SPARC_INVALID);
  assert_string_equal(sparc_error(), "B is 0, expected at least 1");
  assert_int_equal(sparc_cell_inspect(cell, params, 1, -2, &sequence, &seen), SPARC_INVALID);
  assert_string_equal(sparc_error(), "T is -2, expected at least 1");
  assert_int_equal(sparc_cell_inspect(cell, params, 1, 1, &empty, &seen), SPARC_INVALID);
  assert_null(seen);
  sparc_inspection_free(NULL);
  sparc_cell_free(cell);

  const sparc_network_config deep = plain_config("sparc", 2, SPARC_HEAD_MEAN);
  trial t = make_trial(&deep, 1, 3, 0);
  const sparc_network_sequence nothing = {.x = NULL};
  assert_int_equal(sparc_network_inspect(t.network, params, 2, 1, 3, &nothing, &seen), SPARC_INVALID);
  assert_string_equal(sparc_error(), "layer is 2, expected 0 to 1");
  free_trial(&t);
}

int main(void) {
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states), cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_variants),
      cmocka_unit_test(test_absent), cmocka_unit_test(test_networks), cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
