/* SPDX-License-Identifier: MIT */
/* checkpoint.c: saving and restoring runs. Two tables say what a file holds; nothing else knows the fields. Reading
 * trusts nothing: whatever is missing or impossible gets a sentence with the file and the key or tensor. */
#include "rl/checkpoint.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "io/dtype.h"
#include "rl/ppo.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT         "sparc-agent"
#define FORMAT_VERSION "1"

/* ---- metadata: fields of stored_run ----------------------------------------------------------------- */

typedef enum field_type { FIELD_TEXT, FIELD_INT, FIELD_LONG, FIELD_SEED, FIELD_REAL, FIELD_CHOICE } field_type;

typedef struct field {
  const char *key;
  field_type type;
  size_t offset;
  const char *const *choices; /* of FIELD_CHOICE, by value */
} field;

static const char *const obsnorms[] = {"none", "feature", "pooled", NULL};
static const char *const traces[] = {"auto", "stored", "free", NULL};
static const char *const encoders[] = {"local", "exact", NULL};

#define AT(member) offsetof(stored_run, member)

static const field fields[] = {
    {"task", FIELD_TEXT, AT(config.task), NULL},
    {"task_options", FIELD_TEXT, AT(config.task_options), NULL},
    {"cell", FIELD_TEXT, AT(config.cell), NULL},
    {"cell_options", FIELD_TEXT, AT(config.cell_options), NULL},
    {"H", FIELD_INT, AT(config.H), NULL},
    {"budget", FIELD_INT, AT(config.budget), NULL},
    {"width", FIELD_INT, AT(config.width), NULL},
    {"seed", FIELD_SEED, AT(config.seed), NULL},
    {"rollouts", FIELD_LONG, AT(config.rollouts), NULL},
    {"steps", FIELD_INT, AT(config.steps), NULL},
    {"streams", FIELD_INT, AT(config.streams), NULL},
    {"obsnorm", FIELD_CHOICE, AT(config.obsnorm), obsnorms},
    {"rewardnorm", FIELD_INT, AT(config.rewardnorm), NULL},
    {"discount", FIELD_REAL, AT(config.discount), NULL},
    {"lambda", FIELD_REAL, AT(config.lambda), NULL},
    {"action_limit", FIELD_REAL, AT(config.action_limit), NULL},
    {"epochs", FIELD_INT, AT(config.epochs), NULL},
    {"minibatches", FIELD_INT, AT(config.minibatches), NULL},
    {"clip", FIELD_REAL, AT(config.clip), NULL},
    {"value_coefficient", FIELD_REAL, AT(config.value_coefficient), NULL},
    {"entropy_coefficient", FIELD_REAL, AT(config.entropy_coefficient), NULL},
    {"gradient_clip", FIELD_REAL, AT(config.gradient_clip), NULL},
    {"rate", FIELD_REAL, AT(config.rate), NULL},
    {"traces", FIELD_CHOICE, AT(config.traces), traces},
    {"interval", FIELD_INT, AT(config.interval), NULL},
    {"encoder", FIELD_CHOICE, AT(config.encoder), encoders},
    {"observation", FIELD_INT, AT(shape.observation), NULL},
    {"choices", FIELD_INT, AT(shape.choices), NULL},
    {"action", FIELD_INT, AT(shape.action), NULL},
    {"horizon", FIELD_INT, AT(shape.horizon), NULL},
    {"rollouts_done", FIELD_LONG, AT(rollouts), NULL},
};

enum { FIELDS = sizeof fields / sizeof *fields, IDENTITIES = 3, VALUE_SIZE = 32 };

static const char *const identity_keys[IDENTITIES] = {"format", "format_version", "sparc_version"};

/* the text of a field; numbers are printed to `room` */
static const char *print_field(const field *f, const stored_run *run, char room[VALUE_SIZE]) {
  const void *at = (const char *)run + f->offset;
  switch (f->type) {
    case FIELD_TEXT:
      return *(const char *const *)at;
    case FIELD_CHOICE:
      return f->choices[*(const int *)at];
    case FIELD_INT:
      snprintf(room, VALUE_SIZE, "%d", *(const int *)at);
      break;
    case FIELD_LONG:
      snprintf(room, VALUE_SIZE, "%ld", *(const long *)at);
      break;
    case FIELD_SEED:
      snprintf(room, VALUE_SIZE, "%" PRIu64, *(const uint64_t *)at);
      break;
    case FIELD_REAL:
      snprintf(room, VALUE_SIZE, "%.17g", *(const double *)at);
      break;
  }
  return room;
}

