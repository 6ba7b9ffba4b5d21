/* SPDX-License-Identifier: MIT */
/* test_safetensors.c: the safetensors reader and writer: what is written comes back, every deviation from the format is
 * refused with the right message, damaged files never crash, and a failed write leaves the old file alone. */
#include "io/dtype.h"
#include "scratch.h"
#include "sparc/safetensors.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PREFIX = 8, PATH_SIZE = 512 };

/* ---- helpers ---- */

static const char *in_source(const char *name) {
  static char path[PATH_SIZE];
  const char *root = getenv("SPARC_SOURCE_DIR");
#ifdef SPARC_SOURCE_DIR
  if (!root) root = SPARC_SOURCE_DIR;
#endif
  snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
  return path;
}

/* calls visit for every entry of a directory but . and .. */
static size_t each_file(const char *path, void (*visit)(const char *directory, const char *name)) {
  size_t count = 0;
  DIR *directory = opendir(path);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (visit) visit(path, entry->d_name);
    count++;
  }
  closedir(directory);
  return count;
}

typedef struct bytes {
  uint8_t *data;
  size_t size;
} bytes;

static bytes slurp(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  bytes out = {.size = (size_t)ftell(file)};
  rewind(file);
  out.data = malloc(out.size + 1);
  assert_non_null(out.data);
  assert_int_equal(fread(out.data, 1, out.size, file), out.size);
  fclose(file);
  return out;
}

