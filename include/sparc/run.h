/* SPDX-License-Identifier: MIT */
/* run.h: a whole training run: data, network, updates, validation, checkpoints and metrics in a folder.
 *
 *   sparc_run_config config = sparc_run_defaults();
 *   config.data = "tracking";
 *   config.folder = "runs/mine";
 *   config.train.network.cell = "rtu";
 *   sparc_run *run;
 *   if (sparc_run_create(&config, &run) != SPARC_OK ||
 *       sparc_run_execute(run, watch, &my_own) != SPARC_OK) return report(sparc_error());
 *   printf("%g\n", sparc_run_result_of(run).best.loss);
 *   sparc_run_free(run);
 *
 * The folder gets config.json, metrics.jsonl, metrics.csv, last.safetensors and best.safetensors. Nothing in them
 * depends on time or threads: a run that was stopped or killed and then resumed leaves the same bytes as one that was
 * left alone. `sparc train` is this with a progress line.
 */
#ifndef SPARC_RUN_H
#define SPARC_RUN_H

#include "sparc/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ----------------------------------------------------------------------------- */

/* What takes the place of what is not given. */
typedef enum sparc_run_recipe {
  SPARC_RECIPE_PAPER, /* the paper's settings, to the letter */
  SPARC_RECIPE_SMALL, /* few examples of classes: SPARC_READOUT_RIDGE where nothing is given of the network and its
                         training (docs/accuracy.md), else as SIZED with noise on the values (docs/small-sets.md) */
  SPARC_RECIPE_AUTO,  /* PAPER for generated tasks, SMALL for data sets of classes with at most SPARC_SMALL_ROWS
                         examples to fit, else SIZED; the default */
  SPARC_RECIPE_SIZED  /* the paper's settings with a length that depends on the number of examples: SPARC_SIZED_EPOCHS,
                         within SPARC_SIZED_LEAST updates and the paper's 20000, validated twenty times; training stops
                         after SPARC_SIZED_PATIENCE validations that are no better. With updates or epochs given: PAPER */
} sparc_run_recipe;
/* of train.readout SPARC_READOUT_RIDGE: one layer of kind bank in the place of the network that settings describe */
#define SPARC_BANK_MODES      256
#define SPARC_BANK_THRESHOLDS 8
enum { SPARC_SMALL_ROWS = 200, SPARC_SIZED_EPOCHS = 40, SPARC_SIZED_LEAST = 1000, SPARC_SIZED_PATIENCE = 8 };

/* Only data is required. The paper's settings for data sets, or those of the generated task, replace members that are not
 * given. A member is given if it is not 0 or NULL. To give a member the value 0, mark it after the assignment:
 *
 *   config.train.network.layers = 0;
 *   sparc_run_config_mark(&config, &config.train.network.layers);
 *
 * or set it by its name: sparc_run_config_set(&config, "layers", "0"). Heads, features and initial draws follow from the
 * data. */
typedef struct sparc_run_config {
  const char *data;        /* a generated task, a named data set, or a file */
  const char *root;        /* folder of named data sets; NULL: the environment variable SPARC_DATA */
  sparc_read_options read; /* how a file is read */
  int official;            /* 1: fit on the whole training partition, report on the test partition */

  sparc_train_config train; /* cell, options, H, embedding, width, layers and dropout of its network count */
  const char *variant;      /* short for the cell option variant=NAME */
  int budget;               /* instead of H: real coordinates of each cell's state; 0: the paper's */

  int recipe;       /* a sparc_run_recipe */
  int head;         /* which steps' features a head of classes reads: SPARC_HEAD_MEAN or SPARC_HEAD_LAST */
  long epochs;      /* instead of updates: times through the examples that are fitted; 0: not given */
  int patience;     /* stop after so many validations in a row that are no better than the best; 0: never */
  const char *from; /* a checkpoint or the folder of a run: its weights are the first ones, its network that of this
                       run; the head is drawn anew where classes or head differ. NULL: all are drawn */

  const char *folder;  /* NULL: nothing is written, and the test part is not used */
  long validate_every; /* updates between checkpoints, which validate and save */
  int resume; /* 1: continue the run in the folder, which must have one. Settings must be the same, but updates and
                 patience may change. */
  int resume_or_create; /* 1: as resume, but begin the run if the folder has none */
  int force;            /* 1: replace the run in the folder */
  double time_budget; /* seconds that an execution may take: a new run is shortened to what they allow, by the speed of
                           its first updates, and any run ends when they are over; 0: as long as it takes */
  uint64_t given[4];  /* bit set of marked members, written by sparc_run_config_mark and sparc_run_config_set */
} sparc_run_config;

/* A configuration in which nothing is given. */
SPARC_API sparc_run_config sparc_run_defaults(void);

/* Set a member by the name of its option of `sparc train`: parse the value, check its range and mark it as given. A text
 * must outlive the configuration. SPARC_INVALID: the name is unknown or the value is out of range. */
SPARC_API sparc_status sparc_run_config_set(sparc_run_config *config, const char *name, const char *value);

