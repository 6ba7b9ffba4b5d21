/* SPDX-License-Identifier: MIT */
/* test_fixed_spectrum.c: what is particular to RTU and LRU: their traces, their range, and the identities between the
 * fixed spectra and the SPARC cell [eq:fixed_spectral_transition].
 *
 * Identities are tested in double to 1e-12 on random shapes; expected numbers come from the plain reference or from
 * formulas written out here, never from the code under test.
 */
#include "cells/cell.h"
#include "rtrl/rtrl_f64.h"
#include "sparc/double.h"
#include "support.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPES = 60 }; /* random problems per identity */

static const double EXACT = 1e-12;
static const char *const kinds[] = {"rtu", "lru"};

/* ---- blocks ------------------------------------------------------------------------------------ */

static const sparc_block *block_of(const problem *p, const char *name) {
  const int index = cell_block_index(p->cell, name);
  if (index < 0) fail_msg("no block %s in %s", name, problem_text(p));
  return &p->cell->block[index];
}

static double *param_of(const problem *p, const char *name) { return p->params + block_of(p, name)->offset; }

static void must(sparc_status status) {
  if (status != SPARC_OK) fail_msg("unexpected status: %s", sparc_error());
}

/* the same problem for another cell: shares the data of p, copies the parameters that both cells have, zeroes the rest
 */
static problem twin_create(const problem *p, const char *kind, const char *options) {
  problem twin = *p;
  const sparc_cell_config config = {
      .kind = kind, .D = sparc_cell_config_of(p->cell).D, .H = sparc_cell_config_of(p->cell).H, .options = options};
  must(sparc_cell_create(&config, &twin.cell));
  twin.n = sparc_cell_sizes_of(twin.cell);
  twin.params = sparc_alloc(twin.n.params * sizeof *twin.params);
  for (size_t i = 0; i < p->cell->blocks; i++) {
    const sparc_block *block = &p->cell->block[i];
    if (cell_block_index(twin.cell, block->name) >= 0)
      memcpy(param_of(&twin, block->name), p->params + block->offset, block->size * sizeof(double));
  }
  return twin;
}

static void twin_free(problem *twin) {
  sparc_free(twin->params);
  sparc_cell_free(twin->cell);
}

static void drop_state0(problem *p) {
  sparc_free(p->state0);
  p->state0 = NULL;
}

/* ---- the normaliser of RTU, as the paper writes it ------------------------------------------------ */

static double rtu_gain(double log_decay) { return sqrt(-expm1(-2 * exp(log_decay))) + 1e-8; }

/* d log gain / d log_decay */
static double rtu_gain_slope(double log_decay) {
  const double nu = exp(log_decay);
  return nu * exp(-2 * nu) / sqrt(-expm1(-2 * nu)) / rtu_gain(log_decay);
}

static void set_rtu_gain(const problem *rtu, problem *other) {
  const double *log_decay = param_of(rtu, "log_decay");
  double *log_gain = param_of(other, "log_gain");
  for (int j = 0; j < sparc_cell_config_of(rtu->cell).H; j++) log_gain[j] = log(rtu_gain(log_decay[j]));
}

/* ---- traces ------------------------------------------------------------------------------------ */

/* sensitivity of the last state of stream 0 to one block, [re | im][H][row], as the library keeps it */
static double *read_trace(const problem *p, const result *r, const char *block) {
  double *prepared = sparc_alloc(p->n.prepared * sizeof *prepared);
  double *out = sparc_alloc(trace_size(p->cell, block) * sizeof *out);
  must(sparc_prepare_f64(p->cell, p->params, prepared));
  must(sparc_trace_read_f64(p->cell, prepared, r->trace, block, out));
  sparc_free(prepared);
  return out;
}

/* the gradients of every coordinate of stream 0's last state by the plain backward: (S, params) */
static double *explicit_sensitivities(const problem *p) {
  problem stream = *p;
  result r = result_create(p);
  const size_t S = p->n.state, P = p->n.params;
  double *jacobian = sparc_alloc(S * P * sizeof *jacobian);
  stream.B = 1;
  stream.dy = sparc_alloc((size_t)p->T * p->n.output * sizeof *stream.dy);
  stream.dstate_last = sparc_alloc(S * sizeof *stream.dstate_last);
  for (size_t i = 0; i < S; i++) {
    stream.dstate_last[i] = 1;
    run_reference(&stream, true, &r);
    memcpy(jacobian + i * P, r.dparams, P * sizeof *jacobian);
    stream.dstate_last[i] = 0;
  }
  sparc_free(stream.dy);
  sparc_free(stream.dstate_last);
  result_free(&r);
  return jacobian;
}

