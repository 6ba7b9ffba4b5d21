/* SPDX-License-Identifier: MIT */
/* cell.c: the description of a cell: options, named blocks, sizes, initial draws. No arithmetic here. */
#include "cells/cell.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernels/kernels.h"
#include "sparc/rtrl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* wider than any use, small enough that every product of two sizes fits in 64 bits */
enum { MAX_WIDTH = 1 << 24 };

/* ---- options ----------------------------------------------------------------------------------- */

static sparc_status parse_options(sparc_cell *cell, const char *text) {
  char owner[64];
  snprintf(owner, sizeof owner, "cell %s", cell->about->kind.name);
  return options_parse(owner, cell->about->kind.options, text, cell->option);
}

static int option_index(const sparc_cell *cell, const char *name) {
  const sparc_option *options = cell->about->kind.options;
  for (int i = 0; options[i].name; i++)
    if (strcmp(options[i].name, name) == 0) return i;
  assert(!"option is not in the kind's table");
  return 0;
}

double cell_option(const sparc_cell *cell, const char *name) { return cell->option[option_index(cell, name)]; }

const char *cell_choice(const sparc_cell *cell, const char *name) {
  const int i = option_index(cell, name);
  return cell->about->kind.options[i].choices[(int)cell->option[i]];
}

/* ---- layout ------------------------------------------------------------------------------------ */

int add_tensor(sparc_cell *cell, const char *name, int rows, int cols) {
  assert(cell->blocks < MAX_BLOCKS);
  sparc_block *block = &cell->block[cell->blocks];
  *block = (sparc_block){.name = name,
                         .rank = cols ? 2 : 1,
                         .shape = {rows, cols ? cols : 1},
                         .offset = cell->sizes.params,
                         .size = (size_t)rows * (size_t)(cols ? cols : 1)};
  cell->sizes.params += block->size;
  return (int)cell->blocks++;
}

void add_span(sparc_cell *cell, sparc_group group, size_t elements) {
  sparc_span *last = cell->spans ? &cell->span[cell->spans - 1] : NULL;
  if (last && last->group == group) {
    last->size += elements;
    return;
  }
  assert(cell->spans < MAX_SPANS);
  cell->span[cell->spans++] = (sparc_span){last ? last->offset + last->size : 0, elements, group};
}

int add_block(sparc_cell *cell, const char *name, sparc_group group, int rows, int cols) {
  int index = add_tensor(cell, name, rows, cols);
  add_span(cell, group, cell->block[index].size);
  return index;
}

int add_projection(sparc_cell *cell, int block, int bias_block) {
  assert(cell->projections < MAX_PROJECTIONS);
  const sparc_block *weight = &cell->block[block];
  bool own_bias = weight->shape[1] == cell->D + 1;
  projection p = {.column = cell->projected,
                  .rows = weight->shape[0],
                  .weight = weight->offset,
                  .stride = weight->shape[1],
                  .has_bias = own_bias || bias_block >= 0};
  if (own_bias) {
    p.bias = weight->offset + (size_t)cell->D;
    p.bias_stride = weight->shape[1];
  } else if (bias_block >= 0) {
    p.bias = cell->block[bias_block].offset;
    p.bias_stride = 1;
  }
  cell->project[cell->projections++] = p;
  cell->projected += p.rows;
  return p.column;
}

sparc_status add_sink(sparc_cell *cell, rtrl_sink sink) {
  if (cell->sinks == cell->sink_capacity) {
    size_t capacity = cell->sink_capacity ? 2 * cell->sink_capacity : 16;
    rtrl_sink *grown = sparc_alloc(capacity * sizeof *grown);
    if (!grown)
      return fail(SPARC_NO_MEMORY, "no memory for %zu trace sinks of cell %s", capacity, cell->about->kind.name);
    if (cell->sinks) memcpy(grown, cell->sink, cell->sinks * sizeof *grown);
    sparc_free(cell->sink);
    cell->sink = grown;
    cell->sink_capacity = capacity;
  }
  cell->sink[cell->sinks++] = sink;
  return SPARC_OK;
}

