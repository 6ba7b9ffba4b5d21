/* SPDX-License-Identifier: MIT */
/* network.c: the description of a network: its layers, blocks, their names and initial draws, optimiser groups, sizes,
 * plans. Random streams are keyed by the names of blocks, so a block keeps its initial values when others are added or
 * removed.
 */
#include "nn/network.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cells/plan.h"
#include "kernels/kernels.h"
#include "nn/network_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- blocks ------------------------------------------------------------------------------------ */

/* blocks of the embedding, and of a head */
enum { BLOCKS_OF_EMBEDDING = 2, BLOCKS_PER_HEAD = 4 };

static const block_start zeros = {SPARC_START_ZEROS, 0}, lecun = {SPARC_START_LECUN, 0};

static block_start orthogonal_or_lecun(double gain) {
  return gain > 0 ? (block_start){SPARC_START_ORTHOGONAL, gain} : lecun;
}

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

static void add_embedding(sparc_network *net) {
  const sparc_network_config *config = &net->config;
  const size_t width = (size_t)config->width;
  if (reads_symbols(net)) {
    const block_start start = {SPARC_START_NORMAL, 1 / sqrt((double)width)};
    net->embed = (dense_offsets){.out = width};
    net->embed.weight = add(net, "embed", "weight", (size_t)config->symbols, width, start);
  } else if (has_embedding(net)) {
    net->embed = add_dense(net, "embed", (size_t)config->inputs, width, lecun);
  }
}

/* the layer's blocks; its spans keep their groups */
static void add_layer(sparc_network *net, sparc_layer *layer) {
  const size_t first = layer->params_at = net->sizes.params;
  for (size_t i = 0; i < layer->blocks; i++) {
    net->block[net->blocks] = layer->block[i];
    net->block[net->blocks].offset += first;
    net->start[net->blocks++] = (block_start){OWN_START, 0};
  }
  for (size_t i = 0; i < layer->spans; i++) {
    net->span[net->spans] = layer->span[i];
    net->span[net->spans++].offset += first;
  }
  net->sizes.params += layer->params;
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
  if (config->tied) {
    head->linear = (dense_offsets){.in = in, .out = (size_t)config->outputs, .weight = net->embed.weight};
    head->linear.bias = add(net, config->name, "bias", head->linear.out, 0, zeros);
  } else {
    head->linear = add_dense(net, config->name, in, (size_t)config->outputs, orthogonal_or_lecun(config->gain));
  }
  net->sizes.outputs += (size_t)config->outputs;
  net->pools |= config->input == SPARC_HEAD_MEAN;
}

static void add_blocks(sparc_network *net) {
  add_embedding(net);
  for (size_t i = 0; i < net->layers; i++) add_layer(net, net->layer[i]);
  for (int i = 0; i < net->config.heads; i++) add_head(net, (size_t)i);
}

/* ---- sizes ------------------------------------------------------------------------------------- */

/* prepared: a copy of params, then weights in the layouts of the kernels */
static void lay_out_prepared(sparc_network *net) {
  size_t end = round_elements(net->sizes.params);
  place_dense(&net->embed, &end);
  for (size_t i = 0; i < net->layers; i++)
    net->layer[i]->prepared_at = take_elements(&end, net->layer[i]->sizes.prepared);
  for (int i = 0; i < net->config.heads; i++) {
    place_dense(&net->head[i].hidden, &end);
    place_dense(&net->head[i].linear, &end);
  }
  net->sizes.prepared = end;
}

/* arrays that layers use alternately */
typedef struct shared_places {
  size_t tape, scratch, y, other;
} shared_places;

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static shared_places shared_places_of(const sparc_network *net) {
  shared_places most = {0};
  for (size_t i = 0; i < net->layers; i++) {
    const sparc_layer *layer = net->layer[i];
    most.tape = larger(most.tape, layer->sizes.tape);
    most.scratch = larger(most.scratch, layer->scratch);
    if (!layer->output_on_tape) most.y = larger(most.y, layer->sizes.outputs);
    if (i && !layer->in_place) most.other = larger(most.other, layer->sizes.outputs);
  }
  if (most.other) most.other = most.y;
  return most;
}

