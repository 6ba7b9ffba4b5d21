/* SPDX-License-Identifier: MIT */
/* ranked.h: a run on several ranks, and the checks that they agree before it begins. */
#ifndef SPARC_RUN_RANKED_H
#define SPARC_RUN_RANKED_H

#include "run/engine.h"
#include "sparc/rl_run.h"

/* run_join makes a run that has not begun one of this group: rank 0 owns its folder, and an execution ends on all ranks
 * with the same status. `threads` is for a configuration without a number of threads. The group must outlive the run.
 */
void run_join(sparc_run *run, ranks *group, int threads);

void rl_run_join(sparc_rl_run *run, ranks *group, int threads);

/* Of engines. ranked_check refuses a number of ranks that does not divide the shards, and ranks that differ in version,
 * settings, data, kernels or the folder, by name. ranked_see_folder checks that all ranks see the folder in which rank
 * 0 writes; `mine` is the status of this rank so far. */
sparc_status ranked_check(run_engine *e);
sparc_status ranked_see_folder(run_engine *e, sparc_status mine);

#endif
