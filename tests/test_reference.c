/* SPDX-License-Identifier: MIT */
/* test_reference.c: is the oracle itself right?
 *
 * The double-precision reference is held against four things that share no code with it: the golden vectors of an
 * independent implementation, finite differences of its own forward pass, the closed sums that some cells have, and
 * the identities between cells that the paper states. */
#include "cells/cell.h"
#include "cells/reference/reference.h"
#include "sparc/random.h"
#include "sparc/safetensors.h"
#include "unit.h"

#include <complex.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GOLDEN_TOLERANCE = 1e-12, DIFFERENCE_TOLERANCE = 1e-8, IDENTITY_TOLERANCE = 1e-13;

/* ---- a problem: one cell with all its arrays ----------------------------------------------------- */

typedef struct problem {
  sparc_cell *cell;
  int B, T;
  size_t P, S, O, D; /* sizes as size_t */
  double *params, *x, *mask, *state0, *dy, *dstate_last;
  double *y, *state_last, *dparams, *dx, *dstate0;
} problem;

static double *numbers(size_t n) {
  double *array = test_calloc(n + 1, sizeof *array);
  assert_non_null(array);
  return array;
}

static problem make_problem(const char *kind, const char *options, int B, int T, int D, int H) {
  problem p = {.B = B, .T = T};
  sparc_cell_config config = {.kind = kind, .D = D, .H = H, .options = options};
  if (sparc_cell_create(&config, &p.cell) != SPARC_OK)
    fail_msg("%s (%s): %s", kind, options ? options : "no options", sparc_error());
  sparc_cell_sizes sizes = sparc_cell_sizes_of(p.cell);
  size_t b = (size_t)B, tokens = b * (size_t)T;
  p.P = sizes.params;
  p.S = sizes.state;
  p.O = sizes.output;
  p.D = (size_t)D;
  p.params = numbers(p.P);
  p.x = numbers(tokens * p.D);
  p.mask = numbers(tokens);
  p.state0 = numbers(b * p.S);
  p.dy = numbers(tokens * p.O);
  p.dstate_last = numbers(b * p.S);
  p.y = numbers(tokens * p.O);
  p.state_last = numbers(b * p.S);
  p.dparams = numbers(p.P);
  p.dx = numbers(tokens * p.D);
  p.dstate0 = numbers(b * p.S);
  for (size_t i = 0; i < tokens; i++) p.mask[i] = 1;
  return p;
}

static void free_problem(problem *p) {
  double *arrays[] = {p->params, p->x,          p->mask,    p->state0, p->dy,     p->dstate_last,
                      p->y,      p->state_last, p->dparams, p->dx,     p->dstate0};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) test_free(arrays[i]);
  sparc_cell_free(p->cell);
}

static size_t tokens_of(const problem *p) { return (size_t)p->B * (size_t)p->T; }

static reference_run run_of(const problem *p) {
  return (reference_run){.B = p->B,
                         .T = p->T,
                         .params = p->params,
                         .x = p->x,
                         .mask = p->mask,
                         .state0 = p->state0,
                         .dy = p->dy,
                         .dstate_last = p->dstate_last,
                         .y = p->y,
                         .state_last = p->state_last,
                         .dparams = p->dparams,
                         .dx = p->dx,
                         .dstate0 = p->dstate0};
}

static void evaluate(problem *p) {
  memset(p->dparams, 0, p->P * sizeof(double));
  reference_run run = run_of(p);
  if (reference_evaluate(p->cell, &run) != SPARC_OK) fail_msg("%s", sparc_error());
}

static void fill_normal(sparc_random *random, double *values, size_t n, double scale) {
  for (size_t i = 0; i < n; i++) values[i] = scale * sparc_random_normal(random);
}

/* random numbers everywhere; resets inside stream 0, at the very start and inside stream 1 */
static void randomise(problem *p, const char *name, double scale) {
  sparc_random random;
  sparc_random_init(&random, 1, "test-reference", name);
  fill_normal(&random, p->params, p->P, scale);
  fill_normal(&random, p->x, tokens_of(p) * p->D, 1);
  fill_normal(&random, p->state0, (size_t)p->B * p->S, 1);
  fill_normal(&random, p->dy, tokens_of(p) * p->O, 1);
  fill_normal(&random, p->dstate_last, (size_t)p->B * p->S, 1);
  for (int b = 0; b < p->B; b++)
    for (int t = 0; t < p->T; t++) p->mask[b * p->T + t] = !(t % 4 == 3 - 3 * (b % 2));
}

