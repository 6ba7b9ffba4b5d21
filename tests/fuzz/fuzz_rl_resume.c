/* SPDX-License-Identifier: MIT */
/* fuzz_rl_resume.c: libFuzzer target of `sparc rl --resume`: the run in the folder run (config.json, last.safetensors,
 * metrics.jsonl), with the states of its environments, goes on. The agent of a run that ended can be evaluated. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { MOST = 256 }; /* of any setting, so that a run is short */
  bundle b;
  if (unpack(data, size, &b) && is_small(bundle_find(&b, "run/config.json"), MOST) &&
      run_command("rl --resume --out run --quiet --threads 1") == EXIT_DONE)
    require(run_command("info run --json") == EXIT_DONE, "an agent that was saved is a file");
  finish(&b);
  return 0;
}
