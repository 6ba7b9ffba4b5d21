/* SPDX-License-Identifier: MIT */
/* mujoco.c: the physics of the robots, by MuJoCo.
 *
 * A robot is a row of numbers (rewards, termination, initial states) and a model, a file in
 * src/envs/mjcf. One mjModel serves every environment of a vector; an mjData is scratch of a thread. Between two steps
 * an environment is the numbers that mj_step reads, copied out of the mjData and back in: a few hundred bytes beside
 * a step of tens of microseconds. So results do not depend on earlier uses of a scratch, and saving is copying.
 *
 * One step, with a the action clipped to +-act_clip (2 by default; MuJoCo limits the motors to +-1 by itself, the cost
 * counts what lies beyond):
 *   reward = (x' - x) / (frame_skip timestep) + bonus - cost |a|^2
 *
 * On failure MuJoCo prints, writes MUJOCO_LOG.TXT and, for errors, exits. Every call that can fail runs in guarded(),
 * which installs handlers for this thread and removes them afterwards.
 */
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "envs/mjcf.h"
#include "envs/mujoco_library.h"
#include "envs/robots.h"

#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { HORIZON = 1000 };

/* ---- the four robots --------------------------------------------------------------------------- */

typedef struct robot {
  const char *name;
  const embedded_file *model;
  bool (*fallen)(const mjModel *m, const mjData *d); /* NULL: never */
  double bonus, cost;                                /* of a step, and of |a|^2 */
  double speed;                                      /* observed velocities are clipped to +-speed */
  double noise;   /* of the first state: positions uniform on +-noise around the pose, velocities as well or ... */
  bool normal;    /* ... normal with this standard deviation */
  int frame_skip; /* physics steps of one action */
  int ground;     /* leading entries of qpos that are the position on the ground; never observed */
} robot;

static bool ant_fallen(const mjModel *m, const mjData *d) {
  (void)m;
  const double z = d->qpos[2];
  return !(z >= 0.2 && z <= 1.0);
}

static bool within(const double *values, int count, double limit) {
  for (int i = 0; i < count; i++)
    if (!(fabs(values[i]) < limit)) return false;
  return true;
}

static bool hopper_fallen(const mjModel *m, const mjData *d) {
  const double z = d->qpos[1], pitch = d->qpos[2];
  return !(z > 0.7 && fabs(pitch) < 0.2 && within(d->qpos + 2, m->nq - 2, 100) && within(d->qvel, m->nv, 100));
}

static bool walker_fallen(const mjModel *m, const mjData *d) {
  (void)m;
  const double z = d->qpos[1], pitch = d->qpos[2];
  return !(z > 0.8 && z < 2.0 && fabs(pitch) < 1);
}

/* clang-format off */
static const robot ROBOTS[] = {
    /* name     model          fallen         bonus cost   speed     noise  normal frame_skip ground */
    {"ant",     &mjcf_ant,     ant_fallen,    1,    0.5,   INFINITY, 0.1,   true,  5,         2},
    {"cheetah", &mjcf_cheetah, NULL,          0,    0.1,   INFINITY, 0.1,   true,  5,         1},
    {"hopper",  &mjcf_hopper,  hopper_fallen, 1,    0.001, 10,       0.005, false, 4,         1},
    {"walker",  &mjcf_walker,  walker_fallen, 1,    0.001, 10,       0.005, false, 4,         1},
};
/* clang-format on */

static const robot *find_robot(const char *name) {
  const robot *r = ROBOTS;
  while (strcmp(r->name, name) != 0) r++;
  return r;
}

/* ---- options ----------------------------------------------------------------------------------- */

enum { RESET_FRESH, RESET_CACHED };
static const char *const reset_names[] = {"fresh", "cached", NULL};
enum { INTEGRATOR_MODEL, INTEGRATOR_RK4, INTEGRATOR_EULER };
static const char *const integrator_names[] = {"model", "rk4", "euler", NULL};

