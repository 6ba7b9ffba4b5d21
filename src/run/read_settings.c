/* SPDX-License-Identifier: MIT */
/* read_settings.c: the table of data reading. Rows with a key are stored with a model, so that `sparc predict` reads
 * files like `sparc train` did. */
#include "run/read_settings.h"

#include "base/error.h"

#include <string.h>

#define READ(member) offsetof(sparc_read_options, member)

enum {
  READERS = COMMAND_DATA | COMMAND_TRAIN | COMMAND_EVAL | COMMAND_PREDICT,
  /* predict has another --format */
  WITH_FORMAT = COMMAND_DATA | COMMAND_TRAIN | COMMAND_EVAL
};

/* in the order of sparc_data_format */
static const char *const formats[] = {"auto", "ucr", "ts", "csv", "npy", "idx", "cifar", "npz", NULL};

static const char data[] = "Data:", csv[] = "CSV as exported:";

/* in the order of sparc_data_goal */
static const char *const goals[] = {"classify", "regress", "forecast", NULL};

/* in the order of sparc_data_division */
static const char *const divisions[] = {"paper", "sound", NULL};

static const setting read_rows[] = {
    {.name = "objective",
     .old_name = "task",
     .key = "read.task",
     .type = SETTING_CHOICE,
     .commands = READERS,
     .offset = READ(goal),
     .choices = goals,
     .group = data,
     .argument = "WHAT",
     .help = "Learn to classify series, to regress (labels are numbers) or to forecast (default: classify)"},
    {.name = "horizon",
     .key = "read.horizon",
     .type = SETTING_INT,
     .commands = READERS,
     .offset = READ(horizon),
     .low = 1,
     .high = 1 << 20,
     .group = data,
     .argument = "N",
     .help = "Forecast: how many steps ahead (default: 1)"},
    {.name = "context",
     .type = SETTING_INT,
     .commands = COMMAND_DATA | COMMAND_TRAIN | COMMAND_EVAL,
     .offset = READ(context),
     .low = 1,
     .high = 1 << 24,
     .group = data,
     .argument = "N",
     .help = "Forecast: steps of the windows of a single series (default: 64, or a quarter of it)"},
    {.name = "format",
     .type = SETTING_CHOICE,
     .commands = WITH_FORMAT,
     .offset = READ(format),
     .choices = formats,
     .group = data,
     .argument = "F",
     .help = "Read the file as auto, ucr, ts, csv, npy, npz, idx or cifar (default: auto)"},
    {.name = "labels",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(labels_path),
     .group = data,
     .argument = "FILE",
     .help = "Take the labels of an NPY or IDX file from FILE"},
    {.name = "x",
     .key = "read.x",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(series_array),
     .group = data,
     .argument = "NAME",
     .help = "NPZ: the array of the series (default: x, X, x_train, X_train, data or arr_0)"},
    {.name = "y",
     .key = "read.y",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(labels_array),
     .group = data,
     .argument = "NAME",
     .help = "NPZ: the array of the labels (default: y, Y, y_train, Y_train, labels or arr_1)"},
    {.name = "unlabelled",
     .type = SETTING_FLAG,
     .role = UNRECORDED,
     .commands = COMMAND_DATA | COMMAND_PREDICT,
     .offset = READ(unlabelled),
     .group = data,
     .letter = 'u',
     .help = "Rows hold values only, no label"},
    {.name = "label",
     .key = "read.label",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(label_column),
     .group = csv,
     .argument = "COLUMN",
     .help = "The label is in the column of this name or number, or there is none (default: the last)"},
    {.name = "ignore",
     .key = "read.ignore",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(ignore_columns),
     .group = csv,
     .argument = "COLUMN,...",
     .help = "Leave these columns out"},
    {.name = "id",
     .key = "read.id",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(id_column),
     .group = csv,
     .argument = "COLUMN",
     .help = "Long format, one step a row: rows with the same id are one series"},
    {.name = "time",
     .key = "read.time",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(time_column),
     .group = csv,
     .argument = "COLUMN",
     .help = "Long format: orders the steps; without --id the file is one series"},
    {.name = "channels",
     .key = "read.channels",
     .type = SETTING_INT,
     .commands = READERS,
     .offset = READ(channels),
     .low = 1,
     .high = 1 << 16,
     .group = csv,
     .argument = "N",
     .help = "Channels of a row, step by step (default: as names a_0,a_1,...,b_0,b_1,... tell, else 1)"},
    {.name = "decimal",
     .key = "read.decimal",
     .type = SETTING_TEXT,
     .commands = READERS,
     .offset = READ(decimal),
     .group = csv,
     .argument = "C",
     .help = "The decimal point is . or , (default: .)"},
    {.name = "validation",
     .key = "read.validation",
     .type = SETTING_REAL,
     .commands = COMMAND_DATA | COMMAND_TRAIN | COMMAND_EVAL,
     .offset = READ(validation),
     .low = 0.01,
     .high = 0.9,
     .overrides = "official",
     .group = data,
     .argument = "X",
     .help = "Part of the training examples of each class that validates (default: 0.1)"},
    {.name = "split",
     .old_name = "division",
     .key = "read.division",
     .zero_if_absent = true,
     .type = SETTING_CHOICE,
     .commands = COMMAND_DATA | COMMAND_TRAIN | COMMAND_EVAL,
     .offset = READ(division),
     .choices = divisions,
     .group = data,
     .argument = "HOW",
     .help = "Validate at least one example of each class, and a series with its past (sound), or as the paper"},
    {.name = "folds",
     .key = "read.folds",
     .zero_if_absent = true,
     .type = SETTING_INT,
     .commands = COMMAND_DATA | COMMAND_TRAIN | COMMAND_EVAL,
     .offset = READ(folds),
     .low = 1,
     .high = 1 << 20,
     .overrides = "validation official",
     .group = data,
     .argument = "K",
     .help =
         "Deal the training examples of each class to K folds; `sparc train` trains K times, each validated by one"},
    {.name = "fold",
     .key = "read.fold",
     .zero_if_absent = true,
     .type = SETTING_INT,
     .commands = COMMAND_DATA | COMMAND_TRAIN | COMMAND_EVAL,
     .offset = READ(fold),
     .low = 1,
     .high = 1 << 20,
     .group = data,
     .argument = "I",
     .help = "With --folds: this one, from 1 to K, validates, and nothing else is trained"},
    {.name = "max-rows",
     .type = SETTING_LONG,
     .role = FREE,
     .commands = READERS,
     .offset = READ(max_rows),
     .low = 1,
     .high = INT32_MAX,
     .group = data,
     .argument = "N",
     .help = "Refuse a file with more rows (default: 20000000)"},
};

