/* SPDX-License-Identifier: MIT */
/* provenance.c: facts as JSON, in a file of their own: config.json and the metrics must not depend on the machine. */
#include "run/provenance.h"

#include "base/build_info.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/threads.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "kernels/kernels.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char file_name[] = "provenance.json";
enum { FILE_PATH = 4200 };

/* the texts: which are lists over parts, and which are of the data */
static const struct {
  const char *key;
  size_t offset, size;
  bool listed;
} texts[] = {{"data_checksum", offsetof(provenance, data), PROVENANCE_DATA, false},
             {"split", offsetof(provenance, split), sizeof((provenance *)0)->split, false},
             {"departure", offsetof(provenance, departure), PROVENANCE_NOTE, false},
             {"version", offsetof(provenance, version), PROVENANCE_TEXT, true},
             {"commit", offsetof(provenance, commit), PROVENANCE_TEXT, true},
             {"kernels", offsetof(provenance, kernels), PROVENANCE_TEXT, true},
             {"machine", offsetof(provenance, machine), PROVENANCE_TEXT, true}};
enum { TEXTS = sizeof texts / sizeof *texts };

provenance provenance_of_build(const char *kernel, int threads) {
  provenance p = {.threads = thread_count(threads)};
  const char *name = "";
  (void)kernel_resolve(kernel, &name);
  snprintf(p.version, sizeof p.version, "%s", sparc_version());
  snprintf(p.commit, sizeof p.commit, "%s", build_commit());
  snprintf(p.kernels, sizeof p.kernels, "%s", name ? name : "");
  snprintf(p.machine, sizeof p.machine, "%s", cpu_detect().brand);
  return p;
}

/* ---- parts --------------------------------------------------------------------------------------- */

static const char separator[] = ", ";

static bool lists(const char *list, const char *word) {
  const size_t length = strlen(word), gap = strlen(separator);
  for (const char *found = list; (found = strstr(found, word)) != NULL; found += length) {
    const bool begins = found == list || (found >= list + gap && strncmp(found - gap, separator, gap) == 0);
    if (begins && (!found[length] || strncmp(found + length, separator, gap) == 0)) return true;
  }
  return false;
}

/* a full list is not changed */
static void append_word(char *list, size_t size, const char *word) {
  const size_t used = strlen(list), gap = used ? strlen(separator) : 0;
  if (!*word || lists(list, word) || used + gap + strlen(word) >= size) return;
  snprintf(list + used, size - used, "%s%s", used ? separator : "", word);
}

/* the earlier list, followed by the words of the later one that it does not contain */
static void join_text(const char *earlier, char *later, size_t size) {
  char words[PROVENANCE_TEXT];
  snprintf(words, sizeof words, "%s", later);
  snprintf(later, size, "%s", earlier);
  for (char *word = words, *end; word; word = end) {
    end = strstr(word, separator);
    if (end) *end = '\0', end += strlen(separator);
    append_word(later, size, word);
  }
}

void provenance_join(const provenance *all, provenance *part) {
  for (int i = 0; i < TEXTS; i++)
    if (texts[i].listed) join_text((const char *)all + texts[i].offset, (char *)part + texts[i].offset, texts[i].size);
  part->seconds += all->seconds;
  part->done += all->done;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

json_t *provenance_json(const provenance *p) {
  json_t *object = json_object();
  if (!object) return NULL;
  for (int i = 0; i < TEXTS; i++) {
    const char *text = (const char *)p + texts[i].offset;
    if (*text) json_object_set_new(object, texts[i].key, json_text(text));
  }
  if (p->fit > 0) json_object_set_new(object, "fit", json_integer(p->fit));
  if (p->validation > 0) json_object_set_new(object, "validation", json_integer(p->validation));
  if (p->threads > 0) json_object_set_new(object, "threads", json_integer(p->threads));
  json_object_set_new(object, "seconds", json_real(p->seconds));
  if (p->done > 0) json_object_set_new(object, "done", json_integer(p->done));
  return object;
}

static int count_in(const json_t *object, const char *key) {
  const json_int_t value = json_integer_value(json_object_get(object, key));
  return value > 0 && value <= INT32_MAX ? (int)value : 0;
}

/* sums of these cannot overflow */
static long steps_in(const json_t *object) {
  const json_int_t value = json_integer_value(json_object_get(object, "done"));
  return value > 0 && value <= LONG_MAX >> 20 ? (long)value : 0;
}

void provenance_from(const json_t *object, provenance *out) {
  *out = (provenance){.fit = count_in(object, "fit"),
                      .validation = count_in(object, "validation"),
                      .threads = count_in(object, "threads"),
                      .done = steps_in(object)};
  for (int i = 0; i < TEXTS; i++) {
    const char *text = json_string_value(json_object_get(object, texts[i].key));
    if (text) snprintf((char *)out + texts[i].offset, texts[i].size, "%s", text);
  }
  const double seconds = json_number_value(json_object_get(object, "seconds"));
  if (isfinite(seconds) && seconds > 0) out->seconds = seconds;
}

/* ---- files --------------------------------------------------------------------------------------- */

sparc_status provenance_write(const char *folder, const provenance *p) {
  char path[FILE_PATH];
  snprintf(path, sizeof path, "%s/%s", folder, file_name);
  json_t *object = provenance_json(p);
  char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
  json_decref(object);
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for '%.300s'", path);
  atomic_file file;
  sparc_status status = atomic_file_begin(&file, path);
  if (status == SPARC_OK) {
    fprintf(file.stream, "%s\n", text);
    status = atomic_file_commit(&file);
  }
  free(text);
  return status;
}

sparc_status provenance_read(const char *folder, provenance *out) {
  char path[FILE_PATH];
  snprintf(path, sizeof path, "%s/%s", folder, file_name);
  json_t *object;
  const sparc_status status = json_read(path, 0, &object);
  provenance_from(object, out);
  for (int i = 0; i < TEXTS; i++) {
    char *text = (char *)out + texts[i].offset;
    if (texts[i].listed && !*text) snprintf(text, texts[i].size, "unknown");
  }
  json_decref(object);
  return status;
}
