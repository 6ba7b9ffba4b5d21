/* SPDX-License-Identifier: MIT */
/* scan.c: the scans: argument checks, and how the work is cut into jobs.
 *
 * A job is one stream and up to SCAN_MODES modes: whole rows stream best. A lone stream is cut into halves of its
 * modes, so that two threads have work. Where jobs share sums, those over the modes that a control steers, they depend
 * on the shape alone, and the sums are added in their order; the others are cut further for more threads.
 */
#include "seq/scan.h"

#include "base/block.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes -------------------------------------------------------------------------------------- */

static size_t pieces_of(int whole, int piece) { return ((size_t)whole + (size_t)piece - 1) / (size_t)piece; }

size_t scan_jobs(const sparc_scan *scan) { return (size_t)scan->config.B * pieces_of(scan->config.H, scan->width); }

static int backward_width(const sparc_scan *scan, const sparc_scan_data *data) {
  return data->controls ? scan->sum_width : scan->width;
}

size_t scan_backward_jobs(const sparc_scan *scan, const sparc_scan_data *data) {
  return (size_t)scan->config.B * pieces_of(scan->config.H, backward_width(scan, data));
}

size_t real_scan_jobs(const sparc_scan *scan) {
  return (size_t)scan->config.B * pieces_of(scan->config.H, scan->real_width);
}

/* one of `pieces` runs of a row, in whole tiles */
static int job_width(int H, int pieces, int limit) {
  const size_t rounded = (pieces_of(H, pieces) + SCAN_TILE - 1) / SCAN_TILE * SCAN_TILE;
  return rounded < (size_t)limit ? (int)rounded : limit;
}

/* runs of a row by the shape alone, and those that give work to more threads than that */
static int pieces_by_shape(int B) { return B > 1 ? 1 : 2; }
static int pieces_by_threads(int B, int threads) {
  const int each = (int)pieces_of(threads, B);
  return each > pieces_by_shape(B) ? each : pieces_by_shape(B);
}

/* a team costs some microseconds; an automatic choice gives each thread enough to do */
static int choose_threads(const sparc_scan_config *c) {
  enum { ELEMENTS_PER_THREAD = 1 << 15 };
  if (c->threads > 0) return c->threads;
  const double useful = 1 + (double)c->B * (double)c->T * (double)c->H / ELEMENTS_PER_THREAD;
  const int available = thread_count(0);
  return useful < available ? (int)useful : available;
}

static sparc_status check_config(const sparc_scan_config *c) {
  const struct {
    const char *name;
    int value;
  } sizes[] = {{"B", c->B}, {"T", c->T}, {"H", c->H}};
  for (size_t i = 0; i < 3; i++)
    if (sizes[i].value < 1) return fail(SPARC_INVALID, "%s is %d, expected at least 1", sizes[i].name, sizes[i].value);
  if (!(c->kappa_r >= 0 && c->kappa_r <= 16))
    return fail(SPARC_INVALID, "kappa_r is %g, expected 0 to 16", (double)c->kappa_r);
  if (!(c->kappa_p >= 0 && c->kappa_p <= 64))
    return fail(SPARC_INVALID, "kappa_p is %g, expected 0 to 64", (double)c->kappa_p);
  if (c->threads < 0) return fail(SPARC_INVALID, "threads is %d, expected 0 or more", c->threads);
  int overflow = 0;
  const size_t tokens = size_product((size_t)c->B, (size_t)c->T, &overflow);
  if (size_product(tokens, (size_t)c->H, &overflow) > SIZE_MAX / 64 || overflow)
    return fail(SPARC_INVALID, "B * T * H = %d * %d * %d is too large", c->B, c->T, c->H);
  return SPARC_OK;
}

