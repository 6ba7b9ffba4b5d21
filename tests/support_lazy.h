/* SPDX-License-Identifier: MIT */
/* support_lazy.h: streams that learn online by one schedule, stepwise or lazily, for the tests of lazy RTRL. */
#ifndef SPARC_TESTS_SUPPORT_LAZY_H
#define SPARC_TESTS_SUPPORT_LAZY_H

#include "support.h"

typedef struct schedule {
  int chunk;         /* K; 0: stepwise */
  bool move_params;  /* parameters change every third step */
  bool skip_losses;  /* two steps of five have no loss */
  bool flush_early;  /* flushed at every eleventh step besides */
  bool take_turns;   /* the second half of the steps is stepwise again */
  bool spoil_traces; /* the trace is not finite when the stream starts; a mask of 0 must drop it */
} schedule;

/* y, state_last, dx, dparams, and the trace of the last stream */
void run_schedule_f32(const problem *p, const schedule *s, result *r);
void run_schedule_f64(const problem *p, const schedule *s, result *r);

#endif
