/* SPDX-License-Identifier: MIT */
/* answers.h: what models say, on standard output. */
#ifndef SPARC_CLI_ANSWERS_H
#define SPARC_CLI_ANSWERS_H

#include "sparc/data.h"

#include <stdbool.h>

extern const char *const answer_styles[]; /* csv, jsonl; ends with NULL */

typedef struct answers {
  const char *who;
  const char *const *labels; /* of the classes; NULL: numbers from 0 */
  const char *const *names;  /* of outputs that are numbers; NULL: counted from 1 */
  int outputs;
  enum {
    ANSWER_CLASSES,
    ANSWER_NUMBERS,
    ANSWER_STEPS
  } kind;           /* of outputs: one or more for a row, or for each of its
                       steps */
  const char *unit; /* what is counted: rows, or the steps of the only one */
  bool jsonl;
  long row;                   /* units so far: the number of what is written next */
  const float *low, *high;    /* (outputs) intervals around numbers; NULL: none. NAN: there is none yet */
  const float *anomaly;       /* (inputs) of the values at hand; NULL: none */
  const char *const *channel; /* (inputs) their names */
  int inputs;
  const sparc_dataset *data; /* whose ids and times are written, too, where it has any; NULL: none */
  int example;               /* of it: what is written next */
  const char *id_name, *id;  /* of a step that comes from elsewhere; NULL: none */
  const char *time_name, *time;
  bool terminal; /* texts are shown to a person */
} answers;

/* answers_use says which data set predictions are of; before the header */
void answers_use(answers *w, const sparc_dataset *data);

void answers_header(const answers *w); /* CSV has one */
void answers_class(const answers *w, const float *p /* outputs: probabilities */);
void answers_numbers(const answers *w, const float *y /* outputs */);
void answers_steps(const answers *w, const float *y /* length, outputs */, int length);

#endif
