/* SPDX-License-Identifier: MIT */
/* run_settings.c: the table of a training run, and the paper's settings for what is not given. */
#include "run/run_settings.h"

#include "base/error.h"
#include "io/settings_rows.h"
#include "run/read_settings.h"
#include "train/train_settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the table ----------------------------------------------------------------------------------- */

/* in the order of sparc_run_recipe, and of sparc_head_input as far as a head of classes goes */
static const char *const recipes[] = {"auto", "paper", "small", "sized", NULL};
static const char *const heads[] = {"mean", "last", NULL};

#define SETTING_STRUCT sparc_run_config
static const setting run_rows[] = {
    {"data", NULL, TEXT(data), ROLE(SUBJECT)},
    VARIANT_SETTING,
    STATE_SIZE_SETTING(state_size, "128", TASK_SPECIFIC),
    {"head", NULL, CHOICE(head, heads)},
    {"from", NULL, TEXT(from)},
    {"epochs", NULL, LONG(epochs, 1, INT32_MAX), ROLE(SHORTHAND), OVERRIDES("updates")},
    {"validate-every", NULL, LONG(validate_every, 1, INT32_MAX)},
    {"patience", NULL, INT(patience, 1, INT32_MAX)},
    {"recipe", NULL, CHOICE(recipe, recipes), CHOICE_IF_ABSENT(SPARC_RECIPE_PAPER)},
    {"time-budget", NULL, REAL(time_budget, 1, 1e9), ROLE(UNRECORDED)},
    {"official", NULL, FLAG(official), OVERRIDES("validation")},
    THREADS_SETTING(train.threads),
    ROOT_SETTING,
    FOLDER_SETTING,
    RESUME_SETTING,
    RESUME_OR_CREATE_SETTING,
    FORCE_SETTING,
};

const settings_table run_settings = SETTINGS_TABLE(run_rows);

settings_binding run_binding(sparc_run_config *config) {
  uint64_t *given = config->given;
  return (settings_binding){
      .part = {
          {.table = &network_settings, .at = &config->train.network, .given = &given[0], .prefix = "train.network."},
          {.table = &training_settings, .at = &config->train, .given = &given[1], .prefix = "train."},
          {.table = &run_settings, .at = config, .given = &given[2]},
          {.table = &read_settings,
           .at = &config->read,
           .given = &given[3],
           .prefix = "read.",
           .without = "unlabelled"}}};
}

sparc_status sparc_run_config_set(sparc_run_config *config, const char *name, const char *value) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  const settings_binding binding = run_binding(config);
  return settings_set(&binding, name, value);
}

void run_mark(sparc_run_config *config, const void *member) {
  const settings_binding binding = run_binding(config);
  settings_mark(&binding, settings_find_member(&binding, member));
}

bool run_is_given(const sparc_run_config *config, const void *member) {
  const settings_binding binding = run_binding((sparc_run_config *)config);
  return settings_is_given(&binding, settings_find_member(&binding, member));
}

const char *recipe_name(sparc_run_recipe recipe) { return recipes[recipe]; }

sparc_run_recipe recipe_named(const char *name) {
  int i = 0;
  while (name && recipes[i] && strcmp(recipes[i], name) != 0) i++;
  return name && recipes[i] ? (sparc_run_recipe)i : SPARC_RECIPE_PAPER;
}

/* ---- settings that are not given ----------------------------------------------------------------- */

