/* SPDX-License-Identifier: MIT */
/* test_network.c: networks around every cell: the formulas against plain loops, gradients against finite differences,
 * float against double, threads, padding, dropout, sizes, and what is refused. */
#include "nn/layers_impl.h"
#include "nn/losses.h" /* beside layers_impl.h: the compiler compares the declarations */
#include "nn/optimiser.h"
#include "sparc/double.h"
#include "sparc/train.h"
#include "support.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INPUTS = 2, OUTPUTS = 3 };

/* ---- problems ---------------------------------------------------------------------------------- */

/* sizes that a kind accepts at H = 4 */
static const char *small_options(const char *kind) {
  if (strcmp(kind, "rglru") == 0) return "block=2";
  if (strcmp(kind, "mamba3") == 0) return "heads=2,head_dim=3,state=2";
  return NULL;
}

static sparc_network_config config_of(const char *kind, int layers, sparc_head head) {
  return (sparc_network_config){.cell = kind,
                                .cell_options = small_options(kind),
                                .H = 4,
                                .inputs = INPUTS,
                                .outputs = OUTPUTS,
                                .layers = layers,
                                .width = layers ? 5 : 0,
                                .head = head,
                                .init = layers ? SPARC_INIT_CLASSIFICATION : SPARC_INIT_CONTROL};
}

/* A network with numbers that float holds exactly, and a loss: the sum of cotangent * output + output^2 / 2 over the
 * outputs that exist. */
typedef struct trial {
  sparc_network *network;
  int B, T;
  size_t params, outputs; /* numbers in all */
  double *p, *x, *cotangent;
  int *lengths;
  const sparc_dropout *dropout;
  char text[160];
} trial;

typedef struct outcome {
  double *output, *dparams;
  double loss;
} outcome;

static double *draw(sparc_random *stream, size_t n, double scale) {
  double *values = sparc_alloc(n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = (double)(float)(scale * sparc_random_normal(stream));
  return values;
}

static trial make_trial(const sparc_network_config *config, int B, int T, bool unequal) {
  trial t = {.B = B, .T = T};
  if (sparc_network_create(config, &t.network) != SPARC_OK) fail_msg("%s", sparc_error());
  snprintf(t.text, sizeof t.text, "%s, layers %d, head %d, relu %d, B %d, T %d", config->cell, config->layers,
           (int)config->head, config->relu, B, T);
  sparc_random stream;
  sparc_random_init(&stream, 3, "test-network", t.text);
  t.params = sparc_network_params(t.network);
  t.outputs = (size_t)(B * config->outputs * (config->head == SPARC_HEAD_STEPS ? T : 1));

  /* away from the initial weights, where gates and biases are zero and hide mistakes */
  float *initial = sparc_alloc(t.params * sizeof *initial);
  assert_int_equal(sparc_network_init(t.network, 1, initial), SPARC_OK);
  t.p = draw(&stream, t.params, 0.3);
  for (size_t i = 0; i < t.params; i++) t.p[i] = (double)((float)t.p[i] + initial[i]);
  sparc_free(initial);
  t.x = draw(&stream, (size_t)(B * T * config->inputs), 1);
  t.cotangent = draw(&stream, t.outputs, 1);
  t.lengths = sparc_alloc((size_t)B * sizeof *t.lengths);
  for (int b = 0; b < B; b++) t.lengths[b] = unequal && b ? 1 + (int)sparc_random_below(&stream, (uint32_t)T) : T;
  return t;
}

static void free_trial(trial *t) {
  void *memory[] = {t->p, t->x, t->cotangent, t->lengths};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_network_free(t->network);
}

static outcome make_outcome(const trial *t) {
  return (outcome){.output = sparc_alloc(t->outputs * sizeof(double)),
                   .dparams = sparc_alloc(t->params * sizeof(double))};
}

static void free_outcome(outcome *o) {
  sparc_free(o->output);
  sparc_free(o->dparams);
}

/* 1 where the loss counts output i, 0 behind the end of a sequence */
static double counts(const trial *t, size_t i) {
  const sparc_network_config config = sparc_network_config_of(t->network);
  if (config.head != SPARC_HEAD_STEPS) return 1;
  const size_t step = i / (size_t)config.outputs;
  return step % (size_t)t->T < (size_t)t->lengths[step / (size_t)t->T];
}

static double loss_of(const trial *t, const double *output, double *doutput) {
  double loss = 0;
  for (size_t i = 0; i < t->outputs; i++) {
    const double y = output[i], weight = counts(t, i);
    loss += weight * (t->cotangent[i] * y + y * y / 2);
    doutput[i] = weight * (t->cotangent[i] + y);
  }
  return loss;
}

/* memory of one call in double, kept over the many calls of a finite difference */
typedef struct runner {
  sparc_network_plan *plan;
  double *prepared, *doutput;
  void *work;
} runner;

static runner make_runner(const trial *t, int threads) {
  runner r;
  if (sparc_network_plan_create(t->network, t->B, t->T, threads, &r.plan) != SPARC_OK) fail_msg("%s", sparc_error());
  r.prepared = sparc_alloc(sparc_network_prepared(t->network) * sizeof *r.prepared);
  r.doutput = sparc_alloc(t->outputs * sizeof *r.doutput);
  r.work = sparc_alloc(sparc_network_plan_work_bytes_f64(r.plan));
  return r;
}

static void free_runner(runner *r) {
  sparc_network_plan_free(r->plan);
  sparc_free(r->prepared);
  sparc_free(r->doutput);
  sparc_free(r->work);
}

static double forward_f64(const trial *t, runner *r, double *output) {
  assert_int_equal(sparc_network_prepare_f64(t->network, t->p, r->prepared), SPARC_OK);
  assert_int_equal(sparc_network_forward_f64(r->plan, r->prepared, t->x, t->lengths, t->dropout, output, r->work),
                   SPARC_OK);
  return loss_of(t, output, r->doutput);
}

static void run_f64(const trial *t, int threads, outcome *o) {
  runner r = make_runner(t, threads);
  memset(o->dparams, 0, t->params * sizeof *o->dparams);
  o->loss = forward_f64(t, &r, o->output);
  assert_int_equal(
      sparc_network_backward_f64(r.plan, r.prepared, t->x, t->lengths, t->dropout, r.doutput, o->dparams, r.work),
      SPARC_OK);
  free_runner(&r);
}

static float *to_float(size_t n, const double *values) {
  float *out = sparc_alloc(n * sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = (float)values[i];
  return out;
}

static void run_f32(const trial *t, int threads, outcome *o) {
  const int inputs = sparc_network_config_of(t->network).inputs;
  sparc_network_plan *plan;
  assert_int_equal(sparc_network_plan_create(t->network, t->B, t->T, threads, &plan), SPARC_OK);
  float *p = to_float(t->params, t->p), *x = to_float((size_t)(t->B * t->T * inputs), t->x);
  float *prepared = sparc_alloc(sparc_network_prepared(t->network) * sizeof *prepared);
  float *output = sparc_alloc(t->outputs * sizeof *output), *dparams = sparc_alloc(t->params * sizeof *dparams);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan));
  assert_int_equal(sparc_network_prepare(t->network, p, prepared), SPARC_OK);
  assert_int_equal(sparc_network_forward(plan, prepared, x, t->lengths, t->dropout, output, work), SPARC_OK);
  for (size_t i = 0; i < t->outputs; i++) o->output[i] = (double)output[i];
  double *doutput = sparc_alloc(t->outputs * sizeof *doutput);
  o->loss = loss_of(t, o->output, doutput);
  float *rounded = to_float(t->outputs, doutput);
  assert_int_equal(sparc_network_backward(plan, prepared, x, t->lengths, t->dropout, rounded, dparams, work), SPARC_OK);
  for (size_t i = 0; i < t->params; i++) o->dparams[i] = (double)dparams[i];
  void *memory[] = {p, x, prepared, output, dparams, work, doutput, rounded};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_network_plan_free(plan);
}

