/* SPDX-License-Identifier: MIT */
/* test_gateloop.c: what is GateLoop's own; the identities of all cells are in test_cells.c.
 *
 * Sizes against the formulas of docs/cells.md, gradients and traces against finite differences in double for both
 * transitions, the sum of RTRL against BPTT under a nonlinear loss, the magnitude of the transition, and finite
 * numbers at the ends of the range.
 */
#include "rtrl/rtrl_f64.h"
#include "sparc/double.h"
#include "support.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const transitions[] = {"transition=polar", "transition=complex"};
enum { TRANSITIONS = 2 };

static sparc_cell *create(const char *options, int D, int H) {
  sparc_cell *cell;
  if (sparc_cell_create(&(sparc_cell_config){.kind = "gateloop", .D = D, .H = H, .options = options}, &cell))
    fail_msg("%s", sparc_error());
  return cell;
}

static const sparc_block *block_named(const sparc_cell *cell, const char *name) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(blocks[i].name, name) == 0) return &blocks[i];
  fail_msg("no block %s", name);
  return NULL;
}

/* ---- description ------------------------------------------------------------------------------- */

/* 7HD + 2H parameters, 4HD + 2H complex traces */
static void test_sizes_match_the_tables(void **state) {
  (void)state;
  const struct {
    int H;
    size_t params, trace;
  } rows[] = {{192, 86400, 99072}, {64, 28800, 33024}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sparc_cell *cell = create(NULL, 64, rows[i].H);
    const sparc_cell_sizes sizes = sparc_cell_sizes_of(cell);
    assert_int_equal(sizes.params, rows[i].params);
    assert_int_equal(sizes.trace, rows[i].trace);
    assert_int_equal(sizes.state, 2 * rows[i].H);
    assert_int_equal(sizes.output, 64);
    sparc_cell_free(cell);
  }
}

static void test_blocks_and_groups(void **state) {
  (void)state;
  enum { D = 3, H = 5 };
  const struct {
    const char *name;
    int rows, columns;
    size_t trace; /* of one state coordinate */
  } want[] = {{"retention", H, D + 1, D + 1},
              {"phase", H, D + 1, D + 1},
              {"key", H, D, D},
              {"value", H, D, D},
              {"query", H, D, 0},
              {"gate", H, D, 0},
              {"output", D, H, 0}};
  sparc_cell *cell = create(NULL, D, H);
  assert_string_equal(sparc_cell_config_of(cell).options, "transition=polar");
  size_t blocks, spans, offset = 0;
  const sparc_block *block = sparc_cell_blocks(cell, &blocks);
  assert_int_equal(blocks, sizeof want / sizeof *want);
  for (size_t i = 0; i < blocks; i++) {
    assert_string_equal(block[i].name, want[i].name);
    assert_int_equal(block[i].shape[0], want[i].rows);
    assert_int_equal(block[i].shape[1], want[i].columns);
    assert_int_equal(block[i].offset, offset);
    assert_int_equal(trace_size(cell, want[i].name), (size_t)2 * H * want[i].trace);
    offset += block[i].size;
  }

  /* what the state depends on, then what only the output depends on */
  const sparc_span *span = sparc_cell_spans(cell, &spans);
  assert_int_equal(spans, 2);
  assert_int_equal(span[0].group, SPARC_RECURRENT);
  assert_int_equal(span[0].size, block_named(cell, "query")->offset);
  assert_int_equal(span[1].group, SPARC_REGULAR);
  assert_int_equal(span[1].offset + span[1].size, sparc_cell_sizes_of(cell).params);
  sparc_cell_free(cell);

  assert_int_equal(
      sparc_cell_create(&(sparc_cell_config){.kind = "gateloop", .D = 1, .H = 1, .options = "transition=polr"}, &cell),
      SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "polar"));
  assert_null(cell);
}

