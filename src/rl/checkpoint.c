/* SPDX-License-Identifier: MIT */
/* checkpoint.c: saves and loads runs. Tables define the contents of a file. Files are not trusted: anything missing or
 * invalid gives an error with the name of the file and of the key or tensor. */
#include "rl/checkpoint.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "envs/envs.h"
#include "io/dtype.h"
#include "rl/actor_critic.h"
#include "rl/ppo.h"
#include "rl/settings.h"
#include "rl/team.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FORMAT         "sparc-agent"
#define FORMAT_VERSION "1"
#define ENVIRONMENTS   "environments" /* the tensor of their states */

/* ---- metadata --------------------------------------------------------------------------------------- */

#define AT(member) offsetof(stored_run, member)

/* metadata besides the configuration */
static const setting state_rows[] = {
    {.name = "observation",
     .key = "observation",
     .type = SETTING_INT,
     .role = STORED,
     .offset = AT(shape.observation),
     .high = INT_MAX},
    {.name = "choices",
     .key = "choices",
     .type = SETTING_INT,
     .role = STORED,
     .offset = AT(shape.choices),
     .high = INT_MAX},
    {.name = "action",
     .key = "action",
     .type = SETTING_INT,
     .role = STORED,
     .offset = AT(shape.action),
     .high = INT_MAX},
    {.name = "horizon",
     .key = "horizon",
     .type = SETTING_INT,
     .role = STORED,
     .offset = AT(shape.horizon),
     .high = INT_MAX},
    {.name = "rollouts_done",
     .key = "rollouts_done",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(rollouts),
     .high = INT_MAX},
};
static const settings_table state_settings = {state_rows, sizeof state_rows / sizeof *state_rows};

static settings_binding binding_of(stored_run *run) {
  return (settings_binding){
      .part = {{.table = &ppo_settings, .at = &run->config}, {.table = &state_settings, .at = run}}};
}

static sparc_status identify(const sparc_tensors *file, const char *path) {
  const char *format = sparc_tensors_metadata_find(file, stored_identity_keys[0]);
  const char *version = sparc_tensors_metadata_find(file, stored_identity_keys[1]);
  if (!format || strcmp(format, FORMAT) != 0)
    return fail(SPARC_FORMAT, "'%.200s' is not an agent: its format is '%s', expected %s", path,
                quote(format ? format : "").text, FORMAT);
  if (!version || strcmp(version, FORMAT_VERSION) != 0)
    return fail(SPARC_FORMAT, "'%.200s' has the format version '%s'; sparc %s reads version %s", path,
                quote(version ? version : "").text, sparc_version(), FORMAT_VERSION);
  return SPARC_OK;
}

