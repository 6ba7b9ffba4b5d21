/* SPDX-License-Identifier: MIT */
/* ts.c: the .ts text of the UEA and UCR archives.
 *
 *   # comment, or % comment
 *   @problemName Gestures
 *   @univariate false
 *   @dimension 2
 *   @classLabel true left right
 *   @data
 *   1,2,3:4,5,6:left           channel : channel : label
 *
 * The header declares the data. If they disagree the file is refused, and the error text has both. Unknown keys are
 * logged and ignored.
 */
#include "data/dataset.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { UNSET = -1 };

/* one line of the header */
typedef struct entry {
  span value;
  size_t line; /* 0: there is no such line */
} entry;

typedef enum key { PROBLEM, TIMESTAMPS, MISSING, UNIVARIATE, DIMENSION, EQUAL, LENGTH, CLASSES, TARGET, KEYS } key;

static const struct {
  const char *name;
  key key;
} keys[] = {
    {"@problemName", PROBLEM}, {"@timeStamps", TIMESTAMPS}, {"@missing", MISSING},   {"@univariate", UNIVARIATE},
    {"@dimension", DIMENSION}, {"@dimensions", DIMENSION},  {"@equalLength", EQUAL}, {"@seriesLength", LENGTH},
    {"@classLabel", CLASSES},  {"@targetLabel", TARGET},
};

typedef struct header {
  entry entries[KEYS];
  int channels;      /* UNSET: as the first series has */
  int length;        /* UNSET: any */
  bool equal;        /* every series is as long as the first */
  bool no_missing;   /* missing values contradict the header */
  bool labelled;     /* series end with a label */
  size_t first_line; /* of the data */
} header;

/* ---- the header ---- */

static span first_word(span *rest) {
  *rest = span_trim(*rest);
  size_t size = 0;
  while (size < rest->size && rest->at[size] != ' ' && rest->at[size] != '\t') size++;
  const span word = {rest->at, size};
  *rest = span_trim((span){rest->at + size, rest->size - size});
  return word;
}

static bool is_comment(span line) { return line.at[0] == '#' || line.at[0] == '%'; }

static sparc_status store_entry(const lines *t, header *h, span name, span value) {
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (!span_is(name, keys[i].name)) continue;
    entry *e = &h->entries[keys[i].key];
    if (e->line) return bad_line(t, "%s is given again, the first time was line %zu", keys[i].name, e->line);
    *e = (entry){value, t->line};
    return SPARC_OK;
  }
  log_line("%s:%zu: the header line '%s' is not known and ignored", t->label, t->line, span_quote(name).text);
  return SPARC_OK;
}

/* reads up to and including @data */
static sparc_status read_entries(lines *t, header *h) {
  for (span line; lines_next_used(t, &line);) {
    span value = line;
    const span name = first_word(&value);
    if (is_comment(name)) continue;
    if (span_is(name, "@data")) return SPARC_OK;
    if (name.at[0] != '@')
      return bad_line(t, "'%s' before @data, expected a line that starts with @, # or %%", span_quote(name).text);
    sparc_status status = store_entry(t, h, name, value);
    if (status != SPARC_OK) return status;
  }
  return fail(SPARC_FORMAT, "%s:%zu: the file ends without @data", t->label, t->line + !t->line);
}

/* a boolean entry: 1, 0, or UNSET if it is absent */
static sparc_status read_boolean(const lines *t, const header *h, key k, const char *name, int *out) {
  const entry *e = &h->entries[k];
  *out = UNSET;
  if (!e->line) return SPARC_OK;
  span rest = e->value;
  const span word = first_word(&rest);
  if (span_is(word, "true")) *out = 1;
  if (span_is(word, "false")) *out = 0;
  if (*out == UNSET || (rest.size && k != CLASSES))
    return fail(SPARC_FORMAT, "%s:%zu: %s is '%s', expected true or false", t->label, e->line, name,
                span_quote(e->value).text);
  return SPARC_OK;
}

static sparc_status read_whole(const lines *t, const header *h, key k, const char *name, int *out) {
  const entry *e = &h->entries[k];
  *out = UNSET;
  if (e->line && (!parse_int(e->value, out) || *out < 1))
    return fail(SPARC_FORMAT, "%s:%zu: %s is '%s', expected a whole number of at least 1", t->label, e->line, name,
                span_quote(e->value).text);
  return SPARC_OK;
}

