/* SPDX-License-Identifier: MIT */
/* test_tasks.c: the generated tasks against their definition, their odds and their frozen checksums; the scores.
 *
 * The data have one fixed seed, so nothing here is flaky: a frequency beyond five standard deviations is a mistake of
 * the generator.
 */
#include "data/tasks.h"
#include "unit.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { T = 48, TRAIN = 384, EVALUATION = 512, SYMBOLS = 8, EVENTS = 3, ORDERS = 6, INPUTS = 4 };

static sparc_task *create(const char *name) {
  sparc_task *task;
  assert_int_equal(sparc_task_create(name, &task), SPARC_OK);
  return task;
}

/* both parts, for loops over all the data of a task */
static const sparc_task_part *part_of(const sparc_task *task, int i) {
  return i == 0 ? &task->train : &task->evaluation;
}

static void expect_frequency(const char *what, long hits, long trials, double probability) {
  const double sigma = sqrt((double)trials * probability * (1 - probability));
  const double off = ((double)hits - (double)trials * probability) / sigma;
  if (fabs(off) > 5) fail_msg("%s: %ld of %ld, %.1f standard deviations from %g", what, hits, trials, off, probability);
}

static void expect_error(sparc_status got, sparc_status want, const char *first, const char *second) {
  assert_int_equal(got, want);
  if (!strstr(sparc_error(), first) || !strstr(sparc_error(), second))
    fail_msg("'%s' lacks '%s' or '%s'", sparc_error(), first, second);
}

/* ---- descriptions --------------------------------------------------------------------------------- */

static void test_names(void **state) {
  (void)state;
  const char *const *names = sparc_task_names();
  assert_string_equal(names[0], "event-order");
  assert_string_equal(names[1], "event-order-anywhere");
  assert_string_equal(names[2], "tracking");
  assert_null(names[3]);
  for (; *names; names++) {
    sparc_task *task = create(*names);
    assert_string_equal(task->name, *names);
    assert_true(strlen(task->title) > 0);
    sparc_task_free(task);
  }
  sparc_task_free(NULL);
}

static void test_unknown_names(void **state) {
  (void)state;
  sparc_task *task = (sparc_task *)&state;
  expect_error(sparc_task_create("event-ordr", &task), SPARC_INVALID, "unknown task 'event-ordr'; did you mean 'event-",
               "expected one of: event-order, event-order-anywhere, tracking");
  assert_null(task);
  expect_error(sparc_task_create("trakcing", &task), SPARC_INVALID, "'trakcing'", "did you mean 'tracking'?");
  expect_error(sparc_task_create("", &task), SPARC_INVALID, "unknown task ''", "expected one of");
  expect_error(sparc_task_create("mnist", &task), SPARC_INVALID, "unknown task 'mnist' (", "expected one of");
  task = (sparc_task *)&state;
  expect_error(sparc_task_create(NULL, &task), SPARC_INVALID, "name is NULL", "expected");
  assert_null(task);
  expect_error(sparc_task_create("tracking", NULL), SPARC_INVALID, "out is NULL", "expected");
}

static void check_shared_settings(const sparc_task *task) {
  assert_int_equal(task->T, T);
  assert_int_equal(task->train.count, TRAIN);
  assert_int_equal(task->evaluation.count, EVALUATION);
  const sparc_task_training *s = &task->training;
  assert_int_equal(s->batch, 64);
  assert_int_equal(s->state_size, 128);
  assert_true(s->learning_rate == 0.01 && s->weight_decay == 0 && s->max_gradient_norm == 1);
  assert_int_equal(s->init, SPARC_INIT_CONTROL);
}

