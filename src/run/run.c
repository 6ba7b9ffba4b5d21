/* SPDX-License-Identifier: MIT */
/* run.c: training runs: data, updates, validations and best.safetensors, on the engine that all runs share (engine.h). */
#include "run/run.h"

#include "base/clock.h"
#include "base/error.h"
#include "io/dtype.h"
#include "run/engine.h"
#include "run/ranked.h"
#include "run/read_settings.h"
#include "run/run_settings.h"
#include "run/start.h"
#include "train/baseline.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sparc_run {
  sparc_run_config config; /* resolved; its strings are `texts` and `options` */
  settings_texts texts;
  char options[CELL_OPTIONS_SIZE];
  sparc_head_config head;
  run_data data;
  run_engine engine;
  start_name start_path;
  checkpoint start;        /* source of the initial weights; not open: none, or no longer needed */
  sparc_trainer *trainer;  /* NULL: not started */
  sparc_run_result result; /* without the fields that the engine has */
  sparc_run_fn fn;         /* of the current execution */
  void *user;
};

static bool has_folder(const sparc_run *run) { return engine_has_folder(&run->engine); }

static int threads_of(const sparc_run *run) { return engine_threads(&run->engine, run->config.train.threads); }

static bool has_targets(const sparc_run *run) { return run->data.preprocessing.targets > 0; }

static bool is_classifier(const sparc_run *run) {
  return run->data.task ? run->data.task->target_kind == SPARC_TARGET_CLASS : !has_targets(run);
}

static void notify(sparc_run *run, const sparc_run_event *event) {
  if (run->fn && run->fn(run->user, event) != 0) run->engine.stop_requested = true;
}

static void notify_stage(void *kind, sparc_run_stage stage, const char *message) {
  sparc_run *run = kind;
  notify(run, &(sparc_run_event){.stage = stage, .run = run, .message = message});
}

/* ---- life cycle ---------------------------------------------------------------------------------- */

static sparc_status load_data(sparc_run *run) {
  const sparc_run_config *c = &run->config;
  const sparc_data_options options = {.root = c->root,
                                      .protocol = c->official ? SPARC_PROTOCOL_OFFICIAL : SPARC_PROTOCOL_PAPER,
                                      .read = resolve_read_options(&c->read)};
  return run_data_load(c->data, &options, &run->data);
}

static const run_ops training;

static sparc_status check_config(const sparc_run_config *config) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  if (!config->data || !*config->data)
    return fail(SPARC_INVALID, "data is not given, expected a task, a data set or a file");
  return SPARC_OK;
}

static sparc_status open_engine(sparc_run *run) {
  const sparc_run_config *c = &run->config;
  const run_place place = {
      .folder = c->folder, .resume = c->resume, .resume_or_create = c->resume_or_create, .force = c->force};
  const sparc_status status = engine_open(&run->engine, &training, run, &place);
  run->engine.seed = c->train.seed;
  return status;
}

/* The paper's recipe divides as the paper does. The ridge readout uses leave-one-out errors, so no example needs to be
 * kept for validation. */
static void choose_division(sparc_run_config *c) {
  const bool paper = run_is_given(c, &c->recipe) && c->recipe == SPARC_RECIPE_PAPER;
  const bool whole = c->read.objective == SPARC_OBJECTIVE_CLASSIFY && run_may_use_ridge(c) && !c->official &&
                     !run_is_given(c, &c->read.validation) && !run_is_given(c, &c->read.folds);
  c->read.division = paper ? SPARC_DIVISION_PAPER : whole ? SPARC_DIVISION_WHOLE : SPARC_DIVISION_SOUND;
  if (whole && !run_is_given(c, &c->train.readout)) c->read.whole_rows = SPARC_RIDGE_ROWS;
  run_mark(c, &c->read.division);
}

/* whether all examples fit is known when they are counted */
static void resolve_division(sparc_run *run) {
  sparc_read_options *read = &run->config.read;
  if (read->division == SPARC_DIVISION_WHOLE && run->data.validation.count > 0) read->division = SPARC_DIVISION_SOUND;
  read->whole_rows = 0;
}

/* what a run that continues was begun with, where nothing is given: recipe and division depend on the version that began
 * it. One whose configuration does not name them had the paper's. */
