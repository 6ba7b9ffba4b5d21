/* SPDX-License-Identifier: MIT */
/* test_layers.c: every layer's backward against finite differences, float against double on every kernel table, and
 * what is particular to each layer. */
#include "base/random.h"
#include "kernels/kernels.h"
#include "nn/layers_impl.h"
#include "sparc/random.h"
#include "support.h"
#include "support_layers.h"
#include "unit.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- problems ---------------------------------------------------------------------------------- */

static double draw(sparc_random *stream) { return (double)(float)sparc_random_normal(stream); }

static double *draw_array(sparc_random *stream, size_t count) {
  double *values = sparc_alloc(count * sizeof *values);
  for (size_t i = 0; i < count; i++) values[i] = draw(stream);
  return values;
}

static double *draw_mask(sparc_random *stream, size_t count) {
  double *mask = sparc_alloc(count * sizeof *mask);
  for (size_t i = 0; i < count; i++) mask[i] = sparc_random_below(stream, 4) ? (double)(float)(1 / 0.9) : 0;
  return mask;
}

static void add_input(layer_problem *p, const char *name, size_t count, gradient_rule rule, double *value) {
  p->input[p->inputs++] = (layer_input){name, count, rule, value};
}

static const char *const layer_names[LAYER_KINDS] = {"dense", "dense adds",    "norm",         "gelu",    "gelu masked",
                                                     "glu",   "glu masked",    "tanh",         "readout", "relu",
                                                     "pool",  "cross-entropy", "squared error"};

static layer_problem layer_create(layer_kind kind, size_t n, size_t in, size_t out, sparc_random *s) {
  const gradient_rule none = GRADIENT_NONE, over = GRADIENT_OVERWRITTEN, added = GRADIENT_ADDED;
  const size_t full = n * out;
  layer_problem p = {.kind = kind, .name = layer_names[kind], .n = n, .in = in, .out = out, .outputs = full};
  p.before = sparc_random_below(s, (uint32_t)n);
  p.labels = sparc_alloc(n * sizeof *p.labels);
  for (size_t i = 0; i < n; i++) p.labels[i] = (int)sparc_random_below(s, (uint32_t)out);
  switch (kind) {
    case LAYER_DENSE:
    case LAYER_DENSE_ADDS:
      add_input(&p, "x", n * in, kind == LAYER_DENSE ? over : added, draw_array(s, n * in));
      add_input(&p, "weight", out * in, added, draw_array(s, out * in));
      if (kind == LAYER_DENSE) add_input(&p, "bias", out, added, draw_array(s, out));
      break;
    case LAYER_NORM:
      add_input(&p, "u", full, added, draw_array(s, full));
      add_input(&p, "scale", out, added, draw_array(s, out));
      add_input(&p, "bias", out, added, draw_array(s, out));
      /* spread the features of a token: nearly equal ones are another test */
      for (size_t i = 0; i < full; i++) p.input[0].value[i] += i % out % 2 ? 3 : -3;
      break;
    case LAYER_GELU:
    case LAYER_GELU_MASKED:
      add_input(&p, "y", full, over, draw_array(s, full));
      if (kind == LAYER_GELU_MASKED) add_input(&p, "mask", out, none, draw_mask(s, out));
      break;
    case LAYER_GLU:
    case LAYER_GLU_MASKED:
      add_input(&p, "o", 2 * full, over, draw_array(s, 2 * full));
      add_input(&p, "u_in", full, none, draw_array(s, full));
      if (kind == LAYER_GLU_MASKED) add_input(&p, "mask", out, none, draw_mask(s, out));
      break;
    case LAYER_TANH:
      add_input(&p, "z", full, over, draw_array(s, full));
      break;
    case LAYER_READOUT:
      add_input(&p, "h", n * 2 * in, over, draw_array(s, n * 2 * in));
      add_input(&p, "c_re", out * in, added, draw_array(s, out * in));
      add_input(&p, "c_im", out * in, added, draw_array(s, out * in));
      add_input(&p, "x", full, added, draw_array(s, full));
      add_input(&p, "skip", out, added, draw_array(s, out));
      break;
    case LAYER_RELU:
      add_input(&p, "h", full, over, draw_array(s, full));
      /* away from the kink */
      for (size_t i = 0; i < full; i++) p.input[0].value[i] += p.input[0].value[i] < 0 ? -0.125 : 0.125;
      break;
    case LAYER_POOL:
      add_input(&p, "u", full, over, draw_array(s, full));
      add_input(&p, "sum0", out, added, draw_array(s, out));
      p.outputs = 2 * out;
      break;
    default:
      add_input(&p, kind == LAYER_CROSS_ENTROPY ? "logits" : "prediction", full, over, draw_array(s, full));
      if (kind == LAYER_SQUARED_ERROR) add_input(&p, "target", full, none, draw_array(s, full));
      p.outputs = 1;
  }
  p.dy = draw_array(s, p.outputs);
  return p;
}

