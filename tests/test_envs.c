/* SPDX-License-Identifier: MIT */
/* test_envs.c: the native environments against their rules, the returns of known policies, hand-computed steps; vectors
 * of them: alignment, saving, threads, faults; and user-defined kinds, valid and invalid. */
#include "envs/control.h"
#include "envs/envs.h"
#include "sparc/rl.h"
#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a vector with its arrays -------------------------------------------------------------------- */

typedef struct vector {
  sparc_envs *envs;
  sparc_env_shape shape;
  int n;
  float *observations, *actions, *rewards, *masks;
  double *returns;
  int *lengths;
} vector;

static vector open_config(sparc_envs_config config) {
  vector v = {.n = config.n};
  if (sparc_envs_create(&config, &v.envs) != SPARC_OK)
    fail_msg("%s: %s", config.name ? config.name : "kind", sparc_error());
  v.shape = sparc_envs_info_of(v.envs).shape;
  const size_t n = (size_t)config.n;
  v.observations = calloc(n * (size_t)v.shape.observation, sizeof *v.observations);
  v.actions = calloc(n * (size_t)v.shape.action, sizeof *v.actions);
  v.rewards = calloc(n, sizeof *v.rewards);
  v.masks = calloc(n, sizeof *v.masks);
  v.returns = calloc(n, sizeof *v.returns);
  v.lengths = calloc(n, sizeof *v.lengths);
  assert_int_equal(sparc_envs_reset(v.envs, v.observations), SPARC_OK);
  return v;
}

static vector open_vector(const char *name, const char *options, int n, uint64_t seed, int threads) {
  return open_config((sparc_envs_config){.name = name, .options = options, .n = n, .seed = seed, .threads = threads});
}

static void close_vector(vector *v) {
  sparc_envs_free(v->envs);
  free(v->observations);
  free(v->actions);
  free(v->rewards);
  free(v->masks);
  free(v->returns);
  free(v->lengths);
}

static void step(vector *v) {
  if (sparc_envs_step(v->envs, v->actions, v->observations, v->rewards, v->masks, v->returns, v->lengths) != SPARC_OK)
    fail_msg("%s", sparc_error());
}

static void act_at_random(vector *v, sparc_random *random) {
  for (int i = 0; i < v->n; i++) random_action(&v->shape, random, v->actions + i * v->shape.action);
}

/* FNV-1a over everything that a step gives */
static uint64_t mix(uint64_t digest, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < size; i++) digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
  return digest;
}

static uint64_t run_digest(vector *v, sparc_random *random, int steps) {
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  const size_t n = (size_t)v->n;
  for (int t = 0; t < steps; t++) {
    act_at_random(v, random);
    step(v);
    digest = mix(digest, v->observations, n * (size_t)v->shape.observation * sizeof(float));
    digest = mix(digest, v->rewards, n * sizeof(float));
    digest = mix(digest, v->masks, n * sizeof(float));
    for (int i = 0; i < v->n; i++) {
      if (v->masks[i] != 0) continue;
      digest = mix(digest, &v->returns[i], sizeof(double));
      digest = mix(digest, &v->lengths[i], sizeof(int));
    }
  }
  return digest;
}

/* the kinds of this file; those of MuJoCo have their own */
static const char *const native[] = {
    "autoencode",   "autoencode-ascoded", "count-recall", "repeat-first", "repeat-first-unmarked", "repeat-previous",
    "higher-lower", "noisy-pendulum",     "pendulum",     "cartpole",     "noisy-cartpole",        "bandit",
    "battleship",   "minesweeper",        "concentration"};

/* ---- policies and their returns ------------------------------------------------------------------ */

/* a policy sees what an agent sees, and may keep some numbers per environment that are zero at a start */
typedef struct watcher {
  int t;
  double memory[2];
  const float *observation;
  sparc_random *random;
} watcher;
typedef float (*policy)(watcher *w);

typedef struct result {
  double mean, error, length, least;
} result;

/* every environment plays the same number of episodes; the oracle plays where there is no policy */
static result play(const char *name, const char *options, policy choose, int episodes) {
  enum { N = 50 };
  vector v = open_vector(name, options, N, 20, 1);
  watcher watchers[N] = {0};
  sparc_random random;
  sparc_random_init(&random, 20, "policy", name);
  int played[N] = {0};
  result r = {.least = INFINITY};
  double squares = 0;
  for (int finished = 0; finished < episodes / N * N;) {
    if (!choose) assert_int_equal(sparc_envs_oracle(v.envs, v.actions), SPARC_OK);
    for (int i = 0; i < N && choose; i++) {
      watchers[i].observation = v.observations + i * v.shape.observation;
      watchers[i].random = &random;
      v.actions[i] = choose(&watchers[i]);
      watchers[i].t++;
    }
    step(&v);
    for (int i = 0; i < N; i++) {
      if (v.masks[i] != 0) continue;
      watchers[i] = (watcher){0};
      if (played[i]++ >= episodes / N) continue;
      finished++;
      r.mean += v.returns[i];
      squares += v.returns[i] * v.returns[i];
      r.length += v.lengths[i];
      r.least = fmin(r.least, v.returns[i]);
    }
  }
  close_vector(&v);
  const double count = episodes / N * N;
  r.mean /= count;
  r.length /= count;
  r.error = sqrt(fmax(squares / count - r.mean * r.mean, 0) / count);
  return r;
}

static void assert_return(const char *name, const char *what, result got, double want) {
  if (!(fabs(got.mean - want) <= 3 * got.error + 1e-6))
    fail_msg("%s, %s: mean return %.5f, expected %.5f within 3 standard errors of %.5f", name, what, got.mean, want,
             got.error);
}

static float uniform_choice(watcher *w, uint32_t choices) { return (float)sparc_random_below(w->random, choices); }
static float choose_2(watcher *w) { return uniform_choice(w, 2); }
static float choose_4(watcher *w) { return uniform_choice(w, 4); }
static float choose_10(watcher *w) { return uniform_choice(w, 10); }
static float choose_16(watcher *w) { return uniform_choice(w, 16); }
static float choose_27(watcher *w) { return uniform_choice(w, 27); }
static float choose_52(watcher *w) { return uniform_choice(w, 52); }
static float choose_64(watcher *w) { return uniform_choice(w, 64); }
static float choose_normal(watcher *w) { return (float)sparc_random_normal(w->random); }
static float choose_torque(watcher *w) { return (float)(4 * sparc_random_uniform(w->random) - 2); }
static float choose_zero(watcher *w) { return (void)w, 0; }

static int hot(const float *values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i] == 1) return i;
  return -1;
}

static float same_card(watcher *w) { return (float)hot(w->observation, 4); }
static float other_card(watcher *w) { return (float)((hot(w->observation, 4) + 1) % 4); }
static float clock_count(watcher *w) { return (float)((w->t + 1) / 2); }
static float by_rank(watcher *w) { return hot(w->observation, 13) > 6; }

/* the sign rule with rates from differences of observations */
static float balance(watcher *w) {
  const double place = (double)w->observation[0], angle = (double)w->observation[1];
  const double speed = w->t ? (place - w->memory[0]) / 0.02 : 0, spin = w->t ? (angle - w->memory[1]) / 0.02 : 0;
  w->memory[0] = place;
  w->memory[1] = angle;
  return 10 * angle + 1.5 * spin + 0.3 * place + 0.6 * speed > 0;
}

/* exact where a formula gives the mean; else what independent programs measured, rounded to three digits */
static void test_random_returns(void **state) {
  (void)state;
  const struct {
    const char *name;
    policy choose;
    int episodes;
    double want;
  } rows[] = {
      {"autoencode", choose_4, 10000, -0.5},
      {"autoencode-ascoded", choose_4, 10000, -53.0 / 104},
      {"count-recall", choose_27, 10000, -25.0 / 27},
      {"repeat-first", choose_4, 10000, -26.0 / 51},
      {"repeat-first-unmarked", choose_4, 10000, -26.0 / 51},
      {"repeat-previous", choose_4, 10000, -0.5},
      {"higher-lower", choose_2, 10000, 0},
      {"noisy-pendulum", choose_normal, 1000, 0.243},
      {"pendulum", choose_normal, 1000, 0.243},
      {"cartpole", choose_2, 1000, 0.112},
      {"noisy-cartpole", choose_2, 1000, 0.112},
      {"bandit", choose_10, 1000, 0},
      {"battleship", choose_64, 1000, -0.448},
      {"minesweeper", choose_16, 1000, -0.232},
      {"concentration", choose_52, 1000, -0.191},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const sparc_env_kind *kind;
    assert_int_equal(env_find(rows[i].name, &kind), SPARC_OK);
    assert_true(fabs(kind->random_return - rows[i].want) < 1e-3);
    assert_return(rows[i].name, "random", play(rows[i].name, NULL, rows[i].choose, rows[i].episodes), rows[i].want);
  }
}