static sparc_status recall_defaults(sparc_run *run) {
  sparc_run_config *c = &run->config;
  const bool divides = !run_is_given(c, &c->read.division) && !is_task(c->data);
  if (!run->engine.continues) {
    if (divides) choose_division(c);
    return SPARC_OK;
  }
  json_t *then = NULL;
  const sparc_status status = run_folder_read_config(&run->engine.folder, &then);
  if (status != SPARC_OK) return status;
  const char *recipe = json_string_value(json_object_get(then, "recipe"));
  const char *readout = json_string_value(json_object_get(then, "readout"));
  const char *division = json_string_value(json_object_get(then, "division"));
  if (!run_is_given(c, &c->recipe) || c->recipe == SPARC_RECIPE_AUTO) c->recipe = recipe_named(recipe);
  if (!run_is_given(c, &c->train.readout))
    c->train.readout = readout && strcmp(readout, "ridge") == 0 ? SPARC_READOUT_RIDGE : SPARC_READOUT_GRADIENT;
  if (divides) c->read.division = division_named(division);
  run_mark(c, &c->recipe);
  run_mark(c, &c->train.readout);
  if (divides) run_mark(c, &c->read.division);
  /* a length that was chosen by size, or cut to fit a time */
  if (c->train.updates < 1 && c->epochs < 1)
    c->train.updates = (long)json_integer_value(json_object_get(then, "updates"));
  if (c->patience < 1) c->patience = (int)json_integer_value(json_object_get(then, "patience"));
  if (c->validate_every < 1) c->validate_every = (long)json_integer_value(json_object_get(then, "validate-every"));
  json_decref(then);
  return SPARC_OK;
}

static sparc_status resolve(sparc_run *run) {
  const settings_binding binding = run_binding(&run->config);
  sparc_status status = settings_copy_texts(&binding, &run->texts);
  if (status == SPARC_OK) status = open_engine(run);
  if (status == SPARC_OK) status = recall_defaults(run);
  if (status == SPARC_OK) status = load_data(run);
  if (status != SPARC_OK) return status;
  resolve_division(run);
  const bool borrows = run->config.from && !run->engine.continues;
  if (borrows) status = start_open(run->config.from, &run->start_path, &run->start);
  if (borrows && status == SPARC_OK)
    start_inherit(&run->start, default_head(&run->data) != SPARC_HEAD_STEPS, &run->config);
  if (status == SPARC_OK) status = run_resolve(&run->config, &run->data, run->options, &run->head);
  if (borrows && status == SPARC_OK) status = start_check(&run->start, &run->config.train.network);
  if (borrows && status == SPARC_OK) status = start_check_columns(&run->start, &run->data.preprocessing);
  return status;
}

sparc_status sparc_run_create(const sparc_run_config *config, sparc_run **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  sparc_status status = check_config(config);
  if (status != SPARC_OK) return status;
  sparc_run *run = sparc_alloc(sizeof *run);
  if (!run) return fail(SPARC_NO_MEMORY, "no memory for a run");
  run->config = *config;
  status = resolve(run);
  if (status != SPARC_OK) {
    sparc_run_free(run);
    return status;
  }
  *out = run;
  return SPARC_OK;
}

sparc_status sparc_run_load(const char *folder, int threads, sparc_run **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!folder) return fail(SPARC_INVALID, "folder is NULL, expected that of a run");
  run_folder names = {.path = ""};
  sparc_status status = run_folder_at(folder, &names);
  if (status != SPARC_OK) return status;
  sparc_run_config config = {.data = NULL};
  const settings_binding binding = run_binding(&config);
  settings_source *source = sparc_alloc(sizeof *source);
  if (!source) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  status = run_folder_settings(&names, &binding, source);
  if (status == SPARC_OK) status = settings_apply(&binding, source);
  if (status == SPARC_OK) status = run_folder_check_data(&names, config.data);
  if (status == SPARC_OK) {
    config.folder = folder;
    config.resume = 1;
    config.train.threads = threads;
    status = sparc_run_create(&config, out);
  }
  settings_source_free(source);
  sparc_free(source);
  return status;
}

void sparc_run_free(sparc_run *run) {
  if (!run) return;
  engine_close(&run->engine);
  sparc_trainer_free(run->trainer);
  run_data_free(&run->data);
  checkpoint_close(&run->start);
  settings_texts_free(&run->texts);
  sparc_free(run);
}

