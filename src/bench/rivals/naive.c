/* SPDX-License-Identifier: MIT */
/* naive.c: the SPARC mixer, eagerly (see naive.h).
 *
 *   u = tanh(z)   E = exp(kappa_r r)   e = nu E   rho = exp(-e)   phase = theta + (1 - rho) kappa_p p
 *   lambda = rho (cos phase + i sin phase)   [eq:sara_transition]
 *   b = exp(beta) sqrt((1 - exp(-2 e)) / (1 - exp(-2 nu))) 2 sigma(s p + v r) u   [eq:implementation_write]
 *   h_t = lambda_t h_{t-1} + b_t   [eq:sara_recurrence]
 *
 * Arrays are (tokens, H), vectors of tokens or of modes are spread over them by the operations whose names say so.
 */
#include "bench/rivals/naive.h"

#include "base/error.h"
#include "base/memory.h"
#include "cells/cell.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one operation at a time -------------------------------------------------------------------- */

typedef struct shape {
  size_t tokens, H;
} shape;

/* pointwise: out may be one of the operands */
static void multiply(size_t n, const float *a, const float *b, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = a[i] * b[i];
}
static void add(size_t n, const float *a, const float *b, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = a[i] + b[i];
}
static void subtract(size_t n, const float *a, const float *b, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = a[i] - b[i];
}
static void divide(size_t n, const float *a, const float *b, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = a[i] / b[i];
}
static void scale(size_t n, float factor, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = factor * a[i];
}
static void one_minus(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = 1 - a[i];
}
static void exponential(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = expf(a[i]);
}
static void exponential_minus_one(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = expm1f(a[i]);
}
static void sine(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = sinf(a[i]);
}
static void cosine(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = cosf(a[i]);
}
static void square_root(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = sqrtf(a[i]);
}
static void hyperbolic_tangent(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = tanhf(a[i]);
}
static void logistic(size_t n, const float *a, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = 1 / (1 + expf(-a[i]));
}

/* with a vector of modes, or of tokens */
static void multiply_modes(shape s, const float *a, const float *modes, float *out) {
  for (size_t t = 0; t < s.tokens; t++)
    for (size_t j = 0; j < s.H; j++) out[t * s.H + j] = a[t * s.H + j] * modes[j];
}
static void add_modes(shape s, const float *a, const float *modes, float *out) {
  for (size_t t = 0; t < s.tokens; t++)
    for (size_t j = 0; j < s.H; j++) out[t * s.H + j] = a[t * s.H + j] + modes[j];
}
static void multiply_tokens(shape s, const float *a, const float *tokens, float *out) {
  for (size_t t = 0; t < s.tokens; t++)
    for (size_t j = 0; j < s.H; j++) out[t * s.H + j] = a[t * s.H + j] * tokens[t];
}
static void outer(shape s, const float *tokens, const float *modes, float *out) {
  for (size_t t = 0; t < s.tokens; t++)
    for (size_t j = 0; j < s.H; j++) out[t * s.H + j] = tokens[t] * modes[j];
}

/* sums over tokens, one per mode, and over modes, one per token */
static void sum_tokens(shape s, const float *a, float *modes) {
  memset(modes, 0, s.H * sizeof *modes);
  for (size_t t = 0; t < s.tokens; t++)
    for (size_t j = 0; j < s.H; j++) modes[j] += a[t * s.H + j];
}
static void sum_modes(shape s, const float *a, float *tokens) {
  for (size_t t = 0; t < s.tokens; t++) {
    float sum = 0;
    for (size_t j = 0; j < s.H; j++) sum += a[t * s.H + j];
    tokens[t] = sum;
  }
}

/* halves of rows (tokens, 2 H), and columns of (tokens, 2) */
static void take_half(shape s, const float *rows, size_t half, float *out) {
  for (size_t t = 0; t < s.tokens; t++) memcpy(out + t * s.H, rows + (2 * t + half) * s.H, s.H * sizeof *out);
}
static void put_half(shape s, const float *a, size_t half, float *rows) {
  for (size_t t = 0; t < s.tokens; t++) memcpy(rows + (2 * t + half) * s.H, a + t * s.H, s.H * sizeof *rows);
}
static void take_column(size_t tokens, const float *pairs, size_t column, float *out) {
  for (size_t t = 0; t < tokens; t++) out[t] = pairs[2 * t + column];
}
static void put_column(size_t tokens, const float *a, size_t column, float *pairs) {
  for (size_t t = 0; t < tokens; t++) pairs[2 * t + column] = a[t];
}

