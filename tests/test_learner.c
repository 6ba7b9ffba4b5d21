/* SPDX-License-Identifier: MIT */
/* test_learner.c: online learners: gradients are those of the whole stream, a horizon only delays them, files continue
 * bit-exactly and are models, sequences are independent, and errors. */
#include "base/random.h"
#include "nn/optimiser.h"
#include "online/learner.h"
#include "scratch.h"
#include "sparc/model.h"
#include "sparc/random.h"
#include "sparc/tasks.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { INPUTS = 3, OUTPUTS = 2, CLASSES = 3, STEPS = 60 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct stream {
  float x[STEPS][INPUTS], target[STEPS][OUTPUTS];
  int label[STEPS];
} stream;

static stream make_stream(uint64_t seed) {
  stream s;
  sparc_random random;
  sparc_random_init(&random, seed, "test", "learner");
  random_fill_normal(&random, s.x[0], STEPS * INPUTS, 1);
  for (int t = 0; t < STEPS; t++) {
    for (int i = 0; i < INPUTS; i++) s.x[t][i] += (float)(2 * i);
    s.target[t][0] = 0.5f * (t > 0 ? s.target[t - 1][0] : 0) + s.x[t][0];
    s.target[t][1] = t >= 3 ? s.x[t - 3][1] : 0;
    s.label[t] = t >= 2 ? (int)(fabsf(s.x[t - 2][2]) * 10) % CLASSES : 0;
  }
  return s;
}

static sparc_learner_config small(const char *cell, sparc_learner_objective objective, int horizon) {
  sparc_learner_config c = sparc_learner_defaults();
  c.network.cell = cell;
  c.network.H = 8;
  c.network.inputs = INPUTS;
  c.objective = objective;
  c.outputs = objective == SPARC_LEARN_CLASSIFY ? CLASSES : objective == SPARC_LEARN_FORECAST ? 0 : OUTPUTS;
  c.horizon = horizon;
  c.seed = 3;
  c.forecaster = SPARC_FORECAST_NETWORK;
  return c;
}

static sparc_learner *create(const sparc_learner_config *c) {
  sparc_learner *l;
  if (sparc_learner_create(c, &l) != SPARC_OK) fail_msg("no learner: %s", sparc_error());
  return l;
}

/* step t, and the target that is known then */
static void feed(sparc_learner *l, const stream *s, int t, float *y) {
  const sparc_learner_config c = *sparc_learner_info_of(l).config;
  assert_int_equal(sparc_learner_step(l, s->x[t], y), SPARC_OK);
  if (c.objective == SPARC_LEARN_FORECAST || t < c.horizon) return;
  const sparc_status status = c.objective == SPARC_LEARN_CLASSIFY
                                  ? sparc_learner_observe_class(l, s->label[t - c.horizon])
                                  : sparc_learner_observe(l, s->target[t - c.horizon]);
  if (status != SPARC_OK) fail_msg("step %d: %s", t, sparc_error());
}

/* ---- gradients ------------------------------------------------------------------------------------- */

/* gradient of the loss of all targets by BPTT through the whole stream; the caller frees it */
static float *whole_gradient(const sparc_learner *l, const float *x, const float *target, const int *label, int T,
                             int targets) {
  const sparc_learner_config c = *sparc_learner_info_of(l).config;
  const bool classes = c.objective == SPARC_LEARN_CLASSIFY;
  /* a head on the last step has one output a sequence: the same weights, read at every step */
  sparc_head_config head = *c.network.head;
  head.input = SPARC_HEAD_STEPS;
  sparc_network_config config = c.network;
  config.head = &head;
  sparc_network *network;
  sparc_network_plan *plan;
  assert_int_equal(sparc_network_create(&config, &network), SPARC_OK);
  assert_int_equal(sparc_network_plan_create(network, 1, T, 1, &plan), SPARC_OK);
  const sparc_network_sizes n = sparc_network_sizes_of(network);
  const int K = head.outputs;
  float *prepared = sparc_alloc(n.prepared * sizeof *prepared), *gradient = sparc_alloc(n.params * sizeof *gradient);
  float *y = sparc_alloc((size_t)(T * K) * sizeof *y), *dy = sparc_alloc((size_t)(T * K) * sizeof *dy);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT32));
  assert_true(prepared && gradient && y && dy && work);
  assert_int_equal(sparc_network_prepare(network, sparc_learner_info_of(l).params, prepared), SPARC_OK);
  const sparc_network_sequence sequence = {.x = x, .outputs = &y};
  assert_int_equal(sparc_network_forward(plan, prepared, &sequence, work), SPARC_OK);
  for (int t = 0; t < targets; t++) {
    double sum = 0;
    for (int k = 0; k < K; k++) sum += exp((double)y[t * K + k]);
    for (int k = 0; k < K; k++) {
      const double value = y[t * K + k];
      dy[t * K + k] = (float)(classes ? exp(value) / sum - (k == label[t]) : 2 * (value - target[t * K + k]) / K);
    }
  }
  const float *const dys[] = {dy};
  const sparc_network_gradient g = {.doutputs = dys, .dparams = gradient};
  assert_int_equal(sparc_network_backward(plan, prepared, &sequence, &g, work), SPARC_OK);
  sparc_free(prepared);
  sparc_free(y);
  sparc_free(dy);
  sparc_free(work);
  sparc_network_plan_free(plan);
  sparc_network_free(network);
  return gradient;
}

