/* SPDX-License-Identifier: MIT */
/* test_loops.c: cells whose state passes through more than a diagonal (GRU, Mamba-3) run their own time loops. Here is
 * what those loops owe beyond the identities of test_cells.c: shapes that fill several tiles, every gradient on its
 * own, truncated backpropagation in place of RTRL, and no NaN from extreme numbers.
 */
#include "support.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *kind;
  int H;
  const char *options;
} cells[] = {
    {"gru", 70, NULL},
    {"mamba3", 1, "heads=3,head_dim=21,state=5,angles=1,decay=softplus"},
    {"mamba3", 1, "heads=2,head_dim=16,state=6"},
};
enum { CELLS = sizeof cells / sizeof *cells };

static problem make(size_t cell, int D, int B, int T, mask_kind mask, sparc_random *stream) {
  const sparc_cell_config config = {
      .kind = cells[cell].kind, .D = D, .H = cells[cell].H, .options = cells[cell].options};
  return problem_create(&config, B, T, mask, stream);
}

/* ---- tiles ------------------------------------------------------------------------------------- */

/* more streams than a block or a group of blocks, more steps than a chunk, more tokens than a tile, more rows than a
 * row tile, none of them a multiple */
static const struct {
  int D, B, T;
  mask_kind mask;
} shapes[] = {{3, 19, 17, MASK_RANDOM}, {67, 2, 150, MASK_NONE},  {5, 1, 300, MASK_RANDOM},
              {2, 300, 1, MASK_ONES},   {3, 5, 100, MASK_RANDOM}, {2, 41, 20, MASK_RANDOM}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_tiles(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 1, "tiles", "");
  for (size_t i = 0; i < (size_t)CELLS * SHAPES; i++) {
    const size_t s = i % SHAPES;
    problem p = make(i / SHAPES, shapes[s].D, shapes[s].B, shapes[s].T, shapes[s].mask, &stream);
    result want = result_create(&p), got = result_create(&p);
    run_reference(&p, true, &want);
    run_sequence_f64(&p, NULL, true, &got);
    expect_same_sequence(&p, "double against the reference", &got, &want, 1e-12, 1e-12);
    run_sequence_f32(&p, NULL, true, &got);
    expect_same_sequence(&p, "float against the reference", &got, &want, 3e-6, 1e-5);
    result_free(&want);
    result_free(&got);
    problem_free(&p);
  }
}

static void test_threads(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 2, "threads", "");
  const int threads[] = {2, 3, 7, 16};
  for (size_t i = 0; i < (size_t)CELLS * SHAPES; i++) {
    const size_t s = i % SHAPES;
    problem p = make(i / SHAPES, shapes[s].D, shapes[s].B, shapes[s].T, shapes[s].mask, &stream);
    const size_t B = (size_t)p.B, tokens = B * (size_t)p.T;
    result one = result_create(&p), many = result_create(&p);
    run_sequence_f32(&p, &(sparc_plan_config){.threads = 1}, true, &one);
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
      run_sequence_f32(&p, &(sparc_plan_config){.threads = threads[k]}, true, &many);
      assert_memory_equal(one.y, many.y, tokens * p.n.output * sizeof(double));
      assert_memory_equal(one.state_last, many.state_last, B * p.n.state * sizeof(double));
      assert_memory_equal(one.dx, many.dx, tokens * (size_t)p.D * sizeof(double));
      assert_memory_equal(one.dstate0, many.dstate0, B * p.n.state * sizeof(double));
      assert_memory_equal(one.dparams, many.dparams, p.n.params * sizeof(double));
    }
    result_free(&one);
    result_free(&many);
    problem_free(&p);
  }
}

/* ---- gradients on their own -------------------------------------------------------------------- */

static float *narrow(const double *values, size_t count) {
  float *out = sparc_alloc(count * sizeof *out);
  for (size_t i = 0; i < count; i++) out[i] = (float)values[i];
  return out;
}

