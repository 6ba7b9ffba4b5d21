/* SPDX-License-Identifier: MIT */
/* evolution.h: changes of logged metrics during training: means over the first and last tenth of the positions at which
 * every run of a group has a finite value [app:component_diagnostics]. */
#ifndef SPARC_LAB_DIAGNOSE_EVOLUTION_H
#define SPARC_LAB_DIAGNOSE_EVOLUTION_H

#include "sparc/base.h"

#include <stddef.h>

typedef struct logged_metric {
  const char *key, *title; /* in metrics.jsonl; in tables */
  double scale;
  int digits;
} logged_metric;

enum { LOGGED_METRICS = 8 };
extern const logged_metric logged_metrics[LOGGED_METRICS];

/* logged values with ascending positions */
typedef struct series {
  long *place; /* (count): environment steps or updates */
  double *value;
  size_t count;
} series;

typedef struct training_log {
  series metric[LOGGED_METRICS]; /* count 0: not logged */
} training_log;

/* Reads metrics.jsonl of a folder; without it the log is empty. */
sparc_status training_log_read(const char *folder, training_log *out);
void training_log_free(training_log *log); /* accepts a zeroed structure */

typedef struct evolution {
  double first, last;
} evolution;

/* Computes every run's means over the first and last tenth of the common positions. Returns the number of common
 * positions; 0: none, and out is not written. */
size_t evolution_of(const training_log *const *logs, int runs, int metric, evolution *out /* (runs) */);

#endif