static void test_settings(void **state) {
  (void)state;
  sparc_task *order = create("event-order"), *anywhere = create("event-order-anywhere"), *tracking = create("tracking");
  const sparc_task *const both[] = {order, anywhere};
  check_shared_settings(tracking);
  for (int i = 0; i < 2; i++) {
    check_shared_settings(both[i]);
    assert_int_equal(both[i]->target_kind, SPARC_TARGET_CLASS);
    assert_int_equal(both[i]->D, SYMBOLS);
    assert_int_equal(both[i]->O, ORDERS);
    assert_int_equal(both[i]->training.updates, 1200);
    assert_int_equal(both[i]->training.relu, 1);
    assert_string_equal(both[i]->score_name, "error rate");
  }

  assert_int_equal(tracking->target_kind, SPARC_TARGET_VALUES);
  assert_int_equal(tracking->D, INPUTS);
  assert_int_equal(tracking->O, 2);
  assert_int_equal(tracking->training.updates, 450);
  assert_int_equal(tracking->training.relu, 0);
  assert_string_equal(tracking->score_name, "NMSE");
  assert_null(tracking->class_names);

  for (int i = 0; i < 2; i++) {
    assert_non_null(part_of(order, i)->label);
    assert_null(part_of(order, i)->target);
    assert_null(part_of(tracking, i)->label);
    assert_non_null(part_of(tracking, i)->target);
  }
  sparc_task_free(order);
  sparc_task_free(anywhere);
  sparc_task_free(tracking);
}

/* ---- event order ---------------------------------------------------------------------------------- */

static const char *const order_tasks[] = {"event-order", "event-order-anywhere"};

/* the symbol of a one-hot row */
static int symbol_at(const float *row) {
  int symbol = -1;
  for (int k = 0; k < SYMBOLS; k++) {
    assert_true(row[k] == 0 || row[k] == 1);
    if (row[k] == 1) {
      assert_int_equal(symbol, -1);
      symbol = k;
    }
  }
  assert_true(symbol >= 0);
  return symbol;
}

/* every sequence holds A, B and C once, is marked so, and is labelled by the order in which they are read */
static void check_order_sequences(const sparc_task *task) {
  for (int i = 0; i < 2; i++) {
    const sparc_task_part *part = part_of(task, i);
    for (int n = 0; n < part->count; n++) {
      char order[16] = "";
      for (int t = 0; t < T; t++) {
        const int symbol = symbol_at(part->x + ((size_t)n * T + t) * SYMBOLS);
        assert_int_equal(part->event[n * T + t], symbol < EVENTS ? symbol : -1);
        if (symbol >= EVENTS) continue;
        assert_null(strstr(order, task->event_names[symbol]));
        assert_true(strlen(order) < 5);
        if (order[0]) strcat(order, "-");
        strcat(order, task->event_names[symbol]);
      }
      assert_int_equal(strlen(order), 5);
      assert_in_range(part->label[n], 0, ORDERS - 1);
      assert_string_equal(task->class_names[part->label[n]], order);
    }
  }
  assert_null(task->event_names[EVENTS]);
  assert_null(task->class_names[ORDERS]);
}

static void test_event_order_sequences(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof order_tasks / sizeof *order_tasks; i++) {
    sparc_task *task = create(order_tasks[i]);
    check_order_sequences(task);
    sparc_task_free(task);
  }
}

static void test_one_event_in_each_third(void **state) {
  (void)state;
  sparc_task *task = create("event-order");
  for (int i = 0; i < 2; i++) {
    const sparc_task_part *part = part_of(task, i);
    for (int n = 0; n < part->count; n++) {
      int events[EVENTS] = {0};
      for (int t = 0; t < T; t++) events[t / (T / EVENTS)] += part->event[n * T + t] >= 0;
      for (int k = 0; k < EVENTS; k++) assert_int_equal(events[k], 1);
    }
  }
  sparc_task_free(task);
}

