/* SPDX-License-Identifier: MIT */
/* test_scan.c: the scans alone (sparc/scan.h) against the reference in double, on random shapes; the reference against
 * its own finite differences; in place against out of place and thread counts bit-exactly; sizes and refusals. */
#include "base/error.h"
#include "base/random.h"
#include "kernels/kernels.h"
#include "seq/scan.h"
#include "seq/scan_reference.h"
#include "sparc/random.h"
#include "unit.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 120, FEW_MODES = 8 };

static const double OUTPUT_BOUND = 2e-6, GRADIENT_BOUND = 2e-6;

/* ---- random numbers ------------------------------------------------------------------------------ */

static double draw(sparc_random *r) { return sparc_random_uniform(r); }
static int draw_int(sparc_random *r, int low, int high) { return low + (int)(draw(r) * (high - low + 1)); }

static float *floats(size_t n) {
  float *memory = sparc_alloc((n ? n : 1) * sizeof *memory);
  assert_non_null(memory);
  return memory;
}

static float *normals(sparc_random *r, size_t n) {
  float *values = floats(n);
  random_fill_normal(r, values, n, 1);
  return values;
}

static double *wide(const float *from, size_t n) {
  if (!from) return NULL;
  double *to = sparc_alloc((n ? n : 1) * sizeof *to);
  assert_non_null(to);
  for (size_t i = 0; i < n; i++) to[i] = (double)from[i];
  return to;
}

static double *doubles(size_t n) {
  double *memory = sparc_alloc((n ? n : 1) * sizeof *memory);
  assert_non_null(memory);
  return memory;
}

/* E_norm; a NaN is larger than everything */
static double error_of(const float *got, const double *want, size_t n) {
  double worst = 0, scale = 1;
  for (size_t i = 0; i < n; i++) {
    const double difference = fabs((double)got[i] - want[i]);
    if (!(difference <= worst)) worst = isnan(difference) ? INFINITY : difference;
    scale = fmax(scale, fabs(want[i]));
  }
  return worst / scale;
}

static void agree(const char *what, int B, int T, int H, const float *got, const double *want, size_t n, double bound) {
  const double error = error_of(got, want, n);
  if (!(error <= bound)) fail_msg("%s at B %d, T %d, H %d: E_norm %.2e, at most %.0e", what, B, T, H, error, bound);
}

/* ---- problems ------------------------------------------------------------------------------------ */

typedef enum decays { SMALL, LARGE, MIXED, DECAYS } decays;

typedef struct problem {
  sparc_scan_config config;
  size_t row, state;
  float *nu, *theta, *controls, *mask, *state0, *b, *dh, *dstate_last;
} problem;

static void make_problem(sparc_random *r, int B, int T, int H, decays kind, problem *p) {
  *p = (problem){.config = {.B = B, .T = T, .H = H, .kappa_r = 2.7725887f, .kappa_p = 1.5707963f, .threads = 1}};
  const size_t tokens = (size_t)B * (size_t)T, modes = (size_t)H;
  p->state = (size_t)B * 2 * modes;
  p->row = tokens * 2 * modes;
  p->nu = floats(modes);
  p->theta = floats(modes);
  for (size_t i = 0; i < modes; i++) {
    /* with controls a decay grows by up to 16 */
    const double low = kind == LARGE ? log(0.5) : log(1e-3), high = kind == SMALL ? log(0.02) : log(6);
    p->nu[i] = (float)exp(low + (high - low) * draw(r));
    p->theta[i] = (float)(6.28 * draw(r));
  }
  if (draw_int(r, 0, 5) > 0) p->controls = floats(2 * tokens);
  for (size_t i = 0; p->controls && i < 2 * tokens; i++) p->controls[i] = (float)(2 * draw(r) - 1);
  if (draw_int(r, 0, 1)) p->mask = floats(tokens);
  for (size_t i = 0; p->mask && i < tokens; i++) p->mask[i] = draw(r) < 0.9;
  if (draw_int(r, 0, 1)) p->state0 = normals(r, p->state);
  if (draw_int(r, 0, 1)) p->dstate_last = normals(r, p->state);
  p->b = normals(r, p->row);
  p->dh = normals(r, p->row);
}

