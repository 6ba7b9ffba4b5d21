/* SPDX-License-Identifier: MIT */
/* test_ppo.c: whole runs of PPO: alignment of carries and resets, minibatches, the same bits for any number of threads
 * and after restoring, agents from files, bad configurations, and that something is learned. */
#include "base/random.h"
#include "rl/actor_critic.h"
#include "rl/ppo.h"
#include "scratch.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* a run small enough for a test */
static sparc_ppo_config small(const char *task, const char *cell) {
  sparc_ppo_config c;
  assert_int_equal(sparc_ppo_defaults(task, &c), SPARC_OK);
  c.cell = cell;
  c.state_size = strcmp(cell, "mamba3") == 0 ? 64 : 16;
  c.width = 16;
  c.rollout_steps = 256;
  c.epochs = 2;
  c.minibatches = 4;
  c.seed = 3;
  c.threads = 1;
  return c;
}

static sparc_ppo *create(const sparc_ppo_config *config) {
  sparc_ppo *ppo = NULL;
  if (sparc_ppo_create(config, &ppo) != SPARC_OK) fail_msg("%s %s: %s", config->cell, config->task, sparc_error());
  return ppo;
}

static sparc_ppo_report iterate(sparc_ppo *ppo) {
  sparc_ppo_report report;
  if (sparc_ppo_iterate(ppo, &report) != SPARC_OK) fail_msg("%s", sparc_error());
  return report;
}

/* ---- settings -------------------------------------------------------------------------------------- */

/* [tab:rl_hyperparameters], and the rates of single tasks */
static void defaults_are_the_papers(void **state) {
  (void)state;
  const struct {
    const char *task;
    long steps;
    int epochs, budget, normalised;
    double rate;
  } cases[] = {{"repeat-previous", 3999744, 10, 128, 0, 1e-4},
               {"repeat-first", 3999744, 10, 128, 0, 1e-3},
               {"higher-lower", 3999744, 10, 128, 0, 1e-5},
               {"cartpole", 3999744, 10, 128, 0, 1e-4},
               {"ant-p", 4999168, 4, 384, 1, 1e-4},
               {"walker-p", 4999168, 4, 384, 1, 3e-5},
               {"cheetah-p8", 4999168, 4, 384, 1, 1e-4},
               {"antics", 3999744, 10, 128, 0, 1e-4}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    sparc_ppo_config c;
    assert_int_equal(sparc_ppo_defaults(cases[i].task, &c), SPARC_OK);
    assert_int_equal(c.rollouts * c.rollout_steps, cases[i].steps);
    assert_int_equal(c.epochs, cases[i].epochs);
    assert_int_equal(c.state_size, cases[i].budget);
    assert_int_equal(c.obsnorm == SPARC_OBSNORM_FEATURE && c.rewardnorm, cases[i].normalised);
    assert_true(c.learning_rate == cases[i].rate);
    assert_true(c.rollout_steps == 2048 && c.streams == 1 && c.minibatches == 32 && c.width == 64);
    assert_true(c.discount == 0.99 && c.gae_lambda == 0.95 && c.clip_range == 0.2 && c.value_coefficient == 0.5);
    assert_true(c.entropy_coefficient == 0 && c.max_gradient_norm == 0.5 && c.action_limit == 2);
  }
  /* parameters of two agents */
  const struct {
    const char *task;
    size_t params;
  } agents[] = {{"repeat-previous", 25799}, {"repeat-first", 25863}};
  for (size_t i = 0; i < COUNT(agents); i++) {
    sparc_ppo_config c;
    assert_int_equal(sparc_ppo_defaults(agents[i].task, &c), SPARC_OK);
    sparc_ppo *ppo = create(&c);
    assert_int_equal(sparc_ppo_info_of(ppo).parameters, agents[i].params);
    sparc_ppo_free(ppo);
  }
}

/* ---- alignment ------------------------------------------------------------------------------------ */

static const char *const cells[] = {"sparc", "rtu", "lru", "rglru", "gateloop", "gru", "mamba3"};

/* with a rate of 0 every ratio stays 1 to rounding: what the update rebuilds from carries, masks and observations is
 * what the rollout saw, at its first step, after resets, and in the second rollout, too */
static void check_ratios(const char *task, const char *cell, int streams) {
  sparc_ppo_config c = small(task, cell);
  c.streams = streams;
  c.learning_rate = 0;
  sparc_ppo *ppo = create(&c);
  for (int k = 0; k < 2; k++) {
    const sparc_ppo_diagnostics d = iterate(ppo).update;
    /* k2 is a mean of squares over 256 steps, so no log-ratio is above sqrt(512 k2) = 7e-6 */
    if (!(d.k2 < 1e-13) || !(fabs(d.ratio - 1) < 1e-6) || d.clip_fraction != 0)
      fail_msg("%s %s, %d streams, rollout %d: ratio %.9g, k2 %g, expected 1 and 0", cell, task, streams, k + 1,
               d.ratio, d.k2);
  }
  sparc_ppo_free(ppo);
}