static const double *param(const problem *p, const char *block) {
  int index = cell_block_index(p->cell, block);
  assert_true(index >= 0);
  return p->params + p->cell->block[index].offset;
}

/* ---- comparison ---------------------------------------------------------------------------------- */

/* E_norm = max|got - want| / max(1, max|want|); infinite when a number is not finite */
static double normalised_error(const double *got, const double *want, size_t n) {
  double error = 0, size = 1;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(got[i])) return INFINITY;
    error = fmax(error, fabs(got[i] - want[i]));
    size = fmax(size, fabs(want[i]));
  }
  return error / size;
}

static double assert_close(const char *what, const char *name, const double *got, const double *want, size_t n,
                           double tolerance) {
  double error = normalised_error(got, want, n);
  if (!(error <= tolerance)) fail_msg("%s: %s has E_norm %.3g, expected at most %.3g", what, name, error, tolerance);
  return error;
}

/* ---- golden vectors ------------------------------------------------------------------------------ */

static int metadata_int(const sparc_tensors *file, const char *key) {
  const char *value = sparc_tensors_metadata_find(file, key);
  assert_non_null(value);
  return atoi(value);
}

/* every key that is neither a size nor about the file is an option; mamba3's number of angles shows only in the rows of
 * `input`: 2 d_i + 2 N + 3 n_h + N_a */
static void options_of(const sparc_tensors *file, const char *kind, char text[256]) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < sparc_tensors_contents_of(file).metadata_count; i++) {
    const sparc_metadata *m = &sparc_tensors_contents_of(file).metadata[i];
    if (strcmp(m->key, "cell") == 0 || strlen(m->key) == 1) continue;
    if (strcmp(m->key, "source") == 0 || strcmp(m->key, "description") == 0) continue;
    used += (size_t)snprintf(text + used, 256 - used, "%s%s=%s", used ? "," : "", m->key, m->value);
    assert_true(used < 256);
  }
  if (strcmp(kind, "mamba3") != 0) return;
  int heads = metadata_int(file, "heads"), P = metadata_int(file, "head_dim"), N = metadata_int(file, "state");
  int rows = (int)sparc_tensors_find(file, "param.input")->shape[0];
  snprintf(text + used, 256 - used, ",angles=%d", rows - 2 * heads * P - 2 * N - 3 * heads);
}

static void read_tensor(const sparc_tensors *file, const char *name, double *out, size_t n) {
  if (sparc_tensors_read(file, name, SPARC_F64, out, n) != SPARC_OK) fail_msg("%s", sparc_error());
}

static double compare_tensor(const sparc_tensors *file, const char *path, const char *name, const double *got,
                             size_t n) {
  double *want = numbers(n);
  read_tensor(file, name, want, n);
  double error = assert_close(path, name, got, want, n, GOLDEN_TOLERANCE);
  test_free(want);
  return error;
}

static double check_vector(const char *path, const char *kind) {
  sparc_tensors *file;
  if (sparc_tensors_load(path, &file) != SPARC_OK) fail_msg("%s", sparc_error());
  assert_string_equal(sparc_tensors_metadata_find(file, "cell"), kind);
  char options[256], name[64];
  options_of(file, kind, options);
  problem p = make_problem(kind, options, metadata_int(file, "B"), metadata_int(file, "T"), metadata_int(file, "D"),
                           metadata_int(file, "H"));

  /* the vectors have no cotangent of the last state, and mamba3 starts cold */
  size_t tokens = tokens_of(&p), B = (size_t)p.B;
  bool cold = !sparc_tensors_find(file, "state0");
  assert_int_equal(cold, strcmp(kind, "mamba3") == 0);
  read_tensor(file, "x", p.x, tokens * p.D);
  read_tensor(file, "mask", p.mask, tokens);
  read_tensor(file, "cot", p.dy, tokens * p.O);
  if (!cold) read_tensor(file, "state0", p.state0, B * p.S);
  for (size_t i = 0; i < p.cell->blocks; i++) {
    const sparc_block *block = &p.cell->block[i];
    snprintf(name, sizeof name, "param.%s", block->name);
    read_tensor(file, name, p.params + block->offset, block->size);
  }
  evaluate(&p);

  double worst = compare_tensor(file, path, "out", p.y, tokens * p.O);
  worst = fmax(worst, compare_tensor(file, path, "grad.x", p.dx, tokens * p.D));
  if (!cold) worst = fmax(worst, compare_tensor(file, path, "grad.state0", p.dstate0, B * p.S));
  for (size_t i = 0; i < p.cell->blocks; i++) {
    const sparc_block *block = &p.cell->block[i];
    snprintf(name, sizeof name, "grad.param.%s", block->name);
    worst = fmax(worst, compare_tensor(file, path, name, p.dparams + block->offset, block->size));
  }
  free_problem(&p);
  sparc_tensors_free(file);
  return worst;
}

