/* SPDX-License-Identifier: MIT */
/* cell_choice.h: number of modes and options of a requested cell, and names made from them: "sparc-neutral-gate". */
#ifndef SPARC_RUN_CELL_CHOICE_H
#define SPARC_RUN_CELL_CHOICE_H

#include "sparc/cell.h"

#include <stdbool.h>

enum { CELL_OPTIONS_SIZE = 1024 };

typedef struct cell_request {
  const char *kind;
  const char *options, *variant; /* NULL: not given */
  int modes, state_size;         /* modes 0: from state_size */
  bool overrule;                 /* variant overrides one among the options */
} cell_request;

/* cell_resolve computes the number of modes and the text of all options. Options that follow from state_size come first,
 * then the requested ones; a later option overrides an earlier one. */
sparc_status cell_resolve(const cell_request *request, int inputs, int *modes, char options[CELL_OPTIONS_SIZE]);

/* cell_nondefault_options lists the requested options that are not defaults of the kind: "variant=neutral-gate",
 * "block=128,ring=transition", or "" */
sparc_status cell_nondefault_options(const cell_request *request, char nondefault[CELL_OPTIONS_SIZE]);

/* options_file_name makes a part of a file name from a name and its options: "sparc-neutral-gate",
 * "rglru-block_128-ring_transition" */
void options_file_name(const char *what, const char *options, char *name, size_t size);

/* cell_variant is the value of variant= in a list of options; false: it has none */
bool cell_variant(const char *options, char *variant, size_t size);

#endif
