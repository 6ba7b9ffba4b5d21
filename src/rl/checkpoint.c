/* SPDX-License-Identifier: MIT */
/* checkpoint.c: saving and restoring runs. Tables say what a file holds; nothing else knows the fields. Reading
 * trusts nothing: whatever is missing or impossible gets a sentence with the file and the key or tensor. */
#include "rl/checkpoint.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "envs/envs.h"
#include "io/dtype.h"
#include "io/stored_tensor.h"
#include "rl/actor_critic.h"
#include "rl/ppo.h"
#include "rl/settings.h"

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

/* what a file says beside the configuration */
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

enum { IDENTITIES = 3 };

static const char *const identity_keys[IDENTITIES] = {"format", "format_version", "sparc_version"};

static settings_form form_over(stored_run *run) {
  return (settings_form){.part = {{&ppo_settings, &run->config}, {&state_settings, run}}};
}

static sparc_status identify(const sparc_tensors *file, const char *path) {
  const char *format = sparc_tensors_metadata_find(file, identity_keys[0]);
  const char *version = sparc_tensors_metadata_find(file, identity_keys[1]);
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
  const settings_form form = form_over(out);
  sparc_status status = identify(file, path);
  const locale_guard guard = enter_c_locale();
  const setting *s;
  void *at;
  for (int i = 0; status == SPARC_OK && (s = settings_row(&form, i, &at)); i++)
    if (s->key) status = setting_read_metadata(file, path, s, true, at);
  leave_c_locale(guard);
  return status;
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

enum { MOMENTS = 2, NAME_SIZE = 96 };

static const char *const moment_prefix[MOMENTS] = {"opt.m.", "opt.v."};
static const double least_moment[MOMENTS] = {-INFINITY, 0}; /* the second one is a mean of squares */

/* what the numbers of an array can be; all of them are finite, and doubles within MOMENTS_RANGE */
typedef enum content { NUMBERS, RUNNING_MOMENTS, ZERO_OR_ONE } content;

/* an array of a run beside those of the network */
typedef struct other {
  char name[NAME_SIZE];
  content content;
  sparc_dtype dtype;
  size_t rows, columns;
  void *data;
} other;

static other other_of(const char *name, content holds, size_t rows, size_t columns, void *data) {
  other o = {.content = holds, .dtype = SPARC_F64, .rows = rows, .columns = columns, .data = data};
  snprintf(o.name, sizeof o.name, "%s", name);
  return o;
}

/* what stream i carries from rollout to rollout */
static other carried(const char *name, content holds, size_t i, size_t width, float *data) {
  other o = {.content = holds, .dtype = SPARC_F32, .rows = 1, .columns = width, .data = data};
  snprintf(o.name, sizeof o.name, "carry.%s.%zu", name, i);
  return o;
}

static size_t most_others(const sparc_ppo *ppo) { return 3 + 4 * ppo->rollout.n.N; }

static size_t list_others(const sparc_ppo *ppo, other *list) {
  const rollout *r = &ppo->rollout;
  const observation_normaliser *o = &ppo->observations;
  size_t count = 0;
  list[count++] = other_of(STORED_OBSERVATION_MOMENTS, RUNNING_MOMENTS, observation_moments(o->mode, o->width),
                           MOMENT_NUMBERS, o->moments);
  list[count++] = other_of("normaliser.reward", RUNNING_MOMENTS, 1, MOMENT_NUMBERS, (void *)&ppo->rewards.moments);
  list[count++] = other_of("normaliser.accumulated", NUMBERS, r->n.N, 1, ppo->rewards.accumulated);
  for (size_t i = 0; i < r->n.N; i++) {
    const size_t last = rollout_row(r, i, r->n.T);
    list[count++] = carried("observation", NUMBERS, i, r->n.observation, r->observations + last * r->n.observation);
    list[count++] = carried("start", ZERO_OR_ONE, i, 1, r->starts + last);
    list[count++] = carried("state", NUMBERS, i, r->n.state, r->states + last * r->n.state);
    if (r->n.trace) list[count++] = carried("trace", NUMBERS, i, r->n.trace, r->traces + last * r->n.trace);
    if (r->n.boundary)
      list[count++] = carried("trace", NUMBERS, i, r->n.boundary, r->boundary + (r->n.N + i) * r->n.boundary);
  }
  return count;
}

static void name_companion(char name[NAME_SIZE], const char *prefix, const sparc_block *block) {
  snprintf(name, NAME_SIZE, "%s%s", prefix, block->name);
}

sparc_status stored_blocks_check(const sparc_tensors *file, const char *path, const sparc_network *network,
                                 const char *prefix) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(network, &blocks);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < blocks && status == SPARC_OK; i++) {
    char name[NAME_SIZE];
    const size_t shape[2] = {(size_t)block[i].shape[0], (size_t)block[i].shape[1]};
    name_companion(name, prefix, &block[i]);
    status = stored_tensor_check(file, path, name, SPARC_F32, shape, block[i].rank);
  }
  return status;
}

