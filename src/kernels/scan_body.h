/* SPDX-License-Identifier: MIT */
/* scan_body.h: the recurrences alone, once; included by kernels_body.h for every instruction set.
 *
 * A row is walked tile by tile; each tile takes the cheapest arithmetic that its decays allow at this token. State,
 * constants and sums stay in the first-level cache, so that only content and states go through memory. Backward, time
 * and rows both run downwards: a row that is read upwards while time goes down defeats the prefetcher. Non-temporal
 * stores must fill whole lines back to back, so a finished row is copied out of the state.
 */
#ifndef SPARC_KERNELS_SCAN_BODY_H
#define SPARC_KERNELS_SCAN_BODY_H

#include "kernels/controls_body.h"
#include "kernels/scan.h"
#include "kernels/transition_body.h"

/* ---- non-temporal stores ----------------------------------------------------------------------- */

#if defined(__SSE2__)

VMATH void store_nontemporal(float *to, lanes v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, (__m512)v);
#elif defined(__AVX__)
  _mm256_stream_ps(to, (__m256)v);
#else
  _mm_stream_ps(to, (__m128)v);
#endif
}

/* n is a multiple of CACHE_LINE_FLOATS */
static void copy_nontemporal(float *to, const float *from, size_t n) {
  for (size_t i = 0; i < n; i += LANES) store_nontemporal(to + i, load_lanes(from + i));
}

static void fence_nontemporal(void) { _mm_sfence(); }

/* every piece of every row must be made of whole lines */
static bool can_be_nontemporal(const float *rows, size_t H, size_t n) {
  return (uintptr_t)rows % (CACHE_LINE_FLOATS * sizeof(float)) == 0 && H % CACHE_LINE_FLOATS == 0 &&
         n % CACHE_LINE_FLOATS == 0;
}

#else

static void copy_nontemporal(float *to, const float *from, size_t n) { memcpy(to, from, n * sizeof *to); }
static void fence_nontemporal(void) {}
static bool can_be_nontemporal(const float *rows, size_t H, size_t n) {
  (void)rows, (void)H, (void)n;
  return false;
}

#endif

/* ---- transitions --------------------------------------------------------------------------------- */

/* one token at one tile */
typedef struct tile_token {
  const scan_tile *tile;
  float scale, phase;
} tile_token;

VMATH void load_each(size_t ways, const float *from, lanes *to) { EACH_WAY(k) to[k] = load_lanes(from + k * LANES); }
VMATH void store_each(size_t ways, float *to, const lanes *from) { EACH_WAY(k) store_lanes(to + k * LANES, from[k]); }

/* lambda of the modes from `at` on */
VMATH void transition_at_token(size_t ways, scan_path path, const tile_token *t, size_t at, transition *out) {
  const scan_tile *tile = t->tile;
  if (path == SCAN_FIXED) {
    load_each(ways, tile->fixed_re + at, out->re);
    load_each(ways, tile->fixed_im + at, out->im);
    return;
  }
  const float rate = path == SCAN_GENERAL ? -LOG2E * t->scale : t->scale;
  const lanes floor = every_lane(DECAY_FLOOR_F32), lowest = every_lane(-127);
  transition_terms in;
  EACH_WAY(k) in.decay[k] = load_lanes(tile->nu + at + k * LANES) * rate;
  if (path == SCAN_EXTREME) EACH_WAY(k) in.decay[k] = max_lanes(lowest, max_lanes(floor, in.decay[k]) * -LOG2E);
  load_each(ways, tile->cos + at, in.cos);
  load_each(ways, tile->sin + at, in.sin);
  EACH_WAY(k) in.phase[k] = every_lane(t->phase);
  transition_of(path == SCAN_SMALL     ? RANGE_SMALL
                : path == SCAN_GENERAL ? RANGE_GENERAL
                                       : RANGE_WIDE,
                true, CLOCK_LIVE, ways, &in, out);
}

/* The prefetcher of the processor stops at the end of a page, and a row of a common width is one: what follows is
 * prefetched while this row is worked on, some pages ahead, because memory shared with other threads has a high latency. Both
 * halves of a tile, H apart, into the second-level cache. */
VMATH size_t rows_ahead(size_t H) {
  enum { MODES_AHEAD = 1024 };
  return 1 + MODES_AHEAD / H;
}

VMATH void prefetch_tile(const float *tile, size_t H) {
  for (size_t i = 0; i < SCAN_TILE; i += CACHE_LINE_FLOATS) {
    __builtin_prefetch(tile + i, 0, 2);
    __builtin_prefetch(tile + H + i, 0, 2);
  }
}

