/* SPDX-License-Identifier: MIT */
/* test_long.c: float against double as sequences grow, for the cells with a spectrum.
 *
 * Modes of the classification initialisation remember about a thousand steps, so errors of the transition add up over
 * that many. The gradient of the log frequency is the most sensitive: the phase error of a transition, times the age of
 * what it turns. A frequency derived in float instead of double fails this test. A mode that hardly decays collects
 * the rounding error of its transition without end; the second test bounds it per step. The program prints the figures
 * of docs/numerics.md.
 */
#include "base/random.h"
#include "support.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = 8, H = 64, SEEDS = 3 };
static const char *const kinds[] = {"sparc", "rtu", "lru"};
static const int lengths[] = {64, 256, 1024, 4096, 16384};

/* the initial parameters, with small numbers in the blocks that start at zero: controllers and gates at work */
static void start_parameters(problem *p, sparc_random *stream) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p->cell, &count);
  float *initial = sparc_alloc(p->n.params * sizeof *initial);
  assert_int_equal(sparc_cell_init(p->cell, SPARC_INIT_CLASSIFICATION, random_u64(stream), NULL, initial), 0);
  for (size_t b = 0; b < count; b++) {
    const bool starts_at_zero = initial[blocks[b].offset] == 0;
    for (size_t i = blocks[b].offset; i < blocks[b].offset + blocks[b].size; i++)
      p->params[i] = starts_at_zero ? (double)(float)(0.3 * sparc_random_normal(stream)) : (double)initial[i];
  }
  sparc_free(initial);
}

typedef struct errors {
  double y, dx, log_freq, dparams; /* E_norm; dparams: the worst block */
} errors;

static errors errors_of(const char *kind, int T, uint64_t seed) {
  sparc_random stream;
  sparc_random_init(&stream, seed, "long", kind);
  problem p = problem_create(&(sparc_cell_config){.kind = kind, .D = D, .H = H}, 1, T, MASK_NONE, &stream);
  start_parameters(&p, &stream);
  result got = result_create(&p), want = result_create(&p);
  run_sequence_f32(&p, NULL, true, &got);
  run_sequence_f64(&p, NULL, true, &want);

  errors e = {.y = e_norm((size_t)T * p.n.output, got.y, want.y), .dx = e_norm((size_t)T * D, got.dx, want.dx)};
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p.cell, &count);
  for (size_t b = 0; b < count; b++) {
    const double error = e_norm(blocks[b].size, got.dparams + blocks[b].offset, want.dparams + blocks[b].offset);
    e.dparams = fmax(e.dparams, error);
    if (strcmp(blocks[b].name, "log_freq") == 0) e.log_freq = error;
  }
  result_free(&got);
  result_free(&want);
  problem_free(&p);
  return e;
}

/* the paper accepts 2e-5 for outputs and 1e-4 for gradients at T = 64 */
static void test_within_the_thresholds(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      errors worst = {0};
      for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const errors e = errors_of(kinds[k], lengths[i], seed);
        worst = (errors){fmax(worst.y, e.y), fmax(worst.dx, e.dx), fmax(worst.log_freq, e.log_freq),
                         fmax(worst.dparams, e.dparams)};
      }
      printf("%-6s T %5d  y %.1e  dx %.1e  dlog_freq %.1e  worst block %.1e\n", kinds[k], lengths[i], worst.y, worst.dx,
             worst.log_freq, worst.dparams);
      if (!(worst.y <= 2e-5 && worst.dx <= 2e-5 && worst.dparams <= 1e-4))
        fail_msg("%s at T %d: float differs from double by more than documented", kinds[k], lengths[i]);
    }
  }
}

/* what is left of the first input after T steps, relative to its size, in the worst mode */
static double drift_of(const char *kind, int T) {
  sparc_random stream;
  sparc_random_init(&stream, 1, "drift", kind);
  problem p = problem_create(&(sparc_cell_config){.kind = kind, .D = D, .H = H}, 1, T, MASK_FIRST, &stream);
  start_parameters(&p, &stream);
  for (size_t j = 0; j < H; j++) p.params[j] = -13.5; /* log_decay, the first block: 2e-6, just above the floor */
  memset(p.x + D, 0, ((size_t)T - 1) * D * sizeof *p.x);
  result got = result_create(&p), want = result_create(&p);
  run_sequence_f32(&p, NULL, false, &got);
  run_sequence_f64(&p, NULL, false, &want);
  double worst = 0;
  for (size_t j = 0; j < H; j++) {
    const double re = got.state_last[j] - want.state_last[j], im = got.state_last[H + j] - want.state_last[H + j];
    worst = fmax(worst, hypot(re, im) / hypot(want.state_last[j], want.state_last[H + j]));
  }
  result_free(&got);
  result_free(&want);
  problem_free(&p);
  return worst;
}

static void test_drift_of_a_mode_that_hardly_decays(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      const double drift = drift_of(kinds[k], lengths[i]);
      printf("%-6s T %5d  drift %.1e, %.1e per step\n", kinds[k], lengths[i], drift, drift / lengths[i]);
      if (!(drift <= 1.5e-7 * lengths[i])) fail_msg("%s: a mode drifts by %g in %d steps", kinds[k], drift, lengths[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_within_the_thresholds),
                                     cmocka_unit_test(test_drift_of_a_mode_that_hardly_decays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
