/* SPDX-License-Identifier: MIT */
/* csv_names.c: the names in the header of a CSV file: those that a data set keeps, and columns found by those of another.
 *
 * What is kept of the values depends on their names:
 *
 *   rows are steps                          the names of the channels
 *   rows are series, ax_0,ax_1,...,ay_0     the names of the channels, ax and ay: series may have other lengths
 *   rows are series, 0,1,2,... or dates     nothing: they only number the steps; likewise in forecasts
 *   rows are series, anything else          the names of the values, each of which another table must have
 */
#include "data/csv_columns.h"

#include <stdlib.h>
#include <string.h>

/* ---- names to keep ---- */

/* all names of the first row, NULL-terminated; sparc_free releases the list */
static char **copy_names(const csv_columns *c) {
  char **list = sparc_alloc((c->count + 1) * (sizeof *list + COLUMN_NAME));
  char *text = list ? (char *)(list + c->count + 1) : NULL;
  for (size_t i = 0; list && i < c->count; i++, text += COLUMN_NAME) {
    char buffer[COLUMN_NAME];
    const span name = csv_column_name(c, i, buffer);
    if (name.size < COLUMN_NAME) memcpy(text, name.at, name.size); /* a longer one is none */
    list[i] = text;
  }
  return list;
}

/* whether the names of values are whole numbers that count, or dates */
static bool names_only_steps(const csv_columns *c) {
  bool dates = true, counts = true;
  int next = -1;
  for (size_t i = 0; i < c->count; i++) {
    char buffer[COLUMN_NAME];
    int number;
    if (c->at[i].role != COLUMN_VALUE) continue;
    const span name = csv_column_name(c, i, buffer);
    dates = dates && column_is_date(name);
    counts = counts && parse_int(name, &number) && (next < 0 || number == next);
    if (counts && number == INT32_MAX) counts = false;
    if (counts) next = number + 1;
  }
  return dates || counts;
}

/* the channel's name: of a step the column's, of a series the part before the number */
static char *channel_name(const csv_columns *c, char *text) {
  span name = {text, strlen(text)};
  int index;
  if (!c->steps && csv_split_name(name, &name, &index)) text[name.size] = '\0';
  return text;
}

/* names by the roles of their columns; `value` has a place for every slot, `ignore` for every column */
static sparc_columns sort_names(const csv_columns *c, const sparc_read_options *o, char **name, const char **value,
                                const char **ignore) {
  const bool channels = c->steps || c->counted;
  const bool values = !channels && o->objective != SPARC_OBJECTIVE_FORECAST && !names_only_steps(c);
  sparc_columns names = {.channels = channels ? c->channels : 0,
                         .channel = value,
                         .ignore = ignore,
                         .steps = c->steps,
                         .values = values ? (int)c->values : 0,
                         .value = value};
  const size_t kept = (size_t)(names.channels + names.values);
  for (size_t i = 0; i < c->count; i++) {
    const column_role role = c->at[i].role;
    if (role == COLUMN_LABEL) names.label = name[i];
    if (role == COLUMN_ID) names.id = name[i];
    if (role == COLUMN_TIME) names.time = name[i];
    if (role == COLUMN_IGNORED) ignore[names.ignored++] = name[i];
    if (role == COLUMN_VALUE && c->at[i].slot < kept)
      value[c->at[i].slot] = channels ? channel_name(c, name[i]) : name[i];
  }
  return names;
}

sparc_status csv_columns_names(const csv_columns *c, const csv_text *f, const sparc_read_options *o,
                               column_names **out) {
  *out = NULL;
  if (!c->named) return SPARC_OK;
  char **name = copy_names(c);
  const char **list = sparc_alloc((2 * c->count + 1) * sizeof *list);
  if (name && list) {
    const sparc_columns names = sort_names(c, o, name, list, list + c->count);
    *out = column_names_copy(&names);
  }
  sparc_free(name);
  sparc_free(list);
  return *out ? SPARC_OK : fail(SPARC_NO_MEMORY, "%s: no memory for the names of %zu columns", f->at.label, c->count);
}

/* ---- the values of another table, to be searched ---- */

typedef struct entry {
  span text;
  size_t place;
} entry;

typedef struct catalogue {
  const char *const *name;
  size_t count;
  bool counted;  /* a name precedes the number of a step */
  entry *sorted; /* (count), by text; NULL without memory */
} catalogue;

static int compare_entries(const void *a, const void *b) {
  return span_compare(((const entry *)a)->text, ((const entry *)b)->text);
}

/* names of channels or of values; sparc_free releases `sorted` */
static catalogue catalogue_of(const sparc_columns *like) {
  const bool channels = like->channels > 0;
  catalogue t = {.name = channels ? like->channel : like->value,
                 .count = (size_t)(channels ? like->channels : like->values),
                 .counted = channels && !like->steps};
  t.sorted = sparc_alloc((t.count + 1) * sizeof *t.sorted);
  for (size_t k = 0; t.sorted && k < t.count; k++) t.sorted[k] = (entry){{t.name[k], strlen(t.name[k])}, k};
  if (t.sorted) qsort(t.sorted, t.count, sizeof *t.sorted, compare_entries);
  return t;
}

/* the place of the name that a column has; count: none of them */
static size_t find_place(const catalogue *t, const csv_columns *c, size_t i) {
  char buffer[COLUMN_NAME];
  entry key = {.text = csv_column_name(c, i, buffer)};
  int index;
  if (!t->sorted || (t->counted && !csv_split_name(key.text, &key.text, &index))) return t->count;
  const entry *found = bsearch(&key, t->sorted, t->count, sizeof *t->sorted, compare_entries);
  return found ? found->place : t->count;
}

