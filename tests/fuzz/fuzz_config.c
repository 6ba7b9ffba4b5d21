/* SPDX-License-Identifier: MIT */
/* fuzz_config.c: libFuzzer target of the settings of `sparc train` in a JSON file. A file is refused or makes a
 * configuration, which written as config.json makes the same run again. */
#include "cli/train/settings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stdout, "violated: %s (last error: %s)\n", what, sparc_error());
  fflush(stdout);
  abort();
}

/* the configuration that a file gives for two channels and three classes; NULL if it is refused */
static json_t *read_file(const void *bytes, size_t size) {
  char path[32], who[] = "fuzz", option[] = "--config", *arguments[] = {who, option, path, NULL};
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  require(file >= 0 && write(file, bytes, size) == (ssize_t)size, "a file in memory");
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);

  train_settings settings;
  char options[CELL_OPTIONS_SIZE];
  sparc_train_config config;
  json_t *object = NULL;
  const exit_code code = settings_parse(3, arguments, &settings);
  require(code == EXIT_DONE || code == EXIT_USAGE || code == EXIT_INPUT, "an exit code");
  if (code == EXIT_DONE && settings_apply(&settings, NULL, 2, 3, options, &config) == SPARC_OK) {
    object = settings_json(&settings, &config);
    require(object != NULL, "settings as JSON");
  }
  settings_free(&settings);
  close(file);
  return object;
}

static void try_file(const uint8_t *data, size_t size) {
  json_t *first = read_file(data, size);
  if (!first) return;
  char *text = json_dumps(first, JSON_REAL_PRECISION(17));
  require(text != NULL, "the configuration as text");
  json_t *again = read_file(text, strlen(text));
  require(again != NULL, "a configuration that was written is read");
  require(settings_same_run("fuzz", again, first, "the first"), "a configuration that was written is the same");
  json_decref(first);
  json_decref(again);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* every refusal is a line on standard error, which is the fuzzer's */
  static FILE *nowhere;
  if (!nowhere) nowhere = fopen("/dev/null", "w");
  require(nowhere != NULL, "a place for messages");
  FILE *const console = stderr;
  stderr = nowhere;
  try_file(data, size);
  stderr = console;
  return 0;
}
