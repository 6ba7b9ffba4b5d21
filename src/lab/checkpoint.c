/* SPDX-License-Identifier: MIT */
/* checkpoint.c: checkpoints to and from files. Which field of the configuration has which key stands in the tables of
 * settings. Reading trusts nothing: whatever is missing, surplus or impossible gets a sentence with the
 * file and the key or tensor, before memory of a size that the file claims is asked for. */
#include "lab/checkpoint.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "io/dtype.h"
#include "lab/train.h"
#include "lab/train_settings.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "sparc-checkpoint"

enum { FORMAT_VERSION = 2, MOMENTS = 2, NAME_SIZE = 96 };

static const char *const moment_prefix[MOMENTS] = {"opt.m.", "opt.v."};

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

/* everything that a checkpoint stores; not every row has a key */
static settings_form form_over(training_state *state) {
  return (settings_form){.part = {{&network_settings, &state->config.network},
                                  {&head_settings, &state->head},
                                  {&training_settings, &state->config},
                                  {&state_settings, state}}};
}

/* what identifies the file; the first two are checked before anything else */
static const char *const identity_keys[] = {"format", "format_version", "sparc_version"};
enum { IDENTITIES = sizeof identity_keys / sizeof *identity_keys };

/* ---- writing ----------------------------------------------------------------------------------- */

static bool is_own_key(const char *key) {
  static const char *const optional[] = {KEY_MEAN, KEY_DEVIATION,   KEY_LABELS,
                                         KEY_DATA, KEY_TARGET_MEAN, KEY_TARGET_DEVIATION};
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
    if (strcmp(key, optional[i]) == 0) return true;
  for (size_t i = 0; i < IDENTITIES; i++)
    if (strcmp(key, identity_keys[i]) == 0) return true;
  training_state none = {.update = 0};
  const settings_form form = form_over(&none);
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

/* what is handed to the writer: 1 + MOMENTS tensors a block, and all metadata */
typedef struct listing {
  sparc_tensor_source *tensor;
  char (*name)[NAME_SIZE]; /* of moments */
  sparc_metadata *metadata;
  char (*value)[SETTING_TEXT_SIZE]; /* of numbers, by row; the last is the format's version */
  preprocessing_text preprocessing;
  size_t tensors, entries;
} listing;

static sparc_status allocate_listing(listing *l, size_t blocks, size_t extra) {
  l->tensor = sparc_alloc((1 + MOMENTS) * blocks * sizeof *l->tensor);
  l->name = sparc_alloc(MOMENTS * blocks * sizeof *l->name);
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
    for (size_t m = 0; m < MOMENTS; m++) {
      char *name = l->name[MOMENTS * i + m];
      snprintf(name, NAME_SIZE, "%s%s", moment_prefix[m], block[i].name);
      list_tensor(l, &block[i], name, c->moments + m * params);
    }
  }
}

static void list_entry(listing *l, const char *key, const char *value) {
  l->metadata[l->entries++] = (sparc_metadata){.key = key, .value = value};
}

static void list_metadata(listing *l, const checkpoint_content *c) {
  snprintf(l->value[SETTINGS_MOST], SETTING_TEXT_SIZE, "%d", FORMAT_VERSION);
  const char *const identity[IDENTITIES] = {FORMAT, l->value[SETTINGS_MOST], sparc_version()};
  for (size_t i = 0; i < IDENTITIES; i++) list_entry(l, identity_keys[i], identity[i]);
  training_state state = c->state;
  const settings_form form = form_over(&state);
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(&form, i, &at)); i++)
    if (s->key) list_entry(l, s->key, setting_print(s, at, l->value[i]));
  for (size_t i = 0; i < l->preprocessing.count; i++) l->metadata[l->entries++] = l->preprocessing.entry[i];
  for (size_t i = 0; i < c->extra_count; i++) l->metadata[l->entries++] = c->extra[i];
}

