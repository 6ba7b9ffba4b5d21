/* SPDX-License-Identifier: MIT */
/* goals.c: `sparc bench goals`: what the kernels are meant to reach, as ratios inside one run.
 *
 * An experiment is a set of problems that are timed side by side, and the goals that follow from it. Absolute times
 * drift with the neighbours of a shared machine; ratios of interleaved competitors hardly do.
 */
#include "base/cpu.h"
#include "bench/kinds/online.h"
#include "bench/kinds/scan.h"
#include "bench/suites/suites.h"
#include "sparc/rtrl.h"

#include <math.h>
#include <string.h>

enum { PROBLEMS = 4, GOALS = 5 };

/* neighbours come and go: while a minimum still falls, a goal gets up to this many times its seconds */
enum { PATIENCE = 10 };

typedef struct goal {
  const char *name;
  bench_unit unit;
  bool at_most;           /* the value should be small */
  double demand, stretch; /* NaN: none is set, the value is for information */
  double (*value)(const bench_case *c);
  const char *(*bound)(const bench_case *c); /* the bound of several that applied; NULL: there is only one */
  double (*lanes)(const bench_case *c); /* the marks are those of 16 lanes, and in proportion for fewer; NULL: of all */
} goal;

typedef struct experiment {
  const char *problem[PROBLEMS]; /* NULL: fewer */
  const char *quick[PROBLEMS];   /* instead in a quick run; NULL: the same */
  goal goals[GOALS];             /* ends with a NULL name, or full */
  int threads[PROBLEMS];         /* 0: as in the settings */
  bool untimed;                  /* the verification is the measurement */
  bool optional;                 /* a value may be NaN: what it is compared with was not built */
} experiment;

/* ---- values ------------------------------------------------------------------------------------- */

static double backward_by_forward(const bench_case *c) {
  return bench_seconds(&c[0], "backward") / bench_seconds(&c[0], "forward");
}

/* problem 0 on one thread, problem 1 on two */
static double forward_speedup(const bench_case *c) {
  return bench_seconds(&c[0], "forward") / bench_seconds(&c[1], "forward");
}
static double backward_speedup(const bench_case *c) {
  return bench_seconds(&c[0], "backward") / bench_seconds(&c[1], "backward");
}

/* a mixer, the product of its forward (which is also the shape of its input gradient), that of its weight gradient */
static double products_by_mixer(const bench_case *c) {
  const double products = 2 * bench_seconds(&c[1], "product") + bench_seconds(&c[2], "product");
  return 100 * products / bench_seconds(&c[0], "forward+backward");
}

static double rate_of(const bench_case *c, const char *stage) { return c->stage[0].flops / bench_seconds(c, stage); }
static double product_by_peak(const bench_case *c) {
  return 100 * rate_of(&c[1], "product") / rate_of(&c[0], "multiply-add");
}

static double both_ratio(const bench_case *c) {
  return bench_seconds(&c[0], "forward+backward") / bench_seconds(&c[1], "forward+backward");
}
static double both_ratio_third(const bench_case *c) {
  return bench_seconds(&c[0], "forward+backward") / bench_seconds(&c[2], "forward+backward");
}

/* What a step costs more with sensitivities, over what it cannot do without: one sweep through their bytes, or their
 * multiply-adds at the peak of the same instructions, whichever takes longer. Problem 1 is the peak. */
static double multiply_adds(const bench_case *c, bool contraction) {
  return bench_trace_flops(&c[0], contraction) / rate_of(&c[1], "multiply-add");
}
static double trace_bound(const bench_case *c, bool contraction) {
  return fmax(bench_seconds(&c[0], "stream"), multiply_adds(c, contraction));
}
static const char *bound_name(const bench_case *c, bool contraction) {
  return bench_seconds(&c[0], "stream") >= multiply_adds(c, contraction) ? "sweep" : "multiply-adds";
}
static double update_by_bound(const bench_case *c) {
  return (bench_seconds(c, "step+trace") - bench_seconds(c, "step")) / trace_bound(c, false);
}
static double contraction_by_bound(const bench_case *c) {
  return (bench_seconds(c, "step, update") - bench_seconds(c, "step")) / trace_bound(c, true);
}
static const char *update_bound(const bench_case *c) { return bound_name(c, false); }
static const char *contraction_bound(const bench_case *c) { return bound_name(c, true); }

