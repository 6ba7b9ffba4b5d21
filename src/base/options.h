/* SPDX-License-Identifier: MIT */
/* options.h: a table of options (sparc/options.h) says which there are, one function reads them. A value is a double,
 * for a choice its index; values stand in the order of the rules.
 */
#ifndef SPARC_BASE_OPTIONS_H
#define SPARC_BASE_OPTIONS_H

#include "sparc/base.h"
#include "sparc/options.h"

enum { MAX_OPTIONS = 8, OPTIONS_TEXT = 256 };

/* options_parse fills values [MAX_OPTIONS] with the defaults and then with what text says; NULL says nothing. Rules end
 * with a NULL name. owner opens the errors: "cell sparc". Numbers have a decimal point, whatever the locale. */
sparc_status options_parse(const char *owner, const sparc_option *rules, const char *text, double *values);

/* options_print writes every option into text [OPTIONS_TEXT], so that a stored text survives a change of defaults;
 * those that came later only if they are not the default, so that runs before them go on */
void options_print(const sparc_option *rules, const double *values, char text[OPTIONS_TEXT]);

/* options_print_changed writes the options that differ from their defaults, numbers in the fewest digits that read back
 * as the same */
void options_print_changed(const sparc_option *rules, const double *values, char text[OPTIONS_TEXT]);

#endif