static void ratios_are_one_before_the_first_step(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(cells); i++) {
    check_ratios("cartpole", cells[i], 1);
    check_ratios("noisy-pendulum", cells[i], 1);
    check_ratios("cartpole", cells[i], 4);
  }
}

/* ---- activity -------------------------------------------------------------------------------------- */

static void activities_are_those_of_the_cell(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(cells); i++) {
    const sparc_ppo_config c = small("repeat-previous", cells[i]);
    const bool sparc = strcmp(cells[i], "sparc") == 0, gated = sparc || strcmp(cells[i], "rglru") == 0;
    sparc_ppo *ppo = create(&c);
    const sparc_ppo_activity first = iterate(ppo).activity, second = iterate(ppo).activity;
    assert_true(first.state_rms > 0 && isfinite(first.state_rms));
    assert_true(sparc ? first.saturation >= 0 && first.saturation < 1 : isnan(first.saturation));
    /* SPARC's write gates start at their neutral value */
    assert_true(sparc ? first.gate_deviation == 0 && second.gate_deviation > 0 : gated == !isnan(first.gate_deviation));
    sparc_ppo_free(ppo);
  }
}

/* ---- minibatches ----------------------------------------------------------------------------------- */

static void check_coverage(size_t N, size_t T, size_t window, size_t M) {
  enum { MOST = 512 };
  const rollout r = {.n = {.N = N, .T = T}};
  int order[MOST], rows[MOST], seen[MOST] = {0};
  sparc_random stream;
  sparc_random_init(&stream, 5, "test", "coverage");
  random_permutation(&stream, order, (int)(N * T / window));
  for (size_t k = 0; k < N * T / M; k++) {
    rollout_items(&r, window, order, k, M, rows);
    for (size_t m = 0; m < M; m++) {
      seen[rows[m]]++;
      /* inside a window one step after the other; a window starts at a multiple of its length */
      if (m % window != 0) assert_int_equal(rows[m], rows[m - 1] + 1);
      if (m % window == 0) assert_int_equal((size_t)rows[m] % (T + 1) % window, 0);
    }
  }
  for (size_t i = 0; i < N; i++)
    for (size_t t = 0; t <= T; t++) assert_int_equal(seen[rollout_row(&r, i, t)], t < T);
}

/* streams fail on several threads: the message is that of the first stream, whichever thread was faster */
static void first_failing_stream_is_reported(void **state) {
  (void)state;
  sparc_ppo_config c = small("repeat-previous", "rtu");
  c.traces = SPARC_TRACES_STORED;
  c.streams = 8;
  c.threads = 4;
  sparc_ppo *ppo = create(&c);
  for (int round = 0; round < 20; round++) {
    collection_stats stats;
    collect_begin(ppo, &stats);
    for (size_t i = 2; i < 8; i++) ppo->rollout.masks[rollout_row(&ppo->rollout, i, 0)] = 1 - (float)i / 16;
    assert_int_equal(collect_step(ppo, 0, &stats), SPARC_INVALID);
    assert_string_equal(sparc_error(), "stream 2: mask of stream 0 is 0.875, expected 0 or 1");
  }
  sparc_ppo_free(ppo);
}

static void minibatches_cover_every_step_once(void **state) {
  (void)state;
  check_coverage(1, 256, 1, 64);
  check_coverage(4, 64, 1, 32);
  check_coverage(1, 256, TBPTT_STEPS, 64);
  check_coverage(2, 128, TBPTT_STEPS, 64);
}

/* ---- the same bits ---------------------------------------------------------------------------------- */

static float *params_after(sparc_ppo *ppo, int rollouts, size_t *bytes) {
  for (int k = 0; k < rollouts; k++) iterate(ppo);
  *bytes = sparc_ppo_info_of(ppo).parameters * sizeof(float);
  float *copy = sparc_alloc(*bytes);
  memcpy(copy, ppo->params, *bytes);
  return copy;
}

