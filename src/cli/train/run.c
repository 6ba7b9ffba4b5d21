/* SPDX-License-Identifier: MIT */
/* run.c: a run that can be stopped at any moment.
 *
 * At a checkpoint the order is metrics, best.safetensors, last.safetensors, each complete before the next. Whatever is
 * lost by a kill in between is made again, bit by bit, from the last checkpoint before it.
 */
#include "cli/train/run.h"

#include "base/error.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool is_classifier(const train_run *run) {
  return !run->data->task || run->data->task->target_kind == SPARC_TARGET_CLASS;
}

/* messages begin on a line of their own */
static void end_progress(train_run *run) {
  progress_finish(run->progress);
  run->progress = NULL;
}

static exit_code report_failure(train_run *run, exit_code code) {
  end_progress(run);
  cli_message(run->who, "%s", sparc_error());
  return code;
}

/* what cannot be written is a failure, not a bad input */
static exit_code report_lost(train_run *run) {
  report_failure(run, EXIT_FAILED);
  if (run->saved >= 0) cli_message(run->who, "the checkpoint of update %ld in '%s' is intact", run->saved, run->last);
  return EXIT_FAILED;
}

/* ---- the folder ---------------------------------------------------------------------------------- */

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static const char *const run_files[] = {"last.safetensors", "best.safetensors", "metrics.jsonl",
                                        "metrics.csv",      "config.json",      NULL};

static void path_in(const train_run *run, const char *name, char path[RUN_PATH]) {
  snprintf(path, RUN_PATH, "%s/%s", run->folder, name);
}

/* mkdir -p */
static bool make_folder(const char *path) {
  char part[RUN_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(part, 0777) != 0 && errno != EEXIST) return false;
    *slash = '/';
  }
  struct stat status;
  if (mkdir(part, 0777) == 0) return true;
  const int reason = errno;
  if (reason == EEXIST && stat(part, &status) == 0 && !S_ISDIR(status.st_mode)) errno = ENOTDIR;
  return reason == EEXIST && errno != ENOTDIR;
}

/* with the fewest digits that read back as the same numbers */
static char *print_config(json_t *object) {
  char *text = NULL;
  for (size_t digits = 15; digits <= 17; digits++) {
    free(text);
    text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
    json_t *again = text ? json_loads(text, 0, NULL) : NULL;
    const bool same = json_equal(object, again);
    json_decref(again);
    if (same) break;
  }
  return text;
}

static sparc_status write_config(const train_run *run, json_t *object) {
  char path[RUN_PATH];
  path_in(run, "config.json", path);
  char *text = print_config(object);
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for '%s'", path);
  atomic_file file;
  sparc_status status = atomic_file_begin(&file, path);
  if (status == SPARC_OK) {
    status = atomic_file_write(&file, text, strlen(text));
    if (status == SPARC_OK) status = atomic_file_write(&file, "\n", 1);
    if (status == SPARC_OK)
      status = atomic_file_commit(&file);
    else
      atomic_file_abandon(&file);
  }
  free(text);
  return status;
}

/* a folder without a run in it; --force takes an old one away, its checkpoints first */
static exit_code clear_folder(const train_run *run) {
  char path[RUN_PATH];
  for (const char *const *name = run_files; *name; name++) {
    path_in(run, *name, path);
    if (!exists(path)) continue;
    if (!run->settings->force && !run->settings->resume) {
      cli_message(run->who, "'%s' holds a run already; --resume continues it, --force replaces it", run->folder);
      return EXIT_USAGE;
    }
    if (unlink(path) == 0) continue;
    cli_message(run->who, "cannot remove '%s': %s", path, strerror(errno));
    return EXIT_FAILED;
  }
  return EXIT_DONE;
}

/* what a run that was killed in the middle of a write left in the folder */
static sparc_status sweep_folder(const train_run *run) {
  char path[RUN_PATH];
  sparc_status status = SPARC_OK;
  for (const char *const *name = run_files; *name && status == SPARC_OK; name++) {
    path_in(run, *name, path);
    status = atomic_file_sweep(path);
  }
  return status;
}

