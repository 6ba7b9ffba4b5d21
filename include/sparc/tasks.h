/* SPDX-License-Identifier: MIT */
/* tasks.h: the generated diagnostic tasks of the paper's Figure 1.
 *
 *   event-order           every step shows one of 8 symbols: A, B and C once each, one in each third of the sequence,
 *                         among distractors. The class, predicted at the last step, is their order. Needs memory that
 *                         ignores distractors.
 *   event-order-anywhere  the same with the three events at arbitrary steps; harder for a fixed spectrum.
 *   tracking              a point of the plane is driven, scaled and rotated by events in the input. The target is the
 *                         point at every step. Needs memory whose decay and phase depend on the input.
 *
 * All use one fixed seed: the data are the same for every method, training seed and machine. A part is
 * drawn from the random stream (2026, "task", "STREAM.PART"), sequence after sequence; PART is train or evaluation,
 * STREAM is event-order-thirds, event-order (events anywhere) or tracking. A sequence of event-order takes 48
 * distractors, the order as one of 6, then the places inside the three thirds as three of 16; with events anywhere 48
 * distractors, then a permutation of the 48 steps, whose first three are those of A, B and C.
 *
 *   sparc_task *task;
 *   if (sparc_task_create("tracking", &task) != SPARC_OK) return report(sparc_error());
 *   sparc_samples fit = sparc_samples_of_task(task, 0);
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

/* The paper's training settings of a task: AdamW with a constant learning rate, the same for all parameters. */
typedef struct sparc_task_training {
  long updates;
  int batch;
  int state_size; /* real coordinates of the state: modes of a real cell, twice the modes of a complex one */
  double learning_rate, weight_decay, max_gradient_norm;
  sparc_init_style init; /* of the cell */
  int relu;              /* 1: the linear head reads ReLU(state), 0: the state */
} sparc_task_training;

typedef struct sparc_task_part {
  int count;           /* sequences N */
  const float *x;      /* [N][T][D] */
  const int *label;    /* [N], 0 ... O-1; NULL for SPARC_TARGET_VALUES */
  const float *target; /* [N][T][O]; NULL for SPARC_TARGET_CLASS */
  const int *event;    /* [N][T]: event at each step, an index into event_names; -1: none. For plots. */
} sparc_task_part;

typedef struct sparc_task { /* immutable, shareable between threads */
  const char *name;         /* as in sparc_task_names */
  const char *title;        /* for display */
  const char *score_name;   /* "error rate" (a fraction of 1) or "NMSE"; lower is better */
  sparc_task_target target_kind;
  int T, D, O;                    /* steps, inputs, and outputs: classes or coordinates */
  const char *const *class_names; /* O names and NULL, "B-A-C" for example; NULL for SPARC_TARGET_VALUES */
  const char *const *event_names; /* NULL-terminated */
  sparc_task_training training;
  sparc_task_part train, evaluation;
} sparc_task;

/* Names of the tasks, NULL-terminated. */
SPARC_API const char *const *sparc_task_names(void);

/* Generate the data of a task. *out is NULL on failure. All pointers are valid until sparc_task_free. */
SPARC_API sparc_status sparc_task_create(const char *name, sparc_task **out);
SPARC_API void sparc_task_free(sparc_task *task); /* task may be NULL */

#ifdef __cplusplus
}
#endif

#endif
