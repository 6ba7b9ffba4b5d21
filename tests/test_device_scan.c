/* SPDX-License-Identifier: MIT */
/* test_device_scan.c: scans with given coefficients on a device, against the double reference.
 *
 * test_device_scan [BACKEND[:INDEX] [COUNT]]: as test_device.c; COUNT random shapes of either kind.
 */
#include "base/hash.h"
#include "base/random.h"
#include "seq/scan_reference.h"
#include "sparc/random.h"
#include "support_device.h"
#include "unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double OUTPUT_BOUND = 3e-6, GRADIENT_BOUND = 1e-5;

/* ---- problems ------------------------------------------------------------------------------------ */

/* inputs, exactly representable in float, and results, of the device or of the reference; absent arrays are NULL */
typedef struct scan_problem {
  sparc_device_scan_config config;
  size_t tokens, rows, states, H;
  double *nu, *theta, *controls, *a, *mask, *state0, *b, *dh, *dstate_last;
} scan_problem;

typedef struct scan_result {
  double *h, *state_last, *db, *dcontrols, *da, *dstate0, *dnu, *dtheta;
} scan_result;

static double *doubles(size_t n) {
  double *values = sparc_alloc(n * sizeof *values);
  assert_non_null(values);
  return values;
}

static double *normals(sparc_random *r, size_t n) {
  double *values = doubles(n);
  for (size_t i = 0; i < n; i++) {
    float value;
    random_fill_normal(r, &value, 1, 1);
    values[i] = (double)value;
  }
  return values;
}

static double *uniforms(sparc_random *r, size_t n, double low, double high) {
  double *values = doubles(n);
  for (size_t i = 0; i < n; i++) values[i] = (double)(float)(low + (high - low) * (double)sparc_random_uniform(r));
  return values;
}

static bool is_spectral(const scan_problem *p) { return p->config.kind == SPARC_SCAN_SPECTRAL; }

/* Decays from 1e-3 to 3, in long sequences from 0.05 on: a constant of a mode is a rounded float, whose error grows
 * with the memory of the mode, on any device. Every fifth mask starts a segment. */
static scan_problem make_problem(const sparc_device_scan_config *config, bool with_mask, bool with_controls,
                                 uint64_t seed) {
  sparc_random r;
  sparc_random_init(&r, seed, "device scan", "");
  scan_problem p = {.config = *config, .H = (size_t)config->H};
  const size_t columns = (is_spectral(&p) ? 2 : 1) * p.H;
  p.tokens = (size_t)config->B * (size_t)config->T;
  p.rows = p.tokens * columns;
  p.states = (size_t)config->B * columns;
  p.nu = uniforms(&r, p.H, log(config->T > 200 ? 0.05 : 1e-3), log(3));
  for (size_t j = 0; j < p.H; j++) p.nu[j] = (double)(float)exp(p.nu[j]);
  p.theta = uniforms(&r, p.H, 0, 6.28);
  if (with_controls) p.controls = uniforms(&r, 2 * p.tokens, -1, 1);
  p.a = uniforms(&r, p.rows, 0, 1);
  if (with_mask) p.mask = uniforms(&r, p.tokens, 0, 1);
  for (size_t i = 0; with_mask && i < p.tokens; i++) p.mask[i] = p.mask[i] > 0.2;
  p.state0 = normals(&r, p.states);
  p.dstate_last = normals(&r, p.states);
  p.b = normals(&r, p.rows);
  p.dh = normals(&r, p.rows);
  if (config->bf16) round_to_bf16(p.b, p.rows);
  if (config->bf16) round_to_bf16(p.dh, p.rows);
  return p;
}

static void free_problem(scan_problem *p) {
  double *all[] = {p->nu, p->theta, p->controls, p->a, p->mask, p->state0, p->b, p->dh, p->dstate_last};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sparc_free(all[i]);
}

static scan_result make_result(const scan_problem *p) {
  return (scan_result){doubles(p->rows), doubles(p->states), doubles(p->rows), doubles(2 * p->tokens),
                       doubles(p->rows), doubles(p->states), doubles(p->H),    doubles(p->H)};
}

