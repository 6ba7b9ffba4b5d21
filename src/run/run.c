/* SPDX-License-Identifier: MIT */
/* run.c: a run that can be stopped at any moment.
 *
 * At a checkpoint the order is metrics, best.safetensors, last.safetensors, each complete before the next. Whatever is
 * lost by a kill in between is made again, bit by bit, from the last checkpoint before it.
 */
#include "sparc/run.h"

#include "base/clock.h"
#include "base/error.h"
#include "io/dtype.h"
#include "io/folder_file.h"
#include "run/folder.h"
#include "run/lock.h"
#include "run/metrics.h"
#include "run/provenance.h"
#include "run/read_settings.h"
#include "run/run_settings.h"
#include "run/start.h"
#include "train/naive.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_TEXTS = 14 };

struct sparc_run {
  sparc_run_config config; /* settled; its strings are `text` and `options` */
  char *text[RUN_TEXTS];
  char options[CELL_OPTIONS_SIZE];
  sparc_head_config head;
  run_data data;
  run_folder folder;
  start_name start_path;
  checkpoint start;       /* whose weights are the first ones; not open: none, or no longer needed */
  run_lock lock;          /* of the folder, during an execution */
  sparc_trainer *trainer; /* NULL: not begun */
  metrics metrics;
  provenance earlier, made; /* of the parts before this execution, and of all */
  double clock;             /* up to when the time is counted */
  sparc_run_result result;
  bool continues; /* there is a checkpoint to continue from */
  bool failed, stop;
  sparc_run_fn fn; /* of the execution under way */
  void *user;
};

static bool has_folder(const sparc_run *run) { return run->config.folder != NULL; }

static bool has_targets(const sparc_run *run) { return run->data.preprocessing.targets > 0; }

static bool is_classifier(const sparc_run *run) {
  return run->data.task ? run->data.task->target_kind == SPARC_TARGET_CLASS : !has_targets(run);
}

static void tell(sparc_run *run, const sparc_run_event *event) {
  if (run->fn && run->fn(run->user, event) != 0) run->stop = true;
}

/* what cannot be written is no fault of the configuration or the data; a folder with something else in it is */
static sparc_status written(sparc_run *run, sparc_status status) {
  if (status != SPARC_OK && status != SPARC_FORMAT) run->result.unwritten = 1;
  return status;
}

/* ---- life cycle ---------------------------------------------------------------------------------- */

/* strings of the caller become the run's */
static sparc_status keep_texts(sparc_run *run) {
  sparc_run_config *c = &run->config;
  sparc_read_options *r = &c->read;
  const char **const texts[RUN_TEXTS] = {
      &c->data,        &c->root,         &c->variant,      &c->folder,       &c->train.network.cell,
      &r->labels_path, &r->label_column, &r->series_array, &r->labels_array, &r->ignore_columns,
      &r->id_column,   &r->time_column,  &r->decimal,      &c->from};
  for (int i = 0; i < RUN_TEXTS; i++) {
    if (!*texts[i]) continue;
    run->text[i] = strdup(*texts[i]);
    if (!run->text[i]) return fail(SPARC_NO_MEMORY, "no memory for a configuration");
    *texts[i] = run->text[i];
  }
  return SPARC_OK;
}

static sparc_status load_data(sparc_run *run) {
  const sparc_run_config *c = &run->config;
  const sparc_data_options options = {.root = c->root,
                                      .protocol = c->official ? SPARC_PROTOCOL_OFFICIAL : SPARC_PROTOCOL_PAPER,
                                      .read = read_settled(&c->read)};
  return run_data_load(c->data, &options, &run->data);
}

static bool resumes(const sparc_run_config *c) { return c->resume || c->resume_or_create; }

static sparc_status check_config(const sparc_run_config *config) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  if (!config->data || !*config->data)
    return fail(SPARC_INVALID, "data is not given, expected a task, a data set or a file");
  if (resumes(config) && !config->folder)
    return fail(SPARC_INVALID, "folder is NULL, expected that of the run to resume");
  if (resumes(config) && config->force) return fail(SPARC_INVALID, "resume and force are both 1, expected one of them");
  return SPARC_OK;
}

