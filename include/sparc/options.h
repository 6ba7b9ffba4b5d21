/* SPDX-License-Identifier: MIT */
/* options.h: options as text, "key=value,key=value", as cells and environments take them: what one of them may be. */
#ifndef SPARC_OPTIONS_H
#define SPARC_OPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sparc_option_type { SPARC_OPTION_INT, SPARC_OPTION_REAL, SPARC_OPTION_CHOICE } sparc_option_type;

/* A table of options ends with a NULL name. */
typedef struct sparc_option {
  const char *name;
  sparc_option_type type;
  int later;                  /* 1: added to a table that files were written by; stored only if it is not the default */
  double fallback;            /* default value; for a choice, its index */
  double low, high;           /* inclusive range of a number */
  const char *const *choices; /* NULL-terminated names of a choice */
  const char *help;           /* one sentence without a full stop */
} sparc_option;

#ifdef __cplusplus
}
#endif

#endif
