/* SPDX-License-Identifier: MIT */
/* settings.h: what `sparc train` can be told, from three places in rising order of precedence: the configuration
 * of the run that is resumed, a configuration file, the command line.
 *
 * One table, TRAIN_SETTINGS, makes the options of the command line, the keys of configuration files and what is written
 * to config.json, so the three cannot disagree.
 */
#ifndef SPARC_CLI_TRAIN_SETTINGS_H
#define SPARC_CLI_TRAIN_SETTINGS_H

#include "cli/cli.h"
#include "sparc/train.h"

typedef enum setting_type {
  SETTING_TEXT,  /* const char * */
  SETTING_WHOLE, /* long, from low to high */
  SETTING_SEED,  /* uint64_t */
  SETTING_REAL,  /* double, from low to high */
  SETTING_FLAG   /* bool */
} setting_type;

/* GROUP(number, title) and SETTING(group, letter, name, member, ARGUMENT, type, low, high, role, sentence) */
#define TRAIN_SETTINGS(GROUP, SETTING)                                                                                 \
  GROUP(1, "Network:")                                                                                                 \
  SETTING(1, 'c', "cell", cell, "KIND", TEXT, 0, 0, DEFINES, "The recurrent cell (default: sparc)")                    \
  SETTING(1, 0, "cell-options", cell_options, "LIST", TEXT, 0, 0, DEFINES, "Options of the cell, as key=value,...")    \
  SETTING(1, 0, "variant", variant, "NAME", TEXT, 0, 0, SHORTHAND, "Short for the cell option variant=NAME")           \
  SETTING(1, 'H', "modes", modes, "N", WHOLE, 1, 1 << 20, DEFINES, "Modes (or real coordinates) of each cell")         \
  SETTING(1, 'b', "budget", budget, "N", WHOLE, 1, 1 << 20, SHORTHAND,                                                 \
          "Instead of modes: real coordinates of each cell's state (default: 128)")                                    \
  SETTING(1, 'L', "layers", layers, "N", WHOLE, 0, 1024, DEFINES,                                                      \
          "Residual layers, 0 for the bare cell (default: 4; generated tasks: 0)")                                     \
  SETTING(1, 'w', "width", width, "N", WHOLE, 1, 1 << 16, DEFINES, "Width of the residual stream (default: 64)")       \
  SETTING(1, 0, "dropout", dropout, "P", REAL, 0, 0.99, DEFINES, "Probability of dropout (default: 0.1; tasks: 0)")    \
  GROUP(2, "Training:")                                                                                                \
  SETTING(2, 'n', "updates", updates, "N", WHOLE, 1, INT32_MAX, DEFINES, "Updates (default: 20000; tasks: their own)") \
  SETTING(2, 'B', "batch", batch, "N", WHOLE, 1, 1 << 20, DEFINES, "Examples per update (default: 32; tasks: 64)")     \
  SETTING(2, 'r', "rate", rate, "X", REAL, 0, 1e6, DEFINES, "Learning rate (default: 0.00195; tasks: 0.01)")           \
  SETTING(2, 0, "floor", floor, "X", REAL, 0, 1e6, DEFINES,                                                            \
          "Rate at both ends of the schedule (default: 1e-6; tasks: constant rate)")                                   \
  SETTING(2, 0, "warmup", warmup, "N", WHOLE, 0, INT32_MAX, DEFINES,                                                   \
          "Updates from floor to rate (default: a tenth of all; tasks: none)")                                         \
  SETTING(2, 0, "recurrent-rate", recurrent_rate, "X", REAL, 0, 1e6, DEFINES,                                          \
          "Rate of recurrent parameters relative to the others (default: 0.25; tasks: 1)")                             \
  SETTING(2, 0, "decay", decay, "X", REAL, 0, 1e6, DEFINES,                                                            \
          "Weight decay of regular parameters (default: 0.05; tasks: their own)")                                      \
  SETTING(2, 0, "clip", clip, "X", REAL, 0, 1e300, DEFINES, "Greatest norm of the gradient, 0: any (tasks: 1)")        \
  SETTING(2, 's', "seed", seed, "N", SEED, 0, 0, DEFINES, "Seed of weights, batches and dropout (default: 0)")         \
  SETTING(2, 'v', "validate-every", validate_every, "N", WHOLE, 1, INT32_MAX, DEFINES,                                 \
          "Validate and save after every N updates (default: 500, or a tenth of all if that is less)")                 \
  SETTING(2, 'T', "threads", threads, "N", WHOLE, 1, 1024, FREE, "Use at most N threads (default: all processors)")    \
  GROUP(3, "Data:")                                                                                                    \
  SETTING(3, 0, "root", root, "DIR", TEXT, 0, 0, FREE, "Look for named data sets in DIR (default: $SPARC_DATA)")       \
  SETTING(3, 0, "official", official, NULL, FLAG, 0, 0, DEFINES,                                                       \
          "Fit on the whole training partition, report on the test partition")                                         \
  SETTING(3, 0, "label-column", label_column, "C", TEXT, 0, 0, DEFINES,                                                \
          "CSV: the label is in the column of this name or number (default: the last)")                                \
  GROUP(4, "Run:")                                                                                                     \
  SETTING(4, 'o', "out", out, "DIR", TEXT, 0, 0, RUN, "Run folder (default: runs/DATA-CELL-sSEED)")                    \
  SETTING(4, 0, "config", config, "FILE", TEXT, 0, 0, COMMAND_LINE, "Read settings from a JSON FILE; options win")     \
  SETTING(4, 0, "resume", resume, NULL, FLAG, 0, 0, COMMAND_LINE, "Continue the run in the folder, to the bit")        \
  SETTING(4, 0, "force", force, NULL, FLAG, 0, 0, COMMAND_LINE, "Replace the run in the folder")                       \
  SETTING(4, 'q', "quiet", quiet, NULL, FLAG, 0, 0, RUN, "No progress and no remarks")                                 \
  SETTING(4, 'j', "json", json, NULL, FLAG, 0, 0, RUN, "Print the result as one JSON object")                          \
  SETTING(4, 0, "progress", progress, "HOW", TEXT, 0, 0, RUN, "auto, plain (one line now and then) or none")

