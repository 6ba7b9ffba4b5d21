/* SPDX-License-Identifier: MIT */
/* csv_columns.c: the roles of columns (label, id, time, value), and errors of values.
 *
 * The first row is a header by the rules of column_rules.h, or if the options name one of its fields. Values of several
 * channels are in the order of steps, or have names such as a_0,a_1,...,b_0,b_1,... in any order. With the names of
 * another table (options columns) columns are found by name (csv_names.c), and others are skipped.
 *
 * A first column without a name among named ones is an index, as pandas writes it: the time of a step, else nothing.
 */
#include "data/csv_columns.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 256 }; /* of channels */

/* ---- finding columns ---- */

static sparc_status list_columns(csv_columns *c, csv_text f) {
  csv_text counting = f;
  field x = {.last = false};
  sparc_status status = SPARC_OK;
  for (; status == SPARC_OK && !x.last; c->count++) status = csv_next_field(&counting, &x);
  if (status != SPARC_OK) return status;
  c->at = sparc_alloc(c->count * sizeof *c->at);
  if (!c->at) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu columns", f.at.label, c->count);
  for (size_t i = 0; i < c->count; i++) {
    status = csv_next_field(&f, &x);
    c->at[i] = (column){.name = x.text};
  }
  return status;
}

static span name_of(const void *columns, size_t i, char buffer[COLUMN_NAME]) {
  const field x = {.text = ((const column *)columns)[i].name, .quote = 1};
  return csv_plain(&x, buffer, COLUMN_NAME);
}

span csv_column_name(const csv_columns *c, size_t i, char buffer[COLUMN_NAME]) {
  return span_trim(name_of(c->at, i, buffer));
}

static column_role role_of(const void *columns, size_t i) { return ((const column *)columns)[i].role; }

static column_list list_of(const csv_columns *c) { return (column_list){c->at, c->count, name_of, role_of}; }

/* the fields of the first row, for error texts */
static quotable list_names(const csv_columns *c) {
  char list[sizeof(quotable) + 1] = "";
  size_t used = 0;
  for (size_t i = 0; i < c->count && used < sizeof list; i++)
    used +=
        (size_t)snprintf(list + used, sizeof list - used, i ? ", %s" : "%s", span_quote(span_trim(c->at[i].name)).text);
  return quote(list);
}

/* a column by its name in the first row, or by its number from 1 */
static sparc_status find_column(csv_columns *c, const csv_text *f, span name, int header, size_t *out) {
  const column_list list = list_of(c);
  if (column_find(&list, name, out, header >= 0 ? &c->named : NULL)) return SPARC_OK;
  return bad_line(&f->at,
                  "there is no column '%s', expected a name in the first row or a number from 1 to %zu; the first row "
                  "is %s",
                  span_quote(name).text, c->count, list_names(c).text);
}

sparc_status csv_give_role(csv_columns *c, const csv_text *f, size_t i, span name, column_role role) {
  static const char *const names[] = {"a value", "the label", "the id", "the time", "ignored", "a target"};
  if (c->at[i].role != COLUMN_VALUE)
    return bad_line(&f->at, "column '%s' cannot be %s and %s", span_quote(name).text, names[c->at[i].role],
                    names[role]);
  c->at[i].role = role;
  return SPARC_OK;
}

sparc_status csv_assign(csv_columns *c, const csv_text *f, const char *name, int header, column_role role) {
  if (!name) return SPARC_OK;
  const span text = {name, strlen(name)};
  size_t i = 0;
  const sparc_status status = find_column(c, f, text, header, &i);
  return status == SPARC_OK ? csv_give_role(c, f, i, text, role) : status;
}

/* whether the other table had a column to ignore */
static bool was_ignored(const sparc_columns *like, span name) {
  for (int k = 0; like && k < like->ignored; k++)
    if (span_compare(name, (span){like->ignore[k], strlen(like->ignore[k])}) == 0) return true;
  return false;
}

