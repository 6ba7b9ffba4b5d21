/* SPDX-License-Identifier: MIT */
/* test_grid.c: built-in grids, truncated and modified files, selections, settings of runs, and results, which require
 * all seeds. */
#include "lab/grid/curves.h"
#include "lab/grid/demo_grid.h"
#include "lab/grid/estimate.h"
#include "lab/grid/grid.h"
#include "lab/grid/job.h"
#include "lab/grid/match.h"
#include "lab/grid/report.h"
#include "lab/grid/results.h"
#include "scratch.h"
#include "unit.h"

#include <math.h>

static const char small[] =
    "{\"name\": \"small\", \"kind\": \"rl\", \"settings\": {\"steps\": 4096},"
    " \"score\": {\"window\": 2},"
    " \"tasks\": [{\"name\": \"a\", \"settings\": {\"task\": \"repeat-first\"}},"
    "             {\"name\": \"b\", \"kind\": \"train\", \"settings\": {\"data\": \"tracking\", \"steps\": null}}],"
    " \"methods\": [{\"name\": \"sparc\", \"settings\": {\"cell\": \"sparc\"}},"
    "               {\"name\": \"rtu\", \"settings\": {\"cell\": \"rtu\"}}],"
    " \"seeds\": [0, 1, 2], \"reference\": \"sparc\","
    " \"paper\": {\"a\": {\"sparc\": [0.5, 0.1], \"rtu\": 0.25}}}";

static const char two_tasks[] =
    "{\"name\": \"two\", \"kind\": \"train\", \"settings\": {\"updates\": 100, \"validate-every\": 10},"
    " \"score\": {\"metric\": \"validation_nmse\", \"take\": \"last\", \"window\": 2, \"better\": \"lower\", "
    "\"scale\": 1},"
    " \"tasks\": [{\"name\": \"a\", \"settings\": {\"data\": \"tracking\"}},"
    "             {\"name\": \"b\", \"settings\": {\"data\": \"tracking\"}}],"
    " \"methods\": [{\"name\": \"sparc\", \"settings\": {\"cell\": \"sparc\"}},"
    "               {\"name\": \"rtu\", \"settings\": {\"cell\": \"rtu\"}},"
    "               {\"name\": \"gru\", \"settings\": {\"cell\": \"gru\"}}],"
    " \"seeds\": [3, 5], \"reference\": \"sparc\","
    " \"paper\": {\"a\": {\"sparc\": [0.5, 0.1], \"rtu\": 0.25}}}";

static void parse(const char *text, grid *g) {
  if (grid_parse(text, strlen(text), "test", g) != SPARC_OK) fail_msg("%s", sparc_error());
}

/* ---- files --------------------------------------------------------------------------------------- */

static void test_builtin(void **state) {
  (void)state;
  for (const char *const *name = grid_names(); *name; name++) {
    grid g;
    if (grid_open(*name, &g) != SPARC_OK) fail_msg("%s: %s", *name, sparc_error());
    assert_string_equal(g.name, *name);
    selection all;
    grid_jobs jobs;
    const selection_request request = {.path = NULL};
    assert_int_equal(selection_make(&g, &request, &all), SPARC_OK);
    if (grid_jobs_create(&g, &all, &(grid_scope){.out = "nowhere", .scale = 0.5}, &jobs) != SPARC_OK)
      fail_msg("%s: %s", *name, sparc_error());
    assert_int_equal(jobs.count, g.tasks * g.methods * g.seeds);
    grid_jobs_free(&jobs);
    grid_free(&g);
  }
}

