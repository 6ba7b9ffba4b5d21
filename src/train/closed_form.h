/* SPDX-License-Identifier: MIT */
/* closed_form.h: networks whose head is fitted in closed form on fixed random features. */
#ifndef SPARC_TRAIN_CLOSED_FORM_H
#define SPARC_TRAIN_CLOSED_FORM_H

#include "train/batch.h"

/* check_closed_form checks that the head can be fitted: one linear classification head per sequence */
sparc_status check_closed_form(const sparc_network *network, const sparc_samples *samples);

/* fit_closed_form draws the filter bank, if the network has one, computes the features of all samples and fits the head
 * by ridge regression. A bank with windows is drawn without and, if all samples have one length, with them, which are
 * kept if the leave-one-out error falls by a tenth. b is a batch for the samples; weights and prepared are the network's
 * arrays. The report receives the leave-one-out loss and accuracy. */
sparc_status fit_closed_form(const sparc_network *network, const sparc_samples *samples, uint64_t seed, batch *b,
                             float *weights, float *prepared, sparc_update_report *report);

#endif
