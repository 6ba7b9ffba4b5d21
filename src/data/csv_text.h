/* SPDX-License-Identifier: MIT */
/* csv_text.h: comma-separated text as rows of fields, whatever they mean. */
#ifndef SPARC_DATA_CSV_TEXT_H
#define SPARC_DATA_CSV_TEXT_H

#include "data/text.h"

typedef struct field {
  span text;    /* without the quotes around it, quotes inside still doubled */
  bool last;    /* of its row */
  size_t quote; /* line of its opening quote, 0: not quoted */
} field;

/* a cursor over the fields of a file */
typedef struct csv_text {
  lines at; /* line is the one in which the next field starts */
  char separator;
  char decimal; /* the decimal point of numbers */
} csv_text;

/* csv_open finds the separator: that of a first line "sep=;", else the most frequent of comma, semicolon and tab in
 * the first row. The cursor is then before the first row, if there is one. */
sparc_status csv_open(csv_text *f, const source *s, char decimal);

/* csv_separator_line returns the separator that a line "sep=;" names, with or without a byte order mark and a line
 * end; 0 for other lines */
char csv_separator_line(span line);

/* csv_next_row skips blank lines and returns whether a row follows; its line becomes the current one */
bool csv_next_row(csv_text *f);
sparc_status csv_next_field(csv_text *f, field *out);

/* csv_plain is the text of a field with its doubled quotes halved, as far as it fits */
span csv_plain(const field *x, char *buffer, size_t capacity);

#endif
