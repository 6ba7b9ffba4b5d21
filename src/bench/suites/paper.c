/* SPDX-License-Identifier: MIT */
/* paper.c: `sparc bench paper`: the shapes of the paper's efficiency figure [fig:gpu_efficiency] and of its two
 * tables against a naive implementation [tab:naive_fixed_tokens, tab:naive_batch], on this CPU, beside the paper's
 * figures from its GPU.
 *
 * Not the same experiment, and labelled so: float32 here, BF16 inputs and outputs there; a CPU here, a GPU there. The
 * mixers include the content projection. Costs are linear in the number of steps, so what would take too long runs with
 * fewer steps and is scaled up; the table says from how many.
 */
#include "base/error.h"
#include "bench/suites/suites.h"
#include "sparc/sequence.h"

#include <math.h>
#include <string.h>

enum { RGLRU_BLOCK = 256 };

/* the most tokens that are really run, so that all of it takes some three minutes on two cores of 80 GFLOP/s */
static int mixer_tokens(const bench_settings *settings) { return settings->quick ? 256 : 2048; }
static int naive_tokens(const bench_settings *settings) { return settings->quick ? 64 : 256; }

/* as many steps of B streams as the limit on tokens allows */
static int steps_within(int B, int T, int tokens) {
  const int steps = tokens / B > 0 ? tokens / B : 1;
  return steps < T ? steps : T;
}

static void heading(const bench_settings *settings, const char *text) {
  if (!settings->json) printf("\n%s\n", text);
}

static void print_extrapolation(int measured, int T) {
  if (measured < T)
    printf("  scaled from T = %d\n", measured);
  else
    putchar('\n');
}

static json_t *json_steps(int measured, int T) { return measured < T ? json_integer(measured) : json_null(); }

/* opens the problems, times them side by side, and hands over the cases; they are closed here when this fails */
static exit_code measure(bench_settings *settings, const char *const *texts, const int *threads, size_t count,
                         bench_problem *problems, bench_case *cases) {
  exit_code code = bench_suite_open(settings, texts, threads, NULL, count, problems, cases);
  if (code != EXIT_DONE) return code;
  sparc_status status = bench_run(cases, count, settings->seconds, 1);
  if (status == SPARC_OK) return EXIT_DONE;
  bench_suite_close(cases, count);
  return bench_report_failure(settings, status);
}

/* ---- panel (a): scans --------------------------------------------------------------------------- */

static exit_code scan_row(bench_settings *settings, int T) {
  enum { B = 8, WIDTH = 1024 };
  char sparc[PROBLEM_TEXT], rglru[PROBLEM_TEXT];
  const char *texts[] = {sparc, rglru};
  bench_problem problems[2];
  bench_case cases[2];
  const int steps = steps_within(B, T, settings->quick ? T / 4 : 65536);
  snprintf(sparc, sizeof sparc, "fused:B%d:T%d:H%d", (int)B, steps, WIDTH / 2);
  snprintf(rglru, sizeof rglru, "fused:B%d:T%d:H%d:cell=rglru:block=%d", (int)B, steps, (int)WIDTH, (int)RGLRU_BLOCK);
  exit_code code = measure(settings, texts, NULL, 2, problems, cases);
  if (code != EXIT_DONE) return code;
  const double up = (double)T / steps;
  const double ours = up * bench_seconds(&cases[0], "forward"), theirs = up * bench_seconds(&cases[1], "forward");
  const double ns = 1e9 * bench_seconds(&cases[0], "forward") / cases[0].stage[0].modes;
  bench_suite_close(cases, 2);
  if (settings->json) {
    cli_json_line(settings->who,
                  json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:[ff], s:o}", "table", "paper panel a", "B",
                            (int)B, "T", T, "width", (int)WIDTH, "threads", settings->threads, "sparc_seconds", ours,
                            "ns_per_mode", ns, "rglru_seconds", theirs, "speedup", theirs / ours,
                            "paper_gpu_speedup_range", 3.1, 4.7, "scaled_from_T", json_steps(steps, T)));
    return EXIT_DONE;
  }
  char a[TIME_TEXT], b[TIME_TEXT];
  printf("%6d %10s %10.3f %10s %8.2fx", T, bench_time_text(ours, a), ns, bench_time_text(theirs, b), theirs / ours);
  print_extrapolation(steps, T);
  return EXIT_DONE;
}

static exit_code panel_scans(bench_settings *settings) {
  static const int lengths[] = {2048, 4096, 8192, 16384};
  exit_code code = EXIT_DONE;
  heading(settings,
          "Panel (a), scan, B = 8, width 1024. CPU: the fused kernel, which generates coefficients and writes as it\n"
          "goes; RG-LRU's starts from its gates. Paper (GPU, scan after coefficient generation): 3.1x to 4.7x faster.");
  if (!settings->json) printf("%6s %10s %10s %10s %9s\n", "T", "SPARC", "ns/mode", "RG-LRU", "speed-up");
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths && code == EXIT_DONE; i++)
    code = scan_row(settings, lengths[i]);
  return code;
}

