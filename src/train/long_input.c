/* SPDX-License-Identifier: MIT */
/* long_input.c: prediction of one sequence at a time in chunks of CHUNK steps. A head on the mean needs no special case:
 * its sum is part of the state, so its output after the last chunk is that of the whole sequence. */
#include "train/long_input.h"

#include "base/error.h"
#include "base/memory.h"
#include "nn/head.h"
#include "nn/losses.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024 };

typedef struct long_input {
  const float *prepared;
  const example_source *source;
  sparc_network_plan *plan; /* of one sequence of CHUNK steps */
  bool steps;               /* a head on every step, else one output for a sequence */
  bool values;              /* regression, else classification */
  size_t C, K, state_size;  /* channels, outputs, state size */
  float *x, *output;        /* of a chunk */
  float *state[2];          /* before and after a chunk, alternating */
  void *work, *memory;
} long_input;

static void carve(arena *a, long_input *in) {
  in->x = arena_take(a, CHUNK * in->C, sizeof *in->x);
  in->output = arena_take(a, (in->steps ? CHUNK : 1) * in->K, sizeof *in->output);
  for (int i = 0; i < 2; i++) in->state[i] = arena_take(a, in->state_size, sizeof *in->state[i]);
  in->work = arena_take(a, sparc_network_plan_work_bytes(in->plan, SPARC_FLOAT32), 1);
}

static sparc_status allocate(long_input *in) {
  arena size = arena_measure();
  carve(&size, in);
  in->memory = sparc_alloc(size.used);
  if (!in->memory) return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of a long sequence's chunk", size.used);
  arena block = arena_over(in->memory, size.used);
  carve(&block, in);
  return SPARC_OK;
}

static sparc_status check_finite(const char *what, int index, int first, const float *values, size_t count,
                                 size_t row) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i]))
      return fail(SPARC_NOT_FINITE, "example %d: %s %zu of step %zu is %g, expected a finite number", index, what,
                  i % row, (size_t)first + i / row, (double)values[i]);
  return SPARC_OK;
}

/* steps first to first + n of a sequence; the state goes from state[0] to state[1] unless the sequence ends here */
static sparc_status run_chunk(long_input *in, const sparc_sample *e, int index, int first, int n) {
  const size_t count = (size_t)n * in->C;
  source_inputs(in->source, e, first, n, in->x);
  memset(in->x + count, 0, (CHUNK * in->C - count) * sizeof *in->x);
  sparc_status status = check_finite("channel", index, first, in->x, count, in->C);
  if (status != SPARC_OK) return status;
  const sparc_network_sequence sequence = {.x = in->x,
                                           .state0 = first ? in->state[0] : NULL,
                                           .lengths = &n,
                                           .outputs = &in->output,
                                           .state_last = n == CHUNK ? in->state[1] : NULL};
  status = sparc_network_forward(in->plan, in->prepared, &sequence, in->work);
  if (status != SPARC_OK) return status;
  return check_finite("output", index, first, in->output, (in->steps ? (size_t)n : 1) * in->K, in->K);
}

/* converts rows of the network's outputs to those of the model: numbers in their units, or probabilities */
static void deliver(const long_input *in, size_t rows, float *outputs) {
  if (in->values) {
    memcpy(outputs, in->output, rows * in->K * sizeof *outputs);
    restore_targets(in->source, rows, in->K, outputs);
    return;
  }
  const int any = 0; /* a label */
  for (size_t i = 0; i < rows; i++)
    cross_entropy_f32(1, in->K, in->output + i * in->K, &any, outputs + i * in->K, NULL);
}

static sparc_status run_sequence(long_input *in, int index, float *outputs) {
  const sparc_sample e = in->source->samples->at(in->source->samples->source, index);
  const int longest = in->source->samples->longest;
  if (!e.x) return fail(SPARC_INVALID, "example %d: x is NULL, expected its values", index);
  if (e.length < 1 || e.length > longest)
    return fail(SPARC_INVALID, "example %d: length is %d, expected 1 to %d", index, e.length, longest);
  for (int first = 0; first < e.length; first += CHUNK) {
    const int n = e.length - first < CHUNK ? e.length - first : CHUNK;
    const sparc_status status = run_chunk(in, &e, index, first, n);
    if (status != SPARC_OK) return status;
    if (in->steps) deliver(in, (size_t)n, outputs + (size_t)first * in->K);
    float *after = in->state[1];
    in->state[1] = in->state[0];
    in->state[0] = after;
  }
  if (in->steps)
    memset(outputs + (size_t)e.length * in->K, 0, (size_t)(longest - e.length) * in->K * sizeof *outputs);
  else
    deliver(in, 1, outputs);
  return SPARC_OK;
}

sparc_status long_input_predict(const sparc_network *network, const float *prepared, const example_source *source,
                                int threads, float *outputs) {
  const sparc_network_config config = sparc_network_config_of(network);
  long_input in = {.prepared = prepared,
                   .source = source,
                   .steps = head_has_steps(config.head),
                   .values = head_learns_values(config.head, source->numbers),
                   .C = (size_t)config.inputs,
                   .K = (size_t)config.head->outputs,
                   .state_size = sparc_network_sizes_of(network).state};
  const size_t row = in.K * (in.steps ? (size_t)source->samples->longest : 1);
  sparc_status status = sparc_network_plan_create(network, 1, CHUNK, threads, &in.plan);
  if (status == SPARC_OK) status = allocate(&in);
  for (int i = 0; i < source->samples->count && status == SPARC_OK; i++)
    status = run_sequence(&in, i, outputs + (size_t)i * row);
  sparc_network_plan_free(in.plan);
  sparc_free(in.memory);
  return status;
}