static void test_oracle_returns(void **state) {
  (void)state;
  const struct {
    const char *name, *options;
    double want;
    int every; /* whether every single episode has this return */
  } rows[] = {
      {"autoencode", NULL, 1, 1},
      {"autoencode", "size=medium", 1, 1},
      {"autoencode", "size=hard", 1, 1},
      {"autoencode-ascoded", NULL, -0.47097, 0},
      {"count-recall", NULL, 1, 1},
      {"count-recall", "size=hard", 1, 1},
      {"count-recall", "decks=2,types=4", 1, 1},
      {"count-recall", "types=13,decks=4", 1, 1},
      {"repeat-first", NULL, 52.0 / 51, 1},
      {"repeat-first", "size=hard", 832.0 / 831, 1},
      {"repeat-first-unmarked", "size=medium", 416.0 / 415, 1},
      {"repeat-previous", NULL, 1, 1},
      {"repeat-previous", "lag=1", 1, 1},
      {"repeat-previous", "size=medium", 1, 1},
      {"repeat-previous", "size=hard", 1, 1},
      {"higher-lower", NULL, 0.5277, 0},
      {"noisy-pendulum", NULL, 0.915, 0},
      {"pendulum", NULL, 0.915, 0},
      {"cartpole", NULL, 1, 1},
      {"noisy-cartpole", "noise=0.3", 1, 1},
      {"bandit", NULL, 9.0 / 11, 0},
      {"battleship", NULL, 1, 1},
      {"minesweeper", NULL, 1, 1},
      {"concentration", NULL, 1, 1},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const result got = play(rows[i].name, rows[i].options, NULL, rows[i].every ? 200 : 1000);
    assert_return(rows[i].name, "oracle", got, rows[i].want);
    if (rows[i].every && fabs(got.least - rows[i].want) > 2e-5)
      fail_msg("%s: an oracle's episode returns %.6f, expected %.6f", rows[i].name, got.least, rows[i].want);
  }
}

static void test_known_policies(void **state) {
  (void)state;
  const struct {
    const char *name, *what;
    policy choose;
    int episodes;
    double want;
  } rows[] = {
      {"count-recall", "always 0", choose_zero, 10000, -0.924},
      {"count-recall", "a clock", clock_count, 10000, -0.414},
      {"higher-lower", "by the rank on show", by_rank, 10000, 51.0 / 52 * 336 / 663},
      {"repeat-previous", "the card on show", same_card, 10000, -0.529},
      {"repeat-previous", "another suit", other_card, 10000, -0.490},
      {"repeat-first", "the card on show", same_card, 10000, 1.0 / 51 * (1 - 51 * 27.0 / 51)},
      {"pendulum", "no torque", choose_zero, 1000, 0.250},
      {"pendulum", "uniform torques", choose_torque, 1000, 0.247},
      {"cartpole", "always left", choose_zero, 1000, 0.047},
  };
  for (size_t i = 0; i < COUNT(rows); i++)
    assert_return(rows[i].name, rows[i].what, play(rows[i].name, NULL, rows[i].choose, rows[i].episodes), rows[i].want);
  const result balanced = play("cartpole", NULL, balance, 1000);
  if (fabs(balanced.least - 1) > 1e-5) fail_msg("cartpole, sign rule on observations: %.4f", balanced.least);
}

/* the oracle of the pendulum, fed by an observer with fixed gains that sees sines and cosines through noise */
static void test_pendulum_observer(void **state) {
  (void)state;
  enum { EPISODES = 1000 };
  const double pi = acos(-1);
  const sparc_env_kind *kind;
  sparc_env_shape shape;
  void *model;
  sparc_random random;
  result r = {0};
  double squares = 0;
  assert_int_equal(env_find("noisy-pendulum", &kind), SPARC_OK);
  assert_int_equal(kind->open("", &shape, &model), SPARC_OK);
  sparc_random_init(&random, 3, "env", "observer");
  for (int episode = 0; episode < EPISODES; episode++) {
    pendulum_state hidden;
    float seen[2], torque, reward;
    int done = 0;
    double sum = 0;
    kind->reset(model, NULL, &hidden, &random, seen);
    pendulum_state guess = {.angle = atan2((double)seen[1], (double)seen[0])};
    for (int t = 0; t < shape.horizon; t++) {
      kind->oracle(model, NULL, &guess, &torque);
      kind->step(model, NULL, &hidden, &random, &torque, seen, &reward, &done);
      sum += (double)reward;
      guess.speed = fmax(-8, fmin(8, guess.speed + (15 * sin(guess.angle) + 3 * (double)torque) * 0.05));
      guess.angle += guess.speed * 0.05;
      const double off = remainder(atan2((double)seen[1], (double)seen[0]) - guess.angle, 2 * pi);
      guess.angle += 0.35 * off;
      guess.speed += off;
    }
    r.mean += sum / EPISODES;
    squares += sum * sum / EPISODES;
  }
  r.error = sqrt((squares - r.mean * r.mean) / EPISODES);
  assert_return("noisy-pendulum", "the oracle after an observer", r, 0.898);
  kind->close(model);
}

/* ---- rules --------------------------------------------------------------------------------------- */

/* A vector against its kind, driven by hand from the same random stream: when episodes end, that the observation of a
 * start is the first of the next episode, and the sum and number of rewards. */
static void test_alignment(void **state) {
  (void)state;
  const struct {
    const char *name;
    int steps; /* 0: not always the same */
  } rows[] = {{"autoencode", 104},
              {"autoencode-ascoded", 105},
              {"count-recall", 52},
              {"repeat-first", 52},
              {"repeat-first-unmarked", 52},
              {"repeat-previous", 52},
              {"higher-lower", 52},
              {"noisy-pendulum", 200},
              {"pendulum", 200},
              {"cartpole", 0},
              {"noisy-cartpole", 0},
              {"bandit", 200},
              {"battleship", 0},
              {"minesweeper", 0},
              {"concentration", 104}};
  for (size_t row = 0; row < COUNT(rows); row++) {
    vector v = open_vector(rows[row].name, NULL, 1, 5, 1);
    const sparc_env_kind *kind = sparc_envs_info_of(v.envs).kind;
    const size_t bytes = (size_t)v.shape.observation * sizeof(float);
    sparc_env_shape shape;
    void *model = NULL;
    assert_int_equal(kind->open("", &shape, &model), SPARC_OK);
    void *by_hand = sparc_alloc(kind->state_bytes(model));
    float *seen = sparc_alloc(bytes);
    sparc_random random, choices;
    sparc_random_init(&random, 5, "env", "0");
    sparc_random_init(&choices, 5, "policy", "");
    kind->reset(model, NULL, by_hand, &random, seen);
    assert_memory_equal(seen, v.observations, bytes);
    double sum = 0;
    for (int t = 1, episodes = 0; episodes < 3; t++) {
      float reward = 0;
      int done = 0;
      act_at_random(&v, &choices);
      kind->step(model, NULL, by_hand, &random, v.actions, seen, &reward, &done);
      sum += (double)reward;
      done = done || t == shape.horizon;
      if (done) kind->reset(model, NULL, by_hand, &random, seen);
      step(&v);
      assert_memory_equal(seen, v.observations, bytes);
      assert_true(v.rewards[0] == reward && v.masks[0] == (float)!done);
      if (!done) continue;
      assert_true(v.returns[0] == sum);
      assert_int_equal(v.lengths[0], t);
      if (rows[row].steps) assert_int_equal(t, rows[row].steps);
      episodes++;
      sum = t = 0;
    }
    sparc_free(seen);
    sparc_free(by_hand);
    if (kind->close) kind->close(model);
    close_vector(&v);
  }
}