static bool is_listed(const char *const *names, const char *name) {
  while (*names && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

/* whether a setting of the network or its training is given, which implies training by gradients */
static bool requests_gradients(const sparc_run_config *config) {
  static const char *const neutral[] = {"seed", "readout", NULL};
  static const char *const of_run[] = {"variant",        "state-size", "head",        "from", "epochs",
                                       "validate-every", "patience",   "time-budget", NULL};
  sparc_run_config c = *config;
  const settings_binding tables[] = {
      {.part = {{.table = &network_settings, .at = &c.train.network, .given = &c.given[0]},
                {.table = &training_settings, .at = &c.train, .given = &c.given[1]}}},
      {.part = {{.table = &run_settings, .at = &c, .given = &c.given[2]}}},
  };
  const setting *s;
  for (int k = 0; k < 2; k++)
    for (int i = 0; (s = settings_row(&tables[k], i, NULL)) != NULL; i++)
      if (s->role != STORED && (k ? is_listed(of_run, s->name) : !is_listed(neutral, s->name)) &&
          settings_is_given(&tables[k], i))
        return true;
  return false;
}

/* from docs/small-sets.md: noise of a tenth of the standard deviation of a channel */
static const double small_jitter = 0.1;

static bool has_classes(const run_data *d) { return !d->task && d->preprocessing.classes > 0; }

bool run_may_use_ridge(const sparc_run_config *c) {
  if (run_is_given(c, &c->train.readout)) return c->train.readout == SPARC_READOUT_RIDGE;
  const bool other = run_is_given(c, &c->recipe) && c->recipe != SPARC_RECIPE_AUTO && c->recipe != SPARC_RECIPE_SMALL;
  return !other && !requests_gradients(c);
}

/* docs/accuracy.md: with few examples a closed form is more accurate than gradients */
static bool prefers_ridge(const sparc_run_config *c, const run_data *d) {
  return has_classes(d) && d->fit.count + d->validation.count <= SPARC_RIDGE_ROWS &&
         !run_is_given(c, &c->train.readout) && run_may_use_ridge(c);
}

static sparc_status resolve_recipe(sparc_run_config *c, const run_data *d) {
  const bool ridge = prefers_ridge(c, d), few = has_classes(d) && d->fit.count <= SPARC_SMALL_ROWS;
  if (!run_is_given(c, &c->recipe) || c->recipe == SPARC_RECIPE_AUTO)
    c->recipe = d->task ? SPARC_RECIPE_PAPER : ridge || few ? SPARC_RECIPE_SMALL : SPARC_RECIPE_SIZED;
  run_mark(c, &c->recipe);
  if (c->recipe == SPARC_RECIPE_SIZED && d->task) return fail(SPARC_INVALID, "recipe is sized, which is for data sets");
  if (c->recipe != SPARC_RECIPE_SMALL) return SPARC_OK;
  if (!has_classes(d)) return fail(SPARC_INVALID, "recipe is small, which is for classes of a data set");
  if (ridge) c->train.readout = SPARC_READOUT_RIDGE;
  if (!run_is_given(c, &c->train.jitter) && c->train.readout != SPARC_READOUT_RIDGE) c->train.jitter = small_jitter;
  return SPARC_OK;
}

/* a closed form takes one update and ignores settings of gradient descent */
#define TEXT_OF(number)   #number
#define OPTION_OF(number) TEXT_OF(number)
static const sparc_layer_config bank_layer = {
    "bank", "modes=" OPTION_OF(SPARC_BANK_MODES) ",thresholds=" OPTION_OF(SPARC_BANK_THRESHOLDS) ",windows=1"};
enum { BANK_BATCH = 8 }; /* features of every step of a batch are in memory */

static sparc_status resolve_readout(sparc_run_config *c, const run_data *d) {
  sparc_network_config *n = &c->train.network;
  if (c->train.readout != SPARC_READOUT_RIDGE) return SPARC_OK;
  if (!has_classes(d)) return fail(SPARC_INVALID, "readout is ridge, which is for classes of a data set");
  if (c->from) return fail(SPARC_INVALID, "readout is ridge, which draws its filters and takes no initial weights");
  if (c->train.updates > 1 || c->epochs > 0 || n->layers > 1 || n->embedding != SPARC_EMBED_NONE)
    return fail(SPARC_INVALID, "readout is ridge, which has one layer, no embedding and one update");
  c->train.updates = 1;
  if (c->train.batch < 1) c->train.batch = BANK_BATCH;
  run_mark(c, &n->embedding);
  n->layers = 1;
  n->layer = &bank_layer;
  return SPARC_OK;
}

/* A length by the number of examples, and an end without progress on validation; batch is resolved before. */
static void resolve_length(sparc_run_config *c, const run_data *d) {
  if (c->recipe == SPARC_RECIPE_PAPER || c->train.updates > 0 || c->epochs > 0) return;
  const double updates = ceil((double)SPARC_SIZED_EPOCHS * d->fit.count / c->train.batch);
  const long most = sparc_train_defaults(NULL).updates;
  c->train.updates = updates < SPARC_SIZED_MIN_UPDATES ? SPARC_SIZED_MIN_UPDATES
                     : updates > (double)most          ? most
                                                       : (long)updates;
  if (c->validate_every == 0) c->validate_every = c->train.updates / 20;
  if (c->patience < 1 && d->validation.count > 0) c->patience = SPARC_SIZED_PATIENCE;
}

static sparc_status resolve_epochs(sparc_run_config *c, const run_data *d) {
  const double rows = (double)d->fit.count;
  if (c->epochs < 1) return SPARC_OK;
  const double updates = ceil((double)c->epochs * rows / (double)c->train.batch);
  if (updates > INT32_MAX)
    return fail(SPARC_INVALID, "epochs is %ld, which are %.0f updates, expected at most %d", c->epochs, updates,
                INT32_MAX);
  c->train.updates = (long)updates;
  return SPARC_OK;
}

static void resolve_batch(sparc_train_config *t, const sparc_task *task) {
  if (t->batch < 1) t->batch = sparc_train_defaults(task).batch;
}

static void resolve_training(sparc_run_config *c, const sparc_task *task) {
  sparc_train_config *t = &c->train;
  sparc_train_config defaults = sparc_train_defaults(task);
  const settings_binding given = {.part = {{.table = &training_settings, .at = t, .given = &c->given[1]}}},
                         paper = {.part = {{.table = &training_settings, .at = &defaults}}};
  const bool own_minimum = run_is_given(c, &t->min_learning_rate), own_warmup = run_is_given(c, &t->warmup);
  /* a generated task has a constant learning rate unless a schedule is requested */
  t->cosine = defaults.cosine || own_minimum || own_warmup;
  settings_inherit(&given, &paper);
  if (!own_warmup) t->warmup = t->cosine ? t->updates / 10 : 0;
  /* a learning rate below the minimum of the paper */
  if (!own_minimum && t->min_learning_rate > t->learning_rate) t->min_learning_rate = t->learning_rate;
}

static sparc_embedding default_embedding(const sparc_network_config *n) {
  return n->layers ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE;
}

sparc_head_input default_head(const run_data *d) {
  if (!d->task) return d->target_steps ? SPARC_HEAD_STEPS : SPARC_HEAD_MEAN;
  return d->task->target_kind == SPARC_TARGET_CLASS ? SPARC_HEAD_LAST : SPARC_HEAD_STEPS;
}

static sparc_status check_run(const sparc_run_config *c, const run_data *d) {
  if (run_is_given(c, &c->head) && default_head(d) == SPARC_HEAD_STEPS)
    return fail(SPARC_INVALID, "head is %s, but there is a target for every step", heads[c->head]);
  if (c->patience > 0 && d->validation.count == 0)
    return fail(SPARC_INVALID, "patience is %d, but there is no validation part", c->patience);
  return SPARC_OK;
}

static void resolve_network(sparc_run_config *c, const run_data *d, sparc_head_config *head) {
  sparc_network_config *n = &c->train.network;
  const sparc_task *task = d->task;
  *head = (sparc_head_config){.input = run_is_given(c, &c->head) ? (sparc_head_input)c->head : default_head(d),
                              .outputs = d->outputs};
  n->head = head;
  n->heads = 1;
  n->inputs = d->channels;
  if (!run_is_given(c, &n->embedding)) n->embedding = default_embedding(n);
  n->features = task && n->layers == 0 && task->training.relu ? SPARC_FEATURES_RELU : SPARC_FEATURES_OUTPUT;
  n->init = task ? task->training.init : SPARC_INIT_CLASSIFICATION;
}

static cell_request cell_request_of(const sparc_run_config *c) {
  const sparc_network_config *n = &c->train.network;
  return (cell_request){.kind = n->cell ? n->cell : "sparc",
                        .options = n->cell_options,
                        .variant = c->variant,
                        .modes = n->H,
                        .state_size = c->state_size,
                        .overrule = c->resume};
}

static sparc_status resolve_cell(sparc_run_config *c, char options[CELL_OPTIONS_SIZE]) {
  sparc_network_config *n = &c->train.network;
  const cell_request request = cell_request_of(c);
  const sparc_status status =
      cell_resolve(&request, n->embedding == SPARC_EMBED_NONE ? n->inputs : n->width, &n->H, options);
  n->cell_options = options;
  return status;
}

sparc_status run_resolve(sparc_run_config *c, const run_data *d, char options[CELL_OPTIONS_SIZE],
                         sparc_head_config *head) {
  const settings_binding binding = run_binding(c);
  sparc_status status = settings_check(&binding, false);
  if (status == SPARC_OK) status = check_run(c, d);
  if (status == SPARC_OK) status = resolve_recipe(c, d);
  if (status == SPARC_OK) status = resolve_readout(c, d);
  resolve_batch(&c->train, d->task);
  if (status == SPARC_OK) resolve_length(c, d);
  if (status == SPARC_OK) status = resolve_epochs(c, d);
  if (status != SPARC_OK) return status;
  resolve_training(c, d->task);
  if (d->task && c->state_size == 0) c->state_size = d->task->training.state_size;
  settings_fill_defaults(&binding, d->task ? DEFAULT_TASK : DEFAULT_DATA);
  if (c->train.shards == 1) c->train.shards = 0; /* equivalent, and not written */
  resolve_network(c, d, head);
  if (c->validate_every == 0) c->validate_every = c->train.updates / 10 < 500 ? c->train.updates / 10 : 500;
  if (c->validate_every < 1) c->validate_every = 1;
  return resolve_cell(c, options);
}

/* ---- the folder ---------------------------------------------------------------------------------- */

/* "data/Gun Point_TRAIN.tsv.gz" becomes "Gun_Point_TRAIN" */
static void file_title(const char *path, char *title, size_t size) {
  const char *slash = strrchr(path, '/');
  size_t used = 0;
  for (const char *c = slash && slash[1] ? slash + 1 : path; *c && *c != '.' && used + 1 < size; c++)
    title[used++] = isalnum((unsigned char)*c) || strchr("_-", *c) ? *c : '_';
  title[used] = '\0';
}

sparc_status default_folder(const char *source, const char *options, const cell_request *request, uint64_t seed,
                            char *path, size_t size) {
  char title[128], nondefault[CELL_OPTIONS_SIZE], name[200], cell[200];
  const sparc_status status = cell_nondefault_options(request, nondefault);
  if (status != SPARC_OK) return status;
  file_title(source, title, sizeof title);
  options_file_name(*title ? title : "data", options, name, sizeof name);
  options_file_name(request->kind, nondefault, cell, sizeof cell);
  snprintf(path, size, "runs/%s-%s-s%llu", name, cell, (unsigned long long)seed);
  return SPARC_OK;
}

sparc_status run_default_folder(const sparc_run_config *c, char *path, size_t size) {
  const cell_request request = cell_request_of(c);
  return default_folder(c->data, "", &request, c->train.seed, path, size);
}

/* ---- config.json --------------------------------------------------------------------------------- */

json_t *run_config_json(const sparc_run_config *config) {
  sparc_run_config c = *config;
  const settings_binding binding = run_binding(&c);
  /* defaults that depend on other settings are not written */
  if (c.train.network.embedding == default_embedding(&c.train.network))
    settings_unset(&binding, settings_find_member(&binding, &c.train.network.embedding));
  /* with a constant learning rate, min_learning_rate or warmup in the file would request a schedule */
  if (!c.train.cosine) {
    settings_unset(&binding, settings_find_member(&binding, &c.train.min_learning_rate));
    settings_unset(&binding, settings_find_member(&binding, &c.train.warmup));
  }
  return settings_json(&binding);
}
