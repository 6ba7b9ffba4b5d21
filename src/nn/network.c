/* SPDX-License-Identifier: MIT */
/* network.c: the description of a network: blocks and their names, optimiser groups, initial draws, plans.
 *
 * The residual backbone is that of the paper's classification experiments (spec/baselines.md section 9): pre-norm, one
 * direction, no normalisation after the last layer. Parameters that reach a cell's state are recurrent, all others
 * regular (bb-4); the cell's own table says which of its blocks are which.
 */
#include "nn/network.h"

#include "base/error.h"
#include "base/memory.h"
#include "cells/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- layout ------------------------------------------------------------------------------------ */

enum { BLOCKS_PER_LAYER = 9, BLOCKS_OUTSIDE = 4, OUTSIDE = -1 };

/* a block inside layer `layer`, or outside of all with OUTSIDE */
static size_t add(sparc_network *net, sparc_group group, int rows, int cols, int layer, const char *suffix) {
  sparc_block *block = &net->block[net->blocks];
  char *name = net->name[net->blocks++];
  if (layer == OUTSIDE)
    snprintf(name, sizeof *net->name, "%s", suffix);
  else
    snprintf(name, sizeof *net->name, "layers.%d.%s", layer, suffix);
  *block = (sparc_block){.name = name,
                         .rank = cols ? 2 : 1,
                         .shape = {rows, cols ? cols : 1},
                         .offset = net->params,
                         .size = (size_t)rows * (size_t)(cols ? cols : 1)};
  net->span[net->spans++] = (sparc_span){block->offset, block->size, group};
  net->params += block->size;
  return block->offset;
}

/* the cell's blocks under a prefix; its spans keep their groups */
static size_t add_cell(sparc_network *net, const char *prefix) {
  const sparc_cell *cell = net->cell;
  const size_t start = net->params;
  for (size_t i = 0; i < cell->blocks; i++) {
    sparc_block block = cell->block[i];
    char *name = net->name[net->blocks];
    snprintf(name, sizeof *net->name, "%s.%s", prefix, block.name);
    block.name = name;
    block.offset += start;
    net->block[net->blocks++] = block;
  }
  for (size_t i = 0; i < cell->spans; i++) {
    sparc_span span = cell->span[i];
    span.offset += start;
    net->span[net->spans++] = span;
  }
  net->params += cell->sizes.params;
  return start;
}

static void add_layer(sparc_network *net, int i) {
  const int width = net->config.width, H = net->cell->H;
  layer_offsets *at = &net->layer[i];
  char prefix[32];
  snprintf(prefix, sizeof prefix, "layers.%d.cell", i);
  at->norm_scale = add(net, SPARC_REGULAR, width, 0, i, "norm.scale");
  at->norm_bias = add(net, SPARC_REGULAR, width, 0, i, "norm.bias");
  at->cell = add_cell(net, prefix);
  if (net->cell->about->readout == READOUT_COMPLEX) {
    at->readout = add(net, SPARC_REGULAR, width, H, i, "readout.re");
    at->readout_im = add(net, SPARC_REGULAR, width, H, i, "readout.im");
  } else if (net->cell->about->readout == READOUT_REAL) {
    at->readout = add(net, SPARC_REGULAR, width, H, i, "readout.weight");
  }
  if (net->cell->about->readout != READOUT_NATIVE) at->skip = add(net, SPARC_REGULAR, width, 0, i, "readout.skip");
  at->glu_weight = add(net, SPARC_REGULAR, width, width, i, "glu.value.weight");
  add(net, SPARC_REGULAR, width, width, i, "glu.gate.weight");
  at->glu_bias = add(net, SPARC_REGULAR, width, 0, i, "glu.value.bias");
  add(net, SPARC_REGULAR, width, 0, i, "glu.gate.bias");
}

static size_t take(size_t *end, size_t count) {
  const size_t start = *end;
  *end += round_elements(count);
  return start;
}

