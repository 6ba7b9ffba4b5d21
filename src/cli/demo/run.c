/* SPDX-License-Identifier: MIT */
/* run.c: training and judging one cell on one task, and many such runs beside each other.
 *
 * A run is small (batch 64, 48 steps, 128 state coordinates), so a thread for each of several runs keeps the processors
 * busier than several threads inside one. Only with more threads than runs do the runs share the rest out.
 */
#include "cli/demo/run.h"

#include "base/error.h"
#include "base/threads.h"
#include "cli/progress.h"
#include "lab/batch.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- one run ------------------------------------------------------------------------------------ */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sparc_status make_trainer(demo_run *run, int threads, const sparc_samples *samples, sparc_trainer **trainer) {
  const sparc_task *task = run->task;
  char options[128] = "";
  sparc_cell_config cell;
  sparc_status status = sparc_cell_fit(run->cell, task->training.state, &cell, options, sizeof options);
  if (status != SPARC_OK) return status;
  /* these tasks are defined with one dense block of RG-LRU gates, and decays as Griffin's text has them; see
   * docs/cells.md */
  if (strcmp(run->cell, "rglru") == 0) snprintf(options, sizeof options, "block=%d,ring=transition", cell.H);
  sparc_train_config config = sparc_train_task(task);
  config.seed = run->seed;
  config.updates = run->updates;
  config.threads = threads;
  const sparc_head_config head = {.input = task->target_kind == SPARC_TARGET_CLASS ? SPARC_HEAD_LAST : SPARC_HEAD_STEPS,
                                  .outputs = task->O};
  config.network = (sparc_network_config){
      .cell = run->cell,
      .cell_options = cell.options,
      .H = cell.H,
      .inputs = task->D,
      .features = task->training.relu ? SPARC_FEATURES_RELU : SPARC_FEATURES_OUTPUT,
      .init = task->training.init,
      .head = &head,
      .heads = 1,
  };
  status = sparc_trainer_create(&config, samples, trainer);
  if (status != SPARC_OK) return status;
  run->H = cell.H;
  run->params = sparc_network_sizes_of(sparc_trainer_network(*trainer)).params;
  return SPARC_OK;
}

