/* SPDX-License-Identifier: MIT */
/* test_rollout.c: gradients of past steps: stored traces and recorded steps are each other's test, and both are
 * backpropagation through time where every step is an item. */
#include "support_rollout.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"sparc", "rtu", "lru", "rglru", "gateloop"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* all five cells and every rule of their tables of sinks; rows that fill no vector, one, and several */
static const sparc_cell_config configs[] = {
    {.kind = "sparc", .D = 7, .H = 9},
    {.kind = "sparc", .D = 64, .H = 33},
    {.kind = "sparc", .D = 5, .H = 3, .options = "variant=unshared-control"},
    {.kind = "sparc", .D = 6, .H = 5, .options = "variant=fixed-controls,content=linear"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=phase-only"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=retention-only"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=no-phase-clock"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=static-phase-clock"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=static-transition"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=neutral-gate"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=fixed-normalization"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=frozen-gain"},
    {.kind = "sparc", .D = 22, .H = 11, .options = "projection=none"},
    {.kind = "sparc", .D = 33, .H = 24, .options = "groups=4"},
    {.kind = "sparc", .D = 9, .H = 70, .options = "groups=7"},
    {.kind = "sparc", .D = 6, .H = 6, .options = "groups=3,variant=fixed-controls"},
    {.kind = "sparc", .D = 9, .H = 70, .options = "hidden=3"},
    {.kind = "sparc", .D = 12, .H = 6, .options = "hidden=2,projection=none"},
    {.kind = "rtu", .D = 7, .H = 9},
    {.kind = "rtu", .D = 96, .H = 70},
    {.kind = "lru", .D = 7, .H = 9},
    {.kind = "lru", .D = 33, .H = 20},
    {.kind = "rglru", .D = 7, .H = 9, .options = "block=3"},
    {.kind = "rglru", .D = 20, .H = 48, .options = "block=8"},
    {.kind = "rglru", .D = 9, .H = 12, .options = "block=4,proj_trace=local"},
    {.kind = "rglru", .D = 15, .H = 15, .options = "block=5,projection=none"},
    {.kind = "gateloop", .D = 7, .H = 9},
    {.kind = "gateloop", .D = 40, .H = 21, .options = "transition=complex"},
};
enum { CONFIGS = sizeof configs / sizeof *configs };

static sparc_random stream_of(const char *purpose, size_t config) {
  sparc_random stream;
  sparc_random_init(&stream, 1407 + config, purpose, "rollout");
  return stream;
}

/* max |got - want| over max |want|, block by block */
static double worst_block(const problem *p, const double *got, const double *want) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p->cell, &count);
  double worst = 0;
  for (size_t b = 0; b < count; b++) {
    double error = 0, scale = 1e-30;
    for (size_t i = blocks[b].offset; i < blocks[b].offset + blocks[b].size; i++) {
      if (isnan(got[i])) return INFINITY;
      if (fabs(got[i] - want[i]) > error) error = fabs(got[i] - want[i]);
      if (fabs(want[i]) > scale) scale = fabs(want[i]);
    }
    if (!(error / scale <= worst)) worst = error / scale;
  }
  return isnan(worst) ? INFINITY : worst;
}

static void expect_minibatch(const rollout *r, const char *what, const minibatch *got, const minibatch *want,
                             double tolerance) {
  char name[128];
  snprintf(name, sizeof name, "%s, dparams", what);
  expect_close(&r->p, name, worst_block(&r->p, got->dparams, want->dparams), tolerance);
  snprintf(name, sizeof name, "%s, dx", what);
  expect_close(&r->p, name, e_norm((size_t)r->n * (size_t)r->p.D, got->dx, want->dx), tolerance);
}

/* ---- stored traces ------------------------------------------------------------------------------- */

