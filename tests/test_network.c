/* SPDX-License-Identifier: MIT */
/* test_network.c: networks around every cell over whole sequences: the formulas against plain loops, gradients against
 * finite differences, float against double, threads, padding, dropout, sizes, and what is refused. */
#include "base/random.h"
#include "nn/layers_impl.h"
#include "nn/losses.h" /* beside layers_impl.h: the compiler compares the declarations */
#include "nn/network.h"
#include "nn/optimiser.h"
#include "sparc/double.h"
#include "sparc/train.h"
#include "support.h"
#include "support_network.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INPUTS = TRIAL_INPUTS, OUTPUTS = TRIAL_OUTPUTS };

/* ---- gradients ---------------------------------------------------------------------------------- */

/* the largest difference between a gradient and the central differences of the loss by the same numbers */
static double gradient_error(const trial *t, runner *r, outcome *scratch, size_t n, double *values, const double *got) {
  const double step = 1e-5;
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    const double value = values[i];
    values[i] = value + step;
    const double above = forward_network_f64(t, r, scratch);
    values[i] = value - step;
    const double below = forward_network_f64(t, r, scratch);
    values[i] = value;
    worst = fmax(worst, fabs((above - below) / (2 * step) - got[i]));
  }
  return worst;
}

/* The largest error of a block against the largest gradient of the block (or a ten-thousandth of the largest of all,
 * for blocks of small gradients) is at most 1e-6; and likewise for inputs and states. */
static void check_gradient(trial *t) {
  outcome o = make_outcome(t), scratch = make_outcome(t);
  runner r = make_runner(t, 1);
  run_network_f64(t, 1, &o);
  const double tolerance = 1e-6, most = greatest(t->n.params, o.dparams);
  assert_true(most > 0);
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(t->network, &blocks);
  for (size_t b = 0; b < blocks; b++) {
    const size_t at = block[b].offset;
    const double worst = gradient_error(t, &r, &scratch, block[b].size, t->p + at, o.dparams + at);
    const double scale = fmax(greatest(block[b].size, o.dparams + at), 1e-4 * most);
    if (!(worst <= tolerance * scale))
      fail_msg("%s%s: gradient of %s is off by %.3g of %.3g", t->text, t->dropout ? ", dropout" : "", block[b].name,
               worst, scale);
  }
  const size_t inputs = (size_t)(t->B * t->T * t->config.inputs);
  const double of_x = gradient_error(t, &r, &scratch, inputs, t->x, o.dx), scale = greatest(inputs, o.dx);
  if (!(of_x <= tolerance * scale)) fail_msg("%s: dx is off by %.3g of %.3g", t->text, of_x, scale);
  for (int b = 0; b < t->B && t->state0; b++) {
    const bool pools = t->config.head[0].input == SPARC_HEAD_MEAN; /* a count at the end, which has no gradient */
    const size_t at = (size_t)b * t->n.state, n = t->n.state - pools;
    const double error = gradient_error(t, &r, &scratch, n, t->state0 + at, o.dstate0 + at);
    if (!(error <= tolerance * fmax(1, greatest(n, o.dstate0 + at))))
      fail_msg("%s: dstate0 of stream %d is off by %.3g", t->text, b, error);
    if (pools) assert_true(o.dstate0[at + n] == 0);
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
        sparc_network_config config = plain_config(*kind, 2, (sparc_head_input)head);
        config.dropout = 0.4;
        config.embedding = dropped ? SPARC_EMBED_TANH : SPARC_EMBED_LINEAR;
        trial t = make_trial(&config, 2, 5, WITH_LENGTHS);
        t.dropout = dropped ? &dropout : NULL;
        check_gradient(&t);
        free_trial(&t);
      }
}

static void test_gradients_of_bare_cells(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++)
      for (int features = SPARC_FEATURES_OUTPUT; features <= SPARC_FEATURES_POLICY; features++) {
        sparc_network_config config = plain_config(*kind, 0, (sparc_head_input)head);
        config.features = (sparc_features)features;
        trial t = make_trial(&config, 2, 6, WITH_LENGTHS);
        check_gradient(&t);
        free_trial(&t);
      }
}

