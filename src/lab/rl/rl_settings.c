/* SPDX-License-Identifier: MIT */
/* rl_settings.c: the table, and the paper's settings for the task in the place of what was not given. */
#include "lab/rl/rl_settings.h"

#include "base/error.h"
#include "lab/run/run_settings.h"

/* ---- the table ----------------------------------------------------------------------------------- */

#define RL(member)  offsetof(rl_config, member)
#define PPO(member) offsetof(rl_config, ppo.member)

static const char task[] = "Task:", network[] = "Network:", training[] = "Training:";

static const char *const obsnorms[] = {
    [SPARC_OBSNORM_NONE] = "none", [SPARC_OBSNORM_FEATURE] = "feature", [SPARC_OBSNORM_POOLED] = "pooled", NULL};
static const char *const rewardnorms[] = {"none", "return", NULL};
static const char *const traces[] = {
    [SPARC_TRACES_AUTO] = "auto", [SPARC_TRACES_STORED] = "stored", [SPARC_TRACES_FREE] = "free", NULL};
static const char *const encoders[] = {[SPARC_ENCODER_LOCAL] = "local", [SPARC_ENCODER_EXACT] = "exact", NULL};

static const setting rl_rows[] = {
    {.name = "task",
     .type = SETTING_TEXT,
     .offset = PPO(task),
     .letter = POSITIONAL,
     .option = "env",
     .group = task,
     .argument = "TASK|./PLUGIN.so",
     .help = "The same as TASK alone"},
    {.name = "options",
     .type = SETTING_TEXT,
     .offset = PPO(task_options),
     .group = task,
     .argument = "LIST",
     .help = "Options of the task, as key=value,..."},
    {.name = "cell",
     .type = SETTING_TEXT,
     .offset = PPO(cell),
     .voids = "cell-options variant modes",
     .group = network,
     .letter = 'c',
     .argument = "KIND",
     .help = "The recurrent cell (default: sparc)"},
    {.name = "cell-options",
     .type = SETTING_TEXT,
     .offset = PPO(cell_options),
     .voids = "variant",
     .group = network,
     .argument = "LIST",
     .help = "Options of the cell, as key=value,..."},
    {.name = "modes",
     .type = SETTING_INT,
     .offset = PPO(H),
     .low = 1,
     .high = 1 << 20,
     .voids = "budget",
     .group = network,
     .letter = 'H',
     .argument = "N",
     .help = "Modes (or real coordinates) of the cell"},
    VARIANT_SETTING(rl_config),
    BUDGET_SETTING(rl_config, NULL, NULL),
    {.name = "width",
     .type = SETTING_INT,
     .offset = PPO(width),
     .low = 1,
     .high = 1 << 20,
     .group = network,
     .letter = 'w',
     .argument = "N",
     .help = "Width of the embedding and of both heads' hidden layers (default: 64)"},
    {.name = "encoder",
     .type = SETTING_CHOICE,
     .offset = PPO(encoder),
     .low = 0,
     .choices = encoders,
     .group = network,
     .argument = "HOW",
     .help = "Gradient of the embedding: local (through its own step, the default) or exact (through time)"},
    {.name = "seed",
     .type = SETTING_SEED,
     .offset = PPO(seed),
     .group = training,
     .letter = 's',
     .argument = "N",
     .help = "Seed of weights, environments, actions and minibatches (default: 0)"},
    {.name = "steps",
     .type = SETTING_LONG,
     .offset = RL(total_steps),
     .low = 1,
     .high = 1e15,
     .group = training,
     .letter = 'n',
     .argument = "N",
     .help = "Environment steps of the run, in whole rollouts (default: the paper's, 3999744; robots 4999168)"},
    {.name = "rollout",
     .type = SETTING_INT,
     .offset = PPO(steps),
     .low = 1,
     .high = 1 << 24,
     .group = training,
     .argument = "N",
     .help = "Environment steps of a rollout, all streams together (default: 2048)"},
    {.name = "streams",
     .type = SETTING_INT,
     .offset = PPO(streams),
     .low = 1,
     .high = 1 << 20,
     .group = training,
     .argument = "N",
     .help = "Environments that a rollout is collected from (default: 1)"},
    {.name = "obsnorm",
     .type = SETTING_CHOICE,
     .offset = PPO(obsnorm),
     .low = 0,
     .choices = obsnorms,
     .group = training,
     .argument = "HOW",
     .help = "Normalise observations: none, by feature or pooled (default: none; robots feature)"},
    {.name = "rewardnorm",
     .type = SETTING_CHOICE,
     .offset = PPO(rewardnorm),
     .low = 0,
     .choices = rewardnorms,
     .group = training,
     .argument = "HOW",
     .help = "Divide rewards by the deviation of the return: none or return (default: none; robots return)"},
    {.name = "discount",
     .type = SETTING_REAL,
     .offset = PPO(discount),
     .low = 0,
     .high = 1,
     .group = training,
     .argument = "X",
     .help = "Discount of rewards (default: 0.99)"},
    {.name = "lambda",
     .type = SETTING_REAL,
     .offset = PPO(lambda),
     .low = 0,
     .high = 1,
     .group = training,
     .argument = "X",
     .help = "Of the generalised advantage estimate (default: 0.95)"},
    {.name = "action-limit",
     .type = SETTING_REAL,
     .offset = PPO(action_limit),
     .low = 0,
     .high = 1e6,
     .group = training,
     .argument = "X",
     .help = "Clip continuous actions to this magnitude (default: 2)"},
    {.name = "epochs",
     .type = SETTING_INT,
     .offset = PPO(epochs),
     .low = 1,
     .high = 1 << 20,
     .group = training,
     .argument = "N",
     .help = "Passes over a rollout (default: 10; robots 4)"},
    {.name = "minibatches",
     .type = SETTING_INT,
     .offset = PPO(minibatches),
     .low = 1,
     .high = 1 << 24,
     .group = training,
     .argument = "N",
     .help = "Minibatches of a pass (default: 32)"},
    {.name = "clip",
     .type = SETTING_REAL,
     .offset = PPO(clip),
     .low = 0,
     .high = 1e6,
     .group = training,
     .argument = "X",
     .help = "Clip probability ratios and changes of values (default: 0.2)"},
    {.name = "value-coefficient",
     .type = SETTING_REAL,
     .offset = PPO(value_coefficient),
     .low = 0,
     .high = 1e6,
     .group = training,
     .argument = "X",
     .help = "Weight of the value loss (default: 0.5)"},
    {.name = "entropy",
     .type = SETTING_REAL,
     .offset = PPO(entropy_coefficient),
     .low = 0,
     .high = 1e6,
     .group = training,
     .argument = "X",
     .help = "Weight of the entropy bonus (default: 0)"},
    {.name = "gradient-clip",
     .type = SETTING_REAL,
     .offset = PPO(gradient_clip),
     .low = 0,
     .high = 1e30,
     .group = training,
     .argument = "X",
     .help = "Greatest norm of the gradient (default: 0.5)"},
    {.name = "rate",
     .type = SETTING_REAL,
     .offset = PPO(rate),
     .low = 0,
     .high = 1e6,
     .group = training,
     .letter = 'r',
     .argument = "X",
     .help = "Learning rate (default: the paper's for the task, mostly 1e-4)"},
    {.name = "traces",
     .type = SETTING_CHOICE,
     .offset = PPO(traces),
     .low = 0,
     .choices = traces,
     .group = training,
     .argument = "HOW",
     .help = "Keep sensitivities: stored, free (rebuilt from records), or auto (default)"},
    {.name = "interval",
     .type = SETTING_INT,
     .offset = PPO(interval),
     .low = 0,
     .high = 1 << 24,
     .group = training,
     .argument = "N",
     .help = "With records: keep sensitivities before every Nth step, too (default: 0, none)"},
    {.name = "memory-limit",
     .type = SETTING_LONG,
     .role = FREE,
     .offset = RL(memory_limit_mb),
     .low = 1,
     .high = 1e9,
     .group = training,
     .argument = "MB",
     .help = "Refuse a run that needs more megabytes (default: no limit)"},
    THREADS_SETTING(rl_config, ppo.threads, "1"),
    FOLDER_SETTING(rl_config, "runs/TASK-CELL-sSEED, options of either behind it"),
    RESUME_SETTING(rl_config),
    FORCE_SETTING(rl_config),
};

