/* SPDX-License-Identifier: MIT */
/* claim.h: exclusive ownership of a run folder among processes, on one machine or on several that share a file system.
 *
 * The claim is the file claim.N with the highest N. Taking it creates claim.N+1 as a hard link, which succeeds for
 * exactly one process. The file with the highest number is not removed before the job is finished, so that a process
 * with an outdated view cannot mistake the folder for a free one: its number is taken or exceeded. A claim is dead if
 * its owner returned it, if its process no longer exists on this machine or, on another machine, if it was not renewed
 * for CLAIM_EXPIRY seconds by the clock of the file system.
 */
#ifndef SPARC_LAB_GRID_CLAIM_H
#define SPARC_LAB_GRID_CLAIM_H

#include "sparc/base.h"

#include <stdbool.h>

enum { CLAIM_HOST = 128, CLAIM_PATH = 4200, CLAIM_EXPIRY = 120 };

typedef struct claim_holder {
  char host[CLAIM_HOST];
  long pid;
  unsigned long long start; /* start time of the process in ticks since boot, because process ids are reused */
} claim_holder;

typedef struct claim {
  char folder[CLAIM_PATH - 64];
  long number; /* 0: not held */
} claim;

/* Tries to take the claim; *taken: success. The folder must exist. */
sparc_status claim_take(const char *folder, claim *out, bool *taken);

/* Renews the claim; false: another process holds the folder now, and the job must stop. */
bool claim_renew(const claim *c);

/* claim_return releases an unfinished job for others; claim_drop removes the claim of a finished one. */
void claim_return(claim *c);
void claim_drop(claim *c);

/* Reports whether the folder is claimed, and by whom; a missing folder is not. A claim that cannot be read is an error,
 * because it may be alive. */
sparc_status claim_inspect(const char *folder, claim_holder *holder, bool *held);

#endif