sparc_status sparc_scan_create(const sparc_scan_config *config, sparc_scan **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the scan");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  const kernels *chosen;
  sparc_status status = check_config(config);
  if (status == SPARC_OK) status = kernels_choose(config->kernel, &chosen);
  if (status != SPARC_OK) return status;
  sparc_scan *scan = sparc_alloc(sizeof *scan);
  if (!scan) return fail(SPARC_NO_MEMORY, "no memory for a scan");
  if (!chosen->scan.spectral) chosen = kernels_portable();
  const int threads = choose_threads(config), pieces = pieces_by_threads(config->B, threads);
  *scan = (sparc_scan){.config = *config,
                       .kernels = &chosen->scan,
                       .name = chosen->name,
                       .width = job_width(config->H, pieces, SCAN_MODES),
                       .real_width = job_width(config->H, pieces, SCAN_CARRIED),
                       .sum_width = job_width(config->H, pieces_by_shape(config->B), SCAN_MODES),
                       .threads = threads};
  *out = scan;
  return SPARC_OK;
}

void sparc_scan_free(sparc_scan *scan) { sparc_free(scan); }
const char *scan_kernel_name(const sparc_scan *scan) { return scan->name; }

static size_t tokens_of(const sparc_scan *scan) { return (size_t)scan->config.B * (size_t)scan->config.T; }

/* ---- constants ----------------------------------------------------------------------------------- */

static void fill_tile(scan_tile *tile, size_t n, const float *nu, const float *theta) {
  static const float LARGEST_DECAY = 1e25f;
  *tile = (scan_tile){.largest = 0, .smallest = LARGEST_DECAY};
  for (size_t i = 0; i < SCAN_TILE; i++) {
    const size_t j = i < n ? i : n - 1;
    const float decay = nu[j] < LARGEST_DECAY ? nu[j] : LARGEST_DECAY;
    const double angle = i < n ? (double)theta[j] : 0, rho = exp(-fmax((double)decay, (double)DECAY_FLOOR_F32));
    tile->nu[i] = decay;
    tile->cos[i] = (float)cos(angle);
    tile->sin[i] = (float)sin(angle);
    tile->fixed_re[i] = (float)(rho * cos(angle));
    tile->fixed_im[i] = (float)(rho * sin(angle));
    if (decay > tile->largest) tile->largest = decay;
    if (decay < tile->smallest) tile->smallest = decay;
  }
}

sparc_status sparc_scan_prepare(const sparc_scan *scan, const float *nu, const float *theta, float *constants) {
  if (!scan || !nu || !theta || !constants)
    return fail(SPARC_INVALID, "%s is NULL", !scan ? "scan" : !nu ? "nu" : !theta ? "theta" : "constants");
  const size_t H = (size_t)scan->config.H;
  for (size_t i = 0; i < H; i++) {
    if (!(isfinite(nu[i]) && nu[i] >= 0))
      return fail(SPARC_INVALID, "nu[%zu] is %g, expected a finite number that is not negative", i, (double)nu[i]);
    if (!isfinite(theta[i]))
      return fail(SPARC_NOT_FINITE, "theta[%zu] is %g, expected a finite number", i, (double)theta[i]);
  }
  for (size_t first = 0; first < H; first += SCAN_TILE) {
    scan_tile tile;
    fill_tile(&tile, H - first < SCAN_TILE ? H - first : SCAN_TILE, nu + first, theta + first);
    memcpy(constants + first / SCAN_TILE * (sizeof tile / sizeof *constants), &tile, sizeof tile);
  }
  return SPARC_OK;
}

/* equal decays keep their order */
static int compare_decays(const void *a, const void *b, void *nu) {
  const int i = *(const int *)a, j = *(const int *)b;
  const float x = ((const float *)nu)[i], y = ((const float *)nu)[j];
  return x < y ? -1 : x > y ? 1 : (i > j) - (i < j);
}

sparc_status scan_order(int H, const float *nu, int *order) {
  if (H < 1) return fail(SPARC_INVALID, "H is %d, expected at least 1", H);
  if (!nu || !order) return fail(SPARC_INVALID, "%s is NULL", !nu ? "nu" : "order");
  for (int i = 0; i < H; i++) {
    if (isnan(nu[i])) return fail(SPARC_NOT_FINITE, "nu[%d] is not a number", i);
    order[i] = i;
  }
  qsort_r(order, (size_t)H, sizeof *order, compare_decays, (void *)nu);
  return SPARC_OK;
}

