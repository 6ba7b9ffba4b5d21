/* SPDX-License-Identifier: MIT */
/* test_vmath.c: the errors of src/kernels/vmath.h against the C library in double, over every float that matters.
 *
 * The bounds asserted here are the ones that docs/numerics.md states; the program prints what it measured. Sweeps take
 * every float where a function bends and every SPARSE-th where it is a straight line. The functions are inlined into
 * kernels that are compiled with and without fused multiply-add, so both kinds of arithmetic are measured. Denormals
 * are flushed during the sweeps, as in the kernels.
 */
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/vmath.h"
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- the functions over arrays, in both kinds of arithmetic -------------------------------------- */

enum { BATCH = 4096 };

/* two results for each of BATCH arguments */
typedef void evaluate_fn(const float *x, float *first, float *second);

VMATH void decay_batch(const float *x, float *rho, float *one_minus) {
  for (size_t i = 0; i < BATCH; i++) {
    const decay_pair d = decay_of(x[i]);
    rho[i] = d.rho;
    one_minus[i] = d.one_minus;
  }
}

VMATH void turn_batch(const float *x, float *re, float *im) {
  for (size_t i = 0; i < BATCH; i++) {
    const turn t = turn_of(x[i]);
    re[i] = t.re;
    im[i] = t.im;
  }
}

VMATH void fraction_batch(const float *x, float *tangent, float *sigmoid) {
  for (size_t i = 0; i < BATCH; i++) {
    const fraction t = tanh_fraction(x[i]), s = sigmoid_fraction(x[i]);
    tangent[i] = t.over / t.under;
    sigmoid[i] = s.over / s.under;
  }
}

enum { DECAY, TURN, FRACTION, FUNCTIONS };

typedef struct arithmetic {
  const char *name;
  unsigned needs; /* CPU features */
  evaluate_fn *evaluate[FUNCTIONS];
} arithmetic;

#define DEFINE_ARITHMETIC(kind, ATTRIBUTES)                                                                        \
  ATTRIBUTES static void decay_##kind(const float *x, float *a, float *b) { decay_batch(x, a, b); }                \
  ATTRIBUTES static void turn_##kind(const float *x, float *a, float *b) { turn_batch(x, a, b); }                  \
  ATTRIBUTES static void fraction_##kind(const float *x, float *a, float *b) { fraction_batch(x, a, b); }
#define ARITHMETIC_ROW(kind, features) {#kind, features, {decay_##kind, turn_##kind, fraction_##kind}},

DEFINE_ARITHMETIC(separate, )
/* clang takes no optimisation flags for one function; there the separate kind is measured alone */
#if defined(__x86_64__) && !defined(__clang__)
#define HAVE_FUSED 1
DEFINE_ARITHMETIC(fused, __attribute__((target("avx2,fma"), optimize("fp-contract=fast"))))
#else
#define HAVE_FUSED 0
#endif

static const arithmetic arithmetics[] = {ARITHMETIC_ROW(separate, 0)
#if HAVE_FUSED
                                             ARITHMETIC_ROW(fused, CPU_AVX2 | CPU_FMA)
#endif
};
enum { ARITHMETICS = sizeof arithmetics / sizeof *arithmetics };

static bool runs_here(const arithmetic *a) { return (cpu_detect().features & a->needs) == a->needs; }

/* ---- truth --------------------------------------------------------------------------------------- */

typedef double truth_fn(double x);

static double rho_truth(double x) { return exp2(x); }
static double one_minus_truth(double x) { return x < -0x1p-8 ? 1 - exp2(x) : -expm1(x * 0.693147180559945309417); }
static double cos_truth(double x) { return cos(x); }
static double sin_truth(double x) { return sin(x); }
static double tanh_truth(double x) { return tanh(x); }
static double sigmoid_truth(double x) { return 1 / (1 + exp(-x)); }

/* ---- sweeps -------------------------------------------------------------------------------------- */

typedef struct error {
  double absolute, ulps; /* units in the last place of the true value as a float */
} error;

/* distance of neighbouring floats around a value that is a normal float */
static double ulp_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits &= UINT64_C(0x7ff0000000000000);
  memcpy(&value, &bits, sizeof value);
  return value * 0x1p-23;
}

static void note_error(double got, double want, error *worst) {
  const double difference = fabs(got - want), ulp = ulp_of(want);
  if (!(difference <= worst->absolute)) worst->absolute = difference;
  if (!(difference / ulp <= worst->ulps)) worst->ulps = difference / ulp;
}

/* the floats sign * [first, last] as bit patterns of their magnitude, every `stride`-th */
typedef struct sweep {
  evaluate_fn *evaluate;
  truth_fn *truth[2];
  uint32_t first, last, stride;
  uint32_t sign; /* 0 or the sign bit */
} sweep;

enum { TILES = 64 };

typedef struct sweep_run {
  const sweep *sweep;
  error worst[TILES][2];
} sweep_run;

static uint64_t sweep_count(const sweep *s) { return ((uint64_t)s->last - s->first) / s->stride + 1; }