static bool parse_choice(const char *text, const char *const *choices, int *value) {
  for (*value = 0; choices[*value]; ++*value)
    if (strcmp(choices[*value], text) == 0) return true;
  return false;
}

/* a count from 0 to `most` */
static bool parse_count(const char *text, long most, long *count) {
  char *end;
  errno = 0;
  *count = strtol(text, &end, 10);
  return end != text && !*end && !errno && *count >= 0 && *count <= most;
}

static bool parse_seed(const char *text, uint64_t *seed) {
  char *end;
  errno = 0;
  *seed = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool parse_real(const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  return end != text && !*end && isfinite(*number);
}

static bool parse_field(const field *f, const char *text, stored_run *run) {
  void *at = (char *)run + f->offset;
  long count;
  switch (f->type) {
    case FIELD_TEXT:
      *(const char **)at = text;
      return true;
    case FIELD_CHOICE:
      return parse_choice(text, f->choices, (int *)at);
    case FIELD_SEED:
      return parse_seed(text, (uint64_t *)at);
    case FIELD_REAL:
      return parse_real(text, (double *)at);
    case FIELD_LONG:
      return parse_count(text, LONG_MAX, (long *)at);
    case FIELD_INT:
      if (!parse_count(text, INT_MAX, &count)) return false;
      *(int *)at = (int)count;
      return true;
  }
  return false;
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
  sparc_status status = identify(file, path);
  const locale_guard guard = enter_c_locale();
  for (size_t i = 0; i < FIELDS && status == SPARC_OK; i++) {
    const char *text = sparc_tensors_metadata_find(file, fields[i].key);
    if (!text)
      status = fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", path, fields[i].key);
    else if (!parse_field(&fields[i], text, out))
      status = fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', which is not possible", path, fields[i].key,
                    quote(text).text);
  }
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
  char value[FIELDS][VALUE_SIZE];
  void *environments;
  size_t tensors, entries;
} listing;

static sparc_status allocate_listing(listing *l, const sparc_ppo *ppo, size_t blocks, size_t extra) {
  l->tensor = sparc_alloc(((1 + MOMENTS) * blocks + most_others(ppo) + 1) * sizeof *l->tensor);
  l->name = sparc_alloc(MOMENTS * blocks * sizeof *l->name);
  l->others = sparc_alloc(most_others(ppo) * sizeof *l->others);
  l->metadata = sparc_alloc((IDENTITIES + FIELDS + extra) * sizeof *l->metadata);
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

static void list_metadata(listing *l, const stored_run *run, const sparc_metadata *extra, size_t extra_count) {
  const char *const identity[IDENTITIES] = {FORMAT, FORMAT_VERSION, sparc_version()};
  for (size_t i = 0; i < IDENTITIES; i++) l->metadata[l->entries++] = (sparc_metadata){identity_keys[i], identity[i]};
  for (size_t i = 0; i < FIELDS; i++)
    l->metadata[l->entries++] = (sparc_metadata){fields[i].key, print_field(&fields[i], run, l->value[i])};
  for (size_t i = 0; i < extra_count; i++) l->metadata[l->entries++] = extra[i];
}

sparc_status sparc_ppo_save(const sparc_ppo *ppo, const sparc_metadata *extra, size_t extra_count, const char *path) {
  if (!ppo || !path) return fail(SPARC_INVALID, "%s is NULL", ppo ? "path" : "ppo");
  if (extra_count && !extra) return fail(SPARC_INVALID, "extra is NULL, expected %zu entries", extra_count);
  const stored_run run = {.config = ppo->own.config, .shape = ppo->shape, .rollouts = ppo->rollouts};
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

static sparc_status restore(const sparc_tensors *file, const char *path, const sparc_env_kind *kind, int threads,
                            sparc_ppo **out) {
  stored_run run;
  sparc_status status = stored_run_read(file, path, &run);
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

sparc_status sparc_ppo_restore(const char *path, const sparc_env_kind *kind, int threads, sparc_ppo **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL");
  sparc_tensors *file;
  sparc_status status = sparc_tensors_open(path, &file);
  if (status != SPARC_OK) return status;
  status = restore(file, path, kind, threads, out);
  sparc_tensors_close(file);
  return status;
}
