/* SPDX-License-Identifier: MIT */
/* test_mamba3.c: what is particular to Mamba-3: sizes, options, groups, initialisation, and its outputs as an explicit
 * sum over the past. Its time loops are tested in test_loops.c, its identities in test_cells.c. */
#include "support.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static const sparc_block *block_of(const sparc_cell *cell, const char *name) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(blocks[i].name, name) == 0) return &blocks[i];
  fail_msg("no block %s", name);
  return NULL;
}

static sparc_cell *make(int D, const char *options) {
  sparc_cell *cell;
  const sparc_cell_config config = {.kind = "mamba3", .D = D, .H = 1, .options = options};
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
  return cell;
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* the sizes of the paper's continuous control and POPGym runs; the state counts d_i N, caches come on top */
static void test_sizes(void **state) {
  (void)state;
  const struct {
    const char *options;
    size_t params, state;
  } cases[] = {{"state=6", 14084, 484}, {NULL, 13404, 204}, {"heads=4,head_dim=16,state=2,angles=1", 13404, 204}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_cell *cell = make(64, cases[i].options);
    const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
    assert_int_equal(n.params, cases[i].params);
    assert_int_equal(n.state, cases[i].state);
    assert_int_equal(n.output, 64);
    assert_int_equal(n.trace, 0);
    sparc_cell_free(cell);
  }
}

static void test_options(void **state) {
  (void)state;
  /* the text has the default's number of angles, and creates the same cell again */
  const struct {
    const char *options, *angles;
  } cases[] = {{NULL, "angles=1"}, {"state=7", "angles=3"}, {"state=1", "angles=0"}, {"angles=2,state=6", "angles=2"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_cell *cell = make(3, cases[i].options), *again = make(3, sparc_cell_config_of(cell).options);
    assert_non_null(strstr(sparc_cell_config_of(cell).options, cases[i].angles));
    assert_string_equal(sparc_cell_config_of(cell).options, sparc_cell_config_of(again).options);
    assert_int_equal(sparc_cell_sizes_of(cell).params, sparc_cell_sizes_of(again).params);
    sparc_cell_free(cell);
    sparc_cell_free(again);
  }
  const struct {
    const char *options, *message;
  } refused[] = {{"state=4,angles=3", "angles is 3, expected at most 2"},
                 {"angles=-1", "angles is '-1'"},
                 {"state=0", "state is '0'"},
                 {"decay=sofplus", "did you mean 'softplus'"}};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    sparc_cell *cell;
    const sparc_cell_config config = {.kind = "mamba3", .D = 3, .H = 1, .options = refused[i].options};
    assert_int_equal(sparc_cell_create(&config, &cell), SPARC_INVALID);
    assert_null(cell);
    if (!strstr(sparc_error(), refused[i].message)) fail_msg("%s", sparc_error());
  }
}

/* rows v, B and dt to om of the input matrix reach the state, rows z and C do not */
static void test_groups(void **state) {
  (void)state;
  enum { D = 5, HEADS = 2, P = 3, N = 4, INNER = HEADS * P };
  sparc_cell *cell = make(D, "heads=2,head_dim=3,state=4,angles=1");
  const struct {
    size_t size;
    sparc_group group;
  } want[] = {
      {INNER * D, SPARC_REGULAR},                                 /* z */
      {(INNER + N) * D, SPARC_RECURRENT},                         /* v, B */
      {N * D, SPARC_REGULAR},                                     /* C */
      {(3 * HEADS + 1) * D + HEADS + HEADS * N, SPARC_RECURRENT}, /* dt, A, lam, om; dt_bias, key_bias */
      {HEADS * N, SPARC_REGULAR},                                 /* query_bias */
      {N, SPARC_RECURRENT},                                       /* key_norm */
      {N + HEADS + D * INNER, SPARC_REGULAR},                     /* query_norm, skip, output */
  };
  size_t count, offset = 0;
  const sparc_span *spans = sparc_cell_spans(cell, &count);
  assert_int_equal(count, sizeof want / sizeof *want);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(spans[i].offset, offset);
    assert_int_equal(spans[i].size, want[i].size);
    assert_int_equal(spans[i].group, want[i].group);
    offset += spans[i].size;
  }
  assert_int_equal(offset, sparc_cell_sizes_of(cell).params);
  sparc_cell_free(cell);
}