static void expect_same_gradient(const char *what, const float *got, const float *expected, size_t n) {
  double error = 0, scale = 0;
  for (size_t i = 0; i < n; i++) {
    error = fmax(error, fabs((double)got[i] - (double)expected[i]));
    scale = fmax(scale, fabs((double)expected[i]));
  }
  if (!(error <= 1e-5 * scale) || scale == 0) fail_msg("%s: gradients differ by %g of %g", what, error, scale);
}

/* without updates the gradients of all targets add up */
static void check_gradient(const char *cell, sparc_learner_objective objective, int horizon,
                           sparc_embedding embedding) {
  const stream s = make_stream(1);
  sparc_learner_config c = small(cell, objective, horizon);
  c.update_every = 2 * STEPS;
  c.normalise = 0;
  c.hidden = horizon ? 5 : 0;
  c.network.embedding = embedding;
  c.network.width = embedding == SPARC_EMBED_NONE ? 0 : 6;
  sparc_learner *l = create(&c);
  for (int t = 0; t < STEPS; t++) feed(l, &s, t, NULL);

  /* forecasts: changes, as in the input of the network */
  float x[STEPS][INPUTS], change[STEPS][INPUTS] = {{0}};
  memcpy(x, s.x, sizeof x);
  const int targets = STEPS - horizon;
  for (int t = 0; objective == SPARC_LEARN_FORECAST && t < STEPS; t++)
    for (int i = 0; i < INPUTS; i++) {
      x[t][i] = t ? s.x[t][i] - s.x[t - 1][i] : 0;
      if (t < targets) change[t][i] = s.x[t + horizon][i] - s.x[t][i];
    }
  float *expected =
      whole_gradient(l, x[0], objective == SPARC_LEARN_FORECAST ? change[0] : s.target[0], s.label, STEPS, targets);
  char what[96];
  snprintf(what, sizeof what, "%s, objective %d, horizon %d, embedding %d", cell, objective, horizon, embedding);
  assert_int_equal(sparc_learner_report_of(l).targets, targets);
  expect_same_gradient(what, l->gradient, expected, l->n.params);
  sparc_free(expected);
  sparc_learner_free(l);
}

static void gradients_are_those_of_the_whole_stream(void **state) {
  (void)state;
  int cells = 0;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    const sparc_learner_config c = small(*kind, SPARC_LEARN_REGRESS, 0);
    sparc_learner *l;
    const sparc_status status = sparc_learner_create(&c, &l);
    sparc_learner_free(l);
    if (status == SPARC_UNSUPPORTED) continue;
    cells++;
    check_gradient(*kind, SPARC_LEARN_REGRESS, 0, SPARC_EMBED_NONE);
    check_gradient(*kind, SPARC_LEARN_REGRESS, 4, SPARC_EMBED_TANH);
    check_gradient(*kind, SPARC_LEARN_CLASSIFY, 0, SPARC_EMBED_LINEAR);
    check_gradient(*kind, SPARC_LEARN_CLASSIFY, 3, SPARC_EMBED_NONE);
    check_gradient(*kind, SPARC_LEARN_FORECAST, 1, SPARC_EMBED_NONE);
    check_gradient(*kind, SPARC_LEARN_FORECAST, 5, SPARC_EMBED_TANH);
  }
  assert_true(cells >= 5);
}

static void an_update_is_one_of_adam(void **state) {
  (void)state;
  const stream s = make_stream(2);
  sparc_learner_config c = small("sparc", SPARC_LEARN_REGRESS, 0);
  c.update_every = 4;
  c.weight_decay = 0.01;
  c.recurrent_lr_scale = 0.5;
  sparc_learner *l = create(&c);
  const size_t P = l->n.params;
  float *params = sparc_alloc(P * sizeof *params), *gradient = sparc_alloc(P * sizeof *gradient);
  float *moments = sparc_alloc(2 * P * sizeof *moments);
  assert_true(params && gradient && moments);
  for (int t = 0; t < 3; t++) feed(l, &s, t, NULL);
  memcpy(params, l->params, P * sizeof *params);
  assert_int_equal(sparc_learner_report_of(l).updates, 0);
  /* a twin with a longer update interval has the gradient of the fourth target */
  sparc_learner_config patient = c;
  patient.update_every = 5;
  sparc_learner *twin = create(&patient);
  for (int t = 0; t < 4; t++) feed(twin, &s, t, NULL);
  for (size_t i = 0; i < P; i++) gradient[i] = twin->gradient[i] / 4;
  feed(l, &s, 3, NULL);
  size_t count;
  const sparc_span *spans = sparc_network_spans(l->network, &count);
  sparc_adam_config adam = sparc_adam_defaults();
  adam.weight_decay = c.weight_decay;
  adam.recurrent_lr_scale = c.recurrent_lr_scale;
  const double norm = gradient_clip_f32(spans, count, P, 1, c.max_gradient_norm, gradient);
  assert_int_equal(sparc_adam_update(&adam, spans, count, P, 1, 1, c.learning_rate, gradient, moments, params),
                   SPARC_OK);
  assert_memory_equal(l->params, params, P * sizeof *params);
  const sparc_learner_report report = sparc_learner_report_of(l);
  assert_int_equal(report.updates, 1);
  assert_true(report.gradient_norm == norm && norm > 0);
  sparc_free(params);
  sparc_free(gradient);
  sparc_free(moments);
  sparc_learner_free(l);
  sparc_learner_free(twin);
}