static void spill(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* a file from a header text of `length` bytes and `data_size` bytes 0, 1, 2, ... */
static bytes build(const char *header, size_t length, size_t data_size) {
  bytes out = {malloc(PREFIX + length + data_size), PREFIX + length + data_size};
  assert_non_null(out.data);
  for (size_t i = 0; i < PREFIX; i++) out.data[i] = (uint8_t)((uint64_t)length >> 8 * i);
  memcpy(out.data + PREFIX, header, length);
  for (size_t i = 0; i < data_size; i++) out.data[PREFIX + length + i] = (uint8_t)i;
  return out;
}

static void assert_message(const char *fragment) {
  if (!strstr(sparc_error(), fragment)) fail_msg("expected '%s' in the message: %s", fragment, sparc_error());
}

static void assert_refused(bytes file, const char *fragment) {
  sparc_tensors *tensors = (sparc_tensors *)&tensors;
  sparc_status status = sparc_tensors_parse(file.data, file.size, "file.st", &tensors);
  if (status != SPARC_FORMAT) fail_msg("expected a format error with '%s', got status %d", fragment, (int)status);
  assert_null(tensors);
  assert_int_equal(strncmp(sparc_error(), "file.st: ", 9), 0);
  assert_message(fragment);
}

static sparc_tensors *parse_text(const char *header, size_t data_size) {
  bytes file = build(header, strlen(header), data_size);
  sparc_tensors *tensors = NULL;
  if (sparc_tensors_parse(file.data, file.size, "file.st", &tensors) != SPARC_OK) fail_msg("%s", sparc_error());
  /* the reader has its own copy */
  memset(file.data, 0xff, file.size);
  free(file.data);
  return tensors;
}

static sparc_tensors *open_file(const char *path) {
  sparc_tensors *tensors = NULL;
  if (sparc_tensors_load(path, &tensors) != SPARC_OK) fail_msg("%s", sparc_error());
  return tensors;
}

static void write_file(const char *path, const sparc_tensor_source *sources, size_t count,
                       const sparc_metadata *metadata, size_t metadata_count) {
  if (sparc_tensors_save(path, sources, count, metadata, metadata_count) != SPARC_OK) fail_msg("%s", sparc_error());
}

static uint32_t bits32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t bits64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* equal numbers, with signed zeros apart and all NaN alike */
static bool same(double a, double b) { return (isnan(a) && isnan(b)) || bits64(a) == bits64(b); }

/* ---- round trips ---- */

enum { MANY = 10007 }; /* several pieces of the reader and the writer, the last one partial */

static void test_round_trip_of_every_type(void **state) {
  (void)state;
  static float f32[MANY], f32_back[MANY];
  static double f64[MANY], f64_back[MANY];
  /* numbers that every type holds exactly, and the special ones */
  static const float special[] = {0.0f,        -0.0f,    1.0f,      -1.5f, 0x1p-126f,
                                  0x1.fep127f, INFINITY, -INFINITY, NAN,   0x1p-133f};
  enum { SPECIAL = COUNT(special) };
  for (int i = 0; i < MANY; i++) {
    f32[i] = i < SPECIAL ? special[i] : ldexpf((float)(i % 255 - 127), i % 60 - 30);
    f64[i] = (double)f32[i];
  }

  static const sparc_dtype stored[] = {SPARC_F64, SPARC_F32, SPARC_BF16};
  for (int s = 0; s < 3; s++) {
    const sparc_tensor_source sources[] = {
        {"from.f32", stored[s], SPARC_F32, 1, {MANY}, f32},
        {"from.f64", stored[s], SPARC_F64, 1, {MANY}, f64},
    };
    write_file(in_folder("types.st"), sources, 2, NULL, 0);
    sparc_tensors *tensors = open_file(in_folder("types.st"));
    assert_int_equal(sparc_tensors_contents_of(tensors).count, 2);
    for (int k = 0; k < 2; k++) {
      const sparc_tensor_info *info = sparc_tensors_find(tensors, sources[k].name);
      assert_non_null(info);
      assert_int_equal(info->dtype, stored[s]);
      assert_int_equal(info->bytes, MANY * dtype_size(stored[s]));
      assert_int_equal(sparc_tensors_read(tensors, info->name, SPARC_F32, f32_back, MANY), SPARC_OK);
      assert_int_equal(sparc_tensors_read(tensors, info->name, SPARC_F64, f64_back, MANY), SPARC_OK);
      for (int i = 0; i < MANY; i++) assert_true(same(f32_back[i], f32[i]) && same(f64_back[i], f64[i]));
    }
    sparc_tensors_free(tensors);
  }
}

/* a type stored as itself keeps every bit, also of a signalling NaN and of the smallest numbers */
static void test_equal_types_keep_every_bit(void **state) {
  (void)state;
  static const uint32_t patterns32[] = {1, 0x80000001, 0x7f800001, 0xffc12345, 0x007fffff, 0x3f800001};
  static const uint64_t patterns64[] = {1, 0x8000000000000001, 0x7ff0000000000001, 0xfff8000012345678, 42, 43};
  uint32_t back32[6];
  uint64_t back64[6];
  const sparc_tensor_source sources[] = {{"a", SPARC_F32, SPARC_F32, 2, {2, 3}, patterns32},
                                         {"b", SPARC_F64, SPARC_F64, 2, {3, 2}, patterns64}};
  write_file(in_folder("bits.st"), sources, 2, NULL, 0);
  sparc_tensors *tensors = open_file(in_folder("bits.st"));
  assert_int_equal(sparc_tensors_read(tensors, "a", SPARC_F32, (float *)back32, 6), SPARC_OK);
  assert_int_equal(sparc_tensors_read(tensors, "b", SPARC_F64, (double *)back64, 6), SPARC_OK);
  assert_memory_equal(back32, patterns32, sizeof back32);
  assert_memory_equal(back64, patterns64, sizeof back64);
  sparc_tensors_free(tensors);
}

static void test_shapes_names_and_metadata(void **state) {
  (void)state;
  const float one = 7.5f, two[] = {1.0f, 2.0f};
  const sparc_tensor_source sources[] = {
      {"scalar", SPARC_F32, SPARC_F32, 0, {0}, &one},
      {"nothing", SPARC_F64, SPARC_F32, 2, {0, 9}, NULL},
      {"", SPARC_F32, SPARC_F32, 1, {1}, &one},
      {"\xce\xbb.\xe5\xb1\xa4 \"quoted\" \xf0\x9f\x8c\x80\n", SPARC_BF16, SPARC_F32, 1, {2}, two},
      {"deep", SPARC_F32, SPARC_F32, 8, {1, 1, 1, 2, 1, 1, 1, 1}, two},
  };
  const sparc_metadata metadata[] = {{"z", ""}, {"\xc3\xa4", "line\nbreak \"\\\" \xf0\x9f\x8c\x80"}, {"", "empty key"}};
  write_file(in_folder("shapes.st"), sources, 5, metadata, 3);

  sparc_tensors *tensors = open_file(in_folder("shapes.st"));
  assert_int_equal(sparc_tensors_contents_of(tensors).count, 5);
  for (int i = 0; i < 5; i++) {
    const sparc_tensor_info *info = sparc_tensors_find(tensors, sources[i].name);
    assert_non_null(info);
    assert_string_equal(info->name, sources[i].name);
    assert_int_equal(info->rank, sources[i].rank);
    for (int d = 0; d < info->rank; d++) assert_int_equal(info->shape[d], sources[i].shape[d]);
    for (int d = info->rank; d < SPARC_TENSOR_MAX_RANK; d++) assert_int_equal(info->shape[d], 0);
  }
  float back[2] = {0, 0};
  assert_int_equal(sparc_tensors_find(tensors, "scalar")->elements, 1);
  assert_int_equal(sparc_tensors_read(tensors, "scalar", SPARC_F32, back, 1), SPARC_OK);
  assert_true(back[0] == one);
  assert_int_equal(sparc_tensors_find(tensors, "nothing")->elements, 0);
  assert_int_equal(sparc_tensors_read(tensors, "nothing", SPARC_F32, NULL, 0), SPARC_OK);
  assert_int_equal(sparc_tensors_read(tensors, "deep", SPARC_F32, back, 2), SPARC_OK);
  assert_true(back[0] == two[0] && back[1] == two[1]);

  /* metadata come back sorted by key */
  static const char *const keys[] = {"", "z", "\xc3\xa4"};
  assert_int_equal(sparc_tensors_contents_of(tensors).metadata_count, 3);
  for (size_t i = 0; i < 3; i++) {
    const sparc_metadata *entry = &sparc_tensors_contents_of(tensors).metadata[i];
    assert_string_equal(entry->key, keys[i]);
    assert_ptr_equal(sparc_tensors_metadata_find(tensors, keys[i]), entry->value);
  }
  for (int i = 0; i < 3; i++)
    assert_string_equal(sparc_tensors_metadata_find(tensors, metadata[i].key), metadata[i].value);

  /* past the end, unknown, NULL */
  assert_null(sparc_tensors_find(tensors, "Scalar"));
  assert_null(sparc_tensors_find(tensors, NULL));
  assert_null(sparc_tensors_find(tensors, "__metadata__"));
  assert_null(sparc_tensors_metadata_find(tensors, "y"));
  assert_null(sparc_tensors_metadata_find(tensors, NULL));
  sparc_tensors_free(tensors);
}

/* the bytes are a function of the content: fixed header text, order, padding */
static void test_layout_of_written_files(void **state) {
  (void)state;
  const float f[] = {1.0f, 2.0f};
  const double d[] = {3.0};
  const sparc_tensor_source forward[] = {{"b", SPARC_F32, SPARC_F32, 1, {2}, f},
                                         {"h", SPARC_BF16, SPARC_F32, 2, {1, 2}, f},
                                         {"a", SPARC_F32, SPARC_F64, 0, {0}, d},
                                         {"z", SPARC_F64, SPARC_F64, 1, {1}, d}};
  const sparc_tensor_source backward[] = {forward[3], forward[2], forward[1], forward[0]};
  const sparc_metadata metadata[] = {{"k2", "v2"}, {"k1", "v1"}}, swapped[] = {metadata[1], metadata[0]};
  static const char expected[] =
      "{\"__metadata__\":{\"k1\":\"v1\",\"k2\":\"v2\"},"
      "\"z\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[12,20]},"
      "\"h\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[20,24]}}";
  static const uint8_t data[] = {0, 0, 0,    0,    0, 0, 0x08, 0x40, 0,    0,    0x40, 0x40,
                                 0, 0, 0x80, 0x3f, 0, 0, 0,    0x40, 0x80, 0x3f, 0,    0x40};

  write_file(in_folder("forward.st"), forward, 4, metadata, 2);
  write_file(in_folder("backward.st"), backward, 4, swapped, 2);
  bytes one = slurp(in_folder("forward.st")), two = slurp(in_folder("backward.st"));
  assert_int_equal(one.size, two.size);
  assert_memory_equal(one.data, two.data, one.size);

  const size_t start = (PREFIX + sizeof expected - 1 + 63) / 64 * 64;
  assert_int_equal(one.size, start + sizeof data);
  assert_int_equal(one.data[0] + 256 * one.data[1], start - PREFIX);
  assert_memory_equal(one.data + PREFIX, expected, sizeof expected - 1);
  for (size_t i = PREFIX + sizeof expected - 1; i < start; i++) assert_int_equal(one.data[i], ' ');
  assert_memory_equal(one.data + start, data, sizeof data);
  free(one.data);
  free(two.data);

  /* without metadata and without tensors */
  write_file(in_folder("nothing.st"), NULL, 0, NULL, 0);
  bytes nothing = slurp(in_folder("nothing.st"));
  assert_int_equal(nothing.size, 64);
  assert_memory_equal(nothing.data + PREFIX, "{} ", 3);
  free(nothing.data);
  sparc_tensors *tensors = open_file(in_folder("nothing.st"));
  assert_int_equal(sparc_tensors_contents_of(tensors).count, 0);
  assert_int_equal(sparc_tensors_contents_of(tensors).metadata_count, 0);
  assert_null(sparc_tensors_find(tensors, "a"));
  assert_null(sparc_tensors_metadata_find(tensors, "a"));
  sparc_tensors_free(tensors);
}

/* ---- BF16 ---- */

static uint32_t stored_bf16(const void *number, sparc_dtype in_type) {
  /* memory of the tensor, read back as the float with the same upper half */
  const sparc_tensor_source source = {"x", SPARC_BF16, in_type, 0, {0}, number};
  float back;
  write_file(in_folder("bf16.st"), &source, 1, NULL, 0);
  sparc_tensors *tensors = open_file(in_folder("bf16.st"));
  assert_int_equal(sparc_tensors_read(tensors, "x", SPARC_F32, &back, 1), SPARC_OK);
  sparc_tensors_free(tensors);
  assert_int_equal(bits32(back) & 0xffff, 0);
  return bits32(back) >> 16;
}

static void test_bf16_rounding_cases(void **state) {
  (void)state;
  static const struct {
    double in;
    uint32_t out;
  } cases[] = {
      {1.0, 0x3f80},
      {0x1.01p0, 0x3f80},       /* tie to even: down */
      {0x1.03p0, 0x3f82},       /* tie to even: up */
      {0x1.010002p0, 0x3f81},   /* just above a tie */
      {0x1.02fffep0, 0x3f81},   /* just below a tie */
      {-0x1.03p0, 0xbf82},      /* sign does not matter */
      {0x1.fep127, 0x7f7f},     /* largest */
      {0x1.fefffep127, 0x7f7f}, /* largest float that does not round up */
      {0x1.ffp127, 0x7f80},     /* tie with infinity */
      {0x1.fffffep127, 0x7f80}, /* largest float */
      {0x1p-133, 0x0001},       /* smallest */
      {0x1p-134, 0x0000},       /* tie with zero */
      {0x1.8p-134, 0x0001},     /* above it */
      {-0x1p-149, 0x8000},      /* smallest float keeps its sign */
      {-0.0, 0x8000},
      {INFINITY, 0x7f80},
      {-INFINITY, 0xff80},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    float narrow = (float)cases[i].in;
    assert_true((double)narrow == cases[i].in);
    assert_int_equal(stored_bf16(&narrow, SPARC_F32), cases[i].out);
    assert_int_equal(stored_bf16(&cases[i].in, SPARC_F64), cases[i].out);
  }

  /* every NaN stays one, also when its payload is all in the discarded half */
  static const uint32_t payloads[] = {0x7fc00000, 0x7f800001, 0xff80ffff, 0x7fffffff, 0xffffffff};
  for (size_t i = 0; i < COUNT(payloads); i++) {
    float narrow = float_of(payloads[i]);
    assert_true((stored_bf16(&narrow, SPARC_F32) & 0x7fff) > 0x7f80);
    assert_int_equal(stored_bf16(&narrow, SPARC_F32) >> 15, payloads[i] >> 31);
  }
  const double wide = NAN, huge = 1e300, tiny = -1e-300;
  assert_true((stored_bf16(&wide, SPARC_F64) & 0x7fff) > 0x7f80);
  assert_int_equal(stored_bf16(&huge, SPARC_F64), 0x7f80);
  assert_int_equal(stored_bf16(&tiny, SPARC_F64), 0x8000);
}

/* At and around the middle of every pair of neighbours; as double also so close to the middle that a detour over
 * float would round twice. */
static void test_bf16_rounding_everywhere(void **state) {
  (void)state;
  enum { PAIRS = 0x7f80, POINTS = 3 * PAIRS };
  static double wide[POINTS];
  static float narrow[POINTS], from_wide[POINTS], from_narrow[POINTS];
  static uint32_t expected[POINTS];
  for (uint32_t low = 0; low < PAIRS; low++) {
    const double a = (double)float_of(low << 16);
    const double b = low + 1 < PAIRS ? (double)float_of((low + 1) << 16) : 0x1p128;
    const double middle = (a + b) / 2;
    const uint32_t even = low & 1 ? low + 1 : low, sign = low % 3 == 0 ? 0x8000 : 0;
    for (int k = 0; k < 3; k++) {
      const uint32_t i = 3 * low + (uint32_t)k;
      wide[i] = k == 0 ? nextafter(middle, 0) : k == 1 ? middle : nextafter(middle, INFINITY);
      narrow[i] = k == 0 ? nextafterf((float)middle, 0) : k == 1 ? (float)middle : nextafterf((float)middle, INFINITY);
      expected[i] = (k == 0 ? low : k == 1 ? even : low + 1) | sign;
      if (sign) wide[i] = -wide[i], narrow[i] = -narrow[i];
    }
  }
  const sparc_tensor_source sources[] = {{"wide", SPARC_BF16, SPARC_F64, 1, {POINTS}, wide},
                                         {"narrow", SPARC_BF16, SPARC_F32, 1, {POINTS}, narrow}};
  write_file(in_folder("middle.st"), sources, 2, NULL, 0);
  sparc_tensors *tensors = open_file(in_folder("middle.st"));
  assert_int_equal(sparc_tensors_read(tensors, "wide", SPARC_F32, from_wide, POINTS), SPARC_OK);
  assert_int_equal(sparc_tensors_read(tensors, "narrow", SPARC_F32, from_narrow, POINTS), SPARC_OK);
  sparc_tensors_free(tensors);
  for (uint32_t i = 0; i < POINTS; i++) {
    if (bits32(from_wide[i]) != expected[i] << 16) fail_msg("double %a became %a", wide[i], (double)from_wide[i]);
    if (bits32(from_narrow[i]) != expected[i] << 16)
      fail_msg("float %a became %a", (double)narrow[i], (double)from_narrow[i]);
  }
}

/* ---- legal but unusual ---- */

static void test_accepts_unusual_files(void **state) {
  (void)state;
  float number[3];

  /* an odd header length leaves the data unaligned; blanks after the object; no order in the header */
  static const char odd[] =
      "{\"b\":{\"shape\":[2],\"data_offsets\":[4,12],\"dtype\":\"F32\"}, \"none\":{\"dtype\":\"F64\",\"shape\":[3,0],"
      "\"data_offsets\":[4,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}} \n\t \r ";
  for (size_t extra = 0; extra < 8; extra++) {
    char header[sizeof odd + 8];
    snprintf(header, sizeof header, "%s%.*s", odd, (int)extra, "        ");
    sparc_tensors *tensors = parse_text(header, 12);
    assert_int_equal(sparc_tensors_contents_of(tensors).count, 3);
    assert_string_equal(sparc_tensors_contents_of(tensors).tensors[0].name, "a");
    assert_string_equal(sparc_tensors_contents_of(tensors).tensors[1].name, "none");
    assert_string_equal(sparc_tensors_contents_of(tensors).tensors[2].name, "b");
    assert_int_equal(sparc_tensors_contents_of(tensors).tensors[2].offset, 4);
    assert_int_equal(sparc_tensors_read(tensors, "b", SPARC_F32, number, 2), SPARC_OK);
    assert_int_equal(bits32(number[0]), 0x07060504);
    assert_int_equal(bits32(number[1]), 0x0b0a0908);
    sparc_tensors_free(tensors);
  }

  /* an escaped name, empty metadata */
  sparc_tensors *tensors = parse_text(
      "{\"\\u03bb\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]},"
      "\"__metadata__\":{}}",
      2);
  assert_non_null(sparc_tensors_find(tensors, "\xce\xbb"));
  assert_int_equal(sparc_tensors_contents_of(tensors).metadata_count, 0);
  sparc_tensors_free(tensors);

  /* every escape, also one that takes two halves */
  tensors =
      parse_text("{\"__metadata__\":{\"\\\"\\\\\\/\\b\\f\\n\\r\\t\":\"\\u0041\\u00e4\\u20aC\\ud83C\\udf00\"}}", 0);
  assert_string_equal(sparc_tensors_contents_of(tensors).metadata[0].key, "\"\\/\b\f\n\r\t");
  assert_string_equal(sparc_tensors_contents_of(tensors).metadata[0].value, "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x80");
  sparc_tensors_free(tensors);
}

static void test_lists_every_type_but_reads_only_numbers(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t size;
  } types[] = {{"F64", 8},     {"F32", 4},     {"BF16", 2},        {"F16", 2},         {"F8_E4M3", 1},
               {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"F8_E4M3FNUZ", 1}, {"F8_E5M2FNUZ", 1}, {"C64", 8},
               {"I64", 8},     {"I32", 4},     {"I16", 2},         {"I8", 1},          {"U64", 8},
               {"U32", 4},     {"U16", 2},     {"U8", 1},          {"BOOL", 1}};
  enum { TYPES = COUNT(types) };
  for (int i = 0; i < TYPES; i++) {
    char header[128];
    snprintf(header, sizeof header, "{\"x\":{\"dtype\":\"%s\",\"shape\":[3],\"data_offsets\":[0,%zu]}}", types[i].name,
             3 * types[i].size);
    sparc_tensors *tensors = parse_text(header, 3 * types[i].size);
    const sparc_tensor_info *info = &sparc_tensors_contents_of(tensors).tensors[0];
    assert_int_equal(info->dtype, i);
    assert_string_equal(dtype_name(info->dtype), types[i].name);
    assert_int_equal(dtype_size(info->dtype), types[i].size);
    float f32[3];
    double f64[3];
    const sparc_status expected = i < 3 ? SPARC_OK : SPARC_UNSUPPORTED;
    assert_int_equal(sparc_tensors_read(tensors, "x", SPARC_F32, f32, 3), expected);
    assert_int_equal(sparc_tensors_read(tensors, "x", SPARC_F64, f64, 3), expected);
    if (expected != SPARC_OK) {
      assert_message("file.st: tensor 'x' has dtype ");
      assert_message(types[i].name);
    }
    sparc_tensors_free(tensors);
  }
  assert_string_equal(dtype_name((sparc_dtype)TYPES), "unknown");
  assert_int_equal(dtype_size((sparc_dtype)-1), 0);
}

