/* SPDX-License-Identifier: MIT */
/* test_run.c: runs from C: events in their order, stopped by the callback and resumed to equal bytes, refusals, and
 * runs without a folder. */
#include "run/run.h"
#include "scratch.h"
#include "unit.h"

#include <stdbool.h>
#include <string.h>

enum { UPDATES = 24, EVERY = 6 };

/* ---- what the callback sees ---------------------------------------------------------------------- */

typedef struct witness {
  char stages[128]; /* a letter for each event */
  int events;
  long stop_after; /* updates; 0: never */
  sparc_run_stage stop_at;
  double loss[UPDATES];
  char message[256];
} witness;

static int watch(void *user, const sparc_run_event *event) {
  witness *w = user;
  w->stages[w->events++] = "SUVCFX"[event->stage];
  assert_true((event->update != NULL) == (event->stage == SPARC_RUN_UPDATE));
  assert_true((event->score != NULL) == (event->stage == SPARC_RUN_VALIDATED));
  assert_true((event->message != NULL) == (event->stage == SPARC_RUN_FAILED));
  if (event->update) w->loss[event->update->update - 1] = event->update->loss;
  if (event->message) snprintf(w->message, sizeof w->message, "%s", event->message);
  return w->stop_after && event->stage == w->stop_at && sparc_run_result_of(event->run).done >= w->stop_after;
}

static sparc_run_config small_run(const char *path) {
  sparc_run_config config = {.data = "tracking", .folder = path};
  config.state_size = 8;
  config.train.updates = UPDATES;
  config.train.batch = 16;
  config.train.seed = 3;
  config.train.threads = 1;
  config.validate_every = EVERY;
  return config;
}

static void require_ok(sparc_status status, const char *what) {
  if (status != SPARC_OK) fail_msg("%s: %s", what, sparc_error());
}

static void expect_message(const char *part) {
  if (!strstr(sparc_error(), part)) fail_msg("the message is '%s', expected '%s' in it", sparc_error(), part);
}

static void make_run(const sparc_run_config *config, sparc_run **run) {
  require_ok(sparc_run_create(config, run), "creating the run");
}

/* a run that is left alone, as FOLDER/straight/run */
static void run_straight(witness *w) {
  sparc_run_config config = small_run(in_folder("straight/run"));
  sparc_run *run;
  make_run(&config, &run);
  require_ok(sparc_run_execute(run, watch, w), "the run that is left alone");
  const sparc_run_result r = sparc_run_result_of(run);
  assert_true(r.finished && !r.io_failed && r.done == UPDATES && r.saved == UPDATES && r.first == 0);
  assert_int_equal(r.final.update, UPDATES);
  assert_true(r.best.update > 0 && r.best.score >= r.final.score && r.best.score < 0);
  assert_int_equal(r.test.examples, 0);
  sparc_run_free(run);
}

static bool same_file(const char *a, const char *b) {
  FILE *one = fopen(a, "rb"), *two = fopen(b, "rb");
  bool same = one && two;
  for (int c = 0; same && c != EOF;) same = (c = getc(one)) == getc(two);
  if (one) fclose(one);
  if (two) fclose(two);
  return same;
}

