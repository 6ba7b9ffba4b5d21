/* SPDX-License-Identifier: MIT */
/* test_data.c: readers, label maps, missing values, normalisation, splits and named data sets. Every format is written
 * here byte by byte, good and bad; real data is used where it is at hand (SPARC_DATA, or ../shared/data beside the
 * source tree) and the test reports their absence. */
#include "base/random.h"
#include "data/catalog.h"
#include "data/normalise.h"
#include "scratch.h"
#include "sparc/data.h"
#include "sparc/random.h"
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- failing allocations: as in test_memory.c, for this program alone ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#else
#define OWN_ALLOCATOR 1
#endif

static long allocations, live, fail_at;

#if OWN_ALLOCATOR
extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static void *counted(void *memory) {
  live += memory != NULL;
  return memory;
}

static bool refuse(void) { return ++allocations == fail_at && (errno = ENOMEM, true); }
void *malloc(size_t size) { return refuse() ? NULL : counted(__libc_malloc(size)); }
void *realloc(void *memory, size_t size) {
  if (refuse()) return NULL;
  void *larger = __libc_realloc(memory, size);
  live += larger && !memory;
  return larger;
}
void *aligned_alloc(size_t alignment, size_t size) {
  return refuse() ? NULL : counted(__libc_memalign(alignment, size));
}
void free(void *memory) {
  live -= memory != NULL;
  __libc_free(memory);
}
#endif

/* ---- helpers ---- */

typedef struct bytes {
  uint8_t data[1 << 16];
  size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size) {
  assert_true(b->size + size <= sizeof b->data);
  if (size) memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void put_byte(bytes *b, int value) { put(b, &(uint8_t){(uint8_t)value}, 1); }

/* the low `width` bytes of bits in either order */
static void put_bits(bytes *b, uint64_t bits, int width, bool big) {
  for (int k = 0; k < width; k++) put_byte(b, (int)(bits >> 8 * (big ? width - 1 - k : k) & 0xff));
}

static sparc_status parse(const char *name, const void *data, size_t size, const sparc_read_options *o,
                          sparc_dataset **out) {
  /* a block of exactly the size, so that a sanitizer sees reads beyond it */
  uint8_t *copy = malloc(size ? size : 1);
  assert_non_null(copy);
  if (size) memcpy(copy, data, size);
  sparc_status status = sparc_dataset_parse(copy, size, name, o, out);
  free(copy);
  return status;
}

static sparc_dataset *good(const char *name, const void *data, size_t size, const sparc_read_options *o) {
  sparc_dataset *d;
  if (parse(name, data, size, o, &d) != SPARC_OK) fail_msg("%s is refused: %s", name, sparc_error());
  return d;
}

static sparc_dataset *good_text(const char *name, const char *text) { return good(name, text, strlen(text), NULL); }

/* the input is refused with a message that contains this text */
static void bad(const char *name, const void *data, size_t size, const sparc_read_options *o, const char *fragment) {
  sparc_dataset *d = (sparc_dataset *)&d;
  const sparc_status status = parse(name, data, size, o, &d);
  if (status != SPARC_FORMAT || d || !strstr(sparc_error(), fragment) ||
      strncmp(sparc_error(), name, strlen(name)) != 0)
    fail_msg("%s gives '%s' and \"%s\", expected 'format' and \"%s\"", name, sparc_status_name(status), sparc_error(),
             fragment);
}

static void expect_series(const sparc_dataset *d, int i, int length, const float *want) {
  assert_int_equal(sparc_dataset_example(d, i).length, length);
  const int channels = sparc_dataset_info_of(d).channels;
  for (int k = 0; k < length * channels; k++) {
    const float got = sparc_dataset_example(d, i).x[k];
    if (isnan(want[k]) ? !isnan(got) : got != want[k])
      fail_msg("example %d, value %d is %g, expected %g", i, k, got, want[k]);
  }
}
#define SERIES(d, i, ...) \
  expect_series(d, i, (int)COUNT(((float[]){__VA_ARGS__})) / sparc_dataset_info_of(d).channels, (float[]){__VA_ARGS__})

/* the label texts in class order, and the classes of the examples */
static void expect_labels(const sparc_dataset *d, const char *const *labels, const int *classes) {
  int count = 0;
  for (; labels[count]; count++) assert_string_equal(sparc_dataset_info_of(d).class_names[count], labels[count]);
  assert_int_equal(sparc_dataset_info_of(d).classes, count);
  for (int i = 0, examples = sparc_dataset_info_of(d).count; i < examples; i++)
    assert_int_equal(sparc_dataset_example(d, i).label, classes[i]);
}
#define LABELS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define CLASSES(...) ((const int[]){__VA_ARGS__})

typedef struct bad_case {
  const char *text, *fragment;
} bad_case;

static void bad_texts(const char *name, const bad_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) bad(name, cases[i].text, strlen(cases[i].text), NULL, cases[i].fragment);
}

/* writes a file below the folder and makes the folders on its way */
static const char *spill(const char *name, const void *data, size_t size) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = '\0';
    if (mkdir(path, 0700) != 0) assert_int_equal(errno, EEXIST);
    *slash = '/';
  }
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  return in_folder(name);
}

static const char *spill_text(const char *name, const char *text) { return spill(name, text, strlen(text)); }

/* ---- UCR text ---- */

static void test_ucr(void **state) {
  (void)state;
  const char *const spellings[] = {"2\t1.5\t-2e1\t3\n1\t4\t5\t6\n2\t7\t8\t9\n", "2,1.5,-2e1,3\n1,4,5,6\n2,7,8,9",
                                   "  2  1.5 -2e1 3  \n  1 4\t 5 6\n\n2 7 8 9\n",
                                   "\xef\xbb\xbf"
                                   "2\t1.5\t-2e1\t3\r\n1\t4\t5\t6\r\n2\t7\t8\t9\r\n",
                                   "2 , 1.5 , -2e1,3\n\n1,4,5,6\n \n2,7,8,9\n"};
  for (size_t i = 0; i < COUNT(spellings); i++) {
    sparc_dataset *d = good_text("x/Toy_TRAIN.tsv.gz", spellings[i]);
    assert_string_equal(sparc_dataset_info_of(d).name, "Toy_TRAIN");
    assert_int_equal(sparc_dataset_info_of(d).count, 3);
    assert_int_equal(sparc_dataset_info_of(d).channels, 1);
    assert_int_equal(sparc_dataset_info_of(d).missing, 0);
    SERIES(d, 0, 1.5F, -20, 3);
    SERIES(d, 2, 7, 8, 9);
    expect_labels(d, LABELS("1", "2"), CLASSES(1, 0, 1));
    sparc_dataset_free(d);
  }
}

static void test_ucr_missing(void **state) {
  (void)state;
  sparc_dataset *d =
      good_text("toy.tsv", "a\t1\tNaN\t3\tNaN\tnan\nb\t?\t5\t6\t7\t8\na\t1\t2\t3\t4\t\n?\t-nan\t2\t3\t4\t5\n");
  SERIES(d, 0, 1, NAN, 3);
  SERIES(d, 1, NAN, 5, 6, 7, 8);
  SERIES(d, 2, 1, 2, 3, 4);
  expect_labels(d, LABELS("a", "b"), CLASSES(0, 1, 0, -1));
  assert_int_equal(sparc_dataset_info_of(d).missing, 3);
  assert_int_equal(sparc_dataset_info_of(d).shortest, 3);
  assert_int_equal(sparc_dataset_info_of(d).longest, 5);
  assert_int_equal(sparc_dataset_example(d, 4).length, 0);
  assert_int_equal(sparc_dataset_example(d, -1).length, 0);
  assert_null(sparc_dataset_example(d, 4).x);
  assert_int_equal(sparc_dataset_example(d, 4).label, -1);
  sparc_dataset_free(d);

  /* without labels, all columns are values */
  d = good("toy.tsv", "1\t2\n3\t4\n", 8, &(sparc_read_options){.unlabelled = 1});
  SERIES(d, 1, 3, 4);
  assert_int_equal(sparc_dataset_info_of(d).classes, 0);
  assert_int_equal(sparc_dataset_example(d, 0).label, -1);
  sparc_dataset_free(d);
}

static void test_ucr_errors(void **state) {
  (void)state;
  static const bad_case cases[] = {
      {"", "toy.tsv:1: the file is empty"},
      {"\n \n", "toy.tsv:1: no series"},
      {"1\t2\t3\n1\t2\tabc\n", "toy.tsv:2: value 2 is 'abc', expected a number, NaN or ?"},
      {"1\t2\t3\n\n1\t2\n", "toy.tsv:3: 1 values, expected 2 as in line 1"},
      {"1\t2\t3\n1\t2\t3\t4\n", "toy.tsv:2: 3 values, expected 2 as in line 1"},
      {"1\n", "toy.tsv:1: there is nothing but '1', expected a label and values"},
      {"1\t2\n2\tNaN\n", "toy.tsv:2: all 1 values are missing"},
      {"1\tNaN\tNaN\n", "toy.tsv:1: all 2 values are missing"},
      {"1\t2\n1\tinf\n", "toy.tsv:2: value 1 is 'inf', expected a finite number up to 3.4e38"},
      {"1\t2\n1\t1e39\n", "toy.tsv:2: value 1 is '1e39', expected a finite number up to 3.4e38"},
      {"1\t0x10\n", "toy.tsv:1: value 1 is '0x10', expected a number"},
      {"1\t1 2\n", "toy.tsv:1: value 1 is '1 2', expected a number"},
      {"1\t1e\n", "value 1 is '1e'"},
      {"1\t--1\n", "value 1 is '--1'"},
      {"1\t.\n", "value 1 is '.'"},
      {"1\t1.2.3\n", "value 1 is '1.2.3'"},
      {"1\tinfinity\n", "value 1 is 'infinity'"},
      {"1\t2\n1\t2\x01\n", "toy.tsv:2: byte 0x01 in column 4, expected text"},
      {"1\t2\n1\r2\n", "toy.tsv:2: a carriage return alone in column 2"},
      {"1\t2\n\xff\t2\n", "toy.tsv:2: the label '?' is not UTF-8 text"},
      {"1\t2\n\xc0\x80\t2\n", "' is not UTF-8 text"},
      {"1\t2\n\xed\xa0\x80\t2\n", "' is not UTF-8 text"},
  };
  bad_texts("toy.tsv", cases, COUNT(cases));
  bad("toy.tsv", "1\t2\n\0\t2\n", 8, NULL, "toy.tsv:2: byte 0x00 in column 1, expected text");
  char label[300];
  memset(label, 'x', sizeof label);
  memcpy(label + 256, "\t1\n", 4);
  bad("toy.tsv", label, strlen(label), NULL, "toy.tsv:1: the label 'xxx");
  sparc_dataset *d = good("toy.tsv", label + 1, strlen(label + 1), NULL);
  assert_int_equal(strlen(sparc_dataset_info_of(d).class_names[0]), 255);
  sparc_dataset_free(d);
}

/* ---- label maps ---- */

static void test_label_order(void **state) {
  (void)state;
  static const struct {
    const char *rows[6];
    const char *labels[7];
    int classes[6];
  } cases[] = {
      {{"10", "9", "-1", "1.5", "2", "9"}, {"-1", "1.5", "2", "9", "10"}, {4, 3, 0, 1, 2, 3}},
      {{"1.0", "1", "+1", "1e0", "2", "0"}, {"0", "1", "2"}, {1, 1, 1, 1, 2, 0}},
      {{"10", "9", "a", "9.0", "B", "A"}, {"10", "9", "9.0", "A", "B", "a"}, {0, 1, 5, 2, 4, 3}},
      {{"9007199254740993", "9007199254740992", "1", "1", "1", "1"},
       {"1", "9007199254740992", "9007199254740993"},
       {2, 1, 0, 0, 0, 0}},
      {{"\xc3\xa4", "z", "\xf0\x9f\x98\x80", "z", "inf", "1e999"},
       {"1e999", "inf", "z", "\xc3\xa4", "\xf0\x9f\x98\x80"},
       {3, 2, 4, 2, 1, 0}},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    /* every rotation of the rows gives the same map */
    for (int turn = 0; turn < 6; turn++) {
      char text[512] = "";
      int classes[6];
      for (int k = 0; k < 6; k++) {
        sprintf(text + strlen(text), "%s\t%d\n", cases[i].rows[(k + turn) % 6], k);
        classes[k] = cases[i].classes[(k + turn) % 6];
      }
      sparc_dataset *d = good_text("toy.tsv", text);
      expect_labels(d, cases[i].labels, classes);
      sparc_dataset_free(d);
    }
  }
}