/* where each layer of a step reads and writes */
static void place_layers(sparc_network *net) {
  const network_tape_layout *at = &net->tape;
  size_t now = has_embedding(net) ? at->embedded : at->x;
  for (size_t i = 0; i < net->layers; i++) {
    sparc_layer *layer = net->layer[i];
    layer->x_place = now;
    if (layer->output_on_tape)
      now = at->layer + layer->output_place;
    else if (i == 0 || !layer->in_place)
      now = i && now == at->y ? at->other : at->y;
    layer->y_place = now;
  }
}

/* a gradient goes through one layer at most, so several share the arrays of one. The order is that of learner files. */
static void lay_out_tape(sparc_network *net) {
  const shared_places most = shared_places_of(net);
  network_tape_layout *at = &net->tape;
  const struct {
    size_t *place, length;
  } arrays[] = {
      {&at->x, (size_t)net->config.inputs},
      {&at->embedded, net->embed.out},
      {&at->layer, most.tape},
      {&at->y, most.y},
      {&at->pooled, net->pools ? net->features : 0},
      {&at->dfeatures, net->features},
      {&at->scratch, most.scratch},
  };
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    *arrays[i].place = take_elements(&at->total, arrays[i].length);
  for (int i = 0; i < net->config.heads; i++) {
    net->head[i].hidden_tape = take_elements(&at->total, net->head[i].hidden.out);
    net->head[i].dhidden_tape = take_elements(&at->total, net->head[i].hidden.out);
  }
  at->other = take_elements(&at->total, most.other);
  place_layers(net);
}

/* sensitivities exist for one layer around a cell, and those to an embedding where the cell reads it as it is; see
 * network_encoder_impl.h */
static void lay_out_traces(sparc_network *net) {
  const sparc_layer *layer = net->layer[0];
  const size_t rows = net->embed.in ? net->embed.in + 2 : 0;
  if (net->layers > 1 || net->pools || !layer->cell) return;
  net->sizes.trace = layer->cell->sizes.trace;
  if (layer->cell_reads_input && net->sizes.trace && !reads_symbols(net))
    net->sizes.trace_exact = net->sizes.trace + layer->cell->sizes.state * net->embed.out * rows;
}

static void find_cell(sparc_network *net) {
  for (size_t i = 0; i < net->layers && !net->cell; i++) {
    const sparc_layer *layer = net->layer[i];
    net->cell = layer->cell;
    net->cell_params = layer->params_at + layer->cell_params;
    net->cell_prepared = layer->prepared_at + layer->cell_prepared;
  }
}

static void lay_out(sparc_network *net) {
  add_blocks(net);
  lay_out_prepared(net);
  lay_out_tape(net);
  for (size_t i = 0; i < net->layers; i++) {
    net->layer[i]->state_at = net->pool;
    net->pool += net->layer[i]->sizes.state;
  }
  net->sizes.state = net->pool + (net->pools ? net->features + 1 : 0);
  net->sizes.tape = net->tape.total;
  lay_out_traces(net);
  find_cell(net);
}

/* ---- life cycle -------------------------------------------------------------------------------- */

