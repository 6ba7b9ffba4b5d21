/* SPDX-License-Identifier: MIT */
/* prelude.h: what the snippets of pages and headers take as given. Nothing of it is ever called. */
#include <sparc/sparc.h>
#include <stdio.h>
#include <stdlib.h>

/* of the program around a snippet */
int report(const char *sentence), complain(const char *sentence), next(float *x), is_known(const float *target);
int on_event(void *user, const sparc_run_event *event);
void use(const float *y), show(const sparc_ppo_report *report), learn(const float *series, int length, int label);
struct recording {
  const float *values;
  int steps, class_index;
};

/* numbers */
extern int classes, n, T, stop;
extern size_t H;
extern double mean, stddev, score;
extern float *x, *y, *target, *p, *outputs, *output, *params, *log_decay;
extern const char *const *labels;
extern const struct recording *recordings;

/* objects */
extern const sparc_cell *cell;
extern sparc_model *model;
extern sparc_trainer *trainer;
extern sparc_samples fit, validation;
extern sparc_dataset *dataset;
extern sparc_data_split split;
extern sparc_task *task;
extern sparc_run_config config;
