/* SPDX-License-Identifier: MIT */
/* run.h: a training run: data, network, updates, validation, checkpoints and metrics in a folder.
 *
 *   sparc_run_config config = {.data = "tracking", .folder = "runs/mine"};
 *   config.train.network.cell = "rtu";
 *   sparc_run *run;
 *   if (sparc_run_create(&config, &run) != SPARC_OK ||
 *       sparc_run_execute(run, on_event, NULL) != SPARC_OK) return report(sparc_error());
 *   printf("%g\n", sparc_run_result_of(run).best.loss);
 *   sparc_run_free(run);
 *
 * The folder holds config.json, metrics.jsonl, metrics.csv, last.safetensors and best.safetensors. Their contents do
 * not depend on time or threads: a run that is stopped or killed and then resumed writes the same bytes as an
 * uninterrupted one. `sparc train` is a run with a progress display.
 */
#ifndef SPARC_RUN_H
#define SPARC_RUN_H

#include "sparc/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ----------------------------------------------------------------------------- */

/* Source of the defaults. */
typedef enum sparc_run_recipe {
  SPARC_RECIPE_AUTO,  /* the default: PAPER for generated tasks; SMALL for classification data sets with at most
                         SPARC_SMALL_ROWS training examples or, if no setting of the network or the training is given,
                         SPARC_RIDGE_ROWS; else SIZED */
  SPARC_RECIPE_PAPER, /* the paper's settings */
  SPARC_RECIPE_SMALL, /* for classification with few examples: SPARC_READOUT_RIDGE if no setting of the network or the
                         training is given (docs/accuracy.md), else SIZED with input noise (docs/small-sets.md) */
  SPARC_RECIPE_SIZED  /* the paper's settings, with SPARC_SIZED_EPOCHS epochs, but at least SPARC_SIZED_MIN_UPDATES
                         updates and at most the paper's 20000, 20 validations, and early stopping after
                         SPARC_SIZED_PATIENCE validations without improvement. With updates or epochs given: PAPER */
} sparc_run_recipe;
/* SPARC_READOUT_RIDGE: one layer of kind bank replaces the configured network. */
#define SPARC_BANK_MODES      256
#define SPARC_BANK_THRESHOLDS 8
enum { SPARC_SMALL_ROWS = 200, SPARC_RIDGE_ROWS = 1000 };
enum { SPARC_SIZED_EPOCHS = 40, SPARC_SIZED_MIN_UPDATES = 1000, SPARC_SIZED_PATIENCE = 8 };

/* Only data is required; zero-initialise the rest. The defaults of `recipe` replace members that are not given. A
 * member is given if it is not 0 or NULL, or if it was set by name, which is how to give it the value 0:
 *
 *   sparc_run_config config = {.data = "FordA"};
 *   config.train.network.width = 32;
 *   sparc_run_config_set(&config, "layers", "0");
 *
 * Heads, features and initial draws follow from the data. */
typedef struct sparc_run_config {
  const char *data;        /* a generated task, a named data set, or a file */
  const char *root;        /* folder of named data sets; NULL: environment variable SPARC_DATA */
  sparc_read_options read; /* how a file is read */
  int official;            /* 1: fit on the whole training partition, report on the test partition */

  sparc_train_config train; /* of its network: cell, options, H, embedding, width, layers and dropout */
  const char *variant;      /* short for the cell option variant=NAME */
  int state_size;           /* alternative to H: real coordinates of each cell's state; 0: the paper's */

  sparc_run_recipe recipe;
  sparc_head_input head; /* of a classifier: SPARC_HEAD_MEAN or SPARC_HEAD_LAST */
  long epochs;           /* alternative to updates: passes over the training examples; 0: not given */
  int patience;          /* stop after this many validations in a row without improvement; 0: never */
  const char *from;      /* a checkpoint or run folder with initial weights and the network's configuration; the head is
                            drawn anew if classes or head differ. NULL: random weights */

  const char *folder;  /* NULL: no files are written, and the test part is not used */
  long validate_every; /* updates between validations, each followed by a checkpoint */
  int resume; /* 1: continue the run in the folder, which must hold one. Settings must be equal except updates and
                 patience. */
  int resume_or_create; /* 1: as resume, but start the run if the folder holds none */
  int force;            /* 1: replace the run in the folder */
  double time_budget;   /* seconds per execution: a new run is shortened to fit, by the speed of its first updates, and
                           every run ends when they are used up; 0: no limit */
  uint64_t given[4];    /* bit set of members that sparc_run_config_set has set */
} sparc_run_config;

/* Set a member by the name of its option of `sparc train`, or by its path in the configuration, as in
 * "train.network.layers": parse the value, check its range and mark the member as given. A text must outlive the
 * configuration. SPARC_INVALID: the name is unknown or the value is out of range. */
