/* SPDX-License-Identifier: MIT */
/* html.c: text, tables and drawings of a page, and the page around them. */
#include "lab/html/html.h"

#include "io/xml.h"
#include "lab/html/files.h"

#include <stdarg.h>
#include <string.h>

/* ---- text --------------------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text) {
  bool code = false;
  while (*text) {
    if (*text == '`') {
      fputs(code ? "</code>" : "<code>", out);
      code = !code;
      text++;
    } else {
      text += xml_put_character(out, text);
    }
  }
  if (code) fputs("</code>", out);
}

static void put_element(FILE *out, const char *open, const char *text, const char *close) {
  fputs(open, out);
  put_text(out, text);
  fputs(close, out);
}

static void put_paragraph(FILE *out, const char *open, const char *format, va_list arguments) {
  char text[2048];
  vsnprintf(text, sizeof text, format, arguments);
  put_element(out, open, text, "</p>\n");
}

void html_section(html_page *p, const char *title) { put_element(p->out, "<h2>", title, "</h2>\n"); }

void html_subsection(html_page *p, const char *title) { put_element(p->out, "<h3>", title, "</h3>\n"); }

void html_details_begin(html_page *p, const char *title) {
  put_element(p->out, "<details><summary>", title, "</summary>\n");
}

void html_details_end(html_page *p) { fputs("</details>\n", p->out); }

void html_paragraph(html_page *p, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_paragraph(p->out, "<p>", format, arguments);
  va_end(arguments);
}

void html_warning(html_page *p, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_paragraph(p->out, "<p class=\"warning\">", format, arguments);
  va_end(arguments);
}

/* ---- tables ------------------------------------------------------------------------------------- */

static void put_headings(FILE *out, const char *const *headings, int columns) {
  fputs("<tr>", out);
  for (int i = 0; i < columns;) {
    int span = 1;
    while (i > 0 && i + span < columns && !*headings[i + span]) span++;
    if (span > 1)
      fprintf(out, "<th colspan=\"%d\">", span);
    else
      fputs("<th>", out);
    put_element(out, "", headings[i], "</th>");
    i += span;
  }
  fputs("</tr>\n", out);
}

void html_table_begin(html_page *p, const char *const *const *headings, int rows, int columns) {
  fputs("<div class=\"table\"><table>\n<thead>\n", p->out);
  for (int i = 0; i < rows; i++) put_headings(p->out, headings[i], columns);
  fputs("</thead>\n<tbody>\n", p->out);
}

void html_table_row_begin(html_page *p, bool strong) { fputs(strong ? "<tr class=\"strong\">" : "<tr>", p->out); }

void html_table_cell(html_page *p, const char *text, html_mark mark) {
  static const char *const open[] = {"<td>", "<td class=\"best\">", "<td class=\"second\">",
                                     "<td class=\"unfinished\">"};
  put_element(p->out, open[mark], text, "</td>");
}

void html_table_row_end(html_page *p) { fputs("</tr>\n", p->out); }

void html_table_row(html_page *p, const char *const *cells, int columns, bool strong) {
  html_table_row_begin(p, strong);
  for (int i = 0; i < columns; i++) html_table_cell(p, cells[i], HTML_PLAIN);
  html_table_row_end(p);
}

void html_table_end(html_page *p) { fputs("</tbody>\n</table></div>\n", p->out); }

/* ---- drawings ----------------------------------------------------------------------------------- */

/* length of the text before an identifier at its definition or use; 0: none follows */
static size_t identifier_follows(const char *text) {
  static const char *const marks[] = {" id=\"", " id='", "url(#", "href=\"#", "href='#"};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (strncmp(text, marks[i], strlen(marks[i])) == 0) return strlen(marks[i]);
  return 0;
}

/* Writes the <svg> element of a document, without XML declaration and document type. Identifiers are prefixed by the
 * figure's name, because several figures share a page. */
static void put_svg(FILE *out, const char *name, const char *svg) {
  const char *start = strstr(svg, "<svg");
  for (const char *c = start ? start : ""; *c;) {
    const size_t mark = identifier_follows(c);
    if (mark) {
      fprintf(out, "%.*s%s-", (int)mark, c, name);
      c += mark;
    } else {
      putc(*c++, out);
    }
  }
}

void html_drawing(html_page *p, const char *name, const char *svg, const char *caption) {
  fprintf(p->out, "<figure id=\"%s\" class=\"drawing\">\n", name);
  put_svg(p->out, name, svg);
  put_element(p->out, "<figcaption>", caption, "</figcaption>\n</figure>\n");
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void put_file(FILE *out, const char *before, const embedded_file *file, const char *after) {
  fputs(before, out);
  fwrite(file->bytes, 1, file->size, out);
  fputs(after, out);
}

sparc_status html_begin(html_page *p, const char *path, const char *title, const char *lead) {
  const sparc_status status = atomic_file_begin(&p->file, path);
  if (status != SPARC_OK) return status;
  p->out = p->file.stream;
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n", p->out);
  fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n", p->out);
  put_element(p->out, "<title>", title, "</title>\n");
  put_file(p->out, "<style>\n", &html_file_style, "</style>\n</head>\n<body>\n<main>\n");
  put_element(p->out, "<h1>", title, "</h1>\n");
  put_element(p->out, "<p class=\"lead\">", lead, "</p>\n");
  return SPARC_OK;
}

sparc_status html_end(html_page *p) {
  fputs("</main>\n", p->out);
  put_file(p->out, "<script>//<![CDATA[\n", &html_file_page, "//]]></script>\n</body>\n</html>\n");
  return atomic_file_commit(&p->file);
}

void html_abandon(html_page *p) { atomic_file_abandon(&p->file); }
