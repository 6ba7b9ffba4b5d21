/* SPDX-License-Identifier: MIT */
/* learner.h: online learning with exact gradients (RTRL).
 *
 * sparc_learner_step() takes an input and returns a prediction; sparc_learner_observe() supplies its target, at once or
 * some steps later, and updates the weights. Forecasts take their targets from the inputs that follow. The gradient
 * reaches back to the start of the sequence in constant memory; nothing is allocated after creation.
 *
 *   sparc_learner_config config = sparc_learner_defaults();
 *   config.network.inputs = 3;
 *   config.outputs = 1;
 *   sparc_learner *learner;
 *   if (sparc_learner_create(&config, &learner) != SPARC_OK) return report(sparc_error());
 *   while (next(x)) {
 *     sparc_learner_step(learner, x, y);
 *     use(y);
 *     if (is_known(target)) sparc_learner_observe(learner, target);
 *   }
 *   sparc_learner_save(learner, NULL, NULL, 0, "learner.safetensors");
 *
 * Sensitivities are not recomputed when weights change; they remain derivatives at the weights used at the time (stale
 * traces). The file of a learner is also a model (sparc/model.h), which predicts without learning; the model of a
 * mixture is its network alone.
 */
#ifndef SPARC_LEARNER_H
#define SPARC_LEARNER_H

#include "sparc/network.h"
#include "sparc/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sparc_learner_objective {
  SPARC_LEARN_REGRESS,  /* outputs are numbers; squared error */
  SPARC_LEARN_CLASSIFY, /* outputs are class probabilities; cross-entropy */
  SPARC_LEARN_FORECAST  /* outputs are the inputs `horizon` steps ahead, learned as differences, so that a stream may
                           drift; squared error */
} sparc_learner_objective;

typedef enum sparc_forecaster {
  SPARC_FORECAST_NETWORK, /* the network alone */
  SPARC_FORECAST_MIXTURE  /* a mixture of experts per channel: regressions on lags, levels, seasonal values and fixed
                             modes, seasonal, analogue and persistence forecasts, and the network */
} sparc_forecaster;

enum { SPARC_MAX_HORIZONS = 8 }; /* of a mixture */

typedef struct sparc_learner_config {
  sparc_network_config network; /* cell, options, kernel, H, inputs, embedding, width, layers (0 or 1), features and
                                   init are used. The cell needs an RTRL form. The head follows from the members below.
                                 */
  sparc_learner_objective objective;
  int outputs; /* numbers or classes; forecasts: 0, or inputs times horizons */
  int hidden;  /* width of a tanh layer before the outputs; 0: none */
  int horizon; /* steps from a prediction to its target. 0: the target arrives before the next step; forecasts: at
                  least 1 */

  uint64_t seed;             /* of the initial weights */
  double learning_rate;      /* of Adam, constant */
  double recurrent_lr_scale; /* learning rate of recurrent parameters relative to learning_rate */
  double weight_decay;       /* of non-recurrent parameters */
  double max_gradient_norm;  /* 0: no limit */
  int update_every;          /* targets per update; their gradients are averaged */
  sparc_encoder_gradient
      encoder; /* exact falls back to local without a layer before the cell, or with a residual one */

  int normalise;            /* 1: standardise inputs and targets by their running mean and standard deviation, and clip
                               inputs to 10 standard deviations; 0: use raw values */
  double normaliser_window; /* steps that the running statistics cover; 0: all */

  sparc_forecaster forecaster;               /* forecasts only; other objectives use SPARC_FORECAST_NETWORK */
  int more_horizons[SPARC_MAX_HORIZONS - 1]; /* of a mixture, after `horizon`, which the network forecasts; the first 0
                                                ends the list */
  double coverage;                           /* of the prediction intervals of a mixture, in (0, 1) */
} sparc_learner_config;

/* Default configuration: SPARC with 64 modes, no embedding, classification initialisation; regression with horizon 0;
 * learning_rate 0.001, max_gradient_norm 1, update_every 1; forecasts by a mixture with coverage 0.9. The caller sets
 * network.inputs and outputs. */
SPARC_API sparc_learner_config sparc_learner_defaults(void);

typedef struct sparc_learner sparc_learner; /* opaque; used by one thread at a time */

