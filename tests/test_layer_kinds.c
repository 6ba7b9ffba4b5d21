/* SPDX-License-Identifier: MIT */
/* test_layer_kinds.c: networks that mix kinds of layers, one of them from outside the library (docs/conv.c), with a
 * table of symbols that is tied to a head of classes on every step: gradients against differences, steps against
 * sequences, threads, training, files, and what is refused. */
#include "nn/losses.h"
#include "scratch.h"
#include "sparc/layer.h"
#include "sparc/random.h"
#include "sparc/train.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

extern const sparc_layer_kind conv_kind;

enum { SYMBOLS = 7, WIDTH = 6, LAYERS = 6, B = 3, T = 6, N = B * T };

static const sparc_layer_kind *const own_kinds[] = {&conv_kind, NULL};
static const sparc_layer_config mixed[LAYERS] = {{"conv", "taps=3"},
                                                 {"residual", "cell=sparc,H=4"},
                                                 {"cell", "cell=gru,H=6"},
                                                 {"bank", "modes=3,thresholds=2"},
                                                 {"bank", "modes=3,thresholds=2,windows=1"},
                                                 {"conv", NULL}};
static const sparc_head_config tied_head = {
    .input = SPARC_HEAD_STEPS, .kind = SPARC_HEAD_CLASSES, .outputs = SYMBOLS, .tied = 1};

static sparc_network_config mixed_config(void) {
  return (sparc_network_config){.inputs = 1,
                                .embedding = SPARC_EMBED_SYMBOLS,
                                .symbols = SYMBOLS,
                                .width = WIDTH,
                                .layers = LAYERS,
                                .layer = mixed,
                                .kinds = own_kinds,
                                .head = &tied_head,
                                .heads = 1};
}

static void must(sparc_status status) {
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
}

static void refuses(sparc_status got, sparc_status expected, const char *words) {
  if (got != expected || !strstr(sparc_error(), words))
    fail_msg("status %d, '%s'; expected %d and '%s'", (int)got, sparc_error(), (int)expected, words);
}

/* ---- a problem in double -------------------------------------------------------------------------- */

typedef struct problem {
  sparc_network *network;
  sparc_network_plan *plan;
  sparc_network_sizes n;
  double *p, *prepared, *dparams;
  double *state0, *state_last, *dstate0, *cotangent; /* (B, state) */
  double x[N], mask[N], output[N * SYMBOLS], doutput[N * SYMBOLS];
  int label[N];
  void *work;
} problem;

