/* SPDX-License-Identifier: MIT */
/* c_locale.h: numbers in files and options have a decimal point in any locale of the program. */
#ifndef SPARC_BASE_C_LOCALE_H
#define SPARC_BASE_C_LOCALE_H

#include <locale.h>

typedef struct locale_guard {
  locale_t created, before;
} locale_guard;

/* between these two calls this thread reads and prints numbers in the C locale */
static inline locale_guard enter_c_locale(void) {
  locale_guard guard = {.created = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  guard.before = uselocale(guard.created);
  return guard;
}

static inline void leave_c_locale(locale_guard guard) {
  uselocale(guard.before);
  if (guard.created) freelocale(guard.created);
}

#endif
