/* SPDX-License-Identifier: MIT */
/* support_network.h: networks around any cell with random numbers, and all ways to run them.
 *
 * A trial holds doubles that float holds exactly, so that its errors are those of float arithmetic alone. Its loss is
 * the sum of cotangent * y + y^2 / 2 over the outputs that count, and of cotangent * state_last. Runners return doubles
 * whatever precision they compute in.
 */
#ifndef SPARC_TESTS_SUPPORT_NETWORK_H
#define SPARC_TESTS_SUPPORT_NETWORK_H

#include "sparc/network.h"
#include "sparc/random.h"

#include <stdbool.h>

enum { TRIAL_INPUTS = 2, TRIAL_OUTPUTS = 3, TRIAL_HEADS = 5 };

/* sizes that a kind accepts at H = 4 */
const char *small_options(const char *kind);

/* one head of TRIAL_OUTPUTS after layers of width 5 with a linear embedding, or after the bare cell */
sparc_network_config plain_config(const char *kind, int layers, sparc_head_input head);
/* the network of a policy: tanh embedding, bare cell, policy features, an actor and a critic with hidden layers on
 * every step, and constants */
sparc_network_config policy_config(const char *kind);
/* one head of each kind, some with hidden layers, after what plain_config puts before it */
sparc_network_config many_heads_config(const char *kind, int layers);

typedef struct trial {
  sparc_network *network;
  sparc_network_config config;
  sparc_network_sizes n;
  int B, T;
  size_t outputs;                         /* numbers of all heads in a sequence call */
  size_t first[TRIAL_HEADS + 1];          /* of each head among them */
  double *p, *x;                          /* (params), (B, T, inputs) */
  double *mask, *state0;                  /* (B, T), (B, state); NULL where the trial has none */
  double *cotangent, *cotangent_of_state; /* (outputs), (B, state) or NULL: state_last is not requested */
  int *lengths;                           /* (B) */
  const sparc_dropout *dropout;
  char text[160];
} trial;

/* what a trial has besides inputs */
enum { WITH_LENGTHS = 1, WITH_MASK = 2, WITH_STATE0 = 4, WITH_STATE_LAST = 8 };
trial make_trial(const sparc_network_config *config, int B, int T, unsigned with);
void free_trial(trial *t);

/* 1 where the loss counts output i, 0 after the end of a sequence */
double trial_counts(const trial *t, size_t i);
double trial_loss(const trial *t, const double *output, const double *state_last, double *doutput);

typedef struct outcome {
  double *output, *state_last;    /* (outputs), (B, state) */
  double *dparams, *dx, *dstate0; /* (params), (B, T, inputs), (B, state) */
  double loss;
} outcome;

outcome make_outcome(const trial *t);
void free_outcome(outcome *o);

/* forward and backward over the whole sequences */
void run_network_f32(const trial *t, int threads, outcome *o);
void run_network_f64(const trial *t, int threads, outcome *o);

/* the same streams step by step, all of them in one call or one after the other: outputs (of heads that read the mean
 * or the last step, those of the last step) and state_last */
void run_network_steps_f32(const trial *t, bool together, int threads, outcome *o);
void run_network_steps_f64(const trial *t, bool together, int threads, outcome *o);

/* the same streams with exact sensitivities: also dparams, the sum over steps of the gradients for doutput, and dx */
void run_network_rtrl_f32(const trial *t, sparc_encoder_gradient encoder, const double *doutput, outcome *o);
void run_network_rtrl_f64(const trial *t, sparc_encoder_gradient encoder, const double *doutput, outcome *o);

/* the loss alone, with memory that is kept over many calls */
typedef struct runner {
  sparc_network_plan *plan;
  double *prepared, *doutput;
  void *work;
} runner;

runner make_runner(const trial *t, int threads);
void free_runner(runner *r);
double forward_network_f64(const trial *t, runner *r, outcome *o);

/* doubles that are floats */
double *draw_numbers(sparc_random *stream, size_t n, double stddev);
double greatest(size_t n, const double *values);

#endif