/* a batched gradient is the sum of single ones, in both precisions */
static void test_batch(void **unused) {
  (void)unused;
  for (size_t i = 0; i < CONFIGS; i++) {
    sparc_random stream = stream_of("batch", i);
    rollout r = rollout_create(&configs[i], 60, 1 + (int)i, 0.2, &stream);
    minibatch want = minibatch_create(&r), got = minibatch_create(&r);
    run_items_f64(&r, &want);
    run_batch_f64(&r, 2, &got);
    expect_minibatch(&r, "batch against items in double", &got, &want, 1e-12);
    run_batch_f32(&r, 2, &got);
    expect_minibatch(&r, "batch in float against items in double", &got, &want, 1e-4);
    run_items_f32(&r, &want);
    expect_minibatch(&r, "batch against items in float", &got, &want, 1e-4);
    minibatch_free(&want);
    minibatch_free(&got);
    rollout_free(&r);
  }
}

typedef void run_fn(const rollout *r, const record_options *options, minibatch *out);

static void batch_f32(const rollout *r, const record_options *o, minibatch *out) { run_batch_f32(r, o->threads, out); }
static void batch_f64(const rollout *r, const record_options *o, minibatch *out) { run_batch_f64(r, o->threads, out); }

static void expect_same_bits(const char *what, run_fn *run, record_options options) {
  static const int threads[] = {2, 3, 7, 16};
  for (size_t i = 0; i < CONFIGS; i++) {
    sparc_random stream = stream_of(what, i);
    rollout r = rollout_create(&configs[i], 50, 30, 0.2, &stream);
    if (options.symbols) rollout_draw_symbols(&r, 4, &stream);
    minibatch one = minibatch_create(&r), many = minibatch_create(&r);
    options.threads = 1;
    run(&r, &options, &one);
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
      options.threads = threads[k];
      run(&r, &options, &many);
      const bool same = memcmp(one.dparams, many.dparams, r.p.n.params * sizeof(double)) == 0 &&
                        memcmp(one.dx, many.dx, (size_t)(r.n * r.p.D) * sizeof(double)) == 0 &&
                        memcmp(one.dinput, many.dinput, (size_t)(r.p.T * r.p.D) * sizeof(double)) == 0;
      if (!same) fail_msg("%s: bits differ between 1 and %d threads for %s", what, threads[k], problem_text(&r.p));
    }
    minibatch_free(&one);
    minibatch_free(&many);
    rollout_free(&r);
  }
}

static void test_batch_threads(void **unused) {
  (void)unused;
  expect_same_bits("batch in float", batch_f32, (record_options){0});
  expect_same_bits("batch in double", batch_f64, (record_options){0});
}

static void test_batch_arguments(void **unused) {
  (void)unused;
  sparc_cell *cell, *gru;
  float some[4] = {0};
  const float *traces[1] = {NULL};
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 3, .H = 4}, &cell), SPARC_OK);
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "gru", .D = 3, .H = 4}, &gru), SPARC_OK);
  assert_int_equal(sparc_rtrl_sizes_of(gru, &(sparc_rtrl_shape){.n = 4}).batch_work, 0);
  assert_int_equal(sparc_rtrl_sizes_of(NULL, &(sparc_rtrl_shape){.n = 4}).batch_work, 0);
  assert_int_equal(sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.n = 0}).batch_work, 0);
  assert_int_equal(sparc_rtrl_batch_gradient(gru, some, 1, traces, some, some, some, NULL, NULL, some, 1),
                   SPARC_UNSUPPORTED);
  assert_int_equal(sparc_rtrl_batch_gradient(cell, some, 0, traces, some, some, some, NULL, NULL, some, 1),
                   SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "n is 0"));
  assert_int_equal(sparc_rtrl_batch_gradient(cell, some, 1, NULL, some, some, some, NULL, NULL, some, 1),
                   SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "traces"));
  assert_int_equal(sparc_rtrl_batch_gradient(cell, some, 1, traces, some, some, NULL, NULL, NULL, some, 1),
                   SPARC_INVALID);
  sparc_cell_free(cell);
  sparc_cell_free(gru);
}

/* ---- recorded steps ------------------------------------------------------------------------------ */

