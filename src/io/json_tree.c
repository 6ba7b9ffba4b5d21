/* SPDX-License-Identifier: MIT */
/* json_tree.c: recursive descent over one text. Nodes lie in one array in the order of the text, their strings in one
 * buffer: a string is never longer than it was with its quotes, and a number has a separator after it to spare. */
#include "io/json_tree.h"

#include "base/memory.h"
#include "base/plain_text.h"
#include "io/dtype.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_tree {
  json_node *node;
  size_t count, capacity;
  char *strings; /* (length + 1) */
};

typedef struct parser {
  const unsigned char *text;
  size_t length, at;
  json_tree *tree;
  char *next; /* where the next string goes */
  json_fault *fault;
} parser;

/* ---- faults -------------------------------------------------------------------------------------- */

/* false, with the place of `at` or, past the end, of the last byte */
__attribute__((format(printf, 2, 3))) static bool refuse(parser *p, const char *format, ...) {
  json_fault *f = p->fault;
  const size_t at = p->at < p->length ? p->at : p->length ? p->length - 1 : 0;
  f->byte = at + 1;
  f->line = f->column = 1;
  for (size_t i = 0; i < at; i++) {
    f->column++;
    if (p->text[i] == '\n') f->line++, f->column = 1;
  }
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(f->reason, sizeof f->reason, format, arguments);
  va_end(arguments);
  return false;
}

static bool no_memory(parser *p) {
  p->fault->reason[0] = '\0';
  return false;
}

static bool unexpected(parser *p, const char *expected) {
  if (p->at >= p->length) return refuse(p, "it ends where %s is expected", expected);
  const char here[2] = {(char)p->text[p->at], '\0'};
  return refuse(p, "unexpected token near '%s', expected %s", quote(here).text, expected);
}

/* ---- tokens -------------------------------------------------------------------------------------- */

static int peek(const parser *p) { return p->at < p->length ? p->text[p->at] : -1; }

static bool take(parser *p, int c) {
  if (peek(p) != c) return false;
  p->at++;
  return true;
}

