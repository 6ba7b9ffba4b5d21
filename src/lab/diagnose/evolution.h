/* SPDX-License-Identifier: MIT */
/* evolution.h: how logged quantities changed in training: their means over the first and the last tenth of the places
 * at which every run of a group has a finite number [app:component_diagnostics]. */
#ifndef SPARC_LAB_DIAGNOSE_EVOLUTION_H
#define SPARC_LAB_DIAGNOSE_EVOLUTION_H

#include "sparc/base.h"

#include <stddef.h>

typedef struct logged_metric {
  const char *key, *title; /* in metrics.jsonl, and for people */
  double scale;
  int digits;
} logged_metric;

enum { LOGGED_METRICS = 8 };
extern const logged_metric logged_metrics[LOGGED_METRICS];

/* where a run logged which number; places ascend */
typedef struct series {
  long *place; /* (count): steps of the environment, or updates */
  double *value;
  size_t count;
} series;

typedef struct training_log {
  series metric[LOGGED_METRICS]; /* count 0: not logged */
} training_log;

/* training_log_read reads metrics.jsonl of a folder; a folder without one gives an empty log. */
sparc_status training_log_read(const char *folder, training_log *out);
void training_log_free(training_log *log); /* a zeroed one is fine, too */

typedef struct evolution {
  double first, last;
} evolution;

/* evolution_of gives every run's means over the tenths of common places; returns the number of common places, 0: there
 * are none, and out is not written. */
size_t evolution_of(const training_log *const *logs, int runs, int metric, evolution *out /* (runs) */);

#endif
