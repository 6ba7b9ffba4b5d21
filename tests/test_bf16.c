/* SPDX-License-Identifier: MIT */
/* test_bf16.c: bfloat16 at the boundary.
 *
 * Conversions: every bfloat16 and its neighbourhood, and random bit patterns, against rounding done the slow way, in
 * every length that vector code treats differently, with denormals flushed and not. Sequences: what comes out is the
 * float result rounded once, bit-exactly, and hence within half a unit of the last place of the exact result, apart from
 * float's own error.
 */
#include "base/bf16.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "sparc/bf16.h"
#include "support.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* ---- conversions --------------------------------------------------------------------------------- */

static bool is_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/* Rounding by comparison: the two neighbours are the float cut off and the next one away from zero; as integers they
 * are 2^16 apart, and so is what lies between them, whatever the exponent. */
static uint16_t slow_rounding(uint32_t bits) {
  if (is_nan(bits)) return (uint16_t)(bits >> 16 | 0x40);
  const uint32_t below = bits & 0xffff0000, distance = bits - below, half = 0x8000;
  const bool up = distance > half || (distance == half && (below >> 16) % 2 == 1);
  return (uint16_t)((below >> 16) + up);
}

static void expect_rounding(uint32_t bits) {
  const uint16_t got = bf16_from_float(float_of(bits));
  if (got != slow_rounding(bits)) fail_msg("%08x becomes %04x, not %04x", bits, got, slow_rounding(bits));
}

/* a float in a register of its own is not changed on x86-64 and AArch64, not even a signalling NaN */
static void test_every_bf16(void **state) {
  (void)state;
  for (uint32_t high = 0; high <= 0xffff; high++) {
    const uint16_t value = (uint16_t)high;
    const float wide = float_from_bf16(value);
    assert_int_equal(bits_of(wide), high << 16);
    /* there and back: the same bits, a NaN quiet */
    assert_int_equal(bf16_from_float(wide), is_nan(high << 16) ? high | 0x40 : high);
    static const uint32_t low[] = {0, 1, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) expect_rounding(high << 16 | low[i]);
  }
}