static const char *const kinds[] = {"sparc", "rtu", "lru", "rglru", "gateloop", "mamba3", "gru"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* every vector file belongs to one kind, so that none is passed over */
static void test_golden_vectors(void **state) {
  (void)state;
  glob_t all;
  assert_int_equal(glob(SPARC_SOURCE_DIR "/tests/vectors/*.safetensors", 0, NULL, &all), 0);
  size_t seen = 0;
  for (int k = 0; k < KINDS; k++) {
    char pattern[1024];
    snprintf(pattern, sizeof pattern, "%s/tests/vectors/%s[-.]*safetensors", SPARC_SOURCE_DIR, kinds[k]);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) fail_msg("no vector file %s", pattern);
    double worst = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) worst = fmax(worst, check_vector(found.gl_pathv[i], kinds[k]));
    print_message("  %-8s %2zu files, worst E_norm %.2g\n", kinds[k], found.gl_pathc, worst);
    seen += found.gl_pathc;
    globfree(&found);
  }
  assert_int_equal(seen, all.gl_pathc);
  globfree(&all);
}

/* ---- finite differences --------------------------------------------------------------------------- */

typedef struct difference_case {
  const char *kind, *options;
  int D, H;
  double scale; /* of the parameters */
} difference_case;

static const difference_case difference_cases[] = {
    {"sparc", "variant=full", 3, 4, 0.5},
    {"sparc", "variant=fixed-controls", 3, 4, 0.5},
    {"sparc", "variant=phase-only", 3, 4, 0.5},
    {"sparc", "variant=retention-only", 3, 4, 0.5},
    {"sparc", "variant=no-phase-clock", 3, 4, 0.5},
    {"sparc", "variant=static-phase-clock", 3, 4, 0.5},
    {"sparc", "variant=static-transition", 3, 4, 0.5},
    {"sparc", "variant=neutral-gate", 3, 4, 0.5},
    {"sparc", "variant=fixed-normalization", 3, 4, 0.5},
    {"sparc", "variant=linear-content", 3, 4, 0.5},
    {"sparc", "variant=unshared-control", 3, 4, 0.5},
    {"sparc", "variant=frozen-gain", 3, 4, 0.5},
    {"sparc", "groups=2", 3, 4, 0.5},
    {"sparc", "groups=3,projection=none", 12, 6, 0.5},
    {"sparc", "hidden=3", 3, 4, 0.5},
    {"sparc", "hidden=2,projection=none,variant=phase-only", 6, 3, 0.5},
    {"sparc", "content=linear,kappa_r=1,kappa_p=3", 2, 3, 0.5},
    {"sparc", "variant=unshared-control,content=linear", 1, 1, 0.5},
    {"rtu", NULL, 3, 4, 0.7},
    {"lru", NULL, 3, 4, 0.7},
    {"rglru", "block=2", 3, 6, 0.7},
    {"rglru", "block=3,proj_trace=local", 2, 3, 0.7},
    {"rglru", "block=1", 1, 1, 0.7},
    {"gateloop", "transition=polar", 3, 4, 0.7},
    {"gateloop", "transition=complex", 3, 4, 0.7},
    {"mamba3", "heads=2,head_dim=3,state=4,angles=2,decay=rational", 3, 1, 0.7},
    {"mamba3", "heads=2,head_dim=3,state=4,angles=2,decay=softplus", 3, 1, 0.7},
    {"mamba3", "heads=3,head_dim=1,state=5,angles=1,decay=rational", 2, 1, 0.7},
    {"gru", NULL, 3, 4, 0.7},
    {"gru", NULL, 1, 1, 0.7},
};

