/* SPDX-License-Identifier: MIT */
/* lock.h: exclusive locks of run folders and files. */
#ifndef SPARC_RUN_LOCK_H
#define SPARC_RUN_LOCK_H

#include "run/folder.h"

typedef struct run_lock {
  int file; /* its descriptor, if it is held */
  bool held;
  bool busy; /* taking it failed because another run has it */
  char path[RUN_PATH];
} run_lock;

/* run_lock_take takes the lock of an existing folder. SPARC_IO: another run holds it; the message names its process and
 * host. The lock of a dead process is taken over. Taking a lock that is held already does nothing. */
sparc_status run_lock_take(const run_folder *folder, run_lock *lock);

/* file_lock_take does the same for a single file, which may not exist yet, by a file PATH.lock beside it. */
sparc_status file_lock_take(const char *path, run_lock *lock);
void run_lock_release(run_lock *lock); /* may be zeroed */

#endif
