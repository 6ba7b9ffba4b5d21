/* SPDX-License-Identifier: MIT */
/* ranks.h: a group of processes that work on one run, on one machine or several.
 *
 * A run of a single process has no group: NULL, which every function accepts. Otherwise a link transfers bytes between
 * the ranks; src/mpi is the only one, a separate shared object, so that the library does not depend on MPI.
 *
 * Ranks first agree, then exchange. To agree, each sends one record of fixed size: whether it failed, and whether it
 * requests a stop. The first failure in rank order becomes the failure of all, with its message, and nothing is sent
 * afterwards. So a failure on any rank ends the run on all ranks with one message.
 */
#ifndef SPARC_BASE_RANKS_H
#define SPARC_BASE_RANKS_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>

/* The transport. Functions return 0 on success. Counts are in floats where a size in bytes
 * might not fit an int.
 *
 * exchange and complete only start a transfer, under a ticket from 0 to RANKS_TICKETS - 1 that is free. All ranks start
 * them in the same order. Their arrays, counts included, must not change until `wait` returns. */
enum { RANKS_LINK_VERSION = 2, RANKS_NAME = 64, RANKS_TICKETS = 32 };
typedef struct ranks_link {
  int version, rank, size;
  char library[RANKS_NAME]; /* "Open MPI v4.1.4" */
  /* all (size, bytes) <- mine (bytes) of every rank */
  int (*gather)(const void *mine, int bytes, void *all);
  /* parts of `send`, one after the other, to each rank, and theirs to `receive`; counts (size) */
  int (*exchange)(int ticket, const float *send, const int *send_counts, float *receive, const int *receive_counts);
  /* all <- the parts of every rank, one after the other, of which mine is already in place; counts (size) */
  int (*complete)(int ticket, float *all, const int *counts);
  int (*advance)(void); /* progresses started transfers */
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

/* ranks_agree returns the first failure of any rank on all ranks. *stop becomes true if it is true on any rank; stop may
 * be NULL. After a failure the group no longer communicates: each rank gets its own status back, or the failure. */
sparc_status ranks_agree(ranks *r, sparc_status mine, bool *stop);

/* As in a link, with the time counted. They do not agree first: a caller that may have failed does so before. r NULL is
 * for ranks_gather alone. */
sparc_status ranks_gather(ranks *r, const void *mine, size_t bytes, void *all);
sparc_status ranks_exchange(ranks *r, int ticket, const float *send, const int *send_counts, float *receive,
                            const int *receive_counts);
sparc_status ranks_complete(ranks *r, int ticket, float *all, const int *counts);
sparc_status ranks_advance(ranks *r);
sparc_status ranks_wait(ranks *r, int ticket);

/* which shards, or streams, of `count` a rank owns: as many as any other, one after the other */
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

/* ranks_slowest is the rank that took longest between agreements lately; *share is the part of the others' time spent
 * waiting */
int ranks_slowest(const ranks *r, double *share);

#endif
