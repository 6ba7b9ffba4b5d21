/* SPDX-License-Identifier: MIT */
/* csv_text.c: fields as in RFC 4180: a quoted one may hold separators, line ends and doubled quotes. */
#include "data/csv_text.h"

#include <string.h>

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
static sparc_status finish_field(csv_text *f, const char *p, field *out) {
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

sparc_status csv_next_field(csv_text *f, field *out) {
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

bool csv_next_row(csv_text *f) {
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

span csv_plain(const field *x, char *buffer, size_t capacity) {
  size_t used = 0;
  if (!x->quote || !memchr(x->text.at, '"', x->text.size)) return x->text;
  for (size_t i = 0; i < x->text.size && used < capacity; i++) {
    buffer[used++] = x->text.at[i];
    if (x->text.at[i] == '"') i++;
  }
  return (span){buffer, used};
}

/* ---- the separator ---- */

static char separator_of(const lines *t, char decimal) {
  static const char candidates[] = ",;\t";
  size_t best = 0;
  char separator = decimal == ',' ? ';' : ',';
  for (const char *candidate = candidates; *candidate; candidate++) {
    if (*candidate == decimal) continue;
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

char csv_separator_line(span line) {
  static const char mark[] = "\xef\xbb\xbf";
  if (line.size > 3 && memcmp(line.at, mark, 3) == 0) line = (span){line.at + 3, line.size - 3};
  while (line.size && (line.at[line.size - 1] == '\n' || line.at[line.size - 1] == '\r')) line.size--;
  line = span_trim(line);
  return line.size == 5 && span_is((span){line.at, 4}, "sep=") ? line.at[4] : '\0';
}

/* the first line of a file from a spreadsheet may do nothing but name the separator */
static bool skip_hint(csv_text *f) {
  lines after = f->at;
  span line;
  if (!lines_next_used(&after, &line) || !csv_separator_line(line)) return false;
  f->separator = csv_separator_line(line);
  f->at = after;
  return true;
}

sparc_status csv_open(csv_text *f, const source *s, char decimal) {
  *f = (csv_text){.separator = ',', .decimal = decimal};
  const sparc_status status = lines_open(&f->at, s);
  if (status != SPARC_OK || skip_hint(f)) return status;
  csv_text first = *f;
  if (csv_next_row(&first)) f->separator = separator_of(&first.at, decimal);
  return SPARC_OK;
}