/* the column of exactly this name; count: there is none */
static size_t find_name(const csv_columns *c, const char *name) {
  char buffer[COLUMN_NAME];
  size_t i = 0;
  for (; name && i < c->count; i++)
    if (span_compare(csv_column_name(c, i, buffer), (span){name, strlen(name)}) == 0) break;
  return name ? i : c->count;
}

static bool is_word(const char *name, locale_t locale, char decimal) {
  float unused;
  return parse_decimal(locale, decimal, (span){name, strlen(name)}, &unused) == NUMBER_WRONG;
}

bool csv_has_names(const csv_columns *c, const sparc_columns *like, locale_t locale, char decimal) {
  const char *const others[] = {like->label, like->id, like->time};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++)
    if (find_name(c, others[k]) < c->count && is_word(others[k], locale, decimal)) return true;
  for (int k = 0; k < like->ignored; k++)
    if (find_name(c, like->ignore[k]) < c->count && is_word(like->ignore[k], locale, decimal)) return true;
  const catalogue t = catalogue_of(like);
  bool words = false;
  size_t numbers = 0;
  for (size_t i = 0; i < c->count && !words; i++) {
    const size_t k = find_place(&t, c, i);
    if (k == t.count) continue;
    words = t.counted || is_word(t.name[k], locale, decimal);
    numbers += !words;
  }
  sparc_free(t.sorted);
  return words || (t.count && numbers == t.count);
}

/* ---- roles as in another table ---- */

static sparc_status report_missing(const csv_columns *c, const csv_text *f, const char *const *required, size_t count,
                                   const bool *found) {
  char **have = copy_names(c);
  if (!have) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu columns", f->at.label, c->count);
  const sparc_status status = columns_missing(f->at.label, required, count, found, (const char *const *)have);
  sparc_free(have);
  return status;
}

/* a column that must be there */
static sparc_status need_like(csv_columns *c, const csv_text *f, const char *name, column_role role) {
  if (!name) return SPARC_OK;
  const size_t i = find_name(c, name);
  if (i == c->count) return report_missing(c, f, &name, 1, &(bool){false});
  return csv_give_role(c, f, i, (span){name, strlen(name)}, role);
}

/* gives values their slots; what has none of the names is left out */
static sparc_status place_like(csv_columns *c, const csv_text *f, const catalogue *t, bool *found) {
  for (size_t i = 0; i < c->count; i++) {
    if (c->at[i].role != COLUMN_VALUE) continue;
    const size_t k = find_place(t, c, i);
    if (k == t->count) {
      c->at[i].role = COLUMN_IGNORED;
      continue;
    }
    if (found[k] && !t->counted) return bad_line(&f->at, "column '%s' is there twice", quote(t->name[k]).text);
    found[k] = true;
    c->at[i].slot = k;
  }
  for (size_t k = 0; k < t->count; k++)
    if (!found[k]) return report_missing(c, f, t->name, t->count, found);
  return SPARC_OK;
}

static sparc_status assign_values(csv_columns *c, const csv_text *f, const sparc_columns *like) {
  const catalogue t = catalogue_of(like);
  bool *found = sparc_alloc((t.count + 1) * sizeof *found);
  const sparc_status status = found && t.sorted
                                  ? place_like(c, f, &t, found)
                                  : fail(SPARC_NO_MEMORY, "%s: no memory for %zu names", f->at.label, t.count);
  sparc_free(found);
  sparc_free(t.sorted);
  return status;
}

/* a label may be missing, then examples are unlabelled; one that is not requested is skipped */
static sparc_status assign_label(csv_columns *c, const csv_text *f, const sparc_read_options *o, bool values) {
  const sparc_columns *like = o->columns;
  if (c->labelled && !like->label) {
    if (o->label_column) return csv_assign(c, f, o->label_column, o->header, COLUMN_LABEL);
    if (!values) csv_assign_last(c);
    return SPARC_OK;
  }
  const bool there = find_name(c, like->label) < c->count;
  c->labelled = c->labelled && there;
  return there ? need_like(c, f, like->label, c->labelled ? COLUMN_LABEL : COLUMN_IGNORED) : SPARC_OK;
}

/* skips the columns that the other table ignored, unless the options give them a role */
static void ignore_like(csv_columns *c, const sparc_columns *like) {
  for (int k = 0; k < like->ignored; k++) {
    const size_t i = find_name(c, like->ignore[k]);
    if (i < c->count && c->at[i].role == COLUMN_VALUE) c->at[i].role = COLUMN_IGNORED;
  }
}

sparc_status csv_assign_like(csv_columns *c, const csv_text *f, const sparc_read_options *o) {
  const sparc_columns *like = o->columns;
  const bool values = like->channels || like->values;
  sparc_status status =
      like->id ? need_like(c, f, like->id, COLUMN_ID) : csv_assign(c, f, o->id_column, o->header, COLUMN_ID);
  if (status == SPARC_OK)
    status = like->time ? need_like(c, f, like->time, COLUMN_TIME)
                        : csv_assign(c, f, column_time_name(o->time_column), o->header, COLUMN_TIME);
  if (status == SPARC_OK && o->label_column) status = assign_label(c, f, o, values);
  if (status == SPARC_OK) ignore_like(c, like);
  if (status == SPARC_OK && !like->ignored && !values) status = csv_assign_ignored(c, f, o);
  if (status == SPARC_OK && !o->label_column) status = assign_label(c, f, o, values);
  return status == SPARC_OK && values ? assign_values(c, f, like) : status;
}
