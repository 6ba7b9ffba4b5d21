/* SPDX-License-Identifier: MIT */
/* test_random.c: streams against reference outputs, draws against their distributions, initialisers against algebra.
 *
 * Every seed is fixed, so nothing here is flaky; the limits of the statistical tests are those that a correct
 * generator exceeds about once in a thousand seeds.
 */
#include "base/random.h"

#include <Random123/philox.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* needs the headers above, so it stays apart from them */
#include <cmocka.h>

static sparc_random stream(uint64_t seed, const char *name) {
  sparc_random r;
  sparc_random_init(&r, seed, "test", name);
  return r;
}

/* a stream whose next words are given: positions 0 to 3 of a block are read from the cache once it is entered */
static sparc_random stream_of(uint32_t first, uint32_t second) {
  sparc_random r = stream(0, "given words");
  random_u32(&r);
  r.words[1] = first;
  r.words[2] = second;
  return r;
}

/* ---- streams ---- */

/* the three philox4x32-10 lines of Random123's own kat_vectors */
static void philox_reference_outputs(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], output[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t k = 0; k < COUNT(known); k++) {
    philox4x32_ctr_t counter;
    philox4x32_key_t key;
    memcpy(counter.v, known[k].counter, sizeof counter.v);
    memcpy(key.v, known[k].key, sizeof key.v);
    counter = philox4x32(counter, key);
    assert_memory_equal(counter.v, known[k].output, sizeof counter.v);
  }

  /* the zero stream is the zero key and counter */
  sparc_random zero = {.position = 0};
  for (size_t i = 0; i < 4; i++) assert_int_equal(random_u32(&zero), known[0].output[i]);
}

/* frozen words, from an independent implementation of the hash and of Philox */
static void frozen_streams(void **state) {
  (void)state;
  static const struct {
    uint64_t seed;
    const char *purpose, *name;
    uint64_t position;
    uint32_t words[6];
  } frozen[] = {
      {0, "", "", 0, {0x64ce0896, 0xa79e48ca, 0xf48eaa10, 0x2fb67462, 0xd0e275b3, 0x9fc314ba}},
      {0, NULL, NULL, 0, {0x64ce0896, 0xa79e48ca, 0xf48eaa10, 0x2fb67462, 0xd0e275b3, 0x9fc314ba}},
      {20240229, "init", "content.weight", 0, {0x4fdf44f4, 0xc43e5f03, 0xb90dad78, 0x8b7a3a4f, 0x47aba470, 0x63bd59de}},
      {0xfedcba9876543210,
       "environment instance",
       "a name that is longer than one piece of sixteen bytes",
       0,
       {0x545ea69c, 0x9621203d, 0xd749887c, 0x221a3a2d, 0x46e3ac5d, 0x7770d81f}},
      {7,
       "policy",
       "m\xc3\xa9moire",
       25769803781,
       {0x7654bc67, 0xb998d328, 0x4be96a0c, 0x4a4eef21, 0x94825fab, 0x2900440b}},
  };
  for (size_t k = 0; k < COUNT(frozen); k++) {
    sparc_random r;
    sparc_random_init(&r, frozen[k].seed, frozen[k].purpose, frozen[k].name);
    assert_int_equal(r.position, 0);
    random_seek(&r, frozen[k].position);
    for (size_t i = 0; i < 6; i++) assert_int_equal(random_u32(&r), frozen[k].words[i]);
  }
}

static int compare_identity(const void *a, const void *b) { return memcmp(a, b, 4 * sizeof(uint32_t)); }