/* looks for something to continue */
static sparc_status look_for_run(sparc_run *run) {
  const sparc_run_config *c = &run->config;
  run->continues = false;
  if (!has_folder(run) || !resumes(c)) return SPARC_OK;
  const sparc_status status = c->resume ? run_folder_require(&run->folder) : SPARC_OK;
  return status == SPARC_OK ? folder_file_find(run->folder.last, &run->continues) : status;
}

/* a run of earlier versions, whose configuration does not name a recipe, had the paper's */
static sparc_status recall_recipe(sparc_run *run) {
  json_t *then = NULL;
  const bool said = run->config.recipe == SPARC_RECIPE_PAPER || run->config.recipe == SPARC_RECIPE_SMALL;
  if (said || !run->continues) return SPARC_OK;
  const sparc_status status = run_folder_read_config(&run->folder, &then);
  if (status == SPARC_OK && !json_object_get(then, "recipe")) run->config.recipe = SPARC_RECIPE_PAPER;
  json_decref(then);
  return status;
}

static sparc_status settle(sparc_run *run) {
  sparc_status status = keep_texts(run);
  if (status == SPARC_OK && has_folder(run)) status = run_folder_at(run->config.folder, &run->folder);
  if (status == SPARC_OK) status = look_for_run(run);
  if (status == SPARC_OK) status = load_data(run);
  if (status == SPARC_OK) status = recall_recipe(run);
  if (status != SPARC_OK) return status;
  const bool borrows = run->config.from && !run->continues;
  if (borrows) status = start_open(run->config.from, &run->start_path, &run->start);
  if (borrows && status == SPARC_OK)
    start_inherit(&run->start, usual_head(&run->data) != SPARC_HEAD_STEPS, &run->config);
  if (status == SPARC_OK) status = run_settle(&run->config, &run->data, run->options, &run->head);
  if (borrows && status == SPARC_OK) status = start_check(&run->start, &run->config.train.network);
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
  run->result.saved = -1;
  status = settle(run);
  if (status != SPARC_OK) {
    sparc_run_free(run);
    return status;
  }
  *out = run;
  return SPARC_OK;
}

sparc_status sparc_run_open(const char *folder, int threads, sparc_run **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!folder) return fail(SPARC_INVALID, "folder is NULL, expected that of a run");
  run_folder names = {.path = ""};
  sparc_status status = run_folder_at(folder, &names);
  if (status != SPARC_OK) return status;
  sparc_run_config config = sparc_run_defaults();
  const settings_form form = run_form(&config);
  settings_source *source = sparc_alloc(sizeof *source);
  if (!source) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  status = run_folder_settings(&names, &form, source);
  if (status == SPARC_OK) status = settings_apply(&form, source);
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
  metrics_close(&run->metrics);
  sparc_trainer_free(run->trainer);
  run_data_free(&run->data);
  checkpoint_close(&run->start);
  for (int i = 0; i < RUN_TEXTS; i++) free(run->text[i]);
  sparc_free(run);
}

sparc_run_config sparc_run_config_of(const sparc_run *run) { return run ? run->config : (sparc_run_config){0}; }
sparc_run_result sparc_run_result_of(const sparc_run *run) { return run ? run->result : (sparc_run_result){0}; }
const provenance *run_provenance(const sparc_run *run) { return &run->made; }
sparc_trainer *sparc_run_trainer(const sparc_run *run) { return run ? run->trainer : NULL; }

sparc_run_data sparc_run_data_of(const sparc_run *run) {
  if (!run) return (sparc_run_data){0};
  const run_data *d = &run->data;
  return (sparc_run_data){.name = d->task ? d->task->name : d->split.name,
                          .remark = d->split.remark,
                          .differs = d->split.differs,
                          .task = d->task,
                          .fit = d->fit,
                          .validation = d->validation,
                          .test = d->test};
}

