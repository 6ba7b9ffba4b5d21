/* SPDX-License-Identifier: MIT */
/* test_train.c: training learns, repeats bit-exactly, can be stopped and resumed, and refuses invalid files;
 * files hold everything and nothing wrong is read from them. */
#include "scratch.h"
#include "sparc/random.h"
#include "sparc/train.h"
#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a toy ------------------------------------------------------------------------------------- */

enum { COUNT = 23, LONGEST = 20, CHANNELS = 2, CLASSES = 3, NUMBERS = 2 };

/* noisy oscillations: the class is the frequency; the targets are leaky sums of the channels */
typedef struct toy {
  float x[COUNT][LONGEST * CHANNELS], target[COUNT][LONGEST * NUMBERS];
  int length[COUNT], label[COUNT], context[COUNT];
  int fetched[COUNT];             /* how often each example was requested */
  int order[2 * COUNT], requests; /* which ones, first to last */
} toy;

static sparc_sample toy_sample(const void *source, int index) {
  toy *data = (toy *)(uintptr_t)source;
  data->fetched[index]++;
  if (data->requests < 2 * COUNT) data->order[data->requests++] = index;
  return (sparc_sample){.x = data->x[index],
                        .length = data->length[index],
                        .label = data->label[index],
                        .target = data->target[index],
                        .context = data->context[index]};
}

static sparc_samples samples_of(toy *data) {
  return (sparc_samples){.count = COUNT, .channels = CHANNELS, .longest = LONGEST, .source = data, .at = toy_sample};
}

static void fill(toy *data) {
  *data = (toy){.length = {0}};
  sparc_random stream;
  sparc_random_init(&stream, 1, "test-train", "toy");
  for (int i = 0; i < COUNT; i++) {
    data->label[i] = i % CLASSES;
    data->length[i] = i == 0 ? LONGEST : 12 + (int)sparc_random_below(&stream, LONGEST - 11);
    const double phase = 6 * sparc_random_uniform(&stream);
    for (int t = 0; t < data->length[i]; t++)
      for (int c = 0; c < CHANNELS; c++) {
        const int at = t * CHANNELS + c;
        data->x[i][at] = (float)(sin(0.4 * (1 + data->label[i]) * t + phase + c) + 0.1 * sparc_random_normal(&stream));
        data->target[i][at] = data->x[i][at] + (t ? 0.8F * data->target[i][at - CHANNELS] : 0);
      }
  }
}

/* heads by what they read */
static const sparc_head_config toy_head[] = {
    [SPARC_HEAD_MEAN] = {.input = SPARC_HEAD_MEAN, .outputs = CLASSES},
    [SPARC_HEAD_LAST] = {.input = SPARC_HEAD_LAST, .outputs = CLASSES},
    [SPARC_HEAD_STEPS] = {.input = SPARC_HEAD_STEPS, .outputs = NUMBERS},
};

static sparc_train_config toy_config(sparc_head_input head) {
  sparc_train_config config = sparc_train_defaults(NULL);
  config.network = (sparc_network_config){.cell = "sparc",
                                          .H = 6,
                                          .inputs = CHANNELS,
                                          .embedding = SPARC_EMBED_LINEAR,
                                          .width = 8,
                                          .layers = 2,
                                          .dropout = 0.1,
                                          .init = SPARC_INIT_CLASSIFICATION,
                                          .head = &toy_head[head],
                                          .heads = 1};
  config.seed = 11;
  config.batch = 8;
  config.updates = 100;
  config.warmup = 10;
  config.learning_rate = 0.01;
  config.max_gradient_norm = 1;
  config.threads = 1;
  return config;
}

static sparc_trainer *create(const sparc_train_config *config, toy *data) {
  const sparc_samples samples = samples_of(data);
  sparc_trainer *trainer;
  if (sparc_trainer_create(config, &samples, &trainer) != SPARC_OK) fail_msg("%s", sparc_error());
  return trainer;
}

static sparc_update_report advance(sparc_trainer *trainer, long updates) {
  sparc_update_report report = {.update = 0};
  for (long i = 0; i < updates; i++)
    if (sparc_trainer_update(trainer, &report) != SPARC_OK) fail_msg("%s", sparc_error());
  return report;
}

static sparc_evaluation evaluate(sparc_trainer *trainer, const sparc_samples *samples) {
  sparc_evaluation evaluation;
  if (sparc_trainer_evaluate(trainer, samples, &evaluation) != SPARC_OK) fail_msg("%s", sparc_error());
  return evaluation;
}

static void expect_message(const char *part) {
  if (!strstr(sparc_error(), part)) fail_msg("'%s' is not in '%s'", part, sparc_error());
}

/* ---- files ------------------------------------------------------------------------------------- */

static void save(const sparc_trainer *trainer, const char *name) {
  if (sparc_trainer_save(trainer, NULL, NULL, 0, in_folder(name)) != SPARC_OK) fail_msg("%s", sparc_error());
}

static sparc_trainer *restore(const char *name, toy *data, int threads) {
  const sparc_samples samples = samples_of(data);
  sparc_trainer *trainer;
  if (sparc_trainer_load(in_folder(name), &samples, NULL, threads, &trainer) != SPARC_OK) fail_msg("%s", sparc_error());
  return trainer;
}

static char *contents(const char *name, size_t *size) {
  FILE *file = fopen(in_folder(name), "rb");
  assert_non_null(file);
  char *bytes = malloc(1 << 20);
  *size = fread(bytes, 1, 1 << 20, file);
  assert_true(*size > 0 && *size < 1 << 20);
  fclose(file);
  return bytes;
}

/* weights, moments, update and configuration: everything is in the file */
static void expect_same_files(const char *a, const char *b) {
  size_t n, m;
  char *first = contents(a, &n), *second = contents(b, &m);
  assert_int_equal(n, m);
  assert_memory_equal(first, second, n);
  free(first);
  free(second);
}

/* ---- learning ---------------------------------------------------------------------------------- */

static void test_learns(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_samples samples = samples_of(&data);
  for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++) {
    const sparc_train_config config = toy_config((sparc_head_input)head);
    sparc_trainer *trainer = create(&config, &data);
    const sparc_evaluation before = evaluate(trainer, &samples);
    const sparc_update_report report = advance(trainer, config.updates);
    const sparc_evaluation after = evaluate(trainer, &samples);
    assert_int_equal(report.update, config.updates);
    assert_int_equal(sparc_trainer_info_of(trainer).updates, config.updates);
    assert_true(report.gradient_norm > 0);
    assert_int_equal(after.examples, COUNT);
    if (!(after.loss < 0.3 * before.loss)) fail_msg("head %d: loss %g to %g", head, before.loss, after.loss);
    if (head == SPARC_HEAD_STEPS) {
      assert_true(after.nmse < 0.3 && after.accuracy == 0);
    } else {
      assert_true(after.accuracy > 0.9 && after.nmse == 0);
    }
    sparc_trainer_free(trainer);
  }
}

static void test_schedule_and_settings(void **state) {
  (void)state;
  const sparc_train_config paper = sparc_train_defaults(NULL);
  assert_true(paper.updates == 20000 && paper.batch == 32 && paper.warmup == 2000 && paper.cosine == 1);
  assert_true(paper.learning_rate == 1.95e-3 && paper.min_learning_rate == 1e-6 && paper.recurrent_lr_scale == 0.25 &&
              paper.weight_decay == 0.05);
  assert_true(paper.max_gradient_norm == 0);

  toy data;
  fill(&data);
  sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  config.updates = 4;
  config.warmup = 2;
  config.min_learning_rate = 0.002;
  sparc_trainer *trainer = create(&config, &data);
  const double want[] = {0.002, 0.006, 0.01, 0.006, 0.002, 0.002}; /* the last two are after the schedule */
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    const double rate = advance(trainer, 1).learning_rate;
    if (fabs(rate - want[i]) > 1e-15) fail_msg("rate %zu is %.17g, expected %.17g", i, rate, want[i]);
  }
  sparc_trainer_free(trainer);
}