static void free_result(scan_result *r) {
  double *all[] = {r->h, r->state_last, r->db, r->dcontrols, r->da, r->dstate0, r->dnu, r->dtheta};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sparc_free(all[i]);
}

/* ---- solutions ------------------------------------------------------------------------------------ */

typedef struct scan_arrays {
  sparc_slice nu, theta, prepared, saved, work;
  sparc_device_scan_data data;
  sparc_device_scan_gradient gradient;
} scan_arrays;

static scan_arrays upload_problem(const scan_problem *p, const sparc_device_scan *scan) {
  sparc_device *device = under_test.device;
  const bool bf16 = p->config.bf16, spectral = is_spectral(p);
  const size_t work = sparc_device_scan_sizes_of(scan).work, prepared = sparc_device_scan_sizes_of(scan).prepared;
  const sparc_slice none = {NULL, 0};
  scan_arrays s = {.nu = upload(device, p->nu, p->H, false),
                   .theta = upload(device, p->theta, p->H, false),
                   .prepared = prepared > 0 ? poisoned_block(device, prepared) : none,
                   .saved = poisoned_block(device, sparc_device_scan_sizes_of(scan).saved),
                   .work = work > 0 ? poisoned_block(device, work) : none};
  s.data = (sparc_device_scan_data){.controls = spectral ? upload(device, p->controls, 2 * p->tokens, false) : none,
                                    .a = spectral ? none : upload(device, p->a, p->rows, false),
                                    .mask = upload(device, p->mask, p->tokens, false),
                                    .state0 = upload(device, p->state0, p->states, false),
                                    .b = upload(device, p->b, p->rows, bf16),
                                    .h = poisoned_block(device, p->rows * sizeof(float)),
                                    .state_last = poisoned_block(device, p->states * sizeof(float))};
  s.gradient =
      (sparc_device_scan_gradient){.dh = upload(device, p->dh, p->rows, bf16),
                                   .dstate_last = upload(device, p->dstate_last, p->states, false),
                                   .db = poisoned_block(device, p->rows * sizeof(float)),
                                   .dcontrols = spectral ? poisoned_block(device, 2 * p->tokens * sizeof(float)) : none,
                                   .da = spectral ? none : poisoned_block(device, p->rows * sizeof(float)),
                                   .dstate0 = poisoned_block(device, p->states * sizeof(float)),
                                   .dnu = spectral ? device_block(device, p->H * sizeof(float)) : none,
                                   .dtheta = spectral ? device_block(device, p->H * sizeof(float)) : none};
  return s;
}

static void free_arrays(const scan_arrays *s) {
  const sparc_slice all[] = {s->nu,           s->theta,
                             s->prepared,     s->saved,
                             s->work,         s->data.controls,
                             s->data.a,       s->data.mask,
                             s->data.state0,  s->data.b,
                             s->data.h,       s->data.state_last,
                             s->gradient.dh,  s->gradient.dstate_last,
                             s->gradient.db,  s->gradient.dcontrols,
                             s->gradient.da,  s->gradient.dstate0,
                             s->gradient.dnu, s->gradient.dtheta};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sparc_memory_free(all[i].memory);
}

static void solve(const scan_problem *p, scan_result *r) {
  const bool bf16 = p->config.bf16;
  sparc_device_scan *scan;
  device_check(sparc_device_scan_create(under_test.device, &p->config, &scan));
  const scan_arrays s = upload_problem(p, scan);
  if (is_spectral(p)) device_check(sparc_device_scan_prepare(scan, s.nu, s.theta, s.prepared));
  device_check(sparc_device_scan_forward(scan, s.prepared, &s.data, s.saved, s.work));
  device_check(sparc_device_scan_backward(scan, s.prepared, &s.data, s.saved, &s.gradient, s.work));
  download(s.data.h, r->h, p->rows, bf16);
  download(s.data.state_last, r->state_last, p->states, false);
  download(s.gradient.db, r->db, p->rows, bf16);
  download(s.gradient.dstate0, r->dstate0, p->states, false);
  if (is_spectral(p)) {
    download(s.gradient.dcontrols, r->dcontrols, 2 * p->tokens, false);
    download(s.gradient.dnu, r->dnu, p->H, false);
    download(s.gradient.dtheta, r->dtheta, p->H, false);
  } else {
    download(s.gradient.da, r->da, p->rows, false);
  }
  device_check(sparc_device_wait(under_test.device));
  free_arrays(&s);
  sparc_device_scan_free(scan);
}

