/* SPDX-License-Identifier: MIT */
/* scale.c: `mpirun -n R sparc bench scale`: training of the paper's classifier on R ranks beside one rank alone, where the
 * time goes, and what a model expects of more ranks on other networks.
 *
 * Strong scaling divides the batch of one rank among all, weak scaling gives each rank such a batch. Updates take turns:
 * one alone, while the other ranks sleep, then one of each kind on all of them; the shortest of each counts. Compute,
 * communication and waiting are those of base/ranks.h, the mean over the ranks of the shortest update.
 *
 * The model has two numbers of the same run: the latency of a message, from gathering one number, and the bandwidth of a
 * rank, from an exchange of megabytes. Latency stays as it was measured, bandwidth is that of the network in question.
 */
#include "base/error.h"
#include "base/ranks.h"
#include "bench/bench_cell.h"
#include "bench/kinds/train.h"
#include "bench/suites/scale_model.h"
#include "bench/suites/suites.h"
#include "bench/timer.h"
#include "sparc/train.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 32, STEPS = 784, QUICK_STEPS = 128, WIDTH = 64, LAYERS = 4 };
enum { ALONE, ONE_ROW, STRONG, WEAK, WORKS };
static const double DEMAND = 1.8; /* of two ranks */

/* seconds of an update, and what they went to in the mean over ranks */
typedef struct split {
  double whole, computing, communicating, waiting;
} split;

typedef struct scale_run {
  bench_session *session;
  ranks *group;
  int count, rank, B, T;
  float *x;        /* (B count, T) */
  split *gathered; /* (count) */
  size_t params;   /* of the classifier */
  sparc_trainer *trainer[WORKS];
  split best[WORKS];
} scale_run;

/* ---- life ---------------------------------------------------------------------------------------- */

static sparc_sample sample_at(const void *source, int index) {
  const scale_run *r = source;
  return (sparc_sample){.x = r->x + (size_t)index * (size_t)r->T, .length = r->T, .label = index % CLASSIFIER_CLASSES};
}

/* works of one rank alone are for the first */
static bool is_mine(const scale_run *r, int work) { return work == STRONG || work == WEAK || r->rank == 0; }

static sparc_status make_trainer(scale_run *r, const sparc_network_config *network, int work) {
  const int batch[WORKS] = {[ALONE] = r->B, [ONE_ROW] = 1, [STRONG] = r->B, [WEAK] = r->B * r->count};
  const bool together = work == STRONG || work == WEAK;
  sparc_train_config config = sparc_train_defaults(NULL);
  config.network = *network;
  config.batch = batch[work];
  config.shards = together ? r->count : 0;
  config.threads = r->session->settings.threads;
  const sparc_samples samples = {
      .count = r->B * r->count, .channels = 1, .longest = r->T, .source = r, .at = sample_at};
  return trainer_create(&config, &samples, together ? r->group : NULL, &r->trainer[work]);
}

static sparc_status prepare(scale_run *r) {
  const size_t numbers = (size_t)r->B * (size_t)r->count * (size_t)r->T;
  sparc_network_config network;
  char options[PROBLEM_TEXT];
  r->x = sparc_alloc(numbers * sizeof *r->x);
  r->gathered = sparc_alloc((size_t)r->count * sizeof *r->gathered);
  if (!r->x || !r->gathered) return fail(SPARC_NO_MEMORY, "no memory for %d examples", r->B * r->count);
  bench_fill(r->x, numbers, "x");
  sparc_status status = bench_classifier("sparc", WIDTH, LAYERS, options, &network);
  network.kernel = r->session->settings.kernel;
  for (int i = 0; i < WORKS && status == SPARC_OK; i++) {
    r->best[i].whole = INFINITY;
    if (is_mine(r, i)) status = make_trainer(r, &network, i);
  }
  if (status == SPARC_OK) r->params = sparc_network_sizes_of(sparc_trainer_info_of(r->trainer[STRONG]).network).params;
  return status;
}

