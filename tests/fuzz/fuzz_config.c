/* SPDX-License-Identifier: MIT */
/* fuzz_config.c: libFuzzer target of the settings of a run in a JSON file. A file is refused or makes a configuration,
 * which written as config.json makes the same run again. */
#include "run/run_settings.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, sparc_error());
  abort();
}

/* the configuration of two channels and three classes as JSON; NULL if it is refused */
static json_t *settle(sparc_run_config *config) {
  const run_data data = {.channels = 2, .outputs = 3};
  char options[CELL_OPTIONS_SIZE];
  sparc_head_config head;
  if (!config->data || run_resolve(config, &data, options, &head) != SPARC_OK) return NULL;
  json_t *object = run_config_json(config);
  require(object != NULL, "settings as JSON");
  return object;
}

static json_t *read_file(const void *bytes, size_t size) {
  char path[32];
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  require(file >= 0 && write(file, bytes, size) == (ssize_t)size, "a file in memory");
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);

  sparc_run_config config = {.data = NULL};
  const settings_binding binding = run_binding(&config);
  settings_source source = {.where = NULL};
  json_t *object = NULL;
  sparc_status status = settings_read_file(&binding, path, &source);
  require(status == SPARC_OK || status == SPARC_INVALID || status == SPARC_FORMAT, "a status of reading");
  if (status == SPARC_OK) {
    status = settings_apply(&binding, &source);
    require(status == SPARC_OK || status == SPARC_INVALID, "a status of applying");
    if (status == SPARC_OK) object = settle(&config);
  }
  settings_source_free(&source);
  close(file);
  return object;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  json_t *first = read_file(data, size);
  if (!first) return 0;
  char *text = json_dumps(first, JSON_REAL_PRECISION(17));
  require(text != NULL, "the configuration as text");
  json_t *again = read_file(text, strlen(text));
  require(again != NULL, "a configuration that was written is read");
  sparc_run_config any = {.data = NULL};
  const settings_binding binding = run_binding(&any);
  require(settings_compare(&binding, again, first, "the first") == SPARC_OK,
          "a configuration that was written is the same");
  json_decref(first);
  json_decref(again);
  free(text);
  return 0;
}
