/* SPDX-License-Identifier: MIT */
/* learn_run.h: the settings of a run over a stream (sparc/learn_run.h). */
#ifndef SPARC_RUN_LEARN_RUN_H
#define SPARC_RUN_LEARN_RUN_H

#include "io/settings.h"
#include "sparc/learn_run.h"

/* learn_binding binds the tables of network, learner and stream to a configuration */
settings_binding learn_binding(sparc_learn_run_config *config);

/* id and time of the last line that was learned from, and what their columns are called; NULL: there is no such column */
typedef struct learn_run_texts {
  const char *id_name, *id;
  const char *time_name, *time;
} learn_run_texts;

learn_run_texts learn_run_texts_of(const sparc_learn_run *run);

#endif
