/* SPDX-License-Identifier: MIT */
/* test_stack.c: the calls of the library run on a thread with a stack of 128 KiB, for every cell and in shapes that
 * need the workspace of a product. Frames are larger with sanitizers and without optimisation: there the tests are
 * skipped. */
#include "scratch.h"
#include "sparc/sparc.h"
#include "support_network.h"
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define FRAMES_AS_COMPILED 0
#else
#define FRAMES_AS_COMPILED 1
#endif

enum { STACK = 128 << 10 };

typedef struct call {
  void (*body)(const char *kind);
  const char *kind;
} call;

static void *run(void *context) {
  const call *c = context;
  c->body(c->kind);
  return NULL;
}

/* an overflow ends the program by a signal */
static void on_small_stack(void (*body)(const char *kind), const char *kind) {
  pthread_attr_t attributes;
  pthread_t thread;
  call c = {body, kind};
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, run, &c), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
}

static void for_every_cell(void (*body)(const char *kind)) {
  if (!FRAMES_AS_COMPILED) skip();
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) on_small_stack(body, *kind);
}

static void need(sparc_status status, const char *kind, const char *what) {
  if (status != SPARC_OK) fail_msg("%s: %s: %s", kind, what, sparc_error());
}

static float *floats(size_t count) {
  float *values = sparc_alloc(count * sizeof *values);
  assert_non_null(values);
  for (size_t i = 0; i < count; i++) values[i] = 0.1f * sinf((float)i);
  return values;
}

/* ---- cells --------------------------------------------------------------------------------------- */

/* rows of more than 256 numbers and as many columns: products pack both factors */
enum { B = 2, T = 140, D = 300, H = 160 };

static void sequence(const char *kind) {
  sparc_cell *cell;
  sparc_plan *plan;
  need(sparc_cell_create(&(sparc_cell_config){.kind = kind, .D = D, .H = H}, &cell), kind, "create");
  need(sparc_plan_create(cell, B, T, &(sparc_plan_config){.threads = 2}, &plan), kind, "plan");
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  float *params = floats(n.params), *prepared = floats(n.prepared), *dparams = floats(n.params);
  float *x = floats(B * T * D), *y = floats(B * T * n.output), *dx = floats(B * T * D);
  float *state = floats(B * n.state), *tape = floats(B * n.tape), *trace = floats(n.trace);
  void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved),
       *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).work);
  need(sparc_cell_init(cell, SPARC_INIT_CLASSIFICATION, 1, NULL, params), kind, "init");
  need(sparc_prepare(cell, params, prepared), kind, "prepare");

  const sparc_sequence io = {.x = x, .y = y, .state_last = state};
  const sparc_sequence_gradient gradient = {.dy = y, .dx = dx, .dparams = dparams};
  need(sparc_forward(plan, prepared, &io, saved, work), kind, "forward");
  need(sparc_backward(plan, prepared, &io, saved, &gradient, work), kind, "backward");
  need(sparc_step(cell, prepared, state, x, 1, y, tape), kind, "step");
  if (n.trace) {
    memset(trace, 0, n.trace * sizeof *trace);
    need(sparc_step_rtrl(cell, prepared, state, trace, x, 1, y, tape), kind, "step with sensitivities");
    need(sparc_rtrl_gradient(cell, prepared, trace, tape, y, dparams, dx), kind, "gradient of a step");
  }

  void *blocks[] = {params, prepared, dparams, x, y, dx, state, tape, trace, saved, work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  sparc_plan_free(plan);
  sparc_cell_free(cell);
}

static void sequences_and_steps(void **state) {
  (void)state;
  for_every_cell(sequence);
}

/* ---- networks, models, learners --------------------------------------------------------------------- */

enum { EXAMPLES = 8, STEPS = 40, WIDTH = 300 };

static sparc_sample example(const void *source, int index) {
  return (sparc_sample){.x = source, .length = STEPS, .label = index % 2};
}