static void test_fixed_classes(void **state) {
  (void)state;
  const char *const classes[] = {"9", "10", "1"};
  const sparc_read_options o = {.classes = classes, .class_count = 3};
  const char *text = "1\t5\n9.0\t6\n10\t7\n?\t8\n";
  sparc_dataset *d = good("toy.tsv", text, strlen(text), &o);
  expect_labels(d, LABELS("9", "10", "1"), CLASSES(2, 0, 1, -1));
  sparc_dataset_free(d);
  bad("toy.tsv", "1\t5\n2\t6\n", 8, &o, "toy.tsv:2: the label is '2', expected one of 9, 10, 1");
  bad("toy.tsv", "x\t5\n", 4, &o, "toy.tsv:1: the label is 'x', expected one of 9, 10, 1");
  bad("toy.csv", "5,1\n6,2\n", 8, &o, "toy.csv:2: the label is '2'");

  const char *const words[] = {"b", "a", "1"};
  d = good("toy.tsv", "a\t5\n1\t6\n", 8, &(sparc_read_options){.classes = words, .class_count = 3});
  expect_labels(d, LABELS("b", "a", "1"), CLASSES(1, 2));
  sparc_dataset_free(d);

  const struct {
    const char *classes[2], *fragment;
  } wrong[] = {{{"1", "1.0"}, "classes has '1.0' twice"},
               {{"a", "a"}, "classes has 'a' twice"},
               {{"a", ""}, "classes[1] is ''"},
               {{"a", NULL}, "classes[1] is 'NULL'"},
               {{"a", "\xff"}, "classes[1] is '?'"}};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    assert_int_equal(
        parse("toy.tsv", "1\t5\n", 4, &(sparc_read_options){.classes = wrong[i].classes, .class_count = 2}, &d),
        SPARC_INVALID);
    assert_non_null(strstr(sparc_error(), wrong[i].fragment));
    assert_null(d);
  }
}

/* ---- .ts ---- */

#define TS "@problemName Toy\n@timeStamps false\n@classLabel true left right\n@data\n"

static void test_ts(void **state) {
  (void)state;
  const char *text =
      "# a comment: with, separators\n"
      "\n"
      "@problemname Two Channels\n@TIMESTAMPS false\n@missing true\n@univariate false\n@dimensions 2\n"
      "@equallength false\n@serieslength 7\n@remark this key is not known\n@classLabel true right left unused\n@DATA\n"
      "1,2,3:4,5,6:left\n"
      "# another\n"
      " 7 , ? : NaN , 8.5 : right \n";
  sparc_dataset *d = good_text("toy.dat", text);
  assert_string_equal(sparc_dataset_info_of(d).name, "Two Channels");
  assert_int_equal(sparc_dataset_info_of(d).channels, 2);
  SERIES(d, 0, 1, 4, 2, 5, 3, 6);
  SERIES(d, 1, 7, NAN, NAN, 8.5F);
  expect_labels(d, LABELS("left", "right", "unused"), CLASSES(0, 1));
  assert_int_equal(sparc_dataset_info_of(d).missing, 2);
  sparc_dataset_free(d);

  d = good_text("toy.ts", "@univariate true\r\n@equalLength true\r\n@classLabel true\r\n@data\r\n1,2:b\r\n3,4:a");
  expect_labels(d, LABELS("a", "b"), CLASSES(1, 0));
  assert_string_equal(sparc_dataset_info_of(d).name, "toy");
  sparc_dataset_free(d);

  d = good_text("toy.ts", "@classLabel false\n@data\n1,2\n3\n");
  assert_int_equal(sparc_dataset_info_of(d).classes, 0);
  SERIES(d, 1, 3);
  sparc_dataset_free(d);

  text = TS "1,2:left\n3,4:wrong\n";
  d = good("toy.ts", text, strlen(text), &(sparc_read_options){.unlabelled = 1});
  assert_int_equal(sparc_dataset_info_of(d).classes, 0);
  SERIES(d, 1, 3, 4);
  sparc_dataset_free(d);
}

static void test_ts_errors(void **state) {
  (void)state;
  static const bad_case cases[] = {
      {"", "toy.ts:1: the file is empty"},
      {"# only\n# comments\n", "toy.ts:2: the file ends without @data"},
      {"@problemName x\n", "toy.ts:1: the file ends without @data"},
      {"@data\n1:a\n", "toy.ts:1: @data without @classLabel before it"},
      {TS, "toy.ts:4: no series after @data"},
      {"@problemName x\n1,2:a\n", "toy.ts:2: '1,2:a' before @data"},
      {"@classLabel maybe\n@data\n1:a\n", "toy.ts:1: @classLabel is 'maybe', expected true or false"},
      {"@missing\n@classLabel true\n@data\n1:a\n", "toy.ts:1: @missing is '', expected true or false"},
      {"@missing true false\n@classLabel true\n@data\n1:a\n", "toy.ts:1: @missing is 'true false'"},
      {"@timeStamps true\n@classLabel true\n@data\n",
       "toy.ts:1: @timeStamps true: series with time stamps cannot be read"},
      {"@targetLabel true\n@data\n", "toy.ts:1: @targetLabel true: the labels are numbers, expected objective regress"},
      {"@classLabel true\n@data\n(0,1),(1,2):a\n", "toy.ts:3: channel 1 starts with '('"},
      {"@missing true\n@missing true\n@data\n", "toy.ts:2: @missing is given again, the first time was line 1"},
      {"@dimension 2\n@dimensions 2\n@data\n", "toy.ts:2: @dimensions is given again"},
      {"@dimension 0\n@classLabel true\n@data\n", "toy.ts:1: @dimension is '0', expected a whole number of at least 1"},
      {"@seriesLength x\n@classLabel true\n@data\n", "toy.ts:1: @seriesLength is 'x'"},
      {"@univariate true\n@dimension 2\n@classLabel true\n@data\n",
       "toy.ts:2: @dimension is 2, but line 1 says @univariate true"},
      {"@univariate false\n@dimension 1\n@classLabel true\n@data\n",
       "toy.ts:2: @dimension is 1, but line 1 says @univariate false"},
      {"@univariate true\n@classLabel true\n@data\n1:2:a\n", "toy.ts:4: 2 channels, but line 1 says @univariate true"},
      {"@univariate false\n@classLabel true\n@data\n1:a\n", "toy.ts:4: 1 channels, but line 1 says @univariate false"},
      {"@dimension 3\n@classLabel true\n@data\n1:2:a\n", "toy.ts:4: 2 channels, but line 1 says @dimension 3"},
      {"@classLabel true\n@data\n1:2:a\n1:2:3:a\n", "toy.ts:4: 3 channels, expected 2 as in line 3"},
      {"@equalLength true\n@classLabel true\n@data\n1,2:a\n1:a\n",
       "toy.ts:5: 1 steps after 2 in line 4, but line 1 says @equalLength true"},
      {"@seriesLength 2\n@classLabel true\n@data\n1,2:a\n1,2,3:a\n",
       "toy.ts:5: 3 steps, but line 1 says @seriesLength 2"},
      {"@missing false\n@classLabel true\n@data\n1,?:a\n",
       "toy.ts:4: channel 1, value 2 is missing, but line 1 says @missing false"},
      {TS "1,2:left\n3,4:up\n", "toy.ts:6: the label is 'up', expected one of left, right"},
      {TS "1,2:left\n3,4\n", "toy.ts:6: no label after the values, but line 3 says @classLabel true"},
      {TS "1,2:3:left\n", "toy.ts:5: channel 2 has 1 steps, expected 2 as channel 1 has"},
      {TS "1,2::left\n", "toy.ts:5: channel 2 has no values"},
      {TS ":left\n", "toy.ts:5: channel 1 has no values"},
      {TS "1,,2:left\n", "toy.ts:5: channel 1, value 2 is '', expected a number, NaN or ?"},
      {TS "1,x:left\n", "toy.ts:5: channel 1, value 2 is 'x'"},
      {TS "?,NaN:left\n", "toy.ts:5: all 2 values are missing"},
      {TS "1,2:left\n\x02", "toy.ts:6: byte 0x02 in column 1, expected text"},
      {"@classLabel true a \xff\n@data\n1:a\n", "toy.ts:1: the label '?' is not up to 255 bytes of UTF-8 text"},
  };
  bad_texts("toy.ts", cases, COUNT(cases));
}

/* ---- CSV ---- */

static void test_csv(void **state) {
  (void)state;
  static const struct {
    const char *text;
    sparc_read_options o;
  } cases[] = {
      {"1,2,a\n3,4,b\n", {.format = SPARC_DATA_AUTO}},
      {"x,y,class\n1,2,a\n3,4,b\n", {.format = SPARC_DATA_AUTO}},
      {"0,1,label\r\n1,2,a\r\n3,4,b\r\n", {.format = SPARC_DATA_AUTO}},
      {"t0,t1,what\n1,2,a\n\n3,4,b", {.format = SPARC_DATA_AUTO}},
      {"1;2;a\n3;4;b\n", {.format = SPARC_DATA_AUTO}},
      {"1\t2\ta\n3\t4\tb\n", {.format = SPARC_DATA_AUTO}},
      {"\"1\",\" 2\",\"a\"\n3, \"4\" , b \n", {.format = SPARC_DATA_AUTO}},
      {"kind,t0,t1\na,1,2\nb,3,4\n", {.label_column = "kind"}},
      {"t0,\"the \"\"kind\"\"\",t1\n1,a,2\n3,b,4\n", {.label_column = "the \"kind\""}},
      {"a,1,2\nb,3,4\n", {.label_column = "1"}},
      {"1,a,2\n3,b,4\n", {.label_column = "2"}},
      {"9,9,9\n1,2,a\n3,4,b\n", {.header = 1}},
      {"2,1,a\n1,2,b\n", {.label_column = "3", .header = -1}},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    sparc_dataset *d = good("toy.csv", cases[i].text, strlen(cases[i].text), &cases[i].o);
    assert_int_equal(sparc_dataset_info_of(d).count, 2);
    expect_labels(d, LABELS("a", "b"), CLASSES(0, 1));
    if (i + 1 < COUNT(cases)) {
      SERIES(d, 0, 1, 2);
      SERIES(d, 1, 3, 4);
    }
    sparc_dataset_free(d);
  }

  /* quoted labels with everything in them; the line count continues after a line end in quotes */
  const char *text = "1,2,\"a, \"\"b\"\"\nc\"\n3,4,d\n5,,\n";
  sparc_dataset *d = good_text("toy.csv", text);
  expect_labels(d, LABELS("a, \"b\"\nc", "d"), CLASSES(0, 1, -1));
  SERIES(d, 2, 5, NAN);
  assert_int_equal(sparc_dataset_info_of(d).missing, 1);
  sparc_dataset_free(d);
  bad("toy.csv", "1,\"a\nb\"\nx,a\n", 12, NULL, "toy.csv:3: column 1 is 'x'");

  d = good("toy.csv", "1,2\n3,4\n", 8, &(sparc_read_options){.unlabelled = 1});
  SERIES(d, 1, 3, 4);
  sparc_dataset_free(d);
}

/* columns by name: the header, and a second table read by its names */
static void test_csv_names(void **state) {
  (void)state;
  const sparc_read_options o = {.id_column = "who", .time_column = "2", .ignore_columns = "n", .texts = 1};
  static const char text[] = "who,t,a,n,\"b,\"\"c\",k\nx,2,1,z,3,p\nx,1,5,z,6,p\ny,1,8,z,9,q\n";
  sparc_dataset *d = good("t.csv", text, strlen(text), &o);
  const sparc_columns *c = sparc_dataset_info_of(d).columns;
  assert_non_null(c);
  assert_int_equal(c->channels, 2);
  assert_string_equal(c->channel[0], "a");
  assert_string_equal(c->channel[1], "b,\"c");
  assert_string_equal(c->label, "k");
  assert_string_equal(c->id, "who");
  assert_string_equal(c->time, "t");
  assert_int_equal(c->ignored, 1);
  assert_string_equal(c->ignore[0], "n");
  assert_int_equal(c->steps, 1);
  assert_string_equal(sparc_dataset_example(d, 0).id, "x");
  assert_string_equal(sparc_dataset_example(d, 1).id, "y");
  assert_null(sparc_dataset_example(d, 2).id);
  assert_string_equal(sparc_dataset_time(d, 0, 0), "1"); /* in the order of time */
  assert_string_equal(sparc_dataset_time(d, 0, 1), "2");
  assert_string_equal(sparc_dataset_time(d, 1, 0), "1");
  assert_null(sparc_dataset_time(d, 0, 2));
  assert_null(sparc_dataset_time(d, 0, -1));
  SERIES(d, 0, 5, 6, 1, 3);

  /* a subset keeps them */
  sparc_dataset *part;
  assert_int_equal(sparc_dataset_subset(d, (const int[]){1}, 1, NULL, &part), SPARC_OK);
  assert_string_equal(sparc_dataset_info_of(part).columns->channel[1], "b,\"c");
  assert_string_equal(sparc_dataset_example(part, 0).id, "y");
  sparc_dataset_free(part);

  /* another order, another column, no label */
  const sparc_read_options like = {.columns = c};
  static const char other[] = "\"b,\"\"c\",new,t,a,who\n6,z,1,5,x\n3,z,2,1,x\n";
  sparc_dataset *e = good("e.csv", other, strlen(other), &like);
  SERIES(e, 0, 5, 6, 1, 3);
  assert_int_equal(sparc_dataset_example(e, 0).label, -1);
  assert_null(sparc_dataset_info_of(e).columns->label);
  sparc_dataset_free(e);
  bad("m.csv", "who,t,a,k\nx,1,2,p\n", strlen("who,t,a,k\nx,1,2,p\n"), &like,
      "column 'b,\"c' is missing; there are 'who', 't', 'a', 'k'");
  bad("n.csv", "t,a,k\n1,2,p\n", strlen("t,a,k\n1,2,p\n"), &like, "column 'who' is missing");
  sparc_dataset_free(d);

  /* names that cannot be kept: empty, twice, not UTF-8 */
  static const char *const unnamed[] = {"t,a,a,k\n1,2,3,p\n", "t,a,,k\n1,2,3,p\n", "t,a,\xff,k\n1,2,3,p\n"};
  for (size_t i = 0; i < COUNT(unnamed); i++) {
    d = good("u.csv", unnamed[i], strlen(unnamed[i]), &(sparc_read_options){.time_column = "1"});
    assert_int_equal(sparc_dataset_info_of(d).columns->channels, 0);
    assert_int_equal(sparc_dataset_info_of(d).channels, 2);
    assert_null(sparc_dataset_time(d, 0, 0));
    sparc_dataset_free(d);
  }
  /* no header: no names */
  d = good("h.csv", "1,2,p\n3,4,q\n", 12, NULL);
  assert_null(sparc_dataset_info_of(d).columns);
  sparc_dataset_free(d);
  /* an index without a name is no value, and steps go by their number */
  d = good_text("i.csv", ",v_2,v_1,v_0,k\n0,7,6,5,p\n1,3,2,1,q\n");
  SERIES(d, 0, 5, 6, 7);
  SERIES(d, 1, 1, 2, 3);
  sparc_dataset_free(d);
}

