/* SPDX-License-Identifier: MIT */
/* fuzz_checkpoint.c: libFuzzer target of the readers of checkpoints: as a state to resume from and as a model, which is
 * then used. */
#include "tensor_file.h"
#include "train/checkpoint.h"

/* both arrays have exactly the size that the network asks for, so that the sanitizer sees one element too many */
static void try_resuming(const char *path) {
  checkpoint c;
  sparc_status status = checkpoint_open(path, true, &c);
  if (status != SPARC_OK) {
    require_refusal(status, path);
    return;
  }
  const size_t count = sparc_network_sizes_of(c.network).params;
  float *params = malloc(count * sizeof *params), *moments = malloc(2 * count * sizeof *moments);
  require(params && moments, "memory for the numbers");
  status = checkpoint_read(&c, params, moments);
  if (status != SPARC_OK) require_refusal(status, path);
  free(params);
  free(moments);
  checkpoint_close(&c);
}

static sparc_sample zeros(const void *source, int index) {
  (void)index;
  return (sparc_sample){.x = source, .length = 1, .label = -1};
}

static void use(sparc_model *model) {
  const sparc_network_config config = sparc_network_config_of(sparc_model_info_of(model).network);
  float *x = calloc((size_t)config.inputs, sizeof *x), *y = malloc((size_t)config.head->outputs * sizeof *y);
  require(x && y, "memory for an example");
  const sparc_samples samples = {.count = 1, .channels = config.inputs, .longest = 1, .source = x, .at = zeros};
  const sparc_status status = sparc_model_predict(model, &samples, y);
  require(status == SPARC_OK || status == SPARC_NOT_FINITE, "a model that was loaded predicts");
  free(x);
  free(y);
}

static void try_model(const char *path) {
  sparc_model *model;
  const sparc_status status = sparc_model_load(path, 1, &model);
  if (status == SPARC_OK)
    use(model);
  else
    require_refusal(status, path);
  sparc_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[32];
  const int file = tensor_file(data, size, path);
  if (file < 0) return 0;
  try_resuming(path);
  try_model(path);
  close(file);
  return 0;
}
