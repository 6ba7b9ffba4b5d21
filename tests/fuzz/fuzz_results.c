/* SPDX-License-Identifier: MIT */
/* fuzz_results.c: libFuzzer target of results folders: what `sparc lab status` and `sparc lab table` make of somebody
 * else's results (results/g with lab.json and the runs below it). Nothing in the folder may change. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bundle b;
  if (unpack(data, size, &b)) {
    run_command("lab status --out results");
    run_command("lab status --out results --json");
    run_command("lab table results/g");
    run_command("lab table results/g --json");
    for (int i = 0; i < b.files; i++) {
      struct stat status;
      if (lstat(b.file[i].name, &status) == 0 && S_ISREG(status.st_mode))
        require((size_t)status.st_size == b.file[i].size, "looking at results leaves them as they are");
    }
  }
  finish(&b);
  return 0;
}
