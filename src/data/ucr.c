/* SPDX-License-Identifier: MIT */
/* ucr.c: the text of the UCR archive: label first, then the values of one series a line.
 *
 * The archive of 2018 separates by tabs, older ones by commas or blanks. It pads shorter series with NaN at their end
 * to a common number of columns, so a line with another number of columns is damaged, not short.
 */
#include "data/dataset.h"

#include <math.h>
#include <string.h>

/* the separator of a file, by its first line */
static char separator_of(span line) {
  if (memchr(line.at, '\t', line.size)) return '\t';
  return memchr(line.at, ',', line.size) ? ',' : ' ';
}

/* the next field of a line, trimmed; *more: the line has more fields. A run of blanks is one separator. */
static span next_field(span *rest, char separator, bool *more) {
  if (separator != ' ') return span_trim(span_cut(rest, separator, more));
  *rest = span_trim(*rest);
  size_t size = 0;
  while (size < rest->size && rest->at[size] != ' ' && rest->at[size] != '\t') size++;
  const span field = {rest->at, size};
  *rest = (span){rest->at + size, rest->size - size};
  *more = rest->size > 0;
  return field;
}

static size_t count_fields(span line, char separator) {
  size_t count = 0;
  for (bool more = true; more; count++) next_field(&line, separator, &more);
  return count;
}

/* the values of a line; returns how many there are before the padding */
static sparc_status parse_values(const lines *t, locale_t c, span rest, char separator, float *values, size_t *length) {
  bool more = true;
  *length = 0;
  for (size_t i = 0; more; i++) {
    const span field = next_field(&rest, separator, &more);
    const number_kind kind = parse_float(c, field, &values[i]);
    if (kind > NUMBER_MISSING)
      return bad_line(t, "value %zu is '%s', expected %s", i + 1, span_quote(field).text, number_expected(kind));
    if (kind == NUMBER_FINITE) *length = i + 1;
  }
  return SPARC_OK;
}

static sparc_status read_line(builder *b, const lines *t, span line, char separator, size_t count, bool labelled) {
  bool more = true;
  span rest = line;
  const span label = labelled ? next_field(&rest, separator, &more) : (span){"?", 1};
  float *values;
  size_t length;
  sparc_status status = builder_begin(b, count, &values);
  if (status == SPARC_OK) status = parse_values(t, b->c, rest, separator, values, &length);
  if (status != SPARC_OK) return status;
  if (length == 0) return bad_line(t, "all %zu values are missing, expected at least one number", count);
  builder_end(b, length);
  return labelled ? builder_label(b, place_line(t).text, label) : SPARC_OK;
}

sparc_status read_ucr(builder *b, const source *s, const source *labels, const sparc_read_options *o) {
  (void)labels;
  lines t;
  sparc_status status = lines_open(&t, s);
  const bool labelled = !o->unlabelled;
  char separator = 0;
  size_t columns = 0, first = 0;
  for (span line; status == SPARC_OK && lines_next_used(&t, &line);) {
    if (!separator) separator = separator_of(line);
    const size_t count = count_fields(line, separator);
    if (!first) columns = count, first = t.line;
    if (count <= (size_t)labelled)
      return bad_line(&t, "there is nothing but '%s', expected a label and values", span_quote(line).text);
    if (count != columns)
      return bad_line(&t, "%zu values, expected %zu as in line %zu; a shorter series is padded with NaN",
                      count - labelled, columns - labelled, first);
    status = read_line(b, &t, line, separator, count - labelled, labelled);
    lines_done(&t);
  }
  if (status == SPARC_OK && !first)
    return fail(SPARC_FORMAT, "%s:1: no series, expected lines of label and values", t.label);
  return status;
}
