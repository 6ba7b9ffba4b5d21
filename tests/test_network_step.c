/* SPDX-License-Identifier: MIT */
/* test_network_step.c: networks one input at a time: steps are the sequence call, many streams are single ones to the
 * bit, the gradients of exact sensitivities sum up to those of the sequence, and what is refused. */
#include "base/random.h"
#include "nn/network_step_impl.h"
#include "support.h"
#include "support_network.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- steps and sequences ----------------------------------------------------------------------- */

static void expect_close_to(const trial *t, const char *what, size_t n, const double *got, const double *want,
                            double tolerance) {
  const double error = e_norm(n, got, want);
  if (!(error <= tolerance)) fail_msg("%s: %s differs by %.3g, allowed %.3g", t->text, what, error, tolerance);
}

/* a long trial with some resets; one stream has none */
static trial make_long_trial(const sparc_network_config *config, int T) {
  trial t = make_trial(config, 2, T, WITH_MASK | WITH_STATE0 | WITH_STATE_LAST);
  for (int i = 0; i < t.B * T; i++) t.mask[i] = i >= T || (i != T / 7 && i != T / 2 && i != T - T / 5);
  return t;
}

/* outputs and states after 1,000 inputs, in float to the cells' 2e-5 and in double to 1e-12 */
static void check_steps(const sparc_network_config *config) {
  trial t = make_long_trial(config, 1000);
  outcome steps = make_outcome(&t), whole = make_outcome(&t);
  run_network_f64(&t, 1, &whole);
  run_network_steps_f64(&t, true, 1, &steps);
  expect_close_to(&t, "output of steps in double", t.outputs, steps.output, whole.output, 1e-12);
  expect_close_to(&t, "state after steps in double", (size_t)t.B * t.n.state, steps.state_last, whole.state_last,
                  1e-12);
  run_network_f32(&t, 1, &whole);
  run_network_steps_f32(&t, true, 1, &steps);
  expect_close_to(&t, "output of steps", t.outputs, steps.output, whole.output, 2e-5);
  expect_close_to(&t, "state after steps", (size_t)t.B * t.n.state, steps.state_last, whole.state_last, 2e-5);
  free_outcome(&steps);
  free_outcome(&whole);
  free_trial(&t);
}

static void test_steps_are_the_sequence(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    const sparc_network_config policy = policy_config(*kind), bare = many_heads_config(*kind, 0);
    const sparc_network_config deep = many_heads_config(*kind, 2);
    check_steps(&policy);
    check_steps(&bare);
    check_steps(&deep);
  }
}

/* the second half starts from the first half's state: the mean over time, too, is that of the whole */
static void test_sequences_in_halves(void **state) {
  (void)state;
  enum { B = 2, T = 24 };
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    const sparc_network_config config = many_heads_config(*kind, 2);
    trial t = make_trial(&config, B, T, WITH_MASK | WITH_STATE0 | WITH_STATE_LAST);
    trial half = make_trial(&config, B, T / 2, WITH_MASK | WITH_STATE0 | WITH_STATE_LAST);
    outcome whole = make_outcome(&t), part = make_outcome(&half);
    run_network_f64(&t, 1, &whole);
    memcpy(half.p, t.p, t.n.params * sizeof *t.p);
    for (int h = 0; h < 2; h++) {
      for (int b = 0; b < B; b++) {
        const size_t from = (size_t)(b * T + h * T / 2), to = (size_t)(b * T / 2);
        memcpy(half.x + to * TRIAL_INPUTS, t.x + from * TRIAL_INPUTS, (size_t)(T / 2) * TRIAL_INPUTS * sizeof *t.x);
        memcpy(half.mask + to, t.mask + from, (size_t)(T / 2) * sizeof *t.mask);
      }
      memcpy(half.state0, h ? part.state_last : t.state0, B * t.n.state * sizeof *t.state0);
      run_network_f64(&half, 1, &part);
    }
    expect_close_to(&t, "state after halves", B * t.n.state, part.state_last, whole.state_last, 1e-12);
    for (int i = 0; i < config.heads; i++)
      if (config.head[i].input != SPARC_HEAD_STEPS)
        expect_close_to(&t, config.head[i].name, (size_t)(B * config.head[i].outputs), part.output + half.first[i],
                        whole.output + t.first[i], 1e-12);
    free_outcome(&whole);
    free_outcome(&part);
    free_trial(&t);
    free_trial(&half);
  }
}

