/* SPDX-License-Identifier: MIT */
/* learn_run.h: a learner that is fed with lines of text, measures its error, and is kept in a file.
 *
 *   sparc_learn_run_config config = sparc_learn_run_defaults();
 *   config.model = "learner.safetensors";
 *   sparc_learn_run *run;
 *   const float *prediction;
 *   const char line[] = "0.5,1.25";
 *   if (sparc_learn_run_create(&config, &run) != SPARC_OK) return report(sparc_error());
 *   if (sparc_learn_run_begin(run, line, sizeof line - 1, "line 1") != SPARC_OK ||
 *       sparc_learn_run_line(run, line, sizeof line - 1, "line 1", &prediction) != SPARC_OK ||
 *       sparc_learn_run_save(run) != SPARC_OK) return report(sparc_error());
 *   sparc_learn_run_free(run);
 *
 * A line is a step: numbers with commas between them; the first line may name the columns. A run that is resumed
 * continues bit-exactly: learning two streams in sequence gives the same file as learning their concatenation.
 * `sparc learn` is this with a progress line.
 */
#ifndef SPARC_LEARN_RUN_H
#define SPARC_LEARN_RUN_H

#include "sparc/learner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ----------------------------------------------------------------------------- */

/* No member is required. A member is given if it is not 0 or NULL; to give a member the value 0, mark it after the
 * assignment or set it by its name, as in sparc/run.h. Columns are given by name or by number, from 1. */
typedef struct sparc_learn_run_config {
  sparc_learner_config learner; /* its goal, inputs and outputs follow from the stream */
  const char *variant;          /* short for the cell option variant=NAME */
  int budget;                   /* instead of H: real coordinates of the cell's state */
  const char *target;           /* columns of numbers to learn, commas between them; all are forecast without target and
                                   label */
  const char *label, *classes;  /* the column of a class to learn, and the names of the classes, commas between them */
  const char *id;               /* a new sequence begins where this column changes */
  const char *time;             /* a column of times, which must not fall within a sequence; it is no input */
  const char *ignore;           /* columns to leave out, commas between them */
  const char *horizons;         /* of forecasts: numbers of steps, commas between them */
  const char *decimal;          /* the decimal point: . or a comma */
  const char *model;            /* the file that the learner is kept in; NULL: none */
  long save_every;              /* steps between writes of the file; 0: only sparc_learn_run_save writes it */
  int resume;                   /* 1: continue the learner of the file; settings that are given must be its own */
  int resume_or_create;         /* 1: as resume, but begin a learner if there is no such file */
  int force;                    /* 1: replace the file */
  int frozen;                   /* 1: predict only; the file is not written */
  int by_position;              /* 1: a continued stream has its columns in the same order, whatever their names are */
  uint64_t given[3];            /* bit set of marked members */
} sparc_learn_run_config;

/* A configuration in which nothing is given. */
SPARC_API sparc_learn_run_config sparc_learn_run_defaults(void);

/* As sparc_run_config_set() and sparc_run_config_mark(), with the options of `sparc learn`. */
SPARC_API sparc_status sparc_learn_run_config_set(sparc_learn_run_config *config, const char *name, const char *value);
SPARC_API sparc_status sparc_learn_run_config_mark(sparc_learn_run_config *config, const void *member);

/* ---- runs -------------------------------------------------------------------------------------- */

typedef struct sparc_learn_run sparc_learn_run; /* opaque; used by one thread at a time */

/* sparc_learn_run_create checks the configuration and looks for the file, which is not touched yet. Strings are copied.
 * SPARC_IO: there is no file to resume from. */
SPARC_API sparc_status sparc_learn_run_create(const sparc_learn_run_config *config, sparc_learn_run **out);
SPARC_API void sparc_learn_run_free(sparc_learn_run *run); /* run may be NULL; nothing is written */

/* sparc_learn_run_lock keeps other runs away from the file until this one is freed. sparc_learn_run_begin does so, too:
 * this is for callers that wait for their first line. SPARC_IO: another process uses the file. */
SPARC_API sparc_status sparc_learn_run_lock(sparc_learn_run *run);

/* sparc_learn_run_begin creates the learner for a stream with this first line, or restores it. `name` stands for the
 * line in messages. SPARC_INVALID: a setting makes no sense, or is not that of the file. */
SPARC_API sparc_status sparc_learn_run_begin(sparc_learn_run *run, const char *line, size_t size, const char *name);

/* sparc_learn_run_line takes a line, the first one included. *prediction is that of the step, valid until the next
 * call, and NULL if the line only names columns. SPARC_FORMAT: the line makes no sense, and nothing has changed. A
 * failure with a prediction is one of writing the file: the step is done. */
SPARC_API sparc_status sparc_learn_run_line(sparc_learn_run *run, const char *line, size_t size, const char *name,
                                            const float **prediction);

/* sparc_learn_run_save writes the file, if there is to be one */
SPARC_API sparc_status sparc_learn_run_save(sparc_learn_run *run);

/* ---- what came of it --------------------------------------------------------------------------- */

typedef struct sparc_learn_run_result {
  int resumed;         /* 1: the learner was restored from the file */
  int unwritten;       /* 1: the file could not be locked or written */
  long first, done;    /* steps when the run began, and now */
  long saved;          /* steps in the file; -1: none */
  const char *warning; /* how columns of a continued stream were taken by position; NULL: by name */
} sparc_learn_run_result;
SPARC_API sparc_learn_run_result sparc_learn_run_result_of(const sparc_learn_run *run);

/* means over the targets since the run began, each scored before it is learned from; NAN where there are none */
enum { SPARC_LEARN_RUN_RECENT = 1000 };
typedef struct sparc_learn_run_score {
  long targets;
  double loss;     /* mean squared error, or cross-entropy */
  double baseline; /* numbers: error of persistence or of the running mean; classes:
                                                           the share of the most frequent one */
  double accuracy; /* of classes */
  double recent_loss, recent_baseline, recent_accuracy; /* over the last SPARC_LEARN_RUN_RECENT targets */
  double last_target;                                   /* numbers: error of the target before, where there was one */
} sparc_learn_run_score;
SPARC_API sparc_learn_run_score sparc_learn_run_score_of(const sparc_learn_run *run);

/* the same for one horizon of a mixture, by its place in the list of horizons */
typedef struct sparc_learn_run_horizon_score {
  long targets, intervals;
  double loss, persistence, seasonal_naive; /* mean squared errors */
  double covered;                           /* share of targets inside their interval */
} sparc_learn_run_horizon_score;
SPARC_API sparc_learn_run_horizon_score sparc_learn_run_horizon_score_of(const sparc_learn_run *run, int horizon);

/* sparc_learn_run_horizons lists the horizons of a mixture; NULL and 0 of other learners */
SPARC_API const int *sparc_learn_run_horizons(const sparc_learn_run *run, int *count);

/* NULL before the run has begun: the learner, names of its outputs (columns or classes) and of its inputs */
SPARC_API const sparc_learner *sparc_learn_run_learner(const sparc_learn_run *run);
SPARC_API const char *const *sparc_learn_run_outputs(const sparc_learn_run *run);
SPARC_API const char *const *sparc_learn_run_channels(const sparc_learn_run *run);

#ifdef __cplusplus
}
#endif

#endif
