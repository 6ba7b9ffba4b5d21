/* SPDX-License-Identifier: MIT */
/* train.h: what files need to know of training: which configurations are possible. */
#ifndef SPARC_LAB_TRAIN_H
#define SPARC_LAB_TRAIN_H

#include "sparc/train.h"

/* check_train_config looks at everything but the network's part, which sparc_network_create checks */
sparc_status check_train_config(const sparc_train_config *config);

#endif
