/* SPDX-License-Identifier: MIT */
/* config.c: the paper's settings [tab:rl_hyperparameters], and checks of a configuration. Values common to all tasks
 * are in the table of settings; the rest are two columns and a few exceptions. */
#include "rl/config.h"

#include "base/error.h"
#include "cells/cell.h"
#include "rl/settings.h"

#include <stdio.h>
#include <string.h>

/* ---- defaults ----------------------------------------------------------------------------------- */

typedef struct column {
  long rollouts;
  int epochs, state_size, normalised;
} column;

static const column robots = {.rollouts = 2441, .epochs = 4, .state_size = 384, .normalised = 1};
static const column popgym = {.rollouts = 1953, .epochs = 10, .state_size = 128, .normalised = 0};

/* prefixes of names, up to a dash or the end */
static const char *const robot_names[] = {"ant", "walker", "hopper", "cheetah"};

static const struct {
  const char *task;
  double learning_rate;
} learning_rates[] = {
    {"walker-p", 3e-5}, {"repeat-first", 1e-3}, {"repeat-first-unmarked", 1e-3}, {"higher-lower", 1e-5}};

static const column *column_of(const char *task) {
  for (size_t i = 0; i < sizeof robot_names / sizeof *robot_names; i++) {
    const size_t length = strlen(robot_names[i]);
    if (strncmp(task, robot_names[i], length) == 0 && (task[length] == '-' || !task[length])) return &robots;
  }
  return &popgym;
}

static double learning_rate_of(const char *task) {
  for (size_t i = 0; i < sizeof learning_rates / sizeof *learning_rates; i++)
    if (strcmp(task, learning_rates[i].task) == 0) return learning_rates[i].learning_rate;
  return 1e-4;
}

sparc_status sparc_ppo_defaults(const char *task, sparc_ppo_config *config) {
  if (!task || !config) return fail(SPARC_INVALID, "%s is NULL", task ? "config" : "task");
  const column *c = column_of(task);
  *config = (sparc_ppo_config){.kind = NULL};
  const settings_binding binding = {.part = {{.table = &ppo_settings, .at = config}}};
  settings_reset(&binding, DEFAULT_DATA);
  config->task = task;
  config->state_size = c->state_size;
  config->rollouts = c->rollouts;
  config->obsnorm = c->normalised ? SPARC_OBSNORM_FEATURE : SPARC_OBSNORM_NONE;
  config->rewardnorm = c->normalised;
  config->epochs = c->epochs;
  config->learning_rate = learning_rate_of(task);
  return SPARC_OK;
}

/* ---- checks ------------------------------------------------------------------------------------- */

static sparc_status check_numbers(const sparc_ppo_config *config) {
  enum { MAX_THREADS = 1 << 16 };
  sparc_ppo_config c = *config;
  if (c.H == 0) c.H = 1; /* resolved from state_size */
  const sparc_status status = settings_check(&(settings_binding){.part = {{.table = &ppo_settings, .at = &c}}}, true);
  if (status != SPARC_OK) return status;
  if (c.trace_interval > c.rollout_steps)
    return fail(SPARC_INVALID,
                "trace_interval (--trace-interval) is %d, expected 0 to the %d steps of a rollout (--rollout-steps)",
                c.trace_interval, c.rollout_steps);
  if (c.threads < 0 || c.threads > MAX_THREADS)
    return fail(SPARC_INVALID, "threads is %d, expected 0 to %d", c.threads, MAX_THREADS);
  return SPARC_OK;
}

static sparc_status check_divisions(const sparc_ppo_config *c) {
  if (c->rollout_steps % c->streams != 0)
    return fail(SPARC_INVALID,
                "steps of a rollout (--rollout-steps) is %d, expected a multiple of streams (--streams), %d",
                c->rollout_steps, c->streams);
  if (c->rollout_steps % c->minibatches != 0)
    return fail(SPARC_INVALID,
                "steps of a rollout (--rollout-steps) is %d, expected a multiple of minibatches (--minibatches), %d",
                c->rollout_steps, c->minibatches);
  const int shards = c->shards > 1 ? c->shards : 1;
  if (c->streams % shards != 0)
    return fail(SPARC_INVALID, "shards (--shards) is %d, expected a divisor of streams (--streams), %d", shards,
                c->streams);
  if (c->rollout_steps / c->minibatches % shards != 0)
    return fail(SPARC_INVALID, "shards (--shards) is %d, expected a divisor of the %d steps of a minibatch", shards,
                c->rollout_steps / c->minibatches);
  if (shards > 1 && c->refresh == SPARC_REFRESH_MEASURE)
    return fail(SPARC_UNSUPPORTED,
                "refresh is measure, but shards (--shards) is %d, expected 1: staleness is "
                "measured on whole minibatches",
                shards);
  return SPARC_OK;
}

static sparc_status copy_text(const char *what, const char *text, char out[CONFIG_TEXT]) {
  if (strlen(text) >= CONFIG_TEXT)
    return fail(SPARC_INVALID, "%s has %zu characters, expected fewer than %d", what, strlen(text), CONFIG_TEXT);
  memcpy(out, text, strlen(text) + 1);
  return SPARC_OK;
}

static sparc_status copy_strings(const sparc_ppo_config *c, config_strings *out) {
  const char *task = c->task ? c->task : c->kind ? c->kind->name : NULL;
  if (!task || !c->cell) return fail(SPARC_INVALID, "%s is NULL, expected a name", task ? "cell" : "task");
  sparc_status status = copy_text("task", task, out->task);
  if (status == SPARC_OK) status = copy_text("task_options", c->task_options ? c->task_options : "", out->task_options);
  if (status == SPARC_OK) status = copy_text("cell", c->cell, out->cell);
  if (status == SPARC_OK) status = copy_text("cell_options", c->cell_options ? c->cell_options : "", out->cell_options);
  return status;
}

/* H and options for state_size; the caller's options follow those that state_size requires */
static sparc_status fit_cell(sparc_ppo_config *c, config_strings *strings) {
  sparc_cell_config fitted;
  char options[CONFIG_TEXT / 2], joined[CONFIG_TEXT];
  sparc_status status = cell_fit(strings->cell, c->state_size, &fitted, options, sizeof options);
  if (status != SPARC_OK) return status;
  c->H = fitted.H;
  if (!fitted.options || !*fitted.options) return SPARC_OK;
  const char *given = strings->cell_options;
  if (snprintf(joined, sizeof joined, "%s%s%s", fitted.options, *given ? "," : "", given) >= CONFIG_TEXT)
    return fail(SPARC_INVALID, "cell_options has %zu characters, expected fewer", strlen(given));
  return copy_text("cell_options", joined, strings->cell_options);
}

sparc_status config_resolve(const sparc_ppo_config *config, sparc_ppo_config *out, config_strings *strings) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  *out = *config;
  sparc_status status = check_numbers(config);
  if (status == SPARC_OK) status = check_divisions(config);
  if (status == SPARC_OK) status = copy_strings(config, strings);
  if (status == SPARC_OK && config->H == 0) status = fit_cell(out, strings);
  if (status != SPARC_OK) return status;
  out->task = strings->task;
  out->task_options = strings->task_options;
  out->cell = strings->cell;
  out->cell_options = strings->cell_options;
  return SPARC_OK;
}
