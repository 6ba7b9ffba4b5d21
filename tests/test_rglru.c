/* SPDX-License-Identifier: MIT */
/* test_rglru.c: what is particular to RG-LRU: the full-scale first write, block-local gates and projection traces, the
 * local projection gradient, the bounded root, its sizes and its limits. What it shares with every cell is in
 * test_cells.c. */
#include "cells/cell.h"
#include "rtrl/rtrl_f64.h"
#include "sparc/double.h"
#include "support.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- problems ---------------------------------------------------------------------------------- */

static problem make_problem(const char *options, int B, int T, int D, int H, mask_kind mask, const char *name) {
  sparc_random stream;
  sparc_random_init(&stream, 1, "test-rglru", name);
  const sparc_cell_config config = {.kind = "rglru", .D = D, .H = H, .options = options};
  return problem_create(&config, B, T, mask, &stream);
}

static const sparc_block *block_named(const problem *p, const char *name) {
  return &p->cell->block[cell_block_index(p->cell, name)];
}

static double *param(const problem *p, const char *name) { return p->params + block_named(p, name)->offset; }

static void fill(const problem *p, const char *name, double value) {
  for (size_t i = 0; i < block_named(p, name)->size; i++) param(p, name)[i] = value;
}

/* the problem with the same numbers for another projection trace */
static problem with_options(const problem *given, const char *options) {
  problem p = *given;
  const sparc_cell_config config = {.kind = "rglru", .D = given->D, .H = given->cell->H, .options = options};
  assert_int_equal(sparc_cell_create(&config, &p.cell), SPARC_OK);
  p.n = sparc_cell_sizes_of(p.cell);
  return p;
}

static void expect_finite(const problem *p, const char *what, size_t count, const double *values) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) fail_msg("%s: element %zu is %g for %s", what, i, values[i], problem_text(p));
}

/* ---- the first step of a segment ---------------------------------------------------------------- */

/* h_1 = q_1 u_1 to the last bit: with closed gate weights q is 1/2, and small integers make u exact */
static void test_first_write_is_exact(void **state) {
  (void)state;
  problem p = make_problem("block=2", 1, 1, 3, 4, MASK_ZEROS, "first");
  fill(&p, "gate_input", 0);
  fill(&p, "gate_input_bias", 0);
  for (size_t d = 0; d < 3; d++) p.x[d] = (double)d - 3;
  for (size_t j = 0; j < 4; j++) {
    param(&p, "content_bias")[j] = (double)j;
    for (size_t d = 0; d < 3; d++) param(&p, "content")[3 * j + d] = (double)(j * d) - 2;
  }
  result f32 = result_create(&p), f64 = result_create(&p);
  run_sequence_f32(&p, NULL, true, &f32);
  run_sequence_f64(&p, NULL, true, &f64);
  for (size_t j = 0; j < 4; j++) {
    double u = (double)j;
    for (size_t d = 0; d < 3; d++) u += ((double)(j * d) - 2) * p.x[d];
    assert_true(f32.y[j] == 0.5 * u);
    assert_true(f64.y[j] == 0.5 * u);
  }
  result_free(&f32);
  result_free(&f64);
  problem_free(&p);
}

/* retention, decay and the state before have no part in a first write, not even in its last bit, nor in its gradient */
static void test_first_write_ignores_retention(void **state) {
  (void)state;
  static const char *const retention[] = {"gate_retention", "gate_retention_bias", "decay_logit"};
  problem p = make_problem("block=3", 2, 1, 5, 9, MASK_ZEROS, "ignores");
  result first = result_create(&p), second = result_create(&p), rtrl = result_create(&p);
  run_sequence_f32(&p, NULL, true, &first);
  run_rtrl_f32(&p, &rtrl);
  for (size_t i = 0; i < 3; i++) {
    const sparc_block *block = block_named(&p, retention[i]);
    for (size_t k = block->offset; k < block->offset + block->size; k++) {
      assert_true(first.dparams[k] == 0);
      assert_true(rtrl.dparams[k] == 0);
      p.params[k] = 1 - 2 * p.params[k];
    }
  }
  for (size_t i = 0; p.state0 && i < 2 * p.n.state; i++) p.state0[i] += 7;
  run_sequence_f32(&p, NULL, true, &second);
  assert_memory_equal(first.y, second.y, 2 * p.n.output * sizeof(double));
  assert_memory_equal(first.dparams, second.dparams, p.n.params * sizeof(double));
  result_free(&first);
  result_free(&second);
  result_free(&rtrl);
  problem_free(&p);
}