static void expect_same_folders(const char *name) {
  static const char *const files[] = {"config.json", "metrics.jsonl", "metrics.csv", "last.safetensors",
                                      "best.safetensors"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char straight[64], other[64];
    snprintf(straight, sizeof straight, "straight/run/%s", files[i]);
    snprintf(other, sizeof other, "%s/%s", name, files[i]);
    if (!same_file(in_folder(straight), in_folder(other))) fail_msg("%s is not that of the straight run", other);
  }
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void test_events(void **state) {
  (void)state;
  witness w = {.events = 0};
  run_straight(&w);
  assert_string_equal(w.stages, "SUUUUUUVCUUUUUUVCUUUUUUVCUUUUUUVCF");
  assert_true(w.loss[UPDATES - 1] < w.loss[0]);
}

/* stopped at an update between checkpoints, at a checkpoint, before the last update; then loaded from its folder alone,
 * or created with its configuration */
static void test_stop_and_resume(void **state) {
  (void)state;
  static const struct {
    const char *folder;
    long after;
    sparc_run_stage at;
    long done;
  } stops[] = {{"a/run", 8, SPARC_RUN_UPDATE, 8},
               {"b/run", 12, SPARC_RUN_UPDATE, 12},
               {"c/run", 12, SPARC_RUN_CHECKPOINT, 12},
               {"d/run", 18, SPARC_RUN_VALIDATED, 18},
               {"e/run", 23, SPARC_RUN_UPDATE, 23}};
  witness straight = {.events = 0};
  run_straight(&straight);
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    char folder_name[PATH_MAX];
    snprintf(folder_name, sizeof folder_name, "%s", in_folder(stops[i].folder));
    sparc_run_config config = small_run(folder_name);
    witness w = {.stop_after = stops[i].after, .stop_at = stops[i].at};
    sparc_run *run;
    make_run(&config, &run);
    require_ok(sparc_run_execute(run, watch, &w), "a run that is stopped");
    sparc_run_result r = sparc_run_result_of(run);
    assert_true(!r.finished && !r.io_failed);
    assert_int_equal(r.done, stops[i].done);
    assert_int_equal(r.saved, stops[i].done);
    sparc_run_free(run);

    witness rest = {.events = 0};
    config.resume = 1;
    if (i % 2)
      make_run(&config, &run);
    else
      require_ok(sparc_run_load(folder_name, 2, &run), "opening the folder");
    require_ok(sparc_run_execute(run, watch, &rest), "a run that is resumed");
    r = sparc_run_result_of(run);
    assert_true(r.finished && r.first == stops[i].done && r.done == UPDATES);
    assert_true(rest.loss[UPDATES - 1] == straight.loss[UPDATES - 1]);
    sparc_run_free(run);
    expect_same_folders(stops[i].folder);
  }
}

/* the same object continues where it was stopped, also without a folder; then it writes nothing */
static void test_executing_again(void **state) {
  (void)state;
  witness straight = {.events = 0};
  run_straight(&straight);
  char folder_name[PATH_MAX];
  snprintf(folder_name, sizeof folder_name, "%s", in_folder("again/run"));
  const char *const folders[] = {folder_name, NULL};
  for (size_t i = 0; i < 2; i++) {
    sparc_run_config config = small_run(folders[i]);
    sparc_run *run;
    make_run(&config, &run);
    for (long after = 5; after <= UPDATES; after += 5) {
      witness w = {.stop_after = after, .stop_at = SPARC_RUN_UPDATE};
      require_ok(sparc_run_execute(run, watch, &w), "a part of a run");
      assert_int_equal(sparc_run_result_of(run).done, after);
      assert_null(strchr(w.stages, 'F'));
      if (!folders[i]) assert_null(strchr(w.stages, 'C'));
    }
    witness rest = {.events = 0};
    require_ok(sparc_run_execute(run, watch, &rest), "the rest of a run");
    const sparc_run_result r = sparc_run_result_of(run);
    assert_true(r.finished && rest.loss[UPDATES - 1] == straight.loss[UPDATES - 1]);
    assert_int_equal(r.saved, folders[i] ? UPDATES : -1);
    sparc_run_free(run);
  }
  expect_same_folders("again/run");
}

static void test_resolved_configuration(void **state) {
  (void)state;
  char data[] = "tracking", cell[] = "rglru";
  sparc_run_config config = {.data = data};
  config.train.network.cell = cell;
  sparc_run *run;
  make_run(&config, &run);
  memset(data, '?', strlen(data));
  memset(cell, '?', strlen(cell));
  const sparc_run_config c = sparc_run_config_of(run);
  assert_string_equal(c.data, "tracking");
  assert_string_equal(c.train.network.cell, "rglru");
  assert_non_null(strstr(c.train.network.cell_options, "block=8"));
  assert_int_equal(c.train.network.H, 128);
  assert_int_equal(c.train.network.layers, 0);
  assert_int_equal(c.train.updates, 450);
  assert_int_equal(c.validate_every, 45);
  assert_true(c.train.learning_rate == 0.01 && c.train.max_gradient_norm == 1 && !c.train.cosine);
  const sparc_run_data d = sparc_run_data_of(run);
  assert_true(d.task && d.fit.count == 384 && d.validation.count == 512 && d.test.count == 0);
  assert_null(run_trainer(run));
  sparc_run_free(run);
}

