/* SPDX-License-Identifier: MIT */
/* learner_file.c: saving and loading of learners. The file is a checkpoint (train/checkpoint.h) with additional tensors
 * "learner.*", which readers of models ignore. */
#include "base/c_locale.h"
#include "base/error.h"
#include "io/stored_tensor.h"
#include "online/learner.h"
#include "online/learner_settings.h"
#include "train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- additional contents of the file ----------------------------------------------------------- */

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
    {.name = "resolved",
     .key = LEARNER_PREFIX "told",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(resolved),
     .high = 0x1p53},
    {.name = "first",
     .key = LEARNER_PREFIX "first",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(first),
     .high = 0x1p53},
    {.name = "targets",
     .key = LEARNER_PREFIX "truths",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = AT(targets),
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
  /* without a lag there is one state */
  if (l->lag) list[count++] = (stored_array){LEARNER_PREFIX "ahead", SPARC_F32, 1, l->n.state, l->ahead};
  if (!l->forecaster) return count;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): only read when saving; owned when loading */
  void *const horizon = (void *)(uintptr_t)(const void *)l->horizon;
  list[count++] = (stored_array){KEY_HORIZONS, SPARC_F64, 1, (size_t)l->horizons, horizon};
  list[count++] = (stored_array){KEY_FORECASTER, SPARC_F64, l->inputs, forecaster_numbers(l->forecaster),
                                 forecaster_state(l->forecaster)};
  return count;
}

/* settings stored under keys of the learner */
static settings_binding binding_of(sparc_learner_config *config, learner_counts *counts) {
  return (settings_binding){
      .part = {{.table = &learner_settings, .at = config}, {.table = &count_settings, .at = counts}}};
}

/* ---- saving -------------------------------------------------------------------------------------- */

/* the training state of a checkpoint */
static training_state training_of(const sparc_learner *l) {
  const sparc_learner_config *c = &l->config;
  return (training_state){.config = {.network = c->network,
                                     .seed = c->seed,
                                     .batch = 1,
                                     .updates = INT32_MAX,
                                     .learning_rate = c->learning_rate,
                                     .recurrent_lr_scale = c->recurrent_lr_scale,
                                     .weight_decay = c->weight_decay,
                                     .max_gradient_norm = c->max_gradient_norm},
                          .head = l->head,
                          .update = l->at.updates,
                          .examples = 1};
}

typedef struct normaliser {
  double *mean, *stddev; /* (count) */
} normaliser;

static normaliser normaliser_of(const running_moments *m, size_t count, double *buffer /* 2, count */) {
  const normaliser n = {buffer, buffer + count};
  for (size_t i = 0; i < count; i++) {
    n.mean[i] = m[i].mean;
    n.stddev[i] = moments_stddev(&m[i]);
  }
  return n;
}

/* preprocessing of the model in the file; buffer: (2, inputs + outputs) */
static sparc_preprocessing preprocessing_of(const sparc_learner *l, const char *const *labels, double *buffer) {
  sparc_preprocessing p = {.change = l->config.objective == SPARC_LEARN_FORECAST};
  if (l->config.normalise) {
    const normaliser inputs = normaliser_of(l->input_moments, l->inputs, buffer);
    p.channels = (int)l->inputs;
    p.mean = inputs.mean;
    p.stddev = inputs.stddev;
  }
  if (l->config.objective == SPARC_LEARN_CLASSIFY) {
    p.classes = labels ? (int)l->outputs : 0;
    p.labels = labels;
    return p;
  }
  normaliser targets = normaliser_of(l->target_moments, l->outputs, buffer + 2 * l->inputs);
  for (size_t k = 0; !l->config.normalise && k < l->outputs; k++) targets.mean[k] = 0, targets.stddev[k] = 1;
  p.targets = (int)l->outputs;
  p.target_mean = targets.mean;
  p.target_stddev = targets.stddev;
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

/* buffers for writing a file */
typedef struct listing {
  double *numbers; /* (2, inputs + outputs) of the preprocessing */
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
                               const sparc_metadata *extra, size_t extra_count, listing *buffers, const char *path) {
  sparc_tensor_source tensor[LEARNER_ARRAYS];
  sparc_preprocessing preprocessing = preprocessing_of(l, labels, buffers->numbers);
  preprocessing.columns = columns;
  return checkpoint_write(path, &(checkpoint_content){.network = l->network,
                                                      .state = training_of(l),
                                                      .numbers = {.params = l->params, .moments = l->moments},
                                                      .preprocessing = &preprocessing,
                                                      .tensors = tensor,
                                                      .tensor_count = list_tensors(l, tensor),
                                                      .extra = buffers->entry,
                                                      .extra_count = list_entries(l, extra, extra_count, buffers)});
}

sparc_status learner_save(const sparc_learner *l, const char *const *labels, const sparc_columns *columns,
                          const sparc_metadata *extra, size_t extra_count, const char *path) {
  if (!l || !path) return fail(SPARC_INVALID, "%s is NULL", l ? "path" : "learner");
  if (extra_count && !extra) return fail(SPARC_INVALID, "extra is NULL, expected %zu entries", extra_count);
  if (l->forecaster && !forecaster_valid(l->forecaster))
    return fail(SPARC_NOT_FINITE,
                "the experts of the learner hold a number that is not finite or out of range; "
                "'%.200s' is not written",
                path);
  listing buffers = {.numbers = sparc_alloc(2 * (l->inputs + l->outputs) * sizeof *buffers.numbers),
                     .entry = sparc_alloc((MAX_SETTINGS + extra_count) * sizeof *buffers.entry),
                     .text = sparc_alloc(MAX_SETTINGS * sizeof *buffers.text)};
  const sparc_status status = buffers.numbers && buffers.entry && buffers.text
                                  ? write_file(l, labels, columns, extra, extra_count, &buffers, path)
                                  : fail(SPARC_NO_MEMORY, "no memory for the tables of a learner's file");
  sparc_free(buffers.numbers);
  sparc_free(buffers.entry);
  sparc_free(buffers.text);
  return status;
}

sparc_status sparc_learner_save(const sparc_learner *l, const char *const *labels, const sparc_metadata *extra,
                                size_t extra_count, const char *path) {
  return learner_save(l, labels, NULL, extra, extra_count, path);
}

/* ---- loading ----------------------------------------------------------------------------------- */

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
                                .learning_rate = t->learning_rate,
                                .recurrent_lr_scale = t->recurrent_lr_scale,
                                .weight_decay = t->weight_decay,
                                .max_gradient_norm = t->max_gradient_norm};
}

