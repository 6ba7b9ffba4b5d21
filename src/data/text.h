/* SPDX-License-Identifier: MIT */
/* text.h: what the readers of text share: pieces of text, numbers in any locale, lines with numbers. */
#ifndef SPARC_DATA_TEXT_H
#define SPARC_DATA_TEXT_H

#include "base/error.h"
#include "data/source.h"
#include "io/dtype.h"

#include <locale.h>
#include <stdbool.h>

/* a piece of text, not terminated */
typedef struct span {
  const char *at;
  size_t size;
} span;

static inline span span_of(const char *at, const char *end) { return (span){at, (size_t)(end - at)}; }

/* span_trim takes blanks, tabs included, off both ends */
span span_trim(span s);

/* span_is compares with a word, without regard to the case of ASCII letters */
bool span_is(span s, const char *word);

/* span_compare orders texts by their bytes, a shorter one before those that begin with it */
int span_compare(span a, span b);

/* span_cut returns the part of *rest up to the next separator and moves *rest after it; *more: there was a
 * separator, so another part follows */
span span_cut(span *rest, char separator, bool *more);

/* span_quote makes text from a file safe for error texts; bytes that are not UTF-8 become question marks */
quotable span_quote(span s);
bool span_is_utf8(span s);

typedef enum number_kind {
  NUMBER_FINITE,
  NUMBER_MISSING, /* NaN, NA, N/A, #N/A, null, none, ?, nothing; case does not matter */
  NUMBER_LARGE,   /* a number, but infinite or beyond the range */
  NUMBER_WRONG    /* anything else */
} number_kind;

/* numbers in decimal notation. `c` is the locale "C": the caller's program may have chosen another one. */
number_kind parse_float(locale_t c, span s, float *value);
number_kind parse_double(locale_t c, span s, double *value);
/* parse_decimal reads a number with this decimal point, blanks around it or not */
number_kind parse_decimal(locale_t c, char decimal, span s, float *value);
/* parse_int reads a whole number from 0 to INT_MAX; false for anything else */
bool parse_int(span s, int *value);

/* number_expected names what a value of this kind should have been */
const char *number_expected(number_kind kind);

/* A cursor over the lines of a source. */
typedef struct lines {
  const char *label; /* of the source */
  const char *at, *end;
  size_t line;        /* number of the line that was read last, from 1 */
  const char *forget; /* bytes from here to `at` are not needed again; NULL: all may be */
  bool owned;         /* the source may be forgotten at all */
} lines;

/* source_is_utf16 recognises the byte order marks of UTF-16 */
bool source_is_utf16(const source *s);

/* lines_open skips a byte order mark and fails if there are bytes that are not text; lines_try does so without an error
 * text */
sparc_status lines_open(lines *t, const source *s);
bool lines_try(lines *t, const source *s);

/* lines_next gives the next line without its end; false after the last. lines_next_used skips lines of blanks only. */
bool lines_next(lines *t, span *line);
bool lines_next_used(lines *t, span *line);

/* lines_done allows the memory of lines already read, from the first call on, to be released */
void lines_done(lines *t);

/* one_line changes the error text "NAME:LINE: ..." to "NAME: ...", for a source that is a single line named by NAME */
sparc_status one_line(const char *name, size_t line, sparc_status status);

/* fails with an error text about the current line; a macro, so that the compiler checks the format */
#define bad_line(t, format, ...) fail(SPARC_FORMAT, "%s:%zu: " format, (t)->label, (t)->line, __VA_ARGS__)

#endif