static double *part(double *array, size_t offset) { return array ? array + offset : NULL; }

static void solve_spectral_stream(const scan_problem *p, size_t b, scan_result *r) {
  const size_t T = (size_t)p->config.T, S = 2 * p->H, row = b * T * S;
  double *dnu = doubles(p->H), *dtheta = doubles(p->H);
  const scan_reference s = {.T = p->config.T,
                            .H = p->config.H,
                            .kappa_r = (double)p->config.kappa_r,
                            .kappa_p = (double)p->config.kappa_p,
                            .nu = p->nu,
                            .theta = p->theta,
                            .controls = part(p->controls, b * 2 * T),
                            .mask = part(p->mask, b * T),
                            .state0 = part(p->state0, b * S),
                            .b = p->b + row,
                            .h = r->h + row,
                            .dh = p->dh + row,
                            .dstate_last = p->dstate_last + b * S,
                            .db = r->db + row,
                            .dcontrols = r->dcontrols + b * 2 * T,
                            .dstate0 = r->dstate0 + b * S,
                            .dnu = dnu,
                            .dtheta = dtheta};
  scan_reference_forward(&s);
  scan_reference_backward(&s);
  for (size_t j = 0; j < p->H; j++) r->dnu[j] += dnu[j], r->dtheta[j] += dtheta[j];
  memcpy(r->state_last + b * S, r->h + row + (T - 1) * S, S * sizeof(double));
  sparc_free(dnu), sparc_free(dtheta);
}

static void solve_real_stream(const scan_problem *p, size_t b, scan_result *r) {
  const size_t T = (size_t)p->config.T, H = p->H, row = b * T * H;
  const real_scan_reference s = {.T = p->config.T,
                                 .H = p->config.H,
                                 .a = p->a + row,
                                 .mask = part(p->mask, b * T),
                                 .state0 = p->state0 + b * H,
                                 .x = p->b + row,
                                 .h = r->h + row,
                                 .dh = p->dh + row,
                                 .dstate_last = p->dstate_last + b * H,
                                 .dx = r->db + row,
                                 .da = r->da + row,
                                 .dstate0 = r->dstate0 + b * H};
  real_scan_reference_forward(&s);
  real_scan_reference_backward(&s);
  memcpy(r->state_last + b * H, r->h + row + (T - 1) * H, H * sizeof(double));
}

/* ---- comparison ----------------------------------------------------------------------------------- */

static void agree(const scan_problem *p, const char *what, const double *got, const double *want, size_t n,
                  double bound) {
  const sparc_device_scan_config *c = &p->config;
  const double error = e_norm(n, got, want);
  if (!(error <= bound))
    fail_msg("%s of the %s scan, B %d, T %d, H %d, chunks %d%s: E_norm %.2e, at most %.0e", what,
             is_spectral(p) ? "spectral" : "real", c->B, c->T, c->H, c->chunks, c->bf16 ? ", bf16" : "", error, bound);
}

/* of the bits of all results */
static uint64_t hash_result(const scan_problem *p, const scan_result *r) {
  const struct {
    const double *values;
    size_t n;
  } all[] = {{r->h, p->rows},  {r->state_last, p->states}, {r->db, p->rows}, {r->dcontrols, 2 * p->tokens},
             {r->da, p->rows}, {r->dstate0, p->states},    {r->dnu, p->H},   {r->dtheta, p->H}};
  uint64_t hash = HASH_START;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (size_t k = 0; k < all[i].n; k++) {
      const float value = (float)all[i].values[k];
      hash = hash_bytes(hash, &value, sizeof value);
    }
  return hash;
}