/* recorded steps against stored traces: resets, a boundary that is not zero, other parameters, in every form */
static void test_records(void **unused) {
  (void)unused;
  static const record_options forms[] = {{0},
                                         {.dinput = true},
                                         {.interval = 1},
                                         {.interval = 17},
                                         {.interval = 64, .dinput = true},
                                         {.symbols = true},
                                         {.symbols = true, .interval = 50},
                                         {.symbols = true, .dinput = true}};
  for (size_t i = 0; i < CONFIGS; i++) {
    sparc_random stream = stream_of("records", i);
    rollout r = rollout_create(&configs[i], 240, i % 3 ? 20 : 120, 0.2, &stream);
    rollout_draw_symbols(&r, 4, &stream);
    minibatch want = minibatch_create(&r), got = minibatch_create(&r), wide = minibatch_create(&r);
    run_batch_f64(&r, 1, &want);
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
      char what[96];
      snprintf(what, sizeof what, "interval %d%s%s", forms[k].interval, forms[k].symbols ? ", symbols" : "",
               forms[k].dinput ? ", dinput" : "");
      run_records_f64(&r, &forms[k], &wide);
      expect_minibatch(&r, what, &wide, &want, 1e-12);
      run_records_f32(&r, &forms[k], &got);
      expect_minibatch(&r, what, &got, &want, 1e-4);
      expect_close(&r.p, "dinput in float", e_norm((size_t)(r.p.T * r.p.D), got.dinput, wide.dinput), 1e-4);
    }
    run_batch_f32(&r, 1, &want);
    expect_minibatch(&r, "recorded steps against stored traces in float", &got, &want, 1e-4);
    minibatch_free(&want);
    minibatch_free(&got);
    minibatch_free(&wide);
    rollout_free(&r);
  }
}

static void test_records_threads(void **unused) {
  (void)unused;
  expect_same_bits("records in float", run_records_f32, (record_options){.dinput = true, .interval = 20});
  expect_same_bits("records of symbols in float", run_records_f32, (record_options){.symbols = true});
  expect_same_bits("records in double", run_records_f64, (record_options){.dinput = true});
}

/* the next boundary, and parts of the way to it */
static void test_boundary(void **unused) {
  (void)unused;
  static const int parts[][2] = {{0, 240}, {0, 0}, {0, 3}, {30, 120}, {239, 240}};
  for (size_t i = 0; i < CONFIGS; i++) {
    sparc_random stream = stream_of("boundary", i);
    rollout r = rollout_create(&configs[i], 240, 1, 0.2, &stream);
    const size_t trace = r.p.n.trace;
    double *got = sparc_alloc(trace * sizeof *got), *want = sparc_alloc(trace * sizeof *want);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
      run_boundary_f64(&r, parts[k][0], parts[k][1], got, want);
      expect_close(&r.p, "trace from records in double", e_norm(trace, got, want), 1e-13);
      run_boundary_f32(&r, parts[k][0], parts[k][1], got, want);
      expect_close(&r.p, "trace from records in float", e_norm(trace, got, want), 1e-5);
    }
    sparc_free(got);
    sparc_free(want);
    rollout_free(&r);
  }
}

/* all steps are items, in order, with the parameters and inputs of the rollout, and nothing came before it */
static rollout whole_rollout(const sparc_cell_config *config, sparc_random *stream) {
  const int T = 60;
  rollout r = rollout_create(config, T, T, 0, stream);
  memset(r.trace0, 0, r.p.n.trace * sizeof *r.trace0);
  memcpy(r.x, r.p.x, (size_t)(T * r.p.D) * sizeof *r.x);
  memcpy(r.dy, r.p.dy, (size_t)T * r.p.n.output * sizeof *r.dy);
  for (int t = 0; t < T; t++) r.steps[t] = t;
  return r;
}

/* o W^T through tanh is what the cell sees; d (D, O) += by its weights, for cotangents of the cell's inputs */
enum { OBSERVED = 3 };

static void encode(const rollout *r, const double *o, const double *W, double *x) {
  const size_t T = (size_t)r->p.T, D = (size_t)r->p.D;
  for (size_t t = 0; t < T; t++)
    for (size_t d = 0; d < D; d++) {
      double z = 0;
      for (size_t k = 0; k < OBSERVED; k++) z += W[d * OBSERVED + k] * o[t * OBSERVED + k];
      x[t * D + d] = tanh(z);
    }
}

