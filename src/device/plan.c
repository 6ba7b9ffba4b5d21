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

region region_take(size_t *bytes, size_t count) {
  enum { ALIGNMENT = 256 };
  const region taken = {*bytes, count * sizeof(float)};
  *bytes += ceil_quotient(taken.bytes, ALIGNMENT) * ALIGNMENT;
  return taken;
}

void cut_tokens(int n, size_t most, int *pieces, int *piece) {
  const size_t blocks = ceil_quotient((size_t)n, PRODUCT_BLOCK), limit = most < 1 ? 1 : most;
  *piece = (int)(ceil_quotient(blocks, limit) * PRODUCT_BLOCK);
  *pieces = (int)ceil_quotient((size_t)n, (size_t)*piece);
}

/* chunks of a sequence: enough groups for a large device, never so many that a chunk is short */
static int default_chunks(const plan_shape *s) {
  const size_t groups = (size_t)s->B * (size_t)s->tiles;
  size_t chunks = ceil_quotient(STRIP_GROUPS, groups);
  if (chunks > STRIP_CHUNKS) chunks = STRIP_CHUNKS;
  if (chunks > (size_t)s->T / STRIP_SHORTEST) chunks = (size_t)s->T / STRIP_SHORTEST;
  return chunks < 1 ? 1 : (int)chunks;
}

/* whole steps for every chunk but the last */
static int chunk_steps_of(int T, int chunks) {
  const int steps = (T + STRIP_STEP - 1) / STRIP_STEP;
  return (steps + chunks - 1) / chunks;
}

int device_chunks_of(int T, int chunks) {
  const int steps = (T + STRIP_STEP - 1) / STRIP_STEP, each = chunk_steps_of(T, chunks);
  return (steps + each - 1) / each;
}

static void cut_time(plan_shape *s, int chunks) {
  s->tiles = (s->H + STRIP_MODES - 1) / STRIP_MODES;
  s->steps = (s->T + STRIP_STEP - 1) / STRIP_STEP;
  if (chunks == 0) chunks = default_chunks(s);
  s->chunk_steps = chunk_steps_of(s->T, chunks);
  s->chunks = device_chunks_of(s->T, chunks);
  s->segments = (s->chunk_steps + STRIP_SEGMENT - 1) / STRIP_SEGMENT;
  s->pieces = (int)ceil_quotient((size_t)s->tokens, TOKEN_PIECE);
}

/* the gradient of the projection: pieces of tokens where its tiles alone are too few groups */
static void cut_weights(plan_shape *s) {
  const size_t tiles = ceil_quotient((size_t)s->columns, PRODUCT_EDGE) * ceil_quotient((size_t)s->D, PRODUCT_EDGE);
  cut_tokens(s->tokens, ceil_quotient(STRIP_GROUPS, tiles), &s->weight_pieces, &s->weight_piece);
}

static plan_shape shape_of(const device_cell *of_cell, const sparc_cell *cell, int B, int T,
                           const sparc_device_plan_config *config) {
  plan_shape s = {.B = B,
                  .T = T,
                  .D = cell->D,
                  .H = cell->H,
                  .tokens = B * T,
                  .parts = cell->parts,
                  .columns = cell->parts * cell->H,
                  .dense = !cell->direct_input,
                  .bf16 = config->bf16 != 0};
  const size_t tokens = (size_t)s.tokens, columns = (size_t)s.columns, D = (size_t)s.D, H = (size_t)s.H;
  const size_t streams = (size_t)B, sums = (size_t)cell->sums;
  cut_time(&s, config->chunks);
  cut_weights(&s);

  if (s.dense) s.weights = region_take(&s.prepared_bytes, columns * D);
  s.marks = region_take(&s.saved_bytes, streams * (size_t)s.steps * columns);
  if (s.dense) s.content = region_take(&s.saved_bytes, tokens * columns);
  if (s.chunks > 1) s.maps = region_take(&s.work_bytes, streams * (size_t)s.chunks * (2 * columns + 1));
  s.dcontent = region_take(&s.work_bytes, tokens * columns);
  s.sums = region_take(&s.work_bytes, streams * (size_t)s.chunks * (size_t)s.segments * sums * H);
  if (s.dense) s.weight_parts = region_take(&s.work_bytes, (size_t)s.weight_pieces * columns * D);
  of_cell->measure(cell, &s);
  return s;
}