/* rows of two classes, as FOLDER/rows.csv */
static const char *write_rows(int count) {
  const char *path = in_folder("rows.csv");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (int i = 0; i < count; i++) fprintf(file, "%d,%d,%d,%s\n", i % 5, i % 3, i % 7, i % 2 ? "a" : "b");
  assert_int_equal(fclose(file), 0);
  return path;
}

/* few rows have a closed form unless a training option is given; then very few have noise */
static void test_recipe_by_rows(void **state) {
  (void)state;
  static const struct {
    int rows, updates;
    sparc_run_recipe recipe;
    sparc_readout readout;
  } expected[] = {{150, 0, SPARC_RECIPE_SMALL, SPARC_READOUT_RIDGE},
                  {150, 9, SPARC_RECIPE_SMALL, SPARC_READOUT_GRADIENT},
                  {450, 0, SPARC_RECIPE_SMALL, SPARC_READOUT_RIDGE},
                  {450, 9, SPARC_RECIPE_SIZED, SPARC_READOUT_GRADIENT},
                  {1200, 0, SPARC_RECIPE_SIZED, SPARC_READOUT_GRADIENT}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    sparc_run_config config = {.data = write_rows(expected[i].rows)};
    sparc_run *run;
    config.train.updates = expected[i].updates;
    make_run(&config, &run);
    const sparc_run_config resolved = sparc_run_config_of(run);
    assert_int_equal(resolved.recipe, expected[i].recipe);
    assert_int_equal(resolved.train.readout, expected[i].readout);
    assert_true((resolved.train.jitter > 0) == (expected[i].recipe == SPARC_RECIPE_SMALL && expected[i].updates > 0));
    sparc_run_free(run);
  }
}

/* a recipe that is assigned is used */
static void test_recipe_by_assignment(void **state) {
  (void)state;
  const sparc_run_config config = {.data = write_rows(150), .recipe = SPARC_RECIPE_PAPER};
  sparc_run *run;
  make_run(&config, &run);
  const sparc_run_config resolved = sparc_run_config_of(run);
  assert_int_equal(resolved.recipe, SPARC_RECIPE_PAPER);
  assert_int_equal(resolved.train.readout, SPARC_READOUT_GRADIENT);
  assert_int_equal(resolved.train.updates, 20000);
  sparc_run_free(run);
}

/* a member is given if it is not 0, if it is marked, or if it is set by name */
static void test_given_members(void **state) {
  (void)state;
  sparc_run_config config = {.data = "tracking"};
  config.train.max_gradient_norm = 0;
  config.train.weight_decay = 0.25;
  sparc_run *run;
  make_run(&config, &run);
  assert_true(sparc_run_config_of(run).train.max_gradient_norm == 1 &&
              sparc_run_config_of(run).train.weight_decay == 0.25);
  sparc_run_free(run);

  require_ok(sparc_run_config_set(&config, "train.max_gradient_norm", "0"), "setting by path");
  require_ok(sparc_run_config_set(&config, "batch", "16"), "setting");
  require_ok(sparc_run_config_set(&config, "learning-rate", "0"), "setting");
  require_ok(sparc_run_config_set(&config, "cell", "rtu"), "setting");
  make_run(&config, &run);
  const sparc_run_config c = sparc_run_config_of(run);
  assert_true(c.train.max_gradient_norm == 0 && c.train.learning_rate == 0 && c.train.batch == 16 && c.patience == 0);
  assert_string_equal(c.train.network.cell, "rtu");
  sparc_run_free(run);

  assert_int_equal(sparc_run_config_set(&config, "train.bacth", "16"), SPARC_INVALID);
  assert_int_equal(sparc_run_config_set(&config, "bacth", "16"), SPARC_INVALID);
  expect_message("unknown key 'bacth'; did you mean 'batch'?");
  assert_int_equal(sparc_run_config_set(&config, "batch", "0"), SPARC_INVALID);
  expect_message("train.batch is '0', expected a whole number from 1 to");
  assert_int_equal(sparc_run_config_set(&config, "batch", NULL), SPARC_INVALID);
  config.train.network.layers = -1;
  assert_int_equal(sparc_run_create(&config, &run), SPARC_INVALID);
  expect_message("train.network.layers is -1, expected a whole number from 0");
}

