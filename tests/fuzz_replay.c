/* SPDX-License-Identifier: MIT */
/* fuzz_replay.c: runs a fuzz target over the files of a folder, in any build and without libFuzzer, so that every
 * input that once mattered stays a test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* the whole file in a block of exactly its size, so that a sanitizer sees reads beyond it */
static int replay(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return perror(path), 1;
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  uint8_t *data = size >= 0 ? malloc((size_t)size) : NULL;
  const int complete = size == 0 || (data && fread(data, 1, (size_t)size, file) == (size_t)size);
  if (complete) LLVMFuzzerTestOneInput(data, (size_t)size);
  if (!complete) perror(path);
  free(data);
  fclose(file);
  return !complete;
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  if (!folder) return fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
  int count = 0, failed = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    failed |= replay(argv[1], entry->d_name);
    count++;
  }
  closedir(folder);
  printf("%d inputs\n", count);
  return failed || count == 0;
}