/* the labels after "@classLabel true" are the classes, unless the options have some */
static sparc_status read_classes(builder *b, const lines *t, const header *h, bool labelled) {
  const entry *e = &h->entries[CLASSES];
  if (!e->line || !h->labelled || !labelled || b->map) return SPARC_OK;
  span rest = e->value;
  first_word(&rest);
  if (!rest.size) return SPARC_OK;
  label_list list = {.count = 0};
  sparc_status status = SPARC_OK;
  while (rest.size && status == SPARC_OK) {
    const span word = first_word(&rest);
    if (word.size > LABEL_MAX || !span_is_utf8(word))
      status = fail(SPARC_FORMAT, "%s:%zu: the label '%s' is not up to %d bytes of UTF-8 text", t->label, e->line,
                    span_quote(word).text, LABEL_MAX);
    else if (!label_list_add(&list, b->c, word, 0))
      status = fail(SPARC_NO_MEMORY, "%s: no memory for the labels", t->label);
  }
  if (status == SPARC_OK && !(b->map = class_map_collect(&list, NULL)))
    status = fail(SPARC_NO_MEMORY, "%s: no memory for the labels", t->label);
  label_list_free(&list);
  return status;
}

/* the boolean entries of a header: 1, 0 or UNSET */
typedef struct flags {
  int stamps, missing, univariate, equal, labelled, target;
} flags;

static sparc_status read_values(const lines *t, header *h, flags *x) {
  const struct {
    key key;
    const char *name;
    int *out;
    sparc_status (*read)(const lines *, const header *, key, const char *, int *);
  } fields[] = {
      {TIMESTAMPS, "@timeStamps", &x->stamps, read_boolean},     {MISSING, "@missing", &x->missing, read_boolean},
      {UNIVARIATE, "@univariate", &x->univariate, read_boolean}, {EQUAL, "@equalLength", &x->equal, read_boolean},
      {CLASSES, "@classLabel", &x->labelled, read_boolean},      {TARGET, "@targetLabel", &x->target, read_boolean},
      {DIMENSION, "@dimension", &h->channels, read_whole}};
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < sizeof fields / sizeof *fields && status == SPARC_OK; i++)
    status = fields[i].read(t, h, fields[i].key, fields[i].name, fields[i].out);
  /* without @equalLength true the length is ignored */
  h->length = UNSET;
  if (status == SPARC_OK && x->equal != 0) status = read_whole(t, h, LENGTH, "@seriesLength", &h->length);
  h->equal = x->equal == 1;
  h->no_missing = x->missing == 0;
  h->labelled = x->labelled == 1 || x->target == 1;
  return status;
}

static sparc_status check_header(const lines *t, const header *h, const flags *x, bool numbers) {
  const size_t univariate = h->entries[UNIVARIATE].line, dimension = h->entries[DIMENSION].line;
  if (x->stamps == 1)
    return fail(SPARC_FORMAT, "%s:%zu: @timeStamps true: series with time stamps cannot be read", t->label,
                h->entries[TIMESTAMPS].line);
  if (x->target == 1 && x->labelled == 1)
    return fail(SPARC_FORMAT, "%s:%zu: @targetLabel true, but line %zu says @classLabel true", t->label,
                h->entries[TARGET].line, h->entries[CLASSES].line);
  if (x->target == 1 && !numbers)
    return fail(SPARC_FORMAT, "%s:%zu: @targetLabel true: the labels are numbers, expected objective regress", t->label,
                h->entries[TARGET].line);
  if (x->labelled == UNSET && x->target == UNSET)
    return bad_line(t, "@data without @classLabel before it, expected @classLabel %s", "true or false");
  if (h->channels != UNSET && univariate && (x->univariate == 1) != (h->channels == 1))
    return fail(SPARC_FORMAT, "%s:%zu: @dimension is %d, but line %zu says @univariate %s", t->label, dimension,
                h->channels, univariate, x->univariate ? "true" : "false");
  return SPARC_OK;
}

/* ---- the data ---- */

static size_t count_char(span s, char c) {
  size_t count = 0;
  for (size_t i = 0; i < s.size; i++) count += s.at[i] == c;
  return count;
}

/* takes the label off the end of a series */
static sparc_status cut_label(const lines *t, const header *h, span *series, span *label) {
  size_t size = series->size;
  while (size && series->at[size - 1] != ':') size--;
  if (size == 0)
    return bad_line(t, "no label after the values, but line %zu says %s true",
                    h->entries[h->entries[CLASSES].line ? CLASSES : TARGET].line,
                    h->entries[CLASSES].line ? "@classLabel" : "@targetLabel");
  *label = (span){series->at + size, series->size - size};
  series->size = size - 1;
  return SPARC_OK;
}

/* the number of channels against the header, or against the first series */
static sparc_status check_channels(builder *b, const lines *t, header *h, size_t channels) {
  const entry *univariate = &h->entries[UNIVARIATE], *dimension = &h->entries[DIMENSION];
  if (h->channels == UNSET) {
    const bool one = span_is(span_trim(univariate->value), "true");
    if (univariate->line && one != (channels == 1))
      return bad_line(t, "%zu channels, but line %zu says @univariate %s", channels, univariate->line,
                      one ? "true" : "false");
    if (channels > INT_MAX) return bad_line(t, "%zu channels, expected at most %d", channels, INT_MAX);
    h->channels = (int)channels;
  } else if (channels != (size_t)h->channels) {
    if (dimension->line)
      return bad_line(t, "%zu channels, but line %zu says @dimension %d", channels, dimension->line, h->channels);
    return bad_line(t, "%zu channels, expected %d as in line %zu", channels, h->channels, h->first_line);
  }
  b->channels = h->channels;
  return SPARC_OK;
}

