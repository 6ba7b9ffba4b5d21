/* SPDX-License-Identifier: MIT */
/* stream.c: parsing of single lines with data/csv_text.h; quoted fields do not span lines. */
#include "online/stream.h"

#include "base/error.h"
#include "data/column_names.h"
#include "data/column_rules.h"
#include "data/csv_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT = 'i', TARGET = 't', LABEL = 'l', ID = '#', TIME = '@', IGNORED = '-' };

static sparc_status no_memory(const char *name) { return fail(SPARC_NO_MEMORY, "%s: no memory for its columns", name); }

/* a cursor over the row of a line, which may follow a line "sep=;" */
static sparc_status open_line(const char *line, size_t size, const char *name, char decimal, source *s, csv_text *f) {
  sparc_status status = source_borrow(s, line, size, name, STREAM_MAX_LINE, 0);
  if (status != SPARC_OK) return status;
  status = csv_open(f, s, decimal);
  if (status == SPARC_OK && !csv_next_row(f)) status = fail(SPARC_FORMAT, "%s: the line is empty", name);
  if (status != SPARC_OK) source_close(s);
  return status;
}

/* ---- the columns ---------------------------------------------------------------------------------- */

static char *copy_text(span text) {
  char *copy = malloc(text.size + 1);
  if (!copy) return NULL;
  memcpy(copy, text.at, text.size);
  copy[text.size] = '\0';
  return copy;
}

/* the fields of the first line as names */
static sparc_status read_names(csv_text f, const char *name, stream_columns *c) {
  csv_text counting = f;
  field x = {.last = false};
  sparc_status status = SPARC_OK;
  for (; status == SPARC_OK && !x.last; c->count++) status = csv_next_field(&counting, &x);
  if (status != SPARC_OK) return status;
  c->role = calloc(c->count + 1, 1);
  c->name = calloc(c->count + 1, sizeof *c->name);
  c->slot = calloc(c->count + 1, sizeof *c->slot);
  if (!c->role || !c->name || !c->slot) return no_memory(name);
  memset(c->role, INPUT, c->count);
  for (size_t i = 0; i < c->count && status == SPARC_OK; i++) {
    char buffer[256];
    status = csv_next_field(&f, &x);
    if (status == SPARC_OK && !(c->name[i] = copy_text(csv_plain(&x, buffer, sizeof buffer)))) status = no_memory(name);
  }
  return status;
}

static span name_of(const void *columns, size_t i, char buffer[COLUMN_NAME]) {
  (void)buffer;
  const stream_columns *c = columns;
  return (span){c->name[i], strlen(c->name[i])};
}

static column_role role_of(const void *columns, size_t i) {
  static const char letters[] = {INPUT, LABEL, ID, TIME, IGNORED, TARGET}; /* by column_role */
  const char *at = memchr(letters, ((const stream_columns *)columns)->role[i], sizeof letters);
  return at ? (column_role)(at - letters) : COLUMN_IGNORED;
}

static column_list list_of(const stream_columns *c) { return (column_list){c, c->count, name_of, role_of}; }

static sparc_status find_column(stream_columns *c, const char *name, span text, size_t *out) {
  const column_list list = list_of(c);
  if (column_find(&list, text, out, &c->named)) return SPARC_OK;
  return fail(SPARC_INVALID, "%s: there is no column '%s', expected a name in it or a number from 1 to %zu", name,
              span_quote(text).text, c->count);
}

static sparc_status assign(stream_columns *c, const char *name, const char *list, char role) {
  span rest = {list, list ? strlen(list) : 0};
  for (bool more = list != NULL; more;) {
    const span text = span_trim(span_cut(&rest, ',', &more));
    size_t i = 0;
    const sparc_status status = find_column(c, name, text, &i);
    if (status != SPARC_OK) return status;
    if (c->role[i] != INPUT)
      return fail(SPARC_INVALID, "%s: column '%s' is given two roles", name, span_quote(text).text);
    c->role[i] = role;
  }
  return SPARC_OK;
}

