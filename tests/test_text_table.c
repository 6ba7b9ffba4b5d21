/* SPDX-License-Identifier: MIT */
/* test_text_table.c: exact output of a small table in every text format, and escaping of special characters. */
#include "lab/text_table.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fill(text_table *s) {
  assert_true(text_table_create(2, 1, 2, s));
  snprintf(s->title, TEXT_TABLE_TITLE, "Errors_1");
  snprintf(s->label, sizeof s->label, "errors-1");
  s->corner = "Cell";
  s->note = "A note & more.";
  snprintf(s->group[0], TEXT_TABLE_TITLE, "Order: %%");
  s->column[0] = "here";
  s->column[1] = "paper";
  snprintf(s->row[0], TEXT_TABLE_TITLE, "A|B");
  snprintf(s->row[1], TEXT_TABLE_TITLE, "C");
  text_table_mean_stddev(1.25, 0.5, 2, text_table_at(s, 0, 0, 0)->text);
  text_table_mean_stddev(-3, NAN, 1, text_table_at(s, 1, 0, 0)->text);
  text_table_number(1234.5, -1, text_table_at(s, 1, 0, 1)->text, TEXT_TABLE_CELL);
  strcat(text_table_at(s, 1, 0, 1)->text, "†");
  text_table_at(s, 0, 0, 0)->mark = MARK_SECOND;
  text_table_at(s, 1, 0, 0)->mark = MARK_BEST;
}

static void expect(table_format format, const char *want) {
  char *text = NULL;
  size_t size = 0;
  text_table s;
  fill(&s);
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  text_table_write(&s, format, stream);
  fclose(stream);
  if (strcmp(text, want) != 0) fail_msg("%s is\n%s\nexpected\n%s", table_format_names[format], text, want);
  free(text);
  text_table_free(&s);
}

static void test_formats(void **state) {
  (void)state;
  expect(FORMAT_TEXT,
         "Errors_1\n\n"
         "Cell                  Order: %\n"
         "             here       paper \n"
         "A|B   1.25 ± 0.50+            \n"
         "C            -3.0*  1.23e+03† \n\n"
         "A note & more.\n"
         "* best, + second best.\n");
  expect(FORMAT_MARKDOWN,
         "### Errors\\_1\n\n"
         "| Cell | Order: %, here | Order: %, paper |\n"
         "|:---|---:|---:|\n"
         "| A\\|B | *1.25 ± 0.50* |  |\n"
         "| C | **-3.0** | 1.23e+03† |\n\n"
         "A note & more. Bold: best; italic: second best.\n");
  expect(FORMAT_LATEX,
         "\\begin{table}\n\\centering\n\\caption{Errors\\_1.}\n"
         "\\label{tab:"
         "errors-1}\n\\begin{tabular}{@{}l*{2}{r}@{}}\n\\toprule\n"
         "Cell & \\multicolumn{2}{c}{Order: \\%}\\\\\n\\cmidrule(lr){2-3}\n"
         " & here & paper\\\\\n\\midrule\n"
         "A$|$B & \\underline{1.25 $\\pm$ 0.50} & \\\\\n"
         "C & \\textbf{$-$3.0} & 1.23e+03$^\\dagger$\\\\\n"
         "\\bottomrule\n\\end{tabular}\n"
         "\\par\\smallskip{\\footnotesize A note \\& more. Bold: best; underlined: second best.}\n\\end{table}\n");
}

/* Markdown leaves out a column that has no text, and then the heading of the only column of a group */
static void test_empty_columns(void **state) {
  (void)state;
  char *text = NULL;
  size_t size = 0;
  text_table s;
  assert_true(text_table_create(1, 2, 2, &s));
  snprintf(s.title, TEXT_TABLE_TITLE, "T");
  snprintf(s.row[0], TEXT_TABLE_TITLE, "A");
  s.column[0] = "here";
  s.column[1] = "paper";
  for (int g = 0; g < 2; g++) {
    snprintf(s.group[g], TEXT_TABLE_TITLE, "G%d", g);
    text_table_number(g, 0, text_table_at(&s, 0, g, 0)->text, TEXT_TABLE_CELL);
  }
  text_table_number(5, 0, text_table_at(&s, 0, 1, 1)->text, TEXT_TABLE_CELL);
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  text_table_write(&s, FORMAT_MARKDOWN, stream);
  fclose(stream);
  assert_string_equal(text, "### T\n\n|  | G0 | G1, here | G1, paper |\n|:---|---:|---:|---:|\n| A | 0 | 1 | 5 |\n");
  free(text);
  text_table_free(&s);
}

/* untrusted text in every position and format */
static void test_hostile(void **state) {
  (void)state;
  static const char text[] = "a\033[31m|\n\\input{x}[*~^\"<\xff";
  static const struct {
    table_format format;
    const char *want; /* of that text */
  } cases[] = {
      {FORMAT_TEXT, "a?[31m| \\input{x}[*~^\"<?"},
      {FORMAT_MARKDOWN, "a?\\[31m\\| \\\\input{x}\\[\\*\\~^\"\\<?"},
      {FORMAT_LATEX, "a?{[}31m$|$ \\textbackslash{}input\\{x\\}{[}{*}\\textasciitilde{}\\textasciicircum{}{\"}$<$?"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    text_table s;
    assert_true(text_table_create(1, 1, 1, &s));
    snprintf(s.title, TEXT_TABLE_TITLE, "%s", text);
    snprintf(s.row[0], TEXT_TABLE_TITLE, "%s", text);
    snprintf(s.group[0], TEXT_TABLE_TITLE, "%s", text);
    snprintf(text_table_at(&s, 0, 0, 0)->text, TEXT_TABLE_CELL, "%s", text);
    s.corner = s.note = text;
    char *written = NULL;
    size_t size = 0, found = 0;
    FILE *stream = open_memstream(&written, &size);
    assert_non_null(stream);
    text_table_write(&s, cases[i].format, stream);
    fclose(stream);
    for (const char *at = written; (at = strstr(at, cases[i].want)); at++) found++;
    if (found != 6) fail_msg("%zu of 6 texts are as expected in\n%s", found, written);
    free(written);
    text_table_free(&s);
  }
}

static void test_csv(void **state) {
  (void)state;
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  csv_put_text(stream, "a \"b\", c\033[m");
  csv_put_number(stream, true, 0.125);
  csv_put_number(stream, false, 1);
  csv_put_number(stream, true, NAN);
  fclose(stream);
  assert_string_equal(text, "\"a \"\"b\"\", c?[m\",0.125,,");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats), cmocka_unit_test(test_empty_columns),
                                     cmocka_unit_test(test_hostile), cmocka_unit_test(test_csv)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