/* a learning rate of zero for recurrent parameters, none for frozen ones: they keep their first values */
static void test_groups(void **state) {
  (void)state;
  toy data;
  fill(&data);
  sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  config.recurrent_lr_scale = 0;
  config.network.cell_options = "variant=frozen-gain";
  sparc_trainer *trainer = create(&config, &data);
  const sparc_network *network = sparc_trainer_info_of(trainer).network;
  float *first = sparc_alloc(sparc_network_sizes_of(network).params * sizeof *first);
  assert_int_equal(sparc_network_init(network, config.seed, first), SPARC_OK);
  advance(trainer, 3);
  size_t spans, kept = 0, moved = 0;
  const sparc_span *span = sparc_network_spans(network, &spans);
  for (size_t s = 0; s < spans; s++) {
    const bool same = memcmp(sparc_trainer_info_of(trainer).params + span[s].offset, first + span[s].offset,
                             span[s].size * sizeof *first) == 0;
    assert_int_equal(same, span[s].group != SPARC_REGULAR);
    *(same ? &kept : &moved) += 1;
  }
  assert_true(kept > 0 && moved > 0);
  sparc_free(first);
  sparc_trainer_free(trainer);
}

static void test_generated_tasks(void **state) {
  (void)state;
  for (const char *const *name = sparc_task_names(); *name; name++) {
    sparc_task *task;
    assert_int_equal(sparc_task_create(*name, &task), SPARC_OK);
    const bool classes = task->target_kind == SPARC_TARGET_CLASS;
    sparc_train_config config = sparc_train_defaults(task);
    assert_true(config.learning_rate == 0.01 && config.batch == 64 && config.max_gradient_norm == 1 &&
                config.cosine == 0);
    assert_true(config.recurrent_lr_scale == 1 && config.updates == task->training.updates && config.weight_decay == 0);
    const sparc_head_config head = {.input = classes ? SPARC_HEAD_LAST : SPARC_HEAD_STEPS, .outputs = task->O};
    config.network =
        (sparc_network_config){.cell = "sparc",
                               .H = 16,
                               .inputs = task->D,
                               .features = task->training.relu ? SPARC_FEATURES_RELU : SPARC_FEATURES_OUTPUT,
                               .init = task->training.init,
                               .head = &head,
                               .heads = 1};
    const sparc_samples train = sparc_samples_of_task(task, 0), evaluation = sparc_samples_of_task(task, 1);
    assert_int_equal(train.count, task->train.count);
    sparc_trainer *trainer;
    assert_int_equal(sparc_trainer_create(&config, &train, &trainer), SPARC_OK);
    const sparc_evaluation before = evaluate(trainer, &evaluation);
    advance(trainer, 250);
    const sparc_evaluation after = evaluate(trainer, &evaluation);
    assert_int_equal(after.examples, task->evaluation.count);
    if (!(after.loss < 0.8 * before.loss)) fail_msg("%s: loss %g to %g", *name, before.loss, after.loss);
    sparc_trainer_free(trainer);
    sparc_task_free(task);
  }
}

/* ---- batches ----------------------------------------------------------------------------------- */

/* 23 examples in batches of 4: whenever updates have seen k epochs, each example came k times, in another
 * order each time */
static void test_batches_cover_epochs(void **state) {
  (void)state;
  toy data;
  fill(&data);
  sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  config.batch = 4;
  sparc_trainer *trainer = create(&config, &data);
  memset(data.fetched, 0, sizeof data.fetched);
  data.requests = 0;
  for (int place = 0; place < 2 * COUNT * config.batch; place += config.batch) {
    const int epochs = place / COUNT;
    for (int i = 0; i < COUNT; i++) assert_in_range(data.fetched[i], epochs, epochs + (place % COUNT != 0));
    advance(trainer, 1);
  }
  for (int i = 0; i < COUNT; i++) assert_int_equal(data.fetched[i], 2 * config.batch);
  assert_memory_not_equal(data.order, data.order + COUNT, COUNT * sizeof *data.order);
  sparc_trainer_free(trainer);

  /* a batch of several epochs */
  config.batch = 2 * COUNT + 1;
  trainer = create(&config, &data);
  memset(data.fetched, 0, sizeof data.fetched);
  advance(trainer, 1);
  for (int i = 0; i < COUNT; i++) assert_in_range(data.fetched[i], 2, 3);
  sparc_trainer_free(trainer);
}

/* ---- bit-identical runs -------------------------------------------------------------------------------- */

/* sizes that a kind accepts at H = 6 */
static const char *small_options(const char *kind) {
  if (strcmp(kind, "rglru") == 0) return "block=3";
  if (strcmp(kind, "mamba3") == 0) return "heads=2,head_dim=3,state=2";
  return NULL;
}

static void train_and_save(const sparc_train_config *config, toy *data, const char *name) {
  sparc_trainer *trainer = create(config, data);
  advance(trainer, 12);
  save(trainer, name);
  sparc_trainer_free(trainer);
}

/* weights and moments after several updates are the same bits for any number of threads, and other ones for another
 * seed: layers 0 is the bare cell, which learns a recurrence over every step */
static void check_repetition(const char *kind, sparc_head_input head, int layers, toy *data) {
  sparc_train_config config = toy_config(head);
  config.network.cell = kind;
  config.network.cell_options = small_options(kind);
  config.network.layers = layers;
  if (layers == 0) config.network.embedding = SPARC_EMBED_NONE, config.network.width = 0, config.network.dropout = 0;
  train_and_save(&config, data, "a");
  for (size_t i = 0; i < 4; i++) {
    config.threads = (const int[]){1, 2, 3, 7}[i];
    train_and_save(&config, data, "b");
    expect_same_files("a", "b");
  }
  config.seed++;
  train_and_save(&config, data, "b");
  size_t n, m;
  char *first = contents("a", &n), *second = contents("b", &m);
  if (n == m && memcmp(first, second, n) == 0) fail_msg("%s: the seed changes nothing", kind);
  free(first);
  free(second);
}

static void test_runs_repeat(void **state) {
  (void)state;
  toy data;
  fill(&data);
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++)
      check_repetition(*kind, (sparc_head_input)head, 2, &data);
    check_repetition(*kind, SPARC_HEAD_STEPS, 0, &data);
  }
}

/* stopped and continued at several updates, in the middle of epochs and of the warm-up, on other numbers of threads */
static void test_restored_runs_continue(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const long end = 17, cuts[] = {0, 1, 6, 11, 16};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
    config.network.cell = *kind;
    if (strcmp(*kind, "rglru") == 0) config.network.cell_options = "block=2";
    sparc_trainer *trainer = create(&config, &data);
    advance(trainer, end);
    save(trainer, "a");
    sparc_trainer_free(trainer);

    trainer = create(&config, &data);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
      advance(trainer, cuts[i] - sparc_trainer_info_of(trainer).updates);
      save(trainer, "b");
      sparc_trainer_free(trainer);
      trainer = restore("b", &data, 1 + (int)i % 3);
      assert_int_equal(sparc_trainer_info_of(trainer).updates, cuts[i]);
      assert_int_equal(sparc_trainer_info_of(trainer).config->threads, 1 + (int)i % 3);
    }
    advance(trainer, end - sparc_trainer_info_of(trainer).updates);
    save(trainer, "b");
    expect_same_files("a", "b");
    sparc_trainer_free(trainer);
  }
}

static void test_evaluation_changes_nothing(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_samples samples = samples_of(&data);
  sparc_samples some = samples;
  some.count = 5;
  some.longest = LONGEST + 30; /* longer than anything in training */
  sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  sparc_trainer *plain = create(&config, &data);
  advance(plain, 6);
  config.threads = 3;
  sparc_trainer *watched = create(&config, &data);
  for (int i = 0; i < 6; i++) {
    evaluate(watched, &samples);
    evaluate(watched, &some);
    advance(watched, 1);
  }
  save(plain, "a");
  save(watched, "b");
  expect_same_files("a", "b");
  const sparc_evaluation one = evaluate(plain, &samples), three = evaluate(watched, &samples);
  assert_true(one.loss == three.loss && one.accuracy == three.accuracy);
  sparc_trainer_free(plain);
  sparc_trainer_free(watched);
}