/* row j of the Jacobian by block, for modes j: what read_trace should give */
static double *expected_trace(const problem *p, const double *jacobian, const sparc_block *block) {
  const size_t S = p->n.state, H = S / 2, row = block->size / H;
  double *out = sparc_alloc(S * row * sizeof *out);
  for (size_t i = 0; i < S; i++)
    memcpy(out + i * row, jacobian + i * p->n.params + block->offset + i % H * row, row * sizeof *out);
  return out;
}

/* every kept or implied trace is the derivative of the state; in particular Z_B2, which is not kept, is i Z_B1 */
static void test_traces_are_sensitivities(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, "sensitivities", kinds[k]);
    for (int i = 0; i < SHAPES; i++) {
      problem p = problem_random(kinds[k], &stream);
      result r = result_create(&p);
      run_rtrl_f64(&p, &r);
      double *jacobian = explicit_sensitivities(&p);
      for (size_t b = 0; b < p.cell->blocks; b++) {
        const sparc_block *block = &p.cell->block[b];
        double *got = read_trace(&p, &r, block->name), *want = expected_trace(&p, jacobian, block);
        assert_int_equal(block->trace, 2 * block->size);
        expect_close(&p, block->name, e_norm(2 * block->size, got, want), EXACT);
        sparc_free(got);
        sparc_free(want);
      }
      sparc_free(jacobian);
      result_free(&r);
      problem_free(&p);
    }
  }
}

/* the explicit derivatives obey Z_B2 = i Z_B1, and so do the traces as read */
static void expect_rotated(const problem *p, const char *what, const double *by_re, const double *by_im) {
  const size_t half = block_of(p, "content_re")->size;
  double *rotated = sparc_alloc(2 * half * sizeof *rotated);
  for (size_t i = 0; i < half; i++) {
    rotated[i] = -by_re[half + i];
    rotated[half + i] = by_re[i];
  }
  expect_close(p, what, e_norm(2 * half, by_im, rotated), EXACT);
  sparc_free(rotated);
}

static void test_content_traces_are_one(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, "one content trace", kinds[k]);
    for (int i = 0; i < SHAPES; i++) {
      problem p = problem_random(kinds[k], &stream);
      result r = result_create(&p);
      run_rtrl_f64(&p, &r);
      double *jacobian = explicit_sensitivities(&p);
      double *want_re = expected_trace(&p, jacobian, block_of(&p, "content_re"));
      double *want_im = expected_trace(&p, jacobian, block_of(&p, "content_im"));
      double *got_re = read_trace(&p, &r, "content_re"), *got_im = read_trace(&p, &r, "content_im");
      expect_rotated(&p, "explicit Z_B2 = i Z_B1", want_re, want_im);
      expect_rotated(&p, "Z_B2 = i Z_B1 as read", got_re, got_im);
      double *arrays[] = {jacobian, want_re, want_im, got_re, got_im};
      for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) sparc_free(arrays[a]);
      result_free(&r);
      problem_free(&p);
    }
  }
}

/* h is linear in gamma, so from zeros dh / d log gamma is h itself */
static void test_gain_trace_is_state(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 1, "gain trace", "lru");
  for (int i = 0; i < SHAPES; i++) {
    problem p = problem_random("lru", &stream);
    drop_state0(&p);
    result r = result_create(&p);
    run_rtrl_f64(&p, &r);
    double *trace = read_trace(&p, &r, "log_gain");
    expect_close(&p, "Z_g = h", e_norm(p.n.state, trace, r.state_last), EXACT);
    sparc_free(trace);
    result_free(&r);
    problem_free(&p);
  }
}

/* state and trace after one step with m = 0 from arbitrary numbers */
static void step_into_segment(const problem *p, sparc_random *past, const double *prepared, double *h, double *trace) {
  double *tape = sparc_alloc(p->n.tape * sizeof *tape);
  for (size_t i = 0; i < p->n.state; i++) h[i] = 10 * sparc_random_normal(past);
  for (size_t i = 0; i < p->n.trace; i++) trace[i] = 10 * sparc_random_normal(past);
  must(sparc_step_rtrl_f64(p->cell, prepared, h, trace, p->x, 0, NULL, tape));
  sparc_free(tape);
}

