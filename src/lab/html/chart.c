/* SPDX-License-Identifier: MIT */
/* chart.c: charts as data for page.js: one JSON object in a script element. */
#include "io/xml.h"
#include "lab/html/html.h"

#include <math.h>
#include <string.h>

/* a character of a string of JSON */
static void put_character(FILE *out, const char *text, const text_character *c, bool escaped) {
  if (escaped)
    fprintf(out, "\\u%04x", (unsigned)c->code);
  else
    fwrite(text, 1, (size_t)c->length, out);
}

/* a JSON string inside a page; characters that could end the element or break the XML are escaped */
static void put_string(FILE *out, const char *text) {
  putc('"', out);
  while (*text) {
    const text_character c = text_next(text);
    put_character(out, text, &c, !c.plain || strchr("\"\\<>&", *text));
    text += c.length;
  }
  putc('"', out);
}

static void put_member(FILE *out, const char *key, const char *text) {
  fprintf(out, "\"%s\":", key);
  put_string(out, text);
  putc(',', out);
}

static void put_number(FILE *out, double value) {
  if (isfinite(value))
    fprintf(out, "%.6g", value);
  else
    fputs("null", out);
}

/* separator before an item of the open chart: the list's key before the first, a comma before the others */
static void put_item(html_page *p, const char *list) {
  if (p->items++ == 0)
    fprintf(p->out, "\"%s\":[", list);
  else
    fputs(",\n", p->out);
}

void html_figure_begin(html_page *p, const char *name) {
  fprintf(p->out, "<figure id=\"%s\">\n<div class=\"charts\">\n", name);
}

void html_chart_begin(html_page *p, const html_chart *chart) {
  fputs("<div class=\"chart\"><h4>", p->out);
  xml_put(p->out, chart->title);
  fputs("</h4><script type=\"application/json\">{", p->out);
  put_member(p->out, "title", chart->title);
  put_member(p->out, "x", chart->x);
  put_member(p->out, "y", chart->y);
  fprintf(p->out, "\"zero\":%s,\n", chart->from_zero ? "true" : "false");
  p->items = 0;
}

/* escaped characters occur only inside JSON strings; blanks also occur outside */
void html_chart_object(html_page *p, const char *title, const char *json) {
  fputs("<div class=\"chart\"><h4>", p->out);
  xml_put(p->out, title);
  fputs("</h4><script type=\"application/json\">", p->out);
  while (*json) {
    const text_character c = text_next(json);
    put_character(p->out, json, &c, (!c.plain && c.code >= ' ') || strchr("<>&", *json));
    json += c.length;
  }
  fputs("</script></div>\n", p->out);
}

void html_chart_line(html_page *p, const html_line *line) {
  put_item(p, "lines");
  putc('{', p->out);
  put_member(p->out, "name", line->name);
  put_member(p->out, "colour", line->colour);
  fprintf(p->out, "\"dashed\":%s,\"points\":[", line->dashed ? "true" : "false");
  for (int i = 0; i < line->points; i++) {
    const double point[] = {line->x[i], line->y[i], line->low ? line->low[i] : NAN, line->high ? line->high[i] : NAN};
    const int numbers = line->low && line->high ? 4 : 2;
    fputs(i ? ",[" : "[", p->out);
    for (int k = 0; k < numbers; k++) {
      if (k) putc(',', p->out);
      put_number(p->out, point[k]);
    }
    putc(']', p->out);
  }
  fputs("]}", p->out);
}

void html_chart_bar(html_page *p, const html_bar *bar) {
  put_item(p, "bars");
  putc('{', p->out);
  put_member(p->out, "name", bar->name);
  put_member(p->out, "colour", bar->colour);
  fputs("\"value\":", p->out);
  put_number(p->out, bar->value);
  fputs(",\"stddev\":", p->out);
  put_number(p->out, bar->stddev);
  fputs(",\"paper\":", p->out);
  put_number(p->out, bar->paper);
  fprintf(p->out, ",\"partial\":%s}", bar->partial ? "true" : "false");
}

void html_chart_end(html_page *p) {
  if (p->items == 0) fputs("\"lines\":[", p->out);
  fputs("]}</script></div>\n", p->out);
}

void html_figure_end(html_page *p, const char *caption) {
  fputs("</div>\n<figcaption>", p->out);
  xml_put(p->out, caption);
  fputs("</figcaption>\n</figure>\n", p->out);
}
