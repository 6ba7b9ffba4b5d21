/* SPDX-License-Identifier: MIT */
/* preprocessing_write.c: normalisation and labels as metadata of a file that is written. Callers have set the locale
 * "C". */
#include "base/error.h"
#include "train/preprocessing.h"

#include <jansson.h>
#include <stdio.h>

static sparc_status no_memory(void) { return fail(SPARC_NO_MEMORY, "no memory for the metadata of a checkpoint"); }

static char *print_numbers(const double *values, int count) {
  enum { WIDEST = 25 }; /* sign, 17 digits, point, exponent, blank */
  const size_t size = (size_t)count * WIDEST + 1;
  char *text = sparc_alloc(size);
  for (size_t i = 0, used = 0; text && i < (size_t)count; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%.17g", i ? " " : "", values[i]);
  return text;
}

static json_t *label_array(const sparc_preprocessing *p) {
  json_t *array = json_array();
  for (int i = 0; array && i < p->classes; i++) {
    if (json_array_append_new(array, json_string(p->labels[i])) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return array;
}

static char *print_labels(const sparc_preprocessing *p) {
  json_t *array = label_array(p);
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

sparc_status preprocessing_print(const sparc_preprocessing *p, preprocessing_text *out) {
  *out = (preprocessing_text){.count = 0};
  if (!p) return SPARC_OK;
  if (p->channels) {
    out->memory[0] = print_numbers(p->mean, p->channels);
    out->memory[1] = print_numbers(p->deviation, p->channels);
    if (!out->memory[0] || !out->memory[1]) return no_memory();
    add_entry(out, KEY_MEAN, out->memory[0]);
    add_entry(out, KEY_DEVIATION, out->memory[1]);
  }
  if (p->classes) {
    out->memory[2] = print_labels(p);
    if (!out->memory[2]) return no_memory();
    add_entry(out, KEY_LABELS, out->memory[2]);
  }
  if (p->targets) {
    out->memory[3] = print_numbers(p->target_mean, p->targets);
    out->memory[4] = print_numbers(p->target_deviation, p->targets);
    if (!out->memory[3] || !out->memory[4]) return no_memory();
    add_entry(out, KEY_TARGET_MEAN, out->memory[3]);
    add_entry(out, KEY_TARGET_DEVIATION, out->memory[4]);
    if (p->change) add_entry(out, KEY_TARGET_CHANGE, "1");
  }
  if (p->data) add_entry(out, KEY_DATA, p->data);
  return SPARC_OK;
}

void preprocessing_text_free(preprocessing_text *text) {
  for (int i = 0; i < PREPROCESSING_KEYS; i++) sparc_free(text->memory[i]);
}
