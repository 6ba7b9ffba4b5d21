/* SPDX-License-Identifier: MIT */
/* layer.c: descriptions of layers: the table of kinds, options, blocks, initial draws. */
#include "nn/layer.h"

#include "base/error.h"
#include "base/random.h"
#include "nn/bank.h"
#include "nn/cell_layer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- kinds ------------------------------------------------------------------------------------- */

static const sparc_layer_kind *const kinds[] = {&layer_residual, &layer_cell, &layer_bank, NULL};

const sparc_layer_kind *const *layer_kinds(void) { return kinds; }

static const sparc_layer_kind *find_in(const sparc_layer_kind *const *table, const char *name) {
  for (size_t i = 0; table && table[i]; i++)
    if (table[i]->name && strcmp(table[i]->name, name) == 0) return table[i];
  return NULL;
}

static sparc_status find_kind(const sparc_network_config *network, const char *name, const sparc_layer_kind **out) {
  if (!name) return fail(SPARC_INVALID, "layer.kind is NULL, expected the name of a kind");
  const sparc_layer_kind *kind = find_in(network->kinds, name);
  if (!kind) kind = find_in(kinds, name);
  if (!kind)
    return fail(SPARC_INVALID, "layer.kind is '%.40s', expected residual, cell, bank or a name in network.kinds", name);
  const sparc_layer_ops *ops = kind->ops;
  if (!kind->layout || !ops || !ops->forward || !ops->step)
    return fail(SPARC_INVALID, "layer kind %.40s has no layout, forward or step", name);
  *out = kind;
  return SPARC_OK;
}

/* ---- for layouts ------------------------------------------------------------------------------- */

int sparc_layer_inputs(const sparc_layer *layer) { return layer ? (int)layer->inputs : 0; }

double sparc_layer_option(const sparc_layer *layer, const char *name) {
  const sparc_option *options = layer && name ? layer->kind->options : NULL;
  for (int i = 0; options && options[i].name; i++)
    if (strcmp(options[i].name, name) == 0) return layer->option[i];
  return 0;
}

const sparc_block *sparc_layer_blocks(const sparc_layer *layer, size_t *count) {
  if (count) *count = layer ? layer->blocks : 0;
  return layer ? layer->block : NULL;
}

static sparc_block *next_block(sparc_layer *layer, const char *prefix, const char *name, block_start start) {
  layer->surplus |= layer->blocks == SPARC_LAYER_BLOCKS;
  if (layer->surplus) return NULL;
  snprintf(layer->name[layer->blocks], BLOCK_NAME, "%s%s%s", layer->prefix, prefix, name);
  layer->start[layer->blocks] = start;
  layer->block[layer->blocks].name = layer->name[layer->blocks];
  return &layer->block[layer->blocks++];
}

size_t sparc_layer_add_block(sparc_layer *layer, const char *name, sparc_group group, int rows, int cols,
                             sparc_start start, double scale) {
  if (!layer || !name || rows < 1 || cols < 0) return 0;
  sparc_block *block = next_block(layer, "", name, (block_start){(int)start, scale});
  if (!block) return 0;
  block->rank = cols ? 2 : 1;
  block->shape[0] = rows;
  block->shape[1] = cols ? cols : 1;
  block->offset = layer->params;
  block->size = (size_t)rows * (size_t)block->shape[1];
  layer->span[layer->spans++] = (sparc_span){block->offset, block->size, group};
  layer->params += block->size;
  return block->offset;
}

void layer_add_cell(sparc_layer *layer) {
  const sparc_cell *cell = layer->cell;
  layer->cell_params = layer->params;
  for (size_t i = 0; i < cell->blocks; i++) {
    sparc_block *block = next_block(layer, "cell.", cell->block[i].name, (block_start){OWN_START, 0});
    assert(block);
    const char *name = block->name;
    *block = cell->block[i];
    block->name = name;
    block->offset += layer->params;
  }
  for (size_t i = 0; i < cell->spans; i++) {
    layer->span[layer->spans] = cell->span[i];
    layer->span[layer->spans++].offset += layer->params;
  }
  layer->params += cell->sizes.params;
}