/* ---- learning -------------------------------------------------------------------------------------- */

/* mean losses of the learner and of the baseline over the last `last` of n steps of a wave that changes its pitch
 * half way */
static void forecast_wave(const sparc_learner_config *config, int n, int last, double *loss, double *baseline) {
  sparc_learner_config c = *config;
  sparc_learner *l = create(&c);
  double phase = 0;
  *loss = *baseline = 0;
  for (int t = 0; t < n; t++) {
    phase += t < n / 2 ? 0.3 : 0.5;
    const float x = (float)(100 + 0.01 * t + sin(phase) + 0.5 * sin(2 * phase));
    float y;
    assert_int_equal(sparc_learner_step(l, &x, &y), SPARC_OK);
    const sparc_learner_report r = sparc_learner_report_of(l);
    if (t < n - last) continue;
    assert_int_equal(r.scored, 1);
    *loss += r.loss / last;
    *baseline += r.baseline / last;
  }
  sparc_learner_free(l);
}

/* twelve seeds with two sets of kernels end at 0.011 of the baseline error at most, and at 0.003 in the mean */
static void streams_that_change_are_learned_again(void **state) {
  (void)state;
  for (int horizon = 1; horizon <= 5; horizon += 4) {
    sparc_learner_config c = small("sparc", SPARC_LEARN_FORECAST, horizon);
    c.network.inputs = 1;
    c.network.H = 16;
    double loss, baseline;
    forecast_wave(&c, 8000, 1000, &loss, &baseline);
    if (!(loss < 0.05 * baseline)) fail_msg("horizon %d: error %g, baseline %g", horizon, loss, baseline);
  }
}

static void numbers_and_classes_are_learned(void **state) {
  (void)state;
  sparc_random random;
  for (int classes = 0; classes < 2; classes++) {
    sparc_learner_config c = small("sparc", classes ? SPARC_LEARN_CLASSIFY : SPARC_LEARN_REGRESS, 0);
    c.network.inputs = 1;
    c.network.H = 32;
    c.outputs = classes ? 2 : 1;
    sparc_learner *l = create(&c);
    sparc_random_init(&random, 5, "test", "echo");
    enum { N = 6000, LAST = 500, LAG = 4 };
    float past[LAG + 1] = {0};
    double loss = 0, baseline = 0, accuracy = 0;
    for (int t = 0; t < N; t++) {
      memmove(past + 1, past, LAG * sizeof *past);
      random_fill_normal(&random, past, 1, 1);
      assert_int_equal(sparc_learner_step(l, past, NULL), SPARC_OK);
      assert_int_equal(classes ? sparc_learner_observe_class(l, past[LAG] > 0) : sparc_learner_observe(l, &past[LAG]),
                       SPARC_OK);
      const sparc_learner_report r = sparc_learner_report_of(l);
      if (t < N - LAST) continue;
      loss += r.loss / LAST;
      baseline += r.baseline / LAST;
      accuracy += (double)r.correct / LAST;
    }
    if (classes ? !(accuracy > 0.9) : !(loss < 0.2 * baseline))
      fail_msg("%s: loss %g, baseline %g, accuracy %g", classes ? "classes" : "numbers", loss, baseline, accuracy);
    sparc_learner_free(l);
  }
}

static void a_frozen_learner_learns_nothing(void **state) {
  (void)state;
  const stream s = make_stream(4);
  for (int objective = SPARC_LEARN_REGRESS; objective <= SPARC_LEARN_FORECAST; objective++) {
    const sparc_learner_config c =
        small("sparc", (sparc_learner_objective)objective, objective == SPARC_LEARN_FORECAST);
    sparc_learner *l = create(&c);
    for (int t = 0; t < 20; t++) feed(l, &s, t, NULL);
    const long updates = sparc_learner_report_of(l).updates;
    float *params = sparc_alloc(l->n.params * sizeof *params);
    memcpy(params, l->params, l->n.params * sizeof *params);
    const running_moments moments = l->input_moments[1];
    assert_int_equal(sparc_learner_freeze(l, 1), SPARC_OK);
    for (int t = 20; t < 40; t++) feed(l, &s, t, NULL);
    assert_memory_equal(l->params, params, l->n.params * sizeof *params);
    assert_memory_equal(&moments, &l->input_moments[1], sizeof moments);
    assert_int_equal(sparc_learner_report_of(l).updates, updates);
    assert_int_equal(sparc_learner_report_of(l).scored, 1);
    assert_int_equal(sparc_learner_freeze(l, 0), SPARC_OK);
    for (int t = 40; t < 45; t++) feed(l, &s, t, NULL);
    assert_int_equal(sparc_learner_report_of(l).updates, updates + 5);
    sparc_free(params);
    sparc_learner_free(l);
  }
}

