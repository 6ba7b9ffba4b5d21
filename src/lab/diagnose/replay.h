/* SPDX-License-Identifier: MIT */
/* replay.h: a trained network and the inputs on which it is looked at, the same for every intervention.
 *
 * Agents play their own task from a reset, for 1024 steps in the paper; models read the first examples of the
 * validation part, eight in the paper. What the network read is recorded, behind normalisation
 * [app:component_diagnostics].
 */
#ifndef SPARC_LAB_DIAGNOSE_REPLAY_H
#define SPARC_LAB_DIAGNOSE_REPLAY_H

#include "run/cell_choice.h"
#include "run/data.h"
#include "run/folder.h"
#include "sparc/rl.h"
#include "train/checkpoint.h"

typedef struct replay_options {
  const char *data, *root;    /* NULL: as the run and the environment say */
  int examples;               /* of a model, at most */
  int steps;                  /* of an agent */
  uint64_t seed;              /* of an agent's environment and actions */
  int threads;                /* 0: as many as there are processors; results do not depend on them */
  const char *const *plugins; /* that agents may play; ends with NULL; NULL: none */
} replay_options;

replay_options replay_defaults(void); /* the paper's */

/* what the outputs of the first head say */
typedef enum distribution {
  DISTRIBUTION_CLASSES, /* logits: of an example, or of each step of a policy */
  DISTRIBUTION_NORMAL,  /* means of each step, with the deviations of the last head */
  DISTRIBUTION_NONE     /* numbers, with no distribution */
} distribution;

/* one stream as the network reads it */
typedef struct recording {
  int T;
  float *x;    /* (T, inputs) */
  float *mask; /* (T): 0 where an episode begins; NULL: one segment */
  int *event;  /* (T): what happens, an index into event_names, -1: nothing; NULL: nobody knows */
} recording;

enum { REPLAY_TITLE = 300 };

typedef struct replay {
  char path[RUN_PATH];      /* of the checkpoint */
  char folder[RUN_PATH];    /* where it is, and its run's metrics are */
  char task[128];           /* or data set */
  char title[REPLAY_TITLE]; /* task and, if it is not SPARC as it is, cell: what runs are grouped by */
  char cell[128];           /* "sparc", "sparc-neutral-gate", "rtu" */
  char paper[128];          /* the task in the paper's tables, which are of SPARC as it is; "": none */
  const sparc_network *network;
  const float *params;
  distribution distribution;
  const char *part;               /* what was recorded: "episodes", "validation" or "fit" */
  const char *const *event_names; /* NULL-terminated; NULL: none */
  recording *recording;
  int recordings;
  /* owners of the above */
  sparc_agent *agent;
  checkpoint file;
  bool has_file;
  run_data data;
  float *own_params, *memory;
  int *event_memory;
} replay;

/* replay_open loads a checkpoint, or that of a run folder, and records. SPARC_FORMAT: it is none, or the data are not
 * those that it was trained on. On failure there is nothing to close. */
sparc_status replay_open(const char *path, const replay_options *options, replay *out);
void replay_close(replay *r); /* a zeroed one is fine, too */

/* how many cells the network has, one behind the other */
int replay_layers(const replay *r);

/* outputs of all heads for one recording */
typedef struct replay_outputs {
  float **head; /* (heads) */
  size_t *size; /* (heads): numbers of each */
  void *memory;
} replay_outputs;

sparc_status replay_outputs_create(const replay *r, const recording *from, replay_outputs *out);
void replay_outputs_free(replay_outputs *outputs);

/* the recording as a call takes it */
sparc_network_sequence replay_sequence(const recording *from, const replay_outputs *outputs);

#endif
