/* SPDX-License-Identifier: MIT */
/* learn_run.c: runs over streams: from lines to steps and targets, and what they come to. The file of the learner is kept
 * by the engine that every run has (engine.h), which the caller feeds line by line. */
#include "run/learn_run.h"

#include "base/error.h"
#include "data/column_names.h"
#include "data/column_rules.h"
#include "io/json.h"
#include "io/settings_rows.h"
#include "online/learner.h"
#include "online/learner_settings.h"
#include "online/stream.h"
#include "run/cell_choice.h"
#include "run/engine.h"
#include "run/run_settings.h"
#include "train/train_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ------------------------------------------------------------------------------------- */

#define SETTING_STRUCT sparc_learn_run_config
static const setting learn_rows[] = {
    VARIANT_SETTING,
    STATE_SIZE_SETTING("128", NULL),
    {"target", NULL, TEXT(target), OVERRIDES("label")},
    {"label", NULL, TEXT(label), OVERRIDES("target")},
    {"classes", NULL, TEXT(classes)},
    {"id", NULL, TEXT(id)},
    {"time", NULL, TEXT(time)},
    {"ignore", NULL, TEXT(ignore)},
    {"by-position", NULL, FLAG(by_position), ROLE(UNRECORDED)},
    {"decimal", NULL, TEXT(decimal)},
    {"horizons", NULL, TEXT(horizons), OVERRIDES("horizon")},
    {"model", NULL, TEXT(model), ROLE(UNRECORDED)},
    {"save-every", NULL, LONG(save_every, 0, 1e15), ROLE(UNRECORDED), DEFAULT("0")},
    {"resume", NULL, FLAG(resume), ROLE(COMMAND_LINE), OVERRIDES("force resume-or-create")},
    {"resume-or-create", NULL, FLAG(resume_or_create), ROLE(COMMAND_LINE), OVERRIDES("force resume")},
    {"force", NULL, FLAG(force), ROLE(COMMAND_LINE), OVERRIDES("resume resume-or-create")},
    {"frozen", NULL, FLAG(frozen), ROLE(UNRECORDED)},
};
static const settings_table learn_settings = SETTINGS_TABLE(learn_rows);

static const char not_learned[] = "layers dropout"; /* a learner has one layer */

settings_binding learn_binding(sparc_learn_run_config *c) {
  uint64_t *given = c->given;
  return (settings_binding){
      .part = {{&network_settings, &c->learner.network, &given[0], "learner.network.", not_learned},
               {&learner_settings, &c->learner, &given[1], "learner."},
               {&learn_settings, c, &given[2]}}};
}

sparc_learn_run_config sparc_learn_run_defaults(void) {
  sparc_learn_run_config config = {.model = NULL};
  const settings_binding binding = learn_binding(&config);
  settings_clear(&binding);
  return config;
}

sparc_status sparc_learn_run_config_set(sparc_learn_run_config *config, const char *name, const char *value) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  const settings_binding binding = learn_binding(config);
  return settings_set(&binding, name, value);
}

sparc_status sparc_learn_run_config_mark(sparc_learn_run_config *config, const void *member) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  const settings_binding binding = learn_binding(config);
  return settings_mark_member(&binding, member);
}

/* ---- what it is ----------------------------------------------------------------------------------- */

typedef struct judgement {
  double loss, naive;
  int right;
} judgement;

/* over all targets of a horizon */
typedef struct horizon_sum {
  long targets, intervals, covered; /* of channels */
  double loss, persistence, seasonal_naive;
} horizon_sum;

struct sparc_learn_run {
  sparc_learn_run_config config; /* its strings are `texts` */
  settings_texts texts;
  run_engine engine;
  const char *line, *line_name; /* at hand, with its name; (line_size) bytes */
  size_t line_size;
  bool stepped; /* the line at hand has a prediction */
  sparc_learner *learner;
  stream_columns columns;
  bool skip_first;       /* the first line names columns */
  float *x, *target, *y; /* of a step */
  const char **outputs;  /* names; they live in `names` or in the columns */
  const char **channels; /* names of the inputs; they live in the columns */
  json_t *names;         /* of a file */
  char *roles;           /* of the columns as they were first learned from, which a file keeps */
  const char **column;   /* their names; NULL: none that can be kept */
  json_t *column_names;  /* of a file, which `column` then refers to */
  char warning[256];
  stream_texts previous, current; /* of the last line that was learned from, and of the line at hand */
  size_t text_room;               /* bytes of each */
  long *frequency;                /* (outputs) of classes */
  long truths, right;
  double loss, naive, last;
  long lasts; /* truths that had one before them */
  judgement recent[SPARC_LEARN_RUN_RECENT];
  int horizon[SPARC_HORIZONS_MOST], horizons; /* of a mixture */
  horizon_sum sum[SPARC_HORIZONS_MOST];
};

#define KEY_COLUMNS "stream.columns"
#define KEY_CLASSES "stream.classes"
#define KEY_OUTPUTS "stream.outputs"
#define KEY_DECIMAL "stream.decimal"
#define KEY_ID      "stream.id"
#define KEY_TIME    "stream.time"
#define KEY_NAMES   "stream.names"

/* ---- ids and times --------------------------------------------------------------------------------- */

static bool is_utf8(const char *text) { return span_is_utf8((span){text, strlen(text)}); }

