/* SPDX-License-Identifier: MIT */
/* lab_jobs.c: `sparc lab jobs`: the unfinished runs of a grid as a list for a scheduler.
 *
 * An entry is the command `sparc lab run NAME ... --job K`. K numbers all selected runs, finished or not, so that a list
 * stays valid while runs finish. Starting an entry twice is harmless: runs are claimed, and finished runs are skipped.
 * Arguments are quoted for the shell; in a Makefile, dollars are doubled.
 */
#include "base/error.h"
#include "cli/lab/lab.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Safety margins on the estimates: other processors may be slower, and a run that exceeds its memory is killed. Slurm
 * accepts arrays of up to 1001 entries by default. */
static const double time_factor = 1.5, memory_factor = 1.25;
enum { SPARE_MINUTES = 5, SPARE_MB = 64, MAX_ENTRIES = 1000, WORDS = 48 };

/* an unfinished run */
typedef struct item {
  const grid_job *job;
  int number;
  job_state state;
  double seconds;   /* NAN: unknown */
  double memory_mb; /* 0: unknown */
} item;

typedef struct job_list {
  const lab_options *o;
  const grid_jobs *jobs;
  item *items;
  int count;
  int chunk; /* runs per entry */
  int threads;
  char program[CLI_PATH];
} job_list;

/* ---- commands ------------------------------------------------------------------------------------ */

typedef struct command {
  const char *word[WORDS];
  int count;
} command;

static void add(command *c, const char *option, const char *value) {
  if (!value || c->count + 2 > WORDS) return;
  c->word[c->count++] = option;
  c->word[c->count++] = value;
}

/* `sparc lab VERB` with the same selection. The caller adds --job. */
static command command_of(const job_list *l, const char *verb) {
  const lab_options *o = l->o;
  command c = {.word = {l->program, "lab", verb}, .count = 3};
  add(&c, "--tasks", o->request.tasks);
  add(&c, "--methods", o->request.methods);
  add(&c, "--seeds", o->request.seeds);
  add(&c, "--scale", o->scale_text);
  if (o->match_params) add(&c, "--match", "params");
  add(&c, "--out", o->out_text);
  for (int i = 0; i < o->more_results; i++) add(&c, "--results", o->results[i]);
  return c;
}

static command run_command(const job_list *l, const char *threads) {
  command c = command_of(l, "run");
  for (int i = 0; l->o->plugin[i]; i++) add(&c, "--plugin", l->o->plugin[i]);
  add(&c, "--jobs", "1");
  add(&c, "--threads", threads);
  c.word[c.count++] = "--retry";
  c.word[c.count++] = "--json"; /* one line per finished run */
  c.word[c.count++] = "--quiet";
  return c;
}

/* NAME comes last, after -- if it begins with '-' */
static void add_target(const job_list *l, command *c) {
  if (*l->o->target == '-') c->word[c->count++] = "--";
  c->word[c->count++] = l->o->target;
}

static void print_word(const char *text, bool make) {
  const shell_word word = cli_shell_word(text);
  for (const char *at = word.text; *at; at++) {
    if (make && *at == '$') putchar('$');
    putchar(*at);
  }
}

static void print_command(const command *c, bool make) {
  for (int i = 0; i < c->count; i++) {
    if (i) putchar(' ');
    print_word(c->word[i], make);
  }
}

/* ---- entries ------------------------------------------------------------------------------------- */

static int entries_of(const job_list *l) { return (l->count + l->chunk - 1) / l->chunk; }

static int entry_end(const job_list *l, int entry) {
  const int end = (entry + 1) * l->chunk;
  return end < l->count ? end : l->count;
}

/* the numbers of an entry's runs, consecutive ones as a range: "3", "4-7,9" */
static void print_numbers(const job_list *l, int entry, FILE *stream) {
  const int end = entry_end(l, entry);
  for (int i = entry * l->chunk; i < end;) {
    const int first = i;
    while (i + 1 < end && l->items[i + 1].number == l->items[i].number + 1) i++;
    if (first > entry * l->chunk) fputc(',', stream);
    fprintf(stream, "%d", l->items[first].number);
    if (i > first) fprintf(stream, "-%d", l->items[i].number);
    i++;
  }
}

/* seconds of the longest entry; NAN if unknown for a run */
static double longest_entry(const job_list *l) {
  double longest = 0;
  for (int entry = 0; entry < entries_of(l); entry++) {
    double seconds = 0;
    for (int i = entry * l->chunk; i < entry_end(l, entry); i++) seconds += l->items[i].seconds;
    if (isnan(seconds)) return NAN;
    longest = fmax(longest, seconds);
  }
  return longest;
}

/* MB of the largest run; 0 if unknown for a run */
static double largest_run(const job_list *l) {
  double largest = 0;
  for (int i = 0; i < l->count; i++) {
    if (l->items[i].memory_mb <= 0) return 0;
    largest = fmax(largest, l->items[i].memory_mb);
  }
  return largest;
}