static void test_streams_change_no_bit(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 3, 8, 16};
  void (*const run[])(const trial *, bool, int, outcome *) = {run_network_steps_f32, run_network_steps_f64};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_network_config configs[] = {policy_config(*kind), many_heads_config(*kind, 0), many_heads_config(*kind, 2)};
    configs[0].width = configs[2].width = 21;
    for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
      trial t = make_trial(&configs[c], 29, 5, WITH_MASK | WITH_STATE0);
      outcome want = make_outcome(&t), got = make_outcome(&t);
      for (size_t precision = 0; precision < 2; precision++) {
        run[precision](&t, false, 1, &want);
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
          run[precision](&t, true, threads[i], &got);
          if (memcmp(got.output, want.output, t.outputs * sizeof *got.output) != 0 ||
              memcmp(got.state_last, want.state_last, (size_t)t.B * t.n.state * sizeof *got.state_last) != 0)
            fail_msg("%s: %d threads give other bits than single streams", t.text, threads[i]);
        }
      }
      free_outcome(&want);
      free_outcome(&got);
      free_trial(&t);
    }
  }
}

/* ---- exact sensitivities ------------------------------------------------------------------------- */

static bool is_encoder(const char *block) {
  return strncmp(block, "embed.", 6) == 0 || strstr(block, ".norm.") != NULL;
}

typedef enum block_choice { ALL_BLOCKS, ENCODER_BLOCKS, OTHER_BLOCKS } block_choice;

/* gradients block by block, relative to the largest of the block or 1 */
static void expect_blocks(const trial *t, const char *what, block_choice choice, const double *got, const double *want,
                          double tolerance) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(t->network, &blocks);
  for (size_t b = 0; b < blocks; b++) {
    if (choice != ALL_BLOCKS && is_encoder(block[b].name) != (choice == ENCODER_BLOCKS)) continue;
    char text[96];
    snprintf(text, sizeof text, "%s, %s", what, block[b].name);
    expect_close_to(t, text, block[b].size, got + block[b].offset, want + block[b].offset, tolerance);
  }
}

/* The gradient with every carried state held fixed: the backward over sequences of one step, which start from the
 * states that the stepwise run goes through. */
static void local_gradient(const trial *t, const double *doutput, outcome *o) {
  const size_t state = t->n.state, C = (size_t)t->config.inputs;
  double *prepared = sparc_alloc(t->n.prepared * sizeof *prepared), *tape = sparc_alloc(t->n.tape * sizeof *tape);
  double *y = sparc_alloc(t->n.outputs * sizeof *y), *dy = sparc_alloc(t->n.outputs * sizeof *dy);
  double *now = sparc_alloc(state * sizeof *now);
  sparc_network_plan *plan;
  assert_int_equal(sparc_network_plan_create(t->network, 1, 1, 1, &plan), SPARC_OK);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT64));
  assert_int_equal(sparc_network_prepare_f64(t->network, t->p, prepared), SPARC_OK);
  memset(o->dparams, 0, t->n.params * sizeof *o->dparams);
  for (int b = 0; b < t->B; b++) {
    memcpy(now, t->state0 + (size_t)b * state, state * sizeof *now);
    for (int s = 0; s < t->T; s++) {
      const size_t at = (size_t)(b * t->T + s);
      double *outputs[TRIAL_HEADS];
      const double *doutputs[TRIAL_HEADS];
      size_t first = 0;
      for (int i = 0; i < t->config.heads; first += (size_t)t->config.head[i++].outputs) {
        const sparc_head_config *head = &t->config.head[i];
        const bool constant = head->input == SPARC_HEAD_CONSTANT;
        outputs[i] = y + first;
        doutputs[i] = doutput + t->first[i] + (constant ? 0 : at * (size_t)head->outputs);
        if (constant && at > 0) doutputs[i] = NULL;
      }
      const sparc_network_sequence_f64 sequence = {
          .x = t->x + at * C, .mask = t->mask + at, .state0 = now, .outputs = outputs};
      const sparc_network_gradient_f64 gradient = {.doutputs = doutputs, .dx = o->dx + at * C, .dparams = o->dparams};
      assert_int_equal(sparc_network_forward_f64(plan, prepared, &sequence, work), SPARC_OK);
      assert_int_equal(sparc_network_backward_f64(plan, prepared, &sequence, &gradient, work), SPARC_OK);
      assert_int_equal(sparc_network_step_f64(t->network, prepared, 1, now, t->x + at * C, t->mask + at, NULL, tape, 1),
                       SPARC_OK);
    }
  }
  void *memory[] = {prepared, tape, y, dy, now, work};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_network_plan_free(plan);
}

