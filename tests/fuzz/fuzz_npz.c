/* SPDX-License-Identifier: MIT */
/* fuzz_npz.c: libFuzzer target of the NPZ reader: archives with arrays of the default names, with requested names,
 * and with targets in the place of labels. */
#include "dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_NPZ});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_NPZ, .series_array = "y", .labels_array = "x"});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_NPZ, .objective = SPARC_OBJECTIVE_REGRESS});
  return 0;
}
