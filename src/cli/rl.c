/* SPDX-License-Identifier: MIT */
/* rl.c: `sparc rl`: a run with its progress, several runs in parallel processes, or the evaluation of an agent. */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/seeds.h"
#include "cli/settings.h"
#include "envs/envs.h"
#include "io/json.h"
#include "io/settings_rows.h"
#include "rl/player.h"
#include "rl/score.h"
#include "rl/settings.h"
#include "run/launch.h"
#include "run/ranked.h"
#include "run/rl_run.h"

#include <math.h>
#include <signal.h>
#include <string.h>

/* ---- settings of the command --------------------------------------------------------------------- */

typedef struct rl_work {
  const char *eval;
  int episodes, greedy;
  const char *plugin;
  const char *seeds;
  int jobs;
  uint64_t given;
} rl_work;

#define SETTING_STRUCT rl_work
static const setting work_rows[] = {
    {"eval", NULL, TEXT(eval), ROLE(COMMAND_LINE)},
    {"episodes", NULL, INT(episodes, 1, PLAYER_MAX_EPISODES), ROLE(COMMAND_LINE), DEFAULT("100")},
    {"greedy", NULL, FLAG(greedy), ROLE(COMMAND_LINE)},
    {"plugin", NULL, TEXT(plugin), ROLE(COMMAND_LINE)},
    SEEDS_SETTING,
    JOBS_SETTING,
};

static const settings_table work_table = SETTINGS_TABLE(work_rows);

typedef struct rl_command {
  const char *who; /* prefix of messages */
  sparc_rl_run_config config;
  tool_settings tool;
  rl_work work;
  char folder[CLI_PATH - 64];
  sparc_rl_run *run;
  progress *progress;
  const char *plugins[2]; /* allowed in files; terminated by NULL */
  int out;                /* of one of several runs: receives its score, no summary is printed; else -1 */
} rl_command;

/* ---- progress ------------------------------------------------------------------------------------ */

static double steps_per_second(const sparc_rl_run *run) {
  const sparc_rl_run_result r = sparc_rl_run_result_of(run);
  return r.seconds > 0 ? (double)((r.done - r.first) * sparc_rl_run_config_of(run).ppo.rollout_steps) / r.seconds : 0;
}

static size_t parameters(const sparc_rl_run *run) { return sparc_ppo_info_of(rl_run_ppo(run)).parameters; }

static void announce_memory(const rl_command *c) {
  const sparc_ppo_memory m = sparc_rl_run_result_of(c->run).memory;
  const double mega = 1e6, stored = (double)m.stored_bytes / mega, records = (double)m.free_bytes / mega,
               other = (double)m.other_bytes / mega;
  if (m.traces == SPARC_TRACES_AUTO)
    progress_note(c->progress, "memory    %.1f MB; truncated backpropagation stores no sensitivities", other);
  else
    progress_note(c->progress,
                  "memory    %.1f MB of sensitivities (%s; stored %.1f, free %.1f) and %.1f MB of other data",
                  m.traces == SPARC_TRACES_STORED ? stored : records,
                  m.traces == SPARC_TRACES_STORED ? "stored" : "free", stored, records, other);
}

static void show_start(rl_command *c) {
  const progress_style style = c->tool.quiet ? PROGRESS_NONE : (progress_style)c->tool.progress;
  const sparc_rl_run_config config = sparc_rl_run_config_of(c->run);
  const sparc_ppo_config *p = &config.ppo;
  const long first = sparc_rl_run_result_of(c->run).first;
  c->progress = progress_start(style, p->task, first * p->rollout_steps, p->rollouts * p->rollout_steps);
  progress_note(c->progress, "agent     %s (%s), %d modes: %zu parameters", p->cell, p->cell_options, p->H,
                parameters(c->run));
  announce_memory(c);
  progress_note(c->progress, first ? "run       %s, continued after rollout %ld" : "run       %s", c->folder, first);
}

static const char *obsnorm_name(sparc_obsnorm obsnorm) {
  const settings_binding binding = {.part = {{.table = &ppo_settings}}};
  return settings_row(&binding, settings_find(&binding, "obsnorm"), NULL)->choices[obsnorm];
}

/* identification of the run, in every printed object */
static json_t *json_run(const sparc_rl_run *run) {
  const sparc_rl_run_config config = sparc_rl_run_config_of(run);
  const sparc_ppo_config *p = &config.ppo;
  return json_pack("{s:o, s:o, s:s, s:o, s:s, s:I, s:s}", "task", json_text(p->task), "task_options",
                   json_text(p->task_options), "cell", p->cell, "variant", cli_json_variant(p->cell_options), "options",
                   p->cell_options, "seed", (json_int_t)p->seed, "obsnorm", obsnorm_name(p->obsnorm));
}