static void test_initialisation(void **state) {
  (void)state;
  enum { D = 64, HEADS = 32 };
  sparc_cell *cell = make(D, "heads=32,head_dim=4");
  const size_t size = sparc_cell_sizes_of(cell).params;
  float *a = sparc_alloc(size * sizeof *a), *b = sparc_alloc(size * sizeof *b);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CONTROL, 7, "layer", a), SPARC_OK);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CLASSIFICATION, 7, "layer", b), SPARC_OK);
  assert_memory_equal(a, b, size * sizeof *a);

  /* weights are uniform on +- 1 / sqrt(fan in) */
  const struct {
    const char *name;
    double bound;
  } weights[] = {{"input", 1 / sqrt(D)}, {"output", 1 / sqrt(HEADS * 4)}};
  for (int w = 0; w < 2; w++) {
    const sparc_block *block = block_of(cell, weights[w].name);
    double square = 0;
    for (size_t i = 0; i < block->size; i++) {
      const double value = (double)a[block->offset + i];
      assert_true(fabs(value) <= weights[w].bound + 1e-7);
      square += value * value / (double)block->size;
    }
    assert_true(fabs(3 * square / (weights[w].bound * weights[w].bound) - 1) < 0.1);
  }

  /* softplus(dt_bias) is spread over 0.001 to 0.1, evenly in logarithm */
  double mean = 0;
  for (size_t h = 0; h < HEADS; h++) {
    const double dt = log1p(exp((double)a[block_of(cell, "dt_bias")->offset + h]));
    assert_true(dt >= 0.999e-3 && dt <= 0.1001);
    mean += log10(dt) / HEADS;
  }
  assert_true(fabs(mean + 2) < 5 * 2 / sqrt(12.0 * HEADS));

  const char *const ones[] = {"key_bias", "query_bias", "key_norm", "query_norm", "skip"};
  for (int o = 0; o < 5; o++) {
    const sparc_block *block = block_of(cell, ones[o]);
    for (size_t i = 0; i < block->size; i++) assert_true(a[block->offset + i] == 1);
  }
  sparc_free(a);
  sparc_free(b);
  sparc_cell_free(cell);
}

/* ---- the explicit sum -------------------------------------------------------------------------- */

enum { D = 4, HEADS = 2, P = 3, N = 5, ANGLES = 2, T = 11, INNER = HEADS * P };
enum { ROW_Z = 0, ROW_V = INNER, ROW_B = 2 * INNER, ROW_C = ROW_B + N, ROW_DT = ROW_C + N, ROW_A = ROW_DT + HEADS };
enum { ROW_LAM = ROW_A + HEADS, ROW_OM = ROW_LAM + HEADS };

/* what the sum needs of one token, head by head */
typedef struct token {
  double z[INNER], v[INNER];
  double dt[HEADS], A[HEADS], lam[HEADS], phi[HEADS][ANGLES];
  double k[HEADS][N], q[HEADS][N];   /* before the rotation */
  double kr[HEADS][N], qr[HEADS][N]; /* after it */
} token;

static const double *param(const problem *p, const char *name) { return p->params + block_of(p->cell, name)->offset; }

static double row_dot(const problem *p, int row, int t) {
  double sum = 0;
  for (int d = 0; d < D; d++) sum += param(p, "input")[row * D + d] * p->x[t * D + d];
  return sum;
}

static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