static void test_known_values(void **state) {
  (void)state;
  const struct {
    float in;
    uint16_t out;
  } cases[] = {{0, 0},
               {-0.0f, 0x8000},
               {1, 0x3f80},
               {0x1.01p0f, 0x3f80},       /* a tie: down to even */
               {0x1.03p0f, 0x3f82},       /* a tie: up to even */
               {0x1.010002p0f, 0x3f81},   /* just above a tie */
               {0x1.fep127f, 0x7f7f},     /* the largest */
               {0x1.fefffep127f, 0x7f7f}, /* below the middle between it and 2^128 */
               {0x1.ffp127f, 0x7f80},     /* the middle rounds to infinity */
               {-INFINITY, 0xff80},
               {0x1p-133f, 1}, /* the smallest subnormal */
               {0x1p-134f, 0}, /* a tie with zero */
               {0x1.8p-134f, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(bf16_from_float(cases[i].in), cases[i].out);
  assert_true(isnan(float_from_bf16(bf16_from_float(NAN))));
  /* a NaN whose payload is all in the lower half must not become an infinity */
  assert_int_equal(bf16_from_float(float_of(0x7f800001)), 0x7fc0);
  assert_int_equal(bf16_from_float(float_of(0xff80ffff)), 0xffc0);
}

/* half the distance of neighbouring bfloat16 around x: they have 8 significant bits */
static double half_unit(double x) { return x == 0 ? 0 : ldexp(0x1p-8, ilogb(x)); }

/* never further than half a unit, which is at most 2^-8 of the number itself; and the bound is reached */
static void test_half_unit(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 1, "half a unit", "");
  double worst = 0;
  for (int i = 0; i < 1000000; i++) {
    const int exponent = (int)sparc_random_below(&stream, 250) - 125;
    const double x = (double)(float)ldexp(1 + sparc_random_uniform(&stream), exponent);
    const double error = fabs((double)float_from_bf16(bf16_from_float((float)x)) - x);
    worst = fmax(worst, error / half_unit(x));
  }
  assert_true(worst <= 1 && worst > 0.99);
}

enum { PATTERNS = (1 << 20) + 77 };

/* random bit patterns, every eighth with an exponent of its end of the range: subnormals, infinities, NaN */
static void draw_patterns(uint32_t *bits, size_t n) {
  sparc_random stream;
  sparc_random_init(&stream, 1, "patterns", "");
  for (size_t i = 0; i < n; i++) {
    bits[i] = (uint32_t)random_u64(&stream);
    if (i % 16 == 0) bits[i] &= 0x807fffff;
    if (i % 16 == 8) bits[i] |= 0x7f800000;
  }
}

static void expect_array(const bf16_kernels *k, size_t n, const float *in, const uint32_t *bits, uint16_t *narrow,
                         float *wide) {
  memset(narrow, 0x5a, (n + 1) * sizeof *narrow);
  memset(wide, 0x5a, (n + 1) * sizeof *wide);
  (k->narrow ? k->narrow : sparc_bf16_from_floats)(n, in, narrow);
  (k->widen ? k->widen : sparc_floats_from_bf16)(n, narrow, wide);
  for (size_t i = 0; i < n; i++) {
    if (narrow[i] != slow_rounding(bits[i]))
      fail_msg("%08x, number %zu of %zu, becomes %04x", bits[i], i, n, narrow[i]);
    if (bits_of(wide[i]) != (uint32_t)narrow[i] << 16) fail_msg("%04x becomes %08x", narrow[i], bits_of(wide[i]));
  }
  /* not one element further */
  assert_int_equal(narrow[n], 0x5a5a);
  assert_int_equal(bits_of(wide[n]), 0x5a5a5a5a);
}

/* the chosen kernels, and the public functions, which take them for long arrays */
static void test_arrays(void **state) {
  (void)state;
  const kernels *chosen;
  assert_int_equal(kernels_choose(NULL, &chosen), SPARC_OK);
  const bf16_kernels *const tables[] = {&chosen->bf16, &(bf16_kernels){sparc_bf16_from_floats, sparc_floats_from_bf16}};
  uint32_t *bits = sparc_alloc(PATTERNS * sizeof *bits);
  float *in = sparc_alloc(PATTERNS * sizeof *in), *wide = sparc_alloc((PATTERNS + 1) * sizeof *wide);
  uint16_t *narrow = sparc_alloc((PATTERNS + 2) * sizeof *narrow);
  draw_patterns(bits, PATTERNS);
  memcpy(in, bits, PATTERNS * sizeof *in);
  for (size_t k = 0; k < 2; k++) {
    for (size_t n = 0; n < 150; n++) expect_array(tables[k], n, in + n % 5, bits + n % 5, narrow + n % 3, wide);
    expect_array(tables[k], PATTERNS, in, bits, narrow, wide);
    const uint64_t mode = flush_denormals_begin();
    expect_array(tables[k], 1000, in, bits, narrow, wide);
    flush_denormals_end(mode);
  }
  sparc_free(bits);
  sparc_free(in);
  sparc_free(wide);
  sparc_free(narrow);
}

/* ---- sequences ----------------------------------------------------------------------------------- */

static void round_all(double *values, size_t n) {
  for (size_t i = 0; i < n; i++) values[i] = (double)float_from_bf16(bf16_from_float((float)values[i]));
}

static sparc_bf16 *narrow_all(const double *values, size_t n) {
  sparc_bf16 *out = sparc_alloc(n * sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = bf16_from_float((float)values[i]);
  return out;
}

static float *floats_of(const double *values, size_t n) {
  if (!values) return NULL;
  float *out = sparc_alloc(n * sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = (float)values[i];
  return out;
}

/* everything of one sequence in bfloat16 */
typedef struct half {
  sparc_bf16 *x, *dy, *y, *dx;
  float *mask, *state0, *dstate_last, *last, *dstate0, *dparams;
} half;

static half half_create(const problem *p) {
  const size_t B = (size_t)p->B, tokens = B * (size_t)p->T, inputs = tokens * (size_t)p->D;
  const size_t outputs = tokens * p->n.output, states = B * p->n.state;
  return (half){.x = narrow_all(p->x, inputs),
                .dy = narrow_all(p->dy, outputs),
                .y = sparc_alloc(outputs * sizeof(sparc_bf16)),
                .dx = sparc_alloc(inputs * sizeof(sparc_bf16)),
                .mask = floats_of(p->mask, tokens),
                .state0 = floats_of(p->state0, states),
                .dstate_last = floats_of(p->dstate_last, states),
                .last = sparc_alloc(states * sizeof(float)),
                .dstate0 = sparc_alloc(states * sizeof(float)),
                .dparams = sparc_alloc(p->n.params * sizeof(float))};
}

static void half_free(half *h) {
  void *blocks[] = {h->x, h->dy, h->y, h->dx, h->mask, h->state0, h->dstate_last, h->last, h->dstate0, h->dparams};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
}

static void run_half(const problem *p, const sparc_plan_config *config, half *h) {
  sparc_plan *plan;
  assert_int_equal(sparc_plan_create(p->cell, p->B, p->T, config, &plan), SPARC_OK);
  const size_t saved_bytes = sparc_plan_sizes_of(plan, SPARC_BFLOAT16).saved,
               work_bytes = sparc_plan_sizes_of(plan, SPARC_BFLOAT16).work;
  void *saved = sparc_alloc(saved_bytes), *work = sparc_alloc(work_bytes);
  float *params = floats_of(p->params, p->n.params), *prepared = sparc_alloc(p->n.prepared * sizeof *prepared);
  assert_int_equal(sparc_prepare(p->cell, params, prepared), SPARC_OK);
  sparc_sequence_bf16 io = {.x = h->x, .mask = h->mask, .state0 = h->state0, .y = h->y, .state_last = h->last};
  const sparc_sequence_gradient_bf16 gradient = {
      .dy = h->dy, .dstate_last = h->dstate_last, .dx = h->dx, .dstate0 = h->dstate0, .dparams = h->dparams};
  memset(work, 0xff, work_bytes);
  assert_int_equal(sparc_forward_bf16(plan, prepared, &io, saved, work), SPARC_OK);
  /* the backward needs nothing that the forward left in work, nor y */
  memset(work, 0xff, work_bytes);
  io.y = NULL;
  assert_int_equal(sparc_backward_bf16(plan, prepared, &io, saved, &gradient, work), SPARC_OK);
  sparc_free(params);
  sparc_free(prepared);
  sparc_free(saved);
  sparc_free(work);
  sparc_plan_free(plan);
}

/* the float call on the same numbers, rounded once; what is float at the boundary is the same */
static void expect_rounded(const problem *p, const half *got, const result *want) {
  const size_t B = (size_t)p->B, tokens = B * (size_t)p->T;
  for (size_t i = 0; i < tokens * p->n.output; i++)
    if (got->y[i] != bf16_from_float((float)want->y[i])) fail_msg("y[%zu] differs for %s", i, problem_text(p));
  for (size_t i = 0; i < tokens * (size_t)p->D; i++)
    if (got->dx[i] != bf16_from_float((float)want->dx[i])) fail_msg("dx[%zu] differs for %s", i, problem_text(p));
  for (size_t i = 0; i < B * p->n.state; i++)
    if ((double)got->last[i] != want->state_last[i] || (double)got->dstate0[i] != want->dstate0[i])
      fail_msg("state %zu differs for %s", i, problem_text(p));
  for (size_t i = 0; i < p->n.params; i++)
    if ((double)got->dparams[i] != want->dparams[i]) fail_msg("dparams[%zu] differs for %s", i, problem_text(p));
}

/* half a unit, and the paper's tolerance of float on top */
static void expect_half_unit(const problem *p, const char *what, size_t n, const sparc_bf16 *got, const double *want,
                             double tolerance) {
  double scale = 1;
  for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(want[i]));
  for (size_t i = 0; i < n; i++) {
    const double error = fabs((double)float_from_bf16(got[i]) - want[i]);
    if (!(error <= half_unit(want[i]) + tolerance * scale))
      fail_msg("%s[%zu] is off by %.3g, %g expected, for %s", what, i, error, want[i], problem_text(p));
  }
}

static void expect_accurate(const problem *p, const half *got, const result *want) {
  const size_t tokens = (size_t)p->B * (size_t)p->T;
  expect_half_unit(p, "y", tokens * p->n.output, got->y, want->y, 2e-5);
  expect_half_unit(p, "dx", tokens * (size_t)p->D, got->dx, want->dx, 1e-4);
  double *dparams = sparc_alloc(p->n.params * sizeof *dparams);
  for (size_t i = 0; i < p->n.params; i++) dparams[i] = (double)got->dparams[i];
  expect_same_blocks(p, "bfloat16 against double", dparams, want->dparams, 1e-4);
  sparc_free(dparams);
}

static void check_problem(problem *p, const sparc_plan_config *config) {
  const size_t tokens = (size_t)p->B * (size_t)p->T;
  round_all(p->x, tokens * (size_t)p->D);
  round_all(p->dy, tokens * p->n.output);
  half got = half_create(p);
  result want = result_create(p);
  run_half(p, config, &got);
  run_sequence_f32(p, config, true, &want);
  expect_rounded(p, &got, &want);
  run_sequence_f64(p, NULL, true, &want);
  expect_accurate(p, &got, &want);
  half_free(&got);
  result_free(&want);
}

static void test_every_cell(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, "bf16", *kind);
    for (int i = 0; i < 40; i++) {
      problem p = problem_random(*kind, &stream);
      check_problem(&p, &(sparc_plan_config){.threads = 1 + i % 3});
      problem_free(&p);
    }
  }
}