static double *draw(sparc_random *stream, size_t n, double stddev) {
  double *out = sparc_alloc(n * sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = stddev * sparc_random_normal(stream);
  return out;
}

static problem make_problem(const sparc_network_config *config) {
  problem q = {.network = NULL};
  must(sparc_network_create(config, &q.network));
  must(sparc_network_plan_create(q.network, B, T, 1, &q.plan));
  q.n = sparc_network_sizes_of(q.network);
  sparc_random stream;
  sparc_random_init(&stream, 5, "test", "layer kinds");
  float *p = sparc_alloc(q.n.params * sizeof *p);
  must(sparc_network_init(q.network, 3, p));
  q.p = draw(&stream, q.n.params, 0.1);
  for (size_t i = 0; i < q.n.params; i++) q.p[i] += (double)p[i];
  sparc_free(p);
  const size_t states = B * q.n.state;
  q.state0 = draw(&stream, states, 0.5);
  q.cotangent = draw(&stream, states, 1);
  q.state_last = sparc_alloc(states * sizeof(double));
  q.dstate0 = sparc_alloc(states * sizeof(double));
  q.prepared = sparc_alloc(q.n.prepared * sizeof(double));
  q.dparams = sparc_alloc(q.n.params * sizeof(double));
  q.work = sparc_alloc(sparc_network_plan_work_bytes(q.plan, SPARC_FLOAT64));
  for (int i = 0; i < N; i++) {
    q.x[i] = (double)((i * 5 + i / 4) % SYMBOLS);
    q.label[i] = (i * 3 + 1) % SYMBOLS;
    q.mask[i] =
        i != 3 && i != T && i != 2 * T + 1; /* one segment inside a sequence, one from the start, one after it */
  }
  return q;
}

static void free_problem(problem *q) {
  double *memory[] = {q->p, q->prepared, q->dparams, q->state0, q->state_last, q->dstate0, q->cotangent};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_free(q->work);
  sparc_network_plan_free(q->plan);
  sparc_network_free(q->network);
}

double cross_entropy_f64(size_t n, size_t classes, const double *logits, const int *labels, double *probabilities,
                         double *dlogits);

static sparc_network_sequence_f64 sequence_of(problem *q, double *const *outputs) {
  return (sparc_network_sequence_f64){
      .x = q->x, .mask = q->mask, .state0 = q->state0, .outputs = outputs, .state_last = q->state_last};
}

/* cross-entropy of every step, and a sum over the last states */
static double loss_of(problem *q, double *doutput) {
  double *const outputs[] = {q->output};
  const sparc_network_sequence_f64 sequence = sequence_of(q, outputs);
  double probabilities[N * SYMBOLS];
  must(sparc_network_prepare_f64(q->network, q->p, q->prepared));
  must(sparc_network_forward_f64(q->plan, q->prepared, &sequence, q->work));
  double loss = cross_entropy_f64(N, SYMBOLS, q->output, q->label, probabilities, doutput);
  for (size_t i = 0; i < B * q->n.state; i++) loss += q->cotangent[i] * q->state_last[i];
  return loss;
}

static void differentiate(problem *q) {
  double *const outputs[] = {q->output};
  const double *const doutputs[] = {q->doutput};
  const sparc_network_sequence_f64 sequence = sequence_of(q, outputs);
  const sparc_network_gradient_f64 gradient = {
      .doutputs = doutputs, .dstate_last = q->cotangent, .dstate0 = q->dstate0, .dparams = q->dparams};
  loss_of(q, q->doutput);
  must(sparc_network_backward_f64(q->plan, q->prepared, &sequence, &gradient, q->work));
}

static void check_numbers(problem *q, const char *what, size_t n, double *values, const double *got) {
  const double step = 1e-5;
  double worst = 0, scale = 1e-3;
  for (size_t i = 0; i < n; i++) {
    const double value = values[i];
    values[i] = value + step;
    const double above = loss_of(q, NULL);
    values[i] = value - step;
    const double below = loss_of(q, NULL);
    values[i] = value;
    worst = fmax(worst, fabs((above - below) / (2 * step) - got[i]));
    scale = fmax(scale, fabs(got[i]));
  }
  if (!(worst <= 1e-6 * scale)) fail_msg("the gradient of %s is off by %.3g of %.3g", what, worst, scale);
}

static void test_gradients(void **state) {
  (void)state;
  const sparc_network_config config = mixed_config();
  problem q = make_problem(&config);
  differentiate(&q);
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(q.network, &blocks);
  for (size_t i = 0; i < blocks; i++)
    check_numbers(&q, block[i].name, block[i].size, q.p + block[i].offset, q.dparams + block[i].offset);
  check_numbers(&q, "state0", B * q.n.state, q.state0, q.dstate0);
  free_problem(&q);
}

/* ---- steps and threads ---------------------------------------------------------------------------- */

static void test_steps(void **state) {
  (void)state;
  const sparc_network_config config = mixed_config();
  problem q = make_problem(&config);
  loss_of(&q, NULL);
  double *now = sparc_alloc(B * q.n.state * sizeof *now), *tapes = sparc_alloc(B * q.n.tape * sizeof *tapes);
  memcpy(now, q.state0, B * q.n.state * sizeof *now);
  for (int t = 0; t < T; t++) {
    double x[B], masks[B], y[B * SYMBOLS];
    for (int b = 0; b < B; b++) x[b] = q.x[b * T + t], masks[b] = q.mask[b * T + t];
    must(sparc_network_step_f64(q.network, q.prepared, B, now, x, masks, y, tapes, 2));
    for (int i = 0; i < B * SYMBOLS; i++) {
      const double expected = q.output[(i / SYMBOLS * T + t) * SYMBOLS + i % SYMBOLS];
      if (fabs(y[i] - expected) > 1e-12) fail_msg("step %d: output %d is off by %g", t, i, y[i] - expected);
    }
  }
  for (size_t i = 0; i < B * q.n.state; i++) assert_true(fabs(now[i] - q.state_last[i]) <= 1e-12);
  sparc_free(now);
  sparc_free(tapes);
  free_problem(&q);
}

/* the float gradient with this many threads */
static void run_threads(const sparc_network *network, const problem *q, int threads, float *dparams) {
  sparc_network_plan *plan;
  must(sparc_network_plan_create(network, B, T, threads, &plan));
  float *p = sparc_alloc(q->n.params * sizeof *p), *prepared = sparc_alloc(q->n.prepared * sizeof *prepared);
  float x[N], output[N * SYMBOLS], doutput[N * SYMBOLS];
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT32));
  for (size_t i = 0; i < q->n.params; i++) p[i] = (float)q->p[i];
  for (int i = 0; i < N; i++) x[i] = (float)q->x[i];
  for (int i = 0; i < N * SYMBOLS; i++) doutput[i] = (float)(i % 11) - 5;
  float *const outputs[] = {output};
  const float *const doutputs[] = {doutput};
  const sparc_network_sequence sequence = {.x = x, .outputs = outputs};
  const sparc_network_gradient gradient = {.doutputs = doutputs, .dparams = dparams};
  must(sparc_network_prepare(network, p, prepared));
  must(sparc_network_forward(plan, prepared, &sequence, work));
  must(sparc_network_backward(plan, prepared, &sequence, &gradient, work));
  sparc_free(p);
  sparc_free(prepared);
  sparc_free(work);
  sparc_network_plan_free(plan);
}

