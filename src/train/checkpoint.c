/* SPDX-License-Identifier: MIT */
/* checkpoint.c: checkpoints from files. The tables of settings define the key of each field of the configuration. Files
 * are untrusted: anything missing, surplus or out of range is an error with the file and the key or tensor, before
 * memory of a size given by the file is allocated. */
#include "train/checkpoint.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "io/dtype.h"
#include "nn/layer.h"
#include "train/train.h"
#include "train/train_settings.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

size_t checkpoint_arrays(const checkpoint_numbers *n, size_t params, bool averages, block_array array[MAX_ARRAYS]) {
  const block_array all[] = {{"", -INFINITY, n->params},
                             {STORED_FIRST_MOMENT, -INFINITY, n->moments},
                             {STORED_SECOND_MOMENT, 0, n->moments ? n->moments + params : NULL}, /* a mean of squares */
                             {"opt.w.", -INFINITY, n->raw}};
  memcpy(array, all, sizeof all);
  return averages ? MAX_ARRAYS : RAW;
}

static stored_blocks blocks_of(const sparc_network *network) {
  stored_blocks b;
  b.block = sparc_network_blocks(network, &b.blocks);
  return b;
}

/* ---- fields ------------------------------------------------------------------------------------ */

static const setting state_rows[] = {
    {.name = "examples",
     .key = "train.examples",
     .type = SETTING_INT,
     .role = STORED,
     .offset = offsetof(training_state, examples),
     .low = 1,
     .high = INT_MAX},
    {.name = "update",
     .key = "update",
     .type = SETTING_LONG,
     .role = STORED,
     .offset = offsetof(training_state, update),
     .low = 0,
     .high = 0x1p53},
};
static const settings_table state_settings = {state_rows, sizeof state_rows / sizeof *state_rows};

settings_binding checkpoint_binding(training_state *state, int format) {
  settings_binding binding = {.part = {{.table = &network_settings, .at = &state->config.network},
                                       {.table = &head_settings, .at = &state->head},
                                       {.table = &training_settings, .at = &state->config},
                                       {.table = &state_settings, .at = state}}};
  if (format < 3) return binding;
  settings_bind(&binding, &symbol_settings, &state->config.network, NULL);
  settings_bind(&binding, &head_kind_settings, &state->head, NULL);
  return binding;
}

/* ---- reading: metadata -------------------------------------------------------------------------- */

static sparc_status identify(checkpoint *c) {
  const char *format = sparc_tensors_metadata_find(c->file, stored_identity_keys[0]);
  const char *version = sparc_tensors_metadata_find(c->file, stored_identity_keys[1]);
  if (!format || strcmp(format, CHECKPOINT_FORMAT) != 0)
    return fail(SPARC_FORMAT, "'%.200s' is not a checkpoint: its format is %s%s, expected %s", c->path,
                format ? "" : "not given", format ? quote(format).text : "", CHECKPOINT_FORMAT);
  static const setting whole = {.type = SETTING_LONG, .low = 1, .high = (double)INT32_MAX};
  long number;
  if (!version || !setting_parse(&whole, version, true, &number))
    return fail(SPARC_FORMAT, "'%.200s': format_version is '%s', expected a whole number from 1", c->path,
                quote(version ? version : "").text);
  if (number > CHECKPOINT_VERSION)
    return fail(SPARC_FORMAT,
                "'%.200s' has the checkpoint format %ld; sparc %s reads formats up to %d, use a newer one", c->path,
                number, sparc_version(), CHECKPOINT_VERSION);
  c->format = (int)number;
  return SPARC_OK;
}

/* a network may be larger than what the tool's options allow, so ranges are checked where the values are used */
static sparc_status read_field(const checkpoint *c, const setting *s, void *at) {
  return setting_read_metadata(c->file, c->path, s, false, at);
}

/* files of the first format have networks with an embedding before layers, or a ReLU after a bare cell */
static bool is_in_first_format(const char *key) {
  static const char *const later[] = {"network.embedding", "network.features",    "network.head_name",
                                      "network.hidden",    "network.hidden_gain", "network.gain"};
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (strcmp(key, later[i]) == 0) return false;
  return true;
}