/* ---- projection traces --------------------------------------------------------------------------- */

/* without a past the exact trace has no further terms: one step, or a new segment at every step */
static void test_local_is_exact_without_a_past(void **state) {
  (void)state;
  static const struct {
    int T;
    mask_kind mask;
  } cases[] = {{1, MASK_NONE}, {1, MASK_ZEROS}, {1, MASK_RANDOM}, {9, MASK_ZEROS}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    problem exact = make_problem("block=4", 3, cases[i].T, 5, 12, cases[i].mask, "past");
    problem local = with_options(&exact, "block=4,proj_trace=local");
    result want = result_create(&exact), got = result_create(&local);
    run_rtrl_f64(&exact, &want);
    run_rtrl_f64(&local, &got);
    expect_same_blocks(&local, "local = exact", got.dparams, want.dparams, 1e-13);
    result_free(&want);
    result_free(&got);
    sparc_cell_free(local.cell);
    problem_free(&exact);
  }
}

/* with a past the local form still has the exact gradient of everything but the projection, and not of that */
static void test_local_differs_in_the_projection_alone(void **state) {
  (void)state;
  problem p = make_problem("block=3,proj_trace=local", 2, 12, 4, 6, MASK_FIRST, "alone");
  result got = result_create(&p), want = result_create(&p);
  run_rtrl_f64(&p, &got);
  run_sequence_f64(&p, NULL, false, &want);
  for (size_t b = 0; b < p.cell->blocks; b++) {
    const sparc_block *block = &p.cell->block[b];
    const double error = e_norm(block->size, got.dparams + block->offset, want.dparams + block->offset);
    if (strncmp(block->name, "content", 7) == 0)
      assert_true(error > 1e-3);
    else
      expect_close(&p, block->name, error, 1e-10);
  }
  assert_int_equal(trace_size(p.cell, "content"), 0);
  assert_int_equal(trace_size(p.cell, "gate_input"), 6 * 3);
  result_free(&got);
  result_free(&want);
  problem_free(&p);
}

/* loss of one step from a given state */
static double step_loss(const problem *p, const double *from, const double *x, double mask, const double *dy) {
  double *prepared = sparc_alloc(p->n.prepared * sizeof(double)), *tape = sparc_alloc(p->n.tape * sizeof(double));
  double h[16], y[16], loss = 0;
  assert_true(p->n.state <= 16);
  memcpy(h, from, p->n.state * sizeof(double));
  assert_int_equal(sparc_prepare_f64(p->cell, p->params, prepared), SPARC_OK);
  assert_int_equal(sparc_step_f64(p->cell, prepared, h, x, mask, y, tape), SPARC_OK);
  for (size_t j = 0; j < p->n.output; j++) loss += dy[j] * y[j];
  sparc_free(prepared);
  sparc_free(tape);
  return loss;
}

/* the local gradient of the projection is the derivative of the step's loss with the carried state held fixed */
static void test_local_gradient_by_differences(void **state) {
  (void)state;
  const double delta = 1e-5;
  problem p = make_problem("block=3,proj_trace=local", 1, 6, 4, 6, MASK_RANDOM, "differences");
  const size_t count = block_named(&p, "content")->size + block_named(&p, "content_bias")->size; /* the first blocks */
  double *prepared = sparc_alloc(p.n.prepared * sizeof(double)), *tape = sparc_alloc(p.n.tape * sizeof(double));
  double *trace = sparc_alloc(p.n.trace * sizeof(double)), *dparams = sparc_alloc(p.n.params * sizeof(double));
  double *want = sparc_alloc(count * sizeof(double)), h[6] = {0}, before[6], y[6];
  assert_int_equal(sparc_prepare_f64(p.cell, p.params, prepared), SPARC_OK);
  for (int t = 0; t < p.T; t++) {
    const double *x = p.x + t * p.D, *dy = p.dy + t * 6, mask = p.mask[t];
    memcpy(before, h, sizeof h);
    memset(dparams, 0, p.n.params * sizeof(double));
    assert_int_equal(sparc_step_rtrl_f64(p.cell, prepared, h, trace, x, mask, y, tape), SPARC_OK);
    assert_int_equal(sparc_rtrl_gradient_f64(p.cell, prepared, trace, tape, dy, dparams, NULL), SPARC_OK);
    for (size_t i = 0; i < count; i++) {
      const double kept = p.params[i];
      p.params[i] = kept + delta;
      const double above = step_loss(&p, before, x, mask, dy);
      p.params[i] = kept - delta;
      want[i] = (above - step_loss(&p, before, x, mask, dy)) / (2 * delta);
      p.params[i] = kept;
    }
    expect_close(&p, "local projection gradient", e_norm(count, dparams, want), 1e-8);
  }
  double *blocks[] = {prepared, tape, trace, dparams, want};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  problem_free(&p);
}

