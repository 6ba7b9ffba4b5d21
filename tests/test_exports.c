/* SPDX-License-Identifier: MIT */
/* test_exports.c: data files as people have them: NumPy's arrays in every order and type, archives of arrays, CSV as
 * spreadsheets and data frames write it. */
#include "sparc/data.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

enum { BUFFER_SIZE = 4096 };

typedef struct bytes {
  uint8_t data[BUFFER_SIZE];
  size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size) {
  assert_true(b->size + size <= BUFFER_SIZE);
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void put_number(bytes *b, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; i++, value >>= 8) put(b, &(uint8_t){(uint8_t)value}, 1);
}

/* an NPY file of this header and these elements */
static bytes npy(const char *descr, bool fortran, const char *shape, const void *elements, size_t size) {
  char header[160];
  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
           fortran ? "True" : "False", shape);
  bytes b = {.size = 0};
  put(&b, "\x93NUMPY\1\0", 8);
  put_number(&b, strlen(header), 2);
  put(&b, header, strlen(header));
  put(&b, elements, size);
  return b;
}

static sparc_dataset *read_bytes(const char *name, const bytes *b, sparc_read_options o) {
  sparc_dataset *d;
  const sparc_status status = sparc_dataset_parse(b->data, b->size, name, &o, &d);
  if (status != SPARC_OK) fail_msg("%s: %s", name, sparc_error());
  return d;
}

static void refuse_bytes(const char *name, const bytes *b, sparc_read_options o, const char *message) {
  sparc_dataset *d;
  assert_int_equal(sparc_dataset_parse(b->data, b->size, name, &o, &d), SPARC_FORMAT);
  if (!strstr(sparc_error(), message)) fail_msg("'%s' does not contain '%s'", sparc_error(), message);
}

static void expect_series(const sparc_dataset *d, int i, int count, const float *values) {
  assert_int_equal(sparc_dataset_example(d, i).length * sparc_dataset_info_of(d).channels, count);
  for (int k = 0; k < count; k++) {
    const float got = sparc_dataset_example(d, i).x[k];
    if (!(got == values[k] || (isnan(got) && isnan(values[k]))))
      fail_msg("example %d, value %d is %g, expected %g", i, k, (double)got, (double)values[k]);
  }
}
#define SERIES(d, i, ...) \
  expect_series(d, i, (int)(sizeof(float[]){__VA_ARGS__} / sizeof(float)), (float[]){__VA_ARGS__})

static void expect_label(const sparc_dataset *d, int i, const char *label) {
  assert_string_equal(sparc_dataset_info_of(d).class_names[sparc_dataset_example(d, i).label], label);
}

/* ---- NPY ---- */

static void test_npy_half(void **state) {
  (void)state;
  /* 1, -2, the greatest, the least subnormal, missing, 0 */
  const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x7e00, 0x8000};
  const bytes x = npy("<f2", false, "(2, 3)", halves, sizeof halves);
  sparc_dataset *d = read_bytes("x.npy", &x, (sparc_read_options){.format = SPARC_DATA_AUTO});
  SERIES(d, 0, 1, -2, 65504);
  SERIES(d, 1, 0x1p-24F, NAN, 0);
  sparc_dataset_free(d);
  const uint16_t infinite[] = {0x7c00};
  const bytes bad = npy("<f2", false, "(1, 1)", infinite, sizeof infinite);
  refuse_bytes("x.npy", &bad, (sparc_read_options){.format = SPARC_DATA_AUTO}, "example 1: value 1 is inf");
}

static void test_npy_fortran(void **state) {
  (void)state;
  /* value = 100 n + 10 t + c, stored with the first index running fastest */
  float values[2 * 3 * 2];
  for (int n = 0; n < 2; n++)
    for (int t = 0; t < 3; t++)
      for (int c = 0; c < 2; c++) values[n + 2 * (t + 3 * c)] = (float)(100 * n + 10 * t + c);
  const bytes x = npy("<f4", true, "(2, 3, 2)", values, sizeof values);
  sparc_dataset *d = read_bytes("x.npy", &x, (sparc_read_options){.format = SPARC_DATA_AUTO});
  SERIES(d, 0, 0, 1, 10, 11, 20, 21);
  SERIES(d, 1, 100, 101, 110, 111, 120, 121);
  sparc_dataset_free(d);
  const uint8_t pixels[] = {1, 4, 2, 5, 3, 6};
  const bytes small = npy("|u1", true, "(2, 3)", pixels, sizeof pixels);
  d = read_bytes("x.npy", &small, (sparc_read_options){.format = SPARC_DATA_AUTO});
  SERIES(d, 1, 4, 5, 6);
  sparc_dataset_free(d);
}