/* ---- the mixer ---------------------------------------------------------------------------------- */

enum { RE, IM, PARTS };

/* arrays of tokens times modes that the forward keeps, as automatic differentiation does, and scratch */
enum {
  U_RE,
  U_IM,
  E,
  RHO,
  CLOCK,
  COS,
  SIN,
  LAMBDA_RE,
  LAMBDA_IM,
  DECAYED,
  RATIO,
  ROOT,
  GATE,
  AMPLITUDE,
  B_RE,
  B_IM,
  H_RE,
  H_IM,
  MU_RE,
  MU_IM,
  DLAMBDA_RE,
  DLAMBDA_IM,
  D1,
  D2,
  D3,
  D4,
  ARRAYS
};
_Static_assert((int)ARRAYS == (int)NAIVE_ARRAYS, "the header says how much memory this takes");

/* vectors of tokens, and of modes */
enum { R, P, SCALE, TURN, DR, DP, TOKEN_SCRATCH, TOKEN_VECTORS };
enum { NU, THETA, GAIN, NORM0, GATE_P, GATE_R, MODE_SCRATCH, MODE_VECTORS };

struct naive {
  const sparc_cell *cell;
  const float *params;
  int B, T;
  shape s;
  size_t n, D; /* n = tokens H */
  bool project;
  float kappa_r, kappa_p;
  float *array[ARRAYS], *token[TOKEN_VECTORS], *mode[MODE_VECTORS];
  float *step[4];        /* (B, H): operands of one step of time */
  float *carried[PARTS]; /* (B, H) */
  void *memory;
};

static const sparc_block *block_of(const sparc_cell *cell, const char *name) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(blocks[i].name, name) == 0) return &blocks[i];
  return NULL;
}

static const float *weights_of(const naive *n, const char *name) { return n->params + block_of(n->cell, name)->offset; }
static float *gradient_of(const naive *n, const naive_data *data, const char *name) {
  return data->dparams + block_of(n->cell, name)->offset;
}

static void carve(naive *n, arena *a) {
  for (int i = 0; i < ARRAYS; i++) n->array[i] = arena_take(a, n->n, sizeof(float));
  for (int i = 0; i < TOKEN_VECTORS; i++) n->token[i] = arena_take(a, n->s.tokens, sizeof(float));
  for (int i = 0; i < MODE_VECTORS; i++) n->mode[i] = arena_take(a, n->s.H, sizeof(float));
  const size_t row = (size_t)n->B * n->s.H;
  for (int i = 0; i < 4; i++) n->step[i] = arena_take(a, row, sizeof(float));
  for (int i = 0; i < PARTS; i++) n->carried[i] = arena_take(a, row, sizeof(float));
}

sparc_status naive_create(const sparc_cell *cell, const float *params, int B, int T, bool project, naive **out) {
  static const char variant[] = "variant=full,content=tanh";
  *out = NULL;
  if (strcmp(sparc_cell_config_of(cell).kind, "sparc") != 0 ||
      strncmp(sparc_cell_config_of(cell).options, variant, sizeof variant - 1) != 0)
    return fail(SPARC_UNSUPPORTED, "the naive implementation is of cell sparc with %s, not of %s with %s", variant,
                sparc_cell_config_of(cell).kind, sparc_cell_config_of(cell).options);
  naive *n = calloc(1, sizeof *n);
  if (!n) return fail(SPARC_NO_MEMORY, "no memory for the naive implementation");
  *n = (naive){.cell = cell,
               .params = params,
               .B = B,
               .T = T,
               .s = {(size_t)B * (size_t)T, (size_t)sparc_cell_config_of(cell).H},
               .D = (size_t)sparc_cell_config_of(cell).D,
               .project = project,
               .kappa_r = (float)cell_option(cell, "kappa_r"),
               .kappa_p = (float)cell_option(cell, "kappa_p")};
  n->n = n->s.tokens * n->s.H;
  arena measure = arena_measure();
  carve(n, &measure);
  n->memory = sparc_alloc(measure.used);
  if (!n->memory) {
    free(n);
    return fail(SPARC_NO_MEMORY, "no memory for %zu bytes of the naive implementation", measure.used);
  }
  arena place = arena_over(n->memory, measure.used);
  carve(n, &place);
  *out = n;
  return SPARC_OK;
}