/* dx, dstate0 and dparams may each be left out; what remains has the same bits; dparams is added to */
static void test_requested_gradients(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 3, "wanted", "");
  for (size_t cell = 0; cell < CELLS; cell++) {
    problem p = make(cell, 4, 3, 9, MASK_RANDOM, &stream);
    const size_t tokens = (size_t)(p.B * p.T), inputs = tokens * (size_t)p.D, states = (size_t)p.B * p.n.state;
    sparc_plan *plan;
    assert_int_equal(sparc_plan_create(p.cell, p.B, p.T, NULL, &plan), SPARC_OK);
    void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved),
         *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).work);
    float *params = narrow(p.params, p.n.params), *prepared = sparc_alloc(p.n.prepared * sizeof *prepared);
    float *x = narrow(p.x, inputs), *mask = narrow(p.mask, tokens), *dy = narrow(p.dy, tokens * p.n.output);
    float *y = sparc_alloc(tokens * p.n.output * sizeof *y);
    assert_int_equal(sparc_prepare(p.cell, params, prepared), SPARC_OK);
    const sparc_sequence io = {.x = x, .mask = mask, .y = y};
    assert_int_equal(sparc_forward(plan, prepared, &io, saved, work), SPARC_OK);

    const size_t counts[3] = {inputs, states, p.n.params};
    float *all[3], *alone[3];
    for (size_t i = 0; i < 3; i++) all[i] = sparc_alloc(counts[i] * sizeof(float));
    for (size_t i = 0; i < 3; i++) alone[i] = sparc_alloc(counts[i] * sizeof(float));
    sparc_sequence_gradient gradient = {.dy = dy, .dx = all[0], .dstate0 = all[1], .dparams = all[2]};
    assert_int_equal(sparc_backward(plan, prepared, &io, saved, &gradient, work), SPARC_OK);
    for (size_t i = 0; i < 3; i++) {
      gradient = (sparc_sequence_gradient){.dy = dy};
      *(float **[]){&gradient.dx, &gradient.dstate0, &gradient.dparams}[i] = alone[i];
      memset(work, 0xff,
             sparc_plan_sizes_of(plan, SPARC_FLOAT32).work); /* NaN, lest it leans on what the run before has left */
      assert_int_equal(sparc_backward(plan, prepared, &io, saved, &gradient, work), SPARC_OK);
      assert_memory_equal(alone[i], all[i], counts[i] * sizeof(float));
    }
    assert_int_equal(sparc_backward(plan, prepared, &io, saved, &gradient, work), SPARC_OK);
    for (size_t i = 0; i < p.n.params; i++) {
      const double twice = 2 * (double)all[2][i];
      assert_true(fabs((double)alone[2][i] - twice) <= 1e-5 * fmax(1, fabs(twice)));
    }

    void *blocks[] = {saved, work,   params, prepared, x,        mask,     dy,
                      y,     all[0], all[1], all[2],   alone[0], alone[1], alone[2]};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
    sparc_plan_free(plan);
    problem_free(&p);
  }
}

/* ---- truncated backpropagation ----------------------------------------------------------------- */

/* the state before every window, (B, windows, S), by the reference */
static double *window_states(const problem *p, int length) {
  const size_t windows = (size_t)(p->T / length), S = p->n.state;
  double *states = sparc_alloc((size_t)p->B * windows * S * sizeof *states);
  for (size_t w = 0; w < windows; w++) {
    for (size_t b = 0; b < (size_t)p->B; b++) {
      double *out = states + (b * windows + w) * S;
      if (w == 0) {
        if (p->state0) memcpy(out, p->state0 + b * S, S * sizeof *out);
        continue;
      }
      problem prefix = *p;
      prefix.B = 1;
      prefix.T = (int)w * length;
      prefix.x += b * (size_t)(p->T * p->D);
      prefix.dy += b * (size_t)p->T * p->n.output;
      if (p->mask) prefix.mask += b * (size_t)p->T;
      if (p->state0) prefix.state0 += b * S;
      result r = result_create(&prefix);
      run_reference(&prefix, false, &r);
      memcpy(out, r.state_last, S * sizeof *out);
      result_free(&r);
    }
  }
  return states;
}

/* Windows of one stream follow each other in memory, so B streams of T steps are B T / L streams of L steps: one call
 * trains on all of them, from stored states. Its gradients are those of full backpropagation window by window. */
static void expect_windows(const problem *p, int length, result *got) {
  problem windows = *p;
  windows.B = p->B * p->T / length;
  windows.T = length;
  windows.state0 = window_states(p, length);
  windows.dstate_last = NULL;
  run_sequence_f64(&windows, NULL, false, got);

  result sum = result_create(&windows);
  for (int w = 0; w < windows.B; w++) {
    problem one = windows;
    one.B = 1;
    one.x += (size_t)(w * length * p->D);
    one.dy += (size_t)(w * length) * p->n.output;
    if (one.mask) one.mask += w * length;
    one.state0 += (size_t)w * p->n.state;
    result r = result_create(&one);
    run_reference(&one, false, &r);
    for (size_t i = 0; i < p->n.params; i++) sum.dparams[i] += r.dparams[i];
    memcpy(sum.dx + w * length * p->D, r.dx, (size_t)(length * p->D) * sizeof(double));
    result_free(&r);
  }
  expect_same_blocks(p, "windows", got->dparams, sum.dparams, 1e-11);
  expect_close(p, "windows, dx", e_norm((size_t)(p->B * p->T * p->D), got->dx, sum.dx), 1e-11);
  sparc_free(windows.state0);
  result_free(&sum);
}