static void test_threads(void **state) {
  (void)state;
  const sparc_network_config config = mixed_config();
  problem q = make_problem(&config);
  float *one = sparc_alloc(q.n.params * sizeof *one);
  run_threads(q.network, &q, 1, one);
  for (int threads = 2; threads <= 7; threads++) {
    float *many = sparc_alloc(q.n.params * sizeof *many);
    run_threads(q.network, &q, threads, many);
    assert_memory_equal(many, one, q.n.params * sizeof *one);
    sparc_free(many);
  }
  sparc_free(one);
  free_problem(&q);
}

/* ---- training ------------------------------------------------------------------------------------- */

/* sequences of random symbols, of different lengths; the class of a step is the symbol of two steps before */
enum { EXAMPLES = 24, LONGEST = 20 };
typedef struct echo {
  float x[EXAMPLES][LONGEST];
  int label[EXAMPLES][LONGEST];
} echo;

static sparc_sample echo_sample(const void *source, int i) {
  const echo *e = source;
  return (sparc_sample){.x = e->x[i], .length = LONGEST - i % 5, .label = -1, .labels = e->label[i]};
}

static sparc_samples make_echo(echo *e) {
  sparc_random stream;
  sparc_random_init(&stream, 1, "test", "echo");
  for (int i = 0; i < EXAMPLES; i++)
    for (int t = 0; t < LONGEST; t++) {
      e->x[i][t] = (float)sparc_random_below(&stream, SYMBOLS);
      e->label[i][t] = t < 2 ? 0 : (int)e->x[i][t - 2];
    }
  return (sparc_samples){.count = EXAMPLES, .channels = 1, .longest = LONGEST, .source = e, .at = echo_sample};
}

static sparc_trainer *train(const sparc_network_config *network, const sparc_samples *samples, int updates,
                            sparc_evaluation *after) {
  sparc_train_config config = sparc_train_defaults(NULL);
  config.network = *network;
  config.network.init = SPARC_INIT_CLASSIFICATION;
  config.batch = 8;
  config.cosine = 0;
  config.warmup = 0;
  config.learning_rate = 0.02;
  config.weight_decay = 0;
  config.updates = updates;
  sparc_trainer *trainer;
  must(sparc_trainer_create(&config, samples, &trainer));
  for (int i = 0; i < updates; i++) must(sparc_trainer_update(trainer, NULL));
  must(sparc_trainer_evaluate(trainer, samples, after));
  return trainer;
}

static void test_training(void **state) {
  (void)state;
  static echo data;
  const sparc_samples samples = make_echo(&data);
  sparc_network_config config = mixed_config();
  config.width = 16;
  const sparc_layer_config kinds[] = {{"conv", "taps=3"}, {"residual", "cell=sparc,H=16"}, {"conv", "taps=2"}};
  config.layer = kinds;
  config.layers = 3;
  sparc_evaluation after;
  sparc_trainer *trainer = train(&config, &samples, 250, &after);
  if (!(after.accuracy > 0.98)) fail_msg("accuracy %g, loss %g", after.accuracy, after.loss);
  sparc_trainer_free(trainer);
}

/* ---- files ---------------------------------------------------------------------------------------- */

static void same_params(const sparc_trainer *a, const sparc_trainer *b) {
  const size_t n = sparc_network_sizes_of(sparc_trainer_info_of(a).network).params;
  assert_int_equal(n, sparc_network_sizes_of(sparc_trainer_info_of(b).network).params);
  assert_memory_equal(sparc_trainer_info_of(a).params, sparc_trainer_info_of(b).params, n * sizeof(float));
}