sparc_status stored_blocks_read(const sparc_tensors *file, const char *path, const sparc_network *network,
                                const char *prefix, double least, float *params) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(network, &blocks);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < blocks && status == SPARC_OK; i++) {
    char name[NAME_SIZE];
    name_companion(name, prefix, &block[i]);
    status = stored_f32_read(file, path, name, least, params + block[i].offset, block[i].size);
  }
  return status;
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

typedef struct listing {
  sparc_tensor_source *tensor;
  char (*name)[NAME_SIZE]; /* of moments */
  other *others;
  sparc_metadata *metadata;
  char value[SETTINGS_MOST][SETTING_TEXT_SIZE]; /* of numbers */
  void *environments;
  size_t tensors, entries;
} listing;

static sparc_status allocate_listing(listing *l, const sparc_ppo *ppo, size_t blocks, size_t extra) {
  l->tensor = sparc_alloc(((1 + MOMENTS) * blocks + most_others(ppo) + 1) * sizeof *l->tensor);
  l->name = sparc_alloc(MOMENTS * blocks * sizeof *l->name);
  l->others = sparc_alloc(most_others(ppo) * sizeof *l->others);
  l->metadata = sparc_alloc((IDENTITIES + SETTINGS_MOST + extra) * sizeof *l->metadata);
  l->environments = sparc_alloc(sparc_envs_state_bytes(ppo->envs));
  if (l->tensor && l->name && l->others && l->metadata && l->environments) return SPARC_OK;
  return fail(SPARC_NO_MEMORY, "no memory for the tables of a checkpoint of %zu tensors", blocks);
}

static void free_listing(listing *l) {
  void *memory[] = {l->tensor, l->name, l->others, l->metadata, l->environments};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
}

static void list_block(listing *l, const sparc_block *block, const char *name, const float *data) {
  l->tensor[l->tensors++] = (sparc_tensor_source){.name = name,
                                                  .dtype = SPARC_F32,
                                                  .in_type = SPARC_F32,
                                                  .rank = block->rank,
                                                  .shape = {(size_t)block->shape[0], (size_t)block->shape[1]},
                                                  .data = data + block->offset};
}

static void list_tensors(listing *l, const sparc_ppo *ppo) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(ppo->network, &blocks);
  for (size_t i = 0; i < blocks; i++) {
    list_block(l, &block[i], block[i].name, ppo->params);
    for (size_t m = 0; m < MOMENTS; m++) {
      char *name = l->name[MOMENTS * i + m];
      name_companion(name, moment_prefix[m], &block[i]);
      list_block(l, &block[i], name, ppo->moments + m * ppo->n.params);
    }
  }
  const size_t count = list_others(ppo, l->others);
  for (size_t i = 0; i < count; i++) {
    const other *o = &l->others[i];
    l->tensor[l->tensors++] = (sparc_tensor_source){.name = o->name,
                                                    .dtype = o->dtype,
                                                    .in_type = o->dtype,
                                                    .rank = 2,
                                                    .shape = {o->rows, o->columns},
                                                    .data = o->data};
  }
  sparc_envs_save(ppo->envs, l->environments);
  l->tensor[l->tensors++] = (sparc_tensor_source){.name = ENVIRONMENTS,
                                                  .dtype = SPARC_U8,
                                                  .in_type = SPARC_U8,
                                                  .rank = 1,
                                                  .shape = {sparc_envs_state_bytes(ppo->envs)},
                                                  .data = l->environments};
}

static void list_metadata(listing *l, stored_run *run, const sparc_metadata *extra, size_t extra_count) {
  const char *const identity[IDENTITIES] = {FORMAT, FORMAT_VERSION, sparc_version()};
  for (size_t i = 0; i < IDENTITIES; i++) l->metadata[l->entries++] = (sparc_metadata){identity_keys[i], identity[i]};
  const settings_form form = form_over(run);
  l->entries += settings_list_metadata(&form, l->metadata + l->entries, l->value);
  for (size_t i = 0; i < extra_count; i++) l->metadata[l->entries++] = extra[i];
}