/* what a setting is to a run */
typedef enum setting_role {
  DEFINES,     /* part of config.json; cannot change when a run is resumed */
  FREE,        /* part of config.json; changes no result */
  SHORTHAND,   /* another way to say something that is in config.json */
  RUN,         /* may stand in a configuration file, but is not written to config.json */
  COMMAND_LINE /* not allowed in a configuration file */
} setting_role;

#define NO_GROUP_(number, title)
#define ENUMERATE_(group, letter, name, member, ...) SET_##member,
typedef enum setting_index { TRAIN_SETTINGS(NO_GROUP_, ENUMERATE_) SETTINGS } setting_index;
#undef ENUMERATE_
#undef NO_GROUP_

typedef struct train_settings {
  const char *data; /* the name of a task or data set, or a file */
  const char *cell, *cell_options, *variant, *root, *label_column, *out, *config, *progress;
  long modes, budget, layers, width, updates, batch, warmup, validate_every, threads;
  double dropout, rate, floor, recurrent_rate, decay, clip;
  uint64_t seed;
  bool official, resume, force, quiet, json;
  bool given[SETTINGS];
  json_t *source[2]; /* configuration files; their strings are in use */
  void *texts;       /* so are those made of their numbers */
} train_settings;

extern const struct argp train_argp;

/* settings_parse reads the command line, the configuration file it names and, with --resume, DIR/config.json. What
 * makes no sense ends the program or gives a code other than EXIT_DONE, with a message. */
exit_code settings_parse(int argc, char **argv, train_settings *settings);
void settings_free(train_settings *settings);

/* settings_folder is the run folder: what was given, or the default name */
void settings_folder(const train_settings *settings, char *path, size_t size);

/* settings_apply fills in what was not given (task NULL: a data set of so many channels and classes) and makes the
 * training configuration; its strings live in `options` and `settings`. */
enum { CELL_OPTIONS_SIZE = 1024 };
sparc_status settings_apply(train_settings *settings, const sparc_task *task, int channels, int classes,
                            char options[CELL_OPTIONS_SIZE], sparc_train_config *config);

/* settings_json is the effective configuration, with the keys of the long options; NULL without memory */
json_t *settings_json(const train_settings *settings, const sparc_train_config *config);

/* settings_same_run compares two effective configurations; the first difference that matters is reported */
bool settings_same_run(const char *who, const json_t *now, const json_t *then, const char *then_name);

#endif
