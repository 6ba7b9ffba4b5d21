/* SPDX-License-Identifier: MIT */
/* predictions.h: predictions of models on standard output. */
#ifndef SPARC_CLI_PREDICTIONS_H
#define SPARC_CLI_PREDICTIONS_H

#include "sparc/data.h"

#include <stdbool.h>

extern const char *const prediction_formats[]; /* csv, jsonl; ends with NULL */

typedef struct predictions {
  const char *who;
  const char *const *labels; /* of the classes; NULL: numbers from 0 */
  const char *const *names;  /* of numeric outputs; NULL: numbered from 1 */
  int outputs;
  enum {
    PREDICTION_CLASSES,
    PREDICTION_NUMBERS,
    PREDICTION_STEPS
  } kind;           /* of outputs: one or more for a row, or for each of its
                       steps */
  const char *unit; /* name of the counter column: row or step */
  bool jsonl;
  long row;                   /* number of the next row or step */
  const float *low, *high;    /* (outputs) intervals around numbers; NULL: none. NAN: not available */
  const float *anomaly;       /* (inputs) scores of the current values; NULL: none */
  const char *const *channel; /* (inputs) their names */
  int inputs;
  const sparc_dataset *data; /* source of ids and times; NULL: none */
  int example;               /* index of the next example */
  const char *id_name, *id;  /* of a step of a stream; NULL: none */
  const char *time_name, *time;
  bool terminal; /* output is a terminal: control characters are removed */
} predictions;

/* predictions_use sets the data set; call it before predictions_header */
void predictions_use(predictions *w, const sparc_dataset *data);

void predictions_header(const predictions *w); /* CSV only */
void predictions_class(const predictions *w, const float *p /* outputs: probabilities */);
void predictions_numbers(const predictions *w, const float *y /* outputs */);
void predictions_steps(const predictions *w, const float *y /* length, outputs */, int length);

#endif