/* key and stream together identify a stream: all of these must differ */
static void streams_are_distinct(void **state) {
  (void)state;
  enum { SEEDS = 50, NAMES = 200, SPECIAL = 6, TOTAL = SEEDS * NAMES + SPECIAL };
  static const char *const special[SPECIAL][2] = {{"a", "bc"}, {"ab", "c"}, {"abc", ""},
                                                  {"", "abc"}, {"bc", "a"}, {"a", "b"}};
  uint32_t(*identity)[4] = malloc(TOTAL * sizeof *identity);
  assert_non_null(identity);
  for (int k = 0; k < TOTAL; k++) {
    char name[16];
    snprintf(name, sizeof name, "array.%d", k % NAMES);
    sparc_random r;
    if (k < SEEDS * NAMES)
      sparc_random_init(&r, (uint64_t)(k / NAMES), "init", name);
    else
      sparc_random_init(&r, 0, special[k - SEEDS * NAMES][0], special[k - SEEDS * NAMES][1]);
    memcpy(identity[k], r.key, sizeof r.key);
    memcpy(identity[k] + 2, r.stream, sizeof r.stream);
  }
  qsort(identity, TOTAL, sizeof *identity, compare_identity);
  for (int k = 1; k < TOTAL; k++) assert_int_not_equal(compare_identity(identity[k - 1], identity[k]), 0);
  free(identity);
}

/* neighbouring seeds, purposes, names and positions are uncorrelated */
static void streams_are_independent(void **state) {
  (void)state;
  enum { N = 100000 };
  sparc_random base, other[4];
  sparc_random_init(&base, 1, "init", "w1");
  sparc_random_init(&other[0], 2, "init", "w1");
  sparc_random_init(&other[1], 1, "inis", "w1");
  sparc_random_init(&other[2], 1, "init", "w2");
  other[3] = base;
  random_seek(&other[3], 2);
  double sum[4] = {0};
  for (int i = 0; i < N; i++) {
    double u = sparc_random_uniform(&base) - 0.5;
    for (int k = 0; k < 4; k++) sum[k] += u * (sparc_random_uniform(&other[k]) - 0.5);
  }
  for (int k = 0; k < 4; k++) assert_true(fabs(12 * sum[k]) < 3.3 * sqrt(N));
}

/* ---- positions ---- */

static void draw_u32(sparc_random *r) { random_u32(r); }
static void draw_u64(sparc_random *r) { random_u64(r); }
static void draw_uniform(sparc_random *r) { sparc_random_uniform(r); }
static void draw_uniform_f32(sparc_random *r) { random_uniform_f32(r); }
static void draw_below(sparc_random *r) { sparc_random_below(r, 0xc0000001); }
static void draw_normal(sparc_random *r) { sparc_random_normal(r); }
static void draw_truncated(sparc_random *r) { random_truncated_normal(r); }
static void draw_ring(sparc_random *r) { random_ring(r, 0.1, 0.9); }
static void draw_phase(sparc_random *r) { random_phase(r, 1); }
static void draw_permutation(sparc_random *r) {
  int values[5];
  random_permutation(r, values, 5);
}
static void draw_fill_normal(sparc_random *r) {
  float values[5];
  random_fill_normal(r, values, 5, 1);
}
static void draw_fill_uniform(sparc_random *r) {
  float values[5];
  random_fill_uniform(r, values, 5, 0, 1);
}
static void draw_lecun(sparc_random *r) {
  float values[3];
  assert_int_equal(random_lecun_normal(r, values, 3, 7), SPARC_OK);
}
static void draw_torch(sparc_random *r) {
  float values[3];
  assert_int_equal(random_torch_uniform(r, values, 3, 7), SPARC_OK);
}
static void draw_orthogonal(sparc_random *r) {
  float values[15];
  assert_int_equal(random_orthogonal(r, values, 3, 5, 1), SPARC_OK);
}

