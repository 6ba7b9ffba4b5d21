/* SPDX-License-Identifier: MIT */
/* safetensors_write.c: the safetensors writer.
 *
 * The layout is a function of the content alone: tensors by descending element size (so that every array is aligned to
 * its element), then by name; metadata by key; no gaps; spaces after the header until the data starts at a multiple of
 * 64. Everything is checked and the header is complete before the file system is touched.
 */
#include "base/error.h"
#include "base/memory.h"
#include "io/atomic_file.h"
#include "io/dtype.h"
#include "sparc/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* a tensor with what was derived from it */
typedef struct item {
  const sparc_tensor_source *source;
  const dtype_row *type;
  size_t elements, bytes;
} item;

/* one call in progress */
typedef struct writer {
  item *items; /* in file order */
  size_t count;
  sparc_metadata *metadata; /* in file order */
  size_t metadata_count;
  json_t *header;
  uint8_t *prefix; /* length, header text and padding: all that precedes the data */
  size_t prefix_size;
} writer;

static sparc_status no_memory(void) { return fail(SPARC_NO_MEMORY, "no memory for the safetensors header"); }

/* ---- checks ---- */

/* well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF; false for NULL */
static bool is_utf8(const char *text) {
  const uint8_t *s = (const uint8_t *)text;
  while (s && *s) {
    if (*s < 0x80) {
      s++;
      continue;
    }
    int more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : 1;
    if (*s < 0xc2 || *s > 0xf4) return false;
    /* the second byte has a narrower range after these first bytes */
    uint8_t low = *s == 0xe0 ? 0xa0 : *s == 0xf0 ? 0x90 : 0x80, high = *s == 0xed ? 0x9f : *s == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high) return false;
    for (int i = 2; i <= more; i++)
      if ((s[i] & 0xc0) != 0x80) return false;
    s += 1 + more;
  }
  return s != NULL;
}

static sparc_status check_tensor(const sparc_tensor_source *source, size_t index, item *out) {
  if (!is_utf8(source->name))
    return fail(SPARC_INVALID, "tensors[%zu].name is %s, expected UTF-8 text", index,
                source->name ? "not UTF-8" : "NULL");
  const char *const name = source->name;
  if (strcmp(name, METADATA_NAME) == 0)
    return fail(SPARC_INVALID, "tensors[%zu].name is '%s', which the format reserves for metadata", index, name);
  const dtype_row *type = dtype_get(source->dtype);
  const bool bytes = source->dtype == SPARC_U8 && source->in_type == SPARC_U8; /* as they are */
  if (!type || (!type->from_f32 && !bytes))
    return fail(SPARC_INVALID, "tensor '%s': dtype is %s (%d), expected SPARC_F64, SPARC_F32 or SPARC_BF16",
                quote(name).text, dtype_name(source->dtype), (int)source->dtype);
  if (!bytes && source->in_type != SPARC_F64 && source->in_type != SPARC_F32)
    return fail(SPARC_INVALID, "tensor '%s': in_type is %s (%d), expected SPARC_F64 or SPARC_F32", quote(name).text,
                dtype_name(source->in_type), (int)source->in_type);
  if (source->rank < 0 || source->rank > SPARC_TENSOR_MAX_RANK)
    return fail(SPARC_INVALID, "tensor '%s': rank is %d, expected 0 to %d", quote(name).text, source->rank,
                SPARC_TENSOR_MAX_RANK);

  *out = (item){.source = source, .type = type};
  bool fits = shape_size(source->shape, source->rank, type->size, &out->elements, &out->bytes);
  for (int i = 0; i < source->rank; i++) fits = fits && source->shape[i] <= INT64_MAX;
  if (!fits)
    return fail(SPARC_INVALID, "tensor '%s': the size of shape %s overflows", quote(name).text,
                quote_shape(source->shape, source->rank).text);
  if (!source->data && out->elements)
    return fail(SPARC_INVALID, "tensor '%s': data is NULL, expected %zu elements", quote(name).text, out->elements);
  return SPARC_OK;
}

/* ---- order ---- */

static int compare_items(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->type->size != y->type->size) return x->type->size > y->type->size ? -1 : 1;
  return strcmp(x->source->name, y->source->name);
}

static int compare_keys(const void *a, const void *b) {
  return strcmp(((const sparc_metadata *)a)->key, ((const sparc_metadata *)b)->key);
}

static sparc_status collect(writer *w, const sparc_tensor_source *tensors, const sparc_metadata *metadata) {
  int overflow = 0;
  w->items = sparc_alloc(size_product(w->count, sizeof *w->items, &overflow));
  w->metadata = sparc_alloc(size_product(w->metadata_count, sizeof *w->metadata, &overflow));
  if (!w->items || !w->metadata || overflow) return no_memory();

  for (size_t i = 0; i < w->count; i++) {
    sparc_status status = check_tensor(&tensors[i], i, &w->items[i]);
    if (status != SPARC_OK) return status;
  }
  for (size_t i = 0; i < w->metadata_count; i++) {
    if (!is_utf8(metadata[i].key) || !is_utf8(metadata[i].value))
      return fail(SPARC_INVALID, "metadata[%zu]: key or value is NULL or not UTF-8, expected UTF-8 text", i);
    w->metadata[i] = metadata[i];
  }
  qsort(w->items, w->count, sizeof *w->items, compare_items);
  qsort(w->metadata, w->metadata_count, sizeof *w->metadata, compare_keys);
  return SPARC_OK;
}

