/* SPDX-License-Identifier: MIT */
/* check_report.c: errors, tolerances and output of `sparc check`.
 *
 * Tolerances are those of the golden vectors: in float 3e-6 for outputs and 1e-5 for gradients and traces, in
 * double 1e-12. A comparison passes only if E_norm <= tolerance is true, so NaN never passes.
 */
#include "cli/check/check_report.h"

#include "base/hash.h"
#include "cli/cli.h"
#include "io/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- judging ------------------------------------------------------------------------------------ */

/* a NaN among the results makes both errors NaN, which is within no tolerance */
static check_error measure_error(const double *got, const double *want, size_t n) {
  double error = 0, scale = 1;
  for (size_t i = 0; i < n; i++) {
    double e = fabs(got[i] - want[i]);
    if (isnan(e)) return (check_error){NAN, NAN};
    error = fmax(error, e);
    scale = fmax(scale, fabs(want[i]));
  }
  return (check_error){error, error / scale};
}

static double tolerance_of(const check_report *report, const vector_slot *slot) {
  if (report->tolerance >= 0) return report->tolerance;
  if (report->in_double) return 1e-12;
  return slot->array == ARRAY_OUT ? 3e-6 : 1e-5;
}

/* the larger error; NaN is larger than any number */
static double worse(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }

/* ---- lines -------------------------------------------------------------------------------------- */

enum { PATH_WIDTH = 12, TENSOR_WIDTH = 30 };

static json_t *json_error(double error) { return isfinite(error) ? json_real(error) : json_null(); }

static void print_json(const check_report *report, const vector_file *v, const check_path *path,
                       const vector_slot *slot, check_error error, double tolerance, bool ok) {
  cli_json_line(report->who, json_pack("{s:o, s:s, s:s, s:o, s:o, s:f, s:b}", "file", json_text(v->path), "path",
                                       path->name, "tensor", slot->name, "e_abs", json_error(error.absolute), "e_norm",
                                       json_error(error.normalised), "tolerance", tolerance, "ok", ok));
}

static void print_row(check_report *report, const vector_file *v, const check_path *path, const vector_slot *slot,
                      check_error error, bool ok) {
  if (!report->has_heading) {
    printf("%-*s  %-*s  %-*s  %9s  %9s  %s\n", report->file_width, "file", PATH_WIDTH, "path", TENSOR_WIDTH, "tensor",
           "E_abs", "E_norm", "verdict");
    report->has_heading = true;
  }
  const char *verdict = ok ? "ok" : "FAIL", *colour = ok ? "\033[32m" : "\033[31m";
  cli_text(v->path, report->file_width);
  printf("  %-*s  %-*s  %9.2e  %9.2e  %s%s%s\n", PATH_WIDTH, path->name, TENSOR_WIDTH, slot->name, error.absolute,
         error.normalised, report->colour ? colour : "", verdict, report->colour ? "\033[0m" : "");
}

/* over the floats of all results, in the order of the arrays */
static uint64_t hash_results(const vector_file *v, const path_result *result) {
  uint64_t hash = HASH_START;
  for (int a = FIRST_RESULT; a < ARRAYS; a++) {
    for (size_t i = 0; result->has[a] && i < v->length[a]; i++) {
      const float value = (float)result->array[a][i];
      hash = hash_bytes(hash, &value, sizeof value);
    }
  }
  return hash;
}

static void print_hash(const vector_file *v, const check_path *path, const path_result *result) {
  const char *slash = strrchr(v->path, '/');
  printf("hash  ");
  cli_text(slash ? slash + 1 : v->path, 0);
  printf("  %s  %016" PRIx64 "\n", path->name, hash_results(v, result));
}

void report_begin(check_report *report) {
  report->files++;
  memset(report->worst, 0, sizeof report->worst);
}

void report_path(check_report *report, const vector_file *vector, const check_path *path, const path_result *result) {
  if (report->hashes) print_hash(vector, path, result);
  for (size_t i = 0; i < vector->slots; i++) {
    const vector_slot *slot = &vector->slot[i];
    if (slot->array < FIRST_RESULT || !result->has[slot->array]) continue;
    const double *got = result->array[slot->array] + slot->offset, *want = vector->array[slot->array] + slot->offset;
    check_error error = measure_error(got, want, slot->size), *worst = &report->worst[i];
    *worst = (check_error){worse(worst->absolute, error.absolute), worse(worst->normalised, error.normalised)};
    const double tolerance = tolerance_of(report, slot);
    const bool ok = error.normalised <= tolerance;
    report->compared++;
    report->beyond += !ok;
    if (report->quiet && ok) continue;
    if (report->json)
      print_json(report, vector, path, slot, error, tolerance, ok);
    else
      print_row(report, vector, path, slot, error, ok);
  }
}

void report_summary(const check_report *report) {
  if (report->json) return;
  printf("%zu tensors compared in %zu files, %zu beyond tolerance\n", report->compared, report->files, report->beyond);
}

/* ---- beside the paper --------------------------------------------------------------------------- */

/* [tab:naive_correctness] */
static const struct {
  const char *quantity, *tensor;
  check_error paper;
} paper_table[] = {
    {"Forward output", "out", {5.66e-7, 5.66e-7}},
    {"Input gradient", "grad.x", {2.03e-6, 5.28e-7}},
    {"Log-decay", "grad.param.log_decay", {4.77e-6, 1.17e-6}},
    {"Log-phase", "grad.param.log_freq", {7.63e-5, 6.58e-7}},
    {"Phase controller", "grad.param.ctrl_phase", {6.68e-6, 7.09e-7}},
    {"Retention controller", "grad.param.ctrl_retention", {3.05e-5, 1.43e-6}},
    {"Log-write-gain", "grad.param.log_gain", {1.43e-6, 3.32e-7}},
    {"Write-phase response", "grad.param.gate_phase", {2.38e-7, 2.38e-7}},
    {"Write-retention response", "grad.param.gate_retention", {1.27e-7, 1.27e-7}},
};

enum { PAPER_ROWS = sizeof paper_table / sizeof *paper_table };

static const check_error *worst_of(const check_report *report, const vector_file *v, const char *tensor) {
  for (size_t i = 0; i < v->slots; i++)
    if (strcmp(v->slot[i].name, tensor) == 0) return &report->worst[i];
  return NULL;
}

/* the tensors and the size for which the paper states its own agreement, in float */
static bool is_paper_setting(const check_report *report, const vector_file *v) {
  bool all = true;
  for (size_t i = 0; i < PAPER_ROWS; i++) all = all && worst_of(report, v, paper_table[i].tensor);
  return all && !report->in_double && v->B == 2 && v->T == 64 && sparc_cell_config_of(v->cell).D == 32;
}

void report_end(const check_report *report, const vector_file *vector) {
  if (report->json || report->quiet || !is_paper_setting(report, vector)) return;
  printf("\nNumerical agreement, ours (worst over paths) beside the paper's\n");
  printf("%-26s  %20s  %20s\n", "", "ours", "the paper's");
  printf("%-26s  %9s  %9s  %9s  %9s\n", "quantity", "E_abs", "E_norm", "E_abs", "E_norm");
  for (size_t i = 0; i < PAPER_ROWS; i++) {
    const check_error *ours = worst_of(report, vector, paper_table[i].tensor), *paper = &paper_table[i].paper;
    printf("%-26s  %9.2e  %9.2e  %9.2e  %9.2e\n", paper_table[i].quantity, ours->absolute, ours->normalised,
           paper->absolute, paper->normalised);
  }
  printf("The paper's figures are for its own random draw of this size, on a GPU with chunks of 32.\n\n");
}