/* ---- forward ------------------------------------------------------------------------------------- */

/* vectors at once: four hide the latency of a multiply-add, where the registers hold what they have in between; else
 * two, and the processor overlaps groups by itself */
enum { FORWARD_WAYS = REGISTERS >= 32 ? WAYS : 2, GROUP = FORWARD_WAYS * LANES };

/* pointers to the first mode of a tile; out_re == NULL: only the state is kept */
typedef struct forward_tile {
  const float *b_re, *b_im;
  float *state_re, *state_im, *out_re, *out_im;
} forward_tile;

VMATH void forward_group(size_t ways, scan_path path, bool store, const tile_token *t, size_t at,
                         const forward_tile *f) {
  transition l;
  lanes h_re[WAYS], h_im[WAYS], re[WAYS], im[WAYS];
  transition_at_token(ways, path, t, at, &l);
  load_each(ways, f->state_re + at, h_re);
  load_each(ways, f->state_im + at, h_im);
  EACH_WAY(k) re[k] = load_lanes(f->b_re + at + k * LANES) - l.im[k] * h_im[k];
  EACH_WAY(k) im[k] = load_lanes(f->b_im + at + k * LANES) + l.im[k] * h_re[k];
  EACH_WAY(k) re[k] = l.re[k] * h_re[k] + re[k];
  EACH_WAY(k) im[k] = l.re[k] * h_im[k] + im[k];
  store_each(ways, f->state_re + at, re);
  store_each(ways, f->state_im + at, im);
  if (!store) return;
  store_each(ways, f->out_re + at, re);
  store_each(ways, f->out_im + at, im);
}

/* the last modes of a row, fewer than a vector, through a vector of their own */
VMATH void forward_rest(scan_path path, bool store, const tile_token *t, size_t at, size_t n, const forward_tile *f) {
  float b[2][SCAN_TILE] = {{0}}, out[2][SCAN_TILE];
  const forward_tile padded = {b[0], b[1], f->state_re, f->state_im, out[0], out[1]};
  memcpy(b[0] + at, f->b_re + at, n * sizeof(float));
  memcpy(b[1] + at, f->b_im + at, n * sizeof(float));
  forward_group(1, path, true, t, at, &padded);
  if (!store) return;
  memcpy(f->out_re + at, out[0] + at, n * sizeof(float));
  memcpy(f->out_im + at, out[1] + at, n * sizeof(float));
}

VMATH void forward_modes(scan_path path, bool store, const tile_token *t, size_t n, const forward_tile *f) {
  size_t at = 0;
  for (; at + GROUP <= n; at += GROUP) forward_group(FORWARD_WAYS, path, store, t, at, f);
  for (; at + LANES <= n; at += LANES) forward_group(1, path, store, t, at, f);
  if (at < n) forward_rest(path, store, t, at, n - at, f);
}

VMATH void forward_tile_row(bool fixed, bool store, const tile_token *t, size_t n, const forward_tile *f) {
  switch (fixed ? SCAN_FIXED : scan_path_of(t->tile, t->scale, t->phase)) {
    case SCAN_SMALL:
      forward_modes(SCAN_SMALL, store, t, n, f);
      break;
    case SCAN_GENERAL:
      forward_modes(SCAN_GENERAL, store, t, n, f);
      break;
    case SCAN_EXTREME:
      forward_modes(SCAN_EXTREME, store, t, n, f);
      break;
    case SCAN_FIXED:
      forward_modes(SCAN_FIXED, store, t, n, f);
  }
}

static size_t scan_tiles(size_t n) { return (n + SCAN_TILE - 1) / SCAN_TILE; }
static size_t tile_modes(size_t n, size_t tile) {
  const size_t rest = n - tile * SCAN_TILE;
  return rest < SCAN_TILE ? rest : SCAN_TILE;
}

/* the state of a run of modes as a row */
static void store_state(const spectral_rows *rows, float *out) {
  for (size_t part = 0; part < 2; part++)
    for (size_t tile = 0; tile < scan_tiles(rows->n); tile++)
      copy_nontemporal(out + part * rows->H + tile * SCAN_TILE, rows->carried + (2 * tile + part) * SCAN_TILE,
                       tile_modes(rows->n, tile));
}

