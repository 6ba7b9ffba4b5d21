/* SPDX-License-Identifier: MIT */
/* options.h: table of the options that a layer or environment accepts as text, "key=value,key=value". */
#ifndef SPARC_OPTIONS_H
#define SPARC_OPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sparc_option_type { SPARC_OPTION_INT, SPARC_OPTION_REAL, SPARC_OPTION_CHOICE } sparc_option_type;

/* A table ends with a NULL name. */
typedef struct sparc_option {
  const char *name;
  sparc_option_type type;
  int later;                  /* 1: added after files with this table were written; stored only if not the default */
  double fallback;            /* default value; index of a choice */
  double low, high;           /* inclusive range of a number */
  const char *const *choices; /* NULL-terminated names of a choice */
  const char *help;           /* one sentence without a period */
} sparc_option;

#ifdef __cplusplus
}
#endif

#endif