/* classes, distractors and the steps of the events are uniform in each part */
static void check_order_odds(const sparc_task *task) {
  for (int i = 0; i < 2; i++) {
    const sparc_task_part *part = part_of(task, i);
    long classes[ORDERS] = {0}, symbols[SYMBOLS] = {0}, events_at[EVENTS][T] = {{0}};
    for (int n = 0; n < part->count; n++) {
      classes[part->label[n]]++;
      for (int t = 0; t < T; t++) {
        const int symbol = symbol_at(part->x + ((size_t)n * T + t) * SYMBOLS);
        symbols[symbol]++;
        if (symbol < EVENTS) events_at[symbol][t]++;
      }
    }
    const long count = part->count;
    for (int k = 0; k < ORDERS; k++) expect_frequency("class", classes[k], count, 1.0 / ORDERS);
    for (int k = 0; k < EVENTS; k++) assert_int_equal(symbols[k], count);
    for (int k = EVENTS; k < SYMBOLS; k++)
      expect_frequency("distractor", symbols[k], count * (T - EVENTS), 1.0 / (SYMBOLS - EVENTS));
    for (int t = 0; t < T; t++) {
      const long events = events_at[0][t] + events_at[1][t] + events_at[2][t];
      expect_frequency("event at a step", events, count, (double)EVENTS / T);
    }
    for (int k = 0; k < EVENTS; k++) {
      long early = 0;
      for (int t = 0; t < T / 2; t++) early += events_at[k][t];
      expect_frequency("event in the first half", early, count, 0.5);
    }
  }
}

static void test_event_order_odds(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof order_tasks / sizeof *order_tasks; i++) {
    sparc_task *task = create(order_tasks[i]);
    check_order_odds(task);
    sparc_task_free(task);
  }
}

/* ---- tracking ------------------------------------------------------------------------------------- */

/* the latent point, as a complex number and from the inputs alone: half a unit in the last place of float */
static void test_tracking_targets(void **state) {
  (void)state;
  sparc_task *task = create("tracking");
  const double complex normal = 0.98 * cexp(0.15 * I), turned = 0.98 * cexp(1.2 * I);
  assert_string_equal(task->event_names[0], "contraction");
  assert_string_equal(task->event_names[1], "rotation");
  assert_null(task->event_names[2]);
  for (int i = 0; i < 2; i++) {
    const sparc_task_part *part = part_of(task, i);
    for (int n = 0; n < part->count; n++) {
      double complex z = 0;
      for (int t = 0; t < T; t++) {
        const float *x = part->x + ((size_t)n * T + t) * INPUTS, *target = part->target + ((size_t)n * T + t) * 2;
        const int event = part->event[n * T + t];
        assert_true(x[2] == (event == 0) && x[3] == (event == 1));
        z = (event == 0 ? 0.3 * normal : event == 1 ? turned : normal) * z + (x[0] + x[1] * I);
        assert_true(fabs(target[0] - creal(z)) <= 6e-8 * fabs(creal(z)) + 1e-14);
        assert_true(fabs(target[1] - cimag(z)) <= 6e-8 * fabs(cimag(z)) + 1e-14);
      }
    }
  }
  sparc_task_free(task);
}

/* drives come with probability 0.25, events with 0.12, independently; drives are normal, kinds of events even */
static void test_tracking_odds(void **state) {
  (void)state;
  sparc_task *task = create("tracking");
  for (int i = 0; i < 2; i++) {
    const sparc_task_part *part = part_of(task, i);
    const long steps = (long)part->count * T;
    long drives = 0, events = 0, both = 0, rotations = 0, beyond = 0;
    double sum[2] = {0, 0}, square[2] = {0, 0}, product = 0;
    for (long s = 0; s < steps; s++) {
      const float *x = part->x + s * INPUTS;
      const int driven = x[0] != 0 || x[1] != 0, event = part->event[s] >= 0;
      drives += driven, events += event, both += driven && event, rotations += part->event[s] == 1;
      for (int k = 0; k < 2; k++) {
        sum[k] += x[k], square[k] += (double)x[k] * x[k];
        beyond += fabsf(x[k]) > 1.9599640f;
      }
      product += (double)x[0] * x[1];
    }
    expect_frequency("drive", drives, steps, 0.25);
    expect_frequency("event", events, steps, 0.12);
    expect_frequency("drive and event", both, steps, 0.25 * 0.12);
    expect_frequency("rotation among events", rotations, events, 0.5);

    /* moments of a standard normal: mean 0, variance 1 with spread 2 / n, no correlation, 5 % beyond 1.96 */
    const double n = (double)drives;
    for (int k = 0; k < 2; k++) {
      assert_true(fabs(sum[k] / n) < 5 / sqrt(n));
      assert_true(fabs(square[k] / n - 1) < 5 * sqrt(2 / n));
    }
    assert_true(fabs(product / n) < 5 / sqrt(n));
    expect_frequency("drive beyond 1.96", beyond, 2 * drives, 0.05);
  }
  sparc_task_free(task);
}

