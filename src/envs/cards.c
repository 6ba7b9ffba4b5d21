/* SPDX-License-Identifier: MIT */
/* cards.c: the card tasks of POPGym, in which cards must be remembered, counted or guessed.
 *
 * They share one skeleton. An episode shuffles a deck (or two) and shows a card per step; a task defines the
 * observation and the target action, if there is one, of step t. The correct action earns `scale`, a wrong one costs
 * it. Where the sources of these tasks disagree, docs/environments.md documents the choice and the reason.
 */
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "envs/envs.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { DECK = 52, SUITS = 4, RANKS = 13, MAX_VALUES = RANKS, MAX_DECKS = 64 };
enum { NO_TARGET = -1 };

typedef struct card_task card_task;

typedef struct card_model {
  const card_task *task;
  int cards;  /* of a deck: 52 times the number of decks that were put together */
  int values; /* values of a card: 0 ... values - 1, equally often */
  int lag;
  float scale;
} card_model;

typedef struct card_state {
  int t;                /* step of the episode */
  int seen[MAX_VALUES]; /* how often each value was shown before step t */
  int card[];           /* the deck; count-recall: two of them, shown cards and queried cards */
} card_state;

struct card_task {
  const sparc_option *options;
  int values, decks[3], lags[3]; /* the latter two by size */
  int shuffles;                  /* decks of an episode */
  /* the shape, where it is not one value seen, one named and one step per card, and the scale */
  void (*shape)(card_model *m, sparc_env_shape *shape);
  void (*show)(const card_model *m, const card_state *s, float *observation);
  int (*target)(const card_model *m, const card_state *s); /* the correct action, or NO_TARGET */
  int (*guess)(const card_model *m, const card_state *s);  /* action of the oracle, if there is a target */
};

/* ---- the skeleton ------------------------------------------------------------------------------ */

static const char *const sizes[] = {"easy", "medium", "hard", NULL};
static const char *const types[] = {"2", "4", "13", NULL};
static const int type_counts[] = {2, 4, 13};
enum { OPTION_SIZE, OPTION_DECKS, OPTION_EXTRA };

/* decks and lag follow from the size where they are not given */
#define SIZE \
  { .name = "size", .type = SPARC_OPTION_CHOICE, .choices = sizes, .help = "sets decks and lag" }
#define DECKS \
  { .name = "decks", .type = SPARC_OPTION_INT, .low = 1, .high = MAX_DECKS, .help = "decks put together" }
#define LAG \
  { .name = "lag", .type = SPARC_OPTION_INT, .low = 1, .high = MAX_DECKS * DECK, .help = "steps back to the card" }
#define TYPES \
  { .name = "types", .type = SPARC_OPTION_CHOICE, .choices = types, .help = "different cards" }
static const sparc_option deck_options[] = {SIZE, DECKS, {.name = NULL}};
static const sparc_option lag_options[] = {SIZE, DECKS, LAG, {.name = NULL}};
static const sparc_option type_options[] = {SIZE, DECKS, TYPES, {.name = NULL}};

static sparc_status open_cards(const char *name, const card_task *task, const char *options, sparc_env_shape *shape,
                               void **model) {
  double option[MAX_OPTIONS];
  sparc_status status = options_parse(name, task->options, options, option);
  if (status != SPARC_OK) return status;
  const int size = (int)option[OPTION_SIZE], given = (int)option[OPTION_DECKS];
  const int decks = given ? given : task->decks[size];
  card_model m = {.task = task, .cards = DECK * decks, .values = task->values, .lag = task->lags[size]};
  if (task->options == lag_options && option[OPTION_EXTRA] > 0) m.lag = (int)option[OPTION_EXTRA];
  if (task->options == type_options) m.values = type_counts[(int)option[OPTION_EXTRA]];
  if (m.lag >= m.cards) return fail(SPARC_INVALID, "option lag is %d, expected less than the %d cards", m.lag, m.cards);
  *shape = (sparc_env_shape){.observation = m.values, .choices = m.values, .action = 1, .horizon = m.cards};
  task->shape(&m, shape);
  card_model *copy = sparc_alloc(sizeof *copy);
  if (!copy) return fail(SPARC_NO_MEMORY, "no memory for %s", name);
  *copy = m;
  *model = copy;
  return SPARC_OK;
}

