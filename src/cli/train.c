/* SPDX-License-Identifier: MIT */
/* train.c: `sparc train`: one run with progress and results, or several in separate processes. */
#include "base/cpu.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/seeds.h"
#include "cli/settings.h"
#include "io/json.h"
#include "io/settings_rows.h"
#include "run/launch.h"
#include "run/provenance.h"
#include "run/ranked.h"
#include "run/run.h"
#include "run/run_settings.h"

#include <math.h>
#include <signal.h>

typedef struct train_work {
  const char *seeds;
  int jobs;
  uint64_t given;
} train_work;

#define SETTING_STRUCT train_work
static const setting work_rows[] = {SEEDS_SETTING, JOBS_SETTING};
static const settings_table work_table = SETTINGS_TABLE(work_rows);

typedef struct train_command {
  const char *who; /* opens messages */
  sparc_run_config config;
  tool_settings tool;
  train_work work;
  char folder[CLI_PATH - 64];
  sparc_run *run;
  progress *progress;
  int out; /* file descriptor for the score of one of several runs, which prints no summary; else -1 */
} train_command;

/* kind of sparc_run_score.score */
typedef enum score_kind { ACCURACY, NMSE, R2 } score_kind;

static const struct {
  const char *name, *key; /* in text and in JSON */
  double sign;            /* -1: sparc_run_score.score is the negative */
} score_kinds[] = {[ACCURACY] = {"accuracy", "accuracy", 1}, [NMSE] = {"NMSE", "nmse", -1}, [R2] = {"R2", "r2", 1}};

static score_kind score_kind_of(const sparc_run *run) {
  const sparc_run_data d = sparc_run_data_of(run);
  if (!d.task) return d.fit.targets ? R2 : ACCURACY;
  return d.task->target_kind == SPARC_TARGET_CLASS ? ACCURACY : NMSE;
}

static bool has_ridge(const sparc_run *run) { return sparc_run_config_of(run).train.readout == SPARC_READOUT_RIDGE; }

/* whether the best score is that of training examples left out one at a time */
static bool is_left_one_out(const sparc_run *run) {
  return has_ridge(run) && sparc_run_data_of(run).validation.count == 0;
}

static size_t parameters(const sparc_run *run) {
  return sparc_network_sizes_of(sparc_trainer_info_of(run_trainer(run)).network).params;
}

/* ---- progress ------------------------------------------------------------------------------------ */

/* settings that differ from the paper, requested or because there are few examples */
static void announce_recipe(const train_command *t, const sparc_run_config *c, int rows) {
  const struct {
    const char *name;
    double value;
  } parts[] = {{"label-smoothing", c->train.label_smoothing},
               {"jitter", c->train.jitter},
               {"scaling", c->train.scaling},
               {"crop", c->train.crop},
               {"ema-decay", c->train.ema_decay}};
  char list[160] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].value > 0)
      used +=
          (size_t)snprintf(list + used, sizeof list - used, "%s%s %g", used ? ", " : "", parts[i].name, parts[i].value);
  if (c->train.readout == SPARC_READOUT_RIDGE)
    progress_note(t->progress, "recipe    %s, for %d rows: ridge readout (--readout gradient to train all weights)",
                  recipe_name(c->recipe), rows);
  else if (c->recipe == SPARC_RECIPE_SMALL)
    progress_note(t->progress, "recipe    small, for %d rows: %s (--recipe paper for none)", rows,
                  used ? list : "nothing");
  else if (used)
    progress_note(t->progress, "recipe    the paper's, and %s", list);
  if (c->patience > 0)
    progress_note(t->progress,
                  "length    at most %ld updates for %d rows; stops after %d validations without improvement",
                  c->train.updates, rows, c->patience);
}

/* a score over few rows is unreliable; cross-validation uses every row */
static void announce_validation(const train_command *t, const sparc_run_config *c, const sparc_run_data *d) {
  enum { FEW = 20, FOLDS = 5 };
  const int rows = d->fit.count + d->validation.count, scored = d->validation.count;
  if (scored == 0 || scored >= FEW || d->test.count || c->read.folds > 0 ||
      c->read.objective == SPARC_OBJECTIVE_FORECAST)
    return;
  progress_note(t->progress,
                "validate  only %d validation row%s select%s the checkpoint; --folds %d validates on all %d", scored,
                scored > 1 ? "s" : "", scored > 1 ? "" : "s", rows < FOLDS ? rows : FOLDS, rows);
}