VMATH void forward_row(const spectral_scan_rows *s, bool fixed, bool store, size_t t, float scale, float phase) {
  const spectral_rows *rows = &s->rows;
  const size_t H = rows->H, at = t * 2 * H + rows->first, tiles = scan_tiles(rows->n), ahead = rows_ahead(H);
  /* what came before a new segment: nothing, even where the state was not finite */
  if (rows->mask && rows->mask[t] == 0) memset(rows->carried, 0, tiles * 2 * SCAN_TILE * sizeof(float));
  for (size_t i = 0; i < tiles; i++) {
    const tile_token token = {rows->tiles + i, scale, phase};
    const float *b = s->b + at + i * SCAN_TILE;
    float *state = rows->carried + 2 * i * SCAN_TILE, *out = s->h + at + i * SCAN_TILE;
    if (t + ahead < rows->tokens) prefetch_tile(b + ahead * 2 * H, H);
    const forward_tile f = {b, b + H, state, state + SCAN_TILE, out, out + H};
    forward_tile_row(fixed, store, &token, tile_modes(rows->n, i), &f);
  }
  if (!store) store_state(rows, s->h + at);
}

VMATH void forward_tokens(const spectral_scan_rows *s, bool fixed, bool store) {
  scan_controls controls;
  for (size_t from = 0; from < s->rows.tokens; from += SCAN_TOKENS) {
    const size_t rest = s->rows.tokens - from, n = rest < SCAN_TOKENS ? rest : SCAN_TOKENS;
    if (!fixed) controls_of(s->rows.controls + 2 * from, s->rows.kappa_r, s->rows.kappa_p, n, &controls);
    for (size_t i = 0; i < n; i++)
      forward_row(s, fixed, store, from + i, fixed ? 1 : controls.scale[i], fixed ? 0 : controls.phase[i]);
  }
}

static void spectral_scan(const spectral_scan_rows *s) {
  const bool fixed = !s->rows.controls;
  const bool stream = s->nontemporal && can_be_nontemporal(s->h + s->rows.first, s->rows.H, s->rows.n);
  if (fixed && stream)
    forward_tokens(s, true, false);
  else if (fixed)
    forward_tokens(s, true, true);
  else if (stream)
    forward_tokens(s, false, false);
  else
    forward_tokens(s, false, true);
  if (stream) fence_nontemporal();
}

/* ---- backward ------------------------------------------------------------------------------------ */

/* more vectors at once do not fit the registers */
enum { ADJOINT_WAYS = 2, ADJOINT_GROUP = ADJOINT_WAYS * LANES };

/* pointers to the first mode of a tile */
typedef struct adjoint_tile {
  const float *h_re, *h_im;   /* the state before the token */
  const float *dh_re, *dh_im; /* may be db */
  float *carry_re, *carry_im, *db_re, *db_im, *sum_nu, *sum_theta;
} adjoint_tile;

/* sums over the modes of a row: nu dL/de and (1 - rho) dL/dangle */
typedef struct row_sums {
  lanes by_decay, by_turn;
} row_sums;

/* c = conj(lambda) g is the cotangent of the state before; w = conj(h) c holds what the transition gets:
 * dL/dangle = Im w and dL/de = rho phase Im w - Re w */
