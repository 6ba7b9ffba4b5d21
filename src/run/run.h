/* SPDX-License-Identifier: MIT */
/* run.h: the trainer of a run. */
#ifndef SPARC_RUN_RUN_H
#define SPARC_RUN_RUN_H

#include "sparc/run.h"

/* run_trainer is NULL before SPARC_RUN_STARTED. The trainer may be evaluated, but not updated. */
sparc_trainer *run_trainer(const sparc_run *run);

#endif