static void encoder_gradient(const rollout *r, const double *o, const double *x, const double *dx, double *dW) {
  const size_t T = (size_t)r->p.T, D = (size_t)r->p.D;
  for (size_t i = 0; i < T * D; i++)
    for (size_t k = 0; k < OBSERVED; k++)
      dW[i % D * OBSERVED + k] += dx[i] * (1 - x[i] * x[i]) * o[i / D * OBSERVED + k];
}

/* with every step an item, both ways are backpropagation through time, and so is the gradient of an encoder */
static void test_whole_rollout(void **unused) {
  (void)unused;
  for (size_t i = 0; i < CONFIGS; i++) {
    if (configs[i].options && strstr(configs[i].options, "proj_trace=local")) continue; /* its gradient is another */
    sparc_random stream = stream_of("whole", i);
    rollout r = whole_rollout(&configs[i], &stream);
    const size_t count = (size_t)(r.p.T * r.p.D), weights = (size_t)r.p.D * OBSERVED;
    double o[60 * OBSERVED], *W = sparc_alloc(3 * weights * sizeof *W), *dW = W + weights, *dW_want = dW + weights;
    for (size_t k = 0; k < 60 * OBSERVED; k++) o[k] = sparc_random_normal(&stream);
    for (size_t k = 0; k < weights; k++) W[k] = sparc_random_normal(&stream);
    encode(&r, o, W, r.p.x);
    memcpy(r.x, r.p.x, count * sizeof *r.x);

    result want = result_create(&r.p);
    minibatch stored = minibatch_create(&r), recorded = minibatch_create(&r);
    run_sequence_f64(&r.p, NULL, false, &want);
    run_batch_f64(&r, 1, &stored);
    run_records_f64(&r, &(record_options){.dinput = true, .threads = 1}, &recorded);
    expect_close(&r.p, "stored traces against BPTT", worst_block(&r.p, stored.dparams, want.dparams), 1e-11);
    expect_close(&r.p, "recorded steps against BPTT", worst_block(&r.p, recorded.dparams, want.dparams), 1e-11);
    for (size_t k = 0; k < count; k++) recorded.dinput[k] += recorded.dx[k];
    encoder_gradient(&r, o, r.p.x, recorded.dinput, dW);
    encoder_gradient(&r, o, r.p.x, want.dx, dW_want);
    expect_close(&r.p, "inputs against BPTT", e_norm(count, recorded.dinput, want.dx), 1e-11);
    expect_close(&r.p, "encoder against BPTT", e_norm(weights, dW, dW_want), 1e-10);
    run_reference(&r.p, false, &want);
    expect_close(&r.p, "recorded steps against the reference", worst_block(&r.p, recorded.dparams, want.dparams), 1e-9);
    sparc_free(W);
    result_free(&want);
    minibatch_free(&stored);
    minibatch_free(&recorded);
    rollout_free(&r);
  }
}

/* a segment that starts at the first step drops what came before it, even what is not finite */
static void test_records_drop_the_past(void **unused) {
  (void)unused;
  for (size_t i = 0; i < CONFIGS; i++) {
    sparc_random stream = stream_of("drop", i);
    rollout r = rollout_create(&configs[i], 40, 40, 0.2, &stream);
    r.p.mask[0] = 0;
    minibatch want = minibatch_create(&r), got = minibatch_create(&r);
    run_records_f32(&r, &(record_options){.threads = 1}, &want);
    for (size_t k = 0; k < r.p.n.trace; k++) r.trace0[k] = NAN;
    run_records_f32(&r, &(record_options){.threads = 1}, &got);
    assert_memory_equal(got.dparams, want.dparams, r.p.n.params * sizeof(double));
    run_batch_f32(&r, 1, &got);
    expect_minibatch(&r, "a new segment", &got, &want, 1e-4);
    minibatch_free(&want);
    minibatch_free(&got);
    rollout_free(&r);
  }
}

