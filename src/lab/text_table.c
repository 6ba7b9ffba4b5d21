/* SPDX-License-Identifier: MIT */
/* text_table.c: one writer per format. Text may come from untrusted files, so each writer escapes the characters that
 * are special in its format. */
#include "lab/text_table.h"

#include "base/plain_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const table_format_names[] = {
    [FORMAT_TEXT] = "text", [FORMAT_MARKDOWN] = "markdown", [FORMAT_LATEX] = "latex",
    [FORMAT_CSV] = "csv",   [FORMAT_JSON] = "json",         NULL};

bool text_table_create(int rows, int groups, int columns, text_table *out) {
  *out = (text_table){.corner = "", .note = "", .rows = rows, .groups = groups, .columns = columns};
  for (int c = 0; c < TEXT_TABLE_MAX_COLUMNS; c++) out->column[c] = "";
  out->row = calloc((size_t)rows + 1, sizeof *out->row);
  out->group = calloc((size_t)groups + 1, sizeof *out->group);
  out->cell = calloc((size_t)rows * (size_t)groups * (size_t)columns + 1, sizeof *out->cell);
  return out->row && out->group && out->cell;
}

void text_table_free(text_table *s) {
  free(s->row);
  free(s->group);
  free(s->cell);
  *s = (text_table){.rows = 0};
}

text_table_cell *text_table_at(const text_table *s, int row, int group, int column) {
  return &s->cell[((size_t)row * (size_t)s->groups + (size_t)group) * (size_t)s->columns + (size_t)column];
}

/* ---- numbers ------------------------------------------------------------------------------------- */

void text_table_number(double value, int digits, char *text, size_t size) {
  if (digits < 0)
    snprintf(text, size, "%.3g", value);
  else
    snprintf(text, size, "%.*f", digits, value);
}

void text_table_mean_stddev(double mean, double stddev, int digits, char text[TEXT_TABLE_CELL]) {
  char first[32], second[32];
  text_table_number(mean, digits, first, sizeof first);
  text_table_number(stddev, digits, second, sizeof second);
  snprintf(text, TEXT_TABLE_CELL, isnan(stddev) ? "%s" : "%s ± %s", first, second);
}

/* ---- escaping -------------------------------------------------------------------------------------- */

/* special characters of a format, and what is written around them */
typedef struct escape {
  const char *characters, *before, *after; /* after NULL: `before` takes the character's place */
} escape;

/* writes the first character of text and returns its length in bytes; the list ends with NULL */
static size_t put_escaped_character(FILE *f, const char *text, const escape *e) {
  while (e->characters && !strchr(e->characters, *text)) e++;
  if (!e->characters) return (size_t)put_plain_character(f, text);
  fputs(e->before, f);
  if (e->after) fprintf(f, "%c%s", *text, e->after);
  return 1;
}

void csv_put_text(FILE *stream, const char *text) {
  static const escape escapes[] = {{"\"", "\"", ""}, {NULL, NULL, NULL}};
  putc('"', stream);
  while (*text) text += put_escaped_character(stream, text, escapes);
  putc('"', stream);
}

void csv_put_number(FILE *stream, bool there, double value) {
  putc(',', stream);
  if (there && isfinite(value)) fprintf(stream, "%.9g", value);
}

/* ---- plain text: as many groups side by side as fit into a line -------------------------------------- */

enum { LINE = 118, GAP = 2 };

static int larger(int a, int b) { return a > b ? a : b; }

static bool has_marks(const text_table *s) {
  for (int i = 0; i < s->rows * s->groups * s->columns; i++)
    if (s->cell[i].mark != MARK_NONE) return true;
  return false;
}

/* if some cells have a mark after them, the others get a blank */
static void marked(const text_table *s, const text_table_cell *c, char text[TEXT_TABLE_CELL + 4]) {
  static const char *const signs[] = {[MARK_NONE] = " ", [MARK_BEST] = "*", [MARK_SECOND] = "+"};
  snprintf(text, TEXT_TABLE_CELL + 4, "%s%s", c->text, has_marks(s) ? signs[c->mark] : "");
}

static int column_width(const text_table *s, int group, int column) {
  char text[TEXT_TABLE_CELL + 4];
  int width = plain_columns(s->column[column]) + has_marks(s);
  for (int r = 0; r < s->rows; r++) {
    marked(s, text_table_at(s, r, group, column), text);
    width = larger(width, plain_columns(text));
  }
  return width;
}

/* width of the columns, without the extra width of a long title */
static int columns_width(const text_table *s, int group) {
  int width = 0;
  for (int c = 0; c < s->columns; c++) width += GAP + column_width(s, group, c);
  return width;
}

static int group_width(const text_table *s, int group) {
  return larger(columns_width(s, group), GAP + plain_columns(s->group[group]));
}