enum { ACT_CLIP, RESET, INTEGRATOR };
static const sparc_option RULES[] = {
    [ACT_CLIP] =
        {.name = "act_clip", .type = SPARC_OPTION_INT, .fallback = 2, .low = 1, .high = 2, .help = "largest action"},
    [RESET] = {.name = "reset",
               .type = SPARC_OPTION_CHOICE,
               .fallback = RESET_FRESH,
               .choices = reset_names,
               .help = "cached: every episode starts from the state of the first one"},
    [INTEGRATOR] = {.name = "integrator",
                    .type = SPARC_OPTION_CHOICE,
                    .fallback = INTEGRATOR_MODEL,
                    .choices = integrator_names,
                    .help = "euler is three to four times as fast, for trying things out"},
    {.name = NULL},
};

/* an open kind */
typedef struct world {
  const robot *robot;
  mjModel *m;
  int first, count; /* of the full observation */
  double act_clip;
  bool cached;
} world;

/* ---- errors ------------------------------------------------------------------------------------ */

static _Thread_local jmp_buf *landing;

static void on_error(const char *message) {
  (void)fail(SPARC_UNSUPPORTED, "MuJoCo: %s", message);
  longjmp(*landing, 1);
}
static void on_warning(const char *message) { (void)message; } /* mjData counts them */

/* guarded calls body. False: MuJoCo reported an error, see sparc_error(). */
static bool guarded(void (*body)(void *), void *context) {
  const mujoco_handler error = mujoco->get_tls_error_fn(), warning = mujoco->get_tls_warning_fn();
  jmp_buf jump;
  landing = &jump;
  mujoco->set_tls_error_fn(on_error);
  mujoco->set_tls_warning_fn(on_warning);
  bool finished = false;
  if (setjmp(jump) == 0) {
    body(context);
    finished = true;
  }
  mujoco->set_tls_error_fn(error);
  mujoco->set_tls_warning_fn(warning);
  return finished;
}

/* ---- opening ----------------------------------------------------------------------------------- */

typedef struct loading {
  const embedded_file *file;
  mjVFS *vfs; /* two megabytes, too large for a stack */
  mjModel *m;
  char message[256];
} loading;

static void load_body(void *context) {
  loading *job = context;
  mujoco->default_vfs(job->vfs);
  if (mujoco->make_empty_file_vfs(job->vfs, job->file->name, (int)job->file->size) == 0) {
    memcpy(job->vfs->filedata[mujoco->find_file_vfs(job->vfs, job->file->name)], job->file->bytes, job->file->size);
    job->m = mujoco->load_xml(job->file->name, job->vfs, job->message, sizeof job->message);
  }
  mujoco->delete_vfs(job->vfs);
}

/* NULL: see *status */
static mjModel *load_model(const embedded_file *file, sparc_status *status) {
  loading job = {.file = file, .vfs = sparc_alloc(sizeof *job.vfs)};
  if (!job.vfs) {
    *status = fail(SPARC_NO_MEMORY, "no memory for %zu bytes to read %s", sizeof *job.vfs, file->name);
    return NULL;
  }
  if (!guarded(load_body, &job))
    *status = SPARC_UNSUPPORTED;
  else if (!job.m)
    *status = fail(SPARC_FORMAT, "MuJoCo does not read %s: %s", file->name, job.message);
  sparc_free(job.vfs);
  return job.m;
}