/* ---- jobs ---------------------------------------------------------------------------------------- */

/* where a job is in rows of H modes or coordinates */
typedef struct job_place {
  size_t b, piece, first, n;
} job_place;

static job_place place_of(const sparc_scan *scan, int width, size_t job) {
  const size_t pieces = pieces_of(scan->config.H, width), piece = job % pieces, first = piece * (size_t)width;
  const size_t rest = (size_t)scan->config.H - first;
  return (job_place){job / pieces, piece, first, rest < (size_t)width ? rest : (size_t)width};
}

static const float zero_row[SCAN_CARRIED];

static spectral_rows rows_of(const sparc_scan *scan, const scan_tile *tiles, const sparc_scan_data *data,
                             const job_place *p, size_t from, size_t to, float *carried) {
  const size_t token = p->b * (size_t)scan->config.T + from;
  return (spectral_rows){.H = (size_t)scan->config.H,
                         .first = p->first,
                         .n = p->n,
                         .tokens = to - from,
                         .kappa_r = scan->config.kappa_r,
                         .kappa_p = scan->config.kappa_p,
                         .tiles = tiles + p->first / SCAN_TILE,
                         .controls = data->controls ? data->controls + 2 * token : NULL,
                         .mask = data->mask ? data->mask + token : NULL,
                         .carried = carried};
}

void scan_forward_job(const sparc_scan *scan, const scan_tile *tiles, const sparc_scan_data *data, size_t job,
                      size_t from, size_t to, float *carried) {
  const job_place p = place_of(scan, scan->width, job);
  const size_t at = (p.b * (size_t)scan->config.T + from) * 2 * (size_t)scan->config.H;
  const spectral_scan_rows rows = {.rows = rows_of(scan, tiles, data, &p, from, to, carried),
                                   .b = data->b + at,
                                   .h = data->h + at,
                                   .nontemporal = scan->config.streaming && data->h != data->b};
  scan->kernels->spectral(&rows);
}

void scan_backward_job(const sparc_scan *scan, const scan_tile *tiles, const sparc_scan_data *data,
                       const sparc_scan_gradient *gradient, size_t job, size_t from, size_t to, float *carried,
                       float *dcontrols, double *sums) {
  const job_place p = place_of(scan, backward_width(scan, data), job);
  const size_t H = (size_t)scan->config.H, token = p.b * (size_t)scan->config.T + from, at = token * 2 * H;
  const float *entrance = data->state0 ? data->state0 + p.b * 2 * H + p.first : NULL;
  const float *before = from > 0 ? data->h + at - 2 * H + p.first : entrance;
  double *by_nu = sums + p.b * 2 * H + p.first;
  const spectral_adjoint_rows rows = {
      .rows = rows_of(scan, tiles, data, &p, from, to, carried),
      .h = data->h + at,
      .before_re = before ? before : zero_row,
      .before_im = before ? before + H : zero_row,
      .dh = gradient->dh + at,
      .db = gradient->db + at,
      .earlier = from,
      .dcontrols = data->controls ? dcontrols + 2 * (p.piece * tokens_of(scan) + token) : NULL,
      .by_nu = by_nu,
      .by_theta = by_nu + H};
  scan->kernels->spectral_adjoint(&rows);
}

void real_scan_forward_job(const sparc_scan *scan, const real_scan_data *data, size_t job, size_t from, size_t to,
                           float *carried) {
  const job_place p = place_of(scan, scan->real_width, job);
  const size_t H = (size_t)scan->config.H, token = p.b * (size_t)scan->config.T + from;
  const real_scan_rows rows = {.rows = {.H = H,
                                        .first = p.first,
                                        .n = p.n,
                                        .tokens = to - from,
                                        .a = data->a + token * H,
                                        .mask = data->mask ? data->mask + token : NULL,
                                        .carried = carried},
                               .x = data->x + token * H,
                               .h = data->h + token * H,
                               .nontemporal = scan->config.streaming && data->h != data->x};
  scan->kernels->real(&rows);
}

