/* SPDX-License-Identifier: MIT */
/* test_sparc.c: what is particular to the SPARC cell: numerical care, initialisation, storage, optimiser groups. */
#include "support.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const sparc_block *block_of(const sparc_cell *cell, const char *name) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(blocks[i].name, name) == 0) return &blocks[i];
  fail_msg("no block %s", name);
  return NULL;
}

static size_t offset_of(const sparc_cell *cell, const char *name) { return block_of(cell, name)->offset; }

static sparc_cell *make(int D, int H, const char *options) {
  sparc_cell *cell;
  const sparc_cell_config config = {.kind = "sparc", .D = D, .H = H, .options = options};
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
  return cell;
}

/* ---- contraction ------------------------------------------------------------------------------- */

/* with no content a step from h = 1 returns lambda itself: it is strictly inside the unit circle */
static void test_contraction(void **state) {
  (void)state;
  enum { H = 4096, STEPS = 64 };
  sparc_cell *cell = make(1, H, NULL);
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  float *params = sparc_alloc(n.params * sizeof *params), *prepared = sparc_alloc(n.prepared * sizeof *prepared);
  float *h = sparc_alloc(n.state * sizeof *h), *tape = sparc_alloc(n.tape * sizeof *tape);
  sparc_random stream;
  sparc_random_init(&stream, 3, "contraction", "");
  for (int step = 0; step < STEPS; step++) {
    for (size_t j = 0; j < H; j++) {
      /* half of the modes are as persistent as float can represent, the rest range over everything */
      params[offset_of(cell, "log_decay") + j] =
          (float)(j % 2 ? -15 - 100 * sparc_random_uniform(&stream) : 40 * sparc_random_normal(&stream));
      params[offset_of(cell, "log_freq") + j] = (float)(3 * sparc_random_normal(&stream));
    }
    params[offset_of(cell, "ctrl_retention")] = (float)(3 * sparc_random_normal(&stream));
    params[offset_of(cell, "ctrl_phase")] = (float)(3 * sparc_random_normal(&stream));
    assert_int_equal(sparc_prepare(cell, params, prepared), SPARC_OK);
    for (size_t j = 0; j < H; j++) h[j] = 1, h[H + j] = 0;
    const float x = (float)sparc_random_normal(&stream);
    assert_int_equal(sparc_step(cell, prepared, h, &x, 1, NULL, tape), SPARC_OK);
    for (size_t j = 0; j < H; j++)
      if (!(hypot((double)h[j], (double)h[H + j]) < 1))
        fail_msg("|lambda| is %.9g for log_decay %g", hypot((double)h[j], (double)h[H + j]),
                 (double)params[offset_of(cell, "log_decay") + j]);
  }
  sparc_free(params);
  sparc_free(prepared);
  sparc_free(h);
  sparc_free(tape);
  sparc_cell_free(cell);
}

/* ---- range ------------------------------------------------------------------------------------- */

static void expect_no_nan(const problem *p, const char *what, const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (isnan(values[i])) fail_msg("%s[%zu] is NaN for %s", what, i, problem_text(p));
}

/* replaces about half of the parameters by extreme ones */
static void spoil_params(problem *p, sparc_random *stream) {
  const float extremes[] = {-FLT_MAX, -1e30f, -300, -80, -1e-30f, 0, 1e-30f, 80, 89, 300, 1e30f, FLT_MAX};
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p->cell, &count);
  for (size_t b = 0; b < count; b++) {
    /* weights that multiply inputs stay moderate: 1e30 times 1e38 is not a number that float can hold */
    if (strncmp(blocks[b].name, "content", 7) == 0 || strcmp(blocks[b].name, "ctrl_hidden") == 0) continue;
    for (size_t i = 0; i < blocks[b].size; i++)
      if (sparc_random_below(stream, 2))
        p->params[blocks[b].offset + i] = (double)extremes[sparc_random_below(stream, 12)];
  }
}

