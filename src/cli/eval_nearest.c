/* SPDX-License-Identifier: MIT */
/* eval_nearest.c: one nearest neighbour by Euclidean distance. */
#include "cli/eval_nearest.h"

#include "base/error.h"
#include "base/threads.h"

#include <math.h>
#include <stdbool.h>

typedef struct search {
  const sparc_dataset *train, *test;
  size_t values; /* of one example */
  bool *right;   /* one for each test example */
} search;

static double squared_distance(const float *a, const float *b, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double difference = (double)a[i] - (double)b[i];
    sum += difference * difference;
  }
  return sum;
}

static void classify(void *context, size_t tile) {
  const search *s = context;
  const int i = (int)tile;
  const float *x = sparc_dataset_series(s->test, i);
  double least = INFINITY;
  int nearest = -1;
  for (int k = 0; k < sparc_dataset_count(s->train); k++) {
    const double distance = squared_distance(x, sparc_dataset_series(s->train, k), s->values);
    if (distance >= least) continue;
    least = distance;
    nearest = k;
  }
  s->right[i] = nearest >= 0 && sparc_dataset_class(s->train, nearest) == sparc_dataset_class(s->test, i);
}

static sparc_status check_lengths(const sparc_dataset *train, const sparc_dataset *test) {
  const sparc_dataset *const sets[] = {train, test};
  const int length = sparc_dataset_longest(train);
  for (int i = 0; i < 2; i++)
    if (sparc_dataset_shortest(sets[i]) != length || sparc_dataset_longest(sets[i]) != length)
      return fail(SPARC_UNSUPPORTED, "%s has series of %d to %d steps; the Euclidean distance needs equal lengths",
                  sparc_dataset_name(sets[i]), sparc_dataset_shortest(sets[i]), sparc_dataset_longest(sets[i]));
  return SPARC_OK;
}

sparc_status nearest_neighbour(const sparc_dataset *train, const sparc_dataset *test, int threads, int *right) {
  const sparc_status status = check_lengths(train, test);
  if (status != SPARC_OK) return status;
  const int count = sparc_dataset_count(test);
  search s = {.train = train,
              .test = test,
              .values = (size_t)sparc_dataset_longest(train) * (size_t)sparc_dataset_channels(train),
              .right = sparc_alloc((size_t)count * sizeof *s.right)};
  if (!s.right) return fail(SPARC_NO_MEMORY, "no memory for %d answers", count);
  parallel_for(threads, (size_t)count, classify, &s);
  *right = 0;
  for (int i = 0; i < count; i++) *right += s.right[i];
  sparc_free(s.right);
  return SPARC_OK;
}