static void announce_start(const train_command *t, const sparc_run_config *c) {
  const sparc_run_result r = sparc_run_result_of(t->run);
  if (c->from && r.first == 0)
    progress_note(t->progress, "from      %s, %s", c->from,
                  r.new_head ? "with a new head: classes or head differ" : "with its head");
}

static void announce_network(const train_command *t, const sparc_run_config *c) {
  const sparc_network_config *n = &c->train.network;
  if (c->train.readout == SPARC_READOUT_RIDGE)
    progress_note(t->progress, "network   %d filters with %d thresholds each, ridge readout: %zu parameters",
                  SPARC_BANK_MODES, SPARC_BANK_THRESHOLDS, parameters(t->run));
  else
    progress_note(t->progress, "network   %s (%s), %d modes, %d layers: %zu parameters", n->cell, n->cell_options, n->H,
                  n->layers, parameters(t->run));
}

static void announce(const train_command *t) {
  const sparc_run_data d = sparc_run_data_of(t->run);
  const sparc_run_config c = sparc_run_config_of(t->run);
  const long first = sparc_run_result_of(t->run).first;
  progress_note(t->progress, "data      %s: %d to fit, %d to validate, %d to test; %d channels, up to %d steps", d.name,
                d.fit.count, d.validation.count, d.test.count, d.fit.channels, d.fit.longest);
  if (d.warning[0]) progress_note(t->progress, "warning   %s", d.warning);
  if (d.paper_difference[0]) progress_note(t->progress, "          not as in the paper: %s", d.paper_difference);
  announce_network(t, &c);
  announce_recipe(t, &c, d.fit.count);
  announce_validation(t, &c, &d);
  announce_start(t, &c);
  progress_note(t->progress, first ? "run       %s, continued after update %ld" : "run       %s", c.folder, first);
}

static void show_start(train_command *t) {
  const progress_style style = t->tool.quiet ? PROGRESS_NONE : (progress_style)t->tool.progress;
  const sparc_run_config c = sparc_run_config_of(t->run);
  t->progress =
      progress_start(style, sparc_run_data_of(t->run).name, sparc_run_result_of(t->run).first, c.train.updates);
  announce(t);
}

static void show_update(const train_command *t, const sparc_update_report *r) {
  char text[160];
  if (has_ridge(t->run))
    snprintf(text, sizeof text, "leave-one-out loss %.4f  accuracy %.3f", r->loss, r->accuracy);
  else if (score_kind_of(t->run) == ACCURACY)
    snprintf(text, sizeof text, "loss %.4f  accuracy %.3f", r->loss, r->accuracy);
  else
    snprintf(text, sizeof text, "loss %.4f", r->loss);
  cli_ranks_show(text, sizeof text);
  progress_step(t->progress, r->update, r->loss, text);
}

static void show_validation(const train_command *t, const sparc_run_score *s, bool best) {
  const score_kind m = score_kind_of(t->run);
  progress_note(t->progress, "update %ld: validation %s %.4f  loss %.4f%s", s->update, score_kinds[m].name,
                score_kinds[m].sign * s->score, s->loss, best ? "  (best)" : "");
}

static int watch(void *user, const sparc_run_event *event) {
  train_command *t = user;
  switch (event->stage) {
    case SPARC_RUN_STARTED:
      show_start(t);
      break;
    case SPARC_RUN_UPDATE:
      show_update(t, event->update);
      break;
    case SPARC_RUN_VALIDATED:
      show_validation(t, event->score, event->best);
      break;
    case SPARC_RUN_CHECKPOINT:
    case SPARC_RUN_FINISHED:
    case SPARC_RUN_FAILED:
      break;
  }
  return interrupt_requested();
}

/* ---- results ------------------------------------------------------------------------------------- */

static double updates_per_second(const sparc_run_result *r) {
  return r->seconds > 0 ? (double)(r->done - r->first) / r->seconds : 0;
}