static void test_sizes(void **state) {
  (void)state;
  const struct {
    const char *name, *options;
    int observation, choices, horizon;
  } rows[] = {
      {"autoencode", NULL, 4, 4, 104},
      {"autoencode", "size=medium", 4, 4, 208},
      {"autoencode", "size=hard", 4, 4, 312},
      {"autoencode-ascoded", "size=hard", 4, 4, 313},
      {"count-recall", NULL, 4, 27, 52},
      {"count-recall", "size=medium", 4, 53, 104},
      {"count-recall", "size=hard", 4, 79, 156},
      {"count-recall", "decks=4,types=13", 26, 17, 208},
      {"repeat-first", NULL, 5, 4, 52},
      {"repeat-first", "size=medium", 5, 4, 416},
      {"repeat-first", "size=hard", 5, 4, 832},
      {"repeat-first-unmarked", NULL, 4, 4, 52},
      {"repeat-previous", NULL, 4, 4, 52},
      {"repeat-previous", "size=medium", 4, 4, 104},
      {"repeat-previous", "size=hard,lag=3", 4, 4, 156},
      {"higher-lower", NULL, 13, 2, 52},
      {"higher-lower", "decks=2", 13, 2, 104},
      {"noisy-pendulum", "size=hard", 2, 0, 200},
      {"pendulum", NULL, 2, 0, 200},
      {"cartpole", NULL, 2, 2, 200},
      {"noisy-cartpole", "noise=0", 2, 2, 200},
      {"bandit", NULL, 1, 10, 200},
      {"battleship", NULL, 1, 64, 64},
      {"minesweeper", NULL, 2, 16, 14},
      {"concentration", NULL, 156, 52, 104},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    vector v = open_vector(rows[i].name, rows[i].options, 1, 0, 1);
    assert_int_equal(v.shape.observation, rows[i].observation);
    assert_int_equal(v.shape.choices, rows[i].choices);
    assert_int_equal(v.shape.action, 1);
    assert_int_equal(v.shape.horizon, rows[i].horizon);
    close_vector(&v);
  }
}

/* what a whole deck shows: every value as often as the others, the first one fairly, and another order next time */
static void test_decks(void **state) {
  (void)state;
  const struct {
    const char *name;
    int first, values; /* which numbers of the observation are a card */
    double highest;    /* chi-square that a fair deck exceeds once in a thousand */
  } rows[] = {{"autoencode", 0, 4, 16.27},   {"count-recall", 0, 2, 10.83},    {"count-recall", 2, 2, 10.83},
              {"repeat-first", 0, 4, 16.27}, {"repeat-previous", 0, 4, 16.27}, {"higher-lower", 0, 13, 32.91}};
  enum { N = 100, EPISODES = 100, CARDS = 52 };
  for (size_t row = 0; row < COUNT(rows); row++) {
    vector v = open_vector(rows[row].name, NULL, N, 9, 1);
    const int values = rows[row].values;
    double first[13] = {0};
    static int deck[2][N][CARDS];
    int differing = 0;
    for (int episode = 0; episode < EPISODES; episode++) {
      int counts[N][13] = {{0}};
      for (int t = 0; t < v.shape.horizon; t++) {
        for (int i = 0; i < N && t < CARDS; i++) {
          const int card = hot(v.observations + i * v.shape.observation + rows[row].first, values);
          assert_true(card >= 0);
          counts[i][card]++;
          first[card] += t == 0;
          deck[episode % 2][i][t] = card;
        }
        step(&v);
      }
      for (int i = 0; i < N; i++) {
        for (int value = 0; value < values; value++) assert_int_equal(counts[i][value], CARDS / values);
        differing += episode > 0 && memcmp(deck[0][i], deck[1][i], sizeof deck[0][i]) != 0;
      }
    }
    assert_int_equal(differing, N * (EPISODES - 1));
    const double expected = (double)N * EPISODES / values;
    double chi = 0;
    for (int value = 0; value < values; value++)
      chi += (first[value] - expected) * (first[value] - expected) / expected;
    if (chi > rows[row].highest) fail_msg("%s: chi-square %.2f of the first card", rows[row].name, chi);
    close_vector(&v);
  }
}

/* the order of cards and questions, on a deck that is read from the observations */
static void test_card_rules(void **state) {
  (void)state;
  vector v = open_vector("autoencode", NULL, 1, 1, 1);
  int card[52];
  for (int t = 0; t < 104; t++) {
    if (t < 52)
      card[t] = hot(v.observations, 4);
    else
      assert_int_equal(hot(v.observations, 4), -1);
    const int target = t < 52 ? 0 : card[103 - t];
    v.actions[0] = (float)(t % 3 == 0 ? (target + 1) % 4 : target);
    step(&v);
    const float unit = 1.0F / 52;
    assert_true(v.rewards[0] == (t < 52 ? 0 : t % 3 == 0 ? -unit : unit));
    assert_true(v.masks[0] == (float)(t != 103));
  }
  close_vector(&v);

  v = open_vector("repeat-first", NULL, 1, 1, 1);
  for (int t = 0; t < 52; t++) {
    assert_true(v.observations[4] == (float)(t == 0));
    card[t] = hot(v.observations, 4);
    v.actions[0] = (float)card[t];
    step(&v);
    assert_true(v.rewards[0] == (card[t] == card[0] ? 1.0F / 51 : -1.0F / 51));
  }
  assert_true(v.masks[0] == 0 && v.observations[4] == 1);
  close_vector(&v);

  static const int lags[] = {4, 1};
  for (size_t i = 0; i < COUNT(lags); i++) {
    v = open_vector("repeat-previous", lags[i] == 4 ? NULL : "lag=1", 1, 4, 1);
    for (int t = 0; t < 52; t++) {
      card[t] = hot(v.observations, 4);
      v.actions[0] = (float)(t < lags[i] ? 0 : card[t - lags[i]]);
      step(&v);
      assert_true(v.rewards[0] == (t < lags[i] ? 0 : 1 / (float)(52 - lags[i])));
    }
    close_vector(&v);
  }

  v = open_vector("higher-lower", NULL, 1, 4, 1);
  for (int t = 0; t < 52; t++) {
    const int before = hot(v.observations, 13);
    v.actions[0] = (float)(t % 2);
    step(&v);
    const int after = hot(v.observations, 13);
    const int right = t == 51 || after == before ? 0 : (after > before) == (t % 2 == 0) ? 1 : -1;
    assert_true(v.rewards[0] == (float)right * (1.0F / 52));
  }
  close_vector(&v);

  v = open_vector("count-recall", NULL, 1, 4, 1);
  for (int t = 0, seen[2] = {0}; t < 52; t++) {
    v.actions[0] = (float)seen[hot(v.observations + 2, 2)];
    seen[hot(v.observations, 2)]++;
    step(&v);
    assert_true(v.rewards[0] == 1.0F / 52);
  }
  close_vector(&v);
}

/* the searches under random play, checked against what actions and observations reveal */
static void test_search_rules(void **state) {
  (void)state;
  sparc_random random;
  sparc_random_init(&random, 6, "policy", "");
  vector v = open_vector("bandit", NULL, 1, 6, 1);
  for (int t = 0; t < 199; t++) {
    act_at_random(&v, &random);
    step(&v);
    assert_true(v.rewards[0] == (v.observations[0] == 1 ? 1.0F / 200 : -1.0F / 200));
  }
  close_vector(&v);

  v = open_vector("battleship", NULL, 1, 6, 1);
  for (int episode = 0; episode < 20; episode++) {
    int hits[64] = {0}, found = 0;
    do {
      act_at_random(&v, &random);
      const int square = (int)v.actions[0];
      step(&v);
      const int hit = v.rewards[0] > 0;
      assert_true(v.rewards[0] == (hit ? 1.0F / 12 : -1.0F / 52));
      assert_true(v.masks[0] == 0 || v.observations[0] == (float)hit);
      assert_false(hit && hits[square]++);
      found += hit;
    } while (v.masks[0] != 0);
    assert_true(found == 12 || v.lengths[0] == 64);
  }
  close_vector(&v);

  v = open_vector("minesweeper", NULL, 1, 6, 1);
  int mines = 0;
  for (int episode = 0; episode < 50; episode++) {
    int open[16] = {0};
    do {
      act_at_random(&v, &random);
      const int cell = (int)v.actions[0];
      step(&v);
      const int mine = v.rewards[0] == -0.5F - 1.0F / 14;
      assert_true(mine || v.rewards[0] == (open[cell] ? -0.5F / 12 : 1.0F / 14));
      assert_true(!mine || v.masks[0] == 0);
      open[cell] = 1;
      mines += mine;
    } while (v.masks[0] != 0);
  }
  assert_in_range(mines, 30, 50);
  close_vector(&v);

  v = open_vector("concentration", NULL, 1, 6, 1);
  int waiting = -1, found[52] = {0};
  for (int t = 0; t < 103; t++) {
    act_at_random(&v, &random);
    const int card = (int)v.actions[0], first = waiting;
    step(&v);
    const int colour = hot(v.observations + (size_t)card * 3, 3);
    assert_in_range(colour, 0, 1);
    waiting = -1;
    if (found[card]) {
      assert_true(v.rewards[0] == (first < 0 ? -1.0F : -2.0F) / 104);
    } else if (first < 0) {
      assert_true(v.rewards[0] == 0);
      waiting = card;
    } else {
      const int pair = first != card && hot(v.observations + (size_t)first * 3, 3) == colour;
      assert_true(v.rewards[0] == (pair ? 1.0F / 26 : -2.0F / 104));
      if (pair) found[first] = found[card] = 1;
    }
  }
  close_vector(&v);
}