static void sweep_batch(const sweep *s, uint64_t from, uint64_t to, error worst[2]) {
  float x[BATCH], got[2][BATCH];
  for (uint64_t i = 0; i < BATCH; i++) {
    const uint64_t at = from + i < to ? from + i : to - 1;
    x[i] = float_of_bits(((uint32_t)(s->first + at * s->stride)) | s->sign);
  }
  s->evaluate(x, got[0], got[1]);
  for (uint64_t i = 0; i < to - from; i++)
    for (size_t k = 0; k < 2; k++) note_error((double)got[k][i], s->truth[k]((double)x[i]), &worst[k]);
}

static void sweep_tile(void *context, size_t tile) {
  sweep_run *run = context;
  const uint64_t count = sweep_count(run->sweep);
  const uint64_t begin = count * tile / TILES, end = count * (tile + 1) / TILES;
  for (uint64_t at = begin; at < end; at += BATCH)
    sweep_batch(run->sweep, at, at + BATCH < end ? at + BATCH : end, run->worst[tile]);
}

static void run_sweep(const sweep *s, error worst[2]) {
  sweep_run run = {.sweep = s};
  parallel_for(0, TILES, sweep_tile, &run);
  for (size_t tile = 0; tile < TILES; tile++) {
    for (size_t k = 0; k < 2; k++) {
      worst[k].absolute = fmax(worst[k].absolute, run.worst[tile][k].absolute);
      worst[k].ulps = fmax(worst[k].ulps, run.worst[tile][k].ulps);
    }
  }
}

/* ---- bounds -------------------------------------------------------------------------------------- */

enum { DENSE = 1, SPARSE = 251 };

typedef struct bound {
  double absolute, ulps; /* claimed; INFINITY: nothing */
} bound;

typedef struct claim {
  const char *names[2];
  int function;
  truth_fn *truth[2];
  bool negative;
  float low, high; /* magnitudes */
  uint32_t stride;
  bound bound[2];
} claim;

#define NONE INFINITY
#define DECAY_CLAIM    {"2^x", "1 - 2^x"}, DECAY, {rho_truth, one_minus_truth}, true
#define TURN_CLAIM     {"cos", "sin"}, TURN, {cos_truth, sin_truth}, false
#define FRACTION_CLAIM {"tanh", "sigmoid"}, FRACTION, {tanh_truth, sigmoid_truth}

/* Where 2^x nears the smallest normal float, a flushed product costs up to that float: an absolute claim is left. The
 * sigmoid's argument is rounded once, which far on the negative side moves a number that is nearly zero. */
static const claim claims[] = {
    {DECAY_CLAIM, 0x1p-100f, 0x1p-5f, SPARSE, {{1.2e-7, 1.2}, {1.2e-7, 1.7}}},
    {DECAY_CLAIM, 0x1p-5f, 102, DENSE, {{1.2e-7, 1.2}, {1.2e-7, 1.7}}},
    {DECAY_CLAIM, 102, 126, DENSE, {{0x1p-125, NONE}, {0, 0}}},
    {TURN_CLAIM, 0x1p-100f, 0x1p-5f, SPARSE, {{1.2e-7, 2}, {1.2e-7, 2}}},
    {TURN_CLAIM, 0x1p-5f, 1.57079637f, DENSE, {{1.2e-7, NONE}, {2e-7, 2.5}}},
    {FRACTION_CLAIM, false, 0x1p-100f, 0x1p-4f, SPARSE, {{2e-7, 4}, {2e-7, 4}}},
    {FRACTION_CLAIM, false, 0x1p-4f, 18, DENSE, {{2e-7, 4}, {2e-7, 4}}},
    {FRACTION_CLAIM, false, 18, 0x1.fffffep127f, SPARSE, {{0, 0}, {1e-7, 1}}},
    {FRACTION_CLAIM, true, 0x1p-100f, 0x1p-4f, SPARSE, {{2e-7, 4}, {2e-7, 4}}},
    {FRACTION_CLAIM, true, 0x1p-4f, 18, DENSE, {{2e-7, 4}, {2e-7, NONE}}},
    {FRACTION_CLAIM, true, 18, 0x1.fffffep127f, SPARSE, {{0, 0}, {1e-12, NONE}}},
};

static void check_claim(const arithmetic *a, const claim *c) {
  const sweep s = {a->evaluate[c->function],
                   {c->truth[0], c->truth[1]},
                   bits_of_float(c->low),
                   bits_of_float(c->high),
                   c->stride,
                   c->negative ? UINT32_C(1) << 31 : 0};
  error worst[2] = {{0, 0}, {0, 0}};
  run_sweep(&s, worst);
  for (size_t k = 0; k < 2; k++) {
    printf("%-8s  %-8s  %10.3g to %-10.3g  %9.3g absolute  %8.3f ulp\n", c->names[k], a->name,
           (double)(c->negative ? -c->high : c->low), (double)(c->negative ? -c->low : c->high), worst[k].absolute,
           worst[k].ulps);
    if (!(worst[k].absolute <= c->bound[k].absolute && worst[k].ulps <= c->bound[k].ulps))
      printf("FAIL %s (%s): error %.3g or %.3f ulp, claimed %.3g and %.3f", c->names[k], a->name, worst[k].absolute,
               worst[k].ulps, c->bound[k].absolute, c->bound[k].ulps);
  }
}

static void test_bounds(void **state) {
  (void)state;
  for (size_t a = 0; a < ARITHMETICS; a++)
    for (size_t c = 0; runs_here(&arithmetics[a]) && c < sizeof claims / sizeof *claims; c++)
      check_claim(&arithmetics[a], &claims[c]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