sparc_run_config sparc_run_config_of(const sparc_run *run) { return run ? run->config : (sparc_run_config){0}; }
const provenance *run_provenance(const sparc_run *run) { return &run->engine.made; }
sparc_trainer *run_trainer(const sparc_run *run) { return run ? run->trainer : NULL; }

sparc_run_result sparc_run_result_of(const sparc_run *run) {
  if (!run) return (sparc_run_result){0};
  const run_engine *e = &run->engine;
  sparc_run_result result = run->result;
  result.finished = e->finished;
  result.io_failed = e->io_failed;
  result.first = e->first;
  result.done = e->done;
  result.saved = e->saved;
  result.seconds = e->seconds;
  return result;
}

sparc_run_data sparc_run_data_of(const sparc_run *run) {
  if (!run) return (sparc_run_data){0};
  const run_data *d = &run->data;
  return (sparc_run_data){.name = d->task ? d->task->name : d->split.name,
                          .warning = d->split.warning,
                          .paper_difference = d->split.paper_difference,
                          .task = d->task,
                          .fit = d->fit,
                          .validation = d->validation,
                          .test = d->test};
}

/* ---- checkpoints --------------------------------------------------------------------------------- */

enum { EXTRAS = 5, EXTRA_SIZE = 40, MAX_EXTRAS = EXTRAS + 1 + MAX_READ_SETTINGS };
static const char best_mse_key[] = "run.best_mse"; /* with targets only */
static const char *const extra_keys[EXTRAS] = {"run.best_update", "run.best_merit", "run.best_loss",
                                               "run.data_checksum", "run.protocol"};

static const char *protocol_of(const sparc_run *run) {
  return run->data.task ? "task" : run->config.official ? "official" : "paper";
}

static sparc_status save(void *kind, const char *path) {
  const sparc_run *run = kind;
  char text[EXTRAS][EXTRA_SIZE], best_mse[EXTRA_SIZE];
  char numbers[MAX_READ_SETTINGS][SETTING_TEXT_SIZE];
  sparc_metadata extra[MAX_EXTRAS];
  snprintf(text[0], EXTRA_SIZE, "%ld", run->result.best.update);
  snprintf(text[1], EXTRA_SIZE, "%.17g", run->result.best.score);
  snprintf(text[2], EXTRA_SIZE, "%.17g", run->result.best.loss);
  snprintf(text[3], EXTRA_SIZE, "%08lx", run->data.checksum);
  snprintf(text[4], EXTRA_SIZE, "%s", protocol_of(run));
  for (int i = 0; i < EXTRAS; i++) extra[i] = (sparc_metadata){.key = extra_keys[i], .value = text[i]};
  size_t count = EXTRAS;
  snprintf(best_mse, sizeof best_mse, "%.17g", run->result.best.mse);
  if (has_targets(run)) extra[count++] = (sparc_metadata){.key = best_mse_key, .value = best_mse};
  if (!run->data.task) count += read_options_metadata(&run->config.read, run->config.given[3], extra + count, numbers);
  return sparc_trainer_save(run->trainer, &run->data.preprocessing, extra, count, path);
}

static provenance describe(const void *kind) {
  const sparc_run *run = kind;
  const run_data *d = &run->data;
  provenance p = provenance_of_build(run->config.train.network.kernel, threads_of(run));
  snprintf(p.data, sizeof p.data, "%08lx", d->identity);
  snprintf(p.split, sizeof p.split, "%s", protocol_of(run));
  snprintf(p.departure, sizeof p.departure, "%s", d->split.paper_difference);
  p.fit = d->fit.count;
  p.validation = d->validation.count;
  return p;
}

/* ---- start --------------------------------------------------------------------------------------- */

static json_t *config_json(const void *kind) { return run_config_json(&((const sparc_run *)kind)->config); }

/* clocks of different ranks would end the run at different updates */
static sparc_status check_time(const sparc_run *run) {
  if (!run->engine.group || !(run->config.time_budget > 0)) return SPARC_OK;
  return fail(SPARC_UNSUPPORTED, "a run on several ranks has no time budget; give it a number of updates");
}

static sparc_status create(void *kind) {
  sparc_run *run = kind;
  const sparc_status timed = check_time(run);
  if (timed != SPARC_OK) return timed;
  sparc_train_config train = run->config.train;
  train.threads = threads_of(run);
  const sparc_status status = trainer_create(&train, &run->data.fit, run->engine.group, &run->trainer);
  if (status != SPARC_OK || !run->config.from) return status;
  const bool head = start_has_head(&run->start, &run->head, &run->data.preprocessing);
  run->result.new_head = !head;
  return trainer_load_weights(run->trainer, &run->start, head);
}