/* the same summed gradient, stepwise and by chunks, without the step itself */
static double stepwise_by_lazy(const bench_case *c) {
  const double step = bench_seconds(c, "step");
  return (bench_seconds(c, "step, update") - step) / (bench_seconds(c, "step, lazy gradient") - step);
}

/* a trace for each of 2048 steps, over the chunk that holds as many and the trace that it starts from */
static double stored_by_lazy(const bench_case *c) {
  enum { ROLLOUT = 2048 };
  sparc_cell *cell;
  const sparc_cell_config config = {.kind = c->problem->cell,
                                    .D = (int)bench_value(c->problem, "D"),
                                    .H = (int)bench_value(c->problem, "H"),
                                    .options = c->problem->options};
  if (sparc_cell_create(&config, &cell) != SPARC_OK) return NAN;
  const double trace = (double)sparc_cell_sizes_of(cell).trace,
               chunk = (double)sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.chunk = ROLLOUT}).lazy;
  sparc_cell_free(cell);
  return ROLLOUT * trace / (chunk + trace);
}

static double streams_by_singles(const bench_case *c) { return bench_seconds(c, "step") / bench_seconds(c, "streams"); }

/* problem 0 and 1 on one thread, 2 and 3 on two */
static double scan_ratio_1(const bench_case *c) {
  return bench_seconds(&c[0], "forward") / bench_seconds(&c[1], "forward");
}
static double scan_ratio_2(const bench_case *c) {
  return bench_seconds(&c[2], "forward") / bench_seconds(&c[3], "forward");
}

/* a step, over the bare product and the fused kernel's cost of one token */
static double step_by_parts(const bench_case *c) {
  const double tokens = (double)bench_value(c[1].problem, "B") * (double)bench_value(c[1].problem, "T");
  return bench_seconds(&c[0], "step") / (bench_seconds(&c[0], "product") + bench_seconds(&c[1], "forward") / tokens);
}

/* a scan beside a copy of its bytes, on one thread and on two */
static double scan_by_copy_1(const bench_case *c) {
  return bench_seconds(&c[0], "forward") / bench_seconds(&c[0], "copy");
}
static double scan_by_copy_2(const bench_case *c) {
  return bench_seconds(&c[1], "forward") / bench_seconds(&c[1], "copy");
}

static double bytes_per_second(const bench_case *c, const char *stage) {
  for (size_t i = 0; i < c->stages; i++)
    if (strcmp(c->stage[i].name, stage) == 0) return c->stage[i].bytes / bench_seconds(c, stage);
  return NAN;
}

/* what a second array that is read costs a sweep */
static double second_array(const bench_case *c) {
  return bench_seconds(&c[1], "in-place-2") / bench_seconds(&c[1], "in-place");
}

/* problem 0 and 1 are the scan on one and two threads, 2 and 3 streams through memory on as many */
static double scan_by_triad_1(const bench_case *c) {
  return 100 * bytes_per_second(&c[0], "forward") / bytes_per_second(&c[2], "triad");
}
static double scan_by_triad_2(const bench_case *c) {
  return 100 * bytes_per_second(&c[1], "forward") / bytes_per_second(&c[3], "triad");
}

/* the time in which its operations could be issued, over its time; problem 1 is the peak */
static double scan_by_issue(const bench_case *c) {
  const double bound = bench_scan_issue(&c[0]) / rate_of(&c[1], "multiply-add");
  return 100 * bound / bench_seconds(&c[0], "forward");
}

