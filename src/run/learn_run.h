/* SPDX-License-Identifier: MIT */
/* learn_run.h: a learner that is fed with lines of text (stream.h), counts how good it is, and is kept in a file. */
#ifndef SPARC_RUN_LEARN_RUN_H
#define SPARC_RUN_LEARN_RUN_H

#include "io/settings.h"
#include "online/stream.h"
#include "sparc/learner.h"

/* "Not given" is as io/settings.h has it. */
typedef struct learn_config {
  sparc_learner_config learner;                       /* its goal, inputs and outputs follow from the stream */
  const char *variant;                                /* short for the cell option variant=NAME */
  int budget;                                         /* instead of modes: real coordinates of the state */
  const char *target, *label, *classes, *id, *ignore; /* see stream_options */
  const char *horizons;                               /* of forecasts: numbers, commas between them */
  const char *decimal;                                /* the decimal point: . or a comma */
  const char *model;                                  /* where the learner is kept; NULL: nowhere */
  long save_every;                                    /* steps; 0: only at the end */
  int resume;           /* 1: go on with the learner in `model`; settings that are given must be its own */
  int resume_or_create; /* 1: as resume, but begin one if there is no such file */
  int force;            /* 1: replace what is in `model` */
  int frozen;           /* 1: answers only */
} learn_config;

settings_form learn_form(learn_config *config);

typedef struct learn_run learn_run;

/* learn_run_create makes a learner for a stream with this first line, or fetches it. SPARC_IO: there is no file to
 * resume from. SPARC_INVALID: a setting that is given is not that of the file. */
sparc_status learn_run_create(const learn_config *config, const char *line, size_t size, const char *name,
                              learn_run **out);
void learn_run_free(learn_run *run); /* run may be NULL */

/* learn_run_line takes a line, which `name` stands for: *answer is that of the step, valid until the next call, and
 * NULL if the line only names columns. SPARC_FORMAT: the line makes no sense, and nothing has changed. */
sparc_status learn_run_line(learn_run *run, const char *line, size_t size, const char *name, const float **answer);

/* learn_run_save writes the file if there is to be one; run_line does so by itself every save_every steps */
sparc_status learn_run_save(learn_run *run);

const sparc_learner *learn_run_learner(const learn_run *run);
/* of a mixture: NULL and 0 of other learners */
const int *learn_run_horizons(const learn_run *run, int *count);
bool learn_run_is_resumed(const learn_run *run);
const char *const *learn_run_outputs(const learn_run *run);  /* names of the outputs: columns, or classes */
const char *const *learn_run_channels(const learn_run *run); /* names of the inputs */

/* means over truths, since the run was created; NAN where there are none */
enum { SCORE_RECENT = 1000 };
typedef struct learn_score {
  long truths;
  double loss, naive; /* as in sparc_learner_report; naive of classes: the share of the most frequent one */
  double accuracy;    /* of classes */
  double recent_loss, recent_naive, recent_accuracy; /* over the last SCORE_RECENT of them */
  double last;                                       /* numbers: of the last target known, where there was one */
} learn_score;
learn_score learn_run_score(const learn_run *run);

/* of a horizon of a mixture, likewise */
typedef struct horizon_score {
  long targets, intervals;
  double loss, persistence, seasonal_naive; /* mean squared errors */
  double covered;                           /* share of targets inside their interval */
} horizon_score;
horizon_score learn_run_horizon_score(const learn_run *run, int horizon /* its place */);

#endif
