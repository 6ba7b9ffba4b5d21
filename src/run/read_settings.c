/* SPDX-License-Identifier: MIT */
/* read_settings.c: the table of data reading. Rows with a key are stored with a model, so that `sparc predict` reads
 * files like `sparc train` did. */
#include "run/read_settings.h"

#include "base/error.h"
#include "io/settings_rows.h"

#include <string.h>

/* in the order of sparc_data_format */
static const char *const formats[] = {"auto", "ucr", "ts", "csv", "npy", "idx", "cifar", "npz", NULL};

/* in the order of sparc_objective */
static const char *const objectives[] = {"classify", "regress", "forecast", NULL};

/* in the order of sparc_data_division */
static const char *const divisions[] = {"paper", "sound", "whole", NULL};

#define SETTING_STRUCT sparc_read_options
static const setting read_rows[] = {
    {"objective", "read.task", CHOICE(objective, objectives), OLD("task")},
    {"horizon", "read.horizon", INT(horizon, 1, 1 << 20)},
    {"context", NULL, INT(context, 1, 1 << 24)},
    {"format", NULL, CHOICE(format, formats)},
    {"labels", NULL, TEXT(labels_path)},
    {"x", "read.x", TEXT(series_array)},
    {"y", "read.y", TEXT(labels_array)},
    {"unlabelled", NULL, FLAG(unlabelled), ROLE(UNRECORDED)},
    {"label", "read.label", TEXT(label_column)},
    {"ignore", "read.ignore", TEXT(ignore_columns)},
    {"id", "read.id", TEXT(id_column)},
    {"time", "read.time", TEXT(time_column)},
    {"channels", "read.channels", INT(channels, 1, 1 << 16)},
    {"decimal", "read.decimal", TEXT(decimal)},
    {"validation", "read.validation", REAL(validation, 0.01, 0.9), OVERRIDES("official")},
    {"split", "read.division", CHOICE(division, divisions), OLD("division"), ZERO_IF_ABSENT},
    {"folds", "read.folds", INT(folds, 1, 1 << 20), OVERRIDES("validation official"), ZERO_IF_ABSENT},
    {"fold", "read.fold", INT(fold, 1, 1 << 20), ZERO_IF_ABSENT},
    {"max-rows", NULL, LONG(max_rows, 1, INT32_MAX), ROLE(FREE)},
};

const settings_table read_settings = SETTINGS_TABLE(read_rows);
_Static_assert(sizeof read_rows / sizeof *read_rows <= MAX_READ_SETTINGS, "MAX_READ_SETTINGS is too small");

sparc_data_division division_named(const char *name) {
  int i = 0;
  while (name && divisions[i] && strcmp(divisions[i], name) != 0) i++;
  return name && divisions[i] ? (sparc_data_division)i : SPARC_DIVISION_PAPER;
}

sparc_read_options resolve_read_options(const sparc_read_options *given) {
  sparc_read_options read = *given;
  if (read.label_column && strcmp(read.label_column, "none") == 0) read.unlabelled = 1;
  if (read.unlabelled) read.label_column = NULL;
  return read;
}

/* ---- with a model -------------------------------------------------------------------------------- */

size_t read_options_metadata(const sparc_read_options *read, uint64_t given, sparc_metadata entries[MAX_READ_SETTINGS],
                             char buffer[MAX_READ_SETTINGS][SETTING_TEXT_SIZE]) {
  sparc_read_options copy = *read;
  const settings_binding binding = {.part = {{.table = &read_settings, .at = &copy, .given = &given}}};
  const setting *s;
  void *at;
  size_t count = 0;
  for (int i = 0; (s = settings_row(&binding, i, &at)); i++) {
    if (!s->key || !settings_is_given(&binding, i) || (s->zero_if_absent && setting_is_zero(s, at))) continue;
    entries[count] = (sparc_metadata){.key = s->key, .value = setting_print(s, at, buffer[count])};
    count++;
  }
  return count;
}

sparc_status read_options_inherit(const sparc_model *model, sparc_read_options *read, uint64_t *given) {
  const settings_binding binding = {.part = {{.table = &read_settings, .at = read, .given = given}}};
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(&binding, i, &at)); i++) {
    const char *text = s->key && !settings_is_given(&binding, i) ? sparc_model_metadata(model, s->key) : NULL;
    char expected[96];
    if (text && !setting_parse(s, text, true, at))
      return fail(SPARC_FORMAT, "the model's metadata '%s' is '%.60s', expected %s", s->key, text,
                  setting_expected(s, true, expected, sizeof expected));
  }
  return SPARC_OK;
}
