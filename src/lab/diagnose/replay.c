/* SPDX-License-Identifier: MIT */
/* replay.c: loads trained networks and records their inputs. */
#include "lab/diagnose/replay.h"

#include "base/error.h"
#include "base/plain_text.h"
#include "envs/envs.h"
#include "io/dtype.h"
#include "io/folder_file.h"
#include "nn/head.h"
#include "nn/network.h"
#include "rl/agent.h"
#include "run/read_settings.h"
#include "run/run_settings.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

replay_options replay_defaults(void) { return (replay_options){.examples = 8, .steps = 1024}; }

/* ---- checkpoint ---------------------------------------------------------------------------------- */

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* of a run folder the best checkpoint or, without validation, the last */
static sparc_status find_checkpoint(const char *path, replay *r) {
  run_folder folder = {.path = ""};
  char place[RUN_PATH];
  const char *slash = strrchr(path, '/');
  const bool whole = is_folder(path);
  const int length = whole ? (int)strlen(path) : slash ? (int)(slash - path) : 0;
  if (snprintf(place, sizeof place, "%.*s", length, path) >= (int)sizeof place)
    return fail(SPARC_INVALID, "the name of the checkpoint has %zu bytes, expected at most %d", strlen(path), RUN_PATH);
  sparc_status status = run_folder_at(length ? place : slash ? "/" : ".", &folder);
  if (status != SPARC_OK) return status;
  snprintf(r->folder, sizeof r->folder, "%s", folder.path);
  bool best = false, last;
  if (whole) status = folder_file_find(folder.best, &best);
  if (status == SPARC_OK && whole && !best) status = folder_file_find(folder.last, &last);
  snprintf(r->path, sizeof r->path, "%s", !whole ? path : best ? folder.best : folder.last);
  return status;
}

/* ---- names --------------------------------------------------------------------------------------- */

