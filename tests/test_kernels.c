/* SPDX-License-Identifier: MIT */
/* test_kernels.c: the public choice of kernels (sparc/cell.h): what there is, what a configuration gets, what it is
 * refused; and that the environment variable has the last word. The environment is never changed: level.sh runs this
 * program once for every value of SPARC_KERNEL. */
#include "kernels/kernels.h"
#include "nn/network.h"
#include "seq/scan.h"
#include "sparc/sparc.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* the set that the environment requests; NULL: none */
static const char * override(void) {
  const char *name = getenv("SPARC_KERNEL");
  return name && *name ? name : NULL;
}

static const char *expected(const char *requested) { return override() ? override() : requested; }

static void test_names(void **state) {
  (void)state;
  const char *const *names = kernel_names(), *chosen;
  size_t count = 0;
  while (names[count]) count++;
  assert_true(count >= 2);
  assert_string_equal(names[count - 1], "plain");
  assert_true(kernel_available("plain"));
  assert_true(kernel_available(names[count - 2]));
  assert_false(kernel_available("mmx"));
  assert_false(kernel_available(NULL));

  size_t best = 0;
  while (!kernel_available(names[best])) best++;
  assert_int_equal(kernel_resolve(NULL, &chosen), SPARC_OK);
  assert_string_equal(chosen, expected(names[best]));
}

static void test_configurations(void **state) {
  (void)state;
  for (const char *const *name = kernel_names(); *name; name++) {
    sparc_cell *cell;
    sparc_scan *scan;
    sparc_network *network;
    const sparc_cell_config of_cell = {.kind = "sparc", .D = 3, .H = 4, .kernel = *name};
    const sparc_scan_config of_scan = {.B = 1, .T = 2, .H = 4, .kernel = *name};
    if (!kernel_available(*name) && !override()) {
      assert_int_equal(sparc_cell_create(&of_cell, &cell), SPARC_INVALID);
      assert_non_null(strstr(sparc_error(), "which this machine cannot run"));
      continue;
    }
    assert_int_equal(sparc_cell_create(&of_cell, &cell), SPARC_OK);
    assert_string_equal(sparc_cell_config_of(cell).kernel, expected(*name));
    assert_int_equal(sparc_scan_create(&of_scan, &scan), SPARC_OK);
    if (strcmp(expected(*name), "plain") != 0) assert_string_equal(scan_kernel_name(scan), expected(*name));
    const sparc_head_config head = {.input = SPARC_HEAD_LAST, .outputs = 2};
    const sparc_network_config of_network = {
        .cell = "sparc", .kernel = *name, .H = 4, .inputs = 3, .head = &head, .heads = 1};
    assert_int_equal(sparc_network_create(&of_network, &network), SPARC_OK);
    assert_string_equal(sparc_cell_config_of(network_cell(network)).kernel, expected(*name));
    sparc_network_free(network);
    sparc_scan_free(scan);
    sparc_cell_free(cell);
  }
}

static void test_refusals(void **state) {
  (void)state;
  const char *chosen = "";
  if (override()) return;
  sparc_cell *cell;
  assert_int_equal(kernel_resolve("mmx", &chosen), SPARC_INVALID);
  assert_null(chosen);
  assert_int_equal(strncmp(sparc_error(), "kernel is 'mmx', expected ", 26), 0);
  const sparc_cell_config config = {.kind = "gru", .D = 3, .H = 4, .kernel = "mmx"};
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_INVALID);
  assert_null(cell);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_configurations),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