static double loss(problem *p) {
  reference_run run = run_of(p);
  run.dy = NULL;
  if (reference_evaluate(p->cell, &run) != SPARC_OK) fail_msg("%s", sparc_error());
  double sum = 0;
  for (size_t i = 0; i < tokens_of(p) * p->O; i++) sum += p->dy[i] * p->y[i];
  for (size_t i = 0; i < (size_t)p->B * p->S; i++) sum += p->dstate_last[i] * p->state_last[i];
  return sum;
}

/* fourth-order central differences of the loss in each of n numbers at `values` */
static double check_differences(problem *p, const char *what, const char *name, double *values, const double *gradient,
                                size_t n) {
  static const double step = 2e-4;
  double *want = numbers(n);
  for (size_t i = 0; i < n; i++) {
    double centre = values[i], at[4];
    for (int k = 0; k < 4; k++) {
      values[i] = centre + step * (k < 2 ? k - 2 : k - 1);
      at[k] = loss(p);
    }
    values[i] = centre;
    want[i] = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * step);
  }
  double error = assert_close(what, name, gradient, want, n, DIFFERENCE_TOLERANCE);
  test_free(want);
  return error;
}

static void test_finite_differences(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof difference_cases / sizeof *difference_cases; c++) {
    const difference_case *dc = &difference_cases[c];
    char what[128];
    snprintf(what, sizeof what, "%s %s", dc->kind, dc->options ? dc->options : "");
    problem p = make_problem(dc->kind, dc->options, 2, 7, dc->D, dc->H);
    randomise(&p, what, dc->scale);
    evaluate(&p);

    double worst = check_differences(&p, what, "x", p.x, p.dx, tokens_of(&p) * p.D);
    worst = fmax(worst, check_differences(&p, what, "state0", p.state0, p.dstate0, (size_t)p.B * p.S));
    for (size_t i = 0; i < p.cell->blocks; i++) {
      const sparc_block *b = &p.cell->block[i];
      worst = fmax(worst, check_differences(&p, what, b->name, p.params + b->offset, p.dparams + b->offset, b->size));
    }
    print_message("  %-62s %.1g\n", what, worst);
    free_problem(&p);
  }
}

/* ---- closed forms ---------------------------------------------------------------------------------- */

static double logistic(double v) { return 1 / (1 + exp(-v)); }

static double row_times(const double *row, const double *x, size_t D) {
  double sum = 0;
  for (size_t i = 0; i < D; i++) sum += row[i] * x[i];
  return sum;
}

/* lambda_{j,t} and b_{j,t} in the compact coordinates of the paper's main text [eq:sara_transition] [eq:sara_write]
 * with the gain of [eq:gain_coordinate_conversion] */
static void sparc_coefficients(const problem *p, int j, int t, double kappa_r, double kappa_p, double complex *lambda,
                               double complex *b) {
  const size_t D = p->D;
  const double *x = p->x + (size_t)t * D;
  double nu = exp(param(p, "log_decay")[j]), theta = exp(param(p, "log_freq")[j]);
  double r = tanh(row_times(param(p, "ctrl_retention"), x, D) + param(p, "ctrl_retention")[D]);
  double phase = tanh(row_times(param(p, "ctrl_phase"), x, D) + param(p, "ctrl_phase")[D]);
  double c = kappa_r * r, d = kappa_p * phase, rho = exp(-nu * exp(c));
  double zeta = param(p, "log_gain")[j] + log(2) - 0.5 * log(1 - exp(-2 * nu));
  double q = logistic(param(p, "gate_phase")[j] * phase + param(p, "gate_retention")[j] * r);
  double complex u = tanh(row_times(param(p, "content_re") + (size_t)j * D, x, D)) +
                     I * tanh(row_times(param(p, "content_im") + (size_t)j * D, x, D));
  *lambda = rho * cexp(I * (theta + (1 - rho) * d));
  *b = exp(zeta) * sqrt(1 - rho * rho) * q * u;
}