/* a row as an example: the names of its values, and a second table found by them */
static void test_csv_values(void **state) {
  (void)state;
  static const char text[] = "x,n,\"z \"\"1\"\"\",k\n1,0,2,p\n3,0,4,q\n";
  sparc_dataset *d = good("t.csv", text, strlen(text), &(sparc_read_options){.ignore_columns = "n"});
  const sparc_columns *c = sparc_dataset_info_of(d).columns;
  assert_int_equal(c->channels, 0);
  assert_int_equal(c->values, 2);
  assert_string_equal(c->value[0], "x");
  assert_string_equal(c->value[1], "z \"1\"");
  const sparc_read_options like = {.columns = c};
  static const char moved[] = "new,\"z \"\"1\"\"\",k,x\n!,2,p,1\n!,4,q,3\n";
  sparc_dataset *e = good("e.csv", moved, strlen(moved), &like);
  SERIES(e, 0, 1, 2);
  SERIES(e, 1, 3, 4);
  assert_string_equal(sparc_dataset_info_of(e).columns->value[0], "x");
  sparc_dataset_free(e);
  bad("m.csv", "x,k\n1,p\n", 8, &like, "column 'z \"1\"' is missing; there are 'x', 'k'");
  bad("m.csv", "x,x,k\n1,2,p\n", 12, &like, "column 'x' is there twice");
  sparc_dataset_free(d);

  /* values of several channels are stored step by step */
  d = good("p.csv", "p,q,r,s,k\n1,2,3,4,a\n", 20, &(sparc_read_options){.channels = 2});
  assert_int_equal(sparc_dataset_info_of(d).columns->values, 4);
  e = good("q.csv", "s,k,r,q,p\n4,a,3,2,1\n", 20,
           &(sparc_read_options){.channels = 2, .columns = sparc_dataset_info_of(d).columns});
  SERIES(e, 0, 1, 2, 3, 4);
  assert_int_equal(sparc_dataset_info_of(e).channels, 2);
  sparc_dataset_free(e);
  sparc_dataset_free(d);

  /* steps by number: the channel has the name, and other numbers of them are fine */
  d = good_text("s.csv", "v_1,v_2,v_3,k\n1,2,3,p\n");
  assert_int_equal(sparc_dataset_info_of(d).columns->values, 0);
  assert_int_equal(sparc_dataset_info_of(d).columns->channels, 1);
  assert_string_equal(sparc_dataset_info_of(d).columns->channel[0], "v");
  e = good("l.csv", "v_2,w,v_1,k\n2,!,1,p\n", 20, &(sparc_read_options){.columns = sparc_dataset_info_of(d).columns});
  SERIES(e, 0, 1, 2);
  sparc_dataset_free(e);
  sparc_dataset_free(d);

  /* names that only count, or are days, and names that cannot be kept */
  static const char *const unnamed[] = {"0,1,label\n5,6,p\n", "2024-01-01,2024-01-02,label\n5,6,p\n",
                                        "x,x,label\n5,6,p\n", "x,,label\n5,6,p\n"};
  for (size_t i = 0; i < COUNT(unnamed); i++) {
    d = good_text("u.csv", unnamed[i]);
    assert_int_equal(sparc_dataset_info_of(d).columns->values, 0);
    assert_string_equal(sparc_dataset_info_of(d).columns->label, "label");
    sparc_dataset_free(d);
  }

  /* names that are numbers are no header of rows that happen to have one of them */
  d = good_text("w.csv", "400,402,label\n1,2,p\n");
  assert_int_equal(sparc_dataset_info_of(d).columns->values, 2);
  e = good("n.csv", "400,7,p\n1,2,q\n", 14, &(sparc_read_options){.columns = sparc_dataset_info_of(d).columns});
  assert_int_equal(sparc_dataset_info_of(e).count, 2);
  SERIES(e, 0, 400, 7);
  sparc_dataset_free(e);
  e = good("o.csv", "402,400\n2,1\n", 12,
           &(sparc_read_options){.columns = sparc_dataset_info_of(d).columns, .unlabelled = 1});
  assert_int_equal(sparc_dataset_info_of(e).count, 1);
  SERIES(e, 0, 1, 2);
  sparc_dataset_free(e);
  sparc_dataset_free(d);
}

/* which rows of a table are steps of a series that is to be forecast */
static void test_csv_forecast(void **state) {
  (void)state;
  const sparc_read_options forecast = {.objective = SPARC_OBJECTIVE_FORECAST, .texts = 1};
  sparc_dataset *d;
  static const char *const series[] = {"v\n1\n2\n4\n", "1\n2\n4\n", ",v\n3,4\n1,1\n2,2\n"};
  for (size_t i = 0; i < COUNT(series); i++) {
    d = good(i == 1 ? "v.txt" : "v.csv", series[i], strlen(series[i]), &forecast);
    assert_int_equal(sparc_dataset_info_of(d).count, 1);
    SERIES(d, 0, 1, 2, 4);
    sparc_dataset_free(d);
  }
  static const char table[] = "a,b\n1,2\n3,4\n5,6\n";
  assert_int_equal(parse("t.csv", table, strlen(table), &forecast, &d), SPARC_INVALID);
  assert_null(d);
  assert_non_null(strstr(sparc_error(), "time_column COLUMN"));
  assert_non_null(strstr(sparc_error(), "id_column COLUMN"));
  sparc_read_options o = forecast;
  o.time_column = "none";
  d = good("t.csv", table, strlen(table), &o);
  assert_int_equal(sparc_dataset_info_of(d).channels, 2);
  SERIES(d, 0, 1, 2, 3, 4, 5, 6);
  sparc_dataset_free(d);
  o = forecast;
  o.channels = 1;
  d = good("t.csv", table, strlen(table), &o);
  assert_int_equal(sparc_dataset_info_of(d).count, 3);
  sparc_dataset_free(d);
  /* rows that are longer than there are many, and names that count steps, are series */
  static const char *const rows[] = {"1,2,3\n4,5,6\n", "v_0,v_1\n1,2\n3,4\n5,6\n"};
  for (size_t i = 0; i < COUNT(rows); i++) {
    d = good("r.csv", rows[i], strlen(rows[i]), &forecast);
    assert_int_equal(sparc_dataset_info_of(d).count, i ? 3 : 2);
    sparc_dataset_free(d);
  }
}

static void test_csv_errors(void **state) {
  (void)state;
  static const bad_case cases[] = {
      {"", "toy.csv:1: the file is empty"},
      {"\n\n", "toy.csv:1: no rows"},
      {"a,b,label\n", "toy.csv:1: no rows after the header"},
      {"1\n2\n", "toy.csv:1: the first row has 1 field, expected values and a label"},
      {"1,2,a\n3,b\n", "toy.csv:2: 2 fields, expected 3 as in the first row"},
      {"1,2,a\n3,4,5,b\n", "toy.csv:2: 4 fields, expected 3 as in the first row"},
      {"1,2,a\n3,x,b\n", "toy.csv:2: column 2 is 'x', expected a number, NaN or ?"},
      {"1,2,3,x,a\n", "toy.csv:1: column 4 is 'x'"},
      {"1,2,a\n3,inf,b\n", "toy.csv:2: column 2 is 'inf', expected a finite number"},
      {"1,2,a\n,?,b\n", "toy.csv:2: all 2 values are missing"},
      {"1,2,a\n1,2,\"b\n3,4,c\n", "toy.csv:2: the quote that opens here is never closed"},
      {"1,2,\"a\"b\n", "toy.csv:1: 'b' follows a closing quote"},
      {"1,2\",a\n", "toy.csv:1: a quote after '2' in a field, expected quotes around all of it"},
      {"1,2,a\n1,\x03,b\n", "toy.csv:2: byte 0x03 in column 3, expected text"},
  };
  bad_texts("toy.csv", cases, COUNT(cases));
  bad("toy.csv", "a,b\n1,2\n", 8, &(sparc_read_options){.label_column = "c"},
      "toy.csv:1: there is no column 'c', expected a name in the first row or a number from 1 to 2");
  bad("toy.csv", "a,b\n1,2\n", 8, &(sparc_read_options){.label_column = "3"}, "there is no column '3'");
  bad("toy.csv", "a,b\n1,2\n", 8, &(sparc_read_options){.label_column = "0"}, "there is no column '0'");
  bad("toy.csv", "a,b\n1,2\n", 8, &(sparc_read_options){.label_column = "b", .header = -1}, "there is no column 'b'");
}

/* ---- IDX ---- */

static bytes idx(int type, int rank, const int *shape) {
  bytes b = {.size = 0};
  put_bits(&b, (uint64_t)type << 8 | (uint64_t)rank, 4, true);
  for (int i = 0; i < rank; i++) put_bits(&b, (uint64_t)shape[i], 4, true);
  return b;
}

static uint64_t bits_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static uint64_t bits_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static void test_idx(void **state) {
  (void)state;
  static const struct {
    int type, width, real;
  } types[] = {{0x08, 1, 0}, {0x09, 1, 0}, {0x0b, 2, 0}, {0x0c, 4, 0}, {0x0d, 4, 1}, {0x0e, 8, 1}};
  for (size_t i = 0; i < COUNT(types); i++) {
    const float low = types[i].type == 0x08 ? 200 : -100;
    bytes images = idx(types[i].type, 3, (const int[]){2, 1, 2}), labels = idx(0x08, 1, (const int[]){2});
    const float values[] = {1, low, 3, 100};
    for (int k = 0; k < 4; k++)
      put_bits(&images,
               types[i].real ? (types[i].width == 4 ? bits_f32(values[k]) : bits_f64(values[k]))
                             : (uint64_t)(int64_t)values[k],
               types[i].width, true);
    put(&labels, "\7\3", 2);
    sparc_dataset *d = good("x", images.data, images.size,
                            &(sparc_read_options){.labels_data = labels.data, .labels_size = labels.size});
    SERIES(d, 0, 1, low);
    SERIES(d, 1, 3, 100);
    expect_labels(d, LABELS("3", "7"), CLASSES(1, 0));
    sparc_dataset_free(d);
    d = good("x", images.data, images.size, NULL);
    assert_int_equal(sparc_dataset_example(d, 0).label, -1);
    sparc_dataset_free(d);
  }
}

