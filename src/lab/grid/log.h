/* SPDX-License-Identifier: MIT */
/* log.h: what a run logged, for scores and learning curves: metrics.jsonl of a run folder, or the score log that is
 * kept of it, scores.jsonl.gz.
 *
 * A score log has the metrics that scores and curves are made of in full, as they were logged, and every tenth value of
 * the others with four digits, enough to see how they went. Its first line names the former: {"complete": ["return",
 * ...]}. Four million steps of RL take about 30 kB.
 */
#ifndef SPARC_LAB_GRID_LOG_H
#define SPARC_LAB_GRID_LOG_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>

/* log_read reads the values of a metric (null becomes NAN) and the value of `along` in the line of each; both arrays to
 * be released with free(). SPARC_FORMAT: there is no log, or it is damaged; SPARC_INVALID: the score log does not have
 * this metric in full.
 */
sparc_status log_read(const char *folder, const char *metric, const char *along, double **values, double **places,
                      size_t *count);

/* log_text reads the whole log as a text of lines, to be released with free(): what commands without metrics printed */
sparc_status log_text(const char *folder, char **text);

/* log_keep writes the score log of the run in `folder` to the folder `to`; `metric` is one more that is kept in full */
sparc_status log_keep(const char *folder, const char *metric, const char *to);

#endif
