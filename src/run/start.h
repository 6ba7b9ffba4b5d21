/* SPDX-License-Identifier: MIT */
/* start.h: initial weights from another model. */
#ifndef SPARC_RUN_START_H
#define SPARC_RUN_START_H

#include "run/folder.h"
#include "sparc/run.h"
#include "train/checkpoint.h"

typedef struct start_name {
  char text[RUN_PATH + 32];
} start_name;

/* start_open opens a checkpoint, of a run's folder the best one; path gets its name, which the file refers to */
sparc_status start_open(const char *model, start_name *path, checkpoint *out);

/* start_inherit copies the network settings that are not given from the file, whose strings config then refers to; the
 * head, too, if a sequence has one output (one_output). start_check checks that the resolved network equals the file's. */
void start_inherit(const checkpoint *file, bool one_output, sparc_run_config *config);
sparc_status start_check(const checkpoint *file, const sparc_network_config *network);

/* start_check_columns fails if a table has the columns of the file's in another order: weights are by position */
sparc_status start_check_columns(const checkpoint *file, const sparc_preprocessing *preprocessing);

/* start_has_head: the file's head has the same input and the same classes or targets */
bool start_has_head(const checkpoint *file, const sparc_head_config *head, const sparc_preprocessing *preprocessing);

#endif
