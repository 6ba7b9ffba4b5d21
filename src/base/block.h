/* SPDX-License-Identifier: MIT */
/* block.h: blocks that a caller allocates and the library carves up, such as saved and work. */
#ifndef SPARC_BASE_BLOCK_H
#define SPARC_BASE_BLOCK_H

#include "sparc/base.h"

/* check_block fails where a block is NULL or does not begin on a cache line: kernels load whole lines of its pieces */
sparc_status check_block(const void *block, const char *name);

#endif
