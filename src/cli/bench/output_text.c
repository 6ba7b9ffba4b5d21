/* SPDX-License-Identifier: MIT */
/* output_text.c: the benchmark's records as tables to read. The head of a table is printed with its first row. */
#include "cli/bench/output.h"

#include <math.h>
#include <string.h>

/* ---- shared ------------------------------------------------------------------------------------- */

enum { TIME_TEXT = 16, FIGURE_TEXT = 24 };

/* seconds with three digits and a unit, for example "12.3 ms" */
static const char *time_text(double seconds, char text[TIME_TEXT]) {
  static const struct {
    double below, scale;
    const char *unit;
  } units[] = {{1e-6, 1e9, "ns"}, {1e-3, 1e6, "us"}, {1, 1e3, "ms"}, {INFINITY, 1, "s"}};
  size_t u = 0;
  while (seconds >= units[u].below) u++;
  const double value = seconds * units[u].scale;
  snprintf(text, TIME_TEXT, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[u].unit);
  return text;
}

/* a number in its column, or a dash */
static void column(int width, int digits, double value, const char *unit) {
  if (isfinite(value))
    printf(" %*.*f%s", width - (int)strlen(unit), digits, value, unit);
  else
    printf(" %*s", width, "-");
}

static const char *threads_word(int threads) { return threads == 1 ? "thread" : "threads"; }

/* an empty line between one text and the next */
static void separate(bench_printer *printer) {
  if (printer->printed) putchar('\n');
  printer->printed = true;
}

/* whether this row opens a table; tables are distinguished by name */
static bool opens(bench_printer *printer, const char *table) {
  if (printer->table && strcmp(printer->table, table) == 0) return false;
  separate(printer);
  printer->table = table;
  return true;
}

/* ---- problems ----------------------------------------------------------------------------------- */

static void print_head(const bench_printer *printer, const bench_result *r) {
  printf("%s: %d %s, %s", r->problem, r->threads, threads_word(r->threads), r->kernel);
  if (r->H > 0) printf(", H %d", r->H);
  printf("\n  verified: E_norm %.1e in %s, tolerance %.0e\n", r->e_norm, r->tensor, r->tolerance);
  if (r->memory_bytes > 0) {
    printf("  memory: %.2f MB by the sizes", 1e-6 * (double)r->memory_bytes);
    if (r->measured_bytes > 0) printf(", %.2f MB measured", 1e-6 * (double)r->measured_bytes);
    putchar('\n');
  }
  if (*r->memory_formula) printf("    = %s\n", r->memory_formula);
  const char *separator = "  limits here:";
  if (isfinite(r->copy)) {
    printf("%s %s copy %.1f GB/s, triad %.1f GB/s", separator, r->level, r->copy, r->triad);
    separator = ",";
  }
  if (isfinite(r->peak)) printf("%s multiply-add %.1f GFLOP/s", separator, r->peak);
  if (isfinite(r->copy) || isfinite(r->peak)) putchar('\n');
  printf("  %-20s %9s %8s %8s %6s %6s %8s %6s %6s", "stage", "time", "ns/mode", "GB/s", "/copy", "/triad", "GFLOP/s",
         "/peak", "noise");
  if (printer->old) printf(" %9s %6s", "before", "ratio");
  putchar('\n');
}

static void print_stage(const bench_printer *printer, const bench_result *r, const bench_figures *f) {
  char text[TIME_TEXT];
  printf("  %-20s %9s", f->stage, time_text(f->seconds, text));
  column(8, 3, f->ns_per_mode, "");
  column(8, 2, f->gb_per_s, "");
  column(6, 0, 100 * f->of_copy, "%");
  column(6, 0, 100 * f->of_triad, "%");
  column(8, 1, f->gflop_per_s, "");
  column(6, 0, 100 * f->of_peak, "%");
  column(6, 0, 100 * f->noise, "%");
  if (printer->old) {
    const double old = bench_old_seconds(printer, r, f);
    printf(" %9s", isfinite(old) ? time_text(old, text) : "-");
    column(6, 3, f->seconds / old, "");
  }
  putchar('\n');
}

static void print_problem(void *context, const bench_result *result) {
  bench_printer *printer = context;
  separate(printer);
  print_head(printer, result);
  for (size_t i = 0; i < result->stages; i++) print_stage(printer, result, &result->stage[i]);
}

