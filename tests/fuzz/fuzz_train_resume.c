/* SPDX-License-Identifier: MIT */
/* fuzz_train_resume.c: libFuzzer target of `sparc train` with a checkpoint: --resume of the run in the folder run, or,
 * where the input has from.safetensors, a new run --from it. Both learn from data.csv, where there is one. A run that
 * ended leaves a model that predicts. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { MOST = 64 }; /* of any setting, so that a run is short */
  bundle b;
  if (unpack(data, size, &b)) {
    const bool from = bundle_find(&b, "from.safetensors") != NULL;
    exit_code code = EXIT_USAGE;
    if (from)
      code = run_command("train data.csv --from from.safetensors --updates 1 --batch 4 --out new --quiet --threads 1");
    else if (is_small(bundle_find(&b, "run/config.json"), MOST))
      code = run_command("train --resume --out run --quiet --threads 1");
    if (code == EXIT_DONE) {
      const char *look = from ? "info new --json" : "info run/last.safetensors --json";
      const exit_code used = run_command(look);
      require(used == EXIT_DONE, "a model that was saved is a file");
    }
  }
  finish(&b);
  return 0;
}