static void test_reset_forgets(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, "reset", kinds[k]);
    for (int i = 0; i < SHAPES; i++) {
      problem p = problem_random(kinds[k], &stream);
      double *prepared = sparc_alloc(p.n.prepared * sizeof *prepared);
      double *h[2], *trace[2];
      must(sparc_prepare_f64(p.cell, p.params, prepared));
      for (int past = 0; past < 2; past++) {
        h[past] = sparc_alloc(p.n.state * sizeof **h);
        trace[past] = sparc_alloc(p.n.trace * sizeof **trace);
        step_into_segment(&p, &stream, prepared, h[past], trace[past]);
      }
      bool written = false;
      for (size_t j = 0; j < p.n.state; j++) assert_true(h[0][j] == h[1][j]);
      for (size_t j = 0; j < p.n.trace; j++) {
        if (trace[0][j] != trace[1][j]) fail_msg("trace[%zu] remembers the past for %s", j, problem_text(&p));
        written = written || trace[0][j] != 0;
      }
      assert_true(written); /* the step that starts a segment still writes */
      for (int past = 0; past < 2; past++) {
        sparc_free(h[past]);
        sparc_free(trace[past]);
      }
      sparc_free(prepared);
      problem_free(&p);
    }
  }
}

/* ---- identities between cells ------------------------------------------------------------------- */

static void expect_same_block(const problem *p, const result *got, const problem *q, const result *want,
                              const char *name) {
  const sparc_block *a = block_of(p, name), *b = block_of(q, name);
  assert_int_equal(a->size, b->size);
  expect_close(p, name, e_norm(a->size, got->dparams + a->offset, want->dparams + b->offset), EXACT);
}

/* all gradients that do not depend on d gamma / d decay */
static void expect_same_recurrence(const problem *p, const result *got, const problem *q, const result *want) {
  const size_t B = (size_t)p->B, tokens = B * (size_t)p->T;
  expect_close(p, "y", e_norm(tokens * p->n.output, got->y, want->y), EXACT);
  expect_close(p, "state_last", e_norm(B * p->n.state, got->state_last, want->state_last), EXACT);
  expect_close(p, "dx", e_norm(tokens * (size_t)p->D, got->dx, want->dx), EXACT);
  expect_close(p, "dstate0", e_norm(B * p->n.state, got->dstate0, want->dstate0), EXACT);
  expect_same_block(p, got, q, want, "log_freq");
  expect_same_block(p, got, q, want, "content_re");
  expect_same_block(p, got, q, want, "content_im");
}

/* RTU's decay also moves its gain: without that part its gradient is the one of a cell with a free gain */
static void expect_decay_through_gain(const problem *rtu, const result *got, const problem *free_gain,
                                      const result *want) {
  const size_t H = (size_t)sparc_cell_config_of(rtu->cell).H;
  const double *log_decay = param_of(rtu, "log_decay");
  const double *ddecay = want->dparams + block_of(free_gain, "log_decay")->offset;
  const double *dgain = want->dparams + block_of(free_gain, "log_gain")->offset;
  double *sum = sparc_alloc(H * sizeof *sum);
  for (size_t j = 0; j < H; j++) sum[j] = ddecay[j] + rtu_gain_slope(log_decay[j]) * dgain[j];
  expect_close(rtu, "log_decay", e_norm(H, got->dparams + block_of(rtu, "log_decay")->offset, sum), EXACT);
  sparc_free(sum);
}

/* compares a cell of the first kind with its twin on random problems, as sequences in chunks of any length and by RTRL
 */
typedef struct identity {
  const char *kind, *twin, *options;
  bool tied; /* the first cell's gain is RTU's */
} identity;

static void expect_identity(const identity *id, const problem *p, const problem *twin, const result *got,
                            const result *want) {
  if (id->tied) {
    expect_decay_through_gain(p, got, twin, want);
    return;
  }
  expect_same_block(p, got, twin, want, "log_decay");
  expect_same_block(p, got, twin, want, "log_gain");
}