/* ---- limits ------------------------------------------------------------------------------------- */

static void print_limit(void *context, const bench_limit *limit) {
  if (opens(context, "limits")) {
    printf("%-30s %9s", "limit", "1 thread");
    for (size_t i = 1; i < limit->count; i++) printf(" %9d", limit->columns[i].threads);
    putchar('\n');
  }
  for (size_t s = 0; s < limit->columns->stages; s++) {
    char name[64];
    if (limit->level)
      snprintf(name, sizeof name, "%s, %s", limit->level, limit->columns->stage[s].stage);
    else
      snprintf(name, sizeof name, "%s", limit->columns->problem);
    printf("%-30s", name);
    for (size_t i = 0; i < limit->count; i++) {
      const bench_figures *f = &limit->columns[i].stage[s];
      printf(" %9.1f", limit->level ? f->gb_per_s : f->gflop_per_s);
    }
    printf("  %s\n", limit->level ? "GB/s" : "GFLOP/s");
  }
}

/* ---- goals -------------------------------------------------------------------------------------- */

static const char *figure_text(bench_unit unit, double value, const char *sign, char text[FIGURE_TEXT]) {
  static const char *const formats[] = {
      [BENCH_RATIO] = "%s%.2f", [BENCH_PERCENT] = "%s%.0f%%", [BENCH_E_NORM] = "%s%.1e"};
  if (isnan(value))
    snprintf(text, FIGURE_TEXT, "-");
  else
    snprintf(text, FIGURE_TEXT, formats[unit], sign, value);
  return text;
}

static void print_goal(void *context, const bench_goal *g) {
  static const char *const colours[] = {
      [BENCH_STRETCH] = "\033[32m", [BENCH_DEMAND] = "\033[32m", [BENCH_MISSED] = "\033[31m",
      [BENCH_INFORMATION] = "",     [BENCH_NOT_BUILT] = "",      [BENCH_UNKNOWN] = ""};
  enum { NAME_WIDTH = 62 };
  bench_printer *printer = context;
  if (opens(printer, "goals"))
    printf("%-*s %9s %10s %10s  %s\n", NAME_WIDTH,
           printer->settings.quick ? "goal (quick: small problems, verdicts do not bind)" : "goal", "value", "demand",
           "stretch", "verdict");
  const char *sign = g->at_most ? "<= " : ">= ";
  char value[FIGURE_TEXT], demand[FIGURE_TEXT], stretch[FIGURE_TEXT];
  printf("%-*s %9s %10s %10s  %s%s%s%s%s\n", NAME_WIDTH, g->name, figure_text(g->unit, g->value, "", value),
         figure_text(g->unit, g->demand, sign, demand), figure_text(g->unit, g->stretch, sign, stretch),
         printer->colour ? colours[g->verdict] : "", bench_verdict_name(g->verdict), printer->colour ? "\033[0m" : "",
         g->bound ? ", by " : "", g->bound ? g->bound : "");
}

static void print_tally(void *context, const bench_tally *t) {
  (void)context;
  printf("%d of %d demands and %d of %d stretch values reached\n", t->demands, t->goals, t->stretches,
         t->set_stretches);
  if (t->one_processor) printf("this machine gives the process one processor: the 2-thread rows mean nothing\n");
}

/* ---- training ----------------------------------------------------------------------------------- */

static void print_training(void *context, const bench_training *t) {
  separate(context);
  printf("training step of the classifier: width %d, %d layers, batch %d, T %d, %d %s, %s\n", t->width, t->layers, t->B,
         t->T, t->threads, threads_word(t->threads), t->kernel);
  printf("  forward                 %8.1f ms\n", 1e3 * t->forward);
  printf("  backward                %8.1f ms\n", 1e3 * t->backward);
  printf("  forward and backward    %8.1f ms\n", 1e3 * t->step);
  printf("  whole update            %8.1f ms   with batch, loss, AdamW and prepared weights\n", 1e3 * t->update);
  printf("its arithmetic at the rates of this run\n");
  printf("  matrix products         %8.1f ms   %.0f GFLOP/s\n", 1e3 * t->products, t->gflop_per_s);
  printf("  scans                   %8.1f ms\n", 1e3 * t->scans);
  printf("  bound                   %8.1f ms\n", 1e3 * (t->products + t->scans));
  printf("reached %.0f%% of the bound, demanded %.0f%%: %s\n", t->reached, t->demand,
         bench_verdict_name(t->reached >= t->demand ? BENCH_DEMAND : BENCH_MISSED));
}

