/* SPDX-License-Identifier: MIT */
/* test_gnuplot.c: no text is evaluated by gnuplot: checks of scripts and, if gnuplot is installed, runs of them. */
#include "lab/gnuplot.h"
#include "scratch.h"
#include "unit.h"

#include <dirent.h>

static const char *const hostile[] = {
    "`touch PWNED`",
    "\"`touch PWNED`\"",
    "' ; system('touch PWNED') ; '",
    "'; !touch PWNED\n",
    "\n!touch PWNED\n",
    "x'\nsystem(\"touch PWNED\")\n#",
    "$(touch PWNED)",
    "@run",
    "@{run}",
    "<touch PWNED",
    "< touch PWNED",
    "|touch PWNED",
    "| touch PWNED",
    "a\\",
    "a\\'`touch PWNED`",
    "'",
    "''",
    "'''`touch PWNED`",
    "'.system('touch PWNED').'",
    "'.system(\"touch PWNED\").'",
    "a'.system(\"touch PWNED\").'b",
    "''.system(\"touch PWNED\").''",
    "\\",
    "\\\\",
    "%s %n %d %c %",
    "{/:Bold {unbalanced",
    "}}",
    "{/Symbol a}^{b}_{c}&{d}~e{f}@g",
    "\033[31mred\033]0;title\007",
    "\xc2\x9b"
    "31m",
    "\xe2\x80\xaeltr",
    "\xff\xfe\x80",
    "cut \xe2\x82",
    "-e",
    "-",
    "$data",
    "x.csv' using (system(\"touch PWNED\"))",
    "",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static void test_text(void **state) {
  (void)state;
  assert_string_equal(gnuplot_text("it's `x`").text, "'it’s `x`'");
  assert_string_equal(gnuplot_text("a\nb\033[m\xff").text, "'a b?[m?'");
  assert_string_equal(gnuplot_tic("50 %").text, "'50 %%'");
  assert_string_equal(gnuplot_enhanced("a_b{'").text, "a\\_b\\{’");
  assert_string_equal(gnuplot_file("<touch x", ".csv").text, "'./<touch x.csv'");
}

/* truncated, but with closing quotes */
static void test_long_text(void **state) {
  (void)state;
  char text[5000];
  memset(text, '\'', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  const gnuplot_string s = gnuplot_text(text);
  const size_t length = strlen(s.text);
  assert_true(length > 300);
  assert_ptr_equal(strchr(s.text + 1, '\''), s.text + length - 1);
}

/* every position of text in a figure */
static void put_script(FILE *f, const char *name, const char *text) {
  const gnuplot_canvas canvas = {.name = name, .width = 300, .height = 200, .points = 10};
  const gnuplot_string data = gnuplot_file("data", ".csv"), t = gnuplot_text(text);
  gnuplot_begin(f, "sparc test", name);
  gnuplot_terminal(f, "svg", &canvas);
  fprintf(f, "run = '`touch PWNED`'\ndata = %s\n", data.text);
  fprintf(f, "set title %s\nset xlabel %s\nset ylabel %s\nset cblabel %s\n", t.text, t.text, t.text, t.text);
  fprintf(f, "set label 1 %s at 1,1\nset label 2 '{/:Bold %s}' at 1,2\n", t.text, gnuplot_enhanced(text).text);
  fprintf(f, "set xtics (%s 1, %s 2)\n", gnuplot_tic(text).text, gnuplot_tic(text).text);
  fprintf(f, "plot data using (strcol(1) eq %s ? $2 : 1):2 with lines title %s, \\\n", t.text, t.text);
  fprintf(f, "  %s using 2:2 with points title '%s'\n", data.text, gnuplot_enhanced(text).text);
}

/* no special characters of gnuplot outside single quotes, and no newline inside them */
static void check_script(const char *script, const char *text) {
  bool quoted = false;
  for (const char *c = script; *c; c++) {
    if (*c == '\'') quoted = !quoted;
    if (quoted ? *c == '\n' : strchr("\"`@!|<", *c) != NULL)
      fail_msg("the text '%s' is not confined to single quotes in\n%s", text, script);
    if ((unsigned char)*c < ' ' && *c != '\n') fail_msg("a control character is left of '%s'", text);
  }
  assert_false(quoted);
}

static void test_scripts(void **state) {
  (void)state;
  for (int i = 0; i < HOSTILE; i++) {
    char *script = NULL;
    size_t size;
    FILE *f = open_memstream(&script, &size);
    assert_non_null(f);
    put_script(f, "figure", hostile[i]);
    fclose(f);
    check_script(script, hostile[i]);
    free(script);
  }
}

/* one script with all texts, each in a figure that the next one replaces */
static void write_files(const char *name) {
  char file[64];
  snprintf(file, sizeof file, "%s.gp", name);
  FILE *f = fopen(in_folder(file), "w");
  assert_non_null(f);
  for (int i = 0; i < HOSTILE; i++) put_script(f, name, hostile[i]);
  fclose(f);
  f = fopen(in_folder("data.csv"), "w");
  assert_non_null(f);
  fputs("name,y\na,1\nb,2\n", f);
  fclose(f);
}

static void test_gnuplot(void **state) {
  (void)state;
  char *svg;
  write_files("-figure");
  const sparc_status status = gnuplot_draw(folder, "-figure", &svg);
  if (status == SPARC_UNSUPPORTED) skip();
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
  sparc_free(svg);
  int files = 0;
  DIR *found = opendir(folder);
  for (const struct dirent *entry; (entry = readdir(found));) files += entry->d_name[0] != '.';
  closedir(found);
  assert_int_equal(files, 3); /* the script, its data, the figure */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_long_text),
                                     cmocka_unit_test(test_scripts), cmocka_unit_test(test_gnuplot)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