/* column of the trace that belongs to params[i], for state coordinate j; NULL: j does not see this parameter */
static const double *sensitivity(const sparc_block *block, int k, const double *trace, size_t j, size_t i) {
  const size_t width = (size_t)k, columns = (size_t)block->shape[1], row = i / columns, column = i % columns;
  if (strncmp(block->name, "content", 7) != 0) return row == j ? trace + i : NULL;
  return row / width == j / width ? trace + (j * width + row % width) * columns + column : NULL;
}

/* every trace is the derivative of the last state, inside the parameter's block and nowhere else */
static void test_traces_by_differences(void **state) {
  (void)state;
  const double delta = 1e-5;
  const int k = 3;
  problem p = make_problem("block=3", 1, 7, 2, 6, MASK_RANDOM, "traces");
  result at = result_create(&p), above = result_create(&p), below = result_create(&p);
  double *prepared = sparc_alloc(p.n.prepared * sizeof(double)), *trace = sparc_alloc(p.n.trace * sizeof(double));
  assert_int_equal(sparc_prepare_f64(p.cell, p.params, prepared), SPARC_OK);
  run_rtrl_f64(&p, &at);
  for (size_t b = 0; b < p.cell->blocks; b++) {
    const sparc_block *block = &p.cell->block[b];
    assert_int_equal(sparc_trace_read_f64(p.cell, prepared, at.trace, block->name, trace), SPARC_OK);
    for (size_t i = 0; i < block->size; i++) {
      double *value = p.params + block->offset + i, kept = *value;
      *value = kept + delta;
      run_steps_f64(&p, &above);
      *value = kept - delta;
      run_steps_f64(&p, &below);
      *value = kept;
      for (size_t j = 0; j < p.n.state; j++) {
        const double want = (above.state_last[j] - below.state_last[j]) / (2 * delta);
        const double *got = sensitivity(block, k, trace, j, i);
        expect_close(&p, block->name, fabs((got ? *got : 0) - want), 1e-8);
      }
    }
  }
  result_free(&at);
  result_free(&above);
  result_free(&below);
  sparc_free(prepared);
  sparc_free(trace);
  problem_free(&p);
}

/* ---- arithmetic ---------------------------------------------------------------------------------- */

/* blocks wider than those of test_cells.c, in all forms */
static void test_wide_blocks(void **state) {
  (void)state;
  static const struct {
    const char *options;
    int H;
  } cases[] = {{"block=16", 48}, {"block=33", 66}, {"block=75", 150}, {"block=128", 128}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    problem p = make_problem(cases[i].options, 2, 11, 3, cases[i].H, MASK_RANDOM, "wide");
    result want = result_create(&p), got = result_create(&p);
    run_reference(&p, true, &want);
    run_sequence_f64(&p, NULL, true, &got);
    expect_same_sequence(&p, "double", &got, &want, 1e-12, 1e-11);
    run_sequence_f32(&p, &(sparc_plan_config){.chunk = 4}, true, &got);
    expect_same_sequence(&p, "float", &got, &want, 3e-6, 1e-5);
    run_steps_f32(&p, &got);
    expect_close(&p, "y of steps", e_norm((size_t)(p.B * p.T) * p.n.output, got.y, want.y), 3e-6);
    run_reference(&p, false, &want);
    run_rtrl_f64(&p, &got);
    expect_same_blocks(&p, "RTRL", got.dparams, want.dparams, 1e-10);
    result_free(&want);
    result_free(&got);
    problem_free(&p);
  }
}