/* whether the learner is written to a file, which holds UTF-8 only */
static bool is_saved(const sparc_learn_run *run) { return run->config.model && !run->config.frozen; }

/* makes room in a text; it stays as it is */
static bool enlarge(char **text, size_t from, size_t to) {
  char *larger = sparc_alloc(to);
  if (!larger) return false;
  if (*text) memcpy(larger, *text, from);
  sparc_free(*text);
  *text = larger;
  return true;
}

/* room for texts of size - 1 bytes */
static sparc_status reserve_texts(sparc_learn_run *run, size_t size) {
  if (size <= run->text_room) return SPARC_OK;
  const size_t room = size < 2 * run->text_room ? 2 * run->text_room : size;
  char **const all[] = {&run->previous.id, &run->previous.time, &run->current.id, &run->current.time};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!enlarge(all[i], run->text_room, room))
      return fail(SPARC_NO_MEMORY, "no memory for an id or a time of %zu bytes", size);
  run->text_room = room;
  return SPARC_OK;
}

static sparc_status check_text(const sparc_learn_run *run, const char *name, const char *what, const char *text) {
  if (!is_saved(run) || is_utf8(text)) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: the %s '%s' is not UTF-8 text, so the learner cannot be written to '%.200s'", name,
              what, span_quote((span){text, strlen(text)}).text, run->config.model);
}

static bool begins_sequence(const sparc_learn_run *run) { return strcmp(run->current.id, run->previous.id) != 0; }

/* whether the line at hand may follow the last one */
static sparc_status check_texts(const sparc_learn_run *run) {
  const char *name = run->line_name;
  sparc_status status = check_text(run, name, "id", run->current.id);
  if (status == SPARC_OK) status = check_text(run, name, "time", run->current.time);
  if (status != SPARC_OK || begins_sequence(run)) return status;
  return stream_check_order(&run->columns, name, run->previous.time, run->current.time);
}

static sparc_status check_classes(const sparc_learn_run *run) {
  for (size_t k = 0; is_saved(run) && k < run->columns.classes; k++)
    if (!is_utf8(run->columns.class_name[k]))
      return fail(SPARC_INVALID, "class %zu, '%s', is not UTF-8 text, so the learner cannot be written to '%.200s'",
                  k + 1, span_quote((span){run->columns.class_name[k], strlen(run->columns.class_name[k])}).text,
                  run->config.model);
  return SPARC_OK;
}

/* ---- a new learner -------------------------------------------------------------------------------- */

static sparc_status check_decimal(const char *decimal) {
  if (!decimal || strcmp(decimal, ".") == 0 || strcmp(decimal, ",") == 0) return SPARC_OK;
  return fail(SPARC_INVALID, "decimal is '%.20s', expected . or a comma", decimal);
}

static stream_options options_of(const sparc_learn_run_config *c) {
  return (stream_options){.target = c->target,
                          .label = c->label,
                          .classes = c->classes,
                          .id = c->id,
                          .time = c->time,
                          .ignore = c->ignore,
                          .decimal = c->decimal ? *c->decimal : '.'};
}

/* the horizons of a mixture from their text */
static sparc_status read_horizons(const char *text, sparc_learner_config *l) {
  span rest = {text, strlen(text)};
  int count = 0;
  for (bool more = true; more; count++) {
    const span number = span_trim(span_cut(&rest, ',', &more));
    int horizon;
    if (count == SPARC_HORIZONS_MOST || !parse_int(number, &horizon) || horizon < 1)
      return fail(SPARC_INVALID, "horizons is '%.80s', expected up to %d whole numbers from 1, commas between them",
                  text, SPARC_HORIZONS_MOST);
    *(count == 0 ? &l->horizon : &l->more_horizons[count - 1]) = horizon;
  }
  if (count > 1 && l->forecaster == SPARC_FORECAST_NETWORK)
    return fail(SPARC_INVALID, "horizons is '%.80s', but a network forecasts one: expected forecaster mixture", text);
  return SPARC_OK;
}

/* a mixture has a small network beside its other experts */
enum { MIXTURE_MODES = 16 };

static sparc_status settle(sparc_learn_run_config *c, const stream_columns *columns, char options[CELL_OPTIONS_SIZE]) {
  sparc_learner_config *l = &c->learner;
  const settings_binding binding = learn_binding(c);
  sparc_status status = settings_check(&binding, false);
  if (status != SPARC_OK) return status;
  const bool embeds = l->network.embedding != SPARC_EMBED_NONE;
  if (!embeds && l->network.width > 0)
    return fail(SPARC_INVALID, "width is %d, but there is no embedding that could have it", l->network.width);
  const bool sized = l->network.H > 0 || c->budget > 0;
  settings_fill_defaults(&binding, DEFAULT_DATA);
  l->goal = c->label ? SPARC_LEARN_CLASSES : c->target ? SPARC_LEARN_NUMBERS : SPARC_LEARN_FORECAST;
  if (c->horizons && l->goal != SPARC_LEARN_FORECAST)
    return fail(SPARC_INVALID, "horizons go with forecasts, not with target or label: expected horizon");
  if (c->horizons) status = read_horizons(c->horizons, l);
  if (status != SPARC_OK) return status;
  const bool mixture = l->goal == SPARC_LEARN_FORECAST && l->forecaster == SPARC_FORECAST_MIXTURE;
  if (!c->horizons && !settings_is_given(&binding, settings_find_member(&binding, &l->horizon)))
    l->horizon = l->goal == SPARC_LEARN_FORECAST;
  l->outputs = (int)(c->label ? columns->classes : c->target ? columns->targets : 0);
  sparc_network_config *n = &l->network;
  n->inputs = (int)columns->inputs;
  n->layers = 0;
  n->dropout = 0;
  n->features = SPARC_FEATURES_OUTPUT;
  n->init = SPARC_INIT_CLASSIFICATION;
  if (!embeds) {
    n->embedding = SPARC_EMBED_NONE;
    n->width = 0;
  }
  const cell_wish wish = {.kind = n->cell,
                          .options = n->cell_options,
                          .variant = c->variant,
                          .modes = n->H > 0            ? n->H
                                   : mixture && !sized ? MIXTURE_MODES
                                                       : 0,
                          .budget = c->budget};
  status = cell_settle(&wish, embeds ? n->width : n->inputs, &n->H, options);
  n->cell_options = options;
  return status;
}

