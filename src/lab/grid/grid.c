/* SPDX-License-Identifier: MIT */
/* grid.c: parses a grid.
 *
 * Each object has a table of known keys, so that a mistyped key gets a suggestion. Names are used as folder names and are
 * restricted to safe characters. The settings of every task and method are parsed as by their command, so that errors
 * are found before the first run.
 */
#include "lab/grid/grid.h"

#include "base/error.h"
#include "data/tasks.h"
#include "lab/grid/derived_grid.h"
#include "lab/grid/sweep.h"
#include "run/metrics.h"
#include "run/read_settings.h"
#include "run/rl_run.h"
#include "run/run_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLACE = 400 };

/* a position in the file: "grid.json: tasks[2]" */
typedef struct place {
  char text[PLACE];
} place;

static place place_at(const char *where) {
  place p;
  snprintf(p.text, sizeof p.text, "%.200s", where);
  return p;
}

static place inside(const place *p, const char *what) {
  place inner;
  snprintf(inner.text, sizeof inner.text, "%.300s: %.90s", p->text, what);
  return inner;
}

static place nth(const place *p, const char *list, size_t i) {
  char what[64];
  snprintf(what, sizeof what, "%s[%zu]", list, i);
  return inside(p, what);
}

/* ---- objects ------------------------------------------------------------------------------------- */

static const char *const kinds[] = {
    [GRID_RL] = "rl", [GRID_TRAIN] = "train", [GRID_BENCH] = "bench", [GRID_CHECK] = "check", NULL};

const char *grid_kind_name(grid_kind kind) { return kinds[kind]; }

static const char *const grid_keys[] = {"name",     "title",       "note",  "kind",    "settings", "score",
                                        "protocol", "differences", "tasks", "methods", "seeds",    "reference",
                                        "paper",    "ranks",       "sweep", NULL};
static const char *const task_keys[] = {"name", "title", "kind", "settings", "score", "protocol", "range", NULL};
static const char *const method_keys[] = {"name", "title", "colour", "baseline", "settings", "score", NULL};
static const char *const score_keys[] = {"metric", "unit",  "window", "take",  "better",
                                         "digits", "scale", "offset", "where", NULL};
static const char *const protocol_keys[] = {"budget", "fit", "validation", "departure", NULL};
static const char *const check_keys[] = {"file", NULL};

static int find(const char *const *names, const char *name) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

static sparc_status check_object(const json_t *object, const place *p, const char *const *keys) {
  if (!json_is_object(object)) return fail(SPARC_FORMAT, "%s: expected an object", p->text);
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    if (find(keys, key) >= 0) continue;
    const char *guess = closest(key, keys);
    return guess ? fail(SPARC_FORMAT, "%s: unknown key '%.60s'; did you mean '%s'?", p->text, key, guess)
                 : fail(SPARC_FORMAT, "%s: unknown key '%.60s'", p->text, key);
  }
  return SPARC_OK;
}

/* an optional string */
static sparc_status read_text(const json_t *object, const char *key, const place *p, const char **text) {
  const json_t *value = json_object_get(object, key);
  if (!value) return SPARC_OK;
  if (!json_is_string(value)) return fail(SPARC_FORMAT, "%s: %s is not a string", p->text, key);
  *text = json_string_value(value);
  return SPARC_OK;
}

static sparc_status read_choice(const json_t *object, const char *key, const place *p, const char *const *names,
                                int *choice) {
  const char *text = NULL;
  const sparc_status status = read_text(object, key, p, &text);
  if (status != SPARC_OK || !text) return status;
  const int found = find(names, text);
  if (found >= 0) {
    *choice = found;
    return SPARC_OK;
  }
  (void)unknown_name(key, text, names);
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "%s: %s", p->text, sentence);
}

static sparc_status read_object(const json_t *object, const char *key, const place *p, const json_t **out) {
  *out = json_object_get(object, key);
  if (*out && !json_is_object(*out)) return fail(SPARC_FORMAT, "%s: %s is not an object", p->text, key);
  return SPARC_OK;
}

