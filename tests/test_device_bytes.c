/* SPDX-License-Identifier: MIT */
/* test_device_bytes.c: bytes that the kernels of devices move, counted from the launches of plans. */
#include "bench/device/mixer.h"
#include "bench/device/recorder.h"
#include "bench/device/scan.h"
#include "unit.h"

#include <string.h>

enum { B = 16, T = 2048, WIDTH = 2048 };

/* bytes per pair of coordinates and token of the kernels of one plan whose name is `kernel`, both directions recorded
 */
static double bytes_per_mode(const char *cell, const char *options, int bf16, const char *kernel) {
  sparc_device *recorder;
  device_mixer mixer;
  const device_mixer_config config = {
      .cell = cell, .options = options, .B = B, .T = T / 32, .D = WIDTH, .bf16 = bf16, .chunks = 1};
  assert_int_equal(recorder_open(false, &recorder), SPARC_OK);
  assert_int_equal(device_mixer_create(recorder, &config, &mixer), SPARC_OK);
  recorder_clear(recorder);
  assert_int_equal(device_mixer_forward(&mixer, 0), SPARC_OK);
  assert_int_equal(device_mixer_backward(&mixer, 0), SPARC_OK);
  const recorded_launch *launches;
  size_t count;
  double bytes = 0;
  assert_int_equal(recorder_launches(recorder, &launches, &count), SPARC_OK);
  for (size_t i = 0; i < count; i++)
    if (strcmp(launches[i].kernel, kernel) == 0) bytes += launches[i].loaded + launches[i].stored;
  device_mixer_free(&mixer);
  sparc_device_close(recorder);
  return bytes / ((double)B * (T / 32) * WIDTH / 2);
}

/* two shared controls per token against two gates per coordinate */
static void test_sparc_moves_two_thirds_of_rglru(void **state) {
  (void)state;
  static const char *const kernels[] = {"strip_forward", "strip_adjoint"};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const double sparc = bytes_per_mode("sparc", "projection=none", 1, kernels[i]);
    const double rglru = bytes_per_mode("rglru", "projection=none,block=256", 1, kernels[i]);
    if (!(sparc > 0 && 3 * sparc <= 2 * rglru))
      fail_msg("%s: SPARC moves %.2f bytes per mode, RG-LRU %.2f", kernels[i], sparc, rglru);
  }
}

/* the same for scans with given coefficients: BF16 at the boundary, transitions in FP32 */
static void test_given_scans_move_two_thirds(void **state) {
  (void)state;
  double sparc[2], rglru[2];
  const sparc_device_scan_config spectral = {SPARC_SCAN_SPECTRAL, B, T, WIDTH / 2, 2.7f, 1.5f, 1, 1};
  const sparc_device_scan_config real = {SPARC_SCAN_REAL, B, T, WIDTH, 0, 0, 1, 1};
  assert_int_equal(device_scan_count(&spectral, &sparc[0], &sparc[1]), SPARC_OK);
  assert_int_equal(device_scan_count(&real, &rglru[0], &rglru[1]), SPARC_OK);
  for (int i = 0; i < 2; i++)
    if (!(sparc[i] > 0 && 3 * sparc[i] <= 2 * rglru[i]))
      fail_msg("%s: SPARC moves %.3g bytes, RG-LRU %.3g", i ? "backward" : "forward", sparc[i], rglru[i]);
}

/* content and y, a mark every 32 tokens, and what tokens and modes have once */
static void test_forward_moves_what_it_must(void **state) {
  (void)state;
  const double narrow = bytes_per_mode("sparc", "projection=none", 1, "strip_forward");
  const double wide = bytes_per_mode("sparc", "projection=none", 0, "strip_forward");
  if (!(narrow >= 8 && narrow <= 8.4)) fail_msg("BF16: %.2f bytes per mode", narrow);
  if (!(wide >= 16 && wide <= 16.4)) fail_msg("FP32: %.2f bytes per mode", wide);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sparc_moves_two_thirds_of_rglru),
      cmocka_unit_test(test_given_scans_move_two_thirds),
      cmocka_unit_test(test_forward_moves_what_it_must),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
