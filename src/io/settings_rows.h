/* SPDX-License-Identifier: MIT */
/* settings_rows.h: macros for tables of settings, one line per setting:
 *
 *   #define SETTING_STRUCT sparc_train_config
 *   static const setting rows[] = {
 *       {"batch", "train.batch", INT(batch, 1, 1 << 24), DEFAULT("32")},
 *       {"learning-rate", "train.rate", REAL(rate, 0, 1e6), DEFAULT("0.001"), OLD("rate")},
 *   };
 *
 * A row begins with name and key; SETTING_STRUCT is the structure whose members follow.
 */
#ifndef SPARC_IO_SETTINGS_ROWS_H
#define SPARC_IO_SETTINGS_ROWS_H

#include "io/settings.h"

#define MEMBER(m)            .member = #m, .offset = offsetof(SETTING_STRUCT, m)
#define TEXT(m)              .type = SETTING_TEXT, MEMBER(m)
#define INT(m, min, max)     .type = SETTING_INT, MEMBER(m), .low = (min), .high = (max)
#define LONG(m, min, max)    .type = SETTING_LONG, MEMBER(m), .low = (min), .high = (max)
#define REAL(m, min, max)    .type = SETTING_REAL, MEMBER(m), .low = (min), .high = (max)
#define SEED(m)              .type = SETTING_SEED, MEMBER(m)
#define FLAG(m)              .type = SETTING_FLAG, MEMBER(m)
#define CHOICE(m, names)     .type = SETTING_CHOICE, MEMBER(m), .choices = names
#define DEFAULT(text)        .defaults = {text}
#define DEFAULTS(data, task) .defaults = {data, task} /* for data sets and for generated tasks */
#define OLD(text)            .old_name = text
#define OVERRIDES(names)     .overrides = names
#define ROLE(value)          .role = value
#define ZERO_IF_ABSENT       .zero_if_absent = true
#define CHOICE_IF_ABSENT(i)  .choice_if_absent = (i)

/* compiles only if every row has a bit in settings_part.given */
#define SETTINGS_COUNT(rows) (sizeof(rows) / sizeof *(rows))
#define SETTINGS_TABLE(rows) \
  { rows, SETTINGS_COUNT(rows) + 0 * sizeof(char[SETTINGS_COUNT(rows) <= 64 ? 1 : -1]) }

#endif
