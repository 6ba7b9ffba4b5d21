/* SPDX-License-Identifier: MIT */
/* train.c: `sparc train`: settings, data, a run, and what came of it. */
#include "cli/train/run.h"

#include <string.h>

/* ---- what is about to happen --------------------------------------------------------------------- */

static const char *title_of(const train_data *data) { return data->task ? data->task->name : data->split.name; }

static void announce(const train_run *run) {
  const train_data *d = run->data;
  const sparc_train_config *c = sparc_trainer_config_of(run->trainer);
  progress_note(run->progress, "data      %s: %d to fit, %d to validate, %d to test; %d channels, up to %d steps",
                title_of(d), d->fit.count, d->validation.count, d->test.count, d->channels, d->fit.longest);
  if (d->split.differs[0]) progress_note(run->progress, "          not as in the paper: %s", d->split.differs);
  progress_note(run->progress, "network   %s, %d modes, %d layers: %zu parameters", c->network.cell, c->network.H,
                c->network.layers, sparc_network_params(sparc_trainer_network(run->trainer)));
  progress_note(run->progress, run->first ? "run       %s, continued after update %ld" : "run       %s", run->folder,
                run->first);
}

/* ---- what came of it ----------------------------------------------------------------------------- */

static double updates_per_second(const train_run *run) {
  const long done = sparc_trainer_updates_done(run->trainer) - run->first;
  return run->seconds > 0 ? (double)done / run->seconds : 0;
}

/* the merit as people call it: the paper gives generated tasks by their error, data sets by their accuracy */
static double named_score(const train_run *run, const run_score *s, const char **name) {
  const sparc_task *task = run->data->task;
  *name = task ? task->score_name : "accuracy";
  return !task ? s->merit : is_classifier(run) ? 1 - s->merit : -s->merit;
}

static void print_score(const train_run *run, const char *title, const run_score *s) {
  const char *name;
  const double value = named_score(run, s, &name);
  if (s->update > 0)
    printf("%-9s %s %s %.4f, loss %.4f, after update %ld\n", title, run->data->task ? "evaluation" : "validation", name,
           value, s->loss, s->update);
}

static void print_result(const train_run *run) {
  const sparc_train_config *c = sparc_trainer_config_of(run->trainer);
  printf("data      ");
  cli_text(title_of(run->data), 0);
  printf("\ncell      %s (%d modes, %d layers, %zu parameters), seed %llu, %ld updates\n", c->network.cell,
         c->network.H, c->network.layers, sparc_network_params(sparc_trainer_network(run->trainer)),
         (unsigned long long)c->seed, c->updates);
  print_score(run, "best", &run->best);
  print_score(run, "final", &run->final);
  if (run->test.examples > 0)
    printf("test      accuracy %.4f, loss %.4f, over %ld examples (official test)\n", run->test.accuracy,
           run->test.loss, run->test.examples);
  if (run->seconds > 0) printf("speed     %.1f updates/s\n", updates_per_second(run));
  printf("model     ");
  cli_text(run->best_path, 0);
  putchar('\n');
}

static json_t *json_score(const train_run *run, const run_score *s) {
  const bool classes = is_classifier(run);
  if (s->update == 0) return json_null();
  return json_pack("{s:I, s:f, s:f}", "update", (json_int_t)s->update, "loss", s->loss, classes ? "accuracy" : "nmse",
                   classes ? s->merit : -s->merit);
}

static json_t *json_test(const sparc_evaluation *e) {
  if (e->examples == 0) return json_null();
  return json_pack("{s:I, s:f, s:f}", "examples", (json_int_t)e->examples, "loss", e->loss, "accuracy", e->accuracy);
}

static json_t *json_result(const train_run *run) {
  const sparc_train_config *c = sparc_trainer_config_of(run->trainer);
  const char *name;
  json_t *object = json_pack(
      "{s:o, s:o, s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "run", cli_json_text(run->folder), "data",
      cli_json_text(title_of(run->data)), "cell", c->network.cell, "seed", json_integer((json_int_t)c->seed), "updates",
      (json_int_t)c->updates, "parameters", (json_int_t)sparc_network_params(sparc_trainer_network(run->trainer)),
      "best", json_score(run, &run->best), "final", json_score(run, &run->final), "test", json_test(&run->test),
      "updates_per_second", run->seconds > 0 ? json_real(updates_per_second(run)) : json_null(), "model",
      cli_json_text(run->best_path));
  if (object && run->data->task) json_object_set_new(object, "score", json_real(named_score(run, &run->final, &name)));
  return object;
}

/* ---- the command --------------------------------------------------------------------------------- */

static progress_style style_of(const train_settings *s) {
  if (s->quiet) return PROGRESS_NONE;
  if (!s->given[SET_progress]) return PROGRESS_AUTO;
  return strcmp(s->progress, "plain") == 0  ? PROGRESS_PLAIN
         : strcmp(s->progress, "none") == 0 ? PROGRESS_NONE
                                            : PROGRESS_AUTO;
}

static exit_code train(const char *who, train_settings *settings, train_data *data) {
  char options[CELL_OPTIONS_SIZE];
  sparc_train_config config;
  const sparc_status status = settings_apply(settings, data->task, data->channels, data->outputs, options, &config);
  if (status != SPARC_OK) {
    cli_message(who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  train_run run = {.who = who, .settings = settings, .data = data};
  exit_code code = run_prepare(&run, &config);
  if (code == EXIT_DONE) {
    run.progress = progress_start(style_of(settings), title_of(data), run.first, config.updates);
    announce(&run);
    code = run_execute(&run);
  }
  if (code == EXIT_DONE && settings->json) cli_json_line(who, json_result(&run));
  if (code == EXIT_DONE && !settings->json) print_result(&run);
  run_free(&run);
  return code;
}

static exit_code run_train(int argc, char **argv) {
  train_settings settings;
  train_data data = {.task = NULL};
  exit_code code = settings_parse(argc, argv, &settings);
  if (code == EXIT_DONE) {
    interrupt_catch();
    const sparc_data_options options = {
        .root = settings.given[SET_root] ? settings.root : NULL,
        .protocol = settings.official ? SPARC_PROTOCOL_OFFICIAL : SPARC_PROTOCOL_PAPER,
        .read = {.label_column = settings.given[SET_label_column] ? settings.label_column : NULL}};
    const sparc_status status = train_data_load(settings.data, &options, &data);
    code = cli_exit_code(status);
    if (status == SPARC_OK)
      code = train(argv[0], &settings, &data);
    else
      cli_message(argv[0], "%s", sparc_error());
  }
  train_data_free(&data);
  settings_free(&settings);
  return code;
}

const cli_command command_train = {"train", "train a network on a data set or a task", &train_argp, run_train};