/* ---- reinforcement learning ----------------------------------------------------------------------- */

static void print_rl_head(const bench_rl *r) {
  printf(
      "An iteration of PPO: a rollout of one stream and its update; milliseconds, each beside its bound at the rates "
      "of\n"
      "this run. own: the iteration by the sum of its bounds; stored: by that of stored sensitivities, at most %.1f.\n"
      "An asterisk marks the default gradient method of a run; with it POPGym needs at most %.0f MB and, for SPARC and "
      "RTU,\n"
      "3 and 5 times the steps of a JAX implementation with RTU: 2,500 a second on one core and 3,800 on two, of a\n"
      "machine with two AMD cores.\n",
      r->ratio_demand, 1e-6 * r->memory_demand);
  printf("%-18s %-5s %-7s %3s %7s %6s %13s %13s %5s %6s %7s %6s  %s\n", "task", "cell", "traces", "thr", "steps/s",
         "env", "collection", "update", "own", "stored", "MB", "/ JAX", "verdict");
}

static void print_rl(void *context, const bench_rl *r) {
  if (opens(context, "rl")) print_rl_head(r);
  printf("%-18s %-5s %-6s%c %3d %7.0f %6.1f %6.1f %6.1f %6.1f %6.1f %5.2f %6.2f %7.1f", r->task, r->cell,
         bench_rl_method(r), r->is_default ? '*' : ' ', r->threads, r->steps_per_second, 1e3 * r->environment,
         1e3 * r->collection, 1e3 * r->collection_bound, 1e3 * r->update, 1e3 * r->update_bound, r->ratio,
         r->stored_ratio, 1e-6 * (double)r->measured_bytes);
  column(6, 2, r->steps_per_second / r->rival, "");
  printf("  %s\n", bench_verdict_name(r->reached ? BENCH_DEMAND : BENCH_MISSED));
}

/* ---- growth ------------------------------------------------------------------------------------- */

static const char *within(double value, double allowed) { return value <= allowed ? "within" : "MISSED"; }

static void print_growth_row(const bench_growth_row *r) {
  char seconds[TIME_TEXT], measured[TIME_TEXT] = "-";
  if (isfinite(r->measured_bytes)) snprintf(measured, sizeof measured, "%.2f MB", 1e-6 * r->measured_bytes);
  printf("  %7d %7d %7d %11.0f %9s %8.3f %+8.1f%% %10.2f MB %12s\n", r->B, r->T, r->H, r->mode_steps,
         time_text(r->seconds, seconds), 1e9 * r->seconds / r->mode_steps, 100 * r->deviation, 1e-6 * r->memory_bytes,
         measured);
}

static void print_growth(void *context, const bench_growth *g) {
  const bench_growth_row *last = &g->row[g->rows - 1];
  char call[TIME_TEXT];
  separate(context);
  printf("%s forward + backward, 1 thread, %s, sizes in turn: %c grows\n", g->what, last->kernel, g->axis);
  printf("  %7s %7s %7s %11s %9s %8s %9s %13s %12s\n", "B", "T", "H", "mode-steps", "time", "ns/mode", "to line",
         "by formula", "measured");
  for (size_t i = 0; i < g->rows; i++) print_growth_row(&g->row[i]);
  printf("  line: %s a call + %.3f ns a mode-step; at most %.1f%% from it, %.0f%% allowed: %s\n", time_text(g->a, call),
         1e9 * g->b, 100 * g->deviation, 100 * g->deviation_allowed, within(g->deviation, g->deviation_allowed));
  printf("  bytes = %s\n", last->memory_formula);
  if (isfinite(g->memory_deviation))
    printf("  memory: at most %.1f%% and a huge page from the formula, %.0f%% allowed: %s\n", 100 * g->memory_deviation,
           100 * g->memory_allowed, within(g->memory_deviation, g->memory_allowed));
  else
    printf("  memory: not measured\n");
}

/* ---- the paper's -------------------------------------------------------------------------------- */

static void print_scaled(int measured, int T) {
  if (measured < T)
    printf("  scaled from T = %d\n", measured);
  else
    putchar('\n');
}