/* ---- checkpoints --------------------------------------------------------------------------------- */

enum { EXTRAS = 5, EXTRA_SIZE = 40, EXTRAS_MOST = EXTRAS + 1 + READ_SETTINGS_MOST };
static const char best_mse_key[] = "run.best_mse"; /* with targets only */
static const char *const extra_keys[EXTRAS] = {"run.best_update", "run.best_merit", "run.best_loss",
                                               "run.data_checksum", "run.protocol"};

static const char *protocol_of(const sparc_run *run) {
  return run->data.task ? "task" : run->config.official ? "official" : "paper";
}

static sparc_status save(const sparc_run *run, const char *path) {
  char text[EXTRAS][EXTRA_SIZE], best_mse[EXTRA_SIZE];
  char numbers[READ_SETTINGS_MOST][SETTING_TEXT_SIZE];
  sparc_metadata extra[EXTRAS_MOST];
  snprintf(text[0], EXTRA_SIZE, "%ld", run->result.best.update);
  snprintf(text[1], EXTRA_SIZE, "%.17g", run->result.best.merit);
  snprintf(text[2], EXTRA_SIZE, "%.17g", run->result.best.loss);
  snprintf(text[3], EXTRA_SIZE, "%08lx", run->data.checksum);
  snprintf(text[4], EXTRA_SIZE, "%s", protocol_of(run));
  for (int i = 0; i < EXTRAS; i++) extra[i] = (sparc_metadata){.key = extra_keys[i], .value = text[i]};
  size_t count = EXTRAS;
  snprintf(best_mse, sizeof best_mse, "%.17g", run->result.best.mse);
  if (has_targets(run)) extra[count++] = (sparc_metadata){.key = best_mse_key, .value = best_mse};
  if (!run->data.task) count += read_remember(&run->config.read, extra + count, numbers);
  return sparc_trainer_save(run->trainer, &run->data.preprocessing, extra, count, path);
}

static void count_time(sparc_run *run) {
  const double time = seconds_now();
  run->result.seconds += time - run->clock;
  run->clock = time;
}

/* what is known of the run's making, with the time so far */
static void note_provenance(sparc_run *run) {
  const sparc_run_config *c = &run->config;
  const run_data *d = &run->data;
  provenance p = provenance_of_build(c->train.network.kernel, c->train.threads);
  snprintf(p.data, sizeof p.data, "%08lx", d->identity);
  snprintf(p.split, sizeof p.split, "%s", protocol_of(run));
  snprintf(p.departure, sizeof p.departure, "%s", d->split.differs);
  p.fit = d->fit.count;
  p.validation = d->validation.count;
  p.seconds = run->result.seconds;
  p.done = run->result.done - run->result.first;
  provenance_join(&run->earlier, &p);
  run->made = p;
}

static sparc_status save_last(sparc_run *run) {
  sparc_status status = metrics_flush(&run->metrics);
  if (status == SPARC_OK) status = save(run, run->folder.last);
  count_time(run);
  note_provenance(run);
  if (status == SPARC_OK) status = provenance_write(run->folder.path, &run->made);
  if (status != SPARC_OK) return written(run, status);
  run->result.saved = run->result.done;
  tell(run, &(sparc_run_event){.stage = SPARC_RUN_CHECKPOINT, .run = run});
  return SPARC_OK;
}

/* ---- beginning ----------------------------------------------------------------------------------- */

static sparc_status write_config(sparc_run *run) {
  json_t *object = run_config_json(&run->config);
  const sparc_status status =
      object ? run_folder_write_config(&run->folder, object) : fail(SPARC_NO_MEMORY, "no memory for config.json");
  json_decref(object);
  return status;
}