/* ---- limits ------------------------------------------------------------------------------------- */

/* all arrays of a training step, and the largest block */
static size_t bytes_of(const sparc_cell *cell, const plan_shape *s, size_t *largest) {
  const size_t element = s->bf16 ? 2 : sizeof(float), tokens = (size_t)s->tokens;
  const size_t rows = tokens * element * (size_t)(s->D > s->columns ? s->D : s->columns);
  const size_t inputs = 2 * tokens * element * ((size_t)s->D + (size_t)s->columns);
  *largest = s->work_bytes > s->saved_bytes ? s->work_bytes : s->saved_bytes;
  if (rows > *largest) *largest = rows;
  return s->prepared_bytes + s->saved_bytes + s->work_bytes + inputs + 2 * cell->sizes.params * sizeof(float);
}

static bool fits(const sparc_device *device, const device_cell *of_cell, const sparc_cell *cell, int B, int T,
                 const sparc_device_plan_config *config, size_t *bytes) {
  const plan_shape shape = shape_of(of_cell, cell, B, T, config);
  size_t largest;
  *bytes = bytes_of(cell, &shape, &largest);
  return *bytes <= device->info.memory && largest <= device->info.largest;
}

static sparc_status check_memory(const sparc_device *device, const device_cell *of_cell, const sparc_cell *cell, int B,
                                 int T, const sparc_device_plan_config *config) {
  size_t needed, unused;
  if (fits(device, of_cell, cell, B, T, config, &needed)) return SPARC_OK;
  int low = 0, high = B; /* low fits or is 0, high does not */
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (fits(device, of_cell, cell, middle, T, config, &unused))
      low = middle;
    else
      high = middle;
  }
  if (low == 0)
    return fail(SPARC_NO_MEMORY,
                "one stream of %d steps does not fit: B = %d needs %zu bytes, %s has %zu (%zu a block)", T, B, needed,
                device->info.name, device->info.memory, device->info.largest);
  return fail(SPARC_NO_MEMORY, "B = %d needs %zu bytes, %s has %zu (%zu a block): B = %d would fit", B, needed,
              device->info.name, device->info.memory, device->info.largest, low);
}

/* offsets inside a step, numbers of tokens and of groups are 32-bit integers */
static sparc_status check_numbers(const sparc_cell *cell, int B, int T, const sparc_device_plan_config *config) {
  enum { WIDEST = 1 << 24, LONGEST = 1 << 30 };
  if (B < 1 || T < 1) return fail(SPARC_INVALID, "%s is %d, expected at least 1", B < 1 ? "B" : "T", B < 1 ? B : T);
  if (config->chunks < 0 || config->chunks > STRIP_CHUNKS)
    return fail(SPARC_INVALID, "chunks is %d, expected 0 to %d", config->chunks, STRIP_CHUNKS);
  if ((int64_t)B * T > LONGEST)
    return fail(SPARC_INVALID, "B * T = %d * %d tokens are beyond the 32-bit offsets of the kernels; at most %d", B, T,
                LONGEST);
  if (cell->D > WIDEST || cell->H > WIDEST)
    return fail(SPARC_INVALID, "%s is %d, beyond the 32-bit offsets of the kernels; at most %d",
                cell->D > WIDEST ? "D" : "H", cell->D > WIDEST ? cell->D : cell->H, WIDEST);
  const int64_t tiles = (cell->H + STRIP_MODES - 1) / STRIP_MODES;
  if (tiles * B * STRIP_CHUNKS > INT32_MAX)
    return fail(SPARC_INVALID, "B = %d streams of %d modes are too many groups for one launch", B, cell->H);
  return SPARC_OK;
}

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
      return s->chunks > 1;
    case KERNEL_project:
    case KERNEL_unproject:
    case KERNEL_weight_gradient:
      return s->dense;
    default:
      return plan->of_cell->needs(plan->cell, s, kernel);
  }
}

