/* SPDX-License-Identifier: MIT */
/* csv_columns.c: label, id, time, values: which column is which, and what to say when a value is none.
 *
 * The first row is a header by the rules of column_rules.h, or if the options name one of its fields. Values of several
 * channels stand step by step, or are told by names such as a_0,a_1,...,b_0,b_1,... in any order. With the names of
 * another table (options like) columns are found by these, and what has another name is left out.
 *
 * A first column without a name among named ones is an index, as pandas writes it: the time of a step, else nothing.
 */
#include "data/csv_columns.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 256 }; /* of channels */

/* --time none: rows are steps in the order in which they stand */
static bool is_none(const char *option) { return option && strcmp(option, "none") == 0; }

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

static sparc_status give_role(csv_columns *c, const csv_text *f, size_t i, span name, column_role role) {
  static const char *const names[] = {"a value", "the label", "the id", "the time", "ignored", "a target"};
  if (c->at[i].role != COLUMN_VALUE)
    return bad_line(&f->at, "column '%s' cannot be %s and %s", span_quote(name).text, names[c->at[i].role],
                    names[role]);
  c->at[i].role = role;
  return SPARC_OK;
}

/* gives a role to the columns of a list, commas between them */
static sparc_status assign(csv_columns *c, const csv_text *f, const char *list, int header, column_role role) {
  if (!list) return SPARC_OK;
  span rest = {list, strlen(list)};
  bool more = true;
  while (more) {
    const span name = role == COLUMN_IGNORED ? span_trim(span_cut(&rest, ',', &more)) : (more = false, rest);
    size_t i = 0;
    sparc_status status = find_column(c, f, name, header, &i);
    if (status == SPARC_OK) status = give_role(c, f, i, name, role);
    if (status != SPARC_OK) return status;
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
  const char *time = is_none(o->time_column) ? NULL : o->time_column;
  sparc_status status = assign(c, f, o->id_column, o->header, COLUMN_ID);
  if (status == SPARC_OK) status = assign(c, f, time, o->header, COLUMN_TIME);
  if (status == SPARC_OK) status = assign(c, f, o->ignore_columns, o->header, COLUMN_IGNORED);
  if (status != SPARC_OK || !c->labelled) return status;
  if (!o->label_column) assign_last(c);
  return assign(c, f, o->label_column, o->header, COLUMN_LABEL);
}

/* ---- columns by the names of another table ---- */

/* the column of exactly this name; count: there is none */
static size_t find_name(const csv_columns *c, const char *name) {
  char room[COLUMN_NAME];
  size_t i = 0;
  for (; name && i < c->count; i++) {
    const span text = span_trim(name_of(c->at, i, room));
    if (text.size == strlen(name) && memcmp(text.at, name, text.size) == 0) break;
  }
  return name ? i : c->count;
}

static bool split_name(span name, span *stem, int *index);

/* the channel that a column belongs to by its name: of a step the name itself, of a series what stands before its
 * number; -1: none */
static int channel_like(const csv_columns *c, const sparc_columns *like, size_t i) {
  char room[COLUMN_NAME];
  span text = span_trim(name_of(c->at, i, room));
  int index;
  if (!like->steps && !split_name(text, &text, &index)) return -1;
  for (int k = 0; k < like->channels; k++)
    if (strlen(like->channel[k]) == text.size && memcmp(like->channel[k], text.at, text.size) == 0) return k;
  return -1;
}

/* whether the first row has any of the names */
static bool has_names(const csv_columns *c, const sparc_columns *like) {
  const char *const others[] = {like->label, like->id, like->time};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++)
    if (find_name(c, others[k]) < c->count) return true;
  for (int k = 0; k < like->ignored; k++)
    if (find_name(c, like->ignore[k]) < c->count) return true;
  for (size_t i = 0; i < c->count; i++)
    if (channel_like(c, like, i) >= 0) return true;
  return false;
}

/* all names of the first row, with NULL behind them; sparc_free releases the list */
static char **copy_names(const csv_columns *c) {
  char **list = sparc_alloc((c->count + 1) * (sizeof *list + COLUMN_NAME));
  char *text = list ? (char *)(list + c->count + 1) : NULL;
  for (size_t i = 0; list && i < c->count; i++, text += COLUMN_NAME) {
    char room[COLUMN_NAME];
    const span name = span_trim(name_of(c->at, i, room));
    if (name.size < COLUMN_NAME) memcpy(text, name.at, name.size); /* a longer one is none */
    list[i] = text;
  }
  return list;
}

static sparc_status report_missing(const csv_columns *c, const csv_text *f, const char *const *wanted, size_t count,
                                   const bool *found) {
  char **have = copy_names(c);
  if (!have) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu columns", f->at.label, c->count);
  const sparc_status status = columns_missing(f->at.label, wanted, count, found, (const char *const *)have);
  sparc_free(have);
  return status;
}

