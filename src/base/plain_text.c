/* SPDX-License-Identifier: MIT */
/* plain_text.c: decoding UTF-8, and replacing characters that are not plain. */
#include "base/plain_text.h"

#include <string.h>

size_t utf8_length(const char *s, size_t size) {
  static const struct {
    unsigned char first_low, first_high, second_low, second_high, length;
  } forms[] = {
      {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
      {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
      {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  const unsigned char *u = (const unsigned char *)s;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (u[0] < forms[i].first_low || u[0] > forms[i].first_high) continue;
    const size_t length = forms[i].length;
    if (length > size) return 0;
    if (length > 1 && (u[1] < forms[i].second_low || u[1] > forms[i].second_high)) return 0;
    for (size_t k = 2; k < length; k++)
      if ((u[k] & 0xc0) != 0x80) return 0;
    return length;
  }
  return 0;
}

/* of what is not ASCII */
static bool is_plain(uint32_t code) {
  static const struct {
    uint32_t first, last;
  } others[] = {
      {0x0080, 0x009f},                   /* C1 control characters */
      {0x061c, 0x061c}, {0x200e, 0x200f}, /* marks of direction */
      {0x2028, 0x202e}, {0x2066, 0x2069}, /* separators of lines and paragraphs, embeddings, overrides, isolates */
      {0xfffd, 0xfffd},                   /* no character */
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (code >= others[i].first && code <= others[i].last) return false;
  return true;
}

text_character text_next(const char *text) {
  static const unsigned char payload[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* of the first byte, by length */
  const unsigned char first = (unsigned char)*text;
  if (first < 0x80) return (text_character){.code = first, .length = 1, .plain = first >= ' ' && first != 0x7f};
  const size_t length = utf8_length(text, strnlen(text, 4));
  if (length == 0) return (text_character){.code = 0xfffd, .length = 1};
  uint32_t code = first & payload[length];
  for (size_t i = 1; i < length; i++) code = code << 6 | ((unsigned char)text[i] & 0x3f);
  return (text_character){.code = code, .length = (int)length, .plain = is_plain(code)};
}

static char replacement(uint32_t code) { return code == '\t' || code == '\n' || code == '\r' ? ' ' : '?'; }

int put_plain_character(FILE *stream, const char *text) {
  const text_character c = text_next(text);
  if (c.plain)
    fwrite(text, 1, (size_t)c.length, stream);
  else
    putc(replacement(c.code), stream);
  return c.length;
}

void put_plain(FILE *stream, const char *text) {
  while (*text) text += put_plain_character(stream, text);
}

void make_plain(char *text) {
  char *to = text;
  for (const char *from = text; *from;) {
    const text_character c = text_next(from);
    if (c.plain)
      memmove(to, from, (size_t)c.length);
    else
      *to = replacement(c.code);
    to += c.plain ? c.length : 1;
    from += c.length;
  }
  *to = '\0';
}

int plain_columns(const char *text) {
  int columns = 0;
  for (; *text; text += text_next(text).length) columns++;
  return columns;
}