/* ---- sequences ------------------------------------------------------------------------------------- */

/* without learning and moments only the state is carried over */
static void sequences_are_independent(void **state) {
  (void)state;
  const stream s = make_stream(6), other = make_stream(7);
  for (int horizon = 0; horizon < 4; horizon += 3) {
    for (int forecast = 0; forecast < 2; forecast++) {
      sparc_learner_config c =
          small("sparc", forecast ? SPARC_LEARN_FORECAST : SPARC_LEARN_REGRESS, horizon + forecast);
      c.update_every = 2 * STEPS;
      c.normalise = 0;
      sparc_learner *fresh = create(&c), *used = create(&c);
      for (int t = 0; t < 30; t++) feed(used, &other, t, NULL);
      assert_int_equal(sparc_learner_reset_state(used), SPARC_OK);
      for (int t = 0; t < 30; t++) {
        float y[INPUTS], z[INPUTS];
        assert_int_equal(sparc_learner_step(fresh, s.x[t], y), SPARC_OK);
        assert_int_equal(sparc_learner_step(used, s.x[t], z), SPARC_OK);
        assert_memory_equal(y, z, fresh->outputs * sizeof *y);
        /* the first inputs of a sequence are not targets of the previous one */
        assert_int_equal(sparc_learner_report_of(used).scored, sparc_learner_report_of(fresh).scored);
      }
      sparc_learner_free(fresh);
      sparc_learner_free(used);
    }
  }
}

/* missing targets are skipped, for any horizon */
static void targets_may_be_missing(void **state) {
  (void)state;
  const stream s = make_stream(8);
  float *gradient[2];
  for (int i = 0; i < 2; i++) {
    sparc_learner_config c = small("rtu", SPARC_LEARN_REGRESS, i * 3);
    c.update_every = 2 * STEPS;
    c.normalise = 0;
    sparc_learner *l = create(&c);
    for (int t = 0; t < STEPS; t++) {
      const int step = t - c.horizon;
      assert_int_equal(sparc_learner_step(l, s.x[t], NULL), SPARC_OK);
      if (step >= 0 && step % 5 == 2 && step < STEPS - 4)
        assert_int_equal(sparc_learner_observe(l, s.target[step]), SPARC_OK);
    }
    gradient[i] = sparc_alloc(l->n.params * sizeof *gradient[i]);
    memcpy(gradient[i], l->gradient, l->n.params * sizeof *gradient[i]);
    if (i == 1) expect_same_gradient("observed at once and three steps later", gradient[1], gradient[0], l->n.params);
    sparc_learner_free(l);
  }
  sparc_free(gradient[0]);
  sparc_free(gradient[1]);
}

/* ---- files ----------------------------------------------------------------------------------------- */

static size_t read_bytes(const char *path, char *bytes, size_t most) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, most, file);
  fclose(file);
  assert_true(size > 0 && size < most);
  return size;
}

static void expect_equal_files(const char *a, const char *b) {
  enum { MOST = 1 << 20 };
  char *x = malloc(MOST), *y = malloc(MOST);
  const size_t size = read_bytes(a, x, MOST);
  assert_int_equal(read_bytes(b, y, MOST), size);
  assert_memory_equal(x, y, size);
  free(x);
  free(y);
}

static sparc_learner *pass_through_file(sparc_learner *l) {
  sparc_learner *restored;
  assert_int_equal(sparc_learner_save(l, NULL, NULL, 0, in_folder("learner")), SPARC_OK);
  sparc_learner_free(l);
  if (sparc_learner_load(in_folder("learner"), &restored) != SPARC_OK) fail_msg("%s", sparc_error());
  return restored;
}

/* saves between any two calls, also before the target of a step is observed */
static void check_files(const sparc_learner_config *c) {
  const stream s = make_stream(9);
  sparc_learner *whole = create(c), *parts = create(c);
  for (int t = 0; t < STEPS; t++) {
    float y[2 * INPUTS], z[2 * INPUTS]; /* two horizons at most */
    if (t == 40) {
      assert_int_equal(sparc_learner_reset_state(whole), SPARC_OK);
      assert_int_equal(sparc_learner_reset_state(parts), SPARC_OK);
    }
    if (t % 7 == 0) parts = pass_through_file(parts);
    feed(whole, &s, t, y);
    if (c->objective == SPARC_LEARN_REGRESS && t >= c->horizon) {
      assert_int_equal(sparc_learner_step(parts, s.x[t], z), SPARC_OK);
      if (t % 5 == 0) parts = pass_through_file(parts);
      assert_int_equal(sparc_learner_observe(parts, s.target[t - c->horizon]), SPARC_OK);
    } else {
      feed(parts, &s, t, z);
    }
    assert_memory_equal(y, z, whole->outputs * sizeof *y);
  }
  assert_int_equal(sparc_learner_save(whole, NULL, NULL, 0, in_folder("whole")), SPARC_OK);
  assert_int_equal(sparc_learner_save(parts, NULL, NULL, 0, in_folder("parts")), SPARC_OK);
  expect_equal_files(in_folder("whole"), in_folder("parts"));
  sparc_learner_free(whole);
  sparc_learner_free(parts);
}

