/* SPDX-License-Identifier: MIT */
/* learn.c: `sparc learn`: online learning from a stream of lines. */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/predictions.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "data/csv_text.h"
#include "io/json.h"
#include "io/settings_rows.h"
#include "online/learner_settings.h"
#include "run/learn_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CSV, JSONL, NONE }; /* the order of styles */
static const char *const styles[] = {"csv", "jsonl", "none", NULL};

typedef struct learn_output {
  const char *input;
  int style;
  int keep_going;
  int intervals, anomaly;
  uint64_t given;
} learn_output;

typedef struct learn_command {
  const char *who;
  sparc_learn_run_config config;
  learn_output options;
  tool_settings tool;
  sparc_learn_run *run;
  predictions predictions;
  float *low, *high, *anomaly; /* (outputs), (outputs), (inputs) of a step; NULL: not requested */
  progress *progress;
  line_input input;
  long line;
  char *first;    /* the first line after a line "sep=;", with it; NULL: none */
  char name[300]; /* of the line */
  bool begun;     /* there is a learner */
  bool warned;    /* of a blank line */
  bool io_failed; /* the learner's file could not be locked or written */
} learn_command;

#define SETTING_STRUCT learn_output
static const setting learn_rows[] = {
    {"input", NULL, TEXT(input), ROLE(COMMAND_LINE)},
    {"format", NULL, CHOICE(style, styles), ROLE(UNRECORDED), DEFAULT("csv")},
    {"intervals", NULL, FLAG(intervals), ROLE(UNRECORDED)},
    {"anomaly", NULL, FLAG(anomaly), ROLE(UNRECORDED)},
    {"keep-going", NULL, FLAG(keep_going), ROLE(UNRECORDED)},
};
static const settings_table learn_table = SETTINGS_TABLE(learn_rows);

static const char doc[] =
    "Learn online from a stream. Each line of FILE, or of standard input, is a step of comma-separated numbers; the "
    "first line may name the columns. Each step is predicted first and then learned from, with exact gradients (RTRL) "
    "over the whole stream in constant memory. Without --target and --label all columns are forecast, --horizon steps "
    "ahead; with them these columns hold the target of this step, or of the step --horizon steps ago; it may be "
    "missing."
    "\vPredictions go to standard output, scores to standard error. --json replaces both by one object at the end. "
    "SIGINT, SIGTERM, SIGHUP and SIGUSR1 end the stream, and the learner is written. Exit status: 0 done, 1 a file "
    "could not be written or the cell has no RTRL form, 2 usage, 3 the input is missing or malformed, 4 a number that "
    "is not finite, 130 interrupted.";

/* ---- output --------------------------------------------------------------------------------- */

static const sparc_learner *learner_of(const learn_command *c) { return sparc_learn_run_info_of(c->run).learner; }

static bool learns_classes(const learn_command *c) {
  return sparc_learner_info_of(learner_of(c)).config->objective == SPARC_LEARN_CLASSIFY;
}

static void describe_score(const learn_command *c, char *text, size_t size) {
  const sparc_learn_run_score s = sparc_learn_run_result_of(c->run).score;
  if (s.targets == 0)
    snprintf(text, size, "no target yet");
  else if (learns_classes(c))
    snprintf(text, size, "accuracy %.4f", s.recent_accuracy);
  else
    snprintf(text, size, "rmse %.4g", sqrt(s.recent_loss));
}

static void report_progress(const learn_command *c) {
  enum { PROGRESS_STEPS = 256 };
  const long steps = sparc_learner_report_of(learner_of(c)).steps;
  if (steps % PROGRESS_STEPS != 0) return;
  char text[96];
  describe_score(c, text, sizeof text);
  const sparc_learn_run_score s = sparc_learn_run_result_of(c->run).score;
  progress_step(c->progress, steps, learns_classes(c) ? s.recent_accuracy : sqrt(s.recent_loss), text);
}

