/* SPDX-License-Identifier: MIT */
/* test_diagnose.c: replays, interventions, training evolution, and the identity of history differences. */
#include "lab/diagnose/demonstration.h"
#include "lab/diagnose/diagnosis.h"
#include "lab/diagnose/diagnosis_record.h"
#include "lab/diagnose/tables.h"
#include "lab/diagnose/view.h"
#include "scratch.h"
#include "sparc/run.h"
#include "support.h"
#include "unit.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t seed = 20261118;

static void expect(const char *what, double got, double want, double tolerance) {
  if (isnan(got) && isnan(want)) return;
  if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want))))
    fail_msg("%s is %.12g, expected %.12g up to %g", what, got, want, tolerance);
}

static void expect_ok(sparc_status status) {
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
}

/* ---- divergences --------------------------------------------------------------------------------- */

static void test_divergences(void **state) {
  (void)state;
  /* 1/2, 1/2 against 1/4, 3/4; logits may be shifted */
  const float even[] = {1, 1}, odd[] = {1 - 1.0986123F, 1};
  expect("KL of classes", divergence_of_classes(2, even, odd), 0.5 * log(2.0) + 0.5 * log(2.0 / 3), 1e-6);
  expect("KL to itself", divergence_of_classes(2, odd, odd), 0, 0);
  const float far[] = {200, 0}, near[] = {0, 200};
  expect("KL of certain classes", divergence_of_classes(2, far, near), 200, 1e-6);
  /* N(1, 1) against N(3, 2^2), and a second component that agrees */
  const float mean[] = {1, 5}, changed[] = {3, 5}, log_one[] = {0, 1}, log_two[] = {0.69314718F, 1};
  expect("KL of normals", divergence_of_normals(2, mean, log_one, changed, log_two), log(2.0) + (1 + 4) / 8.0 - 0.5,
         1e-6);
  expect("KL of a normal to itself", divergence_of_normals(2, mean, log_one, mean, log_one), 0, 0);
}

/* ---- training evolution -------------------------------------------------------------------------- */

