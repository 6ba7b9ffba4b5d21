/* SPDX-License-Identifier: MIT */
/* scan.c: recurrences alone: content is given, states come out, and the adjoint.
 *
 * SPARC makes its transitions from two controls per token, LRU has fixed ones, RG-LRU is given one per coordinate and
 * token. All have 2 H real coordinates. Pieces run along time; streams and runs of modes are shared by a team, as the
 * library shares them. A copy of as many bytes with non-temporal stores takes turns with them; with `rivals` so does
 * the same forward scan over SLEEF, libmvec and the scalar C library.
 */
#include "bench/kinds/scan.h"

#include "base/error.h"
#include "base/memory.h"
#include "bench/loops.h"
#include "bench/rivals/scan_rivals.h"
#include "cells/spectral.h"
#include "seq/scan.h"
#include "seq/scan_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum scan_cell { CELL_SPARC, CELL_LRU, CELL_RGLRU } scan_cell;
static const char *const cell_names[] = {"sparc", "lru", "rglru", NULL};

/* the range of the controls in the paper: log 16 and pi / 2 */
static const float KAPPA_R = 2.772588722f, KAPPA_P = 1.570796327f;

enum { CHECK_TOKENS = 48, CHECK_PIECE = 32 };

typedef struct scan_bench {
  scan_cell cell;
  int B, T, H;
  bool in_place, sorted;
  sparc_scan *scan, *check; /* the problem, and the short one that is verified */
  size_t piece_T;
  const bench_loops *loops;
  scan_rival rival[RIVALS];
  float *nu, *theta, *constants; /* (H), (H) */
  float *cos, *sin;              /* (H): of theta, for the rivals */
  float *controls;               /* (B, T, 2) */
  float *b, *out;                /* (B, T, 2 H): content, and where states go or content is replaced */
  float *h;                      /* (B, T, 2 H): states for backward */
  float *dh, *db;                /* (B, T, 2 H) */
  float *a, *da;                 /* (B, T, 2 H), RG-LRU only */
  float *carried, *states;       /* per job; (B, 2 H) of the rivals */
  float *dcontrols;
  double *sums;
  void *memory;
} scan_bench;

static size_t row_of(const scan_bench *s) { return 2 * (size_t)s->H; }
static size_t tokens_of(const scan_bench *s) { return (size_t)s->B * (size_t)s->T; }

/* ---- pieces ------------------------------------------------------------------------------------- */

typedef struct range {
  size_t from, to;
} range;

static range tokens_in(const scan_bench *s, size_t piece) {
  const size_t from = piece * s->piece_T, to = from + s->piece_T;
  return (range){from, to < (size_t)s->T ? to : (size_t)s->T};
}

static size_t pieces_of(const scan_bench *s) { return ((size_t)s->T + s->piece_T - 1) / s->piece_T; }

static size_t jobs_of(const scan_bench *s) {
  return s->cell == CELL_RGLRU ? real_scan_jobs(s->scan) : scan_jobs(s->scan);
}

static sparc_scan_data spectral_data(const scan_bench *s) {
  return (sparc_scan_data){
      .controls = s->cell == CELL_SPARC ? s->controls : NULL, .b = s->in_place ? s->out : s->b, .h = s->out};
}

static real_scan_data real_data(const scan_bench *s) {
  return (real_scan_data){.a = s->a, .x = s->in_place ? s->out : s->b, .h = s->out};
}

static void forward_piece(void *context, size_t piece, int thread, int threads) {
  const scan_bench *s = context;
  const range r = tokens_in(s, piece);
  const sparc_scan_data data = spectral_data(s);
  const real_scan_data real = real_data(s);
  for (size_t job = (size_t)thread; job < jobs_of(s); job += (size_t)threads) {
    float *carried = s->carried + job * SCAN_CARRIED;
    if (s->cell == CELL_RGLRU)
      real_scan_forward_job(s->scan, &real, job, r.from, r.to, carried);
    else
      scan_forward_job(s->scan, (const scan_tile *)(const void *)s->constants, &data, job, r.from, r.to, carried);
  }
}

