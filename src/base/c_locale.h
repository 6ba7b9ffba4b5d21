/* SPDX-License-Identifier: MIT */
/* c_locale.h: numbers in files and options have a point, whatever the locale of the program that uses the library. */
#ifndef SPARC_BASE_C_LOCALE_H
#define SPARC_BASE_C_LOCALE_H

#include <locale.h>

typedef struct locale_guard {
  locale_t made, before;
} locale_guard;

/* between these two calls this thread reads and prints numbers in the C locale */
static inline locale_guard enter_c_locale(void) {
  locale_guard guard = {.made = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  guard.before = uselocale(guard.made);
  return guard;
}

static inline void leave_c_locale(locale_guard guard) {
  uselocale(guard.before);
  if (guard.made) freelocale(guard.made);
}

#endif
