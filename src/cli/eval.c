/* SPDX-License-Identifier: MIT */
/* eval.c: `sparc eval`: scores of a trained model on a file, a part of a data set or a task, and of a nearest neighbour
 * baseline. */
#include "base/error.h"
#include "base/plain_text.h"
#include "cli/channels.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "data/nearest.h"
#include "io/dtype.h"
#include "io/json.h"
#include "io/settings_rows.h"
#include "nn/head.h"
#include "run/data.h"
#include "run/read_settings.h"
#include "run/run_settings.h"
#include "train/baseline.h"

#include <string.h>
#include <sys/stat.h>

enum { FIT, VALIDATION, TEST, PARTS };
static const char *const part_names[] = {"fit", "validation", "test", NULL};

enum { NEAREST, WARPED };
static const char *const baselines[] = {[NEAREST] = "1nn", [WARPED] = "dtw", NULL};

typedef struct eval_settings {
  const char *who, *argument[2];
  char model[CLI_PATH]; /* path of the model given by the first of two arguments */
  const char *root;
  int part;     /* -1: not given */
  int baseline; /* -1: a model */
  double window;
  int threads;
  int by_position;
  sparc_read_options read;
  tool_settings tool;
  uint64_t given, read_given;
} eval_settings;

/* ---- options ------------------------------------------------------------------------------------- */

#define SETTING_STRUCT eval_settings
static const setting eval_rows[] = {
    {"model", NULL, TEXT(argument[0]), ROLE(SUBJECT)},
    {"data", NULL, TEXT(argument[1]), ROLE(SUBJECT)},
    {"part", NULL, CHOICE(part, part_names)},
    ROOT_SETTING,
    BY_POSITION_SETTING,
    {"baseline", NULL, CHOICE(baseline, baselines)},
    {"warping-window", NULL, REAL(window, 0, 1), DEFAULT("0.1"), OLD("window")},
    THREADS_SETTING(threads),
};
static const settings_table eval_table = SETTINGS_TABLE(eval_rows);

static const cli_option eval_options[] = {
    {"model", POSITIONAL, .argument = "MODEL"},
    {"data", POSITIONAL, .argument = "FILE or NAME"},
    {"part", 0, "Data:", "PART", .help = "Evaluate on the part fit, validation or test of the data set"},
    ROOT_OPTION,
    BY_POSITION_OPTION,
    {"baseline", 0, "Baseline:", "NAME",
     .help = "Without MODEL: classify the official test partition by the nearest neighbour: 1nn (Euclidean distance; "
             "dynamic "
             "time "
             "warping for unequal lengths) or dtw (dynamic time warping)"},
    {"warping-window", 0, "Baseline:", "X", .help = "Maximum shift of warping, as a fraction of the length",
     .needs = "baseline"},
    THREADS_OPTION,
    {.name = NULL},
};

static const char doc[] =
    "Evaluate a trained MODEL, a checkpoint or a run folder with its best one, on a labelled FILE, a named data set, "
    "or a generated task. The normalisation and the labels are those stored in the model, and options of "
    "reading default to those of the training data. Of a data set the test part is used where there is one, else the "
    "validation part; a FILE is used whole unless a part is given."
    "\vExit status: 0 done, 1 failed, 2 usage, 3 a file is missing or malformed, or has labels that the model does "
    "not know.";

static sparc_status check_eval(const eval_settings *s) {
  const bool baseline = s->baseline >= 0;
  if (baseline && s->part >= 0) return fail(SPARC_INVALID, "--baseline uses the test partition and excludes --part");
  if (!s->argument[baseline ? 0 : 1])
    return fail(SPARC_INVALID, baseline ? "no data set given" : "expected a MODEL and a FILE or NAME");
  if (baseline && s->argument[1]) return fail(SPARC_INVALID, "--baseline takes a data set and no MODEL");
  return SPARC_OK;
}

/* ---- what to evaluate on ------------------------------------------------------------------------- */