/* h_t as the sum over all past writes [eq:app_phase_history_expansion], at ranges other than the default */
static void test_sparc_history_expansion(void **state) {
  (void)state;
  enum { T = 6, H = 3 };
  problem p = make_problem("sparc", "kappa_r=1.5,kappa_p=0.75", 1, T, 2, H);
  randomise(&p, "expansion", 0.5);
  for (int t = 0; t < T; t++) p.mask[t] = 1;
  evaluate(&p);
  double want[T * 2 * H];
  for (int j = 0; j < H; j++) {
    double complex lambda[T], b[T];
    for (int t = 0; t < T; t++) sparc_coefficients(&p, j, t, 1.5, 0.75, &lambda[t], &b[t]);
    for (int t = 0; t < T; t++) {
      double complex product = 1, sum = 0;
      for (int s = t; s >= 0; s--) {
        sum += product * b[s];
        product *= lambda[s];
      }
      sum += product * (p.state0[j] + I * p.state0[H + j]);
      want[t * 2 * H + j] = creal(sum);
      want[t * 2 * H + H + j] = cimag(sum);
    }
  }
  assert_close("sparc", "expansion", p.y, want, T * 2 * H, IDENTITY_TOLERANCE);
  free_problem(&p);
}

/* o_t = silu(g_t) q_t Re sum_s (prod a) k_s v_s, projected, for both transitions */
static void check_gateloop_expansion(bool polar) {
  enum { T = 5, D = 3, H = 2 };
  problem p = make_problem("gateloop", polar ? "transition=polar" : "transition=complex", 1, T, D, H);
  randomise(&p, "gateloop expansion", 0.8);
  for (int t = 0; t < T; t++) p.mask[t] = t > 0;
  evaluate(&p);
  double want[T * D] = {0};
  for (int j = 0; j < H; j++) {
    double complex a[T];
    for (int t = 0; t < T; t++) {
      const double *x = p.x + t * D, *wa = param(&p, "retention") + j * (D + 1), *wb = param(&p, "phase") + j * (D + 1);
      double complex z = row_times(wa, x, D) + wa[D] + I * (row_times(wb, x, D) + wb[D]);
      a[t] = polar ? logistic(creal(z)) * cexp(I * cimag(z)) : logistic(cabs(z)) * cexp(I * carg(z));
    }
    for (int t = 0; t < T; t++) {
      const double *x = p.x + t * D;
      double complex product = 1, h = 0;
      for (int s = t; s >= 0; product *= a[s--])
        h += product * row_times(param(&p, "key") + j * D, p.x + s * D, D) *
             row_times(param(&p, "value") + j * D, p.x + s * D, D);
      double g = row_times(param(&p, "gate") + j * D, x, D);
      double read = g * logistic(g) * row_times(param(&p, "query") + j * D, x, D) * creal(h);
      for (int i = 0; i < D; i++) want[t * D + i] += param(&p, "output")[i * H + j] * read;
    }
  }
  assert_close("gateloop", polar ? "polar" : "complex", p.y, want, T * D, IDENTITY_TOLERANCE);
  free_problem(&p);
}

static void test_gateloop_expansion(void **state) {
  (void)state;
  check_gateloop_expansion(true);
  check_gateloop_expansion(false);
}

/* Mamba-3 as attention: o_t = sum_s exp(sum A dt) c_{t,s} <qr_t, kr_s> v_s + skip v_t with
 * c_{t,s} = lam_s dt_s + (1 - lam_{s+1}) dt_{s+1} for s < t and lam_t dt_t for s = t */
enum { MT = 6, MD = 3, MHEADS = 2, MP = 2, MN = 5, MANGLES = 2, MI = MHEADS * MP };

typedef struct mamba_token { /* one head at one time */
  double dt, decay, lam, v[MP], z[MP], kr[MN], qr[MN];
} mamba_token;

