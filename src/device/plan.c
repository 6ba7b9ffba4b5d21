/* SPDX-License-Identifier: MIT */
/* plan.c: the shape of a sequence call on a device, its places in memory, and its kernels. Everything that can be wrong
 * with a shape is found here, once; everything that decides bits follows from the shape alone. */
#include "device/plan.h"

#include "base/error.h"
#include "device/kernels.h"

#include <stdint.h>
#include <string.h>

static const device_cell *const device_cells[] = {&device_cell_sparc, &device_cell_rtu, &device_cell_lru,
                                                  &device_cell_rglru};

/* ---- shape -------------------------------------------------------------------------------------- */

void cut_tokens(int n, size_t limit, int *pieces, int *piece) {
  const size_t blocks = ceil_quotient((size_t)n, PRODUCT_BLOCK), bound = limit < 1 ? 1 : limit;
  *piece = (int)(ceil_quotient(blocks, bound) * PRODUCT_BLOCK);
  *pieces = (int)ceil_quotient((size_t)n, (size_t)*piece);
}

/* the gradient of the projection: pieces of tokens where its tiles alone are too few groups */
static void cut_weights(plan_shape *s) {
  const size_t columns = (size_t)s->strip.columns, D = (size_t)s->D;
  const size_t tiles = ceil_quotient(columns, PRODUCT_EDGE) * ceil_quotient(D, PRODUCT_EDGE);
  cut_tokens(s->strip.tokens, ceil_quotient(STRIP_GROUPS, tiles), &s->weight_pieces, &s->weight_piece);
}

static plan_shape shape_of(const device_cell *of_cell, const sparc_cell *cell, int B, int T, int chunks) {
  plan_shape s = {.strip = strip_shape_of(B, T, cell->H, cell->parts, cell->sums, chunks),
                  .D = cell->D,
                  .dense = !cell->direct_input};
  const size_t tokens = (size_t)s.strip.tokens, columns = (size_t)s.strip.columns, D = (size_t)s.D;
  s.pieces = (int)ceil_quotient(tokens, TOKEN_PIECE);
  cut_weights(&s);

  if (s.dense) s.weights = region_take(&s.prepared_bytes, columns * D);
  s.marks = region_take(&s.saved_bytes, strip_marks(&s.strip));
  if (s.dense) s.content = region_take(&s.saved_bytes, tokens * columns);
  s.maps = region_take(&s.work_bytes, strip_maps(&s.strip));
  s.dcontent = region_take(&s.work_bytes, tokens * columns);
  s.sums = region_take(&s.work_bytes, strip_sums(&s.strip));
  if (s.dense) s.weight_parts = region_take(&s.work_bytes, (size_t)s.weight_pieces * columns * D);
  of_cell->measure(cell, &s);
  return s;
}

/* what is requested, to measure how many streams would fit */
typedef struct plan_request {
  const device_cell *of_cell;
  const sparc_cell *cell;
  int T;
  sparc_device_plan_config config;
} plan_request;

/* all arrays of a training step, and the largest block */
static size_t bytes_of(const void *context, int B, size_t *largest) {
  const plan_request *request = context;
  const plan_shape s = shape_of(request->of_cell, request->cell, B, request->T, request->config.chunks);
  const size_t element = request->config.bf16 ? 2 : sizeof(float), tokens = (size_t)s.strip.tokens;
  const size_t D = (size_t)s.D, columns = (size_t)s.strip.columns;
  const size_t rows = tokens * element * (D > columns ? D : columns);
  const size_t inputs = 2 * tokens * element * (D + columns);
  *largest = s.work_bytes > s.saved_bytes ? s.work_bytes : s.saved_bytes;
  if (rows > *largest) *largest = rows;
  return s.prepared_bytes + s.saved_bytes + s.work_bytes + inputs + 2 * request->cell->sizes.params * sizeof(float);
}

/* ---- cells -------------------------------------------------------------------------------------- */

static sparc_status find_cell(const sparc_cell *cell, const device_cell **out) {
  const char *kind = cell->about->kind.name;
  for (size_t i = 0; i < sizeof device_cells / sizeof *device_cells; i++) {
    if (strcmp(device_cells[i]->kind, kind) != 0) continue;
    const char *refusal = device_cells[i]->refusal ? device_cells[i]->refusal(cell) : NULL;
    if (refusal) return fail(SPARC_UNSUPPORTED, "cell %s with %s does not run on devices", kind, refusal);
    *out = device_cells[i];
    return SPARC_OK;
  }
  return fail(SPARC_UNSUPPORTED, "cell %s does not run on devices; sparc, rtu, lru and rglru do", kind);
}

sparc_status device_cell_check(const sparc_cell *cell) {
  const device_cell *unused;
  return find_cell(cell, &unused);
}

/* ---- kernels ------------------------------------------------------------------------------------ */