static void test_idx_errors(void **state) {
  (void)state;
  bytes b = idx(0x08, 2, (const int[]){2, 3});
  put(&b, "abcdef", 6);
  const sparc_read_options force = {.format = SPARC_DATA_IDX};
  bad("x.idx", "", 0, &force, "x.idx:1: the file is empty");
  bad("x.idx", b.data, 3, &force, "x.idx: 3 bytes are too few for an IDX file");
  bad("x.idx", b.data, 9, &force, "x.idx: 9 bytes are too few for 2 dimensions: the file is truncated");
  bad("x.idx", b.data, b.size - 1, NULL,
      "x.idx: 5 bytes of elements, expected 6 for shape [2, 3]: the file is truncated");
  put_byte(&b, 0);
  bad("x.idx", b.data, b.size, NULL, "x.idx: 7 bytes of elements, expected 6 for shape [2, 3]: the file is too long");
  bad("x.idx", "PK\3\4....", 8, &force, "x.idx: the first bytes are 50 4b, expected 00 00 of an IDX file");
  bad("x.idx", "\0\0\x0a\1\0\0\0\1", 8, &force, "x.idx: the element type is 0x0a");
  bad("x.idx", "\0\0\x08\0\0\0\0\1", 8, &force, "x.idx: the rank is 0, expected 1 to 8");
  b = idx(0x08, 1, (const int[]){2});
  put(&b, "ab", 2);
  bad("x.idx", b.data, b.size, NULL, "x.idx: shape [2] is one of labels, expected at least two dimensions");
  b = idx(0x08, 2, (const int[]){0, 3});
  bad("x.idx", b.data, b.size, NULL, "x.idx: the shape is [0, 3], expected no dimension of 0");
  b = idx(0x08, 8, (const int[]){-1, -1, -1, -1, -1, -1, -1, -1});
  bad("x.idx", b.data, b.size, NULL, "x.idx: the size of shape");
  b = idx(0x0d, 2, (const int[]){2, 2});
  const float values[] = {1, NAN, 2, INFINITY};
  for (int k = 0; k < 4; k++) put_bits(&b, bits_f32(values[k]), 4, true);
  bad("x.idx", b.data, b.size, NULL, "x.idx: example 2: value 2 is inf, expected a finite number up to 3.4e38");
  b.size -= 8;
  put_bits(&b, bits_f32(NAN), 4, true);
  put_bits(&b, bits_f32(NAN), 4, true);
  bad("x.idx", b.data, b.size, NULL, "x.idx: example 2: all 2 values are missing");
}

static void test_idx_labels(void **state) {
  (void)state;
  bytes images = idx(0x08, 2, (const int[]){2, 1}), three = idx(0x08, 1, (const int[]){3}),
        real = idx(0x0d, 1, (const int[]){2});
  put(&images, "ab", 2);
  put(&three, "\1\2\3", 3);
  put(&real, "\0\0\0\0\0\0\0\0", 8);
  sparc_read_options o = {.labels_data = three.data, .labels_size = three.size, .labels_path = "y.idx"};
  sparc_dataset *d;
  assert_int_equal(parse("x.idx", images.data, images.size, &o, &d), SPARC_FORMAT);
  assert_string_equal(sparc_error(), "y.idx: labels of shape [3], expected [2] for the examples of x.idx");
  o.labels_data = real.data, o.labels_size = real.size;
  assert_int_equal(parse("x.idx", images.data, images.size, &o, &d), SPARC_FORMAT);
  assert_string_equal(sparc_error(), "y.idx: the labels are real numbers, expected whole ones");
  o.labels_data = images.data, o.labels_size = 5;
  assert_int_equal(parse("x.idx", images.data, images.size, &o, &d), SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "y.idx: 5 bytes are too few"));
  assert_int_equal(parse("x.tsv", "1\t2\n", 4, &o, &d), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "labels are given, but x.tsv has its own in format ucr"));

  /* beside the images, packed or not; a missing one that was requested is an error */
  three.data[7] = 2, three.size--;
  const char *path = spill("pair/train-images-idx3-ubyte", images.data, images.size);
  assert_int_equal(sparc_dataset_load(path, NULL, &d), SPARC_OK);
  assert_int_equal(sparc_dataset_info_of(d).classes, 0);
  sparc_dataset_free(d);
  spill("pair/train-labels-idx1-ubyte", three.data, three.size);
  assert_int_equal(sparc_dataset_load(path, NULL, &d), SPARC_OK);
  expect_labels(d, LABELS("1", "2"), CLASSES(0, 1));
  sparc_dataset_free(d);
  assert_int_equal(sparc_dataset_load(path, &(sparc_read_options){.unlabelled = 1}, &d), SPARC_OK);
  assert_int_equal(sparc_dataset_info_of(d).classes, 0);
  sparc_dataset_free(d);
  assert_int_equal(rename(in_folder("pair/train-labels-idx1-ubyte"), in_folder("pair/train-labels-idx1-ubyte.gz")), 0);
  assert_int_equal(sparc_dataset_load(path, NULL, &d), SPARC_OK);
  assert_int_equal(sparc_dataset_info_of(d).classes, 2);
  sparc_dataset_free(d);
  assert_int_equal(sparc_dataset_load(path, &(sparc_read_options){.labels_path = "/nowhere/y"}, &d), SPARC_IO);
  assert_string_equal(sparc_error(), "cannot open '/nowhere/y': No such file or directory");
}

/* ---- NPY ---- */

static bytes npy(int version, const char *dictionary) {
  bytes b = {.size = 0};
  put(&b, "\x93NUMPY", 6);
  put_byte(&b, version);
  put_byte(&b, 0);
  put_bits(&b, strlen(dictionary), version == 1 ? 2 : 4, false);
  put(&b, dictionary, strlen(dictionary));
  return b;
}

static void test_npy(void **state) {
  (void)state;
  static const struct {
    const char *type;
    int width, kind; /* 0 unsigned, 1 signed, 2 real */
  } types[] = {{"f4", 4, 2}, {"f8", 8, 2}, {"i1", 1, 1}, {"i2", 2, 1}, {"i4", 4, 1}, {"i8", 8, 1},
               {"u1", 1, 0}, {"u2", 2, 0}, {"u4", 4, 0}, {"u8", 8, 0}, {"b1", 1, 0}};
  for (size_t i = 0; i < COUNT(types); i++) {
    for (int big = 0; big < 2; big++) {
      char dictionary[128];
      const char order = big ? '>' : types[i].width == 1 ? '|' : '<';
      snprintf(dictionary, sizeof dictionary, "{'descr': '%c%s', 'fortran_order': False, 'shape': (2, 3), }   \n",
               order, types[i].type);
      bytes x = npy(1 + (int)(i % 3), dictionary),
            y = npy(2, "{\"shape\":(2,),\"fortran_order\":True,\"descr\":\">i2\"}");
      const float values[] = {1, 2, 3, types[i].kind ? -4 : 4, 5, 6};
      for (int k = 0; k < 6; k++)
        put_bits(&x,
                 types[i].kind < 2     ? (uint64_t)(int64_t)values[k]
                 : types[i].width == 4 ? bits_f32(values[k])
                                       : bits_f64(values[k]),
                 types[i].width, big);
      put(&y, "\xff\xfe\0\7", 4);
      sparc_dataset *d = good("x", x.data, x.size, &(sparc_read_options){.labels_data = y.data, .labels_size = y.size});
      SERIES(d, 0, 1, 2, 3);
      SERIES(d, 1, values[3], 5, 6);
      expect_labels(d, LABELS("-2", "7"), CLASSES(0, 1));
      sparc_dataset_free(d);
    }
  }

  /* channels, a missing value, real labels */
  bytes x = npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3)}"),
        y = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}");
  for (int k = 0; k < 6; k++) put_bits(&x, bits_f64(k == 4 ? NAN : k), 8, false);
  put_bits(&y, bits_f32(-0.0F), 4, false);
  sparc_dataset *d = good("x.npy", x.data, x.size, &(sparc_read_options){.labels_data = y.data, .labels_size = y.size});
  assert_int_equal(sparc_dataset_info_of(d).channels, 3);
  SERIES(d, 0, 0, 1, 2, 3, NAN, 5);
  expect_labels(d, LABELS("0"), CLASSES(0));
  assert_int_equal(sparc_dataset_info_of(d).missing, 1);
  sparc_dataset_free(d);
  y.data[y.size - 1] = 0x3f;
  assert_int_equal(
      parse("x.npy", x.data, x.size, &(sparc_read_options){.labels_data = y.data, .labels_size = y.size}, &d),
      SPARC_FORMAT);
  assert_string_equal(sparc_error(), "labels: example 1: the label is 0.5, expected a whole number");
}

static void test_npy_errors(void **state) {
  (void)state;
  static const struct {
    const char *dictionary, *fragment;
  } cases[] = {
      {"", "x.npy: the header is '', expected {"},
      {"[1, 2]", "x.npy: the header is '[1, 2]', expected {"},
      {"{}", "x.npy: the header '{}' is not a dictionary of descr, fortran_order and shape"},
      {"{'descr': '<f4', 'shape': (1, 1)}", "is not a dictionary of"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)", "is not a dictionary of"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (1, 1)}", "is not a dictionary of"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)} x", "is not a dictionary of"},
      {"{descr: '<f4'}", "is not a dictionary of"},
      {"{'descr': '<f4', 'descr': '<f4'}", "x.npy: the header has 'descr' twice"},
      {"{'other': 1}", "x.npy: the header has 'other' in it"},
      {"{'descr': [('a', '<f4')]}", "x.npy: descr in the header is not a type such as '<f4': '[('a', '<f4')]}'"},
      {"{'fortran_order': false}", "x.npy: fortran_order in the header is not True or False"},
      {"{'shape': 3}", "x.npy: shape in the header is not a tuple of at most 8 numbers"},
      {"{'shape': (1, -1)}", "x.npy: shape in the header is not a tuple"},
      {"{'shape': (99999999999999999999,)}", "x.npy: shape in the header is not a tuple"},
      {"{'shape': (1,1,1,1,1,1,1,1,1)}", "x.npy: shape in the header is not a tuple"},
      {"{'descr': '<f3', 'fortran_order': False, 'shape': (1, 1)}",
       "x.npy: the element type is '<f3', expected f2, f4, f8"},
      {"{'descr': '<U1', 'fortran_order': False, 'shape': (1, 1)}", "x.npy: the series are texts, expected numbers"},
      {"{'descr': '|U1', 'fortran_order': False, 'shape': (1, 1)}", "x.npy: the element type is '|U1'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}", "x.npy: the elements are Python objects"},
      {"{'descr': '|f4', 'fortran_order': False, 'shape': (1, 1)}", "x.npy: the element type is '|f4'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
       "x.npy: the shape is [1], expected [N, T] or [N, T, C]"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1)}", "x.npy: the shape is [1, 1, 1, 1], expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "x.npy: the shape is [], expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}",
       "x.npy: 4 bytes of elements, expected 8 for shape [2, 1]: the file is truncated"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1)}", "x.npy: 4 bytes of elements, expected 1"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 0)}",
       "x.npy: the shape is [1, 0], expected no dimension of 0"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 2)}", "x.npy: the size of shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}",
       "x.npy: example 1: value 1 is inf, expected a finite number"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    bytes b = npy(1, cases[i].dictionary);
    put_bits(&b, bits_f32(INFINITY), 4, false);
    bad("x.npy", b.data, b.size, NULL, cases[i].fragment);
  }
  bytes b = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}");
  bad("x.npy", b.data, 20, NULL, "x.npy: a header of 57 bytes, but only 10 follow: the file is truncated");
  bad("x.npy", b.data, 7, NULL, "x.npy: 7 bytes are too few for a NumPy header: the file is truncated");
  bad("x.npy", "\x93NUMPX.......", 13, NULL, "x.npy: does not start with the magic of a NumPy file");
  b = npy(4, "{}");
  bad("x.npy", b.data, b.size, NULL, "x.npy: the version is 4.0, expected 1, 2 or 3");
}

/* ---- CIFAR ---- */

enum { RECORD = 3073 };

static bytes cifar(int records) {
  bytes b = {.size = 0};
  for (int i = 0; i < records; i++) {
    put_byte(&b, i % 10);
    for (int k = 0; k < 3072; k++) put_byte(&b, (i * 31 + k * 7) % 256);
  }
  return b;
}

static void test_cifar(void **state) {
  (void)state;
  bytes b = cifar(3);
  /* white, a tie that goes up (299 * 100 + 587 * 100 + 114 * 25 = 91450; 114 * 250 = 28500 -> 29), pure red */
  const int pixels[3][3] = {{255, 255, 255}, {0, 0, 250}, {255, 0, 0}};
  const float want[3] = {255, 29, 76};
  for (int k = 0; k < 3; k++)
    for (int plane = 0; plane < 3; plane++) b.data[1 + plane * 1024 + k] = (uint8_t)pixels[k][plane];
  sparc_dataset *d = good("batch.bin", b.data, b.size, NULL);
  assert_int_equal(sparc_dataset_info_of(d).count, 3);
  assert_int_equal(sparc_dataset_example(d, 0).length, 1024);
  assert_memory_equal(sparc_dataset_example(d, 0).x, want, sizeof want);
  expect_labels(d, LABELS("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"), CLASSES(0, 1, 2));
  for (int i = 1; i < 3; i++) {
    const uint8_t *red = b.data + i * RECORD + 1;
    for (int k = 0; k < 1024; k++) {
      const double gray = 0.299 * red[k] + 0.587 * red[k + 1024] + 0.114 * red[k + 2048];
      assert_true(fabs(sparc_dataset_example(d, i).x[k] - gray) <= 0.5 + 1e-9);
    }
  }
  sparc_dataset_free(d);
  bad("batch.bin", b.data, b.size - 1, NULL, "batch.bin: 9218 bytes, expected a multiple of 3073");
  b.data[RECORD] = 10;
  bad("batch.bin", b.data, b.size, NULL, "batch.bin: example 2: the label is 10, expected 0 to 9");
}

