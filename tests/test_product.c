/* SPDX-License-Identifier: MIT */
/* test_product.c: the product kernels of every instruction set that this machine has, over random shapes and strides,
 * against sums in double, and their transposes. */
#include "base/random.h"
#include "kernels/kernels.h"
#include "sparc/sparc.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 150 };

/* operands with padding after every row, and what C held before */
typedef struct example {
  product_operands o;
  float *A, *B, *C, *before, *bias;
} example;

static size_t draw(sparc_random *stream, size_t low, size_t high) {
  return low + (size_t)(random_uniform_f32(stream) * (float)(high - low + 1));
}

static float *draw_array(sparc_random *stream, size_t count) {
  float *array = malloc((count + 1) * sizeof *array);
  assert_non_null(array);
  for (size_t i = 0; i < count; i++) array[i] = 2 * random_uniform_f32(stream) - 1;
  return array;
}

/* half of them with many rows, for which panels are copied, half with few; every fourth is longer than a block of
 * terms. Some have several blocks of rows or of columns, some are empty. */
static example draw_example(sparc_random *stream, size_t number) {
  example e = {0};
  product_operands *o = &e.o;
  o->M = draw(stream, 1, number % 4 < 2 ? 200 : 20);
  o->N = draw(stream, 1, 150);
  o->K = draw(stream, 1, number % 4 == 2 ? 700 : 70);
  if (number % 25 == 21) {
    o->M = draw(stream, 259, 600);
    o->N = draw(stream, 256, 300);
    o->K = draw(stream, 129, 300);
  } else if (number % 25 == 22) {
    o->N = draw(stream, 1025, 2200);
  } else if (number % 25 == 23) {
    *(number % 2 ? &o->M : &o->N) = 0;
  }
  const size_t pad = number % 3 == 0 ? 0 : draw(stream, 0, 300);
  const bool turned = number % 2 == 1;
  o->a_row = turned ? 1 : o->K + pad;
  o->a_column = turned ? o->M + pad : 1;
  o->b_row = o->N + pad;
  o->c_row = o->N + pad % 5;
  e.A = draw_array(stream, turned ? o->K * o->a_column : o->M * o->a_row);
  e.B = draw_array(stream, o->K * o->b_row);
  e.C = draw_array(stream, o->M * o->c_row);
  e.before = malloc((o->M * o->c_row + 1) * sizeof(float));
  assert_non_null(e.before);
  memcpy(e.before, e.C, o->M * o->c_row * sizeof(float));
  e.bias = draw_array(stream, o->N);
  o->A = e.A;
  o->B = e.B;
  o->C = e.C;
  o->add = number % 5 == 0;
  o->bias = number % 5 == 1 ? e.bias : NULL;
  return e;
}

static void free_example(example *e) {
  free(e->A);
  free(e->B);
  free(e->C);
  free(e->before);
  free(e->bias);
}

/* |error| <= eps (K + 2) sum |a b|, the bound of any order of summation; what lies between rows is untouched */
static void expect_product(const char *name, const example *e) {
  const product_operands *o = &e->o;
  for (size_t i = 0; i < o->M; i++)
    for (size_t j = 0; j < o->c_row; j++) {
      const float got = e->C[i * o->c_row + j], before = e->before[i * o->c_row + j];
      double want = j >= o->N || o->add ? (double)before : o->bias ? (double)o->bias[j] : 0, size = fabs(want);
      for (size_t k = 0; j < o->N && k < o->K; k++) {
        const double term = (double)o->A[i * o->a_row + k * o->a_column] * (double)o->B[k * o->b_row + j];
        want += term;
        size += fabs(term);
      }
      const double tolerance = j < o->N ? (double)FLT_EPSILON * (double)(o->K + 2) * size : 0;
      if (!(fabs((double)got - want) <= tolerance))
        fail_msg("%s: M %zu N %zu K %zu, element (%zu, %zu) is %g, expected %g", name, o->M, o->N, o->K, i, j,
                 (double)got, want);
    }
}

