/* SPDX-License-Identifier: MIT */
/* suites.c: what the suites share, and the suite of the machine's limits. */
#include "bench/suites/suites.h"

#include "bench/limits.h"

/* ---- shared ------------------------------------------------------------------------------------- */

exit_code bench_report_failure(const bench_settings *settings, sparc_status status) {
  cli_message(settings->who, "%s", sparc_error());
  return cli_exit_code(status);
}

exit_code bench_suite_open(bench_settings *settings, const char *const *texts, const int *threads,
                           const char *const *kernels_of, size_t count, bench_problem *problems, bench_case *cases) {
  for (size_t i = 0; i < count; i++) {
    const int wanted = threads && threads[i] > 0 ? threads[i] : settings->threads;
    sparc_status status = bench_parse(texts[i], NULL, &problems[i]);
    if (status == SPARC_OK)
      status = bench_open(&settings->machine, &problems[i], wanted, kernels_of ? kernels_of[i] : NULL, &cases[i]);
    if (status == SPARC_OK) continue;
    bench_suite_close(cases, i);
    return bench_report_failure(settings, status);
  }
  return EXIT_DONE;
}

void bench_suite_close(bench_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) bench_close(&cases[i]);
}

/* ---- limits ------------------------------------------------------------------------------------- */

/* products of the sizes that mixers need: inputs times weights, the gradients of both, and narrow ones */
static const char *const limit_products[] = {
    "sgemm:M8192:N1024:K2048:tb", "sgemm:M8192:N2048:K1024", "sgemm:M1024:N2048:K8192:ta",
    "sgemm:M32768:N64:K64",       "sgemm:M32768:N64:K64:tb", "sgemm:M32768:N128:K64",
    "sgemm:M32768:N128:K64:tb",   "sgemm:M64:N64:K2048:ta",  "sgemm:M64:N64:K32768:ta",
};

enum { LIMIT_PRODUCTS = sizeof limit_products / sizeof *limit_products, LIMIT_ROWS = 1 + LEVELS + LIMIT_PRODUCTS };

/* row 0: multiply-adds; then the levels of memory; then the products */
static void limit_text(size_t row, int threads, char *text, size_t capacity) {
  if (row == 0)
    snprintf(text, capacity, "peak");
  else if (row <= LEVELS)
    snprintf(text, capacity, "stream:KiB%zu", bench_level_kib((bench_level)(row - 1), threads));
  else
    snprintf(text, capacity, "%s", limit_products[row - 1 - LEVELS]);
}

/* one row of the table for a number of threads: its rates in the order of the stages */
static exit_code measure_limit(bench_settings *settings, size_t row, int threads, double rate[CASE_STAGES],
                               const char *names[CASE_STAGES], size_t *count) {
  char text[PROBLEM_TEXT];
  const char *texts = text;
  bench_problem problem;
  bench_case c;
  limit_text(row, threads, text, sizeof text);
  exit_code code = bench_suite_open(settings, &texts, &threads, NULL, 1, &problem, &c);
  if (code != EXIT_DONE) return code;
  sparc_status status = bench_run(&c, 1, settings->seconds, 1);
  if (status == SPARC_OK && settings->json) status = bench_report_case(settings, &c);
  if (status != SPARC_OK) code = bench_report_failure(settings, status);
  *count = c.stages;
  for (size_t i = 0; i < c.stages; i++) {
    const bench_stage *stage = &c.stage[i];
    names[i] = stage->name;
    rate[i] = 1e-9 * (stage->flops > 0 ? stage->flops : stage->bytes) / stage->task.seconds;
  }
  bench_close(&c);
  return code;
}

static void print_limit(size_t row, const char *stage, const double *rate, size_t columns) {
  char name[PROBLEM_TEXT];
  if (row == 0 || row > LEVELS)
    limit_text(row, 1, name, sizeof name);
  else
    snprintf(name, sizeof name, "%s, %s", bench_level_name((bench_level)(row - 1)), stage);
  printf("%-30s", name);
  for (size_t i = 0; i < columns; i++) printf(" %9.1f", rate[i]);
  printf("  %s\n", row == 0 || row > LEVELS ? "GFLOP/s" : "GB/s");
}

exit_code bench_suite_limits(bench_settings *settings) {
  const int threads[] = {1, settings->threads};
  const size_t columns = settings->threads > 1 ? 2 : 1;
  if (!settings->json) {
    printf("%-30s %9s", "limit", "1 thread");
    if (columns > 1) printf(" %9d", settings->threads);
    putchar('\n');
  }
  for (size_t row = 0; row < LIMIT_ROWS; row++) {
    double rate[2][CASE_STAGES];
    const char *names[CASE_STAGES];
    size_t stages = 0;
    if (row > 0 && row <= LEVELS && bench_level_kib((bench_level)(row - 1), settings->threads) == 0) continue;
    for (size_t i = 0; i < columns; i++) {
      exit_code code = measure_limit(settings, row, threads[i], rate[i], names, &stages);
      if (code != EXIT_DONE) return code;
    }
    for (size_t s = 0; s < stages && !settings->json; s++)
      print_limit(row, names[s], (double[]){rate[0][s], columns > 1 ? rate[1][s] : 0}, columns);
  }
  return EXIT_DONE;
}