sparc_status checkpoint_write(const char *path, const checkpoint_content *c) {
  sparc_status status = preprocessing_check(c->preprocessing, &c->state.config.network);
  if (status == SPARC_OK) status = check_extra(c->extra, c->extra_count);
  if (status != SPARC_OK) return status;
  listing l = {.tensors = 0};
  size_t blocks;
  sparc_network_blocks(c->network, &blocks);
  const locale_guard guard = enter_c_locale();
  status = allocate_listing(&l, blocks, c->extra_count);
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

/* ---- reading: metadata -------------------------------------------------------------------------- */

static sparc_status identify(checkpoint *c) {
  const char *format = sparc_tensors_metadata_find(c->file, identity_keys[0]);
  const char *version = sparc_tensors_metadata_find(c->file, identity_keys[1]);
  if (!format || strcmp(format, FORMAT) != 0)
    return fail(SPARC_FORMAT, "'%.200s' is not a checkpoint: its format is %s%s, expected %s", c->path,
                format ? "" : "not given", format ? quote(format).text : "", FORMAT);
  static const setting whole = {.type = SETTING_LONG, .low = 1, .high = (double)INT32_MAX};
  long number;
  if (!version || !setting_parse(&whole, version, true, &number))
    return fail(SPARC_FORMAT, "'%.200s': format_version is '%s', expected a whole number from 1", c->path,
                quote(version ? version : "").text);
  if (number > FORMAT_VERSION)
    return fail(SPARC_FORMAT,
                "'%.200s' has the checkpoint format %ld; sparc %s reads formats up to %d, use a newer one", c->path,
                number, sparc_version(), FORMAT_VERSION);
  c->format = (int)number;
  return SPARC_OK;
}

/* a network may be larger than what the tool's options allow, so ranges are left to those who use the values */
static sparc_status read_field(const checkpoint *c, const setting *s, void *at) {
  const char *text = sparc_tensors_metadata_find(c->file, s->key);
  char expected[96];
  if (!text) return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", c->path, s->key);
  if (setting_parse(s, text, false, at)) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', expected %s", c->path, s->key, quote(text).text,
              setting_expected(s, false, expected, sizeof expected));
}

/* files of the first format know networks with an embedding in front of layers, and a ReLU behind a bare cell */
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
  const settings_form form = form_over(&c->state);
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(&form, i, &at)); i++) {
    if (!s->key || (c->format == 1 && !is_in_first_format(s->key))) continue;
    const sparc_status status = read_field(c, s, at);
    if (status != SPARC_OK) return status;
  }
  return c->format == 1 ? finish_first_format(c) : SPARC_OK;
}

/* an argument that is wrong because the file says so */
static sparc_status blame_file(const checkpoint *c, sparc_status status) {
  if (status != SPARC_INVALID) return status;
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "'%.200s': the stored configuration is not possible: %s", c->path, sentence);
}

static sparc_status make_network(checkpoint *c) {
  c->state.config.network.head = &c->state.head;
  c->state.config.network.heads = 1;
  sparc_status status = settings_check(&(settings_form){.part = {{&state_settings, &c->state}}}, true);
  if (status == SPARC_OK) status = check_train_config(&c->state.config);
  if (status == SPARC_OK) status = sparc_network_create(&c->state.config.network, &c->network);
  if (status != SPARC_OK) return blame_file(c, status);
  c->state.config.network = sparc_network_config_of(c->network);
  return SPARC_OK;
}

/* ---- reading: tensors --------------------------------------------------------------------------- */

static sparc_status check_tensor(const checkpoint *c, const sparc_block *block, const char *name) {
  const sparc_tensor_info *info = sparc_tensors_find(c->file, name);
  if (!info) return fail(SPARC_FORMAT, "'%.200s': tensor '%s' is missing", c->path, name);
  const size_t shape[2] = {(size_t)block->shape[0], (size_t)block->shape[1]};
  if (info->dtype == SPARC_F32 && info->rank == block->rank && info->shape[0] == shape[0] &&
      (info->rank == 1 || info->shape[1] == shape[1]))
    return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': tensor '%s' is %s %s, expected F32 %s", c->path, name,
              sparc_dtype_name(info->dtype), quote_shape(info->shape, info->rank).text,
              quote_shape(shape, block->rank).text);
}

static bool is_moment(const char *name) { return strncmp(name, "opt.", strlen("opt.")) == 0; }