/* prepared: a copy of params, then weights in the orders the kernels want */
static void lay_out_prepared(sparc_network *net) {
  const size_t width = (size_t)net->config.width, S = net->cell->sizes.output;
  size_t end = round_elements(net->params);
  net->head_in = take(&end, net->features * (size_t)net->config.outputs);
  if (net->config.layers == 0) net->layer[0].cell_prepared = take(&end, net->cell->sizes.prepared);
  for (int i = 0; i < net->config.layers; i++) {
    layer_offsets *at = &net->layer[i];
    at->cell_prepared = take(&end, net->cell->sizes.prepared);
    at->readout_weight = take(&end, width * S);
    at->readout_in = take(&end, S * width);
    at->glu_in = take(&end, 2 * width * width);
  }
  if (net->config.layers) net->embed_in = take(&end, (size_t)net->config.inputs * width);
  net->prepared = end;
}

static void lay_out(sparc_network *net) {
  const sparc_network_config *config = &net->config;
  if (config->layers == 0) {
    net->layer[0].cell = add_cell(net, "cell");
    net->features = net->cell->sizes.output;
  } else {
    net->embed_weight = add(net, SPARC_REGULAR, config->width, config->inputs, OUTSIDE, "embed.weight");
    net->embed_bias = add(net, SPARC_REGULAR, config->width, 0, OUTSIDE, "embed.bias");
    for (int i = 0; i < config->layers; i++) add_layer(net, i);
    net->features = (size_t)config->width;
  }
  net->head_weight = add(net, SPARC_REGULAR, config->outputs, (int)net->features, OUTSIDE, "head.weight");
  net->head_bias = add(net, SPARC_REGULAR, config->outputs, 0, OUTSIDE, "head.bias");
  lay_out_prepared(net);
}

/* ---- life cycle -------------------------------------------------------------------------------- */

static sparc_status check_range(const char *name, int value, int low, int high) {
  if (value >= low && value <= high) return SPARC_OK;
  return fail(SPARC_INVALID, "%s is %d, expected %d to %d", name, value, low, high);
}

static sparc_status check_config(const sparc_network_config *config) {
  enum { WIDEST = 1 << 20, DEEPEST = 1024 };
  const struct {
    const char *name;
    int value, low, high;
  } ranges[] = {{"inputs", config->inputs, 1, WIDEST},
                {"outputs", config->outputs, 1, WIDEST},
                {"layers", config->layers, 0, DEEPEST},
                {"width", config->width, config->layers ? 1 : 0, WIDEST},
                {"head", (int)config->head, 0, SPARC_HEAD_STEPS},
                {"relu", config->relu, 0, config->layers ? 0 : 1},
                {"init", (int)config->init, 0, SPARC_INIT_CLASSIFICATION}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    sparc_status status = check_range(ranges[i].name, ranges[i].value, ranges[i].low, ranges[i].high);
    if (status != SPARC_OK) return status;
  }
  if (!(config->dropout >= 0 && config->dropout < 1))
    return fail(SPARC_INVALID, "dropout is %g, expected 0 to below 1", config->dropout);
  return SPARC_OK;
}

static sparc_status allocate_tables(sparc_network *net) {
  const size_t layers = (size_t)net->config.layers, cells = layers ? layers : 1;
  const size_t blocks = BLOCKS_OUTSIDE + cells * (BLOCKS_PER_LAYER + net->cell->blocks);
  const size_t spans = BLOCKS_OUTSIDE + cells * (BLOCKS_PER_LAYER + net->cell->spans);
  net->layer = sparc_alloc(cells * sizeof *net->layer);
  net->block = sparc_alloc(blocks * sizeof *net->block);
  net->name = sparc_alloc(blocks * sizeof *net->name);
  net->span = sparc_alloc(spans * sizeof *net->span);
  if (net->layer && net->block && net->name && net->span) return SPARC_OK;
  return fail(SPARC_NO_MEMORY, "no memory for the tables of a network of %zu layers", layers);
}

sparc_status sparc_network_create(const sparc_network_config *config, sparc_network **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the network");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  sparc_status status = check_config(config);
  if (status != SPARC_OK) return status;
  sparc_network *net = sparc_alloc(sizeof *net);
  if (!net) return fail(SPARC_NO_MEMORY, "no memory for a network");
  const sparc_cell_config cell = {.kind = config->cell,
                                  .D = config->layers ? config->width : config->inputs,
                                  .H = config->H,
                                  .options = config->cell_options};
  net->config = *config;
  status = sparc_cell_create(&cell, &net->cell);
  if (status == SPARC_OK) status = allocate_tables(net);
  if (status != SPARC_OK) {
    sparc_network_free(net);
    return status;
  }
  net->config.cell = sparc_cell_kind(net->cell);
  net->config.cell_options = sparc_cell_options(net->cell);
  lay_out(net);
  *out = net;
  return SPARC_OK;
}