/* kinds are saved and loaded, and training continues bit-exactly; a layer keeps its configured cell */
static void test_kinds_in_files(void **state) {
  (void)state;
  static echo data;
  const sparc_samples samples = make_echo(&data);
  const sparc_layer_config kinds[] = {
      {"conv", "taps=3"}, {"residual", "cell=gru,H=5"}, {"residual", NULL}, {"cell", "H=6,features=relu"}};
  const char *path = in_folder("mixed.safetensors");
  sparc_network_config config = mixed_config();
  config.cell = "rtu";
  config.H = 4;
  config.layer = kinds;
  config.layers = 4;
  config.width = 12;
  sparc_evaluation trained, loaded;
  sparc_trainer *trainer = train(&config, &samples, 20, &trained), *again;
  must(sparc_trainer_save(trainer, NULL, NULL, 0, path));

  /* the same network, the same next updates */
  must(sparc_trainer_load(path, &samples, own_kinds, 1, &again));
  same_params(trainer, again);
  for (int i = 0; i < 3; i++) {
    must(sparc_trainer_update(trainer, NULL));
    must(sparc_trainer_update(again, NULL));
  }
  same_params(trainer, again);
  const sparc_network_config stored = sparc_network_config_of(sparc_trainer_info_of(again).network);
  assert_string_equal(stored.layer[0].options, "taps=3");
  assert_non_null(strstr(stored.layer[1].options, "cell=gru,H=5"));
  assert_non_null(strstr(stored.layer[2].options, "cell=rtu,"));
  assert_non_null(strstr(stored.layer[3].options, "cell=rtu,H=6,features=relu"));

  /* as a model */
  sparc_model *model;
  must(sparc_model_load_kinds(path, own_kinds, 1, &model));
  assert_string_equal(sparc_model_metadata(model, "format_version"), "4");
  assert_string_equal(sparc_model_metadata(model, "network.layer.0.kind"), "conv");
  must(sparc_model_evaluate(model, &samples, &loaded));
  assert_true(loaded.loss == trained.loss && loaded.accuracy == trained.accuracy);
  sparc_model_free(model);

  /* without the program's kind the file is refused, as are entries that belong to the checkpoint */
  refuses(sparc_model_load(path, 1, &model), SPARC_FORMAT, "layer 0 is of the kind 'conv'");
  sparc_trainer *none;
  refuses(sparc_trainer_load(path, &samples, NULL, 1, &none), SPARC_FORMAT, "layer 0 is of the kind 'conv'");
  const sparc_metadata extra = {"network.layer.9.kind", "conv"};
  refuses(sparc_trainer_save(trainer, NULL, &extra, 1, path), SPARC_INVALID, "a checkpoint uses itself");
  sparc_trainer_free(again);
  sparc_trainer_free(trainer);
}

/* a stack without any cell */
static void test_file_without_cells(void **state) {
  (void)state;
  static echo data;
  const sparc_samples samples = make_echo(&data);
  const sparc_layer_config kinds[] = {{"conv", "taps=3"}, {"conv", "taps=2"}};
  const char *path = in_folder("conv.safetensors");
  sparc_network_config config = mixed_config();
  config.layer = kinds;
  config.layers = 2;
  sparc_evaluation trained, loaded;
  sparc_trainer *trainer = train(&config, &samples, 20, &trained);
  must(sparc_trainer_save(trainer, NULL, NULL, 0, path));
  sparc_model *model;
  must(sparc_model_load_kinds(path, own_kinds, 1, &model));
  must(sparc_model_evaluate(model, &samples, &loaded));
  assert_true(loaded.loss == trained.loss);
  sparc_model_free(model);
  sparc_trainer_free(trainer);
}

