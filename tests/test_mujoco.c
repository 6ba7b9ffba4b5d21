/* SPDX-License-Identifier: MIT */
/* test_mujoco.c: the robots against MuJoCo itself: models, masks, rewards, determinism, and physics that break down.
 *
 * Seeds are fixed, so a mean that is three standard errors off is a mistake and not bad luck. Built without MuJoCo, one
 * test remains: that the message names what is missing.
 */
#include "scratch.h"
#include "sparc/env.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if !SPARC_HAVE_MUJOCO

static void test_absent(void **state) {
  (void)state;
  sparc_envs *envs;
  assert_int_equal(sparc_envs_create(&(sparc_envs_config){.name = "ant-p", .n = 1}, &envs), SPARC_UNSUPPORTED);
  assert_non_null(strstr(sparc_error(), "libmujoco-dev"));
}

int main(void) {
  puts("built without MuJoCo: the tests of the robots are skipped");
  return cmocka_run_group_tests(((const struct CMUnitTest[]){cmocka_unit_test(test_absent)}), NULL, NULL);
}

#else

#include "base/random.h"
#include "envs/envs.h"
#include "envs/robots.h"

#include <mujoco/mujoco.h>

enum { MOST = 32 };

static const char *const bodies[] = {"ant", "cheetah", "hopper", "walker"};
enum { BODIES = 4 };

/* ---- one environment, driven by hand -------------------------------------------------------------- */

typedef struct player {
  const sparc_env_kind *kind;
  sparc_env_shape shape;
  void *model, *state;
  mjData *d;
  const mjModel *m;
  sparc_random random, policy;
  float observation[MOST], action[MOST], reward;
  int done;
} player;

static player open_player(const char *name, const char *options, uint64_t seed) {
  player p = {0};
  assert_int_equal(env_find(name, &p.kind), SPARC_OK);
  if (p.kind->open(options, &p.shape, &p.model) != SPARC_OK) fail_msg("%s: %s", name, sparc_error());
  p.state = sparc_alloc(p.kind->state_bytes(p.model));
  p.d = p.kind->scratch_create(p.model);
  assert_non_null(p.state);
  assert_non_null(p.d);
  p.m = robot_load(p.model, p.d, p.state);
  sparc_random_init(&p.random, seed, "env", "0");
  sparc_random_init(&p.policy, seed, "policy", "0");
  return p;
}

static void close_player(player *p) {
  p->kind->scratch_free(p->d);
  p->kind->close(p->model);
  sparc_free(p->state);
}

static void reset(player *p) { p->kind->reset(p->model, p->d, p->state, &p->random, p->observation); }

static void step(player *p) {
  p->done = 0;
  p->kind->step(p->model, p->d, p->state, &p->random, p->action, p->observation, &p->reward, &p->done);
}

static void fill_action(player *p, float value) {
  for (int i = 0; i < p->shape.action; i++) p->action[i] = value;
}

static void random_step(player *p) {
  random_fill_normal(&p->policy, p->action, (size_t)p->shape.action, 1);
  step(p);
}

static void expect_near(const char *what, double got, double want, double allowed) {
  if (!(fabs(got - want) <= allowed)) fail_msg("%s is %.17g, expected %.17g within %g", what, got, want, allowed);
}

static void expect_bits(const char *what, const void *a, const void *b, size_t bytes) {
  if (memcmp(a, b, bytes) != 0) fail_msg("%s: the bits differ", what);
}

/* ---- models --------------------------------------------------------------------------------------- */