/* the paper's numbers, copied by hand */
static void test_paper(void **state) {
  (void)state;
  static const struct {
    const char *grid, *task, *method;
    double mean, stddev; /* NAN: not given; mean NAN: no number */
  } known[] = {{"popgym", "repeat-first", "sparc", 0.829, 0.008},
               {"popgym", "repeat-previous", "rglru", -0.004, NAN},
               {"popgym", "cartpole", "sparc", 0.959, 0.026},
               {"popgym", "cartpole", "gru", NAN, NAN},
               {"control", "walker-p", "gateloop", 911.9, NAN},
               {"control", "ant-p", "sparc", 4507.80, 292.89},
               {"classification", "cifar10-gray", "gru", 62.69, NAN},
               {"ablations", "uwave", "phase-only", 91.85, 2.80},
               {"ablations", "ant-p", "no-phase-clock", 2848.36, 945.33},
               {"ablations", "forda", "unshared-control", NAN, NAN},
               {"figure1", "event-order", "rtu", 13.7, NAN},
               {"figure1", "tracking", "sparc", 0.096, NAN},
               {"efficiency", "b4-t2048-w2048", "sparc", 2.617, NAN},
               {"efficiency", "b4-t2048-w2048-sweep", "sparc", 1.541, NAN},
               {"efficiency", "b4-t2048-w2048-sweep", "naive", 355.549, NAN},
               {"efficiency", "b1-t8192-w2560", "naive", 1500.917, NAN}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    grid g;
    assert_int_equal(grid_open(known[i].grid, &g), SPARC_OK);
    int task = 0, method = 0;
    while (strcmp(g.task[task].name, known[i].task) != 0) assert_in_range(++task, 0, g.tasks - 1);
    while (strcmp(g.method[method].name, known[i].method) != 0) assert_in_range(++method, 0, g.methods - 1);
    double mean = NAN, stddev = NAN;
    const bool printed = grid_paper(&g, task, method, &mean, &stddev);
    assert_int_equal(printed, !isnan(known[i].mean));
    if (printed) assert_true(mean == known[i].mean && (isnan(stddev) || stddev == known[i].stddev));
    grid_free(&g);
  }
}

/* mean ranks of the paper's text, and ablations that it does not have */
static void test_paper_ranks(void **state) {
  (void)state;
  grid g;
  int printed = 0;
  assert_int_equal(grid_open("ablations", &g), SPARC_OK);
  for (int m = 0; m < g.methods; m++) printed += !isnan(grid_paper_rank(&g, m));
  assert_int_equal(printed, 10);
  assert_true(grid_paper_rank(&g, 0) == 1.9375);
  assert_string_equal(g.method[4].name, "no-phase-clock");
  assert_true(grid_paper_rank(&g, 4) == 3.5);
  assert_string_equal(g.method[11].name, "unshared-control");
  assert_true(isnan(grid_paper_rank(&g, 11)));
  grid_free(&g);
}

/* every prefix of a file, and the file with any byte changed, is a grid or is rejected with a message */
static void test_garbage(void **state) {
  (void)state;
  size_t size;
  const char *texts[] = {two_tasks, grid_text("figure1", &size)};
  const size_t sizes[] = {strlen(two_tasks), size};
  for (size_t k = 0; k < 2; k++) {
    char *copy = malloc(sizes[k]);
    for (size_t i = 0; i < sizes[k]; i += k ? 7 : 1) {
      grid g;
      memcpy(copy, texts[k], sizes[k]);
      if (grid_parse(copy, i, "cut", &g) != SPARC_FORMAT) fail_msg("a file of %zu bytes is taken for a grid", i);
      grid_free(&g);
      for (const char *byte = "}],\"x0\x01\xff"; *byte; byte++) {
        copy[i] = *byte;
        const sparc_status status = grid_parse(copy, sizes[k], "changed", &g);
        assert_true(status == SPARC_OK || status == SPARC_FORMAT);
        if (status != SPARC_OK) assert_non_null(strstr(sparc_error(), "changed"));
        grid_free(&g);
      }
    }
    free(copy);
  }
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"[]", "expected an object"},
      {"{}", "name is missing"},
      {"{\"name\": \"x\"}", "tasks is not a list"},
      {"{\"name\": \".\", \"tasks\": []}", "name is '.'"},
      {"{\"name\": \"x\", \"tasks\": []}", "tasks is not a list"},
      {"{\"name\": \"x\", \"tasks\": [{}]}", "tasks[0]: name is missing"},
      {"{\"name\": \"x\", \"tasks\": [{\"name\": \"t\"}]}", "methods is not a list"},
      {"{\"name\": \"x\", \"tasks\": [{\"name\": \"t\"}], \"methods\": [{\"name\": \"m\"}]}", "task is not given"},
      {"{\"name\": \"x\", \"kind\": \"bench\", \"tasks\": [{\"name\": \"t\"}], \"methods\": [{\"name\": \"m\", "
       "\"settings\": {\"problem\": \"mixer:{shap}\"}}]}",
       "problem has {shap}"},
      {"{\"name\": \"x\", \"tasks\": [{\"name\": \"t\", \"settings\": {\"task\": \"repeat-first\"}}], \"methods\": "
       "[{\"name\": \"m\", \"settings\": {\"seed\": 1}}]}",
       "a grid cannot set seed"},
      {"{\"name\": \"x\", \"score\": {\"windw\": 1}, \"tasks\": [{\"name\": \"t\"}]}", "did you mean 'window'?"},
      {"{\"name\": \"x\", \"score\": {\"take\": \"best\", \"window\": 3}, \"tasks\": [{\"name\": \"t\"}]}",
       "window is 3, expected 1"},
      {"{\"name\": \"x\",\n\"name\": \"y\"}", "test:2:"},
      {"{\"name\": \"x\", \"of\": 3}", "of is not a string"},
      {"{\"name\": \"x\", \"of\": \"popgim\"}", "did you mean 'popgym'?"},
      {"{\"name\": \"x\", \"of\": \"figure1\"}", "part of another grid"},
      {"{\"name\": \"x\", \"of\": \"popgym\", \"tasks\": \"cartpole\"}", "not a list of names"},
      {"{\"name\": \"x\", \"of\": \"popgym\", \"tasks\": [\"cartpol\"]}", "unknown task 'cartpol'"},
      {"{\"name\": \"x\", \"of\": \"popgym\", \"methods\": [{\"name\": \"sparc\"}]}", "unknown method ''"},
      {"{\"name\": \"x\", \"of\": \"popgym\", \"tasks\": []}", "tasks is not a list"},
      {"{\"name\": \"x\", \"of\": \"popgym\", \"titel\": \"y\"}", "did you mean 'title'?"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    grid g;
    assert_int_equal(grid_parse(bad[i].text, strlen(bad[i].text), "test", &g), SPARC_FORMAT);
    if (!strstr(sparc_error(), bad[i].message)) fail_msg("'%s' does not contain '%s'", sparc_error(), bad[i].message);
    grid_free(&g);
  }
  grid g; /* null is neither a string nor a number */
  assert_int_equal(grid_parse(small, strlen(small), "test", &g), SPARC_FORMAT);
  grid_free(&g);
}