/* against the reference; returns the hash of the device's bits */
static uint64_t compare(const scan_problem *p) {
  scan_result got = make_result(p), want = make_result(p);
  solve(p, &got);
  for (size_t b = 0; b < (size_t)p->config.B; b++)
    is_spectral(p) ? solve_spectral_stream(p, b, &want) : solve_real_stream(p, b, &want);
  if (p->config.bf16) {
    expect_rounded("h", p->rows, got.h, want.h, OUTPUT_BOUND);
    expect_rounded("db", p->rows, got.db, want.db, GRADIENT_BOUND);
  } else {
    agree(p, "h", got.h, want.h, p->rows, OUTPUT_BOUND);
    agree(p, "db", got.db, want.db, p->rows, GRADIENT_BOUND);
  }
  agree(p, "state_last", got.state_last, want.state_last, p->states, OUTPUT_BOUND);
  agree(p, "dstate0", got.dstate0, want.dstate0, p->states, GRADIENT_BOUND);
  if (is_spectral(p)) {
    agree(p, "dcontrols", got.dcontrols, want.dcontrols, p->controls ? 2 * p->tokens : 0, GRADIENT_BOUND);
    agree(p, "dnu", got.dnu, want.dnu, p->H, GRADIENT_BOUND);
    agree(p, "dtheta", got.dtheta, want.dtheta, p->H, GRADIENT_BOUND);
  } else {
    agree(p, "da", got.da, want.da, p->rows, GRADIENT_BOUND);
  }
  const uint64_t hash = hash_result(p, &got);
  free_result(&got);
  free_result(&want);
  return hash;
}

/* ---- tests ----------------------------------------------------------------------------------------- */

static sparc_device_scan_config config_of(sparc_scan_kind kind, int B, int T, int H, int chunks, int bf16) {
  return (sparc_device_scan_config){.kind = kind,
                                    .B = B,
                                    .T = T,
                                    .H = H,
                                    .kappa_r = 2.7725887f,
                                    .kappa_p = 1.5707963f,
                                    .bf16 = bf16,
                                    .chunks = chunks};
}

/* shapes around the tile of 32 modes and the step of 32 tokens; one set of kernels for each kind. Every device with
 * exact arithmetic has the bits of these hashes. */
static void test_shapes(void **state) {
  (void)state;
  need_device();
  const struct {
    int B, T, H, chunks;
    bool mask, controls;
    uint64_t hash[2]; /* spectral, real */
  } shapes[] = {{1, 1, 1, 0, false, true, {UINT64_C(0xce63bfea4406cca2), UINT64_C(0xacdaf54336058463)}},
                {2, 5, 64, 1, true, true, {UINT64_C(0xe5355f5cf89138b4), UINT64_C(0xf25bad350b4cb170)}},
                {1, 33, 33, 2, true, false, {UINT64_C(0xb49db1cff5124a76), UINT64_C(0xe44079a9ddacc295)}},
                {3, 31, 32, 16, true, true, {UINT64_C(0xc94b3607836bfc48), UINT64_C(0xb4f94ecb73e97c76)}},
                {2, 300, 70, 5, true, true, {UINT64_C(0x6b0757ec4cb40938), UINT64_C(0xfd67395a5fc96f50)}},
                {1, 1100, 5, 16, false, true, {UINT64_C(0x9d34629625d1cd4f), UINT64_C(0x0d891def0e7bac45)}}};
  const bool exact = sparc_device_info_of(under_test.device).exact;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int kind = SPARC_SCAN_SPECTRAL; kind <= SPARC_SCAN_REAL; kind++) {
      const sparc_device_scan_config config =
          config_of((sparc_scan_kind)kind, shapes[i].B, shapes[i].T, shapes[i].H, shapes[i].chunks, 0);
      scan_problem p = make_problem(&config, shapes[i].mask, shapes[i].controls, i);
      const uint64_t hash = compare(&p);
      if (exact && hash != shapes[i].hash[kind])
        fail_msg("shape %zu, kind %d: hash 0x%016" PRIx64 ", expected 0x%016" PRIx64, i, kind, hash,
                 shapes[i].hash[kind]);
      free_problem(&p);
    }
}

