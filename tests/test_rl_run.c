/* SPDX-License-Identifier: MIT */
/* test_rl_run.c: runs of reinforcement learning from C: events in their order, stopped by the callback and resumed to
 * equal bytes, names of folders, and what is refused. */
#include "run/rl_run.h"
#include "scratch.h"
#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROLLOUTS = 25 };

/* ---- a small run --------------------------------------------------------------------------------- */

static sparc_rl_run_config small_run(const char *path) {
  sparc_rl_run_config config = {.folder = NULL};
  config.ppo.task = "repeat-previous";
  config.ppo.task_options = "lag=1";
  config.ppo.rollout_steps = 64;
  config.ppo.minibatches = 2;
  config.ppo.epochs = 1;
  config.ppo.width = 8;
  config.ppo.threads = 1;
  config.state_size = 8;
  config.total_steps = ROLLOUTS * 64 + 63; /* the rest is no rollout */
  config.folder = path;
  return config;
}

static void require_ok(sparc_status status, const char *what) {
  if (status != SPARC_OK) fail_msg("%s: %s", what, sparc_error());
}

typedef struct witness {
  int started, rollouts, checkpoints, finished;
  long stop_after; /* rollouts; 0: never */
} witness;

static int watch(void *user, const sparc_rl_run_event *event) {
  witness *w = user;
  w->started += event->stage == SPARC_RUN_STARTED;
  w->rollouts += event->stage == SPARC_RUN_UPDATE;
  assert_true((event->report != NULL) == (event->stage == SPARC_RUN_UPDATE));
  assert_true((event->message != NULL) == (event->stage == SPARC_RUN_FAILED));
  if (event->stage != SPARC_RUN_FAILED) assert_non_null(rl_run_ppo(event->run));
  w->checkpoints += event->stage == SPARC_RUN_CHECKPOINT;
  w->finished += event->stage == SPARC_RUN_FINISHED;
  if (event->report) assert_int_equal(event->report->rollout, sparc_rl_run_result_of(event->run).done);
  return w->stop_after && sparc_rl_run_result_of(event->run).done >= w->stop_after;
}

static sparc_rl_run_result execute(const sparc_rl_run_config *config, witness *w) {
  sparc_rl_run *run;
  require_ok(sparc_rl_run_create(config, &run), "creating the run");
  require_ok(sparc_rl_run_execute(run, watch, w), "the run");
  const sparc_rl_run_result result = sparc_rl_run_result_of(run);
  sparc_rl_run_free(run);
  return result;
}

