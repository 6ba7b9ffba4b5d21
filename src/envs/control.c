/* SPDX-License-Identifier: MIT */
/* control.c: pendulum and cart-pole of POPGym, seen without their velocities and, in the noisy kinds, through noise.
 *
 * States are double; rounding to float happens in observations and rewards only. A torque that is not a number stays
 * one, reaches the reward and ends the episode there (vector.c), which is why bounds are set by comparisons that a NaN
 * passes through.
 */
#include "envs/control.h"

#include "base/error.h"
#include "base/options.h"
#include "envs/envs.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static double bound(double x, double most) { return x > most ? most : x < -most ? -most : x; }

/* ---- options ----------------------------------------------------------------------------------- */

static const char *const sizes[] = {"easy", "medium", "hard", NULL};
static const double noise_of_size[] = {0.1, 0.2, 0.3};
enum { OPTION_SIZE, OPTION_NOISE };

static const sparc_option noise_options[] = {
    {.name = "size", .type = SPARC_OPTION_CHOICE, .choices = sizes, .help = "sets the noise"},
    {.name = "noise",
     .type = SPARC_OPTION_REAL,
     .fallback = -1,
     .low = 0,
     .high = 10,
     .help = "standard deviation of the noise"},
    {.name = NULL}};
static const sparc_option no_options[] = {{.name = NULL}};

/* the standard deviation of the noise from the options of a noisy kind; 0 for the others */
static sparc_status parse_noise(const char *name, const sparc_option *rules, const char *options, double *noise) {
  double option[MAX_OPTIONS];
  sparc_status status = options_parse(name, rules, options, option);
  if (status != SPARC_OK) return status;
  *noise = rules == no_options         ? 0
           : option[OPTION_NOISE] >= 0 ? option[OPTION_NOISE]
                                       : noise_of_size[(int)option[OPTION_SIZE]];
  return SPARC_OK;
}

/* ---- pendulum: swing up and hold, by a torque too weak to do it in one go -------------------------- */

enum { PENDULUM_STEPS = 200, ANGLES = 128, SPEEDS = 129, SWEEPS = 200, TORQUES = 41 };

static const double period = 0.05, most_torque = 2, most_speed = 8;
static const double half_worst_cost = 8.1368022; /* of pi^2 + 0.1 * 8^2 + 0.001 * 2^2 */

typedef struct pendulum_model {
  double noise;
  float to_go[ANGLES][SPEEDS]; /* least sum of costs from here, for the oracle */
} pendulum_model;

/* to [-pi, pi) */
static double wrap(double angle) {
  const double turned = angle + pi;
  return turned - 2 * pi * floor(turned / (2 * pi)) - pi;
}

/* g = 10, m = 1, l = 1: w' = 3 g / (2 l) sin th + 3 u / (m l^2); the new speed moves the angle */
static pendulum_state swing(pendulum_state s, double sine, double torque) {
  s.speed = bound(s.speed + (15 * sine + 3 * torque) * period, most_speed);
  s.angle += s.speed * period;
  return s;
}

static double torque_cost(double torque) { return 0.001 * torque * torque; }

static double place_cost(pendulum_state s) {
  const double angle = wrap(s.angle);
  return angle * angle + 0.1 * s.speed * s.speed;
}

static void pendulum_show(const pendulum_model *m, const pendulum_state *s, sparc_random *random, float *observation) {
  double seen[2] = {cos(s->angle), sin(s->angle)};
  for (int i = 0; i < 2; i++) {
    if (m->noise > 0) seen[i] += m->noise * sparc_random_normal(random);
    observation[i] = (float)seen[i];
  }
}

static void pendulum_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)scratch;
  pendulum_state *s = state;
  s->angle = pi * (2 * sparc_random_uniform(random) - 1);
  s->speed = 2 * sparc_random_uniform(random) - 1;
  pendulum_show(model, s, random, observation);
}

/* the cost is that of the state before the step */
static void pendulum_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                          float *observation, float *reward, int *done) {
  (void)scratch, (void)done; /* episodes end at their horizon */
  pendulum_state *s = state;
  const double torque = bound((double)*action, most_torque);
  *reward = (float)((1 - (place_cost(*s) + torque_cost(torque)) / half_worst_cost) / PENDULUM_STEPS);
  *s = swing(*s, sin(s->angle), torque);
  pendulum_show(model, s, random, observation);
}

/* the oracle looks the speed up in a table */
static int pendulum_state_valid(const void *model, const void *state, int steps) {
  (void)model;
  const pendulum_state *s = state;
  return fabs(s->speed) <= most_speed && fabs(s->angle) <= pi + (steps + 1) * most_speed * period;
}

static size_t pendulum_state_bytes(const void *model) {
  (void)model;
  return sizeof(pendulum_state);
}