static void print_paper_scan(void *context, const bench_paper_scan *r) {
  if (opens(context, "a")) {
    printf(
        "CPU: this machine, float32, %d %s unless a table says otherwise. GPU: the paper's NVIDIA RTX PRO 6000\n"
        "Blackwell, BF16 inputs and outputs, FP32 recurrence. RG-LRU has gates in blocks of " BENCH_PAPER_BLOCK ".\n",
        r->threads, threads_word(r->threads));
    printf(
        "\nPanel (a), the scan with given coefficients, forward, B = %d, width %d. SPARC is given two controls a "
        "token\n"
        "and what it writes, RG-LRU a transition for every coordinate and what it writes. On the paper's GPU SPARC is\n"
        "%.1fx to %.1fx faster.\n",
        r->B, r->width, r->paper_speedup[0], r->paper_speedup[1]);
    printf("%6s %10s %10s %10s %9s\n", "T", "SPARC", "ns/mode", "RG-LRU", "speed-up");
  }
  char sparc[TIME_TEXT], rglru[TIME_TEXT];
  printf("%6d %10s %10.3f %10s %8.2fx", r->T, time_text(r->sparc, sparc), r->ns_per_mode, time_text(r->rglru, rglru),
         r->rglru / r->sparc);
  print_scaled(r->measured_T, r->T);
}

static void print_mixer_head(const bench_paper_mixer *r) {
  static const struct {
    char panel;
    const char *text;
  } heads[] = {
      {'b',
       "Panel (b), mixer forward and backward, 8192 tokens, width 2048. Ratios are SPARC / RG-LRU. The paper times\n"
       "mixers without their projections. Memory is that of the full shape without projection: by the sizes that the\n"
       "library states, and the growth of the process."},
      {'c', "Panel (c), the same at width 2560."},
      {'d', "Panel (d), T = 2048, width 2048, by batch size. The paper's memory ratio: 0.85 to 0.87."}};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (heads[i].panel == r->panel) puts(heads[i].text);
  printf("%16s %27s %27s %17s\n", "", "without projection", "with projection", "memory ratio");
  printf("%4s %5s %5s", "B", "T", "width");
  for (int i = 0; i < BENCH_PROJECTIONS; i++) printf(" %9s %9s %7s", "SPARC", "RG-LRU", "ratio");
  printf(" %8s %8s  %s\n", "sizes", "measured", "GPU ratio");
}

static void print_paper_mixer(void *context, const bench_paper_mixer *r) {
  static const char *const tables[] = {"b", "c", "d"};
  const bench_paper_cost *bare = r->cost[BENCH_NO_PROJECTION];
  if (opens(context, tables[r->panel - 'b'])) print_mixer_head(r);
  printf("%4d %5d %5d", r->B, r->T, r->width);
  for (int i = 0; i < BENCH_PROJECTIONS; i++) {
    const double sparc = r->cost[i][BENCH_SPARC].seconds, rglru = r->cost[i][BENCH_RGLRU].seconds;
    char a[TIME_TEXT], b[TIME_TEXT];
    printf(" %9s %9s %7.2f", time_text(sparc, a), time_text(rglru, b), sparc / rglru);
  }
  column(8, 2, bare[BENCH_SPARC].bytes / bare[BENCH_RGLRU].bytes, "");
  column(8, 2, bare[BENCH_SPARC].measured_bytes / bare[BENCH_RGLRU].measured_bytes, "");
  printf("  %-12s", r->paper_ratio);
  print_scaled(r->measured_T, r->T);
}

static void print_naive_head(const bench_paper_naive *r) {
  printf(
      "Naive and accelerated SPARC, %s. CPU: one thread, from pre-activations and controls; naive scaled up\n"
      "from %d tokens, accelerated %s. proj.: speed-up of both directions with the content projection\n"
      "(sgemm) on both sides, both scaled up from %d tokens.\n",
      strcmp(r->table, "batch") == 0 ? "T = 2048 by batch size" : "8192 tokens", r->B * r->naive_T,
      r->fused_T < r->T ? "scaled up too" : "at the full shape", r->B * r->projected_T);
  printf("%14s %24s %24s %7s %22s %22s\n", "", "CPU, backward", "CPU, f+b", "CPU f+b", "paper's GPU, backward",
         "paper's GPU, f+b");
  printf("%2s %5s %5s", "B", "T", "width");
  for (int i = 0; i < 2; i++) printf(" %8s %7s %7s", "naive ms", "accel.", "ratio");
  printf(" %7s", "proj.");
  for (int i = 0; i < 2; i++) printf(" %7s %6s %7s", "naive", "accel.", "ratio");
  putchar('\n');
}