static void spoil_inputs(problem *p, sparc_random *stream) {
  const float inputs[] = {0, 1e-30f, 1, 1e10f, 1e30f, -1e30f};
  for (size_t i = 0; i < (size_t)(p->B * p->T * p->D); i++) p->x[i] = (double)inputs[sparc_random_below(stream, 6)];
}

/* any finite parameter, or inputs up to 1e30: no NaN; with bounded content and shared controls the forward pass
 * allows both at once. Gradients of linear content, and of both at once, can truly exceed what float holds. */
static void test_extreme_values(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 4, "extreme", "");
  for (int round = 0; round < 600; round++) {
    problem p = problem_random("sparc", &stream);
    const bool linear = strstr(sparc_cell_config_of(p.cell).options, "linear") != NULL;
    const bool shared = strstr(sparc_cell_config_of(p.cell).options, "unshared") == NULL; /* of one mode, too */
    const bool bounded = !linear && shared && block_of(p.cell, "ctrl_phase")->size == (size_t)p.D + 1;
    if (round % 3 != 0) spoil_params(&p, &stream);
    if (round % 3 == 0 || (round % 3 == 2 && bounded)) spoil_inputs(&p, &stream);
    result r = result_create(&p);
    run_sequence_f32(&p, NULL, true, &r);
    expect_no_nan(&p, "y", r.y, (size_t)(p.B * p.T) * p.n.output);
    if (round % 3 != 2 && !linear) {
      expect_no_nan(&p, "dx", r.dx, (size_t)(p.B * p.T * p.D));
      expect_no_nan(&p, "dstate0", r.dstate0, (size_t)p.B * p.n.state);
      expect_no_nan(&p, "dparams", r.dparams, p.n.params);
      run_rtrl_f32(&p, &r);
      expect_no_nan(&p, "RTRL dparams", r.dparams, p.n.params);
    }
    result_free(&r);
    problem_free(&p);
  }
}

/* a persistent mode's write sqrt((1 - e^-2e) / (1 - e^-2nu)) loses no digits to 1 - rho^2 */
static void test_small_decay(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 5, "small decay", "");
  const sparc_cell_config config = {.kind = "sparc", .D = 1, .H = 16}; /* one input: nothing cancels */
  for (int round = 0; round < 20; round++) {
    problem p = problem_create(&config, 1, 1, MASK_ZEROS, &stream);
    for (size_t j = 0; j < 16; j++) p.params[offset_of(p.cell, "log_decay") + j] = (double)(float)(-2.0 * (double)j);
    result got = result_create(&p), want = result_create(&p);
    run_sequence_f32(&p, NULL, true, &got);
    run_reference(&p, true, &want);
    for (size_t i = 0; i < p.n.output; i++) assert_true(fabs(got.y[i] - want.y[i]) <= 1e-6 * fabs(want.y[i]) + 1e-30);
    result_free(&got);
    result_free(&want);
    problem_free(&p);
  }
}

/* ---- initialisation ---------------------------------------------------------------------------- */

