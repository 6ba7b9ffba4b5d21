/* SPDX-License-Identifier: MIT */
/* learner.h: the members of a learner, shared by learner.c and learner_file.c.
 *
 * With a horizon the network runs twice. The leading pass predicts; the trailing pass follows `lag` steps later, when the
 * target is known, and carries the sensitivities. A ring holds the inputs and predictions of the lag + 1 steps between
 * them. Without a lag there is one pass.
 */
#ifndef SPARC_ONLINE_LEARNER_H
#define SPARC_ONLINE_LEARNER_H

#include "base/moments.h"
#include "online/forecaster.h"
#include "sparc/learner.h"
#include "sparc/model.h"

#include <stdbool.h>

/* counters stored in the file */
typedef struct learner_counts {
  long steps;    /* inputs so far */
  long resolved; /* steps whose target was observed or can no longer be */
  long first;    /* first step of the current sequence */
  long targets;  /* observed */
  long updates;  /* of the weights */
  int pending;   /* targets since the last update */
  int fresh;     /* 1: the next input starts a sequence */
} learner_counts;

struct sparc_learner {
  sparc_learner_config config; /* its strings belong to the network */
  sparc_head_config head;
  sparc_network *network;
  sparc_network_sizes n;
  size_t inputs, outputs, lag, trace; /* outputs: of the network; trace: floats, by the gradient of the embedding */
  learner_counts at;
  bool frozen;
  sparc_learner_report report;

  float *params, *moments, *gradient, *prepared;   /* (params), (2, params), (params), (prepared) */
  float *state, *sensitivities, *tape;             /* of the trailing pass: (state), (trace), (tape) */
  float *raw, *dy, *target;                        /* of its last step, in network units: (outputs) each */
  float *ahead;                                    /* (state) of the leading pass; without a lag it is `state` */
  float *waiting_x, *waiting_mask;                 /* (lag + 1, inputs), (lag + 1): network inputs and reset masks */
  float *waiting_y, *waiting_present;              /* (lag + 1, outputs), (lag + 1, inputs): in original units */
  running_moments *input_moments, *target_moments; /* (inputs), (outputs) */
  float *clean;                                    /* (inputs) without missing values */
  float *last_target;                              /* (outputs), NAN before the first; not stored */

  forecaster *forecaster;             /* of a mixture; else NULL */
  double horizon[SPARC_MAX_HORIZONS]; /* of a mixture, as stored */
  int horizons;                       /* of a mixture; else 0 */
  float *predictions;                 /* (horizons, inputs) */
  void *memory;
};

/* learner_describe checks a configuration and creates network and forecaster, so that all sizes are known; NULL on
 * failure, with *status set. learner_allocate then allocates the arrays; weights are zero. */
sparc_learner *learner_describe(const sparc_learner_config *config, sparc_status *status);
sparc_status learner_allocate(sparc_learner *l);

/* learner_save is sparc_learner_save with column names, which may be NULL */
sparc_status learner_save(const sparc_learner *l, const char *const *labels, const sparc_columns *columns,
                          const sparc_metadata *extra, size_t extra_count, const char *path);

#endif
