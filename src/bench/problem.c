/* SPDX-License-Identifier: MIT */
/* problem.c: parsing problem strings, and setting up problems for timing. */
#include "bench/problem.h"

#include "base/error.h"
#include "base/random.h"
#include "sparc/random.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* in the order in which --help lists them */
static const bench_kind *const kinds[] = {
#define KIND(name) &bench_kind_##name,
    BENCH_KINDS(KIND)
#undef KIND
};
enum { KINDS = sizeof kinds / sizeof *kinds, VALUE_MAX = 1 << 30 };

/* ---- the machine -------------------------------------------------------------------------------- */

sparc_status bench_machine_team(bench_machine *machine, int threads, bench_team **out) {
  for (int i = 0; i < MACHINE_TEAMS; i++) {
    if (machine->team[i] && machine->team_size[i] != threads) continue;
    sparc_status status = machine->team[i] ? SPARC_OK : bench_team_create(threads, &machine->team[i]);
    machine->team_size[i] = threads;
    *out = machine->team[i];
    return status;
  }
  return fail(SPARC_UNSUPPORTED, "more than %d numbers of threads in one run", (int)MACHINE_TEAMS);
}

void bench_machine_free(bench_machine *machine) {
  for (int i = 0; i < MACHINE_TEAMS; i++) bench_team_free(machine->team[i]);
}

/* ---- strings ------------------------------------------------------------------------------------ */

static bool is_flag(const bench_key *key) { return islower((unsigned char)*key->name); }

static size_t key_count(const bench_kind *kind) {
  size_t count = 0;
  while (count < PROBLEM_KEYS && kind->keys[count].name) count++;
  return count;
}

/* "B, T, D, H, cell=NAME" */
static void list_keys(const bench_kind *kind, char *text, size_t capacity) {
  size_t used = 0;
  *text = '\0';
  for (size_t i = 0; i < key_count(kind) && used < capacity; i++)
    used += (size_t)snprintf(text + used, capacity - used, "%s%s", i ? ", " : "", kind->keys[i].name);
  if (kind->cell && used < capacity) snprintf(text + used, capacity - used, ", cell=NAME and its options");
}

static sparc_status unknown_kind(const char *name, const char *const *others) {
  enum { WORDS = 32 };
  const char *words[WORDS];
  size_t count = 0;
  char list[PROBLEM_TEXT] = "";
  for (size_t i = 0; i < KINDS; i++) words[count++] = kinds[i]->name;
  for (; others && *others && count + 1 < WORDS; others++) words[count++] = *others;
  words[count] = NULL;
  const char *near = closest(name, words);
  if (near) return fail(SPARC_INVALID, "unknown problem '%.60s'; did you mean '%s'?", name, near);
  for (size_t i = 0, used = 0; i < count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
  return fail(SPARC_INVALID, "unknown problem '%.60s', expected one of: %s", name, list);
}

static sparc_status unknown_key(const bench_problem *p, const char *field, const char *key) {
  const char *names[PROBLEM_KEYS + 2];
  size_t count = 0;
  char list[PROBLEM_TEXT];
  for (; count < key_count(p->kind); count++) names[count] = p->kind->keys[count].name;
  if (p->kind->cell) names[count++] = "cell";
  names[count] = NULL;
  list_keys(p->kind, list, sizeof list);
  /* one letter is near every other letter: only words are guessed */
  const char *near = strlen(key) > 2 ? closest(key, names) : NULL;
  if (near) return fail(SPARC_INVALID, "%s: unknown key in '%.60s'; did you mean '%s'?", p->text, field, near);
  return fail(SPARC_INVALID, "%s: unknown key in '%.60s', expected %s", p->text, field, list);
}

/* cell=NAME, or an option that the cell validates */
static sparc_status parse_assignment(bench_problem *p, const char *field) {
  static const char *const cell[] = {"cell", NULL};
  char name[PROBLEM_TEXT];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(field, "="), field);
  if (!p->kind->cell) return unknown_key(p, field, "");
  if (strcmp(name, *cell) == 0) {
    snprintf(p->cell, sizeof p->cell, "%s", field + strlen(name) + 1);
    return SPARC_OK;
  }
  if (closest(name, cell)) return unknown_key(p, field, name);
  const size_t used = strlen(p->options);
  snprintf(p->options + used, sizeof p->options - used, "%s%s", used ? "," : "", field);
  return SPARC_OK;
}

static sparc_status parse_number(const bench_problem *p, const char *field, const char *digits, long *value) {
  char *end;
  errno = 0;
  *value = strtol(digits, &end, 10);
  if (end == digits || *end || errno || *value < 1 || *value > VALUE_MAX)
    return fail(SPARC_INVALID, "%s: '%.60s' has no whole number from 1 to %d after its key", p->text, field,
                (int)VALUE_MAX);
  return SPARC_OK;
}

