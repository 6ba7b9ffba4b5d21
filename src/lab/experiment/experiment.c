/* SPDX-License-Identifier: MIT */
/* experiment.c: one run of a method on a task, and many such runs beside each other.
 *
 * A run is small (batch 64, 48 steps, 128 state coordinates), so a thread for each of several runs keeps the processors
 * busier than several threads inside one. Only with more threads than runs do the runs share the rest out.
 */
#include "lab/experiment/experiment.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "train/batch.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- one run ------------------------------------------------------------------------------------ */

static sparc_run_config config_of(const experiment_run *run, int threads) {
  sparc_run_config c = sparc_run_defaults();
  c.data = run->task->name;
  c.variant = run->method->variant;
  c.train.network.cell = run->method->cell;
  c.train.network.cell_options = run->method->options;
  c.train.network.embedding = run->embedding ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE;
  c.train.network.width = EMBEDDING_WIDTH;
  c.train.seed = run->seed;
  c.train.updates = run->updates;
  c.train.threads = threads;
  c.validate_every = run->updates; /* the learning curve has points of its own */
  return c;
}

/* what a callback needs besides the run that is recorded */
typedef struct recorder {
  experiment_run *run;
  sparc_run *work;
  sparc_status status; /* of what the callback itself does */
} recorder;

static double score_of(const sparc_task *task, const sparc_evaluation *e) {
  return task->target_kind == SPARC_TARGET_CLASS ? 1 - e->accuracy : e->nmse;
}

/* the points of the learning curve that lie at this number of updates */
static void record_curve(recorder *r, long updates) {
  experiment_run *run = r->run;
  for (int p = 0; p < CURVE_POINTS && r->status == SPARC_OK; p++) {
    if (run->point[p] != updates) continue;
    const sparc_samples samples = sparc_run_data_of(r->work).validation;
    sparc_evaluation evaluation;
    r->status = sparc_trainer_evaluate(sparc_run_trainer(r->work), &samples, &evaluation);
    if (r->status == SPARC_OK) run->curve[p] = score_of(run->task, &evaluation);
  }
}

static int record(void *user, const sparc_run_event *event) {
  recorder *r = user;
  experiment_run *run = r->run;
  if (event->stage == SPARC_RUN_STARTED) record_curve(r, 0);
  if (event->stage == SPARC_RUN_UPDATE) {
    run->loss[event->update->update - 1] = (float)event->update->loss;
    atomic_store(&run->recent, event->update->loss);
    atomic_store(&run->done, event->update->update);
    record_curve(r, event->update->update);
  }
  return r->status != SPARC_OK || atomic_load(run->stop);
}

/* evaluation sequence 0, and its beginnings: what the class would be if the sequence ended after each step */
static sparc_sample whole_example(const void *source, int index) {
  const sparc_task *task = source;
  (void)index;
  return (sparc_sample){.x = task->evaluation.x, .length = task->T, .label = -1};
}

static sparc_sample example_beginning(const void *source, int index) {
  const sparc_task *task = source;
  return (sparc_sample){.x = task->evaluation.x, .length = index + 1, .label = -1};
}

static sparc_status show_example(experiment_run *run, const sparc_trainer *trainer) {
  const sparc_task *task = run->task;
  const sparc_network *network = sparc_trainer_network(trainer);
  const bool classes = task->target_kind == SPARC_TARGET_CLASS;
  const sparc_samples samples = {.count = classes ? task->T : 1,
                                 .channels = task->D,
                                 .longest = task->T,
                                 .source = task,
                                 .at = classes ? example_beginning : whole_example};
  batch *passes = NULL;
  float *prepared = sparc_alloc(sparc_network_sizes_of(network).prepared * sizeof *prepared);
  run->example = sparc_alloc((size_t)task->T * (size_t)task->O * sizeof *run->example);
  sparc_status status = prepared && run->example ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for an example");
  if (status == SPARC_OK) status = sparc_network_prepare(network, sparc_trainer_params(trainer), prepared);
  if (status == SPARC_OK) status = batch_fit(&passes, network, &samples, samples.count, 1);
  if (status == SPARC_OK)
    status = batch_predict(passes, prepared, &(example_source){.samples = &samples}, run->example);
  batch_free(passes);
  sparc_free(prepared);
  return status;
}