static void layer_free(layer_problem *p) {
  for (size_t i = 0; i < p->inputs; i++) sparc_free(p->input[i].value);
  sparc_free(p->labels);
  sparc_free(p->dy);
}

typedef struct layer_result {
  double *y, *gradient[LAYER_INPUTS];
} layer_result;

static layer_result layer_result_create(const layer_problem *p) {
  layer_result r = {.y = sparc_alloc(p->outputs * sizeof *r.y)};
  for (size_t i = 0; i < p->inputs; i++) r.gradient[i] = sparc_alloc(p->input[i].count * sizeof(double));
  return r;
}

static void layer_result_free(layer_result *r) {
  sparc_free(r->y);
  for (size_t i = 0; i < LAYER_INPUTS; i++) sparc_free(r->gradient[i]);
}

static void expect(const layer_problem *p, const char *table, const char *what, double error, double tolerance) {
  if (error <= tolerance) return;
  fail_msg("%s (%s), n=%zu in=%zu out=%zu before=%zu: error of %s is %.3g, allowed %.3g", p->name, table, p->n, p->in,
           p->out, p->before, what, error, tolerance);
}

/* the kernel tables of this machine; the first row is no table at all */
typedef struct table_row {
  const char *name;
  const kernels *table;
} table_row;

static size_t all_tables(table_row rows[KERNELS_MAX + 1]) {
  size_t count = 0;
  rows[count++] = (table_row){"no table", NULL};
  for (const char *const *name = kernel_names(); *name; name++)
    if (kernels_find(*name)) rows[count++] = (table_row){*name, kernels_find(*name)};
  return count;
}

/* ---- every layer ------------------------------------------------------------------------------- */

static double loss_of(const layer_problem *p, double *y) {
  run_layer_f64(p, NULL, y, NULL);
  double loss = 0;
  for (size_t i = 0; i < p->outputs; i++) loss += p->dy[i] * y[i];
  return loss;
}

/* the central difference of fourth order */
static double difference(const layer_problem *p, double *x, double *y) {
  const double step = 1e-4, at = *x;
  double f[4];
  static const int places[] = {-2, -1, 1, 2};
  for (size_t i = 0; i < 4; i++) {
    *x = at + places[i] * step;
    f[i] = loss_of(p, y);
  }
  *x = at;
  return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step);
}

static void check_differences(layer_problem *p) {
  layer_result r = layer_result_create(p);
  run_layer_f64(p, NULL, r.y, r.gradient);
  for (size_t i = 0; i < p->inputs; i++) {
    if (p->input[i].rule == GRADIENT_NONE) continue;
    double *numeric = sparc_alloc(p->input[i].count * sizeof *numeric);
    for (size_t j = 0; j < p->input[i].count; j++) numeric[j] = difference(p, &p->input[i].value[j], r.y);
    expect(p, "double", p->input[i].name, e_norm(p->input[i].count, r.gradient[i], numeric), 1e-9);
    sparc_free(numeric);
  }
  layer_result_free(&r);
}

/* sizes (n, in, out) of every layer: the smallest, odd ones, and random ones */
static void for_shapes(const char *name, int rounds, void (*body)(layer_problem *p)) {
  static const size_t fixed[][3] = {{1, 1, 1}, {1, 1, 2}, {2, 1, 1}, {1, 3, 7}, {5, 1, 3}, {3, 17, 19}};
  for (int kind = 0; kind < LAYER_KINDS; kind++) {
    sparc_random stream;
    sparc_random_init(&stream, 7, name, layer_names[kind]);
    for (size_t round = 0; round < COUNT(fixed) + (size_t)rounds; round++) {
      size_t size[3];
      for (size_t i = 0; i < 3; i++) size[i] = 1 + sparc_random_below(&stream, 9);
      if (round < COUNT(fixed)) memcpy(size, fixed[round], sizeof size);
      layer_problem p = layer_create((layer_kind)kind, size[0], size[1], size[2], &stream);
      body(&p);
      layer_free(&p);
    }
  }
}

