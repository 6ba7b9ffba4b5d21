/* SPDX-License-Identifier: MIT */
/* vector_file.c: reading golden vector files.
 *
 * The shapes follow from the metadata and the cell's block table alone; no cell is known by name. Everything is
 * checked against the file's header before the first number is read, so a lying header costs no memory.
 */
#include "cli/check/vector_file.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/dtype.h"
#include "sparc/rtrl.h"
#include "sparc/safetensors.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METADATA_TEXT = 1024 };

/* restate the last error as a format error of this file */
static sparc_status as_format_error(const vector_file *v, sparc_status status) {
  char sentence[512];
  if (status == SPARC_OK || status == SPARC_NO_MEMORY) return status;
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "%.200s: metadata: %s", v->path, sentence);
}

/* ---- metadata ----------------------------------------------------------------------------------- */

static const char *const size_keys[] = {"B", "T", "D", "H"};

static sparc_status read_size(const vector_file *v, const sparc_tensors *file, const char *key, int *value) {
  const char *text = sparc_tensors_metadata_find(file, key);
  if (!text) return fail(SPARC_FORMAT, "%.200s: metadata has no '%s'", v->path, key);
  char *end;
  errno = 0;
  long number = strtol(text, &end, 10);
  if (end == text || *end || errno || number < 1 || number > INT_MAX - 1)
    return fail(SPARC_FORMAT, "%.200s: metadata '%s' is '%.40s', expected a whole number of at least 1", v->path, key,
                text);
  *value = (int)number;
  return SPARC_OK;
}

/* the cell itself, and the file's metadata about its origin */
static const char *const other_keys[] = {"cell", "source", "description"};

static bool is_option_key(const char *key) {
  for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++)
    if (strcmp(key, other_keys[i]) == 0) return false;
  for (size_t i = 0; i < sizeof size_keys / sizeof *size_keys; i++)
    if (strcmp(key, size_keys[i]) == 0) return false;
  return true;
}

/* appends one "key=value" to the options; of two values for one key the later counts */
static sparc_status append_option(const vector_file *v, char text[METADATA_TEXT], const char *key, const char *value) {
  size_t used = strlen(text);
  int length = snprintf(text + used, METADATA_TEXT - used, "%s%s=%s", used ? "," : "", key, value);
  if (used + (size_t)length < METADATA_TEXT) return SPARC_OK;
  return fail(SPARC_FORMAT, "%.200s: metadata '%.40s' makes the options too long", v->path, key);
}

