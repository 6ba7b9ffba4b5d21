/* SPDX-License-Identifier: MIT */
/* preprocessing.c: normalisation and labels from the metadata of a file. Callers have set the locale "C". */
#include "train/preprocessing.h"

#include "base/error.h"
#include "data/column_names.h"
#include "io/dtype.h"
#include "io/json_tree.h"
#include "nn/head.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ------------------------------------------------------------------------------------ */

/* 0 for a head of numbers */
static int classes_of(const sparc_network_config *config) {
  return head_learns_values(config->head, false) ? 0 : config->head->outputs;
}

/* whether every output can be a change of the channel with its number */
static bool can_change(const sparc_preprocessing *p, const sparc_network_config *config) {
  return p->targets == config->inputs && head_has_steps(config->head) && head_learns_values(config->head, true);
}

sparc_status preprocessing_check(const sparc_preprocessing *p, const sparc_network_config *config) {
  if (!p) return SPARC_OK;
  if (p->channels != 0 && p->channels != config->inputs)
    return fail(SPARC_INVALID, "preprocessing.channels is %d, expected 0 or the network's %d inputs", p->channels,
                config->inputs);
  if (p->channels && (!p->mean || !p->stddev))
    return fail(SPARC_INVALID, "preprocessing.%s is NULL, expected %d numbers", p->mean ? "stddev" : "mean",
                p->channels);
  for (int i = 0; i < p->channels; i++)
    if (!isfinite(p->mean[i]) || !isfinite(p->stddev[i]) || !(p->stddev[i] > 0))
      return fail(SPARC_INVALID,
                  "preprocessing: channel %d has mean %g and stddev %g, expected finite numbers and a stddev "
                  "above 0",
                  i, p->mean[i], p->stddev[i]);
  if (p->targets != 0 && p->targets != config->head->outputs)
    return fail(SPARC_INVALID, "preprocessing.targets is %d, expected 0 or the network's %d outputs", p->targets,
                config->head->outputs);
  for (int i = 0; i < p->targets; i++)
    if (!p->target_mean || !p->target_stddev || !isfinite(p->target_mean[i]) || !isfinite(p->target_stddev[i]) ||
        !(p->target_stddev[i] > 0))
      return fail(SPARC_INVALID, "preprocessing: target %d has no finite mean and stddev above 0", i);
  if (p->change && !can_change(p, config))
    return fail(SPARC_INVALID, "preprocessing.change is %d, expected 0, or a target for every channel of every step",
                p->change);
  const int classes = classes_of(config);
  if (p->classes != 0 && p->classes != classes)
    return fail(SPARC_INVALID, "preprocessing.classes is %d, expected 0 or the network's %d classes", p->classes,
                classes);
  if (p->classes && !p->labels)
    return fail(SPARC_INVALID, "preprocessing.labels is NULL, expected %d labels", p->classes);
  for (int i = 0; i < p->classes; i++) {
    const char *label = p->labels[i];
    if (!label || !span_is_utf8((span){label, strlen(label)}))
      return fail(SPARC_INVALID, "preprocessing.labels[%d] is %s, expected UTF-8 text", i,
                  label ? "not UTF-8" : "NULL");
  }
  return column_names_check(p->columns, config->inputs);
}

static sparc_status no_memory(void) { return fail(SPARC_NO_MEMORY, "no memory for the metadata of a checkpoint"); }

/* ---- reading ----------------------------------------------------------------------------------- */

/* exactly count finite numbers, if the key is there */
static sparc_status read_numbers(const sparc_tensors *file, const char *path, const char *key, int count,
                                 double *values) {
  const char *text = sparc_tensors_metadata_find(file, key);
  if (!text) return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", path, key);
  for (int i = 0; i < count; i++) {
    char *end;
    values[i] = strtod(text, &end);
    if (end == text || !isfinite(values[i]) || (*end && *end != ' '))
      return fail(SPARC_FORMAT, "'%.200s': number %d of metadata '%s' is '%s', expected %d finite numbers", path, i,
                  key, quote(text).text, count);
    text = end;
  }
  if (*text)
    return fail(SPARC_FORMAT, "'%.200s': metadata '%s' continues with '%s' after %d numbers", path, key,
                quote(text).text, count);
  return SPARC_OK;
}

/* means and standard deviations, if either key is present; else *numbers (2, count) is NULL */
static sparc_status read_scale(const sparc_tensors *file, const char *path, const char *mean_key,
                               const char *deviation_key, int count, double **numbers) {
  if (!sparc_tensors_metadata_find(file, mean_key) && !sparc_tensors_metadata_find(file, deviation_key))
    return SPARC_OK;
  double *mean = *numbers = sparc_alloc(2 * (size_t)count * sizeof *mean);
  if (!mean) return no_memory();
  double *deviation = mean + count;
  sparc_status status = read_numbers(file, path, mean_key, count, mean);
  if (status == SPARC_OK) status = read_numbers(file, path, deviation_key, count, deviation);
  for (int i = 0; i < count && status == SPARC_OK; i++)
    if (!(deviation[i] > 0))
      status = fail(SPARC_FORMAT, "'%.200s': number %d of metadata '%s' is %g, expected one above 0", path, i,
                    deviation_key, deviation[i]);
  return status;
}

static sparc_status read_normalisation(const sparc_tensors *file, const char *path, int channels, int outputs,
                                       stored_preprocessing *out) {
  sparc_status status = read_scale(file, path, KEY_MEAN, KEY_DEVIATION, channels, &out->numbers);
  if (status == SPARC_OK)
    status = read_scale(file, path, KEY_TARGET_MEAN, KEY_TARGET_DEVIATION, outputs, &out->targets);
  if (status != SPARC_OK) return status;
  sparc_preprocessing *p = &out->view;
  if (out->numbers) p->channels = channels, p->mean = out->numbers, p->stddev = out->numbers + channels;
  if (out->targets) p->targets = outputs, p->target_mean = out->targets, p->target_stddev = out->targets + outputs;
  return SPARC_OK;
}

