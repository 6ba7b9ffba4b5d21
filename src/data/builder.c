/* SPDX-License-Identifier: MIT */
/* builder.c: growing a data set example by example. */
#include "data/dataset.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sparc_status no_memory(void) { return fail(SPARC_NO_MEMORY, "no memory for the data set"); }

sparc_status builder_open(builder *b) {
  *b = (builder){.channels = 1, .decimal = '.'};
  b->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return b->c ? SPARC_OK : no_memory();
}

void builder_close(builder *b) {
  if (b->c) freelocale(b->c);
  sparc_free(b->values);
  sparc_free(b->examples);
  sparc_free(b->targets);
  column_names_release(b->columns);
  text_block_release(b->texts);
  class_map_release(b->map);
  label_list_free(&b->labels);
  *b = (builder){.count = 0};
}

/* ---- memory ---- */

/* the array with another capacity; NULL: no memory, the old one is kept. realloc remaps large blocks without copying. */
static void *resized(void *old, size_t capacity, size_t size) {
  return capacity > SIZE_MAX / size ? NULL : realloc(old, capacity * size);
}

static sparc_status reserve_values(builder *b, size_t needed) {
  if (needed <= b->capacity) return SPARC_OK;
  float *values = resized(b->values, needed, sizeof *values);
  if (!values) return no_memory();
  b->values = values;
  b->capacity = needed;
  return SPARC_OK;
}

static sparc_status reserve_examples(builder *b, size_t needed) {
  if (needed <= b->example_capacity) return SPARC_OK;
  example *examples = resized(b->examples, needed, sizeof *examples);
  if (!examples) return no_memory();
  b->examples = examples;
  b->example_capacity = needed;
  return SPARC_OK;
}

sparc_status builder_expect(builder *b, size_t examples, size_t values) {
  sparc_status status = reserve_values(b, b->used + values);
  return status == SPARC_OK ? reserve_examples(b, b->count + examples) : status;
}

/* twice as much as before, so that appending costs a constant on average */
static size_t next_capacity(size_t capacity, size_t needed) {
  if (needed <= capacity) return capacity;
  return 2 * capacity > needed ? 2 * capacity : needed;
}

/* ---- examples ---- */

sparc_status builder_too_many(const builder *b) {
  return fail(SPARC_FORMAT, "%s: more than the limit of %zu rows; max_rows allows more", b->label, b->max_rows);
}

sparc_status builder_begin(builder *b, size_t length, float **values) {
  if (b->count == INT_MAX || length > INT_MAX)
    return fail(SPARC_UNSUPPORTED, "example %zu has %zu steps, expected at most %d examples of at most %d steps",
                b->count + 1, length, INT_MAX, INT_MAX);
  if (b->count >= b->max_rows) return builder_too_many(b);
  const size_t needed = b->used + length * (size_t)b->channels;
  sparc_status status = reserve_values(b, next_capacity(b->capacity, needed));
  if (status == SPARC_OK) status = reserve_examples(b, next_capacity(b->example_capacity, b->count + 1));
  if (status != SPARC_OK) return status;
  *values = b->values + b->used;
  return SPARC_OK;
}

size_t builder_end(builder *b, size_t length) {
  const size_t count = length * (size_t)b->channels;
  const float *values = b->values + b->used;
  size_t missing = 0;
  for (size_t i = 0; i < count; i++) missing += isnan(values[i]) != 0;
  const size_t text = b->texts ? b->texts->count : 0;
  b->examples[b->count++] = (example){b->used, (int)length, -1, missing, 0, text, 0};
  b->used += count;
  return missing;
}

/* fewer words than for missing values: "none" and "NA" may be class names */
static bool label_is_missing(span label) {
  static const char *const words[] = {"", "?", "nan", "-nan", "+nan"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (span_is(label, words[i])) return true;
  return false;
}

/* ---- targets ---- */

sparc_status builder_parse_target(const builder *b, const char *where, span text, float *value) {
  const number_kind kind = parse_decimal(b->c, b->decimal, text, value);
  if (kind == NUMBER_FINITE) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: the target is '%s', expected %s", where, span_quote(text).text,
              kind == NUMBER_LARGE ? number_expected(kind) : "a number");
}

sparc_status builder_target(builder *b, const char *where, const float *values, size_t width, bool steps) {
  example *last = &b->examples[b->count - 1];
  if (!b->target_width) b->target_width = (int)width, b->target_steps = steps;
  if ((size_t)b->target_width != width || b->target_steps != steps)
    return fail(SPARC_FORMAT, "%s: %zu target numbers for %s, expected %d for %s", where, width,
                steps ? "each step" : "a series", b->target_width, b->target_steps ? "each step" : "a series");
  const size_t count = width * (steps ? (size_t)last->length : 1), needed = b->target_used + count;
  if (needed > b->target_capacity) {
    const size_t capacity = next_capacity(b->target_capacity, needed);
    float *targets = resized(b->targets, capacity, sizeof *targets);
    if (!targets) return no_memory();
    b->targets = targets;
    b->target_capacity = capacity;
  }
  memcpy(b->targets + b->target_used, values, count * sizeof *values);
  last->target = b->target_used;
  b->targeted++;
  b->target_used = needed;
  return SPARC_OK;
}

/* ---- labels ---- */

