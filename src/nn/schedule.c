/* SPDX-License-Identifier: MIT */
/* schedule.c: the parts of the optimiser that are independent of precision: its defaults and the learning rate
 * schedule. */
#include "sparc/optimiser.h"

#include <math.h>

sparc_adam_config sparc_adam_defaults(void) {
  return (sparc_adam_config){.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0, .recurrent_lr_scale = 1};
}

double sparc_schedule_learning_rate(const sparc_schedule *s, long update) {
  if (!s) return 0;
  if (s->kind == SPARC_SCHEDULE_CONSTANT) return s->peak;
  const double rise = s->peak - s->floor;
  if (update < s->warmup) return s->floor + rise * (double)update / (double)s->warmup;
  if (update >= s->total) return s->floor;
  const double pi = 3.14159265358979323846, done = (double)(update - s->warmup) / (double)(s->total - s->warmup);
  return s->floor + rise * 0.5 * (1 + cos(pi * done));
}