/* after any draw from any position, tell and seek reproduce what follows, in a stream opened afresh */
static void seek_and_tell(void **state) {
  (void)state;
  static const struct {
    void (*draw)(sparc_random *);
    uint64_t words; /* as documented; 0: varies */
  } draws[] = {{draw_u32, 1},           {draw_u64, 2},    {draw_uniform, 2},     {draw_uniform_f32, 1},
               {draw_below, 0},         {draw_normal, 2}, {draw_truncated, 2},   {draw_ring, 2},
               {draw_phase, 2},         {draw_lecun, 6},  {draw_permutation, 0}, {draw_fill_normal, 10},
               {draw_fill_uniform, 10}, {draw_torch, 6},  {draw_orthogonal, 30}};
  int below_retried = 0;
  for (size_t k = 0; k < COUNT(draws); k++) {
    for (uint64_t start = 0; start < 40; start++) {
      sparc_random r = stream(3, "seek"), again = stream(3, "seek");
      random_seek(&r, start);
      draws[k].draw(&r);
      uint64_t position = r.position, used = position - start;
      if (draws[k].words)
        assert_int_equal(used, draws[k].words);
      else
        assert_true(used >= 1);
      below_retried |= draws[k].draw == draw_below && used > 1;
      random_seek(&again, position);
      for (int i = 0; i < 9; i++) assert_int_equal(random_u32(&r), random_u32(&again));
      assert_int_equal(r.position, again.position);
    }
  }
  assert_true(below_retried);
}

static void copies_fork(void **state) {
  (void)state;
  sparc_random r = stream(5, "fork");
  for (int i = 0; i < 7; i++) random_u32(&r);
  sparc_random copy = r;
  uint64_t ahead = random_u64(&r);
  sparc_random_normal(&r);
  assert_int_equal(random_u64(&copy), ahead);

  /* backwards as well, far away, and across the block that holds the position */
  random_seek(&r, 7);
  assert_int_equal(random_u64(&r), ahead);
  random_seek(&r, UINT64_MAX - 2);
  uint32_t last[3];
  for (int i = 0; i < 3; i++) last[i] = random_u32(&r);
  random_seek(&copy, UINT64_MAX);
  assert_int_equal(random_u32(&copy), last[2]);
  assert_int_equal(copy.position, 0);
}

/* ---- distributions ---- */

static int compare_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double uniform_cdf(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2)); }
static double truncated_cdf(double x) {
  return x < -2 ? 0 : x > 2 ? 1 : (normal_cdf(x) - normal_cdf(-2)) / (normal_cdf(2) - normal_cdf(-2));
}
static double ring_cdf(double s) { return uniform_cdf((s - 0.81) / (0.998001 - 0.81)); }
static double phase_cdf(double theta) { return uniform_cdf(theta / 6.28); }
static double lecun_cdf(double x) { return truncated_cdf(x * sqrt(48) * 0.87962566103423978); }
static double torch_cdf(double x) { return uniform_cdf((x * sqrt(48) + 1) / 2); }
static double wide_cdf(double x) { return uniform_cdf((x + 3) / 8); }
static double scaled_cdf(double x) { return normal_cdf(x / 2.5); }

static double sample_f32(sparc_random *r) { return (double)random_uniform_f32(r); }
static double sample_ring(sparc_random *r) { return random_ring(r, 0.9, 0.999); }
static double sample_phase(sparc_random *r) { return random_phase(r, 6.28); }
static double sample_lecun(sparc_random *r) {
  float x;
  random_lecun_normal(r, &x, 1, 48);
  return (double)x;
}
static double sample_torch(sparc_random *r) {
  float x;
  random_torch_uniform(r, &x, 1, 48);
  return (double)x;
}
static double sample_wide(sparc_random *r) {
  float x;
  random_fill_uniform(r, &x, 1, -3, 5);
  return (double)x;
}
static double sample_scaled(sparc_random *r) {
  float x;
  random_fill_normal(r, &x, 1, 2.5);
  return (double)x;
}

/* Kolmogorov and Smirnov: the largest gap between the empirical and the true distribution function, times sqrt(n), is
 * above 1.95 once in a thousand; two draws in a row must be uncorrelated too */