static void check_identity(const identity *id) {
  sparc_random stream;
  sparc_random_init(&stream, 1, id->twin, id->kind);
  for (int i = 0; i < SHAPES; i++) {
    problem p = problem_random(id->kind, &stream), twin = twin_create(&p, id->twin, id->options);
    if (id->tied) set_rtu_gain(&p, &twin);
    result got = result_create(&p), want = result_create(&twin);
    const int chunk = (int)sparc_random_below(&stream, (uint32_t)p.T + 2);
    run_sequence_f64(&p, NULL, true, &got);
    run_sequence_f64(&twin, &(sparc_plan_config){.chunk = chunk}, true, &want);
    expect_same_recurrence(&p, &got, &twin, &want);
    expect_identity(id, &p, &twin, &got, &want);

    /* dstate0 stays that of the sequences; dx is the local gradient on both sides */
    run_rtrl_f64(&p, &got);
    run_rtrl_f64(&twin, &want);
    expect_same_recurrence(&p, &got, &twin, &want);
    expect_identity(id, &p, &twin, &got, &want);
    result_free(&got);
    result_free(&want);
    twin_free(&twin);
    problem_free(&p);
  }
}

static void test_rtu_with_frozen_gain_is_lru(void **state) {
  (void)state;
  check_identity(&(identity){.kind = "rtu", .twin = "lru", .tied = true});
}

/* zero controllers and gates: the twin's other blocks are zeros */
static void test_sparc_without_controls_is_lru(void **state) {
  (void)state;
  check_identity(&(identity){.kind = "lru", .twin = "sparc", .options = "variant=linear-content"});
  check_identity(&(identity){.kind = "lru", .twin = "sparc", .options = "content=linear"});
}

static void test_sparc_without_controls_is_rtu(void **state) {
  (void)state;
  check_identity(&(identity){.kind = "rtu", .twin = "sparc", .options = "variant=linear-content", .tied = true});
}

/* ---- numbers at the edge ------------------------------------------------------------------------ */

/* with x = 0 a step from h = 1 returns lambda itself: strictly inside the unit circle, whatever the parameters */
static void expect_contraction(const problem *p) {
  const size_t H = p->n.state / 2;
  float *params = sparc_alloc(p->n.params * sizeof *params), *prepared = sparc_alloc(p->n.prepared * sizeof *prepared);
  float *h = sparc_alloc(p->n.state * sizeof *h), *tape = sparc_alloc(p->n.tape * sizeof *tape);
  double *wide_prepared = sparc_alloc(p->n.prepared * sizeof *wide_prepared);
  double *wide_h = sparc_alloc(p->n.state * sizeof *wide_h), *wide_tape = sparc_alloc(p->n.tape * sizeof *wide_tape);
  for (size_t i = 0; i < p->n.params; i++) params[i] = (float)p->params[i];
  for (size_t j = 0; j < H; j++) h[j] = 1, wide_h[j] = 1;
  must(sparc_prepare(p->cell, params, prepared));
  must(sparc_prepare_f64(p->cell, p->params, wide_prepared));
  must(sparc_step(p->cell, prepared, h, (float[]){0}, 1, NULL, tape));
  must(sparc_step_f64(p->cell, wide_prepared, wide_h, (double[]){0}, 1, NULL, wide_tape));
  for (size_t j = 0; j < H; j++) {
    const double square = (double)h[j] * (double)h[j] + (double)h[H + j] * (double)h[H + j];
    const long double wide_square = (long double)wide_h[j] * wide_h[j] + (long double)wide_h[H + j] * wide_h[H + j];
    if (!(square < 1 && wide_square < 1))
      fail_msg("|lambda|^2 is 1 - %g in float, 1 - %Lg in double for log_decay %g, log_freq %g", 1 - square,
               1 - wide_square, p->params[block_of(p, "log_decay")->offset + j],
               p->params[block_of(p, "log_freq")->offset + j]);
  }
  void *arrays[] = {params, prepared, h, tape, wide_prepared, wide_h, wide_tape};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
}