static void test_initialisation(void **state) {
  (void)state;
  enum { D = 64, H = 512 };
  sparc_cell *cell = make(D, H, NULL);
  const size_t size = sparc_cell_sizes_of(cell).params;
  float *a = sparc_alloc(size * sizeof *a), *b = sparc_alloc(size * sizeof *b);
  const struct {
    sparc_init_style style;
    double radius_min, radius_max, content_deviation, epsilon;
  } cases[] = {{SPARC_INIT_CONTROL, 0, 1, 1 / sqrt(D), 1e-8},
               {SPARC_INIT_CLASSIFICATION, 0.9, 0.999, 1 / sqrt(2.0 * D), 0},
               {SPARC_INIT_RELEASED, 0, 1, 1 / sqrt(2.0 * D), 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    assert_int_equal(sparc_cell_init(cell, cases[c].style, 7, "layer", a), SPARC_OK);
    const float *decay = a + offset_of(cell, "log_decay"), *freq = a + offset_of(cell, "log_freq");
    double mean_square = 0, content = 0;
    for (size_t j = 0; j < H; j++) {
      const double nu = exp((double)decay[j]), radius = exp(-nu), phase = exp((double)freq[j]);
      assert_true(radius >= cases[c].radius_min - 1e-6 && radius <= cases[c].radius_max + 1e-6);
      assert_true(phase > 0 && phase < 6.2832);
      mean_square += radius * radius / H;
      /* [eq:app_rl_gain_initialization], and without the epsilon for classification */
      const double gain = exp((double)a[offset_of(cell, "log_gain") + j]);
      assert_true(fabs(gain - sqrt(-expm1(-2 * nu)) - cases[c].epsilon) < 1e-6 * gain);
    }
    /* squared radii are uniform: the mean is the middle, within five standard errors */
    const double low = cases[c].radius_min * cases[c].radius_min, high = cases[c].radius_max * cases[c].radius_max;
    assert_true(fabs(mean_square - (low + high) / 2) < 5 * (high - low) / sqrt(12.0 * H));
    for (size_t i = 0; i < (size_t)D * H; i++)
      content += pow((double)a[offset_of(cell, "content_re") + i], 2) / (D * H);
    assert_true(fabs(sqrt(content) / cases[c].content_deviation - 1) < 0.02);
    /* controllers and gates start at zero */
    for (const char *const *name =
             (const char *const[]){"gate_phase", "gate_retention", "ctrl_retention", "ctrl_phase", NULL};
         *name; name++) {
      const size_t count = strncmp(*name, "gate", 4) == 0 ? H : D + 1;
      for (size_t i = 0; i < count; i++) assert_true(a[offset_of(cell, *name) + i] == 0);
    }
    /* the same seed and name give the same numbers, another name or seed gives others */
    sparc_cell_init(cell, cases[c].style, 7, "layer", b);
    assert_memory_equal(a, b, size * sizeof *a);
    sparc_cell_init(cell, cases[c].style, 7, "other", b);
    assert_true(a[offset_of(cell, "content_re")] != b[offset_of(cell, "content_re")]);
    sparc_cell_init(cell, cases[c].style, 8, "layer", b);
    assert_true(a[offset_of(cell, "content_re")] != b[offset_of(cell, "content_re")]);
  }
  sparc_free(a);
  sparc_free(b);
  sparc_cell_free(cell);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static void test_sizes_and_groups(void **state) {
  (void)state;
  sparc_cell *cell = make(64, 192, NULL);
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  assert_int_equal(n.params, 25666);                       /* 2HD + 5H + 2(D+1) */
  assert_int_equal(n.trace, 2 * (4 * 192 * 64 + 7 * 192)); /* 4HD + 7H complex [eq:app_trace_storage] */
  assert_int_equal(n.state, 384);
  size_t count;
  const sparc_span *spans = sparc_cell_spans(cell, &count);
  assert_int_equal(count, 1);
  assert_int_equal(spans[0].group, SPARC_RECURRENT);
  assert_int_equal(spans[0].size, n.params);
  sparc_cell_free(cell);

  cell = make(4, 8, "variant=frozen-gain");
  spans = sparc_cell_spans(cell, &count);
  assert_int_equal(count, 3);
  assert_int_equal(spans[1].group, SPARC_FROZEN);
  assert_int_equal(spans[1].offset, offset_of(cell, "log_gain"));
  assert_int_equal(spans[1].size, 8);
  sparc_cell_free(cell);

  /* unshared control: H controllers of each kind */
  cell = make(4, 8, "variant=unshared-control");
  assert_int_equal(sparc_cell_sizes_of(cell).params, 2 * 8 * 4 + 5 * 8 + 2 * 8 * 5);
  assert_int_equal(sparc_cell_sizes_of(cell).trace, 2 * (4 * 8 * 4 + 7 * 8));
  sparc_cell_free(cell);

  /* groups: as many of each kind */
  cell = make(4, 8, "groups=2");
  assert_int_equal(sparc_cell_sizes_of(cell).params, 2 * 8 * 4 + 5 * 8 + 2 * 2 * 5);
  assert_int_equal(sparc_cell_sizes_of(cell).trace, 2 * (4 * 8 * 4 + 7 * 8));
  assert_int_equal(trace_size(cell, "ctrl_phase"), 2 * 8 * 5);
  sparc_cell_free(cell);

  /* a hidden layer of 3: its rows and biases, and controllers of 3 inputs */
  cell = make(4, 8, "hidden=3");
  assert_int_equal(sparc_cell_sizes_of(cell).params, 2 * 8 * 4 + 5 * 8 + 2 * 4 + 3 * 5);
  assert_int_equal(sparc_cell_sizes_of(cell).trace, 2 * ((2 + 3) * 8 * 4 + (7 + 3 * 3) * 8));
  assert_int_equal(trace_size(cell, "ctrl_hidden"), 2 * 8 * 3 * 5);
  sparc_cell_free(cell);
}

/* y and all gradients of two cells, the second with its own form of the first's parameters; the same bits */
static void expect_equal_cells(const char *options, const char *twin_options) {
  sparc_random stream;
  sparc_random_init(&stream, 9, "groups", options);
  const sparc_cell_config config = {.kind = "sparc", .D = 5, .H = 12, .options = options};
  problem p = problem_create(&config, 3, 17, MASK_RANDOM, &stream), twin = p;
  result got = result_create(&p), want = result_create(&p);
  twin.cell = make(5, 12, twin_options);
  assert_int_equal(sparc_cell_sizes_of(twin.cell).params, p.n.params);
  run_sequence_f32(&p, NULL, true, &got);
  run_sequence_f32(&twin, NULL, true, &want);
  assert_memory_equal(got.y, want.y, (size_t)(p.B * p.T) * p.n.output * sizeof *got.y);
  assert_memory_equal(got.dx, want.dx, (size_t)(p.B * p.T * p.D) * sizeof *got.dx);
  assert_memory_equal(got.dparams, want.dparams, p.n.params * sizeof *got.dparams);
  run_rtrl_f32(&p, &got);
  run_rtrl_f32(&twin, &want);
  assert_memory_equal(got.dparams, want.dparams, p.n.params * sizeof *got.dparams);
  sparc_cell_free(twin.cell);
  result_free(&got);
  result_free(&want);
  problem_free(&p);
}

/* config.json and checkpoints store this text, and a resumed run must have the same: it may grow only by what is set */
static void test_stored_options_stay(void **state) {
  (void)state;
  static const char stored[] =
      "variant=full,content=tanh,kappa_r=2.7725887222397811,kappa_p=1.5707963267948966,"
      "projection=dense";
  sparc_cell *cell = make(3, 4, NULL), *grouped = make(3, 4, "groups=2");
  assert_string_equal(sparc_cell_config_of(cell).options, stored);
  assert_true(strncmp(sparc_cell_config_of(grouped).options, stored, strlen(stored)) == 0);
  assert_string_equal(sparc_cell_config_of(grouped).options + strlen(stored), ",groups=2");
  sparc_cell_free(cell);
  sparc_cell_free(grouped);
}

/* one group is the paper's cell, one for each mode its unshared control */
static void test_groups_at_the_ends(void **state) {
  (void)state;
  expect_equal_cells("groups=1", NULL);
  expect_equal_cells("groups=12", "variant=unshared-control");
  expect_equal_cells("variant=unshared-control,groups=12", "variant=unshared-control");
}

/* With equal controllers in all groups they are one: the same states, and gradients whose sum over the groups is that
 * of the shared controllers. */
static void test_equal_groups_are_one(void **state) {
  (void)state;
  enum { D = 5, H = 12, G = 4, B = 3, T = 17 };
  sparc_random stream;
  sparc_random_init(&stream, 10, "groups", "equal");
  problem one = problem_create(&(sparc_cell_config){.kind = "sparc", .D = D, .H = H}, B, T, MASK_RANDOM, &stream);
  problem many = one;
  many.cell = make(D, H, "groups=4");
  many.n = sparc_cell_sizes_of(many.cell);
  many.params = sparc_alloc(many.n.params * sizeof *many.params);
  const size_t controllers = offset_of(one.cell, "ctrl_retention");
  memcpy(many.params, one.params, controllers * sizeof *many.params);
  for (size_t c = 0; c < 2; c++)
    for (size_t g = 0; g < G; g++)
      memcpy(many.params + controllers + (c * G + g) * (D + 1), one.params + controllers + c * (D + 1),
             (D + 1) * sizeof *many.params);
  result a = result_create(&one), b = result_create(&many);
  run_sequence_f64(&one, NULL, true, &a);
  run_sequence_f64(&many, NULL, true, &b);
  expect_close(&many, "y", e_norm((size_t)(B * T) * one.n.output, b.y, a.y), 1e-13);
  for (size_t c = 0; c < 2; c++)
    for (size_t d = 0; d <= D; d++) {
      double sum = 0;
      for (size_t g = 0; g < G; g++) sum += b.dparams[controllers + (c * G + g) * (D + 1) + d];
      expect_close(&many, "sum of controller gradients",
                   fabs(sum - a.dparams[controllers + c * (D + 1) + d]) / fmax(1, fabs(sum)), 1e-11);
    }
  sparc_free(many.params);
  sparc_cell_free(many.cell);
  result_free(&a);
  result_free(&b);
  problem_free(&one);
}

/* transitions are recomputed: per token the forward keeps two controls beside the content it has to keep anyway */
static void test_two_controls_are_stored(void **state) {
  (void)state;
  enum { B = 4, T = 256, H = 128 };
  sparc_cell *cell = make(16, H, NULL);
  sparc_plan *plan;
  assert_int_equal(sparc_plan_create(cell, B, T, NULL, &plan), SPARC_OK);
  const size_t tokens = (size_t)B * T, content = tokens * 2 * H * sizeof(float);
  assert_int_equal(sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved - content, tokens * 8);
  sparc_plan_free(plan);
  sparc_cell_free(cell);

  /* without a projection x is the content, which is the caller's: 8 bytes a token are all, whatever the width */
  for (int modes = 32; modes <= 4 * H; modes *= 2) {
    cell = make(2 * modes, modes, "projection=none");
    assert_int_equal(sparc_plan_create(cell, B, T, NULL, &plan), SPARC_OK);
    assert_int_equal(sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved, tokens * 8);
    /* nor does backward's scratch have a transition per mode: two sums per token and tile of modes, and their total */
    const size_t short_work = sparc_plan_sizes_of(plan, SPARC_FLOAT32).work;
    sparc_plan_free(plan);
    assert_int_equal(sparc_plan_create(cell, B, 2 * T, NULL, &plan), SPARC_OK);
    assert_in_range(sparc_plan_sizes_of(plan, SPARC_FLOAT32).work - short_work, tokens * 8, tokens * 8 * (8 + 1));
    sparc_plan_free(plan);
    sparc_cell_free(cell);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contraction),
      cmocka_unit_test(test_extreme_values),
      cmocka_unit_test(test_small_decay),
      cmocka_unit_test(test_initialisation),
      cmocka_unit_test(test_stored_options_stay),
      cmocka_unit_test(test_sizes_and_groups),
      cmocka_unit_test(test_two_controls_are_stored),
      cmocka_unit_test(test_groups_at_the_ends),
      cmocka_unit_test(test_equal_groups_are_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