/* a column that must be there */
static sparc_status need_like(csv_columns *c, const csv_text *f, const char *name, column_role role) {
  if (!name) return SPARC_OK;
  const size_t i = find_name(c, name);
  if (i == c->count) return report_missing(c, f, &name, 1, &(bool){false});
  return give_role(c, f, i, (span){name, strlen(name)}, role);
}

/* whether every channel is there; what is none of them is left out */
static sparc_status keep_channels(csv_columns *c, const csv_text *f, const sparc_columns *like) {
  bool *found = sparc_alloc((size_t)like->channels * sizeof *found);
  if (!found) return fail(SPARC_NO_MEMORY, "%s: no memory for %d channels", f->at.label, like->channels);
  sparc_status status = SPARC_OK;
  bool complete = true;
  for (size_t i = 0; i < c->count && status == SPARC_OK; i++) {
    const int k = c->at[i].role == COLUMN_VALUE ? channel_like(c, like, i) : -1;
    if (k < 0 && c->at[i].role == COLUMN_VALUE) c->at[i].role = COLUMN_IGNORED;
    if (k < 0) continue;
    if (found[k] && like->steps) status = bad_line(&f->at, "column '%s' is there twice", quote(like->channel[k]).text);
    found[k] = true;
    c->at[i].slot = (size_t)k;
  }
  for (int k = 0; k < like->channels; k++) complete = complete && found[k];
  if (status == SPARC_OK && !complete) status = report_missing(c, f, like->channel, (size_t)like->channels, found);
  sparc_free(found);
  return status;
}