static void test_backward_is_the_derivative(void **state) {
  (void)state;
  for_shapes("differences", 6, check_differences);
}

/* errors relative to the largest number of an array, or to 1. A token of one feature has no spread, so layer norm
 * divides by sqrt(1e-6) and multiplies rounding errors by 1000. */
static void check_float(const layer_problem *p, const table_row *table) {
  const double tolerance = p->kind == LAYER_NORM && p->out == 1 ? 1e-3 : 1e-6;
  layer_result want = layer_result_create(p), got = layer_result_create(p);
  run_layer_f64(p, NULL, want.y, want.gradient);
  run_layer_f32(p, table->table, got.y, got.gradient);
  expect(p, table->name, "output", e_norm(p->outputs, got.y, want.y), tolerance);
  for (size_t i = 0; i < p->inputs; i++)
    if (p->input[i].rule != GRADIENT_NONE)
      expect(p, table->name, p->input[i].name, e_norm(p->input[i].count, got.gradient[i], want.gradient[i]), tolerance);
  layer_result_free(&want);
  layer_result_free(&got);
}

static void check_float_on_all_tables(layer_problem *p) {
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  for (size_t i = 0; i < count; i++) check_float(p, &tables[i]);
}

static void test_float_follows_double(void **state) {
  (void)state;
  for_shapes("float", 6, check_float_on_all_tables);
}

/* every remainder of a row after the last whole vector */
static void test_float_follows_double_at_every_width(void **state) {
  (void)state;
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  for (int kind = LAYER_NORM; kind <= LAYER_TANH; kind++) {
    sparc_random stream;
    sparc_random_init(&stream, 7, "width", layer_names[kind]);
    for (size_t width = 1; width <= 67; width++) {
      layer_problem p = layer_create((layer_kind)kind, 3, 1, width, &stream);
      for (size_t i = 0; i < count; i++) check_float(&p, &tables[i]);
      layer_free(&p);
    }
  }
}

/* ---- layer norm --------------------------------------------------------------------------------- */

static void test_norm_is_the_formula(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 7, "formula", "norm");
  layer_problem p = layer_create(LAYER_NORM, 4, 1, 13, &stream);
  layer_result r = layer_result_create(&p);
  run_layer_f64(&p, NULL, r.y, NULL);
  for (size_t t = 0; t < p.n; t++) {
    const double *u = p.input[0].value + t * p.out;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < p.out; i++) mean += u[i] / 13;
    for (size_t i = 0; i < p.out; i++) variance += (u[i] - mean) * (u[i] - mean) / 13;
    for (size_t i = 0; i < p.out; i++) {
      const double want = (u[i] - mean) / sqrt(variance + 1e-6) * p.input[1].value[i] + p.input[2].value[i];
      assert_true(fabs(r.y[t * p.out + i] - want) < 1e-13);
    }
  }
  layer_result_free(&r);
  layer_free(&p);
}

/* equal features: the output is the bias and 1/std is 1/sqrt(eps) = 1000, up to the rounding of the mean, which 1/std
 * multiplies; nothing becomes a NaN however large they are */
static void test_norm_of_equal_features(void **state) {
  (void)state;
  static const float values[] = {0, 1, -3.7f, 1e4f, 1e8f, -1.2345e18f};
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  enum { WIDTH = 37 };
  float u[WIDTH], x[WIDTH], scale[WIDTH], bias[WIDTH], mean, rstd;
  for (size_t k = 0; k < count; k++)
    for (size_t v = 0; v < COUNT(values); v++) {
      for (size_t i = 0; i < WIDTH; i++) u[i] = values[v], scale[i] = 2, bias[i] = (float)i;
      layer_norm_forward(tables[k].table, 1, WIDTH, u, scale, bias, x, &mean, &rstd);
      assert_true(isfinite(rstd) && rstd > 0);
      const float rounding = 1e-6f * fabsf(values[v]);
      assert_true(fabsf(mean - values[v]) <= rounding);
      for (size_t i = 0; i < WIDTH; i++) assert_true(fabsf(x[i] - bias[i]) <= 2 * 1000 * rounding + 1e-5f);
      if (rounding < 1e-5f) assert_true(fabsf(rstd - 1000) < 0.1f);
    }
}