static void files_continue_bit_exactly(void **state) {
  (void)state;
  sparc_learner_config c = small("sparc", SPARC_LEARN_REGRESS, 0);
  check_files(&c);
  c.horizon = 4;
  c.update_every = 3;
  c.normaliser_window = 20;
  check_files(&c);
  c = small("rglru", SPARC_LEARN_CLASSIFY, 2);
  c.network.embedding = SPARC_EMBED_TANH;
  c.network.width = 5;
  check_files(&c);
  c = small("lru", SPARC_LEARN_FORECAST, 1);
  check_files(&c);
  c.horizon = 6;
  c.normalise = 0;
  check_files(&c);
  c.forecaster = SPARC_FORECAST_MIXTURE;
  c.more_horizons[0] = 1;
  check_files(&c);
}

/* ---- mixtures --------------------------------------------------------------------------------------- */

static void mixtures_have_horizons_and_intervals(void **state) {
  (void)state;
  sparc_learner_config c = small("sparc", SPARC_LEARN_FORECAST, 1);
  c.forecaster = SPARC_FORECAST_MIXTURE;
  c.network.inputs = 1;
  c.more_horizons[0] = 12;
  sparc_learner *l = create(&c);
  assert_int_equal(sparc_learner_info_of(l).config->outputs, 2);
  double loss[2] = {0}, persistence[2] = {0};
  float y[2], low[2], high[2], anomaly;
  int period[2];
  for (int t = 0; t < 900; t++) {
    const float x = t % 31 == 7 ? NAN : (float)(10 + sin(6.2831853 * t / 12) + (t % 12 == 3));
    assert_int_equal(sparc_learner_step(l, &x, y), SPARC_OK);
    for (int j = 0; t >= 300 && j < 2; j++) {
      sparc_forecast_score s;
      assert_int_equal(sparc_learner_forecast_score(l, j, &s), SPARC_OK);
      assert_int_equal(s.channels, t % 31 != 7);
      if (j == 0 && s.channels) assert_true(s.loss == sparc_learner_report_of(l).loss);
      loss[j] += s.loss;
      persistence[j] += s.persistence;
    }
  }
  if (!(loss[0] < 0.01 * persistence[0])) fail_msg("error %g, persistence %g", loss[0], persistence[0]);
  assert_true(loss[1] < 0.01 * 600); /* a period ahead nothing changes */
  assert_int_equal(sparc_learner_interval(l, low, high, NULL), SPARC_OK);
  for (int j = 0; j < 2; j++) assert_true(low[j] <= y[j] && y[j] <= high[j]);
  assert_int_equal(sparc_learner_step(l, &(float){100}, y), SPARC_OK);
  assert_int_equal(sparc_learner_interval(l, NULL, NULL, &anomaly), SPARC_OK);
  assert_true(anomaly > 10);
  assert_int_equal(sparc_learner_periods(l, 0, period), SPARC_OK);
  assert_int_equal(period[0], 12);
  assert_int_equal(sparc_learner_periods(l, 1, period), SPARC_INVALID);
  assert_int_equal(sparc_learner_forecast_score(l, 2, &(sparc_forecast_score){0}), SPARC_INVALID);
  sparc_learner_free(l);
  c.forecaster = SPARC_FORECAST_NETWORK;
  c.more_horizons[0] = 0;
  l = create(&c);
  assert_int_equal(sparc_learner_interval(l, low, high, NULL), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "is not a mixture"));
  sparc_learner_free(l);
}

