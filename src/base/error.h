/* SPDX-License-Identifier: MIT */
/* error.h: how the library reports failure. Every fallible function ends in `return fail(...)`. */
#ifndef SPARC_BASE_ERROR_H
#define SPARC_BASE_ERROR_H

#include "sparc/base.h"

/* fail stores the formatted sentence for sparc_error() of this thread and returns status */
__attribute__((format(printf, 2, 3))) sparc_status fail(sparc_status status, const char *format, ...);

/* log_line sends a remark to the callback of this thread, if there is one */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* closest returns the candidate with the smallest edit distance to word when it is near enough to be
 * a likely typing mistake, else NULL. The list ends with NULL. */
const char *closest(const char *word, const char *const *candidates);

/* unknown_name fails with "unknown WHAT 'GOT'; did you mean '...'? (expected one of: ...)". The list ends with NULL. */
sparc_status unknown_name(const char *what, const char *got, const char *const *names);

#endif