/* the score as reported: an error for generated tasks, as in the paper, an accuracy for data sets */
static double named_score(const sparc_run *run, const sparc_run_score *s, const char **name) {
  const sparc_task *task = sparc_run_data_of(run).task;
  *name = task ? task->score_name : score_kinds[score_kind_of(run)].name;
  return !task ? s->score : score_kind_of(run) == ACCURACY ? 1 - s->score : -s->score;
}

static const char *baseline_name(const sparc_run *run) {
  return sparc_run_config_of(run).read.objective == SPARC_OBJECTIVE_FORECAST ? "persistence"
                                                                             : "the mean of the fit part";
}

static void print_score(const sparc_run *run, const char *title, const sparc_run_score *s) {
  const char *name;
  const double value = named_score(run, s, &name);
  const sparc_run_data d = sparc_run_data_of(run);
  if (s->update == 0) return;
  printf("%-9s %s %s %.4f, ", title,
         d.task                 ? "evaluation"
         : is_left_one_out(run) ? "leave-one-out"
                                : "validation",
         name, value);
  if (score_kind_of(run) == R2) printf("MSE %.6g, ", s->mse);
  printf("loss %.4f", s->loss);
  if (!has_ridge(run)) printf(", after update %ld", s->update);
  putchar('\n');
}

static void print_test(const sparc_run *run, const sparc_run_result *r) {
  const sparc_evaluation *e = &r->test;
  if (e->examples > 0 && score_kind_of(run) == R2)
    printf("test      R2 %.4f, MSE %.6g, over %ld examples (test part)\n", e->r2, e->mse, e->examples);
  else if (e->examples > 0)
    printf("test      accuracy %.4f, loss %.4f, over %ld examples (official test)\n", e->accuracy, e->loss,
           e->examples);
  if (score_kind_of(run) == R2 && isfinite(r->baseline_mse))
    printf("baseline  MSE %.6g, of %s on the %s part\n", r->baseline_mse, baseline_name(run),
           e->examples > 0 ? "test" : "validation");
}

typedef struct reason {
  char text[64];
} reason;

static reason why_stopped(const sparc_run_config *c, const sparc_run_result *r) {
  reason why;
  if (r->out_of_time)
    snprintf(why.text, sizeof why.text, "time budget of %g seconds used up", c->time_budget);
  else
    snprintf(why.text, sizeof why.text, "no improvement in %d validations", c->patience);
  return why;
}

static void print_network(const sparc_run *run, const sparc_run_result *r) {
  const sparc_run_config c = sparc_run_config_of(run);
  const sparc_network_config *n = &c.train.network;
  const unsigned long long seed = c.train.seed;
  if (has_ridge(run)) {
    printf("network   %d filters with %d thresholds each, ridge readout (%zu parameters), seed %llu\n",
           SPARC_BANK_MODES, SPARC_BANK_THRESHOLDS, parameters(run), seed);
    return;
  }
  printf("cell      %s (%d modes, %d layers, %zu parameters), seed %llu, %ld updates\n", n->cell, n->H, n->layers,
         parameters(run), seed, r->done);
  if (r->stopped_early)
    printf("stopped   %s, %ld updates before the end\n", why_stopped(&c, r).text, c.train.updates - r->done);
  if (*n->cell_options) printf("options   %s\n", n->cell_options);
}

static void print_speed(const sparc_run *run, const sparc_run_result *r) {
  if (r->seconds <= 0) return;
  if (has_ridge(run))
    printf("seconds   %.2f\n", r->seconds);
  else
    printf("speed     %.1f updates/s\n", updates_per_second(r));
}

static void print_result(const sparc_run *run) {
  const sparc_run_config c = sparc_run_config_of(run);
  const sparc_run_result r = sparc_run_result_of(run);
  printf("data      ");
  cli_text(sparc_run_data_of(run).name, 0);
  putchar('\n');
  print_network(run, &r);
  print_score(run, "best", &r.best);
  if (!has_ridge(run)) print_score(run, "final", &r.final);
  print_test(run, &r);
  print_speed(run, &r);
  printf("model     ");
  cli_text(c.folder, 0);
  puts("/best.safetensors");
}