/* a row by itself has the bits that it has among others */
static void expect_rows_alone(const char *name, product_fn *product, const example *e, const float *together) {
  for (size_t i = 0; i < e->o.M; i++) {
    product_operands o = e->o;
    o.M = 1;
    o.A += i * o.a_row;
    o.C = e->C + i * o.c_row;
    memcpy(o.C, e->before + i * o.c_row, o.N * sizeof(float));
    product(&o);
    if (memcmp(o.C, together + i * o.c_row, o.N * sizeof(float)) != 0)
      fail_msg("%s: M %zu N %zu K %zu, row %zu differs when computed alone", name, e->o.M, o.N, o.K, i);
  }
}

/* B in panels, with nothing after the last number */
static float *panels_of(const product_operands *o, size_t width) {
  float *panels = malloc(o->K * o->N * sizeof *panels + 1), *to = panels;
  assert_non_null(panels);
  for (size_t first = 0; first < o->N; first += width)
    for (size_t k = 0; k < o->K; k++)
      for (size_t n = first; n < o->N && n < first + width; n++) *to++ = o->B[k * o->b_row + n];
  return panels;
}

/* a right factor in panels gives the bits that it gives in rows, to all rows together and to each */
static void expect_panels_alike(const char *name, const kernels *table, example *e, const float *together) {
  const product_operands rows = e->o;
  float *panels = panels_of(&rows, table->product_panel);
  e->o.B = panels;
  e->o.b_row = 0;
  e->o.panels = true;
  memcpy(e->C, e->before, rows.M * rows.c_row * sizeof(float));
  table->product(&e->o);
  if (memcmp(e->C, together, rows.M * rows.c_row * sizeof(float)) != 0)
    fail_msg("%s: M %zu N %zu K %zu, panels differ from rows", name, rows.M, rows.N, rows.K);
  expect_rows_alone(name, table->product, e, together);
  e->o = rows;
  free(panels);
}

static void test_products(void **state) {
  (void)state;
  size_t tried = 0;
  for (const char *const *name = kernel_names(); *name; name++) {
    const kernels *table = kernels_find(*name);
    if (!table || !table->product) continue;
    sparc_random stream;
    sparc_random_init(&stream, 7, "product", "shapes");
    for (size_t i = 0; i < SHAPES; i++) {
      example e = draw_example(&stream, i);
      table->product(&e.o);
      expect_product(*name, &e);
      float *together = malloc((e.o.M * e.o.c_row + 1) * sizeof *together);
      assert_non_null(together);
      memcpy(together, e.C, e.o.M * e.o.c_row * sizeof *together);
      expect_rows_alone(*name, table->product, &e, together);
      expect_panels_alike(*name, table, &e, together);
      free(together);
      free_example(&e);
    }
    tried++;
  }
  printf("%zu instruction sets\n", tried);
  assert_true(tried >= 1);
}

/* every element at its place, and nothing written beside them */
static void expect_transpose(const kernels *table, sparc_random *stream, size_t number) {
  const size_t rows = draw(stream, 1, 70), columns = draw(stream, 1, 70), pad = number % 2 ? draw(stream, 1, 9) : 0;
  const size_t from_row = columns + pad, to_row = rows + pad;
  float *from = draw_array(stream, rows * from_row), *to = draw_array(stream, columns * to_row);
  float *before = malloc(columns * to_row * sizeof *before);
  assert_non_null(before);
  memcpy(before, to, columns * to_row * sizeof *before);
  table->transpose(rows, columns, from, from_row, to, to_row);
  for (size_t j = 0; j < columns; j++)
    for (size_t i = 0; i < to_row; i++)
      if (to[j * to_row + i] != (i < rows ? from[i * from_row + j] : before[j * to_row + i]))
        fail_msg("%s: element (%zu, %zu) of a transpose of %zu x %zu", table->name, j, i, rows, columns);
  free(from);
  free(to);
  free(before);
}

static void test_transposes(void **state) {
  (void)state;
  for (const char *const *name = kernel_names(); *name; name++) {
    const kernels *table = kernels_find(*name);
    if (!table || !table->transpose) continue;
    sparc_random stream;
    sparc_random_init(&stream, 7, "transpose", "shapes");
    for (size_t i = 0; i < SHAPES; i++) expect_transpose(table, &stream, i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_transposes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
