/* SPDX-License-Identifier: MIT */
/* error.h: error reporting. A function that fails ends in `return fail(...)`. */
#ifndef SPARC_BASE_ERROR_H
#define SPARC_BASE_ERROR_H

#include "sparc/base.h"

#include <stdarg.h>

/* set_error stores the error message for sparc_error() of this thread */
void set_error(const char *format, va_list arguments);

/* fail stores the formatted message and returns status; its body is here so that static analysis sees the latter */
__attribute__((format(printf, 2, 3))) static inline sparc_status fail(sparc_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_error(format, arguments);
  va_end(arguments);
  return status;
}

/* log_line sends a line to the log callback of this thread, if there is one */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* closest returns the candidate with the smallest edit distance to word when it is near enough to be
 * a likely typing mistake, else NULL. The list ends with NULL. */
const char *closest(const char *word, const char *const *candidates);

/* unknown_name fails with "unknown WHAT 'GOT'; did you mean '...'? (expected one of: ...)". The list ends with NULL. */
sparc_status unknown_name(const char *what, const char *got, const char *const *names);

#endif
