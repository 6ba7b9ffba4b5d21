/* SPDX-License-Identifier: MIT */
/* rl_run.h: internal functions of reinforcement-learning runs, for the tool. */
#ifndef SPARC_RUN_RL_RUN_H
#define SPARC_RUN_RL_RUN_H

#include "run/provenance.h"
#include "run/rl_settings.h"

const provenance *rl_run_provenance(const sparc_rl_run *run);
const sparc_ppo *rl_run_ppo(const sparc_rl_run *run); /* NULL before SPARC_RUN_STARTED */

extern const char *const rl_metrics[]; /* the keys of rl_report_json; ends with NULL */

/* Add a report, without times, to an object. Returns NULL if memory is exhausted, or if object is NULL. */
json_t *rl_report_json(json_t *object, const sparc_ppo_report *report);

#endif