/* a JSON array of `count` strings (-1: of any number), if the key is there; *list stays NULL if it is not */
static sparc_status read_texts(const sparc_tensors *file, const char *path, const char *key, int count,
                               struct json_tree **tree, const char ***list, int *length) {
  const char *text = sparc_tensors_metadata_find(file, key);
  *length = 0;
  if (!text) return SPARC_OK;
  json_fault fault;
  *tree = json_tree_parse(text, strlen(text), &fault);
  if (!*tree && !fault.reason[0]) return no_memory();
  const json_node *array = *tree ? json_root(*tree) : NULL;
  if (!array || array->kind != NODE_ARRAY || array->count < 1 || array->count > INT_MAX ||
      (count >= 0 && array->count != (size_t)count)) {
    const quotable shown = quote(text);
    return count >= 0 ? fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', expected an array of %d strings", path,
                             key, shown.text, count)
                      : fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', expected an array of strings", path, key,
                             shown.text);
  }
  *list = sparc_alloc(array->count * sizeof **list);
  if (!*list) return no_memory();
  const json_node *item = json_child(array);
  for (size_t i = 0; i < array->count; i++, item = json_next(item)) {
    if (item->kind != NODE_STRING)
      return fail(SPARC_FORMAT, "'%.200s': item %zu of metadata '%s' is not a string", path, i, key);
    (*list)[i] = item->text;
  }
  *length = (int)array->count;
  return SPARC_OK;
}

static sparc_status read_labels(const sparc_tensors *file, const char *path, int classes, stored_preprocessing *out) {
  const sparc_status status =
      read_texts(file, path, KEY_LABELS, classes, &out->labels_tree, &out->labels, &out->view.classes);
  out->view.labels = out->labels;
  return status;
}

static sparc_status read_columns(const sparc_tensors *file, const char *path, int channels, stored_preprocessing *out) {
  sparc_columns *c = &out->columns;
  static const char *const keys[] = {KEY_CHANNELS,     KEY_IGNORED,   KEY_VALUES,
                                     KEY_LABEL_COLUMN, KEY_ID_COLUMN, KEY_TIME_COLUMN};
  const char *rows = sparc_tensors_metadata_find(file, KEY_ROWS);
  for (size_t i = 0; i < sizeof keys / sizeof *keys && !rows; i++)
    if (sparc_tensors_metadata_find(file, keys[i]))
      return fail(SPARC_FORMAT, "'%.200s': metadata '" KEY_ROWS "' is missing next to '%s'", path, keys[i]);
  if (!rows) return SPARC_OK;
  c->steps = strcmp(rows, "steps") == 0;
  if (!c->steps && strcmp(rows, "series") != 0)
    return fail(SPARC_FORMAT, "'%.200s': metadata '" KEY_ROWS "' is '%s', expected steps or series", path,
                quote(rows).text);
  sparc_status status =
      read_texts(file, path, KEY_CHANNELS, channels, &out->name_tree[0], &out->names[0], &c->channels);
  if (status == SPARC_OK)
    status = read_texts(file, path, KEY_IGNORED, -1, &out->name_tree[1], &out->names[1], &c->ignored);
  if (status == SPARC_OK)
    status = read_texts(file, path, KEY_VALUES, -1, &out->name_tree[2], &out->names[2], &c->values);
  if (status != SPARC_OK) return status;
  c->channel = out->names[0];
  c->ignore = out->names[1];
  c->value = out->names[2];
  c->label = sparc_tensors_metadata_find(file, KEY_LABEL_COLUMN);
  c->id = sparc_tensors_metadata_find(file, KEY_ID_COLUMN);
  c->time = sparc_tensors_metadata_find(file, KEY_TIME_COLUMN);
  status = column_names_check(c, channels);
  if (status == SPARC_INVALID) {
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%s", sparc_error());
    return fail(SPARC_FORMAT, "'%.200s': names of columns in the metadata: %s", path, sentence);
  }
  if (status == SPARC_OK) out->view.columns = c;
  return status;
}

sparc_status preprocessing_read(const sparc_tensors *file, const char *path, const sparc_network_config *config,
                                stored_preprocessing *out) {
  *out = (stored_preprocessing){.view.data = sparc_tensors_metadata_find(file, KEY_DATA)};
  sparc_status status = read_normalisation(file, path, config->inputs, config->head->outputs, out);
  const char *change = sparc_tensors_metadata_find(file, KEY_TARGET_CHANGE);
  out->view.change = change && strcmp(change, "1") == 0;
  if (status == SPARC_OK && change && (!out->view.change || !can_change(&out->view, config)))
    status =
        fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', expected 1, and a target for every channel of every step",
             path, KEY_TARGET_CHANGE, quote(change).text);
  if (status == SPARC_OK) status = read_labels(file, path, classes_of(config), out);
  if (status == SPARC_OK) status = read_columns(file, path, config->inputs, out);
  return status;
}

void preprocessing_free(stored_preprocessing *p) {
  sparc_free(p->numbers);
  sparc_free(p->targets);
  sparc_free(p->labels);
  json_tree_free(p->labels_tree);
  for (size_t i = 0; i < sizeof p->names / sizeof *p->names; i++) {
    sparc_free(p->names[i]);
    json_tree_free(p->name_tree[i]);
  }
}
