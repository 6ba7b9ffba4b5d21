/* SPDX-License-Identifier: MIT */
/* settings.c: settings from texts. Every source is first turned into a layer of texts, one for each setting, so
 * that the command line and configuration files share one parser and one set of sentences. */
#include "cli/train/settings.h"

#include "base/error.h"
#include "cli/progress.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the table ----------------------------------------------------------------------------------- */

typedef struct setting {
  int key;
  const char *name;
  setting_type type;
  setting_role role;
  size_t offset;
  double low, high;
} setting;

#define KEY(letter, member) ((letter) ? (letter) : 256 + (int)SET_##member)
#define NO_GROUP(number, title)
#define SETTING_ROW(group, letter, name, member, argument, type, low, high, role, sentence) \
  {KEY(letter, member), name, SETTING_##type, role, offsetof(train_settings, member), low, high},
static const setting settings_table[SETTINGS] = {TRAIN_SETTINGS(NO_GROUP, SETTING_ROW)};

#define GROUP_OPTION(number, title) {NULL, 0, NULL, 0, title, number},
#define SETTING_OPTION(group, letter, name, member, argument, type, low, high, role, sentence) \
  {name, KEY(letter, member), argument, 0, sentence, group},
static const struct argp_option train_options[] = {TRAIN_SETTINGS(GROUP_OPTION, SETTING_OPTION){0}};

/* one source: a text for each setting that it gives */
typedef struct layer {
  const char *where; /* the configuration file; NULL: the command line */
  const char *data;
  const char *text[SETTINGS];
  char number[SETTINGS][32];
} layer;

/* ---- the command line ---------------------------------------------------------------------------- */

static error_t parse_train(int key, char *argument, struct argp_state *state) {
  static char yes[] = "true";
  layer *line = state->input;
  if (key == ARGP_KEY_ARG) {
    if (state->arg_num > 0) argp_error(state, "expected one DATA or TASK, got '%s' as well", argument);
    line->data = argument;
    return 0;
  }
  for (int i = 0; i < SETTINGS; i++) {
    if (settings_table[i].key != key) continue;
    line->text[i] = settings_table[i].type == SETTING_FLAG ? yes : argument;
    return 0;
  }
  return ARGP_ERR_UNKNOWN;
}

const struct argp train_argp = {
    .options = train_options,
    .parser = parse_train,
    .args_doc = "DATA|TASK",
    .doc =
        "Train a network on a named data set, a data file, or one of the generated tasks event-order and tracking. The "
        "defaults are the paper's settings. The run folder gets config.json, metrics.jsonl, metrics.csv, and the "
        "checkpoints last.safetensors and best.safetensors."
        "\vSIGINT and SIGTERM save the run; --resume continues it to the bit. Exit status: 0 done, 1 a file could not "
        "be "
        "written, 2 usage, 3 an input file is missing or malformed, 4 a number that is not finite, 130 interrupted.",
};

/* ---- configuration files ------------------------------------------------------------------------- */

static int find_setting(const char *name) {
  for (int i = 0; i < SETTINGS; i++)
    if (strcmp(settings_table[i].name, name) == 0) return i;
  return -1;
}

static exit_code refuse_key(const char *who, const char *path, const char *key) {
  const char *names[SETTINGS + 2];
  int count = 0;
  for (int i = 0; i < SETTINGS; i++)
    if (settings_table[i].role != COMMAND_LINE) names[count++] = settings_table[i].name;
  names[count++] = "data";
  names[count] = NULL;
  const char *guess = closest(key, names);
  if (guess)
    cli_message(who, "%s: unknown key '%s'; did you mean '%s'?", path, key, guess);
  else
    cli_message(who, "%s: unknown key '%s'; `sparc train --help` lists the settings", path, key);
  return EXIT_USAGE;
}

/* the text of a JSON value, as it would stand on the command line; NULL for lists, objects and null */
static const char *json_as_text(const json_t *value, char number[32]) {
  switch (json_typeof(value)) {
    case JSON_STRING:
      return json_string_value(value);
    case JSON_INTEGER:
      snprintf(number, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
      return number;
    case JSON_REAL:
      snprintf(number, 32, "%.17g", json_real_value(value));
      return number;
    case JSON_TRUE:
      return "true";
    case JSON_FALSE:
      return "false";
    default:
      return NULL;
  }
}

static exit_code read_key(const char *who, const char *key, const json_t *value, layer *to) {
  if (strcmp(key, "data") == 0) {
    to->data = json_string_value(value);
    if (to->data) return EXIT_DONE;
    cli_message(who, "%s: data is not a string", to->where);
    return EXIT_USAGE;
  }
  const int i = find_setting(key);
  if (i < 0 || settings_table[i].role == COMMAND_LINE) return refuse_key(who, to->where, key);
  to->text[i] = json_as_text(value, to->number[i]);
  if (to->text[i]) return EXIT_DONE;
  cli_message(who, "%s: %s is neither a string nor a number nor true or false", to->where, key);
  return EXIT_USAGE;
}

static exit_code read_config(const char *who, const char *path, json_t **source, layer *to) {
  json_error_t error;
  *source = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!*source) {
    if (error.line < 0)
      cli_message(who, "cannot read '%s': %s", path, strerror(errno));
    else
      cli_message(who, "%s:%d: %s", path, error.line, error.text);
    return EXIT_INPUT;
  }
  if (!json_is_object(*source)) {
    cli_message(who, "%s: expected one JSON object", path);
    return EXIT_INPUT;
  }
  to->where = path;
  const char *key;
  json_t *value;
  json_object_foreach(*source, key, value) {
    const exit_code code = read_key(who, key, value, to);
    if (code != EXIT_DONE) return code;
  }
  return EXIT_DONE;
}

/* ---- values -------------------------------------------------------------------------------------- */

static bool parse_whole(const char *text, double low, double high, long *out) {
  char *end;
  errno = 0;
  *out = strtol(text, &end, 10);
  return end != text && !*end && !errno && (double)*out >= low && (double)*out <= high;
}

static bool parse_seed(const char *text, uint64_t *out) {
  char *end;
  errno = 0;
  *out = strtoull(text, &end, 10);
  return isdigit((unsigned char)*text) && !*end && !errno;
}

static bool parse_real(const char *text, double low, double high, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end != text && !*end && *out >= low && *out <= high;
}

static bool parse_flag(const char *text, bool *out) {
  *out = strcmp(text, "true") == 0;
  return *out || strcmp(text, "false") == 0;
}

static bool parse_setting(const setting *s, const char *text, train_settings *to) {
  void *at = (char *)to + s->offset;
  switch (s->type) {
    case SETTING_TEXT:
      *(const char **)at = text;
      return true;
    case SETTING_WHOLE:
      return parse_whole(text, s->low, s->high, at);
    case SETTING_SEED:
      return parse_seed(text, at);
    case SETTING_REAL:
      return parse_real(text, s->low, s->high, at);
    case SETTING_FLAG:
      return parse_flag(text, at);
  }
  return false;
}

static void complain(const char *who, const layer *from, const setting *s, const char *text) {
  char expected[96] = "a whole number from 0 to 18446744073709551615", name[64];
  if (s->type == SETTING_WHOLE)
    snprintf(expected, sizeof expected, "a whole number from %.0f to %.0f", s->low, s->high);
  if (s->type == SETTING_REAL) snprintf(expected, sizeof expected, "a number from %g to %g", s->low, s->high);
  if (s->type == SETTING_FLAG) snprintf(expected, sizeof expected, "true or false");
  snprintf(name, sizeof name, from->where ? "%s" : "--%s", s->name);
  cli_message(who, "%s%s%s is '%s', expected %s", from->where ? from->where : "", from->where ? ": " : "", name, text,
              expected);
}

/* ---- layers -------------------------------------------------------------------------------------- */

/* what a layer says makes other things void that a lower one said of the same matter */
static void clear_outdone(const layer *from, train_settings *to) {
  const char *cell = from->text[SET_cell];
  if (cell && to->cell && strcmp(cell, to->cell) != 0)
    to->given[SET_cell_options] = to->given[SET_variant] = to->given[SET_modes] = false;
  if (from->text[SET_modes]) to->given[SET_budget] = false;
  if (from->text[SET_budget]) to->given[SET_modes] = false;
  if (from->text[SET_cell_options]) to->given[SET_variant] = false;
}

static exit_code apply_layer(const char *who, const layer *from, train_settings *to) {
  clear_outdone(from, to);
  if (from->data) to->data = from->data;
  for (int i = 0; i < SETTINGS; i++) {
    if (!from->text[i]) continue;
    if (!parse_setting(&settings_table[i], from->text[i], to)) {
      complain(who, from, &settings_table[i], from->text[i]);
      return EXIT_USAGE;
    }
    to->given[i] = true;
  }
  if (from->text[SET_modes] && from->text[SET_budget]) {
    cli_message(who, "--modes and --budget exclude each other");
    return EXIT_USAGE;
  }
  return EXIT_DONE;
}

static exit_code check_settings(const char *who, const train_settings *s) {
  static const char *const styles[] = {"auto", "plain", "none", NULL};
  if (!s->data || !*s->data) {
    cli_message(who, "no DATA or TASK given; `sparc train --help` tells more");
    return EXIT_USAGE;
  }
  if (s->resume && s->force) {
    cli_message(who, "--resume and --force exclude each other");
    return EXIT_USAGE;
  }
  for (int i = 0; s->given[SET_progress] && strcmp(styles[i], s->progress) != 0; i++) {
    if (styles[i + 1]) continue;
    cli_message(who, "--progress is '%s', expected auto, plain or none", s->progress);
    return EXIT_USAGE;
  }
  return EXIT_DONE;
}

/* the configuration of the run to be resumed, if it got as far as writing one */
static exit_code read_run(const char *who, const train_settings *above, json_t **source, layer *to, char *path,
                          size_t size) {
  char folder[4096];
  if (!above->given[SET_out] && !above->data) {
    cli_message(who, "--resume needs DATA and the options of the run, or --out with its folder");
    return EXIT_USAGE;
  }
  settings_folder(above, folder, sizeof folder);
  snprintf(path, size, "%s/config.json", folder);
  return access(path, F_OK) == 0 ? read_config(who, path, source, to) : EXIT_DONE;
}

static exit_code merge(const char *who, const layer *const *layers, int count, train_settings *to) {
  exit_code code = EXIT_DONE;
  for (int i = 0; i < count && code == EXIT_DONE; i++) code = apply_layer(who, layers[i], to);
  return code;
}

exit_code settings_parse(int argc, char **argv, train_settings *s) {
  static const train_settings nothing = {.cell = "sparc"};
  layer *all = calloc(3, sizeof *all);
  char path[4200];
  *s = nothing;
  if (!all) {
    cli_message(argv[0], "no memory for the settings");
    return EXIT_FAILED;
  }
  layer *run = &all[0], *file = &all[1], *line = &all[2];
  const layer *const layers[] = {run, file, line};
  exit_code code = argp_parse(&train_argp, argc, argv, 0, NULL, line) == 0 ? EXIT_DONE : EXIT_USAGE;
  json_t *source[2] = {NULL, NULL};
  if (code == EXIT_DONE && line->text[SET_config])
    code = read_config(argv[0], line->text[SET_config], &source[0], file);
  if (code == EXIT_DONE) code = merge(argv[0], layers + 1, 2, s);
  if (code == EXIT_DONE && s->resume) {
    code = read_run(argv[0], s, &source[1], run, path, sizeof path);
    *s = nothing;
    if (code == EXIT_DONE) code = merge(argv[0], layers, 3, s);
  }
  if (code == EXIT_DONE) code = check_settings(argv[0], s);
  memcpy(s->source, source, sizeof source);
  s->texts = all; /* a text may be a number of a configuration file, which was printed there */
  return code;
}

void settings_free(train_settings *s) {
  for (int i = 0; i < 2; i++) json_decref(s->source[i]);
  free(s->texts);
}

/* "data/Gun Point_TRAIN.tsv.gz" becomes "Gun_Point_TRAIN" */
static void file_title(const char *path, char *title, size_t size) {
  const char *slash = strrchr(path, '/');
  size_t used = 0;
  for (const char *c = slash && slash[1] ? slash + 1 : path; *c && *c != '.' && used + 1 < size; c++)
    title[used++] = isalnum((unsigned char)*c) || strchr("_-", *c) ? *c : '_';
  title[used] = '\0';
}

void settings_folder(const train_settings *s, char *path, size_t size) {
  char title[128];
  if (s->given[SET_out]) {
    snprintf(path, size, "%s", s->out);
    return;
  }
  file_title(s->data, title, sizeof title);
  snprintf(path, size, "runs/%s-%s-s%llu", *title ? title : "data", s->cell, (unsigned long long)s->seed);
}

/* ---- defaults ------------------------------------------------------------------------------------ */

/* modes and options of the cell: options of the budget first, then what was said, where the last word counts; the
 * result names every option */
static sparc_status choose_cell(train_settings *s, int default_budget, int inputs, char text[CELL_OPTIONS_SIZE]) {
  char fitted[CELL_OPTIONS_SIZE] = "";
  sparc_cell_config fit = {.H = (int)s->modes};
  sparc_status status = SPARC_OK;
  if (s->given[SET_variant] && s->given[SET_cell_options] && strstr(s->cell_options, "variant=") && !s->resume)
    return fail(SPARC_INVALID, "--variant and the variant in --cell-options exclude each other");
  if (!s->given[SET_modes]) {
    const int budget = s->given[SET_budget] ? (int)s->budget : default_budget;
    status = sparc_cell_fit(s->cell, budget, &fit, fitted, sizeof fitted);
    if (status != SPARC_OK) return status;
  }
  char wish[CELL_OPTIONS_SIZE];
  const int length =
      snprintf(wish, sizeof wish, "%s,%s,%s%s", fitted, s->given[SET_cell_options] ? s->cell_options : "",
               s->given[SET_variant] ? "variant=" : "", s->given[SET_variant] ? s->variant : "");
  if (length >= (int)sizeof wish) return fail(SPARC_INVALID, "the options of the cell are too long");
  sparc_cell *cell;
  status = sparc_cell_create(&(sparc_cell_config){.kind = s->cell, .D = inputs, .H = fit.H, .options = wish}, &cell);
  if (status != SPARC_OK) return status;
  snprintf(text, CELL_OPTIONS_SIZE, "%s", sparc_cell_options(cell));
  s->modes = fit.H;
  s->cell_options = text;
  sparc_cell_free(cell);
  return SPARC_OK;
}

static sparc_network_config network_of(const train_settings *s, const sparc_task *task, int channels, int classes) {
  sparc_network_config n = {.cell = s->cell,
                            .cell_options = s->cell_options,
                            .H = (int)s->modes,
                            .inputs = channels,
                            .outputs = classes,
                            .layers = (int)s->layers,
                            .width = (int)s->width,
                            .dropout = s->dropout,
                            .head = SPARC_HEAD_MEAN,
                            .init = SPARC_INIT_CLASSIFICATION};
  if (!task) return n;
  n.inputs = task->D;
  n.outputs = task->O;
  n.head = task->target_kind == SPARC_TARGET_CLASS ? SPARC_HEAD_LAST : SPARC_HEAD_STEPS;
  n.relu = s->layers == 0 && task->training.relu;
  n.init = task->training.init;
  return n;
}

/* what was not given, after the paper */
static void fill_in(train_settings *s, const sparc_task *task, sparc_train_config *c) {
  *c = task ? sparc_train_task(task) : sparc_train_classification();
  c->seed = s->seed;
  c->threads = (int)s->threads;
  /* a generated task has a constant rate unless a schedule is asked for */
  if (s->given[SET_floor] || s->given[SET_warmup]) c->cosine = 1;
  if (s->given[SET_updates]) c->updates = s->updates;
  if (s->given[SET_batch]) c->batch = (int)s->batch;
  c->warmup = s->given[SET_warmup] ? s->warmup : c->cosine ? c->updates / 10 : 0;
  const struct {
    setting_index index;
    double value, *to;
  } reals[] = {{SET_rate, s->rate, &c->rate},
               {SET_floor, s->floor, &c->floor},
               {SET_recurrent_rate, s->recurrent_rate, &c->recurrent_rate},
               {SET_decay, s->decay, &c->decay},
               {SET_clip, s->clip, &c->clip}};
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
    if (s->given[reals[i].index]) *reals[i].to = reals[i].value;
  /* a small rate with the floor of the paper */
  if (!s->given[SET_floor] && c->floor > c->rate) c->floor = c->rate;

  if (!s->given[SET_layers]) s->layers = task ? 0 : 4;
  if (!s->given[SET_width]) s->width = 64;
  if (!s->given[SET_dropout]) s->dropout = task ? 0 : 0.1;
  if (!s->given[SET_validate_every]) s->validate_every = c->updates / 10 < 500 ? c->updates / 10 : 500;
  if (s->validate_every < 1) s->validate_every = 1;
}

sparc_status settings_apply(train_settings *s, const sparc_task *task, int channels, int classes,
                            char options[CELL_OPTIONS_SIZE], sparc_train_config *config) {
  enum { PAPER_BUDGET = 128 };
  fill_in(s, task, config);
  const int inputs = s->layers > 0 ? (int)s->width : channels;
  sparc_status status = choose_cell(s, task ? task->training.state : PAPER_BUDGET, inputs, options);
  if (status == SPARC_OK) config->network = network_of(s, task, channels, classes);
  return status;
}

/* ---- the effective configuration ----------------------------------------------------------------- */

json_t *settings_json(const train_settings *s, const sparc_train_config *c) {
  const sparc_network_config *n = &c->network;
  json_t *object =
      json_pack("{s:o, s:s, s:s, s:i, s:i, s:i, s:f, s:I, s:i, s:f, s:f, s:I, s:f, s:f, s:f, s:o, s:I, s:b}", "data",
                cli_json_text(s->data), "cell", n->cell, "cell-options", n->cell_options, "modes", n->H, "layers",
                n->layers, "width", (int)s->width, "dropout", n->dropout, "updates", (json_int_t)c->updates, "batch",
                c->batch, "rate", c->rate, "floor", c->floor, "warmup", (json_int_t)c->warmup, "recurrent-rate",
                c->recurrent_rate, "decay", c->decay, "clip", c->clip, "seed", json_integer((json_int_t)c->seed),
                "validate-every", (json_int_t)s->validate_every, "official", s->official);
  /* a generated task with a constant rate: naming floor or warm-up would ask for a schedule */
  if (object && !c->cosine) {
    json_object_del(object, "floor");
    json_object_del(object, "warmup");
  }
  if (object && c->seed > INT64_MAX) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)c->seed);
    json_object_set_new(object, "seed", json_string(text));
  }
  if (object && s->given[SET_threads]) json_object_set_new(object, "threads", json_integer(s->threads));
  if (object && s->given[SET_root]) json_object_set_new(object, "root", cli_json_text(s->root));
  if (object && s->given[SET_label_column]) json_object_set_new(object, "label-column", cli_json_text(s->label_column));
  return object;
}

static bool same_value(const char *who, const char *key, const json_t *now, const json_t *then, const char *then_name) {
  if ((!now && !then) || json_equal(now, then)) return true;
  const size_t style = JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
  char *mine = now ? json_dumps(now, style) : NULL, *other = then ? json_dumps(then, style) : NULL;
  cli_message(who, "%s is %s, but %s in %s; a resumed run keeps its settings", key, mine ? mine : "not set",
              other ? other : "not set", then_name);
  free(mine);
  free(other);
  return false;
}

bool settings_same_run(const char *who, const json_t *now, const json_t *then, const char *then_name) {
  if (!same_value(who, "data", json_object_get(now, "data"), json_object_get(then, "data"), then_name)) return false;
  for (int i = 0; i < SETTINGS; i++) {
    const char *key = settings_table[i].name;
    if (settings_table[i].role != DEFINES) continue;
    if (!same_value(who, key, json_object_get(now, key), json_object_get(then, key), then_name)) return false;
  }
  return true;
}
