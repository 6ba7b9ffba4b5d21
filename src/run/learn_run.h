/* SPDX-License-Identifier: MIT */
/* learn_run.h: internal interface of runs over a stream (sparc/learn_run.h). */
#ifndef SPARC_RUN_LEARN_RUN_H
#define SPARC_RUN_LEARN_RUN_H

#include "io/settings.h"
#include "sparc/learn_run.h"

/* learn_binding binds the settings of network, learner and stream to a configuration */
settings_binding learn_binding(sparc_learn_run_config *config);

/* id and time of the last step, and the names of their columns; NULL: no such column */
typedef struct learn_run_texts {
  const char *id_name, *id;
  const char *time_name, *time;
} learn_run_texts;

learn_run_texts learn_run_texts_of(const sparc_learn_run *run);

/* learn_run_lock locks the file before the first line does, for callers that wait for it */
sparc_status learn_run_lock(sparc_learn_run *run);

/* learn_run_begin does what sparc_learn_run_line does before it processes its first line, for callers that need the names
 * of columns before the first prediction; the line is processed by a later call */
sparc_status learn_run_begin(sparc_learn_run *run, const char *line, size_t size, const char *name);

#endif