static sparc_status name_cell(replay *r) {
  const sparc_cell *cell = network_cell(r->network);
  const cell_request request = {.kind = sparc_cell_config_of(cell).kind, .options = sparc_cell_config_of(cell).options};
  char nondefault[CELL_OPTIONS_SIZE];
  const sparc_status status = cell_nondefault_options(&request, nondefault);
  if (status != SPARC_OK) return status;
  make_plain(r->task);
  options_file_name(request.kind, nondefault, r->cell, sizeof r->cell);
  snprintf(r->title, sizeof r->title, "%s (%s)", r->task, r->cell);
  if (strcmp(r->cell, "sparc") == 0) snprintf(r->paper, sizeof r->paper, "%s", r->task);
  return SPARC_OK;
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* arrays of `tokens` steps for all recordings */
static bool reserve(replay *r, int recordings, size_t tokens, bool masks, bool events) {
  const size_t inputs = (size_t)sparc_network_config_of(r->network).inputs;
  r->recording = sparc_alloc((size_t)recordings * sizeof *r->recording);
  r->memory = sparc_alloc(tokens * (inputs + masks) * sizeof *r->memory);
  r->event_memory = events ? sparc_alloc(tokens * sizeof *r->event_memory) : NULL;
  return r->recording && r->memory && (!events || r->event_memory);
}

static sparc_status no_memory(size_t tokens) { return fail(SPARC_NO_MEMORY, "no memory to record %zu steps", tokens); }

/* ---- agents -------------------------------------------------------------------------------------- */

static const char *const episode_events[] = {"episode", NULL};

/* one environment, stepped by the agent */
typedef struct stage {
  sparc_envs *envs;
  sparc_random random;
  float *observation, *action, reward, mask;
  double episode_return;
  int length;
} stage;

static void close_stage(stage *s) {
  sparc_envs_free(s->envs);
  sparc_free(s->observation);
  sparc_free(s->action);
}

static sparc_status check_shape(const replay *r, const stage *s) {
  const sparc_env_shape a = sparc_agent_info_of(r->agent).shape, e = sparc_envs_info_of(s->envs).shape;
  if (a.observation == e.observation && a.choices == e.choices && a.action == e.action) return SPARC_OK;
  return fail(SPARC_FORMAT,
              "'%.200s' is for %d observed numbers, %d choices and actions of %d, but task %s has %d, %d and %d",
              r->path, a.observation, a.choices, a.action, r->task, e.observation, e.choices, e.action);
}

static sparc_status open_stage(const replay *r, const replay_options *options, stage *s) {
  const sparc_envs_config config = {.name = sparc_agent_metadata(r->agent, "task"),
                                    .options = sparc_agent_metadata(r->agent, "task_options"),
                                    .n = 1,
                                    .seed = options->seed,
                                    .threads = 1};
  *s = (stage){.mask = 0};
  sparc_random_init(&s->random, options->seed, "diagnose", "actions");
  sparc_status status = plugin_permit(config.name, r->path, options->plugins);
  if (status == SPARC_OK) status = sparc_envs_create(&config, &s->envs);
  if (status == SPARC_OK) status = check_shape(r, s);
  if (status != SPARC_OK) return status;
  const sparc_env_shape shape = sparc_envs_info_of(s->envs).shape;
  s->observation = sparc_alloc((size_t)shape.observation * sizeof *s->observation);
  s->action = sparc_alloc((size_t)shape.action * sizeof *s->action);
  if (!s->observation || !s->action) return fail(SPARC_NO_MEMORY, "no memory for an environment");
  return sparc_envs_reset(s->envs, s->observation);
}

/* actions are drawn from the policy, as in training */
static sparc_status record_episodes(const replay *r, stage *s, recording *to) {
  const size_t inputs = (size_t)sparc_agent_info_of(r->agent).shape.observation;
  sparc_status status = SPARC_OK;
  for (int t = 0; t < to->T && status == SPARC_OK; t++) {
    to->mask[t] = s->mask;
    to->event[t] = s->mask != 0 ? -1 : 0;
    status = sparc_agent_step(r->agent, NULL, s->observation, s->mask, &s->random, s->action);
    memcpy(to->x + (size_t)t * inputs, agent_input(r->agent), inputs * sizeof(float));
    if (status == SPARC_OK)
      status =
          sparc_envs_step(s->envs, s->action, s->observation, &s->reward, &s->mask, &s->episode_return, &s->length);
  }
  return status;
}

static sparc_status play(replay *r, const replay_options *options) {
  const size_t steps = (size_t)options->steps;
  if (!reserve(r, 1, steps, true, true)) return no_memory(steps);
  r->recording[0] = (recording){.T = options->steps,
                                .x = r->memory,
                                .mask = r->memory + steps * (size_t)sparc_agent_info_of(r->agent).shape.observation,
                                .event = r->event_memory};
  r->recordings = 1;
  stage s;
  sparc_status status = open_stage(r, options, &s);
  if (status == SPARC_OK) status = record_episodes(r, &s, r->recording);
  close_stage(&s);
  return status;
}

static sparc_status open_agent(replay *r, const replay_options *options) {
  if (options->data)
    return fail(SPARC_INVALID, "'%.200s' is an agent, which plays its own task: it takes no data set", r->path);
  sparc_status status = sparc_agent_load(r->path, &r->agent);
  if (status != SPARC_OK) return status;
  const char *task_options = sparc_agent_metadata(r->agent, "task_options");
  snprintf(r->task, sizeof r->task, "%s%s%s", sparc_agent_metadata(r->agent, "task"), *task_options ? " " : "",
           task_options);
  r->network = agent_network(r->agent);
  r->params = agent_params(r->agent);
  r->distribution = sparc_agent_info_of(r->agent).shape.choices ? DISTRIBUTION_CLASSES : DISTRIBUTION_NORMAL;
  r->part = "episodes";
  r->event_names = episode_events;
  status = name_cell(r);
  return status == SPARC_OK ? play(r, options) : status;
}

/* ---- models -------------------------------------------------------------------------------------- */

/* location of the data and how to read them */
typedef struct data_sources {
  sparc_run_config config; /* data, root and read count */
  settings_source *folder; /* the texts of config.json; NULL: there is none */
  sparc_model *model;      /* those of the model's metadata; NULL: not needed */
} data_sources;

static void data_sources_free(data_sources *s) {
  if (s->folder) settings_source_free(s->folder);
  sparc_free(s->folder);
  sparc_model_free(s->model);
}

/* settings of the run */
static sparc_status read_config(const run_folder *folder, data_sources *s) {
  const settings_binding binding = run_binding(&s->config);
  s->folder = sparc_alloc(sizeof *s->folder);
  if (!s->folder) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  const sparc_status status = run_folder_settings(folder, &binding, s->folder);
  return status == SPARC_OK ? settings_apply(&binding, s->folder) : status;
}

/* otherwise those in the model's metadata */
static sparc_status config_from_model(const replay *r, data_sources *s) {
  s->config.data = r->file.preprocessing.view.data;
  const sparc_status status = sparc_model_load(r->path, 1, &s->model);
  return status == SPARC_OK ? read_options_inherit(s->model, &s->config.read, &s->config.given[3]) : status;
}

static sparc_status load_data(replay *r, const replay_options *options) {
  const char *protocol = sparc_tensors_metadata_find(r->file.file, "run.protocol");
  run_folder folder = {.path = ""};
  data_sources from = {.config = {.data = NULL}};
  bool found;
  sparc_status status = run_folder_at(r->folder, &folder);
  if (status == SPARC_OK) status = folder_file_find(folder.config, &found);
  if (status == SPARC_OK) status = found ? read_config(&folder, &from) : config_from_model(r, &from);
  const char *name = options->data ? options->data : from.config.data;
  if (status == SPARC_OK && !options->data) status = run_folder_check_data(&folder, name);
  if (status == SPARC_OK && !name)
    status = fail(SPARC_FORMAT, "'%.200s' does not record its training data, expected --data", r->path);
  sparc_data_options how = {
      .root = options->root ? options->root : from.config.root,
      .protocol = protocol && strcmp(protocol, "official") == 0 ? SPARC_PROTOCOL_OFFICIAL : SPARC_PROTOCOL_PAPER,
      .read = resolve_read_options(&from.config.read)};
  how.read.columns = r->file.preprocessing.view.columns;
  if (status == SPARC_OK) status = run_data_load(name, &how, &r->data);
  data_sources_free(&from);
  return status;
}

static sparc_status check_data(const replay *r) {
  const char *name = r->data.task ? r->data.task->name : r->data.split.name;
  const sparc_network_config config = sparc_network_config_of(r->network);
  const char *trained = sparc_tensors_metadata_find(r->file.file, "run.data_checksum");
  char here[32];
  snprintf(here, sizeof here, "%08lx", r->data.checksum);
  if (r->data.channels != config.inputs || r->data.outputs != config.head->outputs)
    return fail(SPARC_FORMAT,
                "'%.200s' has %d inputs and %d outputs, but %.100s has %d channels and %d classes or targets", r->path,
                config.inputs, config.head->outputs, name, r->data.channels, r->data.outputs);
  if (trained && strcmp(trained, here) != 0)
    return fail(SPARC_FORMAT, "'%.200s' was trained on other data than %.100s: their checksums are %s and %s", r->path,
                name, quote(trained).text, here);
  return SPARC_OK;
}

static sparc_status record_examples(replay *r, int max_examples) {
  const sparc_samples *samples = r->data.validation.count ? &r->data.validation : &r->data.fit;
  const sparc_task *task = r->data.task;
  const size_t inputs = (size_t)samples->channels;
  const int count = samples->count < max_examples ? samples->count : max_examples;
  size_t tokens = 0;
  for (int i = 0; i < count; i++) tokens += (size_t)samples->at(samples->source, i).length;
  if (!reserve(r, count, tokens, false, task != NULL)) return no_memory(tokens);
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    const sparc_sample s = samples->at(samples->source, i);
    const size_t T = (size_t)s.length;
    r->recording[i] =
        (recording){.T = s.length, .x = r->memory + used * inputs, .event = task ? r->event_memory + used : NULL};
    memcpy(r->recording[i].x, s.x, T * inputs * sizeof(float));
    if (task) memcpy(r->recording[i].event, task->evaluation.event + (size_t)i * T, T * sizeof(int));
    used += T;
  }
  r->recordings = count;
  r->part = samples == &r->data.validation ? "validation" : "fit";
  r->event_names = task ? task->event_names : NULL;
  return SPARC_OK;
}