static sparc_status make_learner(sparc_learn_run *run) {
  char options[CELL_OPTIONS_SIZE];
  sparc_learn_run_config settled = run->config;
  const sparc_status status = settle(&settled, &run->columns, options);
  return status == SPARC_OK ? sparc_learner_create(&settled.learner, &run->learner) : status;
}

/* ---- one that goes on ------------------------------------------------------------------------------ */

static sparc_status missing_key(const char *path, const char *key) {
  return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing or makes no sense: was it learned by this command?",
              path, key);
}

/* the names of outputs, as a JSON array of texts */
static sparc_status read_outputs(sparc_learn_run *run, const char *path, const char *text) {
  run->names = text ? json_loads(text, 0, NULL) : NULL;
  const size_t count = (size_t)sparc_learner_config_of(run->learner).outputs;
  if (!json_is_array(run->names) || json_array_size(run->names) != count) return missing_key(path, KEY_OUTPUTS);
  for (size_t i = 0; i < count; i++)
    if (!json_is_string(json_array_get(run->names, i))) return missing_key(path, KEY_OUTPUTS);
  return SPARC_OK;
}

/* whether there are as many columns of each role as the learner asks for */
static bool roles_fit(const char *roles, const sparc_learner_config *c) {
  size_t inputs = 0, targets = 0, labels = 0;
  for (const char *role = roles; *role; role++) {
    inputs += *role == 'i';
    targets += *role == 't';
    labels += *role == 'l';
  }
  return strspn(roles, STREAM_ROLES) == strlen(roles) && inputs == (size_t)c->network.inputs &&
         targets == (size_t)(c->goal == SPARC_LEARN_NUMBERS ? c->outputs : 0) &&
         (labels > 0) == (c->goal == SPARC_LEARN_CLASSES);
}

/* the classes of a stream are the outputs of its learner */
static bool classes_fit(const sparc_learn_run *run) {
  const stream_columns *c = &run->columns;
  if (sparc_learner_config_of(run->learner).goal != SPARC_LEARN_CLASSES) return c->classes == 0;
  if (json_array_size(run->names) != c->classes) return false;
  for (size_t k = 0; k < c->classes; k++)
    if (strcmp(json_string_value(json_array_get(run->names, k)), c->class_name[k]) != 0) return false;
  return true;
}

/* ---- the names of columns ---- */

/* whether columns can be found by their names: those that are left out may have any, or none */
static bool names_fit(const char *roles, const char *const *name) {
  const char **used = malloc((strlen(roles) + 1) * sizeof *used);
  sparc_columns all = {.channel = used};
  for (size_t i = 0; used && roles[i]; i++)
    if (roles[i] != '-') used[all.channels++] = name[i];
  const bool fit = used && column_names_check(&all, 0) == SPARC_OK;
  free(used);
  return fit;
}

/* remembers roles and, where they are fit for it, names of columns */
static sparc_status keep_columns(sparc_learn_run *run, const char *roles, const char *const *name) {
  const size_t count = strlen(roles);
  run->roles = strdup(roles);
  if (!run->roles) return fail(SPARC_NO_MEMORY, "no memory for %zu columns", count);
  if (!name || !names_fit(roles, name)) return SPARC_OK;
  run->column = malloc((count + 1) * sizeof *run->column);
  if (!run->column) return fail(SPARC_NO_MEMORY, "no memory for the names of %zu columns", count);
  memcpy(run->column, name, count * sizeof *name);
  return SPARC_OK;
}

/* the names that a file has, as a JSON array of texts; an older one has none */
static sparc_status read_names(sparc_learn_run *run, const sparc_tensors *file, const char *roles) {
  const char *path = run->config.model, *text = sparc_tensors_metadata_find(file, KEY_NAMES);
  const size_t count = strlen(roles);
  if (!text) return keep_columns(run, roles, NULL);
  run->column_names = json_loads(text, 0, NULL);
  if (!json_is_array(run->column_names) || json_array_size(run->column_names) != count)
    return missing_key(path, KEY_NAMES);
  const char **name = malloc((count + 1) * sizeof *name);
  if (!name) return fail(SPARC_NO_MEMORY, "no memory for the names of %zu columns", count);
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    name[i] = json_string_value(json_array_get(run->column_names, i));
    good = good && name[i];
  }
  const sparc_status status = good ? keep_columns(run, roles, name) : SPARC_OK;
  free(name);
  if (status != SPARC_OK) return status;
  return run->column ? SPARC_OK : missing_key(path, KEY_NAMES);
}

