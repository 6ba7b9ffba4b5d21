/* SPDX-License-Identifier: MIT */
/* launch.h: whether a launcher such as mpirun or srun started this process as one of several, and the group that they are.
 */
#ifndef SPARC_RUN_LAUNCH_H
#define SPARC_RUN_LAUNCH_H

#include "base/ranks.h"

/* what the launcher's environment variables say; a process on its own has rank 0 of 1 */
typedef struct launch {
  int rank, size;
} launch;
launch launch_read(void);

/* launch_forget removes these variables: a process that this one starts is not of the job */
void launch_forget(void);

/* launch_share divides threads among the ranks of a machine, unless the launcher has bound this one to some processors */
int launch_share(int threads);

/* launch_join makes the group, by the shared object sparc-mpi.so, which is looked for as the tool's libraries are. *out is
 * NULL for a process on its own. SPARC_UNSUPPORTED: there is no such shared object, or no MPI behind it. */
sparc_status launch_join(ranks **out);

/* What a rank has to work with. */
enum { LAUNCH_TEXT = 64 };
typedef struct rank_resources {
  char host[LAUNCH_TEXT], kernels[LAUNCH_TEXT], version[LAUNCH_TEXT];
  int processors; /* that it may run on */
  int threads;    /* so many that ranks on the same processors share them and no processor has two */
  double memory_gb;
} rank_resources;

/* launch_resources tells of all ranks; all (ranks) */
sparc_status launch_resources(ranks *group, rank_resources *all);

/* launch_threads is the number of threads of this rank where none is asked for; of a process on its own 0: all */
sparc_status launch_threads(ranks *group, int *threads);

#endif
