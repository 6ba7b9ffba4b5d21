/* SPDX-License-Identifier: MIT */
/* bundle.h: fuzz inputs of several files, and mutations that know what is in them.
 *
 * An input is a tar archive (`tar --format=ustar -cf`), so a folder that broke something becomes an input as it is.
 * Bytes that change at random break the archive, the container or the JSON in it, and the code behind these parsers is
 * never reached. So the mutator takes one file of the archive, changes something that its kind has (a value of JSON, a
 * value of the metadata, the shape, type or an element of a tensor, a line), and puts everything together again.
 */
#ifndef SPARC_TESTS_FUZZ_BUNDLE_H
#define SPARC_TESTS_FUZZ_BUNDLE_H

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed);

/* ---- archives ------------------------------------------------------------------------------------ */

enum { BUNDLE_FILES = 16, TAR_BLOCK = 512, TAR_NAME = 100, TAR_SIZE_AT = 124, TAR_SUM_AT = 148, TAR_TYPE_AT = 156 };

typedef struct bundle_file {
  char name[TAR_NAME + 1];
  uint8_t *bytes; /* owned */
  size_t size;
} bundle_file;

typedef struct bundle {
  bundle_file file[BUNDLE_FILES];
  int files;
} bundle;

static void bundle_free(bundle *b) {
  for (int i = 0; i < b->files; i++) free(b->file[i].bytes);
  b->files = 0;
}

static const bundle_file *bundle_find(const bundle *b, const char *name) {
  for (int i = 0; i < b->files; i++)
    if (strcmp(b->file[i].name, name) == 0) return &b->file[i];
  return NULL;
}

/* below the folder that it is unpacked to, and nothing in it that a shell or a screen could mistake */
static bool is_safe_name(const char *name) {
  return *name && *name != '/' && *name != '.' && !strstr(name, "..") && !strstr(name, "//") &&
         strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_./ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(name) &&
         name[strlen(name) - 1] != '/';
}

