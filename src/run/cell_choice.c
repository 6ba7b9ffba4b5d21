/* SPDX-License-Identifier: MIT */
/* cell_choice.c: the cell of a run. */
#include "run/cell_choice.h"

#include "base/error.h"
#include "cells/cell.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char variant_key[] = "variant=";

/* the place of variant= in a list of options */
static const char *find_variant(const char *options) {
  for (const char *at = options; at && (at = strstr(at, variant_key)); at++)
    if (at == options || at[-1] == ',') return at;
  return NULL;
}

bool cell_variant(const char *options, char *variant, size_t size) {
  const char *at = find_variant(options);
  if (!at) return false;
  at += strlen(variant_key);
  snprintf(variant, size, "%.*s", (int)strcspn(at, ","), at);
  return true;
}

/* everything that was said, the last word last */
static sparc_status join_options(const cell_wish *w, const char *fitted, char text[CELL_OPTIONS_SIZE]) {
  if (w->variant && find_variant(w->options) && !w->overrule)
    return fail(SPARC_INVALID, "variant is '%.60s', but the options of the cell are '%.200s', expected one variant",
                w->variant, w->options);
  const int length = snprintf(text, CELL_OPTIONS_SIZE, "%s,%s,%s%s", fitted, w->options ? w->options : "",
                              w->variant ? variant_key : "", w->variant ? w->variant : "");
  if (length >= CELL_OPTIONS_SIZE)
    return fail(SPARC_INVALID, "the options of the cell have %d characters, expected fewer than %d", length,
                CELL_OPTIONS_SIZE);
  return SPARC_OK;
}

sparc_status cell_settle(const cell_wish *w, int inputs, int *modes, char options[CELL_OPTIONS_SIZE]) {
  char fitted[CELL_OPTIONS_SIZE] = "", wish[CELL_OPTIONS_SIZE];
  sparc_cell_config config = {.H = w->modes};
  sparc_status status = SPARC_OK;
  if (w->modes == 0) status = cell_fit(w->kind, w->budget, &config, fitted, sizeof fitted);
  if (status == SPARC_OK) status = join_options(w, fitted, wish);
  if (status != SPARC_OK) return status;
  config = (sparc_cell_config){.kind = w->kind, .D = inputs, .H = config.H, .options = wish};
  sparc_cell *cell;
  status = sparc_cell_create(&config, &cell);
  if (status != SPARC_OK) return status;
  *modes = config.H;
  snprintf(options, CELL_OPTIONS_SIZE, "%s", sparc_cell_config_of(cell).options);
  sparc_cell_free(cell);
  return SPARC_OK;
}

sparc_status cell_said(const cell_wish *w, char said[CELL_OPTIONS_SIZE]) {
  char wish[CELL_OPTIONS_SIZE], changed[OPTIONS_TEXT];
  sparc_status status = join_options(w, "", wish);
  if (status == SPARC_OK) status = cell_changed_options(w->kind, wish, changed);
  if (status == SPARC_OK) snprintf(said, CELL_OPTIONS_SIZE, "%s", changed);
  return status;
}

/* "variant=" goes without saying, "=" becomes "_", and so does whatever could trouble a shell */
void options_file_name(const char *what, const char *said, char *name, size_t size) {
  size_t used = (size_t)snprintf(name, size, "%s", what);
  while (*said && used + 1 < size) {
    if (*said == ',') said++;
    if (strncmp(said, variant_key, strlen(variant_key)) == 0) said += strlen(variant_key);
    name[used++] = '-';
    for (; *said && *said != ',' && used + 1 < size; said++)
      name[used++] = isalnum((unsigned char)*said) || strchr("-.", *said) ? *said : '_';
  }
  name[used < size ? used : size - 1] = '\0';
}