/* embeddings, several heads, masks, and states that come and go */
static void test_gradients_of_everything_at_once(void **state) {
  (void)state;
  static const unsigned with[] = {WITH_MASK | WITH_LENGTHS | WITH_STATE0, WITH_MASK | WITH_STATE0 | WITH_STATE_LAST,
                                  WITH_STATE0 | WITH_STATE_LAST, WITH_MASK};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
      const sparc_network_config configs[] = {policy_config(*kind), many_heads_config(*kind, 0),
                                              many_heads_config(*kind, 2)};
      for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
        trial t = make_trial(&configs[c], 2, 5, with[i]);
        check_gradient(&t);
        free_trial(&t);
      }
    }
}

/* a head without a gradient adds nothing, to its own parameters or to others */
static void test_heads_without_gradient(void **state) {
  (void)state;
  const sparc_network_config config = many_heads_config("sparc", 1);
  trial t = make_trial(&config, 2, 7, 0);
  runner r = make_runner(&t, 1);
  outcome some = make_outcome(&t), zero = make_outcome(&t);
  forward_network_f64(&t, &r, &some);
  for (int kept = 0; kept < config.heads; kept++) {
    double *outputs[TRIAL_HEADS], *zeros = sparc_alloc(t.outputs * sizeof *zeros);
    const double *absent[TRIAL_HEADS] = {NULL}, *present[TRIAL_HEADS];
    for (int i = 0; i < config.heads; i++) outputs[i] = some.output + t.first[i], present[i] = zeros;
    absent[kept] = present[kept] = r.doutput + t.first[kept];
    const sparc_network_sequence_f64 sequence = {.x = t.x, .outputs = outputs};
    const sparc_network_gradient_f64 gradients[] = {
        {.doutputs = absent, .dx = some.dx, .dparams = some.dparams},
        {.doutputs = present, .dx = zero.dx, .dparams = zero.dparams},
    };
    for (int i = 0; i < 2; i++) {
      memset(gradients[i].dparams, 0, t.n.params * sizeof(double));
      assert_int_equal(sparc_network_backward_f64(r.plan, r.prepared, &sequence, &gradients[i], r.work), SPARC_OK);
    }
    for (size_t i = 0; i < t.n.params; i++) assert_true(some.dparams[i] == zero.dparams[i]);
    for (size_t i = 0; i < (size_t)(t.B * t.T * INPUTS); i++) assert_true(some.dx[i] == zero.dx[i]);
    sparc_free(zeros);
  }
  free_runner(&r);
  free_outcome(&some);
  free_outcome(&zero);
  free_trial(&t);
}

/* outputs within 2e-5 and gradients, block by block, within 1e-4 of the double build */
static void check_float(const sparc_network_config *config, unsigned with) {
  const sparc_dropout dropout = {.seed = 5, .update = 3};
  trial t = make_trial(config, 3, 40, with);
  t.dropout = &dropout;
  outcome single = make_outcome(&t), twice = make_outcome(&t);
  run_network_f32(&t, 1, &single);
  run_network_f64(&t, 1, &twice);
  const double error = e_norm(t.outputs, single.output, twice.output);
  if (!(error <= 2e-5)) fail_msg("%s: outputs differ by %.3g", t.text, error);
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(t.network, &blocks);
  for (size_t b = 0; b < blocks; b++) {
    const double off = e_norm(block[b].size, single.dparams + block[b].offset, twice.dparams + block[b].offset);
    if (!(off <= 1e-4)) fail_msg("%s: gradients of %s differ by %.3g", t.text, block[b].name, off);
  }
  const double of_x = e_norm((size_t)(t.B * t.T * INPUTS), single.dx, twice.dx);
  const double of_state = e_norm((size_t)t.B * t.n.state, single.dstate0, twice.dstate0);
  if (!(of_x <= 1e-4 && of_state <= 1e-4)) fail_msg("%s: dx differs by %.3g, dstate0 by %.3g", t.text, of_x, of_state);
  free_outcome(&single);
  free_outcome(&twice);
  free_trial(&t);
}

static void test_float_follows_double(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_network_config deep = plain_config(*kind, 3, SPARC_HEAD_MEAN);
    deep.dropout = 0.1;
    const sparc_network_config bare = plain_config(*kind, 0, SPARC_HEAD_STEPS), policy = policy_config(*kind);
    check_float(&deep, WITH_LENGTHS);
    check_float(&bare, WITH_LENGTHS);
    check_float(&policy, WITH_MASK | WITH_STATE0 | WITH_STATE_LAST);
  }
}