/* a large common offset costs what the rounding of the mean costs: a few units of its last place */
static void test_norm_of_a_large_offset(void **state) {
  (void)state;
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  sparc_random stream;
  sparc_random_init(&stream, 7, "offset", "norm");
  static const size_t widths[] = {3, 64, 100};
  for (size_t w = 0; w < COUNT(widths); w++) {
    layer_problem p = layer_create(LAYER_NORM, 5, 1, widths[w], &stream);
    for (size_t i = 0; i < p.input[0].count; i++) p.input[0].value[i] = (double)(float)(1000 + p.input[0].value[i]);
    for (size_t i = 0; i < p.out; i++) p.input[1].value[i] = 1;
    layer_result want = layer_result_create(&p), got = layer_result_create(&p);
    run_layer_f64(&p, NULL, want.y, NULL);
    for (size_t k = 0; k < count; k++) {
      run_layer_f32(&p, tables[k].table, got.y, NULL);
      for (size_t i = 0; i < p.outputs; i++)
        expect(&p, tables[k].name, "output", fabs(got.y[i] - want.y[i]), 4 * 1000 * 0x1p-24);
    }
    layer_result_free(&want);
    layer_result_free(&got);
    layer_free(&p);
  }
}

/* ---- GELU and GLU -------------------------------------------------------------------------------- */

static double gelu_of(double y) { return 0.5 * y * (1 + tanh(sqrt(2 / M_PI) * (y + 0.044715 * y * y * y))); }

static double gelu_slope(double y) {
  const double c0 = sqrt(2 / M_PI), th = tanh(c0 * (y + 0.044715 * y * y * y));
  return 0.5 * (1 + th) + 0.5 * y * (1 - th * th) * c0 * (1 + 0.134145 * y * y);
}

static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }

/* the tanh form, on a fine grid */
static void test_gelu_is_the_formula(void **state) {
  (void)state;
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  enum { POINTS = 24001 };
  float *y = sparc_alloc(POINTS * sizeof *y), *g = sparc_alloc(POINTS * sizeof *g);
  float *one = sparc_alloc(POINTS * sizeof *one), *slope = sparc_alloc(POINTS * sizeof *slope);
  for (size_t i = 0; i < POINTS; i++) y[i] = ((float)i - 12000) * 1e-3f, one[i] = 1;
  for (size_t k = 0; k < count; k++) {
    gelu_forward(tables[k].table, 1, POINTS, y, NULL, g);
    gelu_backward(tables[k].table, 1, POINTS, y, NULL, one, slope);
    double worst = 0, worst_slope = 0;
    for (size_t i = 0; i < POINTS; i++) {
      const double at = (double)y[i], error = fabs((double)g[i] - gelu_of(at));
      worst = fmax(worst, error / fmax(1, fabs(at)));
      worst_slope = fmax(worst_slope, fabs((double)slope[i] - gelu_slope(at)));
    }
    print_message("gelu, %s: error %.2g, slope %.2g\n", tables[k].name, worst, worst_slope);
    if (worst > 2e-7 || worst_slope > 5e-7) fail_msg("%s: error %g, slope %g", tables[k].name, worst, worst_slope);
  }
  void *blocks[] = {y, g, one, slope};
  for (size_t i = 0; i < COUNT(blocks); i++) sparc_free(blocks[i]);
}

/* saturation: the identity above, zero below, slopes one and zero, for all that float holds; a NaN stays one */
static void test_gelu_saturates(void **state) {
  (void)state;
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  static const float values[] = {15, 40, 1e3f, 1e10f, 1e19f, 1e25f};
  enum { POINTS = 17 }; /* a whole vector and a remainder */
  float y[POINTS], g[POINTS], one[POINTS], slope[POINTS];
  for (size_t i = 0; i < POINTS; i++) one[i] = 1;
  for (size_t k = 0; k < count; k++)
    for (int sign = -1; sign <= 1; sign++)
      for (size_t v = 0; v < COUNT(values); v++) {
        for (size_t i = 0; i < POINTS; i++) y[i] = sign == 0 ? NAN : (float)sign * values[v];
        gelu_forward(tables[k].table, 1, POINTS, y, NULL, g);
        gelu_backward(tables[k].table, 1, POINTS, y, NULL, one, slope);
        for (size_t i = 0; i < POINTS; i++) {
          if (sign == 0) {
            assert_true(isnan(g[i]) && isnan(slope[i]));
            continue;
          }
          assert_true(sign > 0 ? g[i] == y[i] : fabsf(g[i]) <= 1e-12f);
          assert_true(fabsf(slope[i] - (sign > 0)) <= 1e-6f);
        }
      }
}