static void write_metrics(const char *text) {
  FILE *file = fopen(in_folder("metrics.jsonl"), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void test_evolution(void **state) {
  (void)state;
  training_log log[2];
  const training_log *const logs[] = {&log[0], &log[1]};
  evolution ends[2];
  const int metric = 1; /* gate_deviation */
  assert_string_equal(logged_metrics[metric].key, "gate_deviation");

  /* twenty positions; the second run lacks the first and has null at the third */
  char text[8192] = "", line[128];
  for (int i = 1; i <= 20; i++) {
    snprintf(line, sizeof line, "{\"update\":%d,\"steps\":%d,\"gate_deviation\":%d}\n", i, 100 * i, i);
    strcat(text, line);
  }
  write_metrics(text);
  expect_ok(training_log_read(folder, &log[0]));
  assert_int_equal(log[0].metric[metric].count, 20);
  assert_int_equal(evolution_of(logs, 1, metric, ends), 20);
  expect("the first tenth", ends[0].first, 1.5, 0);
  expect("the last tenth", ends[0].last, 19.5, 0);

  text[0] = '\0';
  for (int i = 2; i <= 20; i++) {
    snprintf(line, sizeof line,
             i == 3 ? "{\"steps\":300,\"gate_deviation\":null}\n" : "{\"steps\":%d,\"gate_deviation\":%d}\n", 100 * i,
             10 * i);
    strcat(text, line);
  }
  strcat(text, "{\"steps\":2100,\"gate_dev"); /* incomplete last line */
  write_metrics(text);
  expect_ok(training_log_read(folder, &log[1]));
  /* 18 common positions: 2, 4, 5, ... 20 */
  assert_int_equal(evolution_of(logs, 2, metric, ends), 18);
  expect("run 1, first", ends[0].first, 3, 0);
  expect("run 2, first", ends[1].first, 30, 0);
  expect("run 2, last", ends[1].last, 195, 0);
  assert_int_equal(evolution_of(logs, 2, 0, ends), 0);
  training_log_free(&log[1]);

  write_metrics("{\"steps\":1}\nnonsense\n");
  assert_int_equal(training_log_read(folder, &log[1]), SPARC_FORMAT);
  training_log_free(&log[0]);
}

/* ---- replays ------------------------------------------------------------------------------------- */

static void train(const char *to, const char *data, const char *cell, long updates) {
  sparc_run_config config = {.data = data, .folder = to};
  config.train.network.cell = cell;
  config.train.updates = updates;
  config.train.threads = 2;
  sparc_run *run;
  expect_ok(sparc_run_create(&config, &run));
  expect_ok(sparc_run_execute(run, NULL, NULL));
  sparc_run_free(run);
}

/* KL of the first recordings, computed step by step instead of by the sequence call */
static double divergence_by_steps(const replay *r, const char *variant) {
  char options[256];
  sparc_network_config config = sparc_network_config_of(r->network);
  snprintf(options, sizeof options, "variant=%s", variant);
  config.cell_options = options;
  sparc_network *changed;
  expect_ok(sparc_network_create(&config, &changed));
  const sparc_network *const networks[] = {r->network, changed};
  const sparc_network_sizes n = sparc_network_sizes_of(r->network);
  float *prepared = sparc_alloc(n.prepared * sizeof *prepared), *tape = sparc_alloc(n.tape * sizeof *tape);
  float *carried = sparc_alloc(n.state * sizeof *carried);
  double sum = 0;
  for (int i = 0; i < r->recordings; i++) {
    float y[2][16];
    assert_true(n.outputs <= 16);
    for (int k = 0; k < 2; k++) {
      expect_ok(sparc_network_prepare(networks[k], r->params, prepared));
      memset(carried, 0, n.state * sizeof *carried);
      for (int t = 0; t < r->recording[i].T; t++)
        expect_ok(sparc_network_step(networks[k], prepared, 1, carried, r->recording[i].x + t * config.inputs, NULL,
                                     y[k], tape, 1));
    }
    double total[2] = {0, 0};
    for (size_t c = 0; c < n.outputs; c++)
      for (int k = 0; k < 2; k++) total[k] += exp((double)y[k][c]);
    for (size_t c = 0; c < n.outputs; c++) {
      const double p = exp((double)y[0][c]) / total[0], q = exp((double)y[1][c]) / total[1];
      sum += p * log(p / q);
    }
  }
  sparc_free(prepared);
  sparc_free(tape);
  sparc_free(carried);
  sparc_network_free(changed);
  return sum / r->recordings;
}

static void test_model(void **state) {
  (void)state;
  train(folder, "event-order", "sparc", 20);
  const replay_options options = replay_defaults();
  diagnosis d;
  expect_ok(diagnose(folder, &options, &d));
  assert_int_equal(d.replay.recordings, 8);
  assert_string_equal(d.replay.title, "event-order (sparc)");
  assert_string_equal(d.replay.part, "validation");
  assert_int_equal(d.layers, 1);
  /* all variants except the cell's own two names and the one with another parameter layout */
  assert_int_equal(d.interventions, 9);
  for (int i = 0; i < d.interventions; i++) {
    assert_string_not_equal(d.intervention[i], "full");
    assert_string_not_equal(d.intervention[i], "frozen-gain");
    assert_string_not_equal(d.intervention[i], "unshared-control");
    expect(d.intervention[i], d.change[i], divergence_by_steps(&d.replay, d.intervention[i]), 1e-5);
    assert_true(d.change[i] > 0);
  }
  /* a mean of eight fragments */
  double mean = 0;
  for (int i = 0; i < 8; i++) {
    sparc_inspection *seen;
    expect_ok(diagnosis_inspect(&d.replay, 0, &d.replay.recording[i], &seen));
    const fragment f = {.mode = seen->mode, .T = seen->T, .H = seen->H};
    mean += fragment_statistic(&f, SURVIVAL) / 8;
    sparc_inspection_free(seen);
  }
  expect("survival of the run", d.whole[SURVIVAL], mean, 1e-12);
  diagnosis_free(&d);

  /* other data than those of the run */
  replay_options wrong = replay_defaults();
  wrong.data = "tracking";
  assert_int_equal(diagnose(folder, &wrong, &d), SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "tracking has"));
  wrong.data = "event-order-anywhere";
  assert_int_equal(diagnose(folder, &wrong, &d), SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "was trained on other data than event-order-anywhere"));
}

