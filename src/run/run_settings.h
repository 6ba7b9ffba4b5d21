/* SPDX-License-Identifier: MIT */
/* run_settings.h: the settings of a training run, the resolution of those that are not given, and config.json. */
#ifndef SPARC_RUN_RUN_SETTINGS_H
#define SPARC_RUN_RUN_SETTINGS_H

#include "io/settings.h"
#include "run/cell_choice.h"
#include "run/data.h"
#include "sparc/run.h"

/* ---- rows that every kind of run has, over a structure S with members of these names ---- */

#define VARIANT_SETTING(S)                                                                      \
  {                                                                                             \
    .name = "variant", .type = SETTING_TEXT, .role = SHORTHAND, .offset = offsetof(S, variant), \
    .group = "Network:", .argument = "NAME", .help = "Short for the cell option variant=NAME"   \
  }

#define STATE_SIZE_SETTING(S, data_default, task_default)                                                              \
  {                                                                                                                    \
    .name = "state-size", .old_name = "budget", .type = SETTING_INT, .role = SHORTHAND, .offset = offsetof(S, budget), \
    .low = 1, .high = 1 << 20, .defaults = {data_default, task_default}, .overrides = "modes",                         \
    .group = "Network:", .letter = 'b', .argument = "N",                                                               \
    .help = "Instead of modes: real coordinates of each cell's state"                                                  \
  }

#define THREADS_SETTING(S, member, default_number)                                                               \
  {                                                                                                              \
    .name = "threads", .type = SETTING_INT, .role = FREE, .offset = offsetof(S, member), .low = 1, .high = 1024, \
    .group = "Training:", .letter = 'T', .argument = "N",                                                        \
    .help = "Use at most N threads (default: " default_number ")"                                                \
  }

#define FOLDER_SETTING(S, default_name)                                                                 \
  {                                                                                                     \
    .name = "out", .type = SETTING_TEXT, .role = UNRECORDED, .offset = offsetof(S, folder),             \
    .group = "Run:", .letter = 'o', .argument = "DIR", .help = "Run folder (default: " default_name ")" \
  }

#define RESUME_SETTING(S)                                                                        \
  {                                                                                              \
    .name = "resume", .type = SETTING_FLAG, .role = COMMAND_LINE, .offset = offsetof(S, resume), \
    .overrides = "force resume-or-create",                                                       \
    .group = "Run:", .help = "Continue the run in the folder, bit-exactly; there must be one"    \
  }

#define RESUME_OR_CREATE_SETTING(S)                                                                                  \
  {                                                                                                                  \
    .name = "resume-or-create", .type = SETTING_FLAG, .role = COMMAND_LINE, .offset = offsetof(S, resume_or_create), \
    .overrides = "force resume",                                                                                     \
    .group = "Run:", .help = "Continue the run in the folder, or begin it if there is none"                          \
  }

#define FORCE_SETTING(S)                                                                             \
  {                                                                                                  \
    .name = "force", .type = SETTING_FLAG, .role = COMMAND_LINE, .offset = offsetof(S, force),       \
    .overrides = "resume resume-or-create", .group = "Run:", .help = "Replace the run in the folder" \
  }

/* Name the folder of a run after its task or data and their options, its cell and its seed:
 * runs/repeat-previous-lag_1-sparc-s0 */
sparc_status default_folder(const char *source, const char *options, const cell_wish *wish, uint64_t seed, char *path,
                            size_t size);

/* ---- training runs ---- */

extern const settings_table
    run_settings; /* over sparc_run_config, beside those of network, training and data reading */

/* Bind all tables to a configuration. */
settings_binding run_binding(sparc_run_config *config);

/* The input of the head where none is given. */
sparc_head_input default_head(const run_data *data);

/* Fill in settings that are not given. The options of the cell are written to `options`, the head to `head`. */
sparc_status run_resolve(sparc_run_config *config, const run_data *data, char options[CELL_OPTIONS_SIZE],
                         sparc_head_config *head);

/* The recipe of this name; the paper's where name is NULL or unknown. */
int recipe_named(const char *name);
const char *recipe_name(int recipe);

/* The default folder of a run, known before its data are loaded: runs/FordA-sparc-s1 */
sparc_status run_default_folder(const sparc_run_config *config, char *path, size_t size);

/* Return a resolved configuration as in config.json; NULL without memory. */
json_t *run_config_json(const sparc_run_config *config);

#endif
