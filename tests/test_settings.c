/* SPDX-License-Identifier: MIT */
/* test_settings.c: tables of settings: ranges, unset values, precedence of sources, JSON; and the consistency of the
 * library's tables. */
#include "io/settings_rows.h"
#include "run/run_settings.h"
#include "scratch.h"
#include "train/train_settings.h"
#include "unit.h"

#include <jansson.h>
#include <math.h>

/* ---- a toy -------------------------------------------------------------------------------------- */

typedef struct toy {
  const char *subject, *name, *hidden;
  int count, colour, loud, size;
  long steps;
  uint64_t seed;
  double rate;
  uint64_t given;
} toy;

static const char *const colours[] = {"red", "green", "blue", NULL};

#define SETTING_STRUCT toy
static const setting rows[] = {
    {"subject", NULL, TEXT(subject), ROLE(SUBJECT)},
    {"name", NULL, TEXT(name), DEFAULT("Ann"), OVERRIDES("count")},
    {"count", NULL, INT(count, 1, 9), DEFAULTS("3", "5"), OVERRIDES("size")},
    {"size", NULL, INT(size, 1, 9), ROLE(SHORTHAND), OVERRIDES("count")},
    {"steps", NULL, LONG(steps, 0, 1e9), ROLE(FREE)},
    {"learning-rate", NULL, REAL(rate, 0, 2), DEFAULT("0.5"), OLD("rate")},
    {"seed", NULL, SEED(seed)},
    {"loud", NULL, FLAG(loud)},
    {"colour", NULL, CHOICE(colour, colours), DEFAULT("green")},
    {"hidden", NULL, TEXT(hidden), ROLE(COMMAND_LINE)},
};
static const settings_table table = SETTINGS_TABLE(rows);

static settings_binding binding_of(toy *t) {
  return (settings_binding){.part = {{&table, t, &t->given, "toy.", "hidden"}}};
}

static toy cleared(void) {
  toy t;
  const settings_binding binding = binding_of(&t);
  memset(&t, 0x5a, sizeof t);
  t.hidden = NULL; /* not in this binding, so it is not changed */
  settings_clear(&binding);
  return t;
}

static void expect_message(const char *part) {
  if (!strstr(sparc_error(), part)) fail_msg("the message is '%s', expected '%s' in it", sparc_error(), part);
}

/* applies one setting as the command line would */
static sparc_status give(toy *t, const char *name, const char *text) {
  const settings_binding binding = binding_of(t);
  settings_source source = {.prefix = "--"};
  const int i = settings_find(&binding, name);
  assert_true(i >= 0);
  source.text[i] = text;
  return settings_apply(&binding, &source);
}

/* ---- values ------------------------------------------------------------------------------------- */

static void test_nothing_is_given(void **state) {
  (void)state;
  toy t = cleared();
  const settings_binding binding = binding_of(&t);
  assert_null(t.subject);
  assert_int_equal(t.count, 0);
  assert_int_equal(t.steps, 0);
  assert_int_equal(t.colour, 0);
  assert_true(t.rate == 0);
  for (int i = 0; settings_row(&binding, i, NULL); i++)
    assert_int_equal(settings_is_given(&binding, i),
                     i == settings_find(&binding, "seed") || i == settings_find(&binding, "loud"));
  assert_int_equal(settings_check(&binding, false), SPARC_OK);
  assert_int_equal(settings_check(&binding, true), SPARC_INVALID);
  expect_message("toy.count is 0, expected a whole number from 1 to 9");
  settings_fill_defaults(&binding, DEFAULT_TASK);
  assert_string_equal(t.name, "Ann");
  assert_int_equal(t.count, 5);
  assert_int_equal(t.colour, 1);
  assert_true(t.rate == 0.5);
  t.size = 2;
  assert_int_equal(settings_check(&binding, true), SPARC_OK);
  t.rate = NAN;
  assert_int_equal(settings_check(&binding, false), SPARC_INVALID);
  expect_message("toy.rate is nan, expected a number from 0 to 2");
}