static size_t cards_state_bytes(const void *model) {
  const card_model *m = model;
  return sizeof(card_state) + (size_t)m->task->shuffles * (size_t)m->cards * sizeof(int);
}

static void shuffled_deck(const card_model *m, sparc_random *random, int *card) {
  for (int i = 0, value = 0; i < m->cards; i++) {
    card[i] = value;
    value = value + 1 == m->values ? 0 : value + 1;
  }
  random_shuffle(random, card, m->cards);
}

static void cards_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)scratch;
  const card_model *m = model;
  card_state *s = state;
  s->t = 0;
  memset(s->seen, 0, sizeof s->seen);
  for (int i = 0; i < m->task->shuffles; i++) shuffled_deck(m, random, s->card + (size_t)i * (size_t)m->cards);
  m->task->show(m, s, observation);
}

static void cards_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                       float *observation, float *reward, int *done) {
  (void)scratch, (void)random, (void)done; /* episodes end at their horizon */
  const card_model *m = model;
  card_state *s = state;
  const int target = m->task->target(m, s);
  *reward = target == NO_TARGET ? 0 : (int)*action == target ? m->scale : -m->scale;
  if (s->t < m->cards) s->seen[s->card[s->t]]++;
  s->t++;
  m->task->show(m, s, observation);
}

/* every value equally often */
static bool is_deck(const card_model *m, const int *card) {
  int count[MAX_VALUES] = {0};
  for (int i = 0; i < m->cards; i++) {
    if (card[i] < 0 || card[i] >= m->values) return false;
    count[card[i]]++;
  }
  for (int value = 0; value < m->values; value++)
    if (count[value] != m->cards / m->values) return false;
  return true;
}

static int cards_state_valid(const void *model, const void *state, int steps) {
  const card_model *m = model;
  const card_state *s = state;
  int seen[MAX_VALUES] = {0};
  for (int i = 0; i < m->task->shuffles; i++)
    if (!is_deck(m, s->card + (size_t)i * (size_t)m->cards)) return 0;
  for (int t = 0; t < steps && t < m->cards; t++) seen[s->card[t]]++;
  return s->t == steps && memcmp(seen, s->seen, sizeof seen) == 0;
}

static void cards_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)scratch;
  const card_model *m = model;
  const card_state *s = state;
  *action = m->task->target(m, s) == NO_TARGET ? 0 : (float)m->task->guess(m, s);
}

static void one_hot(float *values, int count, int which) {
  for (int i = 0; i < count; i++) values[i] = i == which;
}

/* card t; none after the last step */
static void show_card(const card_model *m, const card_state *s, float *observation) {
  one_hot(observation, m->values, s->t < m->cards ? s->card[s->t] : -1);
}

/* ---- autoencode: the suits of the deck in reverse ------------------------------------------------ */

/* obs(t) = card t for t < N and zeros after it; target c[2N - 1 - t] from step N on */
static void autoencode_shape(card_model *m, sparc_env_shape *shape) {
  shape->horizon = 2 * m->cards;
  m->scale = 1 / (float)m->cards;
}

static int autoencode_target(const card_model *m, const card_state *s) {
  return s->t < m->cards ? NO_TARGET : s->card[2 * m->cards - 1 - s->t];
}

static const card_task autoencode = {
    .options = deck_options,
    .values = SUITS,
    .decks = {1, 2, 3},
    .shuffles = 1,
    .shape = autoencode_shape,
    .show = show_card,
    .target = autoencode_target,
    .guess = autoencode_target,
};

/* The same as in one published program: zeros while the cards are dealt, the last card during recall, and one query too
 * many, for the first card again. Kept to compare with that program. */
