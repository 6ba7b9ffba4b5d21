/* SPDX-License-Identifier: MIT */
/* nearest.c: 1-nearest-neighbour classification, by Euclidean distance or dynamic time warping (DTW).
 *
 * DTW pairs the steps of two series monotonically, at most a window apart, so that the sum of squared differences over
 * the pairs is least. With D(i, j) the least sum up to the pair (i, j),
 *
 *   D(i, j) = |x_i - z_j|^2 + min(D(i-1, j), D(i, j-1), D(i-1, j-1)).
 *
 * The entries of a diagonal i + j = k depend on the two diagonals before it and not on each other, so a diagonal is a
 * loop that compilers vectorise. Every pairing has an entry in one of any two consecutive diagonals: when all of theirs
 * exceed the nearest distance so far, the search ends.
 */
#include "data/nearest.h"

#include "base/threads.h"
#include "data/dataset.h"

#include <math.h>

enum { BATCH = 32 };       /* test examples between two progress reports */
enum { CHECK_EVERY = 16 }; /* diagonals between two comparisons with the nearest distance so far */

typedef struct search {
  const sparc_dataset *train, *test;
  const nearest_config *config;
  size_t channels, longest;
  int first;     /* test example of tile 0 */
  double *work;  /* of warping: (tiles, warping_work) */
  bool *correct; /* (test examples) */
} search;

static double squared_distance(const float *a, const float *b, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double difference = (double)a[i] - (double)b[i];
    sum += difference * difference;
  }
  return sum;
}

/* ---- dynamic time warping ------------------------------------------------------------------------- */

/* Two series and their diagonals. Entry i of a diagonal is D(i, k - i), 0 <= i <= n. */
typedef struct warping {
  size_t n, m, window;
  double *x;            /* [C][n] */
  double *z;            /* [C][m], last step first */
  double *cost;         /* [n] */
  double *k0, *k1, *k2; /* [n + 2]: diagonals k, k - 1 and k - 2; the last entry is a margin */
} warping;

static size_t warping_work(const search *s) { return 2 * s->channels * s->longest + 4 * (s->longest + 2); }

static warping warping_in(const search *s, double *work, size_t n) {
  const size_t series = s->channels * s->longest, diagonal = s->longest + 2;
  double *rest = work + 2 * series;
  return (warping){.n = n,
                   .x = work,
                   .z = work + series,
                   .k0 = rest,
                   .k1 = rest + diagonal,
                   .k2 = rest + 2 * diagonal,
                   .cost = rest + 3 * diagonal};
}

/* steps [T][C] -> [C][T], reversed in time if asked */
static void by_channel(const float *steps, size_t T, size_t C, bool reversed, double *out) {
  for (size_t c = 0; c < C; c++)
    for (size_t t = 0; t < T; t++) out[c * T + t] = (double)steps[(reversed ? T - 1 - t : t) * C + c];
}

static double smaller(double a, double b) { return a < b ? a : b; }

static void add_cost(size_t count, const double *restrict x, const double *restrict z, double *restrict cost) {
  for (size_t i = 0; i < count; i++) {
    const double difference = x[i] - z[i];
    cost[i] += difference * difference;
  }
}

/* before: entries i - 1 of diagonal k - 2; last: entries i - 1 of diagonal k - 1, and one more */
static void add_least(size_t count, const double *restrict cost, const double *restrict before,
                      const double *restrict last, double *restrict out) {
  for (size_t i = 0; i < count; i++) out[i] = cost[i] + smaller(before[i], smaller(last[i], last[i + 1]));
}

/* the first and the last entry of diagonal k that are inside the window; none if from > to */
typedef struct range {
  size_t from, to;
} range;

static range diagonal_range(const warping *w, size_t k) {
  const size_t n = w->n, m = w->m, window = w->window;
  size_t from = k > m ? k - m : 1, to = k - 1 < n ? k - 1 : n;
  if (k > window && from < (k - window + 1) / 2) from = (k - window + 1) / 2;
  if (to > (k + window) / 2) to = (k + window) / 2;
  return (range){from, to};
}

/* Compute diagonal k and surround it with infinity: the next two read one entry beyond each end. */
static void compute_diagonal(const warping *w, size_t C, size_t k) {
  const size_t n = w->n, m = w->m;
  const size_t from = diagonal_range(w, k).from, to = diagonal_range(w, k).to;
  w->k0[from - 1] = INFINITY;
  w->k0[to + 1] = INFINITY;
  if (from > to) return;
  const size_t count = to - from + 1;
  for (size_t i = 0; i < count; i++) w->cost[i] = 0;
  for (size_t c = 0; c < C; c++) add_cost(count, w->x + c * n + from - 1, w->z + c * m + (m + from - k), w->cost);
  add_least(count, w->cost, w->k2 + from - 1, w->k1 + from - 1, w->k0 + from);
}

