/* SPDX-License-Identifier: MIT */
/* ranks.c: agreement, and the clock of a group. */
#include "base/ranks.h"

#include "base/clock.h"
#include "base/error.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* the record of a rank in an agreement */
typedef struct record {
  int status;  /* a sparc_status */
  int stop;    /* whether it requests a stop */
  double busy; /* seconds since the last agreement */
  char message[496];
} record;

struct ranks {
  ranks_link link;
  bool over;       /* a rank has failed; no more communication */
  bool broken;     /* the link failed */
  record *records; /* (size) */
  double *pace;    /* (size): busy seconds between agreements, lately */
  double agreed;   /* when the last agreement ended */
  double sending;  /* seconds spent in transfers since */
  ranks_times times;
};

sparc_status ranks_create(const ranks_link *link, ranks **out) {
  const size_t size = (size_t)link->size;
  *out = NULL;
  ranks *r = sparc_alloc(sizeof *r);
  record *records = sparc_alloc(size * sizeof *records);
  double *pace = sparc_alloc(size * sizeof *pace);
  if (!r || !records || !pace) {
    sparc_free(r);
    sparc_free(records);
    sparc_free(pace);
    return fail(SPARC_NO_MEMORY, "no memory for %d ranks", link->size);
  }
  memset(pace, 0, size * sizeof *pace);
  *r = (ranks){.link = *link, .records = records, .pace = pace, .agreed = seconds_now()};
  *out = r;
  return SPARC_OK;
}

void ranks_free(ranks *r) {
  if (!r) return;
  if (r->broken)
    r->link.abort(1);
  else
    r->link.close();
  sparc_free(r->records);
  sparc_free(r->pace);
  sparc_free(r);
}

int ranks_count(const ranks *r) { return r ? r->link.size : 1; }
int ranks_number(const ranks *r) { return r ? r->link.rank : 0; }
const ranks_link *ranks_link_of(const ranks *r) { return r ? &r->link : NULL; }
ranks_times ranks_times_of(const ranks *r) { return r ? r->times : (ranks_times){0}; }

shard_range ranks_share(const ranks *r, int count) {
  const int each = count / ranks_count(r), rank = ranks_number(r);
  return (shard_range){rank * each, (rank + 1) * each};
}

/* ---- agreement ----------------------------------------------------------------------------------- */

static sparc_status broken_link(ranks *r) {
  r->over = r->broken = true;
  return fail(SPARC_IO, "the connection between the ranks failed");
}

static void note_pace(ranks *r) {
  for (int i = 0; i < r->link.size; i++) r->pace[i] += 0.1 * (r->records[i].busy - r->pace[i]);
}

/* divides the time since the last agreement */
static void note_times(ranks *r, double busy) {
  const double now = seconds_now(), idle = now - r->agreed - busy;
  double longest = busy;
  for (int i = 0; i < r->link.size; i++)
    if (r->records[i].busy > longest) longest = r->records[i].busy;
  const double waiting = longest - busy < idle ? longest - busy : idle;
  r->times.computing += busy;
  r->times.waiting += waiting;
  r->times.communicating += idle - waiting;
  r->agreed = now;
  r->sending = 0;
}

/* the message of the first failure */
static sparc_status conclude(ranks *r, bool *stop) {
  for (int i = 0; i < r->link.size; i++) {
    const record *other = &r->records[i];
    if (stop && other->stop) *stop = true;
    if (other->status == SPARC_OK) continue;
    r->over = true;
    /* what goes wrong on rank 0 is likely to go wrong on all; of others it matters which */
    return i == 0 ? fail((sparc_status)other->status, "%s", other->message)
                  : fail((sparc_status)other->status, "rank %d: %s", i, other->message);
  }
  return SPARC_OK;
}

sparc_status ranks_agree(ranks *r, sparc_status mine, bool *stop) {
  if (!r || r->over) return mine;
  record own = {.status = (int)mine, .stop = stop && *stop, .busy = seconds_now() - r->agreed - r->sending};
  if (mine != SPARC_OK) snprintf(own.message, sizeof own.message, "%s", sparc_error());
  if (r->link.gather(&own, (int)sizeof own, r->records) != 0) return broken_link(r);
  note_times(r, own.busy);
  for (int i = 0; i < r->link.size; i++) r->records[i].message[sizeof own.message - 1] = '\0';
  note_pace(r);
  return conclude(r, stop);
}

int ranks_slowest(const ranks *r, double *share) {
  int slowest = 0;
  double sum = 0;
  *share = 0;
  if (!r) return 0;
  for (int i = 0; i < r->link.size; i++) {
    sum += r->pace[i];
    if (r->pace[i] > r->pace[slowest]) slowest = i;
  }
  const int others = r->link.size - 1;
  if (others > 0 && r->pace[slowest] > 0) *share = 1 - (sum - r->pace[slowest]) / others / r->pace[slowest];
  return slowest;
}

/* ---- bytes --------------------------------------------------------------------------------------- */

/* the status of a transfer that began at this time; its seconds do not count as busy */
static sparc_status transferred(ranks *r, double begun, int failed) {
  r->sending += seconds_now() - begun;
  return failed ? broken_link(r) : SPARC_OK;
}

sparc_status ranks_gather(ranks *r, const void *mine, size_t bytes, void *all) {
  if (!r) {
    memcpy(all, mine, bytes);
    return SPARC_OK;
  }
  if (bytes > INT_MAX) return fail(SPARC_UNSUPPORTED, "%zu bytes are too many for one message", bytes);
  const double begun = seconds_now();
  return transferred(r, begun, r->link.gather(mine, (int)bytes, all));
}

sparc_status ranks_exchange(ranks *r, int ticket, const float *send, const int *send_counts, float *receive,
                            const int *receive_counts) {
  const double begun = seconds_now();
  return transferred(r, begun, r->link.exchange(ticket, send, send_counts, receive, receive_counts));
}

sparc_status ranks_complete(ranks *r, int ticket, float *all, const int *counts) {
  const double begun = seconds_now();
  return transferred(r, begun, r->link.complete(ticket, all, counts));
}

sparc_status ranks_advance(ranks *r) {
  const double begun = seconds_now();
  return transferred(r, begun, r->link.advance());
}

sparc_status ranks_wait(ranks *r, int ticket) {
  const double begun = seconds_now();
  return transferred(r, begun, r->link.wait(ticket));
}