static void mamba_projections(const problem *p, bool rational, int head, int t, double phi[MANGLES], mamba_token *out) {
  double pre[2 * MI + 2 * MN + 3 * MHEADS + MANGLES];
  for (size_t i = 0; i < sizeof pre / sizeof *pre; i++)
    pre[i] = row_times(param(p, "input") + i * MD, p->x + t * MD, MD);
  const double *B = pre + 2 * MI, *C = B + MN, *scalars = C + MN, *om = scalars + 3 * MHEADS;
  double y = scalars[MHEADS + head];
  out->dt = log1p(exp(scalars[head] + param(p, "dt_bias")[head]));
  out->decay = rational ? (y >= 0 ? 1 + y : 1 / (1 - y)) : log1p(exp(y));
  out->decay = fmax(out->decay, 1e-4);
  out->lam = logistic(scalars[2 * MHEADS + head]);
  for (int i = 0; i < MP; i++) {
    out->z[i] = pre[head * MP + i];
    out->v[i] = pre[MI + head * MP + i];
  }
  double mean_B = 0, mean_C = 0;
  for (int i = 0; i < MN; i++) {
    mean_B += B[i] * B[i] / MN;
    mean_C += C[i] * C[i] / MN;
  }
  for (int i = 0; i < MN; i++) {
    out->kr[i] = B[i] / sqrt(mean_B + 1e-5) * param(p, "key_norm")[i] + param(p, "key_bias")[head * MN + i];
    out->qr[i] = C[i] / sqrt(mean_C + 1e-5) * param(p, "query_norm")[i] + param(p, "query_bias")[head * MN + i];
  }
  for (int n = 0; n < MANGLES; n++) {
    phi[n] += 3.14159265358979323846 * out->dt * tanh(om[n]);
    double *vectors[] = {out->kr, out->qr};
    for (int w = 0; w < 2; w++) {
      double complex turned = (vectors[w][2 * n] + I * vectors[w][2 * n + 1]) * cexp(I * phi[n]);
      vectors[w][2 * n] = creal(turned);
      vectors[w][2 * n + 1] = cimag(turned);
    }
  }
}

/* with `floored` every decay is at its floor, where its projection gets no gradient */
static void check_mamba_sum(bool rational, bool floored) {
  char options[128];
  snprintf(options, sizeof options, "heads=%d,head_dim=%d,state=%d,angles=%d,decay=%s", MHEADS, MP, MN, MANGLES,
           rational ? "rational" : "softplus");
  problem p = make_problem("mamba3", options, 1, MT, MD, 1);
  randomise(&p, options, 0.7);
  for (int t = 0; t < MT; t++) p.mask[t] = t > 0;
  const size_t decay_rows = (2 * MI + 2 * MN + MHEADS) * MD, decay_count = MHEADS * MD;
  if (floored) {
    for (int i = 0; i < MT * MD; i++) p.x[i] = 1 + fabs(p.x[i]);
    for (size_t i = 0; i < decay_count; i++) p.params[decay_rows + i] = -5;
  }
  evaluate(&p);
  double want[MT * MD] = {0};
  for (int head = 0; head < MHEADS; head++) {
    mamba_token at[MT];
    double phi[MANGLES] = {0};
    for (int t = 0; t < MT; t++) mamba_projections(&p, rational, head, t, phi, &at[t]);
    for (int t = 0; t < MT; t++) {
      double o[MP], exponent = 0;
      for (int i = 0; i < MP; i++) o[i] = param(&p, "skip")[head] * at[t].v[i];
      for (int s = t; s >= 0; s--) {
        double c = at[s].lam * at[s].dt + (s < t ? (1 - at[s + 1].lam) * at[s + 1].dt : 0);
        double score = exp(exponent) * c * row_times(at[t].qr, at[s].kr, MN);
        for (int i = 0; i < MP; i++) o[i] += score * at[s].v[i];
        exponent -= at[s].decay * at[s].dt;
      }
      for (int i = 0; i < MP; i++)
        for (int d = 0; d < MD; d++)
          want[t * MD + d] += param(&p, "output")[d * MI + head * MP + i] * o[i] * at[t].z[i] * logistic(at[t].z[i]);
    }
  }
  assert_close("mamba3", options, p.y, want, MT * MD, IDENTITY_TOLERANCE);
  for (size_t i = 0; i < decay_count; i++) assert_true((p.dparams[decay_rows + i] == 0) == floored);
  free_problem(&p);
}

static void test_mamba3_explicit_sum(void **state) {
  (void)state;
  check_mamba_sum(true, false);
  check_mamba_sum(false, false);
  check_mamba_sum(false, true);
}

/* ---- identities ------------------------------------------------------------------------------------- */

static void copy_block(problem *to, const problem *from, const char *block) {
  int index = cell_block_index(to->cell, block);
  assert_true(index >= 0);
  memcpy(to->params + to->cell->block[index].offset, param(from, block), to->cell->block[index].size * sizeof(double));
}