static sparc_status judge(const demo_run *run, sparc_trainer *trainer, double *score) {
  const sparc_samples samples = sparc_samples_of_task(run->task, 1);
  sparc_evaluation evaluation;
  const sparc_status status = sparc_trainer_evaluate(trainer, &samples, &evaluation);
  if (status == SPARC_OK)
    *score = run->task->target_kind == SPARC_TARGET_CLASS ? 1 - evaluation.accuracy : evaluation.nmse;
  return status;
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

static sparc_status show_example(demo_run *run, const sparc_trainer *trainer) {
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

/* trains to the end, or until a signal comes, with a look at the evaluation part now and then */
static sparc_status train(demo_run *run, sparc_trainer *trainer) {
  float *loss = run->loss = sparc_alloc((size_t)run->updates * sizeof *loss);
  if (!loss) return fail(SPARC_NO_MEMORY, "no memory for the losses of %ld updates", run->updates);
  for (int p = 0; p < CURVE_POINTS; p++) {
    run->point[p] = run->updates * p / (CURVE_POINTS - 1);
    for (long u = sparc_trainer_updates_done(trainer); u < run->point[p]; u++) {
      sparc_update_report report;
      if (atomic_load(run->stop)) return SPARC_OK;
      const sparc_status status = sparc_trainer_update(trainer, &report);
      if (status != SPARC_OK) return status;
      loss[u] = (float)report.loss;
      atomic_store(&run->recent, report.loss);
      atomic_store(&run->done, u + 1);
    }
    const sparc_status status = judge(run, trainer, &run->curve[p]);
    if (status != SPARC_OK) return status;
  }
  run->score = run->curve[CURVE_POINTS - 1];
  return run->wants_example ? show_example(run, trainer) : SPARC_OK;
}

static void do_run(demo_run *run, int threads) {
  const sparc_samples samples = sparc_samples_of_task(run->task, 0);
  const double start = now();
  sparc_trainer *trainer = NULL;
  atomic_store(&run->state, RUN_TRAINING);
  sparc_status status = make_trainer(run, threads, &samples, &trainer);
  if (status == SPARC_OK) status = train(run, trainer);
  run->status = status;
  if (status != SPARC_OK) snprintf(run->error, sizeof run->error, "%s", sparc_error());
  sparc_trainer_free(trainer);
  run->seconds = now() - start;
  const bool complete = atomic_load(&run->done) == run->updates;
  atomic_store(&run->state, status != SPARC_OK ? RUN_FAILED : complete ? RUN_DONE : RUN_STOPPED);
}

/* ---- many runs ---------------------------------------------------------------------------------- */

typedef struct workshop {
  demo *d;
  int inside; /* threads of each run */
  _Atomic int next;
} workshop;

static void *work(void *context) {
  workshop *shop = context;
  for (int i; (i = atomic_fetch_add(&shop->next, 1)) < shop->d->runs;) {
    if (atomic_load(&shop->d->stop)) break;
    do_run(&shop->d->run[i], shop->inside);
  }
  return NULL;
}

static bool all_over(const demo *d) {
  for (int i = 0; i < d->runs; i++)
    if (!run_is_over(&d->run[i])) return false;
  return true;
}

/* starts up to `wanted` workers; signals are left to the calling thread, which alone looks for them */
static int start_workers(pthread_t *worker, int wanted, workshop *shop) {
  sigset_t all, before;
  int started = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started < wanted && pthread_create(&worker[started], NULL, work, shop) == 0) started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void demo_train(demo *d, void (*watch)(void *context), void *context) {
  pthread_t worker[THREADS_MAX];
  const struct timespec pause = {.tv_nsec = 50000000};
  workshop shop = {.d = d, .inside = d->threads / d->runs > 1 ? d->threads / d->runs : 1};
  const int started = start_workers(worker, d->threads < d->runs ? d->threads : d->runs, &shop);
  /* a machine without room for another thread still has this one, which then cannot watch */
  if (started == 0) work(&shop);
  while (started && !interrupt_requested() && !all_over(d)) {
    watch(context);
    nanosleep(&pause, NULL);
  }
  atomic_store(&d->stop, interrupt_requested());
  for (int i = 0; i < started; i++) pthread_join(worker[i], NULL);
  watch(context);
}

/* ---- life cycle --------------------------------------------------------------------------------- */

static sparc_status list_runs(demo *d, int updates) {
  d->run = sparc_alloc((size_t)d->runs * sizeof *d->run);
  if (!d->run) return fail(SPARC_NO_MEMORY, "no memory for a list of %d runs", d->runs);
  for (int i = 0; i < d->runs; i++) {
    demo_run *run = &d->run[i];
    const sparc_task *task = d->task[i / (d->cells * d->seeds)];
    *run = (demo_run){.task = task,
                      .cell = d->cell[i / d->seeds % d->cells],
                      .seed = (uint64_t)(i % d->seeds),
                      .updates = updates ? updates : task->training.updates,
                      .wants_example = i % d->seeds == 0,
                      .stop = &d->stop};
  }
  return SPARC_OK;
}

sparc_status demo_create(const char *const *tasks, const char *const *cells, int seeds, int updates, int threads,
                         demo *d) {
  *d = (demo){.seeds = seeds, .threads = thread_count(threads)};
  sparc_status status = SPARC_OK;
  while (cells[d->cells] && d->cells < DEMO_CELLS_MAX) {
    d->cell[d->cells] = cells[d->cells];
    d->cells++;
  }
  while (status == SPARC_OK && tasks[d->tasks] && d->tasks < DEMO_TASKS_MAX) {
    status = sparc_task_create(tasks[d->tasks], &d->task[d->tasks]);
    d->tasks += status == SPARC_OK;
  }
  if (status == SPARC_OK) {
    d->runs = d->tasks * d->cells * d->seeds;
    status = list_runs(d, updates);
  }
  if (status != SPARC_OK) demo_free(d);
  return status;
}

void demo_free(demo *d) {
  for (int i = 0; d->run && i < d->runs; i++) {
    sparc_free(d->run[i].loss);
    sparc_free(d->run[i].example);
  }
  sparc_free(d->run);
  for (int i = 0; i < d->tasks; i++) sparc_task_free(d->task[i]);
  *d = (demo){0};
}

/* ---- summaries ---------------------------------------------------------------------------------- */

score_summary demo_curve(const demo *d, int task, int cell, int point, long *update) {
  score_summary s = {.least = INFINITY, .most = -INFINITY};
  double sum = 0, squares = 0;
  for (int seed = 0; seed < d->seeds; seed++) {
    const demo_run *run = demo_run_at(d, task, cell, seed);
    if (!run_is_done(run)) continue;
    s.count++;
    sum += run->curve[point];
    s.least = fmin(s.least, run->curve[point]);
    s.most = fmax(s.most, run->curve[point]);
    if (update) *update = run->point[point];
  }
  if (s.count == 0) return (score_summary){0};
  s.mean = sum / s.count;
  for (int seed = 0; seed < d->seeds; seed++) {
    const demo_run *run = demo_run_at(d, task, cell, seed);
    if (run_is_done(run)) squares += (run->curve[point] - s.mean) * (run->curve[point] - s.mean);
  }
  s.deviation = s.count > 1 ? sqrt(squares / (s.count - 1)) : 0;
  return s;
}

score_summary demo_summary(const demo *d, int task, int cell) {
  return demo_curve(d, task, cell, CURVE_POINTS - 1, NULL);
}

const demo_run *demo_shown(const demo *d, int task, int cell) {
  for (int seed = 0; seed < d->seeds; seed++) {
    const demo_run *run = demo_run_at(d, task, cell, seed);
    if (run_is_done(run) && run->example) return run;
  }
  return NULL;
}

int demo_finished(const demo *d) {
  int count = 0;
  for (int i = 0; i < d->runs; i++) count += run_is_done(&d->run[i]);
  return count;
}