typedef struct subject {
  sparc_task *task;
  sparc_data_split split;
  sparc_dataset *whole; /* of a file */
  sparc_samples samples;
  const char *name, *part;
  bool forecast;
} subject;

static void subject_free(subject *s) {
  sparc_task_free(s->task);
  sparc_data_split_free(&s->split);
  sparc_dataset_free(s->whole);
}

static sparc_status find_task_part(const eval_settings *e, int outputs, subject *s) {
  const int part = e->part < 0 ? VALIDATION : e->part;
  if (part == TEST)
    return fail(SPARC_INVALID, "the task %s has the parts fit and validation, no test part", e->argument[1]);
  const sparc_status status = sparc_task_create(e->argument[1], &s->task);
  if (status != SPARC_OK) return status;
  if (outputs != s->task->O)
    return fail(SPARC_FORMAT, "the model has %d outputs, the task %s has %d", outputs, s->task->name, s->task->O);
  s->samples = sparc_samples_of_task(s->task, part == VALIDATION);
  s->name = s->task->name;
  s->part = part_names[part];
  return SPARC_OK;
}

/* missing values are filled, as they were in training; a channel without values is the data's fault */
static sparc_status use_dataset(sparc_dataset *dataset, const sparc_read_options *read, const char *name,
                                const char *part, subject *s) {
  sparc_status status = sparc_dataset_fill_missing(dataset);
  s->forecast = read->objective == SPARC_OBJECTIVE_FORECAST;
  if (status == SPARC_OK && s->forecast) status = sparc_dataset_forecast(dataset, read->horizon ? read->horizon : 1);
  if (status == SPARC_INVALID) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", sparc_error());
    return fail(SPARC_FORMAT, "%.200s: %s", name, sentence);
  }
  s->samples = sparc_samples_of_dataset(dataset);
  s->name = name;
  s->part = part;
  return status;
}

/* a table without the label column has unlabelled examples, which cannot be scored */
static sparc_status check_label(const sparc_dataset *dataset, const sparc_read_options *read, const char *name) {
  const sparc_columns *columns = sparc_dataset_info_of(dataset).columns;
  if (!read->columns || !read->columns->label || !columns || columns->label ||
      read->objective == SPARC_OBJECTIVE_FORECAST)
    return SPARC_OK;
  return fail(SPARC_FORMAT, "%.200s: column '%s' is missing, which held the label in training", name,
              quote(read->columns->label).text);
}

static sparc_status find_set_part(const eval_settings *e, const sparc_data_options *options, subject *s) {
  const sparc_status status = sparc_data_split_load(e->argument[1], options, &s->split);
  if (status != SPARC_OK) return status;
  sparc_dataset *const parts[PARTS] = {s->split.fit, s->split.validation, s->split.test};
  const int part = e->part >= 0 ? e->part : parts[TEST] ? TEST : VALIDATION;
  if (!parts[part])
    return fail(SPARC_INVALID, "%s has no %s part%s", s->split.name, part_names[part],
                options->protocol == SPARC_PROTOCOL_OFFICIAL || options->read.division == SPARC_DIVISION_WHOLE
                    ? ", the model was fitted to the whole training partition"
                    : "");
  return use_dataset(parts[part], &options->read, s->split.name, part_names[part], s);
}

static bool is_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static sparc_status find_subject(const eval_settings *e, const sparc_model *model, subject *s) {
  const sparc_preprocessing *p = sparc_model_info_of(model).preprocessing;
  const char *protocol = sparc_model_metadata(model, "run.protocol");
  sparc_read_options recalled = e->read;
  sparc_columns names;
  uint64_t given = e->read_given;
  const sparc_status status = read_options_inherit(model, &recalled, &given);
  if (status != SPARC_OK) return status;
  sparc_read_options read = resolve_read_options(&recalled);
  read.columns = e->by_position ? NULL : channels_like(model, &e->read, &names);
  read.classes = p->classes ? p->labels : NULL;
  read.class_count = p->classes;
  if (is_task(e->argument[1])) return find_task_part(e, sparc_model_info_of(model).outputs, s);
  if (e->part < 0 && is_file(e->argument[1])) {
    sparc_status read_status = sparc_dataset_load(e->argument[1], &read, &s->whole);
    if (read_status == SPARC_OK) read_status = check_label(s->whole, &read, e->argument[1]);
    if (read_status != SPARC_OK) return read_status;
    if (!e->by_position) channels_warn(e->who, e->argument[1], read.columns, sparc_dataset_info_of(s->whole).columns);
    return use_dataset(s->whole, &read, e->argument[1], "all", s);
  }
  const bool official = protocol && strcmp(protocol, "official") == 0;
  const sparc_data_options options = {
      .root = e->root, .protocol = official ? SPARC_PROTOCOL_OFFICIAL : SPARC_PROTOCOL_PAPER, .read = read};
  return find_set_part(e, &options, s);
}

