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

/* all options; later ones override earlier ones */
static sparc_status join_options(const cell_request *r, const char *fitted, char text[CELL_OPTIONS_SIZE]) {
  if (r->variant && find_variant(r->options) && !r->overrule)
    return fail(SPARC_INVALID, "variant is '%.60s', but the options of the cell are '%.200s', expected one variant",
                r->variant, r->options);
  const int length = snprintf(text, CELL_OPTIONS_SIZE, "%s,%s,%s%s", fitted, r->options ? r->options : "",
                              r->variant ? variant_key : "", r->variant ? r->variant : "");
  if (length >= CELL_OPTIONS_SIZE)
    return fail(SPARC_INVALID, "the options of the cell have %d characters, expected fewer than %d", length,
                CELL_OPTIONS_SIZE);
  return SPARC_OK;
}

sparc_status cell_resolve(const cell_request *r, int inputs, int *modes, char options[CELL_OPTIONS_SIZE]) {
  char fitted[CELL_OPTIONS_SIZE] = "", text[CELL_OPTIONS_SIZE];
  sparc_cell_config config = {.H = r->modes};
  sparc_status status = SPARC_OK;
  if (r->modes == 0) status = cell_fit(r->kind, r->state_size, &config, fitted, sizeof fitted);
  if (status == SPARC_OK) status = join_options(r, fitted, text);
  if (status != SPARC_OK) return status;
  config = (sparc_cell_config){.kind = r->kind, .D = inputs, .H = config.H, .options = text};
  sparc_cell *cell;
  status = sparc_cell_create(&config, &cell);
  if (status != SPARC_OK) return status;
  *modes = config.H;
  snprintf(options, CELL_OPTIONS_SIZE, "%s", sparc_cell_config_of(cell).options);
  sparc_cell_free(cell);
  return SPARC_OK;
}

sparc_status cell_nondefault_options(const cell_request *r, char nondefault[CELL_OPTIONS_SIZE]) {
  char text[CELL_OPTIONS_SIZE], changed[OPTIONS_TEXT];
  sparc_status status = join_options(r, "", text);
  if (status == SPARC_OK) status = cell_changed_options(r->kind, text, changed);
  if (status == SPARC_OK) snprintf(nondefault, CELL_OPTIONS_SIZE, "%s", changed);
  return status;
}

/* "variant=" is dropped; "=" and characters with a meaning in shells become "_" */
void options_file_name(const char *what, const char *options, char *name, size_t size) {
  size_t used = (size_t)snprintf(name, size, "%s", what);
  while (*options && used + 1 < size) {
    if (*options == ',') options++;
    if (strncmp(options, variant_key, strlen(variant_key)) == 0) options += strlen(variant_key);
    name[used++] = '-';
    for (; *options && *options != ',' && used + 1 < size; options++)
      name[used++] = isalnum((unsigned char)*options) || strchr("-.", *options) ? *options : '_';
  }
  name[used < size ? used : size - 1] = '\0';
}