void real_scan_backward_job(const sparc_scan *scan, const real_scan_data *data, const real_scan_gradient *gradient,
                            size_t job, size_t from, size_t to, float *carried) {
  const job_place p = place_of(scan, scan->real_width, job);
  const size_t H = (size_t)scan->config.H, token = p.b * (size_t)scan->config.T + from;
  const float *entrance = data->state0 ? data->state0 + p.b * H + p.first : zero_row;
  const real_adjoint_rows rows = {.rows = {.H = H,
                                           .first = p.first,
                                           .n = p.n,
                                           .tokens = to - from,
                                           .a = data->a + token * H,
                                           .mask = data->mask ? data->mask + token : NULL,
                                           .carried = carried},
                                  .h = data->h + token * H,
                                  .before = from > 0 ? data->h + (token - 1) * H + p.first : entrance,
                                  .dh = gradient->dh + token * H,
                                  .dx = gradient->dx + token * H,
                                  .da = gradient->da + token * H};
  scan->kernels->real_adjoint(&rows);
}

/* ---- carried rows between the caller's layout and the kernels' ------------------------------------ */

/* where coordinate i of part re (0) or im (1) of a job is in its carried floats */
static size_t carried_at(size_t part, size_t i) { return (i / SCAN_TILE * 2 + part) * SCAN_TILE + i % SCAN_TILE; }

static void pack_carried(const sparc_scan *scan, const job_place *p, const float *states, float *carried) {
  const size_t H = (size_t)scan->config.H;
  for (size_t part = 0; states && part < 2; part++)
    for (size_t i = 0; i < p->n; i++) carried[carried_at(part, i)] = states[(2 * p->b + part) * H + p->first + i];
}

static void unpack_carried(const sparc_scan *scan, const job_place *p, float *states, const float *carried) {
  const size_t H = (size_t)scan->config.H;
  for (size_t part = 0; states && part < 2; part++)
    for (size_t i = 0; i < p->n; i++) states[(2 * p->b + part) * H + p->first + i] = carried[carried_at(part, i)];
}

/* ---- calls --------------------------------------------------------------------------------------- */

static sparc_status require(const void *pointer, const char *name) {
  return pointer ? SPARC_OK : fail(SPARC_INVALID, "%s is NULL", name);
}

static sparc_status check_mask(const sparc_scan *scan, const float *mask) {
  const size_t T = (size_t)scan->config.T;
  for (size_t i = 0; mask && i < tokens_of(scan); i++)
    if (mask[i] != 0 && mask[i] != 1)
      return fail(SPARC_INVALID, "mask[%zu][%zu] is %g, expected 0 or 1", i / T, i % T, (double)mask[i]);
  return SPARC_OK;
}

static sparc_status check_controls(const sparc_scan *scan, const float *controls) {
  const size_t T = (size_t)scan->config.T;
  for (size_t i = 0; controls && i < 2 * tokens_of(scan); i++)
    if (!(controls[i] >= -1 && controls[i] <= 1))
      return fail(SPARC_INVALID, "controls[%zu][%zu][%zu] is %g, expected -1 to 1", i / 2 / T, i / 2 % T, i % 2,
                  (double)controls[i]);
  return SPARC_OK;
}

static sparc_status check_spectral(const sparc_scan *scan, const float *constants, const sparc_scan_data *data) {
  sparc_status status = require(scan, "scan");
  if (status == SPARC_OK) status = require(constants, "constants");
  if (status == SPARC_OK) status = require(data, "data");
  if (status == SPARC_OK) status = require(data->h, "data.h");
  if (status == SPARC_OK) status = check_mask(scan, data->mask);
  return status == SPARC_OK ? check_controls(scan, data->controls) : status;
}

