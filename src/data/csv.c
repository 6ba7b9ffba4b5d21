/* SPDX-License-Identifier: MIT */
/* csv.c: comma-separated values, one series a row, with a label in one of the columns.
 *
 * Fields may be quoted as in RFC 4180: a quoted field may hold separators, line ends and doubled quotes. The separator
 * is the one of comma, semicolon and tab that the first row has most of. The first row is a header if half of the
 * columns that should hold numbers hold something else, or if it calls the label column by a usual name.
 */
#include "data/dataset.h"

#include <string.h>

typedef struct field {
  span text;    /* without the quotes around it, quotes inside still doubled */
  bool last;    /* of its row */
  size_t quote; /* line of its opening quote, 0: not quoted */
} field;

typedef struct table {
  lines at; /* line is the one in which the next field starts */
  char separator;
  size_t columns;
  size_t label; /* column of the label, columns if there is none */
  bool named;   /* the first row is a header */
} table;

/* ---- fields ---- */

/* the closing quote of a field that opened before t->at, NULL if there is none; counts the lines in between */
static const char *find_closing_quote(lines *t) {
  for (const char *p = t->at; p < t->end; p++) {
    if (*p == '\n') t->line++;
    if (*p != '"') continue;
    if (p + 1 == t->end || p[1] != '"') return p;
    p++;
  }
  return NULL;
}

static bool ends_line(const lines *t, const char *p) {
  return p == t->end || *p == '\n' || (*p == '\r' && (p + 1 == t->end || p[1] == '\n'));
}

/* moves past the separator or the line end at p */
static sparc_status finish_field(table *f, const char *p, field *out) {
  lines *t = &f->at;
  out->last = ends_line(t, p);
  if (!out->last && *p != f->separator)
    return bad_line(t, "'%s' follows a closing quote, expected a separator or the end of the line",
                    span_quote((span){p, 1}).text);
  if (p < t->end && *p == '\r') p++;
  if (p < t->end) p++;
  t->at = p;
  return SPARC_OK;
}

static sparc_status next_field(table *f, field *out) {
  lines *t = &f->at;
  const char *p = t->at;
  *out = (field){.last = false};
  while (p < t->end && *p == ' ') p++;
  if (p < t->end && *p == '"') {
    out->quote = t->line;
    t->at = p + 1;
    const char *closing = find_closing_quote(t);
    if (!closing) return fail(SPARC_FORMAT, "%s:%zu: the quote that opens here is never closed", t->label, out->quote);
    out->text = span_of(t->at, closing);
    for (p = closing + 1; p < t->end && *p == ' ';) p++;
    return finish_field(f, p, out);
  }
  for (; !ends_line(t, p) && *p != f->separator; p++)
    if (*p == '"')
      return bad_line(t, "a quote after '%s' in a field, expected quotes around all of it",
                      span_quote(span_of(t->at, p)).text);
  out->text = span_trim(span_of(t->at, p));
  return finish_field(f, p, out);
}

/* skips blank lines and says whether a row follows; its line becomes the current one */
static bool next_row(table *f) {
  lines *t = &f->at;
  while (t->at < t->end) {
    const char *start = t->at;
    span line;
    lines_next(t, &line);
    if (!span_trim(line).size) continue;
    t->at = start;
    return true;
  }
  return false;
}

/* the text of a field with its doubled quotes halved, as far as it fits */
static span plain(const field *x, char *room, size_t capacity) {
  size_t used = 0;
  if (!x->quote || !memchr(x->text.at, '"', x->text.size)) return x->text;
  for (size_t i = 0; i < x->text.size && used < capacity; i++) {
    room[used++] = x->text.at[i];
    if (x->text.at[i] == '"') i++;
  }
  return (span){room, used};
}

/* ---- the shape of the table ---- */

static char separator_of(const lines *t) {
  static const char candidates[] = ",;\t";
  size_t best = 0;
  char separator = ',';
  for (const char *candidate = candidates; *candidate; candidate++) {
    size_t count = 0;
    bool quoted = false;
    for (const char *p = t->at; p < t->end && (quoted || *p != '\n'); p++) {
      if (*p == '"') quoted = !quoted;
      count += !quoted && *p == *candidate;
    }
    if (count > best) best = count, separator = *candidate;
  }
  return separator;
}

/* counts the columns and finds the one with a given name; the table stays where it is */
static sparc_status count_columns(table *f, const char *name, size_t *named) {
  table copy = *f;
  char room[LABEL_MAX + 1];
  field x = {.last = false};
  *named = SIZE_MAX;
  for (f->columns = 0; !x.last; f->columns++) {
    sparc_status status = next_field(&copy, &x);
    if (status != SPARC_OK) return status;
    const span text = plain(&x, room, sizeof room);
    if (name && *named == SIZE_MAX && text.size == strlen(name) && memcmp(text.at, name, text.size) == 0)
      *named = f->columns;
  }
  return SPARC_OK;
}