VMATH void adjoint_group(size_t ways, scan_path path, const tile_token *t, size_t at, const adjoint_tile *a,
                         row_sums *sums) {
  transition l;
  lanes g_re[WAYS], g_im[WAYS], c_re[WAYS], c_im[WAYS], w_re[WAYS], w_im[WAYS], h_re[WAYS], h_im[WAYS];
  transition_at_token(ways, path, t, at, &l);
  EACH_WAY(k) g_re[k] = load_lanes(a->dh_re + at + k * LANES) + load_lanes(a->carry_re + at + k * LANES);
  EACH_WAY(k) g_im[k] = load_lanes(a->dh_im + at + k * LANES) + load_lanes(a->carry_im + at + k * LANES);
  load_each(ways, a->h_re + at, h_re);
  load_each(ways, a->h_im + at, h_im);
  EACH_WAY(k) c_re[k] = l.im[k] * g_im[k];
  EACH_WAY(k) c_im[k] = l.im[k] * g_re[k];
  EACH_WAY(k) c_re[k] = l.re[k] * g_re[k] + c_re[k];
  EACH_WAY(k) c_im[k] = l.re[k] * g_im[k] - c_im[k];
  store_each(ways, a->db_re + at, g_re);
  store_each(ways, a->db_im + at, g_im);
  store_each(ways, a->carry_re + at, c_re);
  store_each(ways, a->carry_im + at, c_im);
  EACH_WAY(k) w_im[k] = h_im[k] * c_re[k];
  EACH_WAY(k) w_re[k] = h_im[k] * c_im[k];
  EACH_WAY(k) w_im[k] = h_re[k] * c_im[k] - w_im[k];
  EACH_WAY(k) w_re[k] = h_re[k] * c_re[k] + w_re[k];
  EACH_WAY(k) store_lanes(a->sum_theta + at + k * LANES, load_lanes(a->sum_theta + at + k * LANES) + w_im[k]);
  if (path == SCAN_FIXED) {
    EACH_WAY(k) store_lanes(a->sum_nu + at + k * LANES, load_lanes(a->sum_nu + at + k * LANES) - w_re[k]);
    return;
  }
  EACH_WAY(k) w_re[k] = (l.rho[k] * t->phase) * w_im[k] - w_re[k];
  EACH_WAY(k)
  store_lanes(a->sum_nu + at + k * LANES, t->scale * w_re[k] + load_lanes(a->sum_nu + at + k * LANES));
  EACH_WAY(k) sums->by_turn = l.clock[k] * w_im[k] + sums->by_turn;
  EACH_WAY(k) sums->by_decay = load_lanes(t->tile->nu + at + k * LANES) * w_re[k] + sums->by_decay;
}

/* where no state is, nothing is added to a sum: the padding needs no care */
VMATH void adjoint_rest(scan_path path, const tile_token *t, size_t at, size_t n, const adjoint_tile *a,
                        row_sums *sums) {
  float in[4][SCAN_TILE] = {{0}}, db[2][SCAN_TILE];
  adjoint_tile padded = *a;
  padded.h_re = in[0], padded.h_im = in[1], padded.dh_re = in[2], padded.dh_im = in[3];
  padded.db_re = db[0], padded.db_im = db[1];
  memcpy(in[0] + at, a->h_re + at, n * sizeof(float));
  memcpy(in[1] + at, a->h_im + at, n * sizeof(float));
  memcpy(in[2] + at, a->dh_re + at, n * sizeof(float));
  memcpy(in[3] + at, a->dh_im + at, n * sizeof(float));
  adjoint_group(1, path, t, at, &padded, sums);
  memcpy(a->db_re + at, db[0] + at, n * sizeof(float));
  memcpy(a->db_im + at, db[1] + at, n * sizeof(float));
}

VMATH void adjoint_modes(scan_path path, const tile_token *t, size_t n, const adjoint_tile *a, row_sums *sums) {
  const size_t groups = n / ADJOINT_GROUP * ADJOINT_GROUP, whole = n / LANES * LANES;
  if (whole < n) adjoint_rest(path, t, whole, n - whole, a, sums);
  for (size_t at = whole; at > groups; at -= LANES) adjoint_group(1, path, t, at - LANES, a, sums);
  for (size_t at = groups; at > 0; at -= ADJOINT_GROUP)
    adjoint_group(ADJOINT_WAYS, path, t, at - ADJOINT_GROUP, a, sums);
}

VMATH void adjoint_tile_row(bool fixed, const tile_token *t, size_t n, const adjoint_tile *a, row_sums *sums) {
  switch (fixed ? SCAN_FIXED : scan_path_of(t->tile, t->scale, t->phase)) {
    case SCAN_SMALL:
      adjoint_modes(SCAN_SMALL, t, n, a, sums);
      break;
    case SCAN_GENERAL:
      adjoint_modes(SCAN_GENERAL, t, n, a, sums);
      break;
    case SCAN_EXTREME:
      adjoint_modes(SCAN_EXTREME, t, n, a, sums);
      break;
    case SCAN_FIXED:
      adjoint_modes(SCAN_FIXED, t, n, a, sums);
  }
}

/* the first token of a segment: its transition met nothing */
static void adjoint_reset(const spectral_adjoint_rows *s, size_t t) {
  const spectral_rows *rows = &s->rows;
  for (size_t i = scan_tiles(rows->n); i-- > 0;) {
    const size_t at = t * 2 * rows->H + rows->first + i * SCAN_TILE, n = tile_modes(rows->n, i);
    float *carried = rows->carried + 2 * i * SCAN_TILE;
    for (size_t part = 0; part < 2; part++)
      for (size_t k = 0; k < n; k++)
        s->db[at + part * rows->H + k] = s->dh[at + part * rows->H + k] + carried[part * SCAN_TILE + k];
    memset(carried, 0, sizeof(float) * 2 * SCAN_TILE);
  }
  if (rows->controls) s->dcontrols[2 * t] = s->dcontrols[2 * t + 1] = 0;
}

