/* SPDX-License-Identifier: MIT */
/* metrics.h: metrics of a run as metrics.jsonl (one object per line) and metrics.csv (long format:
 * run,seed,update,metric,value). Both hold the same numbers and nothing that depends on time or machine. */
#ifndef SPARC_RUN_METRICS_H
#define SPARC_RUN_METRICS_H

#include "sparc/base.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { METRICS_PATH = 4200 };

typedef struct metrics {
  FILE *jsonl, *csv;
  const char *run; /* must outlive it */
  uint64_t seed;
  char jsonl_path[METRICS_PATH], csv_path[METRICS_PATH];
} metrics;

/* metrics_read calls fn for the objects of a metrics.jsonl in order, until fn fails. A missing file has none; an
 * incomplete last line, as of a killed run, is ignored. SPARC_FORMAT: another line is not a JSON object, SPARC_IO: the
 * file cannot be read. */
typedef sparc_status (*metrics_fn)(void *user, json_t *object);
sparc_status metrics_read(const char *path, metrics_fn fn, void *user);

/* metrics_open opens both files in folder. With keep >= 0 entries up to that update are kept and later ones dropped: a
 * killed run may have logged updates after its last checkpoint. On failure the files are unchanged. */
sparc_status metrics_open(const char *folder, const char *run, uint64_t seed, long keep, metrics *out);

/* metrics_add writes one object, which has the key "update", and drops the reference. */
sparc_status metrics_add(metrics *m, json_t *object);

/* metrics_flush syncs both files, before a checkpoint is written */
sparc_status metrics_flush(metrics *m);
void metrics_close(metrics *m); /* may be zeroed */

/* metrics depend on the objective of a training run */
typedef enum metrics_goal {
  METRICS_CLASSES,
  METRICS_TARGETS,     /* numbers of a data set */
  METRICS_TASK_TARGETS /* numbers of a generated task */
} metrics_goal;

/* metrics_of_training lists the metrics of a training run, NULL-terminated */
const char *const *metrics_of_training(metrics_goal goal, bool validates);

#endif