const settings_table rl_settings = {rl_rows, sizeof rl_rows / sizeof *rl_rows};

settings_form rl_form(rl_config *config) {
  return (settings_form){.command = COMMAND_RL, .part = {{&rl_settings, config}}};
}

/* ---- what was not given -------------------------------------------------------------------------- */

static sparc_status usual_config(const char *name, rl_config *usual) {
  const settings_form form = rl_form(usual);
  settings_clear(&form);
  const sparc_status status = sparc_ppo_defaults(name, &usual->ppo);
  if (status != SPARC_OK) return status;
  usual->ppo.task_options = "";
  usual->ppo.threads = 1; /* a minibatch is too short to be shared well, and seeds can run side by side */
  usual->budget = usual->ppo.budget;
  usual->total_steps = usual->ppo.rollouts * usual->ppo.steps;
  return SPARC_OK;
}

static cell_wish wish_of(const rl_config *c) {
  return (cell_wish){.kind = c->ppo.cell ? c->ppo.cell : "sparc",
                     .options = c->ppo.cell_options,
                     .variant = c->variant,
                     .modes = c->ppo.H,
                     .budget = c->budget,
                     .overrule = c->resume};
}

static sparc_status settle_cell(rl_config *c, char options[CELL_OPTIONS_SIZE]) {
  const cell_wish wish = wish_of(c);
  const sparc_status status = cell_settle(&wish, c->ppo.width, &c->ppo.H, options);
  c->ppo.cell_options = options;
  return status;
}

sparc_status rl_settle(rl_config *c, char options[CELL_OPTIONS_SIZE]) {
  rl_config usual = {.folder = NULL};
  const settings_form form = rl_form(c), paper = rl_form(&usual);
  sparc_status status = settings_check(&form, false);
  if (status == SPARC_OK) status = usual_config(c->ppo.task, &usual);
  if (status != SPARC_OK) return status;
  settings_inherit(&form, &paper);
  c->ppo.kind = NULL;
  c->ppo.budget = c->budget;
  c->ppo.memory_limit = (size_t)c->memory_limit_mb * 1000000;
  c->ppo.rollouts = c->total_steps / c->ppo.steps > 0 ? c->total_steps / c->ppo.steps : 1;
  c->total_steps = c->ppo.rollouts * c->ppo.steps;
  return settle_cell(c, options);
}

/* ---- the folder ---------------------------------------------------------------------------------- */

sparc_status rl_default_folder(const rl_config *c, char *path, size_t size) {
  const cell_wish wish = wish_of(c);
  return default_folder(c->ppo.task, c->ppo.task_options ? c->ppo.task_options : "", &wish, c->ppo.seed, path, size);
}
