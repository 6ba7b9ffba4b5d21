/* SPDX-License-Identifier: MIT */
/* predict.c: `sparc predict`: predictions for the rows of a file or of standard input.
 *
 * Standard input is read row by row, so rows may differ in length, errors name their line, and predictions are written
 * batch by batch. With --follow the input is one sequence, one step per line, and only the model's state is stored.
 */
#include "base/error.h"
#include "cli/channels.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/predictions.h"
#include "cli/settings.h"
#include "data/csv_columns.h"
#include "data/csv_text.h"
#include "io/settings_rows.h"
#include "nn/head.h"
#include "online/stream.h"
#include "run/read_settings.h"
#include "run/run_settings.h"
#include "sparc/train.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 64 };

enum { CSV, JSONL }; /* the order of prediction_formats */

typedef struct predict_settings {
  const char *model, *input;
  int style; /* CSV or JSONL */
  int follow, keep_going;
  int threads;
  int by_position;
  sparc_read_options read;
  sparc_columns like; /* names that columns are matched with */
  uint64_t given, read_given;
} predict_settings;

/* ---- options ------------------------------------------------------------------------------------- */

#define SETTING_STRUCT predict_settings
static const setting predict_rows[] = {
    {"model", NULL, TEXT(model), ROLE(SUBJECT)},
    {"input", NULL, TEXT(input), ROLE(SUBJECT)},
    {"format", NULL, CHOICE(style, prediction_formats), DEFAULT("csv")},
    {"follow", NULL, FLAG(follow)},
    {"keep-going", NULL, FLAG(keep_going)},
    BY_POSITION_SETTING,
    THREADS_SETTING(threads),
};
static const settings_table predict_table = SETTINGS_TABLE(predict_rows);

static const cli_option predict_options[] = {
    {"model", POSITIONAL, .argument = "MODEL"},
    {"input", POSITIONAL, .argument = "FILE"},
    {"format", 0, "Output:", "F", .help = "Write csv or jsonl"},
    {"follow", 0, "Standard input:", NULL, .help = "Each line is the next step of one sequence; predict after each"},
    {"keep-going", 0, "Standard input:", NULL, .help = "Report and skip malformed lines"},
    BY_POSITION_OPTION,
    THREADS_OPTION,
    {.name = NULL},
};

static const char doc[] =
    "Print the class and the probability of every class for each row of FILE, which may have any format that "
    "`sparc data` reads; labels in it are not used, but must be labels of the model. With - rows of values, without "
    "labels, are read from standard input: numbers with commas between them, those of one step together; with --follow "
    "each line is the next step of one sequence. The model's normalisation is applied, and options of reading default "
    "to those of the training data."
    "\vExit status: 0 done, 1 failed, 2 usage, 3 a file is missing or malformed.";

/* ---- prediction ---------------------------------------------------------------------------------- */

/* predicts and writes a small number of samples */
static sparc_status predict_batch(sparc_model *model, const sparc_samples *samples, predictions *w) {
  const size_t row = (size_t)w->outputs * (w->kind == PREDICTION_STEPS ? (size_t)samples->longest : 1);
  float *outputs = sparc_alloc((size_t)samples->count * row * sizeof *outputs);
  if (!outputs) return fail(SPARC_NO_MEMORY, "no memory for %d predictions", samples->count);
  sparc_status status = sparc_model_predict(model, samples, outputs);
  for (int i = 0; i < samples->count && status == SPARC_OK; i++) {
    w->row++;
    if (w->kind == PREDICTION_CLASSES)
      predictions_class(w, outputs + (size_t)i * row);
    else if (w->kind == PREDICTION_NUMBERS)
      predictions_numbers(w, outputs + (size_t)i * row);
    else
      predictions_steps(w, outputs + (size_t)i * row, samples->at(samples->source, i).length);
    w->example++;
  }
  sparc_free(outputs);
  return status;
}

/* turns SPARC_INVALID into a format error of the input */
static sparc_status as_format_error(const char *name, sparc_status status) {
  if (status != SPARC_INVALID) return status;
  char sentence[512];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "%.200s: %s", name, sentence);
}

/* ---- files --------------------------------------------------------------------------------------- */

typedef struct window { /* some examples of a data set */
  const sparc_dataset *dataset;
  int first;
} window;

static sparc_sample window_sample(const void *user, int index) {
  const window *w = user;
  const sparc_sample e = sparc_dataset_example(w->dataset, w->first + index);
  return (sparc_sample){.x = e.x, .length = e.length, .label = -1};
}

