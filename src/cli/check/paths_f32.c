/* SPDX-License-Identifier: MIT */
/* paths_f32.c: the paths of `sparc check` in float, the precision of the product. */
#include "cli/check/paths_impl.h"