/* the regular files of an archive; false: it is none */
static bool bundle_read(const uint8_t *data, size_t size, bundle *b) {
  b->files = 0;
  for (size_t at = 0; at + TAR_BLOCK <= size && data[at];) {
    const char *header = (const char *)data + at;
    char digits[13] = "";
    memcpy(digits, header + TAR_SIZE_AT, 12);
    const size_t bytes = strtoull(digits, NULL, 8), rounded = (bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    at += TAR_BLOCK;
    if (bytes > size - at) return false;
    const bool regular = header[TAR_TYPE_AT] == '0' || header[TAR_TYPE_AT] == '\0';
    bundle_file *f = &b->file[b->files];
    if (regular && b->files < BUNDLE_FILES) {
      snprintf(f->name, sizeof f->name, "%.*s", TAR_NAME, header);
      if (!is_safe_name(f->name) || bundle_find(b, f->name) || !(f->bytes = malloc(bytes + 1))) return false;
      memcpy(f->bytes, data + at, bytes);
      f->bytes[f->size = bytes] = '\0';
      b->files++;
    }
    at = rounded < size - at ? at + rounded : size;
  }
  return b->files > 0;
}

/* the size of the archive; 0: there is no room for it */
static size_t bundle_write(const bundle *b, uint8_t *data, size_t room) {
  size_t at = 0;
  for (int i = 0; i < b->files; i++) {
    const bundle_file *f = &b->file[i];
    const size_t rounded = (f->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    if (room - at < 2 * TAR_BLOCK || rounded > room - at - 2 * TAR_BLOCK) return 0;
    char *header = (char *)data + at;
    memset(header, 0, TAR_BLOCK + rounded);
    memcpy(header, f->name, strlen(f->name));
    memcpy(header + TAR_NAME,
           "0000644\0"
           "0000000\0"
           "0000000",
           24);
    snprintf(header + TAR_SIZE_AT, 24, "%011zo%c%011o", f->size, '\0', 0u);
    memcpy(header + TAR_SUM_AT, "        0", 9); /* the sum counts itself as blanks; 0: a regular file */
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    unsigned sum = 0;
    for (int k = 0; k < TAR_BLOCK; k++) sum += (unsigned char)header[k];
    snprintf(header + TAR_SUM_AT, 8, "%06o", sum);
    if (f->size) memcpy(header + TAR_BLOCK, f->bytes, f->size);
    at += TAR_BLOCK + rounded;
  }
  memset(data + at, 0, TAR_BLOCK);
  return at + TAR_BLOCK;
}

static bool name_ends(const char *name, const char *end) {
  const size_t size = strlen(name), tail = strlen(end);
  return size >= tail && strcmp(name + size - tail, end) == 0;
}

static bool take_bytes(bundle_file *f, const void *bytes, size_t size) {
  uint8_t *copy = malloc(size + 1);
  if (!copy) return false;
  if (size) memcpy(copy, bytes, size);
  copy[size] = '\0';
  free(f->bytes);
  f->bytes = copy;
  f->size = size;
  return true;
}

/* ---- chance -------------------------------------------------------------------------------------- */

typedef struct chance {
  uint64_t state;
} chance;

static uint64_t draw(chance *c, uint64_t below) {
  uint64_t z = c->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (z ^ z >> 31) % (below ? below : 1);
}

#define PICK(c, list) (list)[draw(c, sizeof(list) / sizeof *(list))]

/* ---- values of JSON ------------------------------------------------------------------------------ */

static json_t *edge_value(chance *c) {
  static const json_int_t whole[] = {0, 1, -1, 2, 3, 7, 64, 255, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  static const double real[] = {0.5, -0.5, 1e-9, 1e9, 1e308, -1e308, 5e-324, 1.0000001};
  static const char *const text[] = {
      "",    "0",    "1",  "-1",    "2",     "none",    "nan",  "1e9",      "true", "18446744073709551615",
      "a,b", "../x", "[]", "sparc", "itl#-", "\x1b[2J", "`id`", "\xc3\xa4", "1.5",  "x"};
  switch (draw(c, 8)) {
    case 0:
      return json_null();
    case 1:
      return json_boolean(draw(c, 2));
    case 2:
      return json_array();
    case 3:
      return json_object();
    case 4:
      return json_real(PICK(c, real));
    case 5:
      return json_integer(PICK(c, whole));
    default:
      return json_string(PICK(c, text));
  }
}

static json_t *mutate_json(chance *c, json_t *root);

/* a number in a text one up or down, JSON in a text as JSON, other texts by their bytes; NULL: no idea */
static json_t *mutate_text(chance *c, const char *text) {
  char *end, number[32];
  const long long value = strtoll(text, &end, 10);
  if (*text && !*end && draw(c, 4)) {
    static const int steps[] = {-1, 1, -2, 2, 8, -8, 100};
    snprintf(number, sizeof number, "%lld",
             draw(c, 3) ? (long long)((uint64_t)value + (uint64_t)PICK(c, steps)) : -value);
    return json_string(number);
  }
  json_t *inner = *text == '[' || *text == '{' ? json_loads(text, 0, NULL) : NULL;
  if (inner) {
    inner = mutate_json(c, inner);
    char *dump = json_dumps(inner, JSON_COMPACT | JSON_ENCODE_ANY);
    json_t *made = dump ? json_string(dump) : NULL;
    free(dump);
    json_decref(inner);
    return made;
  }
  enum { ROOM = 512 };
  uint8_t bytes[ROOM];
  const size_t size = strlen(text) < ROOM / 2 ? strlen(text) : ROOM / 2;
  memcpy(bytes, text, size);
  const size_t changed = LLVMFuzzerMutate(bytes, size, ROOM);
  return json_stringn((const char *)bytes, changed); /* NULL: it is no longer UTF-8 */
}

static json_t *mutate_value(chance *c, const json_t *value) {
  json_t *made = NULL;
  if (json_is_string(value) && draw(c, 4)) made = mutate_text(c, json_string_value(value));
  if (json_is_integer(value) && draw(c, 2)) made = json_integer(json_integer_value(value) + (draw(c, 2) ? 1 : -1));
  if (json_is_real(value) && draw(c, 2)) made = json_real(json_real_value(value) * (draw(c, 2) ? -1 : 1.001));
  return made ? made : edge_value(c);
}

/* a place that a value of a tree is in */
typedef struct json_place {
  json_t *parent; /* NULL: the root */
  const char *key;
  size_t index;
  json_t *value;
} json_place;

enum { PLACES = 2048 };

static int list_places(json_t *parent, json_place *places, int count) {
  const char *key;
  size_t index;
  json_t *value;
  json_object_foreach(parent, key, value) {
    if (count == PLACES) return count;
    places[count++] = (json_place){parent, key, 0, value};
    count = list_places(value, places, count);
  }
  json_array_foreach(parent, index, value) {
    if (count == PLACES) return count;
    places[count++] = (json_place){parent, NULL, index, value};
    count = list_places(value, places, count);
  }
  return count;
}

/* changes one value, takes it away, or puts a copy of another one in its place; takes and gives a reference */
static json_t *mutate_json(chance *c, json_t *root) {
  json_place *places = malloc(PLACES * sizeof *places);
  const int count = places ? list_places(root, places, 0) : 0;
  if (count == 0) {
    free(places);
    json_decref(root);
    return edge_value(c);
  }
  const json_place p = places[draw(c, (uint64_t)count)], other = places[draw(c, (uint64_t)count)];
  free(places);
  const uint64_t how = draw(c, 8);
  if (how == 0 && p.key)
    json_object_del(p.parent, p.key);
  else if (how == 0)
    json_array_remove(p.parent, p.index);
  else {
    json_t *value = how == 1 ? json_deep_copy(other.value) : mutate_value(c, p.value);
    if (p.key)
      json_object_set_new(p.parent, p.key, value);
    else if (how == 2)
      json_array_insert_new(p.parent, p.index, value);
    else
      json_array_set_new(p.parent, p.index, value);
  }
  return root;
}

static bool mutate_json_file(chance *c, bundle_file *f) {
  json_t *root = json_loadb((const char *)f->bytes, f->size, 0, NULL);
  if (!root) return false;
  root = mutate_json(c, root);
  char *text = json_dumps(root, JSON_ENCODE_ANY);
  const bool done = text && take_bytes(f, text, strlen(text));
  free(text);
  json_decref(root);
  return done;
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* one line is changed as JSON, taken away, or written twice */
static bool mutate_lines(chance *c, bundle_file *f) {
  size_t count = 0, from = 0;
  for (size_t i = 0; i < f->size; i++) count += f->bytes[i] == '\n';
  if (count == 0) return false;
  for (uint64_t skip = draw(c, count); skip > 0; from++) skip -= f->bytes[from] == '\n';
  const uint8_t *stop = memchr(f->bytes + from, '\n', f->size - from);
  const size_t to = (size_t)(stop - f->bytes) + 1;
  bundle_file line = {.bytes = NULL};
  const uint64_t how = draw(c, 8);
  bool done = take_bytes(&line, f->bytes + from, to - from);
  if (done && how > 1) done = mutate_json_file(c, &line);
  const size_t copies = how == 0 ? 0 : how == 1 ? 2 : 1, ends = how > 1, size = copies * (line.size + ends);
  uint8_t *whole = done ? malloc(f->size - (to - from) + size + 1) : NULL;
  if (whole) {
    size_t at = from;
    memcpy(whole, f->bytes, from);
    for (size_t i = 0; i < copies; i++, at += line.size + ends) {
      memcpy(whole + at, line.bytes, line.size);
      if (ends) whole[at + line.size] = '\n';
    }
    memcpy(whole + at, f->bytes + to, f->size - to);
    done = take_bytes(f, whole, at + f->size - to);
  }
  free(whole);
  free(line.bytes);
  return done;
}

/* ---- safetensors --------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  size_t size;
} tensor_types[] = {{"F64", 8}, {"F32", 4}, {"BF16", 2}, {"U8", 1}, {"I64", 8}, {"I32", 4}, {"BOOL", 1}};

enum { TENSORS = 512, ELEMENTS = 1 << 18 };

typedef struct tensor_part {
  const char *name; /* lives in the header */
  json_t *entry;
  size_t from, size; /* in the old data */
} tensor_part;

static size_t type_size(const json_t *entry) {
  const char *name = json_string_value(json_object_get(entry, "dtype"));
  for (size_t i = 0; name && i < sizeof tensor_types / sizeof *tensor_types; i++)
    if (strcmp(name, tensor_types[i].name) == 0) return tensor_types[i].size;
  return 0;
}

/* bytes that the shape asks for; SIZE_MAX: too many */
static size_t bytes_of(const json_t *entry) {
  const json_t *shape = json_object_get(entry, "shape");
  size_t count = 1;
  for (size_t i = 0; i < json_array_size(shape); i++) {
    const json_int_t n = json_integer_value(json_array_get(shape, i));
    if (n < 0 || n > ELEMENTS || (count *= (size_t)n) > ELEMENTS) return SIZE_MAX;
  }
  return count * type_size(entry);
}

static void mutate_shape(chance *c, const json_t *entry) {
  json_t *shape = json_object_get(entry, "shape");
  const size_t rank = json_array_size(shape), i = draw(c, rank);
  const json_int_t n = json_integer_value(json_array_get(shape, i));
  switch (rank ? draw(c, 6) : 0) {
    case 0:
      json_array_append_new(shape, json_integer((json_int_t)draw(c, 3)));
      break;
    case 1:
      json_array_remove(shape, i);
      break;
    case 2:
      json_array_set_new(shape, i, json_integer(0));
      break;
    case 3:
      json_array_set_new(shape, i, json_integer(n * 2));
      break;
    default:
      json_array_set_new(shape, i, json_integer(n + (draw(c, 2) ? 1 : n > 0 ? -1 : 0)));
  }
}

static void mutate_element(chance *c, const json_t *entry, uint8_t *bytes, size_t size) {
  static const double edge[] = {0,    -0.0,  1,      -1,           2,          0.5, 1e-45, 1e9,
                                3e38, 1e300, -1e300, 4294967296.0, 2147483647, 51,  52,    53};
  const size_t width = type_size(entry);
  if (width == 0 || size < width) return;
  uint8_t *at = bytes + draw(c, size / width) * width;
  const uint64_t special = draw(c, 8);
  double value = special == 0 ? (double)NAN : special == 1 ? (double)INFINITY : PICK(c, edge);
  float single = (float)value;
  int64_t whole = draw(c, 4) ? (int64_t)draw(c, 64) : -(int64_t)draw(c, 3);
  const bool real = *json_string_value(json_object_get(entry, "dtype")) == 'F';
  if (special == 2)
    LLVMFuzzerMutate(at, width, width);
  else if (real && width == 8)
    memcpy(at, &value, 8);
  else if (real && width == 4)
    memcpy(at, &single, 4);
  else
    memcpy(at, &whole, width); /* states of environments are integers, too */
}

static int compare_tensors(const void *a, const void *b) {
  const tensor_part *x = a, *y = b;
  return x->from != y->from ? (x->from < y->from ? -1 : 1) : strcmp(x->name, y->name);
}

static int list_tensors(json_t *header, size_t data, tensor_part *parts) {
  int count = 0;
  const char *name;
  json_t *entry;
  json_object_foreach(header, name, entry) {
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_int_t from = json_integer_value(json_array_get(offsets, 0)),
                     to = json_integer_value(json_array_get(offsets, 1));
    if (json_array_size(offsets) != 2) continue;
    if (count == TENSORS || from < 0 || to < from || (size_t)to > data) return -1;
    parts[count++] = (tensor_part){name, entry, (size_t)from, (size_t)(to - from)};
  }
  qsort(parts, (size_t)count, sizeof *parts, compare_tensors);
  return count;
}

/* length, header, data: each tensor with as many bytes as its shape asks for, without gaps */
static bool join_tensors(bundle_file *f, json_t *header, const tensor_part *parts, int count, const uint8_t *old) {
  size_t total = 0, at = 0;
  for (int i = 0; i < count; i++) {
    const size_t size = bytes_of(parts[i].entry);
    if (size == SIZE_MAX) return false;
    json_object_set_new(parts[i].entry, "data_offsets",
                        json_pack("[I, I]", (json_int_t)total, (json_int_t)(total + size)));
    total += size;
  }
  char *text = json_dumps(header, JSON_COMPACT);
  const size_t length = text ? (strlen(text) + 7) / 8 * 8 : 0;
  uint8_t *whole = text ? calloc(1, 8 + length + total + 1) : NULL;
  if (whole) {
    for (int i = 0; i < 8; i++) whole[i] = (uint8_t)(length >> 8 * i);
    memset(whole + 8, ' ', length);
    memcpy(whole + 8, text, strlen(text));
    for (int i = 0; i < count; i++) {
      const size_t size = bytes_of(parts[i].entry);
      memcpy(whole + 8 + length + at, old + parts[i].from, size < parts[i].size ? size : parts[i].size);
      at += size;
    }
  }
  const bool done = whole && take_bytes(f, whole, 8 + length + total);
  free(whole);
  free(text);
  return done;
}

static int mutate_tensor(chance *c, json_t *header, tensor_part *parts, int count, uint8_t *data) {
  const size_t i = draw(c, (uint64_t)count), other = draw(c, (uint64_t)count);
  switch (draw(c, 10)) {
    case 0:
      mutate_shape(c, parts[i].entry);
      break;
    case 1:
      json_object_set_new(parts[i].entry, "dtype", json_string(PICK(c, tensor_types).name));
      break;
    case 2: /* what is not listed is not written */
      json_object_del(header, parts[i].name);
      memmove(parts + i, parts + i + 1, (size_t)(count - 1 - (int)i) * sizeof *parts);
      return count - 1;
    case 3: /* the bytes of another one */
      parts[i].from = parts[other].from;
      parts[i].size = parts[other].size;
      break;
    default:
      mutate_element(c, parts[i].entry, data + parts[i].from, parts[i].size);
  }
  return count;
}

static bool mutate_container(chance *c, bundle_file *f) {
  size_t length = 0;
  for (size_t i = 0; i < 8 && i < f->size; i++) length |= (size_t)f->bytes[i] << 8 * i;
  if (f->size < 8 || length > f->size - 8) return false;
  json_t *header = json_loadb((const char *)f->bytes + 8, length, 0, NULL);
  uint8_t *data = f->bytes + 8 + length;
  tensor_part *parts = malloc(TENSORS * sizeof *parts);
  int count = header && parts ? list_tensors(header, f->size - 8 - length, parts) : -1;
  bool done = false;
  if (count >= 0) {
    json_t *metadata = json_object_get(header, "__metadata__");
    if (json_object_size(metadata) > 0 && (count == 0 || draw(c, 2)))
      json_decref(mutate_json(c, json_incref(metadata)));
    else if (count > 0)
      count = mutate_tensor(c, header, parts, count, data);
    done = join_tensors(f, header, parts, count, data);
  }
  free(parts);
  json_decref(header);
  return done;
}

/* ---- the mutator --------------------------------------------------------------------------------- */

static bool mutate_bytes(bundle_file *f) {
  const size_t room = f->size + f->size / 4 + 64;
  uint8_t *bytes = malloc(room);
  if (!bytes) return false;
  memcpy(bytes, f->bytes, f->size);
  const bool done = take_bytes(f, bytes, LLVMFuzzerMutate(bytes, f->size, room));
  free(bytes);
  return done;
}

static bool mutate_file(chance *c, bundle_file *f) {
  if (draw(c, 16) == 0) return mutate_bytes(f);
  if (name_ends(f->name, ".safetensors")) return mutate_container(c, f);
  if (name_ends(f->name, ".jsonl")) return mutate_lines(c, f);
  if (name_ends(f->name, ".json")) return mutate_json_file(c, f);
  return mutate_bytes(f);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  bundle b = {.files = 0};
  chance c = {seed};
  size_t made = 0;
  if (bundle_read(data, size, &b)) {
    bool done = false;
    for (uint64_t more = 1 + draw(&c, 3); more > 0; more--)
      done |= mutate_file(&c, &b.file[draw(&c, (uint64_t)b.files)]);
    made = done ? bundle_write(&b, data, max_size) : 0;
  }
  bundle_free(&b);
  return made ? made : LLVMFuzzerMutate(data, size, max_size);
}

/* one file of the other input in the place of the one with its name */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed) {
  bundle a = {.files = 0}, b = {.files = 0};
  chance c = {seed};
  size_t made = 0;
  if (bundle_read(data, size, &a) && bundle_read(other, other_size, &b)) {
    bundle_file *f = &a.file[draw(&c, (uint64_t)a.files)];
    const bundle_file *same = bundle_find(&b, f->name);
    if (same && take_bytes(f, same->bytes, same->size)) made = bundle_write(&a, out, max_size);
  }
  bundle_free(&a);
  bundle_free(&b);
  return made;
}

#endif
