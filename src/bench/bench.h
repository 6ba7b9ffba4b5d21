/* SPDX-License-Identifier: MIT */
/* bench.h: the benchmark as a library: measures problems and suites and reports records.
 *
 * A problem is a short string such as "mixer:B4:T2048:D512:cell=rglru"; a suite is a named set of problems.
 * A session measures either and passes each record to the caller's bench_output as soon as it is complete. Nothing here
 * prints or exits.
 *
 * NaN in a record: not applicable or not measured. Records and their texts are valid during the call.
 */
#ifndef SPARC_BENCH_BENCH_H
#define SPARC_BENCH_BENCH_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>

struct ranks; /* base/ranks.h */

typedef struct bench_settings {
  int threads;
  double seconds;      /* per problem */
  bool quick;          /* short sequences in the suites; verdicts do not count */
  const char *kernel;  /* the kernels to use; NULL: that of the environment, else the best */
  const char *device;  /* "opencl:1": the device of the suite paper; NULL: the CPU */
  bool fast;           /* the device may use the approximations of its hardware */
  struct ranks *group; /* of the suite scale: all ranks measure together; NULL: one process */
} bench_settings;

/* ---- problems ----------------------------------------------------------------------------------- */

enum { BENCH_STAGES = 8 };

/* one stage of a problem: forward, backward, ... */
typedef struct bench_figures {
  const char *stage;
  double seconds; /* of a call */
  double noise;   /* the median pass is longer by this fraction */
  int passes;
  double ns_per_mode, gb_per_s, gflop_per_s;
  double of_copy, of_triad, of_peak; /* fractions of the limits in bench_result */
} bench_figures;

typedef struct bench_result {
  const char *problem, *kernel;
  int threads;
  int H;                               /* modes of the problem's cell; 0: it has none */
  double e_norm, tolerance;            /* of the tensor that comes nearest to its tolerance */
  const char *tensor;                  /* its name */
  size_t memory_bytes, measured_bytes; /* by the sizes that the library states, and by the system; 0: unknown */
  const char *memory_formula;          /* "": not written down */
  const char *level;                   /* memory level that holds the problem; "": not determined */
  double copy, triad, peak;            /* limits in the same run: GB/s at that level, GFLOP/s of multiply-adds */
  bench_figures stage[BENCH_STAGES];
  size_t stages;
} bench_result;

/* ---- suites ------------------------------------------------------------------------------------- */

/* one limit of the machine, on one thread and on all */
typedef struct bench_limit {
  const char *level;           /* of the memory; NULL: it is a rate of arithmetic, and has one stage */
  const bench_result *columns; /* one for each number of threads */
  size_t count;
} bench_limit;

typedef enum bench_unit { BENCH_RATIO, BENCH_PERCENT, BENCH_E_NORM } bench_unit;
typedef enum bench_verdict {
  BENCH_STRETCH,
  BENCH_DEMAND,
  BENCH_MISSED,
  BENCH_INFORMATION,
  BENCH_NOT_BUILT,
  BENCH_UNKNOWN
} bench_verdict;

/* a performance goal of the kernels */
typedef struct bench_goal {
  const char *name;
  bench_unit unit;
  bool at_most;                  /* the value should be small */
  double value, demand, stretch; /* NaN: no such mark is set */
  bench_verdict verdict;
  const char *bound;           /* the bound that applied, if there are several; NULL: see name */
  const char *const *problems; /* that were compared */
  size_t count;
} bench_goal;

typedef struct bench_tally {
  int goals, demands, stretches, set_stretches; /* with a demand, reached; stretch values reached, set */
  bool one_processor;                           /* rows of two threads mean nothing */
} bench_tally;

/* the training step of a classifier, beside the cost of its arithmetic at the rates of the same run */
typedef struct bench_training {
  int B, T, width, layers, threads;
  const char *kernel;
  double forward, backward, step, update; /* seconds; step is forward and backward */
  double products, scans;                 /* seconds of the arithmetic */
  double gflop_per_s;                     /* of the products */
  double reached, demand;                 /* percent */
} bench_training;

/* an iteration of PPO with one stream, beside the cost of what it cannot do without at the rates of the same run */
typedef struct bench_rl {
  const char *task, *cell, *kernel;
  bool stored, is_default; /* sensitivities are stored, not recomputed from records; the default of a run */
  bool windows;            /* there are none: truncated backpropagation */
  int H, epochs, threads;
  double steps_per_second;
  double environment, collection, update;            /* seconds of an iteration; collection without its environment */
  double collection_bound, update_bound;             /* an environment is its own bound */
  double update_bytes, update_products, update_cell; /* what the update's bound is made of */
  double ratio;                                      /* of the iteration to the sum of its bounds */
  double stored_bound;                 /* that sum where sensitivities are stored: what the demand is stated in */
  double stored_ratio, ratio_demand;   /* of the iteration to it */
  size_t memory_bytes, measured_bytes; /* as in bench_result */
  double memory_demand;
  double rival, rival_demand; /* steps per second of the JAX implementation on as many cores; NaN: none known */
  bool reached;               /* the ratio and, with a known rival and the default method, the others */
} bench_rl;

static inline const char *bench_rl_method(const bench_rl *r) {
  return r->windows ? "window" : r->stored ? "stored" : "free";
}

/* time and memory while one of B, T, H grows: time against the line a + b n, memory against its formula */
typedef struct bench_growth_row {
  const char *problem, *kernel, *memory_formula;
  int B, T, H;
  double mode_steps, seconds;
  double line_seconds, deviation; /* seconds / line_seconds - 1 */
  double memory_bytes, measured_bytes;
  double memory_deviation; /* beyond a huge page, relative */
} bench_growth_row;