/* whether a pairing through the diagonals k and k - 1 can be nearer than `enough` */
static bool can_be_nearer(const warping *w, size_t k, double enough) {
  const size_t from = diagonal_range(w, k).from, to = diagonal_range(w, k).to;
  double least = INFINITY;
  for (size_t i = from - 1; i <= to; i++) least = smaller(least, smaller(w->k0[i], w->k1[i]));
  return least < enough;
}

/* the distance of x, which w holds, from z [m][C]; INFINITY if it is known not to be less than `enough` */
static double warped_distance(const search *s, warping w, const float *z, size_t m, double enough) {
  const size_t longer = w.n > m ? w.n : m, least = w.n > m ? w.n - m : m - w.n;
  w.m = m;
  w.window = (size_t)ceil(s->config->window * (double)longer);
  if (w.window < least) w.window = least;
  by_channel(z, m, s->channels, true, w.z);
  for (size_t i = 0; i <= w.n + 1; i++) w.k0[i] = w.k1[i] = w.k2[i] = INFINITY;
  w.k2[0] = 0; /* D(0, 0), of diagonal 0 */
  for (size_t k = 2;; k++) {
    compute_diagonal(&w, s->channels, k);
    if (k == w.n + m) return w.k0[w.n];
    if (k % CHECK_EVERY == 0 && !can_be_nearer(&w, k, enough)) return INFINITY;
    double *const oldest = w.k2;
    w.k2 = w.k1;
    w.k1 = w.k0;
    w.k0 = oldest;
  }
}

/* ---- classification ------------------------------------------------------------------------------- */

static void classify(void *context, size_t tile) {
  const search *s = context;
  const int i = s->first + (int)tile;
  const float *x = dataset_x(s->test, i);
  const size_t length = (size_t)s->test->examples[i].length;
  const bool warps = s->config->warping;
  const warping w = warps ? warping_in(s, s->work + tile * warping_work(s), length) : (warping){.n = length};
  if (warps) by_channel(x, length, s->channels, false, w.x);
  double least = INFINITY;
  int nearest = -1;
  for (int k = 0; k < s->train->count; k++) {
    const float *z = dataset_x(s->train, k);
    const double distance = warps ? warped_distance(s, w, z, (size_t)s->train->examples[k].length, least)
                                  : squared_distance(x, z, length * s->channels);
    if (distance >= least) continue;
    least = distance;
    nearest = k;
  }
  s->correct[i] = nearest >= 0 && s->train->examples[nearest].class_index == s->test->examples[i].class_index;
}

bool nearest_equal_lengths(const sparc_dataset *train, const sparc_dataset *test) {
  const int length = train->longest;
  return train->shortest == length && test->shortest == length && test->longest == length;
}

static size_t longest_of(const sparc_dataset *a, const sparc_dataset *b) {
  const int x = a->longest, y = b->longest;
  return (size_t)(x > y ? x : y);
}

/* BATCH test examples at a time, with a progress report after each batch */
static int classify_all(search *s) {
  const int count = s->test->count;
  int correct = 0;
  for (s->first = 0; s->first < count; s->first += BATCH) {
    const int tiles = count - s->first < BATCH ? count - s->first : BATCH;
    parallel_for(s->config->threads, (size_t)tiles, classify, s);
    if (s->config->on_progress) s->config->on_progress(s->config->user, s->first + tiles);
  }
  for (int i = 0; i < count; i++) correct += s->correct[i];
  return correct;
}

sparc_status nearest_neighbour(const sparc_dataset *train, const sparc_dataset *test, const nearest_config *config,
                               int *correct) {
  if (!config->warping && !nearest_equal_lengths(train, test))
    return fail(SPARC_UNSUPPORTED, "%s has series of %d to %d steps; the Euclidean distance needs equal lengths",
                test->name, test->shortest, test->longest);
  search s = {.train = train,
              .test = test,
              .config = config,
              .channels = (size_t)train->channels,
              .longest = longest_of(train, test),
              .correct = sparc_alloc((size_t)test->count * sizeof *s.correct)};
  s.work = sparc_alloc(config->warping ? BATCH * warping_work(&s) * sizeof *s.work : 1);
  const bool enough = s.correct && s.work;
  if (enough) *correct = classify_all(&s);
  sparc_free(s.correct);
  sparc_free(s.work);
  return enough ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %d predictions", test->count);
}
