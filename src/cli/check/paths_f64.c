/* SPDX-License-Identifier: MIT */
/* paths_f64.c: the paths of `sparc check --double`. */
#define SPARC_DOUBLE
#include "cli/check/paths_impl.h"