static int compare_texts(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static sparc_status check_distinct(char *const *name, size_t count) {
  char **sorted = malloc(count * sizeof *sorted);
  if (!sorted) return no_memory("classes");
  memcpy(sorted, name, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_texts);
  size_t i = 1;
  while (i < count && strcmp(sorted[i - 1], sorted[i]) != 0) i++;
  const char *duplicate = i < count ? sorted[i] : NULL;
  free(sorted);
  return duplicate ? fail(SPARC_INVALID, "class '%.60s' is given twice", duplicate) : SPARC_OK;
}

static sparc_status list_classes(stream_columns *c, const char *list) {
  span rest = {list, strlen(list)};
  c->class_name = calloc(strlen(list) + 2, sizeof *c->class_name);
  if (!c->class_name) return no_memory("classes");
  for (bool more = true; more;) {
    const span text = span_trim(span_cut(&rest, ',', &more));
    if (!text.size) return fail(SPARC_INVALID, "classes is '%.80s', expected comma-separated names", list);
    char *copy = copy_text(text);
    if (!copy) return no_memory("classes");
    c->class_name[c->classes++] = copy;
  }
  if (c->classes < 2) return fail(SPARC_INVALID, "classes is '%.80s', expected at least two names", list);
  return check_distinct(c->class_name, c->classes);
}

/* without a header columns are named by number */
static sparc_status number_columns(stream_columns *c, const char *name) {
  for (size_t i = 0; i < c->count; i++) {
    char text[32];
    const int size = snprintf(text, sizeof text, "column %zu", i + 1);
    free(c->name[i]);
    c->name[i] = copy_text((span){text, (size_t)size});
    if (!c->name[i]) return no_memory(name);
  }
  return SPARC_OK;
}

/* known columns by position */
static sparc_status match_positions(stream_columns *c, const char *name, const char *roles) {
  if (strlen(roles) != c->count || strspn(roles, STREAM_ROLES) != c->count)
    return fail(SPARC_FORMAT, "%s: %zu columns, expected the %zu of the learner", name, c->count, strlen(roles));
  memcpy(c->role, roles, c->count);
  return SPARC_OK;
}

static bool same_name(const char *a, const char *b) {
  const span x = span_trim((span){a, strlen(a)}), y = span_trim((span){b, strlen(b)});
  return x.size == y.size && memcmp(x.at, y.at, x.size) == 0;
}

/* index of the known column of this name; the number of columns if there is none */
static size_t find_known(const stream_known *known, const char *text) {
  size_t j = 0;
  while (known->roles[j] && !same_name(known->names[j], text)) j++;
  return j;
}

/* whether the first line has a known name; names that are numbers or empty do not count */
static bool has_known(const stream_columns *c, const stream_known *known) {
  for (size_t i = 0; i < c->count; i++) {
    float unused;
    const span text = {c->name[i], strlen(c->name[i])};
    const bool word = parse_decimal(c->locale, c->decimal, text, &unused) == NUMBER_WRONG;
    if (word && known->roles[find_known(known, c->name[i])]) return true;
  }
  return false;
}

static bool is_needed(const stream_known *known, size_t j) {
  const char role = known->roles[j];
  return role == INPUT || role == ID || role == TIME || (!known->target_optional && (role == TARGET || role == LABEL));
}

/* index of a known column among those of its role */
static size_t index_in_role(const char *roles, size_t j) {
  size_t index = 0;
  for (size_t k = 0; k < j; k++) index += roles[k] == roles[j];
  return index;
}

/* known columns by name; found: (known columns), zero */
static sparc_status match_names(stream_columns *c, const char *name, const stream_known *known, bool *found) {
  const size_t count = strlen(known->roles);
  bool complete = true;
  for (size_t i = 0; i < c->count; i++) {
    const size_t j = find_known(known, c->name[i]);
    c->role[i] = j < count ? known->roles[j] : IGNORED;
    if (j == count) continue;
    if (found[j]) return fail(SPARC_FORMAT, "%s: column '%s' is there twice", name, quote(known->names[j]).text);
    found[j] = true;
    c->slot[i] = index_in_role(known->roles, j);
  }
  for (size_t j = 0; j < count; j++) {
    found[j] = found[j] || !is_needed(known, j);
    complete = complete && found[j];
  }
  return complete ? SPARC_OK : columns_missing(name, known->names, count, found, (const char *const *)c->name);
}

/* names the columns of a stream without a header */
static sparc_status copy_names(stream_columns *c, const char *name, const stream_known *known) {
  for (size_t i = 0; i < c->count; i++) {
    free(c->name[i]);
    c->name[i] = copy_text((span){known->names[i], strlen(known->names[i])});
    if (!c->name[i]) return no_memory(name);
  }
  return SPARC_OK;
}

/* roles of the columns of a continued stream */
static sparc_status match_known(stream_columns *c, const char *name, const stream_known *known) {
  const column_list list = list_of(c); /* all are still inputs */
  if (!known->names || !(has_known(c, known) || columns_have_header(&list, c->locale, c->decimal)))
    return match_positions(c, name, known->roles);
  bool *found = calloc(strlen(known->roles) + 1, sizeof *found);
  if (!found) return no_memory(name);
  const sparc_status status = match_names(c, name, known, found);
  free(found);
  c->named = c->by_name = true;
  return status;
}

/* numbers inputs and targets in the order of their columns */
static void assign_slots(stream_columns *c) {
  size_t inputs = 0, targets = 0;
  for (size_t i = 0; i < c->count; i++) {
    if (c->role[i] == INPUT) c->slot[i] = inputs++;
    if (c->role[i] == TARGET) c->slot[i] = targets++;
  }
}

static sparc_status assign_roles(const stream_options *o, const char *name, stream_columns *c) {
  sparc_status status = assign(c, name, o->target, TARGET);
  if (status == SPARC_OK) status = assign(c, name, o->label, LABEL);
  if (status == SPARC_OK) status = assign(c, name, o->id, ID);
  if (status == SPARC_OK) status = assign(c, name, column_time_name(o->time), TIME);
  return status == SPARC_OK ? assign(c, name, o->ignore, IGNORED) : status;
}

/* detects a header, and an index column in it */
static void detect_header(stream_columns *c, bool known) {
  const column_list list = list_of(c);
  c->named = c->named || columns_have_header(&list, c->locale, c->decimal);
  if (c->named && !known && columns_have_index(&list)) c->role[0] = IGNORED;
}

static sparc_status check_options(const stream_options *o) {
  if (o->target && o->label) return fail(SPARC_INVALID, "target and label exclude each other");
  if (o->label && !o->classes)
    return fail(SPARC_INVALID, "label is '%.60s' without classes: expected classes, too", o->label);
  if (o->classes && !o->label) return fail(SPARC_INVALID, "classes is given without label");
  return SPARC_OK;
}

sparc_status stream_open(const stream_options *o, const stream_known *known, const char *line, size_t size,
                         const char *name, stream_columns *c) {
  *c = (stream_columns){.decimal = o->decimal ? o->decimal : '.', .locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  source s;
  csv_text f;
  size_t row = 1; /* its line in the text */
  sparc_status status = known ? SPARC_OK : check_options(o);
  if (status == SPARC_OK && o->classes) status = list_classes(c, o->classes);
  if (status == SPARC_OK && size > 1 && line[0] == '\x1f' && line[1] == '\x8b')
    status = fail(SPARC_FORMAT, "%s: this is gzip data, expected text; decompress it with zcat", name);
  if (status == SPARC_OK) status = open_line(line, size, name, c->decimal, &s, &f);
  if (status == SPARC_OK) {
    row = f.at.line;
    c->separator = f.separator;
    status = read_names(f, name, c);
    source_close(&s);
  }
  if (status == SPARC_OK) status = known ? match_known(c, name, known) : assign_roles(o, name, c);
  if (status != SPARC_OK) return one_line(name, row, status);
  detect_header(c, known != NULL);
  if (!c->by_name) assign_slots(c);
  for (size_t i = 0; i < c->count; i++) {
    c->inputs += c->role[i] == INPUT;
    c->targets += c->role[i] == TARGET;
  }
  if (c->inputs == 0) return fail(SPARC_INVALID, "%s: no column is an input", name);
  if (c->named) return SPARC_OK;
  return known && known->names ? copy_names(c, name, known) : number_columns(c, name);
}

void stream_free(stream_columns *c) {
  for (size_t i = 0; c->name && i < c->count; i++) free(c->name[i]);
  for (size_t i = 0; i < c->classes; i++) free(c->class_name[i]);
  free(c->role);
  free(c->name);
  free(c->slot);
  free(c->class_name);
  if (c->locale) freelocale(c->locale);
  *c = (stream_columns){.count = 0};
}

/* ---- a line --------------------------------------------------------------------------------------- */

static const char *hint_for(span text) {
  return column_is_date(text) ? "; for a date set config.time or config.ignore to its column"
                              : "; config.ignore skips a column";
}

/* a number; NAN if it is missing */
static sparc_status read_number(const stream_columns *c, size_t column, const field *x, const char *name,
                                float *value) {
  const number_kind kind = parse_decimal(c->locale, c->decimal, x->text, value);
  if (kind == NUMBER_MISSING) *value = NAN;
  if (kind == NUMBER_FINITE || kind == NUMBER_MISSING) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: '%s' is '%s', expected %s%s", name, quote(c->name[column]).text,
              span_quote(x->text).text, number_expected(kind),
              kind == NUMBER_WRONG && c->count > 1 ? hint_for(span_trim(x->text)) : "");
}

static sparc_status read_label(const stream_columns *c, const field *x, const char *name, stream_step *step) {
  char buffer[256];
  const span text = span_trim(csv_plain(x, buffer, sizeof buffer));
  step->has_target = text.size > 0;
  if (!step->has_target) return SPARC_OK;
  for (size_t k = 0; k < c->classes; k++)
    if (strlen(c->class_name[k]) == text.size && memcmp(c->class_name[k], text.at, text.size) == 0) {
      step->label = (int)k;
      return SPARC_OK;
    }
  char value[256];
  snprintf(value, sizeof value, "%s", span_quote(text).text);
  const char *near = closest(value, (const char *const *)c->class_name);
  return near ? fail(SPARC_FORMAT, "%s: unknown class '%s'; did you mean '%s'?", name, value, near)
              : fail(SPARC_FORMAT, "%s: unknown class '%s', expected one of the %zu given classes", name, value,
                     c->classes);
}

/* copy has the size of the line */
static void read_text(const field *x, char *copy) {
  const span text = csv_plain(x, copy, x->text.size);
  memmove(copy, text.at, text.size);
  copy[text.size] = '\0';
}

static sparc_status read_time(const stream_columns *c, size_t column, const field *x, const char *name, char *copy) {
  column_time unused;
  read_text(x, copy);
  const char *expected = column_time_read(c->locale, c->decimal, (span){copy, strlen(copy)}, &unused);
  if (!expected) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: '%s' is '%s', expected %s", name, quote(c->name[column]).text,
              span_quote(x->text).text, expected);
}