/* "#D55E00" */
static sparc_status read_colour(const json_t *object, const place *p, const char **colour) {
  const sparc_status status = read_text(object, "colour", p, colour);
  if (status != SPARC_OK || !*colour) return status;
  if (**colour == '#' && strlen(*colour) == 7 && strspn(*colour + 1, "0123456789abcdefABCDEF") == 6) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: colour is '%.60s', expected # and six hexadecimal digits", p->text, *colour);
}

/* "repeat-first": a valid folder name and part of a selection */
static sparc_status read_name(const json_t *object, const place *p, const char **name) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const sparc_status status = read_text(object, "name", p, name);
  if (status != SPARC_OK) return status;
  if (!*name) return fail(SPARC_FORMAT, "%s: name is missing", p->text);
  const size_t length = strlen(*name);
  if (length == 0 || length >= GRID_NAME || strspn(*name, allowed) != length || **name == '.' || **name == '-')
    return fail(SPARC_FORMAT, "%s: name is '%.60s', expected up to %d letters, digits, '.', '_' and '-'", p->text,
                *name, GRID_NAME - 1);
  return SPARC_OK;
}

/* ---- scores -------------------------------------------------------------------------------------- */

static sparc_status read_number(const json_t *object, const char *key, const place *p, double *number) {
  const json_t *value = json_object_get(object, key);
  if (!value) return SPARC_OK;
  if (!json_is_number(value)) return fail(SPARC_FORMAT, "%s: %s is not a number", p->text, key);
  *number = json_number_value(value);
  return SPARC_OK;
}

static sparc_status read_whole(const json_t *object, const char *key, const place *p, int low, int high, int *number) {
  const json_t *value = json_object_get(object, key);
  if (!value) return SPARC_OK;
  if (!json_is_integer(value) || json_integer_value(value) < low || json_integer_value(value) > high)
    return fail(SPARC_FORMAT, "%s: %s is not an integer from %d to %d", p->text, key, low, high);
  *number = (int)json_integer_value(value);
  return SPARC_OK;
}

/* an object's values override those in *s */
static sparc_status read_score(const json_t *object, const place *p, grid_score *s) {
  static const char *const takes[] = {"last", "best", NULL}, *const betters[] = {"lower", "higher", NULL};
  const json_t *where = NULL;
  int best = s->best, higher = s->higher;
  sparc_status status = check_object(object, p, score_keys);
  if (status == SPARC_OK) status = read_text(object, "metric", p, &s->metric);
  if (status == SPARC_OK) status = read_text(object, "unit", p, &s->unit);
  if (status == SPARC_OK) status = read_whole(object, "window", p, 1, 1000000, &s->window);
  if (status == SPARC_OK) status = read_whole(object, "digits", p, -1, 9, &s->digits);
  if (status == SPARC_OK) status = read_choice(object, "take", p, takes, &best);
  if (status == SPARC_OK) status = read_choice(object, "better", p, betters, &higher);
  if (status == SPARC_OK) status = read_number(object, "scale", p, &s->scale);
  if (status == SPARC_OK) status = read_number(object, "offset", p, &s->offset);
  if (status == SPARC_OK) status = read_object(object, "where", p, &where);
  s->best = best != 0;
  s->higher = higher != 0;
  if (where) s->where = where;
  if (status == SPARC_OK && s->best && s->window != 1)
    status = fail(SPARC_FORMAT, "%s: window is %d, expected 1 where the best value is taken", p->text, s->window);
  return status;
}

static grid_score default_score(grid_kind kind) {
  static const grid_score defaults[] = {
      [GRID_RL] = {.metric = "return", .unit = "return", .window = 100, .higher = true, .digits = 3, .scale = 1},
      [GRID_TRAIN] = {.metric = "validation_accuracy",
                      .unit = "accuracy, %",
                      .window = 1,
                      .best = true,
                      .higher = true,
                      .digits = 2,
                      .scale = 100},
      [GRID_BENCH] = {.metric = "seconds", .unit = "ms", .window = 1, .digits = -1, .scale = 1000},
      [GRID_CHECK] = {.metric = "e_norm", .unit = "error", .window = 1, .digits = -1, .scale = 1}};
  return defaults[kind];
}