/* ---- GNU parallel: a command per line ------------------------------------------------------------ */

static void print_entry_command(const job_list *l, int entry, bool make) {
  char threads[16];
  snprintf(threads, sizeof threads, "%d", l->threads);
  command c = run_command(l, threads);
  print_command(&c, make);
  printf(" --job ");
  print_numbers(l, entry, stdout);
  command target = {.count = 0};
  add_target(l, &target);
  putchar(' ');
  print_command(&target, make);
  putchar('\n');
}

static void print_parallel(const job_list *l) {
  for (int entry = 0; entry < entries_of(l); entry++) print_entry_command(l, entry, false);
}

/* ---- make ---------------------------------------------------------------------------------------- */

static void print_make(const job_list *l) {
  command table = command_of(l, "table");
  add_target(l, &table);
  printf("# %s: %d runs, then the table. make -j N -f FILE runs N at a time; -k continues after a failure.\n",
         l->jobs->g->name, l->count);
  printf("SHELL := /bin/bash\n.PHONY: table");
  for (int entry = 0; entry < entries_of(l); entry++) printf(" job-%d", entry);
  printf("\n\ntable:");
  for (int entry = 0; entry < entries_of(l); entry++) printf(" job-%d", entry);
  printf("\n\t@");
  print_command(&table, true);
  putchar('\n');
  for (int entry = 0; entry < entries_of(l); entry++) {
    printf("job-%d:\n\t@", entry);
    print_entry_command(l, entry, true);
  }
}

/* ---- Slurm --------------------------------------------------------------------------------------- */

/* Slurm sends SIGUSR1 before the time limit: the run is saved and the entry requeued. A killed entry is requeued up to
 * three times; an entry stopped by scancel is not. The shell waits again while the program is saving. */
static const char entry_script[] =
    "again=\n"
    "\"${run[@]}\" --job \"${jobs[$SLURM_ARRAY_TASK_ID]}\" \"${name[@]}\" &\n"
    "child=$!\n"
    "trap 'again=yes; kill -s USR1 \"$child\"' USR1\n"
    "trap 'kill -s TERM \"$child\"' TERM\n"
    "while wait \"$child\"; code=$?; kill -s 0 \"$child\" 2>/dev/null; do :; done\n"
    "if [ \"$code\" = 137 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 3 ]; then again=yes; fi\n"
    "if [ -n \"$again\" ] && { [ \"$code\" = 130 ] || [ \"$code\" = 137 ]; }; then\n"
    "  scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
    "fi\n"
    "exit \"$code\"\n";

static void print_needs(const job_list *l) {
  const double seconds = longest_entry(l), memory = largest_run(l);
  printf("#SBATCH --cpus-per-task=%d\n", l->threads);
  if (memory > 0)
    printf("#SBATCH --mem=%.0fM\n", ceil(memory_factor * memory) + SPARE_MB);
  else
    printf("# memory: no estimate, the partition's default applies\n");
  if (!isnan(seconds))
    printf("#SBATCH --time=%.0f\n", ceil(time_factor * seconds / 60) + SPARE_MINUTES);
  else
    printf("# time: no estimate, the partition's default applies\n");
}

static void print_slurm(const job_list *l) {
  const char *name = l->jobs->g->name; /* letters, digits, '.', '_' and '-' */
  char threads[16];
  snprintf(threads, sizeof threads, "%d", l->threads);
  printf("#!/bin/bash\n#SBATCH --job-name=sparc-%s\n#SBATCH --array=0-%d\n", name, entries_of(l) - 1);
  print_needs(l);
  printf("#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --signal=B:USR1@120\n");
  printf("# %d runs of %s. `bash THIS` submits them and, to follow them, the table; `sbatch THIS` the runs alone.\n",
         l->count, name);
  printf("jobs=(");
  for (int entry = 0; entry < entries_of(l); entry++) {
    if (entry) putchar(' ');
    print_numbers(l, entry, stdout);
  }
  printf(")\nrun=(");
  const command run = run_command(l, threads);
  print_command(&run, false);
  command table = command_of(l, "table"), target = {.count = 0};
  add_target(l, &target);
  add_target(l, &table);
  printf(")\nname=(");
  print_command(&target, false);
  printf(")\ntable=(");
  print_command(&table, false);
  char file[JOB_PATH + 16];
  snprintf(file, sizeof file, "%s/table.txt", l->jobs->folder);
  printf(")\n\nif [ \"${1:-}\" = table ]; then\n  exec \"${table[@]}\" >");
  print_word(file, false);
  printf(
      "\nfi\nif [ -z \"${SLURM_ARRAY_TASK_ID:-}\" ]; then\n"
      "  array=$(sbatch --parsable \"$0\") || exit\n"
      "  exec sbatch --dependency=\"afterany:${array%%%%;*}\" --array=0 --signal=B:TERM@5 --time=30 "
      "--job-name=sparc-%s-table \"$0\" table\nfi\n\n",
      name);
  fputs(entry_script, stdout);
}