static double greatest(size_t n, const double *values) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(values[i]));
  return most;
}

/* ---- gradients ---------------------------------------------------------------------------------- */

/* The largest error of a block against the largest gradient of the block (or a ten-thousandth of the largest of all,
 * for blocks that hardly matter) is at most 1e-6. */
static void check_gradient(trial *t) {
  const double step = 1e-5, tolerance = 1e-6;
  outcome o = make_outcome(t), scratch = make_outcome(t);
  runner r = make_runner(t, 1);
  run_f64(t, 1, &o);
  const double most = greatest(t->params, o.dparams);
  assert_true(most > 0);
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(t->network, &blocks);
  for (size_t b = 0; b < blocks; b++) {
    double worst = 0;
    for (size_t i = block[b].offset; i < block[b].offset + block[b].size; i++) {
      const double value = t->p[i];
      t->p[i] = value + step;
      const double above = forward_f64(t, &r, scratch.output);
      t->p[i] = value - step;
      const double below = forward_f64(t, &r, scratch.output);
      t->p[i] = value;
      worst = fmax(worst, fabs((above - below) / (2 * step) - o.dparams[i]));
    }
    const double scale = fmax(greatest(block[b].size, o.dparams + block[b].offset), 1e-4 * most);
    if (!(worst <= tolerance * scale))
      fail_msg("%s%s: gradient of %s is off by %.3g of %.3g", t->text, t->dropout ? ", dropout" : "", block[b].name,
               worst, scale);
  }
  free_runner(&r);
  free_outcome(&o);
  free_outcome(&scratch);
}

static void test_gradients_of_layers(void **state) {
  (void)state;
  const sparc_dropout dropout = {.seed = 5, .update = 3};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++)
      for (int dropped = 0; dropped < 2; dropped++) {
        sparc_network_config config = config_of(*kind, 2, (sparc_head)head);
        config.dropout = 0.4;
        trial t = make_trial(&config, 2, 5, true);
        t.dropout = dropped ? &dropout : NULL;
        check_gradient(&t);
        free_trial(&t);
      }
}