/* scores and baselines of each horizon of a mixture */
static void report_horizons(const learn_command *c) {
  const sparc_learn_run_score all = sparc_learn_run_result_of(c->run).score;
  for (int j = 0; j < all.horizons; j++) {
    const sparc_horizon_score *s = &all.horizon[j];
    if (s->targets == 0) continue;
    fprintf(stderr, "horizon   %d: rmse %.5g; persistence %.5g, seasonal naive %.5g", s->horizon, sqrt(s->loss),
            sqrt(s->persistence), sqrt(s->seasonal_naive));
    if (s->intervals > 0)
      fprintf(stderr, "; %g %% intervals cover %.4f of %ld",
              100 * sparc_learner_info_of(learner_of(c)).config->coverage, s->coverage, s->intervals);
    fputc('\n', stderr);
  }
}

static void report_periods(const learn_command *c) {
  const sparc_learner_config l = *sparc_learner_info_of(learner_of(c)).config;
  const int inputs = l.forecaster == SPARC_FORECAST_MIXTURE ? l.network.inputs : 0;
  for (int i = 0, period[2]; i < inputs; i++) {
    (void)sparc_learner_periods(learner_of(c), i, period);
    if (period[0] > 0) fprintf(stderr, "period    %s: %d\n", sparc_learn_run_info_of(c->run).inputs[i], period[0]);
  }
}

static void report_result(const learn_command *c) {
  const sparc_learner_report r = sparc_learner_report_of(learner_of(c));
  const sparc_learn_run_score s = sparc_learn_run_result_of(c->run).score;
  const long recent = s.targets < SPARC_LEARN_RUN_RECENT ? s.targets : SPARC_LEARN_RUN_RECENT;
  fprintf(stderr, "stream    %ld steps, %ld targets, %ld updates\n", r.steps, r.targets, r.updates);
  if (s.targets > 0 && learns_classes(c))
    fprintf(stderr, "accuracy  %.4f, %.4f in the last %ld; most frequent class %.4f\n", s.accuracy, s.recent_accuracy,
            recent, s.baseline);
  else if (s.targets > 0)
    fprintf(stderr, "rmse      %.5g, %.5g in the last %ld; baseline %.5g, %.5g\n", sqrt(s.loss), sqrt(s.recent_loss),
            recent, sqrt(s.baseline), sqrt(s.recent_baseline));
  if (isfinite(s.last_target)) fprintf(stderr, "baseline  last target: rmse %.5g\n", sqrt(s.last_target));
  report_horizons(c);
  report_periods(c);
  if (c->config.model && !c->config.frozen && !c->io_failed) fprintf(stderr, "learner   %s\n", c->config.model);
}

