/* SPDX-License-Identifier: MIT */
/* paper_shapes.h: the shapes of the paper's efficiency figure [fig:gpu_efficiency] and of its tables against a naive
 * implementation [tab:naive_fixed_tokens, tab:naive_batch], with what the paper measured on its GPU. */
#ifndef SPARC_BENCH_SUITES_PAPER_SHAPES_H
#define SPARC_BENCH_SUITES_PAPER_SHAPES_H

/* panel (a): scans */
enum { PAPER_SCANS = 4, PAPER_SCAN_B = 8, PAPER_SCAN_WIDTH = 1024 };
extern const int paper_scan_lengths[PAPER_SCANS];

/* panels (b), (c), (d): mixers; the gates of RG-LRU are in blocks of this width */
enum { PAPER_BLOCK = 256 };
typedef struct paper_mixer {
  char panel;
  int B, T, width;
  const char *paper; /* SPARC / RG-LRU as the paper gives it */
} paper_mixer;
enum { PAPER_MIXERS = 12 };
extern const paper_mixer paper_mixers[PAPER_MIXERS];

/* milliseconds on the paper's GPU: naive, accelerated */
typedef struct paper_naive {
  const char *table;
  int B, T, width;
  double backward[2], both[2];
} paper_naive;
enum { PAPER_NAIVES = 12 };
extern const paper_naive paper_naives[PAPER_NAIVES];

#endif