static void test_npy_text_labels(void **state) {
  (void)state;
  const float values[] = {1, 2, 3};
  const bytes x = npy("<f4", false, "(3, 1)", values, sizeof values);
  const uint32_t unicode[] = {'n', 'o', 0, 0xe9, 0x1f642, 0, 'n', 'o', 0};
  bytes y = npy("<U3", false, "(3,)", unicode, sizeof unicode);
  sparc_dataset *d = read_bytes("x.npy", &x, (sparc_read_options){.labels_data = y.data, .labels_size = y.size});
  assert_int_equal(sparc_dataset_info_of(d).classes, 2);
  expect_label(d, 0, "no");
  expect_label(d, 1, "\xc3\xa9\xf0\x9f\x99\x82");
  expect_label(d, 2, "no");
  sparc_dataset_free(d);
  y = npy("|S2", false, "(3, 1)", "a\0bbc\0", 6);
  d = read_bytes("x.npy", &x, (sparc_read_options){.labels_data = y.data, .labels_size = y.size});
  expect_label(d, 1, "bb");
  sparc_dataset_free(d);
  y = npy("|S3", false, "(3,)", "a\0bccceee", 9);
  refuse_bytes("x.npy", &x, (sparc_read_options){.labels_data = y.data, .labels_size = y.size}, "has a zero inside");
  y = npy("|S1", false, "(3, 2)", "abcdef", 6);
  refuse_bytes("x.npy", &x, (sparc_read_options){.labels_data = y.data, .labels_size = y.size}, "labels of shape");
}

/* ---- NPZ ---- */

typedef struct zip {
  bytes file, directory;
  int members;
} zip;

static size_t deflate_raw(const bytes *in, uint8_t *out, size_t out_size) {
  z_stream z = {.zalloc = Z_NULL};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = in->data, z.avail_in = (uInt)in->size, z.next_out = out, z.avail_out = (uInt)out_size;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  const size_t size = z.total_out;
  deflateEnd(&z);
  return size;
}

/* what both headers of a member have in common */
static void put_facts(bytes *b, int method, unsigned long checksum, size_t packed, size_t unpacked, size_t name) {
  put_number(b, 20, 2);
  put_number(b, 0, 2);
  put_number(b, (uint64_t)method, 2);
  put_number(b, 0, 4);
  put_number(b, checksum, 4);
  put_number(b, packed, 4);
  put_number(b, unpacked, 4);
  put_number(b, name, 2);
  put_number(b, 0, 2);
}

static void zip_add(zip *z, const char *name, const bytes *member, bool deflated) {
  uint8_t buffer[BUFFER_SIZE];
  const size_t at = z->file.size, packed = deflated ? deflate_raw(member, buffer, sizeof buffer) : member->size;
  const unsigned long checksum = crc32_z(0, member->data, member->size);
  const int method = deflated ? 8 : 0;
  put(&z->file, "PK\3\4", 4);
  put_facts(&z->file, method, checksum, packed, member->size, strlen(name));
  put(&z->file, name, strlen(name));
  put(&z->file, deflated ? buffer : member->data, packed);
  put(&z->directory, "PK\1\2\24\0", 6);
  put_facts(&z->directory, method, checksum, packed, member->size, strlen(name));
  put_number(&z->directory, 0, 10);
  put_number(&z->directory, at, 4);
  put(&z->directory, name, strlen(name));
  z->members++;
}

static bytes zip_end(zip *z) {
  const size_t at = z->file.size;
  put(&z->file, z->directory.data, z->directory.size);
  put(&z->file, "PK\5\6\0\0\0\0", 8);
  put_number(&z->file, (uint64_t)z->members, 2);
  put_number(&z->file, (uint64_t)z->members, 2);
  put_number(&z->file, z->directory.size, 4);
  put_number(&z->file, at, 4);
  put_number(&z->file, 0, 2);
  return z->file;
}