/* a run that was killed before its first checkpoint begins again; what it left is of no use */
static sparc_status begin_fresh(sparc_run *run) {
  const sparc_run_config *c = &run->config;
  bool found = false;
  sparc_status status = has_folder(run) ? run_folder_find(&run->folder, &found) : SPARC_OK;
  if (status != SPARC_OK) return status;
  if (found && !c->force && !resumes(c))
    return fail(SPARC_INVALID, "'%.300s' holds a run already; resume continues it, force replaces it", c->folder);
  status = sparc_trainer_create(&c->train, &run->data.fit, &run->trainer);
  if (status == SPARC_OK && c->from) {
    const bool head = start_has_head(&run->start, &run->head, &run->data.preprocessing);
    run->result.new_head = !head;
    status = trainer_begin_with(run->trainer, &run->start, head);
  }
  if (status != SPARC_OK || !has_folder(run)) return status;
  status = run_folder_make(&run->folder);
  if (status == SPARC_OK) status = run_lock_take(&run->folder, &run->lock);
  if (status == SPARC_OK) status = run_folder_empty(&run->folder);
  if (status == SPARC_OK) status = write_config(run);
  return written(run, status);
}

/* a number of any kind, for R2 may be infinite; nothing behind it */
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
  if (parse_number(text[1], &best->merit) && parse_number(text[2], &best->loss) &&
      (!mse || parse_number(mse, &best->mse)))
    return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': metadata '%s', '%s' or '%s' is not a number", path, extra_keys[1], extra_keys[2],
              best_mse_key);
}

/* what the last checkpoint says of the run besides the trainer's state */
static sparc_status read_extras(sparc_run *run) {
  const char *path = run->folder.last, *text[EXTRAS];
  sparc_tensors *file;
  sparc_status status = sparc_tensors_open(path, &file);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < EXTRAS; i++) text[i] = sparc_tensors_metadata_find(file, extra_keys[i]);
  for (int i = 0; i < EXTRAS && status == SPARC_OK; i++)
    if (!text[i]) status = fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", path, extra_keys[i]);
  if (status == SPARC_OK)
    status = read_best(path, text, sparc_tensors_metadata_find(file, best_mse_key), &run->result.best);
  if (status == SPARC_OK && strtoul(text[3], NULL, 16) != run->data.checksum)
    status = fail(SPARC_FORMAT, "the examples of '%.200s' are not those that '%.200s' was trained on", run->config.data,
                  path);
  sparc_tensors_close(file);
  return status;
}

/* what of a run may change when it is resumed: when it ends */
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

/* whether config.json defines the same run as the settled configuration with this training, but for its end */
static sparc_status compare_config(const sparc_run *run, const sparc_train_config *train, const run_end *then) {
  sparc_run_config c = run->config;
  c.train = *train;
  c.train.updates = then->updates;
  c.patience = then->patience;
  const settings_form form = run_form(&c);
  return run_folder_compare(&run->folder, &form, run_config_json(&c));
}

/* config.json has the last word on the end: a kill right behind it leaves a checkpoint that knows the former one */
static sparc_status move_end(sparc_run *run, const run_end *then) {
  const sparc_run_config *c = &run->config;
  const sparc_status status = trainer_reschedule(run->trainer, c->train.updates);
  if (status != SPARC_OK || (c->train.updates == then->updates && c->patience == then->patience)) return status;
  return written(run, write_config(run));
}

static sparc_status restore(sparc_run *run) {
  const run_folder *folder = &run->folder;
  const sparc_status locked = run_lock_take(folder, &run->lock);
  if (locked != SPARC_OK) return written(run, locked);
  run_end then;
  bool found;
  sparc_status status = run_folder_find(folder, &found);
  if (status == SPARC_OK) status = read_end(folder, &then);
  if (status == SPARC_OK) status = compare_config(run, &run->config.train, &then);
  if (status != SPARC_OK) return status;
  status = read_extras(run);
  if (status == SPARC_OK)
    status = sparc_trainer_restore(folder->last, &run->data.fit, run->config.train.threads, &run->trainer);
  if (status == SPARC_OK) status = compare_config(run, sparc_trainer_config_of(run->trainer), &then);
  if (status != SPARC_OK) return run_folder_blame(folder, status);
  status = move_end(run, &then);
  if (status != SPARC_OK) return status;
  run->result.first = run->result.done = run->result.saved = sparc_trainer_updates_done(run->trainer);
  return SPARC_OK;
}

