/* SPDX-License-Identifier: MIT */
/* output_json.c: the benchmark's records as JSON, one object a line. */
#include "cli/bench/output.h"

#include <math.h>

/* null for what does not apply */
static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* the steps that were measured, if fewer than the row is about */
static json_t *steps(int measured, int T) { return measured < T ? json_integer(measured) : json_null(); }

static void put(void *context, json_t *object) {
  const bench_printer *printer = context;
  cli_json_line(printer->who, object);
}

/* ---- problems ----------------------------------------------------------------------------------- */

static void put_stage(bench_printer *printer, const bench_result *r, const bench_figures *f) {
  json_t *line = json_pack(
      "{s:s, s:s, s:i, s:s, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:f, s:f, s:I, s:I, s:s}", "problem",
      r->problem, "stage", f->stage, "threads", r->threads, "kernel", r->kernel, "H",
      r->H > 0 ? json_integer(r->H) : json_null(), "seconds", f->seconds, "ns_per_mode", number(f->ns_per_mode),
      "gb_per_s", number(f->gb_per_s), "gflop_per_s", number(f->gflop_per_s), "of_copy", number(f->of_copy), "of_triad",
      number(f->of_triad), "of_peak", number(f->of_peak), "level", r->level, "passes", f->passes, "noise", f->noise,
      "e_norm", r->e_norm, "memory_bytes", (json_int_t)r->memory_bytes, "memory_measured_bytes",
      (json_int_t)r->measured_bytes, "memory_formula", r->memory_formula);
  if (line && printer->old) {
    const double old = bench_old_seconds(printer, r, f);
    json_object_set_new(line, "old_seconds", number(old));
    json_object_set_new(line, "ratio", number(f->seconds / old));
  }
  put(printer, line);
}

static void put_problem(void *context, const bench_result *result) {
  for (size_t i = 0; i < result->stages; i++) put_stage(context, result, &result->stage[i]);
}

/* ---- suites ------------------------------------------------------------------------------------- */

static void put_limit(void *context, const bench_limit *limit) {
  for (size_t i = 0; i < limit->count; i++) put_problem(context, &limit->columns[i]);
}

static void put_goal(void *context, const bench_goal *g) {
  static const char *const units[] = {[BENCH_RATIO] = "ratio", [BENCH_PERCENT] = "percent", [BENCH_E_NORM] = "E_norm"};
  const bench_printer *printer = context;
  json_t *problems = json_array();
  for (size_t i = 0; i < g->count; i++) json_array_append_new(problems, json_string(g->problems[i]));
  put(context, json_pack("{s:s, s:o, s:o, s:o, s:s, s:b, s:s, s:s?, s:o, s:b}", "goal", g->name, "value",
                         number(g->value), "demand", number(g->demand), "stretch", number(g->stretch), "verdict",
                         bench_verdict_name(g->verdict), "at_most", g->at_most, "unit", units[g->unit], "bound",
                         g->bound, "problems", problems, "quick", printer->settings.quick));
}

/* the objects are complete */
static void put_tally(void *context, const bench_tally *tally) { (void)context, (void)tally; }

static void put_training(void *context, const bench_training *t) {
  const bench_printer *printer = context;
  char goal[96];
  snprintf(goal, sizeof goal, "arithmetic bound / training step, width %d, batch %d, T %d", t->width, t->B, t->T);
  put(context,
      json_pack("{s:s, s:f, s:f, s:n, s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:i, s:b}", "goal", goal, "value", t->reached,
                "demand", t->demand, "stretch", "verdict",
                bench_verdict_name(t->reached >= t->demand ? BENCH_DEMAND : BENCH_MISSED), "at_most", 0, "unit",
                "percent", "step_seconds", t->step, "products_seconds", t->products, "scans_seconds", t->scans,
                "update_seconds", t->update, "threads", t->threads, "quick", printer->settings.quick));
}

static void put_rl(void *context, const bench_rl *r) {
  const bench_printer *printer = context;
  put(context,
      json_pack(
          "{s:s, s:s, s:s, s:b, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, "
          "s:I, s:f, s:o, s:o, s:f, s:s, s:b}",
          "rl", r->task, "cell", r->cell, "traces", bench_rl_method(r), "auto", r->is_default, "H", r->H, "epochs",
          r->epochs, "threads", r->threads, "kernel", r->kernel, "steps_per_second", r->steps_per_second,
          "environment_seconds", r->environment, "collection_seconds", r->collection, "collection_bound_seconds",
          r->collection_bound, "update_seconds", r->update, "update_bound_seconds", r->update_bound,
          "update_bytes_seconds", r->update_bytes, "update_products_seconds", r->update_products, "update_cell_seconds",
          r->update_cell, "ratio", r->ratio, "stored_ratio", r->stored_ratio, "ratio_demand", r->ratio_demand,
          "memory_bytes", (json_int_t)r->memory_bytes, "memory_measured_bytes", (json_int_t)r->measured_bytes,
          "memory_demand", r->memory_demand, "jax_steps_per_second", number(r->rival), "speedup",
          number(r->steps_per_second / r->rival), "speedup_demand", r->rival_demand, "verdict",
          bench_verdict_name(r->reached ? BENCH_DEMAND : BENCH_MISSED), "quick", printer->settings.quick));
}

