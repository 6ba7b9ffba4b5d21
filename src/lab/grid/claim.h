/* SPDX-License-Identifier: MIT */
/* claim.h: who works in a folder, among processes on one machine or on several that share a file system.
 *
 * A claim is the file claim.N of the folder with the highest N. Taking one makes claim.N+1 as a hard link, which
 * exactly one process can do. The file with the highest number is never removed while there is work left, so that a
 * process that looked long ago cannot mistake the folder for a free one: it finds its number taken or outdone. A claim
 * is dead when its owner gave it back, when its process is gone from this machine, or, on another machine, when it was
 * not renewed for CLAIM_EXPIRY seconds by the clock of the file system.
 */
#ifndef SPARC_LAB_GRID_CLAIM_H
#define SPARC_LAB_GRID_CLAIM_H

#include "sparc/base.h"

#include <stdbool.h>

enum { CLAIM_HOST = 128, CLAIM_PATH = 4200, CLAIM_EXPIRY = 120 };

typedef struct claim_holder {
  char host[CLAIM_HOST];
  long pid;
  unsigned long long
      start; /* of the process, in ticks since the machine was started: numbers of processes come again */
} claim_holder;

typedef struct claim {
  char folder[CLAIM_PATH - 64];
  long number; /* 0: not held */
} claim;

/* claim_take tries to become the holder; *taken says whether it did. The folder must exist. */
sparc_status claim_take(const char *folder, claim *out, bool *taken);

/* claim_renew shows that the holder is alive; false: somebody else has the folder now, and the work must stop */
bool claim_renew(const claim *c);

/* claim_return lets others go on with the work; claim_drop removes the claim because there is none left */
void claim_return(claim *c);
void claim_drop(claim *c);

/* claim_inspect says whether somebody holds the folder, and who; nobody has one that does not exist. A claim that cannot
 * be read is a failure: it may be somebody's. */
sparc_status claim_inspect(const char *folder, claim_holder *holder, bool *held);

#endif