static sparc_status predict_dataset(sparc_model *model, const sparc_dataset *dataset, predictions *w) {
  const int count = sparc_dataset_info_of(dataset).count;
  sparc_status status = SPARC_OK;
  for (int first = 0; first < count && status == SPARC_OK && !cli_output_lost(); first += BATCH) {
    const window some = {dataset, first};
    const sparc_samples samples = {.count = count - first < BATCH ? count - first : BATCH,
                                   .channels = sparc_dataset_info_of(dataset).channels,
                                   .longest = sparc_dataset_info_of(dataset).longest,
                                   .source = &some,
                                   .at = window_sample};
    status = predict_batch(model, &samples, w);
    fflush(stdout);
  }
  return status;
}

static sparc_status predict_file(sparc_model *model, const predict_settings *s, predictions *w) {
  sparc_read_options read = resolve_read_options(&s->read);
  /* a label column without a name has only the model's labels: this detects values that are mistaken for labels */
  const bool named = read.columns && read.columns->label;
  read.classes = named ? NULL : w->labels;
  read.class_count = w->labels && !named ? w->outputs : 0;
  read.texts = 1;
  sparc_dataset *dataset;
  sparc_status status = cli_hint_unlabelled(s->input, &read, sparc_dataset_load(s->input, &read, &dataset));
  if (status == SPARC_OK) status = sparc_dataset_fill_missing(dataset);
  if (status == SPARC_OK) {
    if (!s->by_position) channels_warn(w->who, s->input, read.columns, sparc_dataset_info_of(dataset).columns);
    predictions_use(w, dataset);
    predictions_header(w);
    status = predict_dataset(model, dataset, w);
  }
  sparc_dataset_free(dataset);
  return as_format_error(s->input, status);
}

/* ---- standard input ------------------------------------------------------------------------------ */

typedef struct pending { /* rows that have been read, but not predicted */
  sparc_dataset *row[BATCH];
  sparc_read_options read; /* of one row */
  int count, longest;
  long line;
  float *state, *outputs;    /* of the only sequence, a step a line; NULL: each line is a sequence */
  const sparc_columns *like; /* columns of the model; NULL: none that apply to the input */
  stream_columns columns;    /* of a sequence whose first line names its columns */
  bool begun, named;
  char *table;  /* the lines above the rows, "sep=;" and a header, if there are any, followed by the current line */
  size_t above; /* bytes of these lines */
  int lines;    /* number of these lines */
  size_t table_capacity;
  float *x;    /* (channels) of a step of it */
  char *texts; /* id and time, each as long as a line */
  size_t text_capacity;
} pending;

static sparc_sample pending_sample(const void *user, int index) {
  const sparc_sample e = sparc_dataset_example(((const pending *)user)->row[index], 0);
  return (sparc_sample){.x = e.x, .length = e.length, .label = -1};
}

static void drop_rows(pending *p) {
  for (int i = 0; i < p->count; i++) sparc_dataset_free(p->row[i]);
  p->count = p->longest = 0;
}

static sparc_status predict_pending(sparc_model *model, pending *p, predictions *w) {
  sparc_status status = SPARC_OK;
  if (p->count > 0) {
    const sparc_samples samples = {
        .count = p->count, .channels = p->read.channels, .longest = p->longest, .source = p, .at = pending_sample};
    status = predict_batch(model, &samples, w);
  }
  drop_rows(p);
  fflush(stdout);
  return status;
}

typedef struct line_name {
  char text[48];
} line_name;

static line_name name_line(const pending *p) {
  line_name name;
  snprintf(name.text, sizeof name.text, "standard input, line %ld", p->line);
  return name;
}

/* puts a line below the lines above the rows */
static sparc_status append_line(pending *p, const char *text, size_t size) {
  const size_t needed = p->above + size;
  if (needed > p->table_capacity) {
    char *larger = realloc(p->table, 2 * needed);
    if (!larger) return fail(SPARC_NO_MEMORY, "no memory for a line of %zu bytes", size);
    p->table = larger;
    p->table_capacity = 2 * needed;
  }
  memcpy(p->table + p->above, text, size);
  return SPARC_OK;
}

/* adds a line to those above the rows */
static sparc_status keep_line(pending *p, const char *text, size_t size) {
  const sparc_status status = append_line(p, text, size);
  if (status != SPARC_OK) return status;
  p->above += size;
  p->lines++;
  return SPARC_OK;
}