/* parses a whole string as a number, which may be infinite, as R2 */
static bool parse_number(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && !*end;
}

/* the best score so far, as save() writes it; mse may be NULL */
static sparc_status read_best(const char *path, const char *const text[EXTRAS], const char *mse,
                              sparc_run_score *best) {
  double update;
  if (!parse_number(text[0], &update) || !(update >= 0 && update <= 0x1p53) || update != floor(update))
    return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', expected a whole number from 0", path, extra_keys[0],
                quote(text[0]).text);
  best->update = (long)update;
  if (parse_number(text[1], &best->score) && parse_number(text[2], &best->loss) &&
      (!mse || parse_number(mse, &best->mse)))
    return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': metadata '%s', '%s' or '%s' is not a number", path, extra_keys[1], extra_keys[2],
              best_mse_key);
}

/* the run's own metadata in the last checkpoint */
static sparc_status read_extras(sparc_run *run) {
  const char *path = run->engine.folder.last, *text[EXTRAS];
  sparc_tensors *file;
  sparc_status status = sparc_tensors_load(path, &file);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < EXTRAS; i++) text[i] = sparc_tensors_metadata_find(file, extra_keys[i]);
  for (int i = 0; i < EXTRAS && status == SPARC_OK; i++)
    if (!text[i]) status = fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", path, extra_keys[i]);
  if (status == SPARC_OK)
    status = read_best(path, text, sparc_tensors_metadata_find(file, best_mse_key), &run->result.best);
  if (status == SPARC_OK && strtoul(text[3], NULL, 16) != run->data.checksum)
    status = fail(SPARC_FORMAT, "the examples of '%.200s' are not those that '%.200s' was trained on", run->config.data,
                  path);
  sparc_tensors_free(file);
  return status;
}

/* the settings that may change on resume */
typedef struct run_end {
  long updates;
  int patience;
} run_end;

static sparc_status read_end(const run_folder *folder, run_end *end) {
  json_t *then;
  const sparc_status status = run_folder_read_config(folder, &then);
  if (status != SPARC_OK) return status;
  *end = (run_end){.updates = (long)json_integer_value(json_object_get(then, "updates")),
                   .patience = (int)json_integer_value(json_object_get(then, "patience"))};
  json_decref(then);
  return SPARC_OK;
}

/* compares config.json with the resolved configuration and this training configuration, except updates and patience */
static sparc_status compare_config(const sparc_run *run, const sparc_train_config *train, const run_end *then) {
  sparc_run_config c = run->config;
  c.train = *train;
  c.train.updates = then->updates;
  c.patience = then->patience;
  const settings_binding binding = run_binding(&c);
  return run_folder_compare(&run->engine.folder, &binding, run_config_json(&c));
}

/* config.json is authoritative for updates and patience: after a kill the checkpoint may hold earlier values */
static sparc_status move_end(sparc_run *run, const run_end *then) {
  const sparc_run_config *c = &run->config;
  const sparc_status status = trainer_reschedule(run->trainer, c->train.updates, -1);
  if (status != SPARC_OK || (c->train.updates == then->updates && c->patience == then->patience)) return status;
  return has_folder(run) ? engine_write_config(&run->engine) : SPARC_OK;
}

/* how the checkpoint was trained; of a network of given kinds, which follows from the readout, it has no cell */
static sparc_train_config restored_config(const sparc_run *run) {
  sparc_train_config train = *sparc_trainer_info_of(run->trainer).config;
  if (train.readout == SPARC_READOUT_RIDGE) train.network = run->config.train.network;
  return train;
}

static sparc_status restore(void *kind, long *done) {
  sparc_run *run = kind;
  const run_folder *folder = &run->engine.folder;
  run_end then;
  sparc_status status = check_time(run);
  if (status == SPARC_OK) status = read_end(folder, &then);
  if (status == SPARC_OK) status = compare_config(run, &run->config.train, &then);
  if (status != SPARC_OK) return status;
  status = read_extras(run);
  if (status == SPARC_OK)
    status = trainer_load(folder->last, &run->data.fit, NULL, threads_of(run), run->engine.group, &run->trainer);
  if (status == SPARC_OK) {
    const sparc_train_config restored = restored_config(run);
    status = compare_config(run, &restored, &then);
  }
  if (status != SPARC_OK) return run_folder_as_format_error(folder, status);
  *done = sparc_trainer_info_of(run->trainer).updates;
  return move_end(run, &then);
}

