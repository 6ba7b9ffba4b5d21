/* SPDX-License-Identifier: MIT */
/* dataset.c: data sets as views of shared values: access, subsets, copies on write, missing values.
 *
 * The fit and the validation part of a split are views of one block, so that a split costs a few bytes per example.
 * A view is copied when it is modified, unless it is the only one of its block.
 */
#include "data/dataset.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- access ---- */

static const example *find(const sparc_dataset *d, int i) {
  return d && i >= 0 && i < d->count ? &d->examples[i] : NULL;
}

void dataset_measure(sparc_dataset *d) {
  d->shortest = INT_MAX, d->longest = 0, d->missing = 0;
  for (int i = 0; i < d->count; i++) {
    const example *e = &d->examples[i];
    if (e->length < d->shortest) d->shortest = e->length;
    if (e->length > d->longest) d->longest = e->length;
    d->missing += e->missing;
  }
}

sparc_dataset_info sparc_dataset_info_of(const sparc_dataset *d) {
  if (!d) return (sparc_dataset_info){0};
  return (sparc_dataset_info){.name = d->name,
                              .count = d->count,
                              .channels = d->channels,
                              .shortest = d->shortest,
                              .longest = d->longest,
                              .missing = d->missing,
                              .classes = d->map->count,
                              .class_names = d->map->names,
                              .targets = d->targets ? d->target_width : 0,
                              .target_steps = d->targets && d->target_steps,
                              .columns = d->columns ? &d->columns->view : NULL};
}

static const char *text_at(const sparc_dataset *d, size_t i) { return d->texts->bytes + d->texts->at[i]; }

sparc_sample sparc_dataset_example(const sparc_dataset *d, int i) {
  const example *e = find(d, i);
  if (!e) return (sparc_sample){.label = -1};
  return (sparc_sample){.x = d->block->values + e->offset,
                        .length = e->length,
                        .label = e->class_index,
                        .target = d->targets ? d->targets->values + e->target : NULL,
                        .context = e->context,
                        .id = d->texts && d->texts->ids ? text_at(d, e->text) : NULL};
}

const char *sparc_dataset_time(const sparc_dataset *d, int i, int step) {
  const example *e = find(d, i);
  if (!e || !d->texts || !d->texts->times || step < 0 || step >= e->length) return NULL;
  return text_at(d, e->text + d->texts->ids + (size_t)step);
}

/* ---- creation and release ---- */

static void release_block(value_block *block) {
  if (!block || atomic_fetch_sub(&block->references, 1) != 1) return;
  sparc_free(block->values);
  sparc_free(block);
}

void text_block_release(text_block *texts) {
  if (!texts || atomic_fetch_sub(&texts->references, 1) != 1) return;
  free(texts->bytes);
  free(texts->at);
  sparc_free(texts);
}

void sparc_dataset_free(sparc_dataset *d) {
  if (!d) return;
  column_names_release(d->columns);
  text_block_release(d->texts);
  release_block(d->block);
  release_block(d->targets);
  class_map_release(d->map);
  sparc_free(d->examples);
  sparc_free(d->name);
  sparc_free(d);
}

bool dataset_rename(sparc_dataset *d, const char *name) {
  char *copy = sparc_alloc(strlen(name) + 1);
  if (!copy) return false;
  memcpy(copy, name, strlen(name) + 1);
  sparc_free(d->name);
  d->name = copy;
  return true;
}

static sparc_status check_indices(const sparc_dataset *d, const int *indices, int count) {
  if (!indices) return fail(SPARC_INVALID, "indices is NULL, expected the numbers of examples");
  if (count < 1) return fail(SPARC_INVALID, "count is %d, expected at least 1", count);
  for (int i = 0; i < count; i++)
    if (!find(d, indices[i]))
      return fail(SPARC_INVALID, "indices[%d] is %d, expected 0 to %d", i, indices[i], d->count - 1);
  return SPARC_OK;
}

sparc_status sparc_dataset_subset(const sparc_dataset *d, const int *indices, int count, const char *name,
                                  sparc_dataset **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected a place for the data set");
  *out = NULL;
  if (!d) return fail(SPARC_INVALID, "dataset is NULL, expected a data set");
  sparc_status status = check_indices(d, indices, count);
  if (status != SPARC_OK) return status;

  sparc_dataset *view = sparc_alloc(sizeof *view);
  example *examples = sparc_alloc((size_t)count * sizeof *examples);
  if (!view || !examples || !dataset_rename(view, name ? name : d->name)) {
    sparc_free(view);
    sparc_free(examples);
    return fail(SPARC_NO_MEMORY, "no memory for a subset of %d examples", count);
  }
  for (int i = 0; i < count; i++) examples[i] = d->examples[indices[i]];
  atomic_fetch_add(&d->block->references, 1);
  view->block = d->block;
  view->map = class_map_share(d->map);
  view->examples = examples;
  view->count = count;
  view->channels = d->channels;
  if (d->targets) atomic_fetch_add(&d->targets->references, 1);
  view->targets = d->targets;
  view->target_width = d->target_width;
  view->target_steps = d->target_steps;
  view->columns = column_names_share(d->columns);
  if (d->texts) atomic_fetch_add(&d->texts->references, 1);
  view->texts = d->texts;
  dataset_measure(view);
  *out = view;
  return SPARC_OK;
}

