/* SPDX-License-Identifier: MIT */
/* network.c: the description of a network: blocks, their names and initial draws, optimiser groups, sizes, plans.
 *
 * The residual backbone is that of the paper's classification experiments [app:bptt_details]: pre-norm, one
 * direction, no normalisation after the last layer. Parameters that reach a cell's state are recurrent, all others
 * regular; the cell's own table says which of its blocks are which. Random streams are keyed by the names of
 * blocks, so a block keeps its numbers when others come or go.
 */
#include "nn/network.h"

#include "base/error.h"
#include "base/memory.h"
#include "cells/plan.h"
#include "cells/tiles.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- blocks ------------------------------------------------------------------------------------ */

/* blocks of a layer around its cell, of embedding and readout of a bare cell, and of a head */
enum { BLOCKS_PER_LAYER = 9, BLOCKS_OUTSIDE = 4, BLOCKS_PER_HEAD = 4 };

static const block_start zeros = {START_ZEROS, 0}, ones = {START_ONES, 0}, lecun = {START_LECUN, 0};

static block_start normal(double deviation) { return (block_start){START_NORMAL, deviation}; }
static block_start orthogonal_or_lecun(double gain) { return gain > 0 ? (block_start){START_ORTHOGONAL, gain} : lecun; }

/* a regular block PREFIX.NAME; cols == 0 makes a vector. Returns its offset. */
static size_t add(sparc_network *net, const char *prefix, const char *name, size_t rows, size_t cols,
                  block_start start) {
  sparc_block *block = &net->block[net->blocks];
  snprintf(net->name[net->blocks], sizeof *net->name, "%s.%s", prefix, name);
  *block = (sparc_block){.name = net->name[net->blocks],
                         .rank = cols ? 2 : 1,
                         .shape = {(int)rows, cols ? (int)cols : 1},
                         .offset = net->sizes.params,
                         .size = rows * (cols ? cols : 1)};
  net->start[net->blocks++] = start;
  net->span[net->spans++] = (sparc_span){block->offset, block->size, SPARC_REGULAR};
  net->sizes.params += block->size;
  return block->offset;
}

static dense_offsets add_dense(sparc_network *net, const char *prefix, size_t in, size_t out, block_start start) {
  dense_offsets at = {.in = in, .out = out};
  if (in) at.weight = add(net, prefix, "weight", out, in, start);
  at.bias = add(net, prefix, "bias", out, 0, zeros);
  return at;
}

static readout_offsets add_readout(sparc_network *net, const char *prefix, bool has_im, size_t out) {
  const size_t H = (size_t)net->cell->H;
  const block_start start = normal(1 / sqrt((double)H));
  readout_offsets at = {.in = has_im ? 2 * H : H, .out = out, .has_im = has_im};
  at.re = add(net, prefix, has_im ? "re" : "weight", out, H, start);
  if (has_im) at.im = add(net, prefix, "im", out, H, start);
  return at;
}

/* the cell's blocks under a prefix; its spans keep their groups */
static size_t add_cell(sparc_network *net, const char *prefix) {
  const sparc_cell *cell = net->cell;
  const size_t first = net->sizes.params;
  for (size_t i = 0; i < cell->blocks; i++) {
    sparc_block block = cell->block[i];
    char *name = net->name[net->blocks];
    snprintf(name, sizeof *net->name, "%s.%s", prefix, block.name);
    block.name = name;
    block.offset += first;
    net->start[net->blocks] = (block_start){START_CELL, 0};
    net->block[net->blocks++] = block;
  }
  for (size_t i = 0; i < cell->spans; i++) {
    sparc_span span = cell->span[i];
    span.offset += first;
    net->span[net->spans++] = span;
  }
  net->sizes.params += cell->sizes.params;
  return first;
}

/* the random streams of a cell are keyed by this name */
static void name_cell(const sparc_network *net, size_t layer, char name[BLOCK_NAME]) {
  if (net->config.layers)
    snprintf(name, BLOCK_NAME, "layers.%zu.cell", layer);
  else
    snprintf(name, BLOCK_NAME, "cell");
}

static void add_layer(sparc_network *net, size_t i) {
  const size_t width = (size_t)net->config.width;
  const sparc_cell_readout readout = net->cell->about->kind.readout;
  layer_offsets *at = &net->layer[i];
  char prefix[BLOCK_NAME / 2], inner[BLOCK_NAME / 2 + sizeof ".readout"], cell[BLOCK_NAME];
  snprintf(prefix, sizeof prefix, "layers.%zu", i);
  snprintf(inner, sizeof inner, "%s.readout", prefix);
  name_cell(net, i, cell);
  at->norm_scale = add(net, prefix, "norm.scale", width, 0, ones);
  at->norm_bias = add(net, prefix, "norm.bias", width, 0, zeros);
  at->cell = add_cell(net, cell);
  if (readout != SPARC_READOUT_NONE) {
    at->readout = add_readout(net, inner, readout == SPARC_READOUT_COMPLEX, width);
    at->skip = add(net, inner, "skip", width, 0, normal(1));
  }
  at->glu = (dense_offsets){.in = width, .out = 2 * width};
  at->glu.weight = add(net, prefix, "glu.value.weight", width, width, lecun);
  add(net, prefix, "glu.gate.weight", width, width, lecun);
  at->glu.bias = add(net, prefix, "glu.value.bias", width, 0, zeros);
  add(net, prefix, "glu.gate.bias", width, 0, zeros);
}