/* Before the cell: the local gradient of every step, or, exact, that of the sequence. After it and inside: that
 * of the sequence. States start from zeros, because a trace of zeros means no dependence on parameters. */
static void check_rtrl(const sparc_network_config *config) {
  trial t = make_trial(config, 2, 40, WITH_MASK | WITH_STATE0);
  outcome whole = make_outcome(&t), online = make_outcome(&t), local = make_outcome(&t);
  double *doutput = sparc_alloc(t.outputs * sizeof *doutput);
  run_network_f64(&t, 1, &whole);
  trial_loss(&t, whole.output, whole.state_last, doutput);
  local_gradient(&t, doutput, &local);

  run_network_rtrl_f64(&t, SPARC_ENCODER_LOCAL, doutput, &online);
  expect_close_to(&t, "output of RTRL steps", t.outputs, online.output, whole.output, 1e-12);
  expect_blocks(&t, "local", OTHER_BLOCKS, online.dparams, whole.dparams, 1e-10);
  expect_blocks(&t, "local", ENCODER_BLOCKS, online.dparams, local.dparams, 1e-10);
  expect_close_to(&t, "local dx", (size_t)(t.B * t.T * TRIAL_INPUTS), online.dx, local.dx, 1e-10);
  run_network_rtrl_f32(&t, SPARC_ENCODER_LOCAL, doutput, &online);
  expect_blocks(&t, "local, float", OTHER_BLOCKS, online.dparams, whole.dparams, 1e-4);
  expect_blocks(&t, "local, float", ENCODER_BLOCKS, online.dparams, local.dparams, 1e-4);

  if (t.n.trace_exact) {
    run_network_rtrl_f64(&t, SPARC_ENCODER_EXACT, doutput, &online);
    expect_blocks(&t, "exact", ALL_BLOCKS, online.dparams, whole.dparams, 1e-10);
    expect_close_to(&t, "exact, dx", (size_t)(t.B * t.T * TRIAL_INPUTS), online.dx, local.dx, 1e-10);
    run_network_rtrl_f32(&t, SPARC_ENCODER_EXACT, doutput, &online);
    expect_blocks(&t, "exact, float", ALL_BLOCKS, online.dparams, whole.dparams, 1e-4);
  }
  outcome *all[] = {&whole, &online, &local};
  for (size_t i = 0; i < 3; i++) free_outcome(all[i]);
  sparc_free(doutput);
  free_trial(&t);
}

static void test_rtrl_sums_up_to_the_sequence(void **state) {
  (void)state;
  int tried = 0;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_network_config configs[] = {policy_config(*kind), plain_config(*kind, 0, SPARC_HEAD_STEPS),
                                      plain_config(*kind, 1, SPARC_HEAD_STEPS), policy_config(*kind)};
    configs[3].embedding = SPARC_EMBED_LINEAR;
    for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
      sparc_network *network;
      assert_int_equal(sparc_network_create(&configs[c], &network), SPARC_OK);
      const sparc_network_sizes sizes = sparc_network_sizes_of(network);
      assert_int_equal(sizes.trace, sparc_cell_sizes_of(network_cell(network)).trace);
      sparc_network_free(network);
      if (sizes.trace == 0) continue;
      /* before a bare cell: an embedding adds to the trace, no embedding adds nothing */
      const bool bare = configs[c].layers == 0, embedded = configs[c].embedding != SPARC_EMBED_NONE;
      assert_true(bare ? sizes.trace_exact >= sizes.trace + embedded : sizes.trace_exact == 0);
      check_rtrl(&configs[c]);
      tried++;
    }
  }
  assert_true(tried >= 5 * 4); /* the five affine cells have traces */
}

/* ---- the step in parts --------------------------------------------------------------------------- */

enum { ITEMS = 29 };

