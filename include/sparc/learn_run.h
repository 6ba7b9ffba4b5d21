/* SPDX-License-Identifier: MIT */
/* learn_run.h: online learning from lines of text, with scores and a learner file. `sparc learn` is this with a progress
 * line.
 *
 *   sparc_learn_run_config config = {.model = "learner.safetensors"};
 *   sparc_learn_run *run;
 *   const float *prediction;
 *   const char line[] = "0.5,1.25";
 *   if (sparc_learn_run_create(&config, &run) != SPARC_OK) return report(sparc_error());
 *   if (sparc_learn_run_line(run, line, sizeof line - 1, "line 1", &prediction) != SPARC_OK ||
 *       sparc_learn_run_save(run) != SPARC_OK) return report(sparc_error());
 *   sparc_learn_run_free(run);
 *
 * A line is a step: comma-separated numbers; the first line may name the columns. A resumed run continues bit-exactly:
 * learning two streams in sequence gives the same file as learning their concatenation.
 */
#ifndef SPARC_LEARN_RUN_H
#define SPARC_LEARN_RUN_H

#include "sparc/learner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ----------------------------------------------------------------------------- */

/* No member is required; zero-initialise the structure. A member is given if it is not 0 or NULL, or if it was set by
 * name, as in sparc/run.h. Columns are given by name or by number, from 1; lists are comma-separated. */
typedef struct sparc_learn_run_config {
  sparc_learner_config learner; /* objective, inputs and outputs follow from the stream */
  const char *variant;          /* short for the cell option variant=NAME */
  int state_size;               /* real coordinates of the cell's state, instead of H */
  const char *target;           /* columns of numbers to predict. Without target and label all columns are forecast */
  const char *label, *classes;  /* the column of the class to predict, and the names of the classes */
  const char *id;               /* a new sequence starts where this column changes */
  const char *time;             /* a column of times, which must not decrease within a sequence; not an input */
  const char *ignore;           /* columns to leave out */
  const char *horizons;         /* forecasts: numbers of steps */
  const char *decimal;          /* decimal point: "." or "," */
  const char *model;            /* the learner's file; NULL: none */
  long save_every;              /* steps between writes of the file; 0: only sparc_learn_run_save() writes it */
  int resume;                   /* 1: continue the learner of the file; given settings must match it */
  int resume_or_create;         /* 1: like resume, but start a new learner if there is no file */
  int force;                    /* 1: replace the file */
  int frozen;                   /* 1: predict and score only; the file is not written */
  int by_position;              /* 1: match the columns of a continued stream by position, not by name */
  uint64_t given[3];            /* bit set of members that were set by name */
} sparc_learn_run_config;

/* As sparc_run_config_set(), with the options of `sparc learn`. */
SPARC_API sparc_status sparc_learn_run_config_set(sparc_learn_run_config *config, const char *name, const char *value);

/* ---- runs -------------------------------------------------------------------------------------- */

typedef struct sparc_learn_run sparc_learn_run; /* opaque; used by one thread at a time */

/* Check the configuration and look for the file, which is not read yet. Strings are copied. SPARC_IO: there is no file
 * to resume from. */
SPARC_API sparc_status sparc_learn_run_create(const sparc_learn_run_config *config, sparc_learn_run **out);
SPARC_API void sparc_learn_run_free(sparc_learn_run *run); /* run may be NULL; nothing is written */

/* Process a line; `name` identifies it in error messages. *prediction is valid until the next call, and NULL if the line
 * only names columns. SPARC_FORMAT: the line is malformed, and nothing has changed. An error with a prediction is a
 * failure to write the file; the step has been made.
 *
 * The first line, which may follow a line "sep=;" in the same text, creates or loads the learner and locks the file until
 * the run is freed. SPARC_INVALID: a setting is wrong or does not match the file. SPARC_IO: another process uses the
 * file. If the first line fails, the run cannot continue. */
SPARC_API sparc_status sparc_learn_run_line(sparc_learn_run *run, const char *line, size_t size, const char *name,
                                            const float **prediction);

/* Write the learner's file, if the run has one. */
SPARC_API sparc_status sparc_learn_run_save(sparc_learn_run *run);

/* ---- results ----------------------------------------------------------------------------------- */

typedef struct sparc_learn_run_info {
  const sparc_learner *learner;
  const char *const *inputs;  /* names of the input columns */
  const char *const *outputs; /* names of the outputs: columns or classes */
} sparc_learn_run_info;

/* Zero before the first line. */
SPARC_API sparc_learn_run_info sparc_learn_run_info_of(const sparc_learn_run *run);

/* Scores of one horizon of a mixture; errors are mean squared errors. */
typedef struct sparc_horizon_score {
  int horizon;
  long targets, intervals;
  double loss, persistence, seasonal_naive;
  double coverage; /* share of the intervals that contain their target */
} sparc_horizon_score;

/* Means over the targets of the run, each scored before it is learned from; NAN where there are none. */
enum { SPARC_LEARN_RUN_RECENT = 1000 };
typedef struct sparc_learn_run_score {
  long targets;
  double loss;     /* mean squared error, or cross-entropy */
  double baseline; /* numbers: error of persistence or of the running mean; classes: frequency of the most common one */
  double accuracy; /* classes */
  double recent_loss, recent_baseline, recent_accuracy; /* over the last SPARC_LEARN_RUN_RECENT targets */
  double last_target;                                   /* regression: error of the previous target as a prediction */
  int horizons;                                         /* of a mixture; otherwise 0 */
  sparc_horizon_score horizon[SPARC_MAX_HORIZONS];
} sparc_learn_run_score;

typedef struct sparc_learn_run_result {
  int resumed;         /* 1: the learner was loaded from the file */
  int io_failed;       /* 1: the file could not be locked or written */
  long first, done;    /* steps at the start of the run, and now */
  long saved;          /* steps in the file; -1: none */
  const char *warning; /* how columns of a continued stream were matched by position; NULL: by name */
  sparc_learn_run_score score;
} sparc_learn_run_result;
SPARC_API sparc_learn_run_result sparc_learn_run_result_of(const sparc_learn_run *run);

#ifdef __cplusplus
}
#endif

#endif
