/* SPDX-License-Identifier: MIT */
/* nearest.c: 1-nearest-neighbour classification, by Euclidean distance or dynamic time warping (DTW).
 *
 * DTW pairs the steps of two series monotonically, at most a window apart, so that the sum of squared differences over
 * the pairs is least. With D(i, j) the least sum up to the pair (i, j),
 *
 *   D(i, j) = |x_i - z_j|^2 + min(D(i-1, j), D(i, j-1), D(i-1, j-1)),
 *
 * of which two rows are kept. A row whose least entry exceeds the nearest distance so far ends the search.
 */
#include "data/nearest.h"

#include "base/threads.h"
#include "data/dataset.h"

#include <math.h>

enum { BATCH = 32 }; /* test examples between two progress reports */

typedef struct search {
  const sparc_dataset *train, *test;
  const nearest_config *config;
  size_t channels, longest;
  int first;     /* test example of tile 0 */
  double *rows;  /* of warping: (tiles, 2, longest + 1) */
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
  const float *x = dataset_x(s->test, i);
  const size_t length = (size_t)s->test->examples[i].length;
  double least = INFINITY;
  int nearest = -1;
  for (int k = 0; k < s->train->count; k++) {
    const float *z = dataset_x(s->train, k);
    const double distance = s->config->warping ? warped_distance(s, x, length, z, (size_t)s->train->examples[k].length,
                                                                 least, s->rows + tile * 2 * (s->longest + 1))
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
  s.rows = sparc_alloc(config->warping ? 2 * (s.longest + 1) * BATCH * sizeof *s.rows : 1);
  const bool enough = s.correct && s.rows;
  if (enough) *correct = classify_all(&s);
  sparc_free(s.correct);
  sparc_free(s.rows);
  return enough ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %d predictions", test->count);
}
