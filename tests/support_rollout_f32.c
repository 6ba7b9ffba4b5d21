/* SPDX-License-Identifier: MIT */
#include "support_rollout_impl.h"