/* uniform within 1 / sqrt(fan in), alike in both styles: the bounds hold and are nearly reached, biases included */
static void test_initial_draws(void **state) {
  (void)state;
  enum { D = 16, H = 100 };
  sparc_cell *cell = create(NULL, D, H);
  const size_t P = sparc_cell_sizes_of(cell).params;
  float *control = sparc_alloc(P * sizeof *control), *classification = sparc_alloc(P * sizeof *control);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CONTROL, 3, "a", control), SPARC_OK);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CLASSIFICATION, 3, "a", classification), SPARC_OK);
  assert_memory_equal(control, classification, P * sizeof *control);
  size_t blocks;
  const sparc_block *block = sparc_cell_blocks(cell, &blocks);
  for (size_t b = 0; b < blocks; b++) {
    const double bound = strcmp(block[b].name, "output") == 0 ? 0.1 : 0.25;
    double low = 1, high = -1, last = 0;
    for (size_t i = 0; i < block[b].size; i++) {
      const double value = (double)control[block[b].offset + i];
      low = fmin(low, value);
      high = fmax(high, value);
      if ((i + 1) % (size_t)block[b].shape[1] == 0) last = fmax(last, fabs(value));
    }
    assert_true(low >= -bound * (1 + 1e-6) && low < -0.97 * bound);
    assert_true(high <= bound * (1 + 1e-6) && high > 0.97 * bound);
    assert_true(last > 0.8 * bound); /* the last column is the bias of retention and phase */
  }
  sparc_free(control);
  sparc_free(classification);
  sparc_cell_free(cell);
}

/* ---- gradients --------------------------------------------------------------------------------- */

/* L = sum dy . y + y . y / 2, plus dstate_last . state_last when requested */
static double loss(const problem *p, bool with_last, result *r) {
  double sum = 0;
  run_sequence_f64(p, NULL, with_last, r);
  for (size_t i = 0; i < (size_t)(p->B * p->T) * p->n.output; i++) sum += (p->dy[i] + r->y[i] / 2) * r->y[i];
  for (size_t i = 0; with_last && i < (size_t)p->B * p->n.state; i++) sum += p->dstate_last[i] * r->state_last[i];
  return sum;
}

/* the same problem with the cotangent of that loss in place of dy; the caller frees dy */
static problem with_loss_cotangent(const problem *p, result *r) {
  const size_t count = (size_t)(p->B * p->T) * p->n.output;
  problem out = *p;
  loss(p, false, r);
  out.dy = sparc_alloc(count * sizeof *out.dy);
  for (size_t i = 0; i < count; i++) out.dy[i] = p->dy[i] + r->y[i];
  return out;
}

static problem difference_problem(const char *options, const char *name) {
  sparc_random stream;
  sparc_random_init(&stream, 1, "test-gateloop", name);
  const sparc_cell_config config = {.kind = "gateloop", .D = 3, .H = 4, .options = options};
  problem p;
  for (;;) { /* with an initial state */
    p = problem_create(&config, 2, 13, MASK_RANDOM, &stream);
    if (p.state0) return p;
    problem_free(&p);
  }
}

static void expect_differences(const problem *p, const char *what, double *values, size_t count,
                               const double *gradient) {
  const double step = 1e-6;
  result r = result_create(p);
  double *differences = sparc_alloc(count * sizeof *differences);
  for (size_t i = 0; i < count; i++) {
    const double kept = values[i];
    values[i] = kept + step;
    const double above = loss(p, true, &r);
    values[i] = kept - step;
    differences[i] = (above - loss(p, true, &r)) / (2 * step);
    values[i] = kept;
  }
  expect_close(p, what, e_norm(count, gradient, differences), 1e-8);
  sparc_free(differences);
  result_free(&r);
}

static void test_gradients_are_differences(void **state) {
  (void)state;
  for (int i = 0; i < TRANSITIONS; i++) {
    problem p = difference_problem(transitions[i], "gradients");
    result r = result_create(&p);
    problem tilted = with_loss_cotangent(&p, &r);
    run_sequence_f64(&tilted, NULL, true, &r);
    size_t blocks;
    const sparc_block *block = sparc_cell_blocks(p.cell, &blocks);
    for (size_t b = 0; b < blocks; b++)
      expect_differences(&p, block[b].name, p.params + block[b].offset, block[b].size, r.dparams + block[b].offset);
    expect_differences(&p, "x", p.x, (size_t)(p.B * p.T * p.D), r.dx);
    expect_differences(&p, "state0", p.state0, (size_t)p.B * p.n.state, r.dstate0);
    sparc_free(tilted.dy);
    result_free(&r);
    problem_free(&p);
  }
}

