/* SPDX-License-Identifier: MIT */
/* module.c: the ranks of an MPI job as a link (base/ranks.h). A shared object of its own, sparc-mpi.so, that the tool
 * opens when a launcher has started it: neither the library nor the tool links MPI, so both run where it is not
 * installed, and a copy built with another MPI takes this one's place without building anything else. */
#include "base/ranks.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int world_size(void) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

static int gather(const void *mine, int bytes, void *all) {
  return MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* where the parts of each rank begin */
static void place(int size, const int *counts, int *places) {
  for (int i = 0, at = 0; i < size; at += counts[i++]) places[i] = at;
}

static int exchange(const float *send, const int *send_counts, float *receive, const int *receive_counts) {
  const int size = world_size();
  int *places = malloc(2 * (size_t)size * sizeof *places);
  if (!places) return 1;
  place(size, send_counts, places);
  place(size, receive_counts, places + size);
  const int failed = MPI_Alltoallv(send, send_counts, places, MPI_FLOAT, receive, receive_counts, places + size,
                                   MPI_FLOAT, MPI_COMM_WORLD) != MPI_SUCCESS;
  free(places);
  return failed;
}

static int complete(float *all, const int *counts) {
  const int size = world_size();
  int *places = malloc((size_t)size * sizeof *places);
  if (!places) return 1;
  place(size, counts, places);
  const int failed =
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_FLOAT, MPI_COMM_WORLD) != MPI_SUCCESS;
  free(places);
  return failed;
}

static void end(int code) { MPI_Abort(MPI_COMM_WORLD, code); }
static void close_all(void) { MPI_Finalize(); }

/* the first line, as far as a comma, of what the implementation says of itself */
static void name_library(char name[RANKS_NAME]) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const size_t wanted = strcspn(text, ",\n");
  const size_t kept = wanted < RANKS_NAME - 1 ? wanted : RANKS_NAME - 1;
  memcpy(name, text, kept);
  name[kept] = '\0';
}

/* returns 0, or another number if there is no MPI job, or one of another version of the link */
__attribute__((visibility("default"))) int sparc_mpi_open(int version, ranks_link *out);

int sparc_mpi_open(int version, ranks_link *out) {
  int given, ready = 0;
  if (version != RANKS_LINK_VERSION) return 1;
  MPI_Initialized(&ready);
  if (!ready && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS) return 2;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  *out = (ranks_link){.version = version,
                      .size = world_size(),
                      .gather = gather,
                      .exchange = exchange,
                      .complete = complete,
                      .abort = end,
                      .close = close_all};
  MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
  name_library(out->library);
  return 0;
}