static void show_rollout(const rl_command *c, const sparc_ppo_report *r) {
  char text[160];
  if (r->episodes > 0)
    snprintf(text, sizeof text, "return %.3f  entropy %.3f", r->mean_return, r->update.entropy);
  else
    snprintf(text, sizeof text, "no episode ended  entropy %.3f", r->update.entropy);
  cli_ranks_show(text, sizeof text);
  progress_step(c->progress, r->steps, r->mean_return, text);
  if (!c->tool.json) return;
  json_t *object = json_run(c->run);
  if (object) json_object_set_new(object, "rollout", json_integer(r->rollout));
  cli_json_line(c->who, rl_report_json(object, r));
}

static int watch(void *user, const sparc_rl_run_event *event) {
  rl_command *c = user;
  if (event->stage == SPARC_RUN_STARTED)
    show_start(c);
  else if (event->stage == SPARC_RUN_UPDATE)
    show_rollout(c, event->report);
  return interrupt_requested() || cli_output_lost();
}

/* ---- results ------------------------------------------------------------------------------------- */

static void print_task(const sparc_ppo_config *p) {
  cli_text(p->task, 0);
  if (!*p->task_options) return;
  fputs(" with ", stdout);
  cli_text(p->task_options, 0);
}

static void print_score(const sparc_rl_run_result *r) {
  if (isnan(r->score))
    printf("score     none: one of the last %d rollouts finished no episode\n", r->scored);
  else
    printf("score     %.4f, mean return of the last %d rollouts%s\n", r->score, r->scored,
           r->scored < SCORE_WINDOW ? " (a full score is of 100)" : "");
}

static void print_hints(const sparc_rl_run *run) {
  const sparc_rl_run_config config = sparc_rl_run_config_of(run), *c = &config;
  const sparc_ppo_config *p = &c->ppo;
  char agent[CLI_PATH];
  snprintf(agent, sizeof agent, "%s/last.safetensors", c->folder);
  printf("\nNext:\n  sparc rl --eval %s", cli_shell_word(agent).text);
  if (is_plugin(p->task)) printf(" --plugin %s", cli_shell_word(p->task).text);
  putchar('\n');
  printf("  sparc envs %s", cli_shell_word(p->task).text);
  if (*p->task_options) printf(" --options %s", cli_shell_word(p->task_options).text);
  printf(" --play %s\n", cli_shell_word(agent).text);
}

static void print_result(const sparc_rl_run *run) {
  const sparc_rl_run_config config = sparc_rl_run_config_of(run), *c = &config;
  const sparc_rl_run_result r = sparc_rl_run_result_of(run);
  const sparc_ppo_config *p = &c->ppo;
  char agent[CLI_PATH];
  printf("task      ");
  print_task(p);
  printf("\ncell      %s (%d modes, %zu parameters), seed %llu, %ld steps in %ld rollouts\n", p->cell, p->H,
         parameters(run), (unsigned long long)p->seed, c->total_steps, p->rollouts);
  if (*p->cell_options) printf("options   %s\n", p->cell_options);
  print_score(&r);
  if (r.seconds > 0) printf("speed     %.0f steps/s\n", steps_per_second(run));
  snprintf(agent, sizeof agent, "%s/last.safetensors", c->folder);
  printf("agent     ");
  cli_text(agent, 0);
  putchar('\n');
}

static json_t *json_result(const sparc_rl_run *run) {
  const sparc_rl_run_config config = sparc_rl_run_config_of(run), *c = &config;
  const sparc_rl_run_result r = sparc_rl_run_result_of(run);
  char agent[CLI_PATH];
  snprintf(agent, sizeof agent, "%s/last.safetensors", c->folder);
  json_t *object = json_run(run),
         *rest = json_pack(
             "{s:I, s:I, s:o, s:i, s:b, s:I, s:o, s:o}", "rollouts", (json_int_t)r.done, "steps",
             (json_int_t)c->total_steps, "score", isnan(r.score) ? json_null() : json_real(r.score), "scored_rollouts",
             r.scored, "partial",
             r.scored<SCORE_WINDOW, "parameters", (json_int_t)parameters(run), "steps_per_second", r.seconds> 0
                 ? json_real(steps_per_second(run))
                 : json_null(),
             "agent", json_text(agent));
  if (!object || !rest || json_object_update(object, rest) != 0) {
    json_decref(object);
    object = NULL;
  }
  json_decref(rest);
  if (object) json_object_set_new(object, "provenance", provenance_json(rl_run_provenance(run)));
  return object;
}