static sparc_status finish_first_format(checkpoint *c) {
  static const char *const flags[] = {"0", "1", NULL};
  const setting relu = {.key = "network.relu", .type = SETTING_CHOICE, .choices = flags};
  sparc_network_config *network = &c->state.config.network;
  int value = 0;
  const sparc_status status = read_field(c, &relu, &value);
  network->features = value ? SPARC_FEATURES_RELU : SPARC_FEATURES_OUTPUT;
  network->embedding = network->layers ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE;
  return status;
}

static sparc_status read_fields(checkpoint *c) {
  const settings_binding binding = checkpoint_binding(&c->state, c->format);
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(&binding, i, &at)); i++) {
    if (!s->key || (c->format == 1 && !is_in_first_format(s->key))) continue;
    const sparc_status status = read_field(c, s, at);
    if (status != SPARC_OK) return status;
  }
  return c->format == 1 ? finish_first_format(c) : SPARC_OK;
}

/* ---- reading: layers of several kinds ------------------------------------------------------------- */

static const char *find_layer(const checkpoint *c, int layer, const char *what) {
  char key[LAYER_KEY];
  snprintf(key, sizeof key, LAYER_PREFIX "%d.%s", layer, what);
  return sparc_tensors_metadata_find(c->file, key);
}

static bool has_kind(const sparc_layer_kind *const *kinds, const char *name) {
  for (; kinds && *kinds; kinds++)
    if ((*kinds)->name && strcmp((*kinds)->name, name) == 0) return true;
  return false;
}

/* before memory is allocated: a file with that many entries is at least as large */
static sparc_status check_layers(const checkpoint *c, int layers) {
  for (int i = 0; i < layers; i++) {
    const char *kind = find_layer(c, i, "kind");
    if (!kind) return fail(SPARC_FORMAT, "'%.200s': metadata '" LAYER_PREFIX "%d.kind' is missing", c->path, i);
    if (!has_kind(layer_kinds(), kind) && !has_kind(c->kinds, kind))
      return fail(SPARC_FORMAT,
                  "'%.200s': layer %d is of the kind '%s', which neither the library nor this program has", c->path, i,
                  quote(kind).text);
  }
  if (find_layer(c, layers, "kind"))
    return fail(SPARC_FORMAT, "'%.200s' has a kind of layer %d, but network.layers is %d", c->path, layers, layers);
  return SPARC_OK;
}

/* *out is NULL for formats without kinds; the strings are the file's */
static sparc_status read_layers(const checkpoint *c, sparc_layer_config **out) {
  const int layers = c->state.config.network.layers;
  *out = NULL;
  if (c->format < 4) return SPARC_OK;
  if (layers < 1)
    return fail(SPARC_FORMAT, "'%.200s': metadata 'network.layers' is %d, expected 1 or more", c->path, layers);
  const sparc_status status = check_layers(c, layers);
  if (status != SPARC_OK) return status;
  *out = sparc_alloc((size_t)layers * sizeof **out);
  if (!*out) return fail(SPARC_NO_MEMORY, "no memory for the kinds of %d layers", layers);
  for (int i = 0; i < layers; i++)
    (*out)[i] = (sparc_layer_config){.kind = find_layer(c, i, "kind"), .options = find_layer(c, i, "options")};
  return SPARC_OK;
}

static sparc_status make_network(checkpoint *c) {
  sparc_network_config *network = &c->state.config.network;
  sparc_layer_config *layer;
  const sparc_status read = read_layers(c, &layer);
  if (read != SPARC_OK) return read;
  network->layer = layer;
  network->kinds = c->kinds;
  if (layer && network->cell && !*network->cell) network->cell = network->cell_options = NULL;
  network->head = &c->state.head;
  network->heads = 1;
  sparc_status status =
      settings_check(&(settings_binding){.part = {{.table = &state_settings, .at = &c->state}}}, true);
  if (status == SPARC_OK) status = check_train_config(&c->state.config);
  if (status == SPARC_OK) status = sparc_network_create(network, &c->network);
  sparc_free(layer);
  network->layer = NULL;
  if (status != SPARC_OK) return stored_format_error(c->path, "the stored configuration is not possible", status);
  *network = sparc_network_config_of(c->network);
  return SPARC_OK;
}

/* ---- reading: tensors --------------------------------------------------------------------------- */

