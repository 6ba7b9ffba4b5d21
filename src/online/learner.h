/* SPDX-License-Identifier: MIT */
/* learner.h: what a learner is made of, for those who run it and those who save it.
 *
 * With a horizon two streams go through the network. One is ahead and answers; the other follows `lag` steps behind,
 * where the truth is known, and carries the sensitivities. Between them lie the inputs and answers of lag + 1 steps.
 * Without a lag they are one and the same.
 */
#ifndef SPARC_ONLINE_LEARNER_H
#define SPARC_ONLINE_LEARNER_H

#include "base/moments.h"
#include "online/forecaster.h"
#include "sparc/learner.h"
#include "sparc/model.h"

#include <stdbool.h>

/* numbers that a file keeps beside the arrays */
typedef struct learner_counts {
  long steps;   /* inputs so far */
  long told;    /* steps whose truth was told, or can no longer be */
  long first;   /* the step that began the present sequence */
  long truths;  /* that were told */
  long updates; /* of the weights */
  int pending;  /* truths since the last update */
  int fresh;    /* 1: the next input begins a sequence */
} learner_counts;

struct sparc_learner {
  sparc_learner_config config; /* its texts are the network's */
  sparc_head_config head;
  sparc_network *network;
  sparc_network_sizes n;
  size_t inputs, outputs, lag, trace; /* outputs: of the network; trace: numbers of it, by the way in which the
                                         embedding learns */
  learner_counts at;
  bool frozen;
  sparc_learner_report report;

  float *params, *moments, *gradient, *prepared;   /* (params), (2, params), (params), (prepared) */
  float *state, *sensitivities, *tape;             /* of the stream that learns: (state), (trace), (tape) */
  float *raw, *dy, *target;                        /* of its last step: (outputs) each, as the network has them */
  float *ahead;                                    /* (state) of the stream that answers; without a lag it is `state` */
  float *waiting_x, *waiting_mask;                 /* (lag + 1, inputs), (lag + 1): as the network was given them */
  float *waiting_y, *waiting_present;              /* (lag + 1, outputs), (lag + 1, inputs): in units */
  running_moments *input_moments, *target_moments; /* (inputs), (outputs) */
  float *clean;                                    /* (inputs) without gaps */
  float *last_target;                              /* (outputs), NAN before the first; files do not have it */

  forecaster *forecaster;              /* of a mixture; else NULL */
  double horizon[SPARC_HORIZONS_MOST]; /* of a mixture, as files have them */
  int horizons;                        /* of a mixture; else 0 */
  float *predictions;                  /* (horizons, inputs) */
  void *memory;
};

/* learner_describe checks a configuration and creates network and forecaster, so that all sizes are known; NULL:
 * *status says why. learner_allocate then takes the memory; weights are zero. */
sparc_learner *learner_describe(const sparc_learner_config *config, sparc_status *status);
sparc_status learner_allocate(sparc_learner *l);

/* learner_save is sparc_learner_save with the names of columns, which may be NULL */
sparc_status learner_save(const sparc_learner *l, const char *const *labels, const sparc_columns *columns,
                          const sparc_metadata *extra, size_t extra_count, const char *path);

#endif