/* ---- checkpoints --------------------------------------------------------------------------------- */

enum { EXTRAS = 5, EXTRA_SIZE = 40 };
static const char *const extra_keys[EXTRAS] = {"run.best_update", "run.best_merit", "run.best_loss",
                                               "run.data_checksum", "run.protocol"};

static const char *protocol_of(const train_run *run) {
  return run->data->task ? "task" : run->settings->official ? "official" : "paper";
}

static sparc_status save(const train_run *run, const char *path) {
  char text[EXTRAS][EXTRA_SIZE];
  sparc_metadata extra[EXTRAS];
  snprintf(text[0], EXTRA_SIZE, "%ld", run->best.update);
  snprintf(text[1], EXTRA_SIZE, "%.17g", run->best.merit);
  snprintf(text[2], EXTRA_SIZE, "%.17g", run->best.loss);
  snprintf(text[3], EXTRA_SIZE, "%08lx", run->data->checksum);
  snprintf(text[4], EXTRA_SIZE, "%s", protocol_of(run));
  for (int i = 0; i < EXTRAS; i++) extra[i] = (sparc_metadata){.key = extra_keys[i], .value = text[i]};
  return sparc_trainer_save(run->trainer, &run->data->preprocessing, extra, EXTRAS, path);
}

static sparc_status save_last(train_run *run) {
  sparc_status status = metrics_flush(&run->metrics);
  if (status == SPARC_OK) status = save(run, run->last);
  if (status == SPARC_OK) run->saved = sparc_trainer_updates_done(run->trainer);
  return status;
}

/* ---- beginning ----------------------------------------------------------------------------------- */

static exit_code begin_fresh(train_run *run, const sparc_train_config *config) {
  /* a run that was killed before its first checkpoint begins again; what it left is of no use */
  exit_code code = clear_folder(run);
  if (code != EXIT_DONE) return code;
  const sparc_status status = sparc_trainer_create(config, &run->data->fit, &run->trainer);
  if (status != SPARC_OK) return report_failure(run, cli_exit_code(status));
  if (!make_folder(run->folder)) {
    cli_message(run->who, "cannot make the folder '%s': %s", run->folder, strerror(errno));
    return EXIT_FAILED;
  }
  json_t *object = settings_json(run->settings, sparc_trainer_config_of(run->trainer));
  const sparc_status written =
      object ? write_config(run, object) : fail(SPARC_NO_MEMORY, "no memory for the configuration");
  json_decref(object);
  return written == SPARC_OK ? EXIT_DONE : report_failure(run, EXIT_FAILED);
}

/* what the last checkpoint says of the run besides the trainer's state */
static sparc_status read_extras(train_run *run) {
  sparc_tensors *file;
  sparc_status status = sparc_tensors_open(run->last, &file);
  if (status != SPARC_OK) return status;
  const char *text[EXTRAS];
  for (int i = 0; i < EXTRAS; i++) text[i] = sparc_tensors_metadata_find(file, extra_keys[i]);
  for (int i = 0; i < EXTRAS && status == SPARC_OK; i++)
    if (!text[i]) status = fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", run->last, extra_keys[i]);
  if (status == SPARC_OK) {
    run->best = (run_score){strtol(text[0], NULL, 10), strtod(text[1], NULL), strtod(text[2], NULL)};
    if (strtoul(text[3], NULL, 16) != run->data->checksum)
      status = fail(SPARC_FORMAT, "the examples of '%.200s' are not those that '%.200s' was trained on",
                    run->settings->data, run->last);
  }
  sparc_tensors_close(file);
  return status;
}

static bool is_same_run(const train_run *run, const sparc_train_config *config, const char *path) {
  json_error_t error;
  json_t *then = json_load_file(path, 0, &error), *now_set = settings_json(run->settings, config);
  const bool same = then && now_set && settings_same_run(run->who, now_set, then, path);
  json_decref(then);
  json_decref(now_set);
  return same;
}