void naive_free(naive *n) {
  if (!n) return;
  sparc_free(n->memory);
  free(n);
}

/* ---- projections -------------------------------------------------------------------------------- */

static const char *const content_names[PARTS] = {"content_re", "content_im"};
static const char *const control_names[2] = {"ctrl_retention", "ctrl_phase"};

/* out = x W^T */
static void project_content(const naive *n, const float *x, int part, float *out) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n->s.tokens, (int)n->s.H, (int)n->D, 1, x, (int)n->D,
              weights_of(n, content_names[part]), (int)n->D, 0, out, (int)n->s.H);
}

/* out = x w + bias */
static void project_control(const naive *n, const float *x, int control, float *out) {
  const float *w = weights_of(n, control_names[control]);
  for (size_t t = 0; t < n->s.tokens; t++) out[t] = w[n->D];
  cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)n->s.tokens, (int)n->D, 1, x, (int)n->D, w, 1, 1, out, 1);
}

static void project_content_backward(const naive *n, const naive_data *data, int part, const float *dz) {
  const int tokens = (int)n->s.tokens, H = (int)n->s.H, D = (int)n->D;
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, H, D, tokens, 1, dz, H, data->x, D, 1,
              gradient_of(n, data, content_names[part]), D);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, tokens, D, H, 1, dz, H, weights_of(n, content_names[part]), D,
              1, data->dx, D);
}

static void project_control_backward(const naive *n, const naive_data *data, int control, const float *d) {
  const int tokens = (int)n->s.tokens, D = (int)n->D;
  float *dw = gradient_of(n, data, control_names[control]);
  cblas_sgemv(CblasRowMajor, CblasTrans, tokens, D, 1, data->x, D, d, 1, 1, dw, 1);
  for (size_t t = 0; t < n->s.tokens; t++) dw[D] += d[t];
  cblas_sger(CblasRowMajor, tokens, D, 1, d, 1, weights_of(n, control_names[control]), 1, data->dx, D);
}

/* ---- forward ------------------------------------------------------------------------------------ */

/* row t of every stream of an array (B, T, H), as a (B, H) operand, and back: unbinding the time axis */
static void take_time(const naive *n, const float *array, size_t t, float *out) {
  const size_t H = n->s.H, T = (size_t)n->T;
  for (size_t b = 0; b < (size_t)n->B; b++) memcpy(out + b * H, array + (b * T + t) * H, H * sizeof *out);
}
static void put_time(const naive *n, const float *row, size_t t, float *array) {
  const size_t H = n->s.H, T = (size_t)n->T;
  for (size_t b = 0; b < (size_t)n->B; b++) memcpy(array + (b * T + t) * H, row + b * H, H * sizeof *row);
}

static void derive_modes(const naive *n) {
  const size_t H = n->s.H;
  exponential(H, weights_of(n, "log_decay"), n->mode[NU]);
  exponential(H, weights_of(n, "log_freq"), n->mode[THETA]);
  exponential(H, weights_of(n, "log_gain"), n->mode[GAIN]);
  scale(H, -2, n->mode[NU], n->mode[NORM0]);
  exponential_minus_one(H, n->mode[NORM0], n->mode[NORM0]);
  scale(H, -1, n->mode[NORM0], n->mode[NORM0]);
  scale(H, 1, weights_of(n, "gate_phase"), n->mode[GATE_P]);
  scale(H, 1, weights_of(n, "gate_retention"), n->mode[GATE_R]);
}

static void compute_inputs(const naive *n, const naive_data *data) {
  const size_t tokens = n->s.tokens;
  for (int part = 0; part < PARTS; part++) {
    float *z = n->array[D1];
    if (n->project)
      project_content(n, data->x, part, z);
    else
      take_half(n->s, data->content, (size_t)part, z);
    hyperbolic_tangent(n->n, z, n->array[U_RE + part]);
  }
  for (int control = 0; control < 2; control++) {
    float *value = n->token[R + control];
    if (n->project) {
      project_control(n, data->x, control, value);
      hyperbolic_tangent(tokens, value, value);
    } else {
      take_column(tokens, data->controls, (size_t)control, value);
    }
  }
}

