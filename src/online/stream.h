/* SPDX-License-Identifier: MIT */
/* stream.h: lines of comma-separated text as inputs and truths: a step a line.
 *
 * The first line says how many columns there are, and may name them. Columns of targets or of the label hold the truth,
 * which may be missing; those to be ignored are passed over, and so is an index without a name; all others are inputs.
 * Rules that files have, too, are those of data/column_rules.h.
 */
#ifndef SPARC_ONLINE_STREAM_H
#define SPARC_ONLINE_STREAM_H

#include "sparc/base.h"

#include <locale.h>
#include <stdbool.h>

typedef struct stream_options {
  const char *target;  /* columns, by name or by number from 1, commas between them; NULL: none */
  const char *label;   /* a column; NULL: none. Not together with target. */
  const char *classes; /* what stands in the column of the label, commas between them; NULL without a label */
  const char *id;      /* a column; where it changes a new sequence begins. NULL: all lines are one */
  const char *time;    /* a column that says in which order lines are; NULL or "none": none does */
  const char *ignore;  /* columns */
  char decimal;        /* the decimal point */
} stream_options;

/* the columns of a stream that was learned from before */
typedef struct stream_known {
  const char *roles;        /* a letter for each, see stream_columns */
  const char *const *names; /* likewise; NULL: not known */
  bool truth_optional;      /* targets and label may be missing */
} stream_known;

/* i: an input, t: a target, l: the label, #: the id, @: the time, -: nothing */
#define STREAM_ROLES "itl#@-"
typedef struct stream_columns {
  char *role;   /* (count), and a zero */
  char **name;  /* (count): what the first line has there, what is known, or "column 3" */
  size_t *slot; /* (count): of an input or a target, its place among these */
  size_t count, inputs, targets;
  bool named;        /* by the first line, which holds no step */
  bool by_name;      /* known columns were found by their names */
  char **class_name; /* (classes), and NULL */
  size_t classes;
  char separator, decimal;
  locale_t locale;
} stream_columns;

/* stream_learn reads the columns off the first line; `name` stands for the input in sentences. With known columns,
 * those of a stream that goes on, the options say nothing of columns: where the line has names they are found by these,
 * in any order, what is new is passed over, and SPARC_FORMAT says what is missing; else they are as many, in the same
 * order. stream_free releases it, also after a failure. */
sparc_status stream_learn(const stream_options *o, const stream_known *known, const char *line, size_t size,
                          const char *name, stream_columns *c);
void stream_free(stream_columns *c);

typedef struct stream_step {
  bool known; /* the truth is there */
  int label;  /* the class */
} stream_step;

/* the texts of a line, without zeros, "" where there is none; each has as many bytes as the line, and one */
typedef struct stream_texts {
  char *id;   /* of the sequence */
  char *time; /* of the step */
} stream_texts;

/* stream_read reads a line; `name` stands for it in sentences: a file and the number of the line. An input or target
 * that is missing is NAN; one that is no number is SPARC_FORMAT, and so is a time that cannot be put in order. */
sparc_status stream_read(const stream_columns *c, const char *line, size_t size, const char *name,
                         float *x /* inputs */, float *target /* targets */, const stream_texts *texts,
                         stream_step *step);

/* stream_check_order fails with SPARC_FORMAT where the time of a line is before that of the last one */
sparc_status stream_check_order(const stream_columns *c, const char *name, const char *last, const char *time);

#endif