static int pendulum_segments(const void *model, void *scratch, const void *state, double (*segment)[5], int most) {
  (void)model, (void)scratch;
  const pendulum_state *s = state;
  if (most < 1) return 0;
  const double rod[5] = {0, 0, sin(s->angle), cos(s->angle), 0.05};
  for (int i = 0; i < 5; i++) segment[0][i] = rod[i];
  return 1;
}

/* ---- its oracle: dynamic programming on the state -------------------------------------------------- */

/* between four points of the grid, which is periodic in the angle */
static double cost_to_go(const pendulum_model *m, pendulum_state s) {
  const double turns = s.angle / (2 * pi) + 0.5;
  const double column = (turns - floor(turns)) * ANGLES;
  const double row = (s.speed + most_speed) * ((SPEEDS - 1) / (2 * most_speed));
  const int i = (int)column < ANGLES ? (int)column : 0, next = i + 1 < ANGLES ? i + 1 : 0;
  const int j = (int)row < SPEEDS - 1 ? (int)row : SPEEDS - 2;
  const double a = column - (int)column, b = row - j;
  const float *left = m->to_go[i] + j, *right = m->to_go[next] + j;
  return (1 - a) * ((1 - b) * left[0] + b * left[1]) + a * ((1 - b) * right[0] + b * right[1]);
}

/* returns the cost-to-go of the best of `count` torques from -2 to 2, without that of the current position */
static double best_torque(const pendulum_model *m, pendulum_state s, double sine, int count, double *torque) {
  double least = INFINITY;
  for (int k = 0; k < count; k++) {
    const double u = most_torque * (2.0 * k / (count - 1) - 1);
    const double cost = torque_cost(u) + cost_to_go(m, swing(s, sine, u));
    if (cost < least) least = cost, *torque = u;
  }
  return least;
}

/* Value iteration in place, from the top outwards and back in turns. Costs vanish at the top, so the sum converges
 * without a discount; three torques are enough for the costs, the oracle then chooses among more. The pendulum is the
 * same from the other side: half of the states are computed. Takes some 20 ms. */
static void solve_pendulum(pendulum_model *m) {
  double change = INFINITY, torque = 0;
  for (int sweep = 0; sweep < SWEEPS && change > 0.1; sweep++) {
    change = 0;
    for (int k = 0; k <= ANGLES / 2; k++) {
      const int i = sweep % 2 ? k : ANGLES / 2 - k;
      pendulum_state s = {.angle = pi * (2.0 * i / ANGLES - 1)};
      const double sine = sin(s.angle);
      for (int j = 0; j < SPEEDS; j++) {
        s.speed = most_speed * (2.0 * j / (SPEEDS - 1) - 1);
        const double cost = place_cost(s) + best_torque(m, s, sine, 3, &torque);
        change = fmax(change, fabs(cost - (double)m->to_go[i][j]));
        m->to_go[i][j] = m->to_go[(ANGLES - i) % ANGLES][SPEEDS - 1 - j] = (float)cost;
      }
    }
  }
}

static void pendulum_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)scratch;
  const pendulum_state *s = state;
  double torque = 0;
  best_torque(model, *s, sin(s->angle), TORQUES, &torque);
  *action = (float)torque;
}

static sparc_status open_pendulum(const char *name, const sparc_option *rules, const char *options,
                                  sparc_env_shape *shape, void **model) {
  double noise;
  sparc_status status = parse_noise(name, rules, options, &noise);
  if (status != SPARC_OK) return status;
  pendulum_model *m = sparc_alloc(sizeof *m);
  if (!m) return fail(SPARC_NO_MEMORY, "no memory for %s", name);
  m->noise = noise;
  solve_pendulum(m);
  *shape = (sparc_env_shape){.observation = 2, .action = 1, .horizon = PENDULUM_STEPS};
  *model = m;
  return SPARC_OK;
}

/* ---- cart-pole: keep the pole up and the cart on its track ---------------------------------------- */

enum { CARTPOLE_STEPS = 200 };

static const double farthest = 2.4, steepest = 0.20943951023931953; /* 12 degrees */

typedef struct cartpole_model {
  double noise;
} cartpole_model;

static void cartpole_show(const cartpole_model *m, const cartpole_state *s, sparc_random *random, float *observation) {
  double seen[2] = {s->place, s->angle};
  for (int i = 0; i < 2; i++) {
    if (m->noise > 0) seen[i] += m->noise * sparc_random_normal(random);
    observation[i] = (float)bound(seen[i], 2 * (i == 0 ? farthest : steepest));
  }
}

static void cartpole_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)scratch;
  cartpole_state *s = state;
  double *const parts[4] = {&s->place, &s->speed, &s->angle, &s->spin};
  for (int i = 0; i < 4; i++) *parts[i] = 0.05 * (2 * sparc_random_uniform(random) - 1);
  cartpole_show(model, s, random, observation);
}