/* ---- malformed files ---- */

/* header text in single quotes for double ones, size of the data, fragment of the message */
typedef struct malformed {
  const char *header;
  size_t data_size;
  const char *fragment;
} malformed;

static const malformed headers[] = {
    /* not a JSON object */
    {"", 0, "the header of 0 bytes does not start with '{'"},
    {" {}", 0, "the header of 3 bytes does not start with '{'"},
    {"[]", 0, "the header of 2 bytes does not start with '{'"},
    {"{", 0, "not valid JSON at byte 1 (line 1, column 1)"},
    {"{}x", 0, "not valid JSON at byte 3"},
    {"{'a':}", 0, "not valid JSON at byte 6 (line 1, column 6): unexpected token near '}'"},
    {"{'a':1,}", 0, "not valid JSON"},
    {"{\n'a':\n1e}", 0, "at byte 10 (line 3, column 3): unexpected token near '}', expected a digit"},
    {"{'a':-}", 0, "expected a digit"},
    {"{'a':01}", 0, "expected ',' or '}'"},
    {"{'a':+1}", 0, "expected a value"},
    {"{'a':.5}", 0, "expected a value"},
    {"{'a':nul}", 0, "expected a value"},
    {"{'a':True}", 0, "expected a value"},
    {"{'a' 1}", 0, "expected ':'"},
    {"{a:1}", 0, "expected a string"},
    {"{'a':[1,]}", 0, "expected a value"},
    {"{'a':[1 2]}", 0, "expected ',' or ']'"},
    {"{'a':[1}", 0, "expected ',' or ']'"},
    {"{'a\\x':1}", 0, "expected an escape"},
    {"{'a\\u12g4':1}", 0, "expected four hexadecimal digits"},
    {"{'a\\ud800':1}", 0, "half a surrogate pair"},
    {"{'a\\udc00':1}", 0, "half a surrogate pair"},
    {"{'a\\ud800\\u0041':1}", 0, "half a surrogate pair"},
    {"{'a':1e999}", 0, "tensor 'a': its entry is the real number 1e999, expected an object"},
    {"{'a':-9223372036854775808}", 0, "tensor 'a': its entry is -9223372036854775808"},
    {"{'a':-9223372036854775809}", 0, "too big integer"},
    {"{'\\u00e4':1,'\xc3\xa4':2}", 0, "duplicate object key '\xc3\xa4'"},
    {"{'a\n':1}", 0, "not valid JSON"},
    {"{'a':1,'a':2}", 0, "duplicate object key"},
    {"{'__metadata__':{'k':'1','k':'1'}}", 0, "duplicate object key"},
    {"{'a':{'dtype':'F32','dtype':'F32','shape':[],'data_offsets':[0,4]}}", 4, "duplicate object key"},
    {"{'\\u0000':1}", 0, "not valid JSON"},
    {"{'a':{'dtype':'F32','shape':[9223372036854775808],'data_offsets':[0,4]}}", 4, "too big integer"},
    /* entries */
    {"{'a':[]}", 0, "tensor 'a': its entry is an array, expected an object"},
    {"{'a':null}", 0, "tensor 'a': its entry is null, expected an object"},
    {"{'a':7}", 0, "tensor 'a': its entry is 7, expected an object"},
    {"{'a':{'shape':[],'data_offsets':[0,4]}}", 4, "tensor 'a': dtype is missing"},
    {"{'a':{'dtype':'F32','data_offsets':[0,4]}}", 4, "tensor 'a': shape is missing"},
    {"{'a':{'dtype':'F32','shape':[]}}", 4, "tensor 'a': data_offsets is missing"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4],'strides':[]}}", 4, "tensor 'a': its entry has 4 keys"},
    {"{'\\u001b[31m':7}", 0, "tensor '?[31m': its entry is 7"},
    /* dtype */
    {"{'a':{'dtype':4,'shape':[],'data_offsets':[0,4]}}", 4, "tensor 'a': dtype is 4, expected a string"},
    {"{'a':{'dtype':'f32','shape':[],'data_offsets':[0,4]}}", 4, "tensor 'a': dtype 'f32' is unknown"},
    {"{'a':{'dtype':'','shape':[],'data_offsets':[0,4]}}", 4, "tensor 'a': dtype '' is unknown"},
    /* shape */
    {"{'a':{'dtype':'F32','shape':1,'data_offsets':[0,4]}}", 4, "tensor 'a': shape is 1, expected an array"},
    {"{'a':{'dtype':'F32','shape':{},'data_offsets':[0,4]}}", 4, "tensor 'a': shape is an object"},
    {"{'a':{'dtype':'F32','shape':[1,-3],'data_offsets':[0,4]}}", 4, "tensor 'a': shape[1] is -3, expected an integer"},
    {"{'a':{'dtype':'F32','shape':[1.5],'data_offsets':[0,4]}}", 4, "tensor 'a': shape[0] is the real number 1.5"},
    {"{'a':{'dtype':'F32','shape':[1.0],'data_offsets':[0,4]}}", 4, "tensor 'a': shape[0] is the real number 1"},
    {"{'a':{'dtype':'F32','shape':['1'],'data_offsets':[0,4]}}", 4, "tensor 'a': shape[0] is a string"},
    {"{'a':{'dtype':'F32','shape':[true],'data_offsets':[0,4]}}", 4, "tensor 'a': shape[0] is true"},
    {"{'a':{'dtype':'F32','shape':[1,1,1,1,1,1,1,1,1],'data_offsets':[0,4]}}", 4,
     "shape has 9 dimensions, expected at"},
    {"{'a':{'dtype':'F32','shape':[4294967296,4294967296],'data_offsets':[0,0]}}", 0,
     "tensor 'a': the size of shape [4294967296, 4294967296] overflows"},
    {"{'a':{'dtype':'F32','shape':[4611686018427387904],'data_offsets':[0,0]}}", 0, "overflows"},
    {"{'a':{'dtype':'F64','shape':[9223372036854775807,2,9],'data_offsets':[0,0]}}", 0, "overflows"},
    /* offsets */
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':4}}", 4, "tensor 'a': data_offsets is 4, expected an array"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[4]}}", 4, "tensor 'a': data_offsets has 1 numbers, expected 2"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4,4]}}", 4,
     "tensor 'a': data_offsets has 3 numbers, expected 2"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[-4,0]}}", 4, "tensor 'a': data_offsets[0] is -4"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,null]}}", 4, "tensor 'a': data_offsets[1] is null"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4.0]}}", 4, "tensor 'a': data_offsets[1] is the real number 4"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[4,0]}}", 4, "tensor 'a': data_offsets [4, 0] are reversed"},
    {"{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}", 7, "[0, 8] reach beyond the 7 bytes of data"},
    {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[9223372036854775803,9223372036854775807]}}", 4, "reach beyond"},
    {"{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,20]}}", 24,
     "[0, 20] span 20 bytes, but shape [2, 3] of F32 needs 24"},
    {"{'a':{'dtype':'F32','shape':[0],'data_offsets':[0,4]}}", 4, "[0, 4] span 4 bytes, but shape [0] of F32 needs 0"},
    /* ranges against each other */
    {"{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]},'b':{'dtype':'F32','shape':[1],'data_offsets':[4,8]}}", 8,
     "tensor 'b': starts at byte 4 and overlaps tensor 'a', which ends at byte 8"},
    {"{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]},'b':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}", 8,
     "tensor 'b': starts at byte 0 and overlaps tensor 'a'"},
    {"{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]},'b':{'dtype':'F32','shape':[0],'data_offsets':[4,4]}}", 8,
     "tensor 'b': starts at byte 4 and overlaps tensor 'a'"},
    {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4]},'b':{'dtype':'F32','shape':[1],'data_offsets':[7,11]}}", 11,
     "tensor 'b': starts at byte 7, but the 3 bytes before it belong to no tensor"},
    {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[1,5]}}", 5,
     "tensor 'a': starts at byte 1, but the 1 bytes before"},
    {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4]}}", 6, "2 trailing bytes: the tensors end at byte 4 of 6"},
    {"{}", 1, "1 trailing bytes: the tensors end at byte 0 of 1"},
    /* metadata */
    {"{'__metadata__':[]}", 0, "__metadata__ is an array, expected an object of strings"},
    {"{'__metadata__':'x'}", 0, "__metadata__ is a string"},
    {"{'__metadata__':null}", 0, "__metadata__ is null"},
    {"{'__metadata__':{'k':'v','n':3}}", 0, "__metadata__ value of 'n' is 3, expected a string"},
    {"{'__metadata__':{'k':{}}}", 0, "__metadata__ value of 'k' is an object"},
};