static void test_gradients_of_bare_cells(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++)
      for (int relu = 0; relu < 2; relu++) {
        sparc_network_config config = config_of(*kind, 0, (sparc_head)head);
        config.relu = relu;
        trial t = make_trial(&config, 2, 6, true);
        check_gradient(&t);
        free_trial(&t);
      }
}

/* outputs within 2e-5 and gradients, block by block, within 1e-4 of the double build */
static void test_float_follows_double(void **state) {
  (void)state;
  const sparc_dropout dropout = {.seed = 5, .update = 3};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int layers = 0; layers <= 3; layers += 3) {
      sparc_network_config config = config_of(*kind, layers, layers ? SPARC_HEAD_MEAN : SPARC_HEAD_STEPS);
      config.dropout = layers ? 0.1 : 0;
      trial t = make_trial(&config, 3, 40, true);
      t.dropout = &dropout;
      outcome single = make_outcome(&t), twice = make_outcome(&t);
      run_f32(&t, 1, &single);
      run_f64(&t, 1, &twice);
      const double error = e_norm(t.outputs, single.output, twice.output);
      if (!(error <= 2e-5)) fail_msg("%s: outputs differ by %.3g", t.text, error);
      size_t blocks;
      const sparc_block *block = sparc_network_blocks(t.network, &blocks);
      for (size_t b = 0; b < blocks; b++) {
        const double off = e_norm(block[b].size, single.dparams + block[b].offset, twice.dparams + block[b].offset);
        if (!(off <= 1e-4)) fail_msg("%s: gradients of %s differ by %.3g", t.text, block[b].name, off);
      }
      free_outcome(&single);
      free_outcome(&twice);
      free_trial(&t);
    }
}

/* ---- the formulas of docs/training.md once more, as plain loops ------------------------------------- */

/* the block of a layer, or of the network for layer < 0; NULL when there is none */
static const double *values_of(const trial *t, int layer, const char *name) {
  char full[64] = "";
  if (layer >= 0) snprintf(full, sizeof full, "layers.%d.", layer);
  strncat(full, name, sizeof full - strlen(full) - 1);
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(t->network, &blocks);
  for (size_t b = 0; b < blocks; b++)
    if (strcmp(block[b].name, full) == 0) return t->p + block[b].offset;
  return NULL;
}

