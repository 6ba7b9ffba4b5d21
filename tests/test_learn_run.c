/* SPDX-License-Identifier: MIT */
/* test_learn_run.c: runs over streams: line by line, split and resumed to identical files, locked, and errors. */
#include "run/learn_run.h"
#include "scratch.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 60 };

static void require_ok(sparc_status status, const char *what) {
  if (status != SPARC_OK) fail_msg("%s: %s", what, sparc_error());
}

static void expect_refusal(sparc_status status, sparc_status expected, const char *message) {
  if (status != expected || !strstr(sparc_error(), message))
    fail_msg("%s: '%s', expected %s with '%s'", sparc_status_name(status), sparc_error(), sparc_status_name(expected),
             message);
}

static const char *line_of(int t, char buffer[64]) {
  snprintf(buffer, 64, "%.6f,%.6f", sin(0.3 * t), cos(0.11 * t));
  return buffer;
}

static sparc_learn_run_config small_run(const char *model) {
  sparc_learn_run_config config = {.model = model};
  config.learner.network.H = 4;
  return config;
}

/* lines [first, end) */
static sparc_learn_run *feed(const sparc_learn_run_config *config, int first, int end) {
  sparc_learn_run *run;
  char line[64];
  const float *prediction;
  require_ok(sparc_learn_run_create(config, &run), "creating a run");
  assert_null(sparc_learn_run_info_of(run).learner);
  assert_int_equal(sparc_learn_run_result_of(run).saved, -1);
  for (int t = first; t < end; t++) {
    line_of(t, line);
    require_ok(sparc_learn_run_line(run, line, strlen(line), "a line", &prediction), "a line");
    assert_non_null(prediction);
    assert_int_equal(sparc_learn_run_result_of(run).done, t + 1);
  }
  return run;
}

static void *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s is missing", path);
  void *bytes = malloc(1 << 20);
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void streams_in_two_parts_leave_the_same_file(void **state) {
  (void)state;
  char whole[PATH_MAX], part[PATH_MAX];
  snprintf(whole, sizeof whole, "%s", in_folder("whole"));
  snprintf(part, sizeof part, "%s", in_folder("part"));
  sparc_learn_run_config config = small_run(whole);
  sparc_learn_run *run = feed(&config, 0, LINES);
  require_ok(sparc_learn_run_save(run), "saving");
  const sparc_learn_run_score score = sparc_learn_run_result_of(run).score;
  assert_true(score.targets == LINES - 1 && score.loss > 0 && score.recent_loss == score.loss);
  assert_int_equal(score.horizons, 1);
  assert_true(score.horizon[0].horizon == 1 && score.horizon[0].targets > 0 && score.horizon[0].loss > 0);
  assert_string_equal(sparc_learn_run_info_of(run).inputs[1], "column 2");
  sparc_learn_run_free(run);

  config = small_run(part);
  config.save_every = 25; /* the file has 25 steps when the first part is dropped without saving */
  run = feed(&config, 0, 31);
  assert_int_equal(sparc_learn_run_result_of(run).saved, 25);
  sparc_learn_run_free(run);
  config.resume = 1;
  config.save_every = 0;
  run = feed(&config, 25, LINES);
  const sparc_learn_run_result r = sparc_learn_run_result_of(run);
  assert_true(r.resumed && r.first == 25 && r.done == LINES && !r.io_failed);
  require_ok(sparc_learn_run_save(run), "saving");
  sparc_learn_run_free(run);
  size_t sizes[2];
  void *files[2] = {read_all(whole, &sizes[0]), read_all(part, &sizes[1])};
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(files[0], files[1], sizes[0]);
  free(files[0]);
  free(files[1]);
}

static void invalid_calls_are_rejected(void **state) {
  (void)state;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", in_folder("refused"));
  sparc_learn_run *run, *other;
  sparc_learn_run_config config = small_run(path);
  config.resume = 1;
  expect_refusal(sparc_learn_run_create(&config, &run), SPARC_IO, "there is no learner to resume in");
  config.model = NULL;
  expect_refusal(sparc_learn_run_create(&config, &run), SPARC_INVALID, "expected model");
  config = small_run(path);
  config.resume = config.force = 1;
  expect_refusal(sparc_learn_run_create(&config, &run), SPARC_INVALID, "resume and force are both 1");
  config = small_run(path);
  config.decimal = ";";
  expect_refusal(sparc_learn_run_create(&config, &run), SPARC_INVALID, "decimal is ';'");

  /* the file is locked by one run at a time; an existing file is not replaced without force */
  config = small_run(path);
  run = feed(&config, 0, 5);
  require_ok(sparc_learn_run_create(&config, &other), "creating another run");
  expect_refusal(learn_run_lock(other), SPARC_IO, "another process is using");
  assert_true(sparc_learn_run_result_of(other).io_failed);
  sparc_learn_run_free(other);
  require_ok(sparc_learn_run_save(run), "saving");
  sparc_learn_run_free(run);
  require_ok(sparc_learn_run_create(&config, &run), "creating a run");
  const float *prediction;
  expect_refusal(sparc_learn_run_line(run, "1,2", 3, "line 1", &prediction), SPARC_INVALID, "exists already");
  assert_null(prediction);
  expect_refusal(sparc_learn_run_line(run, "1,2", 3, "line 1", &prediction), SPARC_INVALID, "the run has failed");
  sparc_learn_run_free(run);

  /* a malformed line changes nothing; a frozen run writes nothing */
  config.resume = config.frozen = 1;
  run = feed(&config, 5, 6);
  expect_refusal(sparc_learn_run_line(run, "1,x", 3, "line 7", &prediction), SPARC_FORMAT, "line 7");
  assert_null(prediction);
  assert_int_equal(sparc_learn_run_result_of(run).done, 6);
  require_ok(sparc_learn_run_save(run), "saving a frozen run");
  assert_int_equal(sparc_learn_run_result_of(run).saved, 5);
  sparc_learn_run_free(run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_in_two_parts_leave_the_same_file),
      cmocka_unit_test(invalid_calls_are_rejected),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