/* at the sizes of the paper's locomotion tasks, 384 state coordinates: traces over records, the states aside */
static void test_memory_of_records(void **unused) {
  (void)unused;
  static const sparc_cell_config sizes[] = {{.kind = "sparc", .D = 64, .H = 192},
                                            {.kind = "rtu", .D = 64, .H = 192},
                                            {.kind = "lru", .D = 64, .H = 192},
                                            {.kind = "rglru", .D = 64, .H = 384},
                                            {.kind = "gateloop", .D = 64, .H = 192}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    sparc_cell *cell;
    assert_int_equal(sparc_cell_create(&sizes[i], &cell), SPARC_OK);
    const double traces = 2048 * (double)sparc_cell_sizes_of(cell).trace,
                 records = (double)sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.T = 2048}).records;
    print_message("%s: traces %.1f MB, records %.1f MB, ratio %.0f\n", sizes[i].kind, 4e-6 * traces, 4e-6 * records,
                  traces / records);
    assert_true(traces >= 40 * records);
    sparc_cell_free(cell);
  }
}

static void test_record_arguments(void **unused) {
  (void)unused;
  sparc_cell *cell, *gru;
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 3, .H = 4}, &cell), SPARC_OK);
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "gru", .D = 3, .H = 4}, &gru), SPARC_OK);
  float *some = sparc_alloc(4096 * sizeof *some);
  assert_int_equal(sparc_rtrl_sizes_of(gru, &(sparc_rtrl_shape){.T = 4}).records, 0);
  assert_int_equal(sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.T = 0}).records, 0);
  assert_int_equal(sparc_rtrl_sizes_of(gru, &(sparc_rtrl_shape){.T = 4, .n = 1}).record_work, 0);
  assert_int_equal(sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.T = 4, .n = 0}).record_work, 0);
  assert_true(sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.T = 4, .n = 2}).record_work <= 4096);
  assert_int_equal(sparc_record_step(cell, some, 4, 4, some), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "t is 4"));
  assert_int_equal(sparc_record_step(gru, some, 4, 0, some), SPARC_UNSUPPORTED);
  assert_int_equal(sparc_record_step(cell, NULL, 4, 0, some), SPARC_INVALID);

  const sparc_record_view good = {.T = 4, .prepared = some, .records = some, .states = some};
  const int symbol[4] = {0, 1, 2, 0};
  const struct {
    sparc_record_view view;
    int steps[2];
    const char *message;
  } wrong[] = {
      {{.T = 4, .records = some, .states = some}, {0, 1}, "prepared"},
      {{.T = 4, .prepared = some, .states = some}, {0, 1}, "records"},
      {{.T = 4, .prepared = some, .records = some}, {0, 1}, "states"},
      {{.prepared = some, .records = some, .states = some}, {0, 1}, "T is 0"},
      {{.T = 4, .prepared = some, .records = some, .states = some, .checkpoints = some}, {0, 1}, "interval"},
      {{.T = 4, .prepared = some, .records = some, .states = some, .symbol = symbol, .symbols = 2}, {0, 1}, "symbol"},
      {good, {0, 4}, "steps[1] is 4"},
      {good, {-1, 0}, "steps[0] is -1"},
      {good, {2, 2}, "distinct"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(sparc_record_gradient(cell, some, &wrong[i].view, 2, wrong[i].steps, some, some, some, NULL, NULL,
                                           NULL, some, 1),
                     SPARC_INVALID);
    if (!strstr(sparc_error(), wrong[i].message))
      fail_msg("'%s' does not contain '%s'", sparc_error(), wrong[i].message);
  }
  assert_int_equal(
      sparc_record_gradient(cell, some, &good, 0, wrong[0].steps, some, some, some, NULL, NULL, NULL, some, 1),
      SPARC_INVALID);
  assert_int_equal(sparc_record_boundary(cell, &good, 2, 5, some, some), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "2 and 5"));
  assert_int_equal(sparc_record_boundary(cell, &good, 0, 4, NULL, some), SPARC_INVALID);
  assert_int_equal(sparc_record_boundary(gru, &good, 0, 4, some, some), SPARC_UNSUPPORTED);
  sparc_free(some);
  sparc_cell_free(cell);
  sparc_cell_free(gru);
}

