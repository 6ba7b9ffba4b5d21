/* SPDX-License-Identifier: MIT */
/* search.c: tasks of POPGym in which actions are queries: a bandit, battleship, minesweeper and concentration.
 *
 * Not in the paper. The observation is the result of the last action without the action itself, so the agent needs its
 * previous action as an input. Oracles see the hidden state. None has options.
 */
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "envs/envs.h"

#include <stdbool.h>
#include <string.h>

/* a task without options and without a model */
static sparc_status open_plain(const char *name, const char *options, sparc_env_shape chosen, sparc_env_shape *shape) {
  static const sparc_option none[] = {{.name = NULL}};
  double option[MAX_OPTIONS];
  *shape = chosen;
  return options_parse(name, none, options, option);
}

/* how many of these marks are 1; -1: one of them is neither 0 nor 1 */
static int count_marks(const unsigned char *mark, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    if (mark[i] > 1) return -1;
    sum += mark[i];
  }
  return sum;
}

/* ---- bandit: ten arms, each with its own odds ------------------------------------------------------ */

enum { ARMS = 10, BANDIT_STEPS = 200 };
static const sparc_env_shape bandit_shape = {.observation = 1, .choices = ARMS, .action = 1, .horizon = BANDIT_STEPS};

typedef struct bandit_state {
  double odds[ARMS];
} bandit_state;

static void bandit_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)model, (void)scratch;
  bandit_state *s = state;
  for (int arm = 0; arm < ARMS; arm++) s->odds[arm] = sparc_random_uniform(random);
  *observation = 0;
}

static void bandit_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                        float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)done; /* episodes end at their horizon */
  const bandit_state *s = state;
  const int paid = sparc_random_uniform(random) < s->odds[(int)*action];
  *observation = (float)paid;
  *reward = (paid ? 1.0F : -1.0F) / BANDIT_STEPS;
}

static void bandit_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)model, (void)scratch;
  const bandit_state *s = state;
  int best = 0;
  for (int arm = 1; arm < ARMS; arm++)
    if (s->odds[arm] > s->odds[best]) best = arm;
  *action = (float)best;
}

static int bandit_state_valid(const void *model, const void *state, int steps) {
  (void)model, (void)steps;
  const bandit_state *s = state;
  for (int arm = 0; arm < ARMS; arm++)
    if (!(s->odds[arm] >= 0 && s->odds[arm] <= 1)) return 0;
  return 1;
}

/* ---- battleship: find four ships on a board --------------------------------------------------------- */

enum { BOARD = 8, SQUARES = BOARD * BOARD, SHIPS = 4, SHIP_SQUARES = 2 + 3 + 3 + 4 };
static const int ship_lengths[SHIPS] = {2, 3, 3, 4};
static const sparc_env_shape battleship_shape = {.observation = 1, .choices = SQUARES, .action = 1, .horizon = SQUARES};

typedef struct battleship_state {
  unsigned char ship[SQUARES], shot[SQUARES];
  int hits;
} battleship_state;

/* the first square of placement p (0 ... 2 * SQUARES - 1), its direction, and whether a ship fits there */
static int ship_fits(const battleship_state *s, int p, int length, int *square, int *stride) {
  const int down = p >= SQUARES;
  *square = p % SQUARES;
  *stride = down ? BOARD : 1;
  if ((down ? *square / BOARD : *square % BOARD) + length > BOARD) return 0;
  for (int k = 0; k < length; k++)
    if (s->ship[*square + k * *stride]) return 0;
  return 1;
}

/* every free placement has the same probability */
static void place_ship(battleship_state *s, sparc_random *random, int length) {
  int square, stride, count = 0;
  for (int p = 0; p < 2 * SQUARES; p++) count += ship_fits(s, p, length, &square, &stride);
  int skip = (int)sparc_random_below(random, (uint32_t)count), p = 0;
  while (!ship_fits(s, p, length, &square, &stride) || skip-- > 0) p++;
  for (int k = 0; k < length; k++) s->ship[square + k * stride] = 1;
}

static void battleship_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)model, (void)scratch;
  battleship_state *s = state;
  memset(s, 0, sizeof *s);
  for (int i = 0; i < SHIPS; i++) place_ship(s, random, ship_lengths[i]);
  *observation = 0;
}