static void backward_piece(void *context, size_t piece, int thread, int threads) {
  const scan_bench *s = context;
  const range r = tokens_in(s, piece);
  sparc_scan_data data = spectral_data(s);
  real_scan_data real = real_data(s);
  data.h = real.h = s->h;
  const float *dh = s->in_place ? s->db : s->dh;
  const sparc_scan_gradient gradient = {.dh = dh, .db = s->db};
  const real_scan_gradient real_gradient = {.dh = dh, .dx = s->db, .da = s->da};
  for (size_t job = (size_t)thread; job < jobs_of(s); job += (size_t)threads) {
    float *carried = s->carried + job * SCAN_CARRIED;
    if (s->cell == CELL_RGLRU)
      real_scan_backward_job(s->scan, &real, &real_gradient, job, r.from, r.to, carried);
    else
      scan_backward_job(s->scan, (const scan_tile *)(const void *)s->constants, &data, &gradient, job, r.from, r.to,
                        carried, s->dcontrols, s->sums);
  }
}

/* a thread's share of n floats, in whole lines; the odd rest is nobody's */
static range share(size_t n, int thread, int threads) {
  const size_t lines = n / LOOP_UNIT;
  return (range){lines * (size_t)thread / (size_t)threads * LOOP_UNIT,
                 lines * (size_t)(thread + 1) / (size_t)threads * LOOP_UNIT};
}

static void copy_share(const scan_bench *s, float *to, const float *from, size_t n, int thread, int threads) {
  const range r = share(n, thread, threads);
  if (s->loops->copy_nt)
    s->loops->copy_nt(to + r.from, from + r.from, r.to - r.from);
  else
    s->loops->copy(to + r.from, from + r.from, r.to - r.from);
}

/* as many bytes as forward moves: RG-LRU also reads its transitions, half of which are copied */
static void copy_piece(void *context, size_t piece, int thread, int threads) {
  const scan_bench *s = context;
  const range r = tokens_in(s, piece);
  const size_t n = (r.to - r.from) * (size_t)s->B * row_of(s) / LOOP_UNIT * LOOP_UNIT;
  const size_t at = r.from * (size_t)s->B * row_of(s) / LOOP_UNIT * LOOP_UNIT;
  copy_share(s, s->out + at, s->b + at, n, thread, threads);
  if (s->cell == CELL_RGLRU) copy_share(s, s->da + at, s->a + at, n / 2, thread, threads);
}

static void rival_piece(const scan_bench *s, const scan_rival *rival, size_t piece, int thread, int threads) {
  const range r = tokens_in(s, piece);
  for (int b = thread; b < s->B; b += threads) {
    const size_t token = (size_t)b * (size_t)s->T + r.from;
    rival->forward(&(rival_rows){.H = (size_t)s->H,
                                 .tokens = r.to - r.from,
                                 .kappa_r = KAPPA_R,
                                 .kappa_p = KAPPA_P,
                                 .nu = s->nu,
                                 .theta = s->theta,
                                 .cos = s->cos,
                                 .sin = s->sin,
                                 .controls = s->controls + 2 * token,
                                 .state = s->states + (size_t)b * row_of(s),
                                 .b = (s->in_place ? s->out : s->b) + token * row_of(s),
                                 .h = s->out + token * row_of(s)});
  }
}

#define RIVAL_PIECE(i)                                                                \
  static void rival_piece_##i(void *context, size_t piece, int thread, int threads) { \
    const scan_bench *s = context;                                                    \
    rival_piece(s, &s->rival[i], piece, thread, threads);                             \
  }
RIVAL_PIECE(0)
RIVAL_PIECE(1)
RIVAL_PIECE(2)
RIVAL_PIECE(3)
RIVAL_PIECE(4)

/* states at rest, and in place the content that the pass before has replaced */
static void rewind_forward(void *context) {
  const scan_bench *s = context;
  memset(s->carried, 0, jobs_of(s) * SCAN_CARRIED * sizeof(float));
  memset(s->states, 0, (size_t)s->B * row_of(s) * sizeof(float));
  if (s->in_place) memcpy(s->out, s->b, tokens_of(s) * row_of(s) * sizeof(float));
}

static void rewind_backward(void *context) {
  const scan_bench *s = context;
  memset(s->carried, 0, jobs_of(s) * SCAN_CARRIED * sizeof(float));
  memset(s->sums, 0, (size_t)s->B * row_of(s) * sizeof(double));
  if (s->in_place) memcpy(s->db, s->dh, tokens_of(s) * row_of(s) * sizeof(float));
}

/* ---- data --------------------------------------------------------------------------------------- */