static void test_contraction(void **state) {
  (void)state;
  enum { H = 4096, ROUNDS = 16 };
  for (size_t k = 0; k < 2; k++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, "contraction", kinds[k]);
    const sparc_cell_config config = {.kind = kinds[k], .D = 1, .H = H};
    for (int round = 0; round < ROUNDS; round++) {
      problem p = problem_create(&config, 1, 1, MASK_NONE, &stream);
      for (size_t j = 0; j < H; j++) {
        /* half of the modes are as persistent as float can represent, the rest range over everything */
        param_of(&p, "log_decay")[j] =
            (double)(float)(j % 2 ? -15 - 100 * sparc_random_uniform(&stream) : 40 * sparc_random_normal(&stream));
        param_of(&p, "log_freq")[j] = (double)(float)(3 * sparc_random_normal(&stream));
      }
      param_of(&p, "log_decay")[0] = -(double)FLT_MAX;
      expect_contraction(&p);
      problem_free(&p);
    }
  }
}

static void expect_finite(const problem *p, const char *what, const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) fail_msg("%s[%zu] is %g for %s", what, i, values[i], problem_text(p));
}

/* about half of the spectrum and gain becomes extreme; weights that multiply inputs stay moderate */
static void spoil_spectrum(problem *p, sparc_random *stream) {
  const float extremes[] = {-FLT_MAX, -1e30f, -300, -80, -1e-30f, 0, 1e-30f, 80, 89, 300, 1e30f, FLT_MAX};
  for (size_t b = 0; b < p->cell->blocks; b++) {
    const sparc_block *block = &p->cell->block[b];
    if (block->rank == 2) continue;
    for (size_t i = 0; i < block->size; i++)
      if (sparc_random_below(stream, 2))
        p->params[block->offset + i] = (double)extremes[sparc_random_below(stream, 12)];
  }
}

/* any finite spectrum and gain gives finite outputs and gradients; inputs up to 1e30 give finite outputs */
static void test_extreme_values(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, "extreme", kinds[k]);
    for (int i = 0; i < 4 * SHAPES; i++) {
      problem p = problem_random(kinds[k], &stream);
      const size_t tokens = (size_t)p.B * (size_t)p.T;
      const bool large = i % 2;
      if (large)
        for (size_t t = 0; t < tokens * (size_t)p.D; t++) p.x[t] *= 1e30 / (1 + fabs(p.x[t]));
      else
        spoil_spectrum(&p, &stream);
      result r = result_create(&p);
      run_sequence_f32(&p, NULL, true, &r);
      expect_finite(&p, "y", r.y, tokens * p.n.output);
      if (!large) {
        expect_finite(&p, "dx", r.dx, tokens * (size_t)p.D);
        expect_finite(&p, "dstate0", r.dstate0, (size_t)p.B * p.n.state);
        expect_finite(&p, "dparams", r.dparams, p.n.params);
        run_rtrl_f32(&p, &r);
        expect_finite(&p, "RTRL dparams", r.dparams, p.n.params);
        expect_finite(&p, "trace", r.trace, p.n.trace);
      }
      result_free(&r);
      problem_free(&p);
    }
  }
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* sizes as in docs/cells.md; LRU without its readout C, which is a layer */
static void test_sizes_and_groups(void **state) {
  (void)state;
  static const struct {
    const char *kind;
    int H;
    size_t params, trace;
  } table[] = {
      {"rtu", 192, 24960, 25344},
      {"rtu", 64, 8320, 8448},
      {"lru", 192, 98880 - 2 * 192 * 192, 25344},
      {"lru", 64, 16576 - 2 * 64 * 64, 8448},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    sparc_cell *cell;
    must(sparc_cell_create(&(sparc_cell_config){.kind = table[i].kind, .D = 64, .H = table[i].H}, &cell));
    const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
    size_t spans;
    const sparc_span *span = sparc_cell_spans(cell, &spans);
    assert_int_equal(n.params, table[i].params);
    assert_int_equal(n.trace, table[i].trace);
    assert_int_equal(n.state, 2 * table[i].H);
    assert_int_equal(n.output, 2 * table[i].H);
    assert_int_equal(spans, 1); /* section 9.5: everything is recurrent */
    assert_int_equal(span->group, SPARC_RECURRENT);
    assert_int_equal(span->size, n.params);
    sparc_cell_free(cell);
  }
}

/* the paper pairs SPARC with RTU in control and with LRU in classification: shared blocks start from the same numbers
 */