static bool begins_with(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static sparc_status check_tensors(const checkpoint *c, bool resumable) {
  block_array array[MAX_ARRAYS];
  static const char *const others[] = {LEARNER_PREFIX, NULL};
  size_t moments = 0;
  const stored_blocks b = blocks_of(c->network);
  for (size_t i = 0; i < sparc_tensors_contents_of(c->file).count; i++)
    moments += begins_with(sparc_tensors_contents_of(c->file).tensors[i].name, "opt.");
  if (resumable && moments == 0)
    return fail(
        SPARC_FORMAT,
        "'%.200s' holds weights without the optimiser's moments: it can be used as a model, but training cannot "
        "continue from it",
        c->path);
  const size_t all = checkpoint_arrays(&(checkpoint_numbers){.params = NULL}, 0, c->state.config.ema_decay > 0, array);
  const size_t arrays = moments ? all : 1;
  const sparc_status status = stored_blocks_check(c->file, c->path, b, array, arrays);
  return status == SPARC_OK ? stored_surplus_check(c->file, c->path, b, array, arrays, others) : status;
}

/* ---- life cycle -------------------------------------------------------------------------------- */

static sparc_status check(checkpoint *c, bool resumable) {
  sparc_status status = identify(c);
  if (status == SPARC_OK) status = read_fields(c);
  if (status == SPARC_OK) status = make_network(c);
  if (status == SPARC_OK) status = check_tensors(c, resumable);
  if (status == SPARC_OK) status = preprocessing_read(c->file, c->path, &c->state.config.network, &c->preprocessing);
  return status;
}

/* the rest of opening, after an attempt to open the file */
static sparc_status finish(checkpoint *c, sparc_status status, bool resumable) {
  const locale_guard guard = enter_c_locale();
  if (status == SPARC_OK) status = check(c, resumable);
  leave_c_locale(guard);
  if (status != SPARC_OK) checkpoint_close(c);
  return status;
}

sparc_status checkpoint_open(const char *path, bool resumable, checkpoint *out) {
  return checkpoint_open_kinds(path, NULL, resumable, out);
}

sparc_status checkpoint_open_kinds(const char *path, const sparc_layer_kind *const *kinds, bool resumable,
                                   checkpoint *out) {
  *out = (checkpoint){.path = path, .kinds = kinds};
  return finish(out, sparc_tensors_load(path, &out->file), resumable);
}

sparc_status checkpoint_parse(const void *data, size_t size, const char *name, checkpoint *out) {
  *out = (checkpoint){.path = name};
  return finish(out, sparc_tensors_parse(data, size, name, &out->file), false);
}

void checkpoint_close(checkpoint *c) {
  preprocessing_free(&c->preprocessing);
  sparc_network_free(c->network);
  sparc_tensors_free(c->file);
  *c = (checkpoint){.path = NULL};
}

sparc_status checkpoint_read(const checkpoint *c, float *params, float *moments) {
  block_array array[MAX_ARRAYS];
  checkpoint_arrays(&(checkpoint_numbers){.params = params, .moments = moments},
                    sparc_network_sizes_of(c->network).params, false, array);
  return stored_blocks_read(c->file, c->path, blocks_of(c->network), array, moments ? 1 + STORED_MOMENTS : 1);
}

static bool is_of_head(const char *block) { return begins_with(block, "head."); }

sparc_status checkpoint_load_weights(const checkpoint *c, const sparc_network *network, bool head, float *params) {
  const stored_blocks b = blocks_of(network);
  const block_array weights = {"", -INFINITY, params};
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < b.blocks && status == SPARC_OK; i++) {
    const stored_blocks one = {&b.block[i], 1};
    if (!head && is_of_head(b.block[i].name)) continue;
    status = stored_blocks_check(c->file, c->path, one, &weights, 1);
    if (status == SPARC_OK) status = stored_blocks_read(c->file, c->path, one, &weights, 1);
  }
  return status;
}

sparc_status checkpoint_read_raw(const checkpoint *c, float *raw) {
  block_array array[MAX_ARRAYS];
  checkpoint_arrays(&(checkpoint_numbers){.raw = raw}, 0, true, array);
  return stored_blocks_read(c->file, c->path, blocks_of(c->network), &array[RAW], 1);
}