static void add_head(sparc_network *net, size_t i) {
  const sparc_head_config *config = &net->head_config[i];
  network_head *head = &net->head[i];
  size_t in = config->input == SPARC_HEAD_CONSTANT ? 0 : net->features;
  head->input = config->input;
  head->first = net->sizes.outputs;
  if (config->hidden) {
    char prefix[HEAD_NAME + sizeof ".hidden"];
    snprintf(prefix, sizeof prefix, "%s.hidden", config->name);
    head->hidden = add_dense(net, prefix, in, (size_t)config->hidden, orthogonal_or_lecun(config->hidden_gain));
    in = (size_t)config->hidden;
  }
  head->linear = add_dense(net, config->name, in, (size_t)config->outputs, orthogonal_or_lecun(config->gain));
  net->sizes.outputs += (size_t)config->outputs;
  net->pools |= config->input == SPARC_HEAD_MEAN;
}

static sparc_cell_features features_of(const sparc_network *net) {
  if (net->config.features == SPARC_FEATURES_POLICY) return net->cell->about->kind.features;
  return net->config.features == SPARC_FEATURES_RELU ? SPARC_POLICY_RELU : SPARC_POLICY_OUTPUT;
}

static void add_blocks(sparc_network *net) {
  const sparc_network_config *config = &net->config;
  if (config->embedding != SPARC_EMBED_NONE)
    net->embed = add_dense(net, "embed", (size_t)config->inputs, (size_t)config->width, lecun);
  for (int i = 0; i < config->layers; i++) add_layer(net, (size_t)i);
  if (config->layers) {
    net->features = (size_t)config->width;
  } else {
    net->layer[0].cell = add_cell(net, "cell");
    net->reads = features_of(net);
    if (net->reads == SPARC_POLICY_READOUT) net->readout = add_readout(net, "readout", true, (size_t)net->cell->H);
    net->features = net->reads == SPARC_POLICY_READOUT ? net->readout.out : net->cell->sizes.output;
  }
  for (int i = 0; i < config->heads; i++) add_head(net, (size_t)i);
}

/* ---- sizes ------------------------------------------------------------------------------------- */

static void place_dense(dense_offsets *at, size_t *end) { at->weight_in = take_elements(end, at->in * at->out); }

static void place_readout(readout_offsets *at, size_t *end) {
  at->weight = take_elements(end, at->out * at->in);
  at->weight_in = take_elements(end, at->in * at->out);
}

/* prepared: a copy of params, then weights in the orders the kernels want */
static void lay_out_prepared(sparc_network *net) {
  size_t end = round_elements(net->sizes.params);
  place_dense(&net->embed, &end);
  place_readout(&net->readout, &end);
  for (size_t i = 0; i < cells_of(net); i++) {
    layer_offsets *at = &net->layer[i];
    at->cell_prepared = take_elements(&end, net->cell->sizes.prepared);
    place_readout(&at->readout, &end);
    place_dense(&at->glu, &end);
  }
  for (int i = 0; i < net->config.heads; i++) {
    place_dense(&net->head[i].hidden, &end);
    place_dense(&net->head[i].linear, &end);
  }
  net->sizes.prepared = end;
}

/* a gradient goes through one layer at most, so several share the arrays of one */
static void lay_out_tape(sparc_network *net) {
  const sparc_sizes *cell = &net->cell->sizes;
  const size_t embedded = net->embed.out, width = net->config.layers ? (size_t)net->config.width : 0;
  const size_t read = net->layer[0].readout.out, F = net->features;
  const size_t split = net->layer[0].readout.in + net->readout.in; /* a network has one of the two */
  const bool copies = !net->config.layers && net->reads != SPARC_POLICY_OUTPUT;
  network_tape_layout *at = &net->tape;
  const struct {
    size_t *place, length;
  } arrays[] = {
      {&at->x, (size_t)net->config.inputs},
      {&at->embedded, embedded},
      {&at->state, cell->state},
      {&at->cell, cell->tape},
      {&at->y, cell->output},
      {&at->mean, width ? 1 : 0},
      {&at->rstd, width ? 1 : 0},
      {&at->normed, width},
      {&at->read, read},
      {&at->gelu, width},
      {&at->glu, 2 * width},
      {&at->stream, width},
      {&at->features, copies ? F : 0},
      {&at->pooled, net->pools ? F : 0},
      {&at->dfeatures, F},
      {&at->dy, cell->output},
      {&at->dx, (size_t)net->cell->D},
      {&at->dread, read},
      {&at->dgelu, width},
      {&at->dglu, 2 * width},
      {&at->split, split},
  };
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    *arrays[i].place = take_elements(&at->total, arrays[i].length);
  for (int i = 0; i < net->config.heads; i++) {
    net->head[i].hidden_tape = take_elements(&at->total, net->head[i].hidden.out);
    net->head[i].dhidden_tape = take_elements(&at->total, net->head[i].hidden.out);
  }
}

