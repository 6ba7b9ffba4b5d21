/* SPDX-License-Identifier: MIT */
/* check_paths_f64.c: the paths of `sparc check --double`. */
#define SPARC_DOUBLE
#include "cli/check_paths_impl.h"