/* ---- one fixed data set ---------------------------------------------------------------------------- */

/* FNV-1a over 32-bit words, low byte first: the same on every byte order */
static uint64_t hash_words(uint64_t hash, const void *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint32_t word;
    memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
    for (int byte = 0; byte < 4; byte++) hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3;
  }
  return hash;
}

static uint64_t hash_part(const sparc_task *task, const sparc_task_part *part) {
  const size_t n = (size_t)part->count, steps = n * T;
  uint64_t hash = hash_words(0xcbf29ce484222325, part->x, steps * (size_t)task->D);
  hash = hash_words(hash, part->event, steps);
  if (part->label) hash = hash_words(hash, part->label, n);
  if (part->target) hash = hash_words(hash, part->target, steps * (size_t)task->O);
  return hash;
}

/* from an independent implementation of the streams and the generators; published scores belong to these data */
static void test_frozen_data(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t train, evaluation;
  } frozen[] = {{"event-order", 0x50812f3f655a20d4, 0x7ead85df154d74b4},
                {"event-order-anywhere", 0xd701760507536736, 0x53cbdd37b179ad56},
                {"tracking", 0x7175beef19e88746, 0x16fc708b0ee3857e}};
  for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++) {
    sparc_task *task = create(frozen[i].name);
    const uint64_t train = hash_part(task, &task->train), evaluation = hash_part(task, &task->evaluation);
    if (train != frozen[i].train || evaluation != frozen[i].evaluation)
      fail_msg("the data of %s changed: 0x%016llx, 0x%016llx", task->name, (unsigned long long)train,
               (unsigned long long)evaluation);
    sparc_task_free(task);
  }
}

static void test_created_twice(void **state) {
  (void)state;
  for (const char *const *name = sparc_task_names(); *name; name++) {
    sparc_task *first = create(*name), *second = create(*name);
    assert_ptr_not_equal(first, second);
    for (int i = 0; i < 2; i++) {
      const sparc_task_part *a = part_of(first, i), *b = part_of(second, i);
      const size_t steps = (size_t)a->count * T;
      assert_memory_equal(a->x, b->x, steps * (size_t)first->D * sizeof *a->x);
      assert_memory_equal(a->event, b->event, steps * sizeof *a->event);
      if (a->label) assert_memory_equal(a->label, b->label, (size_t)a->count * sizeof *a->label);
      if (a->target) assert_memory_equal(a->target, b->target, steps * (size_t)first->O * sizeof *a->target);
    }
    sparc_task_free(first);
    sparc_task_free(second);
  }
}

/* no evaluation sequence is a training sequence */
static void test_parts_differ(void **state) {
  (void)state;
  for (const char *const *name = sparc_task_names(); *name; name++) {
    sparc_task *task = create(*name);
    const size_t size = (size_t)T * (size_t)task->D;
    for (size_t m = 0; m < TRAIN; m++)
      for (size_t n = 0; n < EVALUATION; n++)
        assert_true(memcmp(task->train.x + m * size, task->evaluation.x + n * size, size * sizeof(float)) != 0);
    sparc_task_free(task);
  }
}