/* ---- header ---- */

static sparc_status add_metadata(writer *w) {
  json_t *object = json_object();
  if (json_object_set_new(w->header, METADATA_NAME, object) != 0) return no_memory();
  for (size_t i = 0; i < w->metadata_count; i++) {
    const sparc_metadata *entry = &w->metadata[i];
    if (json_object_get(object, entry->key))
      return fail(SPARC_INVALID, "metadata key '%s' is given twice", quote(entry->key).text);
    if (json_object_set_new(object, entry->key, json_string(entry->value)) != 0) return no_memory();
  }
  return SPARC_OK;
}

static json_t *shape_array(const sparc_tensor_source *source) {
  json_t *shape = json_array();
  for (int i = 0; shape && i < source->rank; i++) {
    if (json_array_append_new(shape, json_integer((json_int_t)source->shape[i])) == 0) continue;
    json_decref(shape);
    shape = NULL;
  }
  return shape;
}

static sparc_status add_tensors(writer *w) {
  size_t begin = 0;
  for (size_t i = 0; i < w->count; i++) {
    const item *it = &w->items[i];
    const char *name = it->source->name;
    if (it->bytes > (size_t)INT64_MAX - begin)
      return fail(SPARC_INVALID, "tensor '%s': the size of the file overflows", quote(name).text);
    if (json_object_get(w->header, name)) return fail(SPARC_INVALID, "tensor '%s' is given twice", quote(name).text);
    const size_t end = begin + it->bytes;
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", it->type->name, "shape", shape_array(it->source),
                              "data_offsets", (json_int_t)begin, (json_int_t)end);
    if (json_object_set_new(w->header, name, entry) != 0) return no_memory();
    begin = end;
  }
  return SPARC_OK;
}

/* length, text and spaces up to the next multiple of a cache line */
static sparc_status render(writer *w) {
  size_t length = json_dumpb(w->header, NULL, 0, JSON_COMPACT);
  if (length == 0) return no_memory();
  w->prefix_size = (HEADER_PREFIX + length + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  if (w->prefix_size - HEADER_PREFIX > HEADER_MAX)
    return fail(SPARC_INVALID, "the header of %zu tensors needs %zu bytes, expected at most %d", w->count,
                w->prefix_size - HEADER_PREFIX, HEADER_MAX);
  w->prefix = sparc_alloc(w->prefix_size);
  if (!w->prefix) return no_memory();
  store_u64(w->prefix, w->prefix_size - HEADER_PREFIX);
  memset(w->prefix + HEADER_PREFIX, ' ', w->prefix_size - HEADER_PREFIX);
  if (json_dumpb(w->header, (char *)w->prefix + HEADER_PREFIX, length, JSON_COMPACT) != length) return no_memory();
  return SPARC_OK;
}

static sparc_status build_header(writer *w) {
  w->header = json_object();
  if (!w->header) return no_memory();
  sparc_status status = w->metadata_count ? add_metadata(w) : SPARC_OK;
  if (status == SPARC_OK) status = add_tensors(w);
  return status == SPARC_OK ? render(w) : status;
}

/* ---- data ---- */

static sparc_status write_tensor(atomic_file *file, const item *it) {
  if (it->source->in_type == SPARC_U8) return atomic_file_write(file, it->source->data, it->bytes);
  uint8_t piece[16384];
  const size_t capacity = sizeof piece / it->type->size;
  for (size_t done = 0, count; done < it->elements; done += count) {
    count = it->elements - done < capacity ? it->elements - done : capacity;
    if (it->source->in_type == SPARC_F64) {
      it->type->from_f64((const double *)it->source->data + done, piece, count);
    } else {
      it->type->from_f32((const float *)it->source->data + done, piece, count);
    }
    sparc_status status = atomic_file_write(file, piece, count * it->type->size);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

static sparc_status write_file(const writer *w, const char *path) {
  atomic_file file;
  sparc_status status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  status = atomic_file_write(&file, w->prefix, w->prefix_size);
  for (size_t i = 0; i < w->count && status == SPARC_OK; i++) status = write_tensor(&file, &w->items[i]);
  if (status == SPARC_OK) return atomic_file_commit(&file);
  atomic_file_abandon(&file);
  return status;
}

sparc_status sparc_tensors_save(const char *path, const sparc_tensor_source *tensors, size_t count,
                                const sparc_metadata *metadata, size_t metadata_count) {
  if (!path) return fail(SPARC_INVALID, "path is NULL, expected the name of the file to write");
  if (!tensors && count) return fail(SPARC_INVALID, "tensors is NULL, expected %zu tensors", count);
  if (!metadata && metadata_count) return fail(SPARC_INVALID, "metadata is NULL, expected %zu entries", metadata_count);

  writer w = {.count = count, .metadata_count = metadata_count};
  sparc_status status = collect(&w, tensors, metadata);
  if (status == SPARC_OK) status = build_header(&w);
  if (status == SPARC_OK) status = write_file(&w, path);
  json_decref(w.header);
  sparc_free(w.prefix);
  sparc_free(w.metadata);
  sparc_free(w.items);
  return status;
}