static void describe(experiment_run *run, const sparc_run *work) {
  const sparc_run_config c = sparc_run_config_of(work);
  snprintf(run->options, sizeof run->options, "%s", c.train.network.cell_options);
  run->H = c.train.network.H;
  run->params = sparc_network_sizes_of(sparc_trainer_network(sparc_run_trainer(work))).params;
}

/* to the end, or until it is stopped, with a look at the evaluation part now and then */
static sparc_status execute(experiment_run *run, sparc_run *work) {
  run->loss = sparc_alloc((size_t)run->updates * sizeof *run->loss);
  if (!run->loss) return fail(SPARC_NO_MEMORY, "no memory for the losses of %ld updates", run->updates);
  for (int p = 0; p < CURVE_POINTS; p++) run->point[p] = run->updates * p / (CURVE_POINTS - 1);
  recorder r = {.run = run, .work = work};
  sparc_status status = sparc_run_execute(work, record, &r);
  if (status == SPARC_OK) status = r.status;
  if (status != SPARC_OK || !sparc_run_result_of(work).finished) return status;
  describe(run, work);
  run->score = run->curve[CURVE_POINTS - 1];
  return run->wants_example ? show_example(run, sparc_run_trainer(work)) : SPARC_OK;
}

static void do_run(experiment_run *run, int threads) {
  const double start = seconds_now();
  const sparc_run_config config = config_of(run, threads);
  sparc_run *work;
  atomic_store(&run->state, RUN_TRAINING);
  sparc_status status = sparc_run_create(&config, &work);
  if (status == SPARC_OK) status = execute(run, work);
  run->status = status;
  if (status != SPARC_OK) snprintf(run->error, sizeof run->error, "%s", sparc_error());
  sparc_run_free(work);
  run->seconds = seconds_now() - start;
  const bool complete = atomic_load(&run->done) == run->updates;
  atomic_store(&run->state, status != SPARC_OK ? RUN_FAILED : complete ? RUN_DONE : RUN_STOPPED);
}

/* ---- many runs ---------------------------------------------------------------------------------- */

typedef struct workshop {
  experiment *e;
  int inside; /* threads of each run */
  _Atomic int next;
} workshop;

static void *work(void *context) {
  workshop *shop = context;
  for (int i; (i = atomic_fetch_add(&shop->next, 1)) < shop->e->runs;) {
    if (atomic_load(&shop->e->stop)) break;
    do_run(&shop->e->run[i], shop->inside);
  }
  return NULL;
}

static bool all_over(const experiment *e) {
  for (int i = 0; i < e->runs; i++)
    if (!run_is_over(&e->run[i])) return false;
  return true;
}

/* starts up to `wanted` workers; signals are left to the threads of the caller */
static int start_workers(pthread_t *worker, int wanted, workshop *shop) {
  sigset_t all, before;
  int started = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started < wanted && pthread_create(&worker[started], NULL, work, shop) == 0) started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void experiment_execute(experiment *e, int (*watch)(void *context), void *context) {
  pthread_t worker[THREADS_MAX];
  const struct timespec pause = {.tv_nsec = 50000000};
  workshop shop = {.e = e, .inside = e->threads / e->runs > 1 ? e->threads / e->runs : 1};
  const int started = start_workers(worker, e->threads < e->runs ? e->threads : e->runs, &shop);
  /* a machine without room for another thread still has this one, which then cannot watch */
  if (started == 0) work(&shop);
  while (started && !all_over(e)) {
    if (watch(context) != 0) {
      atomic_store(&e->stop, true);
      break;
    }
    nanosleep(&pause, NULL);
  }
  for (int i = 0; i < started; i++) pthread_join(worker[i], NULL);
  watch(context);
}

/* ---- life cycle --------------------------------------------------------------------------------- */