grid_score grid_score_of(const grid *g, int task, int method) {
  grid_score score = g->task[task].score;
  if (g->method[method].score) (void)read_score(g->method[method].score, &(place){.text = ""}, &score);
  return score;
}

/* ---- metrics ------------------------------------------------------------------------------------- */

/* numbers printed by `sparc bench --json` and `sparc check --json` */
static const char *const bench_metrics[] = {"seconds",
                                            "ns_per_mode",
                                            "gb_per_s",
                                            "gflop_per_s",
                                            "of_copy",
                                            "of_triad",
                                            "of_peak",
                                            "noise",
                                            "e_norm",
                                            "memory_bytes",
                                            "memory_measured_bytes",
                                            "steps_per_second",
                                            "environment_seconds",
                                            "collection_seconds",
                                            "update_seconds",
                                            NULL};
static const char *const check_metrics[] = {"e_abs", "e_norm", NULL};

static const char *const *training_metrics(const sparc_run_config *run) {
  metrics_goal goal = METRICS_CLASSES;
  if (is_task(run->data) && !task_has_classes(run->data))
    goal = METRICS_TASK_TARGETS;
  else if (!is_task(run->data) && resolve_read_options(&run->read).objective != SPARC_OBJECTIVE_CLASSIFY)
    goal = METRICS_TARGETS;
  return metrics_of_training(goal, run->official != 1);
}

/* rejects metrics that the run does not write, before it runs */
static sparc_status check_metric(grid_kind kind, const sparc_run_config *run, const char *metric) {
  const char *const *const names[] = {[GRID_RL] = rl_metrics,
                                      [GRID_TRAIN] = kind == GRID_TRAIN ? training_metrics(run) : NULL,
                                      [GRID_BENCH] = bench_metrics,
                                      [GRID_CHECK] = check_metrics};
  return find(names[kind], metric) >= 0 ? SPARC_OK : unknown_name("metric", metric, names[kind]);
}

/* ---- tasks, methods, seeds ----------------------------------------------------------------------- */

static sparc_status read_protocol(const json_t *object, const place *p, grid_protocol *out) {
  const json_t *protocol = NULL;
  int budget = (int)out->budget;
  sparc_status status = read_object(object, "protocol", p, &protocol);
  if (status != SPARC_OK || !protocol) return status;
  const place at = inside(p, "protocol");
  status = check_object(protocol, &at, protocol_keys);
  if (status == SPARC_OK) status = read_whole(protocol, "budget", &at, 1, INT32_MAX, &budget);
  if (status == SPARC_OK) status = read_whole(protocol, "fit", &at, 1, INT32_MAX, &out->fit);
  if (status == SPARC_OK) status = read_whole(protocol, "validation", &at, 1, INT32_MAX, &out->validation);
  if (status == SPARC_OK) status = read_text(protocol, "departure", &at, &out->departure);
  out->budget = budget;
  return status;
}

/* "range": [random, optimal] */
static sparc_status read_range(const json_t *object, const place *p, grid_task *t) {
  const json_t *range = json_object_get(object, "range");
  t->random = t->optimal = NAN;
  if (!range) return SPARC_OK;
  const json_t *random = json_array_get(range, 0), *optimal = json_array_get(range, 1);
  if (json_array_size(range) != 2 || !json_is_number(random) || !json_is_number(optimal) ||
      json_number_value(random) == json_number_value(optimal))
    return fail(SPARC_FORMAT, "%s: range is not the two scores of a random and of an optimal policy", p->text);
  t->random = json_number_value(random);
  t->optimal = json_number_value(optimal);
  return SPARC_OK;
}