static void test_rtrl_sums_to_bptt(void **state) {
  (void)state;
  for (int i = 0; i < TRANSITIONS; i++) {
    problem p = difference_problem(transitions[i], "rtrl");
    result online = result_create(&p), whole = result_create(&p);
    problem tilted = with_loss_cotangent(&p, &whole);
    run_sequence_f64(&tilted, NULL, false, &whole);
    run_rtrl_f64(&tilted, &online);
    expect_same_blocks(&p, "sum of RTRL = BPTT", online.dparams, whole.dparams, 1e-13);

    /* dx of a step is that of a sequence of this step alone, from the state before it */
    const size_t D = (size_t)p.D, T = (size_t)p.T;
    problem one = tilted;
    one.B = one.T = 1;
    for (size_t t = 0; t < T; t++) {
      one.x = tilted.x + t * D;
      one.mask = tilted.mask + t;
      one.dy = tilted.dy + t * p.n.output;
      run_sequence_f64(&one, NULL, false, &whole);
      expect_close(&p, "local dx", e_norm(D, online.dx + t * D, whole.dx), 1e-13);
      memcpy(p.state0, whole.state_last, p.n.state * sizeof *p.state0);
    }
    sparc_free(tilted.dy);
    result_free(&online);
    result_free(&whole);
    problem_free(&p);
  }
}

/* the trace is d state / d params, in its imaginary part too */
static void test_traces_are_differences(void **state) {
  (void)state;
  const char *const traced[] = {"retention", "phase", "key", "value"};
  const double step = 1e-6;
  for (int i = 0; i < TRANSITIONS; i++) {
    problem p = difference_problem(transitions[i], "traces");
    result r = result_create(&p), above = result_create(&p), below = result_create(&p);
    double *prepared = sparc_alloc(p.n.prepared * sizeof *prepared);
    assert_int_equal(sparc_prepare_f64(p.cell, p.params, prepared), SPARC_OK);
    run_rtrl_f64(&p, &r);
    for (size_t b = 0; b < sizeof traced / sizeof *traced; b++) {
      const sparc_block *block = block_named(p.cell, traced[b]);
      const size_t row = (size_t)block->shape[1], H = p.n.state / 2;
      double *got = sparc_alloc(2 * block->size * sizeof *got), *want = sparc_alloc(2 * block->size * sizeof *want);
      assert_int_equal(trace_size(p.cell, traced[b]), 2 * block->size);
      assert_int_equal(sparc_trace_read_f64(p.cell, prepared, r.trace, traced[b], got), SPARC_OK);
      for (size_t k = 0; k < block->size; k++) {
        double *value = &p.params[block->offset + k], kept = *value;
        *value = kept + step;
        run_steps_f64(&p, &above);
        *value = kept - step;
        run_steps_f64(&p, &below);
        *value = kept;
        for (size_t part = 0; part < 2; part++)
          want[part * block->size + k] =
              (above.state_last[part * H + k / row] - below.state_last[part * H + k / row]) / (2 * step);
      }
      expect_close(&p, traced[b], e_norm(2 * block->size, got, want), 1e-8);
      sparc_free(got);
      sparc_free(want);
    }
    sparc_free(prepared);
    result_free(&r);
    result_free(&above);
    result_free(&below);
    problem_free(&p);
  }
}

/* ---- single steps ------------------------------------------------------------------------------ */

typedef struct stream {
  sparc_cell *cell;
  sparc_cell_sizes n;
  float *params, *prepared, *state, *trace, *tape, *y, *dparams;
} stream;

static stream stream_create(const char *options, int D, int H) {
  stream s = {.cell = create(options, D, H)};
  s.n = sparc_cell_sizes_of(s.cell);
  float **arrays[] = {&s.params, &s.prepared, &s.state, &s.trace, &s.tape, &s.y, &s.dparams};
  const size_t counts[] = {s.n.params, s.n.prepared, s.n.state, s.n.trace, s.n.tape, s.n.output, s.n.params};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *arrays[i] = sparc_alloc(counts[i] * sizeof(float));
  assert_int_equal(sparc_cell_init(s.cell, SPARC_INIT_CONTROL, 1, NULL, s.params), SPARC_OK);
  assert_int_equal(sparc_prepare(s.cell, s.params, s.prepared), SPARC_OK);
  return s;
}

static void stream_free(stream *s) {
  float *arrays[] = {s->params, s->prepared, s->state, s->trace, s->tape, s->y, s->dparams};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
  sparc_cell_free(s->cell);
}

/* a of one channel without a write: what becomes of the state 1 */
static void transition_of(stream *s, float al, float be, double *re, double *im) {
  memset(s->params, 0, s->n.params * sizeof(float));
  s->params[block_named(s->cell, "retention")->offset + 1] = al;
  s->params[block_named(s->cell, "phase")->offset + 1] = be;
  assert_int_equal(sparc_prepare(s->cell, s->params, s->prepared), SPARC_OK);
  s->state[0] = 1;
  s->state[1] = 0;
  assert_int_equal(sparc_step(s->cell, s->prepared, s->state, &(float){0}, 1, NULL, s->tape), SPARC_OK);
  *re = (double)s->state[0];
  *im = (double)s->state[1];
}