/* everything that decides over bits */
static const struct run_kind {
  const char *task, *cell;
  int streams;
  sparc_traces traces;
  sparc_encoder_gradient encoder;
  sparc_refresh refresh;
} kinds[] = {
    {"cartpole", "sparc", 1, SPARC_TRACES_STORED, SPARC_ENCODER_LOCAL, SPARC_REFRESH_NONE},
    {"cartpole", "sparc", 2, SPARC_TRACES_AUTO, SPARC_ENCODER_EXACT, SPARC_REFRESH_EPOCH},
    {"repeat-previous", "rtu", 4, SPARC_TRACES_STORED, SPARC_ENCODER_LOCAL, SPARC_REFRESH_NONE},
    {"repeat-previous", "sparc", 2, SPARC_TRACES_FREE, SPARC_ENCODER_LOCAL, SPARC_REFRESH_NONE},
    {"noisy-pendulum", "gru", 2, SPARC_TRACES_AUTO, SPARC_ENCODER_LOCAL, SPARC_REFRESH_NONE},
    {"cartpole", "sparc", 1, SPARC_TRACES_FREE, SPARC_ENCODER_LOCAL, SPARC_REFRESH_NONE},
    {"noisy-pendulum", "rglru", 2, SPARC_TRACES_FREE, SPARC_ENCODER_LOCAL, SPARC_REFRESH_NONE},
    {"cartpole", "gateloop", 1, SPARC_TRACES_STORED, SPARC_ENCODER_EXACT, SPARC_REFRESH_NONE},
    {"repeat-previous", "sparc", 2, SPARC_TRACES_AUTO, SPARC_ENCODER_EXACT, SPARC_REFRESH_NONE},
};

/* the card task keeps its few observations, and so its grouped traces */
static sparc_ppo_config config_of(const struct run_kind *kind) {
  sparc_ppo_config c = small(kind->task, kind->cell);
  c.streams = kind->streams;
  c.traces = kind->traces;
  c.encoder = kind->encoder;
  c.refresh = kind->refresh;
  c.obsnorm = strcmp(kind->task, "repeat-previous") == 0 ? SPARC_OBSNORM_NONE : SPARC_OBSNORM_FEATURE;
  c.rewardnorm = SPARC_REWARDNORM_RETURN;
  return c;
}

/* the library's cart-poles through reset_all and step_all: a bit-identical run */
static sparc_envs *elsewhere;

static sparc_status elsewhere_open(const char *options, sparc_env_shape *shape, void **model) {
  (void)options, (void)model;
  *shape = sparc_envs_info_of(elsewhere).shape;
  return SPARC_OK;
}

static sparc_status elsewhere_reset(void *model, int n, float *observations) {
  (void)model, (void)n;
  return sparc_envs_reset(elsewhere, observations);
}

static sparc_status elsewhere_step(void *model, int n, const float *actions, float *observations, float *rewards,
                                   float *masks) {
  (void)model, (void)n;
  return sparc_envs_step(elsewhere, actions, observations, rewards, masks, NULL, NULL);
}

static void environments_elsewhere_change_no_bit(void **state) {
  (void)state;
  const sparc_env_kind kind = {.version = SPARC_ENV_VERSION,
                               .name = "cartpole/elsewhere",
                               .open = elsewhere_open,
                               .reset_all = elsewhere_reset,
                               .step_all = elsewhere_step};
  sparc_ppo_config c = config_of(&kinds[1]);
  c.traces = SPARC_TRACES_STORED;
  size_t bytes;
  sparc_ppo *ppo = create(&c);
  float *want = params_after(ppo, 2, &bytes);
  sparc_ppo_free(ppo);

  const sparc_envs_config envs = {.name = c.task, .n = c.streams, .seed = c.seed, .threads = 1};
  assert_int_equal(sparc_envs_create(&envs, &elsewhere), SPARC_OK);
  c.task = NULL;
  c.kind = &kind;
  ppo = create(&c);
  float *got = params_after(ppo, 2, &bytes);
  assert_memory_equal(got, want, bytes);

  /* it comes back with its weights, at the beginning of new episodes, for those who have the kind */
  const char *path = in_folder("elsewhere.safetensors");
  assert_int_equal(sparc_ppo_save(ppo, NULL, 0, path), SPARC_OK);
  sparc_ppo_free(ppo);
  assert_int_equal(sparc_ppo_load(path, NULL, 1, &ppo), SPARC_INVALID);
  assert_int_equal(sparc_ppo_load(path, &kind, 1, &ppo), SPARC_OK);
  assert_int_equal(sparc_ppo_info_of(ppo).rollouts_done, 2);
  assert_memory_equal(ppo->params, got, bytes);
  const rollout *r = &ppo->rollout;
  for (size_t i = 0; i < r->n.N; i++) assert_true(r->masks[rollout_row(r, i, r->n.T)] == 0);
  iterate(ppo);
  assert_int_equal(sparc_ppo_info_of(ppo).rollouts_done, 3);
  sparc_ppo_free(ppo);
  sparc_envs_free(elsewhere);
  sparc_free(want);
  sparc_free(got);
}

static void threads_change_no_bit(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(kinds); i++) {
    sparc_ppo_config c = config_of(&kinds[i]);
    float *want = NULL;
    for (c.threads = 1; c.threads <= 3; c.threads++) {
      size_t bytes;
      sparc_ppo *ppo = create(&c);
      float *got = params_after(ppo, 2, &bytes);
      if (!want) want = got;
      if (memcmp(got, want, bytes) != 0) fail_msg("%s %s: %d threads give other bits", c.cell, c.task, c.threads);
      if (got != want) sparc_free(got);
      sparc_ppo_free(ppo);
    }
    sparc_free(want);
  }
}