static void lay_out(sparc_network *net) {
  add_blocks(net);
  lay_out_prepared(net);
  lay_out_tape(net);
  net->sizes.state = pool_of(net) + (net->pools ? net->features + 1 : 0);
  net->sizes.tape = net->tape.total;
  net->sizes.trace = net->config.layers > 1 || net->pools ? 0 : net->cell->sizes.trace;
  if (net->config.layers == 0 && net->sizes.trace) /* see network_encoder_impl.h */
    net->sizes.trace_exact =
        net->sizes.trace + net->cell->sizes.state * net->embed.out * (net->embed.in ? net->embed.in + 2 : 0);
}

/* ---- life cycle -------------------------------------------------------------------------------- */

enum { WIDEST = 1 << 20, DEEPEST = 1024 };

typedef struct range_check {
  const char *name;
  int value, low, high;
} range_check;

static sparc_status check_ranges(const range_check *checks, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (checks[i].value < checks[i].low || checks[i].value > checks[i].high)
      return fail(SPARC_INVALID, "%s is %d, expected %d to %d", checks[i].name, checks[i].value, checks[i].low,
                  checks[i].high);
  return SPARC_OK;
}

static sparc_status check_head(const sparc_head_config *head) {
  const int constant = head->input == SPARC_HEAD_CONSTANT;
  const range_check checks[] = {{"head.input", (int)head->input, 0, SPARC_HEAD_CONSTANT},
                                {"outputs", head->outputs, 1, WIDEST},
                                {"hidden", head->hidden, 0, constant ? 0 : WIDEST}};
  sparc_status status = check_ranges(checks, sizeof checks / sizeof *checks);
  if (status != SPARC_OK) return status;
  const struct {
    const char *name;
    double value;
  } gains[] = {{"gain", head->gain}, {"hidden_gain", head->hidden_gain}};
  for (size_t i = 0; i < sizeof gains / sizeof *gains; i++)
    if (!(gains[i].value >= 0 && gains[i].value <= (double)WIDEST))
      return fail(SPARC_INVALID, "%s is %g, expected 0 to %d", gains[i].name, gains[i].value, (int)WIDEST);
  if (head->name && (!*head->name || strlen(head->name) >= HEAD_NAME))
    return fail(SPARC_INVALID, "head.name is '%.40s', expected 1 to %d characters", head->name, HEAD_NAME - 1);
  return SPARC_OK;
}

static sparc_status check_config(const sparc_network_config *config) {
  const int layers = config->layers > 0, embedded = layers || config->embedding != SPARC_EMBED_NONE;
  const range_check checks[] = {
      {"inputs", config->inputs, 1, WIDEST},
      {"layers", config->layers, 0, DEEPEST},
      {"embedding", (int)config->embedding, layers ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE, SPARC_EMBED_TANH},
      {"width", config->width, embedded ? 1 : 0, WIDEST},
      {"features", (int)config->features, 0, layers ? SPARC_FEATURES_OUTPUT : SPARC_FEATURES_POLICY},
      {"init", (int)config->init, 0, SPARC_INIT_RELEASED},
      {"heads", config->heads, 1, MAX_HEADS}};
  sparc_status status = check_ranges(checks, sizeof checks / sizeof *checks);
  if (status != SPARC_OK) return status;
  if (!(config->dropout >= 0 && config->dropout < 1))
    return fail(SPARC_INVALID, "dropout is %g, expected 0 to below 1", config->dropout);
  if (!config->head) return fail(SPARC_INVALID, "head is NULL, expected %d heads", config->heads);
  for (int i = 0; i < config->heads && status == SPARC_OK; i++) status = check_head(&config->head[i]);
  return status;
}

/* a head whose name makes a block that exists; blocks of heads are the last */
static sparc_status check_names(const sparc_network *net) {
  const size_t most = BLOCKS_PER_HEAD * (size_t)net->config.heads;
  for (size_t i = net->blocks > most ? net->blocks - most : 0; i < net->blocks; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(net->name[i], net->name[k]) == 0)
        return fail(SPARC_INVALID, "two blocks are called '%s', expected heads with names of their own", net->name[i]);
  return SPARC_OK;
}