static json_t *number_or_null(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* scores of a mixture; NULL for other learners */
static json_t *horizons_json(const learn_command *c) {
  const sparc_learn_run_score all = sparc_learn_run_result_of(c->run).score;
  json_t *array = all.horizons > 0 ? json_array() : NULL;
  for (int j = 0; array && j < all.horizons; j++) {
    const sparc_horizon_score *s = &all.horizon[j];
    json_array_append_new(
        array, json_pack("{s:i, s:I, s:o, s:o, s:o, s:o}", "horizon", s->horizon, "targets", (json_int_t)s->targets,
                         "loss", number_or_null(s->loss), "persistence", number_or_null(s->persistence),
                         "seasonal_naive", number_or_null(s->seasonal_naive), "covered", number_or_null(s->coverage)));
  }
  return array;
}

static void print_json(const learn_command *c) {
  const sparc_learner_config l = *sparc_learner_info_of(learner_of(c)).config;
  const sparc_learner_report r = sparc_learner_report_of(learner_of(c));
  const sparc_learn_run_score s = sparc_learn_run_result_of(c->run).score;
  json_t *object = json_pack("{s:o, s:s, s:s, s:o, s:s, s:I, s:i, s:I, s:I, s:I}", "input", json_text(c->options.input),
                             "goal", learner_objectives[l.objective], "cell", l.network.cell, "variant",
                             cli_json_variant(l.network.cell_options), "options", l.network.cell_options, "seed",
                             (json_int_t)l.seed, "horizon", l.horizon, "steps", (json_int_t)r.steps, "truths",
                             (json_int_t)r.targets, "updates", (json_int_t)r.updates);
  if (object) {
    json_object_set_new(object, "loss", number_or_null(s.loss));
    json_object_set_new(object, "recent_loss", number_or_null(s.recent_loss));
    json_object_set_new(object, "naive", number_or_null(s.baseline));
    if (learns_classes(c)) {
      json_object_set_new(object, "accuracy", number_or_null(s.accuracy));
      json_object_set_new(object, "recent_accuracy", number_or_null(s.recent_accuracy));
    } else {
      json_object_set_new(object, "recent_naive", number_or_null(s.recent_baseline));
    }
    if (isfinite(s.last_target)) json_object_set_new(object, "last_target", json_real(s.last_target));
    json_t *horizons = horizons_json(c);
    if (horizons) json_object_set_new(object, "horizons", horizons);
    json_object_set_new(object, "model", c->config.model ? json_text(c->config.model) : json_null());
  }
  cli_json_line(c->who, object);
}

static bool prints_predictions(const learn_command *c) { return !c->tool.json && c->options.style != NONE; }

static void print_prediction(learn_command *c, const float *prediction) {
  if (!prints_predictions(c)) return;
  const sparc_learner *learner = learner_of(c);
  const learn_run_texts texts = learn_run_texts_of(c->run);
  c->predictions.row = sparc_learner_report_of(learner).steps;
  c->predictions.id = texts.id;
  c->predictions.time = texts.time;
  if (c->low || c->anomaly) (void)sparc_learner_interval(learner, c->low, c->high, c->anomaly);
  (c->predictions.kind == PREDICTION_CLASSES ? predictions_class : predictions_numbers)(&c->predictions, prediction);
}

/* ---- the stream ----------------------------------------------------------------------------------- */

static bool finished(void) { return interrupt_requested() || cli_output_lost(); }

static sparc_status open_input(learn_command *c) {
  const bool standard = strcmp(c->options.input, "-") == 0;
  c->input = (line_input){.descriptor = STDIN_FILENO, .name = "standard input", .stop = finished};
  if (standard) return SPARC_OK;
  c->input.name = c->options.input;
  c->input.descriptor = open(c->options.input, O_RDONLY | O_CLOEXEC);
  if (c->input.descriptor < 0) return fail(SPARC_IO, "cannot open '%.200s': %s", c->options.input, strerror(errno));
  return SPARC_OK;
}

static bool is_single_series(const learn_command *c) {
  const sparc_learner_config *l = sparc_learner_info_of(learner_of(c)).config;
  return l->network.inputs == 1 && l->objective == SPARC_LEARN_FORECAST;
}

/* in a single column a blank line may be meant as a missing value */
static void warn_of_blank(learn_command *c, long blank) {
  if (c->warned || !c->begun || !is_single_series(c)) return;
  c->warned = true;
  cli_message(c->who, "warning: %.200s, line %ld is blank and skipped; a missing value is written NaN", c->input.name,
              blank);
}

/* the next non-blank line, and its name; *size 0: none */
static sparc_status next_line(learn_command *c, const char **line, size_t *size) {
  sparc_status status;
  long blank = 0;
  do {
    status = input_next(&c->input, line, size);
    c->line++;
    if (blank && *size > 0) warn_of_blank(c, blank);
    blank = c->line;
  } while (status == SPARC_OK && *size > 0 && line_is_blank(*line, *size));
  snprintf(c->name, sizeof c->name, "%.200s, line %ld", c->input.name, c->line);
  return status;
}

/* arrays for intervals and anomalies */
static sparc_status make_extras(learn_command *c, const sparc_learner_config *l) {
  const size_t outputs = (size_t)l->outputs, inputs = (size_t)l->network.inputs;
  if (!c->options.intervals && !c->options.anomaly) return SPARC_OK;
  if (l->forecaster != SPARC_FORECAST_MIXTURE)
    return fail(SPARC_INVALID, "%s needs the forecast of a mixture, without target and label",
                c->options.intervals ? "intervals" : "anomaly");
  if (c->options.intervals) {
    c->low = sparc_alloc(outputs * sizeof *c->low);
    c->high = sparc_alloc(outputs * sizeof *c->high);
  }
  if (c->options.anomaly) c->anomaly = sparc_alloc(inputs * sizeof *c->anomaly);
  if ((c->options.intervals && (!c->low || !c->high)) || (c->options.anomaly && !c->anomaly))
    return fail(SPARC_NO_MEMORY, "no memory for the intervals of %zu outputs", outputs);
  return SPARC_OK;
}

static sparc_status begin(learn_command *c, const char *line, size_t size) {
  sparc_status status = learn_run_begin(c->run, line, size, c->name);
  if (status != SPARC_OK) return status;
  const sparc_learner_config l = *sparc_learner_info_of(learner_of(c)).config;
  status = make_extras(c, &l);
  if (status != SPARC_OK) return status;
  c->begun = true;
  const char *warning = sparc_learn_run_result_of(c->run).warning;
  if (warning && !c->tool.quiet) cli_message(c->who, "warning: %s", warning);
  const bool classes = l.objective == SPARC_LEARN_CLASSIFY;
  c->predictions = (predictions){.who = c->who,
                                 .labels = classes ? sparc_learn_run_info_of(c->run).outputs : NULL,
                                 .names = classes ? NULL : sparc_learn_run_info_of(c->run).outputs,
                                 .outputs = l.outputs,
                                 .kind = classes ? PREDICTION_CLASSES : PREDICTION_NUMBERS,
                                 .unit = "step",
                                 .jsonl = c->options.style == JSONL,
                                 .low = c->low,
                                 .high = c->high,
                                 .anomaly = c->anomaly,
                                 .channel = sparc_learn_run_info_of(c->run).inputs,
                                 .inputs = l.network.inputs,
                                 .id_name = learn_run_texts_of(c->run).id_name,
                                 .time_name = learn_run_texts_of(c->run).time_name,
                                 .terminal = isatty(STDOUT_FILENO)};
  if (prints_predictions(c)) predictions_header(&c->predictions);
  progress_note(c->progress, "learner   %s (%d modes, %zu parameters), inputs %d, outputs %d%s", l.network.cell,
                l.network.H, sparc_learner_info_of(learner_of(c)).param_count, l.network.inputs, l.outputs,
                sparc_learn_run_result_of(c->run).resumed ? ", continued" : "");
  return SPARC_OK;
}

static sparc_status take_line(learn_command *c, const char *line, size_t size) {
  const float *prediction;
  const sparc_status status = sparc_learn_run_line(c->run, line, size, c->name, &prediction);
  if (status == SPARC_FORMAT && c->options.keep_going) {
    cli_message(c->who, "%s; the line is skipped", sparc_error());
    return SPARC_OK;
  }
  if (prediction) {
    print_prediction(c, prediction);
    report_progress(c);
  }
  return status;
}

/* the first line; a line "sep=;" before it stays part of it */
static sparc_status first_line(learn_command *c, const char **line, size_t *size) {
  sparc_status status = next_line(c, line, size);
  const char separator = status == SPARC_OK ? csv_separator_line((span){*line, *size}) : '\0';
  if (!separator) return status;
  status = next_line(c, line, size);
  if (status != SPARC_OK || *size == 0) return status;
  c->first = malloc(*size + sizeof "sep=;\n");
  if (!c->first) return fail(SPARC_NO_MEMORY, "no memory for a line of %s", c->input.name);
  const size_t hint = (size_t)sprintf(c->first, "sep=%c\n", separator);
  memcpy(c->first + hint, *line, *size);
  *line = c->first;
  *size += hint;
  return SPARC_OK;
}

static sparc_status read_stream(learn_command *c) {
  const char *line;
  size_t size;
  sparc_status status = first_line(c, &line, &size);
  if (status == SPARC_OK && size == 0 && !finished())
    status = fail(SPARC_FORMAT, "%.200s is empty, expected one line per step", c->input.name);
  if (status == SPARC_OK && size > 0) status = begin(c, line, size);
  while (status == SPARC_OK && size > 0 && !finished()) {
    status = take_line(c, line, size);
    if (status == SPARC_OK && input_pauses(&c->input)) fflush(stdout);
    if (status == SPARC_OK) status = next_line(c, &line, &size);
  }
  return status;
}

/* saves the learner, unless a number was not finite */
static sparc_status finish(learn_command *c, sparc_status status) {
  c->io_failed = sparc_learn_run_result_of(c->run).io_failed;
  if (!c->begun || c->io_failed || status == SPARC_NOT_FINITE) return status;
  char message[512];
  snprintf(message, sizeof message, "%s", sparc_error());
  const sparc_status saved = sparc_learn_run_save(c->run);
  c->io_failed = saved != SPARC_OK;
  if (status == SPARC_OK) return saved;
  return fail(status, "%s", message);
}

/* a terminal that shows predictions cannot show a progress line that is rewritten in place */
static progress_style style_of(const learn_command *c) {
  if (c->tool.quiet || c->tool.json) return PROGRESS_NONE;
  const bool shared = prints_predictions(c) && isatty(STDOUT_FILENO);
  return shared && c->tool.progress == PROGRESS_AUTO ? PROGRESS_PLAIN : (progress_style)c->tool.progress;
}

static exit_code work(learn_command *c) {
  const progress_style style = style_of(c);
  c->progress = progress_start(style, c->options.input, 0, 0);
  sparc_status status = open_input(c);
  if (status == SPARC_OK) status = sparc_learn_run_create(&c->config, &c->run);
  if (status == SPARC_OK) status = learn_run_lock(c->run);
  if (status == SPARC_OK) status = read_stream(c);
  status = finish(c, status);
  progress_finish(c->progress);
  if (c->begun && style != PROGRESS_NONE) report_result(c);
  if (c->begun && c->tool.json && status == SPARC_OK) print_json(c);
  if (status != SPARC_OK) cli_message(c->who, "%s", sparc_error());
  sparc_learn_run_free(c->run);
  sparc_free(c->low);
  sparc_free(c->high);
  sparc_free(c->anomaly);
  free(c->first);
  if (c->input.descriptor > STDIN_FILENO) close(c->input.descriptor);
  input_free(&c->input);
  if (c->io_failed) return EXIT_FAILED;
  return status == SPARC_OK && interrupt_requested() ? EXIT_INTERRUPTED : cli_exit_code(status);
}

static exit_code run_learn(int argc, char **argv) {
  learn_command c = {.who = argv[0], .input = {.descriptor = -1}};
  settings_binding binding = learn_binding(&c.config);
  settings_bind(&binding, &learn_table, &c.options, &c.options.given);
  settings_bind(&binding, &tool_table, &c.tool, &c.tool.given);
  cli_sources *sources;
  sparc_status status = cli_settings_read(
      argc, argv, &(cli_usage){.options = {learn_options, tool_options}, .doc = doc}, &binding, &sources);
  if (status == SPARC_OK && !c.options.input) status = fail(SPARC_INVALID, "expected a FILE, or - for standard input");
  exit_code code;
  if (status == SPARC_OK) {
    const settings_binding of_tool = {.part = {{.table = &tool_table, .at = &c.tool, .given = &c.tool.given},
                                               {.table = &learn_table, .at = &c.options, .given = &c.options.given}}};
    settings_fill_defaults(&of_tool, DEFAULT_DATA);
    interrupt_catch();
    /* a file size limit must give an error like a full disk, not a signal */
    signal(SIGXFSZ, SIG_IGN);
    code = work(&c);
  } else {
    cli_message(c.who, "%s", sparc_error());
    code = cli_exit_code(status);
  }
  cli_sources_free(sources);
  return code;
}

const cli_command command_learn = {"learn", "learn online from a stream", NULL, run_learn, CLI_ONE_RANK};
