/* SPDX-License-Identifier: MIT */
#define SPARC_DOUBLE
#include "support_rollout_impl.h"