/* the arguments of a call, shared by its jobs */
typedef struct scan_call {
  const sparc_scan *scan;
  const scan_tile *tiles;
  const sparc_scan_data *data;
  const sparc_scan_gradient *gradient;
  float *dcontrols;
  double *sums;
} scan_call;

static void run_forward(void *context, size_t job) {
  const scan_call *c = context;
  const job_place p = place_of(c->scan, c->scan->width, job);
  float carried[SCAN_CARRIED] __attribute__((aligned(CACHE_LINE))) = {0};
  pack_carried(c->scan, &p, c->data->state0, carried);
  scan_forward_job(c->scan, c->tiles, c->data, job, 0, (size_t)c->scan->config.T, carried);
  unpack_carried(c->scan, &p, c->data->state_last, carried);
}

sparc_status sparc_scan_forward(const sparc_scan *scan, const float *constants, const sparc_scan_data *data) {
  sparc_status status = check_spectral(scan, constants, data);
  if (status == SPARC_OK) status = require(data->b, "data.b");
  if (status != SPARC_OK) return status;
  scan_call call = {.scan = scan, .tiles = (const scan_tile *)(const void *)constants, .data = data};
  parallel_for(scan->threads, scan_jobs(scan), run_forward, &call);
  return SPARC_OK;
}

static void carve(const sparc_scan *scan, arena *a, float **dcontrols, double **sums) {
  const size_t pieces = pieces_of(scan->config.H, scan->sum_width);
  *dcontrols = arena_take(a, pieces * tokens_of(scan) * 2, sizeof(float));
  *sums = arena_take(a, (size_t)scan->config.B * 2 * (size_t)scan->config.H, sizeof(double));
}

sparc_scan_sizes sparc_scan_sizes_of(const sparc_scan *scan) {
  if (!scan) return (sparc_scan_sizes){0};
  float *dcontrols;
  double *sums;
  arena measure = arena_measure();
  carve(scan, &measure, &dcontrols, &sums);
  return (sparc_scan_sizes){.constants = pieces_of(scan->config.H, SCAN_TILE) * sizeof(scan_tile) / sizeof(float),
                            .work = measure.used};
}

static void run_backward(void *context, size_t job) {
  const scan_call *c = context;
  const job_place p = place_of(c->scan, backward_width(c->scan, c->data), job);
  float carried[SCAN_CARRIED] __attribute__((aligned(CACHE_LINE))) = {0};
  pack_carried(c->scan, &p, c->gradient->dstate_last, carried);
  scan_backward_job(c->scan, c->tiles, c->data, c->gradient, job, 0, (size_t)c->scan->config.T, carried, c->dcontrols,
                    c->sums);
  unpack_carried(c->scan, &p, c->gradient->dstate0, carried);
}

/* out[i] += the sums of all streams, in their order */
static void add_streams(const sparc_scan *scan, const double *sums, float *out) {
  const size_t H = (size_t)scan->config.H;
  for (size_t i = 0; out && i < H; i++) {
    double total = 0;
    for (size_t b = 0; b < (size_t)scan->config.B; b++) total += sums[b * 2 * H + i];
    out[i] = (float)((double)out[i] + total);
  }
}

sparc_status sparc_scan_backward(const sparc_scan *scan, const float *constants, const sparc_scan_data *data,
                                 const sparc_scan_gradient *gradient, void *work) {
  sparc_status status = check_spectral(scan, constants, data);
  if (status == SPARC_OK) status = require(gradient, "gradient");
  if (status == SPARC_OK) status = require(gradient->dh, "gradient.dh");
  if (status == SPARC_OK) status = require(gradient->db, "gradient.db");
  if (status == SPARC_OK) status = check_block(work, "work");
  if (status != SPARC_OK) return status;
  const size_t H = (size_t)scan->config.H, controls = 2 * tokens_of(scan);
  scan_call call = {
      .scan = scan, .tiles = (const scan_tile *)(const void *)constants, .data = data, .gradient = gradient};
  arena place = arena_over(work, sparc_scan_sizes_of(scan).work);
  carve(scan, &place, &call.dcontrols, &call.sums);
  memset(call.sums, 0, (size_t)scan->config.B * 2 * H * sizeof *call.sums);
  parallel_for(scan->threads, scan_backward_jobs(scan, data), run_backward, &call);
  if (gradient->dcontrols) {
    memset(gradient->dcontrols, 0, controls * sizeof(float));
    if (data->controls)
      ordered_add_f32(gradient->dcontrols, call.dcontrols, pieces_of(scan->config.H, scan->sum_width), controls,
                      controls);
  }
  add_streams(scan, call.sums, gradient->dnu);
  add_streams(scan, call.sums + H, gradient->dtheta);
  return SPARC_OK;
}