SPARC_API sparc_status sparc_run_config_set(sparc_run_config *config, const char *name, const char *value);

/* ---- events ------------------------------------------------------------------------------------ */

typedef struct sparc_run sparc_run; /* opaque; used by one thread at a time */

/* score on the validation part, or on the evaluation part of a generated task; of the ridge readout without a validation
 * part, the mean over training examples that are left out one at a time */
typedef struct sparc_run_score {
  long update;  /* updates done when it was measured; 0: not measured */
  double score; /* higher is better: accuracy, R2 of targets from data, or minus the NMSE of a task */
  double loss;
  double mse; /* of targets from data, in their units; else 0 */
} sparc_run_score;

typedef enum sparc_run_stage {
  SPARC_RUN_STARTED,    /* the folder and the trainer are ready */
  SPARC_RUN_UPDATE,     /* an update is done */
  SPARC_RUN_VALIDATED,  /* the validation part was evaluated */
  SPARC_RUN_CHECKPOINT, /* last.safetensors holds the current state */
  SPARC_RUN_FINISHED,   /* training and final evaluation are done */
  SPARC_RUN_FAILED      /* sparc_run_execute returns an error */
} sparc_run_stage;

typedef struct sparc_run_event {
  sparc_run_stage stage;
  const sparc_run *run;
  const sparc_update_report *update; /* of SPARC_RUN_UPDATE, else NULL */
  const sparc_run_score *score;      /* of SPARC_RUN_VALIDATED, else NULL */
  int best;                          /* SPARC_RUN_VALIDATED: 1 if this is the best score so far */
  const char *message;               /* of SPARC_RUN_FAILED: sparc_error(); else NULL */
} sparc_run_event;

/* Called in the thread that executes the run. A nonzero return value makes the run save a checkpoint and stop before
 * the next update. */
typedef int (*sparc_run_fn)(void *user, const sparc_run_event *event);

/* ---- runs -------------------------------------------------------------------------------------- */

/* Load the data and complete the configuration. The folder is not modified. Strings are copied. SPARC_INVALID: invalid
 * configuration; SPARC_IO, SPARC_FORMAT: the data cannot be read, or there is no run to resume. */
SPARC_API sparc_status sparc_run_create(const sparc_run_config *config, sparc_run **out);

/* Load the run of a folder from its config.json, to continue it. threads 0: all processors. */
SPARC_API sparc_status sparc_run_load(const char *folder, int threads, sparc_run **out);
SPARC_API void sparc_run_free(sparc_run *run); /* run may be NULL */

/* Train to the end of the schedule, until fn returns nonzero, or until an error. fn may be NULL. SPARC_OK: the run is
 * finished or stopped, see its result. A stopped run can be executed again, or loaded and executed; it continues
 * bit-exactly. SPARC_INVALID: the folder holds another run. */
SPARC_API sparc_status sparc_run_execute(sparc_run *run, sparc_run_fn fn, void *user);

typedef struct sparc_run_result {
  int finished;                /* 1: trained and evaluated; 0: stopped, failed or not started */
  int io_failed;               /* 1: failed because a file could not be written */
  long first, done;            /* updates done when the run was created or resumed, and now */
  long saved;                  /* update of the last checkpoint; -1: none */
  int stopped_early;           /* 1: ended before the last update of its schedule */
  int out_of_time;             /* 1: because of time_budget; 0: because of patience */
  int new_head;                /* 1: started from another model's weights with a new head */
  double seconds;              /* spent on updates, validations and checkpoints since `first` */
  sparc_run_score best, final; /* the best score and the last one */
  double baseline_mse;   /* targets from data: MSE of predicting the mean, or of a persistence forecast, on the test
                            part, or else the validation part; NaN: there is neither */
  sparc_evaluation test; /* of the best checkpoint on the test part; examples 0: not evaluated */
} sparc_run_result;

SPARC_API sparc_run_result sparc_run_result_of(const sparc_run *run);

/* The completed configuration. Its strings belong to the run. */
SPARC_API sparc_run_config sparc_run_config_of(const sparc_run *run);

/* The data of a run. Everything belongs to the run. */
typedef struct sparc_run_data {
  const char *name;                    /* of the task or data set */
  const char *warning;                 /* a likely mistake in how a file was read; "": none */
  const char *paper_difference;        /* how a data set differs from the paper's; "": equal, or not in the paper */
  const sparc_task *task;              /* NULL: a data set */
  sparc_samples fit, validation, test; /* count 0: no such part; test holds raw values */
} sparc_run_data;

SPARC_API sparc_run_data sparc_run_data_of(const sparc_run *run);

#ifdef __cplusplus
}
#endif

#endif