/* ---- one checkpoint ------------------------------------------------------------------------------ */

static bool is_better(const sparc_run_score *a, const sparc_run_score *b) {
  if (b->update == 0) return true;
  return a->score > b->score || (a->score == b->score && a->loss < b->loss);
}

static sparc_status log_validation(sparc_run *run, const sparc_run_score *s) {
  if (has_targets(run))
    return engine_log(&run->engine,
                      json_pack("{s:I, s:f, s:f, s:f}", "update", (json_int_t)s->update, "validation_loss", s->loss,
                                "validation_mse", s->mse, "validation_r2", s->score));
  const bool classes = is_classifier(run);
  return engine_log(&run->engine,
                    json_pack("{s:I, s:f, s:f}", "update", (json_int_t)s->update, "validation_loss", s->loss,
                              classes ? "validation_accuracy" : "validation_nmse", classes ? s->score : -s->score));
}

static sparc_status validate(sparc_run *run) {
  sparc_evaluation e;
  sparc_status status = sparc_trainer_evaluate(run->trainer, &run->data.validation, &e);
  if (status == SPARC_OK && !isfinite(e.loss))
    status = fail(SPARC_NOT_FINITE, "the validation loss after update %ld is %g, expected a finite number",
                  run->engine.done, e.loss);
  if (status != SPARC_OK) return status;
  run->result.final = (sparc_run_score){.update = run->engine.done,
                                        .score = has_targets(run)     ? e.r2
                                                 : is_classifier(run) ? e.accuracy
                                                                      : -e.nmse,
                                        .loss = e.loss,
                                        .mse = has_targets(run) ? e.mse : 0};
  return SPARC_OK;
}

/* validates, if there is a validation part */
static sparc_status measure(void *kind) {
  sparc_run *run = kind;
  sparc_run_result *r = &run->result;
  if (run->data.validation.count == 0) return SPARC_OK;
  sparc_status status = validate(run);
  if (status != SPARC_OK) return status;
  const bool better = is_better(&r->final, &r->best);
  if (better) r->best = r->final;
  notify(run, &(sparc_run_event){.stage = SPARC_RUN_VALIDATED, .run = run, .score = &r->final, .best = better});
  status = log_validation(run, &r->final);
  if (status != SPARC_OK || !better || !has_folder(run)) return status;
  return engine_written(&run->engine, save(run, run->engine.folder.best));
}

/* ---- updates ------------------------------------------------------------------------------------- */

static sparc_status log_update(sparc_run *run, const sparc_update_report *r) {
  json_t *object = json_pack("{s:I, s:f, s:f, s:f}", "update", (json_int_t)r->update, "loss", r->loss, "gradient_norm",
                             r->gradient_norm, "rate", r->learning_rate);
  if (object && is_classifier(run)) json_object_set_new(object, "accuracy", json_real(r->accuracy));
  return engine_log(&run->engine, object);
}

/* ---- time ---- */

static bool is_out_of_time(const sparc_run *run) {
  const double budget = run->config.time_budget;
  return budget > 0 && run->engine.seconds + (seconds_now() - run->engine.clock) >= budget;
}

/* shortens a new run to fit its time budget, schedule included, and records the length in config.json */
static sparc_status fit_time(sparc_run *run, long done) {
  enum { PROBE = 10 };
  const double reserve = 0.85; /* for validations, checkpoints and other load on the machine */
  sparc_run_config *c = &run->config;
  if (!(c->time_budget > 0) || run->engine.first != 0 || done != PROBE) return SPARC_OK;
  const double spent = run->engine.seconds + (seconds_now() - run->engine.clock);
  const double possible = PROBE + reserve * (c->time_budget - spent) * PROBE / spent;
  if (!(possible < (double)c->train.updates)) return SPARC_OK;
  const long updates = possible > PROBE + 1 ? (long)possible : PROBE + 1;
  const long warmup = c->train.cosine && c->train.warmup > updates / 10 ? updates / 10 : c->train.warmup;
  const sparc_status status = trainer_reschedule(run->trainer, updates, warmup);
  if (status != SPARC_OK) return status;
  c->train.updates = updates;
  c->train.warmup = warmup;
  if (c->validate_every > updates / 20) c->validate_every = updates / 20 > 0 ? updates / 20 : 1;
  return has_folder(run) ? engine_write_config(&run->engine) : SPARC_OK;
}