static sparc_status allocate_tables(sparc_network *net) {
  const size_t cells = cells_of(net);
  const size_t outside = BLOCKS_OUTSIDE + cells * BLOCKS_PER_LAYER + BLOCKS_PER_HEAD * (size_t)net->config.heads;
  const size_t blocks = outside + cells * net->cell->blocks, spans = outside + cells * net->cell->spans;
  net->layer = sparc_alloc(cells * sizeof *net->layer);
  net->block = sparc_alloc(blocks * sizeof *net->block);
  net->start = sparc_alloc(blocks * sizeof *net->start);
  net->name = sparc_alloc(blocks * sizeof *net->name);
  net->span = sparc_alloc(spans * sizeof *net->span);
  if (net->layer && net->block && net->start && net->name && net->span) return SPARC_OK;
  return fail(SPARC_NO_MEMORY, "no memory for the tables of a network of %zu cells", cells);
}

/* the configuration as the network keeps it: strings of its own, nothing left to defaults */
static void keep_config(sparc_network *net, const sparc_network_config *config) {
  net->config = *config;
  net->config.cell = sparc_cell_kind(net->cell);
  net->config.cell_options = sparc_cell_options(net->cell);
  net->config.kernel = sparc_cell_kernel(net->cell);
  net->config.head = net->head_config;
  for (int i = 0; i < config->heads; i++) {
    net->head_config[i] = config->head[i];
    snprintf(net->head_name[i], HEAD_NAME, "%s", config->head[i].name ? config->head[i].name : "head");
    net->head_config[i].name = net->head_name[i];
  }
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
                                  .D = config->embedding == SPARC_EMBED_NONE ? config->inputs : config->width,
                                  .H = config->H,
                                  .options = config->cell_options,
                                  .kernel = config->kernel};
  status = sparc_cell_create(&cell, &net->cell);
  if (status == SPARC_OK) {
    keep_config(net, config);
    status = allocate_tables(net);
  }
  if (status == SPARC_OK) {
    lay_out(net);
    status = check_names(net);
  }
  if (status != SPARC_OK) {
    sparc_network_free(net);
    return status;
  }
  *out = net;
  return SPARC_OK;
}

void sparc_network_free(sparc_network *net) {
  if (!net) return;
  sparc_cell_free(net->cell);
  void *const tables[] = {net->layer, net->block, net->start, net->name, net->span};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) sparc_free(tables[i]);
  sparc_free(net);
}

sparc_network_config sparc_network_config_of(const sparc_network *net) {
  return net ? net->config : (sparc_network_config){0};
}
sparc_network_sizes sparc_network_sizes_of(const sparc_network *net) {
  return net ? net->sizes : (sparc_network_sizes){0};
}
const sparc_cell *sparc_network_cell(const sparc_network *net) { return net ? net->cell : NULL; }

const sparc_block *sparc_network_blocks(const sparc_network *net, size_t *count) {
  if (count) *count = net ? net->blocks : 0;
  return net ? net->block : NULL;
}

const sparc_span *sparc_network_spans(const sparc_network *net, size_t *count) {
  if (count) *count = net ? net->spans : 0;
  return net ? net->span : NULL;
}

/* ---- initial draws (docs/training.md) -------------------------------------------------------------- */

/* params start as zeros */
static sparc_status init_block(const sparc_block *block, block_start start, uint64_t seed, float *values) {
  sparc_random stream;
  sparc_random_init(&stream, seed, "init", block->name);
  switch (start.kind) {
    case START_ONES:
      for (size_t i = 0; i < block->size; i++) values[i] = 1;
      break;
    case START_NORMAL:
      sparc_random_fill_normal(&stream, values, block->size, start.scale);
      break;
    case START_LECUN:
      return sparc_random_lecun_normal(&stream, values, block->size, block->shape[1]);
    case START_ORTHOGONAL:
      return sparc_random_orthogonal(&stream, values, block->shape[0], block->shape[1], start.scale);
    case START_ZEROS:
    case START_CELL:
      break;
  }
  return SPARC_OK;
}

sparc_status sparc_network_init(const sparc_network *net, uint64_t seed, float *params) {
  if (!net || !params) return fail(SPARC_INVALID, "%s is NULL", net ? "params" : "network");
  memset(params, 0, net->sizes.params * sizeof *params);
  for (size_t i = 0; i < net->blocks; i++) {
    sparc_status status = init_block(&net->block[i], net->start[i], seed, params + net->block[i].offset);
    if (status != SPARC_OK) return status;
  }
  for (size_t i = 0; i < cells_of(net); i++) {
    char name[BLOCK_NAME];
    name_cell(net, i, name);
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