static double dot(size_t n, const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double gelu(double y) { return 0.5 * y * (1 + tanh(sqrt(2 / acos(-1)) * (y + 0.044715 * y * y * y))); }

static void plain_norm(size_t width, const double *u, const double *scale, const double *bias, double *x) {
  double mean = 0, variance = 0;
  for (size_t i = 0; i < width; i++) mean += u[i] / (double)width;
  for (size_t i = 0; i < width; i++) variance += (u[i] - mean) * (u[i] - mean) / (double)width;
  for (size_t i = 0; i < width; i++) x[i] = scale[i] * (u[i] - mean) / sqrt(variance + 1e-6) + bias[i];
}

/* the cell over one sequence */
static void plain_cell(const sparc_cell *cell, const double *params, int length, const double *x, double *y) {
  sparc_plan *plan;
  assert_int_equal(sparc_plan_create(cell, 1, length, &(sparc_plan_config){.threads = 1}, &plan), SPARC_OK);
  double *prepared = sparc_alloc(sparc_cell_sizes(cell).prepared * sizeof *prepared);
  double *mask = sparc_alloc((size_t)length * sizeof *mask);
  for (int s = 1; s < length; s++) mask[s] = 1;
  void *saved = sparc_alloc(sparc_plan_saved_bytes_f64(plan)), *work = sparc_alloc(sparc_plan_work_bytes_f64(plan));
  assert_int_equal(sparc_prepare_f64(cell, params, prepared), SPARC_OK);
  const sparc_sequence_f64 io = {.x = x, .mask = mask, .y = y};
  assert_int_equal(sparc_forward_f64(plan, prepared, &io, saved, work), SPARC_OK);
  void *memory[] = {prepared, mask, saved, work};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_plan_free(plan);
}

/* what the network adds to the residual stream at one step; y is the cell's output */
static void plain_behind(const trial *t, int layer, size_t width, const double *x, const double *y, double *u) {
  const size_t H = (size_t)sparc_cell_modes(sparc_network_cell(t->network));
  const double *re = values_of(t, layer, "readout.re"), *im = values_of(t, layer, "readout.im");
  const double *whole = values_of(t, layer, "readout.weight"), *skip = values_of(t, layer, "readout.skip");
  const double *value = values_of(t, layer, "glu.value.weight"), *gate = values_of(t, layer, "glu.gate.weight");
  double g[16];
  for (size_t i = 0; i < width; i++) {
    double r = re ? dot(H, re + i * H, y) - dot(H, im + i * H, y + H) : whole ? dot(H, whole + i * H, y) : y[i];
    if (skip) r += skip[i] * x[i];
    g[i] = gelu(r);
  }
  for (size_t i = 0; i < width; i++)
    u[i] += (dot(width, value + i * width, g) + values_of(t, layer, "glu.value.bias")[i]) *
            sigmoid(dot(width, gate + i * width, g) + values_of(t, layer, "glu.gate.bias")[i]);
}

/* the features [length][width] of example b */
static void plain_body(const trial *t, int b, double *u) {
  const sparc_network_config config = sparc_network_config_of(t->network);
  const sparc_cell *cell = sparc_network_cell(t->network);
  const size_t width = (size_t)config.width, O = sparc_cell_sizes(cell).output, L = (size_t)t->lengths[b];
  char first[64];
  snprintf(first, sizeof first, "cell.%s", sparc_cell_blocks(cell, NULL)[0].name);
  double *x = sparc_alloc(L * width * sizeof *x), *y = sparc_alloc(L * O * sizeof *y);
  for (size_t s = 0; s < L; s++)
    for (size_t i = 0; i < width; i++)
      u[s * width + i] =
          dot(INPUTS, values_of(t, -1, "embed.weight") + i * INPUTS, t->x + ((size_t)(b * t->T) + s) * INPUTS) +
          values_of(t, -1, "embed.bias")[i];
  for (int layer = 0; layer < config.layers; layer++) {
    const double *scale = values_of(t, layer, "norm.scale"), *bias = values_of(t, layer, "norm.bias");
    for (size_t s = 0; s < L; s++) plain_norm(width, u + s * width, scale, bias, x + s * width);
    plain_cell(cell, values_of(t, layer, first), (int)L, x, y);
    for (size_t s = 0; s < L; s++) plain_behind(t, layer, width, x + s * width, y + s * O, u + s * width);
  }
  sparc_free(x);
  sparc_free(y);
}

/* every sequence alone, at its own length: so padding is checked, too */
static void test_formulas(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++) {
      const sparc_network_config config = config_of(*kind, 2, (sparc_head)head);
      const size_t width = (size_t)config.width;
      trial t = make_trial(&config, 4, 9, true);
      outcome o = make_outcome(&t);
      run_f64(&t, 1, &o);
      double u[9 * 16], pooled[16];
      for (int b = 0; b < t.B; b++) {
        plain_body(&t, b, u);
        const size_t L = (size_t)t.lengths[b];
        for (size_t i = 0; i < width; i++) {
          pooled[i] = head == SPARC_HEAD_LAST ? u[(L - 1) * width + i] : 0;
          for (size_t s = 0; s < L && head == SPARC_HEAD_MEAN; s++) pooled[i] += u[s * width + i] / (double)L;
        }
        const size_t rows = head == SPARC_HEAD_STEPS ? L : 1, stride = head == SPARC_HEAD_STEPS ? (size_t)t.T : 1;
        for (size_t s = 0; s < rows; s++)
          for (size_t k = 0; k < OUTPUTS; k++) {
            const double *features = head == SPARC_HEAD_STEPS ? u + s * width : pooled;
            const double want =
                dot(width, values_of(&t, -1, "head.weight") + k * width, features) + values_of(&t, -1, "head.bias")[k];
            const double got = o.output[((size_t)b * stride + s) * OUTPUTS + k];
            if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
              fail_msg("%s: output %zu of example %d, step %zu is %.17g, expected %.17g", t.text, k, b, s, got, want);
          }
      }
      free_outcome(&o);
      free_trial(&t);
    }
}

/* ---- what must not matter ------------------------------------------------------------------------ */

static void expect_same_bits(const trial *t, const char *what, const outcome *got, const outcome *want) {
  for (size_t i = 0; i < t->outputs; i++)
    if (counts(t, i) > 0 && got->output[i] != want->output[i])
      fail_msg("%s, %s: output %zu is %.17g, expected %.17g", t->text, what, i, got->output[i], want->output[i]);
  for (size_t i = 0; i < t->params; i++)
    if (got->dparams[i] != want->dparams[i])
      fail_msg("%s, %s: gradient %zu is %.17g, expected %.17g", t->text, what, i, got->dparams[i], want->dparams[i]);
}

/* more than one tile of tokens per example, more than one tile of rows per weight */
static void test_threads_change_no_bit(void **state) {
  (void)state;
  const sparc_dropout dropout = {.seed = 8, .update = 1};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int layers = 0; layers <= 2; layers += 2) {
      sparc_network_config config = config_of(*kind, layers, layers ? SPARC_HEAD_MEAN : SPARC_HEAD_STEPS);
      config.dropout = layers ? 0.1 : 0;
      if (layers) config.width = 70;
      trial t = make_trial(&config, 3, 290, true);
      t.dropout = &dropout;
      outcome want = make_outcome(&t), got = make_outcome(&t);
      void (*const run[])(const trial *, int, outcome *) = {run_f32, run_f64};
      for (size_t precision = 0; precision < 2; precision++) {
        run[precision](&t, 1, &want);
        for (size_t i = 0; i < 3; i++) {
          run[precision](&t, (const int[]){2, 3, 7}[i], &got);
          expect_same_bits(&t, "threads", &got, &want);
        }
      }
      free_outcome(&want);
      free_outcome(&got);
      free_trial(&t);
    }
}