sparc_status sparc_ppo_save(const sparc_ppo *ppo, const sparc_metadata *extra, size_t extra_count, const char *path) {
  if (!ppo || !path) return fail(SPARC_INVALID, "%s is NULL", ppo ? "path" : "ppo");
  if (extra_count && !extra) return fail(SPARC_INVALID, "extra is NULL, expected %zu entries", extra_count);
  stored_run run = {.config = ppo->own.config, .shape = ppo->shape, .rollouts = ppo->rollouts};
  listing l = {.tensors = 0};
  size_t blocks;
  sparc_network_blocks(ppo->network, &blocks);
  const locale_guard guard = enter_c_locale();
  sparc_status status = allocate_listing(&l, ppo, blocks, extra_count);
  if (status == SPARC_OK) {
    list_tensors(&l, ppo);
    list_metadata(&l, &run, extra, extra_count);
    status = sparc_tensors_write(path, l.tensor, l.tensors, l.metadata, l.entries);
  }
  leave_c_locale(guard);
  free_listing(&l);
  return status;
}

/* ---- restoring: what the file asks for, before memory is taken ------------------------------------------ */

/* an argument that is wrong because the file says so, or a sentence that does not name the file */
static sparc_status as_format_error(const char *path, const char *what, sparc_status status) {
  if (status != SPARC_INVALID && status != SPARC_FORMAT) return status;
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "'%.200s': %s: %s", path, what, sentence);
}

static const char impossible[] = "the stored configuration is not possible";

static sparc_status compare_shape(const char *path, const stored_run *run, const sparc_env_shape *now) {
  const sparc_env_shape *stored = &run->shape;
  if (stored->observation == now->observation && stored->choices == now->choices && stored->action == now->action)
    return SPARC_OK;
  return fail(SPARC_FORMAT,
              "'%.200s' is for %d observed numbers, %d choices and actions of %d, but task %s has %d, %d and %d", path,
              stored->observation, stored->choices, stored->action, run->config.task, now->observation, now->choices,
              now->action);
}

static sparc_status check_task(const sparc_tensors *file, const char *path, const stored_run *run,
                               const sparc_env_shape *shape, size_t state_bytes) {
  const sparc_status status = compare_shape(path, run, shape);
  return status == SPARC_OK ? stored_tensor_check(file, path, ENVIRONMENTS, SPARC_U8, &state_bytes, 1) : status;
}

static sparc_status check_network(const sparc_tensors *file, const char *path, const sparc_network *network) {
  sparc_status status = stored_blocks_check(file, path, network, "");
  for (size_t m = 0; m < MOMENTS && status == SPARC_OK; m++)
    status = stored_blocks_check(file, path, network, moment_prefix[m]);
  return status;
}

/* one environment tells the task's shape and how many bytes all of them take; with the network it goes again */
static sparc_status check_alone(const sparc_tensors *file, const char *path, const stored_run *run) {
  sparc_envs *one;
  const sparc_envs_config config = ppo_task_of(&run->config, 1);
  sparc_status status = as_format_error(path, impossible, sparc_envs_create(&config, &one));
  if (status != SPARC_OK) return status;
  const sparc_env_shape shape = sparc_envs_shape(one);
  const size_t bytes = envs_saved_bytes(one, run->config.streams);
  sparc_envs_free(one);
  status = check_task(file, path, run, &shape, bytes);
  if (status != SPARC_OK) return status;
  sparc_network *network;
  status = as_format_error(path, impossible, actor_critic_create(&run->config, &run->shape, &network));
  if (status != SPARC_OK) return status;
  status = check_network(file, path, network);
  sparc_network_free(network);
  return status;
}

/* updates are counted in a long, and as a double in the optimiser */
static sparc_status check_progress(const char *path, const stored_run *run) {
  const sparc_ppo_config *c = &run->config;
  const double updates = ((double)run->rollouts + 1) * c->epochs * c->minibatches;
  if (updates <= 0x1p53) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': %ld rollouts of %d epochs and %d minibatches are more updates than can be", path,
              run->rollouts, c->epochs, c->minibatches);
}