static bytes archive(const char *x_name, const char *y_name, bool deflated) {
  const float values[] = {1, 2, 3, 4};
  const int64_t labels[] = {7, 5};
  const bytes x = npy("<f4", false, "(2, 2)", values, sizeof values),
              y = npy("<i8", false, "(2,)", labels, sizeof labels);
  zip z = {.members = 0};
  zip_add(&z, y_name, &y, deflated);
  zip_add(&z, x_name, &x, deflated);
  return zip_end(&z);
}

static void test_npz(void **state) {
  (void)state;
  static const struct {
    const char *x, *y;
    sparc_read_options o;
  } cases[] = {{"x.npy", "y.npy", {.unlabelled = 0}},
               {"arr_0.npy", "arr_1.npy", {.unlabelled = 0}},
               {"signal.npy", "kind.npy", {.series_array = "signal", .labels_array = "kind"}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int deflated = 0; deflated < 2; deflated++) {
      const bytes b = archive(cases[i].x, cases[i].y, deflated);
      sparc_dataset *d = read_bytes("some", &b, cases[i].o);
      SERIES(d, 0, 1, 2);
      SERIES(d, 1, 3, 4);
      expect_label(d, 0, "7");
      expect_label(d, 1, "5");
      sparc_dataset_free(d);
    }
  }
  const bytes named = archive("signal.npy", "kind.npy", false);
  refuse_bytes("a.npz", &named, (sparc_read_options){.unlabelled = 0},
               "a.npz: no array has a default name for the series, expected series_array with one of kind, signal");
  refuse_bytes("a.npz", &named, (sparc_read_options){.series_array = "X"},
               "a.npz: there is no array 'X', expected one of kind, signal");
  sparc_dataset *d = read_bytes("a.npz", &named, (sparc_read_options){.series_array = "signal"});
  assert_int_equal(sparc_dataset_info_of(d).classes, 0);
  sparc_dataset_free(d);
}

static void test_npz_damaged(void **state) {
  (void)state;
  const bytes whole = archive("x.npy", "y.npy", true);
  bytes b = whole;
  b.size -= 30;
  refuse_bytes("a.npz", &b, (sparc_read_options){.unlabelled = 0},
               "a.npz: the archive is damaged: it has no directory");
  /* one byte after the other is changed: never a crash, and an error message names the file */
  for (size_t at = 4; at < whole.size; at++) {
    b = whole;
    b.data[at] ^= 0x41;
    sparc_dataset *d;
    const sparc_status status = sparc_dataset_parse(b.data, b.size, "a.npz", NULL, &d);
    if (status != SPARC_OK && strncmp(sparc_error(), "a.npz", 5) != 0) fail_msg("byte %zu: %s", at, sparc_error());
    sparc_dataset_free(d);
  }
}

/* ---- CSV ---- */

static bytes text(const char *content) {
  bytes b = {.size = 0};
  put(&b, content, strlen(content));
  return b;
}

static sparc_dataset *read_text(const char *content, sparc_read_options o) {
  const bytes b = text(content);
  return read_bytes("toy.csv", &b, o);
}

static void refuse_text(const char *content, sparc_read_options o, const char *message) {
  const bytes b = text(content);
  refuse_bytes("toy.csv", &b, o, message);
}

static void test_csv_columns(void **state) {
  (void)state;
  /* columns that are nothing, by name and by number; the label is the last that is left */
  sparc_dataset *d = read_text("when,a,b,kind,note\n2024-01-05,1,2,x,hm\n2024-01-06,3,4,y,ha\n",
                               (sparc_read_options){.ignore_columns = "when, 5"});
  SERIES(d, 0, 1, 2);
  expect_label(d, 1, "y");
  sparc_dataset_free(d);
  d = read_text("1,2\n3,4\n", (sparc_read_options){.unlabelled = 1, .ignore_columns = "1"});
  SERIES(d, 1, 4);
  sparc_dataset_free(d);
  refuse_text("a,b,c\n1,2,x\n", (sparc_read_options){.ignore_columns = "z"},
              "toy.csv:1: there is no column 'z', expected a name in the first row or a number from 1 to 3; the first "
              "row is a, b, c");
  refuse_text("a,b,c\n1,2,x\n", (sparc_read_options){.ignore_columns = "a", .label_column = "a"},
              "toy.csv:1: column 'a' cannot be ignored and the label");
}