static double rival_by_scan(const bench_case *c, const char *rival) {
  return bench_has_stage(c, rival) ? bench_seconds(c, rival) / bench_seconds(c, "forward") : NAN;
}
static double sleef_by_scan(const bench_case *c) { return rival_by_scan(c, "SLEEF, prepared"); }
static double whole_sleef_by_scan(const bench_case *c) { return rival_by_scan(c, "SLEEF"); }
static double mvec_by_scan(const bench_case *c) { return rival_by_scan(c, "libmvec, prepared"); }
static double whole_mvec_by_scan(const bench_case *c) { return rival_by_scan(c, "libmvec"); }
static double libm_by_scan(const bench_case *c) { return rival_by_scan(c, "libm"); }

static double fused_by_scan(const bench_case *c) {
  return bench_seconds(&c[0], "forward") / bench_seconds(&c[1], "forward");
}

static double small_given(const bench_case *c) { return 100 * bench_scan_small(&c[0]); }
static double small_sorted(const bench_case *c) { return 100 * bench_scan_small(&c[1]); }

static double largest_error(const bench_case *c) { return c->error.largest; }

/* ---- the table ---------------------------------------------------------------------------------- */

static const experiment experiments[] = {
    /* Demands on backward / forward are demands on arithmetic, so they are put where memory does not decide: the fused
     * adjoint reads four rows for two of the forward, those it will write counted, and both wait for memory. */
    {.problem = {"fused:B1:T64:H512"},
     .threads = {1},
     .goals = {{"fused backward / fused forward, in cache, 1 thread", BENCH_RATIO, true, 1.9, 1.6,
                .value = backward_by_forward}}},
    {.problem = {"fused:B8:T2048:H512", "fused:B8:T2048:H512"},
     .quick = {"fused:B8:T256:H512", "fused:B8:T256:H512"},
     .threads = {1, 2},
     .goals = {{"fused backward / fused forward, in memory, 1 thread", BENCH_RATIO, true, NAN, NAN,
                .value = backward_by_forward},
               {"2-thread speed-up, fused forward", BENCH_RATIO, false, 1.8, 1.95, .value = forward_speedup},
               {"2-thread speed-up, fused backward", BENCH_RATIO, false, 1.8, 1.95, .value = backward_speedup}}},
    {.problem = {"mixer:B4:T2048:D2048:pieces", "sgemm:M8192:N2048:K2048", "sgemm:M2048:N2048:K8192:ta"},
     .quick = {"mixer:B4:T64:D2048:pieces", "sgemm:M256:N2048:K2048", "sgemm:M2048:N2048:K256:ta"},
     .goals = {{"three sgemm calls / dense mixer f+b, d = 2048", BENCH_PERCENT, false, 95, NAN,
                .value = products_by_mixer}}},
    {.problem = {"mixer:B4:T2048:D512:pieces", "sgemm:M8192:N512:K512", "sgemm:M512:N512:K8192:ta"},
     .quick = {"mixer:B4:T256:D512:pieces", "sgemm:M1024:N512:K512", "sgemm:M512:N512:K1024:ta"},
     .goals = {{"three sgemm calls / dense mixer f+b, d = 512", BENCH_PERCENT, false, 85, NAN,
                .value = products_by_mixer}}},
    {.problem = {"mixer:B4:T2048:D128:pieces", "sgemm:M8192:N128:K128", "sgemm:M128:N128:K8192:ta"},
     .quick = {"mixer:B4:T256:D128:pieces", "sgemm:M1024:N128:K128", "sgemm:M128:N128:K1024:ta"},
     .goals = {{"three sgemm calls / dense mixer f+b, d = 128", BENCH_PERCENT, false, 65, NAN,
                .value = products_by_mixer}}},
    /* the peak over stretches that are as long as the pieces of the product, some milliseconds and half of one */
    {.problem = {"peak:N100", "sgemm:M8192:N1024:K2048"},
     .quick = {"peak", "sgemm:M256:N1024:K2048"},
     .threads = {1, 1},
     .goals = {{"large sgemm / multiply-add peak, 1 thread", BENCH_PERCENT, false, 85, 90, .value = product_by_peak}}},
    /* apart, because the large one drives the operands of the other out of the third-level cache */
    {.problem = {"peak:N8", "sgemm:M32768:N64:K64"},
     .quick = {"peak", "sgemm:M8192:N64:K64"},
     .threads = {1, 1},
     .goals = {{"K = 64 sgemm / multiply-add peak, 1 thread", BENCH_PERCENT, false, 75, 85, .value = product_by_peak}}},
    {.problem = {"mixer:B4:T2048:D512:pieces", "mixer:B4:T2048:D512:pieces:cell=rglru:block=128"},
     .quick = {"mixer:B4:T256:D512:pieces", "mixer:B4:T256:D512:pieces:cell=rglru:block=128"},
     .goals = {{"SPARC / RG-LRU (blocks of 128) f+b with projections, d = 512", BENCH_RATIO, true, NAN, NAN,
                .value = both_ratio}}},
    {.problem = {"mixer:B4:T2048:D2048:noproj:pieces", "mixer:B4:T2048:D2048:noproj:pieces:cell=rglru:block=128",
                 "mixer:B4:T2048:D2048:noproj:pieces:cell=rglru:block=256"},
     .quick = {"mixer:B4:T64:D2048:noproj:pieces", "mixer:B4:T64:D2048:noproj:pieces:cell=rglru:block=128",
               "mixer:B4:T64:D2048:noproj:pieces:cell=rglru:block=256"},
     .goals = {{"SPARC / RG-LRU (blocks of 128) f+b, no projection, d = 2048", BENCH_RATIO, true, 0.25, 0.15,
                .value = both_ratio},
               {"SPARC / RG-LRU (blocks of 256) f+b, no projection, d = 2048", BENCH_RATIO, true, NAN, NAN,
                .value = both_ratio_third}}},
    {.problem = {"mixer:B4:T2048:D512:noproj:pieces", "mixer:B4:T2048:D512:noproj:pieces:cell=rglru:block=128",
                 "mixer:B4:T2048:D512:noproj:pieces:cell=rglru:block=256"},
     .quick = {"mixer:B4:T128:D512:noproj:pieces", "mixer:B4:T128:D512:noproj:pieces:cell=rglru:block=128",
               "mixer:B4:T128:D512:noproj:pieces:cell=rglru:block=256"},
     .goals = {{"SPARC / RG-LRU (blocks of 128) f+b, no projection, d = 512", BENCH_RATIO, true, 0.4, 0.27,
                .value = both_ratio},
               {"SPARC / RG-LRU (blocks of 256) f+b, no projection, d = 512", BENCH_RATIO, true, NAN, NAN,
                .value = both_ratio_third}}},
    {.problem = {"fused:B8:T2048:H512", "fused:B8:T2048:H1024:cell=rglru", "fused:B8:T2048:H512",
                 "fused:B8:T2048:H1024:cell=rglru"},
     .quick = {"fused:B8:T256:H512", "fused:B8:T256:H1024:cell=rglru", "fused:B8:T256:H512",
               "fused:B8:T256:H1024:cell=rglru"},
     .threads = {1, 1, 2, 2},
     .goals = {{"SPARC / RG-LRU fused forward, equal width, 1 thread", BENCH_RATIO, true, NAN, NAN,
                .value = scan_ratio_1},
               {"SPARC / RG-LRU fused forward, equal width, 2 threads", BENCH_RATIO, true, NAN, NAN,
                .value = scan_ratio_2}}},
    {.problem = {"rtrl:H64:D64", "peak"},
     .threads = {1, 1},
     .goals = {{"RTRL trace update / larger of sweep and multiply-adds, (64,64)", BENCH_RATIO, true, 1.45, 1.2,
                .value = update_by_bound, .bound = update_bound},
               {"RTRL update and contraction / larger of the two, (64,64)", BENCH_RATIO, true, 1.9, 1.6,
                .value = contraction_by_bound, .bound = contraction_bound},
               {"stepwise RTRL with gradient / lazy K = 16, (64,64), L2", BENCH_RATIO, false, 1.7, 2,
                .value = stepwise_by_lazy},
               {"memory: 2048 traces / lazy chunk of 2048, (64,64)", BENCH_RATIO, false, 40, NAN,
                .value = stored_by_lazy}}},
    {.problem = {"rtrl:H192:D64", "peak"},
     .threads = {1, 1},
     .goals = {{"RTRL trace update / larger of sweep and multiply-adds, (192,64)", BENCH_RATIO, true, 1.45, 1.2,
                .value = update_by_bound, .bound = update_bound},
               {"RTRL update and contraction / larger of the two, (192,64)", BENCH_RATIO, true, 1.9, 1.6,
                .value = contraction_by_bound, .bound = contraction_bound},
               {"stepwise RTRL with gradient / lazy K = 16, (192,64), L2", BENCH_RATIO, false, 1.7, 2,
                .value = stepwise_by_lazy},
               {"memory: 2048 traces / lazy chunk of 2048, (192,64)", BENCH_RATIO, false, 40, NAN,
                .value = stored_by_lazy}}},
    {.problem = {"rtrl:H512:D512", "peak"},
     .threads = {1, 1},
     .goals = {{"RTRL trace update / larger of sweep and multiply-adds, (512,512)", BENCH_RATIO, true, 1.45, 1.2,
                .value = update_by_bound, .bound = update_bound},
               {"RTRL update and contraction / larger of the two, (512,512)", BENCH_RATIO, true, 1.9, NAN,
                .value = contraction_by_bound, .bound = contraction_bound}}},
    /* 16 streams leave the second cache of any core, 800 the third one of a large server */
    {.problem = {"rtrl:H192:D64:E16"},
     .goals = {{"stepwise RTRL with gradient / lazy K = 16, (192,64) x 16, L3", BENCH_RATIO, false, 2, 2.6,
                .value = stepwise_by_lazy}}},
    {.problem = {"rtrl:H192:D64:E800"},
     .quick = {"rtrl:H192:D64:E16"},
     .goals = {{"stepwise RTRL with gradient / lazy K = 16, (192,64) x 800, memory", BENCH_RATIO, false, 4, 5,
                .value = stepwise_by_lazy}}},
    {.problem = {"step:H64:D64:E64"},
     .goals = {{"64 single steps / 64 streams at once, (64,64)", BENCH_RATIO, false, NAN, NAN,
                .value = streams_by_singles}}},
    {.problem = {"step:H64:D64", "fused:B1:T256:H64"},
     .threads = {1, 1},
     .goals = {{"single step / its bare parts, (64,64)", BENCH_RATIO, true, 1.5, NAN, .value = step_by_parts}}},
    {.problem = {"scan:B8:T2048:H512:inplace", "scan:B8:T2048:H512:inplace"},
     .quick = {"scan:B8:T256:H512:inplace", "scan:B8:T256:H512:inplace"},
     .threads = {1, 2},
     .goals = {{"scan forward / non-temporal copy of its bytes, 1 thread", BENCH_RATIO, true, 2.3, 1.8,
                .value = scan_by_copy_1},
               {"scan forward / non-temporal copy of its bytes, 2 threads", BENCH_RATIO, true, 2.1, 1.8,
                .value = scan_by_copy_2},
               {"2-thread speed-up, scan forward", BENCH_RATIO, false, 1.6, 1.9, .value = forward_speedup}}},
    /* likewise: in memory the forward keeps up with an in-place sweep, and the adjoint, which reads a second array,
     * with a sweep that does so too; what these two differ by stands beside */
    {.problem = {"scan:B1:T64:H512:inplace"},
     .threads = {1},
     .goals = {{"scan backward / scan forward, in cache, 1 thread", BENCH_RATIO, true, 1.7, 1.5,
                .value = backward_by_forward}}},
    {.problem = {"scan:B8:T2048:H512:inplace", "stream:KiB65536"},
     .quick = {"scan:B8:T256:H512:inplace", "stream:KiB16384"},
     .threads = {1, 1},
     .goals = {{"scan backward / scan forward, in memory, 1 thread", BENCH_RATIO, true, NAN, NAN,
                .value = backward_by_forward},
               {"bare a = b - a / bare a = -a, in memory, 1 thread", BENCH_RATIO, true, NAN, NAN,
                .value = second_array}}},
    {.problem = {"scan:B8:T2048:H512:inplace", "scan:B8:T2048:H512:inplace", "stream:KiB65536", "stream:KiB65536"},
     .quick = {"scan:B8:T256:H512:inplace", "scan:B8:T256:H512:inplace", "stream:KiB16384", "stream:KiB16384"},
     .threads = {1, 2, 1, 2},
     .goals = {{"scan forward GB/s / triad GB/s, ordinary stores, 1 thread", BENCH_PERCENT, false, 50, 75,
                .value = scan_by_triad_1},
               {"scan forward GB/s / triad GB/s, ordinary stores, 2 threads", BENCH_PERCENT, false, 60, 75,
                .value = scan_by_triad_2}}},
    {.problem = {"scan:B1:T32:H512", "peak"},
     .threads = {1, 1},
     .goals = {{"issue bound of its operations / scan forward, in cache", BENCH_PERCENT, false, 65, 75,
                .value = scan_by_issue}}},
    {.problem = {"scan:B1:T32:H512:rivals"},
     .threads = {1},
     .optional = true,
     .goals = {{"scan over SLEEF, theta prepared / scan forward, in cache", BENCH_RATIO, false, 2.5, 3,
                .value = sleef_by_scan},
               {"scan over libmvec, theta prepared / scan forward, in cache", BENCH_RATIO, false, 2, 2.4,
                .value = mvec_by_scan},
               {"scan over the C library, scalar / scan forward, in cache", BENCH_RATIO, false, 30, 50,
                .value = libm_by_scan, .lanes = bench_scan_lanes},
               {"scan over SLEEF, whole angles / scan forward, in cache", BENCH_RATIO, false, NAN, NAN,
                .value = whole_sleef_by_scan},
               {"scan over libmvec, whole angles / scan forward, in cache", BENCH_RATIO, false, NAN, NAN,
                .value = whole_mvec_by_scan}}},
    {.problem = {"fused:B8:T2048:H512", "scan:B8:T2048:H512"},
     .quick = {"fused:B8:T256:H512", "scan:B8:T256:H512"},
     .threads = {1, 1},
     .goals = {{"fused forward / scan forward, 1 thread", BENCH_RATIO, true, 2.6, 2.3, .value = fused_by_scan}}},
    {.problem = {"scan:B8:T2048:H512:inplace", "scan:B8:T2048:H512:inplace:cell=rglru", "scan:B8:T2048:H512:inplace",
                 "scan:B8:T2048:H512:inplace:cell=rglru"},
     .quick = {"scan:B8:T256:H512:inplace", "scan:B8:T256:H512:inplace:cell=rglru", "scan:B8:T256:H512:inplace",
               "scan:B8:T256:H512:inplace:cell=rglru"},
     .threads = {1, 1, 2, 2},
     .goals = {{"SPARC / RG-LRU scan forward, equal width, in place, 1 thread", BENCH_RATIO, true, 1.2, 1.05,
                .value = scan_ratio_1},
               {"SPARC / RG-LRU scan forward, equal width, in place, 2 threads", BENCH_RATIO, true, 0.95, 0.75,
                .value = scan_ratio_2}}},
    {.problem = {"scan:B1:T2048:H512", "scan:B1:T2048:H512:sorted"},
     .untimed = true,
     .goals = {{"tiles on the small-decay path, modes as initialised", BENCH_PERCENT, false, NAN, NAN,
                .value = small_given},
               {"tiles on the small-decay path, modes sorted by decay", BENCH_PERCENT, false, NAN, NAN,
                .value = small_sorted}}},
    {.problem = {"mixer:B2:T64:D32"},
     .untimed = true,
     .goals = {{"outputs and gradients against double, E_norm", BENCH_E_NORM, true, 2e-6, 1e-6,
                .value = largest_error}}},
};