/* a number of any size and sign */
static float draw_wide(sparc_random *random, double low, double high) {
  const double exponent = low + (high - low) * sparc_random_uniform(random);
  return (float)(sparc_random_below(random, 2) ? pow(10, exponent) : -pow(10, exponent));
}

static void test_complex_magnitude_is_at_least_half(void **state) {
  (void)state;
  const double rounding = 2e-7;
  sparc_random random;
  sparc_random_init(&random, 1, "test-gateloop", "magnitude");
  stream s = stream_create("transition=complex", 1, 1);
  for (int i = 0; i < 20000; i++) {
    const float al = draw_wide(&random, -11.9, 29.9), be = draw_wide(&random, -30, 29.9);
    const double rho = hypot((double)al, (double)be);
    double re, im;
    transition_of(&s, al, be, &re, &im);
    assert_true(hypot(re, im) >= 0.5 * (1 - rounding) && hypot(re, im) < 1);
    assert_true(fabs(hypot(re, im) - 1 / (1 + exp(-rho))) < 5e-7);
    assert_true(fabs(re * (double)be - im * (double)al) <= rounding * rho); /* the same direction */
  }

  /* the modulus is guarded: no direction at the origin, and no division by zero */
  double re, im;
  transition_of(&s, 0, 0, &re, &im);
  assert_true(re == 0 && im == 0);
  transition_of(&s, 1e-13f, 0, &re, &im);
  assert_true(fabs(re - 0.05) < 1e-7 && im == 0);
  stream_free(&s);
}

/* large angles lose nothing but what float has already lost; |a| stays below 1 for any retention */
static void test_polar_transition_in_float(void **state) {
  (void)state;
  sparc_random random;
  sparc_random_init(&random, 1, "test-gateloop", "polar");
  stream s = stream_create("transition=polar", 1, 1);
  for (int i = 0; i < 20000; i++) {
    const float al = draw_wide(&random, -3, i % 2 ? 1 : 29.9), be = draw_wide(&random, -3, 29.9);
    const double magnitude = 1 / (1 + exp(-(double)al));
    double re, im;
    transition_of(&s, al, be, &re, &im);
    assert_true(fabs(re - magnitude * cos((double)be)) < 5e-7);
    assert_true(fabs(im - magnitude * sin((double)be)) < 5e-7);
    assert_true(hypot(re, im) < 1);
  }
  stream_free(&s);
}

/* after a step that starts a segment nothing of what came before is left, whatever it was */
static void test_reset_clears_traces(void **state) {
  (void)state;
  const float x[] = {0.5f, -1.25f, 2};
  for (int i = 0; i < TRANSITIONS; i++) {
    stream fresh = stream_create(transitions[i], 3, 4), used = stream_create(transitions[i], 3, 4);
    for (size_t k = 0; k < used.n.state; k++) used.state[k] = (float)k - 3;
    for (size_t k = 0; k < used.n.trace; k++) used.trace[k] = 1 + (float)k;
    assert_int_equal(sparc_step_rtrl(fresh.cell, fresh.prepared, fresh.state, fresh.trace, x, 0, fresh.y, fresh.tape),
                     SPARC_OK);
    assert_int_equal(sparc_step_rtrl(used.cell, used.prepared, used.state, used.trace, x, 0, used.y, used.tape),
                     SPARC_OK);
    bool written = false;
    for (size_t k = 0; k < used.n.trace; k++) {
      assert_true(used.trace[k] == fresh.trace[k]);
      written = written || used.trace[k] != 0;
    }
    assert_true(written); /* by this step's own key and value */
    for (size_t k = 0; k < used.n.output; k++) assert_true(used.y[k] == fresh.y[k]);
    stream_free(&fresh);
    stream_free(&used);
  }
}

/* a step that is not requested y leaves a tape that gives the same gradient */
static void test_gradient_needs_no_y(void **state) {
  (void)state;
  const float x[] = {0.5f, -1.25f, 2}, dy[] = {1, -2, 0.25f};
  stream with = stream_create(NULL, 3, 4), without = stream_create(NULL, 3, 4);
  memset(without.tape, 0xff, without.n.tape * sizeof(float)); /* NaN */
  stream *both[] = {&with, &without};
  for (int i = 0; i < 2; i++) {
    stream *s = both[i];
    float dx[3];
    for (size_t k = 0; k < s->n.state; k++) s->state[k] = 1 - (float)k / 4;
    assert_int_equal(sparc_step_rtrl(s->cell, s->prepared, s->state, s->trace, x, 1, i == 0 ? s->y : NULL, s->tape),
                     SPARC_OK);
    assert_int_equal(sparc_rtrl_gradient(s->cell, s->prepared, s->trace, s->tape, dy, s->dparams, dx), SPARC_OK);
  }
  assert_memory_equal(with.dparams, without.dparams, with.n.params * sizeof(float));
  const sparc_block *output = block_named(with.cell, "output");
  for (size_t k = 0; k < output->size; k++) assert_true(with.dparams[output->offset + k] != 0);
  stream_free(&with);
  stream_free(&without);
}

