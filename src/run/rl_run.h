/* SPDX-License-Identifier: MIT */
/* rl_run.h: what the tool knows of a reinforcement-learning run beyond sparc/rl_run.h. */
#ifndef SPARC_RUN_RL_RUN_H
#define SPARC_RUN_RL_RUN_H

#include "run/provenance.h"
#include "run/rl_settings.h"

const provenance *rl_run_provenance(const sparc_rl_run *run);

extern const char *const rl_metrics[]; /* the keys of rl_report_json; ends with NULL */

/* rl_report_json adds what a report says, without times, to an object; NULL (for NULL, too) without memory */
json_t *rl_report_json(json_t *object, const sparc_ppo_report *report);

#endif