static exit_code report_failure(const rl_command *c, sparc_status status) {
  cli_message(c->who, "%s", sparc_error());
  const sparc_rl_run_result r = c->run ? sparc_rl_run_result_of(c->run) : (sparc_rl_run_result){.saved = -1};
  if (r.saved >= 0) cli_message(c->who, "the checkpoint of rollout %ld in '%s' is intact", r.saved, c->folder);
  return r.io_failed ? EXIT_FAILED : cli_exit_code(status);
}

static exit_code report_result(const rl_command *c) {
  const sparc_rl_run_result r = sparc_rl_run_result_of(c->run);
  if (!r.finished) {
    cli_message(c->who, "interrupted after rollout %ld; --resume --out %s continues", r.saved,
                cli_shell_word(c->folder).text);
    return EXIT_INTERRUPTED;
  }
  const bool one_of_several = c->out >= 0;
  if (one_of_several && dprintf(c->out, "%.17g score\n", r.score) < 0) return EXIT_FAILED;
  if (c->tool.json) {
    cli_json_line(c->who, json_result(c->run));
  } else if (!one_of_several) {
    print_result(c->run);
    if (!c->tool.quiet) print_hints(c->run);
  }
  return EXIT_DONE;
}

/* ---- a run --------------------------------------------------------------------------------------- */

static sparc_status find_folder(const void *config, char *path, size_t size) {
  const sparc_rl_run_config *c = config;
  if (c->folder) {
    snprintf(path, size, "%s", c->folder);
    return SPARC_OK;
  }
  if (c->ppo.task) return rl_default_folder(c, path, size);
  return fail(SPARC_INVALID, "--resume needs TASK and the options of the run, or --out with its folder");
}

static exit_code run_one(rl_command *c) {
  sparc_status status = find_folder(&c->config, c->folder, sizeof c->folder);
  c->config.folder = c->folder;
  int threads = 0;
  if (status == SPARC_OK) status = sparc_rl_run_create(&c->config, &c->run);
  status = ranks_agree(cli_ranks(), status, NULL);
  if (status == SPARC_OK) status = launch_threads(cli_ranks(), &threads);
  if (status == SPARC_OK) rl_run_join(c->run, cli_ranks(), threads);
  if (status == SPARC_OK) status = sparc_rl_run_execute(c->run, watch, c);
  progress_finish(c->progress);
  const exit_code code = status == SPARC_OK ? report_result(c) : report_failure(c, status);
  sparc_rl_run_free(c->run);
  c->run = NULL;
  return code;
}

/* ---- several runs -------------------------------------------------------------------------------- */

/* in a separate process: prints only JSON, and sends its score to the first process */
static exit_code run_seed(void *user, uint64_t seed, const char *folder, int out) {
  rl_command *c = user;
  c->config.ppo.seed = seed;
  if (folder) c->config.folder = folder;
  c->out = out;
  return run_one(c);
}

static void print_scores(const rl_command *c, const seeds_scores *s) {
  if (s->count == 0) return;
  if (c->tool.json)
    cli_json_line(c->who, json_pack("{s:o, s:i, s:f, s:f}", "task", json_text(c->config.ppo.task), "seeds", s->count,
                                    "mean_score", s->mean, "sd", s->stddev));
  else
    printf("%d seeds: mean score %.4f (sd %.4f)\n", s->count, s->mean, s->stddev);
}

static sparc_status folder_of_seed(void *user, uint64_t seed, const char *folder, char *path, size_t size) {
  sparc_rl_run_config config = ((const rl_command *)user)->config;
  config.ppo.seed = seed;
  if (folder) config.folder = folder;
  return find_folder(&config, path, size);
}

static exit_code run_seeds(rl_command *c) {
  const seeds_work work = {.who = c->who,
                           .seeds = c->work.seeds,
                           .jobs = c->work.jobs,
                           .out = c->config.folder,
                           .quiet = c->tool.json,
                           .resumes = c->config.resume,
                           .folder_of = folder_of_seed,
                           .run = run_seed,
                           .user = c};
  seeds_scores scores;
  c->tool.quiet = 1;
  c->config.resume_or_create |= c->config.resume;
  c->config.resume = 0;
  const exit_code code = seeds_run(&work, &scores);
  print_scores(c, &scores);
  return code;
}

/* ---- an agent ------------------------------------------------------------------------------------ */