static sparc_status parse_line(pending *p, const char *text, size_t size, sparc_dataset **row) {
  const line_name name = name_line(p);
  *row = NULL;
  sparc_status status = append_line(p, text, size);
  if (status != SPARC_OK) return status;
  status = sparc_dataset_parse(p->table, p->above + size, name.text, &p->read, row);
  return status == SPARC_OK ? SPARC_OK : one_line(name.text, p->lines + 1, status);
}

/* detects a header in the first line, by the rules for files */
static sparc_status find_header(pending *p, const char *text, size_t size, const predictions *w) {
  const line_name name = name_line(p);
  sparc_read_options read = p->read;
  read.header = 0;
  read.columns = p->like;
  sparc_status status = append_line(p, text, size);
  if (status != SPARC_OK) return status;
  status = csv_find_header(p->table, p->above + size, name.text, &read, &p->named);
  if (status != SPARC_OK) return one_line(name.text, p->lines + 1, status);
  if (!p->named) {
    channels_warn(w->who, "standard input", p->like, NULL);
    return SPARC_OK;
  }
  p->read = read;
  p->read.header = 1;
  return keep_line(p, text, size);
}

static sparc_status take_row(pending *p, bool first, const char *text, size_t size, const predictions *w) {
  sparc_dataset *row;
  if (first && p->like) {
    const sparc_status header = find_header(p, text, size, w);
    if (header != SPARC_OK || p->named) return header;
  }
  sparc_status status = parse_line(p, text, size, &row);
  if (status != SPARC_OK) return status;
  status = sparc_dataset_fill_missing(row);
  if (status != SPARC_OK) {
    sparc_dataset_free(row);
    return as_format_error(name_line(p).text, status);
  }
  p->row[p->count++] = row;
  const int length = sparc_dataset_example(row, 0).length;
  if (length > p->longest) p->longest = length;
  return SPARC_OK;
}

/* missing values of a step cannot be interpolated: later values are unknown */
static sparc_status check_one_step(const pending *p, const sparc_dataset *row) {
  const int values = sparc_dataset_example(row, 0).length * sparc_dataset_info_of(row).channels;
  if (values != p->read.channels)
    return fail(SPARC_FORMAT, "%s: %d values, expected the %d of one step", name_line(p).text, values,
                p->read.channels);
  if (sparc_dataset_info_of(row).missing > 0)
    return fail(SPARC_FORMAT, "%s: a value is missing, expected all of a step", name_line(p).text);
  return SPARC_OK;
}

static sparc_status start_sequence(const sparc_model *model, pending *p, int outputs) {
  p->state = sparc_alloc(sparc_model_info_of(model).state_size * sizeof *p->state);
  p->outputs = sparc_alloc((size_t)outputs * sizeof *p->outputs);
  p->x = sparc_alloc((size_t)p->read.channels * sizeof *p->x);
  return p->state && p->outputs && p->x ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the state of a sequence");
}

/* detects a header in the first line of a sequence; it must name all channels of the model */
static sparc_status learn_header(pending *p, const char *text, size_t size) {
  sparc_dataset *row;
  if (parse_line(p, text, size, &row) == SPARC_OK) {
    sparc_dataset_free(row);
    return SPARC_OK;
  }
  char *roles = malloc((size_t)p->like->channels + 1);
  if (!roles) return fail(SPARC_NO_MEMORY, "no memory for %d columns", p->like->channels);
  memset(roles, 'i', (size_t)p->like->channels);
  roles[p->like->channels] = '\0';
  const stream_options options = {.decimal = p->read.decimal ? *p->read.decimal : '.'};
  const stream_known known = {.roles = roles, .names = p->like->channel};
  sparc_status status = append_line(p, text, size);
  if (status == SPARC_OK)
    status = stream_open(&options, &known, p->table, p->above + size, name_line(p).text, &p->columns);
  free(roles);
  p->named = status == SPARC_OK && p->columns.by_name;
  return status;
}

/* reads the values of a line by column name */
static sparc_status read_named(pending *p, const char *text, size_t size) {
  stream_step step;
  if (size + 1 > p->text_capacity) {
    free(p->texts);
    p->text_capacity = 2 * (size + 1);
    p->texts = malloc(2 * p->text_capacity);
    if (!p->texts) p->text_capacity = 0;
    if (!p->texts) return fail(SPARC_NO_MEMORY, "no memory for a line of %zu bytes", size);
  }
  const stream_texts texts = {p->texts, p->texts + p->text_capacity};
  const sparc_status status = stream_read(&p->columns, text, size, name_line(p).text, p->x, NULL, &texts, &step);
  for (int i = 0; i < p->read.channels && status == SPARC_OK; i++)
    if (!isfinite(p->x[i]))
      return fail(SPARC_FORMAT, "%s: a value is missing, expected all of a step", name_line(p).text);
  return status;
}