const settings_table read_settings = {read_rows, sizeof read_rows / sizeof *read_rows};
_Static_assert(sizeof read_rows / sizeof *read_rows <= MAX_READ_SETTINGS, "MAX_READ_SETTINGS is too small");

sparc_read_options resolve_read_options(const sparc_read_options *given) {
  sparc_read_options read = *given;
  if ((int)read.format < 0) read.format = SPARC_DATA_AUTO;
  if ((int)read.goal < 0) read.goal = SPARC_GOAL_CLASSIFY;
  if (read.validation < 0) read.validation = 0;
  if ((int)read.division < 0) read.division = SPARC_DIVISION_PAPER;
  if (read.label_column && strcmp(read.label_column, "none") == 0) read.unlabelled = 1;
  if (read.unlabelled) read.label_column = NULL;
  return read;
}

/* ---- with a model -------------------------------------------------------------------------------- */

size_t read_options_metadata(const sparc_read_options *read, sparc_metadata entries[MAX_READ_SETTINGS],
                             char buffer[MAX_READ_SETTINGS][SETTING_TEXT_SIZE]) {
  sparc_read_options copy = *read;
  const settings_binding binding = {.part = {{&read_settings, &copy}}};
  const setting *s;
  void *at;
  size_t count = 0;
  for (int i = 0; (s = settings_row(&binding, i, &at)); i++) {
    if (!s->key || !setting_is_set(s, at) || (s->zero_if_absent && setting_is_zero(s, at))) continue;
    entries[count] = (sparc_metadata){.key = s->key, .value = setting_print(s, at, buffer[count])};
    count++;
  }
  return count;
}

sparc_status read_options_inherit(const sparc_model *model, sparc_read_options *read) {
  const settings_binding binding = {.part = {{&read_settings, read}}};
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(&binding, i, &at)); i++) {
    const char *text = s->key && !setting_is_set(s, at) ? sparc_model_metadata(model, s->key) : NULL;
    char expected[96];
    if (text && !setting_parse(s, text, true, at))
      return fail(SPARC_FORMAT, "the model's metadata '%s' is '%.60s', expected %s", s->key, text,
                  setting_expected(s, true, expected, sizeof expected));
  }
  return SPARC_OK;
}