static void expect_bad_config(const sparc_run_config *config, sparc_status want, const char *message) {
  sparc_run *run = (sparc_run *)&want;
  const sparc_status status = sparc_run_create(config, &run);
  if (status != want) fail_msg("status %d instead of %d for '%s'", status, want, message);
  assert_null(run);
  expect_message(message);
}

static void test_refusals(void **state) {
  (void)state;
  const sparc_run_config good = small_run(NULL);
  sparc_run_config c = good;
  c.data = NULL;
  expect_bad_config(&c, SPARC_INVALID, "data is not given");
  c = good;
  c.data = "trackng";
  expect_bad_config(&c, SPARC_IO, "did you mean the task 'tracking'?");
  c = good;
  c.train.network.cell = "spark";
  expect_bad_config(&c, SPARC_INVALID, "did you mean 'sparc'?");
  c = good;
  c.variant = "full-gate";
  expect_bad_config(&c, SPARC_INVALID, "full-gate");
  c = good;
  c.train.learning_rate = -2;
  expect_bad_config(&c, SPARC_INVALID, "train.learning_rate is -2, expected a number from 0");
  c = good;
  c.resume = 1;
  expect_bad_config(&c, SPARC_INVALID, "folder is NULL");
  sparc_run *run;
  assert_int_equal(sparc_run_load(in_folder("nowhere"), 0, &run), SPARC_IO);
  assert_null(run);
  assert_int_equal(sparc_run_create(NULL, &run), SPARC_INVALID);
  assert_int_equal(sparc_run_execute(NULL, NULL, NULL), SPARC_INVALID);
  sparc_run_free(NULL);
}

static void expect_failure(const sparc_run_config *config, sparc_status want, bool io_failed, const char *message) {
  sparc_run *run;
  witness w = {.events = 0};
  make_run(config, &run);
  const sparc_status status = sparc_run_execute(run, watch, &w);
  if (status != want) fail_msg("status %d instead of %d for '%s': %s", status, want, message, sparc_error());
  expect_message(message);
  assert_non_null(strstr(w.message, message));
  assert_int_equal(w.stages[w.events - 1], 'X');
  assert_int_equal(sparc_run_result_of(run).io_failed, io_failed);
  assert_int_equal(sparc_run_execute(run, NULL, NULL), SPARC_INVALID);
  expect_message("has failed before");
  sparc_run_free(run);
}

static void test_failures(void **state) {
  (void)state;
  witness w = {.events = 0};
  run_straight(&w);
  sparc_run_config c = small_run(in_folder("straight/run"));
  expect_failure(&c, SPARC_INVALID, false, "holds a run already; resume continues it, force replaces it");
  c.resume = 1;
  c.train.learning_rate = 0.5;
  expect_failure(&c, SPARC_INVALID, false, "rate is 0.5, but 0.01 in");
  c = small_run(in_folder("straight/run/config.json/below"));
  expect_failure(&c, SPARC_IO, true, "Not a directory");
  c = small_run(NULL);
  c.train.learning_rate = 1e6;
  require_ok(sparc_run_config_set(&c, "max-gradient-norm", "0"), "setting");
  c.train.network.layers = 2;
  expect_failure(&c, SPARC_NOT_FINITE, false, "update");
  /* force replaces the run */
  c = small_run(in_folder("straight/run"));
  c.force = 1;
  c.train.seed = 4;
  sparc_run *run;
  make_run(&c, &run);
  require_ok(sparc_run_execute(run, NULL, NULL), "a run that replaces another");
  sparc_run_free(run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_events, empty_folder),
      cmocka_unit_test_teardown(test_stop_and_resume, empty_folder),
      cmocka_unit_test_teardown(test_executing_again, empty_folder),
      cmocka_unit_test(test_resolved_configuration),
      cmocka_unit_test_teardown(test_recipe_by_rows, empty_folder),
      cmocka_unit_test_teardown(test_recipe_by_assignment, empty_folder),
      cmocka_unit_test(test_given_members),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test_teardown(test_failures, empty_folder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