/* rows first ... of the projection, divided by their root mean square, scaled and shifted */
static void make_key(const problem *p, int first, int t, const char *norm, const char *bias, int head, double out[N]) {
  double square = 1e-5;
  for (int i = 0; i < N; i++) square += pow(row_dot(p, first + i, t), 2) / N;
  for (int i = 0; i < N; i++)
    out[i] = row_dot(p, first + i, t) / sqrt(square) * param(p, norm)[i] + param(p, bias)[head * N + i];
}

static void turn(const double phi[ANGLES], const double in[N], double out[N]) {
  memcpy(out, in, N * sizeof *out);
  for (int a = 0; a < ANGLES; a++) {
    out[2 * a] = cos(phi[a]) * in[2 * a] - sin(phi[a]) * in[2 * a + 1];
    out[2 * a + 1] = sin(phi[a]) * in[2 * a] + cos(phi[a]) * in[2 * a + 1];
  }
}

static void make_tokens(const problem *p, bool softplus_decay, token tokens[T]) {
  for (int t = 0; t < T; t++) {
    token *now = &tokens[t];
    for (int i = 0; i < INNER; i++) now->z[i] = row_dot(p, ROW_Z + i, t), now->v[i] = row_dot(p, ROW_V + i, t);
    for (int h = 0; h < HEADS; h++) {
      const double y = row_dot(p, ROW_A + h, t);
      now->dt[h] = log1p(exp(row_dot(p, ROW_DT + h, t) + param(p, "dt_bias")[h]));
      now->A[h] = -fmax(softplus_decay ? log1p(exp(y)) : y >= 0 ? 1 + y : 1 / (1 - y), 1e-4);
      now->lam[h] = sigmoid(row_dot(p, ROW_LAM + h, t));
      for (int a = 0; a < ANGLES; a++)
        now->phi[h][a] = (t ? tokens[t - 1].phi[h][a] : 0) + PI * now->dt[h] * tanh(row_dot(p, ROW_OM + a, t));
      make_key(p, ROW_B, t, "key_norm", "key_bias", h, now->k[h]);
      make_key(p, ROW_C, t, "query_norm", "query_bias", h, now->q[h]);
      turn(now->phi[h], now->k[h], now->kr[h]);
      turn(now->phi[h], now->q[h], now->qr[h]);
    }
  }
}

/* o_t = sum_{s <= t} exp(sum_{r = s+1..t} A_r dt_r) c_{t,s} <qr_t, kr_s> v_s + skip v_t with
 * c_{t,s} = lam_s dt_s + (1 - lam_{s+1}) dt_{s+1} for s < t and c_{t,t} = lam_t dt_t */
static double explicit_sum(const problem *p, const token tokens[T], int t, int h, int channel) {
  const token *now = &tokens[t];
  double o = param(p, "skip")[h] * now->v[h * P + channel], exponent = 0;
  for (int s = t; s >= 0; s--) {
    const token *then = &tokens[s], *next = &tokens[s + (s < t)];
    const double c = then->lam[h] * then->dt[h] + (s < t ? (1 - next->lam[h]) * next->dt[h] : 0);
    double match = 0;
    for (int i = 0; i < N; i++) match += now->qr[h][i] * then->kr[h][i];
    o += exp(exponent) * c * match * then->v[h * P + channel];
    exponent += then->A[h] * then->dt[h];
  }
  return o;
}

static problem make_problem(const char *decay, sparc_random *stream) {
  char options[128];
  snprintf(options, sizeof options, "heads=%d,head_dim=%d,state=%d,angles=%d,decay=%s", HEADS, P, N, ANGLES, decay);
  const sparc_cell_config config = {.kind = "mamba3", .D = D, .H = 1, .options = options};
  problem p = problem_create(&config, 1, T, MASK_FIRST, stream);
  sparc_free(p.state0);
  p.state0 = NULL;
  return p;
}

