/* SPDX-License-Identifier: MIT */
/* scan.c: scans with given coefficients on a device: the strips of the cells without a projection or a write. The
 * spectral scan gets two controls per token and recomputes transitions, the real scan is given them. States are made
 * again from the marks of forward and from b, so that h in bfloat16 costs the gradients nothing. */
#include "kernels/scan.h"

#include "base/error.h"
#include "device/kernels.h"
#include "device/strip.h"

#include <math.h>

/* rows of the constants of a spectral scan; kappa_r and kappa_p follow */
enum { SCAN_NU, SCAN_COS, SCAN_SIN, SCAN_CONSTANTS };
enum { SCAN_SUMS = 2 }; /* gradients by nu and by theta */

typedef struct scan_shape {
  strip_shape strip;
  region constants;             /* prepared */
  region of_tokens, marks;      /* saved */
  region maps, dcontrols, sums; /* work */
  size_t prepared_bytes, saved_bytes, work_bytes;
} scan_shape;

struct sparc_device_scan {
  sparc_device_scan_config config;
  scan_shape shape;
  kernel_set kernels;
  float *image; /* of the constants; after it nu and theta */
};

static bool is_spectral(const sparc_device_scan_config *c) { return c->kind == SPARC_SCAN_SPECTRAL; }

/* ---- shape -------------------------------------------------------------------------------------- */

static scan_shape shape_of(const sparc_device_scan_config *c, int B) {
  const bool spectral = is_spectral(c);
  scan_shape s = {.strip = strip_shape_of(B, c->T, c->H, spectral ? 2 : 1, spectral ? SCAN_SUMS : 0, c->chunks)};
  s.marks = region_take(&s.saved_bytes, strip_marks(&s.strip));
  s.maps = region_take(&s.work_bytes, strip_maps(&s.strip));
  if (!spectral) return s;
  s.constants = region_take(&s.prepared_bytes, SCAN_CONSTANTS * (size_t)c->H + 2);
  s.of_tokens = region_take(&s.saved_bytes, 4 * (size_t)s.strip.tokens);
  s.dcontrols = region_take(&s.work_bytes, strip_dcontrols(&s.strip));
  s.sums = region_take(&s.work_bytes, strip_sums(&s.strip));
  return s;
}

/* all arrays of forward and backward, and the largest block */
static size_t bytes_of(const void *context, int B, size_t *largest) {
  const sparc_device_scan_config *c = context;
  const scan_shape s = shape_of(c, B);
  const size_t element = c->bf16 ? 2 : sizeof(float), tokens = (size_t)s.strip.tokens;
  const size_t rows = tokens * (size_t)s.strip.columns * element;
  const size_t given = tokens * sizeof(float) * (is_spectral(c) ? 2 : (size_t)c->H);
  *largest = s.work_bytes > s.saved_bytes ? s.work_bytes : s.saved_bytes;
  if (rows > *largest) *largest = rows;
  if (given > *largest) *largest = given;
  return s.prepared_bytes + s.saved_bytes + s.work_bytes + 4 * rows + 2 * given;
}

static sparc_status check_config(const sparc_device_scan_config *c) {
  if (c->kind != SPARC_SCAN_SPECTRAL && c->kind != SPARC_SCAN_REAL)
    return fail(SPARC_INVALID, "kind is %d, expected SPARC_SCAN_SPECTRAL or SPARC_SCAN_REAL", (int)c->kind);
  if (!(c->kappa_r >= 0 && c->kappa_r <= 16))
    return fail(SPARC_INVALID, "kappa_r is %g, expected 0 to 16", (double)c->kappa_r);
  if (!(c->kappa_p >= 0 && c->kappa_p <= 64))
    return fail(SPARC_INVALID, "kappa_p is %g, expected 0 to 64", (double)c->kappa_p);
  return strip_check(c->B, c->T, 1, c->H, c->chunks);
}

/* ---- kernels ------------------------------------------------------------------------------------ */