/* ---- the ends of the range ---------------------------------------------------------------------- */

static void expect_finite(const problem *p, const char *what, const result *r) {
  for (size_t i = 0; i < (size_t)(p->B * p->T) * p->n.output; i++)
    if (!isfinite(r->y[i])) fail_msg("%s: y[%zu] is %g for %s", what, i, r->y[i], problem_text(p));
  for (size_t i = 0; i < (size_t)p->B * p->n.state; i++)
    if (!isfinite(r->state_last[i]))
      fail_msg("%s: state[%zu] is %g for %s", what, i, r->state_last[i], problem_text(p));
}

static void expect_finite_everywhere(const problem *p) {
  const sparc_plan_config chunked = {.chunk = 4};
  result r = result_create(p);
  run_steps_f32(p, &r);
  expect_finite(p, "float steps", &r);
  run_sequence_f32(p, NULL, false, &r);
  expect_finite(p, "float scan", &r);
  run_sequence_f32(p, &chunked, false, &r);
  expect_finite(p, "float chunks", &r);
  run_sequence_f64(p, NULL, false, &r);
  expect_finite(p, "double scan", &r);
  result_free(&r);
}

static void spoil(double *values, size_t count, const float *extremes, uint32_t choices, sparc_random *random) {
  for (size_t i = 0; i < count; i++)
    if (sparc_random_below(random, 4)) values[i] = (double)extremes[sparc_random_below(random, choices)];
}

/* any finite parameters, or inputs up to 1e30. With one input a projection cannot overflow in both directions at once,
 * so there the forward pass stays finite with both together. */
static void test_extremes_stay_finite(void **state) {
  (void)state;
  const float params[] = {-FLT_MAX, -1e30f, -300, -1e-30f, 0, 1e-30f, 300, 1e15f, 1e30f, FLT_MAX};
  const float inputs[] = {-1e30f, -1e10f, 0, 1e-30f, 1e10f, 1e30f};
  const struct {
    int D;
    bool params, inputs;
  } cases[] = {{3, true, false}, {3, false, true}, {1, true, true}};
  sparc_random random;
  sparc_random_init(&random, 1, "test-gateloop", "extremes");
  for (int round = 0; round < 300; round++) {
    const size_t c = (size_t)round % 3;
    const sparc_cell_config config = {
        .kind = "gateloop", .D = cases[c].D, .H = round % 5 ? 5 : 67, .options = transitions[round % 2]};
    problem p = problem_create(&config, 2, 13, MASK_RANDOM, &random);
    if (cases[c].params) spoil(p.params, p.n.params, params, 10, &random);
    if (cases[c].inputs) spoil(p.x, (size_t)(p.B * p.T * p.D), inputs, 6, &random);
    expect_finite_everywhere(&p);
    problem_free(&p);
  }
}

/* a NaN in the input is not hidden by the limits */
static void test_nan_is_not_hidden(void **state) {
  (void)state;
  for (int i = 0; i < TRANSITIONS; i++) {
    stream s = stream_create(transitions[i], 1, 1);
    s.state[0] = 1;
    assert_int_equal(sparc_step(s.cell, s.prepared, s.state, &(float){NAN}, 1, s.y, s.tape), SPARC_OK);
    assert_true(isnan(s.state[0]) && isnan(s.y[0]));
    stream_free(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_match_the_tables),
      cmocka_unit_test(test_blocks_and_groups),
      cmocka_unit_test(test_initial_draws),
      cmocka_unit_test(test_gradients_are_differences),
      cmocka_unit_test(test_rtrl_sums_to_bptt),
      cmocka_unit_test(test_traces_are_differences),
      cmocka_unit_test(test_complex_magnitude_is_at_least_half),
      cmocka_unit_test(test_polar_transition_in_float),
      cmocka_unit_test(test_reset_clears_traces),
      cmocka_unit_test(test_gradient_needs_no_y),
      cmocka_unit_test(test_extremes_stay_finite),
      cmocka_unit_test(test_nan_is_not_hidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