static sparc_status list_runs(experiment *e, const experiment_config *c) {
  e->runs = e->tasks * e->methods * e->seeds;
  e->run = sparc_alloc((size_t)e->runs * sizeof *e->run);
  if (!e->run) return fail(SPARC_NO_MEMORY, "no memory for a list of %d runs", e->runs);
  for (int i = 0; i < e->runs; i++) {
    experiment_run *run = &e->run[i];
    run->task = e->task[i / (e->methods * e->seeds)];
    run->method = &e->method[i / e->seeds % e->methods];
    run->seed = c->seed + (uint64_t)(i % e->seeds);
    run->updates = c->updates ? c->updates : run->task->training.updates;
    run->embedding = e->embedding;
    run->wants_example = i % e->seeds == 0;
    run->stop = &e->stop;
  }
  return SPARC_OK;
}

static sparc_status decide_embedding(experiment *e) {
  sparc_status status = SPARC_OK;
  for (int i = 0; i < e->tasks * e->methods && status == SPARC_OK && !e->embedding; i++)
    status = method_needs_width(&e->method[i % e->methods], e->task[i / e->methods], EMBEDDING_WIDTH, &e->embedding);
  return status;
}

sparc_status experiment_create(const experiment_config *c, experiment *e) {
  *e = (experiment){.seeds = c->seeds, .threads = thread_count(c->threads), .methods = c->method_count};
  memcpy(e->method, c->methods, (size_t)c->method_count * sizeof *e->method);
  sparc_status status = SPARC_OK;
  while (status == SPARC_OK && c->tasks[e->tasks] && e->tasks < EXPERIMENT_TASKS) {
    status = sparc_task_create(c->tasks[e->tasks], &e->task[e->tasks]);
    e->tasks += status == SPARC_OK;
  }
  if (status == SPARC_OK) status = decide_embedding(e);
  if (status == SPARC_OK) status = list_runs(e, c);
  if (status != SPARC_OK) experiment_free(e);
  return status;
}

void experiment_free(experiment *e) {
  for (int i = 0; e->run && i < e->runs; i++) {
    sparc_free(e->run[i].loss);
    sparc_free(e->run[i].example);
  }
  sparc_free(e->run);
  for (int i = 0; i < e->tasks; i++) sparc_task_free(e->task[i]);
  *e = (experiment){0};
}

/* ---- summaries ---------------------------------------------------------------------------------- */

score_summary experiment_curve(const experiment *e, int task, int row, int point, long *update) {
  score_summary s = {.least = INFINITY, .most = -INFINITY};
  double sum = 0, squares = 0;
  for (int seed = 0; seed < e->seeds; seed++) {
    const experiment_run *run = experiment_at(e, task, row, seed);
    if (!run_is_done(run)) continue;
    s.count++;
    sum += run->curve[point];
    s.least = fmin(s.least, run->curve[point]);
    s.most = fmax(s.most, run->curve[point]);
    if (update) *update = run->point[point];
  }
  if (s.count == 0) return (score_summary){0};
  s.mean = sum / s.count;
  for (int seed = 0; seed < e->seeds; seed++) {
    const experiment_run *run = experiment_at(e, task, row, seed);
    if (run_is_done(run)) squares += (run->curve[point] - s.mean) * (run->curve[point] - s.mean);
  }
  s.deviation = s.count > 1 ? sqrt(squares / (s.count - 1)) : 0;
  return s;
}

score_summary experiment_summary(const experiment *e, int task, int row) {
  return experiment_curve(e, task, row, CURVE_POINTS - 1, NULL);
}

const experiment_run *experiment_shown(const experiment *e, int task, int row) {
  for (int seed = 0; seed < e->seeds; seed++) {
    const experiment_run *run = experiment_at(e, task, row, seed);
    if (run_is_done(run) && run->example) return run;
  }
  return NULL;
}

int experiment_finished(const experiment *e) {
  int count = 0;
  for (int i = 0; i < e->runs; i++) count += run_is_done(&e->run[i]);
  return count;
}
