/* SPDX-License-Identifier: MIT */
/* test_claim.c: claims among processes: one owner, takeover from dead owners, rejection of outdated claims. */
#include "lab/grid/claim.h"
#include "scratch.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int entries(void) {
  DIR *list = opendir(folder);
  int count = 0;
  for (struct dirent *e; (e = readdir(list));) count += e->d_name[0] != '.';
  closedir(list);
  return count;
}

static void write_claim(long number, const char *text, time_t seconds_ago) {
  char name[32];
  snprintf(name, sizeof name, "claim.%ld", number);
  FILE *file = fopen(in_folder(name), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  const struct timespec then = {.tv_sec = time(NULL) - seconds_ago}, times[2] = {then, then};
  assert_int_equal(utimensat(AT_FDCWD, in_folder(name), times, 0), 0);
}

static bool take(claim *c) {
  bool taken;
  assert_int_equal(claim_take(folder, c, &taken), SPARC_OK);
  return taken;
}

static bool is_held(claim_holder *holder) {
  bool held;
  assert_int_equal(claim_inspect(folder, holder, &held), SPARC_OK);
  return held;
}

static void test_life(void **state) {
  (void)state;
  claim mine, other;
  claim_holder holder;
  assert_false(is_held(&holder));
  assert_true(take(&mine));
  assert_true(is_held(&holder));
  assert_int_equal(holder.pid, getpid());
  assert_false(take(&other));
  assert_true(claim_renew(&mine));
  claim_return(&mine);
  assert_false(is_held(&holder));
  assert_true(take(&other)); /* a returned claim can be taken, with a new number */
  assert_int_equal(other.number, 2);
  assert_int_equal(entries(), 1);
  claim_drop(&other);
  assert_int_equal(entries(), 0);
}

static pid_t take_in_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    claim c;
    bool taken;
    _exit(claim_take(folder, &c, &taken) == SPARC_OK && taken ? 0 : 1);
  }
  return child;
}

/* the claim of a process that no longer exists */
static void test_dead_process(void **state) {
  (void)state;
  int status;
  waitpid(take_in_child(), &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  claim_holder holder;
  assert_false(is_held(&holder));
  claim mine;
  assert_true(take(&mine));
}

/* a zombie counts as dead */
static void test_zombie(void **state) {
  (void)state;
  const pid_t child = take_in_child();
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
  claim mine;
  assert_true(take(&mine));
  waitpid(child, NULL, 0);
}

/* a reused process id is another process */
static void test_used_again(void **state) {
  (void)state;
  char host[128] = "", text[256];
  gethostname(host, sizeof host - 1);
  snprintf(text, sizeof text, "{\"host\": \"%s\", \"pid\": %ld, \"start\": 1}", host, (long)getppid());
  write_claim(4, text, 0);
  claim mine;
  assert_true(take(&mine));
  assert_int_equal(mine.number, 5);
}

static void test_other_machine(void **state) {
  (void)state;
  static const char elsewhere[] = "{\"host\": \"elsewhere.example\", \"pid\": 1, \"start\": 1}";
  claim mine;
  claim_holder holder;
  write_claim(1, elsewhere, CLAIM_EXPIRY / 2);
  assert_true(is_held(&holder));
  assert_string_equal(holder.host, "elsewhere.example");
  assert_false(take(&mine));
  write_claim(1, elsewhere, CLAIM_EXPIRY + 5);
  assert_false(is_held(&holder));
  assert_true(take(&mine));
}

/* an owner whose claim expired and was taken over cannot renew it */
static void test_lost_race(void **state) {
  (void)state;
  claim mine;
  assert_true(take(&mine));
  write_claim(mine.number + 1, "{\"host\": \"elsewhere.example\", \"pid\": 1, \"start\": 1}", 0);
  assert_false(claim_renew(&mine));
}

static void test_garbage(void **state) {
  (void)state;
  claim mine;
  write_claim(1, "", 0);
  write_claim(2, "not JSON", 0);
  write_claim(3, "{\"host\": 7, \"pid\": \"x\"}", 0);
  assert_true(take(&mine));
  assert_int_equal(mine.number, 4);
  assert_int_equal(claim_take(in_folder("absent"), &mine, &(bool){false}), SPARC_IO);
}

/* the largest number has no successor; no files are left */
static void test_numbers_end(void **state) {
  (void)state;
  claim mine;
  bool taken = true;
  write_claim(LONG_MAX - 1, "", 0);
  assert_true(take(&mine));
  assert_int_equal(mine.number, LONG_MAX);
  const int before = entries();
  assert_int_equal(claim_take(folder, &mine, &taken), SPARC_INVALID);
  assert_false(taken);
  assert_non_null(strstr(sparc_error(), "remove claim.*"));
  assert_int_equal(entries(), before);
}

/* many processes, one folder: never two owners at once */
static void test_contest(void **state) {
  (void)state;
  enum { PROCESSES = 8, TURNS = 40 };
  pid_t child[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    child[i] = fork();
    if (child[i] != 0) continue;
    int won = 0;
    while (won < TURNS) {
      claim c;
      bool taken = false;
      if (claim_take(folder, &c, &taken) != SPARC_OK) _exit(2);
      if (!taken) continue;
      /* O_EXCL finds a second holder */
      const int mark = open(in_folder("inside"), O_CREAT | O_EXCL | O_WRONLY, 0666);
      if (mark < 0) _exit(1);
      close(mark);
      usleep(100);
      if (unlink(in_folder("inside")) != 0) _exit(3);
      claim_return(&c);
      won++;
    }
    _exit(0);
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    waitpid(child[i], &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      fail_msg("process %d ended with status %d; 1: two had the claim at once", i, status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_life, empty_folder),
                                     cmocka_unit_test_teardown(test_dead_process, empty_folder),
                                     cmocka_unit_test_teardown(test_zombie, empty_folder),
                                     cmocka_unit_test_teardown(test_used_again, empty_folder),
                                     cmocka_unit_test_teardown(test_other_machine, empty_folder),
                                     cmocka_unit_test_teardown(test_lost_race, empty_folder),
                                     cmocka_unit_test_teardown(test_garbage, empty_folder),
                                     cmocka_unit_test_teardown(test_numbers_end, empty_folder),
                                     cmocka_unit_test_teardown(test_contest, empty_folder)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