/* ---- the formulas of docs/training.md as plain loops ---------- ------------------------------------- */

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
  double *prepared = sparc_alloc(sparc_cell_sizes_of(cell).prepared * sizeof *prepared);
  double *mask = sparc_alloc((size_t)length * sizeof *mask);
  for (int s = 1; s < length; s++) mask[s] = 1;
  void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT64).saved),
       *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT64).work);
  assert_int_equal(sparc_prepare_f64(cell, params, prepared), SPARC_OK);
  const sparc_sequence_f64 io = {.x = x, .mask = mask, .y = y};
  assert_int_equal(sparc_forward_f64(plan, prepared, &io, saved, work), SPARC_OK);
  void *memory[] = {prepared, mask, saved, work};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_plan_free(plan);
}

/* what the network adds to the residual stream at one step; y is the cell's output */
static void plain_post_cell(const trial *t, int layer, size_t width, const double *x, const double *y, double *u) {
  const size_t H = (size_t)sparc_cell_config_of(network_cell(t->network)).H;
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
  const sparc_cell *cell = network_cell(t->network);
  const size_t width = (size_t)config.width, O = sparc_cell_sizes_of(cell).output, L = (size_t)t->lengths[b];
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
    for (size_t s = 0; s < L; s++) plain_post_cell(t, layer, width, x + s * width, y + s * O, u + s * width);
  }
  sparc_free(x);
  sparc_free(y);
}