/* a frozen learner changes its state only: the same inputs give the same predictions again, from the same start */
static void frozen_mixtures_learn_nothing(void **state) {
  (void)state;
  const stream s = make_stream(14);
  sparc_learner_config c = small("sparc", SPARC_LEARN_FORECAST, 2);
  c.forecaster = SPARC_FORECAST_MIXTURE;
  sparc_learner *l = create(&c);
  for (int t = 0; t < STEPS; t++) feed(l, &s, t, NULL);
  assert_int_equal(sparc_learner_freeze(l, 1), SPARC_OK);
  float y[2][30][INPUTS];
  for (int pass = 0; pass < 2; pass++) {
    assert_int_equal(sparc_learner_reset_state(l), SPARC_OK);
    for (int t = 0; t < 30; t++) feed(l, &s, t, y[pass][t]);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  assert_int_equal(sparc_learner_report_of(l).scored, 1);
  sparc_learner_free(l);
}

/* other learners replace a missing input by its running mean */
static void inputs_may_be_missing(void **state) {
  (void)state;
  const stream s = make_stream(15);
  for (int objective = SPARC_LEARN_REGRESS; objective <= SPARC_LEARN_FORECAST; objective++) {
    const sparc_learner_config c =
        small("sparc", (sparc_learner_objective)objective, objective == SPARC_LEARN_FORECAST);
    sparc_learner *l = create(&c);
    float y[INPUTS] = {0};
    for (int t = 0; t < 20; t++) {
      float x[INPUTS] = {s.x[t][0], t % 4 == 2 ? NAN : s.x[t][1], s.x[t][2]};
      assert_int_equal(sparc_learner_step(l, x, y), SPARC_OK);
      for (size_t k = 0; k < l->outputs; k++) assert_true(isfinite(y[k]));
      if (objective == SPARC_LEARN_FORECAST && t > 0) assert_int_equal(sparc_learner_report_of(l).scored, t % 4 != 2);
    }
    sparc_learner_free(l);
  }
}

/* a frozen learner with a reset state predicts what the model in its file predicts */
static void files_are_models(void **state) {
  (void)state;
  const stream s = make_stream(10);
  static const char *const labels[] = {"low", "middle", "high"};
  for (int objective = SPARC_LEARN_REGRESS; objective <= SPARC_LEARN_FORECAST; objective++) {
    const sparc_learner_config c =
        small("sparc", (sparc_learner_objective)objective, objective == SPARC_LEARN_FORECAST);
    sparc_learner *l = create(&c);
    for (int t = 0; t < 40; t++) feed(l, &s, t, NULL);
    const sparc_metadata extra = {"note", "mine"};
    assert_int_equal(
        sparc_learner_save(l, objective == SPARC_LEARN_CLASSIFY ? labels : NULL, &extra, 1, in_folder("model")),
        SPARC_OK);
    sparc_model *model;
    if (sparc_model_load(in_folder("model"), 1, &model) != SPARC_OK) fail_msg("%s", sparc_error());
    assert_string_equal(sparc_model_metadata(model, "note"), "mine");
    const sparc_preprocessing *p = sparc_model_info_of(model).preprocessing;
    assert_int_equal(p->classes, objective == SPARC_LEARN_CLASSIFY ? CLASSES : 0);
    if (p->classes) assert_string_equal(p->labels[2], "high");
    float *carried = sparc_alloc(sparc_model_info_of(model).state_size * sizeof *carried);
    assert_int_equal(sparc_learner_freeze(l, 1), SPARC_OK);
    assert_int_equal(sparc_learner_reset_state(l), SPARC_OK);
    for (int t = 40; t < STEPS; t++) {
      float y[INPUTS], z[INPUTS];
      assert_int_equal(sparc_learner_step(l, s.x[t], y), SPARC_OK);
      assert_int_equal(sparc_model_step(model, carried, s.x[t], z), SPARC_OK);
      for (size_t k = 0; k < l->outputs; k++) assert_true(fabsf(y[k] - z[k]) <= 1e-5f * fmaxf(1, fabsf(z[k])));
    }
    sparc_free(carried);
    sparc_model_free(model);
    sparc_learner_free(l);
  }
}

/* a learner's file with one entry of its metadata changed or, with NULL, left out, or without one of its tensors */
static void rewrite(const char *from, const char *to, const char *key, const char *value, const char *tensor) {
  enum { MOST = 96 };
  sparc_tensors *file;
  sparc_metadata kept[MOST];
  sparc_tensor_source tensors[MOST];
  size_t entries = 0, count = 0;
  assert_int_equal(sparc_tensors_load(from, &file), SPARC_OK);
  for (size_t i = 0; i < sparc_tensors_contents_of(file).metadata_count; i++) {
    kept[entries] = sparc_tensors_contents_of(file).metadata[i];
    if (key && strcmp(kept[entries].key, key) == 0) kept[entries].value = value;
    entries += kept[entries].value != NULL;
  }
  for (size_t i = 0; i < sparc_tensors_contents_of(file).count; i++) {
    const sparc_tensor_info *info = &sparc_tensors_contents_of(file).tensors[i];
    if (tensor && strcmp(info->name, tensor) == 0) continue;
    sparc_tensor_source *t = &tensors[count++];
    *t = (sparc_tensor_source){.name = info->name, .dtype = info->dtype, .in_type = info->dtype, .rank = info->rank};
    memcpy(t->shape, info->shape, sizeof t->shape);
    void *data = malloc(info->bytes);
    assert_int_equal(sparc_tensors_read(file, info->name, SPARC_U8, data, info->bytes), SPARC_OK);
    t->data = data;
  }
  assert_int_equal(sparc_tensors_save(to, tensors, count, kept, entries), SPARC_OK);
  for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)tensors[i].data);
  sparc_tensors_free(file);
}