/* tasks and methods in the order of the lists, with their numbers; the other keys are those of the part, or inherited
 */
static void test_part(void **state) {
  (void)state;
  static const char text[] =
      "{\"of\": \"popgym\", \"name\": \"mine\", \"tasks\": [\"cartpole\", \"repeat-first\"], "
      "\"methods\": [\"rtu\", \"sparc\"], \"seeds\": [7]}";
  grid g, whole;
  parse(text, &g);
  assert_int_equal(grid_open("popgym", &whole), SPARC_OK);
  assert_string_equal(g.name, "mine");
  assert_string_equal(g.title, whole.title);
  assert_true(g.tasks == 2 && g.methods == 2 && g.seeds == 1 && g.seed[0] == 7);
  assert_string_equal(g.task[1].name, "repeat-first");
  assert_string_equal(g.method[g.reference].name, "sparc");
  double mean, stddev;
  assert_true(grid_paper(&g, 1, 1, &mean, &stddev) && mean == 0.829 && stddev == 0.008);
  assert_null(json_object_get(g.file, "of"));
  grid_free(&whole);
  grid_free(&g);
}

/* rows of a cell, and rows with requested options; kinds.sh tests cells that no grid has */
static void test_demo(void **state) {
  (void)state;
  static const char *const cells[] = {"rglru", "gateloop", "sparc", NULL}, *const tasks[] = {"tracking", NULL};
  demo_request request = {.cells = cells, .tasks = tasks, .seed = 5, .seeds = 2, .updates = 9};
  grid g;
  double mean, stddev;
  assert_int_equal(demo_grid(&request, &g), SPARC_OK);
  assert_true(g.methods == 4 && g.seeds == 2 && g.seed[1] == 6 && g.reference == 0);
  assert_string_equal(g.method[1].name, "rglru-dense");
  assert_true(grid_paper(&g, 0, 1, &mean, &stddev) && mean == 0.382);
  assert_false(grid_paper(&g, 0, 0, &mean, &stddev));
  json_t *settings = grid_settings(&g, 0, 3);
  assert_int_equal(json_integer_value(json_object_get(settings, "updates")), 9);
  assert_string_equal(json_string_value(json_object_get(settings, "embedding")), "linear"); /* for GateLoop */
  json_decref(settings);
  grid_free(&g);

  request.cells = (const char *const[]){"sparc", NULL};
  request.options = "content=linear";
  assert_int_equal(demo_grid(&request, &g), SPARC_OK);
  assert_string_equal(g.method[0].title, "SPARC, content=linear");
  assert_false(grid_paper(&g, 0, 0, &mean, &stddev));
  assert_null(json_object_get(g.settings, "embedding"));
  grid_free(&g);

  request.options = "content=lineal";
  assert_int_equal(demo_grid(&request, &g), SPARC_INVALID);
  grid_free(&g);
}