/* zero controls and linear content leave LRU, and RTU's state when the gain is RTU's [sec:fixed_spectral_limit] */
static void test_fixed_spectral_limit(void **state) {
  (void)state;
  static const char *const common[] = {"log_decay", "log_freq", "content_re", "content_im"};
  enum { D = 3, H = 4 };
  problem adaptive = make_problem("sparc", "content=linear", 2, 9, D, H);
  problem lru = make_problem("lru", NULL, 2, 9, D, H), rtu = make_problem("rtu", NULL, 2, 9, D, H);
  randomise(&adaptive, "limit", 0);
  problem *spectral[] = {&lru, &rtu};
  for (int k = 0; k < 2; k++) {
    problem *fixed = spectral[k];
    randomise(fixed, "limit", 0.7);
    for (int i = 0; i < 4; i++) copy_block(&adaptive, fixed, common[i]);
    double *log_gain = adaptive.params + adaptive.cell->block[cell_block_index(adaptive.cell, "log_gain")].offset;
    for (int j = 0; j < H; j++)
      log_gain[j] = fixed == &lru ? param(fixed, "log_gain")[j]
                                  : log(sqrt(-expm1(-2 * exp(param(fixed, "log_decay")[j]))) + 1e-8);
    memcpy(adaptive.x, fixed->x, tokens_of(fixed) * D * sizeof(double));
    memcpy(adaptive.state0, fixed->state0, 2 * 2 * H * sizeof(double));
    evaluate(fixed);
    evaluate(&adaptive);
    assert_close("fixed spectral limit", k ? "rtu" : "lru", adaptive.y, fixed->y, tokens_of(fixed) * 2 * H,
                 IDENTITY_TOLERANCE);
  }
  free_problem(&adaptive);
  free_problem(&lru);
  free_problem(&rtu);
}

/* ---- edges ------------------------------------------------------------------------------------------ */