static void compute_transition(const naive *n) {
  float *const *a = n->array;
  scale(n->s.tokens, n->kappa_r, n->token[R], n->token[SCALE]);
  exponential(n->s.tokens, n->token[SCALE], n->token[SCALE]);
  outer(n->s, n->token[SCALE], n->mode[NU], a[E]);
  scale(n->n, -1, a[E], a[D1]);
  exponential(n->n, a[D1], a[RHO]);
  one_minus(n->n, a[RHO], a[CLOCK]);
  scale(n->s.tokens, n->kappa_p, n->token[P], n->token[TURN]);
  multiply_tokens(n->s, a[CLOCK], n->token[TURN], a[D1]);
  add_modes(n->s, a[D1], n->mode[THETA], a[D1]);
  cosine(n->n, a[D1], a[COS]);
  sine(n->n, a[D1], a[SIN]);
  multiply(n->n, a[RHO], a[COS], a[LAMBDA_RE]);
  multiply(n->n, a[RHO], a[SIN], a[LAMBDA_IM]);
}

static void compute_write(const naive *n) {
  float *const *a = n->array;
  /* normalisation */
  scale(n->n, -2, a[E], a[D1]);
  exponential(n->n, a[D1], a[DECAYED]);
  exponential_minus_one(n->n, a[D1], a[D1]);
  scale(n->n, -1, a[D1], a[D1]);
  for (size_t j = 0; j < n->s.H; j++) n->mode[MODE_SCRATCH][j] = 1 / n->mode[NORM0][j];
  multiply_modes(n->s, a[D1], n->mode[MODE_SCRATCH], a[RATIO]);
  square_root(n->n, a[RATIO], a[ROOT]);
  /* gate */
  outer(n->s, n->token[P], n->mode[GATE_P], a[D1]);
  outer(n->s, n->token[R], n->mode[GATE_R], a[D2]);
  add(n->n, a[D1], a[D2], a[D1]);
  logistic(n->n, a[D1], a[GATE]);
  /* write */
  multiply(n->n, a[ROOT], a[GATE], a[D1]);
  scale(n->n, 2, a[D1], a[D1]);
  multiply_modes(n->s, a[D1], n->mode[GAIN], a[AMPLITUDE]);
  multiply(n->n, a[AMPLITUDE], a[U_RE], a[B_RE]);
  multiply(n->n, a[AMPLITUDE], a[U_IM], a[B_IM]);
}

/* h = lambda h + b, one operation at a time over (B, H) */
static void advance(const naive *n, size_t t) {
  const size_t row = (size_t)n->B * n->s.H;
  float *const *s = n->step, *re = n->carried[RE], *im = n->carried[IM];
  take_time(n, n->array[LAMBDA_RE], t, s[0]);
  take_time(n, n->array[LAMBDA_IM], t, s[1]);
  multiply(row, s[0], im, s[2]);
  multiply(row, s[1], re, s[3]);
  add(row, s[2], s[3], s[2]);
  multiply(row, s[0], re, s[3]);
  multiply(row, s[1], im, s[1]);
  subtract(row, s[3], s[1], s[3]);
  take_time(n, n->array[B_RE], t, s[0]);
  add(row, s[3], s[0], re);
  take_time(n, n->array[B_IM], t, s[0]);
  add(row, s[2], s[0], im);
  put_time(n, re, t, n->array[H_RE]);
  put_time(n, im, t, n->array[H_IM]);
}

static void clear_carried(const naive *n) {
  for (int i = 0; i < PARTS; i++) memset(n->carried[i], 0, (size_t)n->B * n->s.H * sizeof(float));
}

void naive_forward(naive *n, const naive_data *data) {
  derive_modes(n);
  compute_inputs(n, data);
  compute_transition(n);
  compute_write(n);
  clear_carried(n);
  for (size_t t = 0; t < (size_t)n->T; t++) advance(n, t);
  put_half(n->s, n->array[H_RE], RE, data->y);
  put_half(n->s, n->array[H_IM], IM, data->y);
}

/* ---- backward ----------------------------------------------------------------------------------- */

