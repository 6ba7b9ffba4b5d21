/* SPDX-License-Identifier: MIT */
/* tasks.h: the generated diagnostic tasks of the paper's Figure 1, and their scores.
 *
 *   event-order           every step shows one of 8 symbols: A, B and C once each, one in each third of the sequence,
 *                         among distractors. The class, asked for at the last step, is the order in which they came.
 *                         Needs memory that ignores what does not matter.
 *   event-order-anywhere  the same with the three events anywhere, so that they may be neighbours or far apart: harder
 *                         for a fixed spectrum.
 *   tracking              a point of the plane is driven, shrunk and turned by events that the input announces. The
 *                         target is the point at every step. Needs memory whose decay and phase follow the input.
 *
 * All are made from one fixed seed, so the data are the same for every method, training seed and machine. A part is
 * drawn from the random stream (2026, "task", "STREAM.PART"), sequence after sequence; PART is train or evaluation,
 * STREAM is event-order-thirds, event-order (events anywhere) or tracking. A sequence of event-order takes 48
 * distractors, the order as one of 6, then the places inside the three thirds as three of 16; with events anywhere 48
 * distractors, then a permutation of the 48 steps, whose first three are those of A, B and C.
 *
 *   sparc_task *task;
 *   if (sparc_task_create("tracking", &task) != SPARC_OK) return report(sparc_error());
 *   // train on task->train, write the outputs for task->evaluation.x to output
 *   sparc_status status = sparc_task_score(task, &task->evaluation, output, &score);
 *   sparc_task_free(task);
 */
#ifndef SPARC_TASKS_H
#define SPARC_TASKS_H

#include "sparc/base.h"
#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sparc_task_target {
  SPARC_TARGET_CLASS, /* one class per sequence, predicted at the last step; loss: cross-entropy */
  SPARC_TARGET_VALUES /* O numbers at every step; loss: mean squared error */
} sparc_task_target;

/* The settings that go with the task. Rate, decay and clipping are AdamW's, the same for all parameters and updates. */
typedef struct sparc_task_training {
  long updates;
  int batch;
  int state;                /* real coordinates: this many modes of a real cell, half as many complex ones */
  double rate, decay, clip; /* learning rate, weight decay, greatest gradient norm */
  sparc_init_style init;    /* of the cell */
  int relu;                 /* 1: the linear head sees ReLU(state), 0: the state */
} sparc_task_training;

typedef struct sparc_task_part {
  int count;           /* sequences N */
  const float *x;      /* [N][T][D] */
  const int *label;    /* [N], 0 ... O-1; NULL for SPARC_TARGET_VALUES */
  const float *target; /* [N][T][O]; NULL for SPARC_TARGET_CLASS */
  const int *event;    /* [N][T]: what happens at the step as an index into event_names, -1: nothing. For drawing. */
} sparc_task_part;

typedef struct sparc_task { /* immutable, shareable between threads */
  const char *name;         /* as in sparc_task_names */
  const char *title;        /* for people */
  const char *score_name;   /* "error rate" (a fraction of 1) or "NMSE"; less is better */
  sparc_task_target target_kind;
  int T, D, O;                    /* steps, inputs, and outputs: classes or coordinates */
  const char *const *class_names; /* O names and NULL, "B-A-C" for example; NULL for SPARC_TARGET_VALUES */
  const char *const *event_names; /* NULL-terminated */
  sparc_task_training training;
  sparc_task_part train, evaluation;
} sparc_task;

/* sparc_task_names returns the NULL-terminated list of tasks. */
SPARC_API const char *const *sparc_task_names(void);

/* sparc_task_create makes the data of a task; *out is NULL on failure. Everything lives until sparc_task_free. */
SPARC_API sparc_status sparc_task_create(const char *name, sparc_task **out);
SPARC_API void sparc_task_free(sparc_task *task); /* task may be NULL */

/* ---- scores ----
 *
 * On failure *score is left as it was. */

/* sparc_task_score judges the outputs for one part of the task: the logits [N][O] of the last step, or the predictions
 * [N][T][O], by the two functions below. */
SPARC_API sparc_status sparc_task_score(const sparc_task *task, const sparc_task_part *part, const float *output,
                                        double *score);

/* the fraction of rows whose greatest logit, the first among equals, is not the label's. count and classes >= 1; a NaN
 * among the logits is SPARC_NOT_FINITE. */
SPARC_API sparc_status sparc_error_rate(size_t count, size_t classes, const float *logits /* [count][classes] */,
                                        const int *label /* [count] */, double *score);

/* normalised mean squared error: the sum of squared errors over the sum of squared targets, in double. 1 is the score
 * of predicting zeros. Targets that are all zero are SPARC_INVALID, a NaN or infinity is SPARC_NOT_FINITE. */
SPARC_API sparc_status sparc_nmse(size_t count, const float *prediction, const float *target, double *score);

#ifdef __cplusplus
}
#endif

#endif
