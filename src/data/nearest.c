/* SPDX-License-Identifier: MIT */
/* nearest.c: one nearest neighbour, by Euclidean distance or by dynamic time warping.
 *
 * Warping pairs the steps of two series so that the sum of squared differences over the pairs is least; pairs go on in
 * both series, and are at most a window apart. With D(i, j) the least sum up to the pair (i, j),
 *
 *   D(i, j) = |x_i - z_j|^2 + min(D(i-1, j), D(i, j-1), D(i-1, j-1)),
 *
 * of which two rows are kept. A row whose least entry is already beyond the nearest neighbour so far ends the search.
 */
#include "data/nearest.h"

#include "base/error.h"
#include "base/threads.h"

#include <math.h>

enum { AT_ONCE = 32 }; /* test examples between two reports */

typedef struct search {
  const sparc_dataset *train, *test;
  const nearest_config *config;
  size_t channels, longest;
  int first;    /* test example of tile 0 */
  double *rows; /* of warping: (tiles, 2, longest + 1) */
  bool *right;  /* one for each test example */
} search;

static double squared_distance(const float *a, const float *b, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double difference = (double)a[i] - (double)b[i];
    sum += difference * difference;
  }
  return sum;
}

/* x (n, C) and z (m, C); what is not less than `enough` need not be exact */
static double warped_distance(const search *s, const float *x, size_t n, const float *z, size_t m, double enough,
                              double *rows) {
  const size_t longer = n > m ? n : m, least = n > m ? n - m : m - n, C = s->channels;
  size_t window = (size_t)ceil(s->config->window * (double)longer);
  if (window < least) window = least;
  double *last = rows, *row = rows + s->longest + 1;
  for (size_t j = 0; j <= m; j++) last[j] = j == 0 ? 0 : INFINITY;
  for (size_t i = 1; i <= n; i++) {
    const size_t from = i > window ? i - window : 1, to = i + window < m ? i + window : m;
    double nearest = INFINITY;
    for (size_t j = 0; j <= m; j++)
      if (j < from || j > to) row[j] = INFINITY;
    for (size_t j = from; j <= to; j++) {
      const double before = fmin(last[j - 1], fmin(last[j], row[j - 1]));
      row[j] = before + squared_distance(x + (i - 1) * C, z + (j - 1) * C, C);
      nearest = fmin(nearest, row[j]);
    }
    if (nearest >= enough) return nearest;
    double *swap = last;
    last = row;
    row = swap;
  }
  return last[m];
}

static void classify(void *context, size_t tile) {
  const search *s = context;
  const int i = s->first + (int)tile;
  const float *x = sparc_dataset_series(s->test, i);
  const size_t length = (size_t)sparc_dataset_length(s->test, i);
  double least = INFINITY;
  int nearest = -1;
  for (int k = 0; k < sparc_dataset_count(s->train); k++) {
    const float *z = sparc_dataset_series(s->train, k);
    const double distance = s->config->warping
                                ? warped_distance(s, x, length, z, (size_t)sparc_dataset_length(s->train, k), least,
                                                  s->rows + tile * 2 * (s->longest + 1))
                                : squared_distance(x, z, length * s->channels);
    if (distance >= least) continue;
    least = distance;
    nearest = k;
  }
  s->right[i] = nearest >= 0 && sparc_dataset_class(s->train, nearest) == sparc_dataset_class(s->test, i);
}

bool nearest_can_do_without_warping(const sparc_dataset *train, const sparc_dataset *test) {
  const int length = sparc_dataset_longest(train);
  return sparc_dataset_shortest(train) == length && sparc_dataset_shortest(test) == length &&
         sparc_dataset_longest(test) == length;
}

static size_t longest_of(const sparc_dataset *a, const sparc_dataset *b) {
  const int x = sparc_dataset_longest(a), y = sparc_dataset_longest(b);
  return (size_t)(x > y ? x : y);
}

/* some test examples at a time, so that there is something to tell in between */
static int classify_all(search *s) {
  const int count = sparc_dataset_count(s->test);
  int right = 0;
  for (s->first = 0; s->first < count; s->first += AT_ONCE) {
    const int tiles = count - s->first < AT_ONCE ? count - s->first : AT_ONCE;
    parallel_for(s->config->threads, (size_t)tiles, classify, s);
    if (s->config->tell) s->config->tell(s->config->user, s->first + tiles);
  }
  for (int i = 0; i < count; i++) right += s->right[i];
  return right;
}

sparc_status nearest_neighbour(const sparc_dataset *train, const sparc_dataset *test, const nearest_config *config,
                               int *right) {
  if (!config->warping && !nearest_can_do_without_warping(train, test))
    return fail(SPARC_UNSUPPORTED, "%s has series of %d to %d steps; the Euclidean distance needs equal lengths",
                sparc_dataset_name(test), sparc_dataset_shortest(test), sparc_dataset_longest(test));
  const int count = sparc_dataset_count(test);
  search s = {.train = train,
              .test = test,
              .config = config,
              .channels = (size_t)sparc_dataset_channels(train),
              .longest = longest_of(train, test),
              .right = sparc_alloc((size_t)count * sizeof *s.right)};
  s.rows = sparc_alloc(config->warping ? 2 * (s.longest + 1) * AT_ONCE * sizeof *s.rows : 1);
  const bool enough = s.right && s.rows;
  if (enough) *right = classify_all(&s);
  sparc_free(s.right);
  sparc_free(s.rows);
  return enough ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %d answers", count);
}