/* names the first tensor that belongs to no block of the network */
static sparc_status complain_of_surplus(const checkpoint *c, const sparc_block *block, size_t blocks) {
  for (size_t i = 0; i < sparc_tensors_count(c->file); i++) {
    const char *name = sparc_tensors_at(c->file, i)->name, *inner = name;
    for (size_t m = 0; m < MOMENTS; m++)
      if (strncmp(name, moment_prefix[m], strlen(moment_prefix[m])) == 0) inner = name + strlen(moment_prefix[m]);
    size_t k = 0;
    while (k < blocks && strcmp(block[k].name, inner) != 0) k++;
    if (k == blocks)
      return fail(SPARC_FORMAT, "'%.200s': tensor '%s' does not belong to the stored configuration", c->path,
                  quote(name).text);
  }
  return SPARC_OK;
}

static sparc_status check_tensors(const checkpoint *c, bool resumable) {
  size_t blocks, moments = 0;
  const sparc_block *block = sparc_network_blocks(c->network, &blocks);
  const size_t count = sparc_tensors_count(c->file);
  for (size_t i = 0; i < count; i++) moments += is_moment(sparc_tensors_at(c->file, i)->name);
  if (resumable && moments == 0)
    return fail(
        SPARC_FORMAT,
        "'%.200s' holds weights without the optimiser's moments: it can be used as a model, but training cannot "
        "continue from it",
        c->path);
  for (size_t i = 0; i < blocks; i++) {
    sparc_status status = check_tensor(c, &block[i], block[i].name);
    for (size_t m = 0; m < MOMENTS && moments && status == SPARC_OK; m++) {
      char name[NAME_SIZE];
      snprintf(name, sizeof name, "%s%s", moment_prefix[m], block[i].name);
      status = check_tensor(c, &block[i], name);
    }
    if (status != SPARC_OK) return status;
  }
  const size_t expected = blocks * (moments ? 1 + MOMENTS : 1);
  return count == expected ? SPARC_OK : complain_of_surplus(c, block, blocks);
}

/* ---- life cycle -------------------------------------------------------------------------------- */

static sparc_status open_and_check(checkpoint *c, bool resumable) {
  sparc_status status = sparc_tensors_open(c->path, &c->file);
  if (status == SPARC_OK) status = identify(c);
  if (status == SPARC_OK) status = read_fields(c);
  if (status == SPARC_OK) status = make_network(c);
  if (status == SPARC_OK) status = check_tensors(c, resumable);
  if (status == SPARC_OK) status = preprocessing_read(c->file, c->path, &c->state.config.network, &c->preprocessing);
  return status;
}

sparc_status checkpoint_open(const char *path, bool resumable, checkpoint *out) {
  *out = (checkpoint){.path = path};
  const locale_guard guard = enter_c_locale();
  const sparc_status status = open_and_check(out, resumable);
  leave_c_locale(guard);
  if (status != SPARC_OK) checkpoint_close(out);
  return status;
}

void checkpoint_close(checkpoint *c) {
  preprocessing_free(&c->preprocessing);
  sparc_network_free(c->network);
  sparc_tensors_close(c->file);
  *c = (checkpoint){.path = NULL};
}

static sparc_status read_tensor(const checkpoint *c, const sparc_block *block, const char *name, double least,
                                float *to) {
  sparc_status status = sparc_tensors_read_f32(c->file, name, to + block->offset, block->size);
  if (status != SPARC_OK) return status;
  for (size_t i = block->offset; i < block->offset + block->size; i++)
    if (!isfinite(to[i]) || (double)to[i] < least)
      return fail(SPARC_FORMAT, "'%.200s': element %zu of tensor '%s' is %g, expected a finite number%s", c->path,
                  i - block->offset, name, (double)to[i], least < 0 ? "" : " from 0");
  return SPARC_OK;
}

sparc_status checkpoint_read(const checkpoint *c, float *params, float *moments) {
  static const double least[MOMENTS] = {-INFINITY, 0}; /* the second moment is a mean of squares */
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(c->network, &blocks);
  const size_t count = sparc_network_sizes_of(c->network).params;
  for (size_t i = 0; i < blocks; i++) {
    sparc_status status = read_tensor(c, &block[i], block[i].name, -INFINITY, params);
    for (size_t m = 0; m < MOMENTS && moments && status == SPARC_OK; m++) {
      char name[NAME_SIZE];
      snprintf(name, sizeof name, "%s%s", moment_prefix[m], block[i].name);
      status = read_tensor(c, &block[i], name, least[m], moments + m * count);
    }
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}