static void note_match(sparc_learn_run *run, const char *input) {
  const stream_columns *c = &run->columns;
  if (c->by_name || (!run->column && !c->named)) return;
  snprintf(run->warning, sizeof run->warning,
           run->column ? "%s has no header: its columns are taken in the order in which they were learned from"
                       : "the learner has no names of columns: those of %s are taken in their order",
           quote(input).text);
}

/* id and time of the last line that was learned from; an older file has no time */
static sparc_status recall_texts(sparc_learn_run *run, const sparc_tensors *file) {
  const char *id = sparc_tensors_metadata_find(file, KEY_ID), *time = sparc_tensors_metadata_find(file, KEY_TIME);
  const size_t ids = id ? strlen(id) + 1 : 1, times = time ? strlen(time) + 1 : 1;
  const sparc_status status = reserve_texts(run, ids > times ? ids : times);
  if (status == SPARC_OK && id) memcpy(run->previous.id, id, ids);
  if (status == SPARC_OK && time) memcpy(run->previous.time, time, times);
  return status;
}

static sparc_status read_stream(sparc_learn_run *run, const sparc_tensors *file, const char *line, size_t size,
                                const char *name) {
  const char *path = run->config.model;
  const char *roles = sparc_tensors_metadata_find(file, KEY_COLUMNS);
  const char *decimal = sparc_tensors_metadata_find(file, KEY_DECIMAL);
  const sparc_learner_config c = sparc_learner_config_of(run->learner);
  if (!roles || !roles_fit(roles, &c)) return missing_key(path, KEY_COLUMNS);
  if (!decimal || !*decimal || check_decimal(decimal) != SPARC_OK) return missing_key(path, KEY_DECIMAL);
  sparc_status status = read_outputs(run, path, sparc_tensors_metadata_find(file, KEY_OUTPUTS));
  if (status != SPARC_OK) return status;
  status = read_names(run, file, roles);
  if (status != SPARC_OK) return status;
  const stream_options options = {.decimal = *decimal, .classes = sparc_tensors_metadata_find(file, KEY_CLASSES)};
  const stream_known known = {roles, run->config.by_position ? NULL : run->column, run->config.frozen};
  status = stream_learn(&options, &known, line, size, name, &run->columns);
  if (status == SPARC_INVALID || (status == SPARC_OK && !classes_fit(run))) return missing_key(path, KEY_CLASSES);
  if (status != SPARC_OK) return status;
  if (!run->config.by_position) note_match(run, name);
  return recall_texts(run, file);
}

/* ---- settings that are given again ------------------------------------------------------------------ */

static sparc_status differs(const sparc_learn_run *run, const char *name, const char *now, const char *then) {
  return fail(SPARC_INVALID, "%s is '%.100s', but '%.100s' in '%.200s'; a learner that is resumed keeps its settings",
              name, now, then, run->config.model);
}

/* as people write it: 0.1, where that reads back as the same number */
static const char *print_value(const setting *s, const void *at, char room[SETTING_TEXT_SIZE]) {
  if (s->type != SETTING_REAL) return setting_print(s, at, room);
  const double value = *(const double *)at;
  snprintf(room, SETTING_TEXT_SIZE, "%.15g", value);
  return strtod(room, NULL) == value ? room : setting_print(s, at, room);
}

/* rows of the network and the learner; what stands for a cell is looked at as a whole, and a seed of 0 as not given */
static sparc_status compare_rows(sparc_learn_run *run, sparc_learner_config *then) {
  sparc_learner_config *now = &run->config.learner;
  uint64_t *given = run->config.given;
  const settings_binding here = {.part = {{&network_settings, &now->network, &given[0], .without = not_learned},
                                          {&learner_settings, now, &given[1]}}};
  const settings_binding there = {
      .part = {{&network_settings, &then->network, .without = not_learned}, {&learner_settings, then}}};
  const setting *s;
  void *at, *other;
  for (int i = 0; (s = settings_row(&here, i, &at)) && settings_row(&there, i, &other); i++) {
    char room[2][SETTING_TEXT_SIZE];
    if (s->role == STORED || !settings_is_given(&here, i) || strcmp(s->name, "cell-options") == 0) continue;
    if (s->type == SETTING_SEED && setting_is_zero(s, at)) continue;
    const char *mine = print_value(s, at, room[0]), *theirs = print_value(s, other, room[1]);
    if (strcmp(mine, theirs ? theirs : "") != 0) return differs(run, s->name, mine, theirs ? theirs : "");
  }
  return SPARC_OK;
}

static sparc_status compare_horizons(const sparc_learn_run *run, const sparc_learner_config *then) {
  const char *given = run->config.horizons;
  sparc_learner_config now = {.forecaster = then->forecaster};
  if (!given) return SPARC_OK;
  const sparc_status status = read_horizons(given, &now);
  if (status != SPARC_OK) return status;
  if (now.horizon == then->horizon && memcmp(now.more_horizons, then->more_horizons, sizeof now.more_horizons) == 0)
    return SPARC_OK;
  char text[128];
  size_t used = (size_t)snprintf(text, sizeof text, "%d", then->horizon);
  for (int j = 0; j < SPARC_HORIZONS_MOST - 1 && then->more_horizons[j] > 0; j++)
    used += (size_t)snprintf(text + used, sizeof text - used, ",%d", then->more_horizons[j]);
  return differs(run, "horizons", given, text);
}