/* ---- the confusion matrix ------------------------------------------------------------------------ */

enum { LARGEST_MATRIX = 16 };

/* matrix[true][predicted] */
static sparc_status count_confusion(sparc_model *model, const subject *s, int classes, long *matrix) {
  float *p = sparc_alloc((size_t)s->samples.count * (size_t)classes * sizeof *p);
  if (!p) return fail(SPARC_NO_MEMORY, "no memory for %d predictions", s->samples.count);
  const sparc_status status = sparc_model_predict(model, &s->samples, p);
  for (int i = 0; i < s->samples.count && status == SPARC_OK; i++) {
    const float *row = p + (size_t)i * (size_t)classes;
    int best = 0;
    for (int c = 1; c < classes; c++)
      if (row[c] > row[best]) best = c;
    matrix[s->samples.at(s->samples.source, i).label * classes + best]++;
  }
  sparc_free(p);
  return status;
}

/* the first characters of a class's name, right-aligned */
static void print_class(const char *name, int width) {
  char text[256];
  int columns = 0;
  snprintf(text, sizeof text, "%s", name);
  make_plain(text);
  const char *end = text;
  for (; columns < width && *end; columns++) end += text_next(end).length;
  printf(" %*s%.*s", width - columns, "", (int)(end - text), text);
}

static void print_confusion(const sparc_preprocessing *p, const long *matrix) {
  enum { WIDTH = 10 };
  printf("\n%-*s predicted\n%-*s", WIDTH, "true", WIDTH, "");
  for (int c = 0; c < p->classes; c++) print_class(p->labels[c], WIDTH);
  putchar('\n');
  for (int t = 0; t < p->classes; t++) {
    cli_text(p->labels[t], WIDTH);
    for (int c = 0; c < p->classes; c++) printf(" %*ld", WIDTH, matrix[t * p->classes + c]);
    putchar('\n');
  }
}

static json_t *json_confusion(const sparc_preprocessing *p, const long *matrix) {
  json_t *rows = json_array();
  for (int t = 0; t < p->classes; t++) {
    json_t *row = json_array();
    for (int c = 0; c < p->classes; c++)
      json_array_append_new(row, json_integer((json_int_t)matrix[t * p->classes + c]));
    json_array_append_new(rows, row);
  }
  return rows;
}

/* ---- a model ------------------------------------------------------------------------------------- */

static json_t *json_labels(const sparc_preprocessing *p) {
  json_t *labels = json_array();
  for (int c = 0; c < p->classes; c++) json_array_append_new(labels, json_text(p->labels[c]));
  return labels;
}

/* scores of a model: accuracy of classes, MSE and R2 of targets from data, NMSE of other numbers */
typedef enum outcome { CLASSES, TARGETS, NUMBERS } outcome;

static outcome outcome_of(const sparc_model *model) {
  if (sparc_model_info_of(model).preprocessing->targets) return TARGETS;
  return head_learns_values(sparc_network_config_of(sparc_model_info_of(model).network).head, false) ? NUMBERS
                                                                                                     : CLASSES;
}