enum { MAX_WIDTH = 1 << 20, MAX_DEPTH = 1024, MAX_SYMBOLS = 1 << 24 };

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
                                {"head.kind", (int)head->kind, 0, SPARC_HEAD_VALUES},
                                {"head.tied", head->tied, 0, 1},
                                {"outputs", head->outputs, 1, head->tied ? MAX_SYMBOLS : MAX_WIDTH},
                                {"hidden", head->hidden, 0, constant ? 0 : MAX_WIDTH}};
  sparc_status status = check_ranges(checks, sizeof checks / sizeof *checks);
  if (status != SPARC_OK) return status;
  const struct {
    const char *name;
    double value;
  } gains[] = {{"gain", head->gain}, {"hidden_gain", head->hidden_gain}};
  for (size_t i = 0; i < sizeof gains / sizeof *gains; i++)
    if (!(gains[i].value >= 0 && gains[i].value <= (double)MAX_WIDTH))
      return fail(SPARC_INVALID, "%s is %g, expected 0 to %d", gains[i].name, gains[i].value, (int)MAX_WIDTH);
  if (head->name && (!*head->name || strlen(head->name) >= HEAD_NAME))
    return fail(SPARC_INVALID, "head.name is '%.40s', expected 1 to %d characters", head->name, HEAD_NAME - 1);
  return SPARC_OK;
}

static sparc_status check_tied(const sparc_network_config *config, const sparc_head_config *head) {
  if (!head->tied) return SPARC_OK;
  if (config->embedding != SPARC_EMBED_SYMBOLS || head->input == SPARC_HEAD_CONSTANT || head->hidden)
    return fail(SPARC_INVALID, "head.tied is %d, expected 0 without a table of symbols, or with a hidden layer",
                head->tied);
  if (head->outputs != config->symbols)
    return fail(SPARC_INVALID, "outputs is %d, expected the %d symbols of a tied head", head->outputs, config->symbols);
  return SPARC_OK;
}

/* without kinds of their own, layers read a residual stream, and a bare cell has features */
static sparc_status check_config(const sparc_network_config *config) {
  const int named = config->layer != NULL, alike = !named && config->layers > 0;
  const int symbols = config->embedding == SPARC_EMBED_SYMBOLS;
  const int embedded = alike || config->embedding != SPARC_EMBED_NONE;
  const range_check checks[] = {
      {"inputs", config->inputs, 1, symbols ? 1 : MAX_WIDTH},
      {"layers", config->layers, named, MAX_DEPTH},
      {"embedding", (int)config->embedding, alike ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE, SPARC_EMBED_SYMBOLS},
      {"symbols", config->symbols, 0, symbols ? MAX_SYMBOLS : 0},
      {"width", config->width, embedded ? 1 : 0, MAX_WIDTH},
      {"features", (int)config->features, 0, alike ? SPARC_FEATURES_OUTPUT : SPARC_FEATURES_POLICY},
      {"init", (int)config->init, 0, SPARC_INIT_RELEASED},
      {"heads", config->heads, 1, MAX_HEADS}};
  sparc_status status = check_ranges(checks, sizeof checks / sizeof *checks);
  if (status != SPARC_OK) return status;
  if (symbols && config->symbols < 1)
    return fail(SPARC_INVALID, "embedding is symbols, but symbols is %d, expected how many there are", config->symbols);
  if (!(config->dropout >= 0 && config->dropout < 1))
    return fail(SPARC_INVALID, "dropout is %g, expected 0 to below 1", config->dropout);
  if (!config->head) return fail(SPARC_INVALID, "head is NULL, expected %d heads", config->heads);
  for (int i = 0; i < config->heads && status == SPARC_OK; i++) {
    status = check_head(&config->head[i]);
    if (status == SPARC_OK) status = check_tied(config, &config->head[i]);
  }
  return status;
}

/* a head whose name makes a block that exists; blocks of heads are the last */
static sparc_status check_names(const sparc_network *net) {
  const size_t most = BLOCKS_PER_HEAD * (size_t)net->config.heads;
  for (size_t i = net->blocks > most ? net->blocks - most : 0; i < net->blocks; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(net->block[i].name, net->block[k].name) == 0)
        return fail(SPARC_INVALID, "two blocks are called '%s', expected heads with names of their own",
                    net->block[i].name);
  return SPARC_OK;
}

/* the features of tied heads must be as wide as a row of the table */
static sparc_status check_features(const sparc_network *net) {
  for (int i = 0; i < net->config.heads; i++)
    if (net->head_config[i].tied && net->features != (size_t)net->config.width)
      return fail(SPARC_INVALID, "a tied head reads %zu features, expected the width %d of the table", net->features,
                  net->config.width);
  return SPARC_OK;
}

