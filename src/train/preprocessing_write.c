/* SPDX-License-Identifier: MIT */
/* preprocessing_write.c: normalisation and labels as metadata of a file that is written. Callers have set the locale
 * "C". */
#include "base/error.h"
#include "train/preprocessing.h"

#include <jansson.h>
#include <stdio.h>

static sparc_status no_memory(void) { return fail(SPARC_NO_MEMORY, "no memory for the metadata of a checkpoint"); }

static char *print_numbers(const double *values, int count) {
  enum { MAX_CHARACTERS = 25 }; /* sign, 17 digits, point, exponent, blank */
  const size_t size = (size_t)count * MAX_CHARACTERS + 1;
  char *text = sparc_alloc(size);
  for (size_t i = 0, used = 0; text && i < (size_t)count; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%.17g", i ? " " : "", values[i]);
  return text;
}

static json_t *text_array(const char *const *texts, int count) {
  json_t *array = json_array();
  for (int i = 0; array && i < count; i++) {
    if (json_array_append_new(array, json_string(texts[i])) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return array;
}

static char *print_texts(const char *const *texts, int count) {
  json_t *array = text_array(texts, count);
  const size_t size = array ? json_dumpb(array, NULL, 0, JSON_COMPACT) : 0;
  char *text = size ? sparc_alloc(size + 1) : NULL;
  if (text && json_dumpb(array, text, size, JSON_COMPACT) != size) {
    sparc_free(text);
    text = NULL;
  }
  json_decref(array);
  return text;
}

static void add_entry(preprocessing_text *out, const char *key, const char *value) {
  out->entry[out->count++] = (sparc_metadata){.key = key, .value = value};
}

/* the names of columns; their texts are memory[5] to memory[7] */
static sparc_status print_columns(const sparc_columns *c, preprocessing_text *out) {
  if (!c) return SPARC_OK;
  if (c->channels && !(out->memory[5] = print_texts(c->channel, c->channels))) return no_memory();
  if (c->ignored && !(out->memory[6] = print_texts(c->ignore, c->ignored))) return no_memory();
  if (c->values && !(out->memory[7] = print_texts(c->value, c->values))) return no_memory();
  if (c->channels) add_entry(out, KEY_CHANNELS, out->memory[5]);
  if (c->ignored) add_entry(out, KEY_IGNORED, out->memory[6]);
  if (c->values) add_entry(out, KEY_VALUES, out->memory[7]);
  if (c->label) add_entry(out, KEY_LABEL_COLUMN, c->label);
  if (c->id) add_entry(out, KEY_ID_COLUMN, c->id);
  if (c->time) add_entry(out, KEY_TIME_COLUMN, c->time);
  add_entry(out, KEY_ROWS, c->steps ? "steps" : "series");
  return SPARC_OK;
}

sparc_status preprocessing_print(const sparc_preprocessing *p, preprocessing_text *out) {
  *out = (preprocessing_text){.count = 0};
  if (!p) return SPARC_OK;
  if (p->channels) {
    out->memory[0] = print_numbers(p->mean, p->channels);
    out->memory[1] = print_numbers(p->stddev, p->channels);
    if (!out->memory[0] || !out->memory[1]) return no_memory();
    add_entry(out, KEY_MEAN, out->memory[0]);
    add_entry(out, KEY_DEVIATION, out->memory[1]);
  }
  if (p->classes) {
    out->memory[2] = print_texts(p->labels, p->classes);
    if (!out->memory[2]) return no_memory();
    add_entry(out, KEY_LABELS, out->memory[2]);
  }
  if (p->targets) {
    out->memory[3] = print_numbers(p->target_mean, p->targets);
    out->memory[4] = print_numbers(p->target_stddev, p->targets);
    if (!out->memory[3] || !out->memory[4]) return no_memory();
    add_entry(out, KEY_TARGET_MEAN, out->memory[3]);
    add_entry(out, KEY_TARGET_DEVIATION, out->memory[4]);
    if (p->change) add_entry(out, KEY_TARGET_CHANGE, "1");
  }
  if (p->data) add_entry(out, KEY_DATA, p->data);
  return print_columns(p->columns, out);
}

void preprocessing_text_free(preprocessing_text *text) {
  for (int i = 0; i < PREPROCESSING_TEXTS; i++) sparc_free(text->memory[i]);
}