static sparc_status begin(sparc_run *run) {
  sparc_status status = look_for_run(run);
  if (status == SPARC_OK) status = run->continues ? restore(run) : begin_fresh(run);
  if (status != SPARC_OK || !has_folder(run)) return status;
  status = run_folder_sweep(&run->folder);
  if (status == SPARC_OK && run->result.first > 0) status = provenance_read(run->folder.path, &run->earlier);
  note_provenance(run);
  if (status == SPARC_OK) status = provenance_write(run->folder.path, &run->made);
  if (status == SPARC_OK)
    status = metrics_open(run->folder.path, run_folder_name(&run->folder), run->config.train.seed, run->result.saved,
                          &run->metrics);
  return written(run, status);
}

/* ---- one checkpoint ------------------------------------------------------------------------------ */

static bool is_better(const sparc_run_score *a, const sparc_run_score *b) {
  if (b->update == 0) return true;
  return a->merit > b->merit || (a->merit == b->merit && a->loss < b->loss);
}

static sparc_status log_validation(sparc_run *run, const sparc_run_score *s) {
  if (has_targets(run))
    return metrics_add(&run->metrics,
                       json_pack("{s:I, s:f, s:f, s:f}", "update", (json_int_t)s->update, "validation_loss", s->loss,
                                 "validation_mse", s->mse, "validation_r2", s->merit));
  const bool classes = is_classifier(run);
  return metrics_add(&run->metrics,
                     json_pack("{s:I, s:f, s:f}", "update", (json_int_t)s->update, "validation_loss", s->loss,
                               classes ? "validation_accuracy" : "validation_nmse", classes ? s->merit : -s->merit));
}

static sparc_status validate(sparc_run *run) {
  sparc_evaluation e;
  sparc_status status = sparc_trainer_evaluate(run->trainer, &run->data.validation, &e);
  if (status == SPARC_OK && !isfinite(e.loss))
    status = fail(SPARC_NOT_FINITE, "the validation loss after update %ld is %g, expected a finite number",
                  run->result.done, e.loss);
  if (status != SPARC_OK) return status;
  run->result.final = (sparc_run_score){.update = run->result.done,
                                        .merit = has_targets(run)     ? e.r2
                                                 : is_classifier(run) ? e.accuracy
                                                                      : -e.nmse,
                                        .loss = e.loss,
                                        .mse = has_targets(run) ? e.mse : 0};
  return SPARC_OK;
}

/* validates where there is something to validate on, and saves */
static sparc_status checkpoint_run(sparc_run *run) {
  sparc_run_result *r = &run->result;
  sparc_status status = SPARC_OK;
  if (run->data.validation.count > 0) {
    status = validate(run);
    if (status != SPARC_OK) return status;
    const bool better = is_better(&r->final, &r->best);
    if (better) r->best = r->final;
    tell(run, &(sparc_run_event){.stage = SPARC_RUN_VALIDATED, .run = run, .score = &r->final, .best = better});
    if (has_folder(run)) status = log_validation(run, &r->final);
    if (has_folder(run) && status == SPARC_OK && better) status = save(run, run->folder.best);
  }
  if (status != SPARC_OK) return written(run, status);
  return has_folder(run) ? save_last(run) : SPARC_OK;
}

/* ---- updates ------------------------------------------------------------------------------------- */

static sparc_status log_update(sparc_run *run, const sparc_update_report *r) {
  json_t *object = json_pack("{s:I, s:f, s:f, s:f}", "update", (json_int_t)r->update, "loss", r->loss, "gradient_norm",
                             r->gradient_norm, "rate", r->rate);
  if (object && is_classifier(run)) json_object_set_new(object, "accuracy", json_real(r->accuracy));
  return written(run, metrics_add(&run->metrics, object));
}