static void test_explicit_sum(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 1, "sum", "");
  for (int round = 0; round < 20; round++) {
    problem p = make_problem(round % 2 ? "softplus" : "rational", &stream);
    token tokens[T];
    make_tokens(&p, round % 2, tokens);
    double want[T * D] = {0};
    for (int t = 0; t < T; t++)
      for (int i = 0; i < INNER; i++) {
        const double gated = explicit_sum(&p, tokens, t, i / P, i % P) * tokens[t].z[i] * sigmoid(tokens[t].z[i]);
        for (int d = 0; d < D; d++) want[t * D + d] += param(&p, "output")[d * INNER + i] * gated;
      }
    result got = result_create(&p);
    run_steps_f64(&p, &got);
    expect_close(&p, "steps against the explicit sum", e_norm(T * D, got.y, want), 1e-12);
    run_sequence_f64(&p, NULL, true, &got);
    expect_close(&p, "sequence against the explicit sum", e_norm(T * D, got.y, want), 1e-12);
    result_free(&got);
    problem_free(&p);
  }
}

/* om = 0: the angles stay at zero, the cached key is the key itself, and the cell is the one without angles */
static void test_no_rotation(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 2, "om", "");
  problem p = make_problem("rational", &stream);
  for (int i = 0; i < ANGLES * D; i++) p.params[block_of(p.cell, "input")->offset + (size_t)(ROW_OM * D + i)] = 0;
  token tokens[T];
  make_tokens(&p, false, tokens);
  result got = result_create(&p);
  run_steps_f64(&p, &got);
  const double *kc = got.state_last + INNER * N, *phi = kc + HEADS * N + INNER;
  for (int a = 0; a < HEADS * ANGLES; a++) assert_true(phi[a] == 0);
  expect_close(&p, "kc = k", e_norm((size_t)HEADS * N, kc, &tokens[T - 1].k[0][0]), 1e-12);

  problem still = p;
  still.cell = make(D, "heads=2,head_dim=3,state=5,angles=0");
  still.n = sparc_cell_sizes_of(still.cell);
  still.params = sparc_alloc(still.n.params * sizeof(double));
  memcpy(still.params, p.params, (size_t)(ROW_OM * D) * sizeof(double));
  memcpy(still.params + ROW_OM * D, p.params + (ROW_OM + ANGLES) * D, (still.n.params - ROW_OM * D) * sizeof(double));
  result same = result_create(&still);
  run_steps_f64(&still, &same);
  expect_close(&p, "om = 0 is no angles", e_norm(T * D, got.y, same.y), 1e-15);
  result_free(&same);
  sparc_free(still.params);
  sparc_cell_free(still.cell);
  result_free(&got);
  problem_free(&p);
}

/* a start of a segment at t is a cold start of all four carried parts, and carried angles stay in [0, 2 pi) */
static void test_carried_parts(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 3, "carried", "");
  problem p = make_problem("rational", &stream);
  p.state0 = sparc_alloc(p.n.state * sizeof(double));
  for (size_t i = 0; i < p.n.state; i++) p.state0[i] = 50 * sparc_random_normal(&stream);
  result reset = result_create(&p), cold = result_create(&p);
  run_sequence_f64(&p, NULL, true, &reset); /* the mask starts a segment at the first step */
  sparc_free(p.state0);
  p.state0 = NULL;
  run_sequence_f64(&p, NULL, true, &cold);
  assert_memory_equal(reset.y, cold.y, T * D * sizeof(double));
  assert_memory_equal(reset.state_last, cold.state_last, p.n.state * sizeof(double));
  for (size_t i = 0; i < p.n.state; i++) assert_true(reset.dstate0[i] == 0);
  for (size_t a = p.n.state - HEADS * ANGLES; a < p.n.state; a++)
    assert_true(cold.state_last[a] >= 0 && cold.state_last[a] < 2 * PI + 1e-12);
  result_free(&reset);
  result_free(&cold);
  problem_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),          cmocka_unit_test(test_options),      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_initialisation), cmocka_unit_test(test_explicit_sum), cmocka_unit_test(test_no_rotation),
      cmocka_unit_test(test_carried_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
