/* SPDX-License-Identifier: MIT */
/* csv.c: comma-separated values, one series a row, or one step a row (csv_long.c). */
#include "data/csv_columns.h"

static sparc_status read_row(builder *b, csv_text *f, const csv_columns *c) {
  const size_t length = c->values / (size_t)c->channels;
  csv_row row;
  float *values;
  sparc_status status = builder_begin(b, length, &values);
  if (status == SPARC_OK) status = csv_read_row(f, c, b->c, values, &row);
  if (status != SPARC_OK) return status;
  if (row.missing == c->values)
    return bad_line(&f->at, "all %zu values are missing, expected at least one number", c->values);
  builder_end(b, length);
  if (!c->labelled) return SPARC_OK;
  char buffer[LABEL_MAX + 2];
  return builder_label(b, place_line(&f->at).text, csv_plain(&row.label, buffer, sizeof buffer));
}

static sparc_status read_wide(builder *b, csv_text *f, const csv_columns *c) {
  sparc_status status = SPARC_OK;
  b->channels = c->channels;
  while (status == SPARC_OK && csv_next_row(f)) {
    status = read_row(b, f, c);
    lines_done(&f->at);
  }
  return status;
}

sparc_status read_csv(builder *b, const source *s, const source *labels, const sparc_read_options *o) {
  (void)labels;
  csv_text f;
  csv_columns c = {.count = 0};
  const size_t before = b->count;
  sparc_status status = csv_open(&f, s, o->decimal ? *o->decimal : '.');
  if (status == SPARC_OK) status = csv_columns_learn(&c, f, b->c, o);
  if (status == SPARC_OK && !b->columns) status = csv_columns_names(&c, &f, o, &b->columns);
  if (status == SPARC_OK && c.named) status = csv_skip_row(&f);
  if (status == SPARC_OK) status = c.steps ? read_csv_long(b, &f, &c) : read_wide(b, &f, &c);
  if (status == SPARC_OK && b->count == before)
    status = fail(SPARC_FORMAT, "%s:%zu: no rows after the header", f.at.label, f.at.line);
  csv_columns_free(&c);
  return status;
}

sparc_status csv_find_header(const char *line, size_t size, const char *name, const sparc_read_options *o,
                             bool *named) {
  source s;
  csv_text f;
  csv_columns c = {.count = 0};
  *named = false;
  const locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!locale) return fail(SPARC_NO_MEMORY, "no memory for the numbers of %s", name);
  sparc_status status = source_borrow(&s, line, size, name, SPARC_DATA_MAX_BYTES, 0);
  if (status == SPARC_OK) {
    status = csv_open(&f, &s, o->decimal ? *o->decimal : '.');
    if (status == SPARC_OK) status = csv_columns_learn(&c, f, locale, o);
    *named = c.named;
    csv_columns_free(&c);
    source_close(&s);
  }
  freelocale(locale);
  return status;
}