/* the examples of the best and the final score */
static const char *scored_on(const sparc_run *run) {
  const sparc_run_data d = sparc_run_data_of(run);
  return d.task                   ? "evaluation"
         : d.validation.count > 0 ? "validation"
         : is_left_one_out(run)   ? "leave-one-out"
                                  : "none";
}

static json_t *json_score(const sparc_run *run, const sparc_run_score *s) {
  const score_kind m = score_kind_of(run);
  if (s->update == 0) return json_null();
  json_t *object = json_pack("{s:I, s:f, s:f}", "update", (json_int_t)s->update, "loss", s->loss, score_kinds[m].key,
                             score_kinds[m].sign * s->score);
  if (object && m == R2) json_object_set_new(object, "mse", json_real(s->mse));
  return object;
}

static json_t *json_test(const sparc_run *run, const sparc_evaluation *e) {
  if (e->examples == 0) return json_null();
  if (score_kind_of(run) == R2)
    return json_pack("{s:I, s:f, s:f, s:f}", "examples", (json_int_t)e->examples, "loss", e->loss, "mse", e->mse, "r2",
                     e->r2);
  return json_pack("{s:I, s:f, s:f}", "examples", (json_int_t)e->examples, "loss", e->loss, "accuracy", e->accuracy);
}

static json_t *json_result(const sparc_run *run) {
  const sparc_run_config c = sparc_run_config_of(run);
  const sparc_run_result r = sparc_run_result_of(run);
  const sparc_run_data d = sparc_run_data_of(run);
  const sparc_network_config *n = &c.train.network;
  char model[CLI_PATH];
  snprintf(model, sizeof model, "%s/best.safetensors", c.folder);
  json_t *object = json_pack(
      "{s:o, s:o, s:s, s:o, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "run", json_text(c.folder), "data",
      json_text(d.name), "cell", n->cell, "variant", cli_json_variant(n->cell_options), "options", n->cell_options,
      "seed", (json_int_t)c.train.seed, "updates", (json_int_t)r.done, "parameters", (json_int_t)parameters(run),
      "best", json_score(run, &r.best), "final", json_score(run, &r.final), "test", json_test(run, &r.test),
      "updates_per_second", r.seconds > 0 ? json_real(updates_per_second(&r)) : json_null(), "model", json_text(model));
  const char *name;
  const bool ridge = c.train.readout == SPARC_READOUT_RIDGE;
  if (object) json_object_set_new(object, "recipe", json_string(recipe_name(c.recipe)));
  if (object) json_object_set_new(object, "readout", json_string(ridge ? "ridge" : "gradient"));
  if (object) json_object_set_new(object, "scored", json_string(scored_on(run)));
  static const char *const of_cells[] = {"cell", "variant", "options"};
  for (size_t i = 0; object && ridge && i < sizeof of_cells / sizeof *of_cells; i++)
    json_object_set_new(object, of_cells[i], json_null());
  if (object && r.stopped_early) json_object_set_new(object, "early", json_true());
  if (object && r.out_of_time) json_object_set_new(object, "expired", json_true());
  if (object && score_kind_of(run) == R2)
    json_object_set_new(object, "naive_mse", isfinite(r.baseline_mse) ? json_real(r.baseline_mse) : json_null());
  if (object && d.task) json_object_set_new(object, "score", json_real(named_score(run, &r.final, &name)));
  if (object) json_object_set_new(object, "provenance", provenance_json(run_provenance(run)));
  return object;
}

/* ---- the command --------------------------------------------------------------------------------- */

static sparc_status find_folder(const void *config, char *path, size_t size) {
  const sparc_run_config *c = config;
  if (c->folder) {
    snprintf(path, size, "%s", c->folder);
    return SPARC_OK;
  }
  if (c->data) return run_default_folder(c, path, size);
  return fail(SPARC_INVALID, "--resume needs DATA and the options of the run, or --out with its folder");
}

static exit_code report_failure(const train_command *t, sparc_status status) {
  cli_message(t->who, "%s", sparc_error());
  const sparc_run_result r = t->run ? sparc_run_result_of(t->run) : (sparc_run_result){.saved = -1};
  if (r.saved >= 0 && r.io_failed)
    cli_message(t->who, "the checkpoint of update %ld in '%s' is intact", r.saved, t->folder);
  else if (r.saved >= 0)
    cli_message(t->who, "the last good checkpoint, of update %ld, is '%s/last.safetensors'", r.saved, t->folder);
  return r.io_failed ? EXIT_FAILED : cli_exit_code(status);
}