static void test_padding_is_ignored(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++)
      for (int layers = 0; layers <= 2; layers += 2) {
        const sparc_network_config config = config_of(*kind, layers, (sparc_head)head);
        trial t = make_trial(&config, 4, 9, true);
        outcome want = make_outcome(&t), got = make_outcome(&t);
        run_f32(&t, 1, &want);
        int padded = 0;
        for (int b = 0; b < t.B; b++)
          for (int i = t.lengths[b] * INPUTS; i < t.T * INPUTS; i++, padded++)
            t.x[b * t.T * INPUTS + i] = 100 + (double)i;
        assert_true(padded > 0);
        run_f32(&t, 1, &got);
        expect_same_bits(&t, "padding", &got, &want);
        free_outcome(&want);
        free_outcome(&got);
        free_trial(&t);
      }
}

/* ---- dropout -------------------------------------------------------------------------------------- */

static double distance(const trial *t, const outcome *a, const outcome *b) {
  double most = 0;
  for (size_t i = 0; i < t->outputs; i++) most = fmax(most, fabs(a->output[i] - b->output[i]));
  return most;
}

static void test_dropout(void **state) {
  (void)state;
  sparc_network_config config = config_of("sparc", 2, SPARC_HEAD_MEAN);
  config.dropout = 0.5;
  config.width = 16;
  trial t = make_trial(&config, 3, 8, false);
  outcome off = make_outcome(&t), on = make_outcome(&t), again = make_outcome(&t);
  run_f64(&t, 1, &off);
  sparc_dropout dropout = {.seed = 1, .update = 7};
  t.dropout = &dropout;
  run_f64(&t, 1, &on);
  run_f64(&t, 2, &again);
  expect_same_bits(&t, "the same masks", &again, &on);
  assert_true(distance(&t, &on, &off) > 1e-3);

  /* other masks for another update, another seed */
  dropout.update = 8;
  run_f64(&t, 1, &again);
  assert_true(distance(&t, &on, &again) > 1e-3);
  dropout = (sparc_dropout){.seed = 2, .update = 7};
  run_f64(&t, 1, &again);
  assert_true(distance(&t, &on, &again) > 1e-3);
  free_trial(&t);

  /* with probability 0 there is nothing to drop */
  config.dropout = 0;
  t = make_trial(&config, 3, 8, false);
  run_f64(&t, 1, &off);
  t.dropout = &dropout;
  run_f64(&t, 1, &on);
  expect_same_bits(&t, "probability 0", &on, &off);
  outcome *all[] = {&off, &on, &again};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free_outcome(all[i]);
  free_trial(&t);
}

/* ---- ten updates in float and in double ------------------------------------------------------------ */

enum { EXAMPLES = 12, STEPS = 20, BATCH = 8, UPDATES = 10 };

typedef struct toy {
  float x[EXAMPLES][STEPS * INPUTS], target[EXAMPLES][STEPS * OUTPUTS];
  int label[EXAMPLES], length[EXAMPLES];
} toy;

static sparc_sample toy_sample(const void *source, int index) {
  const toy *data = source;
  return (sparc_sample){
      .x = data->x[index], .length = data->length[index], .label = data->label[index], .target = data->target[index]};
}

static void fill_toy(toy *data) {
  sparc_random stream;
  sparc_random_init(&stream, 1, "test-network", "toy");
  for (int i = 0; i < EXAMPLES; i++) {
    data->label[i] = i % OUTPUTS;
    data->length[i] = STEPS - (int)sparc_random_below(&stream, 5);
    for (int s = 0; s < STEPS * INPUTS; s++)
      data->x[i][s] = (float)(sparc_random_normal(&stream) + data->label[i] * sin(0.5 * s));
    for (int s = 0; s < STEPS * OUTPUTS; s++) data->target[i][s] = (float)(data->label[i] + cos(0.3 * s));
  }
}

/* one batch in double */
typedef struct toy_batch {
  double x[BATCH * STEPS * INPUTS], output[BATCH * STEPS * OUTPUTS], doutput[BATCH * STEPS * OUTPUTS];
  int index[BATCH], length[BATCH];
} toy_batch;

static void load_batch(uint64_t seed, int update, const toy *data, toy_batch *batch) {
  memset(batch, 0, sizeof *batch);
  for (int b = 0; b < BATCH; b++) {
    const int place = update * BATCH + b;
    int order[EXAMPLES];
    char name[32];
    snprintf(name, sizeof name, "epoch.%d", place / EXAMPLES);
    sparc_random stream;
    sparc_random_init(&stream, seed, "batches", name);
    sparc_random_permutation(&stream, order, EXAMPLES);
    const int index = batch->index[b] = order[place % EXAMPLES];
    batch->length[b] = data->length[index];
    for (int i = 0; i < data->length[index] * INPUTS; i++) batch->x[b * STEPS * INPUTS + i] = (double)data->x[index][i];
  }
}

