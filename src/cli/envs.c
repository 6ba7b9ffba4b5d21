/* SPDX-License-Identifier: MIT */
/* envs.c: `sparc envs`: lists environments, and plays episodes with a policy. One episode is printed step by step; for
 * several, means are printed. */
#include "envs/envs.h"

#include "base/error.h"
#include "cli/cli.h"
#include "envs/film.h"
#include "io/json.h"
#include "rl/player.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_CSV = 256, KEY_FILM, KEY_GREEDY };

typedef struct envs_settings {
  const char *name, *options, *play, *csv, *film;
  int episodes, seed, threads;
  bool json, greedy;
} envs_settings;

/* ---- options ------------------------------------------------------------------------------------- */

static const struct argp_option envs_options[] = {
    {"options", 'o', "LIST", 0, "Options of the environment, as key=value,...", 0},
    {"play", 'p', "POLICY", 0,
     "Play an episode with the policy random, oracle or AGENT, a run folder or its last.safetensors; without NAME, on "
     "the environment that the agent was trained on",
     0},
    {"greedy", KEY_GREEDY, NULL, 0, "Take the most probable actions of an agent instead of drawing them", 0},
    {"episodes", 'n', "N", 0, "Play N episodes and print means only", 0},
    {"seed", 's', "N", 0, "Seed of episodes and policy (default: 0)", 0},
    {"csv", KEY_CSV, "FILE", 0, "Write the episode as a table", 0},
    {"film", KEY_FILM, "FILE", 0, "Draw the episode as a filmstrip (SVG)", 0},
    {"threads", 'T', "N", 0, "Use at most N threads (default: all processors)", 0},
    {"json", 'j', NULL, 0, "Print one JSON object per environment, or one for the episodes", 0},
    {0}};

/* anything but the name of a policy */
static bool is_agent(const char *play) { return strcmp(play, "random") != 0 && strcmp(play, "oracle") != 0; }

static void check_settings(struct argp_state *state, const envs_settings *s) {
  const char *needs = s->options ? "options" : s->play && !is_agent(s->play) ? "play" : NULL;
  if (!s->name && needs) argp_error(state, "--%s needs the NAME of an environment", needs);
  needs = s->episodes ? "episodes" : s->csv ? "csv" : s->film ? "film" : s->greedy ? "greedy" : NULL;
  if (!s->play && needs) argp_error(state, "--%s needs a policy: --play=random, --play=oracle or --play=AGENT", needs);
  if (s->episodes && (s->csv || s->film))
    argp_error(state, "--%s records one episode and cannot be combined with --episodes", s->csv ? "csv" : "film");
}

