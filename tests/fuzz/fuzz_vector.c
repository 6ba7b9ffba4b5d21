/* SPDX-License-Identifier: MIT */
/* fuzz_vector.c: libFuzzer target of the reader of golden vectors of `sparc check`. */
#include "cli/check/vector_file.h"
#include "tensor_file.h"

#include <math.h>

static void check(const vector_file *v, double limit) {
  require(v->B >= 1 && v->T >= 1, "sizes");
  require(v->length[ARRAY_PARAMS] == sparc_cell_sizes_of(v->cell).params, "every parameter");
  require(v->length[ARRAY_X] == (size_t)v->B * (size_t)v->T * (size_t)sparc_cell_config_of(v->cell).D, "every input");
  for (size_t s = 0; s < v->slots; s++)
    for (size_t i = 0; i < v->slot[s].size; i++)
      require(fabs(v->array[v->slot[s].array][v->slot[s].offset + i]) <= limit, "a finite number");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const double limit = 3.4e38;
  char path[32];
  const int file = tensor_file(data, size, path);
  if (file < 0) return 0;
  vector_file vector;
  const sparc_status status = vector_load(path, limit, &vector);
  if (status == SPARC_OK) {
    check(&vector, limit);
    vector_free(&vector);
  } else {
    require_refusal(status, path);
  }
  close(file);
  return 0;
}
