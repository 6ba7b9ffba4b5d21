/* SPDX-License-Identifier: MIT */
/* settings.h: tables of settings.
 *
 * A row describes one member of a structure: name, type, range, default, and key in the metadata of checkpoints.
 * Options of the command line, keys of configuration files, config.json and the metadata of checkpoints are derived
 * from the same rows. io/settings_rows.h has macros to write them.
 *
 * A binding connects tables to the structures that they describe and to bit sets of given settings. A number is given
 * if it is not 0, or if its bit is set and its range includes 0; a text if it is not NULL. Seeds and flags are always
 * given.
 */
#ifndef SPARC_IO_SETTINGS_H
#define SPARC_IO_SETTINGS_H

#include "sparc/safetensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_t json_t; /* of jansson, which the reader of checkpoints does not need */

typedef enum setting_type {
  SETTING_TEXT,  /* const char * */
  SETTING_INT,   /* int, from low to high */
  SETTING_LONG,  /* long, from low to high */
  SETTING_SEED,  /* uint64_t */
  SETTING_REAL,  /* double, from low to high */
  SETTING_FLAG,  /* int, 0 or 1 */
  SETTING_CHOICE /* an enumeration as int: index of the name in choices; low is 0 */
} setting_type;

/* how a setting relates to a run */
typedef enum setting_role {
  DEFINES,      /* part of config.json; cannot change when a run is resumed */
  SUBJECT,      /* the data or task of a run: the same, a string, and first in config.json */
  FREE,         /* part of config.json if it was given; changes no result */
  SHORTHAND,    /* resolved into another setting, which is in config.json */
  UNRECORDED,   /* allowed in a configuration file, not written to config.json */
  COMMAND_LINE, /* not allowed in a configuration file */
  STORED        /* not an option: derived from the others and written to checkpoints */
} setting_role;

/* Kinds of defaults: for data sets, and for generated tasks where these differ. */
enum { DEFAULT_DATA, DEFAULT_TASK, DEFAULT_KINDS };
#define TASK_SPECIFIC "task-specific" /* the task defines it */

typedef struct setting {
  const char *name; /* of the option and of the key in files */
  const char *key;  /* in the metadata of checkpoints; NULL: not stored */
  setting_type type;
  setting_role role;
  const char *member; /* name of the member of the structure; NULL: the last word of the key */
  size_t offset;      /* of the member */
  double low, high;
  const char *const *choices;          /* ends with NULL */
  const char *defaults[DEFAULT_KINDS]; /* as text; NULL: computed, or for tasks the same as for data */
  const char *old_name;  /* of version 0.2.0; NULL: the same. Accepted wherever name is; config.json and digests of runs
                           use it, so that renaming a setting does not invalidate existing runs. */
  const char *overrides; /* names, separated by blanks: settings of a lower source that this one replaces. Two settings
                            that override each other exclude each other within a source. */
  bool zero_if_absent;   /* a file without the key means 0 or the first choice; zero values are not written */
  int choice_if_absent;  /* a choice: its index where config.json lacks the key; 0: see zero_if_absent */
} setting;

typedef struct settings_table {
  const setting *row;
  int rows;
} settings_table;

enum { MAX_SETTINGS_PARTS = 6, MAX_SETTINGS = 96, SETTING_TEXT_SIZE = 32, SETTING_MEMBER_SIZE = 96 };

typedef struct settings_part {
  const settings_table *table;
  void *at;            /* the structure; NULL where only the table is needed */
  uint64_t *given;     /* bit r: row r of the table is given; NULL: everything is */
  const char *prefix;  /* of the members in messages, as in "train."; NULL: none */
  const char *without; /* names, separated by blanks: rows that this binding does not have; NULL: none */
} settings_part;

typedef struct settings_binding {
  settings_part part[MAX_SETTINGS_PARTS];
} settings_binding;

/* Append a table, its structure and its bit set (may be NULL) to a binding, which must have a free part. */
void settings_bind(settings_binding *binding, const settings_table *table, void *at, uint64_t *given);

/* ---- rows, numbered through all parts ---- */

/* Return row i, NULL after the last; *at (may be NULL) is the member that it describes. */
const setting *settings_row(const settings_binding *binding, int i, void **at);
int settings_find(const settings_binding *binding, const char *name);      /* by name or old name; -1: none */
int settings_find_path(const settings_binding *binding, const char *path); /* of the member; -1: none */

/* Whether a list of names, separated by blanks, has this one; names may be NULL. */
bool settings_list_contains(const char *names, const char *name);

/* The name in config.json and in digests of runs. */
const char *setting_canonical_name(const setting *s);

/* Print the path of the member, as in "train.batch". */
const char *settings_member(const settings_binding *binding, int i, char path[SETTING_MEMBER_SIZE]);