static sparc_status open_model(replay *r, const replay_options *options) {
  sparc_status status = checkpoint_open(r->path, false, &r->file);
  if (status != SPARC_OK) return status;
  r->has_file = true;
  if (r->file.state.config.network.layer)
    return fail(SPARC_UNSUPPORTED, "'%.200s' has layers of several kinds, which are not diagnosed", r->path);
  r->network = r->file.network;
  const size_t params = sparc_network_sizes_of(r->network).params;
  r->own_params = sparc_alloc(params * sizeof *r->own_params);
  if (!r->own_params) return fail(SPARC_NO_MEMORY, "no memory for a model of %zu parameters", params);
  r->params = r->own_params;
  status = checkpoint_read(&r->file, r->own_params, NULL);
  if (status == SPARC_OK) status = load_data(r, options);
  if (status == SPARC_OK) status = check_data(r);
  if (status != SPARC_OK) return status;
  /* with the name used in training */
  const char *trained = r->file.preprocessing.view.data;
  snprintf(r->task, sizeof r->task, "%s", trained ? trained : r->data.split.name);
  const sparc_head_config *head = sparc_network_config_of(r->network).head;
  const bool values = head_learns_values(head, r->file.preprocessing.view.targets > 0);
  r->distribution = head_has_steps(head) || values ? DISTRIBUTION_NONE : DISTRIBUTION_CLASSES;
  status = name_cell(r);
  return status == SPARC_OK ? record_examples(r, options->examples) : status;
}