/* whether a plan uses a kernel, apart from those that a cell brings */
static bool is_needed(const sparc_device_plan *plan, kernel_id kernel) {
  const plan_shape *s = &plan->shape;
  switch (kernel) {
    case KERNEL_strip_forward:
    case KERNEL_strip_adjoint:
    case KERNEL_add_sums:
      return true;
    case KERNEL_strip_summary:
    case KERNEL_strip_adjoint_summary:
      return s->strip.chunks > 1;
    case KERNEL_step_streams:
      return s->strip.T == 1;
    case KERNEL_project:
    case KERNEL_unproject:
    case KERNEL_weight_gradient:
      return s->dense;
    default:
      return plan->of_cell->needs(plan->cell, s, kernel);
  }
}

static void write_program(const sparc_device_plan *plan, program_text *text) {
  static const char *const products[] = {"PROJECT", "UNPROJECT", "WEIGHTS"};
  const bool dense = plan->shape.dense;
  const definition numbers[] = {
      {"GIVEN", 0},   {"DIRECT", !dense}, {"PIECE", TOKEN_PIECE}, {"EDGE", PRODUCT_EDGE}, {"BLOCK", PRODUCT_BLOCK},
      {"PROJECT", 0}, {"UNPROJECT", 1},   {"WEIGHTS", 2}};
  strip_define(&plan->kernels, &plan->shape.strip, text);
  text_define(text, sizeof numbers / sizeof *numbers, numbers);
  plan->of_cell->define(plan->cell, text);
  text_append(text, &kernel_dialect);
  text_append(text, &kernel_math);
  text_append(text, &kernel_num);
  text_append(text, &kernel_tokens);
  for (size_t i = 0; plan->of_cell->texts[i]; i++) text_append(text, plan->of_cell->texts[i]);
  text_append(text, &kernel_strip);
  text_append(text, &kernel_sums);
  if (is_needed(plan, KERNEL_step_streams)) text_append(text, &kernel_step);
  for (int i = 0; dense && i < 3; i++) {
    text_print(text, "#undef PRODUCT\n#define PRODUCT %s\n", products[i]);
    text_append(text, &kernel_product);
  }
}

static sparc_status make_kernels(sparc_device_plan *plan) {
  program_text text = {NULL, 0, 0, false};
  bool needed[KERNELS];
  for (int i = 0; i < KERNELS; i++) needed[i] = is_needed(plan, (kernel_id)i);
  write_program(plan, &text);
  const sparc_status status = kernels_build(&plan->kernels, &text, needed);
  text_free(&text);
  return status;
}

/* ---- plan --------------------------------------------------------------------------------------- */

static sparc_status make_host_arrays(sparc_device_plan *plan) {
  const sparc_cell_sizes *sizes = &plan->cell->sizes;
  plan->params = sparc_alloc(sizes->params * sizeof(float));
  plan->prepared = sparc_alloc(sizes->prepared * sizeof(float));
  plan->image = sparc_alloc(plan->shape.prepared_bytes);
  return plan->params && plan->prepared && plan->image ? SPARC_OK
                                                       : fail(SPARC_NO_MEMORY, "no memory for a plan's parameters");
}

sparc_status sparc_device_plan_create(sparc_device *device, const sparc_cell *cell, int B, int T,
                                      const sparc_device_plan_config *config, sparc_device_plan **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the plan");
  *out = NULL;
  if (!device || !cell) return fail(SPARC_INVALID, "%s is NULL", device ? "cell" : "device");
  plan_request request = {.cell = cell, .T = T, .config = config ? *config : (sparc_device_plan_config){0}};
  sparc_status status = find_cell(cell, &request.of_cell);
  if (status == SPARC_OK) status = strip_check(B, T, cell->D, cell->H, request.config.chunks);
  if (status == SPARC_OK) status = check_batch(device, B, T, bytes_of, &request);
  if (status != SPARC_OK) return status;

  sparc_device_plan *plan = sparc_alloc(sizeof *plan);
  if (!plan) return fail(SPARC_NO_MEMORY, "no memory for a plan");
  *plan = (sparc_device_plan){.kernels = {.device = device, .bf16 = request.config.bf16 != 0},
                              .cell = cell,
                              .of_cell = request.of_cell,
                              .shape = shape_of(request.of_cell, cell, B, T, request.config.chunks)};
  status = make_host_arrays(plan);
  if (status == SPARC_OK) status = make_kernels(plan);
  if (status != SPARC_OK) {
    sparc_device_plan_free(plan);
    return status;
  }
  log_line("device plan: cell %s, B %d, T %d, %d chunks, %s", plan->of_cell->kind, B, T, plan->shape.strip.chunks,
           plan->kernels.bf16 ? "bfloat16" : "float");
  *out = plan;
  return SPARC_OK;
}

void sparc_device_plan_free(sparc_device_plan *plan) {
  if (!plan) return;
  kernels_free(&plan->kernels);
  sparc_free(plan->params);
  sparc_free(plan->prepared);
  sparc_free(plan->image);
  sparc_free(plan);
}

sparc_device_sizes sparc_device_plan_sizes_of(const sparc_device_plan *plan) {
  if (!plan) return (sparc_device_sizes){0};
  return (sparc_device_sizes){.prepared = plan->shape.prepared_bytes,
                              .saved = plan->shape.saved_bytes,
                              .work = plan->shape.work_bytes,
                              .chunks = plan->shape.strip.chunks};
}
