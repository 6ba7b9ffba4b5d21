/* SPDX-License-Identifier: MIT */
/* learn_run_state.h: the members of a run over a stream, and the functions its files share. */
#ifndef SPARC_RUN_LEARN_RUN_STATE_H
#define SPARC_RUN_LEARN_RUN_STATE_H

#include "io/json.h"
#include "online/stream.h"
#include "run/cell_choice.h"
#include "run/engine.h"
#include "run/learn_run.h"

/* of one target */
typedef struct target_score {
  double loss, baseline;
  int correct;
} target_score;

/* over all targets of a horizon */
typedef struct horizon_sum {
  long targets, intervals, covered; /* counted per channel */
  double loss, persistence, seasonal_naive;
} horizon_sum;

struct sparc_learn_run {
  sparc_learn_run_config config; /* its strings are in `texts` */
  settings_texts texts;
  run_engine engine;
  const char *line, *line_name; /* current line, (line_size) bytes, and its name */
  size_t line_size;
  bool stepped; /* the current line has a prediction */
  sparc_learner *learner;
  stream_columns columns;
  bool skip_first;       /* the first line is a header */
  float *x, *target, *y; /* (inputs), (outputs), (outputs) of a step */
  const char **outputs;  /* (outputs) names; strings of `names` or of the columns */
  const char **inputs;   /* (inputs) names; strings of the columns */
  json_t *names;         /* output names of the file */
  char *roles;           /* of the columns of the first run, stored in the file */
  const char **column;   /* their names; NULL: not stored */
  json_t *column_names;  /* column names of the file, referenced by `column` */
  char warning[256];
  stream_texts previous, current; /* of the last step and of the current line */
  size_t text_size;               /* bytes of each buffer */
  long *frequency;                /* (outputs) of classes */
  long targets, correct;
  double loss, baseline, last_target; /* sums */
  long last_targets;                  /* targets with a predecessor */
  target_score recent[SPARC_LEARN_RUN_RECENT];
  int horizon[SPARC_MAX_HORIZONS], horizons; /* of a mixture */
  horizon_sum sum[SPARC_MAX_HORIZONS];
};

bool learn_run_is_ready(const sparc_learn_run *run); /* it has begun, and has not failed */

/* enlarges the buffers of ids and times to texts of size - 1 bytes */
sparc_status learn_run_reserve_texts(sparc_learn_run *run, size_t size);

/* ---- learn_run_settings.c ---- */

extern const char learn_run_unused_settings[]; /* names of network settings without effect */

sparc_status learn_run_check_decimal(const char *decimal);
sparc_status learn_run_read_horizons(const char *text, sparc_learner_config *l);

/* completes the configuration of a new learner for these columns; the cell options are written to `options` */
sparc_status learn_run_resolve(sparc_learn_run_config *c, const stream_columns *columns,
                               char options[CELL_OPTIONS_SIZE]);

/* ---- learn_run_match.c ---- */

/* compares the given settings with those of the loaded learner; classes: of the file, or NULL */
sparc_status learn_run_match(sparc_learn_run *run, const char *classes);

/* ---- learn_run_file.c ---- */

/* stores roles and, if columns can be matched by name, their names (may be NULL) */
sparc_status learn_run_keep_columns(sparc_learn_run *run, const char *roles, const char *const *name);
sparc_status learn_run_load(void *kind, long *done);        /* run_ops.restore */
sparc_status learn_run_write(void *kind, const char *path); /* run_ops.save */

/* ---- learn_run_score.c ---- */

/* add the scores of the last step or target; label: index of the class, or -1 */
void learn_run_add_score(sparc_learn_run *run, int label);
void learn_run_add_horizon_scores(sparc_learn_run *run);
sparc_learn_run_score learn_run_score_of(const sparc_learn_run *run);

#endif