int settings_find_member(const settings_binding *binding, const void *member); /* by address; -1: none */

bool settings_is_given(const settings_binding *binding, int i);
void settings_mark(const settings_binding *binding, int i);  /* as given */
void settings_unset(const settings_binding *binding, int i); /* to 0 or NULL, not given */

/* ---- one value ---- */

bool setting_is_zero(const setting *s, const void *at); /* 0, the first choice, false; NULL for a text */

/* Parse a text; false: it is not a value of this type or, with check_range, outside the range. */
bool setting_parse(const setting *s, const char *text, bool check_range, void *at);

/* Parse an integer, with or without an exponent: 1000000, 1e6, 2.5e5; not 1.5. */
bool setting_parse_whole(const char *text, long low, long high, long *value);

/* Return the value as text. Numbers are printed to buffer and parse back to the same value. */
const char *setting_print(const setting *s, const void *at, char buffer[SETTING_TEXT_SIZE]);

/* Describe valid values: "a whole number from 1 to 8", "auto, plain or none". */
const char *setting_expected(const setting *s, bool check_range, char *buffer, size_t size);

/* ---- whole bindings ---- */

void settings_clear(const settings_binding *binding); /* unset everything */

/* Check that given values lie in their range and, with complete, that everything is given except texts and FREE
 * settings. STORED rows are checked only with complete. */
sparc_status settings_check(const settings_binding *binding, bool complete);

/* Set rows that are not given to their default of this kind (DEFAULT_DATA or DEFAULT_TASK) where they have one. */
void settings_fill_defaults(const settings_binding *binding, int kind);

/* Set all rows to their default, or to 0 or NULL. */
void settings_reset(const settings_binding *binding, int kind);

/* Copy what is not given in `to` from `from`, a binding of the same tables. */
void settings_inherit(const settings_binding *to, const settings_binding *from);

/* Replace all texts by copies that settings_texts_free() releases, also after a failure. texts must be zero. */
typedef struct settings_texts {
  char *text[MAX_SETTINGS]; /* by row */
} settings_texts;
sparc_status settings_copy_texts(const settings_binding *binding, settings_texts *texts);
void settings_texts_free(settings_texts *texts);

/* ---- sources: the texts given by the command line or a file ---- */

typedef struct settings_source {
  const char *where;              /* the file; NULL: none */
  const char *prefix;             /* of names in messages, "--" for options; NULL: none */
  bool stored;                    /* the configuration of a run: errors are SPARC_FORMAT instead of SPARC_INVALID */
  const char *text[MAX_SETTINGS]; /* by row */
  char number[MAX_SETTINGS][SETTING_TEXT_SIZE];
  json_t *file; /* owns the strings */
} settings_source;

/* Read a JSON object whose keys are names of settings. SPARC_IO: the file cannot be read, SPARC_FORMAT: it is not a
 * JSON object, SPARC_INVALID: a key is unknown or the type of its value is wrong. source must be zero; release it with
 * settings_source_free(), also after a failure. */
sparc_status settings_read_file(const settings_binding *binding, const char *path, settings_source *source);

/* The same for an object in memory, whose reference is taken over; `where` names it in messages. */
sparc_status settings_read_json(const settings_binding *binding, const char *where, json_t *object,
                                settings_source *source);
void settings_source_free(settings_source *source);

/* Return a copy of a JSON object with the canonical names of settings as keys; a new reference, NULL without memory. */
json_t *settings_canonical_json(const settings_binding *binding, const json_t *object);

/* Apply a source on top of the present values; texts remain owned by the source. */
sparc_status settings_apply(const settings_binding *binding, const settings_source *source);

/* Set one setting, by its name or by the path of its member: parse the text, check its range and mark the setting as
 * given. A text must outlive the structure. */
sparc_status settings_set(const settings_binding *binding, const char *name, const char *text);

/* ---- metadata of files: rows with a key; callers are in the C locale ---- */

/* List the present values in `entry` and return their number; numbers are printed to `buffer`. Zero values of
 * zero_if_absent rows are skipped. */
size_t settings_list_metadata(const settings_binding *binding, sparc_metadata *entry,
                              char (*buffer)[SETTING_TEXT_SIZE]);

/* Read one value. SPARC_FORMAT: it is missing or invalid; the message names the file, `path`, and the key. */
sparc_status setting_read_metadata(const sparc_tensors *file, const char *path, const setting *s, bool check_range,
                                   void *at);

/* ---- the configuration of a run ---- */

/* Return an object with SUBJECT, DEFINES and FREE rows that are given; a new reference, NULL without memory. */
json_t *settings_json(const settings_binding *binding);

/* Check that two such objects define the same run; then_name is the origin of the second. */
sparc_status settings_compare(const settings_binding *binding, const json_t *now, const json_t *then,
                              const char *then_name);

#endif