static void test_models(void **state) {
  (void)state;
  static const struct {
    int nq, nv, nu, integrator;
    double mass, allowed, timestep, gear[8];
  } want[BODIES] = {
      {15, 14, 8, mjINT_RK4, 0.911, 5e-4, 0.01, {150, 150, 150, 150, 150, 150, 150, 150}},
      {9, 9, 6, mjINT_EULER, 14, 1e-9, 0.01, {120, 90, 60, 120, 60, 30}},
      {6, 6, 3, mjINT_RK4, 15.82, 5e-3, 0.002, {200, 200, 200}},
      {9, 9, 6, mjINT_RK4, 23.68, 5e-3, 0.002, {100, 100, 100, 100, 100, 100}},
  };
  for (int b = 0; b < BODIES; b++) {
    player p = open_player(bodies[b], "", 1);
    assert_int_equal(p.m->nq, want[b].nq);
    assert_int_equal(p.m->nv, want[b].nv);
    assert_int_equal(p.m->nu, want[b].nu);
    assert_int_equal(p.m->opt.integrator, want[b].integrator);
    expect_near("timestep", p.m->opt.timestep, want[b].timestep, 0);
    double mass = 0;
    for (int i = 0; i < p.m->nbody; i++) mass += p.m->body_mass[i];
    expect_near(bodies[b], mass, want[b].mass, want[b].allowed);
    for (int i = 0; i < p.m->nu; i++) expect_near("gear", p.m->actuator_gear[6 * i], want[b].gear[i], 0);
    assert_int_equal(p.shape.choices, 0);
    assert_int_equal(p.shape.action, want[b].nu);
    assert_int_equal(p.shape.horizon, 1000);
    close_player(&p);
  }
}

/* ---- what is seen --------------------------------------------------------------------------------- */

/* "joint" is its first position, "joint+2" the third; "joint'" is its velocity */
static double named(const player *p, const char *text) {
  char joint[16] = {0};
  int entry = 0;
  const char *plus = strchr(text, '+'), *prime = strchr(text, '\'');
  memcpy(joint, text, strcspn(text, "+'"));
  if (plus) entry = plus[1] - '0';
  const int id = mj_name2id(p->m, mjOBJ_JOINT, joint);
  if (id < 0) fail_msg("there is no joint %s", joint);
  return prime ? p->d->qvel[p->m->jnt_dofadr[id] + entry] : p->d->qpos[p->m->jnt_qposadr[id] + entry];
}

static const char *const ant_positions[] = {"root+2", "root+3", "root+4", "root+5", "root+6", "hipNE", "kneeNE",
                                            "hipNW",  "kneeNW", "hipSW",  "kneeSW", "hipSE",  "kneeSE"};
static const char *const cheetah_positions[] = {"z",       "pitch",    "hindHip",   "hindKnee", "hindAnkle",
                                                "foreHip", "foreKnee", "foreAnkle", "x'"};
static const char *const hopper_positions[] = {"z", "pitch", "hip", "knee", "ankle"};
static const char *const walker_positions[] = {"z", "pitch", "hipR", "kneeR", "ankleR", "hipL", "kneeL", "ankleL"};
static const char *const hopper_velocities[] = {"x'", "z'", "pitch'", "hip'", "knee'", "ankle'"};
static const char *const walker_velocities[] = {"x'",      "z'",    "pitch'", "hipR'",  "kneeR'",
                                                "ankleR'", "hipL'", "kneeL'", "ankleL'"};
static const char *const cheetah_velocities[] = {"x'",         "z'",       "pitch'",    "hindHip'",  "hindKnee'",
                                                 "hindAnkle'", "foreHip'", "foreKnee'", "foreAnkle'"};
static const char *const ant_velocities[] = {"root+0'", "root+1'", "root+2'", "root+3'", "root+4'",
                                             "root+5'", "hipNE'",  "kneeNE'", "hipNW'",  "kneeNW'",
                                             "hipSW'",  "kneeSW'", "hipSE'",  "kneeSE'"};