static void test_glu_is_the_formula(void **state) {
  (void)state;
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  static const double gates[] = {0, 1e-3, -1e-3, 1, -1, 5, -5, 20, -20, 90, -90, 1e4, -1e4, 1e30, -1e30};
  enum { WIDTH = COUNT(gates) };
  float o[2 * WIDTH], u_in[WIDTH], u_out[WIDTH], du[WIDTH], d_o[2 * WIDTH];
  for (size_t i = 0; i < WIDTH; i++) o[i] = 1.5f, o[WIDTH + i] = (float)gates[i], u_in[i] = 0.25f, du[i] = -2;
  for (size_t k = 0; k < count; k++) {
    glu_forward(tables[k].table, 1, WIDTH, o, NULL, u_in, u_out);
    glu_backward(tables[k].table, 1, WIDTH, o, NULL, du, d_o);
    for (size_t i = 0; i < WIDTH; i++) {
      const double s = sigmoid_of((double)o[WIDTH + i]);
      assert_true(fabs((double)u_out[i] - (0.25 + 1.5 * s)) < 3e-7);
      assert_true(fabs((double)d_o[i] + 2 * s) < 3e-7);
      assert_true(fabs((double)d_o[WIDTH + i] + 3 * s * (1 - s)) < 3e-7);
    }
  }
}

/* ---- dropout masks -------------------------------------------------------------------------------- */

/* a mask of ones is no mask; a zero removes output and gradient to the last bit; a factor of two doubles them exactly
 */
static void test_masks_act_on_features(void **state) {
  (void)state;
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  static const layer_kind pairs[][2] = {{LAYER_GELU, LAYER_GELU_MASKED}, {LAYER_GLU, LAYER_GLU_MASKED}};
  static const double factors[] = {1, 0, 2};
  for (size_t k = 0; k < count; k++)
    for (size_t pair = 0; pair < COUNT(pairs); pair++) {
      sparc_random stream;
      sparc_random_init(&stream, 7, "mask", layer_names[pairs[pair][0]]);
      layer_problem p = layer_create(pairs[pair][1], 5, 1, 32, &stream);
      layer_problem plain = p;
      plain.kind = pairs[pair][0];
      const layer_input *mask = &p.input[p.inputs - 1];
      const double *u_in = plain.kind == LAYER_GLU ? p.input[1].value : NULL;
      for (size_t i = 0; u_in && i < p.outputs; i++) p.input[1].value[i] = 0;
      for (size_t i = 0; i < mask->count; i++) mask->value[i] = factors[i % 3];
      layer_result want = layer_result_create(&p), got = layer_result_create(&p);
      run_layer_f32(&plain, tables[k].table, want.y, want.gradient);
      run_layer_f32(&p, tables[k].table, got.y, got.gradient);
      for (size_t i = 0; i < p.outputs; i++) assert_true(got.y[i] == factors[i % 32 % 3] * want.y[i]);
      for (size_t i = 0; i < p.input[0].count; i++)
        assert_true(got.gradient[0][i] == factors[i % 32 % 3] * want.gradient[0][i]);
      layer_result_free(&want);
      layer_result_free(&got);
      layer_free(&p);
    }
}

/* results may be written over the input of the same shape */
static void test_layers_work_in_place(void **state) {
  (void)state;
  table_row tables[KERNELS_MAX + 1];
  const size_t count = all_tables(tables);
  enum { N = 3, WIDTH = 21, FULL = N * WIDTH };
  float y[FULL], o[2 * FULL], d[FULL], out[2 * FULL], place[2 * FULL], mask[WIDTH];
  sparc_random stream;
  sparc_random_init(&stream, 7, "place", "");
  random_fill_normal(&stream, y, FULL, 1);
  random_fill_normal(&stream, o, COUNT(o), 1);
  random_fill_normal(&stream, d, FULL, 1);
  random_fill_normal(&stream, mask, WIDTH, 1);
  for (size_t k = 0; k < count; k++) {
    const kernels *table = tables[k].table;
    gelu_forward(table, N, WIDTH, y, mask, out);
    memcpy(place, y, sizeof y);
    gelu_forward(table, N, WIDTH, place, mask, place);
    assert_memory_equal(place, out, sizeof y);
    gelu_backward(table, N, WIDTH, y, mask, d, out);
    memcpy(place, d, sizeof d);
    gelu_backward(table, N, WIDTH, y, mask, place, place);
    assert_memory_equal(place, out, sizeof d);
    glu_forward(table, N, WIDTH, o, mask, y, out);
    memcpy(place, y, sizeof y);
    glu_forward(table, N, WIDTH, o, mask, place, place);
    assert_memory_equal(place, out, sizeof y);
    glu_backward(table, N, WIDTH, o, mask, d, out);
    memcpy(place, o, sizeof o);
    glu_backward(table, N, WIDTH, place, mask, d, place);
    assert_memory_equal(place, out, sizeof o);
  }
}