static sparc_status read_task(const grid *g, const json_t *object, const place *p, int kind, const json_t *score,
                              grid_task *t) {
  const json_t *task_score = NULL;
  sparc_status status = check_object(object, p, task_keys);
  if (status == SPARC_OK) status = read_name(object, p, &t->name);
  t->title = t->name;
  if (status == SPARC_OK) status = read_text(object, "title", p, &t->title);
  if (status == SPARC_OK) status = read_choice(object, "kind", p, kinds, &kind);
  if (status == SPARC_OK) status = read_object(object, "settings", p, &t->settings);
  if (status == SPARC_OK) status = read_object(object, "score", p, &task_score);
  if (status == SPARC_OK) status = read_range(object, p, t);
  t->kind = (grid_kind)kind;
  t->score = default_score(t->kind);
  t->protocol.departure = "";
  if (status == SPARC_OK) status = read_protocol(g->file, p, &t->protocol);
  if (status == SPARC_OK) status = read_protocol(object, p, &t->protocol);
  const place at = inside(p, "score");
  if (status == SPARC_OK && score) status = read_score(score, &at, &t->score);
  if (status == SPARC_OK && task_score) status = read_score(task_score, &at, &t->score);
  for (int i = 0; status == SPARC_OK && i < g->tasks; i++)
    if (strcmp(g->task[i].name, t->name) == 0)
      status = fail(SPARC_FORMAT, "%s: an earlier task is also called '%s'", p->text, t->name);
  return status;
}

static sparc_status read_method(const grid *g, const json_t *object, const place *p, grid_method *m) {
  sparc_status status = check_object(object, p, method_keys);
  if (status == SPARC_OK) status = read_name(object, p, &m->name);
  m->title = m->name;
  if (status == SPARC_OK) status = read_text(object, "title", p, &m->title);
  if (status == SPARC_OK) status = read_colour(object, p, &m->colour);
  if (status == SPARC_OK) status = read_object(object, "settings", p, &m->settings);
  if (status == SPARC_OK) status = read_object(object, "score", p, &m->score);
  m->baseline = json_is_true(json_object_get(object, "baseline"));
  if (status == SPARC_OK && m->score) {
    const place at = inside(p, "score");
    grid_score score = default_score(GRID_RL);
    score.window = 1;
    status = read_score(m->score, &at, &score);
  }
  for (int i = 0; status == SPARC_OK && i < g->methods; i++)
    if (strcmp(g->method[i].name, m->name) == 0)
      status = fail(SPARC_FORMAT, "%s: an earlier method is also called '%s'", p->text, m->name);
  return status;
}

static sparc_status read_list(const json_t *file, const char *key, size_t max_count, const place *p,
                              const json_t **list) {
  *list = json_object_get(file, key);
  if (!json_is_array(*list) || json_array_size(*list) < 1 || json_array_size(*list) > max_count)
    return fail(SPARC_FORMAT, "%s: %s is not a list of 1 to %zu entries", p->text, key, max_count);
  return SPARC_OK;
}

static sparc_status read_tasks(grid *g, const place *p, int kind) {
  const json_t *list, *score;
  sparc_status status = read_list(g->file, "tasks", GRID_MAX_ENTRIES, p, &list);
  if (status == SPARC_OK) status = read_object(g->file, "score", p, &score);
  for (size_t i = 0; status == SPARC_OK && i < json_array_size(list); i++) {
    const place at = nth(p, "tasks", i);
    status = read_task(g, json_array_get(list, i), &at, kind, score, &g->task[g->tasks]);
    if (status == SPARC_OK) g->tasks++;
  }
  return status;
}

/* *first: index of the reference if a sweep expanded it, else -1 */
static sparc_status read_sweep(grid *g, const place *p, const json_t **list, int *first) {
  const char *reference = json_string_value(json_object_get(g->file, "reference"));
  *first = -1;
  if (!sweep_is_in(g->file)) return SPARC_OK;
  const sparc_status status = sweep_expand(g->file, p->text, reference, &g->expanded, first);
  *list = g->expanded;
  if (status == SPARC_OK && json_array_size(*list) > GRID_MAX_ENTRIES)
    return fail(SPARC_FORMAT, "%s: with their sweeps there are %zu methods, expected at most %d", p->text,
                json_array_size(*list), GRID_MAX_ENTRIES);
  return status;
}