static void free_problem(problem *p) {
  float *arrays[] = {p->nu, p->theta, p->controls, p->mask, p->state0, p->b, p->dh, p->dstate_last};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
}

typedef struct solution {
  float *h, *state_last, *db, *dcontrols, *dstate0, *dnu, *dtheta;
} solution;

static void free_solution(solution *s) {
  float *arrays[] = {s->h, s->state_last, s->db, s->dcontrols, s->dstate0, s->dnu, s->dtheta};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
}

/* solves the problem through the public calls; `shift` floats off alignment */
static void solve(const problem *p, bool in_place, size_t shift, solution *s) {
  const size_t modes = (size_t)p->config.H, controls = 2 * (size_t)p->config.B * (size_t)p->config.T;
  sparc_scan *scan;
  assert_int_equal(sparc_scan_create(&p->config, &scan), SPARC_OK);
  float *constants = floats(sparc_scan_sizes_of(scan).constants);
  assert_int_equal(sparc_scan_prepare(scan, p->nu, p->theta, constants), SPARC_OK);
  void *work = sparc_alloc(sparc_scan_sizes_of(scan).work);
  float *b = floats(p->row + shift), *h = floats(p->row + shift), *dh = floats(p->row), *db = floats(p->row);
  *s = (solution){floats(p->row),   floats(p->state), floats(p->row), floats(controls),
                  floats(p->state), floats(modes),    floats(modes)};
  memcpy(b + shift, p->b, p->row * sizeof *b);
  memcpy(dh, p->dh, p->row * sizeof *dh);
  const sparc_scan_data data = {.controls = p->controls,
                                .mask = p->mask,
                                .state0 = p->state0,
                                .b = b + shift,
                                .h = (in_place ? b : h) + shift,
                                .state_last = s->state_last};
  assert_int_equal(sparc_scan_forward(scan, constants, &data), SPARC_OK);
  const sparc_scan_gradient gradient = {.dh = dh,
                                        .dstate_last = p->dstate_last,
                                        .db = in_place ? dh : db,
                                        .dcontrols = s->dcontrols,
                                        .dstate0 = s->dstate0,
                                        .dnu = s->dnu,
                                        .dtheta = s->dtheta};
  assert_int_equal(sparc_scan_backward(scan, constants, &data, &gradient, work), SPARC_OK);
  memcpy(s->h, data.h, p->row * sizeof *s->h);
  memcpy(s->db, gradient.db, p->row * sizeof *s->db);
  sparc_free(b), sparc_free(h), sparc_free(dh), sparc_free(db), sparc_free(work), sparc_free(constants);
  sparc_scan_free(scan);
}

/* the arrays of one stream of the reference, and arrays for its results */
typedef struct reference_arrays {
  double *nu, *theta, *controls, *mask, *state0, *b, *h, *dh, *dstate_last, *db, *dcontrols, *dstate0, *dnu, *dtheta;
} reference_arrays;

static const float *part(const float *array, size_t offset) { return array ? array + offset : NULL; }

static scan_reference reference_of(const problem *p, size_t b, reference_arrays *t) {
  const size_t T = (size_t)p->config.T, S = 2 * (size_t)p->config.H, H = S / 2, row = T * S;
  *t = (reference_arrays){.nu = wide(p->nu, H),
                          .theta = wide(p->theta, H),
                          .controls = wide(part(p->controls, b * 2 * T), 2 * T),
                          .mask = wide(part(p->mask, b * T), T),
                          .state0 = wide(part(p->state0, b * S), S),
                          .b = wide(p->b + b * row, row),
                          .h = doubles(row),
                          .dh = wide(p->dh + b * row, row),
                          .dstate_last = wide(part(p->dstate_last, b * S), S),
                          .db = doubles(row),
                          .dcontrols = doubles(2 * T),
                          .dstate0 = doubles(S),
                          .dnu = doubles(H),
                          .dtheta = doubles(H)};
  return (scan_reference){p->config.T,
                          p->config.H,
                          (double)p->config.kappa_r,
                          (double)p->config.kappa_p,
                          t->nu,
                          t->theta,
                          t->controls,
                          t->mask,
                          t->state0,
                          t->b,
                          t->h,
                          t->dh,
                          t->dstate_last,
                          t->db,
                          t->dcontrols,
                          t->dstate0,
                          t->dnu,
                          t->dtheta};
}