sparc_status robot_open(const robot_task *task, const char *options, sparc_env_shape *shape, void **model) {
  double values[MAX_OPTIONS];
  sparc_status status = options_parse(task->name, RULES, options, values);
  if (status != SPARC_OK) return status;
  status = mujoco_load();
  if (status != SPARC_OK) return status;
  const robot *r = find_robot(task->robot);
  mjModel *m = load_model(r->model, &status);
  if (!m) return status;
  world *w = sparc_alloc(sizeof *w);
  if (!w) {
    mujoco->delete_model(m);
    return fail(SPARC_NO_MEMORY, "no memory for environment %s", task->name);
  }
  assert(task->first + task->count <= m->nq - r->ground + m->nv);
  if (values[INTEGRATOR] != INTEGRATOR_MODEL)
    m->opt.integrator = values[INTEGRATOR] == INTEGRATOR_RK4 ? mjINT_RK4 : mjINT_EULER;
  *w = (world){.robot = r,
               .m = m,
               .first = task->first,
               .count = task->count,
               .act_clip = values[ACT_CLIP],
               .cached = values[RESET] == RESET_CACHED};
  *shape = (sparc_env_shape){.observation = w->count, .action = m->nu, .horizon = HORIZON};
  *model = w;
  return SPARC_OK;
}

void robot_close(void *model) {
  world *w = model;
  mujoco->delete_model(w->m);
  sparc_free(w);
}

/* ---- state and scratch ------------------------------------------------------------------------- */

/* A state is everything that mj_step reads besides the controls, which every step sets, and applied forces, which stay
 * zero. qacc_warmstart is where the solver begins, and the last bits of its result depend on that. */
enum { PARTS = 5 };
typedef struct part {
  double *numbers;
  size_t count;
} part;

static void parts_of(const mjModel *m, mjData *d, part parts[PARTS]) {
  const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, na = (size_t)m->na;
  const part all[PARTS] = {{&d->time, 1}, {d->qpos, nq}, {d->qvel, nv}, {d->act, na}, {d->qacc_warmstart, nv}};
  memcpy(parts, all, sizeof all);
}

size_t robot_state_bytes(const void *model) {
  const mjModel *m = ((const world *)model)->m;
  return (size_t)(1 + m->nq + m->nv + m->na + m->nv) * sizeof(double);
}

int robot_state_valid(const void *model, const void *state, int steps) {
  (void)steps;
  const double *numbers = state;
  for (size_t i = 0; i < robot_state_bytes(model) / sizeof *numbers; i++)
    if (!isfinite(numbers[i])) return 0;
  return numbers[0] >= 0; /* the time */
}

const void *robot_load(const void *model, void *scratch, const void *state) {
  const world *w = model;
  const double *from = state;
  part parts[PARTS];
  parts_of(w->m, scratch, parts);
  for (int i = 0; i < PARTS; from += parts[i++].count) memcpy(parts[i].numbers, from, parts[i].count * sizeof(double));
  return w->m;
}

static void store(const world *w, mjData *d, void *state) {
  double *to = state;
  part parts[PARTS];
  parts_of(w->m, d, parts);
  for (int i = 0; i < PARTS; to += parts[i++].count) memcpy(to, parts[i].numbers, parts[i].count * sizeof(double));
}

typedef struct making {
  const mjModel *m;
  mjData *d;
} making;
static void make_body(void *context) {
  making *job = context;
  job->d = mujoco->make_data(job->m);
}

void *robot_scratch_create(const void *model) {
  making job = {.m = ((const world *)model)->m};
  return guarded(make_body, &job) ? job.d : NULL;
}

void robot_scratch_free(void *scratch) { mujoco->delete_data(scratch); }

/* ---- an episode -------------------------------------------------------------------------------- */

/* a NaN stays one */
static double clip(double value, double limit) { return value < -limit ? -limit : value > limit ? limit : value; }

static void observe(const world *w, const mjData *d, float *observation) {
  const double *positions = d->qpos + w->robot->ground;
  const int count = w->m->nq - w->robot->ground;
  for (int i = 0, k = w->first; i < w->count; i++, k++)
    observation[i] = (float)(k < count ? positions[k] : clip(d->qvel[k - count], w->robot->speed));
}

