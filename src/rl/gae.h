/* SPDX-License-Identifier: MIT */
/* gae.h: generalised advantage estimation over one stream of a rollout. */
#ifndef SPARC_RL_GAE_H
#define SPARC_RL_GAE_H

#include <stddef.h>

/* delta_t = r_t + discount m_{t+1} V_{t+1} - V_t
 * adv_t   = delta_t + discount lambda m_{t+1} adv_{t+1},  adv_T = 0;  target_t = adv_t + V_t
 * m_{t+1} is the mask of observation t + 1: 0 if it is the first of an episode, else 1. */
void gae(size_t T, double discount, double lambda, const float *rewards /* (T) */, const float *values /* (T + 1) */,
         const float *masks /* (T + 1) */, float *advantages /* (T) */, float *targets /* (T) */);

#endif