static void restored_runs_continue_bit_exactly(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(kinds); i++) {
    const sparc_ppo_config c = config_of(&kinds[i]);
    size_t bytes;
    sparc_ppo *ppo = create(&c), *restored = NULL;
    sparc_free(params_after(ppo, 2, &bytes));
    const sparc_metadata extra = {"note", "half way"};
    assert_int_equal(sparc_ppo_save(ppo, &extra, 1, in_folder("run.safetensors")), SPARC_OK);
    float *want = params_after(ppo, 2, &bytes);
    sparc_ppo_free(ppo);
    if (sparc_ppo_load(in_folder("run.safetensors"), NULL, 2, &restored) != SPARC_OK) fail_msg("%s", sparc_error());
    assert_int_equal(sparc_ppo_info_of(restored).rollouts_done, 2);
    float *got = params_after(restored, 2, &bytes);
    if (memcmp(got, want, bytes) != 0) fail_msg("%s %s: a restored run has other bits", c.cell, c.task);
    sparc_ppo_free(restored);
    sparc_free(got);
    sparc_free(want);
  }
}

/* before the first update of a rollout its sensitivities are those of current parameters; later they are not */
static void sensitivities_age(void **state) {
  (void)state;
  for (size_t i = 0; i < 5; i++) {
    sparc_ppo_config c = small("cartpole", cells[i]);
    c.streams = 2;
    c.refresh = SPARC_REFRESH_MEASURE;
    c.epochs = 3;
    c.learning_rate = 1e-2;
    sparc_ppo *ppo = create(&c);
    iterate(ppo);
    const sparc_ppo_staleness s = iterate(ppo).staleness; /* the second rollout starts from a carry that is not zero */
    assert_int_equal(s.epochs, 3);
    assert_true(fabs(s.cosine[0] - 1) < 1e-6 && fabs(s.ratio[0] - 1) < 1e-6);
    assert_true(s.cosine[1] < 1 - 1e-6 && s.cosine[2] < 1 - 1e-6);
    sparc_ppo_free(ppo);
  }
}

/* ---- stored, recorded, grouped -------------------------------------------------------------------------- */

/* the gradient's norm of a whole rollout in one minibatch, in the second rollout, so that the boundary counts */
static double norm_of(const char *task, const char *cell, int streams, sparc_encoder_gradient encoder,
                      sparc_traces traces, int interval) {
  sparc_ppo_config c = small(task, cell);
  c.streams = streams;
  c.traces = traces;
  c.trace_interval = interval;
  c.encoder = encoder;
  c.epochs = c.minibatches = 1;
  c.learning_rate = 1e-2;
  sparc_ppo *ppo = create(&c);
  iterate(ppo);
  const double norm = iterate(ppo).update.gradient_norm;
  sparc_ppo_free(ppo);
  return norm;
}

static void stored_and_recorded_gradients_agree(void **state) {
  (void)state;
  const struct {
    const char *task;
    int streams, interval;
    sparc_encoder_gradient encoder;
  } cases[] = {{"cartpole", 1, 0, SPARC_ENCODER_LOCAL},        {"cartpole", 2, 0, SPARC_ENCODER_LOCAL},
               {"cartpole", 1, 40, SPARC_ENCODER_LOCAL},       {"repeat-previous", 1, 0, SPARC_ENCODER_LOCAL},
               {"repeat-previous", 4, 0, SPARC_ENCODER_LOCAL}, {"cartpole", 2, 0, SPARC_ENCODER_EXACT},
               {"repeat-previous", 2, 0, SPARC_ENCODER_EXACT}};
  for (size_t i = 0; i < 5; i++) {
    for (size_t k = 0; k < COUNT(cases); k++) {
      const char *task = cases[k].task;
      const int streams = cases[k].streams;
      const double want = norm_of(task, cells[i], streams, cases[k].encoder, SPARC_TRACES_STORED, 0);
      const double got = norm_of(task, cells[i], streams, cases[k].encoder, SPARC_TRACES_FREE, cases[k].interval);
      if (!(fabs(got - want) <= 1e-4 * want))
        fail_msg("%s %s, case %zu: the gradient's norm is %.9g stored and %.9g recorded", cells[i], task, k, want, got);
    }
  }
}

/* a task that shows three observations, but in some episodes ever new ones: grouped traces give way to records */
typedef struct moody {
  int t, new_ones;
} moody;

static sparc_status moody_open(const char *options, sparc_env_shape *shape, void **model) {
  (void)options, (void)model;
  *shape = (sparc_env_shape){.observation = 1, .choices = 2, .action = 1, .horizon = 300};
  return SPARC_OK;
}

static size_t moody_bytes(const void *model) {
  (void)model;
  return sizeof(moody);
}

static void moody_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)model, (void)scratch;
  *(moody *)state = (moody){.new_ones = sparc_random_uniform(random) < 0.05};
  *observation = 0;
}

