/* SPDX-License-Identifier: MIT */
/* jacobian.c: the derivative of one step's state by its input [eq:app_upstream_derivative].
 *
 * An outer slot is driven by c x^T because its parameters are the row W of a pre-activation W x: f c, with f the factor
 * of the sink, is the derivative of the state by that pre-activation, and f c W its share of dh/dx. So the drivers and
 * the table of sinks give the whole Jacobian wherever the input reaches the state only through such rows.
 * Where one does not, one cotangent per state coordinate goes back through the step.
 */
#include "base/error.h"
#include "base/threads.h"
#include "kernels/gemm_impl.h"
#include "rtrl/rtrl_impl.h"

#include <string.h>

/* ---- from drivers -------------------------------------------------------------------------------- */

static const projection *projection_of(const sparc_cell *cell, const rtrl_sink *sink) {
  for (int i = 0; i < cell->projections; i++)
    if (cell->project[i].weight == cell->block[sink->block].offset) return &cell->project[i];
  return NULL;
}

static bool has_sink(const sparc_cell *cell, const projection *p) {
  for (size_t s = 0; s < cell->sinks; s++)
    if (cell->sink[s].outer && projection_of(cell, &cell->sink[s]) == p) return true;
  return false;
}

bool TYPED(sinks_cover_input)(const sparc_cell *cell) {
  for (int i = 0; i < cell->projections; i++)
    if (!cell->project[i].output_only && !has_sink(cell, &cell->project[i])) return false;
  return !cell->direct_input;
}

/* out (D) += c W for row k of the projections, which lies in panels */
static void add_projected_row(const sparc_cell *cell, const real *weight_out, size_t k, real c, real *restrict out) {
  const size_t D = (size_t)cell->D, N = (size_t)cell->projected, panel = prepared_panel(cell->kernels, D);
  for (size_t first = 0; first < D; first += panel) {
    const size_t n = D - first < panel ? D - first : panel;
    const real *w = weight_out + first * N + k * n;
    for (size_t i = 0; i < n; i++) out[first + i] += c * w[i];
  }
}

void TYPED(add_sink_row)(const sparc_cell *cell, const TYPED(prepared_view) * weights, const rtrl_sink *sink, size_t j,
                         real c, real *restrict out) {
  if (c == 0) return; /* half of the content's drivers has one part only */
  if (sink->row == ROW_SHARED) {
    const real *w = weights->constants + sink->weights;
    for (size_t d = 0; d < (size_t)cell->D; d++) out[d] += c * w[d];
    return;
  }
  const size_t column = (size_t)projection_of(cell, sink)->column + TYPED(sink_row_of)(sink, j);
  add_projected_row(cell, weights->weight_out, column, c, out);
}

static void add_sink_rows(const sparc_cell *cell, const TYPED(prepared_view) * weights, const rtrl_sink *sink,
                          const real *outer, real *jacobian) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, parts = (size_t)cell->parts;
  const real *c = outer + (size_t)sink->slot * parts * H;
  for (size_t j = 0; j < H; j++) {
    if (parts == 1) {
      TYPED(add_sink_row)(cell, weights, sink, j, c[j], jacobian + j * D);
      continue;
    }
    real f_re, f_im;
    TYPED(sink_factor_of)(cell, sink, weights->constants, j, &f_re, &f_im);
    TYPED(add_sink_row)(cell, weights, sink, j, f_re * c[j] - f_im * c[H + j], jacobian + j * D);
    TYPED(add_sink_row)(cell, weights, sink, j, f_re * c[H + j] + f_im * c[j], jacobian + (H + j) * D);
  }
}

static void from_drivers(const sparc_cell *cell, const TYPED(prepared_view) * weights, const TYPED(tape_view) * tape,
                         real *jacobian) {
  TYPED(compute_drivers)(cell, weights->constants, tape);
  memset(jacobian, 0, cell->sizes.state * (size_t)cell->D * sizeof(real));
  for (size_t s = 0; s < cell->sinks; s++)
    if (cell->sink[s].outer) add_sink_rows(cell, weights, &cell->sink[s], tape->outer, jacobian);
}

/* ---- from cotangents ----------------------------------------------------------------------------- */

static void from_cotangents(const sparc_cell *cell, const TYPED(prepared_view) * weights, const TYPED(tape_view) * tape,
                            real *jacobian) {
  const size_t S = cell->sizes.state, D = (size_t)cell->D;
  memset(tape->dpre, 0, (size_t)cell->pre * sizeof(real)); /* columns of the output alone have no cotangent here */
  for (size_t i = 0; i < S; i++) {
    memset(tape->dstate, 0, S * sizeof(real));
    tape->dstate[i] = 1;
    TYPED(local_gradient)(cell, weights, tape, NULL, NULL, jacobian + i * D);
  }
}

/* ---- the call ------------------------------------------------------------------------------------ */

sparc_status PUBLIC(sparc_input_jacobian)(const sparc_cell *cell, const real *prepared, real *tape, real *jacobian) {
  if (!cell || !prepared || !tape || !jacobian)
    return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !prepared ? "prepared" : !tape ? "tape" : "jacobian");
  sparc_status status = TYPED(check_rtrl)(cell, tape);
  if (status != SPARC_OK) return status;
  const TYPED(prepared_view) weights = TYPED(view_prepared)(cell, prepared);
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  const uint64_t mode = flush_denormals_begin();
  if (TYPED(sinks_cover_input)(cell))
    from_drivers(cell, &weights, &view, jacobian);
  else
    from_cotangents(cell, &weights, &view, jacobian);
  flush_denormals_end(mode);
  return SPARC_OK;
}