static sparc_status read_unnamed(pending *p, const char *text, size_t size) {
  sparc_dataset *row;
  sparc_status status = parse_line(p, text, size, &row);
  if (status == SPARC_OK) status = check_one_step(p, row);
  if (status == SPARC_OK) memcpy(p->x, sparc_dataset_example(row, 0).x, (size_t)p->read.channels * sizeof *p->x);
  sparc_dataset_free(row);
  return status;
}

/* handles the first line of a sequence if the model has channel names */
static sparc_status take_first(pending *p, const char *text, size_t size, const predictions *w) {
  const sparc_status status = learn_header(p, text, size);
  if (status == SPARC_OK && !p->named) channels_warn(w->who, "standard input", p->like, NULL);
  return status;
}

/* processes one step and writes the prediction for the sequence so far */
static sparc_status take_step(sparc_model *model, pending *p, bool first, const char *text, size_t size,
                              predictions *w) {
  sparc_status status = SPARC_OK;
  if (first && p->like) status = take_first(p, text, size, w);
  if (status != SPARC_OK || (first && p->named)) return status;
  status = p->named ? read_named(p, text, size) : read_unnamed(p, text, size);
  if (status == SPARC_OK) status = sparc_model_step(model, p->state, p->x, p->outputs);
  if (status != SPARC_OK) return status;
  w->row++;
  (w->kind == PREDICTION_CLASSES ? predictions_class : predictions_numbers)(w, p->outputs);
  return SPARC_OK;
}

static sparc_status take_line(sparc_model *model, pending *p, const char *line, size_t size, bool keep_going,
                              predictions *w) {
  const bool first = !p->begun;
  if (first && p->lines == 0 && csv_separator_line((span){line, size})) return keep_line(p, line, size);
  p->begun = true;
  const sparc_status status = p->state ? take_step(model, p, first, line, size, w) : take_row(p, first, line, size, w);
  if (status != SPARC_FORMAT || !keep_going) return status;
  cli_message(w->who, "%s; the line is skipped", sparc_error());
  return SPARC_OK;
}

static sparc_status read_rows(sparc_model *model, pending *p, bool keep_going, predictions *w) {
  line_input input = {.descriptor = STDIN_FILENO, .name = "standard input"};
  const char *line;
  size_t size;
  sparc_status status = SPARC_OK;
  while (status == SPARC_OK && !cli_output_lost()) {
    status = input_next(&input, &line, &size);
    if (status != SPARC_OK || size == 0) break;
    p->line++;
    if (line_is_blank(line, size)) continue;
    status = take_line(model, p, line, size, keep_going, w);
    if (status == SPARC_OK && (p->count == BATCH || input_pauses(&input))) status = predict_pending(model, p, w);
  }
  input_free(&input);
  return status;
}

static sparc_status predict_stream(sparc_model *model, const predict_settings *s, predictions *w) {
  const int inputs = sparc_model_info_of(model).inputs;
  const sparc_columns *like = s->read.columns;
  const bool fits = like && (s->follow ? like->channels == inputs : !like->steps);
  pending p = {.read = {.format = SPARC_DATA_CSV,
                        .unlabelled = 1,
                        .header = -1,
                        .channels = s->read.channels ? s->read.channels : inputs,
                        .decimal = s->read.decimal},
               .like = fits ? like : NULL};
  sparc_status status = s->follow ? start_sequence(model, &p, w->outputs) : SPARC_OK;
  if (status == SPARC_OK) {
    predictions_header(w);
    status = read_rows(model, &p, s->keep_going, w);
  }
  /* rows before a bad one get predictions */
  char sentence[512];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  const sparc_status rest = predict_pending(model, &p, w);
  sparc_free(p.state);
  sparc_free(p.outputs);
  sparc_free(p.x);
  free(p.texts);
  free(p.table);
  stream_free(&p.columns);
  if (status != SPARC_OK) return as_format_error("standard input", fail(status, "%s", sentence));
  return as_format_error("standard input", rest);
}

/* ---- the command --------------------------------------------------------------------------------- */

/* the columns of the targets of a learner; NULL: it is none */
static json_t *target_names(const sparc_model *model) {
  const char *text = sparc_model_metadata(model, "stream.outputs");
  json_t *names = text ? json_loads(text, 0, NULL) : NULL;
  if (json_array_size(names) == (size_t)sparc_model_info_of(model).outputs) return names;
  json_decref(names);
  return NULL;
}