/* what is given of the cell, on top of what it is, must change nothing */
static sparc_status compare_cell(const sparc_learn_run *run, const sparc_network_config *then) {
  const sparc_learn_run_config *c = &run->config;
  const char *given = c->learner.network.cell_options;
  char all[2 * CELL_OPTIONS_SIZE], settled[CELL_OPTIONS_SIZE], now[64], before[64] = "none";
  if (!given && !c->variant && c->budget < 1) return SPARC_OK;
  int modes = 0;
  snprintf(all, sizeof all, "%s,%s", then->cell_options, given ? given : "");
  const cell_wish wish = {.kind = then->cell,
                          .options = all,
                          .variant = c->variant,
                          .modes = c->budget < 1 ? then->H : 0,
                          .budget = c->budget,
                          .overrule = true};
  const sparc_status status = cell_settle(&wish, then->width > 0 ? then->width : then->inputs, &modes, settled);
  if (status != SPARC_OK) return status;
  snprintf(now, sizeof now, "%d modes", modes);
  if (c->budget >= 1) snprintf(before, sizeof before, "%d modes", then->H);
  if (modes != then->H) return differs(run, "budget", now, before);
  if (strcmp(settled, then->cell_options) == 0) return SPARC_OK;
  if (given) return differs(run, "cell-options", given, then->cell_options);
  (void)cell_variant(then->cell_options, before, sizeof before);
  return differs(run, "variant", c->variant, before);
}

/* the columns of a role, commas between them */
static void list_columns(const stream_columns *c, char role, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, "none");
  for (size_t i = 0; i < c->count && used < size; i++)
    if (c->role[i] == role) used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", c->name[i]);
}

/* whether lists with commas between their texts are the same, whatever blanks there are */
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

/* whether a column of this name was learned from, in this role or, role 0, in any */
static bool is_known(const sparc_learn_run *run, span text, char role) {
  for (size_t i = 0; run->column && run->roles[i]; i++)
    if (is_name(text, run->column[i]) && (!role || run->roles[i] == role)) return true;
  return false;
}

/* whether a setting names a column, by name or number */
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

/* Columns that are known and not needed may be named and absent, or there and unknown: what is left out, and targets of
 * a frozen learner. */
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

/* what the settings say of columns is what the learner has; `line` is the name of the first line */
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

static sparc_status restore(void *kind, long *done) {
  sparc_learn_run *run = kind;
  const char *line = run->line, *name = run->line_name;
  const size_t size = run->line_size;
  sparc_status status = sparc_learner_restore(run->config.model, &run->learner);
  if (status != SPARC_OK) return status;
  sparc_learner_config then = sparc_learner_config_of(run->learner);
  sparc_tensors *file;
  status = sparc_tensors_load(run->config.model, &file);
  if (status == SPARC_OK) status = read_stream(run, file, line, size, name);
  if (status == SPARC_OK) status = compare_rows(run, &then);
  if (status == SPARC_OK) status = compare_horizons(run, &then);
  if (status == SPARC_OK) status = compare_cell(run, &then.network);
  if (status == SPARC_OK) status = compare_columns(run, sparc_tensors_metadata_find(file, KEY_CLASSES), name);
  sparc_tensors_free(file);
  *done = sparc_learner_report_of(run->learner).steps;
  return status;
}

/* ---- life cycle ----------------------------------------------------------------------------------- */

/* what outputs are called: by the file, the classes, or the columns */
static void name_outputs(sparc_learn_run *run, int outputs) {
  const stream_columns *c = &run->columns;
  const char wanted = c->targets ? 't' : 'i';
  for (size_t i = 0, k = 0; k < (size_t)outputs; i++) {
    if (run->names)
      run->outputs[k++] = json_string_value(json_array_get(run->names, i));
    else if (c->classes)
      run->outputs[k++] = c->class_name[i];
    else if (c->role[i] == wanted)
      run->outputs[c->slot[i]] = c->name[i], k++;
  }
}

/* columns of several horizons are called wave+1, wave+6 */
static sparc_status name_forecasts(sparc_learn_run *run) {
  char name[300];
  if (run->horizons < 2 || run->names) return SPARC_OK;
  run->names = json_array();
  for (int j = 0; run->names && j < run->horizons; j++)
    for (size_t i = 0; i < run->columns.count; i++) {
      if (run->columns.role[i] != 'i') continue;
      snprintf(name, sizeof name, "%.250s+%d", run->columns.name[i], run->horizon[j]);
      json_array_append_new(run->names, json_text(name));
    }
  return json_array_size(run->names) == (size_t)sparc_learner_config_of(run->learner).outputs
             ? SPARC_OK
             : fail(SPARC_NO_MEMORY, "no memory for the names of outputs");
}

static void list_horizons(sparc_learn_run *run, const sparc_learner_config *c) {
  if (c->goal != SPARC_LEARN_FORECAST || c->forecaster != SPARC_FORECAST_MIXTURE) return;
  run->horizon[run->horizons++] = c->horizon;
  for (int j = 0; j < SPARC_HORIZONS_MOST - 1 && c->more_horizons[j] > 0; j++)
    run->horizon[run->horizons++] = c->more_horizons[j];
}

