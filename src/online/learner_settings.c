/* SPDX-License-Identifier: MIT */
/* learner_settings.c: the table. Optimiser settings have no key: files of learners store them like checkpoints do. */
#include "online/learner_settings.h"

#include "io/settings_rows.h"
#include "sparc/learner.h"

const char *const learner_goals[] = {
    [SPARC_LEARN_NUMBERS] = "numbers", [SPARC_LEARN_CLASSES] = "classes", [SPARC_LEARN_FORECAST] = "forecast", NULL};
static const char *const encoders[] = {[SPARC_ENCODER_LOCAL] = "local", [SPARC_ENCODER_EXACT] = "exact", NULL};
static const char *const forecasters[] = {
    [SPARC_FORECAST_NETWORK] = "network", [SPARC_FORECAST_MIXTURE] = "mixture", NULL};
static const char *const normalisers[] = {"none", "running", NULL};

#define SETTING_STRUCT sparc_learner_config
static const setting learner_rows[] = {
    {"goal", "learner.goal", CHOICE(goal, learner_goals), ROLE(STORED)},
    {"horizon", "learner.horizon", INT(horizon, 0, 1 << 20)},
    {"hidden", NULL, INT(hidden, 0, 1 << 16), DEFAULT("0")},
    {"learning-rate", NULL, REAL(rate, 0, 1e6), DEFAULT("0.001"), OLD("rate")},
    {"recurrent-lr-scale", NULL, REAL(recurrent_rate, 0, 1e6), DEFAULT("1"), OLD("recurrent-rate")},
    {"weight-decay", NULL, REAL(decay, 0, 1e6), DEFAULT("0"), OLD("decay")},
    {"max-gradient-norm", NULL, REAL(clip, 0, 1e300), DEFAULT("1"), OLD("clip")},
    {"update-every", "learner.every", INT(every, 1, 1 << 24), DEFAULT("1"), OLD("every")},
    {"encoder", "learner.encoder", CHOICE(encoder, encoders), DEFAULT("exact")},
    {"normalise", "learner.normalise", CHOICE(normalise, normalisers), DEFAULT("running")},
    {"normaliser-window", "learner.memory", REAL(memory, 0, 1e15), DEFAULT("0"), OLD("memory")},
    {"forecaster", "learner.forecaster", CHOICE(forecaster, forecasters), DEFAULT("mixture"), ZERO_IF_ABSENT},
    {"coverage", "learner.coverage", REAL(coverage, 0, 1), DEFAULT("0.9"), ZERO_IF_ABSENT},
    {"seed", NULL, SEED(seed), DEFAULT("0")},
};

const settings_table learner_settings = SETTINGS_TABLE(learner_rows);