static void write_program(const sparc_device_scan *scan, program_text *text) {
  const bool spectral = is_spectral(&scan->config);
  const definition numbers[] = {{"GIVEN", 1},
                                {"DIRECT", 1},
                                {"SHARED", spectral},
                                {"GATES", spectral ? 0 : 1},
                                {"SPECTRUM", 0},
                                {"CONTROLLED", spectral},
                                {"WIDE_TURN", (double)scan->config.kappa_p > (double)LARGEST_PHASE},
                                {"ADAPTIVE_DECAY", 1},
                                {"CLOCK_LIVE", CLOCK_LIVE},
                                {"CLOCK_STATIC", CLOCK_STATIC},
                                {"CLOCK_OFF", CLOCK_OFF},
                                {"CLOCK", CLOCK_LIVE},
                                {"K_NU", SCAN_NU},
                                {"K_COS", SCAN_COS},
                                {"K_SIN", SCAN_SIN}};
  strip_define(&scan->kernels, &scan->shape.strip, text);
  text_define(text, sizeof numbers / sizeof *numbers, numbers);
  text_print(text, "#define DECAY_FLOOR %.17gf\n", (double)DECAY_FLOOR_F32);
  text_append(text, &kernel_dialect);
  text_append(text, &kernel_math);
  text_append(text, &kernel_num);
  text_append(text, &kernel_tokens);
  if (spectral) text_append(text, &kernel_transition);
  text_append(text, spectral ? &kernel_scan_spectral : &kernel_scan_real);
  text_append(text, &kernel_strip);
  text_append(text, &kernel_sums);
}

static sparc_status make_kernels(sparc_device_scan *scan) {
  const bool spectral = is_spectral(&scan->config), chunks = scan->shape.strip.chunks > 1;
  const bool needed[KERNELS] = {[KERNEL_strip_forward] = true,      [KERNEL_strip_adjoint] = true,
                                [KERNEL_strip_summary] = chunks,    [KERNEL_strip_adjoint_summary] = chunks,
                                [KERNEL_given_controls] = spectral, [KERNEL_given_controls_adjoint] = spectral,
                                [KERNEL_add_sums] = spectral,       [KERNEL_check_mask] = !spectral};
  program_text text = {NULL, 0, 0, false};
  write_program(scan, &text);
  const sparc_status status = kernels_build(&scan->kernels, &text, needed);
  text_free(&text);
  return status;
}

/* ---- scan --------------------------------------------------------------------------------------- */

sparc_status sparc_device_scan_create(sparc_device *device, const sparc_device_scan_config *config,
                                      sparc_device_scan **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the scan");
  *out = NULL;
  if (!device || !config) return fail(SPARC_INVALID, "%s is NULL", device ? "config" : "device");
  sparc_status status = check_config(config);
  if (status == SPARC_OK) status = check_batch(device, config->B, config->T, bytes_of, config);
  if (status != SPARC_OK) return status;
  sparc_device_scan *scan = sparc_alloc(sizeof *scan);
  if (!scan) return fail(SPARC_NO_MEMORY, "no memory for a scan");
  *scan = (sparc_device_scan){.config = *config,
                              .shape = shape_of(config, config->B),
                              .kernels = {.device = device, .bf16 = config->bf16 != 0}};
  scan->image = sparc_alloc(scan->shape.prepared_bytes + 2 * (size_t)config->H * sizeof(float));
  status = scan->image ? make_kernels(scan) : fail(SPARC_NO_MEMORY, "no memory for the constants of a scan");
  if (status != SPARC_OK) {
    sparc_device_scan_free(scan);
    return status;
  }
  *out = scan;
  return SPARC_OK;
}

void sparc_device_scan_free(sparc_device_scan *scan) {
  if (!scan) return;
  kernels_free(&scan->kernels);
  sparc_free(scan->image);
  sparc_free(scan);
}

sparc_device_sizes sparc_device_scan_sizes_of(const sparc_device_scan *scan) {
  if (!scan) return (sparc_device_sizes){0};
  return (sparc_device_sizes){.prepared = scan->shape.prepared_bytes,
                              .saved = scan->shape.saved_bytes,
                              .work = scan->shape.work_bytes,
                              .chunks = scan->shape.strip.chunks};
}

/* ---- constants ---------------------------------------------------------------------------------- */

static sparc_status fill_constants(const sparc_device_scan *scan, const float *nu, const float *theta) {
  static const float LARGEST_DECAY = 1e25f;
  const size_t H = (size_t)scan->config.H;
  float *to = scan->image;
  for (size_t j = 0; j < H; j++) {
    if (!(isfinite(nu[j]) && nu[j] >= 0))
      return fail(SPARC_INVALID, "nu[%zu] is %g, expected a finite number that is not negative", j, (double)nu[j]);
    if (!isfinite(theta[j]))
      return fail(SPARC_NOT_FINITE, "theta[%zu] is %g, expected a finite number", j, (double)theta[j]);
    to[SCAN_NU * H + j] = nu[j] < LARGEST_DECAY ? nu[j] : LARGEST_DECAY;
    to[SCAN_COS * H + j] = (float)cos((double)theta[j]);
    to[SCAN_SIN * H + j] = (float)sin((double)theta[j]);
  }
  to[SCAN_CONSTANTS * H] = scan->config.kappa_r;
  to[SCAN_CONSTANTS * H + 1] = scan->config.kappa_p;
  return SPARC_OK;
}