static void assert_all_finite(const problem *p, const char *kind) {
  const struct {
    const char *name;
    const double *values;
    size_t n;
  } table[] = {
      {"y", p->y, tokens_of(p) * p->O},
      {"state_last", p->state_last, (size_t)p->B * p->S},
      {"dparams", p->dparams, p->P},
      {"dx", p->dx, tokens_of(p) * p->D},
      {"dstate0", p->dstate0, (size_t)p->B * p->S},
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    for (size_t i = 0; i < table[k].n; i++)
      if (!isfinite(table[k].values[i])) fail_msg("%s: %s[%zu] is %g", kind, table[k].name, i, table[k].values[i]);
}

/* parameters of +-1000 and of the largest floats at ordinary inputs, and inputs of 1e30 at ordinary parameters */
static void test_extremes_stay_finite(void **state) {
  (void)state;
  static const double size[] = {1e3, 3.4e38, 0.7}, reach[] = {1, 1, 1e30};
  for (size_t c = 0; c < sizeof difference_cases / sizeof *difference_cases; c++) {
    const difference_case *dc = &difference_cases[c];
    problem p = make_problem(dc->kind, dc->options, 2, 5, dc->D, dc->H);
    for (int round = 0; round < 12; round++) {
      char name[32];
      snprintf(name, sizeof name, "extreme %d", round);
      randomise(&p, name, 1);
      for (size_t i = 0; i < p.P; i++) p.params[i] = copysign(size[round % 3], p.params[i]);
      for (size_t i = 0; i < tokens_of(&p) * p.D; i++) p.x[i] *= reach[round % 3];
      evaluate(&p);
      assert_all_finite(&p, dc->kind);
    }
    free_problem(&p);
  }
}

static void set_params(problem *p, const char *block, double value) {
  int index = cell_block_index(p->cell, block);
  assert_true(index >= 0);
  for (size_t i = 0; i < p->cell->block[index].size; i++) p->params[p->cell->block[index].offset + i] = value;
}

/* the write ratio of a mode that hardly decays tends to exp(c_t / 2), however small nu is */
static void test_vanishing_decay_has_its_limit(void **state) {
  (void)state;
  problem p = make_problem("sparc", "content=linear", 1, 1, 1, 1);
  set_params(&p, "log_decay", -1000);
  set_params(&p, "content_re", 1);
  set_params(&p, "ctrl_retention", 0.125); /* weight and bias */
  p.x[0] = 1;
  evaluate(&p);
  assert_true(fabs(p.y[0] - pow(16, tanh(0.25) / 2)) < 1e-14);
  free_problem(&p);
}

/* with r = q = 1/2 and u = 1: the derivative of sqrt(1 - a^2) is held at 1000 where the true one is larger */
static void test_rglru_bounded_root(void **state) {
  (void)state;
  problem p = make_problem("rglru", "block=1", 1, 1, 1, 1);
  set_params(&p, "content", 1);
  set_params(&p, "decay_logit", -20);
  p.x[0] = p.dy[0] = 1;
  p.state0[0] = 3;
  evaluate(&p);
  double log_a = -4 * log1p(exp(-20)), a = exp(log_a), want = (3 * a - a * a / 5e-4 / 2) * -4 * logistic(-20);
  double got = p.dparams[p.cell->block[cell_block_index(p.cell, "decay_logit")].offset];
  assert_true(sqrt(-expm1(2 * log_a)) < 5e-4);
  assert_true(fabs(got - want) < 1e-13 * fabs(want));
  assert_true(fabs(p.y[0] - (3 * a + sqrt(-expm1(2 * log_a)) / 2)) < 1e-14);
  free_problem(&p);
}

static void test_optional_arrays(void **state) {
  (void)state;
  problem p = make_problem("gru", NULL, 2, 5, 3, 4);
  randomise(&p, "optional", 0.7);
  size_t tokens = tokens_of(&p);
  for (size_t i = 0; i < tokens; i++) p.mask[i] = 1;
  memset(p.state0, 0, 2 * p.S * sizeof(double));
  memset(p.dstate_last, 0, 2 * p.S * sizeof(double));
  evaluate(&p);

  /* absent mask, state0 and dstate_last mean ones, zeros and zeros; absent results are not computed; dparams adds up */
  double *y = numbers(tokens * p.O), *dparams = numbers(p.P);
  for (size_t i = 0; i < p.P; i++) dparams[i] = 1;
  reference_run run = {.B = 2, .T = 5, .params = p.params, .x = p.x, .dy = p.dy, .y = y, .dparams = dparams};
  assert_int_equal(reference_evaluate(p.cell, &run), SPARC_OK);
  assert_memory_equal(y, p.y, tokens * p.O * sizeof(double));
  for (size_t i = 0; i < p.P; i++) dparams[i] -= 1;
  assert_close("gru", "accumulated dparams", dparams, p.dparams, p.P, 1e-14);
  run.dparams = NULL;
  assert_int_equal(reference_evaluate(p.cell, &run), SPARC_OK);
  test_free(y);
  test_free(dparams);
  free_problem(&p);
}

static void test_bad_arguments(void **state) {
  (void)state;
  problem p = make_problem("rtu", NULL, 1, 1, 1, 1);
  const reference_run good = run_of(&p);
  assert_int_equal(reference_evaluate(p.cell, &good), SPARC_OK);
  assert_int_equal(reference_evaluate(NULL, &good), SPARC_INVALID);
  assert_int_equal(reference_evaluate(p.cell, NULL), SPARC_INVALID);

  reference_run bad[5] = {good, good, good, good, good};
  bad[0].B = 0;
  bad[1].T = -1;
  bad[2].params = NULL;
  bad[3].x = NULL;
  bad[4].y = NULL;
  static const char *const sentences[] = {"B is 0", "T is -1", "params is NULL", "x is NULL", "y is NULL"};
  for (int i = 0; i < 5; i++) {
    assert_int_equal(reference_evaluate(p.cell, &bad[i]), SPARC_INVALID);
    assert_non_null(strstr(sparc_error(), sentences[i]));
  }

  cell_description unknown = {.kind = {.name = "nonesuch"}};
  sparc_cell stranger = {.about = &unknown, .D = 1, .H = 1};
  assert_int_equal(reference_evaluate(&stranger, &good), SPARC_UNSUPPORTED);
  assert_non_null(strstr(sparc_error(), "nonesuch"));
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden_vectors),          cmocka_unit_test(test_finite_differences),
      cmocka_unit_test(test_sparc_history_expansion), cmocka_unit_test(test_gateloop_expansion),
      cmocka_unit_test(test_mamba3_explicit_sum),     cmocka_unit_test(test_fixed_spectral_limit),
      cmocka_unit_test(test_extremes_stay_finite),    cmocka_unit_test(test_vanishing_decay_has_its_limit),
      cmocka_unit_test(test_rglru_bounded_root),      cmocka_unit_test(test_optional_arrays),
      cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