static sparc_status read_methods(grid *g, const place *p, int *first) {
  const json_t *list;
  sparc_status status = read_list(g->file, "methods", GRID_MAX_ENTRIES, p, &list);
  if (status == SPARC_OK) status = read_sweep(g, p, &list, first);
  for (size_t i = 0; status == SPARC_OK && i < json_array_size(list); i++) {
    const place at = nth(p, "methods", i);
    status = read_method(g, json_array_get(list, i), &at, &g->method[g->methods]);
    if (status == SPARC_OK) g->methods++;
  }
  return status;
}

static sparc_status read_seeds(grid *g, const place *p) {
  const json_t *list;
  if (!json_object_get(g->file, "seeds")) {
    g->seeds = 1;
    return SPARC_OK;
  }
  const sparc_status status = read_list(g->file, "seeds", GRID_MAX_SEEDS, p, &list);
  if (status != SPARC_OK) return status;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *value = json_array_get(list, i);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
      return fail(SPARC_FORMAT, "%s: seeds[%zu] is not a non-negative integer", p->text, i);
    g->seed[g->seeds] = (uint64_t)json_integer_value(value);
    for (int k = 0; k < g->seeds; k++)
      if (g->seed[k] == g->seed[g->seeds]) return fail(SPARC_FORMAT, "%s: seeds[%zu] is given twice", p->text, i);
    g->seeds++;
  }
  return SPARC_OK;
}

static sparc_status read_reference(grid *g, const place *p, int first) {
  const char *names[GRID_MAX_ENTRIES + 1] = {NULL};
  if (first >= 0) {
    g->reference = first;
    return SPARC_OK;
  }
  for (int i = 0; i < g->methods; i++) names[i] = g->method[i].name;
  return read_choice(g->file, "reference", p, names, &g->reference);
}

/* ---- the paper's numbers ------------------------------------------------------------------------- */

/* 0.448 or [0.829, 0.008] */
static bool paper_number(const json_t *value, double *mean, double *stddev) {
  const json_t *first = json_is_array(value) ? json_array_get(value, 0) : value, *second = json_array_get(value, 1);
  if (!json_is_number(first) || (second && !json_is_number(second))) return false;
  *mean = json_number_value(first);
  *stddev = second ? json_number_value(second) : NAN;
  return !json_is_array(value) || json_array_size(value) <= 2;
}

static bool number_of(const grid *g, const json_t *numbers, int task, int method, double *mean, double *stddev) {
  const json_t *row = json_object_get(numbers, g->task[task].name);
  return paper_number(json_object_get(row, g->method[method].name), mean, stddev);
}

bool grid_paper(const grid *g, int task, int method, double *mean, double *stddev) {
  return number_of(g, g->paper, task, method, mean, stddev);
}

bool grid_paper_difference(const grid *g, int task, int method, double *mean, double *stddev) {
  return number_of(g, g->differences, task, method, mean, stddev);
}

double grid_paper_rank(const grid *g, int method) {
  double mean, stddev;
  return paper_number(json_object_get(g->ranks, g->method[method].name), &mean, &stddev) ? mean : NAN;
}

static sparc_status check_paper_row(const grid *g, const place *p, const json_t *row) {
  const char *names[GRID_MAX_ENTRIES + 1] = {NULL}, *key;
  json_t *value;
  double mean, stddev;
  for (int i = 0; i < g->methods; i++) names[i] = g->method[i].name;
  const sparc_status status = check_object(row, p, names);
  if (status != SPARC_OK) return status;
  json_object_foreach((json_t *)row, key, value) {
    if (!paper_number(value, &mean, &stddev))
      return fail(SPARC_FORMAT, "%s: %s is neither a number nor [mean, stddev]", p->text, key);
  }
  return SPARC_OK;
}

static sparc_status read_paper(const grid *g, const place *p, const char *key, const json_t **numbers) {
  const char *names[GRID_MAX_ENTRIES + 1] = {NULL}, *task;
  json_t *row;
  sparc_status status = read_object(g->file, key, p, numbers);
  if (status != SPARC_OK || !*numbers) return status;
  for (int i = 0; i < g->tasks; i++) names[i] = g->task[i].name;
  const place at = inside(p, key);
  status = check_object(*numbers, &at, names);
  json_object_foreach((json_t *)*numbers, task, row) {
    const place of = inside(&at, task);
    if (status == SPARC_OK) status = check_paper_row(g, &of, row);
  }
  return status;
}