/* The rows that come next are prefetched from their end to their start, two tiles of either array with every tile that
 * is worked on: halves of a row by turns, or many lines at once, arrive later. Tiles of the second half of a row count
 * on from those of the first. */
VMATH void prefetch_down(const spectral_rows *rows, const float *row, size_t pair) {
  const size_t tiles = scan_tiles(rows->n);
  for (size_t k = 2; k-- > 0;) {
    const size_t tile = 2 * pair + k;
    const float *from = row + (tile < tiles ? tile * SCAN_TILE : rows->H + (tile - tiles) * SCAN_TILE);
    for (size_t end = SCAN_TILE; end > 0; end -= CACHE_LINE_FLOATS) __builtin_prefetch(from + end - CACHE_LINE_FLOATS);
  }
}

/* sums (tiles, 2, SCAN_TILE): by nu and by theta, added to */
VMATH void adjoint_row(const spectral_adjoint_rows *s, bool fixed, size_t t, float scale, float phase, float *sums) {
  const spectral_rows *rows = &s->rows;
  const size_t H = rows->H, at = t * 2 * H + rows->first;
  const float *h_re = t > 0 ? s->h + at - 2 * H : s->before_re, *h_im = t > 0 ? h_re + H : s->before_im;
  row_sums of_row = {{0}, {0}};
  for (size_t i = scan_tiles(rows->n); i-- > 0;) {
    const tile_token token = {rows->tiles + i, scale, phase};
    const float *dh = s->dh + at + i * SCAN_TILE;
    float *carry = rows->carried + 2 * i * SCAN_TILE, *db = s->db + at + i * SCAN_TILE;
    float *sum = sums + 2 * i * SCAN_TILE;
    const adjoint_tile a = {
        h_re + i * SCAN_TILE, h_im + i * SCAN_TILE, dh, dh + H, carry, carry + SCAN_TILE, db, db + H, sum,
        sum + SCAN_TILE};
    if (t + s->earlier > 1) {
      prefetch_down(rows, s->dh + at - 2 * H, i);
      prefetch_down(rows, s->h + at - 4 * H, i);
    }
    adjoint_tile_row(fixed, &token, tile_modes(rows->n, i), &a, &of_row);
  }
  if (fixed) return;
  s->dcontrols[2 * t] = rows->kappa_r * scale * sum_lanes(of_row.by_decay);
  s->dcontrols[2 * t + 1] = rows->kappa_p * sum_lanes(of_row.by_turn);
}

/* sums (tiles, 2, SCAN_TILE), as in adjoint_row */
static void flush_sums(const spectral_adjoint_rows *s, const float *sums) {
  const size_t n = s->rows.n;
  for (size_t tile = 0; tile < scan_tiles(n); tile++) {
    const float *from = sums + 2 * tile * SCAN_TILE;
    const size_t modes = tile_modes(n, tile);
    double *by_nu = s->by_nu + tile * SCAN_TILE, *by_theta = s->by_theta + tile * SCAN_TILE;
#pragma omp simd
    for (size_t j = 0; j < modes; j++) {
      by_nu[j] += (double)from[j];
      by_theta[j] += (double)from[SCAN_TILE + j];
    }
  }
}

/* n <= SCAN_TOKENS tokens from `from` on; sums as in adjoint_row */
VMATH void adjoint_tokens(const spectral_adjoint_rows *s, bool fixed, size_t from, size_t n, float *sums) {
  const spectral_rows *rows = &s->rows;
  scan_controls controls;
  if (!fixed) controls_of(rows->controls + 2 * from, rows->kappa_r, rows->kappa_p, n, &controls);
  for (size_t i = n; i-- > 0;) {
    if (rows->mask && rows->mask[from + i] == 0)
      adjoint_reset(s, from + i);
    else
      adjoint_row(s, fixed, from + i, fixed ? 1 : controls.scale[i], fixed ? 0 : controls.phase[i], sums);
  }
}

/* Not inlined: a compiler that can prove the sums unaliased loads them one group ahead, and spills them. */
__attribute__((noinline)) static void adjoint_controlled(const spectral_adjoint_rows *s, size_t from, size_t n,
                                                         float *sums) {
  adjoint_tokens(s, false, from, n, sums);
}
__attribute__((noinline)) static void adjoint_fixed(const spectral_adjoint_rows *s, size_t from, size_t n,
                                                    float *sums) {
  adjoint_tokens(s, true, from, n, sums);
}

