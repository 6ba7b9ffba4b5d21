/* SPDX-License-Identifier: MIT */
/* launch.c: the environment variables of launchers, the shared object for MPI, and processors shared by ranks. */
#include "run/launch.h"

#include "base/cpu.h"
#include "base/dynamic.h"
#include "base/error.h"
#include "run/provenance.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Open MPI; PMIx, as srun has it; MPICH and its relatives. Slurm sets its variables in every batch script, too, so they
 * count only together with one of MPI's. */
static const struct {
  const char *rank, *size;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers, MAX_RANKS = 1 << 20 };

static int number_in(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  char *end;
  const long value = text ? strtol(text, &end, 10) : -1;
  return text && end != text && !*end && value >= 0 && value <= MAX_RANKS ? (int)value : otherwise;
}

launch launch_read(void) {
  for (int i = 0; i < LAUNCHERS; i++) {
    const launch l = {number_in(launchers[i].rank, -1), number_in(launchers[i].size, -1)};
    if (l.rank >= 0 && l.size > 1 && l.rank < l.size) return l;
  }
  return (launch){0, 1};
}

void launch_forget(void) {
  for (int i = 0; i < LAUNCHERS; i++) unsetenv(launchers[i].rank);
}

int launch_share(int threads) {
  const int size = launch_read().size;
  const int here = number_in("OMPI_COMM_WORLD_LOCAL_SIZE", number_in("MPI_LOCALNRANKS", size));
  if (size == 1 || here < 1 || cpu_available() < cpu_detect().logical) return threads;
  return threads / here > 1 ? threads / here : 1;
}

sparc_status launch_join(ranks **out) {
  const launch l = launch_read();
  ranks_link link;
  int (*open_link)(int version, ranks_link *out) = NULL;
  *out = NULL;
  if (l.size == 1) return SPARC_OK;
  void *module = dlopen("sparc-mpi.so", RTLD_NOW | RTLD_GLOBAL); /* global: MPI loads parts that look for it */
  if (!module)
    return fail(
        SPARC_UNSUPPORTED,
        "started as %d ranks, but sparc-mpi.so cannot be loaded: %.200s; install libopenmpi-dev or libmpich-dev "
        "and build sparc again",
        l.size, dlerror());
  if (!dynamic_function(module, "sparc_mpi_open", &open_link))
    return fail(SPARC_UNSUPPORTED, "sparc-mpi.so has no sparc_mpi_open, build it again");
  const int failed = open_link(RANKS_LINK_VERSION, &link);
  if (failed)
    return fail(SPARC_UNSUPPORTED,
                failed == 1 ? "sparc-mpi.so is of another version, build it again" : "MPI cannot be initialised");
  if (link.size != l.size)
    return fail(
        SPARC_UNSUPPORTED,
        "the launcher started %d ranks, but %s sees %d; mpirun must be that of the MPI that sparc was built with",
        l.size, link.library, link.size);
  return ranks_create(&link, out);
}

/* ---- processors ---------------------------------------------------------------------------------- */

/* sent to the other ranks as bytes */
typedef struct own_resources {
  rank_resources resources;
  cpu_set_t processors;
} own_resources;

static own_resources mine(void) {
  own_resources o;
  memset(&o, 0, sizeof o);
  const provenance p = provenance_of_build(NULL, 0);
  if (gethostname(o.resources.host, sizeof o.resources.host - 1) != 0)
    snprintf(o.resources.host, sizeof o.resources.host, "unknown");
  snprintf(o.resources.kernels, sizeof o.resources.kernels, "%.60s", p.kernels);
  snprintf(o.resources.version, sizeof o.resources.version, "%.30s %.30s", p.version, p.commit);
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  o.resources.memory_gb = pages > 0 && size > 0 ? (double)pages * (double)size / 1e9 : 0;
  o.resources.processors = cpu_available();
  if (sched_getaffinity(0, sizeof o.processors, &o.processors) != 0) CPU_ZERO(&o.processors);
  return o;
}

/* a processor that k ranks of a host may use counts 1 / k */
static int share_of(const own_resources *all, int count, int rank) {
  const own_resources *own = &all[rank];
  double share = 0;
  for (int p = 0; p < CPU_SETSIZE; p++) {
    int users = 0;
    if (!CPU_ISSET(p, &own->processors)) continue;
    for (int i = 0; i < count; i++)
      users += strcmp(all[i].resources.host, own->resources.host) == 0 && CPU_ISSET(p, &all[i].processors);
    share += 1.0 / users;
  }
  return share > 1 ? (int)(share + 1e-9) : 1;
}

sparc_status launch_resources(ranks *group, rank_resources *all) {
  const int count = ranks_count(group);
  const own_resources own = mine();
  own_resources *gathered = sparc_alloc((size_t)count * sizeof *gathered);
  if (!gathered) return fail(SPARC_NO_MEMORY, "no memory for the resources of %d ranks", count);
  const sparc_status status = ranks_gather(group, &own, sizeof own, gathered);
  for (int i = 0; i < count && status == SPARC_OK; i++) {
    all[i] = gathered[i].resources;
    all[i].threads = share_of(gathered, count, i);
  }
  sparc_free(gathered);
  return status;
}

sparc_status launch_threads(ranks *group, int *threads) {
  *threads = 0;
  if (!group) return SPARC_OK;
  rank_resources *all = sparc_alloc((size_t)ranks_count(group) * sizeof *all);
  if (!all) return fail(SPARC_NO_MEMORY, "no memory for the resources of %d ranks", ranks_count(group));
  const sparc_status status = launch_resources(group, all);
  if (status == SPARC_OK) *threads = all[ranks_number(group)].threads;
  sparc_free(all);
  return status;
}