/* r = q = 1/2 and u = 1 at a decay so slow that 1 - a^2 < 2.5e-7: value exact, slope of the root held at its bound */
static void test_bounded_root(void **state) {
  (void)state;
  static const char *const zeros[] = {"content_bias", "gate_retention", "gate_retention_bias", "gate_input",
                                      "gate_input_bias"};
  problem p = make_problem("block=1", 1, 1, 1, 1, MASK_NONE, "root");
  for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) fill(&p, zeros[i], 0);
  fill(&p, "content", 1);
  fill(&p, "decay_logit", -20);
  double start = 3;
  sparc_free(p.state0);
  p.state0 = &start;
  p.x[0] = p.dy[0] = 1;

  const double rate = log1p(exp(-20)), log_a = -4 * rate, a = exp(log_a), root = sqrt(-expm1(2 * log_a));
  const double slope = exp(-20) / (1 + exp(-20)), want = (a * start - a * a / 5e-4 / 2) * -4 * slope;
  assert_true(root < 5e-4);
  result r = result_create(&p);
  run_sequence_f64(&p, NULL, false, &r);
  const double got = r.dparams[block_named(&p, "decay_logit")->offset];
  assert_true(fabs(r.y[0] - (a * start + root / 2)) < 1e-15);
  assert_true(fabs(got - want) < 1e-12 * fabs(want));
  result_free(&r);
  p.state0 = NULL;
  problem_free(&p);
}

/* products of a gate that overflow float and cancel: the gate is still the one of the true sum */
static void expect_true_gate(int width, double first, double second, double gate) {
  const size_t k = (size_t)width;
  char options[32];
  snprintf(options, sizeof options, "block=%d", width);
  problem p = make_problem(options, 1, 2, 1, width, MASK_ZEROS, "overflow");
  fill(&p, "content", 1024);
  fill(&p, "content_bias", 0);
  fill(&p, "gate_input", 0);
  fill(&p, "gate_input_bias", 0);
  p.x[0] = p.x[1] = 1;
  for (size_t j = 0; j < k; j++) {
    param(&p, "gate_input")[k * j] = first;
    param(&p, "gate_input")[k * j + k - 1] = second;
  }
  result sequence = result_create(&p), steps = result_create(&p);
  run_sequence_f32(&p, NULL, true, &sequence);
  run_steps_f32(&p, &steps);
  for (size_t j = 0; j < 2 * k; j++) {
    assert_true(sequence.y[j] == 1024 * gate);
    assert_true(steps.y[j] == 1024 * gate);
  }
  result_free(&sequence);
  result_free(&steps);
  problem_free(&p);
}

static void test_cancelling_overflow(void **state) {
  (void)state;
  static const struct {
    double first, second, gate;
  } cases[] = {{3e38, -3e38, 0.5}, {3e38, -2e38, 1}, {2e38, -3e38, 0}, {-3e38, 3e38, 0.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect_true_gate(2, cases[i].first, cases[i].second, cases[i].gate);
    expect_true_gate(90, cases[i].first, cases[i].second, cases[i].gate); /* several panels */
  }
}

/* forward in every form, and for inputs of ordinary size the gradients too, under parameters at the ends of float */
static void test_extreme_parameters(void **state) {
  (void)state;
  static const char *const blocks[] = {"content_bias", "gate_retention",  "gate_retention_bias",
                                       "gate_input",   "gate_input_bias", "decay_logit"};
  static const double values[] = {1e4, -1e4, 1e30, -1e30, 3.4e38, -3.4e38, 1e-38};
  static const double inputs[] = {1, 1e30};
  for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
      for (size_t s = 0; s < sizeof inputs / sizeof *inputs; s++) {
        problem p = make_problem("block=4", 2, 9, 5, 8, MASK_RANDOM, "extreme");
        const size_t tokens = (size_t)(p.B * p.T);
        fill(&p, blocks[b], (double)(float)values[v]);
        for (size_t i = 0; i < tokens * 5; i++) p.x[i] = (double)(float)(p.x[i] < 0 ? -inputs[s] : inputs[s]);
        result r = result_create(&p);
        run_steps_f32(&p, &r);
        expect_finite(&p, "step", tokens * 8, r.y);
        run_sequence_f32(&p, &(sparc_plan_config){.chunk = 4}, true, &r);
        expect_finite(&p, "chunked", tokens * 8, r.y);
        run_sequence_f32(&p, NULL, true, &r);
        expect_finite(&p, "sequential", tokens * 8, r.y);
        if (inputs[s] == 1) {
          expect_finite(&p, "dx", tokens * 5, r.dx);
          expect_finite(&p, "dparams", p.n.params, r.dparams);
          run_rtrl_f32(&p, &r);
          expect_finite(&p, "RTRL", p.n.params, r.dparams);
        }
        result_free(&r);
        problem_free(&p);
      }
    }
  }
}

