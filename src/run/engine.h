/* SPDX-License-Identifier: MIT */
/* engine.h: what every kind of run shares: where it is kept and who may write there, beginning or continuing it, steps
 * until it is over or asked to stop, metrics, checkpoints, provenance and what a failure leaves.
 *
 * A kind of run (training, reinforcement learning, streams) is a structure with an engine in it and a table of
 * operations. The order at a checkpoint is metrics, what the kind measures and writes besides, the checkpoint,
 * provenance, each complete before the next: whatever a kill in between loses is made again, bit by bit, from the last
 * checkpoint before it.
 *
 * Several ranks (base/ranks.h) may do a run together. Rank 0 alone writes; operations run on all ranks, and those that
 * exchange something do so by themselves.
 */
#ifndef SPARC_RUN_ENGINE_H
#define SPARC_RUN_ENGINE_H

#include "base/ranks.h"
#include "run/folder.h"
#include "run/lock.h"
#include "run/metrics.h"
#include "run/provenance.h"
#include "sparc/run.h"

/* Where a run is kept: a folder with config.json, metrics, provenance and last.safetensors, or a single file. Both
 * NULL: nowhere. */
typedef struct run_place {
  const char *folder, *file;
  int resume, resume_or_create, force;
  bool read_only; /* a file that is continued from but never written */
} run_place;

/* Operations get the structure of their kind. Those that may be NULL do nothing then. */
/* into how many shards what is divided, by name of its option */
typedef struct run_shards {
  int shards, whole;
  const char *option;
} run_shards;

typedef struct run_ops {
  sparc_status (*create)(void *run);              /* first weights; nothing is written yet */
  sparc_status (*restore)(void *run, long *done); /* what the checkpoint has, and how many steps that are */
  json_t *(*config)(const void *run);             /* config.json; NULL: no memory. Of a folder only */
  provenance (*provenance)(const void *run);      /* what it is made of. Of a folder only */
  long (*work)(const void *run, long steps);      /* `done` of provenance for so many steps; may be NULL: steps */
  run_shards (*shards)(const void *run);          /* that ranks share; NULL: it runs on one only */
  sparc_status (*gather)(void *run);              /* brings to rank 0 what `save` writes; may be NULL */
  sparc_status (*recall)(void *run);              /* takes from the metrics what checkpoints do not have; may be NULL */
  sparc_status (*advance)(void *run, long *done, bool *due); /* one step; due: a checkpoint follows */
  sparc_status (*measure)(void *run);                        /* before a checkpoint that is due; may be NULL */
  sparc_status (*save)(void *run, const char *path);
  bool (*is_over)(const void *run);
  sparc_status (*conclude)(void *run);                                 /* after the last step; may be NULL */
  void (*tell)(void *run, sparc_run_stage stage, const char *message); /* hands an event to the caller; may be NULL */
} run_ops;

typedef struct run_engine {
  const run_ops *ops;
  void *run;    /* of the kind */
  ranks *group; /* NULL: one process */
  int threads;  /* of a rank, where the configuration leaves them open */
  run_place place;
  run_folder folder;
  uint64_t seed; /* that metrics name */
  run_lock lock; /* during an execution */
  metrics metrics;
  provenance earlier, made; /* of the parts before this execution, and of all */
  double clock;             /* up to when the time is counted */
  long first, done;         /* steps when the run was begun or resumed, and now */
  long saved;               /* steps in the last checkpoint; -1: none */
  double seconds;           /* spent in steps, measurements and checkpoints since `first` */
  bool begun, continues;    /* the kind has weights; there is a checkpoint to continue from */
  bool finished, failed;
  bool asked;     /* the caller wants to stop */
  bool stop;      /* so it does; of a group, on all ranks at the same step */
  bool io_failed; /* it failed because a file could not be written */
} run_engine;

static inline bool place_resumes(const run_place *p) { return p->resume || p->resume_or_create; }
/* whether this process writes to a folder */
static inline bool engine_has_folder(const run_engine *e) {
  return e->place.folder != NULL && ranks_number(e->group) == 0;
}
/* what a step of a group found out: whether any rank was asked to stop */
static inline void engine_agreed(run_engine *e, bool stop) {
  if (e->group) e->stop = stop;
}
static inline int engine_threads(const run_engine *e, int asked) { return asked > 0 ? asked : e->threads; }

/* engine_open fills in names and looks whether there is something to continue; nothing is written. The strings of the
 * place must outlive the engine. */
sparc_status engine_open(run_engine *e, const run_ops *ops, void *run, const run_place *place);
void engine_close(run_engine *e); /* a zeroed one is fine, too */

/* engine_join makes a run that has not begun one of a group, which must outlive it */
void engine_join(run_engine *e, ranks *group, int threads);

/* engine_execute begins, unless that is done, and advances until the run is over, stopped or failed */
sparc_status engine_execute(run_engine *e);

/* The same in pieces, for runs that are fed by their caller. engine_lock keeps others away from the place until
 * engine_close, engine_begin creates or restores, engine_advance takes a step, engine_save writes a checkpoint. */
sparc_status engine_lock(run_engine *e);
sparc_status engine_begin(run_engine *e);
sparc_status engine_advance(run_engine *e);
sparc_status engine_save(run_engine *e);

/* ---- for operations ---- */

/* engine_written notes a failure as one of writing. A folder with something else in it is no such failure. */
sparc_status engine_written(run_engine *e, sparc_status status);

/* engine_write_config writes config.json; engine_log adds an object to the metrics, and drops the reference */
sparc_status engine_write_config(run_engine *e);
sparc_status engine_log(run_engine *e, json_t *object);

#endif