static error_t parse_envs(int key, char *argument, struct argp_state *state) {
  envs_settings *s = state->input;
  switch (key) {
    case 'o':
      s->options = argument;
      return 0;
    case 'p':
      s->play = argument;
      return 0;
    case 'n':
      return cli_parse_int(state, "episodes", argument, 1, PLAYER_MAX_EPISODES, &s->episodes);
    case 's':
      return cli_parse_int(state, "seed", argument, 0, INT_MAX, &s->seed);
    case KEY_GREEDY:
      s->greedy = true;
      return 0;
    case KEY_CSV:
      s->csv = argument;
      return 0;
    case KEY_FILM:
      s->film = argument;
      return 0;
    case 'T':
      return cli_parse_int(state, "threads", argument, 1, 1024, &s->threads);
    case 'j':
      s->json = true;
      return 0;
    case ARGP_KEY_ARG:
      if (state->arg_num > 0) argp_error(state, "expected one NAME, got '%s' as well", argument);
      s->name = argument;
      return 0;
    case ARGP_KEY_END:
      check_settings(state, s);
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp envs_argp = {
    .options = envs_options,
    .parser = parse_envs,
    .args_doc = "[NAME|./PLUGIN.so]",
    .doc =
        "List the environments for reinforcement learning with their sizes and the mean returns of a random and of "
        "the best known policy, or describe or play one. A path with a slash loads a plugin."
        "\vExit status: 0 done, 1 failed, 2 usage, 3 a plugin is missing or invalid.",
};

static exit_code refuse(const char *who, sparc_status status) {
  cli_message(who, "%s", sparc_error());
  return cli_exit_code(status);
}

/* ---- the list ------------------------------------------------------------------------------------ */

static json_t *json_mean(double value) { return isnan(value) ? json_null() : json_real(value); }

/* shape is NULL if the environment cannot be opened */
static json_t *json_kind(const sparc_env_kind *kind, const sparc_env_shape *shape) {
  json_t *entry =
      json_pack("{s:o, s:o}", "name", json_text(kind->name), "summary", json_text(kind->summary ? kind->summary : ""));
  json_object_set_new(entry, "observation", shape ? json_integer(shape->observation) : json_null());
  json_object_set_new(entry, "choices", shape ? json_integer(shape->choices) : json_null());
  json_object_set_new(entry, "action", shape ? json_integer(shape->action) : json_null());
  json_object_set_new(entry, "horizon", shape ? json_integer(shape->horizon) : json_null());
  json_object_set_new(entry, "random_return", json_mean(kind->random_return));
  json_object_set_new(entry, "optimal_return", json_mean(kind->optimal_return));
  json_object_set_new(entry, "oracle", json_boolean(kind->oracle != NULL));
  return entry;
}

static void actions_text(const sparc_env_shape *shape, char *text, size_t size) {
  snprintf(text, size, shape->choices ? "%d" : "R^%d", shape->choices ? shape->choices : shape->action);
}

static const char *mean_text(double value, char *text, size_t size) {
  snprintf(text, size, fabs(value) >= 100 ? "%.0f" : "%.3f", value);
  return isnan(value) ? "-" : text;
}

static void print_row(const sparc_env_kind *kind, const sparc_env_shape *shape) {
  char observation[16] = "-", actions[16] = "-", steps[16] = "-", random[16], optimal[16];
  if (shape) {
    snprintf(observation, sizeof observation, "%d", shape->observation);
    snprintf(steps, sizeof steps, "%d", shape->horizon);
    actions_text(shape, actions, sizeof actions);
  }
  printf("%-21s  %11s  %7s  %5s  %6s  %7s  %s\n", kind->name, observation, actions, steps,
         mean_text(kind->random_return, random, sizeof random),
         mean_text(kind->optimal_return, optimal, sizeof optimal), kind->summary);
}

static exit_code list_kinds(const char *who, const envs_settings *s) {
  if (!s->json)
    printf("%-21s  %11s  %7s  %5s  %6s  %7s\n", "name", "observation", "actions", "steps", "random", "optimal");
  char missing[512] = "";
  for (const char *const *name = sparc_env_names(); *name; name++) {
    const sparc_env_kind *kind = NULL;
    sparc_env_shape shape;
    void *model = NULL;
    sparc_status status = env_find(*name, &kind);
    if (status != SPARC_OK) return refuse(who, status);
    status = kind->open("", &shape, &model);
    if (status == SPARC_OK && model && kind->close) kind->close(model);
    if (status != SPARC_OK) snprintf(missing, sizeof missing, "%s", sparc_error());
    if (s->json)
      cli_json_line(who, json_kind(kind, status == SPARC_OK ? &shape : NULL));
    else
      print_row(kind, status == SPARC_OK ? &shape : NULL);
  }
  if (*missing) cli_message(who, "%s", missing);
  return EXIT_DONE;
}

static exit_code describe(const char *who, const envs_settings *s, const sparc_envs *envs) {
  const sparc_env_kind *kind = sparc_envs_info_of(envs).kind;
  const sparc_env_shape shape = sparc_envs_info_of(envs).shape;
  if (s->json) {
    cli_json_line(who, json_kind(kind, &shape));
    return EXIT_DONE;
  }
  char random[16], optimal[16];
  printf("%s\n", kind->name);
  if (kind->summary) printf("  %s\n\n", kind->summary);
  printf("  observation  %d number%s\n", shape.observation, shape.observation == 1 ? "" : "s");
  if (shape.choices)
    printf("  action       one of %d\n", shape.choices);
  else
    printf("  action       %d number%s\n", shape.action, shape.action == 1 ? "" : "s");
  printf("  episode      at most %d steps\n", shape.horizon);
  if (!s->options)
    printf("  returns      random %s, optimal %s\n", mean_text(kind->random_return, random, sizeof random),
           mean_text(kind->optimal_return, optimal, sizeof optimal));
  printf("\n`sparc envs %s --play %s` plays an episode.\n", cli_shell_word(s->name).text,
         kind->oracle ? "oracle" : "random");
  return EXIT_DONE;
}

/* ---- one episode --------------------------------------------------------------------------------- */

static sparc_status open_player(const envs_settings *s, int n, player *p) {
  const sparc_envs_config config = {
      .name = s->name, .options = s->options, .n = n, .seed = (uint64_t)s->seed, .threads = s->threads};
  char agent[CLI_PATH];
  *p = (player){.envs = NULL};
  const sparc_status status = cli_model_path(s->play, agent);
  if (status != SPARC_OK) return status;
  return player_open(&config, is_agent(s->play) ? agent : s->play, s->greedy, NULL, p);
}

static void print_numbers(const float *values, int count) {
  enum { MAX = 16 };
  for (int i = 0; i < count && i < MAX; i++) printf(" %7.4g", (double)values[i]);
  if (count > MAX) printf(" ... (%d)", count);
}

static void print_header(const player *p) {
  const int width = 8 * (p->shape.action < 3 ? p->shape.action : 3);
  printf("%5s  %-*s  %8s  %s\n", "step", width, "action", "reward", "observation before it");
}

/* plays an episode; prints a line per step: the observation before it, action and reward */
static sparc_status play_episode(player *p, film *f, bool print) {
  sparc_status status = SPARC_OK;
  float *seen = malloc((size_t)p->shape.observation * sizeof *seen);
  if (!seen) return fail(SPARC_NO_MEMORY, "no memory for an observation");
  if (print) print_header(p);
  for (int step = 0; status == SPARC_OK && p->masks[0] != 0; step++) {
    memcpy(seen, p->observations, (size_t)p->shape.observation * sizeof *seen);
    if (f) status = film_begin_step(f, p->envs, 0, seen);
    if (status == SPARC_OK) status = p->act(p);
    if (status == SPARC_OK) status = player_step(p);
    if (status != SPARC_OK) break;
    if (f) film_end_step(f, p->actions, p->rewards[0]);
    if (!print) continue;
    printf("%5d ", step);
    print_numbers(p->actions, p->shape.action);
    printf("  %8.4f ", (double)p->rewards[0]);
    print_numbers(seen, p->shape.observation);
    putchar('\n');
  }
  free(seen);
  return status;
}

static sparc_status write_films(const envs_settings *s, const player *p, const film *f) {
  char title[128];
  snprintf(title, sizeof title, "%s, policy %s, seed %d: return %.4g in %d steps",
           sparc_envs_info_of(p->envs).kind->name, s->play, s->seed, p->returns[0], p->lengths[0]);
  sparc_status status = SPARC_OK;
  if (s->csv) status = film_write_csv(f, s->csv);
  if (s->film && status == SPARC_OK) status = film_write_svg(f, s->film, title);
  return status;
}

static void print_means(const char *who, const envs_settings *s, const player *p, int episodes, double mean, double sd,
                        double length) {
  const char *name = sparc_envs_info_of(p->envs).kind->name;
  const long faults = sparc_envs_info_of(p->envs).faults;
  if (s->json)
    cli_json_line(who, json_pack("{s:o, s:o, s:i, s:i, s:f, s:f, s:f, s:I}", "name", json_text(name), "policy",
                                 json_text(s->play), "seed", s->seed, "episodes", episodes, "mean_return", mean, "sd",
                                 sd, "mean_length", length, "faults", (json_int_t)faults));
  else if (episodes == 1)
    printf("return %.4f in %.0f steps\n", mean, length);
  else
    printf("%s, policy %s, %d episodes: mean return %.4f (sd %.4f), mean length %.1f\n", name, s->play, episodes, mean,
           sd, length);
  if (faults && !s->json) printf("%ld episodes ended because of non-finite numbers\n", faults);
}

static exit_code play_one(const char *who, const envs_settings *s) {
  player p;
  film *f = NULL;
  sparc_status status = open_player(s, 1, &p);
  if (status == SPARC_OK && s->film && !sparc_envs_info_of(p.envs).kind->segments)
    status = fail(SPARC_UNSUPPORTED, "%s has nothing to draw", sparc_envs_info_of(p.envs).kind->name);
  if (status == SPARC_OK && (s->csv || s->film)) status = film_create(p.envs, &f);
  if (status == SPARC_OK) status = play_episode(&p, f, !s->json && !f);
  if (status == SPARC_OK && f) status = write_films(s, &p, f);
  if (status == SPARC_OK) print_means(who, s, &p, 1, p.returns[0], 0, p.lengths[0]);
  film_free(f);
  player_close(&p);
  return status == SPARC_OK ? EXIT_DONE : refuse(who, status);
}

/* ---- many ---------------------------------------------------------------------------------------- */

static exit_code play_many(const char *who, const envs_settings *s) {
  player p;
  player_means m;
  sparc_status status = open_player(s, s->episodes < PLAYER_VECTOR ? s->episodes : PLAYER_VECTOR, &p);
  if (status == SPARC_OK) status = player_play(&p, s->episodes, cli_output_lost, &m);
  if (status == SPARC_OK) print_means(who, s, &p, m.episodes, m.mean_return, m.stddev, m.mean_length);
  player_close(&p);
  return status == SPARC_OK ? EXIT_DONE : refuse(who, status);
}

/* ---- the command --------------------------------------------------------------------------------- */

static exit_code run_envs(int argc, char **argv) {
  envs_settings s = {.json = false};
  if (argp_parse(&envs_argp, argc, argv, 0, NULL, &s) != 0) return EXIT_USAGE;
  if (!s.name && !s.play) return list_kinds(argv[0], &s);
  if (s.play) return s.episodes ? play_many(argv[0], &s) : play_one(argv[0], &s);
  sparc_envs *envs;
  const sparc_envs_config config = {.name = s.name, .options = s.options, .n = 1, .threads = 1};
  const sparc_status status = sparc_envs_create(&config, &envs);
  if (status != SPARC_OK) return refuse(argv[0], status);
  const exit_code code = describe(argv[0], &s, envs);
  sparc_envs_free(envs);
  return code;
}

const cli_command command_envs = {"envs", "list, describe and play environments", &envs_argp, run_envs, CLI_ONE_RANK};