static void ascoded_shape(card_model *m, sparc_env_shape *shape) {
  autoencode_shape(m, shape);
  shape->horizon++;
}

static void ascoded_show(const card_model *m, const card_state *s, float *observation) {
  one_hot(observation, m->values, s->t < m->cards ? -1 : s->card[m->cards - 1]);
}

static int ascoded_target(const card_model *m, const card_state *s) {
  if (s->t < m->cards) return NO_TARGET;
  const int back = 2 * m->cards - 1 - s->t;
  return s->card[back < 0 ? 0 : back];
}

/* the last card is shown; any other suit is the most probable for the rest */
static int ascoded_guess(const card_model *m, const card_state *s) {
  const int last = s->card[m->cards - 1];
  return s->t == m->cards ? last : (last + 1) % m->values;
}

static const card_task autoencode_ascoded = {
    .options = deck_options,
    .values = SUITS,
    .decks = {1, 2, 3},
    .shuffles = 1,
    .shape = ascoded_shape,
    .show = ascoded_show,
    .target = ascoded_target,
    .guess = ascoded_guess,
};

/* ---- count-recall: how often was this card shown before? ------------------------------------------ */

/* obs(t) = (shown v[t], queried q[t]); target #{s < t: v[s] = q[t]} */
static void count_recall_shape(card_model *m, sparc_env_shape *shape) {
  shape->observation = 2 * m->values;
  shape->choices = m->cards / m->values + 1;
  m->scale = 1 / (float)m->cards;
}

static void count_recall_show(const card_model *m, const card_state *s, float *observation) {
  show_card(m, s, observation);
  one_hot(observation + m->values, m->values, s->t < m->cards ? s->card[m->cards + s->t] : -1);
}

static int count_recall_target(const card_model *m, const card_state *s) { return s->seen[s->card[m->cards + s->t]]; }

static const card_task count_recall = {
    .options = type_options,
    .values = 2,
    .decks = {1, 2, 3},
    .shuffles = 2,
    .shape = count_recall_shape,
    .show = count_recall_show,
    .target = count_recall_target,
    .guess = count_recall_target,
};

/* ---- repeat-first: the suit of the first card, all the time ---------------------------------------- */

/* obs(t) = (card t, t = 0?); target c[0]. N - 1 correct actions of N give a return of 1: the first needs no memory. */
static void repeat_first_unmarked_shape(card_model *m, sparc_env_shape *shape) {
  (void)shape;
  m->scale = 1 / (float)(m->cards - 1);
}

static void repeat_first_shape(card_model *m, sparc_env_shape *shape) {
  repeat_first_unmarked_shape(m, shape);
  shape->observation = m->values + 1;
}

static void repeat_first_show(const card_model *m, const card_state *s, float *observation) {
  show_card(m, s, observation);
  observation[m->values] = s->t == 0;
}

static int repeat_first_target(const card_model *m, const card_state *s) {
  (void)m;
  return s->card[0];
}

static const card_task repeat_first = {
    .options = deck_options,
    .values = SUITS,
    .decks = {1, 8, 16},
    .shuffles = 1,
    .shape = repeat_first_shape,
    .show = repeat_first_show,
    .target = repeat_first_target,
    .guess = repeat_first_target,
};

static const card_task repeat_first_unmarked = {
    .options = deck_options,
    .values = SUITS,
    .decks = {1, 8, 16},
    .shuffles = 1,
    .shape = repeat_first_unmarked_shape,
    .show = show_card,
    .target = repeat_first_target,
    .guess = repeat_first_target,
};

/* ---- repeat-previous: the suit of the card `lag` steps ago ------------------------------------------ */

static void repeat_previous_shape(card_model *m, sparc_env_shape *shape) {
  (void)shape;
  m->scale = 1 / (float)(m->cards - m->lag);
}

static int repeat_previous_target(const card_model *m, const card_state *s) {
  return s->t < m->lag ? NO_TARGET : s->card[s->t - m->lag];
}

