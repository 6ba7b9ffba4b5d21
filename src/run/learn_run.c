/* SPDX-License-Identifier: MIT */
/* learn_run.c: online learning from lines of text. The run engine (engine.h) keeps the learner's file. */
#include "base/error.h"
#include "data/text.h"
#include "online/learner.h"
#include "run/cell_choice.h"
#include "run/learn_run_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ids and times --------------------------------------------------------------------------------- */

static bool is_utf8(const char *text) { return span_is_utf8((span){text, strlen(text)}); }

/* whether the learner is written to a file, which requires UTF-8 */
static bool is_saved(const sparc_learn_run *run) { return run->config.model && !run->config.frozen; }

/* enlarges a buffer and keeps its text */
static bool enlarge(char **text, size_t from, size_t to) {
  char *larger = sparc_alloc(to);
  if (!larger) return false;
  if (*text) memcpy(larger, *text, from);
  sparc_free(*text);
  *text = larger;
  return true;
}

/* buffers for texts of size - 1 bytes */
sparc_status learn_run_reserve_texts(sparc_learn_run *run, size_t size) {
  if (size <= run->text_size) return SPARC_OK;
  const size_t larger = size < 2 * run->text_size ? 2 * run->text_size : size;
  char **const all[] = {&run->previous.id, &run->previous.time, &run->current.id, &run->current.time};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!enlarge(all[i], run->text_size, larger))
      return fail(SPARC_NO_MEMORY, "no memory for an id or a time of %zu bytes", size);
  run->text_size = larger;
  return SPARC_OK;
}

static sparc_status check_text(const sparc_learn_run *run, const char *name, const char *what, const char *text) {
  if (!is_saved(run) || is_utf8(text)) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: the %s '%s' is not UTF-8 text, so the learner cannot be written to '%.200s'", name,
              what, span_quote((span){text, strlen(text)}).text, run->config.model);
}

static bool starts_sequence(const sparc_learn_run *run) { return strcmp(run->current.id, run->previous.id) != 0; }

/* whether the current line may follow the last step */
static sparc_status check_texts(const sparc_learn_run *run) {
  const char *name = run->line_name;
  sparc_status status = check_text(run, name, "id", run->current.id);
  if (status == SPARC_OK) status = check_text(run, name, "time", run->current.time);
  if (status != SPARC_OK || starts_sequence(run)) return status;
  return stream_check_order(&run->columns, name, run->previous.time, run->current.time);
}

static sparc_status check_classes(const sparc_learn_run *run) {
  for (size_t k = 0; is_saved(run) && k < run->columns.classes; k++)
    if (!is_utf8(run->columns.class_name[k]))
      return fail(SPARC_INVALID, "class %zu, '%s', is not UTF-8 text, so the learner cannot be written to '%.200s'",
                  k + 1, span_quote((span){run->columns.class_name[k], strlen(run->columns.class_name[k])}).text,
                  run->config.model);
  return SPARC_OK;
}

/* ---- life cycle ----------------------------------------------------------------------------------- */

static stream_options options_of(const sparc_learn_run_config *c) {
  return (stream_options){.target = c->target,
                          .label = c->label,
                          .classes = c->classes,
                          .id = c->id,
                          .time = c->time,
                          .ignore = c->ignore,
                          .decimal = c->decimal ? *c->decimal : '.'};
}

static sparc_status make_learner(sparc_learn_run *run) {
  char options[CELL_OPTIONS_SIZE];
  sparc_learn_run_config resolved = run->config;
  const sparc_status status = learn_run_resolve(&resolved, &run->columns, options);
  return status == SPARC_OK ? sparc_learner_create(&resolved.learner, &run->learner) : status;
}

/* output names from the file, the classes or the columns */
static void name_outputs(sparc_learn_run *run, int outputs) {
  const stream_columns *c = &run->columns;
  const char role = c->targets ? 't' : 'i';
  for (size_t i = 0, k = 0; k < (size_t)outputs; i++) {
    if (run->names)
      run->outputs[k++] = json_string_value(json_array_get(run->names, i));
    else if (c->classes)
      run->outputs[k++] = c->class_name[i];
    else if (c->role[i] == role)
      run->outputs[c->slot[i]] = c->name[i], k++;
  }
}

/* outputs of several horizons are named wave+1, wave+6 */
static sparc_status name_forecasts(sparc_learn_run *run) {
  char name[300];
  if (run->horizons < 2 || run->names) return SPARC_OK;
  run->names = json_array();
  for (int j = 0; run->names && j < run->horizons; j++)
    for (size_t i = 0; i < run->columns.count; i++) {
      if (run->columns.role[i] != 'i') continue;
      snprintf(name, sizeof name, "%.250s+%d", run->columns.name[i], run->horizon[j]);
      json_array_append_new(run->names, json_text(name));
    }
  return json_array_size(run->names) == (size_t)sparc_learner_info_of(run->learner).config->outputs
             ? SPARC_OK
             : fail(SPARC_NO_MEMORY, "no memory for the names of outputs");
}

