/* SPDX-License-Identifier: MIT */
/* safetensors_read.c: the strict safetensors reader.
 *
 * The header is parsed by json_tree and then checked in full, so that every later access is known to be in bounds: each
 * entry has a known dtype, a shape whose size neither overflows nor differs from its byte range, and the ranges tile
 * the data section without overlap, hole or remainder. The parsed header stays alive, for names and metadata point
 * into it. Elements are read on demand from the open file (or from a copy of the caller's bytes) in small pieces, which
 * bounds the memory by the header and makes alignment irrelevant.
 */
#include "base/error.h"
#include "base/memory.h"
#include "io/dtype.h"
#include "io/json_tree.h"
#include "sparc/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sparc_tensors {
  char label[256];           /* name of the file in messages */
  int file;                  /* descriptor, or -1 when the bytes are in `memory` */
  uint8_t *memory;           /* copy of the whole file, or NULL */
  size_t size;               /* of the whole file */
  size_t data_start;         /* where the data section begins */
  json_tree *header;         /* owns every name, key and value */
  sparc_tensor_info *list;   /* sorted by offset */
  sparc_tensor_info **index; /* into list, sorted by name */
  size_t count;
  sparc_metadata *metadata;    /* in the order of the header */
  const sparc_metadata **keys; /* into metadata, sorted by key */
  size_t metadata_count;
};

/* ---- bytes ---- */

