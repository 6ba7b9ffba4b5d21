/* SPDX-License-Identifier: MIT */
#define SPARC_DOUBLE
#include "support_lazy_impl.h"