static void list_horizons(sparc_learn_run *run, const sparc_learner_config *c) {
  if (c->objective != SPARC_LEARN_FORECAST || c->forecaster != SPARC_FORECAST_MIXTURE) return;
  run->horizon[run->horizons++] = c->horizon;
  for (int j = 0; j < SPARC_MAX_HORIZONS - 1 && c->more_horizons[j] > 0; j++)
    run->horizon[run->horizons++] = c->more_horizons[j];
}

static sparc_status allocate(sparc_learn_run *run) {
  const sparc_learner_config c = *sparc_learner_info_of(run->learner).config;
  const size_t outputs = (size_t)c.outputs;
  list_horizons(run, &c);
  run->x = sparc_alloc((size_t)c.network.inputs * sizeof *run->x);
  run->target = sparc_alloc(outputs * sizeof *run->target);
  run->y = sparc_alloc(outputs * sizeof *run->y);
  run->outputs = sparc_alloc((outputs + 1) * sizeof *run->outputs);
  run->frequency = sparc_alloc(outputs * sizeof *run->frequency);
  run->inputs = sparc_alloc((size_t)c.network.inputs * sizeof *run->inputs);
  if (!run->x || !run->target || !run->y || !run->outputs || !run->frequency || !run->inputs)
    return fail(SPARC_NO_MEMORY, "no memory for a step of %zu outputs", outputs);
  for (size_t i = 0; i < run->columns.count; i++)
    if (run->columns.role[i] == 'i') run->inputs[run->columns.slot[i]] = run->columns.name[i];
  const sparc_status status = name_forecasts(run);
  if (status == SPARC_OK) name_outputs(run, c.outputs);
  return status;
}

static sparc_status create(void *kind) {
  sparc_learn_run *run = kind;
  const stream_options options = options_of(&run->config);
  sparc_status status = stream_open(&options, NULL, run->line, run->line_size, run->line_name, &run->columns);
  if (status == SPARC_OK) status = check_classes(run);
  const stream_columns *c = &run->columns;
  if (status == SPARC_OK) status = learn_run_keep_columns(run, c->role, c->named ? (const char *const *)c->name : NULL);
  return status == SPARC_OK ? make_learner(run) : status;
}

static const run_ops learn_ops;

static sparc_status open_engine(sparc_learn_run *run) {
  sparc_learn_run_config *c = &run->config;
  const settings_binding binding = learn_binding(c);
  sparc_status status = settings_copy_texts(&binding, &run->texts);
  if (status == SPARC_OK) status = learn_run_check_decimal(c->decimal);
  const run_place place = {.file = c->model,
                           .resume = c->resume,
                           .resume_or_create = c->resume_or_create,
                           .force = c->force,
                           .read_only = c->frozen != 0};
  if (status == SPARC_OK && place_resumes(&place) && !c->model)
    status = fail(SPARC_INVALID, "resume needs a learner file: expected model");
  return status == SPARC_OK ? engine_open(&run->engine, &learn_ops, run, &place) : status;
}

sparc_status sparc_learn_run_create(const sparc_learn_run_config *config, sparc_learn_run **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  sparc_learn_run *run = sparc_alloc(sizeof *run);
  if (!run) return fail(SPARC_NO_MEMORY, "no memory for a run");
  run->config = *config;
  if (run->config.save_every < 0) run->config.save_every = 0;
  const sparc_status status = open_engine(run);
  if (status == SPARC_OK)
    *out = run;
  else
    sparc_learn_run_free(run);
  return status;
}

sparc_status learn_run_lock(sparc_learn_run *run) {
  return run ? engine_lock(&run->engine) : fail(SPARC_INVALID, "run is NULL");
}

static void set_line(sparc_learn_run *run, const char *line, size_t size, const char *name) {
  run->line = line;
  run->line_size = size;
  run->line_name = name;
}

sparc_status learn_run_begin(sparc_learn_run *run, const char *line, size_t size, const char *name) {
  set_line(run, line, size, name);
  run->engine.failed = true; /* unless all of this succeeds */
  sparc_status status = engine_begin(&run->engine);
  if (status == SPARC_OK) status = sparc_learner_freeze(run->learner, run->config.frozen);
  if (status == SPARC_OK) status = allocate(run);
  run->skip_first = run->columns.named;
  run->engine.failed = status != SPARC_OK;
  return status;
}

void sparc_learn_run_free(sparc_learn_run *run) {
  if (!run) return;
  engine_close(&run->engine);
  sparc_learner_free(run->learner);
  stream_free(&run->columns);
  void *memory[] = {run->x,          run->target,      run->y,           run->outputs,
                    run->inputs,     run->frequency,   run->previous.id, run->previous.time,
                    run->current.id, run->current.time};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  json_decref(run->names);
  json_decref(run->column_names);
  free(run->roles);
  free(run->column);
  settings_texts_free(&run->texts);
  sparc_free(run);
}