/* ---- dense and readout ----------------------------------------------------------------------------- */

/* integers make every sum exact: y = W x + b, and gradients of any run of rows, also out of a wider dy */
static void test_dense_is_exact_on_integers(void **state) {
  (void)state;
  enum { N = 5, IN = 3, OUT = 7, STRIDE = 11 };
  float x[N * IN], weight[OUT * IN], weight_in[IN * OUT], bias[OUT], y[N * STRIDE];
  float dy[N * STRIDE], dweight[OUT * IN] = {0}, dbias[OUT] = {0};
  for (size_t i = 0; i < COUNT(x); i++) x[i] = (float)(i * 7 % 11) - 5;
  for (size_t i = 0; i < COUNT(weight); i++) weight[i] = (float)(i * 5 % 13) - 6;
  for (size_t i = 0; i < COUNT(bias); i++) bias[i] = (float)i - 3;
  for (size_t i = 0; i < COUNT(dy); i++) dy[i] = (float)(i * 3 % 17) - 8;
  dense_prepare(NULL, IN, OUT, weight, weight_in);
  dense_forward(NULL, N, IN, OUT, x, weight_in, bias, y, STRIDE);
  dense_backward_weight(NULL, N, IN, 2, 3, dy, STRIDE, x, dweight, dbias);
  for (size_t o = 0; o < OUT; o++) {
    const bool inside = o >= 2 && o < 5;
    float db = 0, dw[IN] = {0};
    for (size_t t = 0; t < N; t++) {
      float want = bias[o];
      for (size_t i = 0; i < IN; i++) want += weight[o * IN + i] * x[t * IN + i];
      assert_true(y[t * STRIDE + o] == want);
      for (size_t i = 0; i < IN; i++) dw[i] += dy[t * STRIDE + o] * x[t * IN + i];
      db += dy[t * STRIDE + o];
    }
    assert_true(dbias[o] == (inside ? db : 0));
    for (size_t i = 0; i < IN; i++) assert_true(dweight[o * IN + i] == (inside ? dw[i] : 0));
  }
}

/* y = Re(C h) + skip . x [eq:app_bptt_readout] */
static void test_readout_is_the_complex_formula(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 7, "formula", "readout");
  static const size_t sizes[][3] = {{1, 1, 1}, {4, 5, 3}, {3, 64, 9}};
  for (size_t s = 0; s < COUNT(sizes); s++) {
    const size_t n = sizes[s][0], H = sizes[s][1], out = sizes[s][2];
    layer_problem p = layer_create(LAYER_READOUT, n, H, out, &stream);
    const double *h = p.input[0].value, *c_re = p.input[1].value, *c_im = p.input[2].value;
    layer_result r = layer_result_create(&p);
    run_layer_f64(&p, NULL, r.y, NULL);
    for (size_t t = 0; t < n; t++)
      for (size_t o = 0; o < out; o++) {
        double complex sum = 0;
        for (size_t k = 0; k < H; k++)
          sum += (c_re[o * H + k] + I * c_im[o * H + k]) * (h[t * 2 * H + k] + I * h[t * 2 * H + H + k]);
        const double want = creal(sum) + p.input[4].value[o] * p.input[3].value[t * out + o];
        assert_true(fabs(r.y[t * out + o] - want) < 1e-12);
      }
    layer_result_free(&r);
    layer_free(&p);
  }
}

static void test_relu_keeps_nan(void **state) {
  (void)state;
  const float h[] = {-2, 0, 3, NAN}, dz[] = {5, 5, 5, 5};
  float z[4], dh[4];
  relu_forward(2, 2, h, z);
  relu_backward(2, 2, h, dz, dh);
  assert_true(z[0] == 0 && z[1] == 0 && z[2] == 3 && isnan(z[3]));
  assert_true(dh[0] == 0 && dh[1] == 0 && dh[2] == 5);
}

/* ---- pooling --------------------------------------------------------------------------------------- */

/* the mean over all tokens at once is that over two parts, the sum of the first being carried; tokens share the
 * gradient evenly */