/* ---- which format ---- */

static void test_format_choice(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    int classes, length; /* class of the last example's label shows where the label was */
  } cases[] = {
      {"x.tsv", "5 6 7\n", 1, 2},
      {"X.TXT.GZ", "5,6,7\n", 1, 2},
      {"x.csv", "5,6,7\n", 1, 2},
      {"x", "5\t6\t7\n", 1, 2},
      {"x", "5 6 7\n", 1, 2},
      {"x", "5,6,7\n", 1, 2},
      {"x.csv", "# c\n@classLabel false\n@data\n5,6\n", 0, 2},
      {"x.csv", "5;6;7\n", 1, 2},
  };
  static const int first_value[] = {6, 6, 5, 6, 6, 5, 5, 5};
  for (size_t i = 0; i < COUNT(cases); i++) {
    sparc_dataset *d = good_text(cases[i].name, cases[i].text);
    assert_int_equal(sparc_dataset_info_of(d).classes, cases[i].classes);
    assert_int_equal(sparc_dataset_example(d, 0).length, cases[i].length);
    assert_true(sparc_dataset_example(d, 0).x[0] == (float)first_value[i]);
    sparc_dataset_free(d);
  }
  bytes b = cifar(1);
  sparc_dataset *d = good("x", b.data, b.size, NULL);
  assert_int_equal(sparc_dataset_example(d, 0).length, 1024);
  sparc_dataset_free(d);
  d = good("x.csv", "5,6,7\n", 6, &(sparc_read_options){.format = SPARC_DATA_UCR});
  SERIES(d, 0, 6, 7);
  sparc_dataset_free(d);
  bad("garbage", "\x01\x02\x03garbage", 10, NULL, "garbage: unknown format: neither rows of numbers nor");

  assert_int_equal(parse("x", "1\t2", 3, &(sparc_read_options){.format = (sparc_data_format)9}, &d), SPARC_INVALID);
}

static void test_arguments(void **state) {
  (void)state;
  sparc_dataset *d;
  sparc_data_split split;
  assert_int_equal(sparc_dataset_load(NULL, NULL, &d), SPARC_INVALID);
  assert_int_equal(sparc_dataset_load("x", NULL, NULL), SPARC_INVALID);
  assert_int_equal(sparc_dataset_parse(NULL, 1, "x", NULL, &d), SPARC_INVALID);
  assert_int_equal(sparc_dataset_parse("x", 1, NULL, NULL, &d), SPARC_INVALID);
  assert_int_equal(sparc_dataset_parse("x", 1, "x", NULL, NULL), SPARC_INVALID);
  assert_int_equal(sparc_dataset_parse(NULL, 0, "x", NULL, &d), SPARC_FORMAT);
  assert_int_equal(sparc_dataset_fill_missing(NULL), SPARC_INVALID);
  assert_int_equal(sparc_dataset_moments(NULL, NULL, NULL), SPARC_INVALID);
  assert_int_equal(sparc_data_split_load(NULL, NULL, &split), SPARC_INVALID);
  assert_int_equal(sparc_data_split_load("", NULL, &split), SPARC_INVALID);
  assert_int_equal(sparc_data_split_load("x", NULL, NULL), SPARC_INVALID);
  assert_int_equal(sparc_data_split_load("x", &(sparc_data_options){.protocol = (sparc_data_protocol)5}, &split),
                   SPARC_INVALID);
  sparc_dataset_free(NULL);
  sparc_data_split_free(NULL);
  assert_int_equal(sparc_dataset_load("/nowhere/x.tsv", NULL, &d), SPARC_IO);
  assert_string_equal(sparc_error(), "cannot open '/nowhere/x.tsv': No such file or directory");
  assert_int_equal(sparc_dataset_load(folder, NULL, &d), SPARC_IO);
  assert_non_null(strstr(sparc_error(), "it is a directory, not a file"));
  assert_int_equal(sparc_dataset_load("/dev/null", NULL, &d), SPARC_IO);
  assert_non_null(strstr(sparc_error(), "it is a device or a socket, not a file"));
}

/* ---- gzip ---- */

static bytes pack(const void *data, size_t size) {
  bytes out = {.size = 0};
  z_stream z = {
      .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = out.data, .avail_out = sizeof out.data};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.size = z.total_out;
  deflateEnd(&z);
  return out;
}

static void test_gzip(void **state) {
  (void)state;
  const char *text = "a\t1\t2\nb\t3\t4\n";
  const bytes one = pack(text, 6), two = pack(text + 6, 6), whole = pack(text, 12);
  sparc_dataset *d;
  bytes joined = one;
  put(&joined, two.data, two.size);
  const bytes *const inputs[] = {&whole, &joined};
  for (int i = 0; i < 2; i++) {
    d = good("x.tsv", inputs[i]->data, inputs[i]->size, NULL);
    SERIES(d, 1, 3, 4);
    expect_labels(d, LABELS("a", "b"), CLASSES(0, 1));
    sparc_dataset_free(d);
  }
  /* line numbers are those of the text inside */
  const bytes wrong = pack("a\t1\na\tx\n", 8);
  bad("x.tsv.gz", wrong.data, wrong.size, NULL, "x.tsv.gz:2: value 1 is 'x'");

  for (size_t size = 2; size < whole.size; size++)
    bad("x.tsv", whole.data, size, NULL, "x.tsv: the gzip data is truncated");
  bytes damaged = whole;
  damaged.data[damaged.size - 6] ^= 1;
  bad("x.tsv", damaged.data, damaged.size, NULL, "x.tsv: the gzip data is damaged near byte");
  damaged = whole;
  put(&damaged, "tail", 4);
  bad("x.tsv", damaged.data, damaged.size, NULL, "x.tsv: 4 bytes that are not gzip follow the gzip data");
  const bytes nothing = pack("", 0);
  bad("x.tsv", nothing.data, nothing.size, NULL, "x.tsv:1: the file is empty");

  /* files, and files recognised by their first bytes only */
  assert_int_equal(sparc_dataset_load(spill("packed.tsv", whole.data, whole.size), NULL, &d), SPARC_OK);
  assert_string_equal(sparc_dataset_info_of(d).name, "packed");
  SERIES(d, 0, 1, 2);
  sparc_dataset_free(d);
}

static void test_limit(void **state) {
  (void)state;
  /* 20 MB of zeros in 20 kB */
  const size_t size = 20000000;
  char *zeros = calloc(size, 1);
  assert_non_null(zeros);
  bytes bomb = pack(zeros, size);
  free(zeros);
  assert_true(bomb.size < 30000);
  bad("x.tsv", bomb.data, bomb.size, &(sparc_read_options){.max_bytes = 1000000},
      "x.tsv: the gzip data unpacks to more than the limit of 1000000 bytes");
  /* the size in the trailer may be wrong */
  memset(bomb.data + bomb.size - 4, 0, 4);
  bad("x.tsv", bomb.data, bomb.size, &(sparc_read_options){.max_bytes = 1000000},
      "more than the limit of 1000000 bytes");
  memset(bomb.data + bomb.size - 4, 0xff, 4);
  bad("x.tsv", bomb.data, bomb.size, &(sparc_read_options){.max_bytes = 1000000},
      "more than the limit of 1000000 bytes");
  bad("x.tsv", "a\t1\n", 4, &(sparc_read_options){.max_bytes = 3},
      "x.tsv: the data has more than the limit of 3 bytes");
  sparc_dataset *d = good("x.tsv", "a\t1\n", 4, &(sparc_read_options){.max_bytes = 4});
  sparc_dataset_free(d);
  const bytes small = pack("a\t1\n", 4);
  d = good("x.tsv", small.data, small.size, &(sparc_read_options){.max_bytes = small.size});
  sparc_dataset_free(d);
  assert_int_equal(sparc_dataset_load(spill_text("four.tsv", "a\t1\n"), &(sparc_read_options){.max_bytes = 3}, &d),
                   SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "four.tsv: the file has more than the limit of 3 bytes"));
}

static void test_pipe(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], "a\t1\n", 4), 4);
  close(ends[1]);
  char path[64];
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  sparc_dataset *d;
  assert_int_equal(sparc_dataset_load(path, NULL, &d), SPARC_OK);
  SERIES(d, 0, 1);
  sparc_dataset_free(d);
  close(ends[0]);
}

static void test_locale(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "cs_CZ.UTF-8"};
  const char *chosen = NULL;
  for (size_t i = 0; i < COUNT(names) && !chosen; i++) chosen = setlocale(LC_ALL, names[i]);
  if (!chosen) {
    printf("skipped: no locale with a decimal comma is installed\n");
    skip();
  }
  sparc_dataset *d = good_text("x.tsv", "1.5\t2.5\n");
  SERIES(d, 0, 2.5F);
  sparc_dataset_free(d);
  setlocale(LC_ALL, "C");
}

/* ---- data sets ---- */

static void test_subset(void **state) {
  (void)state;
  sparc_dataset *d = good_text("x.tsv", "a\t1\t2\nb\t3\tNaN\na\t5\t6\n"), *view, *again;
  assert_int_equal(sparc_dataset_subset(d, CLASSES(2, 1), 2, "part", &view), SPARC_OK);
  assert_string_equal(sparc_dataset_info_of(view).name, "part");
  assert_int_equal(sparc_dataset_info_of(view).count, 2);
  assert_ptr_equal(sparc_dataset_example(view, 0).x, sparc_dataset_example(d, 2).x);
  assert_int_equal(sparc_dataset_info_of(view).longest, 2);
  assert_int_equal(sparc_dataset_info_of(view).shortest, 1);
  expect_labels(view, LABELS("a", "b"), CLASSES(0, 1));

  /* a change of one is not seen by the other, whichever is changed */
  const double mean = 1, std = 2;
  assert_int_equal(sparc_dataset_normalise(view, &mean, &std), SPARC_OK);
  SERIES(view, 0, 2, 2.5F);
  SERIES(d, 2, 5, 6);
  assert_int_equal(sparc_dataset_subset(d, CLASSES(0, 0), 2, NULL, &again), SPARC_OK);
  assert_string_equal(sparc_dataset_info_of(again).name, "x");
  assert_int_equal(sparc_dataset_normalise(d, &mean, &std), SPARC_OK);
  SERIES(d, 0, 0, 0.5F);
  SERIES(again, 0, 1, 2);
  sparc_dataset_free(d);

  /* a repeated example is changed once, also when it is not shared */
  assert_int_equal(sparc_dataset_normalise(again, &mean, &std), SPARC_OK);
  SERIES(again, 0, 0, 0.5F);
  SERIES(again, 1, 0, 0.5F);

  const struct {
    const int *indices;
    int count;
    const char *fragment;
  } wrong[] = {{NULL, 1, "indices is NULL"},
               {CLASSES(0), 0, "count is 0, expected at least 1"},
               {CLASSES(0, 2), 2, "indices[1] is 2, expected 0 to 1"},
               {CLASSES(-1), 1, "indices[0] is -1, expected 0 to 1"}};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    sparc_dataset *none = view;
    assert_int_equal(sparc_dataset_subset(again, wrong[i].indices, wrong[i].count, NULL, &none), SPARC_INVALID);
    assert_null(none);
    assert_non_null(strstr(sparc_error(), wrong[i].fragment));
  }
  sparc_dataset_free(view);
  sparc_dataset_free(again);
}

static void test_fill_missing(void **state) {
  (void)state;
  sparc_dataset *d = good_text("x.ts", "@classLabel false\n@data\n?,1,?,?,4,?:8,?,?,?,?,?\n1,2:3,4\n"), *view;
  assert_int_equal(sparc_dataset_info_of(d).missing, 9);
  assert_int_equal(sparc_dataset_subset(d, CLASSES(0), 1, NULL, &view), SPARC_OK);
  assert_int_equal(sparc_dataset_fill_missing(d), SPARC_OK);
  assert_int_equal(sparc_dataset_info_of(d).missing, 0);
  SERIES(d, 0, 1, 8, 1, 8, 2, 8, 3, 8, 4, 8, 4, 8);
  SERIES(d, 1, 1, 3, 2, 4);
  assert_int_equal(sparc_dataset_info_of(view).missing, 9);
  assert_true(isnan(sparc_dataset_example(view, 0).x[0]));
  sparc_dataset_free(d);
  sparc_dataset_free(view);

  d = good_text("x.ts", "@classLabel false\n@data\n?,1:1,2\n1,2:?,?\n");
  assert_int_equal(sparc_dataset_fill_missing(d), SPARC_INVALID);
  assert_string_equal(sparc_error(), "example 1 of 'x': all 2 values of channel 2 are missing, expected at least one");
  assert_true(isnan(sparc_dataset_example(d, 0).x[0]));
  assert_int_equal(sparc_dataset_info_of(d).missing, 3);
  sparc_dataset_free(d);
}

