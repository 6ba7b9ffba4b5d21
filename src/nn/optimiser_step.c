/* SPDX-License-Identifier: MIT */
/* optimiser_step.c: norm, clipping, Adam, moving average and preparation of a network, and checks. */
#include "nn/optimiser_step.h"

#include "base/error.h"
#include "nn/stages_impl.h"

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- what is refused ------------------------------------------------------------------------------ */

const char *parameter_block(const sparc_network *network, size_t parameter) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(network, &blocks);
  while (blocks > 1 && block[blocks - 1].offset > parameter) blocks--;
  return block[blocks - 1].name;
}

size_t greatest_parameter(const sparc_network *network, const real *values) {
  size_t spans, best = SIZE_MAX;
  const sparc_span *span = sparc_network_spans(network, &spans);
  for (size_t s = 0; s < spans; s++) {
    if (span[s].group == SPARC_FROZEN) continue;
    for (size_t i = span[s].offset; i < span[s].offset + span[s].size; i++) {
      if (!isfinite(values[i])) return i;
      if (best == SIZE_MAX || fabs((double)values[i]) > fabs((double)values[best])) best = i;
    }
  }
  return best;
}

static sparc_status check_norm(const optimiser_step *s, double norm) {
  const double largest = sqrt((double)FLT_MAX); /* the second moment holds squares in float */
  if (isfinite(norm) && (s->max_norm > 0 ? fmin(norm, s->max_norm) : norm) <= largest) return SPARC_OK;
  const size_t at = greatest_parameter(s->network, s->gradient);
  const char *block = parameter_block(s->network, at);
  if (!isfinite(s->gradient[at]))
    return fail(SPARC_NOT_FINITE, "the gradient of %s is not finite at %s %ld", block, s->event, s->number);
  return fail(SPARC_NOT_FINITE,
              "the gradient of %s %ld has the norm %g, too large to be squared; its greatest entry is %g, in %s; clip "
              "it",
              s->event, s->number, norm, (double)s->gradient[at], block);
}

/* ---- the step ------------------------------------------------------------------------------------- */

/* the mean over all updates at first, then an exponential moving average */
static void move_average(const optimiser_step *s, size_t count) {
  const double n = (double)s->update, decay = fmin(s->average_decay, n / (n + 9));
  for (size_t i = 0; s->average && i < count; i++)
    s->average[i] = (real)((double)s->params[i] + decay * ((double)s->average[i] - (double)s->params[i]));
}

static sparc_status prepare(const optimiser_step *s) {
  sparc_status status = PUBLIC(sparc_network_prepare)(s->network, s->params, s->prepared);
  if (status == SPARC_OK && s->average)
    status = PUBLIC(sparc_network_prepare)(s->network, s->average, s->prepared_average);
  return status;
}

static void keep(const optimiser_step *s, size_t count) {
  if (!s->before) return;
  memcpy(s->before, s->params, count * sizeof *s->before);
  memcpy(s->before + count, s->moments, 2 * count * sizeof *s->before);
  if (s->average) memcpy(s->before + 3 * count, s->average, count * sizeof *s->before);
}

/* fails with the message of the original failure */
static sparc_status undo(const optimiser_step *s, size_t count, sparc_status status) {
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  if (s->before) {
    memcpy(s->params, s->before, count * sizeof *s->before);
    memcpy(s->moments, s->before + count, 2 * count * sizeof *s->before);
    if (s->average) memcpy(s->average, s->before + 3 * count, count * sizeof *s->before);
    (void)prepare(s);
  }
  return fail(status, "%s %ld leads to impossible parameters: %s", s->event, s->number, sentence);
}

sparc_status optimiser_take_step(const optimiser_step *s, double *norm) {
  const TYPED(stages) *stages = stages_of(&cpu_executor);
  const size_t count = sparc_network_sizes_of(s->network).params;
  size_t spans;
  const sparc_span *span = sparc_network_spans(s->network, &spans);
  *norm = stages->gradient_clip(span, spans, count, s->threads, s->max_norm, s->gradient);
  sparc_status status = check_norm(s, *norm);
  if (status != SPARC_OK) return status;
  keep(s, count);
  status = stages->adam(&s->adam, span, spans, count, s->threads, s->update, s->learning_rate, s->gradient, s->moments,
                        s->params);
  if (status == SPARC_OK) move_average(s, count);
  if (status == SPARC_OK) status = prepare(s);
  return status == SPARC_OK ? SPARC_OK : undo(s, count, status);
}