static void clean_up(scale_run *r) {
  for (int i = 0; i < WORKS; i++) sparc_trainer_free(r->trainer[i]);
  sparc_free(r->x);
  sparc_free(r->gathered);
}

/* ---- updates ------------------------------------------------------------------------------------- */

static void keep_shortest(split *best, split now) {
  if (now.whole < best->whole) *best = now;
}

/* the first rank works, and the others sleep for most of the time that this takes */
static sparc_status update_alone(scale_run *r) {
  sparc_status status = SPARC_OK;
  if (r->rank > 0) {
    const double expected = r->best[ALONE].whole + r->best[ONE_ROW].whole,
                 rest = isfinite(expected) ? 0.9 * expected : 0;
    nanosleep(&(struct timespec){(time_t)rest, (long)(1e9 * (rest - floor(rest)))}, NULL);
  }
  for (int work = ALONE; work <= ONE_ROW && r->rank == 0 && status == SPARC_OK; work++) {
    const double begun = bench_now();
    sparc_update_report report;
    status = trainer_update(r->trainer[work], NULL, &report);
    const double whole = bench_now() - begun;
    keep_shortest(&r->best[work], (split){whole, whole, 0, 0});
  }
  status = ranks_agree(r->group, status, NULL);
  for (int work = ALONE; work <= ONE_ROW && status == SPARC_OK; work++) {
    const split mine = r->best[work];
    status = ranks_gather(r->group, &mine, sizeof mine, r->gathered);
    r->best[work] = r->gathered[0];
  }
  return status;
}

/* the longest of all ranks, and the mean of what they did meanwhile */
static split join(const scale_run *r) {
  split all = {0, 0, 0, 0};
  for (int i = 0; i < r->count; i++) {
    all.whole = fmax(all.whole, r->gathered[i].whole);
    all.computing += r->gathered[i].computing / r->count;
    all.communicating += r->gathered[i].communicating / r->count;
    all.waiting += r->gathered[i].waiting / r->count;
  }
  return all;
}

static sparc_status update_together(scale_run *r, int work) {
  sparc_update_report report;
  sparc_status status = ranks_agree(r->group, SPARC_OK, NULL);
  const ranks_times before = ranks_times_of(r->group);
  const double begun = bench_now();
  if (status == SPARC_OK) status = trainer_update(r->trainer[work], NULL, &report);
  status = ranks_agree(r->group, status, NULL);
  if (status != SPARC_OK) return status;
  const ranks_times after = ranks_times_of(r->group);
  const split mine = {bench_now() - begun, after.computing - before.computing,
                      after.communicating - before.communicating, after.waiting - before.waiting};
  status = ranks_gather(r->group, &mine, sizeof mine, r->gathered);
  if (status == SPARC_OK) keep_shortest(&r->best[work], join(r));
  return status;
}

/* rounds continue for about twenty times the seconds of a problem; the first rank decides when to stop */
static sparc_status take_turns(scale_run *r) {
  const bench_settings *s = &r->session->settings;
  const int least = s->quick ? 3 : 10;
  const double begun = bench_now();
  bool enough = false;
  sparc_status status = SPARC_OK;
  for (int round = 0; !enough && status == SPARC_OK; round++) {
    status = update_alone(r);
    for (int work = STRONG; work <= WEAK && status == SPARC_OK; work++) status = update_together(r, work);
    enough = r->rank == 0 && round + 1 >= least && bench_now() - begun > 20 * s->seconds;
    if (status == SPARC_OK) status = ranks_agree(r->group, status, &enough);
  }
  return status;
}

/* ---- the network --------------------------------------------------------------------------------- */

