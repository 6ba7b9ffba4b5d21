/* SPDX-License-Identifier: MIT */
/* reference.c: the loop over streams and time around the cells of this folder.
 *
 * Forward keeps every state. Backward walks from the last step to the first and hands each cell the state before
 * the step, the cotangent of the output and the cotangent that arrives from later steps: BPTT and nothing else.
 */
#include "cells/reference/reference.h"

#include "base/error.h"
#include "cells/reference/reference_cell.h"

#include <string.h>

static const reference_cell *const reference_cells[] = {
    &reference_sparc,    &reference_rtu,    &reference_lru, &reference_rglru,
    &reference_gateloop, &reference_mamba3, &reference_gru,
};

typedef struct buffers {
  double *states;  /* (T + 1, S) of one stream: before the first step, after each step */
  double *dstate;  /* (S) */
  double *dx;      /* (D) */
  double *dparams; /* (P), replaces a NULL of the caller */
  double *scratch; /* of one step */
} buffers;

static const reference_cell *find_reference(const char *kind) {
  for (size_t i = 0; i < sizeof reference_cells / sizeof *reference_cells; i++)
    if (strcmp(reference_cells[i]->kind, kind) == 0) return reference_cells[i];
  return NULL;
}

size_t reference_modes(const sparc_cell *cell) {
  const reference_cell *reference = find_reference(cell->about->kind.name);
  return reference && reference->modes ? reference->modes(cell) : (size_t)cell->H;
}

bool reference_has(const sparc_cell *cell) {
  const reference_cell *reference = find_reference(cell->about->kind.name);
  return reference && (!reference->supports || reference->supports(cell));
}

static sparc_status validate(const sparc_cell *cell, const reference_run *run) {
  if (!cell) return fail(SPARC_INVALID, "cell is NULL, expected a cell");
  if (!run) return fail(SPARC_INVALID, "run is NULL, expected a reference_run");
  if (run->B < 1) return fail(SPARC_INVALID, "B is %d, expected at least 1 stream", run->B);
  if (run->T < 1) return fail(SPARC_INVALID, "T is %d, expected at least 1 step", run->T);
  if (!run->params) return fail(SPARC_INVALID, "params is NULL, expected the cell's parameters");
  if (!run->x) return fail(SPARC_INVALID, "x is NULL, expected inputs of shape [B][T][D]");
  if (!run->y) return fail(SPARC_INVALID, "y is NULL, expected an array of outputs of shape [B][T][O]");
  return SPARC_OK;
}

/* copy, or zeros where the source is absent */
static void copy_or_zero(double *target, const double *source, size_t n) {
  if (source)
    memcpy(target, source, n * sizeof *target);
  else
    memset(target, 0, n * sizeof *target);
}

static reference_input input_at(const sparc_cell *cell, const reference_run *run, const buffers *buf, size_t b,
                                size_t t) {
  size_t token = b * (size_t)run->T + t;
  return (reference_input){
      .cell = cell,
      .params = run->params,
      .state = buf->states + t * cell->sizes.state,
      .x = run->x + token * (size_t)cell->D,
      .mask = run->mask ? run->mask[token] : 1,
      .scratch = buf->scratch,
  };
}

/* modes (B, T, modes) may be NULL */
static void stream_forward(const sparc_cell *cell, const reference_cell *reference, const reference_run *run,
                           const buffers *buf, size_t b, sparc_mode *modes) {
  size_t T = (size_t)run->T, S = cell->sizes.state, O = cell->sizes.output;
  copy_or_zero(buf->states, run->state0 ? run->state0 + b * S : NULL, S);
  for (size_t t = 0; t < T; t++) {
    reference_input in = input_at(cell, run, buf, b, t);
    reference->step(&in, buf->states + (t + 1) * S, run->y + (b * T + t) * O);
    if (modes) reference->inspect(&in, buf->states + (t + 1) * S, modes + (b * T + t) * reference_modes(cell));
  }
  if (run->state_last) memcpy(run->state_last + b * S, buf->states + T * S, S * sizeof(double));
}

static void stream_backward(const sparc_cell *cell, const reference_cell *reference, const reference_run *run,
                            const buffers *buf, size_t b) {
  size_t T = (size_t)run->T, D = (size_t)cell->D, S = cell->sizes.state, O = cell->sizes.output;
  double *dparams = run->dparams ? run->dparams : buf->dparams;
  copy_or_zero(buf->dstate, run->dstate_last ? run->dstate_last + b * S : NULL, S);
  for (size_t t = T; t-- > 0;) {
    reference_input in = input_at(cell, run, buf, b, t);
    memset(buf->dx, 0, D * sizeof(double));
    reference->step_backward(&in, run->dy + (b * T + t) * O, buf->dstate, dparams, buf->dx);
    if (run->dx) memcpy(run->dx + (b * T + t) * D, buf->dx, D * sizeof(double));
  }
  if (run->dstate0) memcpy(run->dstate0 + b * S, buf->dstate, S * sizeof(double));
}

static sparc_status evaluate(const sparc_cell *cell, const reference_run *run, sparc_mode *modes) {
  sparc_status status = validate(cell, run);
  if (status) return status;
  const reference_cell *reference = find_reference(cell->about->kind.name);
  if (!reference || !reference_has(cell))
    return fail(SPARC_UNSUPPORTED, "cell '%s' with %s has no reference, expected one of those in src/cells/reference",
                cell->about->kind.name, *cell->options_text ? cell->options_text : "no options");

  /* one block for everything */
  size_t states = ((size_t)run->T + 1) * cell->sizes.state, S = cell->sizes.state, D = (size_t)cell->D;
  size_t total = states + S + D + cell->sizes.params + reference->scratch_count(cell);
  double *memory = sparc_alloc(total * sizeof(double));
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory for %zu numbers of the reference's scratch", total);
  buffers buf = {.states = memory};
  buf.dstate = buf.states + states;
  buf.dx = buf.dstate + S;
  buf.dparams = buf.dx + D;
  buf.scratch = buf.dparams + cell->sizes.params;

  for (size_t b = 0; b < (size_t)run->B; b++) {
    stream_forward(cell, reference, run, &buf, b, modes);
    if (run->dy) stream_backward(cell, reference, run, &buf, b);
  }
  sparc_free(memory);
  return SPARC_OK;
}

sparc_status reference_evaluate(const sparc_cell *cell, const reference_run *run) { return evaluate(cell, run, NULL); }

sparc_status reference_inspect(const sparc_cell *cell, const reference_run *run, sparc_mode *modes) {
  return evaluate(cell, run, modes);
}