/* ---- selections ---------------------------------------------------------------------------------- */

static void test_selection(void **state) {
  (void)state;
  grid g;
  parse(two_tasks, &g);
  static const struct {
    selection_request request;
    int tasks, methods, seeds;
    uint64_t last;
  } good[] = {{{.path = NULL}, 2, 3, 2, 5},
              {{.path = "a"}, 1, 3, 2, 5},
              {{.path = "*/rtu"}, 2, 1, 2, 5},
              {{.path = "a/"}, 1, 3, 2, 5},
              {{.path = "b/gru/s5"}, 1, 1, 1, 5},
              {{.path = "*/*/s3"}, 2, 3, 1, 3},
              {{.methods = "gru,sparc"}, 2, 2, 2, 5},
              {{.path = "*/rtu", .tasks = "b"}, 1, 1, 2, 5},
              {{.seeds = "1"}, 2, 3, 1, 3},
              {{.seeds = "4"}, 2, 3, 4, 7},
              {{.seeds = "10-12"}, 2, 3, 3, 12},
              {{.path = "a/rtu/s11", .seeds = "10-12"}, 1, 1, 1, 11},
              {{.seeds = "18446744073709551615-18446744073709551615"}, 2, 3, 1, UINT64_MAX}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    selection s;
    if (selection_make(&g, &good[i].request, &s) != SPARC_OK) fail_msg("request %zu: %s", i, sparc_error());
    assert_int_equal(s.tasks, good[i].tasks);
    assert_int_equal(s.methods, good[i].methods);
    assert_int_equal(s.seeds, good[i].seeds);
    assert_true(s.seed[s.seeds - 1] == good[i].last);
  }
  static const selection_request wrong[] = {{.path = "c"},        {.path = "a/x"},        {.path = "a/rtu/5"},
                                            {.path = "a/rtu/s4"}, {.path = "a/rtu/s5/x"}, {.path = "a", .tasks = "b"},
                                            {.tasks = "a,a"},     {.tasks = ""},          {.seeds = "-1"},
                                            {.seeds = "1001"},    {.seeds = "0-1000"},    {.seeds = "1-"},
                                            {.seeds = ""}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    selection s;
    if (selection_make(&g, &wrong[i], &s) != SPARC_INVALID) fail_msg("request %zu is accepted", i);
  }
  grid_free(&g);
}