static sparc_status update_once(sparc_run *run) {
  enum { LOGS_PER_VALIDATION = 50 };
  const long every = run->config.validate_every, log_every = (every + LOGS_PER_VALIDATION - 1) / LOGS_PER_VALIDATION;
  sparc_update_report report;
  sparc_status status = sparc_trainer_update(run->trainer, &report);
  count_time(run);
  if (status != SPARC_OK) return status;
  run->result.done = report.update;
  tell(run, &(sparc_run_event){.stage = SPARC_RUN_UPDATE, .run = run, .update = &report});
  const bool ends = report.update == run->config.train.updates;
  if (has_folder(run) && (report.update % log_every == 0 || ends)) status = log_update(run, &report);
  if (status == SPARC_OK && (report.update % every == 0 || ends)) status = checkpoint_run(run);
  count_time(run);
  return status;
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* how many validations there were since the best follows from when they are, so nothing has to be remembered */
static bool has_lost_patience(const sparc_run *run) {
  const sparc_run_config *c = &run->config;
  const sparc_run_result *r = &run->result;
  return c->patience > 0 && r->best.update > 0 &&
         r->done / c->validate_every - r->best.update / c->validate_every >= c->patience;
}

static bool is_over(const sparc_run *run) {
  return run->result.done >= run->config.train.updates || has_lost_patience(run);
}

static sparc_status measure_test(sparc_run *run) {
  sparc_model *model;
  sparc_status status = sparc_model_load(run->folder.best, run->config.train.threads, &model);
  if (status == SPARC_OK) status = sparc_model_evaluate(model, &run->data.test, &run->result.test);
  sparc_model_free(model);
  return status;
}

static void measure_naive(sparc_run *run) {
  const run_data *d = &run->data;
  const bool test = d->test.count > 0;
  run->result.naive = naive_error(test ? &d->test : &d->validation, &d->preprocessing);
}

static sparc_status conclude(sparc_run *run) {
  sparc_status status = SPARC_OK;
  /* without a validation part the last weights are the result; a finished run that was resumed is measured again */
  if (run->data.validation.count == 0)
    status = has_folder(run) ? written(run, save(run, run->folder.best)) : SPARC_OK;
  else if (run->result.final.update == 0)
    status = validate(run);
  if (status == SPARC_OK && has_folder(run) && run->data.test.count > 0) status = measure_test(run);
  if (status != SPARC_OK) return status;
  if (has_targets(run)) measure_naive(run);
  run->result.finished = 1;
  run->result.early = run->result.done < run->config.train.updates;
  tell(run, &(sparc_run_event){.stage = SPARC_RUN_FINISHED, .run = run});
  return SPARC_OK;
}

static sparc_status stop_early(sparc_run *run) {
  return has_folder(run) && run->result.saved != run->result.done ? save_last(run) : SPARC_OK;
}

static sparc_status work(sparc_run *run) {
  sparc_status status = !run->trainer     ? begin(run)
                        : has_folder(run) ? written(run, run_lock_take(&run->folder, &run->lock))
                                          : SPARC_OK;
  if (status != SPARC_OK) return status;
  tell(run, &(sparc_run_event){.stage = SPARC_RUN_STARTED, .run = run});
  run->clock = seconds_now();
  while (status == SPARC_OK && !is_over(run) && !run->stop) status = update_once(run);
  if (status != SPARC_OK) return status;
  return is_over(run) ? conclude(run) : stop_early(run);
}

sparc_status sparc_run_execute(sparc_run *run, sparc_run_fn fn, void *user) {
  if (!run) return fail(SPARC_INVALID, "run is NULL");
  if (run->failed) return fail(SPARC_INVALID, "the run has failed before; create or open it again");
  run->fn = fn;
  run->user = user;
  run->stop = false;
  const sparc_status status = work(run);
  run_lock_release(&run->lock);
  if (status == SPARC_OK) return SPARC_OK;
  char message[512];
  snprintf(message, sizeof message, "%s", sparc_error());
  run->failed = true;
  tell(run, &(sparc_run_event){.stage = SPARC_RUN_FAILED, .run = run, .message = message});
  return fail(status, "%s", message);
}