/* names of outputs that are numbers: the column of the label or target, or for a forecast the channel and the number of
 * steps ahead; NULL: unknown. Release the list with sparc_free. */
static const char **name_outputs(const sparc_model *model, const sparc_read_options *read) {
  enum { NAME = SPARC_COLUMN_NAME + 16 };
  const sparc_preprocessing *known = sparc_model_info_of(model).preprocessing;
  const sparc_columns *columns = known->columns;
  const int outputs = sparc_model_info_of(model).outputs;
  const bool forecast = columns && known->change && columns->channels == outputs;
  json_t *targets = forecast ? NULL : target_names(model);
  const bool labelled = columns && columns->label && outputs == 1;
  const char **list = forecast || targets || labelled ? sparc_alloc((size_t)outputs * (sizeof *list + NAME)) : NULL;
  char *text = list ? (char *)(list + outputs) : NULL;
  for (int i = 0; list && i < outputs; i++, text += NAME) {
    const char *target = targets ? json_string_value(json_array_get(targets, (size_t)i)) : NULL;
    if (forecast)
      snprintf(text, NAME, "%s+%d", columns->channel[i], read->horizon > 0 ? read->horizon : 1);
    else
      snprintf(text, NAME, "%s", targets ? (target ? target : "") : columns->label);
    list[i] = text;
  }
  json_decref(targets);
  return list;
}

static sparc_status predict(const char *who, predict_settings *s) {
  sparc_model *model;
  sparc_status status = cli_model_load(s->model, s->input, s->threads, &model);
  if (status == SPARC_OK && !s->by_position) s->read.columns = channels_like(model, &s->read, &s->like);
  if (status == SPARC_OK) status = read_options_inherit(model, &s->read, &s->read_given);
  if (status == SPARC_OK) {
    const sparc_network_config network = sparc_network_config_of(sparc_model_info_of(model).network);
    const sparc_preprocessing *known = sparc_model_info_of(model).preprocessing;
    const bool values = head_learns_values(network.head, known->targets > 0);
    const char **names = values ? name_outputs(model, &s->read) : NULL;
    predictions w = {.who = who,
                     .names = names,
                     .terminal = isatty(STDOUT_FILENO),
                     .labels = known->classes ? known->labels : NULL,
                     .outputs = network.head->outputs,
                     .kind = head_has_steps(network.head) && !s->follow ? PREDICTION_STEPS
                             : values                                   ? PREDICTION_NUMBERS
                                                                        : PREDICTION_CLASSES,
                     .unit = s->follow ? "step" : "row",
                     .jsonl = s->style == JSONL};
    status = strcmp(s->input, "-") == 0 ? predict_stream(model, s, &w) : predict_file(model, s, &w);
    sparc_free(names);
  }
  sparc_model_free(model);
  return status;
}

static sparc_status check_input(const predict_settings *s) {
  if (!s->input) return fail(SPARC_INVALID, "expected a MODEL and a FILE, or - for standard input");
  if ((s->follow || s->keep_going) && strcmp(s->input, "-") != 0)
    return fail(SPARC_INVALID, "--%s is for standard input: expected - in the place of '%s'",
                s->follow ? "follow" : "keep-going", s->input);
  return SPARC_OK;
}

static exit_code run_predict(int argc, char **argv) {
  predict_settings settings = {.model = NULL};
  const settings_binding binding = {.part = {{.table = &predict_table, .at = &settings, .given = &settings.given},
                                             {.table = &read_settings,
                                              .at = &settings.read,
                                              .given = &settings.read_given,
                                              .without = "context format validation split folds fold"}}};
  cli_sources *sources;
  const cli_usage usage = {.options = {predict_options, read_options}, .doc = doc, .arguments = "MODEL FILE|-"};
  sparc_status status = cli_settings_read(argc, argv, &usage, &binding, &sources);
  if (status == SPARC_OK) status = check_input(&settings);
  if (status == SPARC_OK) {
    settings_fill_defaults(
        &(settings_binding){.part = {{.table = &predict_table, .at = &settings, .given = &settings.given}}},
        DEFAULT_DATA);
    status = predict(argv[0], &settings);
  }
  if (status != SPARC_OK) cli_message(argv[0], "%s", sparc_error());
  cli_sources_free(sources);
  return cli_exit_code(status);
}

const cli_command command_predict = {"predict", "classify rows with a trained model", NULL, run_predict, CLI_ONE_RANK};
