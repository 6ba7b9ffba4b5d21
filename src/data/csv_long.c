/* SPDX-License-Identifier: MIT */
/* csv_long.c: CSV in the long format, one step of one series a row: id,time,value,...,label.
 *
 * Rows with the same id are one example, in any place of the file; without an id the file is one series. Times order the
 * steps, all as numbers or all as texts (column_rules.h). Examples come in the order in which their ids do.
 */
#include "data/csv_columns.h"

#include <stdlib.h>
#include <string.h>

typedef struct step {
  span id;
  column_time time;
  field label;
  size_t row;   /* place among the rows, and of its values */
  size_t first; /* row in which the id came first */
  size_t line;
} step;

typedef struct long_rows {
  step *steps;
  float *values; /* [count][channels] */
  size_t count, capacity, channels;
  bool labelled, timed;
  float *targets; /* buffer for the targets of one example; NULL: examples have labels */
} long_rows;

/* ---- collecting ---- */

static bool make_room(long_rows *r) {
  if (r->count < r->capacity) return true;
  const size_t capacity = r->capacity ? 2 * r->capacity : 256;
  step *steps = sparc_alloc(capacity * sizeof *steps);
  float *values = sparc_alloc(capacity * r->channels * sizeof *values);
  const bool enough = steps && values;
  if (enough && r->count) {
    memcpy(steps, r->steps, r->count * sizeof *steps);
    memcpy(values, r->values, r->count * r->channels * sizeof *values);
  }
  sparc_free(enough ? r->steps : steps);
  sparc_free(enough ? r->values : values);
  if (enough) r->steps = steps, r->values = values, r->capacity = capacity;
  return enough;
}

/* the time of a step, of the same kind as that of the first */
static sparc_status read_time(const builder *b, const csv_text *f, span text, step *s, const step *first) {
  const char *expected = column_time_read(b->c, f->decimal, text, &s->time);
  if (expected) return bad_line(&f->at, "the time is '%s', expected %s", span_quote(text).text, expected);
  if (!column_times_mix(&s->time, &first->time)) return SPARC_OK;
  return bad_line(&f->at, "the time is '%s', but '%s' in line %zu: expected numbers only, or texts only",
                  span_quote(text).text, span_quote(first->time.text).text, first->line);
}

static sparc_status collect(builder *b, csv_text *f, const csv_columns *c, long_rows *r) {
  while (csv_next_row(f)) {
    csv_row row;
    if (!make_room(r)) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu rows", f->at.label, r->count + 1);
    if (r->count == b->max_rows) return builder_too_many(b);
    const sparc_status status = csv_read_row(f, c, b->c, r->values + r->count * r->channels, &row);
    if (status != SPARC_OK) return status;
    step *s = &r->steps[r->count];
    *s = (step){.id = row.id.text, .label = row.label, .row = r->count, .line = f->at.line};
    const sparc_status timed = r->timed ? read_time(b, f, row.time.text, s, &r->steps[0]) : SPARC_OK;
    if (timed != SPARC_OK) return timed;
    r->count++;
  }
  return SPARC_OK;
}

/* ---- order ---- */

static int by_row(const step *a, const step *b) { return (a->row > b->row) - (a->row < b->row); }

static int compare_ids(const void *x, const void *y) {
  const step *a = x, *b = y;
  const int order = span_compare(a->id, b->id);
  return order ? order : by_row(a, b);
}

static int compare_times(const void *x, const void *y) {
  const step *a = x, *b = y;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  const int order = column_time_compare(&a->time, &b->time);
  return order ? order : by_row(a, b);
}

/* sorts steps by id, then by time */
static void sort_steps(long_rows *r) {
  qsort(r->steps, r->count, sizeof *r->steps, compare_ids);
  for (size_t i = 0; i < r->count; i++) {
    const bool same = i > 0 && span_compare(r->steps[i].id, r->steps[i - 1].id) == 0;
    r->steps[i].first = same ? r->steps[i - 1].first : r->steps[i].row;
  }
  qsort(r->steps, r->count, sizeof *r->steps, compare_times);
}

/* ---- examples ---- */

