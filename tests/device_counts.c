/* SPDX-License-Identifier: MIT */
/* device_counts.c: the launches of plans on devices as JSON, for scripts/device-counts.py.
 *
 *   device_counts FOLDER
 *
 * One object a line: the launch, its groups, its arguments, the bytes of its arrays. The kernels of every plan go to
 * FOLDER/NAME.cu. No driver is needed: see src/bench/device/recorder.h.
 */
#include "bench/device/mixer.h"
#include "bench/device/recorder.h"
#include "bench/device/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* widths of the paper's panels (b) and (d); two lengths, so that what happens once per launch cancels */
enum { WIDTH = 2048, NARROW = 64, SHORT = 32, LONG = 64, LENGTHS = 2 };

static const struct counted_plan {
  const char *name, *cell, *options; /* without a cell: a scan with given coefficients, real if D is the width */
  int D, H, chunks;
} plans[] = {
    {"sparc", "sparc", "projection=none", WIDTH, WIDTH / 2, 1},
    {"sparc-chunks", "sparc", "projection=none", WIDTH, WIDTH / 2, 2},
    {"rtu", "rtu", "", NARROW, WIDTH / 2, 1},
    {"rglru", "rglru", "projection=none,block=256", WIDTH, WIDTH, 1},
    {"scan-sparc", NULL, NULL, 0, WIDTH / 2, 1},
    {"scan-rglru", NULL, NULL, WIDTH, WIDTH, 1},
    {"rglru-chunks", "rglru", "projection=none,block=256", WIDTH, WIDTH, 2},
};

static void check(sparc_status status) {
  if (status == SPARC_OK) return;
  fprintf(stderr, "device_counts: %s\n", sparc_error());
  exit(1);
}

static void write_text(const char *folder, const char *name, const char *text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.cu", folder, name);
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
    fprintf(stderr, "device_counts: cannot write %s\n", path);
    exit(1);
  }
}

static void print_launch(const char *plan, int tokens, const recorded_launch *l) {
  printf(
      "{\"plan\": \"%s\", \"tokens\": %d, \"kernel\": \"%s\", \"groups\": %zu, \"loaded\": %.0f, "
      "\"stored\": %.0f, \"arrays\": [",
      plan, tokens, l->kernel, l->groups, l->loaded, l->stored);
  for (size_t i = 0; i < l->arrays; i++) {
    const recorded_array *a = &l->array[i];
    printf("%s{\"name\": \"%s\", \"absent\": %s, \"bytes\": %.0f}", i ? ", " : "", a->name,
           a->absent ? "true" : "false", a->bytes);
  }
  printf("], \"arguments\": [");
  for (size_t i = 0; i < l->raw.arguments; i++) {
    static const char *const kinds[] = {
        [ARGUMENT_BUFFER] = "pointer", [ARGUMENT_INT] = "int", [ARGUMENT_LONG] = "long"};
    printf("%s[\"%s\", %" PRId64 "]", i ? ", " : "", kinds[l->raw.argument[i].kind], l->raw.argument[i].value);
  }
  printf("]}\n");
}

/* ---- recording ------------------------------------------------------------------------------------- */

static void record_mixer(sparc_device *recorder, const struct counted_plan *plan, int T, int bf16) {
  const device_mixer_config config = {.cell = plan->cell,
                                      .options = plan->options,
                                      .B = 1,
                                      .T = T,
                                      .D = plan->D,
                                      .H = plan->H,
                                      .bf16 = bf16,
                                      .chunks = plan->chunks};
  device_mixer mixer;
  check(device_mixer_create(recorder, &config, &mixer));
  recorder_clear(recorder);
  check(device_mixer_forward(&mixer, 0));
  check(device_mixer_backward(&mixer, 0));
  device_mixer_free(&mixer);
}

static void record_scan(sparc_device *recorder, const struct counted_plan *plan, int T, int bf16) {
  const sparc_device_scan_config config = {
      plan->D == WIDTH ? SPARC_SCAN_REAL : SPARC_SCAN_SPECTRAL, 1, T, plan->H, 2.7f, 1.5f, bf16, plan->chunks};
  device_scan scan;
  check(device_scan_create(recorder, &config, &scan));
  recorder_clear(recorder);
  check(device_scan_forward(&scan));
  check(device_scan_backward(&scan));
  device_scan_free(&scan);
}

static void count(const char *folder, const struct counted_plan *plan, int bf16, bool fast) {
  static const int lengths[LENGTHS] = {SHORT, LONG};
  char name[64];
  sparc_device *recorder;
  snprintf(name, sizeof name, "%s-%s%s", plan->name, bf16 ? "bf16" : "fp32", fast ? "-fast" : "");
  check(recorder_open(fast, &recorder));
  for (int i = 0; i < LENGTHS; i++) {
    const int T = plan->chunks * lengths[i];
    const recorded_launch *launches;
    size_t n;
    (plan->cell ? record_mixer : record_scan)(recorder, plan, T, bf16);
    check(recorder_launches(recorder, &launches, &n));
    for (size_t k = 0; k < n; k++) print_launch(name, T, &launches[k]);
    write_text(folder, name, recorder_text(recorder));
  }
  sparc_device_close(recorder);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: device_counts FOLDER\n");
    return 2;
  }
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
    for (int bf16 = 1; bf16 >= 0; bf16--)
      for (int fast = 0; fast <= 1; fast++) count(argv[1], &plans[i], bf16, fast);
  return 0;
}