/* ---- models ------------------------------------------------------------------------------------ */

static sparc_model *load(const char *name, int threads) {
  sparc_model *model;
  if (sparc_model_load(in_folder(name), threads, &model) != SPARC_OK) fail_msg("%s", sparc_error());
  return model;
}

/* accuracy and loss of the probabilities are those that the trainer reports */
static void test_model_predicts_classes(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_samples samples = samples_of(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_LAST);
  sparc_trainer *trainer = create(&config, &data);
  advance(trainer, 20);
  save(trainer, "a");
  const sparc_evaluation want = evaluate(trainer, &samples);
  sparc_trainer_free(trainer);
  assert_true(want.accuracy > 0.4 && want.accuracy < 1);

  for (int threads = 1; threads <= 2; threads++) {
    sparc_model *model = load("a", threads);
    sparc_evaluation got;
    assert_int_equal(sparc_model_evaluate(model, &samples, &got), SPARC_OK);
    assert_true(got.loss == want.loss && got.accuracy == want.accuracy && got.examples == COUNT);
    float p[COUNT][CLASSES];
    assert_int_equal(sparc_model_predict(model, &samples, p[0]), SPARC_OK);
    double loss = 0, right = 0;
    for (int i = 0; i < COUNT; i++) {
      double sum = 0;
      int best = 0;
      for (int k = 0; k < CLASSES; k++) {
        sum += (double)p[i][k];
        if (p[i][k] > p[i][best]) best = k;
      }
      assert_true(fabs(sum - 1) < 1e-6);
      loss -= log((double)p[i][data.label[i]]) / COUNT;
      right += (double)(best == data.label[i]) / COUNT;
    }
    assert_true(fabs(loss - want.loss) < 1e-6 * want.loss && fabs(right - want.accuracy) < 1e-9);

    /* a label is not needed to predict, only to evaluate */
    data.label[3] = -1;
    assert_int_equal(sparc_model_predict(model, &samples, p[0]), SPARC_OK);
    assert_int_equal(sparc_model_evaluate(model, &samples, &got), SPARC_INVALID);
    expect_message("example 3: label is -1, expected 0 to 2");
    data.label[3] = 0;
    sparc_model_free(model);
  }
}

/* a network with its parameters alone is the same model as a checkpoint; and views of arrays are those of data */
static void test_networks_as_models(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_samples samples = samples_of(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_LAST);
  sparc_trainer *trainer = create(&config, &data);
  advance(trainer, 5);
  save(trainer, "a");
  const sparc_network *network = sparc_trainer_info_of(trainer).network;
  const size_t params = sparc_network_sizes_of(network).params;
  assert_int_equal(sparc_network_save(network, sparc_trainer_info_of(trainer).params, NULL,
                                      &(sparc_metadata){"from", "elsewhere"}, 1, in_folder("b")),
                   SPARC_OK);
  const float *x[COUNT];
  int lengths[COUNT];
  for (int i = 0; i < COUNT; i++) {
    x[i] = samples.at(samples.source, i).x;
    lengths[i] = samples.at(samples.source, i).length;
  }
  const sparc_arrays arrays = {
      .count = COUNT, .channels = samples.channels, .x = x, .lengths = lengths, .labels = data.label};
  const sparc_samples views = sparc_samples_of_arrays(&arrays);
  assert_int_equal(views.longest, samples.longest);
  assert_int_equal(views.at(views.source, COUNT).length, 0);

  sparc_model *first = load("a", 1), *second = load("b", 1);
  float p[COUNT][CLASSES], q[COUNT][CLASSES];
  assert_int_equal(sparc_model_predict(first, &samples, p[0]), SPARC_OK);
  assert_int_equal(sparc_model_predict(second, &views, q[0]), SPARC_OK);
  assert_memory_equal(p, q, sizeof p);
  sparc_evaluation a, b;
  assert_int_equal(sparc_model_evaluate(first, &samples, &a), SPARC_OK);
  assert_int_equal(sparc_model_evaluate(second, &views, &b), SPARC_OK);
  assert_true(fabs(a.loss - b.loss) <= 1e-12 * a.loss && a.accuracy == b.accuracy); /* other batches */
  assert_string_equal(sparc_model_metadata(second, "from"), "elsewhere");
  float *copy = malloc(params * sizeof *copy);
  assert_int_equal(sparc_model_params(second, copy), SPARC_OK);
  assert_memory_equal(copy, sparc_trainer_info_of(trainer).params, params * sizeof *copy);

  /* it cannot be trained on, and what is not finite is not written */
  sparc_trainer *again;
  assert_int_equal(sparc_trainer_load(in_folder("b"), &samples, NULL, 1, &again), SPARC_FORMAT);
  copy[0] = NAN;
  assert_int_equal(sparc_network_save(network, copy, NULL, NULL, 0, in_folder("c")), SPARC_NOT_FINITE);
  free(copy);
  sparc_model_free(first);
  sparc_model_free(second);
  sparc_trainer_free(trainer);
}

/* only steps that exist count, and the others are zeros in the predictions */
static void test_model_predicts_numbers(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_samples samples = samples_of(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_STEPS);
  sparc_trainer *trainer = create(&config, &data);
  advance(trainer, 20);
  save(trainer, "a");
  const sparc_evaluation want = evaluate(trainer, &samples);
  sparc_trainer_free(trainer);

  sparc_model *model = load("a", 1);
  static float y[COUNT][LONGEST][NUMBERS];
  memset(y, 0x7f, sizeof y);
  assert_int_equal(sparc_model_predict(model, &samples, y[0][0]), SPARC_OK);
  double error = 0, power = 0, numbers = 0;
  for (int i = 0; i < COUNT; i++)
    for (int t = 0; t < LONGEST; t++)
      for (int k = 0; k < NUMBERS; k++) {
        if (t >= data.length[i]) {
          assert_true(y[i][t][k] == 0);
          continue;
        }
        const double target = (double)data.target[i][t * NUMBERS + k], off = (double)y[i][t][k] - target;
        error += off * off;
        power += target * target;
        numbers++;
      }
  assert_true(fabs(want.loss - error / numbers) < 1e-9 * want.loss);
  assert_true(fabs(want.nmse - error / power) < 1e-9 * want.nmse);
  sparc_evaluation got;
  assert_int_equal(sparc_model_evaluate(model, &samples, &got), SPARC_OK);
  assert_true(got.loss == want.loss && got.nmse == want.nmse);
  sparc_model_free(model);
}

/* steps of a model give the outputs of sequences cut there, and long sequences, processed in pieces, those of the
 * steps */
static sparc_sample one_sample(const void *source, int index) {
  (void)index;
  return *(const sparc_sample *)source;
}