/* the shortest mean time of gathering one number */
static sparc_status measure_latency(const scale_run *r, double *latency) {
  enum { TIMES = 50, PASSES = 20 };
  const split mine = {0, 0, 0, 0};
  double shortest = INFINITY;
  sparc_status status = SPARC_OK;
  for (int pass = 0; pass < PASSES && status == SPARC_OK; pass++) {
    const double begun = bench_now();
    for (int i = 0; i < TIMES && status == SPARC_OK; i++)
      status = ranks_gather(r->group, &mine.whole, sizeof mine.whole, r->gathered);
    shortest = fmin(shortest, (bench_now() - begun) / TIMES);
  }
  *latency = shortest / scale_rounds(r->count);
  return status;
}

/* from an exchange in which each rank sends as much as it gets */
static sparc_status measure_bandwidth(const scale_run *r, scale_network *network) {
  enum { FLOATS = 1 << 20, PASSES = 12 };
  const int part = FLOATS / r->count;
  float *memory = sparc_alloc(2 * sizeof(float) * FLOATS);
  int *counts = sparc_alloc((size_t)r->count * sizeof *counts);
  double shortest = INFINITY;
  sparc_status status = memory && counts ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory to measure the network");
  status = ranks_agree(r->group, status, NULL);
  for (int i = 0; i < r->count && status == SPARC_OK; i++) counts[i] = part;
  if (status == SPARC_OK) bench_fill(memory, 2 * (size_t)FLOATS, "network");
  for (int pass = 0; pass < PASSES && status == SPARC_OK; pass++) {
    status = ranks_agree(r->group, status, NULL);
    const double begun = bench_now();
    if (status == SPARC_OK) status = ranks_exchange(r->group, 0, memory, counts, memory + FLOATS, counts);
    if (status == SPARC_OK) status = ranks_wait(r->group, 0);
    shortest = fmin(shortest, bench_now() - begun);
  }
  const double others = r->count - 1, spent = shortest - others * network->latency;
  network->bytes_per_second = 4 * others * part / (spent > 0 ? spent : shortest);
  sparc_free(memory);
  sparc_free(counts);
  return status;
}

/* ---- tables -------------------------------------------------------------------------------------- */

#define NUMBER(key, head, value, digits) \
  { key, head, NULL, value, digits }
#define TEXT(key, head, value, width) \
  { key, head, value, 0, width }

static void put_row(const scale_run *r, const char *table, const char *title, const bench_entry *value, size_t n) {
  const bench_row row = {.table = table, .title = title, .value = value, .values = n};
  r->session->output->row(r->session->context, &row);
}
#define PUT_ROW(run, table, title, value) put_row(run, table, title, value, sizeof(value) / sizeof *(value))

/* examples: how many times those of one rank alone are in an update */
static void put_scaling(const scale_run *r, const char *scaling, int count, int work, double examples) {
  char title[200];
  const split *s = &r->best[work];
  const double speedup = examples * r->best[ALONE].whole / s->whole;
  snprintf(title, sizeof title,
           "training of the classifier (width %d, %d layers, %d steps, %zu parameters), %d %s a rank, shortest updates",
           WIDTH, LAYERS, r->T, r->params, r->session->settings.threads,
           r->session->settings.threads == 1 ? "thread" : "threads");
  const bench_entry value[] = {TEXT("scaling", "scaling", scaling, 7),
                               NUMBER("ranks", "ranks", count, 0),
                               NUMBER("batch", "batch", r->B * examples, 0),
                               NUMBER("update_ms", "update ms", 1e3 * s->whole, 2),
                               NUMBER("compute_ms", "compute ms", 1e3 * s->computing, 2),
                               NUMBER("communication_ms", "communication ms", 1e3 * s->communicating, 2),
                               NUMBER("waiting_ms", "waiting ms", 1e3 * s->waiting, 2),
                               NUMBER("speedup", "speed-up", speedup, 2),
                               NUMBER("efficiency", "efficiency %", 100 * speedup / count, 1)};
  PUT_ROW(r, "scaling", title, value);
}