/* a described run that the file fits, with its memory */
static sparc_status make_run(const sparc_tensors *file, const ppo_source *from, stored_run *run, sparc_ppo **out) {
  sparc_ppo *ppo = from->described;
  sparc_status status = check_progress(from->path, run);
  if (status == SPARC_OK && !ppo) {
    status = check_alone(file, from->path, run);
    if (status == SPARC_OK) status = as_format_error(from->path, impossible, ppo_describe(&run->config, &ppo));
  } else if (status == SPARC_OK) {
    status = check_task(file, from->path, run, &ppo->shape, sparc_envs_state_bytes(ppo->envs));
    if (status == SPARC_OK) status = check_network(file, from->path, ppo->network);
  }
  if (status != SPARC_OK) return status;
  *out = ppo;
  ppo_choose_traces(ppo, run->config.traces, machine_memory()); /* the steps of a rollout are not in the file */
  status = as_format_error(from->path, impossible, ppo_allocate(ppo));
  ppo->own.config.memory_limit = 0;
  return status;
}

/* ---- restoring: what it holds --------------------------------------------------------------------------- */

static sparc_status read_environments(const sparc_tensors *file, const char *path, sparc_ppo *ppo) {
  const size_t bytes = sparc_envs_state_bytes(ppo->envs);
  void *state = sparc_alloc(bytes);
  if (!state) return fail(SPARC_NO_MEMORY, "no memory for the state of the environments");
  sparc_status status = sparc_tensors_read_bytes(file, ENVIRONMENTS, state, bytes);
  if (status == SPARC_OK)
    status = as_format_error(path, "tensor '" ENVIRONMENTS "'", sparc_envs_restore(ppo->envs, state, bytes));
  if (status == SPARC_OK && !envs_begun(ppo->envs))
    status = fail(SPARC_FORMAT, "'%.200s': no episode of tensor '" ENVIRONMENTS "' has begun", path);
  sparc_free(state);
  return status;
}

static bool is_possible(const other *o, size_t i) {
  if (o->dtype == SPARC_F64) return fabs(((const double *)o->data)[i]) <= MOMENTS_RANGE;
  const float value = ((const float *)o->data)[i];
  return o->content != ZERO_OR_ONE || value == 0 || value == 1;
}

static sparc_status read_other(const sparc_tensors *file, const char *path, const other *o) {
  const size_t elements = o->rows * o->columns;
  if (o->content == RUNNING_MOMENTS) return stored_moments_read(file, path, o->name, o->rows, o->data);
  sparc_status status = stored_tensor_check(file, path, o->name, o->dtype, (const size_t[]){o->rows, o->columns}, 2);
  if (status != SPARC_OK) return status;
  status = o->dtype == SPARC_F64 ? stored_f64_read(file, path, o->name, -INFINITY, o->data, elements)
                                 : stored_f32_read(file, path, o->name, -INFINITY, o->data, elements);
  for (size_t i = 0; i < elements && status == SPARC_OK; i++)
    if (!is_possible(o, i))
      return fail(SPARC_FORMAT, "'%.200s': element %zu of tensor '%s' is out of range", path, i, o->name);
  return status;
}

static sparc_status read_others(const sparc_tensors *file, const char *path, const sparc_ppo *ppo) {
  other *others = sparc_alloc(most_others(ppo) * sizeof *others);
  if (!others) return fail(SPARC_NO_MEMORY, "no memory for the table of a checkpoint");
  const size_t count = list_others(ppo, others);
  size_t blocks;
  sparc_network_blocks(ppo->network, &blocks);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = read_other(file, path, &others[i]);
  const size_t expected = (1 + MOMENTS) * blocks + count + 1;
  if (status == SPARC_OK && sparc_tensors_count(file) != expected)
    status =
        fail(SPARC_FORMAT, "'%.200s' has %zu tensors, expected %zu: some do not belong to the stored configuration",
             path, sparc_tensors_count(file), expected);
  sparc_free(others);
  return status;
}

static sparc_status read_run(const sparc_tensors *file, const char *path, sparc_ppo *ppo) {
  sparc_status status = stored_blocks_read(file, path, ppo->network, "", -INFINITY, ppo->params);
  for (size_t m = 0; m < MOMENTS && status == SPARC_OK; m++)
    status = stored_blocks_read(file, path, ppo->network, moment_prefix[m], least_moment[m],
                                ppo->moments + m * ppo->n.params);
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
  sparc_status status = sparc_tensors_open(from->path, &file);
  if (status != SPARC_OK) return status;
  status = restore(file, from, out);
  sparc_tensors_close(file);
  return status;
}

sparc_status sparc_ppo_restore(const char *path, const sparc_env_kind *kind, int threads, sparc_ppo **out) {
  return ppo_restore(&(ppo_source){.path = path, .kind = kind, .threads = threads}, out);
}
