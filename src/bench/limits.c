/* SPDX-License-Identifier: MIT */
/* limits.c: the limits as problems (`peak`, `stream`), and a cache of those already measured.
 *
 * Rates count the bytes that the program loads and stores: a copy with ordinary stores moves half as much again, because a line
 * is read before it is written. In-place rates count both directions.
 */
#include "bench/limits.h"

#include "base/cpu.h"
#include "base/error.h"
#include "bench/loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- multiply-adds ------------------------------------------------------------------------------ */

enum { PEAK_ROUNDS = 1 << 15 };

typedef struct peak {
  const bench_loops *loops;
  size_t rounds;
  float result; /* of the first thread */
} peak;

static void run_peak(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)threads;
  peak *p = context;
  const float result = p->loops->multiply_add(p->rounds);
  if (thread == 0) p->result = result;
}

static void destroy_state(bench_case *c) { free(c->state); }

static sparc_status create_peak(bench_case *c) {
  peak *p = c->state = calloc(1, sizeof *p);
  if (!p) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  bench_team *team;
  sparc_status status = bench_machine_team(c->machine, c->threads, &team);
  if (status != SPARC_OK) return status;
  p->loops = bench_loops_for(c->requested_kernel);
  p->rounds = PEAK_ROUNDS * (size_t)bench_value(c->problem, "N");
  c->kernel = p->loops->name;
  bench_stage *stage =
      bench_stage_add(c, "multiply-add", (bench_task){.context = p, .pieces = 1, .run = run_peak, .team = team});
  stage->flops = (double)p->loops->flops * (double)p->rounds * c->threads;
  return SPARC_OK;
}

/* twelve chains that have all converged to 2 */
static sparc_status verify_peak(bench_case *c) {
  const peak *p = c->state;
  const double want = 24;
  bench_compare(c, "sum", 1e-5, &p->result, &want, 1);
  return SPARC_OK;
}

const bench_kind bench_kind_peak = {
    .name = "peak",
    .summary = "multiply-adds in registers: the arithmetic peak",
    .keys = {{"N", "times 32768 rounds at a stretch: over a short one the clock may be higher", 1}},
    .create = create_peak,
    .verify = verify_peak,
    .destroy = destroy_state,
};

/* ---- streams ------------------------------------------------------------------------------------ */

enum { PIECE = 1 << 18 }; /* floats per array and thread: 1 MiB */

typedef struct stream {
  const bench_loops *loops;
  size_t n; /* floats per array and thread */
  float *a, *b, *c;
  float *memory;
} stream;

/* what one thread sees of a piece */
typedef struct slice {
  float *a;
  const float *b, *c;
  size_t n;
} slice;

static slice slice_of(const stream *s, size_t piece, int thread) {
  const size_t first = piece * PIECE, rest = s->n - first, at = (size_t)thread * s->n + first;
  return (slice){s->a + at, s->b + at, s->c + at, rest < PIECE ? rest : PIECE};
}

static void run_copy(void *context, size_t piece, int thread, int threads) {
  (void)threads;
  const stream *s = context;
  const slice p = slice_of(s, piece, thread);
  s->loops->copy(p.a, p.b, p.n);
}

static void run_copy_nt(void *context, size_t piece, int thread, int threads) {
  (void)threads;
  const stream *s = context;
  const slice p = slice_of(s, piece, thread);
  s->loops->copy_nt(p.a, p.b, p.n);
}

static void run_triad(void *context, size_t piece, int thread, int threads) {
  (void)threads;
  const stream *s = context;
  const slice p = slice_of(s, piece, thread);
  s->loops->triad(p.a, p.b, p.c, p.n);
}

static void run_triad_nt(void *context, size_t piece, int thread, int threads) {
  (void)threads;
  const stream *s = context;
  const slice p = slice_of(s, piece, thread);
  s->loops->triad_nt(p.a, p.b, p.c, p.n);
}

static void run_inplace(void *context, size_t piece, int thread, int threads) {
  (void)threads;
  const stream *s = context;
  const slice p = slice_of(s, piece, thread);
  s->loops->negate(p.a, p.n);
}