static sparc_status evaluate(const rl_command *c) {
  const sparc_rl_run_config *r = &c->config;
  const int episodes = c->work.episodes;
  const sparc_envs_config config = {.name = r->ppo.task,
                                    .options = r->ppo.task_options,
                                    .n = episodes < PLAYER_VECTOR ? episodes : PLAYER_VECTOR,
                                    .seed = r->ppo.seed,
                                    .threads = r->ppo.threads};
  char path[CLI_PATH];
  sparc_status status = cli_model_path(c->work.eval, path);
  if (status != SPARC_OK) return status;
  if (!player_is_agent(path))
    return fail(SPARC_IO, "--eval is '%.200s', expected a run folder or AGENT.safetensors", c->work.eval);
  player p;
  player_means m;
  status = player_open(&config, path, c->work.greedy != 0, c->plugins, &p);
  if (status == SPARC_OK) status = player_play(&p, episodes, cli_output_lost, &m);
  if (status == SPARC_OK && c->tool.json)
    cli_json_line(c->who, json_pack("{s:o, s:o, s:b, s:I, s:i, s:f, s:f, s:f}", "task",
                                    json_text(sparc_envs_info_of(p.envs).kind->name), "agent", json_text(path),
                                    "greedy", c->work.greedy, "seed", (json_int_t)r->ppo.seed, "episodes", m.episodes,
                                    "mean_return", m.mean_return, "sd", m.stddev, "mean_length", m.mean_length));
  else if (status == SPARC_OK)
    printf("%s, %d episodes: mean return %.4f (sd %.4f), mean length %.1f\n", sparc_envs_info_of(p.envs).kind->name,
           m.episodes, m.mean_return, m.stddev, m.mean_length);
  player_close(&p);
  return status;
}

/* ---- the command --------------------------------------------------------------------------------- */

static exit_code work(rl_command *c) {
  const sparc_ppo_config *p = &c->config.ppo;
  if (cli_ranks() && (c->work.eval || c->work.seeds))
    return report_failure(c, fail(SPARC_INVALID, "--%s does not run on several ranks; start it without mpirun",
                                  c->work.eval ? "eval" : "seeds"));
  if (c->work.eval) {
    const sparc_status status = evaluate(c);
    return status == SPARC_OK ? EXIT_DONE : report_failure(c, status);
  }
  if (!p->task || !*p->task)
    return report_failure(c, fail(SPARC_INVALID, "no TASK given; see `sparc envs` and `%s --help`", c->who));
  return c->work.seeds ? run_seeds(c) : run_one(c);
}

static const char doc[] =
    "Train a recurrent agent by proximal policy optimisation with exact sensitivities, on one of the environments of "
    "`sparc envs` or on a plugin. The defaults are the paper's settings for the task. The run folder gets "
    "config.json, metrics.jsonl, metrics.csv and the checkpoint last.safetensors, which is the agent."
    "\vSIGINT, SIGTERM, SIGHUP and SIGUSR1 save the run; --resume continues it bit-exactly. Exit status: 0 done, 1 a "
    "file could not be written or memory is exhausted, 2 usage, 3 an input file is missing or malformed, 4 a "
    "non-finite number, 130 interrupted.";

/* a task that was not given on the command line comes from a file */
static sparc_status check_plugin(const rl_command *c) {
  const char *file = c->tool.config ? c->tool.config : c->config.folder ? c->config.folder : "config.json";
  return plugin_permit(c->config.ppo.task, file, c->plugins);
}

static exit_code run_rl(int argc, char **argv) {
  rl_command c = {.who = argv[0], .out = -1};
  settings_binding binding = rl_binding(&c.config);
  settings_bind(&binding, &tool_table, &c.tool, &c.tool.given);
  settings_bind(&binding, &work_table, &c.work, &c.work.given);
  cli_sources *sources;
  const cli_usage usage = {
      .options = {rl_options, tool_options}, .doc = doc, .folder = find_folder, .config = &c.config};
  sparc_status status = cli_settings_read(argc, argv, &usage, &binding, &sources);
  c.plugins[0] = c.work.plugin;
  if (status == SPARC_OK && !cli_typed(sources, &binding, "task")) status = check_plugin(&c);
  exit_code code;
  if (status == SPARC_OK) {
    const settings_binding of_tool = {.part = {{.table = &tool_table, .at = &c.tool, .given = &c.tool.given},
                                               {.table = &work_table, .at = &c.work, .given = &c.work.given}}};
    settings_fill_defaults(&of_tool, DEFAULT_DATA);
    interrupt_catch();
    /* a file size limit must give an error like a full disk, not a signal */
    signal(SIGXFSZ, SIG_IGN);
    code = work(&c);
  } else {
    code = report_failure(&c, status);
  }
  cli_sources_free(sources);
  return code;
}

const cli_command command_rl = {"rl", "train and evaluate agents by reinforcement learning", NULL, run_rl,
                                CLI_ALL_RANKS};
