/* SPDX-License-Identifier: MIT */
/* settings.c: the table. Settings whose default depends on the task have none here; config.c computes it. */
#include "rl/settings.h"

#include "base/shard_sum.h"
#include "io/settings_rows.h"
#include "sparc/rl.h"

enum { MAX = 1 << 24 };

static const char *const obsnorms[] = {
    [SPARC_OBSNORM_NONE] = "none", [SPARC_OBSNORM_FEATURE] = "feature", [SPARC_OBSNORM_POOLED] = "pooled", NULL};
static const char *const rewardnorms[] = {"none", "return", NULL};
static const char *const traces[] = {
    [SPARC_TRACES_AUTO] = "auto", [SPARC_TRACES_STORED] = "stored", [SPARC_TRACES_FREE] = "free", NULL};
static const char *const refreshes[] = {
    [SPARC_REFRESH_NONE] = "none", [SPARC_REFRESH_EPOCH] = "epoch", [SPARC_REFRESH_MEASURE] = "measure", NULL};
static const char *const inits[] = {[SPARC_AGENT_INIT_PAPER] = "paper", [SPARC_AGENT_INIT_RELEASED] = "released", NULL};
static const char *const encoders[] = {[SPARC_ENCODER_LOCAL] = "local", [SPARC_ENCODER_EXACT] = "exact", NULL};

#define SETTING_STRUCT sparc_ppo_config
static const setting ppo_rows[] = {
    {"task", "task", TEXT(task), ROLE(SUBJECT)},
    {"options", "task_options", TEXT(task_options)},
    {"cell", "cell", TEXT(cell), DEFAULT("sparc"), OVERRIDES("cell-options variant modes")},
    {"cell-options", "cell_options", TEXT(cell_options), OVERRIDES("variant")},
    {"modes", "H", INT(H, 1, MAX), OVERRIDES("state-size")},
    {"width", "width", INT(width, 1, MAX), DEFAULT("64")},
    {"init", NULL, CHOICE(init, inits), DEFAULT("paper"), ZERO_IF_ABSENT},
    {"encoder", "encoder", CHOICE(encoder, encoders), DEFAULT("local")},
    {"seed", "seed", SEED(seed), DEFAULT("0")},
    {"rollout-steps", "steps", INT(rollout_steps, 1, MAX), DEFAULT("2048"), OLD("rollout")},
    {"streams", "streams", INT(streams, 1, MAX), DEFAULT("1")},
    {"shards", "shards", INT(shards, 0, SHARDS_MAX), DEFAULT("0"), ZERO_IF_ABSENT},
    {"obsnorm", "obsnorm", CHOICE(obsnorm, obsnorms)},
    {"rewardnorm", NULL, CHOICE(rewardnorm, rewardnorms)},
    {"discount", "discount", REAL(discount, 0, 1), DEFAULT("0.99")},
    {"gae-lambda", "lambda", REAL(gae_lambda, 0, 1), DEFAULT("0.95"), OLD("lambda")},
    {"action-limit", "action_limit", REAL(action_limit, 0, 1e6), DEFAULT("2")},
    {"epochs", "epochs", INT(epochs, 1, MAX)},
    {"minibatches", "minibatches", INT(minibatches, 1, MAX), DEFAULT("32")},
    {"clip-range", "clip", REAL(clip_range, 0, 1e6), DEFAULT("0.2"), OLD("clip")},
    {"value-coefficient", "value_coefficient", REAL(value_coefficient, 0, 1e6), DEFAULT("0.5")},
    {"entropy-coefficient", "entropy_coefficient", REAL(entropy_coefficient, -1e6, 1e6), DEFAULT("0"), OLD("entropy")},
    {"max-gradient-norm", "gradient_clip", REAL(max_gradient_norm, 0, 1e30), DEFAULT("0.5"), OLD("gradient-clip")},
    {"learning-rate", "rate", REAL(learning_rate, 0, 1e6), OLD("rate")},
    {"traces", "traces", CHOICE(traces, traces), DEFAULT("auto")},
    {"trace-interval", "interval", INT(trace_interval, 0, MAX), DEFAULT("0"), OLD("interval")},
    {"refresh", "refresh", CHOICE(refresh, refreshes), DEFAULT("none"), ZERO_IF_ABSENT},
    {"tbptt", "tbptt", INT(tbptt, 0, MAX), DEFAULT("0"), ZERO_IF_ABSENT},
    {"rewardnorm", "rewardnorm", INT(rewardnorm, 0, 1), ROLE(STORED)},
    {"budget", "budget", INT(state_size, 1, MAX), ROLE(STORED)},
    {"rollouts", "rollouts", LONG(rollouts, 1, INT32_MAX), ROLE(STORED)},
};

const settings_table ppo_settings = SETTINGS_TABLE(ppo_rows);
