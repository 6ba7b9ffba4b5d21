/* SPDX-License-Identifier: MIT */
/* options.h: parse and print "key=value,..." by a table of options (sparc/options.h). A value is a double, for a choice
 * its index; values are in the order of the table.
 */
#ifndef SPARC_BASE_OPTIONS_H
#define SPARC_BASE_OPTIONS_H

#include "sparc/base.h"
#include "sparc/options.h"

enum { MAX_OPTIONS = 8, OPTIONS_TEXT = 256 };

/* options_parse fills values [MAX_OPTIONS] with the defaults, then with the values in text, which may be NULL. owner is
 * the start of error messages: "cell sparc". Numbers have a decimal point in any locale. */
sparc_status options_parse(const char *owner, const sparc_option *rules, const char *text, double *values);

/* options_print writes every option into text [OPTIONS_TEXT], so that a stored text survives a change of defaults;
 * options marked `later` only if they are not the default, so that runs stored before them can be resumed */
void options_print(const sparc_option *rules, const double *values, char text[OPTIONS_TEXT]);

/* options_print_changed writes the options that differ from their defaults, numbers in the fewest digits that read back
 * as the same */
void options_print_changed(const sparc_option *rules, const double *values, char text[OPTIONS_TEXT]);

#endif