static sparc_status allocate(sparc_learn_run *run) {
  const sparc_learner_config c = sparc_learner_config_of(run->learner);
  const size_t outputs = (size_t)c.outputs;
  list_horizons(run, &c);
  run->x = sparc_alloc((size_t)c.network.inputs * sizeof *run->x);
  run->target = sparc_alloc(outputs * sizeof *run->target);
  run->y = sparc_alloc(outputs * sizeof *run->y);
  run->outputs = sparc_alloc((outputs + 1) * sizeof *run->outputs);
  run->frequency = sparc_alloc(outputs * sizeof *run->frequency);
  run->channels = sparc_alloc((size_t)c.network.inputs * sizeof *run->channels);
  if (!run->x || !run->target || !run->y || !run->outputs || !run->frequency || !run->channels)
    return fail(SPARC_NO_MEMORY, "no memory for a step of %zu outputs", outputs);
  for (size_t i = 0; i < run->columns.count; i++)
    if (run->columns.role[i] == 'i') run->channels[run->columns.slot[i]] = run->columns.name[i];
  const sparc_status status = name_forecasts(run);
  if (status == SPARC_OK) name_outputs(run, c.outputs);
  return status;
}

static sparc_status create(void *kind) {
  sparc_learn_run *run = kind;
  const stream_options options = options_of(&run->config);
  sparc_status status = stream_learn(&options, NULL, run->line, run->line_size, run->line_name, &run->columns);
  if (status == SPARC_OK) status = check_classes(run);
  const stream_columns *c = &run->columns;
  if (status == SPARC_OK) status = keep_columns(run, c->role, c->named ? (const char *const *)c->name : NULL);
  return status == SPARC_OK ? make_learner(run) : status;
}

static const run_ops streaming;

static sparc_status open_engine(sparc_learn_run *run) {
  sparc_learn_run_config *c = &run->config;
  const settings_binding binding = learn_binding(c);
  sparc_status status = settings_copy_texts(&binding, &run->texts);
  if (status == SPARC_OK) status = check_decimal(c->decimal);
  const run_place place = {.file = c->model,
                           .resume = c->resume,
                           .resume_or_create = c->resume_or_create,
                           .force = c->force,
                           .read_only = c->frozen != 0};
  if (status == SPARC_OK && place_resumes(&place) && !c->model)
    status = fail(SPARC_INVALID, "resume needs the file of a learner: expected model");
  return status == SPARC_OK ? engine_open(&run->engine, &streaming, run, &place) : status;
}

sparc_status sparc_learn_run_create(const sparc_learn_run_config *config, sparc_learn_run **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  sparc_learn_run *run = sparc_alloc(sizeof *run);
  if (!run) return fail(SPARC_NO_MEMORY, "no memory for a stream");
  run->config = *config;
  if (run->config.save_every < 0) run->config.save_every = 0;
  const sparc_status status = open_engine(run);
  if (status == SPARC_OK)
    *out = run;
  else
    sparc_learn_run_free(run);
  return status;
}

sparc_status sparc_learn_run_lock(sparc_learn_run *run) {
  return run ? engine_lock(&run->engine) : fail(SPARC_INVALID, "run is NULL");
}

static void set_line(sparc_learn_run *run, const char *line, size_t size, const char *name) {
  run->line = line;
  run->line_size = size;
  run->line_name = name;
}

sparc_status sparc_learn_run_begin(sparc_learn_run *run, const char *line, size_t size, const char *name) {
  if (!run || !line || !name) return fail(SPARC_INVALID, "%s is NULL", !run ? "run" : !line ? "line" : "name");
  if (run->engine.begun || run->engine.failed) return fail(SPARC_INVALID, "the run has begun before");
  set_line(run, line, size, name);
  run->engine.failed = true; /* unless all of this succeeds */
  sparc_status status = engine_begin(&run->engine);
  if (status == SPARC_OK) status = sparc_learner_freeze(run->learner, run->config.frozen);
  if (status == SPARC_OK) status = allocate(run);
  run->skip_first = run->columns.named;
  run->engine.failed = status != SPARC_OK;
  return status;
}

void sparc_learn_run_free(sparc_learn_run *run) {
  if (!run) return;
  engine_close(&run->engine);
  sparc_learner_free(run->learner);
  stream_free(&run->columns);
  void *memory[] = {run->x,          run->target,      run->y,           run->outputs,
                    run->channels,   run->frequency,   run->previous.id, run->previous.time,
                    run->current.id, run->current.time};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  json_decref(run->names);
  json_decref(run->column_names);
  free(run->roles);
  free(run->column);
  settings_texts_free(&run->texts);
  sparc_free(run);
}

static bool is_ready(const sparc_learn_run *run) { return run && run->engine.begun && !run->engine.failed; }

const sparc_learner *sparc_learn_run_learner(const sparc_learn_run *run) { return is_ready(run) ? run->learner : NULL; }
const char *const *sparc_learn_run_outputs(const sparc_learn_run *run) { return is_ready(run) ? run->outputs : NULL; }
const char *const *sparc_learn_run_channels(const sparc_learn_run *run) { return is_ready(run) ? run->channels : NULL; }