static void test_split(void **state) {
  (void)state;
  static const char *const known[][3] = {{"popgym", "popgym", NULL},
                                         {"popgym/a/b", "popgym", "a/b"},
                                         {"x/my.json", "x/my.json", NULL},
                                         {"x/my.json/a/b", "x/my.json", "a/b"},
                                         {"x.jsonl/a", "x.jsonl", "a"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char name[64];
    const char *path;
    assert_true(selection_split(known[i][0], name, sizeof name, &path));
    assert_string_equal(name, known[i][1]);
    if (known[i][2])
      assert_string_equal(path, known[i][2]);
    else
      assert_null(path);
  }
}

/* ---- jobs ---------------------------------------------------------------------------------------- */

static void make_jobs(const grid *g, const char *methods, double scale, grid_jobs *jobs) {
  selection s;
  assert_int_equal(selection_make(g, &(selection_request){.methods = methods}, &s), SPARC_OK);
  if (grid_jobs_create(g, &s, &(grid_scope){.out = folder, .scale = scale}, jobs) != SPARC_OK)
    fail_msg("%s", sparc_error());
}

static void test_jobs(void **state) {
  (void)state;
  grid g;
  grid_jobs whole, tenth;
  parse(two_tasks, &g);
  make_jobs(&g, NULL, 1, &whole);
  make_jobs(&g, NULL, 0.1, &tenth);
  const grid_job *job = grid_job_at(&tenth, 1, 2, 1);
  assert_string_equal(job->name, "b/gru/s5");
  assert_non_null(strstr(job->folder, "/two-x0.1/b/gru/s5"));
  assert_int_equal(job->budget, 10);
  assert_int_equal(json_integer_value(json_object_get(job->settings, "updates")), 10);
  assert_int_equal(json_integer_value(json_object_get(job->settings, "validate-every")), 1);
  assert_int_equal(json_integer_value(json_object_get(job->settings, "seed")), 5);
  assert_string_not_equal(job->digest, grid_job_at(&whole, 1, 2, 1)->digest);
  assert_string_not_equal(job->digest, grid_job_at(&tenth, 1, 2, 0)->digest);
  grid_jobs_free(&whole);
  grid_jobs_free(&tenth);
  grid_free(&g);
}

static void test_match(void **state) {
  (void)state;
  grid g;
  assert_int_equal(grid_open("popgym", &g), SPARC_OK);
  int same = 0, gru = 0;
  assert_int_equal(match_params(&g, 0, 0, &same), SPARC_OK);
  assert_int_equal(same, 128);
  assert_int_equal(match_params(&g, 0, 6, &gru), SPARC_OK);
  /* a GRU of n units over 64 inputs has about 3 n (n + 66) parameters, SPARC with 64 modes 8642: n = 29 */
  assert_in_range(gru, 27, 31);
  grid_free(&g);
}

/* seconds of a job: from speeds of its field, else of its method, else of its kind */
static void test_estimates(void **state) {
  (void)state;
  grid g;
  grid_jobs jobs;
  double rates[12] = {0}, seconds[12];
  parse(two_tasks, &g);
  make_jobs(&g, NULL, 1, &jobs); /* 2 tasks, 3 methods, 2 seeds, 100 updates each */
  estimate_seconds(&jobs, rates, seconds);
  for (int i = 0; i < 12; i++) assert_true(seconds[i] == 1);
  rates[0] = 50; /* a/sparc/s0 */
  rates[2] = 10; /* a/rtu/s0 */
  rates[3] = 30; /* a/rtu/s1 */
  estimate_seconds(&jobs, rates, seconds);
  assert_true(seconds[1] == 2);                                            /* its field */
  assert_true(fabs(seconds[2] - 100 * (0.1 + 1. / 30) / 2) < 1e-9);        /* the mean of times, not of rates */
  assert_true(seconds[6] == 2);                                            /* b/sparc by its method */
  assert_true(fabs(seconds[4] - 100 * (0.02 + 0.1 + 1. / 30) / 3) < 1e-9); /* gru by its kind */
  grid_jobs_free(&jobs);
  grid_free(&g);
}

/* provenance of a resumed run: facts are listed once, times and steps are summed, data are those of the last part */
static void test_provenance(void **state) {
  (void)state;
  const provenance first = {.commit = "aaa, bbb", .machine = "M", .data = "1", .seconds = 10, .done = 5, .threads = 1};
  provenance second = {
      .commit = "bbb", .machine = "N", .kernels = "avx2", .data = "2", .seconds = 3, .done = 2, .threads = 4};
  provenance_join(&first, &second);
  assert_string_equal(second.commit, "aaa, bbb");
  assert_string_equal(second.machine, "M, N");
  assert_string_equal(second.kernels, "avx2");
  assert_string_equal(second.data, "2");
  assert_true(second.seconds == 13 && second.done == 7 && second.threads == 4);
  provenance third = {.commit = "aa, ccc, aaa"};
  provenance_join(&second, &third);
  assert_string_equal(third.commit, "aaa, bbb, aa, ccc");
  for (int i = 0; i < 100; i++) { /* a full list does not change */
    provenance next = {.version = ""};
    snprintf(next.commit, sizeof next.commit, "commit%d", i);
    provenance_join(&third, &next);
    third = next;
  }
  assert_non_null(strstr(third.commit, "aaa, bbb, aa, ccc, commit0, commit1"));
  assert_true(strlen(third.commit) < sizeof third.commit);
  json_t *object = provenance_json(&second);
  provenance again;
  provenance_from(object, &again);
  assert_memory_equal(&again, &second, sizeof again);
  json_decref(object);
}

/* ---- results ------------------------------------------------------------------------------------- */

/* writes the log and result of a run */
static void finish_run(const grid_jobs *jobs, int task, int method, int seed, const double *values, size_t count) {
  const grid_job *job = grid_job_at(jobs, task, method, seed);
  char path[JOB_PATH];
  claim held;
  job_hold hold;
  assert_int_equal(job_prepare(jobs, job, &held, &hold), SPARC_OK);
  assert_int_equal(hold, JOB_TAKEN);
  assert_int_equal(job_write_settings(job), SPARC_OK);
  job_file(job, "metrics.jsonl", path);
  FILE *file = fopen(path, "w");
  for (size_t i = 0; i < count; i++)
    fprintf(
        file,
        isnan(values[i]) ? "{\"update\":%zu,\"validation_nmse\":null}\n" : "{\"update\":%zu,\"validation_nmse\":%g}\n",
        i + 1, values[i]);
  fputs("{\"update\":9,\"loss\":1}\n{\"update\":10,\"valid", file);
  fclose(file);
  job_result result = {.memory_mb = 1};
  const provenance made = {.seconds = 2, .done = 100};
  assert_int_equal(provenance_write(job->folder, &made), SPARC_OK);
  assert_int_equal(job_finish(job, "{\"parameters\": 12}", &result), SPARC_OK);
  claim_drop(&held);
}

static void test_results(void **state) {
  (void)state;
  grid g;
  grid_jobs jobs;
  grid_results r;
  char text[128];
  parse(two_tasks, &g);
  make_jobs(&g, NULL, 1, &jobs);
  /* task a: sparc 1 and 3, rtu 2 and 6; gru has one seed only */
  finish_run(&jobs, 0, 0, 0, (double[]){9, 0.5, 1.5}, 3);
  finish_run(&jobs, 0, 0, 1, (double[]){NAN, 3, 3}, 3);
  finish_run(&jobs, 0, 1, 0, (double[]){2, 2}, 2);
  finish_run(&jobs, 0, 1, 1, (double[]){5, 7}, 2);
  finish_run(&jobs, 0, 2, 0, (double[]){5, 7}, 2);
  /* task b: a log shorter than the window, and one with a NAN */
  finish_run(&jobs, 1, 0, 0, (double[]){5}, 1);
  finish_run(&jobs, 1, 0, 1, (double[]){5, NAN}, 2);
  assert_int_equal(grid_results_read(&jobs, &r), SPARC_OK);
  const field_result *sparc = grid_field(&r, 0, 0), *rtu = grid_field(&r, 0, 1), *gru = grid_field(&r, 0, 2),
                     *refused = grid_field(&r, 1, 0);
  assert_true(sparc->ours.count == 2 && sparc->ours.mean == 2 && sparc->ours.stddev == sqrt(2));
  assert_true(rtu->ours.mean == 4 && rtu->ours.stddev == sqrt(8));
  assert_true(rtu->difference.mean == 2 && rtu->difference.stddev == sqrt(2));
  assert_true(sparc->mark == MARK_BEST && rtu->mark == MARK_SECOND);
  assert_int_equal(sparc->rank, 0); /* gru is missing */
  assert_int_equal(sparc->parameters, 12);
  assert_int_equal(gru->ours.count, 0);
  field_state(&r, gru, text, sizeof text);
  assert_string_equal(text, "1 of 2 done");
  assert_int_equal(refused->ours.count, 0);
  field_state(&r, refused, text, sizeof text);
  assert_string_equal(text, "0 of 2 done, 2 without a score");
  field_state(&r, grid_field(&r, 1, 1), text, sizeof text);
  assert_string_equal(text, "waiting");
  job_report report;
  assert_int_equal(job_inspect(grid_job_at(&jobs, 1, 0, 0), &report), SPARC_OK);
  assert_int_equal(report.state, JOB_DONE);
  assert_non_null(strstr(job_score_of(&jobs, grid_job_at(&jobs, 1, 0, 0)).reason, "1 values of the 2"));
  assert_true(grid_job_at(&jobs, 0, 0, 0)->budget == 100 && report.result.rate == 50);
  grid_results_free(&r);
  grid_jobs_free(&jobs);

  /* without gru the ranks are complete */
  make_jobs(&g, "sparc,rtu", 1, &jobs);
  assert_int_equal(grid_results_read(&jobs, &r), SPARC_OK);
  assert_true(grid_field(&r, 0, 0)->rank == 1 && grid_field(&r, 0, 1)->rank == 2);
  assert_true(r.mean_rank[1] == 2 && r.ranked[1] == 1);
  grid_results_free(&r);
  grid_jobs_free(&jobs);
  grid_free(&g);
}

/* windows of two: (9, 0.5, 1.5) becomes (-, 4.75, 1), (NAN, 3, 3, 3) becomes (-, NAN, 3, 3), cut to the shorter */
static void test_curve(void **state) {
  (void)state;
  grid g;
  grid_jobs jobs;
  grid_curve c;
  parse(two_tasks, &g);
  make_jobs(&g, NULL, 1, &jobs);
  finish_run(&jobs, 0, 0, 0, (double[]){9, 0.5, 1.5}, 3);
  assert_int_equal(grid_curve_read(&jobs, 0, 0, 100, &c), SPARC_OK);
  assert_int_equal(c.count, 0); /* the other seed has not started */
  grid_curve_free(&c);
  finish_run(&jobs, 0, 0, 1, (double[]){NAN, 3, 3, 3}, 4);
  assert_int_equal(grid_curve_read(&jobs, 0, 0, 100, &c), SPARC_OK);
  assert_int_equal(c.count, 2);
  assert_true(c.x[0] == 2 && isnan(c.mean[0]));
  assert_true(c.x[1] == 3 && c.mean[1] == 2 && c.stddev[1] == sqrt(2));
  grid_curve_free(&c);
  assert_int_equal(grid_curve_read(&jobs, 0, 0, 1, &c), SPARC_OK); /* thinned, including the last point */
  assert_true(c.count == 2 && c.x[1] == 3);
  grid_curve_free(&c);
  grid_jobs_free(&jobs);
  grid_free(&g);
}

/* a folder with other settings belongs to another job */
static void test_changed(void **state) {
  (void)state;
  grid g;
  grid_jobs jobs;
  job_report report;
  parse(two_tasks, &g);
  make_jobs(&g, NULL, 1, &jobs);
  finish_run(&jobs, 0, 0, 0, (double[]){1, 2}, 2);
  grid_jobs_free(&jobs);
  grid_free(&g);
  char *other = strdup(two_tasks);
  memcpy(strstr(other, "100"), "101", 3);
  parse(other, &g);
  make_jobs(&g, NULL, 1, &jobs);
  assert_int_equal(job_inspect(grid_job_at(&jobs, 0, 0, 0), &report), SPARC_OK);
  assert_int_equal(report.state, JOB_CHANGED);
  assert_int_equal(job_inspect(grid_job_at(&jobs, 0, 0, 1), &report), SPARC_OK);
  assert_int_equal(report.state, JOB_WAITING);
  grid_jobs_free(&jobs);
  grid_free(&g);
  free(other);
}

/* diagnostic tasks, other experiments, reduced ones; each part in the order of the built-in grids */
static void test_report_order(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double scale;
  } order[] = {{"figure1", 1}, {"grouping", 1}, {"popgym", 1}, {"ablations", 1}, {"figure1", 0.5}, {"popgym", 0.25}};
  int last = -1;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    grid g;
    assert_int_equal(grid_open(order[i].name, &g), SPARC_OK);
    const grid_scope scope = {.scale = order[i].scale};
    const int position = lab_report_position(&g, &scope);
    if (position <= last) fail_msg("%s at scale %g is not after its predecessor", order[i].name, order[i].scale);
    last = position;
    grid_free(&g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_builtin),
                                     cmocka_unit_test(test_paper),
                                     cmocka_unit_test(test_paper_ranks),
                                     cmocka_unit_test(test_garbage),
                                     cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_part),
                                     cmocka_unit_test(test_demo),
                                     cmocka_unit_test(test_selection),
                                     cmocka_unit_test(test_split),
                                     cmocka_unit_test_teardown(test_jobs, empty_folder),
                                     cmocka_unit_test(test_match),
                                     cmocka_unit_test(test_report_order),
                                     cmocka_unit_test(test_estimates),
                                     cmocka_unit_test(test_provenance),
                                     cmocka_unit_test_teardown(test_results, empty_folder),
                                     cmocka_unit_test_teardown(test_curve, empty_folder),
                                     cmocka_unit_test_teardown(test_changed, empty_folder)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