static void distributions(void **state) {
  (void)state;
  enum { N = 100000 };
  static const struct {
    const char *name;
    double (*sample)(sparc_random *), (*cdf)(double);
  } cases[] = {{"uniform", sparc_random_uniform, uniform_cdf},
               {"uniform_f32", sample_f32, uniform_cdf},
               {"normal", sparc_random_normal, normal_cdf},
               {"truncated", random_truncated_normal, truncated_cdf},
               {"ring", sample_ring, ring_cdf},
               {"phase", sample_phase, phase_cdf},
               {"lecun", sample_lecun, lecun_cdf},
               {"torch", sample_torch, torch_cdf},
               {"fill_uniform", sample_wide, wide_cdf},
               {"fill_normal", sample_scaled, scaled_cdf}};
  double *p = malloc(N * sizeof *p);
  assert_non_null(p);
  for (size_t k = 0; k < COUNT(cases); k++) {
    sparc_random r = stream(11, cases[k].name);
    for (int i = 0; i < N; i++) p[i] = cases[k].cdf(cases[k].sample(&r));
    double serial = 0, gap = 0;
    for (int i = 1; i < N; i++) serial += 12 * (p[i - 1] - 0.5) * (p[i] - 0.5);
    qsort(p, N, sizeof *p, compare_double);
    for (int i = 0; i < N; i++) gap = fmax(gap, fmax(p[i] - (double)i / N, (double)(i + 1) / N - p[i]));
    if (gap * sqrt(N) >= 1.95 || fabs(serial) >= 3.3 * sqrt(N))
      fail_msg("%s: gap %g, serial %g", cases[k].name, gap * sqrt(N), serial / sqrt(N));
  }
  free(p);
}

/* what the cut to [-2, 2] leaves of the unit variance */
static double truncated_variance(void) { return 1 - 4 * exp(-2) / sqrt(2 * M_PI) / erf(sqrt(2)); }

/* the first four moments within 3.3 standard errors; KS is blind to the tails that the fourth one sees */
static void normal_moments(void **state) {
  (void)state;
  enum { N = 400000 };
  static const double expected[4] = {0, 1, 0, 3}, variance[4] = {1, 2, 15, 96};
  sparc_random r = stream(12, "moments");
  double sum[4] = {0};
  for (int i = 0; i < N; i++) {
    double x = sparc_random_normal(&r), power = 1;
    for (int k = 0; k < 4; k++) sum[k] += power *= x;
  }
  for (int k = 0; k < 4; k++) assert_true(fabs(sum[k] / N - expected[k]) < 3.3 * sqrt(variance[k] / N));

  double squares = 0;
  for (int i = 0; i < N; i++) {
    double x = random_truncated_normal(&r);
    assert_true(fabs(x) <= 2);
    squares += x * x;
  }
  assert_true(fabs(squares / N - truncated_variance()) < 0.004);
}

/* initialisers are the plain draws of the same words, scaled by their definitions */
static void initialisers_scale_draws(void **state) {
  (void)state;
  static const int fans[] = {1, 2, 48, 1000003};
  for (size_t k = 0; k < COUNT(fans); k++) {
    float lecun, torch, normal, uniform;
    sparc_random r = stream(20, "scale"), same = r;
    assert_int_equal(random_lecun_normal(&r, &lecun, 1, fans[k]), SPARC_OK);
    assert_int_equal(random_torch_uniform(&r, &torch, 1, fans[k]), SPARC_OK);
    random_fill_normal(&r, &normal, 1, fans[k]);
    random_fill_uniform(&r, &uniform, 1, -fans[k], 3 * fans[k]);
    double scale = 1 / sqrt(fans[k] * truncated_variance());
    assert_true(fabs((double)lecun / (scale * random_truncated_normal(&same)) - 1) < 1e-7);
    assert_true(fabs((double)torch / ((2 * sparc_random_uniform(&same) - 1) / sqrt(fans[k])) - 1) < 1e-7);
    assert_true(fabs((double)normal / (fans[k] * sparc_random_normal(&same)) - 1) < 1e-7);
    assert_true(fabs((double)uniform / (fans[k] * (4 * sparc_random_uniform(&same) - 1)) - 1) < 1e-7);
  }
}