static void print_evaluation(const eval_settings *e, const subject *s, const sparc_evaluation *v, outcome o,
                             double baseline_mse) {
  printf("model     ");
  cli_text(e->model, 0);
  printf("\ndata      ");
  cli_text(s->name, 0);
  printf(", part %s: %ld examples\n", s->part, v->examples);
  if (o == CLASSES) printf("accuracy  %.4f\n", v->accuracy);
  if (o == NUMBERS) printf("NMSE      %.4f\n", v->nmse);
  if (o == TARGETS)
    printf("MSE       %.6g\nR2        %.4f\nbaseline  MSE %.6g, of %s\n", v->mse, v->r2, baseline_mse,
           s->forecast ? "persistence" : "the mean of the fit part");
  printf("loss      %.4f\n", v->loss);
}

static json_t *json_evaluation(const eval_settings *e, const subject *s, const sparc_evaluation *v, outcome o,
                               double baseline_mse) {
  json_t *object = json_pack("{s:o, s:o, s:s, s:I, s:f}", "model", json_text(e->model), "data", json_text(s->name),
                             "part", s->part, "examples", (json_int_t)v->examples, "loss", v->loss);
  if (object && o == CLASSES) json_object_set_new(object, "accuracy", json_real(v->accuracy));
  if (object && o == NUMBERS) json_object_set_new(object, "nmse", json_real(v->nmse));
  if (object && o == TARGETS) {
    json_object_set_new(object, "mse", json_real(v->mse));
    json_object_set_new(object, "r2", json_real(v->r2));
    json_object_set_new(object, "naive_mse", json_real(baseline_mse));
  }
  return object;
}

/* SPARC_INVALID becomes SPARC_FORMAT: the model comes from a valid file, so the examples are at fault */
static sparc_status as_data_error(const subject *s, sparc_status status) {
  if (status != SPARC_INVALID) return status;
  char sentence[512];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "%.200s: %s", s->name, sentence);
}

static sparc_status evaluate(const eval_settings *e, sparc_model *model, const subject *s) {
  const sparc_preprocessing *p = sparc_model_info_of(model).preprocessing;
  const outcome o = outcome_of(model);
  long matrix[LARGEST_MATRIX * LARGEST_MATRIX] = {0};
  const bool confusion = p->classes > 0 && p->classes <= LARGEST_MATRIX;
  sparc_evaluation v;
  sparc_status status = sparc_model_evaluate(model, &s->samples, &v);
  if (status == SPARC_OK && confusion) status = count_confusion(model, s, p->classes, matrix);
  if (status != SPARC_OK) return as_data_error(s, status);
  const double baseline_mse = o == TARGETS ? baseline_error(&s->samples, p) : 0;
  if (!e->tool.json) {
    print_evaluation(e, s, &v, o, baseline_mse);
    if (confusion) print_confusion(p, matrix);
    return SPARC_OK;
  }
  json_t *object = json_evaluation(e, s, &v, o, baseline_mse);
  if (object && p->classes) json_object_set_new(object, "labels", json_labels(p));
  if (object && confusion) json_object_set_new(object, "confusion", json_confusion(p, matrix));
  cli_json_line(e->who, object);
  return SPARC_OK;
}

static sparc_status evaluate_model(const eval_settings *e) {
  sparc_model *model;
  subject s = {.name = NULL};
  sparc_status status = cli_model_load(e->argument[0], e->argument[1], e->threads, &model);
  if (status == SPARC_OK) status = find_subject(e, model, &s);
  if (status == SPARC_OK) status = evaluate(e, model, &s);
  subject_free(&s);
  sparc_model_free(model);
  return status;
}

/* ---- the nearest neighbour ----------------------------------------------------------------------- */