static void test_csv_channels(void **state) {
  (void)state;
  sparc_dataset *d = read_text("1,2,3,4,x\n5,6,7,8,y\n", (sparc_read_options){.channels = 2});
  assert_int_equal(sparc_dataset_info_of(d).channels, 2);
  SERIES(d, 0, 1, 2, 3, 4);
  sparc_dataset_free(d);
  /* names give channel and step, in any order */
  d = read_text("gx_1,gx_2,gy_2,gy_1,kind\n1,2,30,20,x\n", (sparc_read_options){.unlabelled = 0});
  assert_int_equal(sparc_dataset_info_of(d).channels, 2);
  SERIES(d, 0, 1, 20, 2, 30);
  sparc_dataset_free(d);
  /* of a single name, too; a step that is missing makes them no names of steps */
  d = read_text("t_1,t_0,kind\n1,2,x\n", (sparc_read_options){.unlabelled = 0});
  assert_int_equal(sparc_dataset_info_of(d).channels, 1);
  SERIES(d, 0, 2, 1);
  sparc_dataset_free(d);
  d = read_text("t_2,t_0,kind\n1,2,x\n", (sparc_read_options){.unlabelled = 0});
  SERIES(d, 0, 1, 2);
  sparc_dataset_free(d);
  d = read_text("a_0,a_1,b_0,b_2,kind\n1,2,3,4,x\n", (sparc_read_options){.unlabelled = 0});
  assert_int_equal(sparc_dataset_info_of(d).channels, 1);
  sparc_dataset_free(d);
  refuse_text("1,2,3,x\n", (sparc_read_options){.channels = 2},
              "toy.csv:1: 3 values in a row are not a multiple of 2 channels");
}

static void test_csv_long(void **state) {
  (void)state;
  /* rows in any order, ids in the order in which they come, unequal lengths */
  sparc_dataset *d = read_text(
      "id,t,a,b,kind\n"
      "q,2,3,4,up\n"
      "p,10,9,9,down\n"
      "q,1,1,2,up\n"
      "p,9,8,8,down\n"
      "q,10,5,6,up\n",
      (sparc_read_options){.id_column = "id", .time_column = "t"});
  assert_int_equal(sparc_dataset_info_of(d).count, 2);
  assert_int_equal(sparc_dataset_info_of(d).channels, 2);
  SERIES(d, 0, 1, 2, 3, 4, 5, 6);
  SERIES(d, 1, 8, 8, 9, 9);
  expect_label(d, 0, "up");
  expect_label(d, 1, "down");
  sparc_dataset_free(d);
  /* dates order as texts; without an id the file is one series */
  d = read_text("date,value\n2024-01-03,3\n2024-01-01,1\n2024-01-02,2\n",
                (sparc_read_options){.time_column = "date", .unlabelled = 1});
  assert_int_equal(sparc_dataset_info_of(d).count, 1);
  SERIES(d, 0, 1, 2, 3);
  sparc_dataset_free(d);
  refuse_text("id,a,kind\n1,2,x\n1,3,y\n", (sparc_read_options){.id_column = "id"},
              "toy.csv:3: the label of id '1' is 'y', but 'x' in line 2");
  refuse_text("id,a,kind\n1,?,x\n1,NA,x\n", (sparc_read_options){.id_column = "id"},
              "toy.csv:2: all values of id '1' are missing");
}

static void test_csv_spellings(void **state) {
  (void)state;
  sparc_dataset *d = read_text("sep=;\n1,5;-2;x\n3;4,25;y\n", (sparc_read_options){.decimal = ","});
  SERIES(d, 0, 1.5F, -2);
  SERIES(d, 1, 3, 4.25F);
  sparc_dataset_free(d);
  d = read_text("sep=|\n1|2|x\n", (sparc_read_options){.unlabelled = 0});
  SERIES(d, 0, 1, 2);
  sparc_dataset_free(d);
  d = read_text("1,NA,2,null,3,#N/A,n/a,None,x\n", (sparc_read_options){.unlabelled = 0});
  SERIES(d, 0, 1, NAN, 2, NAN, 3, NAN, NAN, NAN);
  sparc_dataset_free(d);
  /* which are labels in the label column */
  d = read_text("1,NA\n2,none\n", (sparc_read_options){.unlabelled = 0});
  assert_int_equal(sparc_dataset_info_of(d).classes, 2);
  sparc_dataset_free(d);
}

