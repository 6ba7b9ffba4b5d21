/* SPDX-License-Identifier: MIT */
/* unit.h: cmocka with the headers that it expects its user to include first. */
#ifndef SPARC_TESTS_UNIT_H
#define SPARC_TESTS_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
