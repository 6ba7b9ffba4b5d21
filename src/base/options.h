/* SPDX-License-Identifier: MIT */
/* options.h: options as text, "key=value,key=value": a table of rules says which there are, one function reads them.
 *
 * Cells and environments take their options in this form. A value is a double, for a choice its index; values stand in
 * the order of the rules.
 */
#ifndef SPARC_BASE_OPTIONS_H
#define SPARC_BASE_OPTIONS_H

#include "sparc/base.h"

enum { MAX_OPTIONS = 8, OPTIONS_TEXT = 256 };

typedef enum option_type { OPTION_INT, OPTION_REAL, OPTION_CHOICE } option_type;

typedef struct option_rule {
  const char *name;
  option_type type;
  double fallback;            /* default value; for a choice, its index */
  double low, high;           /* inclusive range of a number */
  const char *const *choices; /* NULL-terminated names of a choice */
  const char *rows_of;        /* cells: one more of this integer is one more row of this block (see `sparc check`) */
  const char *help;
} option_rule;

/* options_parse fills values [MAX_OPTIONS] with the defaults and then with what text says; NULL says nothing. Rules end
 * with a NULL name. owner opens the errors: "cell sparc". Numbers have a decimal point, whatever the locale. */
sparc_status options_parse(const char *owner, const option_rule *rules, const char *text, double *values);

/* options_print writes every option into text [OPTIONS_TEXT], so that a stored text survives a change of defaults */
void options_print(const option_rule *rules, const double *values, char text[OPTIONS_TEXT]);

/* options_print_changed writes the options that differ from their defaults, numbers in the fewest digits that read back
 * as the same */
void options_print_changed(const option_rule *rules, const double *values, char text[OPTIONS_TEXT]);

#endif