static void test_normalisation(void **state) {
  (void)state;
  sparc_dataset *d = good_text("x.ts", "@classLabel false\n@data\n1,?,3:10,10,10\n5,7:10,10\n");
  double mean[2], std[2];
  assert_int_equal(sparc_dataset_moments(d, mean, std), SPARC_OK);
  assert_true(mean[0] == 4 && fabs(std[0] - sqrt(5)) < 1e-15);
  assert_true(mean[1] == 10 && std[1] == 1);
  assert_int_equal(sparc_dataset_normalise(d, mean, std), SPARC_OK);
  SERIES(d, 0, (float)(-3 / sqrt(5)), 0, NAN, 0, (float)(-1 / sqrt(5)), 0);
  assert_int_equal(sparc_dataset_info_of(d).missing, 1);

  float out[4];
  normalise_rows((const float[]){1, 2, 3, 4}, out, 2, 2, (const double[]){1, 2}, (const double[]){2, 4});
  assert_memory_equal(out, ((const float[]){0, 0, 1, 0.5F}), sizeof out);

  const struct { double mean, std; } wrong[] = {{NAN, 1}, {0, 0}, {0, -1}, {0, INFINITY}, {0, NAN}};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    mean[1] = wrong[i].mean, std[1] = wrong[i].std;
    assert_int_equal(sparc_dataset_normalise(d, mean, std), SPARC_INVALID);
    assert_non_null(strstr(sparc_error(), "mean[1] is"));
  }
  mean[1] = 1, std[1] = 1e-300;
  assert_int_equal(sparc_dataset_normalise(d, mean, std), SPARC_NOT_FINITE);
  assert_non_null(strstr(sparc_error(), "example 0 of 'x'"));
  SERIES(d, 1, (float)(1 / sqrt(5)), 0, (float)(3 / sqrt(5)), 0);
  sparc_dataset_free(d);

  /* the largest floats neither overflow nor lose their spread */
  d = good_text("x.tsv", "a\t3e38\t-3e38\t3e38\t-3e38\n");
  assert_int_equal(sparc_dataset_moments(d, mean, std), SPARC_OK);
  assert_true(mean[0] == 0 && fabs(std[0] / 3e38 - 1) < 1e-6);
  sparc_dataset_free(d);
  d = good_text("x.ts", "@classLabel false\n@data\n1,2:?,?\n");
  assert_int_equal(sparc_dataset_moments(d, mean, std), SPARC_INVALID);
  assert_string_equal(sparc_error(), "all values of channel 2 of 'x' are missing, expected at least one");
  sparc_dataset_free(d);
}

/* ---- splits ---- */

/* rows "label \t row number" with the given number of rows of each class, the classes interleaved */
static char *numbered_rows(const int *counts, int classes) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  int row = 0;
  for (int round = 0, more = 1; more; round++) {
    more = 0;
    for (int c = 0; c < classes; c++)
      if (round < counts[c]) fprintf(stream, "%d\t%d\n", c, row++), more = 1;
  }
  fclose(stream);
  return text;
}

static sparc_data_split load(const char *name, const sparc_data_options *o) {
  sparc_data_split split;
  if (sparc_data_split_load(name, o, &split) != SPARC_OK) fail_msg("%s: %s", name, sparc_error());
  return split;
}

/* every row is in one part, each part is in order, and the parts have the right share of each class */
static void check_split(const int *counts, const int *shares, int classes) {
  char *text = numbered_rows(counts, classes);
  int total = 0;
  for (int c = 0; c < classes; c++) total += counts[c];
  sparc_data_split split = load(spill_text("rows.tsv", text), NULL);
  free(text);
  bool *seen = calloc((size_t)total, sizeof *seen);
  const sparc_dataset *const parts[] = {split.fit, split.validation};
  int taken = 0;
  for (int part = 0; part < 2; part++) {
    int found[16] = {0}, last = -1;
    for (int i = 0; parts[part] && i < sparc_dataset_info_of(parts[part]).count; i++) {
      const int row = (int)sparc_dataset_example(parts[part], i).x[0];
      assert_true(row > last && row < total && !seen[row]);
      seen[last = row] = true;
      taken++;
      found[sparc_dataset_example(parts[part], i).label]++;
    }
    for (int c = 0; c < classes; c++) assert_int_equal(found[c], part ? shares[c] : counts[c] - shares[c]);
  }
  assert_int_equal(taken, total);
  assert_null(split.test);
  free(seen);
  sparc_data_split_free(&split);
  assert_null(split.fit);
}