/* ---- JSON: an object per run --------------------------------------------------------------------- */

static json_t *command_json(const command *c) {
  json_t *words = json_array();
  for (int i = 0; i < c->count; i++) json_array_append_new(words, json_string(c->word[i]));
  return words;
}

static void print_json(const job_list *l) {
  char threads[16], number[16];
  snprintf(threads, sizeof threads, "%d", l->threads);
  for (int i = 0; i < l->count; i++) {
    const item *e = &l->items[i];
    snprintf(number, sizeof number, "%d", e->number);
    command c = run_command(l, threads);
    add(&c, "--job", number);
    add_target(l, &c);
    cli_json_line(l->o->who, json_pack("{s:i, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:i, s:s, s:o}", "job", e->number,
                                       "name", e->job->name, "task", l->jobs->g->task[e->job->task].name, "method",
                                       l->jobs->g->method[e->job->method].name, "seed", (json_int_t)e->job->seed,
                                       "state", job_state_name(e->state), "seconds",
                                       isnan(e->seconds) ? json_null() : json_real(e->seconds), "memory_mb",
                                       e->memory_mb > 0 ? json_real(e->memory_mb) : json_null(), "threads", l->threads,
                                       "folder", e->job->folder, "command", command_json(&c)));
  }
}

/* ---- all of it ----------------------------------------------------------------------------------- */

/* unfinished runs; `seconds` holds the remaining budget until estimate_items */
static sparc_status list_items(job_list *l) {
  for (int i = 0; i < l->jobs->count; i++) {
    const grid_job *job = grid_job_in_order(l->jobs, i);
    job_report report;
    const sparc_status status = job_inspect(job, &report);
    if (status != SPARC_OK) return status;
    if (report.state == JOB_DONE) continue;
    if (report.state == JOB_CHANGED)
      return fail(SPARC_INVALID, "the folder of %s contains a run with other settings; remove it, or use another --out",
                  job->name);
    l->items[l->count++] =
        (item){.job = job, .number = i, .state = report.state, .seconds = (1 - report.done) * (double)job->budget};
  }
  return SPARC_OK;
}

/* converts budgets to seconds; benchmarks and checks run for a fixed time */
static exit_code estimate_items(job_list *l) {
  const selection *s = &l->jobs->chosen;
  job_cost *costs = calloc((size_t)s->tasks * (size_t)s->methods, sizeof *costs);
  if (!costs) {
    cli_message(l->o->who, "no memory for estimates");
    return EXIT_FAILED;
  }
  const exit_code code = lab_estimate(l->o, l->jobs, l->threads, costs);
  for (int i = 0; code == EXIT_DONE && i < l->count; i++) {
    item *e = &l->items[i];
    const job_cost *c = &costs[e->number % (s->tasks * s->methods)];
    e->memory_mb = c->memory_mb;
    e->seconds = e->job->kind > GRID_TRAIN ? 3 : c->rate > 0 ? e->seconds / c->rate : NAN;
  }
  free(costs);
  return code;
}

static exit_code print_list(job_list *l) {
  static void (*const print[])(const job_list *) = {
      [JOBS_PARALLEL] = print_parallel, [JOBS_SLURM] = print_slurm, [JOBS_MAKE] = print_make, [JOBS_JSON] = print_json};
  const lab_jobs_format format = l->o->jobs_format;
  exit_code code = EXIT_DONE;
  sparc_status status = list_items(l);
  const ssize_t length = readlink("/proc/self/exe", l->program, sizeof l->program - 1);
  if (status == SPARC_OK && length < 0)
    status = fail(SPARC_IO, "the path of this program is not known: %s", strerror(errno));
  if (status != SPARC_OK) {
    cli_message(l->o->who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  l->program[length] = '\0';
  l->chunk = l->o->chunk ? l->o->chunk : 1;
  if (!l->o->chunk && format == JOBS_SLURM) l->chunk = (l->count + MAX_ENTRIES - 1) / MAX_ENTRIES;
  if (l->count == 0) {
    cli_message(l->o->who, "all %d runs are finished", l->jobs->count);
    return EXIT_DONE;
  }
  if (format == JOBS_SLURM || format == JOBS_JSON) code = estimate_items(l);
  if (code == EXIT_DONE) print[format](l);
  return code;
}

exit_code lab_jobs(const lab_options *o, const grid_jobs *jobs) {
  job_list l = {
      .o = o, .jobs = jobs, .items = calloc((size_t)jobs->count, sizeof(item)), .threads = o->threads ? o->threads : 1};
  if (!l.items) {
    cli_message(o->who, "no memory for a list of runs");
    return EXIT_FAILED;
  }
  const exit_code code = print_list(&l);
  free(l.items);
  return code;
}
