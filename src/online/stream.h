/* SPDX-License-Identifier: MIT */
/* stream.h: lines of comma-separated text as inputs and targets, one step per line.
 *
 * The first line determines the number of columns and may name them; a line "sep=;" before it sets the separator. Targets
 * and labels may be missing. Ignored columns and an unnamed index are skipped; all other columns are inputs. Rules shared
 * with files are in data/column_rules.h.
 */
#ifndef SPARC_ONLINE_STREAM_H
#define SPARC_ONLINE_STREAM_H

#include "sparc/base.h"

#include <locale.h>
#include <stdbool.h>

enum { STREAM_MAX_LINE = 1 << 28 }; /* bytes */

typedef struct stream_options {
  const char *target;  /* columns, by name or by number from 1, comma-separated; NULL: none */
  const char *label;   /* a column; NULL: none. Excludes target. */
  const char *classes; /* values of the label, comma-separated; NULL without a label */
  const char *id;      /* a column; a new sequence starts where it changes. NULL: one sequence */
  const char *time;    /* a column that must not decrease within a sequence; NULL or "none": none */
  const char *ignore;  /* columns */
  char decimal;        /* decimal point */
} stream_options;

/* the columns of a stream that is continued */
typedef struct stream_known {
  const char *roles;        /* a letter for each, see stream_columns */
  const char *const *names; /* (columns); NULL: unknown */
  bool target_optional;     /* columns of targets and label may be missing */
} stream_known;

/* i: input, t: target, l: label, #: id, @: time, -: ignored */
#define STREAM_ROLES "itl#@-"
typedef struct stream_columns {
  char *role;   /* (count), zero-terminated */
  char **name;  /* (count): from the header, from the known columns, or "column 3" */
  size_t *slot; /* (count): index among the inputs, or among the targets */
  size_t count, inputs, targets;
  bool named;        /* the first line is a header */
  bool by_name;      /* known columns were matched by name */
  char **class_name; /* (classes), NULL-terminated */
  size_t classes;
  char separator, decimal;
  locale_t locale;
} stream_columns;

/* stream_open determines the columns from the first line; `name` identifies the line in error messages. Known columns
 * (may be NULL) replace the columns of the options: with a header they are matched by name in any order, new columns are
 * ignored and missing ones are SPARC_FORMAT; without, the number and order of columns must be the same. Call stream_free
 * also after a failure. */
sparc_status stream_open(const stream_options *o, const stream_known *known, const char *line, size_t size,
                         const char *name, stream_columns *c);
void stream_free(stream_columns *c);

typedef struct stream_step {
  bool has_target; /* the line has all targets, or the label */
  int label;       /* index of the class; -1: none */
} stream_step;

/* texts of a line; "" if there is none. Each buffer needs the size of the line plus 1 byte. */
typedef struct stream_texts {
  char *id;   /* of the sequence */
  char *time; /* of the step */
} stream_texts;

/* stream_read parses a line; `name` identifies it in error messages, as a file and a line number. Missing inputs and
 * targets are NAN. SPARC_FORMAT: a field is not a number, or a time is not a number or an ISO date. */
sparc_status stream_read(const stream_columns *c, const char *line, size_t size, const char *name,
                         float *x /* inputs */, float *target /* targets */, const stream_texts *texts,
                         stream_step *step);

/* stream_check_order returns SPARC_FORMAT if `time` is before `last` */
sparc_status stream_check_order(const stream_columns *c, const char *name, const char *last, const char *time);

#endif
