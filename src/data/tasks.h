/* SPDX-License-Identifier: MIT */
/* tasks.h: kinds of targets and scores of generated tasks. */
#ifndef SPARC_DATA_TASKS_H
#define SPARC_DATA_TASKS_H

#include "sparc/tasks.h"

#include <stdbool.h>

/* task_has_classes: the targets of task `name` are classes, not values */
bool task_has_classes(const char *name);

/* task_score computes the score of the outputs for one part of the task: the error rate of the logits [N][O] of the last
 * step, or the NMSE of the predictions [N][T][O]. On failure *score is unchanged, here and below. */
sparc_status task_score(const sparc_task *task, const sparc_task_part *part, const float *output, double *score);

/* error_rate is the fraction of rows whose largest logit, the first among equals, is not the label's. count and classes
 * >= 1. SPARC_NOT_FINITE: a logit is NaN. */
sparc_status error_rate(size_t count, size_t classes, const float *logits /* [count][classes] */,
                        const int *label /* [count] */, double *score);

/* nmse is the sum of squared errors over the sum of squared targets, in double; 1 for predictions of zero.
 * SPARC_INVALID: all targets are zero; SPARC_NOT_FINITE: a NaN or an infinity. */
sparc_status nmse(size_t count, const float *prediction, const float *target, double *score);

#endif
