/* SPDX-License-Identifier: MIT */
/* learner_file.c: learners as checkpoints (train/checkpoint.h) with tensors of their own, whose names begin with
 * "learner.": what a model needs is where every model has it, and a reader of models passes the rest over. */
#include "base/c_locale.h"
#include "base/error.h"
#include "io/stored_tensor.h"
#include "online/learner.h"
#include "online/learner_settings.h"
#include "train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is stored beside a checkpoint ----------------------------------------------------------- */

#define KEY_HORIZONS   LEARNER_PREFIX "horizons"
#define KEY_FORECASTER LEARNER_PREFIX "forecaster"

#define AT(member) offsetof(learner_counts, member)

static const setting count_rows[] = {
    {.name = "steps",
     .key = LEARNER_PREFIX "steps",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(steps),
     .high = 0x1p53},
    {.name = "told",
     .key = LEARNER_PREFIX "told",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(told),
     .high = 0x1p53},
    {.name = "first",
     .key = LEARNER_PREFIX "first",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(first),
     .high = 0x1p53},
    {.name = "truths",
     .key = LEARNER_PREFIX "truths",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(truths),
     .high = 0x1p53},
    {.name = "pending",
     .key = LEARNER_PREFIX "pending",
     .type = SETTING_INT,
     .role = STORED,
     .offset = AT(pending),
     .high = 1 << 24},
    {.name = "fresh",
     .key = LEARNER_PREFIX "fresh",
     .type = SETTING_INT,
     .role = STORED,
     .offset = AT(fresh),
     .high = 1},
};
static const settings_table count_settings = {count_rows, sizeof count_rows / sizeof *count_rows};

enum { LEARNER_ARRAYS = 14 };

static size_t list_arrays(const sparc_learner *l, stored_array list[LEARNER_ARRAYS]) {
  const size_t slots = l->lag + 1;
  const stored_array all[] = {
      {LEARNER_PREFIX "state", SPARC_F32, 1, l->n.state, l->state},
      {LEARNER_PREFIX "trace", SPARC_F32, 1, l->trace, l->sensitivities},
      {LEARNER_PREFIX "tape", SPARC_F32, 1, l->n.tape, l->tape},
      {LEARNER_PREFIX "raw", SPARC_F32, 1, l->outputs, l->raw},
      {LEARNER_PREFIX "gradient", SPARC_F32, 1, l->n.params, l->gradient},
      {LEARNER_PREFIX "waiting.x", SPARC_F32, slots, l->inputs, l->waiting_x},
      {LEARNER_PREFIX "waiting.mask", SPARC_F32, slots, 1, l->waiting_mask},
      {LEARNER_PREFIX "waiting.y", SPARC_F32, slots, l->outputs, l->waiting_y},
      {LEARNER_PREFIX "waiting.present", SPARC_F32, slots, l->inputs, l->waiting_present},
      {LEARNER_PREFIX "input_moments", SPARC_F64, l->inputs, MOMENT_NUMBERS, l->input_moments},
      {LEARNER_PREFIX "target_moments", SPARC_F64, l->outputs, MOMENT_NUMBERS, l->target_moments},
  };
  size_t count = sizeof all / sizeof *all;
  memcpy(list, all, sizeof all);
  /* without a lag the stream ahead is the one that learns */
  if (l->lag) list[count++] = (stored_array){LEARNER_PREFIX "ahead", SPARC_F32, 1, l->n.state, l->ahead};
  if (!l->forecaster) return count;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): who saves reads it only, who restores owns the learner */
  void *const horizon = (void *)(uintptr_t)(const void *)l->horizon;
  list[count++] = (stored_array){KEY_HORIZONS, SPARC_F64, 1, (size_t)l->horizons, horizon};
  list[count++] = (stored_array){KEY_FORECASTER, SPARC_F64, l->inputs, forecaster_numbers(l->forecaster),
                                 forecaster_state(l->forecaster)};
  return count;
}

/* the settings that have a key of the learner's own */
static settings_binding binding_of(sparc_learner_config *config, learner_counts *counts) {
  return (settings_binding){.part = {{&learner_settings, config}, {&count_settings, counts}}};
}

/* ---- saving -------------------------------------------------------------------------------------- */

/* a learner as the checkpoint of a run has it */
static training_state training_of(const sparc_learner *l) {
  const sparc_learner_config *c = &l->config;
  return (training_state){.config = {.network = c->network,
                                     .seed = c->seed,
                                     .batch = 1,
                                     .updates = INT32_MAX,
                                     .rate = c->rate,
                                     .recurrent_rate = c->recurrent_rate,
                                     .decay = c->decay,
                                     .clip = c->clip},
                          .head = l->head,
                          .update = l->at.updates,
                          .examples = 1};
}