static void test_truncated_backpropagation(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 4, "windows", "");
  for (size_t cell = 0; cell < CELLS; cell++) {
    problem p = make(cell, 5, 3, 12, cell % 2 ? MASK_NONE : MASK_RANDOM, &stream);
    result whole = result_create(&p);
    run_reference(&p, false, &whole);
    for (int length = 1; length <= 12; length++) {
      if (p.T % length) continue;
      problem windows = p;
      windows.B = p.B * p.T / length;
      result got = result_create(&windows);
      expect_windows(&p, length, &got);
      /* one window as long as the sequence is full backpropagation, shorter ones are something else */
      const double apart = e_norm(p.n.params, got.dparams, whole.dparams);
      if (length == p.T)
        expect_close(&p, "one window", apart, 1e-11);
      else
        assert_true(apart > 1e-6);
      result_free(&got);
    }
    result_free(&whole);
    problem_free(&p);
  }
}

static void test_no_rtrl(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 5, "rtrl", "");
  for (size_t cell = 0; cell < CELLS; cell++) {
    problem p = make(cell, 2, 1, 1, MASK_NONE, &stream);
    float *prepared = sparc_alloc(p.n.prepared * sizeof *prepared), *tape = sparc_alloc(p.n.tape * sizeof *tape);
    float *h = sparc_alloc(p.n.state * sizeof *h), *y = sparc_alloc(p.n.output * sizeof *y), x[2] = {0}, trace[1];
    assert_int_equal(p.n.trace, 0);
    assert_int_equal(sparc_step_rtrl(p.cell, prepared, h, trace, x, 1, y, tape), SPARC_UNSUPPORTED);
    assert_non_null(strstr(sparc_error(), cells[cell].kind));
    assert_non_null(strstr(sparc_error(), "sparc_backward"));
    assert_int_equal(sparc_rtrl_gradient(p.cell, prepared, trace, tape, y, NULL, NULL), SPARC_UNSUPPORTED);
    assert_non_null(strstr(sparc_error(), "sparc_backward"));
    /* nor a chunked scan */
    sparc_plan *plan;
    assert_int_equal(sparc_plan_create(p.cell, 1, 8, &(sparc_plan_config){.chunk = 4}, &plan), SPARC_UNSUPPORTED);
    sparc_free(prepared);
    sparc_free(tape);
    sparc_free(h);
    sparc_free(y);
    problem_free(&p);
  }
}

/* ---- range ------------------------------------------------------------------------------------- */

static void spoil(double *values, size_t count, const float *extremes, size_t choices, sparc_random *stream) {
  for (size_t i = 0; i < count; i++)
    if (sparc_random_below(stream, 2)) values[i] = (double)extremes[sparc_random_below(stream, (uint32_t)choices)];
}

static void expect_finite(const problem *p, const char *what, const result *r) {
  for (size_t i = 0; i < (size_t)(p->B * p->T) * p->n.output; i++)
    if (!isfinite(r->y[i])) fail_msg("%s: y[%zu] is %g for %s", what, i, r->y[i], problem_text(p));
  for (size_t i = 0; i < (size_t)p->B * p->n.state; i++)
    if (!isfinite(r->state_last[i]))
      fail_msg("%s: state_last[%zu] is %g for %s", what, i, r->state_last[i], problem_text(p));
}

/* any finite parameters, or inputs up to 1e30: every output is finite, from steps and from sequences */
static void test_extreme_values(void **state) {
  (void)state;
  const float params[] = {-FLT_MAX, -1e30f, -300, -80, -1e-30f, 0, 1e-30f, 80, 89, 300, 1e30f, FLT_MAX};
  const float inputs[] = {0, 1e-30f, 1e10f, 1e30f, -1e30f};
  sparc_random stream;
  sparc_random_init(&stream, 6, "extreme", "");
  for (int round = 0; round < 600; round++) {
    const sparc_cell_config wide = {.kind = "mamba3", .D = 5, .H = 1, .options = "heads=2,head_dim=3,state=96"};
    problem p = round % 3 == 2 ? problem_create(&wide, 1, 9, MASK_RANDOM, &stream)
                               : problem_random(round % 3 ? "mamba3" : "gru", &stream);
    if (round % 2)
      spoil(p.params, p.n.params, params, sizeof params / sizeof *params, &stream);
    else
      spoil(p.x, (size_t)(p.B * p.T * p.D), inputs, sizeof inputs / sizeof *inputs, &stream);
    result r = result_create(&p);
    run_sequence_f32(&p, NULL, true, &r);
    expect_finite(&p, "sequence", &r);
    run_steps_f32(&p, &r);
    expect_finite(&p, "steps", &r);
    result_free(&r);
    problem_free(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_requested_gradients),
      cmocka_unit_test(test_truncated_backpropagation),
      cmocka_unit_test(test_no_rtrl),
      cmocka_unit_test(test_extreme_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
