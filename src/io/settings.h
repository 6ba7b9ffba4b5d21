/* SPDX-License-Identifier: MIT */
/* settings.h: what can be set, said once.
 *
 * A row of a table describes one member of a structure: its name, type, range, default and help, which commands have
 * it, and under which key a checkpoint stores it. Options of the command line, keys of configuration files, config.json
 * and the metadata of checkpoints are all made from the rows, so they cannot disagree.
 *
 * A form binds tables to the structures in memory that they describe, one table for each. A setting that nobody gave
 * is "unset": a text is NULL, a number one below its least value. Seeds and flags are always set.
 */
#ifndef SPARC_IO_SETTINGS_H
#define SPARC_IO_SETTINGS_H

#include "sparc/safetensors.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct json_t json_t; /* of jansson, which the reader of checkpoints does without */

typedef enum setting_type {
  SETTING_TEXT,  /* const char * */
  SETTING_INT,   /* int, from low to high */
  SETTING_LONG,  /* long, from low to high */
  SETTING_SEED,  /* uint64_t */
  SETTING_REAL,  /* double, from low to high */
  SETTING_FLAG,  /* int, 0 or 1 */
  SETTING_CHOICE /* an enumeration as int: the place of the name in choices; low is 0 */
} setting_type;

/* what a setting is to a run */
typedef enum setting_role {
  DEFINES,      /* part of config.json; cannot change when a run is resumed */
  FREE,         /* part of config.json if it was given; changes no result */
  SHORTHAND,    /* another way to say something that is in config.json */
  OUTSIDE,      /* may stand in a configuration file, but is not written to config.json */
  COMMAND_LINE, /* not allowed in a configuration file */
  STORED        /* no option at all: follows from the others, and is written to checkpoints */
} setting_role;

/* the commands that have a setting; 0 in a row: all of them */
enum {
  COMMAND_TRAIN = 1,
  COMMAND_RL = 2,
  COMMAND_DEMO = 4,
  COMMAND_DATA = 8,
  COMMAND_EVAL = 16,
  COMMAND_PREDICT = 32,
  COMMAND_LEARN = 64
};

/* defaults of a row: for data sets, and where the generated tasks have another one, for these */
enum { USUAL_DATA, USUAL_TASK, USUALS };
#define TASKS_OWN "their own" /* the task says it */

enum { POSITIONAL = 1 }; /* instead of a letter: an argument without an option in front of it, in the order of rows */

typedef struct setting {
  const char *name; /* of the option and of the key in files */
  const char *key;  /* in the metadata of checkpoints; NULL: not there */
  bool later; /* a file that does not say it, because it is older or because it is so, means 0 or the first choice */
  setting_type type;
  setting_role role;
  unsigned commands;
  int letter;         /* short option; 0: none */
  const char *option; /* of what is POSITIONAL: the option that says the same; NULL: none */
  size_t offset;      /* in the structure */
  double low, high;
  const char *const *choices; /* ends with NULL */
  const char *usual[USUALS];  /* as text; NULL: what is computed, or for tasks the same */
  const char *voids;          /* names, blanks between: what this one makes void where a source below gave it. Two that
                                 void each other cannot be given together. */
  const char *needs; /* options of the command line, blanks between: without any of them this one has no effect */
  const char *group; /* heading in the help */
  const char *argument, *help;
} setting;

typedef struct settings_table {
  const setting *row;
  int rows;
} settings_table;

enum { SETTINGS_PARTS = 6, SETTINGS_MOST = 96, SETTING_TEXT_SIZE = 32 };

typedef struct settings_part {
  const settings_table *table;
  void *at; /* the structure; NULL where only the table is needed */
} settings_part;

typedef struct settings_form {
  unsigned command; /* one of COMMAND_...; 0: everything is seen */
  settings_part part[SETTINGS_PARTS];
} settings_form;

/* settings_join adds a table and its structure behind the parts of a form; there must be room */
void settings_join(settings_form *form, const settings_table *table, void *at);

/* ---- rows, counted through all parts; those that the command does not have are left out ---- */