typedef struct numbers {
  double *mean, *deviation;
} numbers;

static numbers numbers_of(const running_moments *m, size_t count, double *room) {
  const numbers n = {room, room + count};
  for (size_t i = 0; i < count; i++) {
    n.mean[i] = m[i].mean;
    n.deviation[i] = moments_stddev(&m[i]);
  }
  return n;
}

/* what a model that does not learn has to know; room for 2 (inputs + outputs) numbers */
static sparc_preprocessing preprocessing_of(const sparc_learner *l, const char *const *labels, double *room) {
  sparc_preprocessing p = {.change = l->config.goal == SPARC_LEARN_FORECAST};
  if (l->config.normalise) {
    const numbers inputs = numbers_of(l->input_moments, l->inputs, room);
    p.channels = (int)l->inputs;
    p.mean = inputs.mean;
    p.deviation = inputs.deviation;
  }
  if (l->config.goal == SPARC_LEARN_CLASSES) {
    p.classes = labels ? (int)l->outputs : 0;
    p.labels = labels;
    return p;
  }
  numbers targets = numbers_of(l->target_moments, l->outputs, room + 2 * l->inputs);
  for (size_t k = 0; !l->config.normalise && k < l->outputs; k++) targets.mean[k] = 0, targets.deviation[k] = 1;
  p.targets = (int)l->outputs;
  p.target_mean = targets.mean;
  p.target_deviation = targets.deviation;
  return p;
}

static size_t list_tensors(const sparc_learner *l, sparc_tensor_source tensor[LEARNER_ARRAYS]) {
  stored_array array[LEARNER_ARRAYS];
  const size_t count = list_arrays(l, array);
  for (size_t i = 0; i < count; i++)
    tensor[i] = (sparc_tensor_source){.name = array[i].name,
                                      .dtype = array[i].dtype,
                                      .in_type = array[i].dtype,
                                      .rank = 2,
                                      .shape = {array[i].rows, array[i].columns},
                                      .data = array[i].data};
  return count;
}

/* what a file needs memory for */
typedef struct listing {
  double *numbers; /* (2, inputs + outputs): of the preprocessing */
  sparc_metadata *entry;
  char (*text)[SETTING_TEXT_SIZE];
} listing;

static size_t list_entries(const sparc_learner *l, const sparc_metadata *extra, size_t extra_count, listing *to) {
  sparc_learner_config config = l->config;
  learner_counts counts = l->at;
  const settings_binding binding = binding_of(&config, &counts);
  const locale_guard guard = enter_c_locale();
  size_t count = settings_list_metadata(&binding, to->entry, to->text);
  leave_c_locale(guard);
  for (size_t i = 0; i < extra_count; i++) to->entry[count++] = extra[i];
  return count;
}

static sparc_status write_file(const sparc_learner *l, const char *const *labels, const sparc_columns *columns,
                               const sparc_metadata *extra, size_t extra_count, listing *room, const char *path) {
  sparc_tensor_source tensor[LEARNER_ARRAYS];
  sparc_preprocessing preprocessing = preprocessing_of(l, labels, room->numbers);
  preprocessing.columns = columns;
  return checkpoint_write(path, &(checkpoint_content){.network = l->network,
                                                      .state = training_of(l),
                                                      .numbers = {.params = l->params, .moments = l->moments},
                                                      .preprocessing = &preprocessing,
                                                      .tensors = tensor,
                                                      .tensor_count = list_tensors(l, tensor),
                                                      .extra = room->entry,
                                                      .extra_count = list_entries(l, extra, extra_count, room)});
}

sparc_status learner_save(const sparc_learner *l, const char *const *labels, const sparc_columns *columns,
                          const sparc_metadata *extra, size_t extra_count, const char *path) {
  if (!l || !path) return fail(SPARC_INVALID, "%s is NULL", l ? "path" : "learner");
  if (extra_count && !extra) return fail(SPARC_INVALID, "extra is NULL, expected %zu entries", extra_count);
  if (l->forecaster && !forecaster_valid(l->forecaster))
    return fail(SPARC_NOT_FINITE,
                "the experts of the learner hold a number that is not finite or out of range; it is "
                "not written to '%.200s'",
                path);
  listing room = {.numbers = sparc_alloc(2 * (l->inputs + l->outputs) * sizeof *room.numbers),
                  .entry = sparc_alloc((MAX_SETTINGS + extra_count) * sizeof *room.entry),
                  .text = sparc_alloc(MAX_SETTINGS * sizeof *room.text)};
  const sparc_status status = room.numbers && room.entry && room.text
                                  ? write_file(l, labels, columns, extra, extra_count, &room, path)
                                  : fail(SPARC_NO_MEMORY, "no memory for the tables of a learner's file");
  sparc_free(room.numbers);
  sparc_free(room.entry);
  sparc_free(room.text);
  return status;
}

