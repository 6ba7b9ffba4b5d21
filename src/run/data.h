/* SPDX-License-Identifier: MIT */
/* data.h: a data set or generated task, prepared for a trainer. */
#ifndef SPARC_RUN_DATA_H
#define SPARC_RUN_DATA_H

#include "sparc/train.h"

#include <stdbool.h>

typedef struct run_data {
  sparc_task *task;       /* NULL: a data set */
  sparc_data_split split; /* fit and validation are normalised, test holds raw values */
  sparc_samples fit;
  sparc_samples validation, test; /* count 0: there is no such part */
  int channels, outputs;
  sparc_preprocessing preprocessing;
  double *mean;        /* mean and standard deviation (2, channels) */
  double *target_mean; /* likewise of targets (2, outputs); NULL: classes, or a task */
  bool target_steps;   /* every step has a target */
  const char **labels;
  unsigned long checksum; /* of the preprocessed training examples; stored in checkpoints */
  unsigned long identity; /* of the fit and validation parts as they were read: which data these are */
} run_data;

/* is_task: name is that of a generated task */
bool is_task(const char *name);

/* run_data_load loads a task or a data set, fills missing values and normalises by the fit part. */
sparc_status run_data_load(const char *name, const sparc_data_options *options, run_data *out);
void run_data_free(run_data *data); /* may be zeroed */

#endif