/* n items forward and backward through the parts; the cell's own gradient is left out: dcell_input is dcell_output */
static void run_parts(const trial *t, const float *prepared, int first, int n, int threads, const float *x,
                      const float *dy, float *y, float *dparams, float *dx) {
  const sparc_cell_sizes cell = sparc_cell_sizes_of(network_cell(t->network));
  const size_t D = (size_t)sparc_cell_config_of(network_cell(t->network)).D, C = (size_t)t->config.inputs;
  const size_t outputs = t->n.outputs, start = (size_t)first;
  float *tapes = sparc_alloc((size_t)n * t->n.tape * sizeof *tapes);
  float *states = sparc_alloc((size_t)n * cell.state * sizeof *states);
  const network_tape_f32 at = network_tape_of_f32(t->network, n, tapes);
  network_step_pre_cell_f32(t->network, prepared, n, x + start * C, tapes, threads);
  assert_int_equal(sparc_step_streams(network_cell(t->network), prepared + t->network->cell_prepared, n, states,
                                      at.cell_input, NULL, at.cell_output, at.cell_tapes, threads),
                   SPARC_OK);
  network_step_post_cell_f32(t->network, prepared, n, tapes, y + start * outputs, threads);
  network_step_post_cell_backward_f32(t->network, prepared, n, dy + start * outputs, tapes, dparams, threads);
  for (size_t i = 0; i < (size_t)n; i++)
    for (size_t d = 0; d < D; d++) at.dcell_input[i * D + d] = at.dcell_output[i * cell.output + d % cell.output];
  network_step_pre_cell_backward_f32(t->network, prepared, n, tapes, dparams, dx + start * C, threads);
  sparc_free(tapes);
  sparc_free(states);
}

/* all items at once, on any number of threads, are the items one by one: outputs bit-exactly, sums to rounding, which
 * for dx is relative to its largest number, since its terms cancel */
static void test_parts_of_many_items(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 3, 8, 16};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_network_config configs[] = {policy_config(*kind), plain_config(*kind, 1, SPARC_HEAD_STEPS)};
    for (size_t c = 0; c < 2; c++) {
      configs[c].width = 70;
      trial t = make_trial(&configs[c], ITEMS, 1, 0);
      sparc_random stream;
      sparc_random_init(&stream, 2, "test-network-step", t.text);
      float x[ITEMS * TRIAL_INPUTS], dx[2][ITEMS * TRIAL_INPUTS], dy[ITEMS * 8], y[2][ITEMS * 8];
      assert_true(t.n.outputs <= 8);
      random_fill_normal(&stream, x, sizeof x / sizeof *x, 1);
      random_fill_normal(&stream, dy, sizeof dy / sizeof *dy, 1);
      float *params = sparc_alloc(t.n.params * sizeof *params);
      float *prepared = sparc_alloc(t.n.prepared * sizeof *prepared);
      for (size_t i = 0; i < t.n.params; i++) params[i] = (float)t.p[i];
      assert_int_equal(sparc_network_prepare(t.network, params, prepared), SPARC_OK);
      float *single = sparc_alloc(t.n.params * sizeof *single), *first = NULL;
      for (int i = 0; i < ITEMS; i++) run_parts(&t, prepared, i, 1, 1, x, dy, y[0], single, dx[0]);
      for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        float *all = sparc_alloc(t.n.params * sizeof *all);
        run_parts(&t, prepared, 0, ITEMS, threads[i], x, dy, y[1], all, dx[1]);
        assert_memory_equal(y[0], y[1], ITEMS * t.n.outputs * sizeof **y);
        float largest = 0;
        for (size_t k = 0; k < sizeof x / sizeof *x; k++) largest = fmaxf(largest, fabsf(dx[0][k]));
        for (size_t k = 0; k < sizeof x / sizeof *x; k++) assert_true(fabsf(dx[0][k] - dx[1][k]) <= 1e-6F * largest);
        for (size_t k = 0; k < t.n.params; k++)
          assert_true(fabsf(all[k] - single[k]) <= 1e-4F * fmaxf(1, fabsf(single[k])));
        if (first) {
          assert_memory_equal(all, first, t.n.params * sizeof *all);
          sparc_free(all);
        } else {
          first = all;
        }
      }
      float *memory[] = {params, prepared, single, first};
      for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
      free_trial(&t);
    }
  }
}

