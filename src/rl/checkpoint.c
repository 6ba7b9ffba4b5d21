/* SPDX-License-Identifier: MIT */
/* checkpoint.c: saving and restoring runs. Tables say what a file holds; nothing else knows the fields. Reading
 * trusts nothing: whatever is missing or impossible gets a sentence with the file and the key or tensor. */
#include "rl/checkpoint.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "envs/envs.h"
#include "io/dtype.h"
#include "rl/ppo.h"
#include "rl/settings.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORMAT         "sparc-agent"
#define FORMAT_VERSION "1"

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

/* an array of a run beside those of the network; its numbers are finite */
typedef struct other {
  char name[NAME_SIZE];
  sparc_dtype dtype;
  size_t rows, columns;
  void *data;
} other;

static other other_of(const char *name, sparc_dtype dtype, size_t rows, size_t columns, void *data) {
  other o = {.dtype = dtype, .rows = rows, .columns = columns, .data = data};
  snprintf(o.name, sizeof o.name, "%s", name);
  return o;
}

/* what stream i carries from rollout to rollout */
static other carried(const char *name, size_t i, size_t width, float *data) {
  other o = other_of("", SPARC_F32, 1, width, data);
  snprintf(o.name, sizeof o.name, "carry.%s.%zu", name, i);
  return o;
}

static size_t most_others(const sparc_ppo *ppo) { return 3 + 4 * ppo->rollout.n.N; }

static size_t list_others(const sparc_ppo *ppo, other *list) {
  const rollout *r = &ppo->rollout;
  const observation_normaliser *o = &ppo->observations;
  size_t count = 0;
  list[count++] =
      other_of(STORED_OBSERVATION_MOMENTS, SPARC_F64, observation_moments(o->mode, o->width), 3, o->moments);
  list[count++] = other_of("normaliser.reward", SPARC_F64, 1, 3, (void *)&ppo->rewards.moments);
  list[count++] = other_of("normaliser.accumulated", SPARC_F64, r->n.N, 1, ppo->rewards.accumulated);
  for (size_t i = 0; i < r->n.N; i++) {
    const size_t last = rollout_row(r, i, r->n.T);
    list[count++] = carried("observation", i, r->n.observation, r->observations + last * r->n.observation);
    list[count++] = carried("start", i, 1, r->starts + last);
    list[count++] = carried("state", i, r->n.state, r->states + last * r->n.state);
    if (r->n.trace) list[count++] = carried("trace", i, r->n.trace, r->traces + last * r->n.trace);
    if (r->n.boundary) list[count++] = carried("trace", i, r->n.boundary, r->boundary + (r->n.N + i) * r->n.boundary);
  }
  return count;
}

sparc_status stored_doubles_read(const sparc_tensors *file, const char *path, const char *name, double *out,
                                 size_t count) {
  const sparc_status status = sparc_tensors_read_f64(file, name, out, count);
  for (size_t i = 0; i < count && status == SPARC_OK; i++)
    if (!isfinite(out[i]))
      return fail(SPARC_FORMAT, "'%.200s': element %zu of tensor '%s' is not finite", path, i, name);
  return status;
}

static sparc_status read_floats(const sparc_tensors *file, const char *path, const char *name, float *out,
                                size_t count) {
  const sparc_status status = sparc_tensors_read_f32(file, name, out, count);
  for (size_t i = 0; i < count && status == SPARC_OK; i++)
    if (!isfinite(out[i]))
      return fail(SPARC_FORMAT, "'%.200s': element %zu of tensor '%s' is not finite", path, i, name);
  return status;
}

sparc_status stored_blocks_check(const sparc_tensors *file, const char *path, const sparc_network *network) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(network, &blocks);
  for (size_t i = 0; i < blocks; i++) {
    const sparc_tensor_info *tensor = sparc_tensors_find(file, block[i].name);
    if (!tensor) return fail(SPARC_FORMAT, "'%.200s': there is no tensor '%s'", path, block[i].name);
    if (tensor->elements != block[i].size)
      return fail(SPARC_FORMAT, "'%.200s': tensor '%s' has %zu elements, expected %zu", path, block[i].name,
                  tensor->elements, block[i].size);
  }
  return SPARC_OK;
}