static void skip_blanks(parser *p) {
  while (peek(p) == ' ' || peek(p) == '\n' || peek(p) == '\t' || peek(p) == '\r') p->at++;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static bool skip_digits(parser *p) {
  if (!is_digit(peek(p))) return unexpected(p, "a digit");
  while (is_digit(peek(p))) p->at++;
  return true;
}

static void put_code(parser *p, uint32_t code) {
  const unsigned shift[] = {0, 6, 12, 18}, lead[] = {0, 0xc0, 0xe0, 0xf0};
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  *p->next++ = (char)(lead[more] | code >> shift[more]);
  for (int i = more - 1; i >= 0; i--) *p->next++ = (char)(0x80 | (code >> shift[i] & 0x3f));
}

static bool read_hex(parser *p, uint32_t *value) {
  *value = 0;
  for (int i = 0; i < 4; i++, p->at++) {
    const int c = peek(p), letter = c | 0x20;
    if (!is_digit(c) && !(letter >= 'a' && letter <= 'f')) return unexpected(p, "four hexadecimal digits");
    *value = 16 * *value + (uint32_t)(is_digit(c) ? c - '0' : letter - 'a' + 10);
  }
  return true;
}

/* after \u: one code, or the two halves of one beyond 16 bits */
static bool read_code(parser *p) {
  uint32_t code, low;
  if (!read_hex(p, &code)) return false;
  if (code == 0) return refuse(p, "\\u0000 is not allowed");
  if (code >= 0xd800 && code < 0xe000) {
    if (code >= 0xdc00 || !take(p, '\\') || !take(p, 'u')) return refuse(p, "half a surrogate pair");
    if (!read_hex(p, &low)) return false;
    if (low < 0xdc00 || low >= 0xe000) return refuse(p, "half a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  put_code(p, code);
  return true;
}

static bool read_escape(parser *p) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const int c = peek(p);
  if (take(p, 'u')) return read_code(p);
  const char *found = c > 0 ? strchr(from, c) : NULL;
  if (!found) return unexpected(p, "an escape");
  p->at++;
  *p->next++ = to[found - from];
  return true;
}

static bool read_string(parser *p, const char **out) {
  *out = p->next;
  if (!take(p, '"')) return unexpected(p, "a string");
  while (!take(p, '"')) {
    const int c = peek(p);
    if (c < 0) return unexpected(p, "the end of a string");
    if (c < 0x20) return refuse(p, "control character 0x%02x in a string", (unsigned)c);
    if (take(p, '\\')) {
      if (!read_escape(p)) return false;
      continue;
    }
    const size_t size = utf8_length((const char *)p->text + p->at, p->length - p->at);
    if (!size) return refuse(p, "unable to decode byte 0x%02x", (unsigned)c);
    memcpy(p->next, p->text + p->at, size);
    p->next += size;
    p->at += size;
  }
  *p->next++ = '\0';
  return true;
}

/* ---- values -------------------------------------------------------------------------------------- */

static bool read_integer(parser *p, json_node *node) {
  const bool negative = node->text[0] == '-';
  long long value = 0;
  for (const char *c = node->text + negative; *c; c++) {
    const int digit = *c - '0';
    if (value < (LLONG_MIN + digit) / 10) return refuse(p, "too big integer");
    value = 10 * value - digit;
  }
  if (!negative && value == LLONG_MIN) return refuse(p, "too big integer");
  node->integer = negative ? value : -value;
  return true;
}

static bool read_number(parser *p, json_node *node) {
  const size_t begin = p->at;
  node->kind = NODE_INTEGER;
  take(p, '-');
  if (!take(p, '0') && !skip_digits(p)) return false;
  if (take(p, '.')) {
    node->kind = NODE_REAL;
    if (!skip_digits(p)) return false;
  }
  if (take(p, 'e') || take(p, 'E')) {
    node->kind = NODE_REAL;
    if (!take(p, '+')) take(p, '-');
    if (!skip_digits(p)) return false;
  }
  node->text = p->next;
  memcpy(p->next, p->text + begin, p->at - begin);
  p->next += p->at - begin;
  *p->next++ = '\0';
  return node->kind == NODE_REAL || read_integer(p, node);
}

static bool read_word(parser *p, json_node *node) {
  static const struct {
    const char *word;
    node_kind kind;
  } words[] = {{"true", NODE_TRUE}, {"false", NODE_FALSE}, {"null", NODE_NULL}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const size_t size = strlen(words[i].word);
    if (size > p->length - p->at || memcmp(p->text + p->at, words[i].word, size) != 0) continue;
    p->at += size;
    node->kind = words[i].kind;
    return true;
  }
  return unexpected(p, "a value");
}

static bool grow(parser *p) {
  json_tree *t = p->tree;
  const size_t capacity = t->capacity ? 2 * t->capacity : 64;
  json_node *larger = sparc_alloc(capacity * sizeof *larger);
  if (!larger) return no_memory(p);
  if (t->count) memcpy(larger, t->node, t->count * sizeof *larger);
  sparc_free(t->node);
  t->node = larger;
  t->capacity = capacity;
  return true;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool check_keys(parser *p, size_t object) {
  const json_node *node = &p->tree->node[object], *child = json_child(node);
  const size_t count = node->count;
  if (count < 2) return true;
  const char **keys = sparc_alloc(count * sizeof *keys);
  if (!keys) return no_memory(p);
  for (size_t i = 0; i < count; i++, child = json_next(child)) keys[i] = child->key;
  qsort(keys, count, sizeof *keys, compare_texts);
  size_t twice = 1;
  while (twice < count && strcmp(keys[twice - 1], keys[twice]) != 0) twice++;
  const bool unique = twice == count || refuse(p, "duplicate object key '%s'", quote(keys[twice]).text);
  sparc_free(keys);
  return unique;
}

/* NOLINTBEGIN(misc-no-recursion): not deeper than JSON_DEPTH */
static bool read_value(parser *p, const char *key, int depth);

/* the children of node `at`, whose opening bracket is already consumed */
static bool read_children(parser *p, size_t at, int close, int depth) {
  const bool object = close == '}';
  if (depth == JSON_DEPTH) return refuse(p, "maximum parsing depth reached");
  skip_blanks(p);
  for (size_t count = 0; !take(p, close); count++) {
    const char *key = NULL;
    if (count && !take(p, ',')) return unexpected(p, object ? "',' or '}'" : "',' or ']'");
    skip_blanks(p);
    if (object) {
      if (!read_string(p, &key)) return false;
      skip_blanks(p);
      if (!take(p, ':')) return unexpected(p, "':'");
    }
    if (!read_value(p, key, depth + 1)) return false;
    skip_blanks(p);
    p->tree->node[at].count = count + 1;
  }
  p->tree->node[at].span = p->tree->count - at;
  return !object || check_keys(p, at);
}

static bool read_value(parser *p, const char *key, int depth) {
  json_tree *t = p->tree;
  if (t->count == t->capacity && !grow(p)) return false;
  const size_t at = t->count++;
  json_node *node = &t->node[at];
  *node = (json_node){.key = key, .span = 1};
  skip_blanks(p);
  const int c = peek(p);
  if (c == '{' || c == '[') {
    node->kind = c == '{' ? NODE_OBJECT : NODE_ARRAY;
    p->at++;
    return read_children(p, at, c == '{' ? '}' : ']', depth);
  }
  if (c == '"') {
    node->kind = NODE_STRING;
    return read_string(p, &node->text);
  }
  return c == '-' || is_digit(c) ? read_number(p, node) : read_word(p, node);
}
/* NOLINTEND(misc-no-recursion) */

/* ---- trees --------------------------------------------------------------------------------------- */

json_tree *json_tree_parse(const char *text, size_t length, json_fault *fault) {
  *fault = (json_fault){.byte = 0};
  json_tree *t = sparc_alloc(sizeof *t);
  if (!t) return NULL;
  t->strings = sparc_alloc(length + 1);
  parser p = {.text = (const unsigned char *)text, .length = length, .tree = t, .next = t->strings, .fault = fault};
  bool good = t->strings && read_value(&p, NULL, 0);
  skip_blanks(&p);
  if (good && p.at < length) good = unexpected(&p, "the end");
  if (good) return t;
  json_tree_free(t);
  return NULL;
}

void json_tree_free(json_tree *tree) {
  if (!tree) return;
  sparc_free(tree->node);
  sparc_free(tree->strings);
  sparc_free(tree);
}

const json_node *json_root(const json_tree *tree) { return tree->node; }

const json_node *json_member(const json_node *object, const char *key) {
  const json_node *child = json_child(object);
  for (size_t i = 0; i < object->count; i++, child = json_next(child))
    if (strcmp(child->key, key) == 0) return child;
  return NULL;
}