/* explicit Euler: the right-hand sides are those of the state before */
static void cartpole_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                          float *observation, float *reward, int *done) {
  (void)scratch;
  const double tau = 0.02, gravity = 9.8, pole = 0.1, mass = 1.1, half = 0.5;
  cartpole_state *s = state;
  const double force = *action > 0 ? 10 : -10, sine = sin(s->angle), cosine = cos(s->angle);
  const double push = (force + pole * half * s->spin * s->spin * sine) / mass;
  const double twist = (gravity * sine - cosine * push) / (half * (4.0 / 3 - pole * cosine * cosine / mass));
  const double pull = push - pole * half * twist * cosine / mass;
  s->place += tau * s->speed;
  s->speed += tau * pull;
  s->angle += tau * s->spin;
  s->spin += tau * twist;
  *reward = 1.0F / CARTPOLE_STEPS;
  *done = !(fabs(s->place) <= farthest && fabs(s->angle) <= steepest);
  cartpole_show(model, s, random, observation);
}

/* an episode ends outside these bounds */
static int cartpole_state_valid(const void *model, const void *state, int steps) {
  (void)model, (void)steps;
  const cartpole_state *s = state;
  return fabs(s->place) <= farthest && fabs(s->angle) <= steepest && isfinite(s->speed) && isfinite(s->spin);
}

static size_t cartpole_state_bytes(const void *model) {
  (void)model;
  return sizeof(cartpole_state);
}

static void cartpole_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)model, (void)scratch;
  const cartpole_state *s = state;
  *action = 10 * s->angle + 1.5 * s->spin + 0.3 * s->place + 0.6 * s->speed > 0;
}

static int cartpole_segments(const void *model, void *scratch, const void *state, double (*segment)[5], int most) {
  (void)model, (void)scratch;
  const cartpole_state *s = state;
  const double parts[2][5] = {{s->place - 0.2, 0, s->place + 0.2, 0, 0.1},
                              {s->place, 0, s->place + sin(s->angle), cos(s->angle), 0.03}};
  const int count = most < 2 ? most : 2;
  for (int part = 0; part < count; part++)
    for (int i = 0; i < 5; i++) segment[part][i] = parts[part][i];
  return count;
}

static sparc_status open_cartpole(const char *name, const sparc_option *rules, const char *options,
                                  sparc_env_shape *shape, void **model) {
  double noise;
  sparc_status status = parse_noise(name, rules, options, &noise);
  if (status != SPARC_OK) return status;
  cartpole_model *m = sparc_alloc(sizeof *m);
  if (!m) return fail(SPARC_NO_MEMORY, "no memory for %s", name);
  m->noise = noise;
  *shape = (sparc_env_shape){.observation = 2, .choices = 2, .action = 1, .horizon = CARTPOLE_STEPS};
  *model = m;
  return SPARC_OK;
}

/* ---- kinds ------------------------------------------------------------------------------------- */

/* id, machine, options, name, random and optimal return, summary */
#define CONTROL_KINDS(ROW)                                                                                      \
  ROW(noisy_pendulum, pendulum, noise_options, "noisy-pendulum", 0.243, 0.90,                                   \
      "swing up a pendulum, seeing its angle through noise")                                                    \
  ROW(pendulum, pendulum, no_options, "pendulum", 0.243, 0.915, "swing up a pendulum, seeing its angle")        \
  ROW(cartpole, cartpole, no_options, "cartpole", 0.112, 1, "balance a pole on a cart, seeing place and angle") \
  ROW(noisy_cartpole, cartpole, noise_options, "noisy-cartpole", 0.112, NAN,                                    \
      "balance a pole on a cart, seeing place and angle through noise")

#define DEFINE(id, machine, rules, text, random, optimal, about)                                    \
  static sparc_status open_##id##_kind(const char *options, sparc_env_shape *shape, void **model) { \
    return open_##machine(text, rules, options, shape, model);                                      \
  }                                                                                                 \
  static const sparc_env_kind kind_##id = {                                                         \
      .version = SPARC_ENV_VERSION,                                                                 \
      .name = (text),                                                                               \
      .summary = (about),                                                                           \
      .random_return = (random),                                                                    \
      .optimal_return = (optimal),                                                                  \
      .open = open_##id##_kind,                                                                     \
      .close = sparc_free,                                                                          \
      .state_bytes = machine##_state_bytes,                                                         \
      .reset = machine##_reset,                                                                     \
      .step = machine##_step,                                                                       \
      .oracle = machine##_oracle,                                                                   \
      .segments = machine##_segments,                                                               \
      .state_valid = machine##_state_valid,                                                         \
  };
CONTROL_KINDS(DEFINE)

#define ADDRESS(id, machine, rules, text, random, optimal, about) &kind_##id,
const sparc_env_kind *const control_kinds[] = {CONTROL_KINDS(ADDRESS) NULL};