sparc_status sparc_device_scan_prepare(const sparc_device_scan *scan, sparc_slice nu, sparc_slice theta,
                                       sparc_slice prepared) {
  if (!scan) return fail(SPARC_INVALID, "scan is NULL");
  if (!is_spectral(&scan->config)) return fail(SPARC_INVALID, "a real scan has no constants to prepare");
  const size_t H = (size_t)scan->config.H, bytes = H * sizeof(float);
  const array_check arrays[] = {{"nu", nu, bytes, sizeof(float), false},
                                {"theta", theta, bytes, sizeof(float), false},
                                {"prepared", prepared, scan->shape.prepared_bytes, BLOCK_ALIGNMENT, false}};
  float *host_nu = scan->image + scan->shape.prepared_bytes / sizeof(float), *host_theta = host_nu + H;
  sparc_status status = check_arrays(scan->kernels.device, sizeof arrays / sizeof *arrays, arrays);
  if (status == SPARC_OK) status = sparc_memory_read(nu, host_nu, bytes);
  if (status == SPARC_OK) status = sparc_memory_read(theta, host_theta, bytes);
  if (status == SPARC_OK) status = fill_constants(scan, host_nu, host_theta);
  return status == SPARC_OK ? sparc_memory_write(prepared, scan->image, scan->shape.prepared_bytes) : status;
}

/* ---- calls -------------------------------------------------------------------------------------- */

static sparc_status check_data(const sparc_device_scan *scan, sparc_slice prepared, const sparc_device_scan_data *data,
                               sparc_slice saved, sparc_slice work, bool backward) {
  const scan_shape *s = &scan->shape;
  const bool spectral = is_spectral(&scan->config);
  const size_t element = scan->kernels.bf16 ? 2 : sizeof(float), tokens = (size_t)s->strip.tokens;
  const size_t columns = (size_t)s->strip.columns, rows = tokens * columns * element;
  const size_t states = (size_t)s->strip.B * columns * sizeof(float), a = tokens * columns * sizeof(float);
  const array_check arrays[] = {
      {"prepared", prepared, s->prepared_bytes, BLOCK_ALIGNMENT, !spectral},
      {"saved", saved, s->saved_bytes, BLOCK_ALIGNMENT, false},
      {"work", work, s->work_bytes, BLOCK_ALIGNMENT, s->work_bytes == 0},
      {"data.controls", data->controls, 2 * tokens * sizeof(float), sizeof(float), true},
      {"data.a", data->a, a, sizeof(float), spectral},
      {"data.mask", data->mask, tokens * sizeof(float), sizeof(float), true},
      {"data.state0", data->state0, states, sizeof(float), true},
      {"data.b", data->b, rows, element, false},
      {"data.h", data->h, rows, element, backward},
      {"data.state_last", data->state_last, states, sizeof(float), true},
  };
  return check_arrays(scan->kernels.device, sizeof arrays / sizeof *arrays, arrays);
}

static sparc_status check_gradient(const sparc_device_scan *scan, const sparc_device_scan_gradient *g) {
  const scan_shape *s = &scan->shape;
  const bool spectral = is_spectral(&scan->config);
  const size_t element = scan->kernels.bf16 ? 2 : sizeof(float), tokens = (size_t)s->strip.tokens;
  const size_t columns = (size_t)s->strip.columns, rows = tokens * columns * element;
  const size_t states = (size_t)s->strip.B * columns * sizeof(float), modes = (size_t)s->strip.H * sizeof(float);
  const array_check arrays[] = {
      {"gradient.dh", g->dh, rows, element, false},
      {"gradient.dstate_last", g->dstate_last, states, sizeof(float), true},
      {"gradient.db", g->db, rows, element, false},
      {"gradient.dcontrols", g->dcontrols, 2 * tokens * sizeof(float), sizeof(float), true},
      {"gradient.da", g->da, tokens * columns * sizeof(float), sizeof(float), spectral},
      {"gradient.dstate0", g->dstate0, states, sizeof(float), true},
      {"gradient.dnu", g->dnu, modes, sizeof(float), true},
      {"gradient.dtheta", g->dtheta, modes, sizeof(float), true},
  };
  return check_arrays(scan->kernels.device, sizeof arrays / sizeof *arrays, arrays);
}