static sparc_status parse_field(bench_problem *p, const char *field, bool *given) {
  if (strchr(field, '=')) return parse_assignment(p, field);
  char key[PROBLEM_TEXT];
  const size_t length = strcspn(field, "0123456789-+.");
  snprintf(key, sizeof key, "%.*s", (int)length, field);
  for (size_t i = 0; i < key_count(p->kind); i++) {
    const bench_key *k = &p->kind->keys[i];
    if (strcmp(k->name, key) != 0 || (is_flag(k) && field[length])) continue;
    if (given[i]) return fail(SPARC_INVALID, "%s: the key %s is there twice", p->text, key);
    given[i] = true;
    p->value[i] = 1;
    return is_flag(k) ? SPARC_OK : parse_number(p, field, field + length, &p->value[i]);
  }
  return unknown_key(p, field, key);
}

static sparc_status require_keys(const bench_problem *p, const bool *given) {
  for (size_t i = 0; i < key_count(p->kind); i++)
    if (!given[i] && p->kind->keys[i].fallback == REQUIRED)
      return fail(SPARC_INVALID, "%s: the key %s (%s) is missing", p->text, p->kind->keys[i].name,
                  p->kind->keys[i].help);
  return SPARC_OK;
}

sparc_status bench_parse(const char *text, const char *const *others, bench_problem *out) {
  memset(out, 0, sizeof *out);
  if (strlen(text) >= sizeof out->text)
    return fail(SPARC_INVALID, "the problem '%.40s...' has %zu characters, at most %zu are allowed", text, strlen(text),
                sizeof out->text - 1);
  memcpy(out->text, text, strlen(text) + 1);
  char copy[PROBLEM_TEXT], *rest = copy;
  memcpy(copy, text, strlen(text) + 1);
  const char *name = strsep(&rest, ":");
  for (size_t i = 0; i < KINDS; i++)
    if (strcmp(kinds[i]->name, name) == 0) out->kind = kinds[i];
  if (!out->kind) return unknown_kind(name, others);

  bool given[PROBLEM_KEYS] = {false};
  for (size_t i = 0; i < key_count(out->kind); i++) out->value[i] = out->kind->keys[i].fallback;
  if (out->kind->cell) snprintf(out->cell, sizeof out->cell, "%s", out->kind->cell);
  for (const char *field; (field = strsep(&rest, ":")) != NULL;) {
    sparc_status status = parse_field(out, field, given);
    if (status != SPARC_OK) return status;
  }
  return require_keys(out, given);
}

size_t bench_list_kinds(char *text, size_t capacity) {
  size_t used = 0;
  for (size_t i = 0; i < KINDS && used < capacity; i++) {
    char form[PROBLEM_TEXT];
    size_t length = (size_t)snprintf(form, sizeof form, "%s", kinds[i]->name);
    for (size_t k = 0; k < key_count(kinds[i]) && length < sizeof form; k++) {
      const bench_key *key = &kinds[i]->keys[k];
      const char *format = key->fallback == REQUIRED ? ":%s#" : is_flag(key) ? "[:%s]" : "[:%s#]";
      length += (size_t)snprintf(form + length, sizeof form - length, format, key->name);
    }
    if (kinds[i]->cell && length < sizeof form)
      snprintf(form + length, sizeof form - length, "[:cell=NAME][:OPTION=VALUE]");
    used += (size_t)snprintf(text + used, capacity - used, "  %s\n      %s\n", form, kinds[i]->summary);
  }
  return used;
}

long bench_value(const bench_problem *problem, const char *key) {
  for (size_t i = 0; i < key_count(problem->kind); i++)
    if (strcmp(problem->kind->keys[i].name, key) == 0) return problem->value[i];
  assert(!"the key is not in the kind's table");
  return 0;
}

/* ---- memory of the process ---------------------------------------------------------------------- */

