/* SPDX-License-Identifier: MIT */
/* learn_run_match.c: given settings must match those of a continued learner. */
#include "base/error.h"
#include "data/column_rules.h"
#include "data/text.h"
#include "online/learner_settings.h"
#include "run/cell_choice.h"
#include "run/learn_run_state.h"
#include "train/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sparc_status differs(const sparc_learn_run *run, const char *name, const char *now, const char *then) {
  return fail(SPARC_INVALID, "%s is '%.100s', but '%.100s' in '%.200s'; a learner that is resumed keeps its settings",
              name, now, then, run->config.model);
}

/* the shortest decimal form, such as 0.1, if it reads back as the same number */
static const char *print_value(const setting *s, const void *at, char buffer[SETTING_TEXT_SIZE]) {
  if (s->type != SETTING_REAL) return setting_print(s, at, buffer);
  const double value = *(const double *)at;
  snprintf(buffer, SETTING_TEXT_SIZE, "%.15g", value);
  return strtod(buffer, NULL) == value ? buffer : setting_print(s, at, buffer);
}

/* settings of the network and the learner; compare_cell compares cell options; a seed of 0 counts as not given */
static sparc_status compare_rows(sparc_learn_run *run, sparc_learner_config *then) {
  sparc_learner_config *now = &run->config.learner;
  uint64_t *given = run->config.given;
  const settings_binding here = {
      .part = {
          {.table = &network_settings, .at = &now->network, .given = &given[0], .without = learn_run_unused_settings},
          {.table = &learner_settings, .at = now, .given = &given[1]}}};
  const settings_binding there = {
      .part = {{.table = &network_settings, .at = &then->network, .without = learn_run_unused_settings},
               {.table = &learner_settings, .at = then}}};
  const setting *s;
  void *at, *other;
  for (int i = 0; (s = settings_row(&here, i, &at)) && settings_row(&there, i, &other); i++) {
    char buffer[2][SETTING_TEXT_SIZE];
    if (s->role == STORED || !settings_is_given(&here, i) || strcmp(s->name, "cell-options") == 0) continue;
    if (s->type == SETTING_SEED && setting_is_zero(s, at)) continue;
    const char *mine = print_value(s, at, buffer[0]), *theirs = print_value(s, other, buffer[1]);
    if (strcmp(mine, theirs ? theirs : "") != 0) return differs(run, s->name, mine, theirs ? theirs : "");
  }
  return SPARC_OK;
}

static sparc_status compare_horizons(const sparc_learn_run *run, const sparc_learner_config *then) {
  const char *given = run->config.horizons;
  sparc_learner_config now = {.forecaster = then->forecaster};
  if (!given) return SPARC_OK;
  const sparc_status status = learn_run_read_horizons(given, &now);
  if (status != SPARC_OK) return status;
  if (now.horizon == then->horizon && memcmp(now.more_horizons, then->more_horizons, sizeof now.more_horizons) == 0)
    return SPARC_OK;
  char text[128];
  size_t used = (size_t)snprintf(text, sizeof text, "%d", then->horizon);
  for (int j = 0; j < SPARC_MAX_HORIZONS - 1 && then->more_horizons[j] > 0; j++)
    used += (size_t)snprintf(text + used, sizeof text - used, ",%d", then->more_horizons[j]);
  return differs(run, "horizons", given, text);
}

/* given options, applied to the cell of the file, must not change it */
static sparc_status compare_cell(const sparc_learn_run *run, const sparc_network_config *then) {
  const sparc_learn_run_config *c = &run->config;
  const char *given = c->learner.network.cell_options;
  char all[2 * CELL_OPTIONS_SIZE], resolved[CELL_OPTIONS_SIZE], now[64], before[64] = "none";
  if (!given && !c->variant && c->state_size < 1) return SPARC_OK;
  int modes = 0;
  snprintf(all, sizeof all, "%s,%s", then->cell_options, given ? given : "");
  const cell_request request = {.kind = then->cell,
                                .options = all,
                                .variant = c->variant,
                                .modes = c->state_size < 1 ? then->H : 0,
                                .state_size = c->state_size,
                                .overrule = true};
  const sparc_status status = cell_resolve(&request, then->width > 0 ? then->width : then->inputs, &modes, resolved);
  if (status != SPARC_OK) return status;
  snprintf(now, sizeof now, "%d modes", modes);
  if (c->state_size >= 1) snprintf(before, sizeof before, "%d modes", then->H);
  if (modes != then->H) return differs(run, "state-size", now, before);
  if (strcmp(resolved, then->cell_options) == 0) return SPARC_OK;
  if (given) return differs(run, "cell-options", given, then->cell_options);
  (void)cell_variant(then->cell_options, before, sizeof before);
  return differs(run, "variant", c->variant, before);
}