/* a state, one step from it, and what the step gives */
static void take_step(const char *name, void *s, float action, float *seen, float *reward, int *done) {
  const sparc_env_kind *kind;
  sparc_env_shape shape;
  void *model;
  sparc_random random;
  sparc_random_init(&random, 0, "", "");
  assert_int_equal(env_find(name, &kind), SPARC_OK);
  assert_int_equal(kind->open("", &shape, &model), SPARC_OK);
  *done = 0;
  kind->step(model, NULL, s, &random, &action, seen, reward, done);
  kind->close(model);
}

static void assert_near(double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance)) fail_msg("got %.17g, expected %.17g within %g", got, want, tolerance);
}

static void test_pendulum_step(void **state) {
  (void)state;
  float seen[2], reward;
  int done;
  /* cost 1 + 0.1 * 0.25 + 0.001 = 1.026; w' = 0.5 + (15 sin 1 + 3) / 20, th' = 1 + w' / 20 */
  pendulum_state s = {1, 0.5};
  take_step("pendulum", &s, 1, seen, &reward, &done);
  assert_near(s.speed, 1.2811032386059225, 1e-15);
  assert_near(s.angle, 1.064055161930296, 1e-15);
  assert_near((double)reward, 0.00436953119002942, 1e-9);
  assert_near((double)seen[0], 0.48533053, 1e-7);
  assert_near((double)seen[1], 0.87433076, 1e-7);
  assert_int_equal(done, 0);

  s = (pendulum_state){0, 0};
  take_step("pendulum", &s, 0, seen, &reward, &done);
  assert_true(s.angle == 0 && s.speed == 0 && reward == 1.0F / 200);

  s = (pendulum_state){-acos(-1), 8};
  take_step("pendulum", &s, 2, seen, &reward, &done);
  assert_near((double)reward, -1.0 / 200, 1e-9);
  assert_true(s.speed == 8);

  /* torques are cut off at 2, angles are counted modulo a turn */
  pendulum_state strong = {1, 0.5}, turned = {1 + 4 * acos(-1), 0.5};
  float reward_strong, reward_turned;
  take_step("pendulum", &strong, 5, seen, &reward_strong, &done);
  take_step("pendulum", &turned, 2, seen, &reward_turned, &done);
  assert_near(strong.speed, turned.speed, 1e-12);
  assert_near((double)reward_strong, (double)reward_turned, 1e-9);
}

static void test_cartpole_step(void **state) {
  (void)state;
  float seen[2], reward;
  int done;
  /* push 9.0911135511, twist -13.8252074241, pull 9.7187467109 from the state before */
  cartpole_state s = {0.1, 0.2, 0.05, -0.3};
  take_step("cartpole", &s, 1, seen, &reward, &done);
  assert_near(s.place, 0.104, 1e-15);
  assert_near(s.speed, 0.39437493421822034, 1e-14);
  assert_near(s.angle, 0.044, 1e-15);
  assert_near(s.spin, -0.5765041484814735, 1e-14);
  assert_true(reward == 1.0F / 200 && done == 0);
  assert_true(seen[0] == (float)s.place && seen[1] == (float)s.angle);

  /* the last step is paid as well; observations are cut off at twice the limits */
  s = (cartpole_state){2.39, 1, 0, 0};
  take_step("cartpole", &s, 0, seen, &reward, &done);
  assert_true(done == 1 && reward == 1.0F / 200);
  s = (cartpole_state){0, 0, 0.209, 0.1};
  take_step("cartpole", &s, 0, seen, &reward, &done);
  assert_int_equal(done, 1);
  s = (cartpole_state){-9, 0, 1, 0};
  take_step("cartpole", &s, 0, seen, &reward, &done);
  assert_near((double)seen[0], -4.8, 1e-6);
  assert_near((double)seen[1], 0.41887902, 1e-6);
}

/* observations of the noisy kinds are those of the noise-free ones plus noise of the requested standard deviation */
static void test_noise(void **state) {
  (void)state;
  const struct {
    const char *name, *options;
    double stddev;
  } rows[] = {{"noisy-pendulum", NULL, 0.1},
              {"noisy-pendulum", "size=medium", 0.2},
              {"noisy-pendulum", "size=hard", 0.3},
              {"noisy-cartpole", NULL, 0.1},
              {"noisy-cartpole", "noise=0.05", 0.05}};
  for (size_t row = 0; row < COUNT(rows); row++) {
    const sparc_env_kind *kind;
    sparc_env_shape shape;
    void *model;
    assert_int_equal(env_find(rows[row].name, &kind), SPARC_OK);
    assert_int_equal(kind->open(rows[row].options ? rows[row].options : "", &shape, &model), SPARC_OK);
    sparc_random random;
    sparc_random_init(&random, 2, "", "");
    enum { N = 4000 };
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
      union {
        pendulum_state pendulum;
        cartpole_state cartpole;
      } s;
      float seen[2];
      kind->reset(model, NULL, &s, &random, seen);
      const double exact = strstr(rows[row].name, "pendulum") ? cos(s.pendulum.angle) : s.cartpole.place;
      const double noise = (double)seen[0] - exact;
      sum += noise;
      squares += noise * noise;
    }
    const double stddev = sqrt(squares / N), error = rows[row].stddev / sqrt(2.0 * N);
    assert_near(stddev, rows[row].stddev, 4 * error);
    assert_near(sum / N, 0, 4 * rows[row].stddev / sqrt(N));
    kind->close(model);
  }
}

/* ---- vectors ------------------------------------------------------------------------------------- */

static void test_threads(void **state) {
  (void)state;
  enum { N = 1100, STEPS = 60 };
  static const int threads[] = {1, 2, 3, 7};
  for (size_t k = 0; k < COUNT(native); k++) {
    uint64_t want = 0;
    for (size_t i = 0; i < COUNT(threads); i++) {
      vector v = open_vector(native[k], NULL, N, 77, threads[i]);
      sparc_random random;
      sparc_random_init(&random, 77, "policy", "");
      const uint64_t got = run_digest(&v, &random, STEPS);
      if (i == 0) want = got;
      if (got != want) fail_msg("%s: %d threads give other bits than 1", native[k], threads[i]);
      close_vector(&v);
    }
  }
}

/* environment i of a vector does what it does alone in its stream, whatever the others do */
static void test_streams(void **state) {
  (void)state;
  vector many = open_vector("repeat-previous", NULL, 5, 3, 1), more = open_vector("repeat-previous", NULL, 9, 3, 1);
  vector other = open_vector("repeat-previous", NULL, 5, 4, 1);
  int differs = 0;
  for (int t = 0; t < 60; t++) {
    step(&many);
    step(&more);
    step(&other);
    assert_memory_equal(many.observations, more.observations, 5 * 4 * sizeof(float));
    differs += memcmp(many.observations, other.observations, 5 * 4 * sizeof(float)) != 0;
  }
  assert_true(differs > 40);
  close_vector(&many);
  close_vector(&more);
  close_vector(&other);
}

