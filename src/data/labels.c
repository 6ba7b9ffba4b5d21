/* SPDX-License-Identifier: MIT */
/* labels.c: sorting labels into classes. Labels are collected as they come and sorted once: no hash table, and the
 * result cannot depend on the order of the rows. */
#include "data/labels.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparison ---- */

/* whole numbers beyond 2^53 may be equal as doubles and yet differ */
static int compare_numbers(const void *a, const void *b) {
  const label_key *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return fabs(x->number) < 0x1p53 ? 0 : strcmp(x->text, y->text);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(((const label_key *)a)->text, ((const label_key *)b)->text);
}

/* equal numbers sort the shortest spelling first, which then names the class */
static int sort_numbers(const void *a, const void *b) {
  const int order = compare_numbers(a, b);
  if (order) return order;
  const char *x = ((const label_key *)a)->text, *y = ((const label_key *)b)->text;
  const size_t n = strlen(x), m = strlen(y);
  return n != m ? (n < m ? -1 : 1) : strcmp(x, y);
}

typedef int comparison(const void *, const void *);
static comparison *compare_by(bool numeric) { return numeric ? compare_numbers : compare_texts; }

static bool all_numbers(const label_key *keys, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (isnan(keys[i].number)) return false;
  return true;
}

static double number_of(locale_t c, span text) {
  double number;
  return parse_double(c, text, &number) == NUMBER_FINITE ? number : NAN;
}

/* ---- lists ---- */

/* grows an array of elements of `size` bytes, of which `used` are in use, by `more` */
static void *reserve(void *old, size_t used, size_t more, size_t *capacity, size_t size) {
  if (used + more <= *capacity) return old;
  const size_t larger = 2 * *capacity > used + more ? 2 * *capacity : used + more + 64;
  void *memory = sparc_alloc(larger * size);
  if (!memory) return NULL;
  if (used) memcpy(memory, old, used * size);
  sparc_free(old);
  *capacity = larger;
  return memory;
}

bool label_list_add(label_list *list, locale_t c, span label, int index) {
  char *texts = reserve(list->texts, list->used, label.size + 1, &list->capacity, 1);
  if (!texts) return false;
  list->texts = texts;
  label_key *keys = reserve(list->keys, list->count, 1, &list->key_capacity, sizeof *keys);
  if (!keys) return false;
  list->keys = keys;
  memcpy(texts + list->used, label.at, label.size);
  texts[list->used + label.size] = '\0';
  list->used += label.size + 1;
  keys[list->count++] = (label_key){NULL, number_of(c, label), index};
  return true;
}

void label_list_free(label_list *list) {
  sparc_free(list->texts);
  sparc_free(list->keys);
  *list = (label_list){.count = 0};
}

/* ---- maps ---- */

/* lays out the map, its arrays and the texts in one block */
static class_map *layout(arena *a, int count, size_t text_bytes, char **texts) {
  class_map *map = arena_take(a, 1, sizeof *map);
  const char **names = arena_take(a, (size_t)count + 1, sizeof *names);
  label_key *sorted = arena_take(a, (size_t)count, sizeof *sorted);
  *texts = arena_take(a, text_bytes, 1);
  if (map) *map = (class_map){.references = 1, .count = count, .names = names, .sorted = sorted};
  return map;
}

/* a map of the given keys, their texts copied; class i is keys[i] */
static class_map *map_of(const label_key *keys, int count, bool numeric) {
  size_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += strlen(keys[i].text) + 1;
  char *texts;
  arena a = arena_measure();
  layout(&a, count, bytes, &texts);
  void *block = sparc_alloc(a.used);
  if (!block) return NULL;
  a = arena_over(block, a.used);
  class_map *map = layout(&a, count, bytes, &texts);
  map->numeric = numeric;
  for (int i = 0; i < count; i++) {
    const size_t size = strlen(keys[i].text) + 1;
    map->names[i] = memcpy(texts, keys[i].text, size);
    map->sorted[i] = (label_key){texts, keys[i].number, i};
    texts += size;
  }
  return map;
}

/* sorts the list and moves the first of each class to the front; returns how many classes there are */
static int sort_classes(label_list *list, bool numeric, int *classes) {
  comparison *compare = compare_by(numeric);
  label_key *keys = list->keys;
  int count = 0;
  if (list->count) qsort(keys, list->count, sizeof *keys, numeric ? sort_numbers : compare_texts);
  for (size_t i = 0; i < list->count; i++) {
    const int index = keys[i].index;
    if (i == 0 || compare(&keys[i], &keys[count - 1]) != 0) keys[count++] = keys[i];
    if (classes) classes[index] = count - 1;
  }
  return count;
}

class_map *class_map_collect(label_list *list, int *classes) {
  const char *text = list->texts;
  for (size_t i = 0; i < list->count; i++, text += strlen(text) + 1) list->keys[i].text = text;
  const bool numeric = all_numbers(list->keys, list->count);
  const int count = sort_classes(list, numeric, classes);
  return map_of(list->keys, count, numeric);
}

class_map *class_map_create(const char *const *names, int count, locale_t c, const char **duplicate) {
  *duplicate = NULL;
  label_key *keys = sparc_alloc((size_t)count * sizeof *keys);
  if (!keys) return NULL;
  for (int i = 0; i < count; i++) keys[i] = (label_key){names[i], number_of(c, (span){names[i], strlen(names[i])}), i};
  class_map *map = map_of(keys, count, all_numbers(keys, (size_t)count));
  sparc_free(keys);
  if (!map) return NULL;
  comparison *compare = compare_by(map->numeric);
  qsort(map->sorted, (size_t)count, sizeof *map->sorted, compare);
  for (int i = 1; i < count && !*duplicate; i++)
    if (compare(&map->sorted[i - 1], &map->sorted[i]) == 0) *duplicate = names[map->sorted[i].index];
  return map;
}

class_map *class_map_share(class_map *map) {
  atomic_fetch_add(&map->references, 1);
  return map;
}

void class_map_release(class_map *map) {
  if (map && atomic_fetch_sub(&map->references, 1) == 1) sparc_free(map);
}

int class_map_find(const class_map *map, locale_t c, span label) {
  char text[LABEL_MAX + 1];
  if (label.size > LABEL_MAX) return -1;
  if (label.size) memcpy(text, label.at, label.size);
  text[label.size] = '\0';
  const label_key key = {text, number_of(c, label), 0};
  if (map->numeric && isnan(key.number)) return -1;
  const label_key *found =
      bsearch(&key, map->sorted, (size_t)map->count, sizeof *map->sorted, compare_by(map->numeric));
  return found ? found->index : -1;
}

quotable class_map_quote(const class_map *map) {
  char list[sizeof(quotable) + 1] = "";
  size_t used = 0;
  for (int i = 0; i < map->count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, i ? ", %s" : "%s", map->names[i]);
  return quote(list);
}
