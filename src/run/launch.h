/* SPDX-License-Identifier: MIT */
/* launch.h: ranks started by a launcher such as mpirun or srun, and their group. */
#ifndef SPARC_RUN_LAUNCH_H
#define SPARC_RUN_LAUNCH_H

#include "base/ranks.h"

/* rank and size from the launcher's environment variables; 0 of 1 without a launcher */
typedef struct launch {
  int rank, size;
} launch;
launch launch_read(void);

/* launch_forget removes these variables, so that child processes are not ranks */
void launch_forget(void);

/* launch_share divides threads among the ranks of a machine, unless the launcher has bound this one to processors */
int launch_share(int threads);

/* launch_join creates the group with the shared object sparc-mpi.so, which is searched like the tool's libraries. *out
 * is NULL for a process on its own. SPARC_UNSUPPORTED: there is no such shared object, or no MPI library. */
sparc_status launch_join(ranks **out);

/* Resources of a rank. */
enum { LAUNCH_TEXT = 64 };
typedef struct rank_resources {
  char host[LAUNCH_TEXT], kernels[LAUNCH_TEXT], version[LAUNCH_TEXT];
  int processors; /* that it may run on */
  int threads;    /* such that ranks on the same processors share them without oversubscription */
  double memory_gb;
} rank_resources;

/* launch_resources gathers the resources of all ranks; all (ranks) */
sparc_status launch_resources(ranks *group, rank_resources *all);

/* launch_threads is the default number of threads of this rank; 0 (all) without a launcher */
sparc_status launch_threads(ranks *group, int *threads);

#endif