/* mu = dy + carried is kept; carried = conj(lambda) mu; dlambda = conj(h_{t-1}) mu */
static void retreat(const naive *n, size_t t) {
  const size_t row = (size_t)n->B * n->s.H;
  float *const *s = n->step, *re = n->carried[RE], *im = n->carried[IM];
  take_time(n, n->array[MU_RE], t, s[0]);
  add(row, re, s[0], re);
  put_time(n, re, t, n->array[MU_RE]);
  take_time(n, n->array[MU_IM], t, s[0]);
  add(row, im, s[0], im);
  put_time(n, im, t, n->array[MU_IM]);

  for (int part = 0; part < PARTS; part++) {
    if (t > 0)
      take_time(n, n->array[H_RE + part], t - 1, s[part]);
    else
      memset(s[part], 0, row * sizeof(float));
  }
  multiply(row, s[RE], re, s[2]);
  multiply(row, s[IM], im, s[3]);
  add(row, s[2], s[3], s[2]);
  put_time(n, s[2], t, n->array[DLAMBDA_RE]);
  multiply(row, s[RE], im, s[2]);
  multiply(row, s[IM], re, s[3]);
  subtract(row, s[2], s[3], s[2]);
  put_time(n, s[2], t, n->array[DLAMBDA_IM]);

  take_time(n, n->array[LAMBDA_RE], t, s[0]);
  take_time(n, n->array[LAMBDA_IM], t, s[1]);
  multiply(row, s[0], im, s[2]);
  multiply(row, s[1], re, s[3]);
  subtract(row, s[2], s[3], s[2]);
  multiply(row, s[0], re, s[3]);
  multiply(row, s[1], im, s[1]);
  add(row, s[3], s[1], re);
  scale(row, 1, s[2], im);
}

/* gradients of the vectors of modes are added to dparams, times a factor per mode where the parameter is a logarithm */
static void add_mode_gradient(const naive *n, const naive_data *data, const char *block, const float *sums,
                              const float *factor) {
  float *out = gradient_of(n, data, block);
  for (size_t j = 0; j < n->s.H; j++) out[j] += sums[j] * (factor ? factor[j] : 1);
}

/* from mu: content, gain, gate, and D3 = d ratio */
static void write_backward(const naive *n, const naive_data *data) {
  float *const *a = n->array, *sums = n->mode[MODE_SCRATCH], *token = n->token[TOKEN_SCRATCH];
  /* content */
  for (int part = 0; part < PARTS; part++) {
    multiply(n->n, a[MU_RE + part], a[AMPLITUDE], a[D1]);
    multiply(n->n, a[U_RE + part], a[U_RE + part], a[D2]);
    one_minus(n->n, a[D2], a[D2]);
    multiply(n->n, a[D1], a[D2], a[D1]);
    if (n->project)
      project_content_backward(n, data, part, a[D1]);
    else
      put_half(n->s, a[D1], (size_t)part, data->dcontent);
  }
  /* amplitude */
  multiply(n->n, a[MU_RE], a[U_RE], a[D1]);
  multiply(n->n, a[MU_IM], a[U_IM], a[D2]);
  add(n->n, a[D1], a[D2], a[D1]);
  multiply(n->n, a[D1], a[AMPLITUDE], a[D2]);
  sum_tokens(n->s, a[D2], sums);
  add_mode_gradient(n, data, "log_gain", sums, NULL);
  scale(n->n, 2, a[D1], a[D1]);
  multiply_modes(n->s, a[D1], n->mode[GAIN], a[D1]);
  /* root: d ratio = d root / (2 root) */
  multiply(n->n, a[D1], a[GATE], a[D3]);
  scale(n->n, 2, a[ROOT], a[D2]);
  divide(n->n, a[D3], a[D2], a[D3]);
  /* gate */
  multiply(n->n, a[D1], a[ROOT], a[D1]);
  one_minus(n->n, a[GATE], a[D2]);
  multiply(n->n, a[D2], a[GATE], a[D2]);
  multiply(n->n, a[D1], a[D2], a[D1]);
  const struct {
    const char *block;
    int control, mode, gradient;
  } gates[] = {{"gate_phase", P, GATE_P, DP}, {"gate_retention", R, GATE_R, DR}};
  for (int i = 0; i < 2; i++) {
    multiply_tokens(n->s, a[D1], n->token[gates[i].control], a[D2]);
    sum_tokens(n->s, a[D2], sums);
    add_mode_gradient(n, data, gates[i].block, sums, NULL);
    multiply_modes(n->s, a[D1], n->mode[gates[i].mode], a[D2]);
    sum_modes(n->s, a[D2], token);
    add(n->s.tokens, n->token[gates[i].gradient], token, n->token[gates[i].gradient]);
  }
}