sparc_status stored_run_read(const sparc_tensors *file, const char *path, stored_run *out) {
  *out = (stored_run){.rollouts = 0};
  const settings_binding binding = binding_of(out);
  const sparc_status status = identify(file, path);
  return status == SPARC_OK ? stored_settings_read(file, path, &binding) : status;
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

stored_blocks stored_blocks_of(const sparc_network *network) {
  stored_blocks b;
  b.block = sparc_network_blocks(network, &b.blocks);
  return b;
}

void stored_arrays_of(const sparc_network *network, float *params, float *moments, block_array array[STORED_ARRAYS]) {
  const size_t count = sparc_network_sizes_of(network).params;
  array[0] = (block_array){"", -INFINITY, params};
  array[1] = (block_array){STORED_FIRST_MOMENT, -INFINITY, moments};
  array[2] = (block_array){STORED_SECOND_MOMENT, 0, moments ? moments + count : NULL}; /* a mean of squares */
}

sparc_status stored_network_check(const sparc_tensors *file, const char *path, const sparc_network *network) {
  static const char *const others[] = {"normaliser.", "carry.", ENVIRONMENTS, NULL};
  const stored_blocks b = stored_blocks_of(network);
  block_array array[STORED_ARRAYS];
  stored_arrays_of(network, NULL, NULL, array);
  const sparc_status status = stored_blocks_check(file, path, b, array, STORED_ARRAYS);
  return status == SPARC_OK ? stored_surplus_check(file, path, b, array, STORED_ARRAYS, others) : status;
}

/* Range of an array: finite numbers, doubles within MOMENTS_RANGE. Files store start flags, 1 - mask. */
typedef enum content { NUMBERS, RUNNING_MOMENTS, START_FLAG } content;

/* an array of a run besides those of the network */
typedef struct other {
  char name[STORED_NAME];
  content content;
  stored_array array; /* its name is that above; the data of a start flag are `start` */
  float start, *mask; /* of a start flag */
} other;

static other other_of(const char *name, content holds, size_t rows, size_t columns, void *data) {
  other o = {.content = holds, .array = {.dtype = SPARC_F64, .rows = rows, .columns = columns, .data = data}};
  snprintf(o.name, sizeof o.name, "%s", name);
  return o;
}

/* persistent state of stream i */
static other carried(const char *name, content holds, size_t i, size_t width, float *data) {
  other o = {.content = holds, .array = {.dtype = SPARC_F32, .rows = 1, .columns = width, .data = data}};
  snprintf(o.name, sizeof o.name, "carry.%s.%zu", name, i);
  return o;
}

static size_t max_others(const sparc_ppo *ppo) { return 3 + 4 * (size_t)ppo->config.streams; }

/* pointers to the persistent state of stream i */
static stream_carry carry_of(const sparc_ppo *ppo, size_t i) {
  const rollout *r = &ppo->rollout;
  const size_t last = rollout_row(r, i, r->n.T);
  if (ppo->team) return team_carry(ppo->team, i);
  return (stream_carry){r->observations + last * r->n.observation, r->masks + last, r->states + last * r->n.state,
                        r->n.trace ? r->traces + last * r->n.trace : r->boundary + (r->n.N + i) * r->n.boundary};
}

static size_t list_others(const sparc_ppo *ppo, other *list) {
  const rollout *r = &ppo->rollout;
  const observation_normaliser *o = &ppo->observations;
  size_t count = 0;
  list[count++] = other_of(STORED_OBSERVATION_MOMENTS, RUNNING_MOMENTS, observation_moments(o->mode, o->width),
                           MOMENT_NUMBERS, o->moments);
  list[count++] = other_of("normaliser.reward", RUNNING_MOMENTS, 1, MOMENT_NUMBERS, (void *)&ppo->rewards.moments);
  const size_t streams = (size_t)ppo->config.streams, trace = team_trace(ppo);
  list[count++] = other_of("normaliser.accumulated", NUMBERS, streams, 1, ppo->accumulated);
  for (size_t i = 0; i < streams; i++) {
    const stream_carry carry = carry_of(ppo, i);
    list[count++] = carried("observation", NUMBERS, i, r->n.observation, carry.observation);
    list[count++] = carried("start", START_FLAG, i, 1, carry.mask);
    list[count++] = carried("state", NUMBERS, i, r->n.state, carry.state);
    if (trace) list[count++] = carried("trace", NUMBERS, i, trace, carry.trace);
  }
  for (size_t i = 0; i < count; i++) {
    list[i].array.name = list[i].name;
    if (list[i].content != START_FLAG) continue;
    list[i].mask = list[i].array.data;
    list[i].start = 1 - *list[i].mask;
    list[i].array.data = &list[i].start;
  }
  return count;
}

sparc_status stored_moments_read(const sparc_tensors *file, const char *path, const char *name, size_t count,
                                 running_moments *out) {
  sparc_status status = stored_tensor_check(file, path, name, SPARC_F64, (const size_t[]){count, MOMENT_NUMBERS}, 2);
  if (status == SPARC_OK) status = stored_f64_read(file, path, name, -INFINITY, (double *)out, count * MOMENT_NUMBERS);
  for (size_t i = 0; i < count && status == SPARC_OK; i++)
    if (!moments_valid(&out[i]))
      return fail(SPARC_FORMAT, "'%.200s': row %zu of tensor '%s' is the variance %g of %g observations", path, i, name,
                  out[i].variance, out[i].count);
  return status;
}

/* ---- saving ------------------------------------------------------------------------------------------ */

/* of all environments, ordered by shard */
static size_t environments_bytes(const sparc_ppo *ppo) {
  return (size_t)ppo_shards(&ppo->config) * sparc_envs_info_of(ppo->envs).state_bytes;
}

static void list_all(stored_listing *l, const sparc_ppo *ppo, other *others, void *environments) {
  block_array array[STORED_ARRAYS];
  const size_t count = list_others(ppo, others);
  size_t bytes = environments_bytes(ppo);
  stored_run run = {.config = ppo->config, .shape = ppo->shape, .rollouts = ppo->rollouts};
  const settings_binding binding = binding_of(&run);
  stored_arrays_of(ppo->network, ppo->params, ppo->moments, array);
  stored_list_blocks(l, stored_blocks_of(ppo->network), array, STORED_ARRAYS);
  for (size_t i = 0; i < count; i++) stored_list_array(l, &others[i].array);
  if (ppo->team)
    memcpy(environments, team_environments(ppo->team, &bytes), bytes);
  else
    sparc_envs_save(ppo->envs, environments);
  stored_list_tensor(l, &(sparc_tensor_source){.name = ENVIRONMENTS,
                                               .dtype = SPARC_U8,
                                               .in_type = SPARC_U8,
                                               .rank = 1,
                                               .shape = {bytes},
                                               .data = environments});
  stored_list_format(l, FORMAT, FORMAT_VERSION);
  stored_list_settings(l, &binding);
}

sparc_status sparc_ppo_save(const sparc_ppo *ppo, const sparc_metadata *extra, size_t extra_count, const char *path) {
  if (!ppo || !path) return fail(SPARC_INVALID, "%s is NULL", ppo ? "path" : "ppo");
  if (extra_count && !extra) return fail(SPARC_INVALID, "extra is NULL, expected %zu entries", extra_count);
  const locale_guard guard = enter_c_locale();
  const stored_blocks b = stored_blocks_of(ppo->network);
  stored_listing l;
  sparc_status status = stored_listing_create(b, STORED_ARRAYS, max_others(ppo) + 1, extra_count, &l);
  other *others = sparc_alloc(max_others(ppo) * sizeof *others);
  void *environments = sparc_alloc(environments_bytes(ppo));
  /* other ranks were gathered before, on all ranks */
  if (status == SPARC_OK && ppo->team && !ppo->group) status = team_gather(ppo->team);
  if (status == SPARC_OK && !(others && environments))
    status = fail(SPARC_NO_MEMORY, "no memory for the tables of a checkpoint of %zu tensors", b.blocks);
  if (status == SPARC_OK && others && environments) {
    list_all(&l, ppo, others, environments);
    stored_list_entries(&l, extra, extra_count);
    status = sparc_tensors_save(path, l.tensor, l.tensors, l.metadata, l.entries);
  }
  leave_c_locale(guard);
  stored_listing_free(&l);
  sparc_free(others);
  sparc_free(environments);
  return status;
}

/* ---- loading: checks before memory is allocated --------------------------------------------------------- */

static const char impossible[] = "the stored configuration is not possible";

static sparc_status compare_shape(const char *path, const stored_run *run, const sparc_env_shape *now) {
  const sparc_env_shape *stored = &run->shape;
  if (stored->observation != now->observation || stored->choices != now->choices || stored->action != now->action)
    return fail(SPARC_FORMAT,
                "'%.200s' is for %d observed numbers, %d choices and actions of %d, but task %s has %d, %d and %d",
                path, stored->observation, stored->choices, stored->action, run->config.task, now->observation,
                now->choices, now->action);
  if (stored->horizon != now->horizon)
    return fail(SPARC_FORMAT, "'%.200s' is for episodes of %d steps, but task %s has %d", path, stored->horizon,
                run->config.task, now->horizon);
  return SPARC_OK;
}

static sparc_status check_task(const sparc_tensors *file, const char *path, const stored_run *run,
                               const sparc_env_shape *shape, size_t state_bytes) {
  const sparc_status status = compare_shape(path, run, shape);
  return status == SPARC_OK ? stored_tensor_check(file, path, ENVIRONMENTS, SPARC_U8, &state_bytes, 1) : status;
}

/* one environment gives the shape of the task and the size of all states; it is freed together with the network */
static sparc_status check_alone(const sparc_tensors *file, const char *path, const stored_run *run) {
  sparc_envs *one;
  const sparc_envs_config config = ppo_task_of(&run->config, 1);
  sparc_status status = stored_format_error(path, impossible, sparc_envs_create(&config, &one));
  if (status != SPARC_OK) return status;
  const sparc_env_shape shape = sparc_envs_info_of(one).shape;
  const int shards = ppo_shards(&run->config);
  const size_t bytes = (size_t)shards * envs_saved_bytes(one, run->config.streams / shards);
  sparc_envs_free(one);
  status = check_task(file, path, run, &shape, bytes);
  if (status != SPARC_OK) return status;
  sparc_network *network;
  status = stored_format_error(path, impossible, actor_critic_create(&run->config, &run->shape, &network));
  if (status != SPARC_OK) return status;
  status = stored_network_check(file, path, network);
  sparc_network_free(network);
  return status;
}

/* updates are counted as long, and as double in the optimiser */
static sparc_status check_progress(const char *path, const stored_run *run) {
  const sparc_ppo_config *c = &run->config;
  const double updates = ((double)run->rollouts + 1) * c->epochs * c->minibatches;
  if (updates <= 0x1p53) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': %ld rollouts of %d epochs and %d minibatches are too many updates", path,
              run->rollouts, c->epochs, c->minibatches);
}

