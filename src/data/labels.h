/* SPDX-License-Identifier: MIT */
/* labels.h: from label texts to class numbers.
 *
 * The classes are the distinct labels in sorted order. When every label is a number they are compared as numbers, so
 * that 10 follows 9 and 1.0 is 1; else byte by byte.
 */
#ifndef SPARC_DATA_LABELS_H
#define SPARC_DATA_LABELS_H

#include "data/text.h"

#include <stdatomic.h>

enum { LABEL_MAX = 255 }; /* bytes of the longest label */

typedef struct label_key {
  const char *text;
  double number; /* NaN if the text is none */
  int index;     /* the class, or the example while labels are collected */
} label_key;

/* Immutable and shared. One block of memory. */
typedef struct class_map {
  atomic_int references;
  int count;
  bool numeric;       /* every label is a number */
  const char **names; /* [count], then NULL */
  label_key *sorted;  /* [count], in the order of the comparison; index is the class */
} class_map;

/* A list of labels, each with the number of its example. */
typedef struct label_list {
  char *texts; /* one after the other, each terminated */
  size_t used, capacity;
  label_key *keys; /* text is NULL until sorted; the texts are in the order of the keys */
  size_t count, key_capacity;
} label_list;

/* label_list_add copies a label; false without memory */
bool label_list_add(label_list *list, locale_t c, span label, int index);
void label_list_free(label_list *list);

/* class_map_collect makes the map of a list, which it sorts, and reports the class of each entry by its index: with
 * classes not NULL, classes[index] = class. NULL without memory. */
class_map *class_map_collect(label_list *list, int *classes);

/* class_map_create makes the map of names in the given order. *duplicate is the first name that repeats another one,
 * else NULL. NULL without memory. */
class_map *class_map_create(const char *const *names, int count, locale_t c, const char **duplicate);

class_map *class_map_share(class_map *map);
void class_map_release(class_map *map); /* may be NULL */

/* class_map_find returns the class of a label, -1 if there is none */
int class_map_find(const class_map *map, locale_t c, span label);

/* class_map_quote lists the first labels for error texts */
quotable class_map_quote(const class_map *map);

#endif