static void free_reference(reference_arrays *t) {
  double *arrays[] = {t->nu, t->theta,       t->controls, t->mask,      t->state0,  t->b,   t->h,
                      t->dh, t->dstate_last, t->db,       t->dcontrols, t->dstate0, t->dnu, t->dtheta};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
}

/* The largest sum over time, of all modes of a stream, of the magnitudes whose signed sum is a gradient by nu. With few
 * modes the largest gradient may itself be a cancelled sum, and rounding is then a matter of its terms. */
static double magnitude_of(const scan_reference *s) {
  double largest = 0;
  for (int j = 0; j < s->H; j++) {
    double sum = 0;
    for (int t = 1; t < s->T; t++) {
      const double *h = s->h + (size_t)(t - 1) * 2 * (size_t)s->H, *g = s->db + (size_t)t * 2 * (size_t)s->H;
      sum +=
          exp(s->controls ? s->kappa_r * s->controls[2 * t] : 0) * hypot(h[j], h[s->H + j]) * hypot(g[j], g[s->H + j]);
    }
    largest = fmax(largest, sum);
  }
  return largest;
}

static double largest_of(const double *values, int n) {
  double largest = 1;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(values[i]));
  return largest;
}

/* compares all streams; per-mode gradients are sums over them */
static void judge(const problem *p, const solution *s) {
  const int B = p->config.B, T = p->config.T, H = p->config.H;
  const size_t S = 2 * (size_t)H, row = (size_t)T * S;
  double *dnu = doubles((size_t)H), *dtheta = doubles((size_t)H), magnitude = 0;
  for (size_t b = 0; b < (size_t)B; b++) {
    reference_arrays t;
    const scan_reference reference = reference_of(p, b, &t);
    scan_reference_forward(&reference);
    scan_reference_backward(&reference);
    agree("h", B, T, H, s->h + b * row, t.h, row, OUTPUT_BOUND);
    agree("state_last", B, T, H, s->state_last + b * S, t.h + row - S, S, OUTPUT_BOUND);
    agree("db", B, T, H, s->db + b * row, t.db, row, GRADIENT_BOUND);
    agree("dstate0", B, T, H, s->dstate0 + b * S, t.dstate0, S, GRADIENT_BOUND);
    if (p->controls)
      agree("dcontrols", B, T, H, s->dcontrols + b * 2 * (size_t)T, t.dcontrols, 2 * (size_t)T, GRADIENT_BOUND);
    for (int j = 0; j < H; j++) dnu[j] += t.dnu[j], dtheta[j] += t.dtheta[j];
    if (H < FEW_MODES) magnitude += magnitude_of(&reference);
    free_reference(&t);
  }
  agree("dnu", B, T, H, s->dnu, dnu, (size_t)H, GRADIENT_BOUND * fmax(1, magnitude / largest_of(dnu, H)));
  agree("dtheta", B, T, H, s->dtheta, dtheta, (size_t)H, GRADIENT_BOUND * fmax(1, magnitude / largest_of(dtheta, H)));
  sparc_free(dnu), sparc_free(dtheta);
}

/* some widths around those of vectors and tiles, some in between */
static int draw_width(sparc_random *r) {
  static const int widths[] = {1, 3, 15, 16, 17, 63, 64, 65, 80, 128, 130, 191, 577};
  return draw_int(r, 0, 1) ? widths[draw_int(r, 0, sizeof widths / sizeof *widths - 1)] : draw_int(r, 1, 200);
}

static void draw_problem(sparc_random *r, int shape, problem *p) {
  const int T = shape % 8 == 0 ? 1 : draw_int(r, 1, 70);
  make_problem(r, draw_int(r, 1, 3), T, draw_width(r), (decays)(shape % DECAYS), p);
}

/* ---- the reference is right: finite differences --------------------------------------------------- */

static double loss(const scan_reference *s) {
  const size_t S = 2 * (size_t)s->H, row = (size_t)s->T * S;
  double sum = 0;
  scan_reference_forward(s);
  for (size_t i = 0; i < row; i++) sum += s->dh[i] * s->h[i];
  for (size_t i = 0; s->dstate_last && i < S; i++) sum += s->dstate_last[i] * s->h[row - S + i];
  return sum;
}

