/* SPDX-License-Identifier: MIT */
/* plain_text.h: text from files that is shown to a user.
 *
 * A name or title in an untrusted file must not affect the terminal, page or script that shows it. A character
 * is plain unless it is a control character (C0, DEL, C1: these start terminal escape sequences), a separator of lines,
 * or a mark that reverses the direction of the text around it. A byte that belongs to no UTF-8 character is not plain.
 */
#ifndef SPARC_BASE_PLAIN_TEXT_H
#define SPARC_BASE_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* utf8_length is the length of the UTF-8 sequence at s, 0 if there is none: overlong forms, surrogates and codes beyond
 * 10ffff are none. */
size_t utf8_length(const char *s, size_t size);

typedef struct text_character {
  uint32_t code; /* 0xfffd for a byte that belongs to no character */
  int length;    /* in bytes */
  bool plain;
} text_character;

/* text_next decodes the character at text, which is not empty. */
text_character text_next(const char *text);

/* put_plain writes text with a blank for white space and a '?' for every other character that is not plain;
 * put_plain_character writes the first character so and returns its length in bytes. make_plain replaces in place.
 * plain_columns counts the characters, each one column wide. */
void put_plain(FILE *stream, const char *text);
int put_plain_character(FILE *stream, const char *text);
void make_plain(char *text);
int plain_columns(const char *text);

#endif