/* exactly `size` bytes at `offset`, both already known to lie within the file */
static sparc_status read_at(const sparc_tensors *t, void *out, size_t offset, size_t size) {
  if (t->file < 0) {
    if (size) memcpy(out, t->memory + offset, size);
    return SPARC_OK;
  }
  for (size_t done = 0; done < size;) {
    ssize_t got = pread(t->file, (char *)out + done, size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(SPARC_IO, "%s: reading at byte %zu: %s", t->label, offset + done, strerror(errno));
    if (got == 0)
      return fail(SPARC_IO, "%s: shrank from %zu to %zu bytes while open", t->label, t->size, offset + done);
    done += (size_t)got;
  }
  return SPARC_OK;
}

/* ---- one header entry ---- */

/* a JSON value in a message: numbers by value, the rest by type */
static quotable describe(const json_node *value) {
  static const char *const types[] = {
      [NODE_OBJECT] = "an object",      [NODE_ARRAY] = "an array", [NODE_STRING] = "a string", [NODE_INTEGER] = "",
      [NODE_REAL] = "the real number ", [NODE_TRUE] = "true",      [NODE_FALSE] = "false",     [NODE_NULL] = "null"};
  const bool number = value->kind == NODE_INTEGER || value->kind == NODE_REAL;
  quotable out;
  snprintf(out.text, sizeof out.text, "%s%s", types[value->kind], number ? quote(value->text).text : "");
  return out;
}

static bool to_size(const json_node *value, size_t *out) {
  if (value->kind != NODE_INTEGER || value->integer < 0) return false;
  *out = (size_t)value->integer;
  return (unsigned long long)value->integer <= SIZE_MAX;
}

/* every error of a tensor names the file and the tensor; a macro, so that the compiler checks the format */
#define bad_tensor(t, name, format, ...) \
  fail(SPARC_FORMAT, "%s: tensor '%s': " format, (t)->label, quote(name).text, __VA_ARGS__)

static sparc_status parse_dtype(const sparc_tensors *t, const json_node *dtype, sparc_tensor_info *info) {
  if (dtype->kind != NODE_STRING)
    return bad_tensor(t, info->name, "dtype is %s, expected a string", describe(dtype).text);
  if (!dtype_parse(dtype->text, &info->dtype))
    return bad_tensor(t, info->name, "dtype '%s' is unknown, expected F64, F32, BF16 or another safetensors type",
                      quote(dtype->text).text);
  return SPARC_OK;
}

static sparc_status parse_shape(const sparc_tensors *t, const json_node *shape, sparc_tensor_info *info) {
  if (shape->kind != NODE_ARRAY)
    return bad_tensor(t, info->name, "shape is %s, expected an array", describe(shape).text);
  if (shape->count > SPARC_TENSOR_MAX_RANK)
    return bad_tensor(t, info->name, "shape has %zu dimensions, expected at most %d", shape->count,
                      SPARC_TENSOR_MAX_RANK);
  info->rank = (int)shape->count;
  const json_node *dimension = json_child(shape);
  for (int i = 0; i < info->rank; i++, dimension = json_next(dimension)) {
    if (!to_size(dimension, &info->shape[i]))
      return bad_tensor(t, info->name, "shape[%d] is %s, expected an integer >= 0", i, describe(dimension).text);
  }
  if (!shape_size(info->shape, info->rank, dtype_size(info->dtype), &info->elements, &info->bytes))
    return bad_tensor(t, info->name, "the size of shape %s overflows", quote_shape(info->shape, info->rank).text);
  return SPARC_OK;
}

static sparc_status parse_offsets(const sparc_tensors *t, const json_node *offsets, sparc_tensor_info *info) {
  size_t range[2], available = t->size - t->data_start;
  if (offsets->kind != NODE_ARRAY)
    return bad_tensor(t, info->name, "data_offsets is %s, expected an array", describe(offsets).text);
  if (offsets->count != 2) return bad_tensor(t, info->name, "data_offsets has %zu numbers, expected 2", offsets->count);
  const json_node *offset = json_child(offsets);
  for (size_t i = 0; i < 2; i++, offset = json_next(offset)) {
    if (!to_size(offset, &range[i]))
      return bad_tensor(t, info->name, "data_offsets[%zu] is %s, expected an integer >= 0", i, describe(offset).text);
  }
  const size_t begin = range[0], end = range[1];
  if (begin > end) return bad_tensor(t, info->name, "data_offsets [%zu, %zu] are reversed", begin, end);
  if (end > available)
    return bad_tensor(t, info->name, "data_offsets [%zu, %zu] reach beyond the %zu bytes of data", begin, end,
                      available);
  if (end - begin != info->bytes)
    return bad_tensor(t, info->name, "data_offsets [%zu, %zu] span %zu bytes, but shape %s of %s needs %zu", begin, end,
                      end - begin, quote_shape(info->shape, info->rank).text, dtype_name(info->dtype), info->bytes);
  info->offset = begin;
  return SPARC_OK;
}

static sparc_status parse_entry(const sparc_tensors *t, const json_node *entry, sparc_tensor_info *info) {
  /* the order matters: a shape's size needs the dtype, the offsets need the size */
  static const struct {
    const char *key;
    sparc_status (*parse)(const sparc_tensors *, const json_node *, sparc_tensor_info *);
  } fields[] = {{"dtype", parse_dtype}, {"shape", parse_shape}, {"data_offsets", parse_offsets}};
  enum { FIELDS = sizeof fields / sizeof *fields };

  const char *name = info->name = entry->key;
  if (entry->kind != NODE_OBJECT)
    return bad_tensor(t, name, "its entry is %s, expected an object", describe(entry).text);
  for (size_t i = 0; i < FIELDS; i++) {
    const json_node *value = json_member(entry, fields[i].key);
    if (!value) return bad_tensor(t, name, "%s is missing", fields[i].key);
    sparc_status status = fields[i].parse(t, value, info);
    if (status != SPARC_OK) return status;
  }
  if (entry->count != FIELDS)
    return bad_tensor(t, name, "its entry has %zu keys, expected dtype, shape and data_offsets only", entry->count);
  return SPARC_OK;
}

/* ---- the whole header ---- */

static sparc_status no_memory(const sparc_tensors *t) {
  return fail(SPARC_NO_MEMORY, "%s: no memory for the header", t->label);
}

static int compare_keys(const void *a, const void *b) {
  return strcmp((*(const sparc_metadata *const *)a)->key, (*(const sparc_metadata *const *)b)->key);
}

static sparc_status parse_metadata(sparc_tensors *t, const json_node *object) {
  if (object->kind != NODE_OBJECT)
    return fail(SPARC_FORMAT, "%s: " METADATA_NAME " is %s, expected an object of strings", t->label,
                describe(object).text);
  t->metadata = sparc_alloc(object->count * sizeof *t->metadata);
  t->keys = sparc_alloc(object->count * sizeof(const sparc_metadata *));
  if (!t->metadata || !t->keys) return no_memory(t);
  const json_node *value = json_child(object);
  for (size_t i = 0; i < object->count; i++, value = json_next(value)) {
    if (value->kind != NODE_STRING)
      return fail(SPARC_FORMAT, "%s: " METADATA_NAME " value of '%s' is %s, expected a string", t->label,
                  quote(value->key).text, describe(value).text);
    t->metadata[i] = (sparc_metadata){value->key, value->text};
    t->keys[i] = &t->metadata[i];
  }
  t->metadata_count = object->count;
  qsort(t->keys, t->metadata_count, sizeof(const sparc_metadata *), compare_keys);
  return SPARC_OK;
}

/* empty tensors come before the one that starts at the same place */
static int compare_offsets(const void *a, const void *b) {
  const sparc_tensor_info *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b) {
  return strcmp((*(sparc_tensor_info *const *)a)->name, (*(sparc_tensor_info *const *)b)->name);
}

/* the ranges, in order, must cover the data section byte for byte */
static sparc_status check_tiling(const sparc_tensors *t) {
  size_t end = 0, available = t->size - t->data_start;
  for (size_t i = 0; i < t->count; i++) {
    const sparc_tensor_info *info = &t->list[i];
    if (info->offset < end)
      return bad_tensor(t, info->name, "starts at byte %zu and overlaps tensor '%s', which ends at byte %zu",
                        info->offset, quote(info[-1].name).text, end);
    if (info->offset > end)
      return bad_tensor(t, info->name, "starts at byte %zu, but the %zu bytes before it belong to no tensor",
                        info->offset, info->offset - end);
    end += info->bytes;
  }
  if (end != available)
    return fail(SPARC_FORMAT, "%s: %zu trailing bytes: the tensors end at byte %zu of %zu", t->label, available - end,
                end, available);
  return SPARC_OK;
}

static sparc_status parse_entries(sparc_tensors *t) {
  const json_node *root = json_root(t->header), *entry = json_child(root);
  t->list = sparc_alloc(root->count * sizeof *t->list);
  t->index = sparc_alloc(root->count * sizeof(sparc_tensor_info *));
  if (!t->list || !t->index) return no_memory(t);

  for (size_t i = 0; i < root->count; i++, entry = json_next(entry)) {
    sparc_status status =
        strcmp(entry->key, METADATA_NAME) == 0 ? parse_metadata(t, entry) : parse_entry(t, entry, &t->list[t->count++]);
    if (status != SPARC_OK) return status;
  }
  qsort(t->list, t->count, sizeof *t->list, compare_offsets);
  for (size_t i = 0; i < t->count; i++) t->index[i] = &t->list[i];
  qsort(t->index, t->count, sizeof(sparc_tensor_info *), compare_names);
  return check_tiling(t);
}

static sparc_status parse_json(sparc_tensors *t, const char *text, size_t length) {
  if (length == 0 || text[0] != '{')
    return fail(SPARC_FORMAT, "%s: the header of %zu bytes does not start with '{'", t->label, length);
  json_fault fault;
  t->header = json_tree_parse(text, length, &fault);
  if (t->header) return SPARC_OK;
  if (!fault.reason[0]) return no_memory(t);
  return fail(SPARC_FORMAT, "%s: the header is not valid JSON at byte %zu (line %zu, column %zu): %s", t->label,
              fault.byte, fault.line, fault.column, fault.reason);
}

static sparc_status load(sparc_tensors *t) {
  uint8_t prefix[HEADER_PREFIX];
  if (t->size < HEADER_PREFIX)
    return fail(SPARC_FORMAT, "%s: %zu bytes are too few for a safetensors file, expected at least %d", t->label,
                t->size, HEADER_PREFIX);
  sparc_status status = read_at(t, prefix, 0, HEADER_PREFIX);
  if (status != SPARC_OK) return status;

  uint64_t length = load_u64(prefix);
  if (length > HEADER_MAX)
    return fail(SPARC_FORMAT, "%s: header length %llu exceeds the limit of %d bytes", t->label,
                (unsigned long long)length, HEADER_MAX);
  if (length > t->size - HEADER_PREFIX)
    return fail(SPARC_FORMAT, "%s: header length %llu exceeds the %zu bytes that follow it", t->label,
                (unsigned long long)length, t->size - HEADER_PREFIX);
  t->data_start = HEADER_PREFIX + (size_t)length;

  char *text = sparc_alloc((size_t)length);
  if (!text) return no_memory(t);
  status = read_at(t, text, HEADER_PREFIX, (size_t)length);
  if (status == SPARC_OK) status = parse_json(t, text, (size_t)length);
  sparc_free(text);
  return status == SPARC_OK ? parse_entries(t) : status;
}

/* ---- open and close ---- */

static sparc_tensors *create(const char *label) {
  sparc_tensors *t = sparc_alloc(sizeof *t);
  if (!t) return NULL;
  t->file = -1;
  snprintf(t->label, sizeof t->label, "%s", label);
  return t;
}

/* hand over what was loaded, or release it */
static sparc_status finish(sparc_tensors *t, sparc_status status, sparc_tensors **out) {
  if (status == SPARC_OK) {
    *out = t;
  } else {
    sparc_tensors_free(t);
  }
  return status;
}

static sparc_status open_file(sparc_tensors *t, const char *path) {
  /* O_NONBLOCK: a pipe without a writer must be refused, not waited for */
  t->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (t->file < 0) return fail(SPARC_IO, "cannot open '%.300s': %s", path, strerror(errno));
  struct stat status;
  if (fstat(t->file, &status) != 0) return fail(SPARC_IO, "cannot open '%.300s': %s", path, strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fail(SPARC_IO, "cannot open '%.300s': it is %s, not a regular file", path,
                S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket");
  if ((uintmax_t)status.st_size > SIZE_MAX)
    return fail(SPARC_IO, "cannot open '%.300s': it is larger than the address space", path);
  t->size = (size_t)status.st_size;
  return load(t);
}

sparc_status sparc_tensors_load(const char *path, sparc_tensors **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected a place for the opened file");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL, expected the name of a safetensors file");
  sparc_tensors *t = create(path);
  if (!t) return fail(SPARC_NO_MEMORY, "no memory to open '%.300s'", path);
  return finish(t, open_file(t, path), out);
}

static sparc_status copy_and_load(sparc_tensors *t, const void *data, size_t size) {
  t->memory = sparc_alloc(size);
  if (!t->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for a copy of %zu bytes", t->label, size);
  if (size) memcpy(t->memory, data, size);
  t->size = size;
  return load(t);
}

sparc_status sparc_tensors_parse(const void *data, size_t size, const char *name, sparc_tensors **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected a place for the parsed file");
  *out = NULL;
  if (!data && size) return fail(SPARC_INVALID, "data is NULL, expected %zu bytes", size);
  if (!name) return fail(SPARC_INVALID, "name is NULL, expected a name of the data for error messages");
  sparc_tensors *t = create(name);
  if (!t) return fail(SPARC_NO_MEMORY, "no memory to parse '%.300s'", name);
  return finish(t, copy_and_load(t, data, size), out);
}

void sparc_tensors_free(sparc_tensors *t) {
  if (!t) return;
  if (t->file >= 0) close(t->file);
  json_tree_free(t->header);
  sparc_free(t->memory);
  sparc_free(t->list);
  sparc_free(t->index);
  sparc_free(t->metadata);
  sparc_free(t->keys);
  sparc_free(t);
}

/* ---- queries ---- */

sparc_tensors_contents sparc_tensors_contents_of(const sparc_tensors *t) {
  if (!t) return (sparc_tensors_contents){0};
  return (sparc_tensors_contents){
      .tensors = t->list, .count = t->count, .metadata = t->metadata, .metadata_count = t->metadata_count};
}

const sparc_tensor_info *sparc_tensors_find(const sparc_tensors *t, const char *name) {
  if (!t || !name || !t->count) return NULL;
  const sparc_tensor_info target = {.name = name}, *key = &target;
  sparc_tensor_info *const *found = bsearch(&key, t->index, t->count, sizeof(sparc_tensor_info *), compare_names);
  return found ? *found : NULL;
}

const char *sparc_tensors_metadata_find(const sparc_tensors *t, const char *key) {
  if (!t || !key || !t->metadata_count) return NULL;
  const sparc_metadata target = {.key = key}, *at = &target;
  const sparc_metadata **found = bsearch(&at, t->keys, t->metadata_count, sizeof(const sparc_metadata *), compare_keys);
  return found ? (*found)->value : NULL;
}

/* ---- elements ---- */

/* piece by piece into an array of floats or doubles */
static sparc_status copy_elements(const sparc_tensors *t, const sparc_tensor_info *info, sparc_dtype dtype, void *out) {
  uint8_t piece[16384];
  const dtype_row *type = dtype_get(info->dtype);
  const size_t capacity = sizeof piece / type->size;
  for (size_t done = 0, count; done < info->elements; done += count) {
    count = info->elements - done < capacity ? info->elements - done : capacity;
    sparc_status status = read_at(t, piece, t->data_start + info->offset + done * type->size, count * type->size);
    if (status != SPARC_OK) return status;
    if (dtype == SPARC_F32)
      type->to_f32(piece, (float *)out + done, count);
    else
      type->to_f64(piece, (double *)out + done, count);
  }
  return SPARC_OK;
}

sparc_status sparc_tensors_read(const sparc_tensors *t, const char *name, sparc_dtype dtype, void *out, size_t count) {
  const bool bytes = dtype == SPARC_U8;
  if (!t) return fail(SPARC_INVALID, "tensors is NULL, expected a loaded file");
  if (!name) return fail(SPARC_INVALID, "name is NULL, expected the name of a tensor");
  if (!bytes && dtype != SPARC_F32 && dtype != SPARC_F64)
    return fail(SPARC_INVALID, "dtype is %s, expected F32, F64 or U8", dtype_name(dtype));
  if (!out && count)
    return fail(SPARC_INVALID, "out is NULL, expected an array of %zu %s", count, bytes ? "bytes" : "elements");

  const sparc_tensor_info *info = sparc_tensors_find(t, name);
  if (!info) return fail(SPARC_FORMAT, "%s: there is no tensor '%s'", t->label, quote(name).text);
  if (bytes) {
    if (info->bytes != count) return bad_tensor(t, name, "it has %zu bytes, expected %zu", info->bytes, count);
    return read_at(t, out, t->data_start + info->offset, count);
  }
  if (info->elements != count)
    return bad_tensor(t, name, "shape %s has %zu elements, expected %zu", quote_shape(info->shape, info->rank).text,
                      info->elements, count);
  if (!dtype_get(info->dtype)->to_f32)
    return fail(SPARC_UNSUPPORTED, "%s: tensor '%s' has dtype %s; only F64, F32 and BF16 can be read as numbers",
                t->label, quote(name).text, dtype_name(info->dtype));
  return copy_elements(t, info, dtype, out);
}