static void differentiate(const scan_reference *s, const char *name, double *values, const double *gradient, size_t n) {
  for (size_t i = 0; values && i < n; i++) {
    const double kept = values[i], step = 1e-5;
    values[i] = kept + step;
    const double above = loss(s);
    values[i] = kept - step;
    const double below = loss(s);
    values[i] = kept;
    const double want = (above - below) / (2 * step);
    if (fabs(gradient[i] - want) > 1e-6 * fmax(1, fabs(want)))
      fail_msg("d%s[%zu] of the reference is %g, by differences %g", name, i, gradient[i], want);
  }
}

static void test_reference(void **state) {
  (void)state;
  sparc_random r;
  sparc_random_init(&r, 1, "test", "scan reference");
  for (int shape = 0; shape < 12; shape++) {
    problem p;
    reference_arrays t;
    make_problem(&r, 1, draw_int(&r, 1, 9), draw_int(&r, 1, 4), LARGE, &p);
    const scan_reference s = reference_of(&p, 0, &t);
    const size_t T = (size_t)s.T, H = (size_t)s.H;
    loss(&s);
    scan_reference_backward(&s);
    differentiate(&s, "nu", t.nu, t.dnu, H);
    differentiate(&s, "theta", t.theta, t.dtheta, H);
    differentiate(&s, "controls", t.controls, t.dcontrols, 2 * T);
    differentiate(&s, "state0", t.state0, t.dstate0, 2 * H);
    differentiate(&s, "b", t.b, t.db, T * 2 * H);
    free_reference(&t);
    free_problem(&p);
  }
}

/* ---- the scans are right -------------------------------------------------------------------------- */

static void test_agreement(void **state) {
  (void)state;
  sparc_random r;
  sparc_random_init(&r, 1, "test", "scan shapes");
  for (int shape = 0; shape < SHAPES; shape++) {
    problem p;
    solution s;
    draw_problem(&r, shape, &p);
    solve(&p, shape % 2, 0, &s);
    judge(&p, &s);
    free_solution(&s);
    free_problem(&p);
  }
}

static bool same_bits(const float *a, const float *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

static void expect_same(const problem *p, const solution *a, const solution *b, const char *what) {
  const size_t H = (size_t)p->config.H, controls = 2 * (size_t)p->config.B * (size_t)p->config.T;
  const bool same = same_bits(a->h, b->h, p->row) && same_bits(a->state_last, b->state_last, p->state) &&
                    same_bits(a->db, b->db, p->row) && same_bits(a->dcontrols, b->dcontrols, controls) &&
                    same_bits(a->dstate0, b->dstate0, p->state) && same_bits(a->dnu, b->dnu, H) &&
                    same_bits(a->dtheta, b->dtheta, H);
  if (!same) fail_msg("%s changes bits at B %d, T %d, H %d", what, p->config.B, p->config.T, p->config.H);
}

static void test_bits(void **state) {
  (void)state;
  sparc_random r;
  sparc_random_init(&r, 1, "test", "scan bits");
  for (int shape = 0; shape < 40; shape++) {
    problem p;
    solution first, second;
    draw_problem(&r, shape, &p);
    solve(&p, false, 0, &first);
    solve(&p, true, 0, &second);
    expect_same(&p, &first, &second, "in place");
    free_solution(&second);
    p.config.streaming = 1;
    for (size_t shift = 0; shift < 2; shift++) {
      solve(&p, false, shift, &second);
      expect_same(&p, &first, &second, "streaming");
      free_solution(&second);
    }
    p.config.streaming = 0;
    static const int threads[] = {2, 3, 7};
    for (size_t i = 0; i < 3; i++) {
      p.config.threads = threads[i];
      solve(&p, false, 0, &second);
      expect_same(&p, &first, &second, "the number of threads");
      free_solution(&second);
    }
    free_solution(&first);
    free_problem(&p);
  }
}

/* rows that the kernels stream in earnest */
static void test_streaming_rows(void **state) {
  (void)state;
  sparc_random r;
  sparc_random_init(&r, 1, "test", "scan streaming");
  static const int widths[] = {16, 64, 96, 1024};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    problem p;
    solution ordinary, streamed;
    make_problem(&r, 2, 20, widths[i], MIXED, &p);
    solve(&p, false, 0, &ordinary);
    p.config.streaming = 1;
    solve(&p, false, 0, &streamed);
    expect_same(&p, &ordinary, &streamed, "streaming");
    judge(&p, &streamed);
    free_solution(&ordinary), free_solution(&streamed);
    free_problem(&p);
  }
}