/* ---- the input Jacobian -------------------------------------------------------------------------- */

/* central differences of the state by the input, in double */
static void numeric_jacobian(const problem *p, double mask, double *jacobian) {
  const size_t D = (size_t)p->D, S = p->n.state;
  const double step = 1e-6;
  double *x = sparc_alloc(D * sizeof *x), *up = sparc_alloc(S * sizeof *up), *down = sparc_alloc(S * sizeof *down);
  for (size_t d = 0; d < D; d++) {
    memcpy(x, p->x, D * sizeof *x);
    x[d] = p->x[d] + step;
    run_jacobian_f64(p, x, mask, up, NULL);
    x[d] = p->x[d] - step;
    run_jacobian_f64(p, x, mask, down, NULL);
    for (size_t i = 0; i < S; i++) jacobian[i * D + d] = (up[i] - down[i]) / (2 * step);
  }
  sparc_free(x);
  sparc_free(up);
  sparc_free(down);
}

static void expect_jacobian(const problem *p, double mask) {
  const size_t count = p->n.state * (size_t)p->D;
  double *want = sparc_alloc(count * sizeof *want), *got = sparc_alloc(count * sizeof *got);
  double *state = sparc_alloc(p->n.state * sizeof *state);
  numeric_jacobian(p, mask, want);
  run_jacobian_f64(p, p->x, mask, state, got);
  expect_close(p, "input Jacobian in double against differences", e_norm(count, got, want), 1e-8);
  run_jacobian_f32(p, p->x, mask, state, want);
  expect_close(p, "input Jacobian in float against double", e_norm(count, want, got), 2e-5);
  sparc_free(want);
  sparc_free(got);
  sparc_free(state);
}

static void test_input_jacobian(void **unused) {
  (void)unused;
  enum { PROBLEMS = 60 };
  const uint64_t seed = 1407;
  print_message("seed %llu\n", (unsigned long long)seed);
  for (size_t k = 0; k < KINDS; k++) {
    sparc_random stream;
    sparc_random_init(&stream, seed, "jacobian", kinds[k]);
    for (int i = 0; i < PROBLEMS; i++) {
      problem p = problem_random(kinds[k], &stream);
      expect_jacobian(&p, i % 4 != 0);
      problem_free(&p);
    }
  }
}

/* no trace covers the content here */
static void test_input_jacobian_of_local_content(void **unused) {
  (void)unused;
  sparc_random stream;
  sparc_random_init(&stream, 7, "jacobian", "local");
  problem p =
      problem_create(&(sparc_cell_config){.kind = "rglru", .D = 5, .H = 12, .options = "block=4,proj_trace=local"}, 1,
                     1, MASK_NONE, &stream);
  expect_jacobian(&p, 1);
  problem_free(&p);
}

static void test_input_jacobian_arguments(void **unused) {
  (void)unused;
  sparc_cell *gru;
  float some[4] = {0};
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "gru", .D = 3, .H = 4}, &gru), SPARC_OK);
  assert_int_equal(sparc_input_jacobian(gru, some, some, some), SPARC_UNSUPPORTED);
  assert_int_equal(sparc_input_jacobian(NULL, some, some, some), SPARC_INVALID);
  assert_int_equal(sparc_input_jacobian(gru, some, some, NULL), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "jacobian"));
  sparc_cell_free(gru);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_batch),
      cmocka_unit_test(test_batch_threads),
      cmocka_unit_test(test_batch_arguments),
      cmocka_unit_test(test_records),
      cmocka_unit_test(test_records_threads),
      cmocka_unit_test(test_boundary),
      cmocka_unit_test(test_whole_rollout),
      cmocka_unit_test(test_records_drop_the_past),
      cmocka_unit_test(test_memory_of_records),
      cmocka_unit_test(test_record_arguments),
      cmocka_unit_test(test_input_jacobian),
      cmocka_unit_test(test_input_jacobian_of_local_content),
      cmocka_unit_test(test_input_jacobian_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