static tape_layout tape_layout_of(const sparc_cell *cell) {
  const size_t H = (size_t)cell->H, parts = (size_t)cell->parts, S = H * parts, pre = (size_t)cell->pre;
  const size_t shared = (size_t)cell->shared;
  tape_layout tape;
  const struct {
    size_t *place, length;
  } arrays[] = {
      {&tape.x, (size_t)cell->D},
      {&tape.mask, 1},
      {&tape.pre, pre},
      {&tape.shared, shared},
      {&tape.kept, S},
      {&tape.a, S},
      {&tape.b, S},
      {&tape.state, S},
      {&tape.outer, S * (size_t)cell->outer},
      {&tape.scalar, S * (size_t)cell->scalar},
      {&tape.dstate, S},
      {&tape.dpre, pre},
      {&tape.dshared, shared},
      {&tape.dinput, cell->direct_input ? (size_t)cell->D : 0},
      {&tape.weights, S * (size_t)cell->outer},
  };
  tape.total = 0;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    *arrays[i].place = tape.total;
    tape.total += round_elements(arrays[i].length);
  }
  return tape;
}

/* ---- traces ------------------------------------------------------------------------------------ */

size_t sink_row_length(const sparc_cell *cell, const rtrl_sink *sink) {
  const sparc_block *block = &cell->block[sink->block];
  return sink->row == ROW_SHARED ? block->size : (size_t)block->shape[1];
}

static size_t rows_per_group(const rtrl_sink *sink) { return sink->row == ROW_OF_GROUP ? (size_t)sink->rows : 1; }

size_t sink_group(const rtrl_sink *sink) { return sink->row == ROW_OF_GROUP ? (size_t)sink->width : 1; }

size_t sink_stride(const sparc_cell *cell, const rtrl_sink *sink) {
  return sink->row == ROW_SHARED ? 0 : rows_per_group(sink) * sink_row_length(cell, sink);
}

static void size_traces(sparc_cell *cell) {
  for (size_t i = 0; i < cell->sinks; i++) {
    const rtrl_sink *sink = &cell->sink[i];
    cell->block[sink->block].trace = cell->sizes.state * rows_per_group(sink) * sink_row_length(cell, sink);
  }
}

/* ---- sizes ------------------------------------------------------------------------------------- */

static void size_affine_cell(sparc_cell *cell) {
  size_t matrix = round_elements((size_t)cell->D * (size_t)cell->projected);
  cell->constants = 2 * matrix + round_elements((size_t)cell->projected);
  cell->sizes.prepared = cell->constants + round_elements(cell->constant_count);
  cell->sizes.state = (size_t)cell->H * (size_t)cell->parts;
  if (!cell->sizes.output) cell->sizes.output = cell->sizes.state;
  cell->tape = tape_layout_of(cell);
  cell->sizes.tape = cell->tape.total;
  cell->sizes.trace = cell->sizes.state * ((size_t)cell->outer * (size_t)cell->D + (size_t)cell->scalar);
  size_traces(cell);
}

/* ---- life cycle -------------------------------------------------------------------------------- */

static sparc_status find_kind(const char *kind, size_t *index) {
  for (size_t i = 0; cell_entry_f32(i); i++) {
    if (strcmp(cell_entry_f32(i)->about->kind.name, kind) != 0) continue;
    *index = i;
    return SPARC_OK;
  }
  return unknown_name("cell kind", kind, sparc_cell_kinds());
}

const cell_description *cell_about(const char *kind) {
  for (size_t i = 0; kind && cell_entry_f32(i); i++)
    if (strcmp(cell_entry_f32(i)->about->kind.name, kind) == 0) return cell_entry_f32(i)->about;
  return NULL;
}

sparc_status cell_fit(const char *kind, int state_size, sparc_cell_config *config, char *options, size_t size) {
  if (!kind || !config || !options || size == 0)
    return fail(SPARC_INVALID, "%s is NULL or empty", !kind ? "kind" : !config ? "config" : "options");
  size_t index = 0;
  sparc_status status = find_kind(kind, &index);
  if (status != SPARC_OK) return status;
  const cell_description *about = cell_entry_f32(index)->about;
  const int coordinates = about->kind.coordinates;
  if (state_size < 1 || state_size % coordinates != 0)
    return fail(SPARC_INVALID, "state size is %d, expected a positive multiple of %d for cell %s", state_size,
                coordinates, kind);
  config->kind = about->kind.name;
  config->H = state_size / coordinates;
  options[0] = '\0';
  if (about->fit) status = about->fit(state_size, &config->H, options, size);
  config->options = options;
  return status;
}

sparc_status cell_changed_options(const char *kind, const char *options, char text[OPTIONS_TEXT]) {
  size_t index = 0;
  text[0] = '\0';
  sparc_status status = find_kind(kind, &index);
  if (status != SPARC_OK) return status;
  sparc_cell cell = {.about = cell_entry_f32(index)->about};
  status = parse_options(&cell, options);
  if (status == SPARC_OK) options_print_changed(cell.about->kind.options, cell.option, text);
  return status;
}