/* settings_row is row i, NULL behind the last; *at (if not NULL) is the member that it describes */
const setting *settings_row(const settings_form *form, int i, void **at);
int settings_find(const settings_form *form, const char *name); /* -1: there is none */

/* ---- one value ---- */

bool setting_is_set(const setting *s, const void *at);
void setting_unset(const setting *s, void *at);
bool setting_is_zero(const setting *s, const void *at); /* 0, the first choice, false; of a text: none */

/* setting_parse reads a text; false: it is no such value or, with ranged, outside the range */
bool setting_parse(const setting *s, const char *text, bool ranged, void *at);

/* setting_parse_whole reads an integer as all settings have it: 1000000 or, for the same, 1e6; 2.5e5, not 1.5 */
bool setting_parse_whole(const char *text, long low, long high, long *value);

/* setting_print is the value as text; numbers are printed to room, so that they read back as the same */
const char *setting_print(const setting *s, const void *at, char room[SETTING_TEXT_SIZE]);

/* setting_expected says what setting_parse wants: "a whole number from 1 to 8", "auto, plain or none" */
const char *setting_expected(const setting *s, bool ranged, char *room, size_t size);

/* ---- whole forms ---- */

void settings_clear(const settings_form *form); /* unsets everything; seeds and flags are 0 */

/* settings_check demands that what is set lies in its range and, with complete, that everything is set but texts and
 * what is FREE. What is STORED follows from the rest, so it is looked at only when the form is complete. */
sparc_status settings_check(const settings_form *form, bool complete);

/* settings_fill gives the usual value to what is unset and has one */
void settings_fill(const settings_form *form, int usual);

/* settings_inherit takes what is unset in `to` from `from`, a form with the same tables */
void settings_inherit(const settings_form *to, const settings_form *from);

/* settings_keep_texts makes copies of all texts of a form and puts them in their place; settings_texts_free releases
 * them, also after a failure. texts must be zero. */
typedef struct settings_texts {
  char *text[SETTINGS_MOST]; /* by row */
} settings_texts;
sparc_status settings_keep_texts(const settings_form *form, settings_texts *texts);
void settings_texts_free(settings_texts *texts);

/* ---- sources: a text for each setting that the command line or a file gives ---- */

typedef struct settings_source {
  const char *where;               /* the file; NULL: the command line */
  const char *text[SETTINGS_MOST]; /* by row */
  char number[SETTINGS_MOST][SETTING_TEXT_SIZE];
  json_t *file; /* its strings are in use */
} settings_source;

/* settings_read_file reads a JSON object with the names of settings as keys. SPARC_IO: there is no such file,
 * SPARC_FORMAT: it is no JSON object, SPARC_INVALID: a key or the type of its value makes no sense. source must be
 * zero; settings_source_free releases it in any case. */
sparc_status settings_read_file(const settings_form *form, const char *path, settings_source *source);

/* settings_read_json takes over the reference to such an object; `where` names it in messages */
sparc_status settings_read_json(const settings_form *form, const char *where, json_t *object, settings_source *source);
void settings_source_free(settings_source *source);

/* settings_apply puts what a source says above what is there; texts go on living in the source */
sparc_status settings_apply(const settings_form *form, const settings_source *source);

/* ---- the metadata of files: every row that has a key; callers are in the C locale ---- */

/* settings_list_metadata puts the present values into `entry` and returns how many there are; numbers live in `room`. A
 * row that is `later` and zero is left out. */
size_t settings_list_metadata(const settings_form *form, sparc_metadata *entry, char (*room)[SETTING_TEXT_SIZE]);

/* setting_read_metadata fetches one value; without ranged its range is left to those who use it. SPARC_FORMAT names the
 * file, here `path`, and the key. */
sparc_status setting_read_metadata(const sparc_tensors *file, const char *path, const setting *s, bool ranged,
                                   void *at);

/* ---- the configuration of a run ---- */

/* settings_json is what DEFINES the run and what is FREE and set; a new reference, NULL without memory */
json_t *settings_json(const settings_form *form);

/* settings_compare demands that two such objects define the same run; then_name tells where the second comes from */
sparc_status settings_compare(const settings_form *form, const json_t *now, const json_t *then, const char *then_name);

#endif