/* gradients by parameters are added, the others written */
static void test_sums_are_added(void **state) {
  (void)state;
  sparc_random r;
  problem p;
  solution once;
  sparc_random_init(&r, 1, "test", "scan sums");
  make_problem(&r, 2, 9, 70, MIXED, &p);
  solve(&p, false, 0, &once);
  sparc_scan *scan;
  assert_int_equal(sparc_scan_create(&p.config, &scan), SPARC_OK);
  float *constants = floats(sparc_scan_sizes_of(scan).constants), dnu[70], dtheta[70], *db = floats(p.row);
  assert_int_equal(sparc_scan_prepare(scan, p.nu, p.theta, constants), SPARC_OK);
  void *work = sparc_alloc(sparc_scan_sizes_of(scan).work);
  for (size_t i = 0; i < 70; i++) dnu[i] = dtheta[i] = 1000;
  const sparc_scan_data data = {.controls = p.controls, .mask = p.mask, .state0 = p.state0, .h = once.h};
  const sparc_scan_gradient gradient = {
      .dh = p.dh, .dstate_last = p.dstate_last, .db = db, .dnu = dnu, .dtheta = dtheta};
  assert_int_equal(sparc_scan_backward(scan, constants, &data, &gradient, work), SPARC_OK);
  for (size_t i = 0; i < 70; i++) {
    assert_float_equal(dnu[i] - 1000, once.dnu[i], 1e-3);
    assert_float_equal(dtheta[i] - 1000, once.dtheta[i], 1e-3);
  }
  assert_true(same_bits(db, once.db, p.row));
  sparc_free(db), sparc_free(work), sparc_free(constants);
  sparc_scan_free(scan);
  free_solution(&once);
  free_problem(&p);
}

/* ---- extremes ------------------------------------------------------------------------------------- */

/* an endless memory, an instant one and a tile between them: nothing grows, nothing is not a number */
static void test_extreme_decays(void **state) {
  (void)state;
  static const float decays_of[] = {0, 1e-38f, 1e-12f, 1e-3f, 0.3f, 80, 1e4f, 1e25f, 3e38f};
  enum { N = sizeof decays_of / sizeof *decays_of, STEPS = 3000 };
  sparc_random r;
  problem p;
  solution s;
  sparc_random_init(&r, 1, "test", "scan extremes");
  make_problem(&r, 1, STEPS, N, MIXED, &p);
  memcpy(p.nu, decays_of, sizeof decays_of);
  if (!p.state0) p.state0 = normals(&r, 2 * N);
  sparc_free(p.mask);
  p.mask = NULL;
  memset(p.b, 0, p.row * sizeof *p.b);
  solve(&p, false, 0, &s);
  for (size_t i = 0; i < p.row; i++) assert_true(isfinite(s.h[i]) && isfinite(s.db[i]));
  for (size_t j = 0; j < N; j++) {
    const double start = hypot((double)p.state0[j], (double)p.state0[N + j]);
    const double end = hypot((double)s.state_last[j], (double)s.state_last[N + j]);
    assert_true(isfinite(s.dnu[j]) && isfinite(s.dtheta[j]));
    if (end > start) fail_msg("a mode with nu = %g grows from %g to %g", (double)p.nu[j], start, end);
    if (p.nu[j] > 70) assert_true(end == 0);
  }
  free_solution(&s);
  free_problem(&p);
}

