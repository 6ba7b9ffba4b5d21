/* SPDX-License-Identifier: MIT */
/* checkpoint_write.c: checkpoints to files. */
#include "base/c_locale.h"
#include "base/error.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>

static bool is_own_key(const char *key) {
  static const char *const optional[] = {KEY_MEAN,        KEY_DEVIATION,        KEY_LABELS,        KEY_DATA,
                                         KEY_TARGET_MEAN, KEY_TARGET_DEVIATION, KEY_TARGET_CHANGE, KEY_CHANNELS,
                                         KEY_IGNORED,     KEY_LABEL_COLUMN,     KEY_ID_COLUMN,     KEY_TIME_COLUMN,
                                         KEY_ROWS};
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
    if (strcmp(key, optional[i]) == 0) return true;
  if (strncmp(key, LAYER_PREFIX, strlen(LAYER_PREFIX)) == 0) return true;
  for (size_t i = 0; i < STORED_IDENTITIES; i++)
    if (strcmp(key, stored_identity_keys[i]) == 0) return true;
  training_state none = {.update = 0};
  const settings_binding binding = checkpoint_binding(&none, CHECKPOINT_VERSION);
  const setting *s;
  for (int i = 0; (s = settings_row(&binding, i, NULL)); i++)
    if (s->key && strcmp(key, s->key) == 0) return true;
  return false;
}

static sparc_status check_extra(const sparc_metadata *extra, size_t count) {
  if (count && !extra) return fail(SPARC_INVALID, "extra is NULL, expected %zu entries", count);
  for (size_t i = 0; i < count; i++) {
    if (!extra[i].key || !extra[i].value)
      return fail(SPARC_INVALID, "extra[%zu].%s is NULL, expected text", i, extra[i].key ? "value" : "key");
    if (is_own_key(extra[i].key))
      return fail(SPARC_INVALID, "extra[%zu].key is '%s', which a checkpoint uses itself", i, extra[i].key);
  }
  return SPARC_OK;
}

/* the first format that can describe the network */
static int format_of(const training_state *state) {
  if (state->config.network.layer) return 4;
  const bool second = state->config.network.symbols == 0 && state->head.kind == SPARC_HEAD_BY_INPUT;
  return second ? 2 : 3;
}

/* ---- layers of several kinds ---------------------------------------------------------------------- */

typedef struct layer_listing {
  char (*key)[LAYER_KEY];
  sparc_metadata *entry;
  size_t count;
} layer_listing;

static void list_layer(layer_listing *l, size_t layer, const char *what, const char *value) {
  if (!value || !*value) return;
  snprintf(l->key[l->count], LAYER_KEY, LAYER_PREFIX "%zu.%s", layer, what);
  l->entry[l->count] = (sparc_metadata){l->key[l->count], value};
  l->count++;
}

static sparc_status list_layers(const sparc_network_config *network, layer_listing *l) {
  const size_t layers = network->layer ? (size_t)network->layers : 0;
  *l = (layer_listing){.key = sparc_alloc((2 * layers + 1) * sizeof *l->key),
                       .entry = sparc_alloc((2 * layers + 1) * sizeof *l->entry)};
  if (!l->key || !l->entry) return fail(SPARC_NO_MEMORY, "no memory for the kinds of %zu layers", layers);
  for (size_t i = 0; i < layers; i++) {
    list_layer(l, i, "kind", network->layer[i].kind);
    list_layer(l, i, "options", network->layer[i].options);
  }
  return SPARC_OK;
}

static void free_layers(layer_listing *l) {
  sparc_free(l->key);
  sparc_free(l->entry);
}

/* ---- the file ------------------------------------------------------------------------------------ */

static sparc_status write_file(const char *path, const checkpoint_content *c, const preprocessing_text *text,
                               const layer_listing *layers) {
  stored_listing l;
  stored_blocks b;
  block_array array[MAX_ARRAYS];
  char version[16];
  const int format = format_of(&c->state);
  training_state state = c->state;
  sparc_network_config *network = &state.config.network;
  if (!network->cell) network->cell = network->cell_options = ""; /* no layer has one */
  const settings_binding binding = checkpoint_binding(&state, format);
  b.block = sparc_network_blocks(c->network, &b.blocks);
  const size_t all =
      checkpoint_arrays(&c->numbers, sparc_network_sizes_of(c->network).params, c->state.config.ema_decay > 0, array);
  const size_t arrays = c->numbers.moments ? all : 1;
  sparc_status status =
      stored_listing_create(b, arrays, c->tensor_count, PREPROCESSING_KEYS + layers->count + c->extra_count, &l);
  if (status == SPARC_OK) {
    stored_list_blocks(&l, b, array, arrays);
    for (size_t i = 0; i < c->tensor_count; i++) stored_list_tensor(&l, &c->tensors[i]);
    snprintf(version, sizeof version, "%d", format);
    stored_list_format(&l, CHECKPOINT_FORMAT, version);
    stored_list_settings(&l, &binding);
    stored_list_entries(&l, layers->entry, layers->count);
    stored_list_entries(&l, text->entry, text->count);
    stored_list_entries(&l, c->extra, c->extra_count);
    status = sparc_tensors_save(path, l.tensor, l.tensors, l.metadata, l.entries);
  }
  stored_listing_free(&l);
  return status;
}

sparc_status checkpoint_write(const char *path, const checkpoint_content *c) {
  preprocessing_text text = {.count = 0};
  layer_listing layers = {.count = 0};
  sparc_status status = preprocessing_check(c->preprocessing, &c->state.config.network);
  if (status == SPARC_OK) status = check_extra(c->extra, c->extra_count);
  if (status != SPARC_OK) return status;
  const locale_guard guard = enter_c_locale();
  status = preprocessing_print(c->preprocessing, &text);
  if (status == SPARC_OK) status = list_layers(&c->state.config.network, &layers);
  if (status == SPARC_OK) status = write_file(path, c, &text, &layers);
  leave_c_locale(guard);
  free_layers(&layers);
  preprocessing_text_free(&text);
  return status;
}
