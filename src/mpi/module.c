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

/* a transfer in progress and where the parts of each rank begin, which MPI reads until it is over */
static MPI_Request request[RANKS_TICKETS];
static int *places[RANKS_TICKETS];

static int *place_parts(int ticket, int arrays) {
  free(places[ticket]);
  return places[ticket] = malloc((size_t)arrays * (size_t)world_size() * sizeof(int));
}

static void place(int size, const int *counts, int *at) {
  for (int i = 0, next = 0; i < size; next += counts[i++]) at[i] = next;
}

static int exchange(int ticket, const float *send, const int *send_counts, float *receive, const int *receive_counts) {
  const int size = world_size();
  int *const at = place_parts(ticket, 2);
  if (!at) return 1;
  place(size, send_counts, at);
  place(size, receive_counts, at + size);
  return MPI_Ialltoallv(send, send_counts, at, MPI_FLOAT, receive, receive_counts, at + size, MPI_FLOAT, MPI_COMM_WORLD,
                        &request[ticket]) != MPI_SUCCESS;
}

static int complete(int ticket, float *all, const int *counts) {
  int *const at = place_parts(ticket, 1);
  if (!at) return 1;
  place(world_size(), counts, at);
  return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, at, MPI_FLOAT, MPI_COMM_WORLD,
                         &request[ticket]) != MPI_SUCCESS;
}

static int advance(void) {
  int which, over;
  return MPI_Testany(RANKS_TICKETS, request, &which, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

static int wait(int ticket) { return MPI_Wait(&request[ticket], MPI_STATUS_IGNORE) != MPI_SUCCESS; }

static void end(int code) { MPI_Abort(MPI_COMM_WORLD, code); }
static void close_all(void) {
  for (int i = 0; i < RANKS_TICKETS; i++) free(places[i]);
  MPI_Finalize();
}

/* the first line, as far as a comma, of the name of the implementation */
static void name_library(char name[RANKS_NAME]) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const size_t line = strcspn(text, ",\n");
  const size_t kept = line < RANKS_NAME - 1 ? line : RANKS_NAME - 1;
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
  for (int i = 0; i < RANKS_TICKETS; i++) request[i] = MPI_REQUEST_NULL;
  *out = (ranks_link){.version = version,
                      .size = world_size(),
                      .gather = gather,
                      .exchange = exchange,
                      .complete = complete,
                      .advance = advance,
                      .wait = wait,
                      .abort = end,
                      .close = close_all};
  MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
  name_library(out->library);
  return 0;
}
