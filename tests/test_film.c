/* SPDX-License-Identifier: MIT */
/* test_film.c: filmstrip and table of a toy environment whose every number is known. */
#include "envs/film.h"
#include "scratch.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* ---- a ball that rolls a tenth of its action per step, and a rod on it; ten steps ------------------------ */

typedef struct ball {
  double x;
  int steps;
} ball;

static sparc_status ball_open(const char *options, sparc_env_shape *shape, void **model) {
  (void)options, (void)model;
  *shape = (sparc_env_shape){.observation = 2, .action = 1, .horizon = 10};
  return SPARC_OK;
}

static size_t ball_bytes(const void *model) {
  (void)model;
  return sizeof(ball);
}

static void ball_observe(const ball *b, float *observation) {
  observation[0] = (float)b->x;
  observation[1] = (float)b->steps;
}

static void ball_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)model, (void)scratch, (void)random;
  *(ball *)state = (ball){0};
  ball_observe(state, observation);
}

static void ball_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                      float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)random, (void)done;
  ball *b = state;
  b->x += 0.1 * (double)action[0];
  b->steps++;
  *reward = 0.5F;
  ball_observe(b, observation);
}

static int ball_segments(const void *model, void *scratch, const void *state, double (*segment)[5], int most) {
  (void)model, (void)scratch;
  const double x = ((const ball *)state)->x;
  const double parts[2][5] = {{x, 0.25, x, 0.25, 0.25}, {x, 0.5, x, 1, 0.05}};
  const int count = most < 2 ? most : 2;
  memcpy(segment, parts, (size_t)count * sizeof *parts);
  return count;
}

static const sparc_env_kind rolling = {.version = SPARC_ENV_VERSION,
                                       .name = "ball",
                                       .summary = "rolls",
                                       .open = ball_open,
                                       .state_bytes = ball_bytes,
                                       .reset = ball_reset,
                                       .step = ball_step,
                                       .segments = ball_segments};

static film *play(const sparc_env_kind *kind) {
  sparc_envs *envs;
  film *f;
  float observation[2], action[1], reward, mask = 1;
  if (sparc_envs_create(&(sparc_envs_config){.kind = kind, .n = 1, .threads = 1}, &envs) != SPARC_OK)
    fail_msg("%s", sparc_error());
  assert_int_equal(film_create(envs, &f), SPARC_OK);
  assert_int_equal(sparc_envs_reset(envs, observation), SPARC_OK);
  for (int t = 0; mask != 0; t++) {
    action[0] = (float)t;
    assert_int_equal(film_begin_step(f, envs, 0, observation), SPARC_OK);
    assert_int_equal(sparc_envs_step(envs, action, observation, &reward, &mask, NULL, NULL), SPARC_OK);
    film_end_step(f, action, reward);
  }
  sparc_envs_free(envs);
  return f;
}

static char *read_all(const char *path) {
  static char text[65536];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static int occurrences(const char *text, const char *word) {
  int count = 0;
  for (; (text = strstr(text, word)) != NULL; text++) count++;
  return count;
}

static void test_table(void **state) {
  (void)state;
  film *f = play(&rolling);
  assert_int_equal(film_write_csv(f, in_folder("ball.csv")), SPARC_OK);
  film_free(f);
  const char *text = read_all(in_folder("ball.csv"));
  assert_int_equal(occurrences(text, "\n"), 11);
  const char *head =
      "step,reward,return,x,z,action0,observation0,observation1\n"
      "0,0.5,0.5,0,0.25,0,0,0\n"
      "1,0.5,1,0,0.25,1,0,1\n"
      "2,0.5,1.5,0.1,0.25,2,0.100000001,2\n";
  assert_memory_equal(text, head, strlen(head));
  assert_non_null(strstr(text, "\n9,0.5,5,3.6,0.25,9,"));
}

static void test_strip(void **state) {
  (void)state;
  film *f = play(&rolling);
  assert_int_equal(film_write_svg(f, in_folder("ball.svg"), "<a> & b"), SPARC_OK);
  assert_int_equal(film_write_svg(f, in_folder("no/such/folder.svg"), ""), SPARC_IO);
  film_free(f);
  const char *text = read_all(in_folder("ball.svg"));
  assert_non_null(strstr(text, "&lt;a&gt; &amp; b</text>"));
  assert_int_equal(occurrences(text, "<svg "), 1 + 8); /* panels inside the picture */
  assert_int_equal(occurrences(text, "<svg "), occurrences(text, "</svg>"));
  assert_int_equal(occurrences(text, "stroke=\"#22303a\""), 2 * 8); /* rims */
  assert_non_null(strstr(text, ">step 0, return 0<"));
  assert_non_null(strstr(text, ">step 9, return 4.5<"));
  /* the ball lies on the ground, and both parts are in the middle of their panel, wherever they are in the world */
  double ground, x[2], y[2], width;
  int parts = 0;
  assert_int_equal(sscanf(strstr(text, "<path d=\"M0 "), "<path d=\"M0 %lfH", &ground), 1);
  for (const char *at = text; (at = strstr(at, "<path d=\"M84.00 ")) != NULL; at++) {
    if (sscanf(at, "<path d=\"M%lf %lfL%lf %lf\" stroke-width=\"%lf\"", &x[0], &y[0], &x[1], &y[1], &width) != 5)
      continue;
    assert_true(x[1] >= 84 && x[1] < 84.1);
    if (parts++ % 4 == 0)
      assert_true(y[0] == y[1] && y[0] + width / 2 > ground - 0.02 && y[0] + width / 2 < ground + 0.02);
  }
  assert_int_equal(parts, 2 * 2 * 8); /* rim and filling of two parts */
}

static void test_nothing_to_draw(void **state) {
  (void)state;
  sparc_env_kind blind = rolling;
  blind.segments = NULL;
  film *f = play(&blind);
  assert_int_equal(film_write_svg(f, in_folder("blind.svg"), ""), SPARC_UNSUPPORTED);
  assert_non_null(strstr(sparc_error(), "ball"));
  assert_int_equal(film_write_csv(f, in_folder("blind.csv")), SPARC_OK);
  film_free(f);
  assert_memory_equal(read_all(in_folder("blind.csv")), "step,reward,return,action0,", 27);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_strip),
                                     cmocka_unit_test(test_nothing_to_draw)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
