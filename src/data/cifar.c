/* SPDX-License-Identifier: MIT */
/* cifar.c: the binary version of CIFAR-10: records of a label byte and 32 x 32 red, green and blue bytes, plane by
 * plane.
 *
 * An image becomes the sequence of its 1024 gray values, row by row. Gray is the luma 0.299 R + 0.587 G + 0.114 B,
 * computed in whole numbers so that the rounding (halves go up) is exact everywhere.
 */
#include "data/dataset.h"

#include <string.h>

enum { PIXELS = 32 * 32, RECORD = 1 + 3 * PIXELS, CLASSES = 10 };

static int luma(int red, int green, int blue) { return (299 * red + 587 * green + 114 * blue + 500) / 1000; }

static sparc_status append_record(builder *b, const source *s, size_t number, bool labelled) {
  const uint8_t *record = s->bytes + number * RECORD, *red = record + 1, *green = red + PIXELS, *blue = green + PIXELS;
  const place where = place_example(s, number + 1);
  if (record[0] >= CLASSES)
    return fail(SPARC_FORMAT, "%s: the label is %d, expected 0 to %d", where.text, record[0], CLASSES - 1);
  float *out;
  sparc_status status = builder_begin(b, PIXELS, &out);
  if (status != SPARC_OK) return status;
  for (size_t i = 0; i < PIXELS; i++) out[i] = (float)luma(red[i], green[i], blue[i]);
  builder_end(b, PIXELS);
  const char digit = (char)('0' + record[0]);
  return labelled ? builder_label(b, where.text, (span){&digit, 1}) : SPARC_OK;
}

sparc_status read_cifar(builder *b, const source *s, const source *labels, const sparc_read_options *o) {
  static const char *const names[CLASSES] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  (void)labels;
  if (s->size == 0 || s->size % RECORD != 0)
    return fail(SPARC_FORMAT, "%s: %zu bytes, expected a multiple of %d, the size of a CIFAR-10 record", s->label,
                s->size, RECORD);
  const char *duplicate;
  if (!b->map && !o->unlabelled && !(b->map = class_map_create(names, CLASSES, b->c, &duplicate)))
    return fail(SPARC_NO_MEMORY, "%s: no memory for the labels", s->label);
  const size_t count = s->size / RECORD;
  sparc_status status = builder_expect(b, count, count * PIXELS);
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = append_record(b, s, i, !o->unlabelled);
  return status;
}
