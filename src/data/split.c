/* SPDX-License-Identifier: MIT */
/* split.c: the fixed random splits and permutations of data [app:classification_data].
 *
 * The paper validates on a part of the training partition and gives sizes: 361 of 3601, 100 of 1000, 90 of 896, 5999 of
 * 60000, 5000 of 50000. These are the sums over the classes of n/10, rounded with ties to even; no rule without classes
 * gives 5999 of 60000. So the split is stratified, by this rule for every data set, and for other parts than a tenth.
 * By that rule a small class may have no validation example; with every_class it has one. The selection depends on a
 * fixed seed, never on that of a training run.
 */
#include "data/split.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

enum { DATA_SEED = 1 };

/* a part of n to the nearest whole number, ties to even, never all of them; n * part is rounded to 9 digits first, so
 * that decimal ties are ties */
static int share_of(int n, double part) {
  const double digits = 1e9, exact = round((double)n * part * digits) / digits;
  const int share = (int)nearbyint(exact);
  return share < n ? share : n > 0 ? n - 1 : 0;
}

/* how many of each class validate; entry 0 is for unlabelled examples, entry c + 1 for class c. Returns the sum. */
static int set_quotas(const sparc_dataset *d, double part, bool every_class, int *quotas) {
  int total = 0, largest = 0;
  for (int i = 0; i < d->count; i++) quotas[d->examples[i].class_index + 1]++;
  for (int c = 1; c <= d->map->count; c++)
    if (quotas[c] > quotas[largest]) largest = c;
  for (int c = 0; c <= d->map->count; c++) {
    const int share = share_of(quotas[c], part);
    total += quotas[c] = every_class && quotas[c] > 1 && share < 1 ? 1 : share;
  }
  /* at least one in total */
  if (total == 0 && d->count > 1) total = quotas[largest] = 1;
  return total;
}

/* takes examples in random order until the quota of their class is used */
static void choose(const sparc_dataset *d, int *order, int *quotas, bool *chosen) {
  sparc_random stream;
  sparc_random_init(&stream, DATA_SEED, "data", "validation split");
  random_permutation(&stream, order, d->count);
  for (int i = 0; i < d->count; i++) {
    int *quota = &quotas[d->examples[order[i]].class_index + 1];
    if (*quota > 0) --*quota, chosen[order[i]] = true;
  }
}

static sparc_status take(const sparc_dataset *d, const bool *chosen, bool value, int *indices, sparc_dataset **out) {
  int count = 0;
  for (int i = 0; i < d->count; i++)
    if (chosen[i] == value) indices[count++] = i;
  return count ? sparc_dataset_subset(d, indices, count, NULL, out) : SPARC_OK;
}

/* assigns the examples of each class, in random order, to the folds in turn, continuing from class to class so that fold
 * sizes differ by at most one */
static void assign_folds(const sparc_dataset *d, int folds, int fold, int *order, bool *chosen) {
  sparc_random stream;
  sparc_random_init(&stream, DATA_SEED, "data", "folds");
  random_permutation(&stream, order, d->count);
  int next = 0;
  for (int c = -1; c < d->map->count; c++)
    for (int i = 0; i < d->count; i++) {
      if (d->examples[order[i]].class_index != c) continue;
      chosen[order[i]] = next == fold - 1;
      next = (next + 1) % folds;
    }
}

/* how examples are chosen: by quotas, or by folds */
typedef struct choice {
  double part;
  bool every_class;
  int folds, fold; /* 0: by quotas */
} choice;

static sparc_status divide(const sparc_dataset *d, const choice *how, sparc_dataset **fit, sparc_dataset **validation) {
  int *indices = sparc_alloc((size_t)d->count * sizeof *indices);
  int *quotas = sparc_alloc(((size_t)d->map->count + 1) * sizeof *quotas);
  bool *chosen = sparc_alloc((size_t)d->count * sizeof *chosen);
  *fit = *validation = NULL;
  sparc_status status = SPARC_OK;
  if (!indices || !quotas || !chosen) {
    status = fail(SPARC_NO_MEMORY, "no memory to split %d examples", d->count);
  } else {
    if (how->folds)
      assign_folds(d, how->folds, how->fold, indices, chosen);
    else if (set_quotas(d, how->part, how->every_class, quotas))
      choose(d, indices, quotas, chosen);
    status = take(d, chosen, false, indices, fit);
    if (status == SPARC_OK) status = take(d, chosen, true, indices, validation);
  }
  if (status != SPARC_OK) {
    sparc_dataset_free(*fit);
    *fit = NULL;
  }
  sparc_free(indices);
  sparc_free(quotas);
  sparc_free(chosen);
  return status;
}

sparc_status split_part(const sparc_dataset *d, double part, bool every_class, sparc_dataset **fit,
                        sparc_dataset **validation) {
  return divide(d, &(choice){.part = part, .every_class = every_class}, fit, validation);
}

sparc_status split_fold(const sparc_dataset *d, int folds, int fold, sparc_dataset **fit, sparc_dataset **validation) {
  return divide(d, &(choice){.folds = folds, .fold = fold}, fit, validation);
}

/* step t becomes the former step order[t] */
static void permute_series(float *x, float *old, const int *order, int length, int channels) {
  const size_t step = (size_t)channels;
  memcpy(old, x, (size_t)length * step * sizeof *x);
  for (int t = 0; t < length; t++) memcpy(x + (size_t)t * step, old + (size_t)order[t] * step, step * sizeof *x);
}

sparc_status permute_steps(sparc_dataset *d) {
  const int length = d->longest;
  if (d->shortest != length)
    return fail(SPARC_INVALID, "examples of %d to %d steps cannot be permuted alike, expected one length", d->shortest,
                length);
  sparc_status status = dataset_own(d);
  if (status != SPARC_OK) return status;
  int *order = sparc_alloc((size_t)length * sizeof *order);
  float *old = sparc_alloc((size_t)length * (size_t)d->channels * sizeof *old);
  if (order && old) {
    sparc_random stream;
    sparc_random_init(&stream, DATA_SEED, "data", "pmnist permutation");
    random_permutation(&stream, order, length);
    for (int i = 0; i < d->count; i++) permute_series(dataset_values(d, i), old, order, length, d->channels);
  } else {
    status = fail(SPARC_NO_MEMORY, "no memory for the order of %d steps", length);
  }
  sparc_free(order);
  sparc_free(old);
  return status;
}