/* the counters must be consistent */
static sparc_status check_counts(const checkpoint *c, const sparc_learner *l, const learner_counts *at) {
  const long known = at->steps - (long)l->lag; /* steps whose target can be known */
  if (at->resolved <= (known > 0 ? known : 0) && at->resolved >= known - 1 &&
      at->first + (at->fresh ? 0 : 1) <= at->steps && at->targets <= at->resolved && at->updates <= at->targets &&
      at->pending < l->config.update_every && at->pending <= at->targets)
    return SPARC_OK;
  return fail(SPARC_FORMAT,
              "'%.200s': %ld steps, %ld resolved, %ld targets, %ld updates and %d pending are inconsistent", c->path,
              at->steps, at->resolved, at->targets, at->updates, at->pending);
}

static bool is_of_learner(const char *name) { return strncmp(name, LEARNER_PREFIX, strlen(LEARNER_PREFIX)) == 0; }

/* the file has exactly these arrays, with their types and shapes; checked before memory is allocated */
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

/* waiting predictions of classes are probabilities */
static sparc_status check_predictions(const checkpoint *c, const sparc_learner *l) {
  if (l->config.objective != SPARC_LEARN_CLASSIFY) return SPARC_OK;
  for (size_t i = 0; i < (l->lag + 1) * l->outputs; i++)
    if (!(l->waiting_y[i] >= 0 && l->waiting_y[i] <= 1))
      return fail(SPARC_FORMAT,
                  "'%.200s': element %zu of tensor '" LEARNER_PREFIX "waiting.y' is %g, expected a probability",
                  c->path, i, (double)l->waiting_y[i]);
  return SPARC_OK;
}

static sparc_status check_forecaster(const checkpoint *c, const sparc_learner *l) {
  if (!l->forecaster || forecaster_valid(l->forecaster)) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': tensor '" KEY_FORECASTER "' holds values that are out of range", c->path);
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

/* the horizons of a mixture; the first is that of the network */
static sparc_status read_horizons(const checkpoint *c, sparc_learner_config *config) {
  if (config->forecaster != SPARC_FORECAST_MIXTURE) return SPARC_OK;
  double horizon[SPARC_MAX_HORIZONS] = {0};
  const sparc_tensor_info *info = sparc_tensors_find(c->file, KEY_HORIZONS);
  const size_t count = info && info->rank == 2 ? info->shape[1] : 0;
  if (count < 1 || count > SPARC_MAX_HORIZONS)
    return fail(SPARC_FORMAT, "'%.200s': tensor '" KEY_HORIZONS "' is missing or does not have 1 to %d elements",
                c->path, SPARC_MAX_HORIZONS);
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

/* the network is that of learner_describe: values in, one untied head */
static sparc_status check_network(const checkpoint *c) {
  const sparc_network_config *n = &c->state.config.network;
  if (n->embedding == SPARC_EMBED_SYMBOLS)
    return fail(SPARC_FORMAT, "'%.200s': the inputs are symbols, expected values", c->path);
  if (n->head->tied) return fail(SPARC_FORMAT, "'%.200s': the head is tied, expected weights of its own", c->path);
  return SPARC_OK;
}

static sparc_status load(const checkpoint *c, sparc_learner **out) {
  sparc_learner_config config = config_of(c);
  learner_counts counts = {.updates = c->state.update};
  sparc_status status = check_network(c);
  if (status == SPARC_OK) status = read_settings_of(c, &config, &counts);
  if (status == SPARC_OK) status = read_horizons(c, &config);
  if (status != SPARC_OK) return status;
  if (config.objective == SPARC_LEARN_FORECAST) {
    if (config.outputs != config.network.inputs)
      return fail(SPARC_FORMAT, "'%.200s': %d outputs, expected one for each of %d inputs", c->path, config.outputs,
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

sparc_status sparc_learner_load(const char *path, sparc_learner **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL");
  checkpoint c;
  sparc_status status = checkpoint_open(path, true, &c);
  if (status != SPARC_OK) return status;
  if (!sparc_tensors_metadata_find(c.file, LEARNER_PREFIX "goal"))
    status = fail(SPARC_FORMAT, "'%.200s' is a model, but not a learner", path);
  if (status == SPARC_OK) status = load(&c, out);
  checkpoint_close(&c);
  return status;
}
