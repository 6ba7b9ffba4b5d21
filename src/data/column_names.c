/* SPDX-License-Identifier: MIT */
/* column_names.c: copies of column names, and the error for missing ones. */
#include "data/column_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool column_name_valid(const char *text) {
  const size_t size = text ? strlen(text) : 0;
  return size > 0 && size <= SPARC_COLUMN_NAME && span_is_utf8((span){text, size});
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* whether all are valid and no two are alike; -1 without memory */
static int are_distinct(const char *const *name, int count) {
  for (int i = 0; i < count; i++)
    if (!column_name_valid(name[i])) return 0;
  const char **sorted = malloc((size_t)count * sizeof *sorted + 1);
  if (!sorted) return -1;
  for (int i = 0; i < count; i++) sorted[i] = name[i];
  qsort(sorted, (size_t)count, sizeof *sorted, compare_texts);
  int i = 1;
  while (i < count && strcmp(sorted[i - 1], sorted[i]) != 0) i++;
  free(sorted);
  return i >= count;
}

/* ---- keeping ---- */

static size_t bytes_of(const char *text) { return text ? strlen(text) + 1 : 0; }

static const char *copy_text(char **buffer, const char *text) {
  if (!text) return NULL;
  const size_t size = strlen(text) + 1;
  char *copy = memcpy(*buffer, text, size);
  *buffer += size;
  return copy;
}

static const char *valid_or_null(const char *text) { return column_name_valid(text) ? text : NULL; }

/* names copied to `list`, texts to *buffer; those that are not valid are left out. Returns how many there are. */
static int copy_list(const char **list, const char *const *from, int count, char **buffer) {
  int kept = 0;
  for (int i = 0; i < count; i++)
    if (column_name_valid(from[i])) list[kept++] = copy_text(buffer, from[i]);
  return kept;
}

column_names *column_names_copy(const sparc_columns *given) {
  sparc_columns from = *given;
  const int channels = are_distinct(from.channel, from.channels), values = are_distinct(from.value, from.values);
  if (channels < 0 || values < 0) return NULL;
  if (!channels) from.channels = 0;
  if (!values) from.values = 0;
  from.label = valid_or_null(from.label);
  from.id = valid_or_null(from.id);
  from.time = valid_or_null(from.time);
  size_t texts = bytes_of(from.label) + bytes_of(from.id) + bytes_of(from.time);
  for (int i = 0; i < from.channels; i++) texts += bytes_of(from.channel[i]);
  for (int i = 0; i < from.ignored; i++) texts += bytes_of(from.ignore[i]);
  for (int i = 0; i < from.values; i++) texts += bytes_of(from.value[i]);
  const size_t entries = (size_t)from.channels + (size_t)from.ignored + (size_t)from.values;
  column_names *names = sparc_alloc(sizeof *names + entries * sizeof(char *) + texts);
  if (!names) return NULL;
  const char **channel = (const char **)(names + 1), **value = channel + from.channels, **ignore = value + from.values;
  char *buffer = (char *)(ignore + from.ignored);
  atomic_init(&names->references, 1);
  copy_list(channel, from.channel, from.channels, &buffer);
  copy_list(value, from.value, from.values, &buffer);
  names->view = (sparc_columns){.channels = from.channels,
                                .channel = from.channels ? channel : NULL,
                                .ignored = copy_list(ignore, from.ignore, from.ignored, &buffer),
                                .steps = from.steps != 0,
                                .values = from.values,
                                .value = from.values ? value : NULL};
  names->view.ignore = names->view.ignored ? ignore : NULL;
  names->view.label = copy_text(&buffer, from.label);
  names->view.id = copy_text(&buffer, from.id);
  names->view.time = copy_text(&buffer, from.time);
  return names;
}

column_names *column_names_share(column_names *names) {
  if (names) atomic_fetch_add(&names->references, 1);
  return names;
}

void column_names_release(column_names *names) {
  if (names && atomic_fetch_sub(&names->references, 1) == 1) sparc_free(names);
}

/* ---- checking ---- */

static sparc_status check_name(const char *what, int i, const char *text) {
  if (column_name_valid(text)) return SPARC_OK;
  return fail(SPARC_INVALID, "columns.%s %d is %s%s%s, expected 1 to %d bytes of UTF-8 text", what, i, text ? "'" : "",
              text ? span_quote((span){text, strlen(text)}).text : "NULL", text ? "'" : "", SPARC_COLUMN_NAME);
}