/* ---- life cycle -------------------------------------------------------------------------------- */

/* the sizes of a layout; each is at most 2^40 elements, so that sums do not overflow */
static sparc_status check_sizes(const sparc_layer *layer) {
  const size_t max = (size_t)1 << 40;
  const sparc_layer_sizes *s = &layer->sizes;
  if (s->outputs < 1 || s->outputs > max || s->prepared > max || s->state > max || s->tape > max)
    return fail(SPARC_INVALID, "layer kind %.40s: sizes of its layout are out of range", layer->kind->name);
  if (layer->surplus)
    return fail(SPARC_INVALID, "layer kind %.40s has more than %d blocks", layer->kind->name, SPARC_LAYER_BLOCKS);
  return SPARC_OK;
}

static sparc_status lay_out(sparc_layer *layer) {
  char owner[BLOCK_NAME];
  snprintf(owner, sizeof owner, "layer %.40s", layer->kind->name);
  if (layer->kind->options) {
    const sparc_status status = options_parse(owner, layer->kind->options, layer->text, layer->option);
    if (status != SPARC_OK) return status;
  }
  layer->sizes.outputs = layer->inputs;
  const sparc_status status = layer->kind->layout(layer, &layer->sizes);
  return status == SPARC_OK ? check_sizes(layer) : status;
}

sparc_status layer_create(const sparc_network_config *network, const sparc_layer_config *config,
                          const struct kernels *kernels, size_t index, size_t inputs, sparc_layer **out) {
  const sparc_layer_kind *kind = network->layers ? &layer_residual : &layer_cell;
  if (config) {
    const sparc_status status = find_kind(network, config->kind, &kind);
    if (status != SPARC_OK) return status;
  }
  sparc_layer *layer = sparc_alloc(sizeof *layer);
  if (!layer) return fail(SPARC_NO_MEMORY, "no memory for layer %zu", index);
  layer->kind = kind;
  layer->network = network;
  layer->text = config ? config->options : NULL;
  layer->kernels = kernels;
  layer->inputs = inputs;
  layer->index = index;
  /* names of the blocks of a bare cell have no number */
  if (network->layers) snprintf(layer->prefix, sizeof layer->prefix, "layers.%zu.", index);
  const sparc_status status = lay_out(layer);
  layer->network = NULL;
  layer->text = NULL;
  if (status != SPARC_OK) {
    layer_free(layer);
    return status;
  }
  *out = layer;
  return SPARC_OK;
}

void layer_free(sparc_layer *layer) {
  if (!layer) return;
  sparc_cell_free(layer->cell);
  sparc_free(layer->own);
  sparc_free(layer);
}

/* ---- initial draws (docs/training.md) ------------------------------------------------------------ */

sparc_status block_init(const sparc_block *block, block_start start, uint64_t seed, float *values) {
  sparc_random stream;
  sparc_random_init(&stream, seed, "init", block->name);
  switch (start.kind) {
    case SPARC_START_ONES:
      for (size_t i = 0; i < block->size; i++) values[i] = 1;
      break;
    case SPARC_START_NORMAL:
      random_fill_normal(&stream, values, block->size, start.scale);
      break;
    case SPARC_START_LECUN:
      return random_lecun_normal(&stream, values, block->size, block->shape[1]);
    case SPARC_START_ORTHOGONAL:
      return random_orthogonal(&stream, values, block->shape[0], block->shape[1], start.scale);
    default:
      break;
  }
  return SPARC_OK;
}

sparc_status layer_init(const sparc_layer *layer, sparc_init_style style, uint64_t seed, float *params) {
  for (size_t i = 0; i < layer->blocks; i++) {
    const sparc_status status = block_init(&layer->block[i], layer->start[i], seed, params + layer->block[i].offset);
    if (status != SPARC_OK) return status;
  }
  if (!layer->cell) return SPARC_OK;
  char name[BLOCK_NAME];
  snprintf(name, sizeof name, "%scell", layer->prefix);
  return sparc_cell_init(layer->cell, style, seed, name, params + layer->cell_params);
}