static void run_subtract(void *context, size_t piece, int thread, int threads) {
  (void)threads;
  const stream *s = context;
  const slice p = slice_of(s, piece, thread);
  s->loops->subtract(p.a, p.b, p.n);
}

static const struct flow_row {
  const char *name;
  void (*run)(void *, size_t, int, int);
  bool non_temporal;
  int arrays; /* how many the program reads or writes, in place counted twice */
} flow_table[FLOWS] = {
    [FLOW_COPY] = {"copy", run_copy, false, 2},           [FLOW_COPY_NT] = {"copy-nt", run_copy_nt, true, 2},
    [FLOW_TRIAD] = {"triad", run_triad, false, 3},        [FLOW_TRIAD_NT] = {"triad-nt", run_triad_nt, true, 3},
    [FLOW_INPLACE] = {"in-place", run_inplace, false, 2}, [FLOW_SUBTRACT] = {"in-place-2", run_subtract, false, 3},
};

static void destroy_stream(bench_case *c) {
  stream *s = c->state;
  if (!s) return;
  sparc_free(s->memory);
  free(s);
}

static sparc_status create_stream(bench_case *c) {
  stream *s = c->state = calloc(1, sizeof *s);
  if (!s) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  bench_team *team;
  sparc_status status = bench_machine_team(c->machine, c->threads, &team);
  s->loops = bench_loops_for(c->requested_kernel);
  c->kernel = s->loops->name;
  s->n = (size_t)bench_value(c->problem, "KiB") * 256;
  const size_t all = s->n * (size_t)c->threads, bytes = 3 * all * sizeof(float);
  if (status == SPARC_OK) status = bench_afford(c, bytes);
  if (status != SPARC_OK) return status;
  /* equal places in their pages would make the loads of one array wait for the stores of another */
  const size_t stagger = 21 * (size_t)LOOP_UNIT;
  s->memory = sparc_alloc(bytes + 3 * stagger * sizeof(float));
  if (!s->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, bytes);
  s->a = s->memory;
  s->b = s->a + all + stagger;
  s->c = s->b + all + stagger;
  for (size_t i = 0; i < all; i++) s->b[i] = 1 + (float)(i % 7), s->c[i] = 2 + (float)(i % 5);
  for (int flow = 0; flow < FLOWS; flow++) {
    if (flow_table[flow].non_temporal && !s->loops->copy_nt) continue;
    bench_stage *stage = bench_stage_add(c, flow_table[flow].name,
                                         (bench_task){.context = s,
                                                      .pieces = (s->n + PIECE - 1) / PIECE,
                                                      .cold = s->n > PIECE,
                                                      .run = flow_table[flow].run,
                                                      .team = team});
    stage->bytes = 4.0 * flow_table[flow].arrays * (double)all;
  }
  c->memory = c->footprint = bytes;
  return SPARC_OK;
}

static sparc_status verify_stream(bench_case *c) {
  const stream *s = c->state;
  const size_t all = s->n * (size_t)c->threads, samples = all < 4096 ? all : 4096;
  double want[4096];
  for (size_t k = 0; k < c->stages; k++) {
    const struct flow_row *flow = flow_table;
    while (strcmp(flow->name, c->stage[k].name) != 0) flow++;
    /* the last samples of each array: a piece or thread that stops short shows */
    for (size_t i = 0; i < samples; i++) {
      const size_t at = all - samples + i;
      const double a = (double)s->a[at], b = (double)s->b[at];
      want[i] = flow == &flow_table[FLOW_INPLACE]    ? -a
                : flow == &flow_table[FLOW_SUBTRACT] ? b - a
                : flow->arrays == 3                  ? b + 3 * (double)s->c[at]
                                                     : b;
    }
    bench_pass(&c->stage[k].task);
    bench_compare(c, flow->name, 1e-6, s->a + all - samples, want, samples);
  }
  return SPARC_OK;
}

const bench_kind bench_kind_stream = {
    .name = "stream",
    .summary = "copy, triad and in-place sweeps over one and two arrays; KiB is the size per array and thread",
    .keys = {{"KiB", "size per array and thread", REQUIRED}},
    .create = create_stream,
    .verify = verify_stream,
    .destroy = destroy_stream,
};

/* ---- levels ------------------------------------------------------------------------------------- */