/* decays down to 1e-6, where 1 - rho must keep its digits, and none at all, which the floor of 2^-21 keeps stable */
static void test_small_decay(void **state) {
  (void)state;
  need_device();
  const sparc_device_scan_config config = config_of(SPARC_SCAN_SPECTRAL, 1, 90, 40, 1, 0);
  scan_problem p = make_problem(&config, false, true, 4);
  for (size_t j = 0; j < p.H; j++) p.nu[j] = (double)(float)exp(-11 + 0.3 * (double)j);
  compare(&p);
  p.nu[0] = 0;
  scan_result got = make_result(&p);
  solve(&p, &got);
  for (size_t i = 0; i < p.rows; i++) assert_true(isfinite(got.h[i]) && isfinite(got.db[i]));
  assert_true(isfinite(got.dnu[0]));
  free_result(&got);
  free_problem(&p);
}

/* sequences up to 5000 steps, up to 300 modes, kappa_p on both sides of pi / 2, with and without bfloat16 */
static void test_random(void **state) {
  (void)state;
  need_device();
  if (under_test.random_shapes == 0) {
    print_message("skipped: random shapes need a COUNT, as in make test-device\n");
    return;
  }
  sparc_random stream;
  sparc_random_init(&stream, 1, "device scan shapes", "");
  for (int i = 0; i < under_test.random_shapes; i++) {
    const int T = 1 + (int)sparc_random_below(&stream, i % 8 == 7 ? 5000 : i % 2 ? 400 : 40);
    sparc_device_scan_config config =
        config_of((sparc_scan_kind)(i % 2), T > 400 ? 1 : 1 + (int)sparc_random_below(&stream, 4), T,
                  1 + (int)sparc_random_below(&stream, T > 400 ? 20 : 300), (int)sparc_random_below(&stream, 17),
                  sparc_random_below(&stream, 3) == 0);
    if (sparc_random_below(&stream, 4) == 0) config.kappa_p = 3.5f;
    scan_problem p =
        make_problem(&config, sparc_random_below(&stream, 2), sparc_random_below(&stream, 5) > 0, (uint64_t)i);
    print_message("shape %d: kind %d, B %d, T %d, H %d, chunks %d%s\n", i, (int)config.kind, config.B, config.T,
                  config.H, config.chunks, config.bf16 ? ", bf16" : "");
    compare(&p);
    free_problem(&p);
  }
}

/* a NaN before a reset does not show after it, nor a NaN gradient after it before it */
static void test_resets(void **state) {
  (void)state;
  need_device();
  enum { T = 100, RESET = 37 };
  static const struct {
    sparc_scan_kind kind;
    int H, chunks;
  } cases[] = {
      {SPARC_SCAN_SPECTRAL, 5, 3}, {SPARC_SCAN_REAL, 5, 1}, {SPARC_SCAN_REAL, 70, 1}, {SPARC_SCAN_REAL, 70, 3}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const sparc_scan_kind kind = cases[c].kind;
    const sparc_device_scan_config config = config_of(kind, 1, T, cases[c].H, cases[c].chunks, 0);
    scan_problem p = make_problem(&config, true, true, 9);
    const size_t columns = p.rows / T, first = RESET * columns;
    p.mask[RESET] = 0;
    scan_result clean = make_result(&p), ruined = make_result(&p);
    solve(&p, &clean);
    for (size_t i = 0; i < first; i += 2) p.b[i] = NAN;
    for (size_t i = 0; i < p.states; i++) p.state0[i] = INFINITY;
    solve(&p, &ruined);
    assert_true(isnan(ruined.h[0]));
    assert_memory_equal(clean.h + first, ruined.h + first, (p.rows - first) * sizeof(double));
    assert_memory_equal(clean.db, ruined.db, p.rows * sizeof(double));
    if (kind == SPARC_SCAN_REAL)
      assert_memory_equal(clean.da + first, ruined.da + first, (p.rows - first) * sizeof(double));
    else
      assert_memory_equal(clean.dcontrols + 2 * RESET, ruined.dcontrols + 2 * RESET, 2 * (T - RESET) * sizeof(double));
    for (size_t i = first; i < p.rows; i += 3) p.dh[i] = NAN;
    solve(&p, &ruined);
    assert_memory_equal(clean.db, ruined.db, first * sizeof(double));
    assert_memory_equal(clean.dstate0, ruined.dstate0, p.states * sizeof(double));
    free_result(&clean);
    free_result(&ruined);
    free_problem(&p);
  }
}

