/* SPDX-License-Identifier: MIT */
/* elements.c: binary arrays to examples. Bytes are composed one by one, so neither the alignment nor the byte order of
 * the host matters. */
#include "data/elements.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint8_t *element_at(const elements *e, size_t index) {
  return e->source->bytes + e->start + index * e->size;
}

/* which element value i of a row of `count` values is; i counts with the last index running fastest */
static size_t index_of(const elements *e, size_t row, size_t count, size_t i) {
  if (!e->fortran) return row * count + i;
  size_t stride = e->shape[0] * count, index = row;
  for (int k = e->rank - 1; k > 0; k--) {
    stride /= e->shape[k];
    index += i % e->shape[k] * stride;
    i /= e->shape[k];
  }
  return index;
}

static uint64_t compose(const uint8_t *bytes, size_t size, bool big_endian) {
  uint64_t bits = 0;
  for (size_t k = 0; k < size; k++) bits |= (uint64_t)bytes[big_endian ? size - 1 - k : k] << 8 * k;
  return bits;
}

static uint64_t load_bits(const elements *e, size_t index) {
  return compose(element_at(e, index), e->size, e->big_endian);
}

static int64_t load_signed(const elements *e, size_t index) {
  const uint64_t bits = load_bits(e, index);
  if (e->size == 1) return (int8_t)bits;
  if (e->size == 2) return (int16_t)bits;
  return e->size == 4 ? (int32_t)bits : (int64_t)bits;
}

static double load_float(const elements *e, size_t index) {
  const uint64_t bits = load_bits(e, index);
  if (e->size == 2) {
    /* binary16: sign, 5 bits of exponent, 10 of mantissa */
    const int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
    const double size = exponent == 0x1f ? (mantissa ? NAN : INFINITY)
                        : exponent       ? ldexp(mantissa + 0x400, exponent - 25)
                                         : ldexp(mantissa, -24);
    return bits & 0x8000 ? -size : size;
  }
  if (e->size == 4) {
    const uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    return value;
  }
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double load(const elements *e, size_t index) {
  if (e->kind == ELEMENT_FLOAT) return load_float(e, index);
  return e->kind == ELEMENT_SIGNED ? (double)load_signed(e, index) : (double)load_bits(e, index);
}

/* rounded once: a whole number does not become a double first */
static float load_single(const elements *e, size_t index) {
  if (e->kind == ELEMENT_FLOAT) return (float)load_float(e, index);
  return e->kind == ELEMENT_SIGNED ? (float)load_signed(e, index) : (float)load_bits(e, index);
}

sparc_status elements_check(const elements *e) {
  const size_t available = e->source->size - e->start;
  size_t count, bytes;
  for (int i = 0; i < e->rank; i++)
    if (e->shape[i] == 0)
      return fail(SPARC_FORMAT, "%s: the shape is %s, expected no dimension of 0", e->source->label,
                  quote_shape(e->shape, e->rank).text);
  if (!shape_size(e->shape, e->rank, e->size, &count, &bytes))
    return fail(SPARC_FORMAT, "%s: the size of shape %s overflows", e->source->label,
                quote_shape(e->shape, e->rank).text);
  if (bytes != available)
    return fail(SPARC_FORMAT, "%s: %zu bytes of elements, expected %zu for shape %s: the file is %s", e->source->label,
                available, bytes, quote_shape(e->shape, e->rank).text, available < bytes ? "truncated" : "too long");
  return SPARC_OK;
}

/* ---- examples ---- */

static sparc_status convert(const elements *e, size_t row, size_t count, float *out) {
  /* fast path for pixels */
  if (e->size == 1 && e->kind == ELEMENT_UNSIGNED) {
    for (size_t i = 0; i < count; i++) out[i] = *element_at(e, index_of(e, row, count, i));
    return SPARC_OK;
  }
  for (size_t i = 0; i < count; i++) {
    const size_t index = index_of(e, row, count, i);
    out[i] = load_single(e, index);
    if (isinf(out[i]))
      return fail(SPARC_FORMAT, "%s: value %zu is %g, expected %s", place_example(e->source, row + 1).text, i + 1,
                  load(e, index), number_expected(NUMBER_LARGE));
  }
  return SPARC_OK;
}

/* the UTF-8 form of a 32-bit character; returns its bytes. What is no character becomes a byte that is not UTF-8. */
static size_t encode(uint32_t c, char *out) {
  if (c < 0x80) return out[0] = (char)c, 1;
  if (c > 0x10ffff) return out[0] = (char)0xff, 1;
  const size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t k = size; k-- > 1; c >>= 6) out[k] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)((0xf00 >> size & 0xff) | c);
  return size;
}

/* a text without trailing zeros, at most one byte longer than a label may be */
static span load_text(const elements *e, size_t index, char buffer[LABEL_MAX + 5]) {
  const size_t width = e->kind == ELEMENT_UNICODE ? 4 : 1, count = e->size / width;
  const uint8_t *bytes = element_at(e, index);
  size_t used = 0, end = 0;
  for (size_t i = 0; i < count && used <= LABEL_MAX; i++) {
    const uint32_t c = (uint32_t)compose(bytes + i * width, width, e->big_endian);
    if (width == 1)
      buffer[used++] = (char)c;
    else
      used += encode(c, buffer + used);
    if (c) end = used;
  }
  return (span){buffer, end};
}