const char *bench_level_name(bench_level level) {
  static const char *const names[LEVELS] = {"L2", "L3", "memory"};
  return names[level];
}

static size_t l2_bytes(void) {
  const size_t known = cpu_detect().l2;
  return known ? known : 512 << 10;
}

/* three arrays fill half a second-level cache; four times as much lives in the third level, if that is far larger; main
 * memory takes twice the third level, within reason */
size_t bench_level_kib(bench_level level, int threads) {
  enum { ARRAYS = 3, MIN_MEMORY = 192 << 20, MAX_MEMORY = 768 << 20 };
  const size_t l2 = l2_bytes(), l3 = cpu_detect().l3, n = (size_t)threads;
  size_t bytes = l2 / 2 * n;
  if (level == LEVEL_L3) bytes = l3 >= 8 * l2 * n ? 4 * l2 * n : 0;
  if (level == LEVEL_MEMORY) {
    const size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) / 8 * (size_t)sysconf(_SC_PAGESIZE);
    bytes = 2 * l3 < MIN_MEMORY ? MIN_MEMORY : 2 * l3 > MAX_MEMORY ? MAX_MEMORY : 2 * l3;
    if (bytes > memory) bytes = memory;
  }
  return bytes / n / 1024 / ARRAYS;
}

bench_level bench_level_of(size_t bytes, int threads) {
  if (bytes <= l2_bytes() * (size_t)threads) return LEVEL_L2;
  return bench_level_kib(LEVEL_L3, threads) > 0 && bytes <= cpu_detect().l3 / 4 ? LEVEL_L3 : LEVEL_MEMORY;
}

/* ---- cache of measured limits ---------------------------------------------------------------- */

static struct limits_entry *find_limit(bench_machine *machine, int threads, size_t kib) {
  for (size_t i = 0; i < machine->limits; i++)
    if (machine->limit[i].threads == threads && machine->limit[i].kib == kib) return &machine->limit[i];
  return NULL;
}

/* opens, times and closes one of the problems above */
static sparc_status measure(bench_machine *machine, const char *text, int threads, struct limits_entry *entry) {
  bench_problem problem;
  bench_case c;
  sparc_status status = bench_parse(text, NULL, &problem);
  if (status == SPARC_OK) status = bench_open(machine, &problem, threads, machine->kernel, &c);
  if (status != SPARC_OK) return status;
  status = bench_run(&c, 1, machine->seconds, 1);
  for (size_t k = 0; k < c.stages && status == SPARC_OK; k++) {
    const bench_stage *stage = &c.stage[k];
    size_t at = 0;
    while (entry->kib > 0 && strcmp(flow_table[at].name, stage->name) != 0) at++;
    entry->rate[at] = 1e-9 * (entry->kib > 0 ? stage->bytes : stage->flops) / stage->task.seconds;
  }
  bench_close(&c);
  return status;
}

static sparc_status limit_of(bench_machine *machine, int threads, size_t kib, const double **rate) {
  struct limits_entry *entry = find_limit(machine, threads, kib);
  if (!entry) {
    if (machine->limits == MACHINE_LIMITS) machine->limits = 0;
    char text[32] = "peak";
    if (kib > 0) snprintf(text, sizeof text, "stream:KiB%zu", kib);
    entry = &machine->limit[machine->limits];
    *entry = (struct limits_entry){.threads = threads, .kib = kib};
    sparc_status status = measure(machine, text, threads, entry);
    if (status != SPARC_OK) return status;
    machine->limits++;
  }
  *rate = entry->rate;
  return SPARC_OK;
}

sparc_status bench_limit_peak(bench_machine *machine, int threads, double *rate) {
  const double *found;
  sparc_status status = limit_of(machine, threads, 0, &found);
  if (status == SPARC_OK) *rate = found[0];
  return status;
}

_Static_assert((int)MACHINE_RATES == (int)FLOWS, "a limit has a rate for every flow");

sparc_status bench_limit_flows(bench_machine *machine, int threads, bench_level level, double rate[FLOWS]) {
  const double *found;
  sparc_status status = limit_of(machine, threads, bench_level_kib(level, threads), &found);
  if (status == SPARC_OK) memcpy(rate, found, FLOWS * sizeof *rate);
  return status;
}