/* resident bytes now, or 0: the second number of the file, in pages */
static size_t resident_now(void) {
  char line[128], *rest;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  const bool found = fgets(line, sizeof line, file) != NULL;
  fclose(file);
  if (!found) return 0;
  (void)strtoul(line, &rest, 10);
  return (size_t)strtoul(rest, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* makes the system forget the highest mark so far; false where it cannot */
static bool forget_peak(void) {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = write(file, "5", 1) == 1;
  close(file);
  return done;
}

static size_t resident_peak(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * 1024 : 0;
}

sparc_status bench_afford(const bench_case *c, size_t bytes) {
  const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if ((double)bytes <= 0.9 * have) return SPARC_OK;
  return fail(SPARC_NO_MEMORY, "%s: needs %.1f GB, and this machine has %.1f GB", c->problem->text,
              1e-9 * (double)bytes, 1e-9 * have);
}

/* ---- cases -------------------------------------------------------------------------------------- */

bench_stage *bench_stage_add(bench_case *c, const char *name, bench_task task) {
  assert(c->stages < BENCH_STAGES);
  bench_stage *stage = &c->stage[c->stages++];
  *stage = (bench_stage){.name = name, .task = task, .calls = 1};
  return stage;
}

static void run_stages_once(const bench_case *c) {
  for (size_t i = 0; i < c->stages; i++)
    if (c->stage[i].sum_of == 0) bench_pass(&c->stage[i].task);
}

static sparc_status check_error(const bench_case *c) {
  const bench_error *e = &c->error;
  if (*e->tensor && e->norm <= e->tolerance) return SPARC_OK;
  return fail(SPARC_UNSUPPORTED, "%s is wrong and was not timed: E_norm of %s is %.2e, the tolerance is %.0e",
              c->problem->text, *e->tensor ? e->tensor : "everything", e->norm, e->tolerance);
}

sparc_status bench_open(bench_machine *machine, const bench_problem *problem, int threads, const char *kernel,
                        bench_case *out) {
  *out = (bench_case){.problem = problem, .machine = machine, .threads = threads, .requested_kernel = kernel};
  const bool fresh = forget_peak();
  const size_t before = resident_now();
  sparc_status status = problem->kind->create(out);
  if (status == SPARC_OK) {
    run_stages_once(out);
    const size_t peak = resident_peak();
    out->measured = fresh && before > 0 && peak > before ? peak - before : 0;
    status = problem->kind->verify(out);
  }
  if (status == SPARC_OK) status = check_error(out);
  if (status != SPARC_OK) bench_close(out);
  return status;
}

void bench_close(bench_case *c) {
  c->problem->kind->destroy(c);
  c->state = NULL;
}

sparc_status bench_run(bench_case *cases, size_t count, double seconds, double patience) {
  bench_task **tasks = calloc(count * BENCH_STAGES, sizeof *tasks);
  if (!tasks) return fail(SPARC_NO_MEMORY, "no memory for the tasks of %zu problems", count);
  size_t found = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t s = 0; s < cases[i].stages; s++)
      if (cases[i].stage[s].sum_of == 0) tasks[found++] = &cases[i].stage[s].task;
  sparc_status status = bench_time(tasks, found, seconds, patience);
  free(tasks);
  for (size_t i = 0; i < count && status == SPARC_OK; i++) {
    for (size_t s = 0; s < cases[i].stages; s++) {
      if (cases[i].stage[s].sum_of == 0) continue;
      bench_task *sum = &cases[i].stage[s].task;
      *sum = (bench_task){.seconds = 0};
      for (size_t k = s - cases[i].stage[s].sum_of; k < s; k++) {
        const bench_task *part = &cases[i].stage[k].task;
        sum->seconds += part->seconds;
        sum->noise = fmax(sum->noise, part->noise);
        sum->passes = part->passes;
      }
    }
  }
  return status;
}

bool bench_has_stage(const bench_case *c, const char *stage) {
  for (size_t i = 0; i < c->stages; i++)
    if (strcmp(c->stage[i].name, stage) == 0) return true;
  return false;
}

double bench_seconds(const bench_case *c, const char *stage) {
  for (size_t i = 0; i < c->stages; i++)
    if (strcmp(c->stage[i].name, stage) == 0) return c->stage[i].task.seconds / c->stage[i].calls;
  assert(!"the case has no such stage");
  return NAN;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

void bench_compare(bench_case *c, const char *tensor, double tolerance, const float *got, const double *want,
                   size_t n) {
  bench_error *e = &c->error;
  double error = 0, scale = 1;
  for (size_t i = 0; i < n; i++) {
    const double difference = fabs((double)got[i] - want[i]);
    /* the negation catches what is not a number */
    if (!(difference <= error)) error = difference;
    if (isnan(error)) break;
    scale = fmax(scale, fabs(want[i]));
  }
  const double norm = error / scale;
  if (!isnan(e->largest) && !(norm <= e->largest)) e->largest = norm;
  if (*e->tensor && norm / tolerance <= e->norm / e->tolerance) return;
  if (*e->tensor && isnan(e->norm)) return;
  e->norm = norm;
  e->tolerance = tolerance;
  snprintf(e->tensor, sizeof e->tensor, "%s", tensor);
}

/* long arrays repeat themselves with a prime period, so that no two rows of a sensible width are alike: drawing every
 * number would take longer than the benchmark */
void bench_fill(float *values, size_t n, const char *name) {
  enum { PERIOD = 65521 };
  const size_t drawn = n < PERIOD ? n : PERIOD;
  sparc_random stream;
  sparc_random_init(&stream, 1, "bench", name);
  random_fill_normal(&stream, values, drawn, 1);
  for (size_t i = drawn; i < n; i++) values[i] = values[i - drawn];
}