/* ---- scores --------------------------------------------------------------------------------------- */

static void test_error_rate(void **state) {
  (void)state;
  const float logits[4][3] = {{1, 2, 3}, {5, 5, 5}, {-INFINITY, -7, -INFINITY}, {0, 1, 1}};
  double score = -1;

  /* ties go to the lowest index: the predictions are 2, 0, 1, 1 */
  assert_int_equal(error_rate(4, 3, logits[0], (const int[]){2, 0, 1, 1}, &score), SPARC_OK);
  assert_true(score == 0);
  assert_int_equal(error_rate(4, 3, logits[0], (const int[]){2, 1, 1, 1}, &score), SPARC_OK);
  assert_true(score == 0.25);
  assert_int_equal(error_rate(4, 3, logits[0], (const int[]){0, 2, 2, 2}, &score), SPARC_OK);
  assert_true(score == 1);
  assert_int_equal(error_rate(1, 1, logits[0], (const int[]){0}, &score), SPARC_OK);
  assert_true(score == 0);
}

static void test_error_rate_errors(void **state) {
  (void)state;
  const float logits[2][2] = {{1, 2}, {3, NAN}};
  const int label[2] = {0, 1};
  double score = -1;
  expect_error(error_rate(0, 2, logits[0], label, &score), SPARC_INVALID, "count is 0", "expected");
  expect_error(error_rate(2, 0, logits[0], label, &score), SPARC_INVALID, "classes is 0", "expected");
  expect_error(error_rate(1, 2, NULL, label, &score), SPARC_INVALID, "logits is NULL", "1 x 2");
  expect_error(error_rate(1, 2, logits[0], NULL, &score), SPARC_INVALID, "label is NULL", "expected");
  expect_error(error_rate(1, 2, logits[0], label, NULL), SPARC_INVALID, "score is NULL", "expected");
  expect_error(error_rate(1, 2, logits[0], (const int[]){2}, &score), SPARC_INVALID, "label[0] is 2", "0 to 1");
  expect_error(error_rate(1, 2, logits[0], (const int[]){-1}, &score), SPARC_INVALID, "label[0] is -1", "0 to 1");
  expect_error(error_rate(2, 2, logits[0], label, &score), SPARC_NOT_FINITE, "logits[1][1]", "NaN");
  assert_true(score == -1);
}

static void test_nmse(void **state) {
  (void)state;
  const float target[4] = {1, -2, 0, 2}, zeros[4] = {0, 0, 0, 0}, near[4] = {1, -2, 0.75f, 2};
  double score = -1;
  assert_int_equal(nmse(4, target, target, &score), SPARC_OK);
  assert_true(score == 0);
  assert_int_equal(nmse(4, zeros, target, &score), SPARC_OK);
  assert_true(score == 1);
  assert_int_equal(nmse(4, near, target, &score), SPARC_OK);
  assert_true(score == 0.5625 / 9);

  /* sums are double: squares that overflow float, and a difference that float would round away */
  const float large[2] = {-3e38f, 3e38f}, larger[2] = {3e38f, -3e38f}, one[2] = {1, 0}, tiny[2] = {1, 1e-9f};
  assert_int_equal(nmse(2, larger, large, &score), SPARC_OK);
  assert_true(score == 4);
  assert_int_equal(nmse(2, tiny, one, &score), SPARC_OK);
  assert_true(fabs(score - 1e-18) < 1e-24);
}