static void test_save(void **state) {
  (void)state;
  enum { N = 7, BEFORE = 37, AFTER = 150 };
  for (size_t k = 0; k < COUNT(native); k++) {
    vector one = open_vector(native[k], NULL, N, 8, 1), two = open_vector(native[k], NULL, N, 99, 1);
    sparc_random random;
    sparc_random_init(&random, 8, "policy", "");
    run_digest(&one, &random, BEFORE);
    const size_t bytes = sparc_envs_info_of(one.envs).state_bytes;
    void *saved = malloc(bytes);
    sparc_envs_save(one.envs, saved);
    sparc_random again = random;
    const uint64_t want = run_digest(&one, &random, AFTER);
    if (sparc_envs_restore(two.envs, saved, bytes) != SPARC_OK) fail_msg("%s: %s", native[k], sparc_error());
    if (run_digest(&two, &again, AFTER) != want) fail_msg("%s: a restored vector continues differently", native[k]);
    free(saved);
    close_vector(&one);
    close_vector(&two);
  }
}

static void test_restore_refuses(void **state) {
  (void)state;
  vector one = open_vector("repeat-previous", NULL, 3, 1, 1);
  const size_t bytes = sparc_envs_info_of(one.envs).state_bytes;
  char *saved = malloc(bytes), *before = malloc(bytes);
  sparc_envs_save(one.envs, saved);
  const struct {
    const char *name, *options;
    int n;
    size_t bytes;
    const char *message;
  } rows[] = {{"repeat-previous", NULL, 4, bytes, "there are 3 saved environments, expected 4"},
              {"repeat-first", NULL, 3, bytes, "are repeat-previous, expected repeat-first"},
              {"repeat-previous", "size=hard", 3, bytes, "with other options"},
              {"repeat-previous", "lag=2", 3, bytes, "with other options"}, /* of the same size */
              {"repeat-previous", NULL, 3, bytes - 1, "with other options"},
              {"repeat-previous", NULL, 3, 5, "5 bytes, too few"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    vector two = open_vector(rows[i].name, rows[i].options, rows[i].n, 1, 1);
    assert_int_equal(sparc_envs_restore(two.envs, saved, rows[i].bytes), SPARC_FORMAT);
    assert_non_null(strstr(sparc_error(), rows[i].message));
    close_vector(&two);
  }
  sparc_envs_save(one.envs, before);
  saved[0] ^= 1;
  assert_int_equal(sparc_envs_restore(one.envs, saved, bytes), SPARC_FORMAT);
  assert_non_null(strstr(sparc_error(), "not saved environments"));
  sparc_envs_save(one.envs, saved);
  assert_memory_equal(saved, before, bytes);
  free(saved);
  free(before);
  close_vector(&one);
}

/* where the parts of one saved environment lie: each begins a cache line, its state is the last */
enum { LINE = 64, RANDOM = -4 * LINE, RETURN = -3 * LINE, LENGTH = -2 * LINE, FAULTS = -LINE };

static size_t saved_state(const vector *v, size_t bytes) {
  sparc_env_shape shape;
  void *model = NULL;
  const sparc_env_kind *kind = sparc_envs_info_of(v->envs).kind;
  assert_int_equal(kind->open("", &shape, &model), SPARC_OK);
  const size_t stride = (kind->state_bytes(model) + LINE - 1) / LINE * LINE;
  if (kind->close) kind->close(model);
  return bytes - stride;
}

static void put_int(char *to, double value) { memcpy(to, &(int){(int)value}, sizeof(int)); }
static void put_byte(char *to, double value) { *to = (char)(int)value; }
static void put_double(char *to, double value) { memcpy(to, &value, sizeof value); }

/* what no episode reaches is refused, and the vector stays as it was */
static void test_impossible_states(void **state) {
  (void)state;
  const struct {
    const char *name;
    int at; /* from the beginning of the state */
    void (*put)(char *to, double value);
    double value;
    const char *message;
  } rows[] = {{"autoencode", 0, put_int, INT32_MAX, "invalid state"}, /* the step */
              {"autoencode", 0, put_int, -1, "invalid state"},
              {"autoencode", 4, put_int, -1, "invalid state"}, /* how often a suit was seen */
              {"autoencode", 56, put_int, 4, "invalid state"}, /* a card */
              {"count-recall", 56, put_int, -1, "invalid state"},
              {"repeat-first", 56, put_int, 1000000, "invalid state"},
              {"repeat-previous", 0, put_int, 2, "invalid state"}, /* not the length of the episode */
              {"higher-lower", 60, put_int, 13, "invalid state"},
              {"pendulum", 0, put_double, 1e9, "invalid state"},
              {"noisy-pendulum", 8, put_double, 8.5, "invalid state"},
              {"noisy-pendulum", 8, put_double, NAN, "invalid state"},
              {"cartpole", 0, put_double, 2.5, "invalid state"},
              {"noisy-cartpole", 24, put_double, INFINITY, "invalid state"},
              {"bandit", 8, put_double, -0.5, "invalid state"},
              {"bandit", 8, put_double, NAN, "invalid state"},
              {"battleship", 0, put_byte, 2, "invalid state"},
              {"battleship", 70, put_byte, 255, "invalid state"},
              {"battleship", 128, put_int, 13, "invalid state"},
              {"minesweeper", 3, put_byte, 200, "invalid state"},
              {"minesweeper", 20, put_byte, 2, "invalid state"},
              {"concentration", 0, put_int, 2, "invalid state"},
              {"concentration", 208, put_byte, 1, "invalid state"},
              {"concentration", 264, put_int, 52, "invalid state"},
              {"concentration", 264, put_int, -2, "invalid state"},
              {"cartpole", LENGTH, put_int, 200, "invalid length of an episode"},
              {"cartpole", LENGTH, put_int, -1, "invalid length of an episode"},
              {"cartpole", RETURN, put_double, NAN, "invalid return"},
              {"cartpole", FAULTS + 7, put_byte, 0x80, "invalid number of faults"},
              {"cartpole", RANDOM + 16, put_byte, 1, "invalid random stream"}}; /* at a word of another block */
  for (size_t i = 0; i < COUNT(rows); i++) {
    vector v = open_vector(rows[i].name, NULL, 1, 5, 1);
    const size_t bytes = sparc_envs_info_of(v.envs).state_bytes;
    char *saved = malloc(bytes), *before = malloc(bytes), *after = malloc(bytes);
    sparc_envs_save(v.envs, saved);
    sparc_envs_save(v.envs, before);
    rows[i].put(saved + saved_state(&v, bytes) + rows[i].at, rows[i].value);
    if (sparc_envs_restore(v.envs, saved, bytes) != SPARC_FORMAT || !strstr(sparc_error(), rows[i].message))
      fail_msg("%s, byte %d: '%s' does not contain '%s'", rows[i].name, rows[i].at, sparc_error(), rows[i].message);
    sparc_envs_save(v.envs, after);
    assert_memory_equal(before, after, bytes);
    assert_int_equal(sparc_envs_restore(v.envs, before, bytes), SPARC_OK);
    free(saved);
    free(before);
    free(after);
    close_vector(&v);
  }
}

/* states that episodes reach are accepted */
static void restore_each_step(vector *v, int steps, sparc_random *random, char *saved) {
  const size_t bytes = sparc_envs_info_of(v->envs).state_bytes;
  for (int t = 0; t < steps; t++) {
    act_at_random(v, random);
    step(v);
    sparc_envs_save(v->envs, saved);
    if (sparc_envs_restore(v->envs, saved, bytes) != SPARC_OK)
      fail_msg("%s, step %d: %s", sparc_envs_info_of(v->envs).kind->name, t, sparc_error());
  }
}

/* a restored vector works: it steps, draws random numbers and renders */
static void run_restored(vector *v, int steps, sparc_random *random) {
  double segments[4][5];
  envs_segments(v->envs, 0, segments, 4);
  for (int t = 0; t < steps; t++) {
    if (t % 2 || sparc_envs_oracle(v->envs, v->actions) != SPARC_OK) act_at_random(v, random);
    if (!envs_begun(v->envs)) assert_int_equal(sparc_envs_reset(v->envs, v->observations), SPARC_OK);
    step(v);
    for (int i = 0; i < v->shape.observation; i++) assert_true(isfinite(v->observations[i]));
  }
}

/* Every kind checks its states. With any value in any word of a saved state, it is refused or the vector works.
 * Robots are slow and share their code, so one of them takes a few steps. */
static void test_changed_states(void **state) {
  (void)state;
  static const uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x7ff80000, 0x7fefffff, 0x01010101, 52};
  for (const char *const *name = sparc_env_names(); *name; name++) {
    const sparc_env_kind *kind;
    assert_int_equal(env_find(*name, &kind), SPARC_OK);
    if (!kind->step) continue; /* a robot without MuJoCo */
    assert_non_null(kind->state_valid);
    const bool robot = kind->scratch_create != NULL;
    if (robot && strcmp(*name, "ant") != 0) continue;
    vector v = open_vector(*name, NULL, 1, 5, 1);
    sparc_random random;
    sparc_random_init(&random, 5, "policy", "");
    const size_t bytes = sparc_envs_info_of(v.envs).state_bytes;
    char *saved = malloc(bytes), *changed = malloc(bytes);
    restore_each_step(&v, robot ? 20 : 250, &random, saved);
    for (size_t at = 0; at + sizeof *words <= bytes; at += sizeof *words)
      for (size_t w = 0; w < COUNT(words); w++) {
        memcpy(changed, saved, bytes);
        memcpy(changed + at, &words[w], sizeof *words);
        if (sparc_envs_restore(v.envs, changed, bytes) == SPARC_OK) run_restored(&v, robot ? 2 : 110, &random);
      }
    free(saved);
    free(changed);
    close_vector(&v);
  }
}