void sparc_network_free(sparc_network *net) {
  if (!net) return;
  sparc_cell_free(net->cell);
  sparc_free(net->layer);
  sparc_free(net->block);
  sparc_free(net->name);
  sparc_free(net->span);
  sparc_free(net);
}

sparc_network_config sparc_network_config_of(const sparc_network *net) { return net->config; }
const sparc_cell *sparc_network_cell(const sparc_network *net) { return net->cell; }
size_t sparc_network_params(const sparc_network *net) { return net->params; }
size_t sparc_network_prepared(const sparc_network *net) { return net->prepared; }

const sparc_block *sparc_network_blocks(const sparc_network *net, size_t *count) {
  if (count) *count = net->blocks;
  return net->block;
}

const sparc_span *sparc_network_spans(const sparc_network *net, size_t *count) {
  if (count) *count = net->spans;
  return net->span;
}

/* ---- initial draws (spec/baselines.md 9.3) -------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* one block outside the cells; biases stay zero */
static sparc_status init_block(const sparc_network *net, const sparc_block *block, uint64_t seed, float *values) {
  sparc_random stream;
  sparc_random_init(&stream, seed, "init", block->name);
  if (ends_with(block->name, "norm.scale")) {
    for (size_t i = 0; i < block->size; i++) values[i] = 1;
  } else if (ends_with(block->name, "readout.skip")) {
    sparc_random_fill_normal(&stream, values, block->size, 1);
  } else if (strstr(block->name, ".readout.")) {
    sparc_random_fill_normal(&stream, values, block->size, 1 / sqrt((double)net->cell->H));
  } else if (block->rank == 2) {
    return sparc_random_lecun_normal(&stream, values, block->size, block->shape[1]);
  }
  return SPARC_OK;
}

sparc_status sparc_network_init(const sparc_network *net, uint64_t seed, float *params) {
  if (!net || !params) return fail(SPARC_INVALID, "%s is NULL", net ? "params" : "network");
  memset(params, 0, net->params * sizeof *params);
  for (size_t i = 0; i < net->blocks; i++) {
    if (strstr(net->block[i].name, "cell.")) continue;
    sparc_status status = init_block(net, &net->block[i], seed, params + net->block[i].offset);
    if (status != SPARC_OK) return status;
  }
  for (int i = 0; i < (net->config.layers ? net->config.layers : 1); i++) {
    char name[32] = "cell";
    if (net->config.layers) snprintf(name, sizeof name, "layers.%d.cell", i);
    sparc_status status = sparc_cell_init(net->cell, net->config.init, seed, name, params + net->layer[i].cell);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* ---- plans ------------------------------------------------------------------------------------- */

sparc_status sparc_network_plan_create(const sparc_network *net, int B, int T, int threads, sparc_network_plan **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the plan");
  *out = NULL;
  if (!net) return fail(SPARC_INVALID, "network is NULL");
  sparc_plan *cell_plan;
  sparc_status status = sparc_plan_create(net->cell, B, T, &(sparc_plan_config){.threads = threads}, &cell_plan);
  if (status != SPARC_OK) return status;
  sparc_network_plan *plan = sparc_alloc(sizeof *plan);
  if (!plan) {
    sparc_plan_free(cell_plan);
    return fail(SPARC_NO_MEMORY, "no memory for a plan");
  }
  const size_t tiles_per_example = ((size_t)T + EXAMPLE_TILE - 1) / EXAMPLE_TILE;
  *plan = (sparc_network_plan){.network = net,
                               .cell_plan = cell_plan,
                               .B = B,
                               .T = T,
                               .threads = cell_plan->threads,
                               .tokens = (size_t)B * (size_t)T,
                               .tiles_per_example = tiles_per_example,
                               .tiles = (size_t)B * tiles_per_example};
  plan->groups = plan->tiles < TILE_GROUPS ? plan->tiles : TILE_GROUPS;
  *out = plan;
  return SPARC_OK;
}

void sparc_network_plan_free(sparc_network_plan *plan) {
  if (!plan) return;
  sparc_plan_free(plan->cell_plan);
  sparc_free(plan);
}