/* roles as in another table, by name; what the options say of columns is about that one */
static sparc_status assign_like(csv_columns *c, const csv_text *f, const sparc_read_options *o) {
  const sparc_columns *like = o->like;
  const char *time = is_none(o->time_column) ? NULL : o->time_column;
  sparc_status status =
      like->id ? need_like(c, f, like->id, COLUMN_ID) : assign(c, f, o->id_column, o->header, COLUMN_ID);
  if (status == SPARC_OK)
    status = like->time ? need_like(c, f, like->time, COLUMN_TIME) : assign(c, f, time, o->header, COLUMN_TIME);
  for (int k = 0; k < like->ignored && status == SPARC_OK; k++)
    if (find_name(c, like->ignore[k]) < c->count) status = need_like(c, f, like->ignore[k], COLUMN_IGNORED);
  if (status == SPARC_OK && !like->ignored && !like->channels)
    status = assign(c, f, o->ignore_columns, o->header, COLUMN_IGNORED);
  if (status != SPARC_OK) return status;
  const bool labelled = c->labelled && find_name(c, like->label) < c->count;
  if (like->label && find_name(c, like->label) < c->count)
    status = need_like(c, f, like->label, labelled ? COLUMN_LABEL : COLUMN_IGNORED);
  if (status == SPARC_OK && c->labelled && !like->label) {
    if (o->label_column)
      status = assign(c, f, o->label_column, o->header, COLUMN_LABEL);
    else if (!like->channels)
      assign_last(c);
  } else {
    c->labelled = labelled;
  }
  if (status == SPARC_OK && like->channels) status = keep_channels(c, f, like);
  return status;
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

/* a column without a name in front of columns that all have one */
static bool has_index(const csv_columns *c) {
  if (c->count < 2 || c->at[0].role != COLUMN_VALUE || span_trim(c->at[0].name).size) return false;
  for (size_t i = 1; i < c->count; i++)
    if (!span_trim(c->at[i].name).size) return false;
  return true;
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
  return names->count > 0 && c->values % (size_t)names->count == 0;
}

/* places values by their names; false unless every name has the same steps, all of them. Channels are in the order of
 * `like`, which may be NULL, or in that of the file. */
static bool place_by_name(csv_columns *c, const sparc_columns *like) {
  channel_names names = {.count = 0};
  int first;
  for (int k = 0; like && k < like->channels && k < MOST_NAMES; k++)
    names.stem[names.count++] = (span){like->channel[k], strlen(like->channel[k])};
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

/* whether a file has more rows than this */
static bool has_more_rows(csv_text f, size_t count) {
  for (size_t i = 0; i <= count; i++)
    if (!csv_next_row(&f) || csv_skip_row(&f) != SPARC_OK) return false;
  return true;
}

/* A forecast from a table: a row may be a step of all series or a series. It is a step where there is an index, or a
 * single column; a series where names count steps, channels are given, or rows are long. */
static sparc_status settle_rows(csv_columns *c, const csv_text *f, const sparc_read_options *o, bool index) {
  enum { SHORT_ROW = 64 };
  const sparc_columns *like = o->like;
  c->steps = o->id_column || o->time_column || (like && like->steps);
  if (c->steps || o->goal != SPARC_GOAL_FORECAST) return SPARC_OK;
  if (index || c->values == 1) {
    c->steps = true;
    return SPARC_OK;
  }
  csv_columns trial = *c;
  if (o->channels || c->values >= SHORT_ROW || like || (c->named && place_by_name(&trial, NULL)) ||
      !has_more_rows(*f, c->values + (c->named ? 1 : 0)))
    return SPARC_OK;
  return fail(SPARC_INVALID,
              "%s: is each of its many rows of %zu values a step, or a series? --time COLUMN (or --time none: in the "
              "order of the file) makes it a step, with --id COLUMN of one of several series; --channels 1 a series",
              f->at.label, c->values);
}

static sparc_status place_values(csv_columns *c, const csv_text *f, const sparc_read_options *o, bool by_name) {
  const sparc_columns *like = by_name && o->like->channels ? o->like : NULL;
  if (c->values == 0)
    return bad_line(&f->at, "the first row has %zu field%s, expected values%s", c->count, c->count == 1 ? "" : "s",
                    c->labelled ? " and a label" : "");
  if (c->steps) {
    if (!like) place_in_order(c, (int)c->values);
    c->channels = (int)c->values;
    return SPARC_OK;
  }
  if (like && place_by_name(c, like)) return SPARC_OK;
  if (like)
    return bad_line(&f->at, "the steps of the channels are not %s_0, %s_1, ... without a gap, the same of each",
                    quote(like->channel[0]).text, quote(like->channel[0]).text);
  if (c->named && !o->channels && place_by_name(c, NULL)) return SPARC_OK;
  const int channels = o->channels ? o->channels : 1;
  if (c->values % (size_t)channels)
    return bad_line(&f->at, "%zu values in a row are not a multiple of %d channels", c->values, channels);
  if (!c->named || !place_by_name(c, NULL) || c->channels != channels) place_in_order(c, channels);
  return SPARC_OK;
}

/* ---- together ---- */

static sparc_status learn_roles(csv_columns *c, const csv_text *f, locale_t locale, const sparc_read_options *o,
                                bool by_name) {
  const sparc_status status = by_name ? assign_like(c, f, o) : assign_roles(c, f, o);
  const column_list list = list_of(c);
  if (status == SPARC_OK && (o->header > 0 || (o->header == 0 && columns_have_header(&list, locale, f->decimal))))
    c->named = true;
  if (by_name) c->named = true;
  return status;
}

/* whether columns are to be found by the names of another table: the first row has one of them, or is a header anyway
 */
static bool goes_by_name(csv_columns *c, const csv_text *f, locale_t locale, const sparc_read_options *o) {
  if (!o->like || o->header < 0) return false;
  if (o->header > 0 || has_names(c, o->like)) return true;
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
  const bool steps = o->goal == SPARC_GOAL_FORECAST || (o->like && o->like->steps);
  c->at[0].role = steps && !o->time_column && !(o->like && o->like->time) ? COLUMN_TIME : COLUMN_IGNORED;
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
  status = settle_rows(c, &f, o, index);
  return status == SPARC_OK ? place_values(c, &f, o, by_name) : status;
}

void csv_columns_free(csv_columns *c) {
  sparc_free(c->at);
  *c = (csv_columns){.count = 0};
}

/* ---- names ---- */

/* the channel's name: of a step the column's, of a series what stands before the number */
static char *channel_name(const csv_columns *c, char *text) {
  span name = {text, strlen(text)};
  int index;
  if (!c->steps && split_name(name, &name, &index)) text[name.size] = '\0';
  return text;
}

/* whether the names of a series' values are those of channels and steps; others say nothing of channels */
static bool names_count_steps(const csv_columns *c) {
  span stem;
  int index;
  for (size_t i = 0; i < c->count; i++)
    if (c->at[i].role == COLUMN_VALUE && !split_name(c->at[i].name, &stem, &index)) return false;
  return true;
}

sparc_status csv_columns_names(const csv_columns *c, const csv_text *f, column_names **out) {
  *out = NULL;
  if (!c->named) return SPARC_OK;
  char **name = copy_names(c);
  const char **list = sparc_alloc((c->count + (size_t)c->channels + 1) * sizeof *list), **ignore = list + c->channels;
  const bool of_channels = c->steps || (c->channels > 1 && names_count_steps(c));
  sparc_columns names = {.channels = of_channels ? c->channels : 0, .steps = c->steps};
  for (size_t i = 0; name && list && i < c->count; i++) {
    const column_role role = c->at[i].role;
    if (role == COLUMN_LABEL) names.label = name[i];
    if (role == COLUMN_ID) names.id = name[i];
    if (role == COLUMN_TIME) names.time = name[i];
    if (role == COLUMN_IGNORED) ignore[names.ignored++] = name[i];
    if (role == COLUMN_VALUE && c->at[i].slot < (size_t)names.channels) list[c->at[i].slot] = channel_name(c, name[i]);
  }
  names.channel = list;
  names.ignore = ignore;
  if (name && list) *out = column_names_copy(&names);
  sparc_free(name);
  sparc_free(list);
  return *out ? SPARC_OK : fail(SPARC_NO_MEMORY, "%s: no memory for the names of %zu columns", f->at.label, c->count);
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