static void battleship_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                            float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)random;
  battleship_state *s = state;
  const int square = (int)*action, hit = s->ship[square] && !s->shot[square];
  s->shot[square] = 1;
  s->hits += hit;
  *observation = (float)hit;
  *reward = hit ? 1.0F / SHIP_SQUARES : -1.0F / (SQUARES - SHIP_SQUARES);
  *done = s->hits == SHIP_SQUARES;
}

static void battleship_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)model, (void)scratch;
  const battleship_state *s = state;
  int square = 0;
  while (square < SQUARES - 1 && !(s->ship[square] && !s->shot[square])) square++;
  *action = (float)square;
}

static int battleship_state_valid(const void *model, const void *state, int steps) {
  (void)model;
  const battleship_state *s = state;
  const int ships = count_marks(s->ship, SQUARES), shots = count_marks(s->shot, SQUARES);
  int hits = 0;
  for (int square = 0; square < SQUARES; square++) hits += s->ship[square] && s->shot[square];
  return ships == SHIP_SQUARES && shots >= 0 && shots <= steps && s->hits == hits && hits < SHIP_SQUARES;
}

/* ---- minesweeper: open what is not a mine ------------------------------------------------------------ */

enum { FIELD = 4, CELLS = FIELD * FIELD, MINES = 2, SAFE = CELLS - MINES };
static const sparc_env_shape minesweeper_shape = {.observation = MINES, .choices = CELLS, .action = 1, .horizon = SAFE};

typedef struct minesweeper_state {
  unsigned char mine[CELLS], open[CELLS];
} minesweeper_state;

static int mines_around(const minesweeper_state *s, int cell) {
  int count = 0;
  for (int y = cell / FIELD - 1; y <= cell / FIELD + 1; y++)
    for (int x = cell % FIELD - 1; x <= cell % FIELD + 1; x++)
      if (x >= 0 && y >= 0 && x < FIELD && y < FIELD) count += s->mine[y * FIELD + x];
  return count;
}

static void minesweeper_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)model, (void)scratch;
  minesweeper_state *s = state;
  memset(s, 0, sizeof *s);
  for (int placed = 0; placed < MINES; placed++) {
    int skip = (int)sparc_random_below(random, (uint32_t)(CELLS - placed)), cell = 0;
    while (s->mine[cell] || skip-- > 0) cell++;
    s->mine[cell] = 1;
  }
  for (int i = 0; i < MINES; i++) observation[i] = 0;
}

/* counts 0 and 1 have a number of the observation each; 2 mines show as zeros */
static void minesweeper_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                             float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)random;
  minesweeper_state *s = state;
  const int cell = (int)*action, around = mines_around(s, cell);
  for (int i = 0; i < MINES; i++) observation[i] = i == around;
  *done = s->mine[cell];
  *reward = s->mine[cell] ? -0.5F - 1.0F / SAFE : s->open[cell] ? -0.5F / (SAFE - 2) : 1.0F / SAFE;
  s->open[cell] = 1;
}

static void minesweeper_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)model, (void)scratch;
  const minesweeper_state *s = state;
  int cell = 0;
  while (cell < CELLS - 1 && (s->mine[cell] || s->open[cell])) cell++;
  *action = (float)cell;
}

static int minesweeper_state_valid(const void *model, const void *state, int steps) {
  (void)model;
  const minesweeper_state *s = state;
  const int open = count_marks(s->open, CELLS);
  for (int cell = 0; cell < CELLS; cell++)
    if (s->mine[cell] && s->open[cell]) return 0; /* the episode has ended there */
  return count_marks(s->mine, CELLS) == MINES && open >= 0 && open <= steps;
}

/* ---- concentration: turn over pairs of equal cards ---------------------------------------------------- */

enum { CARDS = 52, COLOURS = 2, FACES = COLOURS + 1, TURNS = 2 * CARDS };
static const sparc_env_shape concentration_shape = {
    .observation = CARDS * FACES, .choices = CARDS, .action = 1, .horizon = TURNS};

typedef struct concentration_state {
  int colour[CARDS];
  unsigned char found[CARDS];
  int found_count;
  int turned; /* the card that waits for its partner, or -1 */
} concentration_state;