static void test_csv_hints(void **state) {
  (void)state;
  const sparc_read_options defaults = {.unlabelled = 0};
  refuse_text("1;2;x\n1,5;2;y\n", defaults,
              "toy.csv:2: column 1 is '1,5', expected a number, NaN or ?; for a decimal comma set decimal ,");
  refuse_text("1,2,3,4,x\n2024-01-05,2,3,4,y\n", defaults,
              "for a date set ignore_columns or time_column to its column");
  refuse_text("1,2,3,4,x\n5/31/24 12:00,2,3,4,y\n", defaults, "for a date set");
  refuse_text("1,2,3,4,x\n1949-01,2,3,4,y\n", defaults, "for a date set");
  refuse_text("1,2,3,4,x\n1970 Q1,2,3,4,y\n", defaults, "for a date set");
  refuse_text("1,2,3,4,x\n1970 Q5,2,3,4,y\n", defaults, "ignore_columns skips a column");
  refuse_text("1,2,3,4,x\n19-49,2,3,4,y\n", defaults, "ignore_columns skips a column");
  bytes b = {.size = 0};
  put(&b,
      "\xff\xfe"
      "1\0,\0x\0\n\0",
      10);
  refuse_bytes("toy.csv", &b, defaults, "toy.csv: the text is UTF-16, expected UTF-8");
  refuse_bytes("toy", &b, defaults, "toy: the text is UTF-16, expected UTF-8");
  refuse_text("1,2,x\r3,4,y\r", defaults, "toy.csv:1: a carriage return alone in column 6");
  refuse_text("1,x\n2,y\n3,z\n", (sparc_read_options){.max_rows = 2},
              "toy.csv: more than the limit of 2 rows; max_rows allows more");
  const bytes prose = text("Dear reader,\nthis is no data\n");
  refuse_bytes("letter", &prose, defaults, "letter: unknown format");
}

static void test_ts_comments(void **state) {
  (void)state;
  const bytes b = text("% about\n@classLabel true a b\n@data\n% more\n1,2:a\n");
  sparc_dataset *d = read_bytes("toy", &b, (sparc_read_options){.unlabelled = 0});
  SERIES(d, 0, 1, 2);
  sparc_dataset_free(d);
}

/* ---- targets that are numbers ---- */

static void expect_target(const sparc_dataset *d, int i, int count, const float *values) {
  for (int k = 0; k < count; k++)
    if (sparc_dataset_example(d, i).target[k] != values[k])
      fail_msg("target %d of example %d is %g, expected %g", k, i, (double)sparc_dataset_example(d, i).target[k],
               (double)values[k]);
}
#define TARGET(d, i, ...) \
  expect_target(d, i, (int)(sizeof(float[]){__VA_ARGS__} / sizeof(float)), (float[]){__VA_ARGS__})

static const sparc_read_options regress = {.objective = SPARC_OBJECTIVE_REGRESS};

