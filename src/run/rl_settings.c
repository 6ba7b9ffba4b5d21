/* SPDX-License-Identifier: MIT */
/* rl_settings.c: the table, and the paper's settings of the task for what is not given. */
#include "run/rl_settings.h"

#include "base/error.h"
#include "io/settings_rows.h"
#include "rl/settings.h"
#include "run/run_settings.h"

/* ---- the table ----------------------------------------------------------------------------------- */

#define SETTING_STRUCT sparc_rl_run_config
static const setting rl_rows[] = {
    VARIANT_SETTING,
    STATE_SIZE_SETTING(state_size, NULL, NULL),
    {"steps", NULL, LONG(total_steps, 1, 1e15)},
    {"memory-limit", NULL, LONG(memory_limit_mb, 1, 1e9), ROLE(FREE)},
    THREADS_SETTING(ppo.threads),
    FOLDER_SETTING,
    RESUME_SETTING,
    RESUME_OR_CREATE_SETTING,
    FORCE_SETTING,
};

static const settings_table rl_settings = SETTINGS_TABLE(rl_rows);

settings_binding rl_binding(sparc_rl_run_config *config) {
  return (settings_binding){
      .part = {{.table = &ppo_settings, .at = &config->ppo, .given = &config->given[0], .prefix = "ppo."},
               {.table = &rl_settings, .at = config, .given = &config->given[1]}}};
}

sparc_status sparc_rl_run_config_set(sparc_rl_run_config *config, const char *name, const char *value) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  const settings_binding binding = rl_binding(config);
  return settings_set(&binding, name, value);
}

/* ---- settings that are not given ----------------------------------------------------------------- */

static sparc_status default_config(const char *name, sparc_rl_run_config *defaults) {
  *defaults = (sparc_rl_run_config){.folder = NULL};
  const sparc_status status = sparc_ppo_defaults(name, &defaults->ppo);
  if (status != SPARC_OK) return status;
  defaults->given[0] = UINT64_MAX; /* sparc_ppo_defaults() sets all of them */
  defaults->ppo.task_options = "";
  defaults->ppo.threads = 1; /* a minibatch is too short to be shared well, and seeds can run side by side */
  defaults->state_size = defaults->ppo.state_size;
  defaults->total_steps = defaults->ppo.rollouts * defaults->ppo.rollout_steps;
  return SPARC_OK;
}

static cell_request cell_request_of(const sparc_rl_run_config *c) {
  return (cell_request){.kind = c->ppo.cell ? c->ppo.cell : "sparc",
                        .options = c->ppo.cell_options,
                        .variant = c->variant,
                        .modes = c->ppo.H,
                        .state_size = c->state_size,
                        .overrule = rl_resumes(c)};
}

static sparc_status resolve_cell(sparc_rl_run_config *c, char options[CELL_OPTIONS_SIZE]) {
  const cell_request request = cell_request_of(c);
  const sparc_status status = cell_resolve(&request, c->ppo.width, &c->ppo.H, options);
  c->ppo.cell_options = options;
  return status;
}

sparc_status rl_resolve(sparc_rl_run_config *c, char options[CELL_OPTIONS_SIZE]) {
  sparc_rl_run_config defaults = {.folder = NULL};
  const settings_binding binding = rl_binding(c), paper = rl_binding(&defaults);
  sparc_status status = settings_check(&binding, false);
  if (status == SPARC_OK) status = default_config(c->ppo.task, &defaults);
  if (status != SPARC_OK) return status;
  settings_inherit(&binding, &paper);
  c->ppo.kind = NULL;
  if (c->ppo.shards == 1) c->ppo.shards = 0; /* equivalent, and not written */
  c->ppo.state_size = c->state_size;
  c->ppo.memory_limit = (size_t)c->memory_limit_mb * 1000000;
  c->ppo.rollouts = c->total_steps / c->ppo.rollout_steps > 0 ? c->total_steps / c->ppo.rollout_steps : 1;
  c->total_steps = c->ppo.rollouts * c->ppo.rollout_steps;
  return resolve_cell(c, options);
}

/* ---- the folder ---------------------------------------------------------------------------------- */

sparc_status rl_default_folder(const sparc_rl_run_config *c, char *path, size_t size) {
  const cell_request request = cell_request_of(c);
  return default_folder(c->ppo.task, c->ppo.task_options ? c->ppo.task_options : "", &request, c->ppo.seed, path, size);
}
