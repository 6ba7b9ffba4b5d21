/* SPDX-License-Identifier: MIT */
/* ranked.c: ranks gather their properties and compare all with rank 0, so all fail with the same message. */
#include "run/ranked.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "io/folder_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* properties of a rank */
typedef struct identity {
  char version[64], kernels[64], data[PROVENANCE_DATA];
  uint64_t settings; /* a digest; each rank may have its own number of threads */
  int continues;     /* there is a checkpoint to continue from */
} identity;

static sparc_status identify(const run_engine *e, identity *own) {
  memset(own, 0, sizeof *own);
  const provenance p = e->ops->provenance(e->run);
  snprintf(own->version, sizeof own->version, "%.30s (%.30s)", p.version, p.commit);
  snprintf(own->kernels, sizeof own->kernels, "%.60s", p.kernels);
  snprintf(own->data, sizeof own->data, "%s", p.data);
  own->continues = e->continues;
  json_t *settings = e->ops->config(e->run);
  json_object_del(settings, "threads");
  char *text = settings ? json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  if (text) own->settings = hash_bytes(HASH_START, text, strlen(text));
  json_decref(settings);
  free(text);
  return text ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
}

/* ---- the number of ranks ------------------------------------------------------------------------- */

/* "1, 2, 3 or 6": the divisors that fit */
static void list_divisors(int number, char *text, size_t size) {
  size_t used = 0;
  *text = '\0';
  for (int d = 1; d <= number && used < size; d++)
    if (number % d == 0)
      used += (size_t)snprintf(text + used, size - used, "%s%d", d == 1 ? "" : d == number ? " or " : ", ", d);
}

/* options that suit this number of ranks: as few shards as possible, of a larger whole if necessary */
static void suggest_shards(int count, const run_shards *s, char *text, size_t size) {
  if (s->whole % count == 0)
    snprintf(text, size, "--shards %d", count);
  else
    snprintf(text, size, "--shards %d --%s %d", count, s->option, (s->whole / count + 1) * count);
}

static sparc_status check_count(int count, run_shards s) {
  char divisors[160], suggestion[80];
  if (s.shards % count == 0) return SPARC_OK;
  suggest_shards(count, &s, suggestion, sizeof suggestion);
  if (s.shards == 1)
    return fail(SPARC_INVALID, "%d ranks have nothing to share, as --%s is not divided: add %s", count, s.option,
                suggestion);
  list_divisors(s.shards, divisors, sizeof divisors);
  return fail(SPARC_INVALID, "%d ranks cannot share %d shards evenly, expected %s ranks, or %s", count, s.shards,
              divisors, suggestion);
}

/* ---- properties ---------------------------------------------------------------------------------- */

static sparc_status compare(int rank, const identity *first, const identity *other) {
  if (strcmp(first->version, other->version) != 0)
    return fail(SPARC_INVALID, "rank %d is sparc %s, but rank 0 is %s", rank, other->version, first->version);
  if (first->settings != other->settings)
    return fail(SPARC_INVALID, "rank %d has other options or settings than rank 0", rank);
  if (strcmp(first->data, other->data) != 0)
    return fail(SPARC_INVALID, "rank %d has other data than rank 0: their checksums are %s and %s", rank, other->data,
                first->data);
  if (strcmp(first->kernels, other->kernels) != 0)
    return fail(SPARC_INVALID,
                "rank %d has the kernels %s, rank 0 %s, which round differently; the environment variable "
                "SPARC_KERNEL makes them the same",
                rank, other->kernels, first->kernels);
  if (first->continues != other->continues)
    return fail(SPARC_IO, "rank %d does not see the folder that rank 0 sees; it must be on a shared file system", rank);
  return SPARC_OK;
}

sparc_status ranked_check(run_engine *e) {
  const int count = ranks_count(e->group);
  identity own, *all = sparc_alloc((size_t)count * sizeof *all);
  sparc_status status = all ? check_count(count, e->ops->shards(e->run)) : fail(SPARC_NO_MEMORY, "no memory for ranks");
  if (status == SPARC_OK) status = identify(e, &own);
  status = ranks_agree(e->group, status, NULL);
  if (status == SPARC_OK) status = ranks_gather(e->group, &own, sizeof own, all);
  for (int i = 1; all && i < count && status == SPARC_OK; i++) status = compare(i, &all[0], &all[i]);
  sparc_free(all);
  return ranks_agree(e->group, status, NULL);
}

/* ---- the folder ---------------------------------------------------------------------------------- */

enum { TOKEN = 64 };

static sparc_status write_token(const char *path, const char *token) {
  FILE *file;
  if (unlink(path) == 0) log_line("removed '%s', which a killed run left", path);
  const sparc_status status = folder_file_stream(path, "a", &file);
  if (status != SPARC_OK) return status;
  const bool written = fputs(token, file) >= 0;
  return fclose(file) == 0 && written ? SPARC_OK : fail(SPARC_IO, "cannot write '%.300s'", path);
}

static sparc_status find_token(const char *path, const char *folder, const char *token, int rank) {
  char *text = NULL;
  size_t size = 0;
  const sparc_status status = folder_file_read(path, &text, &size);
  const bool same = status == SPARC_OK && text && size == strlen(token) && memcmp(text, token, size) == 0;
  free(text);
  if (same) return SPARC_OK;
  return fail(SPARC_IO,
              "'%.300s' is not the folder that rank 0 writes to; it must be on a file system that rank %d sees", folder,
              rank);
}

sparc_status ranked_see_folder(run_engine *e, sparc_status mine) {
  ranks *const group = e->group;
  const char *folder = e->place.folder;
  const int count = ranks_count(group), rank = ranks_number(group);
  char path[4400], token[TOKEN] = "", *tokens = sparc_alloc((size_t)count * TOKEN);
  snprintf(path, sizeof path, "%.4300s/.ranks", folder);
  snprintf(token, sizeof token, "%ld %.9f", (long)getpid(), seconds_now());
  if (mine == SPARC_OK && !tokens) mine = fail(SPARC_NO_MEMORY, "no memory for %d ranks", count);
  if (mine == SPARC_OK && rank == 0) mine = write_token(path, token);
  sparc_status status = ranks_agree(group, mine, NULL);
  if (status == SPARC_OK) status = ranks_gather(group, token, TOKEN, tokens);
  const bool gathered = status == SPARC_OK;
  if (gathered && tokens && rank > 0) status = find_token(path, folder, tokens, rank);
  status = ranks_agree(group, status, NULL);
  if (gathered && rank == 0) unlink(path);
  sparc_free(tokens);
  return status;
}
