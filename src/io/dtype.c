/* SPDX-License-Identifier: MIT */
/* dtype.c: the table of safetensors element types and the conversions between file bytes and numbers.
 *
 * Bytes are composed one by one, so neither alignment nor the byte order of the host matters; compilers turn the
 * composition into plain loads and stores. Equal types are copied as bit patterns, which preserves NaN payloads and
 * subnormals in any floating-point mode.
 */
#include "io/dtype.h"

#include "base/bf16.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t load_u16(const uint8_t *bytes) { return (uint32_t)(bytes[0] | bytes[1] << 8); }
static uint32_t load_u32(const uint8_t *bytes) { return load_u16(bytes) | load_u16(bytes + 2) << 16; }
uint64_t load_u64(const uint8_t *bytes) { return load_u32(bytes) | (uint64_t)load_u32(bytes + 4) << 32; }

static void store_u16(uint8_t *bytes, uint32_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
}

static void store_u32(uint8_t *bytes, uint32_t value) {
  store_u16(bytes, value & 0xffff);
  store_u16(bytes + 2, value >> 16);
}

void store_u64(uint8_t *bytes, uint64_t value) {
  store_u32(bytes, (uint32_t)value);
  store_u32(bytes + 4, (uint32_t)(value >> 32));
}

/* bit patterns and numbers */
static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Rounding a double to float and then to bfloat16 would round twice. The float in between is therefore rounded to odd:
 * an inexact one takes the neighbour whose last bit is 1, which cannot be mistaken for a tie. */
static uint32_t bf16_of_double(double value) {
  float nearest = (float)value;
  uint32_t bits = bits_of_float(nearest);
  double excess = fabs((double)nearest) - fabs(value);
  if (!(bits & 1) && excess < 0) bits++;
  if (!(bits & 1) && excess > 0) bits--;
  return bf16_of_float_bits(bits);
}

/* file bytes to numbers */
static void f64_to_f32(const uint8_t *restrict bytes, float *restrict out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = (float)double_of(load_u64(bytes + 8 * i));
}

static void f64_to_f64(const uint8_t *restrict bytes, double *restrict out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = double_of(load_u64(bytes + 8 * i));
}

static void f32_to_f32(const uint8_t *restrict bytes, float *restrict out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = float_of(load_u32(bytes + 4 * i));
}

static void f32_to_f64(const uint8_t *restrict bytes, double *restrict out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = (double)float_of(load_u32(bytes + 4 * i));
}

static void bf16_to_f32(const uint8_t *restrict bytes, float *restrict out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = float_of(float_bits_of_bf16((uint16_t)load_u16(bytes + 2 * i)));
}

static void bf16_to_f64(const uint8_t *restrict bytes, double *restrict out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = (double)float_of(float_bits_of_bf16((uint16_t)load_u16(bytes + 2 * i)));
}

/* numbers to file bytes */
static void f64_from_f32(const float *restrict in, uint8_t *restrict bytes, size_t count) {
  for (size_t i = 0; i < count; i++) store_u64(bytes + 8 * i, bits_of_double((double)in[i]));
}

static void f64_from_f64(const double *restrict in, uint8_t *restrict bytes, size_t count) {
  for (size_t i = 0; i < count; i++) store_u64(bytes + 8 * i, bits_of_double(in[i]));
}

static void f32_from_f32(const float *restrict in, uint8_t *restrict bytes, size_t count) {
  for (size_t i = 0; i < count; i++) store_u32(bytes + 4 * i, bits_of_float(in[i]));
}

static void f32_from_f64(const double *restrict in, uint8_t *restrict bytes, size_t count) {
  for (size_t i = 0; i < count; i++) store_u32(bytes + 4 * i, bits_of_float((float)in[i]));
}

static void bf16_from_f32(const float *restrict in, uint8_t *restrict bytes, size_t count) {
  for (size_t i = 0; i < count; i++) store_u16(bytes + 2 * i, bf16_of_float_bits(bits_of_float(in[i])));
}