static void files_that_are_no_learners_are_refused(void **state) {
  (void)state;
  const stream s = make_stream(11);
  sparc_learner_config c = small("rtu", SPARC_LEARN_REGRESS, 2);
  c.update_every = 4;
  sparc_learner *l = create(&c), *restored;
  for (int t = 0; t < 10; t++) feed(l, &s, t, NULL);
  assert_int_equal(sparc_learner_save(l, NULL, NULL, 0, in_folder("good")), SPARC_OK);
  const struct {
    const char *key, *value, *tensor, *fragment;
  } cases[] = {{"learner.goal", NULL, NULL, "not a learner"},
               {"learner.goal", "all", NULL, "metadata 'learner.goal' is 'all', expected numbers, classes or forecast"},
               {"learner.horizon", "3", NULL, "'learner.waiting.x' is F32 [3, 3], expected F32 [4, 3]"},
               {"learner.horizon", "99999999", NULL, "metadata 'learner.horizon' is '99999999'"},
               {"learner.every", "0", NULL, "metadata 'learner.every' is '0'"},
               {"learner.pending", "4", NULL, "are inconsistent"},
               {"learner.told", "9", NULL, "are inconsistent"},
               {"learner.told", "6", NULL, "are inconsistent"},
               {"learner.first", "11", NULL, "are inconsistent"},
               {"learner.steps", "-1", NULL, "metadata 'learner.steps' is '-1'"},
               {"learner.steps", NULL, NULL, "metadata 'learner.steps' is missing"},
               {"learner.memory", "inf", NULL, "metadata 'learner.memory' is 'inf'"},
               {"network.cell", "gru", NULL, "is missing"},
               {NULL, NULL, "learner.trace", "learner.trace"},
               {NULL, NULL, "learner.ahead", "learner.ahead"},
               {NULL, NULL, "learner.waiting.mask", "'learner.waiting.mask' is missing"},
               {NULL, NULL, "opt.v.head.bias", "opt.v.head.bias"},
               {NULL, NULL, "head.bias", "head.bias"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    rewrite(in_folder("good"), in_folder("bad"), cases[i].key, cases[i].value, cases[i].tensor);
    assert_int_equal(sparc_learner_load(in_folder("bad"), &restored), SPARC_FORMAT);
    assert_null(restored);
    if (!strstr(sparc_error(), cases[i].fragment))
      fail_msg("case %zu: the message is '%s', expected '%s'", i, sparc_error(), cases[i].fragment);
  }
  /* a number that is not finite, a variance below zero, a mask that is none */
  l->sensitivities[1] = INFINITY;
  assert_int_equal(sparc_learner_save(l, NULL, NULL, 0, in_folder("bad")), SPARC_OK);
  assert_int_equal(sparc_learner_load(in_folder("bad"), &restored), SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "element 1 of tensor 'learner.trace' is inf, expected a finite number"));
  l->sensitivities[1] = 0;
  l->target_moments[1].variance = -1e-9;
  assert_int_equal(sparc_learner_save(l, NULL, NULL, 0, in_folder("bad")), SPARC_OK);
  assert_int_equal(sparc_learner_load(in_folder("bad"), &restored), SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "variance"));
  l->target_moments[1].variance = 1;
  l->waiting_mask[2] = 0.5f;
  assert_int_equal(sparc_learner_save(l, NULL, NULL, 0, in_folder("bad")), SPARC_OK);
  assert_int_equal(sparc_learner_load(in_folder("bad"), &restored), SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "element 2 of tensor 'learner.waiting.mask' is 0.5, expected 0 or 1"));
  assert_int_equal(sparc_learner_load(in_folder("missing"), &restored), SPARC_IO);
  sparc_learner_free(l);
}

/* ---- errors ------------------------------------------------------------------------------- */

static void expect_refusal(sparc_status got, sparc_status expected, const char *fragment) {
  assert_int_equal(got, expected);
  if (!strstr(sparc_error(), fragment)) fail_msg("the message is '%s', expected '%s'", sparc_error(), fragment);
}

static void impossible_configurations_are_refused(void **state) {
  (void)state;
  const sparc_learner_config good = small("sparc", SPARC_LEARN_REGRESS, 0);
  struct {
    sparc_learner_config config;
    sparc_status status;
    const char *fragment;
  } cases[] = {{good, SPARC_INVALID, "outputs is 0, expected at least 1"},
               {good, SPARC_INVALID, "outputs is 1, expected at least 2"},
               {good, SPARC_INVALID, "horizon is 0, expected at least 1 for a forecast"},
               {good, SPARC_INVALID, "outputs is 2, expected 0 or 3, one for each forecast input"},
               {good, SPARC_INVALID, "learning_rate is nan"},
               {good, SPARC_INVALID, "update_every is 0, expected a whole number from 1"},
               {good, SPARC_INVALID, "objective is 3, expected numbers, classes or forecast"},
               {good, SPARC_INVALID, "encoder is 2, expected local or exact"},
               {good, SPARC_UNSUPPORTED, "cell gru with 0 layers cannot learn online"},
               {good, SPARC_UNSUPPORTED, "cell sparc with 2 layers cannot learn online"},
               {good, SPARC_INVALID, "inputs is 0"},
               {good, SPARC_INVALID, "unknown cell kind 'spark'"},
               {good, SPARC_INVALID, "coverage is 1, expected a number above 0 and below 1"},
               {good, SPARC_INVALID, "horizon is 5000, expected 1 to"},
               {good, SPARC_INVALID, "horizon 2 is given twice"}};
  cases[0].config.outputs = 0;
  cases[1].config.objective = SPARC_LEARN_CLASSIFY;
  cases[1].config.outputs = 1;
  cases[2].config.objective = SPARC_LEARN_FORECAST;
  cases[3].config.objective = SPARC_LEARN_FORECAST;
  cases[3].config.horizon = 1;
  cases[4].config.learning_rate = NAN;
  cases[5].config.update_every = 0;
  cases[6].config.objective = (sparc_learner_objective)3;
  cases[7].config.encoder = (sparc_encoder_gradient)2;
  cases[8].config.network.cell = "gru";
  cases[9].config.network.layers = 2;
  cases[9].config.network.embedding = SPARC_EMBED_LINEAR;
  cases[9].config.network.width = 4;
  cases[10].config.network.inputs = 0;
  cases[11].config.network.cell = "spark";
  for (int i = 12; i < 15; i++) {
    cases[i].config.objective = SPARC_LEARN_FORECAST;
    cases[i].config.forecaster = SPARC_FORECAST_MIXTURE;
    cases[i].config.outputs = 0;
    cases[i].config.horizon = i == 13 ? 5000 : 2;
  }
  cases[12].config.coverage = 1;
  cases[14].config.more_horizons[0] = 2;
  for (size_t i = 0; i < COUNT(cases); i++) {
    sparc_learner *l = (sparc_learner *)&cases;
    expect_refusal(sparc_learner_create(&cases[i].config, &l), cases[i].status, cases[i].fragment);
    assert_null(l);
  }
}