/* the quantile inverts erfc to a few units in the last place, from the centre to the last representable tail */
static void quantile_inverts_cdf(void **state) {
  (void)state;
  double worst = 0;
  for (int k = 1; k <= 20000; k++) {
    double p = k <= 10000 ? 0.5 * k / 10000.0 - 0x1p-20 : ldexp(1 + 0.37 * (k % 7) / 7, -(k % 52) - 2);
    double x = normal_quantile(p - 0.5), tail = 0.5 - fabs(p - 0.5);
    double error = (0.5 * erfc(fabs(x) / sqrt(2)) - tail) * sqrt(2 * M_PI) * exp(0.5 * x * x);
    worst = fmax(worst, fabs(error) / fmax(fabs(x), 0.1));
    assert_true(x < 0 && normal_quantile(0.5 - p) == -x);
  }
  if (worst > 2e-15) fail_msg("relative error %g", worst);
  assert_true(normal_quantile(0) == 0);
}

static void ends_of_the_range(void **state) {
  (void)state;
  /* all bits zero and all bits one stay inside the open interval, and mirror each other */
  sparc_random zeros = stream_of(0, 0), ones = stream_of(~0u, ~0u), r;
  assert_true((r = zeros, sparc_random_uniform(&r)) == 0x1p-53);
  assert_true((r = ones, sparc_random_uniform(&r)) == 1 - 0x1p-53);
  assert_true((r = zeros, random_uniform_f32(&r)) == 0x1p-24f);
  assert_true((r = ones, random_uniform_f32(&r)) == 1 - 0x1p-24f);
  double lowest = (r = zeros, sparc_random_normal(&r)), highest = (r = ones, sparc_random_normal(&r));
  assert_true(lowest == -highest && highest > 8.2 && highest < 8.3);
  lowest = (r = zeros, random_truncated_normal(&r)), highest = (r = ones, random_truncated_normal(&r));
  assert_true(lowest == -highest && highest <= 2 && highest > 2 - 1e-14);

  /* the clamps that keep logarithms finite */
  assert_true((r = zeros, random_ring(&r, 0, 1)) == 1e-12);
  assert_true((r = ones, random_ring(&r, 0, 1)) == 1 - 1e-7);
  assert_true((r = zeros, random_phase(&r, 2)) == 2e-7);
  assert_true((r = ones, random_phase(&r, 2)) < 2);

  /* the low word comes first */
  r = stream_of(0x01234567, 0x89abcdef);
  assert_int_equal(random_u64(&r), 0x89abcdef01234567);
}

/* Pearson's statistic for equally likely cells: mean cells - 1, standard deviation sqrt(2 (cells - 1)) */
static void assert_cells_even(const int *counts, int cells, int draws) {
  double expected = (double)draws / cells, statistic = 0;
  for (int k = 0; k < cells; k++) statistic += (counts[k] - expected) * (counts[k] - expected) / expected;
  assert_true(fabs(statistic - (cells - 1)) < 4.5 * sqrt(2.0 * (cells - 1)));
}

static void below_is_unbiased(void **state) {
  (void)state;
  sparc_random r = stream(13, "below");
  enum { N = 60000 };
  for (int n = 2; n <= 52; n += 5) {
    int counts[52] = {0};
    for (int i = 0; i < N; i++) {
      uint32_t value = sparc_random_below(&r, (uint32_t)n);
      assert_true(value < (uint32_t)n);
      counts[value]++;
    }
    assert_cells_even(counts, n, N);
  }

  /* without rejection a draw below 3 * 2^30 would leave the remainders of 3 in proportion 2 : 1 : 1 */
  int thirds[3] = {0};
  for (int i = 0; i < N; i++) {
    uint32_t value = sparc_random_below(&r, 3u << 30);
    assert_true(value < 3u << 30);
    thirds[value % 3]++;
  }
  assert_cells_even(thirds, 3, N);
  assert_int_equal(sparc_random_below(&r, 1), 0);
  assert_int_equal(sparc_random_below(&r, 0), 0);
}