static void put(FILE *f, const char *text, int width, bool right) {
  const int pad = larger(0, width - plain_columns(text));
  fprintf(f, "%*s", right ? pad : 0, "");
  put_plain(f, text);
  fprintf(f, "%*s", right ? 0 : pad, "");
}

static int block_end(const text_table *s, int first, int titles) {
  int width = titles, group = first;
  while (group < s->groups && (group == first || width + group_width(s, group) <= LINE))
    width += group_width(s, group++);
  return group;
}

/* the first column of a group is widened to fit the group's title */
static int place_width(const text_table *s, int group, int column) {
  const int spare = group_width(s, group) - columns_width(s, group);
  return GAP + column_width(s, group, column) + (column == 0 ? spare : 0);
}

static void put_heading(const text_table *s, int first, int end, int titles, FILE *f) {
  put(f, s->corner, titles, false);
  for (int g = first; g < end; g++) put(f, s->group[g], group_width(s, g), true);
  putc('\n', f);
  if (s->columns == 1) return;
  put(f, "", titles, false);
  for (int g = first; g < end; g++)
    for (int c = 0; c < s->columns; c++) {
      char heading[TEXT_TABLE_TITLE];
      snprintf(heading, sizeof heading, "%s%s", s->column[c], has_marks(s) ? " " : "");
      put(f, heading, place_width(s, g, c), true);
    }
  putc('\n', f);
}

static void put_row(const text_table *s, int row, int first, int end, int titles, FILE *f) {
  char text[TEXT_TABLE_CELL + 4];
  put(f, s->row[row], titles, false);
  for (int g = first; g < end; g++)
    for (int c = 0; c < s->columns; c++) {
      marked(s, text_table_at(s, row, g, c), text);
      put(f, text, place_width(s, g, c), true);
    }
  putc('\n', f);
}

/* wrapped between words */
static void put_note(const char *note, FILE *f) {
  char *text = strdup(note), *rest = text;
  int column = 0;
  if (text) make_plain(text);
  for (char *word; (word = strsep(&rest, " ")) != NULL;) {
    const int width = plain_columns(word);
    if (column && column + 1 + width > LINE) {
      putc('\n', f);
      column = 0;
    }
    fprintf(f, "%s%s", column ? " " : "", word);
    column += width + (column > 0);
  }
  putc('\n', f);
  free(text);
}

static void write_text(const text_table *s, FILE *f) {
  int titles = plain_columns(s->corner);
  for (int r = 0; r < s->rows; r++) titles = larger(titles, plain_columns(s->row[r]));
  put(f, s->title, 0, false);
  putc('\n', f);
  for (int first = 0, end; first < s->groups; first = end) {
    end = block_end(s, first, titles);
    putc('\n', f);
    put_heading(s, first, end, titles, f);
    for (int r = 0; r < s->rows; r++) put_row(s, r, first, end, titles, f);
  }
  if (!*s->note) return;
  putc('\n', f);
  put_note(s->note, f);
  if (has_marks(s)) fprintf(f, "* best, + second best.\n");
}

/* ---- Markdown ------------------------------------------------------------------------------------ */

static void put_markdown(FILE *f, const char *text) {
  static const escape escapes[] = {{"|*_`~[]<\\", "\\", ""}, {NULL, NULL, NULL}};
  while (*text) text += put_escaped_character(f, text, escapes);
}

/* whether a column, other than the first of its group, has no text in any row; Markdown leaves it out */
static bool is_empty(const text_table *s, int group, int column) {
  if (column == 0) return false;
  for (int r = 0; r < s->rows; r++)
    if (*text_table_at(s, r, group, column)->text) return false;
  return true;
}

static void put_markdown_heading(const text_table *s, FILE *f) {
  for (int g = 0; g < s->groups; g++) {
    int shown = 0;
    for (int c = 0; c < s->columns; c++) shown += !is_empty(s, g, c);
    for (int c = 0; c < s->columns; c++) {
      if (is_empty(s, g, c)) continue;
      putc(' ', f);
      put_markdown(f, s->group[g]);
      fprintf(f, "%s%s |", shown > 1 ? ", " : "", shown > 1 ? s->column[c] : "");
    }
  }
  fprintf(f, "\n|:---|");
  for (int i = 0; i < s->groups * s->columns; i++)
    if (!is_empty(s, i / s->columns, i % s->columns)) fprintf(f, "---:|");
  putc('\n', f);
}