/* mean cross-entropy and its gradient */
static double entropy(const toy *data, toy_batch *batch) {
  double loss = 0;
  for (size_t b = 0; b < BATCH; b++) {
    const double *logits = batch->output + b * OUTPUTS;
    const size_t label = (size_t)data->label[batch->index[b]];
    double sum = 0;
    for (size_t k = 0; k < OUTPUTS; k++) sum += exp(logits[k]);
    for (size_t k = 0; k < OUTPUTS; k++)
      batch->doutput[b * OUTPUTS + k] = (exp(logits[k]) / sum - (k == label)) / BATCH;
    loss += (log(sum) - logits[label]) / BATCH;
  }
  return loss;
}

/* mean squared error over the steps that exist, and its gradient */
static double squared_error(const toy *data, toy_batch *batch) {
  double loss = 0, numbers = 0;
  for (int b = 0; b < BATCH; b++) numbers += batch->length[b] * OUTPUTS;
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < batch->length[b] * OUTPUTS; i++) {
      const int at = b * STEPS * OUTPUTS + i;
      const double error = batch->output[at] - (double)data->target[batch->index[b]][i];
      loss += error * error / numbers;
      batch->doutput[at] = 2 * error / numbers;
    }
  return loss;
}

/* the trainer's loop by hand, in double */
static void train_f64(const sparc_train_config *config, const toy *data, double losses[UPDATES]) {
  sparc_network *network;
  sparc_network_plan *plan;
  assert_int_equal(sparc_network_create(&config->network, &network), SPARC_OK);
  assert_int_equal(sparc_network_plan_create(network, BATCH, STEPS, 1, &plan), SPARC_OK);
  const size_t n = sparc_network_params(network);
  size_t spans;
  const sparc_span *span = sparc_network_spans(network, &spans);
  float *initial = sparc_alloc(n * sizeof *initial);
  assert_int_equal(sparc_network_init(network, config->seed, initial), SPARC_OK);
  double *p = sparc_alloc(n * sizeof *p), *g = sparc_alloc(n * sizeof *g), *moments = sparc_alloc(2 * n * sizeof *g);
  double *prepared = sparc_alloc(sparc_network_prepared(network) * sizeof *prepared);
  void *work = sparc_alloc(sparc_network_plan_work_bytes_f64(plan));
  for (size_t i = 0; i < n; i++) p[i] = (double)initial[i];

  adam_config adam = adam_defaults();
  adam.decay = config->decay;
  adam.recurrent_rate = config->recurrent_rate;
  const schedule rates = {SCHEDULE_COSINE, config->rate, config->floor, config->warmup, config->updates};
  for (int update = 0; update < UPDATES; update++) {
    toy_batch batch;
    load_batch(config->seed, update, data, &batch);
    const sparc_dropout dropout = {.seed = config->seed, .update = (uint64_t)update};
    assert_int_equal(sparc_network_prepare_f64(network, p, prepared), SPARC_OK);
    assert_int_equal(sparc_network_forward_f64(plan, prepared, batch.x, batch.length, &dropout, batch.output, work),
                     SPARC_OK);
    losses[update] = config->network.head == SPARC_HEAD_STEPS ? squared_error(data, &batch) : entropy(data, &batch);
    memset(g, 0, n * sizeof *g);
    assert_int_equal(
        sparc_network_backward_f64(plan, prepared, batch.x, batch.length, &dropout, batch.doutput, g, work), SPARC_OK);
    clip_gradient_f64(span, spans, n, 1, config->clip, g);
    adam_update_f64(&adam, span, spans, n, 1, update + 1, schedule_rate(&rates, update), g, moments, p);
  }
  void *memory[] = {initial, p, g, moments, prepared, work};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_network_plan_free(plan);
  sparc_network_free(network);
}

static sparc_train_config toy_config(const char *kind, sparc_head head) {
  sparc_train_config config = sparc_train_classification();
  config.network = config_of(kind, 2, head);
  config.network.width = 12;
  config.network.dropout = 0.1;
  config.batch = BATCH;
  config.updates = UPDATES;
  config.warmup = 2;
  config.rate = 5e-3;
  config.clip = 1;
  config.threads = 1;
  return config;
}

/* The losses of ten updates in float are within 1e-5 of those in double, relatively, while the loss changes by far more
 * than that. */
static void test_training_losses_follow_double(void **state) {
  (void)state;
  const double tolerance = 1e-5;
  toy data;
  fill_toy(&data);
  const sparc_samples samples = {
      .count = EXAMPLES, .channels = INPUTS, .longest = STEPS, .source = &data, .at = toy_sample};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++) {
      const sparc_train_config config = toy_config(*kind, (sparc_head)head);
      double want[UPDATES], worst = 0;
      train_f64(&config, &data, want);
      sparc_trainer *trainer;
      if (sparc_trainer_create(&config, &samples, &trainer) != SPARC_OK) fail_msg("%s", sparc_error());
      for (int update = 0; update < UPDATES; update++) {
        sparc_update_report report;
        assert_int_equal(sparc_trainer_update(trainer, &report), SPARC_OK);
        worst = fmax(worst, fabs(report.loss - want[update]) / want[update]);
      }
      if (!(worst <= tolerance)) fail_msg("%s, head %d: losses differ by %.3g", *kind, head, worst);
      assert_true(fabs(want[UPDATES - 1] - want[0]) > 100 * tolerance * want[0]);
      sparc_trainer_free(trainer);
    }
}

