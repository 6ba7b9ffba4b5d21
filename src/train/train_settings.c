/* SPDX-License-Identifier: MIT */
/* train_settings.c: the tables, with the paper's settings as defaults. */
#include "train/train_settings.h"

#include "base/shard_sum.h"
#include "io/settings_rows.h"
#include "sparc/train.h"

static const char *const embeddings[] = {"none", "linear", "tanh", "symbols", NULL};
static const char *const features[] = {"output", "relu", "policy", NULL};
static const char *const heads[] = {"mean", "last", "steps", NULL};
static const char *const kinds[] = {"by-input", "classes", "values", NULL};
static const char *const inits[] = {"control", "classification", NULL};

static const char *const class_weights[] = {"none", "balanced", NULL};

/* in the order of sparc_readout */
static const char *const readouts[] = {"gradient", "ridge", NULL};

#define SETTING_STRUCT sparc_network_config
static const setting network_rows[] = {
    {"cell", "network.cell", TEXT(cell), DEFAULT("sparc"), OVERRIDES("cell-options variant modes")},
    {"cell-options", "network.cell_options", TEXT(cell_options), OVERRIDES("variant")},
    {"modes", "network.H", INT(H, 1, 1 << 20), OVERRIDES("state-size")},
    {"layers", "network.layers", INT(layers, 0, 1024), DEFAULTS("4", "0")},
    {"embedding", "network.embedding", CHOICE(embedding, embeddings)},
    {"width", "network.width", INT(width, 1, 1 << 16), DEFAULT("64")},
    {"dropout", "network.dropout", REAL(dropout, 0, 0.99), DEFAULTS("0.1", "0")},
    {"inputs", "network.inputs", INT(inputs, 0, 0), ROLE(STORED)},
    {"features", "network.features", CHOICE(features, features), ROLE(STORED)},
    {"init", "network.init", CHOICE(init, inits), ROLE(STORED)},
};

static const setting symbol_rows[] = {
    {"symbols", "network.symbols", INT(symbols, 0, 0), ROLE(STORED)},
};

#undef SETTING_STRUCT
#define SETTING_STRUCT sparc_head_config
static const setting head_rows[] = {
    {"outputs", "network.outputs", INT(outputs, 0, 0), ROLE(STORED)},
    {"head", "network.head", CHOICE(input, heads), ROLE(STORED)},
    {"head-name", "network.head_name", TEXT(name), ROLE(STORED)},
    {"hidden", "network.hidden", INT(hidden, 0, 0), ROLE(STORED)},
    {"hidden-gain", "network.hidden_gain", REAL(hidden_gain, 0, 0), ROLE(STORED)},
    {"gain", "network.gain", REAL(gain, 0, 0), ROLE(STORED)},
};

static const setting head_kind_rows[] = {
    {"head-kind", "network.head_kind", CHOICE(kind, kinds), ROLE(STORED)},
    {"head-tied", "network.head_tied", INT(tied, 0, 0), ROLE(STORED)},
};

#undef SETTING_STRUCT
#define SETTING_STRUCT sparc_train_config
static const setting training_rows[] = {
    {"updates", "train.updates", LONG(updates, 1, INT32_MAX), DEFAULTS("20000", TASK_SPECIFIC), OVERRIDES("epochs")},
    {"batch", "train.batch", INT(batch, 1, 1 << 24), DEFAULTS("32", TASK_SPECIFIC)},
    {"learning-rate", "train.rate", REAL(learning_rate, 0, 1e6), DEFAULTS("0.00195", TASK_SPECIFIC), OLD("rate")},
    {"min-learning-rate", "train.floor", REAL(min_learning_rate, 0, 1e6), DEFAULTS("1e-6", "0"), OLD("floor")},
    {"warmup", "train.warmup", LONG(warmup, 0, INT32_MAX)},
    {"recurrent-lr-scale", "train.recurrent_rate", REAL(recurrent_lr_scale, 0, 1e6), DEFAULTS("0.25", "1"),
     OLD("recurrent-rate")},
    {"weight-decay", "train.decay", REAL(weight_decay, 0, 1e6), DEFAULTS("0.05", TASK_SPECIFIC), OLD("decay")},
    {"max-gradient-norm", "train.clip", REAL(max_gradient_norm, 0, 1e300), DEFAULTS("0", TASK_SPECIFIC), OLD("clip")},
    {"seed", "train.seed", SEED(seed), DEFAULT("0")},
    {"class-weights", "train.class_weights", CHOICE(class_weights, class_weights), DEFAULT("none"), ZERO_IF_ABSENT},
    {"label-smoothing", "train.smoothing", REAL(label_smoothing, 0, 0.9), DEFAULT("0"), OLD("smoothing"),
     ZERO_IF_ABSENT},
    {"jitter", "train.jitter", REAL(jitter, 0, 10), DEFAULT("0"), ZERO_IF_ABSENT},
    {"scaling", "train.scaling", REAL(scaling, 0, 10), DEFAULT("0"), ZERO_IF_ABSENT},
    {"crop", "train.window", REAL(crop, 0, 0.9), DEFAULT("0"), OLD("window"), ZERO_IF_ABSENT},
    {"ema-decay", "train.average", REAL(ema_decay, 0, 0.999999), DEFAULT("0"), OLD("average"), ZERO_IF_ABSENT},
    {"shards", "train.shards", INT(shards, 0, SHARDS_MAX), DEFAULT("0"), ZERO_IF_ABSENT},
    {"readout", "train.readout", CHOICE(readout, readouts), DEFAULT("gradient"), ZERO_IF_ABSENT},
    {"cosine", "train.cosine", INT(cosine, 0, 1), ROLE(STORED), DEFAULTS("1", "0")},
};

const settings_table network_settings = SETTINGS_TABLE(network_rows);
const settings_table head_settings = SETTINGS_TABLE(head_rows);
const settings_table symbol_settings = SETTINGS_TABLE(symbol_rows);
const settings_table head_kind_settings = SETTINGS_TABLE(head_kind_rows);
const settings_table training_settings = SETTINGS_TABLE(training_rows);
