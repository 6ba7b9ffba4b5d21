/* SPDX-License-Identifier: MIT */
/* fuzz_gzip.c: libFuzzer target of gzip around data. Bytes as the body of a gzip file are refused or read; text that is
 * packed, in one member or in two, gives what it gives unpacked; a packed file that is cut is refused. */
#include "dataset.h"

#include <zlib.h>

enum { GZIP = 16, HEADER = 10 };

/* a gzip header before whatever the fuzzer makes up */
static void try_body(const uint8_t *data, size_t size) {
  static const uint8_t header[HEADER] = {0x1f, 0x8b, 8};
  uint8_t *file = malloc(HEADER + size);
  require(file != NULL, "memory");
  memcpy(file, header, HEADER);
  if (size) memcpy(file + HEADER, data, size);
  try_bytes(file, HEADER + size, (sparc_read_options){.format = SPARC_DATA_AUTO});
  free(file);
}

static size_t pack(const uint8_t *data, size_t size, uint8_t *out, size_t room) {
  z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = out, .avail_out = (uInt)room};
  require(deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK, "a packer");
  require(deflate(&z, Z_FINISH) == Z_STREAM_END, "packing");
  deflateEnd(&z);
  return z.total_out;
}

/* what the bytes give: a data set, or NULL and a sentence */
static sparc_dataset *parse(const uint8_t *data, size_t size, char sentence[512]) {
  const sparc_read_options o = {.format = SPARC_DATA_UCR, .max_bytes = (size_t)1 << 24};
  sparc_dataset *d = NULL;
  const sparc_status status = sparc_dataset_parse(data, size, "fuzz", &o, &d);
  require(status == SPARC_OK || status == SPARC_FORMAT, "a status");
  snprintf(sentence, 512, "%s", status == SPARC_OK ? "" : sparc_error());
  return d;
}

static void compare(const sparc_dataset *a, const sparc_dataset *b) {
  require((a == NULL) == (b == NULL), "packed data is read as the plain one is");
  if (!a) return;
  require(sparc_dataset_info_of(a).count == sparc_dataset_info_of(b).count, "as many examples");
  for (int i = 0, examples = sparc_dataset_info_of(a).count; i < examples; i++) {
    const size_t bytes = (size_t)sparc_dataset_example(a, i).length * sizeof(float);
    require(sparc_dataset_example(a, i).length == sparc_dataset_example(b, i).length, "as many steps");
    require(memcmp(sparc_dataset_example(a, i).x, sparc_dataset_example(b, i).x, bytes) == 0, "the same values");
  }
}

static void try_packed(const uint8_t *data, size_t size, size_t first) {
  const size_t room = 2 * size + 256;
  uint8_t *packed = malloc(room);
  require(packed != NULL, "memory");
  size_t used = pack(data, first, packed, room);
  if (first < size) used += pack(data + first, size - first, packed + used, room - used);
  char plain_sentence[512], packed_sentence[512];
  sparc_dataset *plain = parse(data, size, plain_sentence), *again = parse(packed, used, packed_sentence);
  compare(plain, again);
  require(strcmp(plain_sentence, packed_sentence) == 0, "the same sentence");
  sparc_dataset_free(plain);
  sparc_dataset_free(again);

  /* a cut in the last member */
  require(parse(packed, used - 1 - size % 8, packed_sentence) == NULL, "a cut file is refused");
  free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try_body(data, size);
  /* packed twice is not unpacked twice */
  if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b) return 0;
  try_packed(data, size, size);
  try_packed(data, size, size / 2);
  return 0;
}
