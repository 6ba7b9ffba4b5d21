/* SPDX-License-Identifier: MIT */
/* text.c: pieces of text, numbers and lines.
 *
 * Numbers are converted by the C library, which rounds correctly, but only after a look at their characters: the
 * library would also take hexadecimal numbers, "infinity" and leading blanks.
 */
#include "data/text.h"

#include "base/plain_text.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- pieces ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

span span_trim(span s) {
  while (s.size && is_blank(s.at[0])) s.at++, s.size--;
  while (s.size && is_blank(s.at[s.size - 1])) s.size--;
  return s;
}

/* an empty span may be nowhere */
bool span_is(span s, const char *word) {
  return s.size == strlen(word) && (s.size == 0 || strncasecmp(s.at, word, s.size) == 0);
}

int span_compare(span a, span b) {
  const size_t shorter = a.size < b.size ? a.size : b.size;
  const int order = shorter ? memcmp(a.at, b.at, shorter) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

span span_cut(span *rest, char separator, bool *more) {
  const char *found = rest->size ? memchr(rest->at, separator, rest->size) : NULL;
  span part = found ? span_of(rest->at, found) : *rest;
  const size_t taken = part.size + (found != NULL);
  *rest = (span){rest->at + taken, rest->size - taken};
  *more = found != NULL;
  return part;
}

bool span_is_utf8(span s) {
  for (size_t i = 0; i < s.size;) {
    const size_t length = utf8_length(s.at + i, s.size - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

quotable span_quote(span s) {
  /* one byte more than quote() keeps, so that it sees that something is left off */
  char copy[sizeof(quotable) + 1];
  const size_t size = s.size < sizeof copy - 1 ? s.size : sizeof copy - 1;
  if (size) memcpy(copy, s.at, size);
  copy[size] = '\0';
  const bool valid = span_is_utf8(s);
  for (size_t i = 0; i < size; i++)
    if (!copy[i] || (!valid && (copy[i] & 0x80))) copy[i] = '?';
  return quote(copy);
}

/* ---- numbers ---- */

enum { NUMBER_ROOM = 128 };

/* copies the characters of a decimal number; returns the kind of other text */
static number_kind classify(span s, char copy[static NUMBER_ROOM]) {
  static const char *const missing[] = {"",    "?",    "nan", "-nan", "+nan", "na",
                                        "n/a", "#n/a", "#na", "<na>", "null", "none"};
  for (size_t i = 0; i < sizeof missing / sizeof *missing && s.size <= strlen("#n/a"); i++)
    if (span_is(s, missing[i])) return NUMBER_MISSING;
  if (span_is(s, "inf") || span_is(s, "-inf") || span_is(s, "+inf")) return NUMBER_LARGE;
  if (s.size >= NUMBER_ROOM) return NUMBER_WRONG;
  for (size_t i = 0; i < s.size; i++) {
    if (!strchr("0123456789+-.eE", s.at[i]) || !s.at[i]) return NUMBER_WRONG;
    copy[i] = s.at[i];
  }
  copy[s.size] = '\0';
  return NUMBER_FINITE;
}

number_kind parse_float(locale_t c, span s, float *value) {
  char copy[NUMBER_ROOM], *end;
  const number_kind kind = classify(s, copy);
  *value = NAN;
  if (kind != NUMBER_FINITE) return kind;
  *value = strtof_l(copy, &end, c);
  if (*end || end == copy) return NUMBER_WRONG;
  return isfinite(*value) ? NUMBER_FINITE : NUMBER_LARGE;
}

number_kind parse_decimal(locale_t c, char decimal, span s, float *value) {
  char copy[NUMBER_ROOM];
  s = span_trim(s);
  if (decimal == '.' || s.size > sizeof copy) return parse_float(c, s, value);
  for (size_t i = 0; i < s.size; i++) {
    /* a point groups digits, if it means anything */
    if (s.at[i] == '.') return NUMBER_WRONG;
    copy[i] = s.at[i] == decimal ? '.' : s.at[i];
  }
  return parse_float(c, (span){copy, s.size}, value);
}

number_kind parse_double(locale_t c, span s, double *value) {
  char copy[NUMBER_ROOM], *end;
  const number_kind kind = classify(s, copy);
  *value = NAN;
  if (kind != NUMBER_FINITE) return kind;
  *value = strtod_l(copy, &end, c);
  if (*end || end == copy) return NUMBER_WRONG;
  return isfinite(*value) ? NUMBER_FINITE : NUMBER_LARGE;
}

bool parse_int(span s, int *value) {
  *value = 0;
  for (size_t i = 0; i < s.size; i++) {
    const int digit = s.at[i] - '0';
    if (digit < 0 || digit > 9 || *value > (INT_MAX - digit) / 10) return false;
    *value = 10 * *value + digit;
  }
  return s.size > 0;
}

const char *number_expected(number_kind kind) {
  return kind == NUMBER_LARGE ? "a finite number up to 3.4e38" : "a number, NaN or ?";
}

/* ---- lines ---- */

/* bytes that no text has; a carriage return is fine where it ends a line */
static bool is_text(const char *at, const char *end) {
  const unsigned char c = (unsigned char)*at;
  if (c == '\r') return at + 1 == end || at[1] == '\n';
  return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\n';
}

/* the first byte that is no text, or the end */
static const char *find_binary(const lines *t) {
  const char *at = t->at;
  while (at < t->end && is_text(at, t->end)) at++;
  return at;
}

bool lines_try(lines *t, const source *s) {
  *t = (lines){.label = s->label,
               .at = (const char *)s->bytes,
               .end = (const char *)s->bytes + s->size,
               .owned = s->owned != NULL};
  if (s->size >= 3 && memcmp(t->at, "\xef\xbb\xbf", 3) == 0) t->at += 3;
  return find_binary(t) == t->end;
}

bool source_is_utf16(const source *s) {
  return s->size >= 2 && (memcmp(s->bytes, "\xff\xfe", 2) == 0 || memcmp(s->bytes, "\xfe\xff", 2) == 0);
}

sparc_status lines_open(lines *t, const source *s) {
  if (lines_try(t, s)) return SPARC_OK;
  if (source_is_utf16(s))
    return fail(SPARC_FORMAT, "%s: the text is UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 converts it", t->label);
  const char *bad = find_binary(t), *start = t->at;
  size_t line = 1;
  for (const char *at = t->at; at < bad; at++)
    if (*at == '\n') line++, start = at + 1;
  if (*bad == '\r')
    return fail(
        SPARC_FORMAT,
        "%s:%zu: a carriage return alone in column %zu, as old Macintoshes end lines: tr '\\r' '\\n' converts it",
        t->label, line, (size_t)(bad - start) + 1);
  return fail(SPARC_FORMAT, "%s:%zu: byte 0x%02x in column %zu, expected text", t->label, line, (unsigned char)*bad,
              (size_t)(bad - start) + 1);
}

void lines_done(lines *t) {
  if (t->owned) t->forget = t->forget ? forget_bytes(t->forget, t->at) : t->at;
}

bool lines_next(lines *t, span *line) {
  if (t->at == t->end) return false;
  const char *found = memchr(t->at, '\n', (size_t)(t->end - t->at)), *end = found ? found : t->end;
  *line = span_of(t->at, end);
  if (line->size && line->at[line->size - 1] == '\r') line->size--;
  t->at = found ? found + 1 : t->end;
  t->line++;
  return true;
}

bool lines_next_used(lines *t, span *line) {
  while (lines_next(t, line))
    if (span_trim(*line).size) return true;
  return false;
}

sparc_status one_line(const char *name, size_t line, sparc_status status) {
  char sentence[512], place[32];
  const size_t length = strlen(name);
  const size_t digits = (size_t)snprintf(place, sizeof place, ":%zu:", line) - 1;
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  if (strncmp(sentence, name, length) != 0 || strncmp(sentence + length, place, digits + 1) != 0) return status;
  return fail(status, "%s%s", name, sentence + length + digits);
}
