/* SPDX-License-Identifier: MIT */
/* arrays.c: data sets from arrays in memory. */
#include "data/dataset.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CLASSES = 1 << 20 };

/* ---- arguments ---- */

static sparc_status check_members(const sparc_arrays *a) {
  if (a->count < 1) return fail(SPARC_INVALID, "count is %d, expected at least 1", a->count);
  if (a->channels < 1) return fail(SPARC_INVALID, "channels is %d, expected at least 1", a->channels);
  if (!a->x || !a->lengths) return fail(SPARC_INVALID, "%s is NULL, expected an array", a->x ? "lengths" : "x");
  if (a->labels && a->label_names)
    return fail(SPARC_INVALID, "labels and label_names are both given, expected one of them");
  if (a->classes < 0 || a->classes > MAX_CLASSES)
    return fail(SPARC_INVALID, "classes is %d, expected 0 to %d", a->classes, MAX_CLASSES);
  if (a->labels && !a->classes) return fail(SPARC_INVALID, "classes is 0, expected the number of classes of labels");
  if (a->class_names && !a->classes) return fail(SPARC_INVALID, "classes is 0, expected the length of class_names");
  if (a->target && a->targets < 1) return fail(SPARC_INVALID, "targets is %d, expected at least 1", a->targets);
  return SPARC_OK;
}

/* checks the arrays of each example and sums their values */
static sparc_status check_examples(const sparc_arrays *a, size_t *total) {
  const size_t most = SIZE_MAX / sizeof(float), width = (size_t)(a->targets > a->channels ? a->targets : a->channels);
  *total = 0;
  for (int i = 0; i < a->count; i++) {
    if (a->lengths[i] < 1) return fail(SPARC_INVALID, "lengths[%d] is %d, expected at least 1", i, a->lengths[i]);
    if (!a->x[i]) return fail(SPARC_INVALID, "x[%d] is NULL, expected %d steps", i, a->lengths[i]);
    if (a->target && !a->target[i]) return fail(SPARC_INVALID, "target[%d] is NULL, expected a target", i);
    if (a->labels && (a->labels[i] < -1 || a->labels[i] >= a->classes))
      return fail(SPARC_INVALID, "labels[%d] is %d, expected -1 to %d", i, a->labels[i], a->classes - 1);
    if ((size_t)a->lengths[i] > most / width || (size_t)a->lengths[i] * width > most - *total)
      return fail(SPARC_NO_MEMORY, "no memory for %d examples, the size overflows", a->count);
    *total += (size_t)a->lengths[i] * (size_t)a->channels;
  }
  return SPARC_OK;
}

/* ---- classes ---- */

/* classes "0", "1", ... */
static sparc_status number_classes(builder *b, int count) {
  enum { DIGITS = 12 };
  const char **names = sparc_alloc((size_t)count * sizeof *names);
  char(*texts)[DIGITS] = sparc_alloc((size_t)count * sizeof *texts);
  sparc_status status;
  if (names && texts) {
    for (int c = 0; c < count; c++) {
      snprintf(texts[c], DIGITS, "%d", c);
      names[c] = texts[c];
    }
    status = builder_classes(b, "class_names", names, count);
  } else
    status = fail(SPARC_NO_MEMORY, "no memory for %d classes", count);
  sparc_free(names);
  sparc_free(texts);
  return status;
}

/* ---- examples ---- */

static sparc_status append_values(builder *b, const sparc_arrays *a, int i) {
  const size_t length = (size_t)a->lengths[i], count = length * (size_t)a->channels;
  for (size_t k = 0; k < count; k++)
    if (isinf(a->x[i][k]))
      return fail(SPARC_INVALID, "value %zu of x[%d] is %g, expected a finite number or NaN", k, i, a->x[i][k]);
  float *values;
  const sparc_status status = builder_begin(b, length, &values);
  if (status != SPARC_OK) return status;
  memcpy(values, a->x[i], count * sizeof *values);
  if (builder_end(b, length) == count)
    return fail(SPARC_INVALID, "all %zu values of x[%d] are missing, expected at least one number", count, i);
  return SPARC_OK;
}

static sparc_status append_target(builder *b, const sparc_arrays *a, int i) {
  const size_t count = (size_t)a->targets * (a->target_steps ? (size_t)a->lengths[i] : 1);
  for (size_t k = 0; k < count; k++)
    if (!isfinite(a->target[i][k]))
      return fail(SPARC_INVALID, "value %zu of target[%d] is %g, expected a finite number", k, i, a->target[i][k]);
  return builder_target(b, "target", a->target[i], (size_t)a->targets, a->target_steps != 0);
}

static sparc_status append_label(builder *b, const sparc_arrays *a, int i) {
  if (a->labels) b->examples[b->count - 1].class_index = a->labels[i];
  if (!a->label_names || !a->label_names[i]) return SPARC_OK;
  char where[32];
  snprintf(where, sizeof where, "label_names[%d]", i);
  const sparc_status status = builder_label(b, where, (span){a->label_names[i], strlen(a->label_names[i])});
  return status == SPARC_FORMAT ? SPARC_INVALID : status;
}

static sparc_status append_all(builder *b, const sparc_arrays *a) {
  size_t total;
  sparc_status status = check_examples(a, &total);
  b->channels = a->channels;
  b->max_rows = SIZE_MAX;
  if (status == SPARC_OK && a->class_names) status = builder_classes(b, "class_names", a->class_names, a->classes);
  if (status == SPARC_OK && !a->class_names && a->labels) status = number_classes(b, a->classes);
  if (status == SPARC_OK) status = builder_expect(b, (size_t)a->count, total);
  for (int i = 0; i < a->count && status == SPARC_OK; i++) {
    status = append_values(b, a, i);
    if (status == SPARC_OK) status = append_label(b, a, i);
    if (status == SPARC_OK && a->target) status = append_target(b, a, i);
  }
  return status;
}

sparc_status sparc_dataset_from_arrays(const sparc_arrays *arrays, const char *name, sparc_dataset **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected a place for the data set");
  *out = NULL;
  if (!arrays) return fail(SPARC_INVALID, "arrays is NULL, expected a sparc_arrays");
  sparc_status status = check_members(arrays);
  if (status != SPARC_OK) return status;
  builder b;
  status = builder_open(&b);
  if (status == SPARC_OK) status = append_all(&b, arrays);
  if (status == SPARC_OK) status = builder_finish(&b, name ? name : "data", out);
  builder_close(&b);
  return status;
}
