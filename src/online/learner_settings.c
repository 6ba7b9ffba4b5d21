/* SPDX-License-Identifier: MIT */
/* learner_settings.c: the table. Optimiser settings have no key: files of learners store them like checkpoints do. */
#include "online/learner_settings.h"

#include "io/settings_rows.h"
#include "sparc/learner.h"

const char *const learner_objectives[] = {
    [SPARC_LEARN_REGRESS] = "numbers", [SPARC_LEARN_CLASSIFY] = "classes", [SPARC_LEARN_FORECAST] = "forecast", NULL};
static const char *const encoders[] = {[SPARC_ENCODER_LOCAL] = "local", [SPARC_ENCODER_EXACT] = "exact", NULL};
static const char *const forecasters[] = {
    [SPARC_FORECAST_NETWORK] = "network", [SPARC_FORECAST_MIXTURE] = "mixture", NULL};
static const char *const normalisers[] = {"none", "running", NULL};

#define SETTING_STRUCT sparc_learner_config
static const setting learner_rows[] = {
    {"goal", "learner.goal", CHOICE(objective, learner_objectives), ROLE(STORED)},
    {"horizon", "learner.horizon", INT(horizon, 0, 1 << 20)},
    {"hidden", NULL, INT(hidden, 0, 1 << 16), DEFAULT("0")},
    {"learning-rate", NULL, REAL(learning_rate, 0, 1e6), DEFAULT("0.001"), OLD("rate")},
    {"recurrent-lr-scale", NULL, REAL(recurrent_lr_scale, 0, 1e6), DEFAULT("1"), OLD("recurrent-rate")},
    {"weight-decay", NULL, REAL(weight_decay, 0, 1e6), DEFAULT("0"), OLD("decay")},
    {"max-gradient-norm", NULL, REAL(max_gradient_norm, 0, 1e300), DEFAULT("1"), OLD("clip")},
    {"update-every", "learner.every", INT(update_every, 1, 1 << 24), DEFAULT("1"), OLD("every")},
    {"encoder", "learner.encoder", CHOICE(encoder, encoders), DEFAULT("exact")},
    {"normalise", "learner.normalise", CHOICE(normalise, normalisers), DEFAULT("running")},
    {"normaliser-window", "learner.memory", REAL(normaliser_window, 0, 1e15), DEFAULT("0"), OLD("memory")},
    {"forecaster", "learner.forecaster", CHOICE(forecaster, forecasters), DEFAULT("mixture"), ZERO_IF_ABSENT},
    {"coverage", "learner.coverage", REAL(coverage, 0, 1), DEFAULT("0.9"), ZERO_IF_ABSENT},
    {"seed", NULL, SEED(seed), DEFAULT("0")},
};

const settings_table learner_settings = SETTINGS_TABLE(learner_rows);