static void test_masks(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int positions, velocities, total;
    const char *const *position, *const *velocity;
    double limit; /* of what is shown as a velocity */
  } rows[] = {
      {"ant-p", 13, 0, 13, ant_positions, NULL, INFINITY},
      {"ant-v", 0, 14, 14, NULL, ant_velocities, INFINITY},
      {"ant", 13, 14, 27, ant_positions, ant_velocities, INFINITY},
      {"cheetah-p", 9, 0, 9, cheetah_positions, NULL, INFINITY}, /* the ninth is the forward velocity */
      {"cheetah-p8", 8, 0, 8, cheetah_positions, NULL, INFINITY},
      {"cheetah-v", 0, 9, 9, NULL, cheetah_velocities, INFINITY},
      {"cheetah", 8, 9, 17, cheetah_positions, cheetah_velocities, INFINITY},
      {"hopper-p", 5, 0, 5, hopper_positions, NULL, INFINITY},
      {"hopper-v", 0, 6, 6, NULL, hopper_velocities, 10},
      {"hopper", 5, 6, 11, hopper_positions, hopper_velocities, 10},
      {"walker-p", 8, 0, 8, walker_positions, NULL, INFINITY},
      {"walker-v", 0, 9, 9, NULL, walker_velocities, 10},
      {"walker", 8, 9, 17, walker_positions, walker_velocities, 10},
  };
  size_t kinds = 0;
  while (robot_kinds[kinds]) kinds++;
  assert_int_equal(sizeof rows / sizeof *rows, kinds);
  for (size_t r = 0; r < kinds; r++) {
    player p = open_player(rows[r].name, "", 7);
    assert_int_equal(p.shape.observation, rows[r].total);
    reset(&p);
    for (int t = 0; t < 12; t++) {
      robot_load(p.model, p.d, p.state);
      for (int i = 0; i < rows[r].total; i++) {
        const bool moving = i >= rows[r].positions;
        const char *name = moving ? rows[r].velocity[i - rows[r].positions] : rows[r].position[i];
        const double limit = moving ? rows[r].limit : INFINITY, value = named(&p, name);
        char what[64];
        snprintf(what, sizeof what, "%s: observation %d (%s)", rows[r].name, i, name);
        expect_near(what, p.observation[i], (float)fmax(-limit, fmin(limit, value)), 0);
      }
      random_step(&p);
      if (p.done) reset(&p);
    }
    close_player(&p);
  }
}

/* ---- starts --------------------------------------------------------------------------------------- */

static void test_starts(void **state) {
  (void)state;
  static const double noise[BODIES] = {0.1, 0.1, 0.005, 0.005};
  for (int b = 0; b < BODIES; b++) {
    player p = open_player(bodies[b], "", 3);
    double widest = 0, sum = 0, squares = 0, before = NAN;
    enum { STARTS = 400 };
    for (int k = 0; k < STARTS; k++) {
      reset(&p);
      if (b == 0) expect_near("norm of the quaternion", mju_norm(p.d->qpos + 3, 4), 1, 1e-12);
      assert_true(p.d->qpos[0] != before); /* fresh noise */
      before = p.d->qpos[0];
      const double *pose = b == 0 ? p.m->key_qpos : p.m->qpos0;
      for (int i = 0; i < p.m->nq; i++)
        if (b != 0 || i < 3 || i > 6) widest = fmax(widest, fabs(p.d->qpos[i] - pose[i]));
      for (int i = 0; i < p.m->nv; i++) sum += p.d->qvel[i], squares += p.d->qvel[i] * p.d->qvel[i];
    }
    if (!(widest < noise[b] && widest > 0.99 * noise[b])) fail_msg("%s: positions reach %g", bodies[b], widest);
    /* standard deviation of a uniform number on +-n is n / sqrt 3 */
    const double n = STARTS * (double)p.m->nv, stddev = b < 2 ? noise[b] : noise[b] / sqrt(3);
    expect_near("mean of first velocities", sum / n, 0, 4 * stddev / sqrt(n));
    expect_near("stddev of first velocities", sqrt(squares / n), stddev, 4 * stddev / sqrt(2 * n));
    close_player(&p);
  }
  player ant = open_player("ant", "", 3);
  reset(&ant);
  expect_near("height of a crouching ant", ant.d->qpos[2], 0.55, 0.1);
  close_player(&ant);
}