static void test_split(void **state) {
  (void)state;
  /* ties to even: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2; and one example at least validates */
  check_split(CLASSES(5, 15, 25, 26, 4, 10), CLASSES(0, 2, 2, 3, 0, 1), 6);
  check_split(CLASSES(3, 4, 2), CLASSES(0, 1, 0), 3);
  check_split(CLASSES(1, 1), CLASSES(1, 0), 2);
  check_split(CLASSES(1), CLASSES(0), 1);
  /* the paper's sizes: MNIST's and StarLightCurves' classes; FordA's, of which the archive has 1846 and 1755 */
  check_split(CLASSES(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
              CLASSES(592, 674, 596, 613, 584, 542, 592, 626, 585, 595), 10);
  check_split(CLASSES(152, 275, 573), CLASSES(15, 28, 57), 3);
  check_split(CLASSES(1846, 1755), CLASSES(185, 176), 2);
}

static uint64_t hash(uint64_t h, uint64_t value) { return (h ^ value) * UINT64_C(1099511628211); }

/* what was drawn must never change: results would no longer be comparable */
/* a sound division has every class in its validation part, and a series with its past */
static void test_sound_division(void **state) {
  (void)state;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", in_folder("few.csv"));
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (int i = 0; i < 33; i++) fprintf(file, "%d,%d,c%d\n", i, i * i, i < 30 ? i % 6 : 7 + i);
  fclose(file);
  const struct {
    sparc_data_division division;
    int validation;
  } cases[] = {{SPARC_DIVISION_PAPER, 1}, {SPARC_DIVISION_SOUND, 6}};
  for (size_t k = 0; k < COUNT(cases); k++) {
    sparc_data_split s;
    const sparc_data_options o = {.read = {.division = cases[k].division}};
    if (sparc_data_split_load(path, &o, &s) != SPARC_OK) fail_msg("%s", sparc_error());
    assert_int_equal(sparc_dataset_info_of(s.validation).count,
                     cases[k].validation); /* classes of one example only fit */
    assert_int_equal(sparc_dataset_info_of(s.fit).count, 33 - cases[k].validation);
    bool seen[16] = {false};
    for (int i = 0, examples = sparc_dataset_info_of(s.validation).count; i < examples; i++) {
      const int class_index = sparc_dataset_example(s.validation, i).label;
      assert_false(seen[class_index]);
      seen[class_index] = true;
    }
    sparc_data_split_free(&s);
  }
  sparc_data_split none;
  const sparc_data_options wrong = {.read = {.division = (sparc_data_division)7}};
  assert_int_equal(sparc_data_split_load(path, &wrong, &none), SPARC_INVALID);

  file = fopen(path, "w");
  assert_non_null(file);
  for (int t = 0; t < 5000; t++) fprintf(file, "%d\n", t);
  fclose(file);
  const sparc_data_options o = {
      .read = {.objective = SPARC_OBJECTIVE_FORECAST, .horizon = 2, .division = SPARC_DIVISION_SOUND}};
  sparc_data_split s;
  if (sparc_data_split_load(path, &o, &s) != SPARC_OK) fail_msg("%s", sparc_error());
  for (int i = 0, examples = sparc_dataset_info_of(s.fit).count; i < examples; i++)
    assert_int_equal(sparc_dataset_example(s.fit, i).context, 0);
  const sparc_dataset *const parts[] = {s.validation, s.test};
  for (int p = 0; p < 2; p++) {
    const int from = p ? 4500 : 4000, length = sparc_dataset_example(parts[p], 0).length;
    assert_int_equal(sparc_dataset_info_of(parts[p]).count, 1);
    assert_int_equal(sparc_dataset_example(parts[p], 0).context, 1024);
    assert_int_equal(length, 1024 + 500);
    assert_true(sparc_dataset_example(parts[p], 0).x[1024] == (float)from);
    assert_true(sparc_dataset_example(parts[p], 0).x[length - 1] == (float)(from + 499));
  }
  sparc_data_split_free(&s);
  assert_int_equal(remove(path), 0);
}

static void test_split_is_fixed(void **state) {
  (void)state;
  char *text = numbered_rows(CLASSES(200, 100), 2);
  uint64_t h = UINT64_C(14695981039346656037);
  for (int run = 0; run < 2; run++) {
    sparc_data_split split = load(spill_text("fixed.tsv", text), NULL);
    uint64_t this_run = UINT64_C(14695981039346656037);
    for (int i = 0, examples = sparc_dataset_info_of(split.validation).count; i < examples; i++)
      this_run = hash(this_run, (uint64_t)sparc_dataset_example(split.validation, i).x[0]);
    if (run) assert_true(h == this_run);
    h = this_run;
    sparc_data_split_free(&split);
  }
  free(text);
  assert_int_equal(h, UINT64_C(0x228e5ef839d6fd86));
}

/* ---- named data sets ---- */

static void expect_load_error(const char *name, const sparc_data_options *o, sparc_status want, const char *fragment) {
  sparc_data_split split;
  memset(&split, 0xff, sizeof split);
  const sparc_status status = sparc_data_split_load(name, o, &split);
  if (status != want || !strstr(sparc_error(), fragment))
    fail_msg("%s gives '%s' and \"%s\", expected \"%s\"", name, sparc_status_name(status), sparc_error(), fragment);
  assert_null(split.fit);
  assert_null(split.validation);
  assert_null(split.test);
}

static void test_named_ucr(void **state) {
  (void)state;
  char *train = numbered_rows(CLASSES(20, 30), 2);
  char root[PATH_MAX];
  snprintf(root, sizeof root, "%s/store", folder);
  const sparc_data_options o = {.root = root}, official = {.root = root, .protocol = SPARC_PROTOCOL_OFFICIAL};
  const bytes packed = pack(train, strlen(train));
  spill("store/ucr/Alpha/Alpha_TRAIN.tsv.gz", packed.data, packed.size);
  spill_text("store/ucr/Alpha/Alpha_TEST.txt", "1 7\n");
  spill_text("store/Betamax/Betamax_TRAIN.ts", "@classLabel true x y\n@data\n1,2:x\n3,4:y\n");
  spill_text("store/Betamax/Betamax_TEST.ts", "@classLabel true x y\n@data\n1,2:y\n");
  spill_text("store/ucr/Gamma/Gamma_TRAIN.tsv", "1\t1\n2\t2\n");
  spill_text("store/ucr/Gamma/Gamma_TEST.tsv", "1\t1\n3\t2\n");

  sparc_data_split s = load("Alpha", &o);
  assert_string_equal(s.name, "Alpha");
  assert_string_equal(s.paper_difference, "");
  assert_string_equal(s.protocol,
                      "fit and validation are 45 and 5 of 50 training examples, drawn by class once for all runs; the "
                      "test partition is kept apart");
  assert_int_equal(sparc_dataset_info_of(s.fit).count, 45);
  assert_int_equal(sparc_dataset_info_of(s.validation).count, 5);
  /* the only test row is of class 1, and it keeps that number */
  expect_labels(s.test, LABELS("0", "1"), CLASSES(1));
  assert_string_equal(sparc_dataset_info_of(s.test).name, "Alpha");
  sparc_data_split_free(&s);

  s = load("Alpha", &official);
  assert_int_equal(sparc_dataset_info_of(s.fit).count, 50);
  assert_null(s.validation);
  assert_int_equal(sparc_dataset_info_of(s.test).count, 1);
  sparc_data_split_free(&s);

  s = load("Betamax", &o);
  assert_int_equal(sparc_dataset_info_of(s.fit).count, 1);
  assert_int_equal(sparc_dataset_example(s.test, 0).label, 1);
  sparc_data_split_free(&s);

  /* by the folder, by the file, which brings its test part along, and by the environment */
  s = load(in_folder("store/ucr/Gamma/"),
           &(sparc_data_options){.read = {.classes = LABELS("1", "2", "3"), .class_count = 3}});
  assert_string_equal(s.name, "Gamma");
  sparc_data_split_free(&s);
  s = load(in_folder("store/Betamax/Betamax_TRAIN.ts"), NULL);
  assert_string_equal(s.name, "Betamax_TRAIN");
  assert_int_equal(sparc_dataset_info_of(s.test).count, 1);
  sparc_data_split_free(&s);
  free(train);

  /* what goes wrong */
  expect_load_error("Gamma", &o, SPARC_FORMAT, "Gamma_TEST.tsv:2: the label is '3', expected one of 1, 2");
  expect_load_error("Alhpa", &o, SPARC_IO,
                    "/store/ucr/Alhpa/Alhpa_TRAIN{.tsv,.ts,.txt,.csv,.npz,.npy}[.gz], and for a file of that name; did "
                    "you mean 'Alpha'?");
  expect_load_error("BETAMAX", &o, SPARC_IO, "did you mean 'Betamax'?");
  expect_load_error("Nothing", &o, SPARC_IO, "no data set 'Nothing': looked for ");
  assert_null(strstr(sparc_error(), "did you mean"));
  expect_load_error("pmnist", &o, SPARC_IO, "/store/mnist/train-images-idx3-ubyte[.gz]");
  expect_load_error(in_folder("store/ucr"), &o, SPARC_IO, "does not hold ucr_TRAIN{.tsv,.ts,.txt,.csv,.npz,.npy}");
  expect_load_error("./missing.csv", &o, SPARC_IO, "cannot open './missing.csv'");
  expect_load_error(spill_text("single.tsv", "1\t1\n2\t2\n"), &official, SPARC_INVALID, "has no test partition");

  char **names;
  assert_int_equal(catalog_names(root, &names), SPARC_OK);
  const char *const want[] = {"Alpha", "Betamax", "Gamma"};
  for (size_t i = 0; i < COUNT(want); i++) assert_string_equal(names[i], want[i]);
  assert_null(names[COUNT(want)]);
  catalog_names_free(names);
}

static void test_named_fallbacks(void **state) {
  (void)state;
  char root[PATH_MAX];
  snprintf(root, sizeof root, "%s/fall", folder);
  const sparc_data_options o = {.root = root};
  spill_text("fall/ucr/FordA/FordA_part1319.tsv", "-1\t1\n1\t2\n1\t3\n");
  spill_text("fall/ucr/FordA/FordA_part577.tsv", "1\t1\n-1\t2\n");
  sparc_data_split s = load("FordA", &o);
  assert_string_equal(s.name, "FordA (1896 rows)");
  assert_int_equal(sparc_dataset_info_of(s.fit).count, 3);
  assert_int_equal(sparc_dataset_info_of(s.validation).count, 2);
  assert_null(s.test);
  expect_labels(s.fit, LABELS("-1", "1"), CLASSES(0, 1, 1));
  expect_labels(s.validation, LABELS("-1", "1"), CLASSES(1, 0));
  assert_non_null(strstr(s.paper_difference, "the paper has 3240 and 361 rows of TRAIN"));
  sparc_data_split_free(&s);
  expect_load_error("FordA", &(sparc_data_options){.root = root, .protocol = SPARC_PROTOCOL_OFFICIAL}, SPARC_INVALID,
                    "has no test partition");

  /* the official files go first */
  spill_text("fall/ucr/FordA/FordA_TRAIN.tsv", "-1\t1\n1\t2\n");
  s = load("FordA", &o);
  assert_string_equal(s.name, "FordA");
  assert_string_equal(s.paper_difference,
                      "1 fit and 1 validation examples of 1 steps in 2 classes; the paper has 3240, 361, 500 and 2");
  sparc_data_split_free(&s);

  spill_text("fall/UWaveGestureLibraryAll/UWaveGestureLibraryAll_XYZ_TRAIN.tsv", "1\t1\n2\t2\n");
  spill_text("fall/UWaveGestureLibraryAll/UWaveGestureLibraryAll_XYZ_TEST.tsv", "2\t1\n");
  s = load("UWaveGestureLibraryAll", &o);
  assert_string_equal(s.name, "UWave X+Y+Z");
  assert_non_null(strstr(s.paper_difference, "not the archive's files"));
  assert_int_equal(sparc_dataset_info_of(s.test).count, 1);
  sparc_data_split_free(&s);
}

static void test_named_images(void **state) {
  (void)state;
  char root[PATH_MAX];
  snprintf(root, sizeof root, "%s/images", folder);
  const sparc_data_options o = {.root = root};
  /* pixel k of every image is k, so that the sequence shows the order */
  bytes images = idx(0x08, 3, (const int[]){2, 10, 10}), labels = idx(0x08, 1, (const int[]){2});
  for (int k = 0; k < 200; k++) put_byte(&images, k % 100);
  put(&labels, "\5\6", 2);
  spill("images/mnist/train-images-idx3-ubyte", images.data, images.size);
  expect_load_error("mnist", &o, SPARC_IO, "mnist/train-images-idx3-ubyte: its labels are not beside it");
  spill("images/mnist/train-labels-idx1-ubyte", labels.data, labels.size);
  spill("images/mnist/t10k-images-idx3-ubyte", images.data, images.size);
  spill("images/mnist/t10k-labels-idx1-ubyte", labels.data, labels.size);

  sparc_data_split plain = load("mnist", &o), permuted = load("pmnist", &o);
  assert_string_equal(plain.name, "MNIST");
  assert_string_equal(plain.paper_difference, "");
  assert_string_equal(permuted.name, "Permuted MNIST");
  int order[100], seen[100] = {0}, fixed = 0;
  sparc_random stream;
  sparc_random_init(&stream, 1, "data", "pmnist permutation");
  random_permutation(&stream, order, 100);
  for (int k = 0; k < 100; k++) {
    assert_true(sparc_dataset_example(plain.fit, 0).x[k] == (float)k);
    const int pixel = (int)sparc_dataset_example(permuted.fit, 0).x[k];
    assert_int_equal(pixel, order[k]);
    assert_true(sparc_dataset_example(permuted.test, 1).x[k] == (float)pixel);
    assert_int_equal(seen[pixel]++, 0);
    fixed += pixel == k;
  }
  assert_true(fixed < 10);
  expect_labels(permuted.test, LABELS("5", "6"), CLASSES(0, 1));
  sparc_data_split_free(&plain);
  sparc_data_split_free(&permuted);

  /* the official batches, all five of them; the converted file goes first */
  const bytes batch = cifar(4);
  for (int i = 1; i <= 5; i++) {
    if (i == 5) expect_load_error("cifar10-gray", &o, SPARC_IO, "cifar10/gray-train-images-idx3-ubyte[.gz]");
    char name[64];
    snprintf(name, sizeof name, "images/cifar-10-batches-bin/data_batch_%d.bin", i);
    spill(name, batch.data, batch.size);
  }
  spill("images/cifar-10-batches-bin/test_batch.bin", batch.data, RECORD);
  sparc_data_split s = load("cifar10-gray", &o);
  assert_int_equal(sparc_dataset_info_of(s.fit).count + sparc_dataset_info_of(s.validation).count, 20);
  assert_int_equal(sparc_dataset_info_of(s.test).count, 1);
  assert_int_equal(sparc_dataset_info_of(s.fit).classes, 10);
  assert_int_equal(sparc_dataset_info_of(s.fit).longest, 1024);
  sparc_data_split_free(&s);
  spill("images/cifar10/gray-train-images-idx3-ubyte", images.data, images.size);
  spill("images/cifar10/gray-train-labels-idx1-ubyte", labels.data, labels.size);
  s = load("cifar10-gray", &o);
  assert_int_equal(sparc_dataset_info_of(s.fit).longest, 100);
  sparc_data_split_free(&s);
}

/* ---- no memory ---- */

static sparc_status read_something(int which) {
  static const char *const texts[] = {
      "a\t1\t?\nb\t3\t4\n", "@problemName p\n@classLabel true a b\n@data\n1,2:a\n3,4:b\n", "1,2,\"a\"\"\"\n3,4,b\n"};
  static const char *const names[] = {"x.tsv", "x.ts", "x.csv"};
  sparc_dataset *d = NULL;
  sparc_data_split split;
  sparc_status status;
  if (which < 3) {
    status = sparc_dataset_parse(texts[which], strlen(texts[which]), names[which], NULL, &d);
    if (status == SPARC_OK) status = sparc_dataset_fill_missing(d);
  } else if (which == 5) {
    const float x[] = {1, 2}, *const rows[] = {x};
    const int length = 2, label = 1;
    const sparc_arrays a = {1,           1, rows, .lengths = &length, .labels = &label, .target = rows, .targets = 1,
                            .classes = 2};
    status = sparc_dataset_from_arrays(&a, NULL, &d);
  } else {
    status = sparc_data_split_load(which == 3 ? "Alpha" : "Alhpa", &(sparc_data_options){.root = in_folder("store")},
                                   &split);
    const double mean = 0, std = 2;
    if (status == SPARC_OK) status = sparc_dataset_normalise(split.fit, &mean, &std);
    sparc_data_split_free(&split);
  }
  sparc_dataset_free(d);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  if (!OWN_ALLOCATOR) skip();
  for (int which = 0; which < 6; which++) {
    const sparc_status want = which == 4 ? SPARC_IO : SPARC_OK;
    assert_int_equal(read_something(which), want);
    int failures = 0;
    for (long n = 1;; n++) {
      const long before = live, first = allocations;
      fail_at = allocations + n;
      const sparc_status status = read_something(which);
      fail_at = 0;
      assert_int_equal(live, before);
      if (allocations - first < n) break;
      /* what only serves a suggestion may fail unnoticed */
      if (status != SPARC_NO_MEMORY) assert_int_equal(status, want);
      failures += status == SPARC_NO_MEMORY;
    }
    assert_true(which == 4 || failures > 5);
  }
}

/* ---- arrays ---- */

static sparc_dataset *from_arrays(sparc_arrays a, const char *name) {
  sparc_dataset *d;
  if (sparc_dataset_from_arrays(&a, name, &d) != SPARC_OK) fail_msg("arrays are refused: %s", sparc_error());
  return d;
}

static void refuse_arrays(sparc_arrays a, sparc_status expected, const char *fragment) {
  sparc_dataset *d = (sparc_dataset *)&d;
  const sparc_status status = sparc_dataset_from_arrays(&a, NULL, &d);
  if (status != expected || d || !strstr(sparc_error(), fragment))
    fail_msg("'%s' and \"%s\", expected '%s' and \"%s\"", sparc_status_name(status), sparc_error(),
             sparc_status_name(expected), fragment);
}

static void test_arrays(void **state) {
  (void)state;
  float long_x[] = {1, 10, 2, 20, NAN, 30}, short_x[] = {4, 40};
  const float *const x[] = {long_x, short_x, long_x};
  const sparc_arrays plain = {.count = 3, .channels = 2, .x = x, .lengths = (const int[]){3, 1, 2}};

  /* values are copied, ragged lengths and missing values kept */
  sparc_dataset *d = from_arrays(plain, NULL);
  sparc_dataset_info info = sparc_dataset_info_of(d);
  assert_string_equal(info.name, "data");
  assert_true(info.count == 3 && info.channels == 2 && info.shortest == 1 && info.longest == 3 && info.missing == 1);
  assert_true(info.classes == 0 && info.targets == 0 && info.target_steps == 0);
  short_x[0] = 5;
  SERIES(d, 0, 1, 10, 2, 20, NAN, 30);
  SERIES(d, 1, 4, 40);
  SERIES(d, 2, 1, 10, 2, 20);
  const sparc_sample e = sparc_dataset_example(d, 1);
  assert_true(e.label == -1 && !e.target && !e.labels && e.context == 0 && !e.id);
  assert_null(sparc_dataset_example(d, 3).x);
  assert_null(sparc_dataset_info_of(d).columns);
  sparc_dataset_free(d);

  /* labels by index */
  sparc_arrays a = plain;
  a.labels = (const int[]){11, -1, 0}, a.classes = 12;
  d = from_arrays(a, "numbered");
  assert_string_equal(sparc_dataset_info_of(d).name, "numbered");
  expect_labels(d, LABELS("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"), CLASSES(11, -1, 0));
  sparc_dataset_free(d);
  a.classes = 2, a.class_names = LABELS("up", "down"), a.labels = (const int[]){1, 0, -1};
  d = from_arrays(a, NULL);
  expect_labels(d, LABELS("up", "down"), CLASSES(1, 0, -1));
  sparc_dataset_free(d);

  /* labels by name: numbered as in files, or in the order of class_names */
  a = plain;
  a.label_names = (const char *const[]){"10", NULL, "9"};
  d = from_arrays(a, NULL);
  expect_labels(d, LABELS("9", "10"), CLASSES(1, -1, 0));
  sparc_dataset_free(d);
  a.label_names = (const char *const[]){"down: fast, or not", "", "down: fast, or not"};
  a.class_names = LABELS("up", "down: fast, or not"), a.classes = 2;
  d = from_arrays(a, NULL);
  expect_labels(d, LABELS("up", "down: fast, or not"), CLASSES(1, -1, 1));
  sparc_dataset_free(d);

  /* targets of an example, and of a step */
  a = plain;
  a.target = (const float *const[]){(float[]){1, 2}, (float[]){3, 4}, (float[]){5, 6}}, a.targets = 2;
  d = from_arrays(a, NULL);
  assert_true(sparc_dataset_info_of(d).targets == 2 && !sparc_dataset_info_of(d).target_steps);
  assert_true(sparc_dataset_example(d, 2).target[0] == 5 && sparc_dataset_example(d, 2).target[1] == 6);
  sparc_dataset_free(d);
  a.target = (const float *const[]){(float[]){1, 2, 3}, (float[]){4}, (float[]){5, 6}};
  a.targets = 1, a.target_steps = 1;
  d = from_arrays(a, NULL);
  assert_true(sparc_dataset_info_of(d).targets == 1 && sparc_dataset_info_of(d).target_steps);
  assert_true(sparc_dataset_example(d, 0).target[2] == 3 && sparc_dataset_example(d, 2).target[1] == 6);
  sparc_dataset_free(d);
}

static void test_array_errors(void **state) {
  (void)state;
  static const float values[] = {1, 2, 3, 4}, infinite[] = {1, INFINITY}, missing[] = {NAN, NAN};
  const float *const x[] = {values, values + 2};
  const sparc_arrays good = {.count = 2, .channels = 1, .x = x, .lengths = (const int[]){2, 1}};
  sparc_dataset_free(from_arrays(good, ""));

  sparc_arrays a = good;
  a.count = 0, refuse_arrays(a, SPARC_INVALID, "count is 0, expected at least 1");
  a.count = INT_MIN, refuse_arrays(a, SPARC_INVALID, "count is -2147483648");
  a = good, a.channels = -1, refuse_arrays(a, SPARC_INVALID, "channels is -1");
  a = good, a.x = NULL, refuse_arrays(a, SPARC_INVALID, "x is NULL");
  a = good, a.lengths = NULL, refuse_arrays(a, SPARC_INVALID, "lengths is NULL");
  a = good, a.lengths = (const int[]){2, 0}, refuse_arrays(a, SPARC_INVALID, "lengths[1] is 0, expected at least 1");
  a = good, a.x = (const float *const[]){values, NULL}, refuse_arrays(a, SPARC_INVALID, "x[1] is NULL");
  a = good, a.x = (const float *const[]){infinite, values};
  refuse_arrays(a, SPARC_INVALID, "value 1 of x[0] is inf, expected a finite number or NaN");
  a = good, a.x = (const float *const[]){missing, values};
  refuse_arrays(a, SPARC_INVALID, "all 2 values of x[0] are missing");

  /* sizes beyond the memory of the machine, and of size_t */
  a = good, a.channels = INT_MAX, a.lengths = (const int[]){INT_MAX, INT_MAX};
  refuse_arrays(a, SPARC_NO_MEMORY, "no memory");
  a = good, a.channels = 1 << 30, a.lengths = (const int[]){1 << 28, 1 << 28};
  refuse_arrays(a, SPARC_NO_MEMORY, "no memory");

  a = good, a.labels = (const int[]){0, 1}, refuse_arrays(a, SPARC_INVALID, "classes is 0, expected the number");
  a.classes = 1, refuse_arrays(a, SPARC_INVALID, "labels[1] is 1, expected -1 to 0");
  a.labels = (const int[]){-2, 0}, refuse_arrays(a, SPARC_INVALID, "labels[0] is -2, expected -1 to 0");
  a.classes = INT_MAX, refuse_arrays(a, SPARC_INVALID, "classes is 2147483647, expected 0 to 1048576");
  a.classes = -1, refuse_arrays(a, SPARC_INVALID, "classes is -1");
  a.labels = (const int[]){0, 1}, a.classes = 2;
  a.class_names = LABELS("a", "a"), refuse_arrays(a, SPARC_INVALID, "class_names has 'a' twice");
  a.class_names = LABELS("a", "\xff"), refuse_arrays(a, SPARC_INVALID, "class_names[1] is");
  a.class_names = LABELS("a", ""), refuse_arrays(a, SPARC_INVALID, "class_names[1] is ''");
  a.class_names = LABELS("a", "b"), a.label_names = LABELS("a", "b");
  refuse_arrays(a, SPARC_INVALID, "labels and label_names are both given");
  a.labels = NULL, a.label_names = LABELS("a", "c");
  refuse_arrays(a, SPARC_INVALID, "label_names[1]: the label is 'c', expected one of a, b");
  a.classes = 0, refuse_arrays(a, SPARC_INVALID, "classes is 0, expected the length of class_names");

  a = good, a.target = x, refuse_arrays(a, SPARC_INVALID, "targets is 0, expected at least 1");
  a.targets = 2, a.target = (const float *const[]){values, NULL};
  refuse_arrays(a, SPARC_INVALID, "target[1] is NULL");
  a.target = (const float *const[]){values, missing};
  refuse_arrays(a, SPARC_INVALID, "value 0 of target[1] is nan, expected a finite number");
}

/* ---- real data ---- */

static const char *real_root(void) {
  static char path[PATH_MAX];
  const char *root = getenv("SPARC_DATA");
  if (root && *root) return root;
  const char *tree = getenv("SPARC_SOURCE_DIR");
#ifdef SPARC_SOURCE_DIR
  if (!tree) tree = SPARC_SOURCE_DIR;
#endif
  snprintf(path, sizeof path, "%s/../shared/data", tree ? tree : ".");
  return path;
}

/* skips the running test, with a line, when a data set is not there */
static void need(const char *name) {
  location *where = malloc(sizeof *where);
  assert_non_null(where);
  const bool found = catalog_find(real_root(), name, where);
  free(where);
  if (found) return;
  printf("skipped: there is no data set %s below %s\n", name, real_root());
  skip();
}

static sparc_data_split load_real(const char *name, sparc_data_protocol protocol) {
  return load(name, &(sparc_data_options){.root = real_root(), .protocol = protocol});
}

static void test_real_ucr(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int train, test, length, classes;
  } sets[] = {{"Chinatown", 20, 345, 24, 2},
              {"PowerCons", 180, 180, 144, 2},
              {"Coffee", 28, 28, 286, 2},
              {"ECG200", 100, 100, 96, 2},
              {"ItalyPowerDemand", 67, 1029, 24, 2},
              {"GunPoint", 50, 150, 150, 2},
              {"ArrowHead", 36, 175, 251, 3},
              {"Trace", 100, 100, 275, 4},
              {"ACSF1", 100, 100, 1460, 10},
              {"EOGHorizontalSignal", 362, 362, 1250, 12}};
  for (size_t i = 0; i < COUNT(sets); i++) {
    need(sets[i].name);
    sparc_data_split s = load_real(sets[i].name, SPARC_PROTOCOL_OFFICIAL);
    assert_int_equal(sparc_dataset_info_of(s.fit).count, sets[i].train);
    assert_int_equal(sparc_dataset_info_of(s.test).count, sets[i].test);
    assert_int_equal(sparc_dataset_info_of(s.test).classes, sets[i].classes);
    assert_int_equal(sparc_dataset_info_of(s.fit).shortest, sets[i].length);
    assert_int_equal(sparc_dataset_info_of(s.test).longest, sets[i].length);
    assert_int_equal(sparc_dataset_info_of(s.fit).missing + sparc_dataset_info_of(s.test).missing, 0);
    assert_string_equal(s.paper_difference, "");
    sparc_data_split_free(&s);
  }
}