static void print_paper_naive(void *context, const bench_paper_naive *r) {
  if (opens(context, r->table)) print_naive_head(r);
  const double ours[2][2] = {{1e3 * r->naive_backward, 1e3 * r->fused_backward},
                             {1e3 * r->naive_both, 1e3 * r->fused_both}};
  const double *const gpu[2] = {r->paper_backward, r->paper_both};
  printf("%2d %5d %5d", r->B, r->T, r->width);
  for (int i = 0; i < 2; i++) printf(" %8.1f %7.2f %6.1fx", ours[i][0], ours[i][1], ours[i][0] / ours[i][1]);
  printf(" %6.2fx", r->projected_naive / r->projected_ours);
  for (int i = 0; i < 2; i++) printf(" %7.1f %6.3f %6.1fx", gpu[i][0], gpu[i][1], gpu[i][0] / gpu[i][1]);
  putchar('\n');
}

/* ---- tables of devices ---------------------------------------------------------------------------- */

/* a value as text: its own, a number, or a dash */
const char *bench_entry_text(const bench_entry *value, char text[BENCH_ENTRY_TEXT]) {
  if (value->text) return value->text;
  if (isfinite(value->number))
    snprintf(text, BENCH_ENTRY_TEXT, "%.*f", value->digits, value->number);
  else
    snprintf(text, BENCH_ENTRY_TEXT, "-");
  return text;
}

/* wide enough for the head and for most numbers */
static int width_of(const bench_entry *entry) {
  enum { NARROWEST = 5, WIDE = 9 };
  const int head = (int)strlen(entry->head), least = entry->text ? entry->digits : entry->digits > 0 ? WIDE : NARROWEST;
  return head > least ? head : least;
}

static void print_list(const bench_row *r) {
  char text[BENCH_ENTRY_TEXT];
  for (size_t i = 0; i < r->values; i++) printf("  %-34s %s\n", r->value[i].head, bench_entry_text(&r->value[i], text));
}

static void print_row(void *context, const bench_row *r) {
  char text[BENCH_ENTRY_TEXT];
  if (opens(context, r->table)) {
    puts(r->title);
    for (size_t i = 0; i < r->values && !r->list; i++)
      printf("%s%*s", i ? "  " : "", width_of(&r->value[i]), r->value[i].head);
    if (!r->list) putchar('\n');
  }
  if (r->list) {
    print_list(r);
    return;
  }
  for (size_t i = 0; i < r->values; i++)
    printf("%s%*s", i ? "  " : "", width_of(&r->value[i]), bench_entry_text(&r->value[i], text));
  putchar('\n');
}

/* ---- plans --------------------------------------------------------------------------------------- */

static void print_plan_loop(void *context, const bench_plan_loop *r) {
  if (opens(context, r->problem))
    printf("%s, %s: loops over tiles, timed tile by tile on one thread\n%7s  %-20s %4s %7s %7s %10s %10s\n", r->problem,
           r->kernel, "threads", "stage", "loop", "tiles", "share", "all tiles", "its share");
  char all[TIME_TEXT], share[TIME_TEXT];
  printf("%7d  %-20s %4d %7zu %7zu %10s %10s\n", r->threads, r->stage, r->loop, r->tiles, r->share,
         time_text(r->seconds, all), time_text(r->share_seconds, share));
}

static void print_plan_total(void *context, const bench_plan_total *r) {
  (void)context;
  char all[TIME_TEXT], share[TIME_TEXT];
  printf("%7d  %-41s %10s %10s  at most %.1f times as fast\n", r->threads, "all loops", time_text(r->seconds, all),
         time_text(r->share_seconds, share), r->seconds / r->share_seconds);
}

const bench_output bench_text = {
    .problem = print_problem,
    .limit = print_limit,
    .goal = print_goal,
    .tally = print_tally,
    .training = print_training,
    .rl = print_rl,
    .growth = print_growth,
    .paper_scan = print_paper_scan,
    .paper_mixer = print_paper_mixer,
    .paper_naive = print_paper_naive,
    .plan_loop = print_plan_loop,
    .plan_total = print_plan_total,
    .row = print_row,
    .failed = bench_report_failure,
    .stopped = bench_output_lost,
};