/* the name of the only column of a role; NULL: there is none */
static const char *column_of_role(const stream_columns *c, char role) {
  const char *at = strchr(c->role, role);
  return at ? c->name[at - c->role] : NULL;
}

learn_run_texts learn_run_texts_of(const sparc_learn_run *run) {
  learn_run_texts texts = {.id = NULL};
  if (!is_ready(run)) return texts;
  texts.id_name = column_of_role(&run->columns, '#');
  texts.time_name = column_of_role(&run->columns, '@');
  if (texts.id_name) texts.id = run->previous.id;
  if (texts.time_name) texts.time = run->previous.time;
  return texts;
}

const int *sparc_learn_run_horizons(const sparc_learn_run *run, int *count) {
  const int horizons = is_ready(run) ? run->horizons : 0;
  if (count) *count = horizons;
  return horizons > 0 ? run->horizon : NULL;
}

sparc_learn_run_result sparc_learn_run_result_of(const sparc_learn_run *run) {
  if (!run) return (sparc_learn_run_result){0};
  const run_engine *e = &run->engine;
  return (sparc_learn_run_result){.resumed = e->begun && e->continues,
                                  .unwritten = e->io_failed,
                                  .warning = run->warning[0] ? run->warning : NULL,
                                  .first = e->first,
                                  .done = e->done,
                                  .saved = e->saved};
}

/* ---- lines ---------------------------------------------------------------------------------------- */

static void count(sparc_learn_run *run, int label) {
  const sparc_learner_report r = sparc_learner_report_of(run->learner);
  if (!r.judged) return;
  run->recent[run->truths++ % SPARC_LEARN_RUN_RECENT] = (judgement){r.loss, r.naive, r.right};
  run->loss += r.loss;
  run->naive += r.naive;
  run->right += r.right;
  if (run->columns.targets > 0 && isfinite(r.last)) run->last += r.last, run->lasts++;
  if (label >= 0) run->frequency[label]++;
}

static void count_horizons(sparc_learn_run *run) {
  for (int j = 0; j < run->horizons; j++) {
    sparc_forecast_score score;
    horizon_sum *sum = &run->sum[j];
    if (sparc_learner_forecast_score(run->learner, j, &score) != SPARC_OK || score.channels == 0) continue;
    sum->targets += score.channels;
    sum->intervals += score.intervals;
    sum->covered += score.covered;
    sum->loss += score.channels * score.loss;
    sum->persistence += score.channels * score.persistence;
    sum->seasonal_naive += score.channels * score.seasonal_naive;
  }
}

/* a new id begins a sequence */
static void follow_id(sparc_learn_run *run) {
  if (begins_sequence(run)) sparc_learner_begin(run->learner);
  const stream_texts previous = run->previous;
  run->previous = run->current;
  run->current = previous;
}

static sparc_status take_step(sparc_learn_run *run, const stream_step *step) {
  const sparc_learner_config c = sparc_learner_config_of(run->learner);
  follow_id(run);
  sparc_status status = sparc_learner_step(run->learner, run->x, run->y);
  if (status != SPARC_OK) return status;
  count(run, -1);
  count_horizons(run);
  if (!step->known || sparc_learner_report_of(run->learner).steps <= c.horizon) return SPARC_OK;
  status = c.goal == SPARC_LEARN_CLASSES ? sparc_learner_learn_class(run->learner, step->label)
                                         : sparc_learner_learn(run->learner, run->target);
  if (status == SPARC_OK) count(run, step->label);
  return status;
}

static sparc_status advance(void *kind, long *done, bool *due) {
  sparc_learn_run *run = kind;
  stream_step step;
  sparc_status status = reserve_texts(run, run->line_size + 1);
  if (status == SPARC_OK)
    status = stream_read(&run->columns, run->line, run->line_size, run->line_name, run->x, run->target, &run->current,
                         &step);
  if (status == SPARC_OK) status = check_texts(run);
  if (status == SPARC_OK) status = take_step(run, &step);
  if (status != SPARC_OK) return status;
  run->stepped = true;
  *done = sparc_learner_report_of(run->learner).steps;
  *due = run->config.save_every > 0 && *done % run->config.save_every == 0;
  return SPARC_OK;
}

sparc_status sparc_learn_run_line(sparc_learn_run *run, const char *line, size_t size, const char *name,
                                  const float **prediction) {
  if (!run || !line || !name || !prediction)
    return fail(SPARC_INVALID, "%s is NULL", !run ? "run" : !line ? "line" : !name ? "name" : "prediction");
  *prediction = NULL;
  if (!is_ready(run)) return fail(SPARC_INVALID, "the run has not begun: expected sparc_learn_run_begin before");
  if (run->skip_first) {
    run->skip_first = false;
    return SPARC_OK;
  }
  set_line(run, line, size, name);
  run->stepped = false;
  const sparc_status status = engine_advance(&run->engine);
  if (run->stepped) *prediction = run->y;
  return status;
}

/* ---- the file ------------------------------------------------------------------------------------- */

static char *print_names(const char *const *name, size_t count) {
  json_t *names = json_array();
  for (size_t k = 0; names && k < count; k++) json_array_append_new(names, json_text(name[k]));
  char *text = names ? json_dumps(names, JSON_COMPACT) : NULL;
  json_decref(names);
  return text;
}

