/* SPDX-License-Identifier: MIT */
/* test_plain_text.c: which characters of a stranger's text are shown, and what takes the place of the others. */
#include "base/plain_text.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *text, const char *want) {
  char copy[64], *written = NULL;
  size_t size;
  snprintf(copy, sizeof copy, "%s", text);
  make_plain(copy);
  assert_string_equal(copy, want);
  FILE *stream = open_memstream(&written, &size);
  assert_non_null(stream);
  put_plain(stream, text);
  fclose(stream);
  assert_string_equal(written, want);
  assert_int_equal(plain_columns(text), plain_columns(want));
  free(written);
}

static void test_replacement(void **state) {
  (void)state;
  expect("", "");
  expect("plain ± ◇ 𝄞", "plain ± ◇ 𝄞");
  expect("a\tb\r\nc", "a b  c");
  expect("\033[31m\007\x7f", "?[31m??");
  expect("\xc2\x9b[m", "?[m");      /* CSI as one character */
  expect("\xe2\x80\xae", "?");      /* right-to-left override */
  expect("\xe2\x80\xa8", "?");      /* line separator */
  expect("\xef\xbf\xbd", "?");      /* the replacement character */
  expect("\xff\x80z", "??z");       /* no UTF-8 */
  expect("\xc0\xaf", "??");         /* overlong */
  expect("\xed\xa0\x80", "???");    /* a surrogate */
  expect("cut \xe2\x82", "cut ??"); /* in the middle of a character */
}

static void test_decoding(void **state) {
  (void)state;
  const struct {
    const char *text;
    uint32_t code;
    int length;
    bool plain;
  } cases[] = {{"a", 'a', 1, true},
               {"é", 0xe9, 2, true},
               {"€", 0x20ac, 3, true},
               {"𝄞", 0x1d11e, 4, true},
               {"\xf4\x8f\xbf\xbf", 0x10ffff, 4, true},
               {"\xf4\x90\x80\x80", 0xfffd, 1, false},
               {"\x1b", 0x1b, 1, false},
               {"\xc2\x85", 0x85, 2, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const text_character c = text_next(cases[i].text);
    assert_int_equal(c.code, cases[i].code);
    assert_int_equal(c.length, cases[i].length);
    assert_int_equal(c.plain, cases[i].plain);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_replacement), cmocka_unit_test(test_decoding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