static void permutations_are_even(void **state) {
  (void)state;
  enum { N = 48000 };
  sparc_random r = stream(14, "permutation");
  int counts[24] = {0}, values[100], seen[100] = {0};
  for (int i = 0; i < N; i++) {
    /* the rank of a permutation of four: how many later values are smaller, in the factorial base */
    random_permutation(&r, values, 4);
    int rank = 0;
    for (int a = 0; a < 4; a++) {
      int smaller = 0;
      for (int b = a + 1; b < 4; b++) smaller += values[b] < values[a];
      rank = rank * (4 - a) + smaller;
    }
    counts[rank]++;
  }
  assert_cells_even(counts, 24, N);

  random_permutation(&r, values, 100);
  for (int i = 0; i < 100; i++) seen[values[i]]++;
  for (int i = 0; i < 100; i++) assert_int_equal(seen[i], 1);

  /* shuffling keeps the multiset, and nothing is drawn for nothing */
  int deck[6] = {7, 7, -1, 5, 5, 5}, sum = 0;
  random_shuffle(&r, deck, 6);
  for (int i = 0; i < 6; i++) sum += deck[i] * deck[i];
  assert_int_equal(sum, 2 * 49 + 1 + 3 * 25);
  uint64_t position = r.position;
  random_shuffle(&r, deck, 1);
  random_shuffle(&r, NULL, 0);
  random_permutation(&r, NULL, -3);
  assert_int_equal(r.position, position);
}

/* an array does not depend on how it is cut: element k is a function of its position */
static void fills_are_positional(void **state) {
  (void)state;
  float whole[64], parts[64];
  sparc_random r = stream(15, "fill");
  random_fill_normal(&r, whole, 64, 0.3);
  for (size_t k = 64; k-- > 0;) {
    random_seek(&r, 2 * k);
    random_fill_normal(&r, parts + k, 1, 0.3);
  }
  assert_memory_equal(whole, parts, sizeof whole);
}

/* ---- orthogonal matrices ---- */

/* Q^T Q = I, and Q R is the matrix that the stream holds, with R upper triangular and positive on its diagonal. This is
 * the definition, and as QR is then unique it pins every entry. */
static void check_orthonormal(size_t count, size_t length) {
  double *q = malloc(count * length * sizeof *q), *a = malloc(count * length * sizeof *a),
         *diagonal = malloc(count * sizeof *diagonal);
  assert_true(q && a && diagonal);
  sparc_random r = stream(16, "orthogonal"), again = r;
  orthonormal_draw(&r, q, diagonal, count, length);
  for (size_t i = 0; i < count * length; i++) a[i] = sparc_random_normal(&again);
  assert_int_equal(r.position, again.position);
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++) {
      double product = 0, triangular = 0;
      for (size_t k = 0; k < length; k++) {
        product += q[i * length + k] * q[j * length + k];
        triangular += q[i * length + k] * a[j * length + k];
      }
      assert_true(fabs(product - (i == j)) < 1e-12);
      if (i > j) assert_true(fabs(triangular) < 1e-12 * (double)length);
      if (i == j) assert_true(triangular > 0);
    }
  }
  free(q), free(a), free(diagonal);
}

static void orthonormal_vectors(void **state) {
  (void)state;
  static const size_t shapes[][2] = {{1, 1},   {2, 2},    {3, 7},    {1, 64},   {5, 5},
                                     {64, 64}, {17, 101}, {64, 192}, {128, 128}};
  for (size_t k = 0; k < COUNT(shapes); k++) check_orthonormal(shapes[k][0], shapes[k][1]);
}

/* the float matrix is the rounded, scaled double one, transposed into place when it is tall */
static void orthogonal_layout(void **state) {
  (void)state;
  static const int shapes[][2] = {{1, 1}, {4, 4}, {6, 3}, {3, 6}, {1, 9}, {9, 1}};
  for (size_t s = 0; s < COUNT(shapes); s++) {
    int rows = shapes[s][0], cols = shapes[s][1];
    size_t count = (size_t)(rows < cols ? rows : cols), length = (size_t)(rows < cols ? cols : rows);
    float matrix[18];
    double vectors[18], diagonal[4];
    sparc_random r = stream(17, "layout"), again = r;
    assert_int_equal(random_orthogonal(&r, matrix, rows, cols, -1.5), SPARC_OK);
    orthonormal_draw(&again, vectors, diagonal, count, length);
    for (size_t i = 0; i < (size_t)rows; i++)
      for (size_t j = 0; j < (size_t)cols; j++) {
        double exact = -1.5 * (rows < cols ? vectors[i * length + j] : vectors[j * length + i]);
        assert_true(matrix[i * (size_t)cols + j] == (float)exact);
      }
  }
}