/* comma-separated columns of a role */
static void list_columns(const stream_columns *c, char role, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, "none");
  for (size_t i = 0; i < c->count && used < size; i++)
    if (c->role[i] == role) used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", c->name[i]);
}

/* whether comma-separated lists are equal, ignoring blanks */
static bool same_list(const char *a, const char *b) {
  span left = {a, strlen(a)}, right = {b, strlen(b)};
  bool more = true, others = true, same = true;
  while (same && more) {
    const span x = span_trim(span_cut(&left, ',', &more)), y = span_trim(span_cut(&right, ',', &others));
    same = span_compare(x, y) == 0 && more == others;
  }
  return same;
}

static bool is_name(span text, const char *name) { return span_compare(text, (span){name, strlen(name)}) == 0; }

/* whether the file has a column of this name, in this role or, for role 0, in any */
static bool is_known(const sparc_learn_run *run, span text, char role) {
  for (size_t i = 0; run->column && run->roles[i]; i++)
    if (is_name(text, run->column[i]) && (!role || run->roles[i] == role)) return true;
  return false;
}

/* whether a list has a column, by name or number */
static bool is_listed(const char *list, const stream_columns *c, size_t column) {
  span rest = {list, strlen(list)};
  for (bool more = true; more;) {
    const span text = span_trim(span_cut(&rest, ',', &more));
    int number;
    if (is_name(text, c->name[column]) || (parse_int(text, &number) && (size_t)number == column + 1)) return true;
  }
  return false;
}

typedef struct role_setting {
  const char *name, *list;
  char role;
} role_setting;

/* Ignored columns, and targets of a frozen learner, may be listed and absent, or present and unknown. */
static sparc_status compare_role(const sparc_learn_run *run, const role_setting *given, const char *line) {
  const stream_columns *then = &run->columns;
  span rest = {given->list, strlen(given->list)};
  bool same = true;
  for (bool more = true; more;) {
    const span text = span_trim(span_cut(&rest, ',', &more));
    bool there = false;
    for (size_t i = 0; i < then->count; i++) {
      int number;
      if (!is_name(text, then->name[i]) && !(parse_int(text, &number) && (size_t)number == i + 1)) continue;
      there = true;
      same = same && then->role[i] == given->role;
    }
    if (!there && !is_known(run, text, 0))
      return fail(SPARC_INVALID, "%s: there is no column '%s', expected a name in it or a number from 1 to %zu", line,
                  span_quote(text).text, then->count);
    same = same && (there || is_known(run, text, given->role));
  }
  for (size_t i = 0; i < then->count; i++) {
    const span name = {then->name[i], strlen(then->name[i])};
    if (then->role[i] != given->role || (run->column && !is_known(run, name, 0)) || !name.size) continue;
    same = same && is_listed(given->list, then, i);
  }
  if (same) return SPARC_OK;
  char text[200];
  list_columns(then, given->role, text, sizeof text);
  return differs(run, given->name, given->list, text);
}

/* given columns must match those of the learner; `line` is the name of the first line */
static sparc_status compare_columns(const sparc_learn_run *run, const char *classes, const char *line) {
  const sparc_learn_run_config *c = &run->config;
  const role_setting rows[] = {{"target", c->target, 't'},
                               {"label", c->label, 'l'},
                               {"id", c->id, '#'},
                               {"time", column_time_name(c->time), '@'},
                               {"ignore", c->ignore, '-'}};
  const char then[2] = {run->columns.decimal, '\0'};
  if (c->decimal && strcmp(c->decimal, then) != 0) return differs(run, "decimal", c->decimal, then);
  if (c->classes && !(classes && same_list(c->classes, classes)))
    return differs(run, "classes", c->classes, classes ? classes : "none");
  if (c->time && !rows[3].list && strchr(run->roles, '@')) return differs(run, "time", c->time, "a column");
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < sizeof rows / sizeof *rows && status == SPARC_OK; i++)
    if (rows[i].list) status = compare_role(run, &rows[i], line);
  return status;
}

sparc_status learn_run_match(sparc_learn_run *run, const char *classes) {
  sparc_learner_config then = *sparc_learner_info_of(run->learner).config;
  sparc_status status = compare_rows(run, &then);
  if (status == SPARC_OK) status = compare_horizons(run, &then);
  if (status == SPARC_OK) status = compare_cell(run, &then.network);
  return status == SPARC_OK ? compare_columns(run, classes, run->line_name) : status;
}
