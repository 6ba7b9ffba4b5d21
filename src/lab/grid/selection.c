/* SPDX-License-Identifier: MIT */
/* selection.c: resolves names to indices of the grid. */
#include "lab/grid/selection.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool selection_split(const char *text, char *name, size_t size, const char **path) {
  static const char extension[] = ".json";
  const char *file = strstr(text, extension), *end = NULL;
  /* the first .json followed by nothing or a slash ends a file name */
  for (; file && !end; file = strstr(file + 1, extension))
    if (file[strlen(extension)] == '/' || !file[strlen(extension)]) end = file + strlen(extension);
  if (!end) end = text + strcspn(text, "/");
  const int length = (int)(end - text);
  *path = *end ? end + 1 : NULL;
  return snprintf(name, size, "%.*s", length, text) < (int)size;
}

/* ---- names --------------------------------------------------------------------------------------- */

typedef struct names {
  const char *what;
  const char *list[GRID_MAX_ENTRIES + 1];
  int *chosen, *count;
} names;

static sparc_status add_name(const names *n, const char *name) {
  int k = 0;
  while (n->list[k] && strcmp(n->list[k], name) != 0) k++;
  if (!n->list[k]) return unknown_name(n->what, name, n->list);
  for (int i = 0; i < *n->count; i++)
    if (n->chosen[i] == k) return fail(SPARC_INVALID, "%s '%s' is named twice", n->what, name);
  n->chosen[(*n->count)++] = k;
  return SPARC_OK;
}

static int by_place(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* "A,B"; NULL and "*": all. Sorted in the order of the grid. */
static sparc_status choose(const names *n, const char *list) {
  sparc_status status = SPARC_OK;
  if (!list || strcmp(list, "*") == 0) {
    for (int k = 0; n->list[k] && status == SPARC_OK; k++) status = add_name(n, n->list[k]);
    return status;
  }
  char *copy = strdup(list), *rest = copy;
  if (!copy) return fail(SPARC_NO_MEMORY, "no memory for a list of names");
  for (char *name; status == SPARC_OK && (name = strsep(&rest, ",")) != NULL;) status = add_name(n, name);
  free(copy);
  qsort(n->chosen, (size_t)*n->count, sizeof *n->chosen, by_place);
  return status;
}

/* ---- seeds --------------------------------------------------------------------------------------- */

static sparc_status refuse_seeds(const char *text) {
  return fail(SPARC_INVALID, "seeds are '%.60s', expected a number of them or FIRST-LAST, at most %d", text,
              GRID_MAX_SEEDS);
}

static bool parse_whole(const char **text, uint64_t *value) {
  char *end;
  if (**text < '0' || **text > '9') return false;
  errno = 0;
  *value = strtoull(*text, &end, 10);
  *text = end;
  return !errno;
}

static sparc_status choose_range(const char *text, selection *out) {
  const char *c = text;
  uint64_t first, last;
  if (!parse_whole(&c, &first) || *c++ != '-' || !parse_whole(&c, &last) || *c || last < first ||
      last - first >= GRID_MAX_SEEDS)
    return refuse_seeds(text);
  for (uint64_t seed = first; seed - first <= last - first; seed++) {
    out->seed[out->seeds++] = seed;
    if (seed == last) break;
  }
  return SPARC_OK;
}

static sparc_status choose_seeds(const grid *g, const char *text, selection *out) {
  const char *c = text;
  uint64_t count = (uint64_t)g->seeds;
  if (text && strchr(text, '-')) return choose_range(text, out);
  if (text && (!parse_whole(&c, &count) || *c || count < 1 || count > GRID_MAX_SEEDS)) return refuse_seeds(text);
  for (; out->seeds < (int)count; out->seeds++)
    out->seed[out->seeds] = out->seeds < g->seeds ? g->seed[out->seeds] : out->seed[out->seeds - 1] + 1;
  return SPARC_OK;
}

/* "s0": keeps one of the selected seeds */
static sparc_status keep_seed(const char *text, selection *out) {
  const char *c = text + 1;
  uint64_t seed;
  if (*text != 's' || !parse_whole(&c, &seed) || *c)
    return fail(SPARC_INVALID, "'%.60s' is no seed, expected s and a number, as in s0", text);
  for (int i = 0; i < out->seeds; i++) {
    if (out->seed[i] != seed) continue;
    out->seed[0] = seed;
    out->seeds = 1;
    return SPARC_OK;
  }
  return fail(SPARC_INVALID, "seed %llu is not among those of the grid; --seeds %llu-%llu adds it",
              (unsigned long long)seed, (unsigned long long)seed, (unsigned long long)seed);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

enum { PARTS = 3 }; /* task, method, seed */

static sparc_status cut(char *path, const char *part[PARTS]) {
  int count = 0;
  for (char *rest = path, *word; (word = strsep(&rest, "/")) != NULL;) {
    if (!*word && !rest) break; /* a slash at the end */
    if (count == PARTS) return fail(SPARC_INVALID, "a selection is NAME/TASK/METHOD/sSEED, '%.60s' is too much", word);
    part[count++] = word;
  }
  return SPARC_OK;
}

static sparc_status one_way(const char *what, const char *in_path, const char *in_list) {
  if (!in_path || !in_list || strcmp(in_path, "*") == 0) return SPARC_OK;
  return fail(SPARC_INVALID, "'%.60s' and --%s %.60s both select; give one of them", in_path, what, in_list);
}

static const char *either(const char *in_path, const char *in_list) { return in_list ? in_list : in_path; }

sparc_status selection_make(const grid *g, const selection_request *request, selection *out) {
  *out = (selection){.tasks = 0};
  names tasks = {.what = "task", .chosen = out->task, .count = &out->tasks},
        methods = {.what = "method", .chosen = out->method, .count = &out->methods};
  for (int i = 0; i < g->tasks; i++) tasks.list[i] = g->task[i].name;
  for (int i = 0; i < g->methods; i++) methods.list[i] = g->method[i].name;
  const char *part[PARTS] = {NULL};
  char *path = strdup(request->path ? request->path : "");
  sparc_status status = path ? cut(path, part) : fail(SPARC_NO_MEMORY, "no memory for a selection");
  if (status == SPARC_OK) status = one_way("tasks", part[0], request->tasks);
  if (status == SPARC_OK) status = one_way("methods", part[1], request->methods);
  if (status == SPARC_OK) status = choose(&tasks, either(part[0], request->tasks));
  if (status == SPARC_OK) status = choose(&methods, either(part[1], request->methods));
  if (status == SPARC_OK) status = choose_seeds(g, request->seeds, out);
  if (status == SPARC_OK && part[2] && strcmp(part[2], "*") != 0) status = keep_seed(part[2], out);
  free(path);
  return status;
}
