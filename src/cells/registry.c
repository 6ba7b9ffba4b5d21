/* SPDX-License-Identifier: MIT */
/* registry.c: the table of cell kinds. A new cell is one source file and one row here (docs/adding-a-cell.md). */
#include "cells/cell.h"

#define CELLS(ROW) ROW(sparc) ROW(rtu) ROW(lru) ROW(rglru) ROW(gateloop) ROW(mamba3) ROW(gru)

#define DECLARE(name)   extern const cell_entry cell_##name##_f32, cell_##name##_f64;
#define ENTRY_F32(name) &cell_##name##_f32,
#define ENTRY_F64(name) &cell_##name##_f64,
#define NAME(name)      #name,

CELLS(DECLARE)

static const cell_entry *const entries_f32[] = {CELLS(ENTRY_F32) NULL};
static const cell_entry *const entries_f64[] = {CELLS(ENTRY_F64) NULL};
static const char *const names[] = {CELLS(NAME) NULL};

const char *const *sparc_cell_kinds(void) { return names; }
const cell_entry *cell_entry_f32(size_t i) { return entries_f32[i]; }
const cell_entry *cell_entry_f64(size_t i) { return entries_f64[i]; }
