/* SPDX-License-Identifier: MIT */
/* run.h: one training run in its folder: updates, validation, checkpoints, metrics.
 *
 * The folder holds config.json, metrics.jsonl, metrics.csv, last.safetensors and best.safetensors. Nothing in it
 * depends on time or threads, so a run that was killed and resumed leaves the same bytes as one that was not.
 */
#ifndef SPARC_CLI_TRAIN_RUN_H
#define SPARC_CLI_TRAIN_RUN_H

#include "cli/progress.h"
#include "cli/train/data.h"
#include "cli/train/metrics.h"
#include "cli/train/settings.h"

enum { RUN_PATH = METRICS_PATH };

/* how good a network was on the validation part */
typedef struct run_score {
  long update;  /* 0: never measured */
  double merit; /* accuracy, or minus the NMSE */
  double loss;
} run_score;

typedef struct train_run {
  const char *who; /* opens messages */
  const train_settings *settings;
  train_data *data;
  sparc_trainer *trainer;
  progress *progress;
  metrics metrics;
  run_score best, final;
  sparc_evaluation test;      /* of the best checkpoint; examples 0: there is no test part */
  long saved;                 /* update of the last checkpoint, -1: none */
  long first;                 /* updates done before this session */
  double seconds;             /* spent in updates */
  char folder[RUN_PATH - 64]; /* room for names in it */
  char last[RUN_PATH], best_path[RUN_PATH];
} train_run;

/* run_prepare makes the folder and a fresh trainer, or with --resume restores the last one. */
exit_code run_prepare(train_run *run, const sparc_train_config *config);

/* run_execute trains to the end of the schedule or until a signal or a failure, and measures the result. */
exit_code run_execute(train_run *run);
void run_free(train_run *run);

/* is_classifier says whether the run learns classes (or else numbers at every step) */
bool is_classifier(const train_run *run);

#endif