/* a state that is not finite does not survive a reset, and touches no other mode */
static void test_reset_heals(void **state) {
  (void)state;
  enum { H = 70, T = 6 };
  sparc_random r;
  problem p;
  solution s;
  sparc_random_init(&r, 1, "test", "scan reset");
  make_problem(&r, 1, T, H, MIXED, &p);
  if (!p.mask) p.mask = floats(T);
  for (size_t t = 0; t < T; t++) p.mask[t] = t != 3;
  p.b[2 * H + 5] = NAN;
  solve(&p, false, 0, &s);
  for (size_t t = 0; t < T; t++)
    for (size_t i = 0; i < 2 * H; i++)
      assert_true(isnan(s.h[t * 2 * H + i]) == ((t == 1 || t == 2) && (i == 5 || i == H + 5)) ||
                  (t == 1 && i == H + 5));
  free_solution(&s);
  free_problem(&p);
}

/* phases beyond pi / 2 have a sine and cosine of their own */
static void test_wide_phase(void **state) {
  (void)state;
  sparc_random r;
  problem p;
  solution s;
  sparc_random_init(&r, 1, "test", "scan wide");
  make_problem(&r, 2, 12, 33, LARGE, &p);
  p.config.kappa_p = 20;
  solve(&p, false, 0, &s);
  judge(&p, &s);
  free_solution(&s);
  free_problem(&p);
}

/* ---- real ----------------------------------------------------------------------------------------- */

typedef struct real_problem {
  sparc_scan_config config;
  size_t tokens, row, state;
  float *a, *mask, *state0, *x, *dh, *dstate_last;
} real_problem;

static void make_real(sparc_random *r, int B, int T, int H, real_problem *p) {
  *p = (real_problem){.config = {.B = B, .T = T, .H = H, .threads = 1}, .tokens = (size_t)B * (size_t)T};
  p->row = p->tokens * (size_t)H;
  p->state = (size_t)B * (size_t)H;
  p->a = floats(p->row);
  for (size_t i = 0; i < p->row; i++) p->a[i] = (float)draw(r);
  if (draw_int(r, 0, 1)) p->mask = floats(p->tokens);
  for (size_t i = 0; p->mask && i < p->tokens; i++) p->mask[i] = draw(r) < 0.9;
  if (draw_int(r, 0, 1)) p->state0 = normals(r, p->state);
  if (draw_int(r, 0, 1)) p->dstate_last = normals(r, p->state);
  p->x = normals(r, p->row);
  p->dh = normals(r, p->row);
}

static void free_real(real_problem *p) {
  float *arrays[] = {p->a, p->mask, p->state0, p->x, p->dh, p->dstate_last};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
}

typedef struct real_solution {
  float *h, *state_last, *dx, *da, *dstate0;
} real_solution;

static void free_real_solution(real_solution *s) {
  float *arrays[] = {s->h, s->state_last, s->dx, s->da, s->dstate0};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
}

static void solve_real(const real_problem *p, bool in_place, real_solution *s) {
  sparc_scan *scan;
  assert_int_equal(sparc_scan_create(&p->config, &scan), SPARC_OK);
  float *a = floats(p->row), *x = floats(p->row), *dh = floats(p->row);
  *s = (real_solution){floats(p->row), floats(p->state), floats(p->row), floats(p->row), floats(p->state)};
  memcpy(a, p->a, p->row * sizeof *a);
  memcpy(x, p->x, p->row * sizeof *x);
  memcpy(dh, p->dh, p->row * sizeof *dh);
  const real_scan_data data = {
      .a = a, .mask = p->mask, .state0 = p->state0, .x = x, .h = in_place ? x : s->h, .state_last = s->state_last};
  assert_int_equal(real_scan_forward(scan, &data), SPARC_OK);
  const real_scan_gradient gradient = {.dh = dh,
                                       .dstate_last = p->dstate_last,
                                       .dx = in_place ? dh : s->dx,
                                       .da = in_place ? a : s->da,
                                       .dstate0 = s->dstate0};
  assert_int_equal(real_scan_backward(scan, &data, &gradient), SPARC_OK);
  if (in_place) {
    memcpy(s->h, x, p->row * sizeof *x);
    memcpy(s->dx, dh, p->row * sizeof *x);
    memcpy(s->da, a, p->row * sizeof *x);
  }
  sparc_free(a), sparc_free(x), sparc_free(dh);
  sparc_scan_free(scan);
}