enum { BENCH_GROWTH_ROWS = 9 };

typedef struct bench_growth {
  const char *kind, *what; /* of problem, and in words */
  char axis;               /* B, T or H */
  bench_growth_row row[BENCH_GROWTH_ROWS];
  size_t rows;
  double a, b;                             /* seconds of a call, of a mode-step */
  double deviation, deviation_allowed;     /* the largest of any row */
  double memory_deviation, memory_allowed; /* NaN: memory was not measured */
} bench_growth;

/* the paper's shapes. Times are seconds at T steps; measured_T of them ran, and the times were scaled up. */
typedef struct bench_paper_scan {
  int B, T, width, threads, measured_T;
  double sparc, rglru;
  double ns_per_mode;      /* of SPARC */
  double paper_speedup[2]; /* from, to: on the paper's GPU */
} bench_paper_scan;

/* the width of the blocks of RG-LRU's gates at these shapes */
#define BENCH_PAPER_BLOCK "256"

enum { BENCH_NO_PROJECTION, BENCH_PROJECTION, BENCH_PROJECTIONS }; /* of the content */
enum { BENCH_SPARC, BENCH_RGLRU, BENCH_CELLS };

typedef struct bench_paper_cost {
  double seconds;        /* forward and backward */
  double bytes;          /* at the full shape, by the sizes that the library states */
  double measured_bytes; /* growth of the process */
} bench_paper_cost;

typedef struct bench_paper_mixer {
  char panel;
  int B, T, width, threads, measured_T;
  bench_paper_cost cost[BENCH_PROJECTIONS][BENCH_CELLS];
  const char *paper_ratio; /* SPARC / RG-LRU on the paper's GPU */
} bench_paper_mixer;

typedef struct bench_paper_naive {
  const char *table;
  int B, T, width;
  int naive_T, fused_T, projected_T; /* steps that ran */
  double naive_backward, naive_both; /* from pre-activations and controls */
  double fused_backward, fused_both;
  double projected_naive, projected_ours;  /* both directions, with the content projection */
  double paper_backward[2], paper_both[2]; /* milliseconds on the paper's GPU: naive, accelerated */
} bench_paper_naive;

/* a loop over tiles that a problem's call runs when it is planned for so many threads */
typedef struct bench_plan_loop {
  const char *problem, *kernel, *stage;
  int threads, loop;    /* loop: its number within the stage, from 1 on */
  size_t tiles, share;  /* of the loop, and of the thread that has most of them */
  double seconds;       /* of all tiles on one thread */
  double share_seconds; /* of the longest share */
} bench_plan_loop;

/* all loops together */
typedef struct bench_plan_total {
  const char *problem, *kernel;
  int threads;
  double seconds, share_seconds; /* of one thread; of the longest shares, one loop after the other */
} bench_plan_total;

/* ---- tables of devices -------------------------------------------------------------------------- */

/* a number or a text */
typedef struct bench_entry {
  const char *key, *head; /* in JSON; above a column */
  const char *text;       /* NULL: a number */
  double number;
  int digits; /* decimals; of a text the width of its column */
} bench_entry;

/* a row of a table whose columns are the same in all its rows */
typedef struct bench_row {
  const char *table, *title; /* its short name; what it shows */
  const bench_entry *value;
  size_t values;
  bool list; /* a table of one row, shown as a list */
} bench_row;

/* ---- output ------------------------------------------------------------------------------------- */

typedef struct bench_output {
  void (*problem)(void *context, const bench_result *result);
  void (*limit)(void *context, const bench_limit *limit);
  void (*goal)(void *context, const bench_goal *goal);
  void (*tally)(void *context, const bench_tally *tally); /* after the last goal */
  void (*training)(void *context, const bench_training *training);
  void (*rl)(void *context, const bench_rl *rl);
  void (*growth)(void *context, const bench_growth *growth);
  void (*paper_scan)(void *context, const bench_paper_scan *row);
  void (*paper_mixer)(void *context, const bench_paper_mixer *row);
  void (*paper_naive)(void *context, const bench_paper_naive *row);
  void (*plan_loop)(void *context, const bench_plan_loop *row);
  void (*plan_total)(void *context, const bench_plan_total *row);
  void (*row)(void *context, const bench_row *row);
  void (*failed)(void *context, sparc_status status); /* see sparc_error(); other problems are still measured */
  bool (*stopped)(void *context);                     /* true: stop */
} bench_output;

/* ---- measuring ---------------------------------------------------------------------------------- */

typedef struct bench_session bench_session;

/* bench_session_create starts a session; settings are copied, *output and context must outlive it. */
sparc_status bench_session_create(const bench_settings *settings, const bench_output *output, void *context,
                                  bench_session **out);
void bench_session_free(bench_session *session); /* may be NULL */

/* bench_measure measures a problem or a suite. Returns false if something failed, or if a demand was missed and
 * verdicts count. */
bool bench_measure(bench_session *session, const char *text);

/* bench_plan reports the loops over tiles of a problem for 1, 2, 4, 16 and 64 threads. Tiles are timed one by one on
 * the calling thread: contention for memory is not included. */
bool bench_plan(bench_session *session, const char *problem);

/* bench_check validates the text of a problem or suite without measuring. Several ranks measure the suite scale only,
 * one process all others. */
sparc_status bench_check(const bench_settings *settings, const char *text);

/* bench_is_suite returns whether the text names a suite. */
bool bench_is_suite(const char *text);

/* bench_usage writes the forms of problems and the suites, a line for each and one that explains it. */
void bench_usage(char *text, size_t capacity);

#endif