/* over many draws the entries of Q have mean 0 and variance 1 / length; without the sign fix the first one would always
 * be negative */
static void orthogonal_is_even(void **state) {
  (void)state;
  enum { N = 20000, SIZE = 3 };
  sparc_random r = stream(18, "haar");
  double mean[SIZE * SIZE] = {0}, square[SIZE * SIZE] = {0};
  for (int n = 0; n < N; n++) {
    double q[SIZE * SIZE], diagonal[SIZE];
    orthonormal_draw(&r, q, diagonal, SIZE, SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) mean[i] += q[i] / N, square[i] += q[i] * q[i] / N;
  }
  for (int i = 0; i < SIZE * SIZE; i++) {
    assert_true(fabs(mean[i]) < 3.5 * sqrt(1.0 / SIZE / N));
    assert_true(fabs(square[i] - 1.0 / SIZE) < 3.5 * sqrt(0.089 / N));
  }
}

/* ---- bad input ---- */

static void assert_refused(sparc_status status, sparc_status expected, const char *text, const sparc_random *r) {
  assert_int_equal(status, expected);
  assert_non_null(strstr(sparc_error(), text));
  assert_int_equal(r->position, 5);
}

static void refusals(void **state) {
  (void)state;
  sparc_random r = stream(19, "refusals");
  random_seek(&r, 5);
  float w[4] = {1, 2, 3, 4};
  const float untouched[4] = {1, 2, 3, 4};
  assert_refused(random_lecun_normal(&r, w, 4, 0), SPARC_INVALID, "fan_in is 0", &r);
  assert_refused(random_lecun_normal(&r, NULL, 4, 1), SPARC_INVALID, "values is NULL", &r);
  assert_refused(random_torch_uniform(&r, w, 4, -3), SPARC_INVALID, "fan_in is -3", &r);
  assert_refused(random_torch_uniform(&r, NULL, 1, 1), SPARC_INVALID, "values is NULL", &r);
  assert_refused(random_orthogonal(&r, NULL, 2, 2, 1), SPARC_INVALID, "values is NULL", &r);
  assert_refused(random_orthogonal(&r, w, 0, 2, 1), SPARC_INVALID, "rows is 0", &r);
  assert_refused(random_orthogonal(&r, w, 2, -2, 1), SPARC_INVALID, "cols is -2", &r);
  assert_refused(random_orthogonal(&r, w, 2, 2, NAN), SPARC_INVALID, "gain is", &r);
  assert_refused(random_orthogonal(&r, w, 2, 2, INFINITY), SPARC_INVALID, "gain is inf", &r);
  assert_refused(random_orthogonal(&r, w, INT32_MAX, INT32_MAX, 1), SPARC_NO_MEMORY, "2147483647 x", &r);
  assert_memory_equal(w, untouched, sizeof w);
  assert_int_equal(random_lecun_normal(&r, NULL, 0, 1), SPARC_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_reference_outputs),
      cmocka_unit_test(frozen_streams),
      cmocka_unit_test(streams_are_distinct),
      cmocka_unit_test(streams_are_independent),
      cmocka_unit_test(seek_and_tell),
      cmocka_unit_test(copies_fork),
      cmocka_unit_test(distributions),
      cmocka_unit_test(normal_moments),
      cmocka_unit_test(initialisers_scale_draws),
      cmocka_unit_test(quantile_inverts_cdf),
      cmocka_unit_test(ends_of_the_range),
      cmocka_unit_test(below_is_unbiased),
      cmocka_unit_test(permutations_are_even),
      cmocka_unit_test(fills_are_positional),
      cmocka_unit_test(orthonormal_vectors),
      cmocka_unit_test(orthogonal_layout),
      cmocka_unit_test(orthogonal_is_even),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