/* a file of library kinds with one entry of its metadata changed */
static void expect_bad_file(sparc_tensors *good, const char *key, const char *value, sparc_status want,
                            const char *message) {
  enum { MOST = 128 };
  sparc_tensor_source tensor[MOST] = {{.name = NULL}};
  sparc_metadata entry[MOST];
  size_t entries = 0, count = sparc_tensors_contents_of(good).count;
  assert_true(count <= MOST);
  for (size_t i = 0; i < count; i++) {
    const sparc_tensor_info *t = &sparc_tensors_contents_of(good).tensors[i];
    float *data = sparc_alloc(t->bytes);
    must(sparc_tensors_read(good, t->name, SPARC_U8, data, t->bytes));
    tensor[i] =
        (sparc_tensor_source){.name = t->name, .dtype = t->dtype, .in_type = t->dtype, .rank = t->rank, .data = data};
    memcpy(tensor[i].shape, t->shape, sizeof tensor[i].shape);
  }
  bool found = false;
  for (size_t i = 0; i < sparc_tensors_contents_of(good).metadata_count; i++) {
    entry[entries] = sparc_tensors_contents_of(good).metadata[i];
    if (strcmp(entry[entries].key, key) == 0) {
      found = true;
      entry[entries].value = value;
      if (!value) continue;
    }
    entries++;
  }
  if (!found) entry[entries++] = (sparc_metadata){key, value};
  const char *path = in_folder("bad.safetensors");
  must(sparc_tensors_save(path, tensor, count, entry, entries));
  for (size_t i = 0; i < count; i++) sparc_free((void *)(uintptr_t)tensor[i].data);
  sparc_model *model;
  refuses(sparc_model_load(path, 1, &model), want, message);
}

static void test_bad_files(void **state) {
  (void)state;
  static echo data;
  const sparc_samples samples = make_echo(&data);
  const sparc_layer_config kinds[] = {{"residual", "cell=gru,H=5"}, {"cell", "cell=sparc,H=6"}};
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", in_folder("good.safetensors"));
  sparc_network_config config = mixed_config();
  config.layer = kinds;
  config.layers = 2;
  config.kinds = NULL;
  config.width = 12;
  sparc_evaluation trained;
  sparc_trainer *trainer = train(&config, &samples, 2, &trained);
  must(sparc_trainer_save(trainer, NULL, NULL, 0, path));
  sparc_model *model;
  must(sparc_model_load(path, 1, &model));
  sparc_model_free(model);
  sparc_tensors *good;
  must(sparc_tensors_load(path, &good));
  expect_bad_file(good, "network.layer.1.kind", NULL, SPARC_FORMAT, "'network.layer.1.kind' is missing");
  expect_bad_file(good, "network.layer.1.kind", "attention", SPARC_FORMAT, "layer 1 is of the kind 'attention'");
  expect_bad_file(good, "network.layer.1.kind", "residual", SPARC_FORMAT, "");
  expect_bad_file(good, "network.layer.2.kind", "cell", SPARC_FORMAT, "kind of layer 2, but network.layers is 2");
  expect_bad_file(good, "network.layers", "2147483647", SPARC_FORMAT, "'network.layer.2.kind' is missing");
  expect_bad_file(good, "network.layers", "0", SPARC_FORMAT, "'network.layers' is 0");
  expect_bad_file(good, "network.layers", "-1", SPARC_FORMAT, "");
  expect_bad_file(good, "network.layer.0.options", "cell=gru,H=1000000", SPARC_FORMAT, "");
  expect_bad_file(good, "network.layer.0.options", "cell=nothing,H=5", SPARC_FORMAT, "nothing");
  expect_bad_file(good, "network.layer.0.options", "H=5,=,,=5", SPARC_FORMAT, "");
  expect_bad_file(good, "format_version", "3", SPARC_FORMAT, "");
  sparc_tensors_free(good);
  sparc_trainer_free(trainer);
}

/* a network of equal layers with symbols and a tied head of classes goes through a file */
static void test_file(void **state) {
  (void)state;
  static echo data;
  const sparc_samples samples = make_echo(&data);
  sparc_network_config config = mixed_config();
  config.cell = "sparc";
  config.H = 8;
  config.layer = NULL;
  config.layers = 1;
  sparc_evaluation trained, loaded;
  sparc_trainer *trainer = train(&config, &samples, 20, &trained);
  const char *path = in_folder("symbols.safetensors");
  must(sparc_trainer_save(trainer, NULL, NULL, 0, path));
  sparc_model *model;
  must(sparc_model_load(path, 1, &model));
  assert_string_equal(sparc_model_metadata(model, "format_version"), "3");
  must(sparc_model_evaluate(model, &samples, &loaded));
  assert_true(loaded.loss == trained.loss && loaded.accuracy == trained.accuracy);

  /* probabilities of every step, and the same one step after the other */
  static float whole[EXAMPLES][LONGEST][SYMBOLS];
  must(sparc_model_predict(model, &samples, &whole[0][0][0]));
  float *now = sparc_alloc(sparc_model_info_of(model).state_size * sizeof *now), y[SYMBOLS];
  for (int t = 0; t < LONGEST; t++) {
    double sum = 0;
    must(sparc_model_step(model, now, &data.x[0][t], y));
    for (int k = 0; k < SYMBOLS; k++) {
      sum += (double)y[k];
      assert_true(fabsf(y[k] - whole[0][t][k]) < 1e-5f);
    }
    assert_true(fabs(sum - 1) < 1e-5);
  }
  sparc_free(now);
  sparc_model_free(model);
  sparc_trainer_free(trainer);
}

