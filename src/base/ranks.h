/* SPDX-License-Identifier: MIT */
/* ranks.h: processes that work on one run together, on one machine or on several.
 *
 * A run that one process does alone has no ranks: NULL, which every function takes. Otherwise a link carries bytes
 * between the ranks; src/mpi is the one that there is, a shared object of its own, so that the library needs no MPI.
 *
 * Ranks first agree, then exchange. To agree, each sends one record of fixed size: whether it failed, and whether it wants
 * to stop. The first failure in the order of the ranks becomes that of all, with its sentence, and nothing is sent
 * afterwards. So a rank that fails anywhere, and says so once, ends the run on all of them with one message.
 */
#ifndef SPARC_BASE_RANKS_H
#define SPARC_BASE_RANKS_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>

/* What carries the bytes; functions return 0, or another number if they fail. Counts are in floats where a size in bytes
 * might not fit an int.
 *
 * exchange and complete only start a transfer, under a ticket from 0 to RANKS_TICKETS - 1 that is free. All ranks start
 * them in the same order. Their arrays, counts included, must stay as they are until `wait` returns. */
enum { RANKS_LINK_VERSION = 2, RANKS_NAME = 64, RANKS_TICKETS = 32 };
typedef struct ranks_link {
  int version, rank, size;
  char library[RANKS_NAME]; /* "Open MPI v4.1.4" */
  /* all (size, bytes) <- mine (bytes) of every rank */
  int (*gather)(const void *mine, int bytes, void *all);
  /* parts of `send`, one behind the other, to each rank, and theirs to `receive`; counts (size) */
  int (*exchange)(int ticket, const float *send, const int *send_counts, float *receive, const int *receive_counts);
  /* all <- the parts of every rank, one behind the other, of which mine stands in its place already; counts (size) */
  int (*complete)(int ticket, float *all, const int *counts);
  int (*advance)(void); /* lets started transfers move on */
  int (*wait)(int ticket);
  void (*abort)(int code);
  void (*close)(void);
} ranks_link;

typedef struct ranks ranks;

/* ranks_create makes a group from a link, which is closed by ranks_free */
sparc_status ranks_create(const ranks_link *link, ranks **out);
void ranks_free(ranks *r); /* r may be NULL */

int ranks_count(const ranks *r);  /* of NULL: 1 */
int ranks_number(const ranks *r); /* which one this is; of NULL: 0 */
const ranks_link *ranks_link_of(const ranks *r);

/* ranks_agree makes the first failure of any rank that of all. *stop becomes true if it is for any. stop may be NULL. A
 * group that has failed once agrees no more: each rank gets its own status back, or the failure. */
sparc_status ranks_agree(ranks *r, sparc_status mine, bool *stop);

/* As in a link, with the time counted. They do not agree first: a caller that may have failed does so before. r NULL is
 * for ranks_gather alone. */
sparc_status ranks_gather(ranks *r, const void *mine, size_t bytes, void *all);
sparc_status ranks_exchange(ranks *r, int ticket, const float *send, const int *send_counts, float *receive,
                            const int *receive_counts);
sparc_status ranks_complete(ranks *r, int ticket, float *all, const int *counts);
sparc_status ranks_advance(ranks *r);
sparc_status ranks_wait(ranks *r, int ticket);

/* which shards, or streams, of `count` a rank owns: as many as any other, one behind the other */
typedef struct shard_range {
  int first, end;
} shard_range;
shard_range ranks_share(const ranks *r, int count);

/* Where the time went, up to the last agreement. Between two agreements a rank computes for some seconds, others for
 * more: what it lacks of the longest is waiting, and what is left of its time is communication. */
typedef struct ranks_times {
  double computing, communicating, waiting; /* seconds */
} ranks_times;
ranks_times ranks_times_of(const ranks *r);

/* ranks_slowest is the rank that took longest between agreements lately; *share says which part of the others' time
 * passes in waiting */
int ranks_slowest(const ranks *r, double *share);

#endif