/* the spectrum of the classification initialisation, as it comes or sorted by decay */
static sparc_status fill_spectrum(scan_bench *s) {
  const size_t H = (size_t)s->H;
  float *decay = s->out, *frequency = s->out + H; /* still free */
  int *order = malloc(H * sizeof *order);
  if (!order) return fail(SPARC_NO_MEMORY, "no memory for the order of %d modes", s->H);
  init_spectrum(SPARC_INIT_CLASSIFICATION, 1, "scan", s->H, decay, frequency);
  for (size_t i = 0; i < H; i++) decay[i] = expf(decay[i]), frequency[i] = expf(frequency[i]);
  sparc_status status = scan_order(s->H, decay, order);
  for (size_t i = 0; status == SPARC_OK && i < H; i++) {
    const size_t mode = s->sorted ? (size_t)order[i] : i;
    s->nu[i] = decay[mode];
    s->theta[i] = frequency[mode];
    s->cos[i] = cosf(s->theta[i]);
    s->sin[i] = sinf(s->theta[i]);
  }
  free(order);
  return status == SPARC_OK ? sparc_scan_prepare(s->scan, s->nu, s->theta, s->constants) : status;
}

static sparc_status fill_data(scan_bench *s) {
  const size_t tokens = tokens_of(s), numbers = tokens * row_of(s);
  if (s->cell != CELL_RGLRU) {
    sparc_status status = fill_spectrum(s);
    if (status != SPARC_OK) return status;
  }
  bench_fill(s->controls, 2 * tokens, "controls");
  for (size_t i = 0; i < 2 * tokens; i++) s->controls[i] = tanhf(s->controls[i]);
  bench_fill(s->b, numbers, "b");
  bench_fill(s->dh, numbers, "dh");
  /* transitions from nearly 0 to nearly 1, most of them near 1 */
  if (s->cell == CELL_RGLRU) bench_fill(s->a, numbers, "a");
  for (size_t i = 0; s->cell == CELL_RGLRU && i < numbers; i++) s->a[i] = expf(-0.1f * s->a[i] * s->a[i]);
  memcpy(s->out, s->b, numbers * sizeof(float));
  memcpy(s->db, s->dh, numbers * sizeof(float));
  return SPARC_OK;
}

/* ---- life --------------------------------------------------------------------------------------- */

static size_t largest(size_t a, size_t b) { return a > b ? a : b; }

static void carve(scan_bench *s, arena *a) {
  const size_t numbers = tokens_of(s) * row_of(s), H = (size_t)s->H;
  const bool real = s->cell == CELL_RGLRU;
  const size_t jobs = real ? real_scan_jobs(s->scan) : scan_jobs(s->scan);
  const size_t check_jobs = real ? real_scan_jobs(s->check) : scan_jobs(s->check);
  float **rows[] = {&s->b, &s->out, &s->h, &s->dh, &s->db, &s->a, &s->da};
  for (size_t i = 0; i < (real ? 7 : 5); i++) {
    *rows[i] = arena_take(a, numbers, sizeof(float));
    /* equal places in their pages would make the loads of one array wait for the stores of another */
    arena_take(a, (size_t)21 * LOOP_UNIT, sizeof(float));
  }
  s->nu = arena_take(a, H, sizeof(float));
  s->theta = arena_take(a, H, sizeof(float));
  s->cos = arena_take(a, H, sizeof(float));
  s->sin = arena_take(a, H, sizeof(float));
  s->constants = arena_take(a, real ? 0 : sparc_scan_sizes_of(s->scan).constants, sizeof(float));
  s->controls = arena_take(a, 2 * tokens_of(s), sizeof(float));
  s->carried = arena_take(a, largest(jobs, check_jobs) * SCAN_CARRIED, sizeof(float));
  s->states = arena_take(a, (size_t)s->B * row_of(s), sizeof(float));
  s->dcontrols = arena_take(a, largest(jobs * (size_t)s->T, check_jobs * CHECK_TOKENS) * 2, sizeof(float));
  s->sums = arena_take(a, (size_t)s->B * row_of(s), sizeof(double));
}

static void destroy(bench_case *c) {
  scan_bench *s = c->state;
  if (!s) return;
  sparc_scan_free(s->scan);
  sparc_scan_free(s->check);
  sparc_free(s->memory);
  free(s);
}