/* 0 is given by a source or a mark; other values always are */
static void test_given_zeros(void **state) {
  (void)state;
  toy t = cleared();
  const settings_binding binding = binding_of(&t);
  const int rate = settings_find(&binding, "learning-rate"), steps = settings_find(&binding, "steps");
  assert_int_equal(settings_find_member(&binding, &t.rate), rate);
  t.steps = 3;
  assert_true(settings_is_given(&binding, steps) && !settings_is_given(&binding, rate));
  assert_int_equal(settings_set(&binding, "toy.rate", "0"), SPARC_OK);
  settings_mark(&binding, settings_find_member(&binding, &t.colour));
  settings_mark(&binding, settings_find_member(&binding, &t.count)); /* 0 is not possible */
  assert_int_equal(settings_find_member(&binding, &t.given), -1);
  assert_false(settings_is_given(&binding, settings_find(&binding, "count")));
  t.size = 4;
  assert_int_equal(settings_set(&binding, "toy.count", "99"), SPARC_INVALID);
  assert_int_equal(t.size, 4); /* a refused value overrides nothing */
  settings_unset(&binding, settings_find(&binding, "size"));
  settings_fill_defaults(&binding, DEFAULT_DATA);
  assert_true(t.rate == 0 && t.colour == 0 && t.count == 3 && settings_is_given(&binding, rate));
  settings_unset(&binding, rate);
  assert_false(settings_is_given(&binding, rate));
  toy u = cleared();
  const settings_binding to = binding_of(&u);
  u.count = 7;
  settings_inherit(&to, &binding);
  assert_true(u.count == 7 && u.steps == 3 && settings_is_given(&to, settings_find(&to, "colour")));
  assert_false(settings_is_given(&to, rate));
}

static void test_values_and_refusals(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *message; /* NULL: fine */
  } cases[] = {
      {"count", "9", NULL},
      {"count", "10", "--count is '10', expected a whole number from 1 to 9"},
      {"count", "1.5", "--count is '1.5', expected a whole number"},
      {"count", "", "--count is ''"},
      {"steps", "1000000000", NULL},
      {"steps", "1e9", NULL},
      {"steps", "2.5E+5", NULL},
      {"steps", "0e99", NULL},
      {"steps", "1e", "--steps is '1e'"},
      {"steps", "1e-3", "--steps is '1e-3'"},
      {"steps", "1e30", "--steps is '1e30'"},
      {"steps", "2.55e1", "--steps is '2.55e1'"},
      {"steps", "99999999999999999999", "--steps is '99999999999999999999'"},
      {"rate", "2", NULL},
      {"rate", "2.1", "--learning-rate is '2.1', expected a number from 0 to 2"},
      {"rate", "nan", "--learning-rate is 'nan'"},
      {"rate", "0x", "--learning-rate is '0x'"},
      {"seed", "18446744073709551615", NULL},
      {"seed", "1e19", NULL},
      {"seed", "2e19", "--seed is '2e19'"},
      {"seed", "18446744073709551616", "--seed is '18446744073709551616', expected a whole number from 0"},
      {"seed", "-1", "--seed is '-1'"},
      {"loud", "true", NULL},
      {"loud", "1", "--loud is '1', expected true or false"},
      {"colour", "blue", NULL},
      {"colour", "pink", "--colour is 'pink', expected red, green or blue"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    toy t = cleared();
    const sparc_status status = give(&t, cases[i].name, cases[i].text);
    if (status != (cases[i].message ? SPARC_INVALID : SPARC_OK))
      fail_msg("%s = '%s' gives status %d: %s", cases[i].name, cases[i].text, status, sparc_error());
    if (cases[i].message) expect_message(cases[i].message);
  }
}

/* the exponent is exact: a double would not hold this one */
static void test_exponents_are_exact(void **state) {
  (void)state;
  toy t = cleared();
  assert_int_equal(give(&t, "seed", "900719925474099.3e1"), SPARC_OK);
  assert_true(t.seed == 9007199254740993u);
  assert_int_equal(give(&t, "steps", "2.5e5"), SPARC_OK);
  assert_int_equal(t.steps, 250000);
}

/* a source overrides settings of a lower one, but not its own */
static void test_precedence(void **state) {
  (void)state;
  toy t = cleared();
  assert_int_equal(give(&t, "count", "4"), SPARC_OK);
  assert_int_equal(give(&t, "name", "Ann"), SPARC_OK); /* the default: nothing changes */
  assert_int_equal(t.count, 4);
  assert_int_equal(give(&t, "name", "Bob"), SPARC_OK);
  assert_int_equal(t.count, 0);
  assert_int_equal(give(&t, "count", "4"), SPARC_OK);
  assert_int_equal(give(&t, "name", "Bob"), SPARC_OK);
  assert_int_equal(t.count, 4);
  assert_int_equal(give(&t, "size", "2"), SPARC_OK);
  assert_int_equal(t.count, 0);
  assert_int_equal(t.size, 2);

  const settings_binding binding = binding_of(&t);
  settings_source both = {.prefix = "--"};
  both.text[settings_find(&binding, "count")] = "1";
  both.text[settings_find(&binding, "size")] = "1";
  assert_int_equal(settings_apply(&binding, &both), SPARC_INVALID);
  expect_message("--count and --size exclude each other");
  assert_int_equal(settings_find(&binding, "hidden"), -1);
}