static exit_code restore(train_run *run, const sparc_train_config *config) {
  char path[RUN_PATH];
  path_in(run, "config.json", path);
  if (!exists(path)) {
    cli_message(run->who, "'%s' has a checkpoint but no config.json, so it is no run to resume", run->folder);
    return EXIT_INPUT;
  }
  if (!is_same_run(run, config, path)) return EXIT_USAGE;
  sparc_status status = read_extras(run);
  if (status == SPARC_OK) status = sparc_trainer_restore(run->last, &run->data->fit, config->threads, &run->trainer);
  if (status != SPARC_OK) return report_failure(run, EXIT_INPUT);
  if (!is_same_run(run, sparc_trainer_config_of(run->trainer), path)) return EXIT_INPUT;
  run->saved = run->first = sparc_trainer_updates_done(run->trainer);
  return EXIT_DONE;
}

exit_code run_prepare(train_run *run, const sparc_train_config *config) {
  settings_folder(run->settings, run->folder, sizeof run->folder);
  path_in(run, "last.safetensors", run->last);
  path_in(run, "best.safetensors", run->best_path);
  run->saved = -1;
  /* a file size limit must give an error like a full disk, not a signal */
  signal(SIGXFSZ, SIG_IGN);
  const bool resume = run->settings->resume && exists(run->last);
  exit_code code = resume ? restore(run, config) : begin_fresh(run, config);
  if (code != EXIT_DONE) return code;
  if (sweep_folder(run) != SPARC_OK) return report_lost(run);
  const char *slash = strrchr(run->folder, '/');
  const char *name = slash && slash[1] ? slash + 1 : run->folder;
  if (metrics_open(run->folder, name, config->seed, run->saved, &run->metrics) != SPARC_OK) return report_lost(run);
  return EXIT_DONE;
}

void run_free(train_run *run) {
  progress_finish(run->progress);
  metrics_close(&run->metrics);
  sparc_trainer_free(run->trainer);
}

/* ---- one checkpoint ------------------------------------------------------------------------------ */

static run_score score_of(const train_run *run, const sparc_evaluation *e) {
  return (run_score){.update = sparc_trainer_updates_done(run->trainer),
                     .merit = is_classifier(run) ? e->accuracy : -e->nmse,
                     .loss = e->loss};
}

static bool is_better(const run_score *a, const run_score *b) {
  if (b->update == 0) return true;
  return a->merit > b->merit || (a->merit == b->merit && a->loss < b->loss);
}

static json_t *json_validation(const train_run *run, const run_score *s) {
  const bool classes = is_classifier(run);
  return json_pack("{s:I, s:f, s:f}", "update", (json_int_t)s->update, "validation_loss", s->loss,
                   classes ? "validation_accuracy" : "validation_nmse", classes ? s->merit : -s->merit);
}

static sparc_status validate(train_run *run) {
  sparc_evaluation e;
  sparc_status status = sparc_trainer_evaluate(run->trainer, &run->data->validation, &e);
  if (status == SPARC_OK && !isfinite(e.loss))
    status = fail(SPARC_NOT_FINITE, "the validation loss after update %ld is %g, expected a finite number",
                  sparc_trainer_updates_done(run->trainer), e.loss);
  if (status == SPARC_OK) run->final = score_of(run, &e);
  return status;
}

static void note_validation(const train_run *run, bool better) {
  const bool classes = is_classifier(run);
  progress_note(run->progress, "update %ld: validation %s %.4f  loss %.4f%s", run->final.update,
                classes ? "accuracy" : "NMSE", classes ? run->final.merit : -run->final.merit, run->final.loss,
                better ? "  (best)" : "");
}