static sparc_status create_layers(sparc_network *net, const sparc_network_config *config) {
  const size_t layers = config->layers ? (size_t)config->layers : 1;
  net->layer = sparc_alloc(layers * sizeof(sparc_layer *));
  if (!net->layer) return fail(SPARC_NO_MEMORY, "no memory for %zu layers", layers);
  size_t width = (size_t)(config->embedding == SPARC_EMBED_NONE ? config->inputs : config->width);
  for (size_t i = 0; i < layers; i++) {
    const sparc_layer_config *kind = config->layer ? &config->layer[i] : NULL;
    const sparc_status status = layer_create(config, kind, net->kernels, i, width, &net->layer[i]);
    if (status != SPARC_OK) return status;
    net->layers++;
    width = net->layer[i]->sizes.outputs;
  }
  net->features = width;
  return SPARC_OK;
}

static sparc_status allocate_tables(sparc_network *net, const sparc_network_config *config) {
  size_t blocks = BLOCKS_OF_EMBEDDING + BLOCKS_PER_HEAD * (size_t)config->heads, spans = blocks;
  for (size_t i = 0; i < net->layers; i++) {
    blocks += net->layer[i]->blocks;
    spans += net->layer[i]->spans;
  }
  net->block = sparc_alloc(blocks * sizeof *net->block);
  net->start = sparc_alloc(blocks * sizeof *net->start);
  net->name = sparc_alloc(blocks * sizeof *net->name);
  net->span = sparc_alloc(spans * sizeof *net->span);
  bool full = net->block && net->start && net->name && net->span;
  if (config->layer) {
    net->layer_config = sparc_alloc(net->layers * sizeof *net->layer_config);
    net->layer_text = sparc_alloc(net->layers * sizeof *net->layer_text);
    full = full && net->layer_config && net->layer_text;
  }
  return full ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the tables of a network of %zu layers", net->layers);
}

/* the resolved configuration of the network, with copies of all strings */
static void keep_config(sparc_network *net, const sparc_network_config *config) {
  const sparc_cell *cell = NULL;
  for (size_t i = 0; i < net->layers && !cell; i++) cell = net->layer[i]->cell;
  net->config = *config;
  net->config.cell = sparc_cell_config_of(cell).kind;
  net->config.cell_options = sparc_cell_config_of(cell).options;
  net->config.kernel = net->kernels->name;
  net->config.head = net->head_config;
  for (int i = 0; i < config->heads; i++) {
    net->head_config[i] = config->head[i];
    snprintf(net->head_name[i], HEAD_NAME, "%s", config->head[i].name ? config->head[i].name : "head");
    net->head_config[i].name = net->head_name[i];
  }
  net->config.layer = net->layer_config;
  for (size_t i = 0; config->layer && i < net->layers; i++) {
    const char *given = config->layer[i].options ? config->layer[i].options : "", *resolved = net->layer[i]->resolved;
    snprintf(net->layer_text[i], OPTIONS_TEXT, "%s", *resolved ? resolved : given);
    net->layer_config[i] = (sparc_layer_config){net->layer[i]->kind->name, net->layer_text[i]};
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
  status = kernels_choose(config->kernel, &net->kernels);
  if (status == SPARC_OK) status = create_layers(net, config);
  if (status == SPARC_OK) status = allocate_tables(net, config);
  if (status == SPARC_OK) {
    keep_config(net, config);
    status = check_features(net);
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
  for (size_t i = 0; i < net->layers; i++) layer_free(net->layer[i]);
  void *const tables[] = {net->layer, net->layer_config, net->layer_text, net->block, net->start, net->name, net->span};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) sparc_free(tables[i]);
  sparc_free(net);
}

sparc_network_config sparc_network_config_of(const sparc_network *net) {
  return net ? net->config : (sparc_network_config){0};
}
sparc_network_sizes sparc_network_sizes_of(const sparc_network *net) {
  return net ? net->sizes : (sparc_network_sizes){0};
}
const sparc_cell *network_cell(const sparc_network *net) { return net ? net->cell : NULL; }

const sparc_block *sparc_network_blocks(const sparc_network *net, size_t *count) {
  if (count) *count = net ? net->blocks : 0;
  return net ? net->block : NULL;
}

const sparc_span *sparc_network_spans(const sparc_network *net, size_t *count) {
  if (count) *count = net ? net->spans : 0;
  return net ? net->span : NULL;
}

/* ---- initial draws (docs/training.md) -------------------------------------------------------------- */

sparc_status sparc_network_init(const sparc_network *net, uint64_t seed, float *params) {
  if (!net || !params) return fail(SPARC_INVALID, "%s is NULL", net ? "params" : "network");
  memset(params, 0, net->sizes.params * sizeof *params);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < net->blocks && status == SPARC_OK; i++)
    status = block_init(&net->block[i], net->start[i], seed, params + net->block[i].offset);
  for (size_t i = 0; i < net->layers && status == SPARC_OK; i++)
    status = layer_init(net->layer[i], net->config.init, seed, params + net->layer[i]->params_at);
  return status;
}