static void put_model(const scale_run *r, const char *name, const scale_network *network, int count, int rows) {
  const double compute = r->best[rows == 1 ? ONE_ROW : ALONE].whole;
  const double communication = scale_communication(network, count, r->params), update = compute + communication;
  const bench_entry value[] = {NUMBER("ranks", "ranks", count, 0),
                               NUMBER("batch", "batch", (double)rows * count, 0),
                               TEXT("network", "network", name, 12),
                               NUMBER("gbit_per_s", "Gbit/s", 8e-9 * network->bytes_per_second, 1),
                               NUMBER("latency_us", "latency us", 1e6 * network->latency, 1),
                               NUMBER("compute_ms", "compute ms", 1e3 * compute, 2),
                               NUMBER("communication_ms", "communication ms", 1e3 * communication, 2),
                               NUMBER("speedup", "speed-up", count * compute / update, 1),
                               NUMBER("efficiency", "efficiency %", 100 * compute / update, 1)};
  PUT_ROW(r, "model",
          "computed, not measured: updates with these rates, nothing sent while ranks compute; speed-up over one rank "
          "with a rank's part of the batch",
          value);
}

/* the same ranks first, to hold the model against what was measured; then more of them */
static void put_models(const scale_run *r, const scale_network *here) {
  static const struct {
    const char *name;
    double gbit; /* per second; 0: as measured */
  } networks[] = {{"measured", 0}, {"10 Gbit/s", 10}, {"25 Gbit/s", 25}, {"100 Gbit/s", 100}};
  static const int counts[] = {64, 1024};
  put_model(r, networks[0].name, here, r->count, r->B);
  for (int one = 0; one < 2; one++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        scale_network n = *here;
        if (networks[i].gbit > 0) n.bytes_per_second = networks[i].gbit * 1e9 / 8;
        put_model(r, networks[i].name, &n, counts[c], one ? 1 : r->B);
      }
}

/* two ranks of one thread each are held to a demand */
static bool put_goal(const scale_run *r) {
  char name[80];
  static const char *const problems[] = {"strong"};
  const bool binds = r->count == 2 && r->session->settings.threads == 1;
  const double value = r->best[ALONE].whole / r->best[STRONG].whole;
  snprintf(name, sizeof name, "%d ranks, times as fast as one rank alone", r->count);
  const bench_verdict verdict = !binds ? BENCH_INFORMATION : value >= DEMAND ? BENCH_DEMAND : BENCH_MISSED;
  const bench_goal goal = {.name = name,
                           .unit = BENCH_RATIO,
                           .value = value,
                           .demand = binds ? DEMAND : NAN,
                           .stretch = NAN,
                           .verdict = verdict,
                           .problems = problems,
                           .count = 1};
  r->session->output->goal(r->session->context, &goal);
  return verdict != BENCH_MISSED || r->session->settings.quick;
}

bool suite_scale(bench_session *session) {
  const bench_settings *settings = &session->settings;
  scale_run r = {.session = session, .group = settings->group, .T = settings->quick ? QUICK_STEPS : STEPS};
  scale_network network = {0, 0};
  r.count = ranks_count(r.group);
  r.rank = ranks_number(r.group);
  r.B = (BATCH + r.count - 1) / r.count * r.count;
  sparc_status status = ranks_agree(r.group, prepare(&r), NULL);
  if (status == SPARC_OK) status = take_turns(&r);
  if (status == SPARC_OK) status = measure_latency(&r, &network.latency);
  if (status == SPARC_OK) status = measure_bandwidth(&r, &network);
  bool good = status == SPARC_OK;
  if (good) {
    put_scaling(&r, "strong", 1, ALONE, 1);
    put_scaling(&r, "strong", r.count, STRONG, 1);
    put_scaling(&r, "weak", r.count, WEAK, r.count);
    put_models(&r, &network);
    good = put_goal(&r);
  } else {
    (void)bench_failed(session, status);
  }
  clean_up(&r);
  return good;
}
