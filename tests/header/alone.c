/* SPDX-License-Identifier: MIT */
/* alone.c: one public header and nothing else, included twice. It must need no other header before it
 * and its guard must hold. The test passes SPARC_HEADER, for example <sparc/base.h>. */
#include SPARC_HEADER
#include SPARC_HEADER
