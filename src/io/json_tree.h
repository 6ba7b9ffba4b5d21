/* SPDX-License-Identifier: MIT */
/* json_tree.h: a tree of JSON from untrusted files.
 *
 * Strict: RFC 8259 in UTF-8, no key twice in an object, no NUL in a string, integers of 64 bits, JSON_DEPTH levels. The
 * headers of safetensors files are read by it, so that inference needs no JSON library.
 */
#ifndef SPARC_IO_JSON_TREE_H
#define SPARC_IO_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH = 32 };

typedef enum node_kind {
  NODE_OBJECT,
  NODE_ARRAY,
  NODE_STRING,
  NODE_INTEGER,
  NODE_REAL,
  NODE_TRUE,
  NODE_FALSE,
  NODE_NULL
} node_kind;

/* a value; its contents follow it, so the first child is the next node */
typedef struct json_node {
  node_kind kind;
  const char *key;   /* in an object */
  const char *text;  /* of a string its bytes, of a number as it was written */
  long long integer; /* of NODE_INTEGER */
  size_t count;      /* children */
  size_t span;       /* nodes from this one to its next sibling */
} json_node;

typedef struct json_tree json_tree;

/* where a text stops being JSON, and why; all counted from 1 */
typedef struct json_fault {
  size_t byte, line, column;
  char reason[160]; /* "": there is no memory */
} json_fault;

/* json_tree_parse does not keep the text. NULL: see fault. */
json_tree *json_tree_parse(const char *text, size_t length, json_fault *fault);
void json_tree_free(json_tree *tree); /* tree may be NULL */
const json_node *json_root(const json_tree *tree);

/* the children of an object or array: for (size_t i = 0; i < node->count; i++, child = json_next(child)) */
static inline const json_node *json_child(const json_node *node) { return node + 1; }
static inline const json_node *json_next(const json_node *node) { return node + node->span; }

/* json_member is the value of a key of an object; NULL: it has none */
const json_node *json_member(const json_node *object, const char *key);

#endif