/* several conversion tiles, shared by threads, none of them full */
static void test_many_tiles(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 1, "tiles", "");
  for (int threads = 1; threads <= 3; threads++) {
    const sparc_cell_config config = {.kind = "sparc", .D = 67, .H = 35};
    problem p = problem_create(&config, 3, 211, MASK_RANDOM, &stream);
    check_problem(&p, &(sparc_plan_config){.threads = threads});
    problem_free(&p);
  }
}

static void test_chunks(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 1, "chunks", "");
  const sparc_cell_config config = {.kind = "gateloop", .D = 7, .H = 9};
  problem p = problem_create(&config, 2, 23, MASK_RANDOM, &stream);
  check_problem(&p, &(sparc_plan_config){.chunk = 4});
  problem_free(&p);
}

/* ---- the interface ------------------------------------------------------------------------------- */

static void test_sizes(void **state) {
  (void)state;
  sparc_cell *cell;
  sparc_plan *plan;
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 16, .H = 32}, &cell), SPARC_OK);
  assert_int_equal(sparc_plan_create(cell, 4, 64, NULL, &plan), SPARC_OK);
  const size_t tokens = 4 * 64, line = 64;
  const size_t saved = sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved + tokens * 64 * sizeof(float);
  const size_t work = sparc_plan_sizes_of(plan, SPARC_FLOAT32).work + tokens * (16 + 64 + 16) * sizeof(float);
  assert_in_range(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).saved, saved, saved + line);
  assert_in_range(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).work, work, work + line);
  sparc_plan_free(plan);
  sparc_cell_free(cell);
}

