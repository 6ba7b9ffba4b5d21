/* SPDX-License-Identifier: MIT */
/* limits_suite.c: `sparc bench limits`: what this machine can do at most, on one thread and on all. */
#include "bench/limits.h"
#include "bench/suites/suites.h"

#include <stdio.h>

/* products of the sizes that mixers need: inputs times weights, the gradients of both, and narrow ones */
static const char *const products[] = {
    "sgemm:M8192:N1024:K2048", "sgemm:M8192:N2048:K1024", "sgemm:M1024:N2048:K8192:ta", "sgemm:M32768:N64:K64",
    "sgemm:M32768:N128:K64",   "sgemm:M64:N64:K2048:ta",  "sgemm:M64:N64:K32768:ta",
};

enum { PRODUCTS = sizeof products / sizeof *products, ROWS = 1 + LEVELS + PRODUCTS, COLUMNS = 2 };

/* row 0: multiply-adds; then the levels of memory; then the products */
static bool is_level(size_t row) { return row > 0 && row <= LEVELS; }
static bench_level level_of(size_t row) { return (bench_level)(row - 1); }

static void row_text(size_t row, int threads, char *text, size_t capacity) {
  if (row == 0)
    snprintf(text, capacity, "peak");
  else if (is_level(row))
    snprintf(text, capacity, "stream:KiB%zu", bench_level_kib(level_of(row), threads));
  else
    snprintf(text, capacity, "%s", products[row - 1 - LEVELS]);
}

static bool measure_row(bench_session *session, size_t row) {
  const int threads[COLUMNS] = {1, session->settings.threads};
  const size_t columns = session->settings.threads > 1 ? COLUMNS : 1;
  char text[COLUMNS][PROBLEM_TEXT];
  bench_problem problem[COLUMNS];
  bench_case c[COLUMNS];
  bench_result result[COLUMNS];
  for (size_t i = 0; i < columns; i++) {
    row_text(row, threads[i], text[i], sizeof text[i]);
    const char *one = text[i];
    if (!bench_open_all(session, &one, &threads[i], 1, &problem[i], &c[i])) return false;
    sparc_status status = bench_run(&c[i], 1, session->settings.seconds, 1);
    if (status == SPARC_OK) status = bench_describe(session, &c[i], &result[i]);
    bench_close(&c[i]);
    if (status != SPARC_OK) return bench_failed(session, status);
  }
  const bench_limit limit = {
      .level = is_level(row) ? bench_level_name(level_of(row)) : NULL, .columns = result, .count = columns};
  session->output->limit(session->context, &limit);
  return true;
}

bool suite_limits(bench_session *session) {
  for (size_t row = 0; row < ROWS && !session->output->stopped(session->context); row++) {
    if (is_level(row) && bench_level_kib(level_of(row), session->settings.threads) == 0) continue;
    if (!measure_row(session, row)) return false;
  }
  return true;
}