static void write_program(const sparc_device_plan *plan, program_text *text) {
  const struct {
    const char *name;
    int value;
  } numbers[] = {{"EXACT", !plan->device->fast},
                 {"WIDE_DOUBLE", plan->device->info.doubles},
                 {"BF16", plan->shape.bf16},
                 {"DIRECT", !plan->shape.dense},
                 {"PARTS", plan->shape.parts},
                 {"SUMS", plan->cell->sums},
                 {"MODES", STRIP_MODES},
                 {"SLICES", STRIP_SLICES},
                 {"RUN", STRIP_RUN},
                 {"SEGMENT", STRIP_SEGMENT},
                 {"PIECE", TOKEN_PIECE},
                 {"EDGE", PRODUCT_EDGE},
                 {"BLOCK", PRODUCT_BLOCK}};
  static const char *const products[] = {"PROJECT", "UNPROJECT", "WEIGHTS"};
  static const embedded_file *const common[] = {&kernel_dialect, &kernel_math, &kernel_tokens};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) text_define(text, numbers[i].name, numbers[i].value);
  plan->of_cell->define(plan->cell, text);
  for (size_t i = 0; i < sizeof common / sizeof *common; i++) text_append(text, common[i]);
  text_append(text, plan->of_cell->text);
  text_append(text, &kernel_strip);
  text_append(text, &kernel_sums);
  if (is_needed(plan, KERNEL_open_gates)) text_append(text, &kernel_gates);
  for (int i = 0; plan->shape.dense && i < 3; i++) text_define(text, products[i], i);
  for (int i = 0; plan->shape.dense && i < 3; i++) {
    text_print(text, "#undef PRODUCT\n#define PRODUCT %s\n", products[i]);
    text_append(text, &kernel_product);
  }
}

static sparc_status make_kernels(sparc_device_plan *plan) {
#define DEVICE_KERNEL_NAME(name) #name,
  static const char *const names[KERNELS] = {DEVICE_KERNELS(DEVICE_KERNEL_NAME)};
  program_text text = {NULL, 0, 0, false};
  write_program(plan, &text);
  sparc_status status = program_build(plan->device, &text, &plan->program);
  text_free(&text);
  for (int i = 0; i < KERNELS && status == SPARC_OK; i++)
    if (is_needed(plan, (kernel_id)i))
      status = plan->device->backend->kernel(plan->device->context, plan->program, names[i], &plan->kernel[i]);
  return status;
}

/* ---- plan --------------------------------------------------------------------------------------- */

static sparc_status make_host_arrays(sparc_device_plan *plan) {
  const sparc_sizes *sizes = &plan->cell->sizes;
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
  const sparc_device_plan_config chosen = config ? *config : (sparc_device_plan_config){0};
  const device_cell *of_cell = NULL;
  sparc_status status = find_cell(cell, &of_cell);
  if (status == SPARC_OK) status = check_numbers(cell, B, T, &chosen);
  if (status == SPARC_OK) status = check_memory(device, of_cell, cell, B, T, &chosen);
  if (status != SPARC_OK) return status;

  sparc_device_plan *plan = sparc_alloc(sizeof *plan);
  if (!plan) return fail(SPARC_NO_MEMORY, "no memory for a plan");
  *plan = (sparc_device_plan){
      .device = device, .cell = cell, .of_cell = of_cell, .shape = shape_of(of_cell, cell, B, T, &chosen)};
  status = make_host_arrays(plan);
  if (status == SPARC_OK) status = make_kernels(plan);
  if (status != SPARC_OK) {
    sparc_device_plan_free(plan);
    return status;
  }
  log_line("device plan: cell %s, B %d, T %d, %d chunks, %s", of_cell->kind, B, T, plan->shape.chunks,
           plan->shape.bf16 ? "bfloat16" : "float");
  *out = plan;
  return SPARC_OK;
}

void sparc_device_plan_free(sparc_device_plan *plan) {
  if (!plan) return;
  const device_backend *backend = plan->device->backend;
  for (int i = 0; i < KERNELS; i++)
    if (plan->kernel[i]) backend->release_kernel(plan->device->context, plan->kernel[i]);
  if (plan->program) backend->release_program(plan->device->context, plan->program);
  sparc_free(plan->params);
  sparc_free(plan->prepared);
  sparc_free(plan->image);
  sparc_free(plan);
}

int sparc_device_plan_chunks(const sparc_device_plan *plan) { return plan ? plan->shape.chunks : 0; }
size_t sparc_device_plan_prepared_bytes(const sparc_device_plan *plan) { return plan ? plan->shape.prepared_bytes : 0; }
size_t sparc_device_plan_saved_bytes(const sparc_device_plan *plan) { return plan ? plan->shape.saved_bytes : 0; }
size_t sparc_device_plan_work_bytes(const sparc_device_plan *plan) { return plan ? plan->shape.work_bytes : 0; }
