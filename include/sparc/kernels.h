/* SPDX-License-Identifier: MIT */
/* kernels.h: the sets of float32 inner loops that this build has, one per instruction set.
 *
 * A set is chosen when a cell or a scan is created: the one that its configuration names, or the best that this
 * processor can run. Where the environment variable SPARC_KERNEL names a set, that one is taken whatever the
 * configuration says. Sets agree within rounding, not to the bit (docs/numerics.md).
 */
#ifndef SPARC_KERNELS_H
#define SPARC_KERNELS_H

#include "sparc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sparc_kernel_names returns the NULL-terminated list of sets, best first. The last one, "plain", is scalar C. */
SPARC_API const char *const *sparc_kernel_names(void);

/* sparc_kernel_available tells whether this processor can run a set: 1 or 0. */
SPARC_API int sparc_kernel_available(const char *name);

/* sparc_kernel_choose gives the name of the set that a configuration with this `kernel` would get; NULL: the best.
 * SPARC_INVALID when there is no such set, or this processor cannot run it. */
SPARC_API sparc_status sparc_kernel_choose(const char *kernel, const char **name);

#ifdef __cplusplus
}
#endif

#endif