/* a pose with noise on every entry; for a free body the noise leaves the unit quaternions, so they are scaled back */
static void draw_start(const world *w, sparc_random *random, double *qpos, double *qvel) {
  const mjModel *m = w->m;
  const double *pose = m->nkey ? m->key_qpos : m->qpos0, noise = w->robot->noise;
  for (int i = 0; i < m->nq; i++) qpos[i] = pose[i] + noise * (2 * sparc_random_uniform(random) - 1);
  for (int i = 0; i < m->nv; i++)
    qvel[i] = noise * (w->robot->normal ? sparc_random_normal(random) : 2 * sparc_random_uniform(random) - 1);
  mujoco->normalize_quat(m, qpos);
}

/* physics runs some steps, or 0: computes the quantities of a first state */
typedef struct physics {
  const mjModel *m;
  mjData *d;
  int steps;
} physics;
static void physics_body(void *context) {
  const physics *job = context;
  if (job->steps == 0) mujoco->forward(job->m, job->d);
  for (int i = 0; i < job->steps; i++) mujoco->step(job->m, job->d);
}

/* advance returns false if the simulation diverged. MuJoCo has then reset the mjData, except after an error. */
static bool advance(const world *w, mjData *d, int steps) {
  physics job = {.m = w->m, .d = d, .steps = steps};
  if (!guarded(physics_body, &job)) {
    mujoco->reset_data(w->m, d);
    return false;
  }
  static const int bad[] = {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL};
  int count = 0;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) count += d->warning[bad[i]].number;
  memset(d->warning, 0, sizeof d->warning);
  return count == 0;
}

void robot_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  const world *w = model;
  mjData *d = scratch;
  memset(state, 0, robot_state_bytes(w));
  robot_load(w, d, state);
  sparc_random beginning = *random; /* of the stream, where the first episode was drawn from */
  random_seek(&beginning, 0);
  draw_start(w, w->cached ? &beginning : random, d->qpos, d->qvel);
  memset(d->ctrl, 0, (size_t)w->m->nu * sizeof *d->ctrl);
  advance(w, d, 0);
  store(w, d, state);
  observe(w, d, observation);
}

void robot_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                float *observation, float *reward, int *done) {
  (void)random;
  const world *w = model;
  mjData *d = scratch;
  robot_load(w, d, state);
  const double x = d->qpos[0];
  double effort = 0;
  for (int i = 0; i < w->m->nu; i++) {
    d->ctrl[i] = clip(action[i], w->act_clip);
    effort += d->ctrl[i] * d->ctrl[i];
  }
  *reward = NAN; /* ends the episode and is counted as a fault */
  if (!advance(w, d, w->robot->frame_skip)) return;
  store(w, d, state);
  const double seconds = w->robot->frame_skip * w->m->opt.timestep;
  *reward = (float)((d->qpos[0] - x) / seconds + w->robot->bonus - w->robot->cost * effort);
  *done = w->robot->fallen && w->robot->fallen(w->m, d);
  observe(w, d, observation);
}

/* ---- drawing ----------------------------------------------------------------------------------- */

int robot_segments(const void *model, void *scratch, const void *state, double (*segment)[5], int most) {
  const mjModel *m = robot_load(model, scratch, state);
  mjData *d = scratch;
  mujoco->kinematics(m, d);
  int count = 0;
  for (size_t g = 0; g < (size_t)m->ngeom && count < most; g++) {
    const double *centre = d->geom_xpos + 3 * g, *turn = d->geom_xmat + 9 * g, *size = m->geom_size + 3 * g;
    if (m->geom_type[g] != mjGEOM_CAPSULE && m->geom_type[g] != mjGEOM_SPHERE) continue;
    const double half = m->geom_type[g] == mjGEOM_CAPSULE ? size[1] : 0; /* along the third axis of the geom */
    const double dx = half * turn[2], dz = half * turn[8];
    const double values[5] = {centre[0] - dx, centre[2] - dz, centre[0] + dx, centre[2] + dz, size[0]};
    memcpy(segment[count++], values, sizeof values);
  }
  return count;
}