/* a described and allocated run that matches the file */
static sparc_status make_run(const sparc_tensors *file, const ppo_source *from, stored_run *run, sparc_ppo **out) {
  sparc_ppo *ppo = from->described;
  sparc_status status = check_progress(from->path, run);
  if (status == SPARC_OK && !ppo) {
    status = check_alone(file, from->path, run);
    if (status == SPARC_OK) status = stored_format_error(from->path, impossible, ppo_describe(&run->config, &ppo));
  } else if (status == SPARC_OK) {
    status = check_task(file, from->path, run, &ppo->shape, environments_bytes(ppo));
    if (status == SPARC_OK) status = stored_network_check(file, from->path, ppo->network);
    ppo->config.state_size = run->config.state_size; /* undefined if modes are given */
  }
  if (status != SPARC_OK) return status;
  *out = ppo;
  ppo_choose_traces(ppo, run->config.traces, machine_memory()); /* the steps of a rollout are not in the file */
  status = stored_format_error(from->path, impossible, ppo_allocate(ppo));
  ppo->config.memory_limit = 0;
  return status;
}

/* ---- loading: tensors ----------------------------------------------------------------------------------- */

static sparc_status read_team(const sparc_tensors *file, const char *path, sparc_ppo *ppo) {
  size_t bytes;
  void *state = team_environments(ppo->team, &bytes);
  sparc_status status = sparc_tensors_read(file, ENVIRONMENTS, SPARC_U8, state, bytes);
  if (status == SPARC_OK) status = stored_format_error(path, "tensor '" ENVIRONMENTS "'", team_scatter(ppo->team));
  if (status == SPARC_OK && is_external(sparc_envs_info_of(ppo->envs).kind))
    status = ppo_begin_episodes(ppo);
  else if (status == SPARC_OK && !envs_begun(ppo->envs))
    status = fail(SPARC_FORMAT, "'%.200s': no episode of tensor '" ENVIRONMENTS "' has begun", path);
  return status;
}