static void test_bad_calls(void **state) {
  (void)state;
  const struct {
    sparc_envs_config config;
    const char *message;
  } rows[] = {
      {{.name = "repeat-previos", .n = 1}, "did you mean 'repeat-previous'?"},
      {{.name = "mine.so", .n = 1}, "'./mine.so'"},
      {{.name = "cartpole", .n = 0}, "n is 0, expected 1 to"},
      {{.n = 1}, "no name or kind is given"},
      {{.name = "cartpole", .options = "size=easy", .n = 1}, "cartpole has no options, got 'size'"},
      {{.name = "autoencode", .options = "size=esay", .n = 1}, "did you mean 'easy'?"},
      {{.name = "autoencode", .options = "deck=2", .n = 1}, "did you mean 'decks'?"},
      {{.name = "autoencode", .options = "decks=0", .n = 1},
       "option decks is '0', expected a whole number from 1 to 64"},
      {{.name = "repeat-previous", .options = "lag=52", .n = 1}, "option lag is 52, expected less than the 52 cards"},
      {{.name = "noisy-pendulum", .options = "noise=-1", .n = 1},
       "option noise is '-1', expected a number from 0 to 10"},
      {{.name = "battleship", .options = "size=hard", .n = 1}, "battleship has no options"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    sparc_envs *envs;
    assert_int_equal(sparc_envs_create(&rows[i].config, &envs), SPARC_INVALID);
    assert_null(envs);
    if (!strstr(sparc_error(), rows[i].message)) fail_msg("'%s' does not contain '%s'", sparc_error(), rows[i].message);
  }
  assert_int_equal(sparc_envs_create(NULL, NULL), SPARC_INVALID);

  /* before a reset, and with an action that is none: nothing moves */
  sparc_envs *envs;
  float o[8], a[2] = {0, 0}, r[2], s[2];
  assert_int_equal(sparc_envs_create(&(sparc_envs_config){.name = "repeat-previous", .n = 2}, &envs), SPARC_OK);
  assert_int_equal(sparc_envs_step(envs, a, o, r, s, NULL, NULL), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "sparc_envs_reset"));
  assert_int_equal(sparc_envs_oracle(envs, a), SPARC_INVALID);
  assert_int_equal(sparc_envs_reset(envs, o), SPARC_OK);
  const size_t bytes = sparc_envs_info_of(envs).state_bytes;
  char *before = malloc(bytes), *after = malloc(bytes);
  sparc_envs_save(envs, before);
  static const float none[] = {-1, 4, 0.5F, NAN, INFINITY, 3e9F};
  for (size_t i = 0; i < COUNT(none); i++) {
    a[1] = none[i];
    assert_int_equal(sparc_envs_step(envs, a, o, r, s, NULL, NULL), SPARC_INVALID);
    assert_non_null(strstr(sparc_error(), "actions[1] is"));
  }
  sparc_envs_save(envs, after);
  assert_memory_equal(before, after, bytes);
  assert_int_equal(sparc_envs_step(envs, NULL, o, r, s, NULL, NULL), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "actions is NULL"));
  free(before);
  free(after);
  sparc_envs_free(envs);
  sparc_envs_free(NULL);
}

static void test_registry(void **state) {
  (void)state;
  const char *const *names = sparc_env_names();
  size_t count = 0;
  for (; names[count]; count++) {
    const sparc_env_kind *kind = NULL;
    assert_int_equal(env_find(names[count], &kind), SPARC_OK);
    assert_string_equal(kind->name, names[count]);
    assert_non_null(kind->summary);
    if (count < COUNT(native)) assert_string_equal(names[count], native[count]);
  }
  const sparc_env_kind *const *const families[] = {card_kinds, control_kinds, search_kinds, robot_kinds};
  size_t kinds = 0;
  for (size_t i = 0; i < COUNT(families); i++)
    for (size_t k = 0; families[i][k]; k++) kinds++;
  assert_int_equal(count, kinds);
}

/* the built-in kinds keep the promises that those of others are tried for */
static void test_native_kinds_follow_their_contract(void **state) {
  (void)state;
  for (size_t k = 0; k < COUNT(native); k++) {
    const sparc_env_kind *kind;
    sparc_env_shape shape;
    void *model = NULL;
    assert_int_equal(env_find(native[k], &kind), SPARC_OK);
    assert_int_equal(kind->open("", &shape, &model), SPARC_OK);
    sparc_status status = kind_check(kind, native[k], SPARC_INVALID);
    if (status == SPARC_OK) status = shape_check(&shape, kind->state_bytes(model), native[k], SPARC_INVALID);
    if (status == SPARC_OK) status = kind_test(kind, model, &shape, native[k], SPARC_INVALID);
    if (status != SPARC_OK) fail_msg("%s", sparc_error());
    if (kind->close) kind->close(model);
  }
}

/* ---- kinds of one's own -------------------------------------------------------------------------- */

/* counts its steps, and fails when its action requests it */
enum { FINE, NAN_OBSERVATION, INFINITE_REWARD };

typedef struct counter_state {
  int64_t steps;
} counter_state;

static sparc_status counter_open(const char *options, sparc_env_shape *shape, void **model) {
  (void)model;
  if (strcmp(options, "silent") == 0) return SPARC_INVALID;
  *shape = (sparc_env_shape){.observation = 2, .choices = 4, .action = 1, .horizon = 8};
  return SPARC_OK;
}

static size_t counter_bytes(const void *model) {
  (void)model;
  return sizeof(counter_state);
}

static void counter_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)model, (void)scratch, (void)random;
  *(counter_state *)state = (counter_state){0};
  observation[0] = observation[1] = 0;
}

static void counter_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                         float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)random, (void)done;
  counter_state *s = state;
  s->steps++;
  observation[0] = (float)s->steps;
  observation[1] = *action == NAN_OBSERVATION ? NAN : 0;
  *reward = *action == INFINITE_REWARD ? INFINITY : 1;
}

static const sparc_env_kind counter = {.version = SPARC_ENV_VERSION,
                                       .name = "counter",
                                       .random_return = NAN,
                                       .optimal_return = NAN,
                                       .open = counter_open,
                                       .state_bytes = counter_bytes,
                                       .reset = counter_reset,
                                       .step = counter_step};

static void test_faults(void **state) {
  (void)state;
  vector v = open_config((sparc_envs_config){.kind = &counter, .n = 3, .threads = 1});
  for (int t = 1; t <= 8; t++) {
    v.actions[1] = t == 3 ? NAN_OBSERVATION : FINE;
    v.actions[2] = t == 3 ? INFINITE_REWARD : FINE;
    step(&v);
    for (int i = 0; i < 3; i++) {
      const int broke = i > 0 && t == 3, ended = broke || (i == 0 && t == 8);
      const int count = i == 0 || t < 3 ? t : t - 3;
      assert_true(v.rewards[i] == (broke ? 0.0F : 1.0F));
      assert_true(v.masks[i] == (float)!ended);
      assert_true(v.observations[2 * i] == (float)(ended ? 0 : count));
      assert_true(v.observations[2 * i + 1] == 0);
    }
    if (t == 3) assert_true(v.returns[1] == 2 && v.lengths[1] == 3);
  }
  assert_true(v.returns[0] == 8 && v.lengths[0] == 8); /* the library ends an episode at its horizon */
  assert_int_equal(sparc_envs_info_of(v.envs).faults, 2);
  float action;
  assert_int_equal(sparc_envs_oracle(v.envs, &action), SPARC_UNSUPPORTED);
  assert_string_equal(sparc_error(), "counter has no oracle");
  double segments[4][5];
  assert_int_equal(envs_segments(v.envs, 0, segments, 4), 0);
  close_vector(&v);

  /* a torque that is not a number */
  v = open_vector("noisy-pendulum", NULL, 2, 0, 1);
  v.actions[0] = NAN;
  step(&v);
  assert_true(v.masks[0] == 0 && v.rewards[0] == 0 && isfinite(v.observations[0]) && v.masks[1] == 1);
  assert_int_equal(sparc_envs_info_of(v.envs).faults, 1);
  close_vector(&v);
}