/* ---- panels (b), (c), (d): mixers ---------------------------------------------------------------- */

typedef struct mixer_row {
  int B, T, width;
  const char *paper; /* SPARC / RG-LRU as the paper gives it */
} mixer_row;

static const mixer_row panel_b[] = {
    {4, 2048, 2048, "0.79 to 0.82"}, {2, 4096, 2048, "0.79 to 0.82"}, {1, 8192, 2048, "0.79 to 0.82"}};
static const mixer_row panel_c[] = {
    {4, 2048, 2560, "0.66 to 0.68"}, {2, 4096, 2560, "0.66 to 0.68"}, {1, 8192, 2560, "0.66 to 0.68"}};
static const mixer_row panel_d[] = {{1, 2048, 2048, "1.42"},       {2, 2048, 2048, "1.21"},
                                    {4, 2048, 2048, "below 1"},    {8, 2048, 2048, "about 0.6"},
                                    {16, 2048, 2048, "about 0.6"}, {32, 2048, 2048, "about 0.6"}};

/* bytes of one forward and backward at the full shape, by the sizes that the library states */
static double full_memory(const bench_problem *problem, const mixer_row *row, int H) {
  const sparc_cell_config config = {problem->cell, row->width, H, problem->options};
  sparc_cell *cell;
  sparc_plan *plan;
  double bytes = NAN;
  if (sparc_cell_create(&config, &cell) != SPARC_OK) return NAN;
  if (sparc_plan_create(cell, row->B, row->T, NULL, &plan) == SPARC_OK) {
    const sparc_sizes sizes = sparc_cell_sizes(cell);
    const double tokens = (double)row->B * (double)row->T;
    bytes = 4 * (2 * tokens * ((double)row->width + (double)sizes.output) + 2 * (double)sizes.params +
                 (double)sizes.prepared) +
            (double)sparc_plan_saved_bytes(plan) + (double)sparc_plan_work_bytes(plan);
    sparc_plan_free(plan);
  }
  sparc_cell_free(cell);
  return bytes;
}

static exit_code run_mixer_row(bench_settings *settings, const char *panel, const mixer_row *row) {
  const int steps = steps_within(row->B, row->T, mixer_tokens(settings));
  char sparc[PROBLEM_TEXT], rglru[PROBLEM_TEXT];
  const char *texts[] = {sparc, rglru};
  bench_problem problems[2];
  bench_case cases[2];
  snprintf(sparc, sizeof sparc, "mixer:B%d:T%d:D%d:pieces", row->B, steps, row->width);
  snprintf(rglru, sizeof rglru, "mixer:B%d:T%d:D%d:pieces:cell=rglru:block=%d", row->B, steps, row->width,
           (int)RGLRU_BLOCK);
  exit_code code = measure(settings, texts, NULL, 2, problems, cases);
  if (code != EXIT_DONE) return code;
  const double up = (double)row->T / steps;
  const double ours = up * bench_seconds(&cases[0], "forward+backward");
  const double theirs = up * bench_seconds(&cases[1], "forward+backward");
  bench_suite_close(cases, 2);
  const double memory = full_memory(&problems[0], row, row->width / 2) / full_memory(&problems[1], row, row->width);
  if (settings->json) {
    cli_json_line(settings->who, json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:o, s:s, s:o}", "table", panel,
                                           "B", row->B, "T", row->T, "width", row->width, "threads", settings->threads,
                                           "sparc_seconds", ours, "rglru_seconds", theirs, "time_ratio", ours / theirs,
                                           "memory_ratio", bench_json_number(memory), "paper_gpu_time_ratio",
                                           row->paper, "scaled_from_T", json_steps(steps, row->T)));
    return EXIT_DONE;
  }
  char a[TIME_TEXT], b[TIME_TEXT];
  printf("%4d %6d %6d %10s %10s %7.2f %7.2f   %-14s", row->B, row->T, row->width, bench_time_text(ours, a),
         bench_time_text(theirs, b), ours / theirs, memory, row->paper);
  print_extrapolation(steps, row->T);
  return EXIT_DONE;
}

static exit_code panel_mixers(bench_settings *settings, const char *panel, const char *text, const mixer_row *rows,
                              size_t count) {
  exit_code code = EXIT_DONE;
  heading(settings, text);
  if (!settings->json)
    printf("%4s %6s %6s %10s %10s %7s %7s   %-14s\n", "B", "T", "width", "SPARC", "RG-LRU", "ratio", "memory",
           "GPU ratio");
  for (size_t i = 0; i < count && code == EXIT_DONE; i++) code = run_mixer_row(settings, panel, &rows[i]);
  return code;
}

