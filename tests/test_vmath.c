/* SPDX-License-Identifier: MIT */
/* test_vmath.c: the errors of src/kernels/vmath.h against the C library in double, over every float that matters.
 *
 * The bounds asserted here are the ones that docs/numerics.md states; the program prints what it measured. Sweeps take
 * every float where 2^x, sine and cosine bend, every seventh for the quotients built from 2^x, and every 251st where a
 * function is straight. The functions are inlined into kernels that are compiled with and without fused multiply-add,
 * so both kinds of arithmetic are measured. Denormals are flushed during the sweeps, as in the kernels.
 */
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/vlanes.h"
#include "kernels/vmath.h"
#include "unit.h"

#include <assert.h>
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

VMATH void wide_turn_batch(const float *x, float *re, float *im) {
  for (size_t i = 0; i < BATCH; i++) {
    const turn t = wide_turn_of(x[i]);
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

VMATH void tanh_batch(const float *x, float *tangent, float *turned) {
  for (size_t i = 0; i < BATCH; i++) {
    tangent[i] = (float)tanh_of((double)x[i]);
    turned[i] = (float)-tanh_of(-(double)x[i]);
  }
}

/* functions over whole vectors: four of them at a time, as in the kernels */
typedef void lanes_fn(size_t ways, const lanes *x, lanes *first, lanes *second);

VMATH void lanes_batch(lanes_fn *function, const float *x, float *first, float *second) {
  for (size_t i = 0; i < BATCH; i += WAYS * LANES) {
    lanes in[WAYS], out[2][WAYS];
    for (size_t k = 0; k < WAYS; k++) in[k] = load_lanes(x + i + k * LANES);
    function(WAYS, in, out[0], out[1]);
    for (size_t k = 0; k < WAYS; k++) store_lanes(first + i + k * LANES, out[0][k]);
    for (size_t k = 0; k < WAYS; k++) store_lanes(second + i + k * LANES, out[1][k]);
  }
}

VMATH void small_decay_batch(const float *x, float *rho, float *one_minus) {
  lanes_batch(small_decay_lanes, x, rho, one_minus);
}
VMATH void small_turn_batch(const float *x, float *re, float *im) { lanes_batch(small_turn_lanes, x, re, im); }
VMATH void decay_lanes_batch(const float *x, float *rho, float *one_minus) {
  lanes_batch(decay_lanes, x, rho, one_minus);
}
VMATH void turn_lanes_batch(const float *x, float *re, float *im) { lanes_batch(turn_lanes, x, re, im); }
VMATH void wide_lanes_batch(const float *x, float *re, float *im) { lanes_batch(wide_turn_lanes, x, re, im); }

/* tanh x, and the gate 1 / (1 + 2^x) */
VMATH void quotient_lanes(size_t ways, const lanes *x, lanes *tangent, lanes *gate) {
  lanes under[WAYS];
  tanh_lanes(ways, x, tangent, under);
  EACH_WAY(k) tangent[k] = tangent[k] / under[k];
  power_lanes(ways, 1, x, gate);
  EACH_WAY(k) gate[k] = 1 / gate[k];
}
VMATH void quotient_batch(const float *x, float *tangent, float *gate) {
  lanes_batch(quotient_lanes, x, tangent, gate);
}

VMATH void small_write_lanes(size_t ways, const lanes *e, lanes *norm, lanes *psi) {
  small_polynomial_lanes(ways, SMALL_NORM, e, norm);
  small_polynomial_lanes(ways, SMALL_PSI, e, psi);
}
VMATH void small_write_batch(const float *x, float *norm, float *psi) { lanes_batch(small_write_lanes, x, norm, psi); }

enum {
  DECAY,
  TURN,
  WIDE_TURN,
  FRACTION,
  TANH,
  SMALL_DECAYS,
  SMALL_TURNS,
  SMALL_WRITES,
  DECAY_LANES,
  TURN_LANES,
  WIDE_LANES,
  QUOTIENTS,
  FUNCTIONS
};

typedef struct arithmetic {
  const char *name;
  unsigned needs; /* CPU features */
  evaluate_fn *evaluate[FUNCTIONS];
} arithmetic;

#define DEFINE_ARITHMETIC(kind, ATTRIBUTES)                                                                     \
  ATTRIBUTES static void decay_##kind(const float *x, float *a, float *b) { decay_batch(x, a, b); }             \
  ATTRIBUTES static void turn_##kind(const float *x, float *a, float *b) { turn_batch(x, a, b); }               \
  ATTRIBUTES static void wide_turn_##kind(const float *x, float *a, float *b) { wide_turn_batch(x, a, b); }     \
  ATTRIBUTES static void fraction_##kind(const float *x, float *a, float *b) { fraction_batch(x, a, b); }       \
  ATTRIBUTES static void tanh_##kind(const float *x, float *a, float *b) { tanh_batch(x, a, b); }               \
  ATTRIBUTES static void small_decay_##kind(const float *x, float *a, float *b) { small_decay_batch(x, a, b); } \
  ATTRIBUTES static void small_turn_##kind(const float *x, float *a, float *b) { small_turn_batch(x, a, b); }   \
  ATTRIBUTES static void small_write_##kind(const float *x, float *a, float *b) { small_write_batch(x, a, b); } \
  ATTRIBUTES static void quotient_##kind(const float *x, float *a, float *b) { quotient_batch(x, a, b); }       \
  ATTRIBUTES static void decay_lanes_##kind(const float *x, float *a, float *b) { decay_lanes_batch(x, a, b); } \
  ATTRIBUTES static void turn_lanes_##kind(const float *x, float *a, float *b) { turn_lanes_batch(x, a, b); }   \
  ATTRIBUTES static void wide_lanes_##kind(const float *x, float *a, float *b) { wide_lanes_batch(x, a, b); }
#define ARITHMETIC_ROW(kind, features)                                                                                \
  {#kind,                                                                                                             \
   features,                                                                                                          \
   {decay_##kind, turn_##kind, wide_turn_##kind, fraction_##kind, tanh_##kind, small_decay_##kind, small_turn_##kind, \
    small_write_##kind, decay_lanes_##kind, turn_lanes_##kind, wide_lanes_##kind, quotient_##kind}},

DEFINE_ARITHMETIC(separate, )
/* clang takes no optimisation flags for one function; there the separate kind is measured alone */
#if defined(__x86_64__) && !defined(__clang__)
#define FUSED_NEEDS (CPU_AVX2 | CPU_FMA)
DEFINE_ARITHMETIC(fused, __attribute__((target("avx2,fma"), optimize("fp-contract=fast"))))
#elif defined(__aarch64__) && !defined(__clang__)
#define FUSED_NEEDS CPU_NEON
DEFINE_ARITHMETIC(fused, __attribute__((optimize("fp-contract=fast"))))
#endif

static const arithmetic arithmetics[] = {ARITHMETIC_ROW(separate, 0)
#ifdef FUSED_NEEDS
                                             ARITHMETIC_ROW(fused, FUSED_NEEDS)
#endif
};
enum { ARITHMETICS = sizeof arithmetics / sizeof *arithmetics };

static bool runs_here(const arithmetic *a) { return (cpu_detect().features & a->needs) == a->needs; }

/* ---- reference --------------------------------------------------------------------------------------- */

typedef double reference_fn(double x);

static double rho_truth(double x) { return exp2(x); }
static double one_minus_truth(double x) { return x < -0x1p-8 ? 1 - exp2(x) : -expm1(x * 0.693147180559945309417); }
static double cos_truth(double x) { return cos(x); }
static double sin_truth(double x) { return sin(x); }
static double small_rho_truth(double x) { return exp(-x); }
static double small_one_minus_truth(double x) { return -expm1(-x); }
static double norm_truth(double x) { return sqrt(-expm1(-2 * x) / x); }
static double psi_truth(double x) { return x / expm1(2 * x); }
static double gate_truth(double x) { return 1 / (1 + exp2(x)); }
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
  reference_fn *reference[2];
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
    for (size_t k = 0; k < 2; k++) note_error((double)got[k][i], s->reference[k]((double)x[i]), &worst[k]);
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

enum { DENSE = 1, SEVENTH = 7, SPARSE = 251 };

/* every sweep this many times coarser, from the command line: for emulated processors */
static uint32_t coarser = 1;

/* the largest float phase: pi / 2 rounded up */
#define HALF_PI 0x1.921fb6p0f

typedef struct bound {
  double absolute, ulps; /* claimed; INFINITY: nothing */
} bound;

typedef struct claim {
  const char *names[2];
  int function;
  reference_fn *reference[2];
  bool negative;
  float low, high; /* magnitudes */
  uint32_t stride;
  bound bound[2];
} claim;

#define NONE              INFINITY
#define DECAY_CLAIM       {"2^x", "1 - 2^x"}, DECAY, {rho_truth, one_minus_truth}, true
#define TURN_CLAIM        {"cos", "sin"}, TURN, {cos_truth, sin_truth}, false
#define SMALL_DECAY_CLAIM {"exp(-e)", "1-exp(-e)"}, SMALL_DECAYS, {small_rho_truth, small_one_minus_truth}, false
#define SMALL_TURN_CLAIM  {"cos", "sin"}, SMALL_TURNS, {cos_truth, sin_truth}, false
#define WIDE_CLAIM        {"cos", "sin"}, WIDE_TURN, {cos_truth, sin_truth}, false
#define WIDE_LANES_CLAIM  {"cos", "sin"}, WIDE_LANES, {cos_truth, sin_truth}, false
#define TANH_CLAIM        {"tanh", "tanh"}, TANH, {tanh_truth, tanh_truth}, false
#define SMALL_WRITE_CLAIM {"norm", "psi"}, SMALL_WRITES, {norm_truth, psi_truth}, false
#define QUOTIENT_CLAIM \
  {"tanh", "gate"}, QUOTIENTS, { tanh_truth, gate_truth }
#define FRACTION_CLAIM \
  {"tanh", "sigmoid"}, FRACTION, { tanh_truth, sigmoid_truth }

/* Beyond x = -2 nothing new happens: the remainders f are among those of smaller arguments, and the scale is a power of
 * two. Where 2^x nears the smallest normal float, flushing a product costs up to that float: an absolute claim is left.
 * The sigmoid's argument is rounded once, which far on the negative side moves a number that is nearly zero. */
static const claim claims[] = {
    {DECAY_CLAIM, 0x1p-100f, 0x1p-5f, SPARSE, {{7e-8, 1.2}, {5e-8, 1.6}}},
    {DECAY_CLAIM, 0x1p-5f, 2, DENSE, {{7e-8, 1.2}, {5e-8, 1.6}}},
    {DECAY_CLAIM, 2, 102, SPARSE, {{7e-8, 1.2}, {5e-8, 1.6}}},
    {DECAY_CLAIM, 102, 128, SPARSE, {{0x1p-125, NONE}, {0, 0}}},
    {DECAY_CLAIM, 128, FLT_MAX, SPARSE, {{0x1p-128, NONE}, {0, 0}}},
    {TURN_CLAIM, 0x1p-100f, 0x1p-5f, SPARSE, {{1.3e-7, NONE}, {1.3e-7, 2.2}}},
    {TURN_CLAIM, 0x1p-5f, HALF_PI, DENSE, {{1.3e-7, NONE}, {1.3e-7, 2.2}}},
    {WIDE_CLAIM, 0x1p-100f, HALF_PI, SPARSE, {{1.3e-7, NONE}, {1.3e-7, 2.2}}},
    {WIDE_CLAIM, HALF_PI, WIDE_TURN_MAX, SEVENTH, {{2e-7, NONE}, {2e-7, NONE}}},
    {{"2^x", "1 - 2^x"},
     DECAY_LANES,
     {rho_truth, one_minus_truth},
     true,
     0x1p-5f,
     2,
     DENSE,
     {{7e-8, 1.2}, {5e-8, 1.6}}},
    {{"cos", "sin"},
     TURN_LANES,
     {cos_truth, sin_truth},
     false,
     0x1p-5f,
     HALF_PI,
     DENSE,
     {{1.3e-7, NONE}, {1.3e-7, 2.2}}},
    {WIDE_LANES_CLAIM, 0x1p-100f, HALF_PI, SPARSE, {{1.3e-7, NONE}, {1.3e-7, 2.2}}},
    {WIDE_LANES_CLAIM, HALF_PI, WIDE_TURN_MAX, SEVENTH, {{2e-7, NONE}, {2e-7, NONE}}},
    {SMALL_DECAY_CLAIM, 0x1p-100f, 0x1p-7f, SPARSE, {{7e-8, 1.2}, {5e-8, 1.6}}},
    {SMALL_DECAY_CLAIM, 0x1p-7f, SMALL_DECAY, DENSE, {{7e-8, 1.2}, {5e-8, 1.6}}},
    {SMALL_TURN_CLAIM, 0x1p-100f, 0x1p-7f, SPARSE, {{7e-8, NONE}, {7e-8, 2.2}}},
    {SMALL_TURN_CLAIM, 0x1p-7f, SMALL_TURN, DENSE, {{7e-8, NONE}, {7e-8, 2.2}}},
    {SMALL_WRITE_CLAIM, 0x1p-100f, 0x1p-7f, SPARSE, {{1.2e-7, 1.0}, {6e-8, 1.9}}},
    {SMALL_WRITE_CLAIM, 0x1p-7f, SMALL_DECAY, DENSE, {{1.2e-7, 1.0}, {6e-8, 1.9}}},
    {QUOTIENT_CLAIM, false, 0x1p-100f, 0x1p-4f, SPARSE, {{1.2e-7, 3.8}, {1e-7, 2.5}}},
    {QUOTIENT_CLAIM, false, 0x1p-4f, 18, SEVENTH, {{1.2e-7, 3.8}, {1e-7, 2.5}}},
    {QUOTIENT_CLAIM, false, 18, 64, SPARSE, {{1e-7, 1}, {1e-7, 2.5}}},
    {QUOTIENT_CLAIM, true, 0x1p-100f, 0x1p-4f, SPARSE, {{1.2e-7, 3.8}, {1e-7, 2.5}}},
    {QUOTIENT_CLAIM, true, 0x1p-4f, 18, SEVENTH, {{1.2e-7, 3.8}, {1e-7, 2.5}}},
    {QUOTIENT_CLAIM, true, 18, 64, SPARSE, {{1e-7, 1}, {1e-7, 2.5}}},
    {FRACTION_CLAIM, false, 0x1p-100f, 0x1p-4f, SPARSE, {{1.2e-7, 3.8}, {1e-7, 1.7}}},
    {FRACTION_CLAIM, false, 0x1p-4f, 18, SEVENTH, {{1.2e-7, 3.8}, {1e-7, 1.7}}},
    {FRACTION_CLAIM, false, 18, FLT_MAX, SPARSE, {{1e-15, 0.5}, {1e-7, 1.7}}},
    {FRACTION_CLAIM, true, 0x1p-100f, 0x1p-4f, SPARSE, {{1.2e-7, 3.8}, {1e-7, 1.7}}},
    {FRACTION_CLAIM, true, 0x1p-4f, 18, SEVENTH, {{1.2e-7, 3.8}, {1e-7, 17}}},
    {FRACTION_CLAIM, true, 18, FLT_MAX, SPARSE, {{1e-15, 0.5}, {2e-14, NONE}}},
    {TANH_CLAIM, 0x1p-100f, 0x1p-4f, SPARSE, {{NONE, 0.501}, {NONE, 0.501}}},
    {TANH_CLAIM, 0x1p-4f, 18, SEVENTH, {{NONE, 0.501}, {NONE, 0.501}}},
    {TANH_CLAIM, 18, FLT_MAX, SPARSE, {{NONE, 0.501}, {NONE, 0.501}}},
};

static void check_claim(const arithmetic *a, const claim *c) {
  const sweep s = {a->evaluate[c->function], {c->reference[0], c->reference[1]},
                   bits_of_float(c->low),    bits_of_float(c->high),
                   c->stride * coarser,      c->negative ? UINT32_C(1) << 31 : 0};
  error worst[2] = {{0, 0}, {0, 0}};
  run_sweep(&s, worst);
  for (size_t k = 0; k < 2; k++) {
    const bound *claimed = &c->bound[k];
    printf("%-8s  %-8s  %10.3g to %-10.3g  %9.3g absolute", c->names[k], a->name,
           (double)(c->negative ? -c->high : c->low), (double)(c->negative ? -c->low : c->high), worst[k].absolute);
    if (isfinite(claimed->ulps)) printf("  %6.3f ulp", worst[k].ulps);
    putchar('\n');
    if (!(worst[k].absolute <= claimed->absolute && worst[k].ulps <= claimed->ulps))
      fail_msg("%s (%s): error %.3g, %.3f ulp; claimed %.3g, %.3f ulp", c->names[k], a->name, worst[k].absolute,
               worst[k].ulps, claimed->absolute, claimed->ulps);
  }
}

static void test_bounds(void **state) {
  (void)state;
  for (size_t a = 0; a < ARITHMETICS; a++)
    for (size_t c = 0; runs_here(&arithmetics[a]) && c < sizeof claims / sizeof *claims; c++)
      check_claim(&arithmetics[a], &claims[c]);
}

/* ---- exact values -------------------------------------------------------------------------------- */

/* both results for one argument */
static void evaluate_one(const arithmetic *a, int function, float x, float *first, float *second) {
  float arguments[BATCH], results[2][BATCH];
  for (size_t i = 0; i < BATCH; i++) arguments[i] = x;
  a->evaluate[function](arguments, results[0], results[1]);
  *first = results[0][0];
  *second = results[1][0];
}

static void test_special_values(void **state) {
  (void)state;
  const struct {
    int function;
    float x, first, second;
  } cases[] = {
      {DECAY, 0, 1, 0},
      {DECAY, -1, 0.5f, 0.5f},
      {DECAY, -126, 0x1p-126f, 1},
      {DECAY, -1000, 0, 1}, /* never denormal: exactly 0 below -126.5 */
      {DECAY, -INFINITY, 0, 1},
      {DECAY, NAN, NAN, NAN},
      {TURN, 0, 1, 0},
      {TURN, NAN, NAN, NAN},
      {FRACTION, 0, 0, 0.5f},
      {FRACTION, 1e30f, 1, 1},
      {FRACTION, INFINITY, 1, 1},
      {FRACTION, -INFINITY, -1, 0},
      {FRACTION, NAN, NAN, NAN},
      {TANH, INFINITY, 1, 1},
      {TANH, 0, 0, 0},
      {TANH, NAN, NAN, NAN},
  };
  for (size_t a = 0; a < ARITHMETICS; a++) {
    for (size_t i = 0; runs_here(&arithmetics[a]) && i < sizeof cases / sizeof *cases; i++) {
      float first, second;
      evaluate_one(&arithmetics[a], cases[i].function, cases[i].x, &first, &second);
      const bool nan = isnan(cases[i].first);
      if (nan ? !isnan(first) || !isnan(second) : first != cases[i].first || second != cases[i].second)
        fail_msg("case %zu (%s): %g and %g at %g", i, arithmetics[a].name, (double)first, (double)second,
                 (double)cases[i].x);
    }
  }
}

/* the length of (cos, sin) is 1 to less than what |a| <= 1 - 2^-22 leaves: a mode that turns for ever does not grow */
static void test_turns_keep_their_length(void **state) {
  (void)state;
  float x[BATCH], re[BATCH], im[BATCH];
  double longest = 0;
  const uint32_t first = bits_of_float(0x1p-10f), count = bits_of_float(WIDE_TURN_MAX) - first;
  for (size_t a = 0; a < ARITHMETICS; a++) {
    if (!runs_here(&arithmetics[a])) continue;
    for (uint32_t at = 0; at + BATCH * 13 < count; at += BATCH * 13) {
      for (uint32_t i = 0; i < BATCH; i++) x[i] = float_of_bits(first + at + 13 * i);
      arithmetics[a].evaluate[WIDE_TURN](x, re, im);
      for (size_t i = 0; i < BATCH; i++) longest = fmax(longest, hypot((double)re[i], (double)im[i]));
    }
  }
  printf("longest turn: 1 + %.3g\n", longest - 1);
  /* magnitude times cos and sin are each rounded again */
  if (!(longest * (1 - 0x1p-22) * (1 + 0x1p-24) < 1)) fail_msg("a turn of length 1 + %.3g", longest - 1);
}

/* cos is even and sin is odd, bit-exactly: their sweeps need one sign only */
static void test_symmetry(void **state) {
  (void)state;
  float x[2][BATCH], re[2][BATCH], im[2][BATCH];
  for (uint32_t i = 0; i < BATCH; i++) {
    x[0][i] = float_of_bits(bits_of_float(HALF_PI) / BATCH * i);
    x[1][i] = -x[0][i];
  }
  for (size_t a = 0; a < ARITHMETICS; a++) {
    if (!runs_here(&arithmetics[a])) continue;
    for (size_t k = 0; k < 2; k++) arithmetics[a].evaluate[TURN](x[k], re[k], im[k]);
    for (size_t i = 0; i < BATCH; i++)
      if (re[0][i] != re[1][i] || im[0][i] != -im[1][i]) fail_msg("no symmetry at %g", (double)x[0][i]);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) coarser = (uint32_t)atoi(argv[1]);
  assert(coarser > 0);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds), cmocka_unit_test(test_special_values),
                                     cmocka_unit_test(test_turns_keep_their_length), cmocka_unit_test(test_symmetry)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