/* names that all have to be there, no two alike */
static sparc_status check_names(const char *what, const char *const *name, int count) {
  for (int i = 0; i < count; i++) {
    const sparc_status status = check_name(what, i, name[i]);
    if (status != SPARC_OK) return status;
  }
  const int distinct = are_distinct(name, count);
  if (distinct < 0) return fail(SPARC_NO_MEMORY, "no memory to compare %d names", count);
  return distinct ? SPARC_OK : fail(SPARC_INVALID, "columns.%s has a name twice, expected different ones", what);
}

static sparc_status check_counts(const sparc_columns *names, int channels) {
  const struct {
    const char *what;
    int count;
    const void *list;
  } lists[] = {{"channel", names->channels, names->channel},
               {"ignore", names->ignored, names->ignore},
               {"value", names->values, names->value}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (lists[i].count < 0 || (lists[i].count && !lists[i].list))
      return fail(SPARC_INVALID, "columns.%s is NULL or counted wrongly", lists[i].what);
  if (channels && names->channels && names->channels != channels)
    return fail(SPARC_INVALID, "columns.channels is %d, expected 0 or %d", names->channels, channels);
  if (names->values && (names->channels || names->steps))
    return fail(SPARC_INVALID, "columns.values is %d, expected 0 where channels have names or rows are steps",
                names->values);
  if (channels && names->values % channels)
    return fail(SPARC_INVALID, "columns.values is %d, expected a multiple of %d", names->values, channels);
  return SPARC_OK;
}

sparc_status column_names_check(const sparc_columns *names, int channels) {
  if (!names) return SPARC_OK;
  sparc_status status = check_counts(names, channels);
  if (status == SPARC_OK) status = check_names("channel", names->channel, names->channels);
  if (status == SPARC_OK) status = check_names("value", names->value, names->values);
  for (int i = 0; i < names->ignored && status == SPARC_OK; i++) status = check_name("ignore", i, names->ignore[i]);
  if (status == SPARC_OK && names->label) status = check_name("label", 0, names->label);
  if (status == SPARC_OK && names->id) status = check_name("id", 0, names->id);
  if (status == SPARC_OK && names->time) status = check_name("time", 0, names->time);
  return status;
}

/* ---- missing names ---- */

typedef struct name_list {
  char text[160];
  size_t used;
} name_list;

/* as many names as fit, followed by "..." if there are more */
static void list_name(name_list *list, const char *name) {
  enum { DOTS = 6 };
  const quotable shown = quote(name);
  const size_t size = strlen(shown.text) + 4; /* comma, blank, two quotes */
  if (list->used + size + DOTS >= sizeof list->text) {
    if (list->used + DOTS < sizeof list->text && (list->used < 3 || list->text[list->used - 1] != '.'))
      list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, ", ...");
    return;
  }
  list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s'%s'",
                                 list->used ? ", " : "", shown.text);
}

static bool is_among(const char *text, const char *const *list, size_t count) {
  size_t i = 0;
  while (i < count && strcmp(list[i], text) != 0) i++;
  return i < count;
}

/* a suggestion for a name: a similar one that is not required; buffer [names of `have` + 1] */
static const char *guess_name(const char *name, const char *const *required, size_t count, const char *const *have,
                              const char **buffer) {
  size_t free_names = 0;
  for (const char *const *other = have; *other; other++)
    if (!is_among(*other, required, count)) buffer[free_names++] = *other;
  buffer[free_names] = NULL;
  return closest(name, buffer);
}

sparc_status columns_missing(const char *where, const char *const *required, size_t count, const bool *found,
                             const char *const *have) {
  name_list missing = {.used = 0}, there = {.used = 0};
  const char *first = NULL;
  size_t lost = 0, names = 0;
  for (size_t i = 0; i < count; i++) {
    if (found[i]) continue;
    list_name(&missing, required[i]);
    if (!lost++) first = required[i];
  }
  for (; have[names]; names++) list_name(&there, have[names]);
  const char **buffer = malloc((names + 1) * sizeof *buffer);
  const char *guess = buffer && first ? guess_name(first, required, count, have, buffer) : NULL;
  free(buffer);
  return fail(SPARC_FORMAT, "%s: column%s %s %s missing; there %s %s%s%s%s", where, lost == 1 ? "" : "s", missing.text,
              lost == 1 ? "is" : "are", names > 1 ? "are" : "is", there.used ? there.text : "none",
              guess ? "; did you mean '" : "", guess ? quote(guess).text : "", guess ? "'?" : "");
}
