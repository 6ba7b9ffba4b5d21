/* SPDX-License-Identifier: MIT */
/* checkpoint_write.c: checkpoints to files. */
#include "base/c_locale.h"
#include "base/error.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>

static bool is_own_key(const char *key) {
  static const char *const optional[] = {KEY_MEAN,        KEY_DEVIATION,        KEY_LABELS,       KEY_DATA,
                                         KEY_TARGET_MEAN, KEY_TARGET_DEVIATION, KEY_TARGET_CHANGE};
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
    if (strcmp(key, optional[i]) == 0) return true;
  for (size_t i = 0; i < IDENTITIES; i++)
    if (strcmp(key, identity_keys[i]) == 0) return true;
  training_state none = {.update = 0};
  const settings_form form = checkpoint_form(&none, CHECKPOINT_VERSION);
  const setting *s;
  for (int i = 0; (s = settings_row(&form, i, NULL)); i++)
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

/* what is handed to the writer: at most 1 + COMPANIONS tensors a block and what was brought, and all metadata */
typedef struct listing {
  sparc_tensor_source *tensor;
  char (*name)[NAME_SIZE]; /* of companions */
  sparc_metadata *metadata;
  char (*value)[SETTING_TEXT_SIZE]; /* of numbers; the last is the format's version */
  preprocessing_text preprocessing;
  size_t tensors, entries;
} listing;

static sparc_status allocate_listing(listing *l, size_t blocks, size_t further, size_t extra) {
  l->tensor = sparc_alloc(((1 + COMPANIONS) * blocks + further) * sizeof *l->tensor);
  l->name = sparc_alloc(COMPANIONS * blocks * sizeof *l->name);
  l->metadata = sparc_alloc((IDENTITIES + SETTINGS_MOST + PREPROCESSING_KEYS + extra) * sizeof *l->metadata);
  l->value = sparc_alloc((1 + SETTINGS_MOST) * sizeof *l->value);
  if (l->tensor && l->name && l->metadata && l->value) return SPARC_OK;
  return fail(SPARC_NO_MEMORY, "no memory for the tables of a checkpoint of %zu tensors", blocks);
}

static void free_listing(listing *l) {
  void *memory[] = {l->tensor, l->name, l->metadata, l->value};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  preprocessing_text_free(&l->preprocessing);
}

static void list_tensor(listing *l, const sparc_block *block, const char *name, const float *data) {
  l->tensor[l->tensors++] = (sparc_tensor_source){.name = name,
                                                  .dtype = SPARC_F32,
                                                  .in_type = SPARC_F32,
                                                  .rank = block->rank,
                                                  .shape = {(size_t)block->shape[0], (size_t)block->shape[1]},
                                                  .data = data + block->offset};
}

static void list_tensors(listing *l, const checkpoint_content *c) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(c->network, &blocks);
  const size_t params = sparc_network_sizes_of(c->network).params;
  for (size_t i = 0; i < blocks; i++) {
    list_tensor(l, &block[i], block[i].name, c->params);
    for (size_t m = 0; m < companions(&c->state.config); m++) {
      char *name = l->name[COMPANIONS * i + m];
      snprintf(name, NAME_SIZE, "%s%s", companion_prefix[m], block[i].name);
      list_tensor(l, &block[i], name, m == RAW ? c->raw : c->moments + m * params);
    }
  }
  for (size_t i = 0; i < c->tensor_count; i++) l->tensor[l->tensors++] = c->tensors[i];
}

static void list_entry(listing *l, const char *key, const char *value) {
  l->metadata[l->entries++] = (sparc_metadata){.key = key, .value = value};
}

/* the first format that can say what the network is */
static int format_of(const training_state *state) {
  const bool second = state->config.network.symbols == 0 && state->head.kind == SPARC_HEAD_BY_INPUT;
  return second ? 2 : 3;
}

static void list_metadata(listing *l, const checkpoint_content *c) {
  const int format = format_of(&c->state);
  snprintf(l->value[SETTINGS_MOST], SETTING_TEXT_SIZE, "%d", format);
  const char *const identity[IDENTITIES] = {CHECKPOINT_FORMAT, l->value[SETTINGS_MOST], sparc_version()};
  for (size_t i = 0; i < IDENTITIES; i++) list_entry(l, identity_keys[i], identity[i]);
  training_state state = c->state;
  const settings_form form = checkpoint_form(&state, format);
  l->entries += settings_list_metadata(&form, l->metadata + l->entries, l->value);
  for (size_t i = 0; i < l->preprocessing.count; i++) l->metadata[l->entries++] = l->preprocessing.entry[i];
  for (size_t i = 0; i < c->extra_count; i++) l->metadata[l->entries++] = c->extra[i];
}

sparc_status checkpoint_write(const char *path, const checkpoint_content *c) {
  sparc_status status = preprocessing_check(c->preprocessing, &c->state.config.network);
  if (status == SPARC_OK) status = check_extra(c->extra, c->extra_count);
  if (status == SPARC_OK && c->state.config.network.layer)
    status =
        fail(SPARC_UNSUPPORTED, "the network has layers of kinds of its own, which no file holds: save its params");
  if (status != SPARC_OK) return status;
  listing l = {.tensors = 0};
  size_t blocks;
  sparc_network_blocks(c->network, &blocks);
  const locale_guard guard = enter_c_locale();
  status = allocate_listing(&l, blocks, c->tensor_count, c->extra_count);
  if (status == SPARC_OK) status = preprocessing_print(c->preprocessing, &l.preprocessing);
  if (status == SPARC_OK) {
    list_tensors(&l, c);
    list_metadata(&l, c);
    status = sparc_tensors_write(path, l.tensor, l.tensors, l.metadata, l.entries);
  }
  leave_c_locale(guard);
  free_listing(&l);
  return status;
}
