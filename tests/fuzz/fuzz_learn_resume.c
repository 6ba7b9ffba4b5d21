/* SPDX-License-Identifier: MIT */
/* fuzz_learn_resume.c: libFuzzer target of `sparc learn --resume`: learner.safetensors is continued with stream.csv. A
 * learner that was saved can be resumed again. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char command[] = "learn stream.csv --model learner.safetensors --resume --quiet";
  bundle b;
  if (unpack(data, size, &b) && run_command(command) == EXIT_DONE) {
    const exit_code again = run_command(command);
    require(again == EXIT_DONE || again == EXIT_NOT_FINITE, "a saved learner continues");
  }
  finish(&b);
  return 0;
}