static void judge_real(const real_problem *p, const real_solution *s) {
  const int B = p->config.B, T = p->config.T, H = p->config.H;
  const size_t S = (size_t)H, row = (size_t)T * S;
  for (size_t b = 0; b < (size_t)B; b++) {
    double *a = wide(p->a + b * row, row), *x = wide(p->x + b * row, row), *dh = wide(p->dh + b * row, row);
    double *mask = wide(part(p->mask, b * (size_t)T), (size_t)T), *state0 = wide(part(p->state0, b * S), S);
    double *last = wide(part(p->dstate_last, b * S), S);
    double *h = doubles(row), *dx = doubles(row), *da = doubles(row), *dstate0 = doubles(S);
    const real_scan_reference reference = {T, H, a, mask, state0, x, h, dh, last, dx, da, dstate0};
    real_scan_reference_forward(&reference);
    real_scan_reference_backward(&reference);
    agree("real h", B, T, H, s->h + b * row, h, row, OUTPUT_BOUND);
    agree("real state_last", B, T, H, s->state_last + b * S, h + row - S, S, OUTPUT_BOUND);
    agree("real dx", B, T, H, s->dx + b * row, dx, row, GRADIENT_BOUND);
    agree("real da", B, T, H, s->da + b * row, da, row, GRADIENT_BOUND);
    agree("real dstate0", B, T, H, s->dstate0 + b * S, dstate0, S, GRADIENT_BOUND);
    double *arrays[] = {a, x, dh, mask, state0, last, h, dx, da, dstate0};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sparc_free(arrays[i]);
  }
}

static void expect_same_real(const real_problem *p, const real_solution *a, const real_solution *b, const char *what) {
  if (!same_bits(a->h, b->h, p->row) || !same_bits(a->state_last, b->state_last, p->state) ||
      !same_bits(a->dx, b->dx, p->row) || !same_bits(a->da, b->da, p->row) ||
      !same_bits(a->dstate0, b->dstate0, p->state))
    fail_msg("real: %s changes bits at B %d, T %d, H %d", what, p->config.B, p->config.T, p->config.H);
}

static void test_real(void **state) {
  (void)state;
  sparc_random r;
  sparc_random_init(&r, 1, "test", "scan real");
  for (int shape = 0; shape < SHAPES; shape++) {
    real_problem p;
    real_solution s, other;
    make_real(&r, draw_int(&r, 1, 3), shape % 8 == 0 ? 1 : draw_int(&r, 1, 70), 2 * draw_width(&r), &p);
    solve_real(&p, false, &s);
    judge_real(&p, &s);
    solve_real(&p, true, &other);
    expect_same_real(&p, &s, &other, "in place");
    free_real_solution(&other);
    p.config.streaming = 1;
    p.config.threads = 1 + shape % 4;
    solve_real(&p, false, &other);
    expect_same_real(&p, &s, &other, "streaming or a number of threads");
    free_real_solution(&other), free_real_solution(&s);
    free_real(&p);
  }
}

/* ---- order, refusals ------------------------------------------------------------------------ */

static void test_order(void **state) {
  (void)state;
  const float nu[] = {3, 1, 2, 1, 0.5f};
  int order[5];
  static const int want[] = {4, 1, 3, 2, 0};
  assert_int_equal(scan_order(5, nu, order), SPARC_OK);
  assert_memory_equal(order, want, sizeof want);
  assert_int_equal(scan_order(0, nu, order), SPARC_INVALID);
  assert_int_equal(scan_order(5, NULL, order), SPARC_INVALID);
}

static void refuse_config(sparc_scan_config config, const char *message) {
  sparc_scan *scan;
  assert_int_equal(sparc_scan_create(&config, &scan), SPARC_INVALID);
  assert_null(scan);
  assert_string_equal(sparc_error(), message);
}