/* ---- settings ------------------------------------------------------------------------------------ */

/* with canonical names as keys, so that digests do not depend on renamed settings */
static json_t *canonical_settings(grid_kind kind, const json_t *settings) {
  sparc_rl_run_config rl = {.folder = NULL};
  sparc_run_config run = {.data = NULL};
  const settings_binding bindings[] = {[GRID_RL] = rl_binding(&rl), [GRID_TRAIN] = run_binding(&run)};
  return kind <= GRID_TRAIN ? settings_canonical_json(&bindings[kind], settings) : json_copy((json_t *)settings);
}

json_t *grid_settings(const grid *g, int task, int method) {
  const json_t *parts[] = {g->settings, g->task[task].settings, g->method[method].settings};
  json_t *all = json_object();
  for (size_t i = 0; all && i < sizeof parts / sizeof *parts; i++) {
    json_t *part = parts[i] ? canonical_settings(g->task[task].kind, parts[i]) : json_object();
    const bool merged = part && json_object_update(all, part) == 0;
    json_decref(part);
    if (merged) continue;
    json_decref(all);
    all = NULL;
  }
  return all;
}

static sparc_status fail_at(const place *p) {
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "%s: %s", p->text, sentence);
}

/* parses settings as --config does */
static sparc_status try_apply(const settings_binding *binding, json_t *settings) {
  settings_source *source = sparc_alloc(sizeof *source);
  if (!source) return fail(SPARC_NO_MEMORY, "no memory for settings");
  settings_clear(binding);
  sparc_status status = settings_read_json(binding, "settings", json_incref(settings), source);
  if (status == SPARC_OK) status = settings_apply(binding, source);
  settings_source_free(source);
  sparc_free(source);
  return status;
}

/* appends the value of {key} */
static sparc_status fill_in(const json_t *settings, const char *key, size_t length, FILE *out) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)settings, name, value) {
    if (strlen(name) != length || strncmp(name, key, length) != 0 || !json_is_string(value)) continue;
    fputs(json_string_value(value), out);
    return SPARC_OK;
  }
  return fail(SPARC_FORMAT, "settings: problem has {%.*s}, but there is no such string setting", (int)length, key);
}

sparc_status grid_problem(const json_t *settings, char problem[GRID_PROBLEM]) {
  const char *text = json_string_value(json_object_get(settings, "problem"));
  FILE *out = fmemopen(problem, GRID_PROBLEM, "w");
  if (!out) return fail(SPARC_NO_MEMORY, "no memory for the problem of a benchmark");
  sparc_status status = SPARC_OK;
  for (; status == SPARC_OK && *text; text++) {
    const char *end = *text == '{' ? strchr(text, '}') : NULL;
    if (end)
      status = fill_in(settings, text + 1, (size_t)(end - text - 1), out);
    else
      putc(*text, out);
    if (end) text = end;
  }
  const bool fits = fclose(out) == 0 && memchr(problem, '\0', GRID_PROBLEM) != NULL;
  return status == SPARC_OK && !fits ? fail(SPARC_FORMAT, "settings: problem is too long") : status;
}

static sparc_status need(const json_t *settings, const char *key) {
  return json_is_string(json_object_get(settings, key)) ? SPARC_OK
                                                        : fail(SPARC_FORMAT, "settings: %s is not given", key);
}