static bool same_start(const char *kind, const char *other, sparc_init_style style, const char *block) {
  enum { D = 5, H = 37 };
  const char *const pair[] = {kind, other};
  float *params[2];
  size_t offset[2], size = 0;
  for (int i = 0; i < 2; i++) {
    sparc_cell *cell;
    must(sparc_cell_create(&(sparc_cell_config){.kind = pair[i], .D = D, .H = H}, &cell));
    const int index = cell_block_index(cell, block);
    assert_true(index >= 0);
    offset[i] = cell->block[index].offset;
    size = cell->block[index].size;
    params[i] = sparc_alloc(sparc_cell_sizes_of(cell).params * sizeof **params);
    must(sparc_cell_init(cell, style, 11, "layer", params[i]));
    sparc_cell_free(cell);
  }
  const bool same = memcmp(params[0] + offset[0], params[1] + offset[1], size * sizeof **params) == 0;
  for (int i = 0; i < 2; i++) sparc_free(params[i]);
  return same;
}

static void test_paired_initialisation(void **state) {
  (void)state;
  static const char *const shared[] = {"log_decay", "log_freq", "content_re", "content_im"};
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
    assert_true(same_start("rtu", "sparc", SPARC_INIT_CONTROL, shared[i]));
    assert_true(same_start("rtu", "sparc", SPARC_INIT_CLASSIFICATION, shared[i]));
    assert_true(same_start("lru", "sparc", SPARC_INIT_CLASSIFICATION, shared[i]));
  }
  assert_true(same_start("lru", "sparc", SPARC_INIT_CLASSIFICATION, "log_gain"));
  /* LRU's content is normal in control as well, RTU's is lecun_normal */
  assert_true(same_start("lru", "sparc", SPARC_INIT_CONTROL, "log_decay"));
  assert_false(same_start("lru", "sparc", SPARC_INIT_CONTROL, "content_re"));
}

/* the distributions of docs/cells.md: log_gain is log sqrt(1 - r^2) and content has standard deviation 1 / sqrt(2 D) */
static void test_lru_initialisation(void **state) {
  (void)state;
  enum { D = 32, H = 512 };
  const struct {
    sparc_init_style style;
    double radius_min, radius_max;
  } cases[] = {{SPARC_INIT_CONTROL, 0, 1}, {SPARC_INIT_CLASSIFICATION, 0.9, 0.999}};
  for (size_t c = 0; c < 2; c++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, "initialisation", "lru");
    problem p = problem_create(&(sparc_cell_config){.kind = "lru", .D = D, .H = H}, 1, 1, MASK_NONE, &stream);
    float *params = sparc_alloc(p.n.params * sizeof *params);
    must(sparc_cell_init(p.cell, cases[c].style, 3, NULL, params));
    double square = 0;
    for (size_t j = 0; j < H; j++) {
      const double nu = exp((double)params[block_of(&p, "log_decay")->offset + j]);
      const double log_gain = (double)params[block_of(&p, "log_gain")->offset + j];
      assert_true(exp(-nu) >= cases[c].radius_min - 1e-6 && exp(-nu) <= cases[c].radius_max + 1e-6);
      assert_true(fabs(log_gain - 0.5 * log(-expm1(-2 * nu))) < 1e-6 * (1 + fabs(log_gain)));
    }
    for (size_t i = 0; i < (size_t)D * H; i++) square += pow((double)params[block_of(&p, "content_im")->offset + i], 2);
    assert_true(fabs(sqrt(square / (D * H)) * sqrt(2.0 * D) - 1) < 0.03);
    sparc_free(params);
    problem_free(&p);
  }
}

static void test_options_are_refused(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    sparc_cell *cell;
    const sparc_cell_config config = {.kind = kinds[k], .D = 1, .H = 1, .options = "variant=full"};
    assert_int_equal(sparc_cell_create(&config, &cell), SPARC_INVALID);
    assert_null(cell);
    assert_non_null(strstr(sparc_error(), kinds[k]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_traces_are_sensitivities),
      cmocka_unit_test(test_content_traces_are_one),
      cmocka_unit_test(test_gain_trace_is_state),
      cmocka_unit_test(test_reset_forgets),
      cmocka_unit_test(test_rtu_with_frozen_gain_is_lru),
      cmocka_unit_test(test_sparc_without_controls_is_lru),
      cmocka_unit_test(test_sparc_without_controls_is_rtu),
      cmocka_unit_test(test_contraction),
      cmocka_unit_test(test_extreme_values),
      cmocka_unit_test(test_sizes_and_groups),
      cmocka_unit_test(test_paired_initialisation),
      cmocka_unit_test(test_lru_initialisation),
      cmocka_unit_test(test_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