static void report_baseline(const eval_settings *e, const sparc_data_split *split, bool warping, int right) {
  const int examples = sparc_dataset_info_of(split->test).count, neighbours = sparc_dataset_info_of(split->fit).count;
  const double accuracy = (double)right / examples;
  if (e->tool.json) {
    json_t *object = json_pack("{s:s, s:s, s:o, s:s, s:i, s:i, s:f}", "baseline", baselines[e->baseline], "distance",
                               warping ? "dtw" : "euclidean", "data", json_text(split->name), "part", "test", "train",
                               neighbours, "examples", examples, "accuracy", accuracy);
    if (object && warping) json_object_set_new(object, "window", json_real(e->window));
    cli_json_line(e->who, object);
    return;
  }
  printf("baseline  nearest neighbour of %d by ", neighbours);
  if (warping)
    printf("dynamic time warping, window %g of the length\ndata      ", e->window);
  else
    printf("Euclidean distance\ndata      ");
  cli_text(split->name, 0);
  printf(", official test: %d examples\naccuracy  %.4f\n", examples, accuracy);
}

static void show_nearest(void *user, int done) { progress_step(user, done, 0, ""); }

static sparc_status search_nearest(const eval_settings *e, const sparc_data_split *split) {
  const bool warping = e->baseline == WARPED || !nearest_equal_lengths(split->fit, split->test);
  progress *p = progress_start(e->tool.quiet ? PROGRESS_NONE : (progress_style)e->tool.progress, baselines[e->baseline],
                               0, sparc_dataset_info_of(split->test).count);
  const nearest_config config = {
      .warping = warping, .window = e->window, .threads = e->threads, .on_progress = show_nearest, .user = p};
  int right = 0;
  const sparc_status status = nearest_neighbour(split->fit, split->test, &config, &right);
  progress_finish(p);
  if (status == SPARC_OK) report_baseline(e, split, warping, right);
  return status;
}

static sparc_status evaluate_baseline(const eval_settings *e) {
  const sparc_data_options options = {
      .root = e->root, .protocol = SPARC_PROTOCOL_OFFICIAL, .read = resolve_read_options(&e->read)};
  sparc_data_split split;
  sparc_status status = sparc_data_split_load(e->argument[0], &options, &split);
  if (status == SPARC_OK) status = sparc_dataset_fill_missing(split.fit);
  if (status == SPARC_OK) status = sparc_dataset_fill_missing(split.test);
  if (status == SPARC_OK) status = search_nearest(e, &split);
  sparc_data_split_free(&split);
  return status;
}

/* ---- the command --------------------------------------------------------------------------------- */

static sparc_status evaluate_either(eval_settings *s) {
  sparc_status status = check_eval(s);
  if (status == SPARC_OK) status = cli_model_path(s->argument[0], s->model);
  if (status != SPARC_OK) return status;
  return s->baseline >= 0 ? evaluate_baseline(s) : evaluate_model(s);
}

static exit_code run_eval(int argc, char **argv) {
  eval_settings settings = {.who = argv[0]};
  const settings_binding binding = {
      .part = {{.table = &eval_table, .at = &settings, .given = &settings.given},
               {.table = &read_settings, .at = &settings.read, .given = &settings.read_given, .without = "unlabelled"},
               {.table = &tool_table, .at = &settings.tool, .given = &settings.tool.given, .without = "config"}}};
  const cli_usage usage = {.options = {eval_options, read_options, tool_options},
                           .doc = doc,
                           .arguments = "MODEL FILE|NAME\n--baseline=NAME FILE|NAME"};
  cli_sources *sources;
  sparc_status status = cli_settings_read(argc, argv, &usage, &binding, &sources);
  if (status == SPARC_OK) {
    const settings_binding of_tool = {
        .part = {{.table = &eval_table, .at = &settings, .given = &settings.given},
                 {.table = &tool_table, .at = &settings.tool, .given = &settings.tool.given}}};
    settings_fill_defaults(&of_tool, DEFAULT_DATA);
    if (!settings_is_given(&binding, settings_find(&binding, "part"))) settings.part = -1;
    if (!settings_is_given(&binding, settings_find(&binding, "baseline"))) settings.baseline = -1;
    status = evaluate_either(&settings);
  }
  if (status != SPARC_OK) cli_message(argv[0], "%s", sparc_error());
  cli_sources_free(sources);
  return cli_exit_code(status);
}

const cli_command command_eval = {"eval", "evaluate a trained model, or a baseline", NULL, run_eval, CLI_ONE_RANK};