/* Mark a member, by its address in the configuration, as given. A 0 below the minimum of the member remains not given.
 * SPARC_INVALID: it is not a setting. */
SPARC_API sparc_status sparc_run_config_mark(sparc_run_config *config, const void *member);

/* ---- what happens ------------------------------------------------------------------------------ */

typedef struct sparc_run sparc_run; /* opaque; used by one thread at a time */

/* how good the network was on the validation part, or on the evaluation part of a task */
typedef struct sparc_run_score {
  long update;  /* after so many; 0: never measured */
  double merit; /* accuracy, R2 of targets from data, or minus the NMSE of a task: more is better */
  double loss;
  double mse; /* of targets from data, in their units; else 0 */
} sparc_run_score;

typedef enum sparc_run_stage {
  SPARC_RUN_STARTED,    /* the folder and the trainer are ready */
  SPARC_RUN_UPDATE,     /* an update is done */
  SPARC_RUN_VALIDATED,  /* the validation part was measured */
  SPARC_RUN_CHECKPOINT, /* last.safetensors holds the present state */
  SPARC_RUN_FINISHED,   /* all is done and measured */
  SPARC_RUN_FAILED      /* the run ends with the status that sparc_run_execute returns */
} sparc_run_stage;

typedef struct sparc_run_event {
  sparc_run_stage stage;
  const sparc_run *run;
  const sparc_update_report *update; /* of SPARC_RUN_UPDATE, else NULL */
  const sparc_run_score *score;      /* of SPARC_RUN_VALIDATED, else NULL */
  int best;                          /* SPARC_RUN_VALIDATED: 1 if no score before was as good */
  const char *message;               /* of SPARC_RUN_FAILED, the sentence of sparc_error(); else NULL */
} sparc_run_event;

/* Called in the thread that executes the run. A value other than 0 asks the run to save and stop before its next
 * update. */
typedef int (*sparc_run_fn)(void *user, const sparc_run_event *event);

/* ---- runs -------------------------------------------------------------------------------------- */

/* sparc_run_create loads the data and settles the configuration; the folder is not touched yet. Strings are copied.
 * SPARC_INVALID: the configuration makes no sense; SPARC_IO, SPARC_FORMAT: the data cannot be read, or there is no run
 * to resume. */
SPARC_API sparc_status sparc_run_create(const sparc_run_config *config, sparc_run **out);

/* sparc_run_open makes the run of a folder once more, from its config.json, to be continued. threads 0: all processors.
 */
SPARC_API sparc_status sparc_run_open(const char *folder, int threads, sparc_run **out);
SPARC_API void sparc_run_free(sparc_run *run); /* run may be NULL */

/* sparc_run_execute trains until the end of the schedule, until fn asks it to stop, or until something fails. SPARC_OK:
 * the run is finished or stopped, as its result says. A stopped run may be executed again and goes on; so does one that
 * is opened again, to the same bits. SPARC_INVALID: the folder holds another run. fn may be NULL. */
SPARC_API sparc_status sparc_run_execute(sparc_run *run, sparc_run_fn fn, void *user);

typedef struct sparc_run_result {
  int finished;                /* 1: trained to the end and measured; 0: stopped, failed or not begun */
  int unwritten;               /* 1: it failed because a file of the run could not be written */
  long first, done;            /* updates when the run was created or resumed, and now */
  long saved;                  /* update of the last checkpoint; -1: none */
  int early;                   /* 1: it ended before its last update */
  int expired;                 /* 1: it did so because its time was over; else because patience was */
  int new_head;                /* 1: it began from another model's weights, but with a head of its own */
  double seconds;              /* spent in updates, validations and checkpoints since `first` */
  sparc_run_score best, final; /* the best so far, and the last */
  double naive;          /* targets from data: MSE of predicting their mean, or of a forecast the present value, on
                            the test part or else the validation part */
  sparc_evaluation test; /* of the best checkpoint on the test part; examples 0: not measured */
} sparc_run_result;

SPARC_API sparc_run_result sparc_run_result_of(const sparc_run *run);

/* sparc_run_config_of is the configuration with everything settled; its strings live as long as the run */
SPARC_API sparc_run_config sparc_run_config_of(const sparc_run *run);

/* what the run learns from; it lives as long as the run */
typedef struct sparc_run_data {
  const char *name;                    /* of the task or data set */
  const char *remark;                  /* what looks like a mistake in reading a file; "": nothing */
  const char *differs;                 /* how a data set is not what the paper used; "": it is, or the paper has none */
  const sparc_task *task;              /* NULL: a data set */
  sparc_samples fit, validation, test; /* count 0: there is no such part; test holds raw values */
} sparc_run_data;

SPARC_API sparc_run_data sparc_run_data_of(const sparc_run *run);

/* sparc_run_trainer is the trainer, NULL before SPARC_RUN_STARTED. It may be evaluated, but not updated. */
SPARC_API sparc_trainer *sparc_run_trainer(const sparc_run *run);

#ifdef __cplusplus
}
#endif

#endif