static void training(const char *kind) {
  float *x = floats(STEPS), y[2];
  const sparc_samples samples = {.count = EXAMPLES, .channels = 1, .longest = STEPS, .source = x, .at = example};
  const sparc_head_config head = {.input = SPARC_HEAD_MEAN, .outputs = 2};
  sparc_train_config config = sparc_train_defaults(NULL);
  config.network = (sparc_network_config){.cell = kind, .H = H, .inputs = 1, .layers = 1, .width = WIDTH};
  config.network.embedding = SPARC_EMBED_LINEAR, config.network.init = SPARC_INIT_CLASSIFICATION;
  config.network.head = &head, config.network.heads = 1;
  config.updates = 1, config.warmup = 0, config.batch = EXAMPLES, config.threads = 2;
  sparc_trainer *trainer;
  const char *path = in_folder("model.safetensors");
  need(sparc_trainer_create(&config, &samples, &trainer), kind, "trainer");
  need(sparc_trainer_update(trainer, NULL), kind, "update");
  need(sparc_trainer_save(trainer, NULL, NULL, 0, path), kind, "save");
  sparc_trainer_free(trainer);

  sparc_model *model;
  float *outputs = floats(2 * EXAMPLES);
  need(sparc_model_load(path, 2, &model), kind, "load");
  float *state = floats(sparc_model_info_of(model).state_size);
  memset(state, 0, sparc_model_info_of(model).state_size * sizeof *state);
  for (int t = 0; t < STEPS; t++) need(sparc_model_step(model, state, x + t, y), kind, "step of a model");
  need(sparc_model_predict(model, &samples, outputs), kind, "predict");
  sparc_model_free(model);
  sparc_free(state);
  sparc_free(outputs);
  sparc_free(x);
}

static void networks_and_models(void **state) {
  (void)state;
  for_every_cell(training);
}

static void learning(const char *kind) {
  sparc_learner_config config = sparc_learner_defaults();
  config.network.cell = kind, config.network.inputs = 1, config.network.H = 16, config.outputs = 1;
  sparc_learner *learner;
  const sparc_status status = sparc_learner_create(&config, &learner);
  if (status == SPARC_UNSUPPORTED) return; /* no RTRL form */
  need(status, kind, "learner");
  const char *path = in_folder("learner.safetensors");
  for (int t = 0; t < 3; t++) {
    float x = (float)t, y;
    need(sparc_learner_step(learner, &x, &y), kind, "step of a learner");
    need(sparc_learner_observe(learner, &x), kind, "learn");
  }
  need(sparc_learner_save(learner, NULL, NULL, 0, path), kind, "save");
  sparc_learner_free(learner);
  need(sparc_learner_load(path, &learner), kind, "restore");
  sparc_learner_free(learner);
}

static void learners(void **state) {
  (void)state;
  for_every_cell(learning);
}

/* ---- agents --------------------------------------------------------------------------------------- */

static void acting(const char *kind) {
  sparc_ppo_config config;
  sparc_ppo *ppo;
  sparc_agent *agent;
  const char *path = in_folder("agent.safetensors");
  need(sparc_ppo_defaults("cartpole", &config), kind, "defaults");
  config.cell = kind, config.cell_options = small_options(kind), config.H = 16, config.width = 16, config.threads = 2;
  config.rollout_steps = 128, config.streams = 2, config.minibatches = 2, config.epochs = 1;
  need(sparc_ppo_create(&config, &ppo), kind, "agent");
  need(sparc_ppo_iterate(ppo, NULL), kind, "iterate");
  need(sparc_ppo_save(ppo, NULL, 0, path), kind, "save");
  sparc_ppo_free(ppo);
  need(sparc_agent_load(path, &agent), kind, "load");
  const float observation[8] = {0};
  float action[8];
  need(sparc_agent_step(agent, NULL, observation, 0, NULL, action), kind, "step of an agent");
  sparc_agent_free(agent);
}

static void agents(void **state) {
  (void)state;
  for_every_cell(acting);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sequences_and_steps),
      cmocka_unit_test(networks_and_models),
      cmocka_unit_test(learners),
      cmocka_unit_test(agents),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