static sparc_status read_environments(const sparc_tensors *file, const char *path, sparc_ppo *ppo) {
  if (ppo->team) return read_team(file, path, ppo);
  const size_t bytes = sparc_envs_info_of(ppo->envs).state_bytes;
  void *state = sparc_alloc(bytes);
  if (!state) return fail(SPARC_NO_MEMORY, "no memory for the state of the environments");
  sparc_status status = sparc_tensors_read(file, ENVIRONMENTS, SPARC_U8, state, bytes);
  if (status == SPARC_OK)
    status = stored_format_error(path, "tensor '" ENVIRONMENTS "'", sparc_envs_restore(ppo->envs, state, bytes));
  if (status == SPARC_OK && is_external(sparc_envs_info_of(ppo->envs).kind))
    status = ppo_begin_episodes(ppo); /* external episodes cannot be continued */
  else if (status == SPARC_OK && !envs_begun(ppo->envs))
    status = fail(SPARC_FORMAT, "'%.200s': no episode of tensor '" ENVIRONMENTS "' has begun", path);
  sparc_free(state);
  return status;
}

static bool is_possible(const other *o, size_t i) {
  const stored_array *a = &o->array;
  if (a->dtype == SPARC_F64) return fabs(((const double *)a->data)[i]) <= MOMENTS_RANGE;
  const float value = ((const float *)a->data)[i];
  return o->content != START_FLAG || value == 0 || value == 1;
}