static void test_refuses_malformed_headers(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(headers); i++) {
    char text[256];
    const size_t length = strlen(headers[i].header);
    assert_true(length < sizeof text);
    for (size_t k = 0; k <= length; k++) text[k] = headers[i].header[k] == '\'' ? '"' : headers[i].header[k];
    bytes file = build(text, length, headers[i].data_size);
    assert_refused(file, headers[i].fragment);
    free(file.data);
  }
}

static void test_refuses_bad_lengths(void **state) {
  (void)state;
  /* shorter than the length field */
  static const uint8_t zeros[PREFIX];
  for (size_t size = 0; size < PREFIX; size++) {
    char fragment[32];
    snprintf(fragment, sizeof fragment, "%zu bytes are too few", size);
    assert_refused((bytes){(uint8_t *)zeros, size}, fragment);
  }
  assert_refused((bytes){(uint8_t *)zeros, PREFIX}, "the header of 0 bytes");
  assert_refused((bytes){NULL, 0}, "0 bytes are too few");

  /* length field against the limit and the file */
  static const struct {
    uint64_t length;
    const char *fragment;
  } cases[] = {{3, "header length 3 exceeds the 2 bytes that follow it"},
               {100000000, "header length 100000000 exceeds the 2 bytes that follow it"},
               {100000001, "header length 100000001 exceeds the limit of 100000000 bytes"},
               {(uint64_t)1 << 63, "header length 9223372036854775808 exceeds the limit"},
               {UINT64_MAX, "header length 18446744073709551615 exceeds the limit"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    bytes file = build("{}", 2, 0);
    for (size_t k = 0; k < PREFIX; k++) file.data[k] = (uint8_t)(cases[i].length >> 8 * k);
    assert_refused(file, cases[i].fragment);
    free(file.data);
  }
}

static void test_refuses_bad_text(void **state) {
  (void)state;
  /* stray, overlong, surrogate, beyond Unicode, cut off */
  static const char *const encodings[] = {"\xff", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
  for (size_t i = 0; i < COUNT(encodings); i++) {
    char header[32];
    snprintf(header, sizeof header, "{\"%s\":1}", encodings[i]);
    bytes file = build(header, strlen(header), 0);
    assert_refused(file, "not valid JSON at byte 3 (line 1, column 3): unable to decode byte 0x");
    free(file.data);
  }
  bytes nul = build("{\"a\":\0}", 7, 0);
  assert_refused(nul, "not valid JSON");
  free(nul.data);
  bytes after = build("{}\0", 3, 0);
  assert_refused(after, "not valid JSON");
  free(after.data);

  /* a nesting bomb, as arrays and as objects */
  enum { DEPTH = 100000 };
  char *bomb = malloc(5 * DEPTH + 5);
  assert_non_null(bomb);
  memcpy(bomb, "{\"a\":", 5);
  memset(bomb + 5, '[', DEPTH);
  bytes arrays = build(bomb, 5 + DEPTH, 0);
  assert_refused(arrays, "maximum parsing depth reached");
  for (size_t i = 0; i <= DEPTH; i++) memcpy(bomb + 5 * i, "{\"a\":", 5);
  bytes objects = build(bomb, 5 * DEPTH, 0);
  assert_refused(objects, "maximum parsing depth reached");
  free(arrays.data);
  free(objects.data);
  free(bomb);

  /* a name that is too long for a message is cut between characters and the rest of the message survives */
  char header[1024] = "{\"";
  for (size_t length = 2; length < 900; length += 2) memcpy(header + length, "\xce\xbb", 3);
  strcat(header, "\":7}");
  bytes wordy = build(header, strlen(header), 0);
  assert_refused(wordy, "\xce\xbb...': its entry is 7, expected an object");
  free(wordy.data);
}

/* ---- damaged files ---- */

static void read_everything(const sparc_tensors *tensors) {
  for (size_t i = 0; i < sparc_tensors_contents_of(tensors).count; i++) {
    const sparc_tensor_info *info = &sparc_tensors_contents_of(tensors).tensors[i];
    double *numbers = malloc(info->elements * sizeof *numbers + 1);
    assert_non_null(numbers);
    const sparc_status expected = info->dtype <= SPARC_BF16 ? SPARC_OK : SPARC_UNSUPPORTED;
    assert_int_equal(sparc_tensors_read(tensors, info->name, SPARC_F64, numbers, info->elements), expected);
    free(numbers);
  }
}

static void test_reads_a_real_file(void **state) {
  (void)state;
  sparc_tensors *tensors = open_file(in_source("tests/vectors/sparc-full.safetensors"));
  assert_string_equal(sparc_tensors_metadata_find(tensors, "cell"), "sparc");
  assert_string_equal(sparc_tensors_metadata_find(tensors, "variant"), "full");
  const sparc_tensor_info *x = sparc_tensors_find(tensors, "x");
  assert_non_null(x);
  assert_int_equal(x->dtype, SPARC_F64);
  assert_int_equal(x->rank, 3);
  static const char *const sizes[] = {"B", "T", "D"};
  for (int i = 0; i < 3; i++)
    assert_int_equal(x->shape[i], strtol(sparc_tensors_metadata_find(tensors, sizes[i]), NULL, 10));
  read_everything(tensors);
  sparc_tensors_free(tensors);
}

static void test_refuses_every_truncation(void **state) {
  (void)state;
  bytes file = slurp(in_source("tests/vectors/sparc-full.safetensors"));
  for (size_t size = 0; size < file.size; size++) {
    /* an exact block, so that the sanitizer sees a read past its end */
    uint8_t *part = malloc(size + !size);
    assert_non_null(part);
    memcpy(part, file.data, size);
    sparc_tensors *tensors = NULL;
    if (sparc_tensors_parse(part, size, "part", &tensors) != SPARC_FORMAT) fail_msg("accepted at %zu bytes", size);
    assert_null(tensors);
    free(part);
  }
  /* and from a file */
  for (size_t size = 0; size < file.size; size += 997) {
    spill(in_folder("part.st"), file.data, size);
    sparc_tensors *tensors = NULL;
    assert_int_equal(sparc_tensors_load(in_folder("part.st"), &tensors), SPARC_FORMAT);
    assert_null(tensors);
  }
  free(file.data);
}

static void test_survives_every_bit_flip(void **state) {
  (void)state;
  bytes file = slurp(in_source("tests/vectors/sparc-one.safetensors"));
  size_t start = PREFIX;
  for (int i = 0; i < PREFIX; i++) start += (size_t)file.data[i] << 8 * i;
  for (size_t bit = 0; bit < 8 * file.size; bit++) {
    file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    sparc_tensors *tensors = NULL;
    sparc_status status = sparc_tensors_parse(file.data, file.size, "flipped", &tensors);
    /* a damaged length never fits; damaged data always do; damaged names and metadata may */
    if (bit < 8 * PREFIX) assert_int_equal(status, SPARC_FORMAT);
    if (bit >= 8 * start) assert_int_equal(status, SPARC_OK);
    assert_true(status == SPARC_OK ? tensors != NULL : status == SPARC_FORMAT && !tensors);
    if (tensors) read_everything(tensors);
    sparc_tensors_free(tensors);
    file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  free(file.data);
}

/* the seeds of the fuzzer have descriptive names */
static void check_seed(const char *directory, const char *name) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  sparc_tensors *tensors = NULL;
  sparc_status status = sparc_tensors_load(path, &tensors);
  if (status != (strncmp(name, "ok-", 3) == 0 ? SPARC_OK : SPARC_FORMAT)) fail_msg("%s: %s", path, sparc_error());
  if (tensors) read_everything(tensors);
  sparc_tensors_free(tensors);
}

static void test_fuzz_seeds_give_expected_status(void **state) {
  (void)state;
  assert_true(each_file(in_source("tests/fuzz/corpus/safetensors"), check_seed) >= 10);
}

/* ---- failing to open and to read ---- */

static void assert_open_fails(const char *path, sparc_status expected, const char *fragment) {
  sparc_tensors *tensors = (sparc_tensors *)&tensors;
  assert_int_equal(sparc_tensors_load(path, &tensors), expected);
  assert_null(tensors);
  assert_message(fragment);
}

static void test_open_failures(void **state) {
  (void)state;
  assert_open_fails(in_folder("missing.st"), SPARC_IO, "missing.st': No such file or directory");
  assert_open_fails(folder, SPARC_IO, "it is a directory, not a regular file");
  assert_open_fails("/dev/null", SPARC_IO, "'/dev/null': it is a device, pipe or socket, not a regular file");
  assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
  assert_open_fails(in_folder("pipe"), SPARC_IO, "it is a device, pipe or socket");
  spill(in_folder("empty.st"), "", 0);
  assert_open_fails(in_folder("empty.st"), SPARC_FORMAT, "0 bytes are too few for a safetensors file");
  assert_open_fails("", SPARC_IO, "No such file or directory");
  assert_open_fails(NULL, SPARC_INVALID, "path is NULL");
  assert_int_equal(sparc_tensors_load("x", NULL), SPARC_INVALID);
  assert_message("out is NULL");

  sparc_tensors *tensors;
  assert_int_equal(sparc_tensors_parse(NULL, 3, "n", &tensors), SPARC_INVALID);
  assert_message("data is NULL, expected 3 bytes");
  assert_int_equal(sparc_tensors_parse("abc", 3, NULL, &tensors), SPARC_INVALID);
  assert_message("name is NULL");
  assert_int_equal(sparc_tensors_parse("abc", 3, "n", NULL), SPARC_INVALID);

  /* queries of nothing */
  sparc_tensors_free(NULL);
  assert_int_equal(sparc_tensors_contents_of(NULL).count, 0);
  assert_int_equal(sparc_tensors_contents_of(NULL).metadata_count, 0);
  assert_null(sparc_tensors_find(NULL, "x"));
  assert_null(sparc_tensors_metadata_find(NULL, "x"));
}

/* a sparse file of four gigabytes must be refused for its header, not for what it would cost to load */
static void test_large_file_is_cheap(void **state) {
  (void)state;
  FILE *file = fopen(in_folder("sparse.st"), "wb");
  assert_non_null(file);
  if (ftruncate(fileno(file), (off_t)1 << 32) != 0) {
    fclose(file);
    skip();
  }
  fclose(file);
  assert_open_fails(in_folder("sparse.st"), SPARC_FORMAT, "the header of 0 bytes");
}

static void test_read_failures(void **state) {
  (void)state;
  static const float numbers[6] = {1, 2, 3, 4, 5, 6};
  const sparc_tensor_source source = {"w", SPARC_F32, SPARC_F32, 2, {2, 3}, numbers};
  write_file(in_folder("read.st"), &source, 1, NULL, 0);
  sparc_tensors *tensors = open_file(in_folder("read.st"));
  float out[6] = {-1, -1, -1, -1, -1, -1};
  double wide[6];

  assert_int_equal(sparc_tensors_read(tensors, "v", SPARC_F32, out, 6), SPARC_FORMAT);
  assert_message("read.st: there is no tensor 'v'");
  assert_int_equal(sparc_tensors_read(tensors, "w", SPARC_F32, out, 5), SPARC_FORMAT);
  assert_message("read.st: tensor 'w': shape [2, 3] has 6 elements, expected 5");
  assert_int_equal(sparc_tensors_read(tensors, "w", SPARC_F64, wide, 7), SPARC_FORMAT);
  assert_int_equal(sparc_tensors_read(tensors, "w", SPARC_F32, NULL, 6), SPARC_INVALID);
  assert_message("out is NULL, expected an array of 6 elements");
  assert_int_equal(sparc_tensors_read(tensors, NULL, SPARC_F64, wide, 6), SPARC_INVALID);
  assert_int_equal(sparc_tensors_read(NULL, "w", SPARC_F64, wide, 6), SPARC_INVALID);
  for (int i = 0; i < 6; i++) assert_true(out[i] == -1.0f);

  /* replaced by rename: the open file still has the old numbers */
  static const float others[6] = {9, 9, 9, 9, 9, 9};
  const sparc_tensor_source other = {"w", SPARC_F32, SPARC_F32, 2, {2, 3}, others};
  write_file(in_folder("read.st"), &other, 1, NULL, 0);
  assert_int_equal(sparc_tensors_read(tensors, "w", SPARC_F32, out, 6), SPARC_OK);
  assert_memory_equal(out, numbers, sizeof out);
  sparc_tensors_free(tensors);

  /* cut while open */
  tensors = open_file(in_folder("read.st"));
  assert_int_equal(truncate(in_folder("read.st"), 130), 0);
  assert_int_equal(sparc_tensors_read(tensors, "w", SPARC_F32, out, 6), SPARC_IO);
  assert_message("bytes while open");
  sparc_tensors_free(tensors);
}

/* ---- failing to write ---- */

/* bytes go in and come out as they are, NaN patterns and all, and other types can be read as bytes */
static void test_bytes(void **state) {
  (void)state;
  uint8_t given[256], back[256] = {0};
  for (size_t i = 0; i < sizeof given; i++) given[i] = (uint8_t)(255 - i);
  const float number = 1.5F;
  const sparc_tensor_source sources[] = {{"bytes", SPARC_U8, SPARC_U8, 1, {sizeof given}, given},
                                         {"number", SPARC_F32, SPARC_F32, 0, {0}, &number}};
  assert_int_equal(sparc_tensors_save(in_folder("bytes.st"), sources, 2, NULL, 0), SPARC_OK);
  sparc_tensors *file;
  assert_int_equal(sparc_tensors_load(in_folder("bytes.st"), &file), SPARC_OK);
  assert_int_equal(sparc_tensors_find(file, "bytes")->dtype, SPARC_U8);
  assert_int_equal(sparc_tensors_read(file, "bytes", SPARC_U8, back, sizeof back), SPARC_OK);
  assert_memory_equal(back, given, sizeof given);
  assert_int_equal(sparc_tensors_read(file, "number", SPARC_U8, back, sizeof number), SPARC_OK);
  assert_memory_equal(back, &number, sizeof number);
  assert_int_equal(sparc_tensors_read(file, "bytes", SPARC_U8, back, 255), SPARC_FORMAT);
  assert_message("tensor 'bytes': it has 256 bytes, expected 255");
  assert_int_equal(sparc_tensors_read(file, "other", SPARC_U8, back, 255), SPARC_FORMAT);
  sparc_tensors_free(file);
}

static void test_write_refuses_bad_arguments(void **state) {
  (void)state;
  static const float number[4] = {1, 2, 3, 4};
  static const struct {
    const char *name;
    sparc_dtype dtype, in_type;
    int rank;
    size_t rows, columns;
    const float *data;
    const char *fragment;
  } cases[] = {
      {NULL, SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensors[1].name is NULL"},
      {"\xff", SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensors[1].name is not UTF-8"},
      {"\xc0\x80", SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensors[1].name is not UTF-8"},
      {"\xed\xa0\x80", SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensors[1].name is not UTF-8"},
      {"\xf4\x90\x80\x80", SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensors[1].name is not UTF-8"},
      {"ab\xe2\x82", SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensors[1].name is not UTF-8"},
      {"__metadata__", SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensors[1].name is '__metadata__', which the format"},
      {"w", SPARC_I64, SPARC_F32, 0, 0, 0, number, "tensor 'w': dtype is I64 (10), expected SPARC_F64, SPARC_F32 or"},
      {"w", (sparc_dtype)99, SPARC_F32, 0, 0, 0, number, "tensor 'w': dtype is unknown (99)"},
      {"w", SPARC_F32, SPARC_BF16, 0, 0, 0, number, "tensor 'w': in_type is BF16 (2), expected SPARC_F64 or"},
      {"w", SPARC_F32, SPARC_F32, -1, 0, 0, number, "tensor 'w': rank is -1, expected 0 to 8"},
      {"w", SPARC_F32, SPARC_F32, 9, 1, 1, number, "tensor 'w': rank is 9, expected 0 to 8"},
      {"w", SPARC_F32, SPARC_F32, 2, SIZE_MAX, 2, number, "tensor 'w': the size of shape [18446744073709551615, 2]"},
      {"w", SPARC_F32, SPARC_F32, 2, 0, SIZE_MAX, NULL, "tensor 'w': the size of shape [0, 18446744073709551615]"},
      {"w", SPARC_F32, SPARC_F32, 2, 2, 2, NULL, "tensor 'w': data is NULL, expected 4 elements"},
      {"first", SPARC_F32, SPARC_F32, 0, 0, 0, number, "tensor 'first' is given twice"},
      {"first", SPARC_F64, SPARC_F32, 0, 0, 0, number, "tensor 'first' is given twice"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    const sparc_tensor_source sources[] = {{"first", SPARC_F32, SPARC_F32, 0, {0}, number},
                                           {cases[i].name,
                                            cases[i].dtype,
                                            cases[i].in_type,
                                            cases[i].rank,
                                            {cases[i].rows, cases[i].columns},
                                            cases[i].data}};
    assert_int_equal(sparc_tensors_save(in_folder("bad.st"), sources, 2, NULL, 0), SPARC_INVALID);
    assert_message(cases[i].fragment);
  }

  static const sparc_metadata bad[][2] = {
      {{"k", "v"}, {NULL, "v"}}, {{"k", "v"}, {"l", NULL}}, {{"k", "v"}, {"l", "\xff"}}, {{"k", "v"}, {"\xff", "v"}}};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(sparc_tensors_save(in_folder("bad.st"), NULL, 0, bad[i], 2), SPARC_INVALID);
    assert_message("metadata[1]: key or value is NULL or not UTF-8");
  }
  static const sparc_metadata twice[] = {{"k", "1"}, {"j", "2"}, {"k", "3"}};
  assert_int_equal(sparc_tensors_save(in_folder("bad.st"), NULL, 0, twice, 3), SPARC_INVALID);
  assert_message("metadata key 'k' is given twice");

  assert_int_equal(sparc_tensors_save(NULL, NULL, 0, NULL, 0), SPARC_INVALID);
  assert_message("path is NULL");
  assert_int_equal(sparc_tensors_save(in_folder("bad.st"), NULL, 2, NULL, 0), SPARC_INVALID);
  assert_message("tensors is NULL, expected 2 tensors");
  assert_int_equal(sparc_tensors_save(in_folder("bad.st"), NULL, 0, NULL, 1), SPARC_INVALID);
  assert_message("metadata is NULL, expected 1 entries");

  /* nothing was written on the way */
  assert_int_equal(each_file(folder, NULL), 0);
}

static void assert_write_fails(const char *path, const char *fragment) {
  static const float numbers[4] = {1, 2, 3, 4};
  const sparc_tensor_source source = {"w", SPARC_F32, SPARC_F32, 1, {4}, numbers};
  assert_int_equal(sparc_tensors_save(path, &source, 1, NULL, 0), SPARC_IO);
  assert_message(fragment);
}

static void test_write_failures_by_path(void **state) {
  (void)state;
  assert_write_fails(in_folder("no/such/dir.st"), "no/such/dir.st': opening its directory: No such file");
  assert_int_equal(mkdir(in_folder("subdir"), 0700), 0);
  assert_write_fails(in_folder("subdir"), "subdir': it exists and is a directory, not a regular file");
  assert_int_equal(each_file(in_folder("subdir"), NULL), 0);
  assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
  assert_write_fails(in_folder("pipe"), "pipe': it exists and is a device, pipe or socket, not a regular file");
  spill(in_folder("plain"), "x", 1);
  assert_write_fails(in_folder("plain/below.st"), "opening its directory: Not a directory");
  assert_int_equal(sparc_tensors_save(in_folder("subdir/"), NULL, 0, NULL, 0), SPARC_INVALID);
  assert_message("its last component is empty");
  assert_int_equal(sparc_tensors_save("", NULL, 0, NULL, 0), SPARC_INVALID);

  /* a name of 255 bytes is legal, but leaves no space for the temporary one */
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  assert_write_fails(in_folder(name), "File name too long");
  assert_int_equal(each_file(folder, NULL), 3);
}

/* root may write anywhere, so it becomes nobody for the duration */
static void test_write_into_read_only_directory(void **state) {
  (void)state;
  spill(in_folder("old.st"), "old", 3);
  const uid_t user = geteuid();
  if (user == 0) {
    assert_int_equal(chmod(folder, 0755), 0);
    if (seteuid(65534) != 0) skip();
  } else {
    assert_int_equal(chmod(folder, 0555), 0);
  }
  const float number = 1.0f;
  const sparc_tensor_source source = {"w", SPARC_F32, SPARC_F32, 0, {0}, &number};
  const sparc_status status = sparc_tensors_save(in_folder("old.st"), &source, 1, NULL, 0);
  assert_int_equal(user == 0 ? seteuid(0) : chmod(folder, 0700), 0);
  assert_int_equal(status, SPARC_IO);
  assert_message("old.st': creating the temporary file: Permission denied");
  bytes old = slurp(in_folder("old.st"));
  assert_int_equal(old.size, 3);
  assert_memory_equal(old.data, "old", 3);
  free(old.data);
  assert_int_equal(each_file(folder, NULL), 1);
}

/* A full disk, played by a limit on the size of files. Beyond 64 KiB the write itself fails; a small file stays in the
 * buffer of the stream and fails when it is flushed. */
static void test_full_disk_keeps_the_old_file(void **state) {
  (void)state;
  static const struct {
    size_t elements;
    rlim_t limit;
    const char *step;
  } cases[] = {{100000, 65536, "writing the temporary file"}, {4, 16, "flushing the temporary file to the disk"}};
  spill(in_folder("old.st"), "old", 3);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (int i = 0; i < 2; i++) {
    float *numbers = calloc(cases[i].elements, sizeof *numbers);
    assert_non_null(numbers);
    const sparc_tensor_source source = {"w", SPARC_F32, SPARC_F32, 1, {cases[i].elements}, numbers};
    const struct rlimit limit = {cases[i].limit, before.rlim_max};
    /* without the signal the write reports EFBIG, on the same path as ENOSPC */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const sparc_status status = sparc_tensors_save(in_folder("old.st"), &source, 1, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    free(numbers);

    assert_int_equal(status, SPARC_IO);
    assert_message("old.st': ");
    assert_message(cases[i].step);
    assert_message(strerror(EFBIG));
    bytes old = slurp(in_folder("old.st"));
    assert_int_equal(old.size, 3);
    assert_memory_equal(old.data, "old", 3);
    free(old.data);
    assert_int_equal(each_file(folder, NULL), 1);
  }
}

static void test_write_replaces_and_cleans_up(void **state) {
  (void)state;
  const float number = 5.0f;
  const sparc_tensor_source source = {"w", SPARC_F32, SPARC_F32, 0, {0}, &number};
  float back;

  /* a leftover of a process that died with our number, here a link that must not be followed */
  char leftover[64];
  spill(in_folder("victim"), "victim", 6);
  snprintf(leftover, sizeof leftover, "new.st.tmp.%ld", (long)getpid());
  assert_int_equal(symlink("victim", in_folder(leftover)), 0);
  write_file(in_folder("new.st"), &source, 1, NULL, 0);
  write_file(in_folder("new.st"), &source, 1, NULL, 0);
  assert_int_equal(each_file(folder, NULL), 2);
  bytes victim = slurp(in_folder("victim"));
  assert_int_equal(victim.size, 6);
  free(victim.data);
  sparc_tensors *tensors = open_file(in_folder("new.st"));
  assert_int_equal(sparc_tensors_read(tensors, "w", SPARC_F32, &back, 1), SPARC_OK);
  assert_true(back == number);
  sparc_tensors_free(tensors);

  /* the mode follows the umask */
  const mode_t mask = umask(027);
  write_file(in_folder("mode.st"), &source, 1, NULL, 0);
  umask(mask);
  struct stat status;
  assert_int_equal(stat(in_folder("mode.st"), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0640);

  /* a path without a directory is in the working directory */
  const int here = open(".", O_RDONLY | O_DIRECTORY);
  assert_true(here >= 0);
  assert_int_equal(chdir(folder), 0);
  const sparc_status local = sparc_tensors_save("local.st", &source, 1, NULL, 0);
  assert_int_equal(fchdir(here), 0);
  close(here);
  assert_int_equal(local, SPARC_OK);
  assert_int_equal(access(in_folder("local.st"), F_OK), 0);
}

/* ---- threads ---- */

enum { WRITERS = 3, ROUNDS = 8, FIELD = 5000 };

typedef struct thread_job {
  const char *path;
  float value;
  sparc_status status;
} thread_job;

static void *write_rounds(void *argument) {
  thread_job *job = argument;
  float numbers[FIELD];
  for (int i = 0; i < FIELD; i++) numbers[i] = job->value;
  const sparc_tensor_source source = {"w", SPARC_F32, SPARC_F32, 1, {FIELD}, numbers};
  for (int i = 0; i < ROUNDS && job->status == SPARC_OK; i++)
    job->status = sparc_tensors_save(job->path, &source, 1, NULL, 0);
  return NULL;
}

/* several threads replace one file; whoever reads sees the whole work of one of them */
static void test_concurrent_writers(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s", in_folder("shared.st"));
  thread_job jobs[WRITERS] = {{path, 0.0f, SPARC_OK}};
  pthread_t threads[WRITERS];
  write_rounds(&jobs[0]);
  for (int i = 0; i < WRITERS; i++) {
    jobs[i] = (thread_job){path, (float)(i + 1), SPARC_OK};
    assert_int_equal(pthread_create(&threads[i], NULL, write_rounds, &jobs[i]), 0);
  }
  float numbers[FIELD];
  for (int round = 0; round < 50; round++) {
    sparc_tensors *tensors = open_file(path);
    assert_int_equal(sparc_tensors_read(tensors, "w", SPARC_F32, numbers, FIELD), SPARC_OK);
    for (int i = 1; i < FIELD; i++) assert_true(numbers[i] == numbers[0]);
    sparc_tensors_free(tensors);
  }
  for (int i = 0; i < WRITERS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jobs[i].status, SPARC_OK);
  }
  assert_int_equal(each_file(folder, NULL), 1);
}

/* ---- memory ---- */

static int allocations_left;

static void *scarce_malloc(size_t size) {
  if (allocations_left-- > 0) return malloc(size);
  errno = ENOMEM;
  return NULL;
}

/* the JSON library of the writer runs out of memory at its first, second, ... allocation: a status, no leak, nothing
 * left over */
static void test_survives_failing_allocations(void **state) {
  (void)state;
  static const float numbers[2] = {1, 2};
  const sparc_tensor_source sources[] = {{"a", SPARC_F32, SPARC_F32, 2, {1, 2}, numbers},
                                         {"b", SPARC_F64, SPARC_F32, 0, {0}, numbers}};
  const sparc_metadata metadata[] = {{"key", "value"}};
  int failures = 0;
  sparc_status status = SPARC_NO_MEMORY;
  for (int n = 0; status != SPARC_OK; n++) {
    allocations_left = n;
    json_set_alloc_funcs(scarce_malloc, free);
    status = sparc_tensors_save(in_folder("scarce.st"), sources, 2, metadata, 1);
    json_set_alloc_funcs(malloc, free);
    assert_true(status == SPARC_OK || status == SPARC_NO_MEMORY);
    assert_int_equal(each_file(folder, NULL), status == SPARC_OK);
    failures += status != SPARC_OK;
  }
  assert_true(failures > 10);
}

#define IN_EMPTY_FOLDER(test) cmocka_unit_test_setup(test, empty_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_EMPTY_FOLDER(test_round_trip_of_every_type),
      IN_EMPTY_FOLDER(test_equal_types_keep_every_bit),
      IN_EMPTY_FOLDER(test_shapes_names_and_metadata),
      IN_EMPTY_FOLDER(test_bytes),
      IN_EMPTY_FOLDER(test_layout_of_written_files),
      IN_EMPTY_FOLDER(test_bf16_rounding_cases),
      IN_EMPTY_FOLDER(test_bf16_rounding_everywhere),
      cmocka_unit_test(test_accepts_unusual_files),
      cmocka_unit_test(test_lists_every_type_but_reads_only_numbers),
      cmocka_unit_test(test_refuses_malformed_headers),
      cmocka_unit_test(test_refuses_bad_lengths),
      cmocka_unit_test(test_refuses_bad_text),
      cmocka_unit_test(test_reads_a_real_file),
      IN_EMPTY_FOLDER(test_refuses_every_truncation),
      cmocka_unit_test(test_survives_every_bit_flip),
      cmocka_unit_test(test_fuzz_seeds_give_expected_status),
      IN_EMPTY_FOLDER(test_open_failures),
      IN_EMPTY_FOLDER(test_large_file_is_cheap),
      IN_EMPTY_FOLDER(test_read_failures),
      IN_EMPTY_FOLDER(test_write_refuses_bad_arguments),
      IN_EMPTY_FOLDER(test_write_failures_by_path),
      IN_EMPTY_FOLDER(test_write_into_read_only_directory),
      IN_EMPTY_FOLDER(test_full_disk_keeps_the_old_file),
      IN_EMPTY_FOLDER(test_write_replaces_and_cleans_up),
      IN_EMPTY_FOLDER(test_concurrent_writers),
      IN_EMPTY_FOLDER(test_survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("safetensors", tests, make_folder, remove_folder);
}
