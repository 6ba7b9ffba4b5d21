/* SPDX-License-Identifier: MIT */
/* cell_choice.h: from what was said of a cell to its number of modes and all its options, and to the names of what it
 * is: "sparc-neutral-gate". */
#ifndef SPARC_RUN_CELL_CHOICE_H
#define SPARC_RUN_CELL_CHOICE_H

#include "sparc/cell.h"

#include <stdbool.h>

enum { CELL_OPTIONS_SIZE = 1024 };

typedef struct cell_wish {
  const char *kind;
  const char *options, *variant; /* NULL: nothing was said */
  int modes, budget;             /* modes 0: as the budget says */
  bool overrule;                 /* a variant counts more than one among the options */
} cell_wish;

/* cell_settle finds the modes and the text that names every option. Options that go with the budget come first, then
 * what was said; the last word counts. */
sparc_status cell_settle(const cell_wish *wish, int inputs, int *modes, char options[CELL_OPTIONS_SIZE]);

/* cell_said is what was said and is not the default of the kind: "variant=neutral-gate", "block=128,ring=transition",
 * or
 * "" */
sparc_status cell_said(const cell_wish *wish, char said[CELL_OPTIONS_SIZE]);

/* options_file_name makes of something and what was said of it a part of a file's name: "sparc-neutral-gate",
 * "rglru-block_128-ring_transition" */
void options_file_name(const char *what, const char *said, char *name, size_t size);

/* cell_variant is the value of variant= in a text of options; false: it has none */
bool cell_variant(const char *options, char *variant, size_t size);

#endif
