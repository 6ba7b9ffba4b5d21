/* SPDX-License-Identifier: MIT */
/* closed_form.h: a network whose head is fitted in closed form, on features that stay as they are drawn. */
#ifndef SPARC_TRAIN_CLOSED_FORM_H
#define SPARC_TRAIN_CLOSED_FORM_H

#include "train/batch.h"

/* check_closed_form says whether the head of a network can be fitted to the samples: one row of classes, no hidden layer */
sparc_status check_closed_form(const sparc_network *network, const sparc_samples *samples);

/* fit_closed_form draws a filter bank in front for the samples, if there is one, computes the features of all samples
 * and fits the head to them by ridge regression. b is a batch for the samples, weights the network's, prepared its
 * room. The report has the leave-one-out loss and accuracy. */
sparc_status fit_closed_form(const sparc_network *network, const sparc_samples *samples, uint64_t seed, batch *b,
                             float *weights, float *prepared, sparc_update_report *report);

#endif