/* ---- work --------------------------------------------------------------------------------------- */

static bool reaches(const goal *g, double value, double mark) { return g->at_most ? value <= mark : value >= mark; }

static bench_verdict verdict_of(const experiment *e, const goal *g, const bench_goal *result) {
  if (e->optional && isnan(result->value)) return BENCH_NOT_BUILT;
  if (!isfinite(result->value)) return BENCH_UNKNOWN;
  if (isnan(result->demand)) return BENCH_INFORMATION;
  if (!reaches(g, result->value, result->demand)) return BENCH_MISSED;
  return isfinite(result->stretch) && reaches(g, result->value, result->stretch) ? BENCH_STRETCH : BENCH_DEMAND;
}

static void count_goal(const bench_goal *g, bench_tally *tally) {
  if (isnan(g->demand) || g->verdict == BENCH_NOT_BUILT) return;
  tally->goals++;
  tally->demands += g->verdict == BENCH_DEMAND || g->verdict == BENCH_STRETCH;
  tally->set_stretches += isfinite(g->stretch);
  tally->stretches += g->verdict == BENCH_STRETCH;
}

static bool run_experiment(bench_session *session, const experiment *e, bench_tally *tally) {
  const bool quick = session->settings.quick;
  const char *texts[PROBLEMS];
  bench_problem problems[PROBLEMS];
  bench_case cases[PROBLEMS];
  size_t n = 0;
  for (; n < PROBLEMS && e->problem[n]; n++) texts[n] = quick && e->quick[n] ? e->quick[n] : e->problem[n];
  if (!bench_open_all(session, texts, e->threads, n, problems, cases)) return false;
  const sparc_status status =
      e->untimed ? SPARC_OK : bench_run(cases, n, session->settings.seconds, quick ? 1 : PATIENCE);
  for (size_t i = 0; status == SPARC_OK && i < GOALS && e->goals[i].name; i++) {
    const goal *g = &e->goals[i];
    const double share = g->lanes ? g->lanes(cases) / 16 : 1;
    bench_goal result = {.name = g->name,
                         .unit = g->unit,
                         .at_most = g->at_most,
                         .value = g->value(cases),
                         .demand = share * g->demand,
                         .stretch = share * g->stretch,
                         .bound = g->bound ? g->bound(cases) : NULL,
                         .problems = texts,
                         .count = n};
    result.verdict = verdict_of(e, g, &result);
    count_goal(&result, tally);
    session->output->goal(session->context, &result);
  }
  bench_close_all(cases, n);
  return status == SPARC_OK || bench_failed(session, status);
}

bool suite_goals(bench_session *session) {
  bench_tally tally = {.one_processor = cpu_available() < 2};
  bool done = true;
  for (size_t i = 0; i < sizeof experiments / sizeof *experiments && !session->output->stopped(session->context); i++)
    done = run_experiment(session, &experiments[i], &tally) && done;
  session->output->tally(session->context, &tally);
  return done && (tally.demands == tally.goals || session->settings.quick);
}