/* validates where there is something to validate on, and saves */
static exit_code checkpoint_run(train_run *run) {
  sparc_status status = SPARC_OK;
  if (run->data->validation.count > 0) {
    status = validate(run);
    if (status != SPARC_OK) return report_failure(run, cli_exit_code(status));
    const bool better = is_better(&run->final, &run->best);
    if (better) run->best = run->final;
    note_validation(run, better);
    status = metrics_add(&run->metrics, json_validation(run, &run->final));
    if (status == SPARC_OK && better) status = save(run, run->best_path);
  }
  if (status == SPARC_OK) status = save_last(run);
  return status == SPARC_OK ? EXIT_DONE : report_lost(run);
}

/* ---- updates ------------------------------------------------------------------------------------- */

static sparc_status log_update(train_run *run, const sparc_update_report *r) {
  json_t *object = json_pack("{s:I, s:f, s:f, s:f}", "update", (json_int_t)r->update, "loss", r->loss, "gradient_norm",
                             r->gradient_norm, "rate", r->rate);
  if (object && is_classifier(run)) json_object_set_new(object, "accuracy", json_real(r->accuracy));
  return metrics_add(&run->metrics, object);
}

static void show_update(const train_run *run, const sparc_update_report *r) {
  char text[96];
  if (is_classifier(run))
    snprintf(text, sizeof text, "loss %.4f  accuracy %.3f", r->loss, r->accuracy);
  else
    snprintf(text, sizeof text, "loss %.4f", r->loss);
  progress_step(run->progress, r->update, r->loss, text);
}

static exit_code report_stop(train_run *run, sparc_status status) {
  report_failure(run, cli_exit_code(status));
  if (run->saved >= 0) cli_message(run->who, "the last good checkpoint, of update %ld, is '%s'", run->saved, run->last);
  return cli_exit_code(status);
}

static exit_code stop_early(train_run *run) {
  if (save_last(run) != SPARC_OK) return report_lost(run);
  end_progress(run);
  cli_message(run->who, "interrupted after update %ld; --resume --out '%s' continues", run->saved, run->folder);
  return EXIT_INTERRUPTED;
}

static exit_code update_once(train_run *run, long total) {
  enum { LOGS_PER_VALIDATION = 50 };
  const long every = run->settings->validate_every, log_every = (every + LOGS_PER_VALIDATION - 1) / LOGS_PER_VALIDATION;
  sparc_update_report report;
  const double begun = now();
  const sparc_status status = sparc_trainer_update(run->trainer, &report);
  run->seconds += now() - begun;
  if (status != SPARC_OK) return report_stop(run, status);
  show_update(run, &report);
  const bool ends = report.update == total;
  if ((report.update % log_every == 0 || ends) && log_update(run, &report) != SPARC_OK) return report_lost(run);
  return report.update % every == 0 || ends ? checkpoint_run(run) : EXIT_DONE;
}

/* ---- the end ------------------------------------------------------------------------------------- */

static sparc_status measure_test(train_run *run) {
  sparc_model *model;
  sparc_status status = sparc_model_load(run->best_path, (int)run->settings->threads, &model);
  if (status == SPARC_OK) status = sparc_model_evaluate(model, &run->data->test, &run->test);
  sparc_model_free(model);
  return status;
}

static exit_code conclude(train_run *run) {
  sparc_status status = SPARC_OK;
  /* without a validation part the last weights are the result */
  if (run->data->validation.count == 0) {
    if (save(run, run->best_path) != SPARC_OK) return report_lost(run);
  } else if (run->final.update == 0) {
    /* a finished run that was resumed */
    status = validate(run);
  }
  if (status == SPARC_OK && run->data->test.count > 0) status = measure_test(run);
  return status == SPARC_OK ? EXIT_DONE : report_failure(run, cli_exit_code(status));
}

exit_code run_execute(train_run *run) {
  const long total = sparc_trainer_config_of(run->trainer)->updates;
  while (sparc_trainer_updates_done(run->trainer) < total) {
    if (interrupt_requested()) return stop_early(run);
    const exit_code code = update_once(run, total);
    if (code != EXIT_DONE) return code;
  }
  end_progress(run);
  return conclude(run);
}
