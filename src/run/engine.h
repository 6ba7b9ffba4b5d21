/* SPDX-License-Identifier: MIT */
/* engine.h: shared parts of all kinds of runs: folder or file, lock, start or resume, the main loop, metrics,
 * checkpoints, provenance and failures.
 *
 * A kind of run (training, reinforcement learning, streams) is a structure with an engine in it and a table of
 * operations. The order at a checkpoint is metrics, measurements and files of the kind, the checkpoint, provenance,
 * each complete before the next: after a kill, a resumed run reproduces the lost part bit-exactly from the last
 * checkpoint.
 *
 * Several ranks (base/ranks.h) may share a run. Only rank 0 writes; operations run on all ranks and communicate by
 * themselves.
 */
#ifndef SPARC_RUN_ENGINE_H
#define SPARC_RUN_ENGINE_H

#include "base/ranks.h"
#include "run/folder.h"
#include "run/lock.h"
#include "run/metrics.h"
#include "run/provenance.h"
#include "sparc/run.h"

/* The place of a run: a folder with config.json, metrics, provenance and last.safetensors, or a single file. Both
 * NULL: nowhere. */
typedef struct run_place {
  const char *folder, *file;
  int resume, resume_or_create, force;
  bool read_only; /* a file that is continued from but never written */
} run_place;

/* Operations get the structure of their kind. Those that may be NULL do nothing then. */
/* number of shards of `whole`, the value of `option` */
typedef struct run_shards {
  int shards, whole;
  const char *option;
} run_shards;

typedef struct run_ops {
  sparc_status (*create)(void *run);                         /* first weights; nothing is written yet */
  sparc_status (*restore)(void *run, long *done);            /* loads the checkpoint; *done: its steps */
  json_t *(*config)(const void *run);                        /* config.json; NULL: no memory. Of a folder only */
  provenance (*provenance)(const void *run);                 /* of a folder only */
  long (*work)(const void *run, long steps);                 /* `done` of provenance after `steps`; NULL: steps */
  run_shards (*shards)(const void *run);                     /* shared by ranks; NULL: one rank only */
  sparc_status (*gather)(void *run);                         /* gathers on rank 0 what `save` writes; may be NULL */
  sparc_status (*recall)(void *run);                         /* restores state from the metrics; may be NULL */
  sparc_status (*advance)(void *run, long *done, bool *due); /* one step; due: a checkpoint follows */
  sparc_status (*measure)(void *run);                        /* before a checkpoint that is due; may be NULL */
  sparc_status (*save)(void *run, const char *path);
  bool (*is_over)(const void *run);
  sparc_status (*conclude)(void *run); /* after the last step; may be NULL */
  void (*notify)(void *run, sparc_run_stage stage,
                 const char *message); /* reports an event to the caller; may be NULL */
} run_ops;

typedef struct run_engine {
  const run_ops *ops;
  void *run;    /* of the kind */
  ranks *group; /* NULL: one process */
  int threads;  /* of a rank, if the configuration gives none */
  run_place place;
  run_folder folder;
  uint64_t seed; /* that metrics name */
  run_lock lock; /* during an execution */
  metrics metrics;
  provenance earlier, made; /* of the parts before this execution, and of all */
  double clock;             /* end of the time counted so far */
  long first, done;         /* steps when the run was created or resumed, and now */
  long saved;               /* steps in the last checkpoint; -1: none */
  double seconds;           /* spent in steps, measurements and checkpoints since `first` */
  bool begun, continues;    /* the kind has weights; there is a checkpoint to continue from */
  bool finished, failed;
  bool stop_requested; /* by the caller */
  bool stop;           /* stops; in a group, on all ranks at the same step */
  bool io_failed;      /* a file could not be written */
} run_engine;

static inline bool place_resumes(const run_place *p) { return p->resume || p->resume_or_create; }
/* whether this process writes to a folder */
static inline bool engine_has_folder(const run_engine *e) {
  return e->place.folder != NULL && ranks_number(e->group) == 0;
}
/* stop: a rank of the group requested to stop */
static inline void engine_agreed(run_engine *e, bool stop) {
  if (e->group) e->stop = stop;
}
static inline int engine_threads(const run_engine *e, int requested) { return requested > 0 ? requested : e->threads; }

/* engine_open composes names and checks whether there is a run to continue; it writes nothing. The strings of the place
 * must outlive the engine. */
sparc_status engine_open(run_engine *e, const run_ops *ops, void *run, const run_place *place);
void engine_close(run_engine *e); /* may be zeroed */

/* engine_join adds a run that has not started to a group, which must outlive it */
void engine_join(run_engine *e, ranks *group, int threads);

/* engine_execute starts the run, unless it is started, and advances until it is finished, stopped or failed */
sparc_status engine_execute(run_engine *e);

/* The same in parts, for runs whose input comes from the caller. engine_lock locks the place until engine_close,
 * engine_begin creates or restores, engine_advance takes a step, engine_save writes a checkpoint. */
sparc_status engine_lock(run_engine *e);
sparc_status engine_begin(run_engine *e);
sparc_status engine_advance(run_engine *e);
sparc_status engine_save(run_engine *e);

/* ---- for operations ---- */

/* engine_written sets io_failed on a failure to write; a folder with other content is not such a failure. */
sparc_status engine_written(run_engine *e, sparc_status status);

/* engine_write_config writes config.json; engine_log adds an object to the metrics, and drops the reference */
sparc_status engine_write_config(run_engine *e);
sparc_status engine_log(run_engine *e, json_t *object);

#endif
