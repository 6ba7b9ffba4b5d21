/* SPDX-License-Identifier: MIT */
/* csv_columns.c: label, id, time, values: which column is which, and what to say when a value is none.
 *
 * The first row is a header by the rules of column_rules.h, or if the options name one of its fields. Values of several
 * channels stand step by step, or are told by names such as a_0,a_1,...,b_0,b_1,... in any order.
 */
#include "data/csv_columns.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 256 }; /* of channels */

bool csv_is_long(const sparc_read_options *o) { return o->id_column || o->time_column; }

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

static span name_of(const void *columns, size_t i, char room[COLUMN_NAME]) {
  const field x = {.text = ((const column *)columns)[i].name, .quote = 1};
  return csv_plain(&x, room, COLUMN_NAME);
}
static column_role role_of(const void *columns, size_t i) { return ((const column *)columns)[i].role; }

static column_list list_of(const csv_columns *c) { return (column_list){c->at, c->count, name_of, role_of}; }

/* what the first row has, for a sentence */
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

/* gives a role to the columns of a list, commas between them */
static sparc_status assign(csv_columns *c, const csv_text *f, const char *list, int header, column_role role) {
  static const char *const names[] = {"a value", "the label", "the id", "the time", "ignored", "a target"};
  if (!list) return SPARC_OK;
  span rest = {list, strlen(list)};
  bool more = true;
  while (more) {
    const span name = role == COLUMN_IGNORED ? span_trim(span_cut(&rest, ',', &more)) : (more = false, rest);
    size_t i = 0;
    const sparc_status status = find_column(c, f, name, header, &i);
    if (status != SPARC_OK) return status;
    if (c->at[i].role != COLUMN_VALUE)
      return bad_line(&f->at, "column '%s' cannot be %s and %s", span_quote(name).text, names[c->at[i].role],
                      names[role]);
    c->at[i].role = role;
  }
  return SPARC_OK;
}

/* without a word about it the label is the last column that nothing else is said of */
static void assign_last(csv_columns *c) {
  for (size_t i = c->count; i-- > 0;) {
    if (c->at[i].role != COLUMN_VALUE) continue;
    c->at[i].role = COLUMN_LABEL;
    return;
  }
}

static sparc_status assign_roles(csv_columns *c, const csv_text *f, const sparc_read_options *o) {
  sparc_status status = assign(c, f, o->id_column, o->header, COLUMN_ID);
  if (status == SPARC_OK) status = assign(c, f, o->time_column, o->header, COLUMN_TIME);
  if (status == SPARC_OK) status = assign(c, f, o->ignore_columns, o->header, COLUMN_IGNORED);
  if (status != SPARC_OK || !c->labelled) return status;
  if (!o->label_column) assign_last(c);
  return assign(c, f, o->label_column, o->header, COLUMN_LABEL);
}

/* ---- channels ---- */

/* splits "acc_x_12" into "acc_x" and 12 */
static bool split_name(span name, span *stem, int *index) {
  name = span_trim(name);
  size_t at = name.size;
  while (at && name.at[at - 1] >= '0' && name.at[at - 1] <= '9') at--;
  if (at < 2 || name.at[at - 1] != '_') return false;
  *stem = (span){name.at, at - 1};
  return parse_int((span){name.at + at, name.size - at}, index);
}

/* the names of channels, in the order in which they come */
typedef struct channel_names {
  span stem[MOST_NAMES];
  int count;
} channel_names;

/* the channel of a name, which is a new one if it has not come before; -1: there are too many */
static int channel_of(channel_names *names, span stem) {
  for (int i = 0; i < names->count; i++)
    if (names->stem[i].size == stem.size && memcmp(names->stem[i].at, stem.at, stem.size) == 0) return i;
  if (names->count == MOST_NAMES) return -1;
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
    if (!split_name(c->at[i].name, &stem, &index) || channel_of(names, stem) < 0) return false;
    if (index < *first) *first = index;
  }
  return names->count >= 2 && c->values % (size_t)names->count == 0;
}