SPARC_API sparc_status sparc_learner_create(const sparc_learner_config *config, sparc_learner **out);
SPARC_API void sparc_learner_free(sparc_learner *learner); /* learner may be NULL */

/* Take one input and predict: numbers in their original units, or probabilities. A forecaster first learns from x, which
 * is the target of an earlier prediction; y then holds all channels of the first horizon, followed by those of the
 * next. NAN is a missing value: a forecaster replaces it by its own prediction, other learners by the running mean.
 * SPARC_NOT_FINITE: an input is infinite and nothing has changed, or a gradient is not finite and has been dropped. */
SPARC_API sparc_status sparc_learner_step(sparc_learner *learner, const float *x /* inputs */,
                                          float *y /* outputs, or NULL */);

/* Supply the target of the prediction made `horizon` steps ago (0: the last one) and update the weights. The call may be
 * omitted if the target is unknown. SPARC_INVALID: there is no such prediction, or its target was observed before. */
SPARC_API sparc_status sparc_learner_observe(sparc_learner *learner, const float *target /* outputs */);
SPARC_API sparc_status sparc_learner_observe_class(sparc_learner *learner, int label);

/* Start a new sequence with the next input: the recurrent state and its sensitivities are reset; weights, optimiser
 * moments and running statistics are kept. */
SPARC_API sparc_status sparc_learner_reset_state(sparc_learner *learner);

/* Stop (1) or continue (0) learning. A frozen learner only scores its targets. */
SPARC_API sparc_status sparc_learner_freeze(sparc_learner *learner, int frozen);

typedef struct sparc_learner_report {
  long steps, targets, updates;
  int scored;           /* 1: the last step or observe call scored a prediction; loss and baseline belong to it */
  double loss;          /* of the prediction as it was made: mean squared error in original units, or cross-entropy */
  double baseline;      /* squared error of persistence (forecasts) or of the running mean of the targets; classes: 0 */
  int correct;          /* classes: 1 if the most probable class was the target */
  double gradient_norm; /* of the last update, before clipping */
  double last_target;   /* regression: squared error of the previous target as a prediction; otherwise 0 */
} sparc_learner_report;

SPARC_API sparc_learner_report sparc_learner_report_of(const sparc_learner *learner);

/* ---- mixtures; other learners return SPARC_INVALID ---- */

/* low and high: prediction interval of the last prediction; NAN before the first 8 targets. anomaly: distance of the
 * last input from its prediction (first horizon) in half widths of its interval: above 1 it lies outside. NAN without
 * an interval or a value. Each array may be NULL. */
SPARC_API sparc_status sparc_learner_interval(const sparc_learner *learner, float *low, float *high /* outputs */,
                                              float *anomaly /* inputs */);

/* Scores of the predictions whose target was the last input: mean squared errors over `channels`, 0 if there are none.
 * The seasonal naive forecast uses the detected period; without one it is persistence. */
typedef struct sparc_forecast_score {
  int channels;
  double loss, persistence, seasonal_naive;
  int intervals, covered; /* channels whose prediction had an interval, and those with the input inside */
} sparc_forecast_score;

SPARC_API sparc_status sparc_learner_forecast_score(const sparc_learner *learner, int horizon /* index, from 0 */,
                                                    sparc_forecast_score *out);

/* Detected seasonal periods of a channel; 0: none. */
SPARC_API sparc_status sparc_learner_periods(const sparc_learner *learner, int channel, int period[2]);

/* ---- contents and files ---- */

typedef struct sparc_learner_info {
  const sparc_learner_config *config; /* with the network's head */
  const sparc_network *network;
  const float *params; /* (param_count) current weights */
  size_t param_count;
} sparc_learner_info;

/* Valid until the learner is freed; zero for NULL. */
SPARC_API sparc_learner_info sparc_learner_info_of(const sparc_learner *learner);

/* Write the complete learner atomically: weights, moments, state, sensitivities, predictions that wait for their target,
 * configuration, class labels (may be NULL) and extra metadata (may be NULL). sparc_learner_load() reads such a file;
 * the learner continues bit-exactly. */
SPARC_API sparc_status sparc_learner_save(const sparc_learner *learner, const char *const *labels,
                                          const sparc_metadata *extra, size_t extra_count, const char *path);
SPARC_API sparc_status sparc_learner_load(const char *path, sparc_learner **out);

#ifdef __cplusplus
}
#endif

#endif