static void test_real_paper_sets(void **state) {
  (void)state;
  need("FordA");
  sparc_data_split s = load_real("FordA", SPARC_PROTOCOL_PAPER);
  if (strcmp(s.name, "FordA") != 0) {
    assert_string_equal(s.name, "FordA (1896 rows)");
    assert_int_equal(sparc_dataset_info_of(s.fit).count, 1319);
    assert_int_equal(sparc_dataset_info_of(s.validation).count, 577);
  } else {
    assert_string_equal(s.paper_difference, "");
  }
  assert_int_equal(sparc_dataset_info_of(s.fit).longest, 500);
  assert_int_equal(sparc_dataset_info_of(s.validation).classes, 2);
  assert_string_equal(sparc_dataset_info_of(s.validation).class_names[0], "-1");
  sparc_data_split_free(&s);

  need("UWaveGestureLibraryAll");
  s = load_real("UWaveGestureLibraryAll", SPARC_PROTOCOL_PAPER);
  assert_int_equal(sparc_dataset_info_of(s.fit).count, 806);
  assert_int_equal(sparc_dataset_info_of(s.validation).count, 90);
  assert_int_equal(sparc_dataset_info_of(s.fit).classes, 8);
  assert_int_equal(sparc_dataset_info_of(s.fit).longest, 945);
  sparc_data_split_free(&s);
}

static void test_real_mnist(void **state) {
  (void)state;
  need("pmnist");
  sparc_data_split whole = load_real("mnist", SPARC_PROTOCOL_OFFICIAL);
  double mean, std;
  assert_int_equal(sparc_dataset_moments(whole.fit, &mean, &std), SPARC_OK);
  assert_true(fabs(mean / 255 - 0.1307) < 5e-5 && fabs(std / 255 - 0.3081) < 5e-5);
  assert_int_equal(sparc_dataset_info_of(whole.test).count, 10000);
  sparc_data_split_free(&whole);

  sparc_data_split s = load_real("pmnist", SPARC_PROTOCOL_PAPER);
  assert_string_equal(s.paper_difference, "");
  assert_int_equal(sparc_dataset_info_of(s.fit).count, 54001);
  assert_int_equal(sparc_dataset_info_of(s.validation).count, 5999);
  assert_int_equal(sparc_dataset_info_of(s.fit).longest, 784);
  /* the statistics are those of the fit part, not of the whole */
  double fit_mean, fit_std;
  assert_int_equal(sparc_dataset_moments(s.fit, &fit_mean, &fit_std), SPARC_OK);
  assert_true(fit_mean != mean && fabs(fit_mean - mean) < 1);
  /* the same bits as ever: the order of the pixels, the choice of the images */
  uint64_t h = UINT64_C(14695981039346656037);
  for (int i = 0; i < 100; i++)
    for (int t = 0; t < 784; t++) h = hash(h, (uint64_t)sparc_dataset_example(s.validation, i).x[t]);
  assert_int_equal(h, UINT64_C(0xb25f75698e986ca9));
  sparc_data_split_free(&s);
}

static void test_real_cifar(void **state) {
  (void)state;
  need("cifar10-gray");
  sparc_data_split s = load_real("cifar10-gray", SPARC_PROTOCOL_PAPER);
  assert_string_equal(s.paper_difference, "");
  assert_int_equal(sparc_dataset_info_of(s.fit).count, 45000);
  assert_int_equal(sparc_dataset_info_of(s.validation).count, 5000);
  sparc_data_split_free(&s);

  /* our luma of the official records is the luma of the converted file */
  char gray_path[PATH_MAX + 64], batch_path[PATH_MAX + 64];
  snprintf(gray_path, sizeof gray_path, "%s/cifar10/gray-train-images-idx3-ubyte.gz", real_root());
  snprintf(batch_path, sizeof batch_path, "%s/cifar10/data_batch_1_first1000.bin.gz", real_root());
  if (access(gray_path, R_OK) != 0 || access(batch_path, R_OK) != 0) {
    printf("skipped: %s or %s is not there\n", gray_path, batch_path);
    skip();
  }
  sparc_dataset *gray, *batch;
  assert_int_equal(sparc_dataset_load(gray_path, NULL, &gray), SPARC_OK);
  assert_int_equal(sparc_dataset_load(batch_path, NULL, &batch), SPARC_OK);
  assert_int_equal(sparc_dataset_info_of(batch).count, 1000);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(sparc_dataset_example(batch, i).label, sparc_dataset_example(gray, i).label);
    assert_memory_equal(sparc_dataset_example(batch, i).x, sparc_dataset_example(gray, i).x, 1024 * sizeof(float));
  }
  sparc_dataset_free(gray);
  sparc_dataset_free(batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ucr),
      cmocka_unit_test(test_ucr_missing),
      cmocka_unit_test(test_ucr_errors),
      cmocka_unit_test(test_label_order),
      cmocka_unit_test(test_fixed_classes),
      cmocka_unit_test(test_ts),
      cmocka_unit_test(test_ts_errors),
      cmocka_unit_test(test_csv),
      cmocka_unit_test(test_csv_names),
      cmocka_unit_test(test_csv_values),
      cmocka_unit_test(test_csv_forecast),
      cmocka_unit_test(test_csv_errors),
      cmocka_unit_test(test_idx),
      cmocka_unit_test(test_idx_errors),
      cmocka_unit_test(test_idx_labels),
      cmocka_unit_test(test_npy),
      cmocka_unit_test(test_npy_errors),
      cmocka_unit_test(test_cifar),
      cmocka_unit_test(test_format_choice),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_gzip),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_pipe),
      cmocka_unit_test(test_locale),
      cmocka_unit_test(test_subset),
      cmocka_unit_test(test_fill_missing),
      cmocka_unit_test(test_normalisation),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_split_is_fixed),
      cmocka_unit_test(test_sound_division),
      cmocka_unit_test(test_named_ucr),
      cmocka_unit_test(test_named_fallbacks),
      cmocka_unit_test(test_named_images),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_arrays),
      cmocka_unit_test(test_array_errors),
      cmocka_unit_test(test_real_ucr),
      cmocka_unit_test(test_real_paper_sets),
      cmocka_unit_test(test_real_mnist),
      cmocka_unit_test(test_real_cifar),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