/* ---- what is refused ----------------------------------------------------------------------------- */

static void expect(sparc_status got, sparc_status want, const char *message) {
  assert_int_equal(got, want);
  if (!strstr(sparc_error(), message)) fail_msg("'%s' is not in '%s'", message, sparc_error());
}

static void test_impossible_steps(void **state) {
  (void)state;
  const sparc_network_config config = policy_config("sparc");
  trial t = make_trial(&config, 1, 1, 0);
  double *prepared = sparc_alloc(t.n.prepared * sizeof *prepared), *tape = sparc_alloc(2 * t.n.tape * sizeof *tape);
  double *now = sparc_alloc(2 * t.n.state * sizeof *now), *trace = sparc_alloc(t.n.trace * sizeof *trace);
  const double x[2 * TRIAL_INPUTS] = {1, 2}, masks[] = {1, 0.5}, dy[8] = {0};
  assert_int_equal(sparc_network_prepare_f64(t.network, t.p, prepared), SPARC_OK);
  expect(sparc_network_step_f64(t.network, prepared, 0, now, x, NULL, NULL, tape, 1), SPARC_INVALID, "n is 0");
  expect(sparc_network_step_f64(t.network, prepared, 2, now, x, masks, NULL, tape, 1), SPARC_INVALID,
         "mask of stream 1 is 0.5, expected 0 or 1");
  expect(sparc_network_step_f64(t.network, prepared, 1, NULL, x, NULL, NULL, tape, 1), SPARC_INVALID, "state is NULL");
  expect(sparc_network_step_f64(t.network, prepared, 1, now, x, NULL, NULL, NULL, 1), SPARC_INVALID, "tape is NULL");
  const sparc_encoder_gradient local = SPARC_ENCODER_LOCAL;
  expect(sparc_network_step_rtrl_f64(t.network, prepared, local, now, NULL, x, 1, NULL, tape), SPARC_INVALID,
         "trace is NULL");
  expect(sparc_network_step_rtrl_f64(t.network, prepared, (sparc_encoder_gradient)5, now, trace, x, 1, NULL, tape),
         SPARC_INVALID, "encoder is 5");
  expect(sparc_network_rtrl_gradient_f64(t.network, prepared, local, trace, tape, NULL, t.p, NULL), SPARC_INVALID,
         "dy is NULL");
  expect(sparc_network_rtrl_gradient_f64(t.network, prepared, local, trace, tape, dy, NULL, NULL), SPARC_INVALID,
         "dparams is NULL");
  void *memory[] = {prepared, tape, now, trace};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  free_trial(&t);
}

/* for networks without an RTRL form the message names the reason, and their sizes are 0 */
static void test_networks_without_rtrl(void **state) {
  (void)state;
  const struct {
    sparc_network_config config;
    const char *message;
  } cases[] = {{plain_config("sparc", 2, SPARC_HEAD_STEPS), "layers is 2"},
               {plain_config("sparc", 0, SPARC_HEAD_MEAN), "a head reads the mean over time"},
               {policy_config("gru"), "cell gru has no RTRL form"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    trial t = make_trial(&cases[i].config, 1, 1, 0);
    double *prepared = sparc_alloc(t.n.prepared * sizeof *prepared), *tape = sparc_alloc(t.n.tape * sizeof *tape);
    double *now = sparc_alloc(t.n.state * sizeof *now), trace[1] = {0};
    assert_int_equal(t.n.trace, 0);
    assert_int_equal(t.n.trace_exact, 0);
    expect(sparc_network_step_rtrl_f64(t.network, prepared, SPARC_ENCODER_LOCAL, now, trace, t.x, 1, NULL, tape),
           SPARC_UNSUPPORTED, cases[i].message);
    sparc_free(prepared);
    sparc_free(tape);
    sparc_free(now);
    free_trial(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps_are_the_sequence), cmocka_unit_test(test_sequences_in_halves),
      cmocka_unit_test(test_streams_change_no_bit),  cmocka_unit_test(test_rtrl_sums_up_to_the_sequence),
      cmocka_unit_test(test_parts_of_many_items),    cmocka_unit_test(test_impossible_steps),
      cmocka_unit_test(test_networks_without_rtrl)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
