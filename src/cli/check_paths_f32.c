/* SPDX-License-Identifier: MIT */
/* check_paths_f32.c: the paths of `sparc check` in float, the precision of the product. */
#include "cli/check_paths_impl.h"
