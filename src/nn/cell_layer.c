/* SPDX-License-Identifier: MIT */
/* cell_layer.c: the two kinds of layers around one cell: options, blocks, sizes, plans.
 *
 * A residual layer is that of the paper's classification experiments [app:bptt_details]: pre-norm, one direction.
 * Parameters that reach a cell's state are recurrent, all others regular; the cell's table defines which of its blocks
 * are which.
 */
#include "nn/cell_layer.h"

#include "base/error.h"
#include "kernels/kernels.h"
#include "nn/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- options ----------------------------------------------------------------------------------- */

enum { MODES, SECOND, OPTION_COUNT }; /* of both kinds: H, then dropout or features */

static const char *const feature_names[] = {"output", "relu", "policy", NULL}; /* as sparc_features */

/* defaults are those of the network's configuration */
static const sparc_option residual_options[] = {
    {.name = "H", .type = SPARC_OPTION_INT, .low = 1, .high = 1 << 20},
    {.name = "dropout", .type = SPARC_OPTION_REAL, .fallback = -1, .high = 0.99},
    {.name = NULL}};
static const sparc_option cell_options[] = {
    {.name = "H", .type = SPARC_OPTION_INT, .low = 1, .high = 1 << 20},
    {.name = "features", .type = SPARC_OPTION_CHOICE, .fallback = -1, .choices = feature_names},
    {.name = NULL}};

/* the layer's own options, and those of its cell */
typedef struct cell_request {
  char cell[BLOCK_NAME], own[OPTIONS_TEXT], rest[OPTIONS_TEXT];
} cell_request;

static bool is_own(const sparc_option *rules, const char *item, size_t key) {
  for (size_t i = 0; rules[i].name; i++)
    if (strlen(rules[i].name) == key && strncmp(rules[i].name, item, key) == 0) return true;
  return false;
}

/* text is shorter than OPTIONS_TEXT, and so are its parts */
static void split_options(const sparc_option *rules, const char *text, cell_request *out) {
  *out = (cell_request){.cell = ""};
  for (size_t n; *text; text += n + (text[n] == ',')) {
    n = strcspn(text, ",");
    const size_t key = strcspn(text, "=,");
    char *to = is_own(rules, text, key) ? out->own : out->rest;
    if (key == 4 && strncmp(text, "cell", key) == 0 && n > key)
      snprintf(out->cell, sizeof out->cell, "%.*s", (int)(n - key - 1), text + key + 1);
    else if (n)
      snprintf(to + strlen(to), OPTIONS_TEXT - strlen(to), "%s%.*s", *to ? "," : "", (int)n, text);
  }
}

/* options that give the same layer in a network whose configuration names another cell */
static sparc_status resolve_options(sparc_layer *layer, const cell_request *request) {
  const int length =
      snprintf(layer->resolved, sizeof layer->resolved, "cell=%s%s%s,%s", sparc_cell_config_of(layer->cell).kind,
               *request->own ? "," : "", request->own, sparc_cell_config_of(layer->cell).options);
  if (length < (int)sizeof layer->resolved) return SPARC_OK;
  return fail(SPARC_INVALID,
              "options of layer %zu with those of its cell are %d characters long, at most %d are allowed",
              layer->index, length, OPTIONS_TEXT - 1);
}