/* ---- the description ------------------------------------------------------------------------------- */

/* parameters of the cell and its readout per layer, at a width of 64 */
static const struct {
  const char *kind;
  int H;
  size_t mixer;
} mixers[] = {{"sparc", 64, 16898}, {"lru", 64, 16640},      {"rtu", 64, 16576},   {"rglru", 128, 19008},
              {"gru", 128, 82496},  {"gateloop", 64, 28800}, {"mamba3", 64, 13404}};

static void test_parameter_counts(void **state) {
  (void)state;
  enum { LAYERS = 4, CLASSES = 10, NORM = 128, GLU = 8320, EMBEDDING = 128, DECODER = 65 };
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    size_t row = 0;
    while (row < sizeof mixers / sizeof *mixers && strcmp(mixers[row].kind, *kind) != 0) row++;
    if (row == sizeof mixers / sizeof *mixers) fail_msg("no count is known for cell %s", *kind);
    const sparc_network_config config = {.cell = *kind,
                                         .H = mixers[row].H,
                                         .inputs = 1,
                                         .outputs = CLASSES,
                                         .layers = LAYERS,
                                         .width = 64,
                                         .init = SPARC_INIT_CLASSIFICATION};
    sparc_network *network;
    if (sparc_network_create(&config, &network) != SPARC_OK) fail_msg("%s", sparc_error());
    size_t blocks, mixer = 0;
    const sparc_block *block = sparc_network_blocks(network, &blocks);
    for (size_t b = 0; b < blocks; b++)
      if (strstr(block[b].name, "layers.0.cell.") || strstr(block[b].name, "layers.0.readout.")) mixer += block[b].size;
    assert_int_equal(mixer, mixers[row].mixer);
    assert_int_equal(sparc_network_params(network), EMBEDDING + LAYERS * (mixer + NORM + GLU) + CLASSES * DECODER);
    sparc_network_free(network);
  }
}

static void test_tables_cover_params(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int layers = 0; layers <= 2; layers += 2) {
      const sparc_network_config config = config_of(*kind, layers, SPARC_HEAD_LAST);
      sparc_network *network;
      assert_int_equal(sparc_network_create(&config, &network), SPARC_OK);
      size_t blocks, spans, end = 0;
      const sparc_block *block = sparc_network_blocks(network, &blocks);
      const sparc_span *span = sparc_network_spans(network, &spans);
      for (size_t b = 0; b < blocks; end += block[b++].size) {
        assert_int_equal(block[b].offset, end);
        assert_int_equal(block[b].size, (size_t)block[b].shape[0] * (size_t)block[b].shape[1]);
        for (size_t a = 0; a < b; a++) assert_string_not_equal(block[a].name, block[b].name);
      }
      assert_int_equal(end, sparc_network_params(network));
      end = 0;
      for (size_t s = 0; s < spans; end += span[s++].size) assert_int_equal(span[s].offset, end);
      assert_int_equal(end, sparc_network_params(network));

      /* equal seeds, equal weights; another seed changes every matrix */
      float *a = sparc_alloc(end * sizeof *a), *b = sparc_alloc(end * sizeof *b), *c = sparc_alloc(end * sizeof *c);
      assert_int_equal(sparc_network_init(network, 4, a), SPARC_OK);
      assert_int_equal(sparc_network_init(network, 4, b), SPARC_OK);
      assert_int_equal(sparc_network_init(network, 5, c), SPARC_OK);
      assert_memory_equal(a, b, end * sizeof *a);
      const sparc_block *head = &block[blocks - 2];
      assert_string_equal(head->name, "head.weight");
      for (size_t i = 0; i < head->size; i++) assert_true(a[head->offset + i] != c[head->offset + i]);
      sparc_free(a);
      sparc_free(b);
      sparc_free(c);
      sparc_network_free(network);
    }
}

