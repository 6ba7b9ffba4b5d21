/* SPDX-License-Identifier: MIT */
/* rl.c: `sparc bench rl`: how near an iteration of PPO comes to what it cannot do without.
 *
 * Bounds are made of rates of the same run. Collection: RTRL steps at the rate of `rtrl` (plain steps where records are
 * kept), the bytes of sensitivities or records at that of a copy, encoder and heads at that of a matrix product; one
 * stream has one step after the other, on one thread. Update: the same bytes once per item, the items' steps at the
 * rate of as many streams at once (`step`), backward through them by products and the fused kernel, and the products of
 * encoder and heads, once forward and twice backward; where records are kept and observations are many, also the
 * adjoint of the steps that a minibatch reaches. Windows have the products alone, of the cell as of the layers, once
 * forward and twice backward. What is missing is everything between: loss, sampling, gathering,
 * activations, norm, Adam, and preparing weights. An environment alone is its own bound.
 *
 * The demand is stated in the bounds of stored sensitivities, whichever way an iteration takes: a way that moves fewer
 * bytes has lower bounds of its own, and is not asked for more because of that.
 */
#include "bench/kinds/ppo.h"
#include "bench/limits.h"
#include "bench/suites/suites.h"

#include <math.h>
#include <stdio.h>

/* the problems of a row; windows take the first ones */
enum { ITERATION, ONLINE, PRODUCT, STEPS, FUSED, PARTS, WINDOW_PARTS = STEPS };

static const double MAX_RATIO = 1.8, MAX_BYTES = 400e6;

/* the paper's two settings; without physics robots are observations of their size */
static const struct setting {
  const char *task, *key;
  int H, epochs;
  bool rival;
} settings[] = {{"repeat-previous", "", 64, 10, true},
                {"cartpole", ":cartpole", 64, 10, true},
                {"robot, no physics", ":robot", 192, 4, false}};

/* what a JAX implementation of the same agent with RTU does on a machine of two AMD cores, and how many times as much
 * is demanded here */
static const double JAX_STEPS[] = {2500, 3800};
static const struct agent {
  const char *cell;
  int modes;     /* in the place of one complex mode: equal states */
  bool windows;  /* it learns by truncated backpropagation, and there are no sensitivities to be stored or not */
  double demand; /* 0: none */
} agents[] = {{"sparc", 1, false, 3}, {"rtu", 1, false, 5}, {"rglru", 2, false, 0}, {"gru", 2, true, 0}};

enum { WIDTH = 64, ITEMS = 64, TOKENS = 64, PRODUCT_ROWS = 2048, QUICK_STEPS = 256 };

/* ---- bounds ------------------------------------------------------------------------------------- */

/* seconds per byte of a copy in the memory that so many bytes live in */
static sparc_status copy_cost(bench_session *session, int threads, size_t bytes, double *cost) {
  double rate[FLOWS] = {0};
  const sparc_status status = bench_limit_flows(&session->machine, threads, bench_level_of(bytes, threads), rate);
  *cost = 1e-9 / fmax(rate[FLOW_COPY], rate[FLOW_COPY_NT]);
  return status;
}