/* the layer's cell, and its own options */
static sparc_status create_cell(sparc_layer *layer, const sparc_option *rules, double values[MAX_OPTIONS]) {
  const sparc_network_config *network = layer->network;
  const char *text = layer->text ? layer->text : "";
  if (strlen(text) >= OPTIONS_TEXT)
    return fail(SPARC_INVALID, "options of layer %zu are %zu characters long, at most %d are allowed", layer->index,
                strlen(text), OPTIONS_TEXT - 1);
  cell_request request;
  split_options(rules, text, &request);
  char owner[BLOCK_NAME];
  snprintf(owner, sizeof owner, "layer %s", layer->kind->name);
  sparc_status status = options_parse(owner, rules, request.own, values);
  if (status != SPARC_OK) return status;
  const bool is_default = !*request.cell || (network->cell && strcmp(request.cell, network->cell) == 0);
  const sparc_cell_config config = {.kind = is_default ? network->cell : request.cell,
                                    .D = (int)layer->inputs,
                                    .H = values[MODES] > 0 ? (int)values[MODES] : network->H,
                                    .options = *request.rest ? request.rest
                                               : is_default  ? network->cell_options
                                                             : NULL,
                                    .kernel = network->kernel};
  status = sparc_cell_create(&config, &layer->cell);
  return status == SPARC_OK && network->layer ? resolve_options(layer, &request) : status;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static size_t add(sparc_layer *layer, const char *name, size_t rows, size_t cols, sparc_start start, double scale) {
  return sparc_layer_add_block(layer, name, SPARC_REGULAR, (int)rows, (int)cols, start, scale);
}

static readout_offsets add_readout(sparc_layer *layer, bool has_im, size_t out) {
  const size_t H = (size_t)layer->cell->H;
  const double stddev = 1 / sqrt((double)H);
  readout_offsets at = {.in = has_im ? 2 * H : H, .out = out, .has_im = has_im};
  at.re = add(layer, has_im ? "readout.re" : "readout.weight", out, H, SPARC_START_NORMAL, stddev);
  if (has_im) at.im = add(layer, "readout.im", out, H, SPARC_START_NORMAL, stddev);
  return at;
}

static void add_residual_blocks(sparc_layer *layer, cell_layer *at) {
  const size_t width = at->width;
  const cell_readout readout = layer->cell->about->kind.readout;
  at->norm_scale = add(layer, "norm.scale", width, 0, SPARC_START_ONES, 0);
  at->norm_bias = add(layer, "norm.bias", width, 0, SPARC_START_ZEROS, 0);
  layer_add_cell(layer);
  if (readout != READOUT_NONE) {
    at->readout = add_readout(layer, readout == READOUT_COMPLEX, width);
    at->skip = add(layer, "readout.skip", width, 0, SPARC_START_NORMAL, 1);
  }
  at->glu = (dense_offsets){.in = width, .out = 2 * width};
  at->glu.weight = add(layer, "glu.value.weight", width, width, SPARC_START_LECUN, 0);
  add(layer, "glu.gate.weight", width, width, SPARC_START_LECUN, 0);
  at->glu.bias = add(layer, "glu.value.bias", width, 0, SPARC_START_ZEROS, 0);
  add(layer, "glu.gate.bias", width, 0, SPARC_START_ZEROS, 0);
}

/* ---- sizes ------------------------------------------------------------------------------------- */

typedef struct place {
  size_t *at, length;
} place;

static size_t take_places(const place *places, size_t count) {
  size_t end = 0;
  for (size_t i = 0; i < count; i++) *places[i].at = take_elements(&end, places[i].length);
  return end;
}

/* the orders of both tables are those of learner files */
static void lay_out_tape(sparc_layer *layer, cell_layer *at) {
  const sparc_cell_sizes *cell = &layer->cell->sizes;
  const size_t width = at->width, read = width ? at->readout.out : 0;
  const place tape[] = {{&at->state, cell->state},  {&at->tape, cell->tape},    {&at->y, cell->output},
                        {&at->mean, width ? 1 : 0}, {&at->rstd, width ? 1 : 0}, {&at->normed, width},
                        {&at->read, read},          {&at->gelu, width},         {&at->gated, 2 * width}};
  const place scratch[] = {{&at->dy, cell->output}, {&at->dx, (size_t)layer->cell->D}, {&at->dread, read},
                           {&at->dgelu, width},     {&at->dgated, 2 * width},          {&at->split, at->readout.in}};
  layer->sizes.tape = take_places(tape, sizeof tape / sizeof *tape);
  layer->scratch = take_places(scratch, sizeof scratch / sizeof *scratch);
}

/* after the blocks: prepared weights, state, tape, and the places of the cell */
static void finish(sparc_layer *layer, cell_layer *at) {
  layer->sizes.prepared = 0;
  layer->cell_prepared = take_elements(&layer->sizes.prepared, layer->cell->sizes.prepared);
  place_readout(&at->readout, &layer->sizes.prepared);
  place_dense(&at->glu, &layer->sizes.prepared);
  layer->sizes.state = layer->cell->sizes.state;
  lay_out_tape(layer, at);
  layer->cut_f32 = cell_layer_cut_f32.table;
  layer->cut_f64 = IN_DOUBLE(cell_layer_cut_f64.table);
}

static sparc_status take_own(sparc_layer *layer, cell_layer **at) {
  *at = layer->own = sparc_alloc(sizeof **at);
  return *at ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for layer %zu", layer->index);
}

/* ---- layouts ----------------------------------------------------------------------------------- */

static sparc_status lay_out_residual(sparc_layer *layer, sparc_layer_sizes *sizes) {
  (void)sizes; /* the output is as wide as the input */
  double value[MAX_OPTIONS] = {0};
  cell_layer *at;
  sparc_status status = take_own(layer, &at);
  if (status == SPARC_OK) status = create_cell(layer, residual_options, value);
  if (status != SPARC_OK) return status;
  at->width = layer->inputs;
  at->dropout = value[SECOND] >= 0 ? value[SECOND] : layer->network->dropout;
  add_residual_blocks(layer, at);
  finish(layer, at);
  layer->in_place = true;
  return SPARC_OK;
}

static cell_features features_of(const sparc_cell *cell, int features) {
  if (features == SPARC_FEATURES_POLICY) return cell->about->kind.features;
  return features == SPARC_FEATURES_RELU ? POLICY_RELU : POLICY_OUTPUT;
}

static sparc_status lay_out_cell(sparc_layer *layer, sparc_layer_sizes *sizes) {
  double value[MAX_OPTIONS] = {0};
  cell_layer *at;
  sparc_status status = take_own(layer, &at);
  if (status == SPARC_OK) status = create_cell(layer, cell_options, value);
  if (status != SPARC_OK) return status;
  const int features = value[SECOND] >= 0 ? (int)value[SECOND] : (int)layer->network->features;
  layer_add_cell(layer);
  at->reads = features_of(layer->cell, features);
  if (at->reads == POLICY_READOUT) at->readout = add_readout(layer, true, (size_t)layer->cell->H);
  finish(layer, at);
  sizes->outputs = at->reads == POLICY_READOUT ? at->readout.out : layer->cell->sizes.output;
  layer->cell_reads_input = true;
  layer->output_on_tape = !has_features(at) && !layer->network->layer;
  layer->output_place = at->y;
  return SPARC_OK;
}

/* ---- plans ------------------------------------------------------------------------------------- */

static sparc_status create_plan(const sparc_layer *layer, int B, int T, int threads, void **out) {
  cell_layer_plan *plan = sparc_alloc(sizeof *plan);
  if (!plan) return fail(SPARC_NO_MEMORY, "no memory for a plan");
  plan->executor = &cpu_executor;
  const sparc_status status =
      sparc_plan_create(layer->cell, B, T, &(sparc_plan_config){.threads = threads}, &plan->cell);
  if (status != SPARC_OK) {
    sparc_free(plan);
    return status;
  }
  *out = plan;
  return SPARC_OK;
}

static void free_plan(void *context) {
  cell_layer_plan *plan = context;
  if (!plan) return;
  sparc_plan_free(plan->cell);
  sparc_free(plan);
}

/* ---- kinds ------------------------------------------------------------------------------------- */

const sparc_layer_kind layer_residual = {.name = "residual",
                                         .summary = "layer norm, cell, readout, GELU, gated linear unit, residual",
                                         .layout = lay_out_residual,
                                         .ops = &cell_layer_ops_f32,
                                         .ops_f64 = IN_DOUBLE(&cell_layer_ops_f64),
                                         .plan_create = create_plan,
                                         .plan_free = free_plan};

const sparc_layer_kind layer_cell = {.name = "cell",
                                     .summary = "a cell and the features of its output",
                                     .layout = lay_out_cell,
                                     .ops = &cell_layer_ops_f32,
                                     .ops_f64 = IN_DOUBLE(&cell_layer_ops_f64),
                                     .plan_create = create_plan,
                                     .plan_free = free_plan};