static void test_nmse_errors(void **state) {
  (void)state;
  const float good[2] = {1, 2}, zeros[2] = {0, 0}, bad[2] = {1, NAN}, infinite[2] = {INFINITY, 1};
  double score = -1;
  expect_error(nmse(2, NULL, good, &score), SPARC_INVALID, "prediction is NULL", "2 numbers");
  expect_error(nmse(2, good, NULL, &score), SPARC_INVALID, "target is NULL", "2 numbers");
  expect_error(nmse(2, good, good, NULL), SPARC_INVALID, "score is NULL", "expected");
  expect_error(nmse(2, good, zeros, &score), SPARC_INVALID, "target holds 2 numbers", "none but 0");
  expect_error(nmse(0, good, good, &score), SPARC_INVALID, "target holds 0 numbers", "none but 0");
  expect_error(nmse(2, bad, good, &score), SPARC_NOT_FINITE, "prediction[1] is", "finite");
  expect_error(nmse(2, good, bad, &score), SPARC_NOT_FINITE, "target[1] is", "finite");
  expect_error(nmse(2, infinite, good, &score), SPARC_NOT_FINITE, "prediction[0] is inf", "finite");
  expect_error(nmse(2, infinite, infinite, &score), SPARC_NOT_FINITE, "target[0] is inf", "finite");
  assert_true(score == -1);
}

/* logits that are right but for the first 64 evaluation sequences */
static void test_score_of_event_order(void **state) {
  (void)state;
  static float logits[EVALUATION][ORDERS];
  sparc_task *task = create("event-order");
  for (int n = 0; n < EVALUATION; n++) {
    const int right = task->evaluation.label[n];
    logits[n][n < 64 ? (right + 1) % ORDERS : right] = 1;
  }
  double score = -1;
  assert_int_equal(task_score(task, &task->evaluation, logits[0], &score), SPARC_OK);
  assert_true(score == 64.0 / EVALUATION);
  sparc_task_free(task);
}

/* half the target leaves a quarter of its power, up to the last element of either part */
static void test_score_of_tracking(void **state) {
  (void)state;
  static float prediction[EVALUATION * T * 2];
  sparc_task *task = create("tracking");
  for (int i = 0; i < 2; i++) {
    const sparc_task_part *part = part_of(task, i);
    const size_t count = (size_t)part->count * T * 2;
    double score = -1;
    for (size_t k = 0; k < count; k++) prediction[k] = part->target[k] / 2;
    assert_int_equal(task_score(task, part, prediction, &score), SPARC_OK);
    assert_true(fabs(score - 0.25) < 1e-12);
    assert_int_equal(task_score(task, part, part->target, &score), SPARC_OK);
    assert_true(score == 0);
    prediction[count - 1] = NAN;
    expect_error(task_score(task, part, prediction, &score), SPARC_NOT_FINITE, "prediction[", "nan");
  }

  double score = -1;
  expect_error(task_score(NULL, &task->train, prediction, &score), SPARC_INVALID, "task is NULL", "expected");
  expect_error(task_score(task, NULL, prediction, &score), SPARC_INVALID, "part is NULL", "'tracking'");
  expect_error(task_score(task, &task->train, NULL, &score), SPARC_INVALID, "output is NULL", "'tracking'");
  expect_error(task_score(task, &task->train, task->train.target, NULL), SPARC_INVALID, "score is NULL", "expected");
  assert_true(score == -1);
  sparc_task_free(task);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_unknown_names),
      cmocka_unit_test(test_settings),
      cmocka_unit_test(test_event_order_sequences),
      cmocka_unit_test(test_one_event_in_each_third),
      cmocka_unit_test(test_event_order_odds),
      cmocka_unit_test(test_tracking_targets),
      cmocka_unit_test(test_tracking_odds),
      cmocka_unit_test(test_frozen_data),
      cmocka_unit_test(test_created_twice),
      cmocka_unit_test(test_parts_differ),
      cmocka_unit_test(test_error_rate),
      cmocka_unit_test(test_error_rate_errors),
      cmocka_unit_test(test_nmse),
      cmocka_unit_test(test_nmse_errors),
      cmocka_unit_test(test_score_of_event_order),
      cmocka_unit_test(test_score_of_tracking),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