static sparc_status read_cell(const bench_case *c, scan_cell *out) {
  const bench_problem *p = c->problem;
  for (int i = 0; cell_names[i]; i++) {
    if (strcmp(p->cell, cell_names[i]) != 0) continue;
    *out = (scan_cell)i;
    if (*p->options) return fail(SPARC_INVALID, "%s: the scan alone has no options of a cell", p->text);
    return SPARC_OK;
  }
  return unknown_name("cell for a scan alone", p->cell, cell_names);
}

static sparc_status describe(bench_case *c, scan_bench *s) {
  const bench_problem *p = c->problem;
  s->B = (int)bench_value(p, "B");
  s->T = (int)bench_value(p, "T");
  s->H = (int)bench_value(p, "H");
  s->in_place = bench_value(p, "inplace") > 0;
  s->sorted = bench_value(p, "sorted") > 0;
  s->loops = bench_loops_for(c->requested_kernel);
  if (s->in_place && bench_value(p, "nt") > 0)
    return fail(SPARC_INVALID, "%s: a scan in place has no non-temporal stores; leave out inplace or nt", p->text);
  sparc_status status = read_cell(c, &s->cell);
  if (status == SPARC_OK && bench_value(p, "rivals") > 0 && (s->cell != CELL_SPARC || s->H % RIVAL_UNIT != 0))
    status = fail(SPARC_INVALID, "%s: rivals are there for the cell sparc with H a multiple of %d", p->text,
                  (int)RIVAL_UNIT);
  if (status != SPARC_OK) return status;
  const int width = s->cell == CELL_RGLRU ? 2 * s->H : s->H;
  sparc_scan_config config = {.B = s->B,
                              .T = s->T,
                              .H = width,
                              .kappa_r = KAPPA_R,
                              .kappa_p = KAPPA_P,
                              .threads = 1,
                              .streaming = bench_value(p, "nt") > 0,
                              .kernel = c->requested_kernel};
  status = sparc_scan_create(&config, &s->scan);
  config.B = 1;
  config.T = s->T < CHECK_TOKENS ? s->T : CHECK_TOKENS;
  if (status == SPARC_OK) status = sparc_scan_create(&config, &s->check);
  if (status != SPARC_OK) return status;
  c->kernel = scan_kernel_name(s->scan);
  scan_rivals(s->scan->kernels->lanes, s->rival);
  /* a quarter of a millisecond at half a nanosecond per mode and thread, in blocks as the adjoint works */
  const double steps = 0.25e-3 * c->threads / (0.5e-9 * s->B * s->H);
  s->piece_T = steps < 32 ? 32 : steps > s->T ? (size_t)s->T : (size_t)steps / 32 * 32;
  return SPARC_OK;
}

static bench_stage *add_stage(bench_case *c, bench_team *team, const char *name, double bytes,
                              void (*run)(void *, size_t, int, int), void (*refresh)(void *)) {
  scan_bench *s = c->state;
  /* a piece that is repeated in place would meet its own results */
  bench_stage *stage = bench_stage_add(c, name,
                                       (bench_task){.context = s,
                                                    .pieces = pieces_of(s),
                                                    .reverse = run == backward_piece,
                                                    .cold = s->in_place,
                                                    .run = run,
                                                    .refresh = refresh,
                                                    .team = team});
  stage->modes = (double)tokens_of(s) * s->H;
  stage->bytes = stage->modes * bytes;
  return stage;
}

/* per mode: content in, states out; backward states and their gradients in, those of content out. RG-LRU also reads its
 * transitions and writes their gradients. */
static void add_stages(bench_case *c, bench_team *team) {
  const scan_bench *s = c->state;
  const bool real = s->cell == CELL_RGLRU, adaptive = s->cell == CELL_SPARC;
  const double controls = adaptive ? 8.0 / s->H : 0, forward = (real ? 24 : 16) + controls;
  /* flops of the formulas: a multiply-add as two */
  const double small = adaptive ? bench_scan_small(c) : 0, by_path = small * 40 + (1 - small) * 57;
  bench_stage *stage = add_stage(c, team, "forward", forward, forward_piece, rewind_forward);
  stage->flops = stage->modes * (real ? 4 : adaptive ? by_path : 8);
  stage = add_stage(c, team, "backward", (real ? 40 : 24) + 2 * controls, backward_piece, rewind_backward);
  stage->flops = stage->modes * (real ? 6 : adaptive ? by_path + 17 : 18);
  add_stage(c, team, "copy", real ? 24 : 16, copy_piece, NULL);
  if (bench_value(c->problem, "rivals") == 0) return;
  static void (*const runs[RIVALS])(void *, size_t, int, int) = {rival_piece_0, rival_piece_1, rival_piece_2,
                                                                 rival_piece_3, rival_piece_4};
  for (size_t i = 0; i < RIVALS; i++)
    if (s->rival[i].forward) add_stage(c, team, s->rival[i].name, forward, runs[i], rewind_forward);
}

