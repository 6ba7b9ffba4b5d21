/* SPDX-License-Identifier: MIT */
/* sequence_impl.h: the public arrays of a sequence call, by the precision of real. */
#ifndef SPARC_SEQ_SEQUENCE_IMPL_H
#define SPARC_SEQ_SEQUENCE_IMPL_H

#include "cells/cell_impl.h"
#include "sparc/double.h"

#ifdef SPARC_DOUBLE
typedef sparc_sequence_f64 TYPED(sequence);
typedef sparc_sequence_gradient_f64 TYPED(sequence_gradient);
#else
typedef sparc_sequence TYPED(sequence);
typedef sparc_sequence_gradient TYPED(sequence_gradient);
#endif

/* a mask (B, T) of a caller holds zeros and ones; NULL is fine */
sparc_status TYPED(check_mask)(size_t B, size_t T, const real *mask);

#endif