static void test_cached_starts(void **state) {
  (void)state;
  player fresh = open_player("hopper", "", 5), cached = open_player("hopper", "reset=cached", 5);
  float first[MOST];
  reset(&fresh);
  reset(&cached);
  memcpy(first, cached.observation, sizeof first);
  expect_bits("first start, fresh and cached", first, fresh.observation, 11 * sizeof(float));
  for (int k = 0; k < 5; k++) {
    for (int t = 0; t < 3; t++) random_step(&cached);
    reset(&cached);
    expect_bits("cached start", cached.observation, first, 11 * sizeof(float));
    reset(&fresh);
    assert_memory_not_equal(fresh.observation, first, 11 * sizeof(float));
  }
  close_player(&fresh);
  close_player(&cached);
}

/* ---- a step --------------------------------------------------------------------------------------- */

/* the definition: reward of a step and whether it ends the episode, from positions and velocities */
static double defined_reward(int b, double vx, double effort) {
  static const double bonus[] = {1, 0, 1, 1}, cost[] = {0.5, 0.1, 0.001, 0.001};
  return vx + bonus[b] - cost[b] * effort;
}

static bool defined_end(int b, const mjData *d) {
  switch (b) {
    case 0:
      return d->qpos[2] < 0.2 || d->qpos[2] > 1.0;
    case 1:
      return false;
    case 2:
      return d->qpos[1] <= 0.7 || fabs(d->qpos[2]) >= 0.2; /* the bound on the rest is out of reach here */
    default:
      return d->qpos[1] <= 0.8 || d->qpos[1] >= 2.0 || fabs(d->qpos[2]) >= 1;
  }
}

static void test_steps(void **state) {
  (void)state;
  static const int frame_skip[] = {5, 5, 4, 4};
  for (int b = 0; b < BODIES; b++) {
    player p = open_player(bodies[b], "", 11);
    mjData *d = mj_makeData(p.m);
    int ends = 0;
    for (int t = 0; t < 150; t++) {
      if (t == 0 || p.done) {
        reset(&p);
        mj_resetData(p.m, d);
        mju_copy(d->qpos, p.d->qpos, p.m->nq);
        mju_copy(d->qvel, p.d->qvel, p.m->nv);
        mj_forward(p.m, d);
      }
      random_step(&p);
      const double x = d->qpos[0];
      double effort = 0;
      for (int i = 0; i < p.m->nu; i++) {
        d->ctrl[i] = fmax(-2, fmin(2, (double)p.action[i]));
        effort += d->ctrl[i] * d->ctrl[i];
      }
      for (int i = 0; i < frame_skip[b]; i++) mj_step(p.m, d);
      expect_bits("positions", d->qpos, p.d->qpos, (size_t)p.m->nq * sizeof(double));
      const double vx = (d->qpos[0] - x) / (frame_skip[b] * p.m->opt.timestep);
      expect_near("reward", p.reward, defined_reward(b, vx, effort), 1e-5);
      assert_int_equal(p.done, defined_end(b, d));
      ends += p.done;
    }
    if (b > 1) assert_true(ends > 2); /* the branch was taken */
    mj_deleteData(d);
    close_player(&p);
  }
}

/* an action of 5 moves the motors as 1 does; what it costs is counted up to act_clip */
static void test_clipping(void **state) {
  (void)state;
  static const char *const options[] = {"act_clip=2", "act_clip=1"};
  static const double extra[] = {0.001 * 3 * (4 - 1), 0};
  for (int k = 0; k < 2; k++) {
    player one = open_player("hopper", options[k], 2), five = open_player("hopper", options[k], 2);
    fill_action(&one, 1);
    fill_action(&five, 5);
    reset(&one);
    reset(&five);
    for (int t = 0; t < 60 && !one.done; t++) {
      step(&one);
      step(&five);
      expect_bits("observations", one.observation, five.observation, 11 * sizeof(float));
      expect_near("what the rest of the action costs", one.reward - five.reward, extra[k], 1e-6);
    }
    close_player(&one);
    close_player(&five);
  }
}

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *options, *message;
  } bad[] = {{"act_clip=3", "act_clip"},         {"act_clip=1.5", "act_clip"},       {"reset=never", "reset"},
             {"integrator=rk5", "did you mean"}, {"intergator=rk4", "did you mean"}, {"reset", "no value"}};
  const sparc_env_kind *kind;
  assert_int_equal(env_find("walker-p", &kind), SPARC_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    sparc_env_shape shape;
    void *model = NULL;
    assert_int_equal(kind->open(bad[i].options, &shape, &model), SPARC_INVALID);
    assert_null(model);
    if (!strstr(sparc_error(), bad[i].message)) fail_msg("'%s' lacks '%s'", sparc_error(), bad[i].message);
  }
  player euler = open_player("ant", "integrator=euler", 1),
         rk4 = open_player("cheetah", "integrator=rk4,reset=fresh", 1);
  assert_int_equal(euler.m->opt.integrator, mjINT_EULER);
  assert_int_equal(rk4.m->opt.integrator, mjINT_RK4);
  close_player(&euler);
  close_player(&rk4);
}