static void moody_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                       float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)random, (void)done;
  moody *m = state;
  m->t++;
  *reward = *action == (float)(m->t % 2) ? 0.1F : 0;
  *observation = (float)(m->new_ones ? m->t : m->t % 3);
}

static const sparc_env_kind moody_kind = {.version = SPARC_ENV_VERSION,
                                          .name = "moody",
                                          .open = moody_open,
                                          .state_bytes = moody_bytes,
                                          .reset = moody_reset,
                                          .step = moody_step};

static void large_alphabets_are_handled(void **state) {
  (void)state;
  sparc_ppo_config c = small("moody", "sparc");
  c.kind = &moody_kind;
  c.learning_rate = 0; /* the same rollouts with both methods */
  c.epochs = c.minibatches = 1;
  c.traces = SPARC_TRACES_STORED;
  sparc_ppo *stored = create(&c);
  c.traces = SPARC_TRACES_FREE;
  sparc_ppo *free_of_traces = create(&c);
  int grouped = 0, recorded = 0;
  for (int k = 0; k < 60; k++) {
    const double want = iterate(stored).update.gradient_norm;
    const sparc_ppo_report report = iterate(free_of_traces);
    const double got = report.update.gradient_norm;
    grouped += report.symbols > 0;
    recorded += report.symbols == 0;
    if (!(fabs(got - want) <= 1e-4 * want))
      fail_msg("rollout %d, %d symbols: the gradient's norm is %.9g stored and %.9g without traces", k + 1,
               report.symbols, want, got);
  }
  if (grouped < 10 || recorded < 2)
    fail_msg("%d rollouts were grouped, %d were not: the task is badly chosen", grouped, recorded);
  sparc_ppo_free(stored);
  sparc_ppo_free(free_of_traces);
}

/* an environment whose physics breaks down once in an episode of up to 100 steps */
static void brittle_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                         float *observation, float *reward, int *done) {
  moody_step(model, scratch, state, random, action, observation, reward, done);
  const moody *m = state;
  if (m->t == 100) *observation = NAN;
}

static void breakdowns_end_episodes_and_are_counted(void **state) {
  (void)state;
  sparc_env_kind brittle = moody_kind;
  brittle.name = "brittle";
  brittle.step = brittle_step;
  sparc_ppo_config c = small("brittle", "sparc");
  c.kind = &brittle;
  sparc_ppo *ppo = create(&c);
  const sparc_ppo_report first = iterate(ppo), second = iterate(ppo);
  assert_int_equal(first.episodes, 2); /* of 256 steps */
  assert_int_equal(first.faults, 2);
  assert_int_equal(second.faults, 5);
  assert_true(first.mean_length == 100 && isfinite(first.mean_return) && isfinite(second.update.gradient_norm));
  sparc_ppo_free(ppo);
}

/* ---- files ------------------------------------------------------------------------------------------ */

/* an agent's file with one entry of its metadata changed, or left out (value NULL), and without tensors */
static void rewrite(const char *from, const char *to, const char *key, const char *value) {
  sparc_tensors *file;
  sparc_metadata kept[64];
  size_t count = 0;
  assert_int_equal(sparc_tensors_load(from, &file), SPARC_OK);
  for (size_t i = 0; i < sparc_tensors_contents_of(file).metadata_count; i++) {
    kept[count] = sparc_tensors_contents_of(file).metadata[i];
    if (strcmp(kept[count].key, key) == 0) kept[count].value = value;
    count += kept[count].value != NULL;
  }
  assert_int_equal(sparc_tensors_save(to, NULL, 0, kept, count), SPARC_OK);
  sparc_tensors_free(file);
}