static sparc_status try_settings(grid_kind kind, json_t *settings, const char *metric, const place *p) {
  sparc_rl_run_config rl = {.folder = NULL};
  sparc_run_config run = {.data = NULL};
  const settings_binding bindings[] = {[GRID_RL] = rl_binding(&rl), [GRID_TRAIN] = run_binding(&run)};
  static const char *const needed[] = {
      [GRID_RL] = "task", [GRID_TRAIN] = "data", [GRID_BENCH] = "problem", [GRID_CHECK] = "file"};
  sparc_status status = SPARC_OK;
  if (kind <= GRID_TRAIN) status = try_apply(&bindings[kind], settings);
  if (kind == GRID_CHECK) status = check_object(settings, &(place){.text = "settings"}, check_keys);
  if (status == SPARC_OK) status = need(settings, needed[kind]);
  if (status == SPARC_OK && kind == GRID_BENCH) {
    char problem[GRID_PROBLEM];
    status = grid_problem(settings, problem);
  }
  if (status == SPARC_OK) status = check_metric(kind, &run, metric);
  return status == SPARC_OK || status == SPARC_NO_MEMORY ? status : fail_at(p);
}

static sparc_status check_settings(const grid *g, const place *p) {
  static const char *const reserved[] = {"seed", "out", "threads"};
  sparc_status status = SPARC_OK;
  for (int t = 0; t < g->tasks; t++)
    for (int m = 0; m < g->methods && status == SPARC_OK; m++) {
      json_t *settings = grid_settings(g, t, m);
      char cell[2 * GRID_NAME + 4];
      snprintf(cell, sizeof cell, "%s/%s", g->task[t].name, g->method[m].name);
      const place at = inside(p, cell);
      status = settings ? try_settings(g->task[t].kind, settings, grid_score_of(g, t, m).metric, &at)
                        : fail(SPARC_NO_MEMORY, "no memory for a grid");
      for (size_t i = 0; i < sizeof reserved / sizeof *reserved && status == SPARC_OK; i++)
        if (json_object_get(settings, reserved[i]))
          status = fail(SPARC_FORMAT, "%s: settings: a grid cannot set %s", at.text, reserved[i]);
      json_decref(settings);
    }
  return status;
}

/* ---- the grid ------------------------------------------------------------------------------------ */

static sparc_status read_grid(grid *g, const place *p) {
  int kind = GRID_RL, first = -1;
  sparc_status status = check_object(g->file, p, grid_keys);
  if (status == SPARC_OK) status = read_name(g->file, p, &g->name);
  g->title = g->name;
  g->note = "";
  if (status == SPARC_OK) status = read_text(g->file, "title", p, &g->title);
  if (status == SPARC_OK) status = read_text(g->file, "note", p, &g->note);
  if (status == SPARC_OK) status = read_choice(g->file, "kind", p, kinds, &kind);
  if (status == SPARC_OK) status = read_object(g->file, "settings", p, &g->settings);
  if (status == SPARC_OK) status = read_tasks(g, p, kind);
  if (status == SPARC_OK) status = read_methods(g, p, &first);
  if (status == SPARC_OK) status = read_seeds(g, p);
  if (status == SPARC_OK) status = read_reference(g, p, first);
  if (status == SPARC_OK) status = read_paper(g, p, "paper", &g->paper);
  if (status == SPARC_OK) status = read_paper(g, p, "differences", &g->differences);
  if (status == SPARC_OK) status = read_object(g->file, "ranks", p, &g->ranks);
  const place ranks = inside(p, "ranks");
  if (status == SPARC_OK && g->ranks) status = check_paper_row(g, &ranks, g->ranks);
  return status == SPARC_OK ? check_settings(g, p) : status;
}

sparc_status grid_parse(const char *text, size_t size, const char *where, grid *out) {
  json_error_t error;
  *out = (grid){.file = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error)};
  if (!out->file) return fail(SPARC_FORMAT, "%.200s:%d: %s", where, error.line, error.text);
  const place p = place_at(where);
  const sparc_status status = grid_derive(&out->file);
  if (status == SPARC_FORMAT) return fail_at(&p);
  return status == SPARC_OK ? read_grid(out, &p) : status;
}

sparc_status grid_from_json(json_t *file, const char *where, grid *out) {
  const place p = place_at(where);
  *out = (grid){.file = file};
  return read_grid(out, &p);
}

void grid_free(grid *g) {
  json_decref(g->expanded);
  json_decref(g->file);
  *g = (grid){.file = NULL};
}
