/* SPDX-License-Identifier: MIT */
/* problem.h: problems as short strings, the kinds of problems, and a problem that is ready to be timed.
 *
 * "mixer:B4:T2048:D512:cell=rglru" is a kind, its keys, and for kinds with a cell the cell and its options. A kind is
 * one row of the table in problem.c and a few functions: create sets up memory and stages, verify compares with
 * an independent computation, destroy releases. What a stage costs in operations and bytes is part of the stage, so
 * reports, comparisons, goals and the paper's tables know no kind by name.
 */
#ifndef SPARC_BENCH_PROBLEM_H
#define SPARC_BENCH_PROBLEM_H

#include "bench/bench.h"
#include "bench/timer.h"
#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- the machine -------------------------------------------------------------------------------- */

enum { MACHINE_TEAMS = 4, MACHINE_LIMITS = 16, MACHINE_RATES = 6 };

/* what the stages of a run share: teams, and the limits that were measured so far (see limits.h) */
typedef struct bench_machine {
  bench_team *team[MACHINE_TEAMS];
  int team_size[MACHINE_TEAMS];
  struct limits_entry {
    int threads;
    size_t kib;                 /* per array and thread; 0: the multiply-add peak */
    double rate[MACHINE_RATES]; /* in the order of bench_flow; the peak alone */
  } limit[MACHINE_LIMITS];
  size_t limits;
  double seconds;     /* what one measurement of a limit may take */
  const char *kernel; /* whose limits they are, as in sparc_cell_config */
} bench_machine;

/* bench_machine_team gives a team of that many threads, which lives as long as the machine. */
sparc_status bench_machine_team(bench_machine *machine, int threads, bench_team **out);
void bench_machine_free(bench_machine *machine);

/* ---- strings ------------------------------------------------------------------------------------ */

enum { PROBLEM_KEYS = 8, PROBLEM_TEXT = 256 };

typedef struct bench_kind bench_kind;

typedef struct bench_problem {
  const bench_kind *kind;
  char text[PROBLEM_TEXT];    /* as given */
  long value[PROBLEM_KEYS];   /* in the order of the kind's keys */
  char cell[PROBLEM_TEXT];    /* kind of the cell, for kinds that have one */
  char options[PROBLEM_TEXT]; /* its options, "a=b,c=d" */
} bench_problem;

/* bench_parse reads a problem. SPARC_INVALID: the error text has a suggestion. others (NULL-terminated) are
 * further words to suggest. */
sparc_status bench_parse(const char *text, const char *const *others, bench_problem *out);

/* bench_list_kinds writes the form of every kind and what it is, and gives the length of the text. */
size_t bench_list_kinds(char *text, size_t capacity);

/* ---- cases -------------------------------------------------------------------------------------- */

enum { TENSOR_NAME = 48, FORMULA_TEXT = 256 };

/* something that is timed, or the sum of preceding stages */
typedef struct bench_stage {
  const char *name;
  bench_task task;
  size_t sum_of;       /* > 0: no task; the sum of the stages before it, this many */
  double calls;        /* calls in a pass: times are reported per call */
  double modes;        /* tokens times modes of a call; 0: no such unit */
  double flops, bytes; /* of a call; 0: not counted. Bytes are what must move at least once. */
} bench_stage;

/* the worst disagreement with the independent computation */
typedef struct bench_error {
  double norm, tolerance;   /* E_norm of the tensor that comes nearest to its tolerance, or exceeds it the most */
  double largest;           /* E_norm of any tensor */
  char tensor[TENSOR_NAME]; /* "" before the first comparison */
} bench_error;

typedef struct bench_case {
  const bench_problem *problem;
  bench_machine *machine;
  const char *requested_kernel; /* kernels to use, as in sparc_cell_config */
  const char *kernel;           /* which kernels or library do the work */
  int threads;                  /* in: requested; out: used */
  int H;                        /* modes of its cell; 0: it has none */
  void *state;                  /* of the kind */
  bench_stage stage[BENCH_STAGES];
  size_t stages;
  size_t footprint;           /* bytes that a pass touches */
  size_t memory;              /* bytes that the problem needs, by the sizes that the library states */
  size_t measured;            /* growth of the process at its highest, by the system; 0: unknown */
  char formula[FORMULA_TEXT]; /* how memory follows from the shape; "": not written down */
  bench_error error;
} bench_case;

typedef struct bench_key {
  const char *name; /* upper case: a number follows; lower case: a flag */
  const char *help;
  long fallback; /* value when absent; REQUIRED: it must be there */
} bench_key;

enum { REQUIRED = -1 };

struct bench_kind {
  const char *name, *summary;
  bench_key keys[PROBLEM_KEYS]; /* ends with a NULL name, or full */
  const char *cell;             /* default cell; NULL: a problem without a cell */
  sparc_status (*create)(bench_case *c);
  sparc_status (*verify)(bench_case *c); /* updates c->error; a status other than SPARC_OK: could not be done */
  void (*destroy)(bench_case *c);        /* c->state may be half made, or NULL */
};

/* every kind of problem, in the order in which --help lists them */
#define BENCH_KINDS(ROW) \
  ROW(mixer)             \
  ROW(bf16)              \
  ROW(fused)             \
  ROW(scan)              \
  ROW(step)              \
  ROW(rtrl)              \
  ROW(prepare)           \
  ROW(train)             \
  ROW(ppo)               \
  ROW(naive)             \
  ROW(sgemm)             \
  ROW(stream)            \
  ROW(peak)

#define BENCH_KIND_DECLARE(name) extern const bench_kind bench_kind_##name;
BENCH_KINDS(BENCH_KIND_DECLARE)

/* bench_value gives the value of a key of the problem; the key must be in the kind's table. */
long bench_value(const bench_problem *problem, const char *key);

/* bench_open sets the problem up on `threads` threads with the named kernels (NULL: that of the environment), measures
 * its memory, and verifies it. It refuses, with SPARC_UNSUPPORTED, what does not verify. *problem must outlive the
 * case. After a failure nothing is left to close. */
sparc_status bench_open(bench_machine *machine, const bench_problem *problem, int threads, const char *kernel,
                        bench_case *out);
void bench_close(bench_case *c);

/* bench_run times all stages of all cases side by side; see bench_time. */
sparc_status bench_run(bench_case *cases, size_t count, double seconds, double patience);

/* bench_has_stage returns whether a case has a stage: some need a library that a build may lack. */
bool bench_has_stage(const bench_case *c, const char *stage);

/* bench_seconds gives the seconds per call of a stage after bench_run; the stage must exist. */
double bench_seconds(const bench_case *c, const char *stage);

/* ---- for kinds ---------------------------------------------------------------------------------- */

/* bench_afford refuses problems that exceed this machine's memory, before allocating it. */
sparc_status bench_afford(const bench_case *c, size_t bytes);

/* bench_stage_add appends a stage and returns it. */
bench_stage *bench_stage_add(bench_case *c, const char *name, bench_task task);

/* bench_compare counts one more tensor in c->error: E_norm = max|got - want| / max(1, max|want|). */
void bench_compare(bench_case *c, const char *tensor, double tolerance, const float *got, const double *want, size_t n);

/* bench_fill draws n standard normal numbers from the stream of that name. */
void bench_fill(float *values, size_t n, const char *name);

#endif