/* places values by their names; false unless every name has the same steps, all of them, and there are two names */
static bool place_by_name(csv_columns *c) {
  channel_names names = {.count = 0};
  int first;
  if (!learn_names(c, &names, &first)) return false;
  bool *taken = sparc_alloc(c->values * sizeof *taken);
  bool good = taken != NULL;
  for (size_t i = 0; good && i < c->count; i++) {
    span stem;
    int index;
    if (c->at[i].role != COLUMN_VALUE || !split_name(c->at[i].name, &stem, &index)) continue;
    const size_t slot = (size_t)(index - first) * (size_t)names.count + (size_t)channel_of(&names, stem);
    good = slot < c->values && !taken[slot];
    if (good) taken[slot] = true, c->at[i].slot = slot;
  }
  sparc_free(taken);
  if (good) c->channels = names.count;
  return good;
}

static void place_in_order(csv_columns *c, int channels) {
  size_t slot = 0;
  for (size_t i = 0; i < c->count; i++)
    if (c->at[i].role == COLUMN_VALUE) c->at[i].slot = slot++;
  c->channels = channels;
}

static sparc_status place_values(csv_columns *c, const csv_text *f, const sparc_read_options *o) {
  for (size_t i = 0; i < c->count; i++) c->values += c->at[i].role == COLUMN_VALUE;
  if (c->values == 0)
    return bad_line(&f->at, "the first row has %zu field%s, expected values%s", c->count, c->count == 1 ? "" : "s",
                    c->labelled ? " and a label" : "");
  if (csv_is_long(o)) {
    place_in_order(c, (int)c->values);
    return SPARC_OK;
  }
  if (c->named && !o->channels && place_by_name(c)) return SPARC_OK;
  const int channels = o->channels ? o->channels : 1;
  if (c->values % (size_t)channels)
    return bad_line(&f->at, "%zu values in a row are not a multiple of %d channels", c->values, channels);
  if (!c->named || channels == 1 || !place_by_name(c) || c->channels != channels) place_in_order(c, channels);
  return SPARC_OK;
}

/* ---- together ---- */

sparc_status csv_columns_learn(csv_columns *c, csv_text f, locale_t locale, const sparc_read_options *o) {
  *c = (csv_columns){.labelled = !o->unlabelled};
  if (!csv_next_row(&f))
    return fail(SPARC_FORMAT, "%s:1: no rows, expected values%s", f.at.label, c->labelled ? " and a label" : "");
  sparc_status status = list_columns(c, f);
  if (status == SPARC_OK) status = assign_roles(c, &f, o);
  const column_list list = list_of(c);
  if (status == SPARC_OK && (o->header > 0 || (o->header == 0 && columns_have_header(&list, locale, f.decimal))))
    c->named = true;
  if (status == SPARC_OK) status = place_values(c, &f, o);
  return status;
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

/* 2024-05-31, 31.05.2024, 5/31/24, with or without a time of day behind it */
static bool is_date(span s) {
  size_t digits = 0, marks = 0, i = 0;
  char mark = 0;
  for (; i < s.size && marks <= 2; i++) {
    if (s.at[i] >= '0' && s.at[i] <= '9') {
      digits++;
    } else if (strchr("-/.", s.at[i]) && s.at[i] && digits && (!mark || mark == s.at[i])) {
      mark = s.at[i];
      marks++;
    } else {
      break;
    }
  }
  return marks == 2 && digits >= 4 && digits <= 8;
}

/* what may be behind a value that is no number */
static const char *hint_for(span text) {
  text = span_trim(text);
  if (has_decimal_comma(text)) return "; is that a decimal comma? Then --decimal ,";
  if (is_date(text)) return "; is that a date? Then --ignore or --time with its column";
  return "; --ignore leaves a column out";
}

/* "2" or, where the first row has names, "2 ('speed')" */
static quotable column_name(const csv_columns *c, size_t i) {
  char text[sizeof(quotable) + 32], room[LABEL_MAX + 1];
  const field x = {.text = span_trim(c->at[i].name), .quote = 1};
  const quotable name = span_quote(csv_plain(&x, room, sizeof room));
  snprintf(text, sizeof text, c->named ? "%zu ('%s')" : "%zu", i + 1, name.text);
  return quote(text);
}

sparc_status csv_read_row(csv_text *f, const csv_columns *c, locale_t locale, float *values, csv_row *row) {
  field x = {.last = false}, wrong = x;
  number_kind wrong_kind = NUMBER_FINITE;
  size_t i = 0, wrong_column = 0;
  *row = (csv_row){.label = {.text = {"?", 1}}};
  /* a row with a field too few has its label in the column of a number, so the number of fields is judged first */
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