static void invalid_calls_change_nothing(void **state) {
  (void)state;
  const stream s = make_stream(12);
  const sparc_learner_config c = small("sparc", SPARC_LEARN_REGRESS, 1);
  sparc_learner *l = create(&c), *twin = create(&c);
  const float nowhere[INPUTS] = {0, INFINITY, 0}, endless[OUTPUTS] = {0, INFINITY};
  for (int t = 0; t < 20; t++) {
    float y[OUTPUTS], z[OUTPUTS];
    if (t == 0)
      expect_refusal(sparc_learner_observe(l, s.target[0]), SPARC_INVALID, "there is no prediction to score yet");
    expect_refusal(sparc_learner_step(l, nowhere, y), SPARC_NOT_FINITE, "channel 1 of the input is inf");
    feed(l, &s, t, y);
    feed(twin, &s, t, z);
    assert_memory_equal(y, z, sizeof y);
    expect_refusal(sparc_learner_observe(l, endless), SPARC_NOT_FINITE, "target 1 is inf");
    expect_refusal(sparc_learner_observe_class(l, 0), SPARC_INVALID, "does not classify");
    if (t > 0) expect_refusal(sparc_learner_observe(l, s.target[t]), SPARC_INVALID, "was observed before");
  }
  assert_memory_equal(l->params, twin->params, l->n.params * sizeof *l->params);
  sparc_learner_free(l);
  sparc_learner_free(twin);
  const sparc_learner_config classes = small("sparc", SPARC_LEARN_CLASSIFY, 0);
  l = create(&classes);
  feed(l, &s, 0, NULL);
  expect_refusal(sparc_learner_observe_class(l, CLASSES), SPARC_INVALID, "label is 3, expected 0 to 2");
  expect_refusal(sparc_learner_observe_class(l, -1), SPARC_INVALID, "label is -1");
  expect_refusal(sparc_learner_observe(l, s.target[0]), SPARC_INVALID, "it classifies");
  sparc_learner_free(l);
}

/* a gradient that is not finite is dropped: weights do not change, and learning continues */
static void gradients_that_are_not_finite_are_dropped(void **state) {
  (void)state;
  const stream s = make_stream(13);
  const sparc_learner_config c = small("sparc", SPARC_LEARN_REGRESS, 0);
  sparc_learner *l = create(&c);
  for (int t = 0; t < 5; t++) feed(l, &s, t, NULL);
  assert_int_equal(sparc_learner_step(l, s.x[5], NULL), SPARC_OK);
  float *params = sparc_alloc(l->n.params * sizeof *params);
  memcpy(params, l->params, l->n.params * sizeof *params);
  l->gradient[3] = INFINITY;
  expect_refusal(sparc_learner_observe(l, s.target[5]), SPARC_NOT_FINITE, "is not finite at step 6");
  assert_memory_equal(params, l->params, l->n.params * sizeof *params);
  for (int t = 6; t < 12; t++) feed(l, &s, t, NULL);
  assert_int_equal(sparc_learner_report_of(l).updates, 11);
  sparc_free(params);
  sparc_learner_free(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_those_of_the_whole_stream),
      cmocka_unit_test(an_update_is_one_of_adam),
      cmocka_unit_test(streams_that_change_are_learned_again),
      cmocka_unit_test(numbers_and_classes_are_learned),
      cmocka_unit_test(a_frozen_learner_learns_nothing),
      cmocka_unit_test(sequences_are_independent),
      cmocka_unit_test(targets_may_be_missing),
      cmocka_unit_test(files_continue_bit_exactly),
      cmocka_unit_test(mixtures_have_horizons_and_intervals),
      cmocka_unit_test(frozen_mixtures_learn_nothing),
      cmocka_unit_test(inputs_may_be_missing),
      cmocka_unit_test(files_are_models),
      cmocka_unit_test(files_that_are_no_learners_are_refused),
      cmocka_unit_test(impossible_configurations_are_refused),
      cmocka_unit_test(invalid_calls_change_nothing),
      cmocka_unit_test(gradients_that_are_not_finite_are_dropped),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