/* ---- the same bits -------------------------------------------------------------------------------- */

/* the previous contents of a scratch have no effect: it is filled with other bytes before every step */
static void test_scratch(void **state) {
  (void)state;
  for (int b = 0; b < BODIES; b++) {
    player clean = open_player(bodies[b], "", 4), dirty = open_player(bodies[b], "", 4);
    reset(&clean);
    reset(&dirty);
    for (int t = 0; t < 60; t++) {
      mj_resetDataDebug(dirty.m, dirty.d, (unsigned char)(37 * t + 1));
      random_step(&clean);
      random_step(&dirty);
      assert_int_equal(clean.done, dirty.done);
      expect_bits("reward", &clean.reward, &dirty.reward, sizeof clean.reward);
      expect_bits("state", clean.state, dirty.state, clean.kind->state_bytes(clean.model));
      if (!clean.done) continue;
      reset(&clean);
      reset(&dirty);
    }
    close_player(&clean);
    close_player(&dirty);
  }
}

static sparc_envs *open_envs(const char *name, const char *options, int n, int threads, uint64_t seed) {
  sparc_envs *envs;
  const sparc_envs_config config = {.name = name, .options = options, .n = n, .threads = threads, .seed = seed};
  if (sparc_envs_create(&config, &envs) != SPARC_OK) fail_msg("%s: %s", name, sparc_error());
  return envs;
}

enum { STREAMS = 3 };

/* a record of some steps, driven by numbers that depend on the step alone */
typedef struct record {
  float observations[STREAMS * MOST], rewards[STREAMS], masks[STREAMS];
} record;

static void drive(sparc_envs *envs, int first, int steps, record *out) {
  const sparc_env_shape shape = sparc_envs_info_of(envs).shape;
  for (int t = first; t < first + steps; t++, out++) {
    float actions[STREAMS * MOST];
    sparc_random random;
    sparc_random_init(&random, (uint64_t)t, "drive", "");
    random_fill_normal(&random, actions, (size_t)(STREAMS * shape.action), 1);
    memset(out, 0, sizeof *out);
    assert_int_equal(sparc_envs_step(envs, actions, out->observations, out->rewards, out->masks, NULL, NULL), SPARC_OK);
  }
}

static void test_threads(void **state) {
  (void)state;
  enum { STEPS = 1000 };
  record *want = sparc_alloc(STEPS * sizeof *want), *got = sparc_alloc(STEPS * sizeof *got);
  static const char *const names[] = {"ant-p", "cheetah-p", "hopper-p", "walker-p"};
  static const int steps[] = {200, STEPS, STEPS, STEPS};
  for (int b = 0; b < BODIES; b++) {
    for (int threads = 1; threads <= 5; threads += 4) {
      sparc_envs *envs = open_envs(names[b], NULL, STREAMS, threads, 21);
      float first[STREAMS * MOST];
      assert_int_equal(sparc_envs_reset(envs, first), SPARC_OK);
      drive(envs, 0, steps[b], threads == 1 ? want : got);
      assert_int_equal(sparc_envs_info_of(envs).faults, 0);
      if (threads > 1) expect_bits(names[b], want, got, (size_t)steps[b] * sizeof *want);
      sparc_envs_free(envs);
    }
  }
  sparc_free(want);
  sparc_free(got);
}