static void files_that_are_no_agents_are_refused(void **state) {
  (void)state;
  const sparc_ppo_config c = small("cartpole", "rtu");
  sparc_ppo *ppo = create(&c), *restored;
  sparc_agent *agent;
  assert_int_equal(sparc_ppo_save(ppo, NULL, 0, in_folder("good")), SPARC_OK);
  sparc_ppo_free(ppo);
  const struct {
    const char *key, *value, *fragment;
  } cases[] = {{"format", "sparc-checkpoint", "is not an agent"},
               {"format", NULL, "is not an agent"},
               {"format_version", "2", "format version '2'"},
               {"cell", NULL, "metadata 'cell' is missing"},
               {"cell", "rtuu", "rtu"},
               {"H", "-3", "metadata 'H' is '-3'"},
               {"width", "1e9", "metadata 'width' is '1e9'"},
               {"obsnorm", "all", "metadata 'obsnorm' is 'all'"},
               {"rate", "nan", "metadata 'rate' is 'nan', expected a number from 0 to 1e+06"},
               {"rewardnorm", "return", "metadata 'rewardnorm' is 'return', expected a whole number from 0 to 1"},
               {"rollouts_done", "-1", "metadata 'rollouts_done' is '-1'"},
               {"horizon", NULL, "metadata 'horizon' is missing"},
               {"seed", "0", "tensor 'embed.weight' is missing"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    rewrite(in_folder("good"), in_folder("bad"), cases[i].key, cases[i].value);
    assert_int_not_equal(sparc_agent_load(in_folder("bad"), &agent), SPARC_OK);
    assert_null(agent);
    if (!strstr(sparc_error(), cases[i].fragment))
      fail_msg("an agent with %s: the message is '%s', expected '%s'", cases[i].key, sparc_error(), cases[i].fragment);
    assert_int_not_equal(sparc_ppo_load(in_folder("bad"), NULL, 1, &restored), SPARC_OK);
    assert_null(restored);
  }
}

/* ---- agents ------------------------------------------------------------------------------------------ */

static void agents_act_as_the_run_would(void **state) {
  (void)state;
  sparc_ppo_config c = small("noisy-pendulum", "sparc");
  c.obsnorm = SPARC_OBSNORM_FEATURE;
  sparc_ppo *ppo = create(&c);
  sparc_agent *agent = NULL;
  iterate(ppo);
  assert_int_equal(sparc_ppo_save(ppo, NULL, 0, in_folder("agent.safetensors")), SPARC_OK);
  if (sparc_agent_load(in_folder("agent.safetensors"), &agent) != SPARC_OK) fail_msg("%s", sparc_error());
  assert_int_equal(sparc_agent_info_of(agent).shape.observation, 2);
  assert_int_equal(sparc_agent_info_of(agent).shape.choices, 0);
  assert_string_equal(sparc_agent_metadata(agent, "task"), "noisy-pendulum");
  /* the mean of the policy, from the run's own parameters, moments and network */
  float *states = sparc_alloc(ppo->n.state * sizeof(float)), *tape = sparc_alloc(ppo->n.tape * sizeof(float));
  for (int t = 0; t < 5; t++) {
    const float observation[2] = {cosf((float)t), sinf((float)t)}, mask = t == 0 ? 0 : 1;
    float x[2], y[3], action;
    memcpy(x, observation, sizeof x);
    observation_normalise(&ppo->observations, false, x);
    assert_int_equal(sparc_network_step(ppo->network, ppo->prepared, 1, states, x, &mask, y, tape, 1), SPARC_OK);
    assert_int_equal(sparc_agent_step(agent, NULL, observation, mask, NULL, &action), SPARC_OK);
    assert_true(action == fmaxf(-2, fminf(y[0], 2)));
  }
  sparc_random stream;
  sparc_random_init(&stream, 1, "test", "agent");
  for (int t = 0; t < 200; t++) {
    float action;
    assert_int_equal(sparc_agent_step(agent, NULL, (const float[]){1, 0}, 1, &stream, &action), SPARC_OK);
    assert_true(action >= -2 && action <= 2);
  }
  sparc_free(states);
  sparc_free(tape);
  sparc_agent_free(agent);
  sparc_ppo_free(ppo);
}

/* an observation that is no number, or one that the network cannot take, costs a step and nothing else */
/* streams whose states the caller keeps, in turns through one agent, beside agents of their own */
static void agents_serve_many_streams(void **state) {
  (void)state;
  enum { STREAMS = 3, STEPS = 12 };
  const sparc_ppo_config c = small("noisy-pendulum", "rglru");
  sparc_ppo *ppo = create(&c);
  sparc_agent *shared, *own[STREAMS];
  assert_int_equal(sparc_ppo_save(ppo, NULL, 0, in_folder("agent.safetensors")), SPARC_OK);
  assert_int_equal(sparc_agent_load(in_folder("agent.safetensors"), &shared), SPARC_OK);
  for (int i = 0; i < STREAMS; i++)
    assert_int_equal(sparc_agent_load(in_folder("agent.safetensors"), &own[i]), SPARC_OK);
  const size_t size = sparc_agent_info_of(shared).state_size;
  float *states = sparc_alloc(STREAMS * size * sizeof *states);
  assert_true(states && size == ppo->n.state);
  for (int t = 0; t < STEPS; t++)
    for (int i = 0; i < STREAMS; i++) {
      const float observation[2] = {0.1f * (float)t, (float)i};
      const float mask = t == 0 || t == 5 + i ? 0 : 1;
      float action = 7, expected = 8;
      assert_int_equal(sparc_agent_step(shared, states + (size_t)i * size, observation, mask, NULL, &action), SPARC_OK);
      assert_int_equal(sparc_agent_step(own[i], NULL, observation, mask, NULL, &expected), SPARC_OK);
      assert_true(action == expected);
    }
  for (int i = 0; i < STREAMS; i++) sparc_agent_free(own[i]);
  sparc_agent_free(shared);
  sparc_free(states);
  sparc_ppo_free(ppo);
}

static void agents_refuse_what_is_not_finite(void **state) {
  (void)state;
  const char *const tasks[] = {"cartpole", "noisy-pendulum"};
  for (size_t i = 0; i < COUNT(tasks); i++) {
    sparc_ppo_config c = small(tasks[i], "sparc");
    sparc_ppo *ppo = create(&c);
    sparc_agent *agent, *undisturbed;
    assert_int_equal(sparc_ppo_save(ppo, NULL, 0, in_folder("agent.safetensors")), SPARC_OK);
    assert_int_equal(sparc_agent_load(in_folder("agent.safetensors"), &agent), SPARC_OK);
    assert_int_equal(sparc_agent_load(in_folder("agent.safetensors"), &undisturbed), SPARC_OK);
    sparc_random one, two;
    sparc_random_init(&one, 1, "test", "agent");
    two = one;
    for (int t = 0; t < 20; t++) {
      const float observation[2] = {0.1f * (float)t, -0.2f}, bad[2] = {observation[0], t % 2 ? NAN : -INFINITY};
      float action = 7, expected = 7;
      assert_int_equal(sparc_agent_step(agent, NULL, bad, t > 0, &one, &action), SPARC_NOT_FINITE);
      assert_non_null(strstr(sparc_error(), "observation 1 is "));
      assert_true(action == 0);
      assert_int_equal(sparc_agent_step(agent, NULL, observation, t > 0, &one, &action), SPARC_OK);
      assert_int_equal(sparc_agent_step(undisturbed, NULL, observation, t > 0, &two, &expected), SPARC_OK);
      assert_true(action == expected);
    }
    sparc_agent_free(agent);
    sparc_agent_free(undisturbed);
    /* weights whose products are too large for a float */
    for (size_t k = 0; k < ppo->n.params; k++) ppo->params[k] = 3e38f;
    assert_int_equal(sparc_ppo_save(ppo, NULL, 0, in_folder("agent.safetensors")), SPARC_OK);
    assert_int_equal(sparc_agent_load(in_folder("agent.safetensors"), &agent), SPARC_OK);
    float action = 7;
    assert_int_equal(sparc_agent_step(agent, NULL, (const float[]){1, 1}, 0, NULL, &action), SPARC_NOT_FINITE);
    assert_true(action == 0);
    sparc_agent_free(agent);
    sparc_ppo_free(ppo);
  }
}

/* ---- bad input ---------------------------------------------------------------------------------------- */

static void expect_refusal(const sparc_ppo_config *c, const char *fragment) {
  sparc_ppo *ppo;
  assert_int_not_equal(sparc_ppo_create(c, &ppo), SPARC_OK);
  assert_null(ppo);
  if (!strstr(sparc_error(), fragment)) fail_msg("the message is '%s', expected '%s'", sparc_error(), fragment);
}

static void bad_configurations_are_refused(void **state) {
  (void)state;
  const sparc_ppo_config good = small("cartpole", "sparc");
  sparc_ppo_config c = good;
  c.task = "cartpol";
  expect_refusal(&c, "cartpole");
  c = good;
  c.cell = "sparcc";
  expect_refusal(&c, "sparc");
  c = good;
  c.cell_options = "variant=ful";
  expect_refusal(&c, "full");
  c = good;
  c.streams = 3;
  expect_refusal(&c, "steps of a rollout (--rollout-steps) is 256, expected a multiple of streams (--streams), 3");
  c = good;
  c.minibatches = 3;
  expect_refusal(&c,
                 "steps of a rollout (--rollout-steps) is 256, expected a multiple of minibatches (--minibatches), 3");
  c = good;
  c.discount = 1.5;
  expect_refusal(&c, "discount is 1.5, expected a number from 0 to 1");
  c = good;
  c.value_coefficient = NAN;
  expect_refusal(&c, "value_coefficient is nan");
  c = good;
  c.H = -1;
  expect_refusal(&c, "H is -1, expected a whole number from 1 to 16777216");
  c = good;
  c.obsnorm = (sparc_obsnorm)7;
  expect_refusal(&c, "obsnorm is 7, expected none, feature or pooled");
  c = good;
  c.rewardnorm = 2;
  expect_refusal(&c, "rewardnorm is 2, expected none or return");
  c = good;
  c.trace_interval = 257;
  expect_refusal(
      &c, "trace_interval (--trace-interval) is 257, expected 0 to the 256 steps of a rollout (--rollout-steps)");
  c = good;
  c.threads = -1;
  expect_refusal(&c, "threads is -1, expected 0 to 65536");
  c = small("cartpole", "gru");
  c.minibatches = 128;
  expect_refusal(&c, "windows of 4 steps");
  sparc_agent *agent;
  assert_int_equal(sparc_agent_load(in_folder("missing"), &agent), SPARC_IO);
}

/* ---- learning ------------------------------------------------------------------------------------------ */

/* the mean return of the last ones of `rollouts` rollouts */
static double learn(const sparc_ppo_config *c, int rollouts, int last) {
  double sum = 0;
  sparc_ppo *ppo = create(c);
  for (int k = 0; k < rollouts; k++) {
    const sparc_ppo_report report = iterate(ppo);
    if (k >= rollouts - last) sum += report.mean_return / last;
  }
  sparc_ppo_free(ppo);
  return sum;
}

/* thresholds are well below the returns of seeds 0 to 4, and well above an untrained policy's return */
static void simple_tasks_are_learned(void **state) {
  (void)state;
  const struct {
    const char *task, *options, *cell;
    double rate;
    int rollouts, last;
    double least;
  } cases[] = {{"repeat-previous", "lag=1", "sparc", 5e-4, 10, 3, 0},
               {"cartpole", NULL, "rtu", 5e-4, 14, 3, 0.4},
               {"noisy-pendulum", NULL, "rtu", 1e-3, 40, 10, 0.275}}; /* untrained 0.243, and noisy: 10 episodes each */
  for (size_t i = 0; i < COUNT(cases); i++) {
    sparc_ppo_config c;
    sparc_ppo_defaults(cases[i].task, &c);
    c.task_options = cases[i].options;
    c.cell = cases[i].cell;
    c.state_size = 32;
    c.learning_rate = cases[i].rate;
    c.threads = 1;
    const double got = learn(&c, cases[i].rollouts, cases[i].last);
    if (!(got >= cases[i].least))
      fail_msg("%s with %s: a return of %g after %d rollouts, expected %g", cases[i].task, cases[i].cell, got,
               cases[i].rollouts, cases[i].least);
  }
}

static double mean_square_of(const sparc_network *network, const float *params, const char *name) {
  size_t count;
  const sparc_block *block = sparc_network_blocks(network, &count);
  for (const sparc_block *b = block; b < block + count; b++) {
    if (strcmp(b->name, name) != 0) continue;
    double sum = 0;
    for (size_t i = 0; i < b->size; i++) sum += (double)params[b->offset + i] * (double)params[b->offset + i];
    return sum / (double)b->size;
  }
  fail_msg("no block %s", name);
  return 0;
}

/* The released code has heads without orthogonal weights and smaller contents; all else of a seed is the same. */
static void test_released_init(void **state) {
  (void)state;
  const char *const names[] = {"cell.content_re", "cell.log_decay", "embed.weight", "actor.weight"};
  double squares[2][COUNT(names)] = {{0}};
  for (int released = 0; released < 2; released++) {
    sparc_ppo_config c;
    sparc_network *network;
    sparc_env_shape shape = {.observation = 4, .choices = 3};
    assert_int_equal(sparc_ppo_defaults("repeat-previous", &c), SPARC_OK);
    c.H = 64;
    c.init = released ? SPARC_AGENT_INIT_RELEASED : SPARC_AGENT_INIT_PAPER;
    assert_int_equal(actor_critic_create(&c, &shape, &network), SPARC_OK);
    float *params = sparc_alloc(sparc_network_sizes_of(network).params * sizeof *params);
    assert_int_equal(sparc_network_init(network, 3, params), SPARC_OK);
    for (size_t k = 0; k < COUNT(names); k++) squares[released][k] = mean_square_of(network, params, names[k]);
    sparc_free(params);
    sparc_network_free(network);
  }
  assert_true(fabs(squares[1][0] / squares[0][0] - 0.5) < 0.05); /* 1 / (2 D) instead of 1 / D */
  assert_true(squares[1][1] == squares[0][1]);
  assert_true(squares[1][2] == squares[0][2]);
  assert_true(squares[1][3] > 100 * squares[0][3]); /* a gain of 0.01 no more */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_the_papers),
      cmocka_unit_test(ratios_are_one_before_the_first_step),
      cmocka_unit_test(activities_are_those_of_the_cell),
      cmocka_unit_test(first_failing_stream_is_reported),
      cmocka_unit_test(minibatches_cover_every_step_once),
      cmocka_unit_test(threads_change_no_bit),
      cmocka_unit_test(environments_elsewhere_change_no_bit),
      cmocka_unit_test(restored_runs_continue_bit_exactly),
      cmocka_unit_test(sensitivities_age),
      cmocka_unit_test(stored_and_recorded_gradients_agree),
      cmocka_unit_test(large_alphabets_are_handled),
      cmocka_unit_test(breakdowns_end_episodes_and_are_counted),
      cmocka_unit_test(files_that_are_no_agents_are_refused),
      cmocka_unit_test(agents_act_as_the_run_would),
      cmocka_unit_test(agents_serve_many_streams),
      cmocka_unit_test(agents_refuse_what_is_not_finite),
      cmocka_unit_test(bad_configurations_are_refused),
      cmocka_unit_test(simple_tasks_are_learned),
      cmocka_unit_test(test_released_init),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