static void put_growth(void *context, const bench_growth *g) {
  const bench_printer *printer = context;
  const char axis[] = {g->axis, '\0'};
  for (size_t i = 0; i < g->rows; i++) {
    const bench_growth_row *r = &g->row[i];
    put(context,
        json_pack(
            "{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:o, s:s, s:b, s:b, s:i, s:s, s:b}",
            "growth", g->kind, "axis", axis, "problem", r->problem, "B", r->B, "T", r->T, "H", r->H, "mode_steps",
            r->mode_steps, "seconds", r->seconds, "ns_per_mode_step", 1e9 * r->seconds / r->mode_steps, "line_seconds",
            r->line_seconds, "deviation", r->deviation, "memory_deviation", number(r->memory_deviation), "memory_bytes",
            r->memory_bytes, "memory_measured_bytes", number(r->measured_bytes), "memory_formula", r->memory_formula,
            "line_within", fabs(r->deviation) <= g->deviation_allowed, "memory_within",
            !(fabs(r->memory_deviation) > g->memory_allowed), "threads", 1, "kernel", r->kernel, "quick",
            printer->settings.quick));
  }
}

/* ---- the paper's ---------------------------------------------------------------------------------- */

static void put_paper_scan(void *context, const bench_paper_scan *r) {
  put(context,
      json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:[ff], s:o}", "table", "paper panel a", "B", r->B, "T",
                r->T, "width", r->width, "threads", r->threads, "sparc_seconds", r->sparc, "ns_per_mode",
                r->ns_per_mode, "rglru_seconds", r->rglru, "speedup", r->rglru / r->sparc, "paper_gpu_speedup_range",
                r->paper_speedup[0], r->paper_speedup[1], "scaled_from_T", steps(r->measured_T, r->T)));
}

/* an object without the content projection, and one with it */
static void put_paper_mixer(void *context, const bench_paper_mixer *r) {
  char table[] = "paper panel ?";
  table[sizeof table - 2] = r->panel;
  for (int i = 0; i < BENCH_PROJECTIONS; i++) {
    const bench_paper_cost *sparc = &r->cost[i][BENCH_SPARC], *rglru = &r->cost[i][BENCH_RGLRU];
    put(context, json_pack("{s:s, s:i, s:i, s:i, s:i, s:b, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}",
                           "table", table, "B", r->B, "T", r->T, "width", r->width, "threads", r->threads, "projection",
                           i == BENCH_PROJECTION, "sparc_seconds", sparc->seconds, "rglru_seconds", rglru->seconds,
                           "time_ratio", sparc->seconds / rglru->seconds, "sparc_memory_bytes", number(sparc->bytes),
                           "rglru_memory_bytes", number(rglru->bytes), "memory_ratio",
                           number(sparc->bytes / rglru->bytes), "sparc_memory_measured_bytes",
                           number(sparc->measured_bytes), "rglru_memory_measured_bytes", number(rglru->measured_bytes),
                           "memory_measured_ratio", number(sparc->measured_bytes / rglru->measured_bytes),
                           "paper_gpu_time_ratio", r->paper_ratio, "scaled_from_T", steps(r->measured_T, r->T)));
  }
}

static void put_paper_naive(void *context, const bench_paper_naive *r) {
  char table[32];
  snprintf(table, sizeof table, "paper naive %s", r->table);
  put(context,
      json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:o, s:i, s:f, s:f, s:f, s:f}",
                "table", table, "B", r->B, "T", r->T, "width", r->width, "threads", 1, "naive_backward_seconds",
                r->naive_backward, "backward_seconds", r->fused_backward, "backward_speedup",
                r->naive_backward / r->fused_backward, "naive_seconds", r->naive_both, "seconds", r->fused_both,
                "speedup", r->naive_both / r->fused_both, "projected_naive_seconds", r->projected_naive,
                "projected_seconds", r->projected_ours, "naive_scaled_from_T", r->naive_T, "scaled_from_T",
                steps(r->fused_T, r->T), "projected_scaled_from_T", r->projected_T, "paper_gpu_naive_backward_ms",
                r->paper_backward[0], "paper_gpu_backward_ms", r->paper_backward[1], "paper_gpu_naive_ms",
                r->paper_both[0], "paper_gpu_ms", r->paper_both[1]));
}

static void put_row(void *context, const bench_row *r) {
  json_t *line = json_pack("{s:s}", "table", r->table);
  for (size_t i = 0; i < r->values && line; i++)
    json_object_set_new(line, r->value[i].key,
                        r->value[i].text ? json_string(r->value[i].text) : number(r->value[i].number));
  put(context, line);
}

static void put_plan_loop(void *context, const bench_plan_loop *r) {
  put(context, json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:f, s:f}", "plan", r->problem, "kernel", r->kernel,
                         "stage", r->stage, "threads", r->threads, "loop", r->loop, "tiles", (json_int_t)r->tiles,
                         "share", (json_int_t)r->share, "seconds", r->seconds, "share_seconds", r->share_seconds));
}

static void put_plan_total(void *context, const bench_plan_total *r) {
  put(context, json_pack("{s:s, s:s, s:i, s:f, s:f}", "plan_total", r->problem, "kernel", r->kernel, "threads",
                         r->threads, "seconds", r->seconds, "share_seconds", r->share_seconds));
}

const bench_output bench_json = {
    .problem = put_problem,
    .limit = put_limit,
    .goal = put_goal,
    .tally = put_tally,
    .training = put_training,
    .rl = put_rl,
    .growth = put_growth,
    .paper_scan = put_paper_scan,
    .paper_mixer = put_paper_mixer,
    .paper_naive = put_paper_naive,
    .plan_loop = put_plan_loop,
    .plan_total = put_plan_total,
    .row = put_row,
    .failed = bench_report_failure,
    .stopped = bench_output_lost,
};
