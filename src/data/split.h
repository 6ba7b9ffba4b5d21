/* SPDX-License-Identifier: MIT */
/* split.h: the fixed division of a training partition, and the fixed order of pixels. */
#ifndef SPARC_DATA_SPLIT_H
#define SPARC_DATA_SPLIT_H

#include "data/dataset.h"

/* split_part divides a data set into two views: a stratified part and the rest, each in the order of the source. With
 * every_class a class of two and more has at least one example in the part. *validation is NULL when there is only one
 * example. */
sparc_status split_part(const sparc_dataset *d, double part, bool every_class, sparc_dataset **fit,
                        sparc_dataset **validation);

/* split_fold assigns the examples of each class to `folds` parts; part `fold`, from 1, becomes *validation */
sparc_status split_fold(const sparc_dataset *d, int folds, int fold, sparc_dataset **fit, sparc_dataset **validation);

/* permute_steps puts the steps of every example into one fixed random order. All examples must have one length. */
sparc_status permute_steps(sparc_dataset *d);

#endif