/* the column of the label: by number, by a name in the first row, or the last */
static sparc_status choose_label(table *f, const sparc_read_options *o, size_t named) {
  f->label = o->unlabelled ? f->columns : f->columns - 1;
  if (o->unlabelled || !o->label_column) return SPARC_OK;
  int number;
  if (parse_int((span){o->label_column, strlen(o->label_column)}, &number)) {
    named = number >= 1 && (size_t)number <= f->columns ? (size_t)number - 1 : SIZE_MAX;
  } else if (named != SIZE_MAX) {
    f->named = true;
  }
  f->label = named;
  if (named == SIZE_MAX || (f->named && o->header < 0)) {
    return bad_line(&f->at, "there is no column '%s', expected a name in the first row or a number from 1 to %zu",
                    quote(o->label_column).text, f->columns);
  }
  return SPARC_OK;
}

/* a header has words where numbers should be, in half of the columns at least: one word is rather a mistake */
static bool looks_like_header(const table *f, locale_t c) {
  static const char *const usual[] = {"label", "labels", "class", "target", "y"};
  table copy = *f;
  size_t words = 0;
  field x = {.last = false};
  for (size_t column = 0; column < f->columns && next_field(&copy, &x) == SPARC_OK; column++) {
    double number;
    if (column != f->label) {
      words += parse_double(c, span_trim(x.text), &number) == NUMBER_WRONG;
      continue;
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
      if (span_is(x.text, usual[i])) return true;
  }
  return 2 * words >= f->columns - (f->label < f->columns);
}

/* learns the shape from the first row, which is read again later */
static sparc_status learn_shape(table *f, locale_t c, const sparc_read_options *o) {
  f->separator = separator_of(&f->at);
  size_t named;
  sparc_status status = count_columns(f, o->label_column, &named);
  if (status == SPARC_OK) status = choose_label(f, o, named);
  if (status != SPARC_OK) return status;
  if (f->columns < 1 + (size_t)!o->unlabelled)
    return bad_line(&f->at, "the first row has %zu field, expected values and a label", f->columns);
  if (o->header > 0 || (o->header == 0 && looks_like_header(f, c))) f->named = true;
  return SPARC_OK;
}

static sparc_status open_table(table *f, locale_t c, const sparc_read_options *o) {
  const lines start = f->at;
  if (!next_row(f)) return fail(SPARC_FORMAT, "%s:1: no rows, expected values and a label", f->at.label);
  sparc_status status = learn_shape(f, c, o);
  f->at = start;
  return status;
}

/* ---- rows ---- */

static sparc_status skip_header(table *f) {
  field x = {.last = false};
  sparc_status status = SPARC_OK;
  next_row(f);
  while (status == SPARC_OK && !x.last) status = next_field(f, &x);
  return status;
}

/* a row with a field too few has its label in the column of a number, so the number of fields is judged first */
static sparc_status read_fields(builder *b, table *f, float *values, field *label, size_t *missing) {
  field x = {.last = false}, wrong = x;
  number_kind wrong_kind = NUMBER_FINITE;
  size_t column = 0, count = 0, wrong_column = 0;
  *missing = 0;
  for (; !x.last; column++) {
    sparc_status status = next_field(f, &x);
    if (status != SPARC_OK) return status;
    if (column == f->label) *label = x;
    if (column == f->label || column >= f->columns) continue;
    const number_kind kind = parse_float(b->c, span_trim(x.text), &values[count++]);
    *missing += kind == NUMBER_MISSING;
    if (kind > NUMBER_MISSING && !wrong_column) wrong = x, wrong_kind = kind, wrong_column = column + 1;
  }
  if (column != f->columns) return bad_line(&f->at, "%zu fields, expected %zu as in the first row", column, f->columns);
  if (wrong_column)
    return bad_line(&f->at, "column %zu is '%s', expected %s", wrong_column, span_quote(wrong.text).text,
                    number_expected(wrong_kind));
  return SPARC_OK;
}

static sparc_status read_row(builder *b, table *f) {
  const size_t count = f->columns - (f->label < f->columns);
  field label = {.text = {"?", 1}};
  size_t missing;
  float *values;
  sparc_status status = builder_begin(b, count, &values);
  if (status == SPARC_OK) status = read_fields(b, f, values, &label, &missing);
  if (status != SPARC_OK) return status;
  if (missing == count) return bad_line(&f->at, "all %zu values are missing, expected at least one number", count);
  builder_end(b, count);
  char room[LABEL_MAX + 2];
  return builder_label(b, place_line(&f->at).text, plain(&label, room, sizeof room));
}

sparc_status read_csv(builder *b, const source *s, const source *labels, const sparc_read_options *o) {
  (void)labels;
  table f = {.separator = ','};
  sparc_status status = lines_open(&f.at, s);
  if (status == SPARC_OK) status = open_table(&f, b->c, o);
  if (status == SPARC_OK && f.named) status = skip_header(&f);
  size_t rows = 0;
  for (; status == SPARC_OK && next_row(&f); rows++) status = read_row(b, &f);
  if (status == SPARC_OK && rows == 0)
    return fail(SPARC_FORMAT, "%s:%zu: no rows after the header", f.at.label, f.at.line);
  return status;
}