static void test_agent(void **state) {
  (void)state;
  static const char *const tasks[] = {"repeat-previous", "noisy-pendulum"};
  for (int i = 0; i < 2; i++) {
    const char *path = in_folder("agent.safetensors");
    sparc_ppo_config config;
    sparc_ppo *ppo;
    expect_ok(sparc_ppo_defaults(tasks[i], &config));
    config.H = 8;
    config.rollout_steps = 128;
    config.minibatches = 4;
    expect_ok(sparc_ppo_create(&config, &ppo));
    expect_ok(sparc_ppo_iterate(ppo, NULL));
    expect_ok(sparc_ppo_save(ppo, NULL, 0, path));
    sparc_ppo_free(ppo);

    replay_options options = replay_defaults();
    options.steps = 200;
    diagnosis first, second;
    expect_ok(diagnose(path, &options, &first));
    expect_ok(diagnose(path, &options, &second));
    const replay *r = &first.replay;
    assert_int_equal(r->recordings, 1);
    assert_int_equal(r->distribution, i ? DISTRIBUTION_NORMAL : DISTRIBUTION_CLASSES);
    assert_true(r->recording[0].mask[0] == 0 && r->recording[0].event[0] == 0);
    const size_t inputs = (size_t)sparc_network_config_of(r->network).inputs;
    assert_memory_equal(r->recording[0].x, second.replay.recording[0].x, 200 * inputs * sizeof(float));
    assert_memory_equal(first.whole, second.whole, sizeof first.whole);
    assert_memory_equal(first.change, second.change, (size_t)first.interventions * sizeof(double));
    /* after one update the agent's controls are small but nonzero */
    assert_true(first.whole[PHASE_DEGREES] > 0 && first.whole[CLOCK_RATIO] < 1);
    for (int k = 0; k < first.interventions; k++) assert_true(isfinite(first.change[k]) && first.change[k] >= 0);

    /* agents take no data set */
    options.data = "event-order";
    diagnosis none;
    assert_int_equal(diagnose(path, &options, &none), SPARC_INVALID);
    diagnosis_free(&first);
    diagnosis_free(&second);
  }
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* two runs of one task form a row with a standard deviation, another cell another row */
static void test_tables(void **state) {
  (void)state;
  static const char *const cells[] = {"sparc", "sparc", "rtu"};
  static const char *const names[] = {"one", "two", "three"};
  diagnosis d[3];
  const replay_options options = replay_defaults();
  for (int i = 0; i < 3; i++) {
    train(in_folder(names[i]), "event-order", cells[i], 2 + i);
    expect_ok(diagnose(in_folder(names[i]), &options, &d[i]));
  }
  diagnosis_tables tables;
  expect_ok(diagnosis_tables_create(d, 3, &tables));
  const table *t = &tables.table[1];
  assert_string_equal(t->key, "retention");
  assert_int_equal(t->rows, 2);
  assert_string_equal(t->label[0], "event-order (sparc)");
  assert_string_equal(t->label[1], "event-order (rtu)");
  assert_string_equal(t->column[1].heading, "Surv. (%)");
  const sample_summary *survival = &t->cell[1].value;
  const double a = d[0].whole[SURVIVAL], b = d[1].whole[SURVIVAL];
  assert_int_equal(survival->count, 2);
  expect("mean of two runs", survival->mean, (a + b) / 2, 1e-15);
  expect("stddev of two runs", survival->stddev, fabs(a - b) / sqrt(2), 1e-12);
  assert_int_equal(t->cell[t->columns + 3].value.count, 0); /* RTU adds no phase */
  diagnosis_tables_free(&tables);
  for (int i = 0; i < 3; i++) diagnosis_free(&d[i]);
}

/* the paper's numbers: counts per table, and some copied by hand */
static void test_paper(void **state) {
  (void)state;
  static const struct {
    const char *table;
    int numbers;
  } known[] = {{"gate", 96}, {"retention", 80}, {"scales", 8}, {"interventions", 6}, {"layers", 6}, {"evolution", 8}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    int count = 0;
    for (const paper_number *n = paper_numbers; n->table; n++)
      if (strcmp(n->table, known[k].table) == 0) count += isnan(n->stddev) ? 1 : 2;
    assert_int_equal(count, known[k].numbers);
  }
  const paper_number *n = paper_find("gate", "repeat-first", "saturation", 0);
  assert_true(n && n->mean == 95.73 && n->stddev == 1.79);
  n = paper_find("retention", "Ant-P", "clock_ratio", 0);
  assert_true(n && n->mean == 45.33);
  n = paper_find("layers", "UWaveGestureLibraryAll", "gate_deviation", 4);
  assert_true(n && n->mean == 0.0315);
  n = paper_find("evolution", "HigherLower", "gate_deviation", 2);
  assert_true(n && n->mean == 0.010);
  assert_null(paper_find("evolution", "HigherLower", "gate_deviation", 0));
  assert_null(paper_find("gate", "tracking", "saturation", 0));
  assert_null(paper_find("gate", "", "saturation", 0));
}

/* SPARC on a task of the paper has the paper's numbers, in printed units; another cell has none */
static void test_paper_columns(void **state) {
  (void)state;
  diagnosis d[2] = {{.layers = 1}, {.layers = 1}};
  diagnosis_tables tables;
  text_table s;
  for (int i = 0; i < 2; i++) {
    snprintf(d[i].replay.title, sizeof d[i].replay.title, i ? "RepeatFirst, RTU" : "RepeatFirst");
    for (int k = 0; k < STATISTICS; k++) d[i].whole[k] = 0.5;
  }
  snprintf(d[0].replay.paper, sizeof d[0].replay.paper, "RepeatFirst");
  expect_ok(diagnosis_tables_create(d, 2, &tables));
  assert_true(diagnosis_text_table(&tables.table[0], &s));
  assert_int_equal(s.columns, 2);
  assert_string_equal(text_table_at(&s, 0, 1, 0)->text, "50.00");
  assert_string_equal(text_table_at(&s, 0, 1, 1)->text, "95.73 ± 1.79");
  assert_string_equal(text_table_at(&s, 0, 2, 1)->text, "1.816");
  assert_string_equal(text_table_at(&s, 1, 1, 1)->text, "");
  text_table_free(&s);
  diagnosis_tables_free(&tables);
}

/* ---- records ------------------------------------------------------------------------------------- */

/* a record reproduces the measurements; another object is rejected */
static void test_record(void **state) {
  (void)state;
  diagnosis measured, read;
  json_t *record;
  const replay_options options = replay_defaults();
  train(folder, "event-order", "sparc", 5);
  expect_ok(diagnose(folder, &options, &measured));
  expect_ok(diagnosis_record(&measured, &record));
  const json_t *views = json_object_get(record, "views");
  assert_int_equal(json_array_size(views), 1);
  assert_int_equal(json_array_size(json_object_get(json_array_get(views, 0), "charts")), 4);
  expect_ok(diagnosis_from_record(record, "a task", &read));
  assert_string_equal(read.replay.title, "a task");
  assert_int_equal(read.layers, 1);
  for (int s = 0; s < STATISTICS; s++) {
    expect(statistic_table[s].key, read.whole[s], measured.whole[s], 0);
    expect(statistic_table[s].key, read.layer[0][s], measured.layer[0][s], 0);
  }
  assert_int_equal(read.interventions, measured.interventions);
  for (int i = 0; i < read.interventions; i++) {
    assert_string_equal(read.intervention[i], measured.intervention[i]);
    expect(read.intervention[i], read.change[i], measured.change[i], 0);
  }
  diagnosis_free(&read);
  diagnosis_free(&measured);
  assert_int_equal(diagnosis_from_record(json_object(), "nothing", &read), SPARC_FORMAT);
}

/* charts of a view agree with the inspection */
static void test_charts(void **state) {
  (void)state;
  diagnosis d;
  view v;
  const replay_options options = replay_defaults();
  train(folder, "event-order", "sparc", 5);
  expect_ok(diagnose(folder, &options, &d));
  expect_ok(view_open(&d.replay, 0, &v));
  json_t *charts = view_charts(&v);
  const json_t *disc = json_array_get(charts, 0), *controls = json_array_get(charts, 1),
               *energy = json_array_get(charts, 2), *portrait = json_array_get(charts, 3);
  const sparc_mode *first = view_mode(&v, 0, 0);
  const json_t *base = json_array_get(json_array_get(json_object_get(disc, "modes"), 0), 0);
  expect("baseline", json_real_value(json_array_get(base, 0)), exp(-first->nu) * cos(first->theta), 5.01e-4);
  const json_t *r = json_array_get(json_object_get(controls, "lines"), 0);
  const json_t *point = json_array_get(json_object_get(r, "points"), 6);
  expect("step", (double)json_integer_value(json_array_get(point, 0)), 7, 0);
  expect("control", json_real_value(json_array_get(point, 1)), view_mode(&v, 6, 0)->r, 5.01e-4);
  /* modes are ordered by decay, and the maximum energy has the highest level */
  const char *cells = json_string_value(json_object_get(energy, "cells"));
  assert_int_equal(strlen(cells), (size_t)v.T * (size_t)v.seen->H);
  for (int i = 0; i < v.T * v.seen->H; i++) {
    const double e = view_energy(view_mode(&v, i % v.T, v.order[i / v.T]));
    assert_int_equal(cells[i] == '_', log10(e / view_max_energy(&v)) > -4 * 0.5 / 63);
  }
  const json_t *by_energy = json_array_get(json_object_get(portrait, "modes"), 0);
  assert_int_equal(json_integer_value(json_object_get(by_energy, "mode")), v.by_energy[0] + 1);
  json_decref(charts);
  view_close(&v);
  diagnosis_free(&d);
}

/* ---- writing and transitions ---------------------------------------------------------------------- */

static double complex state_of(const sparc_mode *m) { return m->h_re + (isnan(m->h_im) ? 0 : m->h_im) * I; }

/* Streams with different states that read the same inputs: their difference is the product of the transitions
 * [eq:history_difference], for every cell whose coefficients depend on inputs alone, and all variants of SPARC. */
static void expect_identity(const problem *p) {
  const size_t S = p->n.state, tokens = (size_t)p->T;
  float *params = sparc_alloc(p->n.params * sizeof *params), *x = sparc_alloc(2 * tokens * (size_t)p->D * sizeof *x);
  float *states = sparc_alloc(2 * S * sizeof *states);
  sparc_random stream;
  sparc_random_init(&stream, seed, "identity", "states");
  for (size_t i = 0; i < p->n.params; i++) params[i] = (float)p->params[i];
  for (size_t i = 0; i < 2 * tokens * (size_t)p->D; i++) x[i] = (float)p->x[i % (tokens * (size_t)p->D)];
  for (size_t i = 0; i < 2 * S; i++) states[i] = (float)sparc_random_normal(&stream);
  const sparc_sequence sequence = {.x = x, .state0 = states};
  sparc_inspection *seen;
  expect_ok(sparc_cell_inspect(p->cell, params, 2, p->T, &sequence, &seen));
  const int H = seen->H;
  const bool real = isnan(seen->mode[0].h_im);
  double worst = 0;
  for (int j = 0; j < H; j++) {
    double complex expected = (double)states[j] - (double)states[S + (size_t)j];
    if (!real) expected += ((double)states[H + j] - (double)states[S + (size_t)(H + j)]) * I;
    const double first = cabs(expected);
    for (int t = 0; t < p->T; t++) {
      const sparc_mode *one = &seen->mode[t * H + j], *other = &seen->mode[(p->T + t) * H + j];
      expected *= one->rho * cexp(one->angle * I);
      worst = fmax(worst, cabs(state_of(one) - state_of(other) - expected) / fmax(1, first));
    }
  }
  expect_close(p, "difference of histories = product of transitions", worst, 1e-12);
  sparc_inspection_free(seen);
  sparc_free(params);
  sparc_free(x);
  sparc_free(states);
}

static void test_identity(void **state) {
  (void)state;
  static const char *const kinds[] = {"sparc", "rtu", "lru", "rglru", "gateloop"};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    sparc_random stream;
    sparc_random_init(&stream, seed, "identity", kinds[k]);
    for (int i = 0; i < 40; i++) {
      problem p = problem_random(kinds[k], &stream);
      expect_identity(&p);
      problem_free(&p);
    }
  }
}

static void test_demonstration(void **state) {
  (void)state;
  for (uint64_t s = 0; s < 3; s++) {
    demonstration d;
    expect_ok(demonstrate(s, &d));
    for (int i = 0; i < WRITE_RULES; i++) expect(write_rule_names[i], d.error[i], 0, 1e-13);
    /* a fixed transition cannot reproduce it with any write */
    assert_true(d.fixed_error > 0.1);
    assert_true(d.left > 1e-3);
    expect("what the best write leaves", d.left, d.left_predicted, 1e-12);
  }
}

int main(void) {
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_divergences),
      cmocka_unit_test_teardown(test_evolution, empty_folder),
      cmocka_unit_test_teardown(test_model, empty_folder),
      cmocka_unit_test_teardown(test_agent, empty_folder),
      cmocka_unit_test_teardown(test_tables, empty_folder),
      cmocka_unit_test(test_paper),
      cmocka_unit_test(test_paper_columns),
      cmocka_unit_test_teardown(test_record, empty_folder),
      cmocka_unit_test_teardown(test_charts, empty_folder),
      cmocka_unit_test(test_identity),
      cmocka_unit_test(test_demonstration),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