static void expect_same_file(const char *one, const char *two) {
  FILE *a = fopen(one, "rb"), *b = fopen(two, "rb");
  if (!a || !b) fail_msg("%s or %s is missing", one, two);
  int x, y;
  long at = 0;
  do {
    x = getc(a);
    y = getc(b);
    if (x != y) fail_msg("%s and %s differ at byte %ld", one, two, at);
    at++;
  } while (x != EOF);
  fclose(a);
  fclose(b);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void stopped_runs_continue_bit_exactly(void **state) {
  (void)state;
  static const char *const files[] = {"last.safetensors", "metrics.jsonl", "metrics.csv", "config.json"};
  static const long stops[] = {1, 10, 17, 24};
  char whole[PATH_MAX], part[PATH_MAX];
  snprintf(whole, sizeof whole, "%s", in_folder("whole/run"));
  sparc_rl_run_config config = small_run(whole);
  witness alone = {.started = 0};
  const sparc_rl_run_result want = execute(&config, &alone);
  assert_true(want.finished && want.done == ROLLOUTS && want.saved == ROLLOUTS && want.scored == ROLLOUTS);
  assert_true(isfinite(want.score) && !want.io_failed);
  assert_true(alone.started == 1 && alone.rollouts == ROLLOUTS && alone.checkpoints == 3 && alone.finished == 1);
  for (size_t i = 0; i < COUNT(stops); i++) {
    char name[32];
    snprintf(name, sizeof name, "%ld/run", stops[i]);
    snprintf(part, sizeof part, "%s", in_folder(name));
    config = small_run(part);
    witness first = {.stop_after = stops[i]}, rest = {.stop_after = 0};
    sparc_rl_run_result r = execute(&config, &first);
    assert_true(!r.finished && r.done == stops[i] && r.saved == stops[i]);
    config.resume = 1;
    r = execute(&config, &rest);
    assert_true(r.finished && r.first == stops[i] && rest.rollouts == ROLLOUTS - stops[i]);
    if (r.score != want.score) fail_msg("stopped at %ld: the score is %.17g, not %.17g", stops[i], r.score, want.score);
    for (size_t f = 0; f < COUNT(files); f++) {
      char one[2 * PATH_MAX], two[2 * PATH_MAX];
      snprintf(one, sizeof one, "%s/%s", whole, files[f]);
      snprintf(two, sizeof two, "%s/%s", part, files[f]);
      expect_same_file(one, two);
    }
  }
}

/* a run without a folder writes nothing; one that was stopped can be executed again; one is opened by its folder */
static void runs_need_no_folder(void **state) {
  (void)state;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", in_folder("opened"));
  sparc_rl_run_config config = small_run(path), nowhere = small_run(NULL);
  sparc_rl_run *run;
  witness w = {.stop_after = 7};
  require_ok(sparc_rl_run_create(&nowhere, &run), "creating a run without a folder");
  require_ok(sparc_rl_run_execute(run, watch, &w), "its first part");
  assert_true(!sparc_rl_run_result_of(run).finished && sparc_rl_run_result_of(run).done == 7);
  w.stop_after = 0;
  require_ok(sparc_rl_run_execute(run, watch, &w), "its second part");
  const sparc_rl_run_result want = sparc_rl_run_result_of(run);
  assert_true(want.finished && want.saved == -1 && w.checkpoints == 0 && w.finished == 1);
  sparc_rl_run_free(run);

  w = (witness){.stop_after = 7};
  execute(&config, &w);
  assert_int_equal(sparc_rl_run_load(in_folder("missing"), 1, &run), SPARC_IO);
  require_ok(sparc_rl_run_load(path, 1, &run), "opening the folder of a run");
  require_ok(sparc_rl_run_execute(run, NULL, NULL), "its second part");
  const sparc_rl_run_result got = sparc_rl_run_result_of(run);
  assert_true(got.finished && got.first == 7 && got.score == want.score);
  assert_string_equal(sparc_rl_run_config_of(run).ppo.task, "repeat-previous");
  sparc_rl_run_free(run);
}

static void resolved_configurations_are_the_papers(void **state) {
  (void)state;
  sparc_rl_run_config config = small_run(in_folder("resolved"));
  sparc_rl_run *run;
  require_ok(sparc_rl_run_create(&config, &run), "creating the run");
  const sparc_rl_run_config resolved = sparc_rl_run_config_of(run), *c = &resolved;
  assert_true(c->ppo.rollouts == ROLLOUTS && c->total_steps == ROLLOUTS * 64 && c->ppo.H == 4);
  assert_true(c->ppo.discount == 0.99 && c->ppo.gae_lambda == 0.95 && c->ppo.clip_range == 0.2 &&
              c->ppo.learning_rate == 1e-4);
  assert_non_null(strstr(c->ppo.cell_options, "variant=full"));
  assert_true(sparc_rl_run_result_of(run).memory.traces == SPARC_TRACES_FREE); /* the task has four symbols */
  assert_null(rl_run_ppo(run));
  assert_int_equal(sparc_rl_run_result_of(run).saved, -1);
  sparc_rl_run_free(run);
}

/* a task is probed with 4096 random steps when the run is created, and not again when it begins or is resumed */
static void tasks_are_probed_once(void **state) {
  (void)state;
  sparc_rl_run_config config = small_run(in_folder("counted"));
  config.ppo.task = SPARC_COUNTING_PLUGIN;
  config.ppo.task_options = NULL;
  witness part = {.stop_after = 2}, rest = {.stop_after = 4};
  void *library = dlopen(SPARC_COUNTING_PLUGIN, RTLD_NOW);
  const long *steps = library ? dlsym(library, "still_steps") : NULL;
  if (!steps) fail_msg("%s", dlerror());
  for (witness *w = &part; w; w = w == &part ? &rest : NULL) {
    sparc_rl_run *run;
    const long before = *steps;
    require_ok(sparc_rl_run_create(&config, &run), "creating the run");
    const long probed = *steps;
    assert_in_range(probed - before, 4000, 2 * 4096 - 1);
    require_ok(sparc_rl_run_execute(run, watch, w), "the run");
    assert_int_equal(*steps - probed, 2 * 64);
    sparc_rl_run_free(run);
    config.resume = 1;
  }
  dlclose(library);
}

static void folders_are_named_after_given_options(void **state) {
  (void)state;
  const struct {
    const char *task, *options, *cell, *cell_options, *variant;
    uint64_t seed;
    const char *name;
  } cases[] = {{"cartpole", NULL, NULL, NULL, NULL, 0, "runs/cartpole-sparc-s0"},
               {"repeat-previous", "lag=1", "rtu", NULL, NULL, 3, "runs/repeat-previous-lag_1-rtu-s3"},
               {"hopper-p", "reset=cached,act_clip=1", "sparc", NULL, "neutral-gate", 1,
                "runs/hopper-p-reset_cached-act_clip_1-sparc-neutral-gate-s1"},
               {"./mine.so", "noise=0.5", "gru", NULL, NULL, 2, "runs/mine-noise_0.5-gru-s2"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    char path[256];
    sparc_rl_run_config c = small_run(NULL);
    c.ppo.task = cases[i].task;
    c.ppo.task_options = cases[i].options;
    c.ppo.cell = cases[i].cell;
    c.ppo.cell_options = cases[i].cell_options;
    c.variant = cases[i].variant;
    c.ppo.seed = cases[i].seed;
    require_ok(rl_default_folder(&c, path, sizeof path), "naming a folder");
    assert_string_equal(path, cases[i].name);
  }
}

static void expect_refusal(const sparc_rl_run_config *config, sparc_status want, const char *message) {
  sparc_rl_run *run;
  sparc_status status = sparc_rl_run_create(config, &run);
  if (status == SPARC_OK) status = sparc_rl_run_execute(run, NULL, NULL);
  sparc_rl_run_free(run);
  assert_int_equal(status, want);
  if (!strstr(sparc_error(), message)) fail_msg("the message is '%s', expected '%s'", sparc_error(), message);
}

static void invalid_configurations_are_refused(void **state) {
  (void)state;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", in_folder("refused"));
  const sparc_rl_run_config good = small_run(path);
  sparc_rl_run_config c = good;
  c.ppo.task = NULL;
  expect_refusal(&c, SPARC_INVALID, "task is not given");
  c = good;
  c.folder = NULL;
  c.resume = 1;
  expect_refusal(&c, SPARC_INVALID, "folder is NULL");
  c = good;
  c.resume = c.force = 1;
  expect_refusal(&c, SPARC_INVALID, "resume and force are both 1");
  c = good;
  c.ppo.task = "repeat-previos";
  expect_refusal(&c, SPARC_INVALID, "did you mean 'repeat-previous'?");
  c = good;
  c.ppo.task_options = "lag=0";
  expect_refusal(&c, SPARC_INVALID, "lag");
  c = good;
  c.ppo.minibatches = 7;
  expect_refusal(&c, SPARC_INVALID,
                 "steps of a rollout (--rollout-steps) is 64, expected a multiple of minibatches (--minibatches), 7");
  c = good;
  c.ppo.traces = SPARC_TRACES_STORED;
  c.memory_limit_mb = 1;
  c.ppo.rollout_steps = 2048;
  c.state_size = 128;
  expect_refusal(&c, SPARC_NO_MEMORY, "that memory_limit allows; records need");

  /* a folder that holds a run, and a run with other settings */
  witness w = {.stop_after = 2};
  execute(&good, &w);
  expect_refusal(&good, SPARC_INVALID, "holds a run already");
  c = good;
  c.resume = 1;
  c.ppo.seed = 5;
  expect_refusal(&c, SPARC_INVALID, "seed is 5, but 0 in");
  c = good;
  c.force = 1;
  w = (witness){.stop_after = 0};
  assert_true(execute(&c, &w).first == 0 && w.rollouts == ROLLOUTS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stopped_runs_continue_bit_exactly),      cmocka_unit_test(runs_need_no_folder),
      cmocka_unit_test(resolved_configurations_are_the_papers), cmocka_unit_test(tasks_are_probed_once),
      cmocka_unit_test(folders_are_named_after_given_options),  cmocka_unit_test(invalid_configurations_are_refused),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
