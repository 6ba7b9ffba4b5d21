/* SPDX-License-Identifier: MIT */
/* run_settings.h: the settings of a training run, the resolution of those that are not given, and config.json. */
#ifndef SPARC_RUN_RUN_SETTINGS_H
#define SPARC_RUN_RUN_SETTINGS_H

#include "io/settings.h"
#include "run/cell_choice.h"
#include "run/data.h"
#include "sparc/run.h"

/* ---- rows (io/settings_rows.h) that all kinds of runs share, of structures with members of these names ---- */

/* clang-format off */
#define VARIANT_SETTING                 {"variant", NULL, TEXT(variant), ROLE(SHORTHAND)}
#define STATE_SIZE_SETTING(m, data, task) {"state-size", NULL, INT(m, 1, 1 << 20), ROLE(SHORTHAND), \
                                         DEFAULTS(data, task), OVERRIDES("modes"), OLD("budget")}
#define THREADS_SETTING(m)              {"threads", NULL, INT(m, 1, 1024), ROLE(FREE)}
#define FOLDER_SETTING                  {"out", NULL, TEXT(folder), ROLE(UNRECORDED)}
#define RESUME_SETTING                  {"resume", NULL, FLAG(resume), ROLE(COMMAND_LINE), \
                                         OVERRIDES("force resume-or-create")}
#define RESUME_OR_CREATE_SETTING        {"resume-or-create", NULL, FLAG(resume_or_create), ROLE(COMMAND_LINE), \
                                         OVERRIDES("force resume")}
#define FORCE_SETTING                   {"force", NULL, FLAG(force), ROLE(COMMAND_LINE), \
                                         OVERRIDES("resume resume-or-create")}
/* clang-format on */

/* Name the folder of a run after its task or data and their options, its cell and its seed:
 * runs/repeat-previous-lag_1-sparc-s0 */
sparc_status default_folder(const char *source, const char *options, const cell_request *request, uint64_t seed,
                            char *path, size_t size);

/* ---- training runs ---- */

extern const settings_table
    run_settings; /* over sparc_run_config, beside those of network, training and data reading */

/* Bind all tables to a configuration. */
settings_binding run_binding(sparc_run_config *config);

/* Whether a member of the configuration is given; it must be a setting. */
bool run_is_given(const sparc_run_config *config, const void *member);
void run_mark(sparc_run_config *config, const void *member); /* as given */

/* Whether the readout is ridge if there are few enough examples with classes. */
bool run_may_use_ridge(const sparc_run_config *config);

/* The input of the head where none is given. */
sparc_head_input default_head(const run_data *data);

/* Fill in settings that are not given. The options of the cell are written to `options`, the head to `head`. */
sparc_status run_resolve(sparc_run_config *config, const run_data *data, char options[CELL_OPTIONS_SIZE],
                         sparc_head_config *head);

/* The recipe of this name; the paper's where name is NULL or unknown. */
sparc_run_recipe recipe_named(const char *name);
const char *recipe_name(sparc_run_recipe recipe);

/* The default folder of a run, known before its data are loaded: runs/FordA-sparc-s1 */
sparc_status run_default_folder(const sparc_run_config *config, char *path, size_t size);

/* Return a resolved configuration as in config.json; NULL without memory. */
json_t *run_config_json(const sparc_run_config *config);

#endif