/* every sequence alone, at its own length: so padding is checked, too */
static void test_formulas(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int head = SPARC_HEAD_MEAN; head <= SPARC_HEAD_STEPS; head++) {
      const sparc_network_config config = plain_config(*kind, 2, (sparc_head_input)head);
      const size_t width = (size_t)config.width;
      trial t = make_trial(&config, 4, 9, WITH_LENGTHS);
      outcome o = make_outcome(&t);
      run_network_f64(&t, 1, &o);
      double u[9 * 16] = {0}, pooled[16];
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

/* ---- invariances --------- ------------------------------------------------------------------------ */

static void expect_same_bits(const trial *t, const char *what, const outcome *got, const outcome *want) {
  for (size_t i = 0; i < t->outputs; i++)
    if (trial_counts(t, i) > 0 && got->output[i] != want->output[i])
      fail_msg("%s, %s: output %zu is %.17g, expected %.17g", t->text, what, i, got->output[i], want->output[i]);
  const struct {
    const char *name;
    size_t n;
    const double *got, *want;
  } gradients[] = {{"parameter", t->n.params, got->dparams, want->dparams},
                   {"input", (size_t)(t->B * t->T * t->config.inputs), got->dx, want->dx},
                   {"state", (size_t)t->B * t->n.state, got->dstate0, want->dstate0}};
  for (size_t g = 0; g < sizeof gradients / sizeof *gradients; g++)
    for (size_t i = 0; i < gradients[g].n; i++)
      if (gradients[g].got[i] != gradients[g].want[i])
        fail_msg("%s, %s: gradient of %s %zu is %.17g, expected %.17g", t->text, what, gradients[g].name, i,
                 gradients[g].got[i], gradients[g].want[i]);
}

/* more than one tile of tokens per example, more than one tile of rows per weight */
static void test_threads_change_no_bit(void **state) {
  (void)state;
  const sparc_dropout dropout = {.seed = 8, .update = 1};
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int layers = 0; layers <= 2; layers += 2) {
      sparc_network_config config = layers ? many_heads_config(*kind, layers) : policy_config(*kind);
      config.dropout = layers ? 0.1 : 0;
      config.width = 70;
      trial t = make_trial(&config, 3, 290, WITH_LENGTHS | WITH_STATE0 | WITH_MASK);
      t.dropout = &dropout;
      outcome want = make_outcome(&t), got = make_outcome(&t);
      void (*const run[])(const trial *, int, outcome *) = {run_network_f32, run_network_f64};
      for (size_t precision = 0; precision < 2; precision++) {
        run[precision](&t, 1, &want);
        for (size_t i = 0; i < 4; i++) {
          run[precision](&t, (const int[]){2, 3, 8, 16}[i], &got);
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
        const sparc_network_config config = plain_config(*kind, layers, (sparc_head_input)head);
        trial t = make_trial(&config, 4, 9, WITH_LENGTHS);
        outcome want = make_outcome(&t), got = make_outcome(&t);
        run_network_f32(&t, 1, &want);
        int padded = 0;
        for (int b = 0; b < t.B; b++)
          for (int i = t.lengths[b] * INPUTS; i < t.T * INPUTS; i++, padded++)
            t.x[b * t.T * INPUTS + i] = 100 + (double)i;
        assert_true(padded > 0);
        run_network_f32(&t, 1, &got);
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
  sparc_network_config config = plain_config("sparc", 2, SPARC_HEAD_MEAN);
  config.dropout = 0.5;
  config.width = 16;
  trial t = make_trial(&config, 3, 8, 0);
  outcome off = make_outcome(&t), on = make_outcome(&t), again = make_outcome(&t);
  run_network_f64(&t, 1, &off);
  sparc_dropout dropout = {.seed = 1, .update = 7};
  t.dropout = &dropout;
  run_network_f64(&t, 1, &on);
  run_network_f64(&t, 2, &again);
  expect_same_bits(&t, "the same masks", &again, &on);
  assert_true(distance(&t, &on, &off) > 1e-3);

  /* other masks for another update, another seed */
  dropout.update = 8;
  run_network_f64(&t, 1, &again);
  assert_true(distance(&t, &on, &again) > 1e-3);
  dropout = (sparc_dropout){.seed = 2, .update = 7};
  run_network_f64(&t, 1, &again);
  assert_true(distance(&t, &on, &again) > 1e-3);
  free_trial(&t);

  /* with probability 0 there is nothing to drop */
  config.dropout = 0;
  t = make_trial(&config, 3, 8, 0);
  run_network_f64(&t, 1, &off);
  t.dropout = &dropout;
  run_network_f64(&t, 1, &on);
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
    random_permutation(&stream, order, EXAMPLES);
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
  const size_t n = sparc_network_sizes_of(network).params;
  size_t spans;
  const sparc_span *span = sparc_network_spans(network, &spans);
  float *initial = sparc_alloc(n * sizeof *initial);
  assert_int_equal(sparc_network_init(network, config->seed, initial), SPARC_OK);
  double *p = sparc_alloc(n * sizeof *p), *g = sparc_alloc(n * sizeof *g), *moments = sparc_alloc(2 * n * sizeof *g);
  double *prepared = sparc_alloc(sparc_network_sizes_of(network).prepared * sizeof *prepared);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT64));
  for (size_t i = 0; i < n; i++) p[i] = (double)initial[i];

  sparc_adam_config adam = sparc_adam_defaults();
  adam.weight_decay = config->weight_decay;
  adam.recurrent_lr_scale = config->recurrent_lr_scale;
  const sparc_schedule rates = {SPARC_SCHEDULE_COSINE, config->learning_rate, config->min_learning_rate, config->warmup,
                                config->updates};
  for (int update = 0; update < UPDATES; update++) {
    toy_batch batch;
    load_batch(config->seed, update, data, &batch);
    const sparc_dropout dropout = {.seed = config->seed, .update = (uint64_t)update};
    assert_int_equal(sparc_network_prepare_f64(network, p, prepared), SPARC_OK);
    double *const outputs[] = {batch.output};
    const double *const doutputs[] = {batch.doutput};
    const sparc_network_sequence_f64 sequence = {
        .x = batch.x, .lengths = batch.length, .dropout = &dropout, .outputs = outputs};
    const sparc_network_gradient_f64 gradient = {.doutputs = doutputs, .dparams = g};
    assert_int_equal(sparc_network_forward_f64(plan, prepared, &sequence, work), SPARC_OK);
    losses[update] =
        config->network.head->input == SPARC_HEAD_STEPS ? squared_error(data, &batch) : entropy(data, &batch);
    memset(g, 0, n * sizeof *g);
    assert_int_equal(sparc_network_backward_f64(plan, prepared, &sequence, &gradient, work), SPARC_OK);
    gradient_clip_f64(span, spans, n, 1, config->max_gradient_norm, g);
    sparc_adam_update_f64(&adam, span, spans, n, 1, update + 1, sparc_schedule_learning_rate(&rates, update), g,
                          moments, p);
  }
  void *memory[] = {initial, p, g, moments, prepared, work};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_network_plan_free(plan);
  sparc_network_free(network);
}

static sparc_train_config toy_config(const char *kind, sparc_head_input head) {
  sparc_train_config config = sparc_train_defaults(NULL);
  config.network = plain_config(kind, 2, head);
  config.network.width = 12;
  config.network.dropout = 0.1;
  config.batch = BATCH;
  config.updates = UPDATES;
  config.warmup = 2;
  config.learning_rate = 5e-3;
  config.max_gradient_norm = 1;
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
      const sparc_train_config config = toy_config(*kind, (sparc_head_input)head);
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
  for (size_t row = 0; row < sizeof mixers / sizeof *mixers; row++) {
    const sparc_head_config head = {.input = SPARC_HEAD_MEAN, .outputs = CLASSES};
    const sparc_network_config config = {.cell = mixers[row].kind,
                                         .H = mixers[row].H,
                                         .inputs = 1,
                                         .embedding = SPARC_EMBED_LINEAR,
                                         .width = 64,
                                         .layers = LAYERS,
                                         .init = SPARC_INIT_CLASSIFICATION,
                                         .head = &head,
                                         .heads = 1};
    sparc_network *network;
    if (sparc_network_create(&config, &network) != SPARC_OK) fail_msg("%s", sparc_error());
    size_t blocks, mixer = 0;
    const sparc_block *block = sparc_network_blocks(network, &blocks);
    for (size_t b = 0; b < blocks; b++)
      if (strstr(block[b].name, "layers.0.cell.") || strstr(block[b].name, "layers.0.readout.")) mixer += block[b].size;
    assert_int_equal(mixer, mixers[row].mixer);
    assert_int_equal(sparc_network_sizes_of(network).params,
                     EMBEDDING + LAYERS * (mixer + NORM + GLU) + (size_t)CLASSES * DECODER);
    sparc_network_free(network);
  }
}

static void test_tables_cover_params(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++)
    for (int layers = 0; layers <= 2; layers += 2) {
      const sparc_network_config config = plain_config(*kind, layers, SPARC_HEAD_LAST);
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
      assert_int_equal(end, sparc_network_sizes_of(network).params);
      end = 0;
      for (size_t s = 0; s < spans; end += span[s++].size) assert_int_equal(span[s].offset, end);
      assert_int_equal(end, sparc_network_sizes_of(network).params);

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
  const sparc_head_config head = {.input = SPARC_HEAD_MEAN, .outputs = 20};
  const sparc_network_config config = {.cell = "lru",
                                       .H = MODES,
                                       .inputs = CHANNELS,
                                       .embedding = SPARC_EMBED_LINEAR,
                                       .width = WIDTH,
                                       .layers = 1,
                                       .init = SPARC_INIT_CLASSIFICATION,
                                       .head = &head,
                                       .heads = 1};
  const struct {
    const char *name;
    double mean, stddev;
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
  trial t = make_trial(&config, 1, 1, 0);
  float *initial = sparc_alloc(t.n.params * sizeof *initial);
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
    if (!(fabs(mean - cases[i].mean) <= 1e-12 + 4 * cases[i].stddev / sqrt(n)) ||
        !(fabs(sqrt(variance) - cases[i].stddev) <= 1e-12 + 4 * cases[i].stddev / sqrt(2 * n)))
      fail_msg("%s: mean %g, stddev %g", cases[i].name, mean, sqrt(variance));
  }
  sparc_free(initial);
  free_trial(&t);
}

/* the policy of the paper: its parameter count (SPARC, RepeatPrevious), its blocks, orthogonal rows of a given gain */
static void test_policy(void **state) {
  (void)state;
  enum { H = 64, D = 64, IN = 4, ACTIONS = 4, PARAMS = 25799 };
  const sparc_head_config heads[] = {
      {.name = "actor", .input = SPARC_HEAD_STEPS, .outputs = ACTIONS, .hidden = D, .hidden_gain = 2, .gain = 0.01},
      {.name = "critic", .input = SPARC_HEAD_STEPS, .outputs = 1, .hidden = D, .hidden_gain = 2, .gain = 1}};
  sparc_network_config config = {.cell = "sparc",
                                 .H = H,
                                 .inputs = IN,
                                 .embedding = SPARC_EMBED_TANH,
                                 .width = D,
                                 .features = SPARC_FEATURES_POLICY,
                                 .head = heads,
                                 .heads = 2};
  static const char *const expected[] = {"embed.weight",  "embed.bias", "actor.hidden.weight",  "actor.hidden.bias",
                                         "actor.weight",  "actor.bias", "critic.hidden.weight", "critic.hidden.bias",
                                         "critic.weight", "critic.bias"};
  sparc_network *network;
  assert_int_equal(sparc_network_create(&config, &network), SPARC_OK);
  assert_int_equal(sparc_network_sizes_of(network).params, PARAMS);
  assert_int_equal(sparc_network_sizes_of(network).outputs, ACTIONS + 1);
  assert_int_equal(sparc_network_sizes_of(network).state, 2 * H);
  float *p = sparc_alloc(PARAMS * sizeof *p);
  assert_int_equal(sparc_network_init(network, 3, p), SPARC_OK);
  size_t blocks, found = 0;
  const sparc_block *block = sparc_network_blocks(network, &blocks);
  for (size_t b = 0; b < blocks; b++) {
    if (strncmp(block[b].name, "cell.", 5) == 0) continue;
    assert_string_equal(block[b].name, expected[found++]);
    const double gain = strstr(block[b].name, "hidden") ? 2 : strcmp(block[b].name, "actor.weight") == 0 ? 0.01 : 1;
    for (int row = 0; b > 1 && block[b].rank == 2 && row < block[b].shape[0]; row++) {
      double square = 0;
      for (int i = 0; i < block[b].shape[1]; i++)
        square += pow((double)p[block[b].offset + (size_t)(row * block[b].shape[1] + i)], 2);
      assert_true(fabs(sqrt(square) - gain) <= 1e-5 * gain);
    }
  }
  assert_int_equal(found, sizeof expected / sizeof *expected);
  sparc_free(p);
  sparc_network_free(network);

  /* the readout of LRU's policy */
  config.cell = "lru";
  trial t = make_trial(&config, 1, 1, 0);
  assert_non_null(values_of(&t, -1, "readout.re"));
  assert_non_null(values_of(&t, -1, "readout.im"));
  assert_null(values_of(&t, -1, "readout.skip"));
  free_trial(&t);
}

static void test_impossible_configurations(void **state) {
  (void)state;
  const sparc_network_config good = plain_config("sparc", 2, SPARC_HEAD_MEAN);
  static const sparc_head_config bad_heads[] = {
      {.outputs = -1},
      {.outputs = 1, .input = (sparc_head_input)9},
      {.outputs = 1, .input = SPARC_HEAD_CONSTANT, .hidden = 2},
      {.outputs = 1, .hidden = -1},
      {.outputs = 1, .gain = NAN},
      {.outputs = 1, .name = ""},
      {.outputs = 1, .name = "a name of more characters than are allowed"},
  };
  static const sparc_head_config twins[] = {{.outputs = 1}, {.outputs = 2}},
                                 embed[] = {{.name = "embed", .outputs = 1}};
  struct {
    sparc_network_config config;
    const char *message;
  } cases[] = {{good, "inputs is 0"},          {good, "outputs is -1"},        {good, "layers is -1"},
               {good, "width is 0"},           {good, "head.input is 9"},      {good, "features is 1"},
               {good, "dropout is 1"},         {good, "dropout is nan"},       {good, "init is 7"},
               {good, "kind is NULL"},         {good, "did you mean 'sparc'"}, {good, "H is 0"},
               {good, "embedding is 0"},       {good, "heads is 0"},           {good, "head is NULL"},
               {good, "hidden is 2"},          {good, "hidden is -1"},         {good, "gain is nan"},
               {good, "head.name is ''"},      {good, "expected 1 to 31"},     {good, "called 'head.weight'"},
               {good, "called 'embed.weight'"}};
  cases[0].config.inputs = 0;
  cases[1].config.head = &bad_heads[0];
  cases[2].config.layers = -1;
  cases[3].config.width = 0;
  cases[4].config.head = &bad_heads[1];
  cases[5].config.features = SPARC_FEATURES_RELU;
  cases[6].config.dropout = 1;
  cases[7].config.dropout = NAN;
  cases[8].config.init = (sparc_init_style)7;
  cases[9].config.cell = NULL;
  cases[10].config.cell = "sparcc";
  cases[11].config.H = 0;
  cases[12].config.embedding = SPARC_EMBED_NONE;
  cases[13].config.heads = 0;
  cases[14].config.head = NULL;
  for (int i = 2; i < 7; i++) cases[13 + i].config.head = &bad_heads[i];
  cases[20].config.head = twins, cases[20].config.heads = 2;
  cases[21].config.head = embed;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_network *network = (sparc_network *)&cases;
    assert_int_equal(sparc_network_create(&cases[i].config, &network), SPARC_INVALID);
    assert_null(network);
    if (!strstr(sparc_error(), cases[i].message)) fail_msg("'%s' is not in '%s'", cases[i].message, sparc_error());
  }
}

