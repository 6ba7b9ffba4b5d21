/* SPDX-License-Identifier: MIT */
/* fixed_spectrum.h: the order of the per-mode constants of RTU and LRU, for the cells and for devices. */
#ifndef SPARC_CELLS_FIXED_SPECTRUM_H
#define SPARC_CELLS_FIXED_SPECTRUM_H

/* arrays of H constants; a cell's own follow */
enum {
  K_LAMBDA_RE,
  K_LAMBDA_IM,
  K_DECAY_RE, /* d lambda / d log_decay = -nu lambda */
  K_DECAY_IM,
  K_FREQ_RE, /* d lambda / d log_freq = i theta lambda */
  K_FREQ_IM,
  K_GAIN, /* gamma, derived by the cell */
  SPECTRUM_CONSTANTS,
  K_GAIN_SLOPE = SPECTRUM_CONSTANTS, /* RTU: d gamma / d log_decay */
  RTU_CONSTANTS
};

#endif