static void test_restore(void **state) {
  (void)state;
  enum { BEFORE = 13, AFTER = 120 };
  record *want = sparc_alloc(AFTER * sizeof *want), *got = sparc_alloc(AFTER * sizeof *got);
  for (int b = 0; b < BODIES; b++) {
    for (int cached = 0; cached < 2; cached++) {
      const char *options = cached ? "reset=cached" : "reset=fresh";
      sparc_envs *one = open_envs(bodies[b], options, STREAMS, 1, 31),
                 *two = open_envs(bodies[b], options, STREAMS, 2, 99);
      assert_int_equal(sparc_envs_reset(one, want->observations), SPARC_OK);
      drive(one, 0, BEFORE, want);
      const size_t bytes = sparc_envs_info_of(one).state_bytes;
      void *saved = sparc_alloc(bytes);
      sparc_envs_save(one, saved);
      drive(one, BEFORE, AFTER, want);
      assert_int_equal(sparc_envs_restore(two, saved, bytes), SPARC_OK);
      drive(two, BEFORE, AFTER, got);
      expect_bits(bodies[b], want, got, AFTER * sizeof *want);
      sparc_free(saved);
      sparc_envs_free(one);
      sparc_envs_free(two);
    }
  }
  sparc_free(want);
  sparc_free(got);
}

/* ---- physics that break down ---------------------------------------------------------------------- */

static int messages;
static void hear(const char *message) {
  (void)message;
  messages++;
}

/* A number that is none in an action, or a velocity beyond all bounds: the episode ends, is counted, and the next one
 * is as good as any. MuJoCo stays silent: no line, no MUJOCO_LOG.TXT, and the program's own handlers are not called. */
static void test_breakdown(void **state) {
  (void)state;
  char before[PATH_MAX];
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(folder), 0);
  mju_user_warning = mju_user_error = hear;
  for (int b = 0; b < BODIES; b++) {
    player p = open_player(bodies[b], "", 8);
    reset(&p);
    for (int k = 0; k < 3; k++) {
      fill_action(&p, k == 0 ? NAN : 0);
      if (k > 0) ((double *)p.state)[1 + p.m->nq] = k == 1 ? 1e12 : NAN; /* the first velocity */
      step(&p);
      assert_true(isnan(p.reward));
      for (int w = 0; w < mjNWARNING; w++) assert_int_equal(p.d->warning[w].number, 0);
      reset(&p);
      for (int t = 0; t < 5; t++) {
        fill_action(&p, 0);
        step(&p);
        assert_true(isfinite(p.reward) && !p.done);
      }
    }
    close_player(&p);

    sparc_envs *envs = open_envs(bodies[b], NULL, 2, 1, 8);
    const int count = sparc_envs_info_of(envs).shape.action;
    float observations[2 * MOST], actions[2 * MOST] = {0}, rewards[2], masks[2];
    assert_int_equal(sparc_envs_reset(envs, observations), SPARC_OK);
    actions[count] = NAN; /* the second environment's first motor */
    assert_int_equal(sparc_envs_step(envs, actions, observations, rewards, masks, NULL, NULL), SPARC_OK);
    assert_int_equal(sparc_envs_info_of(envs).faults, 1);
    assert_true(masks[0] == 1 && masks[1] == 0 && rewards[1] == 0);
    for (int i = 0; i < 2 * sparc_envs_info_of(envs).shape.observation; i++) assert_true(isfinite(observations[i]));
    sparc_envs_free(envs);
  }
  assert_int_equal(messages, 0);
  assert_true(mju_user_warning == hear);
  mju_user_warning = mju_user_error = NULL;
  assert_int_equal(access("MUJOCO_LOG.TXT", F_OK), -1);
  assert_int_equal(chdir(before), 0);
}