static void test_model_steps(void **state) {
  (void)state;
  enum { LONG = SPARC_MODEL_WHOLE + 700 };
  static const struct {
    sparc_head_input head;
    const char *cell; /* NULL: that of the toy; RG-LRU writes its first input with another scale */
  } models[] = {{SPARC_HEAD_MEAN, NULL}, {SPARC_HEAD_LAST, NULL}, {SPARC_HEAD_STEPS, NULL}, {SPARC_HEAD_LAST, "rglru"}};
  float *x = calloc((size_t)LONG * CHANNELS, sizeof *x), *whole = calloc((size_t)LONG * NUMBERS, sizeof *whole);
  assert_non_null(x);
  assert_non_null(whole);
  sparc_random stream;
  sparc_random_init(&stream, 1, "test-train", "long");
  for (int i = 0; i < LONG * CHANNELS; i++) x[i] = (float)sparc_random_normal(&stream);
  for (size_t h = 0; h < sizeof models / sizeof *models; h++) {
    const bool steps = models[h].head == SPARC_HEAD_STEPS;
    toy data;
    fill(&data);
    sparc_train_config config = toy_config(models[h].head);
    if (models[h].cell) config.network.cell = models[h].cell, config.network.H = 8;
    sparc_trainer *trainer = create(&config, &data);
    advance(trainer, 5);
    const double mean[CHANNELS] = {0.25, -0.5}, stddev[CHANNELS] = {2, 0.75};
    const sparc_preprocessing p = {.channels = CHANNELS, .mean = mean, .stddev = stddev};
    assert_int_equal(sparc_trainer_save(trainer, &p, NULL, 0, in_folder("a")), SPARC_OK);
    sparc_trainer_free(trainer);
    sparc_model *model = load("a", 1);
    const int K = steps ? NUMBERS : CLASSES;
    float *carried = calloc(sparc_model_info_of(model).state_size, sizeof *carried), y[CLASSES] = {0};
    assert_non_null(carried);
    double worst = 0;
    for (int t = 0; t < LONG; t++) {
      assert_int_equal(sparc_model_step(model, carried, x + t * CHANNELS, y), SPARC_OK);
      if (t + 1 != 1 && t + 1 != 37 && t + 1 != LONG) continue;
      const sparc_sample cut = {.x = x, .length = t + 1};
      const sparc_samples one = {.count = 1, .channels = CHANNELS, .longest = t + 1, .source = &cut, .at = one_sample};
      assert_int_equal(sparc_model_predict(model, &one, whole), SPARC_OK);
      for (int k = 0; k < K; k++) worst = fmax(worst, fabs((double)y[k] - (double)whole[(steps ? t * K : 0) + k]));
    }
    if (worst > 2e-5) fail_msg("head %d: steps and sequences differ by %g", (int)models[h].head, worst);
    const float broken[CHANNELS] = {0, NAN};
    assert_int_equal(sparc_model_step(model, carried, broken, y), SPARC_NOT_FINITE);
    assert_int_equal(sparc_model_step(model, NULL, x, y), SPARC_INVALID);
    x[(LONG - 3) * CHANNELS] = INFINITY;
    const sparc_sample all = {.x = x, .length = LONG};
    const sparc_samples one = {.count = 1, .channels = CHANNELS, .longest = LONG, .source = &all, .at = one_sample};
    assert_int_equal(sparc_model_predict(model, &one, whole), SPARC_NOT_FINITE);
    expect_message("channel 0 of step 17081 is inf");
    x[(LONG - 3) * CHANNELS] = 0;
    free(carried);
    sparc_model_free(model);
  }
  free(x);
  free(whole);
}

/* raw values through a model are what normalised values were to the trainer; everything stored comes back exactly */
static void test_preprocessing(void **state) {
  (void)state;
  static const char csv[] = "a,b,c,d,kind\n1,2,3,4,on\n5,6,7.5,8,\"o\"\"ff\"\n2,1,2,1,on\n-9,8,-7,6,\"o\"\"ff\"\n";
  sparc_dataset *raw, *ready;
  const int all[] = {0, 1, 2, 3};
  if (sparc_dataset_parse(csv, strlen(csv), "toy.csv", NULL, &raw) != SPARC_OK) fail_msg("%s", sparc_error());
  assert_int_equal(sparc_dataset_subset(raw, all, 4, NULL, &ready), SPARC_OK);
  double mean, stddev;
  assert_int_equal(sparc_dataset_moments(raw, &mean, &stddev), SPARC_OK);
  assert_int_equal(sparc_dataset_normalise(ready, &mean, &stddev), SPARC_OK);
  const sparc_samples raw_samples = sparc_samples_of_dataset(raw), samples = sparc_samples_of_dataset(ready);
  assert_int_equal(samples.count, 4);
  assert_int_equal(samples.longest, 4);

  sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  config.network.inputs = 1;
  config.network.head = &(sparc_head_config){.input = SPARC_HEAD_MEAN, .outputs = 2};
  sparc_trainer *trainer;
  assert_int_equal(sparc_trainer_create(&config, &samples, &trainer), SPARC_OK);
  advance(trainer, 5);
  const char *const labels[] = {sparc_dataset_info_of(raw).class_names[0], "\xc3\xa9 \\ \"\n"};
  const sparc_preprocessing given = {
      .channels = 1, .mean = &mean, .stddev = &stddev, .classes = 2, .labels = labels, .data = "toy"};
  const sparc_metadata extra[] = {{"run", "seven"}, {"note", "\xc3\xbc"}};
  if (sparc_trainer_save(trainer, &given, extra, 2, in_folder("a")) != SPARC_OK) fail_msg("%s", sparc_error());

  sparc_model *model = load("a", 1);
  const sparc_preprocessing *stored = sparc_model_info_of(model).preprocessing;
  assert_int_equal(stored->channels, 1);
  assert_true(stored->mean[0] == mean && stored->stddev[0] == stddev);
  assert_int_equal(stored->classes, 2);
  for (int i = 0; i < 2; i++) assert_string_equal(stored->labels[i], labels[i]);
  assert_string_equal(stored->data, "toy");
  assert_string_equal(sparc_model_metadata(model, "run"), "seven");
  assert_string_equal(sparc_model_metadata(model, "note"), "\xc3\xbc");
  assert_string_equal(sparc_model_metadata(model, "format"), "sparc-checkpoint");
  assert_string_equal(sparc_model_metadata(model, "sparc_version"), sparc_version());
  assert_string_equal(sparc_model_metadata(model, "update"), "5");
  assert_null(sparc_model_metadata(model, "nothing"));
  assert_string_equal(sparc_network_config_of(sparc_model_info_of(model).network).cell, "sparc");
  sparc_evaluation got;
  const sparc_evaluation want = evaluate(trainer, &samples);
  assert_int_equal(sparc_model_evaluate(model, &raw_samples, &got), SPARC_OK);
  assert_true(got.loss == want.loss && got.accuracy == want.accuracy);
  sparc_model_free(model);

  /* without any of it */
  save(trainer, "b");
  model = load("b", 1);
  stored = sparc_model_info_of(model).preprocessing;
  assert_true(stored->channels == 0 && stored->classes == 0 && !stored->data);
  assert_int_equal(sparc_model_evaluate(model, &samples, &got), SPARC_OK);
  assert_true(got.loss == want.loss);
  sparc_model_free(model);
  sparc_trainer_free(trainer);
  sparc_dataset_free(raw);
  sparc_dataset_free(ready);
}

static void test_every_setting_comes_back(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_head_config head = {
      .name = "class", .input = SPARC_HEAD_LAST, .outputs = CLASSES, .hidden = 9, .hidden_gain = 1.0 / 3, .gain = 0.01};
  sparc_train_config config = toy_config(SPARC_HEAD_LAST);
  config.network = (sparc_network_config){.cell = "sparc",
                                          .cell_options = "variant=phase-only,kappa_r=1.1",
                                          .H = 5,
                                          .inputs = CHANNELS,
                                          .embedding = SPARC_EMBED_TANH,
                                          .width = 7,
                                          .features = SPARC_FEATURES_RELU,
                                          .init = SPARC_INIT_CONTROL,
                                          .head = &head,
                                          .heads = 1};
  config.seed = UINT64_MAX;
  config.cosine = 0;
  config.learning_rate = 0.1 / 3;
  config.min_learning_rate = 1e-300;
  config.recurrent_lr_scale = 1.0 / 7;
  config.weight_decay = 0.1;
  config.max_gradient_norm = 1e17 / 3;
  sparc_trainer *trainer = create(&config, &data);
  advance(trainer, 2);
  save(trainer, "a");
  sparc_trainer *other = restore("a", &data, 2);
  const sparc_train_config *want = sparc_trainer_info_of(trainer).config, *got = sparc_trainer_info_of(other).config;
  assert_string_equal(got->network.cell, want->network.cell);
  assert_string_equal(got->network.cell_options, want->network.cell_options);
  assert_true(got->network.H == 5 && got->network.inputs == CHANNELS && got->network.heads == 1);
  assert_true(got->network.embedding == SPARC_EMBED_TANH && got->network.width == 7 && got->network.layers == 0);
  assert_true(got->network.features == SPARC_FEATURES_RELU && got->network.dropout == 0);
  assert_int_equal(got->network.init, SPARC_INIT_CONTROL);
  assert_string_equal(got->network.head->name, "class");
  assert_true(got->network.head->input == SPARC_HEAD_LAST && got->network.head->outputs == CLASSES);
  assert_true(got->network.head->hidden == 9 && got->network.head->hidden_gain == head.hidden_gain);
  assert_true(got->network.head->gain == head.gain);
  assert_true(got->seed == want->seed && got->batch == want->batch && got->updates == want->updates);
  assert_true(got->warmup == want->warmup && got->cosine == 0 && got->learning_rate == want->learning_rate);
  assert_true(got->min_learning_rate == want->min_learning_rate && got->recurrent_lr_scale == want->recurrent_lr_scale);
  assert_true(got->weight_decay == want->weight_decay && got->max_gradient_norm == want->max_gradient_norm &&
              got->threads == 2);
  sparc_trainer_free(other);
  sparc_trainer_free(trainer);
}