static void test_pool_in_parts(void **state) {
  (void)state;
  enum { T = 9, WIDEST = 300 };
  static const size_t widths[] = {1, 5, WIDEST};
  for (size_t w = 0; w < COUNT(widths); w++)
    for (size_t cut = 1; cut < T; cut++) {
      const size_t width = widths[w];
      float u[T * WIDEST], du[T * WIDEST], pooled[WIDEST], sum0[WIDEST], sum[WIDEST];
      for (size_t i = 0; i < T * width; i++) u[i] = (float)(i % 23);
      mean_pool_forward(cut, width, u, NULL, cut, pooled, sum0);
      mean_pool_forward(T - cut, width, u + cut * width, sum0, T, pooled, sum);
      for (size_t i = 0; i < width; i++) {
        double whole = 0;
        for (size_t t = 0; t < T; t++) whole += (double)u[t * width + i];
        assert_true(sum[i] == (float)whole && pooled[i] == (float)(whole / T));
      }
      mean_pool_backward(T, width, pooled, T, NULL, 0, du);
      for (size_t i = 0; i < T * width; i++) assert_true(du[i] == pooled[i % width] / (float)T);
    }
}

/* ---- losses ---------------------------------------------------------------------------------------- */

static void test_cross_entropy_is_the_formula(void **state) {
  (void)state;
  const float logits[] = {1, 2, 3, -1, 0, 0.5f};
  const int labels[] = {2, 0};
  float p[6], d[6];
  const double loss = cross_entropy(2, 3, logits, labels, p, d);
  double want = 0;
  for (size_t b = 0; b < 2; b++) {
    double sum = 0;
    for (size_t i = 0; i < 3; i++) sum += exp((double)logits[3 * b + i]);
    want += (log(sum) - (double)logits[3 * b + (size_t)labels[b]]) / 2;
    for (size_t i = 0; i < 3; i++) {
      const double share = exp((double)logits[3 * b + i]) / sum;
      assert_true(fabs((double)p[3 * b + i] - share) < 1e-7);
      assert_true(fabs((double)d[3 * b + i] - (share - ((int)i == labels[b])) / 2) < 1e-7);
    }
  }
  assert_true(fabs(loss - want) < 1e-14);
  assert_true(cross_entropy(2, 3, logits, labels, p, NULL) == loss);
}

/* logits of +-1e4 neither overflow nor lose the loss; equal logits give log(classes) */
static void test_cross_entropy_is_stable(void **state) {
  (void)state;
  static const float logits[][4] = {{1e4f, -1e4f, 0, 1e4f}, {-1e4f, -1e4f, -1e4f, -1e4f}, {1e4f, 1e4f, 1e4f, 1e4f}};
  static const double right[] = {0.69314718055994531, 1.3862943611198906, 1.3862943611198906};
  static const double wrong[] = {20000.69314718055994531, 1.3862943611198906, 1.3862943611198906};
  for (size_t i = 0; i < COUNT(logits); i++) {
    float p[4], d[4];
    const int first = 0, second = 1;
    assert_true(fabs(cross_entropy(1, 4, logits[i], &first, p, d) - right[i]) < 1e-12);
    assert_true(fabs(cross_entropy(1, 4, logits[i], &second, p, d) - wrong[i]) < 1e-9);
    double total = 0, slope = 0;
    for (size_t j = 0; j < 4; j++) total += (double)p[j], slope += (double)d[j];
    assert_true(fabs(total - 1) < 1e-7 && fabs(slope) < 1e-7);
  }
}

/* weights and smoothing against the definition, and the gradient against differences */
static void test_soft_cross_entropy_is_the_formula(void **state) {
  (void)state;
  enum { N = 2, K = 3 };
  const double weights[K] = {0.5, 7, 2}, smoothing = 0.3, step = 1e-3;
  const int labels[N] = {2, 0};
  float logits[N * K] = {1, 2, 3, -1, 0, 0.5f}, p[N * K], d[N * K], unused[N * K];
  const double loss = cross_entropy_soft(N, K, logits, labels, weights, smoothing, p, d);
  double want = 0;
  for (size_t b = 0; b < N; b++)
    for (size_t i = 0; i < K; i++) {
      const double target = smoothing / K + (1 - smoothing) * ((int)i == labels[b]);
      want -= weights[labels[b]] * target * log((double)p[K * b + i]) / N;
    }
  assert_true(fabs(loss - want) < 1e-6);
  for (size_t i = 0; i < N * K; i++) {
    const float here = logits[i];
    logits[i] = here + (float)step;
    const double above = cross_entropy_soft(N, K, logits, labels, weights, smoothing, unused, NULL);
    logits[i] = here - (float)step;
    const double below = cross_entropy_soft(N, K, logits, labels, weights, smoothing, unused, NULL);
    logits[i] = here;
    assert_true(fabs((above - below) / (2 * step) - (double)d[i]) < 1e-3);
  }
  /* neither of them: bit-identical to the plain one */
  float plain[N * K];
  assert_true(cross_entropy_soft(N, K, logits, labels, NULL, 0, p, d) ==
              cross_entropy(N, K, logits, labels, unused, plain));
  assert_memory_equal(d, plain, sizeof d);
}