/* one run for each fold; --fold selects a single one */
static bool is_cross_validated(const train_command *t) { return t->config.read.folds > 1 && t->config.read.fold < 1; }

/* score for comparing runs: test part, else best validation, or last evaluation of a task; NAN: there is none */
static double compared_score(const sparc_run *run, const char **name) {
  sparc_run_result r = sparc_run_result_of(run);
  if (sparc_run_data_of(run).task) return named_score(run, &r.final, name);
  const bool numbers = score_kind_of(run) == R2;
  if (sparc_run_config_of(run).read.folds > 1) r.test.examples = 0; /* the fold is the held-out part */
  *name = r.test.examples > 0    ? (numbers ? "test R2" : "test accuracy")
          : is_left_one_out(run) ? "leave-one-out accuracy"
                                 : (numbers ? "validation R2" : "validation accuracy");
  if (r.test.examples == 0) return r.best.update > 0 ? r.best.score : NAN;
  return numbers ? r.test.r2 : r.test.accuracy;
}

/* a line that the first of several processes reads */
static bool pass_score_on(const train_command *t) {
  const char *name;
  const double score = compared_score(t->run, &name);
  return dprintf(t->out, "%.17g %s\n", score, name) > 0;
}

static exit_code report_result(const train_command *t) {
  const sparc_run_result r = sparc_run_result_of(t->run);
  if (!r.finished) {
    cli_message(t->who, "interrupted after update %ld; --resume --out %s continues", r.saved,
                cli_shell_word(t->folder).text);
    return EXIT_INTERRUPTED;
  }
  const bool one_of_several = t->out >= 0;
  if (one_of_several && !pass_score_on(t)) return EXIT_FAILED;
  if (t->tool.json)
    cli_json_line(t->who, json_result(t->run));
  else if (!one_of_several)
    print_result(t->run);
  return EXIT_DONE;
}

static sparc_status train(train_command *t) {
  if (!t->config.data || !*t->config.data)
    return fail(SPARC_INVALID, "no DATA or TASK given; `%s --help` tells more", t->who);
  sparc_status status = find_folder(&t->config, t->folder, sizeof t->folder);
  t->config.folder = t->folder;
  if (status == SPARC_OK) status = sparc_run_create(&t->config, &t->run);
  status = ranks_agree(cli_ranks(), status, NULL);
  int threads = 0;
  if (status == SPARC_OK) status = launch_threads(cli_ranks(), &threads);
  if (status == SPARC_OK) run_join(t->run, cli_ranks(), threads);
  if (status == SPARC_OK) status = sparc_run_execute(t->run, watch, t);
  progress_finish(t->progress);
  return status;
}

static exit_code run_one(train_command *t) {
  const sparc_status status = train(t);
  const exit_code code = status == SPARC_OK ? report_result(t) : report_failure(t, status);
  sparc_run_free(t->run);
  t->run = NULL;
  return code;
}

/* ---- several runs -------------------------------------------------------------------------------- */

/* in a process of its own: it says nothing but JSON, its score goes to the first process */
static exit_code run_seed(void *user, uint64_t seed, const char *folder, int out) {
  train_command *t = user;
  if (is_cross_validated(t))
    t->config.read.fold = (int)seed;
  else
    t->config.train.seed = seed;
  if (folder) t->config.folder = folder;
  t->out = out;
  return run_one(t);
}

static void summarise(const train_command *t, const seeds_scores *s) {
  if (s->count == 0) return;
  const bool folds = is_cross_validated(t);
  if (t->tool.json)
    cli_json_line(t->who, json_pack("{s:o, s:i, s:s, s:f, s:f, s:f, s:f}", "data", json_text(t->config.data),
                                    folds ? "folds" : "seeds", s->count, "score", s->name, "mean", s->mean, "sd",
                                    s->stddev, "least", s->min, "most", s->max));
  else
    printf("%d %s: mean %s %.4f (sd %.4f), %.4f to %.4f\n", s->count, folds ? "folds" : "seeds", s->name, s->mean,
           s->stddev, s->min, s->max);
}