static sparc_status describe(sparc_cell *cell, const sparc_cell_config *config) {
  size_t index = 0;
  sparc_status status = find_kind(config->kind, &index);
  if (status == SPARC_OK) status = kernels_choose(config->kernel, &cell->kernels);
  if (status != SPARC_OK) return status;
  cell->about = cell_entry_f32(index)->about;
  cell->ops_f32 = cell_entry_f32(index)->ops;
#ifndef SPARC_INFERENCE /* which has float alone */
  cell->ops_f64 = cell_entry_f64(index)->ops;
#endif
  cell->D = config->D;
  cell->H = config->H;
  if ((status = parse_options(cell, config->options)) != SPARC_OK) return status;
  if ((status = cell->about->layout(cell)) != SPARC_OK) return status;
  /* printed now: the layout may have resolved an option that follows from others */
  options_print(cell->about->kind.options, cell->option, cell->options_text);
  if (cell->parts) size_affine_cell(cell);
  return SPARC_OK;
}

static sparc_status check_width(const char *name, int value) {
  if (value >= 1 && value <= MAX_WIDTH) return SPARC_OK;
  return fail(SPARC_INVALID, "%s is %d, expected 1 to %d", name, value, (int)MAX_WIDTH);
}

sparc_status sparc_cell_create(const sparc_cell_config *config, sparc_cell **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the cell");
  *out = NULL;
  if (!config || !config->kind)
    return fail(SPARC_INVALID, "%s is NULL, expected a cell kind", config ? "kind" : "config");
  sparc_status status = check_width("D", config->D);
  if (status == SPARC_OK) status = check_width("H", config->H);
  if (status != SPARC_OK) return status;

  sparc_cell *cell = sparc_alloc(sizeof *cell);
  if (!cell) return fail(SPARC_NO_MEMORY, "no memory for a cell of kind %s", config->kind);
  status = describe(cell, config);
  if (status != SPARC_OK) {
    sparc_cell_free(cell);
    return status;
  }
  *out = cell;
  return SPARC_OK;
}

void sparc_cell_free(sparc_cell *cell) {
  if (!cell) return;
  sparc_free(cell->sink);
  sparc_free(cell);
}

/* ---- queries ----------------------------------------------------------------------------------- */

sparc_cell_config sparc_cell_config_of(const sparc_cell *cell) {
  if (!cell) return (sparc_cell_config){0};
  return (sparc_cell_config){.kind = cell->about->kind.name,
                             .D = cell->D,
                             .H = cell->H,
                             .options = cell->options_text,
                             .kernel = cell->kernels->name};
}

sparc_cell_sizes sparc_cell_sizes_of(const sparc_cell *cell) { return cell ? cell->sizes : (sparc_cell_sizes){0}; }

const sparc_block *sparc_cell_blocks(const sparc_cell *cell, size_t *count) {
  if (count) *count = cell ? cell->blocks : 0;
  return cell ? cell->block : NULL;
}

const sparc_span *sparc_cell_spans(const sparc_cell *cell, size_t *count) {
  if (count) *count = cell ? cell->spans : 0;
  return cell ? cell->span : NULL;
}

int cell_block_index(const sparc_cell *cell, const char *name) {
  for (size_t i = 0; i < cell->blocks; i++)
    if (strcmp(cell->block[i].name, name) == 0) return (int)i;
  return -1;
}

/* ---- initial draws ------------------------------------------------------------------------------ */

sparc_random block_stream(uint64_t seed, const char *cell_name, const char *block) {
  char name[256];
  snprintf(name, sizeof name, "%s.%s", cell_name, block);
  sparc_random stream;
  sparc_random_init(&stream, seed, "init", name);
  return stream;
}

sparc_status sparc_cell_init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                             float *params) {
  if (!cell || !params) return fail(SPARC_INVALID, "%s is NULL", cell ? "params" : "cell");
  if (style != SPARC_INIT_CONTROL && style != SPARC_INIT_CLASSIFICATION && style != SPARC_INIT_RELEASED)
    return fail(SPARC_INVALID, "style is %d, expected SPARC_INIT_CONTROL, _CLASSIFICATION or _RELEASED", (int)style);
  memset(params, 0, cell->sizes.params * sizeof *params);
  return cell->about->init(cell, style, seed, name ? name : "cell", params);
}