/* the spread of each kind of block (docs/training.md), within four standard errors */
static void test_initial_spread(void **state) {
  (void)state;
  enum { WIDTH = 48, MODES = 96, CHANNELS = 12 };
  const sparc_network_config config = {.cell = "lru",
                                       .H = MODES,
                                       .inputs = CHANNELS,
                                       .outputs = 20,
                                       .layers = 1,
                                       .width = WIDTH,
                                       .init = SPARC_INIT_CLASSIFICATION};
  const struct {
    const char *name;
    double mean, deviation;
  } cases[] = {{"embed.weight", 0, 1 / sqrt(CHANNELS)},
               {"embed.bias", 0, 0},
               {"layers.0.norm.scale", 1, 0},
               {"layers.0.norm.bias", 0, 0},
               {"layers.0.readout.re", 0, 1 / sqrt(MODES)},
               {"layers.0.readout.im", 0, 1 / sqrt(MODES)},
               {"layers.0.readout.skip", 0, 1},
               {"layers.0.glu.value.weight", 0, 1 / sqrt(WIDTH)},
               {"layers.0.glu.gate.weight", 0, 1 / sqrt(WIDTH)},
               {"layers.0.glu.gate.bias", 0, 0},
               {"head.weight", 0, 1 / sqrt(WIDTH)},
               {"head.bias", 0, 0}};
  trial t = make_trial(&config, 1, 1, false);
  float *initial = sparc_alloc(t.params * sizeof *initial);
  assert_int_equal(sparc_network_init(t.network, 6, initial), SPARC_OK);
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(t.network, &blocks);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t b = 0;
    while (b < blocks && strcmp(block[b].name, cases[i].name) != 0) b++;
    assert_true(b < blocks);
    const double n = (double)block[b].size;
    double mean = 0, variance = 0;
    for (size_t k = 0; k < block[b].size; k++) mean += (double)initial[block[b].offset + k] / n;
    for (size_t k = 0; k < block[b].size; k++) variance += pow((double)initial[block[b].offset + k] - mean, 2) / n;
    if (!(fabs(mean - cases[i].mean) <= 1e-12 + 4 * cases[i].deviation / sqrt(n)) ||
        !(fabs(sqrt(variance) - cases[i].deviation) <= 1e-12 + 4 * cases[i].deviation / sqrt(2 * n)))
      fail_msg("%s: mean %g, deviation %g", cases[i].name, mean, sqrt(variance));
  }
  sparc_free(initial);
  free_trial(&t);
}

static void test_impossible_configurations(void **state) {
  (void)state;
  const sparc_network_config good = config_of("sparc", 2, SPARC_HEAD_MEAN);
  struct {
    sparc_network_config config;
    const char *sentence;
  } cases[] = {{good, "inputs is 0"}, {good, "outputs is -1"}, {good, "layers is -1"},         {good, "width is 0"},
               {good, "head is 9"},   {good, "relu is 1"},     {good, "dropout is 1"},         {good, "dropout is nan"},
               {good, "init is 7"},   {good, "kind is NULL"},  {good, "did you mean 'sparc'"}, {good, "H is 0"}};
  cases[0].config.inputs = 0;
  cases[1].config.outputs = -1;
  cases[2].config.layers = -1;
  cases[3].config.width = 0;
  cases[4].config.head = (sparc_head)9;
  cases[5].config.relu = 1;
  cases[6].config.dropout = 1;
  cases[7].config.dropout = NAN;
  cases[8].config.init = (sparc_init_style)7;
  cases[9].config.cell = NULL;
  cases[10].config.cell = "sparcc";
  cases[11].config.H = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_network *network = (sparc_network *)&cases;
    assert_int_equal(sparc_network_create(&cases[i].config, &network), SPARC_INVALID);
    assert_null(network);
    if (!strstr(sparc_error(), cases[i].sentence)) fail_msg("'%s' is not in '%s'", cases[i].sentence, sparc_error());
  }
}

static void test_impossible_calls(void **state) {
  (void)state;
  const sparc_network_config config = config_of("sparc", 2, SPARC_HEAD_MEAN);
  trial t = make_trial(&config, 2, 5, false);
  runner r = make_runner(&t, 1);
  double output[2 * OUTPUTS];
  forward_f64(&t, &r, output);
  for (int wrong = 0; wrong <= 6; wrong += 6) {
    t.lengths[1] = wrong;
    assert_int_equal(sparc_network_forward_f64(r.plan, r.prepared, t.x, t.lengths, NULL, output, r.work),
                     SPARC_INVALID);
    char sentence[64];
    snprintf(sentence, sizeof sentence, "lengths[1] is %d, expected 1 to 5", wrong);
    assert_string_equal(sparc_error(), sentence);
  }
  assert_int_equal(sparc_network_forward_f64(r.plan, r.prepared, NULL, NULL, NULL, output, r.work), SPARC_INVALID);
  t.p[t.params - 1] = INFINITY;
  assert_int_equal(sparc_network_prepare_f64(t.network, t.p, r.prepared), SPARC_NOT_FINITE);
  assert_non_null(strstr(sparc_error(), "head.bias"));
  sparc_network_plan *plan;
  assert_int_equal(sparc_network_plan_create(t.network, 0, 5, 1, &plan), SPARC_INVALID);
  assert_null(plan);
  free_runner(&r);
  free_trial(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients_of_layers),
                                     cmocka_unit_test(test_gradients_of_bare_cells),
                                     cmocka_unit_test(test_float_follows_double),
                                     cmocka_unit_test(test_formulas),
                                     cmocka_unit_test(test_threads_change_no_bit),
                                     cmocka_unit_test(test_padding_is_ignored),
                                     cmocka_unit_test(test_dropout),
                                     cmocka_unit_test(test_training_losses_follow_double),
                                     cmocka_unit_test(test_parameter_counts),
                                     cmocka_unit_test(test_tables_cover_params),
                                     cmocka_unit_test(test_initial_spread),
                                     cmocka_unit_test(test_impossible_configurations),
                                     cmocka_unit_test(test_impossible_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