static void bf16_from_f64(const double *restrict in, uint8_t *restrict bytes, size_t count) {
  for (size_t i = 0; i < count; i++) store_u16(bytes + 2 * i, bf16_of_double(in[i]));
}

static const dtype_row rows[] = {
    [SPARC_F64] = {"F64", 8, f64_to_f32, f64_to_f64, f64_from_f32, f64_from_f64},
    [SPARC_F32] = {"F32", 4, f32_to_f32, f32_to_f64, f32_from_f32, f32_from_f64},
    [SPARC_BF16] = {"BF16", 2, bf16_to_f32, bf16_to_f64, bf16_from_f32, bf16_from_f64},
    [SPARC_F16] = {.name = "F16", .size = 2},
    [SPARC_F8_E4M3] = {.name = "F8_E4M3", .size = 1},
    [SPARC_F8_E5M2] = {.name = "F8_E5M2", .size = 1},
    [SPARC_F8_E8M0] = {.name = "F8_E8M0", .size = 1},
    [SPARC_F8_E4M3FNUZ] = {.name = "F8_E4M3FNUZ", .size = 1},
    [SPARC_F8_E5M2FNUZ] = {.name = "F8_E5M2FNUZ", .size = 1},
    [SPARC_C64] = {.name = "C64", .size = 8},
    [SPARC_I64] = {.name = "I64", .size = 8},
    [SPARC_I32] = {.name = "I32", .size = 4},
    [SPARC_I16] = {.name = "I16", .size = 2},
    [SPARC_I8] = {.name = "I8", .size = 1},
    [SPARC_U64] = {.name = "U64", .size = 8},
    [SPARC_U32] = {.name = "U32", .size = 4},
    [SPARC_U16] = {.name = "U16", .size = 2},
    [SPARC_U8] = {.name = "U8", .size = 1},
    [SPARC_BOOL] = {.name = "BOOL", .size = 1},
};
enum { ROWS = sizeof rows / sizeof *rows };

const dtype_row *dtype_get(sparc_dtype dtype) { return (size_t)dtype < ROWS ? &rows[dtype] : NULL; }

const char *dtype_name(sparc_dtype dtype) {
  const dtype_row *row = dtype_get(dtype);
  return row ? row->name : "unknown";
}

size_t dtype_size(sparc_dtype dtype) {
  const dtype_row *row = dtype_get(dtype);
  return row ? row->size : 0;
}

bool dtype_parse(const char *name, sparc_dtype *dtype) {
  for (int i = 0; i < ROWS; i++) {
    if (strcmp(rows[i].name, name) != 0) continue;
    *dtype = (sparc_dtype)i;
    return true;
  }
  return false;
}

bool shape_size(const size_t *shape, int rank, size_t element_size, size_t *elements, size_t *bytes) {
  int overflow = 0;
  *elements = 1;
  for (int i = 0; i < rank; i++) *elements = size_product(*elements, shape[i], &overflow);
  *bytes = size_product(*elements, element_size, &overflow);
  return !overflow;
}

quotable quote(const char *text) {
  quotable out = {""};
  size_t length = 0, space = sizeof out.text - sizeof "...";
  for (; length < space && text[length]; length++) {
    unsigned char c = (unsigned char)text[length];
    out.text[length] = c < 0x20 || c == 0x7f ? '?' : (char)c;
  }
  if (!text[length]) return out;
  /* cut between characters: step back to the first byte of the one that would be split */
  while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  memcpy(out.text + length, "...", sizeof "...");
  return out;
}

quotable quote_shape(const size_t *shape, int rank) {
  quotable out = {"["};
  size_t length = 1;
  for (int i = 0; i < rank && length < sizeof out.text; i++)
    length += (size_t)snprintf(out.text + length, sizeof out.text - length, i ? ", %zu" : "%zu", shape[i]);
  if (length < sizeof out.text) snprintf(out.text + length, sizeof out.text - length, "]");
  return out;
}