static strip_arrays arrays_of(const sparc_device_scan *scan, sparc_slice prepared, const sparc_device_scan_data *data,
                              sparc_slice saved, sparc_slice work) {
  const scan_shape *s = &scan->shape;
  const bool spectral = is_spectral(&scan->config);
  return (strip_arrays){.constants = region_slice(prepared, s->constants),
                        .tail = SCAN_CONSTANTS * scan->config.H,
                        .content = data->b,
                        .tokens = spectral ? region_slice(saved, s->of_tokens) : data->mask,
                        .gates = spectral ? (sparc_slice){NULL, 0} : data->a,
                        .maps = region_slice(work, s->maps),
                        .marks = region_slice(saved, s->marks),
                        .state0 = data->state0,
                        .y = data->h,
                        .state_last = data->state_last};
}

/* the controls as the modes read them; the real scan reads its mask as it is */
static sparc_status put_tokens(const sparc_device_scan *scan, const strip_arrays *arrays,
                               const sparc_device_scan_data *data) {
  const kernel_set *set = &scan->kernels;
  const int tokens = scan->shape.strip.tokens;
  if (!is_spectral(&scan->config)) return check_mask(set, data->mask, tokens);
  kernel_launch l = launch_of(set, KERNEL_given_controls, ceil_quotient((size_t)tokens, GROUP_SIZE));
  pass_floats(set, &l, data->controls);
  pass_floats(set, &l, arrays->constants);
  pass_floats(set, &l, data->mask);
  pass_floats(set, &l, arrays->tokens);
  pass_fault(set, &l);
  pass_int(&l, tokens);
  pass_int(&l, arrays->tail);
  return launch_run(set, &l);
}

sparc_status sparc_device_scan_forward(const sparc_device_scan *scan, sparc_slice prepared,
                                       const sparc_device_scan_data *data, sparc_slice saved, sparc_slice work) {
  if (!scan || !data) return fail(SPARC_INVALID, "%s is NULL", scan ? "data" : "scan");
  sparc_status status = check_data(scan, prepared, data, saved, work, false);
  if (status != SPARC_OK) return status;
  const strip_arrays arrays = arrays_of(scan, prepared, data, saved, work);
  status = put_tokens(scan, &arrays, data);
  return status == SPARC_OK ? strip_forward(&scan->kernels, &scan->shape.strip, &arrays) : status;
}

/* the gradients of a spectral scan that are sums: over tiles of modes, or over tokens */
static sparc_status add_gradients(const sparc_device_scan *scan, const strip_arrays *arrays,
                                  const sparc_device_scan_gradient *gradient) {
  const kernel_set *set = &scan->kernels;
  const strip_shape *s = &scan->shape.strip;
  const size_t H = (size_t)s->H, parts = strip_parts(s);
  sparc_status status = SPARC_OK;
  if (gradient->dcontrols.memory) {
    kernel_launch l = launch_of(set, KERNEL_given_controls_adjoint, ceil_quotient(2 * (size_t)s->tokens, GROUP_SIZE));
    pass_floats(set, &l, arrays->dcontrols);
    pass_floats(set, &l, gradient->dcontrols);
    pass_int(&l, s->tokens);
    pass_int(&l, s->tiles);
    status = launch_run(set, &l);
  }
  if (status == SPARC_OK && gradient->dnu.memory)
    status = add_parts(set, arrays->sums, parts, SCAN_SUMS * H, 0, H, gradient->dnu);
  if (status == SPARC_OK && gradient->dtheta.memory)
    status = add_parts(set, arrays->sums, parts, SCAN_SUMS * H, H, H, gradient->dtheta);
  return status;
}

sparc_status sparc_device_scan_backward(const sparc_device_scan *scan, sparc_slice prepared,
                                        const sparc_device_scan_data *data, sparc_slice saved,
                                        const sparc_device_scan_gradient *gradient, sparc_slice work) {
  if (!scan || !data || !gradient)
    return fail(SPARC_INVALID, "%s is NULL", !scan ? "scan" : !data ? "data" : "gradient");
  sparc_status status = check_data(scan, prepared, data, saved, work, true);
  if (status == SPARC_OK) status = check_gradient(scan, gradient);
  if (status != SPARC_OK) return status;
  strip_arrays arrays = arrays_of(scan, prepared, data, saved, work);
  arrays.dy = gradient->dh;
  arrays.dstate_last = gradient->dstate_last;
  arrays.dcontent = gradient->db;
  arrays.dgates = gradient->da;
  arrays.dcontrols = region_slice(work, scan->shape.dcontrols);
  arrays.dstate0 = gradient->dstate0;
  arrays.sums = region_slice(work, scan->shape.sums);
  status = strip_backward(&scan->kernels, &scan->shape.strip, &arrays);
  return status == SPARC_OK && is_spectral(&scan->config) ? add_gradients(scan, &arrays, gradient) : status;
}