static void expect_failure(sparc_status got, sparc_status want, const char *message) {
  if (got != want || !strstr(sparc_error(), message))
    fail_msg("status %s, '%s'; expected %s, '%s'", sparc_status_name(got), sparc_error(), sparc_status_name(want),
             message);
}

static void test_refused(void **state) {
  (void)state;
  need_device();
  sparc_device *device = under_test.device;
  sparc_device_scan *scan;
  const struct {
    sparc_device_scan_config config;
    sparc_status status;
    const char *message;
  } cases[] = {{{.kind = (sparc_scan_kind)7, .B = 1, .T = 1, .H = 1}, SPARC_INVALID, "kind is 7"},
               {{.B = 1, .T = 0, .H = 1}, SPARC_INVALID, "T is 0"},
               {{.B = 1, .T = 1, .H = 1, .kappa_p = 65}, SPARC_INVALID, "kappa_p is 65"},
               {{.B = 1, .T = 1, .H = 1, .kappa_r = -1}, SPARC_INVALID, "kappa_r is -1"},
               {{.B = 1, .T = 1, .H = 1, .chunks = 17}, SPARC_INVALID, "chunks is 17"},
               {{.B = 1 << 16, .T = 1 << 16, .H = 1}, SPARC_INVALID, "32-bit offsets"},
               {{.B = 1 << 20, .T = 1 << 10, .H = 512}, SPARC_NO_MEMORY, "would fit"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect_failure(sparc_device_scan_create(device, &cases[i].config, &scan), cases[i].status, cases[i].message);
    assert_null(scan);
  }
  expect_failure(sparc_device_scan_create(device, NULL, &scan), SPARC_INVALID, "config is NULL");
  sparc_device_scan_free(NULL);
  assert_int_equal(sparc_device_scan_sizes_of(NULL).work, 0);
}

/* arrays that are missing, constants that are none, controls beyond their range */
static void test_arguments(void **state) {
  (void)state;
  need_device();
  const sparc_device_scan_config config = config_of(SPARC_SCAN_SPECTRAL, 1, 8, 3, 1, 0);
  scan_problem p = make_problem(&config, false, true, 2);
  sparc_device_scan *scan;
  const sparc_slice none = {NULL, 0};
  device_check(sparc_device_scan_create(under_test.device, &config, &scan));
  assert_int_equal(sparc_device_scan_sizes_of(scan).chunks, 1);
  p.nu[1] = -1;
  p.controls[6] = 1.5;
  scan_arrays s = upload_problem(&p, scan);
  expect_failure(sparc_device_scan_prepare(scan, s.nu, s.theta, s.prepared), SPARC_INVALID, "nu[1] is -1");
  expect_failure(sparc_device_scan_prepare(scan, s.theta, none, s.prepared), SPARC_INVALID, "theta is absent");
  expect_failure(sparc_device_scan_forward(scan, none, &s.data, s.saved, s.work), SPARC_INVALID, "prepared is absent");
  device_check(sparc_device_scan_prepare(scan, s.theta, s.theta, s.prepared));
  device_check(sparc_device_scan_forward(scan, s.prepared, &s.data, s.saved, s.work));
  expect_failure(sparc_device_wait(under_test.device), SPARC_INVALID, "a control of token 3 is not within -1 to 1");
  device_check(sparc_device_wait(under_test.device));
  s.gradient.db.offset = 4;
  expect_failure(sparc_device_scan_backward(scan, s.prepared, &s.data, s.saved, &s.gradient, s.work), SPARC_INVALID,
                 "gradient.db ends past its block");
  free_arrays(&s);
  free_problem(&p);
  sparc_device_scan_free(scan);
}

int main(int argc, char **argv) {
  device_arguments(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused), cmocka_unit_test(test_shapes),    cmocka_unit_test(test_small_decay),
      cmocka_unit_test(test_resets),  cmocka_unit_test(test_arguments), cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