bool learn_run_is_ready(const sparc_learn_run *run) { return run && run->engine.begun && !run->engine.failed; }

sparc_learn_run_info sparc_learn_run_info_of(const sparc_learn_run *run) {
  if (!learn_run_is_ready(run)) return (sparc_learn_run_info){.learner = NULL};
  return (sparc_learn_run_info){.learner = run->learner, .inputs = run->inputs, .outputs = run->outputs};
}

/* name of the column of a role; NULL: none */
static const char *column_of_role(const stream_columns *c, char role) {
  const char *at = strchr(c->role, role);
  return at ? c->name[at - c->role] : NULL;
}

learn_run_texts learn_run_texts_of(const sparc_learn_run *run) {
  learn_run_texts texts = {.id = NULL};
  if (!learn_run_is_ready(run)) return texts;
  texts.id_name = column_of_role(&run->columns, '#');
  texts.time_name = column_of_role(&run->columns, '@');
  if (texts.id_name) texts.id = run->previous.id;
  if (texts.time_name) texts.time = run->previous.time;
  return texts;
}

sparc_learn_run_result sparc_learn_run_result_of(const sparc_learn_run *run) {
  if (!run) return (sparc_learn_run_result){0};
  const run_engine *e = &run->engine;
  return (sparc_learn_run_result){.resumed = e->begun && e->continues,
                                  .io_failed = e->io_failed,
                                  .warning = run->warning[0] ? run->warning : NULL,
                                  .first = e->first,
                                  .done = e->done,
                                  .saved = e->saved,
                                  .score = learn_run_score_of(run)};
}

/* ---- lines ---------------------------------------------------------------------------------------- */

/* resets the state where the id changes */
static void update_id(sparc_learn_run *run) {
  if (starts_sequence(run)) sparc_learner_reset_state(run->learner);
  const stream_texts previous = run->previous;
  run->previous = run->current;
  run->current = previous;
}

static sparc_status take_step(sparc_learn_run *run, const stream_step *step) {
  const sparc_learner_config c = *sparc_learner_info_of(run->learner).config;
  update_id(run);
  sparc_status status = sparc_learner_step(run->learner, run->x, run->y);
  if (status != SPARC_OK) return status;
  learn_run_add_score(run, -1);
  learn_run_add_horizon_scores(run);
  if (!step->has_target || sparc_learner_report_of(run->learner).steps <= c.horizon) return SPARC_OK;
  status = c.objective == SPARC_LEARN_CLASSIFY ? sparc_learner_observe_class(run->learner, step->label)
                                               : sparc_learner_observe(run->learner, run->target);
  if (status == SPARC_OK) learn_run_add_score(run, step->label);
  return status;
}

static sparc_status advance(void *kind, long *done, bool *due) {
  sparc_learn_run *run = kind;
  stream_step step;
  sparc_status status = learn_run_reserve_texts(run, run->line_size + 1);
  if (status == SPARC_OK)
    status = stream_read(&run->columns, run->line, run->line_size, run->line_name, run->x, run->target, &run->current,
                         &step);
  if (status == SPARC_OK) status = check_texts(run);
  if (status == SPARC_OK) status = take_step(run, &step);
  if (status != SPARC_OK) return status;
  run->stepped = true;
  *done = sparc_learner_report_of(run->learner).steps;
  *due = run->config.save_every > 0 && *done % run->config.save_every == 0;
  return SPARC_OK;
}

sparc_status sparc_learn_run_line(sparc_learn_run *run, const char *line, size_t size, const char *name,
                                  const float **prediction) {
  if (!run || !line || !name || !prediction)
    return fail(SPARC_INVALID, "%s is NULL", !run ? "run" : !line ? "line" : !name ? "name" : "prediction");
  *prediction = NULL;
  if (run->engine.failed) return fail(SPARC_INVALID, "the run has failed");
  const sparc_status begun = run->engine.begun ? SPARC_OK : learn_run_begin(run, line, size, name);
  if (begun != SPARC_OK) return begun;
  if (run->skip_first) {
    run->skip_first = false;
    return SPARC_OK;
  }
  set_line(run, line, size, name);
  run->stepped = false;
  const sparc_status status = engine_advance(&run->engine);
  if (run->stepped) *prediction = run->y;
  return status;
}

static const run_ops learn_ops = {
    .create = create, .restore = learn_run_load, .advance = advance, .save = learn_run_write};

sparc_status sparc_learn_run_save(sparc_learn_run *run) {
  if (!run) return fail(SPARC_INVALID, "run is NULL");
  return learn_run_is_ready(run) ? engine_save(&run->engine) : SPARC_OK;
}
