/* SPDX-License-Identifier: MIT */
/* spectral.h: constants and initial draws that the spectral cells share. The streams are keyed by block name alone, so
 * for one seed SPARC, RTU and LRU start from the same spectrum and content: the pairing of the paper's comparisons. */
#ifndef SPARC_CELLS_SPECTRAL_H
#define SPARC_CELLS_SPECTRAL_H

#include "cells/cell.h"

/* exp(log decay), exp(log frequency) and exp(log gain) inside bounds far outside what a mode can use: products of
 * any two stay inside float32 */
double decay_of_log(double log_decay);
double freq_of_log(double log_freq);
double gain_of_log(double log_gain);

/* log decay and log frequency: control, radii over the unit disc and phases up to 6.28
 * [eq:app_rl_spectrum_initialization]; classification, the annulus 0.9 to 0.999 and phases up to 2 pi */
void init_spectrum(sparc_init_style style, uint64_t seed, const char *name, int H, float *log_decay, float *log_freq);

/* log of the write gain that goes with a decay: sqrt(1 - exp(-2 nu)), plus 1e-8 for control
 * [eq:app_rl_gain_initialization] */
void init_log_gain(sparc_init_style style, int H, const float *log_decay, float *log_gain);

/* content matrix: lecun_normal(D) for control (RTU), normal with standard deviation 1 / sqrt(2 D) for classification (LRU) */
sparc_status init_content(sparc_init_style style, uint64_t seed, const char *name, int D, const sparc_block *block,
                          float *params);

#endif