/* what modes get from SCAN_TOKENS tokens is summed in float, and these sums in double */
static void spectral_adjoint(const spectral_adjoint_rows *s) {
  for (size_t to = s->rows.tokens, from; to > 0; to = from) {
    float sums[2 * SCAN_MODES] __attribute__((aligned(sizeof(float[CACHE_LINE_FLOATS])))) = {0};
    from = (to - 1) / SCAN_TOKENS * SCAN_TOKENS;
    if (s->rows.controls)
      adjoint_controlled(s, from, to - from, sums);
    else
      adjoint_fixed(s, from, to - from, sums);
    flush_sums(s, sums);
  }
}

/* ---- real ---------------------------------------------------------------------------------------- */

/* one tile of two arrays of the next row: two streams are better prefetched late, into the first-level cache */
VMATH void prefetch_both(const float *one, const float *other) {
  for (size_t i = 0; i < SCAN_TILE; i += CACHE_LINE_FLOATS) {
    __builtin_prefetch(one + i);
    __builtin_prefetch(other + i);
  }
}

/* coordinates [from, to) of one token; in place h is x */
VMATH void real_piece(const float *a, const float *x, float *state, float *h, bool store, size_t from, size_t to) {
#pragma omp simd
  for (size_t i = from; i < to; i++) {
    state[i] = a[i] * state[i] + x[i];
    if (store) h[i] = state[i];
  }
}

VMATH void real_tokens(const real_scan_rows *s, bool store) {
  const real_rows *rows = &s->rows;
  const size_t n = rows->n;
  for (size_t t = 0; t < rows->tokens; t++) {
    const size_t at = t * rows->H + rows->first;
    const float *a = rows->a + at, *x = s->x + at;
    if (rows->mask && rows->mask[t] == 0) memset(rows->carried, 0, n * sizeof(float));
    for (size_t i = 0; i < n; i += SCAN_TILE) {
      if (t + 1 < rows->tokens) prefetch_both(a + rows->H + i, x + rows->H + i);
      real_piece(a, x, rows->carried, s->h + at, store, i, i + SCAN_TILE < n ? i + SCAN_TILE : n);
    }
    if (!store) copy_nontemporal(s->h + at, rows->carried, n);
  }
}

static void real_scan(const real_scan_rows *s) {
  if (s->nontemporal && can_be_nontemporal(s->h + s->rows.first, s->rows.H, s->rows.n)) {
    real_tokens(s, false);
    fence_nontemporal();
  } else {
    real_tokens(s, true);
  }
}

/* coordinates [from, to) of one token */
VMATH void real_adjoint_piece(const real_adjoint_rows *s, size_t t, bool reset, size_t from, size_t to) {
  const real_rows *rows = &s->rows;
  const size_t at = t * rows->H + rows->first;
  const float *a = rows->a + at, *dh = s->dh + at, *before = t > 0 ? s->h + at - rows->H : s->before;
  float *carried = rows->carried, *dx = s->dx + at, *da = s->da + at;
  if (reset) {
#pragma omp simd
    for (size_t i = from; i < to; i++) {
      dx[i] = dh[i] + carried[i];
      da[i] = carried[i] = 0;
    }
    return;
  }
  if (t > 1) {
    prefetch_both(a - rows->H + from, dh - rows->H + from);
    prefetch_both(s->h + at - 2 * rows->H + from, s->da + at - rows->H + from);
  }
#pragma omp simd
  for (size_t i = from; i < to; i++) {
    const float g = dh[i] + carried[i], kept = a[i];
    dx[i] = g;
    da[i] = g * before[i];
    carried[i] = kept * g;
  }
}

static void real_adjoint(const real_adjoint_rows *s) {
  const real_rows *rows = &s->rows;
  for (size_t t = rows->tokens; t-- > 0;) {
    const bool reset = rows->mask && rows->mask[t] == 0;
    for (size_t tile = scan_tiles(rows->n); tile-- > 0;)
      real_adjoint_piece(s, t, reset, tile * SCAN_TILE, tile * SCAN_TILE + tile_modes(rows->n, tile));
  }
}

#define SCAN_KERNELS \
  { spectral_scan, spectral_adjoint, real_scan, real_adjoint, LANES }

#endif