static void test_text_targets(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    sparc_read_options o;
  } cases[] = {
      {"x.csv", "1,2,0.5\n3,4,-1e3\n", {.objective = SPARC_OBJECTIVE_REGRESS}},
      {"x.csv",
       "y;a;b\n0,5;1;2\n-1000;3;4\n",
       {.objective = SPARC_OBJECTIVE_REGRESS, .label_column = "y", .decimal = ","}},
      {"x.tsv", "0.5\t1\t2\n-1000\t3\t4\n", {.objective = SPARC_OBJECTIVE_REGRESS}},
      {"x.ts", "@targetLabel true\n@data\n1,2:0.5\n3,4:-1000\n", {.objective = SPARC_OBJECTIVE_REGRESS}},
      {"x.csv",
       "id,v,y\na,1,.5\na,2,.5\nb,3,-1000\nb,4,-1000\n",
       {.objective = SPARC_OBJECTIVE_REGRESS, .id_column = "id"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const bytes b = text(cases[i].text);
    sparc_dataset *d = read_bytes(cases[i].name, &b, cases[i].o);
    assert_int_equal(sparc_dataset_info_of(d).targets, 1);
    assert_int_equal(sparc_dataset_info_of(d).target_steps, 0);
    assert_int_equal(sparc_dataset_info_of(d).classes, 0);
    SERIES(d, 1, 3, 4);
    TARGET(d, 0, 0.5F);
    TARGET(d, 1, -1000);
    /* a subset takes its targets along */
    sparc_dataset *part;
    assert_int_equal(sparc_dataset_subset(d, (int[]){1}, 1, NULL, &part), SPARC_OK);
    sparc_dataset_free(d);
    TARGET(part, 0, -1000);
    sparc_dataset_free(part);
  }
  refuse_text("1,2,x\n", regress, "toy.csv:1: the target is 'x', expected a number");
  refuse_text("1,2,1\n1,2,NA\n", regress, "toy.csv:2: the target is 'NA', expected a number");
  const bytes ts = text("@targetLabel true\n@data\n1,2:0.5\n");
  refuse_bytes("x.ts", &ts, (sparc_read_options){.unlabelled = 0}, "x.ts:1: @targetLabel true: the labels are numbers");
}

static void test_step_targets(void **state) {
  (void)state;
  sparc_dataset *d = read_text("id,v,y\na,1,10\na,2,20\nb,3,30\n",
                               (sparc_read_options){.objective = SPARC_OBJECTIVE_REGRESS, .id_column = "id"});
  assert_int_equal(sparc_dataset_info_of(d).target_steps, 1);
  TARGET(d, 0, 10, 20);
  TARGET(d, 1, 30);
  sparc_dataset_free(d);
}

static void test_array_targets(void **state) {
  (void)state;
  const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120};
  const bytes series = npy("<f4", false, "(2, 3)", x, sizeof x);
  static const struct {
    const char *shape;
    size_t count;
    int width, steps;
    float second; /* first target of example 1 */
  } cases[] = {{"(2,)", 2, 1, 0, 20},
               {"(2, 1)", 2, 1, 0, 20},
               {"(2, 2)", 4, 2, 0, 30},
               {"(2, 3)", 6, 1, 1, 40},
               {"(2, 3, 2)", 12, 2, 1, 70}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const bytes targets = npy("<f4", false, cases[i].shape, y, cases[i].count * sizeof *y);
    sparc_read_options o = regress;
    o.labels_data = targets.data, o.labels_size = targets.size;
    sparc_dataset *d = read_bytes("x.npy", &series, o);
    assert_int_equal(sparc_dataset_info_of(d).targets, cases[i].width);
    assert_int_equal(sparc_dataset_info_of(d).target_steps, cases[i].steps);
    TARGET(d, 1, cases[i].second);
    sparc_dataset_free(d);
  }
  const bytes wrong = npy("<f4", false, "(2, 2, 1)", y, 4 * sizeof *y);
  sparc_read_options o = regress;
  o.labels_data = wrong.data, o.labels_size = wrong.size;
  refuse_bytes("x.npy", &series, o, "labels: targets of shape [2, 2, 1], expected [2], [2, K], [2, 3] or [2, 3, K]");
}

static void test_forecast(void **state) {
  (void)state;
  sparc_dataset *d = read_text("1,10,2,20,3,30\n4,40,5,50,6,60\n",
                               (sparc_read_options){.objective = SPARC_OBJECTIVE_FORECAST, .channels = 2});
  assert_int_equal(sparc_dataset_forecast(d, 1), SPARC_OK);
  assert_int_equal(sparc_dataset_info_of(d).targets, 2);
  SERIES(d, 1, 0, 0, 1, 10);
  TARGET(d, 1, 1, 10, 1, 10);
  assert_int_equal(sparc_dataset_forecast(d, 1), SPARC_INVALID);
  sparc_dataset_free(d);
  d = read_text("1,2\n", (sparc_read_options){.objective = SPARC_OBJECTIVE_FORECAST});
  assert_int_equal(sparc_dataset_forecast(d, 2), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "has 2 steps, expected more than the horizon of 2"));
  sparc_dataset_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_npy_half),     cmocka_unit_test(test_npy_fortran),   cmocka_unit_test(test_npy_text_labels),
      cmocka_unit_test(test_npz),          cmocka_unit_test(test_npz_damaged),   cmocka_unit_test(test_csv_columns),
      cmocka_unit_test(test_csv_channels), cmocka_unit_test(test_csv_long),      cmocka_unit_test(test_csv_spellings),
      cmocka_unit_test(test_csv_hints),    cmocka_unit_test(test_ts_comments),   cmocka_unit_test(test_text_targets),
      cmocka_unit_test(test_step_targets), cmocka_unit_test(test_array_targets), cmocka_unit_test(test_forecast),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