/* the gradients of an example's logits sum to zero */
static void test_cross_entropy_gradient_sums_to_zero(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, 7, "sum", "cross-entropy");
  for (int round = 0; round < 20; round++) {
    const size_t n = 1 + sparc_random_below(&stream, 9), classes = 1 + sparc_random_below(&stream, 40);
    layer_problem p = layer_create(LAYER_CROSS_ENTROPY, n, 1, classes, &stream);
    p.dy[0] = 1;
    for (size_t i = 0; i < n * classes; i++) p.input[0].value[i] *= 10;
    layer_result f32 = layer_result_create(&p), f64 = layer_result_create(&p);
    run_layer_f32(&p, NULL, f32.y, f32.gradient);
    run_layer_f64(&p, NULL, f64.y, f64.gradient);
    for (size_t b = 0; b < n; b++) {
      double sum32 = 0, sum64 = 0;
      for (size_t i = 0; i < classes; i++) {
        sum32 += f32.gradient[0][b * classes + i];
        sum64 += f64.gradient[0][b * classes + i];
      }
      expect(&p, "float", "sum of the gradient", fabs(sum32), 1e-7);
      expect(&p, "double", "sum of the gradient", fabs(sum64), 1e-15);
    }
    layer_result_free(&f32);
    layer_result_free(&f64);
    layer_free(&p);
  }
}

/* what is not finite must not vanish in a loss */
static void test_losses_show_nan(void **state) {
  (void)state;
  const int label = 0;
  for (size_t i = 0; i < 3; i++) {
    float logits[3] = {1, 2, 3}, p[3], target[3] = {0};
    logits[i] = NAN;
    assert_true(isnan(cross_entropy(1, 3, logits, &label, p, NULL)));
    assert_true(isnan(mean_squared_error(3, logits, target, NULL)));
    logits[i] = INFINITY;
    assert_false(isfinite(cross_entropy(1, 3, logits, &label, p, NULL)));
  }
}

static void test_squared_error_is_exact(void **state) {
  (void)state;
  const float prediction[] = {1, 2, 3, 4}, target[] = {1, 0, 6, 4.5f};
  float d[4];
  assert_true(mean_squared_error(4, prediction, target, d) == (4 + 9 + 0.25) / 4);
  assert_true(mean_squared_error(4, prediction, target, NULL) == (4 + 9 + 0.25) / 4);
  assert_true(d[0] == 0 && d[1] == 1 && d[2] == -1.5f && d[3] == -0.25f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_backward_is_the_derivative),
      cmocka_unit_test(test_float_follows_double),
      cmocka_unit_test(test_float_follows_double_at_every_width),
      cmocka_unit_test(test_norm_is_the_formula),
      cmocka_unit_test(test_norm_of_equal_features),
      cmocka_unit_test(test_norm_of_a_large_offset),
      cmocka_unit_test(test_gelu_is_the_formula),
      cmocka_unit_test(test_gelu_saturates),
      cmocka_unit_test(test_glu_is_the_formula),
      cmocka_unit_test(test_masks_act_on_features),
      cmocka_unit_test(test_layers_work_in_place),
      cmocka_unit_test(test_dense_is_exact_on_integers),
      cmocka_unit_test(test_readout_is_the_complex_formula),
      cmocka_unit_test(test_relu_keeps_nan),
      cmocka_unit_test(test_pool_in_parts),
      cmocka_unit_test(test_cross_entropy_is_the_formula),
      cmocka_unit_test(test_cross_entropy_is_stable),
      cmocka_unit_test(test_soft_cross_entropy_is_the_formula),
      cmocka_unit_test(test_cross_entropy_gradient_sums_to_zero),
      cmocka_unit_test(test_losses_show_nan),
      cmocka_unit_test(test_squared_error_is_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