/* inputs of +-1e30 with the initial parameters, and content weights that push u to its bound */
static void test_extreme_inputs(void **state) {
  (void)state;
  static const double weights[] = {1, 1e4, 1e7};
  for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
    problem p = make_problem("block=8", 2, 50, 3, 16, MASK_FIRST, "inputs");
    const size_t tokens = (size_t)(p.B * p.T);
    for (size_t i = 0; i < block_named(&p, "content")->size; i++)
      param(&p, "content")[i] = (double)(float)(weights[w] * param(&p, "content")[i]);
    for (size_t i = 0; i < tokens * 3; i++) p.x[i] = (double)(p.x[i] < 0 ? -1e30f : 1e30f);
    result r = result_create(&p);
    run_steps_f32(&p, &r);
    expect_finite(&p, "step", tokens * 16, r.y);
    run_sequence_f32(&p, &(sparc_plan_config){.chunk = 7}, true, &r);
    expect_finite(&p, "chunked", tokens * 16, r.y);
    run_rtrl_f32(&p, &r);
    expect_finite(&p, "RTRL step", tokens * 16, r.y);
    result_free(&r);
    problem_free(&p);
  }
}

/* a NaN in an input is not hidden by the bound on the content */
static void test_nan_shows(void **state) {
  (void)state;
  problem p = make_problem("block=2", 1, 1, 2, 4, MASK_NONE, "nan");
  p.x[1] = NAN;
  result r = result_create(&p);
  run_steps_f32(&p, &r);
  for (size_t j = 0; j < 4; j++) assert_true(isnan(r.y[j]));
  result_free(&r);
  problem_free(&p);
}

/* ---- description --------------------------------------------------------------------------------- */

static void test_sizes(void **state) {
  (void)state;
  static const struct {
    int H;
    const char *options;
    size_t params, trace;
  } table[] = {
      {384, NULL, 32256, 206976},
      {128, NULL, 10752, 68992},
      {384, "proj_trace=local", 32256, 7296},
      {128, "proj_trace=local", 10752, 2432},
      {384, "block=4", 384 * 65 + 2 * 384 * 5 + 384, 104064},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const sparc_cell_config config = {.kind = "rglru", .D = 64, .H = table[i].H, .options = table[i].options};
    sparc_cell *cell;
    assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
    const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
    assert_int_equal(n.params, table[i].params);
    assert_int_equal(n.trace, table[i].trace);
    assert_int_equal(n.state, table[i].H);
    assert_int_equal(n.output, table[i].H);

    /* the traces of all blocks fill it exactly */
    size_t traced = 0, spans;
    for (size_t b = 0; b < cell->blocks; b++) traced += cell->block[b].trace;
    assert_int_equal(traced, n.trace);

    /* everything moves the state */
    const sparc_span *span = sparc_cell_spans(cell, &spans);
    assert_int_equal(spans, 1);
    assert_int_equal(span->group, SPARC_RECURRENT);
    assert_int_equal(span->size, n.params);
    sparc_cell_free(cell);
  }
}