sparc_status stored_blocks_read(const sparc_tensors *file, const char *path, const sparc_network *network,
                                const char *prefix, float *params) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(network, &blocks);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < blocks && status == SPARC_OK; i++) {
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s%s", prefix, block[i].name);
    status = read_floats(file, path, name, params + block[i].offset, block[i].size);
  }
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
      snprintf(name, NAME_SIZE, "%s%s", moment_prefix[m], block[i].name);
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
  l->tensor[l->tensors++] = (sparc_tensor_source){.name = "environments",
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

/* ---- restoring --------------------------------------------------------------------------------------- */

static sparc_status read_environments(const sparc_tensors *file, sparc_ppo *ppo) {
  const size_t bytes = sparc_envs_state_bytes(ppo->envs);
  void *state = sparc_alloc(bytes);
  if (!state) return fail(SPARC_NO_MEMORY, "no memory for the state of the environments");
  sparc_status status = sparc_tensors_read_bytes(file, "environments", state, bytes);
  if (status == SPARC_OK) status = sparc_envs_restore(ppo->envs, state, bytes);
  sparc_free(state);
  return status;
}

static sparc_status check_shape(const sparc_ppo *ppo, const char *path, const sparc_env_shape *stored) {
  const sparc_env_shape *now = &ppo->shape;
  if (stored->observation == now->observation && stored->choices == now->choices && stored->action == now->action)
    return SPARC_OK;
  return fail(SPARC_FORMAT,
              "'%.200s' is for %d observed numbers, %d choices and actions of %d, but task %s has %d, %d and %d", path,
              stored->observation, stored->choices, stored->action, ppo->own.config.task, now->observation,
              now->choices, now->action);
}

static sparc_status read_others(const sparc_tensors *file, const char *path, const sparc_ppo *ppo) {
  other *others = sparc_alloc(most_others(ppo) * sizeof *others);
  if (!others) return fail(SPARC_NO_MEMORY, "no memory for the table of a checkpoint");
  const size_t count = list_others(ppo, others);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < count && status == SPARC_OK; i++) {
    const other *o = &others[i];
    const size_t elements = o->rows * o->columns;
    status = o->dtype == SPARC_F64 ? stored_doubles_read(file, path, o->name, o->data, elements)
                                   : read_floats(file, path, o->name, o->data, elements);
  }
  sparc_free(others);
  return status;
}

static sparc_status read_run(const sparc_tensors *file, const char *path, sparc_ppo *ppo) {
  sparc_status status = stored_blocks_read(file, path, ppo->network, "", ppo->params);
  for (size_t m = 0; m < MOMENTS && status == SPARC_OK; m++)
    status = stored_blocks_read(file, path, ppo->network, moment_prefix[m], ppo->moments + m * ppo->n.params);
  if (status == SPARC_OK) status = read_others(file, path, ppo);
  return status == SPARC_OK ? read_environments(file, ppo) : status;
}

/* an argument that is wrong because the file says so */
static sparc_status blame_file(const char *path, sparc_status status) {
  if (status != SPARC_INVALID) return status;
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "'%.200s': the stored configuration is not possible: %s", path, sentence);
}

static sparc_status restore(const sparc_tensors *file, const char *path, const sparc_env_kind *kind,
                            const char *const *plugins, int threads, sparc_ppo **out) {
  stored_run run;
  sparc_status status = stored_run_read(file, path, &run);
  if (status == SPARC_OK && !kind) status = plugin_permit(run.config.task, path, plugins);
  if (status != SPARC_OK) return status;
  run.config.kind = kind;
  run.config.threads = threads;
  sparc_ppo *ppo = NULL;
  status = blame_file(path, ppo_make(&run.config, &ppo));
  if (status != SPARC_OK) return status;
  ppo->rollouts = run.rollouts;
  status = check_shape(ppo, path, &run.shape);
  if (status == SPARC_OK) status = read_run(file, path, ppo);
  if (status == SPARC_OK) status = sparc_network_prepare(ppo->network, ppo->params, ppo->prepared);
  if (status == SPARC_OK)
    *out = ppo;
  else
    sparc_ppo_free(ppo);
  return status;
}

sparc_status ppo_restore(const char *path, const sparc_env_kind *kind, const char *const *plugins, int threads,
                         sparc_ppo **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL");
  sparc_tensors *file;
  sparc_status status = sparc_tensors_open(path, &file);
  if (status != SPARC_OK) return status;
  status = restore(file, path, kind, plugins, threads, out);
  sparc_tensors_close(file);
  return status;
}

sparc_status sparc_ppo_restore(const char *path, const sparc_env_kind *kind, int threads, sparc_ppo **out) {
  return ppo_restore(path, kind, NULL, threads, out);
}
