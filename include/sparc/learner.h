/* SPDX-License-Identifier: MIT */
/* learner.h: a network that learns while it runs.
 *
 * A stream brings an input, the learner answers, and is told what would have been right: at once, some steps later, or,
 * of a forecast, by the stream itself. Exact sensitivities are carried along (RTRL), so the gradient of an answer
 * reaches back through all of the stream while memory stays as it is; nothing is allocated after creation.
 *
 *   sparc_learner_config config = sparc_learner_defaults();
 *   config.network.inputs = 3;
 *   config.outputs = 1;
 *   sparc_learner *learner;
 *   if (sparc_learner_create(&config, &learner) != SPARC_OK) return report(sparc_error());
 *   while (next(x)) {
 *     sparc_learner_step(learner, x, y);
 *     use(y);
 *     if (is_known(target)) sparc_learner_learn(learner, target);
 *   }
 *   sparc_learner_save(learner, NULL, NULL, 0, "learner.safetensors");
 *
 * Weights change while sensitivities are kept: what these say of the past is true of the weights that were used then,
 * as in all online use of RTRL. The file is a model, too (sparc/model.h), which answers without learning; of a mixture
 * that model is its network alone.
 */
#ifndef SPARC_LEARNER_H
#define SPARC_LEARNER_H

#include "sparc/network.h"
#include "sparc/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sparc_learner_goal {
  SPARC_LEARN_NUMBERS, /* outputs are numbers; squared error */
  SPARC_LEARN_CLASSES, /* outputs are the probabilities of classes; cross-entropy */
  SPARC_LEARN_FORECAST /* outputs are the inputs `horizon` steps ahead. They are learned from change to change, so that
                          a stream may drift anywhere. */
} sparc_learner_goal;

typedef enum sparc_forecaster {
  SPARC_FORECAST_NETWORK, /* the network alone */
  SPARC_FORECAST_MIXTURE  /* a mixture of experts for every channel: regressions on lags, levels, seasonal values and
                             fixed modes, seasonal and persistence forecasts, and the network */
} sparc_forecaster;

enum { SPARC_HORIZONS_MOST = 8 }; /* of a mixture */

typedef struct sparc_learner_config {
  sparc_network_config network; /* cell, options, kernel, H, inputs, embedding, width, layers, features and init
                                   count. The cell needs an RTRL form, and layers is 0 or 1; the head is made from what
                                   follows. */
  sparc_learner_goal goal;
  int outputs; /* numbers, or classes; of a forecast 0, or inputs times horizons */
  int hidden;  /* width of a tanh layer in front of the outputs; 0: none */
  int horizon; /* steps from an answer to its truth. 0: the truth of a step is told before the next one; of forecasts
                  at least 1. */

  uint64_t seed;         /* of the first weights */
  double rate;           /* of Adam, constant */
  double recurrent_rate; /* of recurrent parameters relative to it */
  double decay;          /* weight decay of regular parameters */
  double clip;           /* greatest norm of the gradient; 0: no limit */
  int every;             /* truths from one update of the weights to the next, over which gradients are averaged */
  sparc_encoder_gradient encoder; /* exact is local where there is nothing in front of the cell, or a residual layer */

  int normalise; /* 1: inputs and targets are taken relative to their running mean and deviation, inputs clipped to 10
                    deviations; 0: as they are */
  double memory; /* how many steps back these reach; 0: to the beginning */

  sparc_forecaster forecaster;                /* of forecasts; else SPARC_FORECAST_NETWORK is taken */
  int more_horizons[SPARC_HORIZONS_MOST - 1]; /* of a mixture, besides `horizon`, which the network forecasts; they end
                                                 with the first 0 */
  double coverage;                            /* of the prediction intervals of a mixture, above 0 and below 1 */
} sparc_learner_config;

/* SPARC with 64 modes and no embedding, initialised as for classification, rate 0.001, clip 1, an update with every
 * truth; numbers that are told at once; forecasts by a mixture, intervals of coverage 0.9. inputs and outputs are left
 * to the caller. */
SPARC_API sparc_learner_config sparc_learner_defaults(void);

typedef struct sparc_learner sparc_learner; /* opaque; used by one thread at a time */

SPARC_API sparc_status sparc_learner_create(const sparc_learner_config *config, sparc_learner **out);
SPARC_API void sparc_learner_free(sparc_learner *learner); /* learner may be NULL */