/* every other key must be an option of the cell, which sparc_cell_create judges */
static sparc_status collect_options(const vector_file *v, const sparc_tensors *file, char text[METADATA_TEXT]) {
  text[0] = '\0';
  const sparc_tensors_contents contents = sparc_tensors_contents_of(file);
  for (size_t i = 0; i < contents.metadata_count; i++) {
    const sparc_metadata *m = &contents.metadata[i];
    if (!is_option_key(m->key)) continue;
    if (strpbrk(m->key, ",=") || strchr(m->value, ','))
      return fail(SPARC_FORMAT, "%.200s: metadata '%.40s' is '%.40s', expected an option of the cell", v->path, m->key,
                  m->value);
    sparc_status status = append_option(v, text, m->key, m->value);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* rows that a parameter tensor has in the file beyond those that it has in the cell; 0 if there is no such tensor */
static int missing_rows(const sparc_cell *cell, const sparc_tensors *file, const char *block) {
  char name[64];
  snprintf(name, sizeof name, "param.%s", block);
  const sparc_tensor_info *info = sparc_tensors_find(file, name);
  const int index = cell_block_index(cell, block);
  if (index < 0 || !info || info->rank < 1 || info->shape[0] > INT_MAX) return 0;
  return (int)info->shape[0] - cell->block[index].shape[0];
}

/* An integer option that is not in the metadata may show in the rows of a tensor (cell_description.rows_option). First,
 * with v->cell still NULL, it gets its least value; then, with the cell made so, the value that makes the rows agree.
 */
static sparc_status infer_option(const vector_file *v, const sparc_tensors *file, const char *kind,
                                 char text[METADATA_TEXT]) {
  const cell_description *about = cell_about(kind);
  if (!about || !about->rows_option || sparc_tensors_metadata_find(file, about->rows_option)) return SPARC_OK;
  const sparc_option *option = about->kind.options;
  while (strcmp(option->name, about->rows_option) != 0) option++;
  char value[32];
  snprintf(value, sizeof value, "%.0f", option->low + (v->cell ? missing_rows(v->cell, file, about->rows_block) : 0));
  return append_option(v, text, option->name, value);
}

static sparc_status create_cell(vector_file *v, const sparc_tensors *file) {
  char options[METADATA_TEXT];
  sparc_cell_config config = {.kind = sparc_tensors_metadata_find(file, "cell"), .options = options};
  if (!config.kind) return fail(SPARC_FORMAT, "%.200s: metadata has no 'cell', so this is no vector file", v->path);
  int *const sizes[] = {&v->B, &v->T, &config.D, &config.H};
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == SPARC_OK; i++)
    status = read_size(v, file, size_keys[i], sizes[i]);
  if (status == SPARC_OK) status = collect_options(v, file, options);

  /* once with the least of what is to be inferred, once as the file wants it */
  for (int round = 0; round < 2 && status == SPARC_OK; round++) {
    status = infer_option(v, file, config.kind, options);
    if (status != SPARC_OK) break;
    sparc_cell_free(v->cell);
    status = as_format_error(v, sparc_cell_create(&config, &v->cell));
  }
  return status;
}

/* ---- tensors ------------------------------------------------------------------------------------ */

/* "[2,19,5]" */
static void print_shape(int rank, const size_t *shape, char *text, size_t capacity) {
  size_t used = (size_t)snprintf(text, capacity, "[");
  for (int i = 0; i < rank && used < capacity; i++)
    used += (size_t)snprintf(text + used, capacity - used, "%s%zu", i ? "," : "", shape[i]);
  if (used < capacity) snprintf(text + used, capacity - used, "]");
}

/* demands a tensor of the file and reserves its place */
static sparc_status add_slot(vector_file *v, const sparc_tensors *file, const char *prefix, const char *block,
                             vector_array array, int rank, const size_t *shape) {
  vector_slot *slot = &v->slot[v->slots];
  snprintf(slot->name, sizeof slot->name, "%s%s", prefix, block ? block : "");
  const sparc_tensor_info *info = sparc_tensors_find(file, slot->name);
  if (!info) return fail(SPARC_FORMAT, "%.200s: there is no tensor '%s'", v->path, slot->name);
  if (info->rank != rank || memcmp(info->shape, shape, (size_t)rank * sizeof *shape) != 0) {
    char got[128], expected[128];
    print_shape(info->rank, info->shape, got, sizeof got);
    print_shape(rank, shape, expected, sizeof expected);
    return fail(SPARC_FORMAT, "%.200s: tensor '%s' has shape %s, expected %s", v->path, slot->name, got, expected);
  }
  if (info->dtype != SPARC_F64 && info->dtype != SPARC_F32 && info->dtype != SPARC_BF16)
    return fail(SPARC_FORMAT, "%.200s: tensor '%s' has dtype %s, expected F64, F32 or BF16", v->path, slot->name,
                dtype_name(info->dtype));
  slot->array = array;
  slot->block = block;
  slot->offset = v->length[array];
  slot->size = info->elements;
  v->length[array] += slot->size;
  v->slots++;
  return SPARC_OK;
}

/* the tensors that every file has, and those of the carried state, which come in pairs */
static sparc_status add_sequence_slots(vector_file *v, const sparc_tensors *file) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(v->cell);
  const size_t B = (size_t)v->B, T = (size_t)v->T, D = (size_t)sparc_cell_config_of(v->cell).D;
  const size_t inputs[] = {B, T, D}, outputs[] = {B, T, sizes.output}, states[] = {B, sizes.state};
  const struct {
    const char *name;
    vector_array array;
    int rank;
    const size_t *shape;
    bool of_state;
  } table[] = {
      {"x", ARRAY_X, 3, inputs, false},
      {"mask", ARRAY_MASK, 2, inputs, false},
      {"cot", ARRAY_COT, 3, outputs, false},
      {"out", ARRAY_OUT, 3, outputs, false},
      {"grad.x", ARRAY_DX, 3, inputs, false},
      {"state0", ARRAY_STATE0, 2, states, true},
      {"grad.state0", ARRAY_DSTATE0, 2, states, true},
  };
  const bool has_state = sparc_tensors_find(file, "state0") || sparc_tensors_find(file, "grad.state0");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (table[i].of_state && !has_state) continue;
    sparc_status status = add_slot(v, file, table[i].name, NULL, table[i].array, table[i].rank, table[i].shape);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* [re | im] of a complex cell come first, then H, then the part of the block that one mode sees */
static sparc_status add_trace_slot(vector_file *v, const sparc_tensors *file, const sparc_block *block) {
  char name[64];
  snprintf(name, sizeof name, "trace.%s", block->name);
  if (!sparc_tensors_find(file, name)) return SPARC_OK;
  size_t shape[3], H = (size_t)sparc_cell_config_of(v->cell).H, row = block->trace / H;
  int rank = 0;
  if (row == 0)
    return fail(SPARC_FORMAT, "%.200s: there is a tensor '%s', but this cell has no such trace", v->path, name);
  if (v->cell->parts == 2) shape[rank++] = 2, row /= 2;
  shape[rank++] = H;
  if (block->rank == 2 || row > 1) shape[rank++] = row; /* one number per mode has no axis of its own */
  return add_slot(v, file, "trace.", block->name, ARRAY_TRACE, rank, shape);
}

static sparc_status add_block_slots(vector_file *v, const sparc_tensors *file) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(v->cell, &count);
  for (size_t i = 0; i < count; i++) {
    const size_t shape[] = {(size_t)blocks[i].shape[0], (size_t)blocks[i].shape[1]};
    const char *name = blocks[i].name;
    sparc_status status = add_slot(v, file, "param.", name, ARRAY_PARAMS, blocks[i].rank, shape);
    if (status == SPARC_OK) status = add_slot(v, file, "grad.param.", name, ARRAY_DPARAMS, blocks[i].rank, shape);
    if (status == SPARC_OK) status = add_trace_slot(v, file, &blocks[i]);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* an unknown tensor is a misspelt name: ignoring it would leave a result unchecked */
static sparc_status refuse_strangers(const vector_file *v, const sparc_tensors *file) {
  const char *names[MAX_SLOTS + 1] = {NULL};
  for (size_t i = 0; i < v->slots; i++) names[i] = v->slot[i].name;
  for (size_t i = 0; i < sparc_tensors_contents_of(file).count; i++) {
    const char *name = sparc_tensors_contents_of(file).tensors[i].name;
    size_t k = 0;
    while (k < v->slots && strcmp(names[k], name) != 0) k++;
    if (k == v->slots)
      return fail(SPARC_FORMAT, "%.200s: tensor '%.80s' does not belong to a vector of cell %s", v->path, name,
                  sparc_cell_config_of(v->cell).kind);
  }
  return SPARC_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static sparc_status check_numbers(const vector_file *v, const vector_slot *slot, double limit) {
  const double *data = v->array[slot->array] + slot->offset;
  for (size_t i = 0; i < slot->size; i++) {
    if (slot->array == ARRAY_MASK && data[i] != 0 && data[i] != 1)
      return fail(SPARC_FORMAT, "%.200s: tensor 'mask' holds %g at element %zu, expected 0 or 1", v->path, data[i], i);
    if (!(fabs(data[i]) <= limit))
      return fail(SPARC_FORMAT, "%.200s: tensor '%s' holds %g at element %zu, expected finite numbers up to %.3g",
                  v->path, slot->name, data[i], i, limit);
  }
  return SPARC_OK;
}

static sparc_status read_numbers(vector_file *v, const sparc_tensors *file, double limit) {
  size_t total = 0;
  for (int a = 0; a < ARRAYS; a++) total += v->length[a];
  double *memory = sparc_alloc(total * sizeof *memory);
  if (!memory) return fail(SPARC_NO_MEMORY, "%.200s: no memory for %zu numbers", v->path, total);
  for (int a = 0; a < ARRAYS; a++) {
    v->array[a] = memory;
    memory += v->length[a];
  }
  for (size_t i = 0; i < v->slots; i++) {
    const vector_slot *slot = &v->slot[i];
    double *place = v->array[slot->array] + slot->offset;
    sparc_status status = sparc_tensors_read(file, slot->name, SPARC_F64, place, slot->size);
    if (status == SPARC_OK) status = check_numbers(v, slot, limit);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

sparc_status vector_load(const char *path, double limit, vector_file *vector) {
  sparc_tensors *file;
  *vector = (vector_file){.path = path};
  sparc_status status = sparc_tensors_load(path, &file);
  if (status != SPARC_OK) return status;
  status = create_cell(vector, file);
  if (status == SPARC_OK) status = add_sequence_slots(vector, file);
  if (status == SPARC_OK) status = add_block_slots(vector, file);
  if (status == SPARC_OK) status = refuse_strangers(vector, file);
  if (status == SPARC_OK) status = read_numbers(vector, file, limit);
  sparc_tensors_free(file);
  if (status != SPARC_OK) vector_free(vector);
  return status;
}

void vector_free(vector_file *vector) {
  sparc_free(vector->array[0]);
  sparc_cell_free(vector->cell);
  *vector = (vector_file){.path = vector->path};
}