sparc_status sparc_learner_save(const sparc_learner *l, const char *const *labels, const sparc_metadata *extra,
                                size_t extra_count, const char *path) {
  return learner_save(l, labels, NULL, extra, extra_count, path);
}

/* ---- restoring ----------------------------------------------------------------------------------- */

static sparc_status read_settings_of(const checkpoint *c, sparc_learner_config *config, learner_counts *counts) {
  const settings_binding binding = binding_of(config, counts);
  return stored_settings_read(c->file, c->path, &binding);
}

static sparc_learner_config config_of(const checkpoint *c) {
  const sparc_train_config *t = &c->state.config;
  return (sparc_learner_config){.network = t->network,
                                .outputs = t->network.head->outputs,
                                .hidden = t->network.head->hidden,
                                .seed = t->seed,
                                .rate = t->rate,
                                .recurrent_rate = t->recurrent_rate,
                                .decay = t->decay,
                                .clip = t->clip};
}

/* numbers of which one follows from another, before anything is counted by them */
static sparc_status check_counts(const checkpoint *c, const sparc_learner *l, const learner_counts *at) {
  const long known = at->steps - (long)l->lag; /* steps whose truth could be told */
  if (at->told <= (known > 0 ? known : 0) && at->told >= known - 1 && at->first + (at->fresh ? 0 : 1) <= at->steps &&
      at->truths <= at->told && at->updates <= at->truths && at->pending < l->config.every && at->pending <= at->truths)
    return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': %ld steps, %ld told, %ld truths, %ld updates and %d pending do not go together",
              c->path, at->steps, at->told, at->truths, at->updates, at->pending);
}

static bool is_of_learner(const char *name) { return strncmp(name, LEARNER_PREFIX, strlen(LEARNER_PREFIX)) == 0; }

/* every array in its type and shape, and no others: before memory is taken that only the file asks for */
static sparc_status check_arrays(const checkpoint *c, const sparc_learner *l) {
  stored_array array[LEARNER_ARRAYS];
  const size_t count = list_arrays(l, array);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = stored_array_check(c->file, c->path, &array[i]);
  size_t stored = 0;
  for (size_t i = 0; i < sparc_tensors_contents_of(c->file).count; i++)
    stored += is_of_learner(sparc_tensors_contents_of(c->file).tensors[i].name);
  if (status != SPARC_OK || stored == count) return status;
  return fail(SPARC_FORMAT, "'%.200s' has %zu tensors '" LEARNER_PREFIX "...', expected %zu", c->path, stored, count);
}

static sparc_status check_moments(const checkpoint *c, const running_moments *m, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!moments_valid(&m[i]))
      return fail(SPARC_FORMAT, "'%.200s': channel %zu has the variance %g of %g steps", c->path, i, m[i].variance,
                  m[i].count);
  return SPARC_OK;
}

static sparc_status check_masks(const checkpoint *c, const sparc_learner *l) {
  for (size_t i = 0; i <= l->lag; i++)
    if (l->waiting_mask[i] != 0 && l->waiting_mask[i] != 1)
      return fail(SPARC_FORMAT,
                  "'%.200s': element %zu of tensor '" LEARNER_PREFIX "waiting.mask' is %g, expected 0 or 1", c->path, i,
                  (double)l->waiting_mask[i]);
  return SPARC_OK;
}

/* predictions that wait for their target are probabilities where classes are learned */
static sparc_status check_predictions(const checkpoint *c, const sparc_learner *l) {
  if (l->config.goal != SPARC_LEARN_CLASSES) return SPARC_OK;
  for (size_t i = 0; i < (l->lag + 1) * l->outputs; i++)
    if (!(l->waiting_y[i] >= 0 && l->waiting_y[i] <= 1))
      return fail(SPARC_FORMAT,
                  "'%.200s': element %zu of tensor '" LEARNER_PREFIX "waiting.y' is %g, expected a probability",
                  c->path, i, (double)l->waiting_y[i]);
  return SPARC_OK;
}