/* the columns as a model has them, which predicts from tables with the same names; lists live in `room` (2, columns) */
static sparc_columns columns_of(const sparc_learn_run *run, const char **room) {
  const size_t count = strlen(run->roles);
  const char **ignore = room + count;
  sparc_columns c = {.channel = room, .ignore = ignore, .steps = 1};
  for (size_t i = 0; i < count; i++) {
    const char role = run->roles[i], *name = run->column[i];
    if (role == 'i') room[c.channels++] = name;
    if (role == 'l') c.label = name;
    if (role == '#') c.id = name;
    if (role == '@') c.time = name;
    if ((role == '-' || role == 't') && column_name_valid(name)) ignore[c.ignored++] = name;
  }
  return c;
}

/* the classes as they were given, commas between them; "" without */
static char *print_classes(const stream_columns *c) {
  size_t size = 1;
  for (size_t k = 0; k < c->classes; k++) size += strlen(c->class_name[k]) + 1;
  char *text = sparc_alloc(size), *end = text;
  for (size_t k = 0; text && k < c->classes; k++) end += sprintf(end, "%s%s", k ? "," : "", c->class_name[k]);
  return text;
}

static sparc_status save(void *kind, const char *path) {
  const sparc_learn_run *run = kind;
  const stream_columns *c = &run->columns;
  const size_t columns = strlen(run->roles);
  char *outputs = print_names(run->outputs, (size_t)sparc_learner_config_of(run->learner).outputs);
  char *classes = print_classes(c), *names = run->column ? print_names(run->column, columns) : NULL;
  const char **room = malloc((2 * columns + 1) * sizeof *room);
  sparc_status status = SPARC_OK;
  if (!outputs || !classes || !room || (run->column && !names))
    status = fail(SPARC_NO_MEMORY, "no memory for the names of outputs");
  if (status == SPARC_OK) {
    const char decimal[2] = {c->decimal, '\0'};
    sparc_metadata all[7] = {{KEY_COLUMNS, run->roles},
                             {KEY_OUTPUTS, outputs},
                             {KEY_DECIMAL, decimal},
                             {KEY_ID, run->previous.id ? run->previous.id : ""}};
    size_t entries = 4;
    if (run->previous.time && *run->previous.time) all[entries++] = (sparc_metadata){KEY_TIME, run->previous.time};
    if (c->classes) all[entries++] = (sparc_metadata){KEY_CLASSES, classes};
    if (names) all[entries++] = (sparc_metadata){KEY_NAMES, names};
    const sparc_columns known = names ? columns_of(run, room) : (sparc_columns){.steps = 1};
    status = learner_save(run->learner, c->classes ? (const char *const *)c->class_name : NULL, names ? &known : NULL,
                          all, entries, path);
  }
  free(outputs);
  free(names);
  free(room);
  sparc_free(classes);
  return status;
}

static const run_ops streaming = {.create = create, .restore = restore, .advance = advance, .save = save};

sparc_status sparc_learn_run_save(sparc_learn_run *run) {
  if (!run) return fail(SPARC_INVALID, "run is NULL");
  return is_ready(run) ? engine_save(&run->engine) : SPARC_OK;
}

/* ---- how good it is --------------------------------------------------------------------------------- */

static double share_of_most_frequent(const sparc_learn_run *run) {
  long most = 0;
  for (int k = 0; k < sparc_learner_config_of(run->learner).outputs; k++)
    if (run->frequency[k] > most) most = run->frequency[k];
  return (double)most / (double)run->truths;
}

sparc_learn_run_horizon_score sparc_learn_run_horizon_score_of(const sparc_learn_run *run, int horizon) {
  if (!is_ready(run) || horizon < 0 || horizon >= run->horizons)
    return (sparc_learn_run_horizon_score){0, 0, NAN, NAN, NAN, NAN};
  const horizon_sum *sum = &run->sum[horizon];
  const double n = (double)sum->targets;
  return (sparc_learn_run_horizon_score){.targets = sum->targets,
                                         .intervals = sum->intervals,
                                         .loss = sum->loss / n,
                                         .persistence = sum->persistence / n,
                                         .seasonal_naive = sum->seasonal_naive / n,
                                         .covered = (double)sum->covered / (double)sum->intervals};
}

sparc_learn_run_score sparc_learn_run_score_of(const sparc_learn_run *run) {
  sparc_learn_run_score s = {0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  if (!is_ready(run) || run->truths == 0) return s;
  s.targets = run->truths;
  const double n = (double)run->truths;
  const long held = run->truths < SPARC_LEARN_RUN_RECENT ? run->truths : SPARC_LEARN_RUN_RECENT;
  judgement sum = {0, 0, 0};
  for (long i = 0; i < held; i++) {
    sum.loss += run->recent[i].loss;
    sum.naive += run->recent[i].naive;
    sum.right += run->recent[i].right;
  }
  const bool classes = sparc_learner_config_of(run->learner).goal == SPARC_LEARN_CLASSES;
  s.loss = run->loss / n;
  s.baseline = classes ? share_of_most_frequent(run) : run->naive / n;
  s.accuracy = (double)run->right / n;
  s.recent_loss = sum.loss / (double)held;
  s.recent_baseline = sum.naive / (double)held;
  s.recent_accuracy = sum.right / (double)held;
  if (run->lasts > 0) s.last_target = run->last / (double)run->lasts;
  return s;
}