/* files of the first format, which had no words for embeddings, features and stacked heads */
static void test_first_format(void **state) {
  (void)state;
  static const char *const names[] = {"task", "layers"};
  for (int layers = 0; layers < 2; layers++) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/checkpoints/format-1-%s.safetensors", SPARC_SOURCE_DIR, names[layers]);
    sparc_model *model;
    if (sparc_model_load(path, 1, &model) != SPARC_OK) fail_msg("%s", sparc_error());
    const sparc_network_config config = sparc_network_config_of(sparc_model_info_of(model).network);
    assert_string_equal(sparc_model_metadata(model, "format_version"), "1");
    assert_int_equal(config.layers > 0, layers);
    assert_int_equal(config.embedding, layers ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE);
    assert_int_equal(config.features, SPARC_FEATURES_OUTPUT);
    assert_string_equal(config.head->name, "head");
    assert_int_equal(config.head->input, layers ? SPARC_HEAD_MEAN : SPARC_HEAD_STEPS);
    sparc_model_free(model);
  }
}

/* numbers keep their point where the program's locale has a comma; the texts of the cell's options are the cell's */
static void test_locale(void **state) {
  (void)state;
  static const char *const candidates[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
  size_t i = 0;
  while (i < sizeof candidates / sizeof *candidates && !setlocale(LC_NUMERIC, candidates[i])) i++;
  if (i == sizeof candidates / sizeof *candidates) skip();
  toy data;
  fill(&data);
  sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  config.network.cell = "lru";
  sparc_trainer *trainer = create(&config, &data);
  save(trainer, "a");
  sparc_trainer *other = restore("a", &data, 1);
  const double rate = sparc_trainer_info_of(other).config->learning_rate;
  setlocale(LC_NUMERIC, "C");
  assert_true(rate == config.learning_rate);
  sparc_trainer_free(other);
  other = restore("a", &data, 1);
  sparc_trainer_free(other);
  sparc_trainer_free(trainer);
}

/* ---- wrong files ------------------------------------------------------------------------------- */

typedef struct edit {
  const char *drop;       /* the tensor or key to leave out; tensors beginning with it when it ends in '.' */
  const char *key, *text; /* metadata to replace or add */
  const char *tensor;     /* to spoil: */
  float first;            /* its first number */
  sparc_dtype dtype;      /* SPARC_F64 is 0: stored as it is unless this is SPARC_BF16 */
  size_t longer;          /* elements more, as a vector */
} edit;

static bool is_dropped(const edit *e, const char *name) {
  if (!e->drop) return false;
  const size_t n = strlen(e->drop);
  return e->drop[n - 1] == '.' ? strncmp(name, e->drop, n) == 0 : strcmp(name, e->drop) == 0;
}

/* file b is file a with an edit */
static void rewrite(const edit *e) {
  enum { MAX_TENSORS = 128, MAX_ELEMENTS = 4096 };
  static float numbers[MAX_TENSORS][MAX_ELEMENTS];
  sparc_tensor_source sources[MAX_TENSORS];
  sparc_metadata metadata[MAX_TENSORS];
  size_t tensors = 0, entries = 0;
  sparc_tensors *file;
  assert_int_equal(sparc_tensors_load(in_folder("a"), &file), SPARC_OK);
  for (size_t i = 0; i < sparc_tensors_contents_of(file).count; i++) {
    const sparc_tensor_info *info = &sparc_tensors_contents_of(file).tensors[i];
    if (is_dropped(e, info->name)) continue;
    assert_true(tensors < MAX_TENSORS && info->elements + 8 < MAX_ELEMENTS);
    float *values = numbers[tensors];
    assert_int_equal(sparc_tensors_read(file, info->name, SPARC_F32, values, info->elements), SPARC_OK);
    sparc_tensor_source *s = &sources[tensors++];
    *s = (sparc_tensor_source){
        .name = info->name, .dtype = SPARC_F32, .in_type = SPARC_F32, .rank = info->rank, .data = values};
    memcpy(s->shape, info->shape, sizeof s->shape);
    if (!e->tensor || strcmp(e->tensor, info->name) != 0) continue;
    values[0] = e->first;
    if (e->dtype == SPARC_BF16) s->dtype = SPARC_BF16;
    if (e->longer) s->rank = 1, s->shape[0] = info->elements + e->longer;
  }
  bool replaced = !e->key;
  for (size_t i = 0; i < sparc_tensors_contents_of(file).metadata_count; i++) {
    metadata[entries] = sparc_tensors_contents_of(file).metadata[i];
    if (is_dropped(e, metadata[entries].key)) continue;
    if (e->key && strcmp(metadata[entries].key, e->key) == 0) metadata[entries].value = e->text, replaced = true;
    entries++;
  }
  if (!replaced) metadata[entries++] = (sparc_metadata){e->key, e->text};
  if (e->tensor && !sparc_tensors_find(file, e->tensor))
    sources[tensors++] = (sparc_tensor_source){
        .name = e->tensor, .dtype = SPARC_F32, .in_type = SPARC_F32, .rank = 1, .shape = {1}, .data = &e->first};
  if (sparc_tensors_save(in_folder("b"), sources, tensors, metadata, entries) != SPARC_OK)
    fail_msg("%s", sparc_error());
  sparc_tensors_free(file);
}

/* no trainer and, with model_too, no model is created, and the message names file and cause */
static void expect_refusal(toy *data, const char *message, bool model_too) {
  const sparc_samples samples = samples_of(data);
  sparc_trainer *trainer = (sparc_trainer *)data;
  if (sparc_trainer_load(in_folder("b"), &samples, NULL, 1, &trainer) != SPARC_FORMAT)
    fail_msg("a file that should give '%s' gives '%s'", message, trainer ? "a trainer" : sparc_error());
  assert_null(trainer);
  expect_message(message);
  expect_message(in_folder("b"));
  sparc_model *model = (sparc_model *)data;
  const sparc_status status = sparc_model_load(in_folder("b"), 1, &model);
  if (model_too) {
    assert_int_equal(status, SPARC_FORMAT);
    assert_null(model);
    expect_message(message);
  } else {
    if (status != SPARC_OK) fail_msg("%s", sparc_error());
    sparc_model_free(model);
  }
}

static void test_wrong_files(void **state) {
  (void)state;
  static const struct {
    edit edit;
    const char *message;
    bool model_too;
  } cases[] = {
      {{.drop = "head.bias"}, "tensor 'head.bias' is missing", true},
      {{.drop = "opt.v.head.bias"}, "tensor 'opt.v.head.bias' is missing", true},
      {{.drop = "opt."}, "holds weights without the optimiser's moments", false},
      {{.tensor = "head.bias", .longer = 1}, "tensor 'head.bias' is F32 [4], expected F32 [3]", true},
      {{.tensor = "head.weight", .longer = 0, .dtype = SPARC_BF16}, "is BF16 [3, 8], expected F32 [3, 8]", true},
      {{.tensor = "opt.m.head.bias", .longer = 2}, "tensor 'opt.m.head.bias' is F32 [5], expected F32 [3]", true},
      {{.tensor = "head.bias", .first = NAN}, "element 0 of tensor 'head.bias' is nan", true},
      {{.tensor = "embed.weight", .first = -INFINITY}, "element 0 of tensor 'embed.weight' is -inf", true},
      {{.tensor = "opt.m.head.bias", .first = INFINITY}, "element 0 of tensor 'opt.m.head.bias' is inf", false},
      {{.tensor = "opt.v.head.bias", .first = -1},
       "element 0 of tensor 'opt.v.head.bias' is -1, expected a finite",
       false},
      {{.tensor = "layers.2.norm.scale"}, "tensor 'layers.2.norm.scale' does not belong", true},
      {{.tensor = "opt.x"}, "tensor 'opt.x' does not belong", true},
      {{.drop = "format"}, "is not a checkpoint: its format is not given", true},
      {{.key = "format", .text = "pt"}, "is not a checkpoint: its format is pt", true},
      {{.key = "format_version", .text = "5"}, "has the checkpoint format 5; sparc", true},
      {{.key = "format_version", .text = "new"}, "format_version is 'new', expected a whole number", true},
      {{.drop = "train.rate"}, "metadata 'train.rate' is missing", true},
      {{.key = "train.rate", .text = "0,5"}, "metadata 'train.rate' is '0,5', expected a number", true},
      {{.key = "train.rate", .text = "nan"}, "metadata 'train.rate' is 'nan', expected a number", true},
      {{.key = "train.rate", .text = "-1"}, "not possible: learning_rate is -1", true},
      {{.key = "train.seed", .text = "-1"}, "metadata 'train.seed' is '-1'", true},
      {{.key = "train.batch", .text = "8x"}, "metadata 'train.batch' is '8x', expected a whole number", true},
      {{.key = "train.batch", .text = "0"}, "not possible: batch is 0", true},
      {{.key = "train.examples", .text = "0"}, "not possible: examples is 0", true},
      {{.key = "update", .text = "-3"}, "not possible: update is -3", true},
      {{.key = "update", .text = "99999999999999999999"}, "metadata 'update' is '99999999999999999999'", true},
      {{.key = "network.cell", .text = "lstm"}, "not possible: unknown cell kind 'lstm'", true},
      {{.key = "network.head", .text = "first"},
       "metadata 'network.head' is 'first', expected mean, last or steps",
       true},
      {{.key = "network.H", .text = "7"}, "expected F32 [7", true},
      {{.key = "network.width", .text = "100000"}, "expected F32 [100000", true},
      {{.key = "network.width", .text = "1000000"}, "sizes of its layout are out of range", true},
      {{.key = "network.outputs", .text = "4"}, "expected F32 [4", true},
      {{.key = "preprocessing.mean", .text = "1 2"}, "metadata 'preprocessing.deviation' is missing", true},
      {{.key = "preprocessing.mean", .text = "1"}, "number 1 of metadata 'preprocessing.mean' is ''", true},
      {{.key = "preprocessing.mean", .text = "1 2 3"}, "metadata 'preprocessing.mean' continues with ' 3'", true},
      {{.key = "preprocessing.mean", .text = "1 inf"}, "number 1 of metadata 'preprocessing.mean' is ' inf'", true},
      {{.key = "preprocessing.labels", .text = "[\"a\"]"}, "expected an array of 3 strings", true},
      {{.key = "preprocessing.labels", .text = "[\"a\",\"b\",3]"}, "item 2 of metadata", true},
      {{.key = "preprocessing.labels", .text = "a"}, "expected an array of 3 strings", true},
      {{.key = "preprocessing.channels", .text = "[\"a\",\"b\"]"}, "'preprocessing.rows' is missing", true},
  };
  toy data;
  fill(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  sparc_trainer *trainer = create(&config, &data);
  advance(trainer, 2);
  save(trainer, "a");
  sparc_trainer_free(trainer);
  rewrite(&(edit){.drop = NULL});
  expect_same_files("a", "b");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rewrite(&cases[i].edit);
    expect_refusal(&data, cases[i].message, cases[i].model_too);
  }
}

/* steps that only prepare the state: their targets change nothing, and the rest is measured as it is predicted */
static void test_context(void **state) {
  (void)state;
  static toy data;
  fill(&data);
  for (int i = 0; i < COUNT; i++) data.context[i] = i % 9;
  const sparc_samples samples = samples_of(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_STEPS);
  for (int other = 0; other < 2; other++) {
    for (int i = 0; i < COUNT && other; i++)
      for (int k = 0; k < data.context[i] * NUMBERS; k++) data.target[i][k] = 1000;
    sparc_trainer *trainer = create(&config, &data);
    advance(trainer, 5);
    save(trainer, other ? "b" : "a");
    const sparc_evaluation got = evaluate(trainer, &samples);
    sparc_trainer_free(trainer);
    static float outputs[COUNT][LONGEST * NUMBERS];
    sparc_model *model = load(other ? "b" : "a", 1);
    assert_int_equal(sparc_model_predict(model, &samples, outputs[0]), SPARC_OK);
    sparc_model_free(model);
    double sum = 0;
    size_t count = 0;
    for (int i = 0; i < COUNT; i++)
      for (int k = data.context[i] * NUMBERS; k < data.length[i] * NUMBERS; k++, count++) {
        const double error = (double)outputs[i][k] - (double)data.target[i][k];
        sum += error * error;
      }
    if (fabs(got.mse - sum / (double)count) > 1e-6 * got.mse)
      fail_msg("MSE %.9g, expected %.9g", got.mse, sum / (double)count);
  }
  expect_same_files("a", "b");
  data.context[3] = data.length[3];
  sparc_trainer *none;
  assert_int_equal(sparc_trainer_create(&config, &samples, &none), SPARC_INVALID);
  expect_message("example 3: context is");
  const sparc_train_config mean = toy_config(SPARC_HEAD_MEAN);
  assert_int_equal(sparc_trainer_create(&mean, &samples, &none), SPARC_INVALID);
  expect_message("example 1: context is 1, expected 0 to 0");
}

/* names of columns come back, and a file cannot make others of them */
static void test_columns(void **state) {
  (void)state;
  static char long_name[SPARC_COLUMN_NAME + 8], list[sizeof long_name + 16];
  memset(long_name, 'x', SPARC_COLUMN_NAME + 1);
  snprintf(list, sizeof list, "[\"%s\",\"b\"]", long_name);
  const struct {
    edit edit;
    const char *message;
  } cases[] = {
      {{.key = "preprocessing.rows", .text = "columns"}, "'preprocessing.rows' is 'columns', expected steps or series"},
      {{.key = "preprocessing.channels", .text = "[\"a\"]"}, "expected an array of 2 strings"},
      {{.key = "preprocessing.channels", .text = "{}"}, "expected an array of 2 strings"},
      {{.key = "preprocessing.channels", .text = "[\"a\",7]"}, "item 1 of metadata"},
      {{.key = "preprocessing.channels", .text = "[\"a\",\"a\"]"}, "a name twice"},
      {{.key = "preprocessing.channels", .text = "[\"a\",\"\"]"}, "columns.channel 1 is ''"},
      {{.key = "preprocessing.channels", .text = list}, "columns.channel 0 is 'xxx"},
      {{.key = "preprocessing.ignored", .text = "[]"}, "expected an array of strings"},
      {{.key = "preprocessing.values", .text = "[\"a\",\"b\"]"}, "columns.values is 2, expected 0 where channels have"},
      {{.key = "preprocessing.values", .text = "[]"}, "expected an array of strings"},
      {{.key = "preprocessing.time_column", .text = ""}, "columns.time 0 is ''"},
      {{.key = "preprocessing.label_column", .text = long_name}, "columns.label 0 is 'xxx"},
  };
  toy data;
  fill(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  sparc_trainer *trainer = create(&config, &data);
  const char *const names[] = {"speed", "\xc3\xa9\x1b[31m"}, *const ignored[] = {"note"};
  const sparc_columns columns = {
      .channels = 2, .channel = names, .ignored = 1, .ignore = ignored, .id = "subject", .time = "hour", .steps = 1};
  if (sparc_trainer_save(trainer, &(sparc_preprocessing){.columns = &columns}, NULL, 0, in_folder("a")) != SPARC_OK)
    fail_msg("%s", sparc_error());
  const sparc_columns wrong = {.channels = 1, .channel = names};
  assert_int_equal(sparc_trainer_save(trainer, &(sparc_preprocessing){.columns = &wrong}, NULL, 0, in_folder("c")),
                   SPARC_INVALID);
  expect_message("columns.channels is 1, expected 0 or 2");
  /* values of a row that is a series, of two channels */
  const char *const value[] = {"p", "q", "r", "s", "r"};
  sparc_columns values = {.values = 4, .value = value, .label = "k"};
  if (sparc_trainer_save(trainer, &(sparc_preprocessing){.columns = &values}, NULL, 0, in_folder("v")) != SPARC_OK)
    fail_msg("%s", sparc_error());
  values.values = 3;
  assert_int_equal(sparc_trainer_save(trainer, &(sparc_preprocessing){.columns = &values}, NULL, 0, in_folder("c")),
                   SPARC_INVALID);
  expect_message("columns.values is 3, expected a multiple of 2");
  values.values = 4;
  values.value = value + 1;
  assert_int_equal(sparc_trainer_save(trainer, &(sparc_preprocessing){.columns = &values}, NULL, 0, in_folder("c")),
                   SPARC_INVALID);
  expect_message("columns.value has a name twice");
  sparc_trainer_free(trainer);
  sparc_model *rows = load("v", 1);
  assert_int_equal(sparc_model_info_of(rows).preprocessing->columns->values, 4);
  for (int i = 0; i < 4; i++) assert_string_equal(sparc_model_info_of(rows).preprocessing->columns->value[i], value[i]);
  assert_int_equal(sparc_model_info_of(rows).preprocessing->columns->channels, 0);
  sparc_model_free(rows);
  sparc_model *model = load("a", 1);
  const sparc_columns *stored = sparc_model_info_of(model).preprocessing->columns;
  assert_non_null(stored);
  assert_int_equal(stored->channels, 2);
  for (int i = 0; i < 2; i++) assert_string_equal(stored->channel[i], names[i]);
  assert_int_equal(stored->ignored, 1);
  assert_string_equal(stored->ignore[0], "note");
  assert_string_equal(stored->id, "subject");
  assert_string_equal(stored->time, "hour");
  assert_null(stored->label);
  assert_int_equal(stored->steps, 1);
  sparc_model_free(model);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rewrite(&cases[i].edit);
    expect_refusal(&data, cases[i].message, true);
  }
}

static void test_truncated_files(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  sparc_trainer *trainer = create(&config, &data);
  save(trainer, "a");
  sparc_trainer_free(trainer);
  size_t size;
  char *bytes = contents("a", &size);
  for (size_t cut = 0; cut < size; cut += cut < 16 ? 1 : size / 23) {
    FILE *file = fopen(in_folder("b"), "wb");
    assert_int_equal(fwrite(bytes, 1, cut, file), cut);
    fclose(file);
    expect_refusal(&data, "", true);
  }
  free(bytes);
  sparc_model *model;
  assert_int_equal(sparc_model_load("/nonexistent/model", 1, &model), SPARC_IO);
  assert_null(model);
}

/* a file that cannot be replaced stays, and so does the trainer */
static void test_refused_saves(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  sparc_trainer *trainer = create(&config, &data);
  save(trainer, "a");
  const double mean[] = {0, 0}, stddev[] = {1, 0};
  const char *const labels[] = {"a", NULL, "c"}, *const garbage[] = {"a", "b", "\xff"};
  const struct {
    sparc_preprocessing preprocessing;
    sparc_metadata extra;
    const char *message;
  } cases[] = {
      {{.channels = 1, .mean = mean, .stddev = stddev}, {"k", "v"}, "preprocessing.channels is 1"},
      {{.channels = 2, .mean = mean}, {"k", "v"}, "preprocessing.stddev is NULL"},
      {{.channels = 2, .mean = mean, .stddev = stddev}, {"k", "v"}, "channel 1 has mean 0 and stddev 0"},
      {{.classes = 2, .labels = labels},
       {"k", "v"},
       "preprocessing.classes is 2, expected 0 or the network's 3 classes"},
      {{.classes = 3, .labels = labels}, {"k", "v"}, "preprocessing.labels[1] is NULL"},
      {{.classes = 3}, {"k", "v"}, "preprocessing.labels is NULL"},
      {{.classes = 3, .labels = garbage}, {"k", "v"}, "preprocessing.labels[2] is not UTF-8"},
      {{.classes = 0}, {"train.rate", "v"}, "extra[0].key is 'train.rate', which a checkpoint uses itself"},
      {{.classes = 0}, {"preprocessing.data", "v"}, "which a checkpoint uses itself"},
      {{.classes = 0}, {NULL, "v"}, "extra[0].key is NULL"},
      {{.classes = 0}, {"k", NULL}, "extra[0].value is NULL"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const sparc_preprocessing *p = &cases[i].preprocessing;
    assert_int_equal(sparc_trainer_save(trainer, p, &cases[i].extra, 1, in_folder("a")), SPARC_INVALID);
    expect_message(cases[i].message);
  }
  assert_int_equal(sparc_trainer_save(trainer, NULL, NULL, 0, "/nonexistent/x"), SPARC_IO);
  save(trainer, "b");
  expect_same_files("a", "b");
  sparc_trainer_free(trainer);
}

/* ---- wrong numbers ----------------------------------------------------------------------------- */

/* the update fails with the message and leaves the trainer as it was */
static void expect_not_finite(sparc_trainer *trainer, const char *message) {
  const sparc_network *network = sparc_trainer_info_of(trainer).network;
  const size_t bytes = sparc_network_sizes_of(network).params * sizeof(float);
  const long done = sparc_trainer_info_of(trainer).updates;
  float *before = sparc_alloc(bytes);
  memcpy(before, sparc_trainer_info_of(trainer).params, bytes);
  save(trainer, "a");
  sparc_update_report report = {.update = -1};
  if (sparc_trainer_update(trainer, &report) != SPARC_NOT_FINITE) fail_msg("no '%s': %s", message, sparc_error());
  expect_message(message);
  assert_int_equal(report.update, -1);
  assert_int_equal(sparc_trainer_info_of(trainer).updates, done);
  assert_memory_equal(before, sparc_trainer_info_of(trainer).params, bytes);
  save(trainer, "b");
  expect_same_files("a", "b");
  sparc_free(before);
}

/* the last error message names exactly one block of the network, as "PREFIX NAME SUFFIX" */
static void expect_block(const sparc_trainer *trainer, const char *prefix, const char *suffix) {
  size_t blocks, named = 0;
  const sparc_block *block = sparc_network_blocks(sparc_trainer_info_of(trainer).network, &blocks);
  for (size_t b = 0; b < blocks; b++) {
    char text[192];
    snprintf(text, sizeof text, "%s%s%s", prefix, block[b].name, suffix);
    const char *at = strstr(sparc_error(), text);
    named += at && (*suffix || !at[strlen(text)]);
  }
  if (named != 1) fail_msg("%zu blocks are named in '%s'", named, sparc_error());
}

static void test_loss_that_is_not_finite(void **state) {
  (void)state;
  toy data;
  fill(&data);
  for (int i = 0; i < COUNT; i++) data.x[i][3] = 3e38F; /* too large for the embedding */
  const sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  sparc_trainer *trainer = create(&config, &data);
  expect_not_finite(trainer, "the loss of update 1 is ");
  expect_message(": output 0 of step 0 is ");
  expect_message("; the largest weight is ");
  expect_block(trainer, ", in ", "");
  const sparc_samples samples = samples_of(&data);
  sparc_evaluation evaluation;
  assert_int_equal(sparc_trainer_evaluate(trainer, &samples, &evaluation), SPARC_NOT_FINITE);
  expect_message("the evaluation after update 0: example 0: output 0 of step 0 is ");
  expect_block(trainer, ", in ", "");
  sparc_trainer_free(trainer);
}

static void test_gradient_that_is_not_finite(void **state) {
  (void)state;
  toy data;
  fill(&data);
  sparc_train_config config = toy_config(SPARC_HEAD_STEPS);
  sparc_trainer *trainer = create(&config, &data);
  advance(trainer, 3);
  for (int i = 0; i < COUNT; i++)
    for (int j = 0; j < LONGEST * NUMBERS; j++) data.target[i][j] = 3e38F;
  expect_not_finite(trainer, "is not finite at update 4");
  expect_block(trainer, "the gradient of ", " is not finite");
  sparc_trainer_free(trainer);

  /* finite, but its square is not */
  config.max_gradient_norm = 0;
  for (int i = 0; i < COUNT; i++)
    for (int j = 0; j < LONGEST * NUMBERS; j++) data.target[i][j] = 1e25F;
  trainer = create(&config, &data);
  expect_not_finite(trainer, "the gradient of update 1 has the norm ");
  expect_block(trainer, ", in ", "; clip it");
  sparc_trainer_free(trainer);
}

/* inputs and targets are 0, so all gradients are 0. But a huge decay times learning rate multiplies the weights
 * by -1e12 at each update until they overflow. */
static void test_parameters_that_are_not_finite(void **state) {
  (void)state;
  toy data;
  fill(&data);
  memset(data.x, 0, sizeof data.x);
  memset(data.target, 0, sizeof data.target);
  sparc_train_config config = toy_config(SPARC_HEAD_STEPS);
  config.network.embedding = SPARC_EMBED_NONE;
  config.network.layers = config.network.width = 0;
  config.network.dropout = 0;
  config.cosine = 0;
  config.learning_rate = config.weight_decay = 1e6;
  config.recurrent_lr_scale = 0;
  sparc_trainer *trainer = create(&config, &data);
  advance(trainer, 3);
  expect_not_finite(trainer, "update 4 leads to impossible parameters: params: element 0 of head.weight is");
  sparc_trainer_free(trainer);
}

/* ---- wrong arguments --------------------------------------------------------------------------- */

static void test_impossible_settings(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_samples samples = samples_of(&data);
  const sparc_train_config good = toy_config(SPARC_HEAD_MEAN);
  struct {
    sparc_train_config config;
    const char *message;
  } cases[] = {{good, "batch is 0"},
               {good, "updates is 0"},
               {good, "warmup is 101"},
               {good, "cosine is 2"},
               {good, "threads is -1"},
               {good, "rate is -0.5"},
               {good, "rate is nan"},
               {good, "min_learning_rate is 1"},
               {good, "max_gradient_norm is inf"},
               {good, "recurrent_lr_scale is -1"},
               {good, "weight_decay is -1"},
               {good, "width is 0"},
               {good, "unknown cell kind"},
               {good, "class_weights is 2, expected none or balanced"}};
  cases[0].config.batch = 0;
  cases[1].config.updates = 0;
  cases[2].config.warmup = 101;
  cases[3].config.cosine = 2;
  cases[4].config.threads = -1;
  cases[5].config.learning_rate = -0.5;
  cases[6].config.learning_rate = NAN;
  cases[7].config.min_learning_rate = 1;
  cases[8].config.max_gradient_norm = INFINITY;
  cases[9].config.recurrent_lr_scale = -1;
  cases[10].config.weight_decay = -1;
  cases[11].config.network.width = 0;
  cases[12].config.network.cell = "spark";
  cases[13].config.class_weights = 2;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_trainer *trainer = (sparc_trainer *)&data;
    assert_int_equal(sparc_trainer_create(&cases[i].config, &samples, &trainer), SPARC_INVALID);
    assert_null(trainer);
    expect_message(cases[i].message);
  }
}

static void expect_bad_samples(const sparc_samples *samples, sparc_head_input head, sparc_status want,
                               const char *message) {
  const sparc_train_config config = toy_config(head);
  sparc_trainer *trainer = (sparc_trainer *)&config;
  assert_int_equal(sparc_trainer_create(&config, samples, &trainer), want);
  assert_null(trainer);
  expect_message(message);
}

static sparc_sample sample_without_target(const void *source, int index) {
  sparc_sample sample = toy_sample(source, index);
  sample.target = NULL;
  return sample;
}

static sparc_sample sample_without_values(const void *source, int index) {
  sparc_sample sample = toy_sample(source, index);
  if (index == 2) sample.x = NULL;
  return sample;
}

static void test_impossible_samples(void **state) {
  (void)state;
  toy data;
  fill(&data);
  const sparc_samples good = samples_of(&data);
  sparc_samples bad = good;
  expect_bad_samples(NULL, SPARC_HEAD_MEAN, SPARC_INVALID, "samples is NULL");
  bad.at = NULL;
  expect_bad_samples(&bad, SPARC_HEAD_MEAN, SPARC_INVALID, "samples.at is NULL");
  bad = good, bad.count = 0;
  expect_bad_samples(&bad, SPARC_HEAD_MEAN, SPARC_INVALID, "samples.count is 0");
  bad = good, bad.channels = 3;
  expect_bad_samples(&bad, SPARC_HEAD_MEAN, SPARC_INVALID, "samples.channels is 3, the network has 2 inputs");
  bad = good, bad.longest = 19;
  expect_bad_samples(&bad, SPARC_HEAD_MEAN, SPARC_INVALID, "example 0: length is 20, expected 1 to 19");
  bad = good, bad.at = sample_without_target;
  expect_bad_samples(&bad, SPARC_HEAD_STEPS, SPARC_INVALID, "example 0: target is NULL");
  bad = good, bad.at = sample_without_values;
  expect_bad_samples(&bad, SPARC_HEAD_MEAN, SPARC_INVALID, "example 2: x is NULL");
  data.label[4] = CLASSES;
  expect_bad_samples(&good, SPARC_HEAD_MEAN, SPARC_INVALID, "example 4: label is 3, expected 0 to 2");
  data.label[4] = 0;
  data.x[5][7] = NAN;
  expect_bad_samples(&good, SPARC_HEAD_MEAN, SPARC_NOT_FINITE, "example 5: channel 1 of step 3 is nan");
  data.x[5][7] = 0;
  data.target[6][2] = INFINITY;
  expect_bad_samples(&good, SPARC_HEAD_STEPS, SPARC_NOT_FINITE, "example 6: target 0 of step 1 is inf");
  bad = sparc_samples_of_dataset(NULL);
  assert_int_equal(bad.count, 0);
  bad = sparc_samples_of_task(NULL, 0);
  assert_int_equal(bad.count, 0);

  /* a checkpoint stores the number of examples */
  const sparc_train_config config = toy_config(SPARC_HEAD_MEAN);
  sparc_trainer *trainer = create(&config, &data);
  save(trainer, "a");
  sparc_trainer_free(trainer);
  bad = good, bad.count = COUNT - 1;
  assert_int_equal(sparc_trainer_load(in_folder("a"), &bad, NULL, 1, &trainer), SPARC_INVALID);
  assert_null(trainer);
  expect_message("samples.count is 22");
  expect_message("was trained on 23 examples");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_learns),
      cmocka_unit_test(test_schedule_and_settings),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_generated_tasks),
      cmocka_unit_test(test_batches_cover_epochs),
      cmocka_unit_test(test_runs_repeat),
      cmocka_unit_test(test_restored_runs_continue),
      cmocka_unit_test(test_evaluation_changes_nothing),
      cmocka_unit_test(test_model_predicts_classes),
      cmocka_unit_test(test_networks_as_models),
      cmocka_unit_test(test_model_predicts_numbers),
      cmocka_unit_test(test_model_steps),
      cmocka_unit_test(test_preprocessing),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_context),
      cmocka_unit_test(test_every_setting_comes_back),
      cmocka_unit_test(test_first_format),
      cmocka_unit_test(test_locale),
      cmocka_unit_test(test_wrong_files),
      cmocka_unit_test(test_truncated_files),
      cmocka_unit_test(test_refused_saves),
      cmocka_unit_test(test_loss_that_is_not_finite),
      cmocka_unit_test(test_gradient_that_is_not_finite),
      cmocka_unit_test(test_parameters_that_are_not_finite),
      cmocka_unit_test(test_impossible_settings),
      cmocka_unit_test(test_impossible_samples),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
