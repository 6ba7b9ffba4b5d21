/* SPDX-License-Identifier: MIT */
/* sparc.h: the rules of a SPARC cell with its options, for devices. */
#ifndef SPARC_CELLS_SPARC_H
#define SPARC_CELLS_SPARC_H

#include "cells/cell.h"
#include "kernels/sparc_rules.h"

sparc_rules cell_rules_of(const sparc_cell *cell);

#endif