/* from dlambda: frequency, phase control, and D4 = d rho */
static void transition_backward(const naive *n, const naive_data *data) {
  float *const *a = n->array, *sums = n->mode[MODE_SCRATCH], *token = n->token[TOKEN_SCRATCH];
  multiply(n->n, a[DLAMBDA_RE], a[COS], a[D1]);
  multiply(n->n, a[DLAMBDA_IM], a[SIN], a[D2]);
  add(n->n, a[D1], a[D2], a[D4]);
  /* phase */
  multiply(n->n, a[DLAMBDA_IM], a[LAMBDA_RE], a[D1]);
  multiply(n->n, a[DLAMBDA_RE], a[LAMBDA_IM], a[D2]);
  subtract(n->n, a[D1], a[D2], a[D1]);
  sum_tokens(n->s, a[D1], sums);
  add_mode_gradient(n, data, "log_freq", sums, n->mode[THETA]);
  multiply(n->n, a[D1], a[CLOCK], a[D2]);
  sum_modes(n->s, a[D2], token);
  scale(n->s.tokens, n->kappa_p, token, token);
  add(n->s.tokens, n->token[DP], token, n->token[DP]);
  multiply_tokens(n->s, a[D1], n->token[TURN], a[D2]);
  subtract(n->n, a[D4], a[D2], a[D4]);
}

/* from d rho and d ratio: decay, retention control */
static void decay_backward(const naive *n, const naive_data *data) {
  float *const *a = n->array, *sums = n->mode[MODE_SCRATCH], *token = n->token[TOKEN_SCRATCH];
  /* the reference norm: d norm0 = - sum d ratio ratio / norm0, d norm0 / d nu = 2 exp(-2 nu) */
  multiply(n->n, a[D3], a[RATIO], a[D1]);
  sum_tokens(n->s, a[D1], sums);
  for (size_t j = 0; j < n->s.H; j++) sums[j] *= -2 * (1 - n->mode[NORM0][j]) / n->mode[NORM0][j];
  add_mode_gradient(n, data, "log_decay", sums, n->mode[NU]);
  /* e: through the norm and through rho */
  for (size_t j = 0; j < n->s.H; j++) sums[j] = 2 / n->mode[NORM0][j];
  multiply_modes(n->s, a[D3], sums, a[D1]);
  multiply(n->n, a[D1], a[DECAYED], a[D1]);
  multiply(n->n, a[D4], a[RHO], a[D2]);
  subtract(n->n, a[D1], a[D2], a[D1]);
  multiply_tokens(n->s, a[D1], n->token[SCALE], a[D2]);
  sum_tokens(n->s, a[D2], sums);
  add_mode_gradient(n, data, "log_decay", sums, n->mode[NU]);
  multiply_modes(n->s, a[D1], n->mode[NU], a[D2]);
  sum_modes(n->s, a[D2], token);
  multiply(n->s.tokens, token, n->token[SCALE], token);
  scale(n->s.tokens, n->kappa_r, token, token);
  add(n->s.tokens, n->token[DR], token, n->token[DR]);
}

static void controls_backward(const naive *n, const naive_data *data) {
  const size_t tokens = n->s.tokens;
  for (int control = 0; control < 2; control++) {
    float *d = n->token[DR + control], *slope = n->token[TOKEN_SCRATCH];
    if (!n->project) {
      put_column(tokens, d, (size_t)control, data->dcontrols);
      continue;
    }
    multiply(tokens, n->token[R + control], n->token[R + control], slope);
    one_minus(tokens, slope, slope);
    multiply(tokens, d, slope, d);
    project_control_backward(n, data, control, d);
  }
}

void naive_backward(naive *n, const naive_data *data) {
  take_half(n->s, data->dy, RE, n->array[MU_RE]);
  take_half(n->s, data->dy, IM, n->array[MU_IM]);
  clear_carried(n);
  for (size_t t = (size_t)n->T; t-- > 0;) retreat(n, t);
  for (int control = 0; control < 2; control++) memset(n->token[DR + control], 0, n->s.tokens * sizeof(float));
  if (n->project) memset(data->dx, 0, n->s.tokens * n->D * sizeof(float));
  write_backward(n, data);
  transition_backward(n, data);
  decay_backward(n, data);
  controls_backward(n, data);
}