/* ---- the naive implementation -------------------------------------------------------------------- */

typedef struct naive_row {
  int B, T, width;
  double backward[2], both[2]; /* milliseconds on the paper's GPU: naive, accelerated */
} naive_row;

static const naive_row fixed_tokens[] = {
    {4, 2048, 2048, {238.730, 1.225}, {358.822, 2.617}},  {2, 4096, 2048, {479.999, 1.289}, {721.780, 2.510}},
    {1, 8192, 2048, {967.711, 0.911}, {1469.467, 1.690}}, {4, 2048, 2560, {236.191, 1.081}, {358.953, 1.824}},
    {2, 4096, 2560, {489.609, 1.105}, {740.985, 1.846}},  {1, 8192, 2560, {969.447, 1.091}, {1500.917, 1.847}},
};

static const naive_row batch_sizes[] = {
    {1, 2048, 2048, {228.853, 0.853}, {344.970, 1.900}},  {2, 2048, 2048, {240.696, 0.942}, {361.919, 2.026}},
    {4, 2048, 2048, {236.798, 0.890}, {355.549, 1.541}},  {8, 2048, 2048, {239.711, 1.710}, {365.954, 2.548}},
    {16, 2048, 2048, {244.437, 3.044}, {366.240, 4.570}}, {32, 2048, 2048, {265.053, 5.614}, {390.188, 8.542}},
};

/* seconds at the full shape */
typedef struct naive_times {
  int naive_T, fused_T, dense_T; /* steps that were run */
  double naive_backward, naive_both, fused_backward, fused_both, dense_naive, dense_ours;
} naive_times;

/* from pre-activations: naive and fused, each on one thread */
static exit_code measure_bare(bench_settings *settings, const naive_row *row, naive_times *out) {
  char naive[PROBLEM_TEXT], fused[PROBLEM_TEXT];
  const char *texts[] = {naive, fused};
  bench_problem problems[2];
  bench_case cases[2];
  out->naive_T = steps_within(row->B, row->T, naive_tokens(settings));
  out->fused_T = settings->quick ? steps_within(row->B, row->T, mixer_tokens(settings)) : row->T;
  snprintf(naive, sizeof naive, "naive:B%d:T%d:H%d", row->B, out->naive_T, row->width / 2);
  snprintf(fused, sizeof fused, "fused:B%d:T%d:H%d", row->B, out->fused_T, row->width / 2);
  exit_code code = measure(settings, texts, (int[]){1, 1}, 2, problems, cases);
  if (code != EXIT_DONE) return code;
  const double up = (double)row->T / out->naive_T, fused_up = (double)row->T / out->fused_T;
  out->naive_backward = up * bench_seconds(&cases[0], "backward");
  out->naive_both = up * bench_seconds(&cases[0], "forward+backward");
  out->fused_backward = fused_up * bench_seconds(&cases[1], "backward");
  out->fused_both = out->fused_backward + fused_up * bench_seconds(&cases[1], "forward");
  bench_suite_close(cases, 2);
  return EXIT_DONE;
}

/* with the content projection on both sides, each on one thread */
static exit_code measure_dense(bench_settings *settings, const naive_row *row, naive_times *out) {
  char naive[PROBLEM_TEXT], mixer[PROBLEM_TEXT];
  const char *texts[] = {naive, mixer};
  bench_problem problems[2];
  bench_case cases[2];
  out->dense_T = steps_within(row->B, row->T, naive_tokens(settings));
  snprintf(naive, sizeof naive, "naive:B%d:T%d:H%d:D%d", row->B, out->dense_T, row->width / 2, row->width);
  snprintf(mixer, sizeof mixer, "mixer:B%d:T%d:D%d:pieces", row->B, out->dense_T, row->width);
  exit_code code = measure(settings, texts, (int[]){1, 1}, 2, problems, cases);
  if (code != EXIT_DONE) return code;
  const double up = (double)row->T / out->dense_T;
  out->dense_naive = up * bench_seconds(&cases[0], "forward+backward");
  out->dense_ours = up * bench_seconds(&cases[1], "forward+backward");
  bench_suite_close(cases, 2);
  return EXIT_DONE;
}

static void json_naive(const bench_settings *settings, const char *table, const naive_row *row, const naive_times *t) {
  cli_json_line(
      settings->who,
      json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:o, s:i, s:f, s:f, s:f, s:f}",
                "table", table, "B", row->B, "T", row->T, "width", row->width, "threads", 1, "naive_backward_seconds",
                t->naive_backward, "backward_seconds", t->fused_backward, "backward_speedup",
                t->naive_backward / t->fused_backward, "naive_seconds", t->naive_both, "seconds", t->fused_both,
                "speedup", t->naive_both / t->fused_both, "projected_naive_seconds", t->dense_naive,
                "projected_seconds", t->dense_ours, "naive_scaled_from_T", t->naive_T, "scaled_from_T",
                json_steps(t->fused_T, row->T), "projected_scaled_from_T", t->dense_T, "paper_gpu_naive_backward_ms",
                row->backward[0], "paper_gpu_backward_ms", row->backward[1], "paper_gpu_naive_ms", row->both[0],
                "paper_gpu_ms", row->both[1]));
}