static sparc_status find_bounds(bench_session *session, const bench_case *cases, bench_rl *r) {
  const bench_ppo_work w = bench_ppo_work_of(&cases[ITERATION]);
  const bool windows = w.gradient_method == TBPTT;
  double alone = NAN, together = NAN;
  sparc_status status = copy_cost(session, 1, w.kept, &alone);
  if (status == SPARC_OK) status = copy_cost(session, r->threads, w.kept, &together);
  const double flop = bench_seconds(&cases[PRODUCT], "product") / cases[PRODUCT].stage[0].flops;
  const double step = windows ? 0 : bench_seconds(&cases[STEPS], "streams") / r->threads;
  const double backward = windows ? 0 : bench_seconds(&cases[FUSED], "backward") / TOKENS / r->threads;
  const double passes = windows ? 3 : 2; /* the items' steps have the products of the cell forward */
  r->is_default = w.is_default;
  r->collection_bound =
      w.steps * bench_seconds(&cases[ONLINE], w.gradient_method == STORED_TRACES ? "step+trace" : "step") +
      (r->stored ? 2 : 1) * w.written * alone + w.steps * w.layer_flops * flop * r->threads;
  r->update_bytes = w.read * together;
  r->update_products = (w.items * (3 * w.layer_flops + passes * w.cell_flops) + w.reached * w.cell_flops) * flop;
  r->update_cell = w.items * (step + backward) + w.reached * backward;
  r->update_bound = r->update_bytes + r->update_products + r->update_cell;
  return status;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void describe(const bench_rl *r, const struct setting *s, bool quick, char text[PARTS][PROBLEM_TEXT]) {
  char size[32] = "";
  if (quick) snprintf(size, sizeof size, ":T%d", QUICK_STEPS);
  snprintf(text[ITERATION], PROBLEM_TEXT, "ppo:H%d:E%d%s%s:%s:cell=%s", r->H, r->epochs, size, s->key,
           r->stored ? "stored" : "free", r->cell);
  snprintf(text[ONLINE], PROBLEM_TEXT, "%s:H%d:D%d:cell=%s", r->windows ? "step" : "rtrl", r->H, WIDTH, r->cell);
  snprintf(text[STEPS], PROBLEM_TEXT, "step:H%d:D%d:E%d:cell=%s", r->H, WIDTH, ITEMS, r->cell);
  snprintf(text[FUSED], PROBLEM_TEXT, "fused:B1:T%d:H%d:cell=%s", TOKENS, r->H, r->cell);
  snprintf(text[PRODUCT], PROBLEM_TEXT, "sgemm:M%d:N%d:K%d", PRODUCT_ROWS, 2 * r->H, WIDTH);
}

static sparc_status conclude(bench_session *session, const bench_case *cases, const struct setting *s,
                             const struct agent *a, bench_rl *r) {
  const bench_case *c = &cases[ITERATION];
  const double whole = bench_seconds(c, "iteration");
  r->environment = bench_seconds(c, "environment");
  r->collection = bench_seconds(c, "collection") - r->environment;
  r->update = bench_seconds(c, "update");
  const sparc_status status = find_bounds(session, cases, r);
  const double bound = r->environment + r->collection_bound + r->update_bound;
  r->ratio = whole / bound;
  if (r->stored || r->windows) r->stored_bound = bound;
  r->stored_ratio = whole / r->stored_bound;
  r->steps_per_second = bench_ppo_work_of(c).steps / whole;
  r->memory_bytes = c->memory;
  r->measured_bytes = c->measured;
  r->kernel = c->kernel;
  r->rival = s->rival && a->demand > 0 && r->threads <= 2 ? JAX_STEPS[r->threads - 1] : NAN;
  r->rival_demand = a->demand;
  r->memory_demand = MAX_BYTES;
  r->ratio_demand = MAX_RATIO;
  r->reached = r->stored_ratio <= r->ratio_demand;
  if (s->rival && r->is_default)
    r->reached = r->reached && !(r->steps_per_second < r->rival_demand * r->rival) &&
                 (double)r->measured_bytes <= r->memory_demand;
  return status;
}

static bool measure_row(bench_session *session, const struct setting *s, const struct agent *a, bench_rl r,
                        double *stored_bound) {
  const int threads[PARTS] = {r.threads, 1, r.threads, 1, 1}, parts = r.windows ? WINDOW_PARTS : PARTS;
  char text[PARTS][PROBLEM_TEXT];
  const char *texts[PARTS];
  bench_problem problems[PARTS];
  bench_case cases[PARTS];
  describe(&r, s, session->settings.quick, text);
  for (int i = 0; i < parts; i++) texts[i] = text[i];
  if (!bench_open_all(session, texts, threads, parts, problems, cases)) return false;
  sparc_status status = bench_run(cases, parts, session->settings.seconds, 1);
  if (status == SPARC_OK) status = conclude(session, cases, s, a, &r);
  if (status == SPARC_OK) session->output->rl(session->context, &r);
  *stored_bound = r.stored_bound;
  bench_close_all(cases, parts);
  if (status != SPARC_OK) return bench_failed(session, status);
  return r.reached || session->settings.quick;
}

/* one task and cell: stored traces and trace-free (or TBPTT), on one thread and on two */
static bool measure_agent(bench_session *session, const struct setting *s, const struct agent *a) {
  bool good = true;
  double stored_bound[] = {NAN, NAN}; /* by threads */
  for (int stored = a->windows ? 0 : 1; stored >= 0; stored--)
    for (int threads = 1; threads <= 2 && threads <= session->settings.threads; threads++)
      if (!session->output->stopped(session->context))
        good = measure_row(session, s, a,
                           (bench_rl){.task = s->task,
                                      .cell = a->cell,
                                      .stored = stored == 1,
                                      .windows = a->windows,
                                      .H = s->H * a->modes,
                                      .epochs = session->settings.quick ? 1 : s->epochs,
                                      .threads = threads,
                                      .stored_bound = stored_bound[threads - 1]},
                           &stored_bound[threads - 1]) &&
               good;
  return good;
}

bool suite_rl(bench_session *session) {
  bool good = true;
  bench_return_memory();
  for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
    for (size_t a = 0; a < sizeof agents / sizeof *agents; a++)
      good = measure_agent(session, &settings[s], &agents[a]) && good;
  return good;
}
