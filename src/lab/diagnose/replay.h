/* SPDX-License-Identifier: MIT */
/* replay.h: a trained network and recorded inputs, the same for every intervention.
 *
 * Agents run in their environment from a reset, for 1024 steps in the paper; models read the first validation examples,
 * eight in the paper. The network's inputs are recorded after normalisation [app:component_diagnostics].
 */
#ifndef SPARC_LAB_DIAGNOSE_REPLAY_H
#define SPARC_LAB_DIAGNOSE_REPLAY_H

#include "run/cell_choice.h"
#include "run/data.h"
#include "run/folder.h"
#include "sparc/rl.h"
#include "train/checkpoint.h"

typedef struct replay_options {
  const char *data, *root;    /* NULL: those of the run, then of the environment */
  int examples;               /* of a model, maximum */
  int steps;                  /* of an agent */
  uint64_t seed;              /* of an agent's environment and actions */
  int threads;                /* 0: number of processors; results do not depend on it */
  const char *const *plugins; /* permitted for agents, NULL-terminated; NULL: none */
} replay_options;

replay_options replay_defaults(void); /* the paper's */

/* distribution given by the first head's outputs */
typedef enum distribution {
  DISTRIBUTION_CLASSES, /* logits: of an example, or of each step of a policy */
  DISTRIBUTION_NORMAL,  /* means of each step; log standard deviations in the last head */
  DISTRIBUTION_NONE     /* regression outputs */
} distribution;

/* one stream as the network reads it */
typedef struct recording {
  int T;
  float *x;    /* (T, inputs) */
  float *mask; /* (T): 0 where an episode begins; NULL: one segment */
  int *event;  /* (T): index into event_names, -1: none; NULL: unknown */
} recording;

enum { REPLAY_TITLE = 300 };

typedef struct replay {
  char path[RUN_PATH];      /* of the checkpoint */
  char folder[RUN_PATH];    /* of the checkpoint and the run's metrics */
  char task[128];           /* or data set */
  char title[REPLAY_TITLE]; /* task and cell; runs are grouped by it */
  char cell[128];           /* "sparc", "sparc-neutral-gate", "rtu" */
  char paper[128];          /* task in the paper's tables, which are of the full SPARC cell; "": none */
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

/* Loads a checkpoint, or that of a run folder, and records. Returns SPARC_FORMAT if it is not a checkpoint or was trained
 * on other data. On failure there is nothing to close. */
sparc_status replay_open(const char *path, const replay_options *options, replay *out);
void replay_close(replay *r); /* accepts a zeroed structure */

/* number of recurrent layers */
int replay_layers(const replay *r);

/* outputs of all heads for one recording */
typedef struct replay_outputs {
  float **head; /* (heads) */
  size_t *size; /* (heads): numbers of each */
  void *memory;
} replay_outputs;

sparc_status replay_outputs_create(const replay *r, const recording *from, replay_outputs *out);
void replay_outputs_free(replay_outputs *outputs);

/* the recording as an argument of network functions */
sparc_network_sequence replay_sequence(const recording *from, const replay_outputs *outputs);

#endif