static void nan_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  counter_reset(model, scratch, state, random, observation);
  observation[1] = NAN;
}

static int refuse_state(const void *model, const void *state, int steps) {
  return (void)model, (void)state, (void)steps, 0;
}

/* kinds of the first version end before state_valid, which is not looked at */
static void test_kinds_of_version_1(void **state) {
  (void)state;
  sparc_env_kind kind = counter;
  kind.state_valid = refuse_state;
  for (kind.version = 1; kind.version <= SPARC_ENV_VERSION; kind.version++) {
    vector v = open_config((sparc_envs_config){.kind = &kind, .n = 2, .threads = 1});
    const size_t bytes = sparc_envs_info_of(v.envs).state_bytes;
    char *saved = malloc(bytes);
    sparc_envs_save(v.envs, saved);
    assert_int_equal(sparc_envs_restore(v.envs, saved, bytes), kind.version == 1 ? SPARC_OK : SPARC_FORMAT);
    free(saved);
    close_vector(&v);
  }
}

static void test_nan_reset(void **state) {
  (void)state;
  sparc_env_kind kind = counter;
  kind.reset = nan_reset;
  vector v = open_config((sparc_envs_config){.kind = &kind, .n = 1, .threads = 1});
  assert_true(v.observations[0] == 0 && v.observations[1] == 0);
  assert_int_equal(sparc_envs_info_of(v.envs).faults, 1);
  close_vector(&v);
}

/* ---- kinds outside of the library ------------------------------------------------------------------ */

/* environment i has episodes of 3 + i steps and shows how many it has done */
typedef struct outside {
  int steps[4];
  int resets, breaks; /* breaks: what the next call does wrong */
  int version;
} outside;
enum { NOTHING, REFUSES_STEP, SILENT, NAN_SHOWN, NAN_REWARD };
static outside *outside_model;

static sparc_status outside_open(const char *options, sparc_env_shape *shape, void **model) {
  (void)options;
  *shape = (sparc_env_shape){.observation = 1, .choices = 2, .action = 1, .horizon = 2};
  *model = outside_model;
  return SPARC_OK;
}

static sparc_status outside_reset(void *model, int n, float *observations) {
  outside *o = model;
  o->resets++;
  for (int i = 0; i < n; i++) {
    o->steps[i] = 0;
    observations[i] = o->breaks == NAN_SHOWN ? NAN : 0;
  }
  return o->breaks == REFUSES_STEP ? sparc_env_refuse("no %s today", "reset") : SPARC_OK;
}

static sparc_status outside_step(void *model, int n, const float *actions, float *observations, float *rewards,
                                 float *masks) {
  outside *o = model;
  if (o->breaks == REFUSES_STEP) return sparc_env_refuse("no %s today", "step");
  if (o->breaks == SILENT) return SPARC_IO;
  for (int i = 0; i < n; i++) {
    const int done = ++o->steps[i] == 3 + i;
    if (done) o->steps[i] = 0;
    observations[i] = o->breaks == NAN_SHOWN ? NAN : (float)o->steps[i];
    rewards[i] = o->breaks == NAN_REWARD ? NAN : 1 + actions[i];
    masks[i] = done == (o->version < 4) ? 7 : 0; /* any number but 0 is 1; version 3 writes 1 - mask */
  }
  return SPARC_OK;
}

static const sparc_env_kind outside_kind = {.version = SPARC_ENV_VERSION,
                                            .name = "outside",
                                            .open = outside_open,
                                            .reset_all = outside_reset,
                                            .step_all = outside_step};

static void check_outside_kind(int version) {
  outside o = {.version = version};
  outside_model = &o;
  sparc_env_kind kind = outside_kind;
  kind.version = version;
  vector v = open_config((sparc_envs_config){.kind = &kind, .n = 4, .threads = 2});
  assert_int_equal(o.resets, 1);
  for (int t = 1; t <= 12; t++) {
    for (int i = 0; i < 4; i++) v.actions[i] = (float)(i % 2);
    step(&v);
    for (int i = 0; i < 4; i++) {
      const int ended = t % (3 + i) == 0;
      assert_true(v.masks[i] == (float)!ended && v.rewards[i] == (float)(1 + i % 2));
      assert_true(v.observations[i] == (float)(t % (3 + i)));
      if (ended) assert_true(v.lengths[i] == 3 + i && v.returns[i] == (3 + i) * (1 + i % 2));
    }
  }
  /* an action that is none does not reach it */
  v.actions[0] = 2;
  assert_int_equal(sparc_envs_step(v.envs, v.actions, v.observations, v.rewards, v.masks, NULL, NULL), SPARC_INVALID);
  v.actions[0] = 0;
  const struct {
    int breaks;
    sparc_status status;
    const char *message;
  } failures[] = {{REFUSES_STEP, SPARC_INVALID, "no step today"},
                  {SILENT, SPARC_IO, "outside fails to step"},
                  {NAN_SHOWN, SPARC_NOT_FINITE, "outside 0: the observation is not finite"},
                  {NAN_REWARD, SPARC_NOT_FINITE, "outside 0: the reward is not finite"}};
  for (size_t k = 0; k < COUNT(failures); k++) {
    o.breaks = failures[k].breaks;
    assert_int_equal(sparc_envs_step(v.envs, v.actions, v.observations, v.rewards, v.masks, NULL, NULL),
                     failures[k].status);
    assert_string_equal(sparc_error(), failures[k].message);
  }
  o.breaks = REFUSES_STEP;
  assert_int_equal(sparc_envs_reset(v.envs, v.observations), SPARC_INVALID);
  assert_string_equal(sparc_error(), "no reset today");
  o.breaks = NOTHING;

  /* what is saved is no episode */
  const size_t bytes = sparc_envs_info_of(v.envs).state_bytes;
  char *saved = malloc(bytes);
  sparc_envs_save(v.envs, saved);
  assert_int_equal(sparc_envs_restore(v.envs, saved, bytes), SPARC_OK);
  assert_int_equal(sparc_envs_step(v.envs, v.actions, v.observations, v.rewards, v.masks, NULL, NULL), SPARC_INVALID);
  assert_int_equal(sparc_envs_reset(v.envs, v.observations), SPARC_OK);
  step(&v);
  float action;
  assert_int_equal(sparc_envs_oracle(v.envs, &action), SPARC_UNSUPPORTED);
  free(saved);
  close_vector(&v);
}

static void test_outside_kinds(void **state) {
  (void)state;
  for (int version = 3; version <= SPARC_ENV_VERSION; version++) check_outside_kind(version);

  /* one of the two functions is not enough, and version 2 has neither */
  sparc_envs *envs;
  sparc_env_kind kind = outside_kind;
  kind.reset_all = NULL;
  assert_int_equal(sparc_envs_create(&(sparc_envs_config){.kind = &kind, .n = 1}, &envs), SPARC_INVALID);
  assert_string_equal(sparc_error(), "the kind is an environment without 'reset_all'");
  kind = outside_kind;
  kind.version = 2;
  assert_int_equal(sparc_envs_create(&(sparc_envs_config){.kind = &kind, .n = 1}, &envs), SPARC_INVALID);
  assert_string_equal(sparc_error(), "the kind is an environment without 'state_bytes'");
}

static void step_wide(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                      float *observation, float *reward, int *done) {
  counter_step(model, scratch, state, random, action, observation, reward, done);
  observation[2] = 1;
}

