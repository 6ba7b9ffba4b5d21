/* SPDX-License-Identifier: MIT */
/* option_names.c: from members of configurations to options of the tool. */
#include "cli/option_names.h"

#include <stddef.h>
#include <string.h>

static const struct {
  const char *member, *option;
} names[] = {
    {"max_rows", "--max-rows"},     {"label_column", "--label"},
    {"ignore_columns", "--ignore"}, {"id_column", "--id"},
    {"time_column", "--time"},      {"series_array", "--x"},
    {"labels_array", "--y"},        {"objective regress", "--objective regress"},
    {"decimal ,", "--decimal ,"},   {"channels 1", "--channels 1"},
    {"config.time", "--time"},      {"config.ignore", "--ignore"},
};

/* the row whose member starts here and ends at a blank, a bracket, a comma, a semicolon or the end; -1: none */
static int find(const char *at) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const size_t size = strlen(names[i].member);
    if (strncmp(at, names[i].member, size) == 0 && strchr(" ),;", at[size])) return (int)i;
  }
  return -1;
}

option_text option_names(const char *sentence) {
  option_text out = {""};
  size_t used = 0;
  for (const char *at = sentence; *at && used + 1 < sizeof out.text;) {
    const int i = at == sentence || strchr(" (", at[-1]) ? find(at) : -1;
    const char *from = i < 0 ? at : names[i].option;
    size_t size = i < 0 ? 1 : strlen(from);
    at += i < 0 ? 1 : strlen(names[i].member);
    if (size > sizeof out.text - 1 - used) size = sizeof out.text - 1 - used;
    memcpy(out.text + used, from, size);
    used += size;
  }
  return out;
}
