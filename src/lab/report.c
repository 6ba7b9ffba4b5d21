/* SPDX-License-Identifier: MIT */
/* report.c: writing HTML. */
#include "lab/report.h"

#include "base/error.h"
#include "io/xml.h"

#include <stdarg.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light;--ink:#1d2530;--soft:#5b6675;--line:#dde2e8;--strong:#c24e00}\n"
    "body{margin:0;background:#f5f6f8;color:var(--ink);font:16px/1.55 system-ui,'Helvetica Neue',Arial,sans-serif}\n"
    "main{max-width:60rem;margin:0 auto;padding:2.5rem 1.5rem 4rem}\n"
    "h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem;letter-spacing:-.01em}\n"
    "h2{font-size:1.2rem;margin:2.5rem 0 .5rem}\n"
    "p{margin:.5rem 0;max-width:46rem}\n"
    ".lead{color:var(--soft);font-size:1.05rem}\n"
    ".remark{background:#fff6e0;border-left:4px solid #e0a000;padding:.6rem 1rem;border-radius:4px}\n"
    "code{font:.88em ui-monospace,Menlo,Consolas,monospace;background:#e9ecf0;padding:.1em .3em;border-radius:3px}\n"
    "figure,.table{margin:1rem 0;background:#fff;border:1px solid var(--line);border-radius:8px;padding:1rem}\n"
    "figure svg{display:block;width:100%;height:auto}\n"
    "figcaption{color:var(--soft);font-size:.9rem;margin-top:.6rem}\n"
    ".table{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.4rem .8rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\n"
    "th{color:var(--soft);font-weight:600;font-size:.9rem}\n"
    "th[colspan]{text-align:center}\n"
    "th:first-child,td:first-child{text-align:left}\n"
    "tbody tr:last-child td{border-bottom:0}\n"
    "tr.strong td{font-weight:600}\n"
    "tr.strong td:first-child{color:var(--strong)}\n";

/* ---- text --------------------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text) {
  bool code = false;
  for (; *text; text++) {
    if (*text == '`') {
      fputs(code ? "</code>" : "<code>", out);
      code = !code;
    } else {
      xml_put_character(out, *text);
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

void html_section(html_report *r, const char *title) { put_element(r->out, "<h2>", title, "</h2>\n"); }

void html_paragraph(html_report *r, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_paragraph(r->out, "<p>", format, arguments);
  va_end(arguments);
}

void html_remark(html_report *r, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_paragraph(r->out, "<p class=\"remark\">", format, arguments);
  va_end(arguments);
}

/* ---- tables ------------------------------------------------------------------------------------- */

void html_table_heading(html_report *r, const char *const *headings, int columns) {
  fputs("<tr>", r->out);
  for (int i = 0; i < columns;) {
    int span = 1;
    while (i > 0 && i + span < columns && !*headings[i + span]) span++;
    if (span > 1)
      fprintf(r->out, "<th colspan=\"%d\">", span);
    else
      fputs("<th>", r->out);
    put_element(r->out, "", headings[i], "</th>");
    i += span;
  }
  fputs("</tr>\n", r->out);
}

void html_table_begin(html_report *r, const char *const *headings, int columns) {
  fputs("<div class=\"table\"><table>\n<tbody>\n", r->out);
  html_table_heading(r, headings, columns);
}

void html_table_row(html_report *r, const char *const *cells, int columns, bool strong) {
  fputs(strong ? "<tr class=\"strong\">" : "<tr>", r->out);
  for (int i = 0; i < columns; i++) put_element(r->out, "<td>", cells[i], "</td>");
  fputs("</tr>\n", r->out);
}

void html_table_end(html_report *r) { fputs("</tbody>\n</table></div>\n", r->out); }

/* ---- figures ------------------------------------------------------------------------------------ */

/* what stands before an identifier where it is defined or used */
static size_t identifier_follows(const char *text) {
  static const char *const marks[] = {" id=\"", " id='", "url(#", "href=\"#", "href='#"};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (strncmp(text, marks[i], strlen(marks[i])) == 0) return strlen(marks[i]);
  return 0;
}

/* a document becomes an element: the XML declaration and document type go, and since several figures share one page
 * each identifier gets the figure's name in front */
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

void html_figure(html_report *r, const char *name, const char *svg, const char *caption) {
  fprintf(r->out, "<figure id=\"%s\">\n", name);
  put_svg(r->out, name, svg);
  put_element(r->out, "<figcaption>", caption, "</figcaption>\n</figure>\n");
}

/* ---- the whole ---------------------------------------------------------------------------------- */

sparc_status html_begin(html_report *r, const char *path, const char *title, const char *lead) {
  const sparc_status status = atomic_file_begin(&r->file, path);
  if (status != SPARC_OK) return status;
  r->out = r->file.stream;
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n", r->out);
  fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n", r->out);
  put_element(r->out, "<title>", title, "</title>\n");
  fprintf(r->out, "<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
  put_element(r->out, "<h1>", title, "</h1>\n");
  put_element(r->out, "<p class=\"lead\">", lead, "</p>\n");
  return SPARC_OK;
}

sparc_status html_end(html_report *r) {
  fputs("</main>\n</body>\n</html>\n", r->out);
  return atomic_file_commit(&r->file);
}
