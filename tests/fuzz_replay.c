/* SPDX-License-Identifier: MIT */
/* fuzz_replay.c: runs a fuzz target over the files of a folder, in any build and without libFuzzer, so that every
 * input that once mattered stays a test. Of targets with a mutator of their own, some mutations of every file, too. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROWTH = 1 << 16 }; /* that a mutation may make a file longer by */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) __attribute__((weak));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* what libFuzzer does to bytes, in its simplest form: one of them changes */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
  static uint32_t state = 1;
  (void)max_size;
  state = state * 1664525 + 1013904223;
  if (size) data[(state >> 8) % size] ^= (uint8_t)(1u << (state >> 5 & 7));
  return size;
}

static int mutate(const uint8_t *data, size_t size, unsigned mutations) {
  uint8_t *changed = malloc(size + GROWTH);
  if (!changed) return 1;
  for (unsigned seed = 1; seed <= mutations; seed++) {
    memcpy(changed, data, size);
    /* in a block of its own size again */
    const size_t length = LLVMFuzzerCustomMutator(changed, size, size + GROWTH, seed);
    uint8_t *exact = malloc(length + 1);
    if (exact) LLVMFuzzerTestOneInput(memcpy(exact, changed, length), length);
    free(exact);
  }
  free(changed);
  return 0;
}

/* the whole file in a block of exactly its size, so that a sanitizer sees reads beyond it */
static int replay(const char *folder, const char *name, unsigned mutations) {
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
  const int failed = !complete || (size > 0 && LLVMFuzzerCustomMutator && mutate(data, (size_t)size, mutations));
  free(data);
  fclose(file);
  return failed;
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 || argc == 3 ? opendir(argv[1]) : NULL;
  if (!folder) return fprintf(stderr, "usage: %s FOLDER [MUTATIONS]\n", argv[0]), 2;
  const unsigned mutations = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
  int count = 0, failed = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    failed |= replay(argv[1], entry->d_name, mutations);
    count++;
  }
  closedir(folder);
  printf("%d inputs\n", count);
  return failed || count == 0;
}
