/* SPDX-License-Identifier: MIT */
/* gae.h: generalised advantage estimation over one stream of a rollout. */
#ifndef SPARC_RL_GAE_H
#define SPARC_RL_GAE_H

#include <stddef.h>

/* delta_t = r_t + discount V_{t+1} (1 - start_{t+1}) - V_t
 * adv_t   = delta_t + discount lambda (1 - start_{t+1}) adv_{t+1},  adv_T = 0;  target_t = adv_t + V_t
 * start_{t+1} says that observation t + 1 opens an episode, so nothing behind it belongs to step t. */
void gae(size_t T, double discount, double lambda, const float *rewards /* (T) */, const float *values /* (T + 1) */,
         const float *starts /* (T + 1) */, float *advantages /* (T) */, float *targets /* (T) */);

#endif