/* ---- files -------------------------------------------------------------------------------------- */

static sparc_status read_text(toy *t, const char *text) {
  const char *path = in_folder("settings.json");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  const settings_binding binding = binding_of(t);
  settings_source source = {.where = NULL};
  sparc_status status = settings_read_file(&binding, path, &source);
  if (status == SPARC_OK) status = settings_apply(&binding, &source);
  t->subject = t->name = NULL; /* they point into the file */
  settings_source_free(&source);
  return status;
}

static void test_files(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
    sparc_status status;
  } cases[] = {
      {"{\"count\": 2, \"rate\": 1.5, \"loud\": true, \"seed\": \"18446744073709551615\"}", "", SPARC_OK},
      {"{\"count\": 2, \"learning-rate\": 1.5, \"loud\": true, \"seed\": \"18446744073709551615\"}", "", SPARC_OK},
      {"{\"rate\": 1, \"learning-rate\": 1}", "rate and learning-rate are the same setting", SPARC_INVALID},
      {"{\"cuont\": 2}", "unknown key 'cuont'; did you mean 'count'?", SPARC_INVALID},
      {"{\"hidden\": 2}", "unknown key 'hidden'", SPARC_INVALID},
      {"{\"count\": [2]}", "count is neither a string nor a number", SPARC_INVALID},
      {"{\"count\": 12}", "settings.json: count is '12', expected a whole number from 1 to 9", SPARC_INVALID},
      {"{\"subject\": 2}", "subject is not a string", SPARC_INVALID},
      {"{\"count\": 2, \"count\": 3}", "duplicate", SPARC_FORMAT},
      {"[]", "expected one JSON object", SPARC_FORMAT},
      {"{", "settings.json:1: ", SPARC_FORMAT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    toy t = cleared();
    const sparc_status status = read_text(&t, cases[i].text);
    if (status != cases[i].status) fail_msg("%s gives status %d: %s", cases[i].text, status, sparc_error());
    if (status != SPARC_OK) expect_message(cases[i].message);
    if (status == SPARC_OK) assert_true(t.count == 2 && t.rate == 1.5 && t.loud && t.seed == UINT64_MAX);
  }
  toy t = cleared();
  const settings_binding binding = binding_of(&t);
  settings_source source = {.where = NULL};
  assert_int_equal(settings_read_file(&binding, in_folder("missing"), &source), SPARC_IO);
  settings_source_free(&source);
}

static void test_json_and_comparison(void **state) {
  (void)state;
  toy t = cleared(), u = t;
  const settings_binding binding = binding_of(&t), other = binding_of(&u);
  settings_fill_defaults(&binding, DEFAULT_DATA);
  t.subject = "waves\xff";
  t.size = 4;
  t.seed = UINT64_MAX;
  u = t;
  u.steps = 7;
  json_t *first = settings_json(&binding), *second = settings_json(&other);
  char *text = json_dumps(first, JSON_COMPACT);
  assert_string_equal(text,
                      "{\"subject\":\"waves\\\\xff\",\"name\":\"Ann\",\"count\":3,\"rate\":0.5,"
                      "\"seed\":\"18446744073709551615\",\"loud\":false,\"colour\":\"green\"}");
  free(text);
  assert_int_equal(json_integer_value(json_object_get(second, "steps")), 7);
  assert_int_equal(settings_compare(&binding, first, second, "there"), SPARC_OK); /* what is FREE may differ */
  json_object_set_new(second, "rate", json_real(0.25));
  assert_int_equal(settings_compare(&binding, first, second, "there"), SPARC_INVALID);
  expect_message("learning-rate is 0.5, but 0.25 in there; a resumed run keeps its settings");
  json_object_del(second, "rate");
  assert_int_equal(settings_compare(&binding, first, second, "there"), SPARC_INVALID);
  expect_message("learning-rate is 0.5, but not set in there");
  json_object_set_new(second, "learning-rate", json_real(0.5));
  assert_int_equal(settings_compare(&binding, first, second, "there"), SPARC_OK);
  json_t *canonical = settings_canonical_json(&binding, second);
  assert_true(json_real_value(json_object_get(canonical, "rate")) == 0.5);
  assert_null(json_object_get(canonical, "learning-rate"));
  json_decref(canonical);
  json_decref(first);
  json_decref(second);
}

/* ---- the library's tables ------------------------------------------------------------------------ */