sparc_status csv_assign_ignored(csv_columns *c, const csv_text *f, const sparc_read_options *o) {
  if (!o->ignore_columns) return SPARC_OK;
  span rest = {o->ignore_columns, strlen(o->ignore_columns)};
  for (bool more = true; more;) {
    const span name = span_trim(span_cut(&rest, ',', &more));
    size_t i = 0;
    sparc_status status = find_column(c, f, name, o->header, &i);
    if (status != SPARC_OK && was_ignored(o->columns, name)) continue;
    if (status == SPARC_OK) status = csv_give_role(c, f, i, name, COLUMN_IGNORED);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

void csv_assign_last(csv_columns *c) {
  for (size_t i = c->count; i-- > 0;) {
    if (c->at[i].role != COLUMN_VALUE) continue;
    c->at[i].role = COLUMN_LABEL;
    return;
  }
}

static sparc_status assign_roles(csv_columns *c, const csv_text *f, const sparc_read_options *o) {
  sparc_status status = csv_assign(c, f, o->id_column, o->header, COLUMN_ID);
  if (status == SPARC_OK) status = csv_assign(c, f, column_time_name(o->time_column), o->header, COLUMN_TIME);
  if (status == SPARC_OK) status = csv_assign_ignored(c, f, o);
  if (status != SPARC_OK || !c->labelled) return status;
  if (!o->label_column) csv_assign_last(c);
  return csv_assign(c, f, o->label_column, o->header, COLUMN_LABEL);
}

/* ---- channels ---- */

bool csv_split_name(span name, span *stem, int *index) {
  name = span_trim(name);
  size_t at = name.size;
  while (at && name.at[at - 1] >= '0' && name.at[at - 1] <= '9') at--;
  if (at < 2 || name.at[at - 1] != '_') return false;
  *stem = (span){name.at, at - 1};
  return parse_int((span){name.at + at, name.size - at}, index);
}

/* the names of channels, in the order in which they come */
typedef struct channel_names {
  span stem[MAX_NAMES];
  int count;
} channel_names;

/* the channel of a name, which is a new one if it has not come before; -1: there are too many */
static int channel_of(channel_names *names, span stem) {
  for (int i = 0; i < names->count; i++)
    if (names->stem[i].size == stem.size && memcmp(names->stem[i].at, stem.at, stem.size) == 0) return i;
  if (names->count == MAX_NAMES) return -1;
  names->stem[names->count] = stem;
  return names->count++;
}

/* the channels of all values and the first step; false if a name is not of this kind */
static bool learn_names(const csv_columns *c, channel_names *names, int *first) {
  *first = INT32_MAX;
  for (size_t i = 0; i < c->count; i++) {
    span stem;
    int index;
    if (c->at[i].role != COLUMN_VALUE) continue;
    if (!csv_split_name(c->at[i].name, &stem, &index) || channel_of(names, stem) < 0) return false;
    if (index < *first) *first = index;
  }
  return names->count > 0 && c->values % (size_t)names->count == 0;
}

/* places values by their names; false unless every name has the same steps, all of them. Channels are in the order of
 * `like`, which may be NULL, or in that of the file. */
static bool place_by_name(csv_columns *c, const sparc_columns *like) {
  channel_names names = {.count = 0};
  int first;
  for (int k = 0; like && k < like->channels && k < MAX_NAMES; k++)
    names.stem[names.count++] = (span){like->channel[k], strlen(like->channel[k])};
  if (!learn_names(c, &names, &first)) return false;
  bool *taken = sparc_alloc(c->values * sizeof *taken);
  bool good = taken != NULL;
  for (size_t i = 0; good && i < c->count; i++) {
    span stem;
    int index;
    if (c->at[i].role != COLUMN_VALUE || !csv_split_name(c->at[i].name, &stem, &index)) continue;
    const size_t slot = (size_t)(index - first) * (size_t)names.count + (size_t)channel_of(&names, stem);
    good = slot < c->values && !taken[slot];
    if (good) taken[slot] = true, c->at[i].slot = slot;
  }
  sparc_free(taken);
  if (good) c->channels = names.count;
  return c->counted = good;
}

static void place_in_order(csv_columns *c, int channels) {
  size_t slot = 0;
  for (size_t i = 0; i < c->count; i++)
    if (c->at[i].role == COLUMN_VALUE) c->at[i].slot = slot++;
  c->channels = channels;
  c->counted = false;
}

/* whether a file has more rows than this */
static bool has_more_rows(csv_text f, size_t count) {
  for (size_t i = 0; i <= count; i++)
    if (!csv_next_row(&f) || csv_skip_row(&f) != SPARC_OK) return false;
  return true;
}

/* A forecast from a table: a row may be a step of all series or a series. It is a step where there is an index, or a
 * single column; a series where names count steps, channels are given, or rows are long. */
static sparc_status resolve_rows(csv_columns *c, const csv_text *f, const sparc_read_options *o, bool index) {
  enum { SHORT_ROW = 64 };
  const sparc_columns *like = o->columns;
  c->steps = o->id_column || o->time_column || (like && like->steps);
  if (c->steps || o->objective != SPARC_OBJECTIVE_FORECAST) return SPARC_OK;
  if (index || c->values == 1) {
    c->steps = true;
    return SPARC_OK;
  }
  csv_columns trial = *c;
  if (o->channels || c->values >= SHORT_ROW || like || (c->named && place_by_name(&trial, NULL)) ||
      !has_more_rows(*f, c->values + (c->named ? 1 : 0)))
    return SPARC_OK;
  return fail(
      SPARC_INVALID,
      "%s: rows of %zu values may be steps or series: time_column COLUMN (or time_column none: in the order of the "
      "file) makes a row a step, with id_column COLUMN of one of several series; channels 1 makes it a series",
      f->at.label, c->values);
}

/* how many channels the values of a row are divided into */
static sparc_status divide_row(const csv_columns *c, const csv_text *f, int channels) {
  if (c->values % (size_t)channels == 0) return SPARC_OK;
  return bad_line(&f->at, "%zu values in a row are not a multiple of %d channels", c->values, channels);
}

static sparc_status place_values(csv_columns *c, const csv_text *f, const sparc_read_options *o, bool by_name) {
  const sparc_columns *like = by_name && o->columns->channels ? o->columns : NULL;
  const bool placed = like || (by_name && o->columns->values); /* a column of a step, or a value of a row */
  const int channels = o->channels ? o->channels : 1;
  if (c->values == 0)
    return bad_line(&f->at, "the first row has %zu field%s, expected values%s", c->count, c->count == 1 ? "" : "s",
                    c->labelled ? " and a label" : "");
  if (c->steps) {
    if (!placed) place_in_order(c, (int)c->values);
    c->channels = (int)c->values;
    return SPARC_OK;
  }
  if (!by_name && o->columns && o->columns->values && (size_t)o->columns->values != c->values)
    return bad_line(&f->at, "%zu values in a row without names, expected %d", c->values, o->columns->values);
  if (like && place_by_name(c, like)) return SPARC_OK;
  if (like)
    return bad_line(&f->at, "the steps of the channels are not %s_0, %s_1, ... without a gap, the same of each",
                    quote(like->channel[0]).text, quote(like->channel[0]).text);
  if (c->named && !placed && !o->channels && place_by_name(c, NULL)) return SPARC_OK;
  const sparc_status status = divide_row(c, f, channels);
  if (status != SPARC_OK) return status;
  if (placed)
    c->channels = channels;
  else if (!c->named || !place_by_name(c, NULL) || c->channels != channels)
    place_in_order(c, channels);
  return SPARC_OK;
}

/* ---- together ---- */

static bool has_index(const csv_columns *c) {
  const column_list list = list_of(c);
  return columns_have_index(&list);
}

static sparc_status learn_roles(csv_columns *c, const csv_text *f, locale_t locale, const sparc_read_options *o,
                                bool by_name) {
  const sparc_status status = by_name ? csv_assign_like(c, f, o) : assign_roles(c, f, o);
  const column_list list = list_of(c);
  if (status == SPARC_OK && (o->header > 0 || (o->header == 0 && columns_have_header(&list, locale, f->decimal))))
    c->named = true;
  if (by_name) c->named = true;
  return status;
}

/* whether columns are to be found by the names of another table: the first row has one of them, or is a header anyway
 */
static bool goes_by_name(csv_columns *c, const csv_text *f, locale_t locale, const sparc_read_options *o) {
  if (!o->columns || o->header < 0) return false;
  if (o->header > 0 || csv_has_names(c, o->columns, locale, f->decimal)) return true;
  const bool known = assign_roles(c, f, o) == SPARC_OK;
  for (size_t i = 0; i < c->count && !known; i++) c->at[i].role = COLUMN_VALUE;
  const column_list list = list_of(c);
  const bool named = columns_have_header(&list, locale, f->decimal);
  for (size_t i = 0; i < c->count; i++) c->at[i].role = COLUMN_VALUE;
  c->named = false;
  return named;
}

/* the column of an index becomes the time where rows are steps */
static void take_index(csv_columns *c, const sparc_read_options *o) {
  const bool steps = o->objective == SPARC_OBJECTIVE_FORECAST || (o->columns && o->columns->steps);
  c->at[0].role = steps && !o->time_column && !(o->columns && o->columns->time) ? COLUMN_TIME : COLUMN_IGNORED;
}

sparc_status csv_columns_learn(csv_columns *c, csv_text f, locale_t locale, const sparc_read_options *o) {
  *c = (csv_columns){.labelled = !o->unlabelled};
  if (!csv_next_row(&f))
    return fail(SPARC_FORMAT, "%s:1: no rows, expected values%s", f.at.label, c->labelled ? " and a label" : "");
  sparc_status status = list_columns(c, f);
  if (status != SPARC_OK) return status;
  const bool by_name = goes_by_name(c, &f, locale, o);
  bool index = by_name && !o->time_column && has_index(c);
  if (index) take_index(c, o);
  status = learn_roles(c, &f, locale, o, by_name);
  if (status != SPARC_OK) return status;
  if (!by_name && c->named && has_index(c)) {
    index = true;
    take_index(c, o);
  }
  for (size_t i = 0; i < c->count; i++) c->values += c->at[i].role == COLUMN_VALUE;
  status = resolve_rows(c, &f, o, index);
  return status == SPARC_OK ? place_values(c, &f, o, by_name) : status;
}

void csv_columns_free(csv_columns *c) {
  sparc_free(c->at);
  *c = (csv_columns){.count = 0};
}

/* ---- rows ---- */

/* digits, one comma, digits; or with a semicolon, where the commas were taken for separators */
static bool has_decimal_comma(span s) {
  const char *mark = s.size ? memchr(s.at, ',', s.size) : NULL;
  if (!mark && s.size) mark = memchr(s.at, ';', s.size);
  if (!mark || mark == s.at || mark + 1 == s.at + s.size) return false;
  for (size_t i = 0; i < s.size; i++)
    if (s.at + i != mark && (!s.at[i] || !strchr("0123456789+-", s.at[i]))) return false;
  return true;
}

/* a hint for a value that is not a number */
static const char *hint_for(span text) {
  text = span_trim(text);
  if (has_decimal_comma(text)) return "; for a decimal comma set decimal ,";
  if (column_is_date(text)) return "; for a date set ignore_columns or time_column to its column";
  return "; ignore_columns skips a column, id_column makes it the id of sequences";
}

/* "2" or, where the first row has names, "2 ('speed')" */
static quotable column_name(const csv_columns *c, size_t i) {
  char text[sizeof(quotable) + 32], buffer[LABEL_MAX + 1];
  const field x = {.text = span_trim(c->at[i].name), .quote = 1};
  const quotable name = span_quote(csv_plain(&x, buffer, sizeof buffer));
  snprintf(text, sizeof text, c->named ? "%zu ('%s')" : "%zu", i + 1, name.text);
  return quote(text);
}

sparc_status csv_read_row(csv_text *f, const csv_columns *c, locale_t locale, float *values, csv_row *row) {
  field x = {.last = false}, wrong = x;
  number_kind wrong_kind = NUMBER_FINITE;
  size_t i = 0, wrong_column = 0;
  *row = (csv_row){.label = {.text = {"?", 1}}};
  /* a row with a field too few has its label in the column of a number, so the number of fields is checked first */
  for (; !x.last; i++) {
    const sparc_status status = csv_next_field(f, &x);
    if (status != SPARC_OK) return status;
    if (i >= c->count) continue;
    const column_role role = c->at[i].role;
    if (role == COLUMN_LABEL) row->label = x;
    if (role == COLUMN_ID) row->id = x;
    if (role == COLUMN_TIME) row->time = x;
    if (role != COLUMN_VALUE) continue;
    const number_kind kind = parse_decimal(locale, f->decimal, x.text, &values[c->at[i].slot]);
    row->missing += kind == NUMBER_MISSING;
    if (kind > NUMBER_MISSING && !wrong_column) wrong = x, wrong_kind = kind, wrong_column = i + 1;
  }
  if (i != c->count) return bad_line(&f->at, "%zu fields, expected %zu as in the first row", i, c->count);
  if (wrong_column)
    return bad_line(&f->at, "column %s is '%s', expected %s%s", column_name(c, wrong_column - 1).text,
                    span_quote(wrong.text).text, number_expected(wrong_kind), hint_for(wrong.text));
  return SPARC_OK;
}

sparc_status csv_skip_row(csv_text *f) {
  field x = {.last = false};
  sparc_status status = SPARC_OK;
  csv_next_row(f);
  while (status == SPARC_OK && !x.last) status = csv_next_field(f, &x);
  return status;
}