static const card_task repeat_previous = {
    .options = lag_options,
    .values = SUITS,
    .decks = {1, 2, 3},
    .lags = {4, 32, 64},
    .shuffles = 1,
    .shape = repeat_previous_shape,
    .show = show_card,
    .target = repeat_previous_target,
    .guess = repeat_previous_target,
};

/* ---- higher-lower: will the next rank be higher (0) or lower (1)? ----------------------------------- */

enum { HIGHER, LOWER };

static void higher_lower_shape(card_model *m, sparc_env_shape *shape) {
  shape->choices = 2;
  m->scale = 1 / (float)m->cards;
}

/* equal ranks score nothing, and the last card has no next */
static int higher_lower_target(const card_model *m, const card_state *s) {
  if (s->t + 1 >= m->cards || s->card[s->t + 1] == s->card[s->t]) return NO_TARGET;
  return s->card[s->t + 1] > s->card[s->t] ? HIGHER : LOWER;
}

/* counts the remaining ranks from the cards seen, without access to the deck */
static int higher_lower_guess(const card_model *m, const card_state *s) {
  const int rank = s->card[s->t], of_each = m->cards / m->values;
  int balance = 0; /* cards above less cards below */
  for (int value = 0; value < m->values; value++) {
    const int left = of_each - s->seen[value];
    if (value != rank) balance += value > rank ? left : -left;
  }
  return balance >= 0 ? HIGHER : LOWER;
}

static const card_task higher_lower = {
    .options = deck_options,
    .values = RANKS,
    .decks = {1, 2, 3},
    .shuffles = 1,
    .shape = higher_lower_shape,
    .show = show_card,
    .target = higher_lower_target,
    .guess = higher_lower_guess,
};

/* ---- kinds ------------------------------------------------------------------------------------- */

/* task, name, random and optimal return, summary */
#define CARD_KINDS(ROW)                                                                                           \
  ROW(autoencode, "autoencode", -0.5, 1, "watch 52 cards, then name their suits in reverse")                      \
  ROW(autoencode_ascoded, "autoencode-ascoded", -53.0 / 104, (2 * (14 + 13.0 / 51) - 53) / 52,                    \
      "autoencode with the errors of one program")                                                                \
  ROW(count_recall, "count-recall", -25.0 / 27, 1, "count how often the queried card was shown before")           \
  ROW(repeat_first, "repeat-first", -26.0 / 51, 52.0 / 51, "repeat the suit of the first card, which is marked")  \
  ROW(repeat_first_unmarked, "repeat-first-unmarked", -26.0 / 51, 52.0 / 51, "repeat the suit of the first card") \
  ROW(repeat_previous, "repeat-previous", -0.5, 1, "repeat the suit of four steps ago")                           \
  ROW(higher_lower, "higher-lower", 0, 0.5277, "guess whether the next card is higher or lower")

#define DEFINE(task, text, random, optimal, about)                                             \
  static sparc_status open_##task(const char *options, sparc_env_shape *shape, void **model) { \
    return open_cards(text, &(task), options, shape, model);                                   \
  }                                                                                            \
  static const sparc_env_kind kind_##task = {                                                  \
      .version = SPARC_ENV_VERSION,                                                            \
      .name = (text),                                                                          \
      .summary = (about),                                                                      \
      .random_return = (random),                                                               \
      .optimal_return = (optimal),                                                             \
      .open = open_##task,                                                                     \
      .close = sparc_free,                                                                     \
      .state_bytes = cards_state_bytes,                                                        \
      .reset = cards_reset,                                                                    \
      .step = cards_step,                                                                      \
      .oracle = cards_oracle,                                                                  \
      .state_valid = cards_state_valid,                                                        \
  };
CARD_KINDS(DEFINE)

#define ADDRESS(task, text, random, optimal, about) &kind_##task,
const sparc_env_kind *const card_kinds[] = {CARD_KINDS(ADDRESS) NULL};