sparc_status builder_label(builder *b, const char *where, span label) {
  label = span_trim(label);
  if (b->numbers) {
    float value;
    const sparc_status status = builder_parse_target(b, where, label, &value);
    return status == SPARC_OK ? builder_target(b, where, &value, 1, false) : status;
  }
  if (label_is_missing(label)) return SPARC_OK;
  if (label.size > LABEL_MAX)
    return fail(SPARC_FORMAT, "%s: the label '%s' has %zu bytes, expected at most %d", where, span_quote(label).text,
                label.size, LABEL_MAX);
  if (!span_is_utf8(label))
    return fail(SPARC_FORMAT, "%s: the label '%s' is not UTF-8 text", where, span_quote(label).text);
  if (!b->map) return label_list_add(&b->labels, b->c, label, (int)b->count - 1) ? SPARC_OK : no_memory();

  const int class_index = class_map_find(b->map, b->c, label);
  if (class_index < 0)
    return fail(SPARC_FORMAT, "%s: the label is '%s', expected one of %s", where, span_quote(label).text,
                class_map_quote(b->map).text);
  b->examples[b->count - 1].class_index = class_index;
  return SPARC_OK;
}

sparc_status builder_classes(builder *b, const char *member, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (!names[i] || !*names[i] || strlen(names[i]) > LABEL_MAX || !span_is_utf8((span){names[i], strlen(names[i])}))
      return fail(SPARC_INVALID, "%s[%d] is '%s', expected 1 to %d bytes of UTF-8 text", member, i,
                  names[i] ? span_quote((span){names[i], strlen(names[i])}).text : "NULL", LABEL_MAX);
  const char *duplicate = NULL;
  b->map = class_map_create(names, count, b->c, &duplicate);
  if (!b->map) return fail(SPARC_NO_MEMORY, "no memory for %d classes", count);
  if (duplicate)
    return fail(SPARC_INVALID, "%s has '%s' twice, expected different labels", member, quote(duplicate).text);
  return SPARC_OK;
}

place place_line(const lines *t) {
  place p;
  snprintf(p.text, sizeof p.text, "%s:%zu", t->label, t->line);
  return p;
}

place place_example(const source *s, size_t number) {
  place p;
  snprintf(p.text, sizeof p.text, "%s: example %zu", s->label, number);
  return p;
}

/* ---- texts ---- */

sparc_status builder_text(builder *b, span text) {
  text_block *t = b->texts;
  if (t->count == t->capacity) {
    const size_t capacity = next_capacity(t->capacity, t->count + 1);
    size_t *at = resized(t->at, capacity, sizeof *at);
    if (!at) return no_memory();
    t->at = at;
    t->capacity = capacity;
  }
  if (t->used + text.size + 1 > t->bytes_capacity) {
    const size_t capacity = next_capacity(t->bytes_capacity, t->used + text.size + 1);
    char *bytes = resized(t->bytes, capacity, 1);
    if (!bytes) return no_memory();
    t->bytes = bytes;
    t->bytes_capacity = capacity;
  }
  t->at[t->count++] = t->used;
  if (text.size) memcpy(t->bytes + t->used, text.at, text.size);
  t->bytes[t->used + text.size] = '\0';
  t->used += text.size + 1;
  return SPARC_OK;
}

/* ---- the end ---- */

/* numbers the classes when they were collected */
static sparc_status number_classes(builder *b) {
  if (b->map) return SPARC_OK;
  int *classes = sparc_alloc(b->count * sizeof *classes);
  if (!classes) return no_memory();
  memset(classes, 0xff, b->count * sizeof *classes); /* -1 */
  b->map = class_map_collect(&b->labels, classes);
  for (size_t i = 0; b->map && i < b->count; i++) b->examples[i].class_index = classes[i];
  sparc_free(classes);
  return b->map ? SPARC_OK : no_memory();
}

/* text grows by doubling: up to half of the memory may be unused */
static sparc_status shrink(builder *b) {
  if (b->capacity - b->used <= b->used / 4) return SPARC_OK;
  float *values = resized(b->values, b->used, sizeof *values);
  if (!values) return no_memory();
  b->values = values;
  b->capacity = b->used;
  return SPARC_OK;
}

sparc_status builder_finish(builder *b, const char *name, sparc_dataset **out) {
  if (b->targeted && b->targeted != b->count)
    return fail(SPARC_FORMAT, "%s: %zu of %zu series have targets, expected all", name, b->targeted, b->count);
  sparc_status status = number_classes(b);
  if (status == SPARC_OK) status = shrink(b);
  if (status != SPARC_OK) return status;
  sparc_dataset *d = sparc_alloc(sizeof *d);
  value_block *block = sparc_alloc(sizeof *block), *targets = b->target_width ? sparc_alloc(sizeof *targets) : NULL;
  if (!d || !block || (b->target_width && !targets) || !dataset_rename(d, name)) {
    sparc_free(d);
    sparc_free(block);
    sparc_free(targets);
    return no_memory();
  }
  if (targets) *targets = (value_block){1, b->targets};
  d->targets = targets;
  d->columns = b->columns;
  d->texts = b->texts;
  b->columns = NULL;
  b->texts = NULL;
  d->target_width = b->target_width;
  d->target_steps = b->target_steps;
  b->targets = NULL;
  *block = (value_block){1, b->values};
  d->block = block;
  d->map = class_map_share(b->map);
  d->examples = b->examples;
  d->count = (int)b->count;
  d->channels = b->channels;
  b->values = NULL;
  b->examples = NULL;
  dataset_measure(d);
  *out = d;
  return SPARC_OK;
}
