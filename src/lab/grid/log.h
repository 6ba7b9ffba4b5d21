/* SPDX-License-Identifier: MIT */
/* log.h: the log of a run, for scores and learning curves: metrics.jsonl of a run folder, or its exported score log,
 * scores.jsonl.gz.
 *
 * A score log has all values of the metrics that scores and curves need, and every tenth value of the others, rounded to
 * four digits. Its first line lists the former: {"complete": ["return", ...]}. Four million steps of RL take about 30 kB.
 */
#ifndef SPARC_LAB_GRID_LOG_H
#define SPARC_LAB_GRID_LOG_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads the values of a metric (null becomes NAN) and the value of `along` on the same lines; free both arrays with
 * free(). Returns SPARC_FORMAT if the log is missing or damaged, SPARC_INVALID if the score log is incomplete for this
 * metric. */
sparc_status log_read(const char *folder, const char *metric, const char *along, double **values, double **places,
                      size_t *count);

/* Reads the whole log as text, freed with free(): the output of commands without metrics. */
sparc_status log_text(const char *folder, char **text);

/* Writes the score log of the run in `folder` to the folder `to`; all values of `metric` are included. */
sparc_status log_keep(const char *folder, const char *metric, const char *to);

#endif