/* sparc_learner_step takes an input and gives the answer: numbers in their units, or probabilities. Of a forecast it
 * first learns from what this input says about an earlier answer; y holds all channels of the first horizon, then those
 * of the next. NAN is a missing value: a forecast continues with its prediction of it, else the running mean is taken.
 * SPARC_NOT_FINITE: an input is infinite, and nothing has changed; or a gradient is not finite, and it has been
 * dropped. y may be NULL. */
SPARC_API sparc_status sparc_learner_step(sparc_learner *learner, const float *x /* inputs */,
                                          float *y /* outputs, or NULL */);

/* sparc_learner_learn tells the truth about the answer of `horizon` steps ago (0: the last one), of classes
 * sparc_learner_learn_class does. It may be left out where the truth is not known. SPARC_INVALID: there is no such
 * answer, or it was told before. */
SPARC_API sparc_status sparc_learner_learn(sparc_learner *learner, const float *target /* outputs */);
SPARC_API sparc_status sparc_learner_learn_class(sparc_learner *learner, int label);

/* sparc_learner_begin says that the next input starts a new sequence: nothing is carried over but what was learned. */
SPARC_API sparc_status sparc_learner_begin(sparc_learner *learner);

/* sparc_learner_freeze(1) stops learning: weights and moments stay as they are, truths are only judged; 0 goes on. */
SPARC_API sparc_status sparc_learner_freeze(sparc_learner *learner, int frozen);

typedef struct sparc_learner_report {
  long steps, truths, updates;
  int judged;   /* 1: the last call of step or learn judged an answer, so that loss and naive are of that call */
  double loss;  /* of the answer as it was given: mean squared error per number in units, or cross-entropy */
  double naive; /* squared error of the forecast that nothing changes, or of the mean of the targets so far; of
                   classes 0 */
  int right;    /* classes: 1 if the most probable one was right */
  double gradient_norm; /* of the last update, before clipping */
  double last;          /* numbers: squared error of the last target known when the prediction was scored; else 0 */
} sparc_learner_report;

SPARC_API sparc_learner_report sparc_learner_report_of(const sparc_learner *learner);

/* ---- a mixture; calls on other learners return SPARC_INVALID ---- */

/* sparc_learner_interval is the prediction interval of the last answer; NAN before the first 8 targets */
SPARC_API sparc_status sparc_learner_interval(const sparc_learner *learner, float *low, float *high /* outputs */);

/* sparc_learner_anomaly is the distance of the last input from its prediction (first horizon), in half widths of the
 * interval: above 1 it lies outside. NAN where there is no interval or no value. */
SPARC_API sparc_status sparc_learner_anomaly(const sparc_learner *learner, float *score /* inputs */);

/* scores of the predictions whose target the last input was: mean squared errors over `channels`, 0 if there are none.
 * The seasonal naive forecast has the period that was detected; without one it is persistence. */
typedef struct sparc_forecast_score {
  int channels;
  double loss, persistence, seasonal_naive;
  int intervals, covered; /* channels whose prediction had an interval, and those with the input inside */
} sparc_forecast_score;

SPARC_API sparc_status sparc_learner_forecast_score(const sparc_learner *learner, int horizon /* its place, from 0 */,
                                                    sparc_forecast_score *out);
/* the detected periods of a channel, 0: none */
SPARC_API sparc_status sparc_learner_periods(const sparc_learner *learner, int channel, int period[2]);

SPARC_API sparc_learner_config sparc_learner_config_of(const sparc_learner *learner); /* with the network's head */
SPARC_API const sparc_network *sparc_learner_network(const sparc_learner *learner);
SPARC_API const float *sparc_learner_params(const sparc_learner *learner);

/* sparc_learner_save writes everything that going on needs, atomically: weights, moments, state, sensitivities, answers
 * that wait for their truth, configuration, labels of the classes (NULL: none) and extra (pairs of strings).
 * sparc_learner_restore makes the learner of such a file, which goes on to the bit. */
SPARC_API sparc_status sparc_learner_save(const sparc_learner *learner, const char *const *labels,
                                          const sparc_metadata *extra, size_t extra_count, const char *path);
SPARC_API sparc_status sparc_learner_restore(const char *path, sparc_learner **out);

#ifdef __cplusplus
}
#endif

#endif