static void expect_refused(sparc_status status, const char *message) {
  assert_int_equal(status, SPARC_INVALID);
  assert_string_equal(sparc_error(), message);
}

static void test_missing_arguments(void **state) {
  (void)state;
  sparc_cell *cell;
  sparc_plan *plan;
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "lru", .D = 1, .H = 1}, &cell), SPARC_OK);
  assert_int_equal(sparc_plan_create(cell, 1, 1, NULL, &plan), SPARC_OK);
  void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).saved),
       *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).work);
  float *prepared = sparc_alloc(sparc_cell_sizes_of(cell).prepared * sizeof *prepared);
  const float mask[] = {0.5f};
  sparc_bf16 x[1] = {0}, y[2] = {0x1234, 0x1234}, dy[2] = {0};
  const sparc_sequence_bf16 io = {.x = x, .y = y}, no_x = {.y = y}, no_y = {.x = x};
  const sparc_sequence_bf16 bad_mask = {.x = x, .y = y, .mask = mask};
  const sparc_sequence_gradient_bf16 gradient = {.dy = dy}, no_dy = {0};
  expect_refused(sparc_forward_bf16(NULL, prepared, &io, saved, work), "plan is NULL");
  expect_refused(sparc_forward_bf16(plan, NULL, &io, saved, work), "prepared is NULL");
  expect_refused(sparc_forward_bf16(plan, prepared, NULL, saved, work), "sequence is NULL");
  expect_refused(sparc_forward_bf16(plan, prepared, &io, NULL, work), "saved is NULL");
  expect_refused(sparc_forward_bf16(plan, prepared, &io, saved, NULL), "work is NULL");
  expect_refused(sparc_forward_bf16(plan, prepared, &no_x, saved, work), "sequence.x is NULL");
  expect_refused(sparc_forward_bf16(plan, prepared, &no_y, saved, work), "sequence.y is NULL");
  expect_refused(sparc_forward_bf16(plan, prepared, &bad_mask, saved, work), "mask[0][0] is 0.5, expected 0 or 1");
  assert_int_equal(y[0], 0x1234);
  expect_refused(sparc_backward_bf16(plan, prepared, &io, saved, NULL, work), "gradient is NULL");
  expect_refused(sparc_backward_bf16(plan, prepared, &io, saved, &no_dy, work), "gradient.dy is NULL");
  expect_refused(sparc_backward_bf16(NULL, prepared, &io, saved, &gradient, work), "plan is NULL");
  sparc_free(saved);
  sparc_free(work);
  sparc_free(prepared);
  sparc_plan_free(plan);
  sparc_cell_free(cell);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_bf16), cmocka_unit_test(test_known_values),      cmocka_unit_test(test_half_unit),
      cmocka_unit_test(test_arrays),     cmocka_unit_test(test_every_cell),        cmocka_unit_test(test_many_tiles),
      cmocka_unit_test(test_chunks),     cmocka_unit_test(test_missing_arguments), cmocka_unit_test(test_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