/* the targets of every step; buffer [length] */
static sparc_status target_steps(builder *b, const csv_text *f, const step *steps, size_t count, float *buffer) {
  lines at = f->at;
  for (size_t i = 0; i < count; i++) {
    at.line = steps[i].line;
    const sparc_status status = builder_parse_target(b, place_line(&at).text, steps[i].label.text, &buffer[i]);
    if (status != SPARC_OK) return status;
  }
  return builder_target(b, place_line(&at).text, buffer, 1, true);
}

static sparc_status label_example(builder *b, const csv_text *f, const step *steps, size_t count) {
  char buffer[LABEL_MAX + 2];
  lines at = f->at;
  for (size_t i = 1; i < count; i++) {
    at.line = steps[i].line;
    if (span_compare(span_trim(steps[i].label.text), span_trim(steps[0].label.text)) != 0)
      return bad_line(&at, "the label of id '%s' is '%s', but '%s' in line %zu", span_quote(steps[i].id).text,
                      span_quote(steps[i].label.text).text, span_quote(steps[0].label.text).text, steps[0].line);
  }
  at.line = steps[0].line;
  return builder_label(b, place_line(&at).text, csv_plain(&steps[0].label, buffer, sizeof buffer));
}

/* numbers that change within an example are targets of its steps */
static bool labels_vary(const long_rows *r) {
  for (size_t i = 1; i < r->count; i++)
    if (r->steps[i].first == r->steps[i - 1].first &&
        span_compare(span_trim(r->steps[i].label.text), span_trim(r->steps[i - 1].label.text)) != 0)
      return true;
  return false;
}

/* the id of an example and the times of its steps, as far as the file has them */
static sparc_status keep_texts(builder *b, const step *steps, size_t count) {
  sparc_status status = b->texts->ids ? builder_text(b, span_trim(steps[0].id)) : SPARC_OK;
  for (size_t i = 0; i < count && b->texts->times && status == SPARC_OK; i++)
    status = builder_text(b, steps[i].time.text);
  return status;
}

static sparc_status append_example(builder *b, const csv_text *f, const long_rows *r, size_t from, size_t count) {
  float *values;
  sparc_status status = builder_begin(b, count, &values);
  if (status != SPARC_OK) return status;
  for (size_t i = 0; i < count; i++)
    memcpy(values + i * r->channels, r->values + r->steps[from + i].row * r->channels, r->channels * sizeof *values);
  if (builder_end(b, count) == count * r->channels) {
    lines at = f->at;
    at.line = r->steps[from].line;
    return bad_line(&at, "all values of id '%s' are missing, expected at least one number",
                    span_quote(r->steps[from].id).text);
  }
  if (b->texts) status = keep_texts(b, r->steps + from, count);
  if (status != SPARC_OK || !r->labelled) return status;
  if (r->targets) return target_steps(b, f, r->steps + from, count, r->targets);
  return label_example(b, f, r->steps + from, count);
}

static bool has_role(const csv_columns *c, column_role role) {
  size_t i = 0;
  while (i < c->count && c->at[i].role != role) i++;
  return i < c->count;
}

sparc_status read_csv_long(builder *b, csv_text *f, const csv_columns *c) {
  long_rows r = {.channels = c->values, .labelled = c->labelled, .timed = has_role(c, COLUMN_TIME)};
  if (b->texts) b->texts->ids = b->texts->ids || has_role(c, COLUMN_ID);
  if (b->texts) b->texts->times = b->texts->times || r.timed;
  b->channels = c->channels;
  sparc_status status = collect(b, f, c, &r);
  if (status == SPARC_OK && r.count) {
    sort_steps(&r);
    status = builder_expect(b, 0, r.count * r.channels);
    if (status == SPARC_OK && r.labelled && b->numbers && labels_vary(&r) &&
        !(r.targets = sparc_alloc(r.count * sizeof *r.targets)))
      status = fail(SPARC_NO_MEMORY, "%s: no memory for %zu targets", f->at.label, r.count);
  }
  for (size_t from = 0, to = 0; status == SPARC_OK && from < r.count; from = to) {
    while (to < r.count && r.steps[to].first == r.steps[from].first) to++;
    status = append_example(b, f, &r, from, to - from);
  }
  sparc_free(r.steps);
  sparc_free(r.values);
  sparc_free(r.targets);
  return status;
}
