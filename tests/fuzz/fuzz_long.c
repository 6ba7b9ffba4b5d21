/* SPDX-License-Identifier: MIT */
/* fuzz_long.c: libFuzzer target of CSV as exported: the long format, channels by name and by number, decimal commas,
 * columns to leave out, targets of series and of steps. */
#include "dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const sparc_read_options csv = {.format = SPARC_DATA_CSV};
  sparc_read_options o = csv;
  o.id_column = "1", o.time_column = "2";
  try_bytes(data, size, o);
  o.objective = SPARC_OBJECTIVE_REGRESS;
  try_bytes(data, size, o);
  o = csv;
  o.time_column = "t", o.unlabelled = 1;
  try_bytes(data, size, o);
  o = csv;
  o.channels = 2, o.decimal = ",", o.ignore_columns = "1";
  try_bytes(data, size, o);
  o = csv;
  o.objective = SPARC_OBJECTIVE_REGRESS, o.max_rows = 3;
  try_bytes(data, size, o);
  static const char *const names[] = {"ax", "b"}, *const none[] = {"c"};
  const sparc_columns like = {.channels = 2, .channel = names, .ignored = 1, .ignore = none, .label = "y", .steps = 1};
  const sparc_columns rows = {.channels = 2, .channel = names, .label = "y"};
  o = csv;
  o.columns = &like, o.texts = 1, o.time_column = "none";
  try_bytes(data, size, o);
  o = csv;
  o.columns = &rows;
  try_bytes(data, size, o);
  const sparc_columns values = {.values = 2, .value = names, .label = "y"};
  o = csv;
  o.columns = &values;
  try_bytes(data, size, o);
  o = csv;
  o.objective = SPARC_OBJECTIVE_FORECAST, o.texts = 1;
  try_bytes(data, size, o);
  return 0;
}