static sparc_status check_forecaster(const checkpoint *c, const sparc_learner *l) {
  if (!l->forecaster || forecaster_valid(l->forecaster)) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': tensor '" KEY_FORECASTER "' holds numbers that no forecaster can have", c->path);
}

static sparc_status read_arrays(const checkpoint *c, sparc_learner *l) {
  stored_array array[LEARNER_ARRAYS];
  const size_t count = list_arrays(l, array);
  sparc_status status = checkpoint_read(c, l->params, l->moments);
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = stored_array_read(c->file, c->path, &array[i]);
  if (status == SPARC_OK) status = check_masks(c, l);
  if (status == SPARC_OK) status = check_predictions(c, l);
  if (status == SPARC_OK) status = check_moments(c, l->input_moments, l->inputs);
  if (status == SPARC_OK) status = check_moments(c, l->target_moments, l->outputs);
  if (status == SPARC_OK) status = check_forecaster(c, l);
  return status == SPARC_OK ? sparc_network_prepare(l->network, l->params, l->prepared) : status;
}

/* the horizons of a mixture: the first is that of the network */
static sparc_status read_horizons(const checkpoint *c, sparc_learner_config *config) {
  if (config->forecaster != SPARC_FORECAST_MIXTURE) return SPARC_OK;
  double horizon[SPARC_HORIZONS_MOST] = {0};
  const sparc_tensor_info *info = sparc_tensors_find(c->file, KEY_HORIZONS);
  const size_t count = info && info->rank == 2 ? info->shape[1] : 0;
  if (count < 1 || count > SPARC_HORIZONS_MOST)
    return fail(SPARC_FORMAT, "'%.200s': tensor '" KEY_HORIZONS "' is missing, or has not 1 to %d elements", c->path,
                SPARC_HORIZONS_MOST);
  sparc_status status = stored_tensor_check(c->file, c->path, KEY_HORIZONS, SPARC_F64, (const size_t[]){1, count}, 2);
  if (status == SPARC_OK) status = stored_f64_read(c->file, c->path, KEY_HORIZONS, 1, horizon, count);
  for (size_t j = 0; status == SPARC_OK && j < count; j++) {
    if (horizon[j] != floor(horizon[j]) || horizon[j] > 1 << 20 || (j == 0 && horizon[j] != config->horizon))
      return fail(SPARC_FORMAT, "'%.200s': element %zu of tensor '" KEY_HORIZONS "' is %g, expected a horizon", c->path,
                  j, horizon[j]);
    if (j > 0) config->more_horizons[j - 1] = (int)horizon[j];
  }
  return status;
}

static sparc_status restore(const checkpoint *c, sparc_learner **out) {
  sparc_learner_config config = config_of(c);
  learner_counts counts = {.updates = c->state.update};
  sparc_status status = read_settings_of(c, &config, &counts);
  if (status == SPARC_OK) status = read_horizons(c, &config);
  if (status != SPARC_OK) return status;
  if (config.goal == SPARC_LEARN_FORECAST) {
    if (config.outputs != config.network.inputs)
      return fail(SPARC_FORMAT, "'%.200s': %d outputs of a network that forecasts %d inputs", c->path, config.outputs,
                  config.network.inputs);
    config.outputs = 0; /* follows from the horizons */
  }
  sparc_learner *l = learner_describe(&config, &status);
  if (status == SPARC_INVALID || status == SPARC_UNSUPPORTED) {
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%s", sparc_error());
    return fail(SPARC_FORMAT, "'%.200s': the stored configuration is not possible: %s", c->path, sentence);
  }
  if (!l) return status;
  status = check_arrays(c, l);
  if (status == SPARC_OK) status = check_counts(c, l, &counts);
  if (status == SPARC_OK) status = learner_allocate(l);
  if (status == SPARC_OK) status = read_arrays(c, l);
  if (status == SPARC_OK) {
    l->at = counts;
    *out = l;
  } else {
    sparc_learner_free(l);
  }
  return status;
}

sparc_status sparc_learner_restore(const char *path, sparc_learner **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the learner");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL");
  checkpoint c;
  sparc_status status = checkpoint_open(path, true, &c);
  if (status != SPARC_OK) return status;
  if (!sparc_tensors_metadata_find(c.file, LEARNER_PREFIX "goal"))
    status = fail(SPARC_FORMAT, "'%.200s' is a model, but not one that learns while it runs", path);
  if (status == SPARC_OK) status = restore(&c, out);
  checkpoint_close(&c);
  return status;
}