static sparc_status read_fields(const stream_columns *c, csv_text *f, const char *name, float *x, float *target,
                                const stream_texts *texts, stream_step *step) {
  sparc_status status = SPARC_OK;
  field v = {.last = false};
  size_t observed = 0, i = 0;
  for (; i < c->count && !v.last && status == SPARC_OK; i++) {
    status = csv_next_field(f, &v);
    if (status != SPARC_OK) break;
    if (c->role[i] == INPUT) status = read_number(c, i, &v, name, &x[c->slot[i]]);
    if (c->role[i] == LABEL) status = read_label(c, &v, name, step);
    if (c->role[i] == ID) read_text(&v, texts->id);
    if (c->role[i] == TIME) status = read_time(c, i, &v, name, texts->time);
    if (c->role[i] != TARGET) continue;
    status = read_number(c, i, &v, name, &target[c->slot[i]]);
    observed += status == SPARC_OK && isfinite(target[c->slot[i]]);
  }
  if (status == SPARC_OK && (i < c->count || !v.last))
    return fail(SPARC_FORMAT, "%s: %s than %zu fields, expected as many as in the first line", name,
                i < c->count ? "fewer" : "more", c->count);
  if (c->targets) step->has_target = observed == c->targets;
  return status;
}

sparc_status stream_read(const stream_columns *c, const char *line, size_t size, const char *name, float *x,
                         float *target, const stream_texts *texts, stream_step *step) {
  source s;
  csv_text f;
  size_t row = 1;
  *step = (stream_step){.label = -1};
  *texts->id = *texts->time = '\0';
  sparc_status status = open_line(line, size, name, c->decimal, &s, &f);
  if (status == SPARC_OK) {
    row = f.at.line;
    f.separator = c->separator;
    status = read_fields(c, &f, name, x, target, texts, step);
    source_close(&s);
  }
  return status == SPARC_OK ? SPARC_OK : one_line(name, row, status);
}

sparc_status stream_check_order(const stream_columns *c, const char *name, const char *last, const char *time) {
  column_time before, now;
  if (!*last || !*time) return SPARC_OK;
  (void)column_time_read(c->locale, c->decimal, (span){last, strlen(last)}, &before);
  (void)column_time_read(c->locale, c->decimal, (span){time, strlen(time)}, &now);
  if (column_times_mix(&before, &now))
    return fail(SPARC_FORMAT, "%s: the time is '%s' after '%s', expected numbers only, or texts only", name,
                quote(time).text, quote(last).text);
  if (column_time_compare(&before, &now) <= 0) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: the time is '%s', before '%s' of the previous line; expected lines in order of time",
              name, quote(time).text, quote(last).text);
}