/* ---- real calls ---------------------------------------------------------------------------------- */

static sparc_status check_real(const sparc_scan *scan, const real_scan_data *data) {
  sparc_status status = require(scan, "scan");
  if (status == SPARC_OK) status = require(data, "data");
  if (status == SPARC_OK) status = require(data->a, "data.a");
  if (status == SPARC_OK) status = require(data->h, "data.h");
  return status == SPARC_OK ? check_mask(scan, data->mask) : status;
}

typedef struct real_call {
  const sparc_scan *scan;
  const real_scan_data *data;
  const real_scan_gradient *gradient;
} real_call;

/* copies a job's part of a row of every stream; nothing where either side is NULL */
static void copy_part(float *to, const float *from, size_t n) {
  if (to && from) memcpy(to, from, n * sizeof *to);
}

static void run_real_forward(void *context, size_t job) {
  const real_call *c = context;
  const job_place p = place_of(c->scan, c->scan->real_width, job);
  const size_t at = p.b * (size_t)c->scan->config.H + p.first;
  float carried[SCAN_CARRIED] __attribute__((aligned(CACHE_LINE))) = {0};
  copy_part(carried, c->data->state0 ? c->data->state0 + at : NULL, p.n);
  real_scan_forward_job(c->scan, c->data, job, 0, (size_t)c->scan->config.T, carried);
  copy_part(c->data->state_last ? c->data->state_last + at : NULL, carried, p.n);
}

sparc_status real_scan_forward(const sparc_scan *scan, const real_scan_data *data) {
  sparc_status status = check_real(scan, data);
  if (status == SPARC_OK) status = require(data->x, "data.x");
  if (status != SPARC_OK) return status;
  real_call call = {.scan = scan, .data = data};
  parallel_for(scan->threads, real_scan_jobs(scan), run_real_forward, &call);
  return SPARC_OK;
}

static void run_real_backward(void *context, size_t job) {
  const real_call *c = context;
  const job_place p = place_of(c->scan, c->scan->real_width, job);
  const size_t at = p.b * (size_t)c->scan->config.H + p.first;
  float carried[SCAN_CARRIED] __attribute__((aligned(CACHE_LINE))) = {0};
  copy_part(carried, c->gradient->dstate_last ? c->gradient->dstate_last + at : NULL, p.n);
  real_scan_backward_job(c->scan, c->data, c->gradient, job, 0, (size_t)c->scan->config.T, carried);
  copy_part(c->gradient->dstate0 ? c->gradient->dstate0 + at : NULL, carried, p.n);
}

sparc_status real_scan_backward(const sparc_scan *scan, const real_scan_data *data,
                                const real_scan_gradient *gradient) {
  sparc_status status = check_real(scan, data);
  if (status == SPARC_OK) status = require(gradient, "gradient");
  if (status == SPARC_OK) status = require(gradient->dh, "gradient.dh");
  if (status == SPARC_OK) status = require(gradient->dx, "gradient.dx");
  if (status == SPARC_OK) status = require(gradient->da, "gradient.da");
  if (status != SPARC_OK) return status;
  real_call call = {.scan = scan, .data = data, .gradient = gradient};
  parallel_for(scan->threads, real_scan_jobs(scan), run_real_backward, &call);
  return SPARC_OK;
}