static sparc_status folder_of_seed(void *user, uint64_t seed, const char *folder, char *path, size_t size) {
  sparc_run_config config = ((const train_command *)user)->config;
  if (!is_cross_validated(user)) config.train.seed = seed;
  if (folder) config.folder = folder;
  return find_folder(&config, path, size);
}

static exit_code run_seeds(train_command *t) {
  char all[32], out[CLI_PATH - 64];
  const bool folds = is_cross_validated(t);
  snprintf(all, sizeof all, "1-%d", t->config.read.folds);
  const sparc_status status = !folds           ? SPARC_OK
                              : t->work.seeds  ? fail(SPARC_INVALID, "--folds and --seeds exclude each other")
                              : t->config.data ? find_folder(&t->config, out, sizeof out)
                                               : fail(SPARC_INVALID, "no DATA given; `%s --help` tells more", t->who);
  if (status != SPARC_OK) return report_failure(t, status);
  const seeds_work work = {.who = t->who,
                           .seeds = folds ? all : t->work.seeds,
                           .unit = folds ? "fold" : "seed",
                           .jobs = t->work.jobs,
                           .out = folds ? out : t->config.folder,
                           .quiet = t->tool.json,
                           .resumes = t->config.resume,
                           .folder_of = folder_of_seed,
                           .run = run_seed,
                           .user = t};
  seeds_scores scores;
  t->tool.quiet = 1;
  t->config.resume_or_create |= t->config.resume;
  t->config.resume = 0;
  if (t->config.train.threads < 1) {
    const int share = cpu_available() / t->work.jobs;
    t->config.train.threads = share > 1 ? share : 1;
  }
  const exit_code code = seeds_run(&work, &scores);
  summarise(t, &scores);
  return code;
}

/* ---- the command line ---------------------------------------------------------------------------- */

static const char doc[] =
    "Train a network on a named data set, a data file, or one of the generated tasks event-order, event-order-anywhere "
    "and tracking. The defaults are the paper's settings, except for the length, the split and few examples, see "
    "--recipe and --split. The run folder gets config.json, metrics.jsonl, metrics.csv, "
    "and the checkpoints last.safetensors and best.safetensors."
    " Under mpirun the ranks share the work of each update, see --shards."
    "\vSIGINT, SIGTERM, SIGHUP and SIGUSR1 save the run; --resume continues it bit-exactly. Exit status: 0 done, 1 a "
    "file could "
    "not be "
    "written, 2 usage, 3 an input file is missing or malformed, 4 a number that is not finite, 130 interrupted.";

static exit_code run_train(int argc, char **argv) {
  train_command t = {.who = argv[0], .out = -1};
  settings_binding binding = run_binding(&t.config);
  settings_bind(&binding, &tool_table, &t.tool, &t.tool.given);
  settings_bind(&binding, &work_table, &t.work, &t.work.given);
  cli_sources *sources;
  const cli_usage usage = {
      .options = {train_options, read_options, tool_options}, .doc = doc, .folder = find_folder, .config = &t.config};
  const sparc_status status = cli_settings_read(argc, argv, &usage, &binding, &sources);
  exit_code code;
  if (status == SPARC_OK) {
    const settings_binding of_tool = {.part = {{.table = &tool_table, .at = &t.tool, .given = &t.tool.given},
                                               {.table = &work_table, .at = &t.work, .given = &t.work.given}}};
    settings_fill_defaults(&of_tool, DEFAULT_DATA);
    interrupt_catch();
    /* a file size limit must give an error like a full disk, not a signal */
    signal(SIGXFSZ, SIG_IGN);
    const bool several = t.work.seeds || is_cross_validated(&t);
    if (several && cli_ranks()) {
      cli_message(t.who, "--%s does not run on several ranks; start it without mpirun",
                  t.work.seeds ? "seeds" : "folds");
      code = EXIT_USAGE;
    } else {
      code = several ? run_seeds(&t) : run_one(&t);
    }
  } else {
    code = report_failure(&t, status);
  }
  cli_sources_free(sources);
  return code;
}

const cli_command command_train = {"train", "train a network on a data set or a task", NULL, run_train, CLI_ALL_RANKS};