static void write_markdown(const text_table *s, FILE *f) {
  static const char *const around[] = {[MARK_NONE] = "", [MARK_BEST] = "**", [MARK_SECOND] = "*"};
  fprintf(f, "### ");
  put_markdown(f, s->title);
  fprintf(f, "\n\n| ");
  put_markdown(f, s->corner);
  fprintf(f, " |");
  put_markdown_heading(s, f);
  for (int r = 0; r < s->rows; r++) {
    fprintf(f, "| ");
    put_markdown(f, s->row[r]);
    fprintf(f, " |");
    for (int i = 0; i < s->groups * s->columns; i++) {
      if (is_empty(s, i / s->columns, i % s->columns)) continue;
      const text_table_cell *cell = text_table_at(s, r, i / s->columns, i % s->columns);
      fprintf(f, " %s", around[cell->mark]);
      put_markdown(f, cell->text);
      fprintf(f, "%s |", around[cell->mark]);
    }
    putc('\n', f);
  }
  if (!*s->note) return;
  putc('\n', f);
  put_markdown(f, s->note);
  fputs(has_marks(s) ? " Bold: best; italic: second best.\n" : "\n", f);
}

/* ---- LaTeX: booktabs ----------------------------------------------------------------------------- */

static void put_latex(FILE *f, const char *text) {
  /* at the start of a line, brackets and a star would be arguments of the preceding \\ */
  static const escape escapes[] = {{"|<>", "$", "$"},
                                   {"&%$#_{}", "\\", ""},
                                   {"[]*\"", "{", "}"},
                                   {"\\", "\\textbackslash{}", NULL},
                                   {"^", "\\textasciicircum{}", NULL},
                                   {"~", "\\textasciitilde{}", NULL},
                                   {NULL, NULL, NULL}};
  while (*text) {
    if (strncmp(text, "±", strlen("±")) == 0) {
      fputs("$\\pm$", f);
      text += strlen("±");
    } else if (strncmp(text, "†", strlen("†")) == 0) {
      fputs("$^\\dagger$", f);
      text += strlen("†");
    } else if (*text == '-' && text[1] >= '0' && text[1] <= '9') {
      fputs("$-$", f);
      text++;
    } else {
      text += put_escaped_character(f, text, escapes);
    }
  }
}

static void put_latex_cell(FILE *f, const text_table_cell *c) {
  static const char *const before[] = {[MARK_NONE] = "", [MARK_BEST] = "\\textbf{", [MARK_SECOND] = "\\underline{"};
  fputs(before[c->mark], f);
  put_latex(f, c->text);
  if (c->mark) putc('}', f);
}

static void put_latex_headings(const text_table *s, FILE *f) {
  put_latex(f, s->corner);
  for (int g = 0; g < s->groups; g++) {
    if (s->columns > 1)
      fprintf(f, " & \\multicolumn{%d}{c}{", s->columns);
    else
      fputs(" & ", f);
    put_latex(f, s->group[g]);
    if (s->columns > 1) putc('}', f);
  }
  fprintf(f, "\\\\\n");
  if (s->columns == 1) return;
  for (int g = 0; g < s->groups; g++)
    fprintf(f, "\\cmidrule(lr){%d-%d}%s", 2 + g * s->columns, 1 + (g + 1) * s->columns, g + 1 < s->groups ? " " : "\n");
  for (int i = 0; i < s->groups * s->columns; i++) fprintf(f, " & %s", s->column[i % s->columns]);
  fprintf(f, "\\\\\n");
}

static void write_latex(const text_table *s, FILE *f) {
  fprintf(f, "\\begin{table}\n\\centering\n\\caption{");
  put_latex(f, s->title);
  fprintf(f, ".}\n");
  if (*s->label) fprintf(f, "\\label{tab:%s}\n", s->label);
  fprintf(f, "\\begin{tabular}{@{}l*{%d}{r}@{}}\n\\toprule\n", s->groups * s->columns);
  put_latex_headings(s, f);
  fprintf(f, "\\midrule\n");
  for (int r = 0; r < s->rows; r++) {
    put_latex(f, s->row[r]);
    for (int i = 0; i < s->groups * s->columns; i++) {
      fputs(" & ", f);
      put_latex_cell(f, text_table_at(s, r, i / s->columns, i % s->columns));
    }
    fprintf(f, "\\\\\n");
  }
  fprintf(f, "\\bottomrule\n\\end{tabular}\n");
  if (*s->note) {
    fprintf(f, "\\par\\smallskip{\\footnotesize ");
    put_latex(f, s->note);
    fputs(has_marks(s) ? " Bold: best; underlined: second best.}\n" : "}\n", f);
  }
  fprintf(f, "\\end{table}\n");
}

void text_table_write(const text_table *s, table_format format, FILE *stream) {
  static void (*const writers[])(const text_table *, FILE *) = {
      [FORMAT_TEXT] = write_text, [FORMAT_MARKDOWN] = write_markdown, [FORMAT_LATEX] = write_latex};
  writers[format](s, stream);
}