/* ---- both ---------------------------------------------------------------------------------------- */

static sparc_status identify(const char *path, bool *agent) {
  sparc_tensors *file;
  const sparc_status status = sparc_tensors_load(path, &file);
  if (status != SPARC_OK) return status;
  const char *format = sparc_tensors_metadata_find(file, "format");
  *agent = format && strcmp(format, "sparc-agent") == 0;
  sparc_tensors_free(file);
  return SPARC_OK;
}

sparc_status replay_open(const char *path, const replay_options *options, replay *out) {
  *out = (replay){.recordings = 0};
  bool agent = false;
  sparc_status status = find_checkpoint(path, out);
  if (status == SPARC_OK) status = identify(out->path, &agent);
  if (status == SPARC_OK) status = agent ? open_agent(out, options) : open_model(out, options);
  if (status != SPARC_OK) replay_close(out);
  return status;
}

void replay_close(replay *r) {
  sparc_agent_free(r->agent);
  if (r->has_file) checkpoint_close(&r->file);
  run_data_free(&r->data);
  sparc_free(r->own_params);
  sparc_free(r->recording);
  sparc_free(r->memory);
  sparc_free(r->event_memory);
  *r = (replay){.recordings = 0};
}

int replay_layers(const replay *r) {
  const int layers = sparc_network_config_of(r->network).layers;
  return layers ? layers : 1;
}

/* ---- outputs ------------------------------------------------------------------------------------- */

sparc_status replay_outputs_create(const replay *r, const recording *from, replay_outputs *out) {
  const sparc_network_config config = sparc_network_config_of(r->network);
  const size_t heads = (size_t)config.heads;
  size_t total = 0;
  *out = (replay_outputs){.head = sparc_alloc(heads * sizeof *out->head), .size = sparc_alloc(heads * sizeof(size_t))};
  for (size_t i = 0; out->size && i < heads; i++) {
    const sparc_head_config *head = &config.head[i];
    out->size[i] = (size_t)head->outputs * (head_has_steps(head) ? (size_t)from->T : 1);
    total += out->size[i];
  }
  float *memory = out->memory = sparc_alloc((total ? total : 1) * sizeof(float));
  if (!out->head || !out->size || !memory) {
    replay_outputs_free(out);
    return fail(SPARC_NO_MEMORY, "no memory for %zu outputs", total);
  }
  for (size_t i = 0; i < heads; memory += out->size[i++]) out->head[i] = memory;
  return SPARC_OK;
}

void replay_outputs_free(replay_outputs *outputs) {
  sparc_free(outputs->head);
  sparc_free(outputs->size);
  sparc_free(outputs->memory);
  *outputs = (replay_outputs){.memory = NULL};
}

sparc_network_sequence replay_sequence(const recording *from, const replay_outputs *outputs) {
  return (sparc_network_sequence){.x = from->x, .mask = from->mask, .outputs = outputs->head};
}