static exit_code run_naive_row(bench_settings *settings, const char *table, const naive_row *row) {
  naive_times t;
  exit_code code = measure_bare(settings, row, &t);
  if (code == EXIT_DONE) code = measure_dense(settings, row, &t);
  if (code != EXIT_DONE) return code;
  if (settings->json) {
    json_naive(settings, table, row, &t);
    return EXIT_DONE;
  }
  const double ours[2][2] = {{1e3 * t.naive_backward, 1e3 * t.fused_backward},
                             {1e3 * t.naive_both, 1e3 * t.fused_both}};
  printf("%2d %5d %5d", row->B, row->T, row->width);
  for (int i = 0; i < 2; i++) printf(" %8.1f %7.2f %6.1fx", ours[i][0], ours[i][1], ours[i][0] / ours[i][1]);
  printf(" %6.2fx", t.dense_naive / t.dense_ours);
  const double *const gpu[2] = {row->backward, row->both};
  for (int i = 0; i < 2; i++) printf(" %7.1f %6.3f %6.1fx", gpu[i][0], gpu[i][1], gpu[i][0] / gpu[i][1]);
  putchar('\n');
  return EXIT_DONE;
}

static exit_code table_naive(bench_settings *settings, const char *table, const char *text, const naive_row *rows,
                             size_t count) {
  exit_code code = EXIT_DONE;
  heading(settings, text);
  if (!settings->json) {
    printf("%14s %24s %24s %7s %22s %22s\n", "", "CPU, backward", "CPU, f+b", "CPU f+b", "paper's GPU, backward",
           "paper's GPU, f+b");
    printf("%2s %5s %5s", "B", "T", "width");
    for (int i = 0; i < 2; i++) printf(" %8s %7s %7s", "naive ms", "accel.", "ratio");
    printf(" %7s", "proj.");
    for (int i = 0; i < 2; i++) printf(" %7s %6s %7s", "naive", "accel.", "ratio");
    putchar('\n');
  }
  for (size_t i = 0; i < count && code == EXIT_DONE; i++) code = run_naive_row(settings, table, &rows[i]);
  if (!settings->json && code == EXIT_DONE)
    printf(
        "CPU naive: scaled up from %d tokens; CPU accelerated: %s; proj.: f+b speed-up with the content\n"
        "projection (sgemm) on both sides, both scaled up from %d tokens. One thread throughout.\n",
        naive_tokens(settings), settings->quick ? "scaled up too" : "the full shape", naive_tokens(settings));
  return code;
}

/* ---- all ---------------------------------------------------------------------------------------- */

#define ROWS(array) array, sizeof(array) / sizeof *(array)

exit_code bench_suite_paper(bench_settings *settings) {
  if (!settings->json)
    printf(
        "CPU: this machine, float32, %d %s unless a table says otherwise. GPU: the paper's NVIDIA RTX PRO 6000\n"
        "Blackwell, BF16 inputs and outputs, FP32 recurrence. Mixers include the content projection;\n"
        "RG-LRU has gates in blocks of %d.%s\n",
        settings->threads, settings->threads == 1 ? "thread" : "threads", (int)RGLRU_BLOCK,
        settings->quick ? " Quick: short sequences, scaled up." : "");
  exit_code code = panel_scans(settings);
  if (code == EXIT_DONE)
    code = panel_mixers(settings, "paper panel b",
                        "Panel (b), mixer forward+backward, 8192 tokens, width 2048. Ratios are SPARC / RG-LRU.",
                        ROWS(panel_b));
  if (code == EXIT_DONE)
    code = panel_mixers(settings, "paper panel c", "Panel (c), the same at width 2560.", ROWS(panel_c));
  if (code == EXIT_DONE)
    code = panel_mixers(settings, "paper panel d",
                        "Panel (d), T = 2048, width 2048, by batch size. The paper's memory ratio: 0.85 to 0.87.",
                        ROWS(panel_d));
  if (code == EXIT_DONE)
    code = table_naive(settings, "paper naive fixed tokens",
                       "Naive and accelerated SPARC at 8192 tokens; CPU from pre-activations and controls.",
                       ROWS(fixed_tokens));
  if (code == EXIT_DONE)
    code = table_naive(settings, "paper naive batch",
                       "Naive and accelerated SPARC at T = 2048 by batch size; CPU from pre-activations and controls.",
                       ROWS(batch_sizes));
  return code;
}
