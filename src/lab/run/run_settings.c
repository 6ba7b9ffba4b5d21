/* SPDX-License-Identifier: MIT */
/* run_settings.c: what was not given, after the paper. */
#include "lab/run/run_settings.h"

#include "base/error.h"
#include "lab/read_settings.h"
#include "lab/train_settings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- the table ----------------------------------------------------------------------------------- */

#define RUN(member) offsetof(sparc_run_config, member)

static const char data[] = "Data:";

static const setting run_rows[] = {
    {.name = "data", .type = SETTING_TEXT, .offset = RUN(data), .letter = POSITIONAL, .argument = "DATA|TASK"},
    VARIANT_SETTING(sparc_run_config),
    BUDGET_SETTING(sparc_run_config, "128", TASKS_OWN),
    {.name = "validate-every",
     .type = SETTING_LONG,
     .offset = RUN(validate_every),
     .low = 1,
     .high = INT32_MAX,
     .group = "Training:",
     .letter = 'v',
     .argument = "N",
     .help = "Validate and save after every N updates (default: 500, or a tenth of all if that is less)"},
    {.name = "official",
     .type = SETTING_FLAG,
     .offset = RUN(official),
     .group = data,
     .help = "Fit on the whole training partition, report on the test partition"},
    THREADS_SETTING(sparc_run_config, train.threads, "all processors"),
    ROOT_SETTING(sparc_run_config),
    FOLDER_SETTING(sparc_run_config, "runs/DATA-CELL-sSEED, with a variant and options behind CELL"),
    RESUME_SETTING(sparc_run_config),
    FORCE_SETTING(sparc_run_config),
};

const settings_table run_settings = {run_rows, sizeof run_rows / sizeof *run_rows};

settings_form run_form(sparc_run_config *config) {
  return (settings_form){.command = COMMAND_TRAIN,
                         .part = {{&network_settings, &config->train.network},
                                  {&training_settings, &config->train},
                                  {&run_settings, config},
                                  {&read_settings, &config->read}}};
}

sparc_run_config sparc_run_defaults(void) {
  sparc_run_config config = {.data = NULL};
  const settings_form form = run_form(&config);
  settings_clear(&form);
  return config;
}

/* ---- what was not given -------------------------------------------------------------------------- */

static bool is_given(double value) { return value >= 0; }

static void settle_training(sparc_train_config *t, const sparc_task *task) {
  sparc_train_config usual = task ? sparc_train_task(task) : sparc_train_classification();
  const settings_form given = {.part = {{&training_settings, t}}}, paper = {.part = {{&training_settings, &usual}}};
  /* a generated task has a constant rate unless a schedule is asked for */
  t->cosine = usual.cosine || is_given(t->floor) || is_given((double)t->warmup);
  const bool own_floor = is_given(t->floor), own_warmup = is_given((double)t->warmup);
  settings_inherit(&given, &paper);
  if (!own_warmup) t->warmup = t->cosine ? t->updates / 10 : 0;
  /* a small rate with the floor of the paper */
  if (!own_floor && t->floor > t->rate) t->floor = t->rate;
}

static sparc_embedding usual_embedding(const sparc_network_config *n) {
  return n->layers ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE;
}

static void settle_network(sparc_network_config *n, const run_data *d, sparc_head_config *head) {
  const sparc_task *task = d->task;
  *head = (sparc_head_config){.input = !task ? (d->target_steps ? SPARC_HEAD_STEPS : SPARC_HEAD_MEAN)
                                       : task->target_kind == SPARC_TARGET_CLASS ? SPARC_HEAD_LAST
                                                                                 : SPARC_HEAD_STEPS,
                              .outputs = d->outputs};
  n->head = head;
  n->heads = 1;
  n->inputs = d->channels;
  if ((int)n->embedding < 0) n->embedding = usual_embedding(n);
  n->features = task && n->layers == 0 && task->training.relu ? SPARC_FEATURES_RELU : SPARC_FEATURES_OUTPUT;
  n->init = task ? task->training.init : SPARC_INIT_CLASSIFICATION;
}

static cell_wish wish_of(const sparc_run_config *c) {
  const sparc_network_config *n = &c->train.network;
  return (cell_wish){.kind = n->cell ? n->cell : "sparc",
                     .options = n->cell_options,
                     .variant = c->variant,
                     .modes = n->H,
                     .budget = c->budget,
                     .overrule = c->resume};
}

static sparc_status settle_cell(sparc_run_config *c, char options[CELL_OPTIONS_SIZE]) {
  sparc_network_config *n = &c->train.network;
  const cell_wish wish = wish_of(c);
  const sparc_status status =
      cell_settle(&wish, n->embedding == SPARC_EMBED_NONE ? n->inputs : n->width, &n->H, options);
  n->cell_options = options;
  return status;
}

sparc_status run_settle(sparc_run_config *c, const run_data *d, char options[CELL_OPTIONS_SIZE],
                        sparc_head_config *head) {
  const settings_form form = run_form(c);
  const sparc_status status = settings_check(&form, false);
  if (status != SPARC_OK) return status;
  settle_training(&c->train, d->task);
  if (d->task && c->budget == 0) c->budget = d->task->training.state;
  settings_fill(&form, d->task ? USUAL_TASK : USUAL_DATA);
  settle_network(&c->train.network, d, head);
  if (c->validate_every == 0) c->validate_every = c->train.updates / 10 < 500 ? c->train.updates / 10 : 500;
  if (c->validate_every < 1) c->validate_every = 1;
  return settle_cell(c, options);
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

sparc_status default_folder(const char *source, const char *options, const cell_wish *wish, uint64_t seed, char *path,
                            size_t size) {
  char title[128], said[CELL_OPTIONS_SIZE], name[200], cell[200];
  const sparc_status status = cell_said(wish, said);
  if (status != SPARC_OK) return status;
  file_title(source, title, sizeof title);
  options_file_name(*title ? title : "data", options, name, sizeof name);
  options_file_name(wish->kind, said, cell, sizeof cell);
  snprintf(path, size, "runs/%s-%s-s%llu", name, cell, (unsigned long long)seed);
  return SPARC_OK;
}

sparc_status run_default_folder(const sparc_run_config *c, char *path, size_t size) {
  const cell_wish wish = wish_of(c);
  return default_folder(c->data, "", &wish, c->train.seed, path, size);
}

/* ---- config.json --------------------------------------------------------------------------------- */

json_t *run_config_json(const sparc_run_config *config) {
  sparc_run_config c = *config;
  /* what goes without saying is not said */
  if (c.train.network.embedding == usual_embedding(&c.train.network)) c.train.network.embedding = (sparc_embedding)-1;
  /* of a constant rate, naming floor or warm-up would ask for a schedule */
  if (!c.train.cosine) c.train.floor = c.train.warmup = -1;
  const settings_form form = run_form(&c);
  return settings_json(&form);
}