static sparc_status read_other(const sparc_tensors *file, const char *path, const other *o) {
  const stored_array *a = &o->array;
  if (o->content == RUNNING_MOMENTS) return stored_moments_read(file, path, a->name, a->rows, a->data);
  sparc_status status = stored_array_check(file, path, a);
  if (status == SPARC_OK) status = stored_array_read(file, path, a);
  for (size_t i = 0; i < a->rows * a->columns && status == SPARC_OK; i++)
    if (!is_possible(o, i))
      return fail(SPARC_FORMAT, "'%.200s': element %zu of tensor '%s' is out of range", path, i, a->name);
  if (status == SPARC_OK && o->content == START_FLAG) *o->mask = 1 - o->start;
  return status;
}

static sparc_status read_others(const sparc_tensors *file, const char *path, const sparc_ppo *ppo) {
  other *others = sparc_alloc(max_others(ppo) * sizeof *others);
  if (!others) return fail(SPARC_NO_MEMORY, "no memory for the table of a checkpoint");
  const size_t count = list_others(ppo, others);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = read_other(file, path, &others[i]);
  const size_t expected = STORED_ARRAYS * stored_blocks_of(ppo->network).blocks + count + 1;
  if (status == SPARC_OK && sparc_tensors_contents_of(file).count != expected)
    status =
        fail(SPARC_FORMAT, "'%.200s' has %zu tensors, expected %zu: some do not belong to the stored configuration",
             path, sparc_tensors_contents_of(file).count, expected);
  sparc_free(others);
  return status;
}

static sparc_status read_run(const sparc_tensors *file, const char *path, sparc_ppo *ppo) {
  block_array array[STORED_ARRAYS];
  stored_arrays_of(ppo->network, ppo->params, ppo->moments, array);
  sparc_status status = stored_blocks_read(file, path, stored_blocks_of(ppo->network), array, STORED_ARRAYS);
  if (status == SPARC_OK) status = read_others(file, path, ppo);
  return status == SPARC_OK ? read_environments(file, path, ppo) : status;
}

static sparc_status restore(const sparc_tensors *file, const ppo_source *from, sparc_ppo **out) {
  stored_run run;
  sparc_status status = stored_run_read(file, from->path, &run);
  if (status == SPARC_OK && !from->kind) status = plugin_permit(run.config.task, from->path, from->plugins);
  if (status != SPARC_OK) return status;
  run.config.kind = from->kind;
  run.config.threads = from->threads;
  sparc_ppo *ppo = NULL;
  status = make_run(file, from, &run, &ppo);
  if (status == SPARC_OK) {
    ppo->rollouts = run.rollouts;
    status = read_run(file, from->path, ppo);
  }
  if (status == SPARC_OK) status = sparc_network_prepare(ppo->network, ppo->params, ppo->prepared);
  if (status == SPARC_OK)
    *out = ppo;
  else if (!from->described)
    sparc_ppo_free(ppo);
  return status;
}

sparc_status ppo_restore(const ppo_source *from, sparc_ppo **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!from->path) return fail(SPARC_INVALID, "path is NULL");
  sparc_tensors *file;
  sparc_status status = sparc_tensors_load(from->path, &file);
  if (status != SPARC_OK) return status;
  status = restore(file, from, out);
  sparc_tensors_free(file);
  return status;
}

sparc_status sparc_ppo_load(const char *path, const sparc_env_kind *kind, int threads, sparc_ppo **out) {
  return ppo_restore(&(ppo_source){.path = path, .kind = kind, .threads = threads}, out);
}