static void test_bad_options(void **state) {
  (void)state;
  static const struct {
    int H;
    const char *options, *words[3];
  } bad[] = {
      {12, NULL, {"H is 12", "block, which is 8", "nearest is 16"}},
      {17, NULL, {"H is 17", "block, which is 8", "nearest is 16"}},
      {3, "block=8", {"H is 3", "block, which is 8", "nearest is 8"}},
      {1, "block=4096", {"H is 1", "block, which is 4096", "nearest is 4096"}},
      {7, "block=2,proj_trace=local", {"H is 7", "block, which is 2", "nearest is 8"}},
      {8, "block=0", {"block", "'0'", "1 to 4096"}},
      {8, "block=-8", {"block", "'-8'", "1 to 4096"}},
      {8, "block=4097", {"block", "'4097'", "1 to 4096"}},
      {8, "block=2.5", {"block", "'2.5'", "whole number"}},
      {8, "block=", {"block", "''", "1 to 4096"}},
      {8, "proj_trace=locla", {"proj_trace", "'locla'", "did you mean 'local'"}},
      {8, "blcok=8", {"option", "'blcok'", "did you mean 'block'"}},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const sparc_cell_config config = {.kind = "rglru", .D = 3, .H = bad[i].H, .options = bad[i].options};
    sparc_cell *cell = (sparc_cell *)&cell;
    assert_int_equal(sparc_cell_create(&config, &cell), SPARC_INVALID);
    assert_null(cell);
    for (size_t w = 0; w < 3; w++)
      if (!strstr(sparc_error(), bad[i].words[w])) fail_msg("no \"%s\" in: %s", bad[i].words[w], sparc_error());
  }
}

static double stddev(size_t count, const float *values) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (double)values[i] * (double)values[i];
  return sqrt(sum / (double)count);
}

/* normal matrices by fan-in, no biases, radii of the transition at c r = 1 in their ring, one draw for both styles */
/* the ring bounds exp(-power softplus(Lambda)) */
static void check_initial_draws(const char *options, double power) {
  const sparc_cell_config config = {.kind = "rglru", .D = 16, .H = 512, .options = options};
  sparc_cell *cell;
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
  const size_t count = sparc_cell_sizes_of(cell).params;
  float *control = sparc_alloc(count * sizeof(float)), *other = sparc_alloc(count * sizeof(float));
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CONTROL, 7, NULL, control), SPARC_OK);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CLASSIFICATION, 7, NULL, other), SPARC_OK);
  assert_memory_equal(control, other, count * sizeof(float));

  for (size_t b = 0; b < cell->blocks; b++) {
    const sparc_block *block = &cell->block[b];
    const float *values = control + block->offset;
    const double spread = stddev(block->size, values);
    if (block->rank == 2) {
      assert_true(fabs(spread * sqrt((double)block->shape[1]) - 1) < 0.04);
    } else if (strcmp(block->name, "decay_logit") != 0) {
      assert_true(spread == 0);
    } else {
      double low = 1, high = 0, squares = 0;
      for (size_t j = 0; j < block->size; j++) {
        const double radius = pow(1 + exp((double)values[j]), -power);
        low = fmin(low, radius);
        high = fmax(high, radius);
        squares += radius * radius / (double)block->size;
      }
      /* the square is uniform: ends nearly reached, and its mean within five deviations of the sample's */
      assert_true(low > 0.9 - 1e-6 && low < 0.905 && high < 0.999 + 1e-6 && high > 0.998);
      assert_true(fabs(squares - (0.81 + 0.998001) / 2) < 5 * 0.188001 / sqrt(12.0 * (double)block->size));
    }
  }
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CONTROL, 8, NULL, other), SPARC_OK);
  assert_memory_not_equal(control, other, count * sizeof(float));
  sparc_free(control);
  sparc_free(other);
  sparc_cell_free(cell);
}

static void test_initial_draws(void **state) {
  (void)state;
  check_initial_draws("block=8", 1);
  check_initial_draws("block=8,ring=transition", 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_write_is_exact),
      cmocka_unit_test(test_first_write_ignores_retention),
      cmocka_unit_test(test_local_is_exact_without_a_past),
      cmocka_unit_test(test_local_differs_in_the_projection_alone),
      cmocka_unit_test(test_local_gradient_by_differences),
      cmocka_unit_test(test_traces_by_differences),
      cmocka_unit_test(test_wide_blocks),
      cmocka_unit_test(test_bounded_root),
      cmocka_unit_test(test_cancelling_overflow),
      cmocka_unit_test(test_extreme_parameters),
      cmocka_unit_test(test_extreme_inputs),
      cmocka_unit_test(test_nan_shows),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_initial_draws),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