static void test_refusals(void **state) {
  (void)state;
  refuse_config((sparc_scan_config){.B = 0, .T = 1, .H = 1}, "B is 0, expected at least 1");
  refuse_config((sparc_scan_config){.B = 1, .T = -2, .H = 1}, "T is -2, expected at least 1");
  refuse_config((sparc_scan_config){.B = 1, .T = 1, .H = 1, .kappa_r = NAN}, "kappa_r is nan, expected 0 to 16");
  refuse_config((sparc_scan_config){.B = 1, .T = 1, .H = 1, .kappa_p = 65}, "kappa_p is 65, expected 0 to 64");
  refuse_config((sparc_scan_config){.B = 1, .T = 1, .H = 1, .threads = -1}, "threads is -1, expected 0 or more");
  sparc_scan *scan;
  const sparc_scan_config config = {.B = 1, .T = 2, .H = 1};
  assert_int_equal(sparc_scan_create(&config, &scan), SPARC_OK);
  float *constants = floats(sparc_scan_sizes_of(scan).constants), b[4] = {0}, h[4], nu = -1, theta = 0;
  float mask[] = {1, 0.5f}, controls[] = {0, 0, 1.5f, 0};
  assert_int_equal(sparc_scan_prepare(scan, &nu, &theta, constants), SPARC_INVALID);
  assert_string_equal(sparc_error(), "nu[0] is -1, expected a finite number that is not negative");
  nu = 1;
  assert_int_equal(sparc_scan_prepare(scan, &nu, &theta, constants), SPARC_OK);
  sparc_scan_data data = {.mask = mask, .b = b, .h = h};
  assert_int_equal(sparc_scan_forward(scan, constants, &data), SPARC_INVALID);
  assert_string_equal(sparc_error(), "mask[0][1] is 0.5, expected 0 or 1");
  data.mask = NULL;
  data.controls = controls;
  assert_int_equal(sparc_scan_forward(scan, constants, &data), SPARC_INVALID);
  assert_string_equal(sparc_error(), "controls[0][1][0] is 1.5, expected -1 to 1");
  data.controls = NULL;
  data.b = NULL;
  assert_int_equal(sparc_scan_forward(scan, constants, &data), SPARC_INVALID);
  assert_string_equal(sparc_error(), "data.b is NULL");
  assert_int_equal(sparc_scan_backward(scan, constants, &data, NULL, h), SPARC_INVALID);
  assert_int_equal(real_scan_forward(scan, &(real_scan_data){.x = b, .h = h}), SPARC_INVALID);
  assert_string_equal(sparc_error(), "data.a is NULL");
  sparc_free(constants);
  sparc_scan_free(scan);
}

/* what a job is follows from shapes near the greatest int, too */
static void test_huge_shapes(void **state) {
  (void)state;
  const int shapes[][4] = {{1, 1, INT_MAX, 0},       {1, 1, INT_MAX, INT_MAX}, {2, 1, INT_MAX, INT_MAX},
                           {INT_MAX, 1, 1, INT_MAX}, {3, 1, 5, INT_MAX},       {1, INT_MAX, 64, INT_MAX}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const int B = shapes[i][0], T = shapes[i][1], H = shapes[i][2], threads = shapes[i][3];
    sparc_scan *scan;
    assert_int_equal(sparc_scan_create(&(sparc_scan_config){.B = B, .T = T, .H = H, .threads = threads}, &scan),
                     SPARC_OK);
    assert_in_range(scan->width, 1, SCAN_MODES);
    assert_in_range(scan->real_width, 1, SCAN_CARRIED);
    assert_in_range(scan->sum_width, 1, SCAN_MODES);
    assert_true(scan_jobs(scan) >= (size_t)B && scan_jobs(scan) <= (size_t)B * (size_t)H);
    assert_true(sparc_scan_sizes_of(scan).work >= (size_t)B * (size_t)H * 2 * sizeof(double));
    sparc_scan_free(scan);
  }
  sparc_scan *scan;
  assert_int_equal(sparc_scan_create(&(sparc_scan_config){.B = INT_MAX, .T = INT_MAX, .H = INT_MAX}, &scan),
                   SPARC_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_huge_shapes),    cmocka_unit_test(test_reference),
                                     cmocka_unit_test(test_agreement),      cmocka_unit_test(test_bits),
                                     cmocka_unit_test(test_streaming_rows), cmocka_unit_test(test_sums_are_added),
                                     cmocka_unit_test(test_extreme_decays), cmocka_unit_test(test_reset_heals),
                                     cmocka_unit_test(test_wide_phase),     cmocka_unit_test(test_real),
                                     cmocka_unit_test(test_order),          cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