/* ---- plans ------------------------------------------------------------------------------------- */

/* the widest row that a token has */
static size_t widest_row(const sparc_network *net) {
  size_t widest = larger((size_t)net->config.inputs, net->embed.out);
  for (size_t i = 0; i < net->layers; i++) {
    const sparc_layer *layer = net->layer[i];
    widest = larger(widest, larger(layer->sizes.outputs, layer->cell ? plan_row(layer->cell) : 0));
  }
  return widest;
}

static sparc_status plan_layers(sparc_network_plan *plan, int threads) {
  const sparc_network *net = plan->network;
  for (size_t i = 0; i < net->layers; i++) {
    const sparc_layer_kind *kind = net->layer[i]->kind;
    if (!kind->plan_create) continue;
    const sparc_status status = kind->plan_create(net->layer[i], plan->B, plan->T, threads, &plan->layer[i]);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

sparc_status sparc_network_plan_create(const sparc_network *net, int B, int T, int threads, sparc_network_plan **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the plan");
  *out = NULL;
  if (!net) return fail(SPARC_INVALID, "network is NULL");
  int useful = 1;
  sparc_status status = plan_check(B, T, threads, widest_row(net), 0, &useful);
  if (status != SPARC_OK) return status;
  sparc_network_plan *plan = sparc_alloc(sizeof *plan);
  if (!plan) return fail(SPARC_NO_MEMORY, "no memory for a plan");
  *plan = (sparc_network_plan){.network = net,
                               .executor = &cpu_executor,
                               .layer = sparc_alloc(net->layers * sizeof *plan->layer),
                               .B = B,
                               .T = T,
                               .threads = useful,
                               .tokens = (size_t)B * (size_t)T};
  status = plan->layer ? plan_layers(plan, threads) : fail(SPARC_NO_MEMORY, "no memory for a plan");
  if (status != SPARC_OK) {
    sparc_network_plan_free(plan);
    return status;
  }
  *out = plan;
  return SPARC_OK;
}

size_t sparc_network_plan_work_bytes(const sparc_network_plan *plan, sparc_precision precision) {
  if (plan && precision == SPARC_FLOAT32) return network_plan_work_bytes_f32(plan);
#ifndef SPARC_INFERENCE /* which has float alone */
  if (plan && precision == SPARC_FLOAT64) return network_plan_work_bytes_f64(plan);
#endif
  return 0;
}

void sparc_network_plan_free(sparc_network_plan *plan) {
  if (!plan) return;
  for (size_t i = 0; plan->layer && i < plan->network->layers; i++)
    if (plan->network->layer[i]->kind->plan_free) plan->network->layer[i]->kind->plan_free(plan->layer[i]);
  sparc_free(plan->layer);
  sparc_free(plan);
}
