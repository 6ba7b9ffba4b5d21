/* SPDX-License-Identifier: MIT */
/* files.h: the style and the script that every page carries inside itself: src/lab/html/style.css and page.js. */
#ifndef SPARC_LAB_HTML_FILES_H
#define SPARC_LAB_HTML_FILES_H

#include "io/embedded.h"

extern const embedded_file html_file_style, html_file_page;

#endif