static sparc_status advance(void *kind, long *done, bool *due) {
  enum { LOGS_PER_VALIDATION = 50 };
  sparc_run *run = kind;
  sparc_update_report report;
  bool stop = run->engine.stop_requested;
  sparc_status status = trainer_update(run->trainer, &stop, &report);
  engine_agreed(&run->engine, stop);
  if (status != SPARC_OK) return status;
  *done = report.update;
  if (run->config.train.readout == SPARC_READOUT_RIDGE && run->data.validation.count == 0)
    run->result.best = (sparc_run_score){.update = report.update, .score = report.accuracy, .loss = report.loss};
  notify(run, &(sparc_run_event){.stage = SPARC_RUN_UPDATE, .run = run, .update = &report});
  status = fit_time(run, report.update);
  if (status != SPARC_OK) return status;
  const long every = run->config.validate_every, log_every = (every + LOGS_PER_VALIDATION - 1) / LOGS_PER_VALIDATION;
  const bool last = report.update == run->config.train.updates;
  run->result.out_of_time = !last && is_out_of_time(run);
  const bool ends = last || run->result.out_of_time;
  *due = report.update % every == 0 || ends;
  return report.update % log_every == 0 || ends ? log_update(run, &report) : SPARC_OK;
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* the number of validations since the best follows from the update numbers; no counter is stored */
static bool is_out_of_patience(const sparc_run *run) {
  const sparc_run_config *c = &run->config;
  const sparc_run_result *r = &run->result;
  return c->patience > 0 && r->best.update > 0 &&
         run->engine.done / c->validate_every - r->best.update / c->validate_every >= c->patience;
}

static bool is_over(const void *kind) {
  const sparc_run *run = kind;
  return run->engine.done >= run->config.train.updates || run->result.out_of_time || is_out_of_patience(run);
}

static sparc_status measure_test(sparc_run *run) {
  sparc_model *model;
  sparc_status status = sparc_model_load(run->engine.folder.best, threads_of(run), &model);
  if (status == SPARC_OK) status = sparc_model_evaluate(model, &run->data.test, &run->result.test);
  sparc_model_free(model);
  return status;
}

static void measure_baseline(sparc_run *run) {
  const run_data *d = &run->data;
  const sparc_samples *part = d->test.count > 0 ? &d->test : &d->validation;
  run->result.baseline_mse = part->count > 0 ? baseline_error(part, &d->preprocessing) : NAN;
}

static sparc_status conclude(void *kind) {
  sparc_run *run = kind;
  sparc_status status = SPARC_OK;
  /* without a validation part the last weights are the result; a finished run that was resumed is measured again */
  if (run->data.validation.count == 0)
    status = has_folder(run) ? engine_written(&run->engine, save(run, run->engine.folder.best)) : SPARC_OK;
  else if (run->result.final.update == 0)
    status = validate(run);
  if (status == SPARC_OK && has_folder(run) && run->data.test.count > 0) status = measure_test(run);
  if (status != SPARC_OK) return status;
  if (has_targets(run)) measure_baseline(run);
  run->result.stopped_early = run->engine.done < run->config.train.updates;
  return SPARC_OK;
}

static run_shards count_shards(const void *kind) {
  const sparc_train_config *c = &((const sparc_run *)kind)->config.train;
  return (run_shards){trainer_shards(c), c->batch, "batch"};
}

void run_join(sparc_run *run, ranks *group, int threads) { engine_join(&run->engine, group, threads); }

static const run_ops training = {.create = create,
                                 .restore = restore,
                                 .config = config_json,
                                 .provenance = describe,
                                 .shards = count_shards,
                                 .advance = advance,
                                 .measure = measure,
                                 .save = save,
                                 .is_over = is_over,
                                 .conclude = conclude,
                                 .notify = notify_stage};

sparc_status sparc_run_execute(sparc_run *run, sparc_run_fn fn, void *user) {
  if (!run) return fail(SPARC_INVALID, "run is NULL");
  run->fn = fn;
  run->user = user;
  return engine_execute(&run->engine);
}