/* ---- refusals ------------------------------------------------------------------------------------- */

static void test_refusals(void **state) {
  (void)state;
  sparc_network *network;
  sparc_network_config config = mixed_config();
  config.kinds = NULL;
  refuses(sparc_network_create(&config, &network), SPARC_INVALID, "layer.kind is 'conv'");
  config = mixed_config();
  config.width = WIDTH + 1;
  refuses(sparc_network_create(&config, &network), SPARC_INVALID, "a tied head reads 6 features");
  config = mixed_config();
  config.symbols = 0;
  refuses(sparc_network_create(&config, &network), SPARC_INVALID, "symbols is 0");
  config = mixed_config();
  config.symbols = SYMBOLS + 1;
  refuses(sparc_network_create(&config, &network), SPARC_INVALID, "outputs is 7, expected the 8 symbols");
  sparc_layer_config wrong[LAYERS];
  memcpy(wrong, mixed, sizeof wrong);
  wrong[0].options = "taps=0";
  config = mixed_config();
  config.layer = wrong;
  refuses(sparc_network_create(&config, &network), SPARC_INVALID, "option taps is '0'");
  wrong[0] = mixed[0];
  wrong[2].options = "cell=gru,H=6,featurs=relu";
  refuses(sparc_network_create(&config, &network), SPARC_INVALID, "featurs");

  config = mixed_config();
  problem q = make_problem(&config);
  double *const outputs[] = {q.output};
  const double *const doutputs[] = {q.doutput};
  sparc_network_sequence_f64 sequence = sequence_of(&q, outputs);
  const sparc_network_gradient_f64 gradient = {.doutputs = doutputs, .dparams = q.dparams, .dx = q.x};
  must(sparc_network_prepare_f64(q.network, q.p, q.prepared));
  refuses(sparc_network_backward_f64(q.plan, q.prepared, &sequence, &gradient, q.work), SPARC_INVALID, "gradient.dx");
  const double bad[] = {-1, SYMBOLS, 0.5, NAN};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    q.x[4] = bad[i];
    refuses(sparc_network_forward_f64(q.plan, q.prepared, &sequence, q.work), SPARC_INVALID, "x[4] is");
  }
  q.x[4] = 0;
  q.mask[2] = 0.5;
  refuses(sparc_network_forward_f64(q.plan, q.prepared, &sequence, q.work), SPARC_INVALID, "mask[0][2] is 0.5");
  free_problem(&q);
}

static void test_float_only(void **state) {
  (void)state;
  sparc_layer_kind single = conv_kind;
  single.ops_f64 = NULL;
  const sparc_layer_kind *const kinds[] = {&single, NULL};
  sparc_network_config config = mixed_config();
  config.kinds = kinds;
  sparc_network *network;
  must(sparc_network_create(&config, &network));
  double nothing = 0;
  refuses(sparc_network_prepare_f64(network, &nothing, &nothing), SPARC_UNSUPPORTED, "layer 0, of kind conv");
  sparc_network_free(network);
}

/* labels of every step must be there, and classes of the head */
static void test_labels(void **state) {
  (void)state;
  static echo data;
  sparc_samples samples = make_echo(&data);
  sparc_train_config config = sparc_train_defaults(NULL);
  config.network = mixed_config();
  sparc_trainer *trainer;
  data.label[1][2] = SYMBOLS;
  refuses(sparc_trainer_create(&config, &samples, &trainer), SPARC_INVALID, "label of step 2 is 7");
  samples.targets = SYMBOLS;
  samples.target_steps = 1;
  refuses(sparc_trainer_create(&config, &samples, &trainer), SPARC_INVALID, "the head learns classes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradients),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_kinds_in_files),
      cmocka_unit_test(test_file_without_cells),
      cmocka_unit_test(test_bad_files),
      cmocka_unit_test(test_training),
      cmocka_unit_test(test_file),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_float_only),
      cmocka_unit_test(test_labels),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