/* an error of MuJoCo, of which the default is to print and exit: here its allocator has no memory for the scratch */
static void *no_memory(size_t bytes) {
  (void)bytes;
  return NULL;
}

static void test_no_memory(void **state) {
  (void)state;
  player p = open_player("hopper", "", 1);
  mju_user_malloc = no_memory;
  void *scratch = p.kind->scratch_create(p.model);
  mju_user_malloc = NULL;
  assert_null(scratch);
  close_player(&p);
}

/* ---- returns -------------------------------------------------------------------------------------- */

typedef struct yardstick {
  const char *name, *options;
  double stddev; /* of the normal policy */
  int episodes;
  double mean, length;
} yardstick;

static void test_returns(void **state) {
  (void)state;
  static const yardstick rows[] = {
      {"ant-p", "", 1, 50, -282, 105},      {"cheetah-p", "", 1, 16, -596, 1000},
      {"hopper-p", "", 1, 300, 15.8, 19.5}, {"walker-p", "", 1, 200, 0.0, 18.7},
      {"cheetah-p", "", 0, 8, -0.2, 1000},  {"cheetah-p", "act_clip=1", 1, 16, -349, 1000},
      {"hopper-p", "", 0, 20, 148, 150},    {"walker-p", "", 0, 20, 96, 111},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const yardstick *y = &rows[r];
    player p = open_player(y->name, y->options, 1);
    double sum = 0, squares = 0, lengths = 0, length_squares = 0;
    for (int k = 0; k < y->episodes; k++) {
      double total = 0;
      int length = 0;
      for (reset(&p), p.done = 0; !p.done && length < p.shape.horizon; length++) {
        random_fill_normal(&p.policy, p.action, (size_t)p.shape.action, y->stddev);
        step(&p);
        total += p.reward;
      }
      sum += total, squares += total * total;
      lengths += length, length_squares += (double)length * length;
    }
    const double n = y->episodes, mean = sum / n, length = lengths / n;
    const double error = sqrt((squares / n - mean * mean) / (n - 1));
    const double length_error = sqrt((length_squares / n - length * length) / (n - 1));
    print_message("%-9s %-10s stddev %g: mean %.2f +- %.2f, length %.1f +- %.1f\n", y->name, y->options, y->stddev,
                  mean, error, length, length_error);
    expect_near(y->name, mean, y->mean, 3 * error);
    expect_near(y->name, length, y->length, 3 * length_error);
    close_player(&p);
  }
}

/* ---- the side view -------------------------------------------------------------------------------- */

static void test_segments(void **state) {
  (void)state;
  static const int counts[BODIES] = {13, 8, 4, 7};
  for (int b = 0; b < BODIES; b++) {
    player p = open_player(bodies[b], "", 1);
    reset(&p);
    double segment[MOST][5];
    assert_int_equal(p.kind->segments(p.model, p.d, p.state, segment, MOST), counts[b]);
    assert_int_equal(p.kind->segments(p.model, p.d, p.state, segment, 2), 2);
    if (b >= 2) { /* the trunk: 0.4 m, upright, its centre at the height that qpos has */
      expect_near("trunk", hypot(segment[0][2] - segment[0][0], segment[0][3] - segment[0][1]), 0.4, 1e-12);
      expect_near("height", (segment[0][1] + segment[0][3]) / 2, p.d->qpos[1], 1e-12);
      expect_near("place", (segment[0][0] + segment[0][2]) / 2, p.d->qpos[0], 1e-12);
      expect_near("radius", segment[0][4], 0.05, 0);
    }
    close_player(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_models),        cmocka_unit_test(test_masks),     cmocka_unit_test(test_starts),
      cmocka_unit_test(test_cached_starts), cmocka_unit_test(test_steps),     cmocka_unit_test(test_clipping),
      cmocka_unit_test(test_options),       cmocka_unit_test(test_scratch),   cmocka_unit_test(test_threads),
      cmocka_unit_test(test_restore),       cmocka_unit_test(test_breakdown), cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_returns),       cmocka_unit_test(test_segments),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

#endif