/* ---- copy on write ---- */

static size_t values_of(const sparc_dataset *d, int i) { return (size_t)d->examples[i].length * (size_t)d->channels; }

static int compare_offsets(const void *a, const void *b) {
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return x < y ? -1 : x > y;
}

/* a repeated example would be changed twice in place */
static bool repeats(const sparc_dataset *d, size_t *offsets) {
  for (int i = 0; i < d->count; i++) offsets[i] = d->examples[i].offset;
  qsort(offsets, (size_t)d->count, sizeof *offsets, compare_offsets);
  for (int i = 1; i < d->count; i++)
    if (offsets[i] == offsets[i - 1]) return true;
  return false;
}

static sparc_status no_memory(const sparc_dataset *d) {
  return fail(SPARC_NO_MEMORY, "no memory for a copy of the %d examples of '%s'", d->count, quote(d->name).text);
}

static sparc_status copy_values(sparc_dataset *d) {
  size_t total = 0;
  for (int i = 0; i < d->count; i++) total += values_of(d, i);
  value_block *block = sparc_alloc(sizeof *block);
  float *values = sparc_alloc(total * sizeof *values);
  if (!block || !values) {
    sparc_free(block);
    sparc_free(values);
    return no_memory(d);
  }
  *block = (value_block){1, values};
  for (int i = 0; i < d->count; i++) {
    memcpy(values, dataset_values(d, i), values_of(d, i) * sizeof *values);
    d->examples[i].offset = (size_t)(values - block->values);
    values += values_of(d, i);
  }
  release_block(d->block);
  d->block = block;
  return SPARC_OK;
}

sparc_status dataset_own(sparc_dataset *d) {
  if (atomic_load(&d->block->references) > 1) return copy_values(d);
  size_t *offsets = sparc_alloc((size_t)d->count * sizeof *offsets);
  if (!offsets) return no_memory(d);
  const bool copy = repeats(d, offsets);
  sparc_free(offsets);
  return copy ? copy_values(d) : SPARC_OK;
}

/* ---- missing values ---- */

/* one channel: values lie `stride` apart. Runs of NaN between `before` and `t` are filled when t is reached. */
static void fill_channel(float *x, int length, int stride) {
  int before = -1;
  for (int t = 0; t < length; t++) {
    const float value = x[(size_t)t * (size_t)stride];
    if (isnan(value)) continue;
    const double from = before < 0 ? value : x[(size_t)before * (size_t)stride];
    for (int k = before + 1; k < t; k++)
      x[(size_t)k * (size_t)stride] = (float)(from + (value - from) * (k - before) / (t - before));
    before = t;
  }
  for (int k = before + 1; k < length; k++) x[(size_t)k * (size_t)stride] = x[(size_t)before * (size_t)stride];
}

static bool is_empty(const float *x, int length, int stride) {
  for (int t = 0; t < length; t++)
    if (!isnan(x[(size_t)t * (size_t)stride])) return false;
  return true;
}

static sparc_status check_fillable(const sparc_dataset *d) {
  for (int i = 0; i < d->count; i++) {
    const example *e = &d->examples[i];
    for (int c = 0; c < d->channels && e->missing; c++)
      if (is_empty(d->block->values + e->offset + c, e->length, d->channels))
        return fail(SPARC_INVALID, "example %d of '%s': all %d values of channel %d are missing, expected at least one",
                    i, quote(d->name).text, e->length, c + 1);
  }
  return SPARC_OK;
}

sparc_status sparc_dataset_fill_missing(sparc_dataset *d) {
  if (!d) return fail(SPARC_INVALID, "dataset is NULL, expected a data set");
  if (d->missing == 0) return SPARC_OK;
  sparc_status status = check_fillable(d);
  if (status == SPARC_OK) status = dataset_own(d);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < d->count; i++) {
    if (!d->examples[i].missing) continue;
    for (int c = 0; c < d->channels; c++) fill_channel(dataset_values(d, i) + c, d->examples[i].length, d->channels);
    d->examples[i].missing = 0;
  }
  dataset_measure(d);
  return SPARC_OK;
}
