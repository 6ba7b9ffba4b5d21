/* SPDX-License-Identifier: MIT */
/* start.h: a run that begins with what another one has learned. */
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

/* start_inherit makes what was not said of the network that of the file, whose strings it then refers to; its head as
 * well where a sequence has one answer. start_check demands that the settled network is the file's. */
void start_inherit(const checkpoint *file, bool one_answer, sparc_run_config *config);
sparc_status start_check(const checkpoint *file, const sparc_network_config *network);

/* start_check_columns refuses a table that has the columns of the file's in another order: its weights go by place */
sparc_status start_check_columns(const checkpoint *file, const sparc_preprocessing *preprocessing);

/* start_has_head tells whether the file's head is one for these classes or targets, read in the same way */
bool start_has_head(const checkpoint *file, const sparc_head_config *head, const sparc_preprocessing *preprocessing);

#endif