/* each card as one of colour 0, colour 1, hidden; two cards may have been turned just now */
static void concentration_show(const concentration_state *s, int first, int second, float *observation) {
  for (int card = 0; card < CARDS; card++) {
    const int face = s->found[card] || card == first || card == second ? s->colour[card] : COLOURS;
    for (int i = 0; i < FACES; i++) observation[card * FACES + i] = i == face;
  }
}

static void concentration_reset(const void *model, void *scratch, void *state, sparc_random *random,
                                float *observation) {
  (void)model, (void)scratch;
  concentration_state *s = state;
  memset(s, 0, sizeof *s);
  for (int card = 0; card < CARDS; card++) s->colour[card] = card % COLOURS;
  random_shuffle(random, s->colour, CARDS);
  s->turned = -1;
  concentration_show(s, -1, -1, observation);
}

/* A card found before costs a point for every card turned in this try, a wrong pair two. */
static void concentration_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                               float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)random;
  concentration_state *s = state;
  const float point = 1.0F / TURNS;
  const int card = (int)*action, first = s->turned;
  const int pair = first >= 0 && first != card && !s->found[card] && s->colour[first] == s->colour[card];
  s->turned = -1;
  if (s->found[card])
    *reward = first < 0 ? -point : -2 * point;
  else if (first < 0)
    s->turned = card, *reward = 0;
  else
    *reward = pair ? 2.0F / CARDS : -2 * point;
  if (pair) s->found[first] = s->found[card] = 1, s->found_count += 2;
  *done = s->found_count == CARDS;
  concentration_show(s, first, card, observation);
}

static int concentration_state_valid(const void *model, const void *state, int steps) {
  (void)model;
  const concentration_state *s = state;
  const int found = count_marks(s->found, CARDS);
  int count[COLOURS] = {0};
  for (int card = 0; card < CARDS; card++) {
    if (s->colour[card] < 0 || s->colour[card] >= COLOURS) return 0;
    count[s->colour[card]]++;
  }
  const bool turned = s->turned >= 0 && s->turned < CARDS;
  return count[0] == CARDS / COLOURS && found >= 0 && found == s->found_count && found < CARDS && found <= steps &&
         (s->turned == -1 || (turned && !s->found[s->turned]));
}

/* the first card that is hidden, then the next one of its colour */
static void concentration_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)model, (void)scratch;
  const concentration_state *s = state;
  int card = 0;
  while (card < CARDS - 1 &&
         (s->found[card] || card == s->turned || (s->turned >= 0 && s->colour[card] != s->colour[s->turned])))
    card++;
  *action = (float)card;
}

/* ---- kinds ------------------------------------------------------------------------------------- */

/* id, random and optimal return, summary */
#define SEARCH_KINDS(ROW)                                                    \
  ROW(bandit, 0, 9.0 / 11, "find the best of ten arms")                      \
  ROW(battleship, -0.448, 1, "find four ships on a board of 8 x 8")          \
  ROW(minesweeper, -0.232, 1, "open a field of 4 x 4 without its two mines") \
  ROW(concentration, -0.191, 1, "turn over pairs of equal cards among 52")

#define DEFINE(id, random, optimal, about)                                                   \
  static size_t id##_state_bytes(const void *model) {                                        \
    (void)model;                                                                             \
    return sizeof(id##_state);                                                               \
  }                                                                                          \
  static sparc_status open_##id(const char *options, sparc_env_shape *shape, void **model) { \
    (void)model;                                                                             \
    return open_plain(#id, options, id##_shape, shape);                                      \
  }                                                                                          \
  static const sparc_env_kind kind_##id = {                                                  \
      .version = SPARC_ENV_VERSION,                                                          \
      .name = #id,                                                                           \
      .summary = (about),                                                                    \
      .random_return = (random),                                                             \
      .optimal_return = (optimal),                                                           \
      .open = open_##id,                                                                     \
      .state_bytes = id##_state_bytes,                                                       \
      .reset = id##_reset,                                                                   \
      .step = id##_step,                                                                     \
      .oracle = id##_oracle,                                                                 \
      .state_valid = id##_state_valid,                                                       \
  };
SEARCH_KINDS(DEFINE)

#define ADDRESS(id, random, optimal, about) &kind_##id,
const sparc_env_kind *const search_kinds[] = {SEARCH_KINDS(ADDRESS) NULL};