static void step_narrow(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                        float *observation, float *reward, int *done) {
  float both[2];
  counter_step(model, scratch, state, random, action, both, reward, done);
  observation[0] = both[0];
}

static void step_beyond(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                        float *observation, float *reward, int *done) {
  counter_step(model, scratch, state, random, action, observation, reward, done);
  ((counter_state *)state)[1].steps = 3;
}

static void step_hidden(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                        float *observation, float *reward, int *done) {
  static int calls;
  counter_step(model, scratch, state, random, action, observation, reward, done);
  observation[0] = (float)calls++;
}

static sparc_env_shape invalid_shape;
static sparc_status open_lie(const char *options, sparc_env_shape *shape, void **model) {
  (void)options, (void)model;
  *shape = invalid_shape;
  return SPARC_OK;
}

static void assert_refused(const sparc_env_kind *kind, const char *options, const char *message) {
  sparc_envs *envs;
  const sparc_envs_config config = {.kind = kind, .options = options, .n = 1};
  assert_int_equal(sparc_envs_create(&config, &envs), SPARC_INVALID);
  if (!strstr(sparc_error(), message)) fail_msg("'%s' does not contain '%s'", sparc_error(), message);
}

static void test_invalid_kinds(void **state) {
  (void)state;
  sparc_env_kind kind = counter;
  kind.version = 7;
  assert_refused(&kind, NULL, "the kind is an environment of version 7, expected 1");
  kind = counter;
  kind.reset = NULL;
  assert_refused(&kind, NULL, "without 'reset'");
  kind = counter;
  kind.step = step_wide;
  assert_refused(&kind, NULL, "'step' writes more than the 2 numbers of its observation");
  kind.step = step_narrow;
  assert_refused(&kind, NULL, "'step' leaves 1 of the 2 numbers of its observation unwritten");
  kind.step = step_beyond;
  assert_refused(&kind, NULL, "'step' writes beyond the 8 bytes of its state");
  kind.step = step_hidden;
  assert_refused(&kind, NULL, "counter is not reproducible from a copied state");
  assert_refused(&counter, "silent", "counter refuses the options 'silent'");

  const struct {
    sparc_env_shape shape;
    const char *message;
  } invalid[] = {{{0, 2, 1, 5}, "observations of 0 numbers"},
                 {{1, -1, 1, 5}, "-1 choices"},
                 {{1, 2, 3, 5}, "discrete actions of 3 numbers, expected 1"},
                 {{1, 0, 0, 5}, "continuous actions of 0 numbers"},
                 {{1, 2, 1, 0}, "episodes of 0 steps"}};
  kind = counter;
  kind.open = open_lie;
  for (size_t i = 0; i < COUNT(invalid); i++) {
    invalid_shape = invalid[i].shape;
    assert_refused(&kind, NULL, invalid[i].message);
  }
}

/* the example, by its path and as a table in C: the same numbers */
static void test_example_plugin(void **state) {
  (void)state;
  vector loaded = open_vector(SPARC_EXAMPLE_PLUGIN, "length=4", 6, 2, 1);
  assert_string_equal(sparc_envs_info_of(loaded.envs).kind->name, "corridor");
  void *handle = dlopen(SPARC_EXAMPLE_PLUGIN, RTLD_NOW), *address = dlsym(handle, "sparc_env_plugin");
  sparc_env_plugin_fn plugin;
  memcpy(&plugin, &address, sizeof plugin);
  vector given = open_config((sparc_envs_config){.kind = plugin(), .options = "length=4", .n = 6, .seed = 2});
  for (int t = 1; t <= 20; t++) {
    assert_memory_equal(loaded.observations, given.observations, 6 * 2 * sizeof(float));
    assert_int_equal(sparc_envs_oracle(loaded.envs, loaded.actions), SPARC_OK);
    assert_int_equal(sparc_envs_oracle(given.envs, given.actions), SPARC_OK);
    step(&loaded);
    step(&given);
    assert_true(given.masks[5] == (float)(t % 5 != 0));
    assert_true(loaded.rewards[5] == (float)(t % 5 == 0));
  }
  close_vector(&loaded);
  close_vector(&given);
  dlclose(handle);
  sparc_envs *envs;
  const sparc_envs_config config = {.name = SPARC_EXAMPLE_PLUGIN, .options = "length=x", .n = 1};
  assert_int_equal(sparc_envs_create(&config, &envs), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "the corridor's options are 'length=x'"));
}

/* a file does not get a plugin loaded by naming it; a caller who loads it gives its kind */
static void test_stored_plugin(void **state) {
  (void)state;
  sparc_ppo_config config;
  sparc_ppo *ppo;
  char path[] = "/tmp/sparc-test-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(sparc_ppo_defaults(SPARC_EXAMPLE_PLUGIN, &config), SPARC_OK);
  config.H = config.width = 4;
  config.rollout_steps = config.streams = config.minibatches = 16;
  assert_int_equal(sparc_ppo_create(&config, &ppo), SPARC_OK);
  assert_int_equal(sparc_ppo_save(ppo, NULL, 0, path), SPARC_OK);
  sparc_ppo_free(ppo);
  assert_int_equal(sparc_ppo_load(path, NULL, 1, &ppo), SPARC_INVALID);
  assert_null(ppo);
  assert_non_null(strstr(sparc_error(), "names the plugin '"));
  assert_non_null(strstr(sparc_error(), "--plugin"));
  sparc_envs *envs;
  assert_int_equal(sparc_envs_create(&(sparc_envs_config){.name = SPARC_EXAMPLE_PLUGIN, .n = 1}, &envs), SPARC_OK);
  if (sparc_ppo_load(path, sparc_envs_info_of(envs).kind, 1, &ppo) != SPARC_OK) fail_msg("%s", sparc_error());
  sparc_ppo_free(ppo);
  sparc_envs_free(envs);
  unlink(path);
}

static void test_broken_plugins(void **state) {
  (void)state;
  const struct {
    const char *path;
    sparc_status status;
    const char *message;
  } rows[] = {
      {SPARC_PLUGIN_DIR "/NO_ENTRY.so", SPARC_FORMAT, "without the function sparc_env_plugin"},
      {SPARC_PLUGIN_DIR "/NO_KIND.so", SPARC_FORMAT, "has no environment"},
      {SPARC_PLUGIN_DIR "/OLD_VERSION.so", SPARC_FORMAT, "is an environment of version 0, expected 1"},
      {SPARC_PLUGIN_DIR "/NO_STEP.so", SPARC_FORMAT, "without 'step'"},
      {SPARC_PLUGIN_DIR "/LARGE_STATE.so", SPARC_FORMAT, "'step' writes beyond the 4 bytes of its state"},
      {SPARC_PLUGIN_DIR "/missing.so", SPARC_IO, "No such file"},
      {SPARC_SOURCE_DIR "/README.md", SPARC_FORMAT, "does not load"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    sparc_envs *envs;
    const sparc_envs_config config = {.name = rows[i].path, .n = 1};
    assert_int_equal(sparc_envs_create(&config, &envs), rows[i].status);
    if (!strstr(sparc_error(), rows[i].message)) fail_msg("'%s' does not contain '%s'", sparc_error(), rows[i].message);
    if (!strstr(sparc_error(), rows[i].path)) fail_msg("'%s' does not name the file", sparc_error());
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_registry),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_alignment),
      cmocka_unit_test(test_card_rules),
      cmocka_unit_test(test_search_rules),
      cmocka_unit_test(test_decks),
      cmocka_unit_test(test_pendulum_step),
      cmocka_unit_test(test_cartpole_step),
      cmocka_unit_test(test_noise),
      cmocka_unit_test(test_random_returns),
      cmocka_unit_test(test_oracle_returns),
      cmocka_unit_test(test_known_policies),
      cmocka_unit_test(test_pendulum_observer),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_save),
      cmocka_unit_test(test_restore_refuses),
      cmocka_unit_test(test_impossible_states),
      cmocka_unit_test(test_changed_states),
      cmocka_unit_test(test_kinds_of_version_1),
      cmocka_unit_test(test_bad_calls),
      cmocka_unit_test(test_native_kinds_follow_their_contract),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_nan_reset),
      cmocka_unit_test(test_outside_kinds),
      cmocka_unit_test(test_invalid_kinds),
      cmocka_unit_test(test_example_plugin),
      cmocka_unit_test(test_stored_plugin),
      cmocka_unit_test(test_broken_plugins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