static sparc_status check_length(const lines *t, header *h, size_t length) {
  const entry *equal = &h->entries[EQUAL], *given = &h->entries[LENGTH];
  if (h->length != UNSET && length != (size_t)h->length) {
    if (given->line)
      return bad_line(t, "%zu steps, but line %zu says @seriesLength %d", length, given->line, h->length);
    return bad_line(t, "%zu steps after %d in line %zu, but line %zu says @equalLength true", length, h->length,
                    h->first_line, equal->line);
  }
  if (h->equal) h->length = (int)length;
  return SPARC_OK;
}

/* one channel, its values `stride` apart */
static sparc_status read_channel(const builder *b, const lines *t, const header *h, span values, size_t channel,
                                 float *out) {
  bool more = true;
  for (size_t i = 0; more; i++) {
    const span field = span_trim(span_cut(&values, ',', &more));
    const number_kind kind = field.size ? parse_float(b->c, field, &out[i * (size_t)b->channels]) : NUMBER_WRONG;
    if (kind > NUMBER_MISSING)
      return bad_line(t, "channel %zu, value %zu is '%s', expected %s", channel + 1, i + 1, span_quote(field).text,
                      number_expected(kind));
    if (kind == NUMBER_MISSING && h->no_missing)
      return bad_line(t, "channel %zu, value %zu is missing, but line %zu says @missing false", channel + 1, i + 1,
                      h->entries[MISSING].line);
  }
  return SPARC_OK;
}

/* the steps of a series, the same for all its channels; known before memory is allocated */
static sparc_status measure(const lines *t, span series, size_t *length) {
  bool more = true;
  for (size_t c = 0; more; c++) {
    const span values = span_trim(span_cut(&series, ':', &more));
    const size_t steps = count_char(values, ',') + 1;
    if (!values.size) return bad_line(t, "channel %zu has no values", c + 1);
    if (values.at[0] == '(')
      return bad_line(t, "channel %zu starts with '(': series with time stamps cannot be read", c + 1);
    if (c == 0) *length = steps;
    if (steps != *length)
      return bad_line(t, "channel %zu has %zu steps, expected %zu as channel 1 has", c + 1, steps, *length);
  }
  return SPARC_OK;
}

static sparc_status read_series(builder *b, const lines *t, header *h, span series) {
  size_t length = 0;
  float *out = NULL;
  sparc_status status = check_channels(b, t, h, count_char(series, ':') + 1);
  if (status == SPARC_OK) status = measure(t, series, &length);
  if (status == SPARC_OK) status = check_length(t, h, length);
  if (status == SPARC_OK) status = builder_begin(b, length, &out);
  bool more = true;
  for (size_t c = 0; more && status == SPARC_OK; c++)
    status = read_channel(b, t, h, span_cut(&series, ':', &more), c, out + c);
  if (status != SPARC_OK) return status;
  if (builder_end(b, length) == length * (size_t)b->channels)
    return bad_line(t, "all %zu values are missing, expected at least one number", length * (size_t)b->channels);
  return SPARC_OK;
}

/* the problem's name becomes the data set's, if it can be one */
static void set_name(builder *b, span name) {
  if (span_is_utf8(name)) snprintf(b->name, sizeof b->name, "%s", span_quote(name).text);
}

sparc_status read_ts(builder *b, const source *s, const source *labels, const sparc_read_options *o) {
  (void)labels;
  lines t;
  header h = {.channels = UNSET};
  flags x;
  sparc_status status = lines_open(&t, s);
  if (status == SPARC_OK) status = read_entries(&t, &h);
  if (status == SPARC_OK) status = read_values(&t, &h, &x);
  if (status == SPARC_OK) status = check_header(&t, &h, &x, b->numbers || o->unlabelled);
  if (status == SPARC_OK) status = read_classes(b, &t, &h, !o->unlabelled && !b->numbers);
  if (status == SPARC_OK) set_name(b, h.entries[PROBLEM].value);
  for (span line; status == SPARC_OK && lines_next_used(&t, &line);) {
    span series = span_trim(line), label = {"?", 1};
    if (is_comment(series)) continue;
    if (!h.first_line) h.first_line = t.line;
    if (h.labelled) status = cut_label(&t, &h, &series, &label);
    if (status == SPARC_OK) status = read_series(b, &t, &h, series);
    if (status == SPARC_OK && h.labelled && !o->unlabelled) status = builder_label(b, place_line(&t).text, label);
    lines_done(&t);
  }
  if (status == SPARC_OK && !h.first_line) return fail(SPARC_FORMAT, "%s:%zu: no series after @data", t.label, t.line);
  return status;
}