/* backward starts from the states of the timed forward */
static void keep_states(bench_case *c) {
  const scan_bench *s = c->state;
  bench_pass(&c->stage[0].task);
  memcpy(s->h, s->out, tokens_of(s) * row_of(s) * sizeof(float));
}

static sparc_status create(bench_case *c) {
  scan_bench *s = c->state = calloc(1, sizeof *s);
  if (!s) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  bench_team *team;
  sparc_status status = describe(c, s);
  if (status == SPARC_OK) status = bench_machine_team(c->machine, c->threads, &team);
  if (status != SPARC_OK) return status;
  arena measure = arena_measure();
  carve(s, &measure);
  status = bench_afford(c, measure.used);
  if (status != SPARC_OK) return status;
  s->memory = sparc_alloc(measure.used);
  if (!s->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(s->memory, measure.used);
  carve(s, &place);
  status = fill_data(s);
  if (status != SPARC_OK) return status;
  c->memory = measure.used;
  c->footprint = tokens_of(s) * row_of(s) * sizeof(float) * (s->cell == CELL_RGLRU ? 5 : 3);
  add_stages(c, team);
  keep_states(c);
  return SPARC_OK;
}

/* ---- reference -------------------------------------------------------------------------------------- */

static const double SCAN_OUTPUT_TOLERANCE = 3e-6, SCAN_GRADIENT_TOLERANCE = 1e-5;

/* 1 - rho by a subtraction and a rounded angle, at every step */
static const double RIVAL_TOLERANCE = 1e-4;

static double *widen(double **next, const float *from, size_t n) {
  double *to = *next;
  *next += n;
  for (size_t i = 0; from && i < n; i++) to[i] = (double)from[i];
  return to;
}

/* the first tokens of the first stream through a stage's own functions, in two pieces so that carried rows are at work
 */
static void run_short(bench_case *c, const bench_stage *stage) {
  scan_bench *s = c->state;
  const scan_bench whole = *s;
  s->scan = s->check;
  s->B = 1;
  s->T = s->check->config.T;
  s->piece_T = CHECK_PIECE;
  bench_task task = stage->task;
  task.pieces = pieces_of(s);
  bench_pass(&task);
  *s = whole;
}

static void check_spectral(bench_case *c, double *memory) {
  scan_bench *s = c->state;
  const int T = s->check->config.T;
  const size_t H = (size_t)s->H, S = 2 * H, numbers = (size_t)T * S, pieces = scan_jobs(s->check);
  double *next = memory;
  const bool adaptive = s->cell == CELL_SPARC;
  const scan_reference want = {.T = T,
                               .H = s->H,
                               .kappa_r = (double)KAPPA_R,
                               .kappa_p = (double)KAPPA_P,
                               .nu = widen(&next, s->nu, H),
                               .theta = widen(&next, s->theta, H),
                               .controls = adaptive ? widen(&next, s->controls, 2 * (size_t)T) : NULL,
                               .b = widen(&next, s->b, numbers),
                               .h = widen(&next, NULL, numbers),
                               .dh = widen(&next, s->dh, numbers),
                               .db = widen(&next, NULL, numbers),
                               .dcontrols = adaptive ? widen(&next, NULL, 2 * (size_t)T) : NULL,
                               .dstate0 = widen(&next, NULL, S),
                               .dnu = widen(&next, NULL, H),
                               .dtheta = widen(&next, NULL, H)};
  scan_reference_forward(&want);
  scan_reference_backward(&want);
  for (size_t i = 0; i < c->stages; i++) {
    const bench_stage *stage = &c->stage[i];
    if (stage->task.run == copy_piece) continue;
    run_short(c, stage);
    if (stage->task.run != backward_piece) {
      const bool own = stage->task.run == forward_piece;
      bench_compare(c, own ? "h" : stage->name, own ? SCAN_OUTPUT_TOLERANCE : RIVAL_TOLERANCE, s->out, want.h, numbers);
      continue;
    }
    bench_compare(c, "db", SCAN_GRADIENT_TOLERANCE, s->db, want.db, numbers);
    float *sums = (float *)(void *)next;
    for (size_t k = 0; k < S; k++) sums[k] = (float)s->sums[k];
    bench_compare(c, "dnu", SCAN_GRADIENT_TOLERANCE, sums, want.dnu, H);
    bench_compare(c, "dtheta", SCAN_GRADIENT_TOLERANCE, sums + H, want.dtheta, H);
    if (!adaptive) continue;
    for (size_t piece = 1; piece < pieces; piece++)
      for (size_t k = 0; k < 2 * (size_t)T; k++) s->dcontrols[k] += s->dcontrols[piece * 2 * (size_t)T + k];
    bench_compare(c, "dcontrols", SCAN_GRADIENT_TOLERANCE, s->dcontrols, want.dcontrols, 2 * (size_t)T);
  }
}

static void check_real(bench_case *c, double *memory) {
  scan_bench *s = c->state;
  const int T = s->check->config.T;
  const size_t S = row_of(s), numbers = (size_t)T * S;
  double *next = memory;
  const real_scan_reference want = {.T = T,
                                    .H = 2 * s->H,
                                    .a = widen(&next, s->a, numbers),
                                    .x = widen(&next, s->b, numbers),
                                    .h = widen(&next, NULL, numbers),
                                    .dh = widen(&next, s->dh, numbers),
                                    .dx = widen(&next, NULL, numbers),
                                    .da = widen(&next, NULL, numbers),
                                    .dstate0 = widen(&next, NULL, S)};
  real_scan_reference_forward(&want);
  real_scan_reference_backward(&want);
  run_short(c, &c->stage[0]);
  bench_compare(c, "h", SCAN_OUTPUT_TOLERANCE, s->out, want.h, numbers);
  run_short(c, &c->stage[1]);
  bench_compare(c, "dx", SCAN_GRADIENT_TOLERANCE, s->db, want.dx, numbers);
  bench_compare(c, "da", SCAN_GRADIENT_TOLERANCE, s->da, want.da, numbers);
}

/* the short problem is the start of the first stream, so the states that backward reads serve both */
static sparc_status verify(bench_case *c) {
  const scan_bench *s = c->state;
  const size_t numbers = CHECK_TOKENS * row_of(s);
  double *memory = sparc_alloc((7 * numbers + 8 * row_of(s) + (size_t)8 * CHECK_TOKENS) * sizeof *memory);
  if (!memory) return fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  if (s->cell == CELL_RGLRU)
    check_real(c, memory);
  else
    check_spectral(c, memory);
  sparc_free(memory);
  return SPARC_OK;
}

const bench_kind bench_kind_scan = {
    .name = "scan",
    .summary = "the recurrence alone, content given, and its adjoint; cell sparc, lru or rglru, 2 H real coordinates",
    .keys = {{"B", "streams", REQUIRED},
             {"T", "steps", REQUIRED},
             {"H", "modes", REQUIRED},
             {"inplace", "states replace content", 0},
             {"nt", "states are written by non-temporal stores", 0},
             {"sorted", "modes in the order of their decays", 0},
             {"rivals", "also over other libraries of functions", 0}},
    .cell = "sparc",
    .create = create,
    .verify = verify,
    .destroy = destroy,
};

/* ---- for goals ---------------------------------------------------------------------------------- */

double bench_scan_small(const bench_case *c) {
  const scan_bench *s = c->state;
  const scan_tile *tiles = (const scan_tile *)(const void *)s->constants;
  const size_t count = ((size_t)s->H + SCAN_TILE - 1) / SCAN_TILE, tokens = tokens_of(s);
  size_t small = 0;
  for (size_t t = 0; t < tokens; t++)
    for (size_t i = 0; i < count; i++)
      small += scan_path_of(&tiles[i], expf(KAPPA_R * s->controls[2 * t]), 0) == SCAN_SMALL;
  return (double)small / (double)(count * tokens);
}

double bench_scan_issue(const bench_case *c) {
  const scan_bench *s = c->state;
  const double small = bench_scan_small(c);
  const double operations = small * SCAN_SMALL_OPERATIONS + (1 - small) * SCAN_GENERAL_OPERATIONS;
  const double vectors = (double)tokens_of(s) * s->H / (double)s->scan->kernels->lanes;
  return vectors * operations * 2 * (double)s->loops->width;
}

double bench_scan_lanes(const bench_case *c) {
  const scan_bench *s = c->state;
  return (double)s->scan->kernels->lanes;
}
