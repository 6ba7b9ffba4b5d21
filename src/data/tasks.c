/* SPDX-License-Identifier: MIT */
/* tasks.c: generators and scores of the diagnostic tasks (paper: "Controlled diagnostics" and Figure 1).
 *
 * The paper fixes the sizes, the training and the score and describes the sequences in words; the distributions are
 * ours. A task is a row of a table: what the public structure says, and a function that draws one sequence. Everything
 * is drawn and computed in double and rounded once to float, and the rotations are literals, so that the data do not
 * depend on the C library's sine and cosine. tests/test_tasks.c holds their checksums.
 */
#include "data/tasks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TRAIN = 384, EVALUATION = 512, STEPS = 48 };

static const uint64_t task_seed = 2026;

/* arrays being filled: those of a whole part, or one sequence's share of them. What a task does not have is NULL. */
typedef struct arrays {
  float *x, *target;
  int *label, *event;
} arrays;

/* ---- event order -------------------------------------------------------------------------------- */

enum { SYMBOLS = 8, EVENTS = 3, ORDERS = 6 };

static const char *const letter_names[] = {"A", "B", "C", NULL};
static const char *const order_names[] = {"A-B-C", "A-C-B", "B-A-C", "B-C-A", "C-A-B", "C-B-A", NULL};
static const int orders[ORDERS][EVENTS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* the class of events that came at these steps */
static int order_of(const int step[EVENTS]) {
  int k = 0;
  while (step[orders[k][0]] > step[orders[k][1]] || step[orders[k][1]] > step[orders[k][2]]) k++;
  return k;
}

static void draw_distractors(sparc_random *r, int symbols[STEPS]) {
  for (int t = 0; t < STEPS; t++) symbols[t] = EVENTS + (int)sparc_random_below(r, SYMBOLS - EVENTS);
}

/* puts event e at step[e] and writes the sequence down */
static void place_events(int symbols[STEPS], const int step[EVENTS], const arrays *s) {
  for (int e = 0; e < EVENTS; e++) symbols[step[e]] = e;
  for (int t = 0; t < STEPS; t++) {
    s->x[t * SYMBOLS + symbols[t]] = 1;
    s->event[t] = symbols[t] < EVENTS ? symbols[t] : -1;
  }
  *s->label = order_of(step);
}

/* one event in each third of the sequence: the order first, then the place inside each third */
static void draw_event_order(sparc_random *r, const arrays *s) {
  enum { THIRD = STEPS / EVENTS };
  int symbols[STEPS], step[EVENTS];
  draw_distractors(r, symbols);
  const int *order = orders[sparc_random_below(r, ORDERS)];
  for (int i = 0; i < EVENTS; i++) step[order[i]] = i * THIRD + (int)sparc_random_below(r, THIRD);
  place_events(symbols, step, s);
}

/* the first three of a random order of the steps are distinct, and all their orders have the same odds */
static void draw_event_order_anywhere(sparc_random *r, const arrays *s) {
  int symbols[STEPS], steps[STEPS];
  draw_distractors(r, symbols);
  random_permutation(r, steps, STEPS);
  place_events(symbols, steps, s);
}

/* ---- dynamical tracking -------------------------------------------------------------------------- */

enum { PLANE = 2, CONTRACTION = 0, ROTATION, CHANGES, TRACKING_INPUTS = PLANE + CHANGES };

static const char *const change_names[] = {"contraction", "rotation", NULL};
static const double drive_odds = 0.25, change_odds = 0.12, retention = 0.98, contraction = 0.3;

typedef struct angle {
  double cosine, sine;
} angle;
static const angle slow_turn = {0.98877107793604228673, 0.14943813247359922150};  /* 0.15 */
static const angle quick_turn = {0.36235775447667357764, 0.93203908596722634967}; /* 1.2 */

/* z = radius Rot(turn) z + u */
static void advance(double z[PLANE], double radius, angle turn, const float u[PLANE]) {
  const double first = radius * (turn.cosine * z[0] - turn.sine * z[1]) + u[0];
  z[1] = radius * (turn.sine * z[0] + turn.cosine * z[1]) + u[1];
  z[0] = first;
}

/* the point moves by the drive as rounded for the input: the target is an exact function of the input */
static void draw_tracking(sparc_random *r, const arrays *s) {
  double z[PLANE] = {0, 0};
  float *x = s->x;
  for (int t = 0; t < STEPS; t++, x += TRACKING_INPUTS) {
    if (sparc_random_uniform(r) < drive_odds) random_fill_normal(r, x, PLANE, 1);
    const int change = sparc_random_uniform(r) < change_odds ? (int)sparc_random_below(r, CHANGES) : -1;
    if (change >= 0) x[PLANE + change] = 1;
    s->event[t] = change;

    const double radius = change == CONTRACTION ? contraction * retention : retention;
    advance(z, radius, change == ROTATION ? quick_turn : slow_turn, x);
    for (int i = 0; i < PLANE; i++) s->target[t * PLANE + i] = (float)z[i];
  }
}

/* ---- the table ------------------------------------------------------------------------------------ */

typedef struct recipe { /* how the tasks differ */
  const char *stream;   /* of random numbers, see sparc/tasks.h */
  const char *title, *score_name;
  sparc_task_target target_kind;
  int D, O, updates, relu;
  const char *const *class_names, *const *event_names;
  void (*draw)(sparc_random *r, const arrays *sequence);
} recipe;

enum { EVENT_ORDER, EVENT_ORDER_ANYWHERE, TRACKING, TASKS };

static const char *const names[] = {[EVENT_ORDER] = "event-order",
                                    [EVENT_ORDER_ANYWHERE] = "event-order-anywhere",
                                    [TRACKING] = "tracking",
                                    [TASKS] = NULL};
static const recipe recipes[TASKS] = {
    [EVENT_ORDER] =
        {
            .stream = "event-order-thirds",
            .title = "Selective event-order retention",
            .score_name = "error rate",
            .target_kind = SPARC_TARGET_CLASS,
            .D = SYMBOLS,
            .O = ORDERS,
            .updates = 1200,
            .relu = 1,
            .class_names = order_names,
            .event_names = letter_names,
            .draw = draw_event_order,
        },
    [EVENT_ORDER_ANYWHERE] =
        {
            .stream = "event-order",
            .title = "Event-order retention, events anywhere",
            .score_name = "error rate",
            .target_kind = SPARC_TARGET_CLASS,
            .D = SYMBOLS,
            .O = ORDERS,
            .updates = 1200,
            .relu = 1,
            .class_names = order_names,
            .event_names = letter_names,
            .draw = draw_event_order_anywhere,
        },
    [TRACKING] =
        {
            .stream = "tracking",
            .title = "Event-driven dynamical tracking",
            .score_name = "NMSE",
            .target_kind = SPARC_TARGET_VALUES,
            .D = TRACKING_INPUTS,
            .O = PLANE,
            .updates = 450,
            .relu = 0,
            .class_names = NULL,
            .event_names = change_names,
            .draw = draw_tracking,
        },
};

/* the task without its arrays */
static sparc_task describe(int row) {
  const recipe *r = &recipes[row];
  return (sparc_task){
      .name = names[row],
      .title = r->title,
      .score_name = r->score_name,
      .target_kind = r->target_kind,
      .T = STEPS,
      .D = r->D,
      .O = r->O,
      .class_names = r->class_names,
      .event_names = r->event_names,
      .training = {.updates = r->updates,
                   .batch = 64,
                   .state_size = 128,
                   .learning_rate = 0.01,
                   .weight_decay = 0,
                   .max_gradient_norm = 1,
                   .init = SPARC_INIT_CONTROL,
                   .relu = r->relu},
      .train.count = TRAIN,
      .evaluation.count = EVALUATION,
  };
}

/* the row of a name, TASKS when there is none */
static int find_task(const char *name) {
  int row = 0;
  while (row < TASKS && strcmp(names[row], name) != 0) row++;
  return row;
}

/* ---- creation -------------------------------------------------------------------------------------- */

static arrays take_arrays(arena *a, const sparc_task *task, int count) {
  const size_t n = (size_t)count, steps = n * (size_t)task->T, outputs = steps * (size_t)task->O;
  arrays taken = {.x = arena_take(a, steps * (size_t)task->D, sizeof(float)),
                  .event = arena_take(a, steps, sizeof(int))};
  if (task->target_kind == SPARC_TARGET_CLASS)
    taken.label = arena_take(a, n, sizeof(int));
  else
    taken.target = arena_take(a, outputs, sizeof(float));
  return taken;
}

static arrays sequence_at(const sparc_task *task, const arrays *all, int n) {
  const size_t i = (size_t)n, first = i * (size_t)task->T;
  return (arrays){.x = all->x + first * (size_t)task->D,
                  .target = all->target ? all->target + first * (size_t)task->O : NULL,
                  .label = all->label ? all->label + i : NULL,
                  .event = all->event + first};
}

static void draw_part(const sparc_task *task, int row, const char *part_name, const arrays *all,
                      sparc_task_part *part) {
  char stream_name[64];
  snprintf(stream_name, sizeof stream_name, "%s.%s", recipes[row].stream, part_name);
  sparc_random r;
  sparc_random_init(&r, task_seed, "task", stream_name);
  for (int n = 0; n < part->count; n++) {
    const arrays sequence = sequence_at(task, all, n);
    recipes[row].draw(&r, &sequence);
  }
  part->x = all->x;
  part->target = all->target;
  part->label = all->label;
  part->event = all->event;
}

/* the structure and its arrays are one block; an arena over NULL measures it */
typedef struct layout {
  sparc_task *task;
  arrays train, evaluation;
} layout;

static layout take_task(arena *a, const sparc_task *task) {
  layout taken;
  taken.task = arena_take(a, 1, sizeof *taken.task);
  taken.train = take_arrays(a, task, task->train.count);
  taken.evaluation = take_arrays(a, task, task->evaluation.count);
  return taken;
}

const char *const *sparc_task_names(void) { return names; }

bool task_has_classes(const char *name) {
  const int row = find_task(name);
  return row < TASKS && recipes[row].target_kind == SPARC_TARGET_CLASS;
}

sparc_status sparc_task_create(const char *name, sparc_task **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the task");
  *out = NULL;
  if (!name) return fail(SPARC_INVALID, "name is NULL, expected the name of a task");
  const int row = find_task(name);
  if (row == TASKS) return unknown_name("task", name, names);
  const sparc_task described = describe(row);

  arena size = arena_measure();
  take_task(&size, &described);
  void *memory = sparc_alloc(size.used);
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of task '%s'", size.used, name);
  arena block = arena_over(memory, size.used);
  const layout made = take_task(&block, &described);
  *made.task = described;
  draw_part(&described, row, "train", &made.train, &made.task->train);
  draw_part(&described, row, "evaluation", &made.evaluation, &made.task->evaluation);
  *out = made.task;
  return SPARC_OK;
}

void sparc_task_free(sparc_task *task) { sparc_free(task); }

/* ---- scores ---------------------------------------------------------------------------------------- */

sparc_status error_rate(size_t count, size_t classes, const float *logits, const int *label, double *score) {
  if (count < 1) return fail(SPARC_INVALID, "count is 0, expected at least 1");
  if (classes < 1) return fail(SPARC_INVALID, "classes is 0, expected at least 1");
  if (!logits) return fail(SPARC_INVALID, "logits is NULL, expected %zu x %zu numbers", count, classes);
  if (!label) return fail(SPARC_INVALID, "label is NULL, expected %zu classes", count);
  if (!score) return fail(SPARC_INVALID, "score is NULL, expected where to put the error rate");

  size_t wrong = 0;
  for (size_t n = 0; n < count; n++, logits += classes) {
    if (label[n] < 0 || (size_t)label[n] >= classes)
      return fail(SPARC_INVALID, "label[%zu] is %d, expected 0 to %zu", n, label[n], classes - 1);
    size_t best = 0;
    for (size_t k = 0; k < classes; k++) {
      if (isnan(logits[k])) return fail(SPARC_NOT_FINITE, "logits[%zu][%zu] is NaN, expected a number", n, k);
      if (logits[k] > logits[best]) best = k;
    }
    wrong += best != (size_t)label[n];
  }
  *score = (double)wrong / (double)count;
  return SPARC_OK;
}

sparc_status nmse(size_t count, const float *prediction, const float *target, double *score) {
  if (!prediction) return fail(SPARC_INVALID, "prediction is NULL, expected %zu numbers", count);
  if (!target) return fail(SPARC_INVALID, "target is NULL, expected %zu numbers", count);
  if (!score) return fail(SPARC_INVALID, "score is NULL, expected where to put the NMSE");

  /* squares of floats and their sums stay far inside the range of double */
  double errors = 0, power = 0;
  for (size_t i = 0; i < count; i++) {
    const double expected = target[i], error = prediction[i] - expected;
    if (!isfinite(expected)) return fail(SPARC_NOT_FINITE, "target[%zu] is %g, expected a finite number", i, expected);
    if (!isfinite(error))
      return fail(SPARC_NOT_FINITE, "prediction[%zu] is %g, expected a finite number", i, (double)prediction[i]);
    errors += error * error;
    power += expected * expected;
  }
  if (power == 0)
    return fail(SPARC_INVALID, "target holds %zu numbers and none but 0, expected one that is not", count);
  *score = errors / power;
  return SPARC_OK;
}

sparc_status task_score(const sparc_task *task, const sparc_task_part *part, const float *output, double *score) {
  if (!task) return fail(SPARC_INVALID, "task is NULL, expected one from sparc_task_create");
  if (!part) return fail(SPARC_INVALID, "part is NULL, expected a part of task '%s'", task->name);
  if (!output) return fail(SPARC_INVALID, "output is NULL, expected the outputs for task '%s'", task->name);
  const size_t n = (size_t)part->count, outputs = (size_t)task->O;
  if (task->target_kind == SPARC_TARGET_CLASS) return error_rate(n, outputs, output, part->label, score);
  return nmse(n * (size_t)task->T * outputs, output, part->target, score);
}