static void test_impossible_calls(void **state) {
  (void)state;
  const sparc_network_config config = plain_config("sparc", 2, SPARC_HEAD_MEAN);
  trial t = make_trial(&config, 2, 5, 0);
  runner r = make_runner(&t, 1);
  outcome o = make_outcome(&t);
  forward_network_f64(&t, &r, &o);
  int short_lengths[] = {5, 4}, wrong_lengths[] = {5, 6}, no_lengths[] = {0, 5};
  const double mask[10] = {0, 1, 1, 0.5};
  double *const none[] = {NULL};
  const double *const doutputs[] = {r.doutput};
  const sparc_network_sequence_f64 good = {.x = t.x, .outputs = &o.output};
  const sparc_network_gradient_f64 gradient = {.doutputs = doutputs, .dparams = o.dparams};
  struct {
    sparc_network_sequence_f64 sequence;
    sparc_network_gradient_f64 gradient;
    bool forward; /* the forward refuses it already */
    const char *message;
  } cases[] = {{good, gradient, true, "sequence.x is NULL"},
               {good, gradient, true, "sequence.outputs is NULL"},
               {good, gradient, true, "sequence.outputs[0] is NULL, expected where head head writes"},
               {good, gradient, true, "lengths[1] is 6, expected 1 to 5"},
               {good, gradient, true, "lengths[0] is 0, expected 1 to 5"},
               {good, gradient, true, "lengths[1] is 4, expected all 5 steps"},
               {good, gradient, true, "mask[0][3] is 0.5, expected 0 or 1"},
               {good, gradient, false, "gradient.doutputs is NULL"},
               {good, gradient, false, "gradient.dparams is NULL"},
               {good, gradient, false, "lengths[1] is 4, expected all 5 steps"}};
  cases[0].sequence.x = NULL;
  cases[1].sequence.outputs = NULL;
  cases[2].sequence.outputs = none;
  cases[3].sequence.lengths = wrong_lengths;
  cases[4].sequence.lengths = no_lengths;
  cases[5].sequence.lengths = short_lengths, cases[5].sequence.state_last = o.state_last;
  cases[6].sequence.mask = mask;
  cases[7].gradient.doutputs = NULL;
  cases[8].gradient.dparams = NULL;
  cases[9].sequence.lengths = short_lengths, cases[9].gradient.dstate_last = o.state_last;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const sparc_status status =
        cases[i].forward
            ? sparc_network_forward_f64(r.plan, r.prepared, &cases[i].sequence, r.work)
            : sparc_network_backward_f64(r.plan, r.prepared, &cases[i].sequence, &cases[i].gradient, r.work);
    assert_int_equal(status, SPARC_INVALID);
    if (!strstr(sparc_error(), cases[i].message)) fail_msg("'%s' is not in '%s'", cases[i].message, sparc_error());
  }
  t.p[t.n.params - 1] = INFINITY;
  assert_int_equal(sparc_network_prepare_f64(t.network, t.p, r.prepared), SPARC_NOT_FINITE);
  assert_non_null(strstr(sparc_error(), "head.bias"));
  sparc_network_plan *plan;
  assert_int_equal(sparc_network_plan_create(t.network, 0, 5, 1, &plan), SPARC_INVALID);
  assert_null(plan);
  free_runner(&r);
  free_outcome(&o);
  free_trial(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients_of_layers),
                                     cmocka_unit_test(test_gradients_of_bare_cells),
                                     cmocka_unit_test(test_gradients_of_everything_at_once),
                                     cmocka_unit_test(test_heads_without_gradient),
                                     cmocka_unit_test(test_float_follows_double),
                                     cmocka_unit_test(test_formulas),
                                     cmocka_unit_test(test_threads_change_no_bit),
                                     cmocka_unit_test(test_padding_is_ignored),
                                     cmocka_unit_test(test_dropout),
                                     cmocka_unit_test(test_training_losses_follow_double),
                                     cmocka_unit_test(test_parameter_counts),
                                     cmocka_unit_test(test_tables_cover_params),
                                     cmocka_unit_test(test_initial_spread),
                                     cmocka_unit_test(test_policy),
                                     cmocka_unit_test(test_impossible_configurations),
                                     cmocka_unit_test(test_impossible_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