/* every default is in range, names are unique, and overridden settings exist */
static void test_tables_are_consistent(void **state) {
  (void)state;
  sparc_run_config config = {.data = NULL};
  const settings_binding binding = run_binding(&config);
  const setting *s, *other;
  int count = 0;
  for (; (s = settings_row(&binding, count, NULL)); count++) {
    assert_non_null(s->name);
    for (int k = 0; k < count; k++) {
      other = settings_row(&binding, k, NULL);
      const char *old = setting_canonical_name(s), *other_old = setting_canonical_name(other);
      if (strcmp(s->name, other->name) == 0 || strcmp(old, other_old) == 0 || strcmp(s->name, other_old) == 0 ||
          strcmp(old, other->name) == 0)
        fail_msg("'%s' or '%s' is not unique", s->name, old);
    }
    for (int u = 0; u < DEFAULT_KINDS; u++) {
      union {
        const char *text;
        int whole;
        long large;
        uint64_t seed;
        double real;
      } value;
      if (s->defaults[u] && strcmp(s->defaults[u], TASK_SPECIFIC) != 0 &&
          !setting_parse(s, s->defaults[u], true, &value))
        fail_msg("the default '%s' of %s is not possible", s->defaults[u], s->name);
    }
    char names[128], *rest = names, *name;
    snprintf(names, sizeof names, "%s", s->overrides ? s->overrides : "");
    while ((name = strsep(&rest, " ")))
      if (*name && settings_find(&binding, name) < 0)
        fail_msg("%s overrides '%s', which does not exist", s->name, name);
  }
  assert_true(count > 20 && count + 8 <= MAX_SETTINGS);
}

static void test_paper_defaults(void **state) {
  (void)state;
  const sparc_train_config c = sparc_train_defaults(NULL);
  assert_int_equal(c.updates, 20000);
  assert_int_equal(c.warmup, 2000);
  assert_int_equal(c.batch, 32);
  assert_int_equal(c.cosine, 1);
  assert_true(c.learning_rate == 1.95e-3 && c.min_learning_rate == 1e-6 && c.recurrent_lr_scale == 0.25 &&
              c.weight_decay == 0.05 && c.max_gradient_norm == 0);
  sparc_task *task;
  assert_int_equal(sparc_task_create("tracking", &task), SPARC_OK);
  const sparc_train_config t = sparc_train_defaults(task);
  assert_int_equal(t.updates, 450);
  assert_int_equal(t.batch, 64);
  assert_int_equal(t.warmup, 0);
  assert_int_equal(t.cosine, 0);
  assert_true(t.learning_rate == 0.01 && t.min_learning_rate == 0 && t.recurrent_lr_scale == 1 && t.weight_decay == 0 &&
              t.max_gradient_norm == 1);
  sparc_task_free(task);
}

static void test_names_of_cells(void **state) {
  (void)state;
  static const struct {
    cell_request request;
    const char *nondefault, *name;
  } cases[] = {
      {{.kind = "sparc"}, "", "sparc"},
      {{.kind = "sparc", .variant = "full"}, "", "sparc"},
      {{.kind = "sparc", .variant = "neutral-gate"}, "variant=neutral-gate", "sparc-neutral-gate"},
      {{.kind = "sparc", .options = "kappa_r=0.50,variant=phase-only"},
       "variant=phase-only,kappa_r=0.5",
       "sparc-phase-only-kappa_r_0.5"},
      {{.kind = "rglru", .options = "ring=transition,block=128"},
       "block=128,ring=transition",
       "rglru-block_128-ring_transition"},
      {{.kind = "rglru", .options = "block=8,ring=base"}, "", "rglru"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char nondefault[CELL_OPTIONS_SIZE], name[64];
    assert_int_equal(cell_nondefault_options(&cases[i].request, nondefault), SPARC_OK);
    assert_string_equal(nondefault, cases[i].nondefault);
    options_file_name(cases[i].request.kind, nondefault, name, sizeof name);
    assert_string_equal(name, cases[i].name);
  }
  char nondefault[CELL_OPTIONS_SIZE];
  assert_int_equal(cell_nondefault_options(&(cell_request){.kind = "rtu", .variant = "full"}, nondefault),
                   SPARC_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_given),    cmocka_unit_test(test_given_zeros),
      cmocka_unit_test(test_values_and_refusals), cmocka_unit_test(test_exponents_are_exact),
      cmocka_unit_test(test_precedence),          cmocka_unit_test_teardown(test_files, empty_folder),
      cmocka_unit_test(test_json_and_comparison), cmocka_unit_test(test_tables_are_consistent),
      cmocka_unit_test(test_paper_defaults),      cmocka_unit_test(test_names_of_cells),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