static bool is_text(const elements *e) { return e->kind == ELEMENT_BYTES || e->kind == ELEMENT_UNICODE; }

static sparc_status append_text(builder *b, const elements *labels, size_t row) {
  char buffer[LABEL_MAX + 5];
  const span text = load_text(labels, row, buffer);
  if (text.size && memchr(text.at, '\0', text.size))
    return fail(SPARC_FORMAT, "%s: the label '%s' has a zero inside, expected text",
                place_example(labels->source, row + 1).text, span_quote(text).text);
  return builder_label(b, place_example(labels->source, row + 1).text, text);
}

static sparc_status append_label(builder *b, const elements *labels, size_t row) {
  if (is_text(labels)) return append_text(b, labels, row);
  char text[32];
  const double value = load(labels, row);
  if (labels->kind == ELEMENT_FLOAT && !(fabs(value) < 0x1p53 && value == floor(value)))
    return fail(SPARC_FORMAT, "%s: the label is %g, expected a whole number",
                place_example(labels->source, row + 1).text, value);
  const int size = labels->kind == ELEMENT_UNSIGNED ? snprintf(text, sizeof text, "%" PRIu64, load_bits(labels, row))
                   : labels->kind == ELEMENT_SIGNED ? snprintf(text, sizeof text, "%" PRId64, load_signed(labels, row))
                                                    : snprintf(text, sizeof text, "%.0f", value + 0.0);
  return builder_label(b, place_example(labels->source, row + 1).text, (span){text, (size_t)size});
}

/* how many target numbers an example has, and whether for every step: [N], [N][K], [N][T] or [N][T][K] */
static bool measure_targets(const elements *t, size_t length, size_t *width, bool *steps) {
  *steps = t->rank == 3 || (t->rank == 2 && t->shape[1] == length && length > 1);
  *width = t->rank == 1 ? 1 : t->rank == 3 ? t->shape[2] : *steps ? 1 : t->shape[1];
  return t->rank <= 2 || (t->rank == 3 && t->shape[1] == length);
}

static sparc_status append_targets(builder *b, const elements *t, size_t row, size_t length) {
  size_t width;
  bool steps;
  measure_targets(t, length, &width, &steps);
  const size_t count = width * (steps ? length : 1);
  float *values = sparc_alloc(count * sizeof *values);
  if (!values) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu targets", t->source->label, count);
  sparc_status status = convert(t, row, count, values);
  for (size_t i = 0; i < count && status == SPARC_OK; i++)
    if (isnan(values[i]))
      status = fail(SPARC_FORMAT, "%s: target %zu is missing, expected a number",
                    place_example(t->source, row + 1).text, i + 1);
  if (status == SPARC_OK) status = builder_target(b, t->source->label, values, width, steps);
  sparc_free(values);
  return status;
}

static sparc_status check_targets(const elements *t, const elements *e, size_t length) {
  size_t width;
  bool steps;
  if (is_text(t)) return fail(SPARC_FORMAT, "%s: the targets are texts, expected numbers", t->source->label);
  if (t->shape[0] == e->shape[0] && measure_targets(t, length, &width, &steps) && width <= INT32_MAX) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: targets of shape %s, expected [%zu], [%zu, K], [%zu, %zu] or [%zu, %zu, K]",
              t->source->label, quote_shape(t->shape, t->rank).text, e->shape[0], e->shape[0], e->shape[0], length,
              e->shape[0], length);
}

static sparc_status append_row(builder *b, const elements *e, size_t row, size_t length) {
  float *out;
  const size_t count = length * (size_t)b->channels;
  sparc_status status = builder_begin(b, length, &out);
  if (status == SPARC_OK) status = convert(e, row, count, out);
  if (status != SPARC_OK) return status;
  if (builder_end(b, length) == count)
    return fail(SPARC_FORMAT, "%s: all %zu values are missing, expected at least one number",
                place_example(e->source, row + 1).text, count);
  return SPARC_OK;
}

sparc_status elements_append(builder *b, const elements *e, size_t length, size_t channels, const elements *labels) {
  const size_t rows = e->shape[0];
  if (is_text(e)) return fail(SPARC_FORMAT, "%s: the series are texts, expected numbers", e->source->label);
  if (labels && b->numbers) {
    const sparc_status status = check_targets(labels, e, length);
    if (status != SPARC_OK) return status;
  }
  const bool one_each = labels && (labels->rank == 1 || (labels->rank == 2 && labels->shape[1] == 1));
  if (labels && !b->numbers && (!one_each || labels->shape[0] != rows))
    return fail(SPARC_FORMAT, "%s: labels of shape %s, expected [%zu] for the examples of %s", labels->source->label,
                quote_shape(labels->shape, labels->rank).text, rows, e->source->label);
  if (channels > INT32_MAX)
    return fail(SPARC_FORMAT, "%s: %zu channels, expected at most %d", e->source->label, channels, INT32_MAX);
  b->channels = (int)channels;
  sparc_status status = builder_expect(b, rows, rows * length * channels);
  for (size_t row = 0; row < rows && status == SPARC_OK; row++) {
    status = append_row(b, e, row, length);
    if (status == SPARC_OK && labels)
      status = b->numbers ? append_targets(b, labels, row, length) : append_label(b, labels, row);
  }
  return status;
}
